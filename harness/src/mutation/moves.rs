//! Changes that involve two or more frames of a conversation.
//!
//! Knows: the meaning of frames. Never knows: rules.

use crate::dice::Dice;
use crate::transcript::line::TranscriptLine;
use crate::wire::json::Value;

use super::capture::{edit, message_of};
use super::change::{FaultAudience, places};
use super::reading::{CaptureReading, EnvelopeSpot, FrameRole, envelopes, key_of, text};

/// Inserts an action after the snapshot that already contains it. Another connection received the action
/// before.
pub(super) fn old_action(
    reading: &CaptureReading<'_>,
    spot: &EnvelopeSpot,
    lines: &mut Vec<TranscriptLine>,
    dice: &mut Dice,
) -> Option<String> {
    let snapshot = reading.value(spot)?;
    let (channel, from) = (text(snapshot, "resource"), snapshot.get("fromSeq")?.as_u64()?);
    let life = reading.facts[spot.line].life;
    let old = (0..spot.line).filter(|line| {
        let fact = &reading.facts[*line];
        let fits = |(_, it): &(EnvelopeSpot, &Value)| {
            let accepted = it.get("rejectionReason").is_none();
            accepted && key_of(it).is_some_and(|(on, seq)| on == channel && seq <= from)
        };
        fact.role == FrameRole::Action
            && fact.life != life
            && envelopes(reading.lines, *line).iter().any(fits)
    });
    let old: Vec<usize> = old.collect();
    let chosen = *dice.pick(&old)?;
    let again = TranscriptLine {
        at: lines[spot.line].at,
        conn: lines[spot.line].conn.clone(),
        ..lines[chosen].clone()
    };
    lines.insert(spot.line + 1, again);
    Some(format!("line {} follows again", chosen + 1))
}

/// Sends the next action on a channel to a connection that has unsubscribed from the channel.
pub(super) fn still_told(
    reading: &CaptureReading<'_>,
    line: usize,
    lines: &mut Vec<TranscriptLine>,
) -> Option<String> {
    let left = text(message_of(&reading.lines[line])?.get("params")?, "channel");
    let fence = reading.fence(line)?;
    let life = reading.facts[line].life;
    let end = reading.lives[life].closed.unwrap_or(reading.lines.len());
    let next = (fence + 1..end).find(|at| {
        let fact = &reading.facts[*at];
        let here = |(_, it): &(EnvelopeSpot, &Value)| {
            let client = it.pointer("/origin/clientId").and_then(Value::as_str);
            let own = client == Some(reading.lives[life].client.as_str());
            !own && key_of(it).is_some_and(|(channel, _)| channel == left)
        };
        fact.role == FrameRole::Action
            && fact.life != life
            && envelopes(reading.lines, *at).iter().any(here)
    })?;
    if reading.is_subscribed(life, &left, next) {
        return None;
    }
    let told = TranscriptLine { conn: lines[line].conn.clone(), ..lines[next].clone() };
    lines.insert(next + 1, told);
    Some(format!("line {} also comes here", next + 1))
}

/// Exchanges the content of an action and the content of the next action on the connection.
pub(super) fn swap_actions(
    reading: &CaptureReading<'_>,
    spot: &EnvelopeSpot,
    audience: FaultAudience,
    lines: &mut [TranscriptLine],
) -> Option<String> {
    let next = EnvelopeSpot { line: reading.next_received(spot.line)?, base: spot.base.clone() };
    let (one, two) = (reading.value(spot)?, reading.value(&next)?);
    if one.get("action") == two.get("action") && one.get("origin") == two.get("origin") {
        return None;
    }
    for (from, to) in [(one, spot), (two, &next)] {
        let other = if std::ptr::eq(from, one) { two } else { one };
        let number = from.get("serverSeq")?.clone();
        for place in places(reading, to, audience) {
            edit(&mut lines[place.line], |value| {
                let Some(inside) = value.pointer_mut(&place.base) else { return false };
                inside.clone_from(other);
                if let Some(seq) = inside.get_mut("serverSeq") {
                    seq.clone_from(&number);
                }
                true
            });
        }
    }
    Some(format!("changed places with line {}", next.line + 1))
}

/// Moves the echo on a line before the dispatch that the echo answers.
pub(super) fn before_dispatch(
    reading: &CaptureReading<'_>,
    line: usize,
    lines: &mut Vec<TranscriptLine>,
) -> Option<String> {
    let seq = message_of(&reading.lines[line])?.pointer("/params/origin/clientSeq")?;
    let life = reading.facts[line].life;
    let sent = (0..line).rev().find(|at| {
        let fact = &reading.facts[*at];
        let number = message_of(&reading.lines[*at]).and_then(|it| it.pointer("/params/clientSeq"));
        fact.role == FrameRole::Dispatch && fact.life == life && number == Some(seq)
    })?;
    let between = (sent + 1..line).any(|at| {
        let fact = &reading.facts[at];
        fact.role == FrameRole::Action && fact.life == life
    });
    // If actions were between the two lines, the `serverSeq` numbers of the connection would also be out of order,
    // which is another fault.
    if between {
        return None;
    }
    let early = TranscriptLine { at: lines[sent].at, ..lines.remove(line) };
    lines.insert(sent, early);
    Some(format!("sent before the dispatch on line {}", sent + 1))
}
