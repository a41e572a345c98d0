//! Views: the states and actions that clients of an older version see, computed by the reducers of that
//! version.
//!
//! The host stores its states in the newest version. For each older version that the host supports there is a
//! [`VersionView`]. The host translates every action to that version and applies it to the view's state. The state
//! therefore always results from the actions that the clients of the view received. Actions that only the older version
//! has change only the view.
//!
//! Knows: edges, reducers. Never knows: the rules for actions.
//!
//! Start at [`VersionView`].

use std::collections::HashMap;

use litemap::LiteMap;

use crate::edge::{ChangeContext, VersionEdge};
use crate::model::{ActionOutcome, NoOp, apply_at};
use crate::transcript::ConnId;
use crate::wire::channel::{ChannelKind, ROOT};
use crate::wire::feature::ProtocolFeature;
use crate::wire::json::{Map, Text, Value, json};
use crate::wire::protocol::Protocol;

use super::annotations::place_note;
use super::configuration::PROVIDER;
use super::connection::{CallReply, ErrorResponse, HostCall};
use super::engine::RefHost;
use super::injected::StateFaults;
use super::log::VersionFace;
use super::publish::{ActionOrigin, action_type, unknown_channel};
use super::rollup::IDENTITY;

/// The members of a summary that newer versions do not have, or that other actions change in newer versions.
const OWN: &[&str] = &["model", "agent", "diffs", "changesets"];

/// An older version, and the channels as its clients see them.
#[derive(Debug)]
pub(super) struct VersionView {
    pub(super) edge: VersionEdge,
    pub(super) channels: LiteMap<String, ViewedChannel>,
}

/// A channel as clients of an older version see it.
#[derive(Debug)]
pub(super) struct ViewedChannel {
    pub(super) kind: ChannelKind,
    pub(super) state: Value,
    /// The state before the last action; set only if state faults are active.
    before: Option<Value>,
    /// The status that was last announced to the subscribers of the root channel.
    listed: Option<Value>,
}

/// An action with the names of a view's version; `key` is the channel in the host's spelling, `channel` in the
/// view's spelling.
#[derive(Clone, Debug)]
pub(super) struct ViewedAction {
    pub(super) key: String,
    pub(super) channel: String,
    pub(super) action: Value,
}

/// A dispatch of a client of an older version.
#[derive(Clone, Debug)]
pub(super) struct ViewedDispatch {
    pub(super) view: usize,
    pub(super) worded: ViewedAction,
}

impl ViewedChannel {
    /// Returns the object with the session's own members: `summary` in versions that have this member, the
    /// state in other versions.
    fn own(&self) -> &Value {
        self.state.get("summary").unwrap_or(&self.state)
    }
}

impl VersionView {
    pub(super) fn new(protocol: &Protocol) -> VersionView {
        VersionView {
            edge: VersionEdge::new(protocol.version(), PROVIDER),
            channels: LiteMap::new(),
        }
    }

    /// Returns the state of a channel in the view; null if there is none.
    pub(super) fn state(&self, key: &str) -> &Value {
        self.channels.get(key).map_or(&Value::Null, |shown| &shown.state)
    }

    /// Returns the members of a session's summary that only this version has.
    pub(super) fn summary(&self, key: &str) -> Map {
        let summary = self.state(key).get("summary");
        let known = |name: &&str| Some(((*name).to_owned(), summary?.get(*name)?.clone()));
        OWN.iter().filter_map(known).collect()
    }

    /// Applies an action to the view's state.
    fn fold(
        &mut self,
        faults: &StateFaults,
        now_ms: u64,
        kind: &str,
        worded: &ViewedAction,
    ) -> ActionOutcome {
        let version = self.edge.protocol().version();
        let Some(shown) = self.channels.get_mut(&worded.key) else {
            return ActionOutcome::OutOfScope;
        };
        let channel = shown.kind;
        let reduce = |state: &mut Value| apply_at(version, channel, now_ms, state, &worded.action);
        let has_turns = channel == ChannelKind::Session && !self.edge.has_chats();
        let (state, before) = (&mut shown.state, &mut shown.before);
        faults.reduce(kind, &worded.action, has_turns, state, before, reduce)
    }
}

/// Replaces the turns of a state or an action by the turns with the same ids in `shown`. A turn in a view
/// results from the actions that the clients of the view received; it is not a translation.
fn as_shown(members: &mut Value, shown: &Value) {
    let shown = shown["turns"].as_array().into_iter().flatten();
    let shown: HashMap<&str, &Value> =
        shown.filter_map(|turn| Some((turn["id"].as_str()?, turn))).collect();
    let turns = members.get_mut("turns").and_then(Value::as_array_mut);
    for turn in turns.into_iter().flatten() {
        if let Some(known) = turn["id"].as_str().and_then(|id| shown.get(id)) {
            *turn = (*known).clone();
        }
    }
}

