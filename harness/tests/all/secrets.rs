//! Tests that redacted secrets are still detected: the harness finds a secret in a frame of the host during the
//! recording, and again in the redacted record.
#![cfg(feature = "cli")]
#![expect(clippy::unwrap_used, reason = "helpers of a test fail by panicking")]

use std::time::Duration;

use ahp_harness::record::journal::RecordJournal;
use ahp_harness::record::relay::{RecordedItem, RelayNote};
use ahp_harness::report::redact::SecretRedactor;
use ahp_harness::report::replay::judge;
use ahp_harness::transcript::{ClosingSide, ConnId, ConnectionEvent};
use ahp_harness::verdict::FailOn;
use ahp_harness::wire::frame::Frame;

use crate::common::sheet::SharedSheet;

const CHECK: &str = "secrets.kept";
const HELLO: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"channel":"ahp-root://","protocolVersions":["1.0.0"],"clientId":"A"}}"#;
const WELCOME: &str =
    r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"1.0.0","serverSeq":0,"snapshots":[]}}"#;

/// Returns whether the harness finds a secret of the command line in a frame of the host: during the recording,
/// and in the record.
fn missed(secrets: &[&str], said: &str) -> (bool, bool) {
    let secrets = secrets.iter().map(|secret| (*secret).to_owned());
    let redactor = SecretRedactor::new(secrets.clone(), Vec::new());
    let sheet = SharedSheet::default();
    let mut journal = RecordJournal::new(Box::new(sheet.clone()), redactor.clone());
    let message = |side, text: &str| RecordedItem::Message(side, Frame::Text(text.to_owned()));
    let error = format!(
        r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":-32601,"message":"no {said} here"}}}}"#
    );
    let mut found = false;
    for what in [
        RecordedItem::Event(ConnectionEvent::open("A")),
        message(ClosingSide::Client, HELLO),
        message(ClosingSide::Host, WELCOME),
        message(ClosingSide::Client, r#"{"jsonrpc":"2.0","id":1,"method":"x-nothing"}"#),
        message(ClosingSide::Host, &error),
    ] {
        let note = RelayNote { conn: ConnId(0), what };
        let findings = journal.take(Duration::from_millis(1), note);
        found |= findings.iter().any(|finding| finding.check == CHECK);
    }
    let mut record = String::new();
    for mut line in sheet.lines() {
        redactor.event(&mut line);
        record.push_str(&line);
        record.push('\n');
    }
    assert!(secrets.into_iter().all(|secret| !record.contains(&secret)), "{record}");
    let judged = judge(record.as_bytes(), None, FailOn::default()).unwrap();
    (found, judged.summary.checks.get(CHECK).is_some_and(|check| check.findings > 0))
}

#[test]
fn redacted_secrets_are_searched_in_frames() {
    let header: &[&str] = &["Bearer canary-0123456789", "canary-0123456789"];
    for (secrets, said, expected) in [
        (header, "canary-0123456789", true),
        (header, "Bearer canary-0123456789", true),
        (header, "canary", false),
        // A short string may occur in a frame by accident, so there is no finding.
        (&["canary"], "canary", false),
    ] {
        let (live, again) = missed(secrets, said);
        assert_eq!((live, again), (expected, expected), "{secrets:?} in {said}");
    }
}
