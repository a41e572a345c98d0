//! The code that changes a conversation for an operator. The other parts of an operator are data.
//!
//! Knows: captures, the meaning of their frames. Never knows: rules.
//!
//! Start at [`WireChange`].

use crate::dice::Dice;
use crate::transcript::line::TranscriptLine;
use crate::wire::built_in::built_in;
use crate::wire::frame::Frame;
use crate::wire::json::{Value, json};

use super::acp::change::AcpChange;
use super::capture::{edit, message_of, put_frame, put_message};
use super::moves;
use super::operator::earlier;
use super::pointer;
use super::reading::{CaptureReading, EnvelopeSpot, FrameRole, key_of};
use super::renumber::renumber;
use super::value_change::{ListChange, TextChange, filled};

/// The extent of a fault: only the message to one client, or the messages to all clients.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FaultAudience {
    /// The fault is only in the copy of one connection.
    One,
    /// The fault is in all copies, including the copies in replays: the host's own data is wrong.
    All,
}

/// A change of a conversation.
#[derive(Clone, Copy, Debug)]
pub enum WireChange {
    /// The frame is not sent.
    Drop(FaultAudience),
    /// The frame is sent twice.
    Duplicate,
    /// The frame is sent again after this many later frames of the host on the connection.
    DuplicateLater(usize),
    /// The frame is sent after this many later frames of the host on the connection.
    Delay(usize),
    /// The frame is sent before this many earlier frames of the host on the connection.
    Hasten(usize),
    /// The frame is sent before the request that it answers.
    BeforeRequest,
    /// The frame goes to another connection, which did not request it, in place of its own connection.
    Misdirect,
    /// The frame also goes to another connection, which did not request it.
    Leak,
    /// A member gets this value.
    Set(FaultAudience, &'static str, &'static str),
    /// A member gets the value that it has in another frame of the conversation.
    Other(FaultAudience, &'static str),
    /// A member is removed.
    Remove(FaultAudience, &'static str),
    /// A number is increased by this amount.
    Add(FaultAudience, &'static str, i64),
    /// A string is changed.
    Reword(FaultAudience, &'static str, TextChange),
    /// A list is changed.
    Relist(FaultAudience, &'static str, ListChange),
    /// The envelope gets the `serverSeq` of the previous envelope on the connection, plus this number.
    NumberOfEarlier(u64),
    /// The action is sent again as a new action, to the same connections.
    Again,
    /// The last earlier action of this type on the channel is sent again as a new action, after the frame.
    AgainAfter(&'static str),
    /// This action is sent as a new action after the envelope. Strings that begin with `$` are replaced by a member of
    /// the envelope's action, by the channel (`$channel`), or by an identifier that does not exist (`$unknown`).
    Insert(&'static str),
    /// A result becomes this error.
    Fail(i64),
    /// An error becomes this result.
    Succeed(&'static str),
    /// All envelopes that the host sent for a dispatch are removed.
    Ignore,
    /// An accepted dispatch is reported as rejected, although it took effect.
    Reject,
    /// The answer has the result of the answer to a later request of the same method.
    SwapAnswers,
    /// An action that the snapshot already contains, and that another connection received before, follows the
    /// snapshot.
    OldAction,
    /// After an unsubscription and the answer to a later request, the connection still receives the next action
    /// on the channel.
    StillTold,
    /// The action and the next action change places, but the `serverSeq` numbers keep their order.
    SwapActions(FaultAudience),
    /// The action gets an `origin`: the receiving client, with a `clientSeq` that this client never used.
    Forge,
    /// The envelope is sent before the dispatch that it echoes.
    BeforeDispatch,
    /// The last earlier notification of this method on the connection is sent again, after the frame.
    NoticeAgain(&'static str),
    /// This message follows the frame.
    Stray(&'static str),
    /// This string follows the frame.
    Raw(&'static str),
    /// A change that applies only to conversations with agents.
    Agent(AcpChange),
}

/// A changed conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangedCapture {
    /// The lines after the change.
    pub lines: Vec<TranscriptLine>,
    /// A description of the change for people.
    pub what: String,
}

impl WireChange {
    /// Applies the change at a place. Returns `None` if the change is not possible there.
    pub fn apply(
        self,
        reading: &CaptureReading<'_>,
        spot: &EnvelopeSpot,
        dice: &mut Dice,
    ) -> Option<ChangedCapture> {
        let mut lines = reading.lines.to_vec();
        let at = spot.line;
        let what = match self {
            WireChange::Drop(audience) => {
                let gone = places(reading, spot, audience);
                for one in gone.iter().rev() {
                    take(&mut lines, one);
                }
                format!("left out, {} times", gone.len())
            }
            WireChange::Duplicate => {
                lines.insert(at + 1, lines[at].clone());
                "sent twice".to_owned()
            }
            WireChange::DuplicateLater(count) => {
                let to = after(reading, at, count)?;
                let again = TranscriptLine { at: lines[to].at, ..lines[at].clone() };
                lines.insert(to + 1, again);
                format!("sent again after {count} more")
            }
            WireChange::Delay(count) => {
                let to = after(reading, at, count)?;
                let late = TranscriptLine { at: lines[to].at, ..lines[at].clone() };
                lines.insert(to + 1, late);
                lines.remove(at);
                format!("sent {count} later")
            }
            WireChange::Hasten(count) => {
                let to = before(reading, at, count)?;
                let early = TranscriptLine { at: lines[to].at, ..lines.remove(at) };
                lines.insert(to, early);
                format!("sent {count} earlier")
            }
            WireChange::BeforeRequest => {
                let asked = reading.facts[at].answers?;
                let early = TranscriptLine { at: lines[asked].at, ..lines.remove(at) };
                lines.insert(asked, early);
                "sent before its request".to_owned()
            }
            WireChange::Misdirect | WireChange::Leak => {
                let conn = stranger(reading, spot, dice)?;
                let what = format!("sent to `{conn}`");
                let line = TranscriptLine { conn, ..lines[at].clone() };
                match self {
                    WireChange::Leak => lines.insert(at + 1, line),
                    _ => lines[at] = line,
                }
                what
            }
            WireChange::Set(audience, place, json) => {
                let value = built_in(json, Value::read(json));
                change_at(reading, &mut lines, spot, audience, place, dice, &mut |it| {
                    it.clone_from(&value);
                })?
            }
            WireChange::Other(audience, place) => {
                let value = other_value(reading, spot, place, dice)?;
                change_at(reading, &mut lines, spot, audience, place, dice, &mut |it| {
                    it.clone_from(&value);
                })?
            }
            WireChange::Add(audience, place, more) => {
                change_at(reading, &mut lines, spot, audience, place, dice, &mut |it| {
                    if let Some(number) = it.as_i64() {
                        *it = json!(number.saturating_add(more));
                    }
                })?
            }
            WireChange::Reword(audience, place, wording) => {
                let secret = if wording == TextChange::Secret {
                    secret(reading, at)?
                } else {
                    String::new()
                };
                change_at(reading, &mut lines, spot, audience, place, dice, &mut |it| {
                    if let Some(text) = it.as_str() {
                        *it = json!(wording.of(text, &secret));
                    }
                })?
            }
            WireChange::Relist(audience, place, listing) => {
                change_at(reading, &mut lines, spot, audience, place, dice, &mut |it| {
                    if let Value::Array(items) = it {
                        listing.apply(items);
                    }
                })?
            }
            WireChange::Remove(audience, place) => {
                remove_at(reading, &mut lines, spot, audience, place, dice)?
            }
            WireChange::NumberOfEarlier(more) => {
                let earlier = (0..at).rev().find(|line| {
                    let fact = &reading.facts[*line];
                    fact.role == FrameRole::Action && fact.life == reading.facts[at].life
                })?;
                let seq = message_of(&lines[earlier])?.pointer("/params/serverSeq")?.as_u64()?;
                let done = edit(&mut lines[at], |value| {
                    let place = format!("{}/serverSeq", spot.base);
                    value.pointer_mut(&place).map(|it| *it = json!(seq + more)).is_some()
                });
                done.then(|| format!("numbered {}", seq + more))?
            }
            WireChange::Again => {
                let action = reading.value(spot)?.get("action")?.clone();
                insert(reading, spot, &action)?.clone_into(&mut lines);
                "sent again with a new number".to_owned()
            }
            WireChange::AgainAfter(name) => {
                let action = earlier(reading, spot, &[name])?.get("action")?.clone();
                insert(reading, spot, &action)?.clone_into(&mut lines);
                format!("an earlier `{name}` sent again after it")
            }
            WireChange::Insert(template) => {
                let action = filled(template, reading.value(spot)?)?;
                insert(reading, spot, &action)?.clone_into(&mut lines);
                format!("after it {}", action.to_text())
            }
            WireChange::Fail(code) => {
                let id = message_of(&lines[at])?.get("id")?.clone();
                let error =
                    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": "no"}});
                put_message(&mut lines[at], &error);
                format!("refused with {code}")
            }
            WireChange::Succeed(result) => {
                let id = message_of(&lines[at])?.get("id")?.clone();
                let result = built_in(result, Value::read(result));
                put_message(&mut lines[at], &json!({"jsonrpc": "2.0", "id": id, "result": result}));
                "answered with a result".to_owned()
            }
            WireChange::Ignore => {
                let echoes = echoes(reading, spot)?;
                for one in echoes.iter().rev() {
                    take(&mut lines, one);
                }
                format!("its dispatch has no effect, {} copies left out", echoes.len())
            }
            WireChange::Reject => {
                let echoes = echoes(reading, spot)?;
                let mut lines_gone = Vec::new();
                for one in &echoes {
                    let own = reading.facts[one.line].life == reading.facts[at].life;
                    if own && one.base == "/params" {
                        edit(&mut lines[one.line], |value| {
                            let params = value.get_mut("params").and_then(Value::as_object_mut);
                            params.map(|it| it.insert("rejectionReason", json!("no"))).is_some()
                        });
                    } else {
                        lines_gone.push(one);
                    }
                }
                for one in lines_gone.into_iter().rev() {
                    take(&mut lines, one);
                }
                "reported as rejected".to_owned()
            }
            WireChange::SwapAnswers => {
                let other = (at + 1..lines.len()).find(|line| {
                    let (one, two) = (&reading.facts[at], &reading.facts[*line]);
                    one.role == two.role
                        && one.name == two.name
                        && message_of(&lines[at]).and_then(|it| it.get("result"))
                            != message_of(&lines[*line]).and_then(|it| it.get("result"))
                })?;
                let result = message_of(&lines[other])?.get("result")?.clone();
                edit(&mut lines[at], |value| {
                    value.get_mut("result").map(|it| *it = result).is_some()
                });
                format!("has the result of line {}", other + 1)
            }
            WireChange::OldAction => moves::old_action(reading, spot, &mut lines, dice)?,
            WireChange::StillTold => moves::still_told(reading, at, &mut lines)?,
            WireChange::SwapActions(audience) => {
                moves::swap_actions(reading, spot, audience, &mut lines)?
            }
            WireChange::Forge => {
                let client = &reading.lives[reading.facts[at].life].client;
                let origin = json!({"clientId": client, "clientSeq": 987_654});
                change_at(
                    reading,
                    &mut lines,
                    spot,
                    FaultAudience::All,
                    "/origin",
                    dice,
                    &mut |it| {
                        it.clone_from(&origin);
                    },
                )?
            }
            WireChange::BeforeDispatch => moves::before_dispatch(reading, at, &mut lines)?,
            WireChange::NoticeAgain(name) => {
                let life = reading.facts[at].life;
                let earlier = (0..at).rev().find(|line| {
                    let fact = &reading.facts[*line];
                    fact.life == life && fact.role == FrameRole::Notice && fact.name == name
                })?;
                lines.insert(at + 1, TranscriptLine { at: lines[at].at, ..lines[earlier].clone() });
                format!("line {} follows again", earlier + 1)
            }
            WireChange::Stray(text) | WireChange::Raw(text) => {
                let mut line = lines[at].clone();
                put_frame(&mut line, Frame::Text(text.to_owned()));
                lines.insert(at + 1, line);
                format!("after it {text}")
            }
            WireChange::Agent(change) => change.apply(reading, spot, &mut lines)?,
        };
        (lines != reading.lines).then_some(ChangedCapture { lines, what })
    }
}

/// Returns the places of the copies of an envelope that a change affects.
pub(super) fn places(
    reading: &CaptureReading<'_>,
    spot: &EnvelopeSpot,
    audience: FaultAudience,
) -> Vec<EnvelopeSpot> {
    let copies = reading.copies(spot);
    let mut all = match audience {
        FaultAudience::One => vec![spot.clone()],
        FaultAudience::All if !copies.is_empty() => copies.to_vec(),
        FaultAudience::All => same_notices(reading, spot.line),
    };
    all.sort();
    all
}

/// Returns the places at which connections received the same notification as on this line.
fn same_notices(reading: &CaptureReading<'_>, line: usize) -> Vec<EnvelopeSpot> {
    let lines = reading
        .lines
        .iter()
        .enumerate()
        .filter(|(number, _)| reading.facts[*number].role == FrameRole::Notice);
    let value = message_of(&reading.lines[line]);
    let same = lines.filter(|(_, other)| message_of(other) == value);
    same.map(|(line, _)| EnvelopeSpot { line, base: String::new() }).collect()
}

/// Removes the envelope at a place: removes the whole line, or an entry of the list in a replay.
fn take(lines: &mut Vec<TranscriptLine>, spot: &EnvelopeSpot) {
    if spot.base.starts_with("/result") {
        edit(&mut lines[spot.line], |value| remove(value, &spot.base));
    } else {
        lines.remove(spot.line);
    }
}

/// Removes a member or an item. Returns whether the member or item existed.
fn remove(value: &mut Value, place: &str) -> bool {
    let Some((above, last)) = pointer::split(place) else { return false };
    match value.pointer_mut(above) {
        Some(Value::Array(items)) => match last.parse::<usize>() {
            Ok(index) if index < items.len() => {
                items.remove(index);
                true
            }
            _ => false,
        },
        Some(Value::Object(map)) => map.remove(&last).is_some(),
        _ => false,
    }
}

/// Returns a random place that the pattern matches.
fn chosen(
    reading: &CaptureReading<'_>,
    spot: &EnvelopeSpot,
    pattern: &str,
    dice: &mut Dice,
) -> Option<String> {
    let found = pointer::places(reading.value(spot)?, pattern);
    dice.pick(&found).cloned()
}

fn change_at(
    reading: &CaptureReading<'_>,
    lines: &mut [TranscriptLine],
    spot: &EnvelopeSpot,
    audience: FaultAudience,
    pattern: &str,
    dice: &mut Dice,
    change: &mut dyn FnMut(&mut Value),
) -> Option<String> {
    // A pattern may name a new member if its parent exists.
    let place = chosen(reading, spot, pattern, dice).or_else(|| {
        let (above, last) = pattern.rsplit_once('/')?;
        Some(format!("{}/{last}", chosen(reading, spot, above, dice)?))
    })?;
    let mut told = None;
    for one in places(reading, spot, audience) {
        let whole = format!("{}{place}", one.base);
        let done = edit(&mut lines[one.line], |value| {
            let is_new = value.pointer(&whole).is_none();
            if is_new {
                make(value, &whole);
            }
            let Some(found) = value.pointer_mut(&whole) else { return false };
            let before = found.to_text();
            change(found);
            if is_new && found.is_null() {
                remove(value, &whole);
                return false;
            }
            told = Some(format!("`{whole}` from {before} to {}", found.to_text()));
            true
        });
        if one == *spot && !done {
            return None;
        }
    }
    told
}

/// Adds the member at this place with the value null, if its parent object exists.
fn make(value: &mut Value, place: &str) {
    if let Some((above, last)) = pointer::split(place)
        && let Some(map) = value.pointer_mut(above).and_then(Value::as_object_mut)
    {
        map.insert(last, Value::Null);
    }
}

fn remove_at(
    reading: &CaptureReading<'_>,
    lines: &mut [TranscriptLine],
    spot: &EnvelopeSpot,
    audience: FaultAudience,
    pattern: &str,
    dice: &mut Dice,
) -> Option<String> {
    let place = chosen(reading, spot, pattern, dice)?;
    for one in places(reading, spot, audience) {
        let whole = format!("{}{place}", one.base);
        edit(&mut lines[one.line], |value| remove(value, &whole));
    }
    Some(format!("`{}{place}` left out", spot.base))
}

/// Returns a different value that the same member has in another frame of the conversation.
fn other_value(
    reading: &CaptureReading<'_>,
    spot: &EnvelopeSpot,
    pattern: &str,
    dice: &mut Dice,
) -> Option<Value> {
    let here = reading.value(spot)?;
    let name = pattern.rsplit('/').next()?;
    let own = pointer::places(here, pattern);
    let own: Vec<&Value> = own.iter().filter_map(|place| here.pointer(place)).collect();
    let sought = format!("/**/{name}");
    let mut others: Vec<&Value> = Vec::new();
    for line in reading.lines {
        let Some(value) = message_of(line) else { continue };
        for place in pointer::places(value, &sought) {
            if let Some(other) = value.pointer(&place)
                && own.iter().all(|it| *it != other && same_type(it, other))
                && !others.contains(&other)
                && others.len() < 64
            {
                others.push(other);
            }
        }
    }
    dice.pick(&others).map(|value| (*value).clone())
}

fn same_type(one: &Value, two: &Value) -> bool {
    std::mem::discriminant(one) == std::mem::discriminant(two)
}

/// Returns the line of the n-th later frame of the host on the connection; `None` if a frame of the client is
/// in between.
fn after(reading: &CaptureReading<'_>, line: usize, count: usize) -> Option<usize> {
    (0..count).try_fold(line, |at, _| {
        let next = reading.next_received(at)?;
        (reading.next_line(at) == Some(next)).then_some(next)
    })
}

fn before(reading: &CaptureReading<'_>, line: usize, count: usize) -> Option<usize> {
    let life = reading.facts[line].life;
    let mut earlier = (reading.lives[life].begin..line).rev();
    (0..count).try_fold(line, |_, _| {
        let at = earlier.find(|at| reading.facts[*at].life == life)?;
        let role = reading.facts[at].role;
        let host = matches!(
            role,
            FrameRole::Action | FrameRole::Notice | FrameRole::Result | FrameRole::Refusal
        );
        host.then_some(at)
    })
}

/// Returns a connection that is open on the line and has never used the frame's channel.
fn stranger(reading: &CaptureReading<'_>, spot: &EnvelopeSpot, dice: &mut Dice) -> Option<String> {
    let value = message_of(&reading.lines[spot.line])?;
    let here = &reading.facts[spot.line];
    let channel = value.pointer("/params/channel").and_then(Value::as_str);
    let client = value.pointer("/params/origin/clientId").and_then(Value::as_str);
    let mut others = Vec::new();
    for (number, life) in reading.lives.iter().enumerate() {
        let stands = (life.begin..life.end).contains(&spot.line)
            && life.closed.is_none_or(|closed| closed > spot.line)
            && life.version.is_some()
            && reading.fenced_begin(number, spot.line);
        let asked = channel.is_some_and(|it| reading.knows(number, it));
        let own = client.is_some_and(|it| it == life.client);
        if stands && number != here.life && !asked && !own {
            others.push(life.conn.clone());
        }
    }
    dice.pick(&others).cloned()
}

/// Returns a secret that a client sent to the host before a line.
fn secret(reading: &CaptureReading<'_>, line: usize) -> Option<String> {
    let mut tokens = reading.lines[..line].iter().zip(&reading.facts).filter_map(|(line, fact)| {
        let authenticates = fact.role == FrameRole::Request && fact.name == "authenticate";
        let value = message_of(line).filter(|_| authenticates)?;
        value.pointer("/params/token")?.as_str()
    });
    tokens.rfind(|token| token.len() >= 8).map(str::to_owned)
}

/// Returns the envelopes that settle a dispatch, in the order of their places.
fn echoes(reading: &CaptureReading<'_>, spot: &EnvelopeSpot) -> Option<Vec<EnvelopeSpot>> {
    let seq = reading.value(spot)?.pointer("/params/clientSeq")?;
    let life = reading.facts[spot.line].life;
    let client = reading.lives[life].client.as_str();
    let own = (spot.line..reading.lines.len()).find_map(|line| {
        let value = message_of(&reading.lines[line])?.get("params")?;
        let origin = value.get("origin")?;
        let ours = origin.get("clientSeq") == Some(seq)
            && origin.get("clientId").and_then(Value::as_str) == Some(client)
            && value.get("rejectionReason").is_none();
        (reading.facts[line].role == FrameRole::Action && ours)
            .then(|| EnvelopeSpot { line, base: "/params".to_owned() })
    })?;
    let mut copies = reading.copies(&own).to_vec();
    copies.sort();
    (!copies.is_empty()).then_some(copies)
}

/// Returns the conversation with an additional action after an envelope, for all connections that received the
/// envelope, with its own `serverSeq`.
fn insert(
    reading: &CaptureReading<'_>,
    spot: &EnvelopeSpot,
    action: &Value,
) -> Option<Vec<TranscriptLine>> {
    let (channel, seq) = reading.value(spot).and_then(key_of)?;
    // After a restart of the host, a `serverSeq` alone is ambiguous.
    if reading.lines.iter().any(|line| line.event == crate::transcript::ConnectionEvent::Restarted)
    {
        return None;
    }
    let mut lines = reading.lines.to_vec();
    renumber(&mut lines, &|number| if number > seq { number + 1 } else { number });
    let envelope = json!({"channel": channel, "action": action, "serverSeq": seq + 1});
    let mut copies = reading.copies(spot).to_vec();
    copies.sort();
    for copy in copies.iter().rev() {
        if copy.base == "/params" {
            let mut line = lines[copy.line].clone();
            let message = json!({"jsonrpc": "2.0", "method": "action", "params": envelope});
            put_message(&mut line, &message);
            lines.insert(copy.line + 1, line);
        } else {
            let (above, last) = pointer::split(&copy.base)?;
            let index: usize = last.parse().ok()?;
            edit(&mut lines[copy.line], |value| {
                let list = value.pointer_mut(above).and_then(Value::as_array_mut);
                list.map(|it| it.insert(index + 1, envelope.clone())).is_some()
            });
        }
    }
    Some(lines)
}

impl CaptureReading<'_> {
    /// Returns whether the host answered the handshake of the connection `life` before this line.
    fn fenced_begin(&self, life: usize, line: usize) -> bool {
        let lines = self.lives[life].begin..line;
        lines.into_iter().any(|at| {
            let fact = &self.facts[at];
            fact.life == life && fact.role == FrameRole::Result && fact.name == "initialize"
        })
    }
}
