//! Files in memory, with the `resource*` requests about them. A host uses them to offer files to clients, and a client
//! uses them to serve files to a host; the requests are the same in both directions.
//!
//! Knows: paths, bytes, the params and results of `resource*`. Never knows: connections, permissions.

pub mod requests;
pub mod tree;
