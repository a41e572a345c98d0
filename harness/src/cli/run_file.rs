//! Reads the run.jsonl of a finished run.
//!
//! Knows: files. Never knows: commands, reports.
//!
//! Start at [`read`].

use std::io::BufReader;
use std::path::Path;

use crate::report::finished::FinishedRun;

use super::exit::CommandStop;
use super::files;

/// Reads a run from its file.
pub(super) fn read(file: &Path) -> Result<FinishedRun, CommandStop> {
    let input = BufReader::new(files::open(file)?);
    FinishedRun::read(input)
        .map_err(|error| CommandStop::usage(format!("{}:{error}", file.display())))
}
