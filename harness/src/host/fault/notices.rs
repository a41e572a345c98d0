//! Faults in telemetry.

use super::parts::MessageChange;
use super::{Fault, MessageFault};
use crate::host::chain::{MessageLink, MessageRewriter, Outbox, Passage};
use crate::wire::json::{Value, json};

pub(super) const FAULTS: &[MessageFault] = &[
    (Fault::TelemetryForAll, || Box::new(RecordsForAll)),
    (Fault::LevelIgnored, || Box::new(LevelIgnored)),
    (Fault::TelemetryUncorrelated, || {
        Box::new(MessageChange(|_, message| {
            if is_telemetry(message) {
                forget_attributes(&mut message["params"]["payload"]);
            }
        }))
    }),
    (Fault::TelemetryUnfolded, || {
        Box::new(MessageChange(|_, message| {
            let record = "/params/payload/resourceLogs/0/scopeLogs/0/logRecords/0";
            if let Some(record) = message.pointer(record).cloned() {
                message["params"]["payload"] = record;
            }
        }))
    }),
    (Fault::TelemetryMisplaced, || {
        Box::new(MessageChange(|_, message| {
            if message["method"] == "otlp/exportTraces" {
                message["method"] = json!("otlp/exportMetrics");
            }
        }))
    }),
    (Fault::TelemetryRenamed, || {
        Box::new(MessageChange(|_, message| {
            if is_telemetry(message)
                && let Some(channel) = message["params"]["channel"].as_str()
            {
                message["params"]["channel"] = json!(channel.split('?').next().unwrap_or(""));
            }
        }))
    }),
];

fn is_telemetry(message: &Value) -> bool {
    message["method"].as_str().is_some_and(|method| method.starts_with("otlp/"))
}

/// Empties every list of attributes.
fn forget_attributes(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(forget_attributes),
        Value::Object(members) => {
            for (name, member) in members.iter_mut() {
                match name.as_str() {
                    "attributes" => *member = json!([]),
                    _ => forget_attributes(member),
                }
            }
        }
        _ => {}
    }
}

/// How the channels of log records from a level on begin.
const LOGS_OF_LEVEL: &str = "ahp-otlp://logs?level=";

/// Names of levels. Source: OpenTelemetry, log data model.
const LEVELS: &[&str] = &["trace", "debug", "info", "warn", "error", "fatal"];

/// Whether a channel has the log records from a level on.
fn has_level(channel: &str) -> bool {
    let level = channel.strip_prefix(LOGS_OF_LEVEL);
    level.is_some_and(|level| LEVELS.iter().any(|known| level.eq_ignore_ascii_case(known)))
}

/// Log records come at every level, whatever was asked for.
struct LevelIgnored;

impl MessageRewriter for LevelIgnored {
    fn on_client_message(
        &mut self,
        _: &MessageLink<'_>,
        message: &mut Value,
        _: &mut Outbox,
    ) -> Passage {
        let own = matches!(message["method"].as_str(), Some("subscribe" | "unsubscribe"));
        if let Some(channel) = message.pointer_mut("/params/channel").filter(|_| own)
            && channel.as_str().is_some_and(has_level)
        {
            *channel = json!(format!("{LOGS_OF_LEVEL}trace"));
        }
        Passage::Onward
    }

    fn on_host_message(&mut self, link: &MessageLink<'_>, mut message: Value, out: &mut Outbox) {
        let levels = |uri: &&String| has_level(uri);
        let asked = link.own().and_then(|own| own.subscriptions.iter().find(levels));
        if let Some(asked) = asked.filter(|_| message["method"] == "otlp/exportLogs")
            && let Some(channel) = message.pointer_mut("/params/channel")
            && channel.as_str().is_some_and(has_level)
        {
            *channel = json!(asked);
        }
        out.send(message);
    }
}

/// Log records come to everybody, subscribed or not.
struct RecordsForAll;

impl MessageRewriter for RecordsForAll {
    fn on_host_message(&mut self, link: &MessageLink<'_>, message: Value, out: &mut Outbox) {
        if message["method"] == "otlp/exportLogs" {
            let channel = message["params"]["channel"].as_str().unwrap_or("");
            let mut hearers = link.seen.connections.iter().filter(|(_, it)| it.hears(channel));
            if hearers.next().is_some_and(|(first, _)| *first == link.conn) {
                for (conn, other) in &link.seen.connections {
                    let logs = |uri: &String| uri.starts_with("ahp-otlp://logs");
                    if other.client.is_some() && !other.subscriptions.iter().any(logs) {
                        let mut copy = message.clone();
                        copy["params"]["channel"] = json!("ahp-otlp://logs");
                        out.send_to(*conn, copy);
                    }
                }
            }
        }
        out.send(message);
    }
}
