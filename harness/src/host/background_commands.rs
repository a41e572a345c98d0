//! The commands that agents leave running in terminals of their own.
//!
//! Owns: the running commands. Knows: nothing else. Never knows: chats, terminals.
//!
//! Start at [`BackgroundCommands`].

use std::time::Duration;

/// The maximum number of background commands.
const MAX_RUNNING: usize = 100;

/// A command that runs in the background.
#[derive(Debug)]
pub(super) struct BackgroundCommand {
    /// The time at which the command ends.
    pub(super) due: Duration,
    /// The chat that lists the command.
    pub(super) chat: String,
    /// The identifier of the command in the chat's list.
    pub(super) id: String,
    pub(super) terminal: String,
}

/// The background commands of agents.
#[derive(Debug, Default)]
pub(super) struct BackgroundCommands {
    running: Vec<BackgroundCommand>,
}

impl BackgroundCommands {
    /// Returns whether the host starts no further command.
    pub(super) fn is_full(&self) -> bool {
        self.running.len() >= MAX_RUNNING
    }

    pub(super) fn add(&mut self, command: BackgroundCommand) {
        self.running.push(command);
    }

    /// Returns the time at which the next command ends; `None` if none runs.
    pub(super) fn next_due(&self) -> Option<Duration> {
        self.running.iter().map(|command| command.due).min()
    }

    /// Removes the commands that have ended, in the order of their start.
    pub(super) fn end(&mut self, now: Duration) -> Vec<BackgroundCommand> {
        self.running.extract_if(.., |command| command.due <= now).collect()
    }

    /// Removes all commands, in the order of their start.
    pub(super) fn end_all(&mut self) -> Vec<BackgroundCommand> {
        std::mem::take(&mut self.running)
    }
}
