//! The errands: effects that an ACP client performs for an agent outside of the conversation, and their results.
//!
//! A result is a JSON object, so a transcript can contain it. The object has the `token` of the errand, or the
//! `terminal` of the event.
//!
//! Knows: JSON. Never knows: files, processes.
//!
//! Start at [`ClientErrand`].

use crate::wire::json::{Value, json};

/// The reason why an errand outside of the session's folder is refused.
pub const OUTSIDE: &str = "it is outside of the session's folder";

/// The words that describe the end of an agent's process if the harness had to kill the process.
pub const KILLED: &str = "killed";

/// An effect, such as reading a file, that the caller performs for the client.
#[derive(Clone, Debug, PartialEq)]
pub enum ClientErrand {
    /// The caller reads a file. The result is `{token, text}`, `{token, missing}` or `{token, failed}`.
    Read {
        /// The number of the errand.
        token: u64,
        /// The absolute path of the file.
        path: String,
    },
    /// The caller writes a file. The result is `{token, text}` with the new content, or `{token, failed}`.
    Write {
        /// The number of the errand.
        token: u64,
        /// The absolute path of the file.
        path: String,
        /// The new content of the file.
        text: String,
    },
    /// The caller runs a command. The command's output and exit follow as `{terminal, printed}` and `{terminal,
    /// exit}`.
    Start {
        /// The id of the terminal in which the command runs.
        terminal: String,
        /// The program and its arguments.
        command: Vec<String>,
        /// Additional environment variables.
        env: Vec<(String, String)>,
        /// The working folder of the command.
        cwd: String,
    },
    /// The caller kills the process in a terminal.
    Kill {
        /// The id of the terminal.
        terminal: String,
    },
}

impl ClientErrand {
    /// Returns the result with the content of a file.
    pub fn text(token: u64, text: &str) -> Value {
        json!({"token": token, "text": text})
    }

    /// Returns the result for a file that does not exist.
    pub fn missing(token: u64) -> Value {
        json!({"token": token, "missing": true})
    }

    /// Returns the result of a failed errand, with the reason `why`.
    pub fn failed(token: u64, why: &str) -> Value {
        json!({"token": token, "failed": why})
    }

    /// Returns the event for output in a terminal.
    pub fn printed(terminal: &str, text: &str) -> Value {
        json!({"terminal": terminal, "printed": text})
    }

    /// Returns the event for the exit of a terminal's process.
    pub fn exit(terminal: &str, code: Option<i32>, signal: Option<&str>) -> Value {
        json!({"terminal": terminal, "exit": {"exitCode": code, "signal": signal}})
    }
}
