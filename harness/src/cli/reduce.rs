//! `ahp-harness reduce`: runs the harness's reducers as a process.

use std::io::{ErrorKind, stdin, stdout};

use clap::Args;

use crate::reducers;
use crate::wire::version::{PUBLISHED, Version};

use super::exit::{CommandExit, CommandOutcome, CommandStop};

/// Applies actions to states. Input and output have one JSON object per line.
///
/// Reads questions such as {"id":1,"reducer":"chat","state":{..},"actions":[..],"now":9999}, and prints
/// {"id":1,"state":{..},"outcomes":[..]} or {"id":1,"error":".."} for each, until the input ends.
#[derive(Args, Debug)]
pub struct ReduceArguments {
    /// The protocol version: a published version, or 1 for the version before 0.1.0, which was the integer 1
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
