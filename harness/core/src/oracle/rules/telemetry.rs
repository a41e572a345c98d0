//! Checks telemetry: the payload of each signal, and the level of log records.
//!
//! The URI of a channel for log records shows the level of the records: the URI is the host's template, expanded with
//! the name of a level. The checks also read the addresses at which canvases are shown from the states of canvases. No
//! log record may contain such an address, regardless of whether the state or the record arrives first.
//!
//! Knows: templates, severities. Never knows: the content of logs, the recipients.
//!
//! Start at [`TelemetryChecks`].

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crate::transcript::{ConnId, SeenFrame};
use crate::wire::channel::ChannelKind;
use crate::wire::frame::Frame;
use crate::wire::json::Value;
use crate::wire::message::Message;
use crate::wire::template::{expand, uses};

use crate::oracle::budget::KeptBytes;
use crate::oracle::catalogue::Rule;
use crate::oracle::check::{CheckFamily, FindingSink};
use crate::oracle::context::OracleContext;
use crate::oracle::members::{list, text};
use crate::oracle::step::OracleStep;

/// The names of levels, and the lowest severity of each. Source: OpenTelemetry, log data model.
const LEVELS: &[(&str, u64)] =
    &[("trace", 1), ("debug", 5), ("info", 9), ("warn", 13), ("error", 17), ("fatal", 21)];

/// The action that contains the address of a canvas.
const CANVAS: &str = "canvas/stateChanged";
/// The notification that contains log records.
const LOGS: &str = "otlp/exportLogs";

/// The payload member of each signal's notification. Source: OTLP/JSON, the export requests.
const PAYLOADS: &[(&str, &str)] = &[
    (LOGS, "resourceLogs"),
    ("otlp/exportTraces", "resourceSpans"),
    ("otlp/exportMetrics", "resourceMetrics"),
];

/// The scheme of the URIs of telemetry channels.
const SCHEME: &str = "ahp-otlp:";
/// The number of ways in which the name of a level may be written in a URI: in lower case and in upper case.
const CASES: usize = 2;

/// Upper bound for the kept addresses of canvases, and for the kept log records. The log records are searched again for
/// each new address.
const MAX_KEPT: usize = 200;
/// The minimum length of an address. A shorter address may occur by accident.
const MIN_ADDRESS: usize = 10;

/// The address at which a canvas is shown.
struct CanvasAddress {
    url: String,
    /// The address as JSON text in which each slash is escaped.
    escaped: String,
    _kept: KeptBytes,
    /// The line that contains the address.
    line: u64,
}

/// The levels of channels, and the addresses that log records may not contain.
#[derive(Default)]
pub(super) struct TelemetryChecks {
    /// For each connection, the URIs to which the template in the handshake expands, each with the lowest severity of
    /// the level that the URI names.
    levels: HashMap<ConnId, Vec<(String, u64)>>,
    /// The known addresses of canvases.
    addresses: Vec<CanvasAddress>,
    /// The latest log records, each with its line.
    logs: VecDeque<(u64, Arc<Frame>, KeptBytes)>,
}

impl CheckFamily for TelemetryChecks {
    fn step(&mut self, cx: &OracleContext, step: &OracleStep<'_>, out: &mut FindingSink) {
        match step {
            OracleStep::Answered { request, message } if request.method == "initialize" => {
                if let Some(result) = message.result() {
                    self.declared(cx, result, out);
                }
            }
            OracleStep::Notified { seen, method, .. } if method.starts_with("otlp/") => {
                if let Some(params) = seen.message().map(Message::params) {
                    payload(cx, method, params, out);
                    self.records(cx, params, out);
                }
                if *method == LOGS {
                    self.logged(cx, seen, out);
                }
            }
            OracleStep::Envelope(delivery) if delivery.envelope.action_type == CANVAS => {
                self.shown(cx, &delivery.envelope.action["canvas"], out);
            }
            OracleStep::Snapshot { kind: Some(ChannelKind::Canvas), state, .. } => {
                self.shown(cx, state, out);
            }
            OracleStep::Closed | OracleStep::Gap => drop(self.levels.remove(&cx.now.conn)),
            _ => {}
        }
    }
}

