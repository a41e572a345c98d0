//! The states that a conforming client has after everything that a host sent to it, computed from the frames alone.
//!
//! The frames of one client are applied in order. A snapshot replaces a state. An action changes a state if its
//! `serverSeq` is above that of the snapshot and the action was not rejected. The client's own dispatches are pending
//! until the host accepts or rejects them. The state of a tested client is compared with the result.
//!
//! Knows: frames, reducers. Never knows: how a client is implemented.
//!
//! Start at [`ReceivedStates::sent`] and [`ReceivedStates::received`].

use litemap::LiteMap;

use crate::edge;
use crate::wire::channel::ChannelKind;
use crate::wire::json::Value;
use crate::wire::message::{Message, MessageKind, is_handshake};
use crate::wire::version::Version;

use super::mirror::ChannelMirror;

/// The maximum number of actions that are kept until the snapshot of their channel arrives.
const MAX_EARLY: usize = 10_000;
/// The maximum number of open requests that are remembered.
const MAX_OPEN: usize = 10_000;

/// An open request of the client.
#[derive(Clone, Debug)]
struct SentRequest {
    method: String,
    channel: String,
}

impl SentRequest {
    fn greets(&self) -> bool {
        is_handshake(&self.method)
    }
}

/// The states that a conforming client has.
#[derive(Clone, Debug, Default)]
pub struct ReceivedStates {
    client_id: String,
    version: Option<Version>,
    /// The requests without an answer, by the text of their id.
    open: LiteMap<String, SentRequest>,
    /// The channels that the client is subscribed to; `None` for a channel without a state.
    channels: LiteMap<String, Option<ChannelMirror>>,
    /// The envelopes that arrived before the snapshot of their channel.
    early: Vec<Value>,
    last_seen: u64,
    /// Whether a handshake of the client was answered, with a result or an error.
    is_greeted: bool,
}

impl ReceivedStates {
    /// Returns the id of the client; empty before its handshake.
    pub fn client_id(&self) -> &str {
        &self.client_id
    }

    /// Returns whether a handshake of the client was answered, with a result or an error.
    pub fn is_greeted(&self) -> bool {
        self.is_greeted
    }

    /// Returns the negotiated version; `None` before the handshake.
    pub fn version(&self) -> Option<Version> {
        self.version
    }

    /// Returns the highest `serverSeq` in the envelopes and snapshots that the client received.
    pub fn last_seen(&self) -> u64 {
        self.last_seen
    }

    /// Returns the client's mirror of a channel; `None` if the client has no state of the channel.
    pub fn channel(&self, uri: &str) -> Option<&ChannelMirror> {
        self.channels.get(uri)?.as_ref()
    }

    /// Returns the channels that the client is subscribed to.
    pub fn subscriptions(&self) -> impl Iterator<Item = &str> {
        self.channels.keys().map(String::as_str)
    }

    /// Handles a message that the client sent.
    pub fn sent(&mut self, message: &Message) {
        let params = message.params();
        let channel = channel_of(params);
        match (message.kind(), message.method()) {
            (MessageKind::Request, Some(method)) => {
                if is_handshake(method)
                    && let Some(id) = params["clientId"].as_str()
                {
                    id.clone_into(&mut self.client_id);
                }
                if let (Some(id), true) = (message.id(), self.open.len() < MAX_OPEN) {
                    let asked =
                        SentRequest { method: method.to_owned(), channel: channel.to_owned() };
                    self.open.insert(id.to_string(), asked);
                }
            }
            (MessageKind::Notification, Some("unsubscribe")) => {
                self.channels.remove(channel);
            }
            (MessageKind::Notification, Some("dispatchAction")) => {
                if let Some(Some(mirror)) = self.channels.get_mut(channel)
                    && let Some(seq) = params["clientSeq"].as_u64()
                {
                    mirror.dispatch(seq, params["action"].clone());
                }
            }
            _ => {}
        }
    }

