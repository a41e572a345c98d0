//! Rewrites that add other clients, or additional requests, without effects.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use crate::dice::Dice;
use crate::transcript::line::TranscriptLine;
use crate::transcript::{ConnectionEvent, SeenFrame};
use crate::wire::channel::ROOT;
use crate::wire::json::{Value, json};
use crate::wire::message::{Message, is_handshake};

use super::super::bases::ping;
use super::super::capture::{edit, message_of, put_message};
use super::super::reading::{CaptureReading, FrameRole, envelopes, key_of};

/// The first identifier of added pings.
const FIRST: i64 = 8_000_001;
/// The maximum number of pings of one client.
const MOST: usize = 400;
/// The name of the added client.
const GUEST: &str = "a-guest";

/// The added client or the added requests.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum CompanyForm {
    /// A client that only pings, at this interval in milliseconds.
    Pinging(u64),
    /// A client that only pings, at this interval in milliseconds, without a handshake.
    PingingStranger(u64),
    /// A connection without messages.
    Silent,
    /// A client with the same subscriptions as another client; it only listens.
    Listening,
    /// Some pings of a client of the conversation.
    PingsBetween,
    /// Requests of a client for a page of the session list that does not exist; the host refuses them.
    AskingForTheUnknown,
}

/// Adds another client or additional requests.
pub(in crate::mutation) fn join(
    lines: &mut Vec<TranscriptLine>,
    form: CompanyForm,
    dice: &mut Dice,
) {
    // After a restart, the added client would have to reconnect.
    if lines.is_empty() || lines.iter().any(|line| line.event == ConnectionEvent::Restarted) {
        return;
    }
    match form {
        CompanyForm::Pinging(millis) => pinging(lines, millis, true, dice),
        CompanyForm::PingingStranger(millis) => pinging(lines, millis, false, dice),
        CompanyForm::Silent => {
            let at = dice.below(lines.len());
            lines.insert(at, opened(lines[at].at));
        }
        CompanyForm::Listening => drop(listening(lines, dice)),
        CompanyForm::PingsBetween => between(lines, dice, &|conn, at, id| ping(conn, at, id)),
        CompanyForm::AskingForTheUnknown => between(lines, dice, &|conn, at, id| {
            let [mut ask, mut answer] = ping(conn, at, id);
            put_message(
                &mut ask,
                Message::request(id, "x-check/nothing", json!({"channel": ROOT})).value(),
            );
            let refusal =
                Message::failure(json!(id), -32601, "there is no such method", Value::Null);
            put_message(&mut answer, refusal.value());
            [ask, answer]
        }),
    }
}

fn opened(at: Duration) -> TranscriptLine {
    TranscriptLine { case: None, at, conn: GUEST.to_owned(), event: ConnectionEvent::open(GUEST) }
}

/// Inserts a line by its time, after all lines with the same time.
fn put_in(lines: &mut Vec<TranscriptLine>, new: TranscriptLine) {
    let at = lines.iter().position(|line| line.at > new.at).unwrap_or(lines.len());
    lines.insert(at, new);
}

fn pinging(lines: &mut Vec<TranscriptLine>, millis: u64, greets: bool, dice: &mut Dice) {
    let first = dice.below(lines.len());
    let (from, end) = (lines[first].at, lines.last().map_or(Duration::ZERO, |line| line.at));
    let mut new = vec![opened(from)];
    if greets {
        let Some(greeting) = greeting(lines, from) else { return };
        new.extend(greeting);
    }
    let pause = Duration::from_millis(millis.max(1));
    let mut at = from;
    for id in (FIRST..).take(MOST) {
        at += pause;
        if at > end {
            break;
        }
        new.extend(ping(GUEST, at, id));
    }
    new.into_iter().for_each(|line| put_in(lines, line));
}

