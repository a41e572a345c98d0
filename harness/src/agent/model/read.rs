//! A request of any family in the form that the stand-in needs: the prompt, the progress of the turn, and the tools.
//!
//! Knows: the shapes of the families. Never knows: scripts.
//!
//! Start at [`ParsedRequest::read`].

use crate::agent::script;
use crate::wire::json::{Map, Value, json};

use super::offered::{OfferedTool, offered};
use super::routes::{ModelFamily, ModelTurnRequest};

/// The separator between the blocks of a message that is read as one string.
const SEPARATOR: &str = "\n\n";

/// The content of a request for a model's turn.
#[derive(Debug, Default)]
pub(super) struct ParsedRequest {
    /// The model's name.
    pub(super) model: String,
    /// Whether the response is to be streamed.
    pub(super) stream: bool,
    /// Whether the stream is one JSON array instead of events.
    pub(super) array: bool,
    /// The user's latest message, with the context that the agent wraps around it.
    pub(super) prompt: String,
    /// The length of the conversation. It distinguishes the user's latest message from an earlier message with the same
    /// text.
    pub(super) place: usize,
    /// The number of rounds of tool calls since the user's latest message.
    pub(super) rounds: usize,
    /// The results of the last round.
    pub(super) results: Vec<ToolResult>,
    /// The offered tools.
    pub(super) tools: Vec<OfferedTool>,
    /// All strings of the request except the strings of the tools.
    pub(super) texts: Vec<String>,
    /// The strings of the offered tools, such as descriptions.
    pub(super) tool_texts: Vec<String>,
    /// The blocks of the user's messages, oldest first, without the context that the agent wraps around them.
    pub(super) history: Vec<String>,
    /// The number of blocks of the user's latest message.
    pub(super) latest: usize,
}

/// The result of a tool call.
#[derive(Debug)]
pub(super) struct ToolResult {
    /// The call's id; the tool's name in families that have no ids.
    pub(super) id: String,
    /// The text of the result.
    pub(super) text: String,
}

impl ToolResult {
    /// Returns the result as a log record.
    pub(super) fn record(&self) -> Value {
        json!({"id": (self.id), "text": (self.text)})
    }
}

/// An item of a conversation.
enum ConversationItem {
    /// A message of the user, as blocks of text.
    User(Vec<String>),
    /// Tool calls of the model: one round with any number of calls.
    Calls,
    Result(ToolResult),
    /// Any other message of the model or the system.
    Other,
}

impl ParsedRequest {
    /// Parses the body of a request.
    pub(super) fn read(wanted: &ModelTurnRequest, body: &Value) -> ParsedRequest {
        let mut asked = ParsedRequest {
            model: text(body, "model"),
            stream: wanted.stream.unwrap_or_else(|| body["stream"] == true),
            array: wanted.array,
            tools: offered(wanted.family, body),
            ..ParsedRequest::default()
        };
        let said: Vec<ConversationItem> = match wanted.family {
            ModelFamily::Chat => list(body, "messages").iter().flat_map(of_chat).collect(),
            ModelFamily::Responses => responses(body),
            ModelFamily::Messages => list(body, "messages").iter().flat_map(of_messages).collect(),
            ModelFamily::Gemini => list(body, "contents").iter().flat_map(of_gemini).collect(),
        };
        for (name, value) in body.as_object().into_iter().flatten() {
            let all = if *name == "tools" { &mut asked.tool_texts } else { &mut asked.texts };
            texts(value, all);
        }
        asked.place = said.len();
        asked.follow(said);
        asked
    }

    /// Finds the latest prompt and its rounds in the conversation. Skips user messages that hold only context, and
    /// messages by which the harness releases a hold.
    fn follow(&mut self, said: Vec<ConversationItem>) {
        let mut calling = false;
        for one in said {
            let calls = matches!(one, ConversationItem::Calls);
            match one {
                ConversationItem::User(blocks) if theirs(&blocks.join(SEPARATOR)) => {
                    script::latest(&blocks.join(SEPARATOR)).clone_into(&mut self.prompt);
                    self.rounds = 0;
                    self.results.clear();
                    let prompts = blocks.iter().flat_map(|block| {
                        let latest = script::latest(block);
                        [&block[..block.len() - latest.len()], latest]
                    });
                    let bare = prompts.map(unwrapped).filter(|block| !block.is_empty());
                    let bare: Vec<String> = bare.collect();
                    self.latest = bare.len();
                    self.history.extend(bare);
                }
                // The calls of one round may be consecutive items.
                ConversationItem::Calls if !calling => {
                    self.rounds += 1;
                    self.results.clear();
                }
                ConversationItem::Result(result) => self.results.push(result),
                ConversationItem::User(_) | ConversationItem::Calls | ConversationItem::Other => {}
            }
            calling = calls;
        }
    }
}

