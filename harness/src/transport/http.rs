//! Serves the model stand-in on a port: answers requests with a stream of beats and logs all exchanges.
//!
//! The paths below `/ahp/` control the stand-in: `POST /ahp/release/NAME` releases one answer that waits at the
//! hold NAME, `GET /ahp/log?after=N` returns the exchanges with numbers above N, one JSON object per line.
//!
//! The agent is not trusted: the log and the requests have limits ([`http_server`]).

use std::collections::VecDeque;
use std::convert::Infallible;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_util::stream::{self, Stream};
use http_body_util::{BodyExt as _, Empty, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::header::AUTHORIZATION;
use litemap::LiteMap;
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::agent::model::{
    self, MAX_HOLD, ModelExchange, ModelFlavor, ModelReply, ModelSetting, ReplyBeat,
};
use crate::agent::script;
use crate::transcript::{BelowEvent, SeenFrame};
use crate::wire;
use crate::wire::json::{Value, json};

use super::below::{AgentHub, HeardBelow};
use super::http_server::{self, HttpBody, HttpService, whole};

/// The maximum number of exchanges that `GET /ahp/log` can return.
const REMEMBERED: usize = 10_000;
/// The maximum number of releases that are stored because no answer waits for them yet.
const MAX_RELEASES: usize = 1_000;

/// A stand-in that is being served.
pub struct ServedStandIn {
    flavor: ModelFlavor,
    base: String,
    hub: Arc<AgentHub>,
    state: Mutex<HttpState>,
    /// The notification that wakes the waiting answers after each release.
    released: Notify,
}

struct HttpState {
    serial: u64,
    /// Releases that no answer has used yet: the scenario and the name.
    releases: VecDeque<(String, String)>,
    /// The answers in progress.
    open: LiteMap<u64, HttpExchange>,
    /// The holds that an answer has passed. If an agent repeats the request because its answer was lost, the new answer
    /// does not wait again.
    passed: VecDeque<(u64, String)>,
    log: VecDeque<(u64, String)>,
    file: Option<Box<dyn Write + Send>>,
}

/// An answer in progress.
#[derive(Clone, Debug, Default)]
struct HttpExchange {
    /// The scenario in the prompt; empty if the prompt contains none.
    case: String,
    /// A hash that identifies this position of this conversation.
    place: u64,
}

impl HttpExchange {
    fn of(record: &Value) -> Option<HttpExchange> {
        let prompt = record["prompt"].as_str()?;
        let mut hasher = DefaultHasher::new();
        (prompt, record["place"].as_u64(), record["round"].as_u64()).hash(&mut hasher);
        let case = script::case_of(prompt).unwrap_or_default().to_owned();
        Some(HttpExchange { case, place: hasher.finish() })
    }
}

impl ServedStandIn {
    /// Creates a stand-in for one family of agents, reachable at `base`. Exchanges are delivered to their
    /// scenarios and written to `file`.
    pub fn new(
        flavor: ModelFlavor,
        base: String,
        hub: Arc<AgentHub>,
        file: Option<Box<dyn Write + Send>>,
    ) -> Arc<ServedStandIn> {
        let state = HttpState {
            serial: 0,
            releases: VecDeque::new(),
            open: LiteMap::new(),
            passed: VecDeque::new(),
            log: VecDeque::new(),
            file,
        };
        Arc::new(ServedStandIn {
            flavor,
            base,
            hub,
            state: Mutex::new(state),
            released: Notify::new(),
        })
    }

    /// Returns the base URL, such as `http://127.0.0.1:9000`.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// Returns the number of requests so far.
    pub fn asked(&self) -> u64 {
        self.state().serial
    }

    /// Returns the exchanges in the log, oldest first.
    pub fn records(&self) -> Vec<String> {
        self.state().log.iter().map(|(_, line)| line.clone()).collect()
    }

    fn state(&self) -> MutexGuard<'_, HttpState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, serial: u64, mut record: Value) {
        record["t"] = json!(now().as_secs_f64());
        let line = record.to_text();
        let mut state = self.state();
        let ended = record.get("ended").is_some();
        let exchange = if ended { state.open.remove(&serial) } else { HttpExchange::of(&record) };
        if let Some(exchange) = exchange {
            if !exchange.case.is_empty() {
                let seen = Arc::new(SeenFrame::new(wire::frame::Frame::Text(line.clone())));
                let peer = BelowEvent::Model.peer().to_owned();
                self.hub.tell(&exchange.case, HeardBelow { peer, way: BelowEvent::Model, seen });
            }
            if !ended {
                state.open.insert(serial, exchange);
            }
        }
        if let Some(file) = &mut state.file {
            // The agent must not stop if the log cannot be written.
            let _ = writeln!(file, "{line}").and_then(|()| file.flush());
        }
        if state.log.len() == REMEMBERED {
            state.log.pop_front();
        }
        state.log.push_back((serial, line));
    }

    /// Waits until the hold with this name is released, at most for [`MAX_HOLD`].
    async fn hold(&self, serial: u64, name: &str) {
        let HttpExchange { case, place } =
            self.state().open.get(&serial).cloned().unwrap_or_default();
        let released = async {
            loop {
                let rung = self.released.notified();
                if self.take(&case, place, name) {
                    return;
                }
                rung.await;
            }
        };
        let _ = timeout(MAX_HOLD, released).await;
    }

    /// Returns whether an answer may pass a hold, and consumes one release. An answer that has already passed
    /// the hold needs no further release.
    fn take(&self, case: &str, place: u64, name: &str) -> bool {
        let mut state = self.state();
        if state.passed.iter().any(|(passed, what)| *passed == place && what == name) {
            return true;
        }
        let fits =
            |(whose, what): &(String, String)| what == name && (whose == case || whose.is_empty());
        let at = state.releases.iter().position(fits);
        let passes = at.and_then(|at| state.releases.remove(at)).is_some();
        if passes {
            if state.passed.len() == MAX_RELEASES {
                state.passed.pop_front();
            }
            state.passed.push_back((place, name.to_owned()));
        }
        passes
    }

    /// Releases one answer that waits at this hold, now or later. If `case` is not empty, releases only an
    /// answer of that scenario.
    pub fn release(&self, case: &str, name: &str) {
        let mut state = self.state();
        if state.releases.len() == MAX_RELEASES {
            state.releases.pop_front();
        }
        state.releases.push_back((case.to_owned(), name.to_owned()));
        drop(state);
        self.released.notify_waiters();
    }

    /// Handles a control request (`POST /ahp/release/NAME`, `GET /ahp/log`).
    fn command(&self, method: &str, command: &str, query: &str) -> hyper::Response<HttpBody> {
        match (method, command.split_once('/')) {
            ("POST", Some(("release", name))) => {
                self.release("", name);
                whole(200, "{}")
            }
            ("GET", None) if command == "log" => {
                let after = query.split('&').find_map(|part| part.strip_prefix("after="));
                let after: u64 = after.and_then(|after| after.parse().ok()).unwrap_or_default();
                let state = self.state();
                let later = state.log.iter().filter(|(serial, _)| *serial > after);
                let lines: Vec<&str> = later.map(|(_, line)| line.as_str()).collect();
                whole(200, &lines.join("\n"))
            }
            _ => whole(404, "expected POST /ahp/release/NAME or GET /ahp/log?after=N"),
        }
    }
}

