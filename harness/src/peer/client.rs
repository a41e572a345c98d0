//! One AHP client, from handshake to close, and through reconnects.

use litemap::LiteMap;

use crate::wire::json::{Value, json};

use crate::edge::VersionEdge;
use crate::wire::channel::{ChannelKind, ROOT};
use crate::wire::message::{Message, MessageKind};
use crate::wire::protocol::Protocol;
use crate::wire::version::{ProtocolStandard, Version};

use super::mirror::ChannelMirror;

/// What a client knows. Pure: it neither reads a clock nor owns a socket.
///
/// Messages are made with [`request`](Self::request), [`notification`](Self::notification) and
/// [`dispatch`](Self::dispatch) and are the caller's to send; what comes is shown to
/// [`handle`](Self::handle). [`lost`](Self::lost) says that the connection is gone; what survives
/// it is what a client needs to come back. What it is asked for and what it tells are in the newest
/// words; its messages, and its mirrors, are in those of the version it speaks.
#[derive(Clone, Debug)]
pub struct ClientEngine {
    /// Its `clientId`.
    pub client_id: String,
    version: Option<Version>,
    next_id: u64,
    next_seq: u64,
    last_seen: u64,
    open: LiteMap<u64, PendingRequest>,
    channels: LiteMap<String, Option<ChannelMirror>>,
    mirrors: bool,
    edge: VersionEdge,
    /// Requests that it did not make itself, by their ids as JSON.
    foreign: LiteMap<String, PendingRequest>,
    standard: ProtocolStandard,
}

/// Requests of others that are remembered.
const MAX_FOREIGN: usize = 1_000;

/// A request that has not been answered.
#[derive(Clone, Debug)]
struct PendingRequest {
    method: String,
    channel: String,
    /// The client has left the channel since.
    left: bool,
}

impl ClientEngine {
    /// A client that has not connected. With `mirrors` it folds every channel it is subscribed to.
    pub fn new(client_id: impl Into<String>, mirrors: bool) -> ClientEngine {
        ClientEngine {
            client_id: client_id.into(),
            version: None,
            next_id: 1,
            next_seq: 1,
            last_seen: 0,
            open: LiteMap::new(),
            channels: LiteMap::new(),
            mirrors,
            edge: VersionEdge::new(Version::V1_0, ""),
            foreign: LiteMap::new(),
            standard: ProtocolStandard::Ahp,
        }
    }

    /// The same client, of a protocol.
    pub fn of(self, standard: ProtocolStandard) -> ClientEngine {
        ClientEngine { standard, ..self }
    }

    /// The same client in the words of a version, until it has agreed on another.
    pub fn speaking(self, edge: VersionEdge) -> ClientEngine {
        ClientEngine { edge, ..self }
    }

    /// A request that somebody else wrote goes out on its connection: its answer has to be read.
    pub fn sent(&mut self, message: &Message) {
        if let Some((id, method)) = message.id().zip(message.method())
            && self.foreign.len() < MAX_FOREIGN
        {
            let channel = message.params()["channel"].as_str().unwrap_or_default().to_owned();
            let asked = PendingRequest { method: method.to_owned(), channel, left: false };
            self.foreign.insert(id_text(id), asked);
        }
    }

    /// The words that it speaks.
    pub fn edge(&self) -> &VersionEdge {
        &self.edge
    }

    /// What it shows of a channel, its own pending actions included, in the newest words.
    pub fn shown(&self, channel: &str) -> Option<Value> {
        let mirror = self.mirror(channel)?;
        let state = mirror.optimistic();
        match self.edge.is_plain() {
            true => Some(state),
            false => Some(self.edge.lift_state(mirror.kind(), &state)),
        }
    }

    /// Keeps a mirror of every channel that it subscribes to from now on.
    pub fn keep_mirrors(&mut self) {
        self.mirrors = true;
    }

    /// The version that the host chose, once it has.
    pub fn version(&self) -> Option<Version> {
        self.version
    }

    /// The greatest `serverSeq` the client has seen, on its way in or in a snapshot.
    pub fn last_seen(&self) -> u64 {
        self.last_seen
    }

    /// The channels it is subscribed to.
    pub fn subscriptions(&self) -> impl Iterator<Item = &str> {
        self.channels.keys().map(String::as_str)
    }

    /// Whether it is subscribed to a channel.
    pub fn is_subscribed(&self, channel: &str) -> bool {
        self.channels.contains_key(channel)
    }

    /// What it made of a channel.
    pub fn mirror(&self, channel: &str) -> Option<&ChannelMirror> {
        self.channels.get(channel)?.as_ref()
    }

    /// The method of a request that has not been answered.
    pub fn awaits(&self, id: u64) -> Option<&str> {
        self.open.get(&id).map(|asked| asked.method.as_str())
    }

