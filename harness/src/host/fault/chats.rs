//! Faults in creating chats and in the catalogue of a session.
//!
//! Knows: the life of a chat. Never knows: the checks that find a fault.

use super::FaultPart::{Host, Message};
use super::parts::{RequestChange, remove};
use crate::host::engine::RefHost;
use crate::host::generic::{
    ActsAfterApplying, AltersAction, AnswersRequests, ChangesFirstState, ChangesReplies,
    LiftsRules, OmitsActions,
};
use crate::host::injected::ActionStage::Published;
use crate::wire::channel::ChannelKind;
use crate::wire::json::{Value, json};

fault_table![
    ForksForgotten(
        "forks-forgotten",
        "A session or chat that is forked begins without turns.",
        Message(|| {
            Box::new(RequestChange("createSession", |_, params| {
                remove(params, "fork");
            }))
        }),
        Host(&ChangesFirstState(ChannelKind::Chat, |state| {
            if state["origin"]["kind"] == "fork" {
                state["turns"] = json!([]);
            }
        })),
    ),
    ChatAddedAfterResponse(
        "chat-added-after-response",
        "A new chat is announced after `createChat` is answered.",
        Host(&ChangesReplies(&["createChat"], |host, request, reply| {
            host.outbox.put_off(request.from, request.call.conn);
            reply
        })),
    ),
    ChatsUnoffered(
        "chats-unoffered",
        "Agents create kinds of chats that they do not offer.",
        Host(&LiftsRules(&["chat.create.no-capability"])),
    ),
    ChatsFromAnywhere(
        "chats-from-anywhere",
        "A chat may come from any source and work in any directory.",
        Host(&LiftsRules(&[
            "chat.create.source.unknown-chat",
            "chat.create.working-directories.subset"
        ])),
    ),
    SelectionTrimmed(
        "selection-trimmed",
        "The selection of a side chat loses the white space around it.",
        Host(&ChangesFirstState(ChannelKind::Chat, |state| {
            if let Some(text) = state["origin"]["selection"]["text"].as_str() {
                state["origin"]["selection"]["text"] = json!(text.trim());
            }
        })),
    ),
    DefaultChatUnknown(
        "default-chat-unknown",
        "When a further chat is created, a chat that does not exist becomes the default chat.",
        Host(&ActsAfterApplying(Published, "session/chatAdded", |host, session, action| {
            if host.chats_of(session).len() > 1 {
                let chat = action["summary"]["resource"].as_str().unwrap_or("");
                let chat = format!("{chat}-not");
                host.publish(
                    session,
                    json!({"type": "session/defaultChatChanged", "defaultChat": chat}),
                );
            }
        })),
    ),
    ReorderIncomplete(
        "reorder-incomplete",
        "A further chat is announced with an order of the chats that lists only this chat.",
        Host(&ActsAfterApplying(Published, "session/chatAdded", |host, session, action| {
            if host.chats_of(session).len() > 1 {
                let chats = [&action["summary"]["resource"]];
                host.emit(session, json!({"type": "session/chatsReordered", "chats": chats}), None);
            }
        })),
    ),
    ChatRemovedSilent(
        "chat-removed-silent",
        "A disposed chat stays in the session's catalog.",
        Host(&AltersAction("session/chatRemoved", |host, _, action| {
            host.chats.has(action["chat"].as_str().unwrap_or(""))
        })),
    ),
    MovesKeepOrder(
        "moves-keep-order",
        "A moved chat is listed last or keeps its position, regardless of the requested position.",
        Host(&OmitsActions(&["session/chatsReordered"])),
    ),
    MovesLeaveWorkers(
        "moves-leave-workers",
        "The workers of a moved chat are not moved with it.",
        Host(&LiftsRules(&["chat.move.descendants"])),
    ),
    MovesCopy(
        "moves-copy",
        "A moved chat stays listed in its old session.",
        Host(&AltersAction("session/chatRemoved", |host, session, action| {
            !is_moved(host, session, action["chat"].as_str().unwrap_or(""))
        })),
    ),
    MovedChatsForget(
        "moved-chats-forget",
        "A moved chat loses its last turn without an action.",
        Host(&ActsAfterApplying(Published, "session/chatRemoved", |host, session, action| {
            let chat = action["chat"].as_str().unwrap_or("");
            let moved = is_moved(host, session, chat);
            host.channels.change(chat, |state| {
                if let Some(turns) = state["turns"].as_array_mut().filter(|_| moved) {
                    turns.pop();
                }
            });
        })),
    ),
    CanvasUrlStays(
        "canvas-url-stays",
        "A canvas keeps its address after it was closed.",
        Host(&AltersAction("canvas/stateChanged", |host, uri, action| {
            if let Some(url) =
                host.state(uri).get("url").filter(|_| action["canvas"]["url"].is_null())
            {
                action["canvas"]["url"] = url.clone();
            }
            true
        })),
    ),
    UpdatesRemovedChat(
        "updates-removed-chat",
        "The catalog announces a change of a chat that was already removed.",
        Host(&ActsAfterApplying(Published, "session/chatRemoved", |host, session, action| {
            if !host.chats.has(action["chat"].as_str().unwrap_or("")) {
                let action = json!({
                    "type": "session/chatUpdated", "chat": action["chat"],
                    "changes": {"title": "Gone"},
                });
                host.emit(session, action, None);
            }
        })),
    ),
    AnyChatHasTurns(
        "any-chat-has-turns",
        "`fetchTurns` succeeds for chats that do not exist.",
        Host(&AnswersRequests(&["fetchTurns"], |host, call| {
            (!host.chats.has(call.channel())).then(|| Ok(json!({})))
        })),
    ),
    DisposesNothing(
        "disposes-nothing",
        "`disposeChat` succeeds for a chat that does not exist.",
        Host(&AnswersRequests(&["disposeChat"], |host, call| {
            (!host.chats.has(call.channel())).then(|| Ok(Value::Null))
        })),
    ),
    SideChatsCopyTurns(
        "side-chats-copy-turns",
        "A side chat begins with the turns of its source chat.",
        Host(&ActsAfterApplying(Published, "session/chatAdded", |host, _, action| {
            let summary = &action["summary"];
            if summary["origin"]["kind"] == "sideChat" {
                let source = summary["origin"]["chat"].as_str().unwrap_or_default();
                let turns = host.state(source)["turns"].clone();
                alter_chat(host, summary, |state| state["turns"] = turns);
            }
        })),
    ),
    SideChatsKnowNothing(
        "side-chats-know-nothing",
        "The agent of a side chat does not receive the messages of the source chat.",
        Host(&ChangesReplies(&["createChat"], |host, request, reply| {
            let chat = request.call.params["chat"].as_str().unwrap_or_default();
            host.chats.set_context(chat, String::new());
            reply
        })),
    ),
    ChatsListDirectories(
        "chats-list-directories",
        "A chat that was created without directories lists those of its session.",
        Host(&ActsAfterApplying(Published, "session/chatAdded", |host, session, action| {
            let directories = host.state(session)["workingDirectories"].clone();
            alter_chat(host, &action["summary"], |state| {
                if state["workingDirectories"].is_null() {
                    state["workingDirectories"] = directories;
                }
            });
        })),
    ),
    ForksLoseDirectories(
        "forks-lose-directories",
        "A fork has no list of directories, even though its source has one.",
        Host(&ActsAfterApplying(Published, "session/chatAdded", |host, _, action| {
            if action["summary"]["origin"]["kind"] == "fork" {
                alter_chat(host, &action["summary"], |state| {
                    remove(state, "workingDirectories");
                });
            }
        })),
    ),
    CompletesAnywhere(
        "completes-anywhere",
        "`completions` succeeds for chats that do not exist.",
        Host(&AnswersRequests(&["completions"], |host, call| {
            (!host.channels.has(call.channel())).then(|| Ok(json!({"items": []})))
        })),
    ),
];

/// Changes the state of a chat without sending an action to its subscribers.
fn alter_chat(host: &mut RefHost, summary: &Value, alter: impl FnOnce(&mut Value)) {
    let chat = summary["resource"].as_str().unwrap_or_default();
    host.channels.change(chat, alter);
}

/// Returns whether a chat that is missing in a session was moved to another session.
fn is_moved(host: &RefHost, session: &str, chat: &str) -> bool {
    host.chats.session_of(chat).is_some_and(|its| its != session)
}
