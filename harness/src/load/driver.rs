//! Plays a load against a host over sockets.
//!
//! Each connection has a separate task, so that the cost of a frame does not grow with the number of connections. All
//! events go through one bounded queue. If the harness is slower than the host, the queue fills up, and backpressure
//! reaches the host.
//!
//! Knows: sockets, the clock. Never knows: the acts of clients.
//!
//! Start at [`play`].

use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use crate::peer::guise::ClientGuise;
use crate::run::driver::{HostControl, INTERRUPTED};
use crate::system::thread_time;
use crate::transcript::{ConnId, SeenFrame};
use crate::transport::link::{LinkEndpoint, LinkEvent, TransportLink};

use super::connections::LoadOutput;
use super::play::LoadPlay;
use super::result::{LoadFinding, LoadResult};

/// The maximum number of received events that wait to be judged. Further events wait in their sockets.
const INBOX: usize = 4_096;
/// The maximum total size of the frames of the waiting events, in bytes. A larger frame is accepted if no other event
/// waits.
const INBOX_BYTES: u32 = 16 << 20;
/// The maximum number of events that are handled before the clients act again.
const AT_ONCE: usize = 64;
/// The time limit of a closing handshake.
const CLOSING: Duration = Duration::from_millis(250);
/// The time limit for disposing of the sessions after the user has interrupted the load.
const LEAVING: Duration = Duration::from_millis(200);
/// The size of the receive buffer of a client that may stop reading, in bytes. With the default size, the operating
/// system would buffer several megabytes for the client, and the host would never notice that the client does not read.
const SMALL_BUFFER: u32 = 8 << 10;

/// A receiver of the findings and the progress of a load while it is played.
pub trait LoadObserver {
    /// Receives new findings.
    fn found(&mut self, findings: Vec<LoadFinding>);

    /// Shows the progress. The driver calls this about once per second.
    fn progress(&mut self, now: Duration, play: &mut LoadPlay);
}

/// An order to the task of a connection.
enum LinkOrder {
    Send(Arc<SeenFrame>),
    Hold(bool),
    Close(bool),
}

/// The connections of a load.
struct LoadLinks {
    orders: HashMap<ConnId, mpsc::UnboundedSender<LinkOrder>>,
    tasks: JoinSet<()>,
    inward: mpsc::Sender<WaitingEvent>,
    room: Arc<Semaphore>,
    usual: LinkEndpoint,
    small: LinkEndpoint,
}

/// An event that waits for the judge, with the permits (of a semaphore) for the size of its frame.
struct WaitingEvent {
    conn: ConnId,
    event: LinkEvent,
    _room: Option<OwnedSemaphorePermit>,
}

/// Plays a load until its end, or until `stop` changes.
pub async fn play(
    mut play: LoadPlay,
    endpoint: &LinkEndpoint,
    control: &dyn HostControl,
    mut stop: watch::Receiver<bool>,
    observer: &mut dyn LoadObserver,
) -> LoadResult {
    let began = Instant::now();
    let (inward, mut inbox) = mpsc::channel(INBOX);
    let mut links = LoadLinks {
        orders: HashMap::new(),
        tasks: JoinSet::new(),
        inward,
        room: Arc::new(Semaphore::new(INBOX_BYTES as usize)),
        usual: endpoint.clone(),
        small: endpoint.with_receive_buffer(SMALL_BUFFER),
    };
    play.begin(Duration::ZERO);
    let mut stopped = pin!(stop.changed());
    let mut interrupted = false;
    let mut alarm = pin!(sleep_until(began));
    let mut rings = Duration::ZERO;
    let mut now = Duration::ZERO;
    let mut usage = ThreadUsage::begin();
    loop {
        while let Some(output) = play.poll_output(now) {
            if !matches!(output, LoadOutput::Crash) {
                links.carry_out(output);
                continue;
            }
            // The task of each connection ends when the sender of its orders is dropped.
            links.orders.clear();
            let outcome = tokio::select! {
                outcome = control.restart(true) => outcome,
                _ = &mut stopped, if !interrupted => {
                    interrupted = true;
                    Err(INTERRUPTED.to_owned())
                }
            };
            now = began.elapsed();
            play.restarted(now, outcome);
        }
        let fresh = play.take_fresh();
        if !fresh.is_empty() {
            observer.found(fresh);
        }
        let Some(due) = play.next_timeout() else { break };
        if due < rings || rings <= now {
            alarm.as_mut().reset(began + due);
            rings = due;
        }
        tokio::select! {
            biased;
            _ = &mut stopped, if !interrupted => {
                interrupted = true;
                now = began.elapsed();
                play.stop(now, LEAVING);
            }
            () = &mut alarm => {
                now = began.elapsed();
                play.timeout(now, usage.share(now));
                while links.tasks.try_join_next().is_some() {}
                if usage.is_new_second(now) {
                    observer.progress(now, &mut play);
                }
            }
            Some(waiting) = inbox.recv() => {
                now = began.elapsed();
                links.handle(now, &mut play, waiting);
                for _ in 0..AT_ONCE {
                    let Ok(waiting) = inbox.try_recv() else { break };
                    now = began.elapsed();
                    links.handle(now, &mut play, waiting);
                }
            }
        }
    }
    drop(inbox);
    links.orders.clear();
    let _ = tokio::time::timeout(CLOSING * 2, async {
        while links.tasks.join_next().await.is_some() {}
    })
    .await;
    play.finish()
}

