//! Tests of every check, with traffic that follows the rule and traffic that breaks it.

use std::time::Duration;

use super::testkit::{TestVerdict, play};
use super::{CHECKS, OracleOptions};
use crate::verdict::{Finding, FindingSubject, Weight};

/// Plays a script, and asserts that exactly these checks have findings.
pub(super) fn check(script: &str, expected: &[&str]) -> TestVerdict {
    check_with(OracleOptions::default(), script, expected)
}

fn check_with(options: OracleOptions, script: &str, expected: &[&str]) -> TestVerdict {
    let said = play(options, script);
    let found: Vec<String> = said
        .reports
        .iter()
        .flat_map(|report| &report.findings)
        .map(|it| format!("{} {:?} {:?} {}", it.check, it.weight, it.lines, it.message))
        .collect();
    assert_eq!(said.checks(), expected, "{script}\n{found:#?}");
    said
}

/// Returns the only finding of a check.
pub(super) fn only<'a>(said: &'a TestVerdict, id: &str) -> &'a Finding {
    let report = said.reports.iter().find(|report| report.check == id).unwrap();
    let [finding] = report.findings.as_slice() else {
        panic!("{:#?}", report.findings);
    };
    finding
}

/// A script without a breach: two clients, a turn with a tool call, a rejection, a reconnect, late snapshots.
const GOOD: &str = r#"
    A hello 0
    B hello 0
    A sub session 0
    B sub session 0
    A sub chat 0
    B sub chat 0
    A sends chat 1 start t1
    A echo chat 1 A 1 start t1
    B echo chat 1 A 1 start t1
    A got chat 2 part t1 p1
    B got chat 2 part t1 p1
    A got chat 3 delta t1 p1
    A got chat 4 tool t1 c1
    A got chat 5 ready t1 c1
    B got chat 3 delta t1 p1
    B got chat 4 tool t1 c1
    B got chat 5 ready t1 c1
    B sends chat 1 approve t1 c1
    A sends chat 2 approve t1 c1
    B echo chat 6 B 1 approve t1 c1
    A echo chat 6 B 1 approve t1 c1
    A refused chat 7 A 2 approve t1 c1
    A got chat 8 complete t1 c1
    B got chat 8 complete t1 c1
    A got root 9 agents
    B got root 9 agents
    A < {"jsonrpc":"2.0","id":1,"method":"resourceRead","params":{"channel":"ahp-root://","uri":"file:///a"}}
    A > {"jsonrpc":"2.0","id":1,"error":{"code":-32008,"message":"no"}}
    A ask 5 frob
    A < {"jsonrpc":"2.0","id":5,"error":{"code":-32601,"message":"no"}}
    B close
    A got chat 10 end t1
    A got session 11 title x
    B back 9 root,session,chat missing= got chat 10 end t1; got session 11 title x
    B barrier
    A got session 12 title y
    B got session 12 title y
    C hello 12
    A ask 6 createSession {"channel":"ahp-session:/9"}
    A ok 6
    A < {"jsonrpc":"2.0","method":"root/sessionRemoved","params":{"channel":"ahp-root://","session":"ahp-session:/9"}}
    A got root 13 agents
    B got root 13 agents
    C got root 13 agents
"#;

/// The state of the chat after the script [`GOOD`].
const CHAT: &str = r#"{"resource":"ahp-chat:/1","title":"","status":1,
    "modifiedAt":"2026-01-01T00:00:01.005Z","turns":[{"id":"t1",
    "startedAt":"2026-01-01T00:00:01.000Z","duration":5,"state":"complete",
    "message":{"text":"hi","origin":{"kind":"user"}},"responseParts":[
    {"kind":"markdown","id":"p1","content":"x"},
    {"kind":"toolCall","toolCall":{"toolCallId":"c1","toolName":"t","displayName":"T",
    "status":"completed","invocationMessage":"m","confirmed":"user-action","success":true,
    "pastTenseMessage":"d"}}]}]}"#;

fn good(more: &str) -> String {
    let chat = CHAT.replace('\n', "");
    format!("{GOOD}\nC sub chat 13 {chat}\nA sub chat 13 {chat}\nA barrier\nB barrier\n{more}")
}

#[test]
fn a_valid_conversation_has_no_finding() {
    check(&good(""), &[]);
}

#[test]
fn nothing_is_judged_without_traffic() {
    let said = check("A open\nA close", &[]);
    assert!(said.reports.iter().all(|report| report.observations == 0));
    assert_eq!(said.reports.len(), CHECKS.len());
}

