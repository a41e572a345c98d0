//! Parses the lines of a script.
//!
//! Knows: the grammar. Never knows: messages.
//!
//! Start at [`parse`].

use std::time::Duration;

use crate::wire::json::Map;

use super::{
    ASKS, AgentScript, AskKind, AskTail, FURTHER, MAX_STEPS, MAX_TEXTS, MAX_WAIT, ScriptError,
    ScriptErrorKind, ScriptStep, ToolClass, ToolStep,
};

/// Parses the lines after the header, which is on line `header`.
pub(super) fn parse<'a>(
    header: usize,
    lines: impl Iterator<Item = (usize, &'a str)>,
) -> Result<AgentScript, ScriptError> {
    let mut steps = Vec::new();
    let mut group: Option<(usize, Vec<ToolStep>)> = None;
    for (line, text) in lines.filter(|(_, text)| !text.starts_with('#')) {
        let fail = |kind| ScriptError { line, kind };
        // The members are JSON with its own quotes, so the line is not split into words.
        if let Some(rest) = text.strip_prefix("act ").filter(|_| group.is_none()) {
            steps.push(act(rest).map_err(fail)?);
            bounded(steps.len()).map_err(fail)?;
            continue;
        }
        let words = split(text).map_err(fail)?;
        let mut words = ScriptWords { words, at: 0, last: String::new() };
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
        bounded(size).map_err(fail)?;
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
    Ok(AgentScript { steps })
}

fn bounded(steps: usize) -> Result<(), ScriptErrorKind> {
    let (limit, what) = (MAX_STEPS, "steps");
    if steps > limit { Err(ScriptErrorKind::TooMany { limit, what }) } else { Ok(()) }
}

fn act(text: &str) -> Result<ScriptStep, ScriptErrorKind> {
    let text = text.trim();
    let (action, members) = text.split_once(char::is_whitespace).unwrap_or((text, "{}"));
    let (action, members) = (action.to_owned(), members.trim().to_owned());
    let object: Result<Map, _> = serde_json::from_str(&members);
    match object {
        Ok(_) => Ok(ScriptStep::Act { action, members }),
        Err(error) => Err(ScriptErrorKind::Members { action, why: error.to_string() }),
    }
}

fn step(name: &str, words: &mut ScriptWords) -> Result<ScriptStep, ScriptErrorKind> {
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
        "recall" => ScriptStep::Recall(words.rest("a word")?),
        "activity" => ScriptStep::Activity(words.next("a text")?),
        "background" => ScriptStep::Background {
            command: words.next("a command")?,
            lasts: duration(&words.next("a duration")?)?,
        },
        "canvas" => ScriptStep::Canvas { name: words.next("a name")?, url: words.pop() },
        "crash" => ScriptStep::Crash,
        found => match ASKS.iter().find(|(name, ..)| *name == found) {
            Some((_, kind, tail)) => ask(*kind, tail, words)?,
            None => return Err(ScriptErrorKind::UnknownStep { found: found.to_owned() }),
        },
    })
}

fn ask(
    kind: AskKind,
    tail: &AskTail,
    words: &mut ScriptWords,
) -> Result<ScriptStep, ScriptErrorKind> {
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

fn tool(words: &mut ScriptWords) -> Result<ToolStep, ScriptErrorKind> {
    let class = match words.next("a tool class")?.as_str() {
        "shell" => ToolClass::Shell,
        "read" => ToolClass::Read,
        "write" => ToolClass::Write,
        "edit" => ToolClass::Edit,
        "client" => ToolClass::Client(words.next("the name of a client's tool")?),
        "mcp" => ToolClass::Mcp(words.next("the name of an MCP tool")?),
        "worker" => ToolClass::Worker,
        found => match FURTHER.iter().find(|row| row.name == found) {
            Some(row) => ToolClass::Further(row),
            None => {
                let found = found.to_owned();
                return Err(ScriptErrorKind::UnknownClass { found });
            }
        },
    };
    let mut step = ToolStep::of(class, words.next("the tool's input")?);
    while let Some(option) = words.pop() {
        match option.as_str() {
            "confirm" => step.confirm = true,
            "editable" => step.editable = true,
            "by-reference" => step.by_reference = true,
            "confirm-result" => step.confirm_result = true,
            "reconfirm" => step.reconfirm = true,
            "auth" => step.auth = true,
            "fails" => step.fails = true,
            "input-held" => step.input_held = true,
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

struct ScriptWords {
    words: Vec<String>,
    at: usize,
    last: String,
}

impl ScriptWords {
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
