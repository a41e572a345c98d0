//! `ahp-harness check`: every mistake in scenario files at once, drawn on the author's line.

use std::path::PathBuf;

use clap::Args;

use super::context::Context;
use super::exit::{Code, Outcome};
use super::files;

/// Looks for mistakes in scenario files, without playing them.
///
/// Reports every mistake at once: syntax, unknown verbs and members, unbound names, unknown
/// clients and requirements, scenarios that could not fail.
#[derive(Args, Debug)]
pub struct Check {
    /// Files and folders; the suite that the binary carries unless given
    files: Vec<PathBuf>,
    /// Print the JSON Schema of scenario files, for editors, and do nothing else
    #[arg(long)]
    schema: bool,
}

impl Check {
    pub(super) fn main(self, context: &Context) -> Outcome {
        if self.schema {
            context.say(&crate::scenario::schema::text());
            return Ok(Code::Ok);
        }
        let suite = files::suite(&self.files)?;
        context.say(&files::mistakes(context, &suite.broken));
        let mistakes = files::count(&suite.broken);
        let good = suite.entries.len();
        if mistakes == 0 {
            context.say(&format!("{good} scenarios, no mistakes\n"));
            return Ok(Code::Ok);
        }
        let files = suite.broken.len();
        context.say(&format!("{mistakes} mistakes in {files} files; {good} scenarios without\n"));
        Ok(Code::Usage)
    }
}
