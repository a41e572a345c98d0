//! The methods that a client can call on the agent: a table with a row for each.
//!
//! Knows: sessions. Never knows: the effect of prompts.
//!
//! Start at [`REQUESTS`].

use crate::agent::script;
use crate::wire::json::{Value, json};
use crate::wire::message::Message;
use crate::wire::protocol::Protocol;
use crate::wire::validate::MessageOrigin;

use super::client::ClientCapabilities;
use super::fault::Fault;
use super::turn::AgentTurn;
use super::{AcpAgent, AgentOutput, MAX_GIVEN, VERSION};

/// The error code for invalid params.
const INVALID_PARAMS: i64 = -32602;
/// The id of the only authentication method.
pub const AUTH_METHOD: &str = "scripted";

/// An error response: the code and the message.
pub(super) struct MethodRefusal(pub(super) i64, pub(super) String);

/// The result of serving a request; `None` if the agent responds later.
pub(super) type MethodAnswer = Result<Option<Value>, MethodRefusal>;

/// A method of the protocol.
struct MethodRow<F> {
    name: &'static str,
    serve: F,
}

/// Serves a request with an id and params.
type ServeRequest = fn(&mut AcpAgent, &Value, &Value) -> MethodAnswer;

/// Handles a notification with its params.
type TakeNotification = fn(&mut AcpAgent, &Value);

const REQUESTS: &[MethodRow<ServeRequest>] = &[
    MethodRow { name: "initialize", serve: |agent, _, params| agent.initialize(params) },
    MethodRow { name: "authenticate", serve: |agent, _, params| agent.authenticate(params) },
    MethodRow { name: "logout", serve: |agent, _, _| agent.logout() },
    MethodRow { name: "session/new", serve: |agent, id, params| agent.new_session(id, params) },
    MethodRow { name: "session/load", serve: |agent, id, params| agent.load(id, params) },
    MethodRow { name: "session/resume", serve: |agent, id, params| agent.resume(id, params) },
    MethodRow { name: "session/list", serve: |agent, _, params| agent.list(params) },
    MethodRow { name: "session/close", serve: |agent, _, params| agent.close(params) },
    MethodRow { name: "session/delete", serve: |agent, _, params| agent.delete(params) },
    MethodRow { name: "session/set_mode", serve: |agent, _, params| agent.set_mode(params) },
    MethodRow {
        name: "session/set_config_option",
        serve: |agent, _, params| agent.set_option(params),
    },
    MethodRow { name: "session/prompt", serve: |agent, id, params| agent.prompt(id, params) },
];

/// The methods that the agent serves only if it stores its sessions.
const KEEPING: [&str; 5] =
    ["session/load", "session/resume", "session/list", "session/close", "session/delete"];

const NOTIFICATIONS: &[MethodRow<TakeNotification>] =
    &[MethodRow { name: "session/cancel", serve: |agent, params| agent.cancel(params) }];

impl AcpAgent {
    pub(super) fn request(&mut self, id: Value, method: &str, params: &Value) {
        let unknown = method == "session/prompt" && self.has(Fault::NoPrompts)
            || KEEPING.contains(&method) && !self.config.keeps;
        if self.stopped && method == "session/prompt" {
            return;
        }
        let row = REQUESTS.iter().find(|row| row.name == method && !unknown);
        let answer = match row {
            Some(_) if self.odd_params(method, params).is_some() => {
                let why = self.odd_params(method, params).unwrap_or_default();
                if self.has(Fault::EndsOnBadParams) {
                    self.outputs.push_back(AgentOutput::Exit);
                }
                if self.has(Fault::SilentOnBadParams) || self.has(Fault::EndsOnBadParams) {
                    return;
                }
                self.stopped = self.has(Fault::SilentAfterBadParams);
                let own = self.has(Fault::OwnErrorCodes);
                Err(MethodRefusal(if own { -32603 } else { INVALID_PARAMS }, why))
            }
            Some(_) if self.takes_strange_session(method, params) => Ok(Some(match method {
                "session/set_config_option" => json!({"configOptions": []}),
                _ => json!({}),
            })),
            Some(row) => (row.serve)(self, &id, params),
            None if self.has(Fault::ServesAnything) => Ok(Some(json!({}))),
            None => Err(MethodRefusal(-32601, format!("no method is called `{method}`"))),
        };
        match answer {
            Ok(Some(result)) => self.respond(id, result),
            Ok(None) => {}
            Err(MethodRefusal(code, why)) => self.refuse(id, code, &why),
        }
    }

    /// Returns whether an injected fault makes the agent accept a request about an unknown session.
    fn takes_strange_session(&self, method: &str, params: &Value) -> bool {
        let named = params["sessionId"].as_str().is_some_and(|id| !self.sessions.contains_key(id));
        named && method != "session/prompt" && self.has(Fault::TakesAnySession)
    }

    /// Checks the params of a request against the tables of the protocol. Returns the first error; `None` if the params
    /// are valid.
    fn odd_params(&self, method: &str, params: &Value) -> Option<String> {
        if self.has(Fault::TakesAnything) {
            return None;
        }
        let request = Message::request(0, method, params.clone());
        let errors = Protocol::acp().check_message(&request, MessageOrigin::Client, None);
        errors.iter().find(|error| !error.soft).map(ToString::to_string)
    }

