//! The hooks by which injected faults and legal variants change the behaviour of the host, and the code that
//! calls them.
//!
//! The host names its rules by their requirements and asks [`RefHost::keeps`] whether to enforce a rule. The host calls
//! other hooks at general places: for requests and replies, for actions before and after they are applied, for
//! rejections and notifications, for values that the host makes, for steps of the agent, and for events that no message
//! reports. The code at these places does not mention any fault or variant.
//!
//! Knows: the hooks. Never knows: the single faults and variants.
//!
//! Start at [`HostHooks`].

use std::fmt;

use crate::wire::channel::ChannelKind;
use crate::wire::json::{Value, json};

use super::agent::HostAgentOp;
use super::dispatched::{ActionOrigin, DispatchRefusal, DispatchedAction, RejectedAction};
use super::engine::RefHost;
use super::request::{CallReply, HostCall};
use super::rule_facts::RuleFacts;

/// A change to the behaviour of the host: a fault or a legal variant. By default every hook changes nothing.
pub(super) trait HostHooks: Send + Sync {
    /// Handles an event of the host that no message reports.
    fn happens(&self, _host: &mut RefHost, _event: &HostEvent) {}

    /// Returns whether the host does not enforce a rule; `rule` is the id of the requirement.
    fn lifts(&self, _rule: &str) -> bool {
        false
    }

    /// Returns whether an action is accepted although a rule or the reducers refuse it.
    fn waives(&self, _facts: &RuleFacts, refusal: &DispatchRefusal) -> bool {
        self.lifts(&refusal.source)
    }

    /// Returns the reason to reject an action that the rules allow; `None` to accept the action.
    fn refuses(&self, _facts: &RuleFacts) -> Option<&'static str> {
        None
    }

    /// Runs before the host handles a dispatch. Returns whether the host handles the dispatch.
    fn receives(&self, _host: &mut RefHost, _it: &mut DispatchedAction) -> bool {
        true
    }

    /// Runs before the host applies an action; for a client's action, after the rules have allowed the action.
    /// `from` is the client; `None` for the host's own action. May change the action. Returns whether the host
    /// applies the action.
    fn acts(
        &self,
        _host: &mut RefHost,
        _uri: &str,
        _action: &mut Value,
        _from: Option<&ActionOrigin>,
    ) -> bool {
        true
    }

    /// Runs after the host has applied an action. At [`ActionStage::Accepted`], a change to the action also
    /// affects the consequences of the action.
    fn acted(&self, _host: &mut RefHost, _uri: &str, _action: &mut Value, _stage: ActionStage) {}

    /// Runs when the host rejects an action; may change the envelope. Returns whether the host sends the
    /// envelope.
    fn rejects(&self, _host: &mut RefHost, _it: &RejectedAction, _envelope: &mut Value) -> bool {
        true
    }

    /// Runs before the host sends a notification other than `action`; may change the notification. Returns
    /// whether the host sends the notification.
    fn notifies(&self, _host: &mut RefHost, _method: &str, _params: &mut Value) -> bool {
        true
    }

    /// Changes a value that the host has made.
    fn makes(&self, _host: &RefHost, _what: &MadeValue, _value: &mut Value) {}

    /// Runs before the host serves a request. If the hook returns a reply, the host sends this reply and does
    /// not serve the request.
    fn serves(&self, _host: &mut RefHost, _method: &str, _call: &HostCall) -> Option<CallReply> {
        None
    }

    /// Runs after the host has served a request; returns the reply to send.
    fn served(&self, _host: &mut RefHost, _request: &ServedRequest, reply: CallReply) -> CallReply {
        reply
    }

    /// Runs before a step of the agent. Returns whether the agent performs the step.
    fn performs(&self, _host: &mut RefHost, _step: &AgentStep, _op: &HostAgentOp) -> bool {
        true
    }
}

/// The stages of an applied action.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum ActionStage {
    /// The stage of the host's own action, after it was applied.
    Published,
    /// The stage of a client's action before the consequences of the action.
    Accepted,
    /// The stage of a client's action after the consequences of the action.
    Followed,
}

