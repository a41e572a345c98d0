//! Tests of the host's duties at a disposal, and of the moment at which a session counts as at rest. For each rule,
//! there is traffic that follows the rule and traffic that breaks it.

use super::tests::{check, only};
use super::{OracleOptions, testkit};
use crate::verdict::Weight;

const START: &str = "A hello 0\nA sub session 0\nA sub chat 0\n";
const DISPOSAL: &str = r#"A ask 1 disposeSession {"channel":"ahp-session:/1"}"#;

fn play(rest: &str, expected: &[&str]) -> testkit::TestVerdict {
    check(&format!("{START}{rest}"), expected)
}

#[test]
fn a_disposal_does_not_settle_dispatches() {
    let settled = "dispatch.settled-once";
    let overtaken =
        "A sends session 1 title x\nA sends session 2 title y\nA echo session 1 A 2 title y";
    play(&format!("{overtaken}\n{DISPOSAL}\nA ok 1"), &[settled]);
    play(&format!("A sends session 1 title x\n{DISPOSAL}\nA ok 1"), &[]);
    play(&format!("A sends session 1 title x\nA unsub session\n{DISPOSAL}\nA ok 1"), &[]);
    let chat = "A sends chat 1 start t1\nA sends chat 2 cancel t1\nA refused chat 1 A 2 cancel t1";
    play(&format!("{chat}\n{DISPOSAL}\nA ok 1"), &[settled]);
}

