//! Divides the examination of a campaign's findings into parts, and chooses the next part.
//!
//! The findings of a conversation are confirmed together. Each confirmed finding is then minimised on its own. If the
//! campaign ends before that, the whole conversation becomes the scenario of the finding.
//!
//! Knows: the findings that wait, the campaign. Never knows: the replays by which a finding is confirmed or minimised.
//!
//! Start at [`ExaminationQueue::next`].

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use crate::arb::campaign::{FindingBucket, FuzzCampaign, KnownFindings, UnexaminedFinding};
use crate::arb::finding::FuzzFinding;
use crate::arb::gauge::AnswerGauge;
use crate::verdict::Weight;

use super::findings::{
    ConfirmationResult, ConfirmedFinding, FailedConversation, FindingCase, FindingSameness,
    and_then,
};
use super::traffic::{QUIET, TrafficWatch};
use super::{ScheduleRules, WorkKind};

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
#[derive(Clone, Debug)]
enum ExaminationJob {
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
#[derive(Debug)]
struct UnderExamination {
    number: u64,
    job: ExaminationJob,
    /// Whether this part of an examination began before all examinations had used up their share of the campaign's
    /// time.
    in_share: bool,
    traffic: TrafficWatch,
}

/// The result of one part of an examination.
#[derive(Debug)]
pub enum ExaminationResult {
    /// The results for the findings of a conversation.
    Confirmed(FailedConversation, Vec<(FuzzFinding, ConfirmationResult)>),
    /// The smallest scenario of a finding.
    Minimised(ConfirmedFinding, Box<FindingCase>),
}

/// What the result of an examination changes outside of the schedule.
#[derive(Debug)]
pub enum ExaminationNews {
    /// A finding has its case. The case has to be stored, and then recorded in the campaign.
    Case(Box<FindingCase>, FindingBucket),
    /// A finding did not occur often enough. The campaign has recorded it.
    Flaky(FindingBucket),
    /// A finding never occurred with a longer time limit: the host was only slow.
    TooEarly,
}

/// The findings that wait for an examination, and the examinations in progress.
#[derive(Debug, Default)]
pub struct ExaminationQueue {
    /// The conversations whose findings wait to be confirmed.
    waiting: VecDeque<FailedConversation>,
    /// The confirmed findings that wait to be minimised.
    confirmed: VecDeque<ConfirmedFinding>,
    under_way: Vec<UnderExamination>,
    /// The identities of the findings that wait for examination or are being examined, each with the number of further
    /// occurrences.
    pending: BTreeMap<String, u64>,
    /// The identities of the findings that were dismissed, because the specification permits the behaviour.
    dismissed: BTreeSet<String>,
    /// The dismissed findings, each with the legal variant that shows the same behaviour.
    permitted: BTreeMap<String, &'static str>,
}

impl ExaminationQueue {
    /// Returns whether a finding waits for an examination.
    pub fn has_waiting(&self) -> bool {
        !self.waiting.is_empty() || !self.confirmed.is_empty()
    }

    /// Returns whether no examination is in progress.
    pub fn is_idle(&self) -> bool {
        self.under_way.is_empty()
    }

    /// Returns the number of findings that wait to be confirmed, and of those that wait to be minimised.
    pub fn lengths(&self) -> (usize, usize) {
        (self.waiting.iter().map(|it| it.findings.len()).sum(), self.confirmed.len())
    }

    /// Returns the findings that the specification permits, each with the legal variant that shows the same behaviour.
    pub fn permitted(&self) -> &BTreeMap<String, &'static str> {
        &self.permitted
    }

    /// Adds a conversation whose findings have to be confirmed.
    pub fn add(&mut self, failed: FailedConversation) {
        self.waiting.push_back(failed);
    }

