//! The log file of an agent or of the stand-in for its model.
//!
//! Knows: files. Never knows: the content of the log.
//!
//! Start at [`appended`].

use std::io::Write;
use std::path::Path;

use super::exit::CommandStop;
use super::files;

/// Opens a file for appending.
pub(super) fn appended(path: &Path) -> Result<Box<dyn Write + Send>, CommandStop> {
    Ok(Box::new(files::append(path)?))
}
