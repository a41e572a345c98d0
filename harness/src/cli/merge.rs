//! `ahp-harness merge`: joins the run.jsonl files of shards.

use std::fs;
use std::io::{BufReader, BufWriter};
use std::path::{Path, PathBuf};

use clap::Args;

use crate::report::merge::{MergeResult, merge};
use crate::system::InputFile;

use super::context::CliContext;
use super::exit::{CommandExit, CommandOutcome, CommandStop};
use super::files;

/// Joins the run.jsonl files of the shards of one run, so that `report`, `judge` and `diff` work on the whole
/// run.
///
/// The files must be about the same target, version and harness, and no scenario may be in two of them.
/// Scenarios get new numbers, findings refer to the new line numbers, and the totals are counted again.
#[derive(Args, Debug)]
pub struct MergeArguments {
    /// The files that `run --shard` wrote
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// The file for the whole run
    #[arg(long, value_name = "FILE", default_value = "run.jsonl")]
    out: PathBuf,
}

impl MergeArguments {
    pub(super) fn main(self, context: &CliContext) -> CommandOutcome {
        let mut files = Vec::new();
        for path in &self.files {
            let name = path.display().to_string();
            files.push((name, BufReader::new(files::open(path)?)));
        }
        // The output gets its final name when it is complete, because it may replace one of the inputs.
        let special = files::is_special(&self.out);
        let mut partial = self.out.clone().into_os_string();
        if !special {
            partial.push(".part");
        }
        let partial = PathBuf::from(partial);
        let merged = write(files, &partial).and_then(|merged| {
            if special {
                return Ok(merged);
            }
            fs::rename(&partial, &self.out)
                .map_err(|error| files::unwritable(&self.out, &error))?;
            Ok(merged)
        });
        let merged = match merged {
            Ok(merged) => merged,
            Err(stop) => {
                if !special {
                    let _ = fs::remove_file(&partial);
                }
                return Err(stop);
            }
        };
        for shard in &merged.missing {
            context.error(&format!("note: shard {shard} is not among the files\n"));
        }
        let counts = merged.summary.counts.iter();
        let counts: Vec<_> =
            counts.map(|(status, count)| format!("{count} {}", status.word())).collect();
        context.say(&format!(
            "{} scenarios of {} files in {}: {}\n",
            merged.summary.total(),
            self.files.len(),
            self.out.display(),
            counts.join(", ")
        ));
        Ok(CommandExit::Ok)
    }
}

fn write(
    files: Vec<(String, BufReader<InputFile>)>,
    path: &Path,
) -> Result<MergeResult, CommandStop> {
    let file = files::create(path)?;
    merge(files, &mut BufWriter::new(file)).map_err(CommandStop::usage)
}
