//! The legal rewrites that apply only to conversations with agents.
//!
//! Knows: captures, the meaning of their frames. Never knows: rules.
//!
//! Start at [`AcpRewrite::apply`].

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::dice::Dice;
use crate::transcript::line::TranscriptLine;
use crate::transcript::{ConnectionEvent, SeenFrame};
use crate::wire::built_in::built_in;
use crate::wire::json::{Map, Text, Value, json};
use crate::wire::message::Message;

use super::super::capture::{edit, message_of, put_message};
use super::super::reading::{CaptureReading, FrameRole, text};
use super::prompts::{prompt_at, report_of};

/// The first identifier of added requests.
const FIRST: i64 = 8_000_001;
/// The maximum number of added messages.
const MOST: usize = 6;
/// The members in which `_meta` is not added, because their content is arbitrary or belongs to an error.
const OPEN: &[&str] =
    &["rawInput", "rawOutput", "_meta", "data", "error", "schema", "requestedSchema"];
/// The members of a tool call that an update may omit or set to null.
const OPTIONAL: &[&str] = &["title", "kind", "status", "content", "locations", "name"];

/// A legal rewrite of a conversation with an agent.
#[derive(Clone, Copy, Debug)]
pub enum AcpRewrite {
    /// Adds `_meta` to objects in this percentage of the agent's frames.
    Meta(usize),
    /// Adds a null `_meta` to objects.
    MetaNull,
    /// Splits an update of a tool call with several members in two.
    SplitUpdates,
    /// Reports a new tool call with its title only; an update contains the rest.
    SplitReports,
    /// Repeats each list member of a tool call in an additional update.
    RepeatLists,
    /// Adds all previously reported members that are still valid to each update of a tool call.
    RepeatState,
    /// Repeats each status of a tool call.
    RepeatStatus,
    /// Sets members that an update of a tool call omits to null.
    Nulls,
    /// Adds the default values of members that a new tool call omits.
    Defaults,
    /// Removes the members of a new tool call that have their default value.
    WithoutDefaults,
    /// Adds content about the progress of a running tool call, and removes this content with the next update.
    Progress,
    /// Splits a chunk of text in two.
    SplitChunks,
    /// Merges two consecutive text chunks.
    MergeChunks,
    /// Adds the message's identifier to its chunks.
    MessageIds,
    /// Adds these updates at random places in a session.
    Updates(&'static [&'static str]),
    /// Adds these updates at random places in a turn.
    Chunks(&'static [&'static str]),
    /// Adds these notifications at random places.
    Notices(&'static [&'static str]),
    /// Adds extension requests of the agent, which the client refuses.
    OwnRequests,
    /// Reverses the options of permission requests.
    OptionsTurned,
    /// Adds an option to permission requests.
    MoreOptions,
    /// Replaces the stop reason of prompts that were not cancelled by this stop reason.
    StopReason(&'static str),
    /// Adds raw output to the last update of a tool call.
    RawOutput,
    /// Adds data to errors.
    ErrorData,
    /// Adds a second session of the client with a prompt.
    AnotherSession,
    /// Adds a second connection of the client with a prompt.
    AnotherConnection,
}

