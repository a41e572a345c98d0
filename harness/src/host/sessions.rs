//! Sessions: creation, readiness, disposal.
//!
//! A session begins with the lifecycle `creating`. After a moment the session gets its default chat and becomes
//! ready.
//!
//! Knows: the content of a session. Never knows: agents.
//!
//! Start at [`RefHost::create_session`].

use std::time::Duration;

use crate::wire::json::{Value, json};

use super::auth;
use super::configuration;
use super::customizations;
use super::engine::{MAX_SESSIONS, RefHost};
use super::request::{CallReply, ErrorResponse, HostCall, unknown_channel};
use crate::transcript::ConnId;
use crate::wire::channel::{ChannelKind, ROOT};
use crate::wire::error_code::ErrorName;

/// The time that a session takes to get its default chat.
const READY_DELAY: Duration = Duration::from_millis(20);
/// The number of progress stages of the creation of a session.
pub(super) const STAGES: u64 = 2;
/// The maximum number of working directories of a session or chat.
const MAX_DIRECTORIES: usize = 100;

/// The default title of a session.
pub(super) const FIRST_TITLE: &str = "New session";

/// Returns the state of a new session.
pub(super) fn empty_state(provider: &str, apps: bool) -> Value {
    json!({
        "provider": provider,
        "title": FIRST_TITLE,
        "status": 1,
        "lifecycle": "creating",
        "activeClients": [],
        "chats": [],
        "customizations": customizations::own(apps),
    })
}

impl RefHost {
    /// Serves `createSession`.
    pub(super) fn create_session(&mut self, call: &HostCall) -> CallReply {
        let uri = call.channel().to_owned();
        if !is_session(&uri) {
            return Err(ErrorResponse::invalid_params(
                "expected `ahp-session:/<id>` at `params.channel`",
            ));
        }
        if self.channels.has(&uri) {
            return Err(ErrorResponse::named(ErrorName::SessionAlreadyExists, "the URI is in use"));
        }
        if self.sessions.count() >= MAX_SESSIONS {
            return Err(ErrorResponse::named(ErrorName::InternalError, "too many sessions"));
        }
        let state = self.first_state(call)?;
        let history = self.history_of_fork(call)?;
        let progress = call.params["progressToken"].as_str().map(|it| (call.conn, it.to_owned()));
        self.open_session(&uri, state, progress);
        self.show_first(&uri, call, history.len());
        self.sessions.keep_history(&uri, history);
        Ok(Value::Null)
    }

    /// Creates a session with its first state and announces it.
    pub(super) fn open_session(
        &mut self,
        uri: &str,
        state: Value,
        progress: Option<(ConnId, String)>,
    ) {
        self.add_channel(uri, ChannelKind::Session, state);
        self.sessions.add(uri, self.clock.timestamp(), self.clock.now() + READY_DELAY, progress);
        self.add_annotations(uri);
        self.index_active(uri);
        let summary = self.summary_of(uri);
        self.sessions.announce(uri, &summary);
        let params = json!({"channel": ROOT, "summary": summary});
        self.notify("root/sessionAdded", params);
        self.count_sessions();
        self.follow_plugins(uri);
        self.report_progress(uri, 0);
    }

    /// Reports the progress of a creation to the connection that requested it. The stages are: created, default
    /// chat added, ready. Source: root-channel.md.
    pub(super) fn report_progress(&mut self, uri: &str, done: u64) {
        let Some((conn, token)) = self.sessions.progress(uri).cloned() else {
            return;
        };
        if done == STAGES {
            self.sessions.end_progress(uri);
        }
        let params = json!({
            "channel": ROOT, "progressToken": token, "progress": done, "total": STAGES,
        });
        self.notify_one(conn, "root/progress", params);
    }

