//! Moves frames between a [`ScenarioPlay`] and a host over sockets: the only asynchronous loop of a run.
//!
//! One task holds all connections of a scenario and polls them itself, so no queue delays a frame.
//! [`ScenarioPlay`] makes all decisions; this module only decides when to call [`ScenarioPlay`].

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use litemap::LiteMap;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};

use crate::peer::errand::ClientErrand;
use crate::transcript::{ConnId, HandshakeLines};
use crate::transport::below::HeardBelow;
use crate::transport::link::{LinkEndpoint, LinkEvent, TransportLink};

use super::act::padded;
use super::output::DriverOutput;
use super::play::{ScenarioPlay, ScenarioVerdict};

/// The future that a method of [`HostControl`] returns.
pub type ControlResult<'a> =
    std::pin::Pin<Box<dyn Future<Output = Result<(), String>> + Send + 'a>>;

/// Control over a host by means other than its protocol.
pub trait HostControl: Sync {
    /// Restarts the host and returns when the host accepts connections again. If `crash` is true and the harness can
    /// kill the host, the host is killed instead of being asked to end.
    fn restart(&self, crash: bool) -> ControlResult<'_>;

    /// Releases the agent behind the host from the hold with this name.
    fn release(&self, hold: &str);

    /// Runs an errand outside the conversation. The result arrives over the `below` channel of [`play`].
    fn errand(&self, _errand: ClientErrand) {}
}

/// The time limit of a closing handshake. The socket is dropped when the limit is reached.
const CLOSING: Duration = Duration::from_millis(250);
/// The time that an interrupted scenario has for its cleanup. It is short, because an interrupted run should end within
/// two seconds.
const LEAVING: Duration = Duration::from_millis(700);
/// The reason in the report of a scenario that the user interrupted before it had a verdict.
pub const INTERRUPTED: &str = "interrupted";
/// The time to wait after the end of a scenario for late events from the agent below the host.
const TRAILING: Duration = Duration::from_millis(50);

