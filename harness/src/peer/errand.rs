//! What a client of ACP has done for an agent, or wants to know, outside of the conversation.
//!
//! What came of an errand is a JSON object, so that it can stand in a transcript: with the `token` of the errand, or with
//! the `terminal` that something happened in.
//!
//! Knows: JSON. Never knows: files, processes.
//!
//! Start at [`ClientErrand`].

use crate::wire::json::{Value, json};

/// Why an errand to another place is not run.
pub const OUTSIDE: &str = "it leads out of the session's folder";

/// How an agent ended that did not do so by itself.
pub const KILLED: &str = "killed";

/// Something to be done by whoever moves the frames.
#[derive(Clone, Debug, PartialEq)]
pub enum ClientErrand {
    /// Gives the text of a file: `{token, text}`, or `{token, missing}`, or `{token, failed}`.
    Read {
        /// Tells errands apart.
        token: u64,
        /// The absolute path.
        path: String,
    },
    /// Writes a file: `{token, text}`, with what it holds then, or `{token, failed}`.
    Write {
        /// Tells errands apart.
        token: u64,
        /// The absolute path.
        path: String,
        /// What it is to hold.
        text: String,
    },
    /// Runs a command; what it prints and its end come as `{terminal, printed}` and `{terminal, exit}`.
    Start {
        /// The terminal that it runs in.
        terminal: String,
        /// The program and its arguments.
        command: Vec<String>,
        /// Further variables of its environment.
        env: Vec<(String, String)>,
        /// The folder that it runs in.
        cwd: String,
    },
    /// Ends what runs in a terminal.
    Kill {
        /// The terminal.
        terminal: String,
    },
}

impl ClientErrand {
    /// The text of a file is this.
    pub fn text(token: u64, text: &str) -> Value {
        json!({"token": token, "text": text})
    }

    /// There is no such file.
    pub fn missing(token: u64) -> Value {
        json!({"token": token, "missing": true})
    }

    /// It could not be done.
    pub fn failed(token: u64, why: &str) -> Value {
        json!({"token": token, "failed": why})
    }

    /// Something was printed in a terminal.
    pub fn printed(terminal: &str, text: &str) -> Value {
        json!({"terminal": terminal, "printed": text})
    }

    /// What ran in a terminal has ended.
    pub fn exit(terminal: &str, code: Option<i32>, signal: Option<&str>) -> Value {
        json!({"terminal": terminal, "exit": {"exitCode": code, "signal": signal}})
    }
}
