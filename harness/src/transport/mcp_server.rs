//! The harness's MCP server on a port, by streamable HTTP and by HTTP with server-sent events.
//!
//! Each scenario has its own addresses, so that the server reports each call to the scenario whose agent made the call.
//! Below `/NUMBER`, the server offers `/mcp`, where it answers a POST with one JSON body, and `/sse`, which names an
//! `endpoint` for POSTs whose answers are sent as events. Neither address needs a session id. Other paths are not
//! served. The paths have the customary names, because some clients append these names to other URLs.
//!
//! Start at [`McpHttpServer`]. Source: modelcontextprotocol.io, transports of revisions 2025-06-18 and
//! 2024-11-05.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::stream;
use http_body_util::{BodyExt as _, StreamBody};
use hyper::Method;
use hyper::body::{Bytes, Frame, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use litemap::LiteMap;
use tokio::sync::mpsc;

use crate::agent::mcp;
use crate::transcript::{BelowEvent, SeenFrame};
use crate::wire;
use crate::wire::json::json;

use super::below::{AgentHub, HeardBelow};
use super::http_server::{self, HttpBody, HttpService, whole};

/// The maximum number of scenarios whose addresses are stored; the oldest ones are removed first.
const MAX_CASES: usize = 10_000;
/// The maximum number of open event streams.
const MAX_STREAMS: usize = 1_000;
/// The maximum number of answers that are queued for one event stream.
const MAX_WAITING: usize = 1_000;

/// The MCP server for all scenarios of a run.
pub struct McpHttpServer {
    address: SocketAddr,
    hub: Arc<AgentHub>,
    state: Mutex<McpServerState>,
}

#[derive(Default)]
struct McpServerState {
    serial: u64,
    cases: LiteMap<u64, String>,
    streams: LiteMap<u64, mpsc::Sender<String>>,
}

/// The resource that a request path names.
#[derive(Debug, PartialEq)]
enum McpServerPath {
    /// `/CASE/mcp`.
    Http { case: u64 },
    /// `/CASE/sse`.
    Events { case: u64 },
    /// `/CASE/messages/STREAM`, to which a client posts the messages for an event stream.
    Messages { case: u64, stream: u64 },
}

impl McpServerPath {
    fn read(path: &str) -> Option<McpServerPath> {
        let mut parts = path.strip_prefix('/')?.split('/');
        let case = parts.next()?.parse().ok()?;
        let (kind, stream) = (parts.next()?, parts.next());
        match (kind, stream, parts.next()) {
            ("mcp", None, None) => Some(McpServerPath::Http { case }),
            ("sse", None, None) => Some(McpServerPath::Events { case }),
            ("messages", Some(stream), None) => {
                Some(McpServerPath::Messages { case, stream: stream.parse().ok()? })
            }
            _ => None,
        }
    }
}

impl McpHttpServer {
    /// Creates a server at this address, which reports calls to this hub.
    pub fn new(address: SocketAddr, hub: Arc<AgentHub>) -> Arc<McpHttpServer> {
        Arc::new(McpHttpServer { address, hub, state: Mutex::default() })
    }

    /// Returns the URL for a scenario, without `/mcp` or `/sse`.
    pub fn url(&self, case: &str) -> String {
        let mut state = self.state();
        state.serial += 1;
        let serial = state.serial;
        if state.cases.len() == MAX_CASES {
            let oldest = state.cases.keys().next().copied();
            oldest.and_then(|oldest| state.cases.remove(&oldest));
        }
        state.cases.insert(serial, case.to_owned());
        format!("http://{}/{serial}", self.address)
    }

    fn state(&self) -> MutexGuard<'_, McpServerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers a message of a scenario's agent, and reports a call to the scenario.
    fn answered(&self, case: u64, headers: &HeaderMap, body: &[u8]) -> mcp::McpLineResult {
        let answered = mcp::McpServer::default().answer(String::from_utf8_lossy(body).trim());
        let name = self.state().cases.get(&case).cloned();
        if let (Some(arguments), Some(name)) = (&answered.called, name) {
            let mark = headers.get(mcp::MARK_HEADER).and_then(|value| value.to_str().ok());
            let mut record = mcp::record(arguments, mark);
            record["case"] = json!(name.as_str());
            let seen = Arc::new(SeenFrame::new(wire::frame::Frame::json(&record)));
            let peer = BelowEvent::Tool.peer().to_owned();
            self.hub.tell(&name, HeardBelow { peer, way: BelowEvent::Tool, seen });
        }
        answered
    }

    /// Answers a POST of streamable HTTP. The body of the response is the answer to a request, and is empty for any
    /// other message.
    async fn posted(
        &self,
        case: u64,
        headers: &HeaderMap,
        body: &[u8],
    ) -> hyper::Response<HttpBody> {
        let answered = self.answered(case, headers, body);
        match (answered.line, answered.called) {
            (Some(line), _) => typed(whole(200, &line), "application/json"),
            // The tool never returns; the client disconnects after its timeout.
            (None, Some(_)) => std::future::pending().await,
            (None, None) => whole(202, ""),
        }
    }

    /// Opens an event stream. The first event contains the URL to which messages have to be sent.
    fn events(&self, case: u64) -> hyper::Response<HttpBody> {
        let (sender, receiver) = mpsc::channel(MAX_WAITING);
        let mut state = self.state();
        state.streams.retain(|_, sender| !sender.is_closed());
        if state.streams.len() >= MAX_STREAMS {
            return whole(503, "too many event streams are open");
        }
        state.serial += 1;
        let serial = state.serial;
        let _ = sender.try_send(event("endpoint", &format!("/{case}/messages/{serial}")));
        state.streams.insert(serial, sender);
        drop(state);
        let frames = stream::unfold(receiver, |mut receiver| async move {
            let text = receiver.recv().await?;
            Some((Ok::<_, Infallible>(Frame::data(Bytes::from(text))), receiver))
        });
        typed(hyper::Response::new(StreamBody::new(frames).boxed_unsync()), "text/event-stream")
    }

    /// Accepts a message whose answer is sent to an event stream.
    fn taken(
        &self,
        (case, stream): (u64, u64),
        headers: &HeaderMap,
        body: &[u8],
    ) -> hyper::Response<HttpBody> {
        let Some(sender) = self.state().streams.get(&stream).cloned() else {
            return whole(404, "there is no such event stream");
        };
        if let Some(line) = self.answered(case, headers, body).line {
            // If a client does not read its events and the queue is full, the answer is lost.
            let _ = sender.try_send(event("message", &line));
        }
        whole(202, "Accepted")
    }
}

impl HttpService for McpHttpServer {
    async fn answer(
        self: Arc<McpHttpServer>,
        request: hyper::Request<Incoming>,
    ) -> hyper::Response<HttpBody> {
        let (head, body) = request.into_parts();
        let Some(path) = McpServerPath::read(head.uri.path()) else {
            return whole(404, "expected /NUMBER/mcp or /NUMBER/sse");
        };
        if let (McpServerPath::Events { case }, &Method::GET) = (&path, &head.method) {
            return self.events(*case);
        }
        if head.method != Method::POST || matches!(path, McpServerPath::Events { .. }) {
            return whole(405, "the method is not allowed here");
        }
        let body = match http_server::body(body).await {
            Ok(body) => body,
            Err(refused) => return refused,
        };
        match path {
            McpServerPath::Messages { case, stream } => {
                self.taken((case, stream), &head.headers, &body)
            }
            McpServerPath::Http { case } | McpServerPath::Events { case } => {
                self.posted(case, &head.headers, &body).await
            }
        }
    }
}

fn typed(
    mut response: hyper::Response<HttpBody>,
    content: &'static str,
) -> hyper::Response<HttpBody> {
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content));
    response
}

/// Returns a server-sent event. The data must not contain line breaks.
fn event(name: &str, data: &str) -> String {
    format!("event: {name}\ndata: {data}\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_must_match_as_a_whole() {
        let check = |path: &str, expected: Option<McpServerPath>| {
            assert_eq!(McpServerPath::read(path), expected, "{path}");
        };
        check("/7/mcp", Some(McpServerPath::Http { case: 7 }));
        check("/7/sse", Some(McpServerPath::Events { case: 7 }));
        check("/7/messages/9", Some(McpServerPath::Messages { case: 7, stream: 9 }));
        for odd in ["", "/", "/mcp", "/x/mcp", "/7/mcp/1", "/7/messages", "/7/messages/9/1"] {
            check(odd, None);
        }
    }
}
