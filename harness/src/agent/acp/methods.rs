//! What a client can ask of the agent: a row for each method.
//!
//! Knows: sessions. Never knows: what a prompt makes the agent do.
//!
//! Start at [`REQUESTS`].

use crate::agent::script;
use crate::wire::json::{Value, json};

use super::client::Capabilities;
use super::fault::Fault;
use super::turn::Turn;
use super::{Agent, MAX_GIVEN, MAX_SESSIONS, Session, VERSION};

/// The name of the one way to authenticate.
const AUTH_METHOD: &str = "scripted";

/// A refusal: the code of the error, and why.
pub(super) struct Refusal(i64, String);

/// An answer; `None` where it comes later.
type Answer = Result<Option<Value>, Refusal>;

/// A method of the protocol.
struct Row<F> {
    name: &'static str,
    serve: F,
}

/// Serves a request of that id.
type Serve = fn(&mut Agent, &Value, &Value) -> Answer;

/// Takes a notification.
type Take = fn(&mut Agent, &Value);

const REQUESTS: &[Row<Serve>] = &[
    Row { name: "initialize", serve: |agent, _, params| agent.initialize(params) },
    Row { name: "authenticate", serve: |agent, _, params| agent.authenticate(params) },
    Row { name: "session/new", serve: |agent, _, params| agent.new_session(params) },
    Row { name: "session/prompt", serve: |agent, id, params| agent.prompt(id, params) },
];

const NOTIFICATIONS: &[Row<Take>] =
    &[Row { name: "session/cancel", serve: |agent, params| agent.cancel(params) }];

impl Agent {
    pub(super) fn request(&mut self, id: Value, method: &str, params: &Value) {
        let unknown = method == "session/prompt" && self.has(Fault::NoPrompts);
        let row = REQUESTS.iter().find(|row| row.name == method && !unknown);
        let answer = match row {
            Some(row) => (row.serve)(self, &id, params),
            None if self.has(Fault::ServesAnything) => Ok(Some(json!({}))),
            None => Err(Refusal(-32601, format!("no method is called `{method}`"))),
        };
        match answer {
            Ok(Some(result)) => self.respond(id, result),
            Ok(None) => {}
            Err(Refusal(code, why)) => self.refuse(id, code, &why),
        }
    }

    /// What it does not know is passed over, as every notification may be.
    pub(super) fn notification(&mut self, method: &str, params: &Value) {
        if let Some(row) = NOTIFICATIONS.iter().find(|row| row.name == method) {
            (row.serve)(self, params);
        }
    }

    /// Only one version is spoken: whatever is asked for, that is the answer.
    fn initialize(&mut self, params: &Value) -> Answer {
        self.client = Capabilities::read(&params["clientCapabilities"]);
        let method = json!({"id": AUTH_METHOD, "name": "Scripted", "description": "Takes anybody"});
        let methods = if self.config.auth { json!([method]) } else { json!([]) };
        let asked = params["protocolVersion"].as_u64();
        let version = match asked {
            _ if self.has(Fault::SpeaksAnother) => 2,
            Some(asked) if self.has(Fault::EchoesVersion) => asked,
            Some(asked) if self.has(Fault::OneVersionUp) => asked.saturating_add(1),
            _ => VERSION,
        };
        Ok(Some(json!({
            "protocolVersion": version,
            "agentCapabilities": {
                "loadSession": false,
                "promptCapabilities": {"image": false, "audio": false, "embeddedContext": true},
                "mcpCapabilities": {"http": false, "sse": false},
            },
            "agentInfo": {
                "name": "ahp-harness", "title": "Scripted agent", "version": (env!("CARGO_PKG_VERSION")),
            },
            "authMethods": methods,
        })))
    }

    fn authenticate(&mut self, params: &Value) -> Answer {
        if !self.config.auth || params["methodId"] != AUTH_METHOD {
            return Err(invalid("expected one of the offered methods at `methodId`"));
        }
        self.authenticated = true;
        Ok(Some(json!({})))
    }

