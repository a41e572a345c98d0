//! The state of an AHP client, from the handshake to the close, including reconnects.

use litemap::LiteMap;

use crate::wire::json::{Value, json};

use crate::edge::VersionEdge;
use crate::wire::channel::{ChannelKind, ROOT};
use crate::wire::message::{Message, MessageKind};
use crate::wire::protocol::Protocol;
use crate::wire::version::{ProtocolStandard, Version};

use super::mirror::ChannelMirror;

/// The state of a client. The type is pure: it does not read a clock and does not own a socket.
///
/// [`request`](Self::request), [`notification`](Self::notification) and [`dispatch`](Self::dispatch) create
/// messages, which the caller sends. The caller passes received messages to [`handle`](Self::handle), and calls
/// [`lost`](Self::lost) at the end of a connection. After `lost`, the engine contains only the state that a client
/// needs for a reconnect. Arguments and results use the names of the newest version; messages and mirrors use those of
/// the negotiated version.
#[derive(Clone, Debug)]
pub struct ClientEngine {
    /// The `clientId` of the client.
    pub client_id: String,
    version: Option<Version>,
    next_id: u64,
    next_seq: u64,
    last_seen: u64,
    open: LiteMap<u64, PendingRequest>,
    channels: LiteMap<String, Option<ChannelMirror>>,
    mirrors: bool,
    edge: VersionEdge,
    /// The open requests that the caller created without this engine. The key is the id of the request as a string.
    foreign: LiteMap<String, PendingRequest>,
    standard: ProtocolStandard,
    /// Whether a connection of the client has ended and no handshake has succeeded since then.
    was_lost: bool,
}

/// The maximum number of open requests that the engine remembers although the caller created them without it.
const MAX_FOREIGN: usize = 1_000;

/// An open request.
#[derive(Clone, Debug)]
struct PendingRequest {
    method: String,
    channel: String,
    /// Whether the client has unsubscribed from the channel since it sent the request. If so, the response does not
    /// subscribe the client again.
    left: bool,
}

