//! Runs a campaign: plays and examines what the schedule chooses, and keeps the results.
//!
//! Knows: the schedule, the target, the folder of the campaign, the clock. Never knows: the choice of the next
//! conversation or examination, the generation and minimisation of conversations.
//!
//! Start at [`FuzzHunt::go`].

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::{AbortHandle, Id, JoinError, JoinSet};

use crate::arb::campaign::{FindingBucket, FuzzCampaign, KnownFindings};
use crate::arb::draft::ScenarioDraft;
use crate::arb::schedule::choice::ConversationChoice;
use crate::arb::schedule::findings::{FindingCase, and_then};
use crate::arb::schedule::queue::{ExaminationNews, ExaminationResult};
use crate::arb::schedule::{
    CampaignSchedule, IDLE, PlayedSequence, ScheduleRules, ScheduleStep, ScheduledWork, WorkKind,
};
use crate::arb::source::ConversationSource;
use crate::report::summary::word;
use crate::wire::foreign_text::ForeignText;

use super::campaign_folder::CampaignFolder;
use super::confirm::confirm;
use super::context::CliContext;
use super::exit::{CommandExit, CommandOutcome, CommandStop};
use super::fuzz::FuzzArguments;
use super::fuzz_target::FuzzTarget;
use super::interrupt::interrupts;
use super::lone_trial::HostWatch;
use super::minimise::minimise;
use super::play_target::PlayTarget;

/// The interval at which the state is written, and the interval at which progress is printed.
const SAVED: Duration = Duration::from_secs(5);
const SAID: Duration = Duration::from_secs(10);
/// After this many conversations without new coverage, the progress line says that nothing new was found.
pub(super) const STALE: u64 = 100;

/// A running campaign.
pub(super) struct FuzzHunt<'a> {
    pub(super) fuzz: &'a FuzzArguments,
    pub(super) context: &'a CliContext,
    pub(super) target: Arc<FuzzTarget>,
    pub(super) schedule: CampaignSchedule,
    folder: CampaignFolder,
    pub(super) watch: HostWatch,
    began: Instant,
    /// The work in progress: conversations and examinations.
    tasks: JoinSet<HuntResult>,
    /// The numbers of the work in progress.
    numbers: HashMap<Id, u64>,
    /// The handles that end the examinations in progress.
    examinations: Vec<AbortHandle>,
    warned: bool,
}

/// The result of a piece of work.
enum HuntResult {
    Played(Box<PlayedSequence>),
    Examined(u64, Box<ExaminationResult>),
}

