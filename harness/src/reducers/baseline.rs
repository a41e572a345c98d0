//! Reads and writes baselines: files with the known differences between a subject (a tested reducer) and the harness,
//! with reasons.
//!
//! ```yaml
//! seed: 7          # the run that wrote the file; in an equal run, all entries must occur again
//! cases: 300
//! known:
//!   - disagreement: state chat/queuedMessagesReordered /queuedMessages/*/id
//!     reason: "#1234, fixed in the next release"
//! ```
//!
//! A run with another seed generates other sequences, in which some known differences may not occur. An entry that does
//! not occur is therefore a mistake only in a run with the same seed, the same number of cases, and the vectors.
//!
//! Knows: reports. Never knows: files.
//!
//! Start at [`DifferenceBaseline::settle`].

use litemap::LiteMap;

use super::report::SubjectReport;
use crate::scenario::listing::{ListingForm, needed, read_list, reason};
use crate::scenario::node::SourceNode;
use crate::verdict::Status;

/// The known differences between a subject (a tested reducer) and the harness.
#[derive(Clone, Debug, Default)]
pub struct DifferenceBaseline {
    run: Option<(u64, u64)>,
    known: LiteMap<String, String>,
}

const FORM: ListingForm = ListingForm {
    what: "a baseline",
    list: "known",
    beside: &["seed", "cases"],
    entry: &["disagreement", "reason"],
};

/// The reason that the harness writes into a new entry of a baseline.
const UNREAD: &str = "not looked at yet";

impl DifferenceBaseline {
    /// Parses a baseline.
    ///
    /// # Errors
    /// Returns all mistakes in the file, one per line, with the place of each.
    pub fn parse(name: &str, text: &str) -> Result<DifferenceBaseline, String> {
        let mut baseline = DifferenceBaseline::default();
        let root = read_list(name, text, &FORM, &mut |entry| baseline.entry(entry))?;
        let number = |key: &str| root.get(key)?.to_value().as_u64();
        baseline.run = number("seed").zip(number("cases"));
        Ok(baseline)
    }

    fn entry(&mut self, entry: &SourceNode) -> Result<(), String> {
        let key = needed(entry, "disagreement", "its key in the report")?;
        match self.known.insert(key.to_owned(), reason(entry)?.to_owned()) {
            Some(_) => Err(format!("`{key}` is given twice")),
            None => Ok(()),
        }
    }

    /// Marks the known findings of a report, and returns a message for each entry that should have occurred in
    /// this run and did not.
    pub fn settle(&self, report: &mut SubjectReport) -> Vec<String> {
        for finding in &mut report.findings {
            if let Some(reason) = self.known.get(&finding.key)
                && finding.status == Status::Fail
            {
                finding.status = Status::Known;
                finding.known = Some(reason.clone());
            }
        }
        // A failed vector counts as known if all its differences are known.
        let open_ended: Vec<String> = report
            .of_status(Status::Fail)
            .flat_map(|finding| finding.vectors.iter().cloned())
            .collect();
        for vector in &mut report.vectors {
            if vector.status == Status::Fail && !open_ended.contains(&vector.name) {
                vector.status = Status::Known;
            }
        }
        // Without vectors, a run cannot show the differences that occur only in vectors.
        if self.run != Some((report.seed, report.sequences)) || report.vectors.is_empty() {
            return Vec::new();
        }
        let shows = |key: &String| report.findings.iter().any(|finding| finding.key == *key);
        let stale = self.known.iter().filter(|(key, _)| !shows(key));
        stale
            .map(|(key, reason)| {
                format!("`{key}` is in the baseline ({reason}) and no longer occurs: remove it")
            })
            .collect()
    }

    /// Returns the text of a new baseline that contains every failure of the report. The reasons of existing entries
    /// are kept.
    pub fn written(&self, report: &SubjectReport) -> String {
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
    use std::collections::{BTreeMap, BTreeSet};
    use std::path::Path;

    use super::*;
    use crate::reducers::defects::SubjectDefects;
    use crate::wire::version::{PUBLISHED, Version};

    #[test]
    fn says_what_is_wrong_with_it() {
        let check = |text: &str, expected: &str| {
            let error = DifferenceBaseline::parse("b.yaml", text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        };
        check("known: 1", "b.yaml:1:1: expected `known:`");
        check("known:\n  - disagreement: a\n", "b.yaml:2:5: expected `reason`");
        check("known:\n  - reason: a\n", "expected `disagreement`");
        let twice =
            "known:\n  - { disagreement: a, reason: b }\n  - { disagreement: a, reason: b }";
        check(twice, "b.yaml:3:5: `a` is given twice");
        check("known: []\nsead: 1", "a baseline has no `sead`");
        assert!(DifferenceBaseline::parse("b.yaml", "known: []").is_ok());
    }

    /// Checks the committed files about the official crates: the baselines, the descriptions of defects, and
    /// the files generated from both.
    #[test]
    fn every_reason_is_a_defect_that_the_readme_lists() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../reports/reducers");
        let read = |name: &str| {
            let text = std::fs::read_to_string(folder.join(name));
            text.unwrap_or_else(|error| panic!("reports/reducers/{name}: {error}"))
        };
        let defects = SubjectDefects::parse("defects.yaml", &read("defects.yaml")).unwrap();
        let mut versions: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for version in PUBLISHED.iter().filter(|version| **version != Version::V0_1) {
            let name = format!("{version}.baseline.yaml");
            let baseline = DifferenceBaseline::parse(&name, &read(&name)).unwrap();
            let ids = baseline.known.values().map(|reason| reason.split(':').next().unwrap());
            let ids: BTreeSet<&str> = ids.collect();
            for id in ids {
                versions.entry(id.to_owned()).or_default().push(version.to_string());
            }
            let title = format!("# {}\n", defects.subject(*version).unwrap());
            assert!(read(&format!("{version}.md")).starts_with(&title), "{version}");
        }
        let readme = read("README.md");
        for (id, versions) in versions {
            let defect = defects.all.iter().find(|defect| defect.id == id);
            let title = &defect.unwrap_or_else(|| panic!("no defect `{id}`")).title;
            let row = format!("| {id} | {title} | {} |\n", versions.join(", "));
            assert!(readme.contains(&row), "expected in README.md: {row}");
        }
    }
}