    /// Handles a message that the host sent to the client.
    pub fn received(&mut self, message: &Message) {
        match message.kind() {
            MessageKind::Notification if message.method() == Some("action") => {
                self.envelope(message.params());
            }
            MessageKind::Success => {
                let id = message.id().map(Value::to_string).unwrap_or_default();
                if let Some((asked, result)) = self.open.remove(&id).zip(message.result()) {
                    self.answered(&asked, result);
                }
            }
            MessageKind::Failure => {
                let id = message.id().map(Value::to_string).unwrap_or_default();
                let asked = self.open.remove(&id);
                self.is_greeted |= asked.is_some_and(|asked| asked.greets());
            }
            _ => {}
        }
    }

    /// Handles the end of the client's connection.
    pub fn lost(&mut self) {
        self.open.clear();
        self.early.clear();
    }

    fn envelope(&mut self, envelope: &Value) {
        if let Some(seq) = envelope["serverSeq"].as_u64() {
            self.last_seen = self.last_seen.max(seq);
        }
        let channel = channel_of(envelope);
        match self.channels.get_mut(channel) {
            Some(Some(mirror)) => mirror.envelope(&self.client_id, envelope),
            Some(None) => {}
            None if self.early.len() < MAX_EARLY => self.early.push(envelope.clone()),
            None => {}
        }
    }

    fn answered(&mut self, asked: &SentRequest, result: &Value) {
        self.is_greeted |= asked.greets();
        match asked.method.as_str() {
            "initialize" => {
                self.version = result["protocolVersion"].as_str().and_then(|it| it.parse().ok());
                self.channels.clear();
                self.last_seen = result["serverSeq"].as_u64().unwrap_or_default();
                self.snapshots(&result["snapshots"]);
            }
            "subscribe" => match result.get("snapshot").filter(|it| it.is_object()) {
                Some(snapshot) => self.snapshot(snapshot),
                None => {
                    self.channels.insert(asked.channel.clone(), None);
                }
            },
            "reconnect" => self.reconnected(result),
            _ => {}
        }
    }

    /// Handles the result of `reconnect`. The result decides about the actions that were pending when the connection
    /// ended: the result contains those that the host has accepted, and the others are lost.
    ///
    /// Source: guide/reconciliation.md, reconnection.
    fn reconnected(&mut self, result: &Value) {
        for (_, mirror) in &mut self.channels {
            mirror.iter_mut().for_each(ChannelMirror::forget_pending);
        }
        if let Some(snapshots) = result["snapshots"].as_array() {
            let given = |uri: &str| snapshots.iter().any(|it| it["resource"] == uri);
            self.channels.retain(|uri, _| given(uri));
            self.snapshots(&result["snapshots"]);
        }
        for missing in result["missing"].as_array().into_iter().flatten() {
            self.channels.remove(missing.as_str().unwrap_or_default());
        }
        for envelope in result["actions"].as_array().into_iter().flatten() {
            self.envelope(envelope);
        }
    }

    fn snapshots(&mut self, snapshots: &Value) {
        for snapshot in snapshots.as_array().into_iter().flatten() {
            self.snapshot(snapshot);
        }
    }

    /// Replaces a state. Actions that arrived before the snapshot are applied if their `serverSeq` is above that of the
    /// snapshot. Pending actions stay pending.
    fn snapshot(&mut self, snapshot: &Value) {
        let Some(uri) = snapshot["resource"].as_str() else { return };
        let from_seq = snapshot["fromSeq"].as_u64().unwrap_or_default();
        self.last_seen = self.last_seen.max(from_seq);
        let kind =
            ChannelKind::of_uri(uri).or_else(|| edge::kind_of(snapshot["state"].as_object()?));
        let mirror = self.version.zip(kind).map(|(version, kind)| {
            let before = self.channels.remove(uri).flatten();
            ChannelMirror::new(version, kind, snapshot["state"].clone(), from_seq).after(before)
        });
        self.channels.insert(uri.to_owned(), mirror);
        let waiting = std::mem::take(&mut self.early).into_iter();
        let (early, rest): (Vec<Value>, Vec<Value>) =
            waiting.partition(|envelope| channel_of(envelope) == uri);
        self.early = rest;
        if let Some(Some(mirror)) = self.channels.get_mut(uri) {
            early.iter().for_each(|envelope| mirror.envelope(&self.client_id, envelope));
        }
    }
}

