//! `ahp-harness completions` and `ahp-harness man`: what shells and readers of manuals want, made of the definitions of the
//! command line.

use std::path::PathBuf;

use clap::{Args, Command};
use clap_complete::{Shell, generate};

use super::context::Context;
use super::exit::{Code, Outcome, Stop};

/// Prints completions for a shell, to be put where it looks for them.
#[derive(Args, Debug)]
pub struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    pub(super) fn main(self, context: &Context, mut program: Command) -> Outcome {
        let mut text = Vec::new();
        generate(self.shell, &mut program, "ahp-harness", &mut text);
        context.say(&String::from_utf8_lossy(&text));
        Ok(Code::Ok)
    }
}

/// Writes manual pages, one for each command.
#[derive(Args, Debug)]
pub struct Man {
    /// The folder for them; without one the page of the program is printed
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

impl Man {
    pub(super) fn main(self, context: &Context, program: Command) -> Outcome {
        let wrong = |error: std::io::Error| Stop::usage(format!("no manual pages: {error}"));
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
        Ok(Code::Ok)
    }
}
