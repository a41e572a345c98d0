//! The part of a case in which a client serves an agent: the client answers permission requests as the steps say, and
//! handles requests for files and commands with errands (tasks outside the conversation).
//!
//! Knows: requests of agents. Never knows: the expectations of scenarios.
//!
//! Start at [`ScenarioCase::serve`].

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use litemap::LiteMap;

use crate::peer::errand::{ClientErrand, KILLED};
use crate::peer::reports::ToolCallReports;
use crate::peer::serving::{AgentOffers, AgentServing, ServingDeed};
use crate::peer::texts::ConversationTexts;
use crate::scenario::bind::ValueTemplate;
use crate::scenario::parse::{AUTH, SERVER_URL, WORK};
use crate::scenario::pattern::{ValuePattern, brief};
use crate::transcript::{BelowEvent, SeenFrame};
use crate::wire::json::{Value, json};
use crate::wire::message::Message;
use crate::wire::version::ProtocolStandard;

use super::agent_steps;
use super::case::{DriverOutput, ScenarioCase, TaskWait, WaitProgress};
use super::case_peers::CasePeer;
use super::side::AgentSide;
use super::task::{PeerId, PermissionReply, StepTask};

/// The maximum number of pending requests for permission.
const MAX_ASKING: usize = 1_000;
/// The maximum number of file contents that are kept until a step reads them.
const MAX_LOOKS: usize = 100;
/// The maximum number of calls of the harness's own tool that are kept; later calls are only counted.
const MAX_CALLS: usize = 100;
/// The first token of the errands with which `disk` steps read files. It is far larger than the tokens of the clients'
/// own errands.
const LOOKS: u64 = 1 << 48;
/// The time limit of a wait after the agent started slowly, as a multiple of the time that the agent needed to start.
const SLOWER: u32 = 3;
/// The maximum of a time limit that was extended after a slow start, as a multiple of the usual limit.
const SLOWEST: u32 = 4;
/// How long a case waits for answers to the prompts that it cancels when it ends.
const FAREWELL: Duration = Duration::from_secs(1);
/// The request with which an agent releases a terminal. The agent may send it at any time after a turn, because the
/// protocol sets no deadline.
const TIDIES: &str = "terminal/release";
/// The interval at which a file is read again until it has the expected content.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The state with which a client serves the requests of an agent.
#[derive(Debug, Default)]
pub(super) struct AgentClientSide {
    /// The time at which the client's connection was opened.
    opened: Duration,
    serving: AgentServing,
    asking: VecDeque<WaitingPermission>,
    /// The prompts without an answer, by request identifier. The value is the session.
    prompts: LiteMap<u64, Value>,
    /// The messages of each session since the client connected, joined from their chunks.
    texts: ConversationTexts,
    /// The reports of tool calls that the client received.
    reports: ToolCallReports,
}

/// A pending request for permission.
#[derive(Debug)]
struct WaitingPermission {
    id: Value,
    options: Value,
    line: u64,
}

/// A check of a file in the agent's folder.
#[derive(Clone, Debug)]
pub(super) struct FileLook {
    /// The file's absolute path.
    pub(super) path: String,
    /// The pattern for the file's content.
    pub(super) text: ValuePattern,
    /// The time until which the file is read again if its content does not match; `None` for a single read.
    pub(super) until: Option<Duration>,
}

impl FileLook {
    /// Returns whether the file is read again if its content does not match at the time `at`.
    pub(super) fn goes_on(&self, at: Duration) -> bool {
        self.until.is_some_and(|until| at < until)
    }
}

/// The events that the case observed outside the conversation.
#[derive(Debug, Default)]
pub(super) struct CaseWitness {
    /// The time limit of a wait before it was extended because of a slow start of the agent.
    usual: Option<Duration>,
    /// The reports of the first calls of the harness's own tool, each with its line in the transcript.
    calls: Vec<(u64, Value)>,
    called: u64,
    looks: LiteMap<u64, Value>,
    serial: u64,
}

impl CaseWitness {
    /// Returns the number of calls of the harness's own tool.
    pub(super) fn called(&self) -> u64 {
        self.called
    }

    /// Returns the reports of the first calls of the harness's own tool, each with its line in the transcript.
    pub(super) fn calls(&self) -> &[(u64, Value)] {
        &self.calls
    }
}

