//! Moves about connections (connecting, dropping, reconnecting), and malformed frames.
//!
//! Knows: the handshake, JSON-RPC. Never knows: the expected responses (the stage decides them).
//!
//! Start at [`come_and_go`] and [`raw`].

use crate::wire::channel::{ChannelKind, ROOT};
use crate::wire::json::{Value, json};

use super::draft_step::members_mut;
use super::draw::ConversationDraw;
use super::restarts;
use super::step_result::{ActionLogEntry, ClientStepResult};
use crate::run::plan::HostRestarts;

/// The first identifier of raw requests. It is far above the identifiers of other requests, which clients count up.
const OWN_IDS: usize = 9_000;

fn told(name: &str, deviation: &'static str, came: ClientStepResult) -> Option<ActionLogEntry> {
    Some((name.to_owned(), deviation, came))
}

/// Drops or reconnects a client, or restarts the host.
pub fn come_and_go(draw: &mut ConversationDraw) -> Option<ActionLogEntry> {
    let away: Vec<String> = draw
        .clients
        .iter()
        .filter(|name| {
            let known = draw.stage().client(name).is_some_and(|(it, _)| it.version().is_some());
            known && draw.connection(name).is_none()
        })
        .cloned()
        .collect();
    if let Some(name) = draw.dice.pick(&away).cloned()
        && draw.dice.chance(75)
    {
        return back(draw, &name);
    }
    let by = draw.somebody()?;
    if draw.dice.chance(12) && draw.conditions.restarts != HostRestarts::Never {
        return restarts::restart(draw);
    }
    if draw.dice.chance(15) {
        // All clients drop at the same time.
        let present = draw.present();
        draw.act(json!({"drop": {"by": present}}), |_, _| None)?;
        draw.pause();
        for name in present {
            back(draw, &name)?;
        }
        return told("drop", "everybody", ClientStepResult::Nothing);
    }
    draw.act(json!({"drop": {"by": by}}), |_, _| None)?;
    if draw.dice.chance(50) {
        back(draw, &by)
    } else {
        told("drop", "legal", ClientStepResult::Nothing)
    }
}

/// Reconnects a client, with the `reconnect` params that follow from its state or with other values.
fn back(draw: &mut ConversationDraw, name: &str) -> Option<ActionLogEntry> {
    let mut members = json!({"by": name});
    let mut deviation = "legal";
    match draw.dice.below(8) {
        0 => {
            members["lastSeen"] = json!(0);
            deviation = "old-number";
        }
        1 => {
            members["lastSeen"] = json!(99_999);
            deviation = "future-number";
        }
        2 => {
            let all: Vec<String> = draw.uris();
            let one = draw.dice.pick(&all)?.clone();
            members["subscriptions"] = json!([draw.named(&json!(one))?, "ahp-session:/nowhere"]);
            deviation = "other-channels";
        }
        _ => {}
    }
    let restarted = draw.steps.iter().any(|step| step.get("restart").is_some());
    let came = draw.act(json!({"reconnect": members}), |_, _| None)?;
    let replays = matches!(&came, ClientStepResult::Result(result) if result["type"] == "replay");
    if deviation == "future-number" && !restarted {
        let last = draw.steps.last_mut().and_then(members_mut)?;
        last.insert("snapshot", json!({}));
        last.insert("proves", json!("reconnect.lastseen-future"));
    }
    if deviation == "other-channels" && replays {
        let last = draw.steps.last_mut().and_then(members_mut)?;
        last.insert("replay", json!({"missing": ["ahp-session:/nowhere"]}));
        last.insert("proves", json!("reconnect.missing.disposed"));
    }
    told("reconnect", deviation, ClientStepResult::Result(Value::Null))
}

/// Makes a client stop reading while another client continues.
pub fn dawdle(draw: &mut ConversationDraw) -> Option<ActionLogEntry> {
    let by = draw.somebody()?;
    let others: Vec<String> = draw.present().into_iter().filter(|it| *it != by).collect();
    let other = draw.dice.pick(&others)?.clone();
    let sessions = draw.channels(ChannelKind::Session);
    let channel = draw.named(&json!(draw.dice.clone().pick(&sessions)?.0))?;
    draw.put(json!({"pause": {"by": by}}))?;
    for _ in 0..1 + draw.dice.below(4) {
        let title = format!("title {}", draw.number());
        let action = json!({"type": "session/titleChanged", "title": title});
        draw.put(json!({"dispatch": {"by": other, "channel": channel, "action": action}}))?;
    }
    draw.put(json!({"resume": {"by": by}}))?;
    draw.barrier(&by)?;
    told("pause", "legal", ClientStepResult::Nothing)
}

