//! Runs the official Rust crates as subjects: `reducers --subject official`.
//!
//! The crate of a version runs in a separate process of this program. If a crate panics or hangs, the harness therefore
//! reports it like any other subject.
//!
//! Start at [`command`]; [`OfficialArguments`] is the process.

use clap::Args;

use crate::wire::version::Version;

use super::exit::{CommandOutcome, CommandStop};
use super::reduce::published;

/// The name of these subjects on the command line.
pub(super) const NAME: &str = "official";

/// The versions that have a crate, with the version of the crate.
const CRATES: &[(Version, &str)] = &[
    (Version::V1, "0.1.0"),
    (Version::V0_2, "0.2.0"),
    (Version::V0_3, "0.3.0"),
    (Version::V0_4, "0.4.0"),
    (Version::V0_5_2, "0.5.2"),
    (Version::V0_6, "0.6.0"),
    (Version::V0_7, "0.7.0"),
    (Version::V0_8, "0.8.0"),
    (Version::V0_9, "0.9.0"),
    (Version::V1_0, "1.0.0"),
];

/// The advice for versions whose crate this build cannot contain. A lock file can hold only one crate of 0.5.x;
/// the other versions have separate packages that can be used as ordinary subjects.
const ALONE: &str = "only one crate of 0.5.x can be linked, which is 0.5.2 (hint: --mask-clock --subject 'cargo run -q \
                     --release --manifest-path harness/official/{spec}/Cargo.toml', after one `cargo build` of the \
                     same)";

/// The published versions without a crate in this build, each with advice on what to do instead.
const WITHOUT: &[(Version, &str)] = &[
    (Version::V0_1, "the crate 0.1.0 implements the integer version before 0.1.0 (hint: --spec 1)"),
    (Version::V0_5, ALONE),
    (Version::V0_5_1, ALONE),
];

/// The first version whose reducers take the time from the actions instead of the machine's clock.
const CLOCKLESS: Version = Version::V0_9;

/// Answers questions in the line protocol of REDUCERS.md with one official crate, for `reducers --subject official`.
#[derive(Args, Debug)]
pub struct OfficialArguments {
    /// The protocol version
    #[arg(long, value_name = "VERSION", value_parser = published)]
    spec: Version,
}

/// Returns the command that starts the crate of a version.
///
/// # Errors
/// Returns an error if this build has no crates, or no crate for the version.
pub(super) fn command(version: Version) -> Result<String, CommandStop> {
    crate_of(version)?;
    if !cfg!(feature = "official") {
        return Err(CommandStop::usage(
            "this build has none of the official crates (hint: `cargo run --profile quick \
             --features official -- reducers --subject official`)",
        ));
    }
    let program = std::env::current_exe().map_err(|error| {
        CommandStop::fault(format!("the path of this program is not known: {error}"))
    })?;
    let program = program.display().to_string().replace('\'', "'\\''");
    Ok(format!("exec '{program}' {NAME} --spec {version}"))
}

/// Returns whether the crate of a version reads the machine's clock.
pub(super) fn reads_clock(version: Version) -> bool {
    version < CLOCKLESS
}

/// Returns the version of the crate that implements a protocol version.
fn crate_of(version: Version) -> Result<&'static str, CommandStop> {
    if let Some((_, held)) = CRATES.iter().find(|(spoken, _)| *spoken == version) {
        return Ok(held);
    }
    let why = WITHOUT.iter().find(|(without, _)| *without == version).map_or("", |(_, why)| why);
    let why = why.replace("{spec}", &version.to_string());
    Err(CommandStop::usage(format!("no official crate of {version} is available: {why}")))
}

impl OfficialArguments {
    #[cfg(feature = "official")]
    pub(super) fn main(self) -> CommandOutcome {
        crate_of(self.spec)?;
        let (mut input, mut output) = (std::io::stdin().lock(), std::io::stdout().lock());
        match ahp_official::serve(&self.spec.to_string(), &mut input, &mut output) {
            // The process that reads the answers has ended.
            Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
                Err(CommandStop::fault(format!("the lines could not be served: {error}")))
            }
            _ => Ok(super::exit::CommandExit::Ok),
        }
    }

    #[cfg(not(feature = "official"))]
    pub(super) fn main(self) -> CommandOutcome {
        command(self.spec).map(|_| super::exit::CommandExit::Ok)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::version::PUBLISHED;

    #[cfg(feature = "official")]
    #[test]
    fn the_crates_are_those_that_are_linked() {
        let versions: Vec<String> = CRATES.iter().map(|(spoken, _)| spoken.to_string()).collect();
        assert_eq!(versions, ahp_official::VERSIONS);
    }

    #[test]
    fn every_version_has_a_crate_or_a_reason() {
        for version in PUBLISHED {
            let held = CRATES.iter().filter(|(spoken, _)| *spoken == version).count();
            let why = WITHOUT.iter().filter(|(without, _)| *without == version).count();
            assert_eq!(held + why, 1, "{version}");
        }
        let why = |version| command(version).unwrap_err().message;
        assert!(why(Version::V0_1).contains("integer version"));
        assert!(why(Version::V0_5_1).contains("harness/official/0.5.1/Cargo.toml"));
    }
}
