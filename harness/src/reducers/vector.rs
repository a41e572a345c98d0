//! Reads vectors, which are test cases for reducers: a state, actions and the expected result. A YAML file contains
//! many of them.
//!
//! The tables [`FILE`] and [`VECTOR`] define the members of a file and of a vector; the parser and the
//! documentation use them. All mistakes in a file are reported at once, with their places.
//!
//! Knows: the scenario language's nodes and mistakes, the ledger, the reasons for a no-op. Never knows:
//! reducers.
//!
//! Start at [`load`].

use litemap::LiteMap;

use crate::wire::json::Value;

use super::case::ReducerCase;
use super::compare;
use super::pointer;
use crate::ledger::RequirementLedger;
use crate::model::NoOp;
use crate::scenario::forms::{FormField, MemberForm, field, needed};
use crate::scenario::node::{MappingEntry, SourceNode, read};
use crate::scenario::parse::{SpecRange, known_keys, texts, wrong_form};
use crate::scenario::source::{
    ScenarioError, ScenarioErrorKind, SourceFile, SourceSpan, did_you_mean,
};
use crate::wire::channel::ChannelKind;

/// A test case for reducers: a state, actions and the expected result.
#[derive(Clone, Debug, PartialEq)]
pub struct ReducerVector {
    /// The name of the vector, which begins with the name of the reducer: `chat/a-delta-appends`.
    pub name: String,
    /// The title of the vector: the behaviour that it tests, in one sentence.
    pub title: String,
    /// The channel whose reducer is used.
    pub channel: ChannelKind,
    /// The versions to which the vector applies.
    pub spec: SpecRange,
    /// The state before the actions.
    pub state: Value,
    /// The actions, in order.
    pub actions: Vec<Value>,
    /// The time that the reducer's clock shows, in milliseconds since 1970.
    pub now: u64,
    /// The expected state after the actions.
    pub expected: Value,
    /// The expected outcome of each action; empty if the vector does not specify outcomes.
    pub outcomes: Vec<ExpectedResult>,
    /// The possible interpretations, if the specification leaves the result open. A tested reducer with a different
    /// result is then not at fault.
    pub open: Vec<String>,
    /// The requirements that the vector tests.
    pub proves: Vec<String>,
    /// For a vector with an unchanged state: the name of the vector in which the same action has an effect.
    pub twin: Option<String>,
    /// The place of the vector's name in the file, for error messages.
    pub span: SourceSpan,
}

/// The expected outcome of one action.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ExpectedResult {
    /// The action is applied.
    Applied,
    /// The action has no effect on the state, for this reason; see [`crate::model::NoOp::reason`].
    NoOp(String),
    /// The action does not belong to this channel or version.
    OutOfScope,
    /// The action is invalid. The value is the path of the invalid member.
    Invalid(String),
}

/// A file of vectors that was read, with all its mistakes.
#[derive(Debug)]
pub struct VectorFile {
    /// The name and the text of the file.
    pub source: SourceFile,
    /// The vectors without mistakes.
    pub vectors: Vec<ReducerVector>,
    /// The mistakes, in the order of the text.
    pub errors: Vec<ScenarioError>,
}

impl ReducerVector {
    /// Returns whether the vector is about an action that is only an event. Such an action never changes a state, so a
    /// reducer that does nothing is correct.
    pub fn is_of_an_event(&self) -> bool {
        let event = ExpectedResult::NoOp(NoOp::EventOnly.reason().to_owned());
        !self.outcomes.is_empty() && self.outcomes.iter().all(|outcome| *outcome == event)
    }

    /// Returns the state and actions as a case.
    pub fn case(&self) -> ReducerCase {
        ReducerCase {
            channel: self.channel,
            state: self.state.clone(),
            actions: self.actions.clone(),
            now: self.now,
        }
    }
}

/// The clock of a vector without `now`: the value that the official fixtures use.
pub const NOW: u64 = 9999;

