//! The user's description of an agent to certify: how to start the agent, and how scenarios control it.
//!
//! A profile is a small YAML file; [`MEMBERS`] is the table of its members. In commands, variables and files, `{model}`
//! is the URL of the model stand-in, `{home}` is the fresh home folder, `{work}` is the working folder of the session,
//! in which the agent is started, and `{profile}` is the folder of the profile.
//!
//! Knows: YAML. Never knows: processes, files.
//!
//! Start at [`AgentProfile::parse`].

use crate::agent::mode::AgentMode;
use crate::scenario::capability::ABILITIES;
use crate::scenario::node::{self, SourceNode};
use crate::scenario::parse::read_duration;
use crate::scenario::source::{SourceFile, did_you_mean};
use std::time::Duration;

/// The members of a profile, each with its name and its description.
pub const MEMBERS: &[(&str, &str)] = &[
    ("agent", "the name of the agent"),
    (
        "command",
        "the command that starts the agent: a line for a shell, or a list of the program and its arguments. The agent \
         communicates over standard input and output and is started in a separate folder; `{profile}` is the folder \
         of this file",
    ),
    ("url", "instead of a command: the ws:// or wss:// URL at which the agent listens"),
    ("env", "environment variables of the agent; HOME is a fresh folder in every scenario"),
    ("home", "files of the home folder, by their paths in this folder"),
    (
        "auth",
        "the id of the authentication method, from the agent's answer to `initialize`, if the \
         agent requires authentication",
    ),
    (
        "mode",
        "the id of the mode that is set for a session; the rules about permission need a mode in which the agent asks",
    ),
    ("options", "the options that are set for a session, by their ids, such as `{ effort: low }`"),
    (
        "stimulus",
        "how scenarios control the agent: a `model` agent uses the harness's stand-in for its model, a `script` agent \
         plays the script in its prompt, a `fixed` agent reacts to every prompt in the same way",
    ),
    (
        "prompt",
        "the prompt for a `fixed` agent. Some scenarios offer the agent an MCP server that is \
         called `ahp`, with the tool `ahp_probe`, which takes a `text`",
    ),
    (
        "offers",
        "what scenarios can make the agent do: shell, read, write, edit, delete, move, search, think, \
         fetch, switch-mode, plan, mcp (calls tools of MCP servers), ask (asks for permission), \
         script; the default is everything that the stimulus allows, and scenarios that need \
         something else are untested",
    ),
    ("timeout", "the time limit of each wait, unless `--timeout` is given"),
    ("jobs", "how many scenarios the agent can serve at once, unless `--jobs` is given"),
];

/// The placeholders in commands, variables and files of a profile, with their meanings.
pub const PLACES: &[(&str, &str)] = &[
    (
        "{model}",
        "the URL of the stand-in for the agent's model, such as `http://127.0.0.1:9000`; some agents need `{model}/v1`",
    ),
    ("{home}", "the fresh home folder of the scenario"),
    ("{work}", "the folder that the agent is started in and works in"),
    ("{profile}", "the folder of the profile"),
];

/// An agent, as described by its profile.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct AgentProfile {
    /// The agent's name.
    pub agent: String,
    /// The program and its arguments; empty if the agent listens on `url`.
    pub command: Vec<String>,
    /// The URL on which the agent listens.
    pub url: Option<String>,
    /// The environment variables that the agent gets.
    pub env: Vec<(String, String)>,
    /// The files of the agent's home folder, each with its path and its content.
    pub home: Vec<(String, String)>,
    /// The identifier of the authentication method.
    pub auth: Option<String>,
    /// The mode to set for a session.
    pub mode: Option<String>,
    /// The session options to set.
    pub options: Vec<(String, String)>,
    /// The way in which scenarios control the agent.
    pub stimulus: AgentMode,
    /// The prompt for an agent that cannot follow scripts.
    pub prompt: Option<String>,
    /// The abilities of the agent that scenarios can trigger.
    pub offers: Vec<&'static str>,
    /// The time limit of each wait.
    pub timeout: Option<Duration>,
    /// The maximum number of scenarios that are played at the same time.
    pub jobs: Option<u16>,
}

