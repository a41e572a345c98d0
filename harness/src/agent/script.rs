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
//!
//! Classes: `shell`, `read`, `write`, `edit`, `client NAME`, `mcp NAME`. Options: `confirm`,
//! `editable`, `confirm-result`, `reconfirm`, `fails`, `deny-means-continue` (the default) and
//! `deny-ends-turn`. Where the host keeps its own agent, NAME is released by a steering message
//! with the text `ahp-release: NAME`.
//!
//! Pure: shared by every way of being the agent.
//!
//! Knows: nothing. Never knows: hosts, messages, time beyond a duration.
//!
//! Start at [`find`].

use std::fmt;
use std::time::Duration;

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
pub struct Script {
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
    /// The user is asked before the agent sees the result.
    pub confirm_result: bool,
    /// The user is asked once more while the tool runs.
    pub reconfirm: bool,
    /// The tool ends without success.
    pub fails: bool,
    /// A denial ends the turn; otherwise the agent goes on with the next step.
    pub deny_ends_turn: bool,
}

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
         wait hold usage title fail endless)"
    )]
    UnknownStep {
        /// The first word of the line.
        found: String,
    },
    /// A tool class of no known name.
    #[error("expected a tool class, found `{found}`\n(hint: shell read write edit client mcp)")]
    UnknownClass {
        /// The word.
        found: String,
    },
    /// A tool option of no known name.
    #[error(
        "expected an option of `tool`, found `{found}`\n\
         (hint: confirm editable confirm-result reconfirm fails deny-means-continue deny-ends-turn; \
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

