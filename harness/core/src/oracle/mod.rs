//! The always-on checks: rules that any traffic has to follow, regardless of the expectations of a scenario.
//!
//! The oracle is a pure fold over the entries of a transcript. For each entry, [`context`] updates the state that the
//! rules need (connections, subscriptions, the log of envelopes, one folded state per channel) and emits a sequence of
//! [`step::OracleStep`]s. Each family of rules is a file in [`rules`] with a small struct that implements
//! [`check::CheckFamily`] and handles the steps that it needs. [`clients`] has the rules for clients, [`acp`] those for
//! agents. The other files are the machinery; they know no rule.
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
mod asking;
mod below;
mod budget;
pub mod catalogue;
mod catalogue_below;
mod channel;
mod check;
mod clients;
mod connection;
mod context;
mod delivery;
mod difference;
mod envelope;
mod family;
mod folding;
pub mod judge;
mod log;
mod masks;
mod members;
mod memory;
mod options;
mod rest;
mod rule;
mod rules;
mod same;
mod scalar_form;
pub mod secrets;
mod step;
mod subscriptions;
mod tool_call;

pub use alike::alike;
pub use catalogue::{CHECKS, CheckRow};
pub use check::with_findings;
pub use judge::{Oracle, all_checks, checks, checks_of};
pub use options::{JudgedParty, OracleOptions};
pub use same::REDACTION_MARK;

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
mod tests_memory;
#[cfg(test)]
mod tests_returns;
