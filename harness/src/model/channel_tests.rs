//! Rows for the channels beside root, session and chat: each action with an effect, each reason for
//! having none, each payload that cannot be used, and each difference between versions.

use crate::wire::json::{Value, json};

use super::{NoOp, Outcome, apply, reduces};
use crate::wire::channel::ChannelKind;
use crate::wire::version::{PUBLISHED, Version};

/// What has to come of an action.
enum Expected {
    /// The state afterwards, whole.
    State(Value),
    /// The state stays.
    NoOp(NoOp),
    /// The state stays; the member at fault.
    Invalid(&'static str),
    /// The state stays; the version has no such action.
    Unknown,
}

use Expected::{Invalid, State, Unknown};

#[track_caller]
fn check(version: Version, before: &Value, action: &Value, expected: &Expected) {
    let kind = ChannelKind::of_action(action["type"].as_str().unwrap()).unwrap();
    let mut state = before.clone();
    let outcome = apply(version, kind, &mut state, action);
    let after = match expected {
        State(after) => after,
        _ => before,
    };
    assert_eq!(&state, after, "{version} {action}");
    match expected {
        State(_) => assert_eq!(outcome, Outcome::Applied, "{version} {action}"),
        Expected::NoOp(why) => assert_eq!(outcome, Outcome::NoOp(*why), "{version} {action}"),
        Unknown => assert_eq!(outcome, Outcome::OutOfScope, "{version} {action}"),
        Invalid(wanted) => {
            let Outcome::Invalid { path, .. } = &outcome else {
                panic!("{version} {action} is {outcome:?}");
            };
            assert_eq!(path, wanted, "{version} {action}");
        }
    }
}

/// Checks rows of action and outcome on one state, in every version from `since` on.
#[track_caller]
fn check_since(since: Version, before: &Value, rows: &[(Value, Expected)]) {
    for version in PUBLISHED.into_iter().filter(|version| *version >= since) {
        for (action, expected) in rows {
            check(version, before, action, expected);
        }
    }
}

fn with(state: &Value, members: Value) -> Value {
    let mut state = state.clone();
    for (name, value) in members.as_object().unwrap() {
        match value {
            Value::Null => state.as_object_mut().unwrap().remove(name),
            value => state.as_object_mut().unwrap().insert(name.clone(), value.clone()),
        };
    }
    state
}

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
    check(Version::V1_0, &malformed, &data, &Expected::NoOp(NoOp::MalformedState));
    let without = with(&terminal(json!([])), json!({"content": null}));
    check(Version::V1_0, &without, &data, &State(terminal(json!([fresh]))));
}

#[test]
fn terminals_members_are_replaced() {
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
            (json!({"type": "terminal/input", "data": "ls\r"}), Expected::NoOp(NoOp::RequestOnly)),
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
            (unknown.clone(), Expected::NoOp(NoOp::UnknownCommand)),
            (json!({"type": "terminal/commandFinished"}), Invalid("commandId")),
        ],
    );
    // Ended again without a code, the code of the first end goes.
    let again = terminal(json!([command("a", true), command("b", false), command("a", true)]));
    check_since(Version::V1, &all_ended, &[(bare, State(again))]);
    let empty = with(&before, json!({"content": null}));
    check_since(Version::V1, &empty, &[(unknown, Expected::NoOp(NoOp::UnknownCommand))]);
}

