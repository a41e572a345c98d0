//! Derived state: the members of a session that repeat data of its chats, and the members of a summary that repeat data
//! of its session.
//!
//! After each action on a chat the host recomputes the chat's entry in the session's catalog and the session's
//! `inputNeeded`. After each action on a session the host recomputes the status and the announced summary.
//!
//! No client action sets the activity of a session; the activity follows the session's status. If one chat
//! waits for input and another has failed, the session's status is that of the waiting chat.
//!
//! Knows: states. Never knows: the cause of a change.
//!
//! Start at [`RefHost::chat_changed`].

use crate::wire::json::{Map, Text, Value, json};

use super::engine::RefHost;
use super::injected::MadeValue;
use super::play::doing;
use crate::wire::channel::ROOT;

/// The members of a chat's state that its entry in the catalog repeats.
const CHAT_MEMBERS: &[&str] = &[
    "title",
    "status",
    "activity",
    "modifiedAt",
    "changes",
    "origin",
    "movable",
    "interactivity",
    "workingDirectories",
];
/// The members of a session's state that its summary repeats.
const SESSION_MEMBERS: &[&str] = &[
    "provider",
    "title",
    "status",
    "activity",
    "origin",
    "project",
    "workingDirectories",
    "annotations",
    "defaultChat",
    "_meta",
];
/// The members of a catalog entry that the compact catalog repeats.
const COMPACT_MEMBERS: &[&str] =
    &["resource", "title", "origin", "interactivity", "status", "changes"];
/// The members of a summary that never change.
pub(super) const IDENTITY: &[&str] = &["resource", "provider", "createdAt"];
/// The actions on a chat that do not change any derived state.
const QUIET: &[&str] = &[
    "chat/delta",
    "chat/reasoning",
    "chat/toolCallDelta",
    "chat/usage",
    "chat/draftChanged",
    "chat/pendingMessageSet",
    "chat/pendingMessageRemoved",
    "chat/queuedMessagesReordered",
];

/// The suffix of the id of an `inputNeeded` entry for a tool call that waits for a token.
const AUTH: &str = "/auth";

const ACTIVITY: u64 = 31;
const IDLE: u64 = 1;
const ERROR: u64 = 2;
const INPUT_NEEDED: u64 = 24;

fn pick(from: &Value, members: &[&str]) -> Map {
    let given = |name: &&str| Some(((*name).to_owned(), from.get(*name)?.clone()));
    members.iter().filter_map(given).collect()
}

impl RefHost {
    /// Returns the entry of a chat in its session's catalog.
    pub(super) fn chat_summary(&self, uri: &str) -> Value {
        let mut summary = pick(self.state(uri), CHAT_MEMBERS);
        summary.insert("resource", json!(uri));
        Value::Object(summary)
    }

    /// Updates the derived state after an action on a chat.
    pub(super) fn chat_changed(&mut self, uri: &str, action_type: &str) {
        if QUIET.contains(&action_type) {
            return;
        }
        let Some(session) = self.chats.session_of(uri).map(str::to_owned) else {
            return;
        };
        let now = self.chat_summary(uri);
        let catalog = self.state(&session)["chats"].as_array();
        let known = catalog.and_then(|chats| chats.iter().find(|chat| chat["resource"] == uri));
        let Some(known) = known else {
            return;
        };
        let differs = |(name, value): &(&Text, &Value)| known.get(name.as_str()) != Some(*value);
        let changes = now.as_object().into_iter().flatten().filter(differs);
        let changes: Map = changes.map(|(n, v)| (n.clone(), v.clone())).collect();
        if !changes.is_empty() {
            let action = json!({"type": "session/chatUpdated", "chat": uri, "changes": changes});
            self.publish(&session, action);
        }
        self.roll_up_input(&session, uri);
        self.mirror_activity(&session);
        self.announce_status(&session);
    }

    /// Updates a session's `inputNeeded` entries for a chat.
    fn roll_up_input(&mut self, session: &str, uri: &str) {
        let wanted = blocks(uri, &self.state(uri)["activeTurn"]);
        let stale = |id: &String| !wanted.iter().any(|entry| entry["id"] == id.as_str());
        let mut gone = self.input_needed_ids(session, uri);
        gone.retain(stale);
        for id in gone {
            self.publish(session, json!({"type": "session/inputNeededRemoved", "id": id}));
        }
        for entry in wanted {
            let current = self.state(session)["inputNeeded"].as_array();
            if !current.is_some_and(|entries| entries.contains(&entry)) {
                self.publish(session, json!({"type": "session/inputNeededSet", "request": entry}));
            }
        }
    }

