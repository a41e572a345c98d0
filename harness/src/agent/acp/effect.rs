//! The effects of tools outside of the conversation.
//!
//! A file has to be below the session's folder, even if a script names another path.
//!
//! Knows: paths as strings. Never knows: files.
//!
//! Start at [`AgentEffect`].

use crate::wire::json::Value;

use super::server::McpServerAddress;

/// An effect that the caller of the agent performs.
#[derive(Clone, Debug, PartialEq)]
pub enum AgentEffect {
    /// Runs a command line in a folder.
    Shell {
        /// The command line.
        command: String,
        /// The working folder.
        cwd: String,
    },
    /// Reads a file.
    Read {
        /// The absolute path.
        path: String,
    },
    /// Writes a file.
    Write {
        /// The absolute path.
        path: String,
        /// The new content.
        text: String,
    },
    /// Replaces the first occurrence of a string in a file.
    Edit {
        /// The absolute path.
        path: String,
        /// The text to replace.
        old: String,
        /// The replacement.
        new: String,
    },
    /// Calls the tool of the harness's own MCP server.
    Call {
        /// The address of the server.
        server: McpServerAddress,
        /// The arguments of the call.
        arguments: Value,
    },
}

/// The result of an effect or of a whole call.
#[derive(Clone, Debug, PartialEq)]
pub struct EffectResult {
    /// Whether the effect or call succeeded.
    pub ok: bool,
    /// The output, or the reason of the failure.
    pub text: String,
    /// The content blocks in addition to the text.
    pub blocks: Vec<Value>,
}

impl EffectResult {
    /// Creates a successful result.
    pub fn well(text: impl Into<String>) -> EffectResult {
        EffectResult { ok: true, text: text.into(), blocks: Vec::new() }
    }

    /// Creates a failed result.
    pub fn badly(text: impl Into<String>) -> EffectResult {
        EffectResult { ok: false, text: text.into(), blocks: Vec::new() }
    }
}

impl AgentEffect {
    /// Returns the result of a simulated effect: a description of the effect.
    pub fn pretended(&self) -> EffectResult {
        EffectResult::well(match self {
            AgentEffect::Shell { command, .. } => match printed(command) {
                Some(text) => format!("ran: {command}\n{text}"),
                None => format!("ran: {command}"),
            },
            AgentEffect::Read { path } => format!("ran: read {path}"),
            AgentEffect::Write { path, .. } => format!("ran: write {path}"),
            AgentEffect::Edit { path, .. } => format!("ran: edit {path}"),
            AgentEffect::Call { arguments, .. } => format!("ran: {}", arguments.to_text()),
        })
    }
}

/// Returns the output of a command of the form `echo TEXT > FILE; cat FILE`, where TEXT contains one multiplication,
/// such as `$((6*7))`; `None` for other commands.
fn printed(command: &str) -> Option<String> {
    let (text, _) = command.strip_prefix("echo ")?.split_once(" > ")?;
    let (before, rest) = text.split_once("$((")?;
    let (product, after) = rest.split_once("))")?;
    let (left, right) = product.split_once('*')?;
    let product = left.parse::<u32>().ok()?.checked_mul(right.parse().ok()?)?;
    Some(format!("{before}{product}{after}"))
}

/// Returns the absolute path of a file below a folder; `None` if the path leads out of the folder.
pub(super) fn below(folder: &str, path: &str) -> Option<String> {
    let folder = folder.trim_end_matches('/');
    let rest = path.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/')).unwrap_or(path);
    let plain = |part: &str| !part.is_empty() && part != ".." && !part.contains(['\\', ':']);
    rest.split('/').all(plain).then(|| format!("{folder}/{rest}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_printed_and_other_commands_are_not() {
        let check = |command: &str, expected: Option<&str>| {
            assert_eq!(printed(command).as_deref(), expected, "{command}");
        };
        check("echo ahp-ran-$((6*7)) > ahp-marker; cat ahp-marker", Some("ahp-ran-42"));
        check("echo $((99999*99999)) > f; cat f", None);
        check("echo plain > f; cat f", None);
        check("touch f", None);
    }

    #[test]
    fn paths_stay_below_the_folder() {
        let check = |path: &str, expected: Option<&str>| {
            assert_eq!(below("/w/", path).as_deref(), expected, "{path}");
        };
        check("a.txt", Some("/w/a.txt"));
        check("/w/b/a.txt", Some("/w/b/a.txt"));
        check("../a.txt", None);
        check("b/../../a.txt", None);
        check("/etc/passwd", None);
        check("c:a", None);
        check("", None);
    }
}
