//! The facts about the tested agent that an ACP scenario uses in addition to the frames.
//!
//! The transcript contains these facts, so a replay of the transcript sends the same requests.
//!
//! Knows: no other module. Never knows: processes, files.
//!
//! Start at [`AgentSide`].

use serde::{Deserialize, Serialize};

/// The conditions under which an agent asks for permission.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct AskingSetup {
    /// The capabilities that the client offers, with their names in the scenario language.
    pub offers: String,
    /// The mode of the session; `None` for the mode in the agent's profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// A session option to set, with its value; `None` for the options in the agent's profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub option: Option<(String, String)>,
}

/// The facts about the tested agent.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct AgentSide {
    /// The agent's working directory.
    pub work: String,
    /// The command of the MCP server that the client offers the agent: the program and its arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub server: Vec<String>,
    /// The base URL of the HTTP MCP server that the client may offer the agent. `/mcp` below this URL is for
    /// streamable HTTP, `/sse` for server-sent events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_url: Option<String>,
    /// The authentication method; `None` if the agent needs none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth: Option<String>,
    /// The mode to set for a session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// The session options to set: name and value.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<(String, String)>,
    /// The prompt for an agent that cannot follow scripts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The conditions under which the agent asks for permission; `None` if they are unknown. Scenarios that need a
    /// permission request create these conditions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asking: Option<AskingSetup>,
}
