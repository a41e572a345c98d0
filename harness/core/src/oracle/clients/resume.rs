//! Checks reconnects: the `serverSeq` that a client claims to have processed, the channels that it resumes, and the
//! list of sessions.
//!
//! Knows: connections of one client. Never knows: states.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use crate::transcript::ConnId;
use crate::verdict::Weight;
use crate::wire::json::Value;
use crate::wire::message::Message;
use crate::wire::validate::MessageOrigin;

use crate::oracle::check::FindingSink;
use crate::oracle::members::{list, subscribed_channel, text};
use crate::oracle::rule::CheckRule as _;
use crate::oracle::step::OracleStep;
use crate::oracle::subscriptions::uris;

use super::catalogue::Rule;
use super::{ClientFamily, ClientView, sent};

/// Upper bound for the clients that are remembered.
const MAX_CLIENTS: usize = 4_096;
/// Upper bound for the lost channels of one client that are remembered.
const MAX_GONE: usize = 4_096;
/// Upper bound for the `serverSeq` numbers of one connection that the client may not have processed.
const MAX_RECENT: usize = 4_096;
/// The ways in which a client loses a channel. Each row has the requirement of [`Rule::ResumedChannels`] that a client
/// breaks if it resumes such a channel, the weight of the breach, and the words that describe the loss in the finding.
const LOSSES: &[(ChannelLoss, &str, Weight, &str)] = &[
    (
        ChannelLoss::Missing,
        "reconcile.reconnect-drop-missing",
        Weight::Should,
        "the host has reported as missing",
    ),
    (
        ChannelLoss::Refused,
        "client.subscribe.error-surface",
        Weight::Note,
        "the host has refused to subscribe to",
    ),
    (
        ChannelLoss::Unsubscribed,
        "reconcile.reconnect-subscribed-only",
        Weight::Note,
        "the client has unsubscribed from",
    ),
];

/// The way in which a client has lost its subscription to a channel.
#[derive(Clone, Copy, Eq, PartialEq)]
enum ChannelLoss {
    /// The answer to a `reconnect` listed the channel as missing.
    Missing,
    /// The host refused to subscribe the client to the channel.
    Refused,
    /// The client unsubscribed from the channel.
    Unsubscribed,
}

/// The state of each client, derived from the frames on all its connections.
#[derive(Default)]
pub(super) struct ResumeChecks {
    clients: HashMap<Arc<str>, ClientMemory>,
    /// The connections whose `reconnect` succeeded, with the line and the time of the answer.
    resumed: HashMap<ConnId, (u64, Duration)>,
    /// The `serverSeq` numbers that clients claim to have processed, although no frame to them had these numbers. The
    /// frames may have been sent on a connection that is not in the transcript. If the next action has no higher
    /// number, no such frame was sent.
    claimed: HashMap<ConnId, ClaimedNumber>,
}

/// A `lastSeenServerSeq` that is greater than every number that was sent to the client.
#[derive(Clone, Copy)]
struct ClaimedNumber {
    seq: u64,
    line: u64,
    /// The greatest `serverSeq` that was sent to the client, and its line.
    greatest: (u64, u64),
}

/// The state of one client, derived from the frames that it has received.
#[derive(Default)]
struct ClientMemory {
    /// Whether the transcript has the client's `initialize`, and everything since.
    whole: bool,
    /// The greatest `serverSeq` that the host has stated to the client, with its line.
    greatest: Option<(u64, u64)>,
    /// The greatest `serverSeq` that the client has certainly processed, with its line.
    processed: Option<(u64, u64)>,
    /// The `serverSeq` numbers that the client may not have processed yet: the time of arrival, the number and the line
    /// of each.
    recent: Vec<(Duration, u64, u64)>,
    /// The channels that the client is no longer subscribed to, each with the line that proves the end of the
    /// subscription.
    gone: HashMap<String, (u64, ChannelLoss)>,
    /// Whether the client has ever requested the list of sessions.
    lists: bool,
}

impl ClientMemory {
    /// Records that the client is not subscribed to a channel any more.
    fn lose(&mut self, uri: &str, line: u64, loss: ChannelLoss) {
        if self.gone.len() < MAX_GONE || self.gone.contains_key(uri) {
            self.gone.insert(uri.to_owned(), (line, loss));
        }
    }

