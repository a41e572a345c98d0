//! Checks the rules about dispatches of clients that do not depend on states.
//!
//! Knows: dispatches, the kinds of channels. Never knows: states.

use std::collections::HashMap;
use std::sync::Arc;

use crate::wire::channel::ChannelKind;
use crate::wire::json::Value;
use crate::wire::message::Message;
use crate::wire::protocol::DispatchRight;
use crate::wire::timestamp;

use crate::oracle::channel::ChannelId;
use crate::oracle::check::FindingSink;
use crate::oracle::members::{given, text};
use crate::oracle::rule::CheckRule as _;
use crate::oracle::step::OracleStep;
use crate::oracle::tool_call::find;

use super::catalogue::Rule;
use super::{ClientFamily, ClientView, SentDispatch, dispatched, sent};

/// Upper bound for the clients whose last `clientSeq` is remembered.
const MAX_CLIENTS: usize = 4_096;
/// The requirement of [`Rule::DispatchChannel`] about completions of tool calls.
const OWNING_CHAT: &str = "client.tool.complete-on-chat-channel";

/// The last `clientSeq` of each client, with its line.
#[derive(Default)]
pub(super) struct ClientDispatches {
    last: HashMap<Arc<str>, (i64, u64)>,
}

impl ClientFamily for ClientDispatches {
    fn step(&mut self, view: &ClientView<'_>, step: &OracleStep<'_>, out: &mut FindingSink) {
        if let Some((message, method)) = sent(step) {
            match method {
                "initialize" => {
                    if let Some(client) = text(message.params(), "clientId") {
                        self.last.remove(client);
                    }
                }
                "createSession" => created(view, message, out),
                _ => {}
            }
        }
        if let Some(action) = dispatched(step) {
            self.number(view, action.client_seq, out);
            right(view, &action, out);
            place(view, &action, out);
            message_kind(view, &action, out);
            start_time(view, &action, out);
            own_entry(view, &action, out);
        }
        if matches!(step, OracleStep::Gap | OracleStep::Restarted) {
            self.last.clear();
        }
    }
}

impl ClientDispatches {
    /// Judges whether the `clientSeq` of a dispatch is greater than the client's last `clientSeq`.
    fn number(&mut self, view: &ClientView<'_>, client_seq: i64, out: &mut FindingSink) {
        let Some(client) = view.client() else { return };
        let now = (client_seq, view.line());
        if let Some((last, line)) = self.last.get(client).copied() {
            out.seen(Rule::ClientSeqGrows);
            if client_seq <= last {
                let message =
                    format!("expected `clientSeq` to be greater than {last}, found {client_seq}");
                out.broken(Rule::ClientSeqGrows, message, &[line, view.line()]);
            }
        }
        if self.last.len() < MAX_CLIENTS || self.last.contains_key(client) {
            self.last.insert(Arc::clone(client), now);
        }
    }
}

/// Judges whether the specification lets clients dispatch an action of this type.
fn right(view: &ClientView<'_>, sent: &SentDispatch<'_>, out: &mut FindingSink) {
    let row = view.protocol().and_then(|protocol| protocol.action(sent.action_type));
    let Some(row) = row else { return };
    out.seen(Rule::Dispatchable);
    if row.dispatch == DispatchRight::Host {
        let message = format!(
            "expected an action that clients may dispatch, found `{}`, which only the host \
             publishes",
            sent.action_type
        );
        out.broken(Rule::Dispatchable, message, &[view.line()]);
    }
}

