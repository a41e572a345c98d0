//! A stand-in for the model of a real agent, which plays the script in the user's prompt.
//!
//! A request holds the whole conversation so far. The stand-in therefore stores nothing between requests, and
//! conversations cannot mix: the tool calls in the request determine the next step of the script. [`routes`] finds
//! the kind of a request, [`plan`] the next part of the script, and [`voice`] writes this part in the family's
//! form.
//!
//! The module is pure: a response contains its pauses and holds, and the caller waits accordingly when it writes the
//! response.
//!
//! Knows: the script, JSON. Never knows: HTTP connections, clocks, hosts.
//!
//! Start at [`answer`].

use std::time::Duration;

use crate::wire::json::{Value, json};

mod failure;
mod flavor;
mod offered;
mod plan;
mod read;
mod reply;
mod routes;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_history;
mod tool_class;
mod tools;
mod voice;

pub use flavor::ModelFlavor;
pub use reply::{ModelReply, ReplyBeat};

use failure::ModelFailure;
use plan::AnswerPlan;
use read::ParsedRequest;
use routes::RequestRoute;
use voice::FamilyVoice;

/// The maximum time that a response waits for the release of a hold.
pub const MAX_HOLD: Duration = Duration::from_secs(120);

/// The prefix of the invalid tokens that scenarios send.
///
/// Every other token is valid, because the user of the harness chooses the valid tokens. If a host sends an invalid
/// token to the stand-in to validate it, the host has to receive an error.
pub const INVALID_TOKEN: &str = "not-a-token";

/// The maximum number of blocks of the user's messages in a log record.
const MAX_HISTORY: usize = 64;
/// The maximum length of an option in a log record, in bytes, and the maximum number of options.
const MAX_OPTION: usize = 64;
const MAX_OPTIONS: usize = 32;
/// The maximum depth of an option in a request; for example, `reasoning.effort` is below the top level.
const OPTION_DEPTH: usize = 3;
/// The members of a request that hold the conversation and the tools.
const CONVERSATION: &[&str] = &[
    "contents",
    "input",
    "instructions",
    "messages",
    "prompt",
    "system",
    "systemInstruction",
    "tools",
];
/// The maximum length of a block of the user's messages in a log record, in bytes.
const MAX_BLOCK: usize = 4 << 10;

/// The approximate number of bytes per token.
const BYTES_OF_TOKEN: u64 = 4;

/// The parts of a request that the stand-in reads.
#[derive(Clone, Copy, Debug)]
pub struct ModelRequest<'a> {
    /// The HTTP method.
    pub method: &'a str,
    /// The path, without the query.
    pub path: &'a str,
    /// The query, without its question mark.
    pub query: &'a str,
    /// The bearer token, without the scheme; `None` if there is none.
    pub token: Option<&'a str>,
    /// The body.
    pub body: &'a [u8],
}

/// What an answer depends on besides the request itself.
#[derive(Clone, Copy, Debug)]
pub struct ModelSetting<'a> {
    /// The flavor of the agents that send requests.
    pub flavor: &'a ModelFlavor,
    /// The address of the stand-in, such as `http://127.0.0.1:9000`.
    pub base: &'a str,
    /// The Unix time, in seconds.
    pub epoch: u64,
    /// The number of the request, unique in this process; a part of ids.
    pub serial: u64,
}

/// A response with a log record.
#[derive(Debug)]
pub struct ModelExchange {
    /// The response.
    pub reply: ModelReply,
    /// The log record of the request and the planned response.
    pub record: Value,
}

/// Answers a request.
pub fn answer(request: &ModelRequest<'_>, setting: &ModelSetting<'_>) -> ModelExchange {
    let body = std::str::from_utf8(request.body).ok().and_then(|text| Value::read(text).ok());
    let invalid = request.token.is_some_and(|token| token.starts_with(INVALID_TOKEN));
    let route = match invalid {
        true => RequestRoute::Unauthorized,
        false => routes::find(request.method, request.path, request.query, setting.flavor),
    };
    let mut record = json!({
        "serial": (setting.serial), "method": (request.method), "path": (request.path),
    });
    let reply = match route {
        RequestRoute::Model(wanted) => match &body {
            Some(body) => turn(&wanted, body, setting, &mut record),
            None => {
                record["problem"] = json!("the body is not JSON");
                ModelFailure::plain(400, "expected a JSON object as the body")
                    .refusal(wanted.family)
            }
        },
        RequestRoute::Count => {
            let tokens = request.body.len() as u64 / BYTES_OF_TOKEN;
            ModelReply::json(200, &json!({"input_tokens": (tokens), "totalTokens": (tokens)}))
        }
        RequestRoute::Canned { status, body } => {
            ModelReply::json(status, &flavor::filled(body, setting.base, setting.epoch))
        }
        RequestRoute::Models => {
            ModelReply::json(200, &flavor::models(setting.flavor, setting.epoch))
        }
        RequestRoute::Mcp => mcp(request.method, body.as_ref()),
        RequestRoute::Unauthorized => {
            record["problem"] = json!("the token is not valid");
            ModelReply::json(401, &json!({"message": "Bad credentials"}))
        }
        RequestRoute::Unknown => {
            record["problem"] = json!("nothing is served at this path");
            ModelReply::json(200, &json!({}))
        }
    };
    record["status"] = json!(reply.status);
    ModelExchange { reply, record }
}

