//! Legal variants of the reference client: choices that the protocol leaves to a client. No scenario and no check may
//! report a finding for a variant.
//!
//! A variant changes messages on their way between the reference client and its connection, or delays them.
//!
//! Knows: messages. Never knows: the rules that a variant might seem to break.
//!
//! Start at [`VARIANTS`].

use std::collections::VecDeque;
use std::time::Duration;

use crate::transcript::{ConnId, SeenFrame};
use crate::wire::channel::ROOT;
use crate::wire::frame::Frame;
use crate::wire::json::{Map, Value, json};
use crate::wire::message::{Message, MessageKind};

use super::{ClientOutput, ReferenceClient, ReferenceClientConfig, STATE_COMMAND, SansIoClient};

/// A row of the table of legal variants of the reference client.
#[derive(Clone, Copy, Debug)]
pub struct ClientVariantRow {
    /// The name on the command line.
    pub name: &'static str,
    /// The behaviour of the client, in one sentence.
    pub doc: &'static str,
    /// The text of the specification that permits the variant.
    pub permitted: &'static str,
    change: VariantChange,
}

/// The part of the reference client's behaviour that a variant changes.
#[derive(Clone, Copy, Debug)]
enum VariantChange {
    /// The configuration of the client.
    Config(fn(&mut ReferenceClientConfig)),
    /// The ids of requests.
    Ids(fn(u64) -> Value),
    /// The `clientSeq` of dispatches, which is multiplied by the first number and increased by the second.
    Numbers(u64, u64),
    /// The params of each request and notification.
    Params(fn(&mut Value)),
    /// The params of each request of this method.
    ParamsOf(&'static str, fn(&mut Value)),
    /// The text of each frame.
    Text(fn(&Value) -> String),
    /// An additional request before each request of this method; its response is not passed to the client.
    Before(&'static str, fn(&Message) -> Message),
    /// An additional request after each successful response to this method; its response is not passed to the client.
    After(&'static str, fn() -> Message),
    /// The time before a response to the host is sent.
    SlowAnswers(Duration),
    /// The time before a connection is opened again.
    SlowReconnect(Duration),
    /// The time before each frame is sent.
    SlowFrames(Duration),
    /// The errors with which the client answers requests of the host.
    Refusals(fn(&mut Value)),
    /// The lines of the driver.
    Lines(fn(Value) -> Vec<Value>),
    /// The driver reports the confirmed state in place of the optimistic state, and reports no number of pending
    /// actions.
    ConfirmedOnly,
}

/// The first id of the requests that a variant adds.
const OWN_IDS: u64 = 900_000_000;

const fn row(
    name: &'static str,
    doc: &'static str,
    permitted: &'static str,
    change: VariantChange,
) -> ClientVariantRow {
    ClientVariantRow { name, doc, permitted, change }
}

/// Every variant.
pub const VARIANTS: &[ClientVariantRow] = &[
    row(
        "text-ids",
        "The ids of requests are strings.",
        "JSON-RPC 2.0, section 4: an id is a string or a number",
        VariantChange::Ids(|id| json!(format!("request-{id}"))),
    ),
    row(
        "large-ids",
        "The ids of requests begin at 2^52.",
        "JSON-RPC 2.0, section 4",
        VariantChange::Ids(|id| json!((1_u64 << 52) + id)),
    ),
    row(
        "negative-ids",
        "The ids of requests are negative.",
        "JSON-RPC 2.0, section 4",
        VariantChange::Ids(|id| json!(-i64::try_from(id).unwrap_or(i64::MAX))),
    ),
    row(
        "odd-text-ids",
        "The ids of requests are strings with spaces and punctuation.",
        "JSON-RPC 2.0, section 4",
        VariantChange::Ids(|id| json!(format!(" \u{e9}\"{id}/ "))),
    ),
    row(
        "sparse-numbers",
        "The `clientSeq` grows by ten.",
        "guide, actions: the number grows",
        VariantChange::Numbers(10, 0),
    ),
    row(
        "late-numbers",
        "The `clientSeq` begins at 5001.",
        "guide, actions: the number grows",
        VariantChange::Numbers(1, 5_000),
    ),
    row(
        "extra-members",
        "Every message has members that the protocol does not know.",
        "versioning.md: unknown members are ignored",
        VariantChange::Params(|params| {
            params["x-trace"] = json!({"span": "a1", "sampled": true});
        }),
    ),
    row(
        "meta",
        "Every message has `_meta`.",
        "the optional member `_meta` of params",
        VariantChange::Params(|params| params["_meta"] = json!({"x-trace": "a1"})),
    ),
    row(
        "no-client-info",
        "The handshake does not name the client.",
        "InitializeParams.clientInfo is optional",
        VariantChange::ParamsOf("initialize", |params| {
            remove(params, "clientInfo");
        }),
    ),
    row(
        "long-client-info",
        "The name of the client in the handshake is very long.",
        "InitializeParams.clientInfo: any strings",
        VariantChange::ParamsOf("initialize", |params| {
            params["clientInfo"]["name"] = json!("client ".repeat(200));
        }),
    ),
    row(
        "declares-nothing",
        "The handshake declares that the client has no capabilities.",
        "InitializeParams.capabilities is optional",
        VariantChange::ParamsOf("initialize", |params| {
            params["capabilities"] = json!({});
        }),
    ),
    row(
        "offers-a-later-version",
        "A version that does not exist is offered first.",
        "versioning.md: a client offers what it supports",
        VariantChange::ParamsOf("initialize", |params| {
            if let Some(offers) = params["protocolVersions"].as_array().cloned() {
                let later = std::iter::once(json!("99.0.0"));
                params["protocolVersions"] = later.chain(offers).collect();
            }
        }),
    ),
    row(
        "prompt-delivery",
        "Subscriptions ask for delivery without delay.",
        "SubscribeParams.delivery is optional",
        VariantChange::ParamsOf("subscribe", |params| {
            params["delivery"] = json!({"maxLatencyMs": 0});
        }),
    ),
    row(
        "indented",
        "The JSON of frames is indented.",
        "JSON: white space has no meaning",
        VariantChange::Text(|value| serde_json::to_string_pretty(value).unwrap_or_default()),
    ),
    row(
        "reversed-members",
        "The members of objects are in reverse order.",
        "JSON: the order of members has no meaning",
        VariantChange::Text(|value| reversed(value).to_string()),
    ),
    row(
        "escaped",
        "Slashes and characters outside of ASCII are escaped.",
        "JSON: escapes have no meaning",
        VariantChange::Text(escaped),
    ),
    row(
        "channel-beside-params",
        "Requests to MCP servers have their channel beside the params.",
        "mcp-channel.md, wire format: the channel at the top level",
        VariantChange::Text(|value| {
            let mut value = value.clone();
            let is_mcp = |channel: &str| channel.starts_with("mcp:");
            if value["params"]["channel"].as_str().is_some_and(is_mcp) {
                value["channel"] = value["params"]["channel"].clone();
                remove(&mut value["params"], "channel");
            }
            value.to_string()
        }),
    ),
    row(
        "begins-anew",
        "After a lost connection the client begins a new session, and does not send `reconnect`.",
        "`reconnect` is optional",
        VariantChange::Config(|config| config.begins_anew = true),
    ),
    row(
        "lists-each-time",
        "The client requests the list of sessions each time the list is needed, and keeps no copy.",
        "`listSessions` at any time",
        VariantChange::Config(|config| config.lists_each_time = true),
    ),
    row(
        "confirms-each-operation",
        "The client asks the user before each operation on a changeset.",
        "ChangesetOperation.confirmation is about operations that have it; the user interface is the client's",
        VariantChange::Config(|config| config.confirms_each_operation = true),
    ),
    row(
        "lifetimes-omitted",
        "The client does not say how long a token is valid.",
        "AuthenticateParams.expiresIn is optional",
        VariantChange::ParamsOf("authenticate", |params| {
            remove(params, "expiresIn");
        }),
    ),
    row(
        "shows-apps",
        "The client declares that it shows MCP apps.",
        "ClientCapabilities.mcpApps",
        VariantChange::ParamsOf("initialize", |params| {
            params["capabilities"] = json!({"mcpApps": {}});
        }),
    ),
    row(
        "pings",
        "The client sends `ping` before it subscribes.",
        "`ping` at any time",
        VariantChange::Before("subscribe", |_| request("ping", json!({"channel": ROOT}))),
    ),
    row(
        "lists-at-the-start",
        "The client lists sessions after each handshake.",
        "`listSessions` at any time",
        VariantChange::After("initialize", || request("listSessions", json!({"channel": ROOT}))),
    ),
    row(
        "lists-small-pages",
        "The client asks for pages of two sessions.",
        "ListSessionsParams.limit",
        VariantChange::ParamsOf("listSessions", |params| {
            params["limit"] = json!(2);
        }),
    ),
    row(
        "pings-after-a-reconnect",
        "The client sends `ping` after a reconnect.",
        "`ping` at any time",
        VariantChange::After("reconnect", || request("ping", json!({"channel": ROOT}))),
    ),
    row(
        "slow-answers",
        "Requests of the host are answered after 700 ms.",
        "there is no deadline",
        VariantChange::SlowAnswers(Duration::from_millis(700)),
    ),
    row(
        "slow-reconnect",
        "The client connects again after three seconds.",
        "the client chooses its backoff",
        VariantChange::SlowReconnect(Duration::from_secs(3)),
    ),
    row(
        "never-reconnects",
        "The client does not connect again.",
        "lifecycle.md: a client may reconnect",
        VariantChange::SlowReconnect(Duration::from_secs(3_600)),
    ),
    row(
        "slow-frames",
        "Every frame leaves after 50 ms.",
        "a network may delay frames",
        VariantChange::SlowFrames(Duration::from_millis(50)),
    ),
    row(
        "refusals-with-data",
        "Errors in answer to the host's requests have `data` and an unusual message.",
        "JSON-RPC 2.0, section 5.1: message and data are free",
        VariantChange::Refusals(|error| {
            error["message"] = json!("nein");
            error["data"] = json!({"why": ["no", null]});
        }),
    ),
    row(
        "talkative-driver",
        "The driver reports unknown events between its answers.",
        "CLIENT_DRIVER.md: unknown events are ignored",
        VariantChange::Lines(|line| {
            vec![json!({"event": "x-debug", "text": "working"}), line, json!({"event": "x-idle"})]
        }),
    ),
    row(
        "not-optimistic",
        "The client shows its own actions only once the host has decided about them.",
        "CLIENT_DRIVER.md: a client may keep no optimistic state",
        VariantChange::ConfirmedOnly,
    ),
    row(
        "states-with-nulls",
        "The driver writes absent members of states as null.",
        "CLIENT_DRIVER.md: absent and null are the same",
        VariantChange::Lines(|mut line| {
            if line["ok"]["state"].is_object() {
                let state = &mut line["ok"]["state"];
                for name in ["activity", "origin", "creationError", "inputNeeded"] {
                    if state.get(name).is_none() {
                        state[name] = Value::Null;
                    }
                }
            }
            vec![line]
        }),
    ),
    row(
        "states-with-more",
        "The driver's states have additional members that the protocol does not define.",
        "CLIENT_DRIVER.md: members that the version does not define are ignored",
        VariantChange::Lines(|mut line| {
            if line["ok"]["state"].is_object() {
                line["ok"]["state"]["x-cached"] = json!(true);
            }
            vec![line]
        }),
    ),
];

fn request(method: &str, params: Value) -> Message {
    Message::request(0, method, params)
}

fn remove(value: &mut Value, member: &str) {
    if let Some(members) = value.as_object_mut() {
        members.remove(member);
    }
}

fn reversed(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let mut turned: Vec<_> =
                members.iter().map(|(name, value)| (name.clone(), reversed(value))).collect();
            turned.reverse();
            Value::Object(turned.into_iter().collect::<Map>())
        }
        Value::Array(items) => items.iter().map(reversed).collect(),
        other => other.clone(),
    }
}

fn escaped(value: &Value) -> String {
    let mut text = String::new();
    for letter in value.to_string().chars() {
        match letter {
            '/' => text.push_str("\\/"),
            letter if letter.is_ascii() => text.push(letter),
            letter => {
                for unit in letter.encode_utf16(&mut [0; 2]) {
                    text.push_str(&format!("\\u{unit:04x}"));
                }
            }
        }
    }
    text
}

/// The reference client with one legal variant.
#[derive(Debug)]
pub struct VariantClient {
    inner: ReferenceClient,
    change: VariantChange,
    now: Duration,
    next_id: u64,
    /// The methods of the open requests, by the id on the wire.
    open: Vec<(Value, String)>,
    opened: u32,
    /// Whether a command of the driver makes the client open its next connection.
    is_commanded: bool,
    ready: VecDeque<ClientOutput>,
    later: VecDeque<(Duration, ClientOutput)>,
}

impl VariantClient {
    /// Creates a client with a variant.
    pub fn new(mut inner: ReferenceClient, variant: &ClientVariantRow) -> VariantClient {
        if let VariantChange::Config(change) = variant.change {
            change(&mut inner.config);
        }
        VariantClient {
            inner,
            change: variant.change,
            now: Duration::ZERO,
            next_id: OWN_IDS,
            open: Vec::new(),
            opened: 0,
            is_commanded: false,
            ready: VecDeque::new(),
            later: VecDeque::new(),
        }
    }

