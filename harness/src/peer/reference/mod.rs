//! The reference client: a complete AHP client without input or output, which acts on the commands of a driver.
//!
//! [`ReferenceClient`] is the client under test in the harness's own tests. Faults can be injected into it. It keeps
//! its connection alive: it reconnects, resumes its subscriptions and lists sessions again. [`commands`] carries out
//! the commands of `CLIENT_DRIVER.md`, [`tools`] runs the tools that the client offers, [`tokens`] delivers its tokens,
//! [`handshake`] performs the handshakes, [`catalogue`] requests the list of sessions, [`typing`] requests completions,
//! [`runs`] runs automations, [`servers`] reaches MCP servers, [`logs`] keeps log records, [`pulse`] notices a silent
//! host, [`user`] has the decisions of the user, [`fault`] has the injected faults, and [`variant`] the legal variants. [`breaking`] has the faults that break
//! a client.
//!
//! Knows: `wire`, `model`, `files`. Never knows: sockets, clocks, scenarios, rules.
//!
//! Start at [`ReferenceClient::handle_line`] and [`ReferenceClient::handle_frame`].

use std::collections::VecDeque;
use std::time::Duration;

use litemap::LiteMap;

use crate::edge::VersionEdge;
use crate::transcript::{ConnId, SeenFrame};
use crate::wire::channel::ROOT;
use crate::wire::frame::Frame;
use crate::wire::json::{Value, json};
use crate::wire::message::{Message, MessageKind};
use crate::wire::version::Version;

use super::client_folder::ClientFolder;
use super::received::ReceivedStates;

mod breaking;
mod catalogue;
mod client_tokens;
mod commands;
mod consents;
mod driver_words;
pub mod fault;
mod handshake;
mod log_records;
mod logs;
mod pulse;
mod requested_run;
mod runs;
mod servers;
mod session_list;
mod tokens;
mod tools;
mod typed_inputs;
mod typing;
mod user;
pub mod variant;

use client_tokens::ClientTokens;
use consents::ToolConsents;
pub use driver_words::{DRIVER_COMMANDS, RECONNECTS, STATE_COMMAND};
use fault::{ClientFaults, FrameFaults};
use log_records::HostLogs;
use pulse::{HostPulse, SilenceReaction};
use requested_run::RequestedRun;
use session_list::SessionCatalogue;
use tools::DriverTools;
use typed_inputs::TypedInputs;

/// The id of the client, unless a command of the driver specifies another id.
const CLIENT_ID: &str = "ahp-harness-reference-client";
/// The time before the first attempt to connect again. Each further attempt waits twice as long.
const AGAIN: Duration = Duration::from_millis(50);
/// The maximum number of attempts to connect again before the client gives up.
const MAX_ATTEMPTS: u32 = 8;
/// The maximum size of a frame that the client reads.
const MAX_FRAME: usize = 6 << 20;

/// A client without a socket, which acts on the commands of a driver. All times are durations since the client was
/// started.
pub trait SansIoClient {
    /// Handles a command of the driver's protocol.
    fn handle_line(&mut self, now: Duration, line: &str);
    /// Handles an opened connection.
    fn handle_opened(&mut self, now: Duration, conn: ConnId);
    /// Handles a connection that was refused with this HTTP status, or that could not be opened.
    fn handle_refused(&mut self, now: Duration, conn: ConnId, status: Option<u16>);
    /// Handles a frame of the host.
    fn handle_frame(&mut self, now: Duration, conn: ConnId, frame: &Frame);
    /// Handles the end of a connection.
    fn handle_closed(&mut self, now: Duration, conn: ConnId);
    /// Performs everything that is due at or before the time `now`.
    fn handle_timeout(&mut self, now: Duration);
    /// Returns the time of the next timer; `None` if no timer is set.
    fn next_timeout(&self) -> Option<Duration>;
    /// Returns the next output; `None` if there is none.
    fn poll_output(&mut self) -> Option<ClientOutput>;
}

/// An output that the caller has to carry out.
#[derive(Clone, Debug, PartialEq)]
pub enum ClientOutput {
    /// Write a line of the driver's protocol.
    Line(String),
    /// Open a connection.
    Open {
        /// The connection.
        conn: ConnId,
        /// The URL of the host.
        url: String,
    },
    /// Send a frame.
    Send {
        /// The connection.
        conn: ConnId,
        /// The frame.
        frame: Frame,
    },
    /// Close a connection.
    Close {
        /// The connection.
        conn: ConnId,
    },
}

