//! The reference agent under test: it receives and sends ACP frames, and its files are in memory.
//!
//! The agent's tools change the files in memory, and a client's errands see these files. A scenario can
//! therefore verify which tools have run.
//!
//! Knows: the scripted agent. Never knows: files, processes, sockets.
//!
//! Start at [`AgentSubject`].

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use litemap::LiteMap;

use crate::agent::acp::variant::{AgentVariantRow, VariantAgent};
use crate::agent::acp::{AgentConfig, AgentEffect, AgentOutput as Said, EffectResult};
use crate::agent::mcp;
use crate::peer::errand::ClientErrand;
use crate::transcript::ConnId;
use crate::wire::frame::Frame;
use crate::wire::json::Value;

use super::{HostOutput, SansIoHost};

/// The reference agent. Each connection has its own simulated process.
#[derive(Default)]
pub struct AgentSubject {
    config: AgentConfig,
    /// The legal variants of every agent process.
    variants: Vec<&'static AgentVariantRow>,
    agents: LiteMap<ConnId, VariantAgent>,
    files: HashMap<String, String>,
    marks: Vec<MarkingCommand>,
    outputs: VecDeque<HostOutput>,
    /// The sessions that the agent has stored, for later processes.
    kept: Value,
}

/// The interval at which a [`MarkingCommand`] appends a line.
const MARK_EVERY: Duration = Duration::from_millis(200);
/// The prefix of a marking command. The number of words that follow limits the number of lines.
const MARKS: &str = "for i in ";

/// The party that started a command and that can stop the command.
#[derive(Clone, Debug, PartialEq)]
enum CommandOwner {
    /// The agent, by its connection and the token of the effect.
    Effect(ConnId, u64),
    /// A terminal of the client, by its id.
    Terminal(String),
}

/// A running command that appends a line to a file at an interval.
#[derive(Debug)]
struct MarkingCommand {
    runner: CommandOwner,
    path: String,
    line: String,
    most: u128,
    began: Duration,
    ended: Option<Duration>,
}

impl MarkingCommand {
    /// Returns the content of the file.
    fn text(&self, now: Duration) -> String {
        let ran = self.ended.unwrap_or(now).saturating_sub(self.began);
        let times = (ran.as_millis() / MARK_EVERY.as_millis() + 1).min(self.most);
        format!("{}\n", self.line).repeat(usize::try_from(times).unwrap_or_default())
    }
}

impl AgentSubject {
    /// Creates an agent without connections.
    pub fn new(config: AgentConfig) -> AgentSubject {
        AgentSubject::varied(config, &[])
    }

    /// Creates an agent with legal variants.
    pub fn varied(config: AgentConfig, variants: &[&'static AgentVariantRow]) -> AgentSubject {
        AgentSubject { config, variants: variants.to_vec(), ..AgentSubject::default() }
    }

    /// Handles the outputs of an agent.
    fn drain(&mut self, now: Duration, conn: ConnId) {
        let Some(mut agent) = self.agents.remove(&conn) else { return };
        while let Some(output) = agent.poll_output() {
            match output {
                Said::Line(line) => {
                    self.outputs.push_back(HostOutput::Send { conn, frame: Frame::Text(line) });
                }
                Said::Run { token, effect } => {
                    if let Some(ran) = self.run(now, CommandOwner::Effect(conn, token), &effect) {
                        agent.handle_ran(now, token, ran);
                    }
                }
                Said::Exit => {
                    self.outputs.push_back(HostOutput::Close {
                        conn,
                        code: 0,
                        reason: String::new(),
                    });
                }
                Said::Stop(token) => self.stop(now, &CommandOwner::Effect(conn, token)),
            }
        }
        self.agents.insert(conn, agent);
    }

    /// Performs the effect of a tool and returns its result; `None` if the tool does not end by itself.
    fn run(
        &mut self,
        now: Duration,
        runner: CommandOwner,
        effect: &AgentEffect,
    ) -> Option<EffectResult> {
        Some(match effect {
            AgentEffect::Shell { command, cwd } => return self.shell(now, runner, command, cwd),
            AgentEffect::Read { path } => match self.files.get(path) {
                Some(text) => EffectResult::well(text.clone()),
                None => EffectResult::badly("no such file"),
            },
            AgentEffect::Write { path, text } => {
                self.files.insert(path.clone(), text.clone());
                EffectResult::well("written")
            }
            AgentEffect::Edit { path, old, new } => match self.files.get_mut(path) {
                Some(text) if text.contains(old.as_str()) => {
                    *text = text.replacen(old.as_str(), new, 1);
                    EffectResult::well("written")
                }
                _ => EffectResult::badly("the file does not contain the text"),
            },
            AgentEffect::Call { server, arguments } => {
                let record = mcp::record(arguments, server.mark());
                self.outputs.push_back(HostOutput::Called(record));
                match arguments["text"].as_str() {
                    Some(mcp::WAITS) => return None,
                    Some(mcp::FAILS) => EffectResult::badly("the tool failed"),
                    text => EffectResult {
                        blocks: text.and_then(mcp::given).into_iter().collect(),
                        ..EffectResult::well("called")
                    },
                }
            }
        })
    }

    /// Stops the commands of an owner.
    fn stop(&mut self, now: Duration, runner: &CommandOwner) {
        for marks in self.marks.iter_mut().filter(|marks| marks.runner == *runner) {
            marks.ended.get_or_insert(now);
        }
    }

    /// Simulates the shell commands that the suite needs: `touch FILE`, `echo TEXT > FILE` and `printf FORMAT
    /// ARGUMENT`, separated by semicolons; `sleep`, which never ends here; and `for i in WORDS; do echo TEXT >>
    /// FILE; ..`, which ends only when it is stopped. Returns `None` for a command that does not end by itself.
    fn shell(
        &mut self,
        now: Duration,
        runner: CommandOwner,
        command: &str,
        cwd: &str,
    ) -> Option<EffectResult> {
        let marking = command.strip_prefix(MARKS).and_then(|rest| rest.split_once("; do echo "));
        if let Some((words, (line, rest))) =
            marking.and_then(|(words, rest)| Some((words, rest.split_once(" >> ")?)))
        {
            let file = rest.split(';').next().unwrap_or_default().trim();
            let (path, line) = (format!("{cwd}/{file}"), line.to_owned());
            let most = words.split_whitespace().count() as u128;
            self.marks.push(MarkingCommand { runner, path, line, most, began: now, ended: None });
            return None;
        }
        if command.starts_with("sleep ") {
            return None;
        }
        let mut said = format!("ran: {command}\n");
        for one in command.split(';').map(str::trim) {
            let (text, file) = match one.split_once('>') {
                Some((text, file)) => (text.trim().strip_prefix("echo ").unwrap_or_default(), file),
                None => ("", one.strip_prefix("touch ").unwrap_or_default()),
            };
            let file = file.trim();
            if !file.is_empty() {
                self.files.insert(format!("{cwd}/{file}"), text.trim().to_owned());
            }
            let printed = one.strip_prefix("printf '").and_then(|rest| rest.split_once("' "));
            if let Some((format, argument)) = printed {
                said.push_str(&format.replacen("%s", argument, 1));
            }
        }
        Some(EffectResult::well(said))
    }
}

impl SansIoHost for AgentSubject {
    fn handle_open(&mut self, _now: Duration, conn: ConnId) {
        let config = AgentConfig { keeps: true, ..self.config.clone() };
        let mut agent = VariantAgent::new(&self.variants, config);
        agent.keep_all(&self.kept);
        self.agents.insert(conn, agent);
    }

