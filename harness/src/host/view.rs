//! What clients of an older version see: the translation of actions, notifications, results and requests between
//! the newest version and the versions of the views.
//!
//! Knows: edges, the states of the views. Never knows: the rules for actions.
//!
//! Start at [`RefHost::worded`].

use super::dispatched::{ActionOrigin, ViewedDispatch};
use crate::edge::{ChangeContext, VersionEdge};
use crate::model::{ActionOutcome, NoOp};
use crate::transcript::ConnId;
use crate::wire::channel::{ChannelKind, ROOT};
use crate::wire::feature::ProtocolFeature;
use crate::wire::json::{Map, Text, Value, json};
use crate::wire::protocol::Protocol;

use super::annotations::place_note;
use super::engine::RefHost;
use super::log::VersionFace;
use super::reading::action_type;
use super::request::{CallReply, ErrorResponse, HostCall, unknown_channel};
use super::rollup::IDENTITY;
use super::version_views::{VersionView, ViewedAction, ViewedChannel, as_shown};

impl RefHost {
    /// Returns the index of a connection's view; `None` if the version of the connection needs no view.
    pub(super) fn view_of(&self, conn: ConnId) -> Option<usize> {
        self.connections.get(conn)?.view()
    }

    /// Returns the index of a version's view; `None` if the version needs no view.
    pub(super) fn view_for(&self, protocol: &'static Protocol) -> Option<usize> {
        self.views.position(protocol)
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
                let channel = view.edge().lower_uri(&key);
                if !view.edge().protocol().has(ProtocolFeature::Channels) {
                    raw["session"] = json!(channel);
                }
                Some((channel, raw))
            };
            let lowered = view.edge().lower_action(&key, action, beside).or_else(raw);
            let (channel, mut action) = lowered?;
            if action_type(&action) == "chat/turnsLoaded" {
                as_shown(&mut action, beside.state);
            }
            view.has(&key).then_some(ViewedAction { key, channel, action })
        };
        self.views.iter().enumerate().map(of).collect()
    }

    /// Returns the channel of a view that corresponds to a host's channel. In versions without chats, the
    /// session's channel corresponds to a default chat. Returns `None` if the view has no such channel.
    fn key_of(&self, view: &VersionView, uri: &str) -> Option<String> {
        match self.chats.session_of(uri) {
            Some(session) if !view.edge().has_chats() => {
                let default = self.state(session)["defaultChat"] == *uri;
                let default = default || !self.keeps("session.dispose.stops-agent");
                default.then(|| session.to_owned())
            }
            _ => Some(uri.to_owned()),
        }
    }

    /// Applies a translated action to its view.
    pub(super) fn fold_views(&mut self, kind: &str, worded: &[Option<ViewedAction>]) {
        let now = self.clock.wall_ms();
        self.views.reduce(kind, worded, now, &self.state_faults);
    }

    /// Returns the notification of an action for a view.
    pub(super) fn face(
        &self,
        view: usize,
        worded: ViewedAction,
        seq: u64,
        more: &Map,
    ) -> Option<VersionFace> {
        let protocol = self.views.get(view)?.edge().protocol();
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
        let edge = self.views.get(view)?.edge();
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
                action["startedAt"] = json!(self.clock.timestamp());
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
            self.channels.reduce_unpublished(self.protocol.version(), uri, &gone);
        }
    }

    /// Applies and sends an action that only an older version has.
    pub(super) fn publish_own(
        &mut self,
        sent: &ViewedDispatch,
        origin: &ActionOrigin,
    ) -> ActionOutcome {
        let before = self.view_summary(sent.view, &sent.worded.key);
        let now = self.clock.wall_ms();
        let outcome = self.views.reduce_in(sent.view, &sent.worded, now, &self.state_faults);
        if matches!(outcome, ActionOutcome::Applied | ActionOutcome::NoOp(NoOp::Unchanged)) {
            self.emit(&sent.worded.key, sent.worded.action.clone(), Some(origin));
            self.tell_summary(sent.view, &sent.worded.key, &before);
        }
        outcome
    }

    /// Sends an action to the clients of the older versions that have the action and for which `meant` returns `true`.
    pub(super) fn say_old(&mut self, key: &str, action: &Value, meant: fn(&Protocol) -> bool) {
        for index in 0..self.views.count() {
            let Some(view) = self.views.get(index) else {
                continue;
            };
            let known = view.edge().protocol().action(action_type(action)).is_some();
            if !known || !meant(view.edge().protocol()) || !view.has(key) {
                continue;
            }
            let lowered =
                view.edge().lower_action(key, action, ChangeContext { state: view.state(key) });
            let Some((channel, action)) = lowered else {
                continue;
            };
            let worded = ViewedAction { key: key.to_owned(), channel, action };
            let mut all: Vec<Option<ViewedAction>> = self.views.iter().map(|_| None).collect();
            if let Some(place) = all.get_mut(index) {
                *place = Some(worded.clone());
            }
            let before = self.view_summary(index, key);
            let now = self.clock.wall_ms();
            self.views.reduce_in(index, &worded, now, &self.state_faults);
            self.emit_worded(key, worded.action, None, all, true);
            self.tell_summary(index, key, &before);
        }
    }

    /// Returns the members of a session's summary that only the version of a view has.
    fn view_summary(&self, view: usize, key: &str) -> Map {
        self.views.get(view).map(|view| view.summary(key)).unwrap_or_default()
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
            Some(view) if !self.channels.has(uri) => {
                self.exists(uri) && view.edge().protocol().has(ProtocolFeature::Channels)
            }
            Some(view) => view.has(uri),
            None => self.exists(uri),
        }
    }

    /// Returns the state of a channel for a snapshot in a view. The members that only the newest version
    /// computes are copied from the host's state.
    pub(super) fn shown(&self, view: usize, uri: &str) -> Option<Value> {
        let view = self.views.get(view)?;
        let shown = view.channel(uri)?;
        let mut state = shown.shown(&self.state_faults);
        let place = match view.edge().protocol().has(ProtocolFeature::FlatSession) {
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
        let has = shown.kind() == ChannelKind::Session && view.edge().has_chats();
        let counts = view.edge().protocol().has(ProtocolFeature::ClientToolsRaiseInputNeeded);
        let needed = shown.state()["inputNeeded"].as_array();
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
        for index in 0..self.views.count() {
            let status = self.views.get(index).and_then(|view| {
                let shown = view.channel(uri)?;
                let status = self.known(view, shown, uri, "status")?;
                (shown.listed() != Some(status)).then(|| status.clone())
            });
            let Some(status) = status else { continue };
            self.views.list_status(index, uri, status.clone());
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
        let Some(shown) = view.channel(uri) else { return };
        // In versions with chats the modification time comes from the latest chat, not from the session's
        // state.
        let by_chats = view.edge().has_chats();
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
        view.map(|view| view.edge().clone())
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
