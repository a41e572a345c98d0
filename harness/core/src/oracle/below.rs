//! Derives facts about conversations from the traffic of a host's agent, which is below the host. This traffic is
//! either ACP between the host and the agent, or the log of the program that answers the agent's requests in place of a
//! model (the model stand-in).
//!
//! A conversation is a session of ACP, or all requests to the stand-in that contain the same prompt. An agent that lost
//! an answer may repeat an exchange; the facts include a repeated exchange only once.
//!
//! Knows: ACP, the stand-in's log. Never knows: the traffic above the host, rules.
//!
//! Start at [`BelowReading::facts`].

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use litemap::LiteMap;

use crate::transcript::{BelowEvent, ConnId};
use crate::wire::json::{Map, Value};
use crate::wire::message::{Message, MessageKind};

use super::members::{given, list, text};

/// Upper bound for the open requests and exchanges that are remembered.
const MAX_OPEN: usize = 4_096;
/// Upper bound for the options of one permission request that are read.
const MAX_OPTIONS: usize = 64;
/// The mark in the output of a tool that has run the command `ahp-ran-$((A+B))`. Only the output, and not the
/// command, contains the sum.
const MARK: &str = "ahp-ran-";

/// An event in a conversation.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ConversationFact {
    /// The agent received this message as its task. Other text may surround the message.
    Prompted(String),
    /// The agent sent the model the results of this many rounds of tool calls, to receive the next part of the answer.
    /// Only conversations with the model stand-in have rounds.
    Round(u64),
    /// The agent sent a piece of its answer.
    Text(String),
    /// The agent called a tool. `leaf` is the longest string in the input, which identifies the call.
    Called { id: String, leaf: String },
    /// The agent received the decision whether a call may run.
    Answered { id: String, allowed: bool },
    /// A call has run. `mark` is the mark in its output, such as `ahp-ran-42`; `None` if the output is not known.
    Ran { id: String, mark: Option<String> },
    /// The agent received a request to stop, or the receiver of the agent's answer disconnected.
    Cancelled,
    /// The agent finished the prompt, or failed to finish it.
    Ended,
}

/// The name of a conversation, and an event in it.
pub(super) type BelowFact = (String, ConversationFact);

/// A connection, and the id of a request on that connection.
type IdSpace = (ConnId, String);

/// An agent's request for permission.
#[derive(Debug)]
struct PermissionRequest {
    talk: String,
    call: String,
    /// The ids of the options that grant permission.
    allowing: Vec<String>,
}

/// The state that is needed to derive facts from later messages.
#[derive(Debug, Default)]
pub(super) struct BelowReading {
    prompts: LiteMap<IdSpace, String>,
    permissions: LiteMap<IdSpace, PermissionRequest>,
    /// The open exchanges of the stand-in: the key is the serial number, the value the conversation.
    exchanges: LiteMap<u64, String>,
}

impl BelowReading {
    /// Returns the facts that a message states.
    pub(super) fn facts(
        &mut self,
        conn: ConnId,
        way: BelowEvent,
        message: &Message,
    ) -> Vec<BelowFact> {
        match way {
            BelowEvent::ToAgent => self.host_said(conn, message).into_iter().collect(),
            BelowEvent::FromAgent => self.agent_said(conn, message),
            BelowEvent::Model => self.exchange(message.value()),
            BelowEvent::Tool
            | BelowEvent::Stderr
            | BelowEvent::Local
            | BelowEvent::ToDriver
            | BelowEvent::FromDriver => Vec::new(),
        }
    }

    fn host_said(&mut self, conn: ConnId, message: &Message) -> Option<BelowFact> {
        let params = message.params();
        let id = message.id().map(Value::to_text);
        match (message.kind(), message.method()) {
            (MessageKind::Request, Some("session/prompt")) => {
                let talk = session(params)?;
                if self.prompts.len() < MAX_OPEN {
                    self.prompts.insert((conn, id?), talk.clone());
                }
                let blocks = list(params, "prompt").iter();
                let texts: Vec<&str> = blocks.filter_map(|block| text(block, "text")).collect();
                Some((talk, ConversationFact::Prompted(texts.join("\n"))))
            }
            (MessageKind::Notification, Some("session/cancel")) => {
                Some((session(params)?, ConversationFact::Cancelled))
            }
            (MessageKind::Success | MessageKind::Failure, _) => {
                let PermissionRequest { talk, call, allowing } =
                    self.permissions.remove(&(conn, id?))?;
                let outcome = message.result().and_then(|result| result.get("outcome"));
                let chosen = outcome.and_then(|outcome| text(outcome, "optionId"));
                let allowed = chosen.is_some_and(|id| allowing.iter().any(|it| it == id));
                Some((talk, ConversationFact::Answered { id: call, allowed }))
            }
            _ => None,
        }
    }

