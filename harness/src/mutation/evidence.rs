//! Decides whether a capture contains evidence that a mutant's host is at fault. If a capture contains no evidence, a
//! check that reports nothing is correct.
//!
//! Knows: the meaning of frames, reducers. Never knows: the findings of the always-on checks.
//!
//! Start at [`FaultEvidence`].

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use crate::model::apply;
use crate::transcript::ConnectionEvent;
use crate::transcript::line::TranscriptLine;
use crate::wire::channel::ChannelKind;
use crate::wire::json::{Map, Value};

use super::acp::evidence::AcpEvidence;
use super::capture::message_of;
use super::change::ChangedCapture;
use super::reading::{
    CaptureReading, EnvelopeSpot, FrameRole, envelopes, key_of, kind_of, snapshots, text,
};

/// The time that a host may take to answer. The specification states no limit, so this value is generous.
pub const PATIENCE: Duration = Duration::from_secs(10);
/// The members of a session summary whose changes a host does not have to announce each time.
const LAGGING: &[&str] = &["modifiedAt", "changes", "activity", "_meta"];
/// The time by which a host may delay summary notifications.
const REST: Duration = Duration::from_millis(1_500);

/// The evidence of a fault.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FaultEvidence {
    /// The frame itself, or an earlier frame, shows the fault.
    Itself,
    /// Another connection received the unchanged envelope.
    Twin,
    /// Another connection received the envelope, and this connection received the answer to a later request.
    TwinAndFence,
    /// The connection received the answer to a request that it sent some time later. Later messages may overtake a
    /// message without a `serverSeq`, so an answer to an immediate request is not evidence.
    LateFence,
    /// The connection receives another frame after the whole deadline has passed.
    Wait,
    /// The capture continues until the host has been idle.
    Rest,
    /// A later snapshot does not match the previous snapshot with the actions between the two applied to it.
    State,
    /// A later dispatch of the client on the same channel is settled.
    Overtaken,
    /// A later action has a lower number.
    Later,
    /// A connection is subscribed to the channel that the member at this JSON pointer names.
    Seen(&'static str),
    /// Another connection received the same notification, and this connection received the answer to a request
    /// that it sent some time later.
    NoticeTwin,
    /// A connection is subscribed to the missing session, which was ready when the list was requested.
    Listed,
    /// Another connection received the action that is missing in the replay.
    Replay,
    /// Evidence that exists only in conversations with agents.
    Agent(AcpEvidence),
}

impl FaultEvidence {
    /// Returns whether the capture contains the evidence.
    pub fn is_there(
        self,
        original: &CaptureReading<'_>,
        spot: &EnvelopeSpot,
        changed: &ChangedCapture,
    ) -> bool {
        match self {
            FaultEvidence::Itself => true,
            FaultEvidence::Twin => original.has_twin(spot),
            FaultEvidence::TwinAndFence => {
                let fence = original.fence(spot.line);
                original.has_twin(spot) && fence.is_some_and(|at| !made_good(original, spot, at))
            }
            FaultEvidence::LateFence => original.is_fenced_after(spot.line, REST),
            FaultEvidence::Wait => original.lasts(spot.line, PATIENCE),
            FaultEvidence::Rest => {
                let due = original.lines[spot.line].at + REST;
                original.lines[spot.line..].iter().any(|line| line.at >= due)
            }
            FaultEvidence::State => disagrees(original.lines, &changed.lines),
            FaultEvidence::Overtaken => overtaken(original, spot.line),
            FaultEvidence::Later => later_is_lower(original, &changed.lines, spot),
            FaultEvidence::Seen(place) => {
                let channel = original.value(spot).and_then(|it| it.pointer(place)?.as_str());
                let lives = 0..original.lives.len();
                channel.is_some_and(|channel| {
                    lives.into_iter().any(|life| original.is_subscribed(life, channel, spot.line))
                })
            }
            FaultEvidence::NoticeTwin => {
                let here = message_of(&original.lines[spot.line]);
                let others = original.lines.iter().zip(&original.facts);
                let life = original.facts[spot.line].life;
                let mut others = others.filter(|(_, fact)| fact.life != life);
                others
                    .any(|(line, fact)| fact.role == FrameRole::Notice && message_of(line) == here)
                    && original.is_fenced_after(spot.line, REST)
                    && !is_made_up_for(original, spot.line)
            }
            FaultEvidence::Listed => listed(original, &changed.lines, spot),
            FaultEvidence::Replay => {
                let lost = envelopes(original.lines, spot.line);
                let kept = envelopes(&changed.lines, spot.line);
                let mut gone =
                    lost.iter().filter(|(_, it)| !kept.iter().any(|(_, other)| other == it));
                gone.any(|(spot, _)| original.has_twin(spot))
            }
            FaultEvidence::Agent(evidence) => evidence.is_there(original, spot),
        }
    }

