//! The address of an MCP server that a client passes to the agent.
//!
//! Knows: the members of an entry of `mcpServers`. Never knows: processes, sockets.
//!
//! Start at [`McpServerAddress::read`]. Source: agentclientprotocol.com, protocol v1 › session setup, MCP
//! servers.

use crate::agent::mcp;
use crate::wire::json::Value;

/// The way to reach an MCP server.
#[derive(Clone, Debug, PartialEq)]
pub enum McpServerAddress {
    /// A process, reached through its standard input and output.
    Command {
        /// The program and its arguments.
        words: Vec<String>,
        /// The environment variables of the process.
        variables: Vec<(String, String)>,
    },
    /// A server that is reached by streamable HTTP.
    Http {
        /// The URL for requests.
        url: String,
        /// The headers of each request.
        headers: Vec<(String, String)>,
    },
    /// A server that is reached by HTTP with server-sent events, as in revision 2024-11-05 of MCP.
    Sse {
        /// The URL of the event stream.
        url: String,
        /// The headers of each request.
        headers: Vec<(String, String)>,
    },
}

impl McpServerAddress {
    /// Reads an entry of `mcpServers`; `None` if the entry is malformed or of an unknown kind.
    pub fn read(server: &Value) -> Option<McpServerAddress> {
        let url = || server["url"].as_str().map(str::to_owned);
        match server["type"].as_str() {
            None => {
                let program = server["command"].as_str()?;
                let args = server["args"].as_array().into_iter().flatten();
                let args = args.filter_map(Value::as_str);
                let words = std::iter::once(program).chain(args).map(str::to_owned).collect();
                Some(McpServerAddress::Command { words, variables: pairs(&server["env"]) })
            }
            Some("http") => {
                Some(McpServerAddress::Http { url: url()?, headers: pairs(&server["headers"]) })
            }
            Some("sse") => {
                Some(McpServerAddress::Sse { url: url()?, headers: pairs(&server["headers"]) })
            }
            Some(_) => None,
        }
    }

    /// Returns the address without environment variables and headers.
    pub(super) fn bare(mut self) -> McpServerAddress {
        self.settings_mut().clear();
        self
    }

    fn settings_mut(&mut self) -> &mut Vec<(String, String)> {
        match self {
            McpServerAddress::Command { variables, .. } => variables,
            McpServerAddress::Http { headers, .. } | McpServerAddress::Sse { headers, .. } => {
                headers
            }
        }
    }

    /// Returns the value of [`mcp::MARK_VARIABLE`] or [`mcp::MARK_HEADER`], which shows that the client named
    /// this server to the agent; `None` if it is absent.
    pub fn mark(&self) -> Option<&str> {
        let (name, settings) = match self {
            McpServerAddress::Command { variables, .. } => (mcp::MARK_VARIABLE, variables),
            McpServerAddress::Http { headers, .. } | McpServerAddress::Sse { headers, .. } => {
                (mcp::MARK_HEADER, headers)
            }
        };
        let found = settings.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }
}

/// Returns the names and values in a list of objects.
fn pairs(list: &Value) -> Vec<(String, String)> {
    let pair = |one: &Value| Some((one["name"].as_str()?.into(), one["value"].as_str()?.into()));
    list.as_array().into_iter().flatten().filter_map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::json::json;

    #[test]
    fn servers_are_read_by_their_transport() {
        let mark = |server: Value| {
            McpServerAddress::read(&server).map(|server| server.mark().map(str::to_owned))
        };
        let some = Some(Some("m".to_owned()));
        let env = json!([{"name": "AHP_MARK", "value": "m"}]);
        assert_eq!(mark(json!({"name": "a", "command": "/a", "args": ["b"], "env": env})), some);
        let headers = json!([{"name": "X-Ahp-Mark", "value": "m"}]);
        let by = |kind: &str, headers: &Value| json!({"type": kind, "name": "a", "url": "http://h/", "headers": (headers.clone())});
        assert_eq!(mark(by("http", &headers)), some);
        assert_eq!(mark(by("sse", &headers)), some);
        assert_eq!(mark(by("http", &json!([]))), Some(None));
        assert_eq!(mark(by("carrier-pigeon", &headers)), None);
        assert_eq!(mark(Value::Null), None);
        let bare = McpServerAddress::read(&by("sse", &headers)).map(McpServerAddress::bare);
        assert_eq!(bare.as_ref().and_then(McpServerAddress::mark), None);
    }
}
