//! The agent script: what a prompt tells the agent behind a host to do.
//!
//! The script travels in the message text, so that no host needs a side channel. It begins with
//! the line `ahp-script: 1`, before which an agent may have put the tag of an element, and ends at
//! the first blank line, at a line that begins with `</`, or at the end of the message. Each line
//! is one step; texts are in double quotes, with `\"`, `\\`, `\n`, `\t`; a bare word needs
//! none. Lines that begin with `#` are comments.
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
//! | `ask-url "message" "url"` | asks the user to do something at that address |
//! | `wait 50ms` | does nothing for that long |
//! | `hold NAME` | waits until NAME is released |
//! | `usage IN OUT` | reports tokens |
//! | `title "text"` | renames the session |
//! | `fail KIND [resumable]` | ends the turn with an error |
//! | `endless` | streams until it is cancelled |
//! | `recall WORD..` | says of each word whether the agent was given it, see [`recalled`] |
//! | `activity "text"` | says what it is doing; an empty text takes that back |
//! | `background "command" 50ms` | leaves a command running that ends after that long |
//! | `canvas NAME [URL]` | shows a canvas at an address; without one what showed it is gone |
//! | `crash` | ends at once, as a process does that is killed |
//! | `act TYPE {..}` | says an action of that type with these members, as JSON up to the end of the line |
//!
//! Classes: `shell`, `read`, `write`, `edit`, `client NAME`, `mcp NAME`, `worker`. Options: `confirm`,
//! `editable`, `by-reference`, `confirm-result`, `reconfirm`, `auth`, `fails`, `input-held`, `deny-means-continue` (the
//! default) and `deny-ends-turn`. A `worker` works in a chat of its own, on its input; on the message
//! that it is called in where the input is empty.
//!
//! What not every way of being the agent can do has a name, see [`AgentScript::extras`].
//!
//! Where the host keeps its own agent, NAME of a `hold` is released by a steering message
//! with the text `ahp-release: NAME`.
//!
//! Pure: shared by every way of being the agent.
//!
//! Knows: nothing. Never knows: hosts, messages, time beyond a duration.
//!
//! Start at [`find`].

use std::time::Duration;

mod read;
#[cfg(test)]
mod tests;
mod write;

/// The line that a script begins with.
pub const HEADER: &str = "ahp-script: 1";

/// How the text of a steering message that releases a `hold` begins.
pub const RELEASE: &str = "ahp-release:";

/// How the comment begins that says whose conversation it is. The harness puts it into scripts where
/// the agent is outside of the host, so that what happens there can be told to belong to a scenario.
pub const CASE: &str = "# ahp-case:";

/// The most pieces that a text without a script is said back in.
const ECHO_PIECES: usize = 32;
/// The least characters of such a piece.
const ECHO_PIECE: usize = 8;

/// The most steps that one script may have.
pub const MAX_STEPS: usize = 1_000;

/// The most texts that one step may have.
pub const MAX_TEXTS: usize = 10_000;

/// The longest delay that `wait` takes.
pub const MAX_WAIT: Duration = Duration::from_secs(600);

/// What an agent is told to do, step by step.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct AgentScript {
    /// The steps, in order. After the last one the turn is complete.
    pub steps: Vec<ScriptStep>,
}

/// One line of a script, or one group of calls.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ScriptStep {
    /// Streams the chunks as one text part.
    Say(Vec<String>),
    /// Streams the chunks as one reasoning part.
    Think(Vec<String>),
    /// Calls one tool and waits for its end.
    Tool(ToolStep),
    /// Calls several tools at the same time and waits for the end of them all.
    Parallel(Vec<ToolStep>),
    /// Asks the user, and waits for the answer.
    Ask {
        /// What kind of answer is wanted.
        kind: AskKind,
        /// The question as the user reads it.
        question: String,
        /// What the user can choose from, where there is a choice; the address of [`AskKind::Url`].
        options: Vec<String>,
    },
    /// Does nothing for a while.
    Wait(Duration),
    /// Waits until the name is released.
    Hold(String),
    /// Reports how many tokens were used.
    Usage {
        /// Tokens read.
        input: u64,
        /// Tokens written.
        output: u64,
    },
    /// Renames the session.
    Title(String),
    /// Ends the turn with an error.
    Fail {
        /// What failed, such as `rate-limit`.
        kind: String,
        /// Whether the turn can be resumed; what stands after this step is then done.
        resumable: bool,
    },
    /// Streams until it is cancelled.
    Endless,
    /// Says of each word whether the agent was given it.
    Recall(Vec<String>),
    /// Says what it is doing; empty where it is nothing any more.
    Activity(String),
    /// Leaves a command running.
    Background {
        /// The command.
        command: String,
        /// How long it runs.
        lasts: Duration,
    },
    /// Shows a canvas.
    Canvas {
        /// Which one, within the chat.
        name: String,
        /// Where it is shown; what showed it is gone without.
        url: Option<String>,
    },
    /// Ends as a process that is killed.
    Crash,
    /// Says an action of the protocol, as it is written.
    Act {
        /// The action's type, such as `chat/usage`.
        action: String,
        /// Its members, a JSON object.
        members: String,
    },
}

