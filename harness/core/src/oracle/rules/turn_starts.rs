//! Checks how turns begin and how long they take: the session of a turn is ready, the host has a reason to
//! start the turn, and the stated duration is not longer than the observed duration.
//!
//! Knows: folded chats and sessions, requests that create chats. Never knows: the content of a turn.

use std::time::Duration;

use crate::wire::json::{Text, Value};

use crate::wire::timestamp;
use crate::wire::validate::MessageOrigin;

use crate::oracle::budget::short;
use crate::oracle::catalogue::Rule;
use crate::oracle::channel::{ChannelFold, ChannelId};
use crate::oracle::check::{CheckFamily, FindingSink};
use crate::oracle::context::OracleContext;
use crate::oracle::memory::ChatMemory;
use crate::oracle::step::{ActionFolding, OracleStep};

/// Upper bound for the requested chats that are remembered.
const MAX_CHATS: usize = 4_096;
/// The amount by which the stated duration of a turn may exceed the observed duration, because the start may
/// have arrived late.
const TOLERANCE: Duration = Duration::from_secs(10);

/// The requested chats, and the starts of the active turns.
#[derive(Default)]
pub(super) struct TurnStarts {
    /// The chats that a client requested. The key is the URI; the value states whether the chat begins with a message.
    made: foldhash::HashMap<Text, bool>,
    started: ChatMemory<Option<StartedTurn>>,
    /// The last session that was reported as not ready, so that each session is reported only once.
    unready: Option<ChannelId>,
}

struct StartedTurn {
    turn: Text,
    at: Duration,
    line: u64,
}

impl CheckFamily for TurnStarts {
    fn step(&mut self, cx: &OracleContext, step: &OracleStep<'_>, out: &mut FindingSink) {
        match step {
            OracleStep::Frame { seen, sender: MessageOrigin::Client, .. } => {
                let message = seen.message().filter(|it| it.method() == Some("createChat"));
                if let Some(message) = message {
                    self.make(message.params());
                }
            }
            OracleStep::Folding(folding) => self.fold(cx, folding, out),
            OracleStep::Restarted | OracleStep::Gap => *self = TurnStarts::default(),
            _ => {}
        }
    }
}

impl TurnStarts {
    fn make(&mut self, params: &Value) {
        let chat = params.get("chat").and_then(Value::as_str);
        if let Some(chat) = chat.filter(|_| self.made.len() < MAX_CHATS) {
            let message = params.get("initialMessage").is_some_and(|it| !it.is_null());
            self.made.insert(short(chat).into(), message);
        }
    }

    fn fold(&mut self, cx: &OracleContext, folding: &ActionFolding<'_>, out: &mut FindingSink) {
        let name = folding.envelope.name;
        let known = matches!(
            name,
            "turnStarted" | "turnResume" | "turnComplete" | "turnCancelled" | "error"
        );
        let fold = cx.folded(folding.channel);
        let Some(fold) = fold.filter(|_| known) else {
            return;
        };
        match name {
            "turnStarted" => {
                self.ready(cx, folding, fold, out);
                self.explained(cx, folding, fold, out);
                self.start(cx, folding, fold, out);
            }
            // A resumed turn began earlier, so its duration cannot be compared.
            "turnResume" => self.started.forget(folding.channel),
            _ => self.end(cx, folding, fold, out),
        }
    }

    /// Judges whether a turn that the host starts has a reason. Invariant E9.
    fn explained(
        &mut self,
        cx: &OracleContext,
        folding: &ActionFolding<'_>,
        fold: &ChannelFold,
        out: &mut FindingSink,
    ) {
        out.seen(Rule::Explained);
        let made = self.made.remove(&*short(folding.envelope.channel));
        let action = folding.envelope.action;
        if folding.envelope.origin.is_some() {
            return;
        }
        let kind = |value: Option<&Value>| {
            value?.get("origin")?.get("kind")?.as_str().map(|kind| kind != "user")
        };
        let queued = action.get("queuedMessageId").is_some_and(|id| !id.is_null());
        let other =
            kind(action.get("message")) == Some(true) || kind(Some(&fold.state)) == Some(true);
        let begins = made == Some(true);
        // If the creation of the chat is not in the transcript, the reason for its first turn is unknown.
        let before = fold.state.get("turns").and_then(Value::as_array);
        let known = made.is_some() || before.is_some_and(|turns| !turns.is_empty());
        if known && !queued && !other && !begins {
            let uri = cx.uri(folding.channel);
            let message = format!(
                "expected a turn that the host starts on `{uri}` to name a queued message or to \
                 have no user's message, found a user's message that no client sent"
            );
            out.broken(Rule::Explained, message, &[fold.base_line, folding.line]);
        }
    }