impl RefHost {
    /// Returns the index of a connection's view; `None` if the version of the connection needs no view.
    pub(super) fn view_of(&self, conn: ConnId) -> Option<usize> {
        self.connections.get(&conn)?.view
    }

    /// Returns the index of a version's view; `None` if the version needs no view.
    pub(super) fn view_for(&self, protocol: &'static Protocol) -> Option<usize> {
        self.views.iter().position(|view| std::ptr::eq(view.edge.protocol(), protocol))
    }

    /// Returns the wall time in milliseconds since 1970.
    pub(super) fn wall_ms(&self) -> u64 {
        let elapsed = u64::try_from(self.now.as_millis()).unwrap_or(u64::MAX);
        self.epoch_ms.saturating_add(elapsed)
    }

    /// Adds a new channel to the views.
    pub(super) fn show(&mut self, uri: &str, kind: ChannelKind, state: &Value) {
        let now = self.timestamp();
        for view in &mut self.views {
            if kind == ChannelKind::Chat && !view.edge.has_chats() {
                continue;
            }
            let own = json!({
                "resource": view.edge.lower_uri(uri), "createdAt": now, "modifiedAt": now,
            });
            let Some(mut state) = view.edge.lower_state(kind, state, ChangeContext { state: &own })
            else {
                continue;
            };
            // A fork begins with the turns of its source as the view shows them.
            if let Some(source) = state["origin"]["chat"].as_str().map(str::to_owned) {
                as_shown(&mut state, view.state(&source));
            }
            if kind == ChannelKind::Session && !view.edge.has_chats() {
                state["turns"] = json!([]);
            }
            let mut shown = ViewedChannel { kind, state, before: None, listed: None };
            shown.listed = shown.own().get("status").cloned();
            view.channels.insert(uri.to_owned(), shown);
        }
    }

    /// Removes a channel from the views. If `heard` is set, removes it only from views that have chat channels.
    pub(super) fn hide(&mut self, uri: &str, heard: bool) {
        for view in self.views.iter_mut().filter(|view| !heard || view.edge.has_chats()) {
            view.channels.remove(uri);
        }
    }

    /// Returns the translation of an action for each view; an item is `None` if the view has no such action or channel.
    /// The view of the dispatcher gets the action as the client spelled it.
    pub(super) fn worded(
        &self,
        uri: &str,
        action: &Value,
        origin: Option<&ActionOrigin>,
    ) -> Vec<Option<ViewedAction>> {
        let sent = origin.and_then(|origin| origin.sent.as_ref());
        let of = |(index, view): (usize, &VersionView)| {
            if let Some(sent) = sent.filter(|sent| sent.view == index) {
                return Some(sent.worded.clone());
            }
            let key = self.key_of(view, uri)?;
            let beside = ChangeContext { state: view.state(&key) };
            let raw = || {
                let mut raw =
                    (!self.keeps("version.action-types-known")).then(|| action.clone())?;
                let channel = view.edge.lower_uri(&key);
                if !view.edge.protocol().has(ProtocolFeature::Channels) {
                    raw["session"] = json!(channel);
                }
                Some((channel, raw))
            };
            let lowered = view.edge.lower_action(&key, action, beside).or_else(raw);
            let (channel, mut action) = lowered?;
            if action_type(&action) == "chat/turnsLoaded" {
                as_shown(&mut action, beside.state);
            }
            view.channels.contains_key(&key).then_some(ViewedAction { key, channel, action })
        };
        self.views.iter().enumerate().map(of).collect()
    }

    /// Returns the channel of a view that corresponds to a host's channel. In versions without chats, the
    /// session's channel corresponds to a default chat. Returns `None` if the view has no such channel.
    fn key_of(&self, view: &VersionView, uri: &str) -> Option<String> {
        match self.chats.get(uri) {
            Some(chat) if !view.edge.has_chats() => {
                let default = self.state(&chat.session)["defaultChat"] == *uri;
                let default = default || !self.keeps("session.dispose.stops-agent");
                default.then(|| chat.session.clone())
            }
            _ => Some(uri.to_owned()),
        }
    }

    /// Applies a translated action to its view.
    pub(super) fn fold_views(&mut self, kind: &str, worded: &[Option<ViewedAction>]) {
        let (faults, now) = (self.state_faults.clone(), self.wall_ms());
        for (view, worded) in self.views.iter_mut().zip(worded) {
            if let Some(worded) = worded {
                view.fold(&faults, now, kind, worded);
            }
        }
    }

