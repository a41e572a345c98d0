//! The client's copy of the list of sessions, from the pages of `listSessions` and the notifications about sessions.
//!
//! Knows: summaries, faults. Never knows: requests, commands of a driver.
//!
//! Start at [`SessionCatalogue`].

use litemap::LiteMap;

use crate::wire::json::Value;

use super::fault::{ClientFaults, Fault};

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

    /// Returns whether the client has requested the list.
    pub(super) fn is_listed(&self) -> bool {
        self.listed
    }

    /// Records that the client requests the list.
    pub(super) fn list(&mut self) {
        self.listed = true;
    }

    /// Begins with the first page of the list.
    pub(super) fn begin(&mut self) {
        self.pages = 0;
    }

    /// Records that the page with this cursor was requested.
    pub(super) fn ask(&mut self, cursor: &str) {
        cursor.clone_into(&mut self.cursor);
    }

    /// Returns the cursor of the page that was requested last; empty for the first page.
    pub(super) fn cursor(&self) -> &str {
        &self.cursor
    }

    /// Takes a page of the list. Returns the cursor of the next page; `None` after the last page.
    pub(super) fn take<'a>(&mut self, page: &'a Value, faults: &ClientFaults) -> Option<&'a str> {
        self.pages += 1;
        if self.pages == 1 && !faults.has(Fault::ListMerged) {
            self.sessions = LiteMap::new();
        }
        for summary in page["items"].as_array().into_iter().flatten() {
            if let Some(uri) = summary["resource"].as_str() {
                self.sessions.insert(uri.to_owned(), summary.clone());
                if faults.has(Fault::ListReplacedAtEnd) {
                    self.paged.insert(uri.to_owned(), summary.clone());
                }
            }
        }
        let next = page["nextCursor"].as_str();
        next.filter(|_| self.pages < MAX_PAGES && !faults.has(Fault::FirstPageOnly))
    }

    /// Ends the list after its last page.
    pub(super) fn complete(&mut self, faults: &ClientFaults) {
        let paged = std::mem::take(&mut self.paged);
        if faults.has(Fault::ListReplacedAtEnd) {
            self.sessions = paged;
        }
        self.cursor.clear();
    }

    /// Returns the summaries of the sessions.
    pub(super) fn summaries(&self) -> impl Iterator<Item = &Value> {
        self.sessions.values().chain(&self.doubles)
    }
}
