//! Reconnects: the messages that a client receives after an interruption.

use super::pair::*;

#[test]
fn replays_what_was_missed() {
    // The arguments: the number of envelopes that the host keeps, and the type of the expected result.
    let check = |capacity: usize, expected: &str| {
        let config = HostConfig { replay_capacity: capacity, ..HostConfig::default() };
        let (mut pair, a, chat) = TestPair::ready(config);
        let b = pair.join(2, "1.0.0", &[ROOT, SESSION, &chat]);
        pair.start(a, &chat, "t1", "say a b\ntool shell x confirm");
        pair.host.handle_close(pair.now, a);
        pair.run();
        let mut seat = std::mem::take(pair.seats.get_mut(&a).unwrap());
        let back = pair.open(3);
        seat.inbox.clear();
        let last_seen = seat.seq;
        pair.seats.insert(back, seat);
        let params = json!({
            "channel": ROOT, "clientId": "c1", "lastSeenServerSeq": last_seen,
            "subscriptions": [ROOT, SESSION, chat, "ahp-session:/gone"],
        });
        let result = pair.ask(back, "reconnect", params)["result"].clone();
        assert_eq!(result["type"], expected, "{result}");
        if expected == "replay" {
            assert_eq!(result["missing"], json!(["ahp-session:/gone"]));
        }
        assert_eq!(pair.call(back, &chat).1, "pending-confirmation");
        let cancel = json!({"type": "chat/turnCancelled", "turnId": "t1", "duration": 5});
        assert_eq!(pair.dispatch(back, &chat, cancel), "accepted");
        for conn in [b, back] {
            for channel in [ROOT, SESSION, &chat] {
                pair.converges(conn, channel);
            }
        }
    };
    check(1_000, "replay");
    check(3, "snapshot");
}

#[test]
fn refuses_and_survives_odd_reconnects() {
    let (mut pair, a, chat) = TestPair::ready(HostConfig::default());
    pair.start(a, &chat, "t1", "hold x");
    let params = |client: &str, seq: i64| {
        json!({
            "channel": ROOT, "clientId": client, "lastSeenServerSeq": seq, "subscriptions": [chat],
        })
    };
    let b = pair.open(2);
    assert!(pair.ask(b, "reconnect", params("nobody", 0)).get("error").is_some());
    assert!(pair.ask(b, "reconnect", params("c1", -1)).get("error").is_some());
    assert_eq!(pair.ask(b, "reconnect", params("c1", 9_999))["result"]["type"], "snapshot");
    assert_eq!(pair.seats[&a].closed, Some(1000), "the older connection is superseded");
    pair.host.restart(pair.now);
    let c = pair.open(3);
    let result = pair.ask(c, "reconnect", params("c1", 1))["result"].clone();
    assert_eq!(result["snapshots"][0]["state"]["turns"][0]["state"], "error");
}

#[test]
fn removes_clients_that_do_not_reconnect() {
    let (mut pair, a, chat) = TestPair::ready(HostConfig::default());
    let b = pair.join(2, "1.0.0", &[SESSION, &chat]);
    let active = json!({"clientId": "c1", "tools": [{"name": "look"}]});
    pair.dispatch(a, SESSION, json!({"type": "session/activeClientSet", "activeClient": active}));
    pair.start(a, &chat, "t1", "tool client look x");
    pair.run();
    pair.host.handle_close(pair.now, a);
    pair.run();
    assert_eq!(pair.call(b, &chat).1, "running");
    pair.now += Duration::from_secs(25);
    pair.run();
    assert_eq!(pair.state(b, SESSION)["activeClients"], json!([]));
    assert_eq!(pair.state(b, &chat)["turns"][0]["state"], "complete");
}
