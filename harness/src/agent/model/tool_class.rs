//! The classes of tools that a script calls, and the assignment of offered tools to classes.
//!
//! The parameters of a tool determine its class. Examples are a command; a path; a path and the content; a path, the
//! old string and the new string; a URL; a pattern. The name counts only among tools with the same parameters, and if
//! the parameters do not determine the class: a tool that takes only a path may read, delete or list.
//!
//! Knows: JSON schemas, usual names of members. Never knows: agents.
//!
//! Start at [`ToolKind::pick`].

use crate::wire::json::Value;

use super::offered::{CallForm, OfferedTool, types};

/// A class of tools, such as those that run a command.
pub(super) struct ToolKind {
    /// The name of the class in scripts.
    pub(super) word: &'static str,
    /// The usual names of such tools, best first.
    names: &'static [&'static str],
    /// The words in a tool's name that determine the class, if its parameters do not.
    words: &'static [&'static str],
    /// The additional members that determine the class, if the parameters do not.
    marks: &'static [&'static str],
    /// The possible sets of parameters of such tools, the preferred set first.
    shapes: &'static [ToolShape],
}

/// A set of parameters by which tools of a class are recognised.
pub(super) struct ToolShape {
    /// The names of the tool's input members, one list of possible names for each part of the input.
    pub(super) parts: &'static [&'static [&'static str]],
    /// A member that selects one of several functions of the tool, with the values that select the function of
    /// this class.
    pub(super) choice: Option<(&'static str, &'static [&'static str])>,
    /// A function that returns the patch, for tools that take the whole input as one patch.
    pub(super) patch: Option<fn(&[&str]) -> String>,
    /// Whether these parameters determine the class regardless of the tool's name.
    tells: bool,
}

const PATH: &[&str] = &[
    "file_path",
    "filePath",
    "path",
    "absolute_path",
    "absolutePath",
    "filename",
    "file_name",
    "uri",
    "file",
    "target_file",
];
const COMMAND: &[&str] = &["command", "cmd", "script", "commandLine", "command_line"];
const CONTENT: &[&str] =
    &["content", "contents", "file_text", "fileText", "text", "data", "code_edit", "file_content"];
const OLD: &[&str] =
    &["old_string", "old_str", "oldString", "oldStr", "oldText", "old_text", "old", "search"];
const NEW: &[&str] =
    &["new_string", "new_str", "newString", "newStr", "newText", "new_text", "new", "replacement"];
const SOURCE: &[&str] = &["source", "from", "old_path", "oldPath", "source_path", "src"];
const TARGET: &[&str] =
    &["destination", "to", "new_path", "newPath", "destination_path", "dest", "dst"];
const PATTERN: &[&str] = &["pattern", "query", "regex"];
const URL: &[&str] = &["url", "link"];
/// The members that are typical of one class. A tool that requires such a member does not belong to a class
/// without this member.
const OWN: &[&[&str]] = &[COMMAND, CONTENT, OLD, NEW, TARGET, PATTERN, URL];
/// The names of the member that takes a patch.
pub(super) const PATCH: &[&str] = &["input", "patch", "diff", "patch_text", "patchText"];

const fn taking(parts: &'static [&'static [&'static str]], tells: bool) -> ToolShape {
    ToolShape { parts, choice: None, patch: None, tells }
}

const fn choosing(
    member: &'static str,
    values: &'static [&'static str],
    parts: &'static [&'static [&'static str]],
) -> ToolShape {
    ToolShape { parts, choice: Some((member, values)), patch: None, tells: true }
}

const fn patching(patch: fn(&[&str]) -> String) -> ToolShape {
    ToolShape { parts: &[PATCH], choice: None, patch: Some(patch), tells: false }
}

pub(super) const SHELL: ToolKind = ToolKind {
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
    marks: &[],
    shapes: &[taking(&[COMMAND], true)],
};

pub(super) const READ: ToolKind = ToolKind {
    word: "read",
    names: &["Read", "read", "read_file", "readFile", "read_text_file", "view", "cat", "open_file"],
    words: &["read_file", "readfile", "read_text"],
    marks: &["offset", "limit", "line", "start_line", "startLine", "end_line", "view_range"],
    shapes: &[choosing("command", &["view"], &[PATH]), taking(&[PATH], false)],
};

pub(super) const WRITE: ToolKind = ToolKind {
    word: "write",
    names: &["Write", "write", "write_file", "writeFile", "create_file", "create", "createFile"],
    words: &["write", "create"],
    marks: &[],
    shapes: &[
        choosing("command", &["create"], &[PATH, CONTENT]),
        taking(&[PATH, CONTENT], true),
        patching(|parts| {
            let lines: Vec<String> =
                part(parts, 1).lines().map(|line| format!("+{line}\n")).collect();
            patch(&format!("*** Add File: {}\n{}", part(parts, 0), lines.concat()))
        }),
    ],
};

pub(super) const EDIT: ToolKind = ToolKind {
    word: "edit",
    names: &[
        "Edit",
        "edit",
        "replace",
        "edit_file",
        "str_replace",
        "replace_string_in_file",
        "str_replace_editor",
    ],
    words: &["edit", "replace"],
    marks: &[],
    shapes: &[
        choosing("command", &["str_replace"], &[PATH, OLD, NEW]),
        taking(&[PATH, OLD, NEW], true),
        patching(|parts| {
            let signed = |sign: char, text: &str| -> String {
                text.lines().map(|line| format!("{sign}{line}\n")).collect()
            };
            let (old, new) = (signed('-', part(parts, 1)), signed('+', part(parts, 2)));
            patch(&format!("*** Update File: {}\n@@\n{old}{new}", part(parts, 0)))
        }),
    ],
};

pub(super) const WORKER: ToolKind = ToolKind {
    word: "worker",
    names: &["Task", "task", "runSubagent", "Agent", "agent", "spawn_agent", "new_task"],
    words: &["subagent", "task"],
    marks: &["subagent_type"],
    shapes: &[taking(&[&["prompt", "task", "message", "instructions", "query"]], false)],
};

pub(super) const ASK: ToolKind = ToolKind {
    word: "ask",
    names: &[
        "ask_user",
        "AskUserQuestion",
        "ask_user_question",
        "request_user_input",
        "askUser",
        "ask_question",
        "question",
    ],
    words: &["ask_", "question"],
    marks: &["questions", "choices"],
    shapes: &[taking(&[&["questions"]], true), taking(&[QUESTION], false)],
};

/// The names of the member that takes a question.
pub(super) const QUESTION: &[&str] = &["question", "prompt", "message", "text", "header"];

/// The classes of tools that a script calls by `tool KIND`, in addition to those above.
const FURTHER: &[ToolKind] = &[
    ToolKind {
        word: "delete",
        names: &["delete", "Delete", "delete_file", "deleteFile", "remove_file", "rm"],
        words: &["delete_file", "deletefile", "remove_file"],
        marks: &[],
        shapes: &[
            choosing("command", &["delete"], &[PATH]),
            taking(&[PATH], false),
            patching(|parts| patch(&format!("*** Delete File: {}\n", part(parts, 0)))),
        ],
    },
    ToolKind {
        word: "move",
        names: &["move", "Move", "move_file", "moveFile", "rename", "rename_file", "mv"],
        words: &["move", "rename"],
        marks: &[],
        shapes: &[
            choosing("command", &["rename", "move"], &[SOURCE, TARGET]),
            taking(&[SOURCE, TARGET], false),
        ],
    },
    ToolKind {
        word: "search",
        names: &["Grep", "grep", "grep_search", "search_file_content", "Glob", "glob", "search"],
        words: &["grep", "glob"],
        marks: &[],
        shapes: &[taking(&[PATTERN], false)],
    },
    ToolKind {
        word: "think",
        names: &["think", "Think"],
        words: &["think"],
        marks: &[],
        shapes: &[taking(&[&["thought", "explanation"]], false)],
    },
    ToolKind {
        word: "fetch",
        names: &["WebFetch", "webfetch", "web_fetch", "fetch"],
        words: &["fetch"],
        marks: &[],
        shapes: &[taking(&[URL], true), taking(&[&["uri", "prompt"]], false)],
    },
    ToolKind {
        word: "switch-mode",
        names: &["ExitPlanMode", "exit_plan_mode", "switch_mode", "switchMode", "enter_plan_mode"],
        words: &["switch_mode", "plan_mode"],
        marks: &[],
        shapes: &[taking(&[&["plan", "mode", "mode_slug"]], false), taking(&[], false)],
    },
];

/// The name of the tools that take a plan, as scripts spell it. A plan is a list instead of a string.
pub(super) const PLAN: &str = "plan";
/// The statuses of an entry of a plan. A list of entries is recognised by these statuses.
const STATUSES: [&str; 3] = ["pending", "in_progress", "completed"];

/// Returns the names of the classes for which one of these tools is suitable.
pub(super) fn classes(offered: &[OfferedTool]) -> Vec<&'static str> {
    let all = [&SHELL, &READ, &WRITE, &EDIT].into_iter().chain(FURTHER);
    let fit = all.filter(|class| class.pick(offered).is_some()).map(|class| class.word);
    let plans = offered.iter().any(|tool| entries(tool).is_some()).then_some(PLAN);
    fit.chain(plans).collect()
}

/// Returns the input member that holds the plan, and the schema of an entry of the plan; `None` if the tool has no such
/// member.
pub(super) fn entries(tool: &OfferedTool) -> Option<(&str, &Value)> {
    let members = tool.schema["properties"].as_object()?;
    members.iter().find_map(|(name, schema)| {
        let entry = schema.get("items")?;
        let statuses = entry.pointer("/properties/status/enum")?.as_array()?;
        let known = STATUSES.iter().all(|status| statuses.iter().any(|one| one == *status));
        known.then_some((name.as_str(), entry))
    })
}

/// Returns the class that `tool KIND` names in scripts; `None` if there is none.
pub(super) fn further(word: &str) -> Option<&'static ToolKind> {
    FURTHER.iter().find(|class| class.word == word)
}

fn part<'a>(parts: &[&'a str], at: usize) -> &'a str {
    parts.get(at).copied().unwrap_or_default()
}

