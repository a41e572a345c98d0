//! Tests of every transition of the table, of every pair of status and event without a transition, and of the members
//! of the call after each transition.

use crate::wire::json::{Value, json};
use proptest::prelude::*;

use super::testing::{applies, chat_with, fold, ignores, refuses};
use super::tool_call::{TRANSITIONS, ToolCallStatus, ToolEvent, event_of, next};
use super::{ActionOutcome, NoOp, status};

const EVENTS: [ToolEvent; 13] = {
    use ToolEvent::*;
    [
        Start,
        Delta,
        ReadyUnconfirmed,
        ReadyConfirmed,
        Approved,
        Denied,
        ContentChanged,
        AuthRequired,
        AuthResolved,
        Complete,
        CompleteNeedsConfirmation,
        ResultApproved,
        ResultDenied,
    ]
};

/// Returns the smallest action for an event, on the call `c` of the turn `t`.
fn action(event: ToolEvent) -> Value {
    use ToolEvent::*;
    let result = json!({"success": false, "pastTenseMessage": "done"});
    let (name, more) = match event {
        Start => ("Start", json!({"toolName": "n", "displayName": "d"})),
        Delta => ("Delta", json!({"content": "x"})),
        ReadyUnconfirmed => ("Ready", json!({"invocationMessage": "go"})),
        ReadyConfirmed => ("Ready", json!({"invocationMessage": "go", "confirmed": "setting"})),
        Approved => ("Confirmed", json!({"approved": true, "confirmed": "user-action"})),
        Denied => ("Confirmed", json!({"approved": false, "reason": "denied"})),
        ContentChanged => ("ContentChanged", json!({"content": [1]})),
        AuthRequired => ("AuthRequired", json!({"auth": {}})),
        AuthResolved => ("AuthResolved", json!({})),
        Complete => ("Complete", json!({"result": result})),
        CompleteNeedsConfirmation => {
            ("Complete", json!({"result": result, "requiresResultConfirmation": true}))
        }
        ResultApproved => ("ResultConfirmed", json!({"approved": true})),
        ResultDenied => ("ResultConfirmed", json!({"approved": false})),
    };
    with(json!({"type": format!("chat/toolCall{name}"), "turnId": "t", "toolCallId": "c"}), more)
}

fn with(mut base: Value, more: Value) -> Value {
    base.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    base
}

/// Returns a chat whose active turn has the call `c` of an MCP server.
fn chat(status: &str, more: Value) -> Value {
    let call = json!({"toolCallId": "c", "toolName": "n", "displayName": "d", "status": status,
        "contributor": {"kind": "mcp", "customizationId": "m"}});
    let mut chat = chat_with(json!([{"kind": "toolCall", "toolCall": with(call, more)}]));
    chat["status"] = Value::from(status::recompute(&chat));
    chat
}

fn call(state: &Value) -> &Value {
    state.pointer("/activeTurn/responseParts/0/toolCall").unwrap()
}

fn status_of(state: &Value) -> ToolCallStatus {
    ToolCallStatus::from_name(call(state)["status"].as_str().unwrap()).unwrap()
}

/// Asserts the members of the call after an action; null means that a member is absent.
#[track_caller]
fn brings(before: Value, action: Value, members: Value) {
    let state = applies(before, action.clone(), json!({}));
    for (name, expected) in members.as_object().unwrap() {
        let found = call(&state).get(name).unwrap_or(&Value::Null);
        assert_eq!(found, expected, "`{name}` after {action}");
    }
}

#[test]
fn names_survive_a_round_trip() {
    for (index, status) in ToolCallStatus::all().enumerate() {
        assert_eq!(status as usize, index);
        assert_eq!(ToolCallStatus::from_name(status.name()), Some(status));
    }
    assert_eq!(ToolCallStatus::from_name("paused"), None);
}

#[test]
fn events_are_told_from_actions() {
    for event in EVENTS {
        assert_eq!(event_of(&action(event)), Some(event));
    }
    assert_eq!(event_of(&json!({"type": "chat/delta"})), None);
    assert_eq!(event_of(&json!({"type": "chat/toolCallConfirmed"})), None);
    let null = json!({"type": "chat/toolCallReady", "confirmed": null});
    assert_eq!(event_of(&null), Some(ToolEvent::ReadyUnconfirmed));
}

