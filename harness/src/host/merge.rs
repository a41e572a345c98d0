//! Deliveries that are held back and merged, for subscriptions that allow it.
//!
//! Text that the agent streams waits until the time that the client allows is over, and what comes
//! meanwhile for the same part is appended to it; the envelope carries the number of the last.
//! Before anything else is sent on the connection, what waits is: numbers go on growing.
//!
//! Knows: envelopes, subscriptions. Never knows: states.
//!
//! Start at [`RefHost::gather`].

use std::time::Duration;

use crate::transcript::ConnId;
use crate::wire::frame::Frame;
use crate::wire::json::{Value, json};

use super::engine::RefHost;
use super::log::LoggedEnvelope;

/// Actions that are merged: their text, and what has to be equal for that.
const MERGED: &[(&str, &str, &[&str])] = &[
    ("chat/delta", "content", &["turnId", "partId"]),
    ("chat/reasoning", "content", &["turnId", "partId"]),
];

/// The longest that anything is held back, whatever the client allows.
const MAX_LATENCY: Duration = Duration::from_secs(10);

/// An envelope that waits for more.
#[derive(Debug)]
pub(super) struct HeldEnvelope {
    params: Value,
    /// When the time is over that the client allows.
    due: Duration,
}

/// How long the deliveries of a subscription may be held back. Source: `subscribe`, `delivery`.
pub(super) fn latency(params: &Value) -> Option<Duration> {
    let millis = params.pointer("/delivery/maxLatencyMs")?.as_u64().filter(|millis| *millis > 0)?;
    Some(Duration::from_millis(millis).min(MAX_LATENCY))
}

impl RefHost {
    /// Holds an envelope back for more, or appends it to the one that waits. `false` where it is to be sent
    /// at once.
    pub(super) fn gather(&mut self, conn: ConnId, envelope: &LoggedEnvelope) -> bool {
        let Some((channel, params, _)) = envelope.told(self.view_of(conn)) else {
            return false;
        };
        let latencies = self.connections.get(&conn).map(|connection| &connection.latencies);
        let latency = latencies.and_then(|known| known.get(channel).copied());
        let row = MERGED.iter().find(|(kind, ..)| *kind == envelope.action_type);
        let (Some(latency), Some((_, text, same))) = (latency, row) else {
            return false;
        };
        if params.get("origin").is_some() {
            return false;
        }
        let whole = self.keeps("subscribe.delivery.same-reduced-state");
        if let Some(held) = self.merging.get_mut(&conn) {
            let action = |params: &Value, name: &str| params["action"][name].clone();
            let equal = |name: &&str| action(&held.params, name) == action(params, name);
            if held.params["channel"] == params["channel"]
                && equal(&"type")
                && same.iter().all(equal)
            {
                let (first, next) = (action(&held.params, text), action(params, text));
                let (first, next) = (first.as_str().unwrap_or(""), next.as_str().unwrap_or(""));
                let joined = if whole { format!("{first}{next}") } else { next.to_owned() };
                held.params["action"][*text] = json!(joined);
                held.params["serverSeq"] = json!(envelope.seq);
                return true;
            }
        }
        self.send_held(conn);
        let held = HeldEnvelope { params: params.clone(), due: self.now + latency };
        self.merging.insert(conn, held);
        true
    }

    /// Sends what waits for a connection.
    pub(super) fn send_held(&mut self, conn: ConnId) {
        if let Some(held) = self.merging.remove(&conn) {
            self.send_frame(conn, Frame::Text(self.envelope_text(&held.params)));
        }
    }

    /// When the first of what is held back is due.
    pub(super) fn next_held(&self) -> Option<Duration> {
        self.merging.values().map(|held| held.due).min()
    }

    /// Sends what is due.
    pub(super) fn send_due(&mut self) {
        let due = |(conn, held): (&ConnId, &HeldEnvelope)| (held.due <= self.now).then_some(*conn);
        let conns: Vec<ConnId> = self.merging.iter().filter_map(due).collect();
        conns.into_iter().for_each(|conn| self.send_held(conn));
    }
}
