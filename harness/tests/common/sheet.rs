//! A recorder that keeps the lines of a transcript.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ahp_harness::run::play::Recorder;
use ahp_harness::transcript::{Event, line};

/// The lines so far; clones share them.
#[derive(Clone, Default)]
pub struct Sheet(Arc<Mutex<Vec<String>>>);

impl Sheet {
    /// The lines so far.
    pub fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl Recorder for Sheet {
    fn record(&mut self, at: Duration, client: &str, event: &Event) -> u64 {
        let mut text = String::new();
        line::write(&mut text, None, at, client, event);
        let mut lines = self.0.lock().unwrap();
        lines.extend(text.lines().map(str::to_owned));
        lines.len() as u64
    }
}