#[test]
fn every_step_of_the_table_is_taken() {
    for row in TRANSITIONS {
        let before = match row.from {
            Some(from) => chat(from.name(), json!({})),
            None => chat_with(json!([])),
        };
        let state = applies(before, action(row.event), json!({}));
        assert_eq!(call(&state)["status"], json!(row.to.name()), "{row:?}");
        if row.from.is_some() && !matches!(row.event, ToolEvent::Delta | ToolEvent::ContentChanged)
        {
            let expected = if row.to.blocks() { 24 } else { 8 };
            assert_eq!(state["status"], json!(expected), "{row:?}");
        }
    }
}

#[test]
fn no_other_step_is_taken() {
    let mut pairs = 0;
    for from in ToolCallStatus::all() {
        for event in EVENTS {
            let before = chat(from.name(), json!({}));
            if event == ToolEvent::Start {
                let status = before["status"].clone();
                let state = applies(before.clone(), action(event), json!({"status": status}));
                assert_eq!(call(&state), call(&before));
                let second = state.pointer("/activeTurn/responseParts/1/toolCall/status");
                assert_eq!(second, Some(&json!("streaming")));
            } else if next(Some(from), event).is_none() {
                ignores(before, action(event), NoOp::WrongStatus);
                pairs += 1;
            }
        }
    }
    assert_eq!(pairs, 7 * 12 - (TRANSITIONS.len() - 1));
    for event in EVENTS.into_iter().filter(|event| *event != ToolEvent::Start) {
        assert_eq!(next(None, event), None);
        ignores(chat_with(json!([])), action(event), NoOp::UnknownToolCall);
        ignores(chat("from-later", json!({})), action(event), NoOp::WrongStatus);
        ignores(json!({"status": 2}), action(event), NoOp::NoActiveTurn);
        let elsewhere = with(action(event), json!({"turnId": "u"}));
        ignores(chat("running", json!({})), elsewhere, NoOp::WrongTurn);
    }
}

#[test]
fn steps_have_their_guards() {
    let auth = action(ToolEvent::AuthRequired);
    for contributor in [Value::Null, json!({"kind": "client", "clientId": "a"})] {
        ignores(chat("running", json!({"contributor": contributor})), auth.clone(), NoOp::NotMcp);
    }
    for event in [ToolEvent::Complete, ToolEvent::CompleteNeedsConfirmation] {
        let mut success = action(event);
        success["result"]["success"] = json!(true);
        ignores(chat("auth-required", json!({})), success, NoOp::AwaitsAuth);
    }
    let odd = chat("streaming", json!({"partialInput": 5}));
    ignores(odd, action(ToolEvent::Delta), NoOp::MalformedState);
}

#[test]
fn payloads_that_cannot_be_used_are_refused() {
    let check = |event: ToolEvent, more: Value, path: &str, expected: &'static str| {
        refuses(chat("running", json!({})), with(action(event), more), path, expected);
    };
    check(ToolEvent::Start, json!({"toolName": null}), "toolName", "a string");
    check(ToolEvent::Delta, json!({"content": 1}), "content", "a string");
    check(ToolEvent::Delta, json!({"turnId": 1}), "turnId", "a string");
    check(
        ToolEvent::ReadyConfirmed,
        json!({"invocationMessage": null}),
        "invocationMessage",
        "a string or an object",
    );
    check(ToolEvent::ReadyConfirmed, json!({"confirmed": true}), "confirmed", "a string");
    check(ToolEvent::Approved, json!({"approved": "yes"}), "approved", "a boolean");
    check(ToolEvent::ContentChanged, json!({"content": "x"}), "content", "an array");
    check(ToolEvent::Complete, json!({"result": null}), "result", "an object");
    check(ToolEvent::Complete, json!({"result": {}}), "result.success", "a boolean");
    check(
        ToolEvent::Complete,
        json!({"result": {"success": true}}),
        "result.pastTenseMessage",
        "a string or an object",
    );
    check(ToolEvent::AuthRequired, json!({"auth": []}), "auth", "an object");
    check(ToolEvent::AuthResolved, json!({"_meta": 1}), "_meta", "an object");
}

#[test]
fn streaming_collects_input() {
    let start =
        with(action(ToolEvent::Start), json!({"intention": "why", "_meta": {"a": 1}, "x-new": 1}));
    let state = applies(chat_with(json!([])), start, json!({"status": 8}));
    let expected = json!({"toolCallId": "c", "toolName": "n", "displayName": "d",
        "intention": "why",
        "_meta": {"a": 1}, "status": "streaming"});
    assert_eq!(call(&state), &expected);
    let delta = action(ToolEvent::Delta);
    brings(state.clone(), delta.clone(), json!({"partialInput": "x", "_meta": {"a": 1}}));
    let more = with(delta, json!({"invocationMessage": "m", "_meta": {"b": 2}}));
    let before = chat("streaming", json!({"partialInput": "y"}));
    brings(
        before,
        more,
        json!({"partialInput": "yx", "invocationMessage": "m", "_meta": {"b": 2}}),
    );
}