    /// A request with the next id. In AHP `params.channel` is the root channel unless given.
    pub fn request(&mut self, method: &str, mut params: Value) -> (u64, Message) {
        if let Some(params) =
            params.as_object_mut().filter(|_| self.standard == ProtocolStandard::Ahp)
        {
            params.entry("channel").or_insert_with(|| json!(ROOT));
        }
        // Who offers one version alone asks in its words.
        if method == "initialize"
            && let Some([only]) = params["protocolVersions"].as_array().map(Vec::as_slice)
            && let Some(version) = only.as_str().and_then(|text| text.parse().ok())
            && Protocol::of(version).is_some()
        {
            self.edge = self.edge.of(version);
        }
        let id = self.next_id;
        self.next_id += 1;
        let channel = params["channel"].as_str().unwrap_or_default().to_owned();
        self.open.insert(id, PendingRequest { method: method.to_owned(), channel, left: false });
        (id, self.edge.lower_message(Message::request(id, method, params)))
    }

    /// A notification. Unsubscribing takes effect for the client at once; the answer to a
    /// `subscribe` that is still on its way no longer means anything then.
    pub fn notification(&mut self, method: &str, params: Value) -> Message {
        if method == "unsubscribe"
            && let Some(channel) = params["channel"].as_str()
        {
            self.channels.remove(channel);
            let asked = self.open.iter_mut().map(|(_, asked)| asked);
            let asked = asked.filter(|a| a.method == "subscribe" && a.channel == channel);
            asked.for_each(|asked| asked.left = true);
        }
        self.edge.lower_message(Message::notification(method, params))
    }

    /// A dispatched action with the next `clientSeq`, or the given one; returns that number too.
    pub fn dispatch(&mut self, channel: &str, action: Value, seq: Option<u64>) -> (u64, Message) {
        let client_seq = seq.unwrap_or(self.next_seq);
        self.next_seq = self.next_seq.max(client_seq.saturating_add(1));
        let mut params = json!({"channel": channel, "clientSeq": client_seq});
        params["action"] = action;
        let message = self.edge.lower_message(Message::notification("dispatchAction", params));
        if let Some(Some(mirror)) = self.channels.get_mut(channel) {
            mirror.dispatch(client_seq, message.params()["action"].clone());
        }
        (client_seq, message)
    }

    /// The `reconnect` request that takes up where the client was.
    pub fn reconnect(
        &mut self,
        subscriptions: Option<Value>,
        last_seen: Option<Value>,
    ) -> (u64, Message) {
        // The list is the whole set that the client wants from now on.
        if let Some(Value::Array(listed)) = &subscriptions {
            self.channels.retain(|channel, _| listed.iter().any(|uri| uri == channel.as_str()));
        }
        let channels = self.channels.keys().map(|channel| json!(channel)).collect();
        let params = json!({
            "clientId": self.client_id,
            "lastSeenServerSeq": last_seen.unwrap_or_else(|| json!(self.last_seen)),
            "subscriptions": subscriptions.unwrap_or(channels),
        });
        self.request("reconnect", params)
    }

    /// The connection is gone: open requests will not be answered, pending actions are dropped.
    pub fn lost(&mut self) {
        self.open.clear();
        for mirror in self.channels.iter_mut().filter_map(|(_, mirror)| mirror.as_mut()) {
            mirror.forget_pending();
        }
    }

    /// A message came from the host. Returns it in the newest words, where it has others.
    pub fn handle(&mut self, message: &Message) -> Option<Message> {
        let answers = matches!(message.kind(), MessageKind::Success | MessageKind::Failure);
        let id = message.id().and_then(Value::as_u64).filter(|_| answers);
        let asked = id.and_then(|id| self.open.remove(&id));
        let foreign = || message.id().filter(|_| answers).map(id_text);
        let foreign = foreign().and_then(|id| self.foreign.remove(&id));
        let method = asked.as_ref().or(foreign.as_ref()).map(|asked| asked.method.as_str());
        let lifted = (!self.edge.is_plain()).then(|| self.edge.lift_message(message, method));
        // Whoever wrote the request, the client is subscribed.
        let asked = asked.or(foreign.filter(|asked| asked.method == "subscribe"));
        let told = lifted.as_ref().unwrap_or(message);
        if message.kind() == MessageKind::Notification && message.method() == Some("action") {
            self.envelope(told.params(), message.params());
        }
        if let (Some(asked), Some(result), Some(raw)) = (asked, told.result(), message.result()) {
            self.answered(&asked, result, raw);
        }
        lifted
    }

    /// Takes an envelope: as it is told here, and as it is to be folded.
    fn envelope(&mut self, envelope: &Value, raw: &Value) {
        let Some(channel) = envelope["channel"].as_str() else {
            return;
        };
        if let Some(seq) = envelope["serverSeq"].as_u64() {
            self.last_seen = self.last_seen.max(seq);
        }
        if let Some(Some(mirror)) = self.channels.get_mut(channel) {
            mirror.envelope(&self.client_id, raw);
        }
    }

