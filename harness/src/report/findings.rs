//! The report on a subject (a reducer implementation) for its maintainers, in Markdown: each defect with its smallest
//! case, then the open points, then the figures.
//!
//! Knows: the report of `reducers` and the known defects. Never knows: files, the source of the report.
//!
//! Start at [`markdown`].

use std::fmt::Write as _;

use litemap::LiteMap;

use crate::reducers::case::DisagreementKind;
use crate::reducers::defects::{SubjectDefect, SubjectDefects};
use crate::reducers::report::{AgreementTally, SubjectFinding, SubjectReport};
use crate::verdict::Status;
use crate::wire::json::json;

/// Formats the whole report. `command` is the command line that produces the report.
pub fn markdown(report: &SubjectReport, defects: &SubjectDefects, command: &str) -> String {
    let mut out = String::new();
    let name = defects.subject(report.version);
    let name = name.unwrap_or_else(|| format!("`{}` against {}", report.subject, report.version));
    let blamed: Vec<&SubjectFinding> =
        report.findings.iter().filter(|finding| finding.status != Status::Note).collect();
    let of = |defect: &SubjectDefect| -> Vec<&SubjectFinding> {
        let behind = |finding: &SubjectFinding| defects.behind(finding).map(|other| &other.id);
        blamed.iter().copied().filter(|finding| behind(finding) == Some(&defect.id)).collect()
    };
    let found: Vec<(&SubjectDefect, Vec<&SubjectFinding>)> = defects
        .all
        .iter()
        .map(|defect| (defect, of(defect)))
        .filter(|(_, findings)| !findings.is_empty())
        .collect();
    let _ = writeln!(out, "# {name}\n\n```\n{command}\n```\n\n{}\n", figures(report, &found));
    out.push_str("## Findings\n\n");
    for (defect, findings) in &found {
        let SubjectDefect { title, what, decides, means, remedy, .. } = defect;
        let _ = writeln!(out, "### {title}\n\n{what}\n\n**Decides:** {decides}\n");
        let _ = writeln!(out, "**Means for users:** {means}\n\n**Remedy:** {remedy}\n");
        cases(&mut out, findings);
    }
    let others: Vec<&SubjectFinding> =
        blamed.iter().copied().filter(|finding| defects.behind(finding).is_none()).collect();
    if !others.is_empty() {
        out.push_str("### Not laid to a defect\n\n");
        others.iter().for_each(|finding| case(&mut out, finding));
    }
    open_points(&mut out, report);
    agreement(&mut out, report);
    if !report.unserved.is_empty() {
        let names: Vec<String> = report.unserved.iter().map(|name| format!("`{name}`")).collect();
        let _ = writeln!(out, "\nThe subject has no type of these names: {}.", names.join(", "));
    }
    out
}

/// Formats the figures of the run.
fn figures(report: &SubjectReport, found: &[(&SubjectDefect, Vec<&SubjectFinding>)]) -> String {
    let vectors = |statuses: &[Status]| {
        report.vectors.iter().filter(|vector| statuses.contains(&vector.status)).count()
    };
    let unasked = match vectors(&[Status::Untested]) {
        0 => String::new(),
        unasked => format!(", {unasked} not asked"),
    };
    let sum = |rows: &LiteMap<String, AgreementTally>| {
        let [mut agreed, mut open, mut total] = [0; 3];
        for tally in rows.values() {
            agreed += tally.agreed;
            open += tally.open;
            total += tally.total;
        }
        (agreed, open, total - agreed - open, total)
    };
    let (agree, open, differ, steps) = sum(&report.actions);
    let (kept, free, lost, values) = sum(&report.round_trips);
    let blamed = |finding: &&SubjectFinding| matches!(finding.status, Status::Fail | Status::Known);
    let kinds = report.findings.iter().filter(blamed).count();
    let behind = found.iter().filter(|(_, findings)| findings.iter().any(blamed)).count();
    format!(
        "{} vectors: {} pass, {} fail, {} are warnings, {} are open{unasked}. Generated steps: \
         {agree} of {steps} agree, {open} differ where the specification is open, {differ} are \
         disagreements. Round trips: {kept} of {values} values come back unchanged, {free} \
         differ where the specification is open, {lost} lost something else. {kinds} kinds of disagreement come \
         from the {behind} defects below.",
        report.vectors.len(),
        vectors(&[Status::Pass]),
        vectors(&[Status::Fail, Status::Known]),
        vectors(&[Status::Warn]),
        vectors(&[Status::Note]),
    )
}

