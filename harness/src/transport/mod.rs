//! Transports bytes between peers.
//!
//! [`websocket`] is a client's connection, [`serve`] serves a host engine on a port, [`tap`] finds the messages
//! in a byte stream, [`http`] serves the model stand-in on a port, [`acp`] runs the agent on standard input and
//! output, [`agent`] starts such an agent, [`shells`] runs the shells of terminals, [`below`] delivers the
//! messages of agents to the scenarios. [`process`] is the connection to an agent under test, [`link`] either
//! kind of connection, [`scratch`] the folder for such an agent. [`child`] is a child process of the harness,
//! which ends together with its descendants.
//!
//! Knows: `wire`, `transcript`, `peer`, `agent`, the `SansIoHost` trait. Never knows: scenarios, rules, what a
//! frame means.

pub mod acp;
pub mod agent;
pub mod below;
pub mod child;
pub mod http;
pub mod link;
pub mod process;
pub mod scratch;
pub mod serve;
pub mod shells;
pub mod tap;
pub mod websocket;