    /// Returns whether a finding has to be examined. A finding that has to be examined is recorded as waiting. A
    /// finding that is known or already waits is only counted.
    pub fn is_to_examine(
        &mut self,
        (campaign, known): (&mut FuzzCampaign, &KnownFindings),
        rules: &ScheduleRules,
        finding: &FuzzFinding,
        seed: u64,
    ) -> bool {
        let counts = finding.weight >= rules.weight && !known.has(finding);
        if !counts || self.dismissed.contains(&finding.key) {
            return false;
        }
        let doubtful = campaign.is_doubtful(finding);
        if campaign.is_known(finding) && !doubtful {
            return false;
        }
        if let Some(times) = self.pending.get_mut(&finding.key) {
            *times += 1;
            return false;
        }
        let familiar = self.is_familiar(campaign, rules, finding);
        if familiar {
            campaign.add_form(finding.clone(), seed, 1);
        } else {
            self.pending.insert(finding.key.clone(), 1);
        }
        !familiar
    }

    /// Returns whether enough findings that have the same cause as this finding are confirmed. A host in this process
    /// is examined quickly, so each of its findings is examined.
    fn is_familiar(
        &self,
        campaign: &FuzzCampaign,
        rules: &ScheduleRules,
        finding: &FuzzFinding,
    ) -> bool {
        let confirmed = self.confirmed.iter().map(|it| &it.finding);
        !rules.is_embedded && campaign.is_familiar(finding, confirmed)
    }

    /// Removes findings from the conversations that wait: those for whose cause enough other findings are confirmed.
    pub fn set_aside(&mut self, campaign: &mut FuzzCampaign, rules: &ScheduleRules) {
        let mut waiting = std::mem::take(&mut self.waiting);
        for FailedConversation { seed, findings, .. } in &mut waiting {
            let (aside, left): (Vec<FuzzFinding>, Vec<FuzzFinding>) =
                findings.drain(..).partition(|it| self.is_familiar(campaign, rules, it));
            *findings = left;
            for finding in aside {
                let times = self.pending.remove(&finding.key).unwrap_or(1);
                campaign.add_form(finding, *seed, times);
            }
        }
        waiting.retain(|it| !it.findings.is_empty());
        self.waiting = waiting;
    }

    /// Begins the next part of an examination, if one may begin now. `in_share` says whether examinations have time
    /// left of their share, `left` is the time until the end of the campaign once no further conversation is played,
    /// and `plays` tells whether a conversation that could disturb an examination is being played (its argument says
    /// whether every conversation disturbs).
    ///
    /// Findings are confirmed before other findings are minimised, because a finding that is not confirmed is not
    /// reported.
    pub fn next(
        &mut self,
        (now, number, gauge): (Duration, u64, &AnswerGauge),
        (campaign, rules): (&FuzzCampaign, &ScheduleRules),
        (in_share, left): (bool, Option<Duration>),
        plays: impl FnOnce(bool) -> bool,
    ) -> Option<WorkKind> {
        // No conversation starts during an examination. Examinations have a share of the campaign's time. While an
        // examination that began within this share only waits, further examinations may begin. These do not count as
        // begun within the share; otherwise no conversation would start as long as findings wait.
        let may_examine = in_share || self.under_way.iter().any(|it| it.in_share);
        if !may_examine || !self.has_waiting() || !self.is_quiet(now, rules, plays) {
            return None;
        }
        let (job, work) = if let Some(failed) = self.next_conversation(campaign) {
            let job = ExaminationJob::Confirm(failed.clone());
            let mut hastened = failed;
            if rules.is_foreign {
                hastened.hasten(&campaign.unmet);
            }
            (job, WorkKind::Confirm(hastened))
        } else {
            let confirmed = self.next_confirmed(campaign)?;
            let limit = shrinks_for(campaign, &confirmed.finding, left);
            let limit = rules.minimises.then_some(limit);
            let quick = if rules.is_foreign { confirmed.shorter(&campaign.unmet) } else { None };
            let job = ExaminationJob::Minimise(confirmed.clone());
            (job, WorkKind::Minimise { confirmed: Box::new(confirmed), quick, limit })
        };
        let traffic = TrafficWatch::new(now, gauge.clone());
        self.under_way.push(UnderExamination { number, job, in_share, traffic });
        Some(work)
    }

