//! A step of a scenario as the parser reads it: the verb and the members, with their places.
//!
//! Knows: the forms that members have. Never knows: the execution of steps.
//!
//! Start at [`ScenarioStep`].

use std::time::Duration;

use crate::wire::version::Version;

use super::bind::ValueTemplate;
use super::pattern::ValuePattern;
use super::source::SourceSpan;
use super::spec::SpecRange;
use super::verbs::StepVerb;

/// One step.
#[derive(Clone, Debug)]
pub struct ScenarioStep {
    /// The verb.
    pub verb: StepVerb,
    /// The place of the verb.
    pub span: SourceSpan,
    /// The members with their names and places, in the order of the verb's row.
    pub members: Vec<(&'static str, SourceSpan, StepValue)>,
}

/// The value of a step's member.
#[derive(Clone, Debug)]
pub enum StepValue {
    /// Names of clients, or strings.
    Names(Vec<String>),
    /// A string, or a name to bind.
    Text(String),
    /// A flag.
    Flag(bool),
    /// A duration.
    Duration(Duration),
    /// A count.
    Count(u64),
    /// A value with placeholders.
    Template(ValueTemplate),
    /// A pattern that a value must match.
    Pattern(ValuePattern),
}

impl ScenarioStep {
    pub(super) fn given(&self, name: &str) -> Option<&StepValue> {
        self.members.iter().find(|(key, ..)| *key == name).map(|(.., given)| given)
    }

    /// Returns the place of a member, or of the verb if the step does not have the member.
    pub fn place(&self, name: &str) -> SourceSpan {
        self.members.iter().find(|(key, ..)| *key == name).map_or(self.span, |(_, span, _)| *span)
    }

    /// Returns whether the step applies to a version.
    pub fn holds_in(&self, version: Version) -> bool {
        let range = self.text("spec").and_then(SpecRange::read);
        range.is_none_or(|range| range.includes(version))
    }

    /// Restricts the step to a further range of versions.
    pub(super) fn narrow(&mut self, range: &(&'static str, SourceSpan, StepValue)) {
        let own = self.text("spec").map(str::to_owned);
        self.members.retain(|(name, ..)| *name != "spec");
        let (name, span, given) = range.clone();
        let both = match (own, &given) {
            (Some(own), StepValue::Text(outer)) => StepValue::Text(format!("{own} {outer}")),
            _ => given,
        };
        self.members.push((name, span, both));
    }

    /// Returns the names in a member; empty if the step does not have the member.
    pub fn clients(&self, name: &str) -> &[String] {
        match self.given(name) {
            Some(StepValue::Names(names)) => names,
            _ => &[],
        }
    }

    /// Returns the clients that a step names, each with the member that names it. The host may be among them.
    pub fn actors(&self) -> impl Iterator<Item = (&'static str, &String)> {
        self.verb
            .row()
            .client_members()
            .flat_map(|name| self.clients(name).iter().map(move |client| (name, client)))
    }

    /// Returns the string in a member. If the member is a list, returns the first string.
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.given(name)? {
            StepValue::Text(text) => Some(text),
            StepValue::Names(names) => names.first().map(String::as_str),
            _ => None,
        }
    }

    /// Returns whether the step has the flag with the value `true`.
    pub fn flag(&self, name: &str) -> bool {
        matches!(self.given(name), Some(StepValue::Flag(true)))
    }

    /// Returns whether the step has the flag with the value `false`.
    pub fn denies(&self, name: &str) -> bool {
        matches!(self.given(name), Some(StepValue::Flag(false)))
    }

    /// Returns the duration of a member.
    pub fn duration(&self, name: &str) -> Option<Duration> {
        match self.given(name)? {
            StepValue::Duration(duration) => Some(*duration),
            _ => None,
        }
    }

    /// Returns the number of a member.
    pub fn count(&self, name: &str) -> Option<u64> {
        match self.given(name)? {
            StepValue::Count(count) => Some(*count),
            _ => None,
        }
    }

    /// Returns the template of a member.
    pub fn template(&self, name: &str) -> Option<&ValueTemplate> {
        match self.given(name)? {
            StepValue::Template(template) => Some(template),
            _ => None,
        }
    }

    /// Returns the pattern of a member.
    pub fn pattern(&self, name: &str) -> Option<&ValuePattern> {
        match self.given(name)? {
            StepValue::Pattern(pattern) => Some(pattern),
            _ => None,
        }
    }

    /// Returns the requirements that a failure of the step breaks; empty for a premise.
    pub fn proves(&self) -> &[String] {
        self.clients("proves")
    }

    /// Returns whether the step tests a requirement.
    pub fn is_claim(&self) -> bool {
        !self.proves().is_empty()
    }

    /// Returns the permitted behaviour of a host that does not fulfil this premise. If the host shows this behaviour,
    /// the claims after the premise do not apply to it.
    pub fn choice(&self) -> Option<&str> {
        self.text("choice").filter(|_| !self.is_claim())
    }

    /// Returns whether the host can make the step fail.
    pub(super) fn can_fail(&self) -> bool {
        let row = self.verb.row();
        let wants = |name: &str| row.fields.iter().any(|field| field.name == name && field.wants);
        row.asserts || row.answered || self.members.iter().any(|(name, ..)| wants(name))
    }
}
