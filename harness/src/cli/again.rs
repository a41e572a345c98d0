//! Determines what `run` plays again: failed scenarios, scenarios whose files have changed, and the next
//! scenario of `first-steps`.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use crate::report::cause::{CauseFold, FailureCause};
use crate::report::first::is_to_mend;
use crate::run::first_steps::FIRST_STEPS;

/// A file and the time of its last change.
pub(super) type SeenFile = (PathBuf, Option<SystemTime>);

/// Waits until a file below one of the paths has changed.
pub(super) fn wait_for_change(paths: &[PathBuf], before: &[SeenFile]) {
    while watched(paths) == before {
        std::thread::sleep(LOOK_AGAIN);
    }
}

/// The interval at which the files of `--watch` are polled.
const LOOK_AGAIN: Duration = Duration::from_millis(300);
/// The maximum number of files that `--watch` polls.
const MAX_WATCHED: usize = 20_000;

/// Returns the time of the last change of each file below the paths.
pub(super) fn watched(paths: &[PathBuf]) -> Vec<SeenFile> {
    let mut found = Vec::new();
    let mut open: Vec<PathBuf> = paths.to_vec();
    while let Some(path) = open.pop().filter(|_| found.len() < MAX_WATCHED) {
        let changed = std::fs::metadata(&path).and_then(|it| it.modified()).ok();
        let is_link = std::fs::symlink_metadata(&path).is_ok_and(|it| it.is_symlink());
        if let Ok(entries) = std::fs::read_dir(&path)
            && !is_link
        {
            open.extend(entries.flatten().map(|entry| entry.path()));
        }
        found.push((path, changed));
    }
    found
}

/// Returns the names of the scenarios whose failure shows a defect that has to be fixed.
pub(super) fn to_mend(causes: &CauseFold) -> Vec<String> {
    let all = causes.by_cause();
    let scenarios = all.iter().filter(|cause| is_to_mend(cause)).flat_map(FailureCause::scenarios);
    let mut ids: Vec<String> = scenarios.map(str::to_owned).collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// Returns what the author of a host should implement next.
pub(super) fn next_step(causes: &CauseFold) -> String {
    let failed = to_mend(causes);
    match FIRST_STEPS.iter().find(|step| failed.iter().any(|id| id == step.scenario)) {
        Some(step) => format!("next: {} (`{}`)", step.build, step.scenario),
        None => "the first steps hold (hint: `certify` plays everything)".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sees_what_changes_below_a_folder() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        std::fs::create_dir_all(folder.join("a")).unwrap();
        let paths = [folder.to_owned()];
        let before = watched(&paths);
        assert_eq!(before, watched(&paths));
        std::fs::write(folder.join("a").join("new"), "x").unwrap();
        assert_ne!(before, watched(&paths));
    }
}
