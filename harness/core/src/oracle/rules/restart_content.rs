//! The content that a user sees in a session, a chat, a terminal, the automations or the annotations, and the differences
//! between the content before a restart and after it.
//!
//! Each difference has a class: lost, changed, or previous value. The class is "previous value" if the channel had the
//! new value at an earlier time.
//!
//! Knows: states. Never knows: connections, the time of a restart.
//!
//! Start at [`KeptContent::of`].

use std::collections::VecDeque;
use std::hash::{BuildHasher, Hash, Hasher};

use foldhash::fast::FixedState;

use crate::wire::json::Value;
use crate::wire::protocol::Protocol;

use crate::oracle::members::{given, list, text};

/// Upper bound for the turns and tool calls of one channel that are compared.
pub(super) const MAX_ITEMS: usize = 20_000;
/// Upper bound for the remembered earlier values of one channel.
const MAX_EARLIER: usize = 64;
/// Upper bound for the characters of a terminal's output that are compared.
const MAX_OUTPUT: usize = 64 << 10;

/// The members of a channel's state that a person sets or sees, besides the turns.
const MEMBERS: &[&str] = &["title", "isRead", "isArchived", "workingDirectories", "draft", "cwd"];
/// The states of turns that cannot become active again.
const ENDED_TURNS: &[&str] = &["complete", "cancelled"];
/// The final states of tool calls.
const ENDED_CALLS: &[&str] = &["completed", "cancelled"];

/// The earlier values of the members of a channel's state. Each value is stored as the index of its member in
/// [`MEMBERS`] and the hash of the value.
#[derive(Default)]
pub(super) struct EarlierValues(VecDeque<(usize, u64)>);

impl EarlierValues {
    /// Remembers the values in a state, or the new values in an action.
    pub(super) fn add(&mut self, state: &Value) {
        for (place, hash) in members_of(state).into_iter().enumerate() {
            let Some(hash) = hash else { continue };
            if self.0.contains(&(place, hash)) {
                continue;
            }
            if self.0.len() >= MAX_EARLIER {
                self.0.pop_front();
            }
            self.0.push_back((place, hash));
        }
    }

    /// Returns whether an action sets one of [`MEMBERS`].
    pub(super) fn concerns(action: &Value) -> bool {
        MEMBERS.iter().any(|name| given(action, name).is_some())
    }
}

/// The part of a channel's content that a restart must or should keep.
pub(super) struct KeptContent {
    /// Whether the content includes every action that clients have received, and every dispatch on the channel was
    /// settled. If a dispatch was not settled, the host may have applied it although its echo was lost.
    pub(super) is_settled: bool,
    pub(super) protocol: &'static Protocol,
    /// The line of the last message that changed the content.
    pub(super) line: u64,
    /// The hash of the value of each member in [`MEMBERS`]; `None` for a member without a value.
    members: Vec<Option<u64>>,
    /// The earlier values of the members in [`MEMBERS`].
    pub(super) earlier: EarlierValues,
    turns: Vec<KeptTurn>,
    calls: Vec<KeptCall>,
    active: Option<String>,
    /// The hash of the message of the active turn.
    asked_now: Option<u64>,
    /// Whether the state has only the latest turns (`turnsNextCursor`).
    is_window: bool,
    chats: Vec<String>,
    /// The hashes of the messages in the queue, in the order of the queue.
    queue: Vec<u64>,
    /// The automations or annotations of the channel: the id of each, and the hash of the part that a person sees.
    entries: Vec<(String, u64)>,
    /// The beginning of a terminal's output.
    output: String,
}

/// A turn that has ended.
struct KeptTurn {
    id: String,
    state: String,
    /// The hash of the text of the message that the turn answers.
    asked: u64,
    /// The hash of each part of the response.
    answered: Vec<u64>,
}

struct KeptCall {
    id: String,
    status: String,
    has_succeeded: bool,
}

