//! Bytes between peers, and nothing else.
//!
//! [`websocket`] is a client's connection, [`serve`] puts a host engine on a port, [`tap`] listens to
//! a connection of others, [`http`] puts the model stand-in on a port.
//!
//! Knows: `wire`, `transcript` (names of connections), the `Host` trait. Never knows: scenarios,
//! rules, what a frame means.

pub mod http;
pub mod serve;
pub mod tap;
pub mod websocket;
