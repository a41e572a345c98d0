//! What a tool does outside of the conversation.
//!
//! Files are those below the session's folder, whatever a script asks for.
//!
//! Knows: paths as texts. Never knows: files.
//!
//! Start at [`AgentEffect`].

use crate::wire::json::Value;

use super::server::McpServerAddress;

/// Something to be done by whoever runs the agent.
#[derive(Clone, Debug, PartialEq)]
pub enum AgentEffect {
    /// Runs a command line in a folder.
    Shell {
        /// The command, as a shell reads it.
        command: String,
        /// Where.
        cwd: String,
    },
    /// Reads a file.
    Read {
        /// Its absolute path.
        path: String,
    },
    /// Writes a file.
    Write {
        /// Its absolute path.
        path: String,
        /// What it holds from then on.
        text: String,
    },
    /// Replaces the first place of a text in a file.
    Edit {
        /// Its absolute path.
        path: String,
        /// What stands there.
        old: String,
        /// What stands there from then on.
        new: String,
    },
    /// Calls the tool of the harness's own MCP server.
    Call {
        /// The server.
        server: McpServerAddress,
        /// What the tool is called with.
        arguments: Value,
    },
}

/// How an effect, or a call as a whole, ended.
#[derive(Clone, Debug, PartialEq)]
pub struct EffectResult {
    /// Whether it succeeded.
    pub ok: bool,
    /// What came of it, or why not.
    pub text: String,
    /// What it gave besides: content blocks.
    pub blocks: Vec<Value>,
}

impl EffectResult {
    /// It succeeded.
    pub fn well(text: impl Into<String>) -> EffectResult {
        EffectResult { ok: true, text: text.into(), blocks: Vec::new() }
    }

    /// It failed.
    pub fn badly(text: impl Into<String>) -> EffectResult {
        EffectResult { ok: false, text: text.into(), blocks: Vec::new() }
    }
}

impl AgentEffect {
    /// What an effect comes to that nobody brings about: it says what it would have done.
    pub fn pretended(&self) -> EffectResult {
        EffectResult::well(match self {
            AgentEffect::Shell { command, .. } => format!("ran: {command}"),
            AgentEffect::Read { path } => format!("ran: read {path}"),
            AgentEffect::Write { path, .. } => format!("ran: write {path}"),
            AgentEffect::Edit { path, .. } => format!("ran: edit {path}"),
            AgentEffect::Call { arguments, .. } => format!("ran: {}", arguments.to_text()),
        })
    }
}

/// The absolute path of a file below a folder; `None` where it would be elsewhere.
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
    fn files_are_below_the_folder() {
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