/// The members of a vector file.
pub const FILE: &[FormField] = &[
    needed("reducer", MemberForm::Text, "the reducer, such as `chat`"),
    field(
        "spec",
        MemberForm::Text,
        "the versions that the vectors of the file apply to, such as `\">=0.9.0\"`",
    ),
    field("found", MemberForm::Text, "the run that found these vectors; such vectors need no twin"),
    field("states", MemberForm::Template, "states that several vectors start from, by name"),
    needed("vectors", MemberForm::Template, "the vectors"),
];

/// The members of a vector's state that is derived from the state of another vector.
const DERIVED: &[FormField] = &[
    needed("from", MemberForm::Text, "the state from which this state is derived"),
    needed(
        "set",
        MemberForm::Template,
        "the changes to that state: pointers with their new values",
    ),
];

/// The members of a vector.
pub const VECTOR: &[FormField] = &[
    needed("name", MemberForm::Text, "the name of the vector, which is unique for the reducer"),
    needed("title", MemberForm::Text, "the behaviour that the vector tests, in one sentence"),
    field(
        "spec",
        MemberForm::Text,
        "the versions that the vector applies to, instead of the versions of the file",
    ),
    field("proves", MemberForm::Texts, "the requirements that the vector tests"),
    needed(
        "state",
        MemberForm::Template,
        "the state before the actions: the name of a state, or the whole state",
    ),
    field("set", MemberForm::Template, "the changes to that state: pointers with their new values"),
    needed("actions", MemberForm::Template, "the actions, in order"),
    field("now", MemberForm::Count, "the clock in milliseconds since 1970, by default 9999"),
    field("expected", MemberForm::Template, "the whole state after the actions, or `unchanged`"),
    field(
        "changes",
        MemberForm::Template,
        "the changes that the actions make: pointers with their new values",
    ),
    field("outcomes", MemberForm::Template, "the outcome of each action"),
    field(
        "open",
        MemberForm::Texts,
        "the possible interpretations, if the specification leaves the result open",
    ),
    field("twin", MemberForm::Text, "the vector in which the same action takes effect"),
];

/// The vector files of the repository that are part of the program, each with its path and its text.
const CARRIED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/vectors.rs"));

/// Returns the vectors that are built into the binary.
pub fn carried() -> Vec<VectorFile> {
    let mut files: Vec<_> = CARRIED.iter().map(|(path, text)| load(path, text)).collect();
    unique(&mut files);
    files
}

/// Returns whether a file is a vector file and not a scenario.
pub fn is_vectors(path: &str, text: &str) -> bool {
    let (root, _) = read(&SourceFile::new(path, text), 0);
    root.is_some_and(|root| root.get("reducer").is_some() || root.get("vectors").is_some())
}

/// Reads one vector file.
pub fn load(path: &str, text: &str) -> VectorFile {
    let source = SourceFile::new(path, text);
    let (root, errors) = read(&source, 0);
    let mut parser = VectorParser { errors, states: LiteMap::new(), vectors: Vec::new() };
    if let Some(root) = root {
        parser.file(&root);
    }
    let VectorParser { mut errors, vectors, .. } = parser;
    errors.sort_by_key(|error| (error.span.start, error.span.end));
    errors.dedup();
    VectorFile { source, vectors, errors }
}

/// Reports names that occur in two files as mistakes of the later file.
pub fn unique(files: &mut [VectorFile]) {
    let mut seen: LiteMap<String, String> = LiteMap::new();
    for file in files {
        for vector in &file.vectors {
            let other = seen.insert(vector.name.clone(), file.source.name.clone());
            if let Some(other) = other.filter(|other| *other != file.source.name) {
                let id = vector.name.clone();
                let kind = ScenarioErrorKind::DuplicateScenario { id, other };
                file.errors.push(ScenarioError { span: vector.span, kind });
            }
        }
    }
}

struct VectorParser {
    errors: Vec<ScenarioError>,
    states: LiteMap<String, Value>,
    vectors: Vec<ReducerVector>,
}

impl VectorParser {
    fn mistake(&mut self, span: SourceSpan, message: impl Into<String>, hint: &'static str) {
        let kind = ScenarioErrorKind::Vector { message: message.into(), hint };
        self.errors.push(ScenarioError { span, kind });
    }

