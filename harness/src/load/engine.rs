//! Plays the clients of a load: the clients connect, join a session, act, leave and come back.
//!
//! Like the other engines, the engine performs no input or output: `handle_*(now, ..)` handles an event,
//! [`LoadEngine::poll_output`] returns the next output until none is left, and [`LoadEngine::next_timeout`] returns the
//! time at which [`LoadEngine::timeout`] has to be called. All choices depend only on the seed of the plan and on the
//! order of the events.
//!
//! Knows: clients, sessions. Never knows: sockets, rules.
//!
//! Start at [`LoadEngine::begin`].

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use crate::dice::Dice;
use crate::run::mint::IdMinter;
use crate::scenario::bind::HoleFiller as _;
use crate::transcript::{ConnId, SeenFrame};
use crate::wire::json::Value;
use crate::wire::message::{Message, MessageKind};
use crate::wire::protocol::Protocol;

use super::acts::{self, WEIGHTS};
use super::client::{AskedFor, ClientStage, LoadClient};
use super::delay::{DelayMeter, DispatchKey};
use super::plan::{LoadPace, LoadPlan, MAX_OPEN, ROOT_SHARE};
use super::result::LoadCounts;
use super::session::{LoadSession, SessionStage};
use super::stalls::StallWatch;

/// The maximum number of acts that are tried for a client until the client can perform one of them.
const TRIES: usize = 4;
/// The time without events at the end of a load, in which late frames may arrive.
const SETTLING: Duration = Duration::from_millis(1_500);
/// The minimum time for the disposal of the sessions at the end.
const LEAST_CLOSING: Duration = Duration::from_millis(500);
/// The maximum time for the disposal of the sessions at the end.
const MOST_CLOSING: Duration = Duration::from_secs(3);
/// One of this many clients has a small receive buffer and may stop reading.
const SLOW_SHARE: usize = 8;

/// An instruction to the caller of the engine.
#[derive(Clone, Debug)]
pub enum LoadOutput {
    /// Open a connection for a client.
    Open {
        /// The connection to open.
        conn: ConnId,
        /// Whether the socket gets a small receive buffer, so that the host soon notices when the client stops reading.
        small_buffer: bool,
    },
    /// Send a frame.
    Send {
        /// The connection on which the frame is sent.
        conn: ConnId,
        /// The frame to send.
        seen: Arc<SeenFrame>,
        /// The dispatch that the frame contains, with the index of its session; `None` for other frames.
        dispatch: Option<(DispatchKey, usize)>,
    },
    /// Stop or resume reading.
    Hold {
        /// The connection whose reading stops or resumes.
        conn: ConnId,
        /// Whether reading stops. If `false`, reading resumes.
        held: bool,
    },
    /// Drop all connections, kill the host and start it again; [`LoadEngine::restarted`] has to follow.
    Crash,
    /// Close the connection, with a closing handshake or without.
    Close {
        /// The connection to close.
        conn: ConnId,
        /// Whether there is a closing handshake.
        graceful: bool,
    },
}

/// An event that happens at a given time.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum LoadTimer {
    /// A client connects.
    Arrive(usize),
    /// A client subscribes.
    Join(usize),
    /// A client acts again, if the pace is [`LoadPace::Greedy`].
    Act(usize),
    /// A client reads again.
    Release(usize),
    /// The host is killed.
    Crash,
    /// Until this time, a client of the session writes text, because another client does not read.
    Write(usize, Duration),
}

/// The stage of the whole load.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum LoadStage {
    /// The clients act.
    Running,
    /// The host was killed, and is being started again.
    Down,
    /// The clients wait for open requests and dispatches; the sessions are disposed of at this time.
    Settling(Duration),
    /// The sessions are disposed of; the connections are closed at this time at the latest.
    Closing(Duration),
    /// The connections are closed.
    Over,
}

