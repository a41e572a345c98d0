//! The moves of conversations, with their usual weights, and their choice at random.
//!
//! Knows: moves and their weights. Never knows: themes, the beginning and the end of a conversation.
//!
//! Start at [`go_on`].

use crate::dice::Dice;
use crate::wire::channel::ChannelKind;
use crate::wire::json::json;

use super::act;
use super::ask;
use super::builder::ConversationBuilder;
use super::step_result::{ActionLogEntry, ClientStepResult};
use super::{lines, observe, restarts, subscribe, turn_moves};

type ConversationMove = fn(&mut ConversationBuilder) -> Option<ActionLogEntry>;

/// Every move, with its name and its default weight.
const MOVES: &[(&str, usize, ConversationMove)] = &[
    ("turn", 10, turn_moves::turn),
    ("release", 4, turn_moves::release),
    ("chat", 14, |builder| act::dispatch(builder, &[ChannelKind::Chat])),
    ("decide", 8, decide),
    ("session", 8, |builder| act::dispatch(builder, &[ChannelKind::Session])),
    ("root", 2, |builder| act::dispatch(builder, &[ChannelKind::Root])),
    ("terminal", 1, |builder| act::dispatch(builder, &[ChannelKind::Terminal])),
    ("annotations", 1, |builder| act::dispatch(builder, &[ChannelKind::Annotations])),
    ("automations", 1, |builder| act::dispatch(builder, &[ChannelKind::Automations])),
    ("runs", 1, |builder| act::dispatch(builder, &[ChannelKind::AutomationRun])),
    ("changesets", 1, |builder| act::dispatch(builder, &[ChannelKind::Changeset])),
    ("join-in", 2, |builder| {
        let sessions = builder.channels(ChannelKind::Session);
        act::dispatch_on(builder, ChannelKind::Session, &sessions, &["session/activeClientSet"], 10)
    }),
    ("servers", 0, |builder| {
        const SERVERS: &[&str] = &[
            "session/mcpServerStartRequested",
            "session/mcpServerStopRequested",
            "session/customizationToggled",
        ];
        let sessions = builder.channels(ChannelKind::Session);
        act::dispatch_on(builder, ChannelKind::Session, &sessions, SERVERS, 10)
    }),
    ("folders", 0, |builder| {
        const FOLDERS: &[&str] = &["WorkingDirectorySet", "WorkingDirectoryRemoved"];
        let kind = *builder.dice.pick(&[ChannelKind::Session, ChannelKind::Chat])?;
        let names: Vec<String> = FOLDERS
            .iter()
            .map(|name| format!("{}/w{}", kind.family(), &name[1..]))
            .chain(
                (kind == ChannelKind::Session)
                    .then(|| "session/workingDirectoryReplaced".to_owned()),
            )
            .collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let channels = builder.channels(kind);
        act::dispatch_on(builder, kind, &channels, &names, 10)
    }),
    ("queue", 3, queue),
    ("pile", 0, pile),
    ("dispose", 0, |builder| ask::ask(builder, |it| it == "disposeSession")),
    ("review", 0, review),
    ("window", 0, observe::window),
    ("read", 0, observe::read),
    ("tokens", 0, |builder| ask::ask(builder, |it| it == "authenticate")),
    ("ask-server", 0, |builder| lines::raw_called(builder, "side-channel")),
    ("again", 0, lines::again),
    ("subscribe", 8, subscribe::subscribe),
    ("look", 4, |builder| observe::look(builder, None)),
    ("sessions", 4, |builder| {
        ask::ask(builder, |it| {
            ["createSession", "disposeSession", "listSessions", "ping"].contains(&it)
        })
    }),
    ("list", 0, |builder| ask::ask(builder, |it| it == "listSessions")),
    ("chats", 3, |builder| {
        ask::ask(builder, |it| {
            ["createChat", "disposeChat", "moveChat", "fetchTurns"].contains(&it)
        })
    }),
    ("files", 2, |builder| ask::ask(builder, |it| it.starts_with("resource"))),
    ("watches", 1, |builder| ask::ask(builder, |it| it == "createResourceWatch")),
    ("make-terminal", 1, |builder| ask::ask(builder, |it| it.ends_with("Terminal"))),
    ("operations", 1, |builder| ask::ask(builder, |it| it == "invokeChangesetOperation")),
    ("run", 1, |builder| ask::ask(builder, |it| it.contains("utomation"))),
    ("other", 1, |builder| ask::ask(builder, |_| true)),
    ("line", 4, lines::come_and_go),
    ("restart", 0, restarts::restart),
    ("join", 3, lines::join),
    ("offer", 1, lines::offer),
    ("raw", 2, lines::raw),
    ("move", 0, |builder| ask::ask(builder, |it| it == "moveChat")),
    ("new-chat", 0, |builder| ask::ask(builder, |it| it == "createChat")),
    ("new-session", 0, |builder| ask::ask(builder, |it| it == "createSession")),
    ("listen", 0, subscribe::listen),
    ("dawdle", 1, lines::dawdle),
];

/// The factor by which a theme increases the weight of its moves.
const THEMED: usize = 3;
/// The percentage of moves after which the host gets time to react.
const PAUSED: usize = 75;
/// The maximum number of moves without effect before a conversation ends.
const IDLE: usize = 40;

