//! The waits of a case. When a message arrives, the case checks the current wait against the received messages.

use std::sync::Arc;

use crate::wire::json::Value;

use crate::scenario::bind::ValueTemplate;
use crate::scenario::capability::READY_SESSIONS;
use crate::scenario::pattern::{ValuePattern, brief};
use crate::transcript::SeenFrame;
use crate::wire::message::MessageKind;

use super::case::{ScenarioCase, params};
use super::case_peers::{CasePeer, PeerId};
use super::failure::{FailureKind, NearMiss};
use super::goal::{DispatchGoal, OpeningGoal, RequestGoal, ResultUse};
use super::message_filter::{FilterMode, MessageFilter, OrderMismatch};
use super::state_claim::match_state;
use super::step_wait::StepWaitStatus;
use super::task::{StepTask, TaskAct};
use super::task_wait::{TaskWait, WaitProgress};

impl ScenarioCase {
    pub(super) fn check(&mut self, step: Option<usize>, wait: TaskWait) -> WaitProgress {
        match wait {
            TaskWait::Connected(peer, want) => self.check_connected(step, peer, want),
            TaskWait::Response { peer, id, want, exact, keep } => {
                let found = self.clients.get_mut(peer).and_then(|peer| peer.take_answer(id));
                match found {
                    Some((line, seen)) => {
                        self.answered(step, peer, line, &seen, &want, exact, &keep)
                    }
                    None => match self.ended(peer) {
                        Some(_)
                            if matches!(
                                want,
                                RequestGoal::Closed
                                    | RequestGoal::Refused(_)
                                    | RequestGoal::Anything
                            ) =>
                        {
                            self.observed(step);
                            WaitProgress::Done
                        }
                        Some(end) => self.closed_instead(step, peer, end, &want),
                        None => {
                            WaitProgress::Wait(TaskWait::Response { peer, id, want, exact, keep })
                        }
                    },
                }
            }
            TaskWait::Settled { peer, seq, settle, looked } => {
                self.check_settled(step, peer, seq, settle, looked)
            }
            TaskWait::Message { peer, filter, mode, looked } => {
                self.check_message(step, peer, filter, mode, looked)
            }
            TaskWait::DefaultChat { peer, session, bind } => {
                self.check_default_chat(step, peer, session, bind)
            }
            TaskWait::Barrier(barrier) => self.check_barrier(step, barrier),
            TaskWait::Answer { peer, id, want, keep } => {
                let found = self.find_answer(peer, &id);
                match (found, self.ended(peer)) {
                    (Some((line, seen)), _) => {
                        self.answered(step, peer, line, &seen, &want, false, &keep)
                    }
                    (None, Some(_))
                        if matches!(want, RequestGoal::Closed | RequestGoal::Refused(_)) =>
                    {
                        self.observed(step);
                        WaitProgress::Done
                    }
                    (None, Some(end)) => self.closed_instead(step, peer, end, &want),
                    (None, None) => WaitProgress::Wait(TaskWait::Answer { peer, id, want, keep }),
                }
            }
            TaskWait::Asked { peer, method, id, params } => {
                self.check_asked(step, peer, method, id, params)
            }
            TaskWait::NoAnswer { peer, id, ping, want } => {
                self.check_no_answer(step, peer, id, ping, want)
            }
            TaskWait::Closed(peer) => match self.ended(peer).or_else(|| self.left_host(peer)) {
                Some(_) => {
                    self.observed(step);
                    WaitProgress::Done
                }
                None => WaitProgress::Wait(wait),
            },
            TaskWait::Restarted
            | TaskWait::Published
            | TaskWait::Rested
            | TaskWait::LookAgain { .. }
            | TaskWait::TestedStateAgain { .. } => WaitProgress::Wait(wait),
            TaskWait::Observers => self.check_observers(),
            TaskWait::Permission { peer, answer } => self.check_permission(step, peer, answer),
            TaskWait::Looked { token, look } => self.check_looked(step, token, look),
            TaskWait::Own(mut own) => match own.check(self, step) {
                StepWaitStatus::Waits => WaitProgress::Wait(TaskWait::Own(own)),
                StepWaitStatus::Held => {
                    self.observed(step);
                    WaitProgress::Done
                }
                StepWaitStatus::Failed(failure) => WaitProgress::Failed(failure),
            },
            TaskWait::Mirrored(claim) => self.mirror(step, claim, false),
            TaskWait::Driven { id, want, bind } => self.check_driven(step, id, want, bind),
            TaskWait::TestedState { id, claim, until } => {
                self.check_tested_state(step, id, claim, until)
            }
        }
    }