    fn first_state(&self, call: &HostCall) -> CallReply {
        let asked = call.params.get("provider").and_then(Value::as_str);
        let any = asked.filter(|_| !self.keeps("session.create.unknown-provider"));
        let provider = auth::provider(call).or(any).ok_or_else(unknown_provider)?;
        self.require_tokens(call.conn, provider)?;
        let own = self.connections.client(call.conn);
        let mut state = empty_state(provider, own.is_some_and(|own| self.clients.shows_apps(own)));
        let wanted = call.params.get("config").unwrap_or(&Value::Null);
        let values =
            configuration::session_values(wanted).map_err(ErrorResponse::invalid_params)?;
        state["config"] = json!({"schema": configuration::session_schema(), "values": values});
        let directories = directories(call.params);
        if directories.len() > MAX_DIRECTORIES {
            return Err(ErrorResponse::invalid_params("too many working directories"));
        }
        if let Some(first) = directories.first() {
            let name = first.trim_end_matches('/').rsplit('/').next().unwrap_or(first);
            state["project"] = json!({"uri": first, "displayName": name});
            state["workingDirectories"] = json!(directories);
        }
        if let Some(active) = call.params.get("activeClient").filter(|active| !active.is_null()) {
            let own = self.connections.client(call.conn);
            let matches = active["clientId"].as_str() == own;
            if !matches && self.keeps("session.create.active-client-id-match") {
                let message = "expected the client's own id at `params.activeClient.clientId`";
                return Err(ErrorResponse::invalid_params(message));
            }
            state["activeClients"] = json!([active]);
        }
        Ok(state)
    }

    /// Performs the next stage of the creations that are due.
    pub(super) fn ready_sessions(&mut self) {
        for uri in self.sessions.due(self.clock.now()) {
            if !self.sessions.end_creation(&uri) {
                continue;
            }
            if self.state(&uri)["defaultChat"].is_null() {
                self.add_default_chat(&uri);
                self.report_progress(&uri, 1);
                if self.config.ready_after > Duration::ZERO {
                    self.sessions.hold_back(&uri, self.clock.now() + self.config.ready_after);
                    continue;
                }
            }
            if unreachable(self.state(&uri)) {
                let error = json!({"errorType": "unreachable", "message": "no such folder"});
                self.publish(&uri, json!({"type": "session/creationFailed", "error": error}));
                continue;
            }
            self.creation_ends(&uri);
        }
    }

    /// Makes a session ready.
    pub(super) fn creation_ends(&mut self, uri: &str) {
        self.sessions.end_creation(uri);
        self.publish(uri, json!({"type": "session/ready"}));
        self.tell_ready(uri);
        self.report_progress(uri, STAGES);
        self.errand_ready(uri);
    }

    fn add_default_chat(&mut self, uri: &str) {
        let chat = format!("ahp-chat:/{}", self.fresh_id("chat"));
        let mut state = self.first_chat_state(&chat, "Chat", json!({"kind": "user"}));
        state["turns"] = json!(self.sessions.take_history(uri));
        self.add_chat(uri, &chat, state);
        self.publish(uri, json!({"type": "session/defaultChatChanged", "defaultChat": chat}));
    }

    /// Serves `disposeSession`.
    pub(super) fn dispose_session(&mut self, call: &HostCall) -> CallReply {
        let uri = call.channel();
        if !self.sessions.has(uri) {
            return Err(unknown_channel(uri));
        }
        if self.keeps("session.dispose.stops-agent") {
            for chat in self.chats_of(uri) {
                self.remove_chat(&chat);
            }
        }
        self.drop_session(uri);
        self.notify("root/sessionRemoved", json!({"channel": ROOT, "session": uri}));
        self.count_sessions();
        Ok(Value::Null)
    }

    /// Removes a session and its subscriptions, without a notification.
    pub(super) fn drop_session(&mut self, uri: &str) {
        self.report_progress(uri, STAGES);
        self.drop_changesets(uri);
        self.sessions.remove(uri);
        self.drop_channel(uri);
        self.drop_annotations(uri);
        self.index_active(uri);
        self.forget_customizations(uri);
        self.leave_runs(uri);
    }

