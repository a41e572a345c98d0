//! Checks resource watches: batches of file events are not empty and concern files below the watched root, and the
//! description of a watch equals the request.
//!
//! Knows: requested watches, events. Never knows: files.
//!
//! Start at [`WatchChecks`].

use std::collections::HashMap;

use crate::wire::channel::ChannelKind;
use crate::wire::json::Value;
use crate::wire::message::Message;
use crate::wire::percent;
use crate::wire::trim::TrimType;

use crate::oracle::budget::{KeptBytes, short};
use crate::oracle::catalogue::Rule;
use crate::oracle::channel::ChannelId;
use crate::oracle::check::{CheckFamily, FindingSink};
use crate::oracle::connection::OpenRequest;
use crate::oracle::context::OracleContext;
use crate::oracle::members::{given, list, text};
use crate::oracle::same::same;
use crate::oracle::step::{ActionFolding, OracleStep, StateComparison};

/// The members that describe a watch: for each, the name in the state and the name in the request.
const DESCRIPTOR: [(&str, &str); 4] = [
    ("root", "uri"),
    ("recursive", "recursive"),
    ("excludes", "excludes"),
    ("includes", "includes"),
];

/// Upper bound for the requests for watches that are remembered.
const MAX_WATCHES: usize = 1_024;

/// The requests for watches, each with the line of the host's answer. The key is the URI of the channel that the host
/// created for the watch.
#[derive(Default)]
pub(super) struct WatchChecks {
    asked: HashMap<String, AskedWatch>,
}

/// The params of a request that created a watch, with the line of the answer.
struct AskedWatch {
    params: Value,
    line: u64,
    _kept: KeptBytes,
}

impl CheckFamily for WatchChecks {
    fn step(&mut self, cx: &OracleContext, step: &OracleStep<'_>, out: &mut FindingSink) {
        match step {
            OracleStep::Folding(folding)
                if folding.envelope.action_type == "resourceWatch/changed" =>
            {
                batch(cx, folding, out);
            }
            OracleStep::Answered { request, message }
                if request.method == "createResourceWatch" =>
            {
                self.asked(cx, request, message);
            }
            OracleStep::Snapshot {
                channel, kind: Some(ChannelKind::ResourceWatch), state, ..
            } => {
                self.snapshot(cx, *channel, state, out);
            }
            OracleStep::Compared(comparison) if comparison.kind == ChannelKind::ResourceWatch => {
                compare(cx, comparison, out);
            }
            OracleStep::Restarted | OracleStep::Gap => self.asked.clear(),
            _ => {}
        }
    }
}

impl WatchChecks {
    fn asked(&mut self, cx: &OracleContext, request: &OpenRequest, message: &Message) {
        let channel = message.result().and_then(|result| text(result, "channel"));
        if let Some(uri) = channel.filter(|_| self.asked.len() < MAX_WATCHES) {
            let uri = short(uri).into_owned();
            self.asked.remove(&uri);
            let params = request.params();
            // Without room, the state of the watch is not compared with the request.
            if let Some(kept) = cx.memory.listed.keep(params.heap_size()) {
                let asked = AskedWatch { params: params.clone(), line: cx.now.line, _kept: kept };
                self.asked.insert(uri, asked);
            }
        }
    }

    /// Judges whether the state of a watch equals the request. The host chooses members that the request does
    /// not have. Invariant L4.
    fn snapshot(
        &self,
        cx: &OracleContext,
        channel: ChannelId,
        state: &Value,
        out: &mut FindingSink,
    ) {
        let uri = cx.uri(channel);
        let Some(AskedWatch { params: asked, line, .. }) = self.asked.get(&*short(uri)) else {
            return;
        };
        out.seen(Rule::WatchDescriptor);
        let mut state = state.clone();
        if let Some(protocol) = cx.here().and_then(|conn| conn.protocol) {
            protocol.canonical(TrimType::State(ChannelKind::ResourceWatch), &mut state);
        }
        let differs = |(own, asked_as): &(&str, &str)| {
            let asked = given(asked, asked_as);
            asked.is_some() && !same(asked, state.get(*own))
        };
        if let Some((name, _)) = DESCRIPTOR.into_iter().find(differs) {
            let message = format!(
                "expected `{name}` of the watch `{uri}` as the client requested it, found another \
                 value"
            );
            out.broken(Rule::WatchDescriptor, message, &[*line, cx.now.line]);
        }
    }
}

/// Judges whether a batch of file events is not empty, and whether all its files are below the root of the watch.
/// Invariant L4.
fn batch(cx: &OracleContext, folding: &ActionFolding<'_>, out: &mut FindingSink) {
    let changes = given(folding.envelope.action, "changes");
    let items = changes.map_or(&[][..], |changes| match changes {
        Value::Array(items) => items.as_slice(),
        other => list(other, "items"),
    });
    let uri = cx.uri(folding.channel);
    out.seen(Rule::WatchBatch);
    if items.is_empty() {
        let message =
            format!("expected at least one change in each batch of `{uri}`, found an empty batch");
        out.broken(Rule::WatchBatch, message, &[folding.line]);
    }
    let Some(fold) = cx.folded(folding.channel) else {
        return;
    };
    let Some(root) = text(&fold.state, "root") else {
        return;
    };
    out.seen(Rule::WatchRoot);
    let below = plain(root);
    let outside = |changed: &&str| {
        let changed = plain(changed);
        let rest = changed.strip_prefix(below.trim_end_matches('/'));
        rest.is_none_or(|rest| !rest.is_empty() && !rest.starts_with('/'))
    };
    let outside = items.iter().filter_map(|item| text(item, "uri")).find(outside);
    if let Some(outside) = outside {
        let message =
            format!("expected only changes below `{root}` from `{uri}`, found `{outside}`");
        out.broken(Rule::WatchRoot, message, &[fold.base_line, folding.line]);
    }
}

/// Judges whether the description of a watch stays the same. Invariant L4.
fn compare(cx: &OracleContext, comparison: &StateComparison<'_>, out: &mut FindingSink) {
    out.seen(Rule::WatchDescriptor);
    let differs = |(name, _): &(&str, &str)| {
        !same(comparison.folded.get(*name), comparison.snapshot.get(*name))
    };
    if let Some((name, _)) = DESCRIPTOR.into_iter().find(differs) {
        let uri = cx.uri(comparison.channel);
        let message =
            format!("expected `{name}` of the watch `{uri}` not to change, found another value");
        out.broken(Rule::WatchDescriptor, message, &comparison.lines);
    }
}

/// Normalises a URI: decodes escapes and ignores case, because hosts spell URIs differently.
fn plain(uri: &str) -> String {
    String::from_utf8_lossy(&percent::decoded(uri)).to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn spells_uris_alike() {
        assert_eq!(plain("file:///C%3A/A%20b%"), "file:///c:/a b%");
        assert_eq!(plain("file:///%zz"), "file:///%zz");
    }
}
