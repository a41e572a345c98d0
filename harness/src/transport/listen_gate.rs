//! The address at which clients without a driver find the scenarios: one path for each scenario.
//!
//! The gate reads the path of a request and forwards the connection, byte by byte, to the port of its scenario. A
//! scenario begins with the first connection to its path, so a client may take any time between two scenarios, and may
//! play them in any order.
//!
//! Knows: HTTP requests, ports. Never knows: messages, scenarios.
//!
//! Start at [`ListenGate::bind`].

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::AbortHandle;
use tokio::time::timeout;

use super::request_head::{HEAD_TIMEOUT, read_head};

/// The maximum number of open connections.
const CONNECTIONS: usize = 1_000;
/// The prefix of the URL path of a scenario: the number of the scenario follows.
const CASE: &str = "/case/";
/// The URL path at which a client finds the list of scenarios.
const LIST: &str = "/cases";

/// A scenario behind the gate.
#[derive(Debug)]
struct GatedCase {
    id: String,
    /// The port at which the scenario is played; `None` once it is over.
    port: Option<SocketAddr>,
    /// Whether a client has connected to the path of the scenario.
    visited: watch::Sender<bool>,
}

/// An open address with one path for each scenario.
#[derive(Debug)]
pub struct ListenGate {
    address: SocketAddr,
    cases: Arc<Mutex<Vec<GatedCase>>>,
    accepting: AbortHandle,
}

impl Drop for ListenGate {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl ListenGate {
    /// Opens an address.
    ///
    /// # Errors
    /// Returns an error if the address cannot be opened.
    pub async fn bind(address: SocketAddr) -> std::io::Result<ListenGate> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let cases: Arc<Mutex<Vec<GatedCase>>> = Arc::default();
        let task = tokio::spawn(accept(listener, Arc::clone(&cases)));
        Ok(ListenGate { address, cases, accepting: task.abort_handle() })
    }

    /// Adds a scenario under the next path: `/case/0`, `/case/1` and so on.
    pub fn add(&self, id: &str, port: SocketAddr) -> GatedPath<'_> {
        let mut cases = lock(&self.cases);
        cases.push(GatedCase {
            id: id.to_owned(),
            port: Some(port),
            visited: watch::Sender::new(false),
        });
        GatedPath { gate: self, case: cases.len() - 1 }
    }

    /// Returns the URL of the list of scenarios.
    pub fn list(&self) -> String {
        format!("http://{}{LIST}", self.address)
    }
}

/// The URL path of a scenario, at which a client can connect. When this value is dropped, later connections are
/// answered with 410 Gone.
#[derive(Debug)]
pub struct GatedPath<'a> {
    gate: &'a ListenGate,
    case: usize,
}

impl GatedPath<'_> {
    /// Waits until a client has connected to the path.
    pub async fn visited(&self) {
        let visited = lock(&self.gate.cases).get(self.case).map(|case| case.visited.subscribe());
        if let Some(mut visited) = visited {
            let _ = visited.wait_for(|visited| *visited).await;
        }
    }

    /// Returns the gate.
    pub fn gate(&self) -> &ListenGate {
        self.gate
    }

    /// Returns the URL of the path.
    pub fn url(&self) -> String {
        self.url_of(self.case)
    }

    /// Returns the URL of the next path.
    pub fn next_url(&self) -> String {
        self.url_of(self.case + 1)
    }

    fn url_of(&self, case: usize) -> String {
        format!("ws://{}{CASE}{case}", self.gate.address)
    }
}

impl Drop for GatedPath<'_> {
    fn drop(&mut self) {
        if let Some(case) = lock(&self.gate.cases).get_mut(self.case) {
            case.port = None;
        }
    }
}

fn lock(cases: &Mutex<Vec<GatedCase>>) -> std::sync::MutexGuard<'_, Vec<GatedCase>> {
    cases.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn accept(listener: TcpListener, cases: Arc<Mutex<Vec<GatedCase>>>) {
    let open = Arc::new(Semaphore::new(CONNECTIONS));
    let mut tasks = tokio::task::JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    // A connection above the maximum is closed at once.
                    let Ok(permit) = Arc::clone(&open).try_acquire_owned() else { continue };
                    let cases = Arc::clone(&cases);
                    tasks.spawn(async move {
                        let _permit = permit;
                        let _ = forward(stream, &cases).await;
                    });
                }
                // The address may accept connections again after a pause, for example if the process had no free file
                // descriptor.
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            },
            Some(_) = tasks.join_next() => {}
        }
    }
}

