//! The agent subprocess with which the host communicates over ACP, in place of its own scripted agent.
//!
//! One process serves all chats; each chat has its own ACP session. A turn is a prompt, and [`updates`]
//! translates the agent's updates. A decision about a tool call is the response to the agent's permission
//! request. If a turn ends before its prompt is answered, the host cancels the prompt.
//!
//! Interpretations: the host offers no client capabilities, so that the agent accesses files and terminals itself. A
//! steering message is a further prompt of the same turn. An input cannot be edited, because the response to a
//! permission request has no member for it. After a truncation the chat gets a new session, because an agent cannot
//! forget a part of a session; the first prompt of a session contains the turns of the chat.
//!
//! Knows: chats, ACP. Never knows: processes, connections.
//!
//! Start at [`RefHost::prompt_agent`].

use litemap::LiteMap;

use self::link::{AgentRequestPurpose, ChatTalk, HandshakeStage, line};
use super::engine::RefHost;
use super::reading::{action_type, tool_call};
use crate::wire::frame::Frame;
use crate::wire::json::{Value, json};
use crate::wire::message::{DecodedFrame, Message, MessageKind, decode};

pub(super) mod link;
mod updates;

/// The error type of a turn that fails because the agent process has exited.
pub(super) const AGENT_ENDED: &str = "agent-ended";
/// The version of ACP that the host speaks.
const VERSION: u64 = 1;

impl RefHost {
    /// Sends the message of a turn to the agent as soon as the agent has a session for the chat.
    pub(super) fn prompt_agent(
        &mut self,
        uri: &str,
        turn: String,
        text: String,
        given: Vec<String>,
    ) {
        if let Some(link) = &mut self.acp {
            let talk = link.talks.entry(uri.to_owned()).or_default();
            let prompt = std::iter::once(text).chain(given).collect();
            (talk.turn, talk.prompt) = (Some(turn), Some(prompt));
            (talk.part, talk.calls) = (None, LiteMap::new());
        }
        self.proceed(uri);
    }

    /// Sends the next request that is needed to prompt the agent: `initialize`, `session/new` or
    /// `session/prompt`.
    fn proceed(&mut self, uri: &str) {
        let cwd = self.cwd_of(uri);
        let Some(link) = &mut self.acp else {
            return;
        };
        let Some(talk) = link.talks.get_mut(uri).filter(|talk| talk.prompt.is_some()) else {
            return;
        };
        let output = match (link.stage, &talk.session) {
            (HandshakeStage::Unknown, _) => {
                link.stage = HandshakeStage::Greeted;
                let params = json!({
                    "protocolVersion": VERSION,
                    "clientCapabilities": {
                        "fs": {"readTextFile": false, "writeTextFile": false}, "terminal": false,
                    },
                    "clientInfo": {"name": "reference-host", "version": (env!("CARGO_PKG_VERSION"))},
                });
                link.ask(AgentRequestPurpose::Greeting, "initialize", params)
            }
            (HandshakeStage::Greeted, _) => return,
            (HandshakeStage::Ready, None) if talk.asked => return,
            (HandshakeStage::Ready, None) => {
                talk.asked = true;
                let cwd = cwd.unwrap_or_else(|| link.cwd.clone());
                let params = json!({"cwd": cwd, "mcpServers": []});
                link.ask(
                    AgentRequestPurpose::Session { chat: uri.to_owned() },
                    "session/new",
                    params,
                )
            }
            (HandshakeStage::Ready, Some(session)) => {
                let texts = talk.prompt.take().unwrap_or_default();
                let turn = talk.turn.clone().unwrap_or_default();
                let block = |text: String| json!({"type": "text", "text": text});
                let prompt: Value = texts.into_iter().map(block).collect();
                let params = json!({"sessionId": session, "prompt": prompt});
                link.ask(
                    AgentRequestPurpose::Prompt { chat: uri.to_owned(), turn },
                    "session/prompt",
                    params,
                )
            }
        };
        self.outbox.push(output);
    }

    /// Returns the first working directory of a chat's session as a path; `None` if it is not a local folder.
    fn cwd_of(&self, uri: &str) -> Option<String> {
        let session = self.chats.session_of(uri)?;
        let first = self.state(session)["workingDirectories"].as_array()?.first()?.as_str()?;
        first.strip_prefix("file://").filter(|path| path.starts_with('/')).map(str::to_owned)
    }

    /// Returns the working folder of the agent for a chat.
    fn folder_of(&self, uri: &str) -> String {
        let own = self.acp.as_ref().map(|link| link.cwd.clone());
        self.cwd_of(uri).or(own).unwrap_or_default()
    }

