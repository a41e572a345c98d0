//! Views: the states that clients of an older version see, computed by the reducers of that version.
//!
//! The host stores its states in the newest version. For each older version that the host supports there is a
//! [`VersionView`]. The host translates every action to that version and applies it to the view's state. The state
//! therefore always results from the actions that the clients of the view received. Actions that only the older version
//! has change only the view.
//!
//! Owns: the states of the views. Knows: edges, reducers. Never knows: connections, the log, the rules for actions.
//!
//! Start at [`VersionViews`].

use std::collections::HashMap;

use litemap::LiteMap;

use super::configuration::PROVIDER;
use super::reading::action_type;
use super::state_faults::StateFaults;
use crate::edge::{ChangeContext, VersionEdge};
use crate::model::{ActionOutcome, apply_at};
use crate::wire::channel::ChannelKind;
use crate::wire::json::{Map, Value, json};
use crate::wire::protocol::Protocol;
use crate::wire::trim::TrimType;

/// The members of a summary that newer versions do not have, or that other actions change in newer versions.
const OWN: &[&str] = &["model", "agent", "diffs", "changesets"];

/// A channel as clients of an older version see it.
#[derive(Debug)]
pub(super) struct ViewedChannel {
    kind: ChannelKind,
    state: Value,
    /// The state before the last action; set only if state faults are active.
    before: Option<Value>,
    /// The status that was last announced to the subscribers of the root channel.
    listed: Option<Value>,
}

impl ViewedChannel {
    pub(super) fn kind(&self) -> ChannelKind {
        self.kind
    }

    pub(super) fn state(&self) -> &Value {
        &self.state
    }

    /// Returns the object with the session's own members: `summary` in versions that have this member, the
    /// state in other versions.
    pub(super) fn own(&self) -> &Value {
        self.state.get("summary").unwrap_or(&self.state)
    }

    /// Returns the state for a snapshot, with the injected faults in states.
    pub(super) fn shown(&self, faults: &StateFaults) -> Value {
        faults.shown(&self.state, self.before.as_ref())
    }

    /// Returns the status that was last announced to the subscribers of the root channel.
    pub(super) fn listed(&self) -> Option<&Value> {
        self.listed.as_ref()
    }
}

/// An action with the names of a view's version; `key` is the channel in the host's spelling, `channel` in the
/// view's spelling.
#[derive(Clone, Debug)]
pub(super) struct ViewedAction {
    pub(super) key: String,
    pub(super) channel: String,
    pub(super) action: Value,
}

/// An older version, and the channels as its clients see them.
#[derive(Debug)]
pub(super) struct VersionView {
    edge: VersionEdge,
    channels: LiteMap<String, ViewedChannel>,
}

impl VersionView {
    fn new(protocol: &Protocol) -> VersionView {
        VersionView {
            edge: VersionEdge::new(protocol.version(), PROVIDER),
            channels: LiteMap::new(),
        }
    }

    /// Returns the translation between the newest version and the view's version.
    pub(super) fn edge(&self) -> &VersionEdge {
        &self.edge
    }

    pub(super) fn channel(&self, key: &str) -> Option<&ViewedChannel> {
        self.channels.get(key)
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.channels.contains_key(key)
    }

