//! Rewrites that split, merge or reword strings.

use std::collections::BTreeMap;

use crate::dice::Dice;
use crate::transcript::ConnectionEvent;
use crate::transcript::line::TranscriptLine;
use crate::wire::json::{Value, json};

use super::super::capture::{edit, message_of, put_message};
use super::super::pointer;
use super::super::reading::{CaptureReading, EnvelopeSpot, envelopes, key_of};
use super::super::renumber::respell;

/// The maximum number of strings that are split in one capture.
const MOST: usize = 3;

/// The envelopes of one action type whose actions the host itself created. The key is the channel and the `serverSeq`;
/// the value lists all places of the envelope.
type TextPieces = BTreeMap<(String, u64), Vec<EnvelopeSpot>>;

fn pieces(reading: &CaptureReading<'_>, name: &str) -> TextPieces {
    let mut pieces = TextPieces::new();
    for line in 0..reading.lines.len() {
        for (spot, envelope) in envelopes(reading.lines, line) {
            let wanted = envelope.pointer("/action/type").and_then(Value::as_str) == Some(name)
                && envelope.get("origin").is_none()
                && envelope.get("rejectionReason").is_none();
            if let Some((channel, seq)) = key_of(envelope).filter(|_| wanted) {
                pieces.entry((channel.to_owned(), seq)).or_default().push(spot);
            }
        }
    }
    pieces
}

fn restarts(lines: &[TranscriptLine]) -> bool {
    lines.iter().any(|line| line.event == ConnectionEvent::Restarted)
}

/// Splits strings at random places, so that one action becomes two.
pub(in crate::mutation) fn split(
    lines: &mut Vec<TranscriptLine>,
    name: &str,
    member: &str,
    dice: &mut Dice,
) {
    for _ in 0..=dice.below(MOST) {
        split_once(lines, name, member, dice);
    }
}

fn split_once(
    lines: &mut Vec<TranscriptLine>,
    name: &str,
    member: &str,
    dice: &mut Dice,
) -> Option<()> {
    if restarts(lines) {
        return None;
    }
    let reading = CaptureReading::of(lines);
    let all: Vec<_> = pieces(&reading, name).into_iter().collect();
    let ((_, seq), spots) = dice.pick(&all)?;
    let place = format!("/action/{member}");
    let text_at = |spot: &EnvelopeSpot| reading.value(spot)?.pointer(&place)?.as_str();
    let text = text_at(spots.first()?)?;
    // For some clients, the host merges several actions into one, so the text under one number may differ.
    if spots.iter().any(|spot| text_at(spot) != Some(text)) {
        return None;
    }
    let chars: Vec<char> = text.chars().collect();
    if chars.len() < 2 {
        return None;
    }
    let at = 1 + dice.below(chars.len() - 1);
    let (one, two): (String, String) = (chars[..at].iter().collect(), chars[at..].iter().collect());
    let mut new = reading.lines.to_vec();
    // A snapshot that contains this action contains both parts of it, so the number of the snapshot increases as well.
    respell(&mut new, &|number, is_action| {
        json!(number + u64::from(number > *seq || (number == *seq && !is_action)))
    });
    for spot in spots.iter().rev() {
        let value = message_of(&new[spot.line])?.pointer(&spot.base)?.clone();
        let (mut first, mut second) = (value.clone(), value);
        put(&mut first, member, &one);
        put(&mut second, member, &two);
        second.as_object_mut()?.insert("serverSeq", json!(seq + 1));
        if spot.base == "/params" {
            edit(&mut new[spot.line], |value| {
                value.get_mut("params").map(|it| *it = first).is_some()
            });
            let mut line = new[spot.line].clone();
            put_message(
                &mut line,
                &json!({"jsonrpc": "2.0", "method": "action", "params": second}),
            );
            new.insert(spot.line + 1, line);
        } else {
            let (above, last) = pointer::split(&spot.base)?;
            let index: usize = last.parse().ok()?;
            edit(&mut new[spot.line], |value| {
                let Some(list) = value.pointer_mut(above).and_then(Value::as_array_mut) else {
                    return false;
                };
                list[index] = first;
                list.insert(index + 1, second);
                true
            });
        }
    }
    *lines = new;
    Some(())
}

