//! Tests every check with a capture that breaks its rule: each `corpus/captures/NAME.jsonl` is judged, and the
//! result must equal `NAME.txt`. Captures whose names begin with `clean` break no rule and exercise every check.
//! `corpus/captures/clients` has captures for the checks of clients. In that folder, a capture whose name begins with
//! `kept` follows the rule that the other captures for the same check break.
//!
//! `UPDATE=1 cargo test --test all captures::` rewrites the reports; review the changes.

#![expect(clippy::unwrap_used, reason = "helpers of a test fail by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use ahp_harness::oracle::{CHECKS, CheckRow, JudgedParty, checks_of};
use ahp_harness::report::event::FindingLine;
use ahp_harness::report::judged_subject::JudgedSubject;
use ahp_harness::report::redact::{MARK, SecretRedactor};
use ahp_harness::report::replay::{judge, judge_subject};
use ahp_harness::report::summary::{CheckTotal, word};
use ahp_harness::verdict::FailOn;
use ahp_harness::wire::version::ProtocolStandard;
use regex_lite::Regex;

/// The results of the checks, by the path of the capture.
type JudgedCaptures = Vec<(PathBuf, BTreeMap<String, CheckTotal>)>;

/// Judges every capture of the host and returns its path and the results of the checks.
fn judged() -> JudgedCaptures {
    judged_in("captures", &JudgedSubject::default())
}

/// Judges one party of every capture in a folder of the corpus.
fn judged_in(folder: &str, subject: &JudgedSubject) -> JudgedCaptures {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus").join(folder);
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|it| it == "jsonl")).collect();
    paths.sort_unstable();
    let judge = |path: PathBuf| {
        let text = fs::read(&path).unwrap();
        let judged = judge_subject(text.as_slice(), None, FailOn::default(), subject).unwrap();
        assert_eq!(judged.notes, Vec::<String>::new(), "{}", path.display());
        (path, judged.summary.checks.into_iter().collect())
    };
    paths.into_iter().map(judge).collect()
}

/// Formats the findings: for each finding the check, the weight and the lines, followed by its message and the
/// difference of states.
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
    expect_findings(judged(), "clean");
}

#[test]
fn every_capture_of_clients_has_the_findings_in_its_text_file() {
    expect_findings(judged_in("captures/clients", &JudgedSubject::clients(None)), "kept");
}

/// Expects the findings in the text file of each capture, and no finding in captures whose names begin with `clean`.
fn expect_findings(judged: JudgedCaptures, clean: &str) {
    for (path, checks) in judged {
        let (beside, said) = (path.with_extension("txt"), said(&checks));
        if std::env::var_os("UPDATE").is_some() {
            fs::write(&beside, &said).unwrap();
        }
        let kept = fs::read_to_string(&beside).unwrap_or_default();
        let clean = path.file_name().unwrap().to_string_lossy().starts_with(clean);
        assert_eq!(kept, said, "{}", path.display());
        assert_eq!(said.is_empty(), clean, "{}\n{said}", path.display());
    }
}

/// Checks that redaction with numbered marks does not change a verdict: checks, weights and lines stay the same.
#[test]
fn redacted_captures_have_the_same_findings() {
    for (path, before, after) in
        redacted(&["^[a-z]+[0-9]+$", "^[A-D]$", r"(?i)\b(one|two|three|hello|count|a)\b"])
    {
        assert_eq!(before, after, "{path}");
    }
}

/// Checks that a redacted capture has no finding that the original does not have, if the patterns also match single
/// deltas of a text, names and values of the protocol, and words that the rules of the model's API read.
#[test]
fn broad_patterns_add_no_finding() {
    let (mut kept, mut lost) = (0, 0);
    for (path, before, after) in redacted(&["(?i)^[a-z]+$", "^[a-z]+/[a-zA-Z]+$", "^[0-9.]+$"]) {
        let added: Vec<&String> = after.iter().filter(|it| !before.contains(it)).collect();
        assert!(added.is_empty(), "{path}: {added:?}");
        kept += after.len();
        lost += before.len() - after.len();
    }
    assert!(lost * 20 < kept, "{kept} findings are kept, {lost} are lost");
}

/// Judges every capture before and after redaction with these patterns. Returns each path with both lists of findings:
/// check, weight and lines.
fn redacted(patterns: &[&str]) -> Vec<(String, Vec<String>, Vec<String>)> {
    let patterns = patterns.iter().map(|pattern| Regex::new(pattern).unwrap()).collect();
    let redactor = SecretRedactor::new([], patterns);
    let mut marks = 0;
    let mut results = Vec::new();
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
        results.push((path.display().to_string(), places(&checks), places(&redacted)));
    }
    assert!(marks > 1_000, "{marks} marks");
    results
}

#[test]
fn every_check_has_a_capture_that_breaks_it_and_one_that_keeps_it() {
    expect_both(judged(), CHECKS);
    let of_clients = checks_of(ProtocolStandard::Ahp, JudgedParty::Clients);
    expect_both(judged_in("captures/clients", &JudgedSubject::clients(None)), of_clients);
}

/// Expects that each check reports a finding for at least one capture, and observes another capture without a finding.
fn expect_both(judged: JudgedCaptures, rows: &[CheckRow]) {
    let (mut broken, mut kept) = (BTreeSet::new(), BTreeSet::new());
    for (_, checks) in &judged {
        let clean = checks.values().all(|total| total.findings == 0);
        for (id, total) in checks {
            if total.findings > 0 {
                broken.insert(id.as_str());
            } else if clean && total.observations > 0 {
                kept.insert(id.as_str());
            }
        }
    }
    for (what, found) in [("breaks", broken), ("keeps", kept)] {
        let without: Vec<&str> =
            rows.iter().map(|row| row.id).filter(|id| !found.contains(*id)).collect();
        assert_eq!(without, Vec::<&str>::new(), "no capture {what} these");
    }
}
