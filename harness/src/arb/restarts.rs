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

use super::builder::ConversationBuilder;
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
pub fn restart(builder: &mut ConversationBuilder) -> Option<ActionLogEntry> {
    let crash = match builder.conditions.restarts {
        HostRestarts::Never => return None,
        HostRestarts::Orderly => false,
        HostRestarts::Crashes => builder.dice.chance(CRASHES),
    };
    let followed = followed(builder);
    let run = run_of_request(builder);
    let mut acknowledged = None;
    if let Some(followed) = &followed
        && builder.dice.chance(70)
    {
        acknowledged = Some(rename(builder, followed, "before")?);
    }
    let step = if crash { json!({"restart": {"crash": true}}) } else { json!({"restart": null}) };
    builder.act(step, |_, _| None)?;
    let came = |name: &String, builder: &ConversationBuilder| {
        builder.stage().client(name).is_some_and(|(client, _)| client.version().is_some())
    };
    let known: Vec<String> =
        builder.clients.iter().filter(|name| came(name, builder)).cloned().collect();
    for name in known {
        let follows = followed.as_ref().is_some_and(|it| it.by == name);
        match builder.dice.below(100) {
            roll if follows || roll < RETURNS => {
                // A host that no longer knows the client answers with an error.
                let step = json!({"reconnect": {"by": name, "result": true, "error": true}});
                builder.act(step, |_, _| None)?;
            }
            roll if roll < RETURNS + BEGINS_ANEW => {
                builder.put(json!({"connect": {"by": name}}))?;
                builder.act(
                    json!({"initialize": {"by": name, "subscribe": ["ahp-root://"]}}),
                    |_, _| None,
                )?;
            }
            _ => {}
        }
    }
    if let Some((automation, request, run)) = run {
        runs_once(builder, &automation, &request, &run)?;
    }
    if let Some(followed) = followed {
        is_the_same(builder, &followed, crash)?;
        if let Some(number) = acknowledged {
            goes_on(builder, &followed, &number)?;
        }
    }
    let name = if crash { "crash" } else { "restart" };
    Some((name.to_owned(), "legal", ClientStepResult::Nothing))
}

/// Returns a connected client, with a session and a chat of the session to which the client is subscribed.
fn followed(builder: &mut ConversationBuilder) -> Option<FollowedSession> {
    let by = builder.somebody()?;
    let follows = |builder: &ConversationBuilder, kind| -> Vec<(String, Value)> {
        let client = builder.stage().client(&by).map(|(client, _)| client);
        let all = builder.channels(kind).into_iter();
        all.filter(|(uri, _)| client.is_some_and(|client| client.is_subscribed(uri))).collect()
    };
    let sessions = follows(builder, ChannelKind::Session);
    let (uri, _) = builder.dice.pick(&sessions)?;
    let session = builder.named(&json!(uri))?;
    let chats = follows(builder, ChannelKind::Chat);
    let active = chats.iter().find(|(_, chat)| !chat["activeTurn"].is_null());
    let chat = active.or(chats.first()).and_then(|(uri, chat)| {
        let turn = &chat["activeTurn"]["id"];
        let turn = if turn.is_null() { None } else { Some(builder.named(turn)?) };
        Some(FollowedChat { channel: builder.named(&json!(uri))?, turn })
    });
    Some(FollowedSession { by, session, chat })
}

/// Gives a session a title, and waits until the host has accepted the title. Returns the name to which the `serverSeq`
/// of this action is bound.
fn rename(
    builder: &mut ConversationBuilder,
    followed: &FollowedSession,
    when: &str,
) -> Option<String> {
    let (title, name) =
        (format!("{when} {}", builder.number()), format!("number{}", builder.number()));
    builder.put(json!({"dispatch": {
        "by": (followed.by.as_str()), "channel": followed.session.clone(),
        "action": {"type": "session/titleChanged", "title": title},
        "accept": {"serverSeq": format!("$bind {name}")},
    }}))?;
    Some(name)
}

