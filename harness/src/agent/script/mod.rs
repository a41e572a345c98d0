//! The agent script: a language in which a prompt tells the agent behind a host what to do.
//!
//! The script is part of the message text, so that no host needs a side channel. A script begins with the line
//! `ahp-script: 1`; an agent may have put an opening tag before this line. The script ends at the first
//! blank line, at a line that begins with `</`, or at the end of the message. Each line is one step. Strings are in
//! double quotes, with `\"`, `\\`, `\n` and `\t`. A single word needs no quotes. Lines that begin with `#` are
//! comments.
//!
//! | step | what the agent does |
//! |---|---|
//! | `say "a" "b"` | streams the chunks as one text part |
//! | `think "a" "b"` | streams the chunks as one reasoning part |
//! | `tool CLASS "input" OPTION..` | calls a tool of that class, once |
//! | `parallel` .. `end` | makes the calls between the two lines at the same time |
//! | `ask "question" option..` | asks the user: a choice, or a required text without options |
//! | `ask-multi-select "question" option..` | asks for any number of choices |
//! | `ask-number "question"`, `ask-boolean "question"` | asks for a number, for yes or no |
//! | `ask-url "message" "url"` | asks the user to open that address |
//! | `wait 50ms` | pauses for that time |
//! | `hold NAME` | waits until NAME is released |
//! | `usage IN OUT` | reports tokens |
//! | `title "text"` | renames the session |
//! | `fail KIND [resumable]` | ends the turn with an error |
//! | `endless` | streams until it is cancelled |
//! | `recall WORD..` | answers for each word whether the agent has received it, see [`recalled`] |
//! | `activity "text"` | reports its activity; an empty text clears it |
//! | `background "command" 50ms` | leaves a command running that ends after that time |
//! | `canvas NAME [URL]` | shows a canvas at an address; without an address, the canvas has been closed |
//! | `crash` | ends at once, like a killed process |
//! | `act TYPE {..}` | publishes an action of that type with these members, as JSON up to the end of the line |
//!
//! Classes: `shell`, `read`, `write`, `edit`, `client NAME`, `mcp NAME`, `worker`. Options: `confirm`,
//! `editable`, `by-reference`, `confirm-result`, `reconfirm`, `auth`, `fails`, `input-held`,
//! `deny-means-continue` (the default) and `deny-ends-turn`. A `worker` works in its own chat, on its input, or
//! on the message of the calling turn if the input is empty.
//!
//! The optional abilities of agents have names, see [`AgentScript::extras`].
//!
//! If the host has its own agent, a steering message with the text `ahp-release: NAME` releases the `hold` with
//! this NAME.
//!
//! The module is pure, and all implementations of the agent use it.
//!
//! Knows: nothing. Never knows: hosts, messages, clocks.
//!
//! Start at [`find`].

use std::time::Duration;

mod read;
#[cfg(test)]
mod tests;
mod write;

/// The first line of a script.
pub const HEADER: &str = "ahp-script: 1";

/// The prefix of the text of a steering message that releases a `hold`.
pub const RELEASE: &str = "ahp-release:";

/// The prefix of the comment that names the scenario of a script. The harness inserts this comment if the agent
/// is outside of the host, so that the agent's log can be assigned to a scenario.
pub const CASE: &str = "# ahp-case:";

/// The maximum number of chunks in which a message without a script is echoed.
const ECHO_PIECES: usize = 32;
/// The minimum number of characters of a chunk of an echo.
const ECHO_PIECE: usize = 8;

/// The maximum number of steps of a script.
pub const MAX_STEPS: usize = 1_000;

/// The maximum number of strings of a step.
pub const MAX_TEXTS: usize = 10_000;

/// The longest time that `wait` accepts.
pub const MAX_WAIT: Duration = Duration::from_secs(600);

/// The steps that an agent is to play.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct AgentScript {
    /// The steps, in order. After the last step, the turn is complete.
    pub steps: Vec<ScriptStep>,
}

