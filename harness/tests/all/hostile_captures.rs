//! Tests of invalid or incomplete captures: the harness judges the readable part, names the unreadable part,
//! and uses bounded memory.

use std::fs;
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::time::{Duration, Instant};

use ahp_harness::report::replay::{JudgedFile, judge};
use ahp_harness::transcript::reader::{CaptureUnreadable, MAX_LINE};
use ahp_harness::verdict::FailOn;
use serde_json::{Value, json};

/// A conversation with a finding: two answers to the same request.
const DIRTY: [&str; 5] = [
    r#"{"t":0,"conn":"A","dir":"open"}"#,
    r#"{"t":1,"conn":"A","dir":"c2s","msg":{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"channel":"ahp-root://","clientId":"a","protocolVersions":["1.0.0"]}}}"#,
    r#"{"t":2,"conn":"A","dir":"s2c","msg":{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"1.0.0","serverSeq":0,"snapshots":[]}}}"#,
    r#"{"t":3,"conn":"A","dir":"s2c","msg":{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"1.0.0","serverSeq":0,"snapshots":[]}}}"#,
    r#"{"t":4,"conn":"A","dir":"close","by":"client"}"#,
];

fn judged(bytes: impl AsRef<[u8]>) -> Result<JudgedFile, CaptureUnreadable> {
    judge(bytes.as_ref(), None, FailOn::default())
}

/// A reader that repeats some bytes, like a large file that is never in memory as a whole.
struct RepeatedBytes {
    bytes: Vec<u8>,
    at: usize,
    left: u64,
}

impl Read for RepeatedBytes {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            return Ok(0);
        }
        let count = out.len().min(self.bytes.len() - self.at);
        out[..count].copy_from_slice(&self.bytes[self.at..self.at + count]);
        self.at += count;
        if self.at == self.bytes.len() {
            (self.at, self.left) = (0, self.left - 1);
        }
        Ok(count)
    }
}

#[test]
fn names_the_format_of_a_file_that_is_no_capture() {
    let check = |bytes: &[u8], expected: &str| {
        let error = judged(bytes).unwrap_err();
        assert_eq!((error.line, error.last), (1, false), "{error}");
        assert!(error.to_string().contains(expected), "expected `{expected}` in `{error}`");
    };
    check(b"", "the file is empty");
    check(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "not a capture but a PNG image");
    check(b"\x1f\x8b\x08\0", "compressed with gzip (hint: `gunzip` it first)");
    check(b"\x7fELF\x02", "a program");
    check(b"scenario: a/b\ntitle: t\n", "it begins with `scenario: a/b`");
    check(b"[1,2,3]\n", "has one JSON object per line: it begins with `[1,2,3]`");
    check(b"\xff\xfe\0\0", "not a capture");
    check(b"{\"jsonrpc\":\"2.0\",\"id\":1}\n", "expected `dir` to be `open`");
    check(b"{\"run\":\"header\"}\n", "not a `header` line of a run");
    check(
        br#"{"run":"header","format":2,"harness":"","seed":1,"target":"","host":null,"version":"newest"}"#,
        "expected a version such as `1.0.0`, found `newest`",
    );
    check(&vec![b'['; 1 << 20], "it begins with `[[[");
}

#[test]
fn judges_the_readable_lines() {
    let whole = DIRTY.join("\n");
    let check = |bytes: &[u8], broken: bool, expected: &str| {
        let judged = judged(bytes).unwrap();
        assert!(judged.summary.failed(), "the finding of before is there: {expected}");
        assert_eq!(judged.broken, broken, "{:?}", judged.notes);
        assert!(judged.notes.join("\n").contains(expected), "{:?}", judged.notes);
    };
    check(whole.as_bytes(), false, "");
    // The last line of the capture is incomplete, as in a file that is still being written.
    check(&whole.as_bytes()[..whole.len() - 9], false, "line 5 was cut off with the file");
    let with = |more: &[u8]| [whole.as_bytes(), b"\n", more, b"\n", DIRTY[0].as_bytes()].concat();
    check(
        &with(b"\xff\xfe"),
        true,
        "line 6 cannot be read, only the lines before it were judged: not UTF-8 at byte 1",
    );
    check(&with(b"nonsense"), true, "line 6 cannot be read");
    check(&with(b"{\"dir\":\"up\"}"), true, "found `up`");
    check(&with(b"{\"case\":7,\"dir\":\"open\"}"), true, "case 7 did not begin");
    let deep = [b"{\"x\":".as_slice(), &vec![b'['; 100_000], b"}"].concat();
    check(&with(&deep), true, "line 6 cannot be read");
}

