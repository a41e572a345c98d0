//! Formats a scenario for a person, with one line per step. Each line begins with the names of the clients that act in
//! the step.
//!
//! ```text
//! A,B  open
//! A    dispatch chat/toolCallConfirmed   { turnId: t1 } -> rejected
//! ```

use super::parse::{ParsedScenario, ScenarioStep, StepValue};
use super::verbs::StepVerb;

/// Formats the steps of a scenario, one line per step.
pub fn text(scenario: &ParsedScenario) -> String {
    scenario.steps.iter().map(|step| format!("{}\n", line(step))).collect()
}

fn line(step: &ScenarioStep) -> String {
    let row = step.verb.row();
    let who: Vec<&str> = step.actors().map(|(_, name)| name.as_str()).collect();
    let who = who.join(",");
    let mut parts = vec![format!("{who:<5}{}", row.name)];
    let skipped: Vec<&str> = row.client_members().collect();
    for (name, _, given) in step.members.iter().filter(|(name, ..)| !skipped.contains(name)) {
        let value = spelled(given);
        let shown = match (*name, step.verb) {
            ("type" | "method" | "file" | "hold", _) => value,
            ("action", StepVerb::Dispatch) => value,
            _ => format!("{name}: {value}"),
        };
        parts.push(shown);
    }
    parts.join("  ")
}

fn spelled(given: &StepValue) -> String {
    match given {
        StepValue::Names(names) => names.join(","),
        StepValue::Text(text) => text.clone(),
        StepValue::Flag(flag) => flag.to_string(),
        StepValue::Duration(duration) => format!("{duration:?}"),
        StepValue::Count(count) => count.to_string(),
        StepValue::Template(template) => match template.spelled() {
            crate::wire::json::Value::String(text) => text.into_string(),
            value => value.to_string(),
        },
        StepValue::Pattern(pattern) => pattern.spelled(),
    }
}
