//! Measures how fast the harness receives, records and judges a flood of envelopes of about 230 bytes, compared with a
//! minimal client that drops the same frames. In both cases, client and server run on one core. No frame may be lost.

#![expect(clippy::print_stdout, reason = "a bench prints")]

use ahp_harness::report::jsonl::RunWriter;
use ahp_harness::report::redact::SecretRedactor;
use ahp_harness::run::driver;
use ahp_harness::run::play::ScenarioPlay;
use ahp_harness::transport::link::LinkEndpoint;
use ahp_harness::transport::websocket::{self, config};
use ahp_harness::verdict::Status;
use futures_util::{SinkExt, StreamExt};
use tokio::sync::watch;
use tokio_tungstenite::connect_async_with_config;
use tokio_tungstenite::tungstenite::Message;

#[expect(dead_code, reason = "each bench uses its part")]
mod measure;

use measure::{beside, cpu, host, median, pin, runtime, setup};

/// The number of envelopes per flood.
const FRAMES: u64 = 15_000;
/// The number of rounds; each round measures both clients.
const ROUNDS: usize = 9;

fn main() {
    if !measure::wanted() {
        return;
    }
    pin();
    let runtime = runtime();
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        if measure::asked_for("ours") {
            ours.push(runtime.block_on(harness()));
        }
        if measure::asked_for("bare") {
            bare.push(runtime.block_on(drop_all()));
        }
    }
    let (ours, bare) = (median(ours), median(bare));
    println!("flood:      {:.0} ns of CPU per envelope, {:.0} per CPU second", ours, 1e9 / ours);
    println!("bare:       {:.0} ns of CPU per frame, {:.0} per CPU second", bare, 1e9 / bare);
    println!("ratio:      {:.1} % (target: 30 %), none lost", 100.0 * bare / ours);
}

/// Returns the CPU time of the harness for one envelope, in nanoseconds.
async fn harness() -> f64 {
    let steps = "  - turn: { by: A, id: t1, accept: true }\n  - expect: { at: A, type: \
                 chat/turnComplete, where: { action: { turnId: t1 } } }\n";
    let setup = setup(steps);
    let (listener, url) = host::listener();
    let writer = RunWriter::new(Box::new(measure::tempfile()), SecretRedactor::default());
    let play = ScenarioPlay::new(setup, false, writer.recorder(Some(0)));
    let endpoint = LinkEndpoint::Socket(websocket::WebSocketEndpoint { url, ..Default::default() });
    let (_keep, stop) = watch::channel(false);
    let server =
        beside(move || async move { host::serve(host::accepted(&listener).await, FRAMES).await });
    let began = cpu();
    let verdict = driver::play(play, &endpoint, None, None, stop).await;
    let took = cpu() - began;
    server.join().expect("the server");
    writer.finish().expect("the transcript");
    assert_eq!(verdict.status, Status::Pass, "{}", verdict.reason);
    for check in &verdict.checks {
        assert!(check.findings.is_empty(), "{:?}", check.findings.first());
    }
    // The oracle must have observed every envelope: the start of the turn (whose number must be above that of the
    // handshake), the start of a part, the deltas, and the end.
    let grows = verdict.checks.iter().find(|check| check.check == "sequence.grows");
    let seen = grows.map_or(0, |check| check.observations);
    assert_eq!(seen, FRAMES + 3);
    took.as_secs_f64() * 1e9 / FRAMES as f64
}

/// Returns the CPU time of the minimal client for one frame, in nanoseconds.
async fn drop_all() -> f64 {
    let (listener, url) = host::listener();
    let server =
        beside(move || async move { host::pour(host::accepted(&listener).await, FRAMES).await });
    let (mut socket, _) =
        connect_async_with_config(url, Some(config()), true).await.expect("a connection");
    let began = cpu();
    socket.send(Message::text("go")).await.expect("sent");
    let mut frames = 0;
    while let Some(Ok(message)) = socket.next().await {
        frames += u64::from(message.is_text());
    }
    let took = cpu() - began;
    assert_eq!(frames, FRAMES);
    server.join().expect("the server");
    took.as_secs_f64() * 1e9 / FRAMES as f64
}
