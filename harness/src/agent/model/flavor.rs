//! What one family of agents needs besides the model interfaces: accounts, tokens, lists of models.
//!
//! A flavor is data, a file in `flavors/`: rows of paths with fixed answers. In an answer `{base}` stands
//! for the stand-in's own address, and `{"$later": n}` for the time in `n` seconds.
//!
//! Knows: JSON. Never knows: what the answers are for.
//!
//! Start at [`Flavor::named`].

use crate::wire::json::{Value, json};

/// What a family of agents needs.
#[derive(Clone, Debug)]
pub struct Flavor {
    /// Its name, as `--flavor` takes it.
    pub name: String,
    /// Whom it is for, in a sentence.
    pub doc: String,
    /// The models that there are.
    pub models: Vec<String>,
    rows: Vec<Row>,
}

/// A path with a fixed answer.
#[derive(Clone, Debug)]
pub(super) struct Row {
    method: Option<String>,
    /// How the path ends.
    path: String,
    pub(super) status: u16,
    /// The answer; `None` for a server of the Model Context Protocol.
    pub(super) body: Option<Value>,
}

/// The flavors that the harness carries.
const FILES: &[&str] =
    &[include_str!("../../../flavors/plain.json"), include_str!("../../../flavors/copilot.json")];

impl Flavor {
    /// The flavors that there are.
    pub fn all() -> Vec<Flavor> {
        FILES.iter().filter_map(|text| Flavor::read(&Value::read(text).ok()?)).collect()
    }

    /// The flavor of a name.
    pub fn named(name: &str) -> Option<Flavor> {
        Flavor::all().into_iter().find(|flavor| flavor.name == name)
    }

    fn read(file: &Value) -> Option<Flavor> {
        let text = |value: &Value, name: &str| value.get(name)?.as_str().map(str::to_owned);
        let rows = file.get("routes")?.as_array()?.iter();
        let row = |row: &Value| {
            let status = row.get("status").and_then(Value::as_u64);
            Some(Row {
                method: text(row, "method"),
                path: text(row, "path")?,
                status: status.and_then(|status| status.try_into().ok()).unwrap_or(200),
                body: row.get("body").cloned(),
            })
        };
        let models = file.get("models")?.as_array()?.iter();
        Some(Flavor {
            name: text(file, "name")?,
            doc: text(file, "doc")?,
            models: models.filter_map(|name| name.as_str().map(str::to_owned)).collect(),
            rows: rows.map(row).collect::<Option<Vec<Row>>>()?,
        })
    }

    /// The row for a request.
    pub(super) fn row(&self, method: &str, path: &str) -> Option<&Row> {
        self.rows.iter().find(|row| {
            path.ends_with(&row.path) && row.method.as_ref().is_none_or(|only| only == method)
        })
    }
}

/// An answer with its placeholders filled.
pub(super) fn filled(body: &Value, base: &str, epoch: u64) -> Value {
    if let Some(seconds) = body.get("$later").and_then(Value::as_u64) {
        return json!(epoch.saturating_add(seconds));
    }
    match body {
        Value::String(text) => json!(text.replace("{base}", base)),
        Value::Array(items) => items.iter().map(|item| filled(item, base, epoch)).collect(),
        Value::Object(members) => {
            let filled =
                members.iter().map(|(name, value)| (name.clone(), filled(value, base, epoch)));
            Value::Object(filled.collect())
        }
        other => other.clone(),
    }
}

/// The list of models as each family writes it: agents take what they know.
pub(super) fn models(flavor: &Flavor, epoch: u64) -> Value {
    let names = flavor.models.iter();
    let data: Value = names
        .clone()
        .map(|name| {
            json!({
                "id": (name), "object": "model", "created": (epoch), "owned_by": "ahp-harness",
                "type": "model", "display_name": (name), "created_at": "2026-01-01T00:00:00Z",
            })
        })
        .collect();
    let models: Value = names
        .map(|name| {
            json!({
                "name": (format!("models/{name}")), "displayName": (name), "version": "1",
                "inputTokenLimit": 128_000, "outputTokenLimit": 16_384,
                "supportedGenerationMethods": ["generateContent", "countTokens"],
            })
        })
        .collect();
    json!({"object": "list", "data": (data), "models": (models), "has_more": false})
}
