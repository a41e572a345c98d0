//! Turns, tool calls, questions, queue and steering.

use super::pair::*;

#[test]
fn plays_each_step() {
    // The arguments: the script, and the expected actions that reach a subscriber.
    let check = |script: &str, expected: &str| {
        let (mut pair, a, chat) = TestPair::ready(HostConfig::default());
        assert_eq!(pair.start(a, &chat, "t1", script), "accepted");
        pair.run();
        assert_eq!(actions(&pair, a, &chat), expected, "{script}");
        for channel in [ROOT, SESSION, &chat] {
            pair.converges(a, channel);
        }
    };
    check("", "turnStarted responsePart delta turnComplete");
    check("say a b", "turnStarted responsePart delta delta turnComplete");
    check("think a", "turnStarted responsePart reasoning turnComplete");
    check(
        "tool shell x",
        "turnStarted toolCallStart toolCallDelta toolCallReady toolCallContentChanged \
         toolCallComplete turnComplete",
    );
    check(
        "parallel\ntool read x\ntool edit y fails\nend",
        "turnStarted toolCallStart toolCallStart toolCallDelta toolCallDelta toolCallReady \
         toolCallReady toolCallContentChanged toolCallContentChanged toolCallComplete \
         toolCallComplete turnComplete",
    );
    check("usage 1 2\nwait 1s", "turnStarted usage turnComplete");
    check(
        "tool client nobody x",
        "turnStarted toolCallStart toolCallDelta toolCallReady \
         toolCallContentChanged toolCallComplete turnComplete",
    );
    check("title T\nfail rate-limit", "turnStarted error");
    check("sing", "turnStarted responsePart delta error");
    check("ask Q a b", "turnStarted inputRequested");
    check("hold x", "turnStarted");
}

#[test]
fn asks_before_it_runs() {
    // The arguments: the options of the tool call, the decision, the expected status after the decision, the expected
    // output of the tool.
    let check = |options: &str, decision: Value, status: &str, said: &str| {
        let (mut pair, a, chat) = TestPair::ready(HostConfig::default());
        let b = pair.join(2, "1.0.0", &[&chat]);
        pair.start(
            a,
            &chat,
            "t1",
            &format!("tool shell \"rm -r\" confirm editable {options}\nsay done"),
        );
        pair.run();
        let (call, before) = pair.call(a, &chat);
        assert_eq!(before, "pending-confirmation");
        assert_eq!(pair.state(a, SESSION)["inputNeeded"][0]["kind"], "toolConfirmation");
        assert_eq!(pair.subscribe(a, SESSION)["status"], 24);
        let mut confirm =
            json!({"type": "chat/toolCallConfirmed", "turnId": "t1", "toolCallId": call});
        for (name, value) in decision.as_object().unwrap() {
            confirm[name] = value.clone();
        }
        assert_eq!(pair.dispatch(b, &chat, confirm.clone()), "accepted");
        assert_ne!(pair.dispatch(a, &chat, confirm), "accepted");
        pair.run();
        let turn = pair.state(b, &chat)["turns"][0].clone();
        assert_eq!(turn["responseParts"][0]["toolCall"]["status"], status, "{turn}");
        let text = &turn["responseParts"][0]["toolCall"]["content"][0]["text"];
        assert_eq!(text.as_str().unwrap_or(""), said, "{turn}");
        let goes_on = turn["responseParts"].as_array().unwrap().len() == 2;
        assert_eq!(goes_on, !options.contains("deny-ends-turn"));
        assert!(pair.state(a, SESSION).get("inputNeeded").is_none());
        for (conn, channel) in [(a, ROOT), (a, SESSION), (a, &chat), (b, &chat)] {
            pair.converges(conn, channel);
        }
    };
    let yes = json!({"approved": true, "confirmed": "user-action"});
    let no = json!({"approved": false, "reason": "denied", "selectedOptionId": "deny"});
    let edited = json!({"approved": true, "confirmed": "user-action", "editedToolInput": "ls"});
    check("", yes, "completed", "ran: rm -r");
    check("editable", edited, "completed", "ran: ls");
    check("", no.clone(), "cancelled", "");
    check("deny-ends-turn", no, "cancelled", "");
}

