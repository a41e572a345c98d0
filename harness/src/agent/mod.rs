//! The scripts for the agent behind a host, and the implementations of that agent.
//!
//! [`script`] is the language of scripts. [`mode`] lists the implementations and the steps that each can play.
//! [`model`] simulates the model of a real agent, [`acp`] is a scripted agent, and [`mcp`] offers a tool to agents.
//! Knows: `wire`. Never knows: a host's state, clocks, sockets.
//!
//! Start at [`script`].

pub mod acp;
pub mod mcp;
pub mod mode;
pub mod model;
pub mod script;
