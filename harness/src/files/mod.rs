//! Files in memory, and the `resource*` requests about them: what a host offers to clients, and what a client serves
//! to a host. The requests are the same in both directions.
//!
//! Knows: paths, bytes, the params and results of `resource*`. Never knows: connections, permissions.

pub mod requests;
pub mod tree;