impl AcpRewrite {
    /// Rewrites the lines of a conversation.
    pub fn apply(self, lines: &mut Vec<TranscriptLine>, dice: &mut Dice) {
        match self {
            AcpRewrite::Meta(percent) => each(lines, &mut |value| {
                if dice.chance(percent) {
                    with_meta(value, &json!({"x.check/extension": [1, {"as": "it is"}]}));
                }
            }),
            AcpRewrite::MetaNull => each(lines, &mut |value| with_meta(value, &Value::Null)),
            AcpRewrite::SplitUpdates => replaced(lines, &mut |value| split_update(value, dice)),
            AcpRewrite::SplitReports => replaced(lines, &mut |value| split_report(value)),
            AcpRewrite::RepeatLists => replaced(lines, &mut |value| repeat_lists(value)),
            AcpRewrite::RepeatState => repeat_state(lines),
            AcpRewrite::RepeatStatus => replaced(lines, &mut |value| {
                let report = own_report(value)?;
                let status = report.get("status").filter(|it| it.is_string())?.clone();
                Some(vec![value.clone(), of_call(value, [("status", status)])?])
            }),
            AcpRewrite::Nulls => each(lines, &mut |value| {
                if update_of(value, "tool_call_update").is_none() {
                    return;
                }
                for member in OPTIONAL {
                    let map = value.pointer_mut("/params/update").and_then(Value::as_object_mut);
                    if let Some(map) = map.filter(|map| map.get(member).is_none()) {
                        map.insert(*member, Value::Null);
                    }
                }
            }),
            AcpRewrite::Defaults => each(lines, &mut |value| defaults(value, true)),
            AcpRewrite::WithoutDefaults => each(lines, &mut |value| defaults(value, false)),
            AcpRewrite::Progress => replaced(lines, &mut |value| progress(value)),
            AcpRewrite::SplitChunks => replaced(lines, &mut |value| split_chunk(value, dice)),
            AcpRewrite::MergeChunks => merge_chunks(lines),
            AcpRewrite::MessageIds => each(lines, &mut |value| {
                if chunk_text(value).is_some()
                    && let Some(update) = value.pointer_mut("/params/update")
                {
                    put(update, "messageId", json!("message-1"));
                }
            }),
            AcpRewrite::Updates(updates) | AcpRewrite::Chunks(updates) => {
                let in_turns = matches!(self, AcpRewrite::Chunks(_));
                add(lines, in_turns, dice, &mut |session, number| {
                    let update = updates[number % updates.len()];
                    let update = built_in(update, Value::read(update));
                    let params = json!({"sessionId": session, "update": update});
                    Some(vec![received(Message::notification("session/update", params))])
                });
            }
            AcpRewrite::Notices(names) => add(lines, false, dice, &mut |_, number| {
                let name = names[number % names.len()];
                Some(vec![received(Message::notification(name, json!({"x": 1})))])
            }),
            AcpRewrite::OwnRequests => add(lines, false, dice, &mut |session, number| {
                let id = FIRST + number as i64;
                let asks = Message::request(id, "_x.check/ask", json!({"sessionId": session}));
                let refusal = Message::failure(json!(id), -32601, "no such method", Value::Null);
                Some(vec![received(asks), sent(refusal)])
            }),
            AcpRewrite::OptionsTurned => each(lines, &mut |value| {
                if let Some(options) = options_of(value) {
                    options.reverse();
                }
            }),
            AcpRewrite::MoreOptions => each(lines, &mut |value| {
                if let Some(options) = options_of(value) {
                    let option =
                        json!({"optionId": "once-more", "name": "This time", "kind": "allow_once"});
                    options.push(option);
                }
            }),
            AcpRewrite::StopReason(reason) => stop_reasons(lines, reason),
            AcpRewrite::RawOutput => each(lines, &mut |value| {
                let ended = own_report(value).is_some_and(|it| {
                    matches!(text(it, "status").as_str(), "completed" | "failed")
                });
                if let Some(update) = value.pointer_mut("/params/update").filter(|_| ended) {
                    put(update, "rawOutput", json!([0, null, {"any": "value"}]));
                }
            }),
            AcpRewrite::ErrorData => each(lines, &mut |value| {
                if let Some(error) = value.get_mut("error") {
                    put(error, "data", json!({"details": ["more"]}));
                }
            }),
            AcpRewrite::AnotherSession => another_session(lines, dice),
            AcpRewrite::AnotherConnection => another_connection(lines, dice),
        }
    }
}

/// Changes each message of the agent in place.
fn each(lines: &mut [TranscriptLine], change: &mut dyn FnMut(&mut Value)) {
    for line in lines.iter_mut().filter(|line| matches!(line.event, ConnectionEvent::Received(_))) {
        edit(line, |value| {
            change(value);
            true
        });
    }
}

/// Replaces each message of the agent for which `change` returns messages.
fn replaced(lines: &mut Vec<TranscriptLine>, change: &mut dyn FnMut(&Value) -> Option<Vec<Value>>) {
    let mut new = Vec::with_capacity(lines.len());
    for line in lines.drain(..) {
        let agent = matches!(line.event, ConnectionEvent::Received(_));
        let messages = message_of(&line).filter(|_| agent).and_then(&mut *change);
        match messages {
            None => new.push(line),
            Some(messages) => new.extend(messages.iter().map(|message| {
                let mut line = line.clone();
                put_message(&mut line, message);
                line
            })),
        }
    }
    *lines = new;
}

