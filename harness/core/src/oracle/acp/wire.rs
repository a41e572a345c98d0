//! Checks the form of messages: lines, envelopes, ids, method names, shapes.
//!
//! Knows: the errors that the tables report. Never knows: the meaning of messages.

use crate::oracle::members::list;
use crate::transcript::{ClosingSide, SeenFrame};
use crate::verdict::Weight;
use crate::wire::json::Value;
use crate::wire::message::{DecodedFrame, Message, MessageKind};
use crate::wire::protocol::Protocol;
use crate::wire::validate::{MessageOrigin, ShapeError};

use super::catalogue::Rule;
use super::state::{AgentLinkState, OpenAgentRequest};
use super::{AgentFold, FindingSink, key};

/// Upper bound for the errors of one message that a finding names. Further errors are only counted.
const MAX_NAMED: usize = 3;

/// The lower bound of the deadline for an answer, as a multiple of the duration of the agent's handshake. On a busy
/// machine, an agent that starts slowly also answers slowly.
const SLOWER: u32 = 3;

/// Members that only the unstable schema of November 2026 has. Each text is the end of the path of a member.
const UNSTABLE: &[&str] = &[
    "agentCapabilities.auth.status",
    "agentCapabilities.providers",
    "mcpCapabilities.acp",
    "sessionCapabilities.archive",
    "sessionCapabilities.fork",
    "sessionCapabilities.status",
    "sessionCapabilities.systemPrompt",
    "sessionCapabilities.title",
    "result.usage",
];

/// The names of updates and methods that only the unstable schema of November 2026 has.
const UNSTABLE_NAMES: &[&str] = &[
    "auth/status_update",
    "mcp/message",
    "plan_removed",
    "plan_update",
    "proxy/initialize",
    "proxy/successor",
    "session_message",
    "session_message_chunk",
    "subagent_update",
];

impl AgentFold {
    /// Reports a line that does not contain a message.
    pub(super) fn no_message(&self, seen: &SeenFrame, out: &mut FindingSink) {
        out.seen(Rule::OnlyMessages);
        let found = match &seen.decoded {
            DecodedFrame::Odd(why) => why.clone(),
            _ => "a JSON value that is not an object".to_owned(),
        };
        let message = format!("expected a message on this line of standard output, found {found}");
        out.broken(Rule::OnlyMessages, message, &[self.now.line]);
    }

    /// Returns the request to which an answer belongs. Judges an answer without an open request, and returns
    /// `None`.
    pub(super) fn answered(
        &mut self,
        message: &Message,
        out: &mut FindingSink,
    ) -> Option<OpenAgentRequest> {
        let (line, at) = (self.now.line, self.now.at);
        out.seen(Rule::AnsweredOnce);
        let id = key(message.id());
        let conn = self.conn()?;
        if let Some(asked) = conn.ours.remove(&id) {
            if asked.method != "session/prompt" {
                let took = at.saturating_sub(asked.at);
                conn.quickest = Some(conn.quickest.map_or(took, |known| known.min(took)));
            }
            conn.remember(id, line);
            return Some(asked);
        }
        let (found, lines) = match conn.done.get(&id) {
            Some(first) => (format!("a second one to the request `{id}`"), vec![*first, line]),
            // The request may be older than the transcript.
            None if !conn.whole => return None,
            None => (format!("one with the id `{id}`, which no request has"), vec![line]),
        };
        // JSON-RPC requires the id null in the answer to an unreadable or invalid request.
        if id != "null" || !matches!(message.error_code(), Some(-32700 | -32600)) {
            let message = format!("expected one answer to each request, found {found}");
            out.broken(Rule::AnsweredOnce, message, &lines);
        }
        None
    }

    /// Judges the requests without an answer for which a whole deadline has passed. An agent that has answered
    /// nothing on this connection may still be starting.
    pub(super) fn unanswered(&self, conn: &AgentLinkState, by: ClosingSide, out: &mut FindingSink) {
        let deadline = self.deadline.max(conn.took * SLOWER);
        let started = conn.quickest.is_some();
        for asked in conn.ours.values() {
            let late = |since| self.now.at >= since + deadline;
            if asked.method == "session/prompt" {
                self.unfinished(asked, by, late, out);
            } else if by == ClosingSide::Client && started && late(asked.at) {
                let message = format!(
                    "expected an answer to `{}` within {} ms, found none",
                    asked.method,
                    deadline.as_millis()
                );
                out.seen(Rule::AnsweredOnce);
                out.broken(Rule::AnsweredOnce, message, &[asked.line]);
            }
        }
    }

    /// Judges the id of a request of the agent.
    pub(super) fn their_id(&mut self, message: &Message, method: &str, out: &mut FindingSink) {
        out.seen(Rule::RequestIds);
        let line = self.now.line;
        let id = message.id().unwrap_or(&Value::Null);
        let sound = id.is_string() || id.is_i64() || id.is_u64() || id.is_null();
        if !sound {
            let message = format!(
                "expected a string or an integer as the id of `{method}`, found {}",
                id.to_text()
            );
            out.broken(Rule::RequestIds, message, &[line]);
        }
        if id.is_null() {
            let message =
                format!("expected an id of `{method}` that identifies the request, found null");
            out.weaker(Rule::RequestIds, Weight::Note, message, &[line]);
        }
        let open = self.here().and_then(|conn| conn.theirs.get(&key(message.id())));
        if let Some(open) = open {
            let message = format!(
                "expected an unused id for `{method}`, found that of the open request `{}`",
                open.method
            );
            out.broken(Rule::RequestIds, message, &[open.line, line]);
        }
    }

