//! The requirements for the outcomes of steps, in tables by the name of the action, the method or the deviation. An
//! outcome without a row is not expected.
//!
//! Knows: ids of the ledger. Never knows: the generation of steps.

use crate::wire::channel::ChannelKind;
use crate::wire::json::{Value, json};

/// Error codes that the specification assigns to one reason: if the reason applies, the error has to have this
/// code.
pub const FIXED_CODES: [i64; 10] =
    [-32700, -32601, -32001, -32003, -32005, -32007, -32008, -32009, -32010, -32011];

/// The requirement that a step cites if no other requirement covers an action of the reference host.
pub const LIVE: &str = "subscribe.live-after-response";

/// The events of a turn that conversations wait for on every host.
pub const TURN_EVENTS: [&str; 6] = [
    "chat/turnComplete",
    "chat/turnCancelled",
    "chat/error",
    "chat/toolCallReady",
    "chat/toolCallComplete",
    "chat/inputRequested",
];

/// The actions of the host that a conversation waits for, each with the requirement that demands the action.
pub const EVENTS: &[(&str, &str)] = &[
    ("chat/turnStarted", "chat.queue.consume-after-turn"),
    ("chat/turnComplete", LIVE),
    ("chat/turnCancelled", "chat.turn.cancel"),
    ("chat/error", LIVE),
    ("chat/toolCallReady", LIVE),
    ("chat/toolCallComplete", LIVE),
    ("chat/inputRequested", LIVE),
    ("chat/pendingMessageRemoved", LIVE),
    ("chat/usage", LIVE),
    ("chat/toolCallAuthRequired", "chat.tool.lifecycle-legal"),
    ("session/ready", LIVE),
    ("session/changesetsChanged", LIVE),
    ("session/mcpServerStateChanged", "session.customizations.mcp.state-machine"),
    ("session/customizationUpdated", "session.customizations.client-plugin-propagated"),
    ("terminal/data", "terminal.input.forwarded"),
    ("terminal/commandFinished", "terminal.command.pairing"),
    ("changeset/operationStatusChanged", "changeset.operation.status"),
    ("changeset/statusChanged", LIVE),
    ("automationRun/lifecycleChanged", "automation.run.lifecycle"),
    ("automation/set", "automation.create.set"),
    ("resourceWatch/changed", "watch.recursive"),
    ("session/chatAdded", "chat.create.added-before-response"),
    ("session/chatRemoved", LIVE),
    ("session/chatsReordered", "chat.move.same-session-order"),
    ("session/activeClientRemoved", LIVE),
    ("root/sessionAdded", "root.sessionAdded.emitted"),
    ("root/sessionRemoved", "root.sessionRemoved.emitted"),
    ("root/progress", LIVE),
    ("terminal/exited", "terminal.exited"),
    ("automationRun/primarySessionChanged", "automation.run.primary-member"),
    ("chat/activityChanged", LIVE),
    ("session/activityChanged", "session.activity.mirror"),
    ("chat/backgroundWorkSet", LIVE),
    ("chat/backgroundWorkRemoved", "chat.backgroundWork.active-only"),
    ("chat/canvasesChanged", LIVE),
    ("canvas/stateChanged", LIVE),
    ("otlp/exportLogs", "telemetry.payload"),
    ("otlp/exportTraces", "telemetry.payload"),
    ("otlp/exportMetrics", "telemetry.payload"),
    ("auth/required", "auth.notification.shape"),
];

