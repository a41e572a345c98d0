//! Sessions: creation, readiness, disposal.
//!
//! A session begins with the lifecycle `creating`. After a moment the session gets its default chat and becomes
//! ready.
//!
//! Knows: the content of a session. Never knows: agents.
//!
//! Start at [`RefHost::create_session`].

use std::collections::{HashSet, VecDeque};
use std::time::Duration;

use crate::wire::json::{Value, json};

use super::agent::HostAgentOp;
use super::auth;
use super::configuration;
use super::connection::{CallReply, ErrorResponse, HostCall};
use super::customizations;
use super::engine::{MAX_SESSIONS, RefHost};
use super::publish::unknown_channel;
use crate::transcript::ConnId;
use crate::wire::channel::{ChannelKind, ROOT};
use crate::wire::error_code::ErrorName;

/// The time that a session takes to get its default chat.
const READY_DELAY: Duration = Duration::from_millis(20);
/// The number of progress stages of the creation of a session.
pub(super) const STAGES: u64 = 2;
/// The maximum number of working directories of a session or chat.
const MAX_DIRECTORIES: usize = 100;

/// The host's record of a session, in addition to its state.
#[derive(Debug)]
pub(super) struct HostSession {
    pub(super) created_at: String,
    /// The time of the next stage of the session's creation; `None` once the session is ready.
    pub(super) ready_at: Option<Duration>,
    /// The last announced summary.
    pub(super) summary: Value,
    /// The connection that requested progress notifications of the creation, and the progress token.
    pub(super) progress: Option<(ConnId, String)>,
    /// The number of bytes that clients have stored permanently in the session's annotations.
    pub(super) annotated: usize,
    /// The URI of the session's changeset, which is the prefix of the changesets of turns; `None` before the
    /// first edit.
    pub(super) changes: Option<String>,
    /// The turns that the default chat inherits from a fork.
    pub(super) history: Vec<Value>,
}

