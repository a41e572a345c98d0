//! What fuzzers and property tests draw, and what they hold it against.
//!
//! Knows: everything above. Never knows: the fuzzing engine, proptest.
//!
//! Start at [`targets`].

pub mod choices;
pub mod laws;
pub mod pool;
pub mod story;
pub mod targets;
