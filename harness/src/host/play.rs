//! Plays the agent: starts turns, performs the operations that are due, ends turns, and consumes queued and
//! steering messages.
//!
//! The host takes a queued message when a turn has completed, or at once if the chat is idle. After a cancelled
//! or failed turn the queue waits for the user. The host takes a steering message between two steps of the
//! script. If no turn is running, the steering message stays pending.
//!
//! Knows: operations, the states of chats. Never knows: connections.
//!
//! Start at [`RefHost::play`].

use super::reading::tool_call;
use std::collections::VecDeque;
use std::time::Duration;

use crate::wire::json::{Value, json};

use super::agent::{self, COMMAND_PREFIX, ENDLESS_PIECES, HostAgentOp, HostAgentWait};
use super::agent_runs::{STEP, TrackStep};
use super::engine::RefHost;
use super::injected::{AgentStep, MadeValue};
use crate::agent::script::{AskKind, ScriptStep};
use crate::wire::channel::ROOT;

/// The time that the agent takes for one chunk of `endless`.
const PIECE: Duration = Duration::from_millis(20);

impl RefHost {
    /// Performs every operation that is due.
    pub(super) fn play(&mut self) {
        for uri in self.runs.due(self.clock.now()) {
            for index in 0..self.runs.tracks(&uri) {
                self.advance(&uri, index);
            }
        }
    }

    /// Performs the next operation of a track, if it is due.
    fn advance(&mut self, uri: &str, index: usize) {
        let Some(at_step) = self.runs.begin_step(uri, index, self.clock.now()) else {
            return;
        };
        if index == 0 && at_step {
            self.take_steering(uri);
        }
        match self.runs.next_step(uri, index) {
            Some(TrackStep::Perform { turn, op }) => self.carry_out(uri, index, &turn, op),
            Some(TrackStep::EndTurn) => self.end_turn(uri),
            Some(TrackStep::EndTrack) => {}
            None => return,
        }
        self.wake(uri);
    }

    fn carry_out(&mut self, uri: &str, index: usize, turn: &str, op: HostAgentOp) {
        let step = AgentStep { uri, index, turn };
        if !self.injected().into_iter().all(|fault| fault.performs(self, &step, &op)) {
            return;
        }
        match op {
            HostAgentOp::Step(step) => self.step(uri, index, turn, step),
            HostAgentOp::Open { part, kind } => {
                let part = json!({"kind": kind, "id": part, "content": ""});
                self.say(uri, json!({"type": "chat/responsePart", "turnId": turn, "part": part}));
            }
            HostAgentOp::Append { part, kind, text } => {
                let action = if kind == "markdown" { "chat/delta" } else { "chat/reasoning" };
                let action =
                    json!({"type": action, "turnId": turn, "partId": part, "content": text});
                self.say(uri, action);
            }
            HostAgentOp::Stream { part, pieces } => self.stream(uri, index, turn, part, pieces),
            HostAgentOp::Call(step) => self.call_tool(uri, index, turn, step),
            HostAgentOp::Input { call, text } => self.stream_input(uri, turn, &call, &text),
            HostAgentOp::Ready { call, step } => self.call_ready(uri, index, turn, call, &step),
            HostAgentOp::Challenge { call } => self.challenge(uri, index, turn, call),
            HostAgentOp::Execute { call, step } => self.execute(uri, index, turn, call, &step),
            HostAgentOp::Reconfirm { call, step } => self.reconfirm(uri, index, turn, call, &step),
            HostAgentOp::Complete { call, step } => self.complete(uri, index, turn, call, &step),
        }
    }

    fn step(&mut self, uri: &str, index: usize, turn: &str, step: ScriptStep) {
        match step {
            ScriptStep::Say(texts) => self.stream_part(uri, index, "markdown", texts),
            ScriptStep::Think(texts) => self.stream_part(uri, index, "reasoning", texts),
            ScriptStep::Tool(call) => self.call_tool(uri, index, turn, call),
            ScriptStep::Parallel(calls) => {
                self.runs.branch(uri, calls.into_iter().map(HostAgentOp::Call), self.clock.now());
                self.runs.hold_up(uri, index, HostAgentWait::Others);
            }
            ScriptStep::Ask { kind, question, options } => {
                self.ask(uri, index, kind, &question, &options);
            }
            ScriptStep::Wait(delay) => self.delay(uri, index, delay),
            ScriptStep::Hold(name) => self.runs.hold_up(uri, index, HostAgentWait::Release(name)),
            ScriptStep::Usage { input, output } => {
                let usage = json!({"inputTokens": input, "outputTokens": output});
                self.say(uri, json!({"type": "chat/usage", "turnId": turn, "usage": usage}));
            }
            ScriptStep::Title(title) => {
                if let Some(session) = self.chats.session_of(uri).map(str::to_owned) {
                    self.publish(&session, json!({"type": "session/titleChanged", "title": title}));
                }
            }
            ScriptStep::Fail { kind, resumable } => self.fail_turn(uri, turn, &kind, resumable),
            ScriptStep::Endless => {
                let part = self.fresh_id("part");
                let open = HostAgentOp::Open { part: part.clone(), kind: "markdown" };
                self.runs.queue(uri, index, [open, HostAgentOp::Stream { part, pieces: 0 }]);
            }
            ScriptStep::Recall(words) => {
                let answer = self.recall(uri, &words);
                self.stream_part(uri, index, "markdown", vec![answer]);
            }
            ScriptStep::Activity(text) => {
                self.say(uri, doing("chat/activityChanged", Some(&text)));
            }
            ScriptStep::Background { command, lasts } => {
                self.leave_running(uri, &command, lasts);
            }
            ScriptStep::Canvas { name, url } => self.show_canvas(uri, &name, url.as_deref()),
            ScriptStep::Crash => self.fail_turn(uri, turn, "agent-ended", false),
            ScriptStep::Act { action, members } => self.act(uri, index, turn, &action, &members),
        }
    }

