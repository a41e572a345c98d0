//! Rewrites of the times, the order and the extent of a capture.

use std::time::Duration;

use crate::dice::Dice;
use crate::transcript::line::TranscriptLine;
use crate::transcript::{ClosingSide, ConnectionEvent};
use crate::wire::version::Version;

use super::super::reading::{CaptureReading, FrameRole, last_lives};

/// The number of frames that are moved.
const MOVES: usize = 12;
/// The maximum time by which a frame is moved. With a longer delay, the host would seem to be idle while it was
/// working.
const AWHILE: Duration = Duration::from_millis(500);

/// A change of the times.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum TimeForm {
    /// The recording began this many seconds earlier.
    Later(u64),
    /// All intervals are scaled to this percentage.
    Percent(u32),
    /// A pause of this many seconds is inserted before a frame of a client, when no request is unanswered.
    Pause(u64),
    /// All times are zero, as if they were not recorded.
    Unknown,
}

/// A way to change the order of frames of different connections.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ArrivalForm {
    /// Frames of the host move after frames of other connections.
    Late,
    /// Frames of a client move before frames of other connections.
    Early,
    /// All frames that a client received between two of its own frames arrive at the same time.
    Batches,
}

/// The part of the capture that is kept.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum WindowForm {
    /// The end of the capture: the beginning is removed.
    End,
    /// The beginning of the capture: the end is removed.
    Beginning,
    /// The middle of the capture: the beginning and the end are removed.
    Middle,
    /// All connections except one.
    WithoutOne,
    /// Only one connection.
    OnlyOne,
    /// The whole capture, but the connection of one client is closed in the middle.
    Dropped,
    /// The whole capture without the lines that close connections.
    WithoutCloses,
    /// The whole capture, but the last frame is truncated.
    CutFrame,
}

/// Changes the times of the lines.
pub(in crate::mutation) fn time(lines: &mut [TranscriptLine], form: TimeForm, dice: &mut Dice) {
    match form {
        TimeForm::Later(seconds) => {
            lines.iter_mut().for_each(|line| line.at += Duration::from_secs(seconds));
        }
        TimeForm::Percent(percent) => {
            lines.iter_mut().for_each(|line| line.at = line.at * percent / 100);
        }
        TimeForm::Pause(seconds) => {
            let calm = calm(lines);
            let Some(from) = dice.pick(&calm).copied() else { return };
            lines[from..].iter_mut().for_each(|line| line.at += Duration::from_secs(seconds));
        }
        TimeForm::Unknown => lines.iter_mut().for_each(|line| line.at = Duration::ZERO),
    }
}

/// Returns the lines of clients before which every request was answered and the host was silent for a while.
fn calm(lines: &[TranscriptLine]) -> Vec<usize> {
    const CALM: Duration = Duration::from_secs(1);
    let reading = CaptureReading::of(lines);
    let mut open: Vec<usize> = Vec::new();
    let mut calm = Vec::new();
    for (number, fact) in reading.facts.iter().enumerate() {
        let waited = number > 0 && lines[number].at >= lines[number - 1].at + CALM;
        if open.is_empty() && waited && matches!(lines[number].event, ConnectionEvent::Sent(_)) {
            calm.push(number);
        }
        if fact.role == FrameRole::Request {
            open.push(number);
        }
        open.retain(|asked| {
            let gone = reading.lives[reading.facts[*asked].life].closed;
            fact.answers != Some(*asked) && gone.is_none_or(|closed| closed > number)
        });
    }
    calm
}

/// Changes the order of frames of different connections.
pub(in crate::mutation) fn arrive(
    lines: &mut Vec<TranscriptLine>,
    form: ArrivalForm,
    dice: &mut Dice,
) {
    for _ in 0..MOVES {
        if lines.is_empty() {
            return;
        }
        let at = dice.below(lines.len());
        let conn = lines[at].conn.clone();
        let restarted = |line: &TranscriptLine| line.event == ConnectionEvent::Restarted;
        let time = lines[at].at;
        let near = |line: &TranscriptLine| line.at.abs_diff(time) < AWHILE;
        let other = |line: &&TranscriptLine| line.conn != conn && !restarted(line) && near(line);
        match (&lines[at].event, form) {
            (ConnectionEvent::Received(_), ArrivalForm::Late) => {
                let free = lines[at + 1..].iter().take_while(other).count();
                let to = at + dice.below(free + 1);
                let time = lines[to].at;
                let line = lines.remove(at);
                lines.insert(to, TranscriptLine { at: time, ..line });
            }
            (ConnectionEvent::Sent(_), ArrivalForm::Early) => {
                let free = lines[..at].iter().rev().take_while(other).count();
                let to = at - dice.below(free + 1);
                let time = lines[to].at;
                let line = lines.remove(at);
                lines.insert(to, TranscriptLine { at: time, ..line });
            }
            (ConnectionEvent::Received(_), ArrivalForm::Batches) => {
                let mine = |line: &TranscriptLine| line.conn == conn;
                let next = lines[at..].iter().position(|line| {
                    let client = mine(line) && !matches!(line.event, ConnectionEvent::Received(_));
                    restarted(line) || client || !near(line)
                });
                let end = next.map_or(lines.len(), |next| at + next);
                let time = lines[end - 1].at;
                let mut batch = Vec::new();
                let mut number = at;
                for _ in at..end {
                    if mine(&lines[number]) {
                        batch.push(TranscriptLine { at: time, ..lines.remove(number) });
                    } else {
                        number += 1;
                    }
                }
                for (index, line) in batch.into_iter().enumerate() {
                    lines.insert(number + index, line);
                }
            }
            _ => {}
        }
    }
}