    /// Handles a notification. Ignores unknown notifications.
    pub(super) fn notification(&mut self, method: &str, params: &Value) {
        if let Some(row) = NOTIFICATIONS.iter().find(|row| row.name == method) {
            (row.serve)(self, params);
        }
    }

    /// Serves `initialize`. The agent supports one version and answers with it, regardless of the requested version.
    fn initialize(&mut self, params: &Value) -> MethodAnswer {
        self.client = ClientCapabilities::read(&params["clientCapabilities"]);
        let method = json!({"id": AUTH_METHOD, "name": "Scripted", "description": "Takes anybody"});
        let methods = json!([method]);
        let asked = params["protocolVersion"].as_u64();
        let version = match asked {
            _ if self.has(Fault::SpeaksAnother) => 2,
            Some(asked) if self.has(Fault::EchoesVersion) => asked,
            Some(asked) if self.has(Fault::OneVersionUp) => asked.saturating_add(1),
            _ => VERSION,
        };
        let mut capabilities = json!({
            "loadSession": (self.config.keeps),
            "promptCapabilities": {"image": true, "audio": true, "embeddedContext": true},
            "mcpCapabilities": {"http": true, "sse": true},
            "auth": {"logout": {}},
        });
        if self.config.keeps {
            capabilities["sessionCapabilities"] =
                json!({"list": {}, "delete": {}, "resume": {}, "close": {}});
        }
        Ok(Some(json!({
            "protocolVersion": version,
            "agentCapabilities": capabilities,
            "agentInfo": {
                "name": "ahp-harness", "title": "Scripted agent", "version": (env!("CARGO_PKG_VERSION")),
            },
            "authMethods": methods,
        })))
    }

    fn authenticate(&mut self, params: &Value) -> MethodAnswer {
        if params["methodId"] != AUTH_METHOD {
            return Err(invalid("expected one of the offered methods at `methodId`"));
        }
        self.authenticated = !self.has(Fault::ForgetsLogins);
        Ok(Some(json!({})))
    }

    fn logout(&mut self) -> MethodAnswer {
        if !self.has(Fault::StaysLoggedIn) {
            (self.authenticated, self.logged_out) = (false, true);
        }
        Ok(Some(json!({})))
    }

    fn prompt(&mut self, id: &Value, params: &Value) -> MethodAnswer {
        let texts = texts_of(&params["prompt"])
            .or_else(|| self.has(Fault::TakesAnything).then(Vec::new))
            .ok_or_else(|| invalid("expected a list of content blocks at `prompt`"))?;
        let more = ["image", "audio", "resource"];
        let mut blocks = params["prompt"].as_array().into_iter().flatten();
        if self.has(Fault::RefusesMedia)
            && blocks.any(|block| more.iter().any(|kind| block["type"] == *kind))
        {
            return Err(invalid("only text content is accepted"));
        }
        let links = params["prompt"].as_array().into_iter().flatten();
        if self.has(Fault::RefusesLinks)
            && links.into_iter().any(|block| block["type"] == "resource_link")
        {
            return Err(invalid("links are not accepted"));
        }
        if std::mem::take(&mut self.kept) {
            return Ok(Some(json!({"stopReason": "cancelled"})));
        }
        // A script extends to the end of its text, so the strings are separated by empty lines.
        let text = texts.join("\n\n");
        let (now, name) = (self.now, params["sessionId"].as_str().unwrap_or_default());
        if self.has(Fault::TakesAnySession) && !self.sessions.contains_key(name) {
            return Ok(Some(json!({"stopReason": "end_turn"})));
        }
        if self.turns.contains_key(name) {
            return Err(MethodRefusal(-32600, "a turn is active in this session".to_owned()));
        }
        self.open_session(params)?;
        for block in params["prompt"].as_array().into_iter().flatten() {
            let content = block.clone();
            self.keep(name, &json!({"sessionUpdate": "user_message_chunk", "content": content}));
        }
        let session = self.open_session(params)?;
        if let Some(case) = script::case_of(&text) {
            case.clone_into(&mut session.case);
        }
        if session.given.len() < MAX_GIVEN {
            session.given.push(text.clone());
        }
        let serves = !self.has(Fault::CommandsUnserved);
        self.turns.insert(name.to_owned(), AgentTurn::new(name, id.clone(), &texts, now, serves));
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

pub(super) fn invalid(why: &str) -> MethodRefusal {
    MethodRefusal(INVALID_PARAMS, why.to_owned())
}

/// Returns the strings of a prompt and of its embedded resources; `None` if the prompt is not a list.
fn texts_of(prompt: &Value) -> Option<Vec<String>> {
    let text = |block: &Value| {
        let own = block.get("text").or_else(|| block.pointer("/resource/text"));
        own.and_then(Value::as_str).map(str::to_owned)
    };
    Some(prompt.as_array()?.iter().filter_map(text).collect())
}
