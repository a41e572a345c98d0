//! Actions and creation params that only versions without chats have. Clients of these versions receive the
//! session's tools, metadata and customizations when the session is ready, the agents when the first session is
//! ready, and changes of the session's activity. At the creation of a session these clients may set the model
//! and the agent of the session, and the session to fork.
//!
//! Knows: views. Never knows: the cause of a change.
//!
//! Start at [`RefHost::tell_ready`].

use crate::wire::channel::ROOT;
use crate::wire::feature::ProtocolFeature;
use crate::wire::json::{Value, json};
use crate::wire::protocol::Protocol;
use crate::wire::trim::TrimType;

use super::engine::RefHost;
use super::request::{ErrorResponse, HostCall};

fn before_chats(protocol: &Protocol) -> bool {
    !protocol.has(ProtocolFeature::Chats)
}

impl RefHost {
    /// Sends the actions for a session that became ready.
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
        if self.sessions.count() == 1 {
            let agents =
                json!({"type": "root/agentsChanged", "agents": self.state(ROOT)["agents"]});
            self.say_old(ROOT, &agents, before_chats);
        }
    }

    /// Sends the activity of a session after an action on its chat.
    pub(super) fn tell_doing(&mut self, chat: &str, action_type: &str) {
        if self.views.is_empty() {
            return;
        }
        let activity: Value = match action_type {
            "chat/toolCallStart" => json!("Calling a tool"),
            "chat/turnComplete" | "chat/turnCancelled" | "chat/error" => Value::Null,
            _ => return,
        };
        let Some(session) = self.chats.session_of(chat).map(str::to_owned) else {
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

    /// Returns whether `createSession` has this member in the version of the request.
    fn made_by(&self, call: &HostCall, member: &str) -> bool {
        self.protocol_of(call.conn).has_member(TrimType::Params("createSession"), member)
    }

    /// Returns the turns that a new session inherits from `fork`, up to the named turn. Returns no turns
    /// without `fork`, or if the version has no such member. Source: `session.create.fork-legacy`.
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

    /// Returns the URI, spelled as the host spells it, of the session that a fork names.
    fn forked(&self, fork: &Value) -> Option<String> {
        let named = fork["session"].as_str()?;
        let known = |uri: &&String| {
            **uri == named || self.views.iter().any(|view| view.edge().lower_uri(uri) == named)
        };
        self.sessions.uris().find(known).cloned()
    }

    /// Shows the model, agent and turns to clients of older versions; only these clients can set them at a session's
    /// creation.
    pub(super) fn show_first(&mut self, uri: &str, call: &HostCall, history: usize) {
        let chosen: Vec<(&str, Value)> = ["model", "agent"]
            .into_iter()
            .filter(|name| self.made_by(call, name))
            .filter_map(|name| Some((name, call.params.get(name)?.clone())))
            .collect();
        let source = call.params.get("fork").and_then(|fork| self.forked(fork));
        self.views.begin_session(uri, source.as_deref(), history, &chosen);
    }
}
