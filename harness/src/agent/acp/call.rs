//! The reports of tool calls: start, permission request, execution, end.
//!
//! A tool call has the status `pending` before it runs, `in_progress` while it runs, and `completed` or `failed` at its
//! end.
//!
//! Knows: updates of the protocol. Never knows: the steps of a script after the call, files.
//!
//! Start at [`AcpAgent::tell`].

use crate::agent::script::{self, ToolClass, ToolStep};
use crate::wire::json::{Value, json};

use super::client::{CallPlace, RequestPurpose};
use super::effect::{AgentEffect, EffectResult, below};
use super::fault::Fault;
use super::turn::{AgentTurn, TurnWait};
use super::{AcpAgent, AgentOutput};

/// The options of a permission request: the id, the name and the kind of each option.
pub(super) const OPTIONS: &[(&str, &str, &str)] = &[
    ("allow", "Allow", "allow_once"),
    ("allow-always", "Always allow", "allow_always"),
    ("reject", "Reject", "reject_once"),
    ("reject-always", "Always reject", "reject_always"),
];

/// A tool call of a turn.
#[derive(Debug)]
pub(super) struct TurnCall {
    pub(super) id: String,
    pub(super) step: ToolStep,
    /// Whether the user allowed the call; `None` without a decision.
    pub(super) allowed: Option<bool>,
    /// The result of the call; `None` before its end.
    pub(super) ran: Option<EffectResult>,
    /// The id of the client's terminal in which the call runs.
    pub(super) terminal: Option<String>,
    /// Whether the end of the call was reported.
    ended: bool,
}

/// Returns the name of a tool class, and its kind in ACP.
fn names(class: &ToolClass) -> (&str, &'static str) {
    match class {
        ToolClass::Shell => ("shell", "execute"),
        ToolClass::Read => ("read", "read"),
        ToolClass::Write => ("write", "edit"),
        ToolClass::Edit => ("edit", "edit"),
        ToolClass::Client(name) | ToolClass::Mcp(name) => (name, "other"),
        ToolClass::Worker => ("worker", "other"),
        ToolClass::Further(row) => (row.name, row.kind),
    }
}

/// Returns the key under which the user's permanent decisions about a class of tools are stored.
pub(super) fn class(class: &ToolClass) -> &'static str {
    match class {
        ToolClass::Shell => "shell",
        ToolClass::Read => "read",
        ToolClass::Write => "write",
        ToolClass::Edit => "edit",
        ToolClass::Client(_) => "client",
        ToolClass::Mcp(_) => "mcp",
        ToolClass::Worker => "worker",
        ToolClass::Further(row) => row.name,
    }
}

/// Returns the entries of a plan.
fn planned(input: &str) -> impl Iterator<Item = Value> + '_ {
    script::plan(input)
        .map(|(status, text)| json!({"content": text, "priority": "medium", "status": status}))
}

/// Splits the input of a file tool at its first two line ends into the path and two strings.
fn lines(input: &str) -> [&str; 3] {
    let (path, rest) = input.split_once('\n').unwrap_or((input, ""));
    let (old, new) = rest.split_once('\n').unwrap_or((rest, ""));
    [path, old, new]
}

/// Returns the effect of a call. The input of `write` is the path and, on further lines, the text. The input of `edit`
/// is the path, the old text and the new text, each on one line.
///
/// # Errors
/// Returns an error if the file is not below the session's folder.
pub(super) fn effect(step: &ToolStep, cwd: &str) -> Result<AgentEffect, String> {
    let [path, old, new] = lines(&step.input);
    let file =
        || below(cwd, path).ok_or_else(|| format!("expected a path below `{cwd}`, found `{path}`"));
    Ok(match &step.class {
        ToolClass::Read => AgentEffect::Read { path: file()? },
        ToolClass::Write => {
            let text = step.input.split_once('\n').map_or("", |(_, text)| text);
            AgentEffect::Write { path: file()?, text: text.to_owned() }
        }
        ToolClass::Edit => {
            AgentEffect::Edit { path: file()?, old: old.to_owned(), new: new.to_owned() }
        }
        _ => AgentEffect::Shell { command: step.input.clone(), cwd: cwd.to_owned() },
    })
}

