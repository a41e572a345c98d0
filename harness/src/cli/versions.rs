//! `run --spec all`: the suite at every version that the harness plays and the host speaks, one after
//! another.
//!
//! Each version is a run of its own, with files of its own: `run.jsonl` becomes `run-0.2.0.jsonl`.

use std::path::{Path, PathBuf};

use crate::wire::protocol::Protocol;
use crate::wire::version::Version;

use super::context::Context;
use super::exit::{Code, Outcome, Stop};
use super::options::{Report, Spec};
use super::run::Run;

impl Run {
    /// Plays every version. One that the host does not speak is told and passed over; where it speaks
    /// none, nothing was reached.
    pub(super) fn every(&self, context: &Context) -> Outcome {
        let mut worst = Code::Ok;
        let mut spoken = 0_usize;
        let mut refused = String::new();
        for version in Protocol::all_played() {
            context.say(&format!("\nprotocol {version}\n"));
            match self.at(*version).main(context) {
                Ok(code) => {
                    spoken += 1;
                    worst = worst.max(code);
                    if code == Code::Interrupted {
                        return Ok(code);
                    }
                }
                Err(Stop { code: Code::Unreachable, message }) => {
                    context.say("not spoken by the host\n");
                    refused = message;
                }
                Err(stop) => return Err(stop),
            }
        }
        match spoken {
            0 => Err(Stop::unreachable(refused)),
            _ => Ok(worst),
        }
    }

    /// The same run at one version, of which only what did not hold is told one by one.
    fn at(&self, version: Version) -> Run {
        let named = |report: &Report| match report {
            Report::Junit(path) => Report::Junit(of_version(path, version)),
            Report::Jsonl(path) => Report::Jsonl(of_version(path, version)),
        };
        let mut one = self.clone();
        one.report = one.report.iter().map(named).collect();
        one.quiet = true;
        one.spec = Some(Spec::One(version));
        one
    }
}

/// The file of a version: its name goes before the ending.
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
