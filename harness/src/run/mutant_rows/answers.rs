//! Rows of faults in what clients are told of sessions beside their actions: answers, summaries, announcements.

use crate::host::fault::Fault;
use crate::run::mutants::Row;

use super::row;

/// In the order of the faults.
pub(super) const ROWS: &[Row] = &[
    row(Fault::RootNewsToFirst, &["sessions.announced-to-all"]),
    row(Fault::RootNewsElsewhere, &["fanout.family"]),
    row(
        Fault::SummaryChatTwice,
        &["catalog.one-owner", "sessions/the-list-shows-what-its-chats-do"],
    ),
    row(Fault::ChatMisnamed, &["identity.kept", "sessions/what-cannot-be-moved-stays"]),
    row(Fault::OptionsShareId, &["state.unique-ids"]),
    row(Fault::MissingNamesRoot, &["reconnect.missing"]),
    row(Fault::ListOtherProvider, &["identity.kept"]),
    row(
        Fault::MovedChatsForget,
        &["state.snapshot-agrees", "chats/a-chat-moves-to-another-session"],
    ),
    row(Fault::ActionBeforeSnapshot, &["fanout.complete"]),
    row(
        Fault::DefaultChatUnlisted,
        &["fanout.after-removal", "sessions/what-the-chat-does-the-session-does"],
    ),
    row(Fault::InitialWithoutStates, &["state.given"]),
];