    /// Returns the notification of an action for a view.
    pub(super) fn face(
        &self,
        view: usize,
        worded: ViewedAction,
        seq: u64,
        more: &Map,
    ) -> Option<VersionFace> {
        let protocol = self.views.get(view)?.edge.protocol();
        let mut params = Map::new();
        if protocol.has(ProtocolFeature::Channels) {
            params.insert("channel", json!(worded.channel));
        }
        params.insert("action", worded.action);
        params.insert("serverSeq", json!(seq));
        for (name, value) in more.iter() {
            params.insert(name.clone(), value.clone());
        }
        let params = Value::Object(params);
        Some(VersionFace { key: worded.key, text: self.envelope_text(&params), params })
    }

    /// Translates a dispatch of an older version: the channel and the action in the newest version, and the
    /// dispatch as the client sent it. Returns `None` if the channel or the action has no translation.
    pub(super) fn raised(
        &self,
        view: usize,
        params: &Value,
    ) -> Option<(String, Value, ViewedDispatch)> {
        let edge = &self.views.get(view)?.edge;
        let sent = params.get("action")?;
        let named = params.get("channel").and_then(Value::as_str);
        let (key, _) = edge.lift_action(named, sent, ChangeContext::NOTHING);
        let key = key?;
        let beside = ChangeContext { state: self.views.get(view)?.state(&key) };
        let (_, mut action) = edge.lift_action(named, sent, beside);
        let mut sent = sent.clone();
        if sent["type"] == "session/activeClientChanged" && sent.get("activeClient").is_none() {
            // The official crate of these versions omits a member that the specification defines as null.
            sent["activeClient"] = Value::Null;
        }
        let worded = ViewedAction { key: key.clone(), channel: edge.lower_uri(&key), action: sent };
        let mut uri = key;
        let of_chat = action_type(&action).starts_with("chat/");
        if of_chat
            && !edge.has_chats()
            && let Some(chat) = self.state(&uri)["defaultChat"].as_str()
        {
            uri = chat.to_owned();
        }
        // Fill in members that the newest version requires and the older version lacks.
        match action_type(&action) {
            "session/customizationToggled" => {
                let known = self.state(&uri)["customizations"].as_array();
                let mut known = known.into_iter().flatten();
                if let Some(meant) = known.find(|it| it["uri"] == action["id"]) {
                    action["id"] = meant["id"].clone();
                }
            }
            "annotations/set" | "annotations/updated" => place_note(&uri, &mut action),
            "chat/turnStarted" if action.get("startedAt").is_none() => {
                action["startedAt"] = json!(self.timestamp());
            }
            "chat/turnCancelled" if action.get("duration").is_none() => {
                action["duration"] = json!(self.turn_duration(&uri));
            }
            _ => {}
        }
        Some((uri, action, ViewedDispatch { view, worded }))
    }

    /// Removes the other active clients of a session in versions that allow only one active client.
    pub(super) fn take_place(&mut self, uri: &str, action: &Value, origin: &ActionOrigin) {
        let protocol = self.protocol_of(origin.conn);
        if action_type(action) != "session/activeClientSet"
            || protocol.has(ProtocolFeature::FlatSession)
        {
            return;
        }
        let active = self.state(uri)["activeClients"].as_array().cloned().unwrap_or_default();
        let others =
            active.into_iter().filter(|it| it["clientId"] != action["activeClient"]["clientId"]);
        for other in others {
            let gone = json!({
                "type": "session/activeClientRemoved", "clientId": other["clientId"],
            });
            // The removal is not published, because the action that follows implies the removal.
            if let Some(channel) = self.channels.get_mut(uri) {
                crate::model::apply(
                    self.protocol.version(),
                    channel.kind,
                    &mut channel.state,
                    &gone,
                );
            }
        }
    }

    /// Applies and sends an action that only an older version has.
    pub(super) fn publish_own(
        &mut self,
        sent: &ViewedDispatch,
        origin: &ActionOrigin,
    ) -> ActionOutcome {
        let (faults, now) = (self.state_faults.clone(), self.wall_ms());
        let kind = action_type(&sent.worded.action).to_owned();
        let Some(view) = self.views.get_mut(sent.view) else {
            return ActionOutcome::OutOfScope;
        };
        let before = view.summary(&sent.worded.key);
        let outcome = view.fold(&faults, now, &kind, &sent.worded);
        if matches!(outcome, ActionOutcome::Applied | ActionOutcome::NoOp(NoOp::Unchanged)) {
            self.emit(&sent.worded.key, sent.worded.action.clone(), Some(origin));
            self.tell_summary(sent.view, &sent.worded.key, &before);
        }
        outcome
    }

