//! Measures the time from the dispatch of an action to its arrival at the subscribers, for the whole load and for
//! intervals.
//!
//! The delay of an action is measured for the clients that are subscribed when the action is dispatched. Clients that
//! have since left or stopped reading are not included.
//!
//! Knows: times, numbers of clients. Never knows: messages.
//!
//! Start at [`DelayMeter`].

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use hdrhistogram::Histogram;
use serde::Serialize;

/// The precision with which delays are stored, in significant decimal digits.
const DIGITS: u8 = 3;
/// The number of intervals of a load. The last interval may be shorter.
const INTERVALS: u32 = 120;
/// The shortest length of an interval.
const SHORTEST: Duration = Duration::from_millis(500);

/// Identifies an action that a client of the load has dispatched.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct DispatchKey {
    /// The index of the client.
    pub client: usize,
    /// The number of the client's identity. The number grows by one each time the client returns as another client.
    pub identity: u32,
    /// The `clientSeq` of the dispatch.
    pub seq: u64,
}

/// The delays of many actions, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct DelaySummary {
    /// The number of actions.
    pub count: u64,
    /// The median of the delays.
    pub p50_us: u64,
    /// The 99th percentile of the delays.
    pub p99_us: u64,
    /// The longest delay.
    pub max_us: u64,
}

/// The figures of one interval of a load.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LoadInterval {
    /// The end of the interval, in seconds since the load began.
    pub until_s: f64,
    /// The length of the interval, in seconds.
    pub length_s: f64,
    /// The number of dispatched actions.
    pub dispatched: u64,
    /// The number of frames that the clients received.
    pub frames: u64,
    /// The total size of these frames, in bytes.
    pub bytes: u64,
    /// The number of clients that could act at the end of the interval.
    pub clients: usize,
    /// The delays from a dispatch to its arrival at the slowest subscriber, for the actions that arrived in the
    /// interval.
    pub slowest: DelaySummary,
    /// The fraction of the interval in which the harness was busy, from 0 to 1; `None` if it was not measured.
    pub busy: Option<f64>,
}

/// The delays of a whole load.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DelayReport {
    /// The delays from a dispatch to the echo or rejection at the dispatching client.
    pub own: DelaySummary,
    /// The delays from a dispatch to the slowest subscriber.
    pub slowest: DelaySummary,
    /// The delays to the slowest subscriber in the first quarter of the load.
    pub first_quarter: DelaySummary,
    /// The delays to the slowest subscriber in the last quarter of the load.
    pub last_quarter: DelaySummary,
    /// The number of actions that did not reach every subscriber within the limit.
    pub late: u64,
    /// The intervals, in order.
    pub intervals: Vec<LoadInterval>,
}

/// An action that has not reached all of its subscribers.
struct OpenDispatch {
    at: Duration,
    /// The clients that have not received the action.
    waiting: Vec<usize>,
    /// The largest delay of the action at any subscriber so far.
    slowest: Duration,
    reached: bool,
}

/// The meter of the delays of a load.
pub struct DelayMeter {
    time: Duration,
    limit: Duration,
    step: Duration,
    open: HashMap<DispatchKey, OpenDispatch>,
    /// The open dispatches in the order of their times, to find those that are late.
    order: VecDeque<(Duration, DispatchKey)>,
    own: Histogram<u64>,
    slowest: Histogram<u64>,
    first: Histogram<u64>,
    last: Histogram<u64>,
    current: Histogram<u64>,
    interval: LoadInterval,
    interval_ends: Duration,
    intervals: Vec<LoadInterval>,
    late: u64,
}

fn histogram() -> Histogram<u64> {
    // A histogram without an upper bound grows when necessary, and accepts every value.
    Histogram::new(DIGITS).expect("the library accepts up to five digits")
}

fn put(histogram: &mut Histogram<u64>, delay: Duration) {
    // A histogram that grows accepts every value.
    let _ = histogram.record(u64::try_from(delay.as_micros()).unwrap_or(u64::MAX >> 1));
}

fn summary(histogram: &Histogram<u64>) -> DelaySummary {
    if histogram.is_empty() {
        return DelaySummary::default();
    }
    DelaySummary {
        count: histogram.len(),
        p50_us: histogram.value_at_quantile(0.5),
        p99_us: histogram.value_at_quantile(0.99),
        max_us: histogram.max(),
    }
}

impl DelayMeter {
    /// Creates a meter of delays for a load of this duration. An action that has not reached every subscriber within
    /// `limit` counts as late.
    pub fn new(time: Duration, limit: Duration) -> DelayMeter {
        let step = (time / INTERVALS).max(SHORTEST);
        DelayMeter {
            time,
            limit,
            step,
            open: HashMap::new(),
            order: VecDeque::new(),
            own: histogram(),
            slowest: histogram(),
            first: histogram(),
            last: histogram(),
            current: histogram(),
            interval: LoadInterval::default(),
            interval_ends: step,
            intervals: Vec::new(),
            late: 0,
        }
    }

    /// Records a dispatch, and the subscribers that have to receive the action.
    pub fn dispatched(&mut self, now: Duration, key: DispatchKey, subscribers: Vec<usize>) {
        self.interval.dispatched += 1;
        let open =
            OpenDispatch { at: now, waiting: subscribers, slowest: Duration::ZERO, reached: false };
        self.open.insert(key, open);
        self.order.push_back((now, key));
    }

