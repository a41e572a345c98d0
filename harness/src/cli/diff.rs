//! `ahp-harness diff`: shows what got better and worse between two runs.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};

use crate::report::change::{RunChange, RunChanges};

use super::context::CliContext;
use super::exit::{CommandExit, CommandOutcome};
use super::list::ListFormat;
use super::run_file::read;

/// Compares the run.jsonl files of two runs. The exit code is 1 if something got worse.
#[derive(Args, Debug)]
pub struct DiffArguments {
    /// The run.jsonl of the older run
    old: PathBuf,
    /// The run.jsonl of the newer run
    new: PathBuf,
    /// The output format: text or json
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: ListFormat,
}

impl DiffArguments {
    pub(super) fn main(self, context: &CliContext) -> CommandOutcome {
        let (old, new) = (read(&self.old)?, read(&self.new)?);
        for (file, run) in [(&self.old, &old), (&self.new, &new)] {
            if run.left_out > 0 {
                let (file, left_out) = (file.display(), run.left_out);
                context.error(&format!(
                    "note: {left_out} results of {file} are counted but not compared, because the run has too many\n"
                ));
            }
        }
        let changes = RunChanges::between(&old, &new);
        let mut out = String::new();
        let parts = [
            ("worse", &changes.worse),
            ("better", &changes.better),
            ("new", &changes.new),
            ("gone", &changes.gone),
        ];
        for (title, list) in parts {
            if !list.is_empty() {
                let _ = writeln!(out, "{title}: {}", list.len());
            }
            for RunChange { kind, id, before, after } in list {
                let how = match (*before, *after) {
                    ("", after) => after.to_owned(),
                    (before, "") => format!("was {before}"),
                    (before, after) => format!("{before} -> {after}"),
                };
                let _ = writeln!(out, "  {kind:<11} {id:<56} {how}");
            }
        }
        if self.format == ListFormat::Json {
            let list = |list: &[RunChange]| -> Value {
                let row = |it: &RunChange| json!({"kind": it.kind, "id": it.id, "before": it.before, "after": it.after});
                list.iter().map(row).collect()
            };
            let all = parts.into_iter().map(|(title, changes)| (title.to_owned(), list(changes)));
            context.say_json(&format!("{:#}", Value::Object(all.collect())));
        } else if out.is_empty() {
            context.say("no difference\n");
        } else {
            context.say(&out);
        }
        Ok(if changes.worse.is_empty() { CommandExit::Ok } else { CommandExit::Failed })
    }
}
