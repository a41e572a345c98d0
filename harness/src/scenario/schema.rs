//! Generates the JSON Schema of scenario files, which editors use. The schema is derived from the tables of the
//! scenario language and of the protocol.

use std::collections::BTreeSet;

use crate::ledger::RequirementLedger;
use crate::wire::json::{Map, Value, json};
use crate::wire::protocol::Protocol;

use super::pattern::OPERATORS;
use super::verbs::{FRAGMENT, FormField, MemberForm, SCENARIO, SETTINGS, VERBS, VerbRow};

/// The identifier of the schema. The schema has no public address, so the identifier is not a link.
const ID: &str = "urn:ahp-harness:scenario";

/// Returns the text of the schema file that is checked in next to the scenarios.
pub fn text() -> String {
    let mut text = serde_json::to_string_pretty(&schema()).unwrap_or_default();
    text.push('\n');
    text
}

fn schema() -> Value {
    let mut definitions = Map::new();
    definitions.insert("pattern", pattern());
    definitions.insert("actionType", json!({"enum": action_types()}));
    definitions.insert("method", json!({"enum": methods()}));
    definitions.insert("requirement", json!({"enum": requirements()}));
    definitions.insert("given", json!({"type": "string", "pattern": r"^\$given "}));
    for row in VERBS {
        definitions.insert(row.name.to_owned(), verb(row));
    }
    let verbs = VERBS.iter().map(|row| (row.name.to_owned(), definition(row.name)));
    // An `anyOf` with one alternative per verb would make an editor report an unknown verb as "missing property
    // `connect`".
    let step = json!({
        "if": {"type": "string"},
        "then": definition("given"),
        "else": {
            "type": "object",
            "properties": verbs.collect::<Map>(),
            "additionalProperties": false,
            "minProperties": 1,
            "maxProperties": 1,
        },
    });
    definitions.insert("step", step);
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": ID,
        "title": "AHP scenario",
        "if": {"required": ["scenario"]},
        "then": object(SCENARIO, "A scenario."),
        "else": object(FRAGMENT, "Steps to include."),
        "$defs": definitions,
    })
}

fn definition(name: &str) -> Value {
    json!({"$ref": format!("#/$defs/{name}")})
}

/// Returns the tables of every published version, and the table for agents.
fn tables() -> impl Iterator<Item = &'static Protocol> {
    Protocol::all().chain([Protocol::acp()])
}

fn action_types() -> Vec<&'static str> {
    sorted(tables().flat_map(Protocol::actions).map(|row| row.action_type.as_str()))
}

fn methods() -> Vec<&'static str> {
    sorted(tables().flat_map(Protocol::methods).map(|row| row.name.as_str()))
}

fn requirements() -> Vec<&'static str> {
    sorted(RequirementLedger::all().flat_map(RequirementLedger::iter).map(|row| row.id))
}