#[test]
fn ready_keeps_the_members_that_it_omits() {
    let ask = || action(ToolEvent::ReadyUnconfirmed);
    brings(
        chat("streaming", json!({"partialInput": "x", "invocationMessage": "old", "x-new": 1})),
        ask(),
        json!({"partialInput": null, "invocationMessage": "go", "toolInput": null, "x-new": 1}),
    );
    let pending = || {
        chat(
            "pending-confirmation",
            json!({"toolInput": "i", "confirmationTitle": "c",
        "options": [{"id": "o"}], "edits": {}, "editable": true, "riskAssessment": {}}),
        )
    };
    brings(
        pending(),
        ask(),
        json!({"toolInput": "i", "confirmationTitle": "c", "options": [{"id": "o"}],
        "edits": {}, "editable": true, "riskAssessment": {}}),
    );
    brings(
        pending(),
        with(ask(), json!({"toolInput": "j", "editable": false})),
        json!({"toolInput": "j", "editable": false, "confirmationTitle": "c"}),
    );
    brings(
        pending(),
        action(ToolEvent::ReadyConfirmed),
        json!({"confirmed": "setting", "toolInput": "i",
        "confirmationTitle": null, "options": null, "edits": null, "editable": null}),
    );
    let running = || {
        chat(
            "running",
            json!({"confirmed": "user-action", "selectedOption": {"id": "o"},
        "content": [1], "toolInput": "i"}),
        )
    };
    let cleared = json!({"selectedOption": null, "content": null, "toolInput": "i"});
    brings(running(), ask(), with(cleared.clone(), json!({"confirmed": null})));
    brings(
        running(),
        action(ToolEvent::ReadyConfirmed),
        with(cleared, json!({"confirmed": "setting"})),
    );
}

#[test]
fn ready_never_changes_the_owner() {
    let client = |id: &str| json!({"kind": "client", "clientId": id});
    let mcp = |id: &str| json!({"kind": "mcp", "customizationId": id});
    let check = |stored: Value, refined: Value, expected: Value| {
        let before = chat("streaming", json!({"contributor": stored}));
        let action = with(action(ToolEvent::ReadyUnconfirmed), json!({"contributor": refined}));
        brings(before, action, json!({"contributor": expected}));
    };
    check(Value::Null, mcp("m"), mcp("m"));
    check(mcp("m"), mcp("n"), mcp("n"));
    check(mcp("m"), Value::Null, mcp("m"));
    check(Value::Null, client("a"), Value::Null);
    check(mcp("m"), client("a"), mcp("m"));
    check(client("a"), mcp("m"), client("a"));
    check(client("a"), client("b"), client("a"));
    check(client("a"), with(client("a"), json!({"x": 1})), with(client("a"), json!({"x": 1})));
}

#[test]
fn decisions() {
    let pending = |input: Value| {
        chat(
            "pending-confirmation",
            json!({"toolInput": input, "invocationMessage": "go",
        "options": [{"id": "o", "label": "O"}], "edits": {}}),
        )
    };
    let approve = |more: Value| with(action(ToolEvent::Approved), more);
    brings(
        pending(json!("i")),
        approve(json!({"editedToolInput": "e", "selectedOptionId": "o"})),
        json!({"toolInput": "e", "selectedOption": {"id": "o", "label": "O"}, "options": null,
            "edits": null, "confirmed": "user-action", "invocationMessage": "go"}),
    );
    let reference = json!({"uri": "u"});
    brings(
        pending(reference.clone()),
        approve(json!({"editedToolInput": "e", "selectedOptionId": "z"})),
        json!({"toolInput": reference, "selectedOption": null}),
    );
    brings(
        pending(json!("i")),
        approve(json!({"confirmed": null})),
        json!({"confirmed": "not-needed"}),
    );
    let deny = |more: Value| with(action(ToolEvent::Denied), more);
    brings(
        pending(json!("i")),
        deny(json!({"reason": "skipped", "reasonMessage": "r",
        "userSuggestion": {"text": "s"}, "selectedOptionId": "o"})),
        json!({"reason": "skipped", "reasonMessage": "r", "userSuggestion": {"text": "s"},
            "selectedOption": {"id": "o", "label": "O"}, "toolInput": "i", "options": null}),
    );
    brings(pending(json!("i")), deny(json!({"reason": null})), json!({"reason": "denied"}));
}

