//! Recordings: a proxy between a client and its host that records their conversation, injects faults on
//! request, and converts conversations to scenarios.
//!
//! [`relay`] decides which bytes are forwarded and applies faults, [`fault`] is the language in which users describe
//! these faults, [`convert`] creates scenarios, and [`handshake`] handles the HTTP messages before the first frame.
//! These modules are pure. [`proxy`] moves the bytes, [`journal`] records and judges the messages.
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