#[test]
fn the_end_of_a_terminal_moved_into_its_lifecycle() {
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

fn changeset() -> Value {
    json!({
        "status": "ready",
        "files": [
            {"id": "a", "edit": {}, "x": 1},
            {"id": "b", "edit": {}, "reviewed": true},
            {"id": "a", "edit": {"twin": true}, "reviewed": false},
        ],
        "operations": [
            {"id": "o", "label": "O", "status": "idle", "x": 1},
            {"id": "p", "label": "P", "status": "error", "error": {"message": "m"}},
        ],
        "x": 1,
    })
}

#[test]
fn statuses_of_changesets_carry_an_error_only_when_they_failed() {
    let before = changeset();
    let error = json!({"errorType": "e", "message": "m"});
    let failed = with(&before, json!({"status": "error", "error": error}));
    let set = |status: &str, error: Value| json!({"type": "changeset/statusChanged", "status": status, "error": error});
    check_since(
        Version::V0_2,
        &before,
        &[
            (set("error", error.clone()), State(failed.clone())),
            (set("error", json!(null)), State(with(&before, json!({"status": "error"})))),
            (
                set("recomputing", error.clone()),
                State(with(&before, json!({"status": "recomputing"}))),
            ),
            (set("unheardOf", json!(5)), State(with(&before, json!({"status": "unheardOf"})))),
            (set("error", json!("e")), Invalid("error")),
            (json!({"type": "changeset/statusChanged"}), Invalid("status")),
        ],
    );
    check_since(
        Version::V0_2,
        &failed,
        &[
            (set("error", json!(null)), State(with(&before, json!({"status": "error"})))),
            (set("ready", json!(null)), State(before)),
        ],
    );
}

#[test]
fn files_of_changesets_are_set_and_removed() {
    let before = changeset();
    let [a, b, twin] = [&before["files"][0], &before["files"][1], &before["files"][2]];
    let fresh = json!({"id": "c", "edit": {}, "y": 2});
    let changed = json!({"id": "a", "edit": {"after": {}}});
    let row = |action: Value, members: Value| (action, State(with(&before, members)));
    check_since(
        Version::V0_2,
        &before,
        &[
            row(
                json!({"type": "changeset/fileSet", "file": fresh}),
                json!({"files": [a, b, twin, fresh]}),
            ),
            row(
                json!({"type": "changeset/fileSet", "file": changed}),
                json!({"files": [changed, b, twin]}),
            ),
            (json!({"type": "changeset/fileSet", "file": {}}), Invalid("file.id")),
            row(
                json!({"type": "changeset/fileRemoved", "fileId": "a"}),
                json!({"files": [b, twin]}),
            ),
            (
                json!({"type": "changeset/fileRemoved", "fileId": "z"}),
                Expected::NoOp(NoOp::UnknownFile),
            ),
            (json!({"type": "changeset/fileRemoved"}), Invalid("fileId")),
            row(json!({"type": "changeset/cleared"}), json!({"files": []})),
            row(json!({"type": "changeset/operationsChanged"}), json!({"operations": null})),
            row(
                json!({"type": "changeset/operationsChanged", "operations": []}),
                json!({"operations": []}),
            ),
        ],
    );
    let cleared = json!({"type": "changeset/cleared"});
    for files in [json!([]), json!(null)] {
        let empty = with(&before, json!({"files": files}));
        check_since(Version::V0_2, &empty, &[(cleared.clone(), Expected::NoOp(NoOp::Unchanged))]);
    }
}

#[test]
fn operations_of_changesets_change_their_status() {
    let before = changeset();
    let [o, p] = [&before["operations"][0], &before["operations"][1]];
    let set = |id: &str, status: &str, error: Value| {
        json!({
            "type": "changeset/operationStatusChanged", "operationId": id, "status": status,
            "error": error,
        })
    };
    let error = json!({"message": "n"});
    let failed = with(o, json!({"status": "error", "error": error}));
    let disabled = with(p, json!({"status": "disabled", "error": null}));
    let row = |action: Value, operations: Value| {
        (action, State(with(&before, json!({"operations": operations}))))
    };
    check_since(
        Version::V0_3,
        &before,
        &[
            row(set("o", "error", error.clone()), json!([failed, p])),
            row(set("p", "disabled", error.clone()), json!([o, disabled])),
            row(set("p", "error", json!(null)), json!([o, with(p, json!({"error": null}))])),
            (set("z", "idle", json!(null)), Expected::NoOp(NoOp::UnknownOperation)),
            (set("z", "error", json!(1)), Invalid("error")),
        ],
    );
    let none = with(&before, json!({"operations": null}));
    let idle = set("o", "idle", json!(null));
    check_since(Version::V0_3, &none, &[(idle.clone(), Expected::NoOp(NoOp::UnknownOperation))]);
    check(Version::V0_2, &before, &idle, &Unknown);
}

#[test]
fn content_of_changesets_lost_its_error() {
    let before = with(&changeset(), json!({"status": "error", "error": {"message": "old"}}));
    let content = |members: Value| {
        with(&json!({"type": "changeset/contentChanged", "files": [{"id": "n"}]}), members)
    };
    let error = json!({"message": "new"});
    let changed = with(&before, json!({"files": [{"id": "n"}]}));
    let (bare, operations) = (content(json!({})), content(json!({"operations": [{"id": "q"}]})));
    let failed = content(json!({"error": error}));
    for version in PUBLISHED.into_iter().filter(|version| *version >= Version::V0_4) {
        let old = version < Version::V0_9;
        let settled = if old { with(&changed, json!({"error": null})) } else { changed.clone() };
        let replaced = with(&settled, json!({"operations": [{"id": "q"}]}));
        let with_error =
            with(&changed, json!({"error": if old { &error } else { &before["error"] }}));
        check(version, &before, &bare, &State(settled));
        check(version, &before, &operations, &State(replaced));
        check(version, &before, &failed, &State(with_error));
        check(version, &before, &content(json!({"files": 1})), &Invalid("files"));
        check(version, &before, &content(json!({"operations": 1})), &Invalid("operations"));
    }
    let malformed = content(json!({"error": 1}));
    check(Version::V0_8, &before, &malformed, &Invalid("error"));
    check(Version::V0_9, &before, &malformed, &State(changed));
    check(Version::V0_3, &before, &bare, &Unknown);
}

#[test]
fn files_of_changesets_are_reviewed() {
    let before = changeset();
    let [a, b, twin] = [&before["files"][0], &before["files"][1], &before["files"][2]];
    let reviewed = |file: &Value, reviewed: bool| with(file, json!({"reviewed": reviewed}));
    let seen = json!([reviewed(a, true), b, reviewed(twin, true)]);
    let unseen = json!([reviewed(a, false), b, twin]);
    let rows: [(Value, bool, Expected); 5] = [
        (json!(["a", "b", "z"]), true, State(with(&before, json!({"files": seen})))),
        (json!(["a"]), false, State(with(&before, json!({"files": unseen})))),
        (json!(["b", "z"]), true, Expected::NoOp(NoOp::Unchanged)),
        (json!(["z"]), true, Expected::NoOp(NoOp::UnknownFile)),
        (json!([]), true, Expected::NoOp(NoOp::UnknownFile)),
    ];
    let spelled =
        [("changeset/filesReviewedChanged", "fileIds"), ("changeset/filesReviewChanged", "files")];
    for (action_type, member) in spelled {
        let old = member == "fileIds";
        for version in PUBLISHED {
            let known = match old {
                true => version == Version::V0_5_2,
                false => version >= Version::V0_6,
            };
            assert_eq!(reduces(version, action_type), known, "{version} {action_type}");
            for (files, reviewed, expected) in &rows {
                let action = json!({"type": action_type, member: files, "reviewed": reviewed});
                check(version, &before, &action, if known { expected } else { &Unknown });
            }
        }
        let version = if old { Version::V0_5_2 } else { Version::V1_0 };
        let bad = json!({"type": action_type, member: ["a", 5], "reviewed": true});
        let path = if old { "fileIds.1" } else { "files.1" };
        check(version, &before, &bad, &Invalid(path));
        let bad = json!({"type": action_type, member: ["z"]});
        check(version, &before, &bad, &Invalid("reviewed"));
    }
}

fn annotations() -> Value {
    json!({
        "annotations": [
            {
                "id": "a", "resource": "file:///a", "range": {"start": 1}, "resolved": false,
                "entries": [{"id": "e", "text": "t"}, {"id": "f", "text": "u"}], "x": 1,
            },
            {"id": "b", "resource": "file:///b", "resolved": true, "entries": [{"id": "e"}]},
        ],
        "x": 1,
    })
}

#[test]
fn annotations_are_set_and_removed() {
    let before = annotations();
    let [a, b] = [&before["annotations"][0], &before["annotations"][1]];
    let fresh = json!({"id": "c", "entries": [{"id": "e"}], "y": 1});
    let other = json!({"id": "a", "entries": []});
    let row =
        |action: Value, list: Value| (action, State(with(&before, json!({"annotations": list}))));
    check_since(
        Version::V0_4,
        &before,
        &[
            row(json!({"type": "annotations/set", "annotation": fresh}), json!([a, b, fresh])),
            row(json!({"type": "annotations/set", "annotation": other}), json!([other, b])),
            (json!({"type": "annotations/set", "annotation": {"id": 1}}), Invalid("annotation.id")),
            row(json!({"type": "annotations/removed", "annotationId": "a"}), json!([b])),
            (
                json!({"type": "annotations/removed", "annotationId": "z"}),
                Expected::NoOp(NoOp::UnknownAnnotation),
            ),
            (json!({"type": "annotations/removed"}), Invalid("annotationId")),
        ],
    );
    let twins = json!({"annotations": [a, b, a]});
    let removed = json!({"type": "annotations/removed", "annotationId": "a"});
    check(Version::V1_0, &twins, &removed, &State(json!({"annotations": [b, a]})));
    check(Version::V0_3, &before, &removed, &Unknown);
}

#[test]
fn entries_of_annotations_are_set_and_removed() {
    let before = annotations();
    let [a, b] = [&before["annotations"][0], &before["annotations"][1]];
    let row = |action: Value, entries: Value| {
        let changed = json!([with(a, json!({"entries": entries})), b]);
        (action, State(with(&before, json!({"annotations": changed}))))
    };
    let set = |annotation: &str, entry: Value| json!({"type": "annotations/entrySet", "annotationId": annotation, "entry": entry});
    let remove = |annotation: &str, entry: &str| json!({"type": "annotations/entryRemoved", "annotationId": annotation, "entryId": entry});
    let [e, f] = [&a["entries"][0], &a["entries"][1]];
    let (edited, fresh) = (json!({"id": "e", "y": 1}), json!({"id": "g"}));
    check_since(
        Version::V0_4,
        &before,
        &[
            row(set("a", edited.clone()), json!([edited, f])),
            row(set("a", fresh.clone()), json!([e, f, fresh])),
            (set("z", fresh.clone()), Expected::NoOp(NoOp::UnknownAnnotation)),
            (set("a", json!({})), Invalid("entry.id")),
            row(remove("a", "e"), json!([f])),
            (remove("a", "z"), Expected::NoOp(NoOp::UnknownEntry)),
            (remove("z", "e"), Expected::NoOp(NoOp::UnknownAnnotation)),
            (json!({"type": "annotations/entryRemoved", "annotationId": "a"}), Invalid("entryId")),
            // Nothing keeps the last entry from going.
            (
                remove("b", "e"),
                State(with(&before, json!({"annotations": [a, with(b, json!({"entries": []}))]}))),
            ),
        ],
    );
}

#[test]
fn annotations_are_updated_and_their_turn_became_their_origin() {
    let before = annotations();
    let [a, b] = [&before["annotations"][0], &before["annotations"][1]];
    let update = |id: &str, members: Value| {
        with(&json!({"type": "annotations/updated", "annotationId": id}), members)
    };
    let row = |members: Value| {
        let changed = json!([with(a, members.clone()), b]);
        (update("a", members), State(with(&before, json!({"annotations": changed}))))
    };
    check_since(
        Version::V0_4,
        &before,
        &[
            row(json!({"resolved": true})),
            row(json!({"resource": "file:///z", "range": {"start": 9}})),
            row(json!({})),
            // Null is absent, and absent leaves the range alone.
            (
                json!({"type": "annotations/updated", "annotationId": "a", "range": null}),
                State(before.clone()),
            ),
            (update("z", json!({"resolved": true})), Expected::NoOp(NoOp::UnknownAnnotation)),
            (update("a", json!({"resolved": 1})), Invalid("resolved")),
            // The members that an update never touches.
            (update("a", json!({"id": "q", "entries": [], "_meta": {}})), State(before.clone())),
        ],
    );
    let turn = update("a", json!({"turnId": "t"}));
    let origin = update("a", json!({"origin": {"session": "s"}}));
    for version in PUBLISHED.into_iter().filter(|version| *version >= Version::V0_4) {
        let (used, other) = match version < Version::V0_9 {
            true => (row(json!({"turnId": "t"})), &origin),
            false => (row(json!({"origin": {"session": "s"}})), &turn),
        };
        check(version, &before, &used.0, &used.1);
        check(version, &before, other, &State(before.clone()));
    }
    check(Version::V0_8, &before, &update("a", json!({"turnId": 1})), &Invalid("turnId"));
    check(Version::V0_9, &before, &update("a", json!({"origin": "t"})), &Invalid("origin"));
}

#[test]
fn watches_keep_nothing_of_what_happens() {
    let before = json!({"root": "file:///w", "recursive": true});
    let changed = json!({"type": "resourceWatch/changed", "changes": {"items": [{}]}});
    check_since(Version::V0_2, &before, &[(changed.clone(), Expected::NoOp(NoOp::EventOnly))]);
    check(Version::V0_1, &before, &changed, &Unknown);
}

#[test]
fn canvases_are_replaced_whole() {
    let before = json!({"instanceId": "i", "title": "old", "url": "http://old", "x": 1});
    let canvas = json!({"instanceId": "i", "status": "new", "y": 1});
    let changed = json!({"type": "canvas/stateChanged", "canvas": canvas});
    check(Version::V1_0, &before, &changed, &State(canvas));
    check(Version::V1_0, &before, &json!({"type": "canvas/stateChanged"}), &Invalid("canvas"));
    check(Version::V0_9, &before, &changed, &Unknown);
}

#[test]
fn automations_are_set_and_removed() {
    let [a, b] = [json!({"resource": "a", "x": 1}), json!({"resource": "b"})];
    let before = json!({"entries": [a, b, a], "x": 1});
    let (other, fresh) = (json!({"resource": "a", "y": 1}), json!({"resource": "c"}));
    let row =
        |action: Value, entries: Value| (action, State(with(&before, json!({"entries": entries}))));
    check_since(
        Version::V0_9,
        &before,
        &[
            row(json!({"type": "automation/set", "automation": other}), json!([other, b, a])),
            row(json!({"type": "automation/set", "automation": fresh}), json!([a, b, a, fresh])),
            (json!({"type": "automation/set", "automation": {}}), Invalid("automation.resource")),
            row(json!({"type": "automation/removed", "resource": "a"}), json!([b, a])),
            (
                json!({"type": "automation/removed", "resource": "z"}),
                Expected::NoOp(NoOp::UnknownAutomation),
            ),
            (
                json!({"type": "automation/createRequested", "resource": "z", "definition": {}}),
                Expected::NoOp(NoOp::RequestOnly),
            ),
            (
                json!({"type": "automation/updateRequested", "resource": "a", "changes": {}}),
                Expected::NoOp(NoOp::RequestOnly),
            ),
        ],
    );
    check(Version::V0_8, &before, &json!({"type": "automation/set", "automation": a}), &Unknown);
}

#[test]
fn runs_of_automations_have_sessions_and_one_to_open_first() {
    let before = json!({
        "sessions": ["s", "t", "s"], "primarySession": "s", "lifecycle": {"status": "pending"}, "x": 1,
    });
    let failed = json!({"status": "failed", "error": {}, "y": 1});
    let row = |action: Value, members: Value| (action, State(with(&before, members)));
    check_since(
        Version::V0_9,
        &before,
        &[
            row(
                json!({"type": "automationRun/lifecycleChanged", "lifecycle": failed}),
                json!({"lifecycle": failed}),
            ),
            (json!({"type": "automationRun/lifecycleChanged"}), Invalid("lifecycle")),
            row(
                json!({"type": "automationRun/sessionSet", "session": "u"}),
                json!({"sessions": ["s", "t", "s", "u"]}),
            ),
            (
                json!({"type": "automationRun/sessionSet", "session": "t"}),
                Expected::NoOp(NoOp::Unchanged),
            ),
            (json!({"type": "automationRun/sessionSet"}), Invalid("session")),
            row(
                json!({"type": "automationRun/sessionRemoved", "session": "s"}),
                json!({"sessions": ["t", "s"], "primarySession": null}),
            ),
            row(
                json!({"type": "automationRun/sessionRemoved", "session": "t"}),
                json!({"sessions": ["s", "s"]}),
            ),
            (
                json!({"type": "automationRun/sessionRemoved", "session": "z"}),
                Expected::NoOp(NoOp::UnknownSession),
            ),
            row(
                json!({"type": "automationRun/primarySessionChanged", "primarySession": "q"}),
                json!({"primarySession": "q"}),
            ),
            row(
                json!({"type": "automationRun/primarySessionChanged"}),
                json!({"primarySession": null}),
            ),
            (
                json!({"type": "automationRun/primarySessionChanged", "primarySession": 1}),
                Invalid("primarySession"),
            ),
            (json!({"type": "automationRun/cancelRequested"}), Expected::NoOp(NoOp::RequestOnly)),
        ],
    );
    let cancel = json!({"type": "automationRun/cancelRequested"});
    check(Version::V0_8, &before, &cancel, &Unknown);
}

#[test]
fn terminals_exist_in_every_version_and_the_others_since_theirs() {
    for (action_type, since) in [
        ("terminal/data", Version::V1),
        ("terminal/commandFinished", Version::V1),
        ("changeset/fileSet", Version::V0_2),
        ("resourceWatch/changed", Version::V0_2),
        ("changeset/operationStatusChanged", Version::V0_3),
        ("changeset/contentChanged", Version::V0_4),
        ("annotations/entryRemoved", Version::V0_4),
        ("automation/set", Version::V0_9),
        ("automationRun/cancelRequested", Version::V0_9),
        ("canvas/stateChanged", Version::V1_0),
    ] {
        for version in PUBLISHED {
            assert_eq!(reduces(version, action_type), version >= since, "{version} {action_type}");
        }
    }
}
