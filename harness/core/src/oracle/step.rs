//! The steps that the checks handle. A step is one effect of a transcript entry.
//!
//! The context emits a step just before the step takes effect, so a check sees the state before the step.
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

/// An event in the traffic of a host.
pub(super) enum OracleStep<'a> {
    /// A client or the host sent a frame.
    Frame {
        seen: &'a Arc<SeenFrame>,
        sender: MessageOrigin,
        /// The errors in the frame, as the tables of the connection's version report them.
        errors: &'a [ShapeError],
        /// Whether the connection's version was known, so that the frame was checked with the tables of this version.
        checked: bool,
    },
    /// The host answered a request.
    Answered { request: &'a OpenRequest, message: &'a Message },
    /// The host sent an answer without an open request. `first` is the line of the first answer with this id.
    Stray { first: Option<u64>, id: &'a Value },
    /// The host sent a request to a client. `open` is the line of an open request of the host with the same id.
    HostAsked { open: Option<u64> },
    /// The client dispatched an action.
    Dispatched {
        seen: &'a Arc<SeenFrame>,
        channel: ChannelId,
        client_seq: i64,
        /// Whether the dispatch is correct: the action is valid, clients may dispatch it, it belongs to this kind of
        /// channel, and it was sent as a notification.
        sound: bool,
    },
    /// The host sent an action.
    Envelope(ActionDelivery<'a>),
    /// The host sent a notification other than `action`.
    Notified { seen: &'a Arc<SeenFrame>, method: &'a str, channel: Option<ChannelId> },
    /// The host sent a snapshot in the answer to `request`.
    Snapshot {
        request: &'a OpenRequest,
        channel: ChannelId,
        /// The kind of channel that the members of the state show; `None` if they show no kind.
        kind: Option<ChannelKind>,
        from_seq: u64,
        state: &'a Value,
    },
    /// The host answered a reconnect with a result.
    Reconnected { request: &'a OpenRequest, result: &'a Value },
    /// A connection's subscription to one channel ends, or may end because the channel ends.
    Ending { conn: ConnId, channel: ChannelId },
    /// The host answered a request that the client sent at the transcript entry `sent`. Therefore everything that the
    /// host sent before it processed the request has arrived.
    Fence { sent: u64 },
    /// An accepted action is about to be folded.
    Folding(ActionFolding<'a>),
    /// An accepted action was folded.
    Folded { folding: ActionFolding<'a>, outcome: &'a ActionOutcome },
    /// A snapshot can be compared with the folded state of its channel.
    Compared(StateComparison<'a>),
    /// The host is at rest: for a while no connection had traffic and no request was open, so delayed work is done.
    /// `touched` contains the sessions that changed since the last step of this kind.
    Rest { touched: &'a [ChannelId] },
    /// These sessions are at rest: for a while no traffic concerned them and no request about them was open.
    /// Traffic of other sessions does not matter. If a host is at rest, all its sessions are at rest.
    SessionsAtRest { sessions: &'a [ChannelId] },
    /// A message was exchanged below the host: between the host and its agent, or between the agent and its model or
    /// tools.
    Below { way: BelowEvent, seen: &'a Arc<SeenFrame> },
    /// The transcript lacks some traffic of this connection. Earlier knowledge about the host and the
    /// connection is unreliable.
    Gap,
    /// A connection ended.
    Closed,
    /// The host was restarted.
    Restarted,
}

/// The bit mask of rare steps, which every family of checks receives.
pub(super) const RARE: u8 = 0;
/// The bit of [`OracleStep::Frame`], which only the families that request this step receive.
pub(super) const FRAME: u8 = 1;
/// The bit of [`OracleStep::Envelope`], which only the families that request this step receive.
pub(super) const ENVELOPE: u8 = 2;
/// The bit of [`OracleStep::Folding`], which only the families that request this step receive.
pub(super) const FOLDING: u8 = 4;
/// The bit of [`OracleStep::Folded`], which only the families that request this step receive.
pub(super) const FOLDED: u8 = 8;

impl OracleStep<'_> {
    /// Returns the bit of a frequent kind of step; [`RARE`] for every other kind.
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

/// An action on its way from the host to a client.
#[derive(Clone, Copy)]
pub(super) struct ActionDelivery<'a> {
    /// The frame that contains the action.
    pub seen: &'a Arc<SeenFrame>,
    pub envelope: ActionEnvelope<'a>,
    /// The envelope of the action as JSON.
    pub value: &'a Value,
    pub channel: ChannelId,
    /// The row of the action's type in the tables of the negotiated version.
    pub row: Option<&'static ActionRow>,
    /// The index of the action in a replay; `None` for a live action.
    pub replayed: Option<usize>,
}

/// An action that is about to be folded, and the state before the action.
#[derive(Clone, Copy)]
pub(super) struct ActionFolding<'a> {
    pub envelope: ActionEnvelope<'a>,
    pub channel: ChannelId,
    pub protocol: &'static Protocol,
    /// The line of the action in the transcript.
    pub line: u64,
    /// Whether the action arrived live and not in a replay.
    pub live: bool,
}

/// Two states of one channel, both after the action with the same `serverSeq`.
pub(super) struct StateComparison<'a> {
    pub channel: ChannelId,
    pub kind: ChannelKind,
    pub protocol: &'static Protocol,
    /// The earlier snapshot, with the later accepted actions folded onto it.
    pub folded: &'a Value,
    /// The later snapshot. If the snapshot was behind the fold, the later actions were applied to it up to the same
    /// `serverSeq`.
    pub snapshot: &'a Value,
    /// The `fromSeq` of the later snapshot.
    pub from_seq: u64,
    /// The lines of the earlier snapshot, of the last action folded onto it, and of the later snapshot.
    pub lines: [u64; 3],
    /// Whether the later snapshot may omit older turns.
    pub windowed: bool,
}