/// What kind of answer a question wants. The names are the protocol's.
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
    /// No answer: the user is to do something at an address.
    Url,
}

/// What follows the question of a step that asks.
enum AskTail {
    /// Nothing.
    Nothing,
    /// Options; a text is wanted where there are none.
    MaybeOptions,
    /// One option or more.
    Options,
    /// An address.
    Address,
}

/// The steps that ask.
const ASKS: &[(&str, AskKind, AskTail)] = &[
    ("ask", AskKind::SingleSelect, AskTail::MaybeOptions),
    ("ask-multi-select", AskKind::MultiSelect, AskTail::Options),
    ("ask-number", AskKind::Number, AskTail::Nothing),
    ("ask-boolean", AskKind::Boolean, AskTail::Nothing),
    ("ask-url", AskKind::Url, AskTail::Address),
];

/// One tool call.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ToolStep {
    /// Which of the host's tools.
    pub class: ToolClass,
    /// What the tool is called with.
    pub input: String,
    /// The user is asked before the tool runs.
    pub confirm: bool,
    /// The user may change the input when asked.
    pub editable: bool,
    /// The input is shown by the address of its content.
    pub by_reference: bool,
    /// The user is asked before the agent sees the result.
    pub confirm_result: bool,
    /// The user is asked once more while the tool runs.
    pub reconfirm: bool,
    /// The tool's server asks for a token before it runs.
    pub auth: bool,
    /// The tool ends without success.
    pub fails: bool,
    /// A denial ends the turn; otherwise the agent goes on with the next step.
    pub deny_ends_turn: bool,
    /// Its input comes in two parts, the second one when [`INPUT`] is released.
    pub input_held: bool,
}

/// The name at which a call holds whose input is held.
pub const INPUT: &str = "input";

/// Which kind of tool is called. The host offers its own names for the first four.
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
    /// The tool of this name, which an active client offers.
    Client(String),
    /// The tool of this name, which an MCP server offers.
    Mcp(String),
    /// Has another agent work on the input, in a chat of its own.
    Worker,
    /// One of the further kinds that ACP tells apart, a row of [`FURTHER`].
    Further(&'static CommonTool),
}

/// A kind of tools that many agents have and no host has to.
#[derive(Debug, Eq, PartialEq)]
pub struct CommonTool {
    /// How a script names it.
    pub name: &'static str,
    /// What ACP calls its kind.
    pub kind: &'static str,
}

/// The further kinds.
pub const FURTHER: &[CommonTool] = &[
    CommonTool { name: "delete", kind: "delete" },
    CommonTool { name: "move", kind: "move" },
    CommonTool { name: "search", kind: "search" },
    CommonTool { name: "think", kind: "think" },
    CommonTool { name: "fetch", kind: "fetch" },
    CommonTool { name: "switch-mode", kind: "switch_mode" },
    CommonTool { name: "plan", kind: "think" },
];

/// The entries of the input of `tool plan`: a line each, which begins with `>` where the entry is in progress and with `x`
/// where it is completed. Gives the status, in the protocol's words, and the text.
pub fn plan(input: &str) -> impl Iterator<Item = (&'static str, &str)> {
    input.lines().map(|line| {
        let marks = [("> ", "in_progress"), ("x ", "completed")];
        let marked =
            marks.iter().find_map(|(mark, status)| Some((*status, line.strip_prefix(mark)?)));
        marked.unwrap_or(("pending", line))
    })
}

/// A mistake in a script: the author's to fix.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("line {line}: {kind}")]
pub struct ScriptError {
    /// The line of the message, counted from 1.
    pub line: usize,
    /// What is wrong with it.
    pub kind: ScriptErrorKind,
}

