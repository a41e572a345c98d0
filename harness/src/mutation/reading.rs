//! The meaning of the frames of a conversation: requests with their answers, actions with their copies, and
//! subscriptions.
//!
//! Knows: captures. Never knows: rules.
//!
//! Start at [`CaptureReading::of`].

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use crate::transcript::ConnectionEvent;
use crate::transcript::line::TranscriptLine;
use crate::wire::channel::ChannelKind;
use crate::wire::json::Value;
use crate::wire::version::Version;

use super::capture::message_of;

/// The role of a frame.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FrameRole {
    /// A request of a client.
    Request,
    /// An action that a client dispatches.
    Dispatch,
    /// Another notification of a client.
    ClientNotice,
    /// A client's answer to a request of the host.
    ClientAnswer,
    /// A result from the host.
    Result,
    /// An error from the host.
    Refusal,
    /// An action from the host.
    Action,
    /// Another notification from the host.
    Notice,
    /// A request of the host.
    HostRequest,
    /// The line has no frame, or a frame that cannot be decoded.
    Other,
}

/// The meaning of one line of a capture.
#[derive(Clone, Debug)]
pub struct FrameFact {
    /// The role of the frame.
    pub role: FrameRole,
    /// The method, the method of the answered request, or the type of an action.
    pub name: String,
    /// The line of the answered request.
    pub answers: Option<usize>,
    /// The connection, numbered in the order of opening.
    pub life: usize,
}

/// One connection.
#[derive(Clone, Debug, Default)]
pub struct ConnectionFact {
    /// The connection's name in the capture.
    pub conn: String,
    /// The connection's first line.
    pub begin: usize,
    /// The line after the connection's last line.
    pub end: usize,
    /// The line of the `close`; `None` if there is none.
    pub closed: Option<usize>,
    /// The `clientId` of the connection's client.
    pub client: String,
    /// The version that was negotiated.
    pub version: Option<Version>,
}

/// The place of an envelope: the line, and the pointer into its message.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct EnvelopeSpot {
    /// The index of the line in the capture.
    pub line: usize,
    /// The pointer into the message, a JSON pointer.
    pub base: String,
}

/// The identity of an envelope: how often the host was restarted before the envelope, the `serverSeq`, and the channel.
type EnvelopeKey = (u32, u64, String);

/// A conversation with the meaning of its lines.
#[derive(Debug)]
pub struct CaptureReading<'a> {
    /// The lines of the conversation.
    pub lines: &'a [TranscriptLine],
    /// The meaning of each line.
    pub facts: Vec<FrameFact>,
    /// The connections, in the order of their opening.
    pub lives: Vec<ConnectionFact>,
    /// The line of each answer, by the line of the request.
    pub answered: HashMap<usize, usize>,
    copies: HashMap<EnvelopeKey, Vec<EnvelopeSpot>>,
    keys: HashMap<EnvelopeSpot, EnvelopeKey>,
    /// The subscriptions: connection, channel, the line of the answer, the line on which the subscription ends.
    subscriptions: Vec<(usize, String, usize, usize)>,
}

