//! The agents of the reference host, and the configuration of the host and of sessions.
//!
//! Knows: the shape of configuration schemas. Never knows: the time and the sender of a change.
//!
//! Start at [`root_state`].

use crate::wire::json::{Map, Text, Value, json};

use super::protected;

/// The default provider of a session.
pub const PROVIDER: &str = "scripted";
/// The providers, with the default provider first. All providers run agent scripts.
const PROVIDERS: &[&str] = &[PROVIDER, "guarded", "obliging", "plain", "single", ROAMING];
/// The provider whose agent can change its primary working directory.
const ROAMING: &str = "roaming";

/// Returns whether the host has an agent of this provider.
pub(super) fn has_provider(name: &str) -> bool {
    PROVIDERS.contains(&name)
}

/// Returns the capabilities of a provider's agent.
pub(super) fn capabilities(provider: &str) -> Value {
    match provider {
        "single" => json!({}),
        "plain" => json!({"multipleChats": {}}),
        _ => json!({
            "multipleChats": {"fork": true, "sideChat": true},
            "multipleWorkingDirectories": {},
        }),
    }
}

fn agent(provider: &str) -> Value {
    let (name, protected) = match provider {
        "guarded" => ("Guarded agent", Some(protected::metadata(protected::TOKEN.0, true))),
        ROAMING => ("Roaming agent", None),
        "obliging" => ("Obliging agent", Some(protected::metadata(protected::EXTRAS, false))),
        "plain" => ("Agent without forks and side chats", None),
        "single" => ("Agent with one chat per session", None),
        _ => ("Scripted agent", None),
    };
    let mut agent = json!({
        "provider": provider,
        "displayName": name,
        "description": "Plays the script that the prompt holds, or says the prompt back.",
        "models": models(provider),
        "capabilities": capabilities(provider),
    });
    if provider == PROVIDER {
        agent["customizations"] = json!([{
            "type": "plugin", "id": "agent-words", "uri": "file:///host/plugins/words",
            "name": "Words of the agent", "enablement": [{"kind": "global", "enabled": true}],
        }]);
    }
    if provider == ROAMING {
        agent["capabilities"]["multipleWorkingDirectories"]["primaryReplacement"] = json!(true);
    }
    if let Some(resource) = protected {
        agent["protectedResources"] = json!([resource]);
    }
    agent
}

/// Returns the models of a provider's agent. The default provider has a usable model, a model that its owner
/// has disabled, and a model that is not set up.
fn models(provider: &str) -> Value {
    if provider != PROVIDER {
        return json!([{"id": "script-1", "provider": provider, "name": "Script 1"}]);
    }
    let thinking = json!({
        "type": "string", "title": "Thinking", "enum": ["low", "high"], "default": "low",
    });
    let schema =
        json!({"type": "object", "properties": {"thinking": thinking}, "required": ["thinking"]});
    json!([
        {
            "id": "script-1", "provider": provider, "name": "Script 1", "maxContextWindow": 8_192,
            "supportsVision": true, "policyState": "enabled", "configSchema": schema,
            "_meta": {"x-pace": "even"},
        },
        {"id": "script-0", "provider": provider, "name": "Script 0", "policyState": "disabled"},
        {"id": "script-2", "provider": provider, "name": "Script 2", "policyState": "unconfigured"},
    ])
}

/// Returns the first state of the root channel.
pub(super) fn root_state() -> Value {
    let agents: Vec<Value> = PROVIDERS.iter().map(|provider| agent(provider)).collect();
    json!({
        "agents": agents,
        "activeSessions": 0,
        "terminals": [],
        "config": {"schema": root_schema(), "values": defaults(&root_schema())},
    })
}

fn root_schema() -> Value {
    json!({"type": "object", "properties": {
        "verbosity": {
            "type": "string", "title": "Verbosity",
            "enum": ["quiet", "normal", "loud"], "default": "normal",
        },
        "greeting": {"type": "string", "title": "Greeting", "default": ""},
        "approvals": {
            "type": "string", "title": "Approvals", "enum": ["ask", "allow"], "default": "ask",
            "description": "The decision about tool calls that the user has not decided.",
            "enumLabels": ["Ask", "Allow"],
            "enumDescriptions": ["Somebody is asked.", "They run."],
        },
        "limits": limits(),
        "labels": labels(),
        "telemetry": {"type": "boolean", "title": "Telemetry", "default": false},
        "hostName": {
            "type": "string", "title": "Host name", "readOnly": true, "default": "reference",
        },
    }, "required": ["verbosity"]})
}

/// Returns an example property of type object.
fn limits() -> Value {
    let turns = json!({"type": "number", "title": "Turns", "default": 100});
    json!({
        "type": "object", "title": "Limits", "properties": {"turns": turns}, "required": ["turns"],
        "default": {"turns": 100},
    })
}