    /// Handles a line from the agent.
    pub(super) fn hear_agent(&mut self, text: &str) {
        let DecodedFrame::Message(message) = decode(&Frame::Text(text.to_owned())) else {
            return;
        };
        match message.kind() {
            MessageKind::Notification if message.method() == Some("session/update") => {
                if let Some(uri) = self.chat_of(message.params()) {
                    self.updated(&uri, &message.params()["update"]);
                }
            }
            MessageKind::Request => self.agent_asks(&message),
            MessageKind::Success | MessageKind::Failure => {
                let id = message.id().and_then(Value::as_u64);
                let asked = id.and_then(|id| self.acp.as_mut()?.asked.remove(&id));
                if let Some(asked) = asked {
                    self.agent_answers(asked, &message);
                }
            }
            MessageKind::Notification | MessageKind::Malformed => {}
        }
    }

    /// Returns the chat whose agent session the params name.
    fn chat_of(&self, params: &Value) -> Option<String> {
        let session = params["sessionId"].as_str()?;
        let mut talks = self.acp.as_ref()?.talks.iter();
        talks.find(|(_, talk)| talk.session.as_deref() == Some(session)).map(|(uri, _)| uri.clone())
    }

    fn talk(&mut self, uri: &str) -> Option<&mut ChatTalk> {
        self.acp.as_mut()?.talks.get_mut(uri)
    }

    fn agent_answers(&mut self, asked: AgentRequestPurpose, message: &Message) {
        match (asked, message.result()) {
            (AgentRequestPurpose::Greeting, Some(_)) => {
                let Some(link) = &mut self.acp else {
                    return;
                };
                link.stage = HandshakeStage::Ready;
                let chats: Vec<String> = link.talks.keys().cloned().collect();
                chats.iter().for_each(|uri| self.proceed(uri));
            }
            (AgentRequestPurpose::Session { chat }, Some(result)) => {
                let session = result["sessionId"].as_str().map(str::to_owned);
                if let Some(talk) = self.talk(&chat) {
                    talk.session = session;
                }
                self.proceed(&chat);
            }
            (AgentRequestPurpose::Prompt { chat, turn }, Some(result)) => {
                self.prompted(&chat, &turn, result)
            }
            (AgentRequestPurpose::Greeting, None) => {
                let chats = self.acp.as_ref().map(|link| link.talks.keys().cloned().collect());
                let chats: Vec<String> = chats.unwrap_or_default();
                chats.iter().for_each(|uri| self.agent_failed(uri, None, message));
            }
            (AgentRequestPurpose::Session { chat }, None) => {
                self.agent_failed(&chat, None, message)
            }
            (AgentRequestPurpose::Prompt { chat, turn }, None) => {
                self.agent_failed(&chat, Some(&turn), message)
            }
        }
    }

    /// Handles the agent's response to a prompt: ends the turn or sends the steering message.
    fn prompted(&mut self, uri: &str, turn: &str, result: &Value) {
        if self.state(uri)["activeTurn"]["id"] != turn {
            return;
        }
        if let Some(talk) = self.talk(uri) {
            talk.turn = None;
        }
        match result["stopReason"].as_str() {
            Some("refusal" | "cancelled") => {
                let kind = result["stopReason"].as_str().unwrap_or_default().to_owned();
                self.fail_turn(uri, turn, &kind, false);
            }
            _ => match self.steered(uri) {
                Some(text) => self.prompt_agent(uri, turn.to_owned(), text, Vec::new()),
                None => self.complete_turn(uri, turn),
            },
        }
    }

    /// Removes the steering message of a chat and returns its text; `None` if there is none.
    fn steered(&mut self, uri: &str) -> Option<String> {
        let steering = &self.state(uri)["steeringMessage"];
        let text = steering["message"]["text"].as_str()?.to_owned();
        let id = steering["id"].clone();
        let removed = json!({"type": "chat/pendingMessageRemoved", "kind": "steering", "id": id});
        self.publish(uri, removed);
        Some(text)
    }

    fn agent_failed(&mut self, uri: &str, turn: Option<&str>, message: &Message) {
        let active = self.state(uri)["activeTurn"]["id"].as_str().unwrap_or_default().to_owned();
        if active.is_empty() || turn.is_some_and(|turn| turn != active) {
            return;
        }
        if let Some(talk) = self.talk(uri) {
            (talk.turn, talk.prompt) = (None, None);
        }
        let kind = message.error().and_then(|error| error.pointer("/data/kind")?.as_str());
        self.fail_turn(uri, &active, kind.unwrap_or("agent"), false);
    }

    /// Handles the end of the agent process: fails the active turns. The next prompt starts a new process.
    pub(super) fn lose_agent(&mut self) {
        let Some(link) = self.acp.take() else {
            return;
        };
        let working = link.talks.iter().filter_map(|(uri, talk)| Some((uri, talk.turn.as_ref()?)));
        let working: Vec<_> = working.map(|(uri, turn)| (uri.clone(), turn.clone())).collect();
        self.acp = Some(link.anew());
        for (uri, turn) in working {
            let active = self.state(&uri)["activeTurn"]["id"] == turn.as_str();
            if active {
                self.fail_turn(&uri, &turn, AGENT_ENDED, false);
            }
        }
    }

