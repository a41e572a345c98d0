//! The generators of fuzzers and property tests, and the judges of their results.
//!
//! Conversations: [`generate`] makes moves, of which [`talk`] starts turns, [`act`] dispatches, [`ask`]
//! sends requests and [`lines`] comes, goes and sends what no client should. Those with an agent that is put to the test
//! itself are drawn by [`agents`], without a stage. Each is played on a
//! [`stage`] at once, [`draw`] writes down what has to come of it by the tables of [`rules`], and
//! [`names`] keeps ids symbolic; a [`draft`] of it becomes a scenario. [`finding`] says what a play
//! found, [`gauge`] what was put to the test, [`shrink`] makes it small, [`campaign`] keeps it; [`embedded`] does so in memory and
//! [`planted`] for every planted fault.
//!
//! Bytes: [`targets`] are functions that take any bytes and return nothing.
//!
//! Knows: everything above. Never knows: the fuzzing engine, proptest.
//!
//! Start at [`targets`] and [`generate`].

pub mod act;
pub mod agents;
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
pub mod source;
pub mod stage;
pub mod step_result;
pub mod subscribe;
pub mod talk;

pub mod choices;
pub mod laws;
pub mod pool;
pub mod story;
pub mod targets;
