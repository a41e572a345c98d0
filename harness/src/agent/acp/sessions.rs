//! Sessions of the agent: creation, storage, loading, closing, deletion, and settings.
//!
//! An agent that stores sessions replays the conversation of a session when a client loads the session, but not
//! when a client resumes it. A closed session stays stored; a deleted session does not.
//!
//! Knows: sessions. Never knows: the effect of prompts, the storage of sessions.
//!
//! Start at [`AcpAgent::new_session`].

use std::collections::BTreeSet;

use crate::wire::json::{Value, json};

use super::fault::Fault;
use super::methods::{MethodAnswer, MethodRefusal, invalid};
use super::server::McpServerAddress;
use super::{AcpAgent, AgentSession, MAX_GIVEN, MAX_SESSIONS};

/// The maximum number of stored updates of a session.
const MAX_KEPT: usize = 10_000;
/// The error code for an unknown session.
const NOT_FOUND: i64 = -32002;
/// The number of sessions on one page of `session/list`.
const PAGE: usize = 2;
/// The number of characters of each message that the fault `AnswersShortened` keeps.
const SHORTENED: usize = 4;
/// The prefix of a cursor; the number of sessions on the earlier pages follows.
const CURSOR: &str = "after-";
/// The kinds of updates that belong to the conversation.
const CONVERSATION: [&str; 6] = [
    "user_message_chunk",
    "agent_message_chunk",
    "agent_thought_chunk",
    "tool_call",
    "tool_call_update",
    "plan",
];
/// The modes: their ids, their names, and the behaviour of the agent.
const MODES: [(&str, &str, &str); 2] = [
    ("as-told", "As told", "Asks for permission where the script says so"),
    (CAREFUL, "Careful", "Asks for permission before every call"),
];
/// The id of the mode in which the agent asks before every call.
pub(super) const CAREFUL: &str = "careful";
/// The models: their ids and their names.
const MODELS: [(&str, &str); 2] = [("small", "Small"), ("large", "Large")];
/// The name of the only command, with which the agent echoes the rest of the prompt.
pub(super) const ECHO: &str = "echo";

/// The settings of a session.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SessionSettings {
    pub(super) mode: String,
    model: String,
    loud: bool,
}

impl Default for SessionSettings {
    fn default() -> SessionSettings {
        let ((mode, ..), (model, _)) = (MODES[0], MODELS[0]);
        SessionSettings { mode: mode.to_owned(), model: model.to_owned(), loud: false }
    }
}

impl SessionSettings {
    fn modes(&self) -> Value {
        let mode = |(id, name, description): &(&str, &str, &str)| json!({"id": (*id), "name": (*name), "description": (*description)});
        let modes: Value = MODES.iter().map(mode).collect();
        json!({"currentModeId": (self.mode.as_str()), "availableModes": modes})
    }

    /// Returns the configuration options. Includes a boolean option if the client shows such options.
    fn options(&self, booleans: bool) -> Value {
        let mode = |(id, name, description): &(&str, &str, &str)| json!({"value": (*id), "name": (*name), "description": (*description)});
        let model = |(id, name): &(&str, &str)| json!({"value": (*id), "name": (*name)});
        let modes: Value = MODES.iter().map(mode).collect();
        let models: Value = MODELS.iter().map(model).collect();
        let mut options = vec![
            json!({
                "id": "mode", "name": "Mode", "description": "When it asks for permission", "category": "mode",
                "type": "select", "currentValue": (self.mode.as_str()), "options": modes,
            }),
            json!({
                "id": "model", "name": "Model", "category": "model", "type": "select",
                "currentValue": (self.model.as_str()), "options": models,
            }),
        ];
        options.extend(booleans.then(|| {
            json!({"id": "loud", "name": "Loud", "type": "boolean", "currentValue": (self.loud)})
        }));
        options.into_iter().collect()
    }

    /// Sets an option. Returns `false` if the option or the value does not exist.
    fn set(&mut self, option: &str, value: &Value, booleans: bool) -> bool {
        let known = |all: &[&str]| {
            let text = value.as_str().filter(|text| all.contains(text))?;
            Some(text.to_owned())
        };
        match option {
            "mode" => known(&MODES.map(|row| row.0)).map(|mode| self.mode = mode),
            "model" => known(&MODELS.map(|row| row.0)).map(|model| self.model = model),
            "loud" if booleans => value.as_bool().map(|loud| self.loud = loud),
            _ => None,
        }
        .is_some()
    }
}

