//! The handshake: `initialize`, `reconnect`, and the removal of clients that have left.
//!
//! Knows: versions, the log, subscriptions. Never knows: the content of channels.
//!
//! Start at [`RefHost::initialize`].

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use crate::wire::error_code::ErrorName;
use crate::wire::json::{Value, json};

use super::agent::COMMAND_PREFIX;
use super::chats::TRIGGER;
use super::connections::{HostConnection, MAX_SUBSCRIPTIONS};
use super::engine::RefHost;
use super::files::AREA;
use super::log::LoggedEnvelope;
use super::request::{CallReply, ErrorResponse, HostCall};
use super::resources::uri_of;
use super::{automations, telemetry};
use crate::agent::script;
use crate::transcript::ConnId;
use crate::wire::feature::ProtocolFeature;
use crate::wire::protocol::Protocol;
use crate::wire::version::Version;

/// The maximum length of a client id in bytes.
const MAX_CLIENT_ID: usize = 1_024;

impl RefHost {
    /// Serves `initialize`. Source: lifecycle.md, versioning.md.
    pub(super) fn initialize(&mut self, call: &HostCall) -> CallReply {
        if self.connections.client(call.conn).is_some() {
            return Err(ErrorResponse::invalid_request(
                "this connection has already completed a handshake",
            ));
        }
        let client = call.text("clientId").to_owned();
        if client.is_empty() || client.len() > MAX_CLIENT_ID {
            return Err(ErrorResponse::invalid_params("expected a name at `params.clientId`"));
        }
        self.require_own(call, &client)?;
        let (version, protocol) = self.negotiate(call.params)?;
        let apps = call.params.pointer("/capabilities/mcpApps").is_some_and(Value::is_object);
        self.clients.remember(&client, &version, apps, self.visitor(call.conn));
        let view = self.view_for(protocol);
        self.connections.set_view(call.conn, view);
        let wanted = self.existing(call.conn, call.params.get("initialSubscriptions"));
        if self.connections.of_client(&client).next().is_none() {
            self.leave_unlisted(&client, &wanted);
        }
        let subscriptions = wanted.iter().cloned().collect();
        self.connections.complete_handshake(call.conn, client, protocol, subscriptions);
        self.telemetered |= wanted.iter().any(|uri| self.is_telemetry(uri));
        let snapshots: Vec<Value> =
            wanted.iter().filter_map(|uri| self.snapshot(call.conn, uri)).collect();
        let mut result = json!({
            "protocolVersion": version,
            "serverSeq": self.log.seq(),
            "serverInfo": {
                "name": "ahp-harness reference host",
                "version": env!("CARGO_PKG_VERSION"),
            },
            "snapshots": snapshots,
            "defaultDirectory": uri_of(AREA),
            "completionTriggerCharacters": [TRIGGER],
            "automations": automations::capabilities(),
            "telemetry": telemetry::capabilities(),
            "_meta": {"ahp-script": script::EXTRAS.iter().map(|it| it.name).collect::<Value>()},
        });
        // An agent subprocess gets every message unchanged.
        if self.acp.is_none() {
            result["terminalCommandPrefix"] = json!(COMMAND_PREFIX);
        }
        Ok(result)
    }

    /// Returns the highest offered version in the caret range of a supported version, in the client's spelling.
    /// Sources: versioning.md, from 1.0.0 on; `lifecycle.version.*`.
    pub(super) fn negotiate(
        &self,
        params: &Value,
    ) -> Result<(String, &'static Protocol), ErrorResponse> {
        let offers = params.get("protocolVersions").and_then(Value::as_array);
        let offers = offers.into_iter().flatten().filter_map(Value::as_str);
        let base = |offer: Version| {
            let mut versions = self.config.versions.iter();
            versions.find(|version| version.accepts(offer)).copied()
        };
        let fits = |text: &str| {
            let offer: Version = text.parse().ok()?;
            Some((offer, text.to_owned(), Protocol::of(base(offer)?)?))
        };
        let mut acceptable = offers.clone().filter_map(&fits);
        // Up to 0.9.0 the order of the client's offers decides: the first acceptable offer wins. Source:
        // versioning.md of these versions.
        let exact = acceptable.clone().any(|(_, _, it)| it.has(ProtocolFeature::ExactNegotiation));
        let chosen = match exact {
            true => acceptable.max_by_key(|(offer, ..)| *offer),
            false => acceptable.next(),
        };
        if let Some((_, text, protocol)) = chosen {
            return Ok((text, protocol));
        }
        let mut failure = ErrorResponse::named(
            ErrorName::UnsupportedProtocolVersion,
            "no offered version is supported",
        );
        let range = |version: &Version| match *version == Version::V1 {
            true => version.to_string(),
            false => format!("^{version}"),
        };
        let versions: Vec<String> = self.config.versions.iter().map(range).collect();
        failure.data = json!({"supportedVersions": versions});
        failure.close = true;
        Err(failure)
    }

