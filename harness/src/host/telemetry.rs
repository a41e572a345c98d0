//! Telemetry: log records, spans and metrics of the host's activity, for subscribers.
//!
//! The channels have no state, and the host does not store records: without a subscriber, a record is lost. A record
//! names a session, a chat and a turn, but holds no message content. The template of the log channel lets a
//! client subscribe to log records from a minimum level.
//!
//! Knows: published actions. Never knows: the cause of an action.
//!
//! Start at [`RefHost::telemeter`].

use crate::wire::json::{Value, json};

use super::engine::RefHost;
use crate::transcript::ConnId;

const LOGS: &str = "ahp-otlp://logs";
const TRACES: &str = "ahp-otlp://traces";
const METRICS: &str = "ahp-otlp://metrics";

/// Returns the telemetry capabilities that the handshake announces. Source: `InitializeResult.telemetry`.
pub(super) fn capabilities() -> Value {
    json!({"logs": format!("{LOGS}{{?level}}"), "traces": TRACES, "metrics": METRICS})
}

/// The names of log levels, each with its lowest severity. Source: OpenTelemetry, log data model.
const LEVELS: &[(&str, u64)] =
    &[("trace", 1), ("debug", 5), ("info", 9), ("warn", 13), ("error", 17), ("fatal", 21)];

/// The severity of the level `info`.
pub(super) const INFO: u64 = 9;

/// The actions that are logged: type, severity, text.
const LOGGED: &[(&str, u64, &str)] = &[
    ("session/ready", 9, "a session is ready"),
    ("chat/turnStarted", 5, "a turn has started"),
    ("chat/toolCallStart", 5, "a tool is called"),
    ("chat/turnComplete", 9, "a turn is complete"),
    ("chat/turnCancelled", 13, "a turn was cancelled"),
    ("chat/error", 17, "a turn has failed"),
];

/// The actions that end the span of a turn.
const ENDS: &[&str] = &["chat/turnComplete", "chat/turnCancelled", "chat/error"];

/// A kind of telemetry.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum TelemetrySignal {
    /// Log records with at least this severity.
    Logs(u64),
    Traces,
    Metrics,
}

/// Returns the kind of a telemetry channel; `None` for other URIs.
fn signal(uri: &str) -> Option<TelemetrySignal> {
    match uri {
        TRACES => return Some(TelemetrySignal::Traces),
        METRICS => return Some(TelemetrySignal::Metrics),
        LOGS => return Some(TelemetrySignal::Logs(0)),
        _ => {}
    }
    let level = uri.strip_prefix(LOGS)?.strip_prefix("?level=")?;
    let row = LEVELS.iter().find(|(name, _)| name.eq_ignore_ascii_case(level))?;
    Some(TelemetrySignal::Logs(row.1))
}

fn attributes(pairs: &[(&str, &str)]) -> Value {
    let one = |(key, value): &(&str, &str)| json!({"key": key, "value": {"stringValue": value}});
    pairs.iter().filter(|(_, value)| !value.is_empty()).map(one).collect()
}

impl RefHost {
    /// Returns whether a URI is a telemetry channel.
    pub(super) fn is_telemetry(&self, uri: &str) -> bool {
        signal(uri).is_some()
    }

    /// Sends telemetry about a published action to the subscribers.
    pub(super) fn telemeter(&mut self, uri: &str, action_type: &str) {
        let logged = LOGGED.iter().find(|(kind, ..)| *kind == action_type);
        let Some((_, severity, text)) = logged.filter(|_| self.telemetered) else {
            return;
        };
        let about = self.about(uri);
        self.log_record(*severity, text, &about);
        if ENDS.contains(&action_type) {
            self.span(&about, *severity >= 17);
            self.measurement(&about);
        }
    }

    /// Logs an event about a channel, other than an action.
    pub(super) fn log_of(&mut self, uri: &str, severity: u64, text: &str) {
        if self.telemetered {
            let about = self.about(uri);
            self.log_record(severity, text, &about);
        }
    }

