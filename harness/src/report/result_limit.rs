//! Limits the data of a run that a report keeps in memory, because a run may have any number of results.
//!
//! Within the limits, a report contains every result. Beyond the limits, results are only counted. Results that held,
//! results that failed, and all others have separate limits, so that many results of one kind cannot displace the
//! others.
//!
//! Start at [`ResultLimit::takes`].

use std::collections::{HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use crate::verdict::Status;

/// The maximum number of bytes of the kept results of scenarios that held. `FAILED_BYTES` is the limit for failed
/// scenarios, and `OTHER_BYTES` the limit for all others.
const HELD_BYTES: usize = 6 << 20;
const FAILED_BYTES: usize = 8 << 20;
const OTHER_BYTES: usize = 4 << 20;
/// The size in bytes that each result has in addition to its strings.
const BASE: usize = 500;

/// A limit for the results of a run that are kept.
#[derive(Debug, Default)]
pub struct ResultLimit {
    held: usize,
    failed: usize,
    other: usize,
    /// The hashes of the names of the scenarios that held and are kept.
    names: HashSet<u64>,
    /// The number of results that are not kept. The result of a scenario that held is not counted if another result of
    /// the same scenario is kept.
    pub left_out: u64,
}

impl ResultLimit {
    /// Returns whether there is room to keep a result of this size in bytes. A result that is not kept is only
    /// counted.
    pub fn takes(&mut self, status: Status, name: &str, bytes: usize) -> bool {
        let (used, most) = match status {
            Status::Pass | Status::Skip => (&mut self.held, HELD_BYTES),
            Status::Fail => (&mut self.failed, FAILED_BYTES),
            _ => (&mut self.other, OTHER_BYTES),
        };
        let held = matches!(status, Status::Pass | Status::Skip);
        let mut hasher = DefaultHasher::new();
        name.hash(&mut hasher);
        let hash = hasher.finish();
        if *used + bytes + BASE <= most {
            *used += bytes + BASE;
            if held {
                self.names.insert(hash);
            }
            return true;
        }
        // Once the limit is reached, not even smaller results are kept, so that the kept results are the first results
        // of the run.
        *used = most;
        if !(held && self.names.contains(&hash)) {
            self.left_out += 1;
        }
        false
    }
}

/// The maximum number of lines of a scenario that are kept.
const LINES: usize = 4_000;
/// The maximum number of bytes of the kept lines of all open scenarios together.
const LINE_BYTES: usize = 4 << 20;
/// The length of the shortest line that is too long to keep, in bytes.
const LONG: usize = 1 << 20;

/// The last lines of a scenario's transcript, with their line numbers in the file.
#[derive(Debug, Default)]
pub struct LastLines {
    lines: VecDeque<(u64, String)>,
    /// The number of lines that were dropped.
    pub left_out: u64,
}

impl LastLines {
    /// Adds a line and updates `held`, the number of bytes of the kept lines of all open scenarios.
    pub fn push(&mut self, number: u64, text: &str, held: &mut usize) {
        if text.len() > LONG {
            self.left_out += 1;
            return;
        }
        *held += text.len();
        self.lines.push_back((number, text.to_owned()));
        while self.lines.len() > LINES || *held > LINE_BYTES {
            let Some((_, text)) = self.lines.pop_front() else { break };
            *held -= text.len();
            self.left_out += 1;
        }
    }

    /// Returns the lines, in order.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &str)> {
        self.lines.iter().map(|(number, text)| (*number, text.as_str()))
    }

    /// Returns the number of bytes of the lines.
    pub fn bytes(&self) -> usize {
        self.lines.iter().map(|(_, text)| text.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repetitions_of_a_kept_pass_are_not_left_out() {
        let mut limit = ResultLimit::default();
        for round in 0..20_000 {
            let taken = limit.takes(Status::Pass, "area/one", 1_000);
            assert_eq!(taken, round < HELD_BYTES / (1_000 + BASE), "{round}");
        }
        assert_eq!(limit.left_out, 0);
        assert!(!limit.takes(Status::Pass, "area/two", 1_000));
        assert_eq!(limit.left_out, 1);
    }

    #[test]
    fn passes_do_not_displace_failures() {
        let mut limit = ResultLimit::default();
        for number in 0..20_000 {
            let _ = limit.takes(Status::Pass, &number.to_string(), 1_000);
        }
        assert!(limit.takes(Status::Fail, "area/one", 1_000));
        assert!(limit.takes(Status::Untested, "area/one", 1_000));
    }

    #[test]
    fn lines_have_one_limit_for_all_scenarios() {
        let (mut one, mut other, mut held) = (LastLines::default(), LastLines::default(), 0);
        let line = "x".repeat(LONG);
        for number in 0..6 {
            one.push(number, &line, &mut held);
            other.push(number, &line, &mut held);
        }
        assert!(held <= LINE_BYTES && held == one.bytes() + other.bytes(), "{held}");
        assert_eq!(one.iter().last().map(|(number, _)| number), Some(5));
        one.push(7, &"x".repeat(LONG + 1), &mut held);
        assert_eq!(one.iter().last().map(|(number, _)| number), Some(5));
    }
}
