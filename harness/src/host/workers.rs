//! Workers: agents that a tool call starts, each in its own chat.
//!
//! The tool call shows the worker's chat as content, and the chat's origin names the tool call. A worker's chat
//! accepts no messages of users. A worker's turn ends with the turn of the calling chat, and a worker's chat
//! moves with the calling chat. A worker may start further workers, up to a maximum depth.
//!
//! Knows: chats, tool calls. Never knows: agents.
//!
//! Start at [`RefHost::put_to_work`].

use std::time::Duration;

use crate::wire::json::json;

use super::agent::HostAgentWait;
use super::engine::{MAX_CHATS, RefHost};

/// The maximum depth of nested workers.
const MAX_DEPTH: usize = 4;
/// The delay before a worker starts, if an injected fault has lifted the maximum depth.
const SLOW: Duration = Duration::from_millis(500);

impl RefHost {
    /// Starts a worker on an input, or on the message of the calling turn if the input is empty. The tool call
    /// waits for the worker.
    ///
    /// # Errors
    /// Returns the reason if the chat no longer exists or a maximum is reached.
    pub(super) fn put_to_work(
        &mut self,
        uri: &str,
        track: usize,
        turn: &str,
        call: &str,
        input: &str,
    ) -> Result<(), String> {
        let Some(session) = self.chats.session_of(uri).map(str::to_owned) else {
            return Err("the chat is gone".to_owned());
        };
        let bounded = self.keeps("chat.create.runaway-guard");
        if bounded && (self.depth(uri) >= MAX_DEPTH || self.chats_of(&session).len() >= MAX_CHATS) {
            return Err("the depth or the number of workers is at its limit".to_owned());
        }
        let text = match input {
            "" => self.state(uri)["activeTurn"]["message"]["text"].clone(),
            input => json!(input),
        };
        let chat = format!("ahp-chat:/{}", self.fresh_id("worker"));
        let origin = json!({"kind": "tool", "chat": uri, "toolCallId": call});
        let mut state = self.first_chat_state(&chat, "Worker", origin);
        state["interactivity"] = json!("read-only");
        self.add_chat(&session, &chat, state);
        let shown = json!({"type": "subagent", "resource": chat, "title": "Worker"});
        let content = json!({
            "type": "chat/toolCallContentChanged", "turnId": turn, "toolCallId": call,
            "content": [shown],
        });
        self.publish(uri, content);
        let message = json!({"text": text, "origin": {"kind": "tool"}});
        self.begin_turn(&chat, message, None);
        if !bounded {
            // Without a delay, workers without a maximum depth would start each other forever at the same virtual time.
            self.runs.delay(&chat, 0, self.clock.now() + SLOW);
        }
        self.runs.hold_up(uri, track, HostAgentWait::Worker(chat));
        Ok(())
    }

    /// Returns the number of chats in which a worker is nested.
    fn depth(&self, uri: &str) -> usize {
        let above = |uri: &String| self.employer(uri);
        std::iter::successors(Some(uri.to_owned()), above).take(MAX_DEPTH + 1).count() - 1
    }

    /// Returns the chat for which a worker works; `None` if the chat does not belong to a worker.
    pub(super) fn employer(&self, uri: &str) -> Option<String> {
        let origin = &self.state(uri)["origin"];
        let chat = origin["chat"].as_str().filter(|_| origin["kind"] == "tool")?;
        Some(chat.to_owned())
    }

    /// Returns the chats of a chat's workers, recursively and in no particular order.
    pub(super) fn workers_of(&self, uri: &str) -> Vec<String> {
        let mut all: Vec<String> = Vec::new();
        let mut next = vec![uri.to_owned()];
        while let Some(above) = next.pop() {
            let of = |chat: &&String| self.employer(chat).as_deref() == Some(above.as_str());
            let found: Vec<String> = self.chats.uris().filter(of).cloned().collect();
            next.extend(found.iter().cloned());
            all.extend(found);
        }
        all
    }

    /// Handles the end of a turn: resumes the chat that the worker worked for, and cancels the turns of the
    /// chat's workers.
    pub(super) fn work_ended(&mut self, uri: &str) {
        if let Some(above) = self.employer(uri) {
            self.wake(&above);
        }
        if !self.keeps("chat.subagent.turn-closed") {
            return;
        }
        let of = |chat: &&String| self.employer(chat).as_deref() == Some(uri);
        let workers: Vec<String> = self.chats.uris().filter(of).cloned().collect();
        for worker in workers {
            let Some(turn) = self.state(&worker)["activeTurn"]["id"].as_str().map(str::to_owned)
            else {
                continue;
            };
            self.runs.stop(&worker);
            let duration = self.turn_duration(&worker);
            let cancelled =
                json!({"type": "chat/turnCancelled", "turnId": turn, "duration": duration});
            self.publish(&worker, cancelled);
        }
    }
}