    fn check_connected(
        &mut self,
        step: Option<usize>,
        id: PeerId,
        want: OpeningGoal,
    ) -> WaitProgress {
        let name = self.name(id);
        let Some(peer) = self.clients.get(id) else { return WaitProgress::Done };
        let (connected, refused) = (peer.is_connected(), peer.refusal());
        let ended = peer.ended().cloned();
        match (want, ended) {
            (OpeningGoal::Stands | OpeningGoal::Either, _) if connected => WaitProgress::Done,
            (OpeningGoal::Refused(status), _) if connected => {
                let wrong = format!(
                    "expected the {} to refuse the connection, found it open",
                    self.subject()
                );
                let mut failure = self.failure_at(step, format!("client `{name}`: {wrong}"));
                failure.span = status.span;
                failure.lines.push(self.traffic.last_line());
                WaitProgress::Failed(failure)
            }
            (want, None) => WaitProgress::Wait(TaskWait::Connected(id, want)),
            (OpeningGoal::Stands, Some((line, reason))) => {
                let wrong = format!("client `{name}`: could not connect: {reason}");
                let mut failure = self.failure_at(step, wrong);
                failure.lines.push(line);
                WaitProgress::Failed(failure)
            }
            (OpeningGoal::Either, Some(_)) => WaitProgress::Done,
            (OpeningGoal::Refused(pattern), Some((line, _))) => {
                let status = refused.map_or(Value::from("closed"), Value::from);
                match self.names.take(&pattern, Some(&status), false) {
                    Ok(()) => {
                        self.observed(step);
                        WaitProgress::Done
                    }
                    Err(miss) => {
                        WaitProgress::Failed(self.mismatch(step, &name, "status", line, &miss))
                    }
                }
            }
        }
    }

    fn check_asked(
        &mut self,
        step: Option<usize>,
        peer: PeerId,
        method: String,
        id: ValuePattern,
        params: Option<ValuePattern>,
    ) -> WaitProgress {
        let next = self.clients.get_mut(peer).and_then(CasePeer::take_request);
        let Some((line, seen)) = next else {
            return match self.ended(peer) {
                Some(end) => self.closed_instead(step, peer, end, &RequestGoal::Result(None)),
                None => WaitProgress::Wait(TaskWait::Asked { peer, method, id, params }),
            };
        };
        let (name, Some(message)) = (self.name(peer), seen.message()) else {
            return WaitProgress::Done;
        };
        if message.method() != Some(method.as_str()) {
            let came = message.method().unwrap_or_default();
            let wrong = format!("client `{name}`: expected a `{method}` request, found `{came}`");
            let mut failure = self.failure_at(step, wrong);
            failure.lines.push(line);
            return WaitProgress::Failed(failure);
        }
        let wanted =
            [(Some(&id), message.id(), "id"), (params.as_ref(), Some(message.params()), "params")];
        for (pattern, value, what) in wanted {
            let Some(pattern) = pattern else { continue };
            if let Err(miss) = self.names.take(pattern, value, false) {
                return WaitProgress::Failed(self.mismatch(step, &name, what, line, &miss));
            }
        }
        self.observed(step);
        WaitProgress::Done
    }

    fn find_answer(&mut self, peer: PeerId, id: &ValuePattern) -> Option<(u64, Arc<SeenFrame>)> {
        self.clients.get_mut(peer)?.take_matching_answer(id, self.names.bindings())
    }

