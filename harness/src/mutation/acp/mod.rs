//! Injected faults and legal rewrites in conversations with agents. The other modules of [`mutation`](super) are about
//! conversations with hosts.
//!
//! [`prompts`] finds the turn of a frame. [`condition`], [`evidence`], [`change`] and [`rewrite`] are the
//! conditions, evidence, changes and rewrites that only rows about agents use. [`bases`] creates the captures.
//! The rows are in `operators::agents` and `rewrites::agents`.
//!
//! Knows: captures, the vocabulary of the protocol. Never knows: the implementation of checks.
//!
//! Start at [`condition`].

pub mod bases;
pub mod change;
pub mod condition;
pub mod evidence;
pub(super) mod prompts;
pub mod rewrite;
