//! Faults in telemetry.

use super::parts::MessageChange;
use super::{Fault, MessageFault};
use crate::host::chain::{MessageLink, MessageRewriter, RewriterOutput};
use crate::wire::json::{Value, json};

pub(super) const FAULTS: &[MessageFault] = &[
    (Fault::TelemetryForAll, || Box::new(RecordsForAll)),
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

/// Log records are sent to every connection, subscribed or not.
struct RecordsForAll;

impl MessageRewriter for RecordsForAll {
    fn on_host_message(
        &mut self,
        link: &MessageLink<'_>,
        message: Value,
        out: &mut RewriterOutput,
    ) {
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
