//! An MCP server with one tool, which records its calls. The records prove which calls a host's agent really
//! executed.
//!
//! A message is a line of JSON-RPC, or the body of a request by HTTP. The tool, [`TOOL`], returns its text and
//! changes nothing. With the text [`FAILS`] the tool fails, and with [`WAITS`] it never returns.
//!
//! Pure: the functions return the output and the record, and the caller writes them.
//!
//! Knows: JSON-RPC. Never knows: files, processes, scripts.
//!
//! Start at [`answer`]. Source: modelcontextprotocol.io, revisions up to 2025-06-18.

use crate::wire::frame::Frame;
use crate::wire::json::{Value, json};
use crate::wire::message::{DecodedFrame, Message, MessageKind, decode};

/// The name of the tool.
pub const TOOL: &str = "ahp_probe";

/// The environment variable through which a client passes [`MARK`] if the server is a process.
pub const MARK_VARIABLE: &str = "AHP_MARK";
/// The HTTP header through which a client passes [`MARK`] if the server is reached by HTTP.
pub const MARK_HEADER: &str = "X-Ahp-Mark";
/// The value of [`MARK_VARIABLE`] and of [`MARK_HEADER`].
pub const MARK: &str = "ahp-mark";

/// The text with which the tool fails.
pub const FAILS: &str = "ahp-fail";
/// The text with which the tool never returns.
pub const WAITS: &str = "ahp-wait";

/// Creates a content block.
type MakeBlock = fn() -> Value;

/// The texts for which the tool returns a content block in addition to the text. MCP and ACP have the same
/// blocks.
const GIVES: &[(&str, MakeBlock)] = &[
    ("ahp-image", || json!({"type": "image", "data": PIXEL, "mimeType": "image/png"})),
    ("ahp-audio", || json!({"type": "audio", "data": SILENCE, "mimeType": "audio/wav"})),
    ("ahp-link", || {
        json!({
            "type": "resource_link", "uri": "https://ahp.example/ahp-link.txt", "name": "ahp-link.txt",
            "title": "A link", "description": "What it links to", "mimeType": "text/plain", "size": 7,
        })
    }),
    ("ahp-resource", || {
        let resource = json!({
            "uri": "https://ahp.example/ahp-resource.txt", "mimeType": "text/plain", "text": "ahp-resource-text",
        });
        json!({"type": "resource", "resource": resource})
    }),
    ("ahp-blob", || {
        let resource = json!({
            "uri": "https://ahp.example/ahp-blob.bin", "mimeType": "application/octet-stream", "blob": "YWhw",
        });
        json!({"type": "resource", "resource": resource})
    }),
];

/// An image of one pixel, a PNG in base64.
const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";
/// An empty sound, a WAV in base64.
const SILENCE: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

/// Returns the additional content block for a text; `None` for other texts.
pub fn given(text: &str) -> Option<Value> {
    GIVES.iter().find(|(name, _)| *name == text).map(|(_, make)| make())
}

/// The supported revisions, newest first. The server behaves the same in all of them.
const REVISIONS: &[&str] = &["2025-06-18", "2025-03-26", "2024-11-05"];

/// Returns the newest revision.
pub fn newest() -> &'static str {
    REVISIONS.first().copied().unwrap_or_default()
}

/// Returns the record of a call: its arguments, and the value of [`MARK_VARIABLE`] or [`MARK_HEADER`], null if
/// it was absent.
pub fn record(arguments: &Value, mark: Option<&str>) -> Value {
    json!({"called": TOOL, "arguments": (arguments.clone()), "mark": mark})
}

/// The result of a line.
#[derive(Debug, Default, PartialEq)]
pub struct McpLineResult {
    /// The line of the response; `None` if there is no response.
    pub line: Option<String>,
    /// The arguments of a call of the tool; `None` for other messages.
    pub called: Option<Value>,
}

