//! The client's list of sessions: the pages of `listSessions`, and the notifications that change it.
//!
//! Knows: summaries. Never knows: connections.
//!
//! Start at [`ReferenceClient::list`].

use litemap::LiteMap;

use crate::wire::json::{Value, json};

use super::fault::Fault;
use super::{ReferenceClient, RequestReason};

/// The members of a summary that identify the session. A change does not change them.
const IDENTITY: &[&str] = &["resource", "provider", "createdAt"];
/// The maximum number of pages that the client requests.
const MAX_PAGES: u32 = 1_000;

/// The list of sessions.
#[derive(Debug, Default)]
pub(super) struct SessionCatalogue {
    sessions: LiteMap<String, Value>,
    /// Whether the list was requested.
    listed: bool,
    pages: u32,
}

impl SessionCatalogue {
    /// Handles a notification about sessions.
    pub(super) fn notified(&mut self, method: &str, params: &Value) {
        match method {
            "root/sessionAdded" => {
                let summary = &params["summary"];
                if let Some(uri) = summary["resource"].as_str() {
                    self.sessions.insert(uri.to_owned(), summary.clone());
                }
            }
            "root/sessionRemoved" => {
                self.sessions.remove(params["session"].as_str().unwrap_or_default());
            }
            "root/sessionSummaryChanged" => {
                let uri = params["session"].as_str().unwrap_or_default();
                let Some(summary) = self.sessions.get_mut(uri) else { return };
                for (name, value) in params["changes"].as_object().into_iter().flatten() {
                    if !IDENTITY.contains(&name.as_str()) {
                        summary[name.as_str()] = value.clone();
                    }
                }
            }
            _ => {}
        }
    }
}

impl ReferenceClient {
    /// Returns the list to the driver, and requests it first if it was never requested.
    pub(super) fn list(&mut self, command: u64) {
        if self.sessions.listed {
            self.tell_sessions(command);
        } else {
            self.sessions.listed = true;
            self.first_page(Some(command));
        }
    }

    /// Requests the list again after a reconnect: notifications are not repeated.
    pub(super) fn list_again(&mut self) {
        if self.sessions.listed && !self.has(Fault::NotListedAgain) {
            self.first_page(None);
        }
    }

    fn first_page(&mut self, command: Option<u64>) {
        self.sessions.pages = 0;
        self.request(
            RequestReason::Listing(command),
            "listSessions",
            json!({"channel": "ahp-root://"}),
        );
    }

    /// Takes a page, and requests the next one.
    pub(super) fn listed(&mut self, command: Option<u64>, result: &Value) {
        self.sessions.pages += 1;
        if self.sessions.pages == 1 {
            self.sessions.sessions = LiteMap::new();
        }
        for summary in result["items"].as_array().into_iter().flatten() {
            if let Some(uri) = summary["resource"].as_str() {
                self.sessions.sessions.insert(uri.to_owned(), summary.clone());
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
                let params = json!({"channel": "ahp-root://", "cursor": cursor});
                self.request(RequestReason::Listing(command), "listSessions", params);
            }
            (None, Some(command)) => self.tell_sessions(command),
            (None, None) => {}
        }
    }

    fn tell_sessions(&mut self, command: u64) {
        let sessions: Vec<Value> = self.sessions.sessions.values().cloned().collect();
        self.answer(command, json!({"sessions": sessions}));
    }
}