#[test]
fn shapes() {
    let host = ["shape.host"];
    check("A hello 0\nA < hello", &host);
    check("A hello 0\nA < [1]", &host);
    check("A hello 0\nA < {}", &host);
    check("A open\nA < {\"jsonrpc\":\"1.0\",\"method\":\"x\"}", &host);
    check(
        r#"A hello 0
        A got root 1 {"type":"root/activeSessionsChanged","activeSessions":"x"}"#,
        &["shape.host"],
    );
    check(
        r#"A hello 0
        A got root 1 {"type":"root/activeSessionsChanged"}"#,
        &["shape.host"],
    );
    let soft = check(
        r#"A hello 0
        A < {"jsonrpc":"2.0","method":"action","params":{"channel":"ahp-root://","serverSeq":1,"rejectionReason":null,"action":{"type":"root/agentsChanged","agents":[]}}}"#,
        &["shape.null-optional"],
    );
    assert_eq!(only(&soft, "shape.null-optional").weight, Weight::Should);
    // Errors in frames of the client are reported as notes of the check `shape.harness`, and never findings against the
    // host.
    let ours = check("A hello 0\nA > hello\nA > [{}]\nA > 5\nA > {\"id\":[]}", &[]);
    let report = ours.reports.iter().find(|it| it.check == "shape.harness").unwrap();
    assert_eq!((report.findings.len(), report.breaches()), (2, 4));
    assert!(report.findings.iter().all(|finding| finding.weight == Weight::Note));
}

#[test]
fn requests_and_responses() {
    let once = ["jsonrpc.answered-once"];
    let stray = ["jsonrpc.no-stray-response"];
    let said = check("A hello 0\nA ask 1 ping {}\nA ok 1\nA ok 1", &once);
    assert_eq!(only(&said, "jsonrpc.answered-once").lines, [5, 6]);
    check("A hello 0\nA ok 7", &stray);
    check(
        "A hello 0\nA unsub session\nA < {\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,\"message\":\"\"}}",
        &stray,
    );
    // The host may answer an unreadable frame.
    check(
        "A hello 0\nA > {\nA < {\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"\"}}",
        &[],
    );
    check(
        "A hello 0\nA > {\"id\":3,\"method\":5}\nA < {\"jsonrpc\":\"2.0\",\"id\":3,\"error\":{\"code\":-32600,\"message\":\"\"}}",
        &[],
    );
    // A missing answer is a finding only if it is certain.
    check("A hello 0\nA ask 1 ping {}\nA barrier", &[]);
    check("A hello 0\nA ask 1 ping {}\nwait 11\nA barrier", &once);
    check("A hello 0\nA ask 1 ping {}\nwait 11\nA close", &once);
    check("A hello 0\nA ask 1 ping {}\nA close", &[]);
    check(
        "A hello 0\nA > {\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}\nwait 11\nA barrier",
        &[],
    );
    let ask = r#"A < {"jsonrpc":"2.0","id":1,"method":"resourceRead","params":{"channel":"ahp-root://","uri":"file:///a"}}"#;
    check(&format!("A hello 0\n{ask}\n{ask}"), &["jsonrpc.host-request-ids"]);
    check(
        &format!("A hello 0\n{ask}\nA > {{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{{}}}}\n{ask}"),
        &[],
    );
    check(
        "A hello 0\nA ask 1 ping {}\nA < {\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32006,\"message\":\"\"}}",
        &["jsonrpc.error-code"],
    );
    check(
        "A hello 0\nA ask 1 ping {}\nA < {\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-31000,\"message\":\"\"}}",
        &[],
    );
    // A separate check, `jsonrpc.alive`, judges a `ping` without an answer.
    let alive = ["jsonrpc.alive"];
    check("A hello 0\nA ask 1 ping\nA ok 1", &[]);
    check("A open\nA ask 1 ping\nwait 11\nA close", &alive);
    let said = check("A hello 0\nA ask 1 ping\nA ask 2 ping\nwait 11\nA close", &alive);
    let report = said.reports.iter().find(|report| report.check == alive[0]).unwrap();
    assert!(report.findings[1].message.ends_with("the host is stuck"), "{:?}", report.findings);
    let refused = "A < {\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32601,\"message\":\"\"}}";
    check(&format!("A open\nA ask 1 ping\n{refused}"), &alive);
    check(&format!("A hello 0\nA ask 1 ping {{}}\n{refused}"), &[]);
}

