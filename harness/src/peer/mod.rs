//! A client of either protocol, without input or output.
//!
//! [`client`] holds the state of a client: ids, numbers, subscriptions, the last seen `serverSeq`. [`mirror`]
//! holds the state of a channel: the confirmed state, the pending actions, and both combined.
//!
//! [`serving`] serves the requests of an agent to a client of ACP, by [`errand`]s that the caller performs.
//! [`reports`] collects the reports of tool calls.
//!
//! Knows: `wire`, `model`. Never knows: sockets, clocks, what a scenario wants.
//!
//! Start at [`client`].

pub mod client;
pub mod errand;
pub mod guise;
pub mod mirror;
pub mod reports;
pub mod serving;
