//! The requests that a family of agents sends in addition to requests to a model: for accounts, tokens, and lists of
//! models.
//!
//! A flavor is data, a file in `flavors/`. A flavor has rows of paths with fixed responses, and rows of
//! failures with another status or name. In a response, `{base}` becomes the address of the stand-in, and `{"$later":
//! n}` becomes the time in `n` seconds.
//!
//! Knows: JSON. Never knows: the purpose of a response.
//!
//! Start at [`ModelFlavor::named`].

use crate::wire::built_in::built_in;
use crate::wire::json::{Value, json};

/// The requests and failures of a family of agents.
#[derive(Clone, Debug)]
pub struct ModelFlavor {
    /// The name of the flavor, as in the option `--flavor`.
    pub name: String,
    /// A sentence about the agents that need the flavor.
    pub doc: String,
    /// The names in the list of models.
    pub models: Vec<String>,
    rows: Vec<FixedAnswer>,
    failures: Vec<FailureRow>,
}

/// A failure with another status or name, for agents that would retry after the usual status or name.
#[derive(Clone, Debug)]
pub(super) struct FailureRow {
    /// The model interface, by its name in the log.
    family: String,
    /// The kinds of failure to which the row applies; empty for all.
    kinds: Vec<String>,
    /// The HTTP status; `None` for the usual status of the kind.
    pub(super) status: Option<u16>,
    /// The name; `None` for the usual name of the status.
    pub(super) name: Option<String>,
}

/// A path with a fixed response.
#[derive(Clone, Debug)]
pub(super) struct FixedAnswer {
    method: Option<String>,
    /// The end of the path: a request matches if its path ends with this string.
    path: String,
    pub(super) status: u16,
    /// The response; `None` if the path is that of an MCP server.
    pub(super) body: Option<Value>,
}

/// The flavors that are part of the harness.
const FILES: &[(&str, &str)] = &[
    ("flavors/plain.json", include_str!("../../../flavors/plain.json")),
    ("flavors/copilot.json", include_str!("../../../flavors/copilot.json")),
];

impl ModelFlavor {
    /// Returns all flavors.
    pub fn all() -> Vec<ModelFlavor> {
        let read = |(name, text): &(&str, &str)| {
            let file = built_in(name, Value::read(text));
            built_in(name, ModelFlavor::read(&file).ok_or("a member is missing or of another type"))
        };
        FILES.iter().map(read).collect()
    }

    /// Returns the flavor with this name; `None` if there is none.
    pub fn named(name: &str) -> Option<ModelFlavor> {
        ModelFlavor::all().into_iter().find(|flavor| flavor.name == name)
    }

    fn read(file: &Value) -> Option<ModelFlavor> {
        let text = |value: &Value, name: &str| value.get(name)?.as_str().map(str::to_owned);
        let rows = file.get("routes")?.as_array()?.iter();
        let status = |row: &Value| row.get("status").and_then(Value::as_u64)?.try_into().ok();
        let row = |row: &Value| {
            Some(FixedAnswer {
                method: text(row, "method"),
                path: text(row, "path")?,
                status: status(row).unwrap_or(200),
                body: row.get("body").cloned(),
            })
        };
        let texts = |value: Option<&Value>| -> Vec<String> {
            let items = value.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            items.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect()
        };
        let failure = |row: &Value| {
            Some(FailureRow {
                family: text(row, "family")?,
                kinds: texts(row.get("kinds")),
                status: status(row),
                name: text(row, "name"),
            })
        };
        let failures = file.get("failures").and_then(Value::as_array).into_iter().flatten();
        Some(ModelFlavor {
            name: text(file, "name")?,
            doc: text(file, "doc")?,
            models: texts(file.get("models")),
            rows: rows.map(row).collect::<Option<Vec<FixedAnswer>>>()?,
            failures: failures.map(failure).collect::<Option<Vec<FailureRow>>>()?,
        })
    }

    /// Returns the row that replaces the form of a failure of this kind in this family; `None` if the failure has its
    /// usual form.
    pub(super) fn failure(&self, family: &str, kind: &str) -> Option<&FailureRow> {
        self.failures.iter().find(|row| {
            row.family == family && (row.kinds.is_empty() || row.kinds.iter().any(|it| it == kind))
        })
    }

    /// Returns the row for a request; `None` if there is none.
    pub(super) fn row(&self, method: &str, path: &str) -> Option<&FixedAnswer> {
        self.rows.iter().find(|row| {
            path.ends_with(&row.path) && row.method.as_ref().is_none_or(|only| only == method)
        })
    }
}

/// Returns a response with its placeholders replaced.
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

/// Returns the list of models with the members of all families; each agent reads the members that it knows.
pub(super) fn models(flavor: &ModelFlavor, epoch: u64) -> Value {
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
