//! Tests of captures between a client and an agent, in the formats of other recorders. Each `corpus/acp/NAME.jsonl` is
//! judged by the same checks as a live run, and the result must equal `NAME.txt`.
//!
//! `UPDATE=1 cargo test --test all acp_captures::` rewrites the reports; review the changes.

#![expect(clippy::unwrap_used, reason = "helpers of a test fail by panicking")]

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use ahp_harness::oracle::checks;
use ahp_harness::report::replay::{JudgedFile, judge};
use ahp_harness::report::summary::word;
use ahp_harness::verdict::FailOn;
use ahp_harness::wire::version::{ProtocolStandard, Version};

fn text(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus/acp");
    fs::read_to_string(folder.join(name)).unwrap()
}

fn judged(text: &str, assume: Option<Version>) -> JudgedFile {
    let judged = judge(text.as_bytes(), assume, FailOn::default()).unwrap();
    assert_eq!(judged.notes, Vec::<String>::new());
    judged
}

/// Formats the findings: for each finding the check, the weight and the lines, followed by its message.
fn said(judged: &JudgedFile) -> String {
    let mut text = String::new();
    for (id, total) in &judged.summary.checks {
        for (_, finding) in &total.shown {
            let lines: Vec<String> = finding.transcript.iter().map(u64::to_string).collect();
            let (weight, lines) = (word(finding.weight), lines.join(" "));
            writeln!(text, "{id} {weight} {lines}\n  {}", finding.message.raw()).unwrap();
        }
    }
    text
}

