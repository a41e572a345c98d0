//! Checks prompts and their ends, cancels, and the work that continues after a cancel.
//!
//! Knows: prompts. Never knows: the content of calls.

use std::time::Duration;

use crate::oracle::members::{list, text};
use crate::transcript::{ClosingSide, SeenFrame};
use crate::verdict::Weight;
use crate::wire::json::Value;
use crate::wire::message::Message;

use super::catalogue::Rule;
use super::state::{AgentSessionState, EntryPosition, OpenAgentRequest, PromptTurn, TurnCancel};
use super::{AgentFold, FindingSink, key};

/// The time after a cancel within which an answer may arrive that was already in transit when the cancel was sent.
const ON_ITS_WAY: Duration = Duration::from_millis(250);
/// The time for which work may continue after a cancel.
const STOPPING: Duration = Duration::from_millis(500);
/// The divisor for the duration of the agent's handshake: the limits [`ON_ITS_WAY`] and [`STOPPING`] are at least a
/// quarter of this duration, because everything takes longer on a busy machine. The time of the agent's quickest answer
/// is added to each limit, because the cancel and the answer may be in transit for that time.
const PART: u32 = 4;
/// Upper bound for the calls of the model stand-in that one turn remembers.
const MAX_WANTED: usize = 1_000;

impl AgentFold {
    /// Starts a turn with the client's prompt.
    pub(super) fn prompted(&mut self, message: &Message) {
        let id = key(message.id());
        let name = text(message.params(), "sessionId").unwrap_or_default();
        let Some(conn) = self.conn().filter(|conn| conn.has_session(name)) else { return };
        let Some(session) = conn.session(name) else { return };
        session.turns += 1;
        session.cancelled = None;
        session.loaded = None;
        if let Some(turn) = &mut session.turn {
            (turn.crowded, turn.cancel) = (true, None);
            turn.beside += 1;
            return;
        }
        session.turn = Some(PromptTurn { id, number: session.turns, ..PromptTurn::default() });
    }

    /// Records that the client cancelled the session's turn.
    pub(super) fn cancel(&mut self, params: &Value) {
        let now = self.now;
        let name = text(params, "sessionId").unwrap_or_default();
        let Some(conn) = self.conn() else { return };
        let (took, quickest) = (conn.took, conn.quickest.unwrap_or_default());
        let waiting = conn.theirs.values().any(|asked| asked.session == name && !asked.withdrawn);
        let cancel = TurnCancel { line: now.line, at: now.at, waiting, took, quickest };
        let turn = conn.sessions.get_mut(name).and_then(|session| session.turn.as_mut());
        if turn.as_ref().is_some_and(|turn| turn.crowded) {
            return;
        }
        if let Some(turn) = turn {
            turn.cancel.get_or_insert(cancel);
        }
        for (_, asked) in conn.ours.iter_mut() {
            if asked.method == "session/prompt" && asked.session == name {
                asked.cancel.get_or_insert(cancel);
            }
        }
    }

    /// Records that the client cancelled a request, if the request is a prompt.
    pub(super) fn cancel_request(&mut self, id: &Value) {
        let id = id.to_text();
        let Some(conn) = self.conn() else { return };
        for (_, session) in conn.sessions.iter_mut() {
            if let Some(turn) = session.turn.as_mut().filter(|turn| turn.id == id) {
                turn.withdrawn = true;
            }
        }
    }

    /// Ends a turn with the answer to its prompt, and judges the end.
    pub(super) fn ended(
        &mut self,
        asked: &OpenAgentRequest,
        message: &Message,
        out: &mut FindingSink,
    ) {
        let (line, at) = (self.now.line, self.now.at);
        let Some(conn) = self.conn() else { return };
        let open: Vec<u64> = conn
            .theirs
            .values()
            .filter(|theirs| theirs.session == asked.session && !theirs.withdrawn)
            .filter(|theirs| theirs.method == "session/request_permission")
            .map(|theirs| theirs.line)
            .collect();
        let Some(session) = conn.sessions.get_mut(&asked.session) else { return };
        let Some(mut turn) = session.turn.take() else { return };
        session.ended = at;
        if turn.crowded {
            if let Some(left) = turn.beside.checked_sub(1) {
                turn.beside = left;
                session.turn = Some(turn);
            }
            return;
        }
        let reason = message.result().and_then(|result| text(result, "stopReason"));
        // A cancelled turn is not judged, because the client has to answer the open requests after a cancel.
        if turn.asked && !turn.is_cancelled() {
            out.seen(Rule::NothingOpen);
            if let Some(first) = open.first() {
                let message = "expected the turn to end only after its requests for permission \
                               were answered, found one unanswered";
                out.broken(Rule::NothingOpen, message.to_owned(), &[*first, line]);
            }
        }
        match turn.cancel {
            Some(cancel) => {
                cancelled(&turn, cancel, message, (at, line), out);
                session.cancelled = Some(line);
                let calls = session.calls.iter_mut().map(|(_, call)| call);
                let own = calls.filter(|call| call.turn == turn.number);
                own.for_each(|call| call.over = Some(line));
            }
            // `$/cancel_request` cancelled the prompt. The specification does not say how such a turn ends.
            None if turn.withdrawn => {}
            None => {
                out.seen(Rule::CancelledOnlyThen);
                if reason == Some("cancelled") {
                    let message = "expected the stop reason `cancelled` only after a cancel, found \
                                   it without one";
                    out.broken(Rule::CancelledOnlyThen, message.to_owned(), &[asked.line, line]);
                }
                session.calls_ended(&turn, line, out);
            }
        }
        reported(&turn, line, out);
        self.turn_gated(out);
    }

