//! Variants of permission requests.
//!
//! Knows: requests for permission and their options. Never knows: the effect of tools.

use std::collections::{HashMap, HashSet};

use crate::agent::acp::AgentConfig;
use crate::wire::json::{Value, json};

use super::rewriting::{
    AgentVariant, CallReportKind, MessageFlow, ToldCall, VariantLink, key, session_of, success,
    told_call,
};
use super::row::{AgentVariantRow, CANCEL, OPTION, PERMISSION, offering_less, row};

fn asks(message: &Value) -> bool {
    message["method"] == "session/request_permission"
}

/// Changes the options of each permission request.
struct ChangedOptions(fn(&mut Vec<Value>));

impl AgentVariant for ChangedOptions {
    fn on_agent_message(
        &mut self,
        _: &VariantLink<'_>,
        mut message: Value,
        flow: &mut MessageFlow,
    ) {
        if asks(&message) {
            let options = message.pointer_mut("/params/options").and_then(Value::as_array_mut);
            options.into_iter().for_each(self.0);
        }
        flow.to_client.push(message);
    }
}

/// Offers each option of a permission request twice.
struct OptionsTwice;

/// The suffix of the id of the second copy.
const SECOND: &str = "-here";

impl AgentVariant for OptionsTwice {
    fn on_client_message(
        &mut self,
        _: &VariantLink<'_>,
        mut message: Value,
        flow: &mut MessageFlow,
    ) {
        if let Some(id) = message.pointer_mut("/result/outcome/optionId")
            && let Some(first) = id.as_str().and_then(|id| id.strip_suffix(SECOND))
        {
            *id = json!(first.to_owned());
        }
        flow.to_agent.push(message);
    }

    fn on_agent_message(
        &mut self,
        _: &VariantLink<'_>,
        mut message: Value,
        flow: &mut MessageFlow,
    ) {
        let options = message.pointer_mut("/params/options").and_then(Value::as_array_mut);
        if let Some(options) = options {
            let mut more = options.clone();
            for option in &mut more {
                let id = option["optionId"].as_str().unwrap_or_default();
                option["optionId"] = json!(format!("{id}{SECOND}"));
                option["name"] = json!("The same, for this folder");
            }
            options.extend(more);
        }
        flow.to_client.push(message);
    }
}

/// Replaces the ids of options by ids that differ in each request.
#[derive(Default)]
struct OtherOptionIds {
    count: u64,
    own: HashMap<String, Value>,
}

impl AgentVariant for OtherOptionIds {
    fn on_client_message(
        &mut self,
        _: &VariantLink<'_>,
        mut message: Value,
        flow: &mut MessageFlow,
    ) {
        if let Some(id) = message.pointer_mut("/result/outcome/optionId")
            && let Some(own) = id.as_str().and_then(|id| self.own.get(id))
        {
            *id = own.clone();
        }
        flow.to_agent.push(message);
    }

    fn on_agent_message(
        &mut self,
        _: &VariantLink<'_>,
        mut message: Value,
        flow: &mut MessageFlow,
    ) {
        if asks(&message) {
            let options = message.pointer_mut("/params/options").and_then(Value::as_array_mut);
            for option in options.into_iter().flatten() {
                self.count += 1;
                let id = format!("{} \u{2713} {}", self.count, "x".repeat(200));
                let own = std::mem::replace(&mut option["optionId"], json!(id.as_str()));
                self.own.insert(id, own);
            }
        }
        flow.to_client.push(message);
    }
}

/// Never asks: answers every permission request as if the user had allowed the call once.
struct NeverAsks;

impl AgentVariant for NeverAsks {
    fn on_agent_message(&mut self, _: &VariantLink<'_>, message: Value, flow: &mut MessageFlow) {
        if !asks(&message) {
            return flow.to_client.push(message);
        }
        let mut options = message["params"]["options"].as_array().into_iter().flatten();
        let allows =
            |option: &&Value| option["kind"].as_str().is_some_and(|it| it.starts_with("allow"));
        let outcome = match options.find(allows) {
            Some(option) => {
                json!({"outcome": "selected", "optionId": (option["optionId"].clone())})
            }
            None => json!({"outcome": "cancelled"}),
        };
        flow.to_agent.push(success(&message["id"], json!({"outcome": outcome})));
    }
}

/// Makes the agent ask for permission before every call.
struct AlwaysAsks;

impl AgentVariant for AlwaysAsks {
    fn set_up(&self, config: &mut AgentConfig) {
        config.always_asks = true;
    }
}

/// Asks for permission a second time after a call was allowed.
#[derive(Default)]
struct AsksTwice {
    /// The open permission requests by id: the message, and the id of the original request if the request is a
    /// repetition.
    open: HashMap<String, (Value, Option<Value>)>,
    count: u64,
}

