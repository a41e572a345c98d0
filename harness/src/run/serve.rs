//! The part of a case in which a client serves an agent: the client answers permission requests as the steps say, and
//! handles requests for files and commands with errands (tasks outside the conversation).
//!
//! Knows: requests of agents. Never knows: the expectations of scenarios.
//!
//! Start at [`ScenarioCase::serve`].

use std::sync::Arc;
use std::time::Duration;

use crate::peer::errand::{ClientErrand, KILLED};
use crate::peer::serving::ServingDeed;
use crate::scenario::bind::ValueTemplate;
use crate::scenario::parse::{AUTH, SERVER_URL, WORK};
use crate::scenario::pattern::{ValuePattern, brief};
use crate::transcript::{BelowEvent, SeenFrame};
use crate::wire::json::{Value, json};
use crate::wire::message::Message;
use crate::wire::version::ProtocolStandard;

use super::agent_client_side::WaitingPermission;
use super::agent_steps;
use super::case::ScenarioCase;
use super::case_peers::{CasePeer, PeerId};
use super::case_witness::{CaseWitness, FileLook};
use super::output::DriverOutput;
use super::permission_reply::PermissionReply;
use super::task::StepTask;
use super::task_wait::{TaskWait, WaitProgress};

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
            peer.served.ask(WaitingPermission { id: asked, options, line });
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
        let opened = self.clients.get(id).map(|peer| peer.served.opened_at());
        let Some(opened) = opened.filter(|_| self.is_acp()) else { return };
        let took = self.now().saturating_sub(opened);
        let limit = self.setup().limit;
        let usual = self.witness.usual_limit(limit);
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
                self.witness.reported(self.traffic.last_line(), told);
            }
            (_, Some(token)) if CaseWitness::is_look(token) => self.witness.looked(token, told),
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
        let mut prompts = peers
            .filter_map(|id| self.clients.get(id))
            .flat_map(|peer| peer.served.prompts().map(|id| peer.engine.awaits(id).is_none()));
        // If the client has sent no prompt, there is no turn that could be over.
        self.is_acp() && prompts.next().is_some_and(|over| over && prompts.all(|over| over))
    }

    /// Returns why the answer to a prompt may be missing: the agent waits for permission, and no client grants or
    /// denies it.
    pub(super) fn waits_for_permission(&self, wait: &TaskWait) -> Option<String> {
        let TaskWait::Answer { peer, .. } = wait else { return None };
        let peer = self.clients.get(*peer).filter(|_| self.is_acp())?;
        let waiting = peer.served.pending() + peer.unread_requests();
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
            peer.served.prompted(number, session);
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
                    self.closed_instead(step, id, end, &super::goal::RequestGoal::Result(None))
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
        let asking = self.clients.get_mut(id)?.served.take_asked()?;
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
                        self.clients.get_mut(id)?.served.put_back(asking);
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
        let token = self.witness.new_look();
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
        let Some(told) = self.witness.take_look(token) else {
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
            let prompts = peer.served.take_prompts();
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
