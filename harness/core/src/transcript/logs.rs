//! Combines several logs into one transcript: joins segments, separates connections, drops one of the two copies of a
//! connection that was logged at both ends, and orders all entries.
//!
//! Entries of one log have the order of their lines. Entries of different logs have the order of their times,
//! which have a resolution of milliseconds: events of different logs within the same millisecond have no known
//! order. [`ConnectionLogs::in_order`] returns the entries in one of several possible orders. A caller judges the
//! entries in all orders ([`ConnectionLogs::orders`]) and keeps only the findings that occur in every order.
//!
//! Knows: lines of logs. Never knows: files, rules.
//!
//! Start at [`ConnectionLogs::read`].

use std::collections::{BTreeMap, HashMap};
use std::io::BufRead;
use std::sync::Arc;
use std::time::Duration;

use crate::wire::frame::Frame;
use crate::wire::message::{DecodedFrame, decode};

use super::ahp_log::{self, LogContent, LogLine, RecordedPlace};
use super::line::{self, TranscriptLine};
use super::reader::TranscriptReader;
use super::same_log::{self, ConnectionDigest, DuplicateConnection, UndecidedReason};
use super::{ClosingSide, ConnId, ConnectionEvent, SeenFrame, TranscriptEntry};

/// Upper bound for the logs that are combined.
pub const MAX_LOGS: usize = 1_000;
/// Upper bound for the connections of all logs together.
const MAX_CONNECTIONS: usize = 100_000;
/// Upper bound for the bytes of messages of all logs together. The messages are kept until everything is
/// judged.
const MAX_BYTES: usize = 1 << 30;
/// The methods of a client's first message.
const HANDSHAKES: [&str; 2] = ["initialize", "reconnect"];
/// The number of characters of a connection's name that are kept.
const MAX_NAME: usize = 120;

/// The logs that were read and combined.
#[derive(Debug, Default)]
pub struct ConnectionLogs {
    /// The files, in the order in which they were read.
    pub files: Vec<LogFile>,
    /// The connections, in the order of their first lines in the files.
    pub connections: Vec<LoggedConnection>,
    /// Remarks about the logs for the user.
    pub notes: Vec<String>,
    /// Whether a line in the middle of a file was unreadable. The lines before the unreadable line are kept.
    pub broken: bool,
    sources: Vec<LogSource>,
    /// The largest possible error between the times of two logs, in milliseconds.
    skew: i64,
    /// Whether all logs belong to one recording of this harness, whose lines are numbered.
    counted: bool,
    /// The number of lines in all files.
    lines: u64,
    bytes: usize,
}

/// One file of a log.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LogFile {
    /// The name of the file, as the caller gave it.
    pub name: String,
    /// The number of lines in all earlier files, which is added to the line numbers of this file.
    pub before: u64,
    /// The index of the log to which the file belongs.
    source: usize,
}

/// One connection of a log.
#[derive(Clone, Debug)]
pub struct LoggedConnection {
    /// The name of the connection in the log.
    pub name: String,
    /// Whether the log contains the beginning of the connection, so that no earlier traffic is missing.
    pub whole: bool,
    /// Whether the log states the beginning and the end of the connection explicitly.
    exact: bool,
    /// Whether another log contains the same connection, recorded at the connection's other end, so that this copy is
    /// not judged.
    again: bool,
}

/// One log. A log may consist of several files, and may contain several connections.
#[derive(Debug, Default)]
struct LogSource {
    items: Vec<LogItem>,
}

/// One event of a log.
#[derive(Debug)]
pub(super) struct LogItem {
    /// The time in milliseconds since 1970, which is never before the time of the previous event.
    pub at: i64,
    /// The index of the event's connection.
    pub connection: usize,
    pub line: u64,
    pub content: LogItemSummary,
    recorded: Option<RecordedPlace>,
}

/// The content of an event, in compact form.
#[derive(Clone, Debug)]
pub(super) enum LogItemSummary {
    Message(ClosingSide, Arc<Frame>),
    Event(ConnectionEvent),
}

/// The reason why logs cannot be combined.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{0}")]
pub struct LogsError(pub String);

/// A file to be read, as its name and its content.
pub type LogInput<R> = (String, R);