/// Makes up to this many moves, and returns their log. The moves in `more` are made more frequently than usual.
pub(super) fn go_on(
    builder: &mut ConversationBuilder,
    more: &[(&'static str, usize)],
    moves: usize,
) -> Vec<ActionLogEntry> {
    let mut told = Vec::new();
    let mut idle = 0;
    while told.len() < moves && idle < IDLE && !builder.broken {
        let Some(one) = pick(&mut builder.dice, more) else { break };
        match one(builder) {
            Some(done) => told.push(done),
            None => idle += 1,
        }
        if !builder.broken && builder.dice.chance(PAUSED) {
            builder.pause();
        }
    }
    told
}

/// Makes the move with this name, if it is possible.
pub(super) fn named_move(builder: &mut ConversationBuilder, name: &str) -> Option<ActionLogEntry> {
    MOVES.iter().find(|row| row.0 == name).and_then(|(.., one)| one(builder))
}

/// Picks a move at random, according to the weights. `more` replaces the usual weights of some moves.
fn pick(dice: &mut Dice, more: &[(&'static str, usize)]) -> Option<ConversationMove> {
    let weight = |name: &str, usual: usize| {
        more.iter().find(|(more, _)| *more == name).map_or(usual, |(_, more)| *more * THEMED)
    };
    let all: usize = MOVES.iter().map(|(name, usual, _)| weight(name, *usual)).sum();
    let mut place = dice.below(all);
    for (name, usual, one) in MOVES {
        let share = weight(name, *usual);
        if place < share {
            return Some(*one);
        }
        place -= share;
    }
    None
}

/// Reviews a file, and lets the agent change it again.
fn review(builder: &mut ConversationBuilder) -> Option<ActionLogEntry> {
    let all = builder.channels(ChannelKind::Changeset);
    let told = act::dispatch_on(
        builder,
        ChannelKind::Changeset,
        &all,
        &["changeset/filesReviewChanged"],
        0,
    )?;
    let script = format!("tool write \"one.txt\\nmore {}\"", builder.word());
    let (by, id) = (builder.somebody()?, format!("t{}", builder.number()));
    builder.act(json!({"turn": {"by": by, "id": id, "script": script}}), |_, _| None)?;
    builder.pause();
    Some(told)
}

/// Dispatches an action about a pending decision of the agent.
fn decide(builder: &mut ConversationBuilder) -> Option<ActionLogEntry> {
    let mut chats = builder.channels(ChannelKind::Chat);
    let mut open: Vec<&str> = Vec::new();
    chats.retain(|(_, chat)| {
        let before = open.len();
        let parts = chat["activeTurn"]["responseParts"].as_array();
        for part in parts.into_iter().flatten() {
            let asks = part["request"].is_object() && part["response"].is_null();
            open.extend_from_slice(match part["toolCall"]["status"].as_str() {
                Some("pending-confirmation") => {
                    &["chat/toolCallConfirmed", "chat/toolCallConfirmed"]
                }
                Some("pending-result-confirmation") => &["chat/toolCallResultConfirmed"],
                Some("running") => &["chat/toolCallComplete", "chat/toolCallContentChanged"],
                _ if asks => {
                    &["chat/inputCompleted", "chat/inputCompleted", "chat/inputAnswerChanged"]
                }
                _ => &[],
            });
        }
        if !chat["activeTurn"].is_null() {
            open.push("chat/turnCancelled");
        }
        let last = chat["turns"].as_array().and_then(|turns| turns.last());
        if last.is_some_and(|turn| turn["state"] == "error") {
            open.push("chat/turnResume");
        }
        open.len() > before
    });
    let name = *builder.dice.pick(&open)?;
    act::dispatch_on(builder, ChannelKind::Chat, &chats, &[name], 30)
}

/// Queues several messages in a busy chat and reorders them.
fn pile(builder: &mut ConversationBuilder) -> Option<ActionLogEntry> {
    let all = builder.channels(ChannelKind::Chat);
    let busy: Vec<_> = all.iter().filter(|row| !row.1["activeTurn"].is_null()).collect();
    let (uri, _) = (*builder.dice.pick(&busy)?).clone();
    let (by, channel) = (builder.somebody()?, builder.named(&json!(uri))?);
    subscribe::follow(builder, &by, &uri)?;
    let accepted = |came: &ClientStepResult, _: &ConversationBuilder| {
        (*came == ClientStepResult::Accepted)
            .then(|| "dispatch.table.client.chat.pendingMessageSet".to_owned())
    };
    let mut ids = Vec::new();
    // The identifiers do not sort in the order of their creation.
    for first in ["m", "z", "a", "k"] {
        let id = format!("{first}{}", builder.number());
        let message = json!({"text": format!("message {id}"), "origin": {"kind": "user"}});
        let action = json!({
            "type": "chat/pendingMessageSet", "kind": "queued", "id": (id.as_str()), "message": message,
        });
        builder.act(
            json!({"dispatch": {"by": (by.as_str()), "channel": channel.clone(), "action": action}}),
            accepted,
        )?;
        ids.push(id);
    }
    let action = json!({"type": "chat/queuedMessagesReordered", "order": [ids.pop()]});
    let came = builder
        .act(json!({"dispatch": {"by": by, "channel": channel, "action": action}}), |_, _| None)?;
    observe::look(builder, Some(uri));
    Some(("chat/queuedMessagesReordered".to_owned(), "legal", came))
}

/// Dispatches an action about the queued messages of a chat, usually a busy one.
fn queue(builder: &mut ConversationBuilder) -> Option<ActionLogEntry> {
    const QUEUE: &[&str] = &[
        "chat/pendingMessageSet",
        "chat/pendingMessageSet",
        "chat/pendingMessageSet",
        "chat/pendingMessageRemoved",
        "chat/queuedMessagesReordered",
    ];
    let all = builder.channels(ChannelKind::Chat);
    let busy: Vec<_> = all.iter().filter(|row| !row.1["activeTurn"].is_null()).cloned().collect();
    let chats = if busy.is_empty() || builder.dice.chance(10) { all } else { busy };
    act::dispatch_on(builder, ChannelKind::Chat, &chats, QUEUE, 12)
}
