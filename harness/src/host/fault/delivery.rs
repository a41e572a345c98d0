//! Faults in delivery: fan-out, subscriptions, channels.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use super::FaultPart::Message;
use super::parts::{
    LostEnvelope, LostRequest, accepted, action_name, channel_of, is_root, is_root_news, number_of,
    remove,
};
use super::sequence::DeliveryCount;
use crate::host::chain::{
    MessageLink, MessagePassage, MessageRewriter, RewriterOutput, subject_of,
};
use crate::transcript::ConnId;
use crate::wire::channel::{ChannelKind, ROOT};
use crate::wire::json::{Value, json};

fault_table![
    FanoutSkipsSecondClient(
        "fanout-skips-second-client",
        "Every third envelope is not sent to the second subscriber of its channel.",
        Message(|| Box::<SecondSubscriberSkipped>::default()),
    ),
    DeliversToUnsubscribed(
        "delivers-to-unsubscribed",
        "A chat's actions also reach every subscriber of its session.",
        Message(|| Box::<ChatsForSessions>::default()),
    ),
    SessionsMixed(
        "sessions-mixed",
        "The actions of a session reach the subscribers of every other session.",
        Message(|| Box::new(SessionsMixed)),
    ),
    RootNotifiesEverybody(
        "root-notifies-everybody",
        "Notifications of the root channel reach connections that are not subscribed to it.",
        Message(|| Box::new(RootNewsForAll)),
    ),
    RootNewsToFirst(
        "root-news-to-first",
        "Only the first subscriber of the root channel is notified about sessions.",
        Message(|| Box::new(RootNewsForFirst)),
    ),
    DeliversAfterUnsubscribe(
        "delivers-after-unsubscribe",
        "`unsubscribe` is ignored.",
        Message(|| { Box::new(LostRequest(|_, message| message["method"] == "unsubscribe")) }),
    ),
    SubscribeNotLive(
        "subscribe-not-live",
        "A subscription gets its snapshot, but no actions.",
        Message(|| Box::<DeadSubscriptions>::default()),
    ),
    ReconnectNotLive(
        "reconnect-not-live",
        "A `reconnect` is answered, but resumes no subscription.",
        Message(|| Box::<DeadReconnects>::default()),
    ),
    SlowReadersLose(
        "slow-readers-lose",
        "Every third frame that waits for a client that does not read is dropped.",
        Message(|| Box::<SlowReadersLose>::default()),
    ),
    WatchOutlives(
        "watch-outlives",
        "A watch without subscribers is not removed.",
        Message(|| Box::<WatchesKept>::default()),
    ),
    WrongFamilyChannel(
        "wrong-family-channel",
        "`chat/usage` and `chat/reasoning` are sent on the channel of the session, or on the root channel in versions \
         without chats.",
        Message(|| Box::<StrayActions>::default()),
    ),
    CrossingActionsLost(
        "crossing-actions-lost",
        "If the actions of two clients arrive within two milliseconds, the first client does not get the second action.",
        Message(|| Box::<CrossingActionsLost>::default()),
    ),
    DeltaLost(
        "delta-lost",
        "About every other text delta is applied but not sent.",
        Message(|| Box::new(DeltaLost)),
    ),
    RootListsSilent(
        "root-lists-silent",
        "Changes of the root's lists of agents and terminals are not sent.",
        Message(|| {
            Box::new(LostEnvelope(|envelope| {
                matches!(action_name(envelope), "agentsChanged" | "terminalsChanged")
            }))
        }),
    ),
];

/// A fault that skips the second subscriber of a channel for every third envelope.
#[derive(Default)]
struct SecondSubscriberSkipped(DeliveryCount);

impl MessageRewriter for SecondSubscriberSkipped {
    fn on_host_message(&mut self, _: &MessageLink<'_>, message: Value, out: &mut RewriterOutput) {
        let number = accepted(&message).map(number_of);
        let skipped = number.is_some_and(|it| self.0.before(it) == 1 && it.is_multiple_of(3));
        if !skipped {
            out.send(message);
        }
    }
}

/// Two actions of different clients count as crossing if the host receives them within this time.
pub(super) const CROSSING: Duration = Duration::from_millis(2);

/// A fault that withholds the second of two crossing actions from the client that sent the first action.
#[derive(Default)]
struct CrossingActionsLost {
    /// The connection that sent the latest action, and the time.
    last: Option<(ConnId, Duration)>,
    /// The crossing actions that are not sent to a connection, each with the connection and the channel.
    lost: Vec<(ConnId, Value, Value)>,
}