impl AcpAgent {
    pub(super) fn new_session(&mut self, request: &Value, params: &Value) -> MethodAnswer {
        self.allowed()?;
        let cwd = params["cwd"].as_str().filter(|cwd| is_absolute(cwd));
        let cwd = cwd.or(self.has(Fault::TakesAnything).then_some("/"));
        let cwd = cwd.ok_or_else(|| invalid("expected an absolute path at `cwd`"))?.to_owned();
        if self.sessions.len() >= MAX_SESSIONS {
            return Err(MethodRefusal(-32603, "too many sessions".to_owned()));
        }
        let mut id = self.session_id();
        // A new session must not get the id of a session that another process has stored.
        while self.sessions.contains_key(&id) && !self.has(Fault::SessionsRepeat) {
            id = self.session_id();
        }
        let server = self.server(params);
        if self.first_folder.is_empty() {
            self.first_folder.clone_from(&cwd);
        }
        self.sessions.insert(
            id.clone(),
            AgentSession { cwd, server, open: true, ..AgentSession::default() },
        );
        self.changes(&id);
        self.begun(request, &id, true)
    }

    /// Returns the first MCP server that the client names in the params.
    fn server(&self, params: &Value) -> Option<McpServerAddress> {
        let server = McpServerAddress::read(&params["mcpServers"][0])?;
        let unused = match server {
            McpServerAddress::Http { .. } => self.has(Fault::HttpServersUnused),
            McpServerAddress::Sse { .. } => self.has(Fault::SseServersUnused),
            McpServerAddress::Command { .. } => false,
        };
        if unused || self.has(Fault::ServersUnused) {
            return None;
        }
        Some(if self.has(Fault::ServersBare) { server.bare() } else { server })
    }

    fn session_id(&mut self) -> String {
        let serial = self.fresh();
        let serial = if self.has(Fault::SessionsRepeat) { 1 } else { serial };
        format!("session-{}{serial}", self.config.name)
    }

    /// Checks that the client has authenticated, if authentication is required.
    ///
    /// # Errors
    /// Returns an error if authentication is required and the client has not authenticated.
    fn allowed(&self) -> Result<(), MethodRefusal> {
        match (self.config.auth || self.logged_out) && !self.authenticated {
            true => Err(MethodRefusal(-32000, "authentication is required".to_owned())),
            false => Ok(()),
        }
    }

    /// Responds to a request that created, loaded or resumed a session, and reports the session's commands.
    fn begun(&mut self, request: &Value, id: &str, named: bool) -> MethodAnswer {
        let Some(session) = self.sessions.get(id) else { return Err(no_session()) };
        let mut result = json!({
            "modes": (session.settings.modes()),
            "configOptions": (session.settings.options(self.client.booleans)),
        });
        if named {
            result["sessionId"] = json!(id);
        }
        self.respond(request.clone(), result);
        let commands = json!([{
            "name": ECHO, "description": "Says the rest of the prompt", "input": {"hint": "what to say"},
        }]);
        self.update(
            id,
            json!({"sessionUpdate": "available_commands_update", "availableCommands": commands}),
        );
        Ok(None)
    }

    /// Returns the open session that the params name.
    ///
    /// # Errors
    /// Returns an error if no session has this id, or if the session is closed.
    pub(super) fn open_session(
        &mut self,
        params: &Value,
    ) -> Result<&mut AgentSession, MethodRefusal> {
        let name = params["sessionId"].as_str().unwrap_or_default();
        self.sessions.get_mut(name).filter(|session| session.open).ok_or_else(no_session)
    }

    /// Serves `session/load`: opens a stored session and replays its conversation.
    pub(super) fn load(&mut self, request: &Value, params: &Value) -> MethodAnswer {
        let id = self.brought_back(params)?;
        let kept = self.sessions.get(&id).map(|session| session.kept.clone()).unwrap_or_default();
        let forgets = self.has(Fault::LoadsWithoutHistory);
        let kept = if forgets { Vec::new() } else { kept };
        if self.has(Fault::AnswersBeforeHistory) {
            let answer = self.begun(request, &id, false);
            kept.into_iter().for_each(|update| self.tell_again(&id, &update));
            return answer;
        }
        kept.into_iter().for_each(|update| self.tell_again(&id, &update));
        self.begun(request, &id, false)
    }

    pub(super) fn resume(&mut self, request: &Value, params: &Value) -> MethodAnswer {
        let id = self.brought_back(params)?;
        if self.has(Fault::ReplaysWhenResumed) {
            let kept = self.sessions.get(&id).map(|session| session.kept.clone());
            kept.unwrap_or_default().iter().for_each(|update| self.tell_again(&id, update));
        }
        self.begun(request, &id, false)
    }

