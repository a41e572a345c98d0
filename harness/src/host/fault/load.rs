//! Faults that can be observed only under load: when actions of two clients arrive at nearly the same time, with many
//! sessions, or when a client does not read for a while. `ahp-harness stress` finds these faults; scenarios do not have
//! to find them.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::Duration;

use super::FaultPart::Message;
use super::delivery::CROSSING;
use super::parts::{accepted, action_name, channel_of, each_snapshot, number_of};
use crate::host::chain::{MessageLink, MessagePassage, MessageRewriter, RewriterOutput};
use crate::transcript::ConnId;
use crate::wire::json::{Value, json};

fault_table![
    CrossingActionOvertaken(
        "crossing-action-overtaken",
        "If the actions of two clients arrive within two milliseconds, all subscribers after the fourth get the second \
         action after the next message.",
        Message(|| Box::<CrossingActionOvertaken>::default()),
    ),
    ReplayMissesCrossing(
        "replay-misses-crossing",
        "A replay for a client that comes back within twenty milliseconds after an action lacks this action.",
        Message(|| Box::<ReplayMissesCrossing>::default()),
    ),
    SessionsCollide(
        "sessions-collide",
        "With more than four sessions, every tenth action of a session also reaches the subscribers of another \
            session.",
        Message(|| Box::<SessionsCollide>::default()),
    ),
    CrossingActionsShareNumber(
        "crossing-actions-share-number",
        "If the actions of two clients arrive within two milliseconds, the second action gets a number that is one too \
         low.",
        Message(|| CrossingChange::boxed(share_number)),
    ),
    CrossingDecisionsWin(
        "crossing-decisions-win",
        "If two decisions on a call arrive within two milliseconds, the client of the second decision is told that its \
         decision was accepted.",
        Message(|| CrossingChange::boxed(let_decision_win)),
    ),
    SlowReaderStopsSession(
        "slow-reader-stops-session",
        "While a client does not read, no client that shares a channel with it receives anything.",
        Message(|| Box::<SlowReaderStopsSession>::default()),
    ),
    SnapshotBehindRename(
        "snapshot-behind-rename",
        "A snapshot within twenty milliseconds after a session was renamed has the previous title.",
        Message(|| Box::<SnapshotBehindRename>::default()),
    ),
    CrossingEchoLost(
        "crossing-echo-lost",
        "If the actions of two clients arrive within two milliseconds, the client of the second action gets no echo.",
        Message(|| CrossingChange::boxed(lose_echo)),
    ),
];

/// A snapshot or a replay crosses an action if the host sends it within this time after the action.
const CROSSING_READ: Duration = Duration::from_millis(20);
/// The maximum number of crossing actions that are remembered.
const MAX_CROSSING: usize = 256;

/// An action of a client, as the client dispatched it.
#[derive(Clone, PartialEq)]
struct CrossingDispatch {
    conn: ConnId,
    channel: Value,
    action: Value,
}

/// The actions that crossed an earlier action of another client.
#[derive(Default)]
struct CrossingActions {
    last: Option<(Duration, CrossingDispatch)>,
    seconds: VecDeque<CrossingDispatch>,
}

impl CrossingActions {
    /// Records an action in a message of a client.
    fn hear(&mut self, link: &MessageLink<'_>, message: &Value) {
        if message["method"] != "dispatchAction" {
            return;
        }
        let params = &message["params"];
        let (channel, action) = (params["channel"].clone(), params["action"].clone());
        let this = CrossingDispatch { conn: link.conn, channel, action };
        if let Some((at, first)) = self.last.replace((link.now, this.clone()))
            && link.now < at + CROSSING
            && first.conn != this.conn
            && first.channel == this.channel
        {
            self.seconds.push_back(this);
            if self.seconds.len() > MAX_CROSSING {
                self.seconds.pop_front();
            }
        }
    }

    /// Returns the client's dispatch that an envelope settles, if the dispatch crossed an earlier dispatch; otherwise
    /// `None`.
    fn second(&self, envelope: &Value) -> Option<&CrossingDispatch> {
        self.seconds
            .iter()
            .rev()
            .find(|it| it.channel == envelope["channel"] && it.action == envelope["action"])
    }
}

/// A fault that sends a crossing action after the next message, to all subscribers after the fourth subscriber.
#[derive(Default)]
struct CrossingActionOvertaken {
    crossing: CrossingActions,
    /// For each connection, the action that waits for the next message.
    waiting: HashMap<ConnId, Value>,
}