impl<'a> CaptureReading<'a> {
    /// Reads a conversation.
    pub fn of(lines: &'a [TranscriptLine]) -> CaptureReading<'a> {
        let mut reading = CaptureReading {
            lines,
            facts: Vec::new(),
            lives: Vec::new(),
            answered: HashMap::new(),
            copies: HashMap::new(),
            keys: HashMap::new(),
            subscriptions: Vec::new(),
        };
        let mut named: HashMap<&str, usize> = HashMap::new();
        let mut open: HashMap<(usize, bool, String), usize> = HashMap::new();
        let mut epoch = 0;
        for (number, line) in lines.iter().enumerate() {
            let opens = matches!(line.event, ConnectionEvent::Open { .. });
            let known = named.get(line.conn.as_str()).copied().filter(|_| !opens);
            let life = known.unwrap_or(reading.lives.len());
            if known.is_none() {
                let conn = line.conn.clone();
                let fact = ConnectionFact { conn, begin: number, ..ConnectionFact::default() };
                reading.lives.push(fact);
                named.insert(&line.conn, life);
            }
            match line.event {
                ConnectionEvent::Restarted => epoch += 1,
                ConnectionEvent::Closed { .. } => reading.lives[life].closed = Some(number),
                _ => {}
            }
            reading.lives[life].end = number + 1;
            let fact = reading.fact(number, line, life, &mut open);
            reading.facts.push(fact);
            reading.envelopes(number, epoch);
            reading.subscribed(number);
        }
        reading
    }

    fn fact(
        &mut self,
        number: usize,
        line: &TranscriptLine,
        life: usize,
        open: &mut HashMap<(usize, bool, String), usize>,
    ) -> FrameFact {
        let mut fact =
            FrameFact { role: FrameRole::Other, name: String::new(), answers: None, life };
        let Some(value) = message_of(line) else { return fact };
        let sent = matches!(line.event, ConnectionEvent::Sent(_));
        let id = value.get("id").map(Value::to_text);
        let method = value.get("method").and_then(Value::as_str);
        fact.name = method.unwrap_or_default().to_owned();
        match (method, id) {
            (Some(method), Some(id)) => {
                fact.role = if sent { FrameRole::Request } else { FrameRole::HostRequest };
                open.insert((life, sent, id), number);
                if method == "initialize" || method == "reconnect" {
                    let client = value.pointer("/params/clientId").and_then(Value::as_str);
                    client.unwrap_or_default().clone_into(&mut self.lives[life].client);
                }
            }
            (Some("dispatchAction"), None) if sent => {
                fact.role = FrameRole::Dispatch;
                fact.name = type_of(value.pointer("/params/action"));
            }
            (Some("action"), None) if !sent => {
                fact.role = FrameRole::Action;
                fact.name = type_of(value.pointer("/params/action"));
            }
            (Some(method), None) => {
                // For an update of an agent, the name is the kind of the update.
                if method == "session/update"
                    && let Some(update) = value.pointer("/params/update")
                {
                    fact.name = text(update, "sessionUpdate");
                }
                fact.role = if sent { FrameRole::ClientNotice } else { FrameRole::Notice };
            }
            (None, Some(id)) => {
                let Some(asked) = open.remove(&(life, !sent, id)) else { return fact };
                fact.answers = Some(asked);
                fact.name.clone_from(&self.facts[asked].name);
                self.answered.insert(asked, number);
                fact.role = match (sent, value.get("result")) {
                    (true, _) => FrameRole::ClientAnswer,
                    (false, Some(_)) => FrameRole::Result,
                    (false, None) => FrameRole::Refusal,
                };
                let chosen = value.pointer("/result/protocolVersion").and_then(Value::as_str);
                if let Some(version) = chosen.and_then(|chosen| chosen.parse().ok()) {
                    self.lives[life].version = Some(version);
                }
            }
            (None, None) => {}
        }
        fact
    }

    /// Stores the envelopes of a line.
    fn envelopes(&mut self, number: usize, epoch: u32) {
        for (spot, value) in envelopes(self.lines, number) {
            let Some((channel, seq)) = key_of(value) else { continue };
            let key = (epoch, seq, channel.to_owned());
            self.copies.entry(key.clone()).or_default().push(spot.clone());
            self.keys.insert(spot, key);
        }
    }

    fn subscribed(&mut self, number: usize) {
        let fact = &self.facts[number];
        let life = fact.life;
        let Some(value) = message_of(&self.lines[number]) else { return };
        match (fact.role, fact.name.as_str()) {
            (FrameRole::ClientNotice, "unsubscribe") => {
                let channel = value.pointer("/params/channel").and_then(Value::as_str);
                let running = self.subscriptions.iter_mut();
                for one in running.filter(|one| one.0 == life && Some(one.1.as_str()) == channel) {
                    one.3 = one.3.min(number);
                }
            }
            (FrameRole::Result, "subscribe" | "initialize" | "reconnect") => {
                let mut channels: Vec<String> =
                    snapshots(value).map(|(_, it)| text(it, "resource")).collect();
                let asked = fact.answers.and_then(|line| message_of(&self.lines[line]));
                let wanted =
                    asked.map_or(&Value::Null, |it| it.get("params").unwrap_or(&Value::Null));
                match fact.name.as_str() {
                    "subscribe" => channels.push(text(wanted, "channel")),
                    "reconnect" if value.pointer("/result/actions").is_some() => {
                        let missing = value.pointer("/result/missing").and_then(Value::as_array);
                        let all = wanted.get("subscriptions").and_then(Value::as_array);
                        let kept = all.into_iter().flatten();
                        let kept = kept.filter(|it| missing.is_none_or(|gone| !gone.contains(it)));
                        channels.extend(kept.filter_map(Value::as_str).map(str::to_owned));
                    }
                    _ => {}
                }
                channels.sort();
                channels.dedup();
                let new = channels.into_iter().map(|it| (life, it, number, usize::MAX));
                self.subscriptions.extend(new);
            }
            _ => {}
        }
    }

    /// Returns whether a connection is subscribed to a channel on a line. A subscription begins on the line of
    /// its answer.
    pub fn is_subscribed(&self, life: usize, channel: &str, line: usize) -> bool {
        self.subscriptions.iter().any(|(whose, of, from, to)| {
            *whose == life && of == channel && (*from..*to).contains(&line)
        }) && self.lives[life].end > line
    }

    /// Returns whether a connection ever sent a message that names a channel.
    pub fn knows(&self, life: usize, channel: &str) -> bool {
        let lines = self.lives[life].begin..self.lives[life].end;
        self.lines[lines.clone()].iter().zip(lines).any(|(line, number)| {
            self.facts[number].life == life
                && matches!(line.event, ConnectionEvent::Sent(_))
                && message_of(line).is_some_and(|value| mentions(value, channel))
        })
    }

    /// Returns all places of this envelope, including the given one.
    pub fn copies(&self, spot: &EnvelopeSpot) -> &[EnvelopeSpot] {
        let key = self.keys.get(spot);
        key.and_then(|key| self.copies.get(key)).map_or(&[], Vec::as_slice)
    }

    /// Returns whether another connection received the same envelope, live or in a replay.
    pub fn has_twin(&self, spot: &EnvelopeSpot) -> bool {
        let here = self.facts[spot.line].life;
        self.copies(spot).iter().any(|it| it.line != spot.line && self.facts[it.line].life != here)
    }

    /// Returns the line of the first answer to a request that was sent on the connection after a line.
    pub fn fence(&self, line: usize) -> Option<usize> {
        let life = self.facts[line].life;
        let end = self.lives[life].end;
        (line + 1..end).find(|at| {
            let fact = &self.facts[*at];
            let answer = matches!(fact.role, FrameRole::Result | FrameRole::Refusal);
            fact.life == life && answer && fact.answers.is_some_and(|asked| asked > line)
        })
    }

    /// Returns whether the host answered a request that was sent on the connection at least `delay` after a
    /// line.
    pub fn is_fenced_after(&self, line: usize, delay: Duration) -> bool {
        let life = self.facts[line].life;
        let due = self.lines[line].at + delay;
        (line + 1..self.lives[life].end).any(|at| {
            let fact = &self.facts[at];
            let answer = matches!(fact.role, FrameRole::Result | FrameRole::Refusal);
            let asked = fact.answers.filter(|asked| self.lines[*asked].at >= due);
            fact.life == life && answer && asked.is_some()
        })
    }

    /// Returns whether the host sent a frame on the connection at least `patience` after a line.
    pub fn lasts(&self, line: usize, patience: Duration) -> bool {
        let life = self.facts[line].life;
        let due = self.lines[line].at + patience;
        (line + 1..self.lives[life].end).rev().any(|at| {
            let heard = matches!(self.lines[at].event, ConnectionEvent::Received(_));
            self.facts[at].life == life && heard && self.lines[at].at >= due
        })
    }

    /// Returns the next line of the host on the same connection.
    pub fn next_received(&self, line: usize) -> Option<usize> {
        let life = self.facts[line].life;
        (line + 1..self.lives[life].end).find(|at| {
            self.facts[*at].life == life
                && matches!(self.lines[*at].event, ConnectionEvent::Received(_))
        })
    }

    /// Returns the next line of any kind on the same connection.
    pub fn next_line(&self, line: usize) -> Option<usize> {
        let life = self.facts[line].life;
        (line + 1..self.lives[life].end).find(|at| self.facts[*at].life == life)
    }

    /// Returns the value at a place.
    pub fn value(&self, spot: &EnvelopeSpot) -> Option<&'a Value> {
        message_of(&self.lines[spot.line])?.pointer(&spot.base)
    }

