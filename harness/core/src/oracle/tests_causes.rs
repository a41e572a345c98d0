//! Tests of the checks of causality, removed channels, ids and the starts of turns, with traffic that follows each rule
//! and traffic that breaks it.

use super::tests::{check, only};
use crate::verdict::Weight;

const START: &str = "A hello 0\nA sub session 0\nA sub chat 0\n";

fn play(rest: &str, expected: &[&str]) -> super::testkit::TestVerdict {
    check(&format!("{START}{rest}"), expected)
}

#[test]
fn effects_before_the_echo_are_findings() {
    let first = "dispatch.echo-first";
    play("A sends chat 1 start t1\nA echo chat 1 A 1 start t1\nA got chat 2 part t1 p1", &[]);
    let early = "A sends chat 1 start t1\nA got chat 1 part t1 p1\nA echo chat 2 A 1 start t1";
    let dead = "state.dead-host-action";
    let said = play(early, &[first, dead, "turns.active-only"]);
    assert_eq!(only(&said, first).lines, [8, 9]);
    // Another client may receive the start of the turn before the client that dispatched it.
    let other = "B hello 0\nB sub chat 0\nA sends chat 1 start t1\nB echo chat 1 A 1 start t1\n\
                 B got chat 2 part t1 p1\nA echo chat 1 A 1 start t1\nA got chat 2 part t1 p1";
    play(other, &[]);
    // The `serverSeq` of the accepted action is lower than a `serverSeq` that was received before the dispatch.
    let low = "A hello 0\nB hello 0\nA got root 5 agents\nB got root 5 agents\nC hello 5\n\
               C sub session 5\nB sub session 5\nB sends session 1 title x\n\
               C echo session 4 B 1 title x";
    let said = check(low, &["sequence.causal", "fanout.after-snapshot"]);
    assert_eq!(only(&said, "sequence.causal").lines, [7, 16, 17]);
}

#[test]
fn actions_after_a_removal_are_findings() {
    let removal = ["fanout.after-removal"];
    let gone = r#"A < {"jsonrpc":"2.0","method":"root/sessionRemoved","params":{"channel":"ahp-root://","session":"ahp-session:/1"}}"#;
    let said = play(&format!("{gone}\nA got session 1 title x"), &removal);
    assert_eq!(only(&said, removal[0]).lines, [8, 9]);
    play(&format!("{gone}\nA got chat 1 start t1"), &removal);
    play(
        &format!(
            r#"{gone}
        A got session 1 {{"type":"session/chatRemoved","chat":"ahp-chat:/1"}}"#
        ),
        &[],
    );
    // In these scripts, the other connection was not notified of the removal yet, or the URI belongs to a new session.
    play(&format!("B hello 0\nB sub session 0\n{gone}\nB got session 1 title x"), &[]);
    let again = r#"A ask 1 createSession {"channel":"ahp-session:/1"}"#;
    play(&format!("{gone}\n{again}\nA ok 1\nA got session 1 title x"), &[]);
    // A removed chat counts as gone only if a client disposed of it; in any other case the chat may have been
    // moved.
    let chat = r#"A got session 3 {"type":"session/chatRemoved","chat":"ahp-chat:/1"}
        A got chat 4 start t1"#;
    play(chat, &[]);
    let dispose = r#"A ask 1 disposeChat {"channel":"ahp-session:/1","chat":"ahp-chat:/1"}"#;
    play(&format!("{dispose}\n{chat}"), &removal);
    let terminals = r#"A got root 1 {"type":"root/terminalsChanged","terminals":[{"resource":"term:/1","title":"t","claim":{"kind":"client","clientId":"A"},"lifecycle":{"status":"running"}}]}
        A sub term:/1 1 {"title":"t","content":[],"lifecycle":{"status":"running"},"claim":{"kind":"client","clientId":"A"}}
        A got root 2 {"type":"root/terminalsChanged","terminals":[]}"#;
    play(terminals, &[]);
    let data = r#"A got term:/1 3 {"type":"terminal/data","data":"x"}"#;
    play(&format!("{terminals}\n{data}"), &removal);
}

