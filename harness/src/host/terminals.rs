//! Terminals: made, typed into, disposed of, and always in the root's list.
//!
//! Behind each one is a shell that only says what it was told: a line that is typed becomes a
//! command, its output repeats the line, `exit 3` ends the process with that code, `cd file:///a` goes to
//! another folder. Output is bounded:
//! with too much of it the terminal is cleared, by an action, so that everybody agrees.
//!
//! Knows: what a terminal holds. Never knows: real processes.
//!
//! Start at [`RefHost::create_terminal`].

use crate::wire::json::{Value, json};

use super::connection::{Call, Failure, Reply};
use super::engine::RefHost;
use super::fault::Fault;
use super::publish::unknown_channel;
use crate::wire::channel::{ChannelKind, ROOT};

/// The most terminals at a time.
const MAX_TERMINALS: usize = 200;
/// The most output that a terminal retains.
const MAX_RETAINED: usize = 1 << 20;
/// The longest line that can be typed; what goes beyond it is dropped.
const MAX_LINE: usize = 4 << 10;
/// What the root's list repeats of a terminal; `exitCode` before there was a lifecycle.
const LISTED: &[&str] = &["title", "claim", "lifecycle", "exitCode"];
/// Actions on a terminal that the list does not depend on.
const QUIET: &[&str] = &[
    "terminal/data",
    "terminal/input",
    "terminal/commandExecuted",
    "terminal/commandFinished",
    "terminal/cleared",
    "terminal/resized",
];

/// What the host knows of a terminal beyond its state.
#[derive(Debug, Default)]
pub(super) struct Terminal {
    /// What was typed since the last line ended.
    line: String,
    /// How much output it retains, in bytes.
    retained: usize,
}

impl RefHost {
    /// Serves `createTerminal`. Source: terminal-channel.md; `terminal.create.*`.
    pub(super) fn create_terminal(&mut self, call: &Call) -> Reply {
        let uri = call.channel().to_owned();
        let named = uri.strip_prefix("ahp-terminal:/").is_some_and(|id| !id.is_empty());
        if !named {
            return Err(Failure::invalid_params("expected `ahp-terminal:/<id>`"));
        }
        if self.channels.contains_key(&uri) {
            return Err(Failure::named("AlreadyExists", "the URI is in use"));
        }
        if self.terminals.len() >= MAX_TERMINALS {
            return Err(Failure::invalid_request("too many terminals"));
        }
        let own = self.connections.get(&call.conn).and_then(|c| c.client.as_deref());
        let claim = &call.params["claim"];
        let foreign = claim["kind"] == "client" && claim["clientId"].as_str() != own;
        if foreign && !self.has(Fault::ForeignClaims) {
            let message = "expected the client's own id at `params.claim.clientId`";
            return Err(Failure::invalid_params(message));
        }
        if !self.can_hold(claim) {
            return Err(Failure::invalid_params(
                "expected a client or a session at `params.claim`",
            ));
        }
        let mut state = json!({
            "title": call.params["name"].as_str().unwrap_or("Terminal"),
            "content": [],
            "lifecycle": {"status": "running"},
            "claim": claim,
        });
        for name in ["cwd", "cols", "rows"] {
            if let Some(value) = call.params.get(name).filter(|value| !value.is_null()) {
                state[name] = value.clone();
            }
        }
        self.open_terminal(&uri, state);
        Ok(Value::Null)
    }

    /// Makes a terminal of its first state.
    pub(super) fn open_terminal(&mut self, uri: &str, state: Value) {
        self.add_channel(uri, ChannelKind::Terminal, state);
        self.terminals.insert(uri.to_owned(), Terminal::default());
        self.list_terminals();
    }

    /// Whether a claim names somebody who is there.
    pub(super) fn can_hold(&self, claim: &Value) -> bool {
        let text = |name: &str| claim[name].as_str().unwrap_or("");
        match text("kind") {
            "client" => self.clients.contains_key(text("clientId")),
            "session" => {
                let session = text("session");
                let chat = self.chats.get(text("chat"));
                self.sessions.contains_key(session)
                    && (claim["chat"].is_null() || chat.is_some_and(|it| it.session == session))
            }
            _ => false,
        }
    }

    /// Serves `disposeTerminal`.
    pub(super) fn dispose_terminal(&mut self, call: &Call) -> Reply {
        let uri = call.channel();
        if self.terminals.remove(uri).is_none() {
            return Err(unknown_channel(uri));
        }
        self.drop_channel(uri);
        self.list_terminals();
        Ok(Value::Null)
    }

