//! Variants of the number and the time of a call's reports.
//!
//! Knows: statuses of calls. Never knows: the effect of calls, permissions.

use std::collections::HashMap;

use crate::wire::json::{Map, Value, json};

use super::rewriting::{
    AgentVariant, CallReportKind, MessageFlow, OpenPrompts, VariantLink, told_call, updating,
};
use super::row::{AgentVariantRow, CALLS, STATUS, offering_less, row};

/// Delays the first report of a call until the next message. If the next message reports the call as in
/// progress, merges the two.
#[derive(Default)]
struct InProgressAtOnce {
    held: Option<((String, String), Value)>,
}

impl AgentVariant for InProgressAtOnce {
    fn on_agent_message(
        &mut self,
        _: &VariantLink<'_>,
        mut message: Value,
        flow: &mut MessageFlow,
    ) {
        let call = told_call(&mut message);
        let (told, id) = call.as_ref().map(|call| (call.told, call.key())).unzip();
        let runs = call.is_some_and(|call| call.text("status") == "in_progress");
        if let Some((held, mut first)) = self.held.take() {
            if told == Some(CallReportKind::Update) && runs && id.as_ref() == Some(&held) {
                merge(&mut first, &message);
                return flow.to_client.push(first);
            }
            flow.to_client.push(first);
        }
        match id.filter(|_| told == Some(CallReportKind::First) && !runs) {
            Some(id) => self.held = Some((id, message)),
            None => flow.to_client.push(message),
        }
    }
}

/// Merges the members of an update into the report of its call.
fn merge(report: &mut Value, update: &Value) {
    let members = update["params"]["update"].as_object();
    for (name, value) in members.into_iter().flatten() {
        if name != "sessionUpdate" && name != "_meta" && !value.is_null() {
            report["params"]["update"][name.as_str()] = value.clone();
        }
    }
}

/// Reports each call once, at its end.
#[derive(Default)]
struct ReportedWhenOver {
    prompts: OpenPrompts,
    /// The calls that have not ended, in the order of their start.
    open: Vec<((String, String), Value)>,
}

impl ReportedWhenOver {
    /// Sends a report without terminals: the terminal of a finished call has been released.
    fn report(mut report: Value, flow: &mut MessageFlow) {
        let items = report.pointer_mut("/params/update/content").and_then(Value::as_array_mut);
        items.into_iter().for_each(|items| items.retain(|item| item["type"] != "terminal"));
        flow.to_client.push(report);
    }
}

impl AgentVariant for ReportedWhenOver {
    fn on_client_message(&mut self, _: &VariantLink<'_>, message: Value, flow: &mut MessageFlow) {
        self.prompts.heard(&message);
        flow.to_agent.push(message);
    }

    fn on_agent_message(
        &mut self,
        link: &VariantLink<'_>,
        mut message: Value,
        flow: &mut MessageFlow,
    ) {
        if let Some(session) = self.prompts.ended(link, &message) {
            let all = std::mem::take(&mut self.open).into_iter();
            let (own, others): (Vec<_>, _) = all.partition(|((of, _), _)| *of == session);
            self.open = others;
            own.into_iter().for_each(|(_, report)| Self::report(report, flow));
        }
        let call = told_call(&mut message).filter(|call| call.told != CallReportKind::Permission);
        let Some((id, first, over)) =
            call.map(|call| (call.key(), call.told == CallReportKind::First, call.is_end()))
        else {
            return flow.to_client.push(message);
        };
        let place = self.open.iter().position(|(open, _)| *open == id);
        let mut report = match place {
            Some(place) => self.open.remove(place).1,
            None if first => message.clone(),
            None => return Self::report(message, flow),
        };
        merge(&mut report, &message);
        match over {
            true => Self::report(report, flow),
            false => self.open.push((id, report)),
        }
    }
}

/// Sends further updates before or after an update with a status.
struct MoreUpdatesOfCalls {
    wanted: fn(&str) -> bool,
    /// A function that creates the updates to send before and after the given update.
    make: fn(&Map) -> (Vec<Value>, Vec<Value>),
    /// The members that the variant removes from the given update.
    loses: &'static [&'static str],
}

