//! Exit codes, and how a command stops.

use std::fmt::Display;
use std::process::ExitCode;

/// The exit codes that scripts can rely on.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Code {
    /// Everything that was played passed.
    Ok = 0,
    /// A rule is broken, a scenario could not be tested, or nothing of a capture could be judged.
    Failed = 1,
    /// The user's input has a mistake, or a selection matches nothing.
    Usage = 2,
    /// The target could not be reached.
    Unreachable = 3,
    /// A fault of the harness.
    Fault = 70,
    /// Interrupted by the user.
    Interrupted = 130,
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> ExitCode {
        ExitCode::from(code as u8)
    }
}

/// Why a command stopped before its work was done.
#[derive(Debug)]
pub struct Stop {
    /// The exit code.
    pub code: Code,
    /// What the user is told.
    pub message: String,
}

impl Stop {
    /// A mistake in the user's input.
    pub fn usage(message: impl Display) -> Stop {
        Stop { code: Code::Usage, message: message.to_string() }
    }

    /// The target cannot be used.
    pub fn unreachable(message: impl Display) -> Stop {
        Stop { code: Code::Unreachable, message: message.to_string() }
    }

    /// A fault of ours.
    pub fn fault(message: impl Display) -> Stop {
        Stop { code: Code::Fault, message: message.to_string() }
    }
}

impl From<anyhow::Error> for Stop {
    fn from(error: anyhow::Error) -> Stop {
        Stop::usage(format!("{error:#}"))
    }
}

/// How a command ends.
pub type Outcome = Result<Code, Stop>;
