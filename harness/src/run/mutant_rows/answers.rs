//! The rows of the kill matrix for faults in the messages other than actions from which clients learn about sessions:
//! answers, summaries, announcements.

use crate::host::fault::HostFault;
use crate::run::mutants::MutantRow;

use super::row;

/// The rows, in the order of the faults.
pub(super) const ROWS: &[MutantRow] = &[
    row(HostFault::RootNewsToFirst, &["sessions.announced-to-all"]),
    row(HostFault::RootNewsElsewhere, &["fanout.family", "fanout.notifications-subscribed"]),
    row(
        HostFault::SummaryChatTwice,
        &["catalog.one-owner", "sessions/the-list-shows-what-its-chats-do"],
    ),
    row(HostFault::ChatMisnamed, &["identity.kept", "sessions/what-cannot-be-moved-stays"]),
    row(HostFault::OptionsShareId, &["state.unique-ids"]),
    row(HostFault::MissingNamesRoot, &["reconnect.missing"]),
    row(HostFault::ListOtherProvider, &["identity.kept"]),
    row(
        HostFault::MovedChatsForget,
        &["state.snapshot-agrees", "chats/a-chat-moves-to-another-session"],
    ),
    row(HostFault::ActionBeforeSnapshot, &["fanout.complete"]),
    row(HostFault::CrossingActionsLost, &["fanout.complete"]),
    row(
        HostFault::DefaultChatUnlisted,
        &["fanout.after-removal", "sessions/what-the-chat-does-the-session-does"],
    ),
    row(HostFault::InitialWithoutStates, &["state.given"]),
];
