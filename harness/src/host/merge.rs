//! Delayed and merged deliveries, for subscriptions that allow them.
//!
//! The host delays text that the agent streams, up to the latency that the client allows. The host appends
//! later text for the same part to the delayed envelope; the merged envelope has the last `serverSeq`. The
//! host sends a delayed envelope before anything else on the connection, so the numbers stay increasing.
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

/// The actions that can be merged: type, member with the text, members that have to be equal.
const MERGED: &[(&str, &str, &[&str])] = &[
    ("chat/delta", "content", &["turnId", "partId"]),
    ("chat/reasoning", "content", &["turnId", "partId"]),
];

/// The longest delay, even if the client allows more.
const MAX_LATENCY: Duration = Duration::from_secs(10);

/// Returns the time that the deliveries of a subscription may be delayed; `None` for no delay. Source:
/// `subscribe`, `delivery`.
pub(super) fn latency(params: &Value) -> Option<Duration> {
    let millis = params.pointer("/delivery/maxLatencyMs")?.as_u64().filter(|millis| *millis > 0)?;
    Some(Duration::from_millis(millis).min(MAX_LATENCY))
}

impl RefHost {
    /// Delays an envelope, or appends it to the delayed envelope. Returns `false` if the host has to send the
    /// envelope at once.
    pub(super) fn gather(&mut self, conn: ConnId, envelope: &LoggedEnvelope) -> bool {
        let Some((channel, params, _)) = envelope.told(self.view_of(conn)) else {
            return false;
        };
        let latency = self.connections.get(conn).and_then(|it| it.latency(channel));
        let row = MERGED.iter().find(|(kind, ..)| *kind == envelope.action_type);
        let (Some(latency), Some((_, text, same))) = (latency, row) else {
            return false;
        };
        if params.get("origin").is_some() {
            return false;
        }
        let whole = self.keeps("subscribe.delivery.same-reduced-state");
        if let Some(held) = self.held.params_mut(conn) {
            let action = |params: &Value, name: &str| params["action"][name].clone();
            let equal = |name: &&str| action(held, name) == action(params, name);
            if held["channel"] == params["channel"] && equal(&"type") && same.iter().all(equal) {
                let (first, next) = (action(held, text), action(params, text));
                let (first, next) = (first.as_str().unwrap_or(""), next.as_str().unwrap_or(""));
                let joined = if whole { format!("{first}{next}") } else { next.to_owned() };
                held["action"][*text] = json!(joined);
                held["serverSeq"] = json!(envelope.seq);
                return true;
            }
        }
        self.send_held(conn);
        self.held.hold(conn, params.clone(), self.clock.now() + latency);
        true
    }

    /// Sends the delayed envelope of a connection.
    pub(super) fn send_held(&mut self, conn: ConnId) {
        if let Some(params) = self.held.take(conn) {
            self.send_frame(conn, Frame::Text(self.envelope_text(&params)));
        }
    }

    /// Sends the delayed envelopes that are due.
    pub(super) fn send_due(&mut self) {
        let due = self.held.due(self.clock.now());
        due.into_iter().for_each(|conn| self.send_held(conn));
    }
}