    /// Returns the version of the first connection with a handshake.
    pub fn version(&self) -> Option<Version> {
        self.lives.iter().find_map(|life| life.version)
    }

    /// Returns the clients that own an object on the host, such as the tools of a session, a terminal, or a watch.
    pub fn answerable(&self) -> BTreeSet<&str> {
        const DUTIES: [&str; 3] = ["session/activeClientSet", "terminal/claimed", "createTerminal"];
        let mut clients = BTreeSet::new();
        for (line, fact) in self.lines.iter().zip(&self.facts) {
            let value = message_of(line);
            let created = value.is_some_and(|it| it.pointer("/params/activeClient").is_some());
            let duty = matches!(fact.role, FrameRole::Request | FrameRole::Dispatch)
                && (DUTIES.contains(&fact.name.as_str()) || created || fact.name.contains("Watch"));
            if duty || fact.role == FrameRole::HostRequest {
                clients.insert(self.lives[fact.life].client.as_str());
            }
        }
        clients
    }
}

fn type_of(action: Option<&Value>) -> String {
    action.map(|action| text(action, "type")).unwrap_or_default()
}

/// Returns a string member; empty if there is none.
pub(super) fn text(value: &Value, member: &str) -> String {
    value.get(member).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// Returns whether a value contains a string at any depth.
pub(super) fn mentions(value: &Value, sought: &str) -> bool {
    match value {
        Value::String(text) => text == sought,
        Value::Array(items) => items.iter().any(|item| mentions(item, sought)),
        Value::Object(map) => map.values().any(|item| mentions(item, sought)),
        _ => false,
    }
}

/// Returns the channel and the `serverSeq` of an envelope.
pub(super) fn key_of(envelope: &Value) -> Option<(&str, u64)> {
    Some((envelope.get("channel")?.as_str()?, envelope.get("serverSeq")?.as_u64()?))
}

/// Returns the envelopes in a line of the host, live or in a replay.
pub(super) fn envelopes(lines: &[TranscriptLine], number: usize) -> Vec<(EnvelopeSpot, &Value)> {
    let line = &lines[number];
    let Some(value) =
        message_of(line).filter(|_| matches!(line.event, ConnectionEvent::Received(_)))
    else {
        return Vec::new();
    };
    let at = |base: String| EnvelopeSpot { line: number, base };
    if value.get("method").and_then(Value::as_str) == Some("action") {
        let params = value.get("params").into_iter();
        return params.map(|params| (at("/params".to_owned()), params)).collect();
    }
    let replayed = value.pointer("/result/actions").and_then(Value::as_array);
    let replayed = replayed.into_iter().flatten().enumerate();
    replayed.map(|(index, one)| (at(format!("/result/actions/{index}")), one)).collect()
}

/// Returns the snapshots of a message, each with its pointer.
pub(super) fn snapshots(value: &Value) -> impl Iterator<Item = (String, &Value)> {
    let single = value.pointer("/result/snapshot").filter(|it| it.is_object());
    let single = single.into_iter().map(|it| ("/result/snapshot".to_owned(), it));
    let listed = value.pointer("/result/snapshots").and_then(Value::as_array);
    let listed = listed.into_iter().flatten().enumerate();
    single.chain(listed.map(|(index, it)| (format!("/result/snapshots/{index}"), it)))
}

/// Returns the kind of a snapshot's channel.
pub(super) fn kind_of(snapshot: &Value) -> Option<ChannelKind> {
    let uri = snapshot.get("resource")?.as_str()?;
    ChannelKind::of_uri(uri).or_else(|| {
        let state = snapshot.get("state")?;
        let shows = |member: &str| state.get(member).is_some();
        match () {
            () if shows("turns") => Some(ChannelKind::Chat),
            () if shows("chats") => Some(ChannelKind::Session),
            () if shows("claim") => Some(ChannelKind::Terminal),
            () if shows("files") => Some(ChannelKind::Changeset),
            () if shows("annotations") => Some(ChannelKind::Annotations),
            () if shows("recursive") => Some(ChannelKind::ResourceWatch),
            () if shows("canvasId") => Some(ChannelKind::Canvas),
            () if shows("entries") => Some(ChannelKind::Automations),
            () if shows("automation") => Some(ChannelKind::AutomationRun),
            () => None,
        }
    })
}

/// Returns the index of each client's last connection, by `clientId`.
pub(super) fn last_lives(reading: &CaptureReading<'_>) -> BTreeMap<String, usize> {
    let mut last = BTreeMap::new();
    for (number, life) in reading.lives.iter().enumerate() {
        last.insert(life.client.clone(), number);
    }
    last
}
