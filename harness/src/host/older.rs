//! What hosts of the versions before chats told of their sessions besides, so that clients of these
//! versions hear it: the session's tools, its side-channel and customizations once it is ready, the
//! agents once one has started, and what the session is doing.
//!
//! Knows: views. Never knows: why something happens.
//!
//! Start at [`RefHost::tell_ready`].

use crate::wire::channel::ROOT;
use crate::wire::feature::Feature;
use crate::wire::json::{Value, json};
use crate::wire::protocol::Protocol;

use super::engine::RefHost;

fn before_chats(protocol: &Protocol) -> bool {
    !protocol.has(Feature::Chats)
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
}