    /// Follows an action on a terminal.
    pub(super) fn terminal_changed(&mut self, action_type: &str) {
        if !QUIET.contains(&action_type) && !self.has(Fault::TerminalListStale) {
            self.list_terminals();
        }
    }

    /// Makes the root's list say what the terminals are.
    fn list_terminals(&mut self) {
        let entry = |uri: &String| {
            let mut entry = json!({"resource": uri});
            for name in LISTED {
                if let Some(value) = self.state(uri).get(name) {
                    entry[*name] = value.clone();
                }
            }
            entry
        };
        let list: Vec<Value> = self.terminals.keys().map(entry).collect();
        let list = json!(list);
        if self.state(ROOT)["terminals"] != list {
            self.publish(ROOT, json!({"type": "root/terminalsChanged", "terminals": list}));
        }
    }

    /// Takes what a client types: every line that ends is a command.
    pub(super) fn type_into(&mut self, uri: &str, data: &str) {
        let mut lines = Vec::new();
        let Some(terminal) = self.terminals.get_mut(uri) else {
            return;
        };
        for character in data.chars() {
            match character {
                '\r' | '\n' if terminal.line.is_empty() => {}
                '\r' | '\n' => lines.push(std::mem::take(&mut terminal.line)),
                other if terminal.line.len() < MAX_LINE => terminal.line.push(other),
                _ => {}
            }
        }
        let mut ends = Vec::new();
        if self.has(Fault::InputReversed) {
            lines.iter_mut().for_each(|line| *line = line.chars().rev().collect());
        }
        for line in lines {
            if let Some(code) = line.strip_prefix("exit") {
                return self.exit(uri, code.trim().parse().unwrap_or(0));
            }
            if self.state(uri)["supportsCommandDetection"] != true {
                self.publish(uri, json!({"type": "terminal/commandDetectionAvailable"}));
            }
            let output = format!("{line}\r\n");
            self.make_room(uri, output.len());
            let command = self.begin_command(uri, &line);
            self.print(uri, &output);
            if let Some(folder) = line.strip_prefix("cd ") {
                self.publish(uri, json!({"type": "terminal/cwdChanged", "cwd": folder.trim()}));
            }
            // A fault lets the next command begin first.
            match self.has(Fault::CommandsOverlap) {
                true => ends.push(command),
                false => self.end_command(uri, &command),
            }
        }
        for command in ends {
            self.end_command(uri, &command);
        }
    }

    fn begin_command(&mut self, uri: &str, line: &str) -> String {
        let command = self.fresh_id("command");
        let elapsed = u64::try_from(self.now.as_millis()).unwrap_or(u64::MAX);
        let action = json!({
            "type": "terminal/commandExecuted", "commandId": command, "commandLine": line,
            "timestamp": self.epoch_ms.saturating_add(elapsed),
        });
        self.publish(uri, action);
        command
    }

    fn end_command(&mut self, uri: &str, command: &str) {
        let action = json!({
            "type": "terminal/commandFinished", "commandId": command, "exitCode": 0,
            "durationMs": 0,
        });
        self.publish(uri, action.clone());
        if self.has(Fault::CommandFinishesTwice) {
            self.publish(uri, action);
        }
    }

    fn print(&mut self, uri: &str, output: &str) {
        let mut output = output.to_owned();
        if self.has(Fault::CharactersCut) {
            output = output.replace(|character: char| !character.is_ascii(), "\u{fffd}");
        }
        if self.has(Fault::ShellMarkersSent) {
            output = format!("\u{1b}]133;C\u{7}{output}");
        }
        self.publish(uri, json!({"type": "terminal/data", "data": output}));
    }

    /// Clears a terminal that cannot retain so much more; before a command, so that none loses a part of itself.
    fn make_room(&mut self, uri: &str, more: usize) {
        let Some(terminal) = self.terminals.get_mut(uri) else {
            return;
        };
        terminal.retained += more;
        if terminal.retained > MAX_RETAINED && !self.faults.has(Fault::ScrollbackEndless) {
            terminal.retained = more;
            self.publish(uri, json!({"type": "terminal/cleared"}));
        }
    }

    pub(super) fn exit(&mut self, uri: &str, code: i64) {
        let action = json!({"type": "terminal/exited", "exitCode": code});
        self.publish(uri, action.clone());
        if self.has(Fault::ExitsTwice) {
            self.publish(uri, action);
        }
    }

    /// Ends every process that a crash took along.
    pub(super) fn end_terminals(&mut self) {
        let running = |uri: &&String| self.state(uri)["lifecycle"]["status"] == "running";
        let running: Vec<String> = self.terminals.keys().filter(running).cloned().collect();
        for uri in running {
            self.publish(&uri, json!({"type": "terminal/exited"}));
        }
    }
}
