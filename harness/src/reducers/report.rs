//! What holding a subject against our reducers has brought: plain data, its lines of JSON, and the
//! vector files of what was found.
//!
//! Knows: cases, verdicts. Never knows: files, terminals, how a case was found.
//!
//! Start at [`SubjectReport`].

use litemap::LiteMap;

use crate::wire::json::{Value, json};

use super::case::{CaseDisagreement, DisagreementKind, ReducerCase, say};
use crate::verdict::Status;
use crate::wire::version::Version;

/// The format of the lines of JSON; see `REDUCERS.md`.
pub const FORMAT: u32 = 1;

/// Everything there is to say about a subject.
#[derive(Clone, Debug)]
pub struct SubjectReport {
    /// The protocol version.
    pub version: Version,
    /// How the subject is called: its command.
    pub subject: String,
    /// The seed of the generated sequences.
    pub seed: u64,
    /// How many sequences were generated.
    pub sequences: u64,
    /// The vectors of this version, in the order of their files.
    pub vectors: Vec<VectorResult>,
    /// Agreement over the generated steps, by type of action.
    pub actions: LiteMap<String, AgreementTally>,
    /// Agreement over round trips, by type.
    pub round_trips: LiteMap<String, AgreementTally>,
    /// Types that the subject decodes none of.
    pub unserved: Vec<String>,
    /// What differs, each once, the heaviest first.
    pub findings: Vec<SubjectFinding>,
    /// Why the subject could not be held against anything.
    pub unusable: Option<String>,
    /// Questions that were not asked, since the subject was given up.
    pub unasked: u64,
}

/// How one vector went.
#[derive(Clone, Debug)]
pub struct VectorResult {
    /// Its name.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// Its file.
    pub file: String,
    /// How it went.
    pub status: Status,
    /// Why, where it did not pass.
    pub reason: String,
}

/// How often a subject agreed.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct AgreementTally {
    /// Answers that are ours.
    pub agreed: u64,
    /// Answers that differ where the specification is open.
    pub open: u64,
    /// All answers.
    pub total: u64,
}

/// One way in which a subject differs.
#[derive(Clone, Debug)]
pub struct SubjectFinding {
    /// What tells it apart from others, in baselines too.
    pub key: String,
    /// What it weighs.
    pub status: Status,
    /// How it differs, in its smallest case.
    pub what: CaseDisagreement,
    /// Its smallest case.
    pub case: ReducerCase,
    /// How often it was seen.
    pub seen: u64,
    /// The vectors that show it.
    pub vectors: Vec<String>,
    /// The readings, where the specification is open.
    pub readings: Vec<String>,
    /// Why it is known, where a baseline says so.
    pub known: Option<String>,
}

impl AgreementTally {
    /// Counts an answer.
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
    /// What a disagreement weighs by itself.
    pub fn weigh(what: &CaseDisagreement) -> Status {
        match what.kind {
            _ if what.open.is_some() => Status::Note,
            DisagreementKind::Outcome => Status::Warn,
            _ => Status::Fail,
        }
    }

    /// One sentence: what differs, and where.
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
                format!("{action}: asked twice, `{path}` is another")
            }
            (None, DisagreementKind::Outcome) => {
                format!("actions are said to be {path}, such as {action}")
            }
            (None, DisagreementKind::Lost) => {
                format!("{action}: decoding and encoding do not keep `{path}`")
            }
        }
    }
}

impl SubjectReport {
    /// The findings of a status.
    pub fn of_status(&self, status: Status) -> impl Iterator<Item = &SubjectFinding> {
        self.findings.iter().filter(move |finding| finding.status == status)
    }

    /// Whether the subject is at fault somewhere.
    pub fn failed(&self) -> bool {
        self.unasked > 0 || self.of_status(Status::Fail).next().is_some()
    }

    /// The report as lines of JSON; `exit` is the code that the program ends with.
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

    /// The minimal case of a finding as a vector file: its name and text. `None` for what is no
    /// reducer's case: a round trip, or a value alone.
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

/// An outcome as vector files spell it.
fn spelled(outcome: &crate::model::ActionOutcome) -> Value {
    use crate::model::ActionOutcome;
    match outcome {
        ActionOutcome::Applied | ActionOutcome::OutOfScope => json!(say(outcome)),
        ActionOutcome::NoOp(why) => json!({"noop": why.reason()}),
        ActionOutcome::Invalid { path, .. } => json!({"invalid": path}),
    }
}

/// A status in a word, in small letters.
fn word(status: Status) -> String {
    status.word().to_lowercase()
}

/// A text on one line.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// A key as a name of a file: `state chat/delta /a/*/b` becomes `state-chat-delta-a-b`.
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
    fn what_is_found_is_a_vector_file() {
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
