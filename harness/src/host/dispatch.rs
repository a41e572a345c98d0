//! Actions of clients: whether the host accepts them, and their effects.
//!
//! The checks, in order: the host ignores an action on an unknown channel; the negotiated version has to allow
//! clients this action, on this kind of channel, in this shape; the rules of `rules::RULES` have to hold; and
//! the action must not be a no-op for the reducers. If a check after the first check fails, the host sends the
//! action back to its dispatcher with a reason, and no state changes.
//!
//! Knows: states, rules of the protocol. Never knows: the delivery of actions.
//!
//! Start at [`RefHost::dispatch`].

use super::dispatched::{ActionOrigin, DispatchRefusal, DispatchedAction, RejectedAction};
use std::borrow::Cow;

use crate::wire::json::{Value, json};

use super::engine::RefHost;
use super::injected::ActionStage;
use super::reading::action_type;
use super::rule_facts::RuleFacts;
use super::rules::{RULES, unmet};
use super::version_views::ViewedChannel;
use crate::model::{ActionOutcome, NoOp};
use crate::transcript::ConnId;
use crate::wire::feature::ProtocolFeature;
use crate::wire::frame::Frame;
use crate::wire::protocol::DispatchRight;

/// The actions that the host defers while a turn is active, in versions before 0.5.0.
const DEFERRED: &[&str] = &["session/modelChanged", "session/agentChanged"];

impl RefHost {
    /// Handles a `dispatchAction`. Ignores a dispatch without a channel, an integer `clientSeq` or an action
    /// type, because no rejection can refer to such a dispatch.
    pub(super) fn dispatch(&mut self, conn: ConnId, params: &Value) {
        let Some(client) = self.connections.client(conn).map(str::to_owned) else {
            return;
        };
        let raised = match self.view_of(conn) {
            Some(view) => self.raised(view, params).map(|(uri, it, sent)| (uri, it, Some(sent))),
            None => params["channel"]
                .as_str()
                .map(|uri| (uri.to_owned(), params["action"].clone(), None)),
        };
        let Some((uri, action, sent)) = raised else {
            return;
        };
        let origin = ActionOrigin { conn, client, client_seq: params["clientSeq"].clone(), sent };
        let mut dispatched = DispatchedAction { params, origin, uri, action };
        let mut faults = self.injected().into_iter();
        if !faults.all(|fault| fault.receives(self, &mut dispatched)) {
            return;
        }
        if self.has_to_defer(conn, &dispatched) {
            self.deferred.add(conn, params.clone());
            return;
        }
        let DispatchedAction { origin, uri, action, .. } = &dispatched;
        let whole = origin.client_seq.is_u64() || origin.client_seq.is_i64();
        if !whole || action_type(action).is_empty() || !self.channels.has(uri) {
            return;
        }
        match self.judge(uri, action, origin) {
            Ok(()) => self.accept(uri, action, origin),
            Err(refusal) => self.reject(uri, action, origin, &refusal),
        }
    }

    /// Returns whether the host has to defer an action until the turn in its session has ended. Source:
    /// `dispatch.session.modelChanged.deferred`.
    fn has_to_defer(&self, conn: ConnId, it: &DispatchedAction<'_>) -> bool {
        let name = action_type(&it.action);
        let old = !self.protocol_of(conn).has(ProtocolFeature::FlatSession);
        let active = |chat: &String| self.state(chat)["activeTurn"].is_object();
        old && DEFERRED.contains(&name)
            && !self.deferred.is_full()
            && self.keeps("dispatch.session.modelChanged.deferred")
            && self.chats_of(&it.uri).iter().any(active)
    }

    /// Handles the deferred actions again. An action whose session still has an active turn stays deferred.
    pub(super) fn take_deferred(&mut self) {
        for (conn, params) in self.deferred.take() {
            self.dispatch(conn, &params);
        }
    }