impl ConnectionLogs {
    /// Reads files of logs, and joins the segments of one log (`NAME.jsonl`, `NAME.1.jsonl` ..).
    ///
    /// # Errors
    /// Returns an error if a file is not a log, if there are too many logs, or if two logs may contain the same
    /// connection but differ.
    pub fn read<R: BufRead>(inputs: Vec<LogInput<R>>) -> Result<ConnectionLogs, LogsError> {
        if inputs.len() > MAX_LOGS {
            return Err(LogsError(format!(
                "expected at most {MAX_LOGS} logs at once, found {}",
                inputs.len()
            )));
        }
        let mut groups: BTreeMap<String, BTreeMap<u64, LogInput<R>>> = BTreeMap::new();
        for (name, input) in inputs {
            let (log, segment) = segment(&name);
            groups.entry(log).or_default().entry(segment).or_insert((name, input));
        }
        let mut logs = ConnectionLogs::default();
        for segments in groups.into_values() {
            logs.source(segments)?;
        }
        logs.counted = logs.is_counted();
        logs.count_once()?;
        Ok(logs)
    }

    /// Returns whether the logs contain no event.
    pub fn is_empty(&self) -> bool {
        self.sources.iter().all(|source| source.items.is_empty())
    }

    fn source<R: BufRead>(
        &mut self,
        segments: BTreeMap<u64, LogInput<R>>,
    ) -> Result<(), LogsError> {
        let mut reading = LogReading {
            source: LogSource::default(),
            open: HashMap::new(),
            first: segments.keys().next() == Some(&0),
            latest: i64::MIN,
        };
        let mut expected = segments.keys().next().copied().unwrap_or_default();
        for (number, (name, input)) in segments {
            if number != expected {
                let missing = format!("`{name}`: the previous segment, {expected}, is missing");
                self.notes.push(missing);
                reading.gap();
            }
            expected = number.saturating_add(1);
            if !self.file(name, input, &mut reading)? {
                // The log is not read beyond an unreadable line.
                break;
            }
        }
        self.sources.push(reading.source);
        Ok(())
    }

    /// Reads one file up to the first unreadable line, and returns whether the end of the file was reached.
    fn file<R: BufRead>(
        &mut self,
        name: String,
        input: R,
        reading: &mut LogReading,
    ) -> Result<bool, LogsError> {
        let before = self.lines;
        self.files.push(LogFile { name: name.clone(), before, source: self.sources.len() });
        let mut reader = TranscriptReader::new(input);
        let mut count = 0;
        let mut whole = true;
        loop {
            let read = match reader.next_line() {
                Ok(None) => break,
                Ok(Some((number, text))) => {
                    count = number;
                    read_line(text)
                }
                Err(error) if count == 0 && error.reason == "the file is empty" => {
                    self.notes.push(format!("`{name}` is empty"));
                    break;
                }
                Err(error) => Err(error.reason),
            };
            let stopped = match read {
                Ok(line) => match self.line(before + count, line, reading) {
                    Ok(()) => continue,
                    Err(error) => return Err(LogsError(format!("{name}:{count}: {error}"))),
                },
                Err(reason) => reader.unreadable(reason),
            };
            let place = format!("{name}:{}", stopped.line);
            if count <= 1 && !stopped.last {
                return Err(LogsError(format!("{place}: {}", stopped.reason)));
            }
            self.broken |= !stopped.last;
            whole = false;
            self.notes.push(match stopped.last {
                true => format!("{place} was cut off with the file: {}", stopped.reason),
                false => format!(
                    "{place} cannot be read, only what stands before it in this log was judged: {}",
                    stopped.reason
                ),
            });
            count = count.max(stopped.line);
            break;
        }
        self.lines += count;
        Ok(whole)
    }