fn raw_input(step: &ToolStep) -> Value {
    let [path, old, new] = lines(&step.input);
    let text = step.input.split_once('\n').map_or("", |(_, text)| text);
    match &step.class {
        ToolClass::Shell => json!({"command": (step.input.as_str())}),
        ToolClass::Read => json!({"path": path}),
        ToolClass::Write => json!({"path": path, "content": text}),
        ToolClass::Edit => json!({"path": path, "old": old, "new": new}),
        ToolClass::Client(_) | ToolClass::Mcp(_) | ToolClass::Worker | ToolClass::Further(_) => {
            Value::read(&step.input)
                .ok()
                .filter(Value::is_object)
                .unwrap_or_else(|| json!({"text": (step.input.as_str())}))
        }
    }
}

/// Returns the diff of an effect on a file; `None` if it changes no file.
fn diff(effect: &AgentEffect) -> Option<Value> {
    match effect {
        AgentEffect::Write { path, text } => {
            Some(json!({"type": "diff", "path": path, "oldText": null, "newText": text}))
        }
        AgentEffect::Edit { path, old, new } => {
            Some(json!({"type": "diff", "path": path, "oldText": old, "newText": new}))
        }
        AgentEffect::Shell { .. } | AgentEffect::Read { .. } | AgentEffect::Call { .. } => None,
    }
}

/// Returns the location of the file that an effect accesses, at its first line; `None` for other effects.
fn place(effect: &AgentEffect) -> Option<Value> {
    match effect {
        AgentEffect::Read { path } => Some(json!({"path": path, "line": 1})),
        AgentEffect::Write { path, .. } | AgentEffect::Edit { path, .. } => {
            Some(json!({"path": path}))
        }
        AgentEffect::Shell { .. } | AgentEffect::Call { .. } => None,
    }
}

impl AcpAgent {
    /// Sends the details of the calls whose input was delayed.
    pub(super) fn tell_input(&mut self, session: &str, turn: &mut AgentTurn) {
        for update in std::mem::take(&mut turn.told_later) {
            self.update(session, update);
        }
    }

    pub(super) fn cwd(&self, session: &str) -> String {
        self.sessions.get(session).map(|session| session.cwd.clone()).unwrap_or_default()
    }

    /// Reports a new call. Returns the index of the call in the turn.
    pub(super) fn tell(&mut self, session: &str, turn: &mut AgentTurn, step: ToolStep) -> usize {
        let id = format!("call-{}", self.fresh());
        let (name, kind) = names(&step.class);
        let title = match &step.class {
            ToolClass::Shell => format!("`{}`", step.input),
            _ => format!("{name} {}", lines(&step.input)[0]),
        };
        let mut update = json!({
            "sessionUpdate": "tool_call", "toolCallId": id, "title": title, "name": name, "kind": kind,
            "status": "pending", "rawInput": (raw_input(&step)),
        });
        let effect = effect(&step, &self.cwd(session)).ok();
        if let Some(place) = effect.as_ref().and_then(place) {
            update["locations"] = json!([place]);
        }
        if let Some(diff) = effect.as_ref().and_then(diff) {
            update["content"] = json!([diff]);
        }
        if step.input_held {
            // The details of the call are not reported before its input has arrived.
            let begins = json!({
                "sessionUpdate": "tool_call", "toolCallId": (update["toolCallId"].clone()), "title": name,
                "status": "pending",
            });
            self.update(session, begins);
            update["sessionUpdate"] = json!("tool_call_update");
            turn.told_later.push(update);
        } else {
            self.update(session, update);
        }
        turn.calls.push(TurnCall {
            id,
            step,
            allowed: None,
            ran: None,
            terminal: None,
            ended: false,
        });
        turn.calls.len() - 1
    }

