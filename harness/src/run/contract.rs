//! Turns the vectors of the contract for test providers (`contract/vectors.json`) into scenarios.
//!
//! Each vector becomes a scenario of `next` steps on the chat's channel. The step after an optional action is an
//! `expect`, which skips other messages. A vector may have lanes: lists of actions that may interleave in any order.
//! The first client observes the actions that introduce a name, such as the start of a tool call, and one client per
//! lane observes the other actions of the lane.
//!
//! Knows: the vectors, the scenario language. Never knows: hosts, the presentation of results.
//!
//! Start at [`vectors`].

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde::Deserialize;

use crate::agent::script::HEADER;
use crate::wire::built_in::built_in;
use crate::wire::json::Value;

use super::play::ScenarioVerdict;
use super::suite::{CarriedFiles, ScenarioSuite, SuiteEntry};

/// The content of the vectors file.
const VECTORS: &str = include_str!("../../contract/vectors.json");
/// The supported format version of the vectors file.
const FORMAT: u64 = 2;
/// The requirement that all claims of a vector name. It has no meaning here: a claim must name a requirement that
/// exists in every version, and breaches of this requirement are not reported.
const PROVES: &str = "proves: chat.turn.start-echo";

/// A vector of the contract.
#[derive(Clone, Debug)]
pub struct ContractVector {
    /// The behaviour that the vector demonstrates.
    pub name: String,
    /// The lines of the script, without the header line.
    pub script: Vec<String>,
    /// The actions that the client dispatches and the expected actions, in order.
    pub steps: Vec<VectorStep>,
    /// The vector as the text of a scenario.
    pub text: String,
}

/// A step of a vector.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum VectorStep {
    /// The client dispatches an action of this type.
    In(String),
    /// An action of this type arrives, with at least the members of the vector.
    Out(String),
    /// The client observes that no further response part arrives.
    End,
}

/// The result of one step of a vector.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum StepResult {
    /// The expected action arrived.
    Held,
    /// Another action arrived, or no action arrived. The string describes the expected and the actual action in one
    /// line.
    Broken(String),
    /// The step was not tested. The string is the reason; it is empty if the failure of an earlier step is the reason.
    Untested(String),
    /// The client dispatched the action.
    Done,
}

impl StepResult {
    /// Returns whether the step was tested and did not fail.
    pub fn is_well(&self) -> bool {
        matches!(self, StepResult::Held | StepResult::Done)
    }
}

/// The file of the vectors.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ContractFile {
    format: u64,
    #[serde(rename = "doc")]
    _doc: String,
    vectors: Vec<ContractRow>,
}

/// A vector in the form of the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ContractRow {
    name: String,
    script: Vec<String>,
    /// The actions that the client dispatches before it starts the turn.
    #[serde(default)]
    before: Vec<Value>,
    steps: Vec<Value>,
}

/// Returns all vectors.
pub fn vectors() -> Vec<ContractVector> {
    let file: ContractFile = built_in("contract/vectors.json", serde_json::from_str(VECTORS));
    let known = match file.format {
        FORMAT => Ok(file.vectors),
        other => Err(format!("expected vectors of format {FORMAT}, found {other}")),
    };
    built_in("contract/vectors.json", known).into_iter().map(ContractVector::of).collect()
}

impl ContractVector {
    fn of(row: ContractRow) -> ContractVector {
        let ContractRow { name, script, before, steps } = row;
        let mut writing = StepWriter::default();
        before.iter().for_each(|step| writing.dispatch(step));
        let prompt = std::iter::once(HEADER).chain(script.iter().map(String::as_str));
        let prompt = Value::from(prompt.collect::<Vec<_>>().join("\n")).to_text();
        let _ = writeln!(writing.text, "  - turn: {{ by: A, id: t1, text: {prompt} }}");
        writing.steps.push(VectorStep::In("chat/turnStarted".to_owned()));
        for step in &steps {
            match step["lanes"].as_array() {
                Some(lanes) => writing.lanes(lanes),
                None => writing.step(step, "A"),
            }
        }
        let _ = writeln!(
            writing.text,
            "  - never: {{ at: A, type: chat/responsePart, {PROVES} }}\n  - barrier: A"
        );
        writing.steps.push(VectorStep::End);
        let mut clients = vec!["A".to_owned()];
        clients.extend((1..=writing.followers).map(follower));
        let clients = clients.join(", ");
        let text = format!(
            "scenario: contract/vector\ntitle: {}\nclients: [{clients}]\nsteps:\n  - open: {{ by: [{clients}] }}\n{}",
            Value::from(name.as_str()).to_text(),
            writing.text
        );
        ContractVector { name, script, steps: writing.steps, text }
    }

    /// Returns the scenario, ready to be played.
    ///
    /// # Errors
    /// Returns all mistakes in the scenario; a test ensures that there are none.
    pub fn entry(&self) -> Result<SuiteEntry, String> {
        let file = ("contract/vector.yaml".to_owned(), self.text.clone());
        let mut suite = ScenarioSuite::of([file], &CarriedFiles);
        let mistakes = suite.broken.iter().flat_map(|loaded| &loaded.errors);
        let mistakes: Vec<_> = mistakes.map(ToString::to_string).collect();
        let why = || format!("the vector `{}` does not load: {}", self.name, mistakes.join("; "));
        suite.entries.pop().ok_or_else(why)
    }

