//! Variants of the ends of turns and calls: stop reasons, cancellations, rejections, errors.
//!
//! Knows: answers to prompts, cancels. Never knows: the effect of tools.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use crate::wire::json::{Value, json};

use super::rewriting::{
    AgentVariant, CallReportKind, MessageFlow, OpenPrompts, ToldCall, VariantLink, chunk, key,
    session_of, told_call, updating,
};
use super::row::{AgentVariantRow, CALLS, CANCEL, TURN, offering_less, row};

/// Replaces the stop reason of turns that were not cancelled by this stop reason.
struct OtherReason(&'static str);

impl AgentVariant for OtherReason {
    fn on_agent_message(
        &mut self,
        link: &VariantLink<'_>,
        mut message: Value,
        flow: &mut MessageFlow,
    ) {
        let prompt = link.answers == Some("session/prompt");
        if prompt && message["result"]["stopReason"] == "end_turn" {
            message["result"]["stopReason"] = json!(self.0);
        }
        flow.to_client.push(message);
    }
}

/// Sends updates between the cancellation of a turn and the response to its prompt.
struct LastWords {
    prompts: OpenPrompts,
    make: fn(&str) -> Vec<Value>,
}

impl LastWords {
    fn of(make: fn(&str) -> Vec<Value>) -> Box<dyn AgentVariant> {
        Box::new(LastWords { prompts: OpenPrompts::default(), make })
    }
}

impl AgentVariant for LastWords {
    fn on_client_message(&mut self, _: &VariantLink<'_>, message: Value, flow: &mut MessageFlow) {
        self.prompts.heard(&message);
        let session = session_of(&message);
        if message["method"] == "session/cancel" && self.prompts.is_open(session) {
            flow.to_client.extend((self.make)(session));
        }
        flow.to_agent.push(message);
    }

    fn on_agent_message(&mut self, link: &VariantLink<'_>, message: Value, flow: &mut MessageFlow) {
        self.prompts.ended(link, &message);
        flow.to_client.push(message);
    }
}

/// Delays the agent's response to a prompt that the client has cancelled.
struct SlowToStop;

impl AgentVariant for SlowToStop {
    fn delay(&mut self, _: &VariantLink<'_>, message: &Value) -> Duration {
        let cancelled = message["result"]["stopReason"] == "cancelled";
        Duration::from_secs(if cancelled { 2 } else { 0 })
    }
}

/// Does not report the end of the calls of a cancelled turn.
#[derive(Default)]
struct LeftOpen {
    prompts: OpenPrompts,
    cancelled: HashSet<String>,
}

impl AgentVariant for LeftOpen {
    fn on_client_message(&mut self, _: &VariantLink<'_>, message: Value, flow: &mut MessageFlow) {
        self.prompts.heard(&message);
        let session = session_of(&message);
        if message["method"] == "session/cancel" && self.prompts.is_open(session) {
            self.cancelled.insert(session.to_owned());
        }
        flow.to_agent.push(message);
    }

    fn on_agent_message(
        &mut self,
        link: &VariantLink<'_>,
        mut message: Value,
        flow: &mut MessageFlow,
    ) {
        if let Some(session) = self.prompts.ended(link, &message) {
            self.cancelled.remove(&session);
        }
        let over = told_call(&mut message).is_some_and(|call| {
            call.told == CallReportKind::Update && self.cancelled.contains(&call.session)
        });
        if !over {
            flow.to_client.push(message);
        }
    }
}

/// Reports the calls of a cancelled turn as completed.
#[derive(Default)]
struct CompletedByCancel {
    open: LeftOpen,
}

impl AgentVariant for CompletedByCancel {
    fn on_client_message(
        &mut self,
        link: &VariantLink<'_>,
        message: Value,
        flow: &mut MessageFlow,
    ) {
        self.open.on_client_message(link, message, flow);
    }

    fn on_agent_message(
        &mut self,
        link: &VariantLink<'_>,
        mut message: Value,
        flow: &mut MessageFlow,
    ) {
        if let Some(session) = self.open.prompts.ended(link, &message) {
            self.open.cancelled.remove(&session);
        }
        if let Some(call) = told_call(&mut message).filter(ToldCall::is_end)
            && self.open.cancelled.contains(&call.session)
        {
            call.members.insert("status", json!("completed"));
        }
        flow.to_client.push(message);
    }
}

/// Reports the end of calls immediately after the response to their prompt.
#[derive(Default)]
struct EndsAfterTheTurn {
    prompts: OpenPrompts,
    held: Vec<(String, Value)>,
    cancelled: HashSet<String>,
}

impl EndsAfterTheTurn {
    fn give(&mut self, session: &str, flow: &mut MessageFlow) {
        let all = std::mem::take(&mut self.held).into_iter();
        let (own, others): (Vec<_>, _) = all.partition(|(of, _)| of == session);
        self.held = others;
        flow.to_client.extend(own.into_iter().map(|(_, message)| message));
    }
}

impl AgentVariant for EndsAfterTheTurn {
    fn on_client_message(&mut self, _: &VariantLink<'_>, message: Value, flow: &mut MessageFlow) {
        self.prompts.heard(&message);
        if message["method"] == "session/cancel" {
            let session = session_of(&message).to_owned();
            self.give(&session, flow);
            self.cancelled.insert(session);
        }
        flow.to_agent.push(message);
    }

    fn on_agent_message(
        &mut self,
        link: &VariantLink<'_>,
        mut message: Value,
        flow: &mut MessageFlow,
    ) {
        let ended = self.prompts.ended(link, &message);
        let held = told_call(&mut message)
            .filter(|call| call.told == CallReportKind::Update && call.is_end())
            .map(|call| call.session)
            .filter(|session| !self.cancelled.contains(session));
        match held.filter(|session| self.prompts.is_open(session)) {
            Some(session) => self.held.push((session, message)),
            None => flow.to_client.push(message),
        }
        if let Some(session) = ended {
            self.cancelled.remove(&session);
            self.give(&session, flow);
        }
    }
}

/// Reports a call as soon as it is allowed, and omits calls that are not allowed.
#[derive(Default)]
struct ReportedWhenAllowed {
    /// The reports that wait for a decision about their call.
    held: HashMap<(String, String), Value>,
    /// The open permission requests, each with its call and the ids of the options that allow it.
    open: HashMap<String, ((String, String), Vec<Value>)>,
    last: Option<((String, String), Value)>,
    denied: HashSet<(String, String)>,
}

impl AgentVariant for ReportedWhenAllowed {
    fn on_client_message(&mut self, _: &VariantLink<'_>, message: Value, flow: &mut MessageFlow) {
        let response = message.get("method").is_none();
        let id = message.get("id").filter(|_| response).map(key);
        if let Some((call, allowing)) = id.and_then(|id| self.open.remove(&id)) {
            let report = self.held.remove(&call);
            match message.pointer("/result/outcome/optionId") {
                Some(id) if allowing.contains(id) => flow.to_client.extend(report),
                _ => drop(report.map(|_| self.denied.insert(call))),
            }
        }
        flow.to_agent.push(message);
    }

    fn on_agent_message(
        &mut self,
        _: &VariantLink<'_>,
        mut message: Value,
        flow: &mut MessageFlow,
    ) {
        let call = told_call(&mut message).map(|call| (call.told, call.key()));
        let last = self.last.take();
        match (call, last) {
            (Some((CallReportKind::Permission, id)), Some((held, report))) if id == held => {
                self.open.insert(key(&message["id"]), (id.clone(), allowing(&message)));
                self.held.insert(id, report);
            }
            (Some((CallReportKind::First, id)), last) => {
                flow.to_client.extend(last.map(|(_, report)| report));
                self.last = Some((id, message));
                return;
            }
            (Some((CallReportKind::Update, id)), _)
                if self.denied.contains(&id) || self.held.contains_key(&id) =>
            {
                return;
            }
            (_, last) => flow.to_client.extend(last.map(|(_, report)| report)),
        }
        flow.to_client.push(message);
    }
}

/// Returns the ids of the options of a permission request that allow the call.
fn allowing(request: &Value) -> Vec<Value> {
    let options = request["params"]["options"].as_array().into_iter().flatten();
    let allows = |it: &&Value| it["kind"].as_str().is_some_and(|kind| kind.starts_with("allow"));
    options.filter(allows).map(|option| option["optionId"].clone()).collect()
}

/// The way in which the agent reports a rejected call.
#[derive(Clone, Copy, Eq, PartialEq)]
enum RejectedReport {
    Completed,
    Untold,
    /// The call is reported as failed; the turn ends with `cancelled` if the outcome of the request was
    /// `cancelled`.
    EndsCancelled,
    /// The call is reported as failed; the turn ends with `refusal`.
    EndsRefused,
}

/// Changes the reports of rejected calls.
struct RejectedCalls {
    way: RejectedReport,
    prompts: OpenPrompts,
    /// The open permission requests: the session, the call, and the ids of the options that allow it.
    open: HashMap<String, (String, String, Vec<Value>)>,
    calls: HashSet<(String, String)>,
    sessions: HashSet<String>,
}

impl RejectedCalls {
    fn told(way: RejectedReport) -> Box<dyn AgentVariant> {
        Box::new(RejectedCalls {
            way,
            prompts: OpenPrompts::default(),
            open: HashMap::new(),
            calls: HashSet::new(),
            sessions: HashSet::new(),
        })
    }
}

impl AgentVariant for RejectedCalls {
    fn on_client_message(&mut self, _: &VariantLink<'_>, message: Value, flow: &mut MessageFlow) {
        self.prompts.heard(&message);
        let response = message.get("method").is_none();
        let id = message.get("id").filter(|_| response).map(key);
        if let Some((session, call, allowing)) = id.and_then(|id| self.open.remove(&id)) {
            let outcome = &message["result"]["outcome"];
            let chosen = outcome.get("optionId").filter(|_| outcome["outcome"] == "selected");
            if !chosen.is_some_and(|id| allowing.contains(id)) {
                if self.way == RejectedReport::EndsRefused || outcome["outcome"] == "cancelled" {
                    self.sessions.insert(session.clone());
                }
                self.calls.insert((session, call));
            }
        }
        flow.to_agent.push(message);
    }

    fn on_agent_message(
        &mut self,
        link: &VariantLink<'_>,
        mut message: Value,
        flow: &mut MessageFlow,
    ) {
        if let Some(session) = self.prompts.ended(link, &message) {
            let ended =
                self.sessions.remove(&session) && message["result"]["stopReason"] == "end_turn";
            match self.way {
                RejectedReport::EndsCancelled if ended => {
                    message["result"]["stopReason"] = json!("cancelled")
                }
                RejectedReport::EndsRefused if ended => {
                    message["result"]["stopReason"] = json!("refusal")
                }
                _ => {}
            }
        }
        let id = &message["id"].clone();
        if let Some(call) = told_call(&mut message) {
            let known = call.key();
            if call.told == CallReportKind::Permission {
                let (session, call) = known;
                let allowing = allowing(&message);
                self.open.insert(key(id), (session, call, allowing));
            } else if call.is_end() && self.calls.contains(&known) {
                match self.way {
                    RejectedReport::Completed => {
                        call.members.insert("status", json!("completed"));
                    }
                    RejectedReport::Untold => return,
                    RejectedReport::EndsCancelled | RejectedReport::EndsRefused => {}
                }
            }
        }
        flow.to_client.push(message);
    }
}

/// Treats `$/cancel_request` for a prompt as a cancellation of its turn.
struct CancelledRequests {
    /// Whether the agent answers the prompt with the error -32800.
    error: bool,
    prompts: OpenPrompts,
    cancelled: HashSet<String>,
}

impl CancelledRequests {
    fn answered(error: bool) -> Box<dyn AgentVariant> {
        let (prompts, cancelled) = (OpenPrompts::default(), HashSet::new());
        Box::new(CancelledRequests { error, prompts, cancelled })
    }
}

impl AgentVariant for CancelledRequests {
    fn on_client_message(&mut self, _: &VariantLink<'_>, message: Value, flow: &mut MessageFlow) {
        self.prompts.heard(&message);
        let id = key(&message["params"]["requestId"]);
        let session = self.prompts.sessions.get(&id);
        match session.filter(|_| message["method"] == "$/cancel_request") {
            Some(session) => {
                let params = json!({"sessionId": (session.as_str())});
                let method = "session/cancel";
                flow.to_agent.push(json!({"jsonrpc": "2.0", "method": method, "params": params}));
                self.cancelled.insert(id);
            }
            None => flow.to_agent.push(message),
        }
    }

    fn on_agent_message(&mut self, link: &VariantLink<'_>, message: Value, flow: &mut MessageFlow) {
        let ended = self.prompts.ended(link, &message).is_some();
        if ended && self.cancelled.remove(&key(&message["id"])) && self.error {
            let error = json!({"code": -32800, "message": "the request was cancelled"});
            let id = message["id"].clone();
            return flow.to_client.push(json!({"jsonrpc": "2.0", "id": id, "error": error}));
        }
        flow.to_client.push(message);
    }
}

/// Changes the member `error` of each error response of the agent.
struct ChangedErrors(fn(&mut Value));

impl AgentVariant for ChangedErrors {
    fn on_agent_message(
        &mut self,
        _: &VariantLink<'_>,
        mut message: Value,
        flow: &mut MessageFlow,
    ) {
        message.get_mut("error").into_iter().for_each(self.0);
        flow.to_client.push(message);
    }
}

fn instead_of_params(error: &mut Value, code: i64) {
    if error["code"] == -32602 {
        error["code"] = json!(code);
    }
}

/// Returns the updates of a call that fails.
fn last_call(session: &str) -> Vec<Value> {
    let call = json!({"sessionUpdate": "tool_call", "toolCallId": "last", "title": "Too late"});
    let end =
        json!({"sessionUpdate": "tool_call_update", "toolCallId": "last", "status": "failed"});
    vec![updating(session, call), updating(session, end)]
}

const REASON: &str =
    "Each of the five stop reasons may end a turn, but `cancelled` ends only a cancelled turn.";
const OPEN_END: &str =
    "The specification does not say how a rejected call is reported or how its turn ends.";
const CROSSING: &str = "Updates may follow `session/cancel` until the prompt is answered.";
const REQUESTS: &str =
    "A request that `$/cancel_request` names is answered by its result or by -32800.";
const CODES: &str =
    "The specification does not define the codes of errors, except for the codes of JSON-RPC.";
const ERRORS: &str = "JSON-RPC 2.0, section 5.1; schema v1 › Error";

/// The variants of stop reasons, cancellations, rejections and errors.
pub(super) const ROWS: &[AgentVariantRow] = &[
    offering_less(row(
        "ends-with-max-tokens",
        "Turns whose work is done end with `max_tokens`.",
        REASON,
        TURN,
        || Box::new(OtherReason("max_tokens")),
    )),
    offering_less(row(
        "ends-with-max-turn-requests",
        "Turns whose work is done end with `max_turn_requests`.",
        REASON,
        TURN,
        || Box::new(OtherReason("max_turn_requests")),
    )),
    offering_less(row(
        "ends-with-refusal",
        "Turns whose work is done end with `refusal`.",
        REASON,
        TURN,
        || Box::new(OtherReason("refusal")),
    )),
    row(
        "last-words",
        "A message chunk and a thought are sent between a cancel and the answer to its prompt.",
        CROSSING,
        CANCEL,
        || {
            LastWords::of(|session| {
                vec![
                    chunk(session, "agent_message_chunk", "As I was say"),
                    chunk(session, "agent_thought_chunk", "Oh."),
                ]
            })
        },
    ),
    row(
        "last-calls",
        "A call is reported and fails between a cancel and the answer to its prompt.",
        CROSSING,
        CANCEL,
        || LastWords::of(last_call),
    ),
    row(
        "slow-to-stop",
        "A prompt that was cancelled is answered 2 seconds later.",
        "The prompt is answered when all operations have stopped; the specification names no time.",
        CANCEL,
        || Box::new(SlowToStop),
    ),
    row(
        "calls-left-open-by-a-cancel",
        "The end of the calls of a cancelled turn is not reported.",
        "Version 1 has no status for calls of a cancelled turn, and does not say that they have to be updated.",
        CANCEL,
        || Box::new(LeftOpen::default()),
    ),
    row(
        "calls-completed-by-a-cancel",
        "The calls of a cancelled turn are reported as completed.",
        "Version 1 has no status for calls of a cancelled turn, and does not say which status they have.",
        CANCEL,
        || Box::new(CompletedByCancel::default()),
    ),
    // A scenario about a later call of the turn may mistake the late end of an earlier call for the report of the later
    // call.
    offering_less(row(
        "ends-after-the-turn",
        "The ends of calls are reported immediately after the answer to a prompt that was not cancelled.",
        "Updates outside of a turn are not forbidden, except for updates of calls after a cancel.",
        TURN,
        || Box::new(EndsAfterTheTurn::default()),
    )),
    offering_less(row(
        "reported-when-allowed",
        "A call that needs permission is reported once it is allowed, and not at all if it is rejected.",
        OPEN_END,
        CALLS,
        || Box::new(ReportedWhenAllowed::default()),
    )),
    row(
        "cancelled-requests-are-errors",
        "`$/cancel_request` for a prompt cancels it; it is answered with -32800.",
        REQUESTS,
        CANCEL,
        || CancelledRequests::answered(true),
    ),
    row(
        "cancelled-requests-are-cancels",
        "`$/cancel_request` for a prompt cancels it; it is answered with `cancelled`.",
        REQUESTS,
        CANCEL,
        || CancelledRequests::answered(false),
    ),
    row(
        "rejected-calls-complete",
        "Calls that were not allowed are reported as completed.",
        OPEN_END,
        CALLS,
        || RejectedCalls::told(RejectedReport::Completed),
    ),
    row(
        "rejected-calls-stay-open",
        "The end of calls that were not allowed is not reported.",
        OPEN_END,
        CALLS,
        || RejectedCalls::told(RejectedReport::Untold),
    ),
    row(
        "rejected-turns-are-refused",
        "A turn with a call that was not allowed ends with `refusal`.",
        OPEN_END,
        CALLS,
        || RejectedCalls::told(RejectedReport::EndsRefused),
    ),
    row(
        "dismissed-turns-are-cancelled",
        "A turn ends with `cancelled` if a request for permission was answered with `cancelled`.",
        OPEN_END,
        CALLS,
        || RejectedCalls::told(RejectedReport::EndsCancelled),
    ),
    row(
        "unknown-sessions-are-not-found",
        "Params that cannot be served are refused with -32002.",
        CODES,
        ERRORS,
        || Box::new(ChangedErrors(|error| instead_of_params(error, -32002))),
    ),
    row(
        "unknown-sessions-are-internal-errors",
        "Params that cannot be served are refused with -32603.",
        CODES,
        ERRORS,
        || Box::new(ChangedErrors(|error| instead_of_params(error, -32603))),
    ),
    row(
        "codes-of-its-own",
        "Params that cannot be served are refused with the code 4004.",
        CODES,
        ERRORS,
        || Box::new(ChangedErrors(|error| instead_of_params(error, 4004))),
    ),
    row(
        "acp-errors-with-data",
        "Each error has a custom `data`.",
        "`data` is optional, and the agent defines its value.",
        ERRORS,
        || {
            Box::new(ChangedErrors(|error| {
                if error.get("data").is_none() {
                    error["data"] = json!({"vendor.example/trace": ["none"]});
                }
            }))
        },
    ),
    row(
        "errors-with-null-data",
        "Each error has a `data` that is null.",
        "`data` is any JSON value.",
        ERRORS,
        || Box::new(ChangedErrors(|error| error["data"] = Value::Null)),
    ),
    row(
        "acp-empty-errors",
        "Error messages are empty strings.",
        "`message` is a short description; its wording is not specified.",
        ERRORS,
        || Box::new(ChangedErrors(|error| error["message"] = json!(""))),
    ),
    row(
        "acp-errors-in-another-language",
        "Error messages are long and not in English.",
        "`message` is a short description; its wording is not specified.",
        ERRORS,
        || {
            Box::new(ChangedErrors(|error| {
                error["message"] =
                    json!("Das geht so nicht: \u{1f6ab} \u{932f}\u{8aa4}\n".repeat(50));
            }))
        },
    ),
];