    /// Returns whether an examination can begin undisturbed: other conversations may hide a finding, and slow down the
    /// host. Several conversations may be confirmed at the same time, as long as all but one
    /// of them only wait for their time limits. Several findings may be minimised at the same time, because the last
    /// replay of a case is undisturbed.
    fn is_quiet(
        &mut self,
        now: Duration,
        rules: &ScheduleRules,
        plays: impl FnOnce(bool) -> bool,
    ) -> bool {
        let failed = self.waiting.iter().map(|it| &it.draft);
        let mut drafts = failed.chain(self.confirmed.iter().map(|it| &it.draft));
        let restarts = drafts.any(|draft| draft.restart().is_some());
        let alone = rules.jobs == 1 || rules.is_embedded || restarts;
        let disturbs = |it: &mut UnderExamination| {
            let talks = !it.job.minimises() && it.traffic.talks(now, QUIET);
            alone || it.job.restarts() || talks
        };
        let minimised = self.under_way.iter().filter(|it| it.job.minimises()).count();
        let has_room = match self.waiting.is_empty() {
            true => minimised < MINIMISED_AT_ONCE,
            false => minimised == 0 && self.under_way.len() < CONFIRMED_AT_ONCE,
        };
        has_room && !plays(alone) && !self.under_way.iter_mut().any(disturbs)
    }

    /// Returns the rank of a finding: the finding with the greatest rank is examined next. The rule with the
    /// fewest examined findings comes first, so that a rule with many findings leaves time for the others. Of the
    /// findings of equally rare rules, those with a new cause come first, and then those with the greatest weight.
    fn rank(
        &self,
        campaign: &FuzzCampaign,
        finding: &FuzzFinding,
    ) -> (Reverse<usize>, bool, Weight) {
        let buckets = campaign.buckets.iter().map(|it| &it.finding);
        let confirmed = self.confirmed.iter().map(|it| &it.finding);
        let examined = buckets.chain(confirmed).filter(|it| it.rule == finding.rule);
        (Reverse(examined.count()), !campaign.has_cause_of(finding), finding.weight)
    }

    /// Returns the conversation whose findings are confirmed next.
    fn next_conversation(&mut self, campaign: &FuzzCampaign) -> Option<FailedConversation> {
        let rank =
            |it: &FailedConversation| it.findings.iter().map(|it| self.rank(campaign, it)).max();
        let at = first_greatest(self.waiting.iter().map(rank))?;
        self.waiting.remove(at)
    }

    /// Returns the finding that is minimised next.
    fn next_confirmed(&mut self, campaign: &FuzzCampaign) -> Option<ConfirmedFinding> {
        let rank = |it: &ConfirmedFinding| self.rank(campaign, &it.finding);
        let at = first_greatest(self.confirmed.iter().map(rank))?;
        self.confirmed.remove(at)
    }

    /// Handles the result of an examination.
    pub fn examined(
        &mut self,
        campaign: &mut FuzzCampaign,
        number: u64,
        examined: ExaminationResult,
    ) -> Vec<ExaminationNews> {
        // If an examination ends at the same moment as the campaign, the end of the campaign may already have kept its
        // finding.
        let Some(at) = self.under_way.iter().position(|it| it.number == number) else {
            return Vec::new();
        };
        self.under_way.remove(at);
        match examined {
            ExaminationResult::Minimised(confirmed, case) => {
                vec![self.case_of(confirmed, *case)]
            }
            ExaminationResult::Confirmed(failed, results) => {
                let results = results.into_iter();
                let news =
                    |(finding, result)| self.confirmation(campaign, &failed, finding, result);
                results.filter_map(news).collect()
            }
        }
    }

    fn confirmation(
        &mut self,
        campaign: &mut FuzzCampaign,
        failed: &FailedConversation,
        finding: FuzzFinding,
        result: ConfirmationResult,
    ) -> Option<ExaminationNews> {
        let seed = failed.seed;
        let (again, company, sameness) = match result {
            ConfirmationResult::Confirmed { again, company, sameness } => {
                (again, company, sameness)
            }
            ConfirmationResult::Flaky { again } => {
                let bucket = FindingBucket {
                    times: self.pending.remove(&finding.key).unwrap_or(1),
                    scenario: failed.draft.id.clone(),
                    seed,
                    again,
                    flaky: true,
                    also: Vec::new(),
                    order: String::new(),
                    minimised: false,
                    finding,
                };
                campaign.add_flaky(bucket.clone());
                return Some(ExaminationNews::Flaky(bucket));
            }
            ConfirmationResult::Permitted(variant) => {
                self.pending.remove(&finding.key);
                self.dismissed.insert(finding.key.clone());
                self.permitted.insert(finding.key, variant);
                return None;
            }
            ConfirmationResult::TooEarly => {
                self.pending.remove(&finding.key);
                return Some(ExaminationNews::TooEarly);
            }
        };
        let draft = failed.draft.clone();
        let confirmed = ConfirmedFinding { finding, draft, seed, again, company, sameness };
        self.confirmed.push_back(confirmed);
        None
    }

