//! Plays a conversation with another interleaving of its clients. In the original conversation, a step of one client
//! waits for the outcome of a step of another client. Here, the two steps are sent together: in either order, with a
//! short delay in between, or while one client does not read the host's messages.
//!
//! The specification orders only the frames of one client. The conversation therefore has no expectations about the two
//! steps, or about later steps that depend on their channels. The always-on checks judge the conversation.
//!
//! Knows: the members of steps. Never knows: hosts, rules.
//!
//! Start at [`raced`].

use std::collections::BTreeSet;

use crate::dice::Dice;
use crate::scenario::verbs::VerbNature;
use crate::wire::json::{Value, json};

use super::draft::ScenarioDraft;
use super::draft_step::{bound, clients_of, members_mut, minted, row_of, verb_of};
use super::expectation::{StepEnding, names_in};

/// The delays between the two steps, in milliseconds. An agent of the reference host takes a few milliseconds
/// for a step; other hosts take longer.
const DELAYS: [u64; 7] = [0, 0, 1, 3, 10, 30, 80];
/// The pause after the two steps, in which the host can process both, in milliseconds.
const AFTER: u64 = 100;
/// The first identifier of requests that no step waits for. The identifiers of all other requests are far from it.
const OWN_IDS: usize = 9_700;
/// A number that makes the choices of a race independent of the choices of its conversation.
const SALT: u64 = 0x7ace_7ace;

/// A conversation with another interleaving.
#[derive(Clone, Debug)]
pub struct RacedConversation {
    /// The draft of the changed conversation.
    pub draft: ScenarioDraft,
    /// The index of the first step after the two steps that are sent together.
    pub after: usize,
    /// The names of the channels and identifiers in the two steps.
    pub names: BTreeSet<String>,
}

/// Two steps of a conversation that are sent together.
#[derive(Clone, Copy, Debug)]
struct StepPair {
    first: usize,
    second: usize,
}

/// Returns the conversation with two steps of different clients sent together; `None` if it has no two such
/// steps about the same channel. The seed determines the choice.
pub fn raced(draft: &ScenarioDraft, seed: u64) -> Option<RacedConversation> {
    let mut dice = Dice::seeded(seed ^ SALT);
    let pairs = pairs(&draft.steps);
    let StepPair { first, second } = *dice.pick(&pairs)?;
    let (one, other) = (draft.steps.get(first)?, draft.steps.get(second)?);
    let names: BTreeSet<String> = names_in(one).union(&names_in(other)).cloned().collect();
    let later = draft.steps.get(second + 1..)?;
    let (mut one, mut other) = (unawaited(one, later, 0), unawaited(other, later, 1));
    // A step that is sent together with a wait for its response can only be the second step.
    if other.waits.is_none() && dice.chance(50) {
        std::mem::swap(&mut one, &mut other);
    }
    if one.waits.is_some() {
        return None;
    }
    let mut steps = draft.steps.get(..first)?.to_vec();
    let held = other.waits.is_none().then(|| dice.pick(&[None, Some(&one), Some(&other)]).copied());
    let held = held.flatten().flatten().map(|step| step.by.clone());
    let delay = *dice.pick(&DELAYS)?;
    if let Some(by) = &held {
        steps.push(json!({"pause": {"by": by.as_str()}}));
    }
    steps.push(one.step.clone());
    if delay > 0 {
        steps.push(json!({"rest": {"for": format!("{delay}ms")}}));
    }
    steps.push(other.step.clone());
    steps.push(json!({"rest": {"for": format!("{AFTER}ms")}}));
    if let Some(by) = &held {
        steps.push(json!({"resume": {"by": by.as_str()}}));
    }
    steps.extend(one.answer.into_iter().chain(other.answer));
    let after = steps.len();
    // Waits between the two steps are kept if later steps use the names that they bind.
    let between = draft.steps.get(first + 1..second)?.iter();
    steps.extend(between.filter(|step| binds_for(step, later)).cloned());
    steps.extend(later.iter().cloned());
    Some(RacedConversation { draft: ScenarioDraft { steps, ..draft.clone() }, after, names })
}

/// Returns the pairs of steps that can be sent together.
fn pairs(steps: &[Value]) -> Vec<StepPair> {
    let mut found = Vec::new();
    let mut last: Option<usize> = None;
    for (second, step) in steps.iter().enumerate() {
        if !acts(step) {
            if !waits(step) {
                last = None;
            }
            continue;
        }
        if let Some(first) = last
            && let Some(one) = steps.get(first)
            && let ([by], [other]) = (clients_of(one).as_slice(), clients_of(step).as_slice())
            && by != other
            && !names_in(one).is_disjoint(&names_in(step))
            && !steps.get(first..second).unwrap_or_default().iter().any(|it| feeds(it, step))
            && [first, second].iter().all(|at| is_free(steps, *at))
        {
            found.push(StepPair { first, second });
        }
        last = Some(second);
    }
    found
}

