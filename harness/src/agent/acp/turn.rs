//! Turns: the agent plays the script of a prompt step by step.
//!
//! A turn has a main track, and one more track for each call of a parallel group. A track is a queue of small
//! operations. Each operation takes [`STEP`].
//!
//! A cancelled turn stops at once and ends its calls. The agent answers the prompt when the client has answered
//! all open requests, or after [`GRACE`].
//!
//! Knows: scripts. Never knows: the form of tool calls, the capabilities of clients.
//!
//! Start at [`AcpAgent::play`].

use std::collections::VecDeque;
use std::time::Duration;

use crate::agent::mode::AgentMode;
use crate::agent::script::{self, AgentScript, ScriptStep, ToolStep};
use crate::wire::json::{Value, json};
use crate::wire::message::Message;

use super::call::TurnCall;
use super::client::CallPlace;
use super::fault::Fault;
use super::sessions::{CAREFUL, ECHO};
use super::{AcpAgent, AgentOutput, AgentSession};

/// The time that the agent takes for one operation.
const STEP: Duration = Duration::from_millis(2);
/// The time that the agent takes for one chunk of `endless`.
const PIECE: Duration = Duration::from_millis(20);
/// The number of chunks that `endless` streams. Afterwards the turn sends nothing more, so that the size of a host's
/// state is bounded.
const ENDLESS_PIECES: u32 = 5_000;
/// The time that a cancelled turn waits for the client's responses.
const GRACE: Duration = Duration::from_secs(1);
/// The size of the context window that the agent reports, in tokens.
const CONTEXT: u64 = 200_000;

/// The kinds of failure in scripts for which ACP has a stop reason: the turn then ends without an error.
const STOPS: &[(&str, &str)] = &[
    ("refusal", "refusal"),
    ("max-tokens", "max_tokens"),
    ("max-turn-requests", "max_turn_requests"),
];

/// An operation of the agent.
#[derive(Clone, Debug)]
pub(super) enum TurnOp {
    /// Expands a step of the script into operations.
    Step(ScriptStep),
    /// Streams a chunk of the message or of a thought.
    Chunk { kind: &'static str, text: String },
    /// Streams text without end. The value is the number of chunks so far.
    Stream(u32),
    /// Reports a new call and queues its operations.
    Call(ToolStep),
    /// Asks for permission to run the call with this index.
    Permit(usize),
    /// Runs the call with this index if it is permitted.
    Run(usize),
    /// Reports the end of the call with this index.
    End(usize),
    /// Reports the details of calls whose input was delayed.
    Input,
}

/// The event that a track waits for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum TurnWait {
    /// The response to the request with this id.
    Answer(u64),
    /// The result of the effect with this token.
    Effect(u64),
    /// The release of the hold with this name.
    Release(String),
    /// The end of all other tracks.
    Others,
    /// No event: only a cancellation ends the turn.
    Forever,
}

#[derive(Debug, Default)]
pub(super) struct TurnTrack {
    pub(super) ops: VecDeque<TurnOp>,
    pub(super) due: Option<Duration>,
    pub(super) wait: Option<TurnWait>,
}

impl TurnTrack {
    fn new(ops: VecDeque<TurnOp>, now: Duration) -> TurnTrack {
        TurnTrack { ops, due: Some(now + STEP), wait: None }
    }

    /// Inserts operations at the front of the queue.
    fn queue(&mut self, ops: impl IntoIterator<Item = TurnOp>) {
        let mut queue: VecDeque<TurnOp> = ops.into_iter().collect();
        queue.append(&mut self.ops);
        self.ops = queue;
    }
}

