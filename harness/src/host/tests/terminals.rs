//! Terminals: creation, claims, input, and the effect of a crash.

use super::pair::*;

const TERMINAL: &str = "ahp-terminal:/t1";

fn claim(client: &str) -> Value {
    json!({"kind": "client", "clientId": client})
}

fn made(conn: u32) -> (TestPair, ConnId) {
    let mut pair = TestPair::new(HostConfig::default());
    let conn = pair.join(conn, "1.0.0", &[ROOT]);
    let params = json!({"channel": TERMINAL, "claim": claim("c1"), "cols": 80, "rows": 24});
    pair.ask(conn, "createTerminal", params);
    pair.subscribe(conn, TERMINAL);
    (pair, conn)
}

fn typed(data: &str) -> Value {
    json!({"type": "terminal/input", "data": data})
}

#[test]
fn makes_terminals_only_for_valid_claims() {
    let check = |uri: &str, claim: Value, expected: Option<i64>| {
        let (mut pair, a) = made(1);
        let answer = pair.ask(a, "createTerminal", json!({"channel": uri, "claim": claim}));
        assert_eq!(
            answer.pointer("/error/code").and_then(Value::as_i64),
            expected,
            "{uri} {claim}"
        );
    };
    check("ahp-terminal:/t2", claim("c1"), None);
    check(TERMINAL, claim("c1"), Some(-32010));
    check("ahp-terminal:/", claim("c1"), Some(-32602));
    check("ahp-terminal:/t2", claim("c2"), Some(-32602));
    let session = json!({"kind": "session", "session": SESSION, "chat": "ahp-chat:/1"});
    check("ahp-terminal:/t2", session, Some(-32602));
}

#[test]
fn every_line_is_a_command_until_the_process_exits() {
    let (mut pair, a) = made(1);
    let b = pair.join(2, "1.0.0", &[ROOT, TERMINAL]);
    for (conn, action, expected) in [
        (a, typed("l"), true),
        (a, typed("s\r\n\n"), true),
        (b, typed("ls\r"), false),
        (b, json!({"type": "terminal/claimed", "claim": claim("c2")}), false),
        (a, json!({"type": "terminal/claimed", "claim": claim("nobody")}), false),
        (a, json!({"type": "terminal/claimed", "claim": claim("c2")}), true),
        (a, typed("ls\r"), false),
        (b, typed("exit 7\r"), true),
        (b, typed("ls\r"), false),
    ] {
        let came = pair.dispatch(conn, TERMINAL, action.clone());
        assert_eq!(came == "accepted", expected, "{action}: {came}");
    }
    let state = pair.subscribe(b, TERMINAL);
    assert_eq!(state["lifecycle"], json!({"status": "exited", "exitCode": 7}));
    assert_eq!(state["content"].as_array().map(Vec::len), Some(1));
    assert_eq!(state["content"][0]["output"], "ls\r\n");
    for conn in [a, b] {
        pair.converges(conn, TERMINAL);
        pair.converges(conn, ROOT);
    }
}

#[test]
fn retained_output_is_bounded() {
    let (mut pair, a) = made(1);
    let line = format!("{}\r", "x".repeat(4_000));
    let lines = line.repeat(300);
    assert_eq!(pair.dispatch(a, TERMINAL, typed(&lines)), "accepted");
    let state = pair.subscribe(a, TERMINAL);
    let content = state["content"].as_array().map_or(0, Vec::len);
    assert!((1..300).contains(&content), "{content}");
}

#[test]
fn a_crash_ends_every_process() {
    let (mut pair, _) = made(1);
    pair.host.restart(pair.now);
    let a = pair.join(5, "1.0.0", &[ROOT]);
    assert_eq!(pair.subscribe(a, TERMINAL)["lifecycle"], json!({"status": "exited"}));
    assert_eq!(pair.subscribe(a, ROOT)["terminals"][0]["lifecycle"]["status"], "exited");
}

#[test]
fn input_goes_to_a_real_shell_and_its_output_comes_back() {
    let mut pair = TestPair::new(HostConfig { shells: true, ..HostConfig::default() });
    let a = pair.join(1, "1.0.0", &[ROOT]);
    let params = json!({
        "channel": TERMINAL, "claim": claim("c1"), "cwd": "file:///a", "cols": 90, "rows": 20,
    });
    pair.ask(a, "createTerminal", params);
    pair.subscribe(a, TERMINAL);
    pair.dispatch(a, TERMINAL, typed("ls\r"));
    pair.dispatch(a, TERMINAL, json!({"type": "terminal/resized", "cols": 100, "rows": 0}));
    let deeds = [
        ShellDeed::Start {
            folder: Some("file:///a".to_owned()),
            size: TerminalSize { columns: 90, rows: 20 },
        },
        ShellDeed::Type("ls\r".to_owned()),
        ShellDeed::Resize(TerminalSize { columns: 100, rows: 24 }),
    ];
    let expected: Vec<_> = deeds.map(|deed| (TERMINAL.to_owned(), deed)).into();
    assert_eq!(pair.deeds, expected);

    // The reads cut a mark and a character in two.
    let printed = "$ ls\r\n\u{1b}]633;E;    7  ls\u{7}\u{1b}]133;C\u{7}grüße\r\n\u{1b}]133;D;3\u{7}\
                   \u{1b}]7;file:///b\u{7}$ ";
    let (before, rest) = printed.as_bytes().split_at(8);
    let (middle, after) = rest.split_at(30);
    for cut in [before, middle, after] {
        pair.said(TERMINAL, ShellEvent::Printed(cut.to_vec()));
    }
    let state = pair.subscribe(a, TERMINAL);
    assert_eq!(state["cwd"], "file:///b");
    assert_eq!(state["supportsCommandDetection"], true);
    let content = &state["content"];
    assert_eq!(content[0]["value"], "$ ls\r\n");
    let command = &content[1];
    assert_eq!((&command["commandLine"], &command["output"]), (&json!("ls"), &json!("grüße\r\n")));
    assert_eq!((&command["isComplete"], &command["exitCode"]), (&json!(true), &json!(3)));
    assert_eq!(content[2]["value"], "$ ");

    pair.said(TERMINAL, ShellEvent::Ended(None));
    pair.said(TERMINAL, ShellEvent::Printed(b"late".to_vec()));
    let state = pair.subscribe(a, TERMINAL);
    assert_eq!(state["lifecycle"], json!({"status": "exited"}));
    assert_eq!(state["content"], *content);
    pair.converges(a, TERMINAL);
    pair.ask(a, "disposeTerminal", json!({"channel": TERMINAL}));
    assert_eq!(pair.deeds.last(), Some(&(TERMINAL.to_owned(), ShellDeed::End)));
}
