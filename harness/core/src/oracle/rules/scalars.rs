//! Checks single values: times are ISO 8601, counts are not negative, URIs have a scheme.
//!
//! The shape checks judge JSON types, including times that older versions write as numbers. Only the host's own
//! values are judged: an action with an origin contains a client's values.
//!
//! Knows: the form of each member. Never knows: the meaning of the values.
//!
//! Start at [`members_of`].

use crate::wire::json::Value;
use crate::wire::message::Message;

use crate::oracle::catalogue::Rule;
use crate::oracle::check::{CheckFamily, FindingSink};
use crate::oracle::context::OracleContext;
use crate::oracle::members::{given, list};
use crate::oracle::scalar_form::ScalarForm::{Count, Time, Uri};
use crate::oracle::scalar_form::{ScalarForm, ScalarMembers, fitting};
use crate::oracle::step::OracleStep;

const SUMMARY: ScalarMembers = &[
    ("resource", Uri),
    ("createdAt", Time),
    ("modifiedAt", Time),
    ("changes.additions", Count),
    ("changes.deletions", Count),
    ("changes.files", Count),
    ("annotations.annotationCount", Count),
    ("annotations.entryCount", Count),
];
const RUN: ScalarMembers =
    &[("createdAt", Time), ("startedAt", Time), ("completedAt", Time), ("scheduledFor", Time)];

/// Returns the values in an action that are judged: the name of the action's member that contains them, and their paths
/// with their forms; `None` for actions without such values. The name is empty if the values are in the action itself.
fn members_of(action_type: &str) -> Option<(&'static str, ScalarMembers)> {
    Some(match action_type {
        "root/activeSessionsChanged" => ("", &[("activeSessions", Count)]),
        "session/chatAdded" => ("summary", SUMMARY),
        "session/chatUpdated" => ("changes", SUMMARY),
        "chat/usage" | "session/usage" => {
            let tokens: ScalarMembers =
                &[("inputTokens", Count), ("outputTokens", Count), ("cacheReadTokens", Count)];
            ("usage", tokens)
        }
        "terminal/commandExecuted" => ("", &[("timestamp", Count)]),
        "terminal/commandFinished" => ("", &[("durationMs", Count)]),
        "terminal/resized" => ("", &[("cols", Count), ("rows", Count)]),
        "terminal/cwdChanged" => ("", &[("cwd", Uri)]),
        "automation/set" => (
            "automation",
            &[
                ("resource", Uri),
                ("createdAt", Time),
                ("modifiedAt", Time),
                ("nextRunAt", Time),
                ("runCount", Count),
            ],
        ),
        "automationRun/lifecycleChanged" => ("lifecycle", RUN),
        "automationRun/sessionSet" => ("", &[("session", Uri)]),
        _ => return None,
    })
}

/// The paths and forms of the values that are judged in states of any kind.
const STATE: ScalarMembers = &[
    ("resource", Uri),
    ("modifiedAt", Time),
    ("terminals.resource", Uri),
    ("chats.resource", Uri),
    ("chats.modifiedAt", Time),
    ("annotations.annotationCount", Count),
    ("annotations.entryCount", Count),
    ("lifecycle.createdAt", Time),
    ("lifecycle.startedAt", Time),
    ("lifecycle.completedAt", Time),
    ("entries.createdAt", Time),
    ("entries.modifiedAt", Time),
];

/// The checks of scalars. These checks need no state beyond the step.
pub(super) struct ScalarChecks;

impl CheckFamily for ScalarChecks {
    fn step(&mut self, cx: &OracleContext, step: &OracleStep<'_>, out: &mut FindingSink) {
        match step {
            OracleStep::Envelope(delivery) => {
                let envelope = &delivery.envelope;
                let rows = members_of(envelope.action_type).filter(|_| envelope.origin.is_none());
                if let Some((holder, members)) = rows {
                    let holder = match holder {
                        "" => Some(envelope.action),
                        name => given(envelope.action, name),
                    };
                    holder.into_iter().for_each(|holder| all(cx, holder, members, out));
                }
            }
            OracleStep::Snapshot { state, .. } => all(cx, state, STATE, out),
            OracleStep::Answered { request, message } if request.method == "listSessions" => {
                let items = message.result().map_or(&[][..], |result| list(result, "items"));
                items.iter().for_each(|summary| all(cx, summary, SUMMARY, out));
            }
            OracleStep::Notified { seen, method, .. } => {
                let holder = match *method {
                    "root/sessionAdded" => "summary",
                    "root/sessionSummaryChanged" => "changes",
                    _ => return,
                };
                let params = seen.message().map(Message::params);
                if let Some(holder) = params.and_then(|params| given(params, holder)) {
                    all(cx, holder, SUMMARY, out);
                }
            }
            _ => {}
        }
    }
}

fn all(cx: &OracleContext, holder: &Value, members: ScalarMembers, out: &mut FindingSink) {
    for (path, form) in members {
        one(cx, holder, path, path, *form, out);
    }
}

/// Judges the values at a path. `rest` is the part of the path that is not followed yet. Invariant L8.
fn one(
    cx: &OracleContext,
    value: &Value,
    rest: &str,
    path: &str,
    form: ScalarForm,
    out: &mut FindingSink,
) {
    if let Value::Array(items) = value {
        items.iter().for_each(|item| one(cx, item, rest, path, form, out));
        return;
    }
    if !rest.is_empty() {
        let (name, rest) = rest.split_once('.').unwrap_or((rest, ""));
        if let Some(value) = given(value, name) {
            one(cx, value, rest, path, form, out);
        }
        return;
    }
    let Some((fits, expected)) = fitting(form, value) else {
        return;
    };
    out.seen(Rule::ScalarForms);
    if !fits {
        let message = format!("expected {expected} at `{path}`, found {value}");
        out.broken(Rule::ScalarForms, message, &[cx.now.line]);
    }
}