/// Connects a client that was not connected before, and lets it join the session.
pub fn join(draw: &mut ConversationDraw) -> Option<ActionLogEntry> {
    let absent: Vec<String> = draw
        .clients
        .iter()
        .filter(|it| draw.stage().client(it).is_none_or(|(client, _)| client.version().is_none()))
        .cloned()
        .collect();
    let by = draw.dice.pick(&absent)?.clone();
    if is_there(draw, "session") && is_there(draw, "chat") {
        let root = draw.dice.chance(50);
        draw.act(json!({"open": {"by": by, "root": root}}), |_, _| None)?;
    } else {
        draw.put(json!({"connect": {"by": by}}))?;
        draw.act(json!({"initialize": {"by": by, "subscribe": [ROOT]}}), |_, _| None)?;
    }
    told("initialize", "legal", ClientStepResult::Result(Value::Null))
}

/// Returns whether a name is bound to an existing channel.
fn is_there(draw: &ConversationDraw, name: &str) -> bool {
    let uri = draw.stage().bindings().get(name).and_then(Value::as_str);
    uri.is_some_and(|uri| draw.stage().has_channel(uri))
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
pub fn offer(draw: &mut ConversationDraw) -> Option<ActionLogEntry> {
    let absent: Vec<String> = draw
        .clients
        .iter()
        .filter(|it| {
            draw.stage()
                .client(it)
                .is_none_or(|(client, conn)| client.version().is_none() && conn.is_none())
        })
        .cloned()
        .collect();
    let by = draw.dice.pick(&absent)?.clone();
    draw.put(json!({"connect": {"by": by}}))?;
    for _ in 0..draw.dice.below(3) {
        early(draw, &by)?;
    }
    let (name, versions, rule) = draw.dice.pick(OFFERS)?;
    let step =
        json!({"initialize": {"by": by, "versions": versions, "result": true, "error": true}});
    let came = draw.act(step, |_, _| Some((*rule).to_owned()))?;
    match &came {
        ClientStepResult::Result(result) => {
            draw.wants(json!({"protocolVersion": result["protocolVersion"]}));
            for name in ["session", "chat"] {
                if is_there(draw, name) && draw.dice.chance(75) {
                    draw.put(json!({"subscribe": {"by": by, "channel": format!("${{{name}}}")}}));
                }
            }
        }
        ClientStepResult::Error(-32005) => {
            let last = draw.steps.last_mut().and_then(members_mut)?;
            let data = json!({"supportedVersions": {"$type": "array"}});
            last.insert("error", json!({"code": -32005, "data": data}));
            draw.put(
                json!({"closed": {"at": by, "proves": "lifecycle.version.unsupported-close"}}),
            );
        }
        _ => {}
    }
    told("initialize", name, came)
}

/// Sends a request or a raw frame before the handshake.
fn early(draw: &mut ConversationDraw, by: &str) -> Option<ActionLogEntry> {
    const EARLY: &[(&str, &str)] = &[
        ("ping", "ping.before-initialize"),
        ("listSessions", "lifecycle.preinit.request-refused"),
        ("subscribe", "lifecycle.preinit.request-refused"),
        ("createSession", "lifecycle.preinit.request-refused"),
    ];
    if draw.dice.chance(30) {
        return raw_from(draw, by);
    }
    let (method, rule) = *draw.dice.pick(EARLY)?;
    let channel = if method == "createSession" { "ahp-session:/${new early}" } else { ROOT };
    let came = draw.act(json!({"request": {
        "by": by, "method": method, "params": {"channel": channel}, "result": true, "error": true,
    }}), |_, _| Some(rule.to_owned()))?;
    told(method, "before-handshake", came)
}

/// Sends a second `initialize` on a connection.
pub fn again(draw: &mut ConversationDraw) -> Option<ActionLogEntry> {
    let by = draw.somebody()?;
    let step = json!({"initialize": {"by": by, "result": true, "error": true}});
    let came = draw.act(step, |_, _| Some("lifecycle.initialize.second-call".to_owned()))?;
    told("initialize", "again", came)
}

/// A raw frame: its name, a function that creates it, and the requirement about the response. The requirement is an
/// empty string if no response is certain.
type RawFrameRow = (&'static str, fn(&mut ConversationDraw, usize) -> Value, &'static str);

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
        |draw, _| json!({"size": if draw.dice.chance(50) { 5_000_000 } else { 70_000 }}),
        "",
    ),
    (
        "side-channel",
        |draw, id| {
            let sessions = draw.channels(ChannelKind::Session);
            let all = sessions.iter().map(|(_, state)| state.to_string()).collect::<String>();
            let found =
                all.split('"').find(|text| text.starts_with("mcp:") || text.contains("mcp-"));
            let channel =
                found.and_then(|uri| draw.named(&json!(uri))).unwrap_or(json!("mcp:/nowhere"));
            let method = draw.dice.pick(&["tools/list", "tools/call", "prompts/list"]).copied();
            json!({"json": {
                "jsonrpc": "2.0", "id": id, "method": method, "channel": channel.clone(),
                "params": {"channel": channel},
            }})
        },
        "mcp.unadvertised-rejected",
    ),
    ("deep", |draw, _| json!({"depth": if draw.dice.chance(50) { 16 } else { 100_000 }}), ""),
    ("flood", |_, _| json!({"flood": 40_000_000}), ""),
    ("numberless", |draw, _| dispatch(draw, json!({})), ""),
    ("half-number", |draw, _| dispatch(draw, json!({"clientSeq": 1.5})), ""),
    (
        "forged-origin",
        |draw, id| {
            let origin = json!({"clientId": "somebody-else", "clientSeq": 1});
            dispatch(draw, json!({"clientSeq": id, "origin": origin}))
        },
        "",
    ),
];

