//! Tests of the built-in vectors: the vectors have no mistakes, the harness's reducer passes all vectors, and each
//! vector that a reducer without effect passes has a counterpart that such a reducer fails.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use ahp_harness::model::table::{self, ActionEffect};
use ahp_harness::model::{ActionOutcome, NoOp};
use ahp_harness::reducers::compare::{differences, same};
use ahp_harness::reducers::vector::{ExpectedResult, ReducerVector, VectorFile, carried};
use ahp_harness::wire::json::Value;
use ahp_harness::wire::protocol::Protocol;
use ahp_harness::wire::version::{PUBLISHED, Version};

/// All vector files; the tests read the files only once.
static FILES: LazyLock<Vec<VectorFile>> = LazyLock::new(carried);

fn vectors(files: &[VectorFile]) -> impl Iterator<Item = &ReducerVector> {
    files.iter().flat_map(|file| &file.vectors)
}

fn held(vector: &ReducerVector) -> impl Iterator<Item = Version> {
    PUBLISHED.into_iter().filter(|version| vector.spec.includes(*version))
}

#[test]
fn the_vectors_have_no_mistakes() {
    let files = &*FILES;
    let mistakes: Vec<String> = files
        .iter()
        .flat_map(|file| {
            file.errors.iter().map(|error| {
                let (line, _) = file.source.position(error.span.start);
                format!("{}:{line}: {error}", file.source.name)
            })
        })
        .collect();
    assert!(mistakes.is_empty(), "\n{}", mistakes.join("\n"));
    assert!(vectors(files).count() > 0);
}

#[test]
fn every_vector_file_is_embedded() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios/reducers");
    let files = std::fs::read_dir(folder).expect("a folder");
    let names = files.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    assert_eq!(names.filter(|name| name.ends_with(".yaml")).count(), FILES.len());
}

#[test]
fn our_reducer_passes_every_vector_in_every_version() {
    let mut wrong = Vec::new();
    for vector in vectors(&FILES) {
        assert!(held(vector).next().is_some(), "{} applies to no version", vector.name);
        for version in held(vector) {
            let folded = vector.case().fold(version);
            for difference in differences(&vector.expected, &folded.state) {
                let (expected, found) = (&difference.ours, &difference.theirs);
                let place = &difference.path;
                wrong.push(format!(
                    "{version} {} `{place}`: expected {expected:?}, found {found:?}",
                    vector.name
                ));
            }
            for (place, expected) in vector.outcomes.iter().enumerate() {
                let found = expectation(&folded.outcomes[place]);
                if *expected != found {
                    wrong.push(format!(
                        "{version} {} action {place}: expected {expected:?}, found {found:?}",
                        vector.name
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

fn expectation(outcome: &ActionOutcome) -> ExpectedResult {
    match outcome {
        ActionOutcome::Applied => ExpectedResult::Applied,
        ActionOutcome::NoOp(why) => ExpectedResult::NoOp(why.reason().to_owned()),
        ActionOutcome::OutOfScope => ExpectedResult::OutOfScope,
        ActionOutcome::Invalid { path, .. } => ExpectedResult::Invalid(path.clone()),
    }
}

#[test]
fn a_reducer_that_does_nothing_passes_only_vectors_with_a_twin() {
    let files = &*FILES;
    let by_name: BTreeMap<&str, &ReducerVector> =
        vectors(files).map(|vector| (vector.name.as_str(), vector)).collect();
    let fails = |vector: &ReducerVector| !same(&vector.state, &vector.expected);
    for vector in vectors(files).filter(|vector| !fails(vector) && !vector.is_of_an_event()) {
        let twin = vector.twin.as_deref().and_then(|twin| by_name.get(twin));
        assert!(twin.is_some_and(|twin| fails(twin)), "{} has no twin", vector.name);
        let takes = vector.outcomes.contains(&ExpectedResult::Applied);
        assert!(!takes, "{}: an action takes effect and nothing changes", vector.name);
    }
}

/// Returns whether a vector shows the effect of its action of this type: the reducer applies the action, or the
/// action is of a type that never changes a state.
fn shows(vector: &ReducerVector, action_type: &str, never: bool) -> bool {
    let types = vector.actions.iter().map(|action| action.get("type").and_then(Value::as_str));
    let mut outcomes = types.zip(&vector.outcomes);
    outcomes.any(|(found, outcome)| {
        found == Some(action_type)
            && match outcome {
                ExpectedResult::Applied => true,
                ExpectedResult::NoOp(_) => never,
                ExpectedResult::OutOfScope | ExpectedResult::Invalid(_) => false,
            }
    })
}

#[test]
fn every_action_of_every_version_has_a_vector() {
    let files = &*FILES;
    let mut missing = Vec::new();
    for version in PUBLISHED {
        let held: Vec<_> = vectors(files).filter(|vector| vector.spec.includes(version)).collect();
        let protocol = Protocol::of(version).expect("a table");
        for action in protocol.actions() {
            let row = table::find(version, &action.action_type).expect("a reducer");
            let never = matches!(row.effect, ActionEffect::Ignore(_));
            let shown = held.iter().any(|vector| {
                vector.channel == action.channel && shows(vector, &action.action_type, never)
            });
            if !shown {
                missing.push(format!("{version} {}", action.action_type));
            }
        }
    }
    assert!(missing.is_empty(), "no vector has\n{}", missing.join("\n"));
}

#[test]
fn every_reason_for_a_no_op_has_a_vector() {
    let files = &*FILES;
    let missing: Vec<_> = NoOp::ALL
        .iter()
        .map(|why| why.reason())
        .filter(|reason| {
            let wanted = ExpectedResult::NoOp((*reason).to_owned());
            !vectors(files).any(|vector| vector.outcomes.contains(&wanted))
        })
        .collect();
    assert!(missing.is_empty(), "no vector shows {missing:?}");
    // The harness knows every reason that a vector names.
    for vector in vectors(files) {
        for outcome in &vector.outcomes {
            let ExpectedResult::NoOp(reason) = outcome else { continue };
            let known = NoOp::ALL.iter().any(|why| why.reason() == reason);
            assert!(known, "{} names the reason `{reason}`", vector.name);
        }
    }
}

/// Checks that states and actions of vectors are valid. A vector with an invalid state or action would be useless,
/// because a subject may refuse it. Only a vector that is marked as open may have an invalid state or action.
#[test]
fn states_and_actions_are_those_of_the_tables() {
    let files = &*FILES;
    let mut wrong = Vec::new();
    for vector in vectors(files).filter(|vector| vector.open.is_empty()) {
        for version in held(vector) {
            let protocol = Protocol::of(version).expect("a table");
            let known = vector.actions.iter().zip(&vector.outcomes).filter(|(_, outcome)| {
                !matches!(outcome, ExpectedResult::OutOfScope | ExpectedResult::Invalid(_))
            });
            let actions = known.flat_map(|(action, _)| protocol.check_action(action));
            let states = [&vector.state, &vector.expected];
            let states = states.map(|state| protocol.check_state(vector.channel, state));
            for error in states.into_iter().flatten().chain(actions).filter(|error| !error.soft) {
                wrong.push(format!("{version} {}: {error}", vector.name));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
