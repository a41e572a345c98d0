//! `ahp-harness reduce`: runs the harness's reducers as a process.

use std::io::{ErrorKind, stdin, stdout};

use clap::Args;

use crate::reducers;
use crate::wire::version::{PUBLISHED, Version};

use super::exit::{CommandExit, CommandOutcome, CommandStop};

/// Applies actions to states: one JSON object per line in, one per line out.
///
/// Reads {"id":1,"reducer":"chat","state":{..},"actions":[..],"now":9999} and answers
/// {"id":1,"state":{..},"outcomes":[..]} or {"id":1,"error":".."}, until its input ends.
#[derive(Args, Debug)]
pub struct ReduceArguments {
    /// The protocol version: a published one, or 1 for the integer that preceded 0.1.0
    #[arg(long, value_name = "VERSION", value_parser = published)]
    spec: Version,
}

/// Parses a version that has reducers.
pub(super) fn published(text: &str) -> Result<Version, String> {
    let version: Version = text.parse().map_err(|error| format!("{error}"))?;
    if PUBLISHED.contains(&version) {
        return Ok(version);
    }
    Err(format!("expected a published version, one of {}", Version::listed(&PUBLISHED)))
}

impl ReduceArguments {
    pub(super) fn main(self) -> CommandOutcome {
        match reducers::serve(self.spec, &mut stdin().lock(), &mut stdout().lock()) {
            Ok(()) => Ok(CommandExit::Ok),
            // The process that reads the answers has ended.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(CommandExit::Ok),
            Err(error) => {
                Err(CommandStop::fault(format!("the lines could not be served: {error}")))
            }
        }
    }
}
