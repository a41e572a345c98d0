//! A scenario as text for a person: one line a step, who acts first.
//!
//! ```text
//! A,B  open
//! A    dispatch chat/toolCallConfirmed   { turnId: t1 } -> rejected
//! ```

use super::parse::{Given, Scenario, Step};
use super::verbs::Verb;

/// The steps of a scenario, a line each.
pub fn text(scenario: &Scenario) -> String {
    scenario.steps.iter().map(|step| format!("{}\n", line(step))).collect()
}

fn line(step: &Step) -> String {
    let row = step.verb.row();
    let who = [step.clients("by"), step.clients("at")].concat().join(",");
    let mut parts = vec![format!("{who:<5}{}", row.name)];
    let skipped = ["by", "at"];
    for (name, _, given) in step.members.iter().filter(|(name, ..)| !skipped.contains(name)) {
        let value = spelled(given);
        let shown = match (*name, step.verb) {
            ("type" | "method" | "file" | "hold", _) => value,
            ("action", Verb::Dispatch) => value,
            _ => format!("{name}: {value}"),
        };
        parts.push(shown);
    }
    parts.join("  ")
}

fn spelled(given: &Given) -> String {
    match given {
        Given::Names(names) => names.join(","),
        Given::Text(text) => text.clone(),
        Given::Flag(flag) => flag.to_string(),
        Given::Duration(duration) => format!("{duration:?}"),
        Given::Count(count) => count.to_string(),
        Given::Template(template) => match template.spelled() {
            crate::wire::json::Value::String(text) => text.into_string(),
            value => value.to_string(),
        },
        Given::Pattern(pattern) => pattern.spelled(),
    }
}
