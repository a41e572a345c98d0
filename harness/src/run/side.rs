//! What a case of ACP knows of the agent that is put to the test, besides its frames.
//!
//! It stands in the transcript, so that a replay comes to the same requests.
//!
//! Knows: nothing. Never knows: processes, files.
//!
//! Start at [`AgentSide`].

use serde::{Deserialize, Serialize};

/// What makes an agent ask for permission.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct AskingSetup {
    /// What the client offers, in the word of a scenario.
    pub offers: String,
    /// The mode of the session, where it is another one than usual.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
}

/// The agent that is put to the test.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct AgentSide {
    /// The folder that it works in.
    pub work: String,
    /// The command of the MCP server that it is given: the program and its arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub server: Vec<String>,
    /// The URL of the MCP server that it may be given by HTTP: `/http` below it is for streamable HTTP, `/sse` for
    /// server-sent events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_url: Option<String>,
    /// The method by which to authenticate, where it wants that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth: Option<String>,
    /// The mode that a session is put into.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// The options of a session that are set, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<(String, String)>,
    /// What an agent is prompted with that cannot be told what to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// What makes it ask for permission, where that was found out: scenarios in which it has to ask use it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asking: Option<AskingSetup>,
}
