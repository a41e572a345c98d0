//! Implementations of [`HostHooks`] and [`StateFault`] by one function or value each, for the tables of faults
//! and of legal variants.
//!
//! Knows: the hooks. Never knows: the function or value of a row.

use crate::agent::script::{ScriptStep, ToolStep};
use crate::host::agent::HostAgentOp;
use crate::host::dispatched::{ActionOrigin, DispatchRefusal, DispatchedAction, RejectedAction};
use crate::host::engine::RefHost;
use crate::host::injected::{
    ActionStage, AgentStep, HostEvent, HostHooks, MadeValue, ServedRequest,
};
use crate::host::reading::action_type;
use crate::host::request::{CallReply, HostCall};
use crate::host::rule_facts::RuleFacts;
use crate::host::state_faults::{ReducedAction, StateFault};
use crate::wire::channel::ChannelKind;
use crate::wire::json::{Value, json};

/// Disables the rules with these requirement ids: the host does not enforce them.
pub(super) struct LiftsRules(pub(super) &'static [&'static str]);

impl HostHooks for LiftsRules {
    fn lifts(&self, rule: &str) -> bool {
        self.0.contains(&rule)
    }
}

/// Calls a function for each event of the host that no message reports.
pub(super) struct ActsOnEvents(pub(super) fn(&mut RefHost, &HostEvent));

impl HostHooks for ActsOnEvents {
    fn happens(&self, host: &mut RefHost, event: &HostEvent) {
        (self.0)(host, event);
    }
}

/// Calls a function after each restart of the host, for hosts that lose a part of their state.
pub(super) struct ActsAfterRestart(pub(super) fn(&mut RefHost));

impl HostHooks for ActsAfterRestart {
    fn happens(&self, host: &mut RefHost, event: &HostEvent) {
        if matches!(event, HostEvent::Restarted) {
            (self.0)(host);
        }
    }
}

/// Changes the message of a turn before the agent receives it.
pub(super) struct ChangesMessageForAgent(pub(super) fn(&RefHost, &mut Value));

impl HostHooks for ChangesMessageForAgent {
    fn makes(&self, host: &RefHost, what: &MadeValue, message: &mut Value) {
        if let MadeValue::MessageForAgent = what {
            (self.0)(host, message);
        }
    }
}

/// Changes the context that the agent of a chat receives; the function gets the URI of the chat.
pub(super) struct ChangesContextForAgent(pub(super) fn(&RefHost, &str, &mut Value));

impl HostHooks for ChangesContextForAgent {
    fn makes(&self, host: &RefHost, what: &MadeValue, known: &mut Value) {
        if let MadeValue::ContextForAgent(uri) = what {
            (self.0)(host, uri, known);
        }
    }
}

/// Changes each request that the host's agent sends to a model. The function gets the host, the URI of the chat and the
/// body of the request.
pub(super) struct ChangesModelRequests(pub(super) fn(&RefHost, &str, &mut Value));

impl HostHooks for ChangesModelRequests {
    fn makes(&self, host: &RefHost, what: &MadeValue, body: &mut Value) {
        if let MadeValue::ModelRequest(uri) = what {
            (self.0)(host, uri, body);
        }
    }
}

/// Calls a function before the host handles a dispatch; the result `false` drops the dispatch.
pub(super) struct ChangesDispatches(pub(super) fn(&mut RefHost, &mut DispatchedAction) -> bool);

impl HostHooks for ChangesDispatches {
    fn receives(&self, host: &mut RefHost, dispatched: &mut DispatchedAction) -> bool {
        (self.0)(host, dispatched)
    }
}

/// Accepts refused actions for which the function returns `true`.
pub(super) struct WaivesRefusals(pub(super) fn(&RuleFacts, &DispatchRefusal) -> bool);

impl HostHooks for WaivesRefusals {
    fn waives(&self, facts: &RuleFacts, refusal: &DispatchRefusal) -> bool {
        (self.0)(facts, refusal)
    }
}