#[test]
fn asks_again_and_about_results() {
    let (mut pair, a, chat) = TestPair::ready(HostConfig::default());
    pair.start(a, &chat, "t1", "tool shell x reconfirm confirm-result\nsay done");
    pair.run();
    let (call, status) = pair.call(a, &chat);
    assert_eq!(status, "pending-confirmation");
    let of = |kind: &str, more: Value| {
        let mut action = json!({"type": kind, "turnId": "t1", "toolCallId": call});
        action.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        action
    };
    let yes = of("chat/toolCallConfirmed", json!({"approved": true, "confirmed": "user-action"}));
    assert_eq!(pair.dispatch(a, &chat, yes), "accepted");
    pair.run();
    assert_eq!(pair.call(a, &chat).1, "pending-result-confirmation");
    let no = of("chat/toolCallResultConfirmed", json!({"approved": false}));
    assert_eq!(pair.dispatch(a, &chat, no.clone()), "accepted");
    assert_ne!(pair.dispatch(a, &chat, no), "accepted");
    pair.run();
    let turn = &pair.state(a, &chat)["turns"][0];
    assert_eq!(turn["responseParts"][0]["toolCall"]["reason"], "result-denied");
    assert_eq!(turn["state"], "complete");
    pair.converges(a, SESSION);
}

#[test]
fn waits_for_the_user_where_a_client_leaves_a_result_to_them() {
    let (mut pair, a, chat) = TestPair::ready(HostConfig::default());
    let active = json!({"clientId": "c1", "tools": [{"name": "look"}]});
    let set = json!({"type": "session/activeClientSet", "activeClient": active});
    assert_eq!(pair.dispatch(a, SESSION, set), "accepted");
    pair.start(a, &chat, "t1", "tool client look x\nsay done");
    pair.run();
    let (call, status) = pair.call(a, &chat);
    assert_eq!(status, "running");
    let of = |kind: &str, more: Value| {
        let mut action = json!({"type": kind, "turnId": "t1", "toolCallId": call});
        action.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        action
    };
    let result = json!({"success": true, "pastTenseMessage": "Looked"});
    let waits = json!({"result": result, "requiresResultConfirmation": true});
    assert_eq!(pair.dispatch(a, &chat, of("chat/toolCallComplete", waits)), "accepted");
    // The call waits for the decision without a time limit.
    pair.run();
    assert_eq!(pair.call(a, &chat).1, "pending-result-confirmation");
    let yes = of("chat/toolCallResultConfirmed", json!({"approved": true}));
    assert_eq!(pair.dispatch(a, &chat, yes), "accepted");
    pair.run();
    let turn = &pair.state(a, &chat)["turns"][0];
    assert_eq!(
        (&turn["state"], &turn["responseParts"][0]["toolCall"]["status"]),
        (&json!("complete"), &json!("completed"))
    );
}

