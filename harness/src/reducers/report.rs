//! The result of comparing a subject (a tested reducer) with the harness's reducers: plain data, its JSON lines, and
//! vector files for the findings.
//!
//! Knows: cases, verdicts. Never knows: files, terminals, the source of a case.
//!
//! Start at [`SubjectReport`].

use litemap::LiteMap;

use crate::wire::json::{Value, json};

use super::case::{CaseDisagreement, DisagreementKind, ReducerCase, say};
use crate::verdict::Status;
use crate::wire::version::Version;

/// The format version of the JSON lines; see `REDUCERS.md`.
pub const FORMAT: u32 = 1;

/// The result of comparing one subject with the harness.
#[derive(Clone, Debug)]
pub struct SubjectReport {
    /// The protocol version.
    pub version: Version,
    /// The name of the subject, which is its command.
    pub subject: String,
    /// The seed of the generated sequences.
    pub seed: u64,
    /// The number of generated sequences.
    pub sequences: u64,
    /// The results of the vectors that apply to this version, in the order of their files.
    pub vectors: Vec<VectorResult>,
    /// The agreement of the subject in the generated steps, by the type of the action.
    pub actions: LiteMap<String, AgreementTally>,
    /// For each type of value, how often the subject decoded and encoded a value without a change.
    pub round_trips: LiteMap<String, AgreementTally>,
    /// The types of which the subject could not decode a single value.
    pub unserved: Vec<String>,
    /// The findings without duplicates, the most severe first.
    pub findings: Vec<SubjectFinding>,
    /// The reason why the subject could not be tested at all.
    pub unusable: Option<String>,
    /// The number of questions that were not asked because the subject failed too often.
    pub unasked: u64,
}

/// The result of one vector.
#[derive(Clone, Debug)]
pub struct VectorResult {
    /// The name of the vector.
    pub name: String,
    /// The title of the vector.
    pub title: String,
    /// The file of the vector.
    pub file: String,
    /// The status of the vector.
    pub status: Status,
    /// The reason, if the vector did not pass.
    pub reason: String,
}

/// The numbers of answers of a subject that agree and that do not agree.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct AgreementTally {
    /// The number of answers that equal the harness's answer.
    pub agreed: u64,
    /// The number of answers that differ at an open point of the specification.
    pub open: u64,
    /// The number of all answers of the subject.
    pub total: u64,
}

/// A finding: one way in which a subject differs from the harness.
#[derive(Clone, Debug)]
pub struct SubjectFinding {
    /// The key that identifies the finding, also in baselines.
    pub key: String,
    /// The status of the finding.
    pub status: Status,
    /// The difference between the subject and the harness in the smallest case.
    pub what: CaseDisagreement,
    /// The smallest case in which the difference occurs.
    pub case: ReducerCase,
    /// The number of times that the difference occurred.
    pub seen: u64,
    /// The vectors in which the difference occurs.
    pub vectors: Vec<String>,
    /// The possible interpretations, if the difference is an open point of the specification.
    pub readings: Vec<String>,
    /// The reason from the baseline, if the finding is known.
    pub known: Option<String>,
}

impl AgreementTally {
    /// Counts an answer. `found` is the difference between the answer and the harness's answer, if they differ.
    pub fn count(&mut self, found: Option<&CaseDisagreement>) {
        self.total += 1;
        match found {
            None => self.agreed += 1,
            Some(found) if found.kind == DisagreementKind::Outcome => self.agreed += 1,
            Some(found) if found.open.is_some() => self.open += 1,
            Some(_) => {}
        }
    }
}

impl SubjectFinding {
    /// Returns the status of a finding about a disagreement that is not in a baseline.
    pub fn weigh(what: &CaseDisagreement) -> Status {
        match what.kind {
            _ if what.open.is_some() => Status::Note,
            DisagreementKind::Outcome => Status::Warn,
            _ => Status::Fail,
        }
    }

