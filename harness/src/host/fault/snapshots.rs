//! Faults in snapshots and in the results of `subscribe`.

use std::collections::HashMap;

use super::FaultPart::Message;
use super::parts::{
    SnapshotFault, action_name, channel_of, each_envelope, each_snapshot, newest_uri, remove,
};
use crate::host::PROVIDER;
use crate::host::chain::{MessageLink, MessageRewriter, RewriterOutput};
use crate::host::sessions;
use crate::wire::channel::ChannelKind;
use crate::wire::json::{Value, json};

fault_table![
    SnapshotFrozen(
        "snapshot-frozen",
        "Every `subscribe` is answered with the first snapshot that the host ever sent.",
        Message(|| Box::<FrozenSnapshot>::default()),
    ),
    SnapshotMissesField(
        "snapshot-misses-field",
        "Snapshots of sessions lack `lifecycle`, and snapshots of chats lack `turns`.",
        Message(|| {
            Box::new(SnapshotFault(|snapshot| {
                remove(&mut snapshot["state"], "lifecycle");
                remove(&mut snapshot["state"], "turns");
            }))
        }),
    ),
    ChatListedTwice(
        "chat-listed-twice",
        "Snapshots of sessions list their last chat twice.",
        Message(|| {
            Box::new(SnapshotFault(|snapshot| {
                if let Some(chats) =
                    snapshot.pointer_mut("/state/chats").and_then(Value::as_array_mut)
                {
                    chats.extend(chats.last().cloned());
                }
            }))
        }),
    ),
    ChatMisnamed(
        "chat-misnamed",
        "The state of a chat names another chat.",
        Message(|| {
            Box::new(SnapshotFault(|snapshot| {
                if snapshot.pointer("/state/turns").is_some() {
                    let other = format!("{}-other", snapshot["resource"].as_str().unwrap_or(""));
                    snapshot["state"]["resource"] = json!(other);
                }
            }))
        }),
    ),
    SnapshotWrongResource(
        "snapshot-wrong-resource",
        "A snapshot names another resource.",
        Message(|| {
            Box::new(SnapshotFault(|snapshot| {
                let wrong = format!("{}/", snapshot["resource"].as_str().unwrap_or(""));
                snapshot["resource"] = json!(wrong);
            }))
        }),
    ),
    SnapshotFutureFromSeq(
        "snapshot-future-from-seq",
        "The `fromSeq` of a snapshot is five too high.",
        Message(|| {
            Box::new(SnapshotFault(|snapshot| {
                let number = snapshot["fromSeq"].as_u64().unwrap_or(0);
                snapshot["fromSeq"] = json!(number + 5);
            }))
        }),
    ),
    WatchMisdescribed(
        "watch-misdescribed",
        "The state of a watch has the opposite value of `recursive`.",
        Message(|| {
            Box::new(SnapshotFault(|snapshot| {
                let watch = is_watch(snapshot);
                if let Some(recursive) = snapshot.pointer_mut("/state/recursive").filter(|_| watch)
                {
                    *recursive = json!(*recursive != true);
                }
            }))
        }),
    ),
    WatchShallow(
        "watch-shallow",
        "Every watch reports direct children only.",
        Message(|| Box::new(SilentRequest::of(&["recursive"]))),
    ),
    FiltersIgnored(
        "filters-ignored",
        "A watch reports all changes below its root, regardless of its filters.",
        Message(|| Box::new(SilentRequest::of(&["excludes", "includes"]))),
    ),
    CanvasUrlKept(
        "canvas-url-kept",
        "A canvas keeps its address after its extension has crashed.",
        Message(|| Box::<KeptUrls>::default()),
    ),
    SnapshotMissing(
        "snapshot-missing",
        "A subscribe to a channel with state is answered without a snapshot.",
        Message(|| {
            Box::new(SubscribeFault(|_, message| {
                if message.pointer("/result/snapshot").is_some() {
                    message["result"] = json!({});
                }
            }))
        }),
    ),
    TelemetryWithState(
        "telemetry-with-state",
        "A subscription to log records comes with a snapshot.",
        Message(|| {
            Box::new(SubscribeFault(|uri, message| {
                if uri.starts_with("ahp-otlp:")
                    && let Some(result) = message.get_mut("result")
                {
                    *result = json!({"snapshot": {"resource": uri, "state": {}, "fromSeq": 0}});
                }
            }))
        }),
    ),
    UnknownChannelFabricated(
        "unknown-channel-fabricated",
        "A `subscribe` to a session that does not exist returns an empty session.",
        Message(|| Box::new(FabricatedSessions)),
    ),
    CursorForEverybody(
        "cursor-for-everybody",
        "Chats that are sent as a whole have a cursor for older turns.",
        Message(|| {
            Box::new(SubscribeFault(|_, message| {
                if let Some(state) = message.pointer_mut("/result/snapshot/state")
                    && state.get("turns").is_some_and(Value::is_array)
                    && state.get("turnsNextCursor").is_none()
                {
                    state["turnsNextCursor"] = json!("turns-before ");
                }
            }))
        }),
    ),
];

