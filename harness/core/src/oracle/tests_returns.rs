//! Tests of the host's duties while requests are open: to a reconnecting client, to two clients with the same
//! request, and before any handshake. For each rule, there is traffic that follows the rule and traffic that breaks it.

use super::testkit::TestVerdict;
use super::tests::{check, only};

/// Two clients with the same channels; the second client disconnects.
const START: &str = "A hello 0\nA sub session 0\nA sub chat 0\nB hello 0\nB sub session 0\nB sub chat 0\n\
                     A got chat 1 start t1\nB got chat 1 start t1\nB close\nB2 open\n";
/// The second client requests the actions that it has missed since the first action.
const ASKED: &str = r#"B2 > {"jsonrpc":"2.0","id":9,"method":"reconnect","params":{"channel":"ahp-root://","clientId":"B","lastSeenServerSeq":1,"subscriptions":["ahp-session:/1","ahp-chat:/1"]}}"#;

fn returns(between: &str, replayed: &str, after: &str, expected: &[&str]) -> TestVerdict {
    let answer = format!(
        r#"B2 < {{"jsonrpc":"2.0","id":9,"result":{{"type":"replay","actions":[{replayed}],"missing":[]}}}}"#
    );
    check(&format!("{START}{ASKED}\n{between}\n{answer}\n{after}"), expected)
}

fn titled(seq: u64) -> String {
    format!(
        r#"{{"channel":"ahp-session:/1","serverSeq":{seq},"action":{{"type":"session/titleChanged","title":"{seq}"}}}}"#
    )
}

#[test]
fn actions_during_a_reconnect_are_not_lost() {
    let turn = "A got chat 2 end t1";
    let later = "A got session 3 title 3\nB2 got session 3 title 3\nB2 barrier";
    let complete = ["fanout.complete"];
    // In these scripts, the missed action is in the replay, or arrives after the replay.
    returns(turn, "", &format!("B2 got chat 2 end t1\n{later}"), &[]);
    let end = r#"{"channel":"ahp-chat:/1","serverSeq":2,"action":{"type":"chat/turnComplete","turnId":"t1","duration":5}}"#;
    returns(turn, end, later, &[]);
    let said = returns(turn, "", later, &complete);
    assert_eq!(only(&said, "fanout.complete").lines, [20, 21, 25]);
    // Without a later frame, it is not proven that the host has skipped the action.
    returns(turn, "", "", &[]);
}

#[test]
fn a_replay_has_every_action_before_its_last_one() {
    let both = "A got chat 2 end t1\nA got session 3 title 3";
    returns(both, &titled(3), "", &["reconnect.never-partial"]);
    let [first, last] = [titled(2), titled(4)];
    let three = "A got session 2 title 2\nA got chat 3 end t1\nA got session 4 title 4";
    returns(three, &format!("{first},{last}"), "", &["reconnect.replay-complete"]);
    returns(three, &first, "", &[]);
}

#[test]
fn an_action_before_its_replay_is_noted() {
    let said = returns(
        "A got session 2 title 2\nB2 got session 2 title 2",
        "",
        "",
        &["reconnect.replay-complete"],
    );
    let finding = only(&said, "reconnect.replay-complete");
    assert_eq!(finding.weight, crate::verdict::Weight::Note);
    // The action that arrives after the replay may also be in the replay.
    let repeated = titled(2);
    returns("A got session 2 title 2\nB2 got session 2 title 2", &repeated, "", &[]);
}

#[test]
fn errors_before_the_handshake_are_judged_by_json_rpc() {
    let shape = ["shape.host"];
    let refused = |error: &str, expected: &[&str]| {
        let ask = r#"A ask 3 listSessions {"channel":"ahp-root://"}"#;
        check(
            &format!("A open\n{ask}\nA < {{\"jsonrpc\":\"2.0\",\"id\":3,\"error\":{error}}}"),
            expected,
        );
    };
    refused(r#"{"code":-32600,"message":"the handshake comes first"}"#, &[]);
    // Which other members an error with this code needs depends on the version of the protocol.
    refused(r#"{"code":-32005,"message":"no"}"#, &[]);
    refused(r#"{"code":-32600}"#, &shape);
    refused(r#"{"code":"no","message":"no"}"#, &shape);
    refused(r#""no""#, &shape);
}

#[test]
fn a_chat_that_was_announced_has_a_state() {
    let added = r#"A got session 1 {"type":"session/chatAdded","summary":{"resource":"ahp-chat:/2","title":"","status":1,"modifiedAt":"2026-01-01T00:00:00.000Z"}}"#;
    let subscribe = r#"A ask 5 subscribe {"channel":"ahp-chat:/2"}"#;
    let start = "A hello 0\nA sub session 0";
    check(&format!("{start}\n{added}\n{subscribe}\nA ok 5 {{}}"), &["state.given"]);
    check(&format!("{start}\n{subscribe}\nA ok 5 {{}}"), &[]);
}

#[test]
fn two_concurrent_creations_of_a_session_must_not_both_succeed() {
    let start = "A hello 0\nB hello 0\n";
    let create = |who: &str, id: u32| {
        format!(r#"{who} ask {id} createSession {{"channel":"ahp-session:/9"}}"#)
    };
    let both = format!("{start}{}\n{}\n", create("A", 5), create("B", 6));
    let refused = r#"B < {"jsonrpc":"2.0","id":6,"error":{"code":-32003,"message":"in use"}}"#;
    let said = check(&format!("{both}A ok 5\nB ok 6"), &["requests.refused"]);
    assert_eq!(only(&said, "requests.refused").lines, [8, 9, 10]);
    check(&format!("{both}A ok 5\n{refused}"), &[]);
    // The session was disposed of, or may have been disposed of, between the two requests.
    let disposal = r#"A ask 7 disposeSession {"channel":"ahp-session:/9"}"#;
    check(&format!("{both}A ok 5\n{disposal}\nA ok 7\nB ok 6"), &[]);
    check(&format!("{both}{disposal}\nA ok 7\nA ok 5\nB ok 6"), &[]);
    // A subscription before the answer to the creation does not prove that the session existed before the creation.
    let subscribed = r#"A ask 8 subscribe {"channel":"ahp-session:/9"}"#;
    check(&format!("{start}{}\n{subscribed}\nA ok 5", create("A", 5)), &[]);
}