/// The agent's work on one prompt.
#[derive(Debug)]
pub(super) struct AgentTurn {
    /// The id of the turn's session.
    pub(super) session: String,
    /// The id of the prompt request.
    request: Value,
    /// The tracks; the main track is the first.
    pub(super) tracks: Vec<TurnTrack>,
    pub(super) calls: Vec<TurnCall>,
    /// The details of calls whose input was delayed, to be sent later.
    pub(super) told_later: Vec<Value>,
    /// The number of requests that the client has not answered.
    pub(super) open: usize,
    /// The end of the grace period of a cancelled turn; `None` if the turn is not cancelled.
    pub(super) cancelled: Option<Duration>,
}

impl AgentTurn {
    /// Starts a turn for a prompt with these strings; `serves` states whether the agent knows commands.
    pub(super) fn new(
        session: &str,
        request: Value,
        texts: &[String],
        now: Duration,
        serves: bool,
    ) -> AgentTurn {
        let tracks = vec![TurnTrack::new(plan(texts, serves), now)];
        let session = session.to_owned();
        let (calls, told_later) = (Vec::new(), Vec::new());
        AgentTurn { session, request, tracks, calls, told_later, open: 0, cancelled: None }
    }

    /// Returns the time of the next operation or of the end of the grace period; `None` if all tracks wait.
    pub(super) fn due(&self) -> Option<Duration> {
        let ready = self.tracks.iter().filter(|track| track.wait.is_none());
        self.cancelled.or_else(|| ready.filter_map(|track| track.due).min())
    }

    /// Resumes a track.
    pub(super) fn wake(&mut self, index: usize, now: Duration) {
        if let Some(track) = self.tracks.get_mut(index) {
            (track.wait, track.due) = (None, Some(now + STEP));
        }
    }

    /// Makes a track wait.
    pub(super) fn hold_up(&mut self, index: usize, wait: TurnWait) {
        if let Some(track) = self.tracks.get_mut(index) {
            track.wait = Some(wait);
        }
    }

    /// Returns the index of the first track that waits for this event.
    pub(super) fn waiting(&self, wait: &TurnWait) -> Option<usize> {
        self.tracks.iter().position(|track| track.wait.as_ref() == Some(wait))
    }

    /// Removes all further operations, so that the turn ends.
    pub(super) fn cut_short(&mut self) {
        self.tracks.truncate(1);
        if let Some(main) = self.tracks.first_mut() {
            main.ops.clear();
            main.wait = None;
        }
    }
}

/// Returns the operations for a prompt: the operations of its script, or an echo of its first string; the other strings
/// are context. A script with a syntax error becomes an error message and a failed turn.
fn plan(texts: &[String], serves: bool) -> VecDeque<TurnOp> {
    let say = |text: String| TurnOp::Step(ScriptStep::Say(vec![text]));
    match script::find(&texts.join("\n\n")) {
        Some(Ok(script)) => script.steps.into_iter().map(TurnOp::Step).collect(),
        Some(Err(error)) => {
            let fail = ScriptStep::Fail { kind: "script".to_owned(), resumable: false };
            VecDeque::from([say(error.to_string()), TurnOp::Step(fail)])
        }
        None => {
            let first = texts.first().map(String::as_str).unwrap_or_default();
            let command = first.strip_prefix('/').filter(|_| serves);
            let command = command.and_then(|rest| rest.strip_prefix(ECHO));
            let first = command.map_or(first, str::trim_start);
            VecDeque::from([TurnOp::Step(ScriptStep::Say(script::pieces(first)))])
        }
    }
}

impl AcpAgent {
    /// Performs every operation that is due.
    pub(super) fn play(&mut self) {
        let now = self.now;
        let due = |turn: &AgentTurn| turn.due().is_some_and(|due| due <= now);
        let due = self.turns.iter().filter(|(_, turn)| due(turn));
        let due: Vec<String> = due.map(|(id, _)| id.clone()).collect();
        for session in due {
            self.with_turn(&session, |agent, turn| {
                if turn.cancelled.is_some() {
                    return agent.finish(turn, "cancelled");
                }
                for index in 0..turn.tracks.len() {
                    if !agent.advance(&session, turn, index) {
                        return false;
                    }
                }
                true
            });
        }
    }

