//! The rows of the kill matrix for faults that break invariants: ownership of tool calls, statuses, catalogues, the
//! data of chats that the states of sessions repeat, terminals, progress, paged histories, secrets.

use crate::host::fault::HostFault;

use super::super::mutants::MutantRow;
use super::row;

pub(super) const ROWS: &[MutantRow] = &[
    row(HostFault::ReadyChangesOwner, &["tools.owner-constant"]),
    row(HostFault::AuthForOwnTools, &["state.dead-host-action", "tools.auth-for-mcp"]),
    row(
        HostFault::CallsTheAbsent,
        &[
            "tools.owner-active",
            "tools/client-tool-is-completed-by-its-owner",
            "tools/two-clients-offer-one-name",
        ],
    ),
    row(HostFault::HistoryUnfinished, &["state.snapshot-agrees", "tools.history-final"]),
    row(
        HostFault::OrphansGoOn,
        &[
            "tools.removal-ends-calls",
            "tools/owner-leaves-and-its-call-fails",
            "tools/owner-leaves-before-the-approval",
        ],
    ),
    row(
        HostFault::WaitingUnseen,
        &[
            "catalog.mirrors-chats",
            "state.snapshot-agrees",
            "status.chat-derived",
            "input/asked-and-answered",
        ],
    ),
    row(HostFault::ActivitiesMixed, &["status.one-activity"]),
    row(HostFault::InputNeededStripped, &["input.rollup-mirrors"]),
    row(
        HostFault::DefaultChatUnknown,
        &["catalog.default-chat", "chats/a-moved-chat-stands-where-it-was-put"],
    ),
    row(HostFault::ReorderIncomplete, &["catalog.reorder-permutes", "state.dead-host-action"]),
    row(
        HostFault::ChatListedTwice,
        &["catalog.one-owner", "state.snapshot-agrees", "sessions/a-session-has-a-default-chat"],
    ),
    row(HostFault::UpdatesRemovedChat, &["catalog.updated-known"]),
    row(HostFault::ActiveSessionsOneMore, &["sessions.active-count"]),
    row(
        HostFault::DirectoriesOutlive,
        &["directories.within-session", "metadata/a-chats-directories-are-its-sessions"],
    ),
    row(HostFault::CommandFinishesTwice, &["terminal.command-pairs"]),
    row(HostFault::CommandsOverlap, &["terminal.one-command", "terminals/commands-come-in-pairs"]),
    row(HostFault::ExitsTwice, &["terminal.exit-final"]),
    row(HostFault::TerminalListStale, &["terminal.listed", "terminals/made-listed-and-disposed"]),
    row(
        HostFault::CharactersCut,
        &[
            "terminal.whole-characters",
            "terminals/commands-come-in-pairs",
            "terminals/typed-shown-and-ended",
        ],
    ),
    row(
        HostFault::ShellMarkersSent,
        &["terminal.no-shell-markers", "terminals/what-is-typed-arrives-in-order"],
    ),
    row(HostFault::ProgressGoesBack, &["progress.forward"]),
    row(HostFault::ProgressNeverEnds, &["progress.ends", "sessions/progress-ends-with-its-total"]),
    row(
        HostFault::CursorForEverybody,
        &["history.whole", "subscriptions/a-window-shows-the-latest-turns"],
    ),
    row(
        HostFault::PagesReversed,
        &[
            "history.pages",
            "subscriptions/a-window-shows-the-latest-turns",
            "subscriptions/older-turns-come-before-what-names-them",
        ],
    ),
    row(
        HostFault::TimesInWords,
        &[
            "shape.scalars",
            "sessions/new-sessions-are-announced-once",
            "sessions/the-latest-chat-dates-its-session",
        ],
    ),
    row(HostFault::TokenLeaked, &["secrets.kept", "handshake/tokens-stay-with-the-host"]),
    row(
        HostFault::AnyTokenTaken,
        &[
            "auth/a-token-ends-with-its-lifetime",
            "auth/a-token-opens-the-agent",
            "auth/an-invalid-token-is-refused",
            "auth/a-token-is-for-one-connection",
            "mcp/a-challenge-waits-for-a-token",
        ],
    ),
    row(HostFault::CreatedAnew, &["identity.kept", "sessions.list-agrees"]),
];
