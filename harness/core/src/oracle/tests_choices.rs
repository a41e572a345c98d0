//! Tests of legal variants: no spelling of the same content breaks a check. Each test also has a counterexample that
//! breaks a check.

use super::tests::{check, only};
use crate::verdict::Weight;

const CHATS: &str = r#"{"provider":"p","title":"","status":1,"lifecycle":"ready","activeClients":[],"chats":[{"resource":"ahp-chat:/1","title":"","status":1,"modifiedAt":"2026-01-01T00:00:00.000Z"EXTRA}]}"#;

fn session(extra: &str) -> String {
    CHATS.replace("EXTRA", extra)
}

/// Returns the state of a chat with this spelling of `modifiedAt`.
fn chat(modified: &str, origin: &str) -> String {
    format!(
        r#"{{"resource":"ahp-chat:/1","title":"","status":1,"modifiedAt":"{modified}","turns":[]{origin}}}"#
    )
}

#[test]
fn instants_are_compared_as_instants() {
    let play = |modified: &str, expected: &[&str]| {
        let first = chat("2026-01-01T00:00:00.060Z", "");
        let then = chat(modified, "");
        let script = format!("A hello 0\nB hello 0\nA sub chat 0 {first}\nB sub chat 0 {then}");
        check(&script, expected)
    };
    play("2026-01-01T00:00:00.06Z", &[]);
    play("2026-01-01T00:00:00.060000Z", &[]);
    play("2026-01-01T00:00:00.060+00:00", &[]);
    play("2026-01-01T02:00:00.06+02:00", &[]);
    play("2026-01-01T00:00:00.061Z", &["state.snapshot-agrees"]);
}

