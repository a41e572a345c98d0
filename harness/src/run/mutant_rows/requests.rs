//! The rows of the kill matrix for faults in handshakes and in the answers to requests.

use crate::host::fault::HostFault;
use crate::run::mutants::MutantRow;

use super::row;

/// The rows, in the order of the faults.
pub(super) const ROWS: &[MutantRow] = &[
    row(HostFault::ErrorWithoutMessage, &["shape.host", "jsonrpc/unknown-methods-are-refused"]),
    row(
        HostFault::UnknownMethodSilent,
        &[
            "jsonrpc.answered-once",
            "jsonrpc/ids-come-back-unchanged",
            "jsonrpc/pipelined-requests-are-each-answered",
            "jsonrpc/unknown-methods-are-refused",
        ],
    ),
    row(
        HostFault::BadParamsServed,
        &[
            "jsonrpc/every-request-names-its-channel",
            "jsonrpc/wrong-parameters-are-refused",
            "reconnect/incomplete-reconnects-are-refused",
        ],
    ),
    row(
        HostFault::StringIdMangled,
        &["jsonrpc.alive", "jsonrpc.no-stray-response", "jsonrpc/ids-come-back-unchanged"],
    ),
    row(HostFault::ResponseTwice, &["jsonrpc.answered-once"]),
    row(HostFault::ResponseNever, &["jsonrpc.answered-once"]),
    row(HostFault::ResultMissing, &["jsonrpc.alive", "jsonrpc.answered-once", "shape.host"]),
    row(HostFault::VersionTagMissing, &["shape.host"]),
    row(HostFault::CharactersHalved, &["shape.host", "turns/text-arrives-whole"]),
    row(HostFault::ParseErrorSilent, &["jsonrpc/text-that-is-not-json-is-a-parse-error"]),
    row(HostFault::ParseErrorCloses, &["jsonrpc/text-that-is-not-json-is-a-parse-error"]),
    row(
        HostFault::PingDeadBeforeInitialize,
        &[
            "jsonrpc.alive",
            "untested:handshake/nothing-comes-unasked",
            "handshake/ping-needs-no-handshake",
        ],
    ),
    row(
        HostFault::ServesBeforeInitialize,
        &["handshake.agreed", "handshake/requests-wait-for-the-handshake"],
    ),
    row(HostFault::SecondInitializeServed, &["handshake/second-handshake-does-no-harm"]),
    row(HostFault::VersionPicksFirst, &["handshake/highest-offered-version-wins"]),
    row(
        HostFault::VersionNotOffered,
        &["handshake.agreed", "handshake/version-is-an-offered-text", "handshake/*"],
    ),
    row(
        HostFault::UnknownVersionAccepted,
        &[
            "handshake/empty-offer-is-refused",
            "handshake/malformed-versions-are-passed-over",
            "handshake/unknown-version-is-refused",
        ],
    ),
    row(
        HostFault::RangesInVain,
        &[
            "handshake/highest-offered-version-wins",
            "handshake/versions-in-a-named-range-are-accepted",
        ],
    ),
    row(
        HostFault::NoSupportedVersions,
        &["handshake.refusal", "handshake/a-refusal-names-the-versions"],
    ),
    row(HostFault::UnsupportedStaysOpen, &["handshake/unknown-version-is-refused"]),
    row(
        HostFault::NewerActionsSent,
        &["fanout.known-actions", "handshake/older-clients-get-older-actions"],
    ),
    row(
        HostFault::ShapeMissingRequired,
        &[
            "shape.host",
            "input/drafts-are-shared-and-submitted",
            "order/host-and-clients-agree-at-the-end",
            "order/one-decision-wins",
            "reconnect/*",
            "turns/*",
            "input/one-answer-counts",
            "order/approval-meets-approval",
            "order/denial-meets-approval",
            "order/denial-meets-denial",
            "order/start-meets-start",
            "order/three-decide-one-counts",
            "tools/parallel-calls-decided-at-once",
            "tools/result-decided-once",
        ],
    ),
    row(
        HostFault::ShapeWrongType,
        &[
            "shape.host",
            "order/host-and-clients-agree-at-the-end",
            "reconnect/turn-ended-while-away",
            "reconnect/turn-is-caught-up-in-the-middle",
            "reconnect/turn-too-long-for-a-replay",
            "turns/reasoning-is-kept-apart-from-text",
        ],
    ),
    row(HostFault::NullOptional, &["shape.null-optional"]),
    row(
        HostFault::BadSessionUriAccepted,
        &["sessions/bad-session-uris-are-refused", "sessions/the-root-channel-is-no-session"],
    ),
    row(HostFault::BatchCloses, &["jsonrpc/batches-do-no-harm"]),
    row(HostFault::UnaskedResponseCloses, &["jsonrpc/unasked-responses-are-ignored"]),
    row(
        HostFault::BadFrameEndsAll,
        &["jsonrpc/binary-frames-harm-nobody-else", "jsonrpc/huge-frames-harm-nobody-else"],
    ),
    row(
        HostFault::AnswersMixedUp,
        &[
            "jsonrpc.alive",
            "jsonrpc.answered-once",
            "jsonrpc/equal-ids-of-two-clients-are-kept-apart",
            "mcp/three-calls-are-kept-apart",
        ],
    ),
    row(
        HostFault::ExtensionsRefused,
        &["jsonrpc/unknown-members-are-ignored", "handshake/unknown-members-are-ignored"],
    ),
    row(HostFault::UsageDropped, &["turns/usage-is-kept"]),
    row(HostFault::DenialReasonDropped, &["state.snapshot-agrees", "tools/denial-says-why"]),
    row(
        HostFault::SubscribeJoins,
        &[
            "clients.own-entry",
            "state.snapshot-agrees",
            "subscriptions/subscribing-changes-nothing",
        ],
    ),
    row(HostFault::DisposeTakesAll, &["sessions.list-agrees", "dispatch.settled-once"]),
    row(
        HostFault::AcceptsUnfitDecision,
        &[
            "tools/input-that-cannot-be-edited-stays",
            "tools/option-has-to-be-offered",
            "tools/option-has-to-fit-the-decision",
        ],
    ),
    row(
        HostFault::AcceptsAgentMessages,
        &[
            "queue/only-users-queue",
            "turns/only-users-start-turns",
            "steering/only-users-steer",
            "metadata/a-draft-is-stored-and-cleared",
        ],
    ),
    row(
        HostFault::ClientSeqMustGrow,
        &[
            "dispatch.settled-once",
            "dispatch/client-numbers-are-the-clients-own",
            "dispatch/odd-dispatches-spoil-nothing",
        ],
    ),
    row(
        HostFault::OriginFromClient,
        &["dispatch.no-forged-origin", "dispatch/origins-cannot-be-forged"],
    ),
    row(HostFault::UnknownActionCloses, &["untested:dispatch/unknown-actions-do-no-harm"]),
    row(HostFault::NumberlessDispatchTaken, &["dispatch/an-action-needs-a-number"]),
    row(HostFault::HandshakeSeqZero, &["sequence.real-time", "handshake/server-seq-is-current"]),
    row(HostFault::TurnDiesWithClient, &["reconnect/turn-waits-for-its-only-client"]),
    row(
        HostFault::SessionsMixed,
        &["fanout.subscribed-only", "subscriptions/sessions-are-kept-apart"],
    ),
    row(HostFault::UnassignedErrorCode, &["jsonrpc.error-code"]),
    row(
        HostFault::QueueOvertakesTurn,
        &[
            "turns.one-active",
            "turns.one-end",
            "queue/*",
            "queue/waits-while-a-call-waits",
            "queue/waits-while-a-question-waits",
        ],
    ),
    row(HostFault::PartIdReused, &["turns.unique-parts"]),
    row(HostFault::ReadyHeldBack, &["turns.after-ready"]),
    row(HostFault::DurationTooLong, &["turns.times"]),
    row(HostFault::CopiesShallow, &["resources/folders-go-whole-and-back"]),
    row(HostFault::TerminalFolderIgnored, &["terminals/each-has-its-folder-and-its-words"]),
    row(HostFault::ResolvesForAnybody, &["metadata/the-configuration-to-be-is-resolved"]),
    row(HostFault::ZeroMeansNow, &["reconnect/from-the-very-beginning"]),
    row(HostFault::StrangersUnsubscribe, &["reconnect/a-stranger-is-no-client-that-was-here"]),
    row(HostFault::IdsWithoutSign, &["jsonrpc/odd-ids-are-echoed-or-refused"]),
    row(HostFault::CommandPrefixUnkept, &["terminals/a-command-is-a-turn-of-its-own"]),
];
