//! Faults in the results of `reconnect`, and in the actions after a snapshot.

use std::collections::VecDeque;

use super::FaultPart::{Host, Message};
use super::parts::{ResultFault, accepted, channel_of, is_root, is_root_news, number_of};
use crate::host::chain::{MessageLink, MessageRewriter, RewriterOutput, subject_of};
use crate::host::generic::ChangesReplies;
use crate::wire::channel::{ChannelKind, ROOT};
use crate::wire::json::{Value, json};
use crate::wire::version::Version;

fault_table![
    ReplaysBelowFromSeq(
        "replays-below-from-seq",
        "After a snapshot, the last envelope that it already includes is sent again.",
        Message(|| Box::<RepeatedBelowSnapshot>::default()),
    ),
    ReplayLeaksChannels(
        "replay-leaks-channels",
        "A replay contains envelopes of channels that the client did not list.",
        Message(|| Box::<LeakedEnvelopes>::default()),
    ),
    ReplayRepeatsLastSeen(
        "replay-repeats-last-seen",
        "A replay begins with the envelope that the client saw last.",
        Message(|| Box::<LastSeenRepeated>::default()),
    ),
    ReplayFutureEmpty(
        "replay-future-empty",
        "A `lastSeenServerSeq` that the host never reached is answered with an empty replay.",
        Message(|| Box::new(ResultFault("reconnect", empty_for_future))),
    ),
    ReplayPartialAfterOverflow(
        "replay-partial-after-overflow",
        "A client that missed actions from before the retained history gets only the retained \
         part of the replay.",
        Message(|| Box::<PartialReplay>::default()),
    ),
    TerminalsNotReplayed(
        "terminals-not-replayed",
        "A replay omits the actions on terminals.",
        Message(|| {
            Box::new(ResultFault("reconnect", |_, result| {
                let terminal = |envelope: &Value| {
                    ChannelKind::of_uri(channel_of(envelope)) == Some(ChannelKind::Terminal)
                };
                if let Some(actions) = actions_of(result) {
                    actions.retain(|envelope| !terminal(envelope));
                }
            }))
        }),
    ),
    ReplayLosesOne(
        "replay-loses-one",
        "A replay lacks its first envelope.",
        Message(|| {
            Box::new(ResultFault("reconnect", |_, result| {
                if let Some(actions) = actions_of(result).filter(|actions| !actions.is_empty()) {
                    actions.remove(0);
                }
            }))
        }),
    ),
    ReplayUnordered(
        "replay-unordered",
        "A replay is in reverse order.",
        Message(|| {
            Box::new(ResultFault("reconnect", |_, result| {
                if let Some(actions) = actions_of(result) {
                    actions.reverse();
                }
            }))
        }),
    ),
    ReplayAsNotifications(
        "replay-as-notifications",
        "Missed envelopes are sent after an empty replay.",
        Message(|| Box::new(ReplayAsNotifications)),
    ),
    MissingNotReported(
        "missing-not-reported",
        "The replay's `missing` is always empty.",
        Message(|| {
            Box::new(ResultFault("reconnect", |_, result| {
                if let Some(missing) = result.get_mut("missing").and_then(Value::as_array_mut) {
                    missing.clear();
                }
            }))
        }),
    ),
    MissingNamesRoot(
        "missing-names-root",
        "A replay names the root channel as missing.",
        Message(|| {
            Box::new(ResultFault("reconnect", |link, result| {
                let listens =
                    link.own().is_some_and(|own| own.subscriptions.iter().any(|uri| is_root(uri)));
                if let Some(missing) =
                    result.get_mut("missing").and_then(Value::as_array_mut).filter(|_| listens)
                {
                    missing.push(json!(ROOT));
                }
            }))
        }),
    ),
    NotificationsReplayed(
        "notifications-replayed",
        "After a reconnect every notification of the root channel is sent again.",
        Message(|| Box::<RootNewsRepeated>::default()),
    ),
    ZeroMeansNow(
        "zero-means-now",
        "A client that reconnects with `lastSeenServerSeq` 0 gets nothing.",
        Host(&ChangesReplies(&["reconnect"], |_, request, reply| {
            let first = request.call.params["lastSeenServerSeq"] == 0;
            reply.map(|mut result| {
                for list in ["actions", "snapshots"].into_iter().filter(|_| first) {
                    if result.get(list).is_some() {
                        result[list] = json!([]);
                    }
                }
                result
            })
        })),
    ),
    StrangersUnsubscribe(
        "strangers-unsubscribe",
        "A `reconnect` of an unknown client ends the subscriptions of all clients.",
        Host(&ChangesReplies(&["reconnect"], |host, _, reply| {
            if reply.is_err() {
                host.connections.unsubscribe_all();
            }
            reply
        })),
    ),
];

