//! Writes scripts down, so that they read the same again.
//!
//! Knows: the grammar. Never knows: messages.

use std::fmt;

use super::{ASKS, HEADER, Script, ScriptStep, ToolClass, ToolStep};

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
            ToolClass::Worker => f.write_str("tool worker")?,
            ToolClass::Further(row) => write!(f, "tool {}", row.name)?,
            ToolClass::Client(name) => write!(f, "tool client {}", Word(name))?,
            ToolClass::Mcp(name) => write!(f, "tool mcp {}", Word(name))?,
        }
        write!(f, " {}", Word(&self.input))?;
        let options = [
            (self.confirm, "confirm"),
            (self.confirm_result, "confirm-result"),
            (self.editable, "editable"),
            (self.by_reference, "by-reference"),
            (self.reconfirm, "reconfirm"),
            (self.auth, "auth"),
            (self.fails, "fails"),
            (self.deny_ends_turn, "deny-ends-turn"),
            (self.input_held, "input-held"),
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
            ScriptStep::Recall(words) => list(f, "recall", words),
            ScriptStep::Activity(text) => write!(f, "activity {}", Word(text)),
            ScriptStep::Background { command, lasts } => {
                write!(f, "background {} {}ms", Word(command), lasts.as_millis())
            }
            ScriptStep::Canvas { name, url } => {
                write!(f, "canvas {}", Word(name))?;
                url.iter().try_for_each(|url| write!(f, " {}", Word(url)))
            }
            ScriptStep::Crash => f.write_str("crash"),
            ScriptStep::Act { action, members } => write!(f, "act {action} {members}"),
        }
    }
}

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HEADER)?;
        self.steps.iter().try_for_each(|step| write!(f, "\n{step}"))
    }
}