fn put(value: &mut Value, member: &str, new: Value) {
    if let Some(map) = value.as_object_mut() {
        map.insert(Text::from(member.to_owned()), new);
    }
}

fn with_meta(value: &mut Value, meta: &Value) {
    for inside in ["params", "result"] {
        if let Some(value) = value.get_mut(inside) {
            extended(value, meta);
        }
    }
}

fn extended(value: &mut Value, meta: &Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| extended(item, meta)),
        Value::Object(map) => {
            for (name, inner) in map.iter_mut() {
                if !OPEN.contains(&name.as_str()) {
                    extended(inner, meta);
                }
            }
            if map.get("_meta").is_none() {
                map.insert("_meta", meta.clone());
            }
        }
        _ => {}
    }
}

/// Returns the update of a message if it has this kind.
fn update_of<'a>(value: &'a Value, kind: &str) -> Option<&'a Value> {
    let update = value.pointer("/params/update")?;
    (text(update, "sessionUpdate") == kind).then_some(update)
}

/// Returns the report of a tool call if it is a separate update, not a part of a request.
fn own_report(value: &Value) -> Option<&Value> {
    report_of(value).filter(|_| value.pointer("/params/update").is_some())
}

/// Returns an update of the message's tool call with these members.
fn of_call<const N: usize>(value: &Value, members: [(&str, Value); N]) -> Option<Value> {
    let mut message = value.clone();
    let report = own_report(value)?;
    let mut update = Map::new();
    update.insert("sessionUpdate", json!("tool_call_update"));
    update.insert("toolCallId", report.get("toolCallId")?.clone());
    for (name, member) in members {
        update.insert(Text::from(name.to_owned()), member);
    }
    *message.pointer_mut("/params/update")? = Value::Object(update);
    Some(message)
}

fn split_update(value: &Value, dice: &mut Dice) -> Option<Vec<Value>> {
    let update = update_of(value, "tool_call_update")?.as_object()?;
    let kept = |name: &str| name == "sessionUpdate" || name == "toolCallId";
    let free: Vec<&str> =
        update.iter().map(|(name, _)| name.as_str()).filter(|name| !kept(name)).collect();
    if free.len() < 2 {
        return None;
    }
    let at = 1 + dice.below(free.len() - 1);
    let part = |names: &[&str]| {
        let mut message = value.clone();
        let members =
            update.iter().filter(|(name, _)| kept(name) || names.contains(&name.as_str()));
        let members = members.map(|(name, value)| (name.clone(), value.clone()));
        *message.pointer_mut("/params/update")? = Value::Object(members.collect::<Map>());
        Some(message)
    };
    Some(vec![part(&free[..at])?, part(&free[at..])?])
}

fn split_report(value: &Value) -> Option<Vec<Value>> {
    const FIRST: [&str; 4] = ["sessionUpdate", "toolCallId", "title", "name"];
    let report = update_of(value, "tool_call")?.as_object()?;
    let part = |first: bool| {
        let members = report.iter().filter(|(name, _)| FIRST.contains(&name.as_str()) == first);
        members.map(|(name, value)| (name.clone(), value.clone())).collect::<Map>()
    };
    let mut message = value.clone();
    *message.pointer_mut("/params/update")? = Value::Object(part(true));
    let mut rest = of_call(value, [])?;
    let update = rest.pointer_mut("/params/update").and_then(Value::as_object_mut)?;
    for (name, member) in part(false).iter() {
        update.insert(name.clone(), member.clone());
    }
    Some(vec![message, rest])
}

fn repeat_lists(value: &Value) -> Option<Vec<Value>> {
    let report = own_report(value)?;
    let mut all = vec![value.clone()];
    for name in ["content", "locations"] {
        if let Some(list) = report.get(name).filter(|it| it.is_array()) {
            all.push(of_call(value, [(name, list.clone())])?);
        }
    }
    Some(all)
}

