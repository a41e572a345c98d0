//! The handshakes of the client: `initialize` and `reconnect`, and the effects of their results on the client's state.
//!
//! Knows: handshakes, the client's parts. Never knows: how a connection is opened.
//!
//! Start at [`ReferenceClient::greet`].

use crate::wire::channel::ROOT;
use crate::wire::error_code::ErrorName;
use crate::wire::json::{Value, json};

use super::fault::{self, Fault};
use super::{ClientOutput, ConnectionPhase, MAX_ATTEMPTS, ReferenceClient, RequestReason};

impl ReferenceClient {
    /// Begins the handshake of a new connection.
    pub(super) fn greet(&mut self) {
        self.phase = ConnectionPhase::Greeting;
        let was_lost = self.next_conn > 1 && self.next_id <= 2 && self.states.version().is_none();
        let resumes = self.resumes && !self.config.begins_anew;
        if resumes || was_lost && self.has(Fault::ResumesUnopened) {
            let params = json!({
                "channel": ROOT,
                "clientId": self.client_id,
                "lastSeenServerSeq": self.states.last_seen(),
                "subscriptions": self.wanted,
            });
            self.request(RequestReason::Handshake, "reconnect", params);
        } else {
            let params = json!({
                "channel": ROOT,
                "protocolVersions": self.offers,
                "clientId": self.client_id,
                "clientInfo": {"name": "ahp-harness", "version": env!("CARGO_PKG_VERSION")},
                "initialSubscriptions": self.initial,
            });
            self.request(RequestReason::Handshake, "initialize", params);
        }
    }

    /// Handles the outcome of a handshake.
    pub(super) fn shook_hands(&mut self, method: &str, outcome: Result<Value, Value>) {
        match (method, outcome) {
            ("initialize", Ok(result)) => self.initialized(&result),
            ("initialize", Err(error)) => self.refused_handshake(&error),
            (_, Ok(result)) => self.reconnected(&result),
            // The host no longer knows the client, so the client starts with a new `initialize`.
            (_, Err(_)) => {
                self.resumes = false;
                self.greet();
            }
        }
    }

    fn initialized(&mut self, result: &Value) {
        let version = result["protocolVersion"].as_str().unwrap_or_default();
        let strange = self.has(Fault::NewMembersClose) && fault::is_new(result)
            || self.has(Fault::NewMetaCloses) && fault::is_new(&result["_meta"]);
        if strange {
            self.close();
            self.give_up("the result has an unknown member");
            return;
        }
        let offered = self.offers.iter().any(|it| it == version);
        if !offered && !self.has(Fault::UnofferedTaken) {
            self.close();
            self.give_up("the host chose a version that was not offered");
            return;
        }
        if let Ok(version) = version.parse() {
            self.edge = self.edge.of(version);
        }
        self.has_automations = result["automations"].is_object();
        self.typing.greeted(result);
        self.logs.greeted(result);
        let again = self.resumes || !self.wanted.is_empty();
        for snapshot in result["snapshots"].as_array().into_iter().flatten() {
            if let Some(channel) = snapshot["resource"].as_str() {
                let channel = channel.to_owned();
                self.want(&channel);
            }
        }
        self.ready(version);
        if again {
            let missing: Vec<String> = self.wanted.clone();
            for channel in missing {
                if self.states.channel(&channel).is_none() {
                    let params = json!({"channel": channel});
                    self.request(RequestReason::Restored, "subscribe", params);
                }
            }
            self.list_again();
        } else if self.config.lists_unasked {
            self.list_unasked();
        }
    }

    fn refused_handshake(&mut self, error: &Value) {
        let supported: Vec<String> = error["data"]["supportedVersions"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|it| it.as_str().map(str::to_owned))
            .collect();
        let common: Vec<String> =
            self.offers.iter().filter(|it| supported.contains(it)).cloned().collect();
        let unsupported = Some(ErrorName::UnsupportedProtocolVersion.code());
        let loops = self.has(Fault::RetriesSameOffer) && self.attempts < MAX_ATTEMPTS;
        if loops
            || (error["code"].as_i64() == unsupported && !common.is_empty() && self.attempts == 0)
        {
            self.attempts += 1;
            let conn = self.conn.take();
            if let Some(conn) = conn {
                self.outputs.push_back(ClientOutput::Close { conn });
            }
            if !loops {
                self.offers = common;
            }
            self.connect();
            return;
        }
        let command = self.connecting.take();
        self.close();
        self.say(&json!({"event": "connection", "state": "failed", "message": "the host refused the handshake"}));
        if let Some(command) = command.filter(|_| !self.has(Fault::RefusalUnreported)) {
            self.answer_error(command, error.clone());
        }
    }

    fn reconnected(&mut self, result: &Value) {
        let missing = result["missing"].as_array().into_iter().flatten();
        let missing: Vec<String> =
            missing.filter_map(|it| it.as_str().map(str::to_owned)).collect();
        if !self.has(Fault::MissingKept) {
            self.wanted.retain(|channel| !missing.contains(channel));
        }
        if self.has(Fault::OthersDropped) && !missing.is_empty() {
            self.wanted.clear();
        }
        if let Some(snapshots) = result["snapshots"].as_array() {
            let given = |uri: &String| snapshots.iter().any(|it| it["resource"] == uri.as_str());
            self.wanted.retain(given);
        }
        for kept in self.frame_faults.kept() {
            self.states.sent(&kept);
        }
        let version = self.states.version().map(|it| it.to_string()).unwrap_or_default();
        self.ready(&version);
        self.start_again(&Value::Null);
        self.list_again();
        self.join_again();
    }

    fn ready(&mut self, version: &str) {
        self.phase = ConnectionPhase::Ready;
        self.resumes = true;
        self.attempts = 0;
        self.request_runs_again();
        self.say(&json!({"event": "connection", "state": "connected", "version": version}));
        if let Some(command) = self.connecting.take() {
            self.answer(command, json!({"version": version}));
        }
    }
}