impl TelemetryChecks {
    /// Records the address of a canvas, and searches the kept log records for this address.
    fn shown(&mut self, cx: &OracleContext, canvas: &Value, out: &mut FindingSink) {
        let Some(url) = canvas["url"].as_str().filter(|url| url.len() >= MIN_ADDRESS) else {
            return;
        };
        let known = self.addresses.iter().any(|known| known.url == url);
        if known || self.addresses.len() >= MAX_KEPT {
            return;
        }
        let escaped = url.replace('/', "\\/");
        let Some(kept) = cx.memory.listed.keep(url.len() + escaped.len()) else { return };
        let (url, line) = (url.to_owned(), cx.now.line);
        let address = CanvasAddress { escaped, url, line, _kept: kept };
        for (line, frame, _) in &self.logs {
            unaddressed(&address, *line, frame, out);
        }
        self.addresses.push(address);
    }

    /// Searches new log records for the known addresses, and keeps the log records.
    fn logged(&mut self, cx: &OracleContext, seen: &SeenFrame, out: &mut FindingSink) {
        for address in &self.addresses {
            unaddressed(address, cx.now.line, &seen.frame, out);
        }
        if self.logs.len() >= MAX_KEPT {
            self.logs.pop_front();
        }
        let mut kept = cx.memory.listed.keep(seen.frame.len());
        while kept.is_none() && self.logs.pop_front().is_some() {
            kept = cx.memory.listed.keep(seen.frame.len());
        }
        if let Some(kept) = kept {
            self.logs.push_back((cx.now.line, Arc::clone(&seen.frame), kept));
        }
    }

    fn declared(&mut self, cx: &OracleContext, result: &Value, out: &mut FindingSink) {
        let Some(members) = result.get("telemetry").and_then(Value::as_object) else {
            return;
        };
        for (name, uri) in members.iter().filter_map(|(name, uri)| Some((name, uri.as_str()?))) {
            out.seen(Rule::TelemetryPayload);
            if !uri.starts_with(SCHEME) {
                let message = format!(
                    "expected a URI that begins with `{SCHEME}` for `{name}`, found `{uri}`"
                );
                out.broken(Rule::TelemetryPayload, message, &[cx.now.line]);
            }
        }
        let Some(template) = members.get("logs").and_then(Value::as_str) else {
            return;
        };
        if !uses(template, "level") {
            return;
        }
        let mut known = Vec::with_capacity(LEVELS.len() * CASES);
        for (level, severity) in LEVELS {
            known.push((expand(template, &[("level", level)]), *severity));
            known.push((expand(template, &[("level", &level.to_uppercase())]), *severity));
        }
        self.levels.insert(cx.now.conn, known);
    }

    /// Judges every record of a log message by the level of the channel on which the message arrived.
    fn records(&self, cx: &OracleContext, params: &Value, out: &mut FindingSink) {
        let channel = text(params, "channel").unwrap_or("");
        let levels = self.levels.get(&cx.now.conn).map_or(&[][..], Vec::as_slice);
        let Some((_, least)) = levels.iter().find(|(uri, _)| uri == channel) else {
            return;
        };
        let Some(payload) = params.get("payload") else {
            return;
        };
        let scopes = list(payload, "resourceLogs").iter().flat_map(|it| list(it, "scopeLogs"));
        for record in scopes.flat_map(|scope| list(scope, "logRecords")) {
            let Some(severity) = record.get("severityNumber").and_then(Value::as_u64) else {
                continue;
            };
            out.seen(Rule::TelemetryLevel);
            if severity < *least {
                let message = format!(
                    "expected a severity of at least {least} on `{channel}`, found {severity}"
                );
                out.broken(Rule::TelemetryLevel, message, &[cx.now.line]);
            }
        }
    }
}

/// Judges whether log records contain the address of a canvas.
fn unaddressed(address: &CanvasAddress, line: u64, frame: &Frame, out: &mut FindingSink) {
    let Frame::Text(text) = frame else { return };
    let CanvasAddress { url, escaped, line: told, .. } = address;
    out.seen(Rule::TelemetryAddresses);
    if text.contains(url.as_str()) || text.contains(escaped.as_str()) {
        let message = format!("expected no URL of a canvas in log records, found `{url}`");
        out.broken(Rule::TelemetryAddresses, message, &[*told, line]);
    }
}

fn payload(cx: &OracleContext, method: &str, params: &Value, out: &mut FindingSink) {
    let Some((_, member)) = PAYLOADS.iter().find(|(name, _)| *name == method) else {
        return;
    };
    out.seen(Rule::TelemetryPayload);
    let found = params.get("payload").and_then(|it| it.get(member));
    if found.and_then(Value::as_array).is_none() {
        let message = format!(
            "expected a list `{member}` in the payload of `{method}`, found another value or none"
        );
        out.broken(Rule::TelemetryPayload, message, &[cx.now.line]);
    }
}