    /// Returns a sentence that describes the difference and its place.
    pub fn title(&self) -> String {
        let CaseDisagreement { action, path, open, .. } = &self.what;
        match (open, self.what.kind) {
            (Some(point), _) => point.title.to_owned(),
            (None, _) if !self.readings.is_empty() => {
                format!("{action}: `{path}` is another, and the specification is open there")
            }
            (None, DisagreementKind::State) => format!("{action}: `{path}` is another"),
            (None, DisagreementKind::Refused) => {
                format!("{action}: the subject refuses it ({path})")
            }
            (None, DisagreementKind::Broken) => {
                format!("{action}: the subject breaks the protocol ({path})")
            }
            (None, DisagreementKind::Unsteady) => {
                format!("{action}: the second answer has another value at `{path}`")
            }
            (None, DisagreementKind::Outcome) => {
                format!("the subject reports actions such as {action} as {path}")
            }
            (None, DisagreementKind::Lost) => {
                format!("{action}: decoding and encoding do not keep `{path}`")
            }
        }
    }
}

impl SubjectReport {
    /// Returns the findings that have this status.
    pub fn of_status(&self, status: Status) -> impl Iterator<Item = &SubjectFinding> {
        self.findings.iter().filter(move |finding| finding.status == status)
    }

    /// Returns whether the subject has a failure.
    pub fn failed(&self) -> bool {
        self.unasked > 0 || self.of_status(Status::Fail).next().is_some()
    }

    /// Returns the report as JSON lines. `exit` is the exit code of the program.
    pub fn lines(&self, exit: u8) -> Vec<Value> {
        let mut lines = vec![json!({
            "line": "header", "format": FORMAT, "harness": env!("CARGO_PKG_VERSION"),
            "spec": self.version.to_string(), "subject": self.subject, "seed": self.seed,
            "sequences": self.sequences,
        })];
        lines.extend(self.vectors.iter().map(|vector| {
            json!({
                "line": "vector", "name": vector.name, "title": vector.title, "file": vector.file,
                "status": word(vector.status), "reason": vector.reason,
            })
        }));
        let tally = |line: &str, (name, tally): (&String, &AgreementTally)| {
            json!({
                "line": line, "name": name, "agreed": tally.agreed, "open": tally.open,
                "total": tally.total,
            })
        };
        lines.extend(self.actions.iter().map(|row| tally("action", row)));
        lines.extend(self.round_trips.iter().map(|row| tally("roundtrip", row)));
        lines.extend(self.findings.iter().map(|finding| self.finding(finding)));
        lines.push(json!({
            "line": "footer", "exit": exit, "unusable": self.unusable, "unasked": self.unasked,
            "unserved": self.unserved,
        }));
        lines
    }

    fn finding(&self, finding: &SubjectFinding) -> Value {
        let SubjectFinding { what, case, .. } = finding;
        json!({
            "line": "disagreement", "key": finding.key, "status": word(finding.status),
            "kind": what.kind.word(), "action": what.action, "path": what.path,
            "title": finding.title(), "ours": what.ours, "theirs": what.theirs,
            "seen": finding.seen, "vectors": finding.vectors, "readings": finding.readings,
            "open": what.open.map(|point| point.id), "known": finding.known,
            "case": self.case(what, case),
        })
    }

    fn case(&self, what: &CaseDisagreement, case: &ReducerCase) -> Value {
        if what.kind == DisagreementKind::Lost {
            return json!({"op": "roundtrip", "type": what.action, "value": case.state});
        }
        json!({
            "reducer": case.channel.reducer_name(), "state": case.state, "actions": case.actions,
            "now": case.now, "expected": case.fold(self.version).state,
        })
    }

