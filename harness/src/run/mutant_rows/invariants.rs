//! What the faults must trip that the invariants brought: ownership of tool calls, statuses,
//! catalogues, what sessions repeat of their chats, terminals,
//! progress, histories in pieces, secrets.

use crate::host::fault::Fault;

use super::super::mutants::Row;
use super::row;

pub(super) const ROWS: &[Row] = &[
    row(Fault::ReadyChangesOwner, &["tools.owner-constant"]),
    row(Fault::AuthForOwnTools, &["state.dead-host-action", "tools.auth-for-mcp"]),
    row(
        Fault::CallsTheAbsent,
        &[
            "tools.owner-active",
            "tools/client-tool-is-completed-by-its-owner",
            "tools/two-clients-offer-one-name",
        ],
    ),
    row(Fault::HistoryUnfinished, &["state.snapshot-agrees", "tools.history-final"]),
    row(
        Fault::OrphansGoOn,
        &[
            "tools.removal-ends-calls",
            "tools/owner-leaves-and-its-call-fails",
            "tools/owner-leaves-before-the-approval",
        ],
    ),
    row(
        Fault::WaitingUnseen,
        &[
            "catalog.mirrors-chats",
            "state.snapshot-agrees",
            "status.chat-derived",
            "input/asked-and-answered",
        ],
    ),
    row(Fault::ActivitiesMixed, &["status.one-activity"]),
    row(Fault::InputNeededStripped, &["input.rollup-mirrors"]),
    row(
        Fault::DefaultChatUnknown,
        &["catalog.default-chat", "chats/a-moved-chat-stands-where-it-was-put"],
    ),
    row(Fault::ReorderIncomplete, &["catalog.reorder-permutes", "state.dead-host-action"]),
    row(
        Fault::ChatListedTwice,
        &["catalog.one-owner", "state.snapshot-agrees", "sessions/a-session-has-a-default-chat"],
    ),
    row(Fault::UpdatesRemovedChat, &["catalog.updated-known"]),
    row(Fault::ActiveSessionsOneMore, &["sessions.active-count"]),
    row(
        Fault::DirectoriesOutlive,
        &["directories.within-session", "metadata/a-chats-directories-are-its-sessions"],
    ),
    row(Fault::CommandFinishesTwice, &["terminal.command-pairs"]),
    row(Fault::CommandsOverlap, &["terminal.one-command", "terminals/commands-come-in-pairs"]),
    row(Fault::ExitsTwice, &["terminal.exit-final"]),
    row(Fault::TerminalListStale, &["terminal.listed", "terminals/made-listed-and-disposed"]),
    row(
        Fault::CharactersCut,
        &[
            "terminal.whole-characters",
            "terminals/commands-come-in-pairs",
            "terminals/typed-shown-and-ended",
        ],
    ),
    row(
        Fault::ShellMarkersSent,
        &["terminal.no-shell-markers", "terminals/what-is-typed-arrives-in-order"],
    ),
    row(Fault::ProgressGoesBack, &["progress.forward"]),
    row(Fault::ProgressNeverEnds, &["progress.ends", "sessions/progress-ends-with-its-total"]),
    row(
        Fault::CursorForEverybody,
        &["history.whole", "subscriptions/a-window-shows-the-latest-turns"],
    ),
    row(
        Fault::PagesReversed,
        &[
            "history.pages",
            "subscriptions/a-window-shows-the-latest-turns",
            "subscriptions/older-turns-come-before-what-names-them",
        ],
    ),
    row(
        Fault::TimesInWords,
        &[
            "shape.scalars",
            "sessions/new-sessions-are-announced-once",
            "sessions/the-latest-chat-dates-its-session",
        ],
    ),
    row(Fault::TokenLeaked, &["secrets.kept", "handshake/tokens-stay-with-the-host"]),
    row(
        Fault::AnyTokenTaken,
        &[
            "auth/a-token-ends-with-its-lifetime",
            "auth/a-token-opens-the-agent",
            "auth/an-invalid-token-is-refused",
            "auth/a-token-is-for-one-connection",
            "mcp/a-challenge-waits-for-a-token",
        ],
    ),
    row(Fault::CreatedAnew, &["identity.kept", "sessions.list-agrees"]),
];
