//! The requests for the list of sessions, and the answers to the driver's commands about it.
//!
//! Knows: `listSessions`. Never knows: connections, the notifications that change the list.
//!
//! Start at [`ReferenceClient::list`].

use crate::wire::channel::ROOT;
use crate::wire::json::{Value, json};

use super::fault::Fault;
use super::{ReferenceClient, RequestReason};

impl ReferenceClient {
    /// Returns the list to the driver. If the list was never requested, the client requests it first.
    pub(super) fn list(&mut self, command: u64) {
        if self.sessions.is_listed() && !self.config.lists_each_time {
            self.tell_sessions(command);
        } else {
            self.sessions.list();
            self.first_page(Some(command));
        }
    }

    /// Requests the list without a command of the driver.
    pub(super) fn list_unasked(&mut self) {
        self.sessions.list();
        self.first_page(None);
    }

    /// Requests the list again after a reconnect, because the host does not repeat the missed notifications.
    pub(super) fn list_again(&mut self) {
        if self.sessions.is_listed() && !self.has(Fault::NotListedAgain) {
            self.first_page(None);
        }
        if self.has(Fault::CursorsKept) && !self.sessions.cursor().is_empty() {
            let cursor = self.sessions.cursor().to_owned();
            self.page(None, &cursor);
        }
    }

    fn page(&mut self, command: Option<u64>, cursor: &str) {
        self.sessions.ask(cursor);
        let params = json!({"channel": ROOT, "cursor": cursor});
        self.request(RequestReason::Listing(command), "listSessions", params);
    }

    fn first_page(&mut self, command: Option<u64>) {
        self.sessions.begin();
        let params = json!({"channel": ROOT});
        self.request(RequestReason::Listing(command), "listSessions", params);
    }

    /// Handles a page of the list, and requests the next page if there is one.
    pub(super) fn listed(&mut self, command: Option<u64>, result: &Value) {
        let next = self.sessions.take(result, &self.config.faults);
        match (next, command) {
            (Some(cursor), _) => {
                let cursor = match self.has(Fault::CursorTrimmed) {
                    true => cursor.trim_matches(|c: char| !c.is_ascii_alphanumeric()),
                    false => cursor,
                };
                self.page(command, cursor);
            }
            (None, command) => {
                self.sessions.complete(&self.config.faults);
                if let Some(command) = command {
                    self.tell_sessions(command);
                }
            }
        }
    }

    fn tell_sessions(&mut self, command: u64) {
        let mut sessions: Vec<Value> = self.sessions.summaries().cloned().collect();
        if self.has(Fault::MissingStatusUnread) {
            let chats = sessions.iter_mut().filter_map(|it| it.get_mut("chats")?.as_array_mut());
            for chat in chats.flatten().filter(|chat| chat.get("status").is_none()) {
                chat["status"] = json!(0);
            }
        }
        self.answer(command, json!({"sessions": sessions}));
    }
}
