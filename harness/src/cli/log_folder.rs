//! Makes folders for connection logs.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::report::connection_logs::LogWriter;
use crate::report::redact::SecretRedactor;
use crate::run::mint::iso8601;
use crate::transcript::ahp_log::RecordingFacts;

use super::exit::CommandStop;

/// Makes the folder if it does not exist. The folder has to be empty, because two recordings in one folder
/// would be read as one.
///
/// # Errors
/// Returns an error if the folder cannot be made, or is not empty.
pub(super) fn prepared(path: &Path) -> Result<PathBuf, CommandStop> {
    let name = path.display();
    let wrong = |error: std::io::Error| {
        CommandStop::usage(format!("`{name}` could not be written: {error}"))
    };
    std::fs::create_dir_all(path).map_err(wrong)?;
    if std::fs::read_dir(path).map_err(wrong)?.next().is_some() {
        return Err(CommandStop::usage(format!(
            "expected `{name}` to be empty, because logs of two recordings in one folder are read as one recording, \
             found files in it (hint: give a new folder)"
        )));
    }
    Ok(path.to_owned())
}

/// Returns a writer of logs into a folder. The folder is made at the first write. `what` distinguishes
/// recordings that begin at the same time.
pub(super) fn writer(
    folder: PathBuf,
    redactor: SecretRedactor,
    epoch: Duration,
    what: &str,
) -> LogWriter {
    let name = format!("ahp-harness {} {what}", iso8601(epoch));
    let recording = RecordingFacts { epoch, name, transport: "websocket" };
    let open = move |name: &str| {
        std::fs::create_dir_all(&folder)?;
        let file = File::create(folder.join(name))?;
        Ok(Box::new(file) as Box<dyn Write + Send>)
    };
    LogWriter::new(Box::new(open), redactor, recording)
}
