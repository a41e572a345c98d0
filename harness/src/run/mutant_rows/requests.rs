//! Rows of faults in the answers to requests and in handshakes.

use crate::host::fault::Fault;
use crate::run::mutants::Row;

use super::row;

/// In the order of the faults.
pub(super) const ROWS: &[Row] = &[
    row(Fault::ErrorWithoutMessage, &["shape.host", "jsonrpc/unknown-methods-are-refused"]),
    row(
        Fault::UnknownMethodSilent,
        &[
            "jsonrpc.answered-once",
            "jsonrpc/ids-come-back-unchanged",
            "jsonrpc/pipelined-requests-are-each-answered",
            "jsonrpc/unknown-methods-are-refused",
        ],
    ),
    row(
        Fault::BadParamsServed,
        &[
            "jsonrpc/every-request-names-its-channel",
            "jsonrpc/wrong-parameters-are-refused",
            "reconnect/incomplete-reconnects-are-refused",
        ],
    ),
    row(
        Fault::StringIdMangled,
        &["jsonrpc.alive", "jsonrpc.no-stray-response", "jsonrpc/ids-come-back-unchanged"],
    ),
    row(Fault::ResponseTwice, &["jsonrpc.answered-once"]),
    row(Fault::ResponseNever, &["jsonrpc.answered-once"]),
    row(Fault::ResultMissing, &["jsonrpc.alive", "jsonrpc.answered-once", "shape.host"]),
    row(Fault::VersionTagMissing, &["shape.host"]),
    row(Fault::CharactersHalved, &["shape.host", "turns/text-arrives-whole"]),
    row(Fault::ParseErrorSilent, &["jsonrpc/text-that-is-not-json-is-a-parse-error"]),
    row(Fault::ParseErrorCloses, &["jsonrpc/text-that-is-not-json-is-a-parse-error"]),
    row(
        Fault::PingDeadBeforeInitialize,
        &[
            "jsonrpc.alive",
            "untested:handshake/nothing-comes-unasked",
            "handshake/ping-needs-no-handshake",
        ],
    ),
    row(
        Fault::ServesBeforeInitialize,
        &["handshake.agreed", "handshake/requests-wait-for-the-handshake"],
    ),
    row(Fault::SecondInitializeServed, &["handshake/second-handshake-does-no-harm"]),
    row(Fault::VersionPicksFirst, &["handshake/highest-offered-version-wins"]),
    row(
        Fault::VersionNotOffered,
        &["handshake.agreed", "handshake/version-is-an-offered-text", "handshake/*"],
    ),
    row(
        Fault::UnknownVersionAccepted,
        &[
            "handshake/empty-offer-is-refused",
            "handshake/malformed-versions-are-passed-over",
            "handshake/unknown-version-is-refused",
        ],
    ),
    row(
        Fault::NoSupportedVersions,
        &["handshake.refusal", "handshake/a-refusal-names-the-versions"],
    ),
    row(Fault::UnsupportedStaysOpen, &["handshake/unknown-version-is-refused"]),
    row(
        Fault::NewerActionsSent,
        &["fanout.known-actions", "handshake/older-clients-get-older-actions"],
    ),
    row(
        Fault::ShapeMissingRequired,
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
        Fault::ShapeWrongType,
        &[
            "shape.host",
            "order/host-and-clients-agree-at-the-end",
            "reconnect/turn-ended-while-away",
            "reconnect/turn-is-caught-up-in-the-middle",
            "reconnect/turn-too-long-for-a-replay",
            "turns/reasoning-is-kept-apart-from-text",
        ],
    ),
    row(Fault::NullOptional, &["shape.null-optional"]),
    row(
        Fault::BadSessionUriAccepted,
        &["sessions/bad-session-uris-are-refused", "sessions/the-root-channel-is-no-session"],
    ),
    row(Fault::BatchCloses, &["jsonrpc/batches-do-no-harm"]),
    row(Fault::UnaskedResponseCloses, &["jsonrpc/unasked-responses-are-ignored"]),
    row(
        Fault::BadFrameEndsAll,
        &["jsonrpc/binary-frames-harm-nobody-else", "jsonrpc/huge-frames-harm-nobody-else"],
    ),
    row(
        Fault::AnswersMixedUp,
        &[
            "jsonrpc.alive",
            "jsonrpc.answered-once",
            "jsonrpc/equal-ids-of-two-clients-are-kept-apart",
            "mcp/three-calls-are-kept-apart",
        ],
    ),
    row(
        Fault::ExtensionsRefused,
        &["jsonrpc/unknown-members-are-ignored", "handshake/unknown-members-are-ignored"],
    ),
    row(Fault::UsageDropped, &["turns/usage-is-kept"]),
    row(Fault::DenialReasonDropped, &["state.snapshot-agrees", "tools/denial-says-why"]),
    row(
        Fault::SubscribeJoins,
        &[
            "clients.own-entry",
            "state.snapshot-agrees",
            "subscriptions/subscribing-changes-nothing",
        ],
    ),
    row(Fault::DisposeTakesAll, &["sessions.list-agrees", "dispatch.settled-once"]),
    row(
        Fault::AcceptsUnfitDecision,
        &[
            "tools/input-that-cannot-be-edited-stays",
            "tools/option-has-to-be-offered",
            "tools/option-has-to-fit-the-decision",
        ],
    ),
    row(
        Fault::AcceptsAgentMessages,
        &[
            "queue/only-users-queue",
            "turns/only-users-start-turns",
            "steering/only-users-steer",
            "metadata/a-draft-is-stored-and-cleared",
        ],
    ),
    row(
        Fault::ClientSeqMustGrow,
        &[
            "dispatch.settled-once",
            "dispatch/client-numbers-are-the-clients-own",
            "dispatch/odd-dispatches-spoil-nothing",
        ],
    ),
    row(
        Fault::OriginFromClient,
        &["dispatch.no-forged-origin", "dispatch/origins-cannot-be-forged"],
    ),
    row(Fault::UnknownActionCloses, &["untested:dispatch/unknown-actions-do-no-harm"]),
    row(Fault::NumberlessDispatchTaken, &["dispatch/an-action-needs-a-number"]),
    row(Fault::HandshakeSeqZero, &["sequence.real-time", "handshake/server-seq-is-current"]),
    row(Fault::TurnDiesWithClient, &["reconnect/turn-waits-for-its-only-client"]),
    row(Fault::SessionsMixed, &["fanout.subscribed-only", "subscriptions/sessions-are-kept-apart"]),
    row(Fault::UnassignedErrorCode, &["jsonrpc.error-code"]),
    row(
        Fault::QueueOvertakesTurn,
        &[
            "turns.one-active",
            "turns.one-end",
            "queue/*",
            "queue/waits-while-a-call-waits",
            "queue/waits-while-a-question-waits",
        ],
    ),
    row(Fault::PartIdReused, &["turns.unique-parts"]),
    row(Fault::ReadyHeldBack, &["turns.after-ready"]),
    row(Fault::DurationTooLong, &["turns.times"]),
    row(Fault::CopiesShallow, &["resources/folders-go-whole-and-back"]),
    row(Fault::TerminalFolderIgnored, &["terminals/each-has-its-folder-and-its-words"]),
    row(Fault::ResolvesForAnybody, &["metadata/the-configuration-to-be-is-resolved"]),
    row(Fault::ZeroMeansNow, &["reconnect/from-the-very-beginning"]),
    row(Fault::StrangersUnsubscribe, &["reconnect/a-stranger-is-no-client-that-was-here"]),
    row(Fault::IdsWithoutSign, &["jsonrpc/odd-ids-are-echoed-or-refused"]),
    row(Fault::CommandPrefixUnkept, &["terminals/a-command-is-a-turn-of-its-own"]),
];
