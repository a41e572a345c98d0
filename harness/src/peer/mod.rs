//! Clients of AHP and ACP, without input or output.
//!
//! [`client`] contains the state of a client: request ids, `clientSeq` numbers, subscriptions, the last seen
//! `serverSeq`. [`mirror`] contains the state of a channel: the confirmed state, the pending actions, and both
//! combined.
//!
//! [`client_folder`] answers a host that requests the files that a client publishes.
//!
//! [`mod@reference`] is a complete client with which the scenarios for clients are tested. [`received`] computes, from
//! the frames of a client, the states that the client must have.
//!
//! [`serving`] answers the requests that an agent sends to an ACP client; the caller performs the necessary
//! [`errand`]s. [`reports`] collects an agent's reports of tool calls, and [`texts`] collects the chunks of messages.
//!
//! Knows: `wire`, `model`. Never knows: sockets, clocks, the expectations of scenarios.
//!
//! Start at [`client`].

pub mod client;
pub mod client_folder;
pub mod errand;
pub mod guise;
pub mod mirror;
pub mod null_client;
pub mod received;
pub mod reference;
pub mod reports;
pub mod serving;
pub mod texts;