/// The clients of a load.
pub struct LoadEngine {
    pub(super) plan: LoadPlan,
    pub(super) dice: Dice,
    pub(super) mint: IdMinter,
    pub(super) clients: Vec<LoadClient>,
    pub(super) sessions: Vec<LoadSession>,
    /// The clients that can act.
    pub(super) active: Vec<usize>,
    pub(super) meter: DelayMeter,
    pub(super) stalls: StallWatch,
    pub(super) counts: LoadCounts,
    /// The number of clients that do not read.
    pub(super) held: usize,
    pub(super) by_conn: HashMap<ConnId, usize>,
    /// The index of each client and the number of its identity. The key is the name of the identity.
    by_name: HashMap<String, (usize, u32)>,
    timers: BinaryHeap<Reverse<(Duration, u64, LoadTimer)>>,
    timer_number: u64,
    pub(super) outputs: VecDeque<LoadOutput>,
    pub(super) next_conn: u32,
    next_act: Duration,
    stage: LoadStage,
    /// The time that is available for disposing of the sessions at the end.
    closing: Duration,
    /// The protocol tables of the version that the host chose in the last handshake.
    pub(super) protocol: Option<&'static Protocol>,
    /// The reason for the last failure of a connection or a session.
    pub(super) trouble: String,
}

impl LoadEngine {
    /// Creates the clients of a plan, without connections.
    pub fn new(plan: LoadPlan) -> LoadEngine {
        let sessions = plan.sessions.clamp(1, plan.clients.max(1));
        let mut engine = LoadEngine {
            dice: Dice::new(plan.seed, 0),
            mint: IdMinter::new(plan.seed, "stress", plan.epoch),
            clients: Vec::new(),
            sessions: vec![LoadSession::default(); sessions],
            active: Vec::new(),
            meter: DelayMeter::new(plan.time, plan.limit),
            stalls: StallWatch::default(),
            counts: LoadCounts::default(),
            held: 0,
            by_conn: HashMap::new(),
            by_name: HashMap::new(),
            timers: BinaryHeap::new(),
            timer_number: 0,
            outputs: VecDeque::new(),
            next_conn: 0,
            next_act: Duration::ZERO,
            stage: LoadStage::Running,
            closing: MOST_CLOSING,
            protocol: None,
            trouble: String::new(),
            plan,
        };
        for place in 0..sessions {
            let uri = engine.session_uri();
            engine.sessions[place].renew(uri);
        }
        for place in 0..engine.plan.clients {
            let session = place % sessions;
            let root = place.is_multiple_of(ROOT_SHARE);
            let name = engine.client_name(place);
            engine.by_name.insert(name.clone(), (place, 0));
            engine.clients.push(LoadClient::new(name, session, root));
            engine.sessions[session].members.push(place);
        }
        engine
    }

    /// Begins the load.
    pub fn begin(&mut self, now: Duration) {
        self.let_arrive(now);
        self.next_act = now;
        self.plan_crash(now);
    }

    /// Handles the end of a restart: the host is back, or the error states why the restart failed.
    pub fn restarted(&mut self, now: Duration, outcome: Result<(), String>) {
        if self.stage != LoadStage::Down {
            return;
        }
        if let Err(why) = outcome {
            self.trouble = format!("the host could not be started again: {why}");
            self.stage = LoadStage::Over;
            return;
        }
        self.counts.crashes += 1;
        self.stage = LoadStage::Running;
        for place in 0..self.sessions.len() {
            self.sessions[place].crashed();
            if self.sessions[place].stage != SessionStage::Ready {
                let uri = self.session_uri();
                self.sessions[place].renew(uri);
            }
        }
        self.let_arrive(now);
        self.next_act = now;
        self.plan_crash(now);
    }

    /// Lets all clients connect, one after another.
    fn let_arrive(&mut self, now: Duration) {
        let gap = Duration::from_secs_f64(1.0 / self.plan.arrivals.max(0.1));
        for place in 0..self.clients.len() {
            let wait = gap * u32::try_from(place).unwrap_or(u32::MAX);
            self.timer(now + wait, LoadTimer::Arrive(place));
        }
    }

    /// Schedules the next crash of the host, after 0.5 to 1.5 times the mean time.
    fn plan_crash(&mut self, now: Duration) {
        if let Some(mean) = self.plan.crashes {
            let share = 0.5 + self.dice.below(1_000) as f64 / 1_000.0;
            self.timer(now + mean.mul_f64(share), LoadTimer::Crash);
        }
    }

    /// Drops all connections and crashes the host.
    fn crash(&mut self, now: Duration) {
        self.timers.clear();
        self.stage = LoadStage::Down;
        self.stalls.void_all();
        self.by_conn.clear();
        for client in 0..self.clients.len() {
            if self.clients[client].conn.is_some() {
                self.away(now, client);
            }
        }
        self.held = 0;
        self.meter.forget_open();
        self.outputs.clear();
        self.outputs.push_back(LoadOutput::Crash);
    }