impl AgentVariant for AsksTwice {
    fn on_client_message(
        &mut self,
        _: &VariantLink<'_>,
        mut message: Value,
        flow: &mut MessageFlow,
    ) {
        let response = message.get("method").is_none();
        let id = message.get("id").filter(|_| response).map(key);
        match id.and_then(|id| self.open.remove(&id)) {
            Some((_, Some(own))) => {
                message["id"] = own;
                flow.to_agent.push(message);
            }
            Some((request, None)) if allowed_once(&request, &message) => {
                self.count += 1;
                let (id, own) = (json!(format!("again-{}", self.count)), request["id"].clone());
                let mut second = request;
                second["id"] = id.clone();
                self.open.insert(key(&id), (second.clone(), Some(own)));
                flow.to_client.push(second);
            }
            _ => flow.to_agent.push(message),
        }
    }

    fn on_agent_message(&mut self, _: &VariantLink<'_>, message: Value, flow: &mut MessageFlow) {
        if asks(&message) {
            self.open.insert(key(&message["id"]), (message.clone(), None));
        }
        flow.to_client.push(message);
    }
}

fn allowed_once(request: &Value, response: &Value) -> bool {
    let chosen = response.pointer("/result/outcome/optionId");
    let mut options = request["params"]["options"].as_array().into_iter().flatten();
    let once = |option: &Value| option["kind"] == "allow_once" && option.get("optionId") == chosen;
    options.any(once)
}

/// Reports a call immediately after its permission request, instead of before it.
#[derive(Default)]
struct AskedFirst {
    held: Option<Value>,
}

impl AgentVariant for AskedFirst {
    fn on_agent_message(
        &mut self,
        _: &VariantLink<'_>,
        mut message: Value,
        flow: &mut MessageFlow,
    ) {
        let call = told_call(&mut message).map(|call| (call.told, call.key()));
        let mut held = self.held.take();
        let own = held.as_mut().and_then(told_call).map(|call| call.key());
        match call {
            Some((CallReportKind::Permission, id)) if own.as_ref() == Some(&id) => {
                flow.to_client.push(message);
                flow.to_client.extend(held);
            }
            Some((CallReportKind::First, _)) => {
                flow.to_client.extend(held);
                self.held = Some(message);
            }
            _ => {
                flow.to_client.extend(held);
                flow.to_client.push(message);
            }
        }
    }
}

/// Omits the first report of a call that needs permission. The permission request takes the place of the
/// report, and only updates follow.
#[derive(Default)]
struct ReportedByAsking {
    /// The first reports of calls, held back until the permission request or an update for the call.
    held: Vec<Value>,
}

impl ReportedByAsking {
    fn take(&mut self, id: &(String, String)) -> Option<Value> {
        let of = |held: &mut Value| told_call(held).is_some_and(|call| call.key() == *id);
        let at = self.held.iter_mut().position(of)?;
        Some(self.held.remove(at))
    }
}

impl AgentVariant for ReportedByAsking {
    fn on_agent_message(
        &mut self,
        _: &VariantLink<'_>,
        mut message: Value,
        flow: &mut MessageFlow,
    ) {
        let call = told_call(&mut message).map(|call| (call.told, call.key()));
        match call {
            Some((CallReportKind::First, _)) => return self.held.push(message),
            Some((CallReportKind::Permission, id)) => {
                let held = self.take(&id);
                let reported = held.as_ref().and_then(|held| held["params"]["update"].as_object());
                if let Some(asked) = told_call(&mut message) {
                    for (name, value) in reported.into_iter().flatten() {
                        if name != "sessionUpdate" && !asked.members.contains_key(name) {
                            asked.members.insert(name.clone(), value.clone());
                        }
                    }
                }
            }
            Some((CallReportKind::Update, id)) => flow.to_client.extend(self.take(&id)),
            None if message.get("result").is_some() => flow.to_client.append(&mut self.held),
            None => {}
        }
        flow.to_client.push(message);
    }
}

/// Withdraws the open permission requests of a cancelled turn.
#[derive(Default)]
struct WithdrawnQuestions {
    open: Vec<(Value, String)>,
    told: HashSet<String>,
}

impl AgentVariant for WithdrawnQuestions {
    fn on_client_message(&mut self, _: &VariantLink<'_>, message: Value, flow: &mut MessageFlow) {
        if message["method"] == "session/cancel" {
            let session = session_of(&message);
            for (id, _) in self.open.iter().filter(|(_, of)| of == session) {
                if self.told.insert(key(id)) {
                    let params = json!({"requestId": (id.clone())});
                    let method = "$/cancel_request";
                    flow.to_client
                        .push(json!({"jsonrpc": "2.0", "method": method, "params": params}));
                }
            }
        } else if message.get("method").is_none() {
            self.open.retain(|(id, _)| Some(id) != message.get("id"));
        }
        flow.to_agent.push(message);
    }

