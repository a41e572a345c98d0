//! The table of acts: the operations that clients of a load perform on sessions and chats.
//!
//! Knows: the methods of the engine. Never knows: when a client performs an act.
//!
//! Start at [`ACTS`].

use std::time::Duration;

use crate::wire::json::{Value, json};

use super::engine::LoadEngine;

/// An act: an operation that a client can perform.
#[derive(Clone, Copy)]
pub struct LoadAct {
    /// The name of the act, for reports.
    pub name: &'static str,
    /// The relative frequency with which the act is chosen.
    pub weight: usize,
    /// The function that performs the act at a given time, for the client with a given index. Returns whether the
    /// client could perform the act.
    pub perform: fn(&mut LoadEngine, Duration, usize) -> bool,
}

const fn act(
    name: &'static str,
    weight: usize,
    perform: fn(&mut LoadEngine, Duration, usize) -> bool,
) -> LoadAct {
    LoadAct { name, weight, perform }
}

/// All acts. With these weights, about nine of ten acts are dispatches.
pub const ACTS: &[LoadAct] = &[
    act("rename the session", 26, |it, now, client| {
        it.on_session(now, client, renamed(client, now))
    }),
    act("write a draft", 30, |it, now, client| {
        let draft = message(&format!("draft of {client} at {} ms", now.as_millis()));
        it.on_chat(now, client, json!({"type": "chat/draftChanged", "draft": draft}))
    }),
    act("mark the session as read", 10, |it, now, client| {
        let read = now.as_micros().is_multiple_of(2);
        it.on_session(now, client, json!({"type": "session/isReadChanged", "isRead": read}))
    }),
    act("two clients rename at once", 6, |it, now, client| {
        it.together(client).is_some_and(|other| {
            it.on_session(now, client, renamed(client, now))
                && it.on_session(now, other, renamed(other, now))
        })
    }),
    act("start a turn", 10, LoadEngine::start_turn),
    act("cancel the turn", 2, LoadEngine::cancel_turn),
    act("leave and come back", 6, LoadEngine::leave),
    act("leave the chat and join again", 4, LoadEngine::rejoin_chat),
    act("read the turns", 2, LoadEngine::read_turns),
    act("list the sessions", 1, LoadEngine::list_sessions),
    act("stop reading", 2, LoadEngine::stop_reading),
    act("replace the session", 1, LoadEngine::replace_session),
];

/// The sum of the weights of all acts.
pub const WEIGHTS: usize = {
    let (mut at, mut sum) = (0, 0);
    while at < ACTS.len() {
        sum += ACTS[at].weight;
        at += 1;
    }
    sum
};

/// Returns the act that a random number below [`WEIGHTS`] selects.
pub fn chosen(mut place: usize) -> &'static LoadAct {
    for act in ACTS {
        if place < act.weight {
            return act;
        }
        place -= act.weight;
    }
    &ACTS[0]
}

fn renamed(client: usize, now: Duration) -> Value {
    let title = format!("title of {client} at {} ms", now.as_millis());
    json!({"type": "session/titleChanged", "title": title})
}

/// Returns a message of a user.
pub fn message(text: &str) -> Value {
    json!({"text": text, "origin": {"kind": "user"}})
}

/// The scripts that agents play in turns: messages; a tool call that waits for a decision; several tool calls at the
/// same time; a turn that runs until it is cancelled or ends.
pub const SCRIPTS: &[&str] = &[
    "say \"one \" \"two \" \"three\"",
    "say \"Looking.\"\ntool shell \"touch ahp-marker\" confirm\nsay \"Done.\"",
    "parallel\ntool shell \"touch ahp-marker\" confirm\ntool shell \"touch ahp-other\" confirm\nend\nsay \"Done.\"",
    "say \"a \" \"b \" \"c \"\nwait 300ms\nsay \"d\"",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_act_is_chosen_as_often_as_its_weight_says() {
        for act in ACTS {
            let times = (0..WEIGHTS).filter(|place| chosen(*place).name == act.name).count();
            assert_eq!(times, act.weight, "{}", act.name);
        }
    }
}