    /// Judges the name of a method.
    pub(super) fn method(&self, method: &str, out: &mut FindingSink) {
        out.seen(Rule::MethodNames);
        let known = self.table.method(method).is_some();
        if UNSTABLE_NAMES.contains(&method) {
            return self.unstable(method, out);
        }
        if !known && !method.starts_with('_') && !method.starts_with("$/") {
            let message = format!(
                "expected a method of the protocol, or one that begins with `_`, found `{method}`"
            );
            out.broken(Rule::MethodNames, message, &[self.now.line]);
        }
    }

    fn unstable(&self, name: &str, out: &mut FindingSink) {
        let text = format!("expected only names of the stable protocol, found `{name}`");
        out.seen(Rule::StableMembers);
        out.broken(Rule::StableMembers, text, &[self.now.line]);
    }

    /// Validates a message of the agent against the tables, and reports each error under the check that it breaks.
    pub(super) fn shape(
        &self,
        table: &'static Protocol,
        message: &Message,
        answers: Option<&str>,
        out: &mut FindingSink,
    ) {
        let line = [self.now.line];
        let main = about(message, answers);
        let update = message.params()["update"]["sessionUpdate"].as_str();
        if let Some(name) = update.filter(|name| UNSTABLE_NAMES.contains(name)) {
            return self.unstable(name, out);
        }
        out.seen(Rule::Envelope);
        for rule in looked_at(message, main) {
            out.seen(rule);
        }
        let errors = table.check_message(message, MessageOrigin::Host, answers);
        let errors: Vec<(Rule, &ShapeError)> =
            errors.iter().filter_map(|error| Some((of(error, main)?, error))).collect();
        let mut told: Vec<Rule> = Vec::new();
        for (rule, _) in &errors {
            if told.contains(rule) {
                continue;
            }
            told.push(*rule);
            let own: Vec<String> = errors
                .iter()
                .filter(|(other, _)| other == rule)
                .map(|(_, error)| error.to_string())
                .collect();
            let more = own.len().saturating_sub(MAX_NAMED);
            let mut text = own.into_iter().take(MAX_NAMED).collect::<Vec<_>>().join("; ");
            if more > 0 {
                text.push_str(&format!("; and {more} more"));
            }
            out.broken(*rule, text, &line);
        }
        out.seen(Rule::CustomMembers);
        out.seen(Rule::StableMembers);
        for path in table.strange_members(message, MessageOrigin::Host, answers) {
            let unstable = UNSTABLE.iter().any(|end| path.ends_with(end));
            let rule = if unstable { Rule::StableMembers } else { Rule::CustomMembers };
            let text = format!("expected only members of the protocol, or `_meta`, found `{path}`");
            out.broken(rule, text, &line);
        }
    }
}

/// Returns the check that judges the shape of a message as a whole.
fn about(message: &Message, answers: Option<&str>) -> Rule {
    let update = &message.params()["update"]["sessionUpdate"];
    match (message.method(), answers) {
        (Some("session/update"), _) if *update == "tool_call" => Rule::CallShape,
        (Some("session/update"), _) if *update == "tool_call_update" => Rule::UpdateShape,
        (Some("session/request_permission"), _) => Rule::PermissionShape,
        (None, Some("session/prompt")) if message.kind() == MessageKind::Success => {
            Rule::StopReasons
        }
        _ => Rule::Schema,
    }
}

/// Lists the checks that the shape of a message exercises.
fn looked_at(message: &Message, main: Rule) -> Vec<Rule> {
    let mut rules = vec![main];
    let call = match main {
        Rule::CallShape | Rule::UpdateShape => &message.params()["update"],
        Rule::PermissionShape => {
            rules.push(Rule::OptionShape);
            &message.params()["toolCall"]
        }
        _ => return rules,
    };
    for (member, rule) in
        [("kind", Rule::Kinds), ("status", Rule::Statuses), ("content", Rule::Contents)]
    {
        if call.get(member).is_some() {
            rules.push(rule);
        }
    }
    if list(call, "content").iter().any(|item| item["type"] == "diff") {
        rules.push(Rule::Diffs);
    }
    rules
}

/// Returns the check that an error breaks; `None` for a soft error (one that is only a warning) of the envelope.
fn of(error: &ShapeError, main: Rule) -> Option<Rule> {
    let path = error.path.as_str();
    let envelope = ["", "jsonrpc", "id"].contains(&path) || path.starts_with("error");
    if envelope {
        return (!error.soft).then_some(Rule::Envelope);
    }
    let path = path.trim_start_matches("params.");
    if main == Rule::PermissionShape && path.starts_with("options") {
        return Some(Rule::OptionShape);
    }
    let member = path.strip_prefix("update.").or(path.strip_prefix("toolCall."));
    Some(match (main, member) {
        (Rule::CallShape | Rule::UpdateShape | Rule::PermissionShape, Some(member)) => match member
        {
            "kind" => Rule::Kinds,
            "status" => Rule::Statuses,
            member if member.starts_with("content") => {
                let diff =
                    [".oldText", ".newText", ".path"].iter().any(|end| member.ends_with(end));
                if diff { Rule::Diffs } else { Rule::Contents }
            }
            _ => main,
        },
        _ => main,
    })
}
