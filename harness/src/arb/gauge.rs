//! Statistics about a target's answers: the percentage of refusals, and the actions that were tested in each state.
//!
//! The state of a channel is defined as the type of the last action that the host sent on it. This definition needs no
//! model of the channels and still distinguishes the relevant states: a ready tool call, an open question, a completed
//! turn.
//!
//! Knows: frames. Never knows: the purpose of messages.
//!
//! Start at [`AnswerGauge`].

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::run::play::TranscriptRecorder;
use crate::transcript::ConnectionEvent;
use crate::wire::json::Value;
use crate::wire::message::{Message, MessageKind};

/// The percentage of refusals above which the harness warns that the campaign is of little use.
const FUTILE: u64 = 90;
/// The minimum number of answers before the warning about refusals.
const ENOUGH: u64 = 200;
/// The state of a channel on which the host has sent no action.
const NEW: &str = "new";

/// The numbers of requests and dispatches that the target accepted and refused.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct AnswerTally {
    /// The number of results and accepted actions.
    pub served: u64,
    /// The number of errors and rejections.
    pub refused: u64,
}

impl AnswerTally {
    /// Returns the percentage of refusals.
    pub fn refused_percent(&self) -> u64 {
        self.refused * 100 / (self.served + self.refused).max(1)
    }

    /// Returns a warning if the target refuses nearly everything.
    pub fn futile(&self) -> Option<String> {
        let asked = self.served + self.refused;
        (asked >= ENOUGH && self.refused_percent() >= FUTILE).then(|| {
            format!(
                "the target refuses {} % of the requests and dispatches, so little is tested \
                 (hint: `--authenticate`, `--provider` or `--agent-model` may be missing)",
                self.refused_percent()
            )
        })
    }
}

/// A recorder that counts a target's answers and does not keep the frames.
#[derive(Clone, Debug, Default)]
pub struct AnswerGauge(Arc<Mutex<GaugeCounts>>);

#[derive(Debug, Default)]
struct GaugeCounts {
    events: u64,
    tally: AnswerTally,
    seen: BTreeMap<String, u64>,
    /// The identifier of each client, by name.
    ids: HashMap<String, String>,
    /// The unanswered requests and dispatches, by sender and number: the message with the channel's state, and
    /// the time of sending.
    open: HashMap<(String, String), (String, Duration)>,
    /// The longest response time.
    slowest: Duration,
    /// The host's last action on each channel.
    last: HashMap<String, String>,
}

impl AnswerGauge {
    /// Returns the numbers of accepted and of refused messages so far.
    pub fn tally(&self) -> AnswerTally {
        self.counts().tally
    }

    /// Returns the number of times that each combination was observed: the client's message, the channel's
    /// state, and the result.
    pub fn seen(&self) -> BTreeMap<String, u64> {
        let counts = self.counts();
        let mut seen = counts.seen.clone();
        for (sent, _) in counts.open.values() {
            *seen.entry(format!("{sent} | nothing")).or_default() += 1;
        }
        seen
    }

    /// Returns the number of recorded events.
    pub fn events(&self) -> u64 {
        self.counts().events
    }

    /// Returns the longest response time.
    pub fn slowest(&self) -> Duration {
        self.counts().slowest
    }

    fn counts(&self) -> std::sync::MutexGuard<'_, GaugeCounts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TranscriptRecorder for AnswerGauge {
    fn record(&mut self, at: Duration, client: &str, event: &ConnectionEvent) -> u64 {
        let mut counts = self.counts();
        counts.events += 1;
        match event {
            ConnectionEvent::Sent(seen) => seen.message().map(|it| counts.sent(at, client, it)),
            ConnectionEvent::Received(seen) => {
                seen.message().map(|it| counts.received(at, client, it))
            }
            _ => None,
        };
        counts.events
    }
}

impl GaugeCounts {
    fn sent(&mut self, at: Duration, client: &str, message: &Message) {
        let params = message.params();
        let action = params.get("action").and_then(|action| action["type"].as_str());
        let Some(what) = action.or(message.method()) else { return };
        if let Some(id) = params["clientId"].as_str() {
            self.ids.insert(client.to_owned(), id.to_owned());
        }
        let state = place(params).and_then(|place| self.last.get(place));
        let sent = format!("{what} | {}", state.map_or(NEW, String::as_str));
        let key = match (action, self.ids.get(client)) {
            (Some(_), Some(id)) => (id.clone(), params["clientSeq"].to_text()),
            _ => match message.id() {
                Some(id) => (client.to_owned(), id.to_text()),
                None => return,
            },
        };
        self.open.insert(key, (sent, at));
    }