/// The configuration of a reference client.
#[derive(Clone, Debug)]
pub struct ReferenceClientConfig {
    /// The versions that the client offers, highest first.
    pub versions: Vec<Version>,
    /// The injected faults.
    pub faults: ClientFaults,
    /// Whether the client begins a new session with `initialize` after a lost connection, and sends no `reconnect`.
    pub begins_anew: bool,
    /// Whether the client requests the list of sessions each time the list is needed, and keeps no copy.
    pub lists_each_time: bool,
    /// Whether the client requests the list of sessions after a handshake, without a command of the driver.
    pub lists_unasked: bool,
    /// Whether the client asks the user before each operation on a changeset, even before one without a confirmation
    /// text.
    pub confirms_each_operation: bool,
}

impl Default for ReferenceClientConfig {
    fn default() -> ReferenceClientConfig {
        let mut versions = Version::played().to_vec();
        versions.sort_unstable_by(|a, b| b.cmp(a));
        versions.retain(|version| version.to_string().contains('.'));
        ReferenceClientConfig {
            versions,
            faults: ClientFaults::default(),
            begins_anew: false,
            lists_each_time: false,
            lists_unasked: false,
            confirms_each_operation: false,
        }
    }
}

/// The phase of the connection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum ConnectionPhase {
    Closed,
    Opening,
    Greeting,
    Ready,
}

/// The reason for a request of the client.
#[derive(Clone, Debug)]
enum RequestReason {
    /// A handshake.
    Handshake,
    /// A command of the driver, to which the client reports the response.
    Command(u64),
    /// A command of the driver to subscribe.
    Subscribe(u64),
    /// A request for a page of the list of sessions. The number is the id of the driver's command that waits for the
    /// list, if a command waits.
    Listing(Option<u64>),
    /// A subscription of an earlier connection that the client requests again after a new handshake.
    Restored,
    /// The delivery of a token.
    Token,
    /// A run of an automation, for a command of the driver.
    Run(u64),
    /// An operation on a changeset, for a command of the driver, with the confirmation text that the client has shown.
    Operation {
        /// The id of the command.
        command: u64,
        /// The text; `None` if the client has not asked the user.
        asked: Option<String>,
    },
    /// A `ping`.
    Ping,
    /// A request without a command of the driver, whose response changes nothing.
    Own,
}

/// An open request.
#[derive(Clone, Debug)]
struct ReferenceRequest {
    reason: RequestReason,
    method: String,
    params: Value,
}

/// The reference client.
#[derive(Debug)]
pub struct ReferenceClient {
    config: ReferenceClientConfig,
    frame_faults: FrameFaults,
    url: String,
    client_id: String,
    offers: Vec<String>,
    initial: Vec<String>,
    conn: Option<ConnId>,
    phase: ConnectionPhase,
    next_conn: u32,
    next_id: u64,
    next_seq: u64,
    open: LiteMap<u64, ReferenceRequest>,
    edge: VersionEdge,
    states: ReceivedStates,
    /// The channels to which the client wants to be subscribed, in the order of its subscriptions.
    wanted: Vec<String>,
    sessions: SessionCatalogue,
    tools: DriverTools,
    consents: ToolConsents,
    tokens: ClientTokens,
    folder: ClientFolder,
    typing: TypedInputs,
    logs: HostLogs,
    /// Whether the host has declared automations.
    has_automations: bool,
    runs: Vec<RequestedRun>,
    /// The first channel of each MCP server, for the fault `server-channel-kept`.
    servers: LiteMap<String, String>,
    pulse: HostPulse,
    /// Whether an injected fault has broken the client, so that it does nothing any more.
    broken: bool,
    /// The id of the driver's command that waits for the end of the handshake.
    connecting: Option<u64>,
    /// Whether the next handshake is a `reconnect`.
    resumes: bool,
    attempts: u32,
    again_at: Option<Duration>,
    /// The outdated states that the fault `shown-stale` shows, by their channel.
    stale: LiteMap<String, Value>,
    outputs: VecDeque<ClientOutput>,
}

