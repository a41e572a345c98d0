//! Checks pending messages: the queue keeps its order and delivers each message once, and a steering message
//! starts no turn.
//!
//! Knows: folded chats. Never knows: agents.
//!
//! Start at [`PendingChecks`].

use crate::model::status::{ACTIVITY_MASK, IDLE, IS_ARCHIVED};
use crate::verdict::Weight;
use crate::wire::json::Value;
use crate::wire::protocol::Protocol;
use crate::wire::trim::TrimType;

use crate::oracle::budget::{KeptBytes, short};
use crate::oracle::catalogue::Rule;
use crate::oracle::channel::ChannelFold;
use crate::oracle::check::{CheckFamily, FindingSink};
use crate::oracle::context::OracleContext;
use crate::oracle::family::SessionFamily;
use crate::oracle::masks::plain;
use crate::oracle::members::{given, list, text};
use crate::oracle::memory::ChatMemory;
use crate::oracle::step::{ActionFolding, OracleStep};

/// Upper bound for the messages of one chat that are remembered.
const MAX_MESSAGES: usize = 64;

/// The pending messages of each chat and their outcomes.
#[derive(Default)]
pub(super) struct PendingChecks {
    chats: ChatMemory<PendingChat>,
}

#[derive(Default)]
struct PendingChat {
    /// The messages that are no longer in the queue because the host delivered them or a client removed them, oldest
    /// first.
    past: Vec<PastMessage>,
    /// The message that the host last took from the queue to start a turn with it.
    taken: Option<ConsumedMessage>,
    /// A steering message that arrived while the chat was idle, and its line.
    idle_steering: Option<(Value, u64, KeptBytes)>,
    /// Whether a truncation removed the last turn while it was active.
    turn_dropped: bool,
}

struct ConsumedMessage {
    id: String,
    message: Value,
    /// The id of the first message in the queue, if the host started a turn with another message of the queue.
    head: Option<String>,
    line: u64,
    _kept: KeptBytes,
}

struct PastMessage {
    id: String,
    line: u64,
    how: PendingEnd,
}

#[derive(Clone, Copy, Eq, PartialEq)]
enum PendingEnd {
    Delivered,
    TakenBack,
}

impl CheckFamily for PendingChecks {
    fn step(&mut self, cx: &OracleContext, step: &OracleStep<'_>, out: &mut FindingSink) {
        match step {
            OracleStep::Folding(folding) => self.fold(cx, folding, out),
            OracleStep::SessionsAtRest { sessions } => {
                let families =
                    sessions.iter().filter_map(|session| SessionFamily::of(cx, *session));
                families.for_each(|family| self.drains(cx, &family, out));
            }
            OracleStep::Restarted | OracleStep::Gap => self.chats.clear(),
            _ => {}
        }
    }
}

impl PendingChecks {
    /// Judges whether an idle chat starts turns with its queued messages. Not judged are cases for which the
    /// specification does not say what happens to the queue: after a turn that was cancelled, that failed or that was
    /// removed, in an archived session, and in a session that is still being created. Invariant J2.
    fn drains(&mut self, cx: &OracleContext, family: &SessionFamily<'_>, out: &mut FindingSink) {
        if text(&family.fold.state, "lifecycle") != Some("ready") {
            return;
        }
        for (uri, chat) in family.with_turns(cx) {
            let state = &chat.state;
            let last = list(state, "turns").last().and_then(|turn| text(turn, "state"));
            // Up to 0.4.0 the status of a session is in its `summary`.
            let holder = given(state, "summary").unwrap_or(state);
            let bits = holder.get("status").and_then(Value::as_u64).unwrap_or_default();
            let idle = given(state, "activeTurn").is_none() && bits & ACTIVITY_MASK == IDLE;
            let open = bits & IS_ARCHIVED == 0 && last.is_none_or(|state| state == "complete");
            let Some(first) = list(state, "queuedMessages").first().filter(|_| idle && open) else {
                continue;
            };
            let known = cx.channels.find(uri).and_then(|channel| self.chats.known(channel));
            if known.is_some_and(|chat| chat.turn_dropped) {
                continue;
            }
            let id = text(first, "id").unwrap_or_default();
            let message = format!(
                "expected the idle `{uri}` to start a turn from its queued messages, found `{id}` \
                 still queued"
            );
            let lines = [chat.base_line, chat.last_line, cx.now.line];
            out.broken(Rule::QueueDrains, message, &lines);
        }
    }

