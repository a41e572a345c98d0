//! The scenario language: YAML in, a checked list of steps out. It never runs anything.
//!
//! A file becomes a tree in which every node knows where it stands ([`node`]); the tables of
//! [`verbs`] say which steps and members there are; [`parse`] holds a tree against them and reports
//! every mistake at once; [`pattern`] and [`bind`] are what steps compare and fill in; [`render`]
//! prints a scenario for a person, [`mod@write`] writes one as a file. [`listing`] reads the small files beside scenarios, such as baselines.
//!
//! Knows: `wire`, `ledger`, `agent::script`. Never knows: clients, hosts, transcripts.
//!
//! Start at [`verbs`].

pub mod bind;
pub mod capability;
mod common;
pub mod deviation;
pub mod forms;
mod given;
pub mod listing;
pub mod load;
mod members;
pub mod names;
pub mod node;
pub mod own;
pub mod own_form;
pub mod parse;
pub mod pattern;
pub mod render;
pub mod schema;
pub mod source;
pub mod spec;
pub mod step;
pub mod verb;
pub mod verbs;
pub(crate) mod write;
