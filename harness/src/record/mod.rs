//! Conversations of others: recorded between a client and its host, disturbed on request, and made
//! into scenarios.
//!
//! [`relay`] is what passes between two sides and what a fault makes of it, [`fault`] the language
//! of those faults, [`convert`] makes scenarios, [`handshake`] the HTTP before the first frame; all of them are pure. [`proxy`]
//! moves the bytes, [`journal`] writes and judges them.
//!
//! Knows: `wire`, `transcript`, `oracle`, `transport`, `report`. Never knows: arguments, files.
//!
//! Start at [`relay`].

pub mod convert;
pub mod fault;
#[cfg(feature = "cli")]
pub mod handshake;
#[cfg(feature = "cli")]
pub mod journal;
#[cfg(feature = "cli")]
pub mod proxy;
#[cfg(feature = "cli")]
pub mod relay;
