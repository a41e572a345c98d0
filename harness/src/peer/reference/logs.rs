//! The log records of the host: the client subscribes to the records of a minimum level, and filters the received
//! records by this level.
//!
//! Knows: subscriptions to logs. Never knows: the format of log records, their readers.
//!
//! Start at [`ReferenceClient::follow_logs`].

use crate::wire::json::{Value, json};

use super::fault::Fault;
use super::{ReferenceClient, RequestReason};

impl ReferenceClient {
    /// Subscribes to the host's log records of this level and above.
    pub(super) fn follow_logs(&mut self, command: u64, level: &str) {
        let Some(channel) = self.logs.follow(level) else {
            return self.fail(command, "the host has no logs, or the level is unknown");
        };
        self.request(RequestReason::Subscribe(command), "subscribe", json!({"channel": channel}));
    }

    /// Passes the log records of an `otlp/exportLogs` to the client's application, except those whose level is too low.
    pub(super) fn records_arrived(&mut self, payload: &Value) {
        let unfiltered = self.has(Fault::LogsUnfiltered);
        self.logs.take(payload, unfiltered);
    }
}