    fn line(&mut self, number: u64, line: LogLine, reading: &mut LogReading) -> Result<(), String> {
        let LogLine { mut at, connection: name, content, recorded } = line;
        if at < reading.latest {
            self.skew = self.skew.max(reading.latest.saturating_sub(at));
            at = reading.latest;
        }
        reading.latest = at;
        let handshake = match &content {
            LogContent::Message { by: ClosingSide::Client, frame } => begins(frame),
            _ => false,
        };
        let opens = matches!(
            content,
            LogContent::Event(ConnectionEvent::Open { .. } | ConnectionEvent::Refused(_))
        );
        let exact = recorded.is_some();
        let known = reading.open.get(&name).copied();
        let again = match known {
            _ if exact => opens,
            // One log may contain several consecutive connections of one client.
            Some(_) => handshake,
            None => false,
        };
        let connection = match known.filter(|_| !again) {
            Some(open) => open,
            None => {
                if self.connections.len() >= MAX_CONNECTIONS {
                    return Err(format!("more than {MAX_CONNECTIONS} connections"));
                }
                let whole = if exact { opens } else { handshake && known.is_none() };
                let whole = whole && (exact || reading.first);
                let shown: String = name.escape_debug().take(MAX_NAME).collect();
                self.connections.push(LoggedConnection { name: shown, whole, exact, again: false });
                let index = self.connections.len() - 1;
                reading.open.insert(name, index);
                index
            }
        };
        let content = match content {
            LogContent::Message { by, frame } => {
                self.bytes += frame.len();
                if self.bytes > MAX_BYTES {
                    let most = MAX_BYTES >> 20;
                    return Err(format!(
                        "more than {most} MiB of messages (hint: judge fewer logs at once)"
                    ));
                }
                LogItemSummary::Message(by, Arc::new(frame))
            }
            LogContent::Event(event) => LogItemSummary::Event(event),
        };
        let item = LogItem { at, connection, line: number, content, recorded };
        reading.source.items.push(item);
        Ok(())
    }

    /// Returns whether every line has a number of the same recording.
    fn is_counted(&self) -> bool {
        let items = || self.sources.iter().flat_map(|source| &source.items);
        let first = items().next().and_then(|item| item.recorded.as_ref());
        let Some(first) = first else { return false };
        let mut orders: Vec<u64> = Vec::new();
        for item in items() {
            match &item.recorded {
                Some(recorded) if recorded.recording == first.recording => {
                    orders.push(recorded.order);
                }
                _ => return false,
            }
        }
        orders.sort_unstable();
        orders.windows(2).all(|pair| pair[0] != pair[1])
    }

    /// Marks connections that another log recorded at the other end, so that each connection is judged once.
    fn count_once(&mut self) -> Result<(), LogsError> {
        if self.sources.len() < 2 || self.counted {
            return Ok(());
        }
        let mut digests: Vec<ConnectionDigest> = Vec::new();
        digests.resize_with(self.connections.len(), ConnectionDigest::default);
        for (number, source) in self.sources.iter().enumerate() {
            for item in &source.items {
                digests[item.connection].add(number, item);
            }
        }
        let names: Vec<&str> = self.connections.iter().map(|it| it.name.as_str()).collect();
        let again = same_log::again(&digests, &names).map_err(|undecided| match undecided {
            UndecidedReason::Pair(one, other) => LogsError(format!(
                "{} and {} both tell of a connection `{}` at the same time and differ: it cannot be \
                 decided whether they are the two ends of one (hint: leave out one of the files)",
                self.place(digests[one].line),
                self.place(digests[other].line),
                names[one]
            )),
            UndecidedReason::TooMany => {
                LogsError("too many connections begin with the same messages, so they cannot be \
                    distinguished".to_owned())
            }
        })?;
        for DuplicateConnection { shorter, longer } in again {
            self.connections[shorter].again = true;
            self.notes.push(format!(
                "{} and {} are the two ends of one connection, which is judged once, by the second",
                self.place(digests[shorter].line),
                self.place(digests[longer].line),
            ));
        }
        Ok(())
    }

    /// Returns the file that contains a line. The lines of all files are numbered consecutively.
    fn file_of(&self, line: u64) -> Option<&LogFile> {
        let after = self.files.partition_point(|file| file.before < line);
        self.files.get(after.checked_sub(1)?)
    }

    fn item(&self, line: u64) -> Option<&LogItem> {
        let items = &self.sources.get(self.file_of(line)?.source)?.items;
        items.get(items.binary_search_by_key(&line, |item| item.line).ok()?)
    }

    /// Returns the name of the file that contains a line and the number of the line in this file, for a line number
    /// that counts the lines of all files.
    pub fn place(&self, line: u64) -> String {
        match self.file_of(line) {
            Some(file) => format!("{}:{}", file.name, line - file.before),
            None => format!("line {line}"),
        }
    }

    /// Returns the name of the connection to which a line belongs, as the connection's log states it.
    pub fn connection_at(&self, line: u64) -> Option<&str> {
        Some(&self.connections[self.item(line)?.connection].name)
    }

