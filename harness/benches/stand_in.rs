//! Measures the model stand-in under load: requests per CPU second and the time to the first event, compared with a
//! minimal server that uses the same HTTP library, answers the same number of bytes, and does not read the request.
//!
//! Client and server share one core; both servers have the same client.

#![expect(clippy::print_stdout, reason = "a bench prints")]

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ahp_harness::agent::model::ModelFlavor;
use ahp_harness::transport::http::ServedStandIn;
use ahp_harness::transport::http_server::serve;
use ahp_harness::wire::json::json;
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

#[expect(dead_code, reason = "each bench uses its part")]
mod measure;

use measure::{asked_for, cpu, median, pin, runtime};

/// The numbers of requests per round and of rounds.
const REQUESTS: usize = 2_000;
const ROUNDS: usize = 9;
/// The end of a chunked answer.
const END: &[u8] = b"0\r\n\r\n";

fn main() {
    if !measure::wanted() {
        return;
    }
    pin();
    let runtime = runtime();
    let answer = runtime.block_on(answer());
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        if asked_for("ours") {
            ours.push(runtime.block_on(stand_in()));
        }
        if asked_for("bare") {
            bare.push(runtime.block_on(server(answer.clone())));
        }
    }
    let column = |rounds: &[(f64, f64)], which: fn(&(f64, f64)) -> f64| {
        median(rounds.iter().map(which).collect())
    };
    for (name, rounds) in [("stand-in", &ours), ("bare", &bare)] {
        let (took, first) = (column(rounds, |it| it.0), column(rounds, |it| it.1));
        println!(
            "{name:>9}: {took:.1} us of CPU a request, {:.0} a CPU second, {first:.0} us to the \
             first event",
            1e6 / took
        );
    }
    println!("answers of {} bytes", answer.len());
}

/// Returns a scripted request like those of an agent, with a tool and additional text.
fn request() -> Vec<u8> {
    let context = "Words that an agent puts around what its user says. ".repeat(40);
    let prompt = format!(
        "<context>{context}</context>\n\nahp-script: 1\nsay \"One, \" \"two.\"\ntool shell ls\n"
    );
    let schema = json!({"type": "object", "properties": {"command": {"type": "string"}}});
    let tool = json!({"name": "bash", "input_schema": (schema)});
    let message = json!({"role": "user", "content": (prompt)});
    let body = json!({"stream": true, "messages": [(message)], "tools": [(tool)]}).to_text();
    let length = body.len();
    format!("POST /v1/messages HTTP/1.1\r\nHost: us\r\nContent-Length: {length}\r\n\r\n{body}")
        .into_bytes()
}

/// Starts a stand-in on a free port.
async fn stand() -> (SocketAddr, tokio::task::JoinHandle<()>) {
    let (listener, address) = listener().await;
    let flavor = ModelFlavor::named("plain").expect("a flavor");
    let stand = ServedStandIn::new(flavor, format!("http://{address}"), Arc::default(), None);
    (address, tokio::spawn(serve(listener, stand)))
}

async fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
    let address = listener.local_addr().expect("an address");
    (listener, address)
}

/// Returns the answer of the stand-in, so that the bare server can answer the same number of bytes.
async fn answer() -> Bytes {
    let (address, serving) = stand().await;
    let mut client = BenchClient::connect(address).await;
    client.ask(&request()).await;
    serving.abort();
    Bytes::from(client.answer)
}

/// Returns the CPU time per request and the time to the first event, both in microseconds.
async fn stand_in() -> (f64, f64) {
    let (address, serving) = stand().await;
    let figures = load(address).await;
    serving.abort();
    figures
}

async fn server(answer: Bytes) -> (f64, f64) {
    let (listener, address) = listener().await;
    let serving = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.expect("a connection");
        stream.set_nodelay(true).expect("no delay");
        let service = service_fn(move |_| {
            let body = Full::new(answer.clone());
            async move { Ok::<_, Infallible>(hyper::Response::new(body)) }
        });
        let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
    });
    let figures = load(address).await;
    serving.abort();
    figures
}

async fn load(address: SocketAddr) -> (f64, f64) {
    let request = request();
    let mut client = BenchClient::connect(address).await;
    client.ask(&request).await;
    let mut first = Vec::new();
    let began = cpu();
    for _ in 0..REQUESTS {
        first.push(client.ask(&request).await.as_secs_f64() * 1e6);
    }
    let took = cpu() - began;
    (took.as_secs_f64() * 1e6 / REQUESTS as f64, median(first))
}

/// A minimal client that only searches for the end of an answer.
struct BenchClient {
    stream: TcpStream,
    answer: Vec<u8>,
}

impl BenchClient {
    async fn connect(address: SocketAddr) -> BenchClient {
        let stream = TcpStream::connect(address).await.expect("a connection");
        stream.set_nodelay(true).expect("no delay");
        BenchClient { stream, answer: Vec::new() }
    }

    /// Sends a request, reads the whole answer and returns the time until its first bytes.
    async fn ask(&mut self, request: &[u8]) -> Duration {
        self.answer.clear();
        let began = Instant::now();
        self.stream.write_all(request).await.expect("sent");
        let mut first = None;
        while !self.is_whole() {
            let count = self.stream.read_buf(&mut self.answer).await.expect("an answer");
            first.get_or_insert(began.elapsed());
            assert!(count > 0, "the server went away");
        }
        first.unwrap_or_default()
    }

    fn is_whole(&self) -> bool {
        if self.answer.ends_with(END) {
            return true;
        }
        let text = String::from_utf8_lossy(&self.answer);
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            return false;
        };
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
        });
        length.is_some_and(|length: usize| body.len() >= length)
    }
}