    /// Calls `act` with the turn of a session. The turn ends if `act` returns `false`.
    pub(super) fn with_turn(
        &mut self,
        session: &str,
        act: impl FnOnce(&mut AcpAgent, &mut AgentTurn) -> bool,
    ) {
        let Some(mut turn) = self.turns.remove(session) else {
            return;
        };
        if act(self, &mut turn) {
            self.turns.insert(session.to_owned(), turn);
        }
    }

    /// Performs the next operation of a track, if it is due. Returns whether the turn continues.
    fn advance(&mut self, session: &str, turn: &mut AgentTurn, index: usize) -> bool {
        let now = self.now;
        let Some(track) = turn.tracks.get_mut(index) else {
            return true;
        };
        if track.wait.is_some() || track.due.is_none_or(|due| due > now) {
            return true;
        }
        track.due = Some(now + STEP);
        match track.ops.pop_front() {
            Some(op) => return self.carry_out(session, turn, index, op),
            None if index == 0 => return self.finish(turn, "end_turn"),
            None => track.due = None,
        }
        let alone = turn.tracks.iter().skip(1).all(|track| track.due.is_none());
        if alone && let Some(main) = turn.waiting(&TurnWait::Others) {
            turn.wake(main, now);
        }
        true
    }

    fn carry_out(&mut self, session: &str, turn: &mut AgentTurn, index: usize, op: TurnOp) -> bool {
        match op {
            TurnOp::Step(step) => return self.step(session, turn, index, step),
            TurnOp::Chunk { kind, text } => self.chunk(session, kind, &text),
            TurnOp::Stream(pieces) => {
                self.chunk(session, "agent_message_chunk", &format!("{pieces} "));
                if pieces >= ENDLESS_PIECES {
                    turn.hold_up(index, TurnWait::Forever);
                } else if let Some(track) = turn.tracks.get_mut(index) {
                    track.queue([TurnOp::Stream(pieces + 1)]);
                    track.due = Some(self.now + PIECE);
                }
            }
            TurnOp::Call(step) => {
                let call = self.tell(session, turn, step);
                let careful = |session: &AgentSession| session.settings.mode == CAREFUL;
                let always =
                    self.config.always_asks || self.sessions.get(session).is_some_and(careful);
                let step = turn.calls.get(call).map(|call| &call.step);
                let ask = step.is_some_and(|step| always || step.confirm);
                let held = step.is_some_and(|step| step.input_held);
                let hold = TurnOp::Step(ScriptStep::Hold(script::INPUT.to_owned()));
                let held = held.then_some([hold, TurnOp::Input]).into_iter().flatten();
                let ops = [TurnOp::Permit(call), TurnOp::Run(call), TurnOp::End(call)];
                if let Some(track) = turn.tracks.get_mut(index) {
                    track.queue(
                        held.chain(ops.into_iter().skip(usize::from(!ask))).collect::<Vec<_>>(),
                    );
                }
            }
            TurnOp::Input => self.tell_input(session, turn),
            TurnOp::Permit(call) => self.permit(turn, CallPlace { session, track: index, call }),
            TurnOp::Run(call) => self.run(turn, CallPlace { session, track: index, call }),
            TurnOp::End(call) => self.end(session, turn, call),
        }
        true
    }

