//! Passes every frame to the transcript, to the oracle and to the case.
//!
//! The simulation, the socket driver and `judge` (from a file) feed a [`ScenarioPlay`]; the same transcript
//! produces the same [`ScenarioVerdict`].

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use litemap::LiteMap;

use crate::edge::VersionEdge;
use crate::oracle::{JudgedParty, Oracle, OracleOptions};
use crate::scenario::parse::{ParsedScenario, ScenarioStep};
use crate::transcript::{
    BelowEvent, ClosingSide, ConnId, ConnectionEvent, HandshakeLines, SeenFrame, TranscriptEntry,
};
use crate::verdict::{CheckReport, Status, Weight};
use crate::wire::frame::Frame;
use crate::wire::json::{Value, json};
use crate::wire::version::Version;

use super::case::ScenarioCase;
use super::case_progress::BUDGET;
use super::claims::ClaimOutcome;
use super::failure::StepFailure;
use super::output::DriverOutput;
use super::setup::CaseSetup;

/// A recorder of the transcript.
pub trait TranscriptRecorder: Send {
    /// Records one event and returns its line, counted from 1.
    fn record(&mut self, at: Duration, client: &str, event: &ConnectionEvent) -> u64;

    /// Records that the play was interrupted, with the reason; `None` means that the play ended before its cleanup was
    /// complete. A replay of the transcript stops at the same time.
    fn stopped(&mut self, _at: Duration, _reason: Option<&str>) {}
}

/// A recorder that only counts lines.
#[derive(Debug, Default)]
pub struct CountingRecorder(u64);

impl TranscriptRecorder for CountingRecorder {
    fn record(&mut self, _at: Duration, _client: &str, _event: &ConnectionEvent) -> u64 {
        self.0 += 1;
        self.0
    }
}

/// The connection number of the first peer below the host, such as its agent. A peer below the host has no client
/// connection, so these peers are numbered downwards from this number.
const BELOW: u32 = u32::MAX;
/// The close code of a connection without a closing handshake (RFC 6455, 7.4.1).
const ABNORMAL: u16 = 1006;
/// The maximum number of peers below a host whose messages are judged.
const MAX_BELOW: usize = 1_000;

/// The result of a scenario.
#[derive(Clone, Debug)]
pub struct ScenarioVerdict {
    /// The status of the scenario.
    pub status: Status,
    /// The reason in one line; empty if the scenario passed.
    pub reason: String,
    /// The failure that decided the status: the failure of the heaviest failed claim, or of the premise that
    /// ended the scenario.
    pub failure: Option<StepFailure>,
    /// The heaviest broken requirement; empty if none is broken.
    pub rule: String,
    /// The weight of `rule`, or of the heaviest tested requirement if none is broken.
    pub weight: Weight,
    /// The judged claims, in the order of the steps.
    pub claims: Vec<JudgedClaim>,
    /// The actions and requests that the host accepted, as listed by [`ScenarioCase::accepted`].
    pub accepted: Vec<String>,
    /// The number of times that a claim was tested and held.
    pub observations: u64,
    /// Further notes for the report.
    pub notes: Vec<String>,
    /// The reports of the always-on checks.
    pub checks: Vec<CheckReport>,
    /// Whether a handshake succeeded.
    pub shook_hands: bool,
    /// The approximate memory that all received frames need, in bytes.
    pub traffic_weight: u64,
    /// Whether a connection ended without a closing handshake, or could not be established.
    pub cut: bool,
    /// The duration on the clock of the case.
    pub took: Duration,
}

/// A claim and its status.
#[derive(Clone, Debug)]
pub struct JudgedClaim {
    /// The claim's outcome.
    pub outcome: ClaimOutcome,
    /// The claim's status. If the claim failed, the heaviest of its requirements decides.
    pub status: Status,
    /// The heaviest of the claim's requirements.
    pub rule: String,
    /// The weight of that requirement.
    pub weight: Weight,
}