    fn agent_said(&mut self, conn: ConnId, message: &Message) -> Vec<BelowFact> {
        let params = message.params();
        let id = message.id().map(Value::to_text);
        match (message.kind(), message.method(), id) {
            (MessageKind::Notification, Some("session/update"), _) => {
                let (Some(talk), Some(update)) = (session(params), params.get("update")) else {
                    return Vec::new();
                };
                updated(update).into_iter().map(|fact| (talk.clone(), fact)).collect()
            }
            (MessageKind::Request, Some("session/request_permission"), Some(id)) => {
                let call = params.get("toolCall").unwrap_or(&Value::Null);
                let (Some(talk), Some(name)) = (session(params), text(call, "toolCallId")) else {
                    return Vec::new();
                };
                let allows = |option: &&Value| {
                    text(option, "kind").is_some_and(|kind| kind.starts_with("allow"))
                };
                let options = list(params, "options").iter().take(MAX_OPTIONS).filter(allows);
                let allowing = options.filter_map(|it| text(it, "optionId")).map(str::to_owned);
                let permission = PermissionRequest {
                    talk: talk.clone(),
                    call: name.to_owned(),
                    allowing: allowing.collect(),
                };
                if self.permissions.len() < MAX_OPEN {
                    self.permissions.insert((conn, id), permission);
                }
                called(call).map(|fact| (talk, fact)).into_iter().collect()
            }
            (MessageKind::Success | MessageKind::Failure, _, Some(id)) => {
                let talk = self.prompts.remove(&(conn, id));
                talk.map(|talk| (talk, ConversationFact::Ended)).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }

    /// Reads a line of the stand-in's log, which reports the start or the end of an exchange. A request without
    /// tools is an auxiliary request, for example for a title, and is not part of the conversation.
    fn exchange(&mut self, record: &Value) -> Vec<BelowFact> {
        let Some(serial) = record.get("serial").and_then(Value::as_u64) else {
            return Vec::new();
        };
        if let Some(ended) = text(record, "ended") {
            let fact =
                if ended == "cut" { ConversationFact::Cancelled } else { ConversationFact::Ended };
            let talk = self.exchanges.remove(&serial);
            return talk.map(|talk| (talk, fact)).into_iter().collect();
        }
        let prompt = text(record, "prompt").filter(|_| !list(record, "tools").is_empty());
        let Some(prompt) = prompt else {
            return Vec::new();
        };
        // A hash of the prompt is enough to name the conversation.
        let mut hasher = DefaultHasher::new();
        prompt.hash(&mut hasher);
        let talk = format!("model {:x}", hasher.finish());
        if self.exchanges.len() < MAX_OPEN {
            self.exchanges.insert(serial, talk.clone());
        }
        let mut facts = Vec::new();
        let round = record.get("round").and_then(Value::as_u64).unwrap_or_default();
        if round == 0 {
            facts.push(ConversationFact::Prompted(prompt.to_owned()));
        }
        facts.push(ConversationFact::Round(round));
        let ran = list(record, "results").iter().filter_map(|result| {
            let mark = mark_in(text(result, "text")?)?;
            Some(ConversationFact::Ran { id: text(result, "id")?.to_owned(), mark: Some(mark) })
        });
        facts.extend(ran);
        for said in list(record, "says") {
            let chunk = text(said, "text").map(|it| ConversationFact::Text(it.to_owned()));
            let call = text(said, "id").map(|id| ConversationFact::Called {
                id: id.to_owned(),
                leaf: said.get("arguments").map(longest).unwrap_or_default(),
            });
            facts.extend(chunk.or(call));
        }
        facts.into_iter().map(|fact| (talk.clone(), fact)).collect()
    }
}

fn session(params: &Value) -> Option<String> {
    text(params, "sessionId").map(str::to_owned)
}

fn updated(update: &Value) -> Vec<ConversationFact> {
    match text(update, "sessionUpdate") {
        Some("agent_message_chunk") => {
            let chunk = update.get("content").and_then(|content| text(content, "text"));
            chunk.map(|it| ConversationFact::Text(it.to_owned())).into_iter().collect()
        }
        Some("tool_call" | "tool_call_update") => {
            let ran = text(update, "status") == Some("completed");
            let id = text(update, "toolCallId").filter(|_| ran);
            let output = list(update, "content")
                .iter()
                .find_map(|block| mark_in(text(given(block, "content")?, "text")?));
            let ran = id.map(|id| ConversationFact::Ran { id: id.to_owned(), mark: output });
            called(update).into_iter().chain(ran).collect()
        }
        _ => Vec::new(),
    }
}

fn called(call: &Value) -> Option<ConversationFact> {
    let id = text(call, "toolCallId")?.to_owned();
    let leaf = call.get("rawInput").map(longest).unwrap_or_default();
    Some(ConversationFact::Called { id, leaf })
}

/// Returns the mark in the output of a command, such as `ahp-ran-42`.
fn mark_in(output: &str) -> Option<String> {
    output.match_indices(MARK).find_map(|(at, _)| {
        let number: String =
            output[at + MARK.len()..].chars().take_while(char::is_ascii_digit).collect();
        (!number.is_empty()).then(|| format!("{MARK}{number}"))
    })
}

/// Returns the longest string in an input.
pub(super) fn longest(input: &Value) -> String {
    fn leaf<'a>(value: &'a Value, best: &mut &'a str) {
        match value {
            Value::String(text) if text.len() > best.len() => *best = text,
            Value::Array(items) => items.iter().for_each(|item| leaf(item, best)),
            Value::Object(members) => Map::values(members).for_each(|item| leaf(item, best)),
            _ => {}
        }
    }
    let mut best = "";
    leaf(input, &mut best);
    best.to_owned()
}
