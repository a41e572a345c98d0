//! One client of a simulation, with bookkeeping that is independent of the client engine under test: the client's
//! requests, its dispatches, and the expected states of its channels.

use std::collections::{BTreeMap, BTreeSet};

use ahp_harness::model;
use ahp_harness::peer::client::ClientEngine;
use ahp_harness::transcript::ConnId;
use ahp_harness::wire::channel::ChannelKind;
use ahp_harness::wire::json::Value;
use ahp_harness::wire::message::{Message, MessageKind};
use ahp_harness::wire::version::Version;

/// One client of a simulation.
pub struct ClientSeat {
    /// The engine under test.
    pub engine: ClientEngine,
    /// The version that the client offers.
    pub offer: &'static str,
    /// The connection, if the client is connected.
    pub conn: Option<ConnId>,
    /// Whether the handshake of the connection is complete.
    pub ready: bool,
    /// The delays of frames to the host and back, in milliseconds.
    pub lag: (u64, u64),
    /// The unanswered requests.
    pub asked: BTreeMap<u64, SeatRequest>,
    /// The channels to which the client is subscribed according to the host, once all messages in transit have arrived.
    pub wanted: BTreeSet<String>,
    /// The dispatches, by `clientSeq`.
    sent: BTreeMap<u64, SeatDispatch>,
    channels: BTreeMap<String, ShadowChannel>,
    /// The `serverSeq` of the last envelope on the connection.
    seq: u64,
}

/// An unanswered request.
pub struct SeatRequest {
    /// The method.
    pub method: String,
    /// The channel of a `subscribe`; empty if the client has unsubscribed in the meantime.
    pub channel: String,
}

struct SeatDispatch {
    /// Whether an echo must arrive: the client is subscribed to the channel, and the connection still exists.
    due: bool,
    settled: u32,
}

/// The expected states of a channel, computed from its snapshot and all later actions.
struct ShadowChannel {
    kind: ChannelKind,
    start: Value,
    accepted: Vec<Value>,
    confirmed: Value,
    pending: Vec<(u64, Value)>,
}

impl ClientSeat {
    pub fn new(name: &str, offer: &'static str) -> ClientSeat {
        ClientSeat {
            engine: ClientEngine::new(name, true),
            offer,
            conn: None,
            ready: false,
            lag: (0, 0),
            asked: BTreeMap::new(),
            wanted: BTreeSet::new(),
            sent: BTreeMap::new(),
            channels: BTreeMap::new(),
            seq: 0,
        }
    }

    pub fn version(&self) -> Version {
        self.offer.parse().unwrap()
    }

    /// Returns the client's optimistic state of a channel; null if the client is not subscribed to the channel.
    pub fn optimistic(&self, channel: &str) -> Value {
        self.engine.mirror(channel).map_or(Value::Null, |mirror| mirror.optimistic())
    }

    /// Records a dispatch of the client. `sure` says that the channel cannot disappear before the host answers the
    /// dispatch.
    pub fn dispatched(&mut self, seq: u64, channel: &str, action: &Value, sure: bool) {
        let due = sure && self.wanted.contains(channel);
        let before = self.sent.insert(seq, SeatDispatch { due, settled: 0 });
        assert!(before.is_none(), "clientSeq {seq} is used twice");
        if let Some(shadow) = self.channels.get_mut(channel) {
            shadow.pending.push((seq, action.clone()));
        }
        self.check(channel);
    }

    /// Records that the client unsubscribed from a channel.
    pub fn left(&mut self, channel: &str) {
        self.wanted.remove(channel);
        self.channels.remove(channel);
        for asked in self.asked.values_mut().filter(|asked| asked.channel == channel) {
            asked.channel.clear();
        }
        assert!(!self.engine.is_subscribed(channel));
    }

    /// Records that the connection has ended.
    pub fn lost(&mut self) {
        self.engine.lost();
        (self.conn, self.ready) = (None, false);
        self.asked.clear();
        self.sent.values_mut().for_each(|dispatched| dispatched.due = false);
        for shadow in self.channels.values_mut() {
            shadow.pending.clear();
        }
        self.check_all();
    }

    /// Accepts a message from the host, and returns the method of the request that it answers.
    pub fn take(&mut self, message: &Message) -> Option<String> {
        self.engine.handle(message);
        let answered = match message.kind() {
            MessageKind::Success | MessageKind::Failure => {
                let id = message.id().and_then(Value::as_u64);
                Some(id.and_then(|id| self.asked.remove(&id)).expect("nobody asked for this"))
            }
            _ => None,
        };
        match (&answered, message.result()) {
            (Some(asked), Some(result)) => self.answered(asked, result),
            (Some(asked), None) => {
                let error = message.value();
                assert!(!matches!(asked.method.as_str(), "initialize" | "reconnect"), "{error}");
                // A refused `subscribe` to a new channel leaves no subscription.
                if asked.method == "subscribe" && !self.channels.contains_key(&asked.channel) {
                    self.wanted.remove(&asked.channel);
                }
            }
            _ if message.method() == Some("action") => self.envelope(message.params()),
            _ => {}
        }
        self.check_all();
        answered.map(|asked| asked.method)
    }

