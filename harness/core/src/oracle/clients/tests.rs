//! Tests without captures: the selection of the client that is judged, incomplete transcripts, and the states that a
//! client may have known.

use crate::oracle::testkit::{TestVerdict, play_clients};

/// The client `A` completes the tool call `c`.
const COMPLETES: &str = r#"A > {"jsonrpc":"2.0","method":"dispatchAction","params":{"channel":"ahp-chat:/1","clientSeq":1,"action":{"type":"chat/toolCallComplete","turnId":"t1","toolCallId":"c","result":{"success":true,"pastTenseMessage":"d"}}}}"#;

fn checks(script: &str) -> Vec<&'static str> {
    play_clients(None, script).checks()
}

fn observations(verdict: &TestVerdict, check: &str) -> u64 {
    let report = verdict.reports.iter().find(|report| report.check == check);
    report.map_or(0, |report| report.observations)
}

#[test]
fn only_the_named_client_is_judged() {
    let script = "
        A hello 5
        B hello 5
        A sub session 5
        B sub session 5
        A sends session 2 title a
        A sends session 1 title b
        B sends session 1 title c";
    let grows = "clients.client-seq";
    assert_eq!(play_clients(None, script).checks(), [grows]);
    let of_a = play_clients(Some("A"), script);
    assert_eq!((of_a.checks(), observations(&of_a, grows)), (vec![grows], 1));
    let of_b = play_clients(Some("B"), script);
    assert_eq!((of_b.checks(), observations(&of_b, "clients.dispatchable")), (vec![], 1));
    let of_nobody = play_clients(Some("C"), script);
    assert!(of_nobody.reports.iter().all(|report| report.observations == 0));
}

#[test]
fn a_client_that_says_nothing_is_not_observed() {
    let verdict = play_clients(None, "A open\nwait 60\nA close");
    assert!(verdict.reports.iter().all(|report| report.observations == 0));
}

#[test]
fn the_beginning_of_a_connection_may_be_missing() {
    assert!(checks("A sends session 1 title a\nA sends session 2 title b").is_empty());
}

/// A client may complete its own running call, but not a call of another client, and not a call whose turn was
/// cancelled some time ago.
#[test]
fn a_client_is_not_blamed_for_frames_that_it_may_not_have_read() {
    let state = |owner: &str| {
        format!(
            r#"A sub chat 5 {{"resource":"ahp-chat:/1","title":"","status":1,"modifiedAt":"2026-01-01T00:00:00.000Z","turns":[],"activeTurn":{{"id":"t1","startedAt":"2026-01-01T00:00:00.000Z","message":{{"text":"","origin":{{"kind":"user"}}}},"responseParts":[{{"kind":"toolCall","toolCall":{{"status":"running","toolCallId":"c","toolName":"t","displayName":"T","contributor":{{"kind":"client","clientId":"{owner}"}},"invocationMessage":"m","confirmed":"not-needed"}}}}]}}}}"#
        )
    };
    let play = |owner: &str, between: &str| {
        checks(&format!("A hello 5\n{}\nwait 3\n{between}\n{COMPLETES}", state(owner)))
    };
    assert_eq!(play("B", ""), ["clients.tool-owner"]);
    assert!(play("A", "").is_empty());
    // In the first script the cancel has just arrived; in the second, the client has had time to read it.
    assert!(play("A", "A got chat 6 cancel t1").is_empty());
    assert_eq!(play("A", "A got chat 6 cancel t1\nwait 3"), ["clients.tool-cancelled"]);
}

/// The host names its resources in the root state. If the transcript does not contain the root state, the client may
/// know the resources from another source.
#[test]
fn a_resource_is_judged_only_if_the_root_state_is_known() {
    let script = |between: &str| {
        format!(
            r#"A open
            A ask 1 initialize {{"channel":"ahp-root://","protocolVersions":["1.0.0"],"clientId":"A"}}
            A ok 1 {{"protocolVersion":"1.0.0","serverSeq":5,"snapshots":[]}}
            {between}
            A ask 2 authenticate {{"channel":"ahp-root://","resource":"https://api.example","token":"t"}}
            A ok 2 {{}}"#
        )
    };
    assert_eq!(checks(&script("")), ["clients.root-subscribed"]);
    let both = ["clients.root-subscribed", "clients.auth-resource"];
    assert_eq!(checks(&script("A sub root 5")), both);
}

#[test]
fn a_restart_of_the_host_makes_numbers_meaningless() {
    let script = |between: &str| {
        format!(
            "A hello 50
             A sub session 50
             A got session 51 title a
             wait 3
             A barrier
             A close
             {between}
             A2 back 3 root,session missing= "
        )
    };
    assert_eq!(checks(&script("")), ["clients.last-seen"]);
    assert!(checks(&script("restart")).is_empty());
}
