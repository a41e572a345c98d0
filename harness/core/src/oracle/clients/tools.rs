//! Checks which tool calls a client completes, and how often.
//!
//! Knows: dispatches, the states that clients have received. Never knows: the effect of tools.

use std::collections::HashMap;
use std::sync::Arc;

use crate::model::tool_call::ToolCallStatus;
use crate::transcript::ConnId;
use crate::wire::json::Value;

use crate::oracle::channel::ChannelId;
use crate::oracle::check::FindingSink;
use crate::oracle::members::{given, list, text};
use crate::oracle::step::{ActionDelivery, OracleStep};
use crate::oracle::tool_call::{find, owner};

use super::catalogue::Rule;
use super::{ClientFamily, ClientView, SentDispatch, dispatched};

/// Upper bound for the completions that are remembered.
const MAX_COMPLETED: usize = 16_384;

/// The completions of tool calls that clients have dispatched. The key consists of the client, the chat, the turn and
/// the call.
#[derive(Default)]
pub(super) struct ClientTools {
    completed: HashMap<CompletedCall, ToolCompletion>,
}

type CompletedCall = (Arc<str>, ChannelId, String, String);

/// The first completion of a call.
struct ToolCompletion {
    conn: ConnId,
    client_seq: i64,
    line: u64,
    /// Whether the host has accepted the completion and the client has received the echo.
    accepted: bool,
}

impl ClientFamily for ClientTools {
    fn step(&mut self, view: &ClientView<'_>, step: &OracleStep<'_>, out: &mut FindingSink) {
        match step {
            OracleStep::Dispatched { .. } => {
                let completes = dispatched(step).filter(|sent| sent.name == "toolCallComplete");
                let Some(sent) = completes else { return };
                let Some(call) = text(sent.action, "toolCallId") else { return };
                judge_status(view, &sent, call, out);
                self.once(view, &sent, call, out);
            }
            OracleStep::Envelope(delivery) => self.settled(view, delivery),
            OracleStep::Gap | OracleStep::Restarted => self.completed.clear(),
            _ => {}
        }
    }
}

impl ClientTools {
    /// Judges whether a client completes a call a second time.
    fn once(
        &mut self,
        view: &ClientView<'_>,
        sent: &SentDispatch<'_>,
        call: &str,
        out: &mut FindingSink,
    ) {
        let Some(client) = view.client() else { return };
        let turn = text(sent.action, "turnId").unwrap_or_default();
        let key = (Arc::clone(client), sent.channel, turn.to_owned(), call.to_owned());
        out.seen(Rule::ToolOnce);
        let conn = view.cx.now.conn;
        if let Some(first) = self.completed.get(&key) {
            // A client may repeat a completion that was lost when the client's connection ended.
            let repeats = first.accepted || first.conn == conn;
            if repeats && first.client_seq != sent.client_seq {
                let message = format!(
                    "expected one completion of the tool call `{call}`, found another from the \
                     same client"
                );
                out.broken(Rule::ToolOnce, message, &[first.line, view.line()]);
            }
            return;
        }
        if self.completed.len() < MAX_COMPLETED {
            let (client_seq, line) = (sent.client_seq, view.line());
            self.completed.insert(key, ToolCompletion { conn, client_seq, line, accepted: false });
        }
    }

    /// Records that the host has accepted or rejected a completion.
    fn settled(&mut self, view: &ClientView<'_>, delivery: &ActionDelivery<'_>) {
        let envelope = &delivery.envelope;
        let (Some(origin), Some(client)) = (envelope.origin, view.client()) else { return };
        if envelope.name != "toolCallComplete" || *origin.client_id != **client {
            return;
        }
        let turn = text(envelope.action, "turnId").unwrap_or_default();
        let call = text(envelope.action, "toolCallId").unwrap_or_default();
        let key = (Arc::clone(client), delivery.channel, turn.to_owned(), call.to_owned());
        match envelope.rejected {
            true => drop(self.completed.remove(&key)),
            false => {
                if let Some(completion) = self.completed.get_mut(&key) {
                    completion.accepted = true;
                }
            }
        }
    }
}

/// Judges whether the status of a tool call, as the client has received it, permits the completion.
fn judge_status(view: &ClientView<'_>, sent: &SentDispatch<'_>, call: &str, out: &mut FindingSink) {
    let Some(client) = view.client() else { return };
    let failed = given(sent.action, "result").and_then(|result| result.get("success"));
    let failed = failed.and_then(Value::as_bool) == Some(false);
    let known = |state: &Value| call_of(state, call).is_some();
    if view.told.every(view, sent.channel, known).is_none_or(|(all, _)| !all) {
        return;
    }
    let is = |holds: &dyn Fn(&Value, ToolCallStatus) -> bool| {
        view.told.every(view, sent.channel, |state| {
            let found = call_of(state, call);
            let status = found.and_then(|found| ToolCallStatus::from_name(text(found, "status")?));
            found.zip(status).is_some_and(|(found, status)| holds(found, status))
        })
    };
    let waits = is(&|_, status| status == ToolCallStatus::AuthRequired);
    if failed && waits.is_some_and(|(waits, _)| waits) {
        return;
    }
    out.seen(Rule::ToolOwner);
    out.seen(Rule::ToolCancelled);
    let line = view.line();
    let foreign = is(&|found, _| owner(found) != Some(&**client));
    if let Some((true, told)) = foreign {
        let message = format!(
            "expected `{client}` to complete only calls of its own tools, found the completion of \
             `{call}`"
        );
        out.broken(Rule::ToolOwner, message, &[told, line]);
    }
    let early = is(&|_, status| {
        matches!(status, ToolCallStatus::Streaming | ToolCallStatus::PendingConfirmation)
    });
    if let Some((true, told)) = early {
        let message = format!(
            "expected the tool call `{call}` to run before the client completes it, found it \
             waiting"
        );
        out.broken(Rule::ToolOwner, message, &[told, line]);
    }
    let cancelled = is(&|_, status| status == ToolCallStatus::Cancelled);
    if let Some((true, told)) = cancelled {
        let message = format!(
            "expected no completion of the tool call `{call}` after its cancellation, found one"
        );
        out.broken(Rule::ToolCancelled, message, &[told, line]);
    }
}

/// Returns the newest tool call with this id, in the active turn or in a finished turn.
fn call_of<'a>(state: &'a Value, call: &str) -> Option<&'a Value> {
    let active = given(state, "activeTurn").and_then(|turn| find(turn, call));
    active.or_else(|| list(state, "turns").iter().rev().find_map(|turn| find(turn, call)))
}
