//! One scenario being played: told what happened, it answers what to do.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::peer::client::ClientEngine;
use crate::scenario::bind::{Bindings, Template};
use crate::scenario::parse::Scenario;
use crate::scenario::pattern::{Mismatch, Pattern, brief};
use crate::scenario::source::Span;
use crate::transcript::{ConnId, Seen};
use crate::wire::feature::Feature;
use crate::wire::frame::Frame;
use crate::wire::message::{Kind, Message};
use crate::wire::protocol::Protocol;
use crate::wire::version::Version;

use super::barrier::{Barrier, Marks};
use super::cleanup::Created;
use super::expand;
use super::failure::Failure;
use super::mailbox::Mailbox;
use super::mint::Minter;
use super::task::{Act, Filter, Keep, Mode, PeerId, RawFrame, Settle, Task, Want};

/// What a case needs to know before it begins.
#[derive(Clone, Debug)]
pub struct Setup {
    /// What is played.
    pub scenario: Arc<Scenario>,
    /// The version that the run is about.
    pub version: Version,
    /// The versions that clients offer unless a step says otherwise.
    pub offers: Vec<String>,
    /// The seed of every id.
    pub seed: u64,
    /// Tells repetitions of one scenario apart.
    pub name: String,
    /// The wall clock when the transcript began, since 1970.
    pub epoch: Duration,
    /// How long a wait may take.
    pub limit: Duration,
    /// Resources and tokens that each client pushes after its handshake.
    pub authenticate: Vec<(String, String)>,
}

/// Something for the driver to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// Open a connection for the client of this name.
    Open {
        /// Its number.
        conn: ConnId,
        /// The client's name.
        client: String,
    },
    /// Send a frame.
    Send {
        /// Where.
        conn: ConnId,
        /// The frame, with what it holds.
        seen: Arc<Seen>,
    },
    /// End a connection.
    Close {
        /// Which.
        conn: ConnId,
        /// Whether with a closing handshake.
        graceful: bool,
    },
    /// Restart the host.
    Restart,
}

/// Most frames a host may send in one scenario; far above any scenario, far below any memory.
const MAX_FRAMES: u64 = 200_000;
/// Most bytes a host may send in one scenario.
const MAX_BYTES: u64 = 64 << 20;
/// Waits of the usual length that a whole scenario may take.
const BUDGET: u32 = 30;
/// Responses kept for `answer`; a host that answers more unasked loses the oldest ones here.
const MAX_ANSWERS: usize = 1_000;

/// One client of the case.
#[derive(Debug)]
pub(super) struct Peer {
    pub(super) name: String,
    pub(super) engine: ClientEngine,
    pub(super) conn: Option<ConnId>,
    pub(super) connected: bool,
    pub(super) initialized: bool,
    pub(super) mailbox: Mailbox,
    answers: VecDeque<(u64, Arc<Seen>)>,
    /// How its connection ended, with the line.
    ended: Option<(u64, String)>,
}

/// What the current task waits for.
#[derive(Debug)]
pub(super) enum Wait {
    Connected(PeerId),
    Response { peer: PeerId, id: u64, want: Want, exact: bool, keep: Keep },
    Settled { peer: PeerId, seq: u64, settle: Settle },
    Message { peer: PeerId, filter: Filter, mode: Mode },
    DefaultChat { peer: PeerId, session: Value, bind: String },
    Barrier(Barrier),
    Answer { peer: PeerId, id: Pattern, want: Want },
    NoAnswer { peer: PeerId, id: Pattern, ping: u64 },
    Closed(PeerId),
    Restarted,
}

/// Where the case is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Phase {
    Playing,
    Cleaning,
    Over,
}

/// What a look at the current wait came to.
#[expect(clippy::large_enum_variant, reason = "made and taken apart at once, never stored")]
pub(super) enum Progress {
    Done,
    Wait(Wait),
    Failed(Box<Failure>),
}

/// A watch for a message that must not come.
#[derive(Debug)]
struct Watch {
    step: Option<usize>,
    peer: PeerId,
    filter: Filter,
}

/// A scenario being played. Pure: it neither reads a clock nor owns a socket.
///
/// `handle_*` takes what happened, [`poll_output`](Self::poll_output) gives what to do until there
/// is nothing more, [`next_timeout`](Self::next_timeout) says when to come back.
#[derive(Debug)]
pub struct Case {
    pub(super) setup: Setup,
    pub(super) peers: Vec<Peer>,
    pub(super) bindings: Bindings,
    pub(super) mint: Minter,
    pub(super) created: Created,
    pub(super) notes: Vec<String>,
    pub(super) observations: u64,
    pub(super) marks: Marks,
    bound_at: Vec<(String, Span)>,
    next_conn: u32,
    next_step: usize,
    tasks: VecDeque<Task>,
    current: Option<(Option<usize>, Wait, Duration)>,
    watches: Vec<Watch>,
    outputs: VecDeque<Output>,
    /// The closest a message came to what the current wait looks for.
    near: Option<(u64, Box<Mismatch>)>,
    phase: Phase,
    deadline: Duration,
    failure: Option<Box<Failure>>,
    interrupted: bool,
    frames: u64,
    bytes: u64,
    last_line: u64,
}

