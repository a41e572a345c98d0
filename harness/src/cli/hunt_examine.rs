//! Divides the examination of a campaign's findings into parts, chooses the next part, and keeps the results.
//!
//! The findings of a conversation are confirmed together. Each confirmed finding is then minimised on its own. If the
//! campaign ends before that, the whole conversation becomes the scenario of the finding.
//!
//! Knows: the findings that wait. Never knows: confirmation, minimisation.
//!
//! Start at [`FuzzHunt::examine_next`].

use std::cmp::Reverse;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

use crate::arb::campaign::{FindingBucket, UnexaminedFinding};
use crate::arb::finding::FuzzFinding;
use crate::arb::gauge::AnswerGauge;
use crate::report::summary::word;
use crate::verdict::Weight;

use super::confirm::{
    ConfirmationResult, ConfirmedFinding, FailedConversation, FindingSameness, confirm,
};
use super::exit::{CommandExit, CommandStop};
use super::hunt::FuzzHunt;
use super::minimise::{FindingCase, and_then, minimise, shorter};
use super::traffic_watch::{QUIET, TrafficWatch};

/// The time limits for minimising a finding on a target outside of this process, because other findings wait to be
/// examined. The second limit is for a finding whose cause already has a small case.
const SHRINKS_FOR: Duration = Duration::from_secs(45);
const SHRINKS_AGAIN_FOR: Duration = Duration::from_secs(10);

/// The maximum number of conversations that are confirmed at the same time. A replay spends most of its time on waiting
/// for messages that the host does not send.
const CONFIRMED_AT_ONCE: usize = 8;

/// The maximum number of findings that are minimised at the same time.
const MINIMISED_AT_ONCE: usize = 4;

/// One part of the examination of a finding.
#[derive(Clone)]
pub(super) enum ExaminationJob {
    /// Confirms the findings of a conversation.
    Confirm(FailedConversation),
    /// Minimises a confirmed finding.
    Minimise(ConfirmedFinding),
}

impl ExaminationJob {
    fn unexamined(&self) -> Vec<UnexaminedFinding> {
        match self {
            ExaminationJob::Confirm(failed) => failed.unexamined(),
            ExaminationJob::Minimise(confirmed) => vec![confirmed.unexamined()],
        }
    }

    fn minimises(&self) -> bool {
        matches!(self, ExaminationJob::Minimise(_))
    }

    fn restarts(&self) -> bool {
        let draft = match self {
            ExaminationJob::Confirm(failed) => &failed.draft,
            ExaminationJob::Minimise(confirmed) => &confirmed.draft,
        };
        draft.restart().is_some()
    }
}

/// One part of the examination of findings, while it is in progress.
pub(super) struct UnderExamination {
    number: u64,
    pub(super) job: ExaminationJob,
    /// Whether this part of an examination began before all examinations had used up their share of the campaign's
    /// time.
    in_share: bool,
    traffic: TrafficWatch,
}

/// The result of one part of an examination.
pub(super) enum ExaminationResult {
    /// The results for the findings of a conversation.
    Confirmed(FailedConversation, Vec<(FuzzFinding, ConfirmationResult)>),
    /// The smallest scenario of a finding.
    Minimised(ConfirmedFinding, Box<FindingCase>),
}

/// The number of one part of an examination, and the result of this part.
pub(super) type NumberedResult = (u64, ExaminationResult);

