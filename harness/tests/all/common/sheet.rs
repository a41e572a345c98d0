//! A recorder that keeps the lines of a transcript.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ahp_harness::run::play::TranscriptRecorder;
use ahp_harness::transcript::{ConnectionEvent, line};

/// The recorded lines; clones share the lines.
#[derive(Clone, Default)]
pub struct SharedSheet(Arc<Mutex<Vec<String>>>);

impl SharedSheet {
    /// Returns the lines so far.
    pub fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl TranscriptRecorder for SharedSheet {
    fn record(&mut self, at: Duration, client: &str, event: &ConnectionEvent) -> u64 {
        let mut text = String::new();
        line::write(&mut text, None, at, client, event);
        let mut lines = self.0.lock().unwrap();
        lines.extend(text.lines().map(str::to_owned));
        lines.len() as u64
    }
}
