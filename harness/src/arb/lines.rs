//! Moves about connections (connecting, dropping, reconnecting), and malformed frames.
//!
//! Knows: the handshake, JSON-RPC. Never knows: the expected responses (the stage decides them).
//!
//! Start at [`come_and_go`] and [`raw`].

use crate::wire::channel::{ChannelKind, ROOT};
use crate::wire::json::{Value, json};

use super::builder::ConversationBuilder;
use super::draft_step::members_mut;
use super::restarts;
use super::step_result::{ActionLogEntry, ClientStepResult};
use crate::run::plan::HostRestarts;

/// The first identifier of raw requests. It is far above the identifiers of other requests, which clients count up.
const OWN_IDS: usize = 9_000;

fn told(name: &str, deviation: &'static str, came: ClientStepResult) -> Option<ActionLogEntry> {
    Some((name.to_owned(), deviation, came))
}

/// Drops or reconnects a client, or restarts the host.
pub fn come_and_go(builder: &mut ConversationBuilder) -> Option<ActionLogEntry> {
    let away: Vec<String> = builder
        .clients
        .iter()
        .filter(|name| {
            let known = builder.stage().client(name).is_some_and(|(it, _)| it.version().is_some());
            known && builder.connection(name).is_none()
        })
        .cloned()
        .collect();
    if let Some(name) = builder.dice.pick(&away).cloned()
        && builder.dice.chance(75)
    {
        return back(builder, &name);
    }
    let by = builder.somebody()?;
    if builder.dice.chance(12) && builder.conditions.restarts != HostRestarts::Never {
        return restarts::restart(builder);
    }
    if builder.dice.chance(15) {
        // All clients drop at the same time.
        let present = builder.present();
        builder.act(json!({"drop": {"by": present}}), |_, _| None)?;
        builder.pause();
        for name in present {
            back(builder, &name)?;
        }
        return told("drop", "everybody", ClientStepResult::Nothing);
    }
    builder.act(json!({"drop": {"by": by}}), |_, _| None)?;
    if builder.dice.chance(50) {
        back(builder, &by)
    } else {
        told("drop", "legal", ClientStepResult::Nothing)
    }
}

/// Reconnects a client, with the `reconnect` params that follow from its state or with other values.
fn back(builder: &mut ConversationBuilder, name: &str) -> Option<ActionLogEntry> {
    let mut members = json!({"by": name});
    let mut deviation = "legal";
    match builder.dice.below(8) {
        0 => {
            members["lastSeen"] = json!(0);
            deviation = "old-number";
        }
        1 => {
            members["lastSeen"] = json!(99_999);
            deviation = "future-number";
        }
        2 => {
            let all: Vec<String> = builder.uris();
            let one = builder.dice.pick(&all)?.clone();
            members["subscriptions"] = json!([builder.named(&json!(one))?, "ahp-session:/nowhere"]);
            deviation = "other-channels";
        }
        _ => {}
    }
    let restarted = builder.steps.iter().any(|step| step.get("restart").is_some());
    let came = builder.act(json!({"reconnect": members}), |_, _| None)?;
    let replays = matches!(&came, ClientStepResult::Result(result) if result["type"] == "replay");
    if deviation == "future-number" && !restarted {
        let last = builder.steps.last_mut().and_then(members_mut)?;
        last.insert("snapshot", json!({}));
        last.insert("proves", json!("reconnect.lastseen-future"));
    }
    if deviation == "other-channels" && replays {
        let last = builder.steps.last_mut().and_then(members_mut)?;
        last.insert("replay", json!({"missing": ["ahp-session:/nowhere"]}));
        last.insert("proves", json!("reconnect.missing.disposed"));
    }
    told("reconnect", deviation, ClientStepResult::Result(Value::Null))
}

/// Makes a client stop reading while another client continues.
pub fn dawdle(builder: &mut ConversationBuilder) -> Option<ActionLogEntry> {
    let by = builder.somebody()?;
    let others: Vec<String> = builder.present().into_iter().filter(|it| *it != by).collect();
    let other = builder.dice.pick(&others)?.clone();
    let sessions = builder.channels(ChannelKind::Session);
    let channel = builder.named(&json!(builder.dice.clone().pick(&sessions)?.0))?;
    builder.put(json!({"pause": {"by": by}}))?;
    for _ in 0..1 + builder.dice.below(4) {
        let title = format!("title {}", builder.number());
        let action = json!({"type": "session/titleChanged", "title": title});
        builder.put(json!({"dispatch": {"by": other, "channel": channel, "action": action}}))?;
    }
    builder.put(json!({"resume": {"by": by}}))?;
    builder.barrier(&by)?;
    told("pause", "legal", ClientStepResult::Nothing)
}