/// Returns the added client's handshake: a copy of another client's handshake, but without subscriptions.
fn greeting(lines: &[TranscriptLine], at: Duration) -> Option<[TranscriptLine; 2]> {
    let reading = CaptureReading::of(lines);
    let answer = (0..lines.len()).find(|line| {
        let fact = &reading.facts[*line];
        fact.role == FrameRole::Result && fact.name == "initialize" && lines[*line].at <= at
    })?;
    let asked = reading.facts[answer].answers?;
    let before = lines.iter().take_while(|line| line.at <= at).count();
    let numbers = (0..before).flat_map(|line| envelopes(lines, line));
    let told = lines[..before].iter().filter_map(message_of);
    let told = told.filter_map(|it| it.pointer("/result/serverSeq")?.as_u64());
    let numbers = numbers.filter_map(|(_, it)| key_of(it).map(|(_, seq)| seq));
    let highest = numbers.chain(told).max().unwrap_or_default();
    let mut ask = guest(&lines[asked], at);
    edit(&mut ask, |value| {
        let Some(params) = value.get_mut("params").and_then(Value::as_object_mut) else {
            return false;
        };
        params.insert("clientId", json!(GUEST));
        params.remove("initialSubscriptions");
        true
    });
    let mut answer = guest(&lines[answer], at);
    edit(&mut answer, |value| {
        let Some(result) = value.get_mut("result").and_then(Value::as_object_mut) else {
            return false;
        };
        result.insert("serverSeq", json!(highest));
        result.insert("snapshots", json!([]));
        true
    });
    Some([ask, answer])
}

fn guest(line: &TranscriptLine, at: Duration) -> TranscriptLine {
    TranscriptLine { at, conn: GUEST.to_owned(), ..line.clone() }
}

/// Adds requests of connected clients, with their answers, at random places.
fn between(
    lines: &mut Vec<TranscriptLine>,
    dice: &mut Dice,
    ask: &dyn Fn(&str, Duration, i64) -> [TranscriptLine; 2],
) {
    for id in (FIRST..).take(1 + dice.below(8)) {
        let reading = CaptureReading::of(lines);
        let at = dice.below(lines.len());
        let fact = &reading.facts[at];
        let life = &reading.lives[fact.life];
        let shaken = (life.begin..at).any(|line| {
            let other = &reading.facts[line];
            other.life == fact.life && other.role == FrameRole::Result && is_handshake(&other.name)
        });
        if !shaken || life.closed.is_some_and(|closed| closed <= at) {
            continue;
        }
        let pair = ask(&life.conn, lines[at].at, id);
        for (index, line) in pair.into_iter().enumerate() {
            lines.insert(at + 1 + index, TranscriptLine { at: lines[at].at, ..line });
        }
    }
}

/// Adds a client that receives all messages of another client, and sends only copies of that client's
/// handshake, subscriptions and pings. The added client receives the dispatches of the other client as actions of
/// another client.
fn listening(lines: &mut Vec<TranscriptLine>, dice: &mut Dice) -> Option<()> {
    const KEPT: [&str; 3] = ["initialize", "subscribe", "ping"];
    let reading = CaptureReading::of(lines);
    let lives: Vec<usize> = (0..reading.lives.len())
        .filter(|life| {
            let fact = &reading.lives[*life];
            let mut all = reading.facts.iter().filter(|it| it.life == *life);
            fact.version.is_some()
                && all.all(|it| it.name != "reconnect" && it.name != "authenticate")
        })
        .collect();
    let life = *dice.pick(&lives)?;
    let client = reading.lives[life].client.clone();
    let mut asked: HashSet<usize> = HashSet::new();
    let mut new = Vec::new();
    for (number, line) in reading.lines.iter().enumerate() {
        new.push(line.clone());
        let fact = &reading.facts[number];
        if fact.life != life {
            continue;
        }
        let value = message_of(line);
        let rejected = value.is_some_and(|it| it.pointer("/params/rejectionReason").is_some());
        let kept = match fact.role {
            FrameRole::Request => KEPT.contains(&fact.name.as_str()),
            FrameRole::Result | FrameRole::Refusal => {
                fact.answers.is_some_and(|line| asked.contains(&line))
            }
            FrameRole::ClientNotice => fact.name == "unsubscribe",
            FrameRole::Action => !rejected,
            FrameRole::Notice => fact.name.starts_with("root/session"),
            FrameRole::Other => {
                matches!(line.event, ConnectionEvent::Open { .. } | ConnectionEvent::Closed { .. })
            }
            _ => false,
        };
        if !kept {
            continue;
        }
        if fact.role == FrameRole::Request {
            asked.insert(number);
        }
        let mut copy = guest(line, line.at);
        if let ConnectionEvent::Open { client, .. } = &mut copy.event {
            GUEST.clone_into(client);
        }
        if fact.name == "initialize" && fact.role == FrameRole::Request {
            let mut value = value?.clone();
            if let Some(id) = value.pointer_mut("/params/clientId") {
                *id = json!(format!("{client}-{GUEST}"));
            }
            copy.event = ConnectionEvent::Sent(Arc::new(SeenFrame::of(Message::new(value))));
        }
        new.push(copy);
    }
    *lines = new;
    Some(())
}
