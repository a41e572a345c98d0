//! Calls the harness's tool at an MCP server, as an MCP client: on standard input and output, by streamable HTTP, or by
//! HTTP with server-sent events.
//!
//! Each connection serves one call. Only `http:` URLs are supported, because the harness's server is on this machine.
//!
//! Start at [`call`]. Source: modelcontextprotocol.io, transports of revisions 2025-06-18 and 2024-11-05.

use std::io::{Error, ErrorKind};
use std::process::Stdio;

use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, CONTENT_TYPE, HOST};
use hyper::{Request, Response, Uri};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::process::Command;

use crate::agent::acp::EffectResult;
use crate::agent::acp::server::McpServerAddress;
use crate::agent::mcp;
use crate::wire::json::{Value, json};
use crate::wire::message::Message;

use super::below::MAX_LINE;
use super::child::ChildProcess;

/// The maximum length of an answer by HTTP, in bytes.
const MAX_ANSWER: usize = 16 << 20;
/// The id of the request that calls the tool.
const CALL: u64 = 2;

/// Calls the harness's tool on a server, and returns its result.
///
/// # Errors
/// Returns an error if the server cannot be reached, or exits before it has answered.
pub async fn call(server: &McpServerAddress, arguments: Value) -> std::io::Result<EffectResult> {
    let answer = match server {
        McpServerAddress::Command { words, variables } => {
            by_process(words, variables, arguments).await
        }
        McpServerAddress::Http { url, headers } => by_http(url, headers, arguments).await,
        McpServerAddress::Sse { url, headers } => by_events(url, headers, arguments).await,
    };
    answer.map(|answer| ended(&answer))
}

/// Returns the messages of the client: the handshake, and the call of the tool.
fn messages(arguments: Value) -> [Message; 3] {
    let client = json!({"name": "ahp-harness", "version": (env!("CARGO_PKG_VERSION"))});
    let begins =
        json!({"protocolVersion": (mcp::newest()), "capabilities": {}, "clientInfo": client});
    let calls = json!({"name": (mcp::TOOL), "arguments": arguments});
    [
        Message::request(1, "initialize", begins),
        Message::notification("notifications/initialized", json!({})),
        Message::request(CALL, "tools/call", calls),
    ]
}

/// Returns the result of the call, from its answer.
fn ended(answer: &Value) -> EffectResult {
    let text = answer.pointer("/result/content/0/text").and_then(Value::as_str);
    let text = text.unwrap_or("the answer has no text").to_owned();
    let ok = answer.get("result").is_some() && answer["result"]["isError"] != true;
    let content = answer["result"]["content"].as_array().into_iter().flatten();
    EffectResult { ok, text, blocks: content.skip(1).cloned().collect() }
}

fn gone() -> Error {
    Error::new(ErrorKind::UnexpectedEof, "the server ended before it answered")
}

async fn by_process(
    words: &[String],
    variables: &[(String, String)],
    arguments: Value,
) -> std::io::Result<Value> {
    let none = || Error::other("there is no such server");
    let (program, args) = words.split_first().ok_or_else(none)?;
    let mut line = Command::new(program);
    line.args(args).envs(variables.iter().map(|(name, value)| (name, value)));
    line.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut process = ChildProcess::start(&mut line)?;
    let child = process.child();
    let mut input = child.stdin.take().ok_or_else(none)?;
    let output = child.stdout.take().ok_or_else(none)?;
    let mut lines = String::new();
    for message in messages(arguments) {
        lines += &message.into_value().to_text();
        lines.push('\n');
    }
    input.write_all(lines.as_bytes()).await?;
    input.flush().await?;
    let mut answers = BufReader::new(output.take(MAX_LINE)).lines();
    while let Some(line) = answers.next_line().await? {
        let answer = Value::read(&line).unwrap_or_default();
        if answer["id"] == CALL {
            return Ok(answer);
        }
    }
    Err(gone())
}

async fn by_http(
    url: &str,
    headers: &[(String, String)],
    arguments: Value,
) -> std::io::Result<Value> {
    let url = read_url(url)?;
    for message in messages(arguments) {
        let mut events = ask(&url, headers, Some(message.into_value().to_text())).await?;
        while let Some((_, data)) = events.next().await? {
            if let Some(answer) = answer_in(&data) {
                return Ok(answer);
            }
        }
    }
    Err(gone())
}

async fn by_events(
    url: &str,
    headers: &[(String, String)],
    arguments: Value,
) -> std::io::Result<Value> {
    let url = read_url(url)?;
    let mut events = ask(&url, headers, None).await?;
    let endpoint = loop {
        match events.next().await? {
            Some((name, data)) if name == "endpoint" => break joined(&url, &data)?,
            Some(_) => {}
            None => return Err(gone()),
        }
    };
    for message in messages(arguments) {
        ask(&endpoint, headers, Some(message.into_value().to_text())).await?;
    }
    while let Some((_, data)) = events.next().await? {
        if let Some(answer) = answer_in(&data) {
            return Ok(answer);
        }
    }
    Err(gone())
}

/// Parses a message and returns it if it is the answer to the call.
fn answer_in(data: &str) -> Option<Value> {
    Value::read(data).ok().filter(|answer| answer["id"] == CALL)
}

