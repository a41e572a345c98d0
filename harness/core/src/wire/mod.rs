//! Text to values and back: frames, JSON-RPC messages, and the tables of the protocol.
//!
//! Lossless: a frame that is not JSON, a message of no known shape, an unknown member or an id of
//! an odd type is kept as it came. What a peer sent is evidence, never an error of ours.
//!
//! Knows: nothing above it. Never knows: who sent a frame, when, or whether it was allowed.
//!
//! Start at [`frame`], then [`message`]; [`protocol`] holds what each version says is valid.

pub mod canonical;
pub mod channel;
pub mod error_code;
pub mod feature;
pub mod foreign_text;
pub mod frame;
pub mod json;
pub mod message;
pub mod places;
pub mod protocol;
pub mod records;
pub mod sample;
mod shape;
pub mod spelling;
pub mod template;
pub mod timestamp;
pub mod trim;
pub mod validate;
pub mod version;
mod walk;
