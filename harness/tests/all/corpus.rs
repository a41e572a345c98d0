//! Runs every corpus file and some random bytes through their fuzz targets, as a short version of a fuzzing
//! session.

use std::fs;
use std::path::Path;

use ahp_harness::arb::targets::{ByteTarget, TARGETS};
use ahp_harness::dice::Dice;

use crate::common::priority;

/// The number of random inputs for each fuzz target. `LONGEST` is their maximum length.
const DRAWN: usize = 60;
const LONGEST: usize = 400;

#[test]
fn no_target_panics_on_the_corpus() {
    priority::lower();
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus");
    for ByteTarget { name, run, .. } in TARGETS {
        let mut inputs = 0;
        for entry in fs::read_dir(corpus.join(name)).unwrap() {
            run(&fs::read(entry.unwrap().path()).unwrap());
            inputs += 1;
        }
        assert!(inputs > 0, "the target `{name}` has no corpus");
    }
}

#[cfg(feature = "official-newest")]
#[test]
fn the_official_crate_agrees_on_the_corpus() {
    use ahp_harness::arb::targets::{differential, official};

    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus/chat");
    let mut compared = 0;
    for entry in fs::read_dir(corpus).unwrap() {
        let order = fs::read(entry.unwrap().path()).unwrap();
        official(&order);
        compared += usize::from(differential(&order));
    }
    assert!(compared > 20, "{compared} orders");
}

#[test]
fn no_target_panics_on_random_bytes() {
    priority::lower();
    for (number, ByteTarget { run, .. }) in TARGETS.iter().enumerate() {
        let mut dice = Dice::new(1, number as u64);
        for _ in 0..DRAWN {
            let length = dice.below(LONGEST);
            let bytes: Vec<u8> = (0..length).map(|_| dice.roll().to_le_bytes()[0]).collect();
            run(&bytes);
        }
    }
}

#[test]
fn every_folder_is_a_target() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus");
    for entry in fs::read_dir(corpus).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let known = TARGETS.iter().any(|target| target.name == name);
        // Other tests use the files in these folders.
        let beside = ["acp", "captures", "conversations"].contains(&name.as_str());
        assert!(known || beside || !path.is_dir(), "no fuzz target is called `{name}`");
    }
}