    fn case_of(&mut self, confirmed: ConfirmedFinding, case: FindingCase) -> ExaminationNews {
        let ConfirmedFinding { finding, seed, again, sameness, .. } = confirmed;
        let order = match sameness {
            FindingSameness::Identity => case.order.clone(),
            FindingSameness::Form => {
                and_then(case.order.clone(), "it has different forms when it is played again")
            }
        };
        let times = self.pending.remove(&finding.key).unwrap_or(1);
        let (scenario, flaky, also) = (case.draft.id.clone(), false, Vec::new());
        let minimised = case.minimised;
        let bucket =
            FindingBucket { finding, scenario, seed, times, again, flaky, also, order, minimised };
        ExaminationNews::Case(Box::new(case), bucket)
    }

    /// Puts the findings that are being examined back into the queue.
    pub fn requeue(&mut self) {
        for UnderExamination { job, .. } in self.under_way.drain(..) {
            match job {
                ExaminationJob::Confirm(failed) => self.waiting.push_back(failed),
                ExaminationJob::Minimise(confirmed) => self.confirmed.push_back(confirmed),
            }
        }
    }

    /// Removes an examination without a result. Returns its findings.
    pub fn lost(&mut self, number: u64) -> Vec<UnexaminedFinding> {
        let lost = self.under_way.extract_if(.., |it| it.number == number);
        lost.flat_map(|it| it.job.unexamined()).collect()
    }

    /// Ends all examinations. Returns the confirmed findings, each with its whole conversation as its case, and the
    /// findings that were not confirmed.
    pub fn end(&mut self) -> (Vec<ExaminationNews>, Vec<UnexaminedFinding>) {
        self.requeue();
        let confirmed = std::mem::take(&mut self.confirmed).into_iter();
        let cases = confirmed.map(|confirmed| {
            let case = FindingCase::whole(&confirmed);
            self.case_of(confirmed, case)
        });
        let cases = cases.collect();
        let left = self.open_findings();
        self.waiting.clear();
        (cases, left)
    }

    /// Drops the findings that wait.
    pub fn clear(&mut self) {
        self.waiting.clear();
        self.confirmed.clear();
    }

    /// Returns the findings that wait for an examination or are being examined.
    pub fn open_findings(&self) -> Vec<UnexaminedFinding> {
        let failed = self.waiting.iter().flat_map(FailedConversation::unexamined);
        let confirmed = self.confirmed.iter().map(ConfirmedFinding::unexamined);
        let examined = self.under_way.iter().flat_map(|it| it.job.unexamined());
        failed.chain(confirmed).chain(examined).collect()
    }
}

/// Returns the time for minimising a finding. `left` is the time until the end of the campaign; half of this time
/// is reserved for the replays before and after minimising. If no time is left for a finding, the finding keeps its
/// whole conversation.
fn shrinks_for(campaign: &FuzzCampaign, finding: &FuzzFinding, left: Option<Duration>) -> Duration {
    let usual = match campaign.has_cause_of(finding) {
        true => SHRINKS_AGAIN_FOR,
        false => SHRINKS_FOR,
    };
    left.map_or(usual, |left| usual.min(left / 2))
}

/// Returns the index of the first of the greatest values.
fn first_greatest<T: Ord>(values: impl Iterator<Item = T>) -> Option<usize> {
    let ranked = values.enumerate().map(|(at, value)| (value, Reverse(at)));
    ranked.max().map(|(_, Reverse(at))| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_the_greatest_comes_first() {
        assert_eq!(first_greatest([1, 3, 2, 3].into_iter()), Some(1));
        assert_eq!(first_greatest(std::iter::empty::<u8>()), None);
    }
}