#[test]
fn only_the_owner_completes_a_client_tool() {
    let (mut pair, a, chat) = TestPair::ready(HostConfig::default());
    let b = pair.join(2, "1.0.0", &[&chat]);
    let active = json!({"clientId": "c1", "tools": [{"name": "look"}]});
    let set = json!({"type": "session/activeClientSet", "activeClient": active});
    assert_ne!(pair.dispatch(b, SESSION, set.clone()), "accepted");
    assert_eq!(pair.dispatch(a, SESSION, set), "accepted");
    for (turn, leaves) in [("t1", false), ("t2", true)] {
        pair.start(a, &chat, turn, "tool client look x\nsay done");
        pair.run();
        assert_eq!(pair.call(a, &chat).1, "running");
        let entry = &pair.state(a, SESSION)["inputNeeded"][0];
        assert_eq!(entry["kind"], "toolClientExecution", "{entry}");
        assert_eq!(pair.subscribe(a, SESSION)["status"], 8);
        let result = json!({"success": true, "pastTenseMessage": "Looked"});
        let done = json!({
            "type": "chat/toolCallComplete", "turnId": turn, "toolCallId": pair.call(a, &chat).0,
            "result": result,
        });
        assert_ne!(pair.dispatch(b, &chat, done.clone()), "accepted");
        if leaves {
            let gone = json!({"type": "session/activeClientRemoved", "clientId": "c1"});
            assert_eq!(pair.dispatch(a, SESSION, gone), "accepted");
        } else {
            assert_eq!(pair.dispatch(a, &chat, done), "accepted");
        }
        pair.run();
        let turns = pair.state(a, &chat)["turns"].as_array().unwrap();
        let call = &turns.last().unwrap()["responseParts"][0]["toolCall"];
        assert_eq!((&call["status"], &call["success"]), (&json!("completed"), &json!(!leaves)));
    }
    pair.converges(a, SESSION);
    pair.converges(a, &chat);
}

#[test]
fn asks_the_user_and_waits() {
    let (mut pair, a, chat) = TestPair::ready(HostConfig::default());
    pair.start(a, &chat, "t1", "ask \"Which?\" main dev\nsay done");
    pair.run();
    let request = pair.state(a, &chat)["activeTurn"]["responseParts"][0]["request"].clone();
    let answer = |state: &str, kind: &str, value: Value| {
        let value = json!({"kind": kind, "value": value});
        json!({"state": state, "value": value})
    };
    let changed = |answer: Value| {
        json!({
            "type": "chat/inputAnswerChanged", "requestId": request["id"], "questionId": "answer",
            "answer": answer,
        })
    };
    let complete =
        json!({"type": "chat/inputCompleted", "requestId": request["id"], "response": "accept"});
    assert_ne!(pair.dispatch(a, &chat, complete.clone()), "accepted");
    assert_ne!(pair.dispatch(a, &chat, changed(answer("draft", "number", json!(1)))), "accepted");
    let draft = changed(answer("submitted", "selected", json!("dev")));
    assert_eq!(pair.dispatch(a, &chat, draft.clone()), "accepted");
    let mirrored = &pair.state(a, SESSION)["inputNeeded"][0]["request"]["answers"];
    assert_eq!(mirrored["answer"]["value"]["value"], "dev");
    assert_eq!(pair.dispatch(a, &chat, complete.clone()), "accepted");
    assert_ne!(pair.dispatch(a, &chat, complete), "accepted");
    assert_ne!(pair.dispatch(a, &chat, draft), "accepted");
    pair.run();
    assert_eq!(pair.state(a, &chat)["turns"][0]["responseParts"][0]["response"], "accept");
    pair.converges(a, SESSION);
    pair.converges(a, &chat);
}

