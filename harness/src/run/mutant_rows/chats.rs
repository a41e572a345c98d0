//! What the faults must trip that are about several chats: what is attached, workers, moves; and about
//! canvases and what goes on in the background.

use crate::host::fault::Fault;

use super::super::mutants::Row;
use super::row;

pub(super) const ROWS: &[Row] = &[
    row(
        Fault::AttachmentsWithheld,
        &[
            "chats/an-attached-chat-is-given-through-its-end",
            "chats/an-attached-chat-is-as-it-was-when-it-was-sent",
            "chats/attachments-of-attached-chats-stay-out",
        ],
    ),
    row(Fault::AttachmentsWhole, &["chats/an-attached-chat-is-given-through-its-end"]),
    row(Fault::AttachmentsUnpinned, &["chats/an-attached-chat-is-as-it-was-when-it-was-sent"]),
    row(Fault::AttachmentsFollowed, &["chats/attachments-of-attached-chats-stay-out"]),
    row(Fault::AttachmentsReachOut, &["chats/attached-files-are-no-way-out"]),
    row(
        Fault::ChatsUnoffered,
        &[
            "chats/what-no-agent-offers-is-refused",
            "chats/side-chats-that-no-agent-offers-are-refused",
            "chats/an-agent-of-one-chat-makes-no-others",
        ],
    ),
    row(
        Fault::WorkerMisnamed,
        &["catalog.worker-origin", "chats/a-worker-works-in-a-chat-of-its-own"],
    ),
    row(Fault::WorkersGoOn, &["chats/workers-end-with-their-turn"]),
    row(Fault::WorkersWithoutEnd, &["chats/workers-of-workers-come-to-an-end"]),
    row(
        Fault::MovesKeepOrder,
        &["chats/a-moved-chat-stands-where-it-was-put", "chats/a-chat-moves-to-another-session"],
    ),
    row(Fault::MovesLeaveWorkers, &["chats/workers-go-where-their-chat-goes"]),
    row(
        Fault::MovesCopy,
        &[
            "catalog.one-owner",
            "chats/a-chat-moves-to-another-session",
            "chats/a-chat-gets-a-session-of-its-own",
        ],
    ),
    row(
        Fault::MovableUnmirrored,
        &[
            "catalog.default-chat",
            "chats/a-chat-moves-to-another-session",
            "chats/a-chat-gets-a-session-of-its-own",
        ],
    ),
    row(Fault::DatedByFirstChat, &["sessions/the-latest-chat-dates-its-session"]),
    row(
        Fault::CompletionsNever,
        &[
            "jsonrpc.answered-once",
            "chats/completions-come-promptly",
            "metadata/what-may-be-said-is-offered",
            "metadata/what-is-offered-is-the-hosts-own",
        ],
    ),
    row(Fault::CanvasUrlStays, &["canvases/its-address-goes-with-what-shows-it"]),
    row(Fault::CanvasUrlKept, &["canvases/its-address-is-not-kept"]),
    row(Fault::BackgroundUnseen, &["chats/what-runs-by-itself-can-be-watched"]),
    row(Fault::BackgroundStays, &["chats/what-runs-by-itself-can-be-watched"]),
    row(Fault::CrashUnnoticed, &["turns/crash-of-the-agent-ends-the-turn"]),
    row(
        Fault::EarlyTurnsLost,
        &[
            "turns/a-turn-before-the-session-is-ready-is-not-lost",
            "turns/a-turn-waits-until-the-session-is-ready",
        ],
    ),
    row(Fault::ChatChangesUnscoped, &["changesets/a-chats-changes-are-those-in-its-directories"]),
    row(
        Fault::LargeFramesStall,
        &[
            "dispatch/large-payloads-starve-nobody",
            "jsonrpc/huge-frames-harm-nobody-else",
            "jsonrpc.alive",
        ],
    ),
    row(Fault::AsksTheSameAgain, &["tools/asked-again-says-what-for"]),
    row(Fault::EditedInputLost, &["tools/edited-input-stands-where-the-call-points"]),
    row(Fault::ActivityUnmirrored, &["sessions/what-the-chat-does-the-session-does"]),
    row(Fault::ForksForgotten, &["chats/a-fork-goes-its-own-way"]),
    row(
        Fault::MetaDropped,
        &[
            "tools/what-is-said-of-a-call-stays-with-it",
            "tools/result-of-a-client-waits-for-its-approval",
            "turns/every-kind-of-part-is-kept",
            "turns/what-a-message-carries-is-kept",
        ],
    ),
    row(Fault::AnyChatHasTurns, &["chats/what-is-not-there-has-no-turns"]),
    row(Fault::DisposesNothing, &["chats/a-chat-needs-a-session-that-there-is"]),
    row(Fault::SideChatsCopyTurns, &["chats/a-side-chat-begins-without-turns"]),
    row(Fault::ChatsListDirectories, &["chats/a-chat-without-directories-has-no-list"]),
    row(Fault::ForksLoseDirectories, &["chats/a-fork-works-where-its-source-did"]),
    row(Fault::CompletesAnywhere, &["metadata/nothing-is-completed-of-what-is-not-there"]),
];