    pub(super) fn check_no_answer(
        &mut self,
        step: Option<usize>,
        peer: PeerId,
        id: ValuePattern,
        ping: u64,
        want: Option<RequestGoal>,
    ) -> WaitProgress {
        if let Some((line, seen)) = self.find_answer(peer, &id) {
            if let Some(want) = want {
                return self.answered(step, peer, line, &seen, &want, false, &ResultUse::default());
            }
            let mut failure = self.failure_at(
                step,
                format!("client `{}`: expected no answer, one came", self.name(peer)),
            );
            failure.label = seen.message().map(|m| brief(m.value())).unwrap_or_default();
            failure.lines.push(line);
            return WaitProgress::Failed(failure);
        }
        if self.clients.get_mut(peer).and_then(|peer| peer.take_answer(ping)).is_some() {
            self.observed(step);
            return WaitProgress::Done;
        }
        match self.ended(peer) {
            Some(_) if matches!(want, Some(RequestGoal::Closed | RequestGoal::Refused(_))) => {
                self.observed(step);
                WaitProgress::Done
            }
            // If the host closed the connection, this does not count as ignoring the frame.
            Some(end) => self.closed_instead(step, peer, end, &RequestGoal::Result(None)),
            None => WaitProgress::Wait(TaskWait::NoAnswer { peer, id, ping, want }),
        }
    }

    #[expect(clippy::too_many_arguments, reason = "the members of one wait")]
    pub(super) fn answered(
        &mut self,
        step: Option<usize>,
        peer: PeerId,
        line: u64,
        seen: &SeenFrame,
        want: &RequestGoal,
        exact: bool,
        keep: &ResultUse,
    ) -> WaitProgress {
        let Some(message) = seen.message() else {
            return WaitProgress::Done;
        };
        if let Some(name) = &keep.bind {
            self.log.responded(peer, name, line);
        }
        let name = self.name(peer);
        let (pattern, value, what) = match (want, message.kind()) {
            (RequestGoal::Anything, _) => return WaitProgress::Done,
            (RequestGoal::Result(pattern), MessageKind::Success) => {
                (pattern.as_ref(), message.result(), "result")
            }
            (RequestGoal::State(pattern, channel), MessageKind::Success) => {
                let snapshot = message.result().and_then(|result| result.get("snapshot"));
                let state = snapshot.and_then(|snapshot| snapshot.get("state"));
                if state.is_none() {
                    let wrong = format!("client `{name}`: expected a snapshot, found none");
                    let mut failure = self.failure_of(step, FailureKind::Silence, wrong);
                    failure.lines.push(line);
                    return WaitProgress::Failed(failure);
                }
                // The state of another channel is no evidence about the requested channel.
                let (asked, found) = (self.names.fill(channel), snapshot.map(|it| &it["resource"]));
                if found != Some(&asked) {
                    let found = brief(found.unwrap_or(&Value::Null));
                    let wrong = format!(
                        "client `{name}`: expected a snapshot of {}, found one of {found}",
                        brief(&asked)
                    );
                    let mut failure = self.failure_of(step, FailureKind::Silence, wrong);
                    failure.lines.push(line);
                    return WaitProgress::Failed(failure);
                }
                (Some(pattern), state, "state")
            }
            (
                RequestGoal::Error(pattern)
                | RequestGoal::Either(_, pattern)
                | RequestGoal::Refused(pattern),
                MessageKind::Failure,
            ) => (Some(pattern), message.error(), "error"),
            (RequestGoal::Either(pattern, _), MessageKind::Success) => {
                (Some(pattern), message.result(), "result")
            }
            (_, kind) => {
                let expected = match want {
                    RequestGoal::Error(_) => "an error",
                    RequestGoal::Refused(_) => "an error, or the connection to be closed",
                    RequestGoal::Closed => "the connection to be closed",
                    _ => "a result",
                };
                let came = match kind {
                    MessageKind::Failure => {
                        format!("error {}", brief(message.error().unwrap_or(&Value::Null)))
                    }
                    _ => format!("result {}", brief(message.result().unwrap_or(&Value::Null))),
                };
                let mut failure = self.failure_at(
                    step,
                    format!(
                        "client `{name}`: expected {expected}, the {} answered with {}",
                        self.subject(),
                        if kind == MessageKind::Failure { "an error" } else { "a result" }
                    ),
                );
                failure.label = format!("{came} came");
                failure.lines.push(line);
                return WaitProgress::Failed(failure);
            }
        };
        if let Some(pattern) = pattern {
            let snapshot = message.result().and_then(|result| result.get("snapshot"));
            let state = snapshot.zip(value.filter(|_| matches!(want, RequestGoal::State(..))));
            let bound = match state {
                Some((snapshot, state)) => {
                    let channel = snapshot["resource"].as_str().unwrap_or_default();
                    match_state(pattern, channel, state, self.names.bindings(), exact)
                }
                None => pattern.matches(value, self.names.bindings(), exact),
            };
            match bound {
                Ok(bound) => self.names.bind(pattern, bound),
                Err(miss) => {
                    // The step fails because of the content, but later steps may use the result.
                    self.keep(keep, want, value);
                    let mut failure = self.mismatch(step, &name, what, line, &miss);
                    if let Some((snapshot, state)) = state {
                        let channel = snapshot["resource"].as_str().unwrap_or_default();
                        failure = self.state_failure(failure, (pattern, channel), (state, exact));
                    }
                    // If the answer contains no snapshot, the claim cannot judge the content of the state.
                    if miss.path == "snapshot" && miss.found == "nothing" {
                        failure.kind = FailureKind::Silence;
                    }
                    return WaitProgress::Failed(failure);
                }
            }
        }
        self.keep(keep, want, value);
        if keep.default_chat.is_some() {
            self.wait_until_ready(step, peer, value);
        }
        self.observed(step);
        WaitProgress::Done
    }