/// Returns a frame that dispatches a new title of a session. The members `more` are added to its params.
fn dispatch(draw: &mut ConversationDraw, more: Value) -> Value {
    let sessions = draw.channels(ChannelKind::Session);
    let uri = draw.dice.pick(&sessions).map_or(json!("ahp-session:/nowhere"), |it| json!(it.0));
    let channel = draw.named(&uri).unwrap_or(json!("ahp-session:/nowhere"));
    let title = format!("raw {}", draw.number());
    let mut params =
        json!({"channel": channel, "action": {"type": "session/titleChanged", "title": title}});
    for (name, value) in more.as_object().into_iter().flatten() {
        params[&**name] = value.clone();
    }
    json!({"json": {"jsonrpc": "2.0", "method": "dispatchAction", "params": params}})
}

/// Sends a random raw frame.
pub fn raw(draw: &mut ConversationDraw) -> Option<ActionLogEntry> {
    let by = draw.somebody()?;
    raw_from(draw, &by)
}

/// Sends the raw frame with this name.
pub fn raw_called(draw: &mut ConversationDraw, name: &str) -> Option<ActionLogEntry> {
    let by = draw.somebody()?;
    let row = RAW.iter().find(|(known, ..)| *known == name)?;
    raw_of(draw, &by, row)
}

fn raw_from(draw: &mut ConversationDraw, by: &str) -> Option<ActionLogEntry> {
    let row = draw.dice.pick(RAW)?;
    raw_of(draw, by, row)
}

fn raw_of(draw: &mut ConversationDraw, by: &str, row: &RawFrameRow) -> Option<ActionLogEntry> {
    let (name, make, rule) = *row;
    if ["oversized", "deep", "flood"].contains(&name) && !draw.conditions.aggressive {
        return None;
    }
    let id = OWN_IDS + draw.number();
    let mut frame = make(draw, id);
    let sent = frame.pointer("/json/id").cloned();
    frame["by"] = json!(by);
    if name == "shared-id" {
        // Every other client has an open request with the same identifier.
        for other in draw.present().into_iter().filter(|other| other != by) {
            let mut same = frame.clone();
            same["by"] = json!(other);
            draw.put(json!({"send": same}))?;
        }
    }
    // No client may receive the envelope of a dispatch without a valid `clientSeq`.
    let title = frame.pointer("/json/params/action/title").cloned();
    let unheard = title.filter(|_| name.ends_with("number") || name == "numberless");
    let watched = unheard.filter(|_| draw.present().iter().any(|it| it == by));
    if let Some(title) = &watched {
        draw.put(json!({"never": {
            "at": by, "type": "session/titleChanged", "where": {"action": {"title": title}},
            "proves": "dispatch.missing-clientseq",
        }}));
    }
    let came = draw.act(json!({"send": frame}), |_, _| None)?;
    if watched.is_some() {
        draw.barrier(by);
    }
    let id = sent.unwrap_or(json!("$absent"));
    let certain = !rule.is_empty() && draw.is_quiet();
    if certain {
        answer(draw, by, &id, &came, rule);
    } else if rule.is_empty() && draw.connection(by).is_some() {
        // After any frame, the host has to serve this connection.
        draw.act(
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
    draw: &mut ConversationDraw,
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
    draw.put(json!({"answer": members}))?;
    Some(())
}
