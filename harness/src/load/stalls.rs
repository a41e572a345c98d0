//! Detects a host on which one slow reader delays others: while a client does not read, the other clients of its
//! session receive nothing.
//!
//! The specification does not mention this, but the rule is essential. A client that stops reading (a sleeping laptop,
//! a half-open connection) is normal when many clients share a session. If the delivery to all other clients waits for
//! this client, a single client can stop every session, and clients get no echoes of their actions.
//!
//! A finding needs delayed actions in at least two reading pauses and in more than half of all pauses, because a host
//! may have been busy by chance.
//!
//! Knows: times, numbers of clients, lines. Never knows: messages.
//!
//! Start at [`StallWatch`].

use std::time::Duration;

use crate::verdict::{Finding, FindingSubject, Weight};

use super::delay::DispatchKey;

/// The id of the rule that slow readers must not delay others.
pub const RULE: &str = "load.readers-independent";
/// The statement of the rule, and the reason why it is essential.
pub const DOC: &str = "While one client does not read, the others in its session still get its actions. The \
    specification does not mention this, but a client that stops reading is normal when many clients share a session, \
    and if the delivery to the others waits for it, each client can stop every session.";
/// The duration of a reading pause.
pub const HELD: Duration = Duration::from_secs(3);
/// The minimum time between a dispatch and the end of the pause, so that the dispatch counts.
const LEAST_WAIT: Duration = Duration::from_secs(1);
/// The time after the end of a pause within which delayed actions have to arrive. If an action arrives later, its delay
/// has another cause.
const GRACE: Duration = Duration::from_secs(2);
/// The minimum number of delayed actions that a pause needs to be counted as a delay of other clients.
const LEAST_STALLED: usize = 3;
/// The minimum number of pauses with delayed actions for a finding.
const LEAST_TIMES: usize = 2;
/// The maximum number of dispatches that are tracked during one pause.
const MAX_WATCHED: usize = 500;

/// A dispatch that was sent while a client did not read.
struct WatchedDispatch {
    key: DispatchKey,
    at: Duration,
    line: u64,
    /// The time and the line of the first delivery to a client that reads.
    first: Option<(Duration, u64)>,
}

/// A pause in which one client did not read.
struct ReadingPause {
    client: usize,
    session: usize,
    released: Option<Duration>,
    watched: Vec<WatchedDispatch>,
}

/// The pauses of all clients, and the results of judging them.
#[derive(Default)]
pub struct StallWatch {
    pauses: Vec<ReadingPause>,
    /// The number of pauses that were long enough to judge.
    judged: usize,
    /// For each pause that delayed the other clients: the number of delayed actions, and the lines that prove the
    /// delay.
    stalls: Vec<(usize, Vec<u64>)>,
    reported: bool,
}

impl StallWatch {
    /// Returns whether a client of this session does not read, or has just read again.
    pub fn watches(&self, session: usize) -> bool {
        self.pauses.iter().any(|it| it.session == session)
    }

    /// Records that a client stops reading.
    pub fn held(&mut self, client: usize, session: usize) {
        self.pauses.push(ReadingPause { client, session, released: None, watched: Vec::new() });
    }

    /// Records that a client reads again.
    pub fn released(&mut self, now: Duration, client: usize) {
        for pause in self.pauses.iter_mut().filter(|it| it.client == client) {
            pause.released.get_or_insert(now);
        }
    }

    /// Removes the pauses of a session, or of one client, that cannot be judged because the session or the connection
    /// has ended.
    pub fn void(&mut self, client: Option<usize>, session: usize) {
        let is_void = |it: &ReadingPause| {
            it.session == session && client.is_none_or(|client| it.client == client)
        };
        self.pauses.retain(|it| !is_void(it));
    }

    /// Forgets all pauses that are not over.
    pub fn void_all(&mut self) {
        self.pauses.clear();
    }

    /// Records that a client has dispatched an action in a session.
    pub fn dispatched(&mut self, now: Duration, key: DispatchKey, session: usize, line: u64) {
        for pause in self.pauses.iter_mut().filter(|it| it.session == session) {
            if pause.released.is_none() && pause.watched.len() < MAX_WATCHED {
                pause.watched.push(WatchedDispatch { key, at: now, line, first: None });
            }
        }
    }

    /// Records that a client received an action.
    pub fn received(&mut self, now: Duration, key: DispatchKey, by: usize, line: u64) {
        for pause in self.pauses.iter_mut().filter(|it| it.client != by) {
            let watched = pause.watched.iter_mut().find(|it| it.key == key && it.first.is_none());
            if let Some(watched) = watched {
                watched.first = Some((now, line));
            }
        }
    }

