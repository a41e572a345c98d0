//! The client's list of sessions: the pages of `listSessions`, and the notifications that change it.
//!
//! Knows: summaries. Never knows: connections.
//!
//! Start at [`ReferenceClient::list`].

use litemap::LiteMap;

use crate::wire::channel::ROOT;
use crate::wire::json::{Value, json};

use super::fault::{ClientFaults, Fault};
use super::{ReferenceClient, RequestReason};

/// The members of a summary that identify the session. A `root/sessionSummaryChanged` does not change these members.
const IDENTITY: &[&str] = &["resource", "provider", "createdAt"];
/// The maximum number of pages that the client requests.
const MAX_PAGES: u32 = 1_000;

/// The list of sessions.
#[derive(Debug, Default)]
pub(super) struct SessionCatalogue {
    sessions: LiteMap<String, Value>,
    /// The sessions from the pages of the last `listSessions`, without the changes by notifications.
    paged: LiteMap<String, Value>,
    /// The summaries that an injected fault lists twice.
    doubles: Vec<Value>,
    /// Whether the client has requested the list.
    listed: bool,
    pages: u32,
    /// The cursor of the page that was requested last; empty for the first page.
    cursor: String,
}

impl SessionCatalogue {
    /// Returns whether the client has requested the list and the list does not contain this session.
    pub(super) fn lacks(&self, uri: &str) -> bool {
        self.listed && !self.sessions.contains_key(uri)
    }

    /// Handles a notification about sessions.
    pub(super) fn notified(&mut self, method: &str, params: &Value, faults: &ClientFaults) {
        match method {
            _ if faults.has(Fault::SessionsNotFollowed) => {}
            "root/sessionAdded" => {
                let summary = &params["summary"];
                if let Some(uri) = summary["resource"].as_str() {
                    let before = self.sessions.insert(uri.to_owned(), summary.clone());
                    if before.is_some() && faults.has(Fault::KnownSessionsDoubled) {
                        self.doubles.push(summary.clone());
                    }
                }
            }
            "root/sessionRemoved" => {
                self.sessions.remove(params["session"].as_str().unwrap_or_default());
            }
            "root/sessionSummaryChanged" => {
                let uri = params["session"].as_str().unwrap_or_default();
                let Some(summary) = self.sessions.get_mut(uri) else { return };
                for (name, value) in params["changes"].as_object().into_iter().flatten() {
                    if !IDENTITY.contains(&name.as_str()) || faults.has(Fault::IdentityChanged) {
                        summary[name.as_str()] = value.clone();
                    }
                }
            }
            _ => {}
        }
    }
}

impl ReferenceClient {
    /// Returns the list to the driver. If the list was never requested, the client requests it first.
    pub(super) fn list(&mut self, command: u64) {
        if self.sessions.listed && !self.config.lists_each_time {
            self.tell_sessions(command);
        } else {
            self.sessions.listed = true;
            self.first_page(Some(command));
        }
    }

    /// Requests the list without a command of the driver.
    pub(super) fn list_unasked(&mut self) {
        self.sessions.listed = true;
        self.first_page(None);
    }

    /// Requests the list again after a reconnect, because the host does not repeat the missed notifications.
    pub(super) fn list_again(&mut self) {
        if self.sessions.listed && !self.has(Fault::NotListedAgain) {
            self.first_page(None);
        }
        if self.has(Fault::CursorsKept) && !self.sessions.cursor.is_empty() {
            let cursor = self.sessions.cursor.clone();
            self.page(None, &cursor);
        }
    }

    fn page(&mut self, command: Option<u64>, cursor: &str) {
        cursor.clone_into(&mut self.sessions.cursor);
        let params = json!({"channel": ROOT, "cursor": cursor});
        self.request(RequestReason::Listing(command), "listSessions", params);
    }

    fn first_page(&mut self, command: Option<u64>) {
        self.sessions.pages = 0;
        let params = json!({"channel": ROOT});
        self.request(RequestReason::Listing(command), "listSessions", params);
    }

    /// Handles a page of the list, and requests the next page if there is one.
    pub(super) fn listed(&mut self, command: Option<u64>, result: &Value) {
        self.sessions.pages += 1;
        if self.sessions.pages == 1 && !self.has(Fault::ListMerged) {
            self.sessions.sessions = LiteMap::new();
        }
        for summary in result["items"].as_array().into_iter().flatten() {
            if let Some(uri) = summary["resource"].as_str() {
                self.sessions.sessions.insert(uri.to_owned(), summary.clone());
                if self.has(Fault::ListReplacedAtEnd) {
                    self.sessions.paged.insert(uri.to_owned(), summary.clone());
                }
            }
        }
        let next = result["nextCursor"]
            .as_str()
            .filter(|_| self.sessions.pages < MAX_PAGES && !self.has(Fault::FirstPageOnly));
        match (next, command) {
            (Some(cursor), _) => {
                let cursor = match self.has(Fault::CursorTrimmed) {
                    true => cursor.trim_matches(|c: char| !c.is_ascii_alphanumeric()),
                    false => cursor,
                };
                self.page(command, cursor);
            }
            (None, command) => {
                let paged = std::mem::take(&mut self.sessions.paged);
                if self.has(Fault::ListReplacedAtEnd) {
                    self.sessions.sessions = paged;
                }
                self.sessions.cursor.clear();
                if let Some(command) = command {
                    self.tell_sessions(command);
                }
            }
        }
    }

    fn tell_sessions(&mut self, command: u64) {
        let listed = self.sessions.sessions.values().chain(&self.sessions.doubles);
        let mut sessions: Vec<Value> = listed.cloned().collect();
        if self.has(Fault::MissingStatusUnread) {
            let chats = sessions.iter_mut().filter_map(|it| it.get_mut("chats")?.as_array_mut());
            for chat in chats.flatten().filter(|chat| chat.get("status").is_none()) {
                chat["status"] = json!(0);
            }
        }
        self.answer(command, json!({"sessions": sessions}));
    }
}
