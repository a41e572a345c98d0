//! A draft of a scenario: its steps are JSON values that can be generated, removed and shrunk before they
//! become a scenario or a scenario file.
//!
//! Knows: the members of a scenario file. Never knows: the generation of steps.
//!
//! Start at [`ScenarioDraft`].

use std::sync::Arc;

use crate::run::suite::{CarriedFiles, SuiteEntry};
use crate::scenario::load::{load, tree};
use crate::scenario::parse::ParsedScenario;
use crate::scenario::verbs::VERBS;
use crate::scenario::write::{self, WrittenTree};
use crate::wire::channel::ROOT;
use crate::wire::json::{Map, Value, json};
use crate::wire::version::{ProtocolStandard, Version};

use super::draft_step::{rule_of, verb_of};
use super::offered::needs;

/// A scenario whose steps are JSON values: objects with one member, as in a scenario file.
#[derive(Clone, Debug, PartialEq)]
pub struct ScenarioDraft {
    /// The scenario's id.
    pub id: String,
    /// The scenario's title.
    pub title: String,
    /// The version whose vocabulary the steps use.
    pub since: Version,
    /// The names of the scenario's clients.
    pub clients: Vec<String>,
    /// The client that approves every tool call that waits for a confirmation, or that allows every request of an agent
    /// for permission. If this is `None`, steps answer these requests.
    pub approves: Option<String>,
    /// The abilities that an agent needs for the draft, or the capabilities that a host needs for the draft's base.
    /// Further capabilities of a host follow from the steps.
    pub needs: Vec<&'static str>,
    /// The client under test; `None` for a scenario about a host or an agent.
    pub tested: Option<TestedDraft>,
    /// The steps.
    pub steps: Vec<Value>,
}

/// The additional members in the file of a scenario about a client.
#[derive(Clone, Debug, PartialEq)]
pub struct TestedDraft {
    /// The name of the client under test.
    pub client: String,
    /// The settings of the host that the harness plays.
    pub host: Value,
    /// The requirements that the scenario itself defines.
    pub requirements: Value,
}

/// The requirement that a draft about a host tests if it has no other claim: no message of a client may make a host
/// unresponsive.
pub const ANYTHING: &str = "security.no-crash-fuzz";
/// The requirement that a draft about an agent tests if it has no other claim: an agent answers every request.
pub const ANSWERS_ALL: &str = "acp.tr-04";

impl ScenarioDraft {
    /// Returns the versions for which the expectations hold. Expectations from the tables of a version are also valid
    /// for later versions. Steps of a version with another vocabulary may not be valid for later versions.
    fn spec(&self) -> String {
        let newer = Version::offered().contains(&self.since);
        format!("{}{}", if newer { ">=" } else { "" }, self.since)
    }

    /// Returns whether the draft is a conversation with an agent under test.
    pub fn is_about_agents(&self) -> bool {
        self.since.standard == ProtocolStandard::Acp
    }

    /// Returns the index of the first step that restarts the host; `None` if no step does.
    pub fn restart(&self) -> Option<usize> {
        self.steps.iter().position(|step| step.get("restart").is_some())
    }

    /// Returns the members of the file, without the steps.
    fn head(&self) -> Vec<(&'static str, Value)> {
        let mut head = vec![
            ("scenario", json!(self.id)),
            ("title", json!(self.title)),
            ("spec", json!(self.spec())),
        ];
        if self.steps.iter().any(|step| step.get("turn").is_some()) {
            head.push(("profile", json!("agent")));
        }
        if self.steps.iter().any(|step| step.pointer("/send/size").is_some()) {
            head.push(("aggressive", json!(true)));
        }
        if let Some(tested) = &self.tested {
            head.push(("tests", json!((tested.client.as_str()))));
            head.push(("requirements", tested.requirements.clone()));
            if tested.host.as_object().is_some_and(|settings| !settings.is_empty()) {
                head.push(("host", tested.host.clone()));
            }
        }
        let needed = match self.is_about_agents() || self.tested.is_some() {
            true => self.needs.clone(),
            false => needs(&self.needs, &self.steps),
        };
        if !needed.is_empty() {
            head.push(("needs", json!(needed)));
        }
        if let Some(client) = &self.approves {
            head.push(("approves", json!((client.as_str()))));
        }
        head.push(("clients", json!(self.clients)));
        head
    }

    /// Returns the steps. If no step tests a requirement of a host or an agent, adds a claim at the end: the host has to
    /// serve a further client, or the agent has to answer another request.
    fn claiming(&self) -> Vec<Value> {
        let mut steps = self.steps.clone();
        if self.is_about_agents() {
            if !steps.iter().any(claims) {
                steps.push(json!({"request": {
                    "by": "A", "method": "session/new", "params": {"cwd": "${work}", "mcpServers": []},
                    "result": {}, "error": {}, "proves": ANSWERS_ALL,
                }}));
            }
        } else if self.tested.is_none() && !steps.iter().any(|step| rule_of(step).is_some()) {
            steps.push(json!({"snapshot": {"of": ROOT, "state": {}, "proves": ANYTHING}}));
        }
        steps
    }

    /// Returns the scenario in the form in which it is played.
    ///
    /// # Errors
    /// Returns the first mistake in the scenario, such as a name that no step binds.
    pub fn scenario(&self) -> Result<ParsedScenario, String> {
        let mut root: Map = self.head().into_iter().collect();
        root.insert("steps".to_owned(), Value::Array(self.claiming()));
        match tree(&Value::Object(root)) {
            (Some(scenario), errors) if errors.is_empty() => Ok(scenario),
            (_, errors) => Err(errors.first().map(ToString::to_string).unwrap_or_default()),
        }
    }

    /// Returns the text of the scenario file.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (key, value) in self.head() {
            write::member(&mut text, 0, key, &WrittenTree::of(&value));
        }
        text.push_str("steps:\n");
        for (verb, members) in self.claiming().iter().filter_map(verb_of) {
            let members = members.as_object().into_iter().flatten();
            let members = members
                .filter_map(|(key, value)| Some((known(verb, key)?, WrittenTree::of(value))));
            write::step(&mut text, &write::WrittenStep { verb, members: members.collect() });
        }
        text
    }

    /// Returns the scenario as it is loaded from its file, with the text of the file.
    ///
    /// # Errors
    /// Returns the first mistake in the scenario.
    pub fn entry(&self) -> Result<SuiteEntry, String> {
        let path = format!("{}.yaml", self.id);
        let loaded = load(&path, &self.text(), &CarriedFiles);
        if let Some(error) = loaded.errors.first() {
            return Err(error.to_string());
        }
        let scenario = loaded.scenario.ok_or("no scenario")?;
        Ok(SuiteEntry { scenario: Arc::new(scenario), sources: loaded.sources.into() })
    }
}

/// Returns whether a step tests a requirement.
fn claims(step: &Value) -> bool {
    verb_of(step).is_some_and(|(_, members)| members.get("proves").is_some())
}

fn known(verb: &str, key: &str) -> Option<&'static str> {
    let row = VERBS.iter().find(|row| row.name == verb)?;
    row.fields.iter().find(|field| field.name == key).map(|field| field.name)
}