/// Returns the channel of params or of an envelope. Before 0.2.0, a subscription names its channel in `resource`, and
/// an action contains the URI of its channel.
fn channel_of(params: &Value) -> &str {
    let named = ["channel", "resource"].iter().find_map(|name| params[*name].as_str());
    edge::named_by(named, &params["action"]).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::json::json;

    const SESSION: &str = "ahp-session:/s";

    fn titled(seq: u64, title: &str, more: Value) -> Message {
        let mut params = json!({
            "channel": SESSION,
            "serverSeq": seq,
            "action": {"type": "session/titleChanged", "title": title},
        });
        for (name, value) in more.as_object().into_iter().flatten() {
            params[name.as_str()] = value.clone();
        }
        Message::notification("action", params)
    }

    fn subscribed(early: &[Message]) -> ReceivedStates {
        let mut states = ReceivedStates::default();
        let hello = json!({"clientId": "c", "protocolVersions": ["1.0.0"]});
        states.sent(&Message::request(1, "initialize", hello));
        let answer = json!({"protocolVersion": "1.0.0", "serverSeq": 3, "snapshots": []});
        states.received(&Message::success(json!(1), answer));
        states.sent(&Message::request(2, "subscribe", json!({"channel": SESSION})));
        early.iter().for_each(|message| states.received(message));
        let state = json!({"title": "snapshot", "status": 1});
        let snapshot = json!({"resource": SESSION, "fromSeq": 5, "state": state});
        states.received(&Message::success(json!(2), json!({"snapshot": snapshot})));
        states
    }

    fn title(states: &ReceivedStates) -> String {
        let mirror = states.channel(SESSION).unwrap();
        mirror.confirmed()["title"].as_str().unwrap().to_owned()
    }

    #[test]
    fn actions_before_the_snapshot_count_by_their_number() {
        let none = json!({});
        assert_eq!(title(&subscribed(&[titled(5, "old", none.clone())])), "snapshot");
        assert_eq!(title(&subscribed(&[titled(6, "new", none)])), "new");
    }

    #[test]
    fn rejected_and_old_actions_change_nothing() {
        let mut states = subscribed(&[]);
        states.received(&titled(6, "rejected", json!({"rejectionReason": "no"})));
        states.received(&titled(4, "old", json!({})));
        assert_eq!(title(&states), "snapshot");
        states.received(&titled(7, "new", json!({"origin": null})));
        assert_eq!((title(&states).as_str(), states.last_seen()), ("new", 7));
    }

    #[test]
    fn dispatches_are_pending_until_the_host_settles_them() {
        let mut states = subscribed(&[]);
        let action = json!({"type": "session/titleChanged", "title": "mine"});
        let dispatch = json!({"channel": SESSION, "clientSeq": 1, "action": action});
        states.sent(&Message::notification("dispatchAction", dispatch));
        let pending = |states: &ReceivedStates| states.channel(SESSION).unwrap().pending();
        states.received(&titled(6, "mine", json!({"origin": {"clientId": "d", "clientSeq": 1}})));
        assert_eq!(pending(&states), 1);
        states.received(&titled(7, "mine", json!({"origin": {"clientId": "c", "clientSeq": 1}})));
        assert_eq!(pending(&states), 0);
    }

    #[test]
    fn a_reconnect_with_snapshots_replaces_every_state() {
        let mut states = subscribed(&[]);
        states.lost();
        states.sent(&Message::request(1, "reconnect", json!({"clientId": "c"})));
        states.received(&Message::success(json!(1), json!({"type": "snapshot", "snapshots": []})));
        assert!(states.channel(SESSION).is_none());
    }
}