impl ReferenceClient {
    /// Creates a client without a connection.
    pub fn new(config: ReferenceClientConfig) -> ReferenceClient {
        ReferenceClient {
            frame_faults: FrameFaults::new(config.faults),
            config,
            url: String::new(),
            client_id: CLIENT_ID.to_owned(),
            offers: Vec::new(),
            initial: vec![ROOT.to_owned()],
            conn: None,
            phase: ConnectionPhase::Closed,
            next_conn: 0,
            next_id: 1,
            next_seq: 1,
            open: LiteMap::new(),
            edge: VersionEdge::new(Version::NEWEST, ""),
            states: ReceivedStates::default(),
            wanted: Vec::new(),
            sessions: SessionCatalogue::default(),
            tools: DriverTools::default(),
            consents: ToolConsents::default(),
            tokens: ClientTokens::default(),
            broken: false,
            folder: ClientFolder::default(),
            typing: TypedInputs::default(),
            logs: HostLogs::default(),
            has_automations: false,
            runs: Vec::new(),
            servers: LiteMap::new(),
            pulse: HostPulse::default(),
            connecting: None,
            resumes: false,
            attempts: 0,
            again_at: None,
            stale: LiteMap::new(),
            outputs: VecDeque::new(),
        }
    }

    /// Returns whether a fault is injected.
    fn has(&self, fault: fault::Fault) -> bool {
        self.config.faults.has(fault)
    }

    fn say(&mut self, line: &Value) {
        self.outputs.push_back(ClientOutput::Line(line.to_string()));
    }

    fn answer(&mut self, command: u64, ok: Value) {
        self.say(&json!({"id": command, "ok": ok}));
    }

    fn answer_error(&mut self, command: u64, error: Value) {
        self.say(&json!({"id": command, "error": error}));
    }

    fn fail(&mut self, command: u64, message: &str) {
        self.answer_error(command, json!({"message": message}));
    }

    // Methods that open and close connections.

    fn connect(&mut self) {
        let conn = ConnId(self.next_conn);
        self.next_conn += 1;
        self.conn = Some(conn);
        self.phase = ConnectionPhase::Opening;
        self.outputs.push_back(ClientOutput::Open { conn, url: self.url.clone() });
    }

    fn close(&mut self) {
        if let Some(conn) = self.conn.take() {
            self.outputs.push_back(ClientOutput::Close { conn });
        }
        self.phase = ConnectionPhase::Closed;
        self.again_at = None;
        self.dropped();
    }

    /// Handles the end of the connection: open requests fail, and tokens have to be delivered again.
    fn dropped(&mut self) {
        self.states.lost();
        self.tokens.lost();
        let open = std::mem::take(&mut self.open);
        if self.has(fault::Fault::OpenRequestsHang) {
            return;
        }
        for (_, asked) in open {
            match asked.reason {
                RequestReason::Command(command)
                | RequestReason::Subscribe(command)
                | RequestReason::Operation { command, .. }
                | RequestReason::Listing(Some(command)) => {
                    self.fail(command, "the connection ended before the response");
                }
                RequestReason::Handshake
                | RequestReason::Listing(None)
                | RequestReason::Restored
                | RequestReason::Token
                | RequestReason::Run(_)
                | RequestReason::Ping
                | RequestReason::Own => {}
            }
        }
    }

    /// Plans the next attempt to connect, or gives up.
    fn try_again(&mut self, now: Duration) {
        self.conn = None;
        self.phase = ConnectionPhase::Closed;
        self.attempts += 1;
        if self.attempts > MAX_ATTEMPTS {
            self.give_up("the connection could not be opened");
            return;
        }
        self.again_at = Some(now + AGAIN * (1 << (self.attempts - 1)));
    }

    /// Handles the loss of the connection.
    fn lose(&mut self, now: Duration) {
        self.dropped();
        self.say(&json!({"event": "connection", "state": "reconnecting"}));
        self.try_again(now);
    }

    /// Sends `ping` if the host has been silent, and gives up the connection if it stays silent.
    fn look_for_host(&mut self, now: Duration) {
        if self.phase != ConnectionPhase::Ready {
            return;
        }
        match self.pulse.react(now) {
            Some(SilenceReaction::GiveUp) if !self.has(fault::Fault::SilenceUnnoticed) => {
                if let Some(conn) = self.conn.take() {
                    self.outputs.push_back(ClientOutput::Close { conn });
                }
                self.lose(now);
            }
            Some(_) => self.request(RequestReason::Ping, "ping", json!({"channel": ROOT})),
            None => {}
        }
    }

    fn give_up(&mut self, why: &str) {
        self.again_at = None;
        self.say(&json!({"event": "connection", "state": "failed", "message": why}));
        if let Some(command) = self.connecting.take() {
            self.fail(command, why);
        }
    }

    // Methods that send messages to the host.

