//! Minimises a confirmed finding, and finds out which order of the clients' frames it needs.
//!
//! Knows: the target. Never knows: other findings, and how a finding is confirmed.
//!
//! Start at [`minimise`].

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use crate::arb::draft::ScenarioDraft;
use crate::arb::embedded::EmbeddedGround;
use crate::arb::finding::FuzzFinding;
use crate::arb::gauge::AnswerGauge;
use crate::arb::hold::{StepExpectation, is_settled, loosen};
use crate::arb::races::{open_orders, ordered};
use crate::arb::shrink::{DraftTrial, MAX_TRIES, shrink};

use super::confirm::{COMPANY, COPIES, ConfirmedFinding, NEEDED, in_company, permitted};
use super::fuzz_target::FuzzTarget;

/// The limit of a wait while a finding on a host outside of this process is minimised. A case that only fails
/// with this limit is not used: `run` has to fail on it with its own limit.
const TRIAL_LIMIT: Duration = Duration::from_secs(3);
/// The number of plays of each order of two frames, and the number of pairs of frames that are tried.
const ORDERED: u32 = 2;
const MOST_ORDERS: usize = 2;

/// The scenario of a finding.
#[derive(Debug)]
pub(super) struct FindingCase {
    /// The scenario; `run` reports the finding for it.
    pub(super) draft: ScenarioDraft,
    /// The order of its clients' frames that the case needs, as a sentence; empty if it needs none.
    pub(super) order: String,
    /// Whether the scenario was minimised.
    pub(super) minimised: bool,
}

impl FindingCase {
    /// Returns the whole conversation of a finding as its case.
    pub(super) fn whole(confirmed: &ConfirmedFinding) -> FindingCase {
        let ConfirmedFinding { finding, draft, company, .. } = confirmed;
        let draft = ScenarioDraft { title: finding.statement(), ..draft.clone() };
        let order = if *company { needs_company() } else { String::new() };
        FindingCase { draft, order, minimised: false }
    }
}

/// Returns a shorter conversation that is likely to show the finding, too. A claim needs no step after its own. An
/// always-on check does not depend on the steps' expectations. For its finding, the expectations in `unmet` are left
/// out: the host is known not to meet them, and a replay would wait for each until its time limit. Returns `None` if
/// nothing can be left out.
pub(super) fn shorter(
    confirmed: &ConfirmedFinding,
    unmet: &BTreeSet<StepExpectation>,
) -> Option<ScenarioDraft> {
    let ConfirmedFinding { finding, draft: whole, .. } = confirmed;
    if whole.is_about_agents() {
        return None;
    }
    let mut draft = whole.clone();
    match finding.step {
        Some(step) => draft.steps.truncate(step + 1),
        None => loosen(&mut draft, unmet),
    }
    (draft != *whole && draft.scenario().is_ok()).then_some(draft)
}

/// Minimises a finding in fresh sessions on the target, and returns its case. `quick` is a shorter conversation;
/// minimising begins with it if it shows the finding. `limit` is the time limit for minimising on a target outside
/// of this process; `None` to leave the case as it is.
pub(super) async fn minimise(
    target: &FuzzTarget,
    confirmed: &ConfirmedFinding,
    quick: Option<ScenarioDraft>,
    limit: Option<Duration>,
) -> FindingCase {
    let ConfirmedFinding { draft, finding, company, .. } = confirmed;
    let mut shows = OnTarget {
        target,
        finding,
        played: 0,
        until: None,
        limit: None,
        company: *company,
        legal: target.honest.found(draft).is_empty(),
    };
    if let Some(limit) = limit {
        shows.until = (!target.is_embedded()).then(|| Instant::now() + limit);
        // An agent may need longer than any host for a single answer.
        let is_host = target.is_foreign && !draft.is_about_agents();
        shows.limit = is_host.then(|| TRIAL_LIMIT.min(target.limit()));
        let begin = match quick {
            Some(quick) if shows.plays(&quick).await => quick,
            _ => draft.clone(),
        };
        let mut case = shrink(begin, &mut shows, MAX_TRIES).await;
        case.title = finding.statement();
        let free = permitted(target, &case, finding).await.is_some();
        if !free && shows.replays(&case).await {
            let order = shows.order_of(&case).await;
            return FindingCase { draft: case, order, minimised: true };
        }
    }
    let order = shows.order_of(draft).await;
    FindingCase { order, ..FindingCase::whole(confirmed) }
}