fn patch(body: &str) -> String {
    format!("*** Begin Patch\n{body}*** End Patch\n")
}

impl ToolKind {
    /// Returns the best tool for this class with its parameters; `None` if no tool is suitable.
    pub(super) fn pick<'a>(
        &self,
        offered: &'a [OfferedTool],
    ) -> Option<(&'a OfferedTool, &'static ToolShape)> {
        let fitting = offered.iter().flat_map(|tool| {
            let shapes = self.shapes.iter().enumerate();
            shapes.filter_map(move |(at, shape)| {
                let rank = self.rank(tool, shape)?;
                Some(((rank, self.foreign(tool, shape), at), (tool, shape)))
            })
        });
        fitting.min_by_key(|(rank, _)| *rank).map(|(_, found)| found)
    }

    /// Returns the rank of a tool for this class if its parameters match `shape`; a lower rank is better. Returns
    /// `None` if the tool is not of the class.
    fn rank(&self, tool: &OfferedTool, shape: &ToolShape) -> Option<usize> {
        let lower = tool.name.to_ascii_lowercase();
        let known = self.names.iter().position(|name| *name == tool.name);
        if shape.patch.is_some() {
            return (lower.contains("patch") && takes_a_patch(tool)).then_some(self.names.len());
        }
        if matches!(tool.form, CallForm::FreeText | CallForm::Patch)
            || !self.fits(tool, shape, known.is_some())
        {
            return None;
        }
        let hinted = self.words.iter().any(|word| lower.contains(word))
            || self.marks.iter().any(|mark| tool.property(mark).is_some());
        match known {
            Some(at) => Some(at),
            None if hinted => Some(self.names.len()),
            None if shape.tells => Some(self.names.len() + 1),
            None => None,
        }
    }

    fn fits(&self, tool: &OfferedTool, shape: &ToolShape, known: bool) -> bool {
        // A tool with several purposes does not require the members that only one purpose needs.
        let free = known || shape.choice.is_some() || tool.required().next().is_none();
        let taken = |names: &&[&str]| {
            names.iter().any(|name| {
                let wanted = free || tool.required().any(|required| required == *name);
                wanted && tool.property(name).is_some_and(takes_text)
            })
        };
        let chosen = shape.choice.is_none_or(|(member, values)| {
            choices(tool, member).any(|choice| values.contains(&choice))
        });
        chosen
            && shape.parts.iter().all(taken)
            && (shape.choice.is_some() || self.foreign(tool, shape) == 0)
    }

    /// Returns the number of required members that are typical of other classes.
    fn foreign(&self, tool: &OfferedTool, shape: &ToolShape) -> usize {
        let own = |name: &str| shape.parts.iter().any(|names| names.contains(&name));
        let foreign = |name: &&str| !own(name) && OWN.iter().any(|names| names.contains(name));
        tool.required().filter(foreign).count()
    }
}

/// Returns the values that the schema of a member enumerates.
pub(super) fn choices<'a>(tool: &'a OfferedTool, member: &str) -> impl Iterator<Item = &'a str> {
    let choices = tool.property(member).and_then(|schema| schema["enum"].as_array());
    choices.into_iter().flatten().filter_map(|choice| choice.as_str())
}

/// Returns whether a member takes any string, or a list.
fn takes_text(schema: &Value) -> bool {
    let types = types(schema);
    let any = types.is_empty() || types.iter().any(|kind| kind == "string" || kind == "array");
    any && schema.get("enum").is_none()
}

fn takes_a_patch(tool: &OfferedTool) -> bool {
    matches!(tool.form, CallForm::FreeText | CallForm::Patch)
        || PATCH.iter().any(|name| tool.property(name).is_some())
}
