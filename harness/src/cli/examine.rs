//! Examines a finding before it is reported: whether the text permits the behaviour, whether the finding
//! reproduces, how small its conversation can become, and whether `run` fails the same way on the file.
//!
//! Knows: the target. Never knows: other findings.
//!
//! Start at [`examine`].

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;

use crate::arb::draft::ScenarioDraft;
use crate::arb::embedded::EmbeddedGround;
use crate::arb::finding::FuzzFinding;
use crate::arb::gauge::AnswerGauge;
use crate::arb::hold::{StepExpectation, is_settled, loosen};
use crate::arb::liberty::permitting;
use crate::arb::races::{open_orders, ordered};
use crate::arb::shrink::{DraftTrial, MAX_TRIES, shrink};

use super::fuzz_target::FuzzTarget;

/// The maximum number of times that a finding is played again, and the number of times that it has to
/// reproduce.
const AGAIN: u32 = 3;
const NEEDED: u32 = 2;

/// The limit of a wait while a finding on a host outside of this process is minimised. A case that only fails
/// with this limit is not used: `run` has to fail on it with its own limit.
const TRIAL_LIMIT: Duration = Duration::from_secs(3);
/// For a finding that no play alone shows: the number of plays at the same time, how many of them follow each
/// other, and the time between the beginnings of two of them. A host may show the defect while it ends the
/// sessions of another play.
const COMPANY: usize = 4;
const IN_A_ROW: usize = 2;
const APART: Duration = Duration::from_millis(500);
/// The number of plays of each order of two frames, and the number of pairs of frames that are tried.
const ORDERED: u32 = 2;
const MOST_ORDERS: usize = 2;

