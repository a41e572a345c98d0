//! The scenarios of the suite with which generated conversations begin (bases). Their steps are in the form of a draft.
//!
//! Knows: the embedded scenarios, the members of a scenario file. Never knows: the use of a base.
//!
//! Start at [`bases`].

use std::sync::OnceLock;

use crate::run::suite::{CARRIED, CarriedFiles, SuiteEntry};
use crate::scenario::capability::{self, ABILITIES};
use crate::scenario::load::{expanded, load};
use crate::wire::json::{Value, json};

/// A scenario of the suite as the base of a conversation.
#[derive(Debug)]
pub struct BaseScenario {
    /// The scenario as it was loaded from the suite.
    pub entry: SuiteEntry,
    /// The steps, each with all its members written out, and with its own copy of the scenario's script.
    pub steps: Vec<Value>,
}

impl BaseScenario {
    /// Returns the capabilities of a host, or the abilities of an agent, that the scenario needs.
    pub fn needs(&self) -> Vec<&'static str> {
        let known = |need: &String| {
            let ability = || ABILITIES.iter().find(|name| *name == need).copied();
            capability::named(need).map(|row| row.name).or_else(ability)
        };
        self.entry.scenario.needs.iter().filter_map(known).collect()
    }
}

/// Returns every scenario about hosts and agents that is embedded in the binary.
pub fn bases() -> &'static [BaseScenario] {
    static ALL: OnceLock<Vec<BaseScenario>> = OnceLock::new();
    ALL.get_or_init(|| CARRIED.iter().filter_map(|(path, text)| base(path, text)).collect())
}

fn base(path: &str, text: &str) -> Option<BaseScenario> {
    let loaded = load(path, text, &CarriedFiles);
    let scenario = loaded.scenario.filter(|_| loaded.errors.is_empty())?;
    if scenario.tested.is_some() {
        return None;
    }
    let root = expanded(path, text, &CarriedFiles)?;
    let agent = scenario.agent.as_str();
    let steps = root["steps"].as_array()?.iter();
    let steps = steps.map(|step| with_script(step.clone(), agent)).collect();
    let entry = SuiteEntry { scenario: scenario.into(), sources: loaded.sources.into() };
    Some(BaseScenario { entry, steps })
}

/// Returns a step with its own copy of the scenario's script, if it prompts the agent without a script.
fn with_script(mut step: Value, agent: &str) -> Value {
    for verb in ["prompt", "turn"] {
        let members = step.get_mut(verb).and_then(Value::as_object_mut);
        if let Some(members) = members.filter(|it| !agent.is_empty() && it.get("script").is_none())
        {
            members.insert("script", json!(agent));
        }
    }
    step
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every scenario file that does not test a client becomes a base. This includes files with fragments and files
    /// with steps in the short form.
    #[test]
    fn every_scenario_is_read() {
        let files = CARRIED
            .iter()
            .filter(|(_, text)| text.lines().any(|line| line.starts_with("scenario: ")))
            .filter(|(_, text)| text.lines().all(|line| !line.starts_with("tests: ")));
        assert_eq!(bases().len(), files.count());
        for BaseScenario { entry, steps } in bases() {
            assert_eq!(steps.len(), entry.scenario.steps.len(), "{}", entry.scenario.id);
        }
    }
}