    /// Handles a request of the agent. The host serves permission requests only.
    fn agent_asks(&mut self, message: &Message) {
        let id = message.id().cloned().unwrap_or_default();
        let uri = self.chat_of(message.params());
        let uri = uri.filter(|_| message.method() == Some("session/request_permission"));
        match uri {
            Some(uri) => self.permission_asked(&uri, id, message.params()),
            None => {
                let refusal = Message::failure(id, -32601, "method not found", Value::Null);
                self.outbox.push(line(refusal));
            }
        }
    }

    /// Informs the agent of the effects of an action: the cancellation of a turn, or a decision about a tool
    /// call.
    pub(super) fn tell_agent(&mut self, uri: &str, action: &Value) {
        let active = self.state(uri)["activeTurn"]["id"].as_str().map(str::to_owned);
        let Some(talk) = self.talk(uri) else {
            return;
        };
        if talk.turn.is_some() && talk.turn != active {
            self.cancel_agent(uri);
        }
        if action_type(action) == "chat/toolCallConfirmed" {
            self.decided(uri, action["toolCallId"].as_str().unwrap_or_default());
        }
    }

    /// Answers the permission request of a tool call after the user's decision.
    fn decided(&mut self, uri: &str, call: &str) {
        let known = tool_call(self.state(uri), call);
        let allowed = known["status"] != "cancelled";
        let chosen = known["selectedOption"]["id"].clone();
        self.decide(uri, call, &chosen, allowed);
    }

    /// Answers the agent's permission request for a tool call; does nothing if the request is not open.
    pub(super) fn decide(&mut self, uri: &str, call: &str, chosen: &Value, allowed: bool) {
        let Some(talk) = self.talk(uri) else {
            return;
        };
        let found = talk.calls.iter_mut().find(|(_, known)| known.call == call);
        if let Some((id, options)) = found.and_then(|(_, known)| known.permission.take()) {
            self.answer_permission(id, &options, chosen, allowed);
        }
    }

    /// Sends the response to a permission request: the chosen option, or the first option of the same kind if
    /// the agent does not offer the chosen option.
    fn answer_permission(&mut self, id: Value, options: &Value, chosen: &Value, allowed: bool) {
        let kind = if allowed { "allow" } else { "reject" };
        let fits = |option: &&Value| option["kind"].as_str().is_some_and(|it| it.starts_with(kind));
        let options = || options.as_array().into_iter().flatten();
        let option = options().filter(fits).find(|option| &option["optionId"] == chosen);
        let outcome = match option.or_else(|| options().find(fits)) {
            Some(option) => json!({"outcome": "selected", "optionId": (option["optionId"])}),
            None => json!({"outcome": "cancelled"}),
        };
        self.outbox.push(line(Message::success(id, json!({"outcome": outcome}))));
    }

    /// Cancels the agent's prompt and permission requests for a chat.
    fn cancel_agent(&mut self, uri: &str) {
        for message in self.abandon_prompt(uri) {
            self.outbox.push(line(message));
        }
    }

    /// Forgets the agent's current prompt, and returns the messages that cancel it.
    pub(super) fn abandon_prompt(&mut self, uri: &str) -> Vec<Message> {
        let Some(talk) = self.talk(uri) else {
            return Vec::new();
        };
        talk.turn = None;
        let unsent = talk.prompt.take().is_some();
        let open = talk.calls.iter_mut().filter_map(|(_, known)| known.permission.take());
        let refused = |(id, _)| Message::success(id, json!({"outcome": {"outcome": "cancelled"}}));
        let refusals: Vec<Message> = open.map(refused).collect();
        if unsent {
            return Vec::new();
        }
        let cancel = json!({"sessionId": (talk.session.clone().unwrap_or_default())});
        let mut messages = vec![Message::notification("session/cancel", cancel)];
        messages.extend(refusals);
        messages
    }

    /// Returns whether the agent has a session for a chat.
    pub(super) fn has_agent_session(&self, uri: &str) -> bool {
        let talk = self.acp.as_ref().and_then(|link| link.talks.get(uri));
        talk.is_some_and(|talk| talk.asked)
    }

    /// Cancels the prompt of a removed or truncated chat and forgets the agent's session for the chat.
    pub(super) fn leave_agent(&mut self, uri: &str) {
        if self.talk(uri).is_some_and(|talk| talk.turn.is_some()) {
            self.cancel_agent(uri);
        }
        if let Some(link) = &mut self.acp {
            link.talks.remove(uri);
        }
    }
}