    fn file(&mut self, root: &SourceNode) {
        let Some(members) = root.as_map() else {
            return wrong_form(&mut self.errors, root, "a mapping with `reducer` and `vectors`");
        };
        known_keys("a vector file", members, FILE, root.span, &mut self.errors);
        let channel = root.get("reducer").and_then(|node| self.reducer(node));
        let spec = self.spec(root.get("spec"));
        if let Some(states) = root.get("states") {
            self.states(states);
        }
        let Some(vectors) = root.get("vectors") else { return };
        let Some(items) = vectors.as_list() else {
            return wrong_form(&mut self.errors, vectors, "a list of vectors");
        };
        for item in items {
            if let Some(vector) = self.vector(item, channel, &spec) {
                self.vectors.push(vector);
            }
        }
        if root.get("found").is_none() {
            self.twins(items);
        }
    }

    fn reducer(&mut self, node: &SourceNode) -> Option<ChannelKind> {
        let found = node.as_str().and_then(ChannelKind::of_reducer);
        if found.is_none() {
            let names: Vec<_> = ChannelKind::reducer_names().collect();
            let hint = did_you_mean(node.as_str().unwrap_or_default(), &names);
            let expected = format!("the name of a reducer; {hint}");
            wrong_form(&mut self.errors, node, &expected);
        }
        found
    }

    fn spec(&mut self, node: Option<&SourceNode>) -> Option<SpecRange> {
        let node = node?;
        let range = node.as_str().and_then(SpecRange::read);
        if range.is_none() {
            let expected = "versions such as `\">=0.9.0\"` or `\">=0.9.0 <1.0.0\"`";
            wrong_form(&mut self.errors, node, expected);
        }
        range
    }

    fn states(&mut self, node: &SourceNode) {
        let Some(members) = node.as_map() else {
            return wrong_form(&mut self.errors, node, "a mapping of names and states");
        };
        for MappingEntry { key, value, .. } in members {
            let derived = value.get("from").is_some() && value.get("set").is_some();
            let state = if derived { self.derived(value) } else { Some(value.to_value()) };
            self.states.insert(key.clone(), state.unwrap_or(Value::Null));
        }
    }

    fn derived(&mut self, node: &SourceNode) -> Option<Value> {
        let members = node.as_map().unwrap_or_default();
        known_keys(
            "a state that is derived from another state",
            members,
            DERIVED,
            node.span,
            &mut self.errors,
        );
        let mut state = self.named(node.get("from")?)?;
        self.set(&mut state, node.get("set")?);
        Some(state)
    }

    fn named(&mut self, node: &SourceNode) -> Option<Value> {
        let name = node.as_str().unwrap_or_default();
        let found = self.states.get(name).cloned();
        if found.is_none() {
            let names: Vec<_> = self.states.keys().map(String::as_str).collect();
            let hint = did_you_mean(name, &names);
            wrong_form(&mut self.errors, node, &format!("the name of an earlier state; {hint}"));
        }
        found
    }

    /// Sets values in a state. The mapping consists of JSON Pointers and of the values for the places to which the
    /// pointers refer, and is applied in the order of the file.
    fn set(&mut self, state: &mut Value, node: &SourceNode) {
        let Some(members) = node.as_map() else {
            return wrong_form(&mut self.errors, node, "a mapping of pointers and values");
        };
        for MappingEntry { key, key_span, value } in members {
            if let Err(error) = pointer::set(state, key, value.to_value()) {
                let hint = "pointers are relative to the state, and changes apply in order";
                self.mistake(*key_span, error.to_string(), hint);
            }
        }
    }