    /// Judges a prompt that is still open when the connection ends. `late` decides whether the answer is late, given
    /// the time at which the agent could begin to work on the prompt.
    pub(super) fn unfinished(
        &self,
        asked: &OpenAgentRequest,
        by: ClosingSide,
        late: impl Fn(Duration) -> bool,
        out: &mut FindingSink,
    ) {
        let Some(cancel) = asked.cancel else { return };
        if by == ClosingSide::Host || late(cancel.at) {
            out.seen(Rule::CancelAnswered);
            let message =
                "expected an answer to the prompt that was cancelled, found none".to_owned();
            out.broken(Rule::CancelAnswered, message, &[asked.line, cancel.line]);
        }
    }

    /// Judges a report of a call after its turn was cancelled and answered.
    pub(super) fn late(&mut self, session: &str, id: &str, new: bool, out: &mut FindingSink) {
        let line = self.now.line;
        let Some(session) = self.conn().and_then(|conn| conn.sessions.get(session)) else { return };
        let over = session.calls.get(id).and_then(|call| call.over);
        let outside = session.cancelled.filter(|_| new && session.turn.is_none());
        if let Some(answered) = over.or(outside) {
            let message = format!(
                "expected no report of a call after the cancelled prompt was answered, found one \
                 of `{id}`"
            );
            out.broken(Rule::NoLateUpdates, message, &[answered, line]);
        }
    }

    /// Judges a message chunk after its turn was cancelled and answered. A chunk after the deadline may belong
    /// to something else.
    pub(super) fn late_text(&mut self, session: &str, out: &mut FindingSink) {
        let now = self.now;
        let soon = self.deadline;
        let Some(session) = self.conn().and_then(|conn| conn.sessions.get(session)) else { return };
        let over = session.cancelled.filter(|_| session.turn.is_none());
        if let Some(answered) = over.filter(|_| now.at <= session.ended + soon) {
            let message =
                "expected no content after the cancelled prompt was answered, found a chunk";
            out.broken(Rule::NoLateUpdates, message.to_owned(), &[answered, now.line]);
        }
    }

    /// Judges a request that shows that the agent is still at work.
    pub(super) fn works(&self, method: &str, params: &Value, out: &mut FindingSink) {
        const WORK: [&str; 4] = [
            "fs/read_text_file",
            "fs/write_text_file",
            "terminal/create",
            "session/request_permission",
        ];
        let EntryPosition { line, at, .. } = self.now;
        let name = text(params, "sessionId").unwrap_or_default();
        let session = self.here().and_then(|conn| conn.sessions.get(name));
        let Some(session) = session.filter(|_| WORK.contains(&method)) else { return };
        let what = format!("the agent requested `{method}`");
        match (&session.turn, session.cancelled) {
            (Some(turn), _) => {
                if let Some(cancel) = turn.cancel {
                    works_on(cancel, at, line, &what, out);
                }
            }
            (None, Some(answered)) if at <= session.ended + self.deadline => {
                let message = format!(
                    "expected the agent to stop working when the cancelled turn ended, found that \
                     {what}"
                );
                out.broken(Rule::StopsWork, message, &[answered, line]);
            }
            _ => {}
        }
    }

