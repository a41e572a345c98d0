//! Rows of faults in where chats come from and go, in what is granted, and in what is typed.

use crate::host::fault::Fault;
use crate::run::mutants::Row;

use super::row;

/// In the order of the faults.
pub(super) const ROWS: &[Row] = &[
    row(
        Fault::DuplicateSessionAccepted,
        &[
            "requests.refused",
            "sessions/a-uri-in-use-is-refused",
            "sessions/of-two-at-once-one-is-created",
        ],
    ),
    row(
        Fault::ChatRemovedSilent,
        &["sessions/further-chats-come-and-go", "sessions/chats-leave-before-their-session"],
    ),
    row(Fault::GrantsForAll, &["resources/a-grant-is-for-one-client"]),
    row(Fault::GrantsGrow, &["resources/a-grant-is-for-one-client"]),
    row(Fault::ReadGrantsWrite, &["resources/a-grant-is-for-one-client"]),
    row(Fault::ChatsFromAnywhere, &["sessions/a-chat-comes-from-what-is-there"]),
    row(Fault::SelectionTrimmed, &["sessions/a-side-chat-keeps-what-was-selected"]),
    row(Fault::MovesAnything, &["sessions/what-cannot-be-moved-stays"]),
    row(
        Fault::AttachesAnything,
        &["turns/attached-chats-have-to-be-there", "turns/attached-turns-have-to-be-there"],
    ),
    row(Fault::EmptyChatsRefused, &["turns/a-chat-without-turns-may-be-attached"]),
    row(Fault::OlderTurnsStay, &["subscriptions/older-turns-come-before-what-names-them"]),
    row(Fault::ListOldestFirst, &["sessions/the-list-comes-in-pages"]),
    row(Fault::ForeignClaims, &["terminals/nobody-acts-in-anothers-name"]),
    row(Fault::PrimaryReplaced, &["metadata/the-first-directory-stays"]),
    row(
        Fault::InputReversed,
        &[
            "terminals/what-is-typed-arrives-in-order",
            "terminals/what-is-typed-runs",
            "terminals/a-terminal-is-as-large-as-was-said",
            "terminals/a-terminal-tells-where-it-is",
            "terminals/a-flood-of-output-is-bounded",
        ],
    ),
    row(
        Fault::LinesNotRun,
        &["terminals/what-is-typed-runs", "terminals/a-terminal-is-as-large-as-was-said"],
    ),
    row(Fault::ShellSizeStays, &["terminals/a-terminal-is-as-large-as-was-said"]),
    row(
        Fault::TerminalsNotReplayed,
        &["reconnect.replay-complete", "reconnect/every-channel-comes-back"],
    ),
];