    fn fold(&mut self, cx: &OracleContext, folding: &ActionFolding<'_>, out: &mut FindingSink) {
        let name = folding.envelope.name;
        const NAMES: [&str; 4] =
            ["turnStarted", "truncated", "pendingMessageSet", "pendingMessageRemoved"];
        if !NAMES.contains(&name) {
            return;
        }
        let Some(fold) = cx.folded(folding.channel) else {
            return;
        };
        let Some(chat) = self.chats.of(folding.channel, fold) else {
            return;
        };
        match name {
            "turnStarted" => chat.started(cx, folding, fold, out),
            "truncated" => chat.turn_dropped |= given(&fold.state, "activeTurn").is_some(),
            "pendingMessageSet" => chat.set(cx, folding, fold),
            _ => chat.removed(cx, folding, fold, out),
        }
    }
}

impl PendingChat {
    fn set(&mut self, cx: &OracleContext, folding: &ActionFolding<'_>, fold: &ChannelFold) {
        let action = folding.envelope.action;
        match (text(action, "kind"), text(action, "id")) {
            (Some("queued"), Some(id)) => self.past.retain(|past| past.id != short(id)),
            (Some("steering"), _) => {
                let idle = given(&fold.state, "activeTurn").is_none();
                let message = message_of(action);
                self.idle_steering = message.filter(|_| idle).and_then(|message| {
                    let kept = cx.memory.listed.keep(message.heap_size())?;
                    Some((message.clone(), folding.line, kept))
                });
            }
            _ => {}
        }
    }

    fn removed(
        &mut self,
        cx: &OracleContext,
        folding: &ActionFolding<'_>,
        fold: &ChannelFold,
        out: &mut FindingSink,
    ) {
        let action = folding.envelope.action;
        if text(action, "kind") == Some("steering") {
            if self.idle_steering.take().is_some() {
                out.seen(Rule::SteeringStartsNothing);
            }
            return;
        }
        let Some(id) = text(action, "id") else {
            return;
        };
        let queue = list(&fold.state, "queuedMessages");
        let place = queue.iter().position(|message| text(message, "id") == Some(id));
        let Some(message) = place.and_then(|place| queue.get(place)) else {
            return;
        };
        if folding.envelope.origin.is_some() {
            self.past(id, folding.line, PendingEnd::TakenBack);
            return;
        }
        let head = queue.first().and_then(|message| text(message, "id"));
        let kept = cx.memory.listed.keep(message.heap_size());
        self.taken = kept.map(|kept| ConsumedMessage {
            id: short(id).into_owned(),
            message: message.clone(),
            head: head.filter(|head| *head != id).map(|head| short(head).into_owned()),
            line: folding.line,
            _kept: kept,
        });
    }

    fn started(
        &mut self,
        cx: &OracleContext,
        folding: &ActionFolding<'_>,
        fold: &ChannelFold,
        out: &mut FindingSink,
    ) {
        let action = folding.envelope.action;
        self.turn_dropped = false;
        let taken = self.taken.take();
        let steering = self.idle_steering.take();
        let message = message_of(action);
        let by_host = folding.envelope.origin.is_none();
        match text(action, "queuedMessageId") {
            Some(id) if by_host => {
                self.delivered(cx, folding, id, out);
                consumed(cx, folding, fold, id, taken.as_ref(), out);
                self.past(id, folding.line, PendingEnd::Delivered);
            }
            // The turn of a client may name a message that does not exist. In this case the host delivers no message
            // twice.
            Some(id) => {
                let queue = list(&fold.state, "queuedMessages");
                if queue.iter().any(|message| text(message, "id") == Some(id)) {
                    self.past(id, folding.line, PendingEnd::Delivered);
                }
            }
            None if by_host => {
                let Some((steered, line, _)) = steering else {
                    return;
                };
                out.seen(Rule::SteeringStartsNothing);
                if message.and_then(|it| text(it, "text")) == text(&steered, "text") {
                    let uri = cx.uri(folding.channel);
                    let message = format!(
                        "expected a steering message to start no turn in the idle `{uri}`, found a \
                         turn that the host started with it"
                    );
                    out.broken(Rule::SteeringStartsNothing, message, &[line, folding.line]);
                }
            }
            None => {}
        }
    }

