//! Keeps the state of a served host on disk.
//!
//! The engine of a host is deterministic: its state follows from its settings and from the events that it has
//! handled, with their times. The journal stores each event before the host handles it. A restarted host handles all
//! stored events again. Therefore, no state that a client has received is lost, even if the process is killed. The
//! time to start grows with the number of events.
//!
//! Knows: events, the embedded store. Never knows: the effect of events.
//!
//! Start at [`HostJournal::open`].

use std::error::Error;
use std::path::Path;
use std::time::Duration;

use redb::{Database, ReadableTable as _, TableDefinition};
use serde::{Deserialize, Serialize};

use crate::host::SansIoHost;
use crate::transcript::ConnId;
use crate::wire::frame::Frame;

/// The events that the host has handled, by their numbers.
const EVENTS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("events");
/// The settings of the host, as one JSON object.
const SETTINGS: TableDefinition<'_, &str, &str> = TableDefinition::new("settings");
/// The key under which the settings of the host are stored.
const OF_HOST: &str = "host";
/// The name of the journal's file in its folder.
const FILE: &str = "host.redb";

/// The properties of the host, besides its events. A journal can only be continued with the same values.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct JournaledHost {
    /// The version of the harness, whose engine may change from version to version.
    pub harness: String,
    /// The options that change the behaviour of the host.
    pub options: Vec<String>,
    /// The seed of the host's identifiers.
    pub seed: u64,
    /// The Unix time of the first event, in milliseconds.
    pub epoch_ms: u64,
}

/// An event that a host handles.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum JournaledEvent {
    /// A request to open a connection, with its headers.
    Admit(u32, Vec<(String, String)>),
    /// A connection was opened.
    Open(u32),
    /// A text frame.
    Text(u32, String),
    /// A binary frame.
    Binary(u32, Vec<u8>),
    /// A client stopped reading, or reads again.
    Held(u32, bool),
    /// A connection has ended.
    Closed(u32),
    /// A line of the agent; `None` if the agent has exited.
    Agent(Option<String>),
    /// Time has passed.
    Timeout,
    /// The host was started again.
    Restart,
}

/// An event with its time.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct TimedEvent {
    /// The time since the first event, in microseconds.
    pub at_us: u64,
    /// The event.
    pub event: JournaledEvent,
}

impl JournaledEvent {
    /// Returns the event that a client's frame arrived.
    pub fn frame(conn: ConnId, frame: &Frame) -> JournaledEvent {
        match frame {
            Frame::Text(text) => JournaledEvent::Text(conn.0, text.clone()),
            Frame::Binary(bytes) | Frame::NotUtf8(bytes) => {
                JournaledEvent::Binary(conn.0, bytes.clone())
            }
        }
    }

    fn conn(&self) -> Option<u32> {
        match self {
            JournaledEvent::Admit(conn, _)
            | JournaledEvent::Open(conn)
            | JournaledEvent::Text(conn, _)
            | JournaledEvent::Binary(conn, _)
            | JournaledEvent::Held(conn, _)
            | JournaledEvent::Closed(conn) => Some(*conn),
            JournaledEvent::Agent(_) | JournaledEvent::Timeout | JournaledEvent::Restart => None,
        }
    }

    fn apply(&self, now: Duration, host: &mut dyn SansIoHost) {
        match self {
            JournaledEvent::Admit(conn, headers) => drop(host.admit(now, ConnId(*conn), headers)),
            JournaledEvent::Open(conn) => host.handle_open(now, ConnId(*conn)),
            JournaledEvent::Text(conn, text) => {
                host.handle_frame(now, ConnId(*conn), &Frame::Text(text.clone()));
            }
            JournaledEvent::Binary(conn, bytes) => {
                host.handle_frame(now, ConnId(*conn), &Frame::Binary(bytes.clone()));
            }
            JournaledEvent::Held(conn, held) => host.handle_held(now, ConnId(*conn), *held),
            JournaledEvent::Closed(conn) => host.handle_close(now, ConnId(*conn)),
            JournaledEvent::Agent(line) => host.handle_agent(now, line.as_deref()),
            JournaledEvent::Timeout => host.handle_timeout(now),
            JournaledEvent::Restart => host.restart(now),
        }
    }
}

/// The journal of a host.
#[derive(Debug)]
pub struct HostJournal {
    store: Database,
    next: u64,
}

/// Where a stored journal ends, so that the host can continue from there.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct JournalExtent {
    /// The number of events.
    pub events: u64,
    /// The time of the last event.
    pub at: Duration,
    /// The number of the next connection.
    pub next_conn: u32,
}

impl HostJournal {
    /// Opens the journal in a folder, or makes one for this host. Returns the journal and its host, whose seed and
    /// epoch may differ from those of `host`.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be used, or if the journal belongs to a host with other options.
    pub fn open(
        folder: &Path,
        host: &JournaledHost,
    ) -> Result<(HostJournal, JournaledHost), String> {
        let opened = HostJournal::opened(folder, host);
        let (journal, known) = opened.map_err(|error| error.to_string())?;
        if (&known.harness, &known.options) != (&host.harness, &host.options) {
            return Err(format!(
                "its state belongs to ahp-harness {} with the options {:?}, found {} with {:?} (hint: another folder)",
                known.harness, known.options, host.harness, host.options
            ));
        }
        Ok((journal, known))
    }

    /// Lets a host handle all events, and drops its outputs. Returns the end of the journal.
    ///
    /// # Errors
    /// Returns an error if the journal cannot be read.
    pub fn replay(&self, host: &mut dyn SansIoHost) -> Result<JournalExtent, String> {
        self.replayed(host).map_err(|error| error.to_string())
    }