    /// Returns whether the clients act.
    pub(super) fn is_running(&self) -> bool {
        self.stage == LoadStage::Running
    }

    /// Returns the next output; `None` if there is nothing to do now.
    pub fn poll_output(&mut self) -> Option<LoadOutput> {
        self.outputs.pop_front()
    }

    /// Returns the time at which [`timeout`](Self::timeout) is due; `None` if the load is over.
    pub fn next_timeout(&self) -> Option<Duration> {
        let timer = self.timers.peek().map(|Reverse((at, ..))| *at);
        let paced = matches!(self.plan.pace, LoadPace::PerSecond(_)) && !self.active.is_empty();
        let next = match self.stage {
            LoadStage::Over => return None,
            LoadStage::Down => None,
            LoadStage::Running => paced.then_some(self.next_act),
            LoadStage::Settling(at) | LoadStage::Closing(at) => Some(at),
        };
        let end = (self.stage == LoadStage::Running).then_some(self.plan.time);
        [timer, next, end, Some(self.meter.interval_ends())].into_iter().flatten().min()
    }

    /// Returns the figures so far.
    pub fn counts(&self) -> &LoadCounts {
        &self.counts
    }

    /// Returns the detector of a host on which clients that do not read delay other clients.
    pub fn stalls(&mut self) -> &mut StallWatch {
        &mut self.stalls
    }

    /// Returns the number of clients that can act.
    pub fn active(&self) -> usize {
        self.active.len()
    }

    /// Returns the reason for the last failure of a connection or a session; empty if there was none.
    pub fn trouble(&self) -> &str {
        &self.trouble
    }

