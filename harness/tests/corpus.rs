//! Every file of the corpora goes through its fuzz target.

use std::fs;
use std::path::Path;

use ahp_harness::arb::TARGETS;

#[test]
fn every_input_is_survived() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus");
    for (name, target) in TARGETS {
        let mut inputs = 0;
        for entry in fs::read_dir(corpus.join(name)).unwrap() {
            target(&fs::read(entry.unwrap().path()).unwrap());
            inputs += 1;
        }
        assert!(inputs > 0, "the target `{name}` has no corpus");
    }
}

#[test]
fn every_folder_is_a_target() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus");
    for entry in fs::read_dir(corpus).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let known = TARGETS.iter().any(|(target, _)| *target == name);
        // Captures are held by a test of their own.
        assert!(known || name == "captures" || !path.is_dir(), "no fuzz target is called `{name}`");
    }
}