#[test]
fn numbers() {
    check("A hello 0\nA got root 2 sessions\nA got root 5 agents", &[]);
    check(
        "A hello 0\nA got root 2 sessions\nA got root 2 sessions",
        &["sequence.grows", "sequence.order-agreement"],
    );
    let said = check(
        "A hello 0\nA sub session 0\nA got root 2 sessions\nA got session 1 title x",
        &["sequence.grows"],
    );
    assert_eq!(only(&said, "sequence.grows").lines, [6, 7]);
    // A rejection may repeat the `serverSeq` of another action.
    check(
        "A hello 0\nA sub session 0\nA sends session 1 title x\nA got root 2 sessions\nA refused session 2 A 1 title x\nA got root 3 sessions",
        &[],
    );
    check(
        "A hello 0\nB hello 0\nA got root 1 sessions\nB got root 1 agents",
        &["sequence.one-envelope"],
    );
    check("A hello 0\nA got root 7 agents\nB hello 6", &["sequence.real-time"]);
    let said = check(
        "A hello 0\nA sub session 0\nB hello 0\nA got root 7 agents\nB sub session 6\nB got root 7 agents",
        &["sequence.real-time"],
    );
    assert_eq!(only(&said, "sequence.real-time").weight, Weight::Note);
    // If the harness does not control the host, the host may have been restarted unnoticed, but not while a connection
    // was open.
    let foreign = OracleOptions { foreign: true, ..OracleOptions::default() };
    let script = "A hello 0\nA got root 7 agents\nA close\nB hello 1\nB got root 2 agents";
    check_with(foreign, script, &[]);
    check(script, &["sequence.real-time"]);
    let script = "A hello 0\nA got root 7 agents\nB hello 1";
    check_with(foreign, script, &["sequence.real-time"]);
    // After a restart, the host may begin `serverSeq` again.
    check("A hello 0\nA got root 7 agents\nrestart\nA close\nB hello 0\nB got root 1 agents", &[]);
}

#[test]
fn a_slow_subscriber_of_large_actions_accuses_nobody() {
    let sub = |who: &str| format!("{who} hello 0\n{who} sub session 0\n");
    let long = "x".repeat(1 << 20);
    let titles = |who: &str| -> String {
        (1..=24).map(|seq| format!("{who} got session {seq} title {seq}{long}\n")).collect()
    };
    // The log drops the first actions before the second subscriber receives them.
    let script = [sub("A"), sub("B"), titles("A"), titles("B")].concat();
    check(&script, &[]);
}