/// The maximum number of envelopes and notifications that are remembered.
const MAX_REMEMBERED: usize = 5_000;

fn actions_of(result: &mut Value) -> Option<&mut Vec<Value>> {
    result.get_mut("actions").and_then(Value::as_array_mut)
}

fn version_of(link: &MessageLink<'_>) -> Version {
    link.protocol.version()
}

/// Replaces the result of a `reconnect` by an empty replay if the client's `lastSeenServerSeq` is above the host's
/// current `serverSeq`.
fn empty_for_future(link: &MessageLink<'_>, result: &mut Value) {
    if last_seen(link).is_some_and(|seen| is_from_future(result, seen)) {
        *result = json!({"type": "replay", "actions": [], "missing": []});
    }
}

/// Returns whether a client's `lastSeenServerSeq` is above the host's current `serverSeq`, judged by the snapshots in
/// the answer to `reconnect`.
fn is_from_future(result: &Value, seen: u64) -> bool {
    let snapshots = result["snapshots"].as_array().into_iter().flatten();
    let reached = snapshots.filter_map(|snapshot| snapshot["fromSeq"].as_u64()).max();
    reached.is_some_and(|reached| seen > reached)
}

/// A fault that sends the replay as notifications and leaves the replay out of the response.
struct ReplayAsNotifications;

impl MessageRewriter for ReplayAsNotifications {
    fn on_host_message(
        &mut self,
        link: &MessageLink<'_>,
        mut message: Value,
        out: &mut RewriterOutput,
    ) {
        let answers = link.answers == Some("reconnect");
        let actions = message.get_mut("result").filter(|_| answers).and_then(actions_of);
        let actions = actions.map(std::mem::take).unwrap_or_default();
        out.send(message);
        for envelope in actions {
            out.send(json!({"jsonrpc": "2.0", "method": "action", "params": envelope}));
        }
    }
}

/// The envelopes sent to clients of each version, without duplicates.
#[derive(Default)]
struct EnvelopeLog(VecDeque<(Version, Value)>);

impl EnvelopeLog {
    fn note(&mut self, link: &MessageLink<'_>, message: &Value) {
        let replayed = message["result"]["actions"].as_array().into_iter().flatten();
        for envelope in replayed.chain(accepted(message)) {
            let number = number_of(envelope);
            let version = version_of(link);
            let place = self.0.partition_point(|(_, known)| number_of(known) < number);
            let mut same = self.0.iter().skip(place).take_while(|(_, it)| number_of(it) == number);
            if !same.any(|(known, _)| *known == version) {
                self.0.insert(place, (version, envelope.clone()));
            }
            if self.0.len() > MAX_REMEMBERED {
                self.0.pop_front();
            }
        }
    }

    /// Returns the envelopes of a connection's version, in the order of their `serverSeq`.
    fn of<'a>(&'a self, link: &MessageLink<'_>) -> impl Iterator<Item = &'a Value> {
        let version = version_of(link);
        self.0.iter().filter(move |(of, _)| *of == version).map(|(_, envelope)| envelope)
    }

    /// Returns the envelopes of a connection's version on channels to which the connection is subscribed.
    fn heard<'a>(&'a self, link: &'a MessageLink<'_>) -> impl Iterator<Item = &'a Value> {
        let hears = |channel| link.own().is_some_and(|own| own.hears(channel));
        self.of(link).filter(move |envelope| hears(channel_of(envelope)))
    }
}

/// A fault that repeats, after a snapshot, the last envelope that the snapshot already includes.
#[derive(Default)]
struct RepeatedBelowSnapshot(EnvelopeLog);

