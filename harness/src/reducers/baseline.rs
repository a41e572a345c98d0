//! Known differences of a subject: each with its reason.
//!
//! ```yaml
//! seed: 7          # the run that it was written by: its entries have to show again there
//! cases: 300
//! known:
//!   - disagreement: state chat/queuedMessagesReordered /queuedMessages/*/id
//!     reason: "#1234, fixed in the next release"
//! ```
//!
//! Another seed generates other sequences, which need not show every difference: an entry that does
//! not show is a mistake only in a run of the same seed and number of cases.
//!
//! Knows: reports. Never knows: files.
//!
//! Start at [`Baseline::settle`].

use litemap::LiteMap;

use super::report::Report;
use crate::scenario::node::{Node, read};
use crate::scenario::source::Source;
use crate::verdict::Status;

/// The known differences of a subject.
#[derive(Clone, Debug, Default)]
pub struct Baseline {
    run: Option<(u64, u64)>,
    known: LiteMap<String, String>,
}

/// The reason that is written for a difference nobody has looked at yet.
const UNREAD: &str = "not looked at yet";

impl Baseline {
    /// Reads a baseline.
    ///
    /// # Errors
    /// Every mistake in it, a line each: where, and what.
    pub fn parse(name: &str, text: &str) -> Result<Baseline, String> {
        let source = Source::new(name, text);
        let (root, errors) = read(&source, 0);
        let place = |start| {
            let (line, column) = source.position(start);
            format!("{name}:{line}:{column}")
        };
        let mut mistakes: Vec<String> =
            errors.iter().map(|error| format!("{}: {error}", place(error.span.start))).collect();
        let mut baseline = Baseline::default();
        let number = |key: &str| root.as_ref()?.get(key)?.to_value().as_u64();
        baseline.run = number("seed").zip(number("cases"));
        for member in root.as_ref().and_then(Node::as_map).unwrap_or_default() {
            if !["seed", "cases", "known"].contains(&member.key.as_str()) {
                let place = place(member.key_span.start);
                mistakes.push(format!("{place}: a baseline has no `{}`", member.key));
            }
        }
        let known = root.as_ref().and_then(|root| root.get("known")).and_then(Node::as_list);
        if known.is_none() && mistakes.is_empty() {
            mistakes.push(format!("{name}:1:1: expected `known:` with a list of entries"));
        }
        for entry in known.unwrap_or_default() {
            if let Err(mistake) = baseline.entry(entry) {
                mistakes.push(format!("{}: {mistake}", place(entry.span.start)));
            }
        }
        if mistakes.is_empty() { Ok(baseline) } else { Err(mistakes.join("\n")) }
    }

    fn entry(&mut self, entry: &Node) -> Result<(), String> {
        let text = |key: &str| entry.get(key).and_then(Node::as_str);
        for member in entry.as_map().unwrap_or_default() {
            if !["disagreement", "reason"].contains(&member.key.as_str()) {
                let key = &member.key;
                return Err(format!("an entry has no `{key}` (hint: `disagreement` and `reason`)"));
            }
        }
        let key = text("disagreement").ok_or("expected `disagreement`: its key in the report")?;
        let reason = text("reason").filter(|reason| !reason.trim().is_empty());
        let reason =
            reason.ok_or("expected a `reason`: nobody will remember why it was tolerated")?;
        match self.known.insert(key.to_owned(), reason.to_owned()) {
            Some(_) => Err(format!("`{key}` stands here twice")),
            None => Ok(()),
        }
    }

    /// Settles what is known, and says which entries did not show in a run that had to show them.
    pub fn settle(&self, report: &mut Report) -> Vec<String> {
        for finding in &mut report.findings {
            if let Some(reason) = self.known.get(&finding.key)
                && finding.status == Status::Fail
            {
                finding.status = Status::Known;
                finding.known = Some(reason.clone());
            }
        }
        // A vector whose differences are all known is known, too.
        let open_ended: Vec<String> = report
            .of_status(Status::Fail)
            .flat_map(|finding| finding.vectors.iter().cloned())
            .collect();
        for vector in &mut report.vectors {
            if vector.status == Status::Fail && !open_ended.contains(&vector.name) {
                vector.status = Status::Known;
            }
        }
        if self.run != Some((report.seed, report.sequences)) {
            return Vec::new();
        }
        let shows = |key: &String| report.findings.iter().any(|finding| finding.key == *key);
        let stale = self.known.iter().filter(|(key, _)| !shows(key));
        stale
            .map(|(key, reason)| {
                format!("`{key}` is in the baseline ({reason}) and shows no more: remove it")
            })
            .collect()
    }

    /// The baseline of a report: what fails in it is known from now on. Reasons are kept.
    pub fn written(&self, report: &Report) -> String {
        let mut text = format!("seed: {}\ncases: {}\nknown:\n", report.seed, report.sequences);
        let mut any = false;
        for finding in &report.findings {
            if matches!(finding.status, Status::Fail | Status::Known) {
                any = true;
                let reason = self.known.get(&finding.key).map_or(UNREAD, String::as_str);
                let quoted = |text: &str| crate::wire::json::Value::from(text).to_string();
                text.push_str(&format!(
                    "  - disagreement: {}\n    reason: {}\n",
                    quoted(&finding.key),
                    quoted(reason)
                ));
            }
        }
        if any { text } else { text.replace("known:\n", "known: []\n") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_is_wrong_with_it() {
        let check = |text: &str, expected: &str| {
            let error = Baseline::parse("b.yaml", text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        };
        check("known: 1", "b.yaml:1:1: expected `known:`");
        check("known:\n  - disagreement: a\n", "b.yaml:2:5: expected a `reason`");
        check("known:\n  - reason: a\n", "expected `disagreement`");
        let twice =
            "known:\n  - { disagreement: a, reason: b }\n  - { disagreement: a, reason: b }";
        check(twice, "b.yaml:3:5: `a` stands here twice");
        check("known: []\nsead: 1", "a baseline has no `sead`");
        assert!(Baseline::parse("b.yaml", "known: []").is_ok());
    }
}
