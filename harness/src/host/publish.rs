//! The only place that changes a state and sends the change to subscribers. This module also serves snapshots and
//! subscriptions.
//!
//! Knows: reducers, the log, subscriptions. Never knows: the rules for actions.
//!
//! Start at [`RefHost::publish`].

use super::dispatched::ActionOrigin;
use super::reading::action_type;
use super::request::{CallReply, ErrorResponse, HostCall, unknown_channel};
use std::sync::Arc;

use crate::wire::json::{Map, Value, json};

use super::engine::RefHost;
use super::injected::{ActionStage, HostEvent};
use super::log::LoggedEnvelope;
use super::merge;
use super::version_views::ViewedAction;
use crate::model::ActionOutcome;
use crate::transcript::ConnId;
use crate::wire::channel::ChannelKind;
use crate::wire::feature::ProtocolFeature;
use crate::wire::frame::Frame;
use crate::wire::version::Version;

/// The members of a session's summary that the oldest version lacks, each with its first version. Source:
/// protocol changes of 1.0.0.
const SUMMARY_MEMBERS: &[(&str, Version)] =
    &[("chats", Version::new(1, 0, 0)), ("defaultChat", Version::new(1, 0, 0))];

/// The actions that end a turn.
const ENDS: &[&str] = &["chat/turnComplete", "chat/turnCancelled", "chat/error", "chat/truncated"];

/// The prefix of the cursor of a shortened history; the id of the first turn in the snapshot follows the
/// prefix.
const CURSOR: &str = "turns-before ";

impl RefHost {
    /// Applies an action of the host, and sends the action to the subscribers if the reducers apply it.
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

    /// Applies an action of any origin, and sends the action to the subscribers if the reducers apply it.
    pub(super) fn publish_from(
        &mut self,
        uri: &str,
        action: Value,
        origin: Option<&ActionOrigin>,
    ) -> ActionOutcome {
        let worded = self.worded(uri, &action, origin);
        let kind = action_type(&action);
        let summaries = match kind == "session/changesetsChanged" {
            true => self.views.iter().map(|view| view.summary(uri)).collect(),
            false => Vec::new(),
        };
        let version = self.protocol.version();
        let outcome = self.channels.reduce(version, uri, &action, &self.state_faults);
        if outcome == ActionOutcome::Applied {
            self.fold_views(kind, &worded);
            self.emit_worded(uri, action, origin, worded, false);
            for (view, before) in summaries.iter().enumerate() {
                self.tell_summary(view, uri, before);
            }
        }
        outcome
    }

    /// Numbers an action and sends it to the subscribers, even if the action has no effect on the state.
    pub(super) fn emit(&mut self, uri: &str, action: Value, origin: Option<&ActionOrigin>) {
        let worded = self.worded(uri, &action, origin);
        self.emit_worded(uri, action, origin, worded, false);
    }

