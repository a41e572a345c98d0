//! Transports bytes between peers.
//!
//! Clients: [`websocket`] is a connection to a host, [`process`] is the connection to an agent under test, and [`link`]
//! is either of them. [`scratch`] is the folder of an agent under test. [`tap`] parses the traffic of a foreign
//! connection.
//!
//! Servers: [`serve`] serves a host engine, [`http`] serves the model stand-in, and [`mcp_server`] serves the harness's
//! MCP server. The last two use [`http_server`]. [`acp`] runs the scripted agent on standard input and output.
//!
//! Other modules: [`mcp_client`] calls MCP servers, [`agent`] starts the scripted agent, and [`shells`] starts the
//! shells of terminals. [`below`] delivers the messages between a host and its agents to the scenarios. [`child`] is a
//! subprocess that is killed together with its descendants. [`host_journal`] keeps the state of a served host on disk.
//!
//! Knows: `wire`, `transcript`, `peer`, `agent`, the `SansIoHost` trait. Never knows: scenarios, rules, the
//! meaning of frames.

pub mod acp;
pub mod agent;
pub mod below;
pub mod child;
pub mod host_journal;
pub mod http;
pub mod http_server;
pub mod link;
pub mod listen_gate;
pub mod mcp_client;
pub mod mcp_server;
pub mod process;
pub mod reference_client;
mod request_head;
pub mod scratch;
pub mod serve;
pub mod shells;
pub mod tap;
pub mod websocket;
