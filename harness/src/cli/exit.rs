//! Exit codes, and the reason why a command stops early.

use std::fmt::Display;
use std::process::ExitCode;

/// The exit codes of the program, on which scripts can rely.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum CommandExit {
    /// All scenarios that were played passed.
    Ok = 0,
    /// A rule is broken, a scenario could not be tested, or no message of a capture could be judged.
    Failed = 1,
    /// The user's input has a mistake, or a selection matches nothing.
    Usage = 2,
    /// The target could not be reached.
    Unreachable = 3,
    /// The harness has a defect.
    Fault = 70,
    /// The user interrupted the command.
    Interrupted = 130,
}

impl CommandExit {
    /// Returns the exit code with this number, as the file of a run records it.
    pub fn of(number: u8) -> CommandExit {
        let all = [
            CommandExit::Ok,
            CommandExit::Failed,
            CommandExit::Usage,
            CommandExit::Unreachable,
            CommandExit::Interrupted,
        ];
        all.into_iter().find(|code| *code as u8 == number).unwrap_or(CommandExit::Fault)
    }
}

impl From<CommandExit> for ExitCode {
    fn from(code: CommandExit) -> ExitCode {
        ExitCode::from(code as u8)
    }
}

/// The reason why a command stopped before its work was done.
#[derive(Debug)]
pub struct CommandStop {
    /// The exit code.
    pub code: CommandExit,
    /// The message for the user.
    pub message: String,
}

impl CommandStop {
    /// Makes a reason to stop: a mistake in the user's input.
    pub fn usage(message: impl Display) -> CommandStop {
        CommandStop { code: CommandExit::Usage, message: message.to_string() }
    }

    /// Makes a reason to stop: the target cannot be used.
    pub fn unreachable(message: impl Display) -> CommandStop {
        CommandStop { code: CommandExit::Unreachable, message: message.to_string() }
    }

    /// Makes a reason to stop: a defect of the harness.
    pub fn fault(message: impl Display) -> CommandStop {
        CommandStop { code: CommandExit::Fault, message: message.to_string() }
    }
}

impl From<anyhow::Error> for CommandStop {
    fn from(error: anyhow::Error) -> CommandStop {
        CommandStop::usage(format!("{error:#}"))
    }
}

/// The result of a command.
pub type CommandOutcome = Result<CommandExit, CommandStop>;