fn is_watch(snapshot: &Value) -> bool {
    let kind = snapshot["resource"].as_str().and_then(ChannelKind::of_uri);
    kind == Some(ChannelKind::ResourceWatch)
}

/// Changes the responses to `subscribe`. The function receives the channel and the result.
struct SubscribeFault(fn(&str, &mut Value));

impl MessageRewriter for SubscribeFault {
    fn on_host_message(
        &mut self,
        link: &MessageLink<'_>,
        mut message: Value,
        out: &mut RewriterOutput,
    ) {
        if let Some(channel) = link.subscribed() {
            (self.0)(channel, &mut message);
        }
        out.send(message);
    }
}

/// A fault that lets clients subscribe to a session that does not exist.
struct FabricatedSessions;

impl MessageRewriter for FabricatedSessions {
    fn on_host_message(
        &mut self,
        link: &MessageLink<'_>,
        mut message: Value,
        out: &mut RewriterOutput,
    ) {
        let shaken = link.own().is_some_and(|own| own.client.is_some());
        if let Some(channel) =
            link.subscribed().filter(|_| shaken && message.get("error").is_some())
            && newest_uri(link, channel).starts_with("ahp-session:")
        {
            let state = sessions::empty_state(PROVIDER, false);
            let snapshot = json!({"resource": channel, "state": state, "fromSeq": 0});
            let result = json!({"snapshot": snapshot});
            message = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
        }
        out.send(message);
    }
}

/// A fault that replaces every snapshot by a copy of the first snapshot.
#[derive(Default)]
struct FrozenSnapshot(Option<Value>);

impl MessageRewriter for FrozenSnapshot {
    fn on_host_message(
        &mut self,
        _: &MessageLink<'_>,
        mut message: Value,
        out: &mut RewriterOutput,
    ) {
        each_snapshot(&mut message, &mut |snapshot| {
            *snapshot = self.0.get_or_insert_with(|| snapshot.clone()).clone();
        });
        out.send(message);
    }
}

/// A fault that keeps the address of a canvas after the canvas's extension has crashed: if a snapshot has no address,
/// the fault adds the last address, unless an action has removed this address.
#[derive(Default)]
struct KeptUrls(HashMap<String, Value>);

impl KeptUrls {
    fn keep(&mut self, channel: &str, canvas: &mut Value, from_action: bool) {
        if let Some(url) = canvas.get("url") {
            self.0.insert(channel.to_owned(), url.clone());
        } else if from_action {
            self.0.remove(channel);
        } else if let Some(url) = self.0.get(channel) {
            canvas["url"] = url.clone();
        }
    }
}

impl MessageRewriter for KeptUrls {
    fn on_host_message(
        &mut self,
        _: &MessageLink<'_>,
        mut message: Value,
        out: &mut RewriterOutput,
    ) {
        each_envelope(&mut message, &mut |envelope| {
            if action_name(envelope) == "stateChanged" {
                let channel = channel_of(envelope).to_owned();
                let canvas = envelope.pointer_mut("/action/canvas");
                canvas.into_iter().for_each(|canvas| self.keep(&channel, canvas, true));
            }
        });
        each_snapshot(&mut message, &mut |snapshot| {
            let channel = snapshot["resource"].as_str().unwrap_or("").to_owned();
            if ChannelKind::of_uri(&channel) == Some(ChannelKind::Canvas) {
                self.keep(&channel, &mut snapshot["state"], false);
            }
        });
        out.send(message);
    }
}

/// A fault that ignores some members of `createResourceWatch`, although the state of the watch contains their values.
struct SilentRequest {
    members: &'static [&'static str],
    /// The members that clients requested for each watch, by the URI of the watch.
    wanted: HashMap<String, Vec<(&'static str, Value)>>,
}

impl SilentRequest {
    fn of(members: &'static [&'static str]) -> SilentRequest {
        SilentRequest { members, wanted: HashMap::new() }
    }
}

impl MessageRewriter for SilentRequest {
    fn edit_client_message(&mut self, _: &MessageLink<'_>, message: &mut Value) -> Option<Value> {
        if message["method"] == "createResourceWatch"
            && let Some(params) = message.get_mut("params")
        {
            self.members.iter().for_each(|name| {
                remove(params, name);
            });
        }
        None
    }

    fn on_host_message(
        &mut self,
        link: &MessageLink<'_>,
        mut message: Value,
        out: &mut RewriterOutput,
    ) {
        if let Some(request) = link.request.filter(|_| link.answers == Some("createResourceWatch"))
            && let Some(channel) = message.pointer("/result/channel").and_then(Value::as_str)
        {
            let value = |name: &&'static str| Some((*name, request["params"].get(*name)?.clone()));
            let wanted = self.members.iter().filter_map(value).collect();
            self.wanted.insert(channel.to_owned(), wanted);
        }
        each_snapshot(&mut message, &mut |snapshot| {
            let wanted = snapshot["resource"].as_str().and_then(|uri| self.wanted.get(uri));
            for (name, value) in wanted.into_iter().flatten().filter(|(_, it)| !it.is_null()) {
                snapshot["state"][*name] = value.clone();
            }
        });
        out.send(message);
    }
}
