//! The model stand-in on a port: requests in, beats out, everything in a log.
//!
//! Below `/ahp/` the stand-in is steered: `POST /ahp/release/NAME` lets one answer go on that holds at
//! NAME, `GET /ahp/log?after=N` shows the exchanges whose number is above N, one JSON object a line.
//!
//! The agent that asks is as hostile as any peer: the log has bounds, as requests have ([`http_server`]).

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

/// Exchanges that `GET /ahp/log` can still show.
const REMEMBERED: usize = 10_000;
/// Releases that may come before anybody holds at their name.
const MAX_RELEASES: usize = 1_000;

/// A stand-in that is being served.
pub struct ServedStandIn {
    flavor: ModelFlavor,
    base: String,
    hub: Arc<AgentHub>,
    state: Mutex<HttpState>,
    /// Rung at each release.
    released: Notify,
}

struct HttpState {
    serial: u64,
    /// Scenarios and names that were released and at which nobody has gone on.
    releases: VecDeque<(String, String)>,
    /// What the answers that are on their way are about.
    open: LiteMap<u64, HttpExchange>,
    /// Where holds were passed: an agent that asks once more for an answer that it lost is not held twice.
    passed: VecDeque<(u64, String)>,
    log: VecDeque<(u64, String)>,
    file: Option<Box<dyn Write + Send>>,
}

/// An answer that is on its way.
#[derive(Clone, Debug, Default)]
struct HttpExchange {
    /// The scenario, as the prompt says; empty where it does not.
    case: String,
    /// Tells one place of one conversation from all others.
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
    /// A stand-in for one family of agents, reached at `base`; exchanges are told to the scenarios that
    /// they belong to, and written to `file` too.
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

    /// Where it is reached, such as `http://127.0.0.1:9000`.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// How many requests have come so far.
    pub fn asked(&self) -> u64 {
        self.state().serial
    }

    /// What was asked and answered, oldest first, as it stands in the log.
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
            // A log that cannot be written is no reason to fail the agent.
            let _ = writeln!(file, "{line}").and_then(|()| file.flush());
        }
        if state.log.len() == REMEMBERED {
            state.log.pop_front();
        }
        state.log.push_back((serial, line));
    }

    /// Comes back when the name is released, or after [`MAX_HOLD`].
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

    /// Whether the name was released: once for each release, and again where it was passed already.
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

    /// Lets one answer go on that holds at the name, or that is going to; of one scenario where one is named.
    pub fn release(&self, case: &str, name: &str) {
        let mut state = self.state();
        if state.releases.len() == MAX_RELEASES {
            state.releases.pop_front();
        }
        state.releases.push_back((case.to_owned(), name.to_owned()));
        drop(state);
        self.released.notify_waiters();
    }

    /// What steers the stand-in.
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

/// An answer on its way; its end is noted, however it comes.
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

/// The beats as they are written: a pause is kept before what comes after it.
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
