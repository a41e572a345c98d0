//! Runs a campaign: chooses the next conversation, examines findings, and keeps the results.
//!
//! Knows: the generator, the target, the folder of the campaign. Never knows: the generation and minimisation
//! of conversations.
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
use crate::report::summary::word;
use crate::wire::foreign_text::ForeignText;

use super::aim::PlayTarget;
use super::campaign_folder::CampaignFolder;
use super::confirm::{ConfirmedFinding, FailedConversation};
use super::context::CliContext;
use super::exit::{CommandExit, CommandOutcome, CommandStop};
use super::fuzz::FuzzArguments;
use super::fuzz_target::{FuzzTarget, PlayedDraft};
use super::hunt_examine::{NumberedResult, UnderExamination};
use super::hunt_time::HuntTime;
use super::interrupt::interrupts;
use super::lone_trial::{HostWatch, RECENT};
use super::minimise::and_then;
use super::traffic_watch::{QUIET, TrafficWatch};

/// If an expectation that is not a wait has failed this many times, it is no longer generated.
const ENOUGH: u32 = 2;
/// The maximum number of conversations with an unexpected result that are listed, each with the reason.
const SHOWN: usize = 5;
/// The interval at which the state is written, and the interval at which progress is printed.
const SAVED: Duration = Duration::from_secs(5);
const SAID: Duration = Duration::from_secs(10);
/// After this many conversations without new coverage, the progress line says that nothing new was found.
pub(super) const STALE: u64 = 100;
/// A conversation without traffic for `IDLE` counts as waiting. For each conversation with traffic, `WAITING`
/// conversations may be in progress.
const IDLE: Duration = Duration::from_millis(20);
const WAITING: usize = 8;
/// The time limit of a wait is `PATIENCE` times the slowest answer so far, but at least `LEAST`: a fast host needs only
/// short waits.
const PATIENCE: u32 = 5;
const LEAST: Duration = Duration::from_millis(300);
/// The maximum number of other conversations that are replayed at the same time as a failed conversation.
const MAX_BESIDE: usize = 8;
/// The maximum number of recently ended conversations that are suspected when the host stops.
const MAX_RECENT: usize = 16;

/// A running campaign.
pub(super) struct FuzzHunt<'a> {
    pub(super) fuzz: &'a FuzzArguments,
    pub(super) context: &'a CliContext,
    pub(super) target: Arc<FuzzTarget>,
    pub(super) source: ConversationSource,
    pub(super) known: KnownFindings,
    pub(super) campaign: FuzzCampaign,
    folder: CampaignFolder,
    pub(super) watch: HostWatch,
    /// The conversations that are being played.
    under_way: Vec<UnderWay>,
    /// A generated conversation that restarts the host; it waits until the others have ended.
    alone: Option<DrawnSequence>,
    /// The number of the next conversation that is played.
    pub(super) plays: u64,
    /// The conversations whose findings wait to be confirmed.
    pub(super) waiting: VecDeque<FailedConversation>,
    /// The confirmed findings that wait to be minimised.
    pub(super) confirmed: VecDeque<ConfirmedFinding>,
    pub(super) under_examination: Vec<UnderExamination>,
    /// The identities of the findings that wait for examination or are being examined, each with the number of further
    /// occurrences.
    pub(super) pending: BTreeMap<String, u64>,
    /// The identities of the findings that were dismissed: the specification permits the behaviour, or the host was
    /// only slow.
    pub(super) dismissed: BTreeSet<String>,
    /// The findings that the specification permits, each with the legal variant that shows the same behaviour.
    pub(super) permitted: BTreeMap<String, &'static str>,
    /// The conversations that ended last, each with the time of its end.
    pub(super) recent: VecDeque<(Instant, DrawnSequence)>,
    /// The first conversations that the reference host without faults does not play as expected, and the reasons.
    pub(super) odd: Vec<String>,
    /// The number of times that each expectation failed.
    missed: BTreeMap<StepExpectation, u32>,
    /// The slowest answer so far.
    pub(super) slowest: Duration,
    /// The time spent on new conversations and on examinations.
    pub(super) time: HuntTime,
    /// The time limit of a wait in `run`.
    pub(super) timeout: Duration,
    warned: bool,
}

