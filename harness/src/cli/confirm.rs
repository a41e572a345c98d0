//! Confirms the findings of a conversation before they are reported: replays the file of the conversation in fresh
//! sessions, and counts how often each finding occurs again. One replay serves all findings of the conversation.
//!
//! Knows: the target. Never knows: other conversations, and how a case is minimised.
//!
//! Start at [`confirm`].

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures_util::future::join_all;

use crate::arb::campaign::UnexaminedFinding;
use crate::arb::draft::ScenarioDraft;
use crate::arb::finding::FuzzFinding;
use crate::arb::gauge::AnswerGauge;
use crate::arb::hold::{StepExpectation, drop_claims, loosen};
use crate::arb::liberty::permitting;

use super::fuzz_target::FuzzTarget;

/// The maximum number of times that a conversation is replayed, and the number of replays that have to show a
/// finding.
const AGAIN: u32 = 3;
pub(super) const NEEDED: u32 = 2;

/// For a finding that no replay alone shows: the number of replays at the same time, how many of them follow each
/// other, and the time between the beginnings of two of them. A host may show the defect while it ends the
/// sessions of another replay.
pub(super) const COMPANY: usize = 4;
const IN_A_ROW: usize = 2;
const APART: Duration = Duration::from_millis(500);
/// The number of replays of one conversation in company.
pub(super) const COPIES: usize = COMPANY * IN_A_ROW;

/// A conversation that showed findings.
#[derive(Clone, Debug)]
pub(super) struct FailedConversation {
    /// The conversation.
    pub(super) draft: ScenarioDraft,
    /// The seed of the conversation.
    pub(super) seed: u64,
    /// The findings.
    pub(super) findings: Vec<FuzzFinding>,
    /// Whether the wait limits were shorter than those of `run`.
    pub(super) hurried: bool,
}

impl FailedConversation {
    /// Returns the findings for the file of the campaign.
    pub(super) fn unexamined(&self) -> Vec<UnexaminedFinding> {
        let seed = self.seed;
        let open = |finding: &FuzzFinding| UnexaminedFinding { finding: finding.clone(), seed };
        self.findings.iter().map(open).collect()
    }

    /// Leaves out the expectations in `unmet` that the findings do not need: the host is known not to meet them, and
    /// a replay would wait for each until its time limit. Findings of always-on checks do not depend on the steps'
    /// expectations. A claim depends on the premises before it, so these stay.
    pub(super) fn hasten(&mut self, unmet: &BTreeSet<StepExpectation>) {
        if self.draft.is_about_agents() {
            return;
        }
        let mut draft = self.draft.clone();
        let claimed: BTreeSet<usize> = self.findings.iter().filter_map(|it| it.step).collect();
        let places = match claimed.is_empty() {
            true => {
                loosen(&mut draft, unmet);
                BTreeMap::new()
            }
            false => drop_claims(&mut draft, unmet, &claimed),
        };
        if draft.scenario().is_ok() {
            self.draft = draft;
            for finding in &mut self.findings {
                finding.step = finding.step.and_then(|step| places.get(&step).copied());
            }
        }
    }
}

/// A finding that occurs again when the file of its conversation is replayed.
#[derive(Clone, Debug)]
pub(super) struct ConfirmedFinding {
    /// The finding.
    pub(super) finding: FuzzFinding,
    /// The conversation that shows it.
    pub(super) draft: ScenarioDraft,
    /// The seed of the conversation.
    pub(super) seed: u64,
    /// The number of replays that showed the finding, and the number of replays.
    pub(super) again: (u32, u32),
    /// Whether the finding only occurs if the conversation is played several times at once.
    pub(super) company: bool,
}

impl ConfirmedFinding {
    /// Returns the finding for the file of the campaign.
    pub(super) fn unexamined(&self) -> UnexaminedFinding {
        UnexaminedFinding { finding: self.finding.clone(), seed: self.seed }
    }
}

/// Whether a finding is confirmed.
#[derive(Debug)]
pub(super) enum ConfirmationResult {
    /// The finding occurs again.
    Confirmed {
        /// The number of replays that showed the finding, and the number of replays.
        again: (u32, u32),
        /// Whether the finding only occurs if the conversation is played several times at once.
        company: bool,
    },
    /// The finding did not occur often enough.
    Flaky {
        /// The number of replays that showed the finding, and the number of replays.
        again: (u32, u32),
    },
    /// The text permits the behaviour: the reference host shows it under this legal variant.
    Permitted(&'static str),
    /// The finding never occurs with the wait limits of `run`, because the host was only slow.
    TooEarly,
}

/// A finding of a conversation and the replays that showed it.
struct ReplayCount {
    finding: FuzzFinding,
    again: u32,
    played: u32,
}

impl ReplayCount {
    fn new(finding: FuzzFinding) -> ReplayCount {
        ReplayCount { finding, again: 0, played: 0 }
    }

