//! Tests of the chat channel, except tool calls.

use crate::wire::json::{Value, json};

use super::NoOp;
use super::testing::{applies, chat_with, ignores, refuses};

#[test]
fn chat_members() {
    let check = |before: Value, action: Value, after: Value| drop(applies(before, action, after));
    let with_type = |name: &str| json!({"type": format!("chat/{name}")});
    check(json!({"activity": "a"}), with_type("activityChanged"), json!({"activity": null}));
    check(
        json!({}),
        json!({"type": "chat/draftChanged", "draft": {"text": "d"}}),
        json!({"draft": {"text": "d"}}),
    );
    check(json!({"draft": {}}), with_type("draftChanged"), json!({"draft": null}));
    check(
        json!({"status": 33}),
        json!({"type": "chat/isReadChanged", "isRead": false}),
        json!({"status": 1}),
    );
    check(
        json!({"status": 33.0}),
        json!({"type": "chat/isArchivedChanged", "isArchived": true}),
        json!({"status": 97}),
    );
    check(
        json!({"status": 24}),
        json!({"type": "chat/isArchivedChanged", "isArchived": true}),
        json!({"status": 88}),
    );
    check(
        json!({}),
        json!({"type": "chat/movableChanged", "movable": true}),
        json!({"movable": true}),
    );
    check(json!({"canvases": [1]}), with_type("canvasesChanged"), json!({"canvases": null}));
    check(
        json!({}),
        json!({"type": "chat/changesetsChanged", "changesets": [1]}),
        json!({"changesets": [1]}),
    );
    let work = |id: &str| json!({"type": "chat/backgroundWorkSet", "work": {"id": id, "n": 2}});
    check(json!({}), work("a"), json!({"backgroundWork": [{"id": "a", "n": 2}]}));
    check(
        json!({"backgroundWork": [{"id": "a"}]}),
        work("a"),
        json!({"backgroundWork": [{"id": "a", "n": 2}]}),
    );
    let removed = json!({"type": "chat/backgroundWorkRemoved", "id": "a"});
    check(json!({"backgroundWork": [{"id": "a"}]}), removed.clone(), json!({"backgroundWork": []}));
    ignores(json!({"backgroundWork": []}), removed.clone(), NoOp::UnknownWork);
    ignores(json!({}), removed, NoOp::UnknownWork);
}

#[test]
fn parts() {
    let before = || {
        chat_with(json!([
            {"kind": "markdown", "id": "a", "content": "one", "x": 1},
            {"kind": "reasoning", "id": "b"},
            {"kind": "fromLater", "id": "c"},
        ]))
    };
    let append = |name: &str, turn: &str, part: &str| {
        json!({"type": format!("chat/{name}"),
        "turnId": turn, "partId": part, "content": " more"})
    };
    let check = |action: Value, pointer: &str, expected: Value| {
        let state = applies(before(), action, json!({"status": 8}));
        assert_eq!(state.pointer(&format!("/activeTurn{pointer}")), Some(&expected));
    };
    let first = json!({"kind": "markdown", "id": "a", "content": "one more", "x": 1});
    check(append("delta", "t", "a"), "/responseParts/0", first);
    check(append("reasoning", "t", "b"), "/responseParts/1/content", json!(" more"));
    ignores(before(), append("delta", "t", "b"), NoOp::WrongPartKind);
    ignores(before(), append("reasoning", "t", "a"), NoOp::WrongPartKind);
    ignores(before(), append("delta", "t", "c"), NoOp::WrongPartKind);
    ignores(before(), append("delta", "t", "z"), NoOp::UnknownPart);
    ignores(before(), append("delta", "u", "a"), NoOp::WrongTurn);
    ignores(json!({"turns": []}), append("delta", "t", "a"), NoOp::NoActiveTurn);
    ignores(json!({"activeTurn": null}), append("delta", "t", "a"), NoOp::NoActiveTurn);
    let part = |kind: &str| {
        json!({"type": "chat/responsePart", "turnId": "t",
        "part": {"kind": kind, "id": "n"}})
    };
    check(part("fromLater"), "/responseParts/3", json!({"kind": "fromLater", "id": "n"}));
    ignores(before(), part("error"), NoOp::ErrorPart);
    let usage = json!({"type": "chat/usage", "turnId": "t", "usage": {"inputTokens": 1}});
    check(usage, "/usage", json!({"inputTokens": 1}));
    let empty = json!({"type": "chat/delta", "turnId": "t", "partId": "a"});
    refuses(before(), empty, "content", "a string");
}