    /// Returns the protocol that the host chose; `None` before a handshake.
    pub fn protocol(&self) -> Option<&'static Protocol> {
        self.protocol
    }

    /// Ends the load: no client acts any more. The load waits up to `patience` for the answers to open requests and
    /// dispatches. Then it waits for the answers to the disposal of the sessions for the same time, but at least half a
    /// second and at most three seconds.
    pub fn stop(&mut self, now: Duration, patience: Duration) {
        if matches!(self.stage, LoadStage::Running | LoadStage::Down) {
            self.closing = patience.clamp(LEAST_CLOSING, MOST_CLOSING);
            self.stage = LoadStage::Settling(now + patience);
            self.timers.clear();
            for client in 0..self.clients.len() {
                self.read_again(now, client);
            }
        }
    }

    /// Handles an opened connection.
    pub fn opened(&mut self, now: Duration, conn: ConnId) {
        let Some(client) = self.by_conn.get(&conn).copied() else { return };
        self.counts.connections += 1;
        self.clients[client].stage = ClientStage::Joining;
        self.clients[client].opened = now;
        if self.clients[client].can_resume() {
            let (id, message) = self.clients[client].engine.reconnect(None, None);
            self.ask(client, id, message, AskedFor::Resumption);
        } else {
            self.greet(client);
        }
    }

    /// Handles the end of a connection that the client did not close, or that could not be opened.
    pub fn closed(&mut self, now: Duration, conn: ConnId, reason: &str) {
        let Some(client) = self.by_conn.remove(&conn) else { return };
        self.counts.lost += 1;
        reason.clone_into(&mut self.trouble);
        let session = self.clients[client].session;
        self.stalls.void(Some(client), session);
        self.away(now, client);
        self.failed(now, client);
    }

    /// Handles a frame that a client received; `line` is the line of the frame in the transcript.
    pub fn frame(&mut self, now: Duration, conn: ConnId, line: u64, seen: &SeenFrame) {
        let Some(client) = self.by_conn.get(&conn).copied() else { return };
        self.meter.frame(seen.frame.len());
        let Some(message) = seen.message() else { return };
        let lifted = self.clients[client].engine.handle(message);
        let message = lifted.as_ref().unwrap_or(message);
        match message.kind() {
            MessageKind::Success | MessageKind::Failure => {
                let id = message.id().and_then(Value::as_u64);
                let asked = id.and_then(|id| self.clients[client].asked.remove(&id));
                if let Some(asked) = asked {
                    self.answered(now, client, asked, message, line);
                }
            }
            MessageKind::Notification if message.method() == Some("action") => {
                self.envelope(now, client, message.params(), line);
            }
            _ => {}
        }
        self.greedy(now, client);
    }

    /// Advances the clock to `now`.
    pub fn timeout(&mut self, now: Duration) {
        self.mint.now = now;
        while let Some(Reverse((at, _, timer))) = self.timers.peek().copied() {
            if at > now {
                break;
            }
            self.timers.pop();
            self.ring(now, timer);
        }
        match self.stage {
            LoadStage::Running if now >= self.plan.time => self.stop(now, self.plan.limit),
            LoadStage::Running if self.is_hopeless() => self.stop(now, Duration::ZERO),
            LoadStage::Running => self.act_at_pace(now),
            LoadStage::Settling(at) => {
                let quiet = self.meter.open() == 0 && now + SETTLING < at;
                if quiet {
                    self.stage = LoadStage::Settling(now + SETTLING);
                } else if now >= at {
                    self.dispose_all();
                    self.stage = LoadStage::Closing(now + self.closing);
                }
            }
            LoadStage::Closing(at) => {
                let waits =
                    |it: &LoadClient| it.asked.iter().any(|(_, it)| *it == AskedFor::Disposal);
                if now >= at || !self.clients.iter().any(waits) {
                    self.close_all(now);
                }
            }
            LoadStage::Down | LoadStage::Over => {}
        }
    }

    /// Returns whether all clients have given up, so that the load can end.
    fn is_hopeless(&self) -> bool {
        !self.clients.is_empty() && self.counts.failed >= self.clients.len() as u64
    }

    fn ring(&mut self, now: Duration, timer: LoadTimer) {
        match timer {
            LoadTimer::Arrive(client) => self.connect(client),
            LoadTimer::Join(client) if self.clients[client].stage == ClientStage::Joining => {
                self.join(client);
            }
            LoadTimer::Join(_) => {}
            LoadTimer::Act(client) => {
                if self.clients[client].stage == ClientStage::Active {
                    self.act(now, client);
                }
                self.greedy(now, client);
            }
            LoadTimer::Release(client) => {
                self.read_again(now, client);
                self.greedy(now, client);
            }
            LoadTimer::Crash => self.crash(now),
            LoadTimer::Write(session, until) => self.write_text(now, session, until),
        }
    }

    fn act_at_pace(&mut self, now: Duration) {
        let LoadPace::PerSecond(rate) = self.plan.pace else { return };
        let gap = Duration::from_secs_f64(1.0 / rate.clamp(0.001, 1e6));
        // If the harness was too slow, it performs at most the missed acts of the last second.
        self.next_act = self.next_act.max(now.saturating_sub(Duration::from_secs(1)));
        while self.next_act <= now {
            self.next_act += gap;
            if self.meter.open() >= MAX_OPEN {
                self.counts.skipped += 1;
                continue;
            }
            let place = self.dice.below(self.active.len());
            let Some(client) = self.active.get(place).copied() else { continue };
            self.act(now, client);
        }
    }

    /// With the pace [`LoadPace::Greedy`], lets a client act again if it has no open requests or dispatches.
    fn greedy(&mut self, now: Duration, client: usize) {
        let it = &self.clients[client];
        let free = it.stage == ClientStage::Active && it.unsettled == 0 && it.asked.is_empty();
        if free && self.plan.pace == LoadPace::Greedy && self.stage == LoadStage::Running {
            // Until the timer fires, the client counts as busy.
            self.clients[client].unsettled += 1;
            self.timer(now, LoadTimer::Act(client));
        }
    }

    fn act(&mut self, now: Duration, client: usize) {
        if self.plan.pace == LoadPace::Greedy {
            let it = &mut self.clients[client];
            it.unsettled = it.unsettled.saturating_sub(1);
        }
        for _ in 0..TRIES {
            let act = acts::chosen(self.dice.below(WEIGHTS));
            if (act.perform)(self, now, client) {
                self.counts.act(act.name);
                return;
            }
        }
    }

    /// Sets a timer.
    pub(super) fn timer(&mut self, at: Duration, timer: LoadTimer) {
        self.timer_number += 1;
        self.timers.push(Reverse((at, self.timer_number, timer)));
    }

    /// Returns the URI for a new session.
    pub(super) fn session_uri(&mut self) -> String {
        format!("ahp-session:/{}", self.mint.fresh())
    }

    fn client_name(&mut self, place: usize) -> String {
        let number = self.mint.number() & 0xffff_ffff;
        format!("load-{place}-{number:08x}")
    }

    /// Returns whether a client may stop reading.
    pub(super) fn may_stop_reading(client: usize) -> bool {
        client % SLOW_SHARE == 1
    }

    /// Sends a request.
    pub(super) fn request(&mut self, client: usize, method: &str, params: Value, asked: AskedFor) {
        let (id, message) = self.clients[client].engine.request(method, params);
        self.ask(client, id, message, asked);
    }

    /// Sends a request that the client's engine has created.
    pub(super) fn ask(&mut self, client: usize, id: u64, message: Message, asked: AskedFor) {
        self.clients[client].asked.insert(id, asked);
        self.send(client, message, None);
    }

    /// Sends a message.
    pub(super) fn send(
        &mut self,
        client: usize,
        message: Message,
        dispatch: Option<(DispatchKey, usize)>,
    ) {
        let Some(conn) = self.clients[client].conn else { return };
        let seen = Arc::new(SeenFrame::of(message));
        self.outputs.push_back(LoadOutput::Send { conn, seen, dispatch });
    }

    /// Closes a client's connection.
    pub(super) fn close(&mut self, now: Duration, client: usize, graceful: bool) {
        let Some(conn) = self.clients[client].conn else { return };
        self.by_conn.remove(&conn);
        self.outputs.push_back(LoadOutput::Close { conn, graceful });
        self.away(now, client);
    }

    /// Gives a client another identity.
    pub(super) fn replace(&mut self, client: usize) {
        let name = self.client_name(client);
        self.clients[client].replace(name.clone());
        let identity = self.clients[client].identity;
        self.by_name.insert(name, (client, identity));
        // The previous identity is kept, because its last actions may still arrive at other clients.
        self.by_name.retain(|_, (it, known)| *it != client || *known + 1 >= identity);
    }

    /// Marks a client as able to act.
    pub(super) fn activate(&mut self, client: usize) {
        self.clients[client].stage = ClientStage::Active;
        self.clients[client].failures = 0;
        // Earlier dispatches are no longer waited for: a dispatch before an `unsubscribe`, or to a disposed session,
        // may have no answer.
        self.clients[client].unsettled = 0;
        if self.clients[client].place.is_none() {
            self.clients[client].place = Some(self.active.len());
            self.active.push(client);
        }
    }

    /// Stops or resumes the reading of a connection.
    pub(super) fn hold(&mut self, conn: ConnId, held: bool) {
        self.outputs.push_back(LoadOutput::Hold { conn, held });
    }

    /// Removes a client from the clients that can act.
    pub(super) fn inactive(&mut self, client: usize) {
        let Some(place) = self.clients[client].place.take() else { return };
        self.active.swap_remove(place);
        if let Some(moved) = self.active.get(place) {
            self.clients[*moved].place = Some(place);
        }
    }

    /// Handles the envelope of an action that a client received.
    pub(super) fn envelope(&mut self, now: Duration, client: usize, envelope: &Value, line: u64) {
        let rejected = envelope.get("rejectionReason").is_some_and(|reason| !reason.is_null());
        let origin = &envelope["origin"];
        let seq = origin["clientSeq"].as_u64();
        let name = origin["clientId"].as_str();
        if let (Some(seq), Some(name)) = (seq, name)
            && let Some((from, identity)) = self.by_name.get(name).copied()
        {
            let key = DispatchKey { client: from, identity, seq };
            self.meter.received(now, key, client, rejected);
            self.stalls.received(now, key, client, line);
            if from == client && identity == self.clients[client].identity {
                let it = &mut self.clients[client];
                it.unsettled = it.unsettled.saturating_sub(1);
                self.counts.rejected += u64::from(rejected);
            }
        }
        let place = self.clients[client].session;
        let session = &mut self.sessions[place];
        let channel = envelope["channel"].as_str();
        let is_own = channel == Some(&session.uri) || channel == session.chat.as_deref();
        if let Some(seq) = envelope["serverSeq"].as_u64().filter(|_| is_own && !rejected)
            && let Some(call) = session.read(seq, &envelope["action"])
            && self.stage == LoadStage::Running
        {
            self.decide(now, place, &call);
        }
    }

    fn close_all(&mut self, now: Duration) {
        for client in 0..self.clients.len() {
            self.close(now, client, true);
        }
        self.stage = LoadStage::Over;
    }
}