    pub(super) fn stream_part(
        &mut self,
        uri: &str,
        index: usize,
        kind: &'static str,
        texts: Vec<String>,
    ) {
        let part = self.fresh_id("part");
        let append = |text| HostAgentOp::Append { part: part.clone(), kind, text };
        let ops: Vec<HostAgentOp> = texts.into_iter().map(append).collect();
        self.runs.queue(uri, index, ops);
        self.runs.queue(uri, index, [HostAgentOp::Open { part, kind }]);
    }

    fn stream(&mut self, uri: &str, index: usize, turn: &str, part: String, pieces: u32) {
        let content = format!("{pieces} ");
        let action =
            json!({"type": "chat/delta", "turnId": turn, "partId": part, "content": content});
        self.say(uri, action);
        if pieces >= ENDLESS_PIECES {
            return self.runs.hold_up(uri, index, HostAgentWait::Forever);
        }
        self.runs.queue(uri, index, [HostAgentOp::Stream { part, pieces: pieces + 1 }]);
        self.delay(uri, index, PIECE);
    }

    /// Sends an input request to the user and waits for the answer. Source: `chat.input.*`.
    fn ask(&mut self, uri: &str, index: usize, kind: AskKind, question: &str, options: &[String]) {
        let id = self.fresh_id("request");
        let mut request = json!({"id": id, "message": question});
        match kind {
            AskKind::Url => request["url"] = json!(options.first()),
            _ => request["questions"] = json!([questioned(kind, question, options)]),
        }
        self.say(uri, json!({"type": "chat/inputRequested", "request": request}));
        self.runs.hold_up(uri, index, HostAgentWait::Answer(id));
    }

    /// Publishes an action of the script on the channel that the action names, or on the chat or its session.
    /// Waits if the action needs a decision of the user. If the name is that of a notification, sends the
    /// notification to the root channel.
    fn act(&mut self, uri: &str, index: usize, turn: &str, name: &str, members: &str) {
        let mut action: Value = serde_json::from_str(members).unwrap_or_else(|_| json!({}));
        if self.protocol.method(name).is_some() {
            action["channel"] = json!(ROOT);
            return self.notify(name, action);
        }
        action["type"] = json!(name);
        let named = action.as_object_mut().and_then(|members| members.remove("channel"));
        let session = self.chats.session_of(uri).map(str::to_owned);
        let session = session.filter(|_| name.starts_with("session/"));
        let named = named.as_ref().and_then(Value::as_str).map(str::to_owned);
        if let Some(channel) = named.or(session) {
            self.publish(&channel, action);
            return;
        }
        let of_turns = name != "chat/inputRequested" && name != "chat/activityChanged";
        if of_turns && action.get("turnId").is_none() {
            action["turnId"] = json!(turn);
        }
        let wait = left_open(&action);
        self.say(uri, action);
        wait.into_iter().for_each(|wait| self.runs.hold_up(uri, index, wait));
    }

    /// Publishes an action of the agent. An action that the reducers do not apply is sent only if an injected
    /// fault continues a cancelled run.
    pub(super) fn say(&mut self, uri: &str, action: Value) {
        let outcome = self.publish(uri, action.clone());
        if outcome != crate::model::ActionOutcome::Applied && self.runs.is_undead(uri) {
            self.emit(uri, action, None);
        }
    }

    pub(super) fn delay(&mut self, uri: &str, index: usize, delay: Duration) {
        let due = self.clock.now() + delay.max(STEP);
        self.runs.delay(uri, index, due);
    }