    /// Returns the smallest case of a finding as a vector file: its name and text. Returns `None` if the case
    /// needs no reducer: a round trip, or a state without actions.
    pub fn vector_file(&self, finding: &SubjectFinding) -> Option<(String, String)> {
        let SubjectFinding { what, case, .. } = finding;
        if what.kind == DisagreementKind::Lost || case.actions.is_empty() {
            return None;
        }
        let name = slug(&finding.key);
        let reducer = case.channel.reducer_name();
        let folded = case.fold(self.version);
        let outcomes: Vec<Value> = folded.outcomes.iter().map(spelled).collect();
        let actions: Vec<String> =
            case.actions.iter().map(|action| format!("      - {action}\n")).collect();
        let mut text = format!(
            "# {}\n# ours: {}\n# the subject's: {}\nreducer: {reducer}\nspec: {}\nfound: {}\n\
             vectors:\n  - name: {name}\n    title: {}\n    state: {}\n    actions:\n{}    now: {}\n",
            plain(&finding.title()),
            plain(&what.ours),
            plain(&what.theirs),
            json!(format!("={}", self.version)),
            json!(format!("seed {}, subject {}", self.seed, self.subject)),
            json!(finding.title()),
            case.state,
            actions.concat(),
            case.now,
        );
        text.push_str(&format!("    expected: {}\n", folded.state));
        text.push_str(&format!("    outcomes: {}\n", json!(outcomes)));
        if !finding.readings.is_empty() {
            text.push_str(&format!("    open: {}\n", json!(finding.readings)));
        }
        Some((format!("{reducer}-{name}.yaml"), text))
    }
}

/// Formats an outcome in the form that vector files use.
fn spelled(outcome: &crate::model::ActionOutcome) -> Value {
    use crate::model::ActionOutcome;
    match outcome {
        ActionOutcome::Applied | ActionOutcome::OutOfScope => json!(say(outcome)),
        ActionOutcome::NoOp(why) => json!({"noop": why.reason()}),
        ActionOutcome::Invalid { path, .. } => json!({"invalid": path}),
    }
}

/// Returns a status as a lowercase word.
fn word(status: Status) -> String {
    status.word().to_lowercase()
}

/// Returns a string on one line.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Converts the key of a finding to a part of a file name: `state chat/delta /a/*/b` becomes `state-chat-delta-a-b`.
fn slug(key: &str) -> String {
    const LONGEST: usize = 80;
    let mut slug = String::new();
    for c in key.chars() {
        if c.is_ascii_alphanumeric() {
            slug.push(c);
        } else if !slug.ends_with('-') && !slug.is_empty() {
            slug.push('-');
        }
        if slug.len() >= LONGEST {
            break;
        }
    }
    slug.trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reducers::vector::load;
    use crate::wire::channel::ChannelKind;

    #[test]
    fn a_finding_is_written_as_a_vector_file() {
        let case = ReducerCase {
            channel: ChannelKind::Root,
            state: json!({"agents": [], "x: y": "#\n\u{1}é\"'"}),
            actions: vec![json!({"type": "root/activeSessionsChanged", "activeSessions": 1})],
            now: 5,
        };
        let what = CaseDisagreement {
            kind: DisagreementKind::State,
            action: case.label(),
            path: "/activeSessions".to_owned(),
            ours: "1".to_owned(),
            theirs: "nothing\n".to_owned(),
            open: None,
        };
        let finding = SubjectFinding {
            key: what.key(),
            status: Status::Fail,
            what,
            case: case.clone(),
            seen: 1,
            vectors: Vec::new(),
            readings: Vec::new(),
            known: None,
        };
        let report = SubjectReport {
            version: Version::new(1, 0, 0),
            subject: "x: '#".to_owned(),
            seed: 7,
            sequences: 0,
            vectors: Vec::new(),
            actions: LiteMap::new(),
            round_trips: LiteMap::new(),
            unserved: Vec::new(),
            findings: vec![finding],
            unusable: None,
            unasked: 0,
        };
        let (name, text) = report.vector_file(&report.findings[0]).unwrap();
        assert_eq!(name, "root-state-root-activeSessionsChanged-activeSessions.yaml");
        let file = load(&name, &text);
        assert_eq!(file.errors, [], "{text}");
        let vector = &file.vectors[0];
        assert_eq!((&vector.state, &vector.actions), (&case.state, &case.actions));
        assert_eq!(vector.expected, case.fold(report.version).state);
        assert_eq!(vector.now, 5);
        assert_eq!(report.lines(1).len(), 3);
    }
}