#[test]
fn fanout() {
    let two = "A hello 0\nB hello 0\n";
    let play = |rest: &str, expected: &[&str]| check(&format!("{two}{rest}"), expected);
    let complete = ["fanout.complete"];
    let said = play("A got root 1 sessions\nA got root 2 agents\nB got root 2 agents", &complete);
    assert_eq!(only(&said, "fanout.complete").lines, [6, 7, 9]);
    play("A got root 1 sessions\nB barrier\nB barrier", &complete);
    play("B got root 2 agents\nA got root 1 sessions\nA got root 2 agents", &complete);
    // In these scripts, the host does not have to deliver the action to the other client: the client has not subscribed
    // yet, has unsubscribed, or may still receive the action.
    play("A got root 1 sessions", &[]);
    play("B unsub root\nA got root 1 sessions\nB barrier", &[]);
    play("B close\nA got root 1 sessions", &[]);
    play(
        "A got root 1 agents\nC hello 1\nA got root 2 agents\nC got root 2 agents\nB got root 1 agents\nB got root 2 agents",
        &[],
    );
    // The specification does not say whether a host still serves an older connection of the same client.
    play("A2 hello 0\nA2 got root 1 sessions\nB got root 1 sessions\nA barrier", &[]);
    let only_subscribed = ["fanout.subscribed-only"];
    check("A hello 0\nA got session 1 title x", &only_subscribed);
    // A tolerant host may have read this frame as a subscription, and the client cannot see this.
    let asks =
        r#"A > {"jsonrpc":"2.0","method":"subscribe","params":{"channel":"ahp-session:/1"}}"#;
    check(&format!("A hello 0\n{asks}\nA got session 1 title x"), &[]);
    check("A hello 0\nA > {\"id\":[}\nA got session 1 title x", &[]);
    check("A hello 0\nA unsub root\nA got root 1 agents", &[]);
    let said = check("A hello 0\nA unsub root\nA barrier\nA got root 1 agents", &only_subscribed);
    assert_eq!(only(&said, "fanout.subscribed-only").weight, Weight::Must);
    // The echo of a later dispatch proves as much as an answer to a later request. The echo of an earlier dispatch, or
    // of a dispatch whose `clientSeq` was used before, proves nothing.
    let play = |rest: &str, expected: &[&str]| {
        check(&format!("A hello 0\nA sub session 0\n{rest}\nA got root 9 agents"), expected)
    };
    let (one, two) = ("A sends session 1 title x", "A sends session 2 title x");
    let (first, second) = ("A echo session 1 A 1 title x", "A echo session 2 A 2 title x");
    let said = play(&format!("A unsub root\n{one}\n{first}"), &only_subscribed);
    assert_eq!(only(&said, "fanout.subscribed-only").weight, Weight::Must);
    play(&format!("A unsub root\n{one}\nA refused session 1 A 1 title x"), &only_subscribed);
    play(&format!("A unsub root\n{one}"), &[]);
    play(&format!("{one}\nA unsub root\n{first}"), &[]);
    play(&format!("{one}\n{two}\nA unsub root\n{first}\n{one}\n{second}"), &[]);
    play(&format!("{one}\nA unsub root\n{two}\n{first}"), &[]);
    play(&format!("{one}\nA unsub root\n{two}\n{first}\n{second}"), &only_subscribed);
    check(
        "A hello 0\nA unsub root\nA barrier\nA < {\"jsonrpc\":\"2.0\",\"method\":\"root/sessionRemoved\",\"params\":{\"channel\":\"ahp-root://\",\"session\":\"ahp-session:/1\"}}",
        &["fanout.notifications-subscribed"],
    );
    check("A hello 5\nA got root 5 agents", &["fanout.after-snapshot"]);
    check("A hello 0\nA sub session 0\nA got session 1 agents", &["fanout.family"]);
    // The oracle determines the kind of a channel from the traffic, and not from a scheme that the host chose.
    check(
        r#"A hello 0
        A ask 1 subscribe {"channel":"ahp-session:/1/changes"}
        A ok 1 {}
        A got ahp-session:/1/changes 1 {"type":"changeset/cleared"}"#,
        &[],
    );
    let said = check(
        r#"A hello 0
        A got root 1 {"type":"root/frobbed"}
        A got root 2 {"type":"x-mine/frobbed"}"#,
        &["fanout.known-actions"],
    );
    assert_eq!(only(&said, "fanout.known-actions").weight, Weight::Note);
}

#[test]
fn readings_of_old_documents() {
    let broken = |version: &str, line: &str, check_id: &str| {
        let said = check(&format!("A hello 0 {version}\n{line}"), &[check_id]);
        let finding = only(&said, check_id).clone();
        (finding.weight, finding.subject)
    };
    let reading = |id| (Weight::Must, FindingSubject::Requirement(id));
    let known = "fanout.known-actions";
    let diffs = r#"A got root 1 {"type":"session/diffsChanged"}"#;
    assert_eq!(broken("0.2.0", diffs, known), reading("reading.no-diffs"));
    assert_eq!(broken("0.3.0", diffs, known), reading("reading.no-diffs"));
    let start = r#"A got root 1 {"type":"session/toolStart"}"#;
    assert_eq!(broken("0.1.0", start, known), reading("reading.tool-actions"));
    // In versions without this requirement, the same finding breaks another requirement or none.
    assert_ne!(broken("0.2.0", start, known), reading("reading.tool-actions"));
    assert_ne!(broken("1.0.0", diffs, known), reading("reading.no-diffs"));
    let wrapped = r#"A < {"jsonrpc":"2.0","method":"action","params":{"envelope":{"serverSeq":1,"action":{"type":"root/activeSessionsChanged","activeSessions":1}}}}"#;
    assert_eq!(broken("0.1.0", wrapped, "shape.host"), reading("reading.action-params"));
    let bare = "A ask 7 subscribe {\"channel\":\"ahp-root://\",\"resource\":\"ahp-root://\"}\nA ok 7 {\"resource\":\"ahp-root://\",\"fromSeq\":0,\"state\":{\"agents\":[]}}";
    assert_eq!(broken("0.1.0", bare, "shape.host"), reading("reading.subscribe-result"));
}

