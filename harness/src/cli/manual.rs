//! `ahp-harness completions` and `ahp-harness man`: print texts that are generated from the definitions of the
//! command line.

use std::path::PathBuf;

use clap::{Args, Command};
use clap_complete::{Shell, generate};

use super::context::CliContext;
use super::exit::{CommandExit, CommandOutcome, CommandStop};

/// Prints completions for a shell.
#[derive(Args, Debug)]
pub struct CompletionsArguments {
    /// The shell
    shell: Shell,
}

impl CompletionsArguments {
    pub(super) fn main(self, context: &CliContext, mut program: Command) -> CommandOutcome {
        let mut text = Vec::new();
        generate(self.shell, &mut program, "ahp-harness", &mut text);
        context.say(&String::from_utf8_lossy(&text));
        Ok(CommandExit::Ok)
    }
}

/// Writes manual pages, one per command.
#[derive(Args, Debug)]
pub struct ManArguments {
    /// The folder for the pages; without it, the page of the program is printed
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

impl ManArguments {
    pub(super) fn main(self, context: &CliContext, program: Command) -> CommandOutcome {
        let wrong = |error: std::io::Error| CommandStop::usage(format!("no manual pages: {error}"));
        match self.out {
            Some(folder) => {
                std::fs::create_dir_all(&folder).map_err(wrong)?;
                clap_mangen::generate_to(program, &folder).map_err(wrong)?;
                context.say(&format!("manual pages: {}\n", folder.display()));
            }
            None => {
                let mut text = Vec::new();
                clap_mangen::Man::new(program).render(&mut text).map_err(wrong)?;
                context.say(&String::from_utf8_lossy(&text));
            }
        }
        Ok(CommandExit::Ok)
    }
}