/// Checks that a returned client has the state that the host shows to a new client.
fn is_the_same(
    builder: &mut ConversationBuilder,
    followed: &FollowedSession,
    crash: bool,
) -> Option<()> {
    let FollowedSession { by, session, chat } = followed;
    let title = format!("title{}", builder.number());
    // These are premises: the host has the session, and the client is subscribed to it again.
    builder.put(
        json!({"snapshot": {"of": session.clone(), "state": {"title": format!("$bind {title}")}}}),
    )?;
    builder.put(json!({"mirror": {"at": by, "of": session.clone(), "state": {}}}))?;
    builder.put(json!({"barrier": {"by": by, "channel": session.clone()}}))?;
    builder.put(json!({"mirror": {
        "at": by, "of": session.clone(), "state": {"title": format!("${{{title}}}")},
        "proves": "multi.converge",
    }}))?;
    let Some(FollowedChat { channel, turn: Some(turn) }) = chat else { return Some(()) };
    if !crash {
        return Some(());
    }
    // A host may begin a queued message after the crash, so another turn may be active.
    let over = json!({"activeTurn": {"$in": ["$absent", {"id": {"$not": turn.clone()}}]}});
    builder.put(json!({"snapshot": {"of": channel.clone(), "state": {}}}))?;
    builder.put(json!({"snapshot": {
        "of": channel.clone(), "state": over.clone(), "proves": "disconnect.crash.turns-failed",
    }}))?;
    builder.put(json!({"mirror": {"at": by, "of": channel.clone(), "state": {}}}))?;
    builder.put(json!({"barrier": {"by": by, "channel": channel.clone()}}))?;
    builder
        .put(json!({"mirror": {
            "at": by, "of": channel.clone(), "state": over, "proves": "multi.converge",
        }}))
        .map(drop)
}

/// Checks that the sequence numbers continue if the host has kept the session.
fn goes_on(
    builder: &mut ConversationBuilder,
    followed: &FollowedSession,
    before: &str,
) -> Option<()> {
    // This is a premise: the host accepts actions on the session.
    rename(builder, followed, "kept")?;
    let title = format!("after {}", builder.number());
    builder
        .put(json!({"dispatch": {
            "by": (followed.by.as_str()), "channel": followed.session.clone(),
            "action": {"type": "session/titleChanged", "title": title},
            "accept": {"serverSeq": {"$above": format!("${{{before}}}")}},
            "proves": "reconnect.host-restart",
        }}))
        .map(drop)
}

/// Requests a run of an automation. Returns the automation, the name of the request, and the run.
fn run_of_request(builder: &mut ConversationBuilder) -> Option<(Value, String, Value)> {
    let by = builder.somebody()?;
    let (_, state) = builder.channels(ChannelKind::Automations).into_iter().next()?;
    let entries = state["entries"].as_array().cloned().unwrap_or_default();
    let automation = builder.named(&builder.dice.clone().pick(&entries)?["resource"])?;
    let request = format!("once{}", builder.number());
    let step = json!({"request": {
        "by": by, "method": "runAutomation",
        "params": {
            "channel": "ahp-automations://", "automation": automation.clone(),
            "requestId": format!("${{new {request}}}"),
        },
        "result": true, "error": true,
    }});
    let ClientStepResult::Result(result) = builder.act(step, |_, _| None)? else { return None };
    builder.bind_result(&result);
    Some((automation, request, builder.named(&result["resource"])?))
}

/// Checks that a repeated request does not start another run.
fn runs_once(
    builder: &mut ConversationBuilder,
    automation: &Value,
    request: &str,
    run: &Value,
) -> Option<()> {
    let Some(by) = builder.somebody() else { return Some(()) };
    // These are premises: the host serves the client, and has kept the automation.
    builder
        .put(json!({"request": {"by": by.as_str(), "method": "listSessions", "result": true}}))?;
    builder.put(json!({"snapshot": {
        "of": "ahp-automations://",
        "state": {"entries": {"$contains": [{"resource": automation.clone()}]}},
    }}))?;
    builder
        .put(json!({"request": {
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
