//! Conversion between text and JSON values: frames, JSON-RPC messages, and the tables of the protocol.
//!
//! The conversion is lossless: frames that are not JSON, malformed messages, unknown members and ids of unusual
//! types are kept unchanged. A malformed message is evidence, and never an error of the harness.
//!
//! Knows: no other module. Never knows: senders, times, rules.
//!
//! Start at [`frame`], then [`message`]; [`protocol`] defines what is valid in each version.

pub mod built_in;
pub mod canonical;
pub mod channel;
pub mod error_code;
pub mod feature;
pub mod foreign_text;
pub mod frame;
pub mod json;
pub mod members;
pub mod message;
pub mod percent;
pub mod places;
pub mod protocol;
pub mod records;
pub mod sample;
mod shape;
pub mod spelling;
mod table_file;
pub mod template;
pub mod timestamp;
pub mod trim;
pub mod validate;
pub mod version;
pub mod vocabulary;
mod walk;
pub mod yaml;
