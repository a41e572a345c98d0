//! Laws that hold of states as they grow, in every version: what is finished stays, text only grows,
//! calls move along their table, the status is the one the turn calls for, ids stay apart, what
//! nobody knows survives, and a client that guesses ahead arrives where the host does.

#![expect(clippy::unwrap_used, reason = "helpers of a test fail by panicking")]

#[path = "common/cases.rs"]
mod cases;
#[path = "common/story.rs"]
mod story;

use std::collections::{HashSet, VecDeque};

use ahp_harness::model::tool_call::{TRANSITIONS, ToolCallStatus};
use ahp_harness::model::{Outcome, apply};
use ahp_harness::peer::mirror::Mirror;
use ahp_harness::wire::channel::ChannelKind;
use ahp_harness::wire::json::{Value, json};
use ahp_harness::wire::version::Version;
use cases::cases;
use proptest::prelude::*;
use story::{Story, act, stories, stories_of};

/// The channel that holds the turns of a version, drawn with one of its versions.
fn turns() -> impl Strategy<Value = Story> {
    let kind = prop_oneof![4 => Just(ChannelKind::Chat), 1 => Just(ChannelKind::Session)];
    kind.prop_flat_map(|kind| stories_of(Some(kind), false))
}

fn list<'a>(state: &'a Value, name: &str) -> &'a [Value] {
    state.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn named<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// The last part of an action's type, such as `turnStarted`.
fn deed(action: &Value) -> &str {
    named(action, "type").rsplit('/').next().unwrap_or_default()
}

/// The parts of a turn before and after an action: of the active one, or where it has gone.
fn parts_of<'a>(before: &'a Value, after: &'a Value) -> Option<(&'a [Value], &'a [Value])> {
    let turn = before.get("activeTurn").filter(|turn| turn.is_object())?;
    let same = |other: &&Value| other.get("id") == turn.get("id");
    let now = after.get("activeTurn").filter(same);
    let ended = list(after, "turns").last().filter(same);
    let ended = ended.filter(|_| list(after, "turns").len() > list(before, "turns").len());
    Some((list(turn, "responseParts"), list(now.or(ended)?, "responseParts")))
}

/// The activity that the parts of a state call for.
///
/// Source: the status model of the texts of 0.1.0, 0.2.0 and 1.0.0.
fn called_for(version: Version, state: &Value) -> u64 {
    let listed = version < Version::V0_6;
    let Some(turn) = state.get("activeTurn").filter(|turn| turn.is_object()) else {
        return if listed && !list(state, "inputRequests").is_empty() { 24 } else { 1 };
    };
    let waits = |part: &Value| match (named(part, "kind"), named(&part["toolCall"], "status")) {
        ("toolCall", "pending-confirmation" | "pending-result-confirmation") => true,
        ("toolCall", "auth-required") | ("inputRequest", _) if listed => false,
        ("toolCall", "auth-required") => true,
        ("inputRequest", _) => part["response"].is_null(),
        _ => false,
    };
    let asked = listed && !list(state, "inputRequests").is_empty();
    if asked || list(turn, "responseParts").iter().any(waits) { 24 } else { 8 }
}

fn status_mut(state: &mut Value) -> &mut Value {
    let holder = if state.get("summary").is_some() { &mut state["summary"] } else { state };
    &mut holder["status"]
}

fn status(state: &Value) -> u64 {
    let holder = state.get("summary").unwrap_or(state);
    holder["status"].as_u64().unwrap()
}

/// Whether a status is the one that can be derived, or the error that only the end of a turn tells.
fn consistent(version: Version, state: &Value) -> bool {
    let activity = status(state) & 31;
    let wanted = called_for(version, state);
    activity == wanted || (activity == 2 && wanted == 1)
}

/// The lists whose entries actions keep apart, and what tells the entries apart.
const APART: [(&str, &str); 12] = [
    ("queuedMessages", "id"),
    ("inputRequests", "id"),
    ("inputNeeded", "id"),
    ("activeClients", "clientId"),
    ("chats", "resource"),
    ("customizations", "id"),
    ("files", "id"),
    ("annotations", "id"),
    ("entries", "id"),
    ("entries", "resource"),
    ("backgroundWork", "id"),
    ("turns", "id"),
];