    /// Returns the message on a line, and its sender.
    pub fn message_at(&self, line: u64) -> Option<(ClosingSide, &Arc<Frame>)> {
        match &self.item(line)?.content {
            LogItemSummary::Message(by, frame) => Some((*by, frame)),
            LogItemSummary::Event(_) => None,
        }
    }

    /// Returns the connections that are judged, with their ids. The second copy of a connection is not judged.
    pub fn judged(&self) -> impl Iterator<Item = (ConnId, &LoggedConnection)> {
        let all = self.connections.iter().enumerate().filter(|(_, it)| !it.again);
        all.map(|(index, it)| (ConnId(u32::try_from(index).unwrap_or(u32::MAX)), it))
    }

    /// Counts the messages of the connections that are judged.
    pub fn messages(&self) -> u64 {
        let items = self.sources.iter().flat_map(|source| &source.items);
        let messages = items.filter(|item| {
            !self.connections[item.connection].again
                && matches!(item.content, LogItemSummary::Message(..))
        });
        messages.count() as u64
    }

    /// Returns whether the logs have the same information as a capture.
    pub fn is_exact(&self) -> bool {
        self.connections.iter().all(|connection| connection.exact)
    }

    /// Returns the largest possible error between the times of two connections.
    pub fn spread(&self) -> Duration {
        // The rank of a log (its position in an order) is always below twice the number of logs.
        let steps = self.skew.unsigned_abs().saturating_mul(2 * self.sources.len() as u64);
        Duration::from_millis(if self.counted || self.sources.len() < 2 { 0 } else { steps })
    }

    /// Returns the orders in which the logs are judged. If the times do not determine the order, then for each log and
    /// any two other logs there is an order in which the events of the log come before the events of both, and an order
    /// in which they come after. The index of a log, XORed with an order, is the rank of the log in that order.
    pub fn orders(&self) -> Vec<usize> {
        let logs = self.sources.len();
        if logs < 2 || self.counted {
            return vec![0];
        }
        let bits = usize::BITS - (logs - 1).leading_zeros();
        let mut orders = vec![0, (1 << bits) - 1];
        orders.extend((0..bits).map(|bit| 1 << bit));
        orders.dedup();
        orders
    }

    /// Returns all entries, in one of the [`orders`](Self::orders).
    pub fn in_order(&self, order: usize) -> impl Iterator<Item = TranscriptEntry> {
        self.entries(order, |_| true)
    }

    /// Returns one transcript for each log, without the entries of the other logs.
    pub fn alone(&self) -> impl Iterator<Item = impl Iterator<Item = TranscriptEntry>> {
        (0..self.sources.len()).map(|log| self.entries(0, move |source| source == log))
    }

    fn entries(
        &self,
        order: usize,
        wanted: impl Fn(usize) -> bool,
    ) -> impl Iterator<Item = TranscriptEntry> {
        let mut places: Vec<(i64, u64, usize, usize)> = Vec::new();
        let mut base = i64::MAX;
        for (number, source) in self.sources.iter().enumerate().filter(|(it, _)| wanted(*it)) {
            let rank = number ^ order;
            let shift = self.skew.saturating_mul(i64::try_from(rank).unwrap_or(i64::MAX));
            for (index, item) in source.items.iter().enumerate() {
                let place = match &item.recorded {
                    Some(recorded) if self.counted => {
                        let micros = i64::try_from(recorded.at.as_micros()).unwrap_or(i64::MAX);
                        (micros, recorded.order, number, index)
                    }
                    _ => {
                        let micros = item.at.saturating_add(shift).saturating_mul(1_000);
                        (micros, rank as u64, number, index)
                    }
                };
                base = base.min(place.0);
                places.push(place);
            }
        }
        if self.counted {
            base = 0;
            places.sort_unstable_by_key(|(_, order, ..)| *order);
        } else {
            places.sort_unstable();
        }
        let mut first: HashMap<usize, usize> = HashMap::new();
        let mut last: HashMap<usize, usize> = HashMap::new();
        for (index, (.., source, item)) in places.iter().enumerate() {
            let connection = self.sources[*source].items[*item].connection;
            first.entry(connection).or_insert(index);
            last.insert(connection, index);
        }
        let around =
            places.into_iter().enumerate().map(move |(index, (micros, _, source, item))| {
                let item = &self.sources[source].items[item];
                let connection = &self.connections[item.connection];
                let at = Duration::from_micros(micros.saturating_sub(base).unsigned_abs());
                let conn = ConnId(u32::try_from(item.connection).unwrap_or(u32::MAX));
                let entry = |event| TranscriptEntry { line: item.line, at, conn, event };
                let silent = connection.exact || connection.again;
                let begins =
                    connection.whole && !silent && first.get(&item.connection) == Some(&index);
                // The log does not show how long a connection stayed open after its last line.
                let ends = !silent && last.get(&item.connection) == Some(&index);
                let opened = begins.then(|| entry(ConnectionEvent::open(connection.name.clone())));
                let closed = ConnectionEvent::Closed {
                    by: ClosingSide::Client,
                    code: None,
                    reason: String::new(),
                };
                let closed = ends.then(|| entry(closed));
                let itself = (!connection.again).then(|| entry(item.event(&connection.name)));
                [opened, itself, closed].into_iter().flatten()
            });
        around.flatten()
    }

