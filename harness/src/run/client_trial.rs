//! A trial: a scenario about a client, with the interface of a host. The server that serves hosts can therefore serve a
//! trial to the tested client.
//!
//! The trial contains the play and a reference host. The harness's own clients of the scenario talk to the reference
//! host in memory. The tested client talks to the trial, which passes the client's frames through the play. The lines
//! that a server would pass between a host and its agent are here the lines of the tested client's driver.
//!
//! Knows: plays, hosts. Never knows: sockets, processes, rules.
//!
//! Start at [`ClientTrial::new`].

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::host::door;
use crate::host::{HostOutput, SansIoHost};
use crate::transcript::{ClosingSide, ConnId, HandshakeLines};
use crate::wire::frame::Frame;

use super::act::padded;
use super::output::DriverOutput;
use super::play::{ScenarioPlay, ScenarioVerdict};

/// The close code for a connection that ends without a closing handshake.
const ABRUPT: u16 = 1006;
/// The close code of an orderly end.
const NORMAL: u16 = 1000;
/// The maximum number of rounds in which frames are moved after one input. The limit stops a host that never becomes
/// idle.
const MAX_ROUNDS: u32 = 1_000_000;

/// A scenario about a client, while it is played with the tested client.
pub struct ClientTrial {
    play: ScenarioPlay,
    host: Box<dyn SansIoHost + Send>,
    outputs: VecDeque<HostOutput>,
    /// The open connections of the harness's own clients.
    own: HashSet<ConnId>,
}

impl ClientTrial {
    /// Creates a trial and begins its play.
    pub fn new(mut play: ScenarioPlay, host: Box<dyn SansIoHost + Send>) -> ClientTrial {
        play.begin(Duration::ZERO);
        let mut trial = ClientTrial { play, host, outputs: VecDeque::new(), own: HashSet::new() };
        trial.pump(Duration::ZERO);
        trial
    }

    /// Interrupts the play. `why` is the reason.
    pub fn interrupt(&mut self, now: Duration, why: &str) {
        self.play.interrupt(now, why);
        self.pump(now);
    }

    /// Returns the wall-clock limit of the play.
    pub fn time_limit(&self) -> Duration {
        self.play.time_limit()
    }

    /// Judges the play.
    pub fn finish(self) -> ScenarioVerdict {
        self.play.finish()
    }

    /// Moves frames between the play and the reference host until both are idle.
    fn pump(&mut self, now: Duration) {
        for _ in 0..MAX_ROUNDS {
            if !self.move_to_host(now) && !self.move_to_play(now) {
                break;
            }
        }
    }

    fn move_to_host(&mut self, now: Duration) -> bool {
        let mut moved = false;
        while let Some(output) = self.play.poll_output(now) {
            moved = true;
            match output {
                DriverOutput::Open { conn, guise, .. } => {
                    match self.host.admit(now, conn, &door::headers(&guise)) {
                        Ok(()) => {
                            self.own.insert(conn);
                            self.host.handle_open(now, conn);
                            self.play.opened(now, conn);
                        }
                        Err(status) => {
                            let response = vec![door::refusal(status)];
                            let lines = HandshakeLines { response, ..HandshakeLines::default() };
                            self.play.refused(now, conn, lines);
                        }
                    }
                }
                DriverOutput::Send { conn, seen } if self.own.contains(&conn) => {
                    self.host.handle_frame(now, conn, &seen.frame);
                }
                DriverOutput::Send { conn, seen } => {
                    let frame = Frame::clone(&seen.frame);
                    self.outputs.push_back(HostOutput::Send { conn, frame });
                }
                DriverOutput::Close { conn, graceful } => {
                    self.host.handle_close(now, conn);
                    if !self.own.remove(&conn) {
                        let code = if graceful { NORMAL } else { ABRUPT };
                        let reason = String::new();
                        self.outputs.push_back(HostOutput::Close { conn, code, reason });
                    }
                }
                DriverOutput::ToHost { conn, seen } => {
                    self.host.handle_frame(now, conn, &seen.frame);
                }
                DriverOutput::Publish(scripted) => {
                    self.host.publish(now, &scripted);
                    while self.move_to_play(now) {}
                    self.play.published(now);
                }
                DriverOutput::Drive(line) => self.outputs.push_back(HostOutput::ToAgent(line)),
                DriverOutput::Flood { conn, bytes } => {
                    let frame = padded(bytes);
                    match self.own.contains(&conn) {
                        true => self.host.handle_frame(now, conn, &frame),
                        false => self.outputs.push_back(HostOutput::Send { conn, frame }),
                    }
                }
                DriverOutput::Release(hold) => self.host.release(now, &hold),
                // No step of a scenario about a client causes these outputs.
                DriverOutput::Hold { .. }
                | DriverOutput::Restart { .. }
                | DriverOutput::Errand(_) => {}
            }
        }
        moved
    }