#[test]
fn reports_deeply_nested_messages() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let sent = format!(r#"{{"conn":"A","dir":"c2s","msg":{deep}}}"#);
    let aside = format!(r#"{{"conn":"A","dir":"close","x":{deep}}}"#);
    for line in [sent, aside] {
        let judged = judged([DIRTY[0], DIRTY[1], DIRTY[2], &line].join("\n")).unwrap();
        assert!(!judged.broken, "{:?}", judged.notes);
    }
}

#[test]
fn stops_at_an_endless_line() {
    let endless =
        BufReader::new(RepeatedBytes { bytes: vec![b'x'; 1 << 16], at: 0, left: u64::MAX });
    let begun = DIRTY.join("\n") + "\n";
    let judged = judge(begun.as_bytes().chain(endless), None, FailOn::default()).unwrap();
    assert!(judged.broken && judged.summary.failed());
    let most = MAX_LINE >> 20;
    assert!(judged.notes[0].contains(&format!("longer than {most} MiB")), "{:?}", judged.notes);
}

#[test]
fn judges_any_number_of_lines() {
    const LINES: u64 = 200_000;
    let line = r#"{"conn":"A","dir":"c2s","msg":{"jsonrpc":"2.0","id":1,"method":"ping","params":{"channel":"ahp-root://"}}}"#;
    let bytes = format!("{line}\n").into_bytes();
    let judged =
        judge(BufReader::new(RepeatedBytes { bytes, at: 0, left: LINES }), None, FailOn::default())
            .unwrap();
    assert_eq!((judged.messages, judged.connections), (LINES, 1));
}

/// The lines of a handshake whose answer has a snapshot of the root channel.
fn rooted() -> Vec<String> {
    let root = json!({"resource": "ahp-root://", "fromSeq": 0, "state": {"agents": []}});
    let answer = json!({"protocolVersion": "1.0.0", "serverSeq": 0, "snapshots": [root]});
    let params = json!({
        "channel": "ahp-root://",
        "clientId": "a",
        "protocolVersions": ["1.0.0"],
        "initialSubscriptions": ["ahp-root://"],
    });
    vec![
        DIRTY[0].to_owned(),
        line("c2s", &json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})),
        line("s2c", &json!({"jsonrpc": "2.0", "id": 1, "result": answer})),
    ]
}

fn line(dir: &str, message: &Value) -> String {
    json!({"t": 1, "conn": "A", "dir": dir, "msg": message}).to_string()
}

#[test]
fn compares_long_lists_in_linear_time() {
    const ENTRIES: usize = 40_000;
    let terminal = |seq: usize, n: usize| json!({"resource": format!("ahp-terminal:/{seq}-{n}"), "title": "t", "claim": {"kind": "none"}});
    let mut lines = rooted();
    for seq in 1..=3 {
        let terminals: Vec<Value> = (0..ENTRIES).map(|n| terminal(seq, n)).collect();
        let action = json!({"type": "root/terminalsChanged", "terminals": terminals});
        let params = json!({"channel": "ahp-root://", "serverSeq": seq, "action": action});
        lines.push(line("s2c", &json!({"jsonrpc": "2.0", "method": "action", "params": params})));
    }
    let owned = |n: usize| json!({"id": format!("{n}"), "clientId": format!("c{n}")});
    let owned: Vec<Value> = (0..ENTRIES).map(owned).collect();
    let state = json!({"lifecycle": "ready", "chats": [], "customizations": owned});
    let uri = "ahp-session:/s";
    let snapshot = json!({"resource": uri, "fromSeq": 0, "state": state});
    let params = json!({"channel": uri});
    lines.push(line(
        "c2s",
        &json!({"jsonrpc": "2.0", "id": 2, "method": "subscribe", "params": params}),
    ));
    let result = json!({"snapshot": snapshot});
    lines.push(line("s2c", &json!({"jsonrpc": "2.0", "id": 2, "result": result})));
    let lines = lines.join("\n") + "\n";
    let begun = Instant::now();
    assert_eq!(judged(&lines).unwrap().messages, 7);
    // A search of one list for each item of another took 69 s for a similar capture.
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
}

/// Returns the highest resident memory, in MiB, of the program while it judges a capture.
#[cfg(target_os = "linux")]
fn peak_of_judge(name: &str, lines: &[String]) -> io::Result<usize> {
    let file = std::env::temp_dir().join(format!("ahp-judge-{name}-{}.jsonl", std::process::id()));
    fs::write(&file, lines.join("\n") + "\n")?;
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_ahp-harness"))
        .arg("judge")
        .arg(&file)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()?;
    let mut peak = 0;
    while child.try_wait()?.is_none() {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let now = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<usize>().ok());
        peak = peak.max(now.unwrap_or(0) >> 10);
        std::thread::sleep(Duration::from_millis(2));
    }
    fs::remove_file(&file)?;
    Ok(peak)
}

