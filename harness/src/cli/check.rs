//! `ahp-harness check`: reports every mistake in scenario and vector files, with the line.

use std::path::PathBuf;

use clap::Args;

use super::context::CliContext;
use super::exit::{CommandExit, CommandOutcome};
use super::files;

/// Checks scenario and vector files for mistakes, without playing them.
///
/// Reports all mistakes at once: syntax errors, unknown verbs and members, unbound names, unknown clients and
/// requirements, scenarios that cannot fail, and messages that do not conform to the protocol tables although the step
/// does not declare this with `deviates`.
#[derive(Args, Debug)]
pub struct CheckArguments {
    /// Files and folders [default: the built-in suite]
    files: Vec<PathBuf>,
    /// Print the JSON Schema of scenario files, for editors, and exit
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
        let plural = |count: usize| if count == 1 { "" } else { "s" };
        let (many, most) = (plural(mistakes), plural(files));
        context.say(&format!(
            "{mistakes} mistake{many} in {files} file{most}; no mistakes in {good}\n"
        ));
        Ok(CommandExit::Usage)
    }
}