    /// Records that a client received the action, or its rejection.
    pub fn received(&mut self, now: Duration, key: DispatchKey, by: usize, rejected: bool) {
        let Some(open) = self.open.get_mut(&key) else { return };
        let delay = now.saturating_sub(open.at);
        if by == key.client {
            put(&mut self.own, delay);
        }
        if rejected {
            self.open.remove(&key);
            return;
        }
        let Some(place) = open.waiting.iter().position(|it| *it == by) else { return };
        open.waiting.swap_remove(place);
        open.slowest = open.slowest.max(delay);
        open.reached = true;
        if open.waiting.is_empty() {
            self.arrived(key);
        }
    }

    /// Records that a client has left, has stopped reading, or has unsubscribed.
    pub fn left(&mut self, client: usize) {
        let mut done = Vec::new();
        for (key, open) in &mut self.open {
            if let Some(place) = open.waiting.iter().position(|it| *it == client) {
                open.waiting.swap_remove(place);
                if open.waiting.is_empty() {
                    done.push(*key);
                }
            }
        }
        done.into_iter().for_each(|key| self.arrived(key));
    }

    /// Forgets the actions that have not arrived. This is called when the host is restarted and its connections are
    /// lost.
    pub fn forget_open(&mut self) {
        self.open.clear();
        self.order.clear();
    }

    /// Counts a frame that a client received.
    pub fn frame(&mut self, bytes: usize) {
        self.interval.frames += 1;
        self.interval.bytes += bytes as u64;
    }

    /// Returns the number of actions that have not reached all of their subscribers.
    pub fn open(&self) -> usize {
        self.open.len()
    }

    /// Closes the intervals that have ended. `clients` is the number of clients that can act, and `busy` is the
    /// fraction of the recent time in which the harness was busy.
    pub fn advance(&mut self, now: Duration, clients: usize, busy: Option<f64>) {
        while let Some((at, key)) = self.order.front().copied() {
            let settled = !self.open.contains_key(&key);
            let late = now.saturating_sub(at) > self.limit;
            if !settled && !late {
                break;
            }
            self.order.pop_front();
            if !settled {
                self.open.remove(&key);
                self.late += 1;
            }
        }
        if now >= self.interval_ends {
            self.close_interval(now, clients, busy);
        }
    }

    /// Returns the time at which the current interval ends.
    pub fn interval_ends(&self) -> Duration {
        self.interval_ends
    }

    /// Returns the figures so far.
    pub fn report(&self) -> DelayReport {
        DelayReport {
            own: summary(&self.own),
            slowest: summary(&self.slowest),
            first_quarter: summary(&self.first),
            last_quarter: summary(&self.last),
            late: self.late,
            intervals: self.intervals.clone(),
        }
    }

    fn close_interval(&mut self, now: Duration, clients: usize, busy: Option<f64>) {
        let begins = self.interval_ends.saturating_sub(self.step);
        let mut interval = std::mem::take(&mut self.interval);
        interval.until_s = now.as_secs_f64();
        interval.length_s = now.saturating_sub(begins).as_secs_f64();
        interval.clients = clients;
        interval.busy = busy;
        interval.slowest = summary(&self.current);
        self.current.reset();
        self.intervals.push(interval);
        self.interval_ends = now + self.step;
    }

    fn arrived(&mut self, key: DispatchKey) {
        let Some(open) = self.open.remove(&key) else { return };
        if !open.reached {
            return;
        }
        put(&mut self.slowest, open.slowest);
        put(&mut self.current, open.slowest);
        if open.at < self.time / 4 {
            put(&mut self.first, open.slowest);
        } else if open.at >= self.time * 3 / 4 {
            put(&mut self.last, open.slowest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn key(seq: u64) -> DispatchKey {
        DispatchKey { client: 0, identity: 0, seq }
    }

    fn ms(number: u64) -> Duration {
        Duration::from_millis(number)
    }

    #[test]
    fn measures_until_the_slowest_subscriber() {
        let mut meter = DelayMeter::new(ms(60_000), ms(10_000));
        meter.dispatched(ms(10), key(1), vec![0, 1, 2]);
        meter.received(ms(12), key(1), 0, false);
        meter.received(ms(13), key(1), 1, false);
        assert_eq!(meter.report().slowest.count, 0);
        meter.received(ms(110), key(1), 2, false);
        let report = meter.report();
        assert_eq!((report.slowest.count, report.own.count), (1, 1));
        assert!((99_000..=101_000).contains(&report.slowest.max_us), "{report:?}");
        assert_eq!(meter.open(), 0);
    }

    #[test]
    fn does_not_wait_for_a_client_that_left_nor_for_a_rejected_action() {
        let mut meter = DelayMeter::new(ms(60_000), ms(10_000));
        meter.dispatched(ms(10), key(1), vec![0, 1]);
        meter.received(ms(12), key(1), 0, false);
        meter.left(1);
        assert_eq!((meter.open(), meter.report().slowest.count), (0, 1));
        meter.dispatched(ms(20), key(2), vec![0, 1]);
        meter.received(ms(21), key(2), 0, true);
        assert_eq!((meter.open(), meter.report().slowest.count), (0, 1));
    }

    #[test]
    fn counts_what_never_arrives_as_late() {
        let mut meter = DelayMeter::new(ms(60_000), ms(1_000));
        meter.dispatched(ms(10), key(1), vec![1]);
        meter.advance(ms(900), 1, None);
        assert_eq!((meter.open(), meter.report().late), (1, 0));
        meter.advance(ms(1_100), 1, None);
        assert_eq!((meter.open(), meter.report().late), (0, 1));
        assert_eq!(meter.report().intervals.len(), 1);
    }
}