    fn vector(
        &mut self,
        node: &SourceNode,
        channel: Option<ChannelKind>,
        spec: &Option<SpecRange>,
    ) -> Option<ReducerVector> {
        let Some(members) = node.as_map() else {
            wrong_form(&mut self.errors, node, "a vector: a mapping with `name` and `actions`");
            return None;
        };
        let before = self.errors.len();
        known_keys("a vector", members, VECTOR, node.span, &mut self.errors);
        let text = |key: &str| node.get(key).and_then(SourceNode::as_str).map(str::to_owned);
        let own_spec = self.spec(node.get("spec"));
        let proves = self.proves(node.get("proves"));
        let state = node.get("state").and_then(|state| self.state(state, node.get("set")));
        let actions = node.get("actions").map(|actions| self.actions(actions));
        let now = self.now(node.get("now"));
        let outcomes = node.get("outcomes").map(|outcomes| self.outcomes(outcomes));
        let name = node.get("name").map_or(node.span, |name| name.span);
        let (state, actions) = (state?, actions?);
        let expected = self.expected(node, &state)?;
        let outcomes = outcomes.unwrap_or_default();
        self.plausible(node, &actions, &outcomes, compare::same(&state, &expected));
        let clean = self.errors.len() == before;
        clean.then_some(())?;
        let plain = text("name")?;
        let named = |name: String| Some(format!("{}/{name}", channel?.reducer_name()));
        Some(ReducerVector {
            name: named(plain)?,
            title: text("title")?,
            channel: channel?,
            spec: own_spec.or_else(|| spec.clone()).unwrap_or_default(),
            state,
            actions,
            now,
            expected,
            outcomes,
            open: node.get("open").map(texts).unwrap_or_default(),
            proves,
            twin: text("twin").and_then(named),
            span: name,
        })
    }

    fn state(&mut self, node: &SourceNode, set: Option<&SourceNode>) -> Option<Value> {
        let mut state = match node.as_str() {
            Some(_) => self.named(node)?,
            None => node.to_value(),
        };
        if let Some(set) = set {
            self.set(&mut state, set);
        }
        Some(state)
    }

    fn actions(&mut self, node: &SourceNode) -> Vec<Value> {
        let Some(items) = node.as_list() else {
            wrong_form(&mut self.errors, node, "a list of actions");
            return Vec::new();
        };
        items.iter().map(SourceNode::to_value).collect()
    }

    fn now(&mut self, node: Option<&SourceNode>) -> u64 {
        let Some(node) = node else { return NOW };
        let now = node.to_value().as_u64();
        if now.is_none() {
            wrong_form(&mut self.errors, node, "a number of milliseconds");
        }
        now.unwrap_or(NOW)
    }

    fn proves(&mut self, node: Option<&SourceNode>) -> Vec<String> {
        let Some(node) = node else { return Vec::new() };
        let ids = texts(node);
        for id in ids.iter().filter(|id| RequirementLedger::look_up(id).is_none()) {
            let hint = match RequirementLedger::newest().closest(id) {
                Some(close) => format!("did you mean `{close}`?"),
                None => "`ahp-harness list requirements` names them".to_owned(),
            };
            let kind = ScenarioErrorKind::UnknownRequirement { id: id.clone(), hint };
            self.errors.push(ScenarioError { span: node.span, kind });
        }
        ids
    }

    fn outcomes(&mut self, node: &SourceNode) -> Vec<ExpectedResult> {
        let Some(items) = node.as_list() else {
            wrong_form(&mut self.errors, node, "a list of outcomes, one for each action");
            return Vec::new();
        };
        items.iter().filter_map(|item| self.outcome(item)).collect()
    }

    fn outcome(&mut self, node: &SourceNode) -> Option<ExpectedResult> {
        let member = |key: &str| node.get(key).and_then(SourceNode::as_str).map(str::to_owned);
        let found = match node.as_str() {
            Some("applied") => Some(ExpectedResult::Applied),
            Some("out-of-scope") => Some(ExpectedResult::OutOfScope),
            Some(_) => None,
            None if node.as_map().is_some_and(|members| members.len() != 1) => None,
            None => member("noop")
                .map(ExpectedResult::NoOp)
                .or_else(|| member("invalid").map(ExpectedResult::Invalid)),
        };
        if found.is_none() {
            let expected =
                "`applied`, `out-of-scope`, `{ noop: <reason> }` or `{ invalid: <path> }`";
            wrong_form(&mut self.errors, node, expected);
        }
        found
    }