/// Whether every list of [`APART`] has each key once, and every set each text.
fn apart(state: &Value) -> bool {
    let once = |items: &[Value], key: &str| {
        let mut seen = HashSet::new();
        let keys = items.iter().filter_map(|item| item.get(key).and_then(Value::as_str));
        keys.into_iter().all(|key| seen.insert(key.to_owned()))
    };
    let sets = ["workingDirectories", "sessions"].iter().all(|set| {
        let mut seen = HashSet::new();
        list(state, set).iter().filter_map(Value::as_str).all(|text| seen.insert(text.to_owned()))
    });
    let threads = list(state, "annotations").iter().all(|item| once(list(item, "entries"), "id"));
    sets && threads && APART.iter().all(|(name, key)| once(list(state, name), key))
}

/// Gives every object a member that nobody knows.
fn mark(value: &mut Value, whose: &str) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| mark(item, whose)),
        Value::Object(members) => {
            members.values_mut().for_each(|member| mark(member, whose));
            members.insert(MARK, json!([whose, null]));
        }
        _ => {}
    }
}

const MARK: &str = "x-mark";

fn unmarked(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(unmarked).collect(),
        Value::Object(members) => {
            let known = members.iter().filter(|(name, _)| **name != *MARK);
            Value::Object(known.map(|(name, member)| (name.clone(), unmarked(member))).collect())
        }
        other => other.clone(),
    }
}

/// Whether a value came with the action, or was made around what did.
fn brought(value: &Value) -> bool {
    let parts = |value: &Value| match value {
        Value::Array(items) => items.iter().any(brought),
        Value::Object(members) => members.values().any(brought),
        _ => false,
    };
    match value.get(MARK) {
        Some(mark) => *mark == json!(["action", null]),
        None => parts(value),
    }
}

/// Members that an action makes from nothing but its type.
const MADE: [&str; 2] = ["lifecycle", "state"];

/// Whether everything that stands in `after` as it stood in `before` has kept its marks. What came
/// with the action has the action's, and counts as well.
fn kept(before: &Value, after: &Value) -> bool {
    if before == after || brought(after) {
        return true;
    }
    match (before, after) {
        (Value::Object(old), Value::Object(new)) => {
            let marked = unmarked(before) != unmarked(after) || old.get(MARK) == new.get(MARK);
            let free = |name: &str| name == MARK || MADE.contains(&name);
            let others = new.iter().filter(|(name, _)| !free(name));
            let kept = |name: &str, new: &Value| old.get(name).is_none_or(|old| kept(old, new));
            marked && others.into_iter().all(|(name, value)| kept(name, value))
        }
        (Value::Array(old), Value::Array(new)) => new.iter().all(|value| {
            let plain = unmarked(value);
            let like = |item: &&Value| unmarked(item) == plain;
            // Where there are more of a kind than before, some are new.
            let more = new.iter().filter(like).count() > old.iter().filter(like).count();
            more || old.iter().filter(like).any(|old| kept(old, value))
        }),
        _ => true,
    }
}

/// One action of a story, with the state before and after it.
struct Step<'a> {
    before: Value,
    action: &'a Value,
    outcome: Outcome,
    after: Value,
}

/// A story from a state, step by step; actions that are not wanted are left out.
fn steps<'a>(
    story: &'a Story,
    mut state: Value,
    wanted: impl Fn(&Value) -> bool,
) -> impl Iterator<Item = Step<'a>> {
    story.actions.iter().filter(move |action| wanted(action)).map(move |action| {
        let before = state.clone();
        let outcome = act(story, &mut state, action);
        Step { before, action, outcome, after: state.clone() }
    })
}

