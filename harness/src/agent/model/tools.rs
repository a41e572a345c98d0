//! Chooses one of the agent's own tools for a class of the script, and fills its arguments.
//!
//! Agents name their tools as they like. A class is a row of names that are known, best first, and of
//! words that such a name usually has; arguments go to the member that such tools usually have, and
//! what else the tool's schema requires is filled by its type.
//!
//! Knows: scripts, JSON schemas. Never knows: agents by name.
//!
//! Start at [`call`].

use crate::agent::script::{ToolClass, ToolStep};
use crate::wire::json::{Map, Value, json};

use super::read::Offered;

/// What is known of the tools of a class.
struct Class {
    word: &'static str,
    /// Names, best first.
    names: &'static [&'static str],
    /// Words in names.
    words: &'static [&'static str],
    /// The members that take the parts of the input, each with the names it goes by.
    members: &'static [&'static [&'static str]],
}

/// That no tool fits.
#[derive(Debug)]
pub(super) struct Lack {
    /// For the conversation and the log.
    pub(super) problem: String,
    /// The tool would have been one of the agent's own: no host can make up for it. A tool of a client or an MCP server
    /// comes to the agent by the host.
    pub(super) own: bool,
}

const PATH: &[&str] =
    &["file_path", "filePath", "path", "absolute_path", "absolutePath", "filename", "uri", "file"];

const SHELL: Class = Class {
    word: "shell",
    names: &[
        "bash",
        "Bash",
        "shell",
        "shell_command",
        "exec_command",
        "local_shell",
        "run_shell_command",
        "run_in_terminal",
        "run_command",
        "execute_command",
        "terminal",
    ],
    words: &["bash", "shell", "exec", "terminal", "command"],
    members: &[&["command", "cmd", "script", "commandLine"]],
};

const READ: Class = Class {
    word: "read",
    names: &["Read", "read", "read_file", "readFile", "view", "cat", "open_file"],
    words: &["read", "view"],
    members: &[PATH],
};

const WRITE: Class = Class {
    word: "write",
    names: &["Write", "write", "write_file", "writeFile", "create_file", "create", "createFile"],
    words: &["write", "create"],
    members: &[PATH, &["content", "contents", "file_text", "text", "data"]],
};

const EDIT: Class = Class {
    word: "edit",
    names: &[
        "Edit",
        "edit",
        "replace",
        "edit_file",
        "str_replace",
        "replace_string_in_file",
        "str_replace_editor",
        "apply_patch",
    ],
    words: &["edit", "replace", "patch"],
    members: &[
        PATH,
        &["old_string", "old_str", "oldString", "oldText", "old_text", "old"],
        &["new_string", "new_str", "newString", "newText", "new_text", "new"],
    ],
};

const WORKER: Class = Class {
    word: "worker",
    names: &["Task", "task", "runSubagent", "Agent", "agent", "spawn_agent", "new_task"],
    words: &["subagent", "task"],
    members: &[&["prompt", "task", "message", "instructions", "query"]],
};

/// The classes of the further kinds, by their names.
const FURTHER: &[Class] = &[
    Class {
        word: "delete",
        names: &["delete", "Delete", "delete_file", "deleteFile", "remove_file", "rm"],
        words: &["delete_file", "deletefile", "remove_file"],
        members: &[PATH],
    },
    Class {
        word: "move",
        names: &["move", "Move", "move_file", "moveFile", "rename", "rename_file", "mv"],
        words: &["move_file", "movefile", "rename_file"],
        members: &[
            &["source", "from", "old_path", "oldPath", "source_path"],
            &["destination", "to", "new_path", "newPath", "destination_path"],
        ],
    },
    Class {
        word: "search",
        names: &["Grep", "grep", "grep_search", "search_file_content", "Glob", "glob", "search"],
        words: &["grep", "glob"],
        members: &[&["pattern", "query", "regex"]],
    },
    Class {
        word: "think",
        names: &["think", "Think"],
        words: &["think"],
        members: &[&["thought", "explanation"]],
    },
    Class {
        word: "fetch",
        names: &["WebFetch", "webfetch", "web_fetch", "fetch"],
        words: &["fetch"],
        members: &[&["url", "uri", "prompt"]],
    },
    Class {
        word: "switch-mode",
        names: &["ExitPlanMode", "exit_plan_mode", "switch_mode", "switchMode"],
        words: &["switch_mode", "plan_mode"],
        members: &[&["plan", "mode"]],
    },
];

const ASK: Class = Class {
    word: "ask",
    names: &[
        "ask_user",
        "AskUserQuestion",
        "request_user_input",
        "askUser",
        "ask_question",
        "question",
    ],
    words: &["ask", "question"],
    members: &[&["question", "prompt", "message", "text", "header"]],
};

/// Members by which a model asks for a user's approval where the agent would run a command unasked,
/// with the value that does.
const ASKS_FIRST: &[(&str, &str)] = &[("sandbox_permissions", "require_escalated")];
/// What there is to choose from where a tool wants a choice and the script has a question alone.
const CHOICES: [&str; 2] = ["This", "That"];
/// Members that take the reason.
const REASONS: &[&str] = &["justification"];

