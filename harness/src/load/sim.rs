//! Plays a load against a host in memory, in virtual time.
//!
//! Knows: the engine of a host. Never knows: sockets, clocks.
//!
//! Start at [`play`].

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::time::Duration;

use crate::host::{HostOutput, SansIoHost};
use crate::transcript::ConnId;
use crate::wire::frame::Frame;

use super::connections::LoadOutput;
use super::plan::LoadPlan;
use super::play::LoadPlay;
use super::result::LoadResult;

/// The time that a frame needs from a client to the host.
const HOP: Duration = Duration::from_micros(100);

/// Plays a load against a host to its end.
pub fn play(plan: LoadPlan, host: &mut dyn SansIoHost) -> LoadResult {
    let mut load = SimulatedLoad {
        play: LoadPlay::new(plan, false),
        host,
        now: Duration::ZERO,
        open: HashSet::new(),
        held: BTreeMap::new(),
    };
    load.play.begin(load.now);
    load.run();
    load.play.finish()
}

struct SimulatedLoad<'a> {
    play: LoadPlay,
    host: &'a mut dyn SansIoHost,
    now: Duration,
    open: HashSet<ConnId>,
    /// The frames that wait for clients that do not read.
    held: BTreeMap<ConnId, VecDeque<Frame>>,
}

impl SimulatedLoad<'_> {
    fn run(&mut self) {
        loop {
            self.deliver();
            let Some(next) = self.play.next_timeout() else { break };
            let due = self.host.next_timeout().map_or(next, |host| host.min(next));
            self.now = self.now.max(due);
            if self.host.next_timeout().is_some_and(|host| host <= self.now) {
                self.host.handle_timeout(self.now);
                self.drain();
            }
            self.play.timeout(self.now, None);
        }
    }

    /// Carries out the outputs of the clients' engine.
    fn deliver(&mut self) {
        while let Some(output) = self.play.poll_output(self.now) {
            match output {
                LoadOutput::Open { conn, .. } => {
                    self.open.insert(conn);
                    self.play.opened(self.now, conn);
                    self.host.handle_open(self.now, conn);
                }
                LoadOutput::Send { conn, seen, .. } if self.open.contains(&conn) => {
                    self.now += HOP;
                    self.host.handle_frame(self.now, conn, &seen.frame);
                }
                LoadOutput::Send { .. } => {}
                LoadOutput::Hold { conn, held } => {
                    self.host.handle_held(self.now, conn, held);
                    match held {
                        true => drop(self.held.insert(conn, VecDeque::new())),
                        false => {
                            for frame in self.held.remove(&conn).unwrap_or_default() {
                                self.play.frame(self.now, conn, frame);
                            }
                        }
                    }
                }
                LoadOutput::Crash => {
                    self.open.clear();
                    self.held.clear();
                    self.host.restart(self.now);
                    self.play.restarted(self.now, Ok(()));
                }
                LoadOutput::Close { conn, .. } => {
                    self.held.remove(&conn);
                    if self.open.remove(&conn) {
                        self.host.handle_close(self.now, conn);
                    }
                }
            }
            self.drain();
        }
    }

    /// Carries out the outputs of the host.
    fn drain(&mut self) {
        while let Some(output) = self.host.poll_output() {
            match output {
                HostOutput::Send { conn, frame } if self.open.contains(&conn) => {
                    match self.held.get_mut(&conn) {
                        Some(held) => held.push_back(frame),
                        None => self.play.frame(self.now, conn, frame),
                    }
                }
                HostOutput::Close { conn, code, reason } if self.open.remove(&conn) => {
                    self.play.closed(self.now, conn, Some(code), &reason);
                    self.host.handle_close(self.now, conn);
                }
                _ => {}
            }
        }
    }
}