    /// Opens a stored session with the folder and the servers of the request.
    fn brought_back(&mut self, params: &Value) -> Result<String, MethodRefusal> {
        self.allowed()?;
        let id = params["sessionId"].as_str().unwrap_or_default().to_owned();
        let cwd = params["cwd"].as_str().filter(|cwd| is_absolute(cwd));
        let cwd = cwd.ok_or_else(|| invalid("expected an absolute path at `cwd`"))?.to_owned();
        let forgets = self.has(Fault::ForgetsConversations);
        let server = self.server(params);
        let session = self.sessions.get_mut(&id).ok_or_else(no_session)?;
        (session.cwd, session.open) = (cwd, true);
        session.server = server;
        if forgets {
            session.given.clear();
        }
        self.changes(&id);
        Ok(id)
    }

    fn tell_again(&mut self, session: &str, update: &Value) {
        let mut update = update.clone();
        if self.has(Fault::CallsUntold) && update.get("toolCallId").is_some() {
            return;
        }
        if self.has(Fault::AnswersShortened) && update["sessionUpdate"] == "agent_message_chunk" {
            let text = update["content"]["text"].as_str().unwrap_or_default();
            let short: String = text.chars().take(SHORTENED).collect();
            update["content"]["text"] = json!(short);
        }
        let params = json!({"sessionId": session, "update": update});
        self.send(crate::wire::message::Message::notification("session/update", params));
    }

    pub(super) fn list(&mut self, params: &Value) -> MethodAnswer {
        let cursor = params["cursor"].as_str();
        let from = cursor.and_then(|cursor| cursor.strip_prefix(CURSOR)?.parse::<usize>().ok());
        if cursor.is_some() && from.is_none() && !self.has(Fault::TakesAnything) {
            return Err(invalid("expected no `cursor`, or the `nextCursor` of a page"));
        }
        let from = from.filter(|_| !self.has(Fault::PagesRepeat)).unwrap_or_default();
        let within = params["cwd"].as_str();
        let everywhere = self.has(Fault::ListsEverywhere);
        let mut sessions: Vec<Value> = Vec::new();
        for (id, session) in &self.sessions {
            if everywhere || within.is_none_or(|cwd| cwd == session.cwd) {
                let mut info = json!({"sessionId": (id.as_str()), "cwd": (session.cwd.as_str())});
                if let Some(title) = session.given.first() {
                    info["title"] = json!(title.chars().take(60).collect::<String>());
                }
                sessions.push(info);
            }
        }
        sessions.sort_by_key(|info| info["sessionId"].to_text());
        if self.has(Fault::ListsNothing) {
            sessions.clear();
        }
        if self.has(Fault::ListsNoList) {
            return Ok(Some(json!({})));
        }
        let size = self.config.page.unwrap_or(PAGE);
        let next = from.saturating_add(size);
        let more = sessions.len() > next;
        let page: Value = sessions.into_iter().skip(from).take(size).collect();
        let mut result = json!({"sessions": page});
        if more {
            result["nextCursor"] = json!(format!("{CURSOR}{next}"));
        }
        Ok(Some(result))
    }

    pub(super) fn close(&mut self, params: &Value) -> MethodAnswer {
        let id = params["sessionId"].as_str().unwrap_or_default().to_owned();
        self.open_session(params)?;
        if !self.has(Fault::ClosesWithoutCancel) {
            self.cancel_turn(&id);
        }
        if let Some(session) = self.sessions.get_mut(&id) {
            session.open = false;
        }
        Ok(Some(json!({})))
    }

    pub(super) fn delete(&mut self, params: &Value) -> MethodAnswer {
        let id = params["sessionId"].as_str().unwrap_or_default().to_owned();
        self.cancel_turn(&id);
        if !self.has(Fault::DeletesNothing) {
            self.sessions.remove(&id).ok_or_else(no_session)?;
            self.changes(&id);
        }
        Ok(Some(json!({})))
    }

    pub(super) fn set_mode(&mut self, params: &Value) -> MethodAnswer {
        let (booleans, lags) = (self.client.booleans, self.has(Fault::ModesOutOfSync));
        let refuses = self.has(Fault::RefusesModes);
        let takes = self.has(Fault::TakesAnyMode);
        let session = self.open_session(params)?;
        if refuses || !(session.settings.clone().set("mode", &params["modeId"], booleans) || takes)
        {
            return Err(invalid("expected one of the available modes at `modeId`"));
        }
        if !lags {
            session.settings.set("mode", &params["modeId"], booleans);
        }
        self.changes(params["sessionId"].as_str().unwrap_or_default());
        Ok(Some(json!({})))
    }

