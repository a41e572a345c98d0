//! Mistakes and failures, drawn on the author's lines.

use miette::{
    Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource, SourceCode,
};

use crate::run::failure::Failure;
use crate::scenario::source::{ScenarioError, Source, Span};

/// How a drawing is made.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Style {
    /// Whether the terminal shows colours.
    pub colour: bool,
}

/// A mistake in a scenario file.
pub fn mistake(sources: &[Source], error: &ScenarioError, style: Style) -> String {
    let text = error.to_string();
    let (message, help) = match text.split_once("\n(hint: ") {
        Some((message, hint)) => (message.to_owned(), Some(hint.trim_end_matches(')').to_owned())),
        None => (text, None),
    };
    let label = LabeledSpan::new_with_span(Some("here".to_owned()), place(error.span));
    drawn(sources, error.span, message, vec![label], help, style)
}

/// An expectation that was not met; `help` is what the rule says and where the transcript is.
pub fn failure(sources: &[Source], failure: &Failure, help: String, style: Style) -> String {
    let mut labels =
        vec![LabeledSpan::new_primary_with_span(Some(failure.label.clone()), place(failure.span))];
    if let Some((span, text)) = &failure.second
        && span.file == failure.span.file
    {
        labels.push(LabeledSpan::new_with_span(Some(text.clone()), place(*span)));
    }
    drawn(sources, failure.span, failure.message.clone(), labels, Some(help), style)
}

fn place(span: Span) -> (usize, usize) {
    (span.start as usize, (span.end.saturating_sub(span.start)) as usize)
}

fn drawn(
    sources: &[Source],
    span: Span,
    message: String,
    labels: Vec<LabeledSpan>,
    help: Option<String>,
    style: Style,
) -> String {
    let source = sources.get(span.file as usize);
    let drawing = Drawing {
        message,
        labels: labels.into_iter().map(|label| on_one_line(label, source)).collect(),
        help,
        source: source.map(|source| NamedSource::new(&source.name, source.text.to_string())),
    };
    let theme =
        if style.colour { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
    let mut out = String::new();
    let handler = GraphicalReportHandler::new_themed(theme).with_context_lines(1).with_width(100);
    if handler.render_report(&mut out, &drawing).is_err() {
        return drawing.message;
    }
    out
}

/// A label over many lines hides more than it shows: it is cut at the end of its first line.
fn on_one_line(label: LabeledSpan, source: Option<&Source>) -> LabeledSpan {
    let text = source.and_then(|source| source.text.get(label.offset()..)).unwrap_or_default();
    let line = text.find('\n').unwrap_or(text.len());
    let length = label.len().min(line);
    let message = label.label().map(str::to_owned);
    if label.primary() {
        LabeledSpan::new_primary_with_span(message, (label.offset(), length))
    } else {
        LabeledSpan::new_with_span(message, (label.offset(), length))
    }
}

struct Drawing {
    message: String,
    labels: Vec<LabeledSpan>,
    help: Option<String>,
    source: Option<NamedSource<String>>,
}

impl std::fmt::Debug for Drawing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::fmt::Display for Drawing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Drawing {}

impl Diagnostic for Drawing {
    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        self.source.as_ref().map(|_| Box::new(self.labels.iter().cloned()) as _)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.source.as_ref().map(|source| source as &dyn SourceCode)
    }

    fn help<'a>(&'a self) -> Option<Box<dyn std::fmt::Display + 'a>> {
        self.help.as_ref().map(|help| Box::new(help) as Box<dyn std::fmt::Display>)
    }
}
