//! Generates the JSON Schema of scenario files for editors from the tables.

use crate::wire::json::{Map, Value, json};

use super::pattern::OPERATORS;
use super::verbs::{FRAGMENT, FormField, MemberForm, SCENARIO, SETTINGS, VERBS, VerbRow};

/// Returns the text of the schema file that is checked in next to the scenarios.
pub fn text() -> String {
    let mut text = serde_json::to_string_pretty(&schema()).unwrap_or_default();
    text.push('\n');
    text
}

fn schema() -> Value {
    let mut definitions = Map::new();
    definitions.insert("pattern", pattern());
    for row in VERBS {
        definitions.insert(row.name.to_owned(), verb(row));
    }
    let steps: Vec<Value> = VERBS
        .iter()
        .map(|row| {
            let reference = json!({"$ref": format!("#/$defs/{}", row.name)});
            json!({
                "type": "object",
                "properties": {(row.name): reference},
                "required": [row.name],
                "additionalProperties": false,
            })
        })
        .collect();
    let given = json!({"type": "string", "pattern": r"^\$given "});
    definitions.insert("given", given);
    let given = json!({"$ref": "#/$defs/given"});
    let steps: Vec<Value> = steps.into_iter().chain([given]).collect();
    definitions.insert("step", json!({"oneOf": steps}));
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "AHP scenario",
        "oneOf": [object(SCENARIO, "A scenario."), object(FRAGMENT, "Steps to include.")],
        "$defs": definitions,
    })
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
    json!({
        "type": "object",
        "description": doc,
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

fn form(field: &FormField) -> Value {
    let text = json!({"type": "string"});
    match field.form {
        MemberForm::Client | MemberForm::Binds | MemberForm::Text => text,
        MemberForm::Clients | MemberForm::Texts => {
            json!({"oneOf": [text, {"type": "array", "items": {"type": "string"}, "minItems": 1}]})
        }
        MemberForm::Flag => json!({"type": "boolean"}),
        MemberForm::OneOf(words) => json!({"enum": words}),
        MemberForm::Duration => json!({"type": "string", "pattern": "^[0-9]+(ms|s|m)$"}),
        MemberForm::Count => json!({"type": "integer", "minimum": 0}),
        MemberForm::Template => json!({}),
        MemberForm::Values => json!({"type": "object"}),
        MemberForm::Pattern => json!({"$ref": "#/$defs/pattern"}),
        MemberForm::Steps => json!({"type": "array", "items": {"$ref": "#/$defs/step"}}),
        MemberForm::Settings => {
            let settings: Map = SETTINGS
                .iter()
                .map(|name| ((*name).to_owned(), json!({"type": "integer", "minimum": 0})))
                .collect();
            json!({"type": "object", "properties": settings, "additionalProperties": false})
        }
    }
}

fn pattern() -> Value {
    let operators: Vec<String> =
        OPERATORS.iter().map(|row| format!("{}: {}", row.name, row.doc)).collect();
    json!({"description": format!("A value, or operators: {}", operators.join("; "))})
}
