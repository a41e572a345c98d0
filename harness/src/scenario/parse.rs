//! Checks the tree of a scenario file against the tables of the scenario language, and returns the scenario with all
//! mistakes in the file.

use std::time::Duration;

use crate::ledger::RequirementLedger;
use crate::verdict::Weight;
use crate::wire::version::Version;

use super::bind::ValueTemplate;
use super::capability::{self, ABILITIES, CAPABILITIES};
use super::node::{MappingEntry, NodeContent, SourceNode};
use super::own::{self, OwnRequirement};
use super::pattern::ValuePattern;
use super::source::{ScenarioError, ScenarioErrorKind, SourceSpan, did_you_mean, list};
pub use super::spec::SpecRange;
pub use super::step::{ScenarioStep, StepValue};
use super::verbs::{
    FRAGMENT, FormField, HOST, MemberForm, REPLACED, SCENARIO, SETTINGS, StepVerb, TestedParty,
    VERBS,
};
use super::{given, names};

/// The name that the agent's working folder is bound to.
pub const WORK: &str = "work";
/// The name that the base URL of the harness's HTTP MCP server is bound to; `/mcp` or `/sse` follows the base
/// URL.
pub const SERVER_URL: &str = "mcpServer";
/// The name that the authentication method of an agent is bound to.
pub const AUTH: &str = "auth";

/// A scenario, ready to be planned.
#[derive(Clone, Debug)]
pub struct ParsedScenario {
    /// The identifier, such as `reconnect/replays-what-was-missed`.
    pub id: String,
    /// The title: what the scenario shows.
    pub title: String,
    /// The requirements that the steps test, without duplicates, in the order of the steps.
    pub proves: Vec<String>,
    /// The tested requirements that the author defines.
    pub own: Vec<OwnRequirement>,
    /// The protocol versions that the scenario applies to.
    pub spec: SpecRange,
    /// The profile that the scenario belongs to.
    pub profile: String,
    /// The words by which a user can select the scenario.
    pub tags: Vec<String>,
    /// The agent's script, without its first line. If the script is empty, the agent repeats the prompt.
    pub agent: String,
    /// The client that approves every tool call that waits for a confirmation.
    pub approves: Option<String>,
    /// The clients of the scenario.
    pub clients: Vec<String>,
    /// The client that the scenario tests; `None` if it tests the host or the agent.
    pub tested: Option<String>,
    /// Settings for the embedded host. Any other host plays the scenario with its own settings.
    pub host: Vec<(String, u64)>,
    /// The reason why only the embedded host can play the scenario, for authors of other hosts.
    pub embedded_only: Option<String>,
    /// The capabilities that the host must have.
    pub needs: Vec<String>,
    /// Whether the scenario may harm the host.
    pub aggressive: bool,
    /// Whether the scenario must not run in parallel with other scenarios.
    pub alone: bool,
    /// The timeout of each wait, if it differs from the timeout of the run.
    pub within: Option<Duration>,
    /// The steps, with the steps of all fragments spliced in.
    pub steps: Vec<ScenarioStep>,
    /// The place of the identifier.
    pub span: SourceSpan,
}

impl ParsedScenario {
    /// Returns the weight of a breach of one requirement of the scenario in a version.
    pub fn weight(&self, version: Version, id: &str) -> Weight {
        let own = self.own.iter().find(|own| own.id == id);
        own.map_or_else(|| RequirementLedger::weight(version, id), |own| own.weight)
    }
}

/// A source for the fragments that a file includes.
pub trait IncludeSource {
    /// Returns the tree of a fragment and makes the fragment the current file. The path is relative to the
    /// current file. Returns `None` if the fragment is unavailable, and adds this mistake to `errors`.
    fn enter(
        &mut self,
        path: &str,
        at: SourceSpan,
        errors: &mut Vec<ScenarioError>,
    ) -> Option<SourceNode>;
    /// Ends the current fragment and makes the file that includes it the current file again.
    fn leave(&mut self);
    /// Returns the author's own requirements from the file next to the scenario; empty if there is no such
    /// file. Mistakes in the requirements file are added to `errors` once.
    fn own(&mut self, errors: &mut Vec<ScenarioError>) -> &[OwnRequirement];
}