/// Connects a client that was not connected before, and lets it join the session.
pub fn join(builder: &mut ConversationBuilder) -> Option<ActionLogEntry> {
    let absent: Vec<String> = builder
        .clients
        .iter()
        .filter(|it| {
            builder.stage().client(it).is_none_or(|(client, _)| client.version().is_none())
        })
        .cloned()
        .collect();
    let by = builder.dice.pick(&absent)?.clone();
    if is_there(builder, "session") && is_there(builder, "chat") {
        let root = builder.dice.chance(50);
        builder.act(json!({"open": {"by": by, "root": root}}), |_, _| None)?;
    } else {
        builder.put(json!({"connect": {"by": by}}))?;
        builder.act(json!({"initialize": {"by": by, "subscribe": [ROOT]}}), |_, _| None)?;
    }
    told("initialize", "legal", ClientStepResult::Result(Value::Null))
}

/// Returns whether a name is bound to an existing channel.
fn is_there(builder: &ConversationBuilder, name: &str) -> bool {
    let uri = builder.stage().bindings().get(name).and_then(Value::as_str);
    uri.is_some_and(|uri| builder.stage().has_channel(uri))
}

/// The version offers of a handshake: the deviation, the offered versions, and the requirement.
const OFFERS: &[(&str, &[&str], &str)] = &[
    ("unknown-version", &["99.0.0"], "lifecycle.version.unsupported-error"),
    ("unknown-version", &["2.0.0", "0.0.1"], "lifecycle.version.unsupported-error"),
    ("empty-offer", &[], "lifecycle.version.empty-offer"),
    ("malformed-offer", &["one", "1.0"], "lifecycle.version.malformed-offer"),
    ("many-versions", &["0.9.0", "1.0.0"], "lifecycle.version.highest-in-range"),
    ("older-version", &["0.9.0"], "lifecycle.initialize.version-selected-from-offer"),
    ("older-version", &["0.9.0"], "lifecycle.initialize.version-selected-from-offer"),
    ("many-versions", &["99.0.0", "0.9.0"], "lifecycle.initialize.version-selected-from-offer"),
];

/// Performs the handshake of a new client with one of [`OFFERS`].
pub fn offer(builder: &mut ConversationBuilder) -> Option<ActionLogEntry> {
    let absent: Vec<String> = builder
        .clients
        .iter()
        .filter(|it| {
            builder
                .stage()
                .client(it)
                .is_none_or(|(client, conn)| client.version().is_none() && conn.is_none())
        })
        .cloned()
        .collect();
    let by = builder.dice.pick(&absent)?.clone();
    builder.put(json!({"connect": {"by": by}}))?;
    for _ in 0..builder.dice.below(3) {
        early(builder, &by)?;
    }
    let (name, versions, rule) = builder.dice.pick(OFFERS)?;
    let step =
        json!({"initialize": {"by": by, "versions": versions, "result": true, "error": true}});
    let came = builder.act(step, |_, _| Some((*rule).to_owned()))?;
    match &came {
        ClientStepResult::Result(result) => {
            builder.wants(json!({"protocolVersion": result["protocolVersion"]}));
            for name in ["session", "chat"] {
                if is_there(builder, name) && builder.dice.chance(75) {
                    builder
                        .put(json!({"subscribe": {"by": by, "channel": format!("${{{name}}}")}}));
                }
            }
        }
        ClientStepResult::Error(-32005) => {
            let last = builder.steps.last_mut().and_then(members_mut)?;
            let data = json!({"supportedVersions": {"$type": "array"}});
            last.insert("error", json!({"code": -32005, "data": data}));
            builder.put(
                json!({"closed": {"at": by, "proves": "lifecycle.version.unsupported-close"}}),
            );
        }
        _ => {}
    }
    told("initialize", name, came)
}

/// Sends a request or a raw frame before the handshake.
fn early(builder: &mut ConversationBuilder, by: &str) -> Option<ActionLogEntry> {
    const EARLY: &[(&str, &str)] = &[
        ("ping", "ping.before-initialize"),
        ("listSessions", "lifecycle.preinit.request-refused"),
        ("subscribe", "lifecycle.preinit.request-refused"),
        ("createSession", "lifecycle.preinit.request-refused"),
    ];
    if builder.dice.chance(30) {
        return raw_from(builder, by);
    }
    let (method, rule) = *builder.dice.pick(EARLY)?;
    let channel = if method == "createSession" { "ahp-session:/${new early}" } else { ROOT };
    let came = builder.act(json!({"request": {
        "by": by, "method": method, "params": {"channel": channel}, "result": true, "error": true,
    }}), |_, _| Some(rule.to_owned()))?;
    told(method, "before-handshake", came)
}

