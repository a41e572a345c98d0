//! Tests of the changeset channel, in every version that has it.

use crate::wire::json::{Value, json};

use super::testing::ExpectedOutcome::{Invalid, State, Unknown};
use super::testing::{ExpectedOutcome, check, check_since, with};
use super::{NoOp, reduces};
use crate::wire::version::{PUBLISHED, Version};

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
                ExpectedOutcome::NoOp(NoOp::UnknownFile),
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
        check_since(
            Version::V0_2,
            &empty,
            &[(cleared.clone(), ExpectedOutcome::NoOp(NoOp::Unchanged))],
        );
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
            (set("z", "idle", json!(null)), ExpectedOutcome::NoOp(NoOp::UnknownOperation)),
            (set("z", "error", json!(1)), Invalid("error")),
        ],
    );
    let none = with(&before, json!({"operations": null}));
    let idle = set("o", "idle", json!(null));
    check_since(
        Version::V0_3,
        &none,
        &[(idle.clone(), ExpectedOutcome::NoOp(NoOp::UnknownOperation))],
    );
    check(Version::V0_2, &before, &idle, &Unknown);
}

#[test]
fn content_of_changesets_has_no_error_from_0_9_0_on() {
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
    let rows: [(Value, bool, ExpectedOutcome); 5] = [
        (json!(["a", "b", "z"]), true, State(with(&before, json!({"files": seen})))),
        (json!(["a"]), false, State(with(&before, json!({"files": unseen})))),
        (json!(["b", "z"]), true, ExpectedOutcome::NoOp(NoOp::Unchanged)),
        (json!(["z"]), true, ExpectedOutcome::NoOp(NoOp::UnknownFile)),
        (json!([]), true, ExpectedOutcome::NoOp(NoOp::UnknownFile)),
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