#[test]
fn repeated_ids_of_turns_and_parts_are_findings() {
    let turns = "turns.unique-ids";
    let parts = "turns.unique-parts";
    let turn = "A got chat 1 start t1\nA got chat 2 end t1\n";
    let again = |turn: &str| format!("A sends chat 1 start {turn}\nA echo chat 4 A 1 start {turn}");
    play(&format!("{turn}{}", again("t2")), &[]);
    play(&format!("{turn}{}", again("t1")), &[turns]);
    let cut = r#"A got chat 3 {"type":"chat/truncated"}"#;
    play(&format!("{turn}{cut}\n{}", again("t1")), &[]);
    play("A got chat 1 start t1\nA got chat 2 part t1 p1\nA got chat 3 part t1 p2", &[]);
    play("A got chat 1 start t1\nA got chat 2 part t1 p1\nA got chat 3 part t1 p1", &[parts]);
    let said =
        play("A got chat 1 start t1\nA got chat 2 part t1 p1\nA got chat 3 tool t1 p1", &[parts]);
    assert_eq!(only(&said, parts).weight, Weight::Note);
    let twice = r#"A sub chat 0 {"resource":"ahp-chat:/1","title":"","status":1,"modifiedAt":"2026-01-01T00:00:00.000Z","turns":[TURN,TURN]}"#;
    let turn = r#"{"id":"t1","startedAt":"2026-01-01T00:00:00.000Z","duration":1,"state":"complete","message":{"text":"","origin":{"kind":"user"}},"responseParts":[PARTS]}"#;
    let part = r#"{"kind":"markdown","id":"p1","content":""}"#;
    let hello = |text: &str| format!("A hello 0\n{}", text.replace("PARTS", part));
    check(&hello(&twice.replace("TURN", turn)), &[turns]);
    let once = twice.replace("TURN,TURN", turn);
    check(&hello(&once), &[]);
    check(&hello(&once.replace("PARTS", &format!("{part},{part}"))), &[parts]);
}

#[test]
fn errors_as_response_parts_are_findings() {
    let part = r#"{"type":"chat/responsePart","turnId":"t1","part":{"kind":"error","error":{"errorType":"e","message":"m"}}}"#;
    play(
        &format!("A got chat 1 start t1\nA got chat 2 {part}"),
        &["state.dead-host-action", "turns.error-parts"],
    );
}

#[test]
fn turns_before_ready_or_without_a_reason_are_findings() {
    let ready = "turns.after-ready";
    let creating = r#"A sub session 0 {"provider":"p","title":"","status":1,"lifecycle":"creating","activeClients":[],"chats":[{"resource":"ahp-chat:/1","title":"","status":1,"modifiedAt":"2026-01-01T00:00:00.000Z"}]}"#;
    let creating = format!("A hello 0\n{creating}\nA sub chat 0");
    check(&format!("{creating}\nA got chat 1 start t1"), &[ready]);
    check(
        &format!(
            r#"{creating}
        A got session 1 {{"type":"session/ready"}}
        A got chat 2 start t1"#
        ),
        &[],
    );
    let explained = "turns.explained";
    let two = "A got chat 1 start t1\nA got chat 2 end t1\n";
    play(&format!("{two}A got chat 3 start t2"), &[explained]);
    play("A got chat 1 start t1", &[]);
    let queued = r#"A got chat 3 {"type":"chat/turnStarted","turnId":"t2","startedAt":"2026-01-01T00:00:01.000Z","queuedMessageId":"q","message":{"text":"","origin":{"kind":"user"}}}"#;
    play(&format!("{two}{queued}"), &[]);
    let agent = r#"A got chat 3 {"type":"chat/turnStarted","turnId":"t2","startedAt":"2026-01-01T00:00:01.000Z","message":{"text":"","origin":{"kind":"agent"}}}"#;
    play(&format!("{two}{agent}"), &[]);
    let made = |message: &str| {
        format!(
            r#"A hello 0
            A ask 1 createChat {{"channel":"ahp-session:/1","chat":"ahp-chat:/1"{message}}}
            A ok 1
            A sub chat 0
            A got chat 1 start t1"#
        )
    };
    check(&made(""), &[explained]);
    check(&made(r#","initialMessage":{"text":"","origin":{"kind":"user"}}"#), &[]);
}

#[test]
fn implausible_times_of_turns_are_findings() {
    let times = "turns.times";
    let end = |duration: i64| {
        format!(
            r#"A got chat 1 start t1
            A got session 2 {{"type":"session/chatUpdated","chat":"ahp-chat:/1","changes":{{"status":8,"modifiedAt":"2026-01-01T00:00:01.000Z"}}}}
            wait 2
            A got chat 3 {{"type":"chat/turnComplete","turnId":"t1","duration":{duration}}}"#
        )
    };
    play(&end(2_000), &[]);
    play(&end(60_000), &[times]);
    play(&end(-1), &[times]);
    let started = r#"A got chat 1 {"type":"chat/turnStarted","turnId":"t1","startedAt":"yesterday","message":{"text":"","origin":{"kind":"user"}}}"#;
    play(started, &[times]);
}

#[test]
fn accepted_actions_without_an_effect_are_findings() {
    let effect = "dispatch.accepted-effect";
    let cancel = "A sends chat 1 cancel t9\nA echo chat 1 A 1 cancel t9";
    play(cancel, &[effect, "turns.active-only"]);
    play("A sends chat 1 start t1\nA echo chat 1 A 1 start t1", &[]);
}

#[test]
fn a_replay_for_a_client_that_is_ahead_is_a_finding() {
    check(
        "A hello 0\nA sub session 0\nA close\nA back 50 root,session missing=\nA got session 7 title x",
        &["reconnect.never-partial"],
    );
}
