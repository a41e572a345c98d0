//! Decides what a campaign does next: plays a conversation, confirms the findings of a conversation, or minimises a
//! finding.
//!
//! The caller plays what [`CampaignSchedule::poll`] returns, reports the results with [`CampaignSchedule::played`] and
//! [`CampaignSchedule::examined`], and passes the time since the campaign began to every call. In memory, the same
//! results in the same order therefore give the same campaign.
//!
//! Knows: the generator, the findings, the campaign. Never knows: clocks, tasks, files, the terminal.
//!
//! Start at [`CampaignSchedule::poll`].

use std::collections::BTreeMap;
use std::time::Duration;

use crate::run::play::ScenarioVerdict;
use crate::run::recent::{RECENT, RecentResults};
use crate::run::recent_weights::RecentWeights;
use crate::verdict::Weight;

use super::campaign::{FindingBucket, FuzzCampaign, KnownFindings};
use super::draft::ScenarioDraft;
use super::expectation::{self, StepExpectation};
use super::finding::FuzzFinding;
use super::gauge::AnswerGauge;
use super::generated_sequence::GeneratedSequence;

use choice::ConversationChoice;
use findings::{ConfirmedFinding, FailedConversation};
use queue::{ExaminationNews, ExaminationQueue, ExaminationResult};
use time::CampaignTime;
use traffic::{QUIET, TrafficWatch};

pub mod choice;
pub mod findings;
pub mod queue;
pub mod time;
pub mod traffic;

/// If an expectation that is not a wait has failed this many times, it is no longer generated.
const ENOUGH: u32 = 2;
/// A conversation without traffic for `IDLE` counts as waiting. For each conversation with traffic, `WAITING`
/// conversations may be in progress.
pub const IDLE: Duration = Duration::from_millis(20);
const WAITING: usize = 8;
/// The time limit of a wait is `PATIENCE` times the slowest answer so far, but at least `LEAST`: a fast host needs only
/// short waits.
const PATIENCE: u32 = 5;
const LEAST: Duration = Duration::from_millis(300);
/// The maximum number of other conversations that are replayed at the same time as a failed conversation.
const MAX_BESIDE: usize = 8;

/// The limits of a campaign, and what is known about its target.
#[derive(Clone, Debug)]
pub struct ScheduleRules {
    /// The maximum number of conversations that have traffic at the same time.
    pub jobs: usize,
    /// The smallest weight of a finding that is examined.
    pub weight: Weight,
    /// Whether the target is in memory.
    pub is_embedded: bool,
    /// Whether the target runs outside of this process, so that it may stop.
    pub is_outside: bool,
    /// Whether the campaign ends with its first finding.
    pub stop_at_first: bool,
    /// Whether findings are minimised.
    pub minimises: bool,
    /// The maximum number of conversations; `None` for no limit.
    pub sequences: Option<u64>,
    /// The number of steps after which no further conversation begins; `None` for no limit.
    pub steps: Option<u64>,
    /// The time after which no further conversation begins; `None` for no limit.
    pub time: Option<Duration>,
    /// The time at which the last examinations have to end; `None` for no limit.
    pub ends_at: Option<Duration>,
    /// The time limit of a wait in `run`.
    pub timeout: Duration,
    /// Whether the target is an external host, about which only the result of the first look is known.
    pub is_foreign: bool,
    /// Whether the target is the reference host without faults.
    pub is_honest: bool,
}

/// Why a campaign ends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum CampaignEnd {
    /// A limit was reached.
    Limit,
    /// The user interrupted the campaign.
    Interrupt,
}

/// What the caller does next.
#[derive(Debug)]
pub enum ScheduleStep {
    /// Begin this work, and ask again at once.
    Begin(Box<ScheduledWork>),
    /// Ask again at once: no conversation was generated, or it has to wait.
    Again,
    /// Wait for a result, but at most for [`IDLE`].
    Wait,
    /// The campaign is over.
    Over,
}

