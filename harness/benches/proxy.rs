//! Measures the cost of `record`: a round trip and a flood of envelopes through the proxy, compared with the same work
//! without a proxy. Also sends a million frames in each direction and compares every byte.
//!
//! Host, client and proxy each have their own thread and runtime, as if they were processes; a fourth thread
//! records and judges. The times are wall-clock times, measured alternately; the results are medians of several
//! rounds.

#![expect(clippy::print_stdout, reason = "a bench prints")]

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread::JoinHandle;
use std::time::Instant;

use ahp_harness::dice::Dice;
use ahp_harness::record::handshake::{UpstreamHost, end_of_head};
use ahp_harness::record::journal::RecordJournal;
use ahp_harness::record::proxy::RecordProxy;
use ahp_harness::record::relay::ConnectionRelay;
use ahp_harness::report::jsonl::RunWriter;
use ahp_harness::report::redact::SecretRedactor;
use ahp_harness::transport::websocket::config;
use futures_util::{SinkExt, StreamExt};
use tokio_tungstenite::connect_async_with_config;
use tokio_tungstenite::tungstenite::Message;

#[expect(dead_code, reason = "each bench uses its part")]
mod measure;

use measure::{beside, host, median, runtime};

/// The numbers of round trips per round, of envelopes per flood, and of rounds.
const TRIPS: u32 = 5_000;
const FRAMES: u64 = 200_000;
const ROUNDS: usize = 7;
/// The number of frames per direction of which every byte is compared.
const COMPARED: usize = 1_000_000;

fn main() {
    if !measure::wanted() {
        return;
    }
    let mut trips = [Vec::new(), Vec::new(), Vec::new()];
    let mut floods = trips.clone();
    for _ in 0..ROUNDS {
        for (index, route) in BenchRoute::ALL.into_iter().enumerate() {
            trips[index].push(trip(route));
            floods[index].push(flood(route));
        }
    }
    let [bare, judged, captured] = trips.map(median);
    println!(
        "round trip: {bare:.1} µs direct, {judged:.1} through the proxy, {captured:.1} with a capture: {:.1} and {:.1} \
         more a frame",
        (judged - bare) / 2.0,
        (captured - bare) / 2.0
    );
    let [bare, judged, captured] = floods.map(median);
    println!(
        "flood:      {bare:.0} frames a second direct, {judged:.0} through the proxy, {captured:.0} with a capture: \
         {:.0} % and {:.0} %",
        100.0 * judged / bare,
        100.0 * captured / bare
    );
    let began = Instant::now();
    let bytes = compared();
    println!(
        "compared:   {COMPARED} frames each way, {bytes} bytes, all the same, in {:.1} s",
        began.elapsed().as_secs_f64()
    );
}

/// The way of the frames from the client to the host.
#[derive(Clone, Copy, Eq, PartialEq)]
enum BenchRoute {
    Direct,
    /// Through a proxy that records and judges the messages but writes no capture file, so that it never waits for the
    /// file.
    Judged,
    /// Through a proxy that forwards a message only after it is in the capture.
    Captured,
}

impl BenchRoute {
    const ALL: [BenchRoute; 3] = [BenchRoute::Direct, BenchRoute::Judged, BenchRoute::Captured];
}

/// Starts a proxy for the host at this URL and returns the proxy's URL. The proxy runs until the process exits.
fn proxied(url: &str, route: BenchRoute) -> String {
    let (listener, own) = host::listener();
    let upstream = UpstreamHost::new(url, Vec::new()).expect("a URL");
    let (proxy, mut noted) =
        RecordProxy::new(upstream, ConnectionRelay::default(), SecretRedactor::default())
            .expect("a proxy");
    let keeper = std::sync::Arc::clone(&proxy);
    if route == BenchRoute::Captured {
        keeper.recorded(0);
    }
    std::thread::spawn(move || {
        let writer = RunWriter::new(Box::new(measure::tempfile()), SecretRedactor::default());
        let mut journal = RecordJournal::new(writer.recorder(None), SecretRedactor::default());
        let mut taken = 0;
        while let Some(next) = noted.blocking_recv() {
            taken += 1;
            let weight = next.weight();
            journal.take(next.at, next.note);
            keeper.done(weight);
            if noted.is_empty() {
                writer.flush();
                if route == BenchRoute::Captured {
                    keeper.recorded(taken);
                }
            }
        }
    });
    drop(beside(move || async move {
        let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
        proxy.serve(listener).await;
    }));
    own
}

fn url(url: String, route: BenchRoute) -> String {
    match route {
        BenchRoute::Direct => url,
        BenchRoute::Judged | BenchRoute::Captured => proxied(&url, route),
    }
}

