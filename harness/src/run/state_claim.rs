//! The claims of a scenario about the state of a channel, and the comparison of a state with them.
//!
//! Knows: states, patterns. Never knows: the source of a state, the case.
//!
//! Start at [`match_state`] and [`disagreement`].

use crate::model;
use crate::reducers::compare;
use crate::scenario::bind::NameBindings;
use crate::scenario::pattern::{PatternMismatch, ValuePattern, brief};
use crate::wire::channel::ChannelKind;
use crate::wire::json::Value;
use crate::wire::protocol::Protocol;
use crate::wire::trim::TrimType;

use super::case_peers::PeerId;

/// Returns a channel's state, reduced to the members that the newest version defines for its type, with canonical
/// timestamps. Copies of the same state may differ in other members and in the notation of timestamps.
fn known_members(channel: &str, state: &Value) -> Value {
    let Some(kind) = ChannelKind::of_uri(channel) else {
        return state.clone();
    };
    let of = |kind: ChannelKind| {
        let mut state = state.clone();
        Protocol::newest().canonical(TrimType::State(kind), &mut state);
        state
    };
    let mut known = of(kind);
    // Before 0.4.0, a session is also its only chat.
    if kind == ChannelKind::Session
        && state.get("turns").is_some()
        && let (Value::Object(members), Value::Object(chat)) = (&mut known, of(ChannelKind::Chat))
    {
        chat.into_iter().for_each(|(name, value)| drop(members.insert(name, value)));
    }
    known
}

/// Matches a channel's state against a pattern. If the state reduced to its known members does not match, the unchanged
/// state is tried.
pub(super) fn match_state(
    pattern: &ValuePattern,
    channel: &str,
    state: &Value,
    bindings: &NameBindings,
    exact: bool,
) -> Result<NameBindings, Box<PatternMismatch>> {
    let known = pattern.matches(Some(&known_members(channel, state)), bindings, exact);
    known.or_else(|_| pattern.matches(Some(state), bindings, exact))
}

/// The members of states that count as `false` if they are absent. Source: ChangesetFile.reviewed.
const FALSE_IF_ABSENT: &[&str] = &["/reviewed"];

/// The name with which a step refers to every member of a state.
const EVERY_MEMBER: &str = "*";

/// A difference between a client's own state and the state that the reducers compute.
#[derive(Clone, Debug)]
pub(super) struct StateDisagreement {
    /// The difference, as text for a message.
    pub(super) message: String,
    /// Whether the step tests the differing member.
    pub(super) is_named: bool,
}

/// Returns how a state differs from the expected one; `None` if they agree. An absent member is equal to null, and
/// members that the version does not define are ignored. If there are several differences, one at a member in `named`
/// is preferred.
pub(super) fn disagreement(
    protocol: Option<&'static Protocol>,
    channel: &str,
    (expected, found): (&Value, &Value),
    named: &[String],
) -> Option<StateDisagreement> {
    let known = |state: &Value| {
        let mut state = state.clone();
        if let Some((protocol, kind)) = protocol.zip(ChannelKind::of_uri(channel)) {
            protocol.canonical(TrimType::State(kind), &mut state);
        }
        state
    };
    let (expected, found) = (known(expected), known(found));
    let mut differences = compare::differences(&expected, &found);
    if protocol.is_some_and(|protocol| model::reads_clock(protocol.version())) {
        differences.retain(|it| !compare::STAMPED.contains(&it.path.as_str()));
    }
    differences.retain(|it| {
        let is_false = |value: &Option<Value>| matches!(value, None | Some(Value::Bool(false)));
        !(is_false(&it.ours)
            && is_false(&it.theirs)
            && FALSE_IF_ABSENT.iter().any(|name| it.path.ends_with(name)))
    });
    let is_named = |path: &str| {
        let member = path.split('/').nth(1).unwrap_or_default();
        path.is_empty() || named.iter().any(|it| it == member || it == EVERY_MEMBER)
    };
    let first = differences.iter().find(|it| is_named(&it.path)).or(differences.first())?;
    let shown = |value: &Option<Value>| value.as_ref().map_or("nothing".to_owned(), brief);
    let place = if first.path.is_empty() { "the whole state" } else { &first.path };
    let more = match differences.len() {
        1 => String::new(),
        more => format!(" (and {} more differences)", more - 1),
    };
    Some(StateDisagreement {
        message: format!(
            "`{place}` does not agree with the reducers: expected {}, found {}{more}",
            shown(&first.ours),
            shown(&first.theirs)
        ),
        is_named: is_named(&first.path),
    })
}

/// A claim about a client's own copy of a channel's state.
#[derive(Clone, Debug)]
pub(super) struct MirrorClaim {
    pub(super) peer: PeerId,
    pub(super) channel: Value,
    pub(super) state: ValuePattern,
    pub(super) exact: bool,
}

/// A claim about the state of the tested client.
#[derive(Clone, Debug)]
pub struct TestedStateClaim {
    /// The channel, after its template was filled in.
    pub channel: String,
    /// The pattern of the state.
    pub state: Option<ValuePattern>,
    /// The members of the state that the step tests in addition to those of the pattern.
    pub compares: Vec<String>,
    /// Whether objects must not have members beyond those of the pattern.
    pub exact: bool,
    /// Whether the optimistic state is compared, which includes pending actions, instead of the confirmed state.
    pub shown: bool,
    /// The number of pending actions.
    pub pending: Option<u64>,
}