/// Work that was begun.
#[derive(Debug)]
pub struct ScheduledWork {
    /// The number of the work, for its result.
    pub number: u64,
    /// The recorder of the traffic, which tells the schedule whether the work only waits.
    pub gauge: AnswerGauge,
    /// The work.
    pub kind: WorkKind,
}

/// A kind of work.
#[derive(Debug)]
pub enum WorkKind {
    /// Play a conversation. `limit` is the time limit of a wait; `None` for the limit of `run`.
    Play {
        /// The conversation.
        sequence: GeneratedSequence,
        /// The time limit of a wait.
        limit: Option<Duration>,
    },
    /// Replay a conversation to confirm its findings.
    Confirm(FailedConversation),
    /// Minimise a confirmed finding.
    Minimise {
        /// The finding.
        confirmed: Box<ConfirmedFinding>,
        /// A shorter conversation that is likely to show the finding, too.
        quick: Option<ScenarioDraft>,
        /// The time limit for minimising; `None` to leave the conversation as it is.
        limit: Option<Duration>,
    },
}

/// The result of a conversation.
#[derive(Debug)]
pub struct PlayedDraft {
    /// The verdict on the conversation.
    pub verdict: ScenarioVerdict,
    /// The findings in the conversation.
    pub found: Vec<FuzzFinding>,
}

/// A conversation that was played.
#[derive(Debug)]
pub struct PlayedSequence {
    /// The number of the work.
    pub number: u64,
    /// The conversation.
    pub sequence: GeneratedSequence,
    /// The result; `None` if the conversation could not be played.
    pub played: Option<PlayedDraft>,
    /// The recorder of the traffic.
    pub gauge: AnswerGauge,
    /// Whether the time limit of a wait was shorter than the limit of `run`.
    pub hurried: bool,
}

/// A conversation that is being played.
#[derive(Debug)]
struct UnderWay {
    number: u64,
    traffic: TrafficWatch,
    restarts: bool,
    /// The conversation.
    draft: ScenarioDraft,
    /// The conversations that had traffic at the same time.
    beside: Vec<ScenarioDraft>,
}

/// The schedule of a campaign.
#[derive(Debug)]
pub struct CampaignSchedule {
    rules: ScheduleRules,
    known: KnownFindings,
    campaign: FuzzCampaign,
    choice: ConversationChoice,
    queue: ExaminationQueue,
    /// The conversations that are being played.
    under_way: Vec<UnderWay>,
    /// A generated conversation that restarts the host; it waits until the others have ended.
    alone: Option<GeneratedSequence>,
    /// The number of the next work.
    next_number: u64,
    /// The conversations that ended last.
    recent: RecentResults<GeneratedSequence>,
    /// The number of times that each expectation failed.
    missed: BTreeMap<StepExpectation, u32>,
    /// The slowest answer so far.
    slowest: Duration,
    /// The time spent on new conversations and on examinations.
    time: CampaignTime,
    /// The time up to which `time` is counted.
    counted: Duration,
    end: Option<CampaignEnd>,
    weights: RecentWeights,
}

impl CampaignSchedule {
    /// Creates the schedule of a campaign that begins or continues now, at time zero. `known` lists findings that are
    /// not examined.
    pub fn new(
        rules: ScheduleRules,
        choice: ConversationChoice,
        known: KnownFindings,
        campaign: FuzzCampaign,
    ) -> CampaignSchedule {
        CampaignSchedule {
            rules,
            known,
            campaign,
            choice,
            queue: ExaminationQueue::default(),
            under_way: Vec::new(),
            alone: None,
            next_number: 0,
            recent: RecentResults::default(),
            missed: BTreeMap::new(),
            slowest: Duration::ZERO,
            time: CampaignTime::default(),
            counted: Duration::ZERO,
            end: None,
            weights: RecentWeights::default(),
        }
    }

    /// Returns the campaign so far.
    pub fn campaign(&self) -> &FuzzCampaign {
        &self.campaign
    }

    /// Returns the campaign as it has to be stored: if the process is killed, the continued campaign begins with the
    /// findings that wait now.
    pub fn stored(&self) -> FuzzCampaign {
        let mut campaign = self.campaign.clone();
        campaign.unexamined.extend(self.queue.open_findings());
        campaign
    }