/// Collects all strings in a value.
fn texts(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::String(text) => into.push(text.to_string()),
        Value::Array(items) => items.iter().for_each(|item| texts(item, into)),
        Value::Object(members) => Map::values(members).for_each(|member| texts(member, into)),
        _ => {}
    }
}

/// Returns whether the text of a message with the role of the user is a prompt. It is not a prompt if it contains only
/// context, or if it only releases a hold.
fn theirs(text: &str) -> bool {
    let bare = unwrapped(text);
    script::find(text).is_some() || !(bare.is_empty() || bare.starts_with(script::RELEASE))
}

/// Returns a prompt without the elements that agents wrap around it, such as `<context>..</context>`. The content of
/// elements whose name refers to the user's message is kept.
pub(super) fn unwrapped(text: &str) -> String {
    let mut bare = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('<') {
        let name: String = after.chars().take_while(|c| !" >/\n".contains(*c)).collect();
        let close = format!("</{name}>");
        let inside = (!name.is_empty()).then(|| after.split_once(&close)).flatten();
        bare.push_str(before);
        match inside {
            Some((element, later)) => {
                let lower = name.to_ascii_lowercase();
                if ["user", "request", "query", "prompt"].iter().any(|word| lower.contains(word)) {
                    let content = element.split_once('>').map_or("", |(_, content)| content);
                    bare.push_str(content);
                }
                rest = later;
            }
            None => {
                bare.push('<');
                rest = after;
            }
        }
    }
    bare.push_str(rest);
    bare.trim().to_owned()
}

fn of_chat(message: &Value) -> Vec<ConversationItem> {
    match message["role"].as_str() {
        Some("user") => vec![ConversationItem::User(text_blocks(&message["content"]))],
        Some("assistant") if !list(message, "tool_calls").is_empty() => {
            vec![ConversationItem::Calls]
        }
        Some("tool") => {
            let (id, text) = (text(message, "tool_call_id"), content(&message["content"]));
            vec![ConversationItem::Result(ToolResult { id, text })]
        }
        _ => vec![ConversationItem::Other],
    }
}

fn responses(body: &Value) -> Vec<ConversationItem> {
    if let Some(text) = body["input"].as_str() {
        return vec![ConversationItem::User(vec![text.to_owned()])];
    }
    let said = |item: &Value| {
        let kind = item["type"].as_str().unwrap_or("message");
        if item["role"] == "user" {
            ConversationItem::User(text_blocks(&item["content"]))
        } else if kind.ends_with("_call") {
            ConversationItem::Calls
        } else if kind.ends_with("_call_output") {
            ConversationItem::Result(ToolResult {
                id: text(item, "call_id"),
                text: content(&item["output"]),
            })
        } else {
            ConversationItem::Other
        }
    };
    list(body, "input").iter().map(said).collect()
}

fn of_messages(message: &Value) -> Vec<ConversationItem> {
    let blocks = list(message, "content");
    let of = |kind: &str| blocks.iter().filter(|block| block["type"] == kind).collect::<Vec<_>>();
    if message["role"] == "assistant" {
        return vec![if of("tool_use").is_empty() {
            ConversationItem::Other
        } else {
            ConversationItem::Calls
        }];
    }
    // Agents insert their own messages between the turns with the role of the system.
    if message["role"] != "user" {
        return vec![ConversationItem::Other];
    }
    let result = |block: &&Value| {
        let (id, text) = (text(block, "tool_use_id"), content(&block["content"]));
        ConversationItem::Result(ToolResult { id, text })
    };
    let mut said: Vec<ConversationItem> = of("tool_result").iter().map(result).collect();
    said.push(ConversationItem::User(text_blocks(&message["content"])));
    said
}

fn of_gemini(message: &Value) -> Vec<ConversationItem> {
    let parts = list(message, "parts");
    let has = |name: &str| parts.iter().filter_map(|part| part.get(name)).collect::<Vec<_>>();
    if message["role"] == "model" {
        return vec![if has("functionCall").is_empty() {
            ConversationItem::Other
        } else {
            ConversationItem::Calls
        }];
    }
    let result = |response: &&Value| {
        let text = response["response"].to_text();
        ConversationItem::Result(ToolResult { id: self::text(response, "name"), text })
    };
    let mut said: Vec<ConversationItem> = has("functionResponse").iter().map(result).collect();
    said.push(ConversationItem::User(text_blocks(&message["parts"])));
    said
}

fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn text(value: &Value, name: &str) -> String {
    value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// Returns a string, or the strings of a list of blocks with a separator between them.
fn content(value: &Value) -> String {
    text_blocks(value).join(SEPARATOR)
}

/// Returns a string as one block, or the strings of a list of blocks.
fn text_blocks(value: &Value) -> Vec<String> {
    if let Some(text) = value.as_str() {
        return vec![text.to_owned()];
    }
    let blocks = value.as_array().map_or(&[][..], Vec::as_slice).iter();
    blocks.filter_map(|block| block.get("text")?.as_str()).map(str::to_owned).collect()
}
