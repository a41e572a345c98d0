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

use super::builder::ConversationBuilder;
use super::deviate::DEVIATIONS;
use super::draft_step::{members_mut, minted};
use super::generated_action::{ActionBid, generated};
use super::rules::UNKNOWN_CHANNELS;
use super::step_result::{ActionLogEntry, ClientStepResult};
use super::subscribe::follow;

/// The maximum number of attempts to generate an action that the stage accepts.
const TRIES: usize = 8;
/// The percentage of actions with a deviation.
const DEVIANT: usize = 35;

/// Dispatches an action on a channel of one of these kinds. Returns the log entry: the type of the action, the
/// deviation and the result.
pub fn dispatch(
    builder: &mut ConversationBuilder,
    kinds: &[ChannelKind],
) -> Option<ActionLogEntry> {
    let bid = bid(builder, kinds)?;
    deviating(builder, bid, DEVIANT)
}

fn deviating(
    builder: &mut ConversationBuilder,
    mut bid: ActionBid,
    deviant: usize,
) -> Option<ActionLogEntry> {
    let mut deviation = "legal";
    if builder.dice.chance(deviant) {
        for _ in 0..TRIES {
            let (name, deviate) = builder.dice.pick(DEVIATIONS)?;
            if deviate(builder, &mut bid).is_some() {
                deviation = name;
                break;
            }
        }
    }
    send(builder, &bid, deviation)
}

/// Dispatches an action of one of these types on one of these channels. `deviant` is the percentage of actions
/// with a deviation.
pub fn dispatch_on(
    builder: &mut ConversationBuilder,
    kind: ChannelKind,
    channels: &[(String, Value)],
    names: &[&str],
    deviant: usize,
) -> Option<ActionLogEntry> {
    let (uri, state) = builder.dice.pick(channels)?.clone();
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let bid = bid_on(builder, kind, uri, state, &names)?;
    deviating(builder, bid, deviant)
}

/// The actions that start an agent's work. If no agent plays scripts, these actions are not dispatched, because their
/// effects would be unknown.
const STARTS: [&str; 3] =
    ["chat/turnStarted", "chat/pendingMessageSet", "automation/createRequested"];

fn send(
    builder: &mut ConversationBuilder,
    bid: &ActionBid,
    deviation: &'static str,
) -> Option<ActionLogEntry> {
    let names = builder.names();
    let (channel, action) = (names.symbolic(&json!(bid.uri))?, names.symbolic(&bid.action)?);
    let name = bid.action["type"].as_str().unwrap_or_default().to_owned();
    if builder.conditions.agent.is_none() && STARTS.contains(&name.as_str()) {
        return None;
    }
    let mut step = json!({"dispatch": {"by": bid.by, "channel": channel, "action": action}});
    let decision = bid.action.get("toolCallId").is_some() || bid.action.get("requestId").is_some();
    let again = builder.dice.chance(if decision { 22 } else { 6 });
    if again {
        step["dispatch"]["as"] = json!(format!("seq{}", builder.number()));
    }
    let came = builder.act(step.clone(), |came, builder| rule(&bid.uri, &name, came, builder))?;
    if came == ClientStepResult::Rejected && builder.dice.chance(40) {
        says_why(builder);
    }
    if again {
        repeat(builder, &step, &bid.uri, &name);
    }
    Some((name, deviation, came))
}

/// If the last step expects a rejection, also expects that the host states a reason.
fn says_why(builder: &mut ConversationBuilder) {
    let Some(step) = builder.steps.last_mut().and_then(members_mut) else { return };
    if step.remove("refused").is_some() {
        step.insert("reject", json!({"rejectionReason": {"$matches": ".+"}}));
    }
}

/// Dispatches the same action again, either with a new `clientSeq` or with the previous `clientSeq`.
fn repeat(builder: &mut ConversationBuilder, step: &Value, uri: &str, name: &str) {
    // The second dispatch uses the identifiers that the first dispatch created.
    let mut again = minted(step);
    if let Some(members) = members_mut(&mut again) {
        let seq = members.remove("as");
        if let Some(seq) = seq.filter(|_| builder.dice.chance(50)) {
            let seq = seq.as_str().unwrap_or_default();
            members.insert("clientSeq", json!(format!("${{{seq}}}")));
            // The always-on checks judge a reused `clientSeq`, so no outcome is expected here.
            builder.act(again, |_, _| None);
            return;
        }
    }
    builder.act(again, |came, builder| rule(uri, name, came, builder));
}

fn rule(
    uri: &str,
    name: &str,
    came: &ClientStepResult,
    builder: &ConversationBuilder,
) -> Option<String> {
    match came {
        ClientStepResult::Accepted => {
            Some(format!("dispatch.table.client.{}", name.replace('/', ".")))
        }
        ClientStepResult::Rejected => {
            Some(builder.stage().host().refused_by().to_owned()).filter(|rule| !rule.is_empty())
        }
        ClientStepResult::Nothing => {
            let row = UNKNOWN_CHANNELS.iter().find(|(start, _)| uri.starts_with(start));
            let known = builder.stage().has_channel(uri);
            row.filter(|_| !known).map(|row| row.1.to_owned())
        }
        _ => None,
    }
}

fn bid(builder: &mut ConversationBuilder, kinds: &[ChannelKind]) -> Option<ActionBid> {
    let kind = *builder.dice.pick(kinds)?;
    let channels = builder.channels(kind);
    // In 30 percent of the cases, the newest channel is chosen.
    let last = channels.last().filter(|_| builder.dice.chance(30)).cloned();
    let (uri, state) = last.or_else(|| builder.dice.pick(&channels).cloned())?;
    let rows = builder.protocol.actions();
    let rows = rows.filter(|row| row.channel == kind && row.dispatch == DispatchRight::Client);
    let names: Vec<String> = rows.map(|row| row.action_type.clone()).collect();
    bid_on(builder, kind, uri, state, &names)
}

fn bid_on(
    builder: &mut ConversationBuilder,
    kind: ChannelKind,
    uri: String,
    state: Value,
    names: &[String],
) -> Option<ActionBid> {
    let mut last = None;
    let mut hearers = hearers(builder, &uri);
    if hearers.is_empty() && builder.dice.chance(90) {
        // Usually, the client that dispatches is subscribed to the channel.
        let by = builder.somebody()?;
        follow(builder, &by, &uri)?;
        hearers = vec![by];
    }
    // In 16 percent of the cases, the first generated action is used even if the stage rejects it.
    let tries = if builder.dice.chance(16) { 1 } else { TRIES };
    for _ in 0..tries {
        let hearer =
            builder.dice.pick(&hearers).filter(|_| builder.dice.clone().chance(88)).cloned();
        let by = hearer.or_else(|| builder.somebody())?;
        let (client, conn) = builder.connection(&by)?;
        let name = builder.dice.pick(names)?.clone();
        let (uri, state) = (uri.clone(), state.clone());
        let mut bid = ActionBid { by, client, uri, kind, state, action: Value::Null };
        bid.action = generated(builder, &bid, &name)?;
        let taken = builder.stage().host().would_take(conn, &bid.client, &bid.uri, &bid.action);
        last = Some(bid);
        if taken {
            break;
        }
    }
    last
}

/// Returns the connected clients that are subscribed to a channel.
fn hearers(builder: &ConversationBuilder, uri: &str) -> Vec<String> {
    let mut present = builder.present();
    present.retain(|name| {
        builder.stage().client(name).is_some_and(|(client, _)| client.is_subscribed(uri))
    });
    present
}