/// Formats the smallest case of a defect, and the keys of the other cases.
fn cases(out: &mut String, findings: &[&SubjectFinding]) {
    let mut findings = findings.to_vec();
    findings.sort_unstable_by_key(|finding| (question(finding).len(), &finding.key));
    let Some((smallest, others)) = findings.split_first() else { return };
    out.push_str("Smallest case: ");
    case(out, smallest);
    if !others.is_empty() {
        let keys: Vec<String> = others.iter().map(|other| format!("`{}`", other.key)).collect();
        let _ = writeln!(out, "Also as: {}.\n", keys.join(", "));
    }
}

fn case(out: &mut String, finding: &SubjectFinding) {
    let SubjectFinding { key, seen, what, .. } = finding;
    let (ours, theirs) = (&what.ours, &what.theirs);
    let times = if *seen == 1 { "once".to_owned() } else { format!("{seen} times") };
    let _ = writeln!(out, "`{key}`, seen {times}: ours `{ours}`, the subject's `{theirs}`\n");
    let _ = writeln!(out, "```json\n{}\n```\n", question(finding));
}

/// Returns the question that the subject was asked in a case, without the id of the question, which differs between
/// runs.
fn question(finding: &SubjectFinding) -> String {
    let SubjectFinding { what, case, .. } = finding;
    if what.kind == DisagreementKind::Lost {
        return json!({"op": "roundtrip", "type": what.action, "value": case.state}).to_string();
    }
    let reducer = case.channel.reducer_name();
    json!({"reducer": reducer, "state": case.state, "actions": case.actions}).to_string()
}

fn open_points(out: &mut String, report: &SubjectReport) {
    out.push_str("## Open points\n\nA note is an open point of the specification, not a defect of the subject.\n\n");
    for finding in report.of_status(Status::Note) {
        let point = finding.key.strip_prefix("open ").unwrap_or(&finding.key);
        let (seen, title) = (finding.seen, finding.title());
        let _ = write!(out, "- `{point}` ({seen}): {title}");
        if !finding.readings.is_empty() {
            let _ = write!(out, ". Readings: {}", finding.readings.join("; "));
        }
        out.push('\n');
    }
}

