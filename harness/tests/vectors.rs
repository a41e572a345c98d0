//! The carried vectors: no mistakes, our reducer passes every one, and a reducer that does nothing
//! passes none that has no twin beside it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use ahp_harness::model::{NoOp, Outcome, reduces};
use ahp_harness::reducers::compare::{differences, same};
use ahp_harness::reducers::vector::{Expected, Vector, VectorFile, carried};
use ahp_harness::wire::version::{PUBLISHED, Version};

fn vectors(files: &[VectorFile]) -> impl Iterator<Item = &Vector> {
    files.iter().flat_map(|file| &file.vectors)
}

fn held(vector: &Vector) -> impl Iterator<Item = Version> {
    PUBLISHED.into_iter().filter(|version| vector.spec.includes(*version))
}

#[test]
fn have_no_mistakes() {
    let files = carried();
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
    assert!(vectors(&files).count() > 0);
}

#[test]
fn every_file_is_carried() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios/reducers");
    let files = std::fs::read_dir(folder).expect("a folder");
    let names = files.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    assert_eq!(names.filter(|name| name.ends_with(".yaml")).count(), carried().len());
}

#[test]
fn our_reducer_passes_every_one_in_every_version() {
    let mut wrong = Vec::new();
    for vector in vectors(&carried()) {
        assert!(held(vector).next().is_some(), "{} holds for no version", vector.name);
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

fn expectation(outcome: &Outcome) -> Expected {
    match outcome {
        Outcome::Applied => Expected::Applied,
        Outcome::NoOp(why) => Expected::NoOp(why.reason().to_owned()),
        Outcome::OutOfScope => Expected::OutOfScope,
        Outcome::Invalid { path, .. } => Expected::Invalid(path.clone()),
    }
}

#[test]
fn a_reducer_that_does_nothing_passes_none_without_a_twin() {
    let files = carried();
    let by_name: BTreeMap<&str, &Vector> =
        vectors(&files).map(|vector| (vector.name.as_str(), vector)).collect();
    let fails = |vector: &Vector| !same(&vector.state, &vector.expected);
    for vector in vectors(&files).filter(|vector| !fails(vector)) {
        let twin = vector.twin.as_deref().and_then(|twin| by_name.get(twin));
        assert!(twin.is_some_and(|twin| fails(twin)), "{} has no twin", vector.name);
        let takes = vector.outcomes.contains(&Expected::Applied);
        assert!(!takes, "{}: an action takes effect and nothing changes", vector.name);
    }
}

#[test]
fn every_action_of_the_covered_channels_has_one() {
    let files = carried();
    let version = Version::new(1, 0, 0);
    let mut seen = BTreeSet::new();
    for vector in vectors(&files).filter(|vector| vector.spec.includes(version)) {
        for action in &vector.actions {
            seen.extend(action.get("type").and_then(|name| name.as_str()).map(str::to_owned));
        }
    }
    let channels: BTreeSet<_> = vectors(&files).map(|vector| vector.channel).collect();
    let protocol = ahp_harness::wire::protocol::Protocol::of(version).expect("a table");
    let missing: Vec<_> = protocol
        .actions()
        .filter(|row| channels.contains(&row.channel) && reduces(version, &row.action_type))
        .filter(|row| !seen.contains(&row.action_type))
        .map(|row| &row.action_type)
        .collect();
    assert!(missing.is_empty(), "no vector has {missing:?}");
}

#[test]
fn reasons_are_those_of_the_model() {
    // The reasons that root, session and chat can give; a vector for each.
    const REASONS: &[NoOp] = &[
        NoOp::NoActiveTurn,
        NoOp::WrongTurn,
        NoOp::TurnActive,
        NoOp::UnknownTurn,
        NoOp::NotResumable,
        NoOp::UnknownPart,
        NoOp::WrongPartKind,
        NoOp::ErrorPart,
        NoOp::UnknownToolCall,
        NoOp::WrongStatus,
        NoOp::NotMcp,
        NoOp::AwaitsAuth,
        NoOp::UnknownRequest,
        NoOp::UnknownMessage,
        NoOp::NoQueue,
        NoOp::UnknownChat,
        NoOp::NotAPermutation,
        NoOp::UnknownClient,
        NoOp::UnknownCustomization,
        NoOp::UnknownMcpServer,
        NoOp::NotBlocking,
        NoOp::UnknownWork,
        NoOp::UnknownDirectory,
        NoOp::NoConfig,
        NoOp::Unchanged,
    ];
    let files = carried();
    for reason in REASONS {
        let wanted = Expected::NoOp(reason.reason().to_owned());
        let shown = vectors(&files).any(|vector| vector.outcomes.contains(&wanted));
        assert!(shown, "no vector shows `{}`", reason.reason());
    }
}
