//! Tests of annotations, watches, canvases and automations, in every version that has them.

use crate::wire::json::{Value, json};

use super::testing::ExpectedOutcome::{Invalid, State, Unknown};
use super::testing::{ExpectedOutcome, check, check_since, with};
use super::{NoOp, reduces};
use crate::wire::version::{PUBLISHED, Version};

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
                ExpectedOutcome::NoOp(NoOp::UnknownAnnotation),
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
            (set("z", fresh.clone()), ExpectedOutcome::NoOp(NoOp::UnknownAnnotation)),
            (set("a", json!({})), Invalid("entry.id")),
            row(remove("a", "e"), json!([f])),
            (remove("a", "z"), ExpectedOutcome::NoOp(NoOp::UnknownEntry)),
            (remove("z", "e"), ExpectedOutcome::NoOp(NoOp::UnknownAnnotation)),
            (json!({"type": "annotations/entryRemoved", "annotationId": "a"}), Invalid("entryId")),
            // The reducers do not prevent the removal of an annotation's last entry.
            (
                remove("b", "e"),
                State(with(&before, json!({"annotations": [a, with(b, json!({"entries": []}))]}))),
            ),
        ],
    );
}

#[test]
fn annotations_are_updated_and_have_an_origin_in_newer_versions() {
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
            // In an update, null counts as absent, and an absent `range` leaves the annotation's range unchanged.
            (
                json!({"type": "annotations/updated", "annotationId": "a", "range": null}),
                State(before.clone()),
            ),
            (
                update("z", json!({"resolved": true})),
                ExpectedOutcome::NoOp(NoOp::UnknownAnnotation),
            ),
            (update("a", json!({"resolved": 1})), Invalid("resolved")),
            // An update of an annotation never changes the members `id`, `entries` and `_meta`.
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
fn changes_leave_the_state_of_a_watch_unchanged() {
    let before = json!({"root": "file:///w", "recursive": true});
    let changed = json!({"type": "resourceWatch/changed", "changes": {"items": [{}]}});
    check_since(
        Version::V0_2,
        &before,
        &[(changed.clone(), ExpectedOutcome::NoOp(NoOp::EventOnly))],
    );
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
                ExpectedOutcome::NoOp(NoOp::UnknownAutomation),
            ),
            (
                json!({"type": "automation/createRequested", "resource": "z", "definition": {}}),
                ExpectedOutcome::NoOp(NoOp::RequestOnly),
            ),
            (
                json!({"type": "automation/updateRequested", "resource": "a", "changes": {}}),
                ExpectedOutcome::NoOp(NoOp::RequestOnly),
            ),
        ],
    );
    check(Version::V0_8, &before, &json!({"type": "automation/set", "automation": a}), &Unknown);
}

#[test]
fn runs_of_automations_have_sessions_and_a_primary_one() {
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
                ExpectedOutcome::NoOp(NoOp::Unchanged),
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
                ExpectedOutcome::NoOp(NoOp::UnknownSession),
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
            (
                json!({"type": "automationRun/cancelRequested"}),
                ExpectedOutcome::NoOp(NoOp::RequestOnly),
            ),
        ],
    );
    let cancel = json!({"type": "automationRun/cancelRequested"});
    check(Version::V0_8, &before, &cancel, &Unknown);
}

#[test]
fn each_channel_has_actions_from_its_first_version_on() {
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