/// Judges whether the action belongs to this kind of channel and, if the action completes a tool call, whether the call
/// belongs to the chat.
fn place(view: &ClientView<'_>, sent: &SentDispatch<'_>, out: &mut FindingSink) {
    let row = view.protocol().and_then(|protocol| protocol.action(sent.action_type));
    let known = view.cx.channel(sent.channel);
    let (Some(row), Some(known)) = (row, known) else { return };
    let Some(kind) = known.kind else { return };
    out.seen(Rule::DispatchChannel);
    let uri = view.cx.uri(sent.channel);
    if kind != row.channel {
        let tool = sent.name == "toolCallComplete";
        let message = format!(
            "expected `{}` on a {} channel, found it on `{uri}`, a {} channel",
            sent.action_type,
            row.channel.family(),
            kind.family()
        );
        let rule = Rule::DispatchChannel.about(tool.then_some(OWNING_CHAT));
        return out.broken(rule, message, &[known.kind_line, view.line()]);
    }
    if sent.name != "toolCallComplete" || kind != ChannelKind::Chat {
        return;
    }
    let Some(call) = text(sent.action, "toolCallId") else { return };
    let has = |state: &Value| has_call(state, call);
    let here = view.told.every(view, sent.channel, |state| !has(state));
    let mut others = view.told.channels(view, ChannelKind::Chat).filter(|it| *it != sent.channel);
    let mut owner = || -> Option<ChannelId> {
        others.find(|chat| view.told.every(view, *chat, has).is_some_and(|(it, _)| it))
    };
    if let Some((true, line)) = here
        && let Some(owner) = owner()
    {
        let message = format!(
            "expected the completion of the tool call `{call}` on the channel of its chat, `{}`, \
             found it on `{uri}`",
            view.cx.uri(owner)
        );
        out.broken(Rule::DispatchChannel.of(OWNING_CHAT), message, &[line, view.line()]);
    }
}

/// Returns whether the active turn of a chat has a tool call.
pub(super) fn has_call(state: &Value, call: &str) -> bool {
    given(state, "activeTurn").and_then(|turn| find(turn, call)).is_some()
}

/// The members of actions that contain a message of the user. The key is the part of the action's type after the slash.
const MESSAGES: [(&str, &str); 3] =
    [("turnStarted", "message"), ("pendingMessageSet", "message"), ("draftChanged", "draft")];

fn message_kind(view: &ClientView<'_>, sent: &SentDispatch<'_>, out: &mut FindingSink) {
    let member = MESSAGES.iter().find(|(name, _)| *name == sent.name).map(|(_, member)| *member);
    let message = member.and_then(|member| given(sent.action, member));
    let kind = message.and_then(|it| text(given(it, "origin")?, "kind"));
    let Some(kind) = kind else { return };
    out.seen(Rule::UserMessages);
    if kind != "user" {
        let message =
            format!("expected a message of the kind `user` in `{}`, found `{kind}`", sent.name);
        out.broken(Rule::UserMessages, message, &[view.line()]);
    }
}

fn start_time(view: &ClientView<'_>, sent: &SentDispatch<'_>, out: &mut FindingSink) {
    let started = text(sent.action, "startedAt").filter(|_| sent.name == "turnStarted");
    let Some(started) = started else { return };
    out.seen(Rule::StartTimes);
    if timestamp::parse(started).is_none() {
        let message = format!("expected `startedAt` in ISO 8601, found `{started}`");
        out.broken(Rule::StartTimes, message, &[view.line()]);
    }
}

/// Judges the entry that a client dispatches to become an active client of a session.
fn own_entry(view: &ClientView<'_>, sent: &SentDispatch<'_>, out: &mut FindingSink) {
    if !matches!(sent.name, "activeClientSet" | "activeClientChanged") {
        return;
    }
    let entry = given(sent.action, "activeClient").and_then(|entry| text(entry, "clientId"));
    entry_is_own(view, entry, out);
}

/// Judges the active client in a `createSession`.
fn created(view: &ClientView<'_>, message: &Message, out: &mut FindingSink) {
    let entry = given(message.params(), "activeClient").and_then(|entry| text(entry, "clientId"));
    entry_is_own(view, entry, out);
}

fn entry_is_own(view: &ClientView<'_>, entry: Option<&str>, out: &mut FindingSink) {
    let (Some(entry), Some(client)) = (entry, view.client()) else { return };
    out.seen(Rule::OwnEntry);
    if *entry != **client {
        let message =
            format!("expected the client's own id `{client}` in `activeClient`, found `{entry}`");
        let line = view.here().map_or(0, |conn| conn.handshake_line);
        out.broken(Rule::OwnEntry, message, &[line, view.line()]);
    }
}
