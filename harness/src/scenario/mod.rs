//! The scenario language: reads YAML and returns a checked list of steps. This module never plays a scenario.
//!
//! A file becomes a tree in which every node has its place ([`node`]). The tables of [`verbs`] define the steps
//! and members. [`parse`] checks a tree against the tables and reports all mistakes at once. [`pattern`] and
//! [`bind`] define how steps compare values and fill in names. [`render`] prints a scenario for a person, and
//! [`mod@write`] writes a scenario to a file. [`listing`] reads small related files, such as baselines.
//!
//! Knows: `wire`, `ledger`, `agent::script`. Never knows: clients, hosts, transcripts.
//!
//! Start at [`verbs`].

mod agent_verbs;
pub mod bind;
pub mod capability;
mod client_verbs;
mod common;
mod connection_verbs;
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