impl ClientEngine {
    /// Creates a client without a connection. With `mirrors`, the client keeps a mirror of every channel to which it is
    /// subscribed.
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
            edge: VersionEdge::new(Version::NEWEST, ""),
            foreign: LiteMap::new(),
            standard: ProtocolStandard::Ahp,
            was_lost: false,
        }
    }

    /// Sets the protocol: AHP or ACP.
    pub fn of(self, standard: ProtocolStandard) -> ClientEngine {
        ClientEngine { standard, ..self }
    }

    /// Sets the version of messages before the handshake has negotiated a version.
    pub fn speaking(self, edge: VersionEdge) -> ClientEngine {
        ClientEngine { edge, ..self }
    }

    /// Sets the id of the next request.
    pub fn number_from(&mut self, id: u64) {
        self.next_id = id;
    }

    /// Records a request that the caller created without the engine, so that [`handle`](Self::handle) recognises the
    /// response.
    pub fn sent(&mut self, message: &Message) {
        if let Some((id, method)) = message.id().zip(message.method())
            && self.foreign.len() < MAX_FOREIGN
        {
            let channel = message.params()["channel"].as_str().unwrap_or_default().to_owned();
            let asked = PendingRequest { method: method.to_owned(), channel, left: false };
            self.foreign.insert(id_text(id), asked);
        }
    }

    /// Returns the translation between the newest version and the version of the messages on the connection.
    pub fn edge(&self) -> &VersionEdge {
        &self.edge
    }

    /// Returns the state of a channel with the client's pending actions applied, in the newest version; `None` if the
    /// client has no mirror of the channel.
    pub fn shown(&self, channel: &str) -> Option<Value> {
        let mirror = self.mirror(channel)?;
        let state = mirror.optimistic();
        match self.edge.is_plain() {
            true => Some(state),
            false => Some(self.edge.lift_state(mirror.kind(), &state)),
        }
    }

    /// Keeps a mirror of every channel to which the client subscribes from now on.
    pub fn keep_mirrors(&mut self) {
        self.mirrors = true;
    }

    /// Returns the negotiated version; `None` before the handshake.
    pub fn version(&self) -> Option<Version> {
        self.version
    }

    /// Returns the highest `serverSeq` in the envelopes and snapshots received so far.
    pub fn last_seen(&self) -> u64 {
        self.last_seen
    }

    /// Returns the channels to which the client is subscribed.
    pub fn subscriptions(&self) -> impl Iterator<Item = &str> {
        self.channels.keys().map(String::as_str)
    }

    /// Returns whether the client is subscribed to a channel.
    pub fn is_subscribed(&self, channel: &str) -> bool {
        self.channels.contains_key(channel)
    }

    /// Returns the mirror of a channel; `None` if there is none.
    pub fn mirror(&self, channel: &str) -> Option<&ChannelMirror> {
        self.channels.get(channel)?.as_ref()
    }

    /// Returns the method of an open request; `None` if no request with this id is open.
    pub fn awaits(&self, id: u64) -> Option<&str> {
        self.open.get(&id).map(|asked| asked.method.as_str())
    }

    /// Creates a request with the next id. In AHP a missing `params.channel` becomes the root channel.
    pub fn request(&mut self, method: &str, mut params: Value) -> (u64, Message) {
        if let Some(params) =
            params.as_object_mut().filter(|_| self.standard == ProtocolStandard::Ahp)
        {
            params.entry("channel").or_insert_with(|| json!(ROOT));
        }
        // If the client offers only one version, it already sends `initialize` in that version.
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

    /// Creates a notification. An `unsubscribe` takes effect at once: the response to an earlier `subscribe` is
    /// ignored.
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

    /// Creates a dispatch with the next `clientSeq`, or with `seq`. Returns the dispatch and its number.
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

    /// Creates a `reconnect` request. By default, the request names the current subscriptions and the last seen
    /// `serverSeq`.
    pub fn reconnect(
        &mut self,
        subscriptions: Option<Value>,
        last_seen: Option<Value>,
    ) -> (u64, Message) {
        // The list of a `reconnect` replaces all subscriptions of the client.
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

    /// Handles the end of the connection: drops open requests and pending actions.
    pub fn lost(&mut self) {
        self.was_lost = true;
        self.open.clear();
        for mirror in self.channels.iter_mut().filter_map(|(_, mirror)| mirror.as_mut()) {
            mirror.forget_pending();
        }
    }

    /// Handles a message of the host. Returns the message translated to the newest version; `None` if the newest
    /// version was negotiated, so that no translation is needed.
    pub fn handle(&mut self, message: &Message) -> Option<Message> {
        let answers = matches!(message.kind(), MessageKind::Success | MessageKind::Failure);
        let id = message.id().and_then(Value::as_u64).filter(|_| answers);
        let asked = id.and_then(|id| self.open.remove(&id));
        let foreign = || message.id().filter(|_| answers).map(id_text);
        let foreign = foreign().and_then(|id| self.foreign.remove(&id));
        let method = asked.as_ref().or(foreign.as_ref()).map(|asked| asked.method.as_str());
        let lifted = (!self.edge.is_plain()).then(|| self.edge.lift_message(message, method));
        // A `subscribe` request that the caller created without the engine also subscribes this client.
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

    /// Handles an envelope: `envelope` is in the newest version, `raw` in the version on the wire.
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
            // The handshake of ACP is complete if the answer contains any version.
            "initialize" if self.standard == ProtocolStandard::Acp => {
                self.version = result["protocolVersion"].as_u64().map(|_| Version::ACP_1);
            }
            "initialize" => {
                // A new handshake, unlike `reconnect`, restores no subscription of an earlier connection.
                if std::mem::take(&mut self.was_lost) {
                    self.channels.clear();
                    self.last_seen = 0;
                }
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
                self.was_lost = false;
                if let Some(snapshots) = result["snapshots"].as_array() {
                    // A channel without a snapshot in the result no longer exists on the host.
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

    /// Replaces the confirmed state by a snapshot. Later actions of the client stay pending.
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

/// Returns the id of a request as a string; the number `1.0` becomes `1`.
fn id_text(id: &Value) -> String {
    let whole = id.as_f64().filter(|float| float.fract() == 0.0 && float.abs() < EXACT);
    whole.map_or_else(|| id.to_string(), |float| format!("{float:.0}"))
}

/// The limit up to which floating-point numbers represent all integers exactly.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Returns the channel of a snapshot.
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

    #[test]
    fn a_new_handshake_restores_no_subscription() {
        for (method, kept) in [("initialize", false), ("reconnect", true)] {
            let mut client = subscribed();
            client.lost();
            let (id, _) = client.request(method, json!({}));
            answer(&mut client, id, json!({"protocolVersion": "1.0.0", "serverSeq": 1}));
            assert_eq!(client.is_subscribed(SESSION), kept, "{method}");
        }
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
    fn leaves_channels_without_a_snapshot() {
        let mut client = subscribed();
        client.lost();
        let (id, _) = client.reconnect(None, None);
        answer(&mut client, id, json!({"type": "snapshot", "snapshots": []}));
        assert!(!client.is_subscribed(SESSION));
    }
}
