//! What the agent behind a host is told to do, and the ways of being that agent.
//!
//! [`script`] is the language that all ways share, [`mode`] says what each can do of it; [`model`] answers as the model that a real agent
//! asks, [`acp`] is the agent itself, [`mcp`] offers a tool to agents. Knows: `wire`. Never knows: a host's state, clocks, sockets.
//!
//! Start at [`script`].

pub mod acp;
pub mod mcp;
pub mod mode;
pub mod model;
pub mod script;