    /// Asks for permission to run a call, unless the user has made a permanent decision about its class of tools.
    pub(super) fn permit(&mut self, turn: &mut AgentTurn, at: CallPlace<'_>) {
        let session = at.session;
        let cwd = self.cwd(session);
        let Some(call) = turn.calls.get_mut(at.call) else {
            return;
        };
        let remembered = self.sessions.get(session).map(|session| &session.remembered);
        let decided = remembered.and_then(|all| all.get(class(&call.step.class))).copied();
        if decided.is_some() {
            call.allowed = decided;
            return;
        }
        let (name, kind) = names(&call.step.class);
        let about = effect(&call.step, &cwd).ok();
        let option = |(id, name, kind): &(&str, &str, &str)| json!({"optionId": (*id), "name": (*name), "kind": (*kind)});
        let options: Vec<Value> = OPTIONS.iter().map(option).collect();
        let mut told = json!({
            "toolCallId": (call.id.as_str()), "title": name, "name": name, "kind": kind, "status": "pending",
            "rawInput": (raw_input(&call.step)),
        });
        if let Some(place) = about.as_ref().and_then(place) {
            told["locations"] = json!([place]);
        }
        if let Some(diff) = about.as_ref().and_then(diff) {
            told["content"] = json!([diff]);
        }
        let params = json!({"sessionId": session, "toolCall": told, "options": options});
        self.ask(turn, at, RequestPurpose::Permission, "session/request_permission", params);
        if self.has(Fault::RunsWhileAsking) {
            self.run_ahead(turn, at);
        }
        if self.has(Fault::EndsWhileAsking) {
            self.finish(turn, "end_turn");
        }
    }

    /// Runs a call without permission, and does not wait for its result.
    pub(super) fn run_ahead(&mut self, turn: &AgentTurn, at: CallPlace<'_>) {
        let Some(call) = turn.calls.get(at.call) else { return };
        let effect = match call.step.class {
            ToolClass::Mcp(_) => {
                let server = self.sessions.get(at.session).and_then(|it| it.server.clone());
                let arguments = raw_input(&call.step);
                let none = || "there is no such server".to_owned();
                server.map(|server| AgentEffect::Call { server, arguments }).ok_or_else(none)
            }
            _ => effect(&call.step, &self.cwd(at.session)),
        };
        if let Ok(effect) = effect {
            let token = self.fresh();
            self.outputs.push_back(AgentOutput::Run { token, effect });
        }
    }

    /// Runs a permitted call: through the client if it has the capability, or else as an effect.
    pub(super) fn run(&mut self, turn: &mut AgentTurn, at: CallPlace<'_>) {
        let session = at.session;
        let cwd = self.cwd(session);
        let (elsewhere, first) = (self.has(Fault::WorksElsewhere), self.first_folder.clone());
        let Some(call) = turn.calls.get_mut(at.call) else {
            return;
        };
        if call.allowed == Some(false) {
            call.ran = Some(EffectResult::badly("the user did not allow it"));
            if call.step.deny_ends_turn {
                self.end(session, turn, at.call);
                turn.cut_short();
            }
            return;
        }
        let progress = json!({
            "sessionUpdate": "tool_call_update", "toolCallId": (call.id.as_str()), "status": "in_progress",
        });
        let server = self.sessions.get(session).and_then(|session| session.server.clone());
        let server = server.filter(|_| matches!(call.step.class, ToolClass::Mcp(_)));
        let pretends = match call.step.class {
            ToolClass::Mcp(_) => server.is_none(),
            ToolClass::Client(_) | ToolClass::Worker | ToolClass::Further(_) => true,
            _ => false,
        };
        let cwd = if elsewhere { first } else { cwd };
        let effect = match effect(&call.step, &cwd) {
            _ if call.step.fails => Err("the tool failed".to_owned()),
            Ok(_) if pretends => {
                call.ran = Some(EffectResult::well(format!("ran: {}", call.step.input)));
                let step = call.step.clone();
                self.update(session, progress);
                return self.pretend(session, &step);
            }
            Ok(effect) => Ok(match server {
                Some(server) => AgentEffect::Call { server, arguments: raw_input(&call.step) },
                None => effect,
            }),
            failed => failed,
        };
        self.update(session, progress);
        match effect {
            Err(why) => turn.result_of(at.track, EffectResult::badly(why)),
            Ok(effect) if self.delegate(turn, at, &effect) => {}
            Ok(effect) => {
                let token = self.fresh();
                self.effects.insert(token, session.to_owned());
                self.outputs.push_back(AgentOutput::Run { token, effect });
                turn.hold_up(at.track, TurnWait::Effect(token));
            }
        }
    }