fn put(envelope: &mut Value, member: &str, text: &str) {
    if let Some(found) = envelope.pointer_mut(&format!("/action/{member}")) {
        *found = json!(text);
    }
}

/// Merges two consecutive actions with a string. The second action gets the whole text.
pub(in crate::mutation) fn merge(
    lines: &mut Vec<TranscriptLine>,
    name: &str,
    member: &str,
    dice: &mut Dice,
) {
    let _ = merge_once(lines, name, member, dice);
}

fn merge_once(
    lines: &mut Vec<TranscriptLine>,
    name: &str,
    member: &str,
    dice: &mut Dice,
) -> Option<()> {
    if restarts(lines) {
        return None;
    }
    let reading = CaptureReading::of(lines);
    let all = pieces(&reading, name);
    let marks: Vec<u64> = marks(&reading);
    let fits = |(channel, seq): &(String, u64)| {
        let (one, two) = (all.get(&(channel.clone(), *seq)), all.get(&(channel.clone(), seq + 1)));
        let Some((one, two)) = one.zip(two) else { return false };
        let same = |spots: &[EnvelopeSpot]| spots.iter().all(|spot| spot.base == "/params");
        let lives = |spots: &[EnvelopeSpot]| -> Vec<usize> {
            spots.iter().map(|spot| reading.facts[spot.line].life).collect()
        };
        let without = |spots: &[EnvelopeSpot]| {
            let mut action =
                spots.first().and_then(|spot| reading.value(spot)?.get("action").cloned());
            if let Some(map) = action.as_mut().and_then(Value::as_object_mut) {
                map.remove(member);
            }
            action
        };
        // No snapshot and no client's last seen number may lie between the two actions.
        same(one)
            && same(two)
            && lives(one) == lives(two)
            && without(one) == without(two)
            && !marks.contains(seq)
    };
    let pairs: Vec<&(String, u64)> = all.keys().filter(|key| fits(key)).collect();
    let (channel, seq) = (*dice.pick(&pairs)?).clone();
    let (one, two) = (all.get(&(channel.clone(), seq))?, all.get(&(channel, seq + 1))?);
    let text = |spots: &[EnvelopeSpot]| -> Option<String> {
        let value = reading.value(spots.first()?)?.pointer(&format!("/action/{member}"))?;
        value.as_str().map(str::to_owned)
    };
    let whole = text(one)? + &text(two)?;
    let mut new = reading.lines.to_vec();
    for spot in two {
        edit(&mut new[spot.line], |value| {
            value.get_mut("params").map(|it| put(it, member, &whole)).is_some()
        });
    }
    let mut gone: Vec<usize> = one.iter().map(|spot| spot.line).collect();
    gone.sort_unstable();
    for line in gone.into_iter().rev() {
        new.remove(line);
    }
    *lines = new;
    Some(())
}

/// Returns the numbers of the last actions in snapshots, and of the last actions that clients have seen.
fn marks(reading: &CaptureReading<'_>) -> Vec<u64> {
    let mut marks = Vec::new();
    for value in reading.lines.iter().filter_map(message_of) {
        for place in ["/**/fromSeq", "/**/lastSeenServerSeq", "/result/serverSeq"] {
            let found = pointer::places(value, place);
            marks.extend(found.iter().filter_map(|place| value.pointer(place)?.as_u64()));
        }
    }
    marks
}

/// Replaces the human-readable texts in these members everywhere.
pub(in crate::mutation) fn reword(lines: &mut [TranscriptLine], members: &[&str]) {
    for line in lines {
        edit(line, |value| {
            for member in members {
                for place in pointer::places(value, &format!("/{member}")) {
                    if let Some(found) = value.pointer_mut(&place)
                        && let Some(text) = found.as_str()
                    {
                        *found = json!(format!("In other words: {text}"));
                    }
                }
            }
            true
        });
    }
}