impl KeptContent {
    pub(super) fn of(protocol: &'static Protocol, state: &Value, line: u64) -> KeptContent {
        let id = |turn: &Value| text(turn, "id").unwrap_or_default().to_owned();
        let active = given(state, "activeTurn");
        let turns = list(state, "turns");
        let kept = |turn: &Value| KeptTurn {
            id: id(turn),
            state: text(turn, "state").unwrap_or_default().to_owned(),
            asked: hash_of(&asked(turn)),
            answered: answered(turn),
        };
        let calls = turns.iter().chain(active).flat_map(|turn| list(turn, "responseParts"));
        let calls = calls.filter_map(|part| given(part, "toolCall")).filter_map(|call| {
            Some(KeptCall {
                id: text(call, "toolCallId")?.to_owned(),
                status: text(call, "status")?.to_owned(),
                has_succeeded: given(call, "success") == Some(&Value::Bool(true)),
            })
        });
        let uris = list(state, "chats").iter().filter_map(|chat| text(chat, "resource"));
        KeptContent {
            is_settled: true,
            protocol,
            line,
            members: members_of(state),
            earlier: EarlierValues::default(),
            turns: turns.iter().map(kept).collect(),
            calls: calls.take(MAX_ITEMS).collect(),
            active: active.map(id),
            asked_now: active.map(|turn| hash_of(&asked(turn))),
            is_window: given(state, "turnsNextCursor").is_some(),
            chats: uris.map(str::to_owned).collect(),
            queue: list(state, "queuedMessages").iter().map(|one| hash_of(&asked(one))).collect(),
            entries: list(state, "entries")
                .iter()
                .chain(list(state, "annotations"))
                .map(entry)
                .collect(),
            output: output(state),
        }
    }

    pub(super) fn items(&self) -> usize {
        self.turns.len()
            + self.calls.len()
            + self.chats.len()
            + self.queue.len()
            + self.entries.len()
            + usize::from(!self.output.is_empty())
    }

    /// Returns whether a restart could lose any of the content.
    pub(super) fn has_anything(&self) -> bool {
        self.items() > 0 || self.members.iter().any(Option::is_some)
    }

    /// Returns whether the content has messages that could be shown twice.
    pub(super) fn has_messages(&self) -> bool {
        !self.turns.is_empty() || !self.queue.is_empty()
    }

    /// Returns a sentence for each message that `after` shows more often than this content, in the turns and in the
    /// queue.
    pub(super) fn repeated_by(&self, after: &KeptContent) -> Vec<String> {
        let shown = |content: &KeptContent, active: Option<u64>| {
            let mut counts: foldhash::HashMap<u64, usize> = Default::default();
            let turns = content.turns.iter().map(|turn| turn.asked);
            for message in turns.chain(active).chain(content.queue.iter().copied()) {
                *counts.entry(message).or_default() += 1;
            }
            counts
        };
        if self.is_window {
            return Vec::new();
        }
        // The message of the active turn is not judged, because a host may start the interrupted turn again.
        let before = shown(self, None);
        let nothing = hash_of(&Value::Null);
        let more = |(message, count): (u64, usize)| {
            let was = before.get(&message).copied().unwrap_or_default();
            let is_repeated = was > 0 && count > was && message != nothing;
            let interrupted = self.asked_now == Some(message);
            (is_repeated && !interrupted).then_some((was, count))
        };
        let mut repeated: Vec<(usize, usize)> =
            shown(after, after.asked_now).into_iter().filter_map(more).collect();
        // The order of a map differs from run to run, so the sentences are sorted.
        repeated.sort_unstable();
        repeated
            .into_iter()
            .map(|(was, now)| {
                format!("found a message {now} times that was shown {was} times before")
            })
            .collect()
    }

    /// Returns the number of ended turns and calls that also occur in the later content `after`, ended or not.
    pub(super) fn decisions_in(&self, after: &KeptContent) -> usize {
        let is_active = |turn: &KeptTurn| after.active.as_ref() == Some(&turn.id);
        let turns = self.turns.iter().zip(self.places(after)).filter(|(turn, place)| {
            ENDED_TURNS.contains(&turn.state.as_str()) && (place.is_some() || is_active(turn))
        });
        let calls = after.calls_by_id();
        let is_shown = |call: &&KeptCall| {
            ENDED_CALLS.contains(&call.status.as_str()) && calls.contains_key(&call.id[..])
        };
        turns.count() + self.calls.iter().filter(is_shown).count()
    }

    fn calls_by_id(&self) -> foldhash::HashMap<&str, &KeptCall> {
        self.calls.iter().map(|call| (&call.id[..], call)).collect()
    }