    /// Handles one output of the reference host. The play reacts before the next output is handled.
    fn move_to_play(&mut self, now: Duration) -> bool {
        let Some(output) = self.host.poll_output() else { return false };
        match output {
            HostOutput::Send { conn, frame } if self.own.contains(&conn) => {
                self.play.frame(now, conn, frame);
            }
            HostOutput::Send { conn, frame } => self.play.host_frame(now, conn, frame),
            HostOutput::Close { conn, code, reason } if self.own.remove(&conn) => {
                self.play.closed(now, conn, Some(code), &reason);
                self.host.handle_close(now, conn);
            }
            HostOutput::Close { conn, code, reason } => {
                self.play.tested_closed(now, conn, ClosingSide::Host, &reason);
                self.host.handle_close(now, conn);
                self.outputs.push_back(HostOutput::Close { conn, code, reason });
            }
            // The reference host of a trial has no processes.
            HostOutput::ToAgent(_)
            | HostOutput::Shell(..)
            | HostOutput::Called(_)
            | HostOutput::Asked(_) => {}
        }
        true
    }
}

impl SansIoHost for ClientTrial {
    fn admit(
        &mut self,
        now: Duration,
        _conn: ConnId,
        _headers: &[(String, String)],
    ) -> Result<(), u16> {
        self.play.admit_tested(now)
    }

    fn handle_open(&mut self, now: Duration, conn: ConnId) {
        self.host.handle_open(now, conn);
        self.play.tested_opened(now, conn);
        self.pump(now);
    }

    fn handle_frame(&mut self, now: Duration, conn: ConnId, frame: &Frame) {
        self.play.tested_frame(now, conn, frame.clone());
        self.pump(now);
    }

    fn handle_close(&mut self, now: Duration, conn: ConnId) {
        self.host.handle_close(now, conn);
        self.play.tested_closed(now, conn, ClosingSide::Client, "");
        self.pump(now);
    }

    fn handle_timeout(&mut self, now: Duration) {
        if self.host.next_timeout().is_some_and(|at| at <= now) {
            self.host.handle_timeout(now);
        }
        // Frames that the host sends at the time `now` arrive before a wait of the scenario times out at the same time.
        self.pump(now);
        self.play.timeout(now);
        self.pump(now);
    }

    fn next_timeout(&self) -> Option<Duration> {
        [self.play.next_timeout(), self.host.next_timeout()].into_iter().flatten().min()
    }

    fn handle_agent(&mut self, now: Duration, line: Option<&str>) {
        self.play.driver_line(now, line);
        self.pump(now);
    }

    fn is_over(&self) -> bool {
        self.play.is_over() && self.outputs.is_empty()
    }

    fn poll_output(&mut self) -> Option<HostOutput> {
        self.outputs.pop_front()
    }

    fn restart(&mut self, _now: Duration) {}
}

/// A trial that the server and the caller share, so that the caller can judge the play after the server has ended.
#[derive(Clone)]
pub struct SharedTrial(Arc<Mutex<Option<ClientTrial>>>);

impl SharedTrial {
    /// Shares a trial.
    pub fn new(trial: ClientTrial) -> SharedTrial {
        SharedTrial(Arc::new(Mutex::new(Some(trial))))
    }

    /// Returns the trial and leaves `None` in its place; returns `None` if the trial was already taken.
    pub fn take(&self) -> Option<ClientTrial> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn with<T>(&self, act: impl FnOnce(&mut ClientTrial) -> T) -> Option<T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).as_mut().map(act)
    }
}

impl SansIoHost for SharedTrial {
    fn admit(
        &mut self,
        now: Duration,
        conn: ConnId,
        headers: &[(String, String)],
    ) -> Result<(), u16> {
        self.with(|trial| trial.admit(now, conn, headers)).unwrap_or(Ok(()))
    }

    fn handle_open(&mut self, now: Duration, conn: ConnId) {
        self.with(|trial| trial.handle_open(now, conn));
    }

    fn handle_frame(&mut self, now: Duration, conn: ConnId, frame: &Frame) {
        self.with(|trial| trial.handle_frame(now, conn, frame));
    }

    fn handle_close(&mut self, now: Duration, conn: ConnId) {
        self.with(|trial| trial.handle_close(now, conn));
    }

    fn handle_timeout(&mut self, now: Duration) {
        self.with(|trial| trial.handle_timeout(now));
    }

    fn next_timeout(&self) -> Option<Duration> {
        self.with(|trial| trial.next_timeout()).flatten()
    }

    fn handle_agent(&mut self, now: Duration, line: Option<&str>) {
        self.with(|trial| trial.handle_agent(now, line));
    }

    fn is_over(&self) -> bool {
        self.with(|trial| trial.is_over()).unwrap_or(true)
    }

    fn poll_output(&mut self) -> Option<HostOutput> {
        self.with(ClientTrial::poll_output).flatten()
    }

    fn restart(&mut self, _now: Duration) {}
}