    /// Sends an action to the clients of the older versions that have the action and for which `meant` returns `true`.
    pub(super) fn say_old(&mut self, key: &str, action: &Value, meant: fn(&Protocol) -> bool) {
        for index in 0..self.views.len() {
            let Some(view) = self.views.get(index) else {
                continue;
            };
            let known = view.edge.protocol().action(action_type(action)).is_some();
            if !known || !meant(view.edge.protocol()) || !view.channels.contains_key(key) {
                continue;
            }
            let lowered =
                view.edge.lower_action(key, action, ChangeContext { state: view.state(key) });
            let Some((channel, action)) = lowered else {
                continue;
            };
            let worded = ViewedAction { key: key.to_owned(), channel, action };
            let mut all: Vec<Option<ViewedAction>> = self.views.iter().map(|_| None).collect();
            if let Some(place) = all.get_mut(index) {
                *place = Some(worded.clone());
            }
            let before = self.views.get(index).map(|view| view.summary(key)).unwrap_or_default();
            self.fold_views(action_type(&worded.action), &all);
            self.emit_worded(key, worded.action, None, all, true);
            self.tell_summary(index, key, &before);
        }
    }

    /// Announces the changes of the summary members that only the view's version has.
    pub(super) fn tell_summary(&mut self, index: usize, key: &str, before: &Map) {
        let Some(view) = self.views.get(index) else { return };
        let now = view.summary(key);
        let differs = |(name, value): &(&Text, &Value)| before.get(name.as_str()) != Some(*value);
        let changes: Map =
            now.iter().filter(differs).map(|(name, it)| (name.clone(), it.clone())).collect();
        if changes.is_empty() {
            return;
        }
        let params = json!({"channel": ROOT, "session": key, "changes": Value::Object(changes)});
        self.notify_view(index, "root/sessionSummaryChanged", &params);
    }

    /// Returns whether a channel exists for a connection.
    pub(super) fn exists_for(&self, conn: ConnId, uri: &str) -> bool {
        match self.view_of(conn).and_then(|view| self.views.get(view)) {
            // Channels without a state are the same in all versions.
            Some(view) if !self.channels.contains_key(uri) => {
                self.exists(uri) && view.edge.protocol().has(ProtocolFeature::Channels)
            }
            Some(view) => view.channels.contains_key(uri),
            None => self.exists(uri),
        }
    }

    /// Returns the state of a channel for a snapshot in a view. The members that only the newest version
    /// computes are copied from the host's state.
    pub(super) fn shown(&self, view: usize, uri: &str) -> Option<Value> {
        let view = self.views.get(view)?;
        let shown = view.channels.get(uri)?;
        let mut state = self.state_faults.shown(&shown.state, shown.before.as_ref());
        let place = match view.edge.protocol().has(ProtocolFeature::FlatSession) {
            true => Some(&mut state),
            false => state.get_mut("summary"),
        };
        if let Some(place) = place {
            for (name, value) in self.computed(view, shown, uri) {
                place[name] = value.clone();
            }
        }
        Some(state)
    }

    /// Returns the members of a session that the newest version changes without an action and that the view also has.
    fn computed(
        &self,
        view: &VersionView,
        shown: &ViewedChannel,
        uri: &str,
    ) -> impl Iterator<Item = (&str, &Value)> {
        let has = shown.kind == ChannelKind::Session && view.edge.has_chats();
        let counts = view.edge.protocol().has(ProtocolFeature::ClientToolsRaiseInputNeeded);
        let needed = shown.state["inputNeeded"].as_array();
        let needed = needed.is_some_and(|it| counts && !it.is_empty());
        // Up to 0.7.0 the reducers count tool calls that wait for a client as input needed, so the status
        // differs.
        let names = if needed { &["annotations"][..] } else { &["status", "annotations"] };
        let newest = self.state(uri);
        let names = names.iter().filter(move |_| has);
        names.filter_map(|name| Some((*name, newest.get(*name)?)))
    }

