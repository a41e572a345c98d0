//! What the agent behind a host is told to do, and the ways of being that agent.
//!
//! [`script`] is the language that all ways share; [`model`] answers as the model that a real agent
//! asks. Knows: `wire`. Never knows: a host's state, clocks, sockets.
//!
//! Start at [`script`].

pub mod model;
pub mod script;