/// Returns whether a step sends a frame that can be sent at another time.
fn acts(step: &Value) -> bool {
    const ACTS: [&str; 6] =
        ["dispatch", "turn", "request", "subscribe", "unsubscribe", "reconnect"];
    verb_of(step).is_some_and(|(verb, _)| ACTS.contains(&verb))
}

/// Returns whether a step only waits or reads a state.
fn waits(step: &Value) -> bool {
    row_of(step).is_some_and(|row| row.asserts || row.nature == VerbNature::Paces)
}

/// Returns whether no later step uses a name that the outcome of a dispatch binds.
fn is_free(steps: &[Value], at: usize) -> bool {
    let (Some(step), later) = (steps.get(at), steps.get(at + 1..).unwrap_or_default()) else {
        return false;
    };
    let waits = ["request", "subscribe", "reconnect"].iter().any(|verb| step.get(verb).is_some());
    waits || !binds_for(step, later)
}

/// Returns whether a later step uses a name that a step binds.
fn feeds(step: &Value, later: &Value) -> bool {
    let used = later.to_string();
    bound(&step.to_string()).iter().any(|name| used.contains(&format!("${{{name}}}")))
}

fn binds_for(step: &Value, later: &[Value]) -> bool {
    later.iter().any(|later| feeds(step, later))
}

/// A step that is sent without waiting for its outcome, if possible.
struct UnawaitedStep {
    by: String,
    step: Value,
    /// The step that waits for the response later.
    answer: Option<Value>,
    /// `Some` if the step can only be sent together with a wait for its response.
    waits: Option<()>,
}

fn unawaited(step: &Value, later: &[Value], number: usize) -> UnawaitedStep {
    let by = clients_of(step).into_iter().next().unwrap_or_default();
    let mut open = step.clone();
    if let Some(members) = members_mut(&mut open) {
        members.remove("proves");
        StepEnding::MEMBERS.iter().for_each(|(name, _)| drop(members.remove(name)));
    }
    let binds = binds_for(step, later);
    match verb_of(step) {
        Some((verb @ ("request" | "subscribe"), members)) if !binds => {
            let id = OWN_IDS + number;
            let method = members["method"].as_str().unwrap_or(verb);
            let mut params = members.get("params").cloned().unwrap_or_else(|| json!({}));
            if let Some(channel) = members.get("channel") {
                params["channel"] = channel.clone();
            }
            if params.get("channel").is_none() {
                params["channel"] = json!("ahp-root://");
            }
            let frame = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
            let step = json!({"send": {"by": by.as_str(), "json": frame}});
            let answer = json!({"answer": {
                "at": by.as_str(), "id": id, "result": true, "error": true,
            }});
            UnawaitedStep { by, step, answer: Some(answer), waits: None }
        }
        Some(("request" | "subscribe" | "reconnect", members)) => {
            let result = members.get("result").filter(|_| binds).cloned();
            if let Some(members) = members_mut(&mut open) {
                members.insert("result", result.clone().unwrap_or(json!(true)));
                if result.is_none() {
                    members.insert("error", json!(true));
                }
            }
            UnawaitedStep { by, step: open, answer: None, waits: Some(()) }
        }
        _ => UnawaitedStep { by, step: open, answer: None, waits: None },
    }
}

/// Two steps of a case whose order on the host is unknown: the second one is sent while the host may still process the
/// first one.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct OpenOrder {
    first: usize,
    second: usize,
    /// The descriptions of the two steps, for people.
    pub words: (String, String),
}

/// The pause after which a host has processed an earlier frame.
const PROCESSED: &str = "400ms";

/// Returns the pairs of steps of different clients whose order on the host is unknown.
pub fn open_orders(draft: &ScenarioDraft) -> Vec<OpenOrder> {
    let mut found = Vec::new();
    let mut last: Option<usize> = None;
    for (second, step) in draft.steps.iter().enumerate() {
        if !acts(step) && step.get("send").is_none() {
            // A short delay does not order two frames; every other wait does.
            let pause =
                step.pointer("/rest/for").and_then(|pause| pause.as_str()?.strip_suffix("ms"));
            let pause = pause.and_then(|pause| pause.parse::<u64>().ok());
            let short = step.get("pause").is_some() || pause.is_some_and(|pause| pause < AFTER);
            last = last.filter(|_| short);
            continue;
        }
        let one = last.and_then(|first| Some((first, draft.steps.get(first)?)));
        if let Some((first, one)) = one.filter(|(_, one)| clients_of(one) != clients_of(step)) {
            found.push(OpenOrder { first, second, words: (said(one), said(step)) });
        }
        last = is_open(step).then_some(second);
    }
    found
}

/// Returns whether the conversation does not wait for the outcome of a step.
fn is_open(step: &Value) -> bool {
    let waits = ["request", "subscribe", "reconnect"].iter().any(|verb| step.get(verb).is_some());
    !waits && StepEnding::of(step).is_none()
}

