//! Injected faults in telemetry: log records, spans and metrics.

use super::FaultPart::{Host, Message};
use super::parts::MessageChange;
use crate::host::canvases::SHOWN;
use crate::host::chain::{MessageLink, MessageRewriter, RewriterOutput};
use crate::host::connections::HostConnection;
use crate::host::engine::RefHost;
use crate::host::generic::{ChangesNotifications, LiftsRules};
use crate::host::injected::{HostHooks, ServedRequest};
use crate::host::request::CallReply;
use crate::wire::frame::Frame;
use crate::wire::json::{Value, json};

fault_table![
    TelemetryForAll(
        "telemetry-for-all",
        "Log records are sent to every connection, subscribed or not.",
        Message(|| Box::new(RecordsForAll)),
    ),
    TelemetryUncorrelated(
        "telemetry-uncorrelated",
        "Log records do not say which session they are about or who wrote them.",
        Message(|| {
            Box::new(MessageChange(|_, message| {
                if is_telemetry(message) {
                    forget_attributes(&mut message["params"]["payload"]);
                }
            }))
        }),
    ),
    TelemetryUnfolded(
        "telemetry-unfolded",
        "A log record is sent as the payload, outside of `resourceLogs`.",
        Message(|| {
            Box::new(MessageChange(|_, message| {
                let record = "/params/payload/resourceLogs/0/scopeLogs/0/logRecords/0";
                if let Some(record) = message.pointer(record).cloned() {
                    message["params"]["payload"] = record;
                }
            }))
        }),
    ),
    TelemetryMisplaced(
        "telemetry-misplaced",
        "Spans are sent with the method for metrics.",
        Message(|| {
            Box::new(MessageChange(|_, message| {
                if message["method"] == "otlp/exportTraces" {
                    message["method"] = json!("otlp/exportMetrics");
                }
            }))
        }),
    ),
    TelemetryRenamed(
        "telemetry-renamed",
        "Log records name the advertised channel, not the subscribed channel.",
        Message(|| {
            Box::new(MessageChange(|_, message| {
                if is_telemetry(message)
                    && let Some(channel) = message["params"]["channel"].as_str()
                {
                    message["params"]["channel"] = json!(channel.split('?').next().unwrap_or(""));
                }
            }))
        }),
    ),
    LevelIgnored(
        "level-ignored",
        "Log records of all levels are sent, regardless of the subscribed level.",
        Host(&LiftsRules(&["telemetry.level-filter"])),
    ),
    TelemetryReplayed(
        "telemetry-replayed",
        "A client that reconnects gets the latest log records again.",
        Host(&TelemetryReplayed),
    ),
    CanvasUrlLogged(
        "canvas-url-logged",
        "Log records contain the address of a canvas.",
        Host(&ChangesNotifications(LOGS, |host, params| {
            let record = params.pointer_mut(RECORD);
            if let Some(record) = record.filter(|it| it["body"]["stringValue"] == SHOWN) {
                let attributes = record["attributes"].as_array().into_iter().flatten();
                let mut chats = attributes.filter(|it| it["key"] == "ahp.chat.id");
                let chat = chats.next().and_then(|it| it["value"]["stringValue"].as_str());
                let canvases = host.canvases_of(chat.unwrap_or(""));
                let shown = canvases.iter().rev().find_map(|uri| host.state(uri)["url"].as_str());
                let text = format!("{SHOWN} at {}", shown.unwrap_or("no address"));
                record["body"]["stringValue"] = json!(text);
            }
            true
        })),
    ),
];

fn is_telemetry(message: &Value) -> bool {
    message["method"].as_str().is_some_and(|method| method.starts_with("otlp/"))
}

/// The method of log records.
const LOGS: &str = "otlp/exportLogs";
/// The JSON pointer to a log record in the params of its notification.
const RECORD: &str = "/payload/resourceLogs/0/scopeLogs/0/logRecords/0";

/// A fault that sends the latest log record again to each client that reconnects. If no client was subscribed before,
/// the reconnected client is the first to receive this record.
struct TelemetryReplayed;

impl HostHooks for TelemetryReplayed {
    fn notifies(&self, host: &mut RefHost, method: &str, params: &mut Value) -> bool {
        if method == LOGS {
            host.memory.latest_record = Some(params["payload"].clone());
        }
        true
    }

    fn served(&self, host: &mut RefHost, request: &ServedRequest, reply: CallReply) -> CallReply {
        let conn = request.call.conn;
        let own = host.connections.get(conn).filter(|_| request.method == "reconnect");
        let mut channels = own.into_iter().flat_map(HostConnection::subscriptions);
        let channel = channels.find(|uri| uri.starts_with("ahp-otlp://logs")).cloned();
        if let Some((channel, payload)) = channel.zip(host.memory.latest_record.clone()) {
            let params = json!({"channel": channel, "payload": payload});
            let message = json!({"jsonrpc": "2.0", "method": LOGS, "params": params});
            host.outbox.push_late(conn, Frame::json(&message));
        }
        reply
    }
}

/// Removes all entries from every list of attributes in a value.
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

/// A fault that sends log records to every connection, subscribed or not.
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