    /// Adds a task that waits until the session is ready, because only a ready session accepts turns. The task is added
    /// only for hosts that make sessions ready by themselves.
    fn wait_until_ready(&mut self, step: Option<usize>, peer: PeerId, result: Option<&Value>) {
        let Some(snapshot) = result.and_then(|result| result.get("snapshot")) else { return };
        let by_itself = self.setup().facts.iter().any(|(name, _)| name == READY_SESSIONS);
        if snapshot["state"]["lifecycle"] != "creating" || !by_itself {
            return;
        }
        let step_of = self.step_at(step);
        let span = step_of.map(|step| step.span).unwrap_or_default();
        let filter = MessageFilter {
            span,
            action: Some("session/ready".to_owned()),
            method: None,
            channel: None,
            params: None,
            exact: false,
            beyond: 0,
            unless: None,
            beside: None,
            order: None,
        };
        let channel = Some(ValueTemplate::fixed(span, snapshot["resource"].clone()));
        let act = TaskAct::Await { peer, filter, channel, mode: FilterMode::Look };
        self.progress.play_first(StepTask { step, within: None, act, prepares: true });
    }

    /// Binds the parts of a result that later steps need.
    pub(super) fn keep(&mut self, keep: &ResultUse, want: &RequestGoal, value: Option<&Value>) {
        let value = value.cloned().unwrap_or_default();
        if let Some(name) = &keep.default_chat {
            // If the host names no default chat, the session's first chat is used.
            let snapshot = &value["snapshot"];
            let state = &snapshot["state"];
            let own = match (&state["lifecycle"], self.edge().has_chats()) {
                (ready, false) if *ready == "ready" => &snapshot["resource"],
                _ => &Value::Null,
            };
            let chat = [&state["defaultChat"], &state["chats"][0]["resource"], own]
                .into_iter()
                .find(|chat| chat.is_string());
            if let Some(chat) = chat {
                self.names.set(name, chat.clone());
            }
        }
        if let Some(name) = &keep.bind {
            let value = match (want, value.pointer("/snapshot/state")) {
                (RequestGoal::Result(_), Some(state)) => state.clone(),
                _ => value,
            };
            self.names.set(name, value);
        }
    }

