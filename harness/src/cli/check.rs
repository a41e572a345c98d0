//! `ahp-harness check`: every mistake in scenario and vector files at once, drawn on the author's line.

use std::path::PathBuf;

use clap::Args;

use super::context::CliContext;
use super::exit::{CommandExit, CommandOutcome};
use super::files;

/// Looks for mistakes in scenario and vector files, without playing them.
///
/// Reports every mistake at once: syntax, unknown verbs and members, unbound names, unknown
/// clients and requirements, scenarios that could not fail, and messages that are not what the tables
/// of the protocol say where the step does not mean it (`deviates`).
#[derive(Args, Debug)]
pub struct CheckArguments {
    /// Files and folders; the suite that the binary carries unless given
    files: Vec<PathBuf>,
    /// Print the JSON Schema of scenario files, for editors, and do nothing else
    #[arg(long)]
    schema: bool,
}

impl CheckArguments {
    pub(super) fn main(self, context: &CliContext) -> CommandOutcome {
        if self.schema {
            context.say(&crate::scenario::schema::text());
            return Ok(CommandExit::Ok);
        }
        let suite = files::suite(&self.files)?;
        let vectors = files::vectors(&self.files)?;
        context.say(&files::mistakes(context, &suite.broken));
        context.say(&files::vector_mistakes(context, &vectors));
        let (drawn, deviations, deviating) = files::deviations(context, &suite.entries);
        context.say(&drawn);
        let wrong: Vec<usize> =
            vectors.iter().map(|file| file.errors.len()).filter(|count| *count > 0).collect();
        let mistakes = files::count(&suite.broken) + wrong.iter().sum::<usize>() + deviations;
        let good = match (
            suite.entries.len() - deviating,
            vectors.iter().map(|f| f.vectors.len()).sum(),
        ) {
            (scenarios, 0) => format!("{scenarios} scenarios"),
            (0, vectors) => format!("{vectors} vectors"),
            (scenarios, vectors) => format!("{scenarios} scenarios, {vectors} vectors"),
        };
        if mistakes == 0 {
            context.say(&format!("{good}, no mistakes\n"));
            return Ok(CommandExit::Ok);
        }
        let files = suite.broken.len() + wrong.len() + deviating;
        context.say(&format!("{mistakes} mistakes in {files} files; {good} without\n"));
        Ok(CommandExit::Usage)
    }
}