#[test]
fn turns_start() {
    let started = || {
        json!({
            "type": "chat/turnStarted", "turnId": "n", "startedAt": "later",
            "message": {"text": "m"},
            "queuedMessageId": "q",
        })
    };
    let turn =
        json!({"id": "n", "startedAt": "later", "message": {"text": "m"}, "responseParts": []});
    let after = json!({"activeTurn": turn, "status": 64 + 8, "modifiedAt": "later",
        "queuedMessages": null, "steeringMessage": null});
    let queued = json!({"status": 64 + 32 + 2, "queuedMessages": [{"id": "q"}],
        "steeringMessage": {"id": "q"}});
    applies(queued, started(), after);
    let other =
        json!({"queuedMessages": [{"id": "q"}, {"id": "r"}], "steeringMessage": {"id": "r"}});
    let kept = json!({"queuedMessages": [{"id": "r"}], "steeringMessage": {"id": "r"}});
    applies(other, started(), kept);
    let running = chat_with(json!([{"kind": "markdown", "id": "a"}]));
    applies(running, started(), json!({"activeTurn": turn, "turns": []}));
    let mut timeless = started();
    timeless["startedAt"] = Value::Null;
    refuses(json!({}), timeless, "startedAt", "a string");
}

#[test]
fn turns_end() {
    let tool = |status: &str, more: Value| {
        let mut call =
            json!({"toolCallId": status, "toolName": "n", "displayName": "d", "status": status});
        call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"kind": "toolCall", "toolCall": call})
    };
    let skipped = |id: &str, more: Value| {
        let mut part = tool(id, more);
        part["toolCall"]["status"] = json!("cancelled");
        part["toolCall"]["reason"] = json!("skipped");
        part
    };
    let question = json!({"kind": "inputRequest", "request": {"id": "i"}});
    let before = || {
        chat_with(json!([
            tool("streaming", json!({"partialInput": "{"})),
            tool(
                "running",
                json!({"invocationMessage": "go", "toolInput": "in", "confirmed": "not-needed",
            "content": [1], "selectedOption": {}, "x": 1})
            ),
            tool("completed", json!({"success": true})),
            tool("from-later", json!({"invocationMessage": "hm"})),
            question,
        ]))
    };
    let parts = || {
        json!([
            skipped("streaming", json!({"invocationMessage": ""})),
            skipped("running", json!({"invocationMessage": "go", "toolInput": "in", "x": 1})),
            tool("completed", json!({"success": true})),
            skipped("from-later", json!({"invocationMessage": "hm"})),
            question,
        ])
    };
    for (name, state, status) in
        [("turnComplete", "complete", 1), ("turnCancelled", "cancelled", 1)]
    {
        let action = json!({"type": format!("chat/{name}"), "turnId": "t", "duration": 1500});
        let turn = json!({"id": "t", "startedAt": "2026-01-01T00:00:00Z", "message": {"text": "hi"},
            "responseParts": parts(), "duration": 1500, "state": state});
        let after = json!({"turns": [turn], "status": status, "activeTurn": null,
            "modifiedAt": "2026-01-01T00:00:01.500Z"});
        applies(before(), action, after);
    }
    let failed = json!({"type": "chat/error", "turnId": "t", "duration": -5,
        "part": {"error": {"message": "e"}}});
    let state = applies(
        before(),
        failed.clone(),
        json!({"status": 2, "modifiedAt": "2026-01-01T00:00:00.000Z"}),
    );
    assert_eq!(state["turns"][0]["duration"], json!(0));
    assert_eq!(
        state["turns"][0]["responseParts"][5],
        json!({"kind": "error", "error": {"message": "e"}})
    );
    let mut timeless = before();
    timeless["activeTurn"]["startedAt"] = json!("yesterday");
    let state = applies(
        timeless,
        failed.clone(),
        json!({"modifiedAt": "2026-01-01T00:00:00Z", "status": 2}),
    );
    assert_eq!(state["turns"][0]["startedAt"], json!("yesterday"));
    ignores(json!({}), failed, NoOp::NoActiveTurn);
    let end =
        |duration: Value| json!({"type": "chat/turnComplete", "turnId": "t", "duration": duration});
    refuses(before(), end(json!(1.5)), "duration", "an integer");
    refuses(before(), end(Value::Null), "duration", "an integer");
    applies(before(), end(json!(i64::MAX)), json!({"modifiedAt": "2026-01-01T00:00:00Z"}));
    let other = json!({"type": "chat/turnComplete", "turnId": "u", "duration": 1});
    ignores(before(), other, NoOp::WrongTurn);
}

