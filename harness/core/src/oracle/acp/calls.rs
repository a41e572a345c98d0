//! Checks the agent's reports of tool calls: which calls the agent reports, and the stages, content, file locations and
//! terminals of each call.
//!
//! Knows: calls. Never knows: prompts, except the turn of a call.

use std::time::Duration;

use crate::oracle::members::{given, list, text};
use crate::verdict::Weight;
use crate::wire::json::Value;
use crate::wire::message::Message;

use super::catalogue::Rule;
use super::state::{
    AgentLinkState, AgentSessionState, CallStage, ClientTerminal, OpenAgentRequest, PromptTurn,
    ReportedCall,
};
use super::{AgentFold, FindingSink};

/// The kind of message that names a call.
#[derive(Clone, Copy, Eq, PartialEq)]
enum CallName {
    First,
    Update,
    Permission,
}

/// The time that an agent may take to release the terminals of a turn after the turn has ended. The specification
/// states no limit.
const TIDYING: Duration = Duration::from_secs(1);

impl AgentFold {
    /// Judges and records a `session/update`.
    pub(super) fn updated(&mut self, params: &Value, out: &mut FindingSink) {
        let update = &params["update"];
        let session = params["sessionId"].as_str().unwrap_or_default();
        self.session_known(params, out);
        self.update_gated(update, out);
        self.offer_told(session, update, out);
        if self.told_again(session, update, out) {
            return self.held(update, out);
        }
        let named = match text(update, "sessionUpdate") {
            Some("tool_call") => CallName::First,
            Some("tool_call_update") => CallName::Update,
            Some("agent_message_chunk" | "agent_thought_chunk") => {
                return self.late_text(session, out);
            }
            _ => return,
        };
        if let Some(id) = text(update, "toolCallId") {
            self.late(session, id, named == CallName::First, out);
            self.terminals_shown(session, id, update, out);
            self.call(session, id, update, named, out);
        }
        self.held(update, out);
        self.tools_gated(out);
    }

    /// Reads the call within a permission request as an update of the call.
    pub(super) fn asked_about(&mut self, session: &str, call: &Value, out: &mut FindingSink) {
        if let Some(id) = text(call, "toolCallId") {
            self.terminals_shown(session, id, call, out);
            self.call(session, id, call, CallName::Permission, out);
        }
        self.held(call, out);
    }

    fn call(
        &mut self,
        session: &str,
        id: &str,
        update: &Value,
        named: CallName,
        out: &mut FindingSink,
    ) {
        let line = self.now.line;
        let Some(conn) = self.conn() else { return };
        let whole = conn.whole;
        let Some(session) = conn.session(session) else { return };
        // The first report of a call may follow the call's permission request.
        let known = session.calls.get(id).filter(|call| call.told || named != CallName::First);
        let known = known.map(|call| call.line);
        match (named, known) {
            (CallName::First, Some(first)) => {
                let message = format!("expected an unused id for a new call, found `{id}` again");
                out.broken(Rule::UniqueCalls, message, &[first, line]);
            }
            (CallName::First, None) => out.seen(Rule::UniqueCalls),
            (CallName::Update | CallName::Permission, None) if !whole => {}
            (CallName::Update, None) => {
                let message = format!(
                    "expected an update of a call that was reported before, found one of `{id}`"
                );
                out.broken(Rule::KnownCalls, message, &[line]);
            }
            (CallName::Permission, None) => {
                let message = format!(
                    "expected the call `{id}` to be reported before permission for it is \
                     requested, found no report"
                );
                out.broken(Rule::FirstMention, message, &[line]);
            }
            (CallName::Update, Some(_)) => out.seen(Rule::KnownCalls),
            (CallName::Permission, Some(_)) => out.seen(Rule::FirstMention),
        }
        let stage = text(update, "status").and_then(CallStage::of);
        if known.is_none() || named == CallName::First {
            session.report(id, update, stage, line, out);
            if let Some(call) = session.calls.get_mut(id) {
                call.by_update = named != CallName::First;
                call.older = call.by_update && !whole;
            }
            session.told(id, named);
        } else {
            session.told(id, named);
            session.advance(id, update, stage, named, line, out);
        }
    }

    /// Judges the file locations and the content in a report of a tool call.
    fn held(&mut self, update: &Value, out: &mut FindingSink) {
        let line = self.now.line;
        for place in list(update, "locations") {
            absolute(text(place, "path"), "a location", line, out);
            from_one(place.get("line"), line, out);
        }
        for item in list(update, "content") {
            if text(item, "type") == Some("diff") {
                absolute(text(item, "path"), "a diff", line, out);
            }
        }
    }