    /// Removes every session and the actions kept for replay.
    pub(super) fn forget_sessions(&mut self) {
        self.runs.stop_all();
        for chat in self.chats.remove_all() {
            self.drop_channel(&chat);
        }
        let sessions: Vec<String> = self.sessions.uris().cloned().collect();
        sessions.iter().for_each(|session| self.drop_session(session));
        self.log.advance();
        self.log.forget();
    }

    /// Changes the state of each channel, as a restart may do. No client is notified.
    pub(super) fn change_states(&mut self, change: fn(&mut Value)) {
        self.views.change_all(None, change);
        self.channels.change_all(None, change);
    }

    /// Resets `serverSeq` to 0.
    pub(super) fn begin_numbers_anew(&mut self) {
        self.log.reset();
        self.channels.forget_births();
    }

    /// Removes a channel and its subscriptions.
    pub(super) fn drop_channel(&mut self, uri: &str) {
        let kind = self.channels.remove(uri);
        // An injected fault lets the agent of a disposed session continue. In versions whose sessions hold the
        // turns, the agent's output goes to the session's channel.
        let heard =
            !self.keeps("session.dispose.stops-agent") && kind == Some(ChannelKind::Session);
        self.views.hide(uri, heard);
        let (connections, views) = (&mut self.connections, &self.views);
        connections.drop_channel(uri, |view| {
            let view = view.and_then(|view| views.get(view));
            view.is_some_and(|view| view.has(uri))
        });
    }

    pub(super) fn count_sessions(&mut self) {
        let count = self.sessions.count();
        let action = json!({"type": "root/activeSessionsChanged", "activeSessions": count});
        self.publish(ROOT, action);
    }

    /// Serves `resolveSessionConfig`: returns the configuration that a new session would have.
    pub(super) fn resolve_session_config(&mut self, call: &HostCall) -> CallReply {
        let provider = auth::provider(call).ok_or_else(unknown_provider)?;
        self.require_tokens(call.conn, provider)?;
        let wanted = call.params.get("config").unwrap_or(&Value::Null);
        let values =
            configuration::session_values(wanted).map_err(ErrorResponse::invalid_params)?;
        Ok(json!({"schema": configuration::session_schema(), "values": values}))
    }

    /// Serves `sessionConfigCompletions`.
    pub(super) fn session_config_completions(&mut self, call: &HostCall) -> CallReply {
        let items = configuration::completions(call.text("property"), call.text("query"));
        Ok(json!({"items": items}))
    }
}

/// Returns whether a URI is valid for a session.
pub(super) fn is_session(uri: &str) -> bool {
    let named = uri.strip_prefix("ahp-session:/").is_some_and(|rest| {
        !rest.trim_matches('/').is_empty() && rest.chars().all(|c| !c.is_control())
    });
    named && ChannelKind::of_uri(uri) == Some(ChannelKind::Session)
}

fn unknown_provider() -> ErrorResponse {
    ErrorResponse::named(ErrorName::ProviderNotFound, "no such provider")
}

/// Returns whether a session has a working directory that this host cannot reach.
fn unreachable(state: &Value) -> bool {
    let directories = state["workingDirectories"].as_array().into_iter().flatten();
    directories.filter_map(Value::as_str).any(|uri| uri.starts_with("unreachable:"))
}

/// Returns the working directories of a request, in order and without duplicates.
pub(super) fn directories(params: &Value) -> Vec<&str> {
    let given = params.get("workingDirectories").and_then(Value::as_array);
    let mut directories = Vec::new();
    for directory in given.into_iter().flatten().filter_map(Value::as_str) {
        if !directories.contains(&directory) && directories.len() <= MAX_DIRECTORIES {
            directories.push(directory);
        }
    }
    directories
}
