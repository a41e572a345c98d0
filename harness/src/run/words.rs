//! Determines whether a version of the protocol has the vocabulary of a scenario.
//!
//! Scenarios use the newest version's vocabulary. If a scenario dispatches, awaits or requests something that a
//! version does not have under any name, the scenario is skipped for that version. Authors do not have to declare the
//! versions of a scenario.
//!
//! This module also chooses the vocabulary that the clients of a case start with.
//!
//! Knows: steps, edges. Never knows: hosts.
//!
//! Start at [`lacks`].

use crate::edge::{ChangeContext, VersionEdge};
use crate::host::PROVIDER;
use crate::scenario::bind::ValueTemplate;
use crate::scenario::parse::{ParsedScenario, ScenarioStep};
use crate::scenario::verbs::StepVerb;
use crate::wire::channel::ChannelKind;
use crate::wire::feature::ProtocolFeature;
use crate::wire::json::{Value, json};
use crate::wire::protocol::Protocol;
use crate::wire::trim::TrimType;
use crate::wire::version::Version;

use super::case::ScenarioCase;

/// The members of states that have another name in older versions, each with the older name.
const OLDER: &[(&str, &str)] =
    &[("workingDirectories", "workingDirectory"), ("activeClients", "activeClient")];

/// The types whose members occur in the states that clients see.
const STATES: &[TrimType<'static>] = &[
    TrimType::State(ChannelKind::Session),
    TrimType::State(ChannelKind::Chat),
    TrimType::Named("SessionSummary"),
];

/// Returns the first name in a scenario that a version does not have, as text for a message; `None` if the version has
/// every name.
pub fn lacks(scenario: &ParsedScenario, version: Version) -> Option<String> {
    let edge = VersionEdge::new(version, "");
    if edge.is_plain() {
        return None;
    }
    let elsewhere = of_other_versions(scenario);
    let is_elsewhere = |step: &&ScenarioStep| {
        let mut clients = step.actors().peekable();
        clients.peek().is_some() && clients.all(|(_, client)| elsewhere.contains(&client))
    };
    let mut taken =
        scenario.steps.iter().filter(|step| step.holds_in(version) && !is_elsewhere(step));
    taken.find_map(|step| of_step(step, &edge, Protocol::newest()))
}

/// Returns the clients that offer exactly one version, because the scenario says so. The steps of these clients use the
/// names of that version.
pub fn of_other_versions(scenario: &ParsedScenario) -> Vec<&String> {
    let offers_one = |step: &&ScenarioStep| {
        let offered = step.template("versions").and_then(ValueTemplate::without_holes);
        let [only] = offered.and_then(Value::as_array).map_or(&[][..], Vec::as_slice) else {
            return false;
        };
        let version: Option<Version> = only.as_str().and_then(|text| text.parse().ok());
        version.is_some_and(|version| Version::offered().contains(&version))
    };
    let offering = scenario.steps.iter().filter(offers_one);
    offering.flat_map(|step| step.clients("by")).collect()
}

fn of_step(step: &ScenarioStep, edge: &VersionEdge, newest: &Protocol) -> Option<String> {
    let action = match step.verb {
        StepVerb::Dispatch => step.template("action").and_then(|action| {
            let members = action.members();
            let named = members.iter().find(|(name, _)| name == "type")?;
            named.1.without_holes()?.as_str().map(str::to_owned)
        }),
        StepVerb::Expect | StepVerb::Next | StepVerb::Await => step.text("type").map(str::to_owned),
        _ => None,
    };
    if let Some(action) = action.filter(|action| newest.action(action).is_some()) {
        let probe = json!({"type": (action.as_str())});
        if edge.lower_action("", &probe, ChangeContext::NOTHING).is_none() {
            return Some(format!("`{action}`"));
        }
    }
    let raw = step.template("json").into_iter().flat_map(ValueTemplate::members);
    let raw = raw.filter(|(name, _)| name == "method").find_map(|(_, it)| it.without_holes());
    let method = step
        .text("method")
        .or(raw.and_then(Value::as_str))
        .filter(|method| newest.method(method).is_some());
    if let Some(method) = method.filter(|_| step.verb != StepVerb::Never) {
        let known = edge.protocol().method(method).is_some()
            || edge.wrap_notification(method, json!({})).is_some();
        if !known {
            return Some(format!("`{method}`"));
        }
    }
    let state = step.pattern("state")?;
    let lost = |name: &&str| {
        let known = |protocol: &Protocol, name: &str| {
            STATES.iter().any(|of| protocol.has_member(*of, name))
        };
        let older = OLDER.iter().find(|(newer, _)| newer == name).map_or(*name, |(_, it)| *it);
        known(newest, name) && !known(edge.protocol(), name) && !known(edge.protocol(), older)
    };
    let keys = state.keys();
    keys.into_iter().find(lost).map(|name| format!("`{name}` in that state"))
}

impl ScenarioCase {
    /// Returns the translation to the vocabulary (the names of methods, actions and members) with which the clients of
    /// the case start.
    pub(super) fn edge(&self) -> VersionEdge {
        VersionEdge::new(self.setup().version, self.setup().provider.as_deref().unwrap_or(PROVIDER))
    }

    pub(super) fn protocol(&self) -> Option<&'static Protocol> {
        Protocol::of(self.setup().version)
    }

    pub(super) fn delays_can_be_declined(&self) -> bool {
        self.protocol().is_some_and(|protocol| protocol.has(ProtocolFeature::Delivery))
    }
}