/// A line of a script, or a group of calls.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ScriptStep {
    /// Streams the chunks as one text part.
    Say(Vec<String>),
    /// Streams the chunks as one reasoning part.
    Think(Vec<String>),
    /// Calls one tool and waits until the call ends.
    Tool(ToolStep),
    /// Calls several tools at the same time and waits until all calls end.
    Parallel(Vec<ToolStep>),
    /// Asks the user, and waits for the answer.
    Ask {
        /// The kind of answer.
        kind: AskKind,
        /// The question to the user.
        question: String,
        /// The options, if there is a choice; the address for [`AskKind::Url`].
        options: Vec<String>,
    },
    /// Does nothing for this time.
    Wait(Duration),
    /// Waits until the hold with this name is released.
    Hold(String),
    /// Reports the number of used tokens.
    Usage {
        /// The number of tokens read.
        input: u64,
        /// The number of tokens written.
        output: u64,
    },
    /// Renames the session.
    Title(String),
    /// Ends the turn with an error.
    Fail {
        /// The kind of failure, such as `rate-limit`.
        kind: String,
        /// Whether the turn can be resumed. A resumed turn plays the steps after this one.
        resumable: bool,
    },
    /// Streams until it is cancelled.
    Endless,
    /// Answers, for each of these words, whether the agent has received it.
    Recall(Vec<String>),
    /// Reports the current activity; an empty string ends the activity.
    Activity(String),
    /// Starts a command that continues to run in the background.
    Background {
        /// The command.
        command: String,
        /// The time that the command runs.
        lasts: Duration,
    },
    /// Shows a canvas.
    Canvas {
        /// The name of the canvas, unique in the chat.
        name: String,
        /// The address of the canvas; `None` if the extension has closed it.
        url: Option<String>,
    },
    /// Stops the agent as if its process were killed.
    Crash,
    /// Publishes an action of the protocol unchanged.
    Act {
        /// The action's type, such as `chat/usage`.
        action: String,
        /// The action's members, as a JSON object in a string.
        members: String,
    },
}

/// The kind of answer to a question, by the protocol's names.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum AskKind {
    /// A text.
    Text,
    /// One of the options.
    SingleSelect,
    /// Any number of the options.
    MultiSelect,
    /// A number.
    Number,
    /// Yes or no.
    Boolean,
    /// No answer: the user opens an address.
    Url,
}

/// The arguments that follow the question in a step that asks the user.
enum AskTail {
    /// No arguments.
    Nothing,
    /// Options; without options, the user answers with free text.
    MaybeOptions,
    /// One option or more.
    Options,
    /// An address.
    Address,
}

/// The steps that ask the user: the word of the step, the kind of the answer, and the arguments after the question.
const ASKS: &[(&str, AskKind, AskTail)] = &[
    ("ask", AskKind::SingleSelect, AskTail::MaybeOptions),
    ("ask-multi-select", AskKind::MultiSelect, AskTail::Options),
    ("ask-number", AskKind::Number, AskTail::Nothing),
    ("ask-boolean", AskKind::Boolean, AskTail::Nothing),
    ("ask-url", AskKind::Url, AskTail::Address),
];

/// A tool call.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ToolStep {
    /// The class of the tool.
    pub class: ToolClass,
    /// The input of the tool.
    pub input: String,
    /// Whether the user is asked before the tool runs.
    pub confirm: bool,
    /// Whether the user may edit the input when asked.
    pub editable: bool,
    /// Whether the state refers to the input by a URI.
    pub by_reference: bool,
    /// Whether the user is asked before the agent sees the result.
    pub confirm_result: bool,
    /// Whether the user is asked a second time while the tool runs.
    pub reconfirm: bool,
    /// Whether the tool's MCP server asks for a token before the tool runs.
    pub auth: bool,
    /// Whether the tool fails.
    pub fails: bool,
    /// Whether a denial ends the turn; otherwise the agent continues with the next step.
    pub deny_ends_turn: bool,
    /// Whether the input comes in two parts; the second part follows the release of [`INPUT`].
    pub input_held: bool,
}

impl ToolStep {
    /// Returns a call without options: it needs no permission, and it succeeds.
    pub fn of(class: ToolClass, input: String) -> ToolStep {
        ToolStep {
            class,
            input,
            confirm: false,
            editable: false,
            by_reference: false,
            confirm_result: false,
            reconfirm: false,
            auth: false,
            fails: false,
            deny_ends_turn: false,
            input_held: false,
        }
    }
}

/// The name of the hold for delayed input.
pub const INPUT: &str = "input";

/// The class of a called tool. The host chooses the names of the first four.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ToolClass {
    /// Runs a command.
    Shell,
    /// Reads a file.
    Read,
    /// Writes a file.
    Write,
    /// Changes a file.
    Edit,
    /// Calls the tool of this name, which an active client offers.
    Client(String),
    /// Calls the tool of this name, which an MCP server offers.
    Mcp(String),
    /// Starts another agent on the input, in its own chat.
    Worker,
    /// Calls a further kind of tool in ACP, a row of [`FURTHER`].
    Further(&'static CommonTool),
}

/// A kind of tool that many agents have and that is optional for hosts.
#[derive(Debug, Eq, PartialEq)]
pub struct CommonTool {
    /// The name of the kind in scripts.
    pub name: &'static str,
    /// The name of the kind in ACP.
    pub kind: &'static str,
}

