//! Where injected faults take part in the host: the hooks of [`HostFault`], and the places that call them.
//!
//! The host names its rules by their requirements and asks at one place, [`RefHost::keeps`], whether one is in force.
//! What a fault does beyond that hangs on a few general places: a dispatch, the consequences of an action, a rejection,
//! what the host publishes and notifies of, a request, a step of the agent, a timer. No function of the host names a
//! fault there.
//!
//! Knows: where the hooks are. Never knows: which fault does what; that stands in `fault`, by protocol concept.
//!
//! Start at [`HostFault`].

use std::fmt;

use crate::wire::channel::ChannelKind;
use crate::wire::json::Value;

use super::agent::Op;
use super::connection::{Call, Reply};
use super::dispatch::{DispatchedAction, Refusal, RejectedAction};
use super::engine::{Config, RefHost};
use super::fault::{self, Fault};
use super::publish::Origin;
use super::rules::Facts;

/// A fault in what the host does. Every hook leaves things as they are unless the fault has its own.
pub(super) trait HostFault: Send + Sync {
    /// Changes how the host is set up.
    fn configures(&self, _config: &mut Config) {}

    /// Whether a rule, by its requirement, is not in force.
    fn lifts(&self, _rule: &str) -> bool {
        false
    }

    /// Whether an action is taken although a rule or the reducers refuse it.
    fn waives(&self, _facts: &Facts, refusal: &Refusal) -> bool {
        self.lifts(&refusal.source)
    }

    /// Refuses an action that the rules allow, for this reason.
    fn refuses(&self, _facts: &Facts) -> Option<&'static str> {
        None
    }

    /// Looks at a dispatch before the host does. Returns whether the host still looks at it.
    fn receives(&self, _host: &mut RefHost, _it: &mut DispatchedAction) -> bool {
        true
    }

    /// Acts before an allowed action of a client is applied. Returns whether it still is.
    fn accepts(&self, _host: &mut RefHost, _uri: &str, _action: &Value, _from: &Origin) -> bool {
        true
    }

    /// Acts when a client's action was applied, before its consequences.
    fn precedes(&self, _host: &mut RefHost, _uri: &str, _action: &Value) {}

    /// Acts after the consequences of a client's action.
    fn follows(&self, _host: &mut RefHost, _uri: &str, _action: &Value) {}

    /// Acts when an action is sent back, and changes the envelope. Returns whether it is sent.
    fn rejects(&self, _host: &mut RefHost, _it: &RejectedAction, _envelope: &mut Value) -> bool {
        true
    }

    /// Changes an action of the host's own before it is applied. Returns whether it is.
    fn publishes(&self, _host: &mut RefHost, _uri: &str, _action: &mut Value) -> bool {
        true
    }

    /// Acts after an action of the host's own.
    fn published(&self, _host: &mut RefHost, _uri: &str, _action: &Value) {}

    /// Changes the state that a channel begins with.
    fn opens(&self, _kind: ChannelKind, _state: &mut Value) {}

    /// Changes the summary of a session.
    fn summarizes(&self, _host: &RefHost, _uri: &str, _summary: &mut Value) {}

    /// Changes a notification that is no action. Returns whether it is sent.
    fn notifies(&self, _host: &mut RefHost, _method: &str, _params: &mut Value) -> bool {
        true
    }

    /// Makes an id in the host's place.
    fn names(&self, _kind: &str) -> Option<String> {
        None
    }

    /// Acts before a request is served, and may answer it.
    fn serves(&self, _host: &mut RefHost, _method: &str, _call: &Call) -> Option<Reply> {
        None
    }

    /// Acts after a request, and changes its reply. What was sent meanwhile begins at `from` in the outputs.
    fn served(&self, _host: &mut RefHost, _request: &ServedRequest, reply: Reply) -> Reply {
        reply
    }

    /// Acts before a step of the agent. Returns whether the agent still takes it.
    fn performs(&self, _host: &mut RefHost, _step: &AgentStep, _op: &Op) -> bool {
        true
    }

    /// Acts before the host does what is due.
    fn ticks(&self, _host: &mut RefHost) {}
}

/// A request that was served.
pub(super) struct ServedRequest<'a> {
    pub(super) method: &'a str,
    pub(super) call: &'a Call<'a>,
    /// How many outputs waited when it came.
    pub(super) from: usize,
}

/// Where a step of the agent belongs.
pub(super) struct AgentStep<'a> {
    /// The chat.
    pub(super) uri: &'a str,
    /// The track of the run.
    pub(super) index: usize,
    pub(super) turn: &'a str,
}

/// The faults that take part in a host.
#[derive(Clone, Default)]
pub(super) struct InjectedFaults(Vec<&'static dyn HostFault>);

impl InjectedFaults {
    /// Those of these faults that take part in what a host does.
    pub(super) fn of(faults: &[Fault]) -> InjectedFaults {
        InjectedFaults(fault::in_host(faults).collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn configure(&self, config: &mut Config) {
        self.0.iter().for_each(|fault| fault.configures(config));
    }
}

impl fmt::Debug for InjectedFaults {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{} faults", self.0.len())
    }
}

impl IntoIterator for InjectedFaults {
    type Item = &'static dyn HostFault;
    type IntoIter = std::vec::IntoIter<&'static dyn HostFault>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl RefHost {
    /// Whether a rule is in force: a requirement, by its name, or a bound of the host's own.
    pub(super) fn keeps(&self, rule: &str) -> bool {
        !self.injected.0.iter().any(|fault| fault.lifts(rule))
    }

    /// Whether an action is taken all the same.
    pub(super) fn waives(&self, facts: &Facts, refusal: &Refusal) -> bool {
        self.injected.0.iter().any(|fault| fault.waives(facts, refusal))
    }

    /// Why an action is refused that the rules allow.
    pub(super) fn refuses(&self, facts: &Facts) -> Option<&'static str> {
        self.injected.0.iter().find_map(|fault| fault.refuses(facts))
    }

    /// Makes an id that this host has not used.
    pub(super) fn fresh_id(&mut self, kind: &str) -> String {
        let named = self.injected().into_iter().find_map(|fault| fault.names(kind));
        if let Some(id) = named {
            return id;
        }
        self.ids += 1;
        format!("{kind}-{:x}-{}", self.seed, self.ids)
    }

    /// Tells the subscribers of the root channel something that is not an action.
    pub(super) fn notify(&mut self, method: &str, mut params: Value) {
        if self.sends_notice(method, &mut params) {
            self.notify_all(method, params);
        }
    }

    /// Whether a notification is sent, which faults may change.
    pub(super) fn sends_notice(&mut self, method: &str, params: &mut Value) -> bool {
        self.injected().into_iter().all(|fault| fault.notifies(self, method, params))
    }

    /// The faults, apart from the host that they change.
    pub(super) fn injected(&self) -> InjectedFaults {
        self.injected.clone()
    }
}