#[test]
fn handles_queued_and_steering_messages_and_holds() {
    let (mut pair, a, chat) = TestPair::ready(HostConfig::default());
    let pending = |kind: &str, id: &str, text: &str| {
        let message = message(text);
        json!({"type": "chat/pendingMessageSet", "kind": kind, "id": id, "message": message})
    };
    pair.start(a, &chat, "t1", "hold go\nsay one");
    pair.run();
    for (kind, id, text) in [
        ("queued", "q1", "first"),
        ("queued", "q2", "second"),
        ("steering", "s1", "ahp-script: 1\nsay steered"),
    ] {
        assert_eq!(pair.dispatch(a, &chat, pending(kind, id, text)), "accepted");
    }
    let order = json!({"type": "chat/queuedMessagesReordered", "order": ["q2"]});
    assert_eq!(pair.dispatch(a, &chat, order), "accepted");
    pair.run();
    assert_eq!(pair.state(a, &chat)["steeringMessage"]["id"], "s1");
    assert_eq!(pair.dispatch(a, &chat, pending("steering", "s2", "ahp-release: go")), "accepted");
    assert!(pair.state(a, &chat).get("steeringMessage").is_none());
    pair.run();
    let turns = pair.state(a, &chat)["turns"].as_array().unwrap().clone();
    let texts: Vec<&str> =
        turns.iter().filter_map(|turn| turn["message"]["text"].as_str()).collect();
    assert_eq!(texts[1..], ["second", "first"]);
    pair.start(a, &chat, "t9", "hold go\nsay one");
    pair.dispatch(a, &chat, pending("steering", "s3", "ahp-script: 1\nsay steered"));
    pair.run();
    let gone = json!({"type": "chat/pendingMessageRemoved", "kind": "steering", "id": "s9"});
    assert_ne!(pair.dispatch(a, &chat, gone), "accepted");
    let said = pair.state(a, &chat)["activeTurn"]["responseParts"][0]["content"].clone();
    assert_eq!(said, "steered");
    pair.converges(a, &chat);
    // An idle chat takes a queued message at once and leaves a steering message alone.
    let cancel = json!({"type": "chat/turnCancelled", "turnId": "t9", "duration": 5});
    assert_eq!(pair.dispatch(a, &chat, cancel), "accepted");
    pair.dispatch(a, &chat, pending("steering", "s4", "wait"));
    pair.run();
    assert!(pair.state(a, &chat)["activeTurn"].is_null());
    assert_eq!(pair.state(a, &chat)["steeringMessage"]["id"], "s4");
    pair.dispatch(a, &chat, pending("queued", "q3", "third"));
    assert!(!pair.state(a, &chat)["activeTurn"].is_null());
    pair.run();
    pair.converges(a, &chat);
}

#[test]
fn stops_at_once_when_cancelled() {
    let (mut pair, a, chat) = TestPair::ready(HostConfig::default());
    pair.start(a, &chat, "t1", "endless");
    for _ in 0..20 {
        let at = pair.host.next_timeout().unwrap();
        pair.now = at;
        pair.host.handle_timeout(at);
        pair.drain();
    }
    assert_ne!(pair.start(a, &chat, "t2", ""), "accepted");
    let cancel = json!({"type": "chat/turnCancelled", "turnId": "t1", "duration": 5});
    assert_eq!(pair.dispatch(a, &chat, cancel.clone()), "accepted");
    assert_ne!(pair.dispatch(a, &chat, cancel), "accepted");
    let before = actions(&pair, a, &chat);
    pair.run();
    assert_eq!(actions(&pair, a, &chat), before);
    pair.converges(a, &chat);
}

#[test]
fn resumes_and_truncates() {
    let (mut pair, a, chat) = TestPair::ready(HostConfig::default());
    pair.start(a, &chat, "t1", "say one\nfail net resumable\nsay two");
    pair.run();
    assert_eq!(pair.subscribe(a, SESSION)["status"], 2);
    let resume = json!({"type": "chat/turnResume", "turnId": "t1"});
    assert_eq!(pair.dispatch(a, &chat, resume.clone()), "accepted");
    pair.run();
    assert_ne!(pair.dispatch(a, &chat, resume), "accepted");
    assert_eq!(pair.state(a, &chat)["turns"][0]["state"], "complete");
    pair.start(a, &chat, "t2", "fail net");
    pair.run();
    pair.start(a, &chat, "t3", "hold x");
    let keep = |turn: &str| json!({"type": "chat/truncated", "turnId": turn});
    assert_ne!(pair.dispatch(a, &chat, keep("t9")), "accepted");
    assert_eq!(pair.dispatch(a, &chat, keep("t1")), "accepted");
    assert_eq!(pair.start(a, &chat, "t4", ""), "accepted");
    pair.run();
    pair.converges(a, &chat);
    pair.converges(a, SESSION);
}