    /// Returns why a mutant without the evidence is undecidable.
    pub fn missing(self) -> &'static str {
        match self {
            FaultEvidence::Itself => "nothing",
            FaultEvidence::Twin => "no other connection got the same action",
            FaultEvidence::TwinAndFence => {
                "no other connection got the same action, or this connection may have got it later"
            }
            FaultEvidence::LateFence => {
                "the message may have come later: no later request is answered in the capture"
            }
            FaultEvidence::Wait => {
                "the message may have come later: the capture ends before the deadline"
            }
            FaultEvidence::Rest => {
                "the message may have come later: the capture ends before the host is idle"
            }
            FaultEvidence::State => "no later snapshot of the channel shows the difference",
            FaultEvidence::Overtaken => "no later dispatch of the client on the channel is settled",
            FaultEvidence::Later => "no later action has a lower number",
            FaultEvidence::Seen(_) => {
                "no connection is subscribed to the channel that the message names"
            }
            FaultEvidence::NoticeTwin => {
                "no other connection got the same notification, or the notification may have come later"
            }
            FaultEvidence::Listed => "the capture does not otherwise show that the session existed",
            FaultEvidence::Replay => "no other connection got the action that the replay lacks",
            FaultEvidence::Agent(evidence) => evidence.missing(),
        }
    }
}

/// Returns whether the host does not have to announce the change of a summary separately: each changed member is in a
/// later notification, or is a member whose updates may be delayed.
fn is_made_up_for(original: &CaptureReading<'_>, line: usize) -> bool {
    let changes = |line: usize| {
        let params = message_of(&original.lines[line])?.get("params")?;
        Some((params.get("session")?, params.get("changes")?.as_object()?))
    };
    let Some((session, changed)) = changes(line) else { return false };
    let life = original.facts[line].life;
    let later = (line + 1..original.lives[life].end).filter(|at| original.facts[*at].life == life);
    let later: Vec<_> = later.filter_map(changes).filter(|(of, _)| *of == session).collect();
    let told = |name: &str| later.iter().any(|(_, changes)| changes.contains_key(name));
    changed.iter().all(|(name, _)| LAGGING.contains(&name.as_str()) || told(name))
}

/// Returns whether the connection received a snapshot that contains the action, from the line of the action to the line
/// `until`.
fn made_good(original: &CaptureReading<'_>, spot: &EnvelopeSpot, until: usize) -> bool {
    let Some((channel, seq)) = original.value(spot).and_then(key_of) else { return false };
    let life = original.facts[spot.line].life;
    let lines = (spot.line..=until).filter(|line| original.facts[*line].life == life);
    lines.filter_map(|line| message_of(&original.lines[line])).flat_map(snapshots).any(|(_, it)| {
        let from = it.get("fromSeq").and_then(Value::as_u64);
        text(it, "resource") == channel && from.is_some_and(|from| from >= seq)
    })
}