    /// Judges the terminals in the content of an update.
    fn terminals_shown(&mut self, session: &str, id: &str, update: &Value, out: &mut FindingSink) {
        let line = self.now.line;
        let Some(conn) = self.conn() else { return };
        let call = conn.sessions.get(session).and_then(|session| session.calls.get(id));
        for item in
            list(update, "content").iter().filter(|item| text(item, "type") == Some("terminal"))
        {
            let name = text(item, "terminalId").unwrap_or_default();
            match conn.terminals.get_mut(name) {
                None if !conn.whole => {}
                known => shown(known, name, call.is_some_and(|call| call.shows(name)), line, out),
            }
        }
    }

    /// Judges the paths in a request of the agent.
    pub(super) fn paths_asked(&self, method: &str, params: &Value, out: &mut FindingSink) {
        let line = self.now.line;
        match method {
            "fs/read_text_file" | "fs/write_text_file" => {
                absolute(text(params, "path"), &format!("`{method}`"), line, out);
                from_one(params.get("line"), line, out);
            }
            "terminal/create" if given(params, "cwd").is_some() => {
                absolute(text(params, "cwd"), "`cwd` of `terminal/create`", line, out);
            }
            _ => {}
        }
    }

    /// Records a terminal that the client created.
    pub(super) fn terminal_made(&mut self, asked: &OpenAgentRequest, message: &Message) {
        let id = message.result().and_then(|result| text(result, "terminalId"));
        let Some(conn) = self.conn() else { return };
        let turn = conn.session(&asked.session).map_or(0, |session| session.number());
        let terminal = ClientTerminal {
            line: asked.line,
            session: asked.session.clone(),
            turn,
            embedded: false,
            released: None,
            shown_at_release: false,
        };
        if let Some(id) = id {
            conn.made(id, terminal);
        }
    }

    /// Judges a request of the agent about an existing terminal.
    pub(super) fn terminal_named(&mut self, method: &str, params: &Value, out: &mut FindingSink) {
        let line = self.now.line;
        let id = text(params, "terminalId").unwrap_or_default();
        let Some(conn) = self.conn().filter(|conn| conn.whole) else { return };
        out.seen(Rule::TerminalsThere);
        let (found, lines) = match conn.terminals.get(id).map(|terminal| terminal.released) {
            Some(None) => return,
            Some(Some(released)) => ("one that was released", vec![released, line]),
            None => ("one that the client did not create", vec![line]),
        };
        let message =
            format!("expected `{method}` to name an existing terminal, found {found}: `{id}`");
        out.broken(Rule::TerminalsThere, message, &lines);
    }

    /// Records the release of a terminal.
    pub(super) fn terminal_released(&mut self, params: &Value) {
        let line = self.now.line;
        let id = text(params, "terminalId").unwrap_or_default();
        let Some(conn) = self.conn() else { return };
        let mut calls = conn.sessions.values().flat_map(|session| session.calls.values());
        let shown = calls.any(|call| call.shows(id));
        if let Some(terminal) = conn.terminals.get_mut(id).filter(|it| it.released.is_none()) {
            terminal.released = Some(line);
            terminal.shown_at_release = shown;
        }
    }

    /// Judges, when the connection ends, whether the terminals of finished turns were released.
    pub(super) fn unreleased(&self, conn: &AgentLinkState, out: &mut FindingSink) {
        for (id, terminal) in &conn.terminals {
            let session = conn.sessions.get(&terminal.session);
            let on = session.and_then(|session| session.turn.as_ref());
            if on.is_some_and(|turn| turn.number == terminal.turn) {
                continue;
            }
            let ended = session.map_or(Duration::ZERO, |session| session.ended);
            if terminal.released.is_none() && self.now.at < ended + TIDYING {
                continue;
            }
            out.seen(Rule::Released);
            if terminal.released.is_none() {
                let message = format!(
                    "expected the agent to release the terminal `{id}`, found it unreleased when \
                     the conversation ended"
                );
                let sure = self.now.at >= ended + self.deadline;
                let weight = if sure { Weight::Must } else { Weight::Note };
                out.weaker(Rule::Released, weight, message, &[terminal.line]);
            }
        }
    }
}

impl AgentSessionState {
    /// Records the first report of a call.
    fn report(
        &mut self,
        id: &str,
        update: &Value,
        stage: Option<CallStage>,
        line: u64,
        out: &mut FindingSink,
    ) {
        let stage = stage.unwrap_or(CallStage::Pending);
        if stage == CallStage::Completed {
            let message = format!(
                "expected the call `{id}` to be in progress before it is completed, found it \
                 completed in its first report"
            );
            out.weaker(Rule::InProgress, Weight::Note, message, &[line]);
        }
        let turn = self.number();
        let asked = self.calls.get(id).filter(|call| !call.told && call.turn == turn);
        let (waits, denied) = asked.map(|call| (call.waits, call.denied)).unwrap_or_default();
        let counted = asked.is_some_and(|call| call.counted);
        let leaf = asked.map(|call| call.leaf.clone()).unwrap_or_default();
        let ran = stage == CallStage::InProgress;
        let mut call = ReportedCall {
            turn,
            line,
            stage,
            ran,
            leaf,
            waits,
            denied,
            counted,
            ..ReportedCall::default()
        };
        call.fold(update);
        self.begin(id, call);
    }