impl AgentClientSide {
    /// Creates a client's state for serving the agent; `number` distinguishes the clients' tokens.
    pub(super) fn of(side: &AgentSide, number: usize) -> AgentClientSide {
        let first = u64::try_from(number).unwrap_or_default() << 32;
        AgentClientSide {
            serving: AgentServing::new(&side.work, first),
            ..AgentClientSide::default()
        }
    }

    /// Records the time at which the client's connection was opened.
    pub(super) fn opened(&mut self, now: Duration) {
        self.opened = now;
        self.texts = ConversationTexts::default();
        self.reports = ToolCallReports::default();
    }

    /// Takes what a notification of the agent says about messages and tool calls.
    pub(super) fn hear(&mut self, message: &Message) {
        self.reports.take(message);
        self.texts.take(message);
    }

    /// Returns the messages of a session since the client connected, joined from their chunks.
    pub(super) fn texts_of(&self, session: &Value) -> Value {
        self.texts.of(session)
    }

    /// Sets the capabilities that the client offers from now on.
    pub(super) fn offer(&mut self, offers: AgentOffers) {
        self.serving.offer(offers);
    }
}

impl ScenarioCase {
    /// Binds the names that scenarios use for the tested agent's folder and authentication method.
    pub(super) fn bind_side(&mut self) {
        let side = &self.setup().side;
        let (work, auth) = (json!((side.work.as_str())), json!((side.auth.clone())));
        let server = side.server_url.as_ref().map(|url| json!(url.as_str()));
        self.names.set(WORK, work);
        self.names.set(AUTH, auth);
        if let Some(server) = server {
            self.names.set(SERVER_URL, server);
        }
    }

    /// Returns whether the case tests an agent (ACP).
    pub(super) fn is_acp(&self) -> bool {
        self.setup().version.standard == ProtocolStandard::Acp
    }

    /// Handles a request of the agent.
    pub(super) fn serve(
        &mut self,
        id: PeerId,
        line: u64,
        seen: &Arc<SeenFrame>,
        message: &Message,
    ) {
        self.hold_against_watches(id, line, message);
        let (asked, method) =
            (message.id().cloned().unwrap_or_default(), message.method().unwrap_or_default());
        let Some(peer) = self.clients.get_mut(id) else { return };
        peer.mailbox.push(line, Arc::clone(seen));
        peer.served.reports.take(message);
        if method == "session/request_permission" {
            let options = message.params()["options"].clone();
            if peer.served.asking.len() < MAX_ASKING {
                peer.served.asking.push_back(WaitingPermission { id: asked, options, line });
            }
            let approves = self.setup().scenario.approves.as_deref();
            if approves == self.clients.get(id).map(CasePeer::name) {
                // If the request offers no such option, it stays pending and the scenario reports the problem.
                let _ = self.permit(id, PermissionReply::Kind("allow_once"));
            }
            return;
        }
        let deeds = peer.served.serving.asked(&asked, method, message.params());
        self.act_on(id, deeds);
        self.elsewhere(id);
    }

    /// Notes that the agent requested a path outside its folder.
    fn elsewhere(&mut self, id: PeerId) {
        let asked = self.clients.get_mut(id).and_then(|peer| peer.served.serving.elsewhere());
        if let Some(path) = asked {
            self.log.note_once(format!(
                "the agent requested {path}, which is outside its folder: refused"
            ));
        }
    }

    /// Extends the time limits if the agent started slowly, which happens on a busy machine.
    pub(super) fn slow_start(&mut self, id: PeerId) {
        let opened = self.clients.get(id).map(|peer| peer.served.opened);
        let Some(opened) = opened.filter(|_| self.is_acp()) else { return };
        let took = self.now().saturating_sub(opened);
        let limit = self.setup().limit;
        let usual = *self.witness.usual.get_or_insert(limit);
        self.extend_limit((took * SLOWER).min(usual * SLOWEST).max(limit));
    }

