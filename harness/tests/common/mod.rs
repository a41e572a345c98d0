//! Code shared by property tests: several clients and a reference host in virtual time.
//!
//! Start at [`step`] for the steps of a play, then [`pair`] for how it is played.

pub mod cases;
pub mod pair;
pub mod seat;
pub mod step;