    pub(super) fn set_option(&mut self, params: &Value) -> MethodAnswer {
        let booleans = self.client.booleans;
        let short = self.has(Fault::OptionsShort);
        let takes = self.has(Fault::TakesAnyMode);
        let option = params["configId"].as_str().unwrap_or_default().to_owned();
        let session = self.open_session(params)?;
        if !session.settings.set(&option, &params["value"], booleans) && !takes {
            return Err(invalid("expected an option of the session, and one of its values"));
        }
        let options = if short { json!([]) } else { session.settings.options(booleans) };
        self.changes(params["sessionId"].as_str().unwrap_or_default());
        Ok(Some(json!({"configOptions": options})))
    }

    /// Changes the mode on the agent's own initiative, if the mode exists.
    pub(super) fn switch_mode(&mut self, session: &str, mode: &str) {
        let booleans = self.client.booleans;
        let Some(settings) = self.sessions.get_mut(session).map(|it| &mut it.settings) else {
            return;
        };
        if !settings.set("mode", &json!(mode), booleans) {
            return;
        }
        let options = settings.options(booleans);
        self.changes(session);
        let mode = if self.has(Fault::OwnModes) { "nobodys" } else { mode };
        self.update(
            session,
            json!({"sessionUpdate": "current_mode_update", "currentModeId": mode}),
        );
        self.update(
            session,
            json!({"sessionUpdate": "config_option_update", "configOptions": options}),
        );
    }

    /// Stores an update of a session if it belongs to the conversation.
    pub(super) fn keep(&mut self, session: &str, update: &Value) {
        let part = update["sessionUpdate"].as_str().is_some_and(|it| CONVERSATION.contains(&it));
        let keeps = self.config.keeps && part;
        let found = self.sessions.get_mut(session).filter(|_| keeps);
        if let Some(found) = found.filter(|found| found.kept.len() < MAX_KEPT) {
            found.kept.push(update.clone());
            self.changes(session);
        }
    }

    /// Records that a stored session has changed.
    fn changes(&mut self, session: &str) {
        if self.config.keeps {
            self.changed.insert(session.to_owned());
        }
    }

    /// Returns the sessions that changed since the last call; a deleted session is null. Sessions with an active turn
    /// are left for a later call, unless `everything` is set.
    pub fn take_changed(&mut self, everything: bool) -> Vec<(String, Value)> {
        let changed = std::mem::take(&mut self.changed).into_iter();
        let due = |id: &String| everything || !self.turns.contains_key(id);
        let (due, later) = changed.partition::<BTreeSet<_>, _>(due);
        self.changed = later;
        let kept = |id: String| {
            let session = self.sessions.get(&id).map(|session| session.as_kept(&id));
            (id, session.unwrap_or_default())
        };
        due.into_iter().map(kept).collect()
    }

    /// Returns the stored sessions, for a later process of the agent.
    pub fn kept(&self) -> Value {
        self.sessions.iter().map(|(id, session)| session.as_kept(id)).collect()
    }

    /// Adopts the sessions that another process has stored. Ignores malformed entries.
    pub fn keep_all(&mut self, kept: &Value) {
        for one in kept.as_array().into_iter().flatten().take(MAX_SESSIONS) {
            let text = |name: &str| one[name].as_str().unwrap_or_default().to_owned();
            let given = one["given"].as_array().into_iter().flatten().take(MAX_GIVEN);
            let mut session = AgentSession {
                cwd: text("cwd"),
                given: given.filter_map(Value::as_str).map(str::to_owned).collect(),
                kept: one["updates"].as_array().cloned().unwrap_or_default(),
                ..AgentSession::default()
            };
            session.settings.set("mode", &one["mode"], false);
            self.sessions.insert(text("id"), session);
        }
    }
}

impl AgentSession {
    /// Returns the session in the form in which another process of the agent reads it.
    fn as_kept(&self, id: &str) -> Value {
        json!({
            "id": id, "cwd": (self.cwd.as_str()), "mode": (self.settings.mode.as_str()),
            "given": (self.given.iter().cloned().collect::<Value>()),
            "updates": (self.kept.iter().cloned().collect::<Value>()),
        })
    }
}

/// Returns the error for an unknown session.
fn no_session() -> MethodRefusal {
    MethodRefusal(NOT_FOUND, "there is no such session".to_owned())
}

/// Returns whether a path is absolute by the rules of Unix or of Windows, regardless of the machine.
fn is_absolute(path: &str) -> bool {
    let drive = |path: &str| path.as_bytes().get(1) == Some(&b':');
    path.starts_with(['/', '\\']) || drive(path)
}