    /// Sends a message in the version of the connection.
    fn send(&mut self, message: Message) {
        let message = self.edge.lower_message(message);
        let predicted = self.frame_faults.predicted(&message);
        let messages = self.frame_faults.outgoing(message);
        for message in messages {
            self.states.sent(&message);
            self.send_frame(Frame::json(message.value()));
        }
        predicted.iter().for_each(|message| self.states.sent(message));
    }

    fn send_frame(&mut self, frame: Frame) {
        if let Some(conn) = self.conn {
            self.outputs.push_back(ClientOutput::Send { conn, frame });
        }
    }

    fn request(&mut self, reason: RequestReason, method: &str, params: Value) {
        let id = self.next_id;
        self.next_id += 1;
        let asked = ReferenceRequest { reason, method: method.to_owned(), params: params.clone() };
        self.open.insert(id, asked);
        self.send(Message::request(id, method, params));
    }

    fn dispatch(&mut self, channel: &str, action: Value) -> u64 {
        let seq = self.next_seq;
        self.next_seq += 1;
        let params = json!({"channel": channel, "clientSeq": seq, "action": action});
        self.send(Message::notification("dispatchAction", params));
        seq
    }

    // Methods that handle messages of the host.

    fn take(&mut self, now: Duration, message: &Message) {
        self.tokens.set_time(now);
        if self.frame_faults.closes(message, &self.states) {
            self.close();
            return;
        }
        for message in self.frame_faults.incoming(message, &self.states) {
            if self.breaks_on(&message) {
                return self.break_down();
            }
            self.states.received(&message);
            match message.kind() {
                MessageKind::Success | MessageKind::Failure => self.answered(&message),
                MessageKind::Request => self.serve(&message),
                MessageKind::Notification => self.notified(&message),
                _ => {}
            }
        }
        self.deliver_tokens();
        self.work(now);
    }

    fn answered(&mut self, message: &Message) {
        let id = message.id().and_then(Value::as_u64);
        let Some(asked) = id.and_then(|id| self.open.remove(&id)) else { return };
        if self.retried_with_token(&asked, message.error()) {
            return;
        }
        let outcome = match (message.result(), message.error()) {
            (_, Some(error)) => Err(error.clone()),
            (result, None) => Ok(result.cloned().unwrap_or_default()),
        };
        match (asked.reason, outcome) {
            (RequestReason::Handshake, outcome) => self.shook_hands(&asked.method, outcome),
            (RequestReason::Command(command), Ok(result)) => self.answer(command, result),
            (RequestReason::Subscribe(command), Ok(result)) => {
                let channel = asked.params["channel"].as_str().unwrap_or_default();
                self.want(channel);
                for kept in self.frame_faults.kept() {
                    self.states.sent(&kept);
                }
                self.start_again(&Value::Null);
                let has_snapshot = result.get("snapshot").is_some();
                self.answer(command, json!({"snapshot": has_snapshot}));
                if !has_snapshot && self.has(fault::Fault::NoSnapshotAgain) {
                    for _ in 0..3 {
                        self.request(RequestReason::Restored, "subscribe", asked.params.clone());
                    }
                }
            }
            (RequestReason::Command(command) | RequestReason::Subscribe(command), Err(error)) => {
                if self.has(fault::Fault::RefusedKept) {
                    let channel = asked.params["channel"].as_str().unwrap_or_default();
                    self.want(channel);
                }
                self.answer_error(command, error);
            }
            (RequestReason::Run(command), outcome) => {
                self.run_answered(command);
                match outcome {
                    Ok(result) => self.answer(command, json!({"run": result["resource"]})),
                    Err(error) => self.answer_error(command, error),
                }
            }
            (RequestReason::Operation { command, asked }, outcome) => match outcome {
                Ok(_) => self.answer(command, json!({"asked": asked})),
                Err(error) => self.answer_error(command, error),
            },
            (RequestReason::Listing(command), Ok(result)) => self.listed(command, &result),
            (RequestReason::Listing(Some(command)), Err(error)) => {
                self.answer_error(command, error);
            }
            // A host that answers `ping` with an error gets no further `ping`.
            (RequestReason::Ping, Err(_)) => self.pulse.stop(),
            (
                RequestReason::Listing(None)
                | RequestReason::Restored
                | RequestReason::Token
                | RequestReason::Ping
                | RequestReason::Own,
                _,
            ) => {}
        }
    }

    fn want(&mut self, channel: &str) {
        if !self.wanted.iter().any(|it| it == channel) {
            self.wanted.push(channel.to_owned());
        }
    }

