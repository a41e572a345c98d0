//! Measures the cost of an envelope in the oracle. Checks that the cost does not grow with the history of the
//! chat, the number of channels and subscribers, or the length of the run.
//!
//! `--instructions ROW FRAMES` only judges the frames of one row, for a run under callgrind.

#![expect(clippy::print_stdout, reason = "a bench prints")]

use std::sync::Arc;

use ahp_harness::transcript::{ConnectionEvent, SeenFrame};
use ahp_harness::wire::frame::Frame;

#[expect(dead_code, reason = "each bench uses its part")]
mod measure;

use measure::traffic::{TrafficRow, begun, stream};
use measure::{cpu, instructions, median, pin};

const BASE: TrafficRow = TrafficRow {
    name: "10 turns of history",
    turns: 10,
    channels: 0,
    clients: 1,
    deltas: 270,
    frames: 20_000,
};

const ROWS: &[TrafficRow] = &[
    BASE,
    TrafficRow { name: "1,000 turns of history", turns: 1_000, ..BASE },
    TrafficRow { name: "10,000 turns of history", turns: 10_000, ..BASE },
    TrafficRow { name: "100 more channels", channels: 100, ..BASE },
    TrafficRow { name: "10,000 more channels", channels: 10_000, ..BASE },
    TrafficRow { name: "10 clients", clients: 10, ..BASE },
    TrafficRow { name: "1,000 clients", clients: 1_000, ..BASE },
    TrafficRow { name: "1,000 frames long", frames: 1_000, ..BASE },
    TrafficRow { name: "100,000 frames long", frames: 100_000, ..BASE },
];
const ROUNDS: usize = 5;

fn main() {
    if !measure::wanted() {
        return;
    }
    if let Some((row, frames)) = instructions() {
        let row = ROWS.get(row as usize).expect("the number of a row");
        judge(&TrafficRow { frames, ..*row });
        return;
    }
    pin();
    println!("{:>8}  {:>8}  {:>6}", "ns", "entries", "ratio");
    let rounds = |row: &TrafficRow| -> Vec<f64> { (0..ROUNDS).map(|_| judge(row)).collect() };
    let base = median(rounds(&BASE));
    for row in ROWS {
        let ns = median(rounds(row));
        println!("{ns:>8.0}  {:>8}  {:>6.2}  {}", row.frames, ns / base, row.name);
    }
}

/// Returns the CPU time for one envelope in the oracle, in nanoseconds.
fn judge(row: &TrafficRow) -> f64 {
    let (mut oracle, mut next) = begun(row);
    // The frames are decoded before the measurement, because decoding is not part of the oracle.
    let mut entries = Vec::new();
    for frame in stream(row) {
        let seen = Arc::new(SeenFrame::new(Frame::Text(frame)));
        for conn in 0..row.clients {
            entries.push(next(conn, ConnectionEvent::Received(Arc::clone(&seen))));
        }
        if entries.len() as u64 >= row.frames {
            break;
        }
    }
    let began = cpu();
    let mut findings = 0;
    for entry in &entries {
        findings += oracle.observe(entry).len();
    }
    let took = cpu() - began;
    assert_eq!(findings, 0);
    let reports = oracle.finish();
    let appended = reports.iter().find(|report| report.check == "turns.part-before-append");
    assert!(appended.is_some_and(|report| report.observations > 0));
    took.as_secs_f64() * 1e9 / entries.len() as f64
}