    /// Checks whether the host accepts an action, without a call of the reducers.
    pub(super) fn judge(
        &self,
        uri: &str,
        action: &Value,
        origin: &ActionOrigin,
    ) -> Result<(), DispatchRefusal> {
        let facts =
            RuleFacts { host: self, client: &origin.client, uri, state: self.state(uri), action };
        if let Some(reason) = self.refuses(&facts) {
            return Err(DispatchRefusal::of(reason, ""));
        }
        let refused = |reason: &str, source: &str| {
            let refusal = DispatchRefusal::of(reason, source);
            if self.waives(&facts, &refusal) { Ok(()) } else { Err(refusal) }
        };
        let mut kind = self.channels.kind(uri);
        let protocol = self.protocol_of(origin.conn);
        let mut worded = action;
        if let Some(sent) = &origin.sent {
            let view = self.views.get(sent.view);
            kind = view.and_then(|it| it.channel(&sent.worded.key)).map(ViewedChannel::kind);
            worded = &sent.worded.action;
        }
        let Some(row) = protocol.action(action_type(worded)) else {
            let source = "version.unknown-action-from-client";
            return refused("the agreed version has no such action", source);
        };
        if row.dispatch != DispatchRight::Client {
            let name = action_type(action).replace('/', ".");
            let source = format!("{SERVER_ONLY}{name}");
            refused("only the host may send this action", &source)?;
        }
        if Some(row.channel) != kind {
            refused("the action is for another kind of channel", WRONG_FAMILY)?;
        }
        let errors = protocol.check_action(worded);
        if let Some(error) = errors.iter().find(|error| !error.soft) {
            refused(&error.to_string(), MALFORMED)?;
        }
        let mut rules = RULES.iter().filter(|rule| rule.action == action_type(action));
        rules.try_for_each(|rule| match (rule.check)(&facts) {
            Ok(()) => Ok(()),
            Err(reason) => refused(&reason, rule.source),
        })
    }

    fn accept(&mut self, uri: &str, action: &Value, origin: &ActionOrigin) {
        let mut action = Cow::Borrowed(action);
        if !self.injected.is_empty() && !self.acts(uri, action.to_mut(), Some(origin)) {
            return;
        }
        let action = action.as_ref();
        if let Some(sent) = &origin.sent
            && self.protocol.action(action_type(action)).is_none()
        {
            let outcome = self.publish_own(sent, origin);
            if !matches!(outcome, ActionOutcome::Applied | ActionOutcome::NoOp(NoOp::Unchanged)) {
                self.reject(uri, action, origin, &refusal(action, &outcome));
            }
            return;
        }
        if action_type(action) == "chat/truncated" && self.keeps_turn(uri, action) {
            self.load_turns(uri);
        }
        let attached = action["message"]["attachments"].as_array();
        for chat in attached.into_iter().flatten().filter_map(|a| a["resource"].as_str()) {
            self.load_turns(chat);
        }
        if action_type(action) == "chat/toolCallConfirmed" {
            self.replace_input(uri, action);
        }
        self.take_place(uri, action, origin);
        match self.publish_from(uri, action.clone(), Some(origin)) {
            ActionOutcome::Applied => self.consequence(uri, action),
            ActionOutcome::NoOp(NoOp::Unchanged) => self.emit(uri, action.clone(), Some(origin)),
            ActionOutcome::NoOp(NoOp::RequestOnly) => {
                self.emit(uri, action.clone(), Some(origin));
                self.consequence(uri, action);
            }
            outcome => {
                let refusal = refusal(action, &outcome);
                let (client, state) = (&origin.client, self.state(uri));
                let facts = RuleFacts { host: self, client, uri, state, action };
                match self.waives(&facts, &refusal) {
                    true => self.emit(uri, action.clone(), Some(origin)),
                    false => self.reject(uri, action, origin, &refusal),
                }
            }
        }
    }

    fn keeps_turn(&self, uri: &str, action: &Value) -> bool {
        let turns = self.state(uri)["turns"].as_array();
        turns.into_iter().flatten().any(|turn| turn["id"] == action["turnId"])
    }

