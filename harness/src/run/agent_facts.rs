//! The facts that an agent states about itself during the first look: its capabilities, and the modes and
//! options of its sessions.
//!
//! Knows: the answers to `initialize` and `session/new`. Never knows: processes, scenarios.
//!
//! Start at [`AgentFacts::rows`].

use crate::wire::json::Value;

use super::detect::DetectedFeature;

/// The answers of an agent to `initialize` and `session/new`.
#[derive(Clone, Debug, Default)]
pub struct AgentFacts {
    /// The `agentCapabilities`; null if the agent declares none.
    pub capabilities: Value,
    /// The answer to `session/new`; null if there is no answer.
    pub session: Value,
}

/// The optional capabilities of an agent, each with its name in reports and the JSON pointer into `agentCapabilities`.
const DECLARED: &[(&str, &str)] = &[
    ("load sessions", "/loadSession"),
    ("resume sessions", "/sessionCapabilities/resume"),
    ("list sessions", "/sessionCapabilities/list"),
    ("close sessions", "/sessionCapabilities/close"),
    ("delete sessions", "/sessionCapabilities/delete"),
    ("images in prompts", "/promptCapabilities/image"),
    ("sounds in prompts", "/promptCapabilities/audio"),
    ("resources in prompts", "/promptCapabilities/embeddedContext"),
    ("MCP over HTTP", "/mcpCapabilities/http"),
    ("MCP over SSE", "/mcpCapabilities/sse"),
    ("log out", "/auth/logout"),
];

fn items<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Returns the possible values of a session option, including the values that are in groups.
fn values(option: &Value) -> Vec<&str> {
    let values = items(option, "options").iter().flat_map(|value| match items(value, "options") {
        [] => std::slice::from_ref(value),
        inner => inner,
    });
    values.filter_map(|value| value["value"].as_str()).collect()
}

impl AgentFacts {
    /// Returns the identifiers of the session's modes.
    pub fn modes(&self) -> Vec<String> {
        let modes = items(&self.session["modes"], "availableModes").iter();
        modes.filter_map(|mode| mode["id"].as_str()).map(str::to_owned).collect()
    }

    /// Returns one line per session option: its identifier, its current value and its possible values.
    pub fn options(&self) -> Vec<String> {
        let option = |option: &Value| {
            let values = values(option);
            let (id, now) =
                (option["id"].as_str().unwrap_or_default(), option["currentValue"].to_text());
            format!("`{id}` is {now}, out of {}", values.join(" | "))
        };
        items(&self.session, "configOptions").iter().map(option).collect()
    }

    /// Returns the option values other than the current ones, each with the identifier of its option. The values of
    /// options that set the mode come first. The options for the model and for its reasoning level are left out.
    pub fn other_values(&self) -> Vec<(String, String)> {
        let options = items(&self.session, "configOptions").iter();
        let is_of = |option: &Value, names: &[&str]| {
            names.iter().any(|name| option["category"] == *name || option["id"] == *name)
        };
        let mut options: Vec<&Value> =
            options.filter(|option| !is_of(option, &["model", "thought_level"])).collect();
        options.sort_by_key(|option| !is_of(option, &["mode"]));
        let values = options.into_iter().flat_map(|option| {
            let others =
                values(option).into_iter().filter(|value| option["currentValue"] != **value);
            others.map(|value| {
                (option["id"].as_str().unwrap_or_default().to_owned(), value.to_owned())
            })
        });
        values.collect()
    }

    /// Returns the identifiers of the session's `models`, a member that the protocol had until June 2026.
    fn models(&self) -> Vec<String> {
        let models = items(&self.session["models"], "availableModels").iter();
        models.filter_map(|model| model["modelId"].as_str()).map(str::to_owned).collect()
    }

    /// Returns the facts as rows for a report.
    pub fn rows(&self) -> Vec<DetectedFeature> {
        let declared = DECLARED.iter().map(|(name, pointer)| {
            let value = self.capabilities.pointer(pointer);
            let offered = value.is_some_and(|it| !it.is_null() && it.as_bool() != Some(false));
            let how = if offered {
                "declares it in `initialize`"
            } else {
                "does not declare it in `initialize`"
            };
            DetectedFeature::new(name, offered, how)
        });
        let (modes, options, models) = (self.modes(), self.options(), self.models());
        let listed = |name: &str, all: &[String]| match all {
            [] => DetectedFeature::new(name, false, "the answer to `session/new` has none"),
            all => DetectedFeature::new(name, true, all.join("; ")),
        };
        let set = [listed("modes", &modes), listed("options", &options)];
        let models = (!models.is_empty()).then(|| listed("models", &models));
        declared.chain(set).chain(models).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::json::json;

    #[test]
    fn declared_capabilities_modes_and_options_are_reported() {
        let facts = AgentFacts {
            capabilities: json!({"loadSession": true, "sessionCapabilities": {"list": {}, "close": null}}),
            session: json!({
                "modes": {"currentModeId": "a", "availableModes": [{"id": "a"}, {"id": "b"}]},
                "configOptions": [{
                    "id": "model", "currentValue": "x", "options": [{"group": "g", "options": [{"value": "x"}]}],
                }],
            }),
        };
        let rows = facts.rows();
        let offered =
            |name: &str| rows.iter().find(|row| row.capability == name).map(|row| row.offered);
        assert_eq!(offered("load sessions"), Some(true));
        assert_eq!(offered("list sessions"), Some(true));
        assert_eq!(offered("close sessions"), Some(false));
        assert_eq!(facts.modes(), ["a", "b"]);
        assert_eq!(facts.options(), ["`model` is \"x\", out of x"]);
    }
}