    fn on_agent_message(&mut self, _: &VariantLink<'_>, message: Value, flow: &mut MessageFlow) {
        if asks(&message) {
            self.open.push((message["id"].clone(), session_of(&message).to_owned()));
        }
        flow.to_client.push(message);
    }
}

/// Changes the tool call in each permission request.
struct ChangedQuestions(fn(&mut ToldCall<'_>));

impl AgentVariant for ChangedQuestions {
    fn on_agent_message(
        &mut self,
        _: &VariantLink<'_>,
        mut message: Value,
        flow: &mut MessageFlow,
    ) {
        let call = told_call(&mut message).filter(|call| call.told == CallReportKind::Permission);
        call.into_iter().for_each(|mut call| (self.0)(&mut call));
        flow.to_client.push(message);
    }
}

fn keep(options: &mut Vec<Value>, end: &str) {
    options.retain(|option| option["kind"].as_str().is_some_and(|kind| kind.ends_with(end)));
}

const ANY_OPTIONS: &str =
    "`options` is a list of any length; the specification does not require one of each kind.";
const MAY_ASK: &str =
    "The agent may ask for permission before it runs a tool, but does not have to.";

/// Permission requests: whether, when and in which form the agent sends them.
pub(super) const ROWS: &[AgentVariantRow] = &[
    offering_less(row("never-asks", "Permission is never requested.", MAY_ASK, PERMISSION, || {
        Box::new(NeverAsks)
    })),
    row("always-asks", "Permission is requested before every call.", MAY_ASK, PERMISSION, || {
        Box::new(AlwaysAsks)
    }),
    offering_less(row(
        "asks-twice",
        "A call that was allowed once needs a second permission before it runs.",
        MAY_ASK,
        PERMISSION,
        || Box::new(AsksTwice::default()),
    )),
    row(
        "asks-first",
        "A call is reported immediately after its permission request.",
        "Version 1 does not say that a call has to be reported before permission is asked for it.",
        PERMISSION,
        || Box::new(AskedFirst::default()),
    ),
    offering_less(row(
        "reported-by-asking",
        "A call that needs permission is reported first by the request for it; after that only updates follow.",
        "Version 1 does not say that a call has to be reported before permission is asked for it, and an update may name \
         any call.",
        PERMISSION,
        || Box::new(ReportedByAsking::default()),
    )),
    row(
        "withdraws-its-questions",
        "When a turn is cancelled, its open permission requests are withdrawn by `$/cancel_request`.",
        "Either side may cancel its requests; the client still answers them.",
        CANCEL,
        || Box::new(WithdrawnQuestions::default()),
    ),
    row(
        "bare-questions",
        "The call in a permission request has only its id.",
        "The call is a ToolCallUpdate, of which only `toolCallId` is required.",
        "schema v1 › RequestPermissionRequest",
        || Box::new(ChangedQuestions(|call| call.members.retain(|name, _| name == "toolCallId"))),
    ),
    row(
        "questions-without-status",
        "The call in a permission request has no status.",
        "`status` of a ToolCallUpdate is optional.",
        "schema v1 › RequestPermissionRequest",
        || {
            Box::new(ChangedQuestions(|call| {
                call.members.remove("status");
            }))
        },
    ),
    row("options-reversed", "The options come in reverse order.", ANY_OPTIONS, OPTION, || {
        Box::new(ChangedOptions(|options| options.reverse()))
    }),
    row(
        "other-option-ids",
        "The options of each permission request have new, long ids.",
        "`optionId` is a string; an option is chosen by its id.",
        OPTION,
        || Box::new(OtherOptionIds::default()),
    ),
    offering_less(row(
        "options-for-once",
        "The options are to allow once and to reject once.",
        ANY_OPTIONS,
        OPTION,
        || Box::new(ChangedOptions(|options| keep(options, "_once"))),
    )),
    offering_less(row(
        "options-for-good",
        "The options are to allow always and to reject always.",
        ANY_OPTIONS,
        OPTION,
        || Box::new(ChangedOptions(|options| keep(options, "_always"))),
    )),
    offering_less(row("options-that-allow", "No option rejects.", ANY_OPTIONS, OPTION, || {
        Box::new(ChangedOptions(|options| {
            options.retain(|it| it["kind"].as_str().is_some_and(|kind| kind.starts_with("allow")));
        }))
    })),
    offering_less(row("no-options", "The list of options is empty.", ANY_OPTIONS, OPTION, || {
        Box::new(ChangedOptions(Vec::clear))
    })),
    row(
        "more-options-of-a-kind",
        "Each kind of option is offered twice, with different ids and names.",
        "Several options may be of the same kind.",
        OPTION,
        || Box::new(OptionsTwice),
    ),
    row(
        "options-without-words",
        "The names of all options are empty.",
        "`name` is a string; its wording is not specified.",
        OPTION,
        || Box::new(ChangedOptions(|all| all.iter_mut().for_each(|it| it["name"] = json!("")))),
    ),
];
