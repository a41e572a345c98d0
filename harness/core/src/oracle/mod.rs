//! The always-on checks: rules that any traffic has to follow, regardless of the expectations of a scenario.
//!
//! The oracle is a pure fold over the entries of a transcript. For each entry, [`context`] updates the state that the
//! rules need (connections, subscriptions, the log of envelopes, one folded state per channel) and emits a sequence of
//! [`step::OracleStep`]s. Each family of rules is a file with a small struct that implements [`check::CheckFamily`] and
//! handles the steps that it needs.
//!
//! A function that *judges* something counts an observation of its rule, and reports a finding if the rule is broken.
//! The words "Invariant I5" name the invariant that the function implements, see [`CheckRow::invariant`]. The *fold* of
//! a channel is its state, to which the reducers have applied the received actions. A *number* is a `serverSeq`, and
//! the number of a snapshot is its `fromSeq`. A *line* is a line of the transcript. A dispatch is *settled* when the
//! host has accepted or rejected it. A *fence* is the answer to a later request, which shows that everything before
//! that request has arrived. A session or a host *at rest* has been inactive for some time, see [`rest`].
//!
//! A false finding is worse than a missed breach. Behaviour that depends on unseen traffic, on an evicted part of the
//! log or on an open point of the specification is not judged, or is reported as a note.
//!
//! Knows: `wire`, `transcript`, `model`, `verdict`. Never knows: scenarios, expected results, the source of the
//! transcript.
//!
//! Start at [`catalogue`] for the rules and at [`judge`] for the fold.

mod acp;
mod alike;
mod annotations;
mod announcements;
mod asking;
mod automations;
mod below;
mod catalog;
pub mod catalogue;
mod catalogue_below;
mod causality;
mod changesets;
mod channel;
mod check;
mod clients;
mod connection;
mod context;
mod convergence;
mod customizations;
mod delivery;
mod difference;
mod dispatch;
mod envelope;
mod family;
mod fanout;
mod folding;
mod given;
mod handshake;
mod identity;
mod ids;
mod internals;
mod jsonrpc;
pub mod judge;
mod log;
mod masks;
mod members;
mod memory;
mod merging;
mod owners;
mod pending;
mod progress;
mod prompts;
mod published;
mod reconnect;
mod refusals;
mod removal;
mod rest;
mod restart_content;
mod restarts;
mod rollup;
mod rule;
mod same;
mod scalars;
pub mod secrets;
mod sequence;
mod sessions;
mod shape;
mod side_channels;
mod status;
mod step;
mod subscriptions;
mod telemetry;
mod terminals;
mod tools;
mod translation;
mod turn_ids;
mod turn_starts;
mod turns;
mod watches;
mod windows;

pub use alike::alike;
pub use catalogue::{CHECKS, CheckRow};
pub use check::with_findings;
pub use judge::{JudgedParty, Oracle, OracleOptions, all_checks, checks, checks_of};

#[cfg(test)]
mod testkit;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_causes;
#[cfg(test)]
mod tests_choices;
#[cfg(test)]
mod tests_disposal;
#[cfg(test)]
mod tests_returns;
