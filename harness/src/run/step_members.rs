//! What several kinds of steps have in common: clients, expected outcomes, params, and scripts for the agent.
//!
//! Knows: members of steps, the setup of the case. Never knows: tasks.
//!
//! Start at [`peers`] and [`want`].

use crate::agent::mode::AgentMode;
use crate::agent::script::{CASE, HEADER};
use crate::scenario::bind::ValueTemplate;
use crate::scenario::parse::ScenarioStep;
use crate::scenario::source::SourceSpan;
use crate::wire::json::json;

use super::case::ScenarioCase;
use super::case_peers::PeerId;
use super::goal::RequestGoal;

/// Returns the clients that a member of a step names.
pub(super) fn peers(case: &ScenarioCase, step: &ScenarioStep, member: &str) -> Vec<PeerId> {
    step.clients(member).iter().map(|name| case.peer_named(name)).collect()
}

/// Returns the client that a member of a step names.
pub(super) fn peer(case: &ScenarioCase, step: &ScenarioStep, member: &str) -> PeerId {
    step.clients(member).first().map_or(0, |name| case.peer_named(name))
}

/// Returns an empty map.
pub(super) fn empty(span: SourceSpan) -> ValueTemplate {
    ValueTemplate::fixed(span, json!({}))
}

/// Returns a map of the usual members and the members of `more`. A member of `more` replaces a usual member of
/// the same name.
pub(super) fn merged(
    span: SourceSpan,
    usual: Vec<(&str, ValueTemplate)>,
    more: Option<&ValueTemplate>,
) -> ValueTemplate {
    let mut members: Vec<(String, ValueTemplate)> =
        usual.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    for (key, value) in more.map(ValueTemplate::members).unwrap_or_default() {
        members.retain(|(name, _)| name != key);
        members.push((key.clone(), value.clone()));
    }
    ValueTemplate::map(span, members)
}

/// Returns the outcome that a step expects of a request.
pub(super) fn want(step: &ScenarioStep) -> RequestGoal {
    if let (Some(result), Some(error)) = (step.pattern("result"), step.pattern("error")) {
        return RequestGoal::Either(result.clone(), error.clone());
    }
    if let Some(pattern) = step.pattern("error") {
        return match step.flag("closed") {
            true => RequestGoal::Refused(pattern.clone()),
            false => RequestGoal::Error(pattern.clone()),
        };
    }
    if step.flag("closed") {
        return RequestGoal::Closed;
    }
    RequestGoal::Result(step.pattern("result").cloned())
}

/// Returns the text of a prompt that makes an agent play a script: the script of the step, or else the script of the
/// scenario. If the script is empty, the text contains only the name of the scenario, or is empty.
pub(super) fn script(case: &ScenarioCase, step: &ScenarioStep) -> String {
    let script = match step.text("script") {
        Some(script) => script.to_owned(),
        None => case.setup().scenario.agent.clone(),
    };
    // An agent outside the host needs the name of the scenario to which the conversation belongs.
    let named = || format!("{CASE} {} {}", case.setup().name, step.span.start);
    match (script.trim(), case.setup().agent) {
        ("", AgentMode::Model | AgentMode::Acp) if step.text("script").is_some() => named(),
        ("", _) => String::new(),
        (script, AgentMode::Host) => format!("{HEADER}\n{script}"),
        (script, AgentMode::Model | AgentMode::Acp | AgentMode::Fixed) => {
            format!("{HEADER}\n{}\n{script}", named())
        }
    }
}