fn read_url(url: &str) -> std::io::Result<Uri> {
    let url: Uri = url.parse().map_err(Error::other)?;
    match url.scheme_str() {
        Some("http") if url.authority().is_some() => Ok(url),
        _ => Err(Error::other(format!("expected an `http:` URL, found `{url}`"))),
    }
}

/// Resolves an endpoint against the URL of the server; the endpoint may be a path or a whole URL.
fn joined(url: &Uri, endpoint: &str) -> std::io::Result<Uri> {
    match (endpoint.strip_prefix('/'), url.authority()) {
        (Some(path), Some(authority)) => read_url(&format!("http://{authority}/{path}")),
        _ => read_url(endpoint),
    }
}

/// Sends a request and returns the answer. The request is a POST if it has a body, or else a GET.
///
/// # Errors
/// Returns an error if the server cannot be reached or refuses the request.
async fn ask(
    url: &Uri,
    headers: &[(String, String)],
    body: Option<String>,
) -> std::io::Result<AnswerEvents> {
    let authority = url.authority().ok_or_else(gone)?;
    let address = (authority.host(), authority.port_u16().unwrap_or(80));
    let stream = TcpStream::connect(address).await?;
    let (mut sender, connection) =
        http1::handshake(TokioIo::new(stream)).await.map_err(Error::other)?;
    // The task ends when the request sender and the answer are dropped.
    tokio::spawn(connection);
    let path = url.path_and_query().map_or("/", |path| path.as_str());
    let method = if body.is_some() { "POST" } else { "GET" };
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .header(HOST, authority.as_str())
        .header(ACCEPT, "application/json, text/event-stream")
        .header(CONTENT_TYPE, "application/json");
    for (name, value) in headers {
        request = request.header(name, value);
    }
    let body = Full::new(Bytes::from(body.unwrap_or_default()));
    let request = request.body(body).map_err(Error::other)?;
    let response = sender.send_request(request).await.map_err(Error::other)?;
    match response.status().is_success() {
        true => Ok(AnswerEvents::of(response, sender)),
        false => Err(Error::other(format!("the server answered `{}`", response.status()))),
    }
}

/// The content of an answer: events, or one string that is treated as the data of an event.
struct AnswerEvents {
    body: Limited<Incoming>,
    /// The sender, which keeps the connection open.
    _sender: http1::SendRequest<Full<Bytes>>,
    streams: bool,
    ended: bool,
    text: String,
}

impl AnswerEvents {
    fn of(response: Response<Incoming>, sender: http1::SendRequest<Full<Bytes>>) -> AnswerEvents {
        let content = response.headers().get(CONTENT_TYPE);
        let content = content.and_then(|value| value.to_str().ok()).unwrap_or_default();
        let streams = content.starts_with("text/event-stream");
        let body = Limited::new(response.into_body(), MAX_ANSWER);
        AnswerEvents { body, _sender: sender, streams, ended: false, text: String::new() }
    }

    /// Returns the name and the data of the next event; `None` at the end.
    async fn next(&mut self) -> std::io::Result<Option<(String, String)>> {
        loop {
            if self.streams
                && let Some(event) = first_event(&mut self.text)
            {
                return Ok(Some(event));
            }
            if self.ended {
                let whole = std::mem::take(&mut self.text);
                let whole = Some(whole).filter(|text| !self.streams && !text.is_empty());
                return Ok(whole.map(|text| ("message".to_owned(), text)));
            }
            match self.body.frame().await {
                Some(Ok(frame)) => {
                    let data = frame.into_data().unwrap_or_default();
                    self.text += &String::from_utf8_lossy(&data);
                }
                Some(Err(error)) => return Err(Error::other(error)),
                None => self.ended = true,
            }
        }
    }
}

/// Removes the first complete event from a string, and returns its name and its data; `None` if no event is complete.
fn first_event(text: &mut String) -> Option<(String, String)> {
    let end = text.find("\n\n")?;
    let rest = text.split_off(end + 2);
    let event = std::mem::replace(text, rest);
    let (mut name, mut data) = ("message".to_owned(), Vec::new());
    for line in event.lines() {
        match line.split_once(':').map(|(field, value)| (field, value.trim_start())) {
            Some(("event", value)) => value.clone_into(&mut name),
            Some(("data", value)) => data.push(value),
            _ => {}
        }
    }
    Some((name, data.join("\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_one_by_one() {
        let mut text =
            "event: endpoint\ndata: /a\n\n: a comment\ndata: b\ndata: c\n\nda".to_owned();
        let event = |name: &str, data: &str| Some((name.to_owned(), data.to_owned()));
        assert_eq!(first_event(&mut text), event("endpoint", "/a"));
        assert_eq!(first_event(&mut text), event("message", "b\nc"));
        assert_eq!((first_event(&mut text), text.as_str()), (None, "da"));
    }

    #[test]
    fn an_endpoint_is_a_path_or_a_url() {
        let url = read_url("http://127.0.0.1:9/1/sse").ok();
        let join = |endpoint: &str| {
            let joined = url.as_ref().and_then(|url| joined(url, endpoint).ok());
            joined.map(|url| url.to_string())
        };
        assert_eq!(join("/1/messages/2").as_deref(), Some("http://127.0.0.1:9/1/messages/2"));
        assert_eq!(join("http://h/x").as_deref(), Some("http://h/x"));
        assert_eq!(join("ftp://h/x"), None);
    }
}
