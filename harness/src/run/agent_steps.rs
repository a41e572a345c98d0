//! The steps of a scenario about an agent, taken apart into tasks.
//!
//! Knows: the methods of ACP that a client asks. Never knows: what comes of them.

use crate::agent::mode::Mode as AgentMode;
use crate::peer::serving::Offers;
use crate::scenario::bind::Template;
use crate::scenario::parse::{Step, WORK};
use crate::scenario::pattern::Pattern;
use crate::scenario::source::Span;
use crate::scenario::verbs::Verb;
use crate::wire::json::{Value, json};

use super::case::Case;
use super::expand::{merged, peer, peers, script, want};
use super::side::AskingSetup;
use super::task::{Act, Keep, PeerId, Permit, Want};

/// The version that clients ask for.
const VERSION: u64 = 1;
/// What the harness's own MCP server is called.
pub(super) const SERVER: &str = "ahp";

/// What stands in a script for the folder that the agent works in: tools take absolute paths.
const FOLDER: &str = "{work}";

/// The handshake, and for `open` a session after it.
pub(super) fn opening(case: &mut Case, step: &Step) -> Vec<Act> {
    let opens = step.verb == Verb::Open;
    let usual = asking(case).and_then(|asking| Offers::named(&asking.offers));
    let offers = step.text("offers").and_then(Offers::named).or(usual).unwrap_or_default();
    let mut acts = Vec::new();
    for peer in peers(case, step, "by") {
        if opens && !case.is_connected(peer) {
            acts.push(Act::Connect(peer));
        }
        acts.push(Act::Offer { peer, offers });
        let usual = vec![
            ("protocolVersion", Template::fixed(step.span, json!(VERSION))),
            ("clientCapabilities", Template::fixed(step.span, offers.capabilities())),
            ("clientInfo", Template::fixed(step.span, client_info())),
        ];
        let more = if opens { None } else { step.template("params") };
        acts.push(Act::Request {
            peer,
            method: "initialize".to_owned(),
            params: merged(step.span, usual, more),
            want: if opens { Want::Result(Some(speaks(step))) } else { want(step) },
            exact: false,
            keep: Keep { bind: step.text("as").map(str::to_owned), default_chat: None },
        });
        if opens {
            acts.extend(session(case, step, peer));
        }
    }
    acts
}

/// What makes the agent ask for permission, in a case that needs it to.
fn asking(case: &Case) -> Option<&AskingSetup> {
    let needed = case.setup.scenario.needs.iter().any(|need| need == "ask");
    case.setup.side.asking.as_ref().filter(|_| needed)
}

/// What a session needs of the answer to `initialize`: an agent that speaks other versions only is not judged by
/// the rules of this one. What the agent has to declare besides, the step says.
fn speaks(step: &Step) -> Pattern {
    let version = Pattern::equal(Template::fixed(step.span, json!(VERSION)));
    let mut members = vec![("protocolVersion".to_owned(), version)];
    if let Some(declares) = step.pattern("declares") {
        members.push(("agentCapabilities".to_owned(), declares.clone()));
    }
    Pattern::map(step.span, members)
}

fn client_info() -> Value {
    json!({"name": "ahp-harness", "title": "AHP harness", "version": (env!("CARGO_PKG_VERSION"))})
}