impl<'a> FuzzHunt<'a> {
    /// Prepares a campaign that begins now. `stop_at` is the time at which the last examinations have to end.
    pub(super) fn new(
        fuzz: &'a FuzzArguments,
        context: &'a CliContext,
        target: Arc<FuzzTarget>,
        (source, known, campaign): (ConversationSource, KnownFindings, FuzzCampaign),
        stop_at: Option<Instant>,
    ) -> FuzzHunt<'a> {
        let remote = match &target.target {
            PlayTarget::Remote(remote, _) => Some(Arc::clone(remote)),
            _ => None,
        };
        let offers = &target.look.header.offers;
        let timeout = target.limit();
        let watch = HostWatch::new(remote, offers, timeout, true, interrupts());
        let began = Instant::now();
        let rules = ScheduleRules {
            jobs: usize::from(fuzz.jobs),
            weight: fuzz.weight,
            is_embedded: target.is_embedded(),
            is_outside: watch.is_outside(),
            stop_at_first: fuzz.stop_at_first,
            minimises: !fuzz.no_shrink,
            sequences: fuzz.sequences,
            steps: fuzz.steps,
            time: fuzz.budget(),
            ends_at: stop_at.map(|at| at.saturating_duration_since(began)),
            timeout,
            is_foreign: target.is_foreign,
            is_honest: target.is_honest,
        };
        let choice = ConversationChoice::new(source, target.honest.clone(), fuzz.sequence_seed);
        FuzzHunt {
            fuzz,
            context,
            target,
            schedule: CampaignSchedule::new(rules, choice, known, campaign),
            folder: CampaignFolder(fuzz.out.clone()),
            watch,
            began,
            tasks: JoinSet::new(),
            numbers: HashMap::new(),
            examinations: Vec::new(),
            warned: false,
        }
    }

    /// Returns the time since the campaign began.
    pub(super) fn now(&self) -> Duration {
        self.began.elapsed()
    }

    /// Plays conversations until the time of the campaign has run out, and examines the findings.
    pub(super) async fn go(&mut self) -> CommandOutcome {
        let (mut saved, mut said) = (Instant::now(), Instant::now());
        let mut interrupted = interrupts();
        self.watch.ready().await;
        self.watch.probe_sessions().await;
        loop {
            let pause = match self.schedule.poll(self.now()) {
                ScheduleStep::Begin(work) => {
                    self.begin(*work);
                    continue;
                }
                ScheduleStep::Over => break,
                ScheduleStep::Again => Duration::ZERO,
                ScheduleStep::Wait => IDLE,
            };
            let is_interrupted = self.schedule.is_interrupted();
            tokio::select! {
                Some(ended) = self.tasks.join_next_with_id() => self.ended(ended).await?,
                _ = interrupted.changed(), if !is_interrupted => {
                    self.schedule.interrupt();
                    self.end_examinations()?;
                }
                () = tokio::time::sleep(pause) => {}
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
            if let Some(why) = self.schedule.campaign().tally.futile().filter(|_| !self.warned) {
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
        Ok(match self.schedule.is_interrupted() {
            true => CommandExit::Interrupted,
            false => self.result(),
        })
    }

    fn result(&self) -> CommandExit {
        match self.schedule.campaign().failures().next() {
            None => CommandExit::Ok,
            Some(_) => CommandExit::Failed,
        }
    }

    /// Ends a campaign when its time budget is used up.
    pub(super) fn cut_short(&mut self) -> CommandOutcome {
        self.end_examinations()?;
        Ok(self.result())
    }

    /// Begins a piece of work as a task.
    fn begin(&mut self, work: ScheduledWork) {
        let ScheduledWork { number, gauge, kind } = work;
        let target = Arc::clone(&self.target);
        let examines = !matches!(kind, WorkKind::Play { .. });
        let handle = match kind {
            WorkKind::Play { sequence, limit } => self.tasks.spawn(async move {
                let played = target.play(&sequence.draft, limit, &gauge).await;
                let hurried = limit.is_some();
                let played = PlayedSequence { number, sequence, played, gauge, hurried };
                HuntResult::Played(Box::new(played))
            }),
            WorkKind::Confirm(failed) => self.tasks.spawn(async move {
                let results = confirm(&target, &failed, &gauge).await;
                let result = ExaminationResult::Confirmed(failed, results);
                HuntResult::Examined(number, Box::new(result))
            }),
            WorkKind::Minimise { confirmed, quick, limit } => self.tasks.spawn(async move {
                let case = Box::new(minimise(&target, &confirmed, quick, limit).await);
                let result = ExaminationResult::Minimised(*confirmed, case);
                HuntResult::Examined(number, Box::new(result))
            }),
        };
        self.numbers.insert(handle.id(), number);
        if examines {
            self.examinations.retain(|it| !it.is_finished());
            self.examinations.push(handle);
        }
    }

    /// Handles the end of a task.
    async fn ended(
        &mut self,
        ended: Result<(Id, HuntResult), JoinError>,
    ) -> Result<(), CommandStop> {
        match self.result_of(ended) {
            Some(HuntResult::Played(played)) => match self.outage(&played).await {
                None => self.schedule.played(self.now(), *played),
                Some(what) => {
                    let struck = self.drained(*played).await;
                    self.after_outage(&what, struck).await?;
                }
            },
            Some(HuntResult::Examined(number, result)) => {
                let news = self.schedule.examined(self.now(), number, *result);
                self.tell(news)?;
                self.save()?;
            }
            None => {}
        }
        Ok(())
    }

    /// Returns the result of a task; `None` if the task failed or was aborted.
    fn result_of(&mut self, ended: Result<(Id, HuntResult), JoinError>) -> Option<HuntResult> {
        match ended {
            Ok((id, result)) => {
                self.numbers.remove(&id);
                Some(result)
            }
            Err(error) => {
                if let Some(number) = self.numbers.remove(&error.id()) {
                    self.schedule.lost(number);
                }
                if !error.is_cancelled() {
                    self.context
                        .error(&format!("the task that plays a conversation failed: {error}\n"));
                }
                None
            }
        }
    }

    /// Waits until all conversations and examinations in progress have ended. The results of these examinations are
    /// not used, because the host stopped meanwhile. Returns the conversations, the given one among them, in the order
    /// of their beginnings.
    pub(super) async fn drain(&mut self, first: PlayedSequence) -> Vec<PlayedSequence> {
        let mut struck = vec![first];
        while let Some(ended) = self.tasks.join_next_with_id().await {
            if let Some(HuntResult::Played(played)) = self.result_of(ended) {
                struck.push(*played);
            }
        }
        self.schedule.requeue();
        struck.sort_by_key(|played| played.number);
        for played in &struck {
            self.schedule.landed(played.number);
        }
        struck
    }

    /// Keeps the confirmed findings as they are, and records the findings that were not confirmed.
    fn end_examinations(&mut self) -> Result<(), CommandStop> {
        // Conversations end by themselves when the campaign is interrupted; examinations do not.
        self.examinations.drain(..).for_each(|task| task.abort());
        let cases = self.schedule.end_examinations();
        self.tell(cases)
    }

    /// Stores and reports what an examination has found.
    fn tell(&mut self, news: Vec<ExaminationNews>) -> Result<(), CommandStop> {
        for news in news {
            match news {
                ExaminationNews::Case(case, bucket) => self.keep(*case, bucket)?,
                ExaminationNews::Flaky(FindingBucket { finding, again, seed, .. }) => {
                    self.context.error(&format!(
                        "flaky: {} ({}) occurred again in {} of {} repetitions (--sequence-seed {seed:016x}): {}\n",
                        finding.rule,
                        word(finding.weight),
                        again.0,
                        again.1,
                        finding.message
                    ));
                }
                ExaminationNews::TooEarly => {}
            }
        }
        Ok(())
    }

    /// Keeps a finding with its scenario, and with the conversations that have to be played at the same time. The
    /// finding is reported only after it was written to the disk, so that no reported finding is lost if the process is
    /// killed.
    pub(super) fn keep(
        &mut self,
        case: FindingCase,
        mut found: FindingBucket,
    ) -> Result<(), CommandStop> {
        let FindingCase { mut draft, beside, .. } = case;
        let number = self.schedule.number_of(&found.finding);
        let finding = &found.finding;
        let report = format!(
            "finding {number}: {} ({}): {}\n",
            finding.rule,
            word(finding.weight),
            finding.message
        );
        // Only minimised scenarios show whether two findings have the same cause.
        let same = match found.minimised {
            true => self.folder.same(self.schedule.campaign(), &draft, finding),
            false => None,
        };
        if let Some(at) = same {
            self.schedule.add_to(at, found);
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
        self.schedule.add(FindingBucket { scenario: draft.id, ..found });
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

    /// Writes the state of the campaign. If the process is killed, the continued campaign begins with the findings that
    /// wait now.
    pub(super) fn save(&self) -> Result<(), CommandStop> {
        self.folder.save(&self.schedule.stored())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;

    use super::*;
    use crate::arb::gauge::AnswerGauge;
    use crate::cli::lone_trial::LonePlayer;

    #[tokio::test]
    async fn a_campaign_that_is_cut_short_keeps_what_was_confirmed() {
        let out = std::env::temp_dir().join(format!("ahp-cut-short-{}", std::process::id()));
        let folder = out.display().to_string();
        let faults = ["--fault", "sequence-repeats", "--fault", "echo-never"];
        let args = [&["fuzz", "--out", &folder], &faults[..]].concat();
        let fuzz = FuzzArguments::parsed(&args);
        let context = CliContext::gather().quiet();
        let target = fuzz.looked_at(&context, None).await.unwrap_or_else(|_| unreachable!());
        let target = Arc::new(target);
        let source = fuzz.source(&target, 1);
        let begins = (source.clone(), KnownFindings::default(), FuzzCampaign::default());
        fs::create_dir_all(out.join("fuzz")).unwrap();
        let mut hunt = FuzzHunt::new(&fuzz, &context, Arc::clone(&target), begins, None);
        let mut sequences = (0..).filter_map(|number| source.sequence(number));
        let mut seeds = BTreeSet::new();
        while seeds.len() < 2 {
            let played = hunt.play_alone(&sequences.next().unwrap()).await.unwrap();
            hunt.schedule.played(hunt.now(), played);
            seeds.extend(hunt.schedule.stored().unexamined.iter().map(|it| it.seed));
        }
        let ScheduleStep::Begin(work) = hunt.schedule.poll(hunt.now()) else { unreachable!() };
        let WorkKind::Confirm(failed) = work.kind else { unreachable!() };
        let (number, draft) = (failed.findings.len(), failed.draft.clone());
        assert!(hunt.save().is_ok());
        // The findings that are being examined, and those that wait, are in the file.
        let saved = fs::read_to_string(out.join("campaign.jsonl")).unwrap();
        let unexamined = FuzzCampaign::of_text(&saved).unwrap().unexamined;
        assert_eq!(unexamined.iter().map(|it| it.seed).collect::<BTreeSet<_>>(), seeds);
        let results = confirm(&target, &failed, &AnswerGauge::default()).await;
        assert_eq!(results.len(), number);
        let result = ExaminationResult::Confirmed(failed, results);
        let news = hunt.schedule.examined(hunt.now(), work.number, result);
        assert!(hunt.tell(news).is_ok());
        assert_eq!(hunt.schedule.queue().lengths().1, number);
        assert!(hunt.cut_short().is_ok());
        assert!(!hunt.schedule.queue().has_waiting());
        let campaign = hunt.schedule.campaign().clone();
        assert!(!campaign.unexamined.is_empty());
        assert_eq!(campaign.buckets.len(), number);
        let found = target.replay(&draft, &AnswerGauge::default()).await.unwrap();
        let keys: BTreeSet<String> = found.into_iter().map(|finding| finding.key).collect();
        for bucket in &campaign.buckets {
            assert!(!bucket.minimised && keys.contains(&bucket.finding.key), "{bucket:?}");
            let file = fs::read_to_string(out.join(format!("{}.yaml", bucket.scenario))).unwrap();
            assert!(file.contains("it was not minimised"), "{file}");
        }
        // A finding is reported only after it was written to the disk.
        let reported = || {
            let errors = context.buffered_errors();
            errors.iter().filter(|text| text.starts_with("finding ")).count()
        };
        assert_eq!(reported(), number);
        fs::remove_dir_all(&out).unwrap();
        let bucket = campaign.buckets[0].clone();
        let (order, beside) = (String::new(), Vec::new());
        assert!(hunt.keep(FindingCase { draft, order, beside, minimised: false }, bucket).is_err());
        assert_eq!(reported(), number);
    }
}
