//! Chooses one of the agent's own tools for a call in the script, and fills in the arguments of that tool.
//!
//! [`super::tool_class`] finds the tools of a class. The members that the class names get the input, and other required
//! members get a sample value of their type.
//!
//! Knows: scripts, JSON schemas. Never knows: agents by name.
//!
//! Start at [`call`].

use crate::agent::script::{self, ToolClass, ToolStep};
use crate::wire::json::{Map, Value, json};

use super::offered::{CallForm, OfferedTool, types};
use super::plan::PlannedCall;
use super::tool_class::{
    self, EDIT, PATCH, QUESTION, READ, SHELL, ToolKind, ToolShape, WORKER, WRITE,
};

/// The error that no offered tool is suitable.
#[derive(Debug)]
pub(super) struct NoFittingTool {
    /// The description, for the conversation and the log.
    pub(super) problem: String,
    /// Whether the missing tool would be a tool of the agent itself. If not, the host should have passed on the tool of
    /// a client or of an MCP server.
    pub(super) own: bool,
}

/// The members by which a model requests a user's approval of a command, each with the value that requests it.
const ASKS_FIRST: &[(&str, &str)] = &[("sandbox_permissions", "require_escalated")];
/// The options for a tool that requires options, if the script has a question without options.
const CHOICES: [&str; 2] = ["This", "That"];
/// The names of the member that takes a reason.
const REASONS: &[&str] = &["justification"];

/// Returns the call for a step. The parts of an input are on separate lines: for `write` the path and the
/// content, for `edit` the path, the old text and the new text. `texts` are the other strings of the request.
/// Some agents offer tools through another tool, and list these tools in such strings.
///
/// # Errors
/// Returns [`NoFittingTool`] if no offered tool is suitable.
pub(super) fn call(
    step: &ToolStep,
    offered: &[OfferedTool],
    texts: &[String],
) -> Result<PlannedCall, NoFittingTool> {
    if matches!(&step.class, ToolClass::Further(row) if row.name == tool_class::PLAN) {
        return planned(&step.input, offered);
    }
    let class = match &step.class {
        ToolClass::Shell => &SHELL,
        ToolClass::Read => &READ,
        ToolClass::Write => &WRITE,
        ToolClass::Edit => &EDIT,
        ToolClass::Worker => &WORKER,
        ToolClass::Further(row) => {
            let known = tool_class::further(row.name);
            known.ok_or_else(|| {
                missing(&format!("tool of the class `{}`", row.name), true, offered)
            })?
        }
        ToolClass::Client(name) | ToolClass::Mcp(name) => {
            return named(name, &step.input, offered, texts);
        }
    };
    let (tool, shape) = pick(class, offered)?;
    if let Some(patch) = shape.patch {
        let parts: Vec<&str> = step.input.splitn(3, '\n').collect();
        return Ok(patched(tool, &patch(&parts)));
    }
    let mut parts = step.input.splitn(shape.parts.len().max(1), '\n');
    let mut arguments = Map::new();
    for names in shape.parts {
        let part = parts.next().unwrap_or("scripted");
        if let Some((name, schema)) = member(names, tool) {
            arguments.insert(name, shaped(part, schema));
        }
    }
    if let Some((name, value)) = chosen(tool, shape) {
        arguments.insert(name, json!(value));
    }
    if step.confirm {
        asks_first(tool, &mut arguments);
    }
    Ok(PlannedCall::of(tool, filled(arguments, tool)))
}

/// Returns a call of the tool that takes a plan: a list of entries, each with its content and a status.
///
/// # Errors
/// Returns [`NoFittingTool`] if no such tool is offered.
fn planned(input: &str, offered: &[OfferedTool]) -> Result<PlannedCall, NoFittingTool> {
    let found = offered.iter().find_map(|tool| Some((tool, tool_class::entries(tool)?)));
    let Some((tool, (member, entry))) = found else {
        return Err(missing("tool that takes a plan", true, offered));
    };
    let entries: Value = script::plan(input)
        .enumerate()
        .map(|(place, (status, text))| {
            let properties = entry["properties"].as_object().into_iter().flatten();
            let members = properties.filter_map(|(name, schema)| {
                let value = match name.as_str() {
                    "status" => json!(status),
                    "id" => json!(format!("{}", place + 1)),
                    _ => match schema["enum"].as_array().and_then(|values| values.first()) {
                        Some(first) => first.clone(),
                        None if types(schema).iter().any(|kind| kind == "string") => json!(text),
                        None => return None,
                    },
                };
                Some((name.as_str().to_owned(), value))
            });
            Value::Object(members.collect())
        })
        .collect();
    let arguments: Map = std::iter::once((member.to_owned(), entries)).collect();
    Ok(PlannedCall::of(tool, filled(arguments, tool)))
}

