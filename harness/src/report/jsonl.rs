//! Writes `run.jsonl` during the run: all events of the run as lines of JSON, from header to footer.
//!
//! Lines with the member `run` describe the run (`header`, `case`, `result`, `footer`). All other lines are events of
//! the transcript, in the capture format, each with the number of its scenario. A file without a footer was cut off.
//! Frames are kept byte for byte, except for secrets.

use std::io::{self, BufWriter, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;
use serde_json::json;

use crate::run::play::TranscriptRecorder;
use crate::transcript::{ConnectionEvent, line};

use super::event::CaseStop;
use super::redact::SecretRedactor;

/// The size of the write buffer, in bytes.
const WRITE_AT_ONCE: usize = 64 << 10;

/// A writer of a run. A clone is cheap, and all clones write to the same output.
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

/// Formats a line of this kind about the run, including the line break.
pub fn about(kind: &str, content: &impl Serialize) -> String {
    let mut value = serde_json::to_value(content).unwrap_or_default();
    if let Some(object) = value.as_object_mut() {
        object.insert("run".to_owned(), json!(kind));
    }
    value.to_string() + "\n"
}

impl RunWriter {
    /// Makes a writer that redacts each line and writes it to `out`.
    pub fn new(out: Box<dyn Write + Send>, redactor: SecretRedactor) -> RunWriter {
        let out = BufWriter::with_capacity(WRITE_AT_ONCE, out);
        let inner = JsonlState { out, redactor, line: 0, buffer: String::new(), error: None };
        RunWriter { inner: Arc::new(Mutex::new(inner)) }
    }

    /// Writes a line of this kind about the run.
    pub fn about(&self, kind: &str, content: &impl Serialize) {
        let line = about(kind, content);
        self.with(|inner| {
            inner.buffer.push_str(&line);
            inner.redactor.object(&mut inner.buffer);
            inner.put();
            // Lines about the run must not be lost if this process crashes.
            inner.flush();
        });
    }

    /// Flushes everything.
    ///
    /// # Errors
    /// Returns the first error since the writer was made.
    pub fn finish(&self) -> io::Result<()> {
        self.with(|inner| {
            let flushed = inner.out.flush();
            inner.error.take().map_or(flushed, Err)
        })
    }

    /// Flushes the output that was written so far.
    pub fn flush(&self) {
        self.with(JsonlState::flush);
    }

    /// Returns a recorder for one scenario, or for a conversation outside any scenario.
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

    fn stopped(&mut self, at: Duration, reason: Option<&str>) {
        if let Some(case) = self.case {
            let at_us = u64::try_from(at.as_micros()).unwrap_or(u64::MAX);
            self.writer.about("stop", &CaseStop { case, at_us, reason: reason.map(str::to_owned) });
        }
    }
}