/// All further kinds.
pub const FURTHER: &[CommonTool] = &[
    CommonTool { name: "delete", kind: "delete" },
    CommonTool { name: "move", kind: "move" },
    CommonTool { name: "search", kind: "search" },
    CommonTool { name: "think", kind: "think" },
    CommonTool { name: "fetch", kind: "fetch" },
    CommonTool { name: "switch-mode", kind: "switch_mode" },
    CommonTool { name: "plan", kind: "think" },
];

/// Returns the entries of the input of `tool plan`, each with the status in the protocol's terms and the text.
/// Each line is an entry. A line begins with `>` if the entry is in progress and with `x` if it is completed.
pub fn plan(input: &str) -> impl Iterator<Item = (&'static str, &str)> {
    input.lines().map(|line| {
        let marks = [("> ", "in_progress"), ("x ", "completed")];
        let marked =
            marks.iter().find_map(|(mark, status)| Some((*status, line.strip_prefix(mark)?)));
        marked.unwrap_or(("pending", line))
    })
}

/// An error in a script.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("line {line}: {kind}")]
pub struct ScriptError {
    /// The line in the message, counted from 1.
    pub line: usize,
    /// The kind of error.
    pub kind: ScriptErrorKind,
}

/// The kind of an error in a line of a script.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum ScriptErrorKind {
    /// A header with another version.
    #[error("expected `ahp-script: 1`, found version `{found}`")]
    Version {
        /// The text after the colon.
        found: String,
    },
    /// A header without a step after it.
    #[error("expected a step after `ahp-script: 1`\n(hint: a blank line ends the script)")]
    Empty,
    /// An unknown step.
    #[error(
        "expected a step, found `{found}`\n\
         (hint: say think tool parallel ask ask-multi-select ask-number ask-boolean ask-url \
         wait hold usage title fail endless recall activity background canvas crash act)"
    )]
    UnknownStep {
        /// The first word of the line.
        found: String,
    },
    /// An unknown tool class.
    #[error(
        "expected a tool class, found `{found}`\n(hint: shell read write edit client mcp worker \
         delete move search think fetch switch-mode plan)"
    )]
    UnknownClass {
        /// The unknown class.
        found: String,
    },
    /// An unknown tool option.
    #[error(
        "expected an option of `tool`, found `{found}`\n\
         (hint: confirm editable by-reference confirm-result reconfirm auth fails input-held deny-means-continue deny-ends-turn; \
         an input of several words needs quotes)"
    )]
    UnknownOption {
        /// The unknown option.
        found: String,
    },
    /// A step with a missing argument.
    #[error("expected {what} after `{after}`")]
    Missing {
        /// The missing argument.
        what: &'static str,
        /// The word before the missing argument.
        after: String,
    },
    /// A step with a surplus argument.
    #[error("expected the end of the line, found `{found}`")]
    Surplus {
        /// The first surplus word.
        found: String,
    },
    /// A string without its closing quote.
    #[error("expected a closing `\"`")]
    OpenQuote,
    /// An invalid duration.
    #[error("expected a duration up to ten minutes, found `{found}`\n(hint: write `50ms` or `2s`)")]
    Duration {
        /// The invalid text.
        found: String,
    },
    /// An invalid number.
    #[error("expected a whole number, found `{found}`")]
    Number {
        /// The invalid text.
        found: String,
    },
    /// Members of an action that are not a JSON object.
    #[error("expected a JSON object after `act {action}`: {why}")]
    Members {
        /// The action's type.
        action: String,
        /// The parse error.
        why: String,
    },
    /// A `parallel` without `end`, an `end` without `parallel`, or another step between them.
    #[error("expected only `tool` steps between `parallel` and `end`, found {found}")]
    Group {
        /// The misplaced word or step.
        found: &'static str,
    },
    /// Too many items.
    #[error("expected at most {limit} {what}")]
    TooMany {
        /// The maximum number of items.
        limit: usize,
        /// The kind of item.
        what: &'static str,
    },
}

/// The optional abilities of agents that play scripts, with the names by which a host declares them for its own
/// agent.
pub const EXTRAS: &[OptionalAbility] = &[
    OptionalAbility { name: "recall", needs: |step| matches!(step, ScriptStep::Recall(_)) },
    OptionalAbility { name: "activity", needs: |step| matches!(step, ScriptStep::Activity(_)) },
    OptionalAbility {
        name: "background",
        needs: |step| matches!(step, ScriptStep::Background { .. }),
    },
    OptionalAbility { name: "canvas", needs: |step| matches!(step, ScriptStep::Canvas { .. }) },
    OptionalAbility { name: "crash", needs: |step| matches!(step, ScriptStep::Crash) },
    OptionalAbility {
        name: "worker",
        needs: |step| step.calls().iter().any(|call| call.class == ToolClass::Worker),
    },
    OptionalAbility {
        name: "further-tools",
        needs: |step| step.calls().iter().any(|call| matches!(call.class, ToolClass::Further(_))),
    },
    OptionalAbility {
        name: "by-reference",
        needs: |step| step.calls().iter().any(|call| call.by_reference),
    },
    OptionalAbility { name: "auth", needs: |step| step.calls().iter().any(|call| call.auth) },
    OptionalAbility { name: "act", needs: |step| matches!(step, ScriptStep::Act { .. }) },
];