/// Returns the member and the value that select a function of a tool with several functions.
fn chosen<'a>(tool: &'a OfferedTool, shape: &ToolShape) -> Option<(&'static str, &'a str)> {
    let (name, values) = shape.choice?;
    Some((name, tool_class::choices(tool, name).find(|choice| values.contains(choice))?))
}

/// Returns a call of a tool that takes the whole input as one patch.
fn patched(tool: &OfferedTool, patch: &str) -> PlannedCall {
    if matches!(tool.form, CallForm::FreeText | CallForm::Patch) {
        return PlannedCall::of(tool, json!(patch));
    }
    let arguments = member(PATCH, tool).map(|(name, _)| (name.to_owned(), json!(patch)));
    PlannedCall::of(tool, filled(arguments.into_iter().collect(), tool))
}

/// Makes the agent ask its user, if the tool has an argument for this purpose.
fn asks_first(tool: &OfferedTool, arguments: &mut Map) {
    let takes = |(name, value): &&(&str, &str)| {
        tool_class::choices(tool, name).any(|choice| choice == *value)
    };
    let Some((name, value)) = ASKS_FIRST.iter().find(takes) else {
        return;
    };
    arguments.insert(*name, json!(*value));
    if let Some((reason, _)) = member(REASONS, tool) {
        arguments.insert(reason, json!("The script asks for the approval of its user."));
    }
}

/// Returns a call of the tool that asks the user.
///
/// # Errors
/// Returns [`NoFittingTool`] if no such tool is offered.
pub(super) fn ask(
    question: &str,
    options: &[String],
    offered: &[OfferedTool],
) -> Result<PlannedCall, NoFittingTool> {
    let (tool, _) = pick(&tool_class::ASK, offered)?;
    let open = options.is_empty() && wants_choices(tool);
    let options = if open { CHOICES.map(str::to_owned).to_vec() } else { options.to_vec() };
    let choices: Vec<Value> =
        options.iter().map(|option| json!({"label": (option), "description": (option)})).collect();
    let mut arguments = Map::new();
    if let Some(schema) = tool.property("questions") {
        let one = json!({
            "id": "question", "question": (question), "header": "Question", "options": (choices),
            "multiSelect": false, "isOther": false,
        });
        let known = schema.pointer("/items/properties").and_then(Value::as_object);
        let mut one = one;
        if let (Some(known), Some(members)) = (known, one.as_object_mut()) {
            members.retain(|name, _| known.contains_key(name));
        }
        arguments.insert("questions", json!([(one)]));
    } else {
        if let Some((name, schema)) = member(QUESTION, tool) {
            arguments.insert(name, shaped(question, schema));
        }
        if let Some((name, schema)) =
            member(&["choices", "options"], tool).filter(|_| !options.is_empty())
        {
            let texts = schema.pointer("/items/type") == Some(&json!("string"));
            arguments.insert(name, if texts { json!(options) } else { json!(choices) });
        }
    }
    Ok(PlannedCall::of(tool, filled(arguments, tool)))
}

/// Returns whether a tool requires options for a question.
fn wants_choices(tool: &OfferedTool) -> bool {
    let question = tool.property("questions").and_then(|schema| schema.get("items"));
    let required = question.and_then(|schema| schema["required"].as_array());
    required.is_some_and(|required| required.iter().any(|name| name == "options"))
}