/// Removes a part of the capture. Returns the version to assume if handshakes were removed.
pub(in crate::mutation) fn show(
    lines: &mut Vec<TranscriptLine>,
    form: WindowForm,
    dice: &mut Dice,
) -> Option<Version> {
    let reading = CaptureReading::of(lines);
    let version = reading.version();
    let (begin, end) = (dice.below(lines.len().max(1)), dice.below(lines.len().max(1)));
    match form {
        WindowForm::End => {
            lines.drain(..begin);
            return version;
        }
        WindowForm::Beginning => lines.truncate(end.max(1)),
        WindowForm::Middle => {
            *lines = lines[begin.min(end)..begin.max(end)].to_vec();
            return version;
        }
        WindowForm::WithoutOne | WindowForm::OnlyOne => {
            let conns: Vec<&str> = reading.lives.iter().map(|life| life.conn.as_str()).collect();
            let one = (*dice.pick(&conns)?).to_owned();
            let only = form == WindowForm::OnlyOne;
            lines.retain(|line| {
                (line.conn == one) == only || line.event == ConnectionEvent::Restarted
            });
        }
        WindowForm::Dropped => dropped(lines, dice),
        WindowForm::WithoutCloses => {
            // The `close` lines of a client that reconnects are kept, because the client would otherwise have two
            // connections at the same time.
            let once: Vec<String> = last_lives(&reading)
                .into_iter()
                .filter(|(client, _)| {
                    reading.lives.iter().filter(|life| life.client == *client).count() == 1
                })
                .map(|(_, life)| reading.lives[life].conn.clone())
                .collect();
            lines.retain(|line| {
                !matches!(line.event, ConnectionEvent::Closed { .. }) || !once.contains(&line.conn)
            });
        }
        WindowForm::CutFrame => {
            let last = lines
                .iter()
                .rposition(|line| matches!(line.event, ConnectionEvent::Received(_)))?;
            lines.truncate(last + 1);
            let line = lines.last_mut()?;
            if let ConnectionEvent::Received(seen) = &line.event {
                let frame = (*seen.frame).clone();
                line.event = ConnectionEvent::Cut { by: ClosingSide::Host, frame };
            }
        }
    }
    None
}

/// Closes the connection of a client in the middle. Only a client that owns no objects on the host and does not
/// reconnect is chosen.
fn dropped(lines: &mut Vec<TranscriptLine>, dice: &mut Dice) {
    let reading = CaptureReading::of(lines);
    let duties = reading.answerable();
    let lives: Vec<usize> = last_lives(&reading)
        .into_values()
        .filter(|life| {
            let life = &reading.lives[*life];
            !duties.contains(life.client.as_str()) && !life.client.is_empty()
        })
        .collect();
    let Some(life) = dice.pick(&lives).copied() else { return };
    let fact = &reading.lives[life];
    // The connection is closed after the client's last request or dispatch, because other clients have received the
    // effects of these messages.
    let last = (fact.begin..fact.end).rev().find(|line| {
        let role = reading.facts[*line].role;
        reading.facts[*line].life == life
            && matches!(role, FrameRole::Dispatch | FrameRole::Request)
    });
    let least = last.unwrap_or(fact.begin) + 1;
    let from = least + dice.below(fact.end - least + 1);
    let gone = TranscriptLine {
        case: None,
        at: lines[from.min(lines.len()) - 1].at,
        conn: fact.conn.clone(),
        event: ConnectionEvent::Closed {
            by: ClosingSide::Client,
            code: Some(1001),
            reason: String::new(),
        },
    };
    let facts: Vec<usize> = reading.facts.iter().map(|fact| fact.life).collect();
    let mut number = 0;
    lines.retain(|_| {
        number += 1;
        number <= from || facts[number - 1] != life
    });
    lines.insert(from.min(lines.len()), gone);
}
