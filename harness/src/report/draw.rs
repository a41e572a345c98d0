//! Draws mistakes in scenario files and failures of steps, each with the lines of the scenario to which it belongs.

use std::ops::Range;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

use crate::run::failure::StepFailure;
use crate::scenario::source::{ScenarioError, SourceFile, SourceSpan};
use crate::wire::foreign_text::ForeignText;

/// The maximum width of a line of a hint, in columns.
const HINT_WIDTH: usize = 90;

/// The style of a drawing.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct DrawStyle {
    /// Whether the terminal shows colours.
    pub colour: bool,
}

/// Draws a mistake in a scenario file.
pub fn mistake(sources: &[SourceFile], error: &ScenarioError, style: DrawStyle) -> String {
    let text = error.to_string();
    let (message, hint) = match text.split_once("\n(hint: ") {
        Some((message, hint)) => (message, Some(hint.trim_end_matches(')'))),
        None => (text.as_str(), None),
    };
    let label = (AnnotationKind::Primary, error.span, "here");
    drawn(sources.get(error.span.file as usize), message, &[label], hint, style)
}

/// Draws a failed expectation. `help` contains the text of the rule and the place of the transcript.
pub fn failure(
    sources: &[SourceFile],
    failure: &StepFailure,
    help: String,
    style: DrawStyle,
) -> String {
    let visible = |text: &str| ForeignText::from(text).lines();
    let (message, label) = (visible(&failure.message), visible(&failure.label));
    let second = failure.second.as_ref().map(|(span, text)| (*span, visible(text)));
    let mut labels = vec![(AnnotationKind::Primary, failure.span, label.as_str())];
    if let Some((span, text)) = &second
        && span.file == failure.span.file
    {
        labels.push((AnnotationKind::Context, *span, text));
    }
    let source = sources.get(failure.span.file as usize);
    drawn(source, &message, &labels, Some(&help), style)
}

fn drawn(
    source: Option<&SourceFile>,
    message: &str,
    labels: &[(AnnotationKind, SourceSpan, &str)],
    hint: Option<&str>,
    style: DrawStyle,
) -> String {
    let mut drawing = Group::with_title(Level::ERROR.primary_title(message));
    if let Some(source) = source.filter(|source| !source.text.is_empty()) {
        let mut lines = Snippet::source(&*source.text).path(&source.name);
        for (kind, span, label) in labels {
            let place = on_one_line(&source.text, *span);
            lines = lines
                .annotation(AnnotationKind::Visible.span(with_neighbours(&source.text, &place)))
                .annotation(kind.span(place).label(*label));
        }
        drawing = drawing.element(lines);
    }
    if let Some(hint) = hint {
        drawing = drawing.element(Level::HELP.message(wrapped(hint)));
    }
    let renderer = if style.colour { Renderer::styled() } else { Renderer::plain() };
    renderer.decor_style(DecorStyle::Unicode).render(&[drawing]) + "\n"
}

/// Returns the range of a marked place, cut at the end of its first line, because a mark over many lines would hide the
/// source text. The result lies within the text and on character boundaries, as the drawing library requires.
fn on_one_line(text: &str, span: SourceSpan) -> Range<usize> {
    let between = |mut byte: usize| {
        while !text.is_char_boundary(byte) {
            byte -= 1;
        }
        byte
    };
    let start = between((span.start as usize).min(text.len()));
    let line_end = text[start..].find('\n').map_or(text.len(), |length| start + length);
    start..between((span.end as usize).clamp(start, line_end))
}

/// Returns the byte range of the lines that contain a place, with the previous and the next line.
fn with_neighbours(text: &str, place: &Range<usize>) -> Range<usize> {
    let line = text[..place.start].rfind('\n').unwrap_or(0);
    let start = text[..line].rfind('\n').map_or(0, |at| at + 1);
    let mut ends = text[place.end..].match_indices('\n').map(|(at, _)| place.end + at);
    start..ends.nth(1).unwrap_or(text.len())
}

/// Wraps a hint between words to fit the width of a terminal.
fn wrapped(hint: &str) -> String {
    let mut out = String::with_capacity(hint.len() + 8);
    let mut column = 0;
    for piece in hint.split_inclusive([' ', '\n']) {
        let width = piece.trim_end().chars().count();
        if column > 0 && column + width > HINT_WIDTH {
            out.truncate(out.trim_end().len());
            out.push('\n');
            column = 0;
        }
        out.push_str(piece);
        column = if piece.ends_with('\n') { 0 } else { column + width + 1 };
    }
    out
}