    /// Performs a call that has no effect outside of the conversation: a plan or a change of the mode.
    fn pretend(&mut self, session: &str, step: &ToolStep) {
        match &step.class {
            ToolClass::Further(row) if row.name == "plan" => {
                let entries: Value = planned(&step.input).collect();
                self.update(session, json!({"sessionUpdate": "plan", "entries": entries}));
            }
            ToolClass::Further(row) if row.name == "switch-mode" => {
                self.switch_mode(session, &step.input);
            }
            _ => {}
        }
    }

    /// Reports the end of a call, unless it was reported before.
    pub(super) fn end(&mut self, session: &str, turn: &mut AgentTurn, at: usize) {
        let cwd = self.cwd(session);
        let Some(call) = turn.calls.get_mut(at).filter(|call| !call.ended) else {
            return;
        };
        call.ended = true;
        let ran = call.ran.take().unwrap_or_else(|| EffectResult::badly("it did not finish"));
        let text =
            json!({"type": "content", "content": {"type": "text", "text": (ran.text.as_str())}});
        let terminal =
            call.terminal.as_ref().map(|id| json!({"type": "terminal", "terminalId": id}));
        let diff =
            effect(&call.step, &cwd).ok().filter(|_| ran.ok).and_then(|effect| diff(&effect));
        let wrapped = |block: &Value| json!({"type": "content", "content": (block.clone())});
        let blocks = ran.blocks.iter().map(wrapped);
        let content: Vec<Value> =
            std::iter::once(text).chain(blocks).chain(terminal).chain(diff).collect();
        let status = if ran.ok { "completed" } else { "failed" };
        let update = json!({
            "sessionUpdate": "tool_call_update", "toolCallId": (call.id.as_str()), "status": status,
            "content": content, "rawOutput": {"output": (ran.text.as_str())},
        });
        self.update(session, update);
    }

    /// Ends every call of a cancelled turn. If a call runs in a terminal of the client, kills and releases this
    /// terminal.
    pub(super) fn abandon(&mut self, session: &str, turn: &mut AgentTurn) {
        for at in 0..turn.calls.len() {
            let Some(call) = turn.calls.get_mut(at).filter(|call| !call.ended) else {
                continue;
            };
            call.ran = Some(EffectResult::badly("the turn was cancelled"));
            let terminal = call.terminal.clone();
            self.end(session, turn, at);
            if let Some(terminal) = terminal {
                let params = json!({"sessionId": session, "terminalId": terminal});
                // No track waits for the response, since the tracks of a cancelled turn have ended.
                let at = CallPlace { session, track: usize::MAX, call: at };
                for method in ["terminal/kill", "terminal/release"] {
                    self.ask(turn, at, RequestPurpose::Nothing, method, params.clone());
                }
            }
        }
    }

    /// Handles the result of an effect.
    pub(super) fn effect_ended(&mut self, session: &str, token: u64, ran: EffectResult) {
        let now = self.now;
        self.with_turn(session, |_, turn| {
            if let Some(index) = turn.waiting(&TurnWait::Effect(token)) {
                turn.wake(index, now);
                turn.result_of(index, ran);
            }
            true
        });
    }
}
