//! The claims of a scenario about the state of a channel, either in a snapshot or in a client's own copy.
//!
//! Knows: states, patterns, and the decisions that are pending. Never knows: the source of a state.

use crate::model;
use crate::reducers::compare;
use crate::scenario::bind::NameBindings;
use crate::scenario::pattern::{PatternMismatch, ValuePattern, brief};
use crate::wire::channel::ChannelKind;
use crate::wire::json::Value;
use crate::wire::protocol::Protocol;
use crate::wire::trim::TrimType;

use super::case::{ScenarioCase, TaskWait, WaitProgress};
use super::failure::{FailureKind, StepFailure};
use super::task::PeerId;

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

impl ScenarioCase {
    /// Compares a client's own copy of a channel's state with a pattern. After a barrier with a marker, the client has
    /// received every message. After a barrier that used only `ping`, messages may still arrive. If the claim fails
    /// then, it waits for these messages unless `last` is set.
    pub(super) fn mirror(
        &mut self,
        step: Option<usize>,
        claim: MirrorClaim,
        last: bool,
    ) -> WaitProgress {
        let MirrorClaim { peer, channel, state, exact } = &claim;
        let (name, channel) = (self.name(*peer), channel.as_str().unwrap_or_default());
        let engine = self.clients.get(*peer).map(|peer| &peer.engine);
        let Some(own) = engine.and_then(|it| it.shown(channel)) else {
            let message = format!(
                "client `{name}`: expected a state of `{channel}`, the client is not subscribed to it"
            );
            return WaitProgress::Failed(self.failure_at(step, message));
        };
        match match_state(state, channel, &own, self.names.bindings(), *exact) {
            Ok(bound) => {
                self.names.bind(state, bound);
                self.observed(step);
                WaitProgress::Done
            }
            Err(_) if !last && !self.has_markers(*peer, channel) => {
                WaitProgress::Wait(TaskWait::Mirrored(claim))
            }
            Err(miss) => {
                let failure =
                    self.mismatch(step, &name, "own state", self.traffic.last_line(), &miss);
                WaitProgress::Failed(self.state_failure(failure, (state, channel), (&own, *exact)))
            }
        }
    }

    /// Returns the failure of a claim about a state. The failure is no evidence against the host if the host has asked
    /// again for the approval of a tool call and the claim would hold if that call were running. The scenario does not
    /// answer a repeated question.
    pub(super) fn state_failure(
        &self,
        mut failure: Box<StepFailure>,
        (pattern, channel): (&ValuePattern, &str),
        (state, exact): (&Value, bool),
    ) -> Box<StepFailure> {
        let Some(call) = self.decisions.asked_again(channel) else { return failure };
        let mut approved = state.clone();
        let parts = approved.pointer_mut("/activeTurn/responseParts").and_then(Value::as_array_mut);
        for part in parts.into_iter().flatten() {
            if part["toolCall"]["toolCallId"] == call {
                part["toolCall"]["status"] = "running".into();
            }
        }
        if match_state(pattern, channel, &approved, self.names.bindings(), exact).is_ok() {
            failure.kind = FailureKind::Trouble;
            failure.message = format!(
                "{}; the host requested the approval of `{call}` again, which the scenario does not answer",
                failure.message
            );
        }
        failure
    }
}