/// Returns the model's turn: the next part of the script.
fn turn(
    wanted: &routes::ModelTurnRequest,
    body: &Value,
    setting: &ModelSetting<'_>,
    record: &mut Value,
) -> ModelReply {
    let asked = ParsedRequest::read(wanted, body);
    let plan = AnswerPlan::of(&asked, setting.serial);
    record["family"] = json!(wanted.family.name());
    record["model"] = json!(asked.model);
    record["options"] = options(body);
    record["prompt"] = json!(asked.prompt);
    record["history"] = history(&asked.history);
    record["latest"] = json!(asked.latest as u64);
    record["place"] = json!(asked.place as u64);
    record["round"] = json!(asked.rounds);
    record["tools"] = asked.tools.iter().map(offered::OfferedTool::full_name).collect();
    record["classes"] = tool_class::classes(&asked.tools).into_iter().collect();
    record["results"] = asked.results.iter().map(read::ToolResult::record).collect();
    record["says"] = plan.moves.iter().map(plan::AnswerMove::record).collect();
    if let Some(problem) = &plan.problem {
        record["problem"] = json!(problem);
        if plan.untestable {
            record["untestable"] = json!(true);
        }
    }
    ModelReply::of(
        plan,
        FamilyVoice::of(wanted.family, &asked, setting),
        setting.flavor,
        asked.stream,
    )
}

/// Returns the options of a request for the log: the short strings outside of the conversation. Returns null if there
/// are too many options: if some of them were left out, a reader could think that the request lacks them.
fn options(body: &Value) -> Value {
    fn collect(value: &Value, depth: usize, found: &mut Vec<Value>) {
        match value {
            Value::String(text) if text.len() <= MAX_OPTION && found.len() <= MAX_OPTIONS => {
                found.push(value.clone());
            }
            Value::Object(members) if depth > 0 => {
                members.iter().for_each(|(_, member)| collect(member, depth - 1, found));
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    let members = body.as_object().into_iter().flatten();
    for (_, member) in members.filter(|(name, _)| !CONVERSATION.contains(&name.as_str())) {
        collect(member, OPTION_DEPTH, &mut found);
    }
    if found.len() > MAX_OPTIONS { Value::Null } else { Value::Array(found) }
}

/// Returns the latest blocks of the user's messages as a log record, with null for each block that is too long. If
/// earlier blocks are left out, the first item is null.
fn history(blocks: &[String]) -> Value {
    let left_out = blocks.len().saturating_sub(MAX_HISTORY);
    let short = |block: &String| match block.len() <= MAX_BLOCK {
        true => json!(block),
        false => Value::Null,
    };
    let first = (left_out > 0).then_some(Value::Null);
    first.into_iter().chain(blocks[left_out..].iter().map(short)).collect()
}

/// Serves a Model Context Protocol server without tools, for agents that expect one at this address.
fn mcp(method: &str, body: Option<&Value>) -> ModelReply {
    if method != "POST" {
        return ModelReply::empty(405);
    }
    let Some((id, body)) = body.and_then(|body| Some((body.get("id")?, body))) else {
        return ModelReply::empty(202);
    };
    let result = match body.get("method").and_then(Value::as_str) {
        Some("initialize") => {
            let version = body.pointer("/params/protocolVersion").and_then(Value::as_str);
            json!({
                "protocolVersion": (version.unwrap_or("2025-06-18")),
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "ahp-harness", "version": "1"},
            })
        }
        Some("tools/list") => json!({"tools": []}),
        Some("ping") => json!({}),
        _ => {
            let error = json!({"code": (-32601), "message": "method not found"});
            return ModelReply::json(200, &json!({"jsonrpc": "2.0", "id": (id), "error": (error)}));
        }
    };
    ModelReply::json(200, &json!({"jsonrpc": "2.0", "id": (id), "result": (result)}))
}