impl JudgedClaim {
    fn of(outcome: ClaimOutcome, scenario: &ParsedScenario, version: Version) -> JudgedClaim {
        let weight_of = |id: &String| scenario.weight(version, id);
        let rule = outcome.rules.iter().rev().max_by_key(|id| weight_of(id)).cloned();
        let rule = rule.unwrap_or_default();
        let weight = weight_of(&rule);
        let status = match (&outcome.failure, outcome.untested.is_empty()) {
            (Some(_), _) => weight.broken(),
            (None, false) if outcome.inapplicable => Status::Skip,
            (None, false) => Status::Untested,
            (None, true) => Status::Pass,
        };
        JudgedClaim { outcome, status, rule, weight }
    }

    fn is_skipped(&self) -> bool {
        self.status == Status::Skip
    }

    /// Returns how strongly the claim affects the status of its scenario. An untested MUST or essential requirement
    /// ranks above a broken lighter requirement, because the run is incomplete. This does not apply if another failed
    /// claim is the reason why the requirement is untested.
    fn rank(&self) -> (u8, Weight) {
        let rank = match self.status {
            Status::Fail => 5,
            Status::Untested if self.weight >= Weight::Essential && !self.outcome.follows => 4,
            Status::Warn => 3,
            Status::Note => 2,
            Status::Untested => 1,
            _ => 0,
        };
        (rank, self.weight)
    }
}

/// A scenario that is being played and judged.
pub struct ScenarioPlay {
    case: ScenarioCase,
    oracle: Oracle,
    recorder: Box<dyn TranscriptRecorder>,
    clients: LiteMap<ConnId, String>,
    below: LiteMap<String, ConnId>,
    live: HashSet<ConnId>,
    /// Why the agent below the host could not play the script, if this is not the host's fault.
    unplayable: Option<String>,
    /// Why the play was interrupted.
    ended_early: String,
    cut: bool,
    began: Duration,
    now: Duration,
}

impl ScenarioPlay {
    /// Creates a play that has not started. `shared` says whether other scenarios or users may use the host at the same
    /// time.
    pub fn new(
        setup: CaseSetup,
        shared: bool,
        recorder: Box<dyn TranscriptRecorder>,
    ) -> ScenarioPlay {
        let options = OracleOptions {
            foreign: shared,
            deadline: patience(&setup),
            standard: setup.version.standard,
            odd_client: setup
                .scenario
                .steps
                .iter()
                .any(|step| !step.clients("deviates").is_empty()),
            ..OracleOptions::default()
        };
        let tested = setup.scenario.tested.clone();
        let mut oracle = match &tested {
            Some(name) => {
                let options = OracleOptions { party: JudgedParty::Clients, ..options };
                Oracle::of_client(options, Some(name))
            }
            None => Oracle::new(options),
        };
        setup.secrets.iter().for_each(|secret| oracle.keep_secret(secret));
        ScenarioPlay {
            case: ScenarioCase::new(setup),
            oracle,
            recorder,
            clients: LiteMap::new(),
            below: LiteMap::new(),
            live: HashSet::new(),
            unplayable: None,
            ended_early: String::new(),
            cut: false,
            began: Duration::ZERO,
            now: Duration::ZERO,
        }
    }

    /// Returns the wall-clock time after which the play is interrupted, whatever the host does. This limit is slightly
    /// longer than the time limit of the case itself.
    pub fn time_limit(&self) -> Duration {
        patience(self.case.setup()) * (BUDGET + 2)
    }

    /// Starts the play.
    pub fn begin(&mut self, now: Duration) {
        self.began = self.at(now);
        self.now = self.began;
        self.case.begin(self.began);
    }

    /// Starts the play and keeps it open for further steps after the last one.
    pub fn begin_open(&mut self, now: Duration) {
        self.case.leave_open();
        self.begin(now);
    }

    /// Appends steps and plays them.
    pub fn append(&mut self, now: Duration, steps: Vec<ScenarioStep>) {
        let at = self.at(now);
        self.case.append(at, steps);
    }