#[test]
fn dispatches() {
    let start = "A hello 0\nA sub session 0\nB hello 0\nB sub session 0\n";
    let play = |rest: &str, expected: &[&str]| check(&format!("{start}{rest}"), expected);
    play(
        "A sends session 1 title x\nA echo session 1 A 1 title x\nB echo session 1 A 1 title x",
        &[],
    );
    let settled = ["dispatch.settled-once"];
    play(
        "A sends session 1 title x\nA echo session 1 A 1 title x\nA echo session 2 A 1 title x",
        &settled,
    );
    play(
        "A sends session 1 title x\nA echo session 1 A 1 title x\nA refused session 2 A 1 title x",
        &settled,
    );
    play("A sends session 1 title x\nwait 11\nA barrier", &settled);
    play(
        "A sends session 1 title x\nA sends session 2 title y\nA echo session 1 A 2 title y",
        &settled,
    );
    // In these scripts, the host does not have to settle the dispatch yet, the client is not subscribed, or the
    // dispatch is malformed.
    play("A sends session 1 title x\nA barrier", &[]);
    play("A sends chat 1 start t1\nwait 11\nA barrier", &[]);
    play("A sends session 1 {\"type\":\"session/frob\"}\nwait 11\nA barrier", &[]);
    // A value of the right JSON type may be malformed as well.
    let starts = |at: &str| {
        let message = r#"{"text":"x","origin":{"kind":"user"}}"#;
        let action = format!(
            r#"{{"type":"chat/turnStarted","turnId":"t1","message":{message},"startedAt":"{at}"}}"#
        );
        format!("A sub chat 0\nA sends chat 1 {action}\nwait 11\nA barrier")
    };
    play(&starts("2026-11-27T11:00:00Z"), &settled);
    play(&starts("yesterday"), &[]);
    let forged = ["dispatch.no-forged-origin"];
    play("A echo session 1 A 1 title x", &forged);
    play(
        "A sends session 1 title x\nA echo session 1 A 2 title x\nA echo session 2 A 1 title x",
        &forged,
    );
    play("A echo session 1 Z 1 title x", &forged);
    // An unreadable frame may have been this dispatch.
    play("A > [{}]\nA echo session 1 A 1 title x", &[]);
    check_with(
        OracleOptions { foreign: true, ..OracleOptions::default() },
        &format!("{start}A echo session 1 Z 1 title x"),
        &[],
    );
    play(
        "A sends session 1 title x\nA sends session 2 title y\nA echo session 1 A 2 title y\nA echo session 2 A 1 title x",
        &["dispatch.in-order"],
    );
    let across = "A sub chat 0\nA sends session 1 title x\nA sends chat 2 start t1\nA echo chat 1 A 2 start t1\nA echo session 2 A 1 title x";
    let said = play(across, &["dispatch.in-order"]);
    assert_eq!(only(&said, "dispatch.in-order").weight, Weight::Note);
    play("A sends session 1 title x\nA echo session 1 A 1 title y", &["dispatch.payload-kept"]);
    let refused = "A sends session 1 title x\nA refused session 1 A 1 title x\n";
    play(&format!("{refused}A got session 2 title y"), &[]);
    play(&format!("{refused}A got session 2 title x"), &["dispatch.rejection-without-effect"]);
    let applied = r#"B sub session 1 {"provider":"p","title":"x","status":1,"lifecycle":"ready","activeClients":[],"chats":[{"resource":"ahp-chat:/1","title":"","status":1,"modifiedAt":"2026-01-01T00:00:00.000Z"}]}"#;
    let said = play(&format!("{refused}{applied}"), &["dispatch.rejection-without-effect"]);
    assert_eq!(only(&said, "dispatch.rejection-without-effect").weight, Weight::Must);
    // If a client uses a `clientSeq` again, the host settles the second dispatch as well; a rejection may repeat the
    // `serverSeq` of another action.
    let again = "A sends session 1 title x\nA refused session 1 A 1 title x\n".repeat(2);
    play(&format!("{again}A sends session 2 title y\nA echo session 2 A 2 title y"), &[]);
    play("A sends root 1 agents\nA echo root 1 A 1 agents", &["dispatch.client-dispatchable-only"]);
    play("A sends root 1 agents\nA refused root 1 A 1 agents", &[]);
}