    fn answered(&mut self, asked: &PendingRequest, result: &Value, raw: &Value) {
        match asked.method.as_str() {
            // Whatever version the agent answers with, it has shaken hands.
            "initialize" if self.standard == ProtocolStandard::Acp => {
                self.version = result["protocolVersion"].as_u64().map(|_| Version::ACP_1);
            }
            "initialize" => {
                self.version = result["protocolVersion"].as_str().and_then(|v| v.parse().ok());
                if let Some(version) = self.version {
                    self.edge = self.edge.of(version);
                }
                if let Some(seq) = result["serverSeq"].as_u64() {
                    self.last_seen = self.last_seen.max(seq);
                }
                self.snapshots(&result["snapshots"], &raw["snapshots"]);
            }
            "subscribe" if asked.left => {}
            "subscribe" => match result.get("snapshot") {
                Some(snapshot) => self.snapshot(snapshot, &raw["snapshot"]),
                None => {
                    self.channels.insert(asked.channel.clone(), None);
                }
            },
            "reconnect" => {
                if let Some(snapshots) = result["snapshots"].as_array() {
                    // What no snapshot is given of is no longer there.
                    let given = |uri: &str| snapshots.iter().any(|s| resource(s) == Some(uri));
                    self.channels.retain(|uri, _| given(uri));
                }
                self.snapshots(&result["snapshots"], &raw["snapshots"]);
                for missing in result["missing"].as_array().into_iter().flatten() {
                    if let Some(channel) = missing.as_str() {
                        self.channels.remove(channel);
                    }
                }
                let raw = raw["actions"].as_array().into_iter().flatten();
                for (envelope, raw) in result["actions"].as_array().into_iter().flatten().zip(raw) {
                    self.envelope(envelope, raw);
                }
            }
            _ => {}
        }
    }

    fn snapshots(&mut self, snapshots: &Value, raw: &Value) {
        let raw = raw.as_array().into_iter().flatten();
        let told = snapshots.as_array().into_iter().flatten();
        told.zip(raw).for_each(|(snapshot, raw)| self.snapshot(snapshot, raw));
    }

    /// A snapshot takes the place of what was confirmed. What the client dispatched meanwhile is
    /// still pending.
    fn snapshot(&mut self, snapshot: &Value, raw: &Value) {
        let Some(channel) = resource(snapshot) else {
            return;
        };
        let from_seq = snapshot["fromSeq"].as_u64().unwrap_or_default();
        self.last_seen = self.last_seen.max(from_seq);
        let kind = ChannelKind::of_uri(channel);
        let version = Some(self.version.unwrap_or_else(|| self.edge.protocol().version()));
        let before = self.channels.remove(channel).flatten();
        let mirror = match (self.mirrors, kind, version) {
            (true, Some(kind), Some(version)) => {
                let mirror = ChannelMirror::new(version, kind, raw["state"].clone(), from_seq);
                Some(mirror.after(before))
            }
            _ => None,
        };
        self.channels.insert(channel.to_owned(), mirror);
    }
}

/// An id as a text: `1.0` is `1`.
fn id_text(id: &Value) -> String {
    let whole = id.as_f64().filter(|float| float.fract() == 0.0 && float.abs() < EXACT);
    whole.map_or_else(|| id.to_string(), |float| format!("{float:.0}"))
}

/// Up to here a float is as exact as a whole number.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// The channel of a snapshot.
fn resource(snapshot: &Value) -> Option<&str> {
    snapshot["resource"].as_str().or(snapshot["channel"].as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SESSION: &str = "ahp-session:/s";

    fn answer(client: &mut ClientEngine, id: u64, result: Value) {
        client.handle(&Message::success(json!(id), result));
    }

    fn snapshot(title: &str) -> Value {
        json!({"resource": SESSION, "fromSeq": 1, "state": {"title": title, "status": 1}})
    }

    fn subscribed() -> ClientEngine {
        let mut client = ClientEngine::new("c", true);
        let (id, _) = client.request("subscribe", json!({"channel": SESSION}));
        answer(&mut client, id, json!({"snapshot": snapshot("a")}));
        client
    }

    #[test]
    fn keeps_pending_actions_over_a_snapshot() {
        let mut client = subscribed();
        let (id, _) = client.request("subscribe", json!({"channel": SESSION}));
        let retitled = json!({"type": "session/titleChanged", "title": "mine"});
        client.dispatch(SESSION, retitled, None);
        answer(&mut client, id, json!({"snapshot": snapshot("b")}));
        let mirror = client.mirror(SESSION).unwrap();
        assert_eq!((mirror.confirmed()["title"].as_str(), mirror.pending()), (Some("b"), 1));
        assert_eq!(mirror.optimistic()["title"], "mine");
    }

    #[test]
    fn stays_out_of_a_channel_that_it_left_before_the_answer() {
        let mut client = ClientEngine::new("c", true);
        let (id, _) = client.request("subscribe", json!({"channel": SESSION}));
        client.notification("unsubscribe", json!({"channel": SESSION}));
        answer(&mut client, id, json!({"snapshot": snapshot("a")}));
        assert!(!client.is_subscribed(SESSION));
    }

    #[test]
    fn leaves_what_no_snapshot_is_given_of() {
        let mut client = subscribed();
        client.lost();
        let (id, _) = client.reconnect(None, None);
        answer(&mut client, id, json!({"type": "snapshot", "snapshots": []}));
        assert!(!client.is_subscribed(SESSION));
    }
}