#[test]
fn captures_have_the_findings_in_their_text_files() {
    for (name, connections) in [("clean", 7), ("broken", 4)] {
        let judged = judged(&text(&format!("{name}.jsonl")), None);
        assert_eq!(judged.connections, connections, "{name}");
        assert_eq!(judged.summary.checks.len(), checks(ProtocolStandard::Acp).len());
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

/// Checks that in a capture without connection names, each handshake begins a new conversation, because it comes from a
/// restarted agent process.
#[test]
fn a_capture_without_connection_names_is_split_at_its_handshakes() {
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

/// Checks a conversation whose lines have the directions `c2s` and `s2c`, so that only the assumed version shows that
/// the protocol is ACP.
#[test]
fn assuming_acp_judges_client_and_server_lines_as_acp() {
    let whole = text("broken.jsonl");
    let named = whole.replace("\"dir\":\"c2a\"", "\"dir\":\"c2s\"");
    let named = named.replace("\"dir\":\"a2c\"", "\"dir\":\"s2c\"");
    assert_ne!(named, whole);
    let found = judged(&named, Some(Version::ACP_1));
    assert_eq!(said(&found), said(&judged(&whole, None)));
}

/// Returns the capture lines of a conversation. Each item has the time in seconds, `c2a` or `a2c`, and the message
/// without its `jsonrpc` member.
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

/// Returns the findings for a conversation that consists of the handshake, a new session and these lines.
fn found(lines: &[(f64, &str, &str)]) -> String {
    said(&judged(&conversation(&[&OPENING[..], lines].concat()), None))
}

#[test]
fn a_conversation_of_another_acp_version_is_not_judged() {
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

/// Returns the findings for a client that requests version 1, receives the version `answer`, and still sends a prompt,
/// to which the agent answers `result`.
fn declined(answer: u64, result: &str) -> String {
    let other = format!(r#"{{"id":0,"result":{{"protocolVersion":{answer}}}}}"#);
    let ended = format!(r#"{{"id":2,"result":{result}}}"#);
    let prompt = r#"{"id":2,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"go"}]}}"#;
    let [asked, _, new, made] = OPENING;
    let lines =
        [asked, (0.0, "a2c", &other), new, made, (1.0, "c2a", prompt), (2.0, "a2c", &ended)];
    said(&judged(&conversation(&lines), None))
}

#[test]
fn an_agent_that_declines_version_1_but_uses_it_is_a_finding() {
    for version in [0, 2] {
        let found = declined(version, r#"{"stopReason":"end_turn"}"#);
        assert!(found.starts_with("acp.handshake.version MUST 1 2 6\n"), "{version}: {found}");
        assert_eq!(declined(version, "{}"), "", "{version}: one that does not speak it");
    }
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

const PROMPT: (f64, &str, &str) = (
    1.0,
    "c2a",
    r#"{"id":2,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"go"}]}}"#,
);
const END: (f64, &str, &str) = (3.0, "a2c", r#"{"id":2,"result":{"stopReason":"end_turn"}}"#);

/// Returns a whole turn with these updates of the tool call `t`; the updates are given without their braces.
fn turn_of(updates: &[&str]) -> String {
    let texts: Vec<String> = updates
        .iter()
        .map(|update| {
            let update = format!("{{\"toolCallId\":\"t\",{update}}}");
            format!(
                r#"{{"method":"session/update","params":{{"sessionId":"s","update":{update}}}}}"#
            )
        })
        .collect();
    let lines = texts.iter().map(|text| (2.0, "a2c", text.as_str()));
    let lines: Vec<_> = [PROMPT].into_iter().chain(lines).chain([END]).collect();
    found(&lines)
}

/// Checks that a member that is missing or null in an update keeps its value.
#[test]
fn updates_of_a_call_accumulate() {
    const UPDATE: &str = r#""sessionUpdate":"tool_call_update""#;
    let untitled = turn_of(&[
        &format!(r#"{UPDATE},"status":"in_progress""#),
        &format!(r#"{UPDATE},"title":null,"status":"completed""#),
    ]);
    assert!(untitled.contains("expected a title in some report of the call `t`"), "{untitled}");
    let titled = turn_of(&[
        &format!(r#"{UPDATE},"status":"in_progress""#),
        &format!(r#"{UPDATE},"title":"Run","status":"completed""#),
    ]);
    assert!(!titled.contains("title"), "{titled}");
    let kept = turn_of(&[
        r#""sessionUpdate":"tool_call","title":"Run","status":"in_progress","name":"run""#,
        &format!(r#"{UPDATE},"status":null,"name":null"#),
        &format!(r#"{UPDATE},"status":"completed""#),
    ]);
    assert_eq!(kept, "");
    let renamed = turn_of(&[
        r#""sessionUpdate":"tool_call","title":"Run","status":"in_progress","name":"run""#,
        &format!(r#"{UPDATE},"name":null"#),
        &format!(r#"{UPDATE},"status":"completed","name":"walk""#),
    ]);
    assert!(renamed.contains("acp.calls.name-kept"), "{renamed}");
}

/// Returns the findings for a tool call that the client rejects and that the agent runs anyway. The agent
/// reports these inputs of the call one after the other.
fn ran_though_rejected(inputs: &[&str]) -> String {
    let update = |rest: &str| {
        format!(
            r#"{{"method":"session/update","params":{{"sessionId":"s","update":{{"toolCallId":"t",{rest}}}}}}}"#
        )
    };
    let mut texts = vec![update(r#""sessionUpdate":"tool_call","title":"Say","rawInput":{}"#)];
    texts.extend(inputs.iter().map(|input| {
        update(&format!(r#""sessionUpdate":"tool_call_update","rawInput":{{"text":"{input}"}}"#))
    }));
    let mut lines: Vec<_> = texts.iter().map(|text| (1.5, "a2c", text.as_str())).collect();
    lines.insert(0, PROMPT);
    lines.push((
        2.0,
        "a2c",
        r#"{"id":7,"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"t"},"options":[{"optionId":"a","name":"Yes","kind":"allow_once"},{"optionId":"r","name":"No","kind":"reject_once"}]}}"#,
    ));
    lines.push((
        2.1,
        "c2a",
        r#"{"id":7,"result":{"outcome":{"outcome":"selected","optionId":"r"}}}"#,
    ));
    let ran = r#"{"t":2.2,"conn":"the tool","dir":"tool","msg":{"name":"say","arguments":{"text":"hello"}}}"#;
    let text = conversation(&[&OPENING[..], &lines].concat());
    said(&judged(&format!("{text}{ran}\n"), None))
}

/// Checks that the input of a tool call is the one that was reported last, in any kind of message.
#[test]
fn a_rejected_call_is_recognised_by_its_accumulated_input() {
    let found = ran_though_rejected(&["he", "hello"]);
    assert!(found.contains("acp.permission.denied"), "{found}");
    assert!(!ran_though_rejected(&["hello", "good-bye"]).contains("acp.permission.denied"));
}

const CREATED: [(f64, &str, &str); 2] = [
    (
        1.0,
        "a2c",
        r#"{"id":7,"method":"terminal/create","params":{"sessionId":"s","command":"ls"}}"#,
    ),
    (1.0, "c2a", r#"{"id":7,"result":{"terminalId":"term"}}"#),
];
const RELEASED: [(f64, &str, &str); 2] = [
    (
        2.0,
        "a2c",
        r#"{"id":8,"method":"terminal/release","params":{"sessionId":"s","terminalId":"term"}}"#,
    ),
    (2.0, "c2a", r#"{"id":8,"result":{}}"#),
];

fn content(list: &str) -> String {
    format!(
        r#"{{"method":"session/update","params":{{"sessionId":"s","update":{{"sessionUpdate":"tool_call_update","toolCallId":"t","content":{list}}}}}}}"#
    )
}

/// Checks that new content replaces the old content. A terminal that is in the content when it is released may
/// stay there, but must not return to the content after its removal.
#[test]
fn a_removed_terminal_shown_after_its_release_is_a_finding() {
    let terminal = r#"[{"type":"terminal","terminalId":"term"}]"#;
    let (shown, gone) = (content(terminal), content("[]"));
    let call = r#"{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"t","title":"List","status":"in_progress"}}}"#;
    let ended = r#"{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"completed"}}}"#;
    let told = |text| [(1.5, "a2c", text)];
    let before = [&[PROMPT][..], &told(call), &CREATED, &told(&shown)].concat();
    let after = [&RELEASED[..], &told(&shown), &told(ended), &[END]].concat();
    assert_eq!(found(&[&before[..], &after].concat()), "");
    let back = found(&[&before[..], &told(&gone), &after].concat());
    assert!(back.starts_with("acp.terminals.embedded-before-release note"), "{back}");
}

#[test]
fn requests_about_unknown_or_released_terminals_are_findings() {
    let output = |id| {
        format!(
            r#"{{"id":9,"method":"terminal/output","params":{{"sessionId":"s","terminalId":"{id}"}}}}"#
        )
    };
    let (known, unknown) = (output("term"), output("other"));
    let answer = (2.5, "c2a", r#"{"id":9,"result":{"output":"","truncated":false}}"#);
    let asked = |text| [(1.5, "a2c", text), answer];
    let there = [&[PROMPT][..], &CREATED, &asked(&known), &RELEASED, &[END]].concat();
    assert_eq!(found(&there), "");
    let released = found(&[&[PROMPT][..], &CREATED, &RELEASED, &asked(&known), &[END]].concat());
    assert!(released.starts_with("acp.terminals.there note"), "{released}");
    let nobodys = found(&[&[PROMPT][..], &CREATED, &asked(&unknown), &RELEASED, &[END]].concat());
    assert!(nobodys.starts_with("acp.terminals.there note"), "{nobodys}");
}

#[test]
fn repeated_and_unknown_session_ids_are_findings() {
    let new =
        (1.0, "c2a", r#"{"id":5,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}"#);
    let chunk = |session| {
        format!(
            r#"{{"method":"session/update","params":{{"sessionId":"{session}","update":{{"sessionUpdate":"agent_thought_chunk","content":{{"type":"text","text":"x"}}}}}}}}"#
        )
    };
    let (second, strange) = (chunk("s2"), chunk("elsewhere"));
    let (second, strange) = (second.as_str(), strange.as_str());
    let told = |text| [(1.0, "a2c", text)];
    let made = [(1.0, "a2c", r#"{"id":5,"result":{"sessionId":"s2"}}"#)];
    // The first update of the session may arrive before the client knows its identifier.
    assert_eq!(found(&[&[new][..], &told(second), &made, &told(second)].concat()), "");
    let found_strange = found(&[&[new][..], &made, &told(strange)].concat());
    assert!(found_strange.starts_with("acp.sessions.there note"), "{found_strange}");
    let again = found(&[new, (1.0, "a2c", r#"{"id":5,"result":{"sessionId":"s"}}"#)]);
    assert!(again.starts_with("acp.sessions.unique-ids MUST"), "{again}");
    let close = [
        (1.0, "c2a", r#"{"id":4,"method":"session/close","params":{"sessionId":"s"}}"#),
        (1.0, "a2c", r#"{"id":4,"result":{}}"#),
    ];
    let free = (1.0, "a2c", r#"{"id":5,"result":{"sessionId":"s"}}"#);
    assert_eq!(found(&[&close[..], &[new, free]].concat()), "");
    let load = (
        1.0,
        "c2a",
        r#"{"id":4,"method":"session/load","params":{"sessionId":"elsewhere","cwd":"/w","mcpServers":[]}}"#,
    );
    let loaded = (1.0, "a2c", r#"{"id":4,"result":{}}"#);
    assert_eq!(found(&[&[load][..], &told(strange), &[loaded]].concat()), "");
}

#[test]
fn repeated_option_ids_are_findings() {
    let ask = |second| {
        let text = format!(
            r#"{{"id":7,"method":"session/request_permission","params":{{"sessionId":"s","toolCall":{{"toolCallId":"t"}},"options":[{{"optionId":"a","name":"Yes","kind":"allow_once"}},{{"optionId":"{second}","name":"No","kind":"reject_once"}}]}}}}"#
        );
        let answer = r#"{"id":7,"result":{"outcome":{"outcome":"selected","optionId":"a"}}}"#;
        let call = r#"{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"t","title":"Say"}}}"#;
        found(&[PROMPT, (1.5, "a2c", call), (2.0, "a2c", &text), (2.1, "c2a", answer)])
    };
    assert!(ask("a").contains("acp.permission.option-ids note"), "{}", ask("a"));
    assert!(!ask("r").contains("acp.permission.option-ids"), "{}", ask("r"));
}

/// Checks that an agent that has not answered any request is not reported as silent, because it may still be starting.
/// An agent whose handshake took long gets three times as long for its next answers.
#[test]
fn an_agent_that_starts_slowly_is_not_accused_of_silence() {
    let silent = |answers: &[(f64, &str, &str)], until: f64| {
        let lines = conversation(&[&OPENING[..1], answers].concat());
        let end = format!("{{\"t\":{until},\"dir\":\"close\",\"by\":\"client\"}}\n");
        said(&judged(&(lines + &end), None))
    };
    let after =
        |handshake: f64| [(handshake, "a2c", OPENING[1].2), (handshake, "c2a", OPENING[2].2)];
    assert_eq!(silent(&[], 600.0), "");
    let quick = silent(&after(1.0), 60.0);
    assert!(quick.starts_with("acp.wire.answered-once MUST"), "{quick}");
    assert_eq!(silent(&after(40.0), 120.0), "");
    let slow = silent(&after(40.0), 161.0);
    assert!(slow.starts_with("acp.wire.answered-once MUST"), "{slow}");
}

/// Checks that a null identifier is accepted only in the refusal of an unreadable message or an invalid request.
#[test]
fn a_notification_is_not_answered_without_an_id() {
    let cancel = (1.0, "c2a", r#"{"method":"session/cancel","params":{"sessionId":"s"}}"#);
    let refused = |code: &str| {
        let text = format!(r#"{{"id":null,"error":{{"code":{code},"message":"no"}}}}"#);
        found(&[cancel, (1.0, "a2c", &text)])
    };
    assert!(refused("-32601").starts_with("acp.wire.answered-once MUST"), "{}", refused("-32601"));
    assert_eq!(refused("-32700"), "");
    assert_eq!(refused("-32600"), "");
    let succeeded = found(&[cancel, (1.0, "a2c", r#"{"id":null,"result":{}}"#)]);
    assert!(succeeded.starts_with("acp.wire.answered-once MUST"), "{succeeded}");
}

/// Checks that there is no finding about sessions, tool calls, terminals, requests and capabilities that are older than
/// the recording.
#[test]
fn a_capture_that_begins_late_has_no_finding() {
    let text = text("clean.jsonl");
    let lines: Vec<&str> = text.lines().collect();
    for from in 0..lines.len() {
        let judged = judged(&lines[from..].join("\n"), Some(Version::ACP_1));
        assert!(
            !said(&judged).contains(" MUST ") && !said(&judged).contains(" SHOULD "),
            "from {from}: {}",
            said(&judged)
        );
    }
}

const CANCEL: (f64, &str, &str) =
    (1.5, "c2a", r#"{"method":"session/cancel","params":{"sessionId":"s"}}"#);

/// Returns the findings for a prompt that the client cancels and the agent answers in time, followed by these
/// lines.
fn after_a_cancelled_turn(lines: &[(f64, &str, &str)]) -> String {
    let end = (2.0, "a2c", r#"{"id":2,"result":{"stopReason":"cancelled"}}"#);
    found(&[&[PROMPT, CANCEL, end][..], lines].concat())
}

#[test]
fn no_content_comes_and_nothing_is_asked_after_a_cancelled_turn() {
    let text = |at| {
        (
            at,
            "a2c",
            r#"{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x"}}}}"#,
        )
    };
    let late = after_a_cancelled_turn(&[text(2.1)]);
    assert!(late.starts_with("acp.turns.no-late-updates MUST"), "{late}");
    // An update with content that arrives much later may belong to another operation than the cancelled turn, and some
    // updates are about the session and not about a turn.
    assert_eq!(after_a_cancelled_turn(&[text(60.0)]), "");
    let info = r#"{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"session_info_update","title":"Done"}}}"#;
    assert_eq!(after_a_cancelled_turn(&[(2.1, "a2c", info)]), "");
    let asked = |method, params| {
        let text =
            format!(r#"{{"id":7,"method":"{method}","params":{{"sessionId":"s",{params}}}}}"#);
        let answer = (2.2, "c2a", r#"{"id":7,"result":{}}"#);
        after_a_cancelled_turn(&[(2.1, "a2c", text.as_str()), answer])
    };
    let written = asked("fs/write_text_file", r#""path":"/w/a","content":"x""#);
    assert!(written.starts_with("acp.turns.stops-work SHOULD"), "{written}");
    let made = [
        PROMPT,
        (
            1.2,
            "a2c",
            r#"{"id":6,"method":"terminal/create","params":{"sessionId":"s","command":"ls"}}"#,
        ),
        (1.3, "c2a", r#"{"id":6,"result":{"terminalId":"term"}}"#),
        CANCEL,
        (2.0, "a2c", r#"{"id":2,"result":{"stopReason":"cancelled"}}"#),
    ];
    // Requests with which the agent cleans up, such as the release of a terminal, do not count as work after the
    // cancel.
    let tidy = [
        (
            2.1,
            "a2c",
            r#"{"id":7,"method":"terminal/kill","params":{"sessionId":"s","terminalId":"term"}}"#,
        ),
        (2.1, "c2a", r#"{"id":7,"result":{}}"#),
        (
            2.2,
            "a2c",
            r#"{"id":8,"method":"terminal/release","params":{"sessionId":"s","terminalId":"term"}}"#,
        ),
        (2.2, "c2a", r#"{"id":8,"result":{}}"#),
    ];
    assert_eq!(found(&[&made[..], &tidy].concat()), "");
}

/// A second prompt, in the same session as [`PROMPT`].
const SECOND_PROMPT: &str = r#"{"id":3,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"on"}]}}"#;

/// Checks that an agent must answer a cancelled prompt, even if another prompt follows.
#[test]
fn a_cancelled_prompt_is_answered_though_another_one_follows() {
    let next = (2.0, "c2a", SECOND_PROMPT);
    let end = (3.0, "a2c", r#"{"id":3,"result":{"stopReason":"end_turn"}}"#);
    let later = (30.0, "c2a", r#"{"method":"session/cancel","params":{"sessionId":"s"}}"#);
    let unanswered = found(&[PROMPT, CANCEL, next, end, later]);
    assert!(unanswered.starts_with("acp.turns.cancel-answered MUST"), "{unanswered}");
    let answer = (1.9, "a2c", r#"{"id":2,"result":{"stopReason":"cancelled"}}"#);
    assert_eq!(found(&[PROMPT, CANCEL, answer, next, end, later]), "");
}

/// Checks that overlapping prompts lead to no finding. The specification does not say what happens to a prompt
/// that arrives while the agent works on another prompt, or to which of these prompts a cancel refers.
#[test]
fn prompts_that_overlap_in_a_session_are_not_judged_as_one_turn() {
    let next = (1.2, "c2a", SECOND_PROMPT);
    let busy = (1.3, "a2c", r#"{"id":3,"error":{"code":-32600,"message":"a turn is active"}}"#);
    let cancel = (1.4, "c2a", r#"{"method":"session/cancel","params":{"sessionId":"s"}}"#);
    let text = r#"{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x"}}}}"#;
    let end = (3.0, "a2c", r#"{"id":2,"result":{"stopReason":"cancelled"}}"#);
    // The agent refuses the second prompt after the cancel, and the first turn sends more updates until it
    // ends.
    let late = (2.9, "a2c", busy.2);
    assert_eq!(found(&[PROMPT, next, cancel, late, (2.95, "a2c", text), end]), "");
    assert_eq!(found(&[PROMPT, next, busy, cancel, (2.0, "a2c", text), end]), "");
    // A prompt that follows both turns begins an ordinary turn.
    let again = (
        4.0,
        "c2a",
        r#"{"id":4,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"on"}]}}"#,
    );
    let odd = (5.0, "a2c", r#"{"id":4,"result":{"stopReason":"cancelled"}}"#);
    let judged = found(&[PROMPT, next, busy, end, again, odd]);
    assert!(judged.starts_with("acp.turns.cancelled-by-client note"), "{judged}");
}

/// Checks that a client answers open requests after a cancel. The agent may end its turn without waiting for
/// these answers; without a cancel the agent has to wait.
#[test]
fn a_cancelled_turn_may_end_while_permission_is_open() {
    let call = (
        1.1,
        "a2c",
        r#"{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"t","title":"Say","status":"pending"}}}"#,
    );
    let ask = (
        1.2,
        "a2c",
        r#"{"id":7,"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"t"},"options":[{"optionId":"a","name":"Yes","kind":"allow_once"},{"optionId":"r","name":"No","kind":"reject_once"}]}}"#,
    );
    let cancel = (1.3, "c2a", r#"{"method":"session/cancel","params":{"sessionId":"s"}}"#);
    let end = |reason: &str| format!(r#"{{"id":2,"result":{{"stopReason":"{reason}"}}}}"#);
    let (cancelled, ended) = (end("cancelled"), end("end_turn"));
    assert_eq!(found(&[PROMPT, call, ask, cancel, (2.5, "a2c", &cancelled)]), "");
    let open = found(&[PROMPT, call, ask, (2.5, "a2c", &ended)]);
    assert!(open.contains("acp.permission.answered-first note"), "{open}");
}

/// Checks that a tool call during two concurrent turns may belong to either turn.
#[test]
fn a_tool_call_during_two_turns_belongs_to_neither() {
    let second = [
        (1.0, "c2a", r#"{"id":5,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}"#),
        (1.0, "a2c", r#"{"id":5,"result":{"sessionId":"s2"}}"#),
        (
            1.0,
            "c2a",
            r#"{"id":6,"method":"session/prompt","params":{"sessionId":"s2","prompt":[{"type":"text","text":"go"}]}}"#,
        ),
    ];
    let ended = (1.1, "a2c", r#"{"id":6,"result":{"stopReason":"end_turn"}}"#);
    let ran = r#"{"t":2.2,"conn":"the tool","dir":"tool","msg":{"name":"say","arguments":{"text":"hello"}}}"#;
    let end = conversation(&[END]);
    let judged = |before: &[(f64, &str, &str)]| {
        let before = conversation(&[&OPENING[..], before].concat());
        said(&judged(&format!("{before}{ran}\n{end}"), None))
    };
    assert_eq!(judged(&[&second[..], &[PROMPT]].concat()), "");
    let alone = judged(&[&second[..], &[ended, PROMPT]].concat());
    assert!(alone.starts_with("acp.calls.reported SHOULD"), "{alone}");
}

/// Checks that the agent must not ask for permission after the tool call has ended.
#[test]
fn permission_is_asked_for_before_a_call_ends() {
    let call = |status| {
        let text = format!(
            r#"{{"method":"session/update","params":{{"sessionId":"s","update":{{"sessionUpdate":"tool_call","toolCallId":"t","title":"Say","status":"{status}"}}}}}}"#
        );
        let ask = r#"{"id":7,"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"t"},"options":[{"optionId":"a","name":"Yes","kind":"allow_once"},{"optionId":"r","name":"No","kind":"reject_once"}]}}"#;
        let answer = r#"{"id":7,"result":{"outcome":{"outcome":"selected","optionId":"a"}}}"#;
        found(&[PROMPT, (1.5, "a2c", &text), (2.0, "a2c", ask), (2.1, "c2a", answer)])
    };
    assert!(call("failed").contains("found that it was already failed"), "{}", call("failed"));
    assert_eq!(call("pending"), "");
}

/// Checks that the options of a session setting may be a flat list or groups.
#[test]
fn the_current_value_of_an_option_is_one_of_its_values() {
    let made = |choices: &str| {
        let text = format!(
            r#"{{"id":5,"result":{{"sessionId":"s2","configOptions":[{{"type":"select","id":"m","name":"M","currentValue":"a","options":{choices}}}]}}}}"#
        );
        let new = r#"{"id":5,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}"#;
        found(&[(1.0, "c2a", new), (1.0, "a2c", &text)])
    };
    let alone = r#"{"value":"a","name":"A","description":null}"#;
    assert_eq!(made(&format!("[{alone}]")), "");
    assert_eq!(made(&format!(r#"[{{"group":"g","name":"G","options":[{alone}]}}]"#)), "");
    for broken in [r#"[{"name":"A"}]"#, "[null]", r#"[{"value":1,"name":"A"}]"#] {
        assert!(made(broken).starts_with("acp.wire.schema MUST"), "{broken}: {}", made(broken));
    }
}