    /// Judges and records a record of the model stand-in: a request of the agent, or the end of an answer.
    pub(super) fn model(&mut self, seen: &SeenFrame, out: &mut FindingSink) {
        self.witnessed = true;
        let (line, at) = (self.now.line, self.now.at);
        let Some(record) = seen.message().map(Message::value) else { return };
        // A request without tools is an auxiliary request, for example for a title.
        if record.get("ended").is_some() || list(record, "tools").is_empty() {
            return;
        }
        // If several turns are open, it is unknown to which turn the request belongs.
        let open = self.turns_open();
        let Some(conn) = self.busy().filter(|_| open <= 1) else { return };
        out.counts(conn.shook);
        for (_, session) in conn.sessions.iter_mut() {
            let Some(turn) = &mut session.turn else {
                if let Some(answered) = session.cancelled.filter(|_| open == 0) {
                    let message = "expected no request to the model after the cancelled turn \
                                   ended, found one";
                    out.broken(Rule::StopsWork, message.to_owned(), &[answered, line]);
                }
                continue;
            };
            if let Some(cancel) = turn.cancel {
                works_on(cancel, at, line, "the agent sent a request to the model", out);
            }
            turn.witness = line;
            let calls = list(record, "says").iter().filter_map(|said| text(said, "id"));
            for id in calls {
                if turn.wanted.len() < MAX_WANTED {
                    turn.wanted.insert(id.to_owned());
                }
            }
        }
    }
}

/// Judges work that the agent starts after a cancel.
pub(super) fn works_on(
    cancel: TurnCancel,
    at: Duration,
    line: u64,
    what: &str,
    out: &mut FindingSink,
) {
    if at > cancel.at + (STOPPING + cancel.quickest).max(cancel.took / PART) {
        out.seen(Rule::StopsWork);
        let message =
            format!("expected the agent to stop working after a cancel, found that {what}");
        out.broken(Rule::StopsWork, message, &[cancel.line, line]);
    }
}

/// Judges the answer to a prompt that was cancelled.
fn cancelled(
    turn: &PromptTurn,
    cancel: TurnCancel,
    message: &Message,
    (at, line): (Duration, u64),
    out: &mut FindingSink,
) {
    let lines = [cancel.line, line];
    out.seen(Rule::CancelAnswered);
    out.seen(Rule::NoLateUpdates);
    if turn.witness > 0 {
        out.seen(Rule::StopsWork);
    }
    let sure =
        cancel.waiting || at > cancel.at + (ON_ITS_WAY + cancel.quickest).max(cancel.took / PART);
    let weight = if sure { Weight::Must } else { Weight::Note };
    if let Some(error) = message.error() {
        let asked_for = turn.withdrawn && error["code"] == -32800;
        out.seen(Rule::NoAbortErrors);
        if !asked_for {
            let text = format!(
                "expected the stop reason `cancelled` after a cancel, found the error {}",
                error.to_text()
            );
            out.weaker(Rule::NoAbortErrors, weight, text, &lines);
        }
        return;
    }
    let reason = message.result().and_then(|result| text(result, "stopReason"));
    out.seen(Rule::NoAbortErrors);
    if reason == Some("cancelled") {
        out.seen(Rule::Cancelled);
    } else {
        let reason = reason.unwrap_or("no stop reason");
        if sure {
            out.seen(Rule::Cancelled);
        }
        let text = format!("expected the stop reason `cancelled` after a cancel, found `{reason}`");
        out.weaker(Rule::Cancelled, weight, text, &lines);
    }
}

/// Judges, at the end of a turn, whether the agent has reported every call that was made.
fn reported(turn: &PromptTurn, line: u64, out: &mut FindingSink) {
    let made = (turn.wanted.len() as u64).max(turn.called);
    if made == 0 {
        return;
    }
    out.seen(Rule::Reported);
    if turn.reported < made {
        let message =
            format!("expected reports of {made} tool calls in the turn, found {}", turn.reported);
        out.broken(Rule::Reported, message, &[turn.witness, line]);
    }
}

impl AgentSessionState {
    /// Judges, at the end of a turn, whether its calls have ended.
    fn calls_ended(&self, turn: &PromptTurn, line: u64, out: &mut FindingSink) {
        for (id, call) in self.calls.iter().filter(|(_, call)| call.turn == turn.number) {
            out.seen(Rule::CallsEnd);
            if call.by_update && !call.older && !call.titled {
                let message = format!(
                    "expected a title in some report of the call `{id}`, found none in its turn"
                );
                out.broken(Rule::KnownCalls, message, &[call.line, line]);
            }
            if !call.stage.is_final() {
                let message = format!(
                    "expected the call `{id}` to have ended with its turn, found it {}",
                    call.stage.word()
                );
                out.broken(Rule::CallsEnd, message, &[call.line, line]);
            }
        }
    }
}