    /// Returns all entries as lines of a capture, in the first order.
    pub fn as_capture(&self) -> Vec<(u64, TranscriptLine)> {
        let line = |entry: TranscriptEntry| {
            let name = self.connections[entry.conn.0 as usize].name.clone();
            // The number distinguishes connections that have the same name.
            let conn = format!("{name} {}", entry.conn.0);
            (entry.line, TranscriptLine { case: None, at: entry.at, conn, event: entry.event })
        };
        self.in_order(0).map(line).collect()
    }
}

/// The state of reading one log.
struct LogReading {
    source: LogSource,
    /// The latest connection with each name.
    open: HashMap<String, usize>,
    /// Whether the first segment of the log is present.
    first: bool,
    latest: i64,
}

impl LogReading {
    /// Marks the place of a missing segment: earlier knowledge about all connections may be out of date.
    fn gap(&mut self) {
        let at = self.latest;
        let line = self.source.items.last().map_or(0, |item| item.line);
        for connection in self.open.values() {
            let content = LogItemSummary::Event(ConnectionEvent::Gap { by: ClosingSide::Client });
            let connection = *connection;
            self.source.items.push(LogItem { at, connection, line, content, recorded: None });
        }
    }
}

impl LogItem {
    fn event(&self, name: &str) -> ConnectionEvent {
        match &self.content {
            LogItemSummary::Message(ClosingSide::Client, frame) => {
                ConnectionEvent::Sent(Arc::new(SeenFrame::again(frame.clone())))
            }
            LogItemSummary::Message(ClosingSide::Host, frame) => {
                ConnectionEvent::Received(Arc::new(SeenFrame::again(frame.clone())))
            }
            LogItemSummary::Event(ConnectionEvent::Open { handshake, .. }) => {
                ConnectionEvent::Open { client: name.to_owned(), handshake: handshake.clone() }
            }
            LogItemSummary::Event(event) => event.clone(),
        }
    }
}

/// Returns the name of the log that a file belongs to, and the number of the file's segment.
fn segment(name: &str) -> (String, u64) {
    let parts = name.strip_suffix(".jsonl").and_then(|stem| stem.rsplit_once('.'));
    match parts.map(|(log, number)| (log, number.parse())) {
        Some((log, Ok(number))) => (format!("{log}.jsonl"), number),
        _ => (name.to_owned(), 0),
    }
}

fn read_line(text: &str) -> Result<LogLine, String> {
    match ahp_log::read(text)? {
        Some(line) => Ok(line),
        None if line::read(text).is_ok() => Err(format!(
            "expected a line with `{}`, as before, found one of a capture (hint: keep the two in separate files)",
            ahp_log::MEMBER
        )),
        None => Err(format!("expected a line with `{}`, found another", ahp_log::MEMBER)),
    }
}

/// Returns whether a client's message begins a connection.
fn begins(frame: &Frame) -> bool {
    let names = |word: &str| memchr::memmem::find(frame.bytes(), word.as_bytes()).is_some();
    if !HANDSHAKES.iter().any(|word| names(word)) {
        return false;
    }
    match decode(frame) {
        DecodedFrame::Message(message) => {
            message.method().is_some_and(|it| HANDSHAKES.contains(&it))
        }
        _ => false,
    }
}