/// The host's record of a chat, in addition to its state.
#[derive(Debug, Default)]
pub(super) struct HostChat {
    /// The session to which the chat belongs.
    pub(super) session: String,
    /// The ids of the first turns in shortened snapshots.
    pub(super) windows: HashSet<String>,
    /// The time at which the active turn started.
    pub(super) began: Duration,
    /// The remaining operations of a failed turn that can be resumed.
    pub(super) rest: VecDeque<HostAgentOp>,
    /// Removed messages, which an injected fault delivers later.
    pub(super) ghosts: Vec<Value>,
    /// The number of bytes that clients have stored permanently in the chat.
    pub(super) stored: usize,
    /// The transcript of the origin chat that the agent receives.
    pub(super) context: String,
}

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
        if self.channels.contains_key(&uri) {
            return Err(ErrorResponse::named(ErrorName::SessionAlreadyExists, "the URI is in use"));
        }
        if self.sessions.len() >= MAX_SESSIONS {
            return Err(ErrorResponse::named(ErrorName::InternalError, "too many sessions"));
        }
        let state = self.first_state(call)?;
        let history = self.history_of_fork(call)?;
        let progress = call.params["progressToken"].as_str().map(|it| (call.conn, it.to_owned()));
        self.open_session(&uri, state, progress);
        self.show_first(&uri, call, history.len());
        if let Some(session) = self.sessions.get_mut(&uri) {
            session.history = history;
        }
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
        let session = HostSession {
            created_at: self.timestamp(),
            ready_at: Some(self.now + READY_DELAY),
            summary: Value::Null,
            progress,
            annotated: 0,
            changes: None,
            history: Vec::new(),
        };
        self.sessions.insert(uri.to_owned(), session);
        self.add_annotations(uri);
        self.index_active(uri);
        self.creating.insert(uri.to_owned());
        let summary = self.summary_of(uri);
        if let Some(session) = self.sessions.get_mut(uri) {
            session.summary = summary.clone();
        }
        let params = json!({"channel": ROOT, "summary": summary});
        self.notify("root/sessionAdded", params);
        self.count_sessions();
        self.follow_plugins(uri);
        self.report_progress(uri, 0);
    }

    /// Reports the progress of a creation to the connection that requested it. The stages are: created, default
    /// chat added, ready. Source: root-channel.md.
    pub(super) fn report_progress(&mut self, uri: &str, done: u64) {
        let Some((conn, token)) = self.sessions.get(uri).and_then(|it| it.progress.clone()) else {
            return;
        };
        if done == STAGES
            && let Some(session) = self.sessions.get_mut(uri)
        {
            session.progress = None;
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
        let own = self.connections.get(&call.conn).and_then(|c| c.client.as_deref());
        let mut state = empty_state(provider, own.is_some_and(|own| self.shows_apps(own)));
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
            let own = self.connections.get(&call.conn).and_then(|c| c.client.as_deref());
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
        let due = |uri: &&String| {
            let ready_at = self.sessions.get(*uri).and_then(|session| session.ready_at);
            ready_at.is_none_or(|at| at <= self.now)
        };
        let mut due: Vec<String> = self.creating.iter().filter(due).cloned().collect();
        due.sort();
        for uri in due {
            self.creating.remove(&uri);
            let Some(session) = self.sessions.get_mut(&uri) else {
                continue;
            };
            session.ready_at = None;
            if self.state(&uri)["defaultChat"].is_null() {
                self.add_default_chat(&uri);
                self.report_progress(&uri, 1);
                if self.ready_after > Duration::ZERO {
                    self.hold_back(uri, self.ready_after);
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
        self.creating.remove(uri);
        if let Some(session) = self.sessions.get_mut(uri) {
            session.ready_at = None;
        }
        self.publish(uri, json!({"type": "session/ready"}));
        self.tell_ready(uri);
        self.report_progress(uri, STAGES);
        self.errand_ready(uri);
    }

    fn add_default_chat(&mut self, uri: &str) {
        let chat = format!("ahp-chat:/{}", self.fresh_id("chat"));
        let mut state = self.first_chat_state(&chat, "Chat", json!({"kind": "user"}));
        if let Some(session) = self.sessions.get_mut(uri) {
            state["turns"] = json!(std::mem::take(&mut session.history));
        }
        self.add_chat(uri, &chat, state);
        self.publish(uri, json!({"type": "session/defaultChatChanged", "defaultChat": chat}));
    }

    /// Delays the readiness of a session.
    fn hold_back(&mut self, uri: String, delay: Duration) {
        if let Some(session) = self.sessions.get_mut(&uri) {
            session.ready_at = Some(self.now + delay);
        }
        self.creating.insert(uri);
    }

    /// Returns the time of the next stage of a creation; `None` if no session is being created.
    pub(super) fn next_ready(&self) -> Option<Duration> {
        let ready_at = |uri: &String| self.sessions.get(uri)?.ready_at;
        self.creating.iter().filter_map(ready_at).min()
    }

    /// Serves `disposeSession`.
    pub(super) fn dispose_session(&mut self, call: &HostCall) -> CallReply {
        let uri = call.channel();
        if !self.sessions.contains_key(uri) {
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
        self.creating.remove(uri);
        self.drop_channel(uri);
        self.drop_annotations(uri);
        self.index_active(uri);
        self.forget_customizations(uri);
        self.leave_runs(uri);
    }

    /// Removes every session and the actions kept for replay.
    pub(super) fn forget_sessions(&mut self) {
        self.runs.clear();
        let chats: Vec<String> = self.chats.keys().cloned().collect();
        for chat in chats {
            self.chats.remove(&chat);
            self.drop_channel(&chat);
        }
        let sessions: Vec<String> = self.sessions.keys().cloned().collect();
        sessions.iter().for_each(|session| self.drop_session(session));
        self.log.advance();
        self.log.forget();
    }

    /// Changes the state of each channel, as a restart may do. No client is notified.
    pub(super) fn change_states(&mut self, change: fn(&mut Value)) {
        let views = self.views.iter_mut().flat_map(|view| view.channels.iter_mut());
        views.for_each(|(_, shown)| change(&mut shown.state));
        self.channels.iter_mut().for_each(|(_, channel)| change(&mut channel.state));
    }

    /// Resets `serverSeq` to 0.
    pub(super) fn begin_numbers_anew(&mut self) {
        self.log.reset();
        self.channels.iter_mut().for_each(|(_, channel)| channel.born = 0);
    }

    /// Removes a channel and its subscriptions.
    pub(super) fn drop_channel(&mut self, uri: &str) {
        let kind = self.channels.remove(uri).map(|channel| channel.kind);
        // An injected fault lets the agent of a disposed session continue. In versions whose sessions hold the
        // turns, the agent's output goes to the session's channel.
        let heard =
            !self.keeps("session.dispose.stops-agent") && kind == Some(ChannelKind::Session);
        self.hide(uri, heard);
        for (_, connection) in &mut self.connections {
            let view = connection.view.and_then(|view| self.views.get(view));
            if !view.is_some_and(|view| view.channels.contains_key(uri)) {
                connection.subscriptions.remove(uri);
            }
        }
    }

    pub(super) fn count_sessions(&mut self) {
        let count = self.sessions.len();
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