    fn stated(&mut self, seq: u64, line: u64) {
        if self.greatest.is_none_or(|(greatest, _)| greatest < seq) {
            self.greatest = Some((seq, line));
        }
    }

    fn received(&mut self, at: Duration, seq: u64, line: u64) {
        self.stated(seq, line);
        if self.recent.len() < MAX_RECENT {
            self.recent.push((at, seq, line));
        }
    }

    /// Marks the `serverSeq` numbers that arrived at the time `settled` or before as processed by the client.
    fn acted(&mut self, settled: Duration) {
        let ready = self.recent.iter().filter(|(at, ..)| *at <= settled);
        let best = ready.map(|(_, seq, line)| (*seq, *line)).max();
        self.processed = self.processed.max(best);
        self.recent.retain(|(at, ..)| *at > settled);
    }
}

impl ClientFamily for ResumeChecks {
    fn step(&mut self, view: &ClientView<'_>, step: &OracleStep<'_>, out: &mut FindingSink) {
        if let Some((message, method)) = sent(step) {
            self.asked(view, message, method, out);
        }
        let (at, line) = (view.cx.now.at, view.line());
        match step {
            OracleStep::Frame { sender: MessageOrigin::Client, .. } => {
                let settled = at.checked_sub(view.reaction());
                if let (Some(memory), Some(settled)) = (self.here(view), settled) {
                    memory.acted(settled);
                }
            }
            OracleStep::Envelope(delivery) => {
                let (seq, rejected) = (delivery.envelope.seq, delivery.envelope.rejected);
                if delivery.replayed.is_none() && !rejected {
                    self.refuted(view, seq, out);
                }
                if let Some(memory) = self.here(view) {
                    match rejected {
                        true => memory.stated(seq, line),
                        false => memory.received(at, seq, line),
                    }
                }
            }
            OracleStep::Snapshot { from_seq, .. } => {
                if let Some(memory) = self.here(view) {
                    memory.received(at, *from_seq, line);
                }
            }
            OracleStep::Answered { request, message } => {
                self.answered(view, &request.method, request.params(), message);
            }
            OracleStep::Reconnected { result, .. } => {
                self.resumed.insert(view.cx.now.conn, (line, at));
                if let Some(memory) = self.here(view) {
                    for uri in uris(result.get("missing")) {
                        memory.lose(uri, line, ChannelLoss::Missing);
                    }
                }
            }
            OracleStep::Closed => self.closed(view, out),
            OracleStep::Gap => {
                self.resumed.remove(&view.cx.now.conn);
                self.claimed.remove(&view.cx.now.conn);
                if let Some(memory) = self.here(view) {
                    *memory = ClientMemory::default();
                }
            }
            OracleStep::Restarted => *self = ResumeChecks::default(),
            _ => {}
        }
    }
}

impl ResumeChecks {
    /// Returns the record of the client of the current connection.
    fn here(&mut self, view: &ClientView<'_>) -> Option<&mut ClientMemory> {
        self.clients.get_mut(view.client()?)
    }

    fn asked(
        &mut self,
        view: &ClientView<'_>,
        message: &Message,
        method: &str,
        out: &mut FindingSink,
    ) {
        let params = message.params();
        match method {
            "initialize" => {
                let client = text(params, "clientId").map(Arc::<str>::from);
                let Some(client) = client.filter(|_| self.clients.len() < MAX_CLIENTS) else {
                    return;
                };
                // A client that starts with `initialize` has no subscriptions.
                let lists = self.clients.get(&client).is_some_and(|known| known.lists);
                let memory = ClientMemory { whole: view.is_whole(), lists, ..Default::default() };
                self.clients.insert(client, memory);
            }
            "reconnect" => self.resumes(view, params, out),
            "subscribe" | "unsubscribe" => {
                let (line, uri) = (view.line(), subscribed_channel(params));
                let Some((memory, uri)) = self.here(view).zip(uri) else { return };
                let loss = memory.gone.get(uri).map(|(_, loss)| *loss);
                if method == "unsubscribe" {
                    memory.lose(uri, line, ChannelLoss::Unsubscribed);
                } else if loss == Some(ChannelLoss::Unsubscribed) {
                    memory.gone.remove(uri);
                }
            }
            "listSessions" => {
                self.resumed.remove(&view.cx.now.conn).into_iter().for_each(|_| {
                    out.seen(Rule::ListedAgain);
                });
                if let Some(memory) = self.here(view) {
                    memory.lists = true;
                }
            }
            _ => {}
        }
    }

