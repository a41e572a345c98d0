//! Moves that subscribe to visible, unknown, removed and telemetry channels, and moves that unsubscribe.
//!
//! Knows: the stage, the rules of `subscribe`. Never knows: other requests.
//!
//! Start at [`subscribe`].

use crate::wire::json::json;

use super::builder::ConversationBuilder;
use super::rules;
use super::step_result::{ActionLogEntry, ClientStepResult};

/// Subscribes a client to a channel.
pub fn follow(builder: &mut ConversationBuilder, by: &str, uri: &str) -> Option<ActionLogEntry> {
    subscription(builder, by, uri, "legal")
}

/// The telemetry channels of the reference host.
const TELEMETRY: &[&str] = &[
    "ahp-otlp://logs?level=trace",
    "ahp-otlp://logs?level=info",
    "ahp-otlp://logs?level=error",
    "ahp-otlp://traces",
    "ahp-otlp://metrics",
];

/// Subscribes to a telemetry channel, or unsubscribes from such a channel.
pub fn listen(builder: &mut ConversationBuilder) -> Option<ActionLogEntry> {
    if !builder.conditions.reference {
        return None;
    }
    let by = builder.somebody()?;
    let uri = *builder.dice.pick(TELEMETRY)?;
    let (engine, _) = builder.stage().client(&by)?;
    if engine.is_subscribed(uri) && builder.dice.chance(60) {
        builder.act(json!({"unsubscribe": {"by": by, "channel": uri}}), |_, _| None)?;
        builder.put(json!({"request": {"by": by, "method": "ping"}}))?;
        builder.put(json!({"never": {
            "at": by, "channel": uri, "method": "otlp/exportLogs", "proves": "telemetry.unsubscribe",
        }}))?;
        return Some(("unsubscribe".to_owned(), "telemetry", ClientStepResult::Nothing));
    }
    let params = json!({"channel": uri});
    let step = json!({"subscribe": {"by": by, "channel": params["channel"], "result": true}});
    let came = builder.act(step, |_, _| Some("telemetry.subscribe-empty".to_owned()))?;
    Some(("subscribe".to_owned(), "telemetry", came))
}

/// Subscribes a client to a channel, or unsubscribes a client from a channel.
pub fn subscribe(builder: &mut ConversationBuilder) -> Option<ActionLogEntry> {
    let by = builder.somebody()?;
    let all: Vec<String> = builder.uris();
    let (engine, _) = builder.stage().client(&by)?;
    let held: Vec<String> = engine.subscriptions().map(str::to_owned).collect();
    let missing: Vec<String> = all.iter().filter(|uri| !held.contains(uri)).cloned().collect();
    match builder.dice.below(10) {
        0 | 1 => {
            let uri = builder.dice.pick(&held)?.clone();
            let channel = builder.named(&json!(uri))?;
            builder.act(json!({"unsubscribe": {"by": by, "channel": channel}}), |_, _| None)?;
            let stays = builder.stage().has_channel(&uri);
            if all.contains(&uri) && !stays && builder.dice.chance(70) {
                // The channel had no other subscriber, so the host removed it.
                return subscription(builder, &by, &uri, "unknown-channel");
            }
            return Some(("unsubscribe".to_owned(), "legal", ClientStepResult::Nothing));
        }
        2 => {
            let gone = builder.gone();
            let uri = builder.dice.pick(&gone).cloned();
            let uri = uri.unwrap_or_else(|| "ahp-session:/nowhere".to_owned());
            return subscription(builder, &by, &uri, "unknown-channel");
        }
        3 | 4 => {
            let uri = builder.dice.pick(&held)?.clone();
            return subscription(builder, &by, &uri, "again");
        }
        _ => {}
    }
    // The newest channel is preferred, because fewer steps have tested it.
    let last = missing.last().filter(|_| builder.dice.clone().chance(40)).cloned();
    let uri = last.or_else(|| builder.dice.pick(&missing).cloned())?;
    subscription(builder, &by, &uri, "legal")
}

/// Subscribes a client to a channel. The log entry has this deviation, or `legal`.
pub(super) fn subscription(
    builder: &mut ConversationBuilder,
    by: &str,
    uri: &str,
    deviation: &'static str,
) -> Option<ActionLogEntry> {
    let channel = builder.named(&json!(uri))?;
    let mut params = json!({});
    match builder.dice.below(6) {
        0 | 1 if uri.starts_with("ahp-chat:") => params["view"] = json!({"turns": 1}),
        2 | 3 => params["delivery"] = json!({"maxLatencyMs": 200}),
        _ => {}
    }
    let mut step = json!({"subscribe": {
        "by": by, "channel": channel.clone(), "result": true, "error": true,
    }});
    if params != json!({}) {
        step["subscribe"]["params"] = params;
    }
    let exists = builder.stage().has_channel(uri);
    let came = builder.act(step, |came, builder| match came {
        // On another host, an error is expected only if it is certain that there is no such channel.
        ClientStepResult::Error(_) if exists && !builder.conditions.reference => None,
        ClientStepResult::Error(code) => {
            rules::of_request("subscribe", Some(*code)).map(str::to_owned)
        }
        ClientStepResult::Result(result) if result["snapshot"].is_object() => {
            rules::of_request("subscribe", None).map(str::to_owned)
        }
        _ => None,
    })?;
    if let ClientStepResult::Result(_) = &came {
        builder.wants(json!({"snapshot": {"resource": channel}}));
    }
    Some(("subscribe".to_owned(), deviation, came))
}