#[test]
fn extension_members_are_ignored_at_any_depth() {
    let play = |extra: &str, expected: &[&str]| {
        let (first, then) = (session(""), session(extra));
        let script =
            format!("A hello 0\nB hello 0\nA sub session 0 {first}\nB sub session 0 {then}");
        check(&script, expected)
    };
    play(r#","acmeColour":"red""#, &[]);
    play(r#","interactivity":"read-only""#, &["state.snapshot-agrees"]);
    let origin = |first: &str, then: &str, expected: &[&str]| {
        let time = "2026-01-01T00:00:00.000Z";
        let (first, then) = (chat(time, first), chat(time, then));
        let script = format!("A hello 0\nB hello 0\nA sub chat 0 {first}\nB sub chat 0 {then}");
        check(&script, expected)
    };
    let user = r#","origin":{"kind":"user"}"#;
    origin(user, r#","origin":{"kind":"user","acmeBy":"x"}"#, &[]);
    let fork = r#","origin":{"kind":"fork","chat":"ahp-chat:/2","turnId":"t"}"#;
    origin(user, fork, &["identity.kept"]);
}

#[test]
fn an_older_snapshot_may_arrive_late() {
    let at =
        |title: &str| session("").replacen(r#""title":"""#, &format!(r#""title":"{title}""#), 1);
    let ask = |who: &str| format!(r#"{who} ask 2 subscribe {{"channel":"ahp-session:/1"}}"#);
    let answer = |who: &str, seq: u64, state: &str| {
        format!(
            r#"{who} ok 2 {{"snapshot":{{"resource":"ahp-session:/1","fromSeq":{seq},"state":{state}}}}}"#
        )
    };
    let script = [
        "A hello 0".to_owned(),
        "B hello 0".to_owned(),
        ask("A"),
        ask("B"),
        answer("B", 2, &at("two")),
        answer("A", 1, &at("one")),
        "A got session 2 title two".to_owned(),
    ];
    check(&script.join("\n"), &[]);
    // The older snapshot is also compared if the actions between the two snapshots are known.
    let known = [
        "B hello 0".to_owned(),
        "A hello 0".to_owned(),
        ask("A"),
        format!("B sub session 0 {}", at("")),
        "B got session 1 title one".to_owned(),
        "B got session 2 title two".to_owned(),
        answer("A", 1, &at("wrong")),
        "A got session 2 {\"type\":\"session/activityChanged\",\"activity\":\"x\"}".to_owned(),
    ];
    let said = super::testkit::play(super::OracleOptions::default(), &known.join("\n"));
    assert!(!said.findings.is_empty());
}

#[test]
fn an_invalid_request_may_be_answered_without_an_id() {
    let play = |frame: &str, expected: &[&str]| {
        let refusal = r#"A < {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}"#;
        check(&format!("A hello 0\nA > {frame}\n{refusal}"), expected)
    };
    let none = &[];
    play(r#"{"method":"unsubscribe","params":{"channel":"ahp-root://"}}"#, none);
    play(r#"{"jsonrpc":"1.0","method":"unsubscribe","params":{"channel":"ahp-root://"}}"#, none);
    play(r#"{"jsonrpc":"2.0","params":{}}"#, none);
    play(r#"{"jsonrpc":"2.0","id":true,"method":"ping","params":{}}"#, none);
    let sound = r#"{"jsonrpc":"2.0","method":"unsubscribe","params":{"channel":"ahp-root://"}}"#;
    play(sound, &["jsonrpc.no-stray-response"]);
}

#[test]
fn a_number_is_the_same_with_an_empty_fraction() {
    let ask = r#"A > {"jsonrpc":"2.0","id":2,"method":"ping","params":{"channel":"ahp-root://"}}"#;
    let play = |id: &str, expected: &[&str]| {
        let answer = format!(r#"A < {{"jsonrpc":"2.0","id":{id},"result":null}}"#);
        check(&format!("A hello 0\n{ask}\n{answer}"), expected)
    };
    play("2.0", &[]);
    play("3.0", &["jsonrpc.no-stray-response"]);
    // The `serverSeq` of an action is read in either spelling, so the checks see the action.
    let action = |seq: &str| {
        format!(
            r#"A < {{"jsonrpc":"2.0","method":"action","params":{{"channel":"ahp-root://","serverSeq":{seq},"action":{{"type":"root/agentsChanged","agents":[]}}}}}}"#
        )
    };
    check(&format!("A hello 0\n{}\n{}", action("5.0"), action("6")), &[]);
    let backwards = ["sequence.grows", "sequence.order-agreement"];
    let said = check(&format!("A hello 0\n{}\n{}", action("5.0"), action("4")), &backwards);
    assert_eq!(only(&said, backwards[0]).lines, [4, 5]);
}

#[test]
fn an_answer_repeats_the_id_that_the_client_chose() {
    let play = |id: &str| {
        let ask = format!(r#"A > {{"jsonrpc":"2.0","id":{id},"method":"frob","params":{{}}}}"#);
        let error = r#""error":{"code":-32601,"message":"no"}"#;
        let answer = format!(r#"A < {{"jsonrpc":"2.0","id":{id},{error}}}"#);
        check(&format!("A hello 0\n{ask}\n{answer}"), &[]);
    };
    play("null");
    play("1.8e19");
}

#[test]
fn requests_to_automations_need_no_echo() {
    let automations = "ahp-automations:/";
    let dispatch = |channel: &str, action: &str| {
        format!(
            r#"A > {{"jsonrpc":"2.0","method":"dispatchAction","params":{{"channel":"{channel}","clientSeq":1,"action":{action}}}}}"#
        )
    };
    let sub = format!(r#"A sub {automations} 0 {{"entries":[]}}"#);
    let pause = r#"{"type":"automation/pauseRequested","automation":"a"}"#;
    check(&format!("A hello 0\n{sub}\n{}\nwait 60\nA barrier", dispatch(automations, pause)), &[]);
    let title = r#"{"type":"session/titleChanged","title":"x"}"#;
    let script = format!(
        "A hello 0\nA sub session 0\n{}\nwait 60\nA barrier",
        dispatch("ahp-session:/1", title)
    );
    check(&script, &["dispatch.settled-once"]);
}

#[test]
fn customizations_of_different_clients_may_share_an_id() {
    let play = |clients: [&str; 2], expected: &[&str]| {
        let item = |uri: &str, client: &str| {
            format!(r#"{{"type":"plugin","id":"same","uri":"file:///{uri}","name":"n"{client}}}"#)
        };
        let list =
            format!(r#","customizations":[{},{}]"#, item("a", clients[0]), item("b", clients[1]));
        let state = session("").replacen(r#","chats""#, &format!(r#"{list},"chats""#), 1);
        check(&format!("A hello 0\nA sub session 0 {state}"), expected)
    };
    let [a, b] = [r#","clientId":"A""#, r#","clientId":"B""#];
    play([a, b], &[]);
    play(["", a], &[]);
    play([a, a], &["customizations.unique-ids"]);
    play(["", ""], &["customizations.unique-ids"]);
}

#[test]
fn registering_another_client_breaks_only_a_should() {
    let entry =
        r#"{"type":"session/activeClientSet","activeClient":{"clientId":"client-z","tools":[]}}"#;
    let script = format!(
        "A hello 0\nA sub session 0\nA sends session 1 {entry}\nA echo session 1 A 1 {entry}"
    );
    let said = super::testkit::play(super::OracleOptions::default(), &script);
    let weights: Vec<Weight> = said
        .reports
        .iter()
        .filter(|report| report.check == "clients.own-entry")
        .flat_map(|report| report.findings.iter().map(|finding| finding.weight))
        .collect();
    assert_eq!(weights, [Weight::Should]);
}

#[test]
fn a_capture_may_begin_after_a_client_has_dispatched() {
    let replay = r#"A > {"jsonrpc":"2.0","id":4,"method":"reconnect","params":{"channel":"ahp-root://","clientId":"A","lastSeenServerSeq":5,"subscriptions":["ahp-session:/1"]}}
        A < {"jsonrpc":"2.0","id":4,"result":{"type":"replay","actions":[{"channel":"ahp-session:/1","serverSeq":6,"origin":{"clientId":"A","clientSeq":801},"action":{"type":"session/titleChanged","title":"x"}}],"missing":[]}}"#;
    check(&format!("A open\n{replay}"), &[]);
    check(&format!("A close\nA open\n{replay}"), &[]);
    let seen = format!("A hello 0\nA sub session 0\nA close\nA open\n{replay}");
    check(&seen, &["dispatch.no-forged-origin"]);
}

#[test]
fn a_channel_requested_twice_may_have_two_snapshots() {
    let play = |wanted: &str, expected: &[&str]| {
        let root = r#"{"resource":"ahp-root://","state":{"agents":[]},"fromSeq":0}"#;
        let script = format!(
            r#"A open
            A > {{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"channel":"ahp-root://","protocolVersions":["1.0.0"],"clientId":"A","initialSubscriptions":[{wanted}]}}}}
            A < {{"jsonrpc":"2.0","id":0,"result":{{"protocolVersion":"1.0.0","serverSeq":0,"snapshots":[{root},{root}]}}}}"#
        );
        check(&script, expected)
    };
    play(r#""ahp-root://""#, &["state.given"]);
    play(r#""ahp-root://","ahp-root://""#, &[]);
}

#[test]
fn a_chat_shown_by_a_clients_tool_needs_no_origin() {
    let play = |contributor: &str, origin: &str, expected: &[&str]| {
        let time = "2026-01-01T00:00:00.000Z";
        let worker = format!(
            r#"}},{{"resource":"ahp-chat:/w","title":"","status":1,"modifiedAt":"{time}","origin":{origin}"#
        );
        let call = format!(
            r#"{{"toolCallId":"c","toolName":"t","displayName":"T","status":"completed","invocationMessage":"m","confirmed":"not-needed","success":true,"pastTenseMessage":"d","content":[{{"type":"subagent","resource":"ahp-chat:/w","title":"W"}}]{contributor}}}"#
        );
        let turns = format!(
            r#""turns":[{{"id":"t1","startedAt":"{time}","endedAt":"{time}","message":{{"text":"hi","origin":{{"kind":"user"}}}},"state":"complete","responseParts":[{{"kind":"toolCall","toolCall":{call}}}]}}]"#
        );
        let chat = chat(time, "").replace(r#""turns":[]"#, &turns);
        let session = session(&worker);
        check(
            &format!(
                "A hello 0\nA sub session 0 {session}\nA sub chat 0 {chat}\nwait 9\nA barrier"
            ),
            expected,
        )
    };
    let of_the_call = r#"{"kind":"tool","chat":"ahp-chat:/1","toolCallId":"c"}"#;
    let of_another = r#"{"kind":"tool","chat":"ahp-chat:/1","toolCallId":"other"}"#;
    play("", of_the_call, &[]);
    play("", of_another, &["catalog.worker-origin"]);
    play(
        r#","contributor":{"kind":"mcp","customizationId":"m"}"#,
        of_another,
        &["catalog.worker-origin"],
    );
    play(r#","contributor":{"kind":"client","clientId":"A"}"#, of_another, &[]);
}