/// Finds the script in a message: `None` when it holds none, otherwise the script or its first
/// mistake.
pub fn find(text: &str) -> Option<Result<Script, ScriptError>> {
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
    Some(parse(at, body))
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

fn parse<'a>(
    header: usize,
    lines: impl Iterator<Item = (usize, &'a str)>,
) -> Result<Script, ScriptError> {
    let mut steps = Vec::new();
    let mut group: Option<(usize, Vec<ToolStep>)> = None;
    for (line, text) in lines.filter(|(_, text)| !text.starts_with('#')) {
        let fail = |kind| ScriptError { line, kind };
        let words = split(text).map_err(fail)?;
        let mut words = Words { words, at: 0, last: String::new() };
        let name = words.next("a step").map_err(fail)?;
        match (name.as_str(), &mut group) {
            ("parallel", None) => group = Some((line, Vec::new())),
            ("end", Some(_)) => {
                let calls = group.take().map(|(_, calls)| calls).unwrap_or_default();
                steps.push(ScriptStep::Parallel(calls));
            }
            ("end", None) => {
                let found = "`end` without `parallel`";
                return Err(fail(ScriptErrorKind::Group { found }));
            }
            ("tool", Some((_, calls))) => calls.push(tool(&mut words).map_err(fail)?),
            (_, Some(_)) => {
                let found = "another step";
                return Err(fail(ScriptErrorKind::Group { found }));
            }
            (name, None) => steps.push(step(name, &mut words).map_err(fail)?),
        }
        words.finish().map_err(fail)?;
        let size = steps.len() + group.as_ref().map_or(0, |(_, calls)| calls.len());
        if size > MAX_STEPS {
            let (limit, what) = (MAX_STEPS, "steps");
            return Err(fail(ScriptErrorKind::TooMany { limit, what }));
        }
    }
    if let Some((line, _)) = group {
        let found = "the end of the script";
        let kind = ScriptErrorKind::Group { found };
        return Err(ScriptError { line, kind });
    }
    if steps.is_empty() {
        let kind = ScriptErrorKind::Empty;
        return Err(ScriptError { line: header, kind });
    }
    Ok(Script { steps })
}

fn step(name: &str, words: &mut Words) -> Result<ScriptStep, ScriptErrorKind> {
    Ok(match name {
        "say" => ScriptStep::Say(words.rest("a text")?),
        "think" => ScriptStep::Think(words.rest("a text")?),
        "tool" => ScriptStep::Tool(tool(words)?),
        "wait" => ScriptStep::Wait(duration(&words.next("a duration")?)?),
        "hold" => ScriptStep::Hold(words.next("a name")?),
        "usage" => ScriptStep::Usage {
            input: number(words.next("a number")?)?,
            output: number(words.next("a second number")?)?,
        },
        "title" => ScriptStep::Title(words.next("a text")?),
        "fail" => ScriptStep::Fail {
            kind: words.next("a kind such as `rate-limit`")?,
            resumable: words.take("resumable"),
        },
        "endless" => ScriptStep::Endless,
        found => match ASKS.iter().find(|(name, ..)| *name == found) {
            Some((_, kind, tail)) => ask(*kind, tail, words)?,
            None => return Err(ScriptErrorKind::UnknownStep { found: found.to_owned() }),
        },
    })
}

fn ask(kind: AskKind, tail: &AskTail, words: &mut Words) -> Result<ScriptStep, ScriptErrorKind> {
    let question = words.next("a question")?;
    let options = match tail {
        AskTail::Nothing => Vec::new(),
        AskTail::MaybeOptions => words.rest("an option").unwrap_or_default(),
        AskTail::Options => words.rest("an option")?,
        AskTail::Address => vec![words.next("an address")?],
    };
    let open = kind == AskKind::SingleSelect && options.is_empty();
    Ok(ScriptStep::Ask { kind: if open { AskKind::Text } else { kind }, question, options })
}

fn tool(words: &mut Words) -> Result<ToolStep, ScriptErrorKind> {
    let class = match words.next("a tool class")?.as_str() {
        "shell" => ToolClass::Shell,
        "read" => ToolClass::Read,
        "write" => ToolClass::Write,
        "edit" => ToolClass::Edit,
        "client" => ToolClass::Client(words.next("the name of a client's tool")?),
        "mcp" => ToolClass::Mcp(words.next("the name of an MCP tool")?),
        found => {
            let found = found.to_owned();
            return Err(ScriptErrorKind::UnknownClass { found });
        }
    };
    let mut step = ToolStep {
        class,
        input: words.next("the tool's input")?,
        confirm: false,
        editable: false,
        confirm_result: false,
        reconfirm: false,
        fails: false,
        deny_ends_turn: false,
    };
    while let Some(option) = words.pop() {
        match option.as_str() {
            "confirm" => step.confirm = true,
            "editable" => step.editable = true,
            "confirm-result" => step.confirm_result = true,
            "reconfirm" => step.reconfirm = true,
            "fails" => step.fails = true,
            "deny-means-continue" => step.deny_ends_turn = false,
            "deny-ends-turn" => step.deny_ends_turn = true,
            _ => return Err(ScriptErrorKind::UnknownOption { found: option }),
        }
    }
    Ok(step)
}

fn duration(text: &str) -> Result<Duration, ScriptErrorKind> {
    let error = || ScriptErrorKind::Duration { found: text.to_owned() };
    let (digits, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).ok_or_else(error)?);
    let count: u64 = digits.parse().map_err(|_| error())?;
    let duration = match unit {
        "ms" => Duration::from_millis(count),
        "s" => Duration::from_secs(count),
        _ => return Err(error()),
    };
    if duration > MAX_WAIT {
        return Err(error());
    }
    Ok(duration)
}

fn number(text: String) -> Result<u64, ScriptErrorKind> {
    text.parse().map_err(|_| ScriptErrorKind::Number { found: text })
}

struct Words {
    words: Vec<String>,
    at: usize,
    last: String,
}

impl Words {
    fn pop(&mut self) -> Option<String> {
        let word = self.words.get(self.at)?.clone();
        self.at += 1;
        self.last.clone_from(&word);
        Some(word)
    }

    fn next(&mut self, what: &'static str) -> Result<String, ScriptErrorKind> {
        let after = self.last.clone();
        self.pop().ok_or(ScriptErrorKind::Missing { what, after })
    }

    fn take(&mut self, word: &str) -> bool {
        let there = self.words.get(self.at).is_some_and(|next| next == word);
        self.at += usize::from(there);
        there
    }

    fn rest(&mut self, what: &'static str) -> Result<Vec<String>, ScriptErrorKind> {
        let mut rest = vec![self.next(what)?];
        while let Some(word) = self.pop() {
            rest.push(word);
        }
        Ok(rest)
    }

