//! Checks requests for permission: their options, their answers, and the behaviour of the agent before and
//! after the answer.
//!
//! Knows: calls and decisions. Never knows: the reasons for decisions.

use crate::oracle::below::longest;
use crate::oracle::members::{list, repeated, text};
use crate::transcript::SeenFrame;
use crate::wire::json::Value;
use crate::wire::message::Message;

use super::catalogue::Rule;
use super::state::{CallStage, OpenAgentRequest};
use super::{AgentFold, FindingSink};

/// Upper bound for the options of one permission request that are read.
const MAX_OPTIONS: usize = 64;

impl AgentFold {
    /// Judges and records a permission request of the agent.
    pub(super) fn asks(
        &mut self,
        params: &Value,
        asked: &mut OpenAgentRequest,
        out: &mut FindingSink,
    ) {
        let line = self.now.line;
        let call = &params["toolCall"];
        let session = text(params, "sessionId").unwrap_or_default();
        let there = self.here().is_none_or(|conn| conn.has_session(session));
        if !there {
            let message = format!(
                "expected an existing session, found `{session}`, which the connection does not \
                 have"
            );
            out.broken(Rule::PermissionShape, message, &[line]);
            return;
        }
        options(list(params, "options"), asked, line, out);
        self.asked_about(session, call, out);
        asked.call = text(call, "toolCallId").unwrap_or_default().to_owned();
        let Some(conn) = self.conn() else { return };
        let whole = conn.whole;
        let Some(session) = conn.sessions.get_mut(session) else { return };
        out.seen(Rule::InTurn);
        match &mut session.turn {
            Some(turn) => turn.asked = true,
            None if !whole && session.turns == 0 => {}
            None => {
                let message = "expected permission to be requested only during a turn, found a \
                               request without an open turn"
                    .to_owned();
                out.broken(Rule::InTurn, message, &[line]);
            }
        }
        let Some(call) = session.calls.get_mut(&asked.call) else { return };
        out.seen(Rule::NotBeforeApproval);
        if call.stage != CallStage::Pending || call.ran {
            let found = if call.stage.is_final() { call.stage.word() } else { "in progress" };
            let message = format!(
                "expected the call `{}` to be pending when permission for it is requested, found \
                 that it was already {found}",
                asked.call
            );
            out.broken(Rule::NotBeforeApproval, message, &[call.line, line]);
        }
        call.waits = Some(line);
        if let Some(decided) = session.always.get(&call.leaf) {
            out.seen(Rule::Remembered);
            let message = "expected no second request for permission for an input that was permanently allowed or \
                           rejected, found one";
            out.broken(Rule::Remembered, message.to_owned(), &[*decided, line]);
        }
    }

    /// Records the client's answer to a permission request.
    pub(super) fn decided(
        &mut self,
        asked: &OpenAgentRequest,
        message: &Message,
        out: &mut FindingSink,
    ) {
        let line = self.now.line;
        let witnessed = self.witnessed;
        let outcome = message.result().and_then(|result| result.get("outcome"));
        let chosen = outcome.filter(|outcome| text(outcome, "outcome") == Some("selected"));
        let chosen = chosen.and_then(|outcome| text(outcome, "optionId"));
        let among = |ids: &[String]| chosen.is_some_and(|id| ids.iter().any(|it| it == id));
        let session = self.conn().and_then(|conn| conn.sessions.get_mut(&asked.session));
        let Some(session) = session else { return };
        let Some(call) = session.calls.get_mut(&asked.call) else { return };
        out.seen(Rule::Waits);
        call.waits = None;
        if !among(&asked.allowing) {
            call.denied = Some(line);
            // The specification states no status for a denied call, and does not say that the agent has to report the
            // call.
            if let (false, Some(turn)) = (call.counted, &mut session.turn) {
                call.counted = true;
                turn.reported += 1;
            }
            if witnessed {
                out.seen(Rule::Denied);
            }
        }
        if among(&asked.always) {
            let leaf = call.leaf.clone();
            session.decide(&leaf, line);
        }
    }

    /// Judges a record that shows that one of the harness's own tools was called.
    pub(super) fn tool(&mut self, seen: &SeenFrame, out: &mut FindingSink) {
        self.witnessed = true;
        let (line, at) = (self.now.line, self.now.at);
        let Some(record) = seen.message().map(Message::value) else { return };
        let leaf = longest(record.get("arguments").unwrap_or(&Value::Null));
        // If several turns are open, only the input shows to which turn the call belongs.
        let open = self.turns_open();
        let Some(conn) = self.busy() else { return };
        out.counts(conn.shook);
        for (_, session) in conn.sessions.iter_mut() {
            if let Some(turn) = session.turn.as_mut().filter(|_| open == 1) {
                turn.called += 1;
                turn.witness = line;
                if let Some(cancel) = turn.cancel {
                    super::turns::works_on(cancel, at, line, "a tool was called", out);
                }
            }
            // This use of the tool belongs to the latest call with this input.
            let calls = session.calls.values().filter(|call| !leaf.is_empty() && call.leaf == leaf);
            let Some(call) = calls.max_by_key(|call| call.line) else { continue };
            if let Some(asked) = call.waits {
                let message = "expected the tool to wait for permission, found that it was called";
                out.broken(Rule::Waits, message.to_owned(), &[asked, line]);
            }
            if let Some(denied) = call.denied {
                out.seen(Rule::Denied);
                let message = "expected a denied call not to run, found that the tool was called";
                out.broken(Rule::Denied, message.to_owned(), &[denied, line]);
            } else if session.always.get(&leaf).is_some() {
                out.seen(Rule::Remembered);
            }
        }
    }
}

/// Judges the options of a permission request, and records the options that grant permission and the options
/// that are permanent.
fn options(options: &[Value], asked: &mut OpenAgentRequest, line: u64, out: &mut FindingSink) {
    out.seen(Rule::OptionsGiven);
    if options.is_empty() {
        let message =
            "expected a request for permission with at least one option, found none".to_owned();
        return out.broken(Rule::OptionsGiven, message, &[line]);
    }
    out.seen(Rule::OptionIds);
    if let Some(id) = repeated(options, "optionId") {
        let message = format!("expected options with different ids, found `{id}` twice");
        out.broken(Rule::OptionIds, message, &[line]);
    }
    let ids = |wanted: fn(&str) -> bool| -> Vec<String> {
        let kind = |option: &&Value| text(option, "kind").is_some_and(wanted);
        let chosen = options.iter().take(MAX_OPTIONS).filter(kind);
        chosen.filter_map(|option| text(option, "optionId")).map(str::to_owned).collect()
    };
    asked.allowing = ids(|kind| kind.starts_with("allow"));
    asked.always = ids(|kind| kind.ends_with("always"));
    out.seen(Rule::BothWays);
    let rejecting = ids(|kind| kind.starts_with("reject"));
    if asked.allowing.is_empty() || rejecting.is_empty() {
        let missing = if asked.allowing.is_empty() { "allows" } else { "rejects" };
        let message = format!(
            "expected an option that allows and an option that rejects, found none that {missing}"
        );
        out.broken(Rule::BothWays, message, &[line]);
    }
}
