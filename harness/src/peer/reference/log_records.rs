//! The log records of a host: their channel, the minimum level, and the records that the application got.
//!
//! Knows: telemetry capabilities, OTLP log records. Never knows: requests, the client.
//!
//! Start at [`HostLogs`].

use crate::wire::json::Value;

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

    /// Sets the minimum level. Returns the channel of the records of this level and above; `None` if the host has no
    /// logs, or the level is unknown.
    pub(super) fn follow(&mut self, level: &str) -> Option<String> {
        let (_, lowest) = LEVELS.iter().find(|(name, _)| *name == level)?;
        if self.template.is_empty() {
            return None;
        }
        self.lowest = *lowest;
        Some(self.template.replace(LEVEL, level))
    }

    /// Passes log records to the client's application, except those whose level is too low. With `unfiltered`, all
    /// records are passed.
    pub(super) fn take(&mut self, payload: &Value, unfiltered: bool) {
        let items = |value: &Value, name: &str| value[name].as_array().cloned().unwrap_or_default();
        for resource in items(payload, "resourceLogs") {
            for scope in items(&resource, "scopeLogs") {
                for record in items(&scope, "logRecords") {
                    let severity = record["severityNumber"].as_u64().unwrap_or(self.lowest);
                    if severity >= self.lowest || unfiltered {
                        self.records.push(record["body"]["stringValue"].clone());
                    }
                }
            }
        }
    }
}