impl MessageRewriter for CrossingActionOvertaken {
    fn on_client_message(
        &mut self,
        link: &MessageLink<'_>,
        message: &mut Value,
        _: &mut RewriterOutput,
    ) -> MessagePassage {
        self.crossing.hear(link, message);
        MessagePassage::Onward
    }

    fn on_host_message(
        &mut self,
        link: &MessageLink<'_>,
        message: Value,
        out: &mut RewriterOutput,
    ) {
        let crosses = accepted(&message).is_some_and(|it| self.crossing.second(it).is_some());
        let waiting = self.waiting.remove(&link.conn);
        let is_late = |channel: &str| {
            let hearers = link.seen.connections.iter().filter(|(_, it)| it.hears(channel));
            hearers.take(4).all(|(conn, _)| *conn != link.conn)
        };
        if crosses && waiting.is_none() && accepted(&message).map(channel_of).is_some_and(is_late) {
            self.waiting.insert(link.conn, message);
            return;
        }
        out.send(message);
        waiting.into_iter().for_each(|waiting| out.send(waiting));
    }
}

/// A fault that leaves the newest action out of a replay.
#[derive(Default)]
struct ReplayMissesCrossing {
    /// The time at which the latest action arrived.
    latest: Option<Duration>,
    /// The connections whose `reconnect` crossed an action.
    crossed: Vec<ConnId>,
}

impl MessageRewriter for ReplayMissesCrossing {
    fn on_client_message(
        &mut self,
        link: &MessageLink<'_>,
        message: &mut Value,
        _: &mut RewriterOutput,
    ) -> MessagePassage {
        match message["method"].as_str() {
            Some("dispatchAction") => self.latest = Some(link.now),
            Some("reconnect") if self.latest.is_some_and(|at| link.now < at + CROSSING_READ) => {
                self.crossed.push(link.conn);
            }
            _ => {}
        }
        MessagePassage::Onward
    }

    fn on_host_message(
        &mut self,
        link: &MessageLink<'_>,
        mut message: Value,
        out: &mut RewriterOutput,
    ) {
        if link.answers == Some("reconnect")
            && let Some(place) = self.crossed.iter().position(|conn| *conn == link.conn)
        {
            self.crossed.swap_remove(place);
            let actions = message.get_mut("result").and_then(|result| result.get_mut("actions"));
            actions.and_then(Value::as_array_mut).map(Vec::pop);
        }
        out.send(message);
    }
}

/// A fault that delivers actions of a session to the subscribers of another session.
#[derive(Default)]
struct SessionsCollide {
    actions: u64,
    /// The `serverSeq` of the last action that was counted.
    last: u64,
}

impl MessageRewriter for SessionsCollide {
    fn on_host_message(
        &mut self,
        link: &MessageLink<'_>,
        message: Value,
        out: &mut RewriterOutput,
    ) {
        let is_session = |uri: &str| uri.starts_with("ahp-session:");
        let own = accepted(&message).filter(|it| is_session(channel_of(it)));
        if let Some(envelope) = own
            && number_of(envelope) > self.last
        {
            self.last = number_of(envelope);
            self.actions += 1;
            let all = link.seen.connections.iter();
            let mut others = BTreeMap::new();
            for (conn, it) in all {
                let session = it.subscriptions.iter().find(|uri| is_session(uri));
                session.map(|uri| others.entry(uri.clone()).or_insert(*conn));
            }
            let many = others.len() > 4 && self.actions.is_multiple_of(10);
            let other = others.iter().find(|(uri, _)| uri.as_str() != channel_of(envelope));
            if let Some((_, conn)) = other.filter(|_| many) {
                out.send_to(*conn, message.clone());
            }
        }
        out.send(message);
    }
}

/// A fault that changes the settlement of actions that crossed an earlier action. The function receives each message of
/// the host, and sends the message changed, unchanged or not at all.
struct CrossingChange {
    crossing: CrossingActions,
    change: fn(&CrossingActions, &MessageLink<'_>, Value, &mut RewriterOutput),
}

impl CrossingChange {
    fn boxed(
        change: fn(&CrossingActions, &MessageLink<'_>, Value, &mut RewriterOutput),
    ) -> Box<CrossingChange> {
        Box::new(CrossingChange { crossing: CrossingActions::default(), change })
    }
}

impl MessageRewriter for CrossingChange {
    fn on_client_message(
        &mut self,
        link: &MessageLink<'_>,
        message: &mut Value,
        _: &mut RewriterOutput,
    ) -> MessagePassage {
        self.crossing.hear(link, message);
        MessagePassage::Onward
    }

