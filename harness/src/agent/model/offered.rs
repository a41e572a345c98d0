//! The tools that a request offers, in all forms of the families.
//!
//! Tools that the endpoint itself runs, such as a web search, are left out: a response cannot call them.
//!
//! Knows: the shapes of the families. Never knows: scripts, the purpose of tools.
//!
//! Start at [`offered`].

use crate::wire::json::{Map, Value, json};

use super::routes::ModelFamily;

/// The maximum depth of nested namespaces.
const MAX_DEPTH: usize = 4;

/// A tool that the agent offers.
#[derive(Clone, Debug)]
pub(super) struct OfferedTool {
    /// The name, as the agent spells it.
    pub(super) name: String,
    /// The namespace of the tool; `None` for a tool without one.
    pub(super) namespace: Option<String>,
    /// The form of a call.
    pub(super) form: CallForm,
    /// The JSON schema of its arguments.
    pub(super) schema: Value,
}

/// The form in which a tool is called.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) enum CallForm {
    /// A function with arguments by name.
    #[default]
    Function,
    /// A tool that takes one free-form string in place of arguments.
    FreeText,
    /// The local shell, for which OpenAI's responses have a separate form.
    LocalShell,
    /// The shell that takes a list of command lines, for which OpenAI's responses have a separate form.
    Shell,
    /// The tool that changes one file, for which OpenAI's responses have a separate form. Its argument is a patch.
    Patch,
}

impl OfferedTool {
    /// Returns the schema of an argument; `None` if there is no such argument.
    pub(super) fn property(&self, name: &str) -> Option<&Value> {
        self.schema.get("properties")?.get(name)
    }

    /// Returns the names of the required arguments.
    pub(super) fn required(&self) -> impl Iterator<Item = &str> {
        let required = self.schema.get("required").and_then(Value::as_array);
        required.into_iter().flatten().filter_map(Value::as_str)
    }

    /// Returns the name with its namespace as a prefix.
    pub(super) fn full_name(&self) -> String {
        match &self.namespace {
            Some(namespace) => format!("{namespace}.{}", self.name),
            None => self.name.clone(),
        }
    }
}

/// Returns the types that a schema permits, in lower case; empty if the schema names no type.
pub(super) fn types(schema: &Value) -> Vec<String> {
    let lower = |value: &Value| value.as_str().map(str::to_ascii_lowercase);
    match &schema["type"] {
        Value::Array(all) => all.iter().filter_map(lower).collect(),
        Value::Null => {
            let choices = ["anyOf", "oneOf"].iter().filter_map(|name| schema[*name].as_array());
            choices.flatten().filter_map(|one| lower(&one["type"])).collect()
        }
        one => lower(one).into_iter().collect(),
    }
}

/// Returns the tools of a request. The place of the name and the schema depends on the family.
pub(super) fn offered(family: ModelFamily, body: &Value) -> Vec<OfferedTool> {
    match family {
        ModelFamily::Chat => {
            let older = list(body, "functions").iter().filter_map(|row| function(row, PARAMETERS));
            list(body, "tools").iter().filter_map(of_chat).chain(older).collect()
        }
        ModelFamily::Responses => {
            list(body, "tools").iter().flat_map(|row| of_responses(row, None, 0)).collect()
        }
        ModelFamily::Messages => list(body, "tools").iter().filter_map(of_messages).collect(),
        ModelFamily::Gemini => {
            const NAMES: [&str; 2] = ["functionDeclarations", "function_declarations"];
            let declared = |row| NAMES.iter().flat_map(move |name| list(row, name));
            let tools = list(body, "tools").iter().flat_map(declared);
            tools.filter_map(|row| function(row, PARAMETERS)).collect()
        }
    }
}

/// The names of the member that contains the schema of a tool's arguments, in the different families.
const PARAMETERS: &[&str] =
    &["parametersJsonSchema", "parameters_json_schema", "parameters", "input_schema"];

fn function(row: &Value, schemas: &[&str]) -> Option<OfferedTool> {
    let schema = schemas.iter().filter_map(|name| row.get(name)).find(|schema| !schema.is_null());
    Some(OfferedTool {
        name: row["name"].as_str()?.to_owned(),
        namespace: None,
        form: CallForm::Function,
        schema: schema.cloned().unwrap_or_default(),
    })
}

fn of_chat(row: &Value) -> Option<OfferedTool> {
    match row.get("custom") {
        Some(custom) => Some(OfferedTool { form: CallForm::FreeText, ..function(custom, &[])? }),
        None => function(&row["function"], PARAMETERS),
    }
}

fn of_responses(row: &Value, namespace: Option<&str>, depth: usize) -> Vec<OfferedTool> {
    let one = match row["type"].as_str().unwrap_or("function") {
        "namespace" if depth < MAX_DEPTH => {
            let inner = list(row, "tools").iter();
            return inner
                .flat_map(|row_in| of_responses(row_in, row["name"].as_str(), depth + 1))
                .collect();
        }
        "function" => function(row, PARAMETERS),
        "custom" => function(row, &[]).map(|tool| OfferedTool { form: CallForm::FreeText, ..tool }),
        "local_shell" => Some(OfferedTool {
            name: "local_shell".to_owned(),
            namespace: None,
            form: CallForm::LocalShell,
            schema: schema_of(&[("command", json!({"type": "array"}))], &["command"]),
        }),
        "shell" => Some(OfferedTool {
            name: "shell".to_owned(),
            namespace: None,
            form: CallForm::Shell,
            schema: schema_of(&[("command", json!({"type": "string"}))], &["command"]),
        }),
        "apply_patch" => Some(OfferedTool {
            name: "apply_patch".to_owned(),
            namespace: None,
            form: CallForm::Patch,
            schema: Value::Null,
        }),
        _ => None,
    };
    let within = namespace.map(str::to_owned);
    one.map(|tool| OfferedTool { namespace: within, ..tool }).into_iter().collect()
}

/// Parses a tool of Anthropic's messages. A predefined tool has no schema in the request; the type of the tool
/// implies the schema.
fn of_messages(row: &Value) -> Option<OfferedTool> {
    let tool = function(row, PARAMETERS)?;
    let text = || json!({"type": "string"});
    let schema = match row["type"].as_str() {
        None | Some("custom") => return Some(tool),
        Some(kind) if kind.starts_with("bash_") => schema_of(&[("command", text())], &["command"]),
        Some(kind) if kind.starts_with("text_editor_") => {
            let commands = json!({"enum": ["view", "create", "str_replace", "insert"]});
            schema_of(
                &[
                    ("command", commands),
                    ("path", text()),
                    ("file_text", text()),
                    ("old_str", text()),
                    ("new_str", text()),
                ],
                &["command", "path"],
            )
        }
        Some(_) if tool.schema.is_null() => return None,
        Some(_) => return Some(tool),
    };
    Some(OfferedTool { schema, ..tool })
}

fn schema_of(members: &[(&str, Value)], required: &[&str]) -> Value {
    let properties: Map =
        members.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
    json!({"type": "object", "properties": (Value::Object(properties)), "required": (required)})
}

/// Returns the list in a member. Treats a single object as a list with one item.
fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    match value.get(name) {
        Some(Value::Array(items)) => items,
        Some(one @ Value::Object(_)) => std::slice::from_ref(one),
        _ => &[],
    }
}
