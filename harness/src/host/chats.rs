//! Chats: creation, forks, disposal, completions.
//!
//! Knows: the content and the sources of chats. Never knows: agents.
//!
//! Start at [`RefHost::create_chat`].

use crate::wire::json::{Value, json};

use super::configuration;
use super::engine::{MAX_CHATS, RefHost};
use super::request::{CallReply, ErrorResponse, HostCall, unknown_channel};
use super::sessions::directories;
use crate::wire::channel::ChannelKind;
use crate::wire::error_code::ErrorName;

/// The character in a message that triggers completions.
pub(super) const TRIGGER: &str = "@";
/// The only completion that this host offers.
const NOTE: &str = "note";

impl RefHost {
    /// Serves `createChat`. Source: chat-channel.md; `chat.create.*`.
    pub(super) fn create_chat(&mut self, call: &HostCall) -> CallReply {
        let session = call.channel().to_owned();
        let chat = call.text("chat").to_owned();
        if !self.sessions.has(&session) {
            return Err(ErrorResponse::named(ErrorName::SessionNotFound, "no such session"));
        }
        if self.state(&session)["lifecycle"] != "ready" {
            return Err(ErrorResponse::invalid_request("the session is not ready"));
        }
        self.offers_chat(&session, &call.params["source"])?;
        if ChannelKind::of_uri(&chat) != Some(ChannelKind::Chat) {
            return Err(ErrorResponse::invalid_params(
                "expected `ahp-chat:/<id>` at `params.chat`",
            ));
        }
        if self.channels.has(&chat) {
            return Err(ErrorResponse::named(ErrorName::AlreadyExists, "the URI is in use"));
        }
        if self.chats_of(&session).len() >= MAX_CHATS {
            return Err(ErrorResponse::invalid_request("too many chats"));
        }
        let message = call.params.get("initialMessage").filter(|message| !message.is_null());
        if message.is_some_and(|message| message["origin"]["kind"] != "user") {
            return Err(ErrorResponse::invalid_params("expected a message of kind `user`"));
        }
        if let Some(source) = call.params.pointer("/source/chat").and_then(Value::as_str) {
            self.load_turns(source);
        }
        let state = self.chat_from_source(call, &session, &chat)?;
        // A fork begins with a copy of the turns of its source.
        let context = match state["origin"]["kind"] == "fork" {
            true => String::new(),
            false => self.history(&state["origin"]),
        };
        let state = self.made_movable(state);
        self.add_chat(&session, &chat, state);
        self.chats.set_context(&chat, context);
        if let Some(message) = message {
            self.begin_turn(&chat, message.clone(), None);
        }
        Ok(Value::Null)
    }

    /// Checks that the agent of a session supports another chat with a source of this kind.
    pub(super) fn offers_chat(&self, session: &str, source: &Value) -> Result<(), ErrorResponse> {
        let provider = self.state(session)["provider"].as_str().unwrap_or_default();
        let chats = &configuration::capabilities(provider)["multipleChats"];
        let offered = match source["kind"].as_str() {
            Some(kind @ ("fork" | "sideChat")) => chats[kind] == true,
            _ => chats.is_object(),
        };
        if offered || !self.keeps("chat.create.no-capability") {
            return Ok(());
        }
        Err(ErrorResponse::invalid_request("the agent does not offer such chats"))
    }

    /// Returns the transcript that a new chat receives from its origin, in the current state of the origin.
    fn history(&self, origin: &Value) -> String {
        let (Some(from), Some(turn)) = (origin["chat"].as_str(), origin["turnId"].as_str()) else {
            return String::new();
        };
        let active = &self.state(from)["activeTurn"];
        if active["id"] == turn {
            return self.transcript(from, None) + &self.told(active);
        }
        self.transcript(from, Some(turn))
    }

    fn chat_from_source(&self, call: &HostCall, session: &str, chat: &str) -> CallReply {
        let source = call.params.get("source").filter(|source| !source.is_null());
        let mut state = match source {
            None => self.first_chat_state(chat, "Chat", json!({"kind": "user"})),
            Some(source) => match self.sourced_state(source, session, chat) {
                Err(_) if !self.keeps("chat.create.source.unknown-chat") => {
                    self.first_chat_state(chat, "Chat", json!({"kind": "user"}))
                }
                state => state?,
            },
        };
        let wanted = directories(call.params);
        let given = call.params.get("workingDirectories").is_some_and(Value::is_array);
        let forked = source.is_some_and(|source| source["kind"] == "fork");
        if given && !forked {
            let allowed = self.state(session)["workingDirectories"].as_array();
            let inside = |uri: &&str| allowed.is_some_and(|set| set.contains(&json!(uri)));
            if !wanted.iter().all(inside) && self.keeps("chat.create.working-directories.subset") {
                return Err(ErrorResponse::invalid_params(
                    "a directory does not belong to the session",
                ));
            }
            state["workingDirectories"] = json!(wanted);
        }
        Ok(state)
    }