/// An optional ability of an agent.
#[derive(Debug)]
pub struct OptionalAbility {
    /// The name by which a host declares the ability.
    pub name: &'static str,
    /// A function that returns whether a step needs the ability.
    needs: fn(&ScriptStep) -> bool,
}

impl ScriptStep {
    /// Returns the tool calls of the step.
    pub fn calls(&self) -> &[ToolStep] {
        match self {
            ScriptStep::Tool(call) => std::slice::from_ref(call),
            ScriptStep::Parallel(calls) => calls,
            _ => &[],
        }
    }
}

impl AgentScript {
    /// Returns the names of the optional abilities that the script needs.
    pub fn extras(&self) -> impl Iterator<Item = &'static str> {
        let needed = |extra: &&OptionalAbility| self.steps.iter().any(|step| (extra.needs)(step));
        EXTRAS.iter().filter(needed).map(|extra| extra.name)
    }
}

/// The suffix of a known word in the answer to `recall`.
const KNOWN: &str = ": known";
/// The suffix of an unknown word in the answer to `recall`.
const UNKNOWN: &str = ": unknown";

/// The prefix of each line of an earlier conversation that an agent receives as context. A script in such lines is not
/// played.
pub const QUOTE: &str = "| ";

/// Returns the answer to `recall`: a line for each word, which states whether the word occurs in `given`.
/// Ignores words in `recall` steps and in answers to `recall`.
pub fn recalled(words: &[String], given: &[&str]) -> String {
    let own = |line: &str| {
        let bare = line.trim_start_matches(QUOTE).trim_start();
        bare.starts_with("recall ") || line.ends_with(KNOWN) || line.ends_with(UNKNOWN)
    };
    let lines = || given.iter().flat_map(|text| text.lines()).filter(|line| !own(line));
    let answer = |word: &String| {
        let known = lines().any(|line| line.contains(word.as_str()));
        format!("{word}{}", if known { KNOWN } else { UNKNOWN })
    };
    words.iter().map(answer).collect::<Vec<_>>().join("\n")
}

/// Finds the script in a message. Returns `None` if the message has no script; if it has one, returns the
/// script or its first error.
pub fn find(text: &str) -> Option<Result<AgentScript, ScriptError>> {
    let mut lines = text.lines().enumerate();
    let (at, version) =
        lines.find_map(|(at, line)| Some((at + 1, version(line)?.trim().to_owned())))?;
    if version != "1" {
        let kind = ScriptErrorKind::Version { found: version };
        return Some(Err(ScriptError { line: at, kind }));
    }
    let body = lines
        .map(|(index, line)| (index + 1, line.trim()))
        .take_while(|(_, line)| !line.is_empty() && !line.starts_with("</"));
    Some(read::parse(at, body))
}

/// Returns the version after the colon, if a line is a header.
fn version(line: &str) -> Option<&str> {
    let (before, version) = line.split_once("ahp-script:")?;
    let wrapped = before.trim().is_empty() || before.trim_end().ends_with('>');
    wrapped.then_some(version)
}

/// Returns the part of a message that begins with its last script. After a failed turn an agent may append the
/// next prompt to the unanswered prompt.
pub fn latest(text: &str) -> &str {
    let mut at = 0;
    let starts = text.split_inclusive('\n').filter_map(|line| {
        let start = at;
        at += line.len();
        version(line).map(|_| start)
    });
    starts.skip(1).last().and_then(|start| text.get(start..)).unwrap_or(text)
}

/// Returns the scenario that is named in a comment of the script in a message; `None` if there is no such
/// comment.
pub fn case_of(text: &str) -> Option<&str> {
    let comment = text.lines().find_map(|line| line.trim().strip_prefix(CASE))?;
    comment.split_whitespace().next()
}

/// Splits a string into a few chunks, at character boundaries.
pub fn pieces(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    let size = letters.len().div_ceil(ECHO_PIECES).max(ECHO_PIECE);
    letters.chunks(size).map(|chunk| chunk.iter().collect()).collect()
}
