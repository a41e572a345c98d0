//! Measures the time for judging frames, from their text to the findings, compared with only parsing the same frames
//! with `serde_json`. Checks that the cost does not grow, and measures a large snapshot.
//!
//! `--instructions FRAMES TURNS` only judges this many frames after this many turns of history, for a run under
//! callgrind. With `--only bare`, the bench parses the frames instead.

#![expect(clippy::print_stdout, reason = "a bench prints")]

use std::sync::Arc;

use ahp_harness::transcript::{ConnectionEvent, SeenFrame};
use ahp_harness::wire::frame::Frame;
use ahp_harness::wire::json::{Value, json};

#[expect(dead_code, reason = "each bench uses its part")]
mod measure;

use measure::traffic::{TrafficRow, begun, stream};
use measure::{asked_for, cpu, host, instructions, median, pin};

const BASE: TrafficRow =
    TrafficRow { name: "", turns: 10, channels: 0, clients: 1, deltas: 270, frames: 100_000 };

const ROWS: &[TrafficRow] = &[
    TrafficRow { name: "1,000 frames", frames: 1_000, ..BASE },
    TrafficRow { name: "10,000 frames", frames: 10_000, ..BASE },
    TrafficRow { name: "100,000 frames", ..BASE },
    TrafficRow { name: "1,000,000 frames", frames: 1_000_000, ..BASE },
    TrafficRow { name: "10,000 turns of history", turns: 10_000, ..BASE },
    TrafficRow { name: "turns of 5 text envelopes", deltas: 5, ..BASE },
];
const ROUNDS: usize = 5;
/// The number of turns of the chat in the large snapshot. The snapshot has about 2.5 MB and fewer than 200,000 values;
/// frames with more values are not checked.
const LARGE: u64 = 12_000;

fn main() {
    if !measure::wanted() {
        return;
    }
    if let Some((frames, turns)) = instructions() {
        let row = TrafficRow { frames, turns, ..BASE };
        let frames = texts(&row);
        match asked_for("bare") && !asked_for("ours") {
            true => drop(parse(&frames)),
            false => drop(judge(&row, &frames)),
        }
        return;
    }
    pin();
    println!("{:>10}  {:>8}  {:>8}  {:>6}", "a second", "ns", "serde", "ratio");
    for row in ROWS {
        let frames = texts(row);
        let (mut ours, mut bare) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            ours.push(judge(row, &frames));
            bare.push(parse(&frames));
        }
        let (ours, bare) = (median(ours), median(bare));
        let second = 1e9 / ours;
        println!("{second:>10.0}  {ours:>8.0}  {bare:>8.0}  {:>6.2}  {}", ours / bare, row.name);
    }
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let (compared, parsed) = snapshot();
        ours.push(compared);
        bare.push(parsed);
    }
    let (ours, bare) = (median(ours), median(bare));
    println!("a snapshot: parsed in {bare:.0} ms, judged in {ours:.0} ms ({:.2})", ours / bare);
}

/// Returns the frames to judge, as strings.
fn texts(row: &TrafficRow) -> Vec<String> {
    stream(row).take(row.frames as usize).collect()
}

/// Returns the CPU time for judging one frame, from its text to the findings, in nanoseconds.
fn judge(row: &TrafficRow, frames: &[String]) -> f64 {
    let (mut oracle, mut next) = begun(row);
    let began = cpu();
    let mut findings = 0;
    for frame in frames {
        let seen = Arc::new(SeenFrame::new(Frame::Text(frame.clone())));
        findings += oracle.observe(&next(0, ConnectionEvent::Received(seen))).len();
    }
    let took = cpu() - began;
    assert_eq!(findings, 0);
    drop(oracle.finish());
    took.as_secs_f64() * 1e9 / frames.len() as f64
}

/// Returns the CPU time for parsing one frame, in nanoseconds.
fn parse(frames: &[String]) -> f64 {
    let began = cpu();
    let mut objects = 0;
    for frame in frames {
        let value: serde_json::Value = serde_json::from_str(frame).expect("JSON");
        objects += usize::from(value.is_object());
    }
    let took = cpu() - began;
    assert_eq!(objects, frames.len());
    took.as_secs_f64() * 1e9 / frames.len() as f64
}

/// Returns the CPU times for judging and for parsing a large snapshot after an earlier snapshot, in
/// milliseconds.
fn snapshot() -> (f64, f64) {
    let sent = |value: Value| ConnectionEvent::Sent(Arc::new(SeenFrame::new(Frame::json(&value))));
    let (mut oracle, mut next) = begun(&TrafficRow { turns: LARGE, ..BASE });
    let request = json!({"jsonrpc": "2.0", "id": 9, "method": "subscribe",
        "params": {"channel": host::CHAT}});
    oracle.observe(&next(0, sent(request)));
    let state = host::chat(LARGE);
    let snapshot = json!({"resource": host::CHAT, "fromSeq": 0, "state": state});
    let answer = json!({"jsonrpc": "2.0", "id": 9, "result": {"snapshot": snapshot}}).to_string();
    let began = cpu();
    let value: serde_json::Value = serde_json::from_str(&answer).expect("JSON");
    let parsed = cpu() - began;
    drop(value);
    let seen = Arc::new(SeenFrame::new(Frame::Text(answer)));
    let entry = next(0, ConnectionEvent::Received(seen));
    let began = cpu();
    let findings = oracle.observe(&entry);
    let judged = cpu() - began;
    assert!(findings.is_empty());
    let reports = oracle.finish();
    let compared = reports.iter().find(|report| report.check == "state.snapshot-agrees");
    assert!(compared.is_some_and(|report| report.observations == 1));
    (judged.as_secs_f64() * 1e3, parsed.as_secs_f64() * 1e3)
}
