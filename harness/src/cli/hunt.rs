//! Runs a campaign: chooses the next conversation, examines findings, and keeps the results.
//!
//! Knows: the generator, the target, the folder of the campaign. Never knows: how a conversation is generated
//! or minimised.
//!
//! Start at [`FuzzHunt::go`].

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use crate::arb::campaign::{FindingBucket, FuzzCampaign, KnownFindings};
use crate::arb::draft::ScenarioDraft;
use crate::arb::finding::FuzzFinding;
use crate::arb::gauge::AnswerGauge;
use crate::arb::generate::DrawnSequence;
use crate::arb::hold::{self, StepExpectation};
use crate::arb::source::ConversationSource;
use crate::ledger::RequirementLedger;
use crate::report::outage::OUTLIVES;
use crate::report::summary::word;
use crate::verdict::Weight;
use crate::wire::foreign_text::ForeignText;

use super::aim::PlayTarget;
use super::campaign_folder::CampaignFolder;
use super::context::CliContext;
use super::examine::{ExaminationResult, FindingCandidate, examine};
use super::exit::{CommandExit, CommandOutcome, CommandStop};
use super::fuzz::FuzzArguments;
use super::fuzz_target::{FuzzTarget, PlayedDraft};
use super::interrupt::interrupts;
use super::lone_trial::{HostWatch, LonePlayer, RECENT, TrialResults, trials};

/// The number of misses after which an expectation that is not a wait is no longer generated.
const ENOUGH: u32 = 2;
/// The maximum number of unexpected conversations that are listed with their reason.
const SHOWN: usize = 5;
/// The interval at which the state is written, and the interval at which progress is printed.
const SAVED: Duration = Duration::from_secs(5);
const SAID: Duration = Duration::from_secs(10);
/// The number of conversations without new coverage after which the progress line mentions this.
pub(super) const STALE: u64 = 100;
/// After `FAMILIAR` conversations without new coverage, `DRAWN` conversations are generated at a time for an
/// external host, and the conversation with the rarest expectations is played.
const FAMILIAR: u64 = 5;
const DRAWN: usize = 3;
/// A conversation without traffic for `IDLE` counts as waiting. For each conversation with traffic, `WAITING`
/// conversations may be in progress.
const IDLE: Duration = Duration::from_millis(20);
const WAITING: usize = 8;
/// The wait limit is `PATIENCE` times the slowest answer so far, but at least `LEAST`, because a fast host
/// needs only short waits.
const PATIENCE: u32 = 10;
const LEAST: Duration = Duration::from_millis(300);
/// The time for examining findings after the budget has run out.
pub(super) const LAST_EXAMINATION: Duration = Duration::from_secs(60);
/// The maximum number of recently ended conversations that are suspected when the host ends.
const MAX_RECENT: usize = 16;

/// A running campaign.
pub(super) struct FuzzHunt<'a> {
    pub(super) fuzz: &'a FuzzArguments,
    context: &'a CliContext,
    target: Arc<FuzzTarget>,
    source: ConversationSource,
    known: KnownFindings,
    pub(super) campaign: FuzzCampaign,
    folder: CampaignFolder,
    watch: HostWatch,
    /// The conversations that are being played.
    under_way: Vec<UnderWay>,
    /// The number of the next play.
    plays: u64,
    /// The findings that wait to be examined.
    waiting: VecDeque<FindingCandidate>,
    /// The identities of the findings that wait or are being examined. The value is the number of further times
    /// that the finding occurred.
    pending: BTreeMap<String, u64>,
    /// The findings that were dismissed: the text permits the behaviour, or the host was only slow.
    dismissed: BTreeSet<String>,
    /// The findings that the text permits, each with the legal variant that shows the behaviour.
    pub(super) permitted: BTreeMap<String, &'static str>,
    /// The conversations that ended last, each with the time of its end.
    recent: VecDeque<(Instant, DrawnSequence)>,
    /// The first conversations whose expectations the reference host without faults does not meet, and the
    /// reasons.
    pub(super) odd: Vec<String>,
    /// The number of times that each expectation was missed.
    missed: BTreeMap<StepExpectation, u32>,
    /// The slowest answer so far.
    slowest: Duration,
    /// The time limit of a wait in `run`.
    timeout: Duration,
    warned: bool,
}

/// A conversation that is being played.
struct UnderWay {
    number: u64,
    gauge: AnswerGauge,
    events: u64,
}

