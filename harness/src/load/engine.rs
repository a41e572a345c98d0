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

use std::time::Duration;

use crate::dice::Dice;
use crate::run::mint::IdMinter;
use crate::scenario::bind::HoleFiller as _;
use crate::transcript::{ConnId, SeenFrame};
use crate::wire::json::Value;
use crate::wire::message::{Message, MessageKind};
use crate::wire::protocol::Protocol;
use crate::wire::version::Version;

use super::acts::{self, WEIGHTS};
use super::agenda::{LoadAgenda, LoadTimer};
use super::client::{AskedFor, ClientStage, LoadClient};
use super::connections::{LoadConnections, LoadOutput};
use super::delay::{DelayMeter, DispatchKey};
use super::plan::{LoadPace, LoadPlan, MAX_OPEN, ROOT_SHARE};
use super::result::LoadCounts;
use super::roster::LoadRoster;
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
    pub(super) roster: LoadRoster,
    pub(super) sessions: Vec<LoadSession>,
    pub(super) connections: LoadConnections,
    pub(super) agenda: LoadAgenda,
    pub(super) meter: DelayMeter,
    pub(super) stalls: StallWatch,
    pub(super) counts: LoadCounts,
    /// The time of the next act, if the pace is [`LoadPace::PerSecond`].
    next_act: Duration,
    stage: LoadStage,
    /// The time that is available for disposing of the sessions at the end.
    closing: Duration,
    /// The protocol tables of the version that the host chose in the last handshake.
    protocol: Option<&'static Protocol>,
    /// The reason for the last failure of a connection or a session.
    trouble: String,
}

