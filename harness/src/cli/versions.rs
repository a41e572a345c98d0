//! `run --spec all`: plays the suite at every version that the harness and the host support, one after another.
//! For the embedded host, several versions are played at once.
//!
//! Each version is a separate run with separate files: `run.jsonl` becomes `run-0.2.0.jsonl`.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Instant;

use litemap::LiteMap;

use crate::wire::version::Version;

use super::context::CliContext;
use super::exit::{CommandExit, CommandOutcome, CommandStop};
use super::options::{ReportOption, RunReport, SpecOption};
use super::run::RunArguments;

/// The results of the versions that were played so far.
#[derive(Default)]
struct VersionResults {
    worst: Option<CommandExit>,
    refused: String,
    ended: Option<CommandOutcome>,
}

impl VersionResults {
    fn add(&mut self, context: &CliContext, outcome: CommandOutcome) {
        match outcome {
            Ok(CommandExit::Interrupted) => self.ended = Some(Ok(CommandExit::Interrupted)),
            Ok(code) => self.worst = self.worst.max(Some(code)),
            Err(CommandStop { code: CommandExit::Unreachable, message }) => {
                context.say("not supported by the host\n");
                self.refused = message;
            }
            Err(stop) => self.ended = Some(Err(stop)),
        }
    }

    fn goes_on(&self) -> bool {
        self.ended.is_none()
    }

    fn outcome(self) -> CommandOutcome {
        let refused = self.refused;
        let whole = || self.worst.ok_or_else(|| CommandStop::unreachable(refused));
        self.ended.unwrap_or_else(whole)
    }
}

impl RunArguments {
    /// Plays every version. A version that the host does not support is reported and skipped. Fails if the host
    /// supports no version.
    pub(super) fn every(&self, context: &CliContext) -> CommandOutcome {
        let mut all = VersionResults::default();
        let versions = Version::played();
        if self.is_outside() {
            let mut rest = versions.iter();
            let began = Instant::now();
            while let Some(version) = rest.next().filter(|_| all.goes_on()) {
                context.say(&format!("\nprotocol {version}\n"));
                let mut run = self.at(*version);
                // The time budget covers all versions together.
                run.budget = self.budget().map(|budget| budget.saturating_sub(began.elapsed()));
                let outcome = run.main(context);
                all.add(context, outcome);
            }
            return all.outcome();
        }
        // Runs against the embedded host share nothing, so they run on all cores. The output of the runs is
        // printed in the order of versions.
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let next = AtomicUsize::new(0);
        let ended = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let (done, results) = mpsc::channel();
            for _ in 0..cores.min(versions.len()) {
                let (done, next, ended) = (done.clone(), &next, &ended);
                scope.spawn(move || {
                    while !ended.load(Ordering::Relaxed) {
                        let place = next.fetch_add(1, Ordering::Relaxed);
                        let Some(version) = versions.get(place) else { return };
                        let said = context.quiet();
                        let outcome = self.at(*version).main(&said);
                        if done.send((place, said, outcome)).is_err() {
                            return;
                        }
                    }
                });
            }
            drop(done);
            let mut early: LiteMap<usize, (CliContext, CommandOutcome)> = LiteMap::new();
            let mut told = 0;
            for (place, said, outcome) in results {
                early.insert(place, (said, outcome));
                while let Some((said, outcome)) = early.remove(&told).filter(|_| all.goes_on()) {
                    let version = versions.get(told).map(Version::to_string).unwrap_or_default();
                    context.say(&format!("\nprotocol {version}\n"));
                    context.say_kept(&said);
                    all.add(context, outcome);
                    told += 1;
                }
                if !all.goes_on() {
                    ended.store(true, Ordering::Relaxed);
                }
            }
        });
        all.outcome()
    }

    /// Returns the same run at one version. The returned run prints only failures.
    fn at(&self, version: Version) -> RunArguments {
        let named = |report: &RunReport| match report {
            RunReport::Shared(ReportOption::Junit(path)) => {
                RunReport::Shared(ReportOption::Junit(of_version(path, version)))
            }
            RunReport::Shared(ReportOption::Jsonl(path)) => {
                RunReport::Shared(ReportOption::Jsonl(of_version(path, version)))
            }
            RunReport::AhpLog(folder) => RunReport::AhpLog(of_version(folder, version)),
            RunReport::Sarif(path) => RunReport::Sarif(of_version(path, version)),
        };
        let mut one = self.clone();
        one.report = one.report.iter().map(named).collect();
        one.quiet = true;
        one.only_if_spoken = true;
        one.spec = Some(SpecOption::One(version));
        one
    }
}

/// Returns the file of a version. The version precedes the extension.
fn of_version(path: &Path, version: Version) -> PathBuf {
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or("run");
    let name = match path.extension().and_then(|end| end.to_str()) {
        Some(end) => format!("{stem}-{version}.{end}"),
        None => format!("{stem}-{version}"),
    };
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_by_their_version() {
        let check = |path: &str, expected: &str| {
            assert_eq!(of_version(Path::new(path), Version::V0_2), Path::new(expected));
        };
        check("reports/run.jsonl", "reports/run-0.2.0.jsonl");
        check("run", "run-0.2.0");
    }
}