    /// Sends an action back to its dispatcher with the reason for the rejection.
    pub(super) fn reject(
        &mut self,
        uri: &str,
        action: &Value,
        origin: &ActionOrigin,
        refusal: &DispatchRefusal,
    ) {
        self.refused_by.clone_from(&refusal.source);
        let mut envelope = json!({
            "channel": uri,
            "action": action,
            "serverSeq": self.log.seq(),
            "rejectionReason": refusal.reason,
            "origin": origin.value(),
        });
        if let Some(sent) = &origin.sent {
            envelope["action"] = sent.worded.action.clone();
            envelope["channel"] = json!(sent.worded.channel);
            if !self.protocol_of(origin.conn).has(ProtocolFeature::Channels) {
                envelope.as_object_mut().map(|members| members.remove("channel"));
            }
        }
        let rejected = RejectedAction { uri, action, origin };
        let mut faults = self.injected().into_iter();
        if faults.all(|fault| fault.rejects(self, &rejected, &mut envelope)) {
            let frame = Frame::Text(self.envelope_text(&envelope));
            self.send_frame(origin.conn, frame);
        }
    }

    /// Performs the effects of an accepted action.
    pub(super) fn consequence(&mut self, uri: &str, action: &Value) {
        if self.injected.is_empty() {
            return self.set_in_motion(uri, action);
        }
        let mut action = action.clone();
        self.acted(uri, &mut action, ActionStage::Accepted);
        self.set_in_motion(uri, &action);
        self.acted(uri, &mut action, ActionStage::Followed);
    }

    fn set_in_motion(&mut self, uri: &str, action: &Value) {
        let active = self.state(uri)["activeTurn"]["id"].as_str();
        let over = self.runs.turn_of(uri).is_some_and(|turn| active != Some(turn));
        let goes_on = self.runs.is_undead(uri) && action_type(action) == "chat/turnCancelled";
        if over && !goes_on {
            self.runs.stop(uri);
        }
        self.tell_agent(uri, action);
        match action_type(action) {
            "chat/turnStarted" => {
                self.store(uri, action);
                self.start_run(uri);
            }
            "chat/turnCancelled" => {}
            "chat/turnResume" => self.resume_run(uri),
            "chat/pendingMessageSet" if action["kind"] == "steering" => self.take_release(uri),
            "chat/pendingMessageSet" => self.drain_queue(uri),
            // The truncation may have removed the active turn.
            "chat/truncated" => {
                if self.keeps("chat.truncate.agent-context") {
                    self.leave_agent(uri);
                }
                self.wake(uri);
                self.drain_queue(uri);
            }
            "automation/createRequested" => self.create_automation(action),
            "automation/updateRequested" => self.update_automation(action),
            "automation/removed" => self.forget_runs(action["resource"].as_str().unwrap_or("")),
            "automationRun/cancelRequested" => self.cancel_run(uri),
            "session/customizationToggled" => self.toggled(uri, action),
            "session/mcpServerStartRequested" => {
                self.close_side_channels(uri);
                self.start_server(uri, action["id"].as_str().unwrap_or(""));
            }
            "session/mcpServerStopRequested" => {
                self.close_side_channels(uri);
                self.abandon_challenges(uri);
            }
            "annotations/set" | "annotations/entrySet" => self.store_annotation(uri, action),
            "terminal/input" => self.type_into(uri, action["data"].as_str().unwrap_or("")),
            "terminal/resized" => self.resize(uri),
            _ => self.wake(uri),
        }
    }

    /// Adds the size of an action to the bytes that clients have stored permanently in a chat.
    fn store(&mut self, uri: &str, action: &Value) {
        self.chats.store(uri, action.to_string().len());
    }
}

/// The requirement that a malformed action breaks.
const MALFORMED: &str = "dispatch.malformed-payload";
/// The requirement that an action on the wrong kind of channel breaks.
const WRONG_FAMILY: &str = "dispatch.wrong-family.session-on-chat";
/// The prefix of the requirements that a client breaks by dispatching an action reserved for the host.
pub(super) const SERVER_ONLY: &str = "dispatch.table.server-only.";

fn refusal(action: &Value, outcome: &ActionOutcome) -> DispatchRefusal {
    let refusal = match outcome {
        ActionOutcome::NoOp(why) => {
            DispatchRefusal::of(why.reason(), unmet(action_type(action), *why))
        }
        ActionOutcome::Invalid { path, expected } => {
            DispatchRefusal::of(&format!("expected {expected} at `{path}`"), MALFORMED)
        }
        ActionOutcome::Applied | ActionOutcome::OutOfScope => {
            DispatchRefusal::of("the channel has no such action", WRONG_FAMILY)
        }
    };
    DispatchRefusal { outcome: Some(outcome.clone()), ..refusal }
}
