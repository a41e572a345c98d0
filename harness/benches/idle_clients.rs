//! Measures the memory of a thousand idle clients. Each client is connected and subscribed, and has read one answer.
//!
//! The host is a separate process of this binary, so that its cost is not counted.

#![expect(clippy::print_stdout, reason = "a bench prints")]

use std::future::poll_fn;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use ahp_harness::peer::client::ClientEngine;
use ahp_harness::peer::guise::ClientGuise;
use ahp_harness::transport::websocket::{LinkEvent, WebSocketEndpoint, WebSocketLink};
use ahp_harness::wire::frame::Frame;
use ahp_harness::wire::json::json;
use ahp_harness::wire::message::{DecodedFrame, Message, decode};

#[expect(dead_code, reason = "each bench uses its part")]
mod measure;

use measure::{host, mib, resident, runtime};

const CLIENTS: usize = 1_000;
/// The argument that makes the process the host.
const HOST: &str = "--host";

fn main() {
    if !measure::wanted() {
        return;
    }
    if std::env::args().any(|argument| argument == HOST) {
        runtime().block_on(serve());
        return;
    }
    let this = std::env::current_exe().expect("this binary");
    let mut child = Command::new(this)
        .args(["--bench", HOST])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the host");
    let mut url = String::new();
    let output = child.stdout.take().expect("its output");
    BufReader::new(output).read_line(&mut url).expect("its URL");
    runtime().block_on(connect(url.trim()));
    drop(child.stdin.take());
    child.wait().expect("the host ends");
}

/// Serves until the bench closes standard input.
async fn serve() {
    let (listener, url) = host::listener();
    println!("{url}");
    std::thread::spawn(|| {
        let _ = std::io::stdin().read_line(&mut String::new());
        std::process::exit(0);
    });
    loop {
        let socket = host::accepted(&listener).await;
        tokio::spawn(host::serve(socket, 0));
    }
}

async fn connect(url: &str) {
    let endpoint = WebSocketEndpoint { url: url.to_owned(), ..WebSocketEndpoint::default() };
    let before = resident();
    let mut clients = Vec::new();
    for number in 0..CLIENTS {
        let mut engine = ClientEngine::new(format!("client-{number}"), false);
        let mut link = WebSocketLink::connect(&endpoint, &ClientGuise::default());
        assert!(matches!(next(&mut link).await, LinkEvent::Opened));
        let hello = json!({"protocolVersions": ["1.0.0"], "clientId": engine.client_id});
        let (_, hello) = engine.request("initialize", hello);
        ask(&mut link, &mut engine, &hello).await;
        let (_, subscribe) = engine.request("subscribe", json!({"channel": host::CHAT}));
        ask(&mut link, &mut engine, &subscribe).await;
        assert!(engine.is_subscribed(host::CHAT));
        clients.push((link, engine));
    }
    let grown = resident() - before;
    println!("idle_clients: {CLIENTS} clients cost {:.1} MiB (target: below 16)", mib(grown));
    println!("one client:   {:.1} KiB", mib(grown) * 1024.0 / CLIENTS as f64);
    drop(clients);
}

/// Sends a request and waits for the answer.
async fn ask(link: &mut WebSocketLink, engine: &mut ClientEngine, request: &Message) {
    link.send(&request.frame());
    let LinkEvent::Frame(frame) = next(link).await else {
        panic!("expected an answer");
    };
    let DecodedFrame::Message(answer) = decode(&frame) else {
        panic!("expected a message, found {}", Frame::display(&frame));
    };
    engine.handle(&answer);
}

async fn next(link: &mut WebSocketLink) -> LinkEvent {
    poll_fn(|cx| link.poll(cx)).await
}