    /// Returns the session, the chat and the turn of a channel as attributes of a record.
    fn about(&self, uri: &str) -> Value {
        let of_chat = self.chats.session_of(uri);
        let session = of_chat.unwrap_or(uri);
        let state = self.state(uri);
        let latest = state["turns"].as_array().and_then(|turns| turns.last());
        let active = Some(&state["activeTurn"]).filter(|turn| turn.is_object());
        let turn = active.or(latest).and_then(|turn| turn["id"].as_str());
        attributes(&[
            ("ahp.session.id", session),
            ("ahp.chat.id", of_chat.map_or("", |_| uri)),
            ("ahp.turn.id", of_chat.and(turn).unwrap_or("")),
        ])
    }

    fn resource(&self) -> Value {
        json!({"attributes": attributes(&[("service.name", "ahp-reference-host")])})
    }

    fn nanoseconds(&self) -> String {
        self.clock.wall_ns().to_string()
    }

    fn log_record(&mut self, severity: u64, text: &str, about: &Value) {
        let record = json!({
            "timeUnixNano": self.nanoseconds(), "severityNumber": severity,
            "body": {"stringValue": text}, "attributes": about,
        });
        let payload = json!({"resourceLogs": [{
            "resource": self.resource(),
            "scopeLogs": [{"scope": {"name": "host"}, "logRecords": [record]}],
        }]});
        let any = !self.keeps("telemetry.level-filter");
        self.export("otlp/exportLogs", payload, |signal| match signal {
            TelemetrySignal::Logs(from) => any || from <= severity,
            _ => false,
        });
    }

    fn span(&mut self, about: &Value, failed: bool) {
        let number = self.log.seq();
        let span = json!({
            "traceId": format!("{:032x}", u128::from(number) + 1),
            "spanId": format!("{:016x}", number + 1),
            "name": "turn", "kind": 1, "attributes": about,
            "startTimeUnixNano": self.nanoseconds(), "endTimeUnixNano": self.nanoseconds(),
            "status": {"code": if failed { 2 } else { 1 }},
        });
        let payload = json!({"resourceSpans": [{
            "resource": self.resource(),
            "scopeSpans": [{"scope": {"name": "host"}, "spans": [span]}],
        }]});
        self.export("otlp/exportTraces", payload, |signal| signal == TelemetrySignal::Traces);
    }

    fn measurement(&mut self, about: &Value) {
        let point = json!({
            "timeUnixNano": self.nanoseconds(), "asInt": "1", "attributes": about,
        });
        let sum = json!({"aggregationTemporality": 1, "isMonotonic": true, "dataPoints": [point]});
        let payload = json!({"resourceMetrics": [{
            "resource": self.resource(),
            "scopeMetrics": [{
                "scope": {"name": "host"}, "metrics": [{"name": "ahp.turns", "sum": sum}],
            }],
        }]});
        self.export("otlp/exportMetrics", payload, |signal| signal == TelemetrySignal::Metrics);
    }

    fn export(&mut self, method: &str, payload: Value, wanted: impl Fn(TelemetrySignal) -> bool) {
        let mut record = json!({"payload": payload});
        if !self.sends_notice(method, &mut record) {
            return;
        }
        let mut told: Vec<(ConnId, String)> = Vec::new();
        for (conn, connection) in self.connections.iter() {
            let listens = |uri: &&String| signal(uri).is_some_and(&wanted);
            let mut channels: Vec<&String> = connection.subscriptions().filter(listens).collect();
            channels.sort();
            told.extend(channels.iter().map(|uri| (conn, (*uri).clone())));
        }
        for (conn, channel) in told {
            let params = json!({"channel": channel, "payload": record["payload"]});
            let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
            self.send(conn, message);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_channels() {
        assert_eq!(signal("ahp-otlp://logs?level=WARN"), Some(TelemetrySignal::Logs(13)));
        assert_eq!(signal("ahp-otlp://logs"), Some(TelemetrySignal::Logs(0)));
        assert_eq!(signal("ahp-otlp://traces"), Some(TelemetrySignal::Traces));
        assert_eq!(signal("ahp-otlp://logs?level=loud"), None);
        assert_eq!(signal("ahp-otlp://profiles"), None);
    }
}
