//! The generators of fuzzers and property tests, and the judges of their results.
//!
//! Conversations: [`generate`] makes moves. Of these, [`talk`] starts turns, [`act`] dispatches actions,
//! [`ask`] sends requests, and [`lines`] connects, disconnects and sends malformed frames. Each step is played
//! on a [`stage`] at once; [`draw`] adds the expected outcome by the tables of [`rules`], and [`names`] keeps
//! identifiers symbolic. The resulting [`draft`] becomes a scenario. [`finding`] lists the findings of a play,
//! [`gauge`] what it tested, [`shrink`] minimises it, [`campaign`] saves it; [`embedded`] does this in memory
//! and [`planted`] for every injected fault.
//!
//! Bytes: [`targets`] are functions that take any bytes and return nothing.
//!
//! Knows: everything above. Never knows: the fuzzing engine, proptest.
//!
//! Start at [`targets`] and [`generate`].

pub mod act;
pub mod ask;
pub mod campaign;
pub mod deviate;
pub mod draft;
pub mod draw;
pub mod embedded;
pub mod files;
pub mod finding;
pub mod gauge;
pub mod generate;
pub mod hold;
pub mod liberty;
pub mod lines;
pub mod names;
pub mod observe;
pub mod offered;
pub mod planted;
pub mod rules;
pub mod shrink;
pub mod stage;
pub mod step_result;
pub mod subscribe;
pub mod talk;

pub mod choices;
pub mod laws;
pub mod pool;
pub mod story;
pub mod targets;
