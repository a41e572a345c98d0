//! The one place where a state changes and its subscribers hear of it; snapshots and subscriptions.
//!
//! Knows: reducers, the log, subscriptions. Never knows: whether an action was allowed.
//!
//! Start at [`RefHost::publish`].

use std::sync::Arc;

use crate::wire::json::{Map, Value, json};

use super::connection::{CallReply, ErrorResponse, HostCall};
use super::engine::{MAX_SUBSCRIPTIONS, RefHost};
use super::injected::{ActionStage, HostEvent};
use super::log::LoggedEnvelope;
use super::merge;
use super::view::{ViewedAction, ViewedDispatch};
use crate::model::{ActionOutcome, apply};
use crate::transcript::ConnId;
use crate::wire::channel::ChannelKind;
use crate::wire::feature::ProtocolFeature;
use crate::wire::frame::Frame;
use crate::wire::version::Version;

/// Which client an action comes from.
#[derive(Clone, Debug)]
pub(super) struct ActionOrigin {
    pub(super) conn: ConnId,
    pub(super) client: String,
    pub(super) client_seq: Value,
    /// What it sent, where it speaks an older version.
    pub(super) sent: Option<ViewedDispatch>,
}

impl ActionOrigin {
    pub(super) fn value(&self) -> Value {
        json!({"clientId": self.client, "clientSeq": self.client_seq})
    }
}

/// Members of a session's summary that came after the oldest version, with the version they came
/// in. Source: protocol changes of 1.0.0.
const SUMMARY_MEMBERS: &[(&str, Version)] =
    &[("chats", Version::new(1, 0, 0)), ("defaultChat", Version::new(1, 0, 0))];

/// The actions that a turn ends with.
const ENDS: &[&str] = &["chat/turnComplete", "chat/turnCancelled", "chat/error", "chat/truncated"];

/// How the cursor of a shortened history begins; the id of the first turn shown follows.
const CURSOR: &str = "turns-before ";

impl RefHost {
    /// Applies an action of the host, and tells the subscribers if it did anything.
    pub(super) fn publish(&mut self, uri: &str, mut action: Value) -> ActionOutcome {
        if !self.acts(uri, &mut action, None) {
            return ActionOutcome::Applied;
        }
        let after = (!self.injected.is_empty()).then(|| action.clone());
        let outcome = self.publish_from(uri, action, None);
        if let Some(mut action) = after.filter(|_| outcome == ActionOutcome::Applied) {
            self.acted(uri, &mut action, ActionStage::Published);
        }
        outcome
    }

    /// Applies an action and tells the subscribers if the reducers take it.
    pub(super) fn publish_from(
        &mut self,
        uri: &str,
        action: Value,
        origin: Option<&ActionOrigin>,
    ) -> ActionOutcome {
        let (faults, version) = (self.state_faults.clone(), self.protocol.version());
        let worded = self.worded(uri, &action, origin);
        let Some(channel) = self.channels.get_mut(uri) else {
            return ActionOutcome::OutOfScope;
        };
        let reduce = |state: &mut Value| apply(version, channel.kind, state, &action);
        let kind = action_type(&action);
        let summaries = match kind == "session/changesetsChanged" {
            true => self.views.iter().map(|view| view.summary(uri)).collect(),
            false => Vec::new(),
        };
        let (state, before) = (&mut channel.state, &mut channel.before);
        let outcome = faults.reduce(kind, &action, false, state, before, reduce);
        if outcome == ActionOutcome::Applied {
            self.fold_views(kind, &worded);
            self.emit_worded(uri, action, origin, worded, false);
            for (view, before) in summaries.iter().enumerate() {
                self.tell_summary(view, uri, before);
            }
        }
        outcome
    }

    /// Numbers an action and sends it, without looking at its effect.
    pub(super) fn emit(&mut self, uri: &str, action: Value, origin: Option<&ActionOrigin>) {
        let worded = self.worded(uri, &action, origin);
        self.emit_worded(uri, action, origin, worded, false);
    }

