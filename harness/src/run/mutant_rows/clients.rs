//! The rows of the kill matrix for faults of the reference client that affect its handshakes, its states or its
//! requests.

use crate::peer::reference::fault::Fault;
use crate::run::kills::KillRow;

/// One row for each fault, derived from the effect of the fault on the claims of the scenarios.
pub const ROWS: &[KillRow<Fault>] = &[
    KillRow {
        fault: Fault::RejectionsApplied,
        trips: &[
            "client/state/a-foreign-rejection-with-the-own-clientseq-settles-nothing",
            "client/state/a-rejection-among-accepted-actions-is-left-out",
            "client/state/a-rejection-without-an-origin-changes-nothing",
            "client/state/foreign-rejection-changes-nothing",
            "client/subscribe/a-rejection-comes-before-the-snapshot",
        ],
    },
    KillRow {
        fault: Fault::OwnRejectionsApplied,
        trips: &[
            "client/state/a-rejected-turn-never-was",
            "client/state/a-rejection-uncovers-the-foreign-action-below",
            "client/state/all-own-actions-are-rejected",
            "client/state/an-own-rejection-comes-between-two-echoes",
            "client/state/an-own-rejection-comes-first-of-three",
            "client/state/an-own-rejection-comes-last-of-three",
            "client/state/an-own-rejection-is-not-applied",
            "client/state/of-two-equal-actions-the-first-is-rejected",
            "client/state/the-same-clientseq-of-another-client-settles-nothing",
        ],
    },
    KillRow {
        fault: Fault::OwnRejectionsIgnored,
        trips: &[
            "client/state/a-rejected-turn-never-was",
            "client/state/a-rejection-uncovers-the-foreign-action-below",
            "client/state/all-own-actions-are-rejected",
            "client/state/an-own-rejection-comes-between-two-echoes",
            "client/state/an-own-rejection-comes-first-of-three",
            "client/state/an-own-rejection-comes-last-of-three",
            "client/state/an-own-rejection-is-not-applied",
            "client/state/of-two-equal-actions-the-first-is-rejected",
            "client/state/the-same-clientseq-of-another-client-settles-nothing",
        ],
    },
    KillRow {
        fault: Fault::OldApplied,
        trips: &[
            "client/subscribe/an-older-action-comes-after-the-snapshot",
            "client/subscribe/an-older-action-comes-between-newer-ones",
            "client/subscribe/the-action-with-the-number-of-the-snapshot-comes-after-it",
        ],
    },
    KillRow {
        fault: Fault::EarlyDropped,
        trips: &[
            "client/subscribe/a-newer-action-comes-before-the-snapshot",
            "client/subscribe/early-actions-of-two-channels-stay-apart",
            "client/subscribe/older-and-newer-actions-come-before-the-snapshot",
            "client/subscribe/three-newer-actions-come-before-the-snapshot",
        ],
    },
    KillRow {
        fault: Fault::EarlyApplied,
        trips: &[
            "client/subscribe/a-newer-action-comes-before-the-snapshot",
            "client/subscribe/an-older-action-comes-before-the-snapshot",
            "client/subscribe/older-and-newer-actions-come-before-the-snapshot",
            "client/subscribe/the-action-with-the-number-of-the-snapshot-comes-before-it",
            "client/subscribe/three-newer-actions-come-before-the-snapshot",
        ],
    },
    KillRow {
        fault: Fault::ReconnectSnapshotsIgnored,
        trips: &[
            "client/reconnect/snapshots-of-the-root-count",
            "client/reconnect/snapshots-replace-the-state",
            "client/reconnect/snapshots-replace-what-is-pending",
        ],
    },
    KillRow {
        fault: Fault::PendingKept,
        trips: &[
            "client/reconnect/a-pending-action-is-in-the-replay",
            "client/reconnect/a-pending-action-is-not-in-the-replay",
            "client/reconnect/a-pending-action-is-rejected-while-the-client-is-away",
            "client/reconnect/of-three-pending-actions-the-host-knows-one",
            "client/reconnect/snapshots-replace-what-is-pending",
            "client/reconnect/the-host-has-forgotten-the-client",
            "client/reconnect/the-replay-settles-an-action-with-another-payload",
        ],
    },
    KillRow {
        fault: Fault::MatchesByContent,
        trips: &[
            "client/state/a-null-origin-settles-nothing",
            "client/state/the-same-content-from-another-client-is-no-echo",
        ],
    },
    KillRow {
        fault: Fault::SettlesTheOldest,
        trips: &[
            "client/reconnect/an-action-after-a-lost-one-is-settled",
            "client/state/an-action-that-is-never-settled-holds-up-no-other",
        ],
    },
    KillRow {
        fault: Fault::OwnPayloadKept,
        trips: &[
            "client/state/an-echo-with-another-payload-wins",
            "client/state/the-middle-echo-has-another-payload",
        ],
    },
    KillRow {
        fault: Fault::ForeignDropped,
        trips: &[
            "client/state/a-foreign-action-comes-under-a-pending-one",
            "client/state/a-foreign-action-on-the-same-member-is-confirmed-below",
        ],
    },
    KillRow {
        fault: Fault::EchoIgnored,
        trips: &[
            "client/state/a-foreign-action-on-the-same-member-is-confirmed-below",
            "client/state/a-foreign-rejection-with-the-own-clientseq-settles-nothing",
            "client/state/an-accepted-action-of-the-client-shows",
            "client/state/an-echo-appends-once",
            "client/state/an-echo-comes-behind-fifty-actions-of-the-host",
            "client/state/an-echo-settles-the-own-action",
            "client/state/the-same-content-from-another-client-is-no-echo",
        ],
    },
    KillRow {
        fault: Fault::UnknownActionsUncounted,
        trips: &[
            "client/reconnect/an-unknown-action-counts-for-the-reconnect",
            "client/reconnect/an-unknown-action-of-the-root-counts",
        ],
    },
    KillRow {
        fault: Fault::SnapshotsUncounted,
        trips: &[
            "clients.last-seen",
            "client/reconnect/replayed-actions-of-the-root-count",
            "client/reconnect/snapshots-of-the-root-count",
            "client/reconnect/the-connection-ends-again-after-a-replay",
            "client/reconnect/the-connection-ends-again-after-snapshots",
            "client/reconnect/the-number-of-a-snapshot-counts",
            "client/reconnect/the-number-of-the-handshake-counts",
        ],
    },
    KillRow {
        fault: Fault::LastSeenStale,
        trips: &[
            "client/reconnect/numbers-of-an-earlier-session-do-not-count",
            "clients.last-seen",
            "client/growth/unknown-members-lose-no-number",
            "client/growth/unknown-notifications-lose-no-number",
            "client/lists/changes-of-unknown-sessions-lose-no-number",
            "client/malice/actions-of-foreign-channels-lose-no-number",
            "client/malice/an-action-without-a-number",
            "client/malice/binary-frames-lose-no-number",
            "client/malice/frames-that-are-no-messages",
            "client/malice/members-of-the-wrong-type",
            "client/malice/responses-to-nothing-lose-no-number",
            "client/reconnect/a-missing-channel-spoils-no-other",
            "client/reconnect/a-reconnect-without-an-answer-is-repeated",
            "client/reconnect/actions-of-the-root-count",
            "client/reconnect/actions-right-behind-the-handshake-count",
            "client/reconnect/an-unknown-action-of-the-root-counts",
            "client/reconnect/nothing-was-missed",
            "client/reconnect/one-missed-action-is-replayed",
            "client/reconnect/refused-connections-change-no-number",
            "client/reconnect/replayed-actions-of-the-root-count",
            "client/reconnect/snapshots-of-the-root-count",
            "client/reconnect/the-connection-ends-again-after-a-replay",
            "client/reconnect/the-connection-ends-again-after-snapshots",
            "client/reconnect/the-host-refuses-connections-for-a-while",
            "client/reconnect/the-number-of-a-snapshot-counts",
            "client/reconnect/the-number-of-the-handshake-counts",
            "client/responses/an-unknown-error-of-a-list-is-survived",
        ],
    },
    KillRow {
        fault: Fault::LastSeenAhead,
        trips: &[
            "client/reconnect/numbers-of-an-earlier-session-do-not-count",
            "clients.last-seen",
            "client/growth/unknown-members-lose-no-number",
            "client/growth/unknown-notifications-lose-no-number",
            "client/lists/changes-of-unknown-sessions-lose-no-number",
            "client/malice/actions-of-foreign-channels-lose-no-number",
            "client/malice/an-action-without-a-number",
            "client/malice/binary-frames-lose-no-number",
            "client/malice/frames-that-are-no-messages",
            "client/malice/members-of-the-wrong-type",
            "client/malice/responses-to-nothing-lose-no-number",
            "client/reconnect/a-missing-channel-spoils-no-other",
            "client/reconnect/a-reconnect-without-an-answer-is-repeated",
            "client/reconnect/actions-of-the-root-count",
            "client/reconnect/actions-right-behind-the-handshake-count",
            "client/reconnect/an-unknown-action-of-the-root-counts",
            "client/reconnect/nothing-was-missed",
            "client/reconnect/one-missed-action-is-replayed",
            "client/reconnect/refused-connections-change-no-number",
            "client/reconnect/replayed-actions-of-the-root-count",
            "client/reconnect/snapshots-of-the-root-count",
            "client/reconnect/the-connection-ends-again-after-a-replay",
            "client/reconnect/the-connection-ends-again-after-snapshots",
            "client/reconnect/the-host-refuses-connections-for-a-while",
            "client/reconnect/the-number-of-a-snapshot-counts",
            "client/reconnect/the-number-of-the-handshake-counts",
            "client/responses/an-unknown-error-of-a-list-is-survived",
        ],
    },
    KillRow {
        fault: Fault::ResponsesInOrder,
        trips: &[
            "client/responses/a-snapshot-comes-after-later-responses",
            "client/responses/an-error-comes-before-an-earlier-result",
            "client/responses/two-responses-come-in-the-other-order",
        ],
    },
    KillRow {
        fault: Fault::NullOriginDropped,
        trips: &["client/state/a-null-origin-is-the-hosts"],
    },
    KillRow {
        fault: Fault::UnknownStatusReplaced,
        trips: &[
            "client/growth/an-unknown-kind-of-message-stays",
            "client/growth/an-unknown-kind-of-part-stays",
            "client/growth/an-unknown-lifecycle-stays",
        ],
    },
    KillRow {
        fault: Fault::StatusBitsLost,
        trips: &[
            "client/growth/unknown-bits-of-a-chats-status-stay",
            "client/growth/unknown-bits-of-a-status-survive-a-turn",
            "client/growth/unknown-bits-of-a-status-stay",
        ],
    },
    KillRow {
        fault: Fault::TurnsCut,
        trips: &["client/subscribe/a-snapshot-has-more-turns-than-requested"],
    },
    KillRow {
        fault: Fault::SnapshotsByPosition,
        trips: &["client/subscribe/the-snapshots-of-the-handshake-come-in-another-order"],
    },
    KillRow {
        fault: Fault::NewMembersClose,
        trips: &[
            "client/growth/unknown-members-of-envelopes-are-ignored",
            "client/growth/unknown-members-of-the-handshake-are-ignored",
        ],
    },
    KillRow {
        fault: Fault::NewMetaCloses,
        trips: &["client/growth/unknown-keys-of-meta-are-ignored"],
    },
    KillRow {
        fault: Fault::NullResultFails,
        trips: &[
            "client/responses/a-null-result-of-a-ping-is-a-success",
            "client/responses/a-null-result-is-a-success",
            "client/responses/a-null-result-of-a-disposal-is-a-success",
        ],
    },
    KillRow {
        fault: Fault::SeqRepeats,
        trips: &["clients.client-seq", "client/reconnect/numbers-of-the-client-go-on"],
    },
    KillRow {
        fault: Fault::IdsRepeat,
        trips: &[
            "clients.request-ids",
            "client/auth/an-error-asks-for-a-token",
            "client/auth/requirements-are-looked-at-after-a-reconnect",
            "client/handshake/software-version-changes-nothing",
            "client/handshake/unknown-meta-is-ignored",
            "client/lists/every-page-is-requested",
            "client/responses/a-snapshot-comes-after-later-responses",
        ],
    },
    KillRow { fault: Fault::AgentMessages, trips: &["clients.user-messages"] },
    KillRow { fault: Fault::StartWithoutTime, trips: &["clients.start-times"] },
    KillRow {
        fault: Fault::ListsFirst,
        trips: &[
            "clients.first-message",
            "client/handshake/begins-with-initialize",
            "client/handshake/refused-connection-is-no-session",
            "client/handshake/unauthorised-connection-is-no-session",
        ],
    },
    KillRow { fault: Fault::OffersTwice, trips: &["clients.offered-versions"] },
    KillRow { fault: Fault::OffersReversed, trips: &["clients.offered-versions"] },
    KillRow {
        fault: Fault::RootNotSubscribed,
        trips: &[
            "clients.root-subscribed",
            "client/handshake/root-is-subscribed",
            "client/reconnect/a-reconnect-without-an-answer-is-repeated",
            "client/reconnect/actions-of-the-root-count",
        ],
    },
    KillRow {
        fault: Fault::MissingKept,
        trips: &[
            "clients.resumed-channels",
            "client/reconnect/a-missing-channel-is-not-resumed-again",
        ],
    },
    KillRow {
        fault: Fault::RefusedKept,
        trips: &[
            "clients.resumed-channels",
            "client/reconnect/a-refused-subscription-is-not-resumed",
        ],
    },
    KillRow {
        fault: Fault::NotListedAgain,
        trips: &[
            "clients.listed-again",
            "client/reconnect/sessions-are-listed-again-unasked",
            "client/reconnect/the-list-is-requested-again",
        ],
    },
    KillRow {
        fault: Fault::UnofferedTaken,
        trips: &["client/handshake/unoffered-version-ends-it"],
    },
    KillRow {
        fault: Fault::RefusalUnreported,
        trips: &["client/handshake/a-refused-handshake-is-reported"],
    },
    KillRow {
        fault: Fault::RetriesSameOffer,
        trips: &[
            "clients.refused-handshake",
            "client/handshake/refused-versions-are-not-tried-again",
        ],
    },
    KillRow {
        fault: Fault::MalformedCloses,
        trips: &[
            "client/malice/binary-frame",
            "client/malice/binary-frames-lose-no-number",
            "client/malice/cut-json",
            "client/malice/deep-nesting",
            "client/malice/empty-batch",
            "client/malice/frames-that-are-no-messages",
        ],
    },
    KillRow {
        fault: Fault::UnknownNotificationCloses,
        trips: &[
            "client/growth/a-notification-of-an-unknown-area-is-ignored",
            "client/growth/an-unknown-notification-is-ignored",
            "client/growth/unknown-notifications-lose-no-number",
        ],
    },
    KillRow {
        fault: Fault::EchoKeepsPending,
        trips: &["client/state/a-foreign-action-after-the-echo-wins"],
    },
    KillRow {
        fault: Fault::ShownStale,
        trips: &["client/state/pending-actions-that-append-are-there-once"],
    },
    KillRow {
        fault: Fault::LateSnapshotsEmpty,
        trips: &["client/subscribe/a-snapshot-of-the-handshake-is-missing"],
    },
    KillRow {
        fault: Fault::OffersWords,
        trips: &["clients.offered-versions", "client/handshake/offers-are-versions"],
    },
    KillRow {
        fault: Fault::OpenRequestsHang,
        trips: &[
            "client/reconnect/an-open-request-fails-with-the-connection",
            "client/reconnect/every-open-request-fails-with-the-connection",
        ],
    },
    KillRow { fault: Fault::ResumesWithNewId, trips: &["client/reconnect/the-first-id-is-used"] },
    KillRow {
        fault: Fault::UnsubscribedKept,
        trips: &[
            "clients.resumed-channels",
            "client/reconnect/unsubscribed-channels-are-not-resumed",
        ],
    },
    KillRow {
        fault: Fault::ForeignOnTop,
        trips: &[
            "client/state/a-foreign-action-on-the-same-member-is-confirmed-below",
            "client/state/an-echo-comes-behind-fifty-actions-of-the-host",
        ],
    },
    KillRow {
        fault: Fault::OldNumbersKept,
        trips: &["client/reconnect/the-host-begins-with-lower-numbers"],
    },
    KillRow {
        fault: Fault::ReplayIgnored,
        trips: &[
            "client/reconnect/a-missing-channel-spoils-no-other",
            "client/reconnect/a-pending-action-is-in-the-replay",
            "client/reconnect/a-pending-action-is-rejected-while-the-client-is-away",
            "client/reconnect/a-turn-goes-on-while-the-client-is-away",
            "client/reconnect/many-missed-actions-are-replayed",
            "client/reconnect/of-three-pending-actions-the-host-knows-one",
            "client/reconnect/one-missed-action-is-replayed",
            "client/reconnect/replayed-actions-of-the-root-count",
            "client/reconnect/the-connection-ends-again-after-snapshots",
            "client/reconnect/the-connection-ends-again-before-the-answer",
            "client/reconnect/the-host-refuses-connections-for-a-while",
            "client/reconnect/the-replay-settles-an-action-with-another-payload",
        ],
    },
    KillRow {
        fault: Fault::UnknownActionCloses,
        trips: &[
            "client/growth/an-action-of-an-unknown-family-changes-nothing",
            "client/growth/an-unknown-action-changes-nothing",
            "client/malice/actions-of-foreign-channels-lose-no-number",
            "client/malice/members-of-the-wrong-type",
        ],
    },
    KillRow {
        fault: Fault::LateActionCloses,
        trips: &["client/subscribe/an-action-comes-after-the-unsubscription"],
    },
    KillRow {
        fault: Fault::LateActionApplied,
        trips: &["client/subscribe/an-action-comes-after-the-unsubscription"],
    },
    KillRow {
        fault: Fault::UnknownErrorSucceeds,
        trips: &[
            "client/responses/an-unknown-error-fails-its-request",
            "client/responses/an-unknown-error-without-an-object-fails-its-request",
        ],
    },
    KillRow {
        fault: Fault::NoSnapshotAgain,
        trips: &["client/subscribe/a-subscription-without-a-snapshot-succeeds"],
    },
    KillRow {
        fault: Fault::TurnsLoadedTwice,
        trips: &[
            "client/subscribe/older-turns-are-loaded-once",
            "client/subscribe/older-turns-are-loaded-while-a-turn-goes-on",
            "client/subscribe/overlapping-turns-are-there-once",
        ],
    },
    KillRow { fault: Fault::InputPredicted, trips: &["client/state/typed-input-is-not-predicted"] },
    KillRow {
        fault: Fault::OperationPredicted,
        trips: &["client/state/an-operation-is-not-predicted"],
    },
    KillRow {
        fault: Fault::ReviewKept,
        trips: &["client/state/a-file-without-a-mark-is-not-reviewed"],
    },
    KillRow {
        fault: Fault::NotJoinedAgain,
        trips: &["client/reconnect/a-removed-client-joins-again"],
    },
    KillRow {
        fault: Fault::ResumesUnopened,
        trips: &[
            "client/handshake/refused-connection-is-no-session",
            "client/handshake/the-first-answer-is-lost",
            "client/handshake/unauthorised-connection-is-no-session",
        ],
    },
    KillRow {
        fault: Fault::SoftwareVersionBreaks,
        trips: &["client/handshake/software-version-changes-nothing"],
    },
    KillRow {
        fault: Fault::UnknownMetaBreaks,
        trips: &["client/handshake/unknown-meta-is-ignored"],
    },
    KillRow {
        fault: Fault::StrayAnswerBreaks,
        trips: &[
            "client/malice/answer-to-nothing",
            "client/malice/answered-twice",
            "client/malice/responses-to-nothing-lose-no-number",
        ],
    },
    KillRow {
        fault: Fault::ForeignActionBreaks,
        trips: &[
            "client/malice/action-of-a-foreign-channel",
            "client/malice/actions-of-foreign-channels-lose-no-number",
            "client/malice/members-of-the-wrong-type",
        ],
    },
    KillRow {
        fault: Fault::VersionlessBreaks,
        trips: &[
            "client/malice/frames-that-are-no-messages",
            "client/malice/message-without-jsonrpc",
        ],
    },
    KillRow { fault: Fault::HugeFrameBreaks, trips: &["client/malice/huge-frame"] },
    KillRow {
        fault: Fault::SettlesOtherChannels,
        trips: &["client/state/an-echo-settles-nothing-on-another-channel"],
    },
    KillRow {
        fault: Fault::EmptyReasonAccepted,
        trips: &["client/state/an-empty-reason-is-a-rejection"],
    },
];