/// Forwards a connection to the port of its scenario, or answers the request.
async fn forward(mut client: TcpStream, cases: &Mutex<Vec<GatedCase>>) -> std::io::Result<()> {
    let _ = client.set_nodelay(true);
    let head = timeout(HEAD_TIMEOUT, read_head(&mut client)).await.ok().flatten();
    let Some(head) = head else { return Ok(()) };
    let port = match destination(&head.text(), cases) {
        Ok(port) => port,
        Err(answer) => {
            client.write_all(answer.as_bytes()).await?;
            return client.shutdown().await;
        }
    };
    let mut host = TcpStream::connect(port).await?;
    let _ = host.set_nodelay(true);
    host.write_all(&head.bytes).await?;
    tokio::io::copy_bidirectional(&mut client, &mut host).await.map(drop)
}

/// Returns the port for a request. An `Err` is the HTTP response to a request for anything else.
fn destination(head: &str, cases: &Mutex<Vec<GatedCase>>) -> Result<SocketAddr, String> {
    let line = head.lines().next().unwrap_or_default();
    let path = line.split(' ').nth(1).unwrap_or_default().split('?').next().unwrap_or_default();
    let cases = lock(cases);
    if path == LIST {
        return Err(response("200 OK", &listed(&cases)));
    }
    let number = path.strip_prefix(CASE).and_then(|number| number.parse::<usize>().ok());
    match number.and_then(|number| cases.get(number)) {
        Some(GatedCase { port: Some(port), visited, .. }) => {
            visited.send_replace(true);
            Ok(*port)
        }
        Some(_) => Err(response("410 Gone", &json!({"error": "this scenario is over"}))),
        None => {
            let error = format!("expected `{LIST}` or the path of a scenario, such as `{CASE}1`");
            Err(response("404 Not Found", &json!({"error": error})))
        }
    }
}

/// Returns the list of scenarios as JSON.
fn listed(cases: &[GatedCase]) -> Value {
    let row = |(number, case): (usize, &GatedCase)| {
        let state = match (case.port, *case.visited.borrow()) {
            (None, _) => "over",
            (Some(_), true) => "playing",
            (Some(_), false) => "waiting",
        };
        json!({"case": number, "id": case.id, "path": format!("{CASE}{number}"), "state": state})
    };
    cases.iter().enumerate().map(row).collect()
}

fn response(status: &str, body: &Value) -> String {
    let body = format!("{body:#}\n");
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nAccess-Control-Allow-Origin: *\r\n\
         Connection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gated(port: Option<u16>) -> GatedCase {
        GatedCase {
            id: "a/b".to_owned(),
            port: port.map(|port| ([127, 0, 0, 1], port).into()),
            visited: watch::Sender::new(false),
        }
    }

    #[test]
    fn a_request_goes_to_the_scenario_of_its_path() {
        let cases = Mutex::new(vec![gated(None), gated(Some(7))]);
        let asked = |path: &str| {
            let head = format!("GET {path} HTTP/1.1\r\nHost: h\r\n\r\n");
            destination(&head, &cases)
                .map(|port| port.port())
                .map_err(|answer| answer.split(' ').nth(1).map(str::to_owned).unwrap_or_default())
        };
        let refused = |status: &str| Err(status.to_owned());
        assert_eq!(asked("/cases"), refused("200"));
        assert!(!*lock(&cases)[1].visited.borrow());
        assert_eq!(asked("/case/1?x=1"), Ok(7));
        assert!(*lock(&cases)[1].visited.borrow());
        assert_eq!(asked("/case/0"), refused("410"));
        for path in ["/case/2", "/case/", "/case/-1", "/", "", "/case/99999999999999999999"] {
            assert_eq!(asked(path), refused("404"), "{path}");
        }
        assert!(destination("\u{fffd}\r\n", &cases).is_err());
    }
}
