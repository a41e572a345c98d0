//! Dispatches actions of clients that are generated from the protocol tables. Most actions are legal; the others have a
//! named deviation.
//!
//! Knows: the tables, deviations, the requirements for outcomes. Never knows: the members of actions, the legality of
//! actions (the stage decides it).
//!
//! Start at [`dispatch`].

use crate::wire::channel::ChannelKind;
use crate::wire::json::{Value, json};
use crate::wire::protocol::DispatchRight;

use super::deviate::DEVIATIONS;
use super::draft_step::{members_mut, minted};
use super::draw::ConversationDraw;
use super::drawn_action::{ActionBid, drawn};
use super::rules::UNKNOWN_CHANNELS;
use super::step_result::{ActionLogEntry, ClientStepResult};
use super::subscribe::follow;

/// The maximum number of attempts to generate an action that the stage accepts.
const TRIES: usize = 8;
/// The percentage of actions with a deviation.
const DEVIANT: usize = 35;

/// Dispatches an action on a channel of one of these kinds. Returns the log entry: the type of the action, the
/// deviation and the result.
pub fn dispatch(draw: &mut ConversationDraw, kinds: &[ChannelKind]) -> Option<ActionLogEntry> {
    let bid = bid(draw, kinds)?;
    deviating(draw, bid, DEVIANT)
}

fn deviating(
    draw: &mut ConversationDraw,
    mut bid: ActionBid,
    deviant: usize,
) -> Option<ActionLogEntry> {
    let mut deviation = "legal";
    if draw.dice.chance(deviant) {
        for _ in 0..TRIES {
            let (name, deviate) = draw.dice.pick(DEVIATIONS)?;
            if deviate(draw, &mut bid).is_some() {
                deviation = name;
                break;
            }
        }
    }
    send(draw, &bid, deviation)
}

/// Dispatches an action of one of these types on one of these channels. `deviant` is the percentage of actions
/// with a deviation.
pub fn dispatch_on(
    draw: &mut ConversationDraw,
    kind: ChannelKind,
    channels: &[(String, Value)],
    names: &[&str],
    deviant: usize,
) -> Option<ActionLogEntry> {
    let (uri, state) = draw.dice.pick(channels)?.clone();
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let bid = bid_on(draw, kind, uri, state, &names)?;
    deviating(draw, bid, deviant)
}

/// The actions that start an agent's work. If no agent plays scripts, these actions are not dispatched, because their
/// effects would be unknown.
const STARTS: [&str; 3] =
    ["chat/turnStarted", "chat/pendingMessageSet", "automation/createRequested"];

fn send(
    draw: &mut ConversationDraw,
    bid: &ActionBid,
    deviation: &'static str,
) -> Option<ActionLogEntry> {
    let names = draw.names();
    let (channel, action) = (names.symbolic(&json!(bid.uri))?, names.symbolic(&bid.action)?);
    let name = bid.action["type"].as_str().unwrap_or_default().to_owned();
    if draw.conditions.agent.is_none() && STARTS.contains(&name.as_str()) {
        return None;
    }
    let mut step = json!({"dispatch": {"by": bid.by, "channel": channel, "action": action}});
    let decision = bid.action.get("toolCallId").is_some() || bid.action.get("requestId").is_some();
    let again = draw.dice.chance(if decision { 22 } else { 6 });
    if again {
        step["dispatch"]["as"] = json!(format!("seq{}", draw.number()));
    }
    let came = draw.act(step.clone(), |came, draw| rule(&bid.uri, &name, came, draw))?;
    if came == ClientStepResult::Rejected && draw.dice.chance(40) {
        says_why(draw);
    }
    if again {
        repeat(draw, &step, &bid.uri, &name);
    }
    Some((name, deviation, came))
}

/// If the last step expects a rejection, also expects that the host states a reason.
fn says_why(draw: &mut ConversationDraw) {
    let Some(step) = draw.steps.last_mut().and_then(members_mut) else { return };
    if step.remove("refused").is_some() {
        step.insert("reject", json!({"rejectionReason": {"$matches": ".+"}}));
    }
}

