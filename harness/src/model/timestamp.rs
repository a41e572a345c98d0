//! Times as the protocol writes them: ISO 8601 with milliseconds, in UTC.
//!
//! The reducers need one sum, so that the arithmetic is here and not in a dependency. Read are a
//! date, hours and minutes, optional seconds with a fraction, and `Z` or an offset. A time without
//! an offset would mean something else on every machine and is not read.
//!
//! Knows: the Gregorian calendar. Never knows: what time it is.

const DAY_MS: i64 = 86_400_000;

/// The time that many milliseconds later, as `2026-01-31T10:00:00.000Z`.
///
/// `None` where the text is no such time, or the sum leaves the years 0 to 9999.
pub fn plus_millis(time: &str, millis: i64) -> Option<String> {
    format(parse(time)?.checked_add(millis)?)
}

/// A time as milliseconds since 1970; digits beyond the milliseconds are cut off.
pub fn parse(time: &str) -> Option<i64> {
    let mut rest = time;
    let year = digits(&mut rest, 4)?;
    let month = after(&mut rest, "-", 2)?;
    let day = after(&mut rest, "-", 2)?;
    let hour = after(&mut rest, "Tt", 2)?;
    let minute = after(&mut rest, ":", 2)?;
    let second = after(&mut rest, ":", 2).unwrap_or(0);
    let fraction = fraction(&mut rest)?;
    let offset = offset_minutes(rest)?;
    let sound = (1..=12).contains(&month)
        && (1..=days_in(year, month)).contains(&day)
        && hour < 24
        && minute < 60
        && second < 60;
    let minutes = hour * 60 + minute - offset;
    sound.then(|| {
        days_since_1970(year, month, day) * DAY_MS + (minutes * 60 + second) * 1000 + fraction
    })
}

/// Takes exactly `count` digits off the front.
fn digits(rest: &mut &str, count: usize) -> Option<i64> {
    let (head, tail) = rest.split_at_checked(count)?;
    if !head.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    *rest = tail;
    head.parse().ok()
}

/// Takes one of the separators and the digits behind it, or nothing at all.
fn after(rest: &mut &str, separators: &str, count: usize) -> Option<i64> {
    let mut tail = rest.strip_prefix(|first| separators.contains(first))?;
    let number = digits(&mut tail, count)?;
    *rest = tail;
    Some(number)
}

/// Takes an optional fraction of a second, in milliseconds.
fn fraction(rest: &mut &str) -> Option<i64> {
    let Some(tail) = rest.strip_prefix('.') else {
        return Some(0);
    };
    let end = tail.find(|digit: char| !digit.is_ascii_digit()).unwrap_or(tail.len());
    let (fraction, tail) = tail.split_at_checked(end)?;
    let place = |value: i64, digit: u8| value * 10 + i64::from(digit - b'0');
    let padded = fraction.bytes().chain(std::iter::repeat(b'0'));
    *rest = tail;
    (!fraction.is_empty()).then(|| padded.take(3).fold(0, place))
}

fn offset_minutes(zone: &str) -> Option<i64> {
    if zone == "Z" || zone == "z" {
        return Some(0);
    }
    let sign = if zone.starts_with('-') { -1 } else { 1 };
    let mut rest = zone;
    let hours = after(&mut rest, "+-", 2)?;
    let minutes = after(&mut rest, ":", 2)?;
    (rest.is_empty() && hours < 24 && minutes < 60).then_some(sign * (hours * 60 + minutes))
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days before the first of January of that year, counted from the year 0.
fn days_before_year(year: i64) -> i64 {
    let last = year - 1;
    let leaps = if year == 0 { 0 } else { last / 4 - last / 100 + last / 400 + 1 };
    year * 365 + leaps
}

fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let before: i64 = (1..month).map(|month| days_in(year, month)).sum();
    days_before_year(year) - days_before_year(1970) + before + day - 1
}

fn format(since_1970: i64) -> Option<String> {
    let days = since_1970.div_euclid(DAY_MS).checked_add(days_before_year(1970))?;
    let mut ms = since_1970.rem_euclid(DAY_MS);
    if !(0..days_before_year(10_000)).contains(&days) {
        return None;
    }
    // 366 days a year is too many, so that the guess is never too late and seldom far too early.
    let mut year = days / 366;
    while days_before_year(year + 1) <= days {
        year += 1;
    }
    let mut day = days - days_before_year(year);
    let mut month = 1;
    while day >= days_in(year, month) {
        day -= days_in(year, month);
        month += 1;
    }
    let mut take = |unit: i64| {
        let count = ms / unit;
        ms %= unit;
        count
    };
    let (hour, minute, second) = (take(3_600_000), take(60_000), take(1000));
    let day = day + 1;
    Some(format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z"))
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
        check("2026-12-31T23:30+02:00", 0, Some("2026-12-31T21:30:00.000Z"));
        check("2026-01-01T00:00:00.123456-01:30", 1, Some("2026-01-01T01:30:00.124Z"));
        check("2026-01-01T00:00:00.5Z", 0, Some("2026-01-01T00:00:00.500Z"));
        check("1969-12-31T23:59:59Z", -1, Some("1969-12-31T23:59:58.999Z"));
        check("0000-01-01T00:00:00Z", 0, Some("0000-01-01T00:00:00.000Z"));
        check("2000-12-31T00:00:00Z", 0, Some("2000-12-31T00:00:00.000Z"));
        check("9999-12-31T23:59:59.999Z", 0, Some("9999-12-31T23:59:59.999Z"));
        check("9999-12-31T23:59:59.999Z", 1, None);
        check("0000-01-01T00:00:00Z", -1, None);
        check("2026-01-01T00:00:00Z", i64::MAX, None);
    }

    #[test]
    fn knows_the_common_landmarks() {
        assert_eq!(parse("1970-01-01T00:00:00.000Z"), Some(0));
        assert_eq!(parse("2001-09-09T01:46:40Z"), Some(1_000_000_000_000));
        assert_eq!(parse("2038-01-19T03:14:08Z"), Some(2_147_483_648_000));
    }

    #[test]
    fn every_day_comes_back() {
        for day in 0..days_before_year(10_000) {
            let ms = (day - days_before_year(1970)) * DAY_MS;
            assert_eq!(format(ms).and_then(|text| parse(&text)), Some(ms));
        }
    }

    #[test]
    fn refuses_what_is_no_time() {
        for bad in [
            "",
            "now",
            "2026-01-01",
            "2026-01-01T00:00:00",
            "2026-13-01T00:00:00Z",
            "2026-02-29T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:60:00Z",
            "2026-01-01T00:00:60Z",
            "2026-01-01T00:00:00.Z",
            "2026-01-01T00:00:00+2:00",
            "2026-01-01T00:00:00Zx",
            "+026-01-01T00:00:00Z",
            "2026-01-0éT00:00:00Z",
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
