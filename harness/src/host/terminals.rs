//! Terminals: creation, input, disposal, and the list of terminals in the root state.
//!
//! A client's terminal has a real shell if the configuration of the host enables shells, and a simulated shell
//! if not. In a simulated shell a typed line is a command whose output repeats the line. `echo $((1+2))` prints
//! the sum, `stty size` prints rows and columns, `exit 3` ends the process with that code, `cd file:///a`
//! changes the folder. Output is bounded: the host clears a terminal with too much output by an action, so that
//! all clients agree.
//!
//! Knows: the content of a terminal. Never knows: processes.
//!
//! Start at [`RefHost::create_terminal`].

use std::time::Duration;

use crate::wire::json::{Value, json};

use super::HostOutput;
use super::engine::RefHost;
use super::request::{CallReply, ErrorResponse, HostCall, unknown_channel};
use super::shell::{PrintedPiece, ShellDeed, ShellEvent, TerminalSize};
use crate::wire::channel::{ChannelKind, ROOT};
use crate::wire::error_code::ErrorName;

/// The members of a terminal's state that the root's list repeats; versions without a lifecycle use `exitCode`.
const LISTED: &[&str] = &["title", "claim", "lifecycle", "exitCode"];
/// The actions on a terminal that do not change the root's list.
const QUIET: &[&str] = &[
    "terminal/data",
    "terminal/input",
    "terminal/commandExecuted",
    "terminal/commandFinished",
    "terminal/cleared",
    "terminal/resized",
];