/// Refuses allowed actions for which the function returns a reason.
pub(super) struct RefusesActions(pub(super) fn(&RuleFacts) -> Option<&'static str>);

impl HostHooks for RefusesActions {
    fn refuses(&self, facts: &RuleFacts) -> Option<&'static str> {
        (self.0)(facts)
    }
}

/// Drops the host's own actions of these types: the host neither applies nor sends them.
pub(super) struct OmitsActions(pub(super) &'static [&'static str]);

impl HostHooks for OmitsActions {
    fn acts(
        &self,
        _host: &mut RefHost,
        _uri: &str,
        action: &mut Value,
        from: Option<&ActionOrigin>,
    ) -> bool {
        from.is_some() || !self.0.contains(&action_type(action))
    }
}

/// Changes the host's own actions of a type; the function drops an action by returning `false`.
pub(super) struct AltersAction(
    pub(super) &'static str,
    pub(super) fn(&mut RefHost, &str, &mut Value) -> bool,
);

impl HostHooks for AltersAction {
    fn acts(
        &self,
        host: &mut RefHost,
        uri: &str,
        action: &mut Value,
        from: Option<&ActionOrigin>,
    ) -> bool {
        from.is_some() || action_type(action) != self.0 || (self.1)(host, uri, action)
    }
}

/// Calls a function after the host has applied an action of a type, at one stage.
pub(super) struct ActsAfterApplying(
    pub(super) ActionStage,
    pub(super) &'static str,
    pub(super) fn(&mut RefHost, &str, &mut Value),
);

impl HostHooks for ActsAfterApplying {
    fn acted(&self, host: &mut RefHost, uri: &str, action: &mut Value, stage: ActionStage) {
        if stage == self.0 && action_type(action) == self.1 {
            (self.2)(host, uri, action);
        }
    }
}

/// Calls a function before the host applies an allowed action of a client; the result `false` leaves the action
/// unapplied.
pub(super) struct ActsBeforeApplying(
    pub(super) &'static str,
    pub(super) fn(&mut RefHost, &str, &Value, &ActionOrigin) -> bool,
);

impl HostHooks for ActsBeforeApplying {
    fn acts(
        &self,
        host: &mut RefHost,
        uri: &str,
        action: &mut Value,
        from: Option<&ActionOrigin>,
    ) -> bool {
        let from = from.filter(|_| action_type(action) == self.0);
        from.is_none_or(|from| (self.1)(host, uri, action, from))
    }
}

/// Changes rejections; the function drops a rejection by returning `false`.
pub(super) struct ChangesRejections(
    pub(super) fn(&mut RefHost, &RejectedAction, &mut Value) -> bool,
);

impl HostHooks for ChangesRejections {
    fn rejects(&self, host: &mut RefHost, rejected: &RejectedAction, envelope: &mut Value) -> bool {
        (self.0)(host, rejected, envelope)
    }
}

/// Changes the initial state of channels of a kind.
pub(super) struct ChangesFirstState(pub(super) ChannelKind, pub(super) fn(&mut Value));

impl HostHooks for ChangesFirstState {
    fn makes(&self, _host: &RefHost, what: &MadeValue, state: &mut Value) {
        if let MadeValue::FirstState(kind) = what
            && *kind == self.0
        {
            (self.1)(state);
        }
    }
}

/// Changes the summaries of sessions.
pub(super) struct ChangesSummaries(pub(super) fn(&RefHost, &str, &mut Value));

impl HostHooks for ChangesSummaries {
    fn makes(&self, host: &RefHost, what: &MadeValue, summary: &mut Value) {
        if let MadeValue::Summary(uri) = what {
            (self.0)(host, uri, summary);
        }
    }
}

/// Changes notifications of a method; the function drops a notification by returning `false`.
pub(super) struct ChangesNotifications(
    pub(super) &'static str,
    pub(super) fn(&mut RefHost, &mut Value) -> bool,
);