impl LoadEngine {
    /// Creates the clients of a plan, without connections.
    pub fn new(plan: LoadPlan) -> LoadEngine {
        let sessions = plan.sessions.clamp(1, plan.clients.max(1));
        let mut engine = LoadEngine {
            dice: Dice::new(plan.seed, 0),
            mint: IdMinter::new(plan.seed, "stress", plan.epoch),
            roster: LoadRoster::default(),
            sessions: Vec::new(),
            connections: LoadConnections::default(),
            agenda: LoadAgenda::default(),
            meter: DelayMeter::new(plan.time, plan.limit),
            stalls: StallWatch::default(),
            counts: LoadCounts::default(),
            next_act: Duration::ZERO,
            stage: LoadStage::Running,
            closing: MOST_CLOSING,
            protocol: None,
            trouble: String::new(),
            plan,
        };
        for _ in 0..sessions {
            let uri = engine.session_uri();
            engine.sessions.push(LoadSession::new(uri));
        }
        for client in 0..engine.plan.clients {
            let session = client % sessions;
            let name = engine.client_name(client);
            engine.roster.add(name, session, client.is_multiple_of(ROOT_SHARE));
            engine.sessions[session].add_member(client);
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
            if self.sessions[place].stage() != SessionStage::Ready {
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
        for client in 0..self.roster.len() {
            let wait = gap * u32::try_from(client).unwrap_or(u32::MAX);
            self.agenda.set(now + wait, LoadTimer::Arrive(client));
        }
    }

    /// Schedules the next crash of the host, after 0.5 to 1.5 times the mean time.
    fn plan_crash(&mut self, now: Duration) {
        if let Some(mean) = self.plan.crashes {
            let share = 0.5 + self.dice.below(1_000) as f64 / 1_000.0;
            self.agenda.set(now + mean.mul_f64(share), LoadTimer::Crash);
        }
    }

    /// Drops all connections and crashes the host.
    fn crash(&mut self, now: Duration) {
        self.agenda.clear();
        self.stage = LoadStage::Down;
        self.stalls.void_all();
        for client in 0..self.roster.len() {
            if self.roster[client].conn().is_some() {
                self.away(now, client);
            }
        }
        self.meter.forget_open();
        self.connections.crash();
    }

    /// Returns whether the clients act.
    pub(super) fn is_running(&self) -> bool {
        self.stage == LoadStage::Running
    }

    /// Returns the next output; `None` if there is nothing to do now.
    pub fn poll_output(&mut self) -> Option<LoadOutput> {
        self.connections.poll()
    }

    /// Returns the time at which [`timeout`](Self::timeout) is due; `None` if the load is over.
    pub fn next_timeout(&self) -> Option<Duration> {
        let timer = self.agenda.next_due();
        let has_active = !self.roster.active().is_empty();
        let paced = matches!(self.plan.pace, LoadPace::PerSecond(_)) && has_active;
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
        self.roster.active().len()
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
            self.agenda.clear();
            for client in 0..self.roster.len() {
                self.read_again(now, client);
            }
        }
    }

    /// Handles an opened connection.
    pub fn opened(&mut self, now: Duration, conn: ConnId) {
        let Some(client) = self.connections.client(conn) else { return };
        self.counts.connections += 1;
        let it = self.roster.get_mut(client);
        it.connected(now);
        if it.can_resume() {
            let message = it.resumption();
            self.send(client, message, None);
        } else {
            self.greet(client);
        }
    }

    /// Handles the end of a connection that the client did not close, or that could not be opened.
    pub fn closed(&mut self, now: Duration, conn: ConnId, reason: &str) {
        let Some(client) = self.connections.ended(conn) else { return };
        self.counts.lost += 1;
        reason.clone_into(&mut self.trouble);
        let session = self.roster[client].session();
        self.stalls.void(Some(client), session);
        self.away(now, client);
        self.failed(now, client);
    }

    /// Handles a frame that a client received; `line` is the line of the frame in the transcript.
    pub fn frame(&mut self, now: Duration, conn: ConnId, line: u64, seen: &SeenFrame) {
        let Some(client) = self.connections.client(conn) else { return };
        self.meter.frame(seen.frame.len());
        let Some(message) = seen.message() else { return };
        let lifted = self.roster.get_mut(client).handle(message);
        let message = lifted.as_ref().unwrap_or(message);
        match message.kind() {
            MessageKind::Success | MessageKind::Failure => {
                let id = message.id().and_then(Value::as_u64);
                let asked = id.and_then(|id| self.roster.get_mut(client).take_purpose(id));
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
        while let Some(timer) = self.agenda.take_due(now) {
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
                let waits = |it: &LoadClient| it.waits_for(|asked| asked == AskedFor::Disposal);
                if now >= at || !self.roster.iter().any(waits) {
                    self.close_all(now);
                }
            }
            LoadStage::Down | LoadStage::Over => {}
        }
    }

    /// Returns whether all clients have given up, so that the load can end.
    fn is_hopeless(&self) -> bool {
        !self.roster.is_empty() && self.counts.failed >= self.roster.len() as u64
    }

    fn ring(&mut self, now: Duration, timer: LoadTimer) {
        match timer {
            LoadTimer::Arrive(client) => self.connect(client),
            LoadTimer::Join(client) if self.roster[client].stage() == ClientStage::Joining => {
                self.join(client);
            }
            LoadTimer::Join(_) => {}
            LoadTimer::Act(client) => {
                if self.roster[client].stage() == ClientStage::Active {
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
            let place = self.dice.below(self.roster.active().len());
            let Some(client) = self.roster.active().get(place).copied() else { continue };
            self.act(now, client);
        }
    }

    /// With the pace [`LoadPace::Greedy`], lets a client act again if it has no open requests or dispatches.
    fn greedy(&mut self, now: Duration, client: usize) {
        let is_greedy = self.plan.pace == LoadPace::Greedy && self.stage == LoadStage::Running;
        if is_greedy && self.roster[client].is_idle() {
            self.roster.get_mut(client).reserve();
            self.agenda.set(now, LoadTimer::Act(client));
        }
    }

    fn act(&mut self, now: Duration, client: usize) {
        if self.plan.pace == LoadPace::Greedy {
            self.roster.get_mut(client).settle();
        }
        for _ in 0..TRIES {
            let act = acts::chosen(self.dice.below(WEIGHTS));
            if (act.perform)(self, now, client) {
                self.counts.act(act.name);
                return;
            }
        }
    }

    /// Returns the URI for a new session.
    pub(super) fn session_uri(&mut self) -> String {
        format!("ahp-session:/{}", self.mint.fresh())
    }

    fn client_name(&mut self, client: usize) -> String {
        let number = self.mint.number() & 0xffff_ffff;
        format!("load-{client}-{number:08x}")
    }

    /// Returns whether a client may stop reading.
    pub(super) fn may_stop_reading(client: usize) -> bool {
        client % SLOW_SHARE == 1
    }

    /// Records the version that the host has chosen for a client.
    pub(super) fn negotiated(&mut self, version: Option<Version>) {
        self.protocol = version.and_then(Protocol::of).or(self.protocol);
    }

    /// Records an error response as the reason for a failure.
    pub(super) fn note_trouble(&mut self, error: &Value) {
        self.trouble = error.to_text();
    }

    /// Sends a request.
    pub(super) fn request(&mut self, client: usize, method: &str, params: Value, asked: AskedFor) {
        let message = self.roster.get_mut(client).request(method, params, asked);
        self.send(client, message, None);
    }

    /// Sends a message.
    pub(super) fn send(
        &mut self,
        client: usize,
        message: Message,
        dispatch: Option<(DispatchKey, usize)>,
    ) {
        let Some(conn) = self.roster[client].conn() else { return };
        self.connections.send(conn, message, dispatch);
    }

    /// Closes a client's connection.
    pub(super) fn close(&mut self, now: Duration, client: usize, graceful: bool) {
        let Some(conn) = self.roster[client].conn() else { return };
        self.connections.close(conn, graceful);
        self.away(now, client);
    }

    /// Gives a client another identity.
    pub(super) fn replace(&mut self, client: usize) {
        let name = self.client_name(client);
        self.roster.replace(client, name);
    }

    /// Handles the envelope of an action that a client received.
    pub(super) fn envelope(&mut self, now: Duration, client: usize, envelope: &Value, line: u64) {
        let rejected = envelope.get("rejectionReason").is_some_and(|reason| !reason.is_null());
        let origin = &envelope["origin"];
        let seq = origin["clientSeq"].as_u64();
        let name = origin["clientId"].as_str();
        if let (Some(seq), Some(name)) = (seq, name)
            && let Some((from, identity)) = self.roster.by_name(name)
        {
            let key = DispatchKey { client: from, identity, seq };
            self.meter.received(now, key, client, rejected);
            self.stalls.received(now, key, client, line);
            if from == client && identity == self.roster[client].identity() {
                self.roster.get_mut(client).settle();
                self.counts.rejected += u64::from(rejected);
            }
        }
        let place = self.roster[client].session();
        let session = &mut self.sessions[place];
        let channel = envelope["channel"].as_str();
        let is_own = channel == Some(session.uri()) || channel == session.chat();
        if let Some(seq) = envelope["serverSeq"].as_u64().filter(|_| is_own && !rejected)
            && let Some(call) = session.read(seq, &envelope["action"])
            && self.stage == LoadStage::Running
        {
            self.decide(now, place, &call);
        }
    }

    fn close_all(&mut self, now: Duration) {
        for client in 0..self.roster.len() {
            self.close(now, client, true);
        }
        self.stage = LoadStage::Over;
    }
}
