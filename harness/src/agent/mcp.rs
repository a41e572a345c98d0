//! An MCP server with one tool and some resources. It records the calls of its tool; the records prove which calls a
//! host's agent really executed.
//!
//! A message is a line of JSON-RPC, or the body of a request by HTTP. The tool, [`TOOL`], returns its text and
//! changes nothing. Three inputs are special: with [`FAILS`], the tool fails; with [`WAITS`], it does not return; with
//! [`COUNTS`], it returns the number of calls since the last call with this input.
//!
//! The functions are pure: they return the output and the record, and the caller writes them.
//!
//! Knows: JSON-RPC. Never knows: files, processes, scripts.
//!
//! Start at [`McpServer::answer`]. Source: modelcontextprotocol.io, revisions up to 2025-06-18.

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

/// The input with which the tool fails.
pub const FAILS: &str = "ahp-fail";
/// The input with which the tool never returns.
pub const WAITS: &str = "ahp-wait";

/// The input with which the tool returns the number of calls since the last call with this input. Calls that the server
/// refused count as well.
pub const COUNTS: &str = "ahp-count";
/// The resources of the server: the URI, the MIME type, the member that has the content (`text` or `blob`), and the
/// content.
const RESOURCES: &[(&str, &str, &str, &str)] = &[
    ("ahp-probe://text", "text/plain", "text", "Grüße 🙂"),
    (
        "ahp-probe://page",
        "text/html;profile=mcp-app",
        "text",
        "<!doctype html><p id=\"ahp\">Gr&uuml;&szlig;e</p>",
    ),
    ("ahp-probe://bytes", "application/octet-stream", "blob", "/wD+gA=="),
];

/// A function that creates a content block.
type MakeBlock = fn() -> Value;

/// The inputs with which the tool returns a content block in addition to the text. MCP and ACP have the same
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

/// Returns the additional content block for an input; `None` for other inputs.
pub fn given(text: &str) -> Option<Value> {
    GIVES.iter().find(|(name, _)| *name == text).map(|(_, make)| make())
}

/// The supported revisions, newest first. The server behaves the same in all of them.
const REVISIONS: &[&str] = &["2025-06-18", "2025-03-26", "2024-11-05"];

/// Returns the newest revision of MCP that the server supports.
pub fn newest() -> &'static str {
    REVISIONS.first().copied().unwrap_or_default()
}

/// Returns the record of a call: its arguments, and the value of [`MARK_VARIABLE`] or [`MARK_HEADER`], null if
/// it was absent.
pub fn record(arguments: &Value, mark: Option<&str>) -> Value {
    json!({"called": TOOL, "arguments": (arguments.clone()), "mark": mark})
}

/// The result of handling a line.
#[derive(Debug, Default, PartialEq)]
pub struct McpLineResult {
    /// The line of the response; `None` if there is no response.
    pub line: Option<String>,
    /// The arguments of a call of the tool; `None` for other messages.
    pub called: Option<Value>,
}

/// An error answer of the server: its code and its message.
pub type McpError = (i64, String);

/// The answer to a request.
#[derive(Debug, PartialEq)]
pub enum McpReply {
    /// The result of the request, or the error.
    Now(Result<Value, McpError>),
    /// The tool was called with [`WAITS`]: there is no answer.
    Never,
}

/// The state of a server.
#[derive(Clone, Debug, Default)]
pub struct McpServer {
    /// The number of calls since the last call with [`COUNTS`].
    calls: u64,
}

impl McpServer {
    /// Answers a request.
    pub fn respond(&mut self, method: &str, params: &Value) -> McpReply {
        let text = params.pointer("/arguments/text").and_then(Value::as_str);
        self.calls += u64::from(method == "tools/call" && text != Some(COUNTS));
        McpReply::Now(match method {
            "initialize" => Ok(initialized(params)),
            "ping" => Ok(json!({})),
            "tools/list" => Ok(json!({"tools": [tool()]})),
            "tools/call" if params["name"] == TOOL && text == Some(WAITS) => {
                return McpReply::Never;
            }
            "tools/call" if params["name"] == TOOL => Ok(self.called(text.unwrap_or_default())),
            "tools/call" => Err((-32602, "unknown tool".to_owned())),
            "resources/list" => Ok(json!({"resources": (resources().collect::<Vec<Value>>())})),
            "resources/templates/list" => Ok(json!({"resourceTemplates": []})),
            "resources/read" => read(&params["uri"]),
            _ => Err((-32601, format!("no method is called `{method}`"))),
        })
    }

