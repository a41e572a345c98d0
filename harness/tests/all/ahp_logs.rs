//! Tests of the connection logs of AHP software: the harness reads and merges logs, an unknown order of messages never
//! causes a finding, and logs that the harness wrote are judged like a capture.
#![cfg(feature = "cli")]
#![expect(clippy::unwrap_used, reason = "helpers of a test fail by panicking")]

use std::collections::HashMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ahp_harness::report::connection_logs::LogWriter;
use ahp_harness::report::judge_logs::judge_logs;
use ahp_harness::report::redact::SecretRedactor;
use ahp_harness::report::replay::{JudgedFile, judge};
use ahp_harness::run::play::TranscriptRecorder;
use ahp_harness::transcript::ahp_log::{self, LogContent, RecordingFacts};
use ahp_harness::transcript::logs::{ConnectionLogs, LogsError};
use ahp_harness::transcript::reader::{MAX_LINE, TranscriptReader};
use ahp_harness::transcript::{ClosingSide, ConnectionEvent};
use ahp_harness::verdict::FailOn;
use ahp_harness::wire::frame::Frame;

const SESSION: &str = "ahp-session:/1";
const PING: &str =
    r#"{"jsonrpc":"2.0","id":90,"method":"ping","params":{"channel":"ahp-root://"}}"#;

/// A log of one connection.
struct ConnectionLog {
    connection: &'static str,
    text: String,
}

impl ConnectionLog {
    fn new(connection: &'static str) -> ConnectionLog {
        ConnectionLog { connection, text: String::new() }
    }

    /// Adds a message at this time, in milliseconds.
    fn line(mut self, ms: u32, dir: &str, message: &str) -> ConnectionLog {
        let open = message.strip_suffix('}').unwrap();
        let (connection, ts) =
            (self.connection, format!("2026-01-31T10:00:{:02}.{:03}Z", ms / 1_000, ms % 1_000));
        self.text += &format!(
            "{open},\"_ahpLog\":{{\"ts\":\"{ts}\",\"dir\":\"{dir}\",\"connectionId\":\"{connection}\",\
             \"transport\":\"websocket\",\"byteLength\":{}}}}}\n",
            message.len()
        );
        self
    }

    /// Adds a truncated message.
    fn truncated(mut self, ms: u32, dir: &str, message: &str) -> ConnectionLog {
        self = self.line(ms, dir, message);
        self.text =
            self.text.trim_end().strip_suffix("}}").unwrap().to_owned() + ",\"truncated\":true}}\n";
        self
    }

    /// Adds a handshake.
    fn shaken(self, ms: u32, client: &str, seq: u64) -> ConnectionLog {
        let ask = format!(
            r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"channel":"ahp-root://","protocolVersions":["1.0.0"],"clientId":"{client}"}}}}"#
        );
        let answer = format!(
            r#"{{"jsonrpc":"2.0","id":0,"result":{{"protocolVersion":"1.0.0","serverSeq":{seq},"snapshots":[]}}}}"#
        );
        self.line(ms, "c2s", &ask).line(ms, "s2c", &answer)
    }

    /// Adds a subscription to the session.
    fn subscribed(self, ms: u32, seq: u64, title: &str) -> ConnectionLog {
        let ask = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"subscribe","params":{{"channel":"{SESSION}"}}}}"#
        );
        let answer = format!(
            r#"{{"jsonrpc":"2.0","id":1,"result":{{"snapshot":{{"resource":"{SESSION}","fromSeq":{seq},"state":{{"provider":"p","title":"{title}","status":1,"lifecycle":"ready","activeClients":[],"chats":[]}}}}}}}}"#
        );
        self.line(ms, "c2s", &ask).line(ms, "s2c", &answer)
    }

    fn titled(self, ms: u32, seq: u64, title: &str, origin: Option<(&str, u64)>) -> ConnectionLog {
        let origin = origin.map(|(client, number)| {
            format!(r#","origin":{{"clientId":"{client}","clientSeq":{number}}}"#)
        });
        let message = format!(
            r#"{{"jsonrpc":"2.0","method":"action","params":{{"channel":"{SESSION}","serverSeq":{seq}{},"action":{{"type":"session/titleChanged","title":"{title}"}}}}}}"#,
            origin.unwrap_or_default()
        );
        self.line(ms, "s2c", &message)
    }

    fn dispatched(self, ms: u32, number: u64, title: &str) -> ConnectionLog {
        let message = format!(
            r#"{{"jsonrpc":"2.0","method":"dispatchAction","params":{{"channel":"{SESSION}","clientSeq":{number},"action":{{"type":"session/titleChanged","title":"{title}"}}}}}}"#
        );
        self.line(ms, "c2s", &message)
    }
}