/// Formats two tables: how often the subject and the harness agree for each type of action, and for each type that
/// loses data in a round trip.
fn agreement(out: &mut String, report: &SubjectReport) {
    let row = |out: &mut String, name: &str, tally: &AgreementTally| {
        let AgreementTally { agreed, open, total } = tally;
        let differ = total - agreed - open;
        let _ = writeln!(out, "| `{name}` | {agreed} | {open} | {differ} | {total} |");
    };
    out.push_str("\n## Agreement by action\n\n| action | agree | open | differ | of |\n");
    out.push_str("|---|---|---|---|---|\n");
    report.actions.iter().for_each(|(name, tally)| row(out, name, tally));
    out.push_str(
        "\n## Round trips\n\n| type | agree | open | lost | of |\n|---|---|---|---|---|\n",
    );
    let (whole, partly): (Vec<_>, Vec<_>) =
        report.round_trips.iter().partition(|(_, tally)| tally.agreed == tally.total);
    partly.into_iter().for_each(|(name, tally)| row(out, name, tally));
    let _ = writeln!(out, "| {} others | all | | | |", whole.len());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reducers::case::{CaseDisagreement, ReducerCase};
    use crate::reducers::report::VectorResult;
    use crate::wire::channel::ChannelKind;
    use crate::wire::version::Version;

    fn finding(
        kind: DisagreementKind,
        action: &str,
        path: &str,
        known: Option<&str>,
    ) -> SubjectFinding {
        let state = json!({"title": "a"});
        let what = CaseDisagreement {
            kind,
            action: action.to_owned(),
            path: path.to_owned(),
            ours: "\"b\"".to_owned(),
            theirs: "nothing".to_owned(),
            open: None,
        };
        SubjectFinding {
            key: what.key(),
            status: SubjectFinding::weigh(&what),
            case: ReducerCase {
                channel: ChannelKind::Session,
                state,
                actions: vec![json!({"type": action, "title": path})],
                now: 0,
            },
            what,
            seen: 2,
            vectors: Vec::new(),
            readings: Vec::new(),
            known: known.map(str::to_owned),
        }
    }

    fn report() -> SubjectReport {
        let known = |path: &str| {
            let mut finding =
                finding(DisagreementKind::State, "session/x", path, Some("first: known"));
            finding.status = Status::Known;
            finding
        };
        let mut open = finding(DisagreementKind::State, "session/y", "/y", None);
        open.key = "open y".to_owned();
        open.status = Status::Note;
        open.readings = vec!["this".to_owned(), "that".to_owned()];
        let mut lost = finding(DisagreementKind::Lost, "Turn", "/id", None);
        lost.seen = 1;
        let vector = |status: Status| VectorResult {
            name: "v".to_owned(),
            title: "t".to_owned(),
            file: "f".to_owned(),
            status,
            reason: String::new(),
        };
        let tally = |agreed: u64, open: u64, total: u64| AgreementTally { agreed, open, total };
        let rows = [("session/x", tally(1, 2, 5)), ("session/z", tally(4, 0, 4))];
        SubjectReport {
            version: Version::new(0, 5, 0),
            subject: "s".to_owned(),
            seed: 1,
            sequences: 2,
            vectors: [Status::Pass, Status::Known, Status::Untested].map(vector).into(),
            actions: rows.map(|(name, tally)| (name.to_owned(), tally)).into_iter().collect(),
            round_trips: [("Turn".to_owned(), tally(2, 0, 3))].into_iter().collect(),
            unserved: vec!["Moon".to_owned()],
            findings: vec![
                known("/longer"),
                known("/b"),
                lost,
                finding(DisagreementKind::Outcome, "session/x", "applied, not noop", None),
                open,
            ],
            unusable: None,
            unasked: 0,
        }
    }

    const DEFECTS: &str = "
subject: The subject that speaks {spec}
defects:
  - { id: first, title: First, what: W1., decides: D1., means: M1., remedy: R1. }
  - { id: never, title: Never, what: W2., decides: D2., means: M2., remedy: R2. }
  - { id: said, title: Said, what: W3., decides: D3., means: M3., remedy: R3., keys: [outcome *] }
";

    const WRITTEN: &str = r#"# The subject that speaks 0.5.0

```
the command
```

3 vectors: 1 pass, 1 fail, 0 are warnings, 0 are open, 1 not asked. Generated steps: 5 of 9 agree, 2 differ where the specification is open, 2 are disagreements. Round trips: 2 of 3 values come back unchanged, 0 differ where the specification is open, 1 lost something else. 3 kinds of disagreement come from the 1 defects below.

## Findings

### First

W1.

**Decides:** D1.

**Means for users:** M1.

**Remedy:** R1.

Smallest case: `state session/x /b`, seen 2 times: ours `"b"`, the subject's `nothing`

```json
{"reducer":"session","state":{"title":"a"},"actions":[{"type":"session/x","title":"/b"}]}
```

Also as: `state session/x /longer`.

### Said

W3.

**Decides:** D3.

**Means for users:** M3.

**Remedy:** R3.

Smallest case: `outcome applied, not noop`, seen 2 times: ours `"b"`, the subject's `nothing`

```json
{"reducer":"session","state":{"title":"a"},"actions":[{"type":"session/x","title":"applied, not noop"}]}
```

### Not laid to a defect

`lost Turn /id`, seen once: ours `"b"`, the subject's `nothing`

```json
{"op":"roundtrip","type":"Turn","value":{"title":"a"}}
```

## Open points

A note is an open point of the specification, not a defect of the subject.

- `y` (2): session/y: `/y` is another, and the specification is open there. Readings: this; that

## Agreement by action

| action | agree | open | differ | of |
|---|---|---|---|---|
| `session/x` | 1 | 2 | 2 | 5 |
| `session/z` | 4 | 0 | 0 | 4 |

## Round trips

| type | agree | open | lost | of |
|---|---|---|---|---|
| `Turn` | 2 | 0 | 1 | 3 |
| 0 others | all | | | |

The subject has no type of these names: `Moon`.
"#;

    #[test]
    fn a_report_for_maintainers() {
        let defects = SubjectDefects::parse("d.yaml", DEFECTS).unwrap();
        assert_eq!(markdown(&report(), &defects, "the command"), WRITTEN);
    }

    #[test]
    fn without_a_list_of_defects_nothing_is_assigned_to_one() {
        let written = markdown(&report(), &SubjectDefects::default(), "c");
        assert!(written.starts_with("# `s` against 0.5.0\n"), "{written}");
        assert!(!written.contains("Smallest case") && written.contains("### Not laid to a defect"));
    }
}