/// The kind of a parsed file.
pub enum ParsedFile {
    /// A scenario.
    Scenario(Box<ParsedScenario>),
    /// A file that is not a scenario: a fragment or a file of requirements.
    Fragment,
}

/// Reads a tree as a scenario and adds mistakes to `errors`. A scenario with mistakes must not be played;
/// callers only use it to show the mistakes.
pub fn scenario(
    root: &SourceNode,
    includes: &mut dyn IncludeSource,
    errors: &mut Vec<ScenarioError>,
) -> Option<ParsedFile> {
    let Some(members) = root.as_map() else {
        wrong_form(errors, root, "a mapping that begins with `scenario: <area>/<slug>`");
        return None;
    };
    if root.get(own::LIST).is_some() && root.get("scenario").is_none() {
        own::requirements(root, errors);
        return Some(ParsedFile::Fragment);
    }
    if root.get("fragment").is_some() {
        known_keys("a fragment", members, FRAGMENT, root.span, errors);
        return Some(ParsedFile::Fragment);
    }
    known_keys("a scenario", members, SCENARIO, root.span, errors);
    let mut parser = ScenarioParser {
        includes,
        errors,
        clients: vec!["A".to_owned()],
        header: Vec::new(),
        own: Vec::new(),
    };
    Some(ParsedFile::Scenario(Box::new(parser.scenario(root))))
}

struct ScenarioParser<'a> {
    includes: &'a mut dyn IncludeSource,
    errors: &'a mut Vec<ScenarioError>,
    clients: Vec<String>,
    /// The author's own requirements from the header.
    header: Vec<OwnRequirement>,
    /// The author's own requirements that steps refer to.
    own: Vec<OwnRequirement>,
}