    fn finish(mut self) -> Result<(), ScriptErrorKind> {
        match self.pop() {
            Some(found) => Err(ScriptErrorKind::Surplus { found }),
            None => Ok(()),
        }
    }
}

fn split(line: &str) -> Result<Vec<String>, ScriptErrorKind> {
    let mut words = Vec::new();
    let mut chars = line.chars().peekable();
    while let Some(&first) = chars.peek() {
        let mut word = String::new();
        if first.is_whitespace() {
            chars.next();
            continue;
        } else if first == '"' {
            chars.next();
            loop {
                match chars.next().ok_or(ScriptErrorKind::OpenQuote)? {
                    '"' => break,
                    '\\' => word.push(match chars.next().ok_or(ScriptErrorKind::OpenQuote)? {
                        'n' => '\n',
                        't' => '\t',
                        other => other,
                    }),
                    other => word.push(other),
                }
            }
        } else {
            while let Some(letter) = chars.next_if(|c| !c.is_whitespace() && *c != '"') {
                word.push(letter);
            }
        }
        words.push(word);
        if words.len() > MAX_TEXTS {
            let (limit, what) = (MAX_TEXTS, "texts in a line");
            return Err(ScriptErrorKind::TooMany { limit, what });
        }
    }
    Ok(words)
}

/// A word as it stands in a script: bare where it can be, in quotes otherwise.
struct Word<'a>(&'a str);

impl fmt::Display for Word<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"")?;
        for letter in self.0.chars() {
            match letter {
                '"' => f.write_str("\\\"")?,
                '\\' => f.write_str("\\\\")?,
                '\n' => f.write_str("\\n")?,
                '\t' => f.write_str("\\t")?,
                other => write!(f, "{other}")?,
            }
        }
        f.write_str("\"")
    }
}

fn list(f: &mut fmt::Formatter<'_>, name: &str, texts: &[String]) -> fmt::Result {
    f.write_str(name)?;
    texts.iter().try_for_each(|text| write!(f, " {}", Word(text)))
}

impl fmt::Display for ToolStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.class {
            ToolClass::Shell => f.write_str("tool shell")?,
            ToolClass::Read => f.write_str("tool read")?,
            ToolClass::Write => f.write_str("tool write")?,
            ToolClass::Edit => f.write_str("tool edit")?,
            ToolClass::Client(name) => write!(f, "tool client {}", Word(name))?,
            ToolClass::Mcp(name) => write!(f, "tool mcp {}", Word(name))?,
        }
        write!(f, " {}", Word(&self.input))?;
        let options = [
            (self.confirm, "confirm"),
            (self.confirm_result, "confirm-result"),
            (self.editable, "editable"),
            (self.reconfirm, "reconfirm"),
            (self.fails, "fails"),
            (self.deny_ends_turn, "deny-ends-turn"),
        ];
        let mut set = options.iter().filter(|(set, _)| *set);
        set.try_for_each(|(_, name)| write!(f, " {name}"))
    }
}

