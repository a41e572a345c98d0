//! Fuzz targets: functions from any bytes to nothing, which may not panic and check what they can.
//!
//! The wrappers for the fuzzer stand in `fuzz/`; plain `cargo test` plays every file of `corpus/`
//! through [`TARGETS`].
//!
//! Knows: everything that reads what others wrote. Never knows: the fuzzing engine.

use std::time::Duration;

use crate::host::engine::{Config, RefHost};
use crate::host::{Host, Output};
use crate::oracle::{Options, Oracle};
use crate::report::replay;
use crate::run::suite::Carried;
use crate::scenario::load::load;
use crate::scenario::render;
use crate::transcript::{ConnId, Entry, Event, Seen};
use crate::wire::frame::Frame;

/// A fuzz target, under the name of its corpus folder.
pub type Target = (&'static str, fn(&[u8]));

/// Every target.
pub const TARGETS: &[Target] = &[("frame", frame), ("scenario", scenario), ("capture", capture)];

/// Lines as frames of one client to the reference host; the oracle looks on. A line of hexadecimal
/// digits after `#` is a binary frame.
pub fn frame(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let mut host = RefHost::new(Config::default());
    let mut oracle = Oracle::new(Options::default());
    let conn = ConnId(0);
    let mut line = 0;
    let mut tell = |event: Event| {
        line += 1;
        oracle.observe(&Entry { line, at: Duration::from_millis(line), conn, event });
    };
    host.handle_open(Duration::ZERO, conn);
    tell(Event::open("A"));
    for (number, text) in text.lines().enumerate() {
        let frame = match text.strip_prefix('#') {
            Some(bytes) => Frame::Binary(bytes.as_bytes().to_vec()),
            None => Frame::Text(text.to_owned()),
        };
        let now = Duration::from_millis(number as u64);
        tell(Event::Sent(Seen::new(frame.clone()).into()));
        host.handle_frame(now, conn, &frame);
        host.handle_timeout(now);
        while let Some(output) = host.poll_output() {
            if let Output::Send { frame, .. } = output {
                tell(Event::Received(Seen::new(frame).into()));
            }
        }
    }
    oracle.finish();
}

/// A text as a scenario file: every mistake stands inside the text that it is about.
pub fn scenario(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let loaded = load("scenarios/ahp/fuzz/case.yaml", &text, &Carried);
    for error in &loaded.errors {
        let source = loaded.sources.get(error.span.file as usize);
        let length = source.map_or(0, |source| source.text.len());
        assert!(error.span.start as usize <= length, "{error} stands beyond its text");
        assert!(!error.to_string().is_empty());
    }
    if let Some(scenario) = loaded.scenario {
        render::text(&scenario);
    }
}

/// A text as a recorded conversation.
pub fn capture(data: &[u8]) {
    if let Err(error) = replay::judge(data, None, false) {
        assert!(error.line > 0, "{error} stands on no line");
    }
}