    /// Adds a replay that showed the findings with these keys, unless it could not change the result.
    fn add(&mut self, shown: &BTreeSet<String>) {
        if self.is_open() {
            self.played += 1;
            self.again += u32::from(shown.contains(&self.finding.key));
        }
    }

    /// Returns whether another replay could still change the result.
    fn is_open(&self) -> bool {
        self.again < NEEDED && self.played - self.again <= AGAIN - NEEDED
    }
}

/// Replays a conversation in fresh sessions on the target, and returns the result for each of its findings. `gauge`
/// observes the traffic.
pub(super) async fn confirm(
    target: &FuzzTarget,
    failed: &FailedConversation,
    gauge: &AnswerGauge,
) -> Vec<(FuzzFinding, ConfirmationResult)> {
    let FailedConversation { draft, findings, hurried, .. } = failed;
    let mut results = Vec::new();
    let mut counts = Vec::new();
    for finding in findings.iter().cloned() {
        match permitted(target, draft, &finding).await {
            Some(variant) => results.push((finding, ConfirmationResult::Permitted(variant))),
            None => counts.push(ReplayCount::new(finding)),
        }
    }
    while counts.iter().any(ReplayCount::is_open) {
        let shown = target.replay(draft, 0, gauge).await.unwrap_or_default();
        counts.iter_mut().for_each(|count| count.add(&shown));
    }
    let mut together = Vec::new();
    if counts.iter().any(|count| count.again < NEEDED) && is_shared(target, draft) {
        let missed = counts.iter().filter(|count| count.again < NEEDED);
        let fresh = |count: &ReplayCount| ReplayCount::new(count.finding.clone());
        together = missed.map(fresh).collect();
        while together.iter().any(ReplayCount::is_open) {
            let copies = (0..COPIES).map(|copy| target.replay(draft, copy, gauge));
            let shown = in_company(copies).await.into_iter().filter_map(Result::ok);
            let shown: BTreeSet<String> = shown.flatten().collect();
            together.iter_mut().for_each(|count| count.add(&shown));
        }
    }
    for ReplayCount { finding, again, played } in counts {
        let together = together.iter().find(|it| it.finding.key == finding.key);
        let together = together.filter(|it| it.again >= NEEDED);
        let again = match together {
            Some(together) => (together.again, together.played),
            None => (again, played),
        };
        let result = if again.0 >= NEEDED {
            ConfirmationResult::Confirmed { again, company: together.is_some() }
        } else if *hurried && again.0 == 0 {
            ConfirmationResult::TooEarly
        } else {
            ConfirmationResult::Flaky { again }
        };
        results.push((finding, result));
    }
    results
}

/// Returns whether a conversation can be played several times at once on the target, as other conversations were
/// in the campaign.
fn is_shared(target: &FuzzTarget, draft: &ScenarioDraft) -> bool {
    let restarts = draft.restart().is_some();
    target.is_foreign && !target.is_embedded() && !draft.is_about_agents() && !restarts
}

/// Plays several copies, some of them at the same time.
pub(super) async fn in_company<T, P>(plays: impl Iterator<Item = P>) -> Vec<T>
where
    P: Future<Output = T>,
{
    let mut lanes: Vec<Vec<P>> = Vec::new();
    lanes.resize_with(COMPANY, Vec::new);
    for (place, play) in plays.enumerate() {
        lanes[place % COMPANY].push(play);
    }
    let lanes = lanes.into_iter().zip(0..).map(|(plays, lane)| async move {
        let mut results = Vec::new();
        tokio::time::sleep(APART * lane).await;
        for play in plays {
            results.push(play.await);
        }
        results
    });
    join_all(lanes).await.into_iter().flatten().collect()
}

/// Returns the legal variant under which the reference host breaks the same claim of a scenario. Findings of
/// always-on checks hold for every host, so no variant is tried for them.
pub(super) async fn permitted(
    target: &FuzzTarget,
    draft: &ScenarioDraft,
    finding: &FuzzFinding,
) -> Option<&'static str> {
    if !target.is_foreign || finding.is_of_check() {
        return None;
    }
    let (honest, draft, finding) = (target.honest.clone(), draft.clone(), finding.clone());
    let variant = tokio::task::spawn_blocking(move || permitting(&honest, &draft, &finding));
    variant.await.ok().flatten()
}