    /// Returns a sentence for each turn or tool call that had ended in this content, before the restart, and has not
    /// ended in the content `after` the restart.
    pub(super) fn undone_by(&self, after: &KeptContent) -> Vec<String> {
        let mut undone = Vec::new();
        let is_ended = |turn: &&KeptTurn| ENDED_TURNS.contains(&turn.state.as_str());
        for turn in self.turns.iter().filter(is_ended) {
            if after.active.as_ref() == Some(&turn.id) {
                undone.push(format!(
                    "found the turn `{}` active again, which was `{}` before",
                    turn.id, turn.state
                ));
            }
        }
        let calls = after.calls_by_id();
        for was in self.calls.iter().filter(|call| ENDED_CALLS.contains(&call.status.as_str())) {
            let Some(now) = calls.get(&was.id[..]) else { continue };
            // A host may store a denied call as a failed call, but not as a call that succeeded.
            let has_run = was.status == "cancelled" && now.has_succeeded;
            if has_run || !ENDED_CALLS.contains(&now.status.as_str()) {
                let (id, now, was) = (&was.id, &now.status, &was.status);
                undone.push(format!(
                    "found the tool call `{id}` as `{now}`, which was `{was}` before"
                ));
            }
        }
        undone
    }

    /// Returns, for each turn, the index of the same turn in the later content `after`: the turn with the same id or,
    /// if there is none, the next turn with the same message.
    fn places(&self, after: &KeptContent) -> Vec<Option<usize>> {
        let by_id: foldhash::HashMap<&str, usize> =
            after.turns.iter().enumerate().map(|(at, turn)| (&turn.id[..], at)).collect();
        let mut by_message: foldhash::HashMap<u64, VecDeque<usize>> = Default::default();
        for (at, turn) in after.turns.iter().enumerate() {
            by_message.entry(turn.asked).or_default().push_back(at);
        }
        let mut next = 0;
        let mut place = |turn: &KeptTurn| {
            let mut same = || {
                let places = by_message.get_mut(&turn.asked)?;
                while places.front().is_some_and(|at| *at < next) {
                    places.pop_front();
                }
                places.front().copied()
            };
            let at = by_id.get(&turn.id[..]).copied().or_else(&mut same)?;
            next = next.max(at + 1);
            Some(at)
        };
        self.turns.iter().map(&mut place).collect()
    }

    /// Returns a sentence for each difference between two contents that a person would notice.
    pub(super) fn differences(&self, after: &KeptContent) -> Vec<String> {
        let mut differences = Vec::new();
        let values = self.members.iter().zip(&after.members).enumerate();
        for (name, (place, (was, now))) in MEMBERS.iter().zip(values) {
            match (was, now) {
                (Some(_), None) => differences.push(format!("found no `{name}`: lost")),
                (Some(was), Some(now)) if was != now => {
                    let is_earlier = self.earlier.0.contains(&(place, *now));
                    differences.push(match is_earlier {
                        true => format!("found an earlier value of `{name}`: previous value"),
                        false => format!("found another `{name}`: changed"),
                    });
                }
                _ => {}
            }
        }
        let places = self.places(after);
        // A snapshot may leave out the oldest turns.
        let first = places.iter().position(Option::is_some);
        let skipped = if after.turns.is_empty() { 0 } else { first.unwrap_or_default() };
        let mut last = None;
        for (turn, place) in self.turns.iter().zip(&places).skip(skipped) {
            let id = &turn.id;
            let Some((at, now)) = place.and_then(|at| Some((at, after.turns.get(at)?))) else {
                if after.active.as_ref() != Some(id) {
                    differences.push(format!("found no turn `{id}`: lost"));
                }
                continue;
            };
            if last.is_some_and(|last| at < last) {
                differences.push(format!(
                    "found the turn `{id}` at another place in the history: changed"
                ));
            }
            last = Some(at);
            if now.id != *id {
                differences
                    .push(format!("found the turn `{id}` under the id `{}`: changed", now.id));
            }
            if now.state != turn.state {
                let (was, now) = (&turn.state, &now.state);
                differences.push(format!(
                    "found the turn `{id}` as `{now}`, which was `{was}` before: changed"
                ));
            } else if now.answered != turn.answered {
                differences.push(match turn.answered.starts_with(&now.answered) {
                    true if now.answered.is_empty() => {
                        format!("found no response in the turn `{id}`: lost")
                    }
                    true => {
                        let (all, kept) = (turn.answered.len(), now.answered.len());
                        format!(
                            "found the first {kept} of {all} parts of the response in turn `{id}`: previous value"
                        )
                    }
                    false => format!("found another response in the turn `{id}`: changed"),
                });
            }
        }
        let shown: foldhash::HashSet<&String> = after.chats.iter().collect();
        for chat in self.chats.iter().filter(|chat| !shown.contains(chat)) {
            differences.push(format!("found no chat `{chat}`: lost"));
        }
        // A restarted host may have started turns with queued messages.
        let asked = after.turns.iter().map(|turn| turn.asked).chain(after.asked_now);
        let shown: foldhash::HashSet<u64> = asked.chain(after.queue.iter().copied()).collect();
        let lost = self.queue.iter().filter(|message| !shown.contains(message)).count();
        if lost > 0 {
            let all = self.queue.len();
            differences.push(format!("found {lost} of {all} queued messages missing: lost"));
        }
        let entries: foldhash::HashMap<&String, u64> =
            after.entries.iter().map(|(id, hash)| (id, *hash)).collect();
        for (id, was) in &self.entries {
            match entries.get(id) {
                None => differences.push(format!("found no entry `{id}`: lost")),
                Some(now) if now != was => {
                    differences.push(format!("found another entry `{id}`: changed"));
                }
                Some(_) => {}
            }
        }
        if self.output != after.output {
            let (all, kept) = (self.output.len(), after.output.len());
            differences.push(match self.output.starts_with(&after.output) {
                true if kept == 0 => "found no output of the terminal: lost".to_owned(),
                true => {
                    format!("found {kept} of {all} bytes of the terminal's output: previous value")
                }
                // When the terminal exited, it may have printed more output.
                false if after.output.starts_with(&self.output) => return differences,
                false => "found other output of the terminal: changed".to_owned(),
            });
        }
        differences
    }
}