/// Returns the time for one round trip of an envelope, in microseconds.
fn trip(route: BenchRoute) -> f64 {
    let (listener, at) = host::listener();
    let server = beside(move || async move { host::echo(host::accepted(&listener).await).await });
    let at = url(at, route);
    let took = runtime().block_on(async {
        let (mut socket, _) =
            connect_async_with_config(at, Some(config()), true).await.expect("a connection");
        let began = Instant::now();
        for number in 0..TRIPS {
            let text = format!(r#"{{"jsonrpc":"2.0","method":"notify","params":{{"channel":"ahp-root://","number":{number},"pad":"{}"}}}}"#, "x".repeat(150));
            socket.send(Message::text(text)).await.expect("to be sent");
            socket.next().await.expect("an answer").expect("an answer");
        }
        began.elapsed()
    });
    server.join().expect("the host ends");
    took.as_secs_f64() * 1e6 / f64::from(TRIPS)
}

/// Returns the number of envelopes per second.
fn flood(route: BenchRoute) -> f64 {
    let (listener, at) = host::listener();
    let server =
        beside(move || async move { host::pour(host::accepted(&listener).await, FRAMES).await });
    let at = url(at, route);
    let took = runtime().block_on(async {
        let (mut socket, _) =
            connect_async_with_config(at, Some(config()), true).await.expect("a connection");
        let began = Instant::now();
        socket.send(Message::text("begin")).await.expect("to be sent");
        let mut count = 0;
        while let Some(Ok(message)) = socket.next().await {
            count += u64::from(message.is_text());
        }
        assert_eq!(count, FRAMES, "no frame is lost");
        began.elapsed()
    });
    server.join().expect("the host ends");
    FRAMES as f64 / took.as_secs_f64()
}

/// Sends a million frames in both directions at the same time; returns the number of compared bytes.
fn compared() -> u64 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let host: SocketAddr = listener.local_addr().expect("an address");
    let at = proxied(&format!("ws://{host}"), BenchRoute::Captured);
    let at = at.trim_start_matches("ws://").to_owned();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        head(&mut stream);
        stream.write_all(b"HTTP/1.1 101 Switching Protocols\r\n\r\n").expect("an answer");
        both(&stream, 1, 2, false)
    });
    let mut client = TcpStream::connect(at).expect("a connection");
    client.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").expect("a request");
    head(&mut client);
    let down = both(&client, 2, 1, true);
    down + server.join().expect("the host ends")
}

/// Sends the frames of one seed, and compares the received frames with the frames of the other seed.
fn both(stream: &TcpStream, own: u64, others: u64, masked: bool) -> u64 {
    let mut writer = stream.try_clone().expect("a socket");
    let sending: JoinHandle<()> = std::thread::spawn(move || {
        let mut dice = Dice::seeded(own);
        let mut out = Vec::new();
        for _ in 0..COMPARED {
            frame(&mut out, &mut dice, masked);
            if out.len() > 1 << 16 {
                writer.write_all(&out).expect("to be sent");
                out.clear();
            }
        }
        writer.write_all(&out).expect("to be sent");
    });
    let mut reader = std::io::BufReader::with_capacity(1 << 16, stream);
    let mut dice = Dice::seeded(others);
    let (mut expected, mut got, mut bytes) = (Vec::new(), Vec::new(), 0);
    for number in 0..COMPARED {
        expected.clear();
        frame(&mut expected, &mut dice, !masked);
        got.resize(expected.len(), 0);
        reader.read_exact(&mut got).expect("a frame");
        assert!(got == expected, "frame {number} differs");
        bytes += got.len() as u64;
    }
    sending.join().expect("all is sent");
    bytes
}

/// Appends a frame of random length and kind.
fn frame(out: &mut Vec<u8>, dice: &mut Dice, masked: bool) {
    let first = [0x81, 0x82, 0x89, 0x8a][dice.below(4)];
    let length = dice.below(if first < 0x88 { 400 } else { 126 });
    let bit = if masked { 0x80 } else { 0 };
    out.push(first);
    if length < 126 {
        out.push(bit | length as u8);
    } else {
        out.push(bit | 126);
        out.extend((length as u16).to_be_bytes());
    }
    if masked {
        out.extend((dice.roll() as u32).to_be_bytes());
    }
    // The payload consists of letters, so unmasked text frames are valid UTF-8; a masked payload may be any
    // bytes.
    out.extend((0..length).map(|_| b'a' + dice.below(26) as u8));
}

fn head(stream: &mut TcpStream) {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while end_of_head(&head).is_none() {
        stream.read_exact(&mut byte).expect("a head");
        head.extend(byte);
    }
}
