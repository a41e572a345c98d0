//! Cron expressions: the grammar of schedules, and the next time that an expression matches.
//!
//! Five fields: minute, hour, day of the month, month, day of the week. Each field is a list of `*`, values and
//! ranges; `*` and ranges may have a step. Months and days of the week have names of three letters, in any
//! case; Sunday is 0 and 7. If both day fields are restricted, a day has to match only one of them. Source:
//! AutomationSchedule.
//!
//! This host supports one time zone, UTC.
//!
//! Knows: the calendar. Never knows: automations.
//!
//! Start at [`CronExpression::parse`].

/// The names of the only supported time zone.
pub(super) const ZONES: &[&str] = &["UTC", "Etc/UTC"];

const MINUTE: u64 = 60_000;
const DAY: u64 = 24 * 60 * MINUTE;
/// The number of days after which the search for the next match ends. Two leap days may be eight years apart.
const MAX_DAYS: u64 = 366 * 9;

const MONTHS: &[&str] =
    &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS: &[&str] = &["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// The minimum and maximum of each field, and the names of its values, starting at the minimum.
const FIELDS: [(u32, u32, &[&str]); 5] =
    [(0, 59, &[]), (0, 23, &[]), (1, 31, &[]), (1, 12, MONTHS), (0, 7, DAYS)];

/// A cron expression: for each field, a bit set of the values that match.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct CronExpression {
    minutes: u64,
    hours: u64,
    dates: u64,
    months: u64,
    weekdays: u64,
    /// Whether the day-of-month field and the day-of-week field are restricted, that is, do not begin with `*`.
    restricted: (bool, bool),
}

impl CronExpression {
    /// Parses an expression; `None` if the expression is invalid.
    pub(super) fn parse(text: &str) -> Option<CronExpression> {
        let fields: Vec<&str> = text.split_ascii_whitespace().collect();
        let [minute, hour, date, month, weekday] = fields[..] else { return None };
        let [minutes, hours, dates, months, weekdays] = FIELDS;
        let week = field(weekday, weekdays)?;
        Some(CronExpression {
            minutes: field(minute, minutes)?,
            hours: field(hour, hours)?,
            dates: field(date, dates)?,
            months: field(month, months)?,
            // Sunday is both 0 and 7.
            weekdays: week | week >> 7,
            restricted: (!date.starts_with('*'), !weekday.starts_with('*')),
        })
    }

    /// Returns the first matching minute after a time, both in milliseconds since 1970; `None` if there is none
    /// within [`MAX_DAYS`].
    pub(super) fn after(&self, millis: u64) -> Option<u64> {
        let from = (millis / MINUTE + 1) * MINUTE;
        (from / DAY..from / DAY + MAX_DAYS).filter(|day| self.falls_on(*day)).find_map(|day| {
            let minutes = (0..24 * 60).filter(|minute| {
                self.hours >> (minute / 60) & 1 == 1 && self.minutes >> (minute % 60) & 1 == 1
            });
            minutes.map(|minute| day * DAY + minute * MINUTE).find(|at| *at >= from)
        })
    }

    /// Returns whether the expression matches a day, given in days since 1970.
    fn falls_on(&self, day: u64) -> bool {
        let (month, date) = civil(day);
        // The first of January 1970 was a Thursday.
        let weekday = (day + 4) % 7;
        let has = |bits: u64, value: u64| bits >> value & 1 == 1;
        let (of_month, of_week) = (has(self.dates, date), has(self.weekdays, weekday));
        let falls = match self.restricted {
            (true, true) => of_month || of_week,
            _ => of_month && of_week,
        };
        falls && has(self.months, month)
    }
}

/// Parses a field into its bit set; `None` if the field is invalid.
fn field(text: &str, (least, greatest, names): (u32, u32, &[&str])) -> Option<u64> {
    let value = |text: &str| {
        let named = names.iter().position(|name| name.eq_ignore_ascii_case(text));
        if let Some(at) = named {
            return Some(least + u32::try_from(at).ok()?);
        }
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse().ok().filter(|_| digits)?;
        (least..=greatest).contains(&number).then_some(number)
    };
    let mut bits = 0_u64;
    for item in text.split(',') {
        let (range, step) = match item.split_once('/') {
            Some((range, step)) => (range, Some(step)),
            None => (item, None),
        };
        let (from, to) = match range.split_once('-') {
            Some((from, to)) => (value(from)?, value(to)?),
            None if range == "*" => (least, greatest),
            None if step.is_some() => return None,
            None => (value(range)?, value(range)?),
        };
        let digits = |text: &&str| text.bytes().all(|byte| byte.is_ascii_digit());
        let step: u32 = match step {
            Some(step) => Some(step).filter(digits)?.parse().ok()?,
            None => 1,
        };
        if step == 0 || from > to {
            return None;
        }
        let step = usize::try_from(step).ok()?;
        (from..=to).step_by(step).for_each(|value| bits |= 1 << value);
    }
    Some(bits)
}

/// Returns the month and the day of the month for a day, which is given in days since 1970.
fn civil(day: u64) -> (u64, u64) {
    // Years begin in March here, so that a leap day is the last day of its year. An era is 400 years.
    let day = day + 719_468;
    let of_era = day % 146_097;
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let date = of_year - (153 * month + 2) / 5 + 1;
    (if month < 10 { month + 3 } else { month - 9 }, date)
}

#[cfg(test)]
mod tests {
    use super::super::timestamp::iso;
    use super::*;
    use crate::wire::timestamp;

    #[test]
    fn expressions_give_the_next_time() {
        let from = "2026-01-01T00:00:00.000Z";
        let check = |text: &str, expected: Option<&str>| {
            let from = u64::try_from(timestamp::parse(from).unwrap()).unwrap();
            let next = CronExpression::parse(text).and_then(|cron| cron.after(from)).map(iso);
            let expected = expected.map(|it| format!("{it}:00.000Z"));
            assert_eq!(next, expected, "{text}");
        };
        check("* * * * *", Some("2026-01-01T00:01"));
        check("0 0 * * *", Some("2026-01-02T00:00"));
        check("*/40 6 * * *", Some("2026-01-01T06:00"));
        check("30-59/20,5 6 * * *", Some("2026-01-01T06:05"));
        check("0 9 * * MON-fri", Some("2026-01-01T09:00"));
        check("0 9 * * 0", Some("2026-01-04T09:00"));
        check("0 9 * * 7", Some("2026-01-04T09:00"));
        check("0 9 * * fri-7", Some("2026-01-02T09:00"));
        check("0 0 29 FEB *", Some("2028-02-29T00:00"));
        check("0 0 13 * FRI", Some("2026-01-02T00:00"));
        check("0 0 13 2-12 *", Some("2026-02-13T00:00"));
        check("0 0 31 DEC *", Some("2026-12-31T00:00"));
        check("0 0 30 FEB *", None);
        for odd in [
            "",
            "* * * *",
            "* * * * * *",
            "@daily",
            "60 * * * *",
            "* 24 * * *",
            "* * 0 * *",
            "* * * 13 *",
            "* * * * 8",
            "*/0 * * * *",
            "5/10 * * * *",
            "5-1 * * * *",
            "? * * * *",
            "* * L * *",
            "* * 1W * *",
            "* * * * 5#2",
            "+1 * * * *",
            "1, * * * *",
            "MON * * * *",
            "1-2-3 * * * *",
            "*/ * * * *",
            "* * * JANUARY *",
        ] {
            assert_eq!(CronExpression::parse(odd), None, "{odd}");
        }
    }
}