impl ScenarioParser<'_> {
    fn fail(&mut self, span: SourceSpan, kind: ScenarioErrorKind) {
        self.errors.push(ScenarioError { span, kind });
    }

    fn scenario(&mut self, root: &SourceNode) -> ParsedScenario {
        let text =
            |key: &str| root.get(key).and_then(SourceNode::as_str).unwrap_or_default().to_owned();
        self.header_forms(root);
        if let Some(node) = root.get("clients") {
            self.clients = texts(node);
        }
        let clients = self.clients.clone();
        let tested = self.tested(root.get("tests"));
        let agent = root.get("agent").map(texts).unwrap_or_default().join("\n");
        if let Some(node) = root.get("agent") {
            self.script(&agent, node.span);
        }
        let mut scenario = ParsedScenario {
            id: text("scenario"),
            title: text("title"),
            proves: Vec::new(),
            own: Vec::new(),
            spec: self.spec(root.get("spec")),
            profile: match root.get("profile").and_then(SourceNode::as_str) {
                Some(profile) => profile.to_owned(),
                None if agent.trim().is_empty() => "core".to_owned(),
                None => "agent".to_owned(),
            },
            tags: root.get("tags").map(texts).unwrap_or_default(),
            agent,
            approves: self.approves(root.get("approves")),
            clients,
            tested,
            host: self.settings(root.get("host")),
            embedded_only: root.get("embeddedOnly").and_then(SourceNode::as_str).map(str::to_owned),
            needs: self.needs(root.get("needs")),
            aggressive: root.get("aggressive").is_some_and(|node| node.to_value() == true),
            alone: root.get("alone").is_some_and(|node| node.to_value() == true),
            within: root.get("within").and_then(|node| self.duration(node)),
            steps: Vec::new(),
            span: root.get("scenario").map_or(root.span, |node| node.span),
        };
        if let Some(list) = root.get(own::LIST) {
            self.header = own::listed(list, self.errors);
        }
        if let Some(steps) = root.get("steps") {
            scenario.steps = self.steps(steps);
            for id in scenario.steps.iter().flat_map(ScenarioStep::proves) {
                if !scenario.proves.contains(id) {
                    scenario.proves.push(id.clone());
                }
            }
            scenario.own = std::mem::take(&mut self.own);
            self.verbs(&scenario);
            names::check(&scenario, self.errors);
            self.expectations(&scenario, steps.span);
        }
        scenario
    }

    fn header_forms(&mut self, root: &SourceNode) {
        for field in SCENARIO {
            let Some(node) = root.get(field.name) else {
                continue;
            };
            let fits = match field.form {
                MemberForm::Text => node.as_str().is_some(),
                MemberForm::Texts => !texts(node).is_empty(),
                MemberForm::Flag => matches!(node.to_value(), crate::wire::json::Value::Bool(_)),
                MemberForm::Steps => node.as_list().is_some(),
                _ => true,
            };
            if !fits {
                wrong_form(self.errors, node, expected(field.form));
            }
        }
        if let Some(node) = root.get("profile")
            && !matches!(node.as_str(), Some("core" | "agent"))
        {
            wrong_form(self.errors, node, "`core` or `agent`");
        }
    }

    fn spec(&mut self, node: Option<&SourceNode>) -> SpecRange {
        let Some(node) = node else {
            return SpecRange::default();
        };
        let range = node.as_str().and_then(SpecRange::read);
        if range.is_none() {
            wrong_form(self.errors, node, "versions such as `\">=0.9.0\"` or `\">=0.9.0 <1.0.0\"`");
        }
        range.unwrap_or_default()
    }

    /// Reads the name of the tested client. In a scenario that tests a client, steps may name the host.
    fn tested(&mut self, node: Option<&SourceNode>) -> Option<String> {
        let node = node?;
        let name = node.as_str()?;
        self.client(name, node.span);
        self.clients.push(HOST.to_owned());
        Some(name.to_owned())
    }

    fn approves(&mut self, node: Option<&SourceNode>) -> Option<String> {
        let node = node?;
        let name = node.as_str()?;
        self.client(name, node.span);
        Some(name.to_owned())
    }

    fn needs(&mut self, node: Option<&SourceNode>) -> Vec<String> {
        let Some(node) = node else { return Vec::new() };
        for item in node.as_list().unwrap_or(std::slice::from_ref(node)) {
            let name = item.as_str().unwrap_or_default();
            if capability::named(name).is_none() && !ABILITIES.contains(&name) {
                let names = CAPABILITIES.iter().map(|row| row.name);
                let names: Vec<_> = names.chain(ABILITIES.iter().copied()).collect();
                wrong_form(self.errors, item, &format!("one of {}", names.join(", ")));
            }
        }
        texts(node)
    }

    fn settings(&mut self, node: Option<&SourceNode>) -> Vec<(String, u64)> {
        let mut settings = Vec::new();
        for member in node.and_then(SourceNode::as_map).unwrap_or_default() {
            if !SETTINGS.contains(&member.key.as_str()) {
                let kind = ScenarioErrorKind::UnknownKey {
                    owner: "`host`".to_owned(),
                    key: member.key.clone(),
                    hint: did_you_mean(&member.key, SETTINGS),
                };
                self.fail(member.key_span, kind);
            }
            match member.value.to_value().as_u64() {
                Some(value) => settings.push((member.key.clone(), value)),
                None => wrong_form(self.errors, &member.value, "a number"),
            }
        }
        settings
    }

    fn requirement(&mut self, id: &str, span: SourceSpan) {
        if RequirementLedger::look_up(id).is_some() || self.own.iter().any(|own| own.id == id) {
            return;
        }
        let mut header = self.header.iter();
        let found = header.find(|own| own.id == id).cloned();
        let in_file = || self.includes.own(self.errors).iter().find(|own| own.id == id).cloned();
        if let Some(own) = found.or_else(in_file) {
            return self.own.push(own);
        }
        let hint = match RequirementLedger::newest().closest(id) {
            Some(close) => format!("did you mean `{close}`?"),
            None => format!(
                "`ahp-harness list requirements` lists them all; define your own in `{}` beside the scenario, or under `{}` in its header",
                own::FILE,
                own::LIST
            ),
        };
        self.fail(span, ScenarioErrorKind::UnknownRequirement { id: id.to_owned(), hint });
    }

    fn script(&mut self, script: &str, span: SourceSpan) {
        let text = format!("{}\n{script}", crate::agent::script::HEADER);
        let found = crate::agent::script::find(&text).filter(|_| !script.trim().is_empty());
        if let Some(Err(error)) = found {
            self.fail(span, ScenarioErrorKind::AgentScript(error.to_string()));
        }
    }

    fn steps(&mut self, node: &SourceNode) -> Vec<ScenarioStep> {
        let mut steps = Vec::new();
        for item in node.as_list().unwrap_or_default() {
            let Some([MappingEntry { key, key_span, value }]) = item.as_map() else {
                wrong_form(
                    self.errors,
                    item,
                    "a step: one verb with its members, such as `barrier: A`",
                );
                continue;
            };
            let Some(row) = VERBS.iter().find(|row| row.name == key) else {
                let names: Vec<_> = VERBS.iter().map(|row| row.name).collect();
                let kind = ScenarioErrorKind::UnknownKey {
                    owner: "a step".to_owned(),
                    key: key.clone(),
                    hint: did_you_mean(key, &names),
                };
                self.fail(*key_span, kind);
                continue;
            };
            let step = self.step(row.verb, *key_span, value);
            if step.verb == StepVerb::Include {
                steps.extend(self.included(&step, value.get("with")));
            } else {
                steps.push(step);
            }
        }
        steps
    }

    fn included(&mut self, step: &ScenarioStep, with: Option<&SourceNode>) -> Vec<ScenarioStep> {
        let Some(path) = step.text("file") else {
            return Vec::new();
        };
        let Some(tree) = fragment(self.includes, path, step.place("file"), with, self.errors)
        else {
            return Vec::new();
        };
        let mut steps = tree.get("steps").map(|steps| self.steps(steps)).unwrap_or_default();
        self.includes.leave();
        // A version range of the `include` also applies to each step of the fragment.
        if let Some(range) = step.members.iter().find(|(name, ..)| *name == "spec") {
            steps.iter_mut().for_each(|step| step.narrow(range));
        }
        steps
    }

    fn step(&mut self, verb: StepVerb, span: SourceSpan, value: &SourceNode) -> ScenarioStep {
        let row = verb.row();
        let mut members = Vec::new();
        match (&value.content, row.short) {
            (NodeContent::Map(given), _) => {
                known_keys(&format!("`{}`", row.name), given, row.fields, span, self.errors);
                for field in row.fields {
                    let Some(member) = given.iter().find(|member| member.key == field.name) else {
                        continue;
                    };
                    if let Some(value) = self.value(field, &member.value) {
                        members.push((field.name, member.value.span, value));
                    }
                }
            }
            (NodeContent::Scalar(crate::wire::json::Value::Null), _)
                if row.fields.iter().all(|field| !field.required) => {}
            (_, Some(short)) => {
                if let Some(field) = row.fields.iter().find(|field| field.name == short)
                    && let Some(given) = self.value(field, value)
                {
                    members.push((field.name, value.span, given));
                }
            }
            _ => wrong_form(self.errors, value, &format!("the members of `{}`", row.name)),
        }
        let step = ScenarioStep { verb, span, members };
        self.spec(value.get("spec"));
        self.exclusive(&step);
        step
    }

    /// Reports members of a step that exclude each other.
    fn exclusive(&mut self, step: &ScenarioStep) {
        const WISHES: [&str; 10] = [
            "result", "error", "closed", "accept", "reject", "ignored", "refused", "replay",
            "snapshot", "none",
        ];
        // The combinations of outcomes that one step may accept, because the specification permits each of them.
        const OPEN: [&[&str]; 4] = [
            &["result", "error"],
            &["error", "closed"],
            &["error", "none"],
            &["error", "closed", "none"],
        ];
        let given: Vec<_> =
            WISHES.iter().copied().filter(|name| step.given(name).is_some()).collect();
        let open = OPEN.contains(&given.as_slice());
        if let [first, second, ..] = given[..]
            && !open
        {
            self.fail(step.place(second), ScenarioErrorKind::Exclusive { first, second });
        }
        if matches!(step.verb, StepVerb::Turn | StepVerb::Prompt)
            && let Some(script) = step.text("script")
        {
            self.script(script, step.place("script"));
        }
        for id in step.proves() {
            self.requirement(id, step.place("proves"));
        }
        if step.is_claim() && step.given("choice").is_some() {
            let (first, second) = ("proves", "choice");
            self.fail(step.place(second), ScenarioErrorKind::Exclusive { first, second });
        }
        if step.is_claim() && !step.can_fail() {
            let verb = step.verb.row().name;
            self.fail(step.place("proves"), ScenarioErrorKind::CannotFail { verb });
        }
    }

    fn value(&mut self, field: &FormField, node: &SourceNode) -> Option<StepValue> {
        let given = match field.form {
            MemberForm::Client | MemberForm::Clients => {
                let names = texts(node);
                for name in &names {
                    self.client(name, node.span);
                }
                let fits =
                    !names.is_empty() && (field.form == MemberForm::Clients || names.len() == 1);
                fits.then_some(StepValue::Names(names))
            }
            MemberForm::Binds | MemberForm::Text | MemberForm::ActionType | MemberForm::Method => {
                node.as_str().map(|text| StepValue::Text(text.to_owned()))
            }
            MemberForm::OneOf(words) => {
                let word = node.as_str().filter(|word| words.contains(word));
                if word.is_none() {
                    wrong_form(self.errors, node, &format!("one of {}", words.join(", ")));
                    return None;
                }
                word.map(|word| StepValue::Text(word.to_owned()))
            }
            MemberForm::Texts | MemberForm::Requirements => Some(StepValue::Names(texts(node))),
            MemberForm::Flag => node.to_value().as_bool().map(StepValue::Flag),
            MemberForm::Duration => return self.duration(node).map(StepValue::Duration),
            MemberForm::Count => node.to_value().as_u64().map(StepValue::Count),
            MemberForm::Template | MemberForm::Action => {
                Some(StepValue::Template(ValueTemplate::of(node)))
            }
            MemberForm::Pattern => {
                // `true` only states the kind of the outcome, so the pattern accepts any value.
                let pattern = match node.to_value() {
                    crate::wire::json::Value::Bool(true) if field.wants => {
                        ValuePattern::anything(node.span)
                    }
                    _ => ValuePattern::of(node, self.errors),
                };
                Some(StepValue::Pattern(pattern))
            }
            MemberForm::Values if node.as_map().is_some() => return None,
            MemberForm::Steps | MemberForm::Settings | MemberForm::Values => None,
        };
        if given.is_none() {
            wrong_form(self.errors, node, expected(field.form));
        }
        given
    }

    fn duration(&mut self, node: &SourceNode) -> Option<Duration> {
        let value = node.to_value();
        if value.is_number() {
            let found = value.to_string();
            self.fail(node.span, ScenarioErrorKind::DurationWithoutUnit { found });
            return None;
        }
        let duration = value.as_str().and_then(read_duration);
        if duration.is_none() {
            wrong_form(self.errors, node, expected(MemberForm::Duration));
        }
        duration
    }

    fn client(&mut self, name: &str, span: SourceSpan) {
        if self.clients.iter().any(|client| client == name) {
            return;
        }
        let known: Vec<_> = self.clients.iter().map(String::as_str).collect();
        let kind = ScenarioErrorKind::UnknownClient { name: name.to_owned(), known: list(&known) };
        self.fail(span, kind);
    }

    /// Checks that every step belongs to the protocol of the scenario, and to the party that the scenario tests.
    fn verbs(&mut self, scenario: &ParsedScenario) {
        let about = scenario.spec.standard();
        let party = match scenario.tested {
            Some(_) => TestedParty::Client,
            None => TestedParty::Server,
        };
        for step in &scenario.steps {
            if let Some(other) = step.verb.party().filter(|other| *other != party) {
                let of = |party| match party {
                    TestedParty::Client => "a scenario that tests a client (`tests`)",
                    TestedParty::Server => "a scenario that tests a host or an agent",
                };
                let kind = ScenarioErrorKind::WrongForm {
                    expected: format!("a step for {}", of(party)),
                    found: format!("`{}`, which is for {}", step.verb.row().name, of(other)),
                };
                self.fail(step.span, kind);
            }
            self.actors(scenario, step);
            if let Some(standard) = step.verb.standard().filter(|standard| *standard != about) {
                let kind = ScenarioErrorKind::WrongForm {
                    expected: format!("a step for {}", about.name()),
                    found: format!("`{}`, which is for {}", step.verb.row().name, standard.name()),
                };
                self.fail(step.span, kind);
            }
        }
    }

    /// Checks who acts in a step. Only `drive` steps make the tested client act, and the host supports only some verbs.
    fn actors(&mut self, scenario: &ParsedScenario, step: &ScenarioStep) {
        const OF_THE_HOST: &[StepVerb] = &[
            StepVerb::Request,
            StepVerb::Notify,
            StepVerb::Send,
            StepVerb::Expect,
            StepVerb::Next,
            StepVerb::Never,
            StepVerb::Await,
            StepVerb::Barrier,
            StepVerb::Drop,
            StepVerb::Closed,
            StepVerb::Answer,
        ];
        let mirror = step.verb == StepVerb::Mirror;
        if mirror && scenario.tested.is_none() && step.pattern("state").is_none() {
            let kind = ScenarioErrorKind::MissingKey {
                owner: "`mirror`".to_owned(),
                key: "state".to_owned(),
                doc: "the pattern of the client's own state".to_owned(),
            };
            self.fail(step.span, kind);
        }
        for (member, name) in step.actors() {
            let tested = scenario.tested.as_ref() == Some(name);
            let expected = match (tested, name == HOST) {
                (true, _) if !mirror && step.verb != StepVerb::Answer => {
                    "the host or another client: `drive` makes the tested client act, and `expect` at the `host` sees what it sends"
                }
                (false, true) if !OF_THE_HOST.contains(&step.verb) => {
                    "a client: the host has no such step"
                }
                _ => continue,
            };
            let kind = ScenarioErrorKind::WrongForm {
                expected: expected.to_owned(),
                found: format!("`{name}`"),
            };
            self.fail(step.place(member), kind);
        }
    }

    fn expectations(&mut self, scenario: &ParsedScenario, span: SourceSpan) {
        let first = SourceSpan { end: span.start, ..span };
        if !scenario.steps.iter().any(ScenarioStep::is_claim) {
            self.fail(first, ScenarioErrorKind::ExpectsNothing);
        }
        let last_barrier = scenario.steps.iter().rposition(|step| step.verb == StepVerb::Barrier);
        for (index, step) in scenario.steps.iter().enumerate() {
            if step.verb == StepVerb::Never && last_barrier.is_none_or(|barrier| barrier < index) {
                self.fail(step.span, ScenarioErrorKind::NeverWithoutBarrier);
            }
        }
    }
}