    /// Returns the value of a member of a session's summary in a view.
    fn known<'a>(
        &'a self,
        view: &'a VersionView,
        shown: &'a ViewedChannel,
        uri: &str,
        name: &str,
    ) -> Option<&'a Value> {
        let mut computed = self.computed(view, shown, uri);
        let computed = computed.find(|(known, _)| *known == name);
        computed.map(|(_, value)| value).or_else(|| shown.own().get(name))
    }

    /// Announces a session's status to the subscribers of a view's root channel, if the status changed in that version.
    /// If `told` is set, the status was already announced, and is only recorded.
    pub(super) fn tell_statuses(&mut self, uri: &str, told: bool) {
        for index in 0..self.views.len() {
            let status = self.views.get(index).and_then(|view| {
                let shown = view.channels.get(uri)?;
                let status = self.known(view, shown, uri, "status")?;
                (shown.listed.as_ref() != Some(status)).then(|| status.clone())
            });
            let Some(status) = status else { continue };
            let shown = self.views.get_mut(index).and_then(|view| view.channels.get_mut(uri));
            if let Some(shown) = shown {
                shown.listed = Some(status.clone());
            }
            if !told {
                let changes = json!({"status": status});
                let params = json!({"channel": ROOT, "session": uri, "changes": changes});
                self.notify_view(index, "root/sessionSummaryChanged", &params);
            }
        }
    }

    /// Translates a result to an older version. The summaries in a list of sessions come from the view's
    /// states.
    pub(super) fn lowered_result(&self, edge: &VersionEdge, method: &str, result: Value) -> Value {
        let listed = result["items"].as_array().filter(|_| method == "listSessions");
        let uris = listed.into_iter().flatten().map(|item| item["resource"].as_str());
        let uris: Vec<String> = uris.map(|uri| uri.unwrap_or_default().to_owned()).collect();
        let mut lowered = edge.lower_result(method, result);
        let items = lowered.get_mut("items").and_then(Value::as_array_mut);
        if let Some(view) = self.view_for(edge.protocol()).filter(|_| !uris.is_empty()) {
            for (item, uri) in items.into_iter().flatten().zip(&uris) {
                self.summary_shown(view, uri, item, true);
            }
        }
        lowered
    }

    /// Replaces the members of a summary by the members of the view. If `whole` is set, the summary is complete;
    /// otherwise it contains only changes.
    pub(super) fn summary_shown(&self, view: usize, uri: &str, summary: &mut Value, whole: bool) {
        let Some(view) = self.views.get(view) else { return };
        let Some(shown) = view.channels.get(uri) else { return };
        // In versions with chats the modification time comes from the latest chat, not from the session's
        // state.
        let by_chats = view.edge.has_chats();
        for (name, value) in summary.as_object_mut().into_iter().flat_map(Map::iter_mut) {
            // The identity members are the same in all versions.
            let fixed = IDENTITY.contains(&name.as_str());
            let told = fixed || by_chats && name.as_str() == "modifiedAt";
            if let Some(known) = self.known(view, shown, uri, name).filter(|_| !told) {
                *value = known.clone();
            }
        }
        if let Some(summary) = summary.as_object_mut().filter(|_| whole) {
            summary.extend(view.summary(uri));
        }
    }

    /// Translates the params of a client's request to the newest version.
    pub(super) fn raised_params(&self, edge: &VersionEdge, method: &str, params: &Value) -> Value {
        let mut params = edge.lift_params(method, params.clone());
        if !edge.has_chats()
            && matches!(method, "fetchTurns" | "completions")
            && let Some(session) = params["channel"].as_str()
            && let Some(chat) = self.state(session).get("defaultChat")
        {
            params["channel"] = chat.clone();
        }
        params
    }

    /// Returns the translation for a request, by the negotiated version or by the version that the request
    /// negotiates; `None` if the version needs no translation.
    pub(super) fn edge_of(&self, call: &HostCall, method: &str) -> Option<VersionEdge> {
        let protocol = self.protocol_for(call, method);
        let view = self.view_for(protocol).and_then(|view| self.views.get(view));
        view.map(|view| view.edge.clone())
    }

    /// Serves `fetchTurns` in versions whose response holds the turns: returns the latest turns before a named
    /// turn.
    pub(super) fn answer_turns(&self, call: &HostCall) -> CallReply {
        let uri = call.channel();
        let view = self.view_of(call.conn).and_then(|view| self.views.get(view));
        let Some((view, key)) = view.and_then(|view| Some((view, self.key_of(view, uri)?))) else {
            return Err(unknown_channel(uri));
        };
        let turns = view.state(&key)["turns"].as_array().cloned().unwrap_or_default();
        let end = match call.params.get("before").and_then(Value::as_str) {
            None => turns.len(),
            Some(before) => match turns.iter().position(|turn| turn["id"] == *before) {
                Some(end) => end,
                None => return Err(ErrorResponse::invalid_params("no turn has that id")),
            },
        };
        let limit = call.params.get("limit").and_then(Value::as_u64);
        let limit = limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX);
        let begin = end.saturating_sub(limit);
        Ok(json!({"turns": &turns[begin..end], "hasMore": begin > 0}))
    }
}