    /// Returns the examinations in progress and the findings that wait for one.
    pub fn queue(&self) -> &ExaminationQueue {
        &self.queue
    }

    /// Returns the choice of conversations.
    pub fn choice(&self) -> &ConversationChoice {
        &self.choice
    }

    /// Returns whether the user has interrupted the campaign.
    pub fn is_interrupted(&self) -> bool {
        self.end == Some(CampaignEnd::Interrupt)
    }

    /// Returns what to do next.
    pub fn poll(&mut self, now: Duration) -> ScheduleStep {
        self.pass(now);
        if self.rules.stop_at_first && self.campaign.failures().next().is_some() {
            self.end.get_or_insert(CampaignEnd::Limit);
            self.queue.clear();
        }
        // An examination may take long, so the limits are also checked during an examination.
        if self.is_over(now) {
            self.end.get_or_insert(CampaignEnd::Limit);
        }
        if let Some(work) = self.next_examination(now) {
            return ScheduleStep::Begin(Box::new(work));
        }
        if self.end.is_none() && self.has_room(now) {
            return match self
                .alone
                .take()
                .or_else(|| self.choice.generate(&mut self.campaign, &self.rules))
            {
                // A restart ends every connection, so the conversation has to wait until the others have ended.
                Some(sequence) if is_restart(&sequence) && !self.under_way.is_empty() => {
                    self.alone = Some(sequence);
                    ScheduleStep::Again
                }
                Some(sequence) => ScheduleStep::Begin(Box::new(self.begin(now, sequence))),
                None => ScheduleStep::Again,
            };
        }
        match (self.under_way.is_empty() && self.queue.is_idle(), self.queue.has_waiting()) {
            (true, false) if self.end.is_some() => ScheduleStep::Over,
            (true, false) => ScheduleStep::Again,
            _ => ScheduleStep::Wait,
        }
    }

    /// Counts the time since the last call.
    fn pass(&mut self, now: Duration) {
        let passed = now.saturating_sub(std::mem::replace(&mut self.counted, now));
        self.campaign.took += passed;
        match self.queue.is_idle() {
            true => self.time.played(passed),
            false => self.time.examined(passed),
        }
    }

    fn is_over(&self, now: Duration) -> bool {
        let ScheduleRules { sequences, steps, time, .. } = self.rules;
        let played = self.campaign.sequences + self.under_way.len() as u64;
        time.is_some_and(|limit| now >= limit)
            || sequences.is_some_and(|most| played >= most)
            || steps.is_some_and(|most| self.campaign.steps >= most)
            || self.choice.is_exhausted()
    }

    /// Returns whether the next finding may be examined now. A host in this process is examined without delay, so
    /// that a campaign is reproducible.
    fn may_examine(&self) -> bool {
        self.time.may_examine() || self.rules.stop_at_first || self.rules.is_embedded
    }

    fn next_examination(&mut self, now: Duration) -> Option<ScheduledWork> {
        if self.is_interrupted() {
            return None;
        }
        let (number, gauge) = (self.next_number, AnswerGauge::default());
        let in_share = self.end.is_some() || self.may_examine();
        let left = self.rules.ends_at.filter(|_| self.end.is_some());
        let left = left.map(|at| at.saturating_sub(now));
        let under_way = &mut self.under_way;
        let plays = |alone| {
            under_way.iter_mut().any(|it| alone || it.restarts || it.traffic.talks(now, QUIET))
        };
        let (campaign, rules) = (&self.campaign, &self.rules);
        let kind =
            self.queue.next((now, number, &gauge), (campaign, rules), (in_share, left), plays)?;
        self.next_number += 1;
        Some(ScheduledWork { number, gauge, kind })
    }

