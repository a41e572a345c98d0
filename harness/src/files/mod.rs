//! Files in memory, and the `resource*` requests about them: for a host that offers files to clients, and for a client
//! that serves files to a host. The requests are the same in both directions.
//!
//! Knows: paths, bytes, the params and results of `resource*`. Never knows: connections, permissions.

pub mod requests;
pub mod tree;
