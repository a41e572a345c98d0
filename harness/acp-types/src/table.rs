//! Converts the crate's schema to the form of the harness's tables: `fields`, `enum`, or `tag` and `variants`,
//! with types as short strings.
//!
//! Start at [`entry`].

use serde_json::{Map, Value, json};

/// Returns a type in the form of a table entry; `None` if the schema has no type with this name.
pub fn entry(schema: &Value, name: &str) -> Option<Value> {
    let definition = schema.get(name)?;
    let cases = cases(definition);
    if let [only] = cases.as_slice() {
        return Some(json!({"fields": fields(schema, only)}));
    }
    let constant = |case: &Value| case["const"].as_str().map(str::to_owned);
    let words: Vec<String> = cases.iter().filter_map(constant).collect();
    if !words.is_empty() {
        let open = words.len() < cases.len();
        return Some(if open {
            json!({"enum": words, "open": true})
        } else {
            json!({"enum": words})
        });
    }
    let Some(tag) = cases.iter().find_map(|case| tag(case).map(|(tag, _)| tag)) else {
        return Some(json!({"fields": fields(schema, definition)}));
    };
    let common = fields(schema, definition);
    let mut variants = Map::new();
    for case in &cases {
        let mut own = common.clone();
        own.extend(fields(schema, case));
        let word = tag_word(case, &tag);
        if let Some(word) = &word {
            own.insert(tag.clone(), json!(format!("'{word}'")));
        }
        variants.insert(word.unwrap_or_default(), Value::Object(own));
    }
    Some(json!({"tag": tag, "variants": variants}))
}

/// Returns the alternatives in a `oneOf` or `anyOf` of a schema.
fn cases(schema: &Value) -> Vec<Value> {
    let list = ["oneOf", "anyOf"].into_iter().find_map(|name| schema[name].as_array());
    list.cloned().unwrap_or_default()
}

/// Returns the name and the value of the member that distinguishes an alternative.
fn tag(case: &Value) -> Option<(String, String)> {
    let members = case["properties"].as_object()?;
    members
        .iter()
        .find_map(|(name, member)| Some((name.clone(), member["const"].as_str()?.to_owned())))
}

fn tag_word(case: &Value, name: &str) -> Option<String> {
    tag(case).filter(|(tag, _)| tag == name).map(|(_, word)| word)
}

/// Returns the members of an object, including the members of the types that the object is composed of. The
/// names of optional members end with a question mark.
fn fields(schema: &Value, object: &Value) -> Map<String, Value> {
    let mut fields = Map::new();
    for part in object["allOf"].as_array().into_iter().flatten() {
        fields.extend(self::fields(schema, named(schema, part).unwrap_or(part)));
    }
    if let Some(whole) = named(schema, object) {
        fields.extend(self::fields(schema, whole));
    }
    let required: Vec<&str> =
        object["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for (name, member) in object["properties"].as_object().into_iter().flatten() {
        let mark = if required.contains(&name.as_str()) { "" } else { "?" };
        fields.insert(format!("{name}{mark}"), json!(word(schema, member)));
    }
    fields
}

/// Returns the name of the definition to which a reference points.
fn reference(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str()?.rsplit('/').next()
}

fn named<'a>(schema: &'a Value, part: &Value) -> Option<&'a Value> {
    schema.get(reference(part)?)
}

/// Returns a type as a short string. A named type keeps its name if it is an object or a union; if it is a string or a
/// number, its plain type is returned.
pub fn word(schema: &Value, part: &Value) -> String {
    if let Some(name) = reference(part) {
        let definition = schema.get(name).unwrap_or(&Value::Null);
        let plain = definition["properties"].is_null() && cases(definition).is_empty();
        let object = definition["type"] == "object" || definition["allOf"].is_array();
        return if plain && !object { word(schema, definition) } else { name.to_owned() };
    }
    if let Some([only]) = part["allOf"].as_array().map(Vec::as_slice) {
        return word(schema, only);
    }
    if let Some(constant) = part["const"].as_str() {
        return format!("'{constant}'");
    }
    let cases = cases(part);
    if !cases.is_empty() {
        return cases.iter().map(|case| word(schema, case)).collect::<Vec<_>>().join("|");
    }
    let kind = |kind: &str| match kind {
        "integer" if part["minimum"] == 0 => "natural".to_owned(),
        "array" => format!("{}[]", word(schema, &part["items"])),
        "object" if part["additionalProperties"]["type"] == "string" => "{string}".to_owned(),
        kind => kind.to_owned(),
    };
    match &part["type"] {
        Value::String(one) => kind(one),
        Value::Array(several) => {
            several.iter().filter_map(Value::as_str).map(kind).collect::<Vec<_>>().join("|")
        }
        _ => "any".to_owned(),
    }
}