/// Sorts names and removes duplicates.
fn sorted(names: impl Iterator<Item = &'static str>) -> Vec<&'static str> {
    names.collect::<BTreeSet<_>>().into_iter().collect()
}

fn verb(row: &VerbRow) -> Value {
    let full = object(row.fields, row.doc);
    match row.short.and_then(|short| row.fields.iter().find(|field| field.name == short)) {
        Some(field) => json!({"description": row.doc, "oneOf": [form(field), full]}),
        None if row.fields.iter().all(|field| !field.required) => {
            json!({"description": row.doc, "oneOf": [{"type": "null"}, full]})
        }
        None => full,
    }
}

fn object(fields: &[FormField], doc: &str) -> Value {
    let required: Vec<_> =
        fields.iter().filter(|field| field.required).map(|field| field.name).collect();
    let properties: Map = fields
        .iter()
        .map(|field| {
            let mut value = form(field);
            value["description"] = json!(field.doc);
            (field.name.to_owned(), value)
        })
        .collect();
    let mut value = json!({
        "type": "object",
        "description": doc,
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    });
    let known = fields.iter().filter_map(|field| Some((field.name.to_owned(), known_name(field)?)));
    let known: Map = known.collect();
    if !known.is_empty() {
        // A step that is malformed on purpose (`deviates`) may have names that the protocol does not define.
        value["if"] = json!({"required": ["deviates"]});
        value["else"] = json!({"properties": known});
    }
    value
}

/// Returns the schema of a member that has to be a name of the protocol; `None` for other members.
fn known_name(field: &FormField) -> Option<Value> {
    let hole = json!({"type": "string", "pattern": r"\$\{"});
    let one_of = |name: &str| json!({"anyOf": [definition(name), hole]});
    match field.form {
        MemberForm::ActionType => Some(one_of("actionType")),
        MemberForm::Method => Some(one_of("method")),
        MemberForm::Action => Some(json!({"properties": {"type": one_of("actionType")}})),
        _ => None,
    }
}

fn form(field: &FormField) -> Value {
    let text = json!({"type": "string"});
    // An editor completes the names of the enumeration, and any other string is valid here as well.
    let completed = |name: &str| json!({"anyOf": [definition(name), text]});
    let one_or_more =
        |item: Value| json!({"oneOf": [item, {"type": "array", "items": item, "minItems": 1}]});
    match field.form {
        MemberForm::Client | MemberForm::Binds | MemberForm::Text => text,
        MemberForm::Clients | MemberForm::Texts => one_or_more(text),
        MemberForm::ActionType => completed("actionType"),
        MemberForm::Method => completed("method"),
        MemberForm::Requirements => one_or_more(completed("requirement")),
        MemberForm::Action => json!({"properties": {"type": completed("actionType")}}),
        MemberForm::Flag => json!({"type": "boolean"}),
        MemberForm::OneOf(words) => json!({"enum": words}),
        MemberForm::Duration => json!({"type": "string", "pattern": "^[0-9]+(ms|s|m)$"}),
        MemberForm::Count => json!({"type": "integer", "minimum": 0}),
        MemberForm::Template => json!({}),
        MemberForm::Values => json!({"type": "object"}),
        MemberForm::Pattern => definition("pattern"),
        MemberForm::Steps => json!({"type": "array", "items": definition("step")}),
        MemberForm::Settings => {
            let settings: Map = SETTINGS
                .iter()
                .map(|name| ((*name).to_owned(), json!({"type": "integer", "minimum": 0})))
                .collect();
            json!({"type": "object", "properties": settings, "additionalProperties": false})
        }
    }
}

/// Returns the schema of patterns: in every object within a pattern, a member that begins with `$` is an
/// operator, or a name in `${…}`; `$$` is an escaped `$`.
fn pattern() -> Value {
    let operators: Map = OPERATORS
        .iter()
        .map(|row| (row.name.to_owned(), json!({"description": row.doc})))
        .collect();
    let names: Vec<&str> = OPERATORS.iter().map(|row| row.name).collect();
    json!({
        "description": "A value, or operators.",
        "properties": operators,
        "propertyNames": {"anyOf": [{"enum": names}, {"pattern": r"^([^$]|\$[${]|$)"}]},
        "additionalProperties": definition("pattern"),
        "items": definition("pattern"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the value at a JSON pointer.
    fn at(pointer: &str) -> Value {
        let value = serde_json::to_value(schema()).unwrap_or_default();
        serde_json::from_value(value.pointer(pointer).cloned().unwrap_or_default())
            .unwrap_or_default()
    }

    #[test]
    fn editors_know_the_names_of_the_protocol() {
        for (pointer, name) in [
            ("/$defs/actionType/enum", "chat/turnCancelled"),
            ("/$defs/actionType/enum", "session/turnCancelled"),
            ("/$defs/method/enum", "createSession"),
            ("/$defs/method/enum", "session/prompt"),
            ("/$defs/requirement/enum", "multi.fanout.all-subscribers"),
            ("/$defs/requirement/enum", "acp.tr-07"),
            ("/$defs/pattern/propertyNames/anyOf/0/enum", "$inOrder"),
        ] {
            let names = at(pointer);
            assert!(names.as_array().is_some_and(|all| all.contains(&json!(name))), "{name}");
        }
        for pointer in [
            "/$defs/dispatch/else/properties/action/properties/type/anyOf/0/$ref",
            "/$defs/expect/else/properties/type/anyOf/0/$ref",
        ] {
            assert_eq!(at(pointer), json!("#/$defs/actionType"), "{pointer}");
        }
        for verb in ["request", "notify"] {
            let pointer = format!("/$defs/{verb}/else/properties/method/anyOf/0/$ref");
            assert_eq!(at(&pointer), json!("#/$defs/method"), "{verb}");
        }
    }
}
