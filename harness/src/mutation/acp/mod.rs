//! Faults of agents in conversations of the Agent Client Protocol, and legal rewrites of these: what the rest of
//! [`mutation`](super) does for hosts.
//!
//! [`prompts`] finds the turn that a frame belongs to; [`condition`], [`evidence`] and [`change`] are what rows about agents
//! need beyond those about hosts, and [`retelling`] is how such a conversation is told otherwise; [`bases`] makes the captures.
//! The rows stand with the others: `operators::agents`, `rewrites::agents`.
//!
//! Knows: captures, the words of the protocol. Never knows: how a check works.
//!
//! Start at [`condition`].

pub mod bases;
pub mod change;
pub mod condition;
pub mod evidence;
mod prompts;
pub mod retelling;