/// Returns a call of a tool of a client or an MCP server. Agents use the server's name as a prefix of the tool's name.
/// Some agents offer such tools only through another tool, which takes the name and the arguments.
fn named(
    name: &str,
    input: &str,
    offered: &[OfferedTool],
    texts: &[String],
) -> Result<PlannedCall, NoFittingTool> {
    let tool = offered
        .iter()
        .find(|tool| tool.name == name)
        .or_else(|| offered.iter().find(|tool| tool.name.ends_with(name)));
    let Some(tool) = tool else {
        return dispatched(name, input, offered, texts)
            .ok_or_else(|| missing(&format!("tool `{name}`"), false, offered));
    };
    if tool.form == CallForm::FreeText {
        return Ok(PlannedCall::of(tool, json!(input)));
    }
    let arguments = match Value::read(input) {
        Ok(Value::Object(members)) => members,
        _ => {
            let members = tool.schema.get("properties").and_then(Value::as_object);
            let text = |schema: &Value| types(schema).iter().any(|kind| kind == "string");
            let first = members.and_then(|all| all.iter().find(|(_, schema)| text(schema)));
            first.map(|(name, _)| (name.clone(), json!(input))).into_iter().collect()
        }
    };
    Ok(PlannedCall::of(tool, filled(arguments, tool)))
}

/// The name of the text argument of a tool whose schema is unknown.
const TEXT: &str = "text";

/// Returns a call of a tool through another tool. Finds the full name of the called tool in the strings of the request.
fn dispatched(
    name: &str,
    input: &str,
    offered: &[OfferedTool],
    texts: &[String],
) -> Option<PlannedCall> {
    let takes = |tool: &OfferedTool, name: &str, kind: &str| {
        tool.property(name).is_some_and(|schema| types(schema).iter().any(|it| it == kind))
    };
    let by = offered
        .iter()
        .find(|tool| takes(tool, "name", "string") && takes(tool, "arguments", "object"))?;
    let part = |c: char| !(c.is_ascii_alphanumeric() || "_-.:/".contains(c));
    let words = texts.iter().flat_map(|text| text.split(part));
    // The bare name is skipped, because it is in the prompt's script.
    let full = words.filter(|word| word.ends_with(name) && word.len() > name.len());
    let full = full.max_by_key(|word| word.len())?;
    let arguments = match Value::read(input) {
        Ok(arguments @ Value::Object(_)) => arguments,
        _ => json!({(TEXT): input}),
    };
    Some(PlannedCall::of(by, json!({"name": full, "arguments": arguments})))
}

fn pick<'a>(
    class: &ToolKind,
    offered: &'a [OfferedTool],
) -> Result<(&'a OfferedTool, &'static ToolShape), NoFittingTool> {
    class
        .pick(offered)
        .ok_or_else(|| missing(&format!("tool of the class `{}`", class.word), true, offered))
}

fn missing(what: &str, own: bool, offered: &[OfferedTool]) -> NoFittingTool {
    let names: Vec<String> = offered.iter().map(OfferedTool::full_name).collect();
    NoFittingTool { problem: format!("no {what} is offered (offered: {})", names.join(", ")), own }
}

/// Returns the first of these members that the tool has; `None` if it has none.
fn member<'a>(names: &[&'static str], tool: &'a OfferedTool) -> Option<(&'static str, &'a Value)> {
    names.iter().find_map(|name| Some((*name, tool.property(name)?)))
}

/// Returns a string in the form that the member takes: some tools take a command as a list of words.
fn shaped(text: &str, schema: &Value) -> Value {
    if types(schema).iter().any(|kind| kind == "array")
        && !types(schema).iter().any(|kind| kind == "string")
    {
        json!(["bash", "-lc", (text)])
    } else {
        json!(text)
    }
}

/// Adds sample values for the missing required members.
fn filled(mut arguments: Map, tool: &OfferedTool) -> Value {
    for name in tool.required() {
        if !arguments.contains_key(name) {
            arguments.insert(name, sample(tool.property(name).unwrap_or(&Value::Null)));
        }
    }
    Value::Object(arguments)
}

/// Returns a value that a schema permits.
fn sample(schema: &Value) -> Value {
    let choices = schema.get("enum").and_then(Value::as_array);
    if let Some(first) = choices.and_then(|choices| choices.first()) {
        return first.clone();
    }
    match types(schema).first().map(String::as_str) {
        Some("number" | "integer") => schema.get("minimum").cloned().unwrap_or_else(|| json!(10)),
        Some("boolean") => json!(false),
        Some("array") => json!([]),
        Some("object") => {
            let inner = OfferedTool {
                name: String::new(),
                namespace: None,
                form: CallForm::Function,
                schema: schema.clone(),
            };
            filled(Map::new(), &inner)
        }
        _ => json!("scripted"),
    }
}
