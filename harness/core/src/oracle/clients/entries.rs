//! Checks what clients do with chats, annotations and automations, by the states that they have received.
//!
//! Knows: dispatches, the states that clients have received. Never knows: capabilities.

use crate::wire::channel::ChannelKind;
use crate::wire::json::Value;

use crate::oracle::channel::ChannelId;
use crate::oracle::check::FindingSink;
use crate::oracle::members::{given, list, text};
use crate::oracle::step::OracleStep;

use super::catalogue::Rule;
use super::{ClientFamily, ClientView, SentDispatch, dispatched, sent};

/// The checks of chats, annotations and automations. These checks keep no state.
pub(super) struct EntryChecks;

impl ClientFamily for EntryChecks {
    fn step(&mut self, view: &ClientView<'_>, step: &OracleStep<'_>, out: &mut FindingSink) {
        if let Some((message, method)) = sent(step) {
            match method {
                "moveChat" => moves(view, message.params(), out),
                "runAutomation" => {
                    if let Some(automation) = text(message.params(), "automation") {
                        operation(view, automation, "run", method, out);
                    }
                }
                _ => {}
            }
        }
        let Some(action) = dispatched(step) else { return };
        match action.action_type {
            "automation/updateRequested" | "automation/removed" => {
                let needed = match action.name {
                    "removed" => "remove",
                    _ => "update",
                };
                if let Some(automation) = text(action.action, "resource") {
                    operation(view, automation, needed, action.action_type, out);
                }
            }
            "chat/isArchivedChanged" => archives(view, &action, out),
            "annotations/entryRemoved" => removes_entry(view, &action, out),
            _ => {}
        }
    }
}

/// Judges whether a chat that a client moves is movable.
fn moves(view: &ClientView<'_>, params: &Value, out: &mut FindingSink) {
    let Some(uri) = text(params, "channel") else { return };
    let fixed = |entry: &Value| given(entry, "movable").and_then(Value::as_bool) != Some(true);
    let chat = view.cx.channels.find(uri);
    let own = chat.and_then(|chat| view.told.every(view, chat, fixed));
    let listed = view.told.channels(view, ChannelKind::Session).filter_map(|session| {
        let entry = |state: &Value| entry_of(state, uri).is_some();
        view.told.every(view, session, entry).filter(|(known, _)| *known)?;
        let all = |state: &Value| entry_of(state, uri).is_some_and(fixed);
        view.told.every(view, session, all)
    });
    let known: Vec<(bool, u64)> = own.into_iter().chain(listed).collect();
    let Some((_, told)) = known.first() else { return };
    out.seen(Rule::MovableChats);
    if known.iter().all(|(fixed, _)| *fixed) {
        let message = format!("expected only movable chats to be moved, found `{uri}`");
        out.broken(Rule::MovableChats, message, &[*told, view.line()]);
    }
}

fn entry_of<'a>(session: &'a Value, chat: &str) -> Option<&'a Value> {
    list(session, "chats").iter().find(|entry| text(entry, "resource") == Some(chat))
}

/// Judges whether an automation permits an operation.
fn operation(
    view: &ClientView<'_>,
    automation: &str,
    needed: &str,
    what: &str,
    out: &mut FindingSink,
) {
    let operations = |state: &Value| -> Option<bool> {
        let mut entries = list(state, "entries").iter();
        let entry = entries.find(|entry| text(entry, "resource") == Some(automation))?;
        let operations = given(entry, "operations")?.as_array()?;
        Some(operations.iter().any(|operation| *operation == *needed))
    };
    for channel in view.told.channels(view, ChannelKind::Automations) {
        let known = view.told.every(view, channel, |state| operations(state).is_some());
        let Some((true, told)) = known else { continue };
        out.seen(Rule::AutomationOperations);
        let all = view.told.every(view, channel, |state| operations(state) == Some(false));
        if all.is_some_and(|(all, _)| all) {
            let message = format!(
                "expected `{what}` only if the automation permits `{needed}`, found it for \
                 `{automation}`, which does not"
            );
            out.broken(Rule::AutomationOperations, message, &[told, view.line()]);
        }
        return;
    }
}

/// Judges whether a chat that a client archives is the default chat of its session.
fn archives(view: &ClientView<'_>, sent: &SentDispatch<'_>, out: &mut FindingSink) {
    if given(sent.action, "isArchived").and_then(Value::as_bool) != Some(true) {
        return;
    }
    let uri = view.cx.uri(sent.channel);
    let sessions = view.told.channels(view, ChannelKind::Session);
    let mut owners = sessions.filter(|session| {
        let lists = |state: &Value| entry_of(state, uri).is_some();
        view.told.every(view, *session, lists).is_some_and(|(lists, _)| lists)
    });
    let Some(session) = owners.next() else { return };
    out.seen(Rule::DefaultChat);
    if let Some((true, told)) = is_default(view, session, uri) {
        let message = format!(
            "expected `session/isArchivedChanged` for the default chat, found \
             `chat/isArchivedChanged` on `{uri}`"
        );
        out.broken(Rule::DefaultChat, message, &[told, view.line()]);
    }
}

fn is_default(view: &ClientView<'_>, session: ChannelId, uri: &str) -> Option<(bool, u64)> {
    view.told.every(view, session, |state| text(state, "defaultChat") == Some(uri))
}

/// Judges whether an entry that a client removes is the last entry of its annotation.
fn removes_entry(view: &ClientView<'_>, sent: &SentDispatch<'_>, out: &mut FindingSink) {
    let annotation = text(sent.action, "annotationId").zip(text(sent.action, "entryId"));
    let Some((annotation, entry)) = annotation else { return };
    let last = view.told.every(view, sent.channel, |state| {
        let mut annotations = list(state, "annotations").iter();
        let found = annotations.find(|it| text(it, "id") == Some(annotation));
        let entries = found.map_or(&[][..], |found| list(found, "entries"));
        matches!(entries, [only] if text(only, "id") == Some(entry))
    });
    let Some((last, told)) = last else { return };
    out.seen(Rule::LastEntry);
    if last {
        let message = format!(
            "expected `annotations/removed` for an annotation with one entry, found the removal of \
             the last entry of `{annotation}`"
        );
        out.broken(Rule::LastEntry, message, &[told, view.line()]);
    }
}
