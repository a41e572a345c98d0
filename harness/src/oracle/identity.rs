//! What never changes, and what moves in one direction: names, origins, the life of a session, and
//! who may speak for an active client.
//!
//! Knows: folded sessions and chats, summaries. Never knows: whole lists.
//!
//! Start at [`Identity`].

use crate::wire::channel::ChannelKind;
use crate::wire::feature::Feature;
use crate::wire::json::Value;
use crate::wire::message::Message;

use super::catalogue::Rule;
use super::channel::ChannelId;
use super::check::{Check, Sink};
use super::context::Context;
use super::family::Family;
use super::masks::plain;
use super::members::{given, list, repeated, repeated_text, text};
use super::step::{Comparison, Folding, Step};

/// The members of a summary that its changes leave out.
const FIXED: &[&str] = &["resource", "provider", "createdAt"];

/// Everything needed is in the context.
pub(super) struct Identity;

impl Check for Identity {
    fn step(&mut self, cx: &Context, step: &Step<'_>, out: &mut Sink) {
        match step {
            Step::Snapshot { channel, state, .. } => snapshot(cx, *channel, state, out),
            Step::Folding(folding) => fold(cx, folding, out),
            Step::Compared(comparison) => compare(cx, comparison, out),
            Step::Envelope(delivery)
                if !delivery.envelope.rejected
                    && delivery.envelope.action_type == "session/chatUpdated" =>
            {
                fixed(cx, given(delivery.envelope.action, "changes"), &["resource"], out);
            }
            Step::Notified { seen, method: "root/sessionSummaryChanged", .. } => {
                let params = seen.message().map(Message::params);
                fixed(cx, params.and_then(|params| given(params, "changes")), FIXED, out);
            }
            Step::Rest { touched } => {
                let families = touched.iter().filter_map(|session| Family::of(cx, *session));
                families.for_each(|family| directories(cx, &family, out));
            }
            _ => {}
        }
    }
}

/// I10 and I11, of a snapshot.
fn snapshot(cx: &Context, channel: ChannelId, state: &Value, out: &mut Sink) {
    let uri = cx.uri(channel);
    let clients = list(state, "activeClients");
    if !clients.is_empty() {
        out.seen(Rule::OwnEntry);
    }
    if let Some(client) = repeated(clients, "clientId") {
        let message = format!("expected active clients once in `{uri}`, found `{client}` twice");
        out.broken(Rule::OwnEntry, message, &[cx.now.line]);
    }
    let directories = list(state, "workingDirectories");
    if !directories.is_empty() {
        out.seen(Rule::Directories);
    }
    let twice = repeated_text(directories.iter().filter_map(Value::as_str));
    if let Some(directory) = twice {
        let message =
            format!("expected working directories once in `{uri}`, found `{directory}` twice");
        out.broken(Rule::Directories, message, &[cx.now.line]);
    }
}

fn fold(cx: &Context, folding: &Folding<'_>, out: &mut Sink) {
    let action = folding.envelope.action;
    let whose = match folding.envelope.action_type {
        "session/ready" | "session/creationFailed" => return once(cx, folding, out),
        "session/activeClientSet" => {
            given(action, "activeClient").and_then(|client| text(client, "clientId"))
        }
        "session/activeClientRemoved" => text(action, "clientId"),
        _ => return,
    };
    let (Some(whose), Some(origin)) = (whose, folding.envelope.origin) else {
        return;
    };
    out.seen(Rule::OwnEntry);
    if whose != origin.client_id {
        let message = format!(
            "expected `{}` from `{}` to be about itself, found it accepted for `{whose}`",
            folding.envelope.action_type, origin.client_id
        );
        out.broken(Rule::OwnEntry, message, &[folding.line]);
    }
}

/// I8.
fn once(cx: &Context, folding: &Folding<'_>, out: &mut Sink) {
    let Some(fold) = cx.folded(folding.channel) else {
        return;
    };
    let Some(stage) = text(&fold.state, "lifecycle") else {
        return;
    };
    out.seen(Rule::LifecycleOnce);
    if stage != "creating" {
        let message = format!(
            "expected `{}` on `{}` only while the session is being created, it is `{stage}`",
            folding.envelope.action_type,
            cx.uri(folding.channel)
        );
        let lines = [fold.base_line, fold.last_line, folding.line];
        out.broken(Rule::LifecycleOnce, message, &lines);
    }
}

/// I9: what partial updates leave out.
fn fixed(cx: &Context, changes: Option<&Value>, names: &[&str], out: &mut Sink) {
    let Some(changes) = changes else {
        return;
    };
    out.seen(Rule::IdentityKept);
    if let Some(name) = names.iter().find(|name| given(changes, name).is_some()) {
        let message = format!("expected `changes` without `{name}`, which never changes, found it");
        out.broken(Rule::IdentityKept, message, &[cx.now.line]);
    }
}

/// I9: what later snapshots repeat.
fn compare(cx: &Context, comparison: &Comparison<'_>, out: &mut Sink) {
    let names: &[&str] = match comparison.kind {
        ChannelKind::Session => &["provider", "origin"],
        ChannelKind::Chat => &["resource", "origin"],
        ChannelKind::AutomationRun => &["resource", "automation", "origin"],
        _ => return,
    };
    for name in names {
        let before = given(comparison.folded, name);
        let Some(before) = before else {
            continue;
        };
        out.seen(Rule::IdentityKept);
        let after = given(comparison.snapshot, name);
        if after.and_then(plain) != plain(before) {
            let message = format!(
                "expected `{name}` of `{}` to stay as it was, {before}, found {}",
                cx.uri(comparison.channel),
                after.map_or("nothing".to_owned(), Value::to_string)
            );
            out.broken(Rule::IdentityKept, message, &comparison.lines);
        }
    }
}

/// I10. What becomes of a chat's directory when the session loses it takes a moment.
fn directories(cx: &Context, family: &Family<'_>, out: &mut Sink) {
    if !family.fold.protocol.has(Feature::WorkingDirectories) {
        return;
    }
    let allowed = list(&family.fold.state, "workingDirectories");
    for (uri, chat) in family.chats(cx) {
        for directory in list(&chat.state, "workingDirectories") {
            out.seen(Rule::Directories);
            if !allowed.contains(directory) {
                let message = format!(
                    "expected the directories of `{uri}` among those of `{}`, found {directory}",
                    family.uri
                );
                let [base, last] = family.lines();
                let lines = [base, last, chat.base_line, chat.last_line, cx.now.line];
                out.broken(Rule::Directories, message, &lines);
            }
        }
    }
}