    /// Marks a call as reported. A permission request alone is not a report.
    fn told(&mut self, id: &str, named: CallName) {
        let call = self.calls.get_mut(id).filter(|_| named != CallName::Permission);
        let Some(call) = call else { return };
        call.told = true;
        if let (false, Some(turn)) = (call.counted, &mut self.turn) {
            call.counted = true;
            turn.reported += 1;
        }
    }

    /// Judges and records a further report of a known call.
    fn advance(
        &mut self,
        id: &str,
        update: &Value,
        stage: Option<CallStage>,
        named: CallName,
        line: u64,
        out: &mut FindingSink,
    ) {
        let Some(call) = self.calls.get_mut(id) else { return };
        if let (Some(name), Some(known)) = (text(update, "name"), &call.name) {
            out.seen(Rule::NameKept);
            if name != known {
                let message = format!(
                    "expected the name `{known}` of the call `{id}` not to change, found `{name}`"
                );
                out.broken(Rule::NameKept, message, &[call.line, line]);
            }
        }
        let name = call.name.take();
        call.fold(update);
        // Later names are compared with the first name, so each change causes one finding.
        call.name = name.or(call.name.take());
        if let (Some(asked), CallName::Update) = (call.waits, named) {
            out.seen(Rule::Waits);
            if let Some(stage) =
                stage.filter(|stage| *stage != CallStage::Pending && *stage != CallStage::Failed)
            {
                let message = format!(
                    "expected the call `{id}` to stay pending while permission for it is \
                     outstanding, found it {}",
                    stage.word()
                );
                out.broken(Rule::Waits, message, &[asked, line]);
            }
        }
        let Some(stage) = stage else { return };
        out.seen(Rule::Transitions);
        if !call.stage.leads_to(stage) {
            let message = format!(
                "expected the call `{id}` to stay {}, found it {}",
                call.stage.word(),
                stage.word()
            );
            out.broken(Rule::Transitions, message, &[call.line, line]);
        }
        // A call that was denied or cancelled before it ran never runs. The specification does not say with which
        // status such a call is reported.
        let stopped =
            call.denied.is_some() || self.turn.as_ref().is_some_and(PromptTurn::is_cancelled);
        let judged = call.ran || !(stopped || call.older);
        if judged && stage == CallStage::Completed && call.stage != CallStage::Completed {
            out.seen(Rule::InProgress);
            if !call.ran {
                let message = format!(
                    "expected the call `{id}` to be in progress before it is completed, found it \
                     pending"
                );
                out.broken(Rule::InProgress, message, &[call.line, line]);
            }
        }
        call.ran |= stage == CallStage::InProgress;
        call.stage = stage;
    }
}

/// Judges a terminal in the content of a call. `stays` states whether the earlier content already contained the
/// terminal.
fn shown(
    known: Option<&mut ClientTerminal>,
    id: &str,
    stays: bool,
    line: u64,
    out: &mut FindingSink,
) {
    out.seen(Rule::KnownTerminals);
    let Some(terminal) = known else {
        let message = format!("expected a terminal that the client created, found `{id}`");
        return out.broken(Rule::KnownTerminals, message, &[line]);
    };
    out.seen(Rule::EmbedFirst);
    if let Some(released) = terminal.released.filter(|_| !terminal.embedded) {
        let message = format!(
            "expected the terminal `{id}` to be in the content of a call before its release, found \
             it there only afterwards"
        );
        out.broken(Rule::EmbedFirst, message, &[released, line]);
    } else if let Some(released) = terminal.released
        && !(terminal.shown_at_release || stays)
    {
        let message = format!(
            "expected the terminal `{id}` to be in the content of a call at its release, found it \
             there only before and afterwards"
        );
        out.weaker(Rule::EmbedFirst, Weight::Note, message, &[released, line]);
    }
    terminal.embedded = true;
}

/// Judges whether a path is absolute by the rules of Unix or of Windows, on every platform of the harness.
fn absolute(path: Option<&str>, what: &str, line: u64, out: &mut FindingSink) {
    let Some(path) = path else { return };
    out.seen(Rule::AbsolutePaths);
    let bytes = path.as_bytes();
    let drive = bytes.first().is_some_and(u8::is_ascii_alphabetic) && bytes.get(1) == Some(&b':');
    if !path.starts_with(['/', '\\']) && !drive {
        let message = format!("expected an absolute path in {what}, found `{path}`");
        out.broken(Rule::AbsolutePaths, message, &[line]);
    }
}

fn from_one(number: Option<&Value>, line: u64, out: &mut FindingSink) {
    let Some(number) = number.and_then(Value::as_u64) else { return };
    out.seen(Rule::LinesFromOne);
    if number == 0 {
        let message = "expected a line number of 1 or more, found 0".to_owned();
        out.broken(Rule::LinesFromOne, message, &[line]);
    }
}
