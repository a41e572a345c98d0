//! Faults in creating chats and in the catalogue of a session.
//!
//! Knows: the life of a chat. Never knows: which check finds which fault.

use super::generic::{
    AddsAfterAction, AltersAction, ChangesFirstState, ChangesReplies, LiftsRules,
};
use super::{Fault, HostFaultRow};
use crate::host::Output;
use crate::wire::channel::ChannelKind;
use crate::wire::json::json;

pub(super) const FAULTS: &[HostFaultRow] = &[
    (
        Fault::ChatAddedAfterResponse,
        &ChangesReplies(&["createChat"], |host, request, reply| {
            let sent = host.outputs.split_off(request.from.min(host.outputs.len()));
            for output in sent {
                match output {
                    Output::Send { conn, frame } if conn == request.call.conn => {
                        host.late.push((conn, frame));
                    }
                    other => host.outputs.push_back(other),
                }
            }
            reply
        }),
    ),
    (Fault::ChatsUnoffered, &LiftsRules(&["chat.create.no-capability"])),
    (
        Fault::ChatsFromAnywhere,
        &LiftsRules(&["chat.create.source.unknown-chat", "chat.create.working-directories.subset"]),
    ),
    (
        Fault::ForksForgotten,
        &ChangesFirstState(ChannelKind::Chat, |state| {
            if state["origin"]["kind"] == "fork" {
                state["turns"] = json!([]);
            }
        }),
    ),
    (
        Fault::SelectionTrimmed,
        &ChangesFirstState(ChannelKind::Chat, |state| {
            if let Some(text) = state["origin"]["selection"]["text"].as_str() {
                state["origin"]["selection"]["text"] = json!(text.trim());
            }
        }),
    ),
    (
        Fault::DefaultChatUnknown,
        &AddsAfterAction("session/chatAdded", |host, session, action| {
            if host.chats_of(session).len() > 1 {
                let chat = action["summary"]["resource"].as_str().unwrap_or("");
                let chat = format!("{chat}-not");
                host.publish(
                    session,
                    json!({"type": "session/defaultChatChanged", "defaultChat": chat}),
                );
            }
        }),
    ),
    (
        Fault::ReorderIncomplete,
        &AddsAfterAction("session/chatAdded", |host, session, action| {
            if host.chats_of(session).len() > 1 {
                let chats = [&action["summary"]["resource"]];
                host.emit(session, json!({"type": "session/chatsReordered", "chats": chats}), None);
            }
        }),
    ),
    (
        Fault::ChatRemovedSilent,
        &AltersAction("session/chatRemoved", |host, _, action| {
            host.chats.contains_key(action["chat"].as_str().unwrap_or(""))
        }),
    ),
    (
        Fault::UpdatesRemovedChat,
        &AddsAfterAction("session/chatRemoved", |host, session, action| {
            if !host.chats.contains_key(action["chat"].as_str().unwrap_or("")) {
                let action = json!({
                    "type": "session/chatUpdated", "chat": action["chat"],
                    "changes": {"title": "Gone"},
                });
                host.emit(session, action, None);
            }
        }),
    ),
];
