//! Checks changesets: an error exactly on failure, unique ids, a file list that stays while the host
//! recomputes, and reviews only where the host offers them.
//!
//! Knows: folded changesets, the catalogues that offer them. Never knows: the content of files.
//!
//! Start at [`ChangesetChecks`].

use litemap::LiteMap;

use crate::verdict::Weight;
use crate::wire::channel::ChannelKind;
use crate::wire::feature::ProtocolFeature;
use crate::wire::json::Value;

use crate::oracle::budget::KeptBytes;
use crate::oracle::catalogue::Rule;
use crate::oracle::channel::ChannelId;
use crate::oracle::check::{CheckFamily, FindingSink};
use crate::oracle::context::OracleContext;
use crate::oracle::members::{given, list, repeated, text};
use crate::oracle::step::{ActionFolding, OracleStep};

/// Upper bound for the sessions and chats whose catalogue of changesets is remembered.
const MAX_CATALOGUES: usize = 4_096;
/// About the bytes of one template beside its text.
const EACH: usize = 64;
/// The known statuses of a changeset. Newer versions may have further statuses.
const STATUSES: [&str; 4] = ["computing", "recomputing", "ready", "error"];

/// The URI templates with which each session or chat offers changesets, each with a flag that is `true` if
/// reviews are possible.
#[derive(Default)]
pub(super) struct ChangesetChecks {
    offers: LiteMap<ChannelId, OfferedChangesets>,
    /// Whether there was no room for some templates. A changeset may have been offered by one of them.
    forgets: bool,
}

/// The URI templates of one session or chat.
struct OfferedChangesets {
    templates: Vec<(String, bool)>,
    _kept: KeptBytes,
}

impl CheckFamily for ChangesetChecks {
    fn step(&mut self, cx: &OracleContext, step: &OracleStep<'_>, out: &mut FindingSink) {
        match step {
            OracleStep::Snapshot { channel, kind, state, .. } => {
                let catalogue = list(state, "changesets");
                if !catalogue.is_empty() {
                    self.learn(cx, *channel, catalogue);
                }
                if *kind == Some(ChannelKind::Changeset) {
                    self.snapshot(cx, *channel, state, out);
                }
            }
            OracleStep::Folding(folding) => match folding.envelope.action_type {
                "session/changesetsChanged" | "chat/changesetsChanged" => {
                    self.learn(cx, folding.channel, list(folding.envelope.action, "changesets"));
                }
                name if name.starts_with("changeset/") => self.fold(cx, folding, out),
                _ => {}
            },
            OracleStep::Restarted | OracleStep::Gap => *self = ChangesetChecks::default(),
            _ => {}
        }
    }
}

impl ChangesetChecks {
    fn learn(&mut self, cx: &OracleContext, holder: ChannelId, catalogue: &[Value]) {
        let offer = |entry: &Value| {
            let review = given(entry, "capabilities").and_then(|it| given(it, "review")).is_some();
            Some((text(entry, "uriTemplate")?.to_owned(), review))
        };
        self.offers.remove(&holder);
        if self.offers.len() < MAX_CATALOGUES {
            let templates: Vec<(String, bool)> = catalogue.iter().filter_map(offer).collect();
            let bytes = templates.iter().map(|(template, _)| template.len() + EACH).sum();
            if let Some(kept) = cx.memory.listed.keep(bytes) {
                self.offers.insert(holder, OfferedChangesets { templates, _kept: kept });
                return;
            }
        }
        self.forgets = true;
    }

    fn snapshot(
        &self,
        cx: &OracleContext,
        channel: ChannelId,
        state: &Value,
        out: &mut FindingSink,
    ) {
        let uri = cx.uri(channel);
        error_iff(uri, state, cx.now.line, out);
        unique(uri, state, cx.now.line, out);
        if list(state, "files").iter().any(|file| given(file, "reviewed").is_some()) {
            self.reviewed(uri, cx.now.line, out);
        }
    }

    fn fold(&self, cx: &OracleContext, folding: &ActionFolding<'_>, out: &mut FindingSink) {
        let action = folding.envelope.action;
        let uri = cx.uri(folding.channel);
        match folding.envelope.name {
            "statusChanged" => error_iff(uri, action, folding.line, out),
            "contentChanged" | "operationsChanged" => unique(uri, action, folding.line, out),
            "filesReviewChanged" => self.reviewed(uri, folding.line, out),
            _ => {}
        }
        recomputing(cx, folding, out);
    }