/// Marks a property as changeable during a session (`sessionMutable`).
fn mutable(mut property: Value) -> Value {
    property["sessionMutable"] = json!(true);
    property
}

/// Returns an example property of type array.
fn labels() -> Value {
    json!({
        "type": "array", "title": "Labels", "items": {"type": "string", "title": "Label"},
        "default": [],
    })
}

/// Returns the schema of a session's configuration.
pub(super) fn session_schema() -> Value {
    json!({"type": "object", "properties": {
        "mode": {
            "type": "string", "title": "Mode", "enum": ["ask", "act"], "default": "act",
            "description": "Whether the agent acts or asks.", "enumLabels": ["Ask", "Act"],
            "enumDescriptions": ["It asks first.", "It acts."], "sessionMutable": true,
        },
        "branch": {
            "type": "string", "title": "Branch", "enumDynamic": true, "default": "main",
            "sessionMutable": true,
        },
        "limits": mutable(limits()),
        "labels": mutable(labels()),
        "runner": {"type": "string", "title": "Runner", "readOnly": true},
        "note": {"type": "string", "title": "Note", "default": "", "sessionMutable": true},
        "isolation": {
            "type": "string", "title": "Isolation", "enum": ["none", "folder"], "default": "none",
        },
    }, "required": ["mode"]})
}

/// Returns the default values of a schema.
pub(super) fn defaults(schema: &Value) -> Value {
    let properties = schema["properties"].as_object();
    let with_default = |(name, property): (&Text, &Value)| {
        property.get("default").map(|value| (name.clone(), value.clone()))
    };
    let values: Map = properties.into_iter().flatten().filter_map(with_default).collect();
    Value::Object(values)
}

/// Returns the values of a new session: the defaults, overridden by the requested values. Fails if a requested
/// value does not fit the schema.
pub(super) fn session_values(wanted: &Value) -> Result<Value, String> {
    let schema = session_schema();
    check(&schema, wanted)?;
    let mut values = defaults(&schema);
    for (name, value) in wanted.as_object().into_iter().flatten() {
        values[name.as_str()] = value.clone();
    }
    Ok(values)
}

/// The branches, as completions for a property whose schema does not enumerate its values.
const BRANCHES: &[(&str, &str)] =
    &[("main", "What is published."), ("next", "What is to be published next.")];

/// Returns the completions for the value of a session configuration property.
pub(super) fn completions(property: &str, query: &str) -> Value {
    let rows = BRANCHES.iter().filter(|(name, _)| property == "branch" && name.starts_with(query));
    rows.map(|(name, about)| json!({"value": name, "label": name, "description": about})).collect()
}

/// Checks values against the types and enumerations of a schema.
pub(super) fn check(schema: &Value, values: &Value) -> Result<(), String> {
    for (name, value) in values.as_object().into_iter().flatten() {
        let Some(property) = schema["properties"].get(name) else {
            return Err("no such property in the configuration".to_owned());
        };
        let fits = match property["type"].as_str() {
            Some("boolean") => value.is_boolean(),
            Some("number") => value.is_number(),
            Some("array") => value.is_array(),
            Some("object") => value.is_object() && check(property, value).is_ok(),
            _ => value.is_string(),
        };
        let listed = property.get("enum").and_then(Value::as_array);
        if !fits || listed.is_some_and(|list| !list.contains(value)) {
            return Err(format!("the schema does not allow this value of `{name}`"));
        }
    }
    Ok(())
}

/// Checks a change of a state's configuration: the values have to fit the schema, and frozen properties have to
/// keep their values, also when `replace` would remove them.
pub(super) fn check_change(
    state: &Value,
    action: &Value,
    frozen: FrozenProperties,
) -> Result<(), String> {
    let Some(config) = state.get("config") else {
        return Err("there is no configuration".to_owned());
    };
    let (schema, current) = (&config["schema"], &config["values"]);
    let wanted = &action["config"];
    check(schema, wanted)?;
    let replace = action["replace"].as_bool().unwrap_or(false);
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        if !frozen.holds(property) {
            continue;
        }
        let same = match wanted.get(name) {
            Some(value) => current.get(name) == Some(value),
            None => !replace || current.get(name).is_none(),
        };
        if !same {
            return Err(format!("`{name}` cannot be changed"));
        }
    }
    Ok(())
}

/// The properties that a client may not change.
#[derive(Clone, Copy, Debug)]
pub(super) enum FrozenProperties {
    /// The properties marked `readOnly`.
    ReadOnly,
    /// The properties not marked `sessionMutable`.
    NotMutable,
}

impl FrozenProperties {
    fn holds(self, property: &Value) -> bool {
        match self {
            FrozenProperties::ReadOnly => property["readOnly"] == true,
            FrozenProperties::NotMutable => property["sessionMutable"] != true,
        }
    }
}
