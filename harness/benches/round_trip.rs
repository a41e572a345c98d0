//! Measures one scenario step over a loopback WebSocket (dispatched, echoed, matched, recorded and judged), compared
//! with a bare echo of frames of the same size. In both cases, client and server run on one core.

#![expect(clippy::print_stdout, reason = "a bench prints")]

use std::fmt::Write as _;

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

/// The number of steps per scenario.
const STEPS: usize = 5_000;
/// The number of rounds; each round measures the scenario and the bare echo.
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
            bare.push(runtime.block_on(echo()));
        }
    }
    let (ours, bare) = (median(ours), median(bare));
    println!("round_trip: {:.2} us of CPU per step, {:.0} steps per CPU second", ours, 1e6 / ours);
    println!("bare echo:  {:.2} us of CPU per trip, {:.0} trips per CPU second", bare, 1e6 / bare);
    println!("ratio:      {:.1} % (target: 60 %)", 100.0 * bare / ours);
}

/// Returns the CPU time for one step, in microseconds.
async fn harness() -> f64 {
    let mut steps = String::new();
    for step in 0..STEPS {
        let _ = writeln!(
            steps,
            "  - dispatch: {{ by: A, channel: \"${{chat}}\", accept: true, action: {{ type: \
             chat/draftChanged, draft: {{ text: \"draft {step:06}\", origin: {{ kind: user }} }} }} }}",
        );
    }
    let setup = setup(&steps);
    // This reference keeps the scenario alive, as in a real run, so that the time for freeing the scenario is not
    // measured.
    let _loaded = std::sync::Arc::clone(&setup.scenario);
    let (listener, url) = host::listener();
    let writer = RunWriter::new(Box::new(measure::tempfile()), SecretRedactor::default());
    let play = ScenarioPlay::new(setup, false, writer.recorder(Some(0)));
    let endpoint = LinkEndpoint::Socket(websocket::WebSocketEndpoint { url, ..Default::default() });
    let (_keep, stop) = watch::channel(false);
    let server =
        beside(move || async move { host::serve(host::accepted(&listener).await, 0).await });
    let began = cpu();
    let verdict = driver::play(play, &endpoint, None, None, stop).await;
    let took = cpu() - began;
    server.join().expect("the server");
    writer.finish().expect("the transcript");
    assert_eq!(verdict.status, Status::Pass, "{}", verdict.reason);
    for check in &verdict.checks {
        assert!(check.findings.is_empty(), "{:?}", check.findings.first());
    }
    took.as_secs_f64() * 1e6 / STEPS as f64
}

/// Returns the CPU time for one bare round trip, in microseconds.
async fn echo() -> f64 {
    let action = "{\"draft\":{\"origin\":{\"kind\":\"user\"},\"text\":\"draft 000000\"},\"type\":\
                  \"chat/draftChanged\"}";
    let text = host::envelope(action, 1000, "ahp-harness-00000000-A", "1000");
    let (listener, url) = host::listener();
    let server = beside(move || async move { host::echo(host::accepted(&listener).await).await });
    let (mut socket, _) =
        connect_async_with_config(url, Some(config()), true).await.expect("a connection");
    let began = cpu();
    for _ in 0..STEPS {
        socket.send(Message::text(text.as_str())).await.expect("sent");
        socket.next().await.expect("a frame").expect("received");
    }
    let took = cpu() - began;
    socket.close(None).await.expect("closed");
    server.join().expect("the server");
    took.as_secs_f64() * 1e6 / STEPS as f64
}
