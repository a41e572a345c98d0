//! The always-on checks of the messages of clients; the other modules of the oracle check hosts.
//!
//! [`ClientFold`] reads the entries of a transcript, derives the same [`OracleContext`] as the checks of hosts,
//! and keeps in [`told`] the state that each client has received. A client acts on the frames that it has received and
//! processed. The transcript shows when a frame was received, and never when it was processed: a frame may wait in the
//! client for a while. A rule about a state is therefore broken only if it is broken in every state that the client may
//! have known.
//!
//! Each family of checks has a file: [`wire`] for frames and responses, [`handshake`] for the first messages,
//! [`resume`] for reconnects, [`dispatch`] for dispatches, [`drafts`] for drafts, [`tools`] for tool calls,
//! [`inputs`] for answers to questions, [`gates`] for capabilities, [`entries`] for chats, comments and
//! automations, [`names`] for names that the host chose, [`auth`] for tokens.
//!
//! Knows: the context of the oracle. Never knows: scenarios, the client's program.
//!
//! Start at [`ClientFold::observe`].

mod auth;
mod catalogue;
mod dispatch;
mod drafts;
mod entries;
mod gates;
mod handshake;
mod inputs;
mod names;
mod resume;
mod sender;
#[cfg(test)]
mod tests;
mod told;
mod tools;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use crate::transcript::{ConnId, ConnectionEvent, TranscriptEntry};
use crate::wire::json::Value;
use crate::wire::message::Message;
use crate::wire::protocol::Protocol;

pub(super) use catalogue::CHECKS;

use super::check::FindingSink;
use super::connection::ConnectionRecord;
use super::context::OracleContext;
use super::options::OracleOptions;
use super::step::OracleStep;
use sender::NamedSender;
use told::ToldStates;

/// The time that a client may take to process a received frame. The specification states no such time.
const REACTION: Duration = Duration::from_secs(2);

/// A family of checks on clients.
trait ClientFamily {
    /// Judges one step. `view` contains the state just before the step takes effect.
    fn step(&mut self, view: &ClientView<'_>, step: &OracleStep<'_>, out: &mut FindingSink);
}

/// The state that the checks of clients read for one step.
struct ClientView<'a> {
    cx: &'a OracleContext,
    told: &'a ToldStates,
}

impl<'a> ClientView<'a> {
    /// Returns the connection of the current entry.
    fn here(&self) -> Option<&'a ConnectionRecord> {
        self.cx.here()
    }

    /// Returns the client of the current connection.
    fn client(&self) -> Option<&'a Arc<str>> {
        self.here()?.client_id.as_ref()
    }

    /// Returns the table of the version that the current connection negotiated.
    fn protocol(&self) -> Option<&'static Protocol> {
        self.here()?.protocol
    }

    /// Returns whether the transcript contains all traffic of the current connection so far.
    fn is_whole(&self) -> bool {
        self.here().is_some_and(|conn| !conn.partial() && !conn.gap && !conn.stale)
    }

    /// Returns the time after which a client has certainly processed a message.
    fn reaction(&self) -> Duration {
        REACTION + self.cx.options.spread
    }

    /// Returns the line of the current entry.
    fn line(&self) -> u64 {
        self.cx.now.line
    }
}

/// The checks of clients, and their common state.
pub(super) struct ClientFold {
    context: OracleContext,
    told: ToldStates,
    families: Vec<Box<dyn ClientFamily + Send>>,
    /// The only client to judge; `None` if all clients are judged.
    only: Option<NamedSender>,
}

