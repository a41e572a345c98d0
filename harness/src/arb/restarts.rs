//! Moves that restart or crash the host in the middle of a conversation, and the claims about the host afterwards.
//!
//! The specification lets a host decide which channels it keeps. Each claim therefore follows a premise that the host
//! still has the channel. There are four claims: a client that returns has the state that the host shows to others; a
//! turn that a crash interrupted is no longer active; a run that a `requestId` has started is not started again;
//! sequence numbers continue.
//!
//! Knows: channels, acknowledged actions. Never knows: the restart of hosts.
//!
//! Start at [`restart`].

use crate::wire::channel::ChannelKind;
use crate::wire::json::{Value, json};

use super::draw::ConversationDraw;
use super::step_result::{ActionLogEntry, ClientStepResult};
use crate::run::plan::HostRestarts;

/// The percentage of restarts that are crashes, if the host can crash.
const CRASHES: usize = 60;
/// The percentage of clients that return with `reconnect`, and the percentage of clients that return with `initialize`.
const RETURNS: usize = 65;
const BEGINS_ANEW: usize = 20;

/// A client, and a session and a chat to which it is subscribed, as names of the conversation.
struct FollowedSession {
    by: String,
    session: Value,
    chat: Option<FollowedChat>,
}

struct FollowedChat {
    channel: Value,
    /// The id of the active turn, if there is one.
    turn: Option<Value>,
}

/// Restarts the host while clients are connected, and lets them return.
pub fn restart(draw: &mut ConversationDraw) -> Option<ActionLogEntry> {
    let crash = match draw.conditions.restarts {
        HostRestarts::Never => return None,
        HostRestarts::Orderly => false,
        HostRestarts::Crashes => draw.dice.chance(CRASHES),
    };
    let followed = followed(draw);
    let run = run_of_request(draw);
    let mut acknowledged = None;
    if let Some(followed) = &followed
        && draw.dice.chance(70)
    {
        acknowledged = Some(rename(draw, followed, "before")?);
    }
    let step = if crash { json!({"restart": {"crash": true}}) } else { json!({"restart": null}) };
    draw.act(step, |_, _| None)?;
    let came = |name: &String, draw: &ConversationDraw| {
        draw.stage().client(name).is_some_and(|(client, _)| client.version().is_some())
    };
    let known: Vec<String> = draw.clients.iter().filter(|name| came(name, draw)).cloned().collect();
    for name in known {
        let follows = followed.as_ref().is_some_and(|it| it.by == name);
        match draw.dice.below(100) {
            roll if follows || roll < RETURNS => {
                // A host that no longer knows the client answers with an error.
                let step = json!({"reconnect": {"by": name, "result": true, "error": true}});
                draw.act(step, |_, _| None)?;
            }
            roll if roll < RETURNS + BEGINS_ANEW => {
                draw.put(json!({"connect": {"by": name}}))?;
                draw.act(
                    json!({"initialize": {"by": name, "subscribe": ["ahp-root://"]}}),
                    |_, _| None,
                )?;
            }
            _ => {}
        }
    }
    if let Some((automation, request, run)) = run {
        runs_once(draw, &automation, &request, &run)?;
    }
    if let Some(followed) = followed {
        is_the_same(draw, &followed, crash)?;
        if let Some(number) = acknowledged {
            goes_on(draw, &followed, &number)?;
        }
    }
    let name = if crash { "crash" } else { "restart" };
    Some((name.to_owned(), "legal", ClientStepResult::Nothing))
}

/// Returns a connected client, with a session and a chat of the session to which the client is subscribed.
fn followed(draw: &mut ConversationDraw) -> Option<FollowedSession> {
    let by = draw.somebody()?;
    let follows = |draw: &ConversationDraw, kind| -> Vec<(String, Value)> {
        let client = draw.stage().client(&by).map(|(client, _)| client);
        let all = draw.channels(kind).into_iter();
        all.filter(|(uri, _)| client.is_some_and(|client| client.is_subscribed(uri))).collect()
    };
    let sessions = follows(draw, ChannelKind::Session);
    let (uri, _) = draw.dice.pick(&sessions)?;
    let session = draw.named(&json!(uri))?;
    let chats = follows(draw, ChannelKind::Chat);
    let active = chats.iter().find(|(_, chat)| !chat["activeTurn"].is_null());
    let chat = active.or(chats.first()).and_then(|(uri, chat)| {
        let turn = &chat["activeTurn"]["id"];
        let turn = if turn.is_null() { None } else { Some(draw.named(turn)?) };
        Some(FollowedChat { channel: draw.named(&json!(uri))?, turn })
    });
    Some(FollowedSession { by, session, chat })
}

/// Gives a session a title, and waits until the host has accepted the title. Returns the name to which the `serverSeq`
/// of this action is bound.
fn rename(draw: &mut ConversationDraw, followed: &FollowedSession, when: &str) -> Option<String> {
    let (title, name) = (format!("{when} {}", draw.number()), format!("number{}", draw.number()));
    draw.put(json!({"dispatch": {
        "by": (followed.by.as_str()), "channel": followed.session.clone(),
        "action": {"type": "session/titleChanged", "title": title},
        "accept": {"serverSeq": format!("$bind {name}")},
    }}))?;
    Some(name)
}