impl FuzzHunt<'_> {
    pub(super) fn has_to_examine(&self) -> bool {
        !self.waiting.is_empty() || !self.confirmed.is_empty()
    }

    /// Returns whether a finding has to be examined. A finding that has to be examined is recorded as waiting. A
    /// finding that is known or already waits is only counted.
    pub(super) fn is_to_examine(&mut self, finding: &FuzzFinding, seed: u64) -> bool {
        let counts = finding.weight >= self.fuzz.weight && !self.known.has(finding);
        if !counts || self.dismissed.contains(&finding.key) {
            return false;
        }
        let doubtful = self.campaign.is_doubtful(finding);
        if self.campaign.is_known(finding) && !doubtful {
            return false;
        }
        if let Some(times) = self.pending.get_mut(&finding.key) {
            *times += 1;
            return false;
        }
        let familiar = self.is_familiar(finding);
        if familiar {
            self.campaign.add_form(finding.clone(), seed, 1);
        } else {
            self.pending.insert(finding.key.clone(), 1);
        }
        !familiar
    }

    /// Returns whether enough findings that have the same cause as this finding are confirmed. A host in this process
    /// is examined quickly, so each of its findings is examined.
    fn is_familiar(&self, finding: &FuzzFinding) -> bool {
        let confirmed = self.confirmed.iter().map(|it| &it.finding);
        !self.target.is_embedded() && self.campaign.is_familiar(finding, confirmed)
    }

    /// Removes findings from the conversations that wait: those for whose cause enough other findings are confirmed.
    fn set_aside(&mut self) {
        let mut waiting = std::mem::take(&mut self.waiting);
        for FailedConversation { seed, findings, .. } in &mut waiting {
            let (aside, left) = findings.drain(..).partition(|it| self.is_familiar(it));
            *findings = left;
            let aside: Vec<FuzzFinding> = aside;
            for finding in aside {
                let times = self.pending.remove(&finding.key).unwrap_or(1);
                self.campaign.add_form(finding, *seed, times);
            }
        }
        waiting.retain(|it| !it.findings.is_empty());
        self.waiting = waiting;
    }

    /// Examines the next finding or conversation. Findings are confirmed before other findings are minimised, because
    /// a finding that is not confirmed is not reported.
    pub(super) fn examine_next(
        &mut self,
        examining: &mut JoinSet<NumberedResult>,
        stopping: Option<CommandExit>,
        left: Option<Duration>,
    ) {
        // No conversation starts during an examination. Examinations have a share of the campaign's time. While an
        // examination that began within this share only waits, further examinations may begin. These do not count as
        // begun within the share; otherwise no conversation would start as long as findings wait.
        let in_share = stopping.is_some() || self.may_examine();
        let may_examine = in_share || self.under_examination.iter().any(|it| it.in_share);
        let may_examine = may_examine && self.has_to_examine();
        if stopping == Some(CommandExit::Interrupted) || !may_examine || !self.is_quiet() {
            return;
        }
        let (number, gauge) = (self.plays, AnswerGauge::default());
        self.plays += 1;
        let begun = |job| UnderExamination {
            number,
            job,
            in_share,
            traffic: TrafficWatch::new(gauge.clone()),
        };
        let target = Arc::clone(&self.target);
        if let Some(mut failed) = self.next_conversation() {
            self.under_examination.push(begun(ExaminationJob::Confirm(failed.clone())));
            if self.target.is_foreign {
                failed.hasten(&self.campaign.unmet);
            }
            examining.spawn(async move {
                let results = confirm(&target, &failed, &gauge).await;
                (number, ExaminationResult::Confirmed(failed, results))
            });
        } else if let Some(confirmed) = self.next_confirmed() {
            self.under_examination.push(begun(ExaminationJob::Minimise(confirmed.clone())));
            let limit = (!self.fuzz.no_shrink).then(|| self.shrinks_for(&confirmed.finding, left));
            let quick = match self.target.is_foreign {
                true => shorter(&confirmed, &self.campaign.unmet),
                false => None,
            };
            examining.spawn(async move {
                let case = minimise(&target, &confirmed, quick, limit).await;
                (number, ExaminationResult::Minimised(confirmed, Box::new(case)))
            });
        }
    }

    /// Returns whether no conversation is played that could disturb an examination: other conversations may hide a
    /// finding, and slow down the host. Several conversations may be confirmed at the same time, as long as all but one
    /// of them only wait for their time limits. Several findings may be minimised at the same time, because the last
    /// replay of a case is undisturbed.
    fn is_quiet(&mut self) -> bool {
        let failed = self.waiting.iter().map(|it| &it.draft);
        let mut drafts = failed.chain(self.confirmed.iter().map(|it| &it.draft));
        let restarts = drafts.any(|draft| draft.restart().is_some());
        let alone = self.fuzz.jobs == 1 || self.target.is_embedded() || restarts;
        let disturbs = |it: &mut UnderExamination| {
            let talks = !it.job.minimises() && it.traffic.talks(QUIET);
            alone || it.job.restarts() || talks
        };
        let minimised = self.under_examination.iter().filter(|it| it.job.minimises()).count();
        let has_room = match self.waiting.is_empty() {
            true => minimised < MINIMISED_AT_ONCE,
            false => minimised == 0 && self.under_examination.len() < CONFIRMED_AT_ONCE,
        };
        has_room && !self.is_playing(alone) && !self.under_examination.iter_mut().any(disturbs)
    }

    /// Returns whether the next finding may be examined now. A host in this process is examined without delay, so
    /// that a campaign is reproducible.
    pub(super) fn may_examine(&self) -> bool {
        self.time.may_examine() || self.fuzz.stop_at_first || self.target.is_embedded()
    }

    /// Returns the time for minimising a finding. `left` is the time until the end of the campaign; half of this time
    /// is reserved for the replays before and after minimising. If no time is left for a finding, the finding keeps its
    /// whole conversation.
    fn shrinks_for(&self, finding: &FuzzFinding, left: Option<Duration>) -> Duration {
        let usual = match self.campaign.has_cause_of(finding) {
            true => SHRINKS_AGAIN_FOR,
            false => SHRINKS_FOR,
        };
        left.map_or(usual, |left| usual.min(left / 2))
    }

    /// Returns the rank of a finding: the finding with the greatest rank is examined next. The rule with the
    /// fewest examined findings comes first, so that a rule with many findings leaves time for the others. Of the
    /// findings of equally rare rules, those with a new cause come first, and then those with the greatest weight.
    fn rank(&self, finding: &FuzzFinding) -> (Reverse<usize>, bool, Weight) {
        let buckets = self.campaign.buckets.iter().map(|it| &it.finding);
        let confirmed = self.confirmed.iter().map(|it| &it.finding);
        let examined = buckets.chain(confirmed).filter(|it| it.rule == finding.rule);
        (Reverse(examined.count()), !self.campaign.has_cause_of(finding), finding.weight)
    }

    /// Returns the conversation whose findings are confirmed next.
    fn next_conversation(&mut self) -> Option<FailedConversation> {
        let rank = |it: &FailedConversation| it.findings.iter().map(|it| self.rank(it)).max();
        let at = first_greatest(self.waiting.iter().map(rank))?;
        self.waiting.remove(at)
    }

    /// Returns the finding that is minimised next.
    fn next_confirmed(&mut self) -> Option<ConfirmedFinding> {
        let rank = |it: &ConfirmedFinding| self.rank(&it.finding);
        let at = first_greatest(self.confirmed.iter().map(rank))?;
        self.confirmed.remove(at)
    }

    /// Keeps the result of an examination.
    pub(super) fn examined(
        &mut self,
        (number, examined): NumberedResult,
    ) -> Result<(), CommandStop> {
        // If an examination ends at the same moment as the campaign, the end of the campaign may already have kept its
        // finding.
        let Some(at) = self.under_examination.iter().position(|it| it.number == number) else {
            return Ok(());
        };
        self.under_examination.remove(at);
        let kept = match examined {
            ExaminationResult::Minimised(confirmed, case) => self.keep_case(confirmed, *case),
            ExaminationResult::Confirmed(failed, results) => {
                for (finding, result) in results {
                    self.keep_confirmation(&failed, finding, result);
                }
                self.save()
            }
        };
        self.set_aside();
        kept
    }

    fn keep_confirmation(
        &mut self,
        failed: &FailedConversation,
        finding: FuzzFinding,
        result: ConfirmationResult,
    ) {
        let mut is_waiting = false;
        match result {
            ConfirmationResult::Confirmed { again, company, sameness } => {
                is_waiting = true;
                let (finding, draft) = (finding.clone(), failed.draft.clone());
                let seed = failed.seed;
                let confirmed = ConfirmedFinding { finding, draft, seed, again, company, sameness };
                self.confirmed.push_back(confirmed);
            }
            ConfirmationResult::Flaky { again } => {
                let (rule, seed) = (finding.rule.clone(), failed.seed);
                self.context.error(&format!(
                    "flaky: {rule} ({}) occurred again in {} of {} repetitions (--sequence-seed {seed:016x}): {}\n",
                    word(finding.weight),
                    again.0,
                    again.1,
                    finding.message
                ));
                self.campaign.add_flaky(FindingBucket {
                    times: self.pending.get(&finding.key).copied().unwrap_or(1),
                    scenario: failed.draft.id.clone(),
                    seed,
                    again,
                    flaky: true,
                    also: Vec::new(),
                    order: String::new(),
                    minimised: false,
                    finding: finding.clone(),
                });
            }
            ConfirmationResult::Permitted(variant) => {
                self.dismissed.insert(finding.key.clone());
                self.permitted.insert(finding.key.clone(), variant);
            }
            ConfirmationResult::TooEarly => {
                // The time limit of a wait grows, and a later conversation may show the finding again.
                self.slowest = (self.slowest * 2).min(self.timeout);
            }
        }
        if !is_waiting {
            self.pending.remove(&finding.key);
        }
    }

    fn keep_case(
        &mut self,
        confirmed: ConfirmedFinding,
        case: FindingCase,
    ) -> Result<(), CommandStop> {
        let ConfirmedFinding { finding, seed, again, sameness, .. } = confirmed;
        let FindingCase { draft, order, beside, minimised } = case;
        let order = match sameness {
            FindingSameness::Identity => order,
            FindingSameness::Form => {
                and_then(order, "it has different forms when it is played again")
            }
        };
        let times = self.pending.remove(&finding.key).unwrap_or(1);
        let (scenario, flaky, also) = (draft.id.clone(), false, Vec::new());
        let found =
            FindingBucket { finding, scenario, seed, times, again, flaky, also, order, minimised };
        self.keep(draft, beside, found)
    }

    /// Puts the findings that are being examined back into the queue.
    pub(super) fn requeue_examinations(&mut self) {
        for UnderExamination { job, .. } in self.under_examination.drain(..) {
            match job {
                ExaminationJob::Confirm(failed) => self.waiting.push_back(failed),
                ExaminationJob::Minimise(confirmed) => self.confirmed.push_back(confirmed),
            }
        }
    }

    /// Keeps the confirmed findings as they are, and records the findings that were not confirmed.
    pub(super) fn end_examinations(&mut self) -> Result<(), CommandStop> {
        self.requeue_examinations();
        while let Some(confirmed) = self.confirmed.pop_front() {
            let case = FindingCase::whole(&confirmed);
            self.keep_case(confirmed, case)?;
        }
        let left = self.open_findings();
        self.campaign.unexamined.extend(left);
        self.waiting.clear();
        Ok(())
    }

    /// Returns the findings that wait for an examination or are being examined.
    pub(super) fn open_findings(&self) -> Vec<UnexaminedFinding> {
        let failed = self.waiting.iter().flat_map(FailedConversation::unexamined);
        let confirmed = self.confirmed.iter().map(ConfirmedFinding::unexamined);
        let examined = self.under_examination.iter().flat_map(|it| it.job.unexamined());
        failed.chain(confirmed).chain(examined).collect()
    }
}