    pub(super) fn check_settled(
        &mut self,
        step: Option<usize>,
        peer: PeerId,
        seq: u64,
        settle: DispatchGoal,
        looked: u64,
    ) -> WaitProgress {
        let Some((place, line, seen)) = self.echo(peer, seq, looked) else {
            return match self.ended(peer) {
                Some(end) => self.closed_instead(step, peer, end, &RequestGoal::Result(None)),
                None => {
                    let looked = self.newest(peer);
                    WaitProgress::Wait(TaskWait::Settled { peer, seq, settle, looked })
                }
            };
        };
        if let Some(peer) = self.clients.get_mut(peer) {
            peer.mailbox.read_one(place);
        }
        let envelope = params(&seen);
        let reason = envelope.get("rejectionReason").filter(|reason| !reason.is_null());
        let (pattern, wrong) = match (&settle, reason) {
            (DispatchGoal::Accept(pattern), None) | (DispatchGoal::Reject(pattern), Some(_)) => {
                (pattern, None)
            }
            (DispatchGoal::Accept(pattern), Some(reason)) => (
                pattern,
                Some(format!(
                    "expected the action to be accepted, the host rejected it: {}",
                    brief(reason)
                )),
            ),
            (DispatchGoal::Reject(pattern), None) => {
                let seq = &envelope["serverSeq"];
                (
                    pattern,
                    Some(format!(
                        "expected a rejection, the host accepted the action as serverSeq {seq}"
                    )),
                )
            }
            _ => return WaitProgress::Done,
        };
        if let Some(wrong) = wrong {
            let name = self.name(peer);
            let again = reason.is_none()
                && self.decisions.answers_again(&envelope["channel"], &envelope["action"]);
            if again {
                let message = format!(
                    "client `{name}`: {wrong}, after it had requested approval again, which the \
                     scenario does not expect"
                );
                return WaitProgress::Failed(self.failure_of(step, FailureKind::Trouble, message));
            }
            let mut failure = self.failure_at(step, format!("client `{name}`: {wrong}"));
            failure.span = pattern.span;
            failure.label = "this came back".to_owned();
            failure.lines.push(line);
            return WaitProgress::Failed(failure);
        }
        if let Err(miss) = self.names.take(pattern, Some(envelope), false) {
            let name = self.name(peer);
            return WaitProgress::Failed(self.mismatch(step, &name, "envelope", line, &miss));
        }
        self.observed(step);
        WaitProgress::Done
    }

    /// Returns the first envelope after the line `after` that answers the client's dispatch with this `clientSeq`: its
    /// mailbox index, its line and the frame.
    pub(super) fn echo(
        &self,
        peer: PeerId,
        seq: u64,
        after: u64,
    ) -> Option<(usize, u64, Arc<SeenFrame>)> {
        let peer = self.clients.get(peer)?;
        peer.mailbox.unread_after(after).find_map(|(place, item)| {
            let seen = item.seen();
            let message = seen.message()?;
            let origin = &message.params()["origin"];
            let own = message.method() == Some("action")
                && origin["clientId"] == *peer.engine.client_id
                && origin["clientSeq"].as_u64() == Some(seq);
            own.then_some((place, item.line, seen))
        })
    }

    /// Returns the line of the newest unread message of a client.
    fn newest(&self, peer: PeerId) -> u64 {
        self.clients.get(peer).map_or(0, |peer| peer.mailbox.newest())
    }