/// Returns whether a later dispatch on the channel is settled. The line is a dispatch or the envelope that
/// answers it.
fn overtaken(reading: &CaptureReading<'_>, line: usize) -> bool {
    let Some(params) = message_of(&reading.lines[line]).and_then(|it| it.get("params")) else {
        return false;
    };
    let life = reading.facts[line].life;
    let client = reading.lives[life].client.as_str();
    let origin = params.get("origin").unwrap_or(params);
    let (Some(seq), channel) =
        (origin.get("clientSeq").and_then(Value::as_i64), params.get("channel"))
    else {
        return false;
    };
    let later = reading.lines[line..].iter().zip(&reading.facts[line..]);
    later.filter(|(_, fact)| fact.role == FrameRole::Action && fact.life == life).any(|(one, _)| {
        let params = message_of(one).and_then(|it| it.get("params"));
        params.is_some_and(|it| {
            let number = it.pointer("/origin/clientSeq").and_then(Value::as_i64);
            let ours = it.pointer("/origin/clientId").and_then(Value::as_str) == Some(client);
            ours && it.get("channel") == channel && number.is_some_and(|number| number > seq)
        })
    })
}

/// Returns whether a later action has a lower number than the changed action, without a restart of the host in between.
fn later_is_lower(
    original: &CaptureReading<'_>,
    changed: &[TranscriptLine],
    spot: &EnvelopeSpot,
) -> bool {
    let value = changed.get(spot.line).and_then(message_of);
    let number = value.and_then(|value| {
        let inside = value.pointer(&spot.base)?;
        inside.get("fromSeq").or_else(|| inside.pointer("/result/serverSeq"))?.as_u64()
    });
    let life = original.facts[spot.line].life;
    let end = original.lives[life].end;
    number.is_some_and(|number| {
        (spot.line + 1..end).any(|line| {
            let here = original.facts[line].life == life;
            let lower =
                |(_, it): &(EnvelopeSpot, &Value)| key_of(it).is_some_and(|(_, seq)| seq < number);
            here && original.facts[line].role == FrameRole::Action
                && envelopes(original.lines, line).iter().any(lower)
        })
    })
}

/// Returns whether a session of the original list is missing or different in the changed list, although a connection is
/// subscribed to the session and the session was ready when the list was requested.
fn listed(original: &CaptureReading<'_>, changed: &[TranscriptLine], spot: &EnvelopeSpot) -> bool {
    let items = |lines: &[TranscriptLine]| -> Vec<Value> {
        let value = message_of(&lines[spot.line]);
        let items = value.and_then(|it| it.pointer("/result/items")).and_then(Value::as_array);
        items.cloned().unwrap_or_default()
    };
    let kept = items(changed);
    let lost = items(original.lines).into_iter().filter(|item| !kept.contains(item));
    let names: Vec<String> = lost.map(|item| text(&item, "resource")).collect();
    let lives = 0..original.lives.len();
    let asked = original.facts[spot.line].answers.unwrap_or(spot.line);
    names.iter().any(|name| {
        lives.clone().any(|life| original.is_subscribed(life, name, spot.line))
            && is_ready(original, name, asked)
    })
}

/// Returns whether a session was known to be ready before a line. Only a ready session has to be listed.
fn is_ready(original: &CaptureReading<'_>, session: &str, line: usize) -> bool {
    (0..line).any(|line| {
        let became = envelopes(original.lines, line).iter().any(|(_, envelope)| {
            let action = envelope.get("action").map(|action| text(action, "type"));
            text(envelope, "channel") == session && action.as_deref() == Some("session/ready")
        });
        let shown = message_of(&original.lines[line]).into_iter().flat_map(snapshots);
        let mut shown = shown.filter(|(_, it)| text(it, "resource") == session);
        became
            || shown.any(|(_, it)| {
                it.pointer("/state/lifecycle").and_then(Value::as_str) == Some("ready")
            })
    })
}