impl MessageRewriter for CrossingActionsLost {
    fn on_client_message(
        &mut self,
        link: &MessageLink<'_>,
        message: &mut Value,
        _: &mut RewriterOutput,
    ) -> MessagePassage {
        if message["method"] == "dispatchAction" {
            let params = &message["params"];
            let (now, last) = (link.now, self.last.replace((link.conn, link.now)));
            if let Some((first, at)) = last.filter(|(first, _)| *first != link.conn)
                && now < at + CROSSING
                && self.lost.len() < MAX_CROSSING
            {
                self.lost.push((first, params["channel"].clone(), params["action"].clone()));
            }
        }
        MessagePassage::Onward
    }

    fn on_host_message(
        &mut self,
        link: &MessageLink<'_>,
        message: Value,
        out: &mut RewriterOutput,
    ) {
        let is_lost = |(conn, channel, action): &(ConnId, Value, Value)| {
            let envelope = accepted(&message);
            *conn == link.conn
                && envelope.is_some_and(|it| it["channel"] == *channel && it["action"] == *action)
        };
        match self.lost.iter().position(is_lost) {
            Some(place) => drop(self.lost.remove(place)),
            None => out.send(message),
        }
    }
}

/// The maximum number of crossing actions that are remembered until they are withheld.
const MAX_CROSSING: usize = 64;

/// A fault that also sends the actions of a session to the subscribers of all other sessions.
struct SessionsMixed;

impl MessageRewriter for SessionsMixed {
    fn on_host_message(
        &mut self,
        link: &MessageLink<'_>,
        message: Value,
        out: &mut RewriterOutput,
    ) {
        let session = |uri: &str| uri.starts_with("ahp-session:");
        if let Some(channel) = accepted(&message).map(channel_of).filter(|uri| session(uri)) {
            let mut hearers = link.seen.connections.iter().filter(|(_, it)| it.hears(channel));
            if hearers.next().is_some_and(|(first, _)| *first == link.conn) {
                for (conn, other) in &link.seen.connections {
                    let any = other.subscriptions.iter().any(|uri| session(uri));
                    if any && !other.hears(channel) {
                        out.send_to(*conn, message.clone());
                    }
                }
            }
        }
        out.send(message);
    }
}

/// A fault that also sends a chat's actions to every subscriber of the chat's session.
#[derive(Default)]
struct ChatsForSessions {
    /// The session of each chat, as far as messages have shown it.
    sessions: HashMap<String, String>,
}

impl MessageRewriter for ChatsForSessions {
    fn on_host_message(
        &mut self,
        link: &MessageLink<'_>,
        message: Value,
        out: &mut RewriterOutput,
    ) {
        learn_chats(&message, &mut self.sessions);
        let chat = accepted(&message).map(channel_of);
        if let Some(session) = chat.and_then(|chat| self.sessions.get(chat))
            && let Some(chat) = chat
        {
            let mut hearers = link.seen.connections.iter().filter(|(_, it)| it.hears(chat));
            if hearers.next().is_some_and(|(first, _)| *first == link.conn) {
                for (conn, other) in &link.seen.connections {
                    if other.hears(session) && !other.hears(chat) {
                        out.send_to(*conn, message.clone());
                    }
                }
            }
        }
        out.send(message);
    }
}

/// Returns whether a connection is the first subscriber of the root channel.
fn is_first_at_root(link: &MessageLink<'_>) -> bool {
    let mut all = link.seen.connections.iter();
    let first = all.find(|(_, it)| it.subscriptions.iter().any(|uri| is_root(uri)));
    first.is_none_or(|(conn, _)| *conn == link.conn)
}

/// A fault that sends notifications of the root channel also to connections that are not subscribed to the root
/// channel.
struct RootNewsForAll;

impl MessageRewriter for RootNewsForAll {
    fn on_host_message(
        &mut self,
        link: &MessageLink<'_>,
        message: Value,
        out: &mut RewriterOutput,
    ) {
        if is_root_news(&message) && is_first_at_root(link) {
            for (conn, other) in &link.seen.connections {
                let same = other.protocol.is_some_and(|it| std::ptr::eq(it, link.protocol));
                let deaf = !other.subscriptions.iter().any(|uri| is_root(uri));
                if *conn != link.conn && other.client.is_some() && same && deaf {
                    out.send_to(*conn, message.clone());
                }
            }
        }
        out.send(message);
    }
}

