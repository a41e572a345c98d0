//! Times as the protocol writes them: ISO 8601 in UTC with milliseconds.
//!
//! The parser accepts RFC 3339: a date, a time with seconds, an optional fraction, and `Z` or an offset. A time
//! without an offset would have another meaning on every machine.
//!
//! Knows: the calendar. Never knows: the current time.

use time::format_description::well_known::Rfc3339;
use time::{Duration, OffsetDateTime};

/// Adds milliseconds to a time, and returns it in the form `2026-01-31T10:00:00.000Z`.
///
/// Returns `None` if the string is not an RFC 3339 time, or if the sum is outside the years 0 to 9999.
pub fn plus_millis(text: &str, millis: i64) -> Option<String> {
    format(parse(text)?.checked_add(millis)?)
}

/// Parses a time into milliseconds since 1970; digits beyond the milliseconds are cut off.
pub fn parse(text: &str) -> Option<i64> {
    let nanos = OffsetDateTime::parse(text, &Rfc3339).ok()?.unix_timestamp_nanos();
    i64::try_from(nanos.div_euclid(1_000_000)).ok()
}

/// Formats milliseconds since 1970 as `2026-01-31T10:00:00.000Z`; `None` outside the years 0 to 9999.
pub fn format(since_1970: i64) -> Option<String> {
    let at = OffsetDateTime::UNIX_EPOCH.checked_add(Duration::milliseconds(since_1970))?;
    let (year, month, day) = at.to_calendar_date();
    let (hour, minute, second, milli) = at.to_hms_milli();
    let month = u8::from(month);
    (0..=9999).contains(&year).then(|| {
        format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adds_milliseconds() {
        let check = |time: &str, millis: i64, expected: Option<&str>| {
            assert_eq!(plus_millis(time, millis).as_deref(), expected, "{time} + {millis}");
        };
        check("1970-01-01T00:00:00Z", 9999, Some("1970-01-01T00:00:09.999Z"));
        check("2026-01-31T23:59:59.999Z", 1, Some("2026-02-01T00:00:00.000Z"));
        check("2024-02-28T23:00:00Z", 3_600_000, Some("2024-02-29T00:00:00.000Z"));
        check("2026-12-31T23:30:00+02:00", 0, Some("2026-12-31T21:30:00.000Z"));
        check("2026-01-01T00:00:00.123456-01:30", 1, Some("2026-01-01T01:30:00.124Z"));
        check("1969-12-31T23:59:59Z", -1, Some("1969-12-31T23:59:58.999Z"));
        check("9999-12-31T23:59:59.999Z", 1, None);
        check("2026-01-01T00:00:00Z", i64::MAX, None);
    }

    #[test]
    fn refuses_invalid_times() {
        for bad in [
            "",
            "now",
            "2026-01-01",
            "2026-01-01T00:00:00",
            "2026-13-01T00:00:00Z",
            "2026-02-29T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:60:00Z",
            "2026-01-01T00:00:00.Z",
            "2026-01-01T00:00:00+2:00",
            "2026-01-01T00:00:00Zx",
            "2026-01-0éT00:00:00Z",
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