    /// Judges the params of a `reconnect`.
    fn resumes(&mut self, view: &ClientView<'_>, params: &Value, out: &mut FindingSink) {
        let memory = text(params, "clientId").and_then(|client| self.clients.get(client));
        let Some(memory) = memory.filter(|memory| memory.whole) else { return };
        let line = view.line();
        // The handshake succeeded on an earlier connection of the client, so observations count.
        out.counts(true);
        if let Some(seen) = params.get("lastSeenServerSeq").and_then(Value::as_u64) {
            out.seen(Rule::LastSeen);
            if let Some(greatest) = memory.greatest.filter(|(it, _)| *it < seen) {
                self.claimed.insert(view.cx.now.conn, ClaimedNumber { seq: seen, line, greatest });
            }
            if let Some((processed, told)) = memory.processed.filter(|(it, _)| seen < *it) {
                let message = format!(
                    "expected `lastSeenServerSeq` to be at least {processed}, which the client had \
                     processed, found {seen}"
                );
                out.broken(Rule::LastSeen, message, &[told, line]);
            }
        }
        for uri in uris(params.get("subscriptions")) {
            out.seen(Rule::ResumedChannels);
            let Some((line_of_loss, loss)) = memory.gone.get(uri) else { continue };
            for (_, rule, weight, why) in LOSSES.iter().filter(|(known, ..)| known == loss) {
                let message = format!(
                    "expected only subscribed channels in `subscriptions`, found `{uri}`, which {why}"
                );
                let rule = Rule::ResumedChannels.of(rule);
                out.weaker(rule, *weight, message, &[*line_of_loss, line]);
            }
        }
        for (loss, rule, ..) in LOSSES {
            if memory.gone.values().any(|(_, known)| known == loss) {
                out.seen_of(Rule::ResumedChannels, rule);
            }
        }
    }

    /// Judges a client's `lastSeenServerSeq` that was never sent to the client. If the number is real, the next action
    /// of the host has a greater number.
    fn refuted(&mut self, view: &ClientView<'_>, next: u64, out: &mut FindingSink) {
        let Some(claimed) = self.claimed.remove(&view.cx.now.conn) else { return };
        if next <= claimed.seq {
            let (greatest, told) = claimed.greatest;
            let message = format!(
                "expected `lastSeenServerSeq` to be at most {greatest}, the greatest number that the \
                 client has received, found {}, and then an action with the number {next}",
                claimed.seq
            );
            out.broken(Rule::LastSeen, message, &[told, claimed.line, view.line()]);
        }
    }

    fn answered(&mut self, view: &ClientView<'_>, method: &str, params: &Value, message: &Message) {
        let line = view.line();
        let failed = message.error().is_some();
        let Some(memory) = self.here(view) else { return };
        match method {
            "initialize" => {
                let seq = message.result().and_then(|result| result.get("serverSeq"));
                if let Some(seq) = seq.and_then(Value::as_u64) {
                    memory.stated(seq, line);
                }
                // All of these channels may be subscribed: a missing snapshot does not prove a refusal, because a
                // channel without a state also has no snapshot.
                for uri in list(params, "initialSubscriptions").iter().filter_map(Value::as_str) {
                    memory.gone.remove(uri);
                }
            }
            // A host that no longer has the requested history refuses, and the client starts again with `initialize`.
            "reconnect" if failed => memory.whole = false,
            "subscribe" => {
                let Some(uri) = subscribed_channel(params) else { return };
                match failed {
                    true => memory.lose(uri, line, ChannelLoss::Refused),
                    false => drop(memory.gone.remove(uri)),
                }
            }
            _ => {}
        }
    }

    /// Judges a connection at its end.
    fn closed(&mut self, view: &ClientView<'_>, out: &mut FindingSink) {
        self.claimed.remove(&view.cx.now.conn);
        let Some((line, at)) = self.resumed.remove(&view.cx.now.conn) else { return };
        let lists = self.here(view).is_some_and(|memory| memory.lists && memory.whole);
        if lists && view.cx.now.at >= at + view.cx.options.patience() {
            out.seen(Rule::ListedAgain);
            let message = "expected `listSessions` after the reconnect, found none";
            out.broken(Rule::ListedAgain, message.to_owned(), &[line]);
        }
    }
}
