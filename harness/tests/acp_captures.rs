//! Captures between a client and an agent, in the form that other people's recorders write: `corpus/acp/NAME.jsonl` is judged
//! by the same checks as a live run, and comes to exactly what `NAME.txt` says.
//!
//! `UPDATE=1 cargo test --test acp_captures` writes the texts anew; read what changed.

#![expect(clippy::unwrap_used, reason = "helpers of a test fail by panicking")]

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use ahp_harness::oracle::checks;
use ahp_harness::report::replay::{Judged, judge};
use ahp_harness::report::summary::word;
use ahp_harness::wire::version::{Standard, Version};

fn text(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus/acp");
    fs::read_to_string(folder.join(name)).unwrap()
}

fn judged(text: &str, assume: Option<Version>) -> Judged {
    let judged = judge(text.as_bytes(), assume, false).unwrap();
    assert_eq!(judged.notes, Vec::<String>::new());
    judged
}

/// The findings as a text: check, weight and lines, then the sentence.
fn said(judged: &Judged) -> String {
    let mut text = String::new();
    for (id, total) in &judged.summary.checks {
        for (_, finding) in &total.shown {
            let lines: Vec<String> = finding.transcript.iter().map(u64::to_string).collect();
            let (weight, lines) = (word(finding.weight), lines.join(" "));
            writeln!(text, "{id} {weight} {lines}\n  {}", finding.message).unwrap();
        }
    }
    text
}

#[test]
fn captures_come_to_what_is_written_beside_them() {
    for (name, connections) in [("clean", 7), ("broken", 4)] {
        let judged = judged(&text(&format!("{name}.jsonl")), None);
        assert_eq!(judged.connections, connections, "{name}");
        assert_eq!(judged.summary.checks.len(), checks(Standard::Acp).len());
        let said = said(&judged);
        let beside =
            Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../corpus/acp/{name}.txt"));
        if std::env::var_os("UPDATE").is_some() {
            fs::write(&beside, &said).unwrap();
        }
        assert_eq!(fs::read_to_string(beside).unwrap_or_default(), said, "{name}");
        assert_eq!(said.is_empty(), name == "clean", "{said}");
    }
}

/// Without names of connections each handshake begins a conversation, as a process that is started anew does.
#[test]
fn a_capture_without_connections_is_taken_apart_by_its_handshakes() {
    let whole = text("broken.jsonl");
    let bare: String = whole
        .lines()
        .map(|line| {
            let (head, rest) = line.split_once("\"conn\":").unwrap();
            format!("{head}{}\n", rest.split_once(',').unwrap().1.trim_start())
        })
        .collect();
    assert_eq!(said(&judged(&bare, None)), said(&judged(&whole, None)));
}

/// The same conversation in the words of a run, where only the version says that it is of ACP.
#[test]
fn a_capture_of_connections_is_of_acp_where_that_is_assumed() {
    let whole = text("broken.jsonl");
    let named = whole.replace("\"dir\":\"c2a\"", "\"dir\":\"c2s\"");
    let named = named.replace("\"dir\":\"a2c\"", "\"dir\":\"s2c\"");
    assert_ne!(named, whole);
    let found = judged(&named, Some(Version::ACP_1));
    assert_eq!(said(&found), said(&judged(&whole, None)));
}
