//! Tests every check with a capture that breaks its rule: each `corpus/captures/NAME.jsonl` is judged, and the
//! result must equal `NAME.txt`. Captures whose names begin with `clean` break no rule and exercise every
//! check.
//!
//! `UPDATE=1 cargo test --test captures` rewrites the texts; review the changes.

#![expect(clippy::unwrap_used, reason = "helpers of a test fail by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use ahp_harness::oracle::CHECKS;
use ahp_harness::report::event::FindingLine;
use ahp_harness::report::redact::{MARK, SecretRedactor};
use ahp_harness::report::replay::judge;
use ahp_harness::report::summary::{CheckTotal, word};
use ahp_harness::verdict::FailOn;
use regex_lite::Regex;

/// Judges every capture and returns its path and the results of the checks.
fn judged() -> Vec<(PathBuf, BTreeMap<String, CheckTotal>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus/captures");
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|it| it == "jsonl")).collect();
    paths.sort_unstable();
    let judge = |path: PathBuf| {
        let text = fs::read(&path).unwrap();
        let judged = judge(text.as_slice(), None, FailOn::default()).unwrap();
        assert_eq!(judged.notes, Vec::<String>::new(), "{}", path.display());
        (path, judged.summary.checks.into_iter().collect())
    };
    paths.into_iter().map(judge).collect()
}

/// Formats the findings: the check, the weight and the lines of each finding, then the sentence and the
/// difference.
fn said(checks: &BTreeMap<String, CheckTotal>) -> String {
    let mut text = String::new();
    for (id, total) in checks {
        let shown: u64 = total.shown.iter().map(|(_, finding)| finding.times).sum();
        assert_eq!(total.findings, shown, "{id}: too many for a small capture");
        for (_, finding) in &total.shown {
            let lines: Vec<String> = finding.transcript.iter().map(u64::to_string).collect();
            let weight = word(finding.weight);
            writeln!(text, "{id} {weight} {}\n  {}", lines.join(" "), finding.message.raw())
                .unwrap();
            for line in finding.diff.iter().flat_map(|diff| diff.raw().lines()) {
                writeln!(text, "  {line}").unwrap();
            }
        }
    }
    text
}

#[test]
fn every_capture_has_the_findings_in_its_text_file() {
    for (path, checks) in judged() {
        let (beside, said) = (path.with_extension("txt"), said(&checks));
        if std::env::var_os("UPDATE").is_some() {
            fs::write(&beside, &said).unwrap();
        }
        let kept = fs::read_to_string(&beside).unwrap_or_default();
        let clean = path.file_name().unwrap().to_string_lossy().starts_with("clean");
        assert_eq!(kept, said, "{}", path.display());
        assert_eq!(said.is_empty(), clean, "{}\n{said}", path.display());
    }
}

/// Checks that redaction with numbered marks changes no verdict: checks, weights and lines stay the same.
#[test]
fn redacted_captures_have_the_same_findings() {
    let patterns = ["^[a-z]+[0-9]+$", "^[A-D]$", r"(?i)\b(one|two|three|hello|count|a)\b"];
    let patterns = patterns.iter().map(|pattern| Regex::new(pattern).unwrap()).collect();
    let redactor = SecretRedactor::new([], patterns);
    let mut marks = 0;
    for (path, checks) in judged() {
        let mut text = String::new();
        for line in String::from_utf8_lossy(&fs::read(&path).unwrap()).lines() {
            let mut line = line.to_owned();
            redactor.event(&mut line);
            marks += line.matches(MARK).count();
            text.push_str(&line);
            text.push('\n');
        }
        let redacted = judge(text.as_bytes(), None, FailOn::default()).unwrap().summary.checks;
        let places = |checks: &BTreeMap<String, CheckTotal>| -> Vec<String> {
            let shown =
                checks.iter().flat_map(|(id, total)| total.shown.iter().map(move |it| (id, it)));
            let place = |(id, (_, finding)): (&String, &(String, FindingLine))| {
                format!("{id} {} {:?}", word(finding.weight), finding.transcript)
            };
            shown.map(place).collect()
        };
        let redacted: BTreeMap<String, CheckTotal> = redacted.into_iter().collect();
        assert_eq!(places(&checks), places(&redacted), "{}", path.display());
    }
    assert!(marks > 1_000, "{marks} marks");
}

#[test]
fn every_check_has_a_capture_that_breaks_it_and_one_that_keeps_it() {
    let (mut broken, mut kept) = (BTreeSet::new(), BTreeSet::new());
    for (_, checks) in judged() {
        let clean = checks.values().all(|total| total.findings == 0);
        for (id, total) in checks {
            if total.findings > 0 {
                broken.insert(id);
            } else if clean && total.observations > 0 {
                kept.insert(id);
            }
        }
    }
    for (what, found) in [("breaks", broken), ("keeps", kept)] {
        let without: Vec<&str> =
            CHECKS.iter().map(|row| row.id).filter(|id| !found.contains(*id)).collect();
        assert_eq!(without, Vec::<&str>::new(), "no capture {what} these");
    }
}