    /// Returns the tables of a negotiated version.
    fn protocol_named(&self, version: &str) -> &'static Protocol {
        let range = version.parse::<Version>().ok();
        let base =
            range.and_then(|range| self.config.versions.iter().find(|own| own.accepts(range)));
        base.copied().and_then(Protocol::of).unwrap_or(self.protocol)
    }

    /// Guesses the version of a request before the handshake from the form of the request. A request without a
    /// channel belongs to a version without channels; a `protocolVersion` that is a number belongs to version
    /// 1.
    fn protocol_spoken(&self, params: &Value) -> &'static Protocol {
        let number = params.get("protocolVersion").is_some();
        let old = params.get("channel").is_none();
        let fits = |protocol: &&'static Protocol| {
            let numbered = protocol.version() == Version::V1;
            !protocol.has(ProtocolFeature::Channels) && numbered == number
        };
        let mut tables = self.views.iter().map(|view| view.edge().protocol()).filter(|_| old);
        tables.find(fits).unwrap_or(self.protocol)
    }

    /// Returns the tables for reading a request: the tables of the negotiated version or, before the handshake,
    /// of the version that this request negotiates.
    pub(super) fn protocol_for(&self, call: &HostCall, method: &str) -> &'static Protocol {
        let agreed = self.connections.get(call.conn).and_then(HostConnection::protocol);
        if let Some(agreed) = agreed {
            return agreed;
        }
        match method {
            "initialize" => {
                let number = call.params.get("protocolVersion").filter(|it| it.is_u64());
                let offers = number.map(|it| json!({"protocolVersions": [it.to_string()]}));
                let chosen = self.negotiate(offers.as_ref().unwrap_or(call.params));
                let otherwise = || self.protocol_spoken(call.params);
                chosen.map_or_else(|_| otherwise(), |(_, protocol)| protocol)
            }
            "reconnect" => {
                let version = self.clients.version_of(call.text("clientId"));
                version.map_or(self.protocol, |version| self.protocol_named(version))
            }
            _ => self.protocol_spoken(call.params),
        }
    }

    /// Returns the URIs of a list that name an existing channel, without duplicates.
    fn existing(&self, conn: ConnId, uris: Option<&Value>) -> Vec<String> {
        let uris = uris.and_then(Value::as_array).into_iter().flatten();
        let mut seen = HashSet::new();
        uris.filter_map(Value::as_str)
            .filter(|uri| self.exists_for(conn, uri) && seen.insert(*uri))
            .take(MAX_SUBSCRIPTIONS)
            .map(str::to_owned)
            .collect()
    }

    /// Serves `reconnect`. A client that this host does not know has to send `initialize`, because the host
    /// does not know the client's version. Source: lifecycle.md#reconnection.
    pub(super) fn reconnect(&mut self, call: &HostCall) -> CallReply {
        let client = call.text("clientId").to_owned();
        if self.connections.client(call.conn).is_some_and(|own| own != client) {
            return Err(ErrorResponse::invalid_request(
                "this connection belongs to another client",
            ));
        }
        let Some(last_seen) = call.params.get("lastSeenServerSeq").and_then(Value::as_u64) else {
            return Err(ErrorResponse::invalid_params(
                "expected a `serverSeq` of this host at \
                `params.lastSeenServerSeq`",
            ));
        };
        let Some(version) = self.clients.version_of(&client).map(str::to_owned) else {
            return Err(ErrorResponse::invalid_params("unknown client (hint: send `initialize`)"));
        };
        self.require_own(call, &client)?;
        self.supersede(call.conn, &client);
        let protocol = self.protocol_named(&version);
        let view = self.view_for(protocol);
        self.connections.set_view(call.conn, view);
        let wanted = self.existing(call.conn, call.params.get("subscriptions"));
        self.connections.complete_handshake(call.conn, client.clone(), protocol, HashSet::new());
        self.clients.returned(&client);
        self.leave_unlisted(&client, &wanted);
        let result = self.resume(call, last_seen, &wanted);
        self.connections.resubscribe(call.conn, wanted.into_iter().collect());
        Ok(result)
    }

    /// Returns the actions that the client has missed: a replay if the log still holds all of these actions,
    /// snapshots if not. A `lastSeenServerSeq` that is too high, or older than a channel, results in snapshots.
    fn resume(&mut self, call: &HostCall, last_seen: u64, wanted: &[String]) -> Value {
        let too_old = last_seen < self.log.floor();
        let too_new = last_seen > self.log.seq();
        let reborn = |uri: &String| self.channels.born(uri).is_some_and(|born| born > last_seen);
        if too_old || too_new || wanted.iter().any(reborn) {
            let snapshots: Vec<Value> =
                wanted.iter().filter_map(|uri| self.snapshot(call.conn, uri)).collect();
            return json!({"type": "snapshot", "snapshots": snapshots});
        }
        let (protocol, view) = (self.protocol_of(call.conn), self.view_of(call.conn));
        let listed = |envelope: &Arc<LoggedEnvelope>| {
            let (channel, params, _) = envelope.told(view)?;
            let known = view.is_some() || protocol.action(&envelope.action_type).is_some();
            let wanted = wanted.iter().any(|uri| uri == channel);
            (known && wanted).then(|| params.clone())
        };
        let actions: Vec<Value> = self.log.after(last_seen).filter_map(listed).collect();
        let listed = call.params.get("subscriptions").and_then(Value::as_array);
        let listed: HashSet<&str> =
            listed.into_iter().flatten().filter_map(Value::as_str).collect();
        let gone = |uri: &&str| !self.exists_for(call.conn, uri);
        let mut missing: Vec<&str> = listed.into_iter().filter(gone).collect();
        missing.sort_unstable();
        let missing: Vec<String> = match view.and_then(|view| self.views.get(view)) {
            Some(view) => missing.into_iter().map(|uri| view.edge().lower_uri(uri)).collect(),
            None => missing.into_iter().map(str::to_owned).collect(),
        };
        json!({"type": "replay", "actions": actions, "missing": missing})
    }

    /// Closes the older connections of a client that has reconnected, because these connections are probably
    /// half-open.
    fn supersede(&mut self, conn: ConnId, client: &str) {
        let old = self.connections.of_client(client).filter(|other| *other != conn);
        for conn in old.collect::<Vec<ConnId>>() {
            self.close(conn, 1000, "the client has reconnected");
            self.connections.disown(conn);
        }
    }

    /// Deactivates a reconnected client in the sessions that its `reconnect` did not list.
    fn leave_unlisted(&mut self, client: &str, wanted: &[String]) {
        for session in self.clients.active_in(client) {
            if !wanted.contains(&session) {
                self.deactivate(&session, client);
            }
        }
    }

    /// Records the end of a connection of a client.
    pub(super) fn left(&mut self, client: Option<&str>) {
        let Some(client) = client else {
            return;
        };
        if self.connections.of_client(client).next().is_none() {
            self.clients.left(client, self.clock.now());
        }
    }

    /// Returns the disconnected clients that are active in a session, with the time of their removal.
    fn removals(&self) -> impl Iterator<Item = (&String, Duration)> {
        let expire = self.keeps("reconnect.active-client-grace-expired");
        let gone = self.clients.gone().filter(move |_| expire);
        gone.map(|(client, gone_at)| (client, gone_at + self.config.grace))
    }

    /// Returns the time of the next removal of a client; `None` if no removal is due.
    pub(super) fn next_removal(&self) -> Option<Duration> {
        self.removals().map(|(_, at)| at).min()
    }

    /// Removes disconnected clients from their sessions after the grace period.
    pub(super) fn remove_gone_clients(&mut self) {
        let due = self.removals().filter(|(_, at)| *at <= self.clock.now());
        for client in due.map(|(client, _)| client.clone()).collect::<Vec<String>>() {
            for session in self.clients.active_in(&client) {
                self.deactivate(&session, &client);
            }
        }
    }
}