impl MessageRewriter for RepeatedBelowSnapshot {
    fn on_host_message(
        &mut self,
        link: &MessageLink<'_>,
        message: Value,
        out: &mut RewriterOutput,
    ) {
        self.0.note(link, &message);
        let subscribed = link.request.filter(|it| it["method"] == "subscribe");
        let channel = subscribed.and_then(|request| subject_of(&request["params"]));
        let channel = channel.filter(|_| message.get("result").is_some());
        out.send(message);
        if let Some(channel) = channel
            && let Some(last) = self.0.of(link).filter(|it| channel_of(it) == channel).last()
        {
            out.send(json!({"jsonrpc": "2.0", "method": "action", "params": last}));
        }
    }
}

/// Returns the `lastSeenServerSeq` of a client's `reconnect`; `None` for other requests.
fn last_seen(link: &MessageLink<'_>) -> Option<u64> {
    let request = link.request.filter(|it| it["method"] == "reconnect")?;
    request["params"]["lastSeenServerSeq"].as_u64()
}

/// A fault that includes the envelopes of every channel in a replay.
#[derive(Default)]
struct LeakedEnvelopes(EnvelopeLog);

impl MessageRewriter for LeakedEnvelopes {
    fn on_host_message(
        &mut self,
        link: &MessageLink<'_>,
        mut message: Value,
        out: &mut RewriterOutput,
    ) {
        self.0.note(link, &message);
        if let Some(seen) = last_seen(link)
            && let Some(actions) = message.get_mut("result").and_then(actions_of)
        {
            *actions = self.0.of(link).filter(|it| number_of(it) > seen).cloned().collect();
        }
        out.send(message);
    }
}

/// A fault that sends only the later half of a replay if the client has missed actions that are too old for a complete
/// replay.
#[derive(Default)]
struct PartialReplay(EnvelopeLog);

impl MessageRewriter for PartialReplay {
    fn on_host_message(
        &mut self,
        link: &MessageLink<'_>,
        mut message: Value,
        out: &mut RewriterOutput,
    ) {
        self.0.note(link, &message);
        if let Some(seen) = last_seen(link)
            && let Some(result) = message.get_mut("result").filter(|it| it["type"] == "snapshot")
            && !is_from_future(result, seen)
        {
            let missed = self.0.heard(link).filter(|it| number_of(it) > seen);
            let missed: Vec<Value> = missed.cloned().collect();
            let kept = missed[missed.len().div_ceil(2)..].to_vec();
            *result = json!({"type": "replay", "actions": kept, "missing": []});
        }
        out.send(message);
    }
}

/// A fault that begins a replay with the last envelope that the client has already seen.
#[derive(Default)]
struct LastSeenRepeated(EnvelopeLog);

impl MessageRewriter for LastSeenRepeated {
    fn on_host_message(
        &mut self,
        link: &MessageLink<'_>,
        mut message: Value,
        out: &mut RewriterOutput,
    ) {
        self.0.note(link, &message);
        if let Some(seen) = last_seen(link)
            && let Some(actions) = message.get_mut("result").and_then(actions_of)
        {
            let known = self.0.heard(link).filter(|it| number_of(it) <= seen);
            actions.splice(0..0, known.last().cloned());
        }
        out.send(message);
    }
}

/// A fault that repeats all notifications of the root channel after a `reconnect` that names this channel.
#[derive(Default)]
struct RootNewsRepeated(Vec<(Version, Value)>);

impl MessageRewriter for RootNewsRepeated {
    fn on_host_message(
        &mut self,
        link: &MessageLink<'_>,
        message: Value,
        out: &mut RewriterOutput,
    ) {
        let entry = (version_of(link), message.clone());
        if is_root_news(&message) && self.0.len() < MAX_REMEMBERED && !self.0.contains(&entry) {
            self.0.push(entry);
        }
        let back = link.answers == Some("reconnect") && message.get("result").is_some();
        out.send(message);
        if back && link.own().is_some_and(|own| own.subscriptions.iter().any(|uri| is_root(uri))) {
            let mine = self.0.iter().filter(|(version, _)| *version == version_of(link));
            mine.for_each(|(_, news)| out.send(news.clone()));
        }
    }
}
