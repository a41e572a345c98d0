//! The result of a client's step, read from the frames after it.
//!
//! Knows: the frames of a stage. Never knows: the moves that generate steps.
//!
//! Start at [`ClientStepResult`].

use crate::transcript::{ClosingSide, ConnectionEvent};
use crate::wire::json::Value;
use crate::wire::message::{Message, MessageKind};

use super::stage::PassedFrames;

/// The result of a client's step.
#[derive(Clone, Debug, PartialEq)]
pub enum ClientStepResult {
    /// The action came back accepted.
    Accepted,
    /// The action came back with a rejection reason.
    Rejected,
    /// The step got no response and no envelope.
    Nothing,
    /// The request got a result.
    Result(Value),
    /// The request got an error with this code.
    Error(i64),
    /// The host closed the connection.
    Closed,
}

/// One move in the log of a conversation: the action type or method, the deviation, and the result.
pub type ActionLogEntry = (String, &'static str, ClientStepResult);

/// Returns the name of a result.
pub fn word(came: &ClientStepResult) -> &'static str {
    match came {
        ClientStepResult::Accepted => "accepted",
        ClientStepResult::Rejected => "rejected",
        ClientStepResult::Nothing => "nothing",
        ClientStepResult::Result(_) => "result",
        ClientStepResult::Error(_) => "error",
        ClientStepResult::Closed => "closed",
    }
}

/// Returns the result of the last message that a client sent.
pub(super) fn came(passed: &[PassedFrames]) -> ClientStepResult {
    let sent = passed.iter().rposition(|it| matches!(it.event, ConnectionEvent::Sent(_)));
    let Some(at) = sent else { return ClientStepResult::Nothing };
    let PassedFrames { client, event: ConnectionEvent::Sent(seen), .. } = &passed[at] else {
        return ClientStepResult::Nothing;
    };
    let asked = seen.message();
    for PassedFrames { client: who, event, .. } in &passed[at + 1..] {
        match event {
            ConnectionEvent::Received(answer) if who == client => {
                if let Some(came) = answer.message().and_then(|answer| answers(asked, answer)) {
                    return came;
                }
            }
            ConnectionEvent::Closed { by: ClosingSide::Host, .. } if who == client => {
                return ClientStepResult::Closed;
            }
            _ => {}
        }
    }
    ClientStepResult::Nothing
}

fn answers(asked: Option<&Message>, answer: &Message) -> Option<ClientStepResult> {
    match answer.kind() {
        MessageKind::Success | MessageKind::Failure => {
            let same = asked.is_none_or(|asked| asked.id() == answer.id());
            let null = answer.id().is_none_or(Value::is_null);
            (same || null).then(|| match answer.error_code() {
                Some(code) => ClientStepResult::Error(code),
                None => ClientStepResult::Result(answer.result().cloned().unwrap_or_default()),
            })
        }
        MessageKind::Notification => {
            let params = answer.params();
            let seq = &asked?.params()["clientSeq"];
            let own = !seq.is_null() && params["origin"]["clientSeq"] == *seq;
            own.then(|| match params["rejectionReason"].is_null() {
                true => ClientStepResult::Accepted,
                false => ClientStepResult::Rejected,
            })
        }
        _ => None,
    }
}