/// Plays values of 100 KB in the places where the oracle remembers values of a host.
#[cfg(target_os = "linux")]
#[test]
fn keeps_few_large_values() {
    const LINES: usize = 500;
    let long = "u".repeat(100_000);
    let values: Vec<u8> = vec![0; 50_000];
    let notice = |method: &str, params: Value| {
        line("s2c", &json!({"jsonrpc": "2.0", "method": method, "params": params}))
    };
    let added = |uri: String, title: &str| {
        let summary = json!({"resource": uri, "provider": "p", "title": title, "status": 1});
        notice("root/sessionAdded", json!({"channel": "ahp-root://", "summary": summary}))
    };
    let changed = |n: usize, name: &str, value: Value| {
        let (session, changes) = (format!("ahp-session:/{n}"), json!({name: value}));
        let params = json!({"channel": "ahp-root://", "session": session, "changes": changes});
        notice("root/sessionSummaryChanged", params)
    };
    let subscribed = |n: usize| {
        let uri = format!("ahp-chat:/{n}");
        let state = json!({"resource": uri, "turns": [], "_meta": {"a": values}});
        let result = json!({"snapshot": {"resource": uri, "fromSeq": 0, "state": state}});
        let params = json!({"channel": uri});
        let asked = json!({"jsonrpc": "2.0", "id": n + 2, "method": "subscribe", "params": params});
        let answer = json!({"jsonrpc": "2.0", "id": n + 2, "result": result});
        line("c2s", &asked) + "\n" + &line("s2c", &answer)
    };
    let asked = |n: usize| {
        let id = format!("{n}{long}");
        line("c2s", &json!({"jsonrpc": "2.0", "id": id, "method": "ping", "params": {}}))
    };
    let all = |each: &dyn Fn(usize) -> String| (0..LINES).map(each).collect::<Vec<String>>();
    let kinds = [
        ("snapshots", all(&subscribed)),
        ("long-uris", all(&|n| added(format!("ahp-session:/{n}{long}"), "t"))),
        ("titles", all(&|n| added(format!("ahp-session:/{n}"), &long))),
        ("changes", all(&|n| changed(n, "title", json!(long)))),
        ("lists", all(&|n| changed(n, "workingDirectories", json!(values)))),
        ("ids", all(&asked)),
    ];
    for (name, lines) in kinds {
        let peak = peak_of_judge(name, &[rooted(), lines].concat()).unwrap();
        // Without any capture, a program that is built for tests needs about 35 MiB.
        assert!(peak < 64, "{name}: {peak} MiB");
    }
}

#[test]
fn bounds_the_number_of_connection_names() {
    let lines: String =
        (0..=100_000).map(|n| format!("{{\"conn\":\"{n}\",\"dir\":\"open\"}}\n")).collect();
    let judged = judged(lines + "\n").unwrap();
    assert!(judged.notes[0].contains("more than 100000 names"), "{:?}", judged.notes);
}

#[test]
fn notes_a_recording_that_was_cut_off() {
    let check = |head: &str, tail: &str, notes: usize| {
        let judged = judged([head, &DIRTY[..3].join("\n"), tail].join("\n")).unwrap();
        assert_eq!(judged.notes.len(), notes, "{:?}", judged.notes);
    };
    check(r#"{"run":"capture","format":1}"#, r#"{"run":"end"}"#, 0);
    check(r#"{"run":"capture","format":1}"#, "", 1);
    // Captures of other recorders have no lines about the recording at their beginning and end.
    check("", "", 0);
}

/// Replaces every number in a value.
fn extreme(value: &mut Value, number: &Value) {
    match value {
        Value::Number(_) => *value = number.clone(),
        Value::Array(items) => items.iter_mut().for_each(|item| extreme(item, number)),
        Value::Object(members) => members.values_mut().for_each(|item| extreme(item, number)),
        _ => {}
    }
}

#[test]
fn extreme_numbers_overflow_nothing() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus/captures");
    let mut tried = 0;
    for folder in [corpus.clone(), corpus.join("clients")] {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|it| it != "jsonl") {
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            for number in [json!(u64::MAX), json!(i64::MIN), json!(1e308), json!(-1)] {
                for (place, party) in [("msg", "s2c"), ("msg", "c2s"), ("t", "s2c")] {
                    let lines = text.lines().map(|line| {
                        let Ok(mut line) = serde_json::from_str::<Value>(line) else {
                            return line.to_owned();
                        };
                        if line["dir"] == party {
                            // Without its id, a response would not belong to any request, and few checks would read it.
                            let id = line["msg"].get("id").cloned();
                            extreme(&mut line[place], &number);
                            if let Some(id) = id {
                                line["msg"]["id"] = id;
                            }
                        }
                        line.to_string()
                    });
                    let lines: Vec<String> = lines.collect();
                    // A time that no capture can have is an error; an overflow would be a panic.
                    let _ = judged(lines.join("\n"));
                    tried += 1;
                }
            }
        }
    }
    assert!(tried > 1_000, "{tried}");
}
