//! The conversation with the driver of a tested client: the numbers of the commands, and the answers.
//!
//! Knows: the form of an answer. Never knows: the tested client, the meaning of commands.
//!
//! Start at [`ClientDriverTalk`].

use crate::wire::json::Value;

/// The maximum number of answers of the driver that are kept.
const MAX_ANSWERS: usize = 1_000;

/// The commands to the driver of the tested client, and its answers.
#[derive(Debug, Default)]
pub(super) struct ClientDriverTalk {
    /// The number of commands so far. The ids of the commands begin with 1.
    commands: u64,
    /// The answers that no step has read yet, each with its line in the transcript.
    answers: Vec<(u64, Value)>,
    /// The reason why the driver sends no further answers; empty while the driver runs.
    gone: String,
}

impl ClientDriverTalk {
    /// Returns the id of a new command.
    pub(super) fn number(&mut self) -> u64 {
        self.commands += 1;
        self.commands
    }

    /// Returns the number of commands so far.
    pub(super) fn commands(&self) -> u64 {
        self.commands
    }

    /// Keeps an answer of the driver, with its line in the transcript, or records the end of the driver.
    pub(super) fn hear(&mut self, line: u64, told: Value) {
        if let Some(how) = told["ended"].as_str() {
            how.clone_into(&mut self.gone);
        } else if told["id"].as_u64().is_some() && self.answers.len() < MAX_ANSWERS {
            self.answers.push((line, told));
        }
    }

    /// Removes and returns the answer to a command.
    pub(super) fn take_answer(&mut self, id: u64) -> Option<(u64, Value)> {
        let mut answers = self.answers.iter();
        let at = answers.position(|(_, answer)| answer["id"].as_u64() == Some(id))?;
        Some(self.answers.remove(at))
    }

    /// Returns the reason why the driver sends no further answers; empty while the driver runs.
    pub(super) fn gone(&self) -> &str {
        &self.gone
    }
}
