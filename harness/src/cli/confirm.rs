//! Confirms the findings of a conversation before they are reported: replays the file of the conversation in fresh
//! sessions, and counts how often each finding occurs again. One replay serves all findings of the conversation.
//!
//! Some findings do not occur when their conversation is replayed alone. They may need other conversations at the same
//! time: copies of the same conversation, or the conversations that were played at the same time in the campaign.
//!
//! Knows: the target. Never knows: the minimisation of cases.
//!
//! Start at [`confirm`].

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::join_all;

use crate::arb::draft::ScenarioDraft;
use crate::arb::finding::FuzzFinding;
use crate::arb::gauge::AnswerGauge;
use crate::arb::legality::permitting;
use crate::arb::schedule::findings::{
    COMPANY, COPIES, ConfirmationResult, FailedConversation, FindingSameness, ReplayCompany,
};

use super::fuzz_target::FuzzTarget;

/// The maximum number of times that a conversation is replayed, and the number of replays that have to show a
/// finding.
const AGAIN: u32 = 3;
pub(super) const NEEDED: u32 = 2;

/// The time between the beginnings of two copies of a conversation that are replayed together. The defect may occur
/// while the host ends the sessions of another replay.
const APART: Duration = Duration::from_millis(500);

/// The time limit of a wait in the conversations that are played together with a failed conversation. Their steps after
/// a wait that the host does not answer come too late to affect the failed conversation.
const OTHERS_LIMIT: Duration = Duration::from_secs(3);

/// Plays a conversation together with the copies or the other conversations that `company` names. The function `play`
/// plays one conversation; its second argument is the number of the execution.
pub(super) async fn play_in<'a, P: Future>(
    company: &'a ReplayCompany,
    draft: &'a ScenarioDraft,
    play: impl Fn(&'a ScenarioDraft, usize) -> P,
) -> Vec<P::Output> {
    match company {
        ReplayCompany::Nothing => vec![play(draft, 0).await],
        ReplayCompany::Copies => in_company((0..COPIES).map(|copy| play(draft, copy))).await,
        ReplayCompany::Others(others) => {
            let all = std::iter::once(draft).chain(others).zip(0..);
            join_all(all.map(|(draft, number)| play(draft, number))).await
        }
    }
}

/// A finding of a conversation and the replays that showed it.
struct ReplayCount {
    finding: FuzzFinding,
    /// The number of replays that showed the finding.
    again: u32,
    /// The number of replays that showed the finding in any form.
    forms: u32,
    played: u32,
}

impl ReplayCount {
    fn new(finding: FuzzFinding) -> ReplayCount {
        ReplayCount { finding, again: 0, forms: 0, played: 0 }
    }

    /// Adds a replay that showed these findings, unless the result is already certain.
    fn add(&mut self, shown: &[FuzzFinding]) {
        if self.is_open() {
            let shows =
                |it: FindingSameness| shown.iter().any(|found| it.holds(&self.finding, found));
            let (again, form) = (shows(FindingSameness::Identity), shows(FindingSameness::Form));
            self.played += 1;
            self.again += u32::from(again);
            self.forms += u32::from(form);
        }
    }

    /// Returns whether another replay could still change the result.
    fn is_open(&self) -> bool {
        self.again < NEEDED && self.played < AGAIN && self.played - self.forms <= AGAIN - NEEDED
    }

    /// Returns how the finding occurs in the replays; `None` if it occurs in too few of them.
    fn shows(&self) -> Option<FindingSameness> {
        match (self.again >= NEEDED, self.forms >= NEEDED) {
            (true, _) => Some(FindingSameness::Identity),
            (false, true) => Some(FindingSameness::Form),
            (false, false) => None,
        }
    }
}

