//! What clients of an older version are shown: its words, folded by its own reducers.
//!
//! The host thinks in the newest version. For each older one that it offers there is a [`VersionView`]: as
//! an action takes place it is lowered to the words of that version and folded into a state of that
//! version, so that what such a client is given is always the sum of what it was told. Actions that
//! only the older version has act on the view alone.
//!
//! Knows: edges, reducers. Never knows: whether an action was allowed.
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

/// The members of a summary that no newer version has, or changes otherwise.
const OWN: &[&str] = &["model", "agent", "diffs", "changesets"];

/// One older version, and what its clients see.
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
    /// The state before the last action, where there are faults in states.
    before: Option<Value>,
    /// The status that those know who only list the sessions.
    listed: Option<Value>,
}

/// An action in the words of one view: the channel as the host calls it, and as the wire does.
#[derive(Clone, Debug)]
pub(super) struct ViewedAction {
    pub(super) key: String,
    pub(super) channel: String,
    pub(super) action: Value,
}

/// What a client of an older version dispatched.
#[derive(Clone, Debug)]
pub(super) struct ViewedDispatch {
    pub(super) view: usize,
    pub(super) worded: ViewedAction,
}

impl ViewedChannel {
    /// What it says of itself, which was a part of the state once.
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

    /// The state of a channel as it is on the wire; null where there is none.
    pub(super) fn state(&self, key: &str) -> &Value {
        self.channels.get(key).map_or(&Value::Null, |shown| &shown.state)
    }

    /// What the summary of a session says that only this version knows.
    pub(super) fn summary(&self, key: &str) -> Map {
        let summary = self.state(key).get("summary");
        let known = |name: &&str| Some(((*name).to_owned(), summary?.get(*name)?.clone()));
        OWN.iter().filter_map(known).collect()
    }

    /// Folds an action by the reducers of the version.
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

/// Makes the turns of a state or an action those that a state shows under their ids: what they hold in an older
/// version, and in which order, is the sum of what was told there.
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
    /// The view of a connection, where it speaks an older version.
    pub(super) fn view_of(&self, conn: ConnId) -> Option<usize> {
        self.connections.get(&conn)?.view
    }

    /// The view of a version, where it is an older one.
    pub(super) fn view_for(&self, protocol: &'static Protocol) -> Option<usize> {
        self.views.iter().position(|view| std::ptr::eq(view.edge.protocol(), protocol))
    }

    /// The wall clock in milliseconds.
    pub(super) fn wall_ms(&self) -> u64 {
        let elapsed = u64::try_from(self.now.as_millis()).unwrap_or(u64::MAX);
        self.epoch_ms.saturating_add(elapsed)
    }

    /// A channel came to be.
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
            // A fork begins with the turns of its source as they are there.
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

    /// A channel is no more; `heard`: but where it has turns of its own.
    pub(super) fn hide(&mut self, uri: &str, heard: bool) {
        for view in self.views.iter_mut().filter(|view| !heard || view.edge.has_chats()) {
            view.channels.remove(uri);
        }
    }

    /// An action in the words of each view. What a client sent is given back to its own version as it
    /// was sent.
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

    /// What a channel is to a view: itself, or the session whose only chat it is.
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

    /// Folds an action into every view that has words for it.
    pub(super) fn fold_views(&mut self, kind: &str, worded: &[Option<ViewedAction>]) {
        let (faults, now) = (self.state_faults.clone(), self.wall_ms());
        for (view, worded) in self.views.iter_mut().zip(worded) {
            if let Some(worded) = worded {
                view.fold(&faults, now, kind, worded);
            }
        }
    }

    /// The notification of an action for a view.
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

    /// What a dispatch of an older version means: the channel and the action in the host's words, and
    /// what was sent. `None` where there is no such channel or no action.
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
            // The crate of those versions leaves out what the texts say is null.
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
        // What the version does not tell, the host knows.
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

    /// Where one client alone can be active, who comes takes the place of who was there.
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
            // Said to nobody here: the action that follows says it.
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

    /// Takes an action that only an older version has.
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

    /// Says something to the clients of the older versions for which it is meant: what they have other
    /// actions for, or what no newer version has a word for.
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

    /// Tells those who list the sessions of a view what has changed of a summary there and nowhere else.
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

    /// Whether a client can be given a channel.
    pub(super) fn exists_for(&self, conn: ConnId, uri: &str) -> bool {
        match self.view_of(conn).and_then(|view| self.views.get(view)) {
            // What has no state is the same for everybody.
            Some(view) if !self.channels.contains_key(uri) => {
                self.exists(uri) && view.edge.protocol().has(ProtocolFeature::Channels)
            }
            Some(view) => view.channels.contains_key(uri),
            None => self.exists(uri),
        }
    }

    /// The state of a channel that a view gives out. What the newest version changes without an action
    /// is as it is there.
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

    /// What the newest version changes of a session without an action, where a view says it too.
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
        // Up to 0.7.0 the reducers count what only clients can do among what waits for a person.
        let names = if needed { &["annotations"][..] } else { &["status", "annotations"] };
        let newest = self.state(uri);
        let names = names.iter().filter(move |_| has);
        names.filter_map(|name| Some((*name, newest.get(*name)?)))
    }

    /// What the clients of a view know of a member of a session's summary.
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

    /// Tells those who list the sessions of a view the status of one, where it changes there at another time than in the
    /// newest version. `told`: it has just been said.
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

    /// A result in the words of an older version; a list of sessions says of each what its state says there.
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

    /// A summary as the clients of a view know it: what its state says counts. `whole`: it is not just what has changed.
    pub(super) fn summary_shown(&self, view: usize, uri: &str, summary: &mut Value, whole: bool) {
        let Some(view) = self.views.get(view) else { return };
        let Some(shown) = view.channels.get(uri) else { return };
        // The latest of its chats dates a session, whatever its own state saw.
        let by_chats = view.edge.has_chats();
        for (name, value) in summary.as_object_mut().into_iter().flat_map(Map::iter_mut) {
            // What never changes is no version's own.
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

    /// The request of a client in the host's words.
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

    /// The edge of a request: that of the version agreed on, or about to be.
    pub(super) fn edge_of(&self, call: &HostCall, method: &str) -> Option<VersionEdge> {
        let protocol = self.protocol_for(call, method);
        let view = self.view_for(protocol).and_then(|view| self.views.get(view));
        view.map(|view| view.edge.clone())
    }

    /// Serves `fetchTurns` as it was when the answer held the turns: those before one that is named,
    /// the latest first to go.
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
