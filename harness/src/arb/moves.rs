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
use super::draw::ConversationDraw;
use super::step_result::{ActionLogEntry, ClientStepResult};
use super::{lines, observe, restarts, subscribe, talk};

type ConversationMove = fn(&mut ConversationDraw) -> Option<ActionLogEntry>;

/// Every move, with its name and its default weight.
const MOVES: &[(&str, usize, ConversationMove)] = &[
    ("turn", 10, talk::turn),
    ("release", 4, talk::release),
    ("chat", 14, |draw| act::dispatch(draw, &[ChannelKind::Chat])),
    ("decide", 8, decide),
    ("session", 8, |draw| act::dispatch(draw, &[ChannelKind::Session])),
    ("root", 2, |draw| act::dispatch(draw, &[ChannelKind::Root])),
    ("terminal", 1, |draw| act::dispatch(draw, &[ChannelKind::Terminal])),
    ("annotations", 1, |draw| act::dispatch(draw, &[ChannelKind::Annotations])),
    ("automations", 1, |draw| act::dispatch(draw, &[ChannelKind::Automations])),
    ("runs", 1, |draw| act::dispatch(draw, &[ChannelKind::AutomationRun])),
    ("changesets", 1, |draw| act::dispatch(draw, &[ChannelKind::Changeset])),
    ("join-in", 2, |draw| {
        let sessions = draw.channels(ChannelKind::Session);
        act::dispatch_on(draw, ChannelKind::Session, &sessions, &["session/activeClientSet"], 10)
    }),
    ("servers", 0, |draw| {
        const SERVERS: &[&str] = &[
            "session/mcpServerStartRequested",
            "session/mcpServerStopRequested",
            "session/customizationToggled",
        ];
        let sessions = draw.channels(ChannelKind::Session);
        act::dispatch_on(draw, ChannelKind::Session, &sessions, SERVERS, 10)
    }),
    ("folders", 0, |draw| {
        const FOLDERS: &[&str] = &["WorkingDirectorySet", "WorkingDirectoryRemoved"];
        let kind = *draw.dice.pick(&[ChannelKind::Session, ChannelKind::Chat])?;
        let names: Vec<String> = FOLDERS
            .iter()
            .map(|name| format!("{}/w{}", kind.family(), &name[1..]))
            .chain(
                (kind == ChannelKind::Session)
                    .then(|| "session/workingDirectoryReplaced".to_owned()),
            )
            .collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let channels = draw.channels(kind);
        act::dispatch_on(draw, kind, &channels, &names, 10)
    }),
    ("queue", 3, queue),
    ("pile", 0, pile),
    ("dispose", 0, |draw| ask::ask(draw, |it| it == "disposeSession")),
    ("review", 0, review),
    ("window", 0, observe::window),
    ("read", 0, observe::read),
    ("tokens", 0, |draw| ask::ask(draw, |it| it == "authenticate")),
    ("ask-server", 0, |draw| lines::raw_called(draw, "side-channel")),
    ("again", 0, lines::again),
    ("subscribe", 8, subscribe::subscribe),
    ("look", 4, |draw| observe::look(draw, None)),
    ("sessions", 4, |draw| {
        ask::ask(draw, |it| {
            ["createSession", "disposeSession", "listSessions", "ping"].contains(&it)
        })
    }),
    ("list", 0, |draw| ask::ask(draw, |it| it == "listSessions")),
    ("chats", 3, |draw| {
        ask::ask(draw, |it| ["createChat", "disposeChat", "moveChat", "fetchTurns"].contains(&it))
    }),
    ("files", 2, |draw| ask::ask(draw, |it| it.starts_with("resource"))),
    ("watches", 1, |draw| ask::ask(draw, |it| it == "createResourceWatch")),
    ("make-terminal", 1, |draw| ask::ask(draw, |it| it.ends_with("Terminal"))),
    ("operations", 1, |draw| ask::ask(draw, |it| it == "invokeChangesetOperation")),
    ("run", 1, |draw| ask::ask(draw, |it| it.contains("utomation"))),
    ("other", 1, |draw| ask::ask(draw, |_| true)),
    ("line", 4, lines::come_and_go),
    ("restart", 0, restarts::restart),
    ("join", 3, lines::join),
    ("offer", 1, lines::offer),
    ("raw", 2, lines::raw),
    ("move", 0, |draw| ask::ask(draw, |it| it == "moveChat")),
    ("new-chat", 0, |draw| ask::ask(draw, |it| it == "createChat")),
    ("new-session", 0, |draw| ask::ask(draw, |it| it == "createSession")),
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
    draw: &mut ConversationDraw,
    more: &[(&'static str, usize)],
    moves: usize,
) -> Vec<ActionLogEntry> {
    let mut told = Vec::new();
    let mut idle = 0;
    while told.len() < moves && idle < IDLE && !draw.broken {
        let Some(one) = pick(&mut draw.dice, more) else { break };
        match one(draw) {
            Some(done) => told.push(done),
            None => idle += 1,
        }
        if !draw.broken && draw.dice.chance(PAUSED) {
            draw.pause();
        }
    }
    told
}

/// Makes the move with this name, if it is possible.
pub(super) fn named_move(draw: &mut ConversationDraw, name: &str) -> Option<ActionLogEntry> {
    MOVES.iter().find(|row| row.0 == name).and_then(|(.., one)| one(draw))
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
fn review(draw: &mut ConversationDraw) -> Option<ActionLogEntry> {
    let all = draw.channels(ChannelKind::Changeset);
    let told =
        act::dispatch_on(draw, ChannelKind::Changeset, &all, &["changeset/filesReviewChanged"], 0)?;
    let script = format!("tool write \"one.txt\\nmore {}\"", draw.word());
    let (by, id) = (draw.somebody()?, format!("t{}", draw.number()));
    draw.act(json!({"turn": {"by": by, "id": id, "script": script}}), |_, _| None)?;
    draw.pause();
    Some(told)
}

/// Dispatches an action about a pending decision of the agent.
fn decide(draw: &mut ConversationDraw) -> Option<ActionLogEntry> {
    let mut chats = draw.channels(ChannelKind::Chat);
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
    let name = *draw.dice.pick(&open)?;
    act::dispatch_on(draw, ChannelKind::Chat, &chats, &[name], 30)
}

/// Queues several messages in a busy chat and reorders them.
fn pile(draw: &mut ConversationDraw) -> Option<ActionLogEntry> {
    let all = draw.channels(ChannelKind::Chat);
    let busy: Vec<_> = all.iter().filter(|row| !row.1["activeTurn"].is_null()).collect();
    let (uri, _) = (*draw.dice.pick(&busy)?).clone();
    let (by, channel) = (draw.somebody()?, draw.named(&json!(uri))?);
    subscribe::follow(draw, &by, &uri)?;
    let accepted = |came: &ClientStepResult, _: &ConversationDraw| {
        (*came == ClientStepResult::Accepted)
            .then(|| "dispatch.table.client.chat.pendingMessageSet".to_owned())
    };
    let mut ids = Vec::new();
    // The identifiers do not sort in the order of their creation.
    for first in ["m", "z", "a", "k"] {
        let id = format!("{first}{}", draw.number());
        let message = json!({"text": format!("message {id}"), "origin": {"kind": "user"}});
        let action = json!({
            "type": "chat/pendingMessageSet", "kind": "queued", "id": (id.as_str()), "message": message,
        });
        draw.act(
            json!({"dispatch": {"by": (by.as_str()), "channel": channel.clone(), "action": action}}),
            accepted,
        )?;
        ids.push(id);
    }
    let action = json!({"type": "chat/queuedMessagesReordered", "order": [ids.pop()]});
    let came = draw
        .act(json!({"dispatch": {"by": by, "channel": channel, "action": action}}), |_, _| None)?;
    observe::look(draw, Some(uri));
    Some(("chat/queuedMessagesReordered".to_owned(), "legal", came))
}

/// Dispatches an action about the queued messages of a chat, usually a busy one.
fn queue(draw: &mut ConversationDraw) -> Option<ActionLogEntry> {
    const QUEUE: &[&str] = &[
        "chat/pendingMessageSet",
        "chat/pendingMessageSet",
        "chat/pendingMessageSet",
        "chat/pendingMessageRemoved",
        "chat/queuedMessagesReordered",
    ];
    let all = draw.channels(ChannelKind::Chat);
    let busy: Vec<_> = all.iter().filter(|row| !row.1["activeTurn"].is_null()).cloned().collect();
    let chats = if busy.is_empty() || draw.dice.chance(10) { all } else { busy };
    act::dispatch_on(draw, ChannelKind::Chat, &chats, QUEUE, 12)
}