    /// Stores events. The events are on the disk when the method returns.
    ///
    /// # Errors
    /// Returns an error if the events could not be stored.
    pub fn append(&mut self, events: &[TimedEvent]) -> Result<(), String> {
        self.next = self.stored(events).map_err(|error| error.to_string())?;
        Ok(())
    }

    fn opened(
        folder: &Path,
        host: &JournaledHost,
    ) -> Result<(HostJournal, JournaledHost), Box<dyn Error>> {
        crate::system::private_folder(folder)?;
        let store = Database::create(folder.join(FILE))?;
        let mut journal = HostJournal { store, next: 0 };
        let known = serde_json::from_str(&journal.known(host)?)?;
        journal.next = journal.count()?;
        Ok((journal, known))
    }

    fn replayed(&self, host: &mut dyn SansIoHost) -> Result<JournalExtent, Box<dyn Error>> {
        let mut end = JournalExtent::default();
        let read = self.store.begin_read()?;
        let table = read.open_table(EVENTS)?;
        for row in table.iter()? {
            let (_, bytes) = row?;
            let event: TimedEvent = serde_json::from_slice(bytes.value())?;
            let now = Duration::from_micros(event.at_us);
            event.event.apply(now, host);
            while host.poll_output().is_some() {}
            end.events += 1;
            end.at = end.at.max(now);
            end.next_conn = end.next_conn.max(event.event.conn().map_or(0, |conn| conn + 1));
        }
        Ok(end)
    }

    fn stored(&self, events: &[TimedEvent]) -> Result<u64, Box<dyn Error>> {
        let mut next = self.next;
        let write = self.store.begin_write()?;
        {
            let mut table = write.open_table(EVENTS)?;
            for event in events {
                let bytes = serde_json::to_vec(event)?;
                table.insert(next, bytes.as_slice())?;
                next += 1;
            }
        }
        write.commit()?;
        Ok(next)
    }

    /// Returns the settings in the store. A new store first gets the settings of `host`.
    fn known(&self, host: &JournaledHost) -> Result<String, Box<dyn Error>> {
        let write = self.store.begin_write()?;
        let known = {
            let mut table = write.open_table(SETTINGS)?;
            let known = table.get(OF_HOST)?.map(|known| known.value().to_owned());
            write.open_table(EVENTS)?;
            match known {
                Some(known) => known,
                None => {
                    let text = serde_json::to_string(host)?;
                    table.insert(OF_HOST, text.as_str())?;
                    text
                }
            }
        };
        write.commit()?;
        Ok(known)
    }

    fn count(&self) -> Result<u64, Box<dyn Error>> {
        let read = self.store.begin_read()?;
        let table = read.open_table(EVENTS)?;
        let last = table.last()?.map(|(number, _)| number.value());
        Ok(last.map_or(0, |last| last + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::engine::{HostConfig, RefHost};

    fn described(options: &[&str]) -> JournaledHost {
        JournaledHost {
            harness: "0".to_owned(),
            options: options.iter().map(|it| (*it).to_owned()).collect(),
            seed: 1,
            epoch_ms: 2,
        }
    }

    #[test]
    fn a_host_that_is_started_again_has_its_state() {
        let folder = tempfile::tempdir().unwrap();
        let (mut journal, known) = HostJournal::open(folder.path(), &described(&[])).unwrap();
        assert_eq!(known, described(&[]));
        let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"channel":"ahp-root://","clientId":"c","protocolVersions":["1.0.0"]}}"#;
        let create = r#"{"jsonrpc":"2.0","id":2,"method":"createSession","params":{"channel":"ahp-session:/s"}}"#;
        let events = [
            JournaledEvent::Open(3),
            JournaledEvent::Text(3, hello.to_owned()),
            JournaledEvent::Text(3, create.to_owned()),
        ];
        let timed = |event| TimedEvent { at_us: 5_000, event };
        journal.append(&events.map(timed)).unwrap();
        drop(journal);
        // A new process with other values does not replace the values in the journal.
        let other = JournaledHost { seed: 9, epoch_ms: 9, ..described(&[]) };
        let (journal, known) = HostJournal::open(folder.path(), &other).unwrap();
        assert_eq!((known.seed, known.epoch_ms), (1, 2));
        let mut host = RefHost::new(HostConfig::default());
        let end = journal.replay(&mut host).unwrap();
        let expected = JournalExtent { events: 3, at: Duration::from_millis(5), next_conn: 4 };
        assert_eq!(end, expected);
        let now = Duration::from_secs(1);
        host.restart(now);
        host.handle_open(now, ConnId(4));
        host.handle_frame(now, ConnId(4), &Frame::Text(hello.to_owned()));
        let list = r#"{"jsonrpc":"2.0","id":2,"method":"listSessions","params":{"channel":"ahp-root://"}}"#;
        host.handle_frame(now, ConnId(4), &Frame::Text(list.to_owned()));
        let outputs = std::iter::from_fn(|| host.poll_output());
        let text: String = outputs.map(|output| format!("{output:?}")).collect();
        assert!(text.contains("ahp-session:/s"), "{text}");
    }

    #[test]
    fn a_host_with_other_options_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        drop(HostJournal::open(folder.path(), &described(&[])).unwrap());
        let error = HostJournal::open(folder.path(), &described(&["--fault x"])).unwrap_err();
        assert!(error.contains("another folder"), "{error}");
    }
}