/// What is wrong with a line of a script.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum ScriptErrorKind {
    /// A header with another version.
    #[error("expected `ahp-script: 1`, found version `{found}`")]
    Version {
        /// What stands after the colon.
        found: String,
    },
    /// A header without a step after it.
    #[error("expected a step after `ahp-script: 1`\n(hint: a blank line ends the script)")]
    Empty,
    /// A step of no known name.
    #[error(
        "expected a step, found `{found}`\n\
         (hint: say think tool parallel ask ask-multi-select ask-number ask-boolean ask-url \
         wait hold usage title fail endless recall activity background canvas crash act)"
    )]
    UnknownStep {
        /// The first word of the line.
        found: String,
    },
    /// A tool class of no known name.
    #[error(
        "expected a tool class, found `{found}`\n(hint: shell read write edit client mcp worker \
         delete move search think fetch switch-mode plan)"
    )]
    UnknownClass {
        /// The word.
        found: String,
    },
    /// A tool option of no known name.
    #[error(
        "expected an option of `tool`, found `{found}`\n\
         (hint: confirm editable by-reference confirm-result reconfirm auth fails input-held deny-means-continue deny-ends-turn; \
         an input of several words needs quotes)"
    )]
    UnknownOption {
        /// The word.
        found: String,
    },
    /// A step that lacks something.
    #[error("expected {what} after `{after}`")]
    Missing {
        /// What is missing.
        what: &'static str,
        /// The word it belongs to.
        after: String,
    },
    /// A step with something after its end.
    #[error("expected the end of the line, found `{found}`")]
    Surplus {
        /// The first word too many.
        found: String,
    },
    /// A text without its closing quote.
    #[error("expected a closing `\"`")]
    OpenQuote,
    /// A duration that is none.
    #[error("expected a duration up to ten minutes, found `{found}`\n(hint: write `50ms` or `2s`)")]
    Duration {
        /// The word.
        found: String,
    },
    /// A number that is none.
    #[error("expected a whole number, found `{found}`")]
    Number {
        /// The word.
        found: String,
    },
    /// Members of an action that are no JSON object.
    #[error("expected a JSON object after `act {action}`: {why}")]
    Members {
        /// The action's type.
        action: String,
        /// What is wrong with it.
        why: String,
    },
    /// A `parallel` without `end`, an `end` without `parallel`, or another step between them.
    #[error("expected only `tool` steps between `parallel` and `end`, found {found}")]
    Group {
        /// What stands there.
        found: &'static str,
    },
    /// More than fits.
    #[error("expected at most {limit} {what}")]
    TooMany {
        /// The bound.
        limit: usize,
        /// What there are too many of.
        what: &'static str,
    },
}

/// What not every agent that plays scripts can do, by the names under which a host with such an agent
/// of its own declares it.
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

/// Something that not every agent can do.
#[derive(Debug)]
pub struct OptionalAbility {
    /// What it is called.
    pub name: &'static str,
    /// Whether a step needs it.
    needs: fn(&ScriptStep) -> bool,
}

impl ScriptStep {
    /// The tool calls that it makes.
    pub fn calls(&self) -> &[ToolStep] {
        match self {
            ScriptStep::Tool(call) => std::slice::from_ref(call),
            ScriptStep::Parallel(calls) => calls,
            _ => &[],
        }
    }
}

impl AgentScript {
    /// The names of what it needs that not every agent can do.
    pub fn extras(&self) -> impl Iterator<Item = &'static str> {
        let needed = |extra: &&OptionalAbility| self.steps.iter().any(|step| (extra.needs)(step));
        EXTRAS.iter().filter(needed).map(|extra| extra.name)
    }
}

/// What the answer to `recall` has behind a word that the agent was given.
const KNOWN: &str = ": known";
/// What it has behind another.
const UNKNOWN: &str = ": unknown";

/// The answer to `recall`: which of the words stand in what the agent was given, a line for each. Words
/// in a `recall` itself and in its answers do not count.
pub fn recalled(words: &[String], given: &[&str]) -> String {
    let own = |line: &str| {
        line.trim_start().starts_with("recall ") || line.ends_with(KNOWN) || line.ends_with(UNKNOWN)
    };
    let lines = || given.iter().flat_map(|text| text.lines()).filter(|line| !own(line));
    let answer = |word: &String| {
        let known = lines().any(|line| line.contains(word.as_str()));
        format!("{word}{}", if known { KNOWN } else { UNKNOWN })
    };
    words.iter().map(answer).collect::<Vec<_>>().join("\n")
}

/// Finds the script in a message: `None` when it holds none, otherwise the script or its first
/// mistake.
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

/// What stands behind the colon of a header, where a line is one.
fn version(line: &str) -> Option<&str> {
    let (before, version) = line.split_once("ahp-script:")?;
    let wrapped = before.trim().is_empty() || before.trim_end().ends_with('>');
    wrapped.then_some(version)
}

/// A message of several scripts from its last one on: an agent whose turn has failed may put the next prompt behind the one that
/// was never answered.
pub fn latest(text: &str) -> &str {
    let mut at = 0;
    let starts = text.split_inclusive('\n').filter_map(|line| {
        let start = at;
        at += line.len();
        version(line).map(|_| start)
    });
    starts.skip(1).last().and_then(|start| text.get(start..)).unwrap_or(text)
}

/// The scenario that a message belongs to, as a comment in its script says.
pub fn case_of(text: &str) -> Option<&str> {
    let comment = text.lines().find_map(|line| line.trim().strip_prefix(CASE))?;
    comment.split_whitespace().next()
}

/// Cuts a text into a few pieces, between characters.
pub fn pieces(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    let size = letters.len().div_ceil(ECHO_PIECES).max(ECHO_PIECE);
    letters.chunks(size).map(|chunk| chunk.iter().collect()).collect()
}