impl Case {
    /// A case that has not begun; [`begin`](Self::begin) starts it.
    pub fn new(setup: Setup) -> Case {
        let mirrors = expand::needs_mirrors(&setup.scenario);
        let mut mint = Minter::new(setup.seed, &setup.name, setup.epoch);
        let tag = mint.number() as u32;
        let names = setup.scenario.clients.clone();
        let mut case = Case {
            deadline: setup.limit * BUDGET,
            setup,
            peers: Vec::new(),
            bindings: Bindings::default(),
            mint,
            created: Created::default(),
            notes: Vec::new(),
            observations: 0,
            marks: Marks::default(),
            bound_at: Vec::new(),
            next_conn: 0,
            next_step: 0,
            tasks: VecDeque::new(),
            current: None,
            watches: Vec::new(),
            outputs: VecDeque::new(),
            near: None,
            phase: Phase::Playing,
            failure: None,
            interrupted: false,
            frames: 0,
            bytes: 0,
            last_line: 0,
        };
        case.bindings.set("version", json!(case.setup.version.to_string()));
        for name in names {
            let client_id = format!("ahp-harness-{tag:08x}-{name}");
            case.bindings.set(&format!("{name}.id"), json!(client_id));
            case.bindings.set(&format!("{name}.seq"), json!(0));
            case.push_peer(name, client_id, mirrors);
        }
        case
    }

    /// Starts playing.
    pub fn begin(&mut self, now: Duration) {
        self.deadline = now + self.setup.limit * BUDGET;
        self.advance(now);
    }

    /// The next thing to do, until there is none.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// When [`handle_timeout`](Self::handle_timeout) is due.
    pub fn next_timeout(&self) -> Option<Duration> {
        let wait = self.current.as_ref().map(|(_, _, deadline)| *deadline);
        (self.phase != Phase::Over).then(|| wait.map_or(self.deadline, |at| at.min(self.deadline)))
    }