/// Checks that a returned client has the state that the host shows to a new client.
fn is_the_same(draw: &mut ConversationDraw, followed: &FollowedSession, crash: bool) -> Option<()> {
    let FollowedSession { by, session, chat } = followed;
    let title = format!("title{}", draw.number());
    // These are premises: the host has the session, and the client is subscribed to it again.
    draw.put(
        json!({"snapshot": {"of": session.clone(), "state": {"title": format!("$bind {title}")}}}),
    )?;
    draw.put(json!({"mirror": {"at": by, "of": session.clone(), "state": {}}}))?;
    draw.put(json!({"barrier": {"by": by, "channel": session.clone()}}))?;
    draw.put(json!({"mirror": {
        "at": by, "of": session.clone(), "state": {"title": format!("${{{title}}}")},
        "proves": "multi.converge",
    }}))?;
    let Some(FollowedChat { channel, turn: Some(turn) }) = chat else { return Some(()) };
    if !crash {
        return Some(());
    }
    // A host may begin a queued message after the crash, so another turn may be active.
    let over = json!({"activeTurn": {"$in": ["$absent", {"id": {"$not": turn.clone()}}]}});
    draw.put(json!({"snapshot": {"of": channel.clone(), "state": {}}}))?;
    draw.put(json!({"snapshot": {
        "of": channel.clone(), "state": over.clone(), "proves": "disconnect.crash.turns-failed",
    }}))?;
    draw.put(json!({"mirror": {"at": by, "of": channel.clone(), "state": {}}}))?;
    draw.put(json!({"barrier": {"by": by, "channel": channel.clone()}}))?;
    draw.put(json!({"mirror": {
        "at": by, "of": channel.clone(), "state": over, "proves": "multi.converge",
    }}))
    .map(drop)
}

/// Checks that the sequence numbers continue if the host has kept the session.
fn goes_on(draw: &mut ConversationDraw, followed: &FollowedSession, before: &str) -> Option<()> {
    // This is a premise: the host accepts actions on the session.
    rename(draw, followed, "kept")?;
    let title = format!("after {}", draw.number());
    draw.put(json!({"dispatch": {
        "by": (followed.by.as_str()), "channel": followed.session.clone(),
        "action": {"type": "session/titleChanged", "title": title},
        "accept": {"serverSeq": {"$above": format!("${{{before}}}")}},
        "proves": "reconnect.host-restart",
    }}))
    .map(drop)
}

/// Requests a run of an automation. Returns the automation, the name of the request, and the run.
fn run_of_request(draw: &mut ConversationDraw) -> Option<(Value, String, Value)> {
    let by = draw.somebody()?;
    let (_, state) = draw.channels(ChannelKind::Automations).into_iter().next()?;
    let entries = state["entries"].as_array().cloned().unwrap_or_default();
    let automation = draw.named(&draw.dice.clone().pick(&entries)?["resource"])?;
    let request = format!("once{}", draw.number());
    let step = json!({"request": {
        "by": by, "method": "runAutomation",
        "params": {
            "channel": "ahp-automations://", "automation": automation.clone(),
            "requestId": format!("${{new {request}}}"),
        },
        "result": true, "error": true,
    }});
    let ClientStepResult::Result(result) = draw.act(step, |_, _| None)? else { return None };
    draw.bind_result(&result);
    Some((automation, request, draw.named(&result["resource"])?))
}

/// Checks that a repeated request does not start another run.
fn runs_once(
    draw: &mut ConversationDraw,
    automation: &Value,
    request: &str,
    run: &Value,
) -> Option<()> {
    let Some(by) = draw.somebody() else { return Some(()) };
    // These are premises: the host serves the client, and has kept the automation.
    draw.put(json!({"request": {"by": by.as_str(), "method": "listSessions", "result": true}}))?;
    draw.put(json!({"snapshot": {
        "of": "ahp-automations://",
        "state": {"entries": {"$contains": [{"resource": automation.clone()}]}},
    }}))?;
    draw.put(json!({"request": {
        "by": by, "method": "runAutomation",
        "params": {
            "channel": "ahp-automations://", "automation": automation.clone(),
            "requestId": format!("${{{request}}}"),
        },
        "result": {"resource": run.clone()},
        "proves": "automation.run.idempotent",
    }}))
    .map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arb::conditions::PlayConditions;
    use crate::arb::generate::ConversationGenerator;
    use crate::arb::themes::RESTARTS;
    use crate::wire::version::Version;

    fn texts(restarts: HostRestarts) -> Vec<String> {
        let conditions = PlayConditions { restarts, ..PlayConditions::FOREIGN };
        let generator = ConversationGenerator::new(Version::V1_0, 1, conditions);
        // The theme about restarts needs a host that can be restarted.
        let generator = match restarts {
            HostRestarts::Never => generator.about("lines"),
            _ => generator.about(RESTARTS),
        };
        let all = (0..80).filter_map(|number| generator.sequence(number));
        all.map(|it| it.draft.text()).collect()
    }

    #[test]
    fn a_host_is_only_restarted_as_it_can_be() {
        let restarted = |texts: &[String]| texts.iter().any(|text| text.contains("restart:"));
        let killed = |texts: &[String]| texts.iter().any(|text| text.contains("crash: true"));
        let (never, orderly) = (texts(HostRestarts::Never), texts(HostRestarts::Orderly));
        assert!(!restarted(&never));
        assert!(restarted(&orderly) && !killed(&orderly));
        assert!(killed(&texts(HostRestarts::Crashes)));
    }

    #[test]
    fn what_has_to_hold_after_a_restart_is_drawn() {
        let texts = texts(HostRestarts::Crashes);
        let rules = ["multi.converge", "disconnect.crash.turns-failed", "reconnect.host-restart"];
        for rule in rules {
            assert!(texts.iter().any(|text| text.contains(rule)), "{rule}");
        }
    }
}
