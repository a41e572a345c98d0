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
        &["jsonrpc/wrong-parameters-are-refused", "reconnect/incomplete-reconnects-are-refused"],
    ),
    row(
        Fault::StringIdMangled,
        &["jsonrpc.alive", "jsonrpc.no-stray-response", "jsonrpc/ids-come-back-unchanged"],
    ),
    row(Fault::ResponseTwice, &["jsonrpc.answered-once"]),
    row(Fault::ResponseNever, &["jsonrpc.answered-once"]),
    row(Fault::ResultMissing, &["jsonrpc.alive", "jsonrpc.answered-once", "shape.host"]),
    row(Fault::VersionTagMissing, &["shape.host"]),
    row(
        Fault::ParseErrorSilent,
        &["jsonrpc/text-that-is-not-json-is-a-parse-error", "security/deep-frames-are-refused"],
    ),
    row(Fault::ParseErrorCloses, &["jsonrpc/text-that-is-not-json-is-a-parse-error"]),
    row(
        Fault::PingDeadBeforeInitialize,
        &[
            "jsonrpc.alive",
            "untested:handshake/nothing-comes-unasked",
            "handshake/notifications-wait-for-the-handshake",
            "handshake/ping-needs-no-handshake",
        ],
    ),
    row(Fault::ServesBeforeInitialize, &["handshake/requests-wait-for-the-handshake"]),
    row(Fault::SecondInitializeServed, &["handshake/second-handshake-does-no-harm"]),
    row(Fault::VersionPicksFirst, &["handshake/highest-offered-version-wins"]),
    row(
        Fault::VersionNotOffered,
        &[
            "handshake/client-id-is-needed",
            "handshake/unknown-members-are-ignored",
            "handshake/version-is-an-offered-text",
            "handshake/*",
            "reconnect/incomplete-reconnects-are-refused",
        ],
    ),
    row(
        Fault::UnknownVersionAccepted,
        &[
            "handshake/empty-offer-is-refused",
            "handshake/malformed-versions-are-passed-over",
            "handshake/unknown-version-is-refused",
        ],
    ),
    row(Fault::NoSupportedVersions, &["handshake/unknown-version-is-refused"]),
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
            "tools/edited-input-is-what-runs",
            "turns/started-and-completed-for-everybody",
            "turns/*",
            "input/one-answer-counts",
            "order/approval-meets-approval",
            "order/denial-meets-approval",
            "order/denial-meets-denial",
            "order/start-meets-start",
            "order/three-decide-one-counts",
            "queue/consumed-while-its-sender-is-away",
            "tools/parallel-calls-decided-at-once",
            "tools/result-decided-once",
            "subscriptions/merged-deliveries-come-to-the-same-state",
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
            "turns/cancel-stops-the-stream",
            "turns/late-observer-sees-the-part-so-far",
            "turns/reasoning-is-kept-apart-from-text",
        ],
    ),
    row(Fault::NullOptional, &["shape.null-optional"]),
    row(
        Fault::BadSessionUriAccepted,
        &["sessions/bad-session-uris-are-refused", "sessions/the-root-channel-is-no-session"],
    ),
    row(Fault::BatchCloses, &["jsonrpc/batches-do-no-harm"]),
    row(
        Fault::UnaskedResponseCloses,
        &["jsonrpc/unasked-responses-are-ignored", "resources/each-client-is-asked-for-its-own"],
    ),
    row(
        Fault::BadFrameEndsAll,
        &[
            "jsonrpc/binary-frames-harm-nobody-else",
            "jsonrpc/huge-frames-harm-nobody-else",
            "security/frames-without-end-are-refused",
            "security/odd-frames-end-nothing",
        ],
    ),
    row(
        Fault::AnswersMixedUp,
        &[
            "jsonrpc.alive",
            "jsonrpc.answered-once",
            "jsonrpc/equal-ids-of-two-clients-are-kept-apart",
        ],
    ),
    row(
        Fault::ExtensionsRefused,
        &["untested:handshake/unknown-members-are-ignored", "jsonrpc/unknown-members-are-ignored"],
    ),
    row(Fault::UsageDropped, &["turns/usage-is-kept"]),
    row(Fault::DenialReasonDropped, &["state.snapshot-agrees", "tools/denial-says-why"]),
    row(
        Fault::SubscribeJoins,
        &[
            "clients.own-entry",
            "state.snapshot-agrees",
            "sessions/clients-join-as-themselves",
            "subscriptions/subscribing-changes-nothing",
            "tools/tools-change-while-one-runs",
            "reconnect/who-stays-away-is-no-longer-active",
            "sessions/who-leaves-is-no-longer-active",
        ],
    ),
    row(
        Fault::DisposeTakesAll,
        &[
            "untested:automations/*",
            "sessions.list-agrees",
            "dispatch.settled-once",
            "reconnect/what-is-gone-is-missing",
            "sessions/disposing-one-leaves-the-others",
        ],
    ),
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
            "dispatch/unknown-actions-do-no-harm",
        ],
    ),
    row(
        Fault::OriginFromClient,
        &["dispatch.no-forged-origin", "dispatch/origins-cannot-be-forged"],
    ),
    row(Fault::UnknownActionCloses, &["untested:dispatch/unknown-actions-do-no-harm"]),
    row(Fault::NumberlessDispatchTaken, &["dispatch/an-action-needs-a-number"]),
    row(
        Fault::HandshakeSeqZero,
        &[
            "sequence.real-time",
            "handshake/initial-subscriptions-have-snapshots",
            "handshake/server-seq-is-current",
        ],
    ),
    row(
        Fault::TurnDiesWithClient,
        &["reconnect/turn-waits-for-its-only-client", "reconnect/turn-two-come-back"],
    ),
    row(Fault::SessionsMixed, &["fanout.subscribed-only", "subscriptions/sessions-are-kept-apart"]),
    row(
        Fault::UnassignedErrorCode,
        &[
            "jsonrpc.error-code",
            "sessions/a-uri-in-use-is-refused",
            "sessions/of-two-at-once-one-is-created",
        ],
    ),
    row(
        Fault::QueueOvertakesTurn,
        &[
            "turns.one-active",
            "turns.one-end",
            "order/one-client-keeps-its-order",
            "queue/*",
            "queue/waits-while-a-call-waits",
            "queue/waits-while-a-question-waits",
            "steering/queue-and-steering-are-apart",
        ],
    ),
    row(Fault::PartIdReused, &["turns.unique-parts", "tools/parts-stay-in-order"]),
    row(Fault::ReadyHeldBack, &["turns.after-ready"]),
    row(Fault::DurationTooLong, &["turns.times"]),
];
