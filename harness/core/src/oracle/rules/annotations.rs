//! Checks annotations: each annotation has an entry, ids are unique, and summaries state the correct counts.
//!
//! Counts are judged only if they arrive while the host is at rest, because a host may delay its summaries.
//!
//! Knows: folded annotations, summaries of sessions. Never knows: the annotated content.
//!
//! Start at [`AnnotationChecks`].

use crate::verdict::Weight;
use crate::wire::channel::ChannelKind;
use crate::wire::json::Value;

use crate::oracle::catalogue::Rule;
use crate::oracle::channel::ChannelId;
use crate::oracle::check::{CheckFamily, FindingSink};
use crate::oracle::context::OracleContext;
use crate::oracle::members::{given, list, repeated, text};
use crate::oracle::step::{ActionFolding, OracleStep};

/// The state of the checks: whether the host has been at rest since the last annotation.
#[derive(Default)]
pub(super) struct AnnotationChecks {
    at_rest: bool,
}

impl CheckFamily for AnnotationChecks {
    fn step(&mut self, cx: &OracleContext, step: &OracleStep<'_>, out: &mut FindingSink) {
        match step {
            OracleStep::Snapshot { channel, kind, state, .. } => {
                if *kind == Some(ChannelKind::Annotations) {
                    snapshot(cx, *channel, state, out);
                }
                self.counted(cx, state, out);
            }
            OracleStep::Folding(folding)
                if folding.envelope.action_type.starts_with("annotations/") =>
            {
                self.at_rest = false;
                fold(cx, folding, out);
            }
            OracleStep::Answered { request, message } if request.method == "listSessions" => {
                let items = message.result().map_or(&[][..], |result| list(result, "items"));
                items.iter().for_each(|summary| self.counted(cx, summary, out));
            }
            OracleStep::Rest { .. } => self.at_rest = true,
            OracleStep::Restarted | OracleStep::Gap => self.at_rest = false,
            _ => {}
        }
    }
}

impl AnnotationChecks {
    /// Judges the counts of annotations in a session's state or summary. Invariant L3.
    fn counted(&self, cx: &OracleContext, holder: &Value, out: &mut FindingSink) {
        let summary = given(holder, "annotations").filter(|_| self.at_rest);
        let channel = summary.and_then(|it| cx.channels.find(text(it, "resource")?));
        let fold = channel.and_then(|channel| cx.followed(channel));
        let Some((summary, fold)) = summary.zip(fold) else {
            return;
        };
        if fold.kind != ChannelKind::Annotations {
            return;
        }
        let items = list(&fold.state, "annotations");
        let entries = items.iter().map(|item| list(item, "entries").len()).sum();
        out.seen(Rule::AnnotationCounts);
        for (name, own) in [("annotationCount", items.len()), ("entryCount", entries)] {
            let told = summary.get(name).and_then(Value::as_u64);
            if let Some(told) = told.filter(|told| usize::try_from(*told) != Ok(own)) {
                let uri = text(summary, "resource").unwrap_or_default();
                let message = format!(
                    "expected `{name}` {own} in the session's summary of `{uri}`, found {told}"
                );
                let lines = fold.lines(cx.now.line);
                out.broken(Rule::AnnotationCounts, message, &lines);
            }
        }
    }
}

fn snapshot(cx: &OracleContext, channel: ChannelId, state: &Value, out: &mut FindingSink) {
    let uri = cx.uri(channel);
    let items = list(state, "annotations");
    items.iter().for_each(|item| sound(uri, item, cx.now.line, out));
    if let Some(id) = repeated(items, "id") {
        let message =
            format!("expected the ids of the annotations of `{uri}` to differ, found `{id}` twice");
        out.weaker(Rule::AnnotationsSound, Weight::Essential, message, &[cx.now.line]);
    }
}

/// Judges whether an annotation has an entry, and whether the ids of its entries are unique. Invariant L3.
fn sound(uri: &str, item: &Value, line: u64, out: &mut FindingSink) {
    let entries = list(item, "entries");
    let id = text(item, "id").unwrap_or_default();
    out.seen(Rule::AnnotationsSound);
    if entries.is_empty() {
        let message = format!("expected an entry in the annotation `{id}` of `{uri}`, found none");
        out.broken(Rule::AnnotationsSound, message, &[line]);
    }
    if let Some(twice) = repeated(entries, "id") {
        let message = format!(
            "expected the ids of the entries of `{id}` in `{uri}` to differ, found `{twice}` twice"
        );
        out.weaker(Rule::AnnotationsSound, Weight::Essential, message, &[line]);
    }
}

fn fold(cx: &OracleContext, folding: &ActionFolding<'_>, out: &mut FindingSink) {
    let action = folding.envelope.action;
    let uri = cx.uri(folding.channel);
    match folding.envelope.name {
        "set" => {
            given(action, "annotation")
                .into_iter()
                .for_each(|it| sound(uri, it, folding.line, out));
        }
        "entryRemoved" => last_entry(cx, folding, out),
        _ => {}
    }
}

/// Judges the removal of an annotation's last entry. The reducers would keep the empty annotation; only the host can
/// prevent its last entry from being removed. Invariant L3.
fn last_entry(cx: &OracleContext, folding: &ActionFolding<'_>, out: &mut FindingSink) {
    let Some(fold) = cx.folded(folding.channel) else {
        return;
    };
    let action = folding.envelope.action;
    let wanted = text(action, "annotationId");
    let mut items = list(&fold.state, "annotations").iter();
    let entries = items.find(|item| text(item, "id") == wanted).map(|item| list(item, "entries"));
    let Some(entries) = entries else {
        return;
    };
    out.seen(Rule::AnnotationsSound);
    let gone = |entry: &Value| text(entry, "id") == text(action, "entryId");
    if !entries.is_empty() && entries.iter().all(gone) {
        let message = format!(
            "expected no removal of the last entry of `{}` in `{}` without its annotation, found \
             one",
            wanted.unwrap_or_default(),
            cx.uri(folding.channel)
        );
        let lines = fold.lines(folding.line);
        out.broken(Rule::AnnotationsSound, message, &lines);
    }
}