impl HttpService for ServedStandIn {
    async fn answer(
        self: Arc<ServedStandIn>,
        request: hyper::Request<Incoming>,
    ) -> hyper::Response<HttpBody> {
        let (head, body) = request.into_parts();
        let path = head.uri.path();
        let query = head.uri.query().unwrap_or_default();
        if let Some(command) = path.strip_prefix("/ahp/") {
            return self.command(head.method.as_str(), command, query);
        }
        let body = match http_server::body(body).await {
            Ok(body) => body,
            Err(refused) => return refused,
        };
        let serial = {
            let mut state = self.state();
            state.serial += 1;
            state.serial
        };
        let epoch = now().as_secs();
        let setting = ModelSetting { flavor: &self.flavor, base: &self.base, epoch, serial };
        let token = head.headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let token = token.map(|text| text.split_once(' ').map_or(text, |(_, token)| token.trim()));
        let method = head.method.as_str();
        let request = model::ModelRequest { method, path, query, token, body: &body };
        let ModelExchange { reply, record } = model::answer(&request, &setting);
        self.note(serial, record);
        respond(reply, AnswerGuard { stand: self, serial, whole: false })
    }
}

/// A guard for an answer in progress. The guard logs the end of the answer, even if the answer is dropped.
struct AnswerGuard {
    stand: Arc<ServedStandIn>,
    serial: u64,
    whole: bool,
}

impl AnswerGuard {
    fn finish(mut self) {
        self.whole = true;
    }
}

impl Drop for AnswerGuard {
    fn drop(&mut self) {
        let ended = if self.whole { "complete" } else { "cut" };
        self.stand.note(self.serial, json!({"serial": (self.serial), "ended": (ended)}));
    }
}

fn respond(reply: ModelReply, telling: AnswerGuard) -> hyper::Response<HttpBody> {
    let status = reply.status;
    let content = reply.content;
    let body = match content {
        None => {
            telling.finish();
            Empty::new().boxed_unsync()
        }
        Some(_) => StreamBody::new(beats(reply, telling)).boxed_unsync(),
    };
    let mut response = hyper::Response::new(body);
    *response.status_mut() = hyper::StatusCode::from_u16(status).unwrap_or_default();
    let headers = response.headers_mut();
    let mut header = |name: &'static str, value: &'static str| {
        headers.insert(name, hyper::header::HeaderValue::from_static(value));
    };
    header("x-request-id", "scripted");
    if let Some(content) = content {
        header("content-type", content);
    }
    response
}

/// Returns the beats as a stream; a pause delays the data that follows.
fn beats(
    reply: ModelReply,
    telling: AnswerGuard,
) -> impl Stream<Item = Result<Frame<Bytes>, Infallible>> {
    stream::unfold((reply, telling), |(mut reply, telling)| async move {
        loop {
            match reply.next() {
                Some(ReplyBeat::Write(text)) => {
                    return Some((Ok(Frame::data(Bytes::from(text))), (reply, telling)));
                }
                Some(ReplyBeat::Pause(pause)) => tokio::time::sleep(pause).await,
                Some(ReplyBeat::Hold(name)) => telling.stand.hold(telling.serial, &name).await,
                None => {
                    telling.finish();
                    return None;
                }
            }
        }
    })
}

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