    /// Binds a name.
    pub fn learn(&mut self, name: &str, value: Value) {
        self.case.learn(name, value);
    }

    /// Returns the case of this play.
    pub fn case(&self) -> &ScenarioCase {
        &self.case
    }

    /// Returns the next output, and records outgoing frames; `None` if the driver has nothing to do now.
    pub fn poll_output(&mut self, now: Duration) -> Option<DriverOutput> {
        let at = self.at(now);
        let output = self.case.poll_output()?;
        match &output {
            DriverOutput::Open { conn, client, .. } => {
                self.clients.insert(*conn, client.clone());
            }
            DriverOutput::Send { conn, seen } if self.case.is_tested(*conn) => {
                self.record(at, *conn, ConnectionEvent::Received(Arc::clone(seen)));
            }
            DriverOutput::Send { conn, seen } => {
                self.record(at, *conn, ConnectionEvent::Sent(Arc::clone(seen)));
            }
            DriverOutput::Close { conn, .. } if self.case.is_tested(*conn) => {
                self.live.remove(conn);
                let (by, reason) = (ClosingSide::Host, String::new());
                self.record(at, *conn, ConnectionEvent::Closed { by, code: None, reason });
            }
            DriverOutput::Drive(line) => {
                let way = BelowEvent::ToDriver;
                let seen = Arc::new(SeenFrame::new(Frame::Text(line.clone())));
                self.below(now, way.peer(), way, seen);
            }
            DriverOutput::Close { conn, .. } => {
                let reason = String::new();
                self.live.remove(conn);
                self.record(
                    at,
                    *conn,
                    ConnectionEvent::Closed { by: ClosingSide::Client, code: None, reason },
                );
            }
            DriverOutput::Flood { .. }
            | DriverOutput::Hold { .. }
            | DriverOutput::Restart { .. }
            | DriverOutput::Release(_)
            | DriverOutput::Errand(_)
            | DriverOutput::ToHost { .. }
            | DriverOutput::Publish(_) => {}
        }
        Some(output)
    }

    /// Returns the time at which [`timeout`](Self::timeout) is due.
    pub fn next_timeout(&self) -> Option<Duration> {
        self.case.next_timeout()
    }

    /// Returns whether the play is over.
    pub fn is_over(&self) -> bool {
        self.case.is_over()
    }

    /// Handles an opened connection.
    pub fn opened(&mut self, now: Duration, conn: ConnId) {
        let at = self.at(now);
        let client = self.clients.get(&conn).cloned().unwrap_or_default();
        self.live.insert(conn);
        self.record(at, conn, ConnectionEvent::open(client));
        self.case.handle_opened(at, conn);
    }

    /// Decides about a connection of the tested client.
    ///
    /// # Errors
    /// Returns the HTTP status if the scenario refuses the connection.
    pub fn admit_tested(&mut self, now: Duration) -> Result<(), u16> {
        self.at(now);
        self.case.admit_tested()
    }

    /// Handles an opened connection of the tested client.
    pub fn tested_opened(&mut self, now: Duration, conn: ConnId) {
        let at = self.at(now);
        let client = self.case.setup().scenario.tested.clone().unwrap_or_default();
        self.oracle.name_connection(conn, &client);
        self.clients.insert(conn, client.clone());
        self.live.insert(conn);
        self.record(at, conn, ConnectionEvent::open(client));
        self.case.handle_tested_opened(at, conn);
    }

    /// Handles a frame of the tested client.
    pub fn tested_frame(&mut self, now: Duration, conn: ConnId, frame: Frame) {
        let at = self.at(now);
        if !self.live.contains(&conn) {
            return;
        }
        let seen = Arc::new(SeenFrame::new(frame));
        let line = self.record(at, conn, ConnectionEvent::Sent(Arc::clone(&seen)));
        self.case.handle_tested_frame(at, conn, line, &seen);
    }

