//! The channels of the host with their states, in the newest version.
//!
//! Owns: the states. Knows: the reducers. Never knows: connections, the log, older versions
//! ([`version_views`](super::version_views)).
//!
//! Start at [`ChannelStates`].

use litemap::LiteMap;

use super::reading::action_type;
use super::state_faults::StateFaults;
use crate::model::{ActionOutcome, apply};
use crate::wire::channel::ChannelKind;
use crate::wire::json::Value;
use crate::wire::version::Version;

/// A channel with its state.
#[derive(Debug)]
struct ChannelState {
    kind: ChannelKind,
    state: Value,
    /// The `serverSeq` at which the channel was created; no replay of the channel begins before this number.
    born: u64,
    /// The state before the last action; set only if state faults are active.
    before: Option<Value>,
}

/// The channels of the host, by URI. A method does nothing, or returns null or `None`, for a channel that does not
/// exist.
#[derive(Debug, Default)]
pub(super) struct ChannelStates {
    all: LiteMap<String, ChannelState>,
}

impl ChannelStates {
    /// Adds a channel; `born` is the `serverSeq` of its creation.
    pub(super) fn add(&mut self, uri: &str, kind: ChannelKind, state: Value, born: u64) {
        self.all.insert(uri.to_owned(), ChannelState { kind, state, born, before: None });
    }

    /// Removes a channel and returns its kind.
    pub(super) fn remove(&mut self, uri: &str) -> Option<ChannelKind> {
        self.all.remove(uri).map(|channel| channel.kind)
    }

    pub(super) fn has(&self, uri: &str) -> bool {
        self.all.contains_key(uri)
    }

    pub(super) fn kind(&self, uri: &str) -> Option<ChannelKind> {
        self.all.get(uri).map(|channel| channel.kind)
    }

    pub(super) fn state(&self, uri: &str) -> &Value {
        self.all.get(uri).map_or(&Value::Null, |channel| &channel.state)
    }

    /// Returns the `serverSeq` at which a channel was created.
    pub(super) fn born(&self, uri: &str) -> Option<u64> {
        self.all.get(uri).map(|channel| channel.born)
    }

    /// Returns the URIs of all channels.
    pub(super) fn uris(&self) -> impl Iterator<Item = &String> {
        self.all.keys()
    }

    /// Returns the URIs and the kinds of all channels.
    pub(super) fn kinds(&self) -> impl Iterator<Item = (&str, ChannelKind)> {
        self.all.iter().map(|(uri, channel)| (uri.as_str(), channel.kind))
    }

    /// Returns the state of a channel for a snapshot, with the injected faults in states.
    pub(super) fn shown(&self, uri: &str, faults: &StateFaults) -> Option<Value> {
        let channel = self.all.get(uri)?;
        Some(faults.shown(&channel.state, channel.before.as_ref()))
    }

    /// Applies an action to the state of its channel, with the injected faults in states.
    pub(super) fn reduce(
        &mut self,
        version: Version,
        uri: &str,
        action: &Value,
        faults: &StateFaults,
    ) -> ActionOutcome {
        let Some(channel) = self.all.get_mut(uri) else {
            return ActionOutcome::OutOfScope;
        };
        let reduce = |state: &mut Value| apply(version, channel.kind, state, action);
        let (state, before) = (&mut channel.state, &mut channel.before);
        faults.reduce(action_type(action), action, false, state, before, reduce)
    }

    /// Applies an action that is not published.
    pub(super) fn reduce_unpublished(&mut self, version: Version, uri: &str, action: &Value) {
        if let Some(channel) = self.all.get_mut(uri) {
            apply(version, channel.kind, &mut channel.state, action);
        }
    }

    /// Changes the state of a channel without an action, where the specification has no action for the change.
    pub(super) fn change(&mut self, uri: &str, change: impl FnOnce(&mut Value)) {
        if let Some(channel) = self.all.get_mut(uri) {
            change(&mut channel.state);
        }
    }

    /// Changes the states of all channels, or of those of one kind, without an action.
    pub(super) fn change_all(&mut self, kind: Option<ChannelKind>, change: fn(&mut Value)) {
        let all = self.all.iter_mut().map(|(_, channel)| channel);
        let meant = all.filter(|channel| kind.is_none_or(|kind| channel.kind == kind));
        meant.for_each(|channel| change(&mut channel.state));
    }

    /// Treats all channels as created at `serverSeq` 0.
    pub(super) fn forget_births(&mut self) {
        self.all.iter_mut().for_each(|(_, channel)| channel.born = 0);
    }
}
