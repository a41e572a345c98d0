//! Random conversations of three clients. Every frame is well formed, every accepted action has an effect, and
//! all clients end with the same states.

use super::pair::*;

/// A small random generator: the same seed gives the same conversation.
struct TestDice(u64);

impl TestDice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.roll(from.len())]
    }
}

const SCRIPTS: &[&str] = &[
    "",
    "say a b\nthink c",
    "tool shell x confirm",
    "tool shell x reconfirm confirm-result\nsay b",
    "parallel\ntool read a confirm\ntool client look b\nend\nsay c",
    "ask Q\nsay d",
    "ask Q a b",
    "fail net resumable\nsay after",
    "endless",
    "hold go\ntitle T",
    "usage 1 2\ntool edit e fails",
    "tool write f\ntool edit \"f\\nx\\ny\"\ntool write \"g\\nx\"",
    "nonsense",
];
const CHATS: &[&str] = &["ahp-chat:/1", "ahp-chat:/2", "ahp-chat:/none"];

fn action(dice: &mut TestDice, pair: &TestPair, conn: ConnId, chat: &str) -> Value {
    let turn = dice.pick(&["t1", "t2", "t3", "t4", "t5", "t6", "t7"]).to_owned();
    let state = pair.seats[&conn].states.get(chat).unwrap_or(&Value::Null);
    let active = state["activeTurn"]["id"].as_str().unwrap_or(&turn).to_owned();
    let parts = state["activeTurn"]["responseParts"].as_array().cloned().unwrap_or_default();
    let part = parts.get(dice.roll(parts.len().max(1))).cloned().unwrap_or_default();
    let call = &part["toolCall"]["toolCallId"];
    let request = &part["request"]["id"];
    let id = dice.pick(&["a", "b", "c"]);
    let yes = dice.roll(2) == 0;
    let kind = dice.pick(&["queued", "steering"]);
    let text = dice.pick(&["hello", "ahp-release: go", "ahp-script: 1\nsay more"]);
    let answer = json!({"state": "submitted", "value": {"kind": "text", "value": "v"}});
    match dice.roll(17) {
        0..=2 => turn_started(&turn, dice.pick(SCRIPTS)),
        3 => json!({"type": "chat/turnCancelled", "turnId": active, "duration": 7}),
        4 => json!({"type": "chat/turnResume", "turnId": turn}),
        5 => json!({"type": "chat/truncated", "turnId": turn}),
        6 if yes => json!({"type": "chat/truncated"}),
        6 | 7 => {
            json!({"type": "chat/pendingMessageSet", "kind": kind, "id": id,
                "message": message(text)})
        }
        8 => json!({"type": "chat/pendingMessageRemoved", "kind": kind, "id": id}),
        9 => json!({"type": "chat/queuedMessagesReordered", "order": [id]}),
        10 if yes => json!({"type": "chat/toolCallConfirmed", "turnId": active, "toolCallId": call,
            "approved": true, "confirmed": "user-action"}),
        10 => json!({"type": "chat/toolCallConfirmed", "turnId": active, "toolCallId": call,
            "approved": false, "reason": "denied"}),
        11 => json!({"type": "chat/toolCallResultConfirmed", "turnId": active, "toolCallId": call,
            "approved": yes}),
        12 => json!({"type": "chat/toolCallComplete", "turnId": active, "toolCallId": call,
            "result": {"success": yes, "pastTenseMessage": "Did it"}}),
        13 => json!({"type": "chat/inputCompleted", "requestId": request,
            "response": dice.pick(&["accept", "decline", "cancel"]),
            "answers": {"answer": answer}}),
        14 => json!({"type": "chat/inputAnswerChanged", "requestId": request,
            "questionId": "answer", "answer": answer}),
        15 => json!({"type": "chat/isReadChanged", "isRead": yes}),
        _ => json!({"type": "chat/draftChanged", "draft": message(text)}),
    }
}