/// A fault that sends notifications of the root channel only to the first subscriber.
struct RootNewsForFirst;

impl MessageRewriter for RootNewsForFirst {
    fn on_host_message(
        &mut self,
        link: &MessageLink<'_>,
        message: Value,
        out: &mut RewriterOutput,
    ) {
        if !is_root_news(&message) || is_first_at_root(link) {
            out.send(message);
        }
    }
}

/// Returns the channel of a notification, on which subscribers receive it; `None` for other messages.
fn heard_on(message: &Value) -> Option<&str> {
    if message.get("id").is_some() || message.get("method").is_none() {
        return None;
    }
    match accepted(message) {
        Some(envelope) => Some(channel_of(envelope)),
        None if message["method"] == "action" => None,
        None => message["params"]["channel"].as_str(),
    }
}

/// A fault that answers `subscribe` and then delivers nothing on the channel.
#[derive(Default)]
struct DeadSubscriptions(HashSet<(ConnId, String)>);

impl MessageRewriter for DeadSubscriptions {
    fn edit_client_message(
        &mut self,
        link: &MessageLink<'_>,
        message: &mut Value,
    ) -> Option<Value> {
        if message["method"] == "subscribe"
            && let Some(channel) = subject_of(&message["params"])
            && link.own().is_some_and(|own| !own.hears(channel))
        {
            self.0.insert((link.conn, channel.to_owned()));
        }
        None
    }

    fn on_host_message(
        &mut self,
        link: &MessageLink<'_>,
        message: Value,
        out: &mut RewriterOutput,
    ) {
        let dead = |uri: &str| self.0.contains(&(link.conn, uri.to_owned()));
        if !heard_on(&message).is_some_and(dead) {
            out.send(message);
        }
    }
}

/// A fault that drops each text delta with an even `serverSeq` for all clients. With this fault, the host merges no
/// deliveries, so that all clients lose the same deltas.
struct DeltaLost;

impl MessageRewriter for DeltaLost {
    fn edit_client_message(&mut self, _: &MessageLink<'_>, message: &mut Value) -> Option<Value> {
        if message["method"] == "subscribe"
            && let Some(params) = message.get_mut("params")
        {
            remove(params, "delivery");
        }
        None
    }

    fn on_host_message(
        &mut self,
        link: &MessageLink<'_>,
        message: Value,
        out: &mut RewriterOutput,
    ) {
        let lost = |envelope: &Value| {
            action_name(envelope) == "delta" && number_of(envelope).is_multiple_of(2)
        };
        LostEnvelope(lost).on_host_message(link, message, out);
    }
}

/// For each connection, the channels on which the fault delivers nothing until the client sends the next `subscribe`.
#[derive(Default)]
pub(super) struct LostChannels(HashMap<ConnId, HashSet<String>>);

impl LostChannels {
    /// Stops delivery on all subscriptions of a connection.
    pub(super) fn lose(&mut self, link: &MessageLink<'_>) {
        let subscriptions = link.own().map(|own| own.subscriptions.clone()).unwrap_or_default();
        self.0.insert(link.conn, subscriptions.into_iter().collect());
    }

    /// Returns whether a message of the host is on a channel on which the fault delivers nothing.
    pub(super) fn takes(&mut self, link: &MessageLink<'_>, message: &Value) -> bool {
        let Some(lost) = self.0.get_mut(&link.conn) else {
            return false;
        };
        if let Some(channel) = link.subscribed() {
            lost.remove(channel);
        }
        heard_on(message).is_some_and(|channel| lost.contains(channel))
    }
}

/// A fault that answers `reconnect` and delivers nothing on the channels that the response names until the client sends
/// the next `subscribe`.
#[derive(Default)]
struct DeadReconnects(LostChannels);

impl MessageRewriter for DeadReconnects {
    fn on_host_message(
        &mut self,
        link: &MessageLink<'_>,
        message: Value,
        out: &mut RewriterOutput,
    ) {
        if link.answers == Some("reconnect") && message.get("result").is_some() {
            self.0.lose(link);
        }
        if !self.0.takes(link, &message) {
            out.send(message);
        }
    }
}

/// A fault that drops every third frame to a client that has stopped reading.
#[derive(Default)]
struct SlowReadersLose(HashMap<ConnId, u64>);