/// Enters a fragment that a step at this place includes, and fills in the values that the step passes. Afterwards, the
/// caller has to call [`IncludeSource::leave`]. Returns `None` if the fragment is unavailable.
pub(super) fn fragment(
    includes: &mut dyn IncludeSource,
    path: &str,
    at: SourceSpan,
    with: Option<&SourceNode>,
    errors: &mut Vec<ScenarioError>,
) -> Option<SourceNode> {
    let tree = includes.enter(path, at, errors)?;
    match tree.as_map() {
        Some(members) => known_keys("a fragment", members, FRAGMENT, tree.span, errors),
        None => wrong_form(errors, &tree, "a fragment: `fragment` and `steps`"),
    }
    let with = with.and_then(SourceNode::as_map).unwrap_or_default();
    Some(given::fill(tree, with, errors))
}

/// Reports a node that does not have the expected form.
pub(crate) fn wrong_form(errors: &mut Vec<ScenarioError>, node: &SourceNode, expected: &str) {
    let kind =
        ScenarioErrorKind::WrongForm { expected: expected.to_owned(), found: node.describe() };
    errors.push(ScenarioError { span: node.span, kind });
}

fn expected(form: MemberForm) -> &'static str {
    match form {
        MemberForm::Client => "the name of one client",
        MemberForm::Clients => "a client or a list of them, such as `[A, B]`",
        MemberForm::Binds => "a name",
        MemberForm::Text | MemberForm::OneOf(_) => "a text",
        MemberForm::ActionType => "the type of an action, such as `chat/delta`",
        MemberForm::Method => "the name of a method",
        MemberForm::Requirements => "a requirement or a list of them",
        MemberForm::Texts => "a text or a list of texts",
        MemberForm::Flag => "`true` or `false`",
        MemberForm::Duration => "a duration such as `250ms`, `2s` or `1m`",
        MemberForm::Count => "a number of things",
        MemberForm::Template => "a value",
        MemberForm::Action => "an action",
        MemberForm::Pattern => "a pattern",
        MemberForm::Steps => "a list of steps",
        MemberForm::Settings => "a mapping of settings",
        MemberForm::Values => "values by name",
    }
}

