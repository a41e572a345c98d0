//! Transports bytes between peers.
//!
//! [`websocket`] is a client's connection, [`serve`] puts a host engine on a port, [`tap`] listens to
//! a connection of others, [`http`] puts the model stand-in on a port, [`mcp_server`] our MCP server (both by [`http_server`]), [`mcp_client`] calls such servers, [`acp`] the agent on standard input and
//! output, [`agent`] starts such an agent, [`shells`] the shells of terminals; [`below`] brings what passes there to the scenarios. [`process`] is the way to an
//! agent that is put to the test, [`link`] either way, [`scratch`] the folder that such an agent is given. [`child`] is any process
//! of ours, which ends with everything that it has started.
//!
//! Knows: `wire`, `transcript`, `peer`, `agent`, the `SansIoHost` trait. Never knows: scenarios, rules, what a
//! frame means.

pub mod acp;
pub mod agent;
pub mod below;
pub mod child;
pub mod http;
pub mod http_server;
pub mod link;
pub mod mcp_client;
pub mod mcp_server;
pub mod process;
pub mod scratch;
pub mod serve;
pub mod shells;
pub mod tap;
pub mod websocket;
