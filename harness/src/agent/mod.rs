//! What the agent behind a host is told to do, and the ways of being that agent.
//!
//! Knows: `wire`. Never knows: a host's state, clocks, sockets.
//!
//! Start at [`script`].

pub mod script;
