//! Collects the values in a transcript by type: valid params, results, actions and states.
//!
//! Equal values are collected once. Invalid values are skipped: either a peer sent them on purpose, or a check reports
//! them when the transcript is judged.
//!
//! Knows: transcripts, the protocol tables. Never knows: subjects.
//!
//! Start at [`read`].

use std::collections::{HashMap, HashSet};
use std::io::BufRead;

use litemap::LiteMap;

use crate::transcript::reader::{CaptureUnreadable, TranscriptReader};
use crate::transcript::{ConnectionEvent, SeenFrame};
use crate::wire::channel::ChannelKind;
use crate::wire::json::Value;
use crate::wire::message::{Message, MessageKind};
use crate::wire::protocol::Protocol;
use crate::wire::validate::MessageOrigin;

/// The maximum number of values per type.
const MAX_VALUES: usize = 20_000;
/// The maximum number of unanswered requests that are remembered.
const MAX_OPEN: usize = 100_000;

/// The values in a transcript, by type.
#[derive(Clone, Debug, Default)]
pub struct TranscriptTypes {
    /// The values by the name of their type; an action is listed under the `type` of the action.
    pub values: LiteMap<String, Vec<Value>>,
    /// The number of valid messages.
    pub messages: u64,
    /// The number of invalid messages, including messages of methods that the version does not have.
    pub misshapen: u64,
}

#[derive(Default)]
struct TypeReading {
    said: TranscriptTypes,
    seen: HashSet<(String, String)>,
    /// The methods of the requests without a response so far. The key consists of the connection, the sender and the
    /// id.
    open: HashMap<(String, bool, String), String>,
}

/// Reads a transcript of a version.
///
/// # Errors
/// Returns an error if a line is invalid.
pub fn read(
    protocol: &Protocol,
    input: impl BufRead,
) -> Result<TranscriptTypes, CaptureUnreadable> {
    let mut reader = TranscriptReader::new(input);
    let mut reading = TypeReading::default();
    while let Some((_, line)) = reader.next_event()? {
        let conn = format!("{:?} {}", line.case, line.conn);
        let (sender, seen): (MessageOrigin, &SeenFrame) = match &line.event {
            ConnectionEvent::Sent(seen) => (MessageOrigin::Client, seen),
            ConnectionEvent::Received(seen) => (MessageOrigin::Host, seen),
            _ => continue,
        };
        match seen.message() {
            Some(message) => reading.message(protocol, conn, sender, message),
            None => reading.said.misshapen += 1,
        }
    }
    Ok(reading.said)
}

impl TypeReading {
    fn message(
        &mut self,
        protocol: &Protocol,
        conn: String,
        sender: MessageOrigin,
        message: &Message,
    ) {
        let from_client = sender == MessageOrigin::Client;
        let id = message.id().map(Value::to_string).unwrap_or_default();
        let answers = match message.kind() {
            MessageKind::Request => {
                if let Some(method) = message.method().filter(|_| self.open.len() < MAX_OPEN) {
                    self.open.insert((conn, from_client, id), method.to_owned());
                }
                None
            }
            MessageKind::Notification => None,
            _ => self.open.remove(&(conn, !from_client, id)),
        };
        let method = answers.as_deref().or(message.method());
        let row = method.and_then(|method| protocol.method(method));
        let sound = protocol.check_message(message, sender, answers.as_deref()).is_empty();
        let Some(row) = row.filter(|_| sound) else {
            self.said.misshapen += 1;
            return;
        };
        self.said.messages += 1;
        match (answers.is_some(), message.result()) {
            (true, Some(result)) => {
                if let Some(name) = &row.result_type {
                    self.keep(protocol, name, result);
                }
                self.snapshots(protocol, result);
            }
            (true, None) => {}
            (false, _) => {
                self.keep(protocol, &row.params_type, message.params());
                if let Some(action) = message.params().get("action") {
                    self.action(protocol, action);
                }
            }
        }
    }

    fn action(&mut self, protocol: &Protocol, action: &Value) {
        let name = action.get("type").and_then(Value::as_str).unwrap_or_default();
        if protocol.action(name).is_some() {
            self.put(name, action);
        }
    }

    /// Collects the states in the snapshots of a result, and the actions in the replay of a result.
    fn snapshots(&mut self, protocol: &Protocol, result: &Value) {
        let list = |name: &str| result[name].as_array().map(Vec::as_slice).unwrap_or_default();
        let one = result.get("snapshot").into_iter();
        for snapshot in one.chain(list("snapshots")) {
            let kind = snapshot["resource"].as_str().and_then(ChannelKind::of_uri);
            if let (Some(kind), Some(state)) = (kind, snapshot.get("state")) {
                self.keep(protocol, kind.state_type(), state);
            }
        }
        for envelope in list("actions") {
            self.keep(protocol, "ActionEnvelope", envelope);
            self.action(protocol, &envelope["action"]);
        }
    }

    fn keep(&mut self, protocol: &Protocol, name: &str, value: &Value) {
        let named = name.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if named && protocol.has_type(name) {
            self.put(name, value);
        }
    }

    fn put(&mut self, name: &str, value: &Value) {
        if self.seen.insert((name.to_owned(), value.to_string())) {
            let values = self.said.values.entry(name.to_owned()).or_default();
            if values.len() < MAX_VALUES {
                values.push(value.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::version::Version;

    #[test]
    fn valid_values_are_kept_once() {
        let text = [
            r#"{"t":0,"conn":"A","dir":"open"}"#,
            r#"{"t":0,"conn":"A","dir":"c2s","msg":{"jsonrpc":"2.0","id":1,"method":"subscribe","params":{"channel":"ahp-root://"}}}"#,
            r#"{"t":0,"conn":"A","dir":"c2s","msg":{"jsonrpc":"2.0","id":2,"method":"subscribe","params":{"channel":7}}}"#,
            r#"{"t":0,"conn":"A","dir":"s2c","msg":{"jsonrpc":"2.0","id":1,"result":{"snapshot":{"resource":"ahp-root://","state":{"agents":[]},"fromSeq":0}}}}"#,
            r#"{"t":0,"conn":"A","dir":"s2c","msg":{"jsonrpc":"2.0","method":"action","params":{"channel":"ahp-root://","serverSeq":1,"action":{"type":"root/activeSessionsChanged","activeSessions":1}}}}"#,
            r#"{"t":0,"conn":"A","dir":"s2c","msg":{"jsonrpc":"2.0","method":"action","params":{"channel":"ahp-root://","serverSeq":2,"action":{"type":"root/activeSessionsChanged","activeSessions":1}}}}"#,
        ];
        let protocol = Protocol::of(Version::V0_2).unwrap();
        let said = read(protocol, text.join("\n").as_bytes()).unwrap();
        let kept: Vec<_> =
            said.values.iter().map(|(name, all)| (name.as_str(), all.len())).collect();
        let expected = [
            ("ActionEnvelope", 2),
            ("RootState", 1),
            ("SubscribeParams", 1),
            ("SubscribeResult", 1),
            ("root/activeSessionsChanged", 1),
        ];
        assert_eq!(kept, expected);
        assert_eq!((said.messages, said.misshapen), (4, 1));
    }
}