/// Returns what a finding needs that only occurs in company, as a sentence.
fn needs_company() -> String {
    format!("it needs several plays at the same time, as with `--repeat {COPIES} --jobs {COMPANY}`")
}

/// The trial of the shrinker, which tests in fresh sessions whether a candidate still shows the finding.
struct OnTarget<'a> {
    target: &'a FuzzTarget,
    finding: &'a FuzzFinding,
    played: u64,
    /// The time after which the shrinker tries no further candidate.
    until: Option<Instant>,
    /// The limit of a wait; `None` for the limit of `run`.
    limit: Option<Duration>,
    /// Whether a trial plays several copies of the conversation at the same time. Some defects show only while the
    /// host serves other clients.
    company: bool,
    /// Whether the reference host meets every expectation of the conversation. With another interleaving of the
    /// clients, it need not.
    legal: bool,
}

impl OnTarget<'_> {
    async fn plays(&mut self, draft: &ScenarioDraft) -> bool {
        self.played += 1;
        let (target, limit, played, key) =
            (self.target, self.limit, self.played, self.finding.key.as_str());
        let play = |copy: usize| {
            let name = format!("{}#again-{played}-{copy}", draft.id);
            async move {
                let played = target.play(draft, name, limit, &AnswerGauge::default()).await;
                played.is_some_and(|it| it.found.iter().any(|found| found.key == key))
            }
        };
        match self.company {
            true => in_company((0..COPIES).map(play)).await.contains(&true),
            false => play(0).await,
        }
    }

    /// Returns whether `run` reports the finding for the file of a case. A finding that depends on timing counts
    /// if two of three replays show it, so one replay that does not show it is no proof.
    async fn replays(&self, case: &ScenarioDraft) -> bool {
        let (target, key) = (self.target, &self.finding.key);
        let replay = |copy: usize| async move {
            target
                .replay(case, copy, &AnswerGauge::default())
                .await
                .is_ok_and(|shown| shown.contains(key))
        };
        for _ in 0..NEEDED {
            let replayed = match self.company {
                true => in_company((0..COPIES).map(replay)).await.contains(&true),
                false => replay(0).await,
            };
            if replayed {
                return true;
            }
        }
        false
    }

    /// Returns which order of its clients' frames a case needs, or that it needs several plays at once, as a
    /// sentence; an empty text if the finding occurs in every order. The host decides the order of frames that
    /// are on their way at the same time, so each order is tried with a pause between the frames.
    async fn order_of(&mut self, case: &ScenarioDraft) -> String {
        if self.company {
            return needs_company();
        }
        let mut needs = Vec::new();
        for order in open_orders(case).into_iter().take(MOST_ORDERS) {
            let mut came = [false; 2];
            for (exchanged, came) in [false, true].into_iter().zip(&mut came) {
                let Some(draft) = ordered(case, &order, exchanged) else { continue };
                for _ in 0..ORDERED {
                    *came = *came || self.plays(&draft).await;
                }
            }
            let (one, other) = &order.words;
            match came {
                [true, true] => {}
                [true, false] => needs.push(format!("it needs {one} before {other}")),
                [false, true] => needs.push(format!("it needs {other} before {one}")),
                [false, false] => needs.push(format!(
                    "it needs {other} while {one} is on its way, and does not occur if the host has \
                     processed one of them before the other one is sent"
                )),
            }
        }
        needs.join("; ")
    }
}

impl DraftTrial for OnTarget<'_> {
    fn keeps_premises(&self) -> bool {
        self.target.is_foreign && !self.finding.is_of_check()
    }

    async fn shows(&mut self, draft: &ScenarioDraft) -> bool {
        if self.until.is_some_and(|until| Instant::now() >= until) {
            return false;
        }
        // Without the waits that ordered two clients, the host may legally produce another outcome.
        if self.keeps_premises() && !is_settled(draft) {
            return false;
        }
        // If the reference host shows the behaviour as well, the behaviour is no finding. A claim also needs
        // premises that a host can meet: one that accepts an action without its required members may be in any
        // state afterwards.
        let honest: &EmbeddedGround = &self.target.honest;
        let may_miss = self.target.is_foreign && !(self.legal && self.keeps_premises());
        let clean = match may_miss {
            true => honest.broken(draft).is_empty(),
            false => self.target.is_honest || honest.found(draft).is_empty(),
        };
        clean && self.plays(draft).await
    }
}