/// Replays a conversation in fresh sessions on the target, first alone and then together with others, and returns the
/// result for each of its findings. `gauge` observes the traffic.
pub(super) async fn confirm(
    target: &FuzzTarget,
    failed: &FailedConversation,
    gauge: &AnswerGauge,
) -> Vec<(FuzzFinding, ConfirmationResult)> {
    let FailedConversation { draft, findings, hurried, beside, .. } = failed;
    let mut results = Vec::new();
    let mut left = Vec::new();
    for finding in findings.iter().cloned() {
        match permitted(target, draft, &finding).await {
            Some(variant) => results.push((finding, ConfirmationResult::Permitted(variant))),
            None => left.push(finding),
        }
    }
    let mut companies = vec![ReplayCompany::Nothing];
    if is_shared(target, draft) {
        companies.push(ReplayCompany::Copies);
        if !beside.is_empty() {
            companies.push(ReplayCompany::Others(beside.clone()));
        }
    }
    // For each finding, counts the replays of the conversation alone: those that showed the finding, and all of them.
    let mut alone = BTreeMap::new();
    for company in companies {
        let mut counts: Vec<ReplayCount> = left.drain(..).map(ReplayCount::new).collect();
        while counts.iter().any(ReplayCount::is_open) {
            let replay = async |draft: &ScenarioDraft, number: usize| {
                let is_other = number > 0 && matches!(company, ReplayCompany::Others(_));
                match is_other && target.limit() > OTHERS_LIMIT {
                    true => hurried_replay(target, draft, gauge).await,
                    false => target.replay(draft, gauge).await.unwrap_or_default(),
                }
            };
            let shared = target.quiet.read().await;
            let shown = play_in(&company, draft, replay).await;
            drop(shared);
            let shown: Vec<FuzzFinding> = shown.into_iter().flatten().collect();
            counts.iter_mut().for_each(|count| count.add(&shown));
        }
        for count in counts {
            let shows = count.shows();
            let ReplayCount { finding, again, forms, played } = count;
            if let Some(sameness) = shows {
                let again = match sameness {
                    FindingSameness::Identity => (again, played),
                    FindingSameness::Form => (forms, played),
                };
                let company = company.clone();
                let confirmed = ConfirmationResult::Confirmed { again, company, sameness };
                results.push((finding, confirmed));
            } else {
                alone.entry(finding.key.clone()).or_insert((again, played));
                left.push(finding);
            }
        }
    }
    for finding in left {
        let again = alone.get(&finding.key).copied().unwrap_or_default();
        let result = match *hurried && again.0 == 0 {
            true => ConfirmationResult::TooEarly,
            false => ConfirmationResult::Flaky { again },
        };
        results.push((finding, result));
    }
    results
}

/// Plays a conversation with short waits, and returns its findings.
async fn hurried_replay(
    target: &FuzzTarget,
    draft: &ScenarioDraft,
    gauge: &AnswerGauge,
) -> Vec<FuzzFinding> {
    let played = target.play(draft, Some(OTHERS_LIMIT), gauge).await;
    played.map(|played| played.found).unwrap_or_default()
}

/// Returns whether a conversation can be played several times at once on the target, as other conversations were
/// in the campaign.
fn is_shared(target: &FuzzTarget, draft: &ScenarioDraft) -> bool {
    let restarts = draft.restart().is_some();
    target.is_foreign && !target.is_embedded() && !draft.is_about_agents() && !restarts
}

/// Plays several copies of a conversation, some of them at the same time.
async fn in_company<T, P>(plays: impl Iterator<Item = P>) -> Vec<T>
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

