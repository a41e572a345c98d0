//! Writes a conversation as logs with one file per connection, in the format of VS Code's agent host. Viewers of such
//! logs can open these files, and `judge` reports the same result for these files as for a capture of the conversation.
//!
//! Messages between the host and its agent are not written, because they are not on the connection of any client.
//!
//! Knows: lines of logs, redaction. Never knows: the place of the files.
//!
//! Start at [`LogWriter`].

use std::collections::{HashMap, HashSet, VecDeque};
use std::io::{self, BufWriter, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::run::mint::iso8601;
use crate::run::play::TranscriptRecorder;
use crate::transcript::ahp_log::RecordingFacts;
use crate::transcript::{ConnectionEvent, line};

use super::redact::SecretRedactor;

/// The maximum length of a connection's name in a file name, in characters.
const MAX_NAME: usize = 64;
/// The number of files that stay open after the end of their connection, for later events about that
/// connection.
const MAX_ENDED: usize = 64;
/// The name of the log file for events that belong to no connection.
const HOST: &str = "host";

/// A function that opens the file of this name for writing.
pub type OpenFile = Box<dyn FnMut(&str) -> io::Result<Box<dyn Write + Send>> + Send>;

/// A writer of one log per connection. A clone is cheap, and all clones write to the same files.
#[derive(Clone)]
pub struct LogWriter {
    inner: Arc<Mutex<ConnectionLogsState>>,
}

struct ConnectionLogsState {
    open: OpenFile,
    redactor: SecretRedactor,
    recording: RecordingFacts,
    order: u64,
    /// The number of connections that were opened with each connection name.
    opened: HashMap<String, u64>,
    files: HashMap<String, BufWriter<Box<dyn Write + Send>>>,
    names: HashSet<String>,
    ended: VecDeque<String>,
    error: Option<io::Error>,
}

/// Converts a string to a part of a file name.
pub fn file_part(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
    text.chars().take(MAX_NAME).map(plain).collect()
}

impl LogWriter {
    /// Makes a writer that redacts each event and writes it to the files that `open` opens.
    pub fn new(open: OpenFile, redactor: SecretRedactor, recording: RecordingFacts) -> LogWriter {
        let inner = ConnectionLogsState {
            open,
            redactor,
            recording,
            order: 0,
            opened: HashMap::new(),
            files: HashMap::new(),
            names: HashSet::new(),
            ended: VecDeque::new(),
            error: None,
        };
        LogWriter { inner: Arc::new(Mutex::new(inner)) }
    }

    /// Returns a recorder that writes to these logs.
    pub fn recorder(&self) -> Box<dyn TranscriptRecorder> {
        Box::new(self.clone())
    }

    /// Flushes the output that was written so far.
    pub fn flush(&self) {
        self.with(|inner| {
            for file in inner.files.values_mut() {
                if let Err(error) = file.flush() {
                    inner.error.get_or_insert(error);
                }
            }
        });
    }

    /// Flushes all files.
    ///
    /// # Errors
    /// Returns the first error since the writer was made.
    pub fn finish(&self) -> io::Result<()> {
        self.flush();
        self.with(|inner| inner.error.take().map_or(Ok(()), Err))
    }

    fn with<T>(&self, act: impl FnOnce(&mut ConnectionLogsState) -> T) -> T {
        act(&mut self.inner.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl TranscriptRecorder for LogWriter {
    fn record(&mut self, at: Duration, client: &str, event: &ConnectionEvent) -> u64 {
        self.with(|inner| {
            inner.order += 1;
            if let Err(error) = inner.write(at, client, event) {
                inner.error.get_or_insert(error);
            }
            inner.order
        })
    }
}

impl ConnectionLogsState {
    fn write(&mut self, at: Duration, client: &str, event: &ConnectionEvent) -> io::Result<()> {
        if matches!(event, ConnectionEvent::Below { .. }) {
            return Ok(());
        }
        // The redactor expects an event in the JSON form of a capture.
        let mut text = String::new();
        line::write(&mut text, None, at, client, event);
        self.redactor.event(&mut text);
        let line = line::read(&text).map_err(io::Error::other)?;
        if matches!(event, ConnectionEvent::Open { .. } | ConnectionEvent::Refused(_)) {
            *self.opened.entry(line.conn.clone()).or_default() += 1;
        }
        let connection = match self.opened.get(&line.conn) {
            _ if line.conn.is_empty() => HOST.to_owned(),
            Some(again) if *again > 1 => format!("{}-{again}", line.conn),
            _ => line.conn,
        };
        let mut out = String::new();
        self.recording.write(&mut out, self.order, at, &connection, &line.event);
        if !self.files.contains_key(&connection) {
            let began = iso8601(self.recording.epoch + at).replace([':', '.'], "-");
            let mut name = format!("ahp-{began}-{}.jsonl", file_part(&connection));
            if !self.names.insert(name.clone()) {
                name = format!("ahp-{began}-{}-{}.jsonl", file_part(&connection), self.order);
                self.names.insert(name.clone());
            }
            let file = BufWriter::new((self.open)(&name)?);
            self.files.insert(connection.clone(), file);
        }
        if let Some(file) = self.files.get_mut(&connection) {
            file.write_all(out.as_bytes())?;
        }
        if matches!(event, ConnectionEvent::Closed { .. } | ConnectionEvent::Refused(_)) {
            self.ended.push_back(connection);
            if self.ended.len() > MAX_ENDED
                && let Some(oldest) = self.ended.pop_front()
                && let Some(mut file) = self.files.remove(&oldest)
            {
                file.flush()?;
            }
        }
        Ok(())
    }
}

/// A recorder that passes each event to several recorders. The first recorder determines the line numbers.
pub struct RecorderGroup(pub Vec<Box<dyn TranscriptRecorder>>);

impl TranscriptRecorder for RecorderGroup {
    fn record(&mut self, at: Duration, client: &str, event: &ConnectionEvent) -> u64 {
        let lines = self.0.iter_mut().map(|recorder| recorder.record(at, client, event));
        lines.collect::<Vec<_>>().first().copied().unwrap_or_default()
    }

    fn stopped(&mut self, at: Duration, reason: Option<&str>) {
        self.0.iter_mut().for_each(|recorder| recorder.stopped(at, reason));
    }
}
