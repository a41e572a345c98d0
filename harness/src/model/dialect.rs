//! The small differences between versions that several actions share, as data.
//!
//! Actions that come and go are rows of the [`table`](super::table) with other versions. What is
//! left are habits of a whole channel, such as where the status lives: they are members of
//! [`Dialect`], one row for each version that changes one.
//!
//! Knows: versions. Never knows: an action.
//!
//! Start at [`Dialect`].

use crate::wire::channel::ChannelKind;
use crate::wire::version::Version;

/// How a channel of one version spells what all versions have.
#[derive(Debug)]
pub struct Dialect {}

const PLAIN: Dialect = Dialect {};

impl Dialect {
    /// The dialect of a channel in a version.
    pub fn of(_version: Version, _channel: ChannelKind) -> &'static Dialect {
        &PLAIN
    }
}

/// What a reducer knows besides the state and the action.
#[derive(Clone, Copy, Debug)]
pub struct Context {
    /// How this version spells things.
    pub dialect: &'static Dialect,
    /// The wall clock in milliseconds since 1970. Versions from 0.9.0 on never read it.
    pub now_ms: u64,
}