/// Returns the weight of the finding that a snapshot with a wrong title causes, in a capture that lacks some clients.
fn weight_of_another_title(script: &str) -> Weight {
    let options = OracleOptions { foreign: true, ..OracleOptions::default() };
    let other =
        testkit::state("session").to_string().replacen(r#""title":"""#, r#""title":"y""#, 1);
    let said = testkit::play(options, &format!("{script}\nA sub session 5 {other}"));
    only(&said, "state.snapshot-agrees").weight
}

#[test]
fn a_difference_after_an_unseen_disposal_is_only_noted() {
    let start = "A hello 0\nA sub session 0\nA got session 1 title x";
    assert_eq!(weight_of_another_title(start), Weight::Essential);
    // When a session is disposed of, its chats are removed, and the subscribers of the session are notified of this.
    let deaf = "A hello 0\nA unsub root\nA barrier\nA sub session 0\nA got session 1 title x";
    assert_eq!(weight_of_another_title(deaf), Weight::Essential);
    let removal = r#"A got session 2 {"type":"session/chatRemoved","chat":"ahp-chat:/1"}"#;
    assert_eq!(weight_of_another_title(&format!("{deaf}\n{removal}")), Weight::Note);
    // Another connection that subscribed before the last action would be notified.
    assert_eq!(
        weight_of_another_title(&format!("B hello 0\n{deaf}\n{removal}")),
        Weight::Essential
    );
    assert_eq!(weight_of_another_title(&format!("{deaf}\n{removal}\nB hello 4")), Weight::Note);
}

#[test]
fn a_disposal_does_not_excuse_lost_actions() {
    let lost =
        "B hello 0\nB sub session 0\nB sub chat 0\nB got chat 1 start t1\nB got chat 2 end t1\n";
    let complete = "fanout.complete";
    play(&format!("{lost}A got chat 2 end t1\n{DISPOSAL}\nA ok 1"), &[complete]);
    // The answer to the disposal arrives after everything that the host sent before it processed the disposal, so the
    // lost action would have arrived.
    play(&format!("{lost}{DISPOSAL}\nA ok 1"), &[complete]);
    play(&format!("{lost}A got chat 1 start t1\nA got chat 2 end t1\n{DISPOSAL}\nA ok 1"), &[]);
    // Nothing proves that the actions should have arrived before the answer.
    play(&format!("{DISPOSAL}\n{lost}A ok 1"), &[]);
}

#[test]
fn the_answer_to_a_disposal_ends_the_channel() {
    let removal = "fanout.after-removal";
    let gone = format!("{DISPOSAL}\nA ok 1");
    play(&format!("{gone}\nA got chat 1 start t1"), &[removal]);
    play(&format!("{DISPOSAL}\nA got chat 1 start t1\nA ok 1"), &[]);
    let refused = r#"A < {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no"}}"#;
    play(&format!("{DISPOSAL}\n{refused}\nA got chat 1 start t1"), &[]);
    // A dispatch after the removal gets no answer; a dispatch before the removal may get an answer.
    let sent = "A sends session 1 title x";
    let said = play(&format!("{gone}\n{sent}\nA refused session 0 A 1 title x"), &[removal]);
    assert_eq!(only(&said, removal).lines, [9, 10, 11]);
    play(&format!("{sent}\n{gone}\nA refused session 0 A 1 title x"), &[]);
    // The other connection was not notified of the removal. Another check judges whether it may subscribe.
    let other = format!("B hello 0\nB sub session 0\n{gone}\nB got session 1 title x");
    play(&other, &[]);
}

#[test]
fn the_order_of_settlements_is_judged_on_the_own_connection() {
    let both = "B hello 0\nB sub session 0\nA sends session 1 title x\nA sends session 2 title y\n";
    let first = "echo session 1 A 2 title y";
    let then = "echo session 2 A 1 title x";
    let order = ["dispatch.in-order"];
    play(&format!("{both}A {first}\nB {first}\nA {then}\nB {then}"), &order);
    play(&format!("{both}B {first}\nB {then}\nA {first}\nA {then}"), &order);
    let kept = "echo session 1 A 1 title x";
    let last = "echo session 2 A 2 title y";
    play(&format!("{both}B {kept}\nB {last}\nA {kept}\nA {last}"), &[]);
}

/// Returns a call that waits for confirmation, and the session's entry for it.
fn waiting(shown: &str) -> String {
    let entry = format!(
        r#"{{"kind":"toolConfirmation","id":"q","chat":"ahp-chat:/1","turnId":"t1","toolCall":{{"toolCallId":"c","toolName":"t","displayName":"T","status":"pending-confirmation","invocationMessage":"{shown}"}}}}"#
    );
    format!(
        r#"A got chat 1 start t1
        A got session 2 {{"type":"session/chatUpdated","chat":"ahp-chat:/1","changes":{{"status":8}}}}
        A got chat 3 tool t1 c
        A got chat 4 ready t1 c
        A got session 5 {{"type":"session/inputNeededSet","request":{entry}}}
        A got session 6 {{"type":"session/chatUpdated","chat":"ahp-chat:/1","changes":{{"status":24}}}}
        A sends chat 1 approve t1 c
        A echo chat 7 A 1 approve t1 c
        A got session 8 {{"type":"session/inputNeededRemoved","id":"q"}}
        A got session 9 {{"type":"session/chatUpdated","chat":"ahp-chat:/1","changes":{{"status":8}}}}"#
    )
}

#[test]
fn a_removed_entry_must_have_equalled_its_request() {
    play(&waiting("m"), &[]);
    let said = play(&waiting("another command"), &["input.rollup-mirrors"]);
    assert_eq!(only(&said, "input.rollup-mirrors").lines, [7, 12, 15, 16]);
}

#[test]
fn chat_updated_carries_a_status_that_the_chat_has() {
    let update = |seq: u32, status: u32| {
        format!(
            r#"A got session {seq} {{"type":"session/chatUpdated","chat":"ahp-chat:/1","changes":{{"status":{status},"modifiedAt":"2026-01-01T00:00:01.005Z"}}}}"#
        )
    };
    let turn = |told: u32| {
        let (running, over) = (update(2, told), update(4, 1));
        format!("A got chat 1 start t1\n{running}\nA got chat 3 end t1\n{over}")
    };
    play(&format!("wait 2\n{}", turn(8)), &[]);
    play(&format!("wait 2\n{}", turn(2)), &["catalog.mirrors-chats"]);
    // An update of the entry with a status from before the first snapshot may still be in transit.
    play(&turn(2), &[]);
    // The update of the entry may arrive late: since the previous update, the chat has had that status.
    let (running, over) = (update(3, 8), update(4, 1));
    let turn = format!("wait 2\nA got chat 1 start t1\nA got chat 2 end t1\n{running}\n{over}");
    play(&turn, &[]);
}

#[test]
fn a_session_is_at_rest_while_the_host_is_busy() {
    let start = "A got chat 1 start t1\nB hello 1\n";
    let pings = "wait 0.9\nB barrier\n".repeat(4);
    let stale = ["catalog.mirrors-chats"];
    play(&format!("{start}{pings}"), &stale);
    play(&format!("{start}wait 2\nB barrier"), &stale);
    play(&format!("{start}{}", "wait 0.9\nB barrier\n".repeat(3)), &[]);
    // The answer to an open request about the session may still change the session.
    let asked = r#"B ask 7 disposeChat {"channel":"ahp-session:/1","chat":"ahp-chat:/9"}"#;
    play(&format!("{start}{asked}\n{pings}"), &[]);
}

#[test]
fn a_subscription_from_before_a_disposal_may_have_ended() {
    let back = |who: &str| {
        let params = r#"{"channel":"ahp-root://","clientId":"B","lastSeenServerSeq":0,"subscriptions":["ahp-session:/1"]}"#;
        format!("{who} open\n{who} ask 0 reconnect {params}")
    };
    let answer = |who: &str, missing: &str| {
        format!(r#"{who} ok 0 {{"type":"replay","actions":[],"missing":[{missing}]}}"#)
    };
    let met = "B hello 0\nB close\nC hello 0\nC close";
    let resumed = answer("B2", "");
    // The host handled the reconnect before the disposal, but its answer arrived after the answer to the disposal.
    let (first, last) = (back("B2"), back("C2").replace("\"B\"", "\"C\""));
    let crossing = format!("{met}\n{first}\n{DISPOSAL}\nA ok 1\n{resumed}");
    play(&crossing, &[]);
    let missing = answer("C2", "\"ahp-session:/1\"");
    play(&format!("{crossing}\n{last}\n{missing}"), &[]);
    // A reconnect after the answer cannot resume the channel.
    play(&format!("{met}\n{DISPOSAL}\nA ok 1\n{first}\n{resumed}"), &["reconnect.missing"]);
}

#[test]
fn a_removed_entry_is_not_compared_with_a_chat_that_is_behind() {
    // One client follows the session, and the other follows the chat, whose actions arrive later.
    let start = "A hello 0\nA sub session 0\nB hello 0\nB sub chat 0\n";
    let lines: Vec<String> = waiting("m").lines().map(|line| line.trim().to_owned()).collect();
    let of = |channel: &str| {
        let lines = lines.iter().filter(|line| line.split(' ').nth(2) == Some(channel));
        // The decision on the call becomes an action of the host, because a dispatch of the decision would show when
        // the client knew the call.
        let lines = lines.filter(|line| !line.contains(" sends "));
        let lines =
            lines.map(|line| line.replacen('A', if channel == "chat" { "B" } else { "A" }, 1));
        let lines: Vec<String> = lines.collect();
        lines.join("\n").replace("echo chat 7 A 1", "got chat 7")
    };
    check(&format!("{start}{}\n{}", of("session"), of("chat")), &[]);
    // If the chat is up to date, an entry for a call that the chat never had is a finding.
    let other = of("session").replace("\"toolCallId\":\"c\"", "\"toolCallId\":\"d\"");
    check(
        &format!(
            "{start}{}\nB got chat 10 {{\"type\":\"chat/isReadChanged\",\"isRead\":true}}\n{other}",
            of("chat")
        ),
        &["input.rollup-stale"],
    );
}