impl HostHooks for ChangesNotifications {
    fn notifies(&self, host: &mut RefHost, method: &str, params: &mut Value) -> bool {
        method != self.0 || (self.1)(host, params)
    }
}

/// Replaces every identifier of a kind by a fixed identifier: the kind, the identifier.
pub(super) struct FixedIds(pub(super) &'static str, pub(super) &'static str);

impl HostHooks for FixedIds {
    fn makes(&self, _host: &RefHost, what: &MadeValue, id: &mut Value) {
        if let MadeValue::Id(kind) = what
            && *kind == self.0
        {
            *id = json!(self.1);
        }
    }
}

/// Calls a function before the host serves requests of these methods; an empty list means all methods. A
/// reply that the function returns is sent in place of the host's reply.
pub(super) struct AnswersRequests(
    pub(super) &'static [&'static str],
    pub(super) fn(&mut RefHost, &HostCall) -> Option<CallReply>,
);

impl HostHooks for AnswersRequests {
    fn serves(&self, host: &mut RefHost, method: &str, call: &HostCall) -> Option<CallReply> {
        match self.0.is_empty() || self.0.contains(&method) {
            true => (self.1)(host, call),
            false => None,
        }
    }
}

/// Changes the replies to requests of these methods; an empty list means all methods.
pub(super) struct ChangesReplies(
    pub(super) &'static [&'static str],
    pub(super) fn(&mut RefHost, &ServedRequest, CallReply) -> CallReply,
);

impl HostHooks for ChangesReplies {
    fn served(&self, host: &mut RefHost, request: &ServedRequest, reply: CallReply) -> CallReply {
        match self.0.is_empty() || self.0.contains(&request.method) {
            true => (self.1)(host, request, reply),
            false => reply,
        }
    }
}

/// Calls a function before each step of the agent; the result `false` skips the step.
pub(super) struct ChangesAgentSteps(pub(super) fn(&mut RefHost, &AgentStep, &HostAgentOp) -> bool);

impl HostHooks for ChangesAgentSteps {
    fn performs(&self, host: &mut RefHost, step: &AgentStep, op: &HostAgentOp) -> bool {
        (self.0)(host, step, op)
    }
}

/// Keeps actions of these types (names of the newest version) from changing the state.
pub(super) struct LeavesState(pub(super) &'static [&'static str]);

impl StateFault for LeavesState {
    fn reduced(&self, it: &ReducedAction, state: &mut Value) {
        if self.0.contains(&it.kind) {
            state.clone_from(it.before);
        }
    }
}

/// Changes the state after actions of these types (names of the newest version).
pub(super) struct ChangesState(
    pub(super) &'static [&'static str],
    pub(super) fn(&ReducedAction, &mut Value),
);

impl StateFault for ChangesState {
    fn reduced(&self, it: &ReducedAction, state: &mut Value) {
        if self.0.contains(&it.kind) {
            (self.1)(it, state);
        }
    }
}

/// Changes a session's summary after an action on its chat, in versions whose sessions hold the turns. The
/// function gets the summary before the action. In newer versions the host sends the summary by session
/// actions.
pub(super) struct RollsUp(pub(super) fn(&Value, &mut Value));

impl StateFault for RollsUp {
    fn reduced(&self, it: &ReducedAction, state: &mut Value) {
        if it.has_turns && it.kind.starts_with("chat/") {
            (self.0)(&it.before["summary"], state);
        }
    }
}

/// Changes the tool calls of the agent before they start.
pub(super) struct ChangesToolCalls(pub(super) fn(&mut ToolStep));

impl HostHooks for ChangesToolCalls {
    fn performs(&self, host: &mut RefHost, step: &AgentStep, op: &HostAgentOp) -> bool {
        let (HostAgentOp::Call(call) | HostAgentOp::Step(ScriptStep::Tool(call))) = op else {
            return true;
        };
        let mut call = call.clone();
        (self.0)(&mut call);
        host.call_tool(step.uri, step.index, step.turn, call);
        false
    }
}
