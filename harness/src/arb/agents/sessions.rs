//! Generates the beginning of a conversation, further sessions, and requests about existing and unknown sessions.
//!
//! Knows: the methods of ACP. Never knows: the storage of sessions.
//!
//! Start at [`open`].

use crate::wire::json::json;

use super::AgentMoveLog;
use super::draw::{AgentConversationDraw, PermissionPolicy};
use super::params::valid;

/// The capabilities that a client may offer, by the names of scenario files.
const OFFERS: &[&str] = &["nothing", "nothing", "fs", "fs-terminal", "all"];
/// The maximum number of sessions of a conversation.
const MOST: usize = 3;

/// Begins a conversation with one session.
pub(super) fn open(draw: &mut AgentConversationDraw) {
    let offers = draw.dice.pick(OFFERS).copied().unwrap_or("nothing");
    let mut members = json!({"by": "A"});
    // The first look has found the capabilities with which the agent asks for permission; they are the default
    // of `open`.
    if draw.policy == PermissionPolicy::Allows && draw.dice.chance(70) {
        members["offers"] = json!(offers);
    }
    draw.step("open", members);
    draw.sessions.push("session".to_owned());
}

/// Adds a request for a further session.
pub(super) fn create(draw: &mut AgentConversationDraw) -> AgentMoveLog {
    if draw.sessions.len() >= MOST {
        return None;
    }
    let name = draw.name("s");
    draw.step(
        "request",
        json!({
            "by": "A", "method": "session/new", "params": {"cwd": "${work}", "mcpServers": []},
            "result": {"sessionId": (format!("$bind {name}"))},
        }),
    );
    draw.sessions.push(name);
    Some(("session/new".to_owned(), "legal"))
}

/// The methods that are sent with an unknown session.
const ABOUT: &[&str] = &[
    "session/prompt",
    "session/load",
    "session/resume",
    "session/close",
    "session/set_mode",
    "session/set_config_option",
];

/// Adds a request for an unknown session, and the claim that it is refused.
pub(super) fn unknown(draw: &mut AgentConversationDraw) -> AgentMoveLog {
    let method = *draw.dice.pick(ABOUT)?;
    let mut params = valid(method, "session");
    let names = ["ahp-harness-none", "", "../..", "\u{0}"];
    params["sessionId"] = json!((*draw.dice.pick(&names)?));
    let rule = if method == "session/prompt" { "acp.op-08" } else { "acp.op-09" };
    draw.step(
        "request",
        json!({
            "by": "A", "method": method, "params": params, "error": {}, "proves": rule, "independent": true,
        }),
    );
    Some((method.to_owned(), "a session that is not there"))
}

/// The methods that a client may call at any time; the flag says whether the session stays usable.
const ANY_TIME: &[(&str, bool)] = &[
    ("session/list", true),
    ("session/set_mode", true),
    ("session/set_config_option", true),
    ("session/load", false),
    ("session/resume", false),
    ("session/close", false),
    ("session/delete", false),
    ("authenticate", true),
];

/// Adds a request of any kind, possibly during a turn, and the claim that it is answered.
pub(super) fn any_request(draw: &mut AgentConversationDraw) -> AgentMoveLog {
    let sessions = draw.sessions.clone();
    let session = draw.dice.pick(&sessions)?.clone();
    let (method, stays) = *draw.dice.pick(ANY_TIME)?;
    let busy = draw.turns.iter().any(|turn| turn.session == session);
    let params = valid(method, &session);
    if !stays && busy {
        // The agent must answer the session's prompt in any case: with a result at the end of the turn, or with an
        // error.
        draw.send_cancel(&session);
    }
    draw.request(method, params);
    if !stays {
        draw.sessions.retain(|name| *name != session);
    }
    Some((method.to_owned(), if busy { "during a turn" } else { "legal" }))
}