/// Sends a second `initialize` on a connection.
pub fn again(builder: &mut ConversationBuilder) -> Option<ActionLogEntry> {
    let by = builder.somebody()?;
    let step = json!({"initialize": {"by": by, "result": true, "error": true}});
    let came = builder.act(step, |_, _| Some("lifecycle.initialize.second-call".to_owned()))?;
    told("initialize", "again", came)
}

/// A raw frame: its name, a function that creates it, and the requirement about the response. The requirement is an
/// empty string if no response is certain.
type RawFrameRow = (&'static str, fn(&mut ConversationBuilder, usize) -> Value, &'static str);

const RAW: &[RawFrameRow] = &[
    ("not-json", |_, _| json!({"raw": "{\"jsonrpc\": \"2.0\", "}), "jsonrpc.parse-error"),
    ("not-json", |_, _| json!({"raw": "hello"}), "jsonrpc.parse-error"),
    ("scalar", |_, _| json!({"raw": "7"}), "jsonrpc.invalid-request"),
    (
        "batch",
        |_, id| {
            json!({"json": [
                {"jsonrpc": "2.0", "id": id, "method": "ping", "params": {"channel": ROOT}},
            ]})
        },
        "jsonrpc.batch",
    ),
    (
        "unknown-method",
        |_, id| {
            json!({"json": {
                "jsonrpc": "2.0", "id": id, "method": "x/later", "params": {"channel": ROOT},
            }})
        },
        "jsonrpc.method-not-found",
    ),
    (
        "wrong-case",
        |_, id| {
            json!({"json": {
                "jsonrpc": "2.0", "id": id, "method": "Ping", "params": {"channel": ROOT},
            }})
        },
        "jsonrpc.method-case-sensitive",
    ),
    (
        "wrong-tag",
        |_, id| {
            json!({"json": {
                "jsonrpc": "1.0", "id": id, "method": "ping", "params": {"channel": ROOT},
            }})
        },
        "jsonrpc.wrong-version-tag",
    ),
    (
        "text-id",
        |_, id| {
            json!({"json": {
                "jsonrpc": "2.0", "id": format!("text-{id}"), "method": "ping", "params": {"channel": ROOT},
            }})
        },
        "jsonrpc.id.string",
    ),
    (
        "big-id",
        |_, _| {
            json!({"json": {
                "jsonrpc": "2.0", "id": 9_007_199_254_740_991_u64, "method": "ping", "params": {"channel": ROOT},
            }})
        },
        "jsonrpc.id.integer-echo",
    ),
    (
        "shared-id",
        |_, _| {
            json!({"json": {
                "jsonrpc": "2.0", "id": 5_000, "method": "ping", "params": {"channel": ROOT},
            }})
        },
        "jsonrpc.id.integer-echo",
    ),
    ("unasked-answer", |_, id| json!({"json": {"jsonrpc": "2.0", "id": id, "result": {}}}), ""),
    (
        "extended",
        |_, id| {
            json!({"json": {
                "jsonrpc": "2.0", "id": id, "method": "ping", "params": {"channel": ROOT, "x-later": 1},
            }})
        },
        "jsonrpc.params.unknown-members",
    ),
    (
        "no-params",
        |_, id| {
            json!({"json": {
                "jsonrpc": "2.0", "id": id, "method": "subscribe", "params": {},
            }})
        },
        "jsonrpc.invalid-params.missing",
    ),
    (
        "unknown-notification",
        |_, _| {
            json!({"json": {
                "jsonrpc": "2.0", "method": "x/later", "params": {"channel": ROOT},
            }})
        },
        "",
    ),
    (
        "listed",
        |_, id| {
            json!({"json": {
                "jsonrpc": "2.0", "id": id, "method": "listSessions", "params": {"channel": ROOT},
            }})
        },
        "jsonrpc.response.exactly-one",
    ),
    ("binary", |_, _| json!({"binary": "{}"}), ""),
    (
        "oversized",
        |builder, _| json!({"size": if builder.dice.chance(50) { 5_000_000 } else { 70_000 }}),
        "",
    ),
    (
        "side-channel",
        |builder, id| {
            let sessions = builder.channels(ChannelKind::Session);
            let all = sessions.iter().map(|(_, state)| state.to_string()).collect::<String>();
            let found =
                all.split('"').find(|text| text.starts_with("mcp:") || text.contains("mcp-"));
            let channel =
                found.and_then(|uri| builder.named(&json!(uri))).unwrap_or(json!("mcp:/nowhere"));
            let method = builder.dice.pick(&["tools/list", "tools/call", "prompts/list"]).copied();
            json!({"json": {
                "jsonrpc": "2.0", "id": id, "method": method, "channel": channel.clone(),
                "params": {"channel": channel},
            }})
        },
        "mcp.unadvertised-rejected",
    ),
    ("deep", |builder, _| json!({"depth": if builder.dice.chance(50) { 16 } else { 100_000 }}), ""),
    ("flood", |_, _| json!({"flood": 40_000_000}), ""),
    ("numberless", |builder, _| dispatch(builder, json!({})), ""),
    ("half-number", |builder, _| dispatch(builder, json!({"clientSeq": 1.5})), ""),
    (
        "forged-origin",
        |builder, id| {
            let origin = json!({"clientId": "somebody-else", "clientSeq": 1});
            dispatch(builder, json!({"clientSeq": id, "origin": origin}))
        },
        "",
    ),
];