proptest! {
    #![proptest_config(cases(1_500))]

    /// A finished turn stays what it is; only truncation, loading and resuming change the list.
    #[test]
    fn finished_turns_stay(story in turns()) {
        for Step { before, action, after, .. } in steps(&story, story.state.clone(), |_| true) {
            if matches!(deed(action), "truncated" | "turnsLoaded" | "turnResume") {
                continue;
            }
            let (old, new) = (list(&before, "turns"), list(&after, "turns"));
            prop_assert!(new.starts_with(old), "{} changed finished turns", action);
        }
    }

    /// Text grows at its end, parts are appended, and what has come stays in its turn.
    #[test]
    fn text_only_grows(story in turns()) {
        for Step { before, action, after, .. } in steps(&story, story.state.clone(), |_| true) {
            if deed(action) == "turnStarted" {
                continue;
            }
            let Some((old, new)) = parts_of(&before, &after) else { continue };
            prop_assert!(new.len() >= old.len(), "{} took a part away", action);
            for (old, new) in old.iter().zip(new) {
                prop_assert_eq!(&old["kind"], &new["kind"]);
                let grown = named(new, "content").starts_with(named(old, "content"));
                prop_assert!(grown, "{} changed text: {} {}", action, old, new);
            }
        }
    }

    /// A tool call stands where it stood, or has taken one step of the table, or its turn ended.
    #[test]
    fn calls_move_along_the_table(story in turns()) {
        for Step { before, action, after, .. } in steps(&story, story.state.clone(), |_| true) {
            if deed(action) == "turnStarted" {
                continue;
            }
            let Some((old, new)) = parts_of(&before, &after) else { continue };
            let ended = after.get("activeTurn").is_none();
            let mut moved = 0;
            for (old, new) in old.iter().zip(new) {
                let (old, new) = (&old["toolCall"], &new["toolCall"]);
                let (from, to) = (named(old, "status"), named(new, "status"));
                prop_assert_eq!(&old["toolCallId"], &new["toolCallId"]);
                if from == to {
                    continue;
                }
                moved += 1;
                let from = ToolCallStatus::from_name(from).unwrap();
                let to = ToolCallStatus::from_name(to).unwrap();
                let cancelled = ended && to == ToolCallStatus::Cancelled && !from.is_final();
                let step = TRANSITIONS.iter().any(|row| row.from == Some(from) && row.to == to);
                prop_assert!(cancelled || (step && !ended), "{}: {:?} to {:?}", action, from, to);
            }
            prop_assert!(ended || moved <= 1, "{} moved several calls", action);
        }
    }

    /// A status that is the one the turn calls for stays so. A part that is brought ready made may
    /// wait unseen until the status is next derived.
    #[test]
    fn the_status_is_always_derivable(story in turns()) {
        let holds_turns = story.kind == ChannelKind::Chat || story.version < Version::V0_4;
        prop_assume!(holds_turns && story.state.get("turns").is_some());
        let mut state = story.state.clone();
        let activity = called_for(story.version, &state);
        *status_mut(&mut state) = json!(status(&story.state) & !31 | activity);
        let wanted = |action: &Value| !matches!(deed(action), "responsePart" | "ready");
        for Step { before, action, outcome, after } in steps(&story, state, wanted) {
            prop_assert!(consistent(story.version, &after), "{} {:?}: {}", action, outcome, after);
            let flags = (status(&before) ^ status(&after)) & !31;
            let may = match deed(action) {
                "turnStarted" | "inputRequested" | "turnResume" | "isReadChanged" => 32,
                "isArchivedChanged" => 64,
                _ => 0,
            };
            prop_assert_eq!(flags & !may, 0, "{} changed flags", action);
        }
    }

    /// Entries with different ids stay apart.
    #[test]
    fn ids_stay_apart(story in stories(false)) {
        prop_assume!(apart(&story.state));
        // A turn may have the id of a finished one, and a list that comes whole may be anything.
        let wanted = |action: &Value| {
            let free = ["turnComplete", "turnCancelled", "error", "turnsLoaded"];
            let whole = action.as_object().unwrap().values().any(|value| {
                value.is_array() || value.get("entries").is_some()
            });
            !free.contains(&deed(action)) && !whole
        };
        for Step { before, action, after, .. } in steps(&story, story.state.clone(), wanted) {
            prop_assert!(apart(&after), "{} on {}", action, before);
        }
    }

    /// What nobody knows changes nothing, and whatever an action leaves alone keeps it.
    #[test]
    fn what_nobody_knows_survives(story in stories(false)) {
        let mut plain = story.state.clone();
        let mut marked = story.state.clone();
        mark(&mut marked, "state");
        for action in &story.actions {
            let mut brought = action.clone();
            mark(&mut brought, "action");
            let before = marked.clone();
            let outcome = act(&story, &mut plain, action);
            prop_assert_eq!(act(&story, &mut marked, &brought), outcome, "{}", action);
            prop_assert_eq!(&unmarked(&marked), &plain, "{}", action);
            prop_assert!(kept(&before, &marked), "{} on {} left {}", action, before, marked);
        }
    }

    /// The same state, action and clock give the same, whatever else was folded in between, and the
    /// action is not touched.
    #[test]
    fn reducers_are_pure(one in stories(true), other in stories(true)) {
        let fold = |story: &Story| {
            let mut state = story.state.clone();
            let actions = story.actions.clone();
            let outcomes: Vec<_> =
                actions.iter().map(|action| act(story, &mut state, action)).collect();
            assert_eq!(actions, story.actions);
            (state.to_text(), outcomes)
        };
        let first = fold(&one);
        fold(&other);
        prop_assert_eq!(fold(&one), first);
    }

    /// A client applies its own actions at once. Whatever comes from others meanwhile, and whatever
    /// the host refuses: with the confirmed state rolled back and the pending actions played again,
    /// it ends where the host is, and on the way the confirmed state is the host's.
    #[test]
    fn guessing_ahead_ends_where_the_host_is(
        story in stories(false),
        order in proptest::collection::vec((any::<bool>(), any::<bool>(), any::<bool>()), 0..24),
    ) {
        let mut mirror = Mirror::new(story.version, story.kind, story.state.clone(), 0);
        let mut host = story.state.clone();
        let mut own: VecDeque<(u64, Value)> = VecDeque::new();
        let mut next = story.actions.iter().cycle();
        let (mut seq, mut sent) = (0, 0);
        let mut settle = |host: &mut Value, mirror: &mut Mirror, said: Value, reject: bool| {
            seq += 1;
            let mut envelope = said;
            envelope["serverSeq"] = json!(seq);
            if reject {
                envelope["rejectionReason"] = json!("no");
            } else {
                let _: Outcome = apply(story.version, story.kind, host, &envelope["action"]);
            }
            mirror.envelope("me", &envelope);
        };
        for (mine, echo, reject) in order {
            if mine {
                sent += 1;
                let action = next.next().unwrap().clone();
                mirror.dispatch(sent, action.clone());
                own.push_back((sent, action));
            } else if echo {
                let Some((number, action)) = own.pop_front() else { continue };
                let origin = json!({"clientId": "me", "clientSeq": number});
                settle(&mut host, &mut mirror, json!({"action": action, "origin": origin}), reject);
            } else {
                let origin = json!({"clientId": "other", "clientSeq": 1});
                let action = next.next().unwrap().clone();
                settle(&mut host, &mut mirror, json!({"action": action, "origin": origin}), false);
            }
            prop_assert_eq!(mirror.confirmed(), &host);
            let mut guess = host.clone();
            for (_, action) in &own {
                apply(story.version, story.kind, &mut guess, action);
            }
            prop_assert_eq!(mirror.optimistic(), guess);
        }
        while let Some((number, action)) = own.pop_front() {
            let origin = json!({"clientId": "me", "clientSeq": number});
            settle(&mut host, &mut mirror, json!({"action": action, "origin": origin}), false);
        }
        prop_assert_eq!(mirror.pending(), 0);
        prop_assert_eq!(&mirror.optimistic(), &host);
        prop_assert_eq!(mirror.confirmed(), &host);
    }
}