    /// Judges whether a queued message is delivered only once, and not after its removal. Invariant J1.
    fn delivered(
        &self,
        cx: &OracleContext,
        folding: &ActionFolding<'_>,
        id: &str,
        out: &mut FindingSink,
    ) {
        out.seen(Rule::QueueOnce);
        let Some(past) = self.past.iter().rev().find(|past| past.id == short(id)) else {
            return;
        };
        let uri = cx.uri(folding.channel);
        let message = match past.how {
            PendingEnd::Delivered => {
                format!(
                    "expected one turn from the queued message `{id}` of `{uri}`, found another"
                )
            }
            PendingEnd::TakenBack => {
                format!("expected no turn from the removed message `{id}` of `{uri}`, found one")
            }
        };
        out.broken(Rule::QueueOnce, message, &[past.line, folding.line]);
    }

    fn past(&mut self, id: &str, line: u64, how: PendingEnd) {
        if self.past.len() >= MAX_MESSAGES {
            self.past.remove(0);
        }
        self.past.push(PastMessage { id: short(id).into_owned(), line, how });
    }
}

/// Judges whether the host took the first message of the queue, and whether the turn has the content of the message.
/// Invariant J1.
fn consumed(
    cx: &OracleContext,
    folding: &ActionFolding<'_>,
    fold: &ChannelFold,
    id: &str,
    taken: Option<&ConsumedMessage>,
    out: &mut FindingSink,
) {
    let uri = cx.uri(folding.channel);
    let queue = list(&fold.state, "queuedMessages");
    let waits = queue.iter().any(|message| text(message, "id") == Some(id));
    match taken.filter(|taken| taken.id == short(id)) {
        Some(taken) => {
            out.seen(Rule::QueueOnce);
            out.seen(Rule::QueueOrder);
            out.seen(Rule::QueueDrains);
            if let Some(head) = &taken.head {
                let message = format!(
                    "expected the host to take the first queued message of `{uri}`, `{head}`, \
                     found `{id}`"
                );
                out.broken(Rule::QueueOrder, message, &[fold.base_line, taken.line, folding.line]);
            }
            let known = |holder: &Value| known_members(fold.protocol, message_of(holder));
            if known(&taken.message) != known(folding.envelope.action) {
                let message = format!(
                    "expected the turn from the queued message `{id}` of `{uri}` to have the \
                     content of that message, found other content"
                );
                out.broken(Rule::QueueOnce, message, &[taken.line, folding.line]);
            }
        }
        None if waits => {
            out.seen(Rule::QueueOrder);
            let message = format!(
                "expected `chat/pendingMessageRemoved` for `{id}` of `{uri}` before the turn from \
                 that message, found none"
            );
            let lines = fold.lines(folding.line);
            out.weaker(Rule::QueueOrder, Weight::Should, message, &lines);
        }
        None => {}
    }
}

/// Returns a message without `_meta` and without members that the version does not define.
fn known_members(protocol: &Protocol, message: Option<&Value>) -> Option<Value> {
    let mut message = message?.clone();
    let name = if protocol.has_type("Message") { "Message" } else { "UserMessage" };
    protocol.canonical(TrimType::Named(name), &mut message);
    plain(&message)
}

/// Returns the user's message, which versions before 0.4.0 call `userMessage`.
fn message_of(holder: &Value) -> Option<&Value> {
    given(holder, "message").or_else(|| given(holder, "userMessage"))
}