/// A kind of value that the host makes.
pub(super) enum MadeValue<'a> {
    /// The first state of a channel.
    FirstState(ChannelKind),
    /// The summary of the session with this URI.
    Summary(&'a str),
    /// An id of a kind, such as `call`.
    Id(&'a str),
    /// The message of a turn that the agent receives.
    MessageForAgent,
    /// The context that the agent of the chat with this URI knows in addition to the message: a list for each source.
    ContextForAgent(&'a str),
    /// The body of a request to a model about the active turn of the chat with this URI.
    ModelRequest(&'a str),
}

/// An event of the host that no message to a client reports.
pub(super) enum HostEvent<'a> {
    /// The host was created.
    Made,
    /// Time has passed, and the host has not handled its timers yet.
    Timer,
    /// A connection has ended; the value is the client id, `None` before a handshake.
    Closed(Option<&'a str>),
    /// A client has unsubscribed from a channel.
    Unsubscribed {
        /// The client that has unsubscribed.
        client: &'a str,
        /// The channel that the client has left.
        uri: &'a str,
    },
    /// The host came back after a crash.
    Restarted,
}

/// A request that was served.
pub(super) struct ServedRequest<'a> {
    pub(super) method: &'a str,
    pub(super) call: &'a HostCall<'a>,
    /// The number of outputs in the queue when the request arrived; the request caused all later outputs.
    pub(super) from: usize,
}

/// The chat, the track and the turn of a step of the agent.
pub(super) struct AgentStep<'a> {
    /// The chat.
    pub(super) uri: &'a str,
    /// The track of the run.
    pub(super) index: usize,
    pub(super) turn: &'a str,
}

/// The active changes to the behaviour of the host, in their order.
#[derive(Clone, Default)]
pub(super) struct ActiveHooks(Vec<&'static dyn HostHooks>);

impl ActiveHooks {
    pub(super) fn new(hooks: Vec<&'static dyn HostHooks>) -> ActiveHooks {
        ActiveHooks(hooks)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for ActiveHooks {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{} changes", self.0.len())
    }
}

impl IntoIterator for ActiveHooks {
    type Item = &'static dyn HostHooks;
    type IntoIter = std::vec::IntoIter<&'static dyn HostHooks>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl RefHost {
    /// Returns whether the host enforces a rule; `rule` is the id of a requirement.
    pub(super) fn keeps(&self, rule: &str) -> bool {
        !self.injected.0.iter().any(|fault| fault.lifts(rule))
    }

    /// Returns whether a hook accepts an action that was refused.
    pub(super) fn waives(&self, facts: &RuleFacts, refusal: &DispatchRefusal) -> bool {
        self.injected.0.iter().any(|fault| fault.waives(facts, refusal))
    }

    /// Returns the reason why a hook rejects an action that the rules allow; `None` if no hook rejects the action.
    pub(super) fn refuses(&self, facts: &RuleFacts) -> Option<&'static str> {
        self.injected.0.iter().find_map(|fault| fault.refuses(facts))
    }

    /// Makes an identifier that this host has not used.
    pub(super) fn fresh_id(&mut self, kind: &str) -> String {
        let id = self.ids.next(kind);
        if self.injected.0.is_empty() {
            return id;
        }
        let made = self.made(&MadeValue::Id(kind), json!(id));
        made.as_str().unwrap_or_default().to_owned()
    }

    /// Returns a value that the host has made, after the changes by the hooks.
    pub(super) fn made(&self, what: &MadeValue, mut value: Value) -> Value {
        self.injected.0.iter().for_each(|fault| fault.makes(self, what, &mut value));
        value
    }

    /// Lets faults change an action before it is applied; returns whether the host applies the action.
    pub(super) fn acts(
        &mut self,
        uri: &str,
        action: &mut Value,
        from: Option<&ActionOrigin>,
    ) -> bool {
        self.injected().into_iter().all(|fault| fault.acts(self, uri, action, from))
    }

    /// Calls the hooks after an action was applied.
    pub(super) fn acted(&mut self, uri: &str, action: &mut Value, stage: ActionStage) {
        self.injected().into_iter().for_each(|fault| fault.acted(self, uri, action, stage));
    }

    /// Sends a notification other than `action` to the subscribers of the root channel.
    pub(super) fn notify(&mut self, method: &str, mut params: Value) {
        if self.sends_notice(method, &mut params) {
            self.notify_all(method, params);
        }
    }

    /// Lets faults change a notification; returns whether the host sends the notification.
    pub(super) fn sends_notice(&mut self, method: &str, params: &mut Value) -> bool {
        self.injected().into_iter().all(|fault| fault.notifies(self, method, params))
    }

    /// Calls the hooks for an event.
    pub(super) fn happened(&mut self, event: &HostEvent) {
        self.injected().into_iter().for_each(|fault| fault.happens(self, event));
    }

    /// Returns a copy of the active hooks, so that they can borrow the host mutably.
    pub(super) fn injected(&self) -> ActiveHooks {
        self.injected.clone()
    }
}