    /// Applies the variant to the outputs of the client.
    fn pump(&mut self, now: Duration) {
        self.now = now.max(self.now);
        while let Some(output) = self.inner.poll_output() {
            match output {
                ClientOutput::Send { conn, frame } => self.outgoing(conn, &frame),
                ClientOutput::Line(line) => self.line(&line),
                ClientOutput::Open { conn, url } => {
                    self.opened += 1;
                    let commanded = std::mem::take(&mut self.is_commanded);
                    let delay = match self.change {
                        VariantChange::SlowReconnect(delay) if self.opened > 1 && !commanded => {
                            delay
                        }
                        _ => Duration::ZERO,
                    };
                    self.put(delay, ClientOutput::Open { conn, url });
                }
                ClientOutput::Close { conn } => {
                    let delay = match self.change {
                        VariantChange::SlowFrames(delay) => delay,
                        _ => Duration::ZERO,
                    };
                    self.put(delay, ClientOutput::Close { conn });
                }
            }
        }
    }

    fn put(&mut self, delay: Duration, output: ClientOutput) {
        if delay.is_zero() {
            self.ready.push_back(output);
        } else {
            self.later.push_back((self.now + delay, output));
        }
    }

    fn line(&mut self, line: &str) {
        if matches!(self.change, VariantChange::ConfirmedOnly) {
            let mut value: Value = serde_json::from_str(line).unwrap_or_default();
            if let Some(ok) = value.get_mut("ok") {
                remove(ok, "pending");
            }
            return self.ready.push_back(ClientOutput::Line(value.to_string()));
        }
        let VariantChange::Lines(change) = self.change else {
            return self.ready.push_back(ClientOutput::Line(line.to_owned()));
        };
        let value: Value = serde_json::from_str(line).unwrap_or_default();
        for line in change(value) {
            self.ready.push_back(ClientOutput::Line(line.to_string()));
        }
    }