    /// Whether nothing is left to do.
    pub fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }

    /// What it was made of.
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// Why it failed, if it did.
    pub fn failure(&self) -> Option<&Failure> {
        self.failure.as_deref()
    }

    /// How many expectations were put to the test and held.
    pub fn observations(&self) -> u64 {
        self.observations
    }

    /// Whether it was cut short by the user.
    pub fn was_interrupted(&self) -> bool {
        self.interrupted
    }

    /// What there is to say besides the verdict.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Whether a handshake ever succeeded.
    pub fn shook_hands(&self) -> bool {
        self.peers.iter().any(|peer| peer.engine.version().is_some())
    }

    /// The connection stands.
    pub fn handle_opened(&mut self, now: Duration, conn: ConnId) {
        self.expire(now);
        if let Some(peer) = self.peer_of(conn) {
            peer.connected = true;
        }
        self.advance(now);
    }

    /// A frame came.
    pub fn handle_frame(&mut self, now: Duration, conn: ConnId, line: u64, seen: &Arc<Seen>) {
        self.expire(now);
        self.last_line = line;
        self.frames += 1;
        self.bytes += seen.frame.len() as u64;
        if self.frames > MAX_FRAMES || self.bytes > MAX_BYTES {
            self.flooded(line);
            return;
        }
        let Some(id) = self.peers.iter().position(|peer| peer.conn == Some(conn)) else {
            return;
        };
        if let Some(message) = seen.message() {
            self.message(id, line, seen, message);
        }
        self.advance(now);
    }

    /// The connection ended, not by us; or it could not be opened.
    pub fn handle_closed(&mut self, now: Duration, conn: ConnId, line: u64, reason: &str) {
        self.expire(now);
        self.last_line = line;
        if let Some(peer) = self.peer_of(conn) {
            peer.ended = Some((line, reason.to_owned()));
            peer.disconnect();
        }
        self.advance(now);
    }

    /// The host is back, or could not be restarted.
    pub fn handle_restarted(&mut self, now: Duration, outcome: Result<(), String>) {
        self.expire(now);
        for peer in &mut self.peers {
            peer.disconnect();
        }
        self.created.forget();
        if let Some((step, Wait::Restarted, _)) = self.current.take()
            && let Err(reason) = outcome
        {
            let failure = self.failure_at(step, format!("the host was not restarted: {reason}"));
            self.fail(now, failure);
        }
        self.advance(now);
    }

    /// It is `now`; calling it early does nothing.
    pub fn handle_timeout(&mut self, now: Duration) {
        self.expire(now);
        self.advance(now);
    }

    /// The user wants to stop: what was created is still cleaned up.
    pub fn interrupt(&mut self, now: Duration) {
        if self.phase == Phase::Playing {
            self.interrupted = true;
            self.clean_up(now);
            self.advance(now);
        }
    }

    // Peers.

    fn push_peer(&mut self, name: String, client_id: String, mirrors: bool) -> PeerId {
        self.peers.push(Peer {
            name,
            engine: ClientEngine::new(client_id, mirrors),
            conn: None,
            connected: false,
            initialized: false,
            mailbox: Mailbox::default(),
            answers: VecDeque::new(),
            ended: None,
        });
        self.peers.len() - 1
    }

    /// A further client, such as an observer.
    pub(super) fn add_peer(&mut self, role: &str) -> PeerId {
        let number = self.peers.len();
        let client_id = format!("ahp-harness-{:08x}-{role}", self.mint.number() as u32);
        self.push_peer(format!("{role}-{number}"), client_id, false)
    }

    pub(super) fn peer_named(&self, name: &str) -> PeerId {
        self.peers.iter().position(|peer| peer.name == name).unwrap_or_default()
    }

    pub(super) fn client_id(&self, peer: PeerId) -> &str {
        self.peers.get(peer).map_or("", |peer| peer.engine.client_id.as_str())
    }

    pub(super) fn is_connected(&self, peer: PeerId) -> bool {
        self.peers.get(peer).is_some_and(|peer| peer.connected)
    }

    pub(super) fn protocol(&self) -> Option<&'static Protocol> {
        Protocol::of(self.setup.version)
    }

    pub(super) fn delays_can_be_declined(&self) -> bool {
        self.protocol().is_some_and(|protocol| protocol.has(Feature::Delivery))
    }

    fn peer_of(&mut self, conn: ConnId) -> Option<&mut Peer> {
        self.peers.iter_mut().find(|peer| peer.conn == Some(conn))
    }

    // What comes in.

    fn message(&mut self, id: PeerId, line: u64, seen: &Arc<Seen>, message: &Message) {
        let Some(peer) = self.peers.get_mut(id) else {
            return;
        };
        let asked = message.id().and_then(Value::as_u64).and_then(|n| peer.engine.awaits(n));
        let shook = message.kind() == Kind::Success
            && asked.is_some_and(|method| method == "initialize" || method == "reconnect");
        peer.initialized |= shook;
        peer.engine.handle(message);
        let last_seen = peer.engine.last_seen();
        let seq_name = format!("{}.seq", peer.name);
        match message.kind() {
            Kind::Success | Kind::Failure => {
                if peer.answers.len() == MAX_ANSWERS {
                    peer.answers.pop_front();
                }
                peer.answers.push_back((line, Arc::clone(seen)));
            }
            Kind::Notification => {
                if self.is_mark(id, message) {
                    return;
                }
                if let Some(peer) = self.peers.get_mut(id) {
                    peer.mailbox.push(line, Arc::clone(seen));
                }
                self.watched(id, line, message);
            }
            // A client of ours serves nothing, and says so.
            Kind::Request => {
                let asked = message.id().cloned().unwrap_or_default();
                let answer =
                    Message::failure(asked, -32601, "not served by this client", Value::Null);
                self.send(id, Seen::of(answer));
            }
            _ => {}
        }
        self.bindings.set(&seq_name, json!(last_seen));
    }

    /// Whether the message is only the mark of a barrier; takes note of it.
    fn is_mark(&mut self, at: PeerId, message: &Message) -> bool {
        if self.marks.is_empty() || message.method() != Some("action") {
            return false;
        }
        let params = message.params();
        let origin = &params["origin"];
        let by = self.peers.iter().position(|peer| origin["clientId"] == *peer.engine.client_id);
        let rejected = params.get("rejectionReason").is_some_and(|reason| !reason.is_null());
        match (by, origin["clientSeq"].as_u64()) {
            (Some(by), Some(seq)) => self.marks.arrived(by, seq, at, rejected),
            _ => false,
        }
    }

    fn watched(&mut self, peer: PeerId, line: u64, message: &Message) {
        let broken = self.watches.iter().find(|watch| {
            watch.peer == peer
                && watch.filter.is_about(message)
                && watch.filter.params.as_ref().is_none_or(|pattern| {
                    pattern
                        .matches(Some(message.params()), &self.bindings, watch.filter.exact)
                        .is_ok()
                })
        });
        let Some(watch) = broken else { return };
        let (what, span, step) = (watch.filter.what(), watch.filter.span, watch.step);
        let name = self.name(peer);
        let mut failure =
            self.failure_at(step, format!("client `{name}`: expected no {what}, one came"));
        failure.span = span;
        failure.label = format!("{} came", brief(message.params()));
        failure.lines.push(line);
        self.watches.clear();
        self.failure.get_or_insert(failure);
    }

    fn flooded(&mut self, line: u64) {
        let step = self.next_step.checked_sub(1);
        let mut failure = self.failure_at(
            step,
            format!(
                "the host sent {} frames, {} bytes: more than a scenario can need",
                self.frames, self.bytes
            ),
        );
        failure.lines.push(line);
        failure.setup = false;
        self.failure.get_or_insert(failure);
        // Whatever else comes is not looked at; connections end at once.
        self.current = None;
        self.tasks.clear();
        self.end();
    }

    // Going on.

    /// Fails the current wait when its time is over.
    fn expire(&mut self, now: Duration) {
        self.mint.now = now;
        if self.phase == Phase::Over {
            return;
        }
        if self.phase == Phase::Cleaning && now >= self.deadline {
            self.notes.push("cleaning up took too long and was given up".to_owned());
            self.end();
        } else if self.phase == Phase::Playing && now >= self.deadline {
            let step = self.current.take().and_then(|(step, ..)| step);
            let failure = self.failure_at(
                step,
                format!("the scenario took longer than {:?}", self.setup.limit * BUDGET),
            );
            self.fail(now, failure);
        } else if self.current.as_ref().is_some_and(|(_, _, deadline)| now >= *deadline)
            && let Some((step, wait, _)) = self.current.take()
        {
            match self.expired(step, wait) {
                Progress::Done => {}
                Progress::Wait(wait) => self.current = Some((step, wait, now + self.setup.limit)),
                Progress::Failed(failure) => self.fail(now, failure),
            }
        }
    }

    /// Does everything that can be done without anything else happening.
    fn advance(&mut self, now: Duration) {
        self.mint.now = now;
        if self.phase == Phase::Playing && self.failure.is_some() {
            self.current = None;
            self.clean_up(now);
        }
        while self.phase != Phase::Over {
            if let Some((step, wait, deadline)) = self.current.take() {
                match self.check(step, wait) {
                    Progress::Done => {}
                    Progress::Wait(wait) => {
                        self.current = Some((step, wait, deadline));
                        return;
                    }
                    Progress::Failed(failure) => self.fail(now, failure),
                }
            } else if let Some(task) = self.tasks.pop_front() {
                self.near = None;
                let limit = task.within.or(self.setup.scenario.within).unwrap_or(self.setup.limit);
                let step = task.step;
                match self.start(task) {
                    Progress::Done => {}
                    Progress::Wait(wait) => self.current = Some((step, wait, now + limit)),
                    Progress::Failed(failure) => self.fail(now, failure),
                }
            } else if self.phase == Phase::Cleaning {
                self.end();
            } else {
                self.step(now);
            }
        }
    }

    fn step(&mut self, now: Duration) {
        let scenario = Arc::clone(&self.setup.scenario);
        let index = self.next_step;
        match scenario.steps.get(index) {
            Some(step) => {
                self.next_step += 1;
                self.tasks = expand::tasks(self, index, step).into();
            }
            None => self.clean_up(now),
        }
    }

    fn clean_up(&mut self, now: Duration) {
        self.phase = Phase::Cleaning;
        self.current = None;
        self.watches.clear();
        self.tasks = self.cleaning().into();
        self.deadline = now + self.setup.limit * BUDGET;
    }

    fn end(&mut self) {
        self.phase = Phase::Over;
        for peer in &mut self.peers {
            if let (Some(conn), true) = (peer.conn, peer.connected) {
                self.outputs.push_back(Output::Close { conn, graceful: true });
                peer.disconnect();
            }
        }
    }

    fn fail(&mut self, now: Duration, failure: Box<Failure>) {
        if self.phase == Phase::Cleaning {
            self.notes.push(format!("cleaning up: {}", failure.message));
            return;
        }
        self.failure.get_or_insert(failure);
        self.clean_up(now);
    }

    // What goes out.

    pub(super) fn send(&mut self, peer: PeerId, seen: Seen) {
        let Some(peer) = self.peers.get_mut(peer) else {
            return;
        };
        if let (Some(conn), true) = (peer.conn, peer.connected) {
            if let Some(message) = seen.message() {
                self.created.sent(message);
            }
            self.outputs.push_back(Output::Send { conn, seen: Arc::new(seen) });
        }
    }

    pub(super) fn ping(&mut self, peer: PeerId) -> Option<u64> {
        let (id, message) = self.peers.get_mut(peer)?.engine.request("ping", json!({}));
        self.send(peer, Seen::of(message));
        Some(id)
    }

    pub(super) fn fill(&mut self, template: &Template) -> Value {
        template.fill(&mut self.bindings, &mut self.mint)
    }

    pub(super) fn name(&self, peer: PeerId) -> String {
        self.peers.get(peer).map(|peer| peer.name.clone()).unwrap_or_default()
    }

    fn start(&mut self, task: Task) -> Progress {
        match task.act {
            Act::Connect(peer) => self.connect(peer),
            Act::Request { peer, method, params, want, exact, keep } => {
                let params = self.fill(&params);
                self.created.asked(&method, &params);
                let Some(engine) = self.peers.get_mut(peer).map(|peer| &mut peer.engine) else {
                    return Progress::Done;
                };
                let (id, message) = engine.request(&method, params);
                self.send(peer, Seen::of(message));
                Progress::Wait(Wait::Response { peer, id, want, exact, keep })
            }
            Act::DefaultChat { peer, session, bind } => {
                let session = self.fill(&session);
                Progress::Wait(Wait::DefaultChat { peer, session, bind })
            }
            Act::Reconnect { peer, subscriptions, last_seen, want, keep } => {
                let subscriptions = subscriptions.map(|template| self.fill(&template));
                let last_seen = last_seen.map(|template| self.fill(&template));
                let Some(engine) = self.peers.get_mut(peer).map(|peer| &mut peer.engine) else {
                    return Progress::Done;
                };
                let (id, message) = engine.reconnect(subscriptions, last_seen);
                self.send(peer, Seen::of(message));
                Progress::Wait(Wait::Response { peer, id, want, exact: false, keep })
            }
            Act::Notify { peer, method, params } => {
                let params = self.fill(&params);
                if let Some(engine) = self.peers.get_mut(peer).map(|peer| &mut peer.engine) {
                    let message = engine.notification(&method, params);
                    self.send(peer, Seen::of(message));
                }
                Progress::Done
            }
            Act::Dispatch { peer, channel, action, seq, settle, bind } => {
                let channel = self.fill(&channel);
                let action = self.fill(&action);
                let seq = seq.and_then(|template| self.fill(&template).as_u64());
                self.dispatch(peer, &channel, action, seq, settle, bind)
            }
            Act::Await { peer, mut filter, channel, mode } => {
                filter.channel = channel.map(|template| self.fill(&template));
                Progress::Wait(Wait::Message { peer, filter, mode })
            }
            Act::Watch { peer, mut filter, channel } => {
                filter.channel = channel.map(|template| self.fill(&template));
                self.watches.push(Watch { step: task.step, peer, filter });
                Progress::Done
            }
            Act::Barrier { peer, channel } => {
                let channel = channel.map(|template| self.fill(&template));
                let barrier = self.begin_barrier(peer, channel.as_ref(), None);
                Progress::Wait(Wait::Barrier(barrier))
            }
            Act::Mirror { peer, channel, state, exact } => {
                let channel = self.fill(&channel);
                self.mirror(task.step, peer, &channel, &state, exact)
            }
            Act::Send { peer, frame } => {
                let frame = self.raw(frame);
                self.send(peer, Seen::new(frame));
                Progress::Done
            }
            Act::Answer { peer, id, want: Some(want) } => {
                Progress::Wait(Wait::Answer { peer, id, want })
            }
            Act::Answer { peer, id, want: None } => match self.ping(peer) {
                Some(ping) => Progress::Wait(Wait::NoAnswer { peer, id, ping }),
                None => Progress::Done,
            },
            Act::Hang { peer, graceful } => {
                if let Some(peer) = self.peers.get_mut(peer)
                    && let Some(conn) = peer.conn
                {
                    self.outputs.push_back(Output::Close { conn, graceful });
                    peer.disconnect();
                }
                Progress::Done
            }
            Act::AwaitClosed(peer) => Progress::Wait(Wait::Closed(peer)),
            Act::Restart => {
                self.outputs.push_back(Output::Restart);
                Progress::Wait(Wait::Restarted)
            }
        }
    }

    fn connect(&mut self, id: PeerId) -> Progress {
        let conn = ConnId(self.next_conn);
        self.next_conn += 1;
        if let Some(peer) = self.peers.get_mut(id) {
            peer.conn = Some(conn);
            peer.ended = None;
            peer.answers.clear();
            self.outputs.push_back(Output::Open { conn, client: peer.name.clone() });
        }
        Progress::Wait(Wait::Connected(id))
    }

    fn dispatch(
        &mut self,
        peer: PeerId,
        channel: &Value,
        action: Value,
        seq: Option<u64>,
        settle: Option<Settle>,
        bind: Option<String>,
    ) -> Progress {
        let Some(engine) = self.peers.get_mut(peer).map(|peer| &mut peer.engine) else {
            return Progress::Done;
        };
        let (seq, message) = engine.dispatch(channel.as_str().unwrap_or_default(), action, seq);
        self.send(peer, Seen::of(message));
        if let Some(name) = bind {
            self.bindings.set(&name, json!(seq));
        }
        match settle {
            None => Progress::Done,
            Some(settle @ (Settle::Accept(_) | Settle::Reject(_))) => {
                Progress::Wait(Wait::Settled { peer, seq, settle })
            }
            Some(settle) => {
                let barrier = self.begin_barrier(peer, Some(channel), Some((seq, settle)));
                Progress::Wait(Wait::Barrier(barrier))
            }
        }
    }

    fn raw(&mut self, frame: RawFrame) -> Frame {
        match frame {
            RawFrame::Text(template) => Frame::Text(text_of(&self.fill(&template))),
            RawFrame::Json(template) => {
                let value = self.fill(&template);
                if let Some(method) = value["method"].as_str() {
                    self.created.asked(method, &value["params"]);
                }
                Frame::json(&value)
            }
            RawFrame::Binary(template) => {
                Frame::Binary(text_of(&self.fill(&template)).into_bytes())
            }
            RawFrame::Padded(size) => {
                let (head, tail) = (
                    "{\"jsonrpc\":\"2.0\",\"id\":999999,\"method\":\"ping\",\"params\":{\"channel\":\"ahp-root://\",\"_meta\":{\"x-pad\":\"",
                    "\"}}}",
                );
                let pad = (size as usize).saturating_sub(head.len() + tail.len());
                Frame::Text([head, &"x".repeat(pad), tail].concat())
            }
        }
    }

    // What the current wait waits for.

    fn check(&mut self, step: Option<usize>, wait: Wait) -> Progress {
        match wait {
            Wait::Connected(peer) => match self.peers.get(peer) {
                Some(found) if found.connected => Progress::Done,
                Some(Peer { ended: Some((line, reason)), .. }) => {
                    let (line, reason) = (*line, reason.clone());
                    let mut failure = self.failure_at(
                        step,
                        format!("client `{}`: could not connect: {reason}", self.name(peer)),
                    );
                    failure.lines.push(line);
                    Progress::Failed(failure)
                }
                _ => Progress::Wait(wait),
            },
            Wait::Response { peer, id, want, exact, keep } => {
                let found = self.peers.get_mut(peer).and_then(|peer| peer.take_answer(id));
                match found {
                    Some((line, seen)) => {
                        self.answered(step, peer, line, &seen, &want, exact, &keep)
                    }
                    None => match self.ended(peer) {
                        Some(_) if matches!(want, Want::Closed | Want::Anything) => {
                            self.observed(step);
                            Progress::Done
                        }
                        Some(end) => self.closed_instead(step, peer, end, &want),
                        None => Progress::Wait(Wait::Response { peer, id, want, exact, keep }),
                    },
                }
            }
            Wait::Settled { peer, seq, settle } => self.check_settled(step, peer, seq, settle),
            Wait::Message { peer, filter, mode } => self.check_message(step, peer, filter, mode),
            Wait::DefaultChat { peer, session, bind } => {
                self.check_default_chat(step, peer, session, bind)
            }
            Wait::Barrier(barrier) => self.check_barrier(step, barrier),
            Wait::Answer { peer, id, want } => {
                let found = self.find_answer(peer, &id);
                match (found, self.ended(peer)) {
                    (Some((line, seen)), _) => {
                        self.answered(step, peer, line, &seen, &want, false, &Keep::default())
                    }
                    (None, Some(_)) if matches!(want, Want::Closed) => {
                        self.observed(step);
                        Progress::Done
                    }
                    (None, Some(end)) => self.closed_instead(step, peer, end, &want),
                    (None, None) => Progress::Wait(Wait::Answer { peer, id, want }),
                }
            }
            Wait::NoAnswer { peer, id, ping } => self.check_no_answer(step, peer, id, ping),
            Wait::Closed(peer) => match self.ended(peer) {
                Some(_) => {
                    self.observed(step);
                    Progress::Done
                }
                None => Progress::Wait(wait),
            },
            Wait::Restarted => Progress::Wait(wait),
        }
    }

    fn find_answer(&mut self, peer: PeerId, id: &Pattern) -> Option<(u64, Arc<Seen>)> {
        let answers = &mut self.peers.get_mut(peer)?.answers;
        let bindings = &self.bindings;
        let found = answers.iter().position(|(_, seen)| {
            let message = seen.message();
            let found = message.and_then(Message::id);
            id.matches(found, bindings, false).is_ok()
        })?;
        answers.remove(found)
    }

    fn check_no_answer(
        &mut self,
        step: Option<usize>,
        peer: PeerId,
        id: Pattern,
        ping: u64,
    ) -> Progress {
        if let Some((line, seen)) = self.find_answer(peer, &id) {
            let mut failure = self.failure_at(
                step,
                format!("client `{}`: expected no answer, one came", self.name(peer)),
            );
            failure.label = seen.message().map(|m| brief(m.value())).unwrap_or_default();
            failure.lines.push(line);
            return Progress::Failed(failure);
        }
        if self.peers.get_mut(peer).and_then(|peer| peer.take_answer(ping)).is_some() {
            self.observed(step);
            return Progress::Done;
        }
        match self.ended(peer) {
            Some(end) => self.closed_instead(step, peer, end, &Want::Result(None)),
            None => Progress::Wait(Wait::NoAnswer { peer, id, ping }),
        }
    }

    #[expect(clippy::too_many_arguments, reason = "the members of one wait")]
    fn answered(
        &mut self,
        step: Option<usize>,
        peer: PeerId,
        line: u64,
        seen: &Seen,
        want: &Want,
        exact: bool,
        keep: &Keep,
    ) -> Progress {
        let Some(message) = seen.message() else {
            return Progress::Done;
        };
        let name = self.name(peer);
        let (pattern, value, what) = match (want, message.kind()) {
            (Want::Anything, _) => return Progress::Done,
            (Want::Result(pattern), Kind::Success) => {
                (pattern.as_ref(), message.result(), "result")
            }
            (Want::State(pattern), Kind::Success) => {
                let snapshot = message.result().and_then(|result| result.get("snapshot"));
                (Some(pattern), snapshot.and_then(|snapshot| snapshot.get("state")), "state")
            }
            (Want::Error(pattern), Kind::Failure) => (Some(pattern), message.error(), "error"),
            (_, kind) => {
                let expected = match want {
                    Want::Error(_) => "an error",
                    Want::Closed => "the connection to be closed",
                    _ => "a result",
                };
                let came = match kind {
                    Kind::Failure => {
                        format!("error {}", brief(message.error().unwrap_or(&Value::Null)))
                    }
                    _ => format!("result {}", brief(message.result().unwrap_or(&Value::Null))),
                };
                let mut failure = self.failure_at(
                    step,
                    format!(
                        "client `{name}`: expected {expected}, the host answered with {}",
                        if kind == Kind::Failure { "an error" } else { "a result" }
                    ),
                );
                failure.label = format!("{came} came");
                failure.lines.push(line);
                return Progress::Failed(failure);
            }
        };
        if let Some(pattern) = pattern {
            match pattern.matches(value, &self.bindings, exact) {
                Ok(bound) => self.bind(pattern, bound),
                Err(miss) => {
                    return Progress::Failed(self.mismatch(step, &name, what, line, &miss));
                }
            }
        }
        self.keep(keep, want, value);
        self.observed(step);
        Progress::Done
    }

    /// Binds what a later step needs of a result.
    fn keep(&mut self, keep: &Keep, want: &Want, value: Option<&Value>) {
        let value = value.cloned().unwrap_or_default();
        if let Some(name) = &keep.default_chat {
            // A host names its default chat; one that does not has only one to offer.
            let state = &value["snapshot"]["state"];
            let chat = [&state["defaultChat"], &state["chats"][0]["resource"]]
                .into_iter()
                .find(|chat| chat.is_string());
            if let Some(chat) = chat {
                self.bindings.set(name, chat.clone());
            }
        }
        if let Some(name) = &keep.bind {
            let value = match (want, value.pointer("/snapshot/state")) {
                (Want::Result(_), Some(state)) => state.clone(),
                _ => value,
            };
            self.bindings.set(name, value);
        }
    }

    fn check_settled(
        &mut self,
        step: Option<usize>,
        peer: PeerId,
        seq: u64,
        settle: Settle,
    ) -> Progress {
        let Some((place, line, envelope)) = self.echo(peer, seq) else {
            return match self.ended(peer) {
                Some(end) => self.closed_instead(step, peer, end, &Want::Result(None)),
                None => Progress::Wait(Wait::Settled { peer, seq, settle }),
            };
        };
        if let Some(peer) = self.peers.get_mut(peer) {
            peer.mailbox.read_one(place);
        }
        let name = self.name(peer);
        let reason = envelope.get("rejectionReason").filter(|reason| !reason.is_null());
        let (pattern, wrong) = match (&settle, reason) {
            (Settle::Accept(pattern), None) | (Settle::Reject(pattern), Some(_)) => (pattern, None),
            (Settle::Accept(pattern), Some(reason)) => (
                pattern,
                Some(format!(
                    "expected the action to be accepted, the host rejected it: {}",
                    brief(reason)
                )),
            ),
            (Settle::Reject(pattern), None) => {
                let seq = &envelope["serverSeq"];
                (
                    pattern,
                    Some(format!(
                        "expected a rejection, the host accepted the action as serverSeq {seq}"
                    )),
                )
            }
            _ => return Progress::Done,
        };
        if let Some(wrong) = wrong {
            let mut failure = self.failure_at(step, format!("client `{name}`: {wrong}"));
            failure.span = pattern.span;
            failure.label = "this came back".to_owned();
            failure.lines.push(line);
            return Progress::Failed(failure);
        }
        match pattern.matches(Some(&envelope), &self.bindings, false) {
            Ok(bound) => self.bind(pattern, bound),
            Err(miss) => {
                return Progress::Failed(self.mismatch(step, &name, "envelope", line, &miss));
            }
        }
        self.observed(step);
        Progress::Done
    }

    /// The envelope that settles an own dispatch: its place, its line, itself.
    pub(super) fn echo(&self, peer: PeerId, seq: u64) -> Option<(usize, u64, Value)> {
        let peer = self.peers.get(peer)?;
        peer.mailbox.unread().find_map(|(place, item)| {
            let message = item.message()?;
            let origin = &message.params()["origin"];
            let own = message.method() == Some("action")
                && origin["clientId"] == *peer.engine.client_id
                && origin["clientSeq"].as_u64() == Some(seq);
            own.then(|| (place, item.line, message.params().clone()))
        })
    }

    fn check_message(
        &mut self,
        step: Option<usize>,
        id: PeerId,
        filter: Filter,
        mode: Mode,
    ) -> Progress {
        let Some(peer) = self.peers.get(id) else {
            return Progress::Done;
        };
        let anything = Pattern::anything(filter.span);
        let pattern = filter.params.as_ref().unwrap_or(&anything);
        let mut near = None;
        let mut found = None;
        for (place, item) in peer.mailbox.unread() {
            let Some(message) = item.message() else {
                continue;
            };
            let about = filter.is_about(message);
            if mode == Mode::Next && !about {
                let elsewhere = filter
                    .channel
                    .as_ref()
                    .is_some_and(|channel| message.params()["channel"] != *channel);
                if elsewhere {
                    continue;
                }
                let (line, params) = (item.line, message.params().clone());
                let came = brief(&params);
                let name = self.name(id);
                let message = format!(
                    "client `{name}`: expected {} next, something else came",
                    filter.what()
                );
                let mut failure = self.failure_at(step, message);
                failure.span = filter.span;
                failure.label = format!("{came} came");
                failure.lines.push(line);
                return Progress::Failed(failure);
            }
            if !about {
                continue;
            }
            match pattern.matches(Some(message.params()), &self.bindings, filter.exact) {
                Ok(bound) => {
                    found = Some((place, bound));
                    break;
                }
                Err(miss) if mode == Mode::Next => {
                    let (line, name) = (item.line, self.name(id));
                    return Progress::Failed(self.mismatch(
                        step,
                        &name,
                        "next message",
                        line,
                        &miss,
                    ));
                }
                Err(miss) => near = Some((item.line, miss)),
            }
        }
        if let Some((place, bound)) = found {
            let pattern = pattern.clone();
            if let Some(peer) = self.peers.get_mut(id) {
                peer.mailbox.read_to(place);
            }
            self.bind(&pattern, bound);
            self.observed(step);
            return Progress::Done;
        }
        self.near = near;
        match self.ended(id) {
            Some(end) => self.closed_instead(step, id, end, &Want::Result(None)),
            None => Progress::Wait(Wait::Message { peer: id, filter, mode }),
        }
    }

    /// A host may make the first chat of a session a moment after the session.
    fn check_default_chat(
        &mut self,
        step: Option<usize>,
        peer: PeerId,
        session: Value,
        bind: String,
    ) -> Progress {
        if self.bindings.get(&bind).is_some() {
            return Progress::Done;
        }
        let chat = self.peers.get(peer).and_then(|peer| {
            peer.mailbox.unread().find_map(|(_, item)| {
                let params = item.message()?.params();
                let action = &params["action"];
                let chat = match action["type"].as_str()? {
                    "session/defaultChatChanged" => &action["defaultChat"],
                    "session/chatAdded" => &action["summary"]["resource"],
                    _ => return None,
                };
                (params["channel"] == session && chat.is_string()).then(|| chat.clone())
            })
        });
        match (chat, self.ended(peer)) {
            (Some(chat), _) => {
                self.bindings.set(&bind, chat);
                Progress::Done
            }
            (None, Some(end)) => self.closed_instead(step, peer, end, &Want::Result(None)),
            (None, None) => Progress::Wait(Wait::DefaultChat { peer, session, bind }),
        }
    }

    fn mirror(
        &mut self,
        step: Option<usize>,
        peer: PeerId,
        channel: &Value,
        state: &Pattern,
        exact: bool,
    ) -> Progress {
        let name = self.name(peer);
        let mirror = self
            .peers
            .get(peer)
            .and_then(|peer| peer.engine.mirror(channel.as_str().unwrap_or_default()));
        let Some(own) = mirror.map(|mirror| mirror.optimistic()) else {
            let message = format!(
                "client `{name}`: expected a state of {}, it is not subscribed",
                brief(channel)
            );
            return Progress::Failed(self.failure_at(step, message));
        };
        match state.matches(Some(&own), &self.bindings, exact) {
            Ok(bound) => {
                self.bind(state, bound);
                self.observed(step);
                Progress::Done
            }
            Err(miss) => {
                Progress::Failed(self.mismatch(step, &name, "own state", self.last_line, &miss))
            }
        }
    }

    /// What it means that the time of a wait is over.
    fn expired(&mut self, step: Option<usize>, wait: Wait) -> Progress {
        let limit = self.limit(step);
        let (peer, missing) = match &wait {
            Wait::Connected(peer) => (*peer, "a connection".to_owned()),
            Wait::Response { want: Want::Anything, .. } => return Progress::Done,
            Wait::Response { peer, want, .. } | Wait::Answer { peer, want, .. } => {
                let what = match want {
                    Want::Error(_) => "an error",
                    Want::Closed => "the host to close the connection",
                    _ => "an answer",
                };
                (*peer, what.to_owned())
            }
            Wait::Settled { peer, settle, .. } => {
                let what = if matches!(settle, Settle::Reject(_)) {
                    "a rejection"
                } else {
                    "the action to come back"
                };
                (*peer, what.to_owned())
            }
            Wait::Message { peer, filter, .. } => (*peer, filter.what()),
            Wait::DefaultChat { peer, .. } => {
                (*peer, "the session to have a default chat".to_owned())
            }
            Wait::Barrier(barrier) => return self.barrier_expired(step, barrier.clone()),
            Wait::NoAnswer { peer, .. } => (*peer, "an answer to `ping`".to_owned()),
            Wait::Closed(peer) => (*peer, "the host to close the connection".to_owned()),
            Wait::Restarted => (0, "the host to come back".to_owned()),
        };
        let name = self.name(peer);
        if let Some((line, miss)) = self.near.take() {
            return Progress::Failed(self.mismatch(step, &name, "closest message", line, &miss));
        }
        let message = format!("client `{name}`: expected {missing} within {limit:?}, nothing came");
        let mut failure = self.failure_at(step, message);
        failure.label = "nothing came for this".to_owned();
        if self.last_line > 0 {
            failure.lines.push(self.last_line);
        }
        Progress::Failed(failure)
    }

    fn limit(&self, step: Option<usize>) -> Duration {
        step.and_then(|step| self.setup.scenario.steps.get(step))
            .and_then(|step| step.duration("within"))
            .or(self.setup.scenario.within)
            .unwrap_or(self.setup.limit)
    }

    // Failures and successes.

    /// An expectation was put to the test and held.
    pub(super) fn observed(&mut self, step: Option<usize>) {
        let asserts = step
            .and_then(|step| self.setup.scenario.steps.get(step))
            .is_some_and(|step| step.asserts());
        self.observations += u64::from(asserts);
    }

    /// Every watch that a barrier ends has held.
    pub(super) fn watches_held(&mut self) {
        self.observations += self.watches.len() as u64;
        self.watches.clear();
    }

    fn bind(&mut self, pattern: &Pattern, bound: Bindings) {
        for (name, _) in bound.iter() {
            if self.bindings.get(name).is_none() {
                self.bound_at.push((name.clone(), pattern.span));
            }
        }
        self.bindings = bound;
    }

    fn ended(&self, peer: PeerId) -> Option<(u64, String)> {
        let peer = self.peers.get(peer)?;
        match &peer.ended {
            Some(end) => Some(end.clone()),
            None if !peer.connected => {
                Some((self.last_line, "the client is not connected".to_owned()))
            }
            None => None,
        }
    }

    fn closed_instead(
        &mut self,
        step: Option<usize>,
        peer: PeerId,
        (line, reason): (u64, String),
        want: &Want,
    ) -> Progress {
        let wanted = if matches!(want, Want::Error(_)) { "an error" } else { "an answer" };
        let message = format!(
            "client `{}`: expected {wanted}, the connection ended: {reason}",
            self.name(peer)
        );
        let mut failure = self.failure_at(step, message);
        failure.label = "the connection ended here".to_owned();
        failure.lines.push(line);
        Progress::Failed(failure)
    }

    pub(super) fn failure_at(&self, step: Option<usize>, message: String) -> Box<Failure> {
        let step = step.and_then(|step| self.setup.scenario.steps.get(step));
        Box::new(Failure {
            span: step.map_or(self.setup.scenario.span, |step| step.span),
            message,
            label: "this step".to_owned(),
            second: None,
            lines: Vec::new(),
            rule: step.and_then(|step| step.text("rule")).map(str::to_owned),
            setup: !step.is_some_and(|step| step.asserts()),
        })
    }

    fn mismatch(
        &self,
        step: Option<usize>,
        name: &str,
        what: &str,
        line: u64,
        miss: &Mismatch,
    ) -> Box<Failure> {
        let place =
            if miss.path.is_empty() { String::new() } else { format!(" at `{}`", miss.path) };
        let message = format!(
            "client `{name}`: {what}{place}: expected {}, found {}",
            miss.expected, miss.found
        );
        let mut failure = self.failure_at(step, message);
        failure.span = miss.span;
        failure.label = format!("found {}", miss.found);
        failure.second = self
            .bound_at
            .iter()
            .find(|(bound, _)| miss.expected.contains(&format!("bound to `{bound}`")))
            .map(|(bound, span)| (*span, format!("`{bound}` was bound here")));
        failure.lines.push(line);
        failure
    }
}

impl Peer {
    fn disconnect(&mut self) {
        self.connected = false;
        self.initialized = false;
        self.conn = None;
        self.engine.lost();
    }

    pub(super) fn take_answer(&mut self, id: u64) -> Option<(u64, Arc<Seen>)> {
        let found = self.answers.iter().position(|(_, seen)| {
            seen.message().and_then(Message::id).and_then(Value::as_u64) == Some(id)
        })?;
        self.answers.remove(found)
    }
}

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