#[test]
fn turns_resume() {
    let resume = || json!({"type": "chat/turnResume", "turnId": "t"});
    let chat = |state: &str, part: Value| {
        json!({
            "status": 32 + 2, "modifiedAt": "then",
            "turns": [{"id": "s"}, {"id": "t", "state": state, "duration": 1,
            "responseParts": [part]}],
        })
    };
    let resumable = json!({"kind": "error", "resumable": true});
    let turn = json!({"id": "t", "responseParts": [resumable], "startedAt": "then"});
    let after =
        json!({"activeTurn": turn, "turns": [{"id": "s"}], "status": 8, "modifiedAt": "then"});
    applies(chat("error", resumable.clone()), resume(), after);
    ignores(chat("complete", resumable.clone()), resume(), NoOp::NotResumable);
    ignores(
        chat("error", json!({"kind": "error", "resumable": false})),
        resume(),
        NoOp::NotResumable,
    );
    ignores(chat("error", json!({"kind": "markdown"})), resume(), NoOp::NotResumable);
    let earlier = json!({"type": "chat/turnResume", "turnId": "s"});
    ignores(chat("error", resumable), earlier, NoOp::UnknownTurn);
    ignores(chat_with(json!([])), resume(), NoOp::TurnActive);
}

#[test]
fn turns_are_truncated_and_loaded() {
    let before = || {
        let mut chat = chat_with(json!([]));
        chat["turns"] = json!([{"id": "a"}, {"id": "b"}]);
        chat["turnsNextCursor"] = json!("n");
        chat["queuedMessages"] = json!([{"id": "q"}]);
        chat["status"] = json!(32 + 8);
        chat
    };
    let kept = json!({"turns": [{"id": "a"}], "activeTurn": null, "status": 33,
        "turnsNextCursor": "n",
        "queuedMessages": [{"id": "q"}], "modifiedAt": "2026-01-01T00:00:00Z"});
    applies(before(), json!({"type": "chat/truncated", "turnId": "a"}), kept);
    let none = json!({"turns": [], "activeTurn": null, "status": 33, "turnsNextCursor": null});
    applies(before(), json!({"type": "chat/truncated"}), none);
    ignores(before(), json!({"type": "chat/truncated", "turnId": "t"}), NoOp::UnknownTurn);

    let loaded =
        json!({"type": "chat/turnsLoaded", "turns": [{"id": "y"}, {"id": "z"}, {"id": "a"}]});
    let after = json!({"turns": [{"id": "y"}, {"id": "z"}, {"id": "a"}, {"id": "b"}],
        "turnsNextCursor": null});
    applies(before(), loaded, after);
    let loaded = json!({"type": "chat/turnsLoaded", "turns": [], "turnsNextCursor": "m"});
    applies(before(), loaded, json!({"turnsNextCursor": "m"}));
}