    fn answered(&mut self, asked: &SeatRequest, result: &Value) {
        let all = |name: &str| result[name].as_array().cloned().unwrap_or_default();
        match asked.method.as_str() {
            "subscribe" if asked.channel.is_empty() => {}
            "subscribe" => self.snapshot(&result["snapshot"]),
            "initialize" => {
                self.ready = true;
                self.seq = result["serverSeq"].as_u64().unwrap();
                all("snapshots").iter().for_each(|snapshot| self.snapshot(snapshot));
            }
            "reconnect" => {
                self.ready = true;
                let replay = result["type"] == "replay";
                let (snapshots, missing) = (all("snapshots"), all("missing"));
                let gone = |uri: &String| match replay {
                    true => missing.iter().any(|missing| missing == uri),
                    false => snapshots.iter().all(|snapshot| snapshot["resource"] != *uri),
                };
                self.wanted.retain(|uri| !gone(uri));
                self.channels.retain(|uri, _| !gone(uri));
                snapshots.iter().for_each(|snapshot| self.snapshot(snapshot));
                all("actions").iter().for_each(|envelope| self.envelope(envelope));
            }
            _ => {}
        }
    }

    fn snapshot(&mut self, snapshot: &Value) {
        let uri = snapshot["resource"].as_str().unwrap();
        let before = self.channels.remove(uri);
        let from = snapshot["fromSeq"].as_u64().unwrap();
        assert!(from >= self.seq, "a snapshot of {from} after {}", self.seq);
        self.seq = from;
        let shadow = ShadowChannel {
            kind: ChannelKind::of_uri(uri).unwrap(),
            start: snapshot["state"].clone(),
            accepted: Vec::new(),
            confirmed: snapshot["state"].clone(),
            pending: before.map(|shadow| shadow.pending).unwrap_or_default(),
        };
        self.channels.insert(uri.to_owned(), shadow);
    }

    fn envelope(&mut self, envelope: &Value) {
        let seq = envelope["serverSeq"].as_u64().unwrap();
        let own = envelope["origin"]["clientId"] == self.engine.client_id.as_str();
        let own = own.then(|| envelope["origin"]["clientSeq"].as_u64().unwrap());
        if let Some(own) = own {
            let dispatched = self.sent.get_mut(&own).expect("nobody dispatched this");
            dispatched.settled += 1;
            assert_eq!(dispatched.settled, 1, "settled twice: {envelope}");
        }
        let uri = envelope["channel"].as_str().unwrap();
        let version = self.version();
        if let (Some(own), Some(shadow)) = (own, self.channels.get_mut(uri)) {
            shadow.pending.retain(|(pending, _)| *pending != own);
        }
        if envelope.get("rejectionReason").is_some() {
            assert!(own.is_some(), "somebody else's rejection: {envelope}");
            return;
        }
        assert!(seq > self.seq, "{seq} after {}", self.seq);
        self.seq = seq;
        if let Some(shadow) = self.channels.get_mut(uri) {
            let action = &envelope["action"];
            model::apply(version, shadow.kind, &mut shadow.confirmed, action);
            shadow.accepted.push(action.clone());
        }
    }

    fn check_all(&self) {
        for uri in self.channels.keys() {
            self.check(uri);
        }
        let followed: BTreeSet<&str> = self.engine.subscriptions().collect();
        assert_eq!(followed, self.channels.keys().map(String::as_str).collect());
    }

    /// Checks that the engine's state of a channel is the confirmed state with the client's pending actions
    /// applied in order.
    fn check(&self, uri: &str) {
        let (Some(shadow), Some(mirror)) = (self.channels.get(uri), self.engine.mirror(uri)) else {
            return;
        };
        let name = &self.engine.client_id;
        assert_eq!(mirror.confirmed(), &shadow.confirmed, "confirmed of {uri} at {name}");
        assert_eq!(mirror.pending(), shadow.pending.len(), "pending of {uri} at {name}");
        let mut expected = shadow.confirmed.clone();
        for (_, action) in &shadow.pending {
            model::apply(self.version(), shadow.kind, &mut expected, action);
        }
        assert_eq!(mirror.optimistic(), expected, "optimistic of {uri} at {name}");
    }

    /// Checks the client when no message is in transit: every request is answered, and every dispatch is settled. Each
    /// state must be the result of its snapshot and the accepted actions, regardless of rejections in between. `exists`
    /// returns whether a channel still exists.
    pub fn check_at_rest(&self, exists: impl Fn(&str) -> bool) {
        let name = &self.engine.client_id;
        if !self.ready {
            return;
        }
        assert_eq!(self.asked.len(), 0, "{name} was not answered");
        for (seq, dispatched) in self.sent.iter().filter(|(_, dispatched)| dispatched.due) {
            assert_eq!(dispatched.settled, 1, "{name}'s dispatch {seq} was not settled");
        }
        for (uri, shadow) in &self.channels {
            let mirror = self.engine.mirror(uri).unwrap();
            let mut state = shadow.start.clone();
            for action in &shadow.accepted {
                model::apply(self.version(), shadow.kind, &mut state, action);
            }
            assert_eq!(mirror.confirmed(), &state, "{uri} at {name}");
            if exists(uri) {
                assert_eq!(mirror.pending(), 0, "pending of {uri} at {name}");
                assert_eq!(&mirror.optimistic(), mirror.confirmed());
            }
        }
    }
}
