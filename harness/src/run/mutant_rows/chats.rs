//! The rows of the kill matrix for faults in sessions with several chats: attachments, workers, moves; and in canvases
//! and background work.

use crate::host::fault::HostFault;

use super::super::mutants::MutantRow;
use super::row;

pub(super) const ROWS: &[MutantRow] = &[
    row(
        HostFault::AttachmentsWithheld,
        &[
            "chats/an-attached-chat-is-given-through-its-end",
            "chats/an-attached-chat-is-as-it-was-when-it-was-sent",
            "chats/attachments-of-attached-chats-stay-out",
            "context/attached-annotations-are-given",
            "context/attached-texts-are-given",
            "context/queued-messages-are-given",
            "turns/what-is-attached-is-given",
        ],
    ),
    row(HostFault::AttachmentsWhole, &["chats/an-attached-chat-is-given-through-its-end"]),
    row(HostFault::AttachmentsUnpinned, &["chats/an-attached-chat-is-as-it-was-when-it-was-sent"]),
    row(HostFault::RemovedTurnsKnown, &["context/what-was-removed-is-not-given-again"]),
    row(HostFault::OtherChatsKnown, &["context/chats-know-only-their-own-turns"]),
    row(HostFault::DisposedTurnsKnown, &["context/a-chat-made-again-knows-nothing"]),
    row(HostFault::ModelsDropped, &["context/the-chosen-model-is-asked"]),
    row(
        HostFault::EarlierTurnsUnknown,
        &[
            "context/a-fork-knows-the-turns-that-it-shows",
            "context/a-restarted-agent-knows-its-turns",
            "context/chats-know-only-their-own-turns",
            "context/what-was-removed-is-not-given-again",
        ],
    ),
    row(
        HostFault::AnswersUnknown,
        &[
            "context/answers-are-given-to-the-agent",
            "context/synchronised-answers-are-given-to-the-agent",
        ],
    ),
    row(
        HostFault::SynchronisedAnswersUnknown,
        &["context/synchronised-answers-are-given-to-the-agent"],
    ),
    row(HostFault::ResultsUnknown, &["context/the-result-of-a-client-tool-is-given"]),
    row(HostFault::SteeringUnknown, &["context/a-steering-message-is-given"]),
    row(HostFault::ClientToolsUnknown, &["context/client-tools-are-described"]),
    row(HostFault::AttachmentsFollowed, &["chats/attachments-of-attached-chats-stay-out"]),
    row(HostFault::AttachmentsReachOut, &["chats/attached-files-are-no-way-out"]),
    row(
        HostFault::ChatsUnoffered,
        &[
            "chats/what-no-agent-offers-is-refused",
            "chats/side-chats-that-no-agent-offers-are-refused",
            "chats/an-agent-of-one-chat-makes-no-others",
        ],
    ),
    row(
        HostFault::WorkerMisnamed,
        &["catalog.worker-origin", "chats/a-worker-works-in-a-chat-of-its-own"],
    ),
    row(HostFault::WorkersGoOn, &["chats/workers-end-with-their-turn"]),
    row(HostFault::WorkersWithoutEnd, &["chats/workers-of-workers-come-to-an-end"]),
    row(
        HostFault::MovesKeepOrder,
        &["chats/a-moved-chat-stands-where-it-was-put", "chats/a-chat-moves-to-another-session"],
    ),
    row(HostFault::MovesLeaveWorkers, &["chats/workers-go-where-their-chat-goes"]),
    row(
        HostFault::MovesCopy,
        &[
            "catalog.one-owner",
            "chats/a-chat-moves-to-another-session",
            "chats/a-chat-gets-a-session-of-its-own",
        ],
    ),
    row(
        HostFault::MovableUnmirrored,
        &[
            "catalog.default-chat",
            "chats/a-chat-moves-to-another-session",
            "chats/a-chat-gets-a-session-of-its-own",
        ],
    ),
    row(HostFault::DatedByFirstChat, &["sessions/the-latest-chat-dates-its-session"]),
    row(
        HostFault::CompletionsNever,
        &[
            "jsonrpc.answered-once",
            "chats/completions-come-promptly",
            "metadata/what-may-be-said-is-offered",
            "metadata/what-is-offered-is-the-hosts-own",
        ],
    ),
    row(HostFault::CanvasUrlStays, &["canvases/its-address-goes-with-what-shows-it"]),
    row(HostFault::CanvasUrlKept, &["canvases/its-address-is-not-kept"]),
    row(HostFault::BackgroundUnseen, &["chats/what-runs-by-itself-can-be-watched"]),
    row(HostFault::BackgroundStays, &["chats/what-runs-by-itself-can-be-watched"]),
    row(HostFault::CrashUnnoticed, &["turns/crash-of-the-agent-ends-the-turn"]),
    row(
        HostFault::EarlyTurnsLost,
        &[
            "turns/a-turn-before-the-session-is-ready-is-not-lost",
            "turns/a-turn-waits-until-the-session-is-ready",
        ],
    ),
    row(
        HostFault::ChatChangesUnscoped,
        &["changesets/a-chats-changes-are-those-in-its-directories"],
    ),
    row(
        HostFault::LargeFramesStall,
        &[
            "dispatch/large-payloads-starve-nobody",
            "jsonrpc/huge-frames-harm-nobody-else",
            "jsonrpc.alive",
        ],
    ),
    row(HostFault::AsksTheSameAgain, &["tools/asked-again-says-what-for"]),
    row(HostFault::SecondApprovalSkipped, &["tools/asked-again-while-running"]),
    row(HostFault::EditedInputLost, &["tools/edited-input-stands-where-the-call-points"]),
    row(HostFault::ActivityUnmirrored, &["sessions/what-the-chat-does-the-session-does"]),
    row(HostFault::ForksForgotten, &["chats/a-fork-goes-its-own-way"]),
    row(
        HostFault::MetaDropped,
        &[
            "tools/what-is-said-of-a-call-stays-with-it",
            "tools/result-of-a-client-waits-for-its-approval",
            "turns/every-kind-of-part-is-kept",
            "turns/what-a-message-carries-is-kept",
        ],
    ),
    row(HostFault::AnyChatHasTurns, &["chats/what-is-not-there-has-no-turns"]),
    row(HostFault::DisposesNothing, &["chats/a-chat-needs-a-session-that-there-is"]),
    row(HostFault::SideChatsCopyTurns, &["chats/a-side-chat-begins-without-turns"]),
    row(HostFault::SideChatsKnowNothing, &["chats/a-side-chat-knows-its-source"]),
    row(HostFault::ChatsListDirectories, &["chats/a-chat-without-directories-has-no-list"]),
    row(HostFault::ForksLoseDirectories, &["chats/a-fork-works-where-its-source-did"]),
    row(HostFault::CompletesAnywhere, &["metadata/nothing-is-completed-of-what-is-not-there"]),
];