fn session_action(dice: &mut TestDice, client: &str) -> Value {
    let yes = dice.roll(2) == 0;
    let active = json!({"clientId": client, "tools": [{"name": "look"}]});
    match dice.roll(6) {
        0 => json!({"type": "session/titleChanged", "title": dice.pick(&["S", "T"])}),
        1 => json!({"type": "session/isReadChanged", "isRead": yes}),
        2 => json!({"type": "session/isArchivedChanged", "isArchived": yes}),
        3 => json!({"type": "session/activeClientSet", "activeClient": active}),
        4 => json!({"type": "session/activeClientRemoved", "clientId": client}),
        _ => {
            json!({"type": "session/configChanged",
                "config": {"mode": dice.pick(&["ask", "act", "x"])}})
        }
    }
}

fn converse(seed: u64) {
    let mut dice = TestDice(seed);
    let capacity = [4, 50, 10_000][dice.roll(3)];
    let (mut pair, first, chat) =
        TestPair::ready(HostConfig { replay_capacity: capacity, ..HostConfig::default() });
    let mut conns = vec![(first, "c1".to_owned())];
    for conn in [2, 3] {
        conns.push((pair.join(conn, "1.0.0", &[ROOT, SESSION, &chat]), format!("c{conn}")));
    }
    let mut next_conn = 10;
    for _ in 0..120 {
        let at = dice.roll(conns.len());
        let (conn, client) = conns[at].clone();
        let uri = if dice.roll(4) == 0 { dice.pick(CHATS).to_owned() } else { chat.clone() };
        match dice.roll(24) {
            0..=10 => {
                let action = action(&mut dice, &pair, conn, &uri);
                pair.dispatch(conn, &uri, action);
            }
            11 | 12 => {
                let action = session_action(&mut dice, &client);
                pair.dispatch(conn, SESSION, action);
            }
            13 => {
                let config = json!({"greeting": dice.pick(&["hi", "ho"])});
                pair.dispatch(conn, ROOT, json!({"type": "root/configChanged", "config": config}));
            }
            14 => {
                let turn = dice.pick(&["t1", "t2", "t3"]);
                let mut params = json!({"channel": SESSION, "chat": dice.pick(CHATS)});
                match dice.roll(3) {
                    0 => params["initialMessage"] = message("hello"),
                    1 => {
                        params["source"] = json!({"kind": dice.pick(&["fork", "sideChat"]),
                        "chat": chat, "turnId": turn})
                    }
                    _ => {}
                }
                pair.ask(conn, "createChat", params);
            }
            15 => {
                pair.ask(conn, "disposeChat", json!({"channel": dice.pick(CHATS)}));
            }
            16 => {
                let view = json!({"channel": uri, "view": {"turns": 1 + dice.roll(2)}});
                pair.ask(conn, "subscribe", view);
            }
            17 => {
                pair.ask(conn, "fetchTurns", json!({"channel": uri}));
            }
            18 => {
                pair.raw(
                    conn,
                    &json!({"jsonrpc": "2.0", "method": "unsubscribe",
                    "params": {"channel": uri}})
                    .to_string(),
                );
                if let Some(seat) = pair.seats.get_mut(&conn) {
                    seat.states.remove(&uri);
                }
            }
            19 => conns[at].0 = come_back(&mut pair, conn, &client, &mut next_conn),
            20 => pair.run(),
            _ => pair.step(),
        }
    }
    let observer = pair.join(9, "1.0.0", &[]);
    let mut compared = 0;
    for (conn, _) in &conns {
        for (uri, state) in pair.seats[conn].states.clone() {
            let there = pair.ask(observer, "subscribe", json!({"channel": uri}));
            if there.get("error").is_none() && state.get("turnsNextCursor").is_none() {
                pair.converges(*conn, &uri);
                compared += 1;
            }
        }
    }
    assert!(compared > 0);
}

