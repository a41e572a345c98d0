//! Messages as such: lines, envelopes, ids, names, shapes.
//!
//! Knows: what the tables found wrong. Never knows: what a message means.

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

/// Errors of one message that a finding names; the others are counted.
const MAX_NAMED: usize = 3;

/// Members that only the unstable schema of November 2026 has, by the end of their path.
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

/// Updates and methods of that schema.
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
    /// A line that holds no message.
    pub(super) fn no_message(&self, seen: &SeenFrame, out: &mut FindingSink) {
        out.seen(Rule::OnlyMessages);
        let found = match &seen.decoded {
            DecodedFrame::Odd(why) => why.clone(),
            _ => "a JSON value that is no object".to_owned(),
        };
        let message = format!("expected a message on this line of standard output, found {found}");
        out.broken(Rule::OnlyMessages, message, &[self.now.line]);
    }

    /// Says which request an answer is to.
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
            Some(first) => (format!("another one to the request `{id}`"), vec![*first, line]),
            // What was asked before the transcript began may be answered in it.
            None if !conn.whole => return None,
            None => (format!("one with the id `{id}`, which was not asked"), vec![line]),
        };
        // What could not be read, or is no request, is refused without its id.
        if id != "null" || !matches!(message.error_code(), Some(-32700 | -32600)) {
            let message = format!("expected one answer to each request, found {found}");
            out.broken(Rule::AnsweredOnce, message, &lines);
        }
        None
    }

    /// Requests that stayed without an answer, although there was time for one.
    pub(super) fn unanswered(&self, conn: &AgentLinkState, by: ClosingSide, out: &mut FindingSink) {
        for asked in conn.ours.values() {
            if asked.method == "session/prompt" {
                self.unfinished(asked, by, out);
            } else if by == ClosingSide::Client && self.now.at >= asked.at + self.deadline {
                let message = format!(
                    "expected an answer to `{}` within {} ms, found none",
                    asked.method,
                    self.deadline.as_millis()
                );
                out.seen(Rule::AnsweredOnce);
                out.broken(Rule::AnsweredOnce, message, &[asked.line]);
            }
        }
    }

    /// The id of a request of the agent's.
    pub(super) fn their_id(&mut self, message: &Message, method: &str, out: &mut FindingSink) {
        out.seen(Rule::RequestIds);
        let line = self.now.line;
        let id = message.id().unwrap_or(&Value::Null);
        let sound = id.is_string() || id.is_i64() || id.is_u64() || id.is_null();
        if !sound {
            let message = format!(
                "expected a text or a whole number as the id of `{method}`, found {}",
                id.to_text()
            );
            out.broken(Rule::RequestIds, message, &[line]);
        }
        if id.is_null() {
            let message = format!("expected an id that tells `{method}` from others, found null");
            out.weaker(Rule::RequestIds, Weight::Note, message, &[line]);
        }
        let open = self.here().and_then(|conn| conn.theirs.get(&key(message.id())));
        if let Some(open) = open {
            let message = format!(
                "expected a new id for `{method}`, found that of `{}`, which is open",
                open.method
            );
            out.broken(Rule::RequestIds, message, &[open.line, line]);
        }
    }

    /// The name of a method.
    pub(super) fn method(&self, method: &str, out: &mut FindingSink) {
        out.seen(Rule::MethodNames);
        let known = self.table.is_none_or(|table| table.method(method).is_some());
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
        let text = format!("expected names of the protocol, found `{name}`");
        out.seen(Rule::StableMembers);
        out.broken(Rule::StableMembers, text, &[self.now.line]);
    }

    /// Holds a message of the agent's against the tables.
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
            let text = format!("expected members of the protocol, or `_meta`, found `{path}`");
            out.broken(rule, text, &line);
        }
    }
}

/// The rule about the shape of a message as a whole.
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

/// The rules that a message puts to the test by its shape.
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

/// The rule that an error is about; `None` where the tables only frown.
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