    /// Handles a frame of the host for the tested client.
    pub fn host_frame(&mut self, now: Duration, conn: ConnId, frame: Frame) {
        let at = self.at(now);
        if self.live.contains(&conn) {
            self.case.handle_host_frame(at, conn, &Arc::new(SeenFrame::new(frame)));
        }
    }

    /// Handles a connection of the tested client that the client or the host (`by`) has ended.
    pub fn tested_closed(&mut self, now: Duration, conn: ConnId, by: ClosingSide, reason: &str) {
        let at = self.at(now);
        if !self.live.remove(&conn) {
            return;
        }
        let event = ConnectionEvent::Closed { by, code: None, reason: reason.to_owned() };
        let line = self.record(at, conn, event);
        match by {
            ClosingSide::Host => self.case.handle_tested_dropped(at, conn, line),
            ClosingSide::Client => {
                let reason = format!("closed by the client {reason}");
                self.case.handle_tested_closed(at, conn, line, reason.trim_end());
            }
        }
    }

    /// Handles a line of the tested client's driver; `None` when the driver has ended.
    pub fn driver_line(&mut self, now: Duration, line: Option<&str>) {
        let way = BelowEvent::FromDriver;
        let frame = match line {
            Some(line) => Frame::Text(line.to_owned()),
            None => Frame::json(&json!({"ended": "its output has ended"})),
        };
        self.below(now, way.peer(), way, Arc::new(SeenFrame::new(frame)));
    }

    /// Handles a host's answer that refuses the handshake of a connection.
    pub fn refused(&mut self, now: Duration, conn: ConnId, handshake: HandshakeLines) {
        let at = self.at(now);
        let answer = handshake.response.first().map_or("nothing", String::as_str);
        let subject = self.case.subject();
        let reason = format!("expected HTTP 101 (WebSocket), the {subject} answered {answer}");
        let status = handshake.status();
        let line = self.record(at, conn, ConnectionEvent::Refused(Box::new(handshake)));
        self.case.handle_refused(at, conn, line, status, &reason);
    }

    /// Handles a frame that arrived.
    pub fn frame(&mut self, now: Duration, conn: ConnId, frame: Frame) {
        self.seen(now, conn, Arc::new(SeenFrame::new(frame)));
    }

    /// Handles a decoded frame that arrived. A frame on a connection that the client has closed is ignored.
    pub fn seen(&mut self, now: Duration, conn: ConnId, seen: Arc<SeenFrame>) {
        let at = self.at(now);
        if !self.live.contains(&conn) {
            return;
        }
        let line = self.record(at, conn, ConnectionEvent::Received(Arc::clone(&seen)));
        self.case.handle_frame(at, conn, line, &seen);
    }

    /// Handles a message or another event between the host and its agent or another peer below the host.
    pub fn below(&mut self, now: Duration, peer: &str, way: BelowEvent, seen: Arc<SeenFrame>) {
        let at = self.at(now);
        if self.unplayable.is_none() {
            self.unplayable = unplayable(way, &seen);
        }
        let event = ConnectionEvent::Below { way, seen: Arc::clone(&seen) };
        let line = self.recorder.record(at, peer, &event);
        self.case.handle_beside(at, line, way, &seen);
        if matches!(way, BelowEvent::ToDriver | BelowEvent::FromDriver) {
            return;
        }
        let next = ConnId(BELOW - u32::try_from(self.below.len()).unwrap_or(BELOW));
        if self.below.len() >= MAX_BELOW {
            return;
        }
        let conn = *self.below.entry(peer.to_owned()).or_insert(next);
        self.oracle.observe(&TranscriptEntry { line, at, conn, event });
    }