impl MessageRewriter for SlowReadersLose {
    fn on_host_message(
        &mut self,
        link: &MessageLink<'_>,
        message: Value,
        out: &mut RewriterOutput,
    ) {
        if !link.own().is_some_and(|own| own.held) {
            self.0.remove(&link.conn);
            return out.send(message);
        }
        let unread = self.0.entry(link.conn).or_default();
        *unread += 1;
        if !unread.is_multiple_of(3) {
            out.send(message);
        }
    }
}

/// A fault that continues a resource watch after its last subscriber has unsubscribed.
#[derive(Default)]
struct WatchesKept(HashSet<(ConnId, String)>);

impl MessageRewriter for WatchesKept {
    fn on_client_message(
        &mut self,
        link: &MessageLink<'_>,
        message: &mut Value,
        _: &mut RewriterOutput,
    ) -> MessagePassage {
        let channel = subject_of(&message["params"]).unwrap_or("");
        let place = (link.conn, channel.to_owned());
        match message["method"].as_str() {
            Some("unsubscribe")
                if ChannelKind::of_uri(channel) == Some(ChannelKind::ResourceWatch) =>
            {
                self.0.insert(place);
                return MessagePassage::Stopped;
            }
            Some("subscribe") => {
                self.0.remove(&place);
            }
            _ => {}
        }
        MessagePassage::Onward
    }

    fn on_host_message(
        &mut self,
        link: &MessageLink<'_>,
        message: Value,
        out: &mut RewriterOutput,
    ) {
        let left = |uri: &str| self.0.contains(&(link.conn, uri.to_owned()));
        if !heard_on(&message).is_some_and(left) {
            out.send(message);
        }
    }
}

/// A fault that sends `chat/usage` and `chat/reasoning` on the parent channel of the chat: on the session, or on the
/// root channel in versions in which the session itself contains the turns.
#[derive(Default)]
struct StrayActions {
    /// The session of each chat, as far as messages have shown it.
    sessions: HashMap<String, String>,
}

impl MessageRewriter for StrayActions {
    fn on_host_message(
        &mut self,
        link: &MessageLink<'_>,
        mut message: Value,
        out: &mut RewriterOutput,
    ) {
        learn_chats(&message, &mut self.sessions);
        let sessions = &self.sessions;
        super::parts::each_envelope(&mut message, &mut |envelope| {
            if matches!(action_name(envelope), "usage" | "reasoning") {
                stray(link, sessions, envelope);
            }
        });
        out.send(message);
    }
}

fn stray(link: &MessageLink<'_>, sessions: &HashMap<String, String>, envelope: &mut Value) {
    let chat = channel_of(envelope).to_owned();
    let is_chat = ChannelKind::of_uri(&chat) == Some(ChannelKind::Chat);
    let above = match sessions.get(&chat) {
        Some(session) => session.clone(),
        None if is_chat => return,
        None => lowered_root(link).to_owned(),
    };
    if envelope.get("channel").is_some() {
        envelope["channel"] = json!(above);
    }
    if let Some(session) = envelope["action"].get_mut("session") {
        *session = json!(above);
    }
}

/// Returns the URI of the root channel as a connection's version spells it.
fn lowered_root(link: &MessageLink<'_>) -> &'static str {
    use crate::wire::feature::ProtocolFeature;
    match link.protocol.has(ProtocolFeature::Channels) {
        true => ROOT,
        false => crate::wire::channel::OLD_ROOT,
    }
}

/// Records to which session each chat belongs that a message names.
fn learn_chats(message: &Value, sessions: &mut HashMap<String, String>) {
    let mut note = |session: &Value, chat: &Value| {
        if let Some((session, chat)) = session.as_str().zip(chat.as_str()) {
            sessions.insert(chat.to_owned(), session.to_owned());
        }
    };
    let result = &message["result"];
    let list = result["snapshots"].as_array().into_iter().flatten();
    for snapshot in list.chain(result.get("snapshot")) {
        for chat in snapshot["state"]["chats"].as_array().into_iter().flatten() {
            note(&snapshot["resource"], &chat["resource"]);
        }
    }
    let replayed = result["actions"].as_array().into_iter().flatten();
    for envelope in replayed.chain(accepted(message)) {
        if envelope["action"]["type"] == "session/chatAdded" {
            note(&envelope["channel"], &envelope["action"]["summary"]["resource"]);
        }
    }
}