    pub(super) fn check_message(
        &mut self,
        step: Option<usize>,
        id: PeerId,
        filter: MessageFilter,
        mode: FilterMode,
        looked: u64,
    ) -> WaitProgress {
        let mut near = self.progress.take_near();
        let Some(peer) = self.clients.get(id) else {
            return WaitProgress::Done;
        };
        // The last received `serverSeq` is the only binding that changes during a wait. If the filter uses it, all
        // messages are checked again.
        let looked = if filter.uses_numbers() { 0 } else { looked };
        let anything = ValuePattern::anything(filter.span);
        let pattern = filter.params.as_ref().unwrap_or(&anything);
        let mut found = None;
        for (place, item) in peer.mailbox.unread_after(looked) {
            let seen = item.seen();
            let Some(message) = seen.message() else {
                continue;
            };
            let about = filter.is_about(message);
            if mode == FilterMode::Next && !about {
                let elsewhere = filter
                    .channel
                    .as_ref()
                    .is_some_and(|channel| message.params()["channel"] != *channel);
                if elsewhere {
                    continue;
                }
                let (line, params) = (item.line, message.params().clone());
                let came = brief(&params);
                let name = self.name(id);
                let message = format!(
                    "client `{name}`: expected {} next, something else came",
                    filter.what()
                );
                let mut failure = self.failure_at(step, message);
                failure.span = filter.span;
                failure.label = format!("{came} came");
                failure.lines.push(line);
                return WaitProgress::Failed(failure);
            }
            if !about && filter.unless.is_some() && message.method() == filter.unless.as_deref() {
                let (line, name, what) = (item.line, self.name(id), filter.what());
                let came = message.method().unwrap_or_default();
                let message = format!("client `{name}`: expected {what}, `{came}` came instead");
                let mut failure = self.failure_of(step, FailureKind::Alternative, message);
                failure.lines.push(line);
                return WaitProgress::Failed(failure);
            }
            if !about {
                continue;
            }
            match pattern.matches(Some(message.params()), self.names.bindings(), filter.exact) {
                Ok(bound) => match filter.order.and_then(|order| order.broken_by(item.line)) {
                    None => {
                        found = Some((place, bound));
                        break;
                    }
                    // The wait continues, because a matching message may still arrive after the response.
                    Some(OrderMismatch::TooEarly) => {}
                    Some(OrderMismatch::TooLate(response)) => {
                        let (line, name, what) = (item.line, self.name(id), filter.what());
                        let message = format!(
                            "client `{name}`: expected {what} before the response, it came after \
                             the response"
                        );
                        let mut failure = self.failure_of(step, FailureKind::Content, message);
                        failure.span = filter.span;
                        failure.label = "this came after the response".to_owned();
                        failure.lines.extend([response, line]);
                        return WaitProgress::Failed(failure);
                    }
                },
                Err(miss) if mode == FilterMode::Next => {
                    let (line, name) = (item.line, self.name(id));
                    return WaitProgress::Failed(self.mismatch(
                        step,
                        &name,
                        "next message",
                        line,
                        &miss,
                    ));
                }
                // A filter without a type and a method could match any message, so a mismatch is not reported as the
                // closest message.
                Err(_) if filter.is_of_any_kind() => {}
                Err(miss) => near = Some(NearMiss::closer(near, NearMiss::new(item.line, miss))),
            }
        }
        if let Some((place, bound)) = found {
            let pattern = pattern.clone();
            if let Some(peer) = self.clients.get_mut(id).filter(|_| mode != FilterMode::Look) {
                peer.mailbox.read_to(place);
            }
            self.names.bind(&pattern, bound);
            self.observed(step);
            return WaitProgress::Done;
        }
        self.progress.keep_near(near);
        match self.ended(id) {
            Some(end) => self.closed_instead(step, id, end, &RequestGoal::Result(None)),
            None => {
                let looked = self.newest(id);
                WaitProgress::Wait(TaskWait::Message { peer: id, filter, mode, looked })
            }
        }
    }

    /// Binds the default chat of a session. A host may create the first chat of a session shortly after the
    /// session.
    pub(super) fn check_default_chat(
        &mut self,
        step: Option<usize>,
        peer: PeerId,
        session: Value,
        bind: String,
    ) -> WaitProgress {
        if self.names.get(&bind).is_some() {
            return WaitProgress::Done;
        }
        let chat = self.clients.get(peer).and_then(|peer| {
            peer.mailbox.unread().find_map(|(_, item)| {
                let seen = item.seen();
                let params = seen.message()?.params();
                let action = &params["action"];
                let chat = match action["type"].as_str()? {
                    // Before 0.4.0 a session is its own chat, which can be used once the session is ready.
                    "session/ready" if !peer.engine.edge().has_chats() => &params["channel"],
                    "session/defaultChatChanged" => &action["defaultChat"],
                    "session/chatAdded" => &action["summary"]["resource"],
                    _ => return None,
                };
                (params["channel"] == session && chat.is_string()).then(|| chat.clone())
            })
        });
        match (chat, self.ended(peer)) {
            (Some(chat), _) => {
                self.names.set(&bind, chat);
                WaitProgress::Done
            }
            (None, Some(end)) => self.closed_instead(step, peer, end, &RequestGoal::Result(None)),
            (None, None) => WaitProgress::Wait(TaskWait::DefaultChat { peer, session, bind }),
        }
    }
}