/// Returns the texts of a list, or the text of a scalar node without trailing white space.
pub(crate) fn texts(node: &SourceNode) -> Vec<String> {
    let one = |node: &SourceNode| node.as_str().map(str::to_owned);
    match &node.content {
        NodeContent::List(items) => items.iter().filter_map(one).collect(),
        _ => one(node).map(|text| text.trim_end().to_owned()).into_iter().collect(),
    }
}

/// Reports members that the table does not have, and required members that are missing.
pub(crate) fn known_keys(
    owner: &str,
    members: &[MappingEntry],
    fields: &[FormField],
    span: SourceSpan,
    errors: &mut Vec<ScenarioError>,
) {
    let names: Vec<_> = fields.iter().map(|field| field.name).collect();
    for member in members {
        if !names.contains(&member.key.as_str()) {
            let replaced = REPLACED.iter().find(|(name, _)| *name == member.key);
            let kind = ScenarioErrorKind::UnknownKey {
                owner: owner.to_owned(),
                key: member.key.clone(),
                hint: replaced.map_or_else(
                    || did_you_mean(&member.key, &names),
                    |(_, hint)| (*hint).to_owned(),
                ),
            };
            errors.push(ScenarioError { span: member.key_span, kind });
        }
    }
    for field in fields.iter().filter(|field| field.required) {
        if !members.iter().any(|member| member.key == field.name) {
            let kind = ScenarioErrorKind::MissingKey {
                owner: owner.to_owned(),
                key: field.name.to_owned(),
                doc: field.doc.to_owned(),
            };
            errors.push(ScenarioError { span, kind });
        }
    }
}

/// Parses a duration such as `250ms`, `2s` or `1m`.
pub fn read_duration(text: &str) -> Option<Duration> {
    let split = text.find(|c: char| !c.is_ascii_digit())?;
    let number: u64 = text.get(..split)?.parse().ok()?;
    match text.get(split..)? {
        "ms" => Some(Duration::from_millis(number)),
        "s" => Some(Duration::from_secs(number)),
        "m" => Some(Duration::from_secs(number.checked_mul(60)?)),
        _ => None,
    }
}