#[test]
fn results() {
    let complete = |result: Value| {
        let base = json!({"success": false, "pastTenseMessage": "done"});
        with(action(ToolEvent::Complete), json!({"result": with(base, result)}))
    };
    let running = || {
        json!({"confirmed": "setting", "selectedOption": {"id": "o"}, "content": [1],
        "toolInput": "i", "invocationMessage": "go"})
    };
    brings(
        chat("running", running()),
        complete(json!({"structuredContent": {"a": 1}, "x-new": 1})),
        json!({"success": false, "pastTenseMessage": "done", "confirmed": "setting",
            "content": null,
            "selectedOption": {"id": "o"}, "structuredContent": {"a": 1}, "x-new": 1}),
    );
    brings(
        chat("running", running()),
        complete(json!({"content": [2], "status": "running", "toolCallId": "z"})),
        json!({"content": [2], "status": "completed", "toolCallId": "c"}),
    );
    brings(
        chat("pending-confirmation", json!({"selectedOption": {}, "options": []})),
        complete(json!({})),
        json!({"confirmed": "not-needed", "selectedOption": null, "options": null}),
    );
    let waiting = || chat("auth-required", with(running(), json!({"auth": {}})));
    brings(
        waiting(),
        complete(json!({})),
        json!({"content": [1], "auth": null, "confirmed": "setting"}),
    );
    brings(waiting(), complete(json!({"content": [2]})), json!({"content": [2]}));
    brings(
        waiting(),
        action(ToolEvent::AuthResolved),
        with(running(), json!({"auth": null, "status": "running"})),
    );
    let done = || {
        chat(
            "pending-result-confirmation",
            with(
                running(),
                json!({"success": true,
        "pastTenseMessage": "done", "error": {}, "structuredContent": {}}),
            ),
        )
    };
    brings(
        done(),
        action(ToolEvent::ResultApproved),
        with(running(), json!({"success": true, "error": {}})),
    );
    brings(
        done(),
        action(ToolEvent::ResultDenied),
        json!({"reason": "result-denied", "success": null,
        "content": null, "error": null, "structuredContent": null, "confirmed": null,
        "selectedOption": {"id": "o"}, "toolInput": "i"}),
    );
}

#[test]
fn an_id_that_occurs_twice_means_the_newest_call() {
    let mut state = chat("running", json!({}));
    let first = call(&state).clone();
    for event in [ToolEvent::Start, ToolEvent::ReadyUnconfirmed] {
        assert_eq!(fold(&mut state, &action(event)), ActionOutcome::Applied);
    }
    assert_eq!(call(&state), &first);
    let second = state.pointer("/activeTurn/responseParts/1/toolCall/status");
    assert_eq!(second, Some(&json!("pending-confirmation")));
}

#[test]
fn the_status_follows_the_parts() {
    let waiting = json!({"kind": "toolCall", "toolCall": {"status": "auth-required"}});
    let answered = json!({"kind": "inputRequest", "response": "accept"});
    let check =
        |chat: Value, expected: u64| assert_eq!(status::recompute(&chat), expected, "{chat}");
    let turn =
        |parts: Value| json!({"status": 256 + 32 + 2, "activeTurn": {"responseParts": parts}});
    check(json!({"status": 34}), 33);
    check(turn(json!([])), 256 + 32 + 8);
    check(turn(json!([waiting, answered])), 256 + 32 + 24);
    check(turn(json!([answered])), 256 + 32 + 8);
    check(turn(json!([{"kind": "inputRequest", "response": null}])), 256 + 32 + 24);
    check(json!(null), 1);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    /// Checks random sequences of events: each event causes a transition of the table or leaves the call unchanged, and
    /// the chat's status always follows from its parts.
    #[test]
    fn calls_only_move_along_the_table(events in prop::collection::vec(0..EVENTS.len(), 0..40)) {
        let mut state = chat("streaming", json!({}));
        for index in events {
            let event = EVENTS[index];
            if event == ToolEvent::Start {
                continue;
            }
            let before = state.clone();
            let from = status_of(&before);
            let outcome = fold(&mut state, &action(event));
            let to = status_of(&state);
            match next(Some(from), event) {
                Some(expected) => prop_assert_eq!((outcome, to), (ActionOutcome::Applied, expected)),
                None => {
                    prop_assert_eq!(outcome, ActionOutcome::NoOp(NoOp::WrongStatus));
                    prop_assert_eq!(&state, &before);
                }
            }
            prop_assert_eq!(&state["status"], &json!(status::recompute(&state)));
        }
    }
}