/// Returns a frame that dispatches a new title of a session. The members `more` are added to its params.
fn dispatch(builder: &mut ConversationBuilder, more: Value) -> Value {
    let sessions = builder.channels(ChannelKind::Session);
    let uri = builder.dice.pick(&sessions).map_or(json!("ahp-session:/nowhere"), |it| json!(it.0));
    let channel = builder.named(&uri).unwrap_or(json!("ahp-session:/nowhere"));
    let title = format!("raw {}", builder.number());
    let mut params =
        json!({"channel": channel, "action": {"type": "session/titleChanged", "title": title}});
    for (name, value) in more.as_object().into_iter().flatten() {
        params[&**name] = value.clone();
    }
    json!({"json": {"jsonrpc": "2.0", "method": "dispatchAction", "params": params}})
}

/// Sends a random raw frame.
pub fn raw(builder: &mut ConversationBuilder) -> Option<ActionLogEntry> {
    let by = builder.somebody()?;
    raw_from(builder, &by)
}

/// Sends the raw frame with this name.
pub fn raw_called(builder: &mut ConversationBuilder, name: &str) -> Option<ActionLogEntry> {
    let by = builder.somebody()?;
    let row = RAW.iter().find(|(known, ..)| *known == name)?;
    raw_of(builder, &by, row)
}

fn raw_from(builder: &mut ConversationBuilder, by: &str) -> Option<ActionLogEntry> {
    let row = builder.dice.pick(RAW)?;
    raw_of(builder, by, row)
}

fn raw_of(
    builder: &mut ConversationBuilder,
    by: &str,
    row: &RawFrameRow,
) -> Option<ActionLogEntry> {
    let (name, make, rule) = *row;
    if ["oversized", "deep", "flood"].contains(&name) && !builder.conditions.aggressive {
        return None;
    }
    let id = OWN_IDS + builder.number();
    let mut frame = make(builder, id);
    let sent = frame.pointer("/json/id").cloned();
    frame["by"] = json!(by);
    if name == "shared-id" {
        // Every other client has an open request with the same identifier.
        for other in builder.present().into_iter().filter(|other| other != by) {
            let mut same = frame.clone();
            same["by"] = json!(other);
            builder.put(json!({"send": same}))?;
        }
    }
    // No client may receive the envelope of a dispatch without a valid `clientSeq`.
    let title = frame.pointer("/json/params/action/title").cloned();
    let unheard = title.filter(|_| name.ends_with("number") || name == "numberless");
    let watched = unheard.filter(|_| builder.present().iter().any(|it| it == by));
    if let Some(title) = &watched {
        builder.put(json!({"never": {
            "at": by, "type": "session/titleChanged", "where": {"action": {"title": title}},
            "proves": "dispatch.missing-clientseq",
        }}));
    }
    let came = builder.act(json!({"send": frame}), |_, _| None)?;
    if watched.is_some() {
        builder.barrier(by);
    }
    let id = sent.unwrap_or(json!("$absent"));
    let certain = !rule.is_empty() && builder.is_quiet();
    if certain {
        answer(builder, by, &id, &came, rule);
    } else if rule.is_empty() && builder.connection(by).is_some() {
        // After any frame, the host has to serve this connection.
        builder.act(
            json!({"request": {
                "by": by, "method": "ping", "result": true, "proves": "security.no-crash-fuzz",
            }}),
            |_, _| None,
        )?;
    }
    told("raw", name, came)
}

/// Adds a step that expects the response to a raw frame.
fn answer(
    builder: &mut ConversationBuilder,
    by: &str,
    id: &Value,
    came: &ClientStepResult,
    rule: &str,
) -> Option<()> {
    let mut members = json!({"at": by, "id": id.clone(), "proves": rule});
    match came {
        ClientStepResult::Result(_) => members["result"] = json!(true),
        // If several errors apply, the host may choose the error that it reports.
        ClientStepResult::Error(-32008) => members["error"] = json!({"code": {"$type": "integer"}}),
        ClientStepResult::Error(code) if super::rules::FIXED_CODES.contains(code) => {
            members["error"] = json!({"code": code});
        }
        ClientStepResult::Error(_) => members["error"] = json!({"code": {"$type": "integer"}}),
        _ => return None,
    }
    builder.put(json!({"answer": members}))?;
    Some(())
}
