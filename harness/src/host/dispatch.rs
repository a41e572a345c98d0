//! Actions of clients: whether they are taken, and what follows.
//!
//! In this order: an unknown channel is ignored; the agreed version has to let clients send the
//! action, on this kind of channel, in this shape; the rules of `rules::RULES` have to hold; and
//! the reducers need to have a use for it. What fails after the first step is sent back to the
//! dispatcher with a reason, and leaves no trace.
//!
//! Knows: states, rules of the protocol. Never knows: how an action reaches its subscribers.
//!
//! Start at [`RefHost::dispatch`].

use crate::wire::json::{Value, json};

use super::engine::RefHost;
use super::fault::Fault;
use super::play::tool_call;
use super::publish::{Origin, action_type};
use super::rules::{Facts, RULES, unmet};
use crate::model::{NoOp, Outcome, apply};
use crate::transcript::ConnId;
use crate::wire::channel::ChannelKind;
use crate::wire::feature::Feature;
use crate::wire::frame::Frame;
use crate::wire::protocol::Dispatch;

/// A fault, the action that it takes, and when: by the reducers' reason, the state, the action.
type Lenience = (Fault, &'static str, fn(NoOp, &Value, &Value) -> bool);

/// Faults that take an action although the reducers have no use for it.
const LENIENT: &[Lenience] = &[
    (Fault::AcceptsSecondConfirmation, "chat/toolCallConfirmed", |why, _, _| {
        why == NoOp::WrongStatus
    }),
    (Fault::AcceptsConfirmationUnknownCall, "chat/toolCallConfirmed", |why, _, _| {
        why == NoOp::UnknownToolCall
    }),
    (Fault::AcceptsConfirmationWrongTurn, "chat/toolCallConfirmed", |why, _, _| {
        matches!(why, NoOp::WrongTurn | NoOp::NoActiveTurn)
    }),
    (Fault::AcceptsAnyResume, "chat/turnResume", |_, _, _| true),
    (Fault::AcceptsAnyResultDecision, "chat/toolCallResultConfirmed", |_, _, _| true),
    (Fault::AcceptsLateCompletion, "chat/toolCallComplete", |_, _, _| true),
    (Fault::AcceptsLateCompletion, "chat/toolCallContentChanged", |_, _, _| true),
    (Fault::AcceptsCancelWhenIdle, "chat/turnCancelled", |why, _, _| why == NoOp::NoActiveTurn),
    (Fault::InputUnknownRequestAccepted, "chat/inputCompleted", |why, state, action| {
        why == NoOp::NoActiveTurn || !known_request(state, action)
    }),
    (Fault::InputUnknownRequestAccepted, "chat/inputAnswerChanged", |why, state, action| {
        why == NoOp::NoActiveTurn || !known_request(state, action)
    }),
    (Fault::InputCompletedTwice, "chat/inputCompleted", |why, state, action| {
        why == NoOp::UnknownRequest && known_request(state, action)
    }),
];

fn known_request(state: &Value, action: &Value) -> bool {
    let parts = state["activeTurn"]["responseParts"].as_array();
    let wanted = &action["requestId"];
    parts.into_iter().flatten().any(|part| &part["request"]["id"] == wanted)
}

impl RefHost {
    /// Takes one `dispatchAction`. Without a channel, a whole `clientSeq` or an action with a type
    /// there is nothing to answer to, and it is ignored.
    pub(super) fn dispatch(&mut self, conn: ConnId, params: &Value) {
        let client = self.connections.get(&conn).and_then(|connection| connection.client.clone());
        let Some(client) = client else {
            return;
        };
        let raised = match self.view_of(conn) {
            Some(view) => self.raised(view, params).map(|(uri, it, sent)| (uri, it, Some(sent))),
            None => params["channel"]
                .as_str()
                .map(|uri| (uri.to_owned(), params["action"].clone(), None)),
        };
        let Some((uri, action, sent)) = raised else {
            return;
        };
        let (uri, action) = (uri.as_str(), &action);
        let mut client_seq = &params["clientSeq"];
        let mut whole = client_seq.is_u64() || client_seq.is_i64();
        let zero = json!(0);
        if !whole && self.has(Fault::NumberlessDispatchTaken) {
            (client_seq, whole) = (&zero, true);
        }
        if !whole || action_type(action).is_empty() {
            return;
        }
        if self.has(Fault::UnknownActionCloses)
            && self.protocol.action(action_type(action)).is_none()
        {
            return self.close(conn, 1002, "no such action");
        }
        if self.has(Fault::ClientSeqMustGrow) {
            let number = client_seq.as_i64().unwrap_or(i64::MAX);
            let last = self.dispatched.entry(client.clone()).or_insert(i64::MIN);
            if number <= *last {
                return;
            }
            *last = number;
        }
        let claimed = params["origin"]["clientId"].as_str();
        let claimed = claimed.filter(|_| self.has(Fault::OriginFromClient));
        let client = claimed.map_or(client, str::to_owned);
        let origin = Origin { conn, client, client_seq: client_seq.clone(), sent };
        if !self.channels.contains_key(uri) {
            let kind = ChannelKind::of_uri(uri);
            let aloud = matches!(kind, Some(ChannelKind::Session | ChannelKind::Chat));
            if aloud && self.has(Fault::ActionOnUnknownSessionEchoed) {
                self.reject(uri, action, &origin, &Refusal::of("no such channel", ""));
            }
            return;
        }
        if self.has(Fault::EarlyTurnsLost) && action_type(action) == "chat/turnStarted" {
            // Without a chat yet the session itself is spoken to, where it has the turns.
            let session = self.chats.get(uri).map_or(uri, |chat| chat.session.as_str());
            if self.state(session)["lifecycle"] == "creating" {
                return;
            }
        }
        match self.judge(uri, action, &origin) {
            Ok(()) => self.accept(uri, action, &origin),
            Err(refusal) => self.reject(uri, action, &origin, &refusal),
        }
    }

    /// Whether an action may be taken, as far as the reducers are not asked.
    pub(super) fn judge(&self, uri: &str, action: &Value, origin: &Origin) -> Result<(), Refusal> {
        let refused = |reason: &str, source: &str| Err(Refusal::of(reason, source));
        if self.has(Fault::RejectsLegal) {
            return refused("nothing is taken here", "");
        }
        if self.has(Fault::EchoesWithoutApplying) {
            return Ok(());
        }
        let mut kind = self.channels.get(uri).map(|channel| channel.kind);
        let protocol = self.protocol_of(origin.conn);
        let mut worded = action;
        if let Some(sent) = &origin.sent {
            let view = self.views.get(sent.view);
            kind = view.and_then(|it| it.channels.get(&sent.worded.key)).map(|shown| shown.kind);
            worded = &sent.worded.action;
        }
        let Some(row) = protocol.action(action_type(worded)) else {
            let source = "version.unknown-action-from-client";
            return refused("the agreed version has no such action", source);
        };
        if row.dispatch != Dispatch::Client && !self.has(Fault::AcceptsHostOnly) {
            let name = action_type(action).replace('/', ".");
            let source = format!("dispatch.table.server-only.{name}");
            return refused("only the host may send this action", &source);
        }
        if Some(row.channel) != kind && !self.has(Fault::AcceptsWrongFamily) {
            let source = "dispatch.wrong-family.session-on-chat";
            return refused("the action is for another kind of channel", source);
        }
        let errors = protocol.check_action(worded);
        if let Some(error) = errors.iter().find(|error| !error.soft)
            && !self.has(Fault::AcceptsMalformed)
        {
            return refused(&error.to_string(), MALFORMED);
        }
        let facts =
            Facts { host: self, client: &origin.client, uri, state: self.state(uri), action };
        let mut rules = RULES.iter().filter(|rule| rule.action == action_type(action));
        rules.try_for_each(|rule| {
            (rule.check)(&facts).map_err(|reason| Refusal::of(&reason, rule.source))
        })
    }

    fn accept(&mut self, uri: &str, action: &Value, origin: &Origin) {
        if self.has(Fault::EchoesWithoutApplying) {
            return self.emit(uri, action.clone(), Some(origin));
        }
        if let Some(sent) = &origin.sent
            && self.protocol.action(action_type(action)).is_none()
        {
            let outcome = self.publish_own(sent, origin);
            if !matches!(outcome, Outcome::Applied | Outcome::NoOp(NoOp::Unchanged)) {
                self.reject(uri, action, origin, &refusal(action, &outcome));
            }
            return;
        }
        if action_type(action) == "chat/truncated" && self.keeps_turn(uri, action) {
            self.load_turns(uri);
        }
        let attached = action["message"]["attachments"].as_array();
        for chat in attached.into_iter().flatten().filter_map(|a| a["resource"].as_str()) {
            self.load_turns(chat);
        }
        if action_type(action) == "chat/toolCallConfirmed" {
            self.replace_input(uri, action);
        }
        let removed = self.queued(uri, action);
        self.take_place(uri, action, origin);
        match self.publish_from(uri, action.clone(), Some(origin)) {
            Outcome::Applied => {
                if let Some(chat) = self.chats.get_mut(uri) {
                    chat.ghosts.extend(removed);
                }
                self.consequence(uri, action);
            }
            Outcome::NoOp(NoOp::Unchanged) => self.emit(uri, action.clone(), Some(origin)),
            Outcome::NoOp(NoOp::RequestOnly) => {
                self.emit(uri, action.clone(), Some(origin));
                self.consequence(uri, action);
            }
            outcome => match self.lenient(uri, action, &outcome) {
                true => self.emit(uri, action.clone(), Some(origin)),
                false => self.reject(uri, action, origin, &refusal(action, &outcome)),
            },
        }
    }

    /// Whether a fault takes an action that the reducers refuse.
    fn lenient(&self, uri: &str, action: &Value, outcome: &Outcome) -> bool {
        let protocol = self.protocol;
        let own = protocol.action(action_type(action)).map(|row| row.dispatch);
        let whole = match outcome {
            Outcome::Invalid { .. } => self.has(Fault::AcceptsMalformed),
            Outcome::OutOfScope => self.has(Fault::AcceptsWrongFamily),
            _ => false,
        };
        if whole || (own != Some(Dispatch::Client) && self.has(Fault::AcceptsHostOnly)) {
            return true;
        }
        let Outcome::NoOp(why) = outcome else {
            return false;
        };
        LENIENT.iter().any(|(fault, taken, fits)| {
            let named = self.has(*fault) && *taken == action_type(action);
            named && fits(*why, self.state(uri), action)
        })
    }

    fn keeps_turn(&self, uri: &str, action: &Value) -> bool {
        let turns = self.state(uri)["turns"].as_array();
        turns.into_iter().flatten().any(|turn| turn["id"] == action["turnId"])
    }

    /// The queued message that an action removes, where a fault delivers it all the same.
    fn queued(&self, uri: &str, action: &Value) -> Option<Value> {
        let removes = action_type(action) == "chat/pendingMessageRemoved";
        if !removes || action["kind"] != "queued" || !self.has(Fault::QueueDeliversRemoved) {
            return None;
        }
        let queue = self.state(uri)["queuedMessages"].as_array()?;
        queue.iter().find(|message| message["id"] == action["id"]).cloned()
    }

    /// Sends an action back with the reason why it was not taken.
    fn reject(&mut self, uri: &str, action: &Value, origin: &Origin, refusal: &Refusal) {
        self.refused_by.clone_from(&refusal.source);
        if self.has(Fault::RejectionApplied) {
            let version = self.protocol.version();
            if let Some(channel) = self.channels.get_mut(uri) {
                apply(version, channel.kind, &mut channel.state, action);
            }
            let worded = self.worded(uri, action, Some(origin));
            self.fold_views(action_type(action), &worded);
        }
        let call = action["toolCallId"].as_str().unwrap_or("");
        let waits = tool_call(self.state(uri), call)["status"] == "pending-confirmation";
        if waits && self.has(Fault::RefusalApproves) {
            let turn = &self.state(uri)["activeTurn"]["id"];
            let approval = json!({
                "type": "chat/toolCallConfirmed", "turnId": turn, "toolCallId": call,
                "approved": true, "confirmed": "setting",
            });
            self.publish(uri, approval);
            self.wake(uri);
        }
        if self.has(Fault::RejectionSilent) {
            return;
        }
        let reason = if self.has(Fault::RejectionWithoutReason) { "" } else { &refusal.reason };
        let mut params = json!({
            "channel": uri,
            "action": action,
            "serverSeq": self.log.seq(),
            "rejectionReason": reason,
        });
        if let Some(sent) = &origin.sent {
            params["action"] = sent.worded.action.clone();
            params["channel"] = json!(sent.worded.channel);
            if !self.protocol_of(origin.conn).has(Feature::Channels) {
                params.as_object_mut().map(|members| members.remove("channel"));
            }
        }
        if !self.has(Fault::RejectionWithoutOrigin) {
            params["origin"] = origin.value();
        }
        let frame = Frame::Text(self.envelope_text(&params));
        self.send_frame(origin.conn, frame);
    }

    /// What an accepted action sets in motion.
    pub(super) fn consequence(&mut self, uri: &str, action: &Value) {
        let active = self.state(uri)["activeTurn"]["id"].as_str().map(str::to_owned);
        let zombie = self.has(Fault::OutputAfterCancel) && active.is_none();
        match self.runs.get_mut(uri) {
            Some(run) if active.as_deref() != Some(run.turn.as_str()) => {
                if zombie && action_type(action) == "chat/turnCancelled" {
                    run.undead = true;
                    run.tracks.iter_mut().for_each(|track| track.wait = None);
                } else {
                    self.runs.remove(uri);
                }
            }
            _ => {}
        }
        self.tell_agent(uri, action);
        match action_type(action) {
            "chat/turnStarted" => {
                self.store(uri, action);
                if self.has(Fault::DefaultChatUnlisted) {
                    self.unlist_default(uri);
                }
                self.start_run(uri);
            }
            "chat/turnCancelled" => self.empty_queue(uri),
            "chat/turnResume" => self.resume_run(uri),
            "chat/pendingMessageSet" if action["kind"] == "steering" => {
                self.take_release(uri);
                if active.is_none() && self.has(Fault::SteeringStartsTurn) {
                    self.begin_turn(uri, action["message"].clone(), None);
                }
            }
            "chat/pendingMessageSet" => self.drain_queue(uri),
            // It may have taken the active turn away.
            "chat/truncated" => {
                self.wake(uri);
                self.drain_queue(uri);
            }
            "automation/createRequested" => self.create_automation(action),
            "automation/updateRequested" => self.update_automation(action),
            "automation/removed" => self.forget_runs(action["resource"].as_str().unwrap_or("")),
            "automationRun/cancelRequested" => self.cancel_run(uri),
            "session/customizationToggled" => self.toggled(uri, action),
            "session/mcpServerStartRequested" => {
                self.close_side_channels(uri);
                self.start_server(uri, action["id"].as_str().unwrap_or(""));
            }
            "session/mcpServerStopRequested" => {
                self.close_side_channels(uri);
                self.abandon_challenges(uri);
            }
            "annotations/set" | "annotations/entrySet" => self.store_annotation(uri, action),
            "terminal/input" => self.type_into(uri, action["data"].as_str().unwrap_or("")),
            "terminal/resized" => self.resize(uri),
            _ => self.wake(uri),
        }
    }

    /// A fault: what waits in the queue is gone with a turn that did not complete.
    pub(super) fn empty_queue(&mut self, uri: &str) {
        if !self.has(Fault::QueueLostWithTurn) {
            return;
        }
        while let Some(id) = self.state(uri)["queuedMessages"][0].get("id").cloned() {
            self.publish(
                uri,
                json!({"type": "chat/pendingMessageRemoved", "kind": "queued", "id": id}),
            );
        }
    }

    /// A fault: the turns that a client started end when it is gone.
    pub(super) fn cancel_turns_of(&mut self, client: &str) {
        let started = |uri: &&String| {
            let turn = &self.state(uri)["activeTurn"]["id"];
            self.log.after(0).any(|envelope| {
                let action = &envelope.params["action"];
                envelope.channel == **uri
                    && envelope.action_type == "chat/turnStarted"
                    && &action["turnId"] == turn
                    && envelope.params["origin"]["clientId"] == client
            })
        };
        let chats: Vec<String> = self.runs.keys().filter(started).cloned().collect();
        for uri in chats {
            let turn = self.state(&uri)["activeTurn"]["id"].clone();
            self.runs.remove(&uri);
            self.publish(
                &uri,
                json!({"type": "chat/turnCancelled", "turnId": turn, "duration": 1}),
            );
        }
    }

    /// Counts what a client puts into a chat for good.
    fn store(&mut self, uri: &str, action: &Value) {
        if let Some(chat) = self.chats.get_mut(uri) {
            chat.stored += action.to_string().len();
        }
    }
}

/// Why an action is not taken.
pub(super) struct Refusal {
    /// For a person.
    reason: String,
    /// The requirement that says so; empty where there is none.
    source: String,
}

impl Refusal {
    fn of(reason: &str, source: &str) -> Refusal {
        Refusal { reason: reason.to_owned(), source: source.to_owned() }
    }
}

/// The requirement that an action of the wrong shape breaks.
const MALFORMED: &str = "dispatch.malformed-payload";

fn refusal(action: &Value, outcome: &Outcome) -> Refusal {
    match outcome {
        Outcome::NoOp(why) => Refusal::of(why.reason(), unmet(action_type(action), *why)),
        Outcome::Invalid { path, expected } => {
            Refusal::of(&format!("expected {expected} at `{path}`"), MALFORMED)
        }
        Outcome::Applied | Outcome::OutOfScope => Refusal::of("the channel has no such action", ""),
    }
}