#[test]
fn snapshots() {
    let titled = |title: &str, extra: &str| {
        format!(
            r#"{{"provider":"p","title":"{title}","status":1,"lifecycle":"ready","activeClients":[],{extra}"chats":[{{"resource":"ahp-chat:/1","title":"","status":1,"modifiedAt":"2026-01-01T00:00:00.000Z"}}]}}"#
        )
    };
    let play = |rest: &str, expected: &[&str]| {
        check(&format!("A hello 0\nA sub session 0\n{rest}"), expected)
    };
    let agrees = ["state.snapshot-agrees"];
    let (x, y) = (titled("x", ""), titled("y", ""));
    let none = titled("", "");
    // The scripts cover snapshots for the same client and for another client, ahead of the folded state and behind it.
    play(&format!("A got session 1 title x\nA sub session 1 {x}"), &[]);
    let said = play(&format!("A got session 1 title x\nA sub session 1 {y}"), &agrees);
    let finding = only(&said, "state.snapshot-agrees");
    assert_eq!(finding.lines, [5, 6, 8]);
    let diff = finding.diff.as_deref().unwrap();
    assert!(diff.contains("-  \"title\": \"x\"\n+  \"title\": \"y\""), "{diff}");
    play(
        &format!("B hello 1\nB sub session 1 {x}\nA got session 1 title x\nA got root 2 sessions"),
        &[],
    );
    play(
        &format!("B hello 1\nB sub session 1 {y}\nA got session 1 title x\nA got root 2 sessions"),
        &["state.snapshot-agrees"],
    );
    play(
        &format!("B hello 0\nA got session 1 title x\nB sub session 0 {none}"),
        &["sequence.real-time"],
    );
    play(
        &format!(
            "B hello 0\nB ask 1 subscribe {{\"channel\":\"ahp-session:/1\"}}\nA got session 1 title x\nA got session 2 title y\nB ok 1 {{\"snapshot\":{{\"resource\":\"ahp-session:/1\",\"fromSeq\":1,\"state\":{x}}}}}\nB got session 2 title y"
        ),
        &[],
    );
    // This snapshot waited while the fold continued from a later snapshot.
    check(
        &format!(
            "A hello 0\nA sub session 0\nB hello 1\nB sub session 1 {none}\nB got session 2 title x\n\
             A got root 1 agents\n\
             A > {{\"jsonrpc\":\"2.0\",\"method\":\"unsubscribe\",\"params\":{{\"channel\":\"ahp-session:/1\"}}}}\n\
             A got session 2 title x\nC hello 2\nC sub session 2 {x}\nC got root 3 agents"
        ),
        &[],
    );
    // While the channel has no subscriber, its actions are unknown and are not judged.
    play(&format!("A close\nB hello 9\nB sub session 9 {y}"), &[]);
    play(&format!("A close\nB hello 9\nB sub session 9 {y}\nB sub session 9 {x}"), &agrees);
    // Members that no action changes, unknown members and `_meta` are not compared.
    let masked = titled("x", "\"_meta\":{\"a\":1},\"foo\":1,\"inputNeeded\":[],");
    play(&format!("A got session 1 title x\nA sub session 1 {masked}"), &[]);
    // Before 1.0.0 no action marks a chat as read.
    let read = |bits: u64| {
        format!(
            r#"{{"resource":"ahp-chat:/1","title":"","status":{bits},"modifiedAt":"2026-01-01T00:00:00.000Z","turns":[]}}"#
        )
    };
    let (unread, read) = (read(1), read(33));
    let twice = format!("A sub chat 0 {unread}\nA sub chat 0 {read}");
    check(&format!("A hello 0 0.9.0\n{twice}"), &[]);
    check(&format!("A hello 0 1.0.0\n{twice}"), &["state.snapshot-agrees", "status.flags-kept"]);
    let dead = "A sub chat 0\nA got chat 1 end t9";
    let said = play(dead, &["state.dead-host-action", "turns.active-only"]);
    assert_eq!(only(&said, "state.dead-host-action").weight, Weight::Note);
}