/// Returns the legal variant under which the reference host breaks the same claim of a scenario. Always-on checks are
/// valid for every host, so no variant is tried for their findings.
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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use futures_util::future::join;
    use tokio::net::TcpListener;

    use super::*;
    use crate::arb::campaign::{FindingBucket, FuzzCampaign, KnownFindings};
    use crate::arb::schedule::PlayedDraft;
    use crate::arb::schedule::findings::ConfirmedFinding;
    use crate::cli::context::CliContext;
    use crate::cli::fuzz::FuzzArguments;
    use crate::cli::hunt::FuzzHunt;
    use crate::cli::minimise::minimise;
    use crate::host::engine::{HostConfig, RefHost};
    use crate::host::fault::HostFault;
    use crate::run::suite::CarriedFiles;
    use crate::scenario::load::load;
    use crate::transport::serve::{ServedBehind, serve};
    use crate::verdict::Weight;
    use crate::wire::channel::ROOT;
    use crate::wire::json::{Value, json};
    use crate::wire::version::Version;

    fn draft(name: &str, steps: &[Value]) -> ScenarioDraft {
        ScenarioDraft {
            id: format!("fuzz/{name}"),
            title: name.to_owned(),
            since: Version::V1_0,
            clients: vec!["A".into()],
            approves: None,
            needs: Vec::new(),
            tested: None,
            steps: steps.to_vec(),
        }
    }

    #[test]
    fn replays_that_show_a_breach_in_other_forms_confirm_it() {
        let rule = "fanout.notifications-subscribed";
        let form = |method: &str| {
            let message = format!("expected nothing on `ahp-root://`, found `{method}`");
            FuzzFinding::of(rule, Weight::Must, "", &message)
        };
        let (added, removed) = (form("root/sessionAdded"), form("root/sessionRemoved"));
        let other = FuzzFinding::of("queue.once", Weight::Must, "", "another breach");
        let shows = |replays: [&[FuzzFinding]; 3]| {
            let mut count = ReplayCount::new(added.clone());
            replays.iter().for_each(|shown| count.add(shown));
            (count.shows(), count.played)
        };
        let (added, removed, other) = ([added.clone()], [removed], [other]);
        assert_eq!(shows([&added, &added, &[]]), (Some(FindingSameness::Identity), 2));
        assert_eq!(shows([&added, &[], &added]), (Some(FindingSameness::Identity), 3));
        assert_eq!(shows([&removed, &added, &removed]), (Some(FindingSameness::Form), 3));
        assert_eq!(shows([&removed, &[], &removed]), (Some(FindingSameness::Form), 3));
        assert_eq!(shows([&added, &[], &other]), (None, 3));
        assert_eq!(shows([&[], &other, &added]), (None, 2));
    }

    /// The host announces a new title of one conversation's session on the wrong channel, to a client of another
    /// conversation.
    #[tokio::test]
    async fn a_finding_that_another_conversation_causes_is_confirmed_beside_it() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let url = format!("ws://{}", listener.local_addr().unwrap());
        let faults = vec![HostFault::RootNewsElsewhere];
        let host = RefHost::new(HostConfig { faults, ..HostConfig::default() });
        let (_served, task) = serve(listener, Box::new(host), ServedBehind::nothing());
        let out = std::env::temp_dir().join(format!("ahp-beside-{}", std::process::id()));
        let folder = out.display().to_string();
        let args = ["fuzz", "--url", &url, "--spec=1.0.0", "--timeout=700ms", "--out", &folder];
        let fuzz = FuzzArguments::parsed(&args);
        let context = CliContext::gather().quiet();
        let target = fuzz.looked_at(&context, None).await.unwrap_or_else(|_| unreachable!());
        let target = Arc::new(target);

        let news = json!({"expect": {"at": "A", "method": "root/sessionSummaryChanged"}});
        let connect = json!({"connect": {"by": "A"}});
        let watches = json!({"initialize": {"by": "A", "subscribe": [ROOT]}});
        let watcher = draft("watcher", &[connect.clone(), watches.clone(), news]);
        let open = json!({"open": {"by": "A"}});
        let title = json!({"type": "session/titleChanged", "title": "Greetings"});
        let rename = json!({"dispatch": {"by": "A", "channel": "${session}", "action": title}});
        let pause = json!({"rest": {"for": "100ms"}});
        let renamer = draft("renamer", &[open, pause, rename]);
        let idle = draft("idle", &[connect, watches]);
        let gauge = AnswerGauge::default();
        let play = |draft| target.play(draft, None, &gauge);
        let (watched, renamed) = join(play(&watcher), play(&renamer)).await;
        let PlayedDraft { verdict, found: findings } = watched.unwrap();
        let renamed = renamed.unwrap().verdict.failure;
        assert!(!findings.is_empty(), "{:?} {renamed:?}", verdict.failure);

        // Two plays of one conversation create different sessions.
        let (one, other) = join(play(&renamer), play(&renamer)).await;
        for played in [one.unwrap(), other.unwrap()] {
            assert!(played.verdict.failure.is_none(), "{:?}", played.verdict.failure);
        }

        let beside = vec![idle.clone(), renamer.clone(), idle];
        let failed =
            FailedConversation { draft: watcher, seed: 1, findings, hurried: false, beside };
        let lonely = FailedConversation { beside: Vec::new(), ..failed.clone() };
        let result = confirm(&target, &lonely, &gauge).await;
        assert!(matches!(result[0].1, ConfirmationResult::Flaky { again: (0, 2) }), "{result:?}");
        let result = confirm(&target, &failed, &gauge).await;
        let (finding, ConfirmationResult::Confirmed { again: (2, 2), company, sameness }) =
            &result[0]
        else {
            unreachable!("{result:?}")
        };
        let confirmed = ConfirmedFinding {
            finding: finding.clone(),
            draft: failed.draft,
            seed: 1,
            again: (2, 2),
            company: company.clone(),
            sameness: *sameness,
        };
        let case = minimise(&target, &confirmed, None, Some(Duration::from_secs(60))).await;
        assert_eq!(case.beside, [renamer]);
        assert!(case.minimised);

        // `run` reproduces the finding when it plays the files of the finding at the same time.
        let (known, campaign) = (KnownFindings::default(), FuzzCampaign::default());
        let source = fuzz.source(&target, 1);
        fs::create_dir_all(out.join("fuzz")).unwrap();
        let begins = (source, known, campaign);
        let mut hunt = FuzzHunt::new(&fuzz, &context, Arc::clone(&target), begins, None);
        let bucket = FindingBucket {
            finding: finding.clone(),
            scenario: String::new(),
            seed: 1,
            times: 1,
            again: (2, 2),
            flaky: false,
            also: Vec::new(),
            order: String::new(),
            minimised: case.minimised,
        };
        assert!(hunt.keep(case, bucket).is_ok());
        let FindingBucket { scenario, order, .. } = &hunt.schedule.campaign().buckets[0];
        let other = format!("{scenario}-beside-1.yaml");
        assert!(order.contains(&other) && order.contains("--jobs 2"), "{order}");
        let text = fs::read_to_string(out.join(format!("{scenario}.yaml"))).unwrap();
        assert!(text.contains(order), "{text}");
        for name in [format!("{scenario}.yaml"), other] {
            let text = fs::read_to_string(out.join(&name)).unwrap();
            let loaded = load(&name, &text, &CarriedFiles);
            assert!(loaded.errors.is_empty() && loaded.scenario.is_some(), "{text}");
        }
        task.abort();
        fs::remove_dir_all(&out).unwrap();
    }
}