    fn expected(&mut self, vector: &SourceNode, state: &Value) -> Option<Value> {
        match (vector.get("expected"), vector.get("changes")) {
            (Some(node), None) if node.as_str() == Some("unchanged") => Some(state.clone()),
            (Some(node), None) if node.as_map().is_some() => Some(node.to_value()),
            (Some(node), None) => {
                wrong_form(&mut self.errors, node, "a state, or `unchanged`");
                None
            }
            (None, Some(changes)) => {
                let mut expected = state.clone();
                self.set(&mut expected, changes);
                Some(expected)
            }
            (Some(node), Some(_)) => {
                let kind = ScenarioErrorKind::Exclusive { first: "expected", second: "changes" };
                self.errors.push(ScenarioError { span: node.span, kind });
                None
            }
            (None, None) => {
                let hint = "`expected: unchanged` where nothing changes";
                self.mistake(vector.span, "a vector needs `expected` or `changes`", hint);
                None
            }
        }
    }

    /// Reports a mistake if a vector has no actions, if it has a wrong number of outcomes, or if its state is unchanged
    /// but it has no outcomes.
    fn plausible(
        &mut self,
        node: &SourceNode,
        actions: &[Value],
        outcomes: &[ExpectedResult],
        stays: bool,
    ) {
        if actions.is_empty() {
            let hint = "a vector without an action tests nothing";
            self.mistake(node.span, "this vector has no action", hint);
        }
        if !outcomes.is_empty() && outcomes.len() != actions.len() {
            let message = format!("expected {} outcomes, found {}", actions.len(), outcomes.len());
            let span = node.get("outcomes").map_or(node.span, |outcomes| outcomes.span);
            self.mistake(span, message, "one for each action, in order");
        }
        if stays && outcomes.is_empty() {
            let hint = "give the reason why nothing happens, such as \
                        `outcomes: [{ noop: no turn is active }]`";
            self.mistake(
                node.span,
                "the state does not change, and no outcome gives the reason",
                hint,
            );
        }
    }

    /// Checks that each vector with an unchanged state has a twin, that is, a vector in which the same action
    /// has an effect. Without a twin, a reducer that does nothing would pass.
    fn twins(&mut self, items: &[SourceNode]) {
        let stays = |vector: &ReducerVector| compare::same(&vector.state, &vector.expected);
        let last = |vector: &ReducerVector| {
            vector.actions.last()?.get("type")?.as_str().map(str::to_owned)
        };
        let vectors = std::mem::take(&mut self.vectors);
        for vector in vectors.iter().filter(|vector| stays(vector) && !vector.is_of_an_event()) {
            let place = items.iter().find_map(|item| {
                let name = item.get("name").filter(|name| name.span == vector.span)?;
                Some(item.get("twin").map_or(name.span, |twin| twin.span))
            });
            let span = place.unwrap_or(vector.span);
            let Some(twin) = &vector.twin else {
                let hint = "`twin` names a vector in which the same action takes effect";
                self.mistake(span, "a reducer that does nothing would pass this vector", hint);
                continue;
            };
            let Some(twin) = vectors.iter().find(|other| other.name == *twin) else {
                let names: Vec<_> = vectors.iter().map(|vector| vector.name.as_str()).collect();
                let hint = did_you_mean(twin, &names);
                let message = format!("no vector of this file is called `{twin}`; {hint}");
                self.mistake(span, message, "the twin must be in the same file");
                continue;
            };
            let unknown = vector.outcomes.last() == Some(&ExpectedResult::OutOfScope);
            let exercises = twin.actions.iter().any(|action| {
                let found = action.get("type").and_then(Value::as_str).map(str::to_owned);
                found == last(vector)
            });
            if stays(twin) || !(unknown || exercises) {
                let hint = "a twin changes the state, with an action of the same type";
                self.mistake(span, format!("`{}` is not a twin of it", twin.name), hint);
            }
        }
        for (index, vector) in vectors.iter().enumerate() {
            if vectors.iter().take(index).any(|earlier| earlier.name == vector.name) {
                let hint = "reports identify a vector by its name";
                self.mistake(vector.span, format!("`{}` is given twice", vector.name), hint);
            }
        }
        self.vectors = vectors;
    }
}
