//! Chooses one of the agent's own tools for a class of the script, and fills its arguments.
//!
//! [`super::tool_class`] says which tool is of a class; arguments go to the members that it names, and
//! what else the tool's schema requires is filled by its type.
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

/// That no tool fits.
#[derive(Debug)]
pub(super) struct NoFittingTool {
    /// For the conversation and the log.
    pub(super) problem: String,
    /// The tool would have been one of the agent's own: no host can make up for it. A tool of a client or an MCP server
    /// comes to the agent by the host.
    pub(super) own: bool,
}

/// Members by which a model asks for a user's approval where the agent would run a command unasked,
/// with the value that does.
const ASKS_FIRST: &[(&str, &str)] = &[("sandbox_permissions", "require_escalated")];
/// What there is to choose from where a tool wants a choice and the script has a question alone.
const CHOICES: [&str; 2] = ["This", "That"];
/// Members that take the reason.
const REASONS: &[&str] = &["justification"];

/// The tool for a step and what it is called with. The parts of an input stand on lines of its own:
/// of `write` the path and the content, of `edit` the path, the old and the new text. `texts` is what the model is given
/// besides the tools, in which agents list tools that they offer by another one.
///
/// # Errors
/// Why no tool fits.
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

/// A call of the tool that takes a plan: a list of entries, each with a text and a status.
///
/// # Errors
/// No such tool is offered.
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

/// The value that makes a tool of several purposes do what this one is.
fn chosen<'a>(tool: &'a OfferedTool, shape: &ToolShape) -> Option<(&'static str, &'a str)> {
    let (name, values) = shape.choice?;
    Some((name, tool_class::choices(tool, name).find(|choice| values.contains(choice))?))
}

/// A call of a tool that takes everything as one patch.
fn patched(tool: &OfferedTool, patch: &str) -> PlannedCall {
    if tool.form == CallForm::FreeText {
        return PlannedCall::of(tool, json!(patch));
    }
    let arguments = member(PATCH, tool).map(|(name, _)| (name.to_owned(), json!(patch)));
    PlannedCall::of(tool, filled(arguments.into_iter().collect(), tool))
}

/// Has the agent ask its user, where the tool lets the model say so.
fn asks_first(tool: &OfferedTool, arguments: &mut Map) {
    let takes = |(name, value): &&(&str, &str)| {
        tool_class::choices(tool, name).any(|choice| choice == *value)
    };
    let Some((name, value)) = ASKS_FIRST.iter().find(takes) else {
        return;
    };
    arguments.insert(*name, json!(*value));
    if let Some((reason, _)) = member(REASONS, tool) {
        arguments.insert(reason, json!("The script wants its user asked."));
    }
}

/// The tool that asks the user.
///
/// # Errors
/// No such tool is offered.
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

/// Whether a tool asks no question without a choice.
fn wants_choices(tool: &OfferedTool) -> bool {
    let question = tool.property("questions").and_then(|schema| schema.get("items"));
    let required = question.and_then(|schema| schema["required"].as_array());
    required.is_some_and(|required| required.iter().any(|name| name == "options"))
}

/// A tool of a client or an MCP server: agents put the server's name in front of it. Some agents offer such tools by
/// another one only, which takes the name and the arguments.
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

/// What the member of such a tool is called that takes a text, where only its name is known.
const TEXT: &str = "text";

/// A tool that is called by way of another one, whose full name stands in what the model is told.
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
    // The script in the prompt has the bare name.
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

/// The first of these members that the tool has.
fn member<'a>(names: &[&'static str], tool: &'a OfferedTool) -> Option<(&'static str, &'a Value)> {
    names.iter().find_map(|name| Some((*name, tool.property(name)?)))
}

/// A text as its member takes it: some tools want a command as a list of words.
fn shaped(text: &str, schema: &Value) -> Value {
    if types(schema).iter().any(|kind| kind == "array")
        && !types(schema).iter().any(|kind| kind == "string")
    {
        json!(["bash", "-lc", (text)])
    } else {
        json!(text)
    }
}

/// Adds what the schema requires.
fn filled(mut arguments: Map, tool: &OfferedTool) -> Value {
    for name in tool.required() {
        if !arguments.contains_key(name) {
            arguments.insert(name, sample(tool.property(name).unwrap_or(&Value::Null)));
        }
    }
    Value::Object(arguments)
}

/// A value that a schema takes.
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