/// The result of an examination.
pub(super) enum ExaminationResult {
    /// The finding reproduces, and `run` reports it for the minimised case.
    Steady {
        /// The minimised case.
        draft: ScenarioDraft,
        /// The number of times that the finding reproduced, and the number of plays.
        again: (u32, u32),
        /// The order of its clients' frames that the case needs, as a sentence; empty if it needs none.
        order: String,
    },
    /// The finding did not reproduce often enough, or `run` did not report it for the scenario file written for
    /// it.
    Flaky {
        /// The number of times that the finding reproduced, and the number of plays.
        again: (u32, u32),
    },
    /// The text permits the behaviour: the reference host shows it under this legal variant.
    Permitted(&'static str),
    /// The finding never reproduces with the wait limits of `run`, because the host was only slow.
    TooEarly,
}

/// A finding to be examined.
#[derive(Clone)]
pub(super) struct FindingCandidate {
    /// The conversation.
    pub(super) draft: ScenarioDraft,
    /// The seed of the conversation.
    pub(super) seed: u64,
    /// The finding itself.
    pub(super) finding: FuzzFinding,
    /// Whether the wait limits were shorter than those of `run`.
    pub(super) hurried: bool,
}

impl FindingCandidate {
    /// Returns a shorter conversation that is likely to show the finding, too. A claim needs no step after its own.
    /// An always-on check does not depend on the steps' expectations. For its finding, the expectations in
    /// `unmet` are left out: the host is known not to meet them, and a replay would wait for each until its time
    /// limit. Returns `None` if nothing can be left out.
    pub(super) fn shorter(&self, unmet: &BTreeSet<StepExpectation>) -> Option<ScenarioDraft> {
        if self.draft.is_about_agents() {
            return None;
        }
        let mut draft = self.draft.clone();
        match self.finding.step {
            Some(step) => draft.steps.truncate(step + 1),
            None => loosen(&mut draft, unmet),
        }
        (draft != self.draft && draft.scenario().is_ok()).then_some(draft)
    }
}

/// Examines a finding in fresh sessions on the target. `quick` is a shorter conversation; it is used instead of
/// the conversation if it shows the finding. `small` is the time limit for minimising the case on a target
/// outside of this process; `None` to leave the case as it is.
pub(super) async fn examine(
    target: Arc<FuzzTarget>,
    candidate: &FindingCandidate,
    quick: Option<ScenarioDraft>,
    small: Option<Duration>,
) -> ExaminationResult {
    let FindingCandidate { draft, finding, hurried, .. } = candidate;
    if let Some(variant) = permitted(&target, draft, finding).await {
        return ExaminationResult::Permitted(variant);
    }
    let mut shows = OnTarget {
        target: &target,
        finding,
        played: 0,
        until: None,
        limit: None,
        company: false,
        legal: target.honest.found(draft).is_empty(),
    };
    let (mut again, mut played) = (0, 0);
    let quick = match quick {
        Some(quick) if shows.plays(&quick).await => Some(quick),
        _ => None,
    };
    if quick.is_some() {
        (again, played) = (1, 1);
    }
    let draft = quick.as_ref().unwrap_or(draft);
    while again < NEEDED && played - again <= AGAIN - NEEDED {
        played += 1;
        again += u32::from(shows.plays(draft).await);
    }
    let mut again = (again, played);
    if again.0 < NEEDED && is_shared(&target, draft) {
        shows.company = true;
        let mut together = 0;
        while together < NEEDED && shows.plays(draft).await {
            together += 1;
        }
        if together == NEEDED {
            again = (together, together);
        }
    }
    if again.0 < NEEDED {
        return match *hurried && again.0 == 0 {
            true => ExaminationResult::TooEarly,
            false => ExaminationResult::Flaky { again },
        };
    }
    if let Some(limit) = small {
        shows.until = (!target.is_embedded()).then(|| Instant::now() + limit);
        // An agent may need longer than any host for a single answer.
        let is_host = target.is_foreign && !draft.is_about_agents();
        shows.limit = is_host.then(|| TRIAL_LIMIT.min(target.limit()));
        let mut case = shrink(draft.clone(), &mut shows, MAX_TRIES).await;
        case.title = finding.statement();
        let free = permitted(&target, &case, finding).await.is_some();
        if !free && shows.replays(&case).await {
            let order = shows.order_of(&case).await;
            return ExaminationResult::Steady { draft: case, again, order };
        }
    }
    let case = ScenarioDraft { title: finding.statement(), ..draft.clone() };
    match shows.replays(&case).await {
        true => {
            let order = shows.order_of(&case).await;
            ExaminationResult::Steady { draft: case, again, order }
        }
        false => ExaminationResult::Flaky { again },
    }
}

/// Returns whether a conversation can be played several times at once on the target, as other conversations were
/// in the campaign.
fn is_shared(target: &FuzzTarget, draft: &ScenarioDraft) -> bool {
    let restarts = draft.restart().is_some();
    target.is_foreign && !target.is_embedded() && !draft.is_about_agents() && !restarts
}

/// Returns the legal variant under which the reference host breaks the same claim of a scenario. Findings of
/// always-on checks hold for every host, so no variant is tried for them.
async fn permitted(
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

/// Plays several copies, some of them at the same time. Returns whether one of them shows the finding.
async fn in_company<P: Future<Output = bool>>(plays: impl Iterator<Item = P>) -> bool {
    let mut lanes: Vec<Vec<P>> = Vec::new();
    lanes.resize_with(COMPANY, Vec::new);
    for (place, play) in plays.enumerate() {
        lanes[place % COMPANY].push(play);
    }
    let lanes = lanes.into_iter().zip(0..).map(|(plays, lane)| async move {
        let mut shown = false;
        tokio::time::sleep(APART * lane).await;
        for play in plays {
            shown |= play.await;
        }
        shown
    });
    join_all(lanes).await.into_iter().any(|shown| shown)
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
            true => in_company((0..COMPANY * IN_A_ROW).map(play)).await,
            false => play(0).await,
        }
    }

    /// Returns whether `run` reports the finding for the file of a case. A finding that depends on timing counts
    /// if two of three replays show it, so one replay that does not show it is no proof.
    async fn replays(&self, case: &ScenarioDraft) -> bool {
        let (target, finding) = (self.target, self.finding);
        let replay = |copy: usize| async move { target.replays(case, finding, copy).await.is_ok() };
        for _ in 0..NEEDED {
            let replayed = match self.company {
                true => in_company((0..COMPANY * IN_A_ROW).map(replay)).await,
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
            return format!(
                "it needs several plays at the same time, as with `--repeat {} --jobs {COMPANY}`",
                COMPANY * IN_A_ROW
            );
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
