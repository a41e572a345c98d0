//! What an entry means: the steps that checks look at.
//!
//! A step is told just before it takes effect, so that a check sees the context as it was.
//!
//! Knows: connections, channels, envelopes. Never knows: rules.

use std::sync::Arc;

use crate::wire::json::Value;

use crate::model::ActionOutcome;
use crate::transcript::{BelowEvent, ConnId, SeenFrame};
use crate::wire::channel::ChannelKind;
use crate::wire::message::Message;
use crate::wire::protocol::{ActionRow, Protocol};
use crate::wire::validate::{MessageOrigin, ShapeError};

use super::channel::ChannelId;
use super::connection::OpenRequest;
use super::envelope::ActionEnvelope;

/// One thing that happened.
pub(super) enum OracleStep<'a> {
    /// A frame crossed the wire.
    Frame {
        seen: &'a Arc<SeenFrame>,
        sender: MessageOrigin,
        /// What is wrong with it, by the version's table.
        errors: &'a [ShapeError],
        /// A table was there to check it.
        checked: bool,
    },
    /// The host answered a request.
    Answered { request: &'a OpenRequest, message: &'a Message },
    /// The host answered what is not open. `first` is the line of the first answer.
    Stray { first: Option<u64>, id: &'a Value },
    /// The host asked. `open` is the line of an open request of the same id.
    HostAsked { open: Option<u64> },
    /// The client dispatched an action.
    Dispatched {
        seen: &'a Arc<SeenFrame>,
        channel: ChannelId,
        client_seq: i64,
        /// It is valid, of a type for clients, and sent as a notification.
        sound: bool,
    },
    /// An action came from the host.
    Envelope(ActionDelivery<'a>),
    /// Another notification came from the host.
    Notified { seen: &'a Arc<SeenFrame>, method: &'a str, channel: Option<ChannelId> },
    /// A snapshot came, as a part of the answer to `request`.
    Snapshot {
        request: &'a OpenRequest,
        channel: ChannelId,
        /// The kind of channel that its state shows.
        kind: Option<ChannelKind>,
        from_seq: u64,
        state: &'a Value,
    },
    /// A reconnect was answered with a result.
    Reconnected { request: &'a OpenRequest, result: &'a Value },
    /// The subscriptions of a connection to one channel end here, or may end with the channel.
    Ending { conn: ConnId, channel: ChannelId },
    /// The host answered a request that was sent at this tick: what it sent before is here.
    Fence { sent: u64 },
    /// An accepted action is about to be folded.
    Folding(ActionFolding<'a>),
    /// An accepted action was folded.
    Folded { folding: ActionFolding<'a>, outcome: &'a ActionOutcome },
    /// A snapshot can be compared with the fold.
    Compared(StateComparison<'a>),
    /// For a while nothing had crossed any connection, and nothing was left to answer: what a host
    /// does later has been done.
    /// `touched` are the sessions that something happened in since the last time.
    Rest { touched: &'a [ChannelId] },
    /// For a while nothing had happened in these sessions, and nothing about them was left to answer, whatever
    /// happened elsewhere. A host at rest has all its sessions at rest.
    SessionsAtRest { sessions: &'a [ChannelId] },
    /// Something passed below the host.
    Below { way: BelowEvent, seen: &'a Arc<SeenFrame> },
    /// Something on the connection at hand is not in the transcript: nothing that was learnt so far can be
    /// relied on, of the host's life as of the connection.
    Gap,
    /// A connection ended.
    Closed,
    /// The host was restarted.
    Restarted,
}

/// A step that is told to every family of checks.
pub(super) const RARE: u8 = 0;
/// [`OracleStep::Frame`], told to the families that look at it.
pub(super) const FRAME: u8 = 1;
/// [`OracleStep::Envelope`], likewise.
pub(super) const ENVELOPE: u8 = 2;
/// [`OracleStep::Folding`], likewise.
pub(super) const FOLDING: u8 = 4;
/// [`OracleStep::Folded`], likewise.
pub(super) const FOLDED: u8 = 8;

impl OracleStep<'_> {
    /// Which of the steps that nearly every frame brings this is.
    #[inline]
    pub(super) fn frequency(&self) -> u8 {
        match self {
            OracleStep::Frame { .. } => FRAME,
            OracleStep::Envelope(_) => ENVELOPE,
            OracleStep::Folding(_) => FOLDING,
            OracleStep::Folded { .. } => FOLDED,
            _ => RARE,
        }
    }
}

/// An action on its way.
#[derive(Clone, Copy)]
pub(super) struct ActionDelivery<'a> {
    /// The frame it came in.
    pub seen: &'a Arc<SeenFrame>,
    pub envelope: ActionEnvelope<'a>,
    /// The envelope as JSON.
    pub value: &'a Value,
    pub channel: ChannelId,
    /// The row of its type in the negotiated version.
    pub row: Option<&'static ActionRow>,
    /// It came in a replay; `None` for live ones.
    pub replayed: Option<usize>,
}

/// An action and the state that it meets.
#[derive(Clone, Copy)]
pub(super) struct ActionFolding<'a> {
    pub envelope: ActionEnvelope<'a>,
    pub channel: ChannelId,
    pub protocol: &'static Protocol,
    /// The line it came on.
    pub line: u64,
    /// It came as it happened, not in a replay.
    pub live: bool,
}

/// Two states of one channel at one number.
pub(super) struct StateComparison<'a> {
    pub channel: ChannelId,
    pub kind: ChannelKind,
    pub protocol: &'static Protocol,
    /// The earlier snapshot with the accepted actions after it.
    pub folded: &'a Value,
    /// The later snapshot, itself folded up to the same number where it was behind.
    pub snapshot: &'a Value,
    /// The number that the later snapshot was taken at.
    pub from_seq: u64,
    /// Lines: the earlier snapshot, the last action folded onto it, the later snapshot.
    pub lines: [u64; 3],
    /// Older turns may be left out of the later one.
    pub windowed: bool,
}