impl AgentProfile {
    /// Parses a profile.
    ///
    /// # Errors
    /// Returns every mistake with its line number.
    pub fn parse(name: &str, text: &str) -> Result<AgentProfile, Vec<String>> {
        let source = SourceFile::new(name, text);
        let (root, errors) = node::read(&source, 0);
        let mut reader = ProfileReader { source: &source, mistakes: Vec::new() };
        for error in errors {
            reader.wrong(error.span.start, &error.kind.to_string());
        }
        let root = root.filter(|root| root.as_map().is_some());
        let Some(root) = root else {
            reader.wrong(0, "expected a mapping with `agent` and `command`");
            return Err(reader.mistakes);
        };
        let profile = reader.profile(&root);
        if reader.mistakes.is_empty() { Ok(profile) } else { Err(reader.mistakes) }
    }
}

struct ProfileReader<'a> {
    source: &'a SourceFile,
    mistakes: Vec<String>,
}

impl ProfileReader<'_> {
    fn wrong(&mut self, at: u32, what: &str) {
        let (line, column) = self.source.position(at);
        self.mistakes.push(format!("{}:{line}:{column}: {what}", self.source.name));
    }

    fn profile(&mut self, root: &SourceNode) -> AgentProfile {
        let names: Vec<&str> = MEMBERS.iter().map(|(name, _)| *name).collect();
        for member in root.as_map().unwrap_or_default() {
            if !names.contains(&member.key.as_str()) {
                let hint = did_you_mean(&member.key, &names);
                let what = format!("a profile has no member `{}` ({hint})", member.key);
                self.wrong(member.key_span.start, &what);
            }
        }
        let command = match root.get("command") {
            Some(node) if node.as_str().is_some() => {
                let line = node.as_str().unwrap_or_default();
                ["sh", "-c", line].map(str::to_owned).to_vec()
            }
            Some(node) => self.texts(node),
            None => Vec::new(),
        };
        let url = self.text(root, "url");
        if command.is_empty() == url.is_none() {
            self.wrong(root.span.start, "expected either `command` or `url`");
        }
        let stimulus = self.text(root, "stimulus").unwrap_or_else(|| "model".to_owned());
        let stimulus = match stimulus.as_str() {
            "model" => AgentMode::Model,
            "script" => AgentMode::Host,
            "fixed" => AgentMode::Fixed,
            _ => {
                self.wrong(at(root, "stimulus"), "expected `model`, `script` or `fixed`");
                AgentMode::Fixed
            }
        };
        let timeout = self.text(root, "timeout").map(|text| read_duration(&text));
        if timeout == Some(None) {
            self.wrong(at(root, "timeout"), "expected a duration such as `10s`");
        }
        let jobs = root.get("jobs").map(|node| node.to_value().as_u64());
        let jobs = jobs
            .map(|jobs| jobs.and_then(|jobs| u16::try_from(jobs).ok()).filter(|jobs| *jobs > 0));
        if jobs == Some(None) {
            self.wrong(at(root, "jobs"), "expected a number of scenarios, at least 1");
        }
        let agent = self.text(root, "agent").unwrap_or_else(|| {
            self.wrong(root.span.start, "expected `agent`, the name of the agent");
            String::new()
        });
        AgentProfile {
            agent,
            command,
            url,
            env: self.pairs(root, "env"),
            home: self.pairs(root, "home"),
            auth: self.text(root, "auth"),
            mode: self.text(root, "mode"),
            options: self.pairs(root, "options"),
            stimulus,
            prompt: self.text(root, "prompt"),
            offers: self.offers(root, stimulus),
            timeout: timeout.flatten(),
            jobs: jobs.flatten(),
        }
    }

    /// Returns the abilities that scenarios can trigger: all abilities that the stimulus allows, unless the profile
    /// lists fewer.
    fn offers(&mut self, root: &SourceNode, stimulus: AgentMode) -> Vec<&'static str> {
        let Some(node) = root.get("offers") else {
            let all = ABILITIES.iter().copied();
            return match stimulus {
                AgentMode::Fixed => Vec::new(),
                AgentMode::Model => all.filter(|name| *name != "script").collect(),
                _ => all.collect(),
            };
        };
        let mut offers = Vec::new();
        for text in self.texts(node) {
            match ABILITIES.iter().find(|known| **known == text) {
                Some(known) => offers.push(*known),
                None => {
                    let what = format!("expected one of {}, found `{text}`", ABILITIES.join(", "));
                    self.wrong(node.span.start, &what);
                }
            }
        }
        offers
    }

    fn text(&mut self, root: &SourceNode, name: &str) -> Option<String> {
        let node = root.get(name)?;
        let text = node.as_str().map(str::to_owned);
        if text.is_none() {
            self.wrong(node.span.start, &format!("expected a string, found {}", node.describe()));
        }
        text
    }

    fn texts(&mut self, node: &SourceNode) -> Vec<String> {
        let items = node.as_list().unwrap_or(std::slice::from_ref(node));
        let texts: Vec<String> =
            items.iter().filter_map(SourceNode::as_str).map(str::to_owned).collect();
        if texts.len() != items.len() || texts.is_empty() {
            let what = format!("expected a list of strings, found {}", node.describe());
            self.wrong(node.span.start, &what);
        }
        texts
    }

    fn pairs(&mut self, root: &SourceNode, name: &str) -> Vec<(String, String)> {
        let Some(node) = root.get(name) else { return Vec::new() };
        let mut pairs = Vec::new();
        for member in node.as_map().unwrap_or_default() {
            match member.value.as_str() {
                Some(text) => pairs.push((member.key.clone(), text.to_owned())),
                None => {
                    let what = format!(
                        "expected a string, found {} (hint: quote it)",
                        member.value.describe()
                    );
                    self.wrong(member.value.span.start, &what);
                }
            }
        }
        if node.as_map().is_none() {
            self.wrong(node.span.start, "expected texts by name");
        }
        pairs
    }
}