/// Plays a scenario to the end, or until `stop` changes.
pub async fn play(
    mut play: ScenarioPlay,
    endpoint: &LinkEndpoint,
    backstage: Option<&dyn HostControl>,
    mut below: Option<mpsc::Receiver<HeardBelow>>,
    mut stop: watch::Receiver<bool>,
) -> ScenarioVerdict {
    let began = Instant::now();
    let mut links = ScenarioLinks::default();
    play.begin(Duration::ZERO);
    // The latest time at which the scenario ends; `None` until the user or the time limit interrupts it.
    let mut until: Option<Duration> = None;
    let mut stopped = pin!(stop.changed());
    // The alarm is set again only if it would fire too late; if it fires too early, nothing happens.
    let mut alarm = pin!(sleep_until(began));
    let mut rings = Duration::ZERO;
    let mut now = Duration::ZERO;
    let limit = play.time_limit();
    loop {
        while let Some(output) = play.poll_output(now) {
            match output {
                DriverOutput::Open { conn, guise, .. } => {
                    links.open.insert(conn, TransportLink::connect(endpoint, &guise));
                }
                DriverOutput::Send { conn, seen } => {
                    if let Some(link) = links.open.get_mut(&conn) {
                        link.send(&seen.frame);
                    }
                }
                DriverOutput::Close { conn, graceful } => {
                    let link = links.open.remove(&conn);
                    if let (Some(link), true) = (link, graceful) {
                        // An interrupted run ends within a time limit, so it cannot wait for a process that does not
                        // exit.
                        links.closing.push(match until {
                            Some(_) => tokio::spawn(link.close_soon(CLOSING)),
                            None => tokio::spawn(link.close(CLOSING)),
                        });
                    }
                }
                DriverOutput::Flood { conn, bytes } => {
                    if let Some(link) = links.open.get_mut(&conn) {
                        link.send(&padded(bytes));
                    }
                }
                DriverOutput::Hold { conn, paused } => {
                    if let Some(link) = links.open.get_mut(&conn) {
                        link.hold(paused);
                    }
                }
                DriverOutput::Restart { crash } => {
                    links.open.clear();
                    let restarted = async {
                        match backstage {
                            Some(host) => host.restart(crash).await,
                            None => Err("there is no command that restarts it".to_owned()),
                        }
                    };
                    let outcome = tokio::select! {
                        outcome = restarted => outcome,
                        _ = &mut stopped, if until.is_none() => {
                            until = Some(began.elapsed() + LEAVING);
                            Err(INTERRUPTED.to_owned())
                        }
                    };
                    now = began.elapsed();
                    play.restarted(now, outcome);
                }
                DriverOutput::Release(hold) => {
                    if let Some(host) = backstage {
                        host.release(&hold);
                    }
                }
                // Scenarios about clients are played by `client_trial`.
                DriverOutput::ToHost { .. } | DriverOutput::Publish(_) | DriverOutput::Drive(_) => {
                }
                DriverOutput::Errand(errand) => {
                    if let Some(host) = backstage {
                        host.errand(errand);
                    }
                }
            }
        }
        let Some(due) = play.next_timeout().filter(|_| !play.is_over()) else {
            break;
        };
        if until.is_some_and(|until| until <= now) {
            play.abandon(now);
            break;
        }
        if until.is_none() && now >= limit {
            until = Some(now + LEAVING);
            play.interrupt(now, &format!("it was not over after {limit:?}"));
            continue;
        }
        let due = due.min(until.unwrap_or(limit));
        if due < rings || rings <= now {
            alarm.as_mut().reset(began + due);
            rings = due;
        }
        let event = tokio::select! {
            biased;
            // The stop signal is polled first, so that it is noticed even if a host sends messages without end.
            _ = &mut stopped, if until.is_none() => {
                now = began.elapsed();
                until = Some(now + LEAVING);
                play.interrupt(now, INTERRUPTED);
                continue;
            }
            () = &mut alarm => None,
            event = links.next() => Some(event),
            Some(heard) = hear(&mut below) => {
                now = began.elapsed();
                play.below(now, &heard.peer, heard.way, heard.seen);
                continue;
            }
        };
        // The clock is read once per event.
        now = began.elapsed();
        match event {
            Some((conn, LinkEvent::Opened)) => play.opened(now, conn),
            Some((conn, LinkEvent::Refused(response))) => {
                links.open.remove(&conn);
                play.refused(now, conn, HandshakeLines { response, ..HandshakeLines::default() });
            }
            Some((conn, LinkEvent::Frame(frame))) => play.frame(now, conn, frame),
            Some((conn, LinkEvent::Ended { code, reason })) => {
                links.open.remove(&conn);
                play.closed(now, conn, code, &reason);
            }
            None => play.timeout(now),
        }
    }
    for closing in links.closing {
        let _ = closing.await;
    }
    if below.is_some() {
        // Events from the agent below the host may not have arrived yet.
        tokio::time::sleep(TRAILING).await;
    }
    while let Some(heard) = below.as_mut().and_then(|below| below.try_recv().ok()) {
        play.below(began.elapsed(), &heard.peer, heard.way, heard.seen);
    }
    play.finish()
}

async fn hear(below: &mut Option<mpsc::Receiver<HeardBelow>>) -> Option<HeardBelow> {
    match below {
        Some(below) => below.recv().await,
        None => None,
    }
}

/// The connections of a scenario.
#[derive(Default)]
struct ScenarioLinks {
    open: LiteMap<ConnId, TransportLink>,
    closing: Vec<tokio::task::JoinHandle<()>>,
    /// The connection of the last event. The next poll starts with the connection after this one, so that a busy
    /// connection cannot keep the others from being read.
    last: ConnId,
}

impl ScenarioLinks {
    async fn next(&mut self) -> (ConnId, LinkEvent) {
        poll_fn(|cx| {
            let after = ConnId(self.last.0.wrapping_add(1));
            let mut poll = |conn: ConnId, link: &mut TransportLink| match link.poll(cx) {
                Poll::Ready(event) => Some((conn, event)),
                Poll::Pending => None,
            };
            let (Ok(first) | Err(first)) = self.open.find_index(&after);
            let ready = self.open.iter_mut().skip(first).find_map(|(conn, link)| poll(*conn, link));
            let ready = ready.or_else(|| {
                self.open.iter_mut().take(first).find_map(|(conn, link)| poll(*conn, link))
            });
            match ready {
                Some((conn, event)) => {
                    self.last = conn;
                    Poll::Ready((conn, event))
                }
                None => Poll::Pending,
            }
        })
        .await
    }
}
