//! What several property tests share: N clients and a reference host in virtual time.
//!
//! Start at [`step`] for what a play is made of, then [`pair`] for how it is played.

pub mod cases;
pub mod pair;
pub mod seat;
pub mod step;
