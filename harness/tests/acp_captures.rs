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
use ahp_harness::verdict::FailOn;
use ahp_harness::wire::version::{Standard, Version};

fn text(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus/acp");
    fs::read_to_string(folder.join(name)).unwrap()
}

fn judged(text: &str, assume: Option<Version>) -> Judged {
    let judged = judge(text.as_bytes(), assume, FailOn::default()).unwrap();
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

/// Lines of a capture of one conversation: seconds, `c2a` or `a2c`, and the message without its tag.
fn conversation(lines: &[(f64, &str, &str)]) -> String {
    let line = |(at, dir, msg): &(f64, &str, &str)| {
        let msg = msg.replacen('{', "{\"jsonrpc\":\"2.0\",", 1);
        format!("{{\"t\":{at},\"dir\":\"{dir}\",\"msg\":{msg}}}\n")
    };
    lines.iter().map(line).collect()
}

const OPENING: [(f64, &str, &str); 4] = [
    (
        0.0,
        "c2a",
        r#"{"id":0,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":true,"writeTextFile":true},"terminal":true}}}"#,
    ),
    (0.0, "a2c", r#"{"id":0,"result":{"protocolVersion":1,"agentCapabilities":{}}}"#),
    (0.0, "c2a", r#"{"id":1,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}"#),
    (0.0, "a2c", r#"{"id":1,"result":{"sessionId":"s"}}"#),
];

/// What is found in the opening and these lines.
fn found(lines: &[(f64, &str, &str)]) -> String {
    said(&judged(&conversation(&[&OPENING[..], lines].concat()), None))
}

#[test]
fn a_conversation_of_another_version_is_not_held_to_this_one() {
    let update = (
        1.0,
        "a2c",
        r#"{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"t","kind":"of-two"}}}"#,
    );
    assert!(!found(&[update]).is_empty());
    let mut lines = OPENING
        .map(|(at, dir, msg)| {
            (at, dir, msg.replace("\"protocolVersion\":1", "\"protocolVersion\":2"))
        })
        .to_vec();
    lines.push((update.0, update.1, update.2.to_owned()));
    let lines: Vec<(f64, &str, &str)> =
        lines.iter().map(|(at, dir, msg)| (*at, *dir, msg.as_str())).collect();
    assert_eq!(said(&judged(&conversation(&lines), None)), "");
}

#[test]
fn a_terminal_may_be_released_a_moment_after_the_answer() {
    let turn = [
        (
            1.0,
            "c2a",
            r#"{"id":2,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"go"}]}}"#,
        ),
        (
            1.0,
            "a2c",
            r#"{"id":7,"method":"terminal/create","params":{"sessionId":"s","command":"ls"}}"#,
        ),
        (1.0, "c2a", r#"{"id":7,"result":{"terminalId":"term"}}"#),
        (2.0, "a2c", r#"{"id":2,"result":{"stopReason":"end_turn"}}"#),
    ];
    assert_eq!(found(&turn), "");
    let release = (
        2.5,
        "a2c",
        r#"{"id":8,"method":"terminal/release","params":{"sessionId":"s","terminalId":"term"}}"#,
    );
    let answer = (2.5, "c2a", r#"{"id":8,"result":{}}"#);
    let next = (9.0, "c2a", r#"{"method":"session/cancel","params":{"sessionId":"s"}}"#);
    assert_eq!(found(&[&turn[..], &[release, answer, next]].concat()), "");
    let late = found(&[&turn[..], &[next]].concat());
    assert!(late.contains("acp.terminals.released"), "{late}");
}
