//! Expands the ACP steps of a scenario into tasks.
//!
//! Knows: the requests that an ACP client sends. Never knows: their results.

use crate::agent::mcp;
use crate::agent::mode::AgentMode;
use crate::peer::serving::AgentOffers;
use crate::scenario::bind::ValueTemplate;
use crate::scenario::parse::{ScenarioStep, WORK};
use crate::scenario::pattern::ValuePattern;
use crate::scenario::source::SourceSpan;
use crate::scenario::verbs::StepVerb;
use crate::wire::json::{Value, json};

use super::agent_waits::{CalledWait, TextsWait};
use super::case::ScenarioCase;
use super::case_peers::PeerId;
use super::goal::{RequestGoal, ResultUse};
use super::permission_reply::PermissionReply;
use super::side::AskingSetup;
use super::step_members::{merged, peer, peers, script, want};
use super::task::TaskAct;

/// The ACP version that clients request.
const VERSION: u64 = 1;
/// The name of the harness's own MCP server.
pub(super) const SERVER: &str = "ahp";

/// The placeholder in scripts for the agent's working directory. Tools need absolute paths.
const FOLDER: &str = "{work}";

/// Returns the tasks of the handshake. For an `open` step, the tasks that create a session are appended.
pub(super) fn opening(case: &mut ScenarioCase, step: &ScenarioStep) -> Vec<TaskAct> {
    let opens = step.verb == StepVerb::Open;
    let usual = asking(case).and_then(|asking| AgentOffers::named(&asking.offers));
    let offers = step.text("offers").and_then(AgentOffers::named).or(usual).unwrap_or_default();
    let mut acts = Vec::new();
    for peer in peers(case, step, "by") {
        if opens && !case.is_connected(peer) {
            acts.push(TaskAct::Connect(peer));
        }
        acts.push(TaskAct::Offer { peer, offers });
        let usual = vec![
            ("protocolVersion", ValueTemplate::fixed(step.span, json!(VERSION))),
            ("clientCapabilities", ValueTemplate::fixed(step.span, offers.capabilities())),
            ("clientInfo", ValueTemplate::fixed(step.span, client_info())),
        ];
        let more = if opens { None } else { step.template("params") };
        acts.push(TaskAct::Request {
            peer,
            method: "initialize".to_owned(),
            params: merged(step.span, usual, more),
            want: if opens { RequestGoal::Result(Some(speaks(step))) } else { want(step) },
            exact: false,
            keep: ResultUse { bind: step.text("as").map(str::to_owned), default_chat: None },
        });
        if opens {
            acts.extend(session(case, step, peer));
        }
    }
    acts
}

/// Returns the settings under which the agent asks for permission; `None` if the scenario needs no permission request
/// or the settings are unknown.
fn asking(case: &ScenarioCase) -> Option<&AskingSetup> {
    let needed = case.setup().scenario.needs.iter().any(|need| need == "ask");
    case.setup().side.asking.as_ref().filter(|_| needed)
}

/// Returns the pattern that the answer to `initialize` has to match. The pattern requires ACP version 1, because the
/// tested rules do not apply to other versions. It also contains the step's `declares` pattern for the agent's
/// capabilities, if the step has one.
fn speaks(step: &ScenarioStep) -> ValuePattern {
    let version = ValuePattern::equal(ValueTemplate::fixed(step.span, json!(VERSION)));
    let mut members = vec![("protocolVersion".to_owned(), version)];
    if let Some(declares) = step.pattern("declares") {
        members.push(("agentCapabilities".to_owned(), declares.clone()));
    }
    ValuePattern::map(step.span, members)
}

fn client_info() -> Value {
    json!({"name": "ahp-harness", "title": "AHP harness", "version": (env!("CARGO_PKG_VERSION"))})
}

/// Returns the tasks that create a session in the mode of the agent's profile.
fn session(case: &ScenarioCase, step: &ScenarioStep, peer: PeerId) -> Vec<TaskAct> {
    let span = step.span;
    let side = &case.setup().side;
    let name = step.text("session").unwrap_or("session");
    let request = |method: &str, params: ValueTemplate, want| TaskAct::Request {
        peer,
        method: method.to_owned(),
        params,
        want,
        exact: false,
        keep: ResultUse::default(),
    };
    let mut acts = Vec::new();
    if let Some(method) = &side.auth {
        let params = ValueTemplate::fixed(span, json!({"methodId": method}));
        acts.push(request("authenticate", params, RequestGoal::Result(None)));
    }
    let servers = match side.server.split_first() {
        Some((command, args)) => {
            let env = json!([{"name": (mcp::MARK_VARIABLE), "value": (mcp::MARK)}]);
            json!([{"name": SERVER, "command": command, "args": args, "env": env}])
        }
        None => json!([]),
    };
    let usual = vec![
        ("cwd", ValueTemplate::hole(span, WORK)),
        ("mcpServers", ValueTemplate::fixed(span, servers)),
    ];
    let made =
        ValuePattern::map(span, vec![("sessionId".to_owned(), ValuePattern::bind(span, name))]);
    let made = match step.pattern("made") {
        Some(wanted) => ValuePattern::both(made, wanted.clone()),
        None => made,
    };
    let params = merged(span, usual, step.template("config"));
    acts.push(request("session/new", params, RequestGoal::Result(Some(made))));
    let in_session = |key: &str, value: &str, more: Option<(&str, &str)>| {
        let mut members = vec![
            ("sessionId".to_owned(), ValueTemplate::hole(span, name)),
            (key.to_owned(), ValueTemplate::fixed(span, json!(value))),
        ];
        if let Some((key, value)) = more {
            members.push((key.to_owned(), ValueTemplate::fixed(span, json!(value))));
        }
        ValueTemplate::map(span, members)
    };
    let mode = asking(case).and_then(|asking| asking.mode.as_ref()).or(side.mode.as_ref());
    if let Some(mode) = mode {
        let params = in_session("modeId", mode, None);
        acts.push(request("session/set_mode", params, RequestGoal::Result(None)));
    }
    let option = asking(case).and_then(|asking| asking.option.as_ref());
    for (option, value) in side.options.iter().chain(option) {
        let params = in_session("configId", option, Some(("value", value)));
        acts.push(request("session/set_config_option", params, RequestGoal::Result(None)));
    }
    acts
}