    /// Returns the ids of a session's `inputNeeded` entries for a chat.
    pub(super) fn input_needed_ids(&self, session: &str, chat: &str) -> Vec<String> {
        let entries = self.state(session)["inputNeeded"].as_array();
        let own = entries.into_iter().flatten().filter(|entry| entry["chat"] == chat);
        own.filter_map(|entry| entry["id"].as_str().map(str::to_owned)).collect()
    }

    /// Updates the derived state after an action on a session.
    pub(super) fn session_changed(&mut self, uri: &str, action_type: &str) {
        if action_type.starts_with("session/activeClient") {
            self.index_active(uri);
            self.follow_plugins(uri);
        }
        if action_type == "session/activeClientRemoved" {
            self.fail_orphans(uri);
        }
        if action_type == "session/workingDirectoryRemoved"
            || action_type == "session/workingDirectoryReplaced"
        {
            self.narrow_directories(uri);
        }
        if self.keeps("session.status.default-chat-base") {
            self.aggregate(uri);
        }
        self.announce_summary(uri);
        self.announce_status(uri);
    }

    /// Announces the status of a session to clients of older versions, if it changed in their version only.
    fn announce_status(&mut self, uri: &str) {
        if self.sessions.has(uri) && self.keeps("root.summaryChanged.emitted") {
            self.tell_statuses(uri, false);
        }
    }

    /// Copies the activity of the chat that determines the session's status.
    fn mirror_activity(&mut self, uri: &str) {
        let state = self.state(uri);
        let status = |value: &Value| value["status"].as_u64().unwrap_or(IDLE) & ACTIVITY;
        let chats = state["chats"].as_array().map(Vec::as_slice).unwrap_or_default();
        let default = chats.iter().find(|chat| chat["resource"] == state["defaultChat"]);
        let same = |chat: &&Value| status(chat) == status(state);
        let from = default.filter(same).or_else(|| chats.iter().find(same));
        let from = from.and_then(|chat| chat["resource"].as_str());
        let activity = from.and_then(|chat| self.state(chat)["activity"].as_str());
        if state["activity"].as_str() != activity {
            let action = doing("session/activityChanged", activity);
            self.publish(uri, action);
        }
    }

    /// Sets the activity bits of a session's status. Source: session-channel.md, status aggregation.
    fn aggregate(&mut self, uri: &str) {
        self.channels.change(uri, aggregate_status);
    }

    /// Returns the summary of a session, computed from its state.
    pub(super) fn summary_of(&self, uri: &str) -> Value {
        let state = self.state(uri);
        let mut summary = pick(state, SESSION_MEMBERS);
        let chats = state["chats"].as_array().map(Vec::as_slice).unwrap_or_default();
        let compact = |chat: &Value| Value::Object(pick(chat, COMPACT_MEMBERS));
        let created = self.sessions.created_at(uri);
        let times = chats.iter().filter_map(|chat| chat["modifiedAt"].as_str());
        let latest = times.max();
        summary.insert("resource", json!(uri));
        summary.insert("modifiedAt", json!(latest.unwrap_or(created)));
        summary.insert("createdAt", json!(created));
        summary.insert("chats", chats.iter().map(compact).collect());
        if let Some(changes) = self.changes_of(uri) {
            summary.insert("changes", changes);
        }
        self.made(&MadeValue::Summary(uri), Value::Object(summary))
    }

    /// Announces the changes of a session's summary since the last announcement.
    pub(super) fn announce_summary(&mut self, uri: &str) {
        let now = self.summary_of(uri);
        let Some(before) = self.sessions.announce(uri, &now) else {
            return;
        };
        let members = now.as_object().into_iter().flatten();
        let changed = members.filter(|(name, value)| {
            !IDENTITY.contains(&name.as_str()) && before.get(name.as_str()) != Some(*value)
        });
        let changes: Map = changed.map(|(n, v)| (n.clone(), v.clone())).collect();
        if changes.is_empty() || !self.keeps("root.summaryChanged.emitted") {
            return;
        }
        if changes.get("status").is_some() {
            self.tell_statuses(uri, true);
        }
        let params = json!({"channel": ROOT, "session": uri, "changes": changes});
        self.notify("root/sessionSummaryChanged", params);
    }