    /// Does the same as [`RefHost::emit`] with translations of the action for older versions. If `hidden` is set, only
    /// clients of older versions receive the action.
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
        if let Value::Object(members) = std::mem::take(&mut self.scripted) {
            for (name, value) in members {
                more.insert(name.clone(), value.clone());
                params.insert(name, value);
            }
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

    /// Returns the notification of an envelope, serialised.
    pub(super) fn envelope_text(&self, params: &Value) -> String {
        format!(r#"{{"jsonrpc":"2.0","method":"action","params":{params}}}"#)
    }

    fn fan_out(&mut self, envelope: &LoggedEnvelope) {
        let newer = !self.keeps("version.action-types-known");
        let mut receivers = Vec::new();
        for (conn, connection) in self.connections.iter() {
            let protocol = connection.protocol().unwrap_or(self.protocol);
            let old = connection.view().is_some();
            let known = old || newer || protocol.action(&envelope.action_type).is_some();
            let told = envelope.told(connection.view()).filter(|_| known);
            if told.is_some_and(|(channel, ..)| connection.is_subscribed(channel)) {
                receivers.push(conn);
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

    /// Performs the effects of a published action: updates of a chat's session and of a session's summary.
    fn follow(&mut self, uri: &str, action_type: &str) {
        self.telemeter(uri, action_type);
        match self.channels.kind(uri) {
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

    /// Returns a snapshot of a channel's whole state, with the names of the connection's version; `None` if the
    /// connection does not see the channel.
    pub(super) fn snapshot(&self, conn: ConnId, uri: &str) -> Option<Value> {
        let view = self.view_of(conn);
        let state = match view {
            Some(view) if self.channels.has(uri) => self.shown(view, uri)?,
            Some(_) => return None,
            None => self.channels.shown(uri, &self.state_faults)?,
        };
        let resource = match view.and_then(|view| self.views.get(view)) {
            Some(view) => view.edge().lower_uri(uri),
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
        if !self.connections.subscribe(call.conn, uri, merge::latency(call.params)) {
            return Err(ErrorResponse::invalid_request("too many subscriptions"));
        }
        self.telemetered |= self.is_telemetry(uri);
        // Side channels to MCP servers and telemetry channels have no state.
        let Some(mut snapshot) = self.snapshot(call.conn, uri) else {
            return Ok(json!({}));
        };
        let turns = call.params.pointer("/view/turns").and_then(Value::as_u64).unwrap_or(0);
        self.shorten(uri, &mut snapshot, usize::try_from(turns).unwrap_or(usize::MAX));
        Ok(json!({"snapshot": snapshot}))
    }

    /// Removes all but the latest `count` turns from a chat's snapshot. A `count` of 0 is an unusable window,
    /// so the snapshot stays whole. Source: `subscribe.view.*`.
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
        self.chats.add_window(uri, first);
    }

    /// Serves `fetchTurns`. One page contains all turns that any window omits, so a single action is enough for every
    /// subscriber, without a gap.
    pub(super) fn fetch_turns(&mut self, call: &HostCall) -> CallReply {
        let uri = call.channel();
        if !self.protocol_of(call.conn).has(ProtocolFeature::TurnWindows) {
            return self.answer_turns(call);
        }
        if !self.chats.has(uri) {
            return Err(unknown_channel(uri));
        }
        if let Some(cursor) = call.params.get("cursor").and_then(Value::as_str) {
            let turn = cursor.strip_prefix(CURSOR);
            if !turn.is_some_and(|turn| self.chats.has_window(uri, turn)) {
                return Err(ErrorResponse::invalid_params("expected a cursor of this chat"));
            }
        }
        self.page_turns(uri);
        Ok(json!({}))
    }

    /// Loads the turns that windows omit into the states of all subscribers.
    pub(super) fn load_turns(&mut self, uri: &str) {
        if self.keeps("chat.fetchTurns.eager-load") {
            self.page_turns(uri);
        }
    }

    fn page_turns(&mut self, uri: &str) {
        let windows = self.chats.take_windows(uri);
        let turns = self.state(uri)["turns"].as_array().cloned().unwrap_or_default();
        let place = |id: &String| turns.iter().position(|turn| turn["id"] == id.as_str());
        // A resumed turn is no longer among the finished turns, so all finished turns are older.
        let edge = windows.iter().map(|id| place(id).unwrap_or(turns.len())).max();
        if let Some(edge) = edge {
            let older = turns[..edge.min(turns.len())].to_vec();
            self.publish(uri, json!({"type": "chat/turnsLoaded", "turns": older}));
        }
    }

    /// Handles `unsubscribe`. A client that leaves a session is no longer active in the session.
    pub(super) fn unsubscribe(&mut self, conn: ConnId, params: &Value) {
        let Some(uri) = params.get("channel").and_then(Value::as_str) else {
            return;
        };
        if !self.connections.unsubscribe(conn, uri) {
            return;
        }
        let Some(client) = self.connections.client(conn).map(str::to_owned) else {
            return;
        };
        self.leave_watch(uri);
        let stays = self
            .connections
            .iter()
            .any(|(_, other)| other.client() == Some(client.as_str()) && other.is_subscribed(uri));
        if !stays {
            self.deactivate(uri, &client);
        }
        self.happened(&HostEvent::Unsubscribed { client: &client, uri });
    }

    /// Returns the method and params of a notification with the names of the connection's version; `None` if
    /// that version has no such notification, or the notification has no changes in that version.
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

    /// Does the same as [`RefHost::shaped`] for a view of an older version. The summary comes from the state in
    /// the view.
    fn shaped_for(&self, view: usize, method: &str, mut params: Value) -> Option<(String, Value)> {
        let edge = self.views.get(view)?.edge();
        let added = params["summary"]["resource"].as_str().map(str::to_owned);
        let session = params["session"].as_str().map(str::to_owned).or(added);
        // Translate the params first: the members are compared under their older names.
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