impl LoadLinks {
    fn carry_out(&mut self, output: LoadOutput) {
        match output {
            LoadOutput::Open { conn, small_buffer } => {
                let endpoint = if small_buffer { &self.small } else { &self.usual };
                let link = TransportLink::connect(endpoint, &ClientGuise::default());
                let (orders, inbox) = mpsc::unbounded_channel();
                self.orders.insert(conn, orders);
                let room = Arc::clone(&self.room);
                self.tasks.spawn(connection(conn, link, inbox, self.inward.clone(), room));
            }
            LoadOutput::Send { conn, seen, .. } => self.order(conn, LinkOrder::Send(seen)),
            LoadOutput::Hold { conn, held } => self.order(conn, LinkOrder::Hold(held)),
            LoadOutput::Crash => self.orders.clear(),
            LoadOutput::Close { conn, graceful } => {
                self.order(conn, LinkOrder::Close(graceful));
                self.orders.remove(&conn);
            }
        }
    }

    fn order(&mut self, conn: ConnId, order: LinkOrder) {
        if let Some(orders) = self.orders.get(&conn) {
            // If sending fails, the task has ended and has already reported the reason.
            let _ = orders.send(order);
        }
    }

    fn handle(&mut self, now: Duration, play: &mut LoadPlay, waiting: WaitingEvent) {
        let WaitingEvent { conn, event, .. } = waiting;
        if !self.orders.contains_key(&conn) {
            return;
        }
        match event {
            LinkEvent::Opened => play.opened(now, conn),
            LinkEvent::Frame(frame) => play.frame(now, conn, frame),
            LinkEvent::Refused(response) => {
                self.orders.remove(&conn);
                play.refused(now, conn, response);
            }
            LinkEvent::Ended { code, reason } => {
                self.orders.remove(&conn);
                play.closed(now, conn, code, &reason);
            }
        }
    }
}

/// Moves the frames of one connection until it ends, or until the receiver of the events is dropped.
async fn connection(
    conn: ConnId,
    mut link: TransportLink,
    mut orders: mpsc::UnboundedReceiver<LinkOrder>,
    inward: mpsc::Sender<WaitingEvent>,
    room: Arc<Semaphore>,
) {
    loop {
        tokio::select! {
            order = orders.recv() => match order {
                Some(LinkOrder::Send(seen)) => link.send(&seen.frame),
                Some(LinkOrder::Hold(held)) => link.hold(held),
                Some(LinkOrder::Close(true)) => return link.close(CLOSING).await,
                Some(LinkOrder::Close(false)) | None => return,
            },
            event = link.next() => {
                let ended = matches!(event, LinkEvent::Ended { .. } | LinkEvent::Refused(_));
                let bytes = match &event {
                    LinkEvent::Frame(frame) => frame.len(),
                    _ => 0,
                };
                let bytes = u32::try_from(bytes).unwrap_or(u32::MAX).min(INBOX_BYTES);
                let _room = Arc::clone(&room).acquire_many_owned(bytes).await.ok();
                if inward.send(WaitingEvent { conn, event, _room }).await.is_err() || ended {
                    return;
                }
            }
        }
    }
}

/// A measure of the fraction of time in which this thread was busy.
struct ThreadUsage {
    at: Duration,
    used: Duration,
    share: Option<f64>,
    second: u64,
}

impl ThreadUsage {
    fn begin() -> ThreadUsage {
        ThreadUsage { at: Duration::ZERO, used: thread_time(), share: None, second: 0 }
    }

    /// Returns the fraction of time in which the thread was busy, for about the last second; `None` before the first
    /// second is over.
    fn share(&mut self, now: Duration) -> Option<f64> {
        let passed = now.saturating_sub(self.at);
        if passed >= Duration::from_millis(500) {
            let used = thread_time();
            let share = used.saturating_sub(self.used).as_secs_f64() / passed.as_secs_f64();
            (self.at, self.used, self.share) = (now, used, Some(share.min(1.0)));
        }
        self.share
    }

    fn is_new_second(&mut self, now: Duration) -> bool {
        let second = now.as_secs();
        std::mem::replace(&mut self.second, second) != second
    }
}