    fn step(
        &mut self,
        session: &str,
        turn: &mut AgentTurn,
        index: usize,
        step: ScriptStep,
    ) -> bool {
        let alone = AgentScript { steps: vec![step] };
        let limit = AgentMode::Acp.cannot(&alone);
        let Some(step) = alone.steps.into_iter().next() else {
            return true;
        };
        let now = self.now;
        let Some(track) = turn.tracks.get_mut(index) else {
            return true;
        };
        let chunks = |kind, texts: Vec<String>| {
            texts.into_iter().map(move |text| TurnOp::Chunk { kind, text })
        };
        match step {
            ScriptStep::Say(texts) => track.queue(chunks("agent_message_chunk", texts)),
            ScriptStep::Think(texts) => track.queue(chunks("agent_thought_chunk", texts)),
            ScriptStep::Tool(call) => track.queue([TurnOp::Call(call)]),
            ScriptStep::Parallel(calls) => {
                track.wait = Some(TurnWait::Others);
                let new = |call| TurnTrack::new(VecDeque::from([TurnOp::Call(call)]), now);
                turn.tracks.truncate(1);
                turn.tracks.extend(calls.into_iter().map(new));
            }
            ScriptStep::Wait(delay) => track.due = Some(now + delay),
            ScriptStep::Hold(name) => {
                if !self.take_release(session, &name) {
                    turn.hold_up(index, TurnWait::Release(name));
                }
            }
            ScriptStep::Usage { input, output } => {
                let used = input.saturating_add(output);
                let update =
                    json!({"sessionUpdate": "usage_update", "used": used, "size": CONTEXT});
                self.update(session, update);
            }
            ScriptStep::Title(title) => {
                self.update(
                    session,
                    json!({"sessionUpdate": "session_info_update", "title": title}),
                );
            }
            ScriptStep::Fail { kind, .. } => return self.fail(turn, &kind),
            ScriptStep::Endless => track.queue([TurnOp::Stream(0)]),
            ScriptStep::Recall(words) => {
                let known = self.sessions.get(session).map(|session| &session.given);
                let given: Vec<&str> = known.into_iter().flatten().map(String::as_str).collect();
                let answer = script::recalled(&words, &given);
                track.queue(chunks("agent_message_chunk", vec![answer]));
            }
            ScriptStep::Crash => {
                self.outputs.push_back(AgentOutput::Exit);
                return false;
            }
            ScriptStep::Ask { .. }
            | ScriptStep::Activity(_)
            | ScriptStep::Background { .. }
            | ScriptStep::Canvas { .. }
            | ScriptStep::Act { .. } => {}
        }
        // If a step cannot be played, the reason is reported in the conversation, where a reader of the transcript sees
        // it.
        if let Some(limit) = limit {
            self.chunk(session, "agent_message_chunk", &format!("ahp-agent: {limit}"));
        }
        true
    }

    fn chunk(&mut self, session: &str, kind: &str, text: &str) {
        let content = json!({"type": "text", "text": text});
        self.update(session, json!({"sessionUpdate": kind, "content": content}));
    }

    /// Responds to the prompt and ends the turn. Always returns `false`, which tells [`AcpAgent::with_turn`] that the
    /// turn has ended.
    pub(super) fn finish(&mut self, turn: &AgentTurn, reason: &str) -> bool {
        let cancelled = reason == "cancelled";
        let session = turn.session.as_str();
        if cancelled && self.has(Fault::WorksOn) {
            for call in 0..turn.calls.len() {
                self.run_ahead(turn, CallPlace { session, track: 0, call });
            }
        }
        if self.has(Fault::Elicits) {
            let params = json!({
                "sessionId": session, "mode": "form", "message": "Well?",
                "requestedSchema": {"type": "object", "properties": {}},
            });
            let id = self.fresh();
            self.send(Message::request(id, "elicitation/create", params));
        }
        if cancelled && self.has(Fault::ErrorAfterCancel) {
            self.refuse(turn.request.clone(), -32603, "aborted");
            return false;
        }
        let reason = match cancelled {
            true if self.has(Fault::EndTurnAfterCancel) => "end_turn",
            false if self.has(Fault::SaysCancelled) => "cancelled",
            _ => reason,
        };
        self.respond(turn.request.clone(), json!({"stopReason": reason}));
        if cancelled && self.has(Fault::LateTexts) {
            let content = json!({"type": "text", "text": "and so on"});
            self.update(
                session,
                json!({"sessionUpdate": "agent_message_chunk", "content": content}),
            );
        }
        if cancelled && self.has(Fault::AsksLate) {
            self.ask_outside(session);
        }
        if cancelled && self.has(Fault::LateUpdates) {
            for call in &turn.calls {
                let update = json!({
                    "sessionUpdate": "tool_call_update", "toolCallId": (call.id.as_str()),
                    "status": "failed",
                });
                self.update(session, update);
            }
        }
        false
    }