impl fmt::Display for ScriptStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScriptStep::Say(texts) => list(f, "say", texts),
            ScriptStep::Think(texts) => list(f, "think", texts),
            ScriptStep::Tool(tool) => write!(f, "{tool}"),
            ScriptStep::Parallel(calls) => {
                writeln!(f, "parallel")?;
                calls.iter().try_for_each(|call| writeln!(f, "  {call}"))?;
                f.write_str("end")
            }
            ScriptStep::Ask { kind, question, options } => {
                let row = ASKS.iter().find(|(_, known, _)| known == kind);
                write!(f, "{} {}", row.map_or("ask", |(name, ..)| name), Word(question))?;
                list(f, "", options)
            }
            ScriptStep::Wait(duration) => write!(f, "wait {}ms", duration.as_millis()),
            ScriptStep::Hold(name) => write!(f, "hold {}", Word(name)),
            ScriptStep::Usage { input, output } => write!(f, "usage {input} {output}"),
            ScriptStep::Title(text) => write!(f, "title {}", Word(text)),
            ScriptStep::Fail { kind, resumable } => {
                write!(f, "fail {}", Word(kind))?;
                f.write_str(if *resumable { " resumable" } else { "" })
            }
            ScriptStep::Endless => f.write_str("endless"),
        }
    }
}

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HEADER)?;
        self.steps.iter().try_for_each(|step| write!(f, "\n{step}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_writes_every_step() {
        //  what is read      what is written back, where it differs
        let check = |line: &str, written: &str| {
            let text = format!("Please.\n{HEADER}\n{line}\n\nThank you.");
            let script = find(&text).unwrap().unwrap();
            assert_eq!(script.to_string(), format!("{HEADER}\n{written}"));
            assert_eq!(find(&script.to_string()), Some(Ok(script)));
        };
        check(r#"say a "b c""#, r#"say "a" "b c""#);
        check(r#"think "a\n\"b\\""#, r#"think "a\n\"b\\""#);
        check(r#"tool shell "echo hi" confirm"#, r#"tool shell "echo hi" confirm"#);
        check("tool client t x fails deny-means-continue", r#"tool client "t" "x" fails"#);
        check(
            "tool mcp t x confirm-result reconfirm deny-ends-turn",
            r#"tool mcp "t" "x" confirm-result reconfirm deny-ends-turn"#,
        );
        check(
            "parallel\ntool read a\n  tool write b\nend",
            "parallel\n  tool read \"a\"\n  tool write \"b\"\nend",
        );
        check(r#"ask "Which?" main dev"#, r#"ask "Which?" "main" "dev""#);
        check(r#"ask "Name?""#, r#"ask "Name?""#);
        check("ask-multi-select Which? a b", r#"ask-multi-select "Which?" "a" "b""#);
        check("ask-number Many?", r#"ask-number "Many?""#);
        check("ask-boolean Sure?", r#"ask-boolean "Sure?""#);
        check("ask-url Sign. https://x.example", r#"ask-url "Sign." "https://x.example""#);
        check("wait 2s", "wait 2000ms");
        check("hold go", r#"hold "go""#);
        check("usage 1 2", "usage 1 2");
        check("title T", r#"title "T""#);
        check("fail rate-limit resumable", r#"fail "rate-limit" resumable"#);
        check("# nothing\nendless", "endless");
    }

    #[test]
    fn names_line_and_mistake() {
        let check = |script: &str, line: usize, what: &str| {
            let error = find(script).unwrap().unwrap_err();
            assert_eq!(error.line, line, "{error}");
            assert!(error.to_string().contains(what), "{error}");
        };
        check("ahp-script: 2", 1, "version `2`");
        check("Hi.\nahp-script: 1", 2, "a step after");
        check("ahp-script: 1\nsing", 2, "found `sing`");
        check("ahp-script: 1\nsay", 2, "a text after `say`");
        check("ahp-script: 1\ntool shell ls now", 2, "found `now`");
        check("ahp-script: 1\ntool oven x", 2, "found `oven`");
        check("ahp-script: 1\nask-multi-select Q", 2, "an option after `Q`");
        check("ahp-script: 1\nask-url Q", 2, "an address after `Q`");
        check("ahp-script: 1\nask-number Q a", 2, "found `a`");
        check("ahp-script: 1\nwait 50", 2, "`50ms`");
        check("ahp-script: 1\nwait 9999s", 2, "ten minutes");
        check("ahp-script: 1\nusage 1 x", 2, "found `x`");
        check("ahp-script: 1\nhold a b", 2, "found `b`");
        check("ahp-script: 1\nsay \"a", 2, "closing");
        check("ahp-script: 1\nparallel\nsay a\nend", 3, "another step");
        check("ahp-script: 1\nparallel", 2, "the end of the script");
        check("ahp-script: 1\nend", 2, "without `parallel`");
        assert_eq!(find("no script: 1"), None);
        let twice = format!("Hi.\n{HEADER}\nsay a\n\n<x>{HEADER}\nsay b\n</x>");
        assert_eq!(latest(&twice), format!("<x>{HEADER}\nsay b\n</x>"));
        let once = format!("Hi.\n{HEADER}\nsay a");
        assert_eq!(latest(&once), once);
    }
}