    fn outgoing(&mut self, conn: ConnId, frame: &Frame) {
        let seen = SeenFrame::new(frame.clone());
        let Some(message) = seen.message() else { return };
        let method = message.method().unwrap_or_default().to_owned();
        let mut value = message.value().clone();
        if let VariantChange::Before(at, make) = self.change
            && at == method
        {
            self.own(conn, &make(message));
        }
        let mut delay = Duration::ZERO;
        match self.change {
            VariantChange::Ids(change) if message.kind() == MessageKind::Request => {
                value["id"] = change(value["id"].as_u64().unwrap_or_default());
            }
            VariantChange::Numbers(factor, summand) if method == "dispatchAction" => {
                let seq = value["params"]["clientSeq"].as_u64().unwrap_or_default();
                value["params"]["clientSeq"] = json!(seq * factor + summand);
            }
            VariantChange::Params(change) if !method.is_empty() => change(&mut value["params"]),
            VariantChange::ParamsOf(of, change) if method == of => change(&mut value["params"]),
            VariantChange::SlowAnswers(time) if method.is_empty() => delay = time,
            VariantChange::SlowFrames(time) => delay = time,
            VariantChange::Refusals(change) if value.get("error").is_some() => {
                change(&mut value["error"]);
            }
            _ => {}
        }
        if message.kind() == MessageKind::Request {
            self.open.push((value["id"].clone(), method));
        }
        let frame = match self.change {
            VariantChange::Text(write) => Frame::Text(write(&value)),
            _ => Frame::json(&value),
        };
        self.put(delay, ClientOutput::Send { conn, frame });
    }

