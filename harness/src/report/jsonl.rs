//! `run.jsonl`: the whole run as lines of JSON, written as it happens, header to footer.
//!
//! Lines with `run` are about the run (`header`, `case`, `result`, `footer`); all others are events
//! of the transcript, in the capture format with the number of their scenario. A file without a
//! footer was cut off. Frames are kept to the letter, but for secrets.

use std::io::{self, BufWriter, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;
use serde_json::json;

use crate::run::play::TranscriptRecorder;
use crate::transcript::{ConnectionEvent, line};

use super::redact::SecretRedactor;

/// Bytes written at once.
const WRITE_AT_ONCE: usize = 64 << 10;

/// Writes a run. Cheap to clone; all clones write to the same place.
#[derive(Clone)]
pub struct RunWriter {
    inner: Arc<Mutex<JsonlState>>,
}

struct JsonlState {
    out: BufWriter<Box<dyn Write + Send>>,
    redactor: SecretRedactor,
    line: u64,
    buffer: String,
    error: Option<io::Error>,
}

/// A line about the run, of the given kind, with its end.
pub fn about(kind: &str, content: &impl Serialize) -> String {
    let mut value = serde_json::to_value(content).unwrap_or_default();
    if let Some(object) = value.as_object_mut() {
        object.insert("run".to_owned(), json!(kind));
    }
    value.to_string() + "\n"
}

impl RunWriter {
    /// Writes to `out` what the redactor leaves.
    pub fn new(out: Box<dyn Write + Send>, redactor: SecretRedactor) -> RunWriter {
        let out = BufWriter::with_capacity(WRITE_AT_ONCE, out);
        let inner = JsonlState { out, redactor, line: 0, buffer: String::new(), error: None };
        RunWriter { inner: Arc::new(Mutex::new(inner)) }
    }

    /// Writes a line about the run, of the given kind.
    pub fn about(&self, kind: &str, content: &impl Serialize) {
        let line = about(kind, content);
        self.with(|inner| {
            inner.buffer.push_str(&line);
            inner.redactor.object(&mut inner.buffer);
            inner.put();
            // What the user is told of stays, however this process ends.
            inner.flush();
        });
    }

    /// Brings everything to its place.
    ///
    /// # Errors
    /// The first thing that went wrong since the beginning.
    pub fn finish(&self) -> io::Result<()> {
        self.with(|inner| {
            let flushed = inner.out.flush();
            inner.error.take().map_or(flushed, Err)
        })
    }

    /// Brings what was written so far to its place.
    pub fn flush(&self) {
        self.with(JsonlState::flush);
    }

    /// A recorder for one scenario, or for a conversation that is none.
    pub fn recorder(&self, case: Option<u32>) -> Box<dyn TranscriptRecorder> {
        Box::new(CaseRecorder { writer: self.clone(), case })
    }

    fn with<T>(&self, act: impl FnOnce(&mut JsonlState) -> T) -> T {
        act(&mut self.inner.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl JsonlState {
    fn flush(&mut self) {
        if let Err(error) = self.out.flush() {
            self.error.get_or_insert(error);
        }
    }

    fn put(&mut self) {
        if let Err(error) = self.out.write_all(self.buffer.as_bytes()) {
            self.error.get_or_insert(error);
        }
        self.buffer.clear();
        self.line += 1;
    }
}

struct CaseRecorder {
    writer: RunWriter,
    case: Option<u32>,
}

impl TranscriptRecorder for CaseRecorder {
    fn record(&mut self, at: Duration, client: &str, event: &ConnectionEvent) -> u64 {
        self.writer.with(|inner| {
            line::write(&mut inner.buffer, self.case, at, client, event);
            inner.redactor.event(&mut inner.buffer);
            inner.put();
            inner.line
        })
    }
}