    /// Records a note if the agent's process had to be killed or left processes running.
    fn agent_ended(&mut self, how: &str, told: &Value) {
        let left: Vec<&str> =
            told["left"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        if how == KILLED {
            self.log.note_once(
                "the agent did not exit after its standard input was closed, and was killed"
                    .to_owned(),
            );
        }
        if !left.is_empty() {
            let left = left.join(", ");
            self.log
                .note_once(format!("the agent left processes running, which were killed: {left}"));
        }
    }

    fn act_on(&mut self, id: PeerId, deeds: Vec<ServingDeed>) {
        for deed in deeds {
            match deed {
                ServingDeed::Answer(message) => self.send(id, SeenFrame::of(message)),
                ServingDeed::Errand(errand) => self.outputs.push(DriverOutput::Errand(errand)),
            }
        }
    }

    /// Handles an event outside the conversation.
    pub(super) fn handle_beside(
        &mut self,
        now: Duration,
        line: u64,
        way: BelowEvent,
        seen: &SeenFrame,
    ) {
        if way == BelowEvent::FromDriver {
            return self.handle_driver_line(now, line, seen);
        }
        if !matches!(way, BelowEvent::Local | BelowEvent::Tool) || !self.is_acp() {
            return;
        }
        self.expire(now);
        let told = seen.message().map_or(&Value::Null, Message::value);
        if let (BelowEvent::Local, Some(how)) = (way, told["ended"].as_str()) {
            return self.agent_ended(how, told);
        }
        match (way, told["token"].as_u64()) {
            (BelowEvent::Tool, _) => {
                self.witness.called += 1;
                if self.witness.calls.len() < MAX_CALLS {
                    self.witness.calls.push((self.traffic.last_line(), told.clone()));
                }
            }
            (_, Some(token)) if token >= LOOKS => {
                if self.witness.looks.len() < MAX_LOOKS {
                    self.witness.looks.insert(token, told.clone());
                }
            }
            _ => {
                for id in self.clients.ids() {
                    let deeds = self.clients.get_mut(id).map(|peer| peer.served.serving.done(told));
                    self.act_on(id, deeds.unwrap_or_default());
                    self.elsewhere(id);
                }
            }
        }
        self.advance(now);
    }

    /// Returns whether all turns have ended, and the wait is for a message that an agent sends only during a turn.
    pub(super) fn turns_over(&self, wait: &TaskWait) -> bool {
        let only = match wait {
            TaskWait::Message { filter, .. } if filter.method.as_deref() == Some(TIDIES) => {
                return false;
            }
            TaskWait::Message { peer, .. } | TaskWait::Permission { peer, .. } => Some(*peer),
            TaskWait::Own(own) if own.needs_turns() => None,
            _ => return false,
        };
        let peers = self.clients.ids().filter(|id| only.is_none_or(|only| only == *id));
        let mut prompts = peers.filter_map(|id| self.clients.get(id)).flat_map(|peer| {
            peer.served.prompts.keys().map(|id| peer.engine.awaits(*id).is_none())
        });
        // If the client has sent no prompt, there is no turn that could be over.
        self.is_acp() && prompts.next().is_some_and(|over| over && prompts.all(|over| over))
    }

    /// Returns why the answer to a prompt may be missing: the agent waits for permission, and no client grants or
    /// denies it.
    pub(super) fn waits_for_permission(&self, wait: &TaskWait) -> Option<String> {
        let TaskWait::Answer { peer, .. } = wait else { return None };
        let peer = self.clients.get(*peer).filter(|_| self.is_acp())?;
        let waiting = peer.served.asking.len() + peer.unread_requests();
        (waiting > 0)
            .then(|| format!("the agent waits for the answer to {waiting} of its requests"))
    }

    /// Sends a request without waiting for its answer.
    pub(super) fn ask(
        &mut self,
        id: PeerId,
        method: &str,
        params: &ValueTemplate,
        bind: Option<String>,
    ) -> WaitProgress {
        let params = self.names.fill(params);
        let session = params["sessionId"].clone();
        let Some(peer) = self.clients.get_mut(id) else { return WaitProgress::Done };
        let (number, message) = peer.engine.request(method, params);
        if method == "session/prompt" {
            peer.served.prompts.insert(number, session);
        }
        self.send(id, SeenFrame::of(message));
        if let Some(name) = bind {
            self.names.set(&name, json!(number));
        }
        WaitProgress::Done
    }

    pub(super) fn check_permission(
        &mut self,
        step: Option<usize>,
        id: PeerId,
        answer: PermissionReply,
    ) -> WaitProgress {
        match self.permit(id, answer) {
            Some(Ok(())) => WaitProgress::Done,
            Some(Err((line, kind))) => {
                let name = self.name(id);
                let message =
                    format!("client `{name}`: the agent offers no option of the kind `{kind}`");
                let mut failure = self.failure_at(step, message);
                failure.lines.push(line);
                WaitProgress::Failed(failure)
            }
            None => match self.ended(id) {
                Some(end) => {
                    self.closed_instead(step, id, end, &super::task::RequestGoal::Result(None))
                }
                None => WaitProgress::Wait(TaskWait::Permission { peer: id, answer }),
            },
        }
    }

    /// Answers the oldest pending request for permission. Returns `None` if no request is pending. Returns
    /// `Some(Err(...))` with the request's line in the transcript and the kind of option if the request offers no
    /// option of this kind.
    fn permit(
        &mut self,
        id: PeerId,
        answer: PermissionReply,
    ) -> Option<Result<(), (u64, &'static str)>> {
        let asking = self.clients.get_mut(id)?.served.asking.pop_front()?;
        let selected = |option: &Value| {
            let outcome = json!({"outcome": "selected", "optionId": (option.clone())});
            Message::success(asking.id.clone(), json!({"outcome": outcome}))
        };
        let message = match answer {
            PermissionReply::Kind(kind) => {
                let mut options = asking.options.as_array().into_iter().flatten();
                match options.find(|option| option["kind"] == kind) {
                    Some(option) => selected(&option["optionId"]),
                    None => {
                        // The request stays pending, and the case cancels it at its end.
                        let line = asking.line;
                        self.clients.get_mut(id)?.served.asking.push_front(asking);
                        return Some(Err((line, kind)));
                    }
                }
            }
            PermissionReply::Cancelled => {
                Message::success(asking.id.clone(), json!({"outcome": {"outcome": "cancelled"}}))
            }
            PermissionReply::Unknown => selected(&json!("ahp-harness-was-not-offered")),
            PermissionReply::Error => {
                let why = "the client cannot ask a person";
                Message::failure(asking.id.clone(), -32603, why, Value::Null)
            }
        };
        self.send(id, SeenFrame::of(message));
        Some(Ok(()))
    }

    pub(super) fn look(&mut self, look: FileLook) -> WaitProgress {
        self.witness.serial += 1;
        let token = LOOKS + self.witness.serial;
        self.outputs
            .push(DriverOutput::Errand(ClientErrand::Read { token, path: look.path.clone() }));
        WaitProgress::Wait(TaskWait::Looked { token, look })
    }

    pub(super) fn check_looked(
        &mut self,
        step: Option<usize>,
        token: u64,
        look: FileLook,
    ) -> WaitProgress {
        let Some(told) = self.witness.looks.remove(&token) else {
            return WaitProgress::Wait(TaskWait::Looked { token, look });
        };
        match self.names.take(&look.text, told.get("text"), false) {
            Ok(()) => {
                self.observed(step);
                WaitProgress::Done
            }
            Err(_) if look.goes_on(self.now()) => {
                WaitProgress::Wait(TaskWait::LookAgain { at: self.now() + LOOK_EVERY, look })
            }
            Err(miss) => {
                let line = self.traffic.last_line();
                WaitProgress::Failed(self.mismatch(step, "harness", "the file", line, &miss))
            }
        }
    }

    pub(super) fn call_state(
        &mut self,
        step: Option<usize>,
        id: PeerId,
        call: &Value,
        state: &ValuePattern,
    ) -> WaitProgress {
        let name = self.name(id);
        let found = self.clients.get(id).and_then(|peer| peer.served.reports.call(call));
        let Some(found) = found.cloned() else {
            let message = format!(
                "client `{name}`: expected a report of the call {}, found none",
                brief(call)
            );
            return WaitProgress::Failed(self.failure_at(step, message));
        };
        match self.names.take(state, Some(&found), false) {
            Ok(()) => {
                self.observed(step);
                WaitProgress::Done
            }
            Err(miss) => {
                let line = self.traffic.last_line();
                WaitProgress::Failed(self.mismatch(step, &name, "call", line, &miss))
            }
        }
    }

    /// Cancels the active prompts and the pending permission requests when a case about an agent ends. Returns the
    /// tasks that wait for the answers to these prompts.
    pub(super) fn leaving(&mut self) -> Vec<StepTask> {
        let mut acts = Vec::new();
        for id in self.clients.ids() {
            let Some(peer) = self.clients.get_mut(id) else { continue };
            let prompts = std::mem::take(&mut peer.served.prompts).into_iter();
            let open = prompts.filter(|(prompt, _)| peer.engine.awaits(*prompt).is_some());
            for (prompt, session) in open.collect::<Vec<_>>() {
                let cancel = Message::notification("session/cancel", json!({"sessionId": session}));
                self.send(id, SeenFrame::of(cancel));
                acts.push(agent_steps::farewell(id, prompt));
            }
            while self.permit(id, PermissionReply::Cancelled).is_some() {}
        }
        let within = Some(FAREWELL);
        acts.into_iter().map(|act| StepTask { step: None, within, act, prepares: false }).collect()
    }
}
