//! Finds the outcome of each message of a client: the response to a request, and the echo of a dispatch.
//!
//! Knows: ids and `clientSeq`s. Never knows: steps.
//!
//! Start at [`MessageOutcomes::of`].

use std::collections::HashMap;

use crate::transcript::{ConnId, ConnectionEvent, TranscriptEntry};
use crate::wire::json::Value;
use crate::wire::message::MessageKind;

use super::steps::{is_dispatch, shakes};

/// The outcomes of client messages. An outcome is the index of an entry of the transcript.
#[derive(Default)]
pub(super) struct MessageOutcomes {
    /// The index of the entry with the response, by the line of the request.
    pub(super) answers: HashMap<u64, usize>,
    /// The index of the entry with the echo or rejection, by the line of the dispatch.
    pub(super) echoes: HashMap<u64, usize>,
}

impl MessageOutcomes {
    pub(super) fn of(entries: &[TranscriptEntry]) -> MessageOutcomes {
        let mut outcomes = MessageOutcomes::default();
        let mut open: HashMap<(ConnId, String), u64> = HashMap::new();
        let mut sent: HashMap<(ConnId, i64), Vec<u64>> = HashMap::new();
        let mut ids: HashMap<ConnId, String> = HashMap::new();
        for (index, entry) in entries.iter().enumerate() {
            let message = match &entry.event {
                ConnectionEvent::Sent(seen) | ConnectionEvent::Received(seen) => seen.message(),
                _ => None,
            };
            let Some(message) = message else { continue };
            let id = message.id().map(Value::to_string).unwrap_or_default();
            match (&entry.event, message.kind()) {
                (ConnectionEvent::Sent(_), MessageKind::Request) => {
                    if let (true, Some(client)) =
                        (shakes(message), message.params()["clientId"].as_str())
                    {
                        ids.insert(entry.conn, client.to_owned());
                    }
                    open.insert((entry.conn, id), entry.line);
                }
                (ConnectionEvent::Received(_), MessageKind::Success | MessageKind::Failure) => {
                    if let Some(line) = open.remove(&(entry.conn, id)) {
                        outcomes.answers.insert(line, index);
                    }
                }
                // A dispatch before the handshake has no echo, because the `origin` of an echo contains the client's
                // identifier.
                (ConnectionEvent::Sent(_), MessageKind::Notification)
                    if is_dispatch(message.params()) && ids.contains_key(&entry.conn) =>
                {
                    let seq = message.params()["clientSeq"].as_i64().unwrap_or_default();
                    sent.entry((entry.conn, seq)).or_default().insert(0, entry.line);
                }
                (ConnectionEvent::Received(_), MessageKind::Notification) => {
                    let origin = &message.params()["origin"];
                    let own =
                        ids.get(&entry.conn).is_some_and(|id| origin["clientId"] == id.as_str());
                    let seq = origin["clientSeq"].as_i64().unwrap_or_default();
                    let line = own.then(|| sent.get_mut(&(entry.conn, seq)).and_then(Vec::pop));
                    if let Some(line) = line.flatten() {
                        outcomes.echoes.insert(line, index);
                    }
                }
                _ => {}
            }
        }
        outcomes
    }
}