    /// Resumes the tracks whose event has happened.
    pub(super) fn wake(&mut self, uri: &str) {
        let unconfirmed = !self.keeps("chat.tool.result-confirmation");
        let (channels, state) = (&self.channels, self.channels.state(uri));
        let works = |chat: &String| !channels.state(chat)["activeTurn"].is_null();
        self.runs.wake(uri, self.clock.now(), |wait| match wait {
            HostAgentWait::Worker(chat) => !works(chat),
            // A client that completes its call may leave the approval of the result to the user, as the
            // agent may do.
            HostAgentWait::Call { call, status } => {
                let found = &tool_call(state, call)["status"];
                *found != *status && (unconfirmed || *found != "pending-result-confirmation")
            }
            HostAgentWait::Answer(id) => answered(state, id),
            // `AgentRuns` decides about these events.
            HostAgentWait::Forever | HostAgentWait::Others | HostAgentWait::Release(_) => false,
        });
    }

    /// Starts the agent's work on the active turn of a chat.
    pub(super) fn start_run(&mut self, uri: &str) {
        let active = &self.state(uri)["activeTurn"];
        let turn = active["id"].as_str().unwrap_or("").to_owned();
        let message = self.made(&MadeValue::MessageForAgent, active["message"].clone());
        let text = message["text"].as_str().unwrap_or("").to_owned();
        let given = self.given(uri, &message);
        if self.acp.is_some() {
            self.chats.turn_began(uri, self.clock.now());
            let given = self.context_for_subprocess(uri, given, !self.has_agent_session(uri));
            return self.prompt_agent(uri, turn, text, given);
        }
        let runs = self.keeps("lifecycle.initialize.terminal-prefix");
        let ops = agent::plan(if runs { &text } else { text.trim_start_matches(COMMAND_PREFIX) });
        self.ask_model(uri, &message, &text);
        self.runs.start(uri, &turn, ops, given, self.clock.now());
        self.chats.turn_began(uri, self.clock.now());
        self.take_release(uri);
    }

    /// Resumes a turn that has failed.
    pub(super) fn resume_run(&mut self, uri: &str) {
        let turn = self.state(uri)["activeTurn"]["id"].as_str().unwrap_or("").to_owned();
        let mut ops = self.chats.take_rest(uri);
        if ops.is_empty() {
            ops.push_back(HostAgentOp::Step(ScriptStep::Say(vec!["Resumed.".to_owned()])));
        }
        self.runs.start(uri, &turn, ops, Vec::new(), self.clock.now());
    }

    /// Starts a turn for a queued or an initial message.
    pub(super) fn begin_turn(&mut self, uri: &str, message: Value, queued: Option<&str>) {
        let mut action = json!({
            "type": "chat/turnStarted",
            "turnId": self.fresh_id("turn"),
            "startedAt": self.clock.timestamp(),
            "message": message,
        });
        if let Some(id) = queued {
            action["queuedMessageId"] = json!(id);
        }
        self.publish(uri, action);
        self.start_run(uri);
    }

    /// Returns the duration of a chat's active turn in milliseconds.
    pub(super) fn turn_duration(&self, uri: &str) -> u64 {
        let began = self.chats.turn_start(uri).unwrap_or(self.clock.now());
        u64::try_from(self.clock.now().saturating_sub(began).as_millis()).unwrap_or(u64::MAX)
    }

    /// Completes the turn and takes the next queued message.
    fn end_turn(&mut self, uri: &str) {
        if let Some(turn) = self.runs.stop(uri) {
            self.complete_turn(uri, &turn);
        }
    }

    pub(super) fn complete_turn(&mut self, uri: &str, turn: &str) {
        let duration = self.turn_duration(uri);
        let end = json!({"type": "chat/turnComplete", "turnId": turn, "duration": duration});
        self.publish(uri, end);
        self.drain_queue(uri);
    }

    /// Ends a turn with an error. Source: `chat.turn.error-*`.
    pub(super) fn fail_turn(&mut self, uri: &str, turn: &str, kind: &str, resumable: bool) {
        let duration = self.turn_duration(uri);
        let message = format!("the agent failed: {kind}");
        let error =
            json!({"errorType": kind, "message": message, "stack": format!("at `fail {kind}`")});
        let part = json!({"kind": "error", "error": error, "resumable": resumable});
        let rest = self.runs.fail(uri);
        self.chats.keep_rest(uri, if resumable { rest } else { VecDeque::new() });
        let action =
            json!({"type": "chat/error", "turnId": turn, "duration": duration, "part": part});
        self.publish(uri, action);
    }

