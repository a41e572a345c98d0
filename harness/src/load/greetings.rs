//! Keeps the handshakes of clients. A `reconnect` does not name the version, so the capture of a connection that began
//! with `reconnect` also needs the client's earlier `initialize`.
//!
//! Knows: `initialize`, `reconnect`. Never knows: other messages.
//!
//! Start at [`ClientGreetings`].

use std::collections::HashMap;

use crate::transcript::{ConnId, ConnectionEvent, TranscriptEntry};
use crate::wire::json::Value;

use super::recent::KeptEntry;

/// The maximum number of clients whose handshake is kept.
const MAX_CLIENTS: usize = 100_000;
/// The maximum size of the answer in a kept handshake, in bytes.
const MAX_ANSWER: usize = 16 << 10;

/// The kept handshakes, by the `clientId` of the client.
#[derive(Default)]
pub struct ClientGreetings {
    /// Connections that were opened, and on which the client has not sent any message.
    opened: HashMap<ConnId, KeptEntry>,
    /// Connections on which the client waits for the answer to `initialize`, each with the `clientId` and the entries
    /// so far.
    greeting: HashMap<ConnId, (String, Vec<KeptEntry>)>,
    known: HashMap<String, Vec<KeptEntry>>,
    /// For each open connection that began with `reconnect`, the `clientId` of the client.
    resumed: HashMap<ConnId, String>,
}

impl ClientGreetings {
    /// Reads an entry of the transcript, and keeps it if it belongs to a handshake.
    pub fn read(&mut self, entry: &TranscriptEntry) {
        let conn = entry.conn;
        match &entry.event {
            ConnectionEvent::Open { .. } => {
                self.opened.extend(KeptEntry::of(entry).map(|kept| (conn, kept)));
            }
            ConnectionEvent::Sent(seen) => {
                let Some(opened) = self.opened.remove(&conn) else { return };
                let Some(message) = seen.message() else { return };
                let client = message.params()["clientId"].as_str().map(str::to_owned);
                match (message.method(), client) {
                    (Some("initialize"), Some(client)) => {
                        let entries = [Some(opened), KeptEntry::of(entry)];
                        let entries = entries.into_iter().flatten().collect();
                        self.greeting.insert(conn, (client, entries));
                    }
                    (Some("reconnect"), Some(client)) => drop(self.resumed.insert(conn, client)),
                    _ => {}
                }
            }
            ConnectionEvent::Received(seen) => {
                let answers =
                    seen.message().is_some_and(|it| it.id().is_some_and(|id| *id != Value::Null));
                if !answers || !self.greeting.contains_key(&conn) {
                    return;
                }
                let Some((client, mut entries)) = self.greeting.remove(&conn) else { return };
                let short = seen.frame.len() <= MAX_ANSWER && self.known.len() < MAX_CLIENTS;
                if let Some(kept) = KeptEntry::of(entry).filter(|_| short) {
                    entries.push(kept);
                    self.known.insert(client, entries);
                }
            }
            ConnectionEvent::Closed { .. } => {
                self.opened.remove(&conn);
                self.greeting.remove(&conn);
            }
            _ => {}
        }
    }

    /// Returns the handshake that the client of a connection made earlier, if the connection began with `reconnect`.
    /// For any other connection, the result is empty.
    pub fn before(&self, conn: ConnId) -> &[KeptEntry] {
        let client = self.resumed.get(&conn);
        client.and_then(|client| self.known.get(client)).map(Vec::as_slice).unwrap_or_default()
    }

    /// Forgets a connection whose frames are no longer kept.
    pub fn forget(&mut self, conn: ConnId) {
        self.resumed.remove(&conn);
    }
}