/// Returns the task that sends a prompt, which consists of the text and the script. An agent that cannot follow
/// scripts gets the fixed prompt of its profile.
pub(super) fn prompt(case: &ScenarioCase, step: &ScenarioStep) -> Vec<TaskAct> {
    let span = step.span;
    let script = script(case, step).replace(FOLDER, &case.setup().side.work);
    let text = match (case.setup().agent, step.template("text")) {
        (AgentMode::Fixed, _) => {
            let text = case.setup().side.prompt.as_deref().unwrap_or("hello");
            ValueTemplate::fixed(span, json!(text))
        }
        (_, Some(text)) if script.is_empty() => text.clone(),
        (_, Some(text)) => text.followed_by(&format!("\n\n{script}")),
        (_, None) if script.is_empty() => ValueTemplate::fixed(span, json!("hello")),
        (_, None) => ValueTemplate::fixed(span, json!(script)),
    };
    let block = ValueTemplate::map(
        span,
        vec![
            ("type".to_owned(), ValueTemplate::fixed(span, json!("text"))),
            ("text".to_owned(), text),
        ],
    );
    let more = step.template("blocks").map(ValueTemplate::items).unwrap_or_default();
    let blocks = std::iter::once(block).chain(more.iter().cloned()).collect();
    let session = step.template("session").cloned();
    let members = vec![
        ("sessionId".to_owned(), session.unwrap_or_else(|| ValueTemplate::hole(span, "session"))),
        ("prompt".to_owned(), ValueTemplate::list(span, blocks)),
    ];
    vec![TaskAct::Ask {
        peer: peer(case, step, "by"),
        method: "session/prompt".to_owned(),
        params: ValueTemplate::map(span, members),
        bind: step.text("as").map(str::to_owned),
    }]
}

/// Returns the task that answers a request for permission.
pub(super) fn permit(case: &ScenarioCase, step: &ScenarioStep) -> Vec<TaskAct> {
    let answer =
        step.text("answer").and_then(PermissionReply::named).unwrap_or(PermissionReply::Cancelled);
    vec![TaskAct::Permit { peer: peer(case, step, "by"), answer }]
}

/// Returns the task that compares a file in the working directory with a pattern.
pub(super) fn disk(case: &ScenarioCase, step: &ScenarioStep) -> Vec<TaskAct> {
    let name = step.text("path").unwrap_or_default();
    let path = format!("{}/{name}", case.setup().side.work);
    let text = step.pattern("text").cloned().unwrap_or_else(|| ValuePattern::anything(step.span));
    vec![TaskAct::Look { path, text, waits: step.flag("waits") }]
}

/// Returns the act that checks the calls of the harness's own MCP tool.
pub(super) fn called(step: &ScenarioStep) -> Vec<TaskAct> {
    let each = step.pattern("each").cloned().unwrap_or_else(|| ValuePattern::anything(step.span));
    let times = step.count("times").unwrap_or_default();
    vec![TaskAct::Wait(Box::new(CalledWait { times, each }))]
}

/// Returns the tasks that compare a tool call's accumulated state with a pattern.
pub(super) fn call(case: &ScenarioCase, step: &ScenarioStep) -> Vec<TaskAct> {
    let looks = |peer| {
        let (id, state) = (step.template("id")?.clone(), step.pattern("state")?.clone());
        Some(TaskAct::CallState { peer, id, state })
    };
    peers(case, step, "at").into_iter().filter_map(looks).collect()
}

/// Returns the acts that compare the concatenated message chunks of a session with patterns.
pub(super) fn texts(case: &ScenarioCase, step: &ScenarioStep) -> Vec<TaskAct> {
    let member = |name: &str| Some((name.to_owned(), step.pattern(name)?.clone()));
    let members = ["user", "agent"].into_iter().filter_map(member).collect();
    let texts = ValuePattern::map(step.span, members);
    let looks = |peer| {
        let (template, texts) = (step.template("session")?.clone(), texts.clone());
        let wait = TextsWait { peer, template, texts, session: Value::Null };
        Some(TaskAct::Wait(Box::new(wait)))
    };
    peers(case, step, "at").into_iter().filter_map(looks).collect()
}

/// Returns the task that waits for the answer to a prompt that was cancelled because the case ends.
pub(super) fn farewell(peer: PeerId, id: u64) -> TaskAct {
    let id = ValuePattern::equal(ValueTemplate::fixed(SourceSpan::default(), json!(id)));
    TaskAct::Answer {
        peer,
        id,
        want: Some(RequestGoal::Anything),
        silent: false,
        keep: ResultUse::default(),
    }
}