    /// Ends every turn that a crash interrupted. Source: `disconnect.crash.turns-failed`.
    pub(super) fn fail_turns(&mut self) {
        if !self.keeps("disconnect.crash.turns-failed") {
            return;
        }
        let turn = |uri: &String| {
            let id = self.state(uri)["activeTurn"]["id"].as_str()?.to_owned();
            Some((uri.clone(), id))
        };
        let active: Vec<(String, String)> = self.chats.uris().filter_map(turn).collect();
        for (uri, turn) in active {
            self.fail_turn(&uri, &turn, "host-restarted", false);
        }
    }

    /// Takes the next queued message if the chat is idle. Source: `chat.queue.*`.
    pub(super) fn drain_queue(&mut self, uri: &str) {
        let active = !self.state(uri)["activeTurn"].is_null();
        if active && self.keeps("chat.queue.consume-after-turn") {
            return;
        }
        if let Some(ghost) = self.chats.take_ghost(uri) {
            let id = ghost["id"].as_str().unwrap_or("").to_owned();
            return self.begin_turn(uri, ghost["message"].clone(), Some(&id));
        }
        let queue = self.state(uri)["queuedMessages"].as_array();
        let last = !self.keeps("chat.queue.fifo");
        let next = queue.and_then(|queue| if last { queue.last() } else { queue.first() }).cloned();
        let Some(next) = next.filter(|_| self.keeps("chat.queue.idle-autostart")) else {
            return;
        };
        let id = next["id"].as_str().unwrap_or("").to_owned();
        let removed = json!({"type": "chat/pendingMessageRemoved", "kind": "queued", "id": id});
        self.publish(uri, removed);
        self.begin_turn(uri, next["message"].clone(), Some(&id));
    }

    /// Adds the operations of the steering message to the running turn. Source: `chat.steering.consume`.
    fn take_steering(&mut self, uri: &str) {
        let steering = &self.state(uri)["steeringMessage"];
        if steering.is_null() || !self.keeps("chat.steering.consume") {
            return;
        }
        let text = steering["message"]["text"].as_str().unwrap_or("").to_owned();
        let more = agent::steer(&text);
        let id = steering["id"].clone();
        let removed = json!({"type": "chat/pendingMessageRemoved", "kind": "steering", "id": id});
        self.publish(uri, removed);
        self.runs.steer(uri, text);
        self.runs.queue(uri, 0, more);
    }

    /// Consumes at once a steering message that releases a hold.
    pub(super) fn take_release(&mut self, uri: &str) {
        let steering = &self.state(uri)["steeringMessage"];
        let text = steering["message"]["text"].as_str().unwrap_or("");
        let Some(name) = agent::release(text).map(str::to_owned) else {
            return;
        };
        let id = steering["id"].clone();
        if !self.runs.release(uri, name) {
            return;
        }
        let removed = json!({"type": "chat/pendingMessageRemoved", "kind": "steering", "id": id});
        self.publish(uri, removed);
        self.wake(uri);
    }
}

/// Returns an action that sets the activity of a chat or a session; without text, the action clears the
/// activity.
pub(super) fn doing(kind: &str, text: Option<&str>) -> Value {
    let mut action = json!({"type": kind});
    if let Some(text) = text.filter(|text| !text.is_empty()) {
        action["activity"] = json!(text);
    }
    action
}

fn answered(state: &Value, id: &str) -> bool {
    let parts = state["activeTurn"]["responseParts"].as_array();
    let mut parts = parts.into_iter().flatten();
    parts.any(|part| part["request"]["id"] == id && part["response"].is_string())
}

/// Returns a question of an input request, marked as required.
fn questioned(kind: AskKind, message: &str, options: &[String]) -> Value {
    let name = match kind {
        AskKind::Text | AskKind::Url => "text",
        AskKind::SingleSelect => "single-select",
        AskKind::MultiSelect => "multi-select",
        AskKind::Number => "number",
        AskKind::Boolean => "boolean",
    };
    let mut question = json!({"kind": name, "id": "answer", "message": message, "required": true});
    if matches!(kind, AskKind::SingleSelect | AskKind::MultiSelect) {
        let options = options.iter().map(|text| json!({"id": text, "label": text}));
        question["options"] = options.collect();
    }
    question
}

/// Returns the event to wait for if an action needs a decision of the user; `None` if the action needs no decision.
fn left_open(action: &Value) -> Option<HostAgentWait> {
    let call = || action["toolCallId"].as_str().unwrap_or_default().to_owned();
    match action["type"].as_str()? {
        "chat/toolCallReady" if action["confirmed"].is_null() => {
            Some(HostAgentWait::Call { call: call(), status: "pending-confirmation" })
        }
        "chat/toolCallComplete" if action["requiresResultConfirmation"] == true => {
            Some(HostAgentWait::Call { call: call(), status: "pending-result-confirmation" })
        }
        "chat/inputRequested" => Some(HostAgentWait::Answer(
            action["request"]["id"].as_str().unwrap_or_default().to_owned(),
        )),
        _ => None,
    }
}