    /// As [`RefHost::emit`], with the words that older versions have for it. `hidden`: only their clients
    /// are told.
    pub(super) fn emit_worded(
        &mut self,
        uri: &str,
        action: Value,
        origin: Option<&ActionOrigin>,
        worded: Vec<Option<ViewedAction>>,
        hidden: bool,
    ) {
        let kind = action_type(&action).to_owned();
        let seq = self.log.advance();
        let mut params = Map::new();
        params.insert("channel", json!(uri));
        params.insert("action", action);
        params.insert("serverSeq", json!(seq));
        let mut more = Map::new();
        if let Some(origin) = origin.map(ActionOrigin::value) {
            params.insert("origin", origin.clone());
            more.insert("origin", origin);
        }
        let face =
            |(view, worded): (usize, Option<ViewedAction>)| self.face(view, worded?, seq, &more);
        let faces = worded.into_iter().enumerate().map(face).collect();
        let params = Value::Object(params);
        let envelope = Arc::new(LoggedEnvelope {
            seq,
            channel: uri.to_owned(),
            action_type: kind,
            text: self.envelope_text(&params),
            params,
            faces,
            hidden,
        });
        self.log.keep(Arc::clone(&envelope));
        self.fan_out(&envelope);
        if !hidden {
            self.follow(uri, &envelope.action_type);
        }
    }