    fn handle_frame(&mut self, now: Duration, conn: ConnId, frame: &Frame) {
        if let (Frame::Text(line), Some(agent)) = (frame, self.agents.get_mut(&conn)) {
            agent.handle_line(now, line);
        }
        self.drain(now, conn);
    }

    fn handle_close(&mut self, _now: Duration, conn: ConnId) {
        if let Some(agent) = self.agents.remove(&conn) {
            self.kept = agent.kept();
        }
    }

    fn handle_timeout(&mut self, now: Duration) {
        let conns: Vec<ConnId> = self.agents.keys().copied().collect();
        for conn in conns {
            if let Some(agent) = self.agents.get_mut(&conn) {
                agent.handle_timeout(now);
            }
            self.drain(now, conn);
        }
    }

    fn next_timeout(&self) -> Option<Duration> {
        self.agents.values().filter_map(VariantAgent::next_timeout).min()
    }

    fn release(&mut self, now: Duration, hold: &str) {
        let conns: Vec<ConnId> = self.agents.keys().copied().collect();
        for conn in conns {
            if let Some(agent) = self.agents.get_mut(&conn) {
                agent.release(now, "", hold);
            }
            self.drain(now, conn);
        }
    }

    fn handle_errand(&mut self, now: Duration, errand: &ClientErrand) -> Vec<Value> {
        let marks = |path: &String| self.marks.iter().find(|marks| marks.path == *path);
        match errand {
            ClientErrand::Read { token, path } if marks(path).is_some() => {
                let text = marks(path).map(|marks| marks.text(now)).unwrap_or_default();
                vec![ClientErrand::text(*token, &text)]
            }
            ClientErrand::Read { token, path } => vec![match self.files.get(path) {
                Some(text) => ClientErrand::text(*token, text),
                None => ClientErrand::missing(*token),
            }],
            ClientErrand::Write { token, path, text } => {
                self.files.insert(path.clone(), text.clone());
                vec![ClientErrand::text(*token, text)]
            }
            ClientErrand::Start { terminal, command, cwd, .. } => {
                // The word after `sh -c` is the command line.
                let line = match command.as_slice() {
                    [_, flag, line] if flag == "-c" => line.clone(),
                    words => words.join(" "),
                };
                match self.shell(now, CommandOwner::Terminal(terminal.clone()), &line, cwd) {
                    Some(ran) => vec![
                        ClientErrand::printed(terminal, &ran.text),
                        ClientErrand::exit(terminal, Some(0), None),
                    ],
                    None => Vec::new(),
                }
            }
            ClientErrand::Kill { terminal } => {
                self.stop(now, &CommandOwner::Terminal(terminal.clone()));
                vec![ClientErrand::exit(terminal, None, Some("SIGKILL"))]
            }
        }
    }

    fn poll_output(&mut self) -> Option<HostOutput> {
        self.outputs.pop_front()
    }

    fn restart(&mut self, _now: Duration) {
        self.agents.clear();
        self.outputs.clear();
    }
}