    /// Answers a request of the host.
    fn serve(&mut self, message: &Message) {
        let id = message.id().cloned().unwrap_or_default();
        if self.has(fault::Fault::HostRequestsIgnored)
            || self.has(fault::Fault::TextIdsIgnored) && id.is_string()
        {
            return;
        }
        let method = message.method().unwrap_or_default();
        let answer = match self.folder.answer(method, message.params()) {
            Err(_) if self.has(fault::Fault::GatesOpen) && method == "resourceRead" => {
                Ok(json!({"data": "c2VjcmV0", "encoding": "base64"}))
            }
            Err(_) if self.has(fault::Fault::GatesOpen) && method.starts_with("resource") => {
                Ok(json!({}))
            }
            answer => answer,
        };
        let answer = match answer {
            _ if self.has(fault::Fault::UnknownAnswered) => Message::success(id, json!({})),
            Ok(result) => Message::success(id, result),
            Err((_, why)) if self.has(fault::Fault::UnknownCode) => {
                Message::failure(id, -32000, why, Value::Null)
            }
            Err((code, why)) => Message::failure(id, code, why, Value::Null),
        };
        if self.has(fault::Fault::HostRequestsTwice) {
            self.send_frame(Frame::json(answer.value()));
        }
        self.send_frame(Frame::json(answer.value()));
    }

    fn notified(&mut self, message: &Message) {
        // Before 0.2.0, the method `notification` wraps all other notifications.
        let lifted = match message.method() {
            Some("action") => message.clone(),
            _ => self.edge.lift_message(message, None),
        };
        let message = &lifted;
        let method = message.method().unwrap_or_default();
        if method == "action" {
            let params = message.params();
            self.say(&json!({
                "event": "action",
                "channel": params["channel"],
                "serverSeq": params["serverSeq"],
                "type": params["action"]["type"],
            }));
            self.go_astray(message.params());
            self.start_again(&message.params()["action"]);
        } else {
            if method == "otlp/exportLogs" {
                self.records_arrived(&message.params()["payload"]);
            }
            if method == "auth/required" {
                self.token_required(message.params());
            }
            self.sessions.notified(method, message.params(), &self.config.faults);
            self.say(&json!({"event": "notification", "method": method}));
            if self.has(fault::Fault::UnknownNotificationCloses)
                && self.edge.protocol().method(method).is_none()
            {
                self.close();
            }
        }
    }
}

impl SansIoClient for ReferenceClient {
    fn handle_line(&mut self, now: Duration, line: &str) {
        self.command(now, line);
        self.work(now);
    }

    fn handle_opened(&mut self, now: Duration, conn: ConnId) {
        if self.conn == Some(conn) {
            self.pulse.heard(now);
            self.greet();
        }
    }

    fn handle_refused(&mut self, now: Duration, conn: ConnId, _status: Option<u16>) {
        if self.conn == Some(conn) {
            self.try_again(now);
        }
    }

    fn handle_frame(&mut self, now: Duration, conn: ConnId, frame: &Frame) {
        if self.conn == Some(conn)
            && frame.len() > MAX_FRAME
            && self.has(fault::Fault::HugeFrameBreaks)
        {
            self.break_down();
        }
        if self.conn != Some(conn) || frame.len() > MAX_FRAME {
            return;
        }
        self.pulse.heard(now);
        let seen = SeenFrame::new(frame.clone());
        match seen.message() {
            Some(message) => self.take(now, message),
            None if self.has(fault::Fault::MalformedCloses) => self.close(),
            None => {}
        }
    }

    fn handle_closed(&mut self, now: Duration, conn: ConnId) {
        if self.conn != Some(conn) {
            return;
        }
        self.lose(now);
    }

    fn handle_timeout(&mut self, now: Duration) {
        if self.again_at.is_some_and(|at| at <= now) {
            self.again_at = None;
            self.connect();
        }
        self.complete_inputs(now);
        self.look_for_host(now);
        self.work(now);
    }

    fn next_timeout(&self) -> Option<Duration> {
        let ready = self.phase == ConnectionPhase::Ready;
        let silent = self.pulse.next_due().filter(|_| ready);
        let due = [self.again_at, self.tools.next_due(), self.typing.next_due(), silent];
        due.into_iter().flatten().min()
    }

    fn poll_output(&mut self) -> Option<ClientOutput> {
        self.outputs.pop_front()
    }
}
