//! Selects a property of a configuration that a scenario can change. The schema in the state of a channel lists the
//! properties.
//!
//! Each host chooses its own properties. A scenario therefore describes a kind of property and uses the first property
//! that matches. The schema also determines the values that a scenario uses: a permitted value other than the current
//! value, and a value that is not permitted.
//!
//! Knows: the schemas of configurations. Never knows: who changes the property.
//!
//! Start at [`values`].

use crate::wire::json::{Value, json};

/// The string to which the harness sets a property if its schema lists no values.
const TEXT: &str = "ahp-harness";
/// Values that leave the choice to the host, or that disable the property. Other values are preferred, because their
/// effect is easier to observe.
const NO_CHOICES: &[&str] = &["", "auto", "default", "none", "off"];

/// Returns the values of a property that a scenario can use: the current value, another permitted value, and a
/// value that is not permitted. Returns `None` if these values cannot be derived from the schema.
pub(super) fn values(property: &Value, now: Option<&Value>) -> Option<Value> {
    let now = now.or(property.get("default")).unwrap_or(&Value::Null);
    let listed = property["enum"].as_array();
    let is_plain =
        |value: &&Value| !value.as_str().is_some_and(|value| NO_CHOICES.contains(&value));
    let other = match (listed, property["type"].as_str()?) {
        (Some(listed), _) => {
            let others = || listed.iter().filter(|value| *value != now);
            others().find(is_plain).or_else(|| others().next())?.clone()
        }
        (None, "boolean") => json!(*now != true),
        (None, "string") if property["enumDynamic"] != true => json!(TEXT),
        (None, _) => return None,
    };
    let wrong = match property["type"].as_str()? {
        "string" if listed.is_some() => json!("ahp-harness-no-such-value"),
        "string" => json!(7),
        _ => json!({"ahp-harness": "no such value"}),
    };
    (other != *now).then(|| json!({"now": now, "other": other, "wrong": wrong}))
}

/// Returns the properties of a configuration for which [`values`] returns values, each with its schema.
/// Properties with a list of values come first, because a host may restrict a free string more than its schema says. A
/// configuration of a model is a schema without current values.
pub(super) fn properties(config: &Value) -> Vec<(String, &Value, Value)> {
    let schema = config.get("schema").unwrap_or(config);
    let schemas = schema["properties"].as_object();
    let with_values = schemas.into_iter().flatten().filter_map(|(key, property)| {
        let values = values(property, config["values"].get(key.as_str()))?;
        Some((key.to_string(), property, values))
    });
    let mut properties: Vec<_> = with_values.collect();
    properties.sort_by_key(|(_, property, _)| !property["enum"].is_array());
    properties
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generates_valid_values_and_an_invalid_one() {
        let check = |property: Value, now: Option<Value>, expected: Option<(Value, Value)>| {
            let found = values(&property, now.as_ref());
            let found = found.map(|found| (found["other"].clone(), found["wrong"].clone()));
            assert_eq!(found, expected, "{property}");
        };
        let wrong = json!({"ahp-harness": "no such value"});
        let listed = json!({"type": "string", "enum": ["a", "b"]});
        let none = json!("ahp-harness-no-such-value");
        check(listed.clone(), Some(json!("a")), Some((json!("b"), none.clone())));
        check(listed, None, Some((json!("a"), none)));
        check(json!({"type": "string", "enum": ["a"]}), Some(json!("a")), None);
        let levels = json!({"type": "string", "enum": ["none", "low", "high"], "default": "high"});
        check(levels, None, Some((json!("low"), json!("ahp-harness-no-such-value"))));
        let flag = json!({"type": "boolean", "default": true});
        check(flag, None, Some((json!(false), wrong)));
        check(json!({"type": "string"}), None, Some((json!(TEXT), json!(7))));
        check(json!({"type": "string", "enumDynamic": true}), None, None);
        check(json!({"type": "object"}), None, None);
        check(json!({}), None, None);
    }

    #[test]
    fn lists_come_before_free_texts() {
        let config = json!({"schema": {"properties": {
            "text": {"type": "string"},
            "object": {"type": "object"},
            "list": {"type": "string", "enum": ["a", "b"]},
        }}, "values": {"list": "b"}});
        let found: Vec<_> = properties(&config).into_iter().map(|(key, ..)| key).collect();
        assert_eq!(found, ["list", "text"]);
        let bare: Vec<_> = properties(&config["schema"]).into_iter().map(|(key, ..)| key).collect();
        assert_eq!(bare, ["list", "text"]);
    }
}