    fn start(
        &mut self,
        cx: &OracleContext,
        folding: &ActionFolding<'_>,
        fold: &ChannelFold,
        out: &mut FindingSink,
    ) {
        let action = folding.envelope.action;
        if let Some(text) = action.get("startedAt").and_then(Value::as_str) {
            out.seen(Rule::TurnTimes);
            if timestamp::parse(text).is_none() {
                let message = format!(
                    "expected an ISO 8601 time with a time zone as `startedAt`, found `{text}`"
                );
                out.broken(Rule::TurnTimes, message, &[folding.line]);
            }
        }
        let turn = action.get("turnId").and_then(Value::as_str);
        let turn = turn.filter(|_| folding.live).map(Text::from);
        if let Some(started) = self.started.of(folding.channel, fold) {
            *started = turn.map(|turn| StartedTurn { turn, at: cx.now.at, line: folding.line });
        }
    }

    /// Judges the duration of a turn at its end. Invariant E10.
    fn end(
        &mut self,
        cx: &OracleContext,
        folding: &ActionFolding<'_>,
        fold: &ChannelFold,
        out: &mut FindingSink,
    ) {
        let action = folding.envelope.action;
        let turn = action.get("turnId").and_then(Value::as_str);
        let active = fold.state.get("activeTurn").and_then(|turn| turn.get("id")?.as_str());
        if turn.is_none() || turn != active {
            return;
        }
        let started = self.started.of(folding.channel, fold).and_then(Option::take);
        let started = started.filter(|started| Some(started.turn.as_str()) == turn);
        let Some(duration) = action.get("duration").and_then(Value::as_f64) else {
            return;
        };
        out.seen(Rule::TurnTimes);
        let (uri, name) = (cx.uri(folding.channel), folding.envelope.action_type);
        if duration < 0.0 {
            let message = format!(
                "expected a duration of 0 or more in `{name}` on `{uri}`, found {duration}"
            );
            out.broken(Rule::TurnTimes, message, &[folding.line]);
        } else if let Some(started) = started {
            let seen = (cx.now.at.saturating_sub(started.at) + TOLERANCE).as_millis();
            if duration > seen as f64 {
                let message = format!(
                    "expected a duration of at most {seen} ms in `{name}` on `{uri}`, the observed \
                     length of the turn plus a tolerance, found {duration}"
                );
                out.broken(Rule::TurnTimes, message, &[started.line, folding.line]);
            }
        }
    }

    /// Judges whether a turn starts when its session is ready. Invariant E8.
    fn ready(
        &mut self,
        cx: &OracleContext,
        folding: &ActionFolding<'_>,
        fold: &ChannelFold,
        out: &mut FindingSink,
    ) {
        let own = Some(folding.channel).filter(|_| fold.state.get("lifecycle").is_some());
        let owner = own.or(cx.channel(folding.channel).and_then(|channel| channel.owner));
        let session = owner.and_then(|id| Some((id, cx.channel(id)?)));
        let state = session.and_then(|(_, session)| session.fold.as_ref());
        let Some(((id, session), state)) = session.zip(state) else {
            return;
        };
        // The action that makes the session ready may arrive later on the session's channel.
        let lifecycle = state.state.get("lifecycle").and_then(Value::as_str);
        let Some(lifecycle) =
            lifecycle.filter(|_| folding.envelope.seq <= cx.known_to(id).saturating_add(1))
        else {
            return;
        };
        out.seen(Rule::AfterReady);
        if lifecycle != "ready" && self.unready.replace(id) != Some(id) {
            let message = format!(
                "expected no turn of `{}` before its session `{}` is `ready`, found one while it \
                 is `{lifecycle}`",
                cx.uri(folding.channel),
                session.uri
            );
            let lines = [state.base_line, folding.line];
            out.broken(Rule::AfterReady, message, &lines);
        }
    }
}
