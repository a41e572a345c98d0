//! Moves of chats: to another position in the catalogue, to another session, or to a new session.
//!
//! A chat that a user created is movable while it has no active turn. A session's default chat is never
//! movable, and worker chats move together with the chat for which they work. The host checks a move completely before
//! it changes any state, and assigns the chat to its destination before it notifies subscribers.
//!
//! Knows: catalogues. Never knows: subscriptions.
//!
//! Start at [`RefHost::move_chat`].

use crate::wire::feature::ProtocolFeature;
use crate::wire::json::{Value, json};

use super::engine::{MAX_CHATS, MAX_SESSIONS, RefHost};
use super::request::{CallReply, ErrorResponse, HostCall, unknown_channel};
use super::sessions::empty_state;

impl RefHost {
    /// Serves `moveChat`. Source: chat-channel.md; `chat.move.*`.
    pub(super) fn move_chat(&mut self, call: &HostCall) -> CallReply {
        let chat = call.channel().to_owned();
        let destination = &call.params["destination"];
        let Some(from) = self.chats.session_of(&chat).map(str::to_owned) else {
            return Err(unknown_channel(&chat));
        };
        let session = destination["session"].as_str().unwrap_or_default();
        let after = destination["after"].as_str();
        match destination["kind"].as_str() {
            Some("session") => {
                if self.state(session)["lifecycle"] != "ready" {
                    return Err(ErrorResponse::invalid_request("expected a session that is ready"));
                }
                let there = |after: &str| self.chats.session_of(after) == Some(session);
                if after.is_some_and(|after| after == chat || !there(after)) {
                    return Err(ErrorResponse::invalid_params(
                        "expected another chat of that session",
                    ));
                }
            }
            Some("newSession") if self.sessions.count() < MAX_SESSIONS => {}
            _ => return Err(ErrorResponse::invalid_params("expected a destination of this host")),
        }
        if self.state(&chat)["movable"] != true {
            return Err(ErrorResponse::invalid_request("the chat is not movable"));
        }
        let mut moved = vec![chat.clone()];
        if self.keeps("chat.move.descendants") {
            moved.extend(self.workers_of(&chat));
        }
        let to = match destination["kind"].as_str() {
            Some("newSession") => self.session_like(&from),
            _ => {
                self.takes_in(session, &from, &moved)?;
                session.to_owned()
            }
        };
        if to == from {
            self.reposition(&to, &chat, after);
        } else {
            self.relocate(&from, &to, &moved, after);
        }
        Ok(json!({"session": to}))
    }

    /// Checks that a session can take chats from another session: the session has room, its agent supports
    /// further chats, and it has the working directories of the chats. A chat keeps its state when it moves.
    /// Sources: `chat.move.other-session`, `chat.workingDirectories.subset`.
    fn takes_in(&self, session: &str, from: &str, moved: &[String]) -> Result<(), ErrorResponse> {
        if session == from {
            return Ok(());
        }
        self.offers_chat(session, &Value::Null)?;
        if self.chats_of(session).len() + moved.len() > MAX_CHATS {
            return Err(ErrorResponse::invalid_request("too many chats"));
        }
        let allowed = self.state(session)["workingDirectories"].as_array();
        let inside = |it: &Value| allowed.is_some_and(|allowed| allowed.contains(it));
        let of = |chat: &String| self.state(chat)["workingDirectories"].as_array();
        if !moved.iter().filter_map(of).flatten().all(inside) {
            return Err(ErrorResponse::invalid_params(
                "a directory of the chat does not belong to that session",
            ));
        }
        Ok(())
    }

    /// Places a chat behind the chat `after` in the catalogue, or first if `after` is `None`.
    fn reposition(&mut self, session: &str, chat: &str, after: Option<&str>) {
        let chats = self.state(session)["chats"].as_array();
        let uris = chats.into_iter().flatten().filter_map(|entry| entry["resource"].as_str());
        let mut order: Vec<String> = uris.filter(|uri| *uri != chat).map(str::to_owned).collect();
        let place = after.and_then(|after| order.iter().position(|uri| uri == after));
        order.insert(place.map_or(0, |at| at + 1), chat.to_owned());
        self.publish(session, json!({"type": "session/chatsReordered", "chats": order}));
    }

    /// Moves chats from one session to another.
    fn relocate(&mut self, from: &str, to: &str, moved: &[String], after: Option<&str>) {
        for uri in moved {
            self.chats.move_to(uri, to);
        }
        for uri in moved {
            self.publish(from, json!({"type": "session/chatRemoved", "chat": uri}));
        }
        for uri in moved {
            let summary = self.chat_summary(uri);
            self.publish(to, json!({"type": "session/chatAdded", "summary": summary}));
        }
        let Some(chat) = moved.first() else {
            return;
        };
        if self.state(to)["lifecycle"] == "creating" {
            let default = json!({"type": "session/defaultChatChanged", "defaultChat": chat});
            self.publish(to, default);
            self.publish(chat, json!({"type": "chat/movableChanged", "movable": false}));
            self.creation_ends(to);
        } else {
            self.reposition(to, chat, after);
        }
    }

    /// Creates an empty session with the settings of another session.
    fn session_like(&mut self, other: &str) -> String {
        let uri = format!("ahp-session:/{}", self.fresh_id("session"));
        let like = self.state(other).clone();
        let mut state = empty_state(like["provider"].as_str().unwrap_or_default(), false);
        for name in ["config", "workingDirectories"] {
            if let Some(value) = like.get(name) {
                state[name] = value.clone();
            }
        }
        self.open_session(&uri, state, None);
        uri
    }

    /// Updates `movable` after an action on a chat: a chat is movable while it has no active turn.
    pub(super) fn follow_movable(&mut self, uri: &str, action_type: &str) {
        let movable = match action_type {
            "chat/turnStarted" | "chat/turnResume" => false,
            "chat/turnComplete" | "chat/turnCancelled" | "chat/error" | "chat/truncated" => true,
            _ => return,
        };
        let known = self.state(uri).get("movable").cloned();
        if known.is_some_and(|known| known != movable) && !self.is_default(uri) {
            self.publish(uri, json!({"type": "chat/movableChanged", "movable": movable}));
        }
    }

    /// Returns whether a chat is its session's default chat.
    fn is_default(&self, uri: &str) -> bool {
        let session = self.chats.session_of(uri).unwrap_or_default();
        self.state(session)["defaultChat"] == uri
    }

    /// Marks a chat that a client has created as movable, if the version has moves.
    pub(super) fn made_movable(&self, mut state: Value) -> Value {
        if self.protocol.has(ProtocolFeature::ChatMoves) {
            state["movable"] = json!(true);
        }
        state
    }
}