/// Returns the index of the first of the greatest values.
fn first_greatest<T: Ord>(values: impl Iterator<Item = T>) -> Option<usize> {
    let ranked = values.enumerate().map(|(at, value)| (value, Reverse(at)));
    ranked.max().map(|(_, Reverse(at))| at)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;

    use super::*;
    use crate::arb::campaign::{FuzzCampaign, KnownFindings};
    use crate::cli::context::CliContext;
    use crate::cli::fuzz::FuzzArguments;
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
        let (known, campaign) = (KnownFindings::default(), FuzzCampaign::default());
        let source = fuzz.source(&target, 1);
        fs::create_dir_all(out.join("fuzz")).unwrap();
        let mut hunt = FuzzHunt::new(&fuzz, &context, Arc::clone(&target), source, known, campaign);
        while hunt.waiting.len() < 2 {
            // Some seeds generate no conversation.
            let Some(sequence) = hunt.draw() else { continue };
            let played = hunt.play_alone(&sequence).await.unwrap();
            hunt.played(played);
        }
        let failed = hunt.next_conversation().unwrap();
        let (number, draft) = (failed.findings.len(), failed.draft.clone());
        assert!(hunt.save().is_ok());
        let saved = fs::read_to_string(out.join("campaign.jsonl")).unwrap();
        let unexamined = FuzzCampaign::of_text(&saved).unwrap().unexamined;
        assert!(unexamined.iter().any(|it| it.seed == hunt.waiting[0].seed), "{saved}");
        let gauge = AnswerGauge::default();
        let results = confirm(&target, &failed, &gauge).await;
        assert_eq!(results.len(), number);
        let (job, traffic) = (ExaminationJob::Confirm(failed.clone()), TrafficWatch::new(gauge));
        hunt.under_examination.push(UnderExamination { number: 0, job, in_share: true, traffic });
        assert!(hunt.examined((0, ExaminationResult::Confirmed(failed, results))).is_ok());
        assert_eq!(hunt.confirmed.len(), number);
        assert!(hunt.cut_short().is_ok());
        assert!(hunt.confirmed.is_empty() && hunt.waiting.is_empty());
        assert!(!hunt.campaign.unexamined.is_empty());
        assert_eq!(hunt.campaign.buckets.len(), number);
        let found = target.replay(&draft, &AnswerGauge::default()).await.unwrap();
        let keys: BTreeSet<String> = found.into_iter().map(|finding| finding.key).collect();
        for bucket in &hunt.campaign.buckets {
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
        let bucket = hunt.campaign.buckets[0].clone();
        assert!(hunt.keep(draft, Vec::new(), bucket).is_err());
        assert_eq!(reported(), number);
    }

    #[test]
    fn the_first_of_the_greatest_comes_first() {
        assert_eq!(first_greatest([1, 3, 2, 3].into_iter()), Some(1));
        assert_eq!(first_greatest(std::iter::empty::<u8>()), None);
    }
}