    /// Returns the channels of the view with their URIs.
    pub(super) fn channels(&self) -> impl Iterator<Item = (&String, &ViewedChannel)> {
        self.channels.iter()
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

    /// Adds a new channel, if clients of this version see it.
    fn show(&mut self, uri: &str, kind: ChannelKind, state: &Value, now: &str) {
        if kind == ChannelKind::Chat && !self.edge.has_chats() {
            return;
        }
        let own = json!({
            "resource": self.edge.lower_uri(uri), "createdAt": now, "modifiedAt": now,
        });
        let Some(mut state) = self.edge.lower_state(kind, state, ChangeContext { state: &own })
        else {
            return;
        };
        // A fork begins with the turns of its source as the view shows them.
        if let Some(source) = state["origin"]["chat"].as_str().map(str::to_owned) {
            as_shown(&mut state, self.state(&source));
        }
        if kind == ChannelKind::Session && !self.edge.has_chats() {
            state["turns"] = json!([]);
        }
        let mut shown = ViewedChannel { kind, state, before: None, listed: None };
        shown.listed = shown.own().get("status").cloned();
        self.channels.insert(uri.to_owned(), shown);
    }

    /// Applies an action to the view's state. `kind` is the type of the action in the newest version.
    fn reduce(
        &mut self,
        kind: &str,
        worded: &ViewedAction,
        now_ms: u64,
        faults: &StateFaults,
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

/// The views of a host, one for each older version. A view is named by its index.
#[derive(Debug, Default)]
pub(super) struct VersionViews {
    all: Vec<VersionView>,
}

impl VersionViews {
    pub(super) fn new<'a>(versions: impl IntoIterator<Item = &'a Protocol>) -> VersionViews {
        VersionViews { all: versions.into_iter().map(VersionView::new).collect() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Returns the number of views.
    pub(super) fn count(&self) -> usize {
        self.all.len()
    }

    pub(super) fn get(&self, view: usize) -> Option<&VersionView> {
        self.all.get(view)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &VersionView> {
        self.all.iter()
    }

    /// Returns the index of a version's view; `None` if the version needs no view.
    pub(super) fn position(&self, protocol: &'static Protocol) -> Option<usize> {
        self.all.iter().position(|view| std::ptr::eq(view.edge.protocol(), protocol))
    }

    /// Adds a new channel to the views; `now` is the timestamp of its creation.
    pub(super) fn show(&mut self, uri: &str, kind: ChannelKind, state: &Value, now: &str) {
        self.all.iter_mut().for_each(|view| view.show(uri, kind, state, now));
    }

    /// Removes a channel from the views. If `heard` is set, removes it only from views that have chat channels.
    pub(super) fn hide(&mut self, uri: &str, heard: bool) {
        for view in self.all.iter_mut().filter(|view| !heard || view.edge.has_chats()) {
            view.channels.remove(uri);
        }
    }

    /// Applies an action to one view.
    pub(super) fn reduce_in(
        &mut self,
        view: usize,
        worded: &ViewedAction,
        now_ms: u64,
        faults: &StateFaults,
    ) -> ActionOutcome {
        let kind = action_type(&worded.action);
        let view = self.all.get_mut(view);
        view.map_or(ActionOutcome::OutOfScope, |view| view.reduce(kind, worded, now_ms, faults))
    }

    /// Applies a translated action to its views; an item of `worded` is `None` for a view that does not have the
    /// action.
    pub(super) fn reduce(
        &mut self,
        kind: &str,
        worded: &[Option<ViewedAction>],
        now_ms: u64,
        faults: &StateFaults,
    ) {
        for (view, worded) in self.all.iter_mut().zip(worded) {
            if let Some(worded) = worded {
                view.reduce(kind, worded, now_ms, faults);
            }
        }
    }

    /// Records the announced status of a session.
    pub(super) fn list_status(&mut self, view: usize, uri: &str, status: Value) {
        let view = self.all.get_mut(view);
        if let Some(shown) = view.and_then(|view| view.channels.get_mut(uri)) {
            shown.listed = Some(status);
        }
    }

    /// Gives a forked session the turns of its source, and a new session the members that its client chose for
    /// it, where the version has them. `history` is the number of turns of the fork.
    pub(super) fn begin_session(
        &mut self,
        uri: &str,
        source: Option<&str>,
        history: usize,
        chosen: &[(&str, Value)],
    ) {
        for view in &mut self.all {
            let known = source.filter(|_| !view.edge.has_chats());
            let turns = known.map(|source| view.state(source)["turns"].clone());
            let Some(shown) = view.channels.get_mut(uri) else { continue };
            if let Some(Value::Array(mut turns)) = turns {
                turns.truncate(history);
                shown.state["turns"] = json!(turns);
            }
            for (name, value) in chosen {
                if view.edge.protocol().has_member(TrimType::Params("createSession"), name) {
                    shown.state["summary"][*name] = value.clone();
                }
            }
        }
    }

    /// Changes the states of all channels, or of those of one kind, without an action. Only injected faults and
    /// legal variants do this.
    pub(super) fn change_all(&mut self, kind: Option<ChannelKind>, change: fn(&mut Value)) {
        let all = self.all.iter_mut().flat_map(|view| view.channels.iter_mut());
        let meant = all.filter(|(_, shown)| kind.is_none_or(|kind| shown.kind == kind));
        meant.for_each(|(_, shown)| change(&mut shown.state));
    }

    /// Changes the states of a channel of the given kind without an action. Only injected faults do this.
    pub(super) fn change(&mut self, uri: &str, kind: ChannelKind, change: impl Fn(&mut Value)) {
        let all = self.all.iter_mut().filter_map(|view| view.channels.get_mut(uri));
        all.filter(|shown| shown.kind == kind).for_each(|shown| change(&mut shown.state));
    }
}

/// Replaces the turns of a state or an action by the turns with the same ids in `shown`. A turn in a view
/// results from the actions that the clients of the view received; it is not a translation.
pub(super) fn as_shown(members: &mut Value, shown: &Value) {
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