/// A session, in the mode that the agent's profile wants.
fn session(case: &Case, step: &Step, peer: PeerId) -> Vec<Act> {
    let span = step.span;
    let side = &case.setup.side;
    let name = step.text("session").unwrap_or("session");
    let request = |method: &str, params: Template, want| Act::Request {
        peer,
        method: method.to_owned(),
        params,
        want,
        exact: false,
        keep: Keep::default(),
    };
    let mut acts = Vec::new();
    if let Some(method) = &side.auth {
        let params = Template::fixed(span, json!({"methodId": method}));
        acts.push(request("authenticate", params, Want::Result(None)));
    }
    let servers = match side.server.split_first() {
        Some((command, args)) => {
            json!([{"name": SERVER, "command": command, "args": args, "env": []}])
        }
        None => json!([]),
    };
    let usual =
        vec![("cwd", Template::hole(span, WORK)), ("mcpServers", Template::fixed(span, servers))];
    let made = Pattern::map(span, vec![("sessionId".to_owned(), Pattern::bind(span, name))]);
    let made = match step.pattern("made") {
        Some(wanted) => Pattern::both(made, wanted.clone()),
        None => made,
    };
    let params = merged(span, usual, step.template("config"));
    acts.push(request("session/new", params, Want::Result(Some(made))));
    let in_session = |key: &str, value: &str, more: Option<(&str, &str)>| {
        let mut members = vec![
            ("sessionId".to_owned(), Template::hole(span, name)),
            (key.to_owned(), Template::fixed(span, json!(value))),
        ];
        if let Some((key, value)) = more {
            members.push((key.to_owned(), Template::fixed(span, json!(value))));
        }
        Template::map(span, members)
    };
    let mode = asking(case).and_then(|asking| asking.mode.as_ref()).or(side.mode.as_ref());
    if let Some(mode) = mode {
        let params = in_session("modeId", mode, None);
        acts.push(request("session/set_mode", params, Want::Result(None)));
    }
    for (option, value) in &side.options {
        let params = in_session("configId", option, Some(("value", value)));
        acts.push(request("session/set_config_option", params, Want::Result(None)));
    }
    acts
}

/// A prompt: the text, then the script. An agent that cannot be told what to do is prompted as its profile says.
pub(super) fn prompt(case: &Case, step: &Step) -> Vec<Act> {
    let span = step.span;
    let script = script(case, step).replace(FOLDER, &case.setup.side.work);
    let text = match (case.setup.agent, step.template("text")) {
        (AgentMode::Fixed, _) => {
            let text = case.setup.side.prompt.as_deref().unwrap_or("hello");
            Template::fixed(span, json!(text))
        }
        (_, Some(text)) if script.is_empty() => text.clone(),
        (_, Some(text)) => text.followed_by(&format!("\n\n{script}")),
        (_, None) if script.is_empty() => Template::fixed(span, json!("hello")),
        (_, None) => Template::fixed(span, json!(script)),
    };
    let block = Template::map(
        span,
        vec![("type".to_owned(), Template::fixed(span, json!("text"))), ("text".to_owned(), text)],
    );
    let more = step.template("blocks").map(Template::items).unwrap_or_default();
    let blocks = std::iter::once(block).chain(more.iter().cloned()).collect();
    let session = step.template("session").cloned();
    let members = vec![
        ("sessionId".to_owned(), session.unwrap_or_else(|| Template::hole(span, "session"))),
        ("prompt".to_owned(), Template::list(span, blocks)),
    ];
    vec![Act::Ask {
        peer: peer(case, step, "by"),
        method: "session/prompt".to_owned(),
        params: Template::map(span, members),
        bind: step.text("as").map(str::to_owned),
    }]
}

/// An answer to a request for permission.
pub(super) fn permit(case: &Case, step: &Step) -> Vec<Act> {
    let answer = step.text("answer").and_then(Permit::named).unwrap_or(Permit::Cancelled);
    vec![Act::Permit { peer: peer(case, step, "by"), answer }]
}

/// A look at a file.
pub(super) fn disk(case: &Case, step: &Step) -> Vec<Act> {
    let name = step.text("path").unwrap_or_default();
    let path = format!("{}/{name}", case.setup.side.work);
    let text = step.pattern("text").cloned().unwrap_or_else(|| Pattern::anything(step.span));
    vec![Act::Look { path, text, waits: step.flag("waits") }]
}

/// A look at what the reports of a call add up to.
pub(super) fn call(case: &Case, step: &Step) -> Vec<Act> {
    let looks = |peer| {
        let (id, state) = (step.template("id")?.clone(), step.pattern("state")?.clone());
        Some(Act::CallState { peer, id, state })
    };
    peers(case, step, "at").into_iter().filter_map(looks).collect()
}

/// Waits for the end of a prompt that was cancelled because the case ends.
pub(super) fn farewell(peer: PeerId, id: u64) -> Act {
    let id = Pattern::equal(Template::fixed(Span::default(), json!(id)));
    Act::Answer { peer, id, want: Some(Want::Anything), silent: false, keep: Keep::default() }
}