/// Handles a line of the client.
pub fn answer(line: &str) -> McpLineResult {
    let message = match decode(&Frame::Text(line.to_owned())) {
        DecodedFrame::Message(message) => message,
        DecodedFrame::Batch(_) | DecodedFrame::Scalar(_) => {
            return refused(Value::Null, -32600, "no message");
        }
        DecodedFrame::Odd(why) => return refused(Value::Null, -32700, &why),
        DecodedFrame::Deep => return refused(Value::Null, -32600, "nested too deep"),
    };
    let id = message.id().cloned().unwrap_or_default();
    match message.kind() {
        MessageKind::Request => {}
        MessageKind::Notification | MessageKind::Success | MessageKind::Failure => {
            return McpLineResult::default();
        }
        MessageKind::Malformed => return refused(id, -32600, "no request"),
    }
    let params = message.params();
    let mut called = None;
    let result = match message.method().unwrap_or_default() {
        "initialize" => initialized(params),
        "ping" => json!({}),
        "tools/list" => json!({"tools": [tool()]}),
        "tools/call" if params["name"] == TOOL => {
            let text = params.pointer("/arguments/text").and_then(Value::as_str);
            called = Some(params["arguments"].clone());
            if text == Some(WAITS) {
                return McpLineResult { line: None, called };
            }
            let said = format!("{TOOL} was called: {}", text.unwrap_or_default());
            let more = text.and_then(given);
            let content: Value =
                std::iter::once(json!({"type": "text", "text": said})).chain(more).collect();
            json!({"content": content, "isError": (text == Some(FAILS))})
        }
        "tools/call" => return refused(id, -32602, "no tool is called so"),
        method => return refused(id, -32601, &format!("no method is called `{method}`")),
    };
    let line = Message::success(id, result).into_value().to_text();
    McpLineResult { line: Some(line), called }
}

fn refused(id: Value, code: i64, why: &str) -> McpLineResult {
    let message = Message::failure(id, code, why, Value::Null);
    McpLineResult { line: Some(message.into_value().to_text()), called: None }
}

/// Returns the result of `initialize`: the requested revision if it is supported, else the newest.
fn initialized(params: &Value) -> Value {
    let asked = params["protocolVersion"].as_str();
    let known = REVISIONS.iter().find(|revision| Some(**revision) == asked);
    let revision = known.copied().unwrap_or_else(newest);
    json!({
        "protocolVersion": revision,
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "ahp-harness", "version": (env!("CARGO_PKG_VERSION"))},
    })
}

fn tool() -> Value {
    json!({
        "name": TOOL,
        "description": "Gives its text back. It changes nothing, and records that it was called.",
        "inputSchema": {
            "type": "object",
            "properties": {"text": {"type": "string", "description": "What to give back"}},
            "required": ["text"],
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_answered_or_ignored() {
        let check = |line: &str, pointer: &str, expected: &str| {
            let line = answer(line).line.map(|line| Value::read(&line).unwrap());
            let found = line.as_ref().and_then(|line| line.pointer(pointer));
            assert_eq!(found.map(Value::to_text).unwrap_or_default(), expected);
        };
        let init = r#"{"id":"a","method":"initialize","params":{"protocolVersion":"2024-11-05"}}"#;
        check(init, "/id", "\"a\"");
        check(init, "/result/protocolVersion", "\"2024-11-05\"");
        let newer = r#"{"id":1,"method":"initialize","params":{"protocolVersion":"2099-01-01"}}"#;
        check(newer, "/result/protocolVersion", "\"2025-06-18\"");
        check(r#"{"method":"notifications/initialized"}"#, "", "");
        check(r#"{"id":1,"method":"ping"}"#, "/result", "{}");
        check(r#"{"id":1,"method":"tools/list"}"#, "/result/tools/0/name", "\"ahp_probe\"");
        check(r#"{"id":1,"method":"resources/list"}"#, "/error/code", "-32601");
        check(r#"{"id":1,"method":"tools/call","params":{"name":"x"}}"#, "/error/code", "-32602");
        check("{", "/error/code", "-32700");
        check("[]", "/error/code", "-32600");
        check(r#"{"id":1}"#, "/error/code", "-32600");
    }

    #[test]
    fn a_call_is_recorded_with_its_arguments() {
        let call = |params: &str| {
            answer(&format!(r#"{{"id":1,"method":"tools/call","params":{params}}}"#)).called
        };
        let arguments = json!({"text": "a"});
        assert_eq!(call(r#"{"name":"ahp_probe","arguments":{"text":"a"}}"#), Some(arguments));
        assert_eq!(call(r#"{"name":"ahp_probe"}"#), Some(Value::Null));
        assert_eq!(call(r#"{"name":"other"}"#), None);
    }
}
