//! Minimises a confirmed finding, and determines which order of the clients' frames the finding needs.
//!
//! Knows: the target. Never knows: other findings, confirmation.
//!
//! Start at [`minimise`].

use std::pin::pin;
use std::time::{Duration, Instant};

use crate::arb::draft::ScenarioDraft;
use crate::arb::embedded::EmbeddedGround;
use crate::arb::expectation::is_settled;
use crate::arb::finding::FuzzFinding;
use crate::arb::gauge::AnswerGauge;
use crate::arb::races::{open_orders, ordered};
use crate::arb::schedule::findings::{
    ConfirmedFinding, FindingCase, FindingSameness, ReplayCompany,
};
use crate::arb::schedule::traffic::{QUIET, TrafficWatch};
use crate::arb::shrink::{DraftTrial, MAX_TRIES, shrink};

use super::confirm::{NEEDED, permitted, play_in};
use super::fuzz_target::FuzzTarget;

/// The limit of a wait while a finding on a host outside of this process is minimised. A case that fails only with this
/// limit is not used, because it also has to fail with the limit of `run`.
const TRIAL_LIMIT: Duration = Duration::from_secs(3);
/// How often each order of two frames is played, and the maximum number of pairs of frames that are tried.
const ORDERED: u32 = 2;
const MOST_ORDERS: usize = 2;

/// Minimises a finding in fresh sessions on the target, and returns its case. `quick` is a shorter conversation: if it
/// also shows the finding, minimising begins with it. `limit` is the time limit for minimising on a target outside of
/// this process; `None` to leave the case as it is.
pub(super) async fn minimise(
    target: &FuzzTarget,
    confirmed: &ConfirmedFinding,
    quick: Option<ScenarioDraft>,
    limit: Option<Duration>,
) -> FindingCase {
    let ConfirmedFinding { draft, finding, company, sameness, .. } = confirmed;
    let mut shows = OnTarget {
        target,
        finding,
        sameness: *sameness,
        until: None,
        limit: None,
        company: company.clone(),
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
        shows.leave_others_out(&begin, limit / 2).await;
        let mut case = shrink(begin, &mut shows, MAX_TRIES).await;
        case.title = finding.statement();
        let free = permitted(target, &case, finding).await.is_some();
        if !free && shows.replays(&case).await {
            let order = shows.order_of(&case).await;
            return FindingCase::of(case, shows.company, order, true);
        }
    }
    let whole = FindingCase::whole(confirmed);
    match company {
        ReplayCompany::Nothing => FindingCase { order: shows.order_of(draft).await, ..whole },
        ReplayCompany::Copies | ReplayCompany::Others(_) => whole,
    }
}

/// Tests for the shrinker, in fresh sessions on the target, whether a smaller candidate still shows the finding.
struct OnTarget<'a> {
    target: &'a FuzzTarget,
    finding: &'a FuzzFinding,
    sameness: FindingSameness,
    /// The time after which the shrinker tries no further candidate.
    until: Option<Instant>,
    /// The limit of a wait; `None` for the limit of `run`.
    limit: Option<Duration>,
    /// The conversations that a trial plays at the same time. Some defects occur only while the host serves other
    /// clients.
    company: ReplayCompany,
    /// Whether the reference host meets every expectation of the conversation. With another interleaving of the
    /// clients, the reference host may fail some of them.
    legal: bool,
}

impl OnTarget<'_> {
    async fn plays(&mut self, draft: &ScenarioDraft) -> bool {
        let company = self.company.clone();
        self.plays_in(draft, &company).await
    }

    async fn plays_in(&mut self, draft: &ScenarioDraft, company: &ReplayCompany) -> bool {
        let (target, limit) = (self.target, self.limit);
        let (finding, sameness) = (self.finding, self.sameness);
        let play = async |draft: &ScenarioDraft, _: usize| {
            let played = target.play(draft, limit, &AnswerGauge::default()).await;
            played.is_some_and(|it| it.found.iter().any(|found| sameness.holds(finding, found)))
        };
        let _shared = target.quiet.read().await;
        play_in(company, draft, play).await.contains(&true)
    }

    /// Leaves out the other conversations that a case does not need: first many at a time, then one at a time, until
    /// the deadline.
    async fn leave_others_out(&mut self, case: &ScenarioDraft, time: Duration) {
        let ReplayCompany::Others(mut others) = self.company.clone() else { return };
        let until = Instant::now() + time;
        let mut size = others.len().div_ceil(2);
        while size > 0 {
            let mut at = 0;
            while at < others.len() && others.len() > 1 && Instant::now() < until {
                let mut fewer = others.clone();
                fewer.drain(at..(at + size).min(others.len()));
                let company = ReplayCompany::Others(fewer);
                if self.plays_in(case, &company).await
                    && let ReplayCompany::Others(fewer) = company
                {
                    others = fewer;
                } else {
                    at += size;
                }
            }
            size /= 2;
        }
        self.company = ReplayCompany::Others(others);
    }

    /// Returns whether `run` reports the finding for the file of a case while no other finding is examined. A finding
    /// that depends on timing may be missing in one replay, so the file is played a second time.
    async fn replays(&self, case: &ScenarioDraft) -> bool {
        let (target, finding, sameness) = (self.target, self.finding, self.sameness);
        for _ in 0..NEEDED {
            let gauge = AnswerGauge::default();
            let replay = async |draft: &ScenarioDraft, _: usize| {
                let shown = target.replay(draft, &gauge).await.unwrap_or_default();
                shown.iter().any(|found| sameness.holds(finding, found))
            };
            let alone = target.quiet.write().await;
            let mut replays = pin!(play_in(&self.company, case, replay));
            let shown = tokio::select! {
                shown = &mut replays => shown,
                () = quiet(&gauge) => {
                    // While the replay only waits for its time limits, other replays may use the host.
                    drop(alone);
                    replays.await
                }
            };
            if shown.contains(&true) {
                return true;
            }
        }
        false
    }

    /// Returns which order of its clients' frames a case needs, as a sentence. The string is empty if the finding
    /// occurs in every order. It is also empty if the case needs other conversations, because their timing decides the
    /// order. If two frames are in flight at the same time, the host decides which one comes first. To force an order,
    /// each replay pauses between the frames.
    async fn order_of(&mut self, case: &ScenarioDraft) -> String {
        if self.company != ReplayCompany::Nothing {
            return String::new();
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
                    "it needs {other} while {one} is in transit, and does not occur if the host has processed one of \
                     them before the other one is sent"
                )),
            }
        }
        needs.join("; ")
    }
}

/// Waits until a conversation that begins now has had no traffic for [`QUIET`].
async fn quiet(gauge: &AnswerGauge) {
    let began = Instant::now();
    let mut traffic = TrafficWatch::new(Duration::ZERO, gauge.clone());
    while traffic.talks(began.elapsed(), QUIET) {
        tokio::time::sleep(QUIET / 4).await;
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
        // If the reference host shows the behaviour as well, the behaviour is no finding. The premises of a claim must
        // also hold on the reference host: if a premise expects a host to accept an action without its required
        // members, the host may be in any state afterwards.
        let honest: &EmbeddedGround = &self.target.honest;
        let may_miss = self.target.is_foreign && !(self.legal && self.keeps_premises());
        let clean = match may_miss {
            true => honest.broken(draft).is_empty(),
            false => self.target.is_honest || honest.found(draft).is_empty(),
        };
        clean && self.plays(draft).await
    }
}