    /// Sends an additional request of the variant.
    fn own(&mut self, conn: ConnId, message: &Message) {
        let mut value = message.value().clone();
        value["id"] = json!(self.next_id);
        self.next_id += 1;
        self.ready.push_back(ClientOutput::Send { conn, frame: Frame::json(&value) });
    }

    /// Returns a frame of the host with the changes of the variant undone, as the reference client expects it; `None`
    /// for the response to an additional request of the variant.
    fn incoming(&mut self, conn: ConnId, frame: &Frame) -> Option<Frame> {
        let seen = SeenFrame::new(frame.clone());
        let Some(message) = seen.message() else { return Some(frame.clone()) };
        let answers = matches!(message.kind(), MessageKind::Success | MessageKind::Failure);
        let id = message.id().cloned().unwrap_or_default();
        if answers && id.as_u64().is_some_and(|id| (OWN_IDS..self.next_id).contains(&id)) {
            return None;
        }
        let mut value = message.value().clone();
        if answers && let Some(at) = self.open.iter().position(|(open, _)| *open == id) {
            let (_, method) = self.open.remove(at);
            if let VariantChange::After(of, make) = self.change
                && of == method
                && message.kind() == MessageKind::Success
            {
                self.own(conn, &make());
            }
        }
        match self.change {
            VariantChange::Ids(change) if answers => {
                let original = (0..10_000).find(|it| change(*it) == id);
                value["id"] = original.map_or(id, |it| json!(it));
            }
            VariantChange::Numbers(factor, summand) => {
                let restore = |envelope: &mut Value| {
                    if let Some(seq) = envelope["origin"]["clientSeq"].as_u64()
                        && envelope["origin"]["clientId"] == super::CLIENT_ID
                        && seq >= summand
                        && (seq - summand) % factor == 0
                    {
                        envelope["origin"]["clientSeq"] = json!((seq - summand) / factor);
                    }
                };
                if value["method"] == "action" {
                    restore(&mut value["params"]);
                }
                let replayed = value.pointer_mut("/result/actions").and_then(Value::as_array_mut);
                replayed.into_iter().flatten().for_each(restore);
            }
            _ => {}
        }
        Some(Frame::json(&value))
    }
}

impl SansIoClient for VariantClient {
    fn handle_line(&mut self, now: Duration, line: &str) {
        let mut command: Value = serde_json::from_str(line).unwrap_or_default();
        self.is_commanded |= command["do"] == "connect";
        if matches!(self.change, VariantChange::ConfirmedOnly) && command["do"] == STATE_COMMAND {
            command["of"] = json!("confirmed");
            self.inner.handle_line(now, &command.to_string());
        } else {
            self.inner.handle_line(now, line);
        }
        self.pump(now);
    }