/// A conversation that is being played.
struct UnderWay {
    number: u64,
    traffic: TrafficWatch,
    restarts: bool,
    /// The conversation.
    draft: ScenarioDraft,
    /// The conversations that had traffic at the same time.
    beside: Vec<ScenarioDraft>,
}

impl UnderWay {
    /// Returns the conversation if it had traffic a moment ago.
    fn talking(&mut self) -> Option<&mut UnderWay> {
        self.traffic.talks(QUIET).then_some(self)
    }
}

/// A conversation that was played.
pub(super) struct PlayedSequence {
    pub(super) number: u64,
    pub(super) sequence: DrawnSequence,
    pub(super) played: Option<PlayedDraft>,
    pub(super) gauge: AnswerGauge,
    pub(super) hurried: bool,
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
        let timeout = target.limit();
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
            alone: None,
            plays: 0,
            waiting: VecDeque::new(),
            confirmed: VecDeque::new(),
            under_examination: Vec::new(),
            pending: BTreeMap::new(),
            dismissed: BTreeSet::new(),
            permitted: BTreeMap::new(),
            recent: VecDeque::new(),
            odd: Vec::new(),
            missed: BTreeMap::new(),
            slowest: Duration::ZERO,
            time: HuntTime::default(),
            timeout,
            warned: false,
        }
    }

    /// Plays conversations until the time of the campaign has run out, and examines the findings until `stop_at`.
    pub(super) async fn go(&mut self, stop_at: Option<Instant>) -> CommandOutcome {
        let began = Instant::now();
        let before = self.campaign.took;
        let (mut saved, mut said, mut counted) = (began, began, began);
        let mut playing: JoinSet<PlayedSequence> = JoinSet::new();
        let mut examining: JoinSet<NumberedResult> = JoinSet::new();
        let mut interrupted = interrupts();
        let mut stopping = None;
        self.watch.ready().await;
        self.watch.probe_sessions().await;
        loop {
            let left = stopping.and(stop_at).map(|at| at.saturating_duration_since(Instant::now()));
            self.examine_next(&mut examining, stopping, left);
            // An examination may take long, so the time is also checked during an examination.
            if self.is_over(began) {
                stopping = stopping.or(Some(CommandExit::Ok));
            }
            while stopping.is_none() && self.has_room(&playing, &examining) {
                if self.is_over(began) {
                    stopping = Some(CommandExit::Ok);
                    break;
                }
                if let Some(sequence) = self.alone.take().or_else(|| self.draw()) {
                    self.start(sequence, &mut playing);
                }
            }
            if playing.is_empty() && examining.is_empty() && !self.has_to_examine() {
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
                    Ok(examined) => self.examined(examined)?,
                    Err(error) => self.died(&error),
                },
                _ = interrupted.changed(), if stopping != Some(CommandExit::Interrupted) => {
                    stopping = Some(CommandExit::Interrupted);
                    examining.abort_all();
                    self.end_examinations()?;
                }
                () = tokio::time::sleep(IDLE) => {}
            }
            self.campaign.took = before + began.elapsed();
            let passed = std::mem::replace(&mut counted, Instant::now()).elapsed();
            match self.under_examination.is_empty() {
                false => self.time.examined(passed),
                true => self.time.played(passed),
            }
            if let Some(reason) = self.watch.gone().map(str::to_owned) {
                self.save()?;
                let reason = reason.trim_start_matches("not played: ");
                let hint = match reason.contains("(hint: ") {
                    true => "",
                    false => " (hint: `--restart-command` lets a campaign continue)",
                };
                return Err(CommandStop::unreachable(format!("{reason}{hint}")));
            }
            if self.fuzz.stop_at_first && self.campaign.failures().next().is_some() {
                stopping = stopping.or(Some(CommandExit::Ok));
                self.waiting.clear();
                self.confirmed.clear();
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
        Ok(match stopping {
            Some(CommandExit::Interrupted) => CommandExit::Interrupted,
            _ => self.result(),
        })
    }

    fn result(&self) -> CommandExit {
        match self.campaign.failures().next() {
            None => CommandExit::Ok,
            Some(_) => CommandExit::Failed,
        }
    }

    /// Ends a campaign when its time budget is used up.
    pub(super) fn cut_short(&mut self) -> CommandOutcome {
        self.end_examinations()?;
        Ok(self.result())
    }

    fn died(&mut self, error: &tokio::task::JoinError) {
        if !error.is_cancelled() {
            self.context.error(&format!("the task that plays a conversation failed: {error}\n"));
        }
    }

    /// Returns whether another conversation may start now.
    fn has_room(
        &mut self,
        playing: &JoinSet<PlayedSequence>,
        examining: &JoinSet<NumberedResult>,
    ) -> bool {
        if !examining.is_empty() || self.has_to_examine() && self.may_examine() {
            return false;
        }
        let jobs = usize::from(self.fuzz.jobs);
        // In memory no conversation waits, and a campaign is reproducible. With one job, no finding depends on
        // another conversation.
        let one_at_a_time = self.target.is_embedded() || jobs == 1;
        if one_at_a_time || self.alone.is_some() || self.under_way.iter().any(|it| it.restarts) {
            return playing.is_empty();
        }
        let talking =
            self.under_way.iter_mut().map(|it| usize::from(it.traffic.talks(IDLE))).sum::<usize>();
        playing.len() < jobs || talking < jobs && playing.len() < jobs * WAITING
    }

    fn is_over(&self, began: Instant) -> bool {
        let FuzzArguments { sequences, steps, sequence_seed, .. } = self.fuzz;
        let played = self.campaign.sequences + self.under_way.len() as u64;
        self.fuzz.budget().is_some_and(|budget| began.elapsed() >= budget)
            || sequences.is_some_and(|most| played >= most)
            || steps.is_some_and(|most| self.campaign.steps >= most)
            || sequence_seed.is_some() && self.plays > 0
    }

    /// Starts a conversation. A conversation that restarts the host, which ends every connection, has to wait
    /// until the others have ended.
    fn start(&mut self, sequence: DrawnSequence, playing: &mut JoinSet<PlayedSequence>) {
        match sequence.draft.restart().is_some() && !playing.is_empty() {
            true => self.alone = Some(sequence),
            false => self.launch(sequence, playing),
        }
    }

    fn launch(&mut self, sequence: DrawnSequence, playing: &mut JoinSet<PlayedSequence>) {
        let (target, gauge, limit) =
            (Arc::clone(&self.target), AnswerGauge::default(), self.limit());
        let number = self.plays;
        self.plays += 1;
        let restarts = sequence.draft.restart().is_some();
        let (traffic, draft) = (TrafficWatch::new(gauge.clone()), sequence.draft.clone());
        let mut beside = Vec::new();
        if !self.target.is_embedded() {
            for other in self.under_way.iter_mut().rev().filter_map(UnderWay::talking) {
                if other.beside.len() < MAX_BESIDE {
                    other.beside.push(draft.clone());
                }
                if beside.len() < MAX_BESIDE {
                    beside.push(other.draft.clone());
                }
            }
        }
        self.under_way.push(UnderWay { number, traffic, restarts, draft, beside });
        playing.spawn(async move {
            let played = target.play(&sequence.draft, limit, &gauge).await;
            PlayedSequence { number, sequence, played, gauge, hurried: limit.is_some() }
        });
    }

    /// Returns the time limit of a wait, if it is shorter than the limit of `run`; otherwise `None`.
    fn limit(&self) -> Option<Duration> {
        let limit = (self.slowest * PATIENCE).max(LEAST);
        let hurries = self.target.is_foreign && self.slowest > Duration::ZERO;
        (hurries && limit < self.timeout).then_some(limit)
    }

    /// Returns whether a conversation is being played that could disturb an examination. A conversation that only waits
    /// for its time limit disturbs an examination only if `alone` is set.
    pub(super) fn is_playing(&mut self, alone: bool) -> bool {
        self.under_way.iter_mut().any(|it| alone || it.restarts || it.traffic.talks(QUIET))
    }

    /// Records that a conversation has ended. Returns the conversations that had traffic at the same time.
    pub(super) fn landed(&mut self, played: &PlayedSequence) -> Vec<ScenarioDraft> {
        let at = self.under_way.iter().position(|it| it.number == played.number);
        at.map(|at| self.under_way.remove(at).beside).unwrap_or_default()
    }

    /// Records the result of a conversation.
    pub(super) fn played(&mut self, played: PlayedSequence) {
        let beside = self.landed(&played);
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
            // If a message that a wait expects did not come once, it will not come later either. A request that was
            // refused once may succeed later.
            let needed = if self.target.is_foreign && missed.is_wait() { 1 } else { ENOUGH };
            if *times >= needed && !self.target.is_honest {
                self.campaign.unmet.insert(missed);
            }
        }
        if self.target.is_honest {
            // The expectation was computed on the same reference host. If the host does not meet the expectation, the
            // generator is wrong.
            if let Some(finding) = found.iter().find(|it| !it.is_of_check()) {
                self.odd(sequence.seed, finding);
            }
            found.retain(FuzzFinding::is_of_check);
        }
        found.retain(|finding| self.is_to_examine(finding, sequence.seed));
        if self.fuzz.stop_at_first {
            found.truncate(1);
        }
        if !found.is_empty() {
            let DrawnSequence { draft, seed, .. } = sequence;
            let findings = found;
            self.waiting.push_back(FailedConversation { draft, seed, findings, hurried, beside });
        }
    }

    /// Keeps a finding with its scenario, and with the conversations that have to be played at the same time. The
    /// finding is reported only after it was written to the disk, so that no reported finding is lost if the process is
    /// killed.
    pub(super) fn keep(
        &mut self,
        mut draft: ScenarioDraft,
        beside: Vec<ScenarioDraft>,
        mut found: FindingBucket,
    ) -> Result<(), CommandStop> {
        self.campaign.forget_flaky(&found.finding);
        let number = self.campaign.next_number();
        let finding = &found.finding;
        let report = format!(
            "finding {number}: {} ({}): {}\n",
            finding.rule,
            word(finding.weight),
            finding.message
        );
        // Only minimised scenarios show whether two findings have the same cause.
        let same = match found.minimised {
            true => self.folder.same(&self.campaign, &draft, finding),
            false => None,
        };
        if let Some(at) = same {
            let bucket = &mut self.campaign.buckets[at];
            bucket.times += found.times;
            bucket.also.push(finding.key.clone());
            self.save()?;
            self.context.error(&format!("{report}it is the same as finding {}\n", at + 1));
            return Ok(());
        }
        draft.id = CampaignFolder::id(number, &finding.rule);
        if !beside.is_empty() {
            found.order = and_then(self.keep_beside(&draft.id, beside)?, &found.order);
        }
        let FindingBucket { finding, seed, again, order, .. } = &found;
        let mut order = if order.is_empty() { String::new() } else { format!("# {order}.\n") };
        if !found.minimised {
            order.push_str("# It is the whole conversation; it was not minimised.\n");
        }
        let comment = format!(
            "# Found by `ahp-harness fuzz`, in the conversation of `--sequence-seed {seed:016x}`; occurred again in {} of \
             {} repetitions.\n{order}# {}: {}\n",
            again.0,
            again.1,
            finding.rule,
            ForeignText::from(finding.message.as_str()).line()
        );
        self.folder.keep(&draft, &comment)?;
        self.campaign.buckets.push(FindingBucket { scenario: draft.id, ..found });
        self.save()?;
        self.context.error(&report);
        Ok(())
    }

    /// Writes the conversations that have to be played at the same time as the scenario with this id. Returns what
    /// the scenario needs, as a sentence.
    fn keep_beside(&self, id: &str, beside: Vec<ScenarioDraft>) -> Result<String, CommandStop> {
        let jobs = beside.len() + 1;
        let title = format!("A conversation that is played at the same time as `{id}`");
        let mut files = Vec::new();
        for (draft, number) in beside.into_iter().zip(1..) {
            let draft = ScenarioDraft {
                id: format!("{id}-beside-{number}"),
                title: title.clone(),
                ..draft
            };
            self.folder.keep(&draft, "")?;
            files.push(format!("`{}.yaml`", draft.id));
        }
        let files = files.join(", ");
        Ok(format!(
            "it needs {files} at the same time: give all files to `run`, with `--jobs {jobs}`"
        ))
    }

    /// Records a conversation that the reference host without faults does not play as expected.
    pub(super) fn odd(&mut self, seed: u64, finding: &FuzzFinding) {
        self.campaign.unsteady += 1;
        if self.odd.len() < SHOWN {
            self.odd.push(format!("{seed:016x}: {}: {}", finding.rule, finding.message));
        }
    }

    /// Writes the state of the campaign. If the process is killed, the continued campaign begins with the findings that
    /// wait now.
    pub(super) fn save(&self) -> Result<(), CommandStop> {
        let mut campaign = self.campaign.clone();
        campaign.unexamined.extend(self.open_findings());
        self.folder.save(&campaign)
    }
}