/// Returns the hash of the value of each member in [`MEMBERS`] in a state.
fn members_of(state: &Value) -> Vec<Option<u64>> {
    // Up to 0.3.0 a session has its title in a summary.
    let summary = given(state, "summary");
    let member = |name: &&str| given(state, name).or_else(|| given(summary?, name));
    MEMBERS.iter().map(|name| member(name).map(hash_of)).collect()
}

/// Returns the beginning of a terminal's output, including the text of its commands.
fn output(state: &Value) -> String {
    let pieces = |part| ["value", "commandLine", "output"].map(|name| text(part, name));
    let pieces = list(state, "content").iter().flat_map(pieces).flatten();
    pieces.flat_map(str::chars).take(MAX_OUTPUT).collect()
}

/// Returns the id of an automation or an annotation, and the hash of what a person has written.
fn entry(entry: &Value) -> (String, u64) {
    let id = text(entry, "id").or_else(|| text(entry, "resource")).unwrap_or_default();
    let mut hasher = FixedState::default().build_hasher();
    match given(entry, "definition") {
        Some(definition) => hash_of(definition).hash(&mut hasher),
        None => {
            given(entry, "resolved").map(hash_of).hash(&mut hasher);
            list(entry, "entries").iter().filter_map(|one| given(one, "text")).for_each(|text| {
                hash_of(text).hash(&mut hasher);
            });
        }
    }
    (id.to_owned(), hasher.finish())
}

/// Returns the text of a turn's message.
fn asked(turn: &Value) -> Value {
    let message = given(turn, "message").or_else(|| given(turn, "userMessage"));
    message.and_then(|message| given(message, "text")).cloned().unwrap_or_default()
}

/// Returns the hash of each part of a turn's response. Ids of parts, times and usage do not count: a person does not
/// see them.
fn answered(turn: &Value) -> Vec<u64> {
    let hash = |part: &Value| {
        let mut hasher = FixedState::default().build_hasher();
        text(part, "kind").hash(&mut hasher);
        text(part, "content").hash(&mut hasher);
        if let Some(call) = given(part, "toolCall") {
            text(call, "toolCallId").hash(&mut hasher);
            text(call, "status").hash(&mut hasher);
            given(call, "content").map(hash_of).hash(&mut hasher);
        }
        hasher.finish()
    };
    list(turn, "responseParts").iter().map(hash).collect()
}

fn hash_of(value: &Value) -> u64 {
    FixedState::default().hash_one(value.to_text())
}
