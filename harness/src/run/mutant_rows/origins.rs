//! The rows of the kill matrix for faults in the origin and destination of chats, in granted permissions, and in text
//! input.

use crate::host::fault::HostFault;
use crate::run::mutants::MutantRow;

use super::row;

/// The rows, in the order of the faults.
pub(super) const ROWS: &[MutantRow] = &[
    row(
        HostFault::DuplicateSessionAccepted,
        &[
            "requests.refused",
            "sessions/a-uri-in-use-is-refused",
            "sessions/of-two-at-once-one-is-created",
        ],
    ),
    row(
        HostFault::ChatRemovedSilent,
        &["sessions/further-chats-come-and-go", "sessions/chats-leave-before-their-session"],
    ),
    row(HostFault::GrantsForAll, &["resources/a-grant-is-for-one-client"]),
    row(HostFault::GrantsGrow, &["resources/a-grant-is-for-one-client"]),
    row(HostFault::ReadGrantsWrite, &["resources/a-grant-is-for-one-client"]),
    row(HostFault::ChatsFromAnywhere, &["sessions/a-chat-comes-from-what-is-there"]),
    row(HostFault::SelectionTrimmed, &["sessions/a-side-chat-keeps-what-was-selected"]),
    row(HostFault::MovesAnything, &["sessions/what-cannot-be-moved-stays"]),
    row(
        HostFault::AttachesAnything,
        &["turns/attached-chats-have-to-be-there", "turns/attached-turns-have-to-be-there"],
    ),
    row(HostFault::EmptyChatsRefused, &["turns/a-chat-without-turns-may-be-attached"]),
    row(HostFault::OlderTurnsStay, &["subscriptions/older-turns-come-before-what-names-them"]),
    row(HostFault::ListOldestFirst, &["sessions/the-list-comes-in-pages"]),
    row(HostFault::ForeignClaims, &["terminals/nobody-acts-in-anothers-name"]),
    row(HostFault::PrimaryReplaced, &["metadata/the-first-directory-stays"]),
    row(
        HostFault::InputReversed,
        &[
            "terminals/what-is-typed-arrives-in-order",
            "terminals/what-is-typed-runs",
            "terminals/a-terminal-is-as-large-as-was-said",
            "terminals/a-terminal-tells-where-it-is",
            "terminals/a-flood-of-output-is-bounded",
        ],
    ),
    row(
        HostFault::LinesNotRun,
        &["terminals/what-is-typed-runs", "terminals/a-terminal-is-as-large-as-was-said"],
    ),
    row(HostFault::ShellSizeStays, &["terminals/a-terminal-is-as-large-as-was-said"]),
    row(
        HostFault::TerminalsNotReplayed,
        &["reconnect.replay-complete", "reconnect/every-channel-comes-back"],
    ),
];
