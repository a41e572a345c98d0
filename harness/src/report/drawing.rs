//! Draws a conversation as text: one column per client, with time running downwards.
//!
//! Start at [`text`].

use std::fmt::Write as _;

use crate::wire::foreign_text::{LineBreaks, shown};

use super::conversation::{AGENT, ConversationLine, LineDirection, LineRole};
use super::draw::DrawStyle;
use super::first::one_line;

/// The frames that are shown in full.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FrameDetail {
    /// The frames that are evidence, and the messages that led to the evidence.
    Proofs,
    /// No frames; each message has only a line with a short description.
    Summaries,
    /// All frames.
    All,
}

/// The width of a line of the drawing, in columns. `NARROW` is the minimum width of a lane, the column of one client.
const WIDTH: usize = 96;
const NARROW: usize = 26;
/// The maximum number of consecutive rows without evidence that are written; longer sequences are collapsed.
const FEW: usize = 2;

/// Draws the rows of a conversation as text.
pub fn text(rows: &[ConversationLine], detail: FrameDetail, style: DrawStyle) -> String {
    let mut lanes: Vec<&str> =
        rows.iter().map(|row| row.client.as_str()).filter(|name| !name.is_empty()).collect();
    lanes.sort_unstable_by_key(|name| (*name == AGENT, *name));
    lanes.dedup();
    let width = (WIDTH / lanes.len().max(1)).max(NARROW);
    let mut out = format!("{:>8} {:>9}  ", "line", "seconds");
    for lane in &lanes {
        let _ = write!(out, "{:<width$}", shown(lane, LineBreaks::Shown));
    }
    out.push('\n');
    for group in rows.chunk_by(|a, b| (a.role == LineRole::Beside) == (b.role == LineRole::Beside))
    {
        let beside = group.first().is_some_and(|row| row.role == LineRole::Beside);
        let shown = if beside && detail == FrameDetail::Proofs {
            FEW.min(group.len())
        } else {
            group.len()
        };
        let from = group.len() - shown;
        if from > 0 {
            let _ = writeln!(out, "{:>8} {from} more lines (hint: `--all`)", "…");
        }
        for row in group.get(from..).unwrap_or_default() {
            line(&mut out, row, &lanes, width, detail, style);
        }
    }
    out
}

fn line(
    out: &mut String,
    row: &ConversationLine,
    lanes: &[&str],
    width: usize,
    detail: FrameDetail,
    style: DrawStyle,
) {
    let mark = match row.role {
        LineRole::Proof => '!',
        LineRole::Sent => '>',
        LineRole::Beside => ' ',
    };
    let arrow = match (row.way, row.client == AGENT) {
        (LineDirection::Across, _) => "·",
        (LineDirection::Out, false) | (LineDirection::In, true) => "→",
        (LineDirection::In, false) | (LineDirection::Out, true) => "←",
    };
    let lane = lanes.iter().position(|lane| *lane == row.client).unwrap_or(0);
    let answers = row.answers.map(|line| format!(" (to {line})")).unwrap_or_default();
    let what = one_line(&format!("{arrow} {}{answers}", row.what.line()), 3 * width);
    let seconds = row.at_us as f64 / 1e6;
    let text = format!(
        "{mark}{:>7} {seconds:>9.3}  {:indent$}{what}",
        row.line,
        "",
        indent = lane * width
    );
    match (style.colour, row.role) {
        (true, LineRole::Proof) => {
            let _ = writeln!(out, "\u{1b}[1;31m{text}\u{1b}[0m");
        }
        (true, LineRole::Sent) => {
            let _ = writeln!(out, "\u{1b}[1;34m{text}\u{1b}[0m");
        }
        _ => {
            let _ = writeln!(out, "{text}");
        }
    }
    if row.role != LineRole::Beside || detail == FrameDetail::All {
        for frame in row.text.lines().lines() {
            let _ = writeln!(out, "{:>20}{frame}", "");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::foreign_text::ForeignText;

    fn row(line: u64, client: &str, way: LineDirection, role: LineRole) -> ConversationLine {
        ConversationLine {
            line,
            at_us: line * 1_000,
            client: client.to_owned(),
            way,
            what: "subscribe #3".into(),
            channel: ForeignText::default(),
            text: "{}".into(),
            answers: None,
            role,
        }
    }

    #[test]
    fn proofs_are_marked_and_others_folded() {
        let mut rows: Vec<ConversationLine> =
            (1..6).map(|line| row(line, "A", LineDirection::Out, LineRole::Beside)).collect();
        rows.push(row(6, "B", LineDirection::In, LineRole::Proof));
        let drawn = text(&rows, FrameDetail::Proofs, DrawStyle::default());
        assert!(drawn.contains("… 3 more lines") && drawn.contains("!      6"), "{drawn}");
        assert!(drawn.contains("← subscribe #3") && drawn.lines().count() == 6, "{drawn}");
        let all = text(&rows, FrameDetail::All, DrawStyle::default());
        assert_eq!(all.lines().count(), 13, "{all}");
    }
}