    /// Judges a review of a changeset: the changeset's catalogue entry has to offer reviews. Invariant L2.
    fn reviewed(&self, uri: &str, line: u64, out: &mut FindingSink) {
        let offers = self.offers.values().flat_map(|offered| &offered.templates);
        let mut fitting = offers.filter(|(template, _)| fits(template, uri)).peekable();
        if fitting.peek().is_none() || self.forgets {
            return;
        }
        out.seen(Rule::ChangesetReview);
        if !fitting.any(|(_, review)| *review) {
            let message = format!(
                "expected no reviewed files in `{uri}`, which does not offer reviews, found one"
            );
            out.broken(Rule::ChangesetReview, message, &[line]);
        }
    }
}

/// Judges whether a changeset, or a change of its status, has an error exactly if its status is `error`.
/// Invariant L2.
fn error_iff(uri: &str, holder: &Value, line: u64, out: &mut FindingSink) {
    let status = text(holder, "status").filter(|status| STATUSES.contains(status));
    let Some(status) = status else {
        return;
    };
    out.seen(Rule::ChangesetError);
    let error = given(holder, "error").is_some();
    if (status == "error") != error {
        let found = if error { "one" } else { "none" };
        let message = format!(
            "expected `error` in `{uri}` if and only if its status is `error`, found {found} with \
             the status `{status}`"
        );
        out.broken(Rule::ChangesetError, message, &[line]);
    }
}

/// Judges whether files and operations have unique ids. Invariant L2.
fn unique(uri: &str, holder: &Value, line: u64, out: &mut FindingSink) {
    for name in ["files", "operations"] {
        let items = list(holder, name);
        if !items.is_empty() {
            out.seen(Rule::ChangesetIds);
        }
        if let Some(id) = repeated(items, "id") {
            let message =
                format!("expected the ids of `{name}` in `{uri}` to differ, found `{id}` twice");
            out.broken(Rule::ChangesetIds, message, &[line]);
        }
    }
}

/// Judges whether a changeset keeps its files while the host recomputes the changeset. The complete new content
/// may arrive just before the status change that ends the computation. Invariant L2.
fn recomputing(cx: &OracleContext, folding: &ActionFolding<'_>, out: &mut FindingSink) {
    let weight = match folding.envelope.name {
        "cleared" => Weight::Essential,
        "fileSet" | "fileRemoved" => Weight::Note,
        _ => return,
    };
    let Some(fold) = cx.folded(folding.channel) else {
        return;
    };
    // Before 0.9.0, enumerations are closed, and the status does not distinguish the first computation from a later
    // one.
    if !cx
        .here()
        .and_then(|conn| conn.protocol)
        .is_some_and(|it| it.has(ProtocolFeature::OpenEnums))
    {
        return;
    }
    out.seen(Rule::ChangesetKept);
    if text(&fold.state, "status") == Some("recomputing") {
        let message = format!(
            "expected the files of `{}` to stay while it is `recomputing`, found `{}`",
            cx.uri(folding.channel),
            folding.envelope.action_type
        );
        let lines = fold.lines(folding.line);
        out.weaker(Rule::ChangesetKept, weight, message, &lines);
    }
}

/// Returns whether a URI matches a template. Braces enclose the variables of the template.
fn fits(template: &str, uri: &str) -> bool {
    let mut parts = template.split('{');
    let Some(mut rest) = parts.next().and_then(|first| uri.strip_prefix(first)) else {
        return false;
    };
    let mut open = false;
    for part in parts {
        let literal = part.split_once('}').map_or("", |(_, literal)| literal);
        open = literal.is_empty();
        match rest.find(literal) {
            Some(at) => rest = &rest[at + literal.len()..],
            None => return false,
        }
    }
    open || rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn expands_templates() {
        for (template, uri, expected) in [
            ("x:/all", "x:/all", true),
            ("x:/all", "x:/all/1", false),
            ("x:/turn/{turnId}", "x:/turn/t1", true),
            ("x:/{a}/to/{b}/end", "x:/1/to/2/end", true),
            ("x:/{a}/to/{b}/end", "x:/1/to/2", false),
            ("x:/turn/{turnId}", "y:/turn/t1", false),
        ] {
            assert_eq!(fits(template, uri), expected, "{template} {uri}");
        }
    }
}