impl ClientFold {
    /// Creates the state before the first entry. If `only` is given, the fold judges only the connections and
    /// clients of that name.
    pub(super) fn new(options: OracleOptions, only: Option<&str>) -> ClientFold {
        ClientFold {
            context: OracleContext::new(options),
            told: ToldStates::default(),
            families: vec![
                Box::new(wire::WireChecks::default()),
                Box::new(handshake::ClientHandshake::default()),
                Box::new(resume::ResumeChecks::default()),
                Box::new(dispatch::ClientDispatches::default()),
                Box::new(drafts::DraftChecks::default()),
                Box::new(tools::ClientTools::default()),
                Box::new(inputs::InputChecks),
                Box::new(gates::CapabilityChecks::default()),
                Box::new(entries::EntryChecks),
                Box::new(names::NameChecks::default()),
                Box::new(auth::TokenChecks::default()),
            ],
            only: only.map(NamedSender::new),
        }
    }

    /// Sets the name of a connection.
    pub(super) fn name_connection(&mut self, conn: ConnId, name: &str) {
        if let Some(only) = &mut self.only {
            only.name_connection(conn, name);
        }
        self.context.names.insert(conn, Arc::from(name));
    }

    /// Reads the next entry of the transcript.
    pub(super) fn observe(&mut self, entry: &TranscriptEntry, out: &mut FindingSink) {
        if let (Some(only), ConnectionEvent::Sent(seen)) = (&mut self.only, &entry.event)
            && let Some(message) = seen.message()
        {
            only.introduced(entry.conn, message);
        }
        let ClientFold { context, told, families, only } = self;
        context.observe(entry, &mut |cx, step| {
            let judged = only.as_ref().is_none_or(|only| only.is(cx.now.conn));
            tell(families, told, cx, step, judged, out);
        });
    }

    /// Ends every open connection, and judges what can be judged only at the end.
    pub(super) fn finish(mut self, out: &mut FindingSink) {
        let open = self.context.conns.iter().filter(|(_, conn)| !conn.closed && !conn.stale);
        let open: Vec<ConnId> = open.map(|(id, _)| *id).collect();
        for conn in open {
            self.context.now.conn = conn;
            let judged = self.only.as_ref().is_none_or(|only| only.is(conn));
            let ClientFold { context, told, families, .. } = &mut self;
            tell(families, told, context, &OracleStep::Closed, judged, out);
        }
        out.judge(true);
    }
}

/// Passes a step to the families of checks, and then to [`told`], which keeps the states that clients have received.
fn tell(
    families: &mut [Box<dyn ClientFamily + Send>],
    told: &mut ToldStates,
    cx: &OracleContext,
    step: &OracleStep<'_>,
    judged: bool,
    out: &mut FindingSink,
) {
    out.counts(cx.counts(false));
    out.judge(judged);
    let view = ClientView { cx, told };
    for family in families {
        family.step(&view, step, out);
    }
    told.step(cx, step);
}

/// Returns the request or notification that a client sends in this step, and its method. Returns `None` for any other
/// step.
fn sent<'a>(step: &OracleStep<'a>) -> Option<(&'a Message, &'a str)> {
    let OracleStep::Frame { seen, sender: crate::wire::validate::MessageOrigin::Client, .. } = step
    else {
        return None;
    };
    let message = seen.message()?;
    Some((message, message.method()?))
}

/// Returns the action that a client dispatches in this step.
fn dispatched<'a>(step: &OracleStep<'a>) -> Option<SentDispatch<'a>> {
    let OracleStep::Dispatched { seen, channel, client_seq, .. } = step else { return None };
    let action = seen.message()?.params().get("action")?;
    let action_type = action.get("type")?.as_str()?;
    let name = action_type.split_once('/').map_or("", |(_, name)| name);
    Some(SentDispatch { channel: *channel, client_seq: *client_seq, action, action_type, name })
}

/// An action that a client dispatches.
struct SentDispatch<'a> {
    channel: super::channel::ChannelId,
    client_seq: i64,
    action: &'a Value,
    /// The type of the action, such as `chat/turnStarted`.
    action_type: &'a str,
    /// The part of the type after the slash. This part stayed the same when version 0.4.0 moved actions from sessions
    /// to chats.
    name: &'a str,
}