/// A conversation that was played.
pub(super) struct PlayedSequence {
    number: u64,
    sequence: DrawnSequence,
    played: Option<PlayedDraft>,
    gauge: AnswerGauge,
    hurried: bool,
}

impl<'a> FuzzHunt<'a> {
    pub(super) fn new(
        fuzz: &'a FuzzArguments,
        context: &'a CliContext,
        target: Arc<FuzzTarget>,
        source: ConversationSource,
        known: KnownFindings,
        campaign: FuzzCampaign,
    ) -> FuzzHunt<'a> {
        let remote = match &target.target {
            PlayTarget::Remote(remote, _) => Some(Arc::clone(remote)),
            _ => None,
        };
        let offers = &target.look.header.offers;
        let timeout = Duration::from_millis(target.look.header.limit_ms);
        let watch = HostWatch::new(remote, offers, timeout, true, interrupts());
        FuzzHunt {
            fuzz,
            context,
            target,
            source,
            known,
            campaign,
            folder: CampaignFolder(fuzz.out.clone()),
            watch,
            under_way: Vec::new(),
            plays: 0,
            waiting: VecDeque::new(),
            pending: BTreeMap::new(),
            dismissed: BTreeSet::new(),
            permitted: BTreeMap::new(),
            recent: VecDeque::new(),
            odd: Vec::new(),
            missed: BTreeMap::new(),
            slowest: Duration::ZERO,
            timeout,
            warned: false,
        }
    }

    /// Plays until the budget has run out, and examines the findings.
    pub(super) async fn go(&mut self) -> CommandOutcome {
        let began = Instant::now();
        let before = self.campaign.took;
        let (mut saved, mut said) = (began, began);
        let mut playing: JoinSet<PlayedSequence> = JoinSet::new();
        let mut examining: JoinSet<(FindingCandidate, ExaminationResult)> = JoinSet::new();
        let mut interrupted = interrupts();
        if let Some(budget) = self.fuzz.budget().filter(|_| self.fuzz.is_outside()) {
            self.context.error(&format!("ends after {budget:?} at the latest (`--time`)\n"));
        }
        let (mut stopping, mut ended) = (None, None);
        self.watch.ready().await;
        loop {
            self.examine_next(&mut examining, stopping);
            // An examination may take long, so the time is also checked during an examination.
            if self.is_over(began) {
                stopping = stopping.or(Some(CommandExit::Ok));
            }
            while stopping.is_none() && self.has_room(&playing, &examining) {
                if self.is_over(began) {
                    stopping = Some(CommandExit::Ok);
                    break;
                }
                if let Some(sequence) = self.draw() {
                    self.launch(sequence, &mut playing);
                }
            }
            if playing.is_empty() && examining.is_empty() && self.waiting.is_empty() {
                if stopping.is_some() {
                    break;
                }
                continue;
            }
            tokio::select! {
                Some(played) = playing.join_next() => match played {
                    Ok(played) => {
                        let outage = self.outage(&played).await;
                        match outage {
                            None => self.played(played),
                            Some(what) => {
                                let struck = self.drained(played, &mut playing, &mut examining).await;
                                self.after_outage(&what, struck).await?;
                            }
                        }
                    }
                    Err(error) => self.died(&error),
                },
                Some(examined) = examining.join_next() => match examined {
                    Ok((candidate, examined)) => self.examined(candidate, examined)?,
                    Err(error) => self.died(&error),
                },
                _ = interrupted.changed(), if stopping != Some(CommandExit::Interrupted) => {
                    stopping = Some(CommandExit::Interrupted);
                    self.waiting.clear();
                    examining.abort_all();
                }
                () = tokio::time::sleep(IDLE) => {}
            }
            self.campaign.took = before + began.elapsed();
            if stopping.is_some() {
                let since = *ended.get_or_insert_with(Instant::now);
                if since.elapsed() > LAST_EXAMINATION && !self.target.is_embedded() {
                    self.give_up(&mut examining);
                }
            }
            if let Some(reason) = self.watch.gone().map(str::to_owned) {
                self.save()?;
                return Err(CommandStop::unreachable(format!(
                    "{} (hint: `--restart-command` lets a campaign go on)",
                    reason.trim_start_matches("not played: ")
                )));
            }
            if self.fuzz.stop_at_first && self.campaign.failures().next().is_some() {
                stopping = stopping.or(Some(CommandExit::Ok));
                self.waiting.clear();
            }
            if let Some(why) = self.campaign.tally.futile().filter(|_| !self.warned) {
                self.warned = true;
                self.context.error(&format!("warning: {why}\n"));
            }
            if saved.elapsed() > SAVED {
                saved = Instant::now();
                self.save()?;
            }
            if said.elapsed() > SAID {
                said = Instant::now();
                self.context.error(&self.progress());
            }
        }
        let found = if self.campaign.failures().next().is_none() {
            CommandExit::Ok
        } else {
            CommandExit::Failed
        };
        Ok(if stopping == Some(CommandExit::Interrupted) {
            CommandExit::Interrupted
        } else {
            found
        })
    }

    /// Drops the findings that are not examined yet, and prints their number.
    fn give_up(&mut self, examining: &mut JoinSet<(FindingCandidate, ExaminationResult)>) {
        let left = self.waiting.len() + examining.len();
        let known = self.waiting.iter().filter(|it| self.campaign.has_cause_of(&it.finding));
        let known = known.count();
        if left > 0 {
            self.context.error(&format!(
                "note: the time was over before {left} new findings could be examined; {known} of \
                 them look like findings that were examined\n"
            ));
        }
        self.waiting.clear();
        examining.abort_all();
    }

    fn died(&mut self, error: &tokio::task::JoinError) {
        if !error.is_cancelled() {
            self.context.error(&format!("a conversation's task died: {error}\n"));
        }
    }

    /// Returns whether another conversation may start now.
    fn has_room(
        &mut self,
        playing: &JoinSet<PlayedSequence>,
        examining: &JoinSet<(FindingCandidate, ExaminationResult)>,
    ) -> bool {
        if !examining.is_empty() || !self.waiting.is_empty() {
            return false;
        }
        let jobs = usize::from(self.fuzz.jobs);
        if self.target.is_embedded() || jobs == 1 {
            // In memory no conversation waits, and a campaign is reproducible. With one job, conversations run
            // one at a time: each conversation may restart the host, and no finding depends on another
            // conversation.
            return playing.is_empty();
        }
        let mut talking = 0;
        for under_way in &mut self.under_way {
            let events = under_way.gauge.events();
            talking += usize::from(events > under_way.events || events == 0);
            under_way.events = events;
        }
        playing.len() < jobs || talking < jobs && playing.len() < jobs * WAITING
    }

    fn is_over(&self, began: Instant) -> bool {
        let FuzzArguments { sequences, steps, sequence_seed, .. } = self.fuzz;
        let played = self.campaign.sequences + self.under_way.len() as u64;
        self.fuzz.budget().is_some_and(|budget| began.elapsed() >= budget)
            || sequences.is_some_and(|most| played >= most)
            || steps.is_some_and(|most| self.campaign.steps >= most)
            || sequence_seed.is_some() && played > 0
    }

    /// Generates the next conversation that the reference host plays as expected.
    fn draw(&mut self) -> Option<DrawnSequence> {
        if let Some(seed) = self.fuzz.sequence_seed {
            let sequence = self.source.of_seed(seed)?;
            return self.fitting(sequence).map(|(sequence, _)| sequence);
        }
        let familiar = self.campaign.without_news() >= FAMILIAR;
        let drawn = if self.target.is_foreign && familiar { DRAWN } else { 1 };
        let mut rarest: Option<(f64, DrawnSequence)> = None;
        for _ in 0..drawn {
            self.campaign.next += 1;
            let Some(sequence) = self.source.sequence(self.campaign.next - 1) else { continue };
            let Some((sequence, expected)) = self.fitting(sequence) else { continue };
            let rarity = self.campaign.rarity(&expected);
            if rarest.as_ref().is_none_or(|(most, _)| rarity > *most) {
                rarest = Some((rarity, sequence));
            }
        }
        rarest.map(|(_, sequence)| sequence)
    }

    /// Adapts the conversation to the target. Also returns what the conversation tests on the reference host.
    fn fitting(
        &mut self,
        mut sequence: DrawnSequence,
    ) -> Option<(DrawnSequence, BTreeMap<String, u64>)> {
        // A target without faults is the reference host itself, so coverage is counted when the conversation is
        // played.
        if self.target.is_honest {
            return Some((sequence, BTreeMap::new()));
        }
        let (found, gauge) = self.target.honest.measured(&sequence.draft);
        if let Some(finding) = found.first() {
            self.odd(sequence.seed, finding);
            return None;
        }
        match self.target.is_foreign {
            // Conversations with agents only claim what holds for every agent, so they need no adaptation.
            true if sequence.draft.is_about_agents() => {}
            true => hold::fit(&mut sequence.draft, &self.campaign.unmet),
            false => hold::loosen(&mut sequence.draft, &self.campaign.unmet),
        }
        sequence.draft.scenario().is_ok().then(|| (sequence, gauge.seen()))
    }

    fn launch(&mut self, sequence: DrawnSequence, playing: &mut JoinSet<PlayedSequence>) {
        let (target, gauge, limit) =
            (Arc::clone(&self.target), AnswerGauge::default(), self.limit());
        let number = self.plays;
        self.plays += 1;
        let name = format!("{}#{number}", sequence.draft.id);
        self.under_way.push(UnderWay { number, gauge: gauge.clone(), events: 0 });
        playing.spawn(async move {
            let played = target.play(&sequence.draft, name, limit, &gauge).await;
            PlayedSequence { number, sequence, played, gauge, hurried: limit.is_some() }
        });
    }

    /// Returns the wait limit, if it is shorter than that of `run`.
    fn limit(&self) -> Option<Duration> {
        let limit = (self.slowest * PATIENCE).max(LEAST);
        let hurries = self.target.is_foreign && self.slowest > Duration::ZERO;
        (hurries && limit < self.timeout).then_some(limit)
    }

    fn landed(&mut self, played: &PlayedSequence) {
        self.under_way.retain(|it| it.number != played.number);
    }

    /// Records the result of a conversation.
    fn played(&mut self, played: PlayedSequence) {
        self.landed(&played);
        let PlayedSequence { sequence, played, gauge, hurried, .. } = played;
        self.campaign.sequences += 1;
        self.campaign.steps += sequence.draft.steps.len() as u64;
        self.slowest = self.slowest.max(gauge.slowest());
        let tally = gauge.tally();
        self.campaign.tally.served += tally.served;
        self.campaign.tally.refused += tally.refused;
        self.campaign.tried(sequence.seed, &sequence.told);
        self.campaign.saw(gauge.seen());
        self.recent.retain(|(at, _)| at.elapsed() < RECENT);
        if self.watch.is_outside() && self.recent.len() < MAX_RECENT {
            self.recent.push_back((Instant::now(), sequence.clone()));
        }
        let Some(PlayedDraft { verdict, mut found }) = played else { return };
        for missed in hold::missed(&sequence.draft, &verdict) {
            let times = self.missed.entry(missed.clone()).or_default();
            *times += 1;
            // A wait that was missed once will be missed again. A request that was refused once may succeed
            // later.
            let needed = if self.target.is_foreign && missed.is_wait() { 1 } else { ENOUGH };
            if *times >= needed && !self.target.is_honest {
                self.campaign.unmet.insert(missed);
            }
        }
        if self.target.is_honest {
            // The expectation was generated on this host itself. If the host does not meet the expectation, the
            // generator is wrong.
            if let Some(finding) = found.iter().find(|it| !it.is_of_check()) {
                self.odd(sequence.seed, finding);
            }
            found.retain(FuzzFinding::is_of_check);
        }
        for finding in found {
            self.candidate(FindingCandidate {
                draft: sequence.draft.clone(),
                seed: sequence.seed,
                finding,
                hurried,
            });
            if self.fuzz.stop_at_first {
                break;
            }
        }
    }

    /// Queues a finding for examination, unless the finding is known.
    fn candidate(&mut self, candidate: FindingCandidate) {
        let finding = &candidate.finding;
        let counts = finding.weight >= self.fuzz.weight && !self.known.has(finding);
        if !counts || self.dismissed.contains(&finding.key) {
            return;
        }
        let doubtful = self.campaign.is_doubtful(finding);
        if self.campaign.is_known(finding) && !doubtful {
            return;
        }
        if let Some(times) = self.pending.get_mut(&finding.key) {
            *times += 1;
            return;
        }
        self.pending.insert(finding.key.clone(), 1);
        self.waiting.push_back(candidate);
    }

    fn examine_next(
        &mut self,
        examining: &mut JoinSet<(FindingCandidate, ExaminationResult)>,
        stopping: Option<CommandExit>,
    ) {
        // No conversation is played during an examination: other conversations may hide the finding, and slow
        // down the host.
        let quiet = self.under_way.is_empty() && examining.is_empty();
        if stopping == Some(CommandExit::Interrupted) || !quiet {
            return;
        }
        if let Some(candidate) = self.next_candidate() {
            let (target, small) = (Arc::clone(&self.target), !self.fuzz.no_shrink);
            examining.spawn(async move {
                let examined = examine(target, &candidate, small).await;
                (candidate, examined)
            });
        }
    }

    /// Returns the next finding to examine: one with a new cause if there is any, and among these the one with
    /// the greatest weight.
    fn next_candidate(&mut self) -> Option<FindingCandidate> {
        let rank =
            |it: &FindingCandidate| (!self.campaign.has_cause_of(&it.finding), it.finding.weight);
        let most = self.waiting.iter().map(rank).max()?;
        let at = self.waiting.iter().position(|it| rank(it) == most)?;
        self.waiting.remove(at)
    }

    /// Keeps the result of an examination.
    fn examined(
        &mut self,
        candidate: FindingCandidate,
        examined: ExaminationResult,
    ) -> Result<(), CommandStop> {
        let FindingCandidate { draft, seed, finding, .. } = candidate;
        let times = self.pending.remove(&finding.key).unwrap_or(1);
        match examined {
            ExaminationResult::Steady { draft, again } => {
                self.keep(draft, seed, finding, again, times)
            }
            ExaminationResult::Flaky { again } => {
                let at = format!("{seed:016x}");
                self.context.error(&format!(
                    "flaky: {} ({}) occurred again in {} of {} repetitions (--sequence-seed {at}): {}\n",
                    finding.rule,
                    word(finding.weight),
                    again.0,
                    again.1,
                    finding.message
                ));
                self.campaign.add_flaky(FindingBucket {
                    finding,
                    scenario: draft.id,
                    seed,
                    times,
                    again,
                    flaky: true,
                    also: Vec::new(),
                });
                self.save()
            }
            ExaminationResult::Permitted(variant) => {
                self.dismissed.insert(finding.key.clone());
                self.permitted.insert(finding.key, variant);
                Ok(())
            }
            ExaminationResult::TooEarly => {
                // The wait limit grows, and a later conversation may show the finding again.
                self.slowest = (self.slowest * 2).min(self.timeout);
                Ok(())
            }
        }
    }

    /// Keeps a finding with its scenario.
    fn keep(
        &mut self,
        mut draft: ScenarioDraft,
        seed: u64,
        finding: FuzzFinding,
        again: (u32, u32),
        times: u64,
    ) -> Result<(), CommandStop> {
        self.campaign.forget_flaky(&finding);
        let number = self.campaign.buckets.len() + 1;
        self.context.error(&format!(
            "finding {number}: {} ({}): {}\n",
            finding.rule,
            word(finding.weight),
            finding.message
        ));
        if let Some(at) = self.folder.same(&self.campaign, &draft, &finding) {
            let bucket = &mut self.campaign.buckets[at];
            bucket.times += times;
            bucket.also.push(finding.key);
            self.context.error(&format!("it is the same as finding {}\n", at + 1));
            return self.save();
        }
        draft.id = CampaignFolder::id(number, &finding.rule);
        let comment = format!(
            "# Found by `ahp-harness fuzz`, in the conversation of `--sequence-seed {seed:016x}`; occurred again in {} of \
             {} repetitions.\n# {}: {}\n",
            again.0,
            again.1,
            finding.rule,
            ForeignText::from(finding.message.as_str()).line()
        );
        self.folder.keep(&draft, &comment)?;
        let (scenario, also) = (draft.id, Vec::new());
        self.campaign.buckets.push(FindingBucket {
            finding,
            scenario,
            seed,
            times,
            again,
            flaky: false,
            also,
        });
        self.save()
    }

    /// Records a conversation that the reference host without faults does not play as expected.
    fn odd(&mut self, seed: u64, finding: &FuzzFinding) {
        self.campaign.unsteady += 1;
        if self.odd.len() < SHOWN {
            self.odd.push(format!("{seed:016x}: {}: {}", finding.rule, finding.message));
        }
    }

    /// Describes the outage of the host after a conversation, if there was one. Checks the host only if a
    /// connection was closed or the conversation has findings.
    async fn outage(&mut self, played: &PlayedSequence) -> Option<String> {
        let verdict = played.played.as_ref().map(|played| &played.verdict);
        let shook = verdict.is_some_and(|verdict| verdict.shook_hands);
        let cut = verdict.is_some_and(|verdict| verdict.cut);
        let found = played.played.as_ref().is_some_and(|played| !played.found.is_empty());
        self.watch.saw(shook);
        let restarts = Self::restarted(played);
        if self.watch.is_cut() && restarts {
            self.watch.open_sentinel();
            self.watch.ready().await;
        }
        let well = shook && !cut && !found && (restarts || !self.watch.is_cut());
        if well { None } else { self.watch.trouble(cut && !restarts).await }
    }

    /// Waits for all conversations that are being played. Findings under examination are examined again later.
    async fn drained(
        &mut self,
        first: PlayedSequence,
        playing: &mut JoinSet<PlayedSequence>,
        examining: &mut JoinSet<(FindingCandidate, ExaminationResult)>,
    ) -> Vec<DrawnSequence> {
        let mut struck = vec![first];
        while let Some(played) = playing.join_next().await {
            struck.extend(played.ok());
        }
        // Examinations replay findings on the host that ended, so their results are not used.
        while let Some(examined) = examining.join_next().await {
            self.waiting.extend(examined.ok().map(|(candidate, _)| candidate));
        }
        struck.sort_by_key(|played| played.number);
        struck.iter().for_each(|played| self.landed(played));
        struck.into_iter().map(|played| played.sequence).collect()
    }

    /// Restarts the host after an outage, and determines which of these conversations causes the outage.
    async fn after_outage(
        &mut self,
        what: &str,
        struck: Vec<DrawnSequence>,
    ) -> Result<(), CommandStop> {
        self.context.error(&format!(
            "{what}; the conversations that were being played are played again, each alone\n"
        ));
        if !self.watch.recovered(what).await {
            return Ok(());
        }
        let recent = std::mem::take(&mut self.recent).into_iter().map(|(_, sequence)| sequence);
        let recent: Vec<DrawnSequence> =
            recent.filter(|it| struck.iter().all(|other| other.seed != it.seed)).collect();
        let TrialResults { held, ended } = trials(self, &struck, &recent).await;
        if ended.is_empty() && self.watch.gone().is_none() {
            self.context.error(&format!(
                "note: {what} when {} conversations were played, and outlived each of them when it \
                 was played again alone\n",
                struck.len()
            ));
        }
        for (played, what) in ended {
            let weight =
                RequirementLedger::look_up(OUTLIVES).map_or(Weight::Essential, |rule| rule.weight);
            let message = format!("{what} when this was played alone on a fresh host, twice");
            let finding = FuzzFinding::of(OUTLIVES, weight, "", &message);
            let PlayedSequence { sequence, .. } = played;
            self.campaign.sequences += 1;
            if !self.known.has(&finding) && !self.campaign.is_known(&finding) {
                let draft = ScenarioDraft { title: finding.statement(), ..sequence.draft };
                self.keep(draft, sequence.seed, finding, (2, 2), 1)?;
            }
        }
        held.into_iter().for_each(|played| self.played(played));
        Ok(())
    }

    pub(super) fn save(&self) -> Result<(), CommandStop> {
        self.folder.save(&self.campaign)
    }
}

impl LonePlayer for FuzzHunt<'_> {
    type Suspect = DrawnSequence;
    type Played = PlayedSequence;

    fn watch(&mut self) -> &mut HostWatch {
        &mut self.watch
    }

    async fn play_alone(&mut self, suspect: &DrawnSequence) -> Option<PlayedSequence> {
        let (number, gauge) = (self.plays, AnswerGauge::default());
        self.plays += 1;
        let name = format!("{}#{number}", suspect.draft.id);
        let played = self.target.play(&suspect.draft, name, None, &gauge).await;
        Some(PlayedSequence { number, sequence: suspect.clone(), played, gauge, hurried: false })
    }

    fn restarted(played: &PlayedSequence) -> bool {
        played.sequence.draft.steps.iter().any(|step| step.get("restart").is_some())
    }

    fn took(played: &PlayedSequence) -> Duration {
        played.played.as_ref().map(|played| played.verdict.took).unwrap_or_default()
    }

    fn void(&mut self, _: &PlayedSequence, _: &str) {}
}
