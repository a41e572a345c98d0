//! Telemetry as it was subscribed to: the payload of each signal, log records from their level on.
//!
//! A level is known by the URI that it expands to: the host's template with each name of a level. Addresses of canvases are known
//! from their states, and in no log record, whichever of the two comes first.
//!
//! Knows: templates, severities. Never knows: what is logged, or who listens.
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

use super::catalogue::Rule;
use super::check::{CheckFamily, FindingSink};
use super::context::OracleContext;
use super::members::{list, text};
use super::step::OracleStep;

/// Names of levels, and the severity that each begins with. Source: OpenTelemetry, log data model.
const LEVELS: &[(&str, u64)] =
    &[("trace", 1), ("debug", 5), ("info", 9), ("warn", 13), ("error", 17), ("fatal", 21)];

/// The action that says where a canvas is shown.
const CANVAS: &str = "canvas/stateChanged";
/// The notification of log records.
const LOGS: &str = "otlp/exportLogs";

/// What the notifications of a signal carry. Source: OTLP/JSON, the export requests.
const PAYLOADS: &[(&str, &str)] = &[
    (LOGS, "resourceLogs"),
    ("otlp/exportTraces", "resourceSpans"),
    ("otlp/exportMetrics", "resourceMetrics"),
];

/// How the URIs of telemetry begin.
const SCHEME: &str = "ahp-otlp:";
/// Channels of levels that are remembered of one connection: every level, in either case.
const CASES: usize = 2;

/// Addresses that are looked for, and log records that are looked through once more for a new one.
const MAX_KEPT: usize = 200;
/// A shorter address may stand anywhere.
const MIN_ADDRESS: usize = 10;

/// Where a canvas is shown.
struct CanvasAddress {
    url: String,
    /// The other way in which JSON may write it.
    escaped: String,
    /// The line that tells it.
    line: u64,
}

/// What is known of telemetry, and what must not be in it.
#[derive(Default)]
pub(super) struct TelemetryChecks {
    /// The least severity of each channel that a level expands to, by connection.
    levels: HashMap<ConnId, Vec<(String, u64)>>,
    /// Where canvases are shown.
    addresses: Vec<CanvasAddress>,
    /// The latest log records.
    logs: VecDeque<(u64, Arc<Frame>)>,
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
    /// A canvas is shown somewhere.
    fn shown(&mut self, cx: &OracleContext, canvas: &Value, out: &mut FindingSink) {
        let Some(url) = canvas["url"].as_str().filter(|url| url.len() >= MIN_ADDRESS) else {
            return;
        };
        let known = self.addresses.iter().any(|known| known.url == url);
        if known || self.addresses.len() >= MAX_KEPT {
            return;
        }
        let (url, line) = (url.to_owned(), cx.now.line);
        let address = CanvasAddress { escaped: url.replace('/', "\\/"), url, line };
        for (line, frame) in &self.logs {
            unaddressed(&address, *line, frame, out);
        }
        self.addresses.push(address);
    }

    /// Log records came.
    fn logged(&mut self, cx: &OracleContext, seen: &SeenFrame, out: &mut FindingSink) {
        for address in &self.addresses {
            unaddressed(address, cx.now.line, &seen.frame, out);
        }
        if self.logs.len() >= MAX_KEPT {
            self.logs.pop_front();
        }
        self.logs.push_back((cx.now.line, Arc::clone(&seen.frame)));
    }

    fn declared(&mut self, cx: &OracleContext, result: &Value, out: &mut FindingSink) {
        let Some(members) = result.get("telemetry").and_then(Value::as_object) else {
            return;
        };
        for (name, uri) in members.iter().filter_map(|(name, uri)| Some((name, uri.as_str()?))) {
            out.seen(Rule::TelemetryPayload);
            if !uri.starts_with(SCHEME) {
                let message =
                    format!("expected `{SCHEME}` before the channel of `{name}`, found `{uri}`");
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

    /// Every record of a batch against the level of its channel.
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
                let message =
                    format!("expected severity {least} or more on `{channel}`, found {severity}");
                out.broken(Rule::TelemetryLevel, message, &[cx.now.line]);
            }
        }
    }
}

/// Holds log records against the address of a canvas.
fn unaddressed(address: &CanvasAddress, line: u64, frame: &Frame, out: &mut FindingSink) {
    let Frame::Text(text) = frame else { return };
    let CanvasAddress { url, escaped, line: told } = address;
    out.seen(Rule::TelemetryAddresses);
    if text.contains(url.as_str()) || text.contains(escaped.as_str()) {
        let message = format!("expected no address of a canvas in log records, found `{url}`");
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
        let message = format!("expected a list of `{member}` in the payload of `{method}`");
        out.broken(Rule::TelemetryPayload, message, &[cx.now.line]);
    }
}
