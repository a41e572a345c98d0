//! Formats scripts as text that parses to the same script.
//!
//! Knows: the grammar. Never knows: messages.

use std::fmt;

use super::{ASKS, AgentScript, HEADER, ScriptStep, ToolClass, ToolStep};

/// A word of a script: bare if possible, in quotes if not.
struct ScriptWord<'a>(&'a str);

impl fmt::Display for ScriptWord<'_> {
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
    texts.iter().try_for_each(|text| write!(f, " {}", ScriptWord(text)))
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
            ToolClass::Client(name) => write!(f, "tool client {}", ScriptWord(name))?,
            ToolClass::Mcp(name) => write!(f, "tool mcp {}", ScriptWord(name))?,
        }
        write!(f, " {}", ScriptWord(&self.input))?;
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
                write!(f, "{} {}", row.map_or("ask", |(name, ..)| name), ScriptWord(question))?;
                list(f, "", options)
            }
            ScriptStep::Wait(duration) => write!(f, "wait {}ms", duration.as_millis()),
            ScriptStep::Hold(name) => write!(f, "hold {}", ScriptWord(name)),
            ScriptStep::Usage { input, output } => write!(f, "usage {input} {output}"),
            ScriptStep::Title(text) => write!(f, "title {}", ScriptWord(text)),
            ScriptStep::Fail { kind, resumable } => {
                write!(f, "fail {}", ScriptWord(kind))?;
                f.write_str(if *resumable { " resumable" } else { "" })
            }
            ScriptStep::Endless => f.write_str("endless"),
            ScriptStep::Recall(words) => list(f, "recall", words),
            ScriptStep::Activity(text) => write!(f, "activity {}", ScriptWord(text)),
            ScriptStep::Background { command, lasts } => {
                write!(f, "background {} {}ms", ScriptWord(command), lasts.as_millis())
            }
            ScriptStep::Canvas { name, url } => {
                write!(f, "canvas {}", ScriptWord(name))?;
                url.iter().try_for_each(|url| write!(f, " {}", ScriptWord(url)))
            }
            ScriptStep::Crash => f.write_str("crash"),
            ScriptStep::Act { action, members } => write!(f, "act {action} {members}"),
        }
    }
}

impl fmt::Display for AgentScript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HEADER)?;
        self.steps.iter().try_for_each(|step| write!(f, "\n{step}"))
    }
}
