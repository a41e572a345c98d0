//! ISO 8601 timestamps of a host without a clock.
//!
//! Knows: the calendar. Never knows: what time it is.

/// Formats milliseconds since 1970 as `2026-01-01T00:00:00.000Z`.
pub(super) fn iso(millis: u64) -> String {
    let (days, rest) = (millis / 86_400_000, millis % 86_400_000);
    let (year, month, day) = civil(i64::try_from(days).unwrap_or(0));
    let (hour, minute) = (rest / 3_600_000, rest / 60_000 % 60);
    let (second, milli) = (rest / 1000 % 60, rest % 1000);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
}

/// The date of a day since 1970, in the Gregorian calendar.
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

/// Whether a text is a date with time and zone, such as `2026-01-01T00:00:00Z`, `...00.5+02:00`.
pub(super) fn is_iso(text: &str) -> bool {
    let digits = |from: usize, to: usize| {
        let part = text.get(from..to)?;
        let plain = part.bytes().all(|byte| byte.is_ascii_digit());
        if plain { part.parse::<u32>().ok() } else { None }
    };
    let sign = |at: usize, allowed: &str| text.get(at..=at).is_some_and(|c| allowed.contains(c));
    let separators =
        sign(4, "-") && sign(7, "-") && sign(10, "Tt") && sign(13, ":") && sign(16, ":");
    let within = |value: Option<u32>, low: u32, high: u32| {
        value.is_some_and(|value| (low..=high).contains(&value))
    };
    let date = within(digits(0, 4), 0, 9999) && within(digits(5, 7), 1, 12);
    let leap = digits(0, 4).is_some_and(|y| y % 4 == 0 && (y % 100 != 0 || y % 400 == 0));
    let last = match digits(5, 7) {
        Some(2) => 28 + u32::from(leap),
        Some(4 | 6 | 9 | 11) => 30,
        _ => 31,
    };
    let day = within(digits(8, 10), 1, last);
    let clock = within(digits(11, 13), 0, 23)
        && within(digits(14, 16), 0, 59)
        && within(digits(17, 19), 0, 59);
    separators && date && day && clock && text.get(19..).is_some_and(is_tail)
}

fn is_tail(tail: &str) -> bool {
    let zone = match tail.strip_prefix('.') {
        Some(fraction) => {
            let zone = fraction.trim_start_matches(|c: char| c.is_ascii_digit());
            if zone.len() == fraction.len() {
                return false;
            }
            zone
        }
        None => tail,
    };
    let offset = |text: &str| {
        let parts = text.split_once(':').map(|(hour, minute)| [hour, minute]);
        parts.is_some_and(|parts| {
            let number = |part: &str| part.len() == 2 && part.parse::<u8>().is_ok_and(|n| n < 60);
            parts.into_iter().all(number)
        })
    };
    matches!(zone, "Z" | "z") || zone.strip_prefix(['+', '-']).is_some_and(offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_and_recognises() {
        assert_eq!(iso(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(iso(951_782_400_000), "2000-02-29T00:00:00.000Z");
        assert_eq!(iso(1_767_225_600_001), "2026-01-01T00:00:00.001Z");
        for good in ["2026-01-01T00:00:00Z", "2024-02-29T23:59:59.5+02:00", &iso(77)] {
            assert!(is_iso(good), "{good}");
        }
        for bad in [
            "",
            "yesterday",
            "2026-01-01",
            "2025-02-29T00:00:00Z",
            "2026-01-01T00:00:00",
            "2026-13-01T00:00:00Z",
            "2026-01-01T00:00:00.Z",
            "2026-01-01T00:00:00+2",
            "é026-01-01T",
        ] {
            assert!(!is_iso(bad), "{bad}");
        }
    }
}