fn read(files: &[(&str, &str)]) -> Result<ConnectionLogs, LogsError> {
    let inputs = files.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes()));
    ConnectionLogs::read(inputs.collect())
}

fn verdict(files: &[(&str, &str)]) -> JudgedFile {
    judge_logs(&read(files).unwrap(), None, FailOn::default())
}

/// Returns the checks that have findings, each with the number of its findings.
fn found(judged: &JudgedFile) -> Vec<(String, u64)> {
    let checks = judged.summary.checks.iter().filter(|(_, total)| total.findings > 0);
    checks.map(|(check, total)| (check.clone(), total.findings)).collect()
}

fn has(judged: &JudgedFile, note: &str) -> bool {
    judged.notes.iter().any(|it| it.contains(note))
}

#[test]
fn a_line_without_its_log_member_is_the_message() {
    let check = |text: &str, expected: &str| {
        let line = ahp_log::read(text).unwrap().unwrap();
        let frame = Frame::Text(expected.to_owned());
        assert_eq!(line.content, LogContent::Message { by: ClosingSide::Client, frame }, "{text}");
        assert_eq!((line.at, line.connection.as_str()), (1, "7"), "{text}");
    };
    let meta =
        r#""_ahpLog":{"ts":"1970-01-01T00:00:00.001Z","dir":"c2s","connectionId":7,"odd":[1]}"#;
    check(&format!(r#"{{"id":1.0, "b":"\u0041",{meta}}}"#), r#"{"id":1.0, "b":"\u0041"}"#);
    check(&format!(r#"{{{meta} , "a":{{"x":[ ]}}}}"#), r#"{ "a":{"x":[ ]}}"#);
    check(&format!("{{{meta}}}"), "{}");
    check(&format!(r#"  {{"a":1 , {meta},"b":2}} "#), r#"{"a":1,"b":2}"#);
    assert_eq!(ahp_log::read(r#"{"dir":"c2s","msg":{"_ahpLog":1}}"#), Ok(None));
    assert_eq!(ahp_log::read(r#"{"dir":"c2s","msg":1}"#), Ok(None));
    let wrong = |text: &str| ahp_log::read(text).unwrap_err();
    assert!(wrong(r#"{"a":1,"_ahpLog":{"ts":"now","dir":"c2s"}}"#).contains("an instant such as"));
    assert!(wrong(r#"{"a":1,"_ahpLog":{"dir":"c2s"}}"#).contains("found `null`"));
    assert!(wrong(&format!("{{\"a\":1,{meta},{meta}}}")).contains("found more"));
    assert!(
        wrong(&format!("{{\"a\":1,{meta}").replace("c2s", "up")).contains("not a line of a log")
    );
    assert!(wrong(&format!("{{\"a\":1,{meta}}}").replace("c2s", "up")).contains("found `\"up\"`"));
}

/// Judges two clients that rename a session in the same millisecond. Depending on the order of the two logs, the
/// dispatch of one client or of the other comes after the envelope with the other client's action, so a finding would
/// depend on this order.
#[test]
fn an_undecided_order_of_two_logs_has_no_finding() {
    let own = |name, client, number: u64, at: u32| {
        let log = ConnectionLog::new(name).shaken(1, client, 4).subscribed(at, 4, "old");
        match number {
            1 => log.dispatched(20, 1, "one"),
            _ => log,
        }
    };
    let a = own("a", "A", 1, 2).titled(20, 5, "one", Some(("A", 1))).titled(
        20,
        6,
        "two",
        Some(("B", 1)),
    );
    let b = own("b", "B", 0, 3)
        .titled(20, 5, "one", Some(("A", 1)))
        .dispatched(20, 1, "two")
        .titled(20, 6, "two", Some(("B", 1)));
    for files in [[("1", &a), ("2", &b)], [("2", &a), ("1", &b)]] {
        let files = files.map(|(name, log)| (name, log.text.as_str()));
        let judged = verdict(&files);
        assert_eq!(found(&judged), [], "{files:?}");
        assert!(has(&judged, "the times in the logs do not determine"), "{:?}", judged.notes);
        assert_eq!((judged.connections, judged.messages), (2, 14));
        assert!(!judged.summary.failed());
    }
    // The harness reports a finding that a single log proves, regardless of the order of other messages.
    let own = a.titled(30, 6, "three", None);
    let judged = verdict(&[("1", &own.text), ("2", &b.text)]);
    let alone = found(&verdict(&[("1", &own.text)]));
    assert!(!alone.is_empty());
    assert_eq!(found(&judged), alone);
}

/// Checks that the harness finds the same breach if the messages are at least a millisecond apart. The result does not
/// depend on the file names, and the message contains the names of the logs.
#[test]
fn a_decided_order_of_two_logs_has_a_finding() {
    let a = ConnectionLog::new("first one").shaken(1, "A", 4).subscribed(2, 4, "old");
    let a = a.titled(20, 9, "new", None);
    let b = ConnectionLog::new("b")
        .shaken(1, "B", 4)
        .subscribed(3, 4, "old")
        .titled(20, 9, "new", None);
    let open =
        ConnectionLog { connection: "first one", text: a.text.clone() }.line(90, "c2s", PING);
    let late = ConnectionLog::new("late").shaken(21, "C", 4);
    for [x, y, z] in [["1", "2", "3"], ["3", "2", "1"]] {
        let judged = verdict(&[(x, &open.text), (y, &b.text), (z, &late.text)]);
        assert_eq!(found(&judged), [("sequence.real-time".to_owned(), 1)], "{x}");
    }
    let tied = ConnectionLog::new("late").shaken(20, "C", 4);
    let judged = verdict(&[("1", &open.text), ("2", &b.text), ("3", &tied.text)]);
    assert_eq!(found(&judged), []);
    // The client of the log `b` did not receive one `serverSeq`. The message of the finding contains the names of the
    // logs.
    let behind = ConnectionLog::new("b").shaken(1, "B", 4).subscribed(3, 4, "old");
    let behind = behind.titled(30, 10, "newer", None);
    let judged = verdict(&[("1", &a.text), ("2", &behind.text)]);
    assert_eq!(found(&judged), [("fanout.complete".to_owned(), 1)]);
    let logs = read(&[("1", &a.text), ("2", &behind.text)]).unwrap();
    let (_, finding) = &judged.summary.checks[&"fanout.complete".to_owned()].shown[0];
    let places: Vec<_> = finding.transcript.iter().map(|line| logs.place(*line)).collect();
    assert_eq!(places, ["1:5", "2:4", "2:5"]);
    assert_eq!(logs.connection_at(finding.transcript[0]), Some("first one"));
}

#[test]
fn a_clock_that_goes_back_makes_more_of_the_order_undecided() {
    // The clock of the first log is set back by nine milliseconds after its second line.
    let a = ConnectionLog::new("a")
        .shaken(11, "A", 4)
        .subscribed(2, 4, "old")
        .titled(20, 9, "new", None);
    let a = a.line(90, "c2s", PING);
    let late = ConnectionLog::new("late").shaken(25, "C", 4);
    let judged = verdict(&[("1", &a.text), ("2", &late.text)]);
    assert_eq!(found(&judged), []);
    let later = ConnectionLog::new("late").shaken(60, "C", 4);
    let judged = verdict(&[("1", &a.text), ("2", &later.text)]);
    assert_eq!(found(&judged), [("sequence.real-time".to_owned(), 1)]);
    // Within one log, the order of the lines is the order of the messages, whatever their timestamps.
    let judged = verdict(&[("1", &a.text)]);
    assert_eq!(found(&judged), []);
}

#[test]
fn segments_of_a_log_are_joined() {
    let whole =
        ConnectionLog::new("a").shaken(1, "A", 4).subscribed(2, 4, "old").titled(3, 5, "x", None);
    let whole = whole.titled(4, 6, "y", None).titled(5, 7, "z", None);
    let lines: Vec<&str> = whole.text.split_inclusive('\n').collect();
    let (first, second, third) = (lines[..3].concat(), lines[3..5].concat(), lines[5..].concat());
    let judged =
        verdict(&[("log.jsonl", &first), ("log.2.jsonl", &third), ("log.1.jsonl", &second)]);
    assert_eq!((found(&judged), judged.connections, judged.messages), (vec![], 1, 7));
    assert_eq!(judged.notes, Vec::<String>::new());
    // The harness does not report a missing segment as a fault of the host, although the numbers have a gap.
    let judged = verdict(&[("log.jsonl", &first), ("log.2.jsonl", &third)]);
    assert_eq!((found(&judged), judged.connections), (vec![], 1));
    assert!(has(&judged, "the previous segment, 1, is missing"), "{:?}", judged.notes);
    // Segments are sorted by number, not by name.
    let files = [("log.10.jsonl", third.as_str()), ("log.9.jsonl", &second)];
    let judged = verdict(&files);
    assert_eq!((judged.notes.len(), judged.connections, judged.messages), (0, 1, 4));
    // A log without its beginning starts in the middle of a connection.
    let logs = read(&[("log.1.jsonl", &second)]).unwrap();
    assert!(!logs.connections[0].whole);
}

#[test]
fn a_truncated_message_is_never_a_finding() {
    let message = r#"{"jsonrpc":"2.0","method":"action","params":{}}"#;
    let before = || ConnectionLog::new("a").shaken(1, "A", 4).subscribed(2, 4, "old");
    // After a truncated message, the state is unknown, and the message may have contained numbers.
    let log =
        before().truncated(3, "s2c", message).subscribed(4, 9, "other").titled(5, 10, "x", None);
    let with = found(&verdict(&[("1", &log.text)]));
    let without = before().subscribed(4, 9, "other").titled(5, 10, "x", None);
    assert_eq!(with, []);
    assert_eq!(found(&verdict(&[("1", &without.text)])), [("state.snapshot-agrees".to_owned(), 1)]);
    // A truncated client message may have been a dispatch, or the request that an unexpected answer belongs to.
    let stray = r#"{"jsonrpc":"2.0","id":77,"result":null}"#;
    let origin = Some(("A", 3));
    let log = before().truncated(3, "c2s", message).titled(4, 5, "x", origin).line(5, "s2c", stray);
    assert_eq!(found(&verdict(&[("1", &log.text)])), []);
    let without = before().titled(4, 5, "x", origin).line(5, "s2c", stray);
    let checks: Vec<_> =
        found(&verdict(&[("1", &without.text)])).into_iter().map(|it| it.0).collect();
    assert_eq!(checks, ["dispatch.no-forged-origin", "jsonrpc.no-stray-response"]);
    // The harness judges the messages before a truncated message.
    let log = before().titled(3, 4, "x", None).truncated(4, "s2c", message);
    assert!(!found(&verdict(&[("1", &log.text)])).is_empty());
}

#[test]
fn logs_of_both_ends_of_a_connection_are_joined() {
    let host = ConnectionLog::new("agent-host-1").shaken(1, "A", 4).subscribed(2, 4, "old");
    let host = host.dispatched(3, 1, "x").titled(3, 5, "x", Some(("A", 1)));
    let mut client = ConnectionLog::new("a window").shaken(2, "A", 4).subscribed(4, 4, "old");
    client = client.dispatched(4, 1, "x").titled(5, 5, "x", Some(("A", 1)));
    // The order of members may differ between writers.
    client.text =
        client.text.replace(r#""id":1,"method":"subscribe""#, r#""method":"subscribe","id":1"#);
    for files in [[("c", &client), ("h", &host)], [("h", &client), ("c", &host)]] {
        let files = files.map(|(name, log)| (name, log.text.as_str()));
        let judged = verdict(&files);
        assert_eq!((judged.connections, judged.messages), (1, 6));
        assert!(has(&judged, "the two ends of one connection"), "{:?}", judged.notes);
        assert_eq!(found(&judged), []);
    }
    // The clocks of two logs may differ by more than the duration of the connection.
    let mut far = ConnectionLog::new("a window").shaken(9_002, "A", 4).subscribed(9_004, 4, "old");
    far = far.dispatched(9_004, 1, "x").titled(9_005, 5, "x", Some(("A", 1)));
    assert_eq!(verdict(&[("1", &host.text), ("2", &far.text)]).connections, 1);
    // A client that reconnects and sends the same messages has a second connection.
    let again = ConnectionLog::new("agent-host-2").shaken(40, "A", 4);
    let once = ConnectionLog::new("agent-host-1").shaken(1, "A", 4);
    assert_eq!(verdict(&[("1", &once.text), ("2", &again.text)]).connections, 2);
    // Two logs that cannot be distinguished are reported as an error.
    let other = ConnectionLog::new("agent-host-1").shaken(1, "A", 4).subscribed(3, 4, "another");
    let error = read(&[("1", &host.text), ("2", &other.text)]).unwrap_err().to_string();
    assert!(error.starts_with("1:1 and 2:1 both tell of a connection `agent-host-1`"), "{error}");
}

#[test]
fn a_handshake_in_a_log_begins_a_second_connection() {
    let log = ConnectionLog::new("a").shaken(1, "A", 4).subscribed(2, 4, "old");
    let log = log.shaken(50, "A", 9).titled(60, 12, "x", None);
    let logs = read(&[("1", &log.text)]).unwrap();
    let whole: Vec<bool> = logs.connections.iter().map(|it| it.whole).collect();
    assert_eq!(whole, [true, false]);
    // The logs do not show whether it is the same connection, so the old subscription may still be active.
    assert_eq!(found(&judge_logs(&logs, None, FailOn::default())), []);
}

/// Checks that the harness reports no finding for requests without an answer at the end of a log, because a log does
/// not show when a connection ended.
#[test]
fn requests_open_at_the_end_of_a_log_have_no_finding() {
    let ask =
        r#"{"jsonrpc":"2.0","id":5,"method":"listSessions","params":{"channel":"ahp-root://"}}"#;
    let a = ConnectionLog::new("a").shaken(1, "A", 4).line(2, "c2s", ask);
    let b = ConnectionLog::new("b").shaken(3, "B", 4).line(50_000, "c2s", ask);
    assert_eq!(found(&verdict(&[("1", &a.text), ("2", &b.text)])), []);
    // A log omits messages that are not JSON objects, but contains the answers to them.
    let error = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no JSON"}}"#;
    let a = ConnectionLog::new("a").shaken(1, "A", 4).line(2, "s2c", error);
    assert_eq!(found(&verdict(&[("1", &a.text)])), []);
}

#[test]
fn unreadable_lines_are_reported_with_file_and_line() {
    let good = ConnectionLog::new("a").shaken(1, "A", 4).text;
    let other = ConnectionLog::new("b").shaken(1, "B", 4).text;
    let error = |files: &[(&str, &str)]| read(files).unwrap_err().to_string();
    let first = error(&[("x.jsonl", "{\"a\":1}\n")]);
    assert!(first.starts_with("x.jsonl:1: expected a line with `_ahpLog`"), "{first}");
    // If a line in the middle is unreadable, the lines before it are judged.
    for (line, reason) in [
        ("{\"_ahpLog\":", "not a line of a log"),
        ("{\"a\":1}", "expected a line with `_ahpLog`, found another"),
        (r#"{"dir":"c2s","conn":"A","msg":{}}"#, "found one of a capture"),
    ] {
        let text = format!("{good}\n{line}\n{good}");
        let judged = verdict(&[("x.jsonl", &text), ("y.jsonl", &other)]);
        assert!(judged.broken);
        assert!(has(&judged, "x.jsonl:4 cannot be read"), "{:?}", judged.notes);
        assert!(has(&judged, reason), "{:?}", judged.notes);
        assert_eq!(judged.messages, 4);
    }
    // The opposite case is a capture that contains a line of a log.
    let text = format!("{{\"dir\":\"open\",\"conn\":\"A\"}}\n{good}");
    let judged = judge(text.as_bytes(), None, FailOn::default()).unwrap();
    assert!(judged.broken && has(&judged, "line 2 cannot be read"), "{:?}", judged.notes);
    assert!(has(&judged, "a line of a log"), "{:?}", judged.notes);
    // An incomplete last line is not a mistake: the file is still being written.
    let judged = verdict(&[("x.jsonl", &good[..good.len() - 9])]);
    assert!(!judged.broken && has(&judged, "was cut off with the file"), "{:?}", judged.notes);
    // A line that is longer than the harness reads.
    let endless =
        io::Read::chain(good.as_bytes(), io::Read::take(io::repeat(b'x'), MAX_LINE as u64 + 5));
    let endless = io::BufReader::new(endless);
    let logs = ConnectionLogs::read(vec![("x.jsonl".to_owned(), endless)]).unwrap();
    assert!(logs.broken && logs.notes[0].contains("longer than"), "{:?}", logs.notes);
    // An empty file next to a log with messages.
    let judged = verdict(&[("x.jsonl", ""), ("y.jsonl", &good)]);
    assert_eq!(
        (judged.notes.as_slice(), judged.messages),
        (["`x.jsonl` is empty".to_owned()].as_slice(), 2)
    );
}

#[test]
fn control_characters_in_names_are_escaped() {
    let text = ConnectionLog::new(r"a\u001b[31m\nb").shaken(1, "A", 4).text;
    let logs = read(&[("1", &text)]).unwrap();
    assert_eq!(logs.connections[0].name, r"a\u{1b}[31m\nb");
}

// The bytes of written logs, by file name.

type LogFiles = Arc<Mutex<HashMap<String, Vec<u8>>>>;

struct InMemory(LogFiles, String);

impl Write for InMemory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut files = self.0.lock().unwrap();
        files.entry(self.1.clone()).or_default().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Converts a capture to logs.
fn as_logs(capture: &[u8], redactor: SecretRedactor) -> Vec<(String, String)> {
    let files = LogFiles::default();
    let kept = Arc::clone(&files);
    let open = move |name: &str| {
        Ok(Box::new(InMemory(Arc::clone(&kept), name.to_owned())) as Box<dyn Write + Send>)
    };
    let recording = RecordingFacts {
        epoch: Duration::from_millis(1_769_853_600_000),
        name: "test".to_owned(),
        transport: "websocket",
    };
    let mut writer = LogWriter::new(Box::new(open), redactor, recording);
    let mut reader = TranscriptReader::new(capture);
    while let Some((_, line)) = reader.next_event().unwrap() {
        writer.record(line.at, &line.conn, &line.event);
    }
    writer.finish().unwrap();
    drop(writer);
    let files = files.lock().unwrap();
    let text = |bytes: &Vec<u8>| String::from_utf8(bytes.clone()).unwrap();
    let mut all: Vec<_> = files.iter().map(|(name, bytes)| (name.clone(), text(bytes))).collect();
    all.sort();
    all
}

/// Checks that every capture of the corpus gives the same result as its logs.
#[test]
fn a_capture_and_its_logs_are_judged_alike() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus/captures");
    let (mut compared, mut fewer) = (0, 0);
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|it| it != "jsonl") {
            continue;
        }
        let text = fs::read(&path).unwrap();
        let opens =
            |text: &[u8]| text.windows(14).filter(|it| it == b"\"dir\":\"open\"}\n").count();
        let below = ["\"c2a\"", "\"a2c\"", "\"model\"", "\"tool\"", "\"local\"", "\"err\""];
        let has_below = below.iter().any(|word| {
            text.windows(word.len() + 6).any(|it| it == format!("\"dir\":{word}").as_bytes())
        });
        if has_below {
            continue;
        }
        let judged = judge(text.as_slice(), None, FailOn::default()).unwrap();
        let logs = as_logs(&text, SecretRedactor::default());
        let logs: Vec<_> = logs.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        let again = verdict(&logs);
        assert_eq!(found(&again), found(&judged), "{}", path.display());
        assert_eq!(again.messages, judged.messages, "{}", path.display());
        for (check, total) in &judged.summary.checks {
            // A check may observe less in logs than in a capture, because the harness leaves out observations that
            // depend on the order of connections within a millisecond.
            let (seen, most) = (again.summary.checks[check].observations, total.observations);
            assert!(seen <= most, "{check} of {}: {seen}, {most}", path.display());
            fewer += usize::from(seen < most);
        }
        assert_eq!(again.took, judged.took, "{}", path.display());
        compared += usize::from(opens(&text) > 0);
    }
    assert!(compared > 100, "{compared}");
    assert!(fewer * 10 < compared, "{fewer} of {compared}");
}

#[test]
fn lines_that_are_no_objects_are_kept_unchanged() {
    let capture = concat!(
        r#"{"t":0.000001,"conn":"A/b","dir":"open","request":["GET / HTTP/1.1"]}"#,
        "\n",
        r#"{"t":0.1,"conn":"A/b","dir":"c2s","raw":"no json"}"#,
        "\n",
        r#"{"t":0.1,"conn":"A/b","dir":"c2s","msg":{}}"#,
        "\n",
        r#"{"t":0.1,"conn":"A/b","dir":"c2s","msg":{"_ahpLog":1}}"#,
        "\n",
        r#"{"t":0.1,"conn":"A/b","dir":"c2s","msg":{"\u005fahpLog":1}}"#,
        "\n",
        r#"{"t":0.1,"conn":"A/b","dir":"s2c","msg":[1, 2]}"#,
        "\n",
        r#"{"t":0.1,"conn":"A/b","dir":"s2c","hex":"00ff"}"#,
        "\n",
        r#"{"t":0.1,"conn":"A/b","dir":"s2c","msg":{"a":"hunter2-hunter2" }}"#,
        "\n",
        r#"{"t":0.2,"conn":"A/b","dir":"s2c","raw":"{","cut":true}"#,
        "\n",
        r#"{"t":0.2,"conn":"A/b","dir":"gap","by":"host"}"#,
        "\n",
        r#"{"t":0.2,"conn":"A/b","dir":"close","by":"host","code":1000}"#,
        "\n",
        r#"{"t":0.3,"dir":"restart"}"#,
        "\n",
        r#"{"t":0.4,"conn":"A/b","dir":"open"}"#,
        "\n",
    );
    let secret = "hunter2-hunter2".to_owned();
    let files = as_logs(capture.as_bytes(), SecretRedactor::new([secret], Vec::new()));
    let names: Vec<_> = files.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        [
            "ahp-2026-01-31T10-00-00-000Z-A-b.jsonl",
            "ahp-2026-01-31T10-00-00-300Z-host.jsonl",
            "ahp-2026-01-31T10-00-00-400Z-A-b-2.jsonl"
        ]
    );
    let all: String = files.iter().map(|(_, text)| text.as_str()).collect();
    assert!(!all.contains("hunter2") && all.contains("«redacted»"), "{all}");
    let inputs = files.iter().map(|(name, text)| (name.clone(), text.as_bytes()));
    let logs = ConnectionLogs::read(inputs.collect()).unwrap();
    let mut reader = TranscriptReader::new(capture.as_bytes());
    for entry in logs.in_order(0) {
        let (_, line) = reader.next_event().unwrap().unwrap();
        let same = match (&entry.event, &line.event) {
            (ConnectionEvent::Received(one), ConnectionEvent::Received(other)) => {
                one.frame == other.frame || one.frame.display().contains("redacted")
            }
            (
                ConnectionEvent::Open { handshake: one, .. },
                ConnectionEvent::Open { handshake: other, .. },
            ) => one == other,
            (one, other) => one == other,
        };
        assert!(same && entry.at == line.at, "{:?} is not {:?}", entry.event, line.event);
    }
    assert_eq!(reader.next_event(), Ok(None));
}

// Runs the program; returns the exit code and the output.

fn harness(arguments: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_ahp-harness")).args(arguments).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(text).unwrap())
}

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("ahp-logs-{name}"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn commands_take_logs_and_folders_of_them() {
    let folder = folder("commands");
    let path = folder.to_str().unwrap();
    let (code, text) = harness(&["judge", path]);
    assert!(code == Some(2) && text.contains("holds no log"), "{text}");
    let a = ConnectionLog::new("first")
        .shaken(1, "A", 4)
        .subscribed(2, 4, "old")
        .titled(9, 4, "x", None);
    fs::write(folder.join("a.jsonl"), &a.text).unwrap();
    fs::write(folder.join("b.jsonl"), ConnectionLog::new("second").shaken(1, "B", 4).text).unwrap();
    fs::write(folder.join("notes.txt"), "no log").unwrap();
    let (code, text) = harness(&["judge", path]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("connection `first` at ") && text.contains("a.jsonl:5"), "{text}");
    assert!(
        text.contains("2 connections, 7 messages") && text.contains("transcript: 2 logs"),
        "{text}"
    );
    let one = folder.join("b.jsonl");
    let (code, text) = harness(&["judge", one.to_str().unwrap()]);
    assert!(code == Some(0) && text.contains("1 connections, 2 messages"), "{text}");
    let (code, text) = harness(&["scenario", "from", path]);
    assert!(code == Some(0) && text.contains("clients: [A, B]"), "{text}");
    fs::write(folder.join("c.jsonl"), "{\"dir\":\"open\",\"conn\":\"A\"}\n").unwrap();
    let (code, text) = harness(&["judge", path]);
    assert!(code == Some(2) && text.contains("c.jsonl:1: expected a log"), "{text}");
}

#[test]
fn a_capture_without_anything_to_judge_fails() {
    let folder = folder("nothing");
    let path = folder.join("x.jsonl");
    let judge = |text: &str| {
        fs::write(&path, text).unwrap();
        harness(&["judge", path.to_str().unwrap()])
    };
    let open = "{\"conn\":\"A\",\"dir\":\"open\"}\n";
    let (code, text) = judge(open);
    assert!(
        code == Some(1) && text.contains("nothing could be judged: there is no message"),
        "{text}"
    );
    let ask = r#"{"conn":"A","dir":"c2s","msg":{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}}"#;
    let (code, text) = judge(&format!("{open}{ask}\n"));
    assert!(code == Some(1) && text.contains("its 1 messages test no rule"), "{text}");
    let (code, text) =
        judge(&ConnectionLog::new("a").line(1, "c2s", r#"{"jsonrpc":"2.0","method":"x"}"#).text);
    assert!(code == Some(1) && text.contains("nothing could be judged"), "{text}");
    let (code, text) = judge(&ConnectionLog::new("a").shaken(1, "A", 4).text);
    assert!(code == Some(0) && !text.contains("nothing could be judged"), "{text}");
}

#[test]
fn a_run_writes_logs_that_are_judged_as_it_was() {
    let folder = folder("run");
    let logs = folder.join("logs");
    let report = format!("ahp-log={}", logs.to_str().unwrap());
    let file = format!("jsonl={}", folder.join("run.jsonl").to_str().unwrap());
    let scenario = "metadata/a-title-is-shared";
    let arguments = ["run", "--id", scenario, "--report", &report, "--report", &file];
    let (code, text) = harness(&arguments);
    assert_eq!(code, Some(0), "{text}");
    let places: Vec<_> = fs::read_dir(&logs).unwrap().map(|it| it.unwrap().path()).collect();
    let [place] = places.as_slice() else { panic!("{places:?}") };
    let (code, text) = harness(&["judge", place.to_str().unwrap()]);
    assert!(code == Some(0) && text.contains("0 broken"), "{text}");
    // The program would read the logs of a second run in the same folder as part of the first run.
    let (code, text) = harness(&arguments);
    assert!(code == Some(2) && text.contains("to be empty"), "{text}");
    let (code, text) = harness(&["judge", logs.to_str().unwrap()]);
    assert!(code == Some(2) && text.contains("give one of the folders in it"), "{text}");
}