    /// Returns whether another conversation may start now.
    fn has_room(&mut self, now: Duration) -> bool {
        if !self.queue.is_idle() || self.queue.has_waiting() && self.may_examine() {
            return false;
        }
        let jobs = self.rules.jobs;
        // In memory, conversations are played one at a time, so that a campaign is reproducible. With one job as well,
        // so that no finding depends on another conversation.
        let one_at_a_time = self.rules.is_embedded || jobs == 1;
        if one_at_a_time || self.alone.is_some() || self.under_way.iter().any(|it| it.restarts) {
            return self.under_way.is_empty();
        }
        let talks = |it: &mut UnderWay| usize::from(it.traffic.talks(now, IDLE));
        let talking = self.under_way.iter_mut().map(talks).sum::<usize>();
        let playing = self.under_way.len();
        let fit = |wanted| self.weights.fitting(wanted);
        playing < fit(jobs) || talking < jobs && playing < fit(jobs * WAITING)
    }

    fn begin(&mut self, now: Duration, sequence: GeneratedSequence) -> ScheduledWork {
        let (number, gauge, limit) = (self.number(), AnswerGauge::default(), self.limit());
        let (traffic, draft) = (TrafficWatch::new(now, gauge.clone()), sequence.draft.clone());
        let restarts = is_restart(&sequence);
        let mut beside = Vec::new();
        if !self.rules.is_embedded {
            let others = self.under_way.iter_mut().rev();
            for other in others.filter_map(|it| it.traffic.talks(now, QUIET).then_some(it)) {
                if other.beside.len() < MAX_BESIDE {
                    other.beside.push(draft.clone());
                }
                if beside.len() < MAX_BESIDE {
                    beside.push(other.draft.clone());
                }
            }
        }
        self.under_way.push(UnderWay { number, traffic, restarts, draft, beside });
        ScheduledWork { number, gauge, kind: WorkKind::Play { sequence, limit } }
    }

    /// Returns a number for work that the caller begins by itself.
    pub fn number(&mut self) -> u64 {
        self.next_number += 1;
        self.next_number - 1
    }

    /// Returns the time limit of a wait, if it is shorter than the limit of `run`; otherwise `None`.
    fn limit(&self) -> Option<Duration> {
        let limit = (self.slowest * PATIENCE).max(LEAST);
        let hurries = self.rules.is_foreign && self.slowest > Duration::ZERO;
        (hurries && limit < self.rules.timeout).then_some(limit)
    }

    /// Records that a conversation has ended whose result is not used. Returns the conversations that had traffic at
    /// the same time.
    pub fn landed(&mut self, number: u64) -> Vec<ScenarioDraft> {
        let at = self.under_way.iter().position(|it| it.number == number);
        at.map(|at| self.under_way.remove(at).beside).unwrap_or_default()
    }

    /// Records that work ended without a result, because its task failed.
    pub fn lost(&mut self, number: u64) {
        self.landed(number);
        self.campaign.unexamined.extend(self.queue.lost(number));
    }

    /// Records the result of a conversation.
    pub fn played(&mut self, now: Duration, played: PlayedSequence) {
        self.pass(now);
        let beside = self.landed(played.number);
        let verdict = played.played.as_ref().map(|it| &it.verdict);
        self.weights.add(verdict.map_or(0, |verdict| verdict.traffic_weight));
        let PlayedSequence { sequence, played, gauge, hurried, .. } = played;
        self.campaign.sequences += 1;
        self.campaign.steps += sequence.draft.steps.len() as u64;
        self.slowest = self.slowest.max(gauge.slowest());
        let tally = gauge.tally();
        self.campaign.tally.served += tally.served;
        self.campaign.tally.refused += tally.refused;
        self.campaign.tried(sequence.seed, &sequence.told);
        self.campaign.saw(gauge.seen());
        self.recent.older(now, RECENT);
        if self.rules.is_outside {
            self.recent.push(now, sequence.clone());
        }
        let Some(PlayedDraft { verdict, mut found }) = played else { return };
        self.miss(&sequence.draft, &verdict);
        if self.rules.is_honest {
            // The expectation was computed on the same reference host. If the host does not meet the expectation, the
            // generator is wrong.
            if let Some(finding) = found.iter().find(|it| !it.is_of_check()) {
                self.choice.add_odd(&mut self.campaign, sequence.seed, finding);
            }
            found.retain(FuzzFinding::is_of_check);
        }
        found.retain(|finding| {
            let known = (&mut self.campaign, &self.known);
            self.queue.is_to_examine(known, &self.rules, finding, sequence.seed)
        });
        if self.rules.stop_at_first {
            found.truncate(1);
        }
        if !found.is_empty() {
            let GeneratedSequence { draft, seed, .. } = sequence;
            let findings = found;
            self.queue.add(FailedConversation { draft, seed, findings, hurried, beside });
        }
    }