    /// Handles a connection that could not be opened, or that ended although the client did not close it.
    pub fn closed(&mut self, now: Duration, conn: ConnId, code: Option<u16>, reason: &str) {
        let at = self.at(now);
        self.live.remove(&conn);
        let event =
            ConnectionEvent::Closed { by: ClosingSide::Host, code, reason: reason.to_owned() };
        let line = self.record(at, conn, event);
        self.cut |= code.is_none_or(|code| code == ABNORMAL);
        let subject = self.case.subject();
        let reason = match (code, reason) {
            (Some(code), "") => format!("closed by the {subject} with code {code}"),
            (Some(code), reason) => format!("closed by the {subject} with code {code}: {reason}"),
            (None, "") => format!("closed by the {subject}"),
            (None, reason) => reason.to_owned(),
        };
        self.case.handle_closed(at, conn, line, &reason);
    }

    /// Handles the end of a restart: the host is back, or the restart failed.
    pub fn restarted(&mut self, now: Duration, outcome: Result<(), String>) {
        let at = self.at(now);
        if outcome.is_ok() {
            self.live.clear();
            self.record(at, ConnId::default(), ConnectionEvent::Restarted);
        }
        self.case.handle_restarted(at, outcome);
    }

    /// Handles the end of a publication.
    pub fn published(&mut self, now: Duration) {
        let at = self.at(now);
        self.case.handle_published(at);
    }

    /// Advances the clock to `now`.
    pub fn timeout(&mut self, now: Duration) {
        self.at(now);
    }

    /// Interrupts the play. `why` is the reason for the interruption.
    pub fn interrupt(&mut self, now: Duration, why: &str) {
        let at = self.at(now);
        self.recorder.stopped(at, Some(why));
        why.clone_into(&mut self.ended_early);
        self.case.interrupt(at);
    }

    /// Records that the play ends before its cleanup is complete.
    pub fn abandon(&mut self, now: Duration) {
        let at = self.at(now);
        self.recorder.stopped(at, None);
    }

    /// Judges the play and returns the verdict.
    pub fn finish(self) -> ScenarioVerdict {
        let shook_hands = self.case.shook_hands();
        let CaseSetup { version, scenario, .. } = self.case.setup();
        let version = *version;
        let excuse = match &self.unplayable {
            _ if !shook_hands => Some("no handshake succeeded".to_owned()),
            Some(why) => Some(format!("the script could not be played, {why}")),
            None => None,
        };
        let claims = self.case.claims().into_iter().flat_map(ClaimOutcome::split);
        let judged = claims.map(|mut outcome| {
            let missed = outcome.failure.is_some() || !outcome.untested.is_empty();
            if let Some(excuse) = excuse.as_ref().filter(|_| missed) {
                outcome.failure = None;
                outcome.untested.clone_from(excuse);
                outcome.inapplicable = false;
            }
            JudgedClaim::of(outcome, scenario, version)
        });
        let claims: Vec<JudgedClaim> = judged.collect();
        // `max_by_key` returns the last of equal claims, so the reversed order selects the first.
        let worst = claims.iter().rev().max_by_key(|claim| claim.rank());
        let heaviest = claims.iter().map(|claim| claim.weight).max().unwrap_or(Weight::Note);
        let mut verdict = ScenarioVerdict {
            status: Status::Pass,
            reason: String::new(),
            failure: None,
            rule: String::new(),
            weight: heaviest,
            accepted: self.case.accepted().map(str::to_owned).collect(),
            observations: self.case.observations(),
            notes: self.case.notes().to_vec(),
            checks: Vec::new(),
            shook_hands,
            traffic_weight: self.case.traffic_weight(),
            cut: self.cut,
            took: self.now.saturating_sub(self.began),
            claims: Vec::new(),
        };
        match worst {
            Some(claim) if claim.outcome.failure.is_some() => {
                let failure = claim.outcome.failure.clone();
                verdict.reason =
                    failure.as_ref().map(|failure| failure.message.clone()).unwrap_or_default();
                (verdict.status, verdict.failure) = (claim.status, failure);
                (verdict.rule, verdict.weight) = (claim.rule.clone(), claim.weight);
            }
            _ if self.case.was_interrupted() => {
                (verdict.status, verdict.reason) = (Status::Error, self.ended_early.clone());
            }
            _ if !shook_hands => {
                let failure = self.case.failure();
                verdict.status = Status::Untested;
                verdict.reason = failure
                    .map_or("no handshake succeeded", |failure| failure.message.as_str())
                    .to_owned();
                verdict.failure = failure.cloned();
            }
            Some(claim) if claim.status == Status::Untested => {
                (verdict.status, verdict.reason) = (claim.status, claim.outcome.untested.clone());
                verdict.failure = self.case.failure().cloned();
            }
            // A scenario without claims has tested nothing, even if all its premises held.
            None => {
                let failure = self.case.failure();
                verdict.status = Status::Untested;
                verdict.reason = failure
                    .map_or("nothing was observed", |failure| failure.message.as_str())
                    .to_owned();
                verdict.failure = failure.cloned();
            }
            Some(_) => {
                let first = claims.first().filter(|_| claims.iter().all(JudgedClaim::is_skipped));
                if let Some(claim) = first {
                    (verdict.status, verdict.reason) =
                        (Status::Skip, claim.outcome.untested.clone());
                }
            }
        }
        let mut verdict = ScenarioVerdict { claims, ..verdict };
        verdict.put_in_words_of_the_wire(&self.case.edge());
        ScenarioVerdict { checks: self.oracle.finish(), ..verdict }
    }

