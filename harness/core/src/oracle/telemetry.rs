//! Telemetry as it was subscribed to: the payload of each signal, log records from their level on.
//!
//! A level is known by the URI that it expands to: the host's template with each name of a level.
//!
//! Knows: templates, severities. Never knows: what is logged, or who listens.
//!
//! Start at [`Telemetry`].

use std::collections::HashMap;

use crate::transcript::ConnId;
use crate::wire::json::Value;
use crate::wire::message::Message;
use crate::wire::template::{expand, uses};

use super::catalogue::Rule;
use super::check::{Check, Sink};
use super::context::Context;
use super::members::{list, text};
use super::step::Step;

/// Names of levels, and the severity that each begins with. Source: OpenTelemetry, log data model.
const LEVELS: &[(&str, u64)] =
    &[("trace", 1), ("debug", 5), ("info", 9), ("warn", 13), ("error", 17), ("fatal", 21)];

/// What the notifications of a signal carry. Source: OTLP/JSON, the export requests.
const PAYLOADS: &[(&str, &str)] = &[
    ("otlp/exportLogs", "resourceLogs"),
    ("otlp/exportTraces", "resourceSpans"),
    ("otlp/exportMetrics", "resourceMetrics"),
];

/// How the URIs of telemetry begin.
const SCHEME: &str = "ahp-otlp:";
/// Channels of levels that are remembered of one connection: every level, in either case.
const CASES: usize = 2;

/// The least severity of each channel that a level expands to, by connection.
#[derive(Default)]
pub(super) struct Telemetry {
    levels: HashMap<ConnId, Vec<(String, u64)>>,
}

impl Check for Telemetry {
    fn step(&mut self, cx: &Context, step: &Step<'_>, out: &mut Sink) {
        match step {
            Step::Answered { request, message } if request.method == "initialize" => {
                if let Some(result) = message.result() {
                    self.declared(cx, result, out);
                }
            }
            Step::Notified { seen, method, .. } if method.starts_with("otlp/") => {
                if let Some(params) = seen.message().map(Message::params) {
                    payload(cx, method, params, out);
                    self.records(cx, params, out);
                }
            }
            Step::Closed => drop(self.levels.remove(&cx.now.conn)),
            _ => {}
        }
    }
}

impl Telemetry {
    fn declared(&mut self, cx: &Context, result: &Value, out: &mut Sink) {
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
    fn records(&self, cx: &Context, params: &Value, out: &mut Sink) {
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

fn payload(cx: &Context, method: &str, params: &Value, out: &mut Sink) {
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
