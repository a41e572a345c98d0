//! Tests that the capture format agrees with its documentation and its schema.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ahp_harness::transcript::format::{COMMON, KINDS, schema};
use ahp_harness::transcript::line::write;
use ahp_harness::transcript::{ClosingSide, ConnectionEvent, HandshakeLines, SeenFrame};
use ahp_harness::wire::frame::Frame;
use ahp_harness::wire::json::Value;

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

#[test]
fn the_schema_file_equals_the_generated_schema() {
    let path = file("capture.schema.json");
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, schema()).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        kept,
        schema(),
        "(hint: `UPDATE=1 cargo test --test all capture_format::` writes it anew)"
    );
}

#[test]
fn the_page_documents_every_member_and_kind_of_line() {
    let page = fs::read_to_string(file("CAPTURE_FORMAT.md")).unwrap();
    let members = COMMON.iter().chain(KINDS.iter().flat_map(|kind| kind.members));
    let words = members.map(|member| member.name).chain(KINDS.iter().map(|kind| kind.dir));
    let missing: Vec<_> = words.filter(|word| !page.contains(&format!("`{word}`"))).collect();
    assert!(missing.is_empty(), "CAPTURE_FORMAT.md says nothing about {missing:?}");
}

/// Checks that each kind of line that the harness writes has exactly the members in the documented table, and that the
/// harness writes every kind in the table.
#[test]
fn every_written_member_is_in_the_table() {
    let seen = |frame: Frame| Arc::new(SeenFrame::new(frame));
    let handshake =
        HandshakeLines { request: vec!["a".to_owned()], response: vec!["b".to_owned()] };
    let events = [
        ConnectionEvent::Open { client: "A".to_owned(), handshake: Some(Box::new(handshake)) },
        ConnectionEvent::Sent(seen(Frame::Text("{}".to_owned()))),
        ConnectionEvent::Sent(seen(Frame::Text("hello".to_owned()))),
        ConnectionEvent::Received(seen(Frame::NotUtf8(vec![255]))),
        ConnectionEvent::Cut { by: ClosingSide::Host, frame: Frame::Binary(vec![255]) },
        ConnectionEvent::Refused(Box::new(HandshakeLines {
            request: vec!["GET / HTTP/1.1".to_owned()],
            response: vec!["HTTP/1.1 401 Unauthorized".to_owned()],
        })),
        ConnectionEvent::Closed {
            by: ClosingSide::Host,
            code: Some(1000),
            reason: "bye".to_owned(),
        },
        ConnectionEvent::Fault { what: "drop".to_owned() },
        ConnectionEvent::Gap { by: ClosingSide::Host },
        ConnectionEvent::Restarted,
    ];
    let mut written = Vec::new();
    for event in &events {
        let mut line = String::new();
        write(&mut line, Some(1), Duration::ZERO, "A", event);
        let line: Value = serde_json::from_str(&line).unwrap();
        let kind = KINDS.iter().find(|kind| line["dir"] == kind.dir).unwrap();
        for (name, _) in line.as_object().unwrap().iter().filter(|(name, _)| *name != "dir") {
            let known = COMMON.iter().chain(kind.members).any(|member| member.name == name);
            assert!(known, "`{name}` of {line}");
            written.push((kind.dir, name.to_string()));
        }
        written.push((kind.dir, "dir".to_owned()));
    }
    for kind in KINDS.iter().filter(|kind| !kind.frame) {
        for member in kind.members {
            let found = written.contains(&(kind.dir, member.name.to_owned()));
            assert!(found, "no event writes `{}` of `{}`", member.name, kind.dir);
        }
    }
}