/// The tool for a step and what it is called with. The parts of an input stand on lines of its own:
/// of `write` the path and the content, of `edit` the path, the old and the new text.
///
/// # Errors
/// Why no tool fits.
pub(super) fn call(step: &ToolStep, offered: &[Offered]) -> Result<(String, Value), Lack> {
    let class = match &step.class {
        ToolClass::Shell => &SHELL,
        ToolClass::Read => &READ,
        ToolClass::Write => &WRITE,
        ToolClass::Edit => &EDIT,
        ToolClass::Worker => &WORKER,
        ToolClass::Further(row) => {
            let known = FURTHER.iter().find(|class| class.word == row.name);
            known.ok_or_else(|| {
                missing(&format!("tool of the class `{}`", row.name), true, offered)
            })?
        }
        ToolClass::Client(name) | ToolClass::Mcp(name) => return named(name, &step.input, offered),
    };
    let tool = pick(class, offered)?;
    let mut parts = step.input.splitn(class.members.len(), '\n');
    let given = class.members.iter().map(|names| (*names, parts.next().unwrap_or("scripted")));
    let mut arguments = Map::new();
    for (names, part) in given {
        if let Some((name, schema)) = member(names, tool) {
            arguments.insert(name, shaped(part, schema));
        }
    }
    if step.confirm {
        asks_first(tool, &mut arguments);
    }
    Ok((tool.name.clone(), filled(arguments, tool)))
}

/// Has the agent ask its user, where the tool lets the model say so.
fn asks_first(tool: &Offered, arguments: &mut Map) {
    let takes = |(name, value): &&(&str, &str)| {
        let choices = property(tool, name).and_then(|schema| schema["enum"].as_array());
        choices.is_some_and(|choices| choices.iter().any(|choice| choice == *value))
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
    offered: &[Offered],
) -> Result<(String, Value), Lack> {
    let tool = pick(&ASK, offered)?;
    let open = options.is_empty() && wants_choices(tool);
    let options = if open { CHOICES.map(str::to_owned).to_vec() } else { options.to_vec() };
    let choices: Vec<Value> =
        options.iter().map(|option| json!({"label": (option), "description": (option)})).collect();
    let mut arguments = Map::new();
    if let Some(schema) = property(tool, "questions") {
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
        if let Some((name, schema)) = member(ASK.members[0], tool) {
            arguments.insert(name, shaped(question, schema));
        }
        if let Some((name, schema)) =
            member(&["choices", "options"], tool).filter(|_| !options.is_empty())
        {
            let texts = schema.pointer("/items/type") == Some(&json!("string"));
            arguments.insert(name, if texts { json!(options) } else { json!(choices) });
        }
    }
    Ok((tool.name.clone(), filled(arguments, tool)))
}

/// Whether a tool asks no question without a choice.
fn wants_choices(tool: &Offered) -> bool {
    let question = property(tool, "questions").and_then(|schema| schema.get("items"));
    let required = question.and_then(|schema| schema["required"].as_array());
    required.is_some_and(|required| required.iter().any(|name| name == "options"))
}

/// A tool of a client or an MCP server: agents put the server's name in front of it.
fn named(name: &str, input: &str, offered: &[Offered]) -> Result<(String, Value), Lack> {
    let tool = offered
        .iter()
        .find(|tool| tool.name == name)
        .or_else(|| offered.iter().find(|tool| tool.name.ends_with(name)))
        .ok_or_else(|| missing(&format!("tool `{name}`"), false, offered))?;
    let arguments = match Value::read(input) {
        Ok(Value::Object(members)) => members,
        _ => {
            let texts = tool.schema.get("properties").and_then(Value::as_object);
            let first = texts.and_then(|all| all.iter().find(|(_, row)| row["type"] == "string"));
            first.map(|(name, _)| (name.clone(), json!(input))).into_iter().collect()
        }
    };
    Ok((tool.name.clone(), filled(arguments, tool)))
}

fn pick<'a>(class: &Class, offered: &'a [Offered]) -> Result<&'a Offered, Lack> {
    let exact = class.names.iter().find_map(|name| offered.iter().find(|tool| tool.name == *name));
    let like = || {
        let has = |tool: &&Offered| {
            let lower = tool.name.to_ascii_lowercase();
            class.words.iter().any(|word| lower.contains(word))
        };
        offered.iter().find(has)
    };
    exact
        .or_else(like)
        .ok_or_else(|| missing(&format!("tool of the class `{}`", class.word), true, offered))
}

fn missing(what: &str, own: bool, offered: &[Offered]) -> Lack {
    let names: Vec<&str> = offered.iter().map(|tool| tool.name.as_str()).collect();
    Lack { problem: format!("no {what} is offered (offered: {})", names.join(", ")), own }
}

fn property<'a>(tool: &'a Offered, name: &str) -> Option<&'a Value> {
    tool.schema.get("properties")?.get(name)
}

/// The first of these members that the tool has.
fn member<'a>(names: &[&'static str], tool: &'a Offered) -> Option<(&'static str, &'a Value)> {
    names.iter().find_map(|name| Some((*name, property(tool, name)?)))
}

/// A text as its member takes it: some tools want a command as a list of words.
fn shaped(text: &str, schema: &Value) -> Value {
    if schema["type"] == "array" { json!(["bash", "-lc", (text)]) } else { json!(text) }
}

/// Adds what the schema requires.
fn filled(mut arguments: Map, tool: &Offered) -> Value {
    let required = tool.schema.get("required").and_then(Value::as_array);
    for name in required.into_iter().flatten().filter_map(Value::as_str) {
        if !arguments.contains_key(name) {
            arguments.insert(name, sample(property(tool, name).unwrap_or(&Value::Null)));
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
    let kind = schema["type"].as_str().or_else(|| schema["type"].get(0)?.as_str());
    match kind {
        Some("number" | "integer") => schema.get("minimum").cloned().unwrap_or_else(|| json!(10)),
        Some("boolean") => json!(false),
        Some("array") => json!([]),
        Some("object") => {
            let inner = Offered { name: String::new(), schema: schema.clone() };
            filled(Map::new(), &inner)
        }
        _ => json!("scripted"),
    }
}