/// Adds to each update all members that earlier updates reported.
fn repeat_state(lines: &mut [TranscriptLine]) {
    let mut states: BTreeMap<(String, String, String), Map> = BTreeMap::new();
    for line in lines.iter_mut().filter(|line| matches!(line.event, ConnectionEvent::Received(_))) {
        let conn = line.conn.clone();
        edit(line, |value| {
            let session = value.pointer("/params/sessionId").and_then(Value::as_str);
            let session = session.unwrap_or_default().to_owned();
            let Some(report) = own_report(value).and_then(Value::as_object).cloned() else {
                return false;
            };
            let id = report.get("toolCallId").map(Value::to_text).unwrap_or_default();
            let state = states.entry((conn, session, id)).or_default();
            for (name, member) in report.iter().filter(|(_, member)| !member.is_null()) {
                state.insert(name.clone(), member.clone());
            }
            if let Some(update) = value.pointer_mut("/params/update") {
                *update = Value::Object(state.clone());
            }
            true
        });
    }
}

fn defaults(value: &mut Value, given: bool) {
    if update_of(value, "tool_call").is_none() {
        return;
    }
    let Some(map) = value.pointer_mut("/params/update").and_then(Value::as_object_mut) else {
        return;
    };
    let meant = [
        ("kind", json!("other")),
        ("status", json!("pending")),
        ("content", json!([])),
        ("locations", json!([])),
    ];
    for (name, default) in meant {
        match map.get(name) {
            None if given => drop(map.insert(name, default)),
            Some(found) if !given && *found == default => drop(map.remove(name)),
            _ => {}
        }
    }
}

fn progress(value: &Value) -> Option<Vec<Value>> {
    let report = update_of(value, "tool_call_update")?;
    if text(report, "status") != "in_progress" || report.get("content").is_some() {
        return None;
    }
    let block = json!([{"type": "content", "content": {"type": "text", "text": "half of it"}}]);
    Some(vec![
        value.clone(),
        of_call(value, [("content", block)])?,
        of_call(value, [("content", json!([]))])?,
    ])
}

fn chunk_text(value: &Value) -> Option<&str> {
    let update = value.pointer("/params/update")?;
    let kind = text(update, "sessionUpdate");
    kind.ends_with("_message_chunk").then(|| update.pointer("/content/text")?.as_str())?
}

fn with_text(value: &Value, new: &str) -> Option<Value> {
    let mut message = value.clone();
    *message.pointer_mut("/params/update/content/text")? = json!(new);
    Some(message)
}

fn split_chunk(value: &Value, dice: &mut Dice) -> Option<Vec<Value>> {
    let chars: Vec<char> = chunk_text(value)?.chars().collect();
    let at = dice.below(chars.len() + 1);
    let part = |chars: &[char]| with_text(value, &chars.iter().collect::<String>());
    Some(vec![part(&chars[..at])?, part(&chars[at..])?])
}

/// Merges consecutive chunks of the same message.
fn merge_chunks(lines: &mut Vec<TranscriptLine>) {
    let mut number = 0;
    while number + 1 < lines.len() {
        let merged = {
            let (one, two) = (&lines[number], &lines[number + 1]);
            let values = message_of(one).zip(message_of(two)).filter(|_| one.conn == two.conn);
            values.and_then(|(one, two)| {
                let whole = format!("{}{}", chunk_text(one)?, chunk_text(two)?);
                let (one, two) = (with_text(one, &whole)?, with_text(two, &whole)?);
                (one == two).then_some(two)
            })
        };
        match merged {
            Some(message) => {
                put_message(&mut lines[number + 1], &message);
                lines.remove(number);
            }
            None => number += 1,
        }
    }
}

fn received(message: Message) -> ConnectionEvent {
    ConnectionEvent::Received(Arc::new(SeenFrame::of(message)))
}

fn sent(message: Message) -> ConnectionEvent {
    ConnectionEvent::Sent(Arc::new(SeenFrame::of(message)))
}

/// Returns the lines after which a message can be added: lines at which a session exists, each with the id of the
/// session. With `in_turns`, returns only lines within a turn.
fn places(lines: &[TranscriptLine], in_turns: bool) -> Vec<(usize, String)> {
    let reading = CaptureReading::of(lines);
    let mut sessions: BTreeMap<usize, String> = BTreeMap::new();
    let mut places = Vec::new();
    for (number, fact) in reading.facts.iter().enumerate() {
        let value = message_of(&lines[number]);
        if fact.role == FrameRole::Result
            && fact.name == "session/new"
            && let Some(id) = value.and_then(|it| it.pointer("/result/sessionId")?.as_str())
        {
            sessions.insert(fact.life, id.to_owned());
        }
        let in_turn = |number| prompt_at(&reading, number).is_some_and(|it| it.answered > number);
        let fits = !in_turns || in_turn(number);
        let there = value.filter(|_| fits).and_then(|_| sessions.get(&fact.life));
        places.extend(there.map(|session| (number, session.clone())));
    }
    places
}

