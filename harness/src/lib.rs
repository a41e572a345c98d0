//! Conformance harness and fuzzer for the Agent Host Protocol (AHP).
//!
//! The harness plays scenarios against a host, records all frames in one transcript, judges the transcript with pure
//! functions, and derives every report from the results. The modules are listed in reading order: a module uses only
//! the modules above it.
//!
//! Only [`cli`] and the socket parts of [`transport`] and [`run`] perform input and output. All other code uses
//! no clock, no randomness and no sockets. Time is an argument: the [`Duration`] since the transcript began.
//!
//! [`Duration`]: std::time::Duration

pub use ahp_harness_core::{dice, json, model, oracle, transcript, verdict, wire};

#[macro_use]
pub mod fault;

pub mod ledger;

pub mod edge;

pub mod files;
pub mod peer;

pub mod agent;

pub mod host;

pub mod scenario;

pub mod reducers;

#[cfg(feature = "cli")]
pub mod system;

#[cfg(feature = "cli")]
pub mod transport;

pub mod run;

pub mod report;

pub mod record;

pub mod arb;

pub mod load;

pub mod mutation;

#[cfg(feature = "cli")]
pub mod cli;