    fn handle_opened(&mut self, now: Duration, conn: ConnId) {
        self.inner.handle_opened(now, conn);
        self.pump(now);
    }

    fn handle_refused(&mut self, now: Duration, conn: ConnId, status: Option<u16>) {
        self.inner.handle_refused(now, conn, status);
        self.pump(now);
    }

    fn handle_frame(&mut self, now: Duration, conn: ConnId, frame: &Frame) {
        self.now = now.max(self.now);
        if let Some(frame) = self.incoming(conn, frame) {
            self.inner.handle_frame(now, conn, &frame);
        }
        self.pump(now);
    }

    fn handle_closed(&mut self, now: Duration, conn: ConnId) {
        self.open.clear();
        self.inner.handle_closed(now, conn);
        self.pump(now);
    }

    fn handle_timeout(&mut self, now: Duration) {
        self.inner.handle_timeout(now);
        self.pump(now);
        while self.later.front().is_some_and(|(at, _)| *at <= now) {
            self.ready.extend(self.later.pop_front().map(|(_, output)| output));
        }
    }

    fn next_timeout(&self) -> Option<Duration> {
        let held = self.later.front().map(|(at, _)| *at);
        [held, self.inner.next_timeout()].into_iter().flatten().min()
    }

    fn poll_output(&mut self) -> Option<ClientOutput> {
        self.ready.pop_front()
    }
}