/// Adds events of a session after randomly chosen lines.
fn add(
    lines: &mut Vec<TranscriptLine>,
    in_turns: bool,
    dice: &mut Dice,
    events: &mut dyn FnMut(&str, usize) -> Option<Vec<ConnectionEvent>>,
) {
    for number in 0..=dice.below(MOST) {
        let places = places(lines, in_turns);
        let Some((at, session)) = dice.pick(&places) else { return };
        let Some(events) = events(session, number) else { return };
        let like = lines[*at].clone();
        for (place, event) in (at + 1..).zip(events) {
            lines.insert(place, TranscriptLine { event, ..like.clone() });
        }
    }
}

fn options_of(value: &mut Value) -> Option<&mut Vec<Value>> {
    match value.pointer_mut("/params/options") {
        Some(Value::Array(options)) => Some(options),
        _ => None,
    }
}

fn stop_reasons(lines: &mut [TranscriptLine], reason: &str) {
    let whole: Vec<usize> = {
        let reading = CaptureReading::of(lines);
        let ends = |line: &usize| {
            let fact = &reading.facts[*line];
            fact.role == FrameRole::Result
                && fact.name == "session/prompt"
                && prompt_at(&reading, *line).is_some_and(|it| it.is_whole())
        };
        (0..lines.len()).filter(ends).collect()
    };
    for line in whole {
        edit(&mut lines[line], |value| {
            let found = value.pointer_mut("/result/stopReason");
            found.map(|it| *it = json!(reason)).is_some()
        });
    }
}

/// Returns the messages of a short turn in a new session, in both directions.
fn short_turn(session: &str, first: i64) -> Vec<ConnectionEvent> {
    let prompt = json!({"sessionId": session, "prompt": [{"type": "text", "text": "Hello"}]});
    let content = json!({"type": "text", "text": "Hello"});
    let update = json!({"sessionUpdate": "agent_message_chunk", "content": content});
    let updated = json!({"sessionId": session, "update": update});
    vec![
        sent(Message::request(
            first,
            "session/new",
            json!({"cwd": "/elsewhere", "mcpServers": []}),
        )),
        received(Message::success(json!(first), json!({"sessionId": session}))),
        sent(Message::request(first + 1, "session/prompt", prompt)),
        received(Message::notification("session/update", updated)),
        received(Message::success(json!(first + 1), json!({"stopReason": "end_turn"}))),
    ]
}

fn another_session(lines: &mut Vec<TranscriptLine>, dice: &mut Dice) {
    let places = places(lines, false);
    let Some((from, _)) = dice.pick(&places) else { return };
    let conn = lines[*from].conn.clone();
    spread(lines, *from, &conn, short_turn("another-session", FIRST), dice);
}

fn another_connection(lines: &mut Vec<TranscriptLine>, dice: &mut Dice) {
    if lines.is_empty() {
        return;
    }
    let from = dice.below(lines.len());
    let greeting = json!({"protocolVersion": 1, "clientCapabilities": {}});
    let mut events = vec![
        ConnectionEvent::open("another"),
        sent(Message::request(1, "initialize", greeting)),
        received(Message::success(json!(1), json!({"protocolVersion": 1}))),
    ];
    events.extend(short_turn("another-session", 2));
    spread(lines, from, "another", events, dice);
}

/// Inserts the events of a connection after a line, in the given order, at random distances.
fn spread(
    lines: &mut Vec<TranscriptLine>,
    from: usize,
    conn: &str,
    events: Vec<ConnectionEvent>,
    dice: &mut Dice,
) {
    let mut at = from + 1;
    for event in events {
        let closed = |line: &TranscriptLine| {
            line.conn == conn && matches!(line.event, ConnectionEvent::Closed { .. })
        };
        let free = lines[at..].iter().take_while(|line| !closed(line)).count();
        at += dice.below(free.min(3) + 1);
        let time = lines[at - 1].at;
        lines.insert(at, TranscriptLine { case: None, at: time, conn: conn.to_owned(), event });
        at += 1;
    }
}