    /// Advances the clock to the time of an input. Timers that are due earlier fire first, each with the time at which
    /// it was due. Therefore, a live run in which a timer fires late and the replay of its file have the same result.
    /// Times have microsecond precision, as in the file.
    fn at(&mut self, now: Duration) -> Duration {
        let micros = u64::try_from(now.as_micros()).unwrap_or(u64::MAX);
        self.now = self.now.max(Duration::from_micros(micros));
        while let Some(due) = self.case.next_timeout().filter(|due| *due <= self.now) {
            self.case.handle_timeout(due);
            if self.case.next_timeout() == Some(due) {
                break;
            }
        }
        self.now
    }

    fn record(&mut self, at: Duration, conn: ConnId, event: ConnectionEvent) -> u64 {
        let client = self.clients.get(&conn).map_or("", String::as_str);
        let line = self.recorder.record(at, client, &event);
        self.oracle.observe(&TranscriptEntry { line, at, conn, event });
        line
    }
}

impl ScenarioVerdict {
    /// Translates the names in messages from the newest version, which scenarios use, to the version that was
    /// negotiated with the host. The reports of the always-on checks already use the names of the original frames.
    fn put_in_words_of_the_wire(&mut self, edge: &VersionEdge) {
        if edge.is_plain() {
            return;
        }
        let put = |text: &mut String| *text = edge.in_words_of_the_wire(text);
        put(&mut self.reason);
        self.notes.iter_mut().for_each(put);
        let outcomes = self.claims.iter_mut().map(|claim| &mut claim.outcome);
        let failures = outcomes.filter_map(|outcome| {
            put(&mut outcome.untested);
            outcome.failure.as_mut()
        });
        for failure in failures.chain(self.failure.as_mut()) {
            put(&mut failure.message);
            put(&mut failure.label);
            failure.second.iter_mut().for_each(|(_, text)| put(text));
        }
    }
}

/// Returns why the model stand-in could not follow the script, if this is not the host's fault.
fn unplayable(way: BelowEvent, seen: &SeenFrame) -> Option<String> {
    let record = seen.message().filter(|_| way == BelowEvent::Model)?.value();
    let problem = record.get("problem").and_then(Value::as_str);
    problem.filter(|_| record["untestable"] == true).map(str::to_owned)
}

/// Returns the maximum time that the host may take for an answer: the longest wait of the scenario.
fn patience(setup: &CaseSetup) -> Duration {
    let steps = setup.scenario.steps.iter().filter_map(|step| step.duration("within"));
    let longest = steps.chain(setup.scenario.within).max();
    longest.map_or(setup.limit, |longest| longest.max(setup.limit))
}