impl AgentVariant for MoreUpdatesOfCalls {
    fn on_agent_message(
        &mut self,
        _: &VariantLink<'_>,
        mut message: Value,
        flow: &mut MessageFlow,
    ) {
        let mut around = (Vec::new(), Vec::new());
        if let Some(call) = told_call(&mut message)
            && call.told == CallReportKind::Update
            && (self.wanted)(call.text("status"))
        {
            let (before, after) = (self.make)(call.members);
            call.members.retain(|name, _| !self.loses.iter().any(|lost| name == *lost));
            let id = call.text("toolCallId");
            let update = |mut update: Value| {
                update["sessionUpdate"] = json!("tool_call_update");
                update["toolCallId"] = json!(id);
                updating(&call.session, update)
            };
            around.0.extend(before.into_iter().map(update));
            around.1.extend(after.into_iter().map(update));
        }
        flow.to_client.extend(around.0);
        flow.to_client.push(message);
        flow.to_client.extend(around.1);
    }
}

fn ended(status: &str) -> bool {
    matches!(status, "completed" | "failed")
}

fn runs(status: &str) -> bool {
    status == "in_progress"
}

fn text(text: &str) -> Value {
    json!({"type": "content", "content": {"type": "text", "text": text}})
}

/// Returns updates with the growing content of a running call; each update has the whole content so far.
fn growing(_: &Map) -> (Vec<Value>, Vec<Value>) {
    let (one, two) = (text("ahp-"), text("ahp-ahp-"));
    let after =
        vec![json!({"content": [one]}), json!({"content": [two]}), json!({"content": [one, two]})];
    (Vec::new(), after)
}

/// Returns an update with the content of a finished call; the update precedes the call's end.
fn content_of(members: &Map) -> (Vec<Value>, Vec<Value>) {
    let content = members.get("content").filter(|content| !content.is_null());
    (content.into_iter().map(|content| json!({"content": content})).collect(), Vec::new())
}

/// Returns a second update with the final status, without content.
fn again(members: &Map) -> (Vec<Value>, Vec<Value>) {
    let status = members.get("status").cloned().unwrap_or_default();
    (Vec::new(), vec![json!({"status": status})])
}

/// Repeats the status `pending` in an update after the first report of a call that has not started.
#[derive(Default)]
struct PendingAgain {
    known: HashMap<(String, String), ()>,
}

impl AgentVariant for PendingAgain {
    fn on_agent_message(
        &mut self,
        _: &VariantLink<'_>,
        mut message: Value,
        flow: &mut MessageFlow,
    ) {
        let mut again = None;
        if let Some(call) = told_call(&mut message)
            && call.told == CallReportKind::First
            && matches!(call.text("status"), "" | "pending")
            && self.known.insert(call.key(), ()).is_none()
        {
            let update = json!({
                "sessionUpdate": "tool_call_update", "toolCallId": (call.text("toolCallId")),
                "status": "pending",
            });
            again = Some(updating(&call.session, update));
        }
        flow.to_client.push(message);
        flow.to_client.extend(again);
    }
}

const ANY_STATUS: &str = "The `status` of a `tool_call` is any of the four.";
const MORE: &str = "The agent may send further updates while a tool runs.";

/// The variants of reports and updates.
pub(super) const ROWS: &[AgentVariantRow] = &[
    row(
        "in-progress-at-once",
        "A call that needs no permission is in progress in its first report.",
        ANY_STATUS,
        STATUS,
        || Box::new(InProgressAtOnce::default()),
    ),
    offering_less(row(
        "reported-when-over",
        "Each call is reported once, at its end: as completed or failed.",
        "The `status` of a `tool_call` is any of the four; the specification does not say when a call has to be \
            reported.",
        CALLS,
        || Box::new(ReportedWhenOver::default()),
    )),
    row(
        "pending-again",
        "A call is pending in its first report and in an update.",
        "An update may repeat a status.",
        STATUS,
        || Box::new(PendingAgain::default()),
    ),
    row(
        "several-updates-in-progress",
        "A running call is reported three times as in progress.",
        MORE,
        CALLS,
        || {
            Box::new(MoreUpdatesOfCalls {
                wanted: runs,
                make: |_| (Vec::new(), vec![json!({"status": "in_progress"}); 2]),
                loses: &[],
            })
        },
    ),
    row(
        "growing-content",
        "The content of a running call is sent several times as it grows, each time as a whole.",
        "The content of an update replaces the previous content; further updates are allowed.",
        CALLS,
        || Box::new(MoreUpdatesOfCalls { wanted: runs, make: growing, loses: &[] }),
    ),
    row(
        "content-before-the-end",
        "The content of a call is sent in a separate update before its end.",
        MORE,
        CALLS,
        || Box::new(MoreUpdatesOfCalls { wanted: ended, make: content_of, loses: &["content"] }),
    ),
    row(
        "ends-told-twice",
        "The end of each call is reported twice.",
        "An update may repeat a status.",
        STATUS,
        || Box::new(MoreUpdatesOfCalls { wanted: ended, make: again, loses: &[] }),
    ),
];
