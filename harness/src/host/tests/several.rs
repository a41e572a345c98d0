//! Conversations about several chats, and about the context and the side effects of agents' work.

use super::super::SansIoHost;
use super::faults::{last, opened, text};
use super::pair::*;

const GARDEN: &str = "ahp-chat:/garden";
const HOUSE: &str = "ahp-chat:/house";
const SECOND: &str = "ahp-session:/second";

/// Plays a turn until it ends or waits.
fn play(pair: &mut TestPair, conn: ConnId, (chat, turn): (&str, &str), script: &str, with: Value) {
    let mut start = turn_started(turn, script);
    start["message"]["attachments"] = with;
    pair.dispatch(conn, chat, start);
    pair.run();
}

fn attached(chat: &str, end: Option<&str>) -> Value {
    let mut one = json!({"type": "chat", "label": "L", "resource": chat});
    if let Some(end) = end {
        one["endTurn"] = json!(end);
    }
    json!([one])
}

/// Plays a conversation in which agents receive context and show their work.
pub(super) fn chats_and_work(host: Box<dyn SansIoHost>) -> String {
    let (mut pair, a, chat) = opened(host);
    let none = || json!([]);
    for uri in [GARDEN, HOUSE] {
        pair.ask(a, "createChat", json!({"channel": SESSION, "chat": uri}));
        pair.subscribe(a, uri);
    }
    play(&mut pair, a, (GARDEN, "g1"), "say tulip", none());
    play(&mut pair, a, (GARDEN, "g2"), "say crocus", none());
    let source = json!({"kind": "fork", "chat": GARDEN, "turnId": "g1"});
    let fork = "ahp-chat:/fork";
    pair.ask(a, "createChat", json!({"channel": SESSION, "chat": fork, "source": source}));
    pair.subscribe(a, fork);
    play(&mut pair, a, (HOUSE, "h1"), "say gate", attached(GARDEN, None));
    let ends = attached(GARDEN, Some("g1"));
    play(&mut pair, a, (&chat, "t1"), "recall tulip crocus", ends);
    play(&mut pair, a, (&chat, "t2"), "hold x\nrecall nettle", attached(GARDEN, None));
    play(&mut pair, a, (GARDEN, "g3"), "say nettle", none());
    let release = json!({"type": "chat/pendingMessageSet", "kind": "steering", "id": "s",
        "message": message("ahp-release: x")});
    pair.dispatch(a, &chat, release);
    pair.run();
    play(&mut pair, a, (&chat, "t3"), "recall gate tulip", attached(HOUSE, None));
    let file = json!([{"type": "resource", "label": "L", "uri": "file:///outside/canary.txt"}]);
    play(&mut pair, a, (&chat, "t4"), "recall of ahp", file);
    play(
        &mut pair,
        a,
        (&chat, "t5"),
        "activity Digging\nbackground ls 50ms\nactivity \"\"",
        none(),
    );
    for (turn, options) in [("t6", "reconfirm"), ("t7", "editable by-reference")] {
        let script = format!("tool shell x confirm {options}");
        play(&mut pair, a, (&chat, turn), &script, none());
        let call = last(&pair, a, "/params/action/toolCallId");
        let input = last(&pair, a, "/params/action/toolInput/uri");
        let edits = options.contains("editable");
        let mut approval = json!({"type": "chat/toolCallConfirmed", "turnId": turn,
            "toolCallId": call, "approved": true, "confirmed": "user-action"});
        if edits {
            approval["editedToolInput"] = json!("edited");
        }
        for _ in 0..2 {
            pair.dispatch(a, &chat, approval.clone());
            pair.run();
        }
        if edits {
            pair.ask(a, "resourceRead", json!({"channel": ROOT, "uri": input}));
        }
    }
    play(&mut pair, a, (&chat, "t8"), "canvas m https://x.example\ncanvas m", none());
    let canvas = last(&pair, a, "/params/action/canvases/0/resource");
    pair.ask(a, "subscribe", json!({"channel": canvas}));
    play(&mut pair, a, (&chat, "t9"), "canvas m https://x.example", none());
    pair.ask(
        a,
        "completions",
        json!({"channel": chat, "kind": "userMessage", "text": "@", "offset": 1}),
    );
    play(&mut pair, a, (&chat, "t10"), "crash", none());
    pair.host.restart(pair.now);
    let b = pair.join_loosely(2, "1.0.0", &[ROOT]);
    pair.ask(b, "subscribe", json!({"channel": canvas}));
    text(&pair)
}

/// Plays workers, moves of chats, unsupported requests to agents, and the changesets of chats.
pub(super) fn workers_and_moves(host: Box<dyn SansIoHost>) -> String {
    let (mut pair, a, chat) = opened(host);
    let none = || json!([]);
    let provider = json!({"channel": SECOND, "provider": "single"});
    pair.ask(a, "createSession", provider);
    pair.run();
    pair.subscribe(a, SECOND);
    pair.ask(a, "createChat", json!({"channel": SECOND, "chat": HOUSE}));
    pair.ask(a, "createChat", json!({"channel": SESSION, "chat": GARDEN}));
    pair.subscribe(a, GARDEN);
    play(&mut pair, a, (GARDEN, "g1"), "tool worker hello", none());
    let places = [
        json!({"kind": "session", "session": SESSION}),
        json!({"kind": "session", "session": SECOND}),
        json!({"kind": "newSession"}),
    ];
    for to in places {
        pair.ask(a, "moveChat", json!({"channel": GARDEN, "destination": to}));
        pair.ask(a, "listSessions", json!({"channel": ROOT}));
    }
    pair.subscribe(a, GARDEN);
    play(&mut pair, a, (&chat, "t1"), "tool worker \"ahp-script: 1\\nendless\"", none());
    let cancel = json!({"type": "chat/turnCancelled", "turnId": "t1", "duration": 1});
    pair.dispatch(a, &chat, cancel);
    pair.run();
    for directory in ["file:///harness/one", "file:///harness/two"] {
        let set = json!({"type": "session/workingDirectorySet", "directory": directory});
        pair.dispatch(a, SESSION, set);
    }
    let own = json!({"type": "chat/workingDirectorySet", "directory": "file:///harness/two"});
    pair.dispatch(a, &chat, own);
    play(&mut pair, a, (&chat, "t2"), "tool write \"one/a\\nx\"\ntool write \"two/b\\nx\"", none());
    let changes = last(&pair, a, "/params/action/changesets/0/uriTemplate");
    pair.ask(a, "subscribe", json!({"channel": changes}));
    play(&mut pair, a, (&chat, "t3"), "tool worker \"\"", none());
    let draft = json!({"text": "x".repeat(3 << 20), "origin": {"kind": "user"}});
    pair.dispatch(a, &chat, json!({"type": "chat/draftChanged", "draft": draft}));
    pair.ask(a, "ping", json!({"channel": ROOT}));
    text(&pair)
}
