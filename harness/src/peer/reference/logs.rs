//! The log records of the host: the client subscribes to the records of a minimum level, and filters the received
//! records by this level.
//!
//! Knows: telemetry capabilities, OTLP log records. Never knows: who reads the records.
//!
//! Start at [`ReferenceClient::follow_logs`].

use crate::wire::json::{Value, json};

use super::fault::Fault;
use super::{ReferenceClient, RequestReason};

/// The variable in the URI template that is replaced by the minimum level.
const LEVEL: &str = "{level}";
/// The names of the levels, each with its lowest OTLP severity number.
const LEVELS: &[(&str, u64)] =
    &[("trace", 1), ("debug", 5), ("info", 9), ("warn", 13), ("error", 17), ("fatal", 21)];

/// The log records of a host.
#[derive(Debug, Default)]
pub(super) struct HostLogs {
    /// The channel of the logs, or its template; empty if the host has none.
    template: String,
    /// The lowest severity number that the application wants.
    lowest: u64,
    /// The texts of the log records that the client has passed to its application.
    records: Vec<Value>,
}

impl HostLogs {
    /// Stores the channel of the host's logs from the result of `initialize`.
    pub(super) fn greeted(&mut self, result: &Value) {
        result["telemetry"]["logs"].as_str().unwrap_or_default().clone_into(&mut self.template);
    }

    /// Returns the texts of the log records that the client has passed to its application.
    pub(super) fn records(&self) -> &[Value] {
        &self.records
    }
}

impl ReferenceClient {
    /// Subscribes to the host's log records of this level and above.
    pub(super) fn follow_logs(&mut self, command: u64, level: &str) {
        let known = LEVELS.iter().find(|(name, _)| *name == level);
        let (Some((_, lowest)), false) = (known, self.logs.template.is_empty()) else {
            return self.fail(command, "the host has no logs, or the level is unknown");
        };
        self.logs.lowest = *lowest;
        let channel = self.logs.template.replace(LEVEL, level);
        self.request(RequestReason::Subscribe(command), "subscribe", json!({"channel": channel}));
    }

    /// Passes the log records of an `otlp/exportLogs` to the client's application, except those whose level is too low.
    pub(super) fn records_arrived(&mut self, payload: &Value) {
        let items = |value: &Value, name: &str| value[name].as_array().cloned().unwrap_or_default();
        for resource in items(payload, "resourceLogs") {
            for scope in items(&resource, "scopeLogs") {
                for record in items(&scope, "logRecords") {
                    let severity = record["severityNumber"].as_u64().unwrap_or(self.logs.lowest);
                    if severity >= self.logs.lowest || self.has(Fault::LogsUnfiltered) {
                        self.logs.records.push(record["body"]["stringValue"].clone());
                    }
                }
            }
        }
    }
}
