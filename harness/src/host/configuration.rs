//! What the reference host offers: its agents, and the configuration of host and sessions.
//!
//! Knows: the shape of configuration schemas. Never knows: who changes a value, or when.
//!
//! Start at [`root_state`].

use crate::wire::json::{Map, Text, Value, json};

use super::auth;

/// The provider of sessions that name none.
pub const PROVIDER: &str = "scripted";
/// The one model of every agent.
const MODEL: &str = "script-1";
/// The providers, the one that sessions have by themselves first; all of them play scripts.
const PROVIDERS: &[&str] = &[PROVIDER, "guarded", "obliging", "plain", "single", ROAMING];
/// The one that can change the directory that it works in first.
const ROAMING: &str = "roaming";

/// Whether there is an agent of this provider.
pub(super) fn has_provider(name: &str) -> bool {
    PROVIDERS.contains(&name)
}

/// What the agent of a provider offers.
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
        "guarded" => ("Guarded agent", Some(auth::metadata(auth::TOKEN.0, true))),
        ROAMING => ("Roaming agent", None),
        "obliging" => ("Obliging agent", Some(auth::metadata(auth::EXTRAS, false))),
        "plain" => ("Agent that makes no chats of others", None),
        "single" => ("Agent with one chat a session", None),
        _ => ("Scripted agent", None),
    };
    let mut agent = json!({
        "provider": provider,
        "displayName": name,
        "description": "Plays the script that the prompt holds, or says the prompt back.",
        "models": [{"id": MODEL, "provider": provider, "name": "Script 1"}],
        "capabilities": capabilities(provider),
    });
    if provider == ROAMING {
        agent["capabilities"]["multipleWorkingDirectories"]["primaryReplacement"] = json!(true);
    }
    if let Some(resource) = protected {
        agent["protectedResources"] = json!([resource]);
    }
    agent
}

/// The first state of the root channel.
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
        },
        "telemetry": {"type": "boolean", "title": "Telemetry", "default": false},
        "hostName": {
            "type": "string", "title": "Host name", "readOnly": true, "default": "reference",
        },
    }})
}

/// The schema of a session's configuration.
pub(super) fn session_schema() -> Value {
    json!({"type": "object", "properties": {
        "mode": {
            "type": "string", "title": "Mode", "enum": ["ask", "act"], "default": "act",
            "sessionMutable": true,
        },
        "note": {"type": "string", "title": "Note", "default": "", "sessionMutable": true},
        "isolation": {
            "type": "string", "title": "Isolation", "enum": ["none", "folder"], "default": "none",
        },
    }})
}

/// The values that a schema names as its defaults.
pub(super) fn defaults(schema: &Value) -> Value {
    let properties = schema["properties"].as_object();
    let with_default = |(name, property): (&Text, &Value)| {
        property.get("default").map(|value| (name.clone(), value.clone()))
    };
    let values: Map = properties.into_iter().flatten().filter_map(with_default).collect();
    Value::Object(values)
}

/// The values of a new session: the defaults, and over them what was asked for.
pub(super) fn session_values(wanted: &Value) -> Result<Value, String> {
    let schema = session_schema();
    check(&schema, wanted)?;
    let mut values = defaults(&schema);
    for (name, value) in wanted.as_object().into_iter().flatten() {
        values[name.as_str()] = value.clone();
    }
    Ok(values)
}

/// Whether values are of the types and in the sets that a schema names.
pub(super) fn check(schema: &Value, values: &Value) -> Result<(), String> {
    for (name, value) in values.as_object().into_iter().flatten() {
        let Some(property) = schema["properties"].get(name) else {
            return Err("no such property in the configuration".to_owned());
        };
        let fits = match property["type"].as_str() {
            Some("boolean") => value.is_boolean(),
            Some("number") => value.is_number(),
            _ => value.is_string(),
        };
        let listed = property.get("enum").and_then(Value::as_array);
        if !fits || listed.is_some_and(|list| !list.contains(value)) {
            return Err(format!("the schema does not allow this value of `{name}`"));
        }
    }
    Ok(())
}

/// Whether an action may change the configuration of a state: the values fit, and what may not be
/// changed stays as it is, by omission and by `replace` too.
pub(super) fn check_change(state: &Value, action: &Value, frozen: Frozen) -> Result<(), String> {
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

/// Which properties a client may not change.
#[derive(Clone, Copy, Debug)]
pub(super) enum Frozen {
    /// Those marked `readOnly`.
    ReadOnly,
    /// All but those marked `sessionMutable`.
    NotMutable,
}

impl Frozen {
    fn holds(self, property: &Value) -> bool {
        match self {
            Frozen::ReadOnly => property["readOnly"] == true,
            Frozen::NotMutable => property["sessionMutable"] != true,
        }
    }
}
