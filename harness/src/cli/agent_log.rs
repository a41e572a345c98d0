//! The log file of an agent or of the stand-in for its model.
//!
//! Knows: files. Never knows: the content of the log.
//!
//! Start at [`appended`].

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use super::exit::CommandStop;

/// Opens a file for appending.
pub(super) fn appended(path: &Path) -> Result<Box<dyn Write + Send>, CommandStop> {
    let opened = OpenOptions::new().create(true).append(true).open(path);
    let file = opened.map_err(|error| {
        CommandStop::usage(format!("`{}` cannot be written: {error}", path.display()))
    })?;
    Ok(Box::new(file))
}