impl RefHost {
    /// Serves `createTerminal`. Source: terminal-channel.md; `terminal.create.*`.
    pub(super) fn create_terminal(&mut self, call: &HostCall) -> CallReply {
        let uri = call.channel().to_owned();
        let named = uri.strip_prefix("ahp-terminal:/").is_some_and(|id| !id.is_empty());
        if !named {
            return Err(ErrorResponse::invalid_params("expected `ahp-terminal:/<id>`"));
        }
        if self.channels.has(&uri) {
            return Err(ErrorResponse::named(ErrorName::AlreadyExists, "the URI is in use"));
        }
        if self.terminals.is_full() {
            return Err(ErrorResponse::invalid_request("too many terminals"));
        }
        let own = self.connections.client(call.conn);
        let claim = &call.params["claim"];
        let foreign = claim["kind"] == "client" && claim["clientId"].as_str() != own;
        if foreign && self.keeps("terminal.create.claim-foreign") {
            let message = "expected the client's own id at `params.claim.clientId`";
            return Err(ErrorResponse::invalid_params(message));
        }
        if !self.can_hold(claim) {
            return Err(ErrorResponse::invalid_params(
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
        let folder = state["cwd"].as_str().map(str::to_owned);
        let size = size(&state);
        self.open_terminal(&uri, state);
        if self.config.shells {
            self.terminals.add_shell(&uri);
            self.outbox.push(HostOutput::Shell(uri, ShellDeed::Start { folder, size }));
        }
        Ok(Value::Null)
    }

    /// Creates a terminal with its first state.
    pub(super) fn open_terminal(&mut self, uri: &str, state: Value) {
        let size = size(&state);
        self.add_channel(uri, ChannelKind::Terminal, state);
        self.terminals.add(uri, size);
        self.list_terminals();
    }

    /// Returns whether a claim names an existing client, session and chat.
    pub(super) fn can_hold(&self, claim: &Value) -> bool {
        let text = |name: &str| claim[name].as_str().unwrap_or("");
        match text("kind") {
            "client" => self.clients.has(text("clientId")),
            "session" => {
                let session = text("session");
                let of_chat = self.chats.session_of(text("chat"));
                self.sessions.has(session) && (claim["chat"].is_null() || of_chat == Some(session))
            }
            _ => false,
        }
    }

    /// Serves `disposeTerminal`.
    pub(super) fn dispose_terminal(&mut self, call: &HostCall) -> CallReply {
        let uri = call.channel();
        if !self.terminals.has(uri) {
            return Err(unknown_channel(uri));
        }
        if self.terminals.has_shell(uri) {
            self.outbox.push(HostOutput::Shell(uri.to_owned(), ShellDeed::End));
        }
        self.terminals.remove(uri);
        self.drop_channel(uri);
        self.list_terminals();
        Ok(Value::Null)
    }

    /// Updates the root's list after an action on a terminal.
    pub(super) fn terminal_changed(&mut self, action_type: &str) {
        if !QUIET.contains(&action_type) {
            self.list_terminals();
        }
    }

    /// Publishes the root's list of terminals.
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
        let list: Vec<Value> = self.terminals.uris().map(entry).collect();
        let list = json!(list);
        if self.state(ROOT)["terminals"] != list {
            self.publish(ROOT, json!({"type": "root/terminalsChanged", "terminals": list}));
        }
    }

    /// Handles a new size of a terminal.
    pub(super) fn resize(&mut self, uri: &str) {
        let size = size(self.state(uri));
        if !self.keeps("terminal.resize") {
            return;
        }
        self.terminals.set_size(uri, size);
        if self.terminals.has_shell(uri) {
            self.outbox.push(HostOutput::Shell(uri.to_owned(), ShellDeed::Resize(size)));
        }
    }

    /// Handles input of a client. In a simulated shell every complete line is a command.
    pub(super) fn type_into(&mut self, uri: &str, data: &str) {
        if self.terminals.has_shell(uri) {
            let typed = ShellDeed::Type(data.to_owned());
            return self.outbox.push(HostOutput::Shell(uri.to_owned(), typed));
        }
        let mut ends = Vec::new();
        for line in self.terminals.type_text(uri, data) {
            if let Some(code) = line.strip_prefix("exit") {
                return self.exit(uri, Some(code.trim().parse().unwrap_or(0)));
            }
            let output = format!("{}\r\n", self.output_of(uri, &line));
            self.make_room(uri, output.len());
            // The terminal echoes a comment and runs no command.
            if line.starts_with('#') {
                self.print(uri, &output);
                continue;
            }
            self.detect_commands(uri);
            let command = self.begin_command(uri, &line);
            self.print(uri, &output);
            if let Some(folder) = line.strip_prefix("cd ") {
                self.publish(uri, json!({"type": "terminal/cwdChanged", "cwd": folder.trim()}));
            }
            match self.keeps("terminal.command.no-nesting") {
                false => ends.push(command),
                true => self.end_command(uri, &command, Some(0), Duration::ZERO),
            }
        }
        for command in ends {
            self.end_command(uri, &command, Some(0), Duration::ZERO);
        }
    }

    /// Returns the output of a command in a simulated shell.
    fn output_of(&self, uri: &str, line: &str) -> String {
        let sum = line.strip_prefix("echo ").and_then(|said| {
            let (before, (terms, after)) =
                said.split_once("$((").and_then(|(it, rest)| Some((it, rest.split_once("))")?)))?;
            let terms: Result<Vec<i32>, _> = terms.split('+').map(|it| it.trim().parse()).collect();
            let sum = terms.ok()?.into_iter().try_fold(0, i32::checked_add)?;
            Some(format!("{before}{sum}{after}"))
        });
        let TerminalSize { columns, rows } = self.terminals.size(uri);
        match line {
            _ if !self.keeps("terminal.input.forwarded") => line.to_owned(),
            "stty size" => format!("{rows} {columns}"),
            _ => sum.unwrap_or_else(|| line.to_owned()),
        }
    }

    /// Handles an event of a terminal's real shell. Ignores events after the end of its process.
    pub(super) fn hear_shell(&mut self, uri: &str, said: ShellEvent) {
        let running = self.state(uri)["lifecycle"]["status"] == "running";
        let Some(shell) = self.terminals.shell(uri).filter(|_| running) else {
            return;
        };
        match said {
            ShellEvent::Printed(bytes) => {
                for piece in shell.reader.read(&bytes) {
                    self.tell_of_shell(uri, piece);
                }
            }
            ShellEvent::Ended(code) => {
                if let Some(piece) = shell.reader.end() {
                    self.tell_of_shell(uri, piece);
                }
                self.tell_of_shell(uri, PrintedPiece::Finished(code));
                self.exit(uri, code);
            }
        }
    }

    /// Publishes a parsed piece of a shell's output.
    fn tell_of_shell(&mut self, uri: &str, piece: PrintedPiece) {
        let Some(shell) = self.terminals.shell(uri) else {
            return;
        };
        match piece {
            PrintedPiece::Text(text) => {
                self.make_room(uri, text.len());
                self.print(uri, &text);
            }
            PrintedPiece::Line(line) => {
                // Some shells prefix the line with its number in the history; strip this number.
                let said = line.trim_start().trim_start_matches(|it: char| it.is_ascii_digit());
                shell.line = said.trim().to_owned();
            }
            PrintedPiece::Began if shell.command.is_none() => {
                let line = std::mem::take(&mut shell.line);
                self.detect_commands(uri);
                let command = (self.begin_command(uri, &line), self.clock.now());
                if let Some(shell) = self.terminals.shell(uri) {
                    shell.command = Some(command);
                }
            }
            PrintedPiece::Began => {}
            PrintedPiece::Finished(code) => {
                if let Some((command, began)) = shell.command.take() {
                    self.end_command(uri, &command, code, self.clock.now() - began);
                }
            }
            PrintedPiece::Folder(folder) if self.state(uri)["cwd"] != folder.as_str() => {
                self.publish(uri, json!({"type": "terminal/cwdChanged", "cwd": folder}));
            }
            PrintedPiece::Title(title) if self.state(uri)["title"] != title.as_str() => {
                self.publish(uri, json!({"type": "terminal/titleChanged", "title": title}));
            }
            PrintedPiece::Folder(_) | PrintedPiece::Title(_) => {}
        }
    }

    fn detect_commands(&mut self, uri: &str) {
        if self.state(uri)["supportsCommandDetection"] != true {
            self.publish(uri, json!({"type": "terminal/commandDetectionAvailable"}));
        }
    }

    fn begin_command(&mut self, uri: &str, line: &str) -> String {
        let command = self.fresh_id("command");
        let action = json!({
            "type": "terminal/commandExecuted", "commandId": command, "commandLine": line,
            "timestamp": self.clock.wall_ms(),
        });
        self.publish(uri, action);
        command
    }

    fn end_command(&mut self, uri: &str, command: &str, code: Option<i64>, took: Duration) {
        let mut action = json!({
            "type": "terminal/commandFinished", "commandId": command,
            "durationMs": u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        });
        if let Some(code) = code {
            action["exitCode"] = json!(code);
        }
        self.publish(uri, action);
    }

    fn print(&mut self, uri: &str, output: &str) {
        self.publish(uri, json!({"type": "terminal/data", "data": output}));
    }

    /// Clears a terminal that cannot retain `more` bytes. A simulated shell clears the terminal before a
    /// command starts, so the output of a command stays whole.
    fn make_room(&mut self, uri: &str, more: usize) {
        if self.terminals.retain(uri, more) {
            self.publish(uri, json!({"type": "terminal/cleared"}));
        }
    }

    /// Publishes the exit of a terminal's process with this code; `None` if a signal killed the process.
    pub(super) fn exit(&mut self, uri: &str, code: Option<i64>) {
        let mut action = json!({"type": "terminal/exited"});
        if let Some(code) = code {
            action["exitCode"] = json!(code);
        }
        self.publish(uri, action);
    }

    /// Ends every process after a crash.
    pub(super) fn end_terminals(&mut self) {
        let running = |uri: &&String| self.state(uri)["lifecycle"]["status"] == "running";
        let running: Vec<String> = self.terminals.uris().filter(running).cloned().collect();
        for uri in running {
            if self.terminals.has_shell(&uri) {
                self.outbox.push(HostOutput::Shell(uri.clone(), ShellDeed::End));
            }
            self.publish(&uri, json!({"type": "terminal/exited"}));
        }
    }
}

/// Returns the size in a terminal's state. Falls back to the default size if no pseudo-terminal can have the
/// size in the state.
fn size(state: &Value) -> TerminalSize {
    let usual = TerminalSize::default();
    let given = |name: &str, usual: u16| match state[name].as_u64().map(u16::try_from) {
        Some(Ok(given @ 1..)) => given,
        _ => usual,
    };
    TerminalSize { columns: given("cols", usual.columns), rows: given("rows", usual.rows) }
}