/// Returns the description of a step for people: the client and its message.
fn said(step: &Value) -> String {
    let by = clients_of(step).join(" and ");
    let places = ["/action/type", "/method", "/json/method"];
    let members = verb_of(step).map(|(_, members)| members);
    let named = places.iter().find_map(|place| members?.pointer(place)?.as_str());
    let verb = verb_of(step).map(|(verb, _)| verb).unwrap_or_default();
    let what = named.unwrap_or(if verb == "turn" { "chat/turnStarted" } else { verb });
    format!("{by}'s `{what}`")
}

/// Returns the case with a certain order of two steps: the host has processed one before the other is sent.
/// Returns `None` if the order of the steps cannot be exchanged.
pub fn ordered(draft: &ScenarioDraft, order: &OpenOrder, exchanged: bool) -> Option<ScenarioDraft> {
    let mut steps = draft.steps.clone();
    let OpenOrder { first, second, .. } = *order;
    if exchanged {
        if draft.steps.get(first..second)?.iter().any(|it| feeds(it, &minted(&draft.steps[second])))
        {
            return None;
        }
        steps.swap(first, second);
    }
    steps.insert(second, json!({"rest": {"for": PROCESSED}}));
    let ordered = ScenarioDraft { steps, ..draft.clone() };
    ordered.scenario().is_ok().then_some(ordered)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arb::conditions::PlayConditions;
    use crate::arb::generate::ConversationGenerator;
    use crate::wire::version::Version;

    fn draft(steps: Vec<Value>) -> ScenarioDraft {
        ScenarioDraft {
            id: "fuzz/x".to_owned(),
            title: "x".to_owned(),
            since: Version::V1_0,
            clients: vec!["A".to_owned(), "B".to_owned()],
            approves: None,
            needs: Vec::new(),
            tested: None,
            steps,
        }
    }

    fn title(by: &str) -> Value {
        let action = json!({"type": "session/titleChanged", "title": by});
        json!({"dispatch": {"by": by, "channel": "${session}", "action": action, "accept": true}})
    }

    #[test]
    fn two_steps_of_different_clients_are_sent_together() {
        let open = json!({"open": {"by": ["A", "B"]}});
        let barrier = json!({"barrier": {"by": "A"}});
        let case = draft(vec![open, title("A"), barrier, title("B"), title("B")]);
        for seed in 0..40 {
            let raced = raced(&case, seed).unwrap();
            assert!(raced.draft.scenario().is_ok(), "{}", raced.draft.text());
            let steps = &raced.draft.steps[..raced.after];
            let dispatches: Vec<&Value> =
                steps.iter().filter(|step| step.get("dispatch").is_some()).collect();
            assert_eq!(dispatches.len(), 2, "{steps:?}");
            assert!(dispatches.iter().all(|step| step["dispatch"]["accept"].is_null()));
            assert!(steps.iter().all(|step| step.get("barrier").is_none()));
            assert!(raced.names.contains("session"));
            assert_eq!(open_orders(&raced.draft).len(), 1);
        }
    }

    #[test]
    fn steps_of_one_client_or_about_different_channels_are_no_race() {
        let open = json!({"open": {"by": ["A", "B"]}});
        let mut other = title("B");
        other["dispatch"]["channel"] = json!("${other}");
        assert!(raced(&draft(vec![open.clone(), title("A"), title("A")]), 1).is_none());
        assert!(raced(&draft(vec![open.clone(), title("A"), other]), 1).is_none());
        let mut bind = title("A");
        bind["dispatch"]["accept"] = json!({"serverSeq": "$bind session"});
        assert!(raced(&draft(vec![open, bind, title("B")]), 1).is_none(), "B needs A's outcome");
    }

    #[test]
    fn an_order_is_made_certain_both_ways() {
        let (mut one, mut other) = (title("A"), title("B"));
        one["dispatch"]["accept"] = Value::Null;
        other["dispatch"]["accept"] = Value::Null;
        for step in [&mut one, &mut other] {
            members_mut(step).unwrap().remove("accept");
        }
        let case = draft(vec![json!({"open": {"by": ["A", "B"]}}), one.clone(), other.clone()]);
        let orders = open_orders(&case);
        assert_eq!(orders[0].words.0, "A's `session/titleChanged`");
        let straight = ordered(&case, &orders[0], false).unwrap();
        let exchanged = ordered(&case, &orders[0], true).unwrap();
        assert_eq!((&straight.steps[1], &straight.steps[3]), (&one, &other));
        assert_eq!((&exchanged.steps[1], &exchanged.steps[3]), (&other, &one));
        assert!(open_orders(&draft(vec![title("A"), title("B")])).is_empty(), "A's is awaited");
    }

    #[test]
    fn many_generated_conversations_can_be_raced() {
        let generator = ConversationGenerator::new(Version::V1_0, 1, PlayConditions::FOREIGN);
        let all: Vec<_> = (0..60).filter_map(|number| generator.sequence(number)).collect();
        let raced: Vec<_> = all.iter().filter_map(|it| raced(&it.draft, it.seed)).collect();
        assert!(raced.len() * 3 > all.len(), "{} of {}", raced.len(), all.len());
        for one in raced {
            assert!(one.draft.scenario().is_ok(), "{}", one.draft.text());
        }
    }
}
