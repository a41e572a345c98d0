//! A client of either protocol, without input or output.
//!
//! [`client`] keeps what one client knows: its ids and numbers, what it is subscribed to, what it
//! saw last. [`mirror`] keeps what it makes of a channel: the confirmed state, its own pending
//! actions, and the two together.
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