/// Returns the part of a channel's state that a new subscriber has to see once the host is idle: `true` stands for a
/// member, a list is exact or has `$contains`, and `$or` marks a member that may be missing.
pub fn shown(kind: ChannelKind) -> Value {
    match kind {
        ChannelKind::Session => json!({
            "activity": {"$or": true},
            "activeClients": {"$contains": [{"clientId": true}]},
            "chats": {"$contains": [{
                "resource": true, "origin": {"kind": true, "chat": true, "toolCallId": true},
                "activity": {"$or": true}, "movable": {"$or": true},
            }]},
            "origin": {"kind": true, "automation": true, "run": true},
            "changesets": {"$contains": [{"changeKind": true}]},
        }),
        ChannelKind::Chat => json!({
            "turns": [{"id": true, "state": true}],
            "activeTurn": {"$or": {
                "id": true,
                "responseParts": {"$contains": [{"toolCall": {"toolCallId": true, "status": true}}]},
            }},
            "activity": {"$or": true},
            "backgroundWork": [{"kind": true, "label": true}],
            "canvases": [{"title": true}],
            "queuedMessages": [{"id": true}],
            "steeringMessage": {"id": true},
            "origin": {
                "kind": true, "chat": true, "turnId": true, "selection": {"text": true},
            },
        }),
        ChannelKind::Terminal => json!({
            "lifecycle": {"status": true}, "claim": true, "cols": true, "rows": true,
            "content": [{"type": true, "commandLine": true}],
        }),
        ChannelKind::Automations => json!({
            "entries": {"$contains": [{
                "resource": true, "definition": true, "runCount": true,
                "runs": [{"resource": true, "lifecycle": {"status": true}}],
            }]},
        }),
        ChannelKind::AutomationRun => json!({
            "automation": true, "origin": {"kind": true}, "lifecycle": {"status": true},
            "sessions": true, "primarySession": true,
        }),
        ChannelKind::Changeset => json!({
            "status": true,
            "files": {"$contains": [{"id": true, "reviewed": true}]},
            "operations": {"$contains": [{"id": true, "status": true}]},
        }),
        ChannelKind::Annotations => json!({
            "annotations": [{
                "id": true, "resolved": true, "resource": true, "range": true,
                "entries": [{"id": true, "text": true}],
            }],
        }),
        ChannelKind::ResourceWatch => json!({
            "root": true, "recursive": true, "excludes": true, "includes": true,
        }),
        ChannelKind::Root => json!({"terminals": {"$contains": [{"resource": true}]}}),
        _ => json!({}),
    }
}

/// Returns the additional part that only the reference host guarantees: the messages of its agent, its tools, and ready
/// sessions.
pub fn shown_by_reference(kind: ChannelKind) -> Value {
    match kind {
        ChannelKind::Session => json!({
            "lifecycle": true,
            "origin": {"kind": true, "automation": true, "run": true},
            "chats": [{
                "resource": true, "origin": {"kind": true, "chat": true, "toolCallId": true},
                "activity": {"$or": true}, "movable": {"$or": true},
            }],
            "customizations": {"$contains": [{
                "name": true, "clientId": true, "load": {"kind": true},
                "children": {"$contains": [{
                    "name": true, "enabled": true, "state": {"kind": true}, "mcpApp": {"$or": {}},
                }]},
            }]},
        }),
        ChannelKind::Chat => json!({
            "origin": {"kind": true, "selection": {"text": true}},
            "turns": [{
                "id": true, "state": true,
                "responseParts": {"$contains": [{"kind": true, "content": true}]},
            }],
        }),
        ChannelKind::Terminal => {
            json!({"content": [{"type": true, "commandLine": true, "output": true, "value": true}]})
        }
        ChannelKind::Canvas => json!({"url": {"$or": true}, "title": true}),
        ChannelKind::Changeset => {
            json!({"files": {"$contains": [{"id": true, "reviewed": {"$or": true}}]}})
        }
        _ => json!({}),
    }
}