#[test]
fn turns() {
    let play = |rest: &str, expected: &[&str]| {
        check(&format!("A hello 0\nA sub chat 0\nA got chat 1 start t1\n{rest}"), expected)
    };
    play("A got chat 2 part t1 p1\nA got chat 3 delta t1 p1\nA got chat 4 end t1", &[]);
    let dead = "state.dead-host-action";
    let said = play("A got chat 2 part t2 p1", &[dead, "turns.active-only"]);
    assert_eq!(only(&said, "turns.active-only").lines, [5, 6, 7]);
    play("A got chat 2 end t1\nA got chat 3 part t1 p1", &[dead, "turns.active-only"]);
    play("A got chat 2 delta t1 p1", &[dead, "turns.part-before-append"]);
    play(
        "A got chat 2 part t1 p1\nA got chat 3 reasoning t1 p1",
        &[dead, "turns.part-before-append"],
    );
    play("A got chat 2 end t1\nA got chat 3 end t1", &[dead, "turns.one-end"]);
    play("A got chat 2 end t1\nA got chat 3 cancel t1", &[dead, "turns.one-end"]);
    let said = play("A got chat 2 start t2", &["turns.one-active"]);
    assert_eq!(only(&said, "turns.one-active").weight, Weight::Essential);
    let said = play("A got chat 2 start t1", &["turns.one-active"]);
    assert_eq!(only(&said, "turns.one-active").weight, Weight::Essential);
    let again = "A sends chat 1 start t1\nA echo chat 2 A 1 start t1";
    let said = play(again, &["turns.one-active"]);
    assert_eq!(only(&said, "turns.one-active").weight, Weight::Note);
    // The second start replaces the first turn in the folded state and at the host, so no later state contains the
    // first turn.
    let replaced = r#"A got chat 2 start t2
        A got chat 3 end t2
        A sub chat 3 {"resource":"ahp-chat:/1","title":"","status":1,"modifiedAt":"2026-01-01T00:00:01.005Z","turns":[{"id":"t2","startedAt":"2026-01-01T00:00:01.000Z","duration":5,"state":"complete","message":{"text":"hi","origin":{"kind":"user"}},"responseParts":[]}]}"#;
    play(replaced, &["turns.one-active", "turns.one-end"]);
}

#[test]
fn tool_calls() {
    let play = |rest: &str, expected: &[&str]| {
        let start = "A hello 0\nA sub chat 0\nA got chat 1 start t1\nA got chat 2 tool t1 c1";
        check(&format!("{start}\n{rest}"), expected)
    };
    let dead = "state.dead-host-action";
    let legal = "tools.legal-transitions";
    play("A got chat 3 ready t1 c1\nA got chat 4 approve t1 c1\nA got chat 5 complete t1 c1", &[]);
    play("A got chat 3 approve t1 c1", &[dead, legal]);
    play("A got chat 3 complete t1 c1", &[dead, legal]);
    play("A got chat 3 ready t1 c2", &[dead, legal]);
    play("A got chat 3 tool t1 c1", &[legal]);
    let said = play("A got chat 3 ready t1 c1\nA got chat 4 complete t1 c1", &[legal]);
    assert_eq!(only(&said, legal).weight, Weight::Note);
    let approved = "A got chat 3 ready t1 c1\nA got chat 4 approve t1 c1";
    let said =
        play(&format!("{approved}\nA got chat 5 approve t1 c1"), &[dead, "tools.one-decision"]);
    assert_eq!(only(&said, "tools.one-decision").weight, Weight::Must);
    // After a second request for confirmation, a second decision is permitted.
    play(&format!("{approved}\nA got chat 5 ready t1 c1\nA got chat 6 approve t1 c1"), &[]);
    let done = format!("{approved}\nA got chat 5 complete t1 c1");
    let said = play(&format!("{done}\nA got chat 6 complete t1 c1"), &[dead, "tools.one-decision"]);
    assert_eq!(only(&said, "tools.one-decision").weight, Weight::Essential);
}

