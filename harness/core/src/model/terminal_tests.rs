//! Tests of the terminal channel, in every version.

use crate::wire::json::{Value, json};

use super::NoOp;
use super::testing::ExpectedOutcome::{Invalid, State, Unknown};
use super::testing::{ExpectedOutcome, check, check_since, with};
use crate::wire::version::{PUBLISHED, Version};

fn terminal(content: Value) -> Value {
    json!({"title": "sh", "claim": {"kind": "client", "clientId": "c"}, "content": content, "x": 1})
}

fn command(id: &str, complete: bool) -> Value {
    json!({
        "type": "command", "commandId": id, "commandLine": "ls", "output": "o", "timestamp": 7,
        "isComplete": complete, "x": 1,
    })
}

#[test]
fn terminal_output_goes_to_the_last_part_or_begins_one() {
    let text = |value: &str| json!({"type": "unclassified", "value": value, "x": 1});
    let fresh = json!({"type": "unclassified", "value": "hi"});
    let later = json!({"type": "image", "value": "i"});
    let open = with(&command("a", false), json!({"output": "ohi"}));
    let unsaid = with(&command("a", false), json!({"isComplete": null}));
    for (before, after) in [
        (json!([]), json!([fresh])),
        (json!([text("$ ")]), json!([text("$ hi")])),
        (json!([command("a", false)]), json!([open])),
        (json!([unsaid]), json!([with(&unsaid, json!({"output": "ohi"}))])),
        (json!([command("a", true)]), json!([command("a", true), fresh])),
        (json!([command("a", false), text("")]), json!([command("a", false), text("hi")])),
        (json!([later]), json!([later, fresh])),
    ] {
        let action = json!({"type": "terminal/data", "data": "hi"});
        check_since(Version::V1, &terminal(before), &[(action, State(terminal(after)))]);
    }
    let data = json!({"type": "terminal/data", "data": "hi"});
    let malformed = terminal(json!([{"type": "unclassified", "value": 5}]));
    check(Version::V1_0, &malformed, &data, &ExpectedOutcome::NoOp(NoOp::MalformedState));
    let without = with(&terminal(json!([])), json!({"content": null}));
    check(Version::V1_0, &without, &data, &State(terminal(json!([fresh]))));
}

#[test]
fn members_of_terminals_are_replaced() {
    let before = with(&terminal(json!([command("a", true)])), json!({"cols": 80, "rows": 24}));
    let claim = json!({"kind": "session", "session": "ahp-session:/s", "chat": "c", "x": 1});
    let row = |action: Value, members: Value| (action, State(with(&before, members)));
    check_since(
        Version::V1,
        &before,
        &[
            row(
                json!({"type": "terminal/resized", "cols": 100, "rows": 30}),
                json!({"cols": 100, "rows": 30}),
            ),
            row(json!({"type": "terminal/claimed", "claim": claim}), json!({"claim": claim})),
            row(json!({"type": "terminal/titleChanged", "title": ""}), json!({"title": ""})),
            row(
                json!({"type": "terminal/cwdChanged", "cwd": "file:///w"}),
                json!({"cwd": "file:///w"}),
            ),
            row(json!({"type": "terminal/cleared"}), json!({"content": []})),
            row(
                json!({"type": "terminal/commandDetectionAvailable"}),
                json!({"supportsCommandDetection": true}),
            ),
            (
                json!({"type": "terminal/input", "data": "ls\r"}),
                ExpectedOutcome::NoOp(NoOp::RequestOnly),
            ),
            (json!({"type": "terminal/data"}), Invalid("data")),
            (json!({"type": "terminal/resized", "cols": 100}), Invalid("rows")),
            (json!({"type": "terminal/claimed", "claim": null}), Invalid("claim")),
            (json!({"type": "terminal/titleChanged", "title": 5}), Invalid("title")),
            (json!({"type": "terminal/exited", "exitCode": "0"}), Invalid("exitCode")),
            (json!({"type": "terminal/unheardOf"}), Unknown),
        ],
    );
}

#[test]
fn commands_of_terminals_begin_and_end() {
    let before = terminal(json!([command("a", false), command("b", false), command("a", true)]));
    let begun = json!({
        "type": "command", "commandId": "a", "commandLine": "make", "output": "", "timestamp": 9,
        "isComplete": false,
    });
    let mut content = before["content"].as_array().unwrap().clone();
    content.push(begun);
    let detects = json!({"content": content, "supportsCommandDetection": true});
    let begin = json!({
        "type": "terminal/commandExecuted", "commandId": "a", "commandLine": "make", "timestamp": 9,
    });
    let ended = with(&command("a", true), json!({"exitCode": 1, "durationMs": 2.5}));
    let end = json!({
        "type": "terminal/commandFinished", "commandId": "a", "exitCode": 1, "durationMs": 2.5,
    });
    let all_ended = terminal(json!([ended, command("b", false), ended]));
    let bare = json!({"type": "terminal/commandFinished", "commandId": "a"});
    let unknown = json!({"type": "terminal/commandFinished", "commandId": "z"});
    check_since(
        Version::V1,
        &before,
        &[
            (begin.clone(), State(with(&before, detects))),
            (with(&begin, json!({"timestamp": null})), Invalid("timestamp")),
            (with(&begin, json!({"commandLine": null})), Invalid("commandLine")),
            (end.clone(), State(all_ended.clone())),
            (unknown.clone(), ExpectedOutcome::NoOp(NoOp::UnknownCommand)),
            (json!({"type": "terminal/commandFinished"}), Invalid("commandId")),
        ],
    );
    // If a command ends a second time without an exit code, the exit code of the first end is removed.
    let again = terminal(json!([command("a", true), command("b", false), command("a", true)]));
    check_since(Version::V1, &all_ended, &[(bare, State(again))]);
    let empty = with(&before, json!({"content": null}));
    check_since(Version::V1, &empty, &[(unknown, ExpectedOutcome::NoOp(NoOp::UnknownCommand))]);
}

#[test]
fn the_exit_of_a_terminal_is_in_its_lifecycle_from_0_9_0_on() {
    let before = terminal(json!([]));
    let coded = json!({"type": "terminal/exited", "exitCode": -1});
    let bare = json!({"type": "terminal/exited"});
    let old = with(&before, json!({"exitCode": -1}));
    let new = with(&before, json!({"lifecycle": {"status": "exited", "exitCode": -1}}));
    let bare_new = with(&before, json!({"lifecycle": {"status": "exited"}}));
    for version in PUBLISHED {
        let (with_code, without) = match version < Version::V0_9 {
            true => (&old, &before),
            false => (&new, &bare_new),
        };
        check(version, &before, &coded, &State(with_code.clone()));
        check(version, with_code, &bare, &State(without.clone()));
    }
}