/// The requirements for the outcomes of requests: the method, which may end with `*`, the error code, and the
/// requirement. The code is `None` for a result and 0 for any other error. The first matching row counts.
pub const REQUESTS: &[(&str, Option<i64>, &str)] = &[
    ("createSession", None, "session.create.success"),
    ("createSession", Some(-32003), "session.create.duplicate"),
    ("createSession", Some(-32002), "session.create.unknown-provider"),
    ("createSession", Some(-32007), "auth.required.error-code"),
    ("createSession", Some(0), "session.create.bad-uri"),
    ("disposeSession", None, "session.dispose.success"),
    ("disposeSession", Some(-32001), "session.dispose.unknown"),
    ("createChat", None, "chat.create.success"),
    ("createChat", Some(0), "chat.create.source.unknown-chat"),
    ("disposeChat", None, "chat.dispose.success"),
    ("moveChat", None, "chat.move.result"),
    ("moveChat", Some(0), "chat.move.validate-first"),
    ("createTerminal", None, "terminal.create.success"),
    ("createTerminal", Some(0), "terminal.create.claim-foreign"),
    ("disposeTerminal", None, "terminal.dispose.success"),
    ("disposeTerminal", Some(0), "terminal.dispose.unknown"),
    ("subscribe", None, "subscribe.snapshot-state-bearing"),
    ("subscribe", Some(0), "subscribe.unknown-resource"),
    ("listSessions", None, "root.listSessions.result-shape"),
    ("listSessions", Some(0), "root.listSessions.cursor-unknown"),
    ("fetchTurns", None, "chat.fetchTurns.loaded-before-response"),
    ("fetchTurns", Some(-32602), "chat.fetchTurns.unknown-cursor"),
    ("authenticate", None, "auth.authenticate.success"),
    ("authenticate", Some(0), "auth.authenticate.unknown-resource"),
    ("resourceRead", None, "resource.read.text"),
    ("resourceRead", Some(-32008), "resource.read.not-found"),
    ("resourceRead", Some(-32009), "resource.permission.scope"),
    ("resourceRead", Some(0), "resource.containment.dotdot"),
    ("resourceWrite", None, "resource.write.truncate-default"),
    ("resourceWrite", Some(-32010), "resource.write.createOnly"),
    ("resourceWrite", Some(-32011), "resource.write.ifMatch-conflict"),
    ("resourceWrite", Some(-32009), "resource.request.read-not-write"),
    ("resourceCopy", Some(-32010), "resource.copy.failIfExists"),
    ("resourceMove", Some(-32010), "resource.move.failIfExists"),
    ("resourceMove", None, "resource.move.success"),
    ("resourceMkdir", Some(-32010), "resource.mkdir.file-exists"),
    ("resourceMkdir", None, "resource.mkdir.parents"),
    ("resourceDelete", Some(-32008), "resource.delete.missing"),
    ("resourceDelete", Some(0), "resource.delete.nonempty-directory"),
    ("resourceList", Some(-32009), "resource.permission.scope"),
    ("resourceList", Some(0), "resource.list.must-be-directory"),
    ("resourceResolve", Some(-32008), "resource.resolve.not-found"),
    ("resourceRequest", Some(-32009), "resource.request.denied"),
    ("resource*", Some(-32009), "resource.permission.scope"),
    ("resource*", Some(0), "resource.containment.dotdot"),
    ("createResourceWatch", None, "watch.create.uri"),
    ("createResourceWatch", Some(-32009), "watch.permission"),
    ("createResourceWatch", Some(0), "watch.missing-target"),
    ("invokeChangesetOperation", None, "changeset.operation.invoke"),
    ("invokeChangesetOperation", Some(0), "changeset.operation.bad-scope"),
    ("runAutomation", Some(0), "automation.run.unknown"),
    ("ping", None, "ping.response"),
];

/// Returns the requirement for the outcome of a request.
pub fn of_request(method: &str, code: Option<i64>) -> Option<&'static str> {
    let fits = |(name, outcome, _): &&(&str, Option<i64>, &str)| {
        let named = *name == method
            || name.strip_suffix('*').is_some_and(|start| method.starts_with(start));
        named && (*outcome == code || code.is_some() && *outcome == Some(0))
    };
    REQUESTS.iter().find(fits).map(|row| row.2)
}

/// The requirements that make a host ignore an action for an unknown channel, by the prefix of the channel's URI.
pub const UNKNOWN_CHANNELS: &[(&str, &str)] = &[
    ("ahp-session:", "dispatch.unknown-channel-ignored.session"),
    ("ahp-chat:", "dispatch.unknown-channel-ignored.chat"),
    ("", "dispatch.unknown-channel.other"),
];
