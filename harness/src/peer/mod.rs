//! A client of either protocol, without input or output.
//!
//! [`client`] holds the state of a client: ids, numbers, subscriptions, the last seen `serverSeq`. [`mirror`]
//! holds the state of a channel: the confirmed state, the pending actions, and both combined.
//!
//! [`serving`] is what a client of ACP does for its agent, by [`errand`]s that others run; [`reports`] what it makes of
//! the reports of tool calls, [`texts`] what it makes of the chunks of messages.
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
pub mod texts;