    fn new_session(&mut self, params: &Value) -> Answer {
        if self.config.auth && !self.authenticated {
            return Err(Refusal(-32000, "authentication is required".to_owned()));
        }
        let cwd = params["cwd"].as_str().filter(|cwd| is_absolute(cwd));
        let cwd = cwd.ok_or_else(|| invalid("expected an absolute path at `cwd`"))?.to_owned();
        if self.sessions.len() >= MAX_SESSIONS {
            return Err(Refusal(-32603, "too many sessions".to_owned()));
        }
        let serial = self.fresh();
        let serial = if self.has(Fault::SessionsRepeat) { 1 } else { serial };
        let id = format!("session-{}{serial}", self.config.name);
        let server = server(&params["mcpServers"][0]);
        self.sessions.insert(id.clone(), Session { cwd, server, ..Session::default() });
        Ok(Some(json!({"sessionId": id})))
    }

    fn prompt(&mut self, id: &Value, params: &Value) -> Answer {
        let texts = texts_of(&params["prompt"])
            .ok_or_else(|| invalid("expected a list of content blocks at `prompt`"))?;
        let links = params["prompt"].as_array().into_iter().flatten();
        if self.has(Fault::RefusesLinks)
            && links.into_iter().any(|block| block["type"] == "resource_link")
        {
            return Err(invalid("links are not taken"));
        }
        if std::mem::take(&mut self.kept) {
            return Ok(Some(json!({"stopReason": "cancelled"})));
        }
        // A script ends with its text.
        let text = texts.join("\n\n");
        let (now, name) = (self.now, params["sessionId"].as_str().unwrap_or_default());
        let session = self.sessions.get_mut(name).ok_or_else(|| invalid("no such session"))?;
        if self.turns.contains_key(name) {
            return Err(Refusal(-32600, "a turn is active in this session".to_owned()));
        }
        if let Some(case) = script::case_of(&text) {
            case.clone_into(&mut session.case);
        }
        if session.given.len() < MAX_GIVEN {
            session.given.push(text.clone());
        }
        self.turns.insert(name.to_owned(), Turn::new(name, id.clone(), &texts, now));
        Ok(None)
    }

    fn cancel(&mut self, params: &Value) {
        let Some(session) = params["sessionId"].as_str() else { return };
        if self.has(Fault::AnswersCancels) {
            self.respond(json!("cancel"), json!({}));
        }
        if !self.turns.contains_key(session) {
            self.kept = self.has(Fault::KeepsCancels);
            if self.has(Fault::AsksOutside) {
                self.ask_outside(session);
            }
        }
        self.cancel_turn(session);
    }
}

/// The command of an MCP server, where it is one of standard input and output.
fn server(server: &Value) -> Vec<String> {
    let args = server["args"].as_array().into_iter().flatten();
    let words = std::iter::once(&server["command"]).chain(args);
    let words: Vec<String> = words.filter_map(Value::as_str).map(str::to_owned).collect();
    if server["command"].is_string() { words } else { Vec::new() }
}

fn invalid(why: &str) -> Refusal {
    Refusal(-32602, why.to_owned())
}

/// By the rules of Unix and of Windows, whichever machine this is.
fn is_absolute(path: &str) -> bool {
    let drive = |path: &str| path.as_bytes().get(1) == Some(&b':');
    path.starts_with(['/', '\\']) || drive(path)
}

/// The texts of a prompt: its own and those of embedded resources. `None`
/// where there are no content blocks.
fn texts_of(prompt: &Value) -> Option<Vec<String>> {
    let text = |block: &Value| {
        let own = block.get("text").or_else(|| block.pointer("/resource/text"));
        own.and_then(Value::as_str).map(str::to_owned)
    };
    Some(prompt.as_array()?.iter().filter_map(text).collect())
}
