//! Generates the beginning of a conversation, further sessions, and requests about existing and unknown sessions.
//!
//! Knows: the methods of ACP. Never knows: the storage of sessions.
//!
//! Start at [`open`].

use crate::wire::json::json;

use super::AgentMoveLog;
use super::builder::{AgentConversationBuilder, PermissionPolicy};
use super::params::valid;

/// The capabilities that a client may offer, by the names of scenario files.
const OFFERS: &[&str] = &["nothing", "nothing", "fs", "fs-terminal", "all"];
/// The maximum number of sessions of a conversation.
const MOST: usize = 3;

/// Begins a conversation with one session.
pub(super) fn open(builder: &mut AgentConversationBuilder) {
    let offers = builder.dice.pick(OFFERS).copied().unwrap_or("nothing");
    let mut members = json!({"by": "A"});
    // The first look has found the capabilities with which the agent asks for permission; they are the default
    // of `open`.
    if builder.policy == PermissionPolicy::Allows && builder.dice.chance(70) {
        members["offers"] = json!(offers);
    }
    builder.step("open", members);
    builder.sessions.push("session".to_owned());
}

/// Adds a request for a further session.
pub(super) fn create(builder: &mut AgentConversationBuilder) -> AgentMoveLog {
    if builder.sessions.len() >= MOST {
        return None;
    }
    let name = builder.name("s");
    builder.step(
        "request",
        json!({
            "by": "A", "method": "session/new", "params": {"cwd": "${work}", "mcpServers": []},
            "result": {"sessionId": (format!("$bind {name}"))},
        }),
    );
    builder.sessions.push(name);
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
pub(super) fn unknown(builder: &mut AgentConversationBuilder) -> AgentMoveLog {
    let method = *builder.dice.pick(ABOUT)?;
    let mut params = valid(method, "session");
    let names = ["ahp-harness-none", "", "../..", "\u{0}"];
    params["sessionId"] = json!((*builder.dice.pick(&names)?));
    let rule = if method == "session/prompt" { "acp.op-08" } else { "acp.op-09" };
    builder.step(
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
pub(super) fn any_request(builder: &mut AgentConversationBuilder) -> AgentMoveLog {
    let sessions = builder.sessions.clone();
    let session = builder.dice.pick(&sessions)?.clone();
    let (method, stays) = *builder.dice.pick(ANY_TIME)?;
    let busy = builder.turns.iter().any(|turn| turn.session == session);
    let params = valid(method, &session);
    if !stays && busy {
        // The agent must answer the session's prompt in any case: with a result at the end of the turn, or with an
        // error.
        builder.send_cancel(&session);
    }
    builder.request(method, params);
    if !stays {
        builder.sessions.retain(|name| *name != session);
    }
    Some((method.to_owned(), if busy { "during a turn" } else { "legal" }))
}