    /// Returns the first state of a chat that has another chat as its source. Source: `chat.create.source.*`.
    fn sourced_state(&self, source: &Value, session: &str, chat: &str) -> CallReply {
        let from = source["chat"].as_str().unwrap_or("");
        let turn = source["turnId"].as_str().unwrap_or("");
        if from == chat {
            return Err(ErrorResponse::invalid_params("a chat cannot be its own source"));
        }
        if self.chats.session_of(from) != Some(session) {
            return Err(ErrorResponse::invalid_params("expected a source chat of this session"));
        }
        let origin = self.state(from);
        let turns = origin["turns"].as_array().map(Vec::as_slice).unwrap_or_default();
        let at = turns.iter().position(|known| known["id"] == turn);
        let active = origin["activeTurn"]["id"] == turn;
        match (source["kind"].as_str(), at) {
            (Some("fork"), Some(at)) => {
                let origin_value = json!({"kind": "fork", "chat": from, "turnId": turn});
                let mut state = self.first_chat_state(chat, "Fork", origin_value);
                state["turns"] = json!(&turns[..=at]);
                if let Some(directories) = origin.get("workingDirectories") {
                    state["workingDirectories"] = directories.clone();
                }
                Ok(state)
            }
            (Some("sideChat"), at) if at.is_some() || active => {
                let mut origin = json!({"kind": "sideChat", "chat": from, "turnId": turn});
                if let Some(selection) = source.get("selection").filter(|value| !value.is_null()) {
                    if selection["text"].as_str().unwrap_or("").is_empty() {
                        return Err(ErrorResponse::invalid_params(
                            "expected a text in `selection`",
                        ));
                    }
                    origin["selection"] = selection.clone();
                }
                Ok(self.first_chat_state(chat, "Side chat", origin))
            }
            (Some("fork" | "sideChat"), _) => {
                Err(ErrorResponse::invalid_params("no such turn in the source chat"))
            }
            _ => Err(ErrorResponse::invalid_params("no such kind of source")),
        }
    }

    /// Returns the state of a chat without turns.
    pub(super) fn first_chat_state(&self, uri: &str, title: &str, origin: Value) -> Value {
        json!({
            "resource": uri,
            "title": title,
            "status": 1,
            "modifiedAt": self.clock.timestamp(),
            "origin": origin,
            "turns": [],
        })
    }

    /// Adds a chat and announces it.
    pub(super) fn add_chat(&mut self, session: &str, uri: &str, state: Value) {
        self.chats.add(uri, session);
        self.add_channel(uri, ChannelKind::Chat, state);
        let summary = self.chat_summary(uri);
        self.publish(session, json!({"type": "session/chatAdded", "summary": summary}));
    }

    /// Serves `disposeChat`.
    pub(super) fn dispose_chat(&mut self, call: &HostCall) -> CallReply {
        if !self.chats.has(call.channel()) {
            return Err(unknown_channel(call.channel()));
        }
        self.remove_chat(call.channel());
        Ok(Value::Null)
    }

    /// Stops a chat's agent, removes the chat and announces the removal.
    pub(super) fn remove_chat(&mut self, uri: &str) {
        self.runs.stop(uri);
        self.leave_agent(uri);
        self.work_ended(uri);
        self.drop_canvases(uri);
        let Some(session) = self.chats.remove(uri) else {
            return;
        };
        self.drop_channel(uri);
        for id in self.input_needed_ids(&session, uri) {
            self.publish(&session, json!({"type": "session/inputNeededRemoved", "id": id}));
        }
        self.publish(&session, json!({"type": "session/chatRemoved", "chat": uri}));
    }

    /// Returns the chats of a session, in the order of its catalogue.
    pub(super) fn chats_of(&self, session: &str) -> Vec<String> {
        let mut own: Vec<String> = self.chats.of_session(session).cloned().collect();
        let listed = self.state(session)["chats"].as_array().map(Vec::as_slice).unwrap_or_default();
        let place = |uri: &String| listed.iter().position(|chat| chat["resource"] == uri.as_str());
        // The order does not depend on the URIs. Chats that the catalogue does not list come first.
        own.sort_by_cached_key(place);
        own
    }

    /// Serves `completions`: completes a word that follows the trigger and ends at the offset.
    pub(super) fn completions(&mut self, call: &HostCall) -> CallReply {
        if !self.chats.has(call.channel()) {
            return Err(unknown_channel(call.channel()));
        }
        // Offsets count UTF-16 code units.
        let text: Vec<u16> = call.text("text").encode_utf16().collect();
        let offset = call.params["offset"].as_u64().and_then(|it| usize::try_from(it).ok());
        let Some(before) = offset.and_then(|offset| text.get(..offset)) else {
            return Err(ErrorResponse::invalid_params(
                "expected an offset in the text at `params.offset`",
            ));
        };
        let before = String::from_utf16_lossy(before);
        let units = |text: &str| text.encode_utf16().count();
        let known = call.text("kind") == "userMessage";
        let begun = before.rsplit_once(TRIGGER).map(|(ahead, word)| (units(ahead), word));
        let Some((start, _)) = begun.filter(|(_, word)| known && NOTE.starts_with(word)) else {
            return Ok(json!({"items": []}));
        };
        let attachment = json!({
            "type": "simple", "label": NOTE, "modelRepresentation": "what was noted",
            "_meta": {"x-note": 1},
        });
        Ok(json!({"items": [{
            "insertText": format!("{TRIGGER}{NOTE}"), "rangeStart": start,
            "rangeEnd": units(&before), "attachment": attachment,
        }]}))
    }
}
