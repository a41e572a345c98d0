//! Timestamps for a host without a clock.

use crate::wire::timestamp;

/// Formats milliseconds since 1970.
pub(super) fn iso(millis: u64) -> String {
    i64::try_from(millis).ok().and_then(timestamp::format).unwrap_or_default()
}

/// Returns whether a string is a date with time and zone, such as `2026-01-01T00:00:00Z`.
pub(super) fn is_iso(text: &str) -> bool {
    timestamp::parse(text).is_some()
}