    fn on_host_message(
        &mut self,
        link: &MessageLink<'_>,
        message: Value,
        out: &mut RewriterOutput,
    ) {
        (self.change)(&self.crossing, link, message, out);
    }
}

/// Gives a crossing action the `serverSeq` before its own `serverSeq`.
fn share_number(
    crossing: &CrossingActions,
    _: &MessageLink<'_>,
    mut message: Value,
    out: &mut RewriterOutput,
) {
    if let Some(envelope) = accepted(&message).filter(|it| crossing.second(it).is_some()) {
        message["params"]["serverSeq"] = json!(number_of(envelope).saturating_sub(1));
    }
    out.send(message);
}

/// Turns the rejection of a client's decision, which the host rejected because another decision came first, into an
/// acceptance.
fn let_decision_win(
    crossing: &CrossingActions,
    _: &MessageLink<'_>,
    mut message: Value,
    out: &mut RewriterOutput,
) {
    let params = &message["params"];
    let decided = params["action"]["type"] == "chat/toolCallConfirmed";
    if decided
        && params.get("rejectionReason").is_some()
        && crossing.second(params).is_some()
        && let Some(params) = message.get_mut("params").and_then(Value::as_object_mut)
    {
        params.remove("rejectionReason");
    }
    out.send(message);
}

/// Drops the echo of an action that crossed an earlier action.
fn lose_echo(
    crossing: &CrossingActions,
    link: &MessageLink<'_>,
    message: Value,
    out: &mut RewriterOutput,
) {
    let second = accepted(&message).and_then(|it| crossing.second(it));
    if second.is_none_or(|it| it.conn != link.conn) {
        out.send(message);
    }
}

/// A fault that stops the delivery of messages to all clients that share a channel with a client that does not read.
#[derive(Default)]
struct SlowReaderStopsSession {
    waiting: BTreeMap<ConnId, Vec<Value>>,
}

impl SlowReaderStopsSession {
    /// Returns whether a connection shares a channel, other than the root channel, with a client that does not
    /// read.
    fn is_stopped(link: &MessageLink<'_>, conn: ConnId) -> bool {
        let Some(own) = link.seen.connections.get(&conn) else { return false };
        let mut slow =
            link.seen.connections.iter().filter(|(it, other)| **it != conn && other.held);
        slow.any(|(_, slow)| {
            let shared = slow.subscriptions.iter().filter(|uri| !uri.starts_with("ahp-root:"));
            shared.into_iter().any(|uri| own.hears(uri))
        })
    }
}

impl MessageRewriter for SlowReaderStopsSession {
    fn on_host_message(
        &mut self,
        link: &MessageLink<'_>,
        message: Value,
        out: &mut RewriterOutput,
    ) {
        let free: Vec<ConnId> = self
            .waiting
            .keys()
            .copied()
            .filter(|conn| !SlowReaderStopsSession::is_stopped(link, *conn))
            .collect();
        for conn in free {
            let waited = self.waiting.remove(&conn).unwrap_or_default();
            waited.into_iter().for_each(|message| out.send_to(conn, message));
        }
        match SlowReaderStopsSession::is_stopped(link, link.conn) {
            true => self.waiting.entry(link.conn).or_default().push(message),
            false => out.send(message),
        }
    }
}

/// A fault that puts the previous title, instead of the latest title, into a snapshot that follows a change of the
/// title within a short time.
#[derive(Default)]
struct SnapshotBehindRename {
    /// For each session: the time of the last change of the title, the new title, and the title before the change.
    renamed: HashMap<String, (Duration, Value, Option<Value>)>,
}

impl MessageRewriter for SnapshotBehindRename {
    fn on_host_message(
        &mut self,
        link: &MessageLink<'_>,
        mut message: Value,
        out: &mut RewriterOutput,
    ) {
        if let Some(envelope) = accepted(&message)
            && action_name(envelope) == "titleChanged"
        {
            let title = &envelope["action"]["title"];
            let known = self.renamed.get(channel_of(envelope));
            if known.is_none_or(|(_, known, _)| known != title) {
                let before = known.map(|(_, known, _)| known.clone());
                let renamed = (link.now, title.clone(), before);
                self.renamed.insert(channel_of(envelope).to_owned(), renamed);
            }
        }
        let renamed = &self.renamed;
        each_snapshot(&mut message, &mut |snapshot| {
            let channel = snapshot["resource"].as_str().unwrap_or_default();
            if let Some((at, _, Some(before))) = renamed.get(channel)
                && link.now < *at + CROSSING_READ
            {
                snapshot["state"]["title"] = before.clone();
            }
        });
        out.send(message);
    }
}