    /// Judges the pauses that ended long enough ago. Returns the finding at most once.
    pub fn judge(&mut self, now: Duration) -> Option<Finding> {
        let is_over = |it: &ReadingPause| it.released.is_some_and(|at| now >= at + GRACE);
        let mut place = 0;
        while let Some(pause) = self.pauses.get(place) {
            if !is_over(pause) {
                place += 1;
                continue;
            }
            let pause = self.pauses.swap_remove(place);
            if let Some(stall) = stalled(&pause) {
                self.judged += 1;
                self.stalls.extend(stall);
            }
        }
        let enough = self.stalls.len() >= LEAST_TIMES && self.stalls.len() * 2 > self.judged;
        if !enough || std::mem::replace(&mut self.reported, true) {
            return None;
        }
        let actions: usize = self.stalls.iter().map(|(actions, _)| actions).sum();
        let lines = self.stalls.iter().flat_map(|(_, lines)| lines.iter().copied()).collect();
        Some(Finding {
            check: RULE,
            subject: FindingSubject::Beyond,
            weight: Weight::Essential,
            message: format!(
                "expected the clients of a session to get its actions while another client does not read, found \
                 that {actions} actions reached nobody until it read again, in {} of {} cases",
                self.stalls.len(),
                self.judged
            ),
            lines,
            diff: None,
            times: self.stalls.len() as u64,
        })
    }

    /// Returns the number of pauses that were judged.
    pub fn judged(&self) -> usize {
        self.judged
    }

    /// Returns the number of pauses that delayed the other clients.
    pub fn stalled(&self) -> usize {
        self.stalls.len()
    }
}

/// Judges a pause: `None` if too few actions were dispatched, `Some(None)` if the other clients were not delayed.
#[expect(clippy::option_option, reason = "a rule that was not tested is not a rule that held")]
fn stalled(pause: &ReadingPause) -> Option<Option<(usize, Vec<u64>)>> {
    let released = pause.released?;
    let early = pause.watched.iter().filter(|it| it.at + LEAST_WAIT <= released);
    let early: Vec<&WatchedDispatch> = early.collect();
    if early.len() < LEAST_STALLED {
        return None;
    }
    let waits = |it: &&&WatchedDispatch| it.first.is_none_or(|(at, _)| at >= released);
    // The first actions still fit into the buffers between the host and the client, so they are not delayed.
    let first = early.iter().position(|it| waits(&it));
    let held_up = first.map(|first| early.get(first..).unwrap_or_default()).unwrap_or_default();
    let in_time = |it: &&&WatchedDispatch| {
        it.first.is_some_and(|(at, _)| at >= released && at < released + GRACE)
    };
    if held_up.len() < LEAST_STALLED || !held_up.iter().all(|it| in_time(&it)) {
        return Some(None);
    }
    let shown = held_up.iter().take(LEAST_STALLED);
    let mut lines: Vec<u64> =
        shown.flat_map(|it| [Some(it.line), it.first.map(|(_, line)| line)]).flatten().collect();
    lines.sort_unstable();
    Some(Some((held_up.len(), lines)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(number: u64) -> Duration {
        Duration::from_millis(number)
    }

    /// Records a pause of three seconds with five actions, each of which arrives at the time that `arrival` returns.
    fn pause(watch: &mut StallWatch, begin: u64, arrival: impl Fn(u64) -> u64) -> Option<Finding> {
        watch.held(7, 0);
        for number in 1..=5 {
            let key = DispatchKey { client: 1, identity: 0, seq: begin + number };
            watch.dispatched(ms(begin + number * 100), key, 0, begin + number);
        }
        let release = begin + 3_000;
        watch.released(ms(release), 7);
        for number in 1..=5 {
            let key = DispatchKey { client: 1, identity: 0, seq: begin + number };
            watch.received(ms(arrival(number)), key, 2, begin + 100 + number);
        }
        watch.judge(ms(release + 2_001))
    }

    #[test]
    fn reports_actions_that_wait_for_a_reader_twice() {
        let mut watch = StallWatch::default();
        assert_eq!(pause(&mut watch, 0, |_| 3_001), None);
        let finding = pause(&mut watch, 10_000, |_| 13_001).unwrap();
        assert_eq!((finding.check, finding.times), (RULE, 2));
        assert!(finding.message.contains("10 actions"), "{}", finding.message);
        assert_eq!(pause(&mut watch, 20_000, |_| 23_001), None, "it is reported once");
    }

    #[test]
    fn the_first_actions_may_fit_into_buffers() {
        let mut watch = StallWatch::default();
        let early = |begin: u64| move |number: u64| begin + if number < 3 { 500 } else { 3_001 };
        assert_eq!(pause(&mut watch, 0, early(0)), None);
        assert!(pause(&mut watch, 10_000, early(10_000)).is_some());
    }

    #[test]
    fn a_host_that_delivers_is_not_blamed() {
        let mut watch = StallWatch::default();
        for begin in [0, 10_000, 20_000] {
            assert_eq!(pause(&mut watch, begin, |number| begin + number * 100 + 5), None);
        }
        assert_eq!(watch.judged(), 3);
        // If an action does not arrive after the client reads again, the client did not delay it.
        for begin in [30_000, 40_000] {
            assert_eq!(pause(&mut watch, begin, |_| begin + 9_000), None);
        }
    }

    #[test]
    fn half_of_the_cases_are_not_enough() {
        let mut watch = StallWatch::default();
        for begin in [0, 10_000] {
            assert_eq!(pause(&mut watch, begin, |number| begin + number * 100 + 5), None);
        }
        for begin in [20_000, 30_000] {
            assert_eq!(pause(&mut watch, begin, |_| begin + 3_001), None);
        }
    }
}
