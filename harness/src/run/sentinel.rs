//! The sentinel: an idle connection that stays open during a run. If the host ends this connection, the host has
//! stopped or has closed all its connections.
//!
//! Knows: sockets. Never knows: scenarios.
//!
//! Start at [`SentinelConnection::open`].

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::timeout;

use crate::edge::VersionEdge;
use crate::peer::guise::ClientGuise;
use crate::transcript::SeenFrame;
use crate::transport::link::{LinkEndpoint, LinkEvent, TransportLink};
use crate::wire::channel::ROOT;
use crate::wire::frame::Frame;
use crate::wire::json::{Value, json};
use crate::wire::message::Message;
use crate::wire::version::Version;

/// The client id of a sentinel.
const SENTINEL: &str = "ahp-harness-sentinel";
/// The client id of the connections that only check that the host still answers.
const VISITOR: &str = "ahp-harness-visitor";

/// A connection that completes the handshake and then stays idle.
#[derive(Debug)]
pub struct SentinelConnection {
    stands: watch::Receiver<bool>,
    cut: Arc<AtomicBool>,
    task: AbortHandle,
}

impl SentinelConnection {
    /// Connects in the background and offers these versions. The caller has to run inside a tokio runtime.
    pub fn open(endpoint: LinkEndpoint, offers: &[Version]) -> SentinelConnection {
        let cut = Arc::new(AtomicBool::new(false));
        let (greeted, stands) = watch::channel(false);
        let (flag, greeting) = (Arc::clone(&cut), greeting(offers, SENTINEL));
        let task = tokio::spawn(async move {
            let mut link = TransportLink::connect(&endpoint, &ClientGuise::default());
            loop {
                match link.next().await {
                    LinkEvent::Opened => link.send(&greeting),
                    LinkEvent::Frame(_) => drop(greeted.send_replace(true)),
                    LinkEvent::Refused(_) => return,
                    LinkEvent::Ended { .. } => {
                        // If the handshake was not answered, the end of the connection does not show that the host has
                        // stopped.
                        flag.store(*greeted.borrow(), Ordering::Relaxed);
                        return;
                    }
                }
            }
        });
        SentinelConnection { stands, cut, task: task.abort_handle() }
    }

    /// Waits until the host has answered the handshake, or until `limit` has passed.
    pub async fn ready(&self, limit: Duration) {
        let mut stands = self.stands.clone();
        let _ = timeout(limit, stands.wait_for(|stands| *stands)).await;
    }

    /// Returns whether the host closed the connection after the handshake.
    pub fn is_cut(&self) -> bool {
        self.cut.load(Ordering::Relaxed)
    }
}

impl Drop for SentinelConnection {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The requests that a host has to answer to count as running.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum HostProbe {
    /// `initialize`.
    #[default]
    Handshake,
    /// `initialize` and then `listSessions`. Some hosts still complete handshakes when their agents hang.
    SessionList,
}

/// Checks that the host answers in any way: with a result, an error, an HTTP refusal or a closing handshake.
///
/// # Errors
/// Returns an error with the reason if the host did not answer within `limit`.
pub async fn answers(
    endpoint: &LinkEndpoint,
    offers: &[Version],
    probe: HostProbe,
    limit: Duration,
) -> Result<(), String> {
    let mut link = TransportLink::connect(endpoint, &ClientGuise::default());
    let greeting = greeting(offers, VISITOR);
    let list = request(offers, LIST_ID, "listSessions", json!({"channel": ROOT}));
    let mut open = "initialize";
    let answer = async {
        loop {
            match link.next().await {
                LinkEvent::Opened => link.send(&greeting),
                LinkEvent::Frame(frame) if probe == HostProbe::SessionList => {
                    let seen = SeenFrame::new(frame);
                    let Some(message) = seen.message() else { continue };
                    let id = message.id().and_then(Value::as_u64);
                    if id == Some(LIST_ID) || message.error_code().is_some() {
                        return Ok(());
                    }
                    if id == Some(GREETING_ID) {
                        open = "listSessions";
                        link.send(&list);
                    }
                }
                LinkEvent::Frame(_) | LinkEvent::Refused(_) => return Ok(()),
                LinkEvent::Ended { code: Some(_), .. } => return Ok(()),
                LinkEvent::Ended { code: None, reason } => return Err(reason),
            }
        }
    };
    let answer = timeout(limit, answer).await;
    link.close(Duration::from_millis(100)).await;
    answer.unwrap_or_else(|_| Err(format!("it does not answer `{open}` within {limit:?}")))
}

/// The ids of the requests in [`answers`], which checks whether the host still answers.
const GREETING_ID: u64 = 1;
const LIST_ID: u64 = 2;

/// Returns an `initialize` request. A host may close an older connection of the same client, so each connection
/// has a separate client id.
fn greeting(offers: &[Version], client: &str) -> Frame {
    let params = json!({"channel": ROOT, "protocolVersions": offers, "clientId": client});
    request(offers, GREETING_ID, "initialize", params)
}

fn request(offers: &[Version], id: u64, method: &str, params: Value) -> Frame {
    VersionEdge::offering(offers, "").lower_message(Message::request(id, method, params)).frame()
}