    /// Updates the index of the clients that are active in a session.
    pub(super) fn index_active(&mut self, session: &str) {
        let entries = self.state(session)["activeClients"].as_array();
        let clients = entries.into_iter().flatten().filter_map(|entry| entry["clientId"].as_str());
        let clients: Vec<String> = clients.map(str::to_owned).collect();
        self.clients.set_active(session, clients);
    }

    /// Removes a client from a session's active clients; does nothing if the client is not active.
    pub(super) fn deactivate(&mut self, session: &str, client: &str) {
        if self.clients.is_active(client, session) {
            let action = json!({"type": "session/activeClientRemoved", "clientId": client});
            self.publish(session, action);
        }
    }

    /// Restricts the working directories of a session's chats to the working directories of the session.
    fn narrow_directories(&mut self, session: &str) {
        if !self.keeps("chat.workingDirectories.subset") {
            return;
        }
        let allowed = self.state(session)["workingDirectories"].clone();
        for chat in self.chats_of(session) {
            let own = self.state(&chat)["workingDirectories"].as_array().cloned();
            for directory in own.into_iter().flatten() {
                if !allowed.as_array().is_some_and(|set| set.contains(&directory)) {
                    let action =
                        json!({"type": "chat/workingDirectoryRemoved", "directory": directory});
                    self.publish(&chat, action);
                }
            }
        }
    }
}

/// Returns an `inputNeeded` entry for everything in an active turn that waits for a user or a client.
fn blocks(chat: &str, turn: &Value) -> Vec<Value> {
    let parts = turn["responseParts"].as_array().map(Vec::as_slice).unwrap_or_default();
    let block = |part: &Value| match part["kind"].as_str()? {
        "inputRequest" if part.get("response").is_none_or(Value::is_null) => {
            let request = &part["request"];
            let id = format!("{chat}#{}", request["id"].as_str()?);
            Some(json!({"kind": "chatInput", "id": id, "chat": chat, "request": request}))
        }
        "toolCall" => tool_block(chat, turn, &part["toolCall"]),
        _ => None,
    };
    parts.iter().filter_map(block).collect()
}

fn tool_block(chat: &str, turn: &Value, call: &Value) -> Option<Value> {
    let id = call["toolCallId"].as_str()?;
    let entry = |kind: &str, suffix: &str| {
        json!({
            "kind": kind,
            "id": format!("{chat}#{id}{suffix}"),
            "chat": chat,
            "turnId": turn["id"],
            "toolCall": call,
        })
    };
    let client = &call["contributor"]["clientId"];
    match call["status"].as_str()? {
        "pending-confirmation" => Some(entry("toolConfirmation", "/confirm")),
        "pending-result-confirmation" => Some(entry("toolConfirmation", "/result")),
        "auth-required" => Some(entry("toolAuthentication", AUTH)),
        "running" if client.is_string() => {
            let mut entry = entry("toolClientExecution", "/client");
            entry["clientId"] = client.clone();
            Some(entry)
        }
        _ => None,
    }
}

/// Sets the activity bits of a session's status. Source: session-channel.md, status aggregation.
fn aggregate_status(state: &mut Value) {
    let activity = |chat: &Value| chat["status"].as_u64().unwrap_or(IDLE) & ACTIVITY;
    let chats = state["chats"].as_array().map(Vec::as_slice).unwrap_or_default();
    let default = chats.iter().find(|chat| chat["resource"] == state["defaultChat"]);
    let latest = || chats.iter().max_by_key(|chat| chat["modifiedAt"].as_str().unwrap_or(""));
    let base = default.or_else(latest).map_or(IDLE, activity);
    let any = |wanted: u64| chats.iter().any(|chat| activity(chat) == wanted);
    let now = match () {
        () if any(INPUT_NEEDED) => INPUT_NEEDED,
        () if any(ERROR) => ERROR,
        () => base,
    };
    let flags = state["status"].as_u64().unwrap_or(IDLE) & !ACTIVITY;
    state["status"] = json!(flags | now);
}