    /// The notification of an envelope, as text.
    pub(super) fn envelope_text(&self, params: &Value) -> String {
        format!(r#"{{"jsonrpc":"2.0","method":"action","params":{params}}}"#)
    }

    fn fan_out(&mut self, envelope: &LoggedEnvelope) {
        let newer = !self.keeps("version.action-types-known");
        let mut receivers = Vec::new();
        for (conn, connection) in &self.connections {
            let protocol = connection.protocol.unwrap_or(self.protocol);
            let old = connection.view.is_some();
            let known = old || newer || protocol.action(&envelope.action_type).is_some();
            let told = envelope.told(connection.view).filter(|_| known);
            if told.is_some_and(|(channel, ..)| connection.subscriptions.contains(channel)) {
                receivers.push(*conn);
            }
        }
        receivers.into_iter().for_each(|conn| self.deliver(envelope, conn));
    }

    fn deliver(&mut self, envelope: &LoggedEnvelope, conn: ConnId) {
        if self.gather(conn, envelope) {
            return;
        }
        if let Some((.., text)) = envelope.told(self.view_of(conn)) {
            self.send_frame(conn, Frame::Text(text.to_owned()));
        }
    }

    /// What follows from an action: roll-ups of chats into sessions, of sessions into summaries.
    fn follow(&mut self, uri: &str, action_type: &str) {
        self.telemeter(uri, action_type);
        match self.channels.get(uri).map(|channel| channel.kind) {
            Some(ChannelKind::Chat) => {
                self.follow_movable(uri, action_type);
                self.chat_changed(uri, action_type);
                self.tell_doing(uri, action_type);
                self.errand_follows(uri, action_type);
                if ENDS.contains(&action_type) {
                    self.work_ended(uri);
                }
            }
            Some(ChannelKind::AutomationRun) => self.list_run(uri),
            Some(ChannelKind::Session) => self.session_changed(uri, action_type),
            Some(ChannelKind::Terminal) => self.terminal_changed(action_type),
            Some(ChannelKind::Annotations) => self.annotations_changed(uri),
            _ => {}
        }
    }

    /// A snapshot of a channel, of its whole state, as a connection knows it.
    pub(super) fn snapshot(&self, conn: ConnId, uri: &str) -> Option<Value> {
        let channel = self.channels.get(uri)?;
        let view = self.view_of(conn);
        let state = match view {
            Some(view) => self.shown(view, uri)?,
            None => self.state_faults.shown(&channel.state, channel.before.as_ref()),
        };
        let resource = match view.and_then(|view| self.views.get(view)) {
            Some(view) => view.edge.lower_uri(uri),
            None => uri.to_owned(),
        };
        Some(json!({"resource": resource, "state": state, "fromSeq": self.log.seq()}))
    }

    /// Serves `subscribe`.
    pub(super) fn subscribe(&mut self, call: &HostCall) -> CallReply {
        let uri = call.channel();
        self.expand_changeset(uri);
        if !self.exists_for(call.conn, uri) {
            return Err(unknown_channel(uri));
        }
        let Some(connection) = self.connections.get_mut(&call.conn) else {
            return Err(ErrorResponse::invalid_request("the connection is gone"));
        };
        let held = connection.subscriptions.len();
        if held >= MAX_SUBSCRIPTIONS && !connection.subscriptions.contains(uri) {
            return Err(ErrorResponse::invalid_request("too many subscriptions"));
        }
        connection.subscriptions.insert(uri.to_owned());
        match merge::latency(call.params) {
            Some(latency) => connection.latencies.insert(uri.to_owned(), latency),
            None => connection.latencies.remove(uri),
        };
        self.telemetered |= self.is_telemetry(uri);
        // A side channel to an MCP server has no state, and neither has telemetry.
        let Some(mut snapshot) = self.snapshot(call.conn, uri) else {
            return Ok(json!({}));
        };
        let turns = call.params.pointer("/view/turns").and_then(Value::as_u64).unwrap_or(0);
        self.shorten(uri, &mut snapshot, usize::try_from(turns).unwrap_or(usize::MAX));
        Ok(json!({"snapshot": snapshot}))
    }

    /// Leaves all but the latest `count` turns out of a chat's snapshot. 0 leaves it whole, as an
    /// unusable window is ignored. Source: `subscribe.view.*`.
    fn shorten(&mut self, uri: &str, snapshot: &mut Value, count: usize) {
        let Some(turns) = snapshot.pointer_mut("/state/turns").and_then(Value::as_array_mut) else {
            return;
        };
        if count == 0 || turns.len() <= count {
            return;
        }
        let shown = turns.split_off(turns.len() - count);
        let first = shown.first().and_then(|turn| turn["id"].as_str()).unwrap_or("").to_owned();
        *turns = shown;
        snapshot["state"]["turnsNextCursor"] = json!(format!("{CURSOR}{first}"));
        if let Some(chat) = self.chats.get_mut(uri) {
            chat.windows.insert(first);
        }
    }

    /// Serves `fetchTurns`: one page holds everything that any window leaves out, so that one
    /// action serves every subscriber and leaves no hole.
    pub(super) fn fetch_turns(&mut self, call: &HostCall) -> CallReply {
        let uri = call.channel();
        if !self.protocol_of(call.conn).has(ProtocolFeature::TurnWindows) {
            return self.answer_turns(call);
        }
        let Some(chat) = self.chats.get(uri) else {
            return Err(unknown_channel(uri));
        };
        if let Some(cursor) = call.params.get("cursor").and_then(Value::as_str) {
            let turn = cursor.strip_prefix(CURSOR);
            if !turn.is_some_and(|turn| chat.windows.contains(turn)) {
                return Err(ErrorResponse::invalid_params("expected a cursor of this chat"));
            }
        }
        self.page_turns(uri);
        Ok(json!({}))
    }

    /// Loads what windows leave out into the states of all subscribers.
    pub(super) fn load_turns(&mut self, uri: &str) {
        if self.keeps("chat.fetchTurns.eager-load") {
            self.page_turns(uri);
        }
    }

    fn page_turns(&mut self, uri: &str) {
        let windows = match self.chats.get_mut(uri) {
            Some(chat) => std::mem::take(&mut chat.windows),
            None => return,
        };
        let turns = self.state(uri)["turns"].as_array().cloned().unwrap_or_default();
        let place = |id: &String| turns.iter().position(|turn| turn["id"] == id.as_str());
        // A turn that was resumed is no longer among the finished ones: all of them are older.
        let edge = windows.iter().map(|id| place(id).unwrap_or(turns.len())).max();
        if let Some(edge) = edge {
            let older = turns[..edge.min(turns.len())].to_vec();
            self.publish(uri, json!({"type": "chat/turnsLoaded", "turns": older}));
        }
    }

    /// Takes `unsubscribe`. A client that leaves a session is no longer active in it.
    pub(super) fn unsubscribe(&mut self, conn: ConnId, params: &Value) {
        let Some(uri) = params.get("channel").and_then(Value::as_str) else {
            return;
        };
        let Some(connection) = self.connections.get_mut(&conn) else {
            return;
        };
        if !connection.subscriptions.remove(uri) {
            return;
        }
        connection.latencies.remove(uri);
        let Some(client) = connection.client.clone() else {
            return;
        };
        self.leave_watch(uri);
        let mut others = self.connections.values();
        let stays = others.any(|other| {
            other.client.as_ref() == Some(&client) && other.subscriptions.contains(uri)
        });
        if !stays {
            self.deactivate(uri, &client);
        }
        self.happened(&HostEvent::Unsubscribed { client: &client, uri });
    }

    /// The params of a notification as the version of a connection knows them; `None` when nothing
    /// of them is left.
    pub(super) fn shaped(
        &self,
        conn: ConnId,
        method: &str,
        params: &Value,
    ) -> Option<(String, Value)> {
        let protocol = self.protocol_of(conn);
        let mut params = params.clone();
        if let Some(view) = self.view_of(conn) {
            return self.shaped_for(view, method, params);
        }
        protocol.method(method)?;
        for name in ["summary", "changes"] {
            if let Some(summary) = params.get_mut(name) {
                trim_summary(summary, protocol.version());
                if name == "changes" && summary.as_object().is_some_and(Map::is_empty) {
                    return None;
                }
            }
        }
        Some((method.to_owned(), params))
    }

    /// As [`RefHost::shaped`], for an older version; its own state says what stands in a summary.
    fn shaped_for(&self, view: usize, method: &str, mut params: Value) -> Option<(String, Value)> {
        let edge = &self.views.get(view)?.edge;
        let added = params["summary"]["resource"].as_str().map(str::to_owned);
        let session = params["session"].as_str().map(str::to_owned).or(added);
        // Lowered first: members are compared by their older names.
        let mut inner = edge.lower_params(method, params.take());
        if let Some(session) = session {
            for name in ["summary", "changes"] {
                if let Some(summary) = inner.get_mut(name) {
                    self.summary_shown(view, &session, summary, name == "summary");
                    if name == "changes" && summary.as_object().is_some_and(Map::is_empty) {
                        return None;
                    }
                }
            }
        }
        edge.wrap_notification(method, inner)
    }
}

/// Removes the members of a summary that a version does not have.
pub(super) fn trim_summary(summary: &mut Value, version: Version) {
    if let Some(members) = summary.as_object_mut() {
        let newer = SUMMARY_MEMBERS.iter().filter(|(_, since)| *since > version);
        newer.for_each(|(name, _)| {
            members.remove(name);
        });
    }
}

/// The error for a channel that does not exist.
pub(super) fn unknown_channel(uri: &str) -> ErrorResponse {
    match ChannelKind::of_uri(uri) {
        Some(ChannelKind::Session) => ErrorResponse::named("SessionNotFound", "no such session"),
        _ => ErrorResponse::named("NotFound", "no such channel"),
    }
}

/// The type of an action; empty where it has none.
pub(super) fn action_type(action: &Value) -> &str {
    action.get("type").and_then(Value::as_str).unwrap_or("")
}
