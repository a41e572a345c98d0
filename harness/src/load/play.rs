//! A load that is being played: passes every frame to the judge and to the engine.
//!
//! Knows: the engine, the judge. Never knows: sockets, files.
//!
//! Start at [`LoadPlay`].

use std::sync::Arc;
use std::time::Duration;

use crate::oracle::OracleOptions;
use crate::transcript::{
    ClosingSide, ConnId, ConnectionEvent, HandshakeLines, SeenFrame, TranscriptEntry,
};
use crate::wire::frame::Frame;
use crate::wire::protocol::Protocol;

use super::connections::LoadOutput;
use super::engine::LoadEngine;
use super::judge::LoadJudge;
use super::plan::LoadPlan;
use super::result::{LoadFinding, LoadResult};

/// Returns the name of a connection in messages and captures.
pub fn connection_name(conn: ConnId) -> String {
    format!("c{}", conn.0)
}

/// A load that is being played and judged.
pub struct LoadPlay {
    engine: LoadEngine,
    judge: LoadJudge,
    line: u64,
    frames: u64,
    now: Duration,
    plan: LoadPlan,
}

impl LoadPlay {
    /// Creates a load that has not begun. `shared` says whether other clients may use the host at the same time.
    pub fn new(plan: LoadPlan, shared: bool) -> LoadPlay {
        let options =
            OracleOptions { foreign: shared, deadline: plan.limit, ..OracleOptions::default() };
        let mut judge = LoadJudge::new(options);
        plan.tokens.iter().for_each(|(_, token)| judge.keep_secret(token));
        LoadPlay {
            engine: LoadEngine::new(plan.clone()),
            judge,
            line: 0,
            frames: 0,
            now: Duration::ZERO,
            plan,
        }
    }

    /// Begins the load.
    pub fn begin(&mut self, now: Duration) {
        self.engine.begin(now);
    }

    /// Returns the engine, for figures during the load.
    pub fn engine(&mut self) -> &mut LoadEngine {
        &mut self.engine
    }

    /// Returns the number of frames so far, in both directions.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// Returns the findings since the last call, with captures that are not reduced yet.
    pub fn take_fresh(&mut self) -> Vec<LoadFinding> {
        self.judge.take_fresh()
    }

    /// Returns the next output; `None` if there is nothing to do now.
    pub fn poll_output(&mut self, now: Duration) -> Option<LoadOutput> {
        let output = self.engine.poll_output()?;
        match &output {
            LoadOutput::Send { conn, seen, dispatch } => {
                self.frames += 1;
                let line = self.record(now, *conn, ConnectionEvent::Sent(Arc::clone(seen)));
                if let Some((key, session)) = dispatch {
                    self.engine.stalls.dispatched(now, *key, *session, line);
                }
            }
            LoadOutput::Close { conn, .. } => {
                let (by, reason) = (ClosingSide::Client, String::new());
                self.record(now, *conn, ConnectionEvent::Closed { by, code: None, reason });
            }
            LoadOutput::Open { .. } | LoadOutput::Hold { .. } | LoadOutput::Crash => {}
        }
        Some(output)
    }

    /// Returns the time at which [`timeout`](Self::timeout) is due; `None` if the load is over.
    pub fn next_timeout(&self) -> Option<Duration> {
        self.engine.next_timeout()
    }

    /// Handles an opened connection.
    pub fn opened(&mut self, now: Duration, conn: ConnId) {
        self.record(now, conn, ConnectionEvent::open(connection_name(conn)));
        self.engine.opened(now, conn);
    }

    /// Handles a handshake that the host refused.
    pub fn refused(&mut self, now: Duration, conn: ConnId, response: Vec<String>) {
        let answer = response.first().map_or("nothing", String::as_str).to_owned();
        let lines = HandshakeLines { response, ..HandshakeLines::default() };
        self.record(now, conn, ConnectionEvent::Refused(Box::new(lines)));
        let reason = format!("expected HTTP 101 (WebSocket), the host answered {answer}");
        self.engine.closed(now, conn, &reason);
    }

    /// Handles a frame that arrived.
    pub fn frame(&mut self, now: Duration, conn: ConnId, frame: Frame) {
        self.frames += 1;
        let seen = Arc::new(SeenFrame::new(frame));
        let line = self.record(now, conn, ConnectionEvent::Received(Arc::clone(&seen)));
        self.engine.frame(now, conn, line, &seen);
    }

    /// Handles the end of a connection that the client did not close.
    pub fn closed(&mut self, now: Duration, conn: ConnId, code: Option<u16>, reason: &str) {
        let by = ClosingSide::Host;
        self.record(now, conn, ConnectionEvent::Closed { by, code, reason: reason.to_owned() });
        let code = code.map_or_else(
            || "closed by the host".to_owned(),
            |code| format!("closed with code {code}"),
        );
        let reason = if reason.is_empty() { code } else { format!("{code}: {reason}") };
        self.engine.closed(now, conn, &reason);
    }

    /// Handles the end of a restart: the host is back, or the error states why the restart failed.
    pub fn restarted(&mut self, now: Duration, outcome: Result<(), String>) {
        if outcome.is_ok() {
            self.record(now, ConnId::default(), ConnectionEvent::Restarted);
        }
        self.engine.restarted(now, outcome);
    }

    /// Advances the clock. `busy` is the share of time in which the harness was busy.
    pub fn timeout(&mut self, now: Duration, busy: Option<f64>) {
        self.now = now;
        self.engine.timeout(now);
        let active = self.engine.active();
        self.engine.meter.advance(now, active, busy);
        if let Some(finding) = self.engine.stalls.judge(now) {
            self.judge.found(now, finding);
        }
    }

    /// Ends the load: no client acts any more, and the load waits up to `patience` for the answers to open requests and
    /// dispatches.
    pub fn stop(&mut self, now: Duration, patience: Duration) {
        self.engine.stop(now, patience);
    }

    /// Judges the remaining entries and returns the outcome.
    pub fn finish(self) -> LoadResult {
        let LoadPlay { mut engine, judge, frames, now, plan, .. } = self;
        let (findings, checks) = judge.finish(now);
        let counts = engine.counts.clone();
        let trouble = match counts.sessions {
            0 if engine.trouble().is_empty() => Some("no session was created in time".to_owned()),
            0 => Some(engine.trouble().to_owned()),
            _ => None,
        };
        LoadResult {
            delays: engine.meter.report(),
            findings,
            checks,
            frames,
            took: now.min(plan.time + plan.limit * 2),
            last_failure: engine.trouble().to_owned(),
            judged_pauses: engine.stalls().judged(),
            stalling_pauses: engine.stalls().stalled(),
            version: engine.protocol().map(Protocol::version),
            trouble,
            counts,
        }
    }

    fn record(&mut self, now: Duration, conn: ConnId, event: ConnectionEvent) -> u64 {
        self.now = self.now.max(now);
        self.line += 1;
        self.judge.observe(&TranscriptEntry { line: self.line, at: self.now, conn, event });
        self.line
    }
}
