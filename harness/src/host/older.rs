//! What hosts of the versions before chats told of their sessions besides, so that clients of these
//! versions hear it: the session's tools, its side-channel and customizations once it is ready, the
//! agents once one has started, and what the session is doing. And what they let a client say at a session's
//! creation that no newer version has: its model and agent, and the session that it is forked from.
//!
//! Knows: views. Never knows: why something happens.
//!
//! Start at [`RefHost::tell_ready`].

use crate::wire::channel::ROOT;
use crate::wire::feature::ProtocolFeature;
use crate::wire::json::{Value, json};
use crate::wire::protocol::Protocol;
use crate::wire::trim::TrimType;

use super::connection::{ErrorResponse, HostCall};
use super::engine::RefHost;

fn before_chats(protocol: &Protocol) -> bool {
    !protocol.has(ProtocolFeature::Chats)
}

impl RefHost {
    /// A session has become ready.
    pub(super) fn tell_ready(&mut self, session: &str) {
        if self.views.is_empty() {
            return;
        }
        let tool = |name: &str, title: &str| json!({"name": name, "title": title});
        let tools = [
            tool("shell", "Run command"),
            tool("read", "Read file"),
            tool("write", "Write file"),
            tool("edit", "Edit file"),
        ];
        let tools = json!({"type": "session/serverToolsChanged", "tools": tools});
        self.say_old(session, &tools, before_chats);
        let meta = json!({"type": "session/metaChanged", "_meta": {"x-agent": "scripted"}});
        self.say_old(session, &meta, before_chats);
        let customizations = self.state(session)["customizations"].clone();
        let customizations =
            json!({"type": "session/customizationsChanged", "customizations": customizations});
        self.say_old(session, &customizations, before_chats);
        if self.sessions.len() == 1 {
            let agents =
                json!({"type": "root/agentsChanged", "agents": self.state(ROOT)["agents"]});
            self.say_old(ROOT, &agents, before_chats);
        }
    }

    /// Something has happened in a chat.
    pub(super) fn tell_doing(&mut self, chat: &str, action_type: &str) {
        if self.views.is_empty() {
            return;
        }
        let activity: Value = match action_type {
            "chat/toolCallStart" => json!("Calling a tool"),
            "chat/turnComplete" | "chat/turnCancelled" | "chat/error" => Value::Null,
            _ => return,
        };
        let Some(session) = self.chats.get(chat).map(|chat| chat.session.clone()) else {
            return;
        };
        let mut action = json!({"type": "session/activityChanged"});
        if !activity.is_null() {
            action["activity"] = activity;
        }
        let told = |shown: &Value| shown["summary"].get("activity").cloned().unwrap_or_default();
        let now = action.get("activity").cloned().unwrap_or_default();
        let known = self.views.iter().any(|view| told(view.state(&session)) != now);
        if known {
            self.say_old(&session, &action, before_chats);
        }
    }

    /// Whether the version of a request has this member among those by which sessions are made.
    fn made_by(&self, call: &HostCall, member: &str) -> bool {
        self.protocol_of(call.conn).has_member(TrimType::Params("createSession"), member)
    }

    /// The turns of the session that a new one is forked from, up to the one that is named. Without
    /// `fork`, and where the version has no such member, there are none.
    /// Source: `session.create.fork-legacy`.
    pub(super) fn history_of_fork(&self, call: &HostCall) -> Result<Vec<Value>, ErrorResponse> {
        let Some(fork) = call.params.get("fork").filter(|_| self.made_by(call, "fork")) else {
            return Ok(Vec::new());
        };
        let source = self.forked(fork).map_or(&Value::Null, |session| self.state(&session));
        let chat = source["defaultChat"].as_str().unwrap_or_default();
        let turns = self.state(chat)["turns"].as_array().map(Vec::as_slice).unwrap_or_default();
        match turns.iter().position(|turn| turn["id"] == fork["turnId"]) {
            Some(end) => Ok(turns[..=end].to_vec()),
            None => Err(ErrorResponse::invalid_params("no such turn in the session to fork")),
        }
    }

    /// The session that a fork names, as the host calls it.
    fn forked(&self, fork: &Value) -> Option<String> {
        let named = fork["session"].as_str()?;
        let known = |uri: &&String| {
            **uri == named || self.views.iter().any(|view| view.edge.lower_uri(uri) == named)
        };
        self.sessions.keys().find(known).cloned()
    }

    /// A session was made: what only older versions let its maker say is shown in theirs.
    pub(super) fn show_first(&mut self, uri: &str, call: &HostCall, history: usize) {
        let chosen: Vec<(&str, Value)> = ["model", "agent"]
            .into_iter()
            .filter(|name| self.made_by(call, name))
            .filter_map(|name| Some((name, call.params.get(name)?.clone())))
            .collect();
        let source = call.params.get("fork").and_then(|fork| self.forked(fork));
        for view in &mut self.views {
            let known = source.as_ref().filter(|_| !view.edge.has_chats());
            let turns = known.map(|source| view.state(source)["turns"].clone());
            let Some(shown) = view.channels.get_mut(uri) else { continue };
            if let Some(Value::Array(mut turns)) = turns {
                turns.truncate(history);
                shown.state["turns"] = json!(turns);
            }
            for (name, value) in &chosen {
                if view.edge.protocol().has_member(TrimType::Params("createSession"), name) {
                    shown.state["summary"][*name] = value.clone();
                }
            }
        }
    }
}