    /// Returns the result of each step, from the verdict about the played scenario.
    pub fn results(&self, verdict: &ScenarioVerdict) -> Vec<StepResult> {
        let mut claims = verdict.claims.iter().map(|claim| &claim.outcome);
        let result = |step: &VectorStep| {
            if matches!(step, VectorStep::In(_)) {
                return StepResult::Done;
            }
            match claims.next() {
                None => StepResult::Untested(verdict.reason.clone()),
                Some(claim) => match &claim.failure {
                    Some(failure) => {
                        StepResult::Broken(format!("{} ({})", failure.message, failure.label))
                    }
                    None if claim.untested.is_empty() => StepResult::Held,
                    // The reason is the failure of an earlier step, which is reported there.
                    None if claim.follows => StepResult::Untested(String::new()),
                    None => StepResult::Untested(claim.untested.clone()),
                },
            }
        };
        self.steps.iter().map(result).collect()
    }
}

/// Returns the name of the client that follows a lane.
fn follower(lane: usize) -> String {
    format!("lane{lane}")
}

/// A writer of a scenario's steps.
#[derive(Default)]
struct StepWriter {
    text: String,
    steps: Vec<VectorStep>,
    /// The names that earlier steps bind.
    bound: BTreeSet<String>,
    /// Whether other messages may arrive before the message that the first client's next step expects.
    loose: bool,
    /// The number of clients that follow lanes.
    followers: usize,
}

impl StepWriter {
    fn step(&mut self, step: &Value, at: &str) {
        if step["maybe"] == true {
            self.loose = true;
        } else if step.get("out").is_some() {
            self.out(&step["out"], at);
        } else {
            self.dispatch(step);
        }
    }

    /// Writes the steps of parallel lanes. The first client observes steps that introduce a name; one client
    /// per lane observes the other steps.
    fn lanes(&mut self, lanes: &[Value]) {
        let lanes: Vec<&Vec<Value>> = lanes.iter().filter_map(Value::as_array).collect();
        self.followers = self.followers.max(lanes.len());
        let longest = lanes.iter().map(|lane| lane.len()).max().unwrap_or_default();
        self.loose = true;
        for at in 0..longest {
            for (lane, steps) in lanes.iter().enumerate() {
                let Some(step) = steps.get(at).filter(|step| step["maybe"] != true) else {
                    continue;
                };
                let client = match names(&step["out"]).is_subset(&self.bound) {
                    true => follower(lane + 1),
                    false => "A".to_owned(),
                };
                self.loose = true;
                self.step(step, &client);
            }
        }
        self.loose = true;
    }

    fn dispatch(&mut self, step: &Value) {
        let (on, action) = (step["on"].as_str().unwrap_or("chat"), written(&step["in"], false));
        let _ = writeln!(
            self.text,
            "  - dispatch: {{ by: A, channel: \"${{{on}}}\", action: {action} }}"
        );
        self.steps.push(VectorStep::In(type_of(&step["in"])));
    }

    fn out(&mut self, action: &Value, at: &str) {
        let verb = if self.loose { "expect" } else { "next" };
        let (kind, wanted) = (action["type"].to_text(), written(action, true));
        let _ = writeln!(
            self.text,
            "  - {verb}: {{ at: {at}, channel: \"${{chat}}\", type: {kind}, where: {{ action: {wanted} }}, {PROVES} }}"
        );
        self.loose = false;
        self.bound.extend(names(action));
        self.steps.push(VectorStep::Out(type_of(action)));
    }
}

fn type_of(action: &Value) -> String {
    action["type"].as_str().unwrap_or_default().to_owned()
}

/// Returns the names in a value, except for the client's own name.
fn names(value: &Value) -> BTreeSet<String> {
    match value {
        Value::String(text) => {
            let name = text.strip_prefix('$').filter(|name| *name != "client");
            name.map(str::to_owned).into_iter().collect()
        }
        Value::Array(items) => items.iter().flat_map(names).collect(),
        Value::Object(members) => members.iter().flat_map(|(_, value)| names(value)).collect(),
        _ => BTreeSet::new(),
    }
}

/// Returns a value in the syntax of the scenario language. `$name` binds the name in expected values and uses the name
/// in sent values. Null becomes `$absent`.
fn written(value: &Value, expected: bool) -> String {
    match value {
        Value::Null => "$absent".to_owned(),
        Value::String(text) => match text.strip_prefix('$') {
            Some("client") => "\"${A.id}\"".to_owned(),
            Some(name) if expected => format!("$bind {name}"),
            Some(name) => format!("\"${{{name}}}\""),
            None => value.to_text(),
        },
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(|item| written(item, expected)).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(members) => {
            let member =
                |(name, value): (_, &Value)| format!("{name}: {}", written(value, expected));
            let members: Vec<String> = members.iter().map(member).collect();
            format!("{{ {} }}", members.join(", "))
        }
        other => other.to_text(),
    }
}
