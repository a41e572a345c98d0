//! The consent of the client's user to calls of sensitive tools.
//!
//! Knows: sessions and tools by their names. Never knows: calls, the client.
//!
//! Start at [`ToolConsents`].

use std::collections::HashMap;

/// The sensitive tools: for each session and name of a tool, whether the user consents to its calls.
#[derive(Debug, Default)]
pub(super) struct ToolConsents(HashMap<(String, String), bool>);

impl ToolConsents {
    /// Marks a tool as sensitive.
    pub(super) fn set(&mut self, session: &str, tool: &str, grants: bool) {
        self.0.insert((session.to_owned(), tool.to_owned()), grants);
    }

    /// Returns whether the user refuses calls of a tool.
    pub(super) fn refuses(&self, session: &str, tool: &str) -> bool {
        self.0.get(&(session.to_owned(), tool.to_owned())) == Some(&false)
    }
}