    /// Returns the result of the tool.
    fn called(&mut self, text: &str) -> Value {
        let said = match text {
            COUNTS => format!("{} calls", std::mem::take(&mut self.calls)),
            text => format!("{TOOL} was called: {text}"),
        };
        let content: Value =
            std::iter::once(json!({"type": "text", "text": said})).chain(given(text)).collect();
        json!({"content": content, "isError": (text == FAILS)})
    }

    /// Handles a line of the client.
    pub fn answer(&mut self, line: &str) -> McpLineResult {
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
        let (method, params) = (message.method().unwrap_or_default(), message.params());
        let is_call = method == "tools/call" && params["name"] == TOOL;
        let called = is_call.then(|| params["arguments"].clone());
        let line = match self.respond(method, params) {
            McpReply::Never => None,
            McpReply::Now(Ok(result)) => Some(Message::success(id, result)),
            McpReply::Now(Err((code, why))) => Some(Message::failure(id, code, &why, Value::Null)),
        };
        McpLineResult { line: line.map(|line| line.into_value().to_text()), called }
    }
}

/// Returns the list entries of the resources.
fn resources() -> impl Iterator<Item = Value> {
    RESOURCES.iter().map(|(uri, kind, ..)| {
        let name = uri.rsplit('/').next().unwrap_or_default();
        json!({"uri": uri, "name": name, "mimeType": kind})
    })
}

fn read(uri: &Value) -> Result<Value, McpError> {
    let found = RESOURCES.iter().find(|(known, ..)| uri == *known);
    let (uri, kind, member, content) =
        found.ok_or_else(|| (-32002, "there is no such resource".to_owned()))?;
    let mut entry = json!({"uri": uri, "mimeType": kind});
    entry[*member] = json!(content);
    Ok(json!({"contents": [entry]}))
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
        "capabilities": {"tools": {}, "resources": {}},
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
            let line =
                McpServer::default().answer(line).line.map(|line| Value::read(&line).unwrap());
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
        check(r#"{"id":1,"method":"prompts/list"}"#, "/error/code", "-32601");
        let resource = |uri: &str| {
            format!(r#"{{"id":1,"method":"resources/read","params":{{"uri":"{uri}"}}}}"#)
        };
        check(&resource("ahp-probe://bytes"), "/result/contents/0/blob", "\"/wD+gA==\"");
        check(&resource("ahp-probe://none"), "/error/code", "-32002");
        check(r#"{"id":1,"method":"tools/call","params":{"name":"x"}}"#, "/error/code", "-32602");
        check("{", "/error/code", "-32700");
        check("[]", "/error/code", "-32600");
        check(r#"{"id":1}"#, "/error/code", "-32600");
    }

    #[test]
    fn calls_are_counted_with_those_that_are_refused() {
        let mut server = McpServer::default();
        let count = json!({"name": TOOL, "arguments": {"text": COUNTS}});
        let text = |reply: McpReply| match reply {
            McpReply::Now(Ok(result)) => result["content"][0]["text"].as_str().map(str::to_owned),
            _ => None,
        };
        server.respond("ping", &Value::Null);
        server.respond("tools/call", &Value::Null);
        let said = [(); 2].map(|()| text(server.respond("tools/call", &count)));
        assert_eq!(said.map(Option::unwrap_or_default), ["1 calls", "0 calls"]);
    }

    #[test]
    fn a_call_is_recorded_with_its_arguments() {
        let call = |params: &str| {
            McpServer::default()
                .answer(&format!(r#"{{"id":1,"method":"tools/call","params":{params}}}"#))
                .called
        };
        let arguments = json!({"text": "a"});
        assert_eq!(call(r#"{"name":"ahp_probe","arguments":{"text":"a"}}"#), Some(arguments));
        assert_eq!(call(r#"{"name":"ahp_probe"}"#), Some(Value::Null));
        assert_eq!(call(r#"{"name":"other"}"#), None);
    }
}