#[test]
fn pending_messages() {
    let before = || {
        json!({"steeringMessage": {"id": "s"}, "queuedMessages": [{"id": "z"},
        {"id": "m"}, {"id": "a"}]})
    };
    let ids = |state: &Value| {
        let queue = state["queuedMessages"].as_array().unwrap();
        queue.iter().map(|entry| entry["id"].as_str().unwrap()).collect::<String>()
    };
    let set = |kind: &str, id: &str| {
        json!({"type": "chat/pendingMessageSet", "kind": kind,
        "id": id, "message": {"text": "n"}})
    };
    let new = |id: &str| json!({"id": id, "message": {"text": "n"}});
    applies(before(), set("steering", "n"), json!({"steeringMessage": new("n")}));
    assert_eq!(applies(before(), set("queued", "m"), json!({}))["queuedMessages"][1], new("m"));
    assert_eq!(ids(&applies(before(), set("kindFromLater", "n"), json!({}))), "zman");
    applies(json!({}), set("queued", "n"), json!({"queuedMessages": [new("n")]}));

    let removed = |kind: &str, id: &str| {
        json!({"type": "chat/pendingMessageRemoved",
        "kind": kind, "id": id})
    };
    applies(before(), removed("steering", "s"), json!({"steeringMessage": null}));
    assert_eq!(ids(&applies(before(), removed("queued", "m"), json!({}))), "za");
    applies(
        json!({"queuedMessages": [{"id": "m"}]}),
        removed("queued", "m"),
        json!({"queuedMessages": null}),
    );
    for (kind, id) in [("steering", "m"), ("queued", "s"), ("queued", "x")] {
        ignores(before(), removed(kind, id), NoOp::UnknownMessage);
    }

    let reordered = |order: Value| json!({"type": "chat/queuedMessagesReordered", "order": order});
    for (order, expected) in
        [(json!(["m"]), "mza"), (json!(["a", "x", "z", "a"]), "azm"), (json!([]), "zma")]
    {
        assert_eq!(ids(&applies(before(), reordered(order), json!({}))), expected);
    }
    ignores(json!({}), reordered(json!(["m"])), NoOp::NoQueue);
    refuses(before(), reordered(json!(["m", null])), "order.1", "a string");
}

#[test]
fn input_requests() {
    let open = || {
        chat_with(json!([
            {"kind": "inputRequest", "request": {"id": "r", "answers": {"q": {"v": 1}}}, "x": 1},
            {"kind": "inputRequest", "request": {"id": "old"}, "response": "accept"},
        ]))
    };
    let check = |action: Value, part: usize, expected: Value, status: u64| {
        let state = applies(open(), action, json!({"status": status}));
        assert_eq!(state["activeTurn"]["responseParts"][part], expected);
    };
    let requested = |request: Value| json!({"type": "chat/inputRequested", "request": request});
    check(
        requested(json!({"id": "r", "message": "m"})),
        0,
        json!({"kind": "inputRequest", "request": {"id": "r", "message": "m",
            "answers": {"q": {"v": 1}}}, "x": 1}),
        24,
    );
    check(
        requested(json!({"id": "r", "answers": {}})),
        0,
        json!({"kind": "inputRequest", "request": {"id": "r", "answers": {}}, "x": 1}),
        24,
    );
    check(
        requested(json!({"id": "old"})),
        2,
        json!({"kind": "inputRequest", "request": {"id": "old"}}),
        24,
    );
    ignores(json!({}), requested(json!({"id": "r"})), NoOp::NoActiveTurn);
    let mut read = open();
    read["status"] = json!(32 + 8);
    applies(read, requested(json!({"id": "n"})), json!({"status": 24}));

    let answered = |id: &str, question: &str, answer: Value| {
        json!({"type": "chat/inputAnswerChanged", "requestId": id,
        "questionId": question, "answer": answer})
    };
    check(
        answered("r", "p", json!({"v": 2})),
        0,
        json!({"kind": "inputRequest", "request": {"id": "r", "answers": {"q": {"v": 1},
            "p": {"v": 2}}}, "x": 1}),
        8,
    );
    check(
        answered("r", "q", Value::Null),
        0,
        json!({"kind": "inputRequest", "request": {"id": "r"}, "x": 1}),
        8,
    );
    ignores(open(), answered("old", "q", json!({})), NoOp::UnknownRequest);
    refuses(open(), answered("r", "q", json!(1)), "answer", "an object");

    let completed = |id: &str, answers: Value| {
        json!({"type": "chat/inputCompleted",
        "requestId": id, "response": "decline", "answers": answers})
    };
    check(
        completed("r", json!({"p": {"v": 2}})),
        0,
        json!({"kind": "inputRequest", "response": "decline", "x": 1,
        "request": {"id": "r", "answers": {"q": {"v": 1}, "p": {"v": 2}}}}),
        8,
    );
    ignores(open(), completed("old", Value::Null), NoOp::UnknownRequest);
    let mut malformed = open();
    malformed["activeTurn"]["responseParts"][0]["request"]["answers"] = json!([1]);
    ignores(malformed, completed("r", Value::Null), NoOp::MalformedState);
}