fn at(root: &SourceNode, name: &str) -> u32 {
    root.get(name).map_or(root.span.start, |node| node.span.start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_profile() {
        let text = "agent: a\ncommand: [node, a.js]\nenv: { K: v }\nhome: { .a/b.json: '{model}' }\n\
                    stimulus: fixed\noffers: [ask]\ntimeout: 10s\njobs: 2\n";
        let profile = AgentProfile::parse("p.yaml", text).unwrap();
        assert_eq!((profile.agent.as_str(), profile.command.len()), ("a", 2));
        assert_eq!((profile.stimulus, profile.jobs), (AgentMode::Fixed, Some(2)));
        assert_eq!((profile.offers, profile.timeout), (vec!["ask"], Some(Duration::from_secs(10))));
        let shell = AgentProfile::parse("p.yaml", "agent: a\ncommand: ./a --acp\n").unwrap();
        assert_eq!(shell.command, ["sh", "-c", "./a --acp"]);
        assert!(shell.offers.contains(&"mcp") && !shell.offers.contains(&"script"));
    }

    #[test]
    fn shows_every_mistake_at_its_place() {
        let text = "agent: 1\ncomand: x\nstimulus: magic\noffers: [fly]\nenv: { A: 1 }\n";
        let mistakes = AgentProfile::parse("p.yaml", text).unwrap_err().join("\n");
        for part in [
            "p.yaml:2:1",
            "did you mean `command`",
            "either `command` or `url`",
            "found `fly`",
            "quote it",
            "`fixed`",
        ] {
            assert!(mistakes.contains(part), "{part}: {mistakes}");
        }
    }
}
