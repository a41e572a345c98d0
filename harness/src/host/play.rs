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

use std::collections::VecDeque;
use std::time::Duration;

use crate::wire::json::{Value, json};

use super::agent::{
    self, COMMAND_PREFIX, ENDLESS_PIECES, HostAgentOp, HostAgentRun, HostAgentTrack, HostAgentWait,
    STEP,
};
use super::engine::RefHost;
use super::injected::{AgentStep, MadeValue};
use crate::agent::script::{AskKind, ScriptStep};
use crate::wire::channel::ROOT;

/// The time that the agent takes for one chunk of `endless`.
const PIECE: Duration = Duration::from_millis(20);

impl RefHost {
    /// Performs every operation that is due.
    pub(super) fn play(&mut self) {
        let due = |(uri, run): (&String, &HostAgentRun)| {
            let at = run.due().filter(|at| *at <= self.now)?;
            Some((at, uri.clone()))
        };
        let mut due: Vec<(Duration, String)> = self.runs.iter().filter_map(due).collect();
        due.sort();
        for (_, uri) in due {
            let tracks = self.runs.get(&uri).map_or(0, |run| run.tracks.len());
            for index in 0..tracks {
                self.advance(&uri, index);
            }
        }
    }

    /// Performs the next operation of a track, if it is due.
    fn advance(&mut self, uri: &str, index: usize) {
        let now = self.now;
        let Some(track) = self.runs.get_mut(uri).and_then(|run| run.tracks.get_mut(index)) else {
            return;
        };
        if track.wait.is_some() || track.due.is_none_or(|due| due > now) {
            return;
        }
        track.due = Some(now + STEP);
        let at_step = matches!(track.ops.front(), Some(HostAgentOp::Step(_)) | None);
        if index == 0 && at_step {
            self.take_steering(uri);
        }
        let Some(run) = self.runs.get_mut(uri) else {
            return;
        };
        let turn = run.turn.clone();
        match run.tracks.get_mut(index).and_then(|track| track.ops.pop_front()) {
            Some(op) => self.carry_out(uri, index, &turn, op),
            None if index == 0 => self.end_turn(uri),
            None => {
                if let Some(track) = run.tracks.get_mut(index) {
                    track.due = None;
                }
            }
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
                let due = Some(self.now + STEP);
                let track = |step| HostAgentTrack {
                    ops: VecDeque::from([HostAgentOp::Call(step)]),
                    due,
                    wait: None,
                };
                if let Some(run) = self.runs.get_mut(uri) {
                    run.tracks.truncate(1);
                    run.tracks.extend(calls.into_iter().map(track));
                }
                self.hold_up(uri, index, HostAgentWait::Others);
            }
            ScriptStep::Ask { kind, question, options } => {
                self.ask(uri, index, kind, &question, &options);
            }
            ScriptStep::Wait(delay) => self.delay(uri, index, delay),
            ScriptStep::Hold(name) => self.hold_up(uri, index, HostAgentWait::Release(name)),
            ScriptStep::Usage { input, output } => {
                let usage = json!({"inputTokens": input, "outputTokens": output});
                self.say(uri, json!({"type": "chat/usage", "turnId": turn, "usage": usage}));
            }
            ScriptStep::Title(title) => {
                if let Some(session) = self.chats.get(uri).map(|chat| chat.session.clone()) {
                    self.publish(&session, json!({"type": "session/titleChanged", "title": title}));
                }
            }
            ScriptStep::Fail { kind, resumable } => self.fail_turn(uri, turn, &kind, resumable),
            ScriptStep::Endless => {
                let part = self.fresh_id("part");
                let open = HostAgentOp::Open { part: part.clone(), kind: "markdown" };
                self.queue(uri, index, [open, HostAgentOp::Stream { part, pieces: 0 }]);
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
        self.queue(uri, index, ops);
        self.queue(uri, index, [HostAgentOp::Open { part, kind }]);
    }

    fn stream(&mut self, uri: &str, index: usize, turn: &str, part: String, pieces: u32) {
        let content = format!("{pieces} ");
        let action =
            json!({"type": "chat/delta", "turnId": turn, "partId": part, "content": content});
        self.say(uri, action);
        if pieces >= ENDLESS_PIECES {
            return self.hold_up(uri, index, HostAgentWait::Forever);
        }
        self.queue(uri, index, [HostAgentOp::Stream { part, pieces: pieces + 1 }]);
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
        self.hold_up(uri, index, HostAgentWait::Answer(id));
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
        let session = self.chats.get(uri).map(|chat| chat.session.clone());
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
        wait.into_iter().for_each(|wait| self.hold_up(uri, index, wait));
    }

    /// Publishes an action of the agent. An action that the reducers do not apply is sent only if an injected
    /// fault continues a cancelled run.
    pub(super) fn say(&mut self, uri: &str, action: Value) {
        if self.publish(uri, action.clone()) != crate::model::ActionOutcome::Applied {
            let undead = self.runs.get(uri).is_some_and(|run| run.undead);
            if undead {
                self.emit(uri, action, None);
            }
        }
    }

    /// Inserts operations at the front of a track.
    pub(super) fn queue(
        &mut self,
        uri: &str,
        index: usize,
        ops: impl IntoIterator<Item = HostAgentOp>,
    ) {
        if let Some(track) = self.track(uri, index) {
            let mut queue: VecDeque<HostAgentOp> = ops.into_iter().collect();
            queue.append(&mut track.ops);
            track.ops = queue;
        }
    }

    /// Makes a track wait, unless an injected fault continues the run after the end of its turn.
    pub(super) fn hold_up(&mut self, uri: &str, index: usize, wait: HostAgentWait) {
        if self.runs.get(uri).is_some_and(|run| run.undead) {
            return;
        }
        if let Some(track) = self.track(uri, index) {
            track.wait = Some(wait);
        }
    }

    pub(super) fn delay(&mut self, uri: &str, index: usize, delay: Duration) {
        let due = self.now + delay.max(STEP);
        if let Some(track) = self.track(uri, index) {
            track.due = Some(due);
        }
    }

    pub(super) fn track(&mut self, uri: &str, index: usize) -> Option<&mut HostAgentTrack> {
        self.runs.get_mut(uri)?.tracks.get_mut(index)
    }

    /// Resumes the tracks whose event has happened.
    pub(super) fn wake(&mut self, uri: &str) {
        let unconfirmed = !self.keeps("chat.tool.result-confirmation");
        let state = self.channels.get(uri).map_or(&Value::Null, |channel| &channel.state);
        let channels = &self.channels;
        let works = |chat: &String| {
            channels.get(chat).is_some_and(|channel| !channel.state["activeTurn"].is_null())
        };
        let Some(run) = self.runs.get_mut(uri) else {
            return;
        };
        let alone = run.alone();
        for track in &mut run.tracks {
            let over = match &track.wait {
                None | Some(HostAgentWait::Forever) => false,
                Some(HostAgentWait::Others) => alone,
                Some(HostAgentWait::Worker(chat)) => !works(chat),
                Some(HostAgentWait::Release(name)) => run.released.contains(name),
                // A client that completes its call may leave the approval of the result to the user, as the
                // agent may do.
                Some(HostAgentWait::Call { call, status }) => {
                    let found = &tool_call(state, call)["status"];
                    *found != *status && (unconfirmed || *found != "pending-result-confirmation")
                }
                Some(HostAgentWait::Answer(id)) => answered(state, id),
            };
            if over {
                track.wait = None;
                track.due = Some(self.now + STEP);
            }
        }
    }

    /// Starts the agent's work on the active turn of a chat.
    pub(super) fn start_run(&mut self, uri: &str) {
        let active = &self.state(uri)["activeTurn"];
        let turn = active["id"].as_str().unwrap_or("").to_owned();
        let message = self.made(&MadeValue::MessageForAgent, active["message"].clone());
        let text = message["text"].as_str().unwrap_or("").to_owned();
        let given = self.given(uri, &message);
        if self.acp.is_some() {
            if let Some(chat) = self.chats.get_mut(uri) {
                chat.began = self.now;
            }
            let given = self.context_for_subprocess(uri, given, !self.has_agent_session(uri));
            return self.prompt_agent(uri, turn, text, given);
        }
        let runs = self.keeps("lifecycle.initialize.terminal-prefix");
        let ops = agent::plan(if runs { &text } else { text.trim_start_matches(COMMAND_PREFIX) });
        self.ask_model(uri, &message, &text);
        let run = HostAgentRun { given, ..HostAgentRun::new(&turn, ops, self.now) };
        self.runs.insert(uri.to_owned(), run);
        if let Some(chat) = self.chats.get_mut(uri) {
            chat.began = self.now;
        }
        self.take_release(uri);
    }

    /// Resumes a turn that has failed.
    pub(super) fn resume_run(&mut self, uri: &str) {
        let turn = self.state(uri)["activeTurn"]["id"].as_str().unwrap_or("").to_owned();
        let rest = self.chats.get_mut(uri).map(|chat| std::mem::take(&mut chat.rest));
        let mut ops = rest.unwrap_or_default();
        if ops.is_empty() {
            ops.push_back(HostAgentOp::Step(ScriptStep::Say(vec!["Resumed.".to_owned()])));
        }
        self.runs.insert(uri.to_owned(), HostAgentRun::new(&turn, ops, self.now));
    }

    /// Starts a turn for a queued or an initial message.
    pub(super) fn begin_turn(&mut self, uri: &str, message: Value, queued: Option<&str>) {
        let mut action = json!({
            "type": "chat/turnStarted",
            "turnId": self.fresh_id("turn"),
            "startedAt": self.timestamp(),
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
        let began = self.chats.get(uri).map_or(self.now, |chat| chat.began);
        u64::try_from(self.now.saturating_sub(began).as_millis()).unwrap_or(u64::MAX)
    }

    /// Completes the turn and takes the next queued message.
    fn end_turn(&mut self, uri: &str) {
        if let Some(run) = self.runs.remove(uri) {
            self.complete_turn(uri, &run.turn);
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
        let run = self.runs.remove(uri);
        let rest = run.and_then(|run| run.tracks.into_iter().next()).map(|track| track.ops);
        if let Some(chat) = self.chats.get_mut(uri) {
            chat.rest = rest.filter(|_| resumable).unwrap_or_default();
        }
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
        let active: Vec<(String, String)> = self.chats.keys().filter_map(turn).collect();
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
        if let Some(ghost) = self.chats.get_mut(uri).and_then(|chat| chat.ghosts.pop()) {
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
        if let Some(run) = self.runs.get_mut(uri) {
            run.steered.push(text);
        }
        self.queue(uri, 0, more);
    }

    /// Consumes at once a steering message that releases a hold.
    pub(super) fn take_release(&mut self, uri: &str) {
        let steering = &self.state(uri)["steeringMessage"];
        let text = steering["message"]["text"].as_str().unwrap_or("");
        let Some(name) = agent::release(text).map(str::to_owned) else {
            return;
        };
        let id = steering["id"].clone();
        let Some(run) = self.runs.get_mut(uri) else {
            return;
        };
        run.released.insert(name);
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

/// Returns a tool call of the active turn; null if there is none.
pub(super) fn tool_call<'a>(state: &'a Value, id: &str) -> &'a Value {
    let parts = state["activeTurn"]["responseParts"].as_array();
    let mut calls = parts.into_iter().flatten().map(|part| &part["toolCall"]);
    calls.find(|call| call["toolCallId"] == id).unwrap_or(&Value::Null)
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