/// Closes a connection, advances the host twice to its next timer, and reconnects with the last `serverSeq` that the
/// client has seen.
fn come_back(pair: &mut TestPair, conn: ConnId, client: &str, next: &mut u32) -> ConnId {
    pair.host.handle_close(pair.now, conn);
    pair.step();
    pair.step();
    let mut seat = std::mem::take(pair.seats.get_mut(&conn).unwrap());
    *next += 1;
    let back = pair.open(*next);
    let (seen, listed) = (seat.seq, seat.states.keys().cloned().collect::<Vec<String>>());
    seat.inbox.clear();
    pair.seats.insert(back, seat);
    let params = json!({"channel": ROOT, "clientId": client, "lastSeenServerSeq": seen,
        "subscriptions": listed});
    let result = pair.ask(back, "reconnect", params)["result"].clone();
    let seat = pair.seats.get_mut(&back).unwrap();
    let held = |uri: &String| match result["type"].as_str() {
        Some("snapshot") => {
            result["snapshots"].as_array().unwrap().iter().any(|s| s["resource"] == *uri)
        }
        _ => !result["missing"].as_array().unwrap().contains(&json!(uri)),
    };
    seat.states.retain(|uri, _| held(uri));
    back
}

#[test]
fn converges_whatever_happens() {
    for seed in 0..100 {
        let run = std::panic::catch_unwind(|| converse(seed));
        assert!(run.is_ok(), "seed {seed}");
    }
}

/// Inserts an unusual value at a random place.
fn spoil(dice: &mut TestDice, value: &mut Value) {
    let inside = dice.roll(4) != 0;
    match value {
        Value::Object(members) if inside && !members.is_empty() => {
            let at = dice.roll(members.len());
            if let Some(member) = members.values_mut().nth(at) {
                spoil(dice, member);
            }
        }
        Value::Array(items) if inside && !items.is_empty() => {
            let at = dice.roll(items.len());
            spoil(dice, &mut items[at]);
        }
        _ => {
            let odd = [
                json!(null),
                json!(true),
                json!(-1),
                json!(1.5),
                json!(u64::MAX),
                json!(""),
                json!("é\u{0}"),
                json!([]),
                json!({}),
                json!([[]]),
                json!({"id": {}}),
                json!(1e300),
            ];
            *value = odd[dice.roll(odd.len())].clone();
        }
    }
}

#[test]
fn survives_odd_frames() {
    for seed in 0..100 {
        let mut dice = TestDice(seed);
        let (mut pair, a, chat) = TestPair::ready(HostConfig::default());
        pair.strict = false;
        for _ in 0..100 {
            let (method, mut params) = match dice.roll(8) {
                0 => (
                    "createSession",
                    json!({"channel": "ahp-session:/2", "config": {"mode": "ask"},
                    "workingDirectories": ["file:///a"],
                        "activeClient": {"clientId": "c1", "tools": []}}),
                ),
                1 => ("subscribe", json!({"channel": chat, "view": {"turns": 1}})),
                2 => (
                    "listSessions",
                    json!({"channel": ROOT, "limit": 1, "cursor": "sessions-after a b"}),
                ),
                3 => (
                    "reconnect",
                    json!({"channel": ROOT, "clientId": "c1", "lastSeenServerSeq": 1,
                    "subscriptions": [chat]}),
                ),
                4 => (
                    "createChat",
                    json!({"channel": SESSION, "chat": "ahp-chat:/1",
                    "source": {"kind": "fork", "chat": chat, "turnId": "t1"},
                    "initialMessage": message("x")}),
                ),
                5 => (
                    "dispatchAction",
                    json!({"channel": SESSION, "clientSeq": 1,
                    "action": session_action(&mut dice, "c1")}),
                ),
                _ => (
                    "dispatchAction",
                    json!({"channel": chat, "clientSeq": 1,
                    "action": action(&mut dice, &pair, a, &chat)}),
                ),
            };
            if dice.roll(3) != 0 {
                spoil(&mut dice, &mut params);
            }
            let mut frame = json!({"jsonrpc": "2.0", "method": method, "params": params});
            if method != "dispatchAction" {
                frame["id"] = json!(7);
            }
            if dice.roll(10) == 0 {
                spoil(&mut dice, &mut frame);
            }
            pair.raw(a, &frame.to_string());
            pair.step();
        }
        let conn = pair.open(50);
        let answer = pair.ask(conn, "ping", json!({"channel": ROOT}));
        assert!(answer["result"].is_null() && answer.get("result").is_some(), "{answer}");
    }
}
