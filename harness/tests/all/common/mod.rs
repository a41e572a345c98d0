//! Code that several test modules share. For property tests, this code simulates several clients and a reference host
//! in virtual time.
//!
//! Start at [`step`] for the steps of a conversation, then [`pair`] for their execution.

#![expect(clippy::unwrap_used, reason = "helpers of a test fail by panicking")]

pub mod cases;
pub mod crowd;
pub mod pair;
pub mod priority;
pub mod seat;
pub mod sheet;
pub mod step;
pub mod story;
pub mod suite;
pub mod wire_trial;