#[test]
fn reconnects() {
    let play = |rest: &str, expected: &[&str]| {
        let start = "A hello 0\nB hello 0\nA sub session 0\nB sub session 0\nA got session 1 title a\nB got session 1 title a\nB close\nA got session 2 title b\nA got session 3 title c\nA got session 4 title d";
        check(&format!("{start}\n{rest}"), expected)
    };
    let all = "got session 2 title b; got session 3 title c; got session 4 title d";
    let complete = ["reconnect.replay-complete"];
    play(
        &format!(
            "B back 1 root,session missing= {all}\nA got session 5 title e\nB got session 5 title e"
        ),
        &[],
    );
    play("B back 1 root,session missing= got session 2 title b; got session 4 title d", &complete);
    play("B back 1 root,session missing=", &complete);
    play(
        "B back 1 root,session missing= got session 4 title d; got session 3 title c; got session 2 title b",
        &complete,
    );
    play(&format!("B back 1 root,session missing= got session 1 title a; {all}"), &complete);
    play("B back 1 root missing= got session 2 title b", &complete);
    play(
        "B back 1 root,session missing= got session 3 title c; got session 4 title d",
        &["reconnect.never-partial"],
    );
    play(
        "B back 1 root,session missing= got session 2 title z; got session 3 title c; got session 4 title d",
        &["sequence.one-envelope"],
    );
    // In this script, an action is lost between the replay and the first live action.
    play(
        &format!(
            "B back 1 root,session missing= {all}\nA got session 5 title e\nA got session 6 title f\nB got session 6 title f"
        ),
        &["fanout.complete"],
    );
    let missing = ["reconnect.missing"];
    play("A unsub session\nA barrier\nB back 1 root,session missing=session", &[]);
    // Another client is subscribed to the channel, so the finding is a note.
    play("B back 1 root,session missing=session", &missing);
    play(&format!("B back 1 root,session missing=root {all}"), &missing);
    play("B back 1 root missing=session", &missing);
    play(
        "B back 1 root,session missing=session\nA got session 5 title e\nB got session 5 title e",
        &["fanout.subscribed-only", "reconnect.missing"],
    );
    play(
        "A ask 1 disposeSession {\"channel\":\"ahp-session:/1\"}\nA ok 1\nB back 1 root,session missing=",
        &missing,
    );
    let gone = "{\"jsonrpc\":\"2.0\",\"method\":\"root/sessionRemoved\",\"params\":{\"channel\":\"ahp-root://\",\"session\":\"ahp-session:/9\"}}";
    play(
        &format!("A < {gone}\nB back 1 root,session missing= {all}\nB < {gone}\nB barrier"),
        &["reconnect.no-notification-replay"],
    );
    play(&format!("B back 1 root,session missing= {all}\nA < {gone}\nB < {gone}\nB barrier"), &[]);
}

#[test]
fn captures_may_begin_in_the_middle() {
    let middle = OracleOptions { assume_version: "1.0.0".parse().ok(), ..OracleOptions::default() };
    let script = "A got chat 7 delta t1 p1\nA ok 5\nA echo session 8 Z 3 title x\nA got chat 9 end t1\nB got session 20 title y\nA got session 20 title y\nA sub chat 21\nA got chat 22 start t2\nA got chat 23 delta t2 p1";
    check_with(middle, script, &["state.dead-host-action", "turns.part-before-append"]);
    let slow = OracleOptions { deadline: Duration::from_secs(60), ..OracleOptions::default() };
    check_with(slow, "A hello 0\nA ask 1 ping\nwait 11\nA barrier", &[]);
}

#[test]
fn a_finding_names_the_requirement_that_it_breaks() {
    let error = r#"A < {"jsonrpc":"2.0","id":1,"error":{"code":"x","message":"m"}}"#;
    let said = play(OracleOptions::default(), &format!("A hello 0\n{error}"));
    let report = said.reports.iter().find(|it| it.check == "shape.host").unwrap();
    assert_eq!(report.findings[0].subject, FindingSubject::Requirement("jsonrpc.error.shape"));
    let seen = |id: &str| report.apart.iter().find(|(known, _)| *known == id).unwrap().1;
    assert_eq!(seen("jsonrpc.error.shape"), 1);
    // No frame of the script exercised these requirements.
    assert_eq!((seen("auth.required.data"), seen("channel.present-on-server-requests")), (0, 0));
}

#[test]
fn findings_are_bounded() {
    let words = |number: u32| {
        format!("{}{}", "x".repeat(number as usize % 40), "yz".repeat(number as usize / 40))
    };
    let mut script = "A hello 0".to_owned();
    let mut same = script.clone();
    for number in 0..150 {
        let name = format!("m{}", words(number));
        script.push_str(&format!(
            "\nA < {{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{{\"code\":\"{name}\",\"message\":5}}}}"
        ));
        same.push_str("\nA < {}");
    }
    // Similar findings are reported once, with a count.
    let said = play(OracleOptions::default(), &same);
    let report = said.reports.iter().find(|it| it.check == "shape.host").unwrap();
    assert_eq!((report.findings.len(), report.breaches(), report.left_out), (1, 150, 0));
    assert!(report.observations >= report.breaches());
    assert_eq!(report.findings[0].lines, [4]);
    assert_eq!(said.findings.len(), 150);
    // The number of different findings is bounded.
    let said = play(OracleOptions::default(), &script);
    for report in &said.reports {
        assert!(report.findings.len() <= 100 && report.observations >= report.breaches());
    }
    assert!(said.findings.len() >= 150);
}