    /// Records the expectations that the target did not meet.
    fn miss(&mut self, draft: &ScenarioDraft, verdict: &ScenarioVerdict) {
        for missed in expectation::missed(draft, verdict) {
            let times = self.missed.entry(missed.clone()).or_default();
            *times += 1;
            // If a message that a wait expects did not come once, it will not come later either. A request that was
            // refused once may succeed later.
            let needed = if self.rules.is_foreign && missed.is_wait() { 1 } else { ENOUGH };
            if *times >= needed && !self.rules.is_honest {
                self.campaign.unmet.insert(missed);
            }
        }
    }

    /// Records the result of an examination. The caller stores the cases among the news, and then records each with
    /// [`add`](Self::add) or [`add_to`](Self::add_to).
    pub fn examined(
        &mut self,
        now: Duration,
        number: u64,
        result: ExaminationResult,
    ) -> Vec<ExaminationNews> {
        self.pass(now);
        let news = self.queue.examined(&mut self.campaign, number, result);
        for _ in news.iter().filter(|it| matches!(it, ExaminationNews::TooEarly)) {
            // The time limit of a wait grows, and a later conversation may show the finding again.
            self.slowest = (self.slowest * 2).min(self.rules.timeout);
        }
        self.queue.set_aside(&mut self.campaign, &self.rules);
        news
    }

    /// Returns whether a finding is neither listed as known nor recorded in the campaign; otherwise counts it.
    pub fn is_new(&mut self, finding: &FuzzFinding) -> bool {
        !self.known.has(finding) && !self.campaign.is_known(finding)
    }

    /// Removes the flaky record of a finding that was reproduced now. Returns the number of the finding.
    pub fn number_of(&mut self, finding: &FuzzFinding) -> usize {
        self.campaign.forget_flaky(finding);
        self.campaign.next_number()
    }

    /// Records a finding with its case.
    pub fn add(&mut self, bucket: FindingBucket) {
        self.campaign.buckets.push(bucket);
        self.queue.set_aside(&mut self.campaign, &self.rules);
    }

    /// Records a finding whose case is the same as that of the finding at this index.
    pub fn add_to(&mut self, at: usize, bucket: FindingBucket) {
        if let Some(same) = self.campaign.buckets.get_mut(at) {
            same.times += bucket.times;
            same.also.push(bucket.finding.key);
        }
    }

    /// Counts a conversation that stopped the host, and was therefore not judged.
    pub fn count_outage(&mut self) {
        self.campaign.sequences += 1;
    }

    /// Returns the conversations that ended within [`RECENT`], and forgets them.
    pub fn take_recent(&mut self) -> Vec<GeneratedSequence> {
        self.recent.take()
    }

    /// Records that the host stopped: the examinations in progress have no result, and are begun again later.
    pub fn requeue(&mut self) {
        self.queue.requeue();
    }

    /// Records that the user interrupted the campaign.
    pub fn interrupt(&mut self) {
        self.end = Some(CampaignEnd::Interrupt);
    }

    /// Ends all examinations: the confirmed findings keep their whole conversations as their cases, and the findings
    /// that were not confirmed are recorded as unexamined. The caller stores the cases.
    pub fn end_examinations(&mut self) -> Vec<ExaminationNews> {
        let (cases, left) = self.queue.end();
        self.campaign.unexamined.extend(left);
        cases
    }
}

fn is_restart(sequence: &GeneratedSequence) -> bool {
    sequence.draft.restart().is_some()
}

#[cfg(test)]
mod tests;
