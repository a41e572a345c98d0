//! What a case observes outside the conversation with an agent: calls of the harness's own tool, and files.
//!
//! Knows: reports, the results of errands. Never knows: clients, the expectations of scenarios.
//!
//! Start at [`CaseWitness`].

use std::time::Duration;

use litemap::LiteMap;

use crate::scenario::pattern::ValuePattern;
use crate::wire::json::Value;

/// The maximum number of file contents that are kept until a step reads them.
const MAX_LOOKS: usize = 100;
/// The maximum number of calls of the harness's own tool that are kept; later calls are only counted.
const MAX_CALLS: usize = 100;
/// The first token of the errands with which `disk` steps read files. It is far larger than the tokens of the clients'
/// own errands.
const LOOKS: u64 = 1 << 48;

/// A check of a file in the agent's folder.
#[derive(Clone, Debug)]
pub(super) struct FileLook {
    /// The file's absolute path.
    pub(super) path: String,
    /// The pattern for the file's content.
    pub(super) text: ValuePattern,
    /// The time until which the file is read again if its content does not match; `None` for a single read.
    pub(super) until: Option<Duration>,
}

impl FileLook {
    /// Returns whether the file is read again if its content does not match at the time `at`.
    pub(super) fn goes_on(&self, at: Duration) -> bool {
        self.until.is_some_and(|until| at < until)
    }
}

/// The events that the case observed outside the conversation.
#[derive(Debug, Default)]
pub(super) struct CaseWitness {
    /// The time limit of a wait before it was extended because of a slow start of the agent.
    usual: Option<Duration>,
    /// The reports of the first calls of the harness's own tool, each with its line in the transcript.
    calls: Vec<(u64, Value)>,
    called: u64,
    looks: LiteMap<u64, Value>,
    serial: u64,
}

impl CaseWitness {
    /// Returns the time limit of a wait before it was extended, which is the present `limit` at the first call.
    pub(super) fn usual_limit(&mut self, limit: Duration) -> Duration {
        *self.usual.get_or_insert(limit)
    }

    /// Records the report of a call of the harness's own tool, with its line in the transcript.
    pub(super) fn reported(&mut self, line: u64, call: &Value) {
        self.called += 1;
        if self.calls.len() < MAX_CALLS {
            self.calls.push((line, call.clone()));
        }
    }

    /// Returns the token of the next errand that reads a file for a step.
    pub(super) fn new_look(&mut self) -> u64 {
        self.serial += 1;
        LOOKS + self.serial
    }

    /// Returns whether an errand with this token reads a file for a step.
    pub(super) fn is_look(token: u64) -> bool {
        token >= LOOKS
    }

    /// Keeps the result of an errand that read a file for a step.
    pub(super) fn looked(&mut self, token: u64, told: &Value) {
        if self.looks.len() < MAX_LOOKS {
            self.looks.insert(token, told.clone());
        }
    }

    /// Removes and returns the result of an errand that read a file for a step.
    pub(super) fn take_look(&mut self, token: u64) -> Option<Value> {
        self.looks.remove(&token)
    }

    /// Returns the number of calls of the harness's own tool.
    pub(super) fn called(&self) -> u64 {
        self.called
    }

    /// Returns the reports of the first calls of the harness's own tool, each with its line in the transcript.
    pub(super) fn calls(&self) -> &[(u64, Value)] {
        &self.calls
    }
}