    fn received(&mut self, at: Duration, client: &str, message: &Message) {
        let (key, served) = match message.kind() {
            MessageKind::Success | MessageKind::Failure => {
                let id = message.id().map(Value::to_text).unwrap_or_default();
                ((client.to_owned(), id), message.kind() == MessageKind::Success)
            }
            MessageKind::Notification => {
                let params = message.params();
                let origin = &params["origin"];
                let Some(id) = origin["clientId"].as_str() else {
                    let update = params["update"]["sessionUpdate"].as_str();
                    let said = (place(params), params["action"]["type"].as_str().or(update));
                    if let (Some(place), Some(said)) = said {
                        self.last.insert(place.to_owned(), said.to_owned());
                    }
                    return;
                };
                let key = (id.to_owned(), origin["clientSeq"].to_text());
                (key, params["rejectionReason"].is_null())
            }
            _ => return,
        };
        match served {
            true => self.tally.served += 1,
            false => self.tally.refused += 1,
        }
        // Every subscriber receives an action's envelope; only the first copy is counted.
        if let Some((sent, since)) = self.open.remove(&key) {
            self.slowest = self.slowest.max(at.saturating_sub(since));
            let verdict = match (message.kind(), message.error_code()) {
                (MessageKind::Notification, _) if served => "accepted".to_owned(),
                (MessageKind::Notification, _) => "rejected".to_owned(),
                (_, Some(code)) => format!("error {code}"),
                _ => "result".to_owned(),
            };
            *self.seen.entry(format!("{sent} | {verdict}")).or_default() += 1;
        }
    }
}

/// Returns the channel of a host, or the session of an agent, that a message names.
fn place(params: &Value) -> Option<&str> {
    params["channel"].as_str().or(params["sessionId"].as_str())
}

/// Returns the statistics as a Markdown table. Each row is an action or method with a result, and lists the
/// states in which it was sent.
pub fn table(seen: &BTreeMap<String, u64>) -> String {
    let mut rows: BTreeMap<&str, BTreeMap<&str, BTreeMap<&str, u64>>> = BTreeMap::new();
    for (key, times) in seen {
        let mut parts = key.split(" | ");
        let (Some(what), Some(state), Some(verdict)) = (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        *rows.entry(what).or_default().entry(verdict).or_default().entry(state).or_default() +=
            times;
    }
    let mut out = format!(
        "{} combinations of action, state and verdict. The state of a channel is the type of the last message that the host sent on it.\n\n\
         | action or method | verdict | count | number of states | states |\n|---|---|---|---|---|\n",
        seen.len()
    );
    for (what, verdicts) in rows {
        for (verdict, states) in verdicts {
            let times: u64 = states.values().sum();
            let names: Vec<&str> = states.keys().copied().collect();
            let _ = writeln!(
                out,
                "| {what} | {verdict} | {times} | {} | {} |",
                names.len(),
                names.join(", ")
            );
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript::SeenFrame;
    use crate::wire::frame::Frame;
    use crate::wire::json::json;

    fn said(value: &Value, sent: bool) -> ConnectionEvent {
        let seen = Arc::new(SeenFrame::new(Frame::Text(value.to_text())));
        if sent { ConnectionEvent::Sent(seen) } else { ConnectionEvent::Received(seen) }
    }

    #[test]
    fn requests_are_counted_by_their_answers_and_by_the_last_state() {
        let mut gauge = AnswerGauge::default();
        let mut play = |client: &str, sent: bool, value: Value| {
            gauge.record(Duration::ZERO, client, &said(&value, sent));
        };
        let note = |method: &str, params: Value| json!({"jsonrpc": "2.0", "method": method, "params": params});
        play(
            "A",
            true,
            json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"clientId": "a"}}),
        );
        play("A", false, json!({"jsonrpc": "2.0", "id": 1, "result": {}}));
        play("B", false, note("action", json!({"channel": "c", "action": {"type": "chat/delta"}})));
        play(
            "A",
            true,
            note(
                "dispatchAction",
                json!({"channel": "c", "clientSeq": 1, "action": {"type": "chat/turnCancelled"}}),
            ),
        );
        let origin = json!({"clientId": "a", "clientSeq": 1});
        let echo = json!({"channel": "c", "origin": origin, "rejectionReason": "no", "action": {"type": "chat/turnCancelled"}});
        play("B", false, note("action", echo.clone()));
        play("A", false, note("action", echo));
        play(
            "A",
            true,
            note(
                "dispatchAction",
                json!({"channel": "d", "clientSeq": 2, "action": {"type": "chat/delta"}}),
            ),
        );
        let seen = gauge.seen();
        let keys: Vec<&str> = seen.keys().map(String::as_str).collect();
        let expected = [
            "chat/delta | new | nothing",
            "chat/turnCancelled | chat/delta | rejected",
            "initialize | new | result",
        ];
        assert_eq!(keys, expected);
        assert!(table(&seen).contains("| chat/turnCancelled | rejected | 1 | 1 | chat/delta |"));
    }

    #[test]
    fn a_target_that_refuses_everything_is_futile() {
        assert!(AnswerTally { served: 5, refused: 300 }.futile().is_some());
        assert!(AnswerTally { served: 200, refused: 300 }.futile().is_none());
        assert!(AnswerTally { served: 0, refused: 10 }.futile().is_none());
    }
}