/// Returns whether a snapshot that matches the history in the original capture does not match it in the changed
/// capture.
fn disagrees(original: &[TranscriptLine], changed: &[TranscriptLine]) -> bool {
    let (before, after) = (agreements(original), agreements(changed));
    before.len() == after.len()
        && before
            .iter()
            .zip(&after)
            .any(|((channel, agreed), (other, agrees))| channel == other && *agreed && !agrees)
}

/// Returns the channel of each snapshot that follows an earlier snapshot of its channel, and whether the later
/// snapshot equals the earlier one with the actions in between.
fn agreements(lines: &[TranscriptLine]) -> Vec<(String, bool)> {
    let mut agreements = Vec::new();
    let lives = lines.split(|line| line.event == ConnectionEvent::Restarted);
    for life in lives {
        of_life(life, &mut agreements);
    }
    agreements
}

fn of_life(lines: &[TranscriptLine], agreements: &mut Vec<(String, bool)>) {
    let version = lines
        .iter()
        .filter_map(message_of)
        .find_map(|value| value.pointer("/result/protocolVersion")?.as_str()?.parse().ok());
    let Some(version) = version else { return };
    let mut log: HashMap<&str, BTreeMap<u64, &Value>> = HashMap::new();
    for number in 0..lines.len() {
        for (_, envelope) in envelopes(lines, number) {
            if let Some((channel, seq)) = key_of(envelope)
                && envelope.get("rejectionReason").is_none()
                && let Some(action) = envelope.get("action")
            {
                log.entry(channel).or_default().entry(seq).or_insert(action);
            }
        }
    }
    let mut bases: HashMap<&str, (u64, &Value)> = HashMap::new();
    for value in lines.iter().filter_map(message_of) {
        for (_, snapshot) in snapshots(value) {
            let (Some(channel), Some(seq), Some(state), Some(kind)) = (
                snapshot.get("resource").and_then(Value::as_str),
                snapshot.get("fromSeq").and_then(Value::as_u64),
                snapshot.get("state"),
                kind_of(snapshot),
            ) else {
                continue;
            };
            if let Some((from, base)) = bases.insert(channel, (seq, state)) {
                let mut folded = (*base).clone();
                let actions = log.get(channel).into_iter();
                let actions = actions.flat_map(|log| log.range(from.saturating_add(1)..));
                for (_, action) in actions.take_while(|(number, _)| **number <= seq) {
                    apply(version, kind, &mut folded, action);
                }
                let agrees = seq >= from
                    && match kind {
                        ChannelKind::Terminal => same_terminal(&folded, state),
                        _ => plain(&folded) == plain(state),
                    };
                agreements.push((channel.to_owned(), agrees));
            }
        }
    }
}

/// Returns whether two states of a terminal agree. A terminal may have kept only the end of its output, and may divide
/// the output into other parts.
fn same_terminal(folded: &Value, state: &Value) -> bool {
    let shown = |state: &Value| -> String {
        let parts = state.get("content").and_then(Value::as_array);
        let texts = parts.into_iter().flatten();
        texts.map(|part| text(part, "value") + &text(part, "output")).collect()
    };
    let rest = |state: &Value| {
        let mut state = plain(state);
        if let Some(map) = state.as_object_mut() {
            map.remove("content");
        }
        state
    };
    shown(folded).ends_with(&shown(state)) && rest(folded) == rest(state)
}

/// Returns a state without insignificant members: null values, empty lists and objects, and the modification
/// time.
fn plain(value: &Value) -> Value {
    let empty = |value: &Value| match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty(),
        _ => false,
    };
    match value {
        Value::Array(items) => items.iter().map(plain).collect(),
        Value::Object(map) => {
            let members = map.iter().filter(|(name, _)| *name != "modifiedAt");
            let members = members.map(|(name, value)| (name.clone(), plain(value)));
            let mut members: Vec<_> = members.filter(|(_, value)| !empty(value)).collect();
            members.sort_by(|one, two| one.0.cmp(&two.0));
            Value::Object(members.into_iter().collect::<Map>())
        }
        other => other.clone(),
    }
}