/// Dispatches the same action again, either with a new `clientSeq` or with the previous `clientSeq`.
fn repeat(draw: &mut ConversationDraw, step: &Value, uri: &str, name: &str) {
    // The second dispatch uses the identifiers that the first dispatch created.
    let mut again = minted(step);
    if let Some(members) = members_mut(&mut again) {
        let seq = members.remove("as");
        if let Some(seq) = seq.filter(|_| draw.dice.chance(50)) {
            let seq = seq.as_str().unwrap_or_default();
            members.insert("clientSeq", json!(format!("${{{seq}}}")));
            // The always-on checks judge a reused `clientSeq`, so no outcome is expected here.
            draw.act(again, |_, _| None);
            return;
        }
    }
    draw.act(again, |came, draw| rule(uri, name, came, draw));
}

fn rule(uri: &str, name: &str, came: &ClientStepResult, draw: &ConversationDraw) -> Option<String> {
    match came {
        ClientStepResult::Accepted => {
            Some(format!("dispatch.table.client.{}", name.replace('/', ".")))
        }
        ClientStepResult::Rejected => {
            Some(draw.stage().host().refused_by().to_owned()).filter(|rule| !rule.is_empty())
        }
        ClientStepResult::Nothing => {
            let row = UNKNOWN_CHANNELS.iter().find(|(start, _)| uri.starts_with(start));
            let known = draw.stage().has_channel(uri);
            row.filter(|_| !known).map(|row| row.1.to_owned())
        }
        _ => None,
    }
}

fn bid(draw: &mut ConversationDraw, kinds: &[ChannelKind]) -> Option<ActionBid> {
    let kind = *draw.dice.pick(kinds)?;
    let channels = draw.channels(kind);
    // In 30 percent of the cases, the newest channel is chosen.
    let last = channels.last().filter(|_| draw.dice.chance(30)).cloned();
    let (uri, state) = last.or_else(|| draw.dice.pick(&channels).cloned())?;
    let rows = draw.protocol.actions();
    let rows = rows.filter(|row| row.channel == kind && row.dispatch == DispatchRight::Client);
    let names: Vec<String> = rows.map(|row| row.action_type.clone()).collect();
    bid_on(draw, kind, uri, state, &names)
}

fn bid_on(
    draw: &mut ConversationDraw,
    kind: ChannelKind,
    uri: String,
    state: Value,
    names: &[String],
) -> Option<ActionBid> {
    let mut last = None;
    let mut hearers = hearers(draw, &uri);
    if hearers.is_empty() && draw.dice.chance(90) {
        // Usually, the client that dispatches is subscribed to the channel.
        let by = draw.somebody()?;
        follow(draw, &by, &uri)?;
        hearers = vec![by];
    }
    // In 16 percent of the cases, the first generated action is used even if the stage rejects it.
    let tries = if draw.dice.chance(16) { 1 } else { TRIES };
    for _ in 0..tries {
        let hearer = draw.dice.pick(&hearers).filter(|_| draw.dice.clone().chance(88)).cloned();
        let by = hearer.or_else(|| draw.somebody())?;
        let (client, conn) = draw.connection(&by)?;
        let name = draw.dice.pick(names)?.clone();
        let (uri, state) = (uri.clone(), state.clone());
        let mut bid = ActionBid { by, client, uri, kind, state, action: Value::Null };
        bid.action = drawn(draw, &bid, &name)?;
        let taken = draw.stage().host().would_take(conn, &bid.client, &bid.uri, &bid.action);
        last = Some(bid);
        if taken {
            break;
        }
    }
    last
}

/// Returns the connected clients that are subscribed to a channel.
fn hearers(draw: &ConversationDraw, uri: &str) -> Vec<String> {
    let mut present = draw.present();
    present.retain(|name| {
        draw.stage().client(name).is_some_and(|(client, _)| client.is_subscribed(uri))
    });
    present
}