    /// Sends a permission request that does not belong to a turn.
    pub(super) fn ask_outside(&mut self, session: &str) {
        let call = json!({"toolCallId": "outside", "title": "Outside"});
        let options = json!([
            {"optionId": "allow", "name": "Allow", "kind": "allow_once"},
            {"optionId": "reject", "name": "Reject", "kind": "reject_once"},
        ]);
        let params = json!({"sessionId": session, "toolCall": call, "options": options});
        let id = self.fresh();
        self.send(Message::request(id, "session/request_permission", params));
    }

    fn fail(&mut self, turn: &AgentTurn, kind: &str) -> bool {
        if let Some((_, reason)) = STOPS.iter().find(|(known, _)| *known == kind) {
            return self.finish(turn, reason);
        }
        let code = if kind == "auth" { -32000 } else { -32603 };
        let (why, data) = (format!("the agent failed: {kind}"), json!({"kind": kind}));
        self.send(Message::failure(turn.request.clone(), code, &why, data));
        false
    }

    /// Cancels the turn of a session.
    pub(super) fn cancel_turn(&mut self, session: &str) {
        if self.has(Fault::IgnoresCancel) {
            return;
        }
        self.with_turn(session, |agent, turn| {
            if turn.cancelled.is_some() {
                return true;
            }
            turn.tracks.iter_mut().for_each(|track| track.ops.clear());
            agent.abandon(session, turn);
            for token in agent.running(turn) {
                agent.effects.remove(&token);
                if !agent.has(Fault::RunsOn) {
                    agent.outputs.push_back(AgentOutput::Stop(token));
                }
            }
            if turn.open == 0 && !agent.has(Fault::WorksOn) {
                return agent.finish(turn, "cancelled");
            }
            turn.cancelled = Some(agent.now + GRACE);
            true
        });
    }

    /// Counts a response of the client to a request of a turn. Returns whether the turn continues.
    pub(super) fn heard(&mut self, turn: &mut AgentTurn) -> bool {
        turn.open = turn.open.saturating_sub(1);
        if turn.cancelled.is_some() && turn.open == 0 && !self.has(Fault::WorksOn) {
            return self.finish(turn, "cancelled");
        }
        true
    }

    fn running(&self, turn: &AgentTurn) -> Vec<u64> {
        let effect = |track: &TurnTrack| match track.wait {
            Some(TurnWait::Effect(token)) => Some(token),
            _ => None,
        };
        turn.tracks.iter().filter_map(effect).collect()
    }

    /// Consumes a stored release for a hold of a session. Returns whether there was a stored release.
    fn take_release(&mut self, session: &str, name: &str) -> bool {
        let case = self.sessions.get(session).map_or("", |session| session.case.as_str());
        let fits =
            |(whose, what): &(String, String)| what == name && (whose == case || whose.is_empty());
        let at = self.releases.iter().position(fits);
        at.and_then(|at| self.releases.remove(at)).is_some()
    }

    /// Resumes the first turn that waits at a hold with this name. An empty `case` matches all scenarios.
    pub(super) fn let_go(&mut self, case: &str, name: &str) -> bool {
        let (now, wait) = (self.now, TurnWait::Release(name.to_owned()));
        let fits = |session: &String| {
            case.is_empty() || self.sessions.get(session).is_some_and(|it| it.case == case)
        };
        let held = self.turns.iter_mut().find_map(|(session, turn)| {
            Some((turn.waiting(&wait).filter(|_| fits(session))?, turn))
        });
        let Some((index, turn)) = held else {
            return false;
        };
        turn.wake(index, now);
        true
    }
}
