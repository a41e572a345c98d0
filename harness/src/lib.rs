//! Conformance harness and fuzzer for the Agent Host Protocol (AHP).
//!
//! A scenario goes in, frames cross the wire, one transcript is kept, judgement is pure, and every
//! report is a fold over what was judged. The modules stand in reading order: a module uses only
//! those above it.
//!
//! Everything but [`cli`] and the socket half of [`transport`] and [`run`] is free of input and
//! output: no clock, no randomness, no sockets. Time is an argument, the [`Duration`] since the
//! transcript began.
//!
//! [`Duration`]: std::time::Duration

pub use ahp_harness_core::{dice, json, model, oracle, transcript, verdict, wire};

#[macro_use]
pub mod fault;

pub mod ledger;

pub mod edge;

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

pub mod mutation;

#[cfg(feature = "cli")]
pub mod cli;
