//! Rows of faults in authentication and challenges, at the door, in telemetry, in what errors say, in what bounds a client, in what
//! is odd about a disk, in schedules, and in what a host has to leave alone.

use crate::host::fault::Fault;
use crate::run::mutants::Row;

use super::row;

/// In the order of the faults.
pub(super) const ROWS: &[Row] = &[
    row(
        Fault::AgentsUnprotected,
        &["auth/a-protected-agent-asks-for-a-token", "auth/an-empty-token-takes-it-back"],
    ),
    row(
        Fault::AdvertisedUnknown,
        &[
            "auth/a-token-ends-with-its-lifetime",
            "auth/a-token-is-for-one-connection",
            "auth/a-token-opens-the-agent",
            "auth/an-empty-token-takes-it-back",
            "auth/an-invalid-token-is-refused",
        ],
    ),
    row(Fault::InvalidTokenTaken, &["auth/an-invalid-token-is-refused"]),
    row(Fault::TokensShared, &["auth/a-token-is-for-one-connection"]),
    row(Fault::TokensNotTakenBack, &["auth/an-empty-token-takes-it-back"]),
    row(Fault::LifetimeIgnored, &["auth/a-token-ends-with-its-lifetime"]),
    row(Fault::OptionalDemanded, &["auth/what-is-optional-is-not-asked-for"]),
    row(
        Fault::AuthWithoutResources,
        &[
            "shape.host",
            "auth/a-protected-agent-asks-for-a-token",
            "auth/a-token-ends-with-its-lifetime",
            "auth/an-empty-token-takes-it-back",
        ],
    ),
    row(
        Fault::AuthCodeWrong,
        &[
            "auth/a-protected-agent-asks-for-a-token",
            "auth/a-token-ends-with-its-lifetime",
            "auth/an-empty-token-takes-it-back",
        ],
    ),
    row(Fault::ExpiryToldToAll, &["auth/a-token-ends-with-its-lifetime"]),
    row(
        Fault::ExpiryMisshapen,
        &[
            "shape.host",
            "auth/a-token-ends-with-its-lifetime",
            "auth/an-agent-asks-for-a-token-by-itself",
        ],
    ),
    row(
        Fault::TelemetryForAll,
        &["fanout.notifications-subscribed", "telemetry/a-turn-is-told-to-who-listens"],
    ),
    row(Fault::LevelIgnored, &["telemetry.level", "telemetry/levels-are-kept-apart"]),
    row(Fault::TelemetryUncorrelated, &["telemetry/a-turn-is-told-to-who-listens"]),
    row(
        Fault::TelemetryMisplaced,
        &["telemetry.payload", "telemetry/spans-and-measurements-come-apart"],
    ),
    row(
        Fault::TelemetryUnfolded,
        &[
            "telemetry.payload",
            "telemetry/a-turn-is-told-to-who-listens",
            "telemetry/an-unknown-level-does-no-harm",
        ],
    ),
    row(Fault::TelemetryReplayed, &["telemetry/what-was-missed-is-not-told"]),
    row(Fault::TelemetryWithState, &["telemetry/channels-have-no-state"]),
    row(
        Fault::TelemetryRenamed,
        &["fanout.notifications-subscribed", "telemetry/a-turn-is-told-to-who-listens"],
    ),
    row(Fault::StacksTold, &["errors.no-internals"]),
    row(Fault::AppsForAll, &["mcp/apps-need-a-client-that-shows-them"]),
    row(Fault::GoneStayActive, &["reconnect/who-stays-away-is-no-longer-active"]),
    row(Fault::PreferenceIgnored, &["handshake/the-first-offer-is-preferred"]),
    row(Fault::OldClientsSlighted, &["handshake/what-a-client-is-called-changes-nothing"]),
    row(Fault::ScrollbackEndless, &["terminals/a-flood-of-output-is-bounded"]),
    row(Fault::DeepServed, &["security/deep-frames-are-refused"]),
    row(Fault::HugeServed, &["jsonrpc.answered-once", "security/frames-without-end-are-refused"]),
    row(
        Fault::FloodsStarve,
        &[
            "jsonrpc.alive",
            "jsonrpc.answered-once",
            "security/a-flood-of-requests-starves-nobody",
            "security/one-client-cannot-take-all-subscriptions",
        ],
    ),
    row(
        Fault::SlowReadersLose,
        &[
            "fanout.complete",
            "transport/a-slow-reader-loses-nothing",
            "terminals/a-late-reader-holds-up-nobody",
        ],
    ),
    row(
        Fault::AsksTheOtherClient,
        &["resources.right-client", "resources/each-client-is-asked-for-its-own"],
    ),
    row(Fault::IdsMixedUp, &["jsonrpc.alive", "resources/each-client-is-asked-for-its-own"]),
    row(Fault::PrimaryRemoved, &["metadata/the-first-directory-is-replaced"]),
    row(Fault::ReplacementUnchecked, &["metadata/the-first-directory-is-replaced"]),
    row(Fault::OddFramesEndAll, &["jsonrpc/*", "security/odd-frames-end-nothing"]),
    row(Fault::DoorOpen, &["security/strangers-are-not-served", "security/strangers-stay-outside"]),
    row(Fault::DoorLate, &["security/strangers-stay-outside"]),
    row(Fault::ClientIdTaken, &["security/a-client-id-has-one-owner"]),
    row(Fault::ClientIdResumed, &["security/nobody-comes-back-as-another"]),
    row(Fault::OriginIgnored, &["security/pages-of-others-stay-outside"]),
    row(Fault::SettingsUnguarded, &["security/what-guards-everybody-is-the-owners"]),
    row(Fault::ChallengeUnseen, &["input.rollup-complete"]),
    row(Fault::ChallengeStays, &["input.rollup-stale"]),
    row(Fault::StopKeepsInput, &["mcp/a-stopped-server-asks-for-nothing"]),
    row(Fault::LinksFollowed, &["resources/links-lead-nowhere"]),
    row(Fault::PipesHang, &["jsonrpc.alive", "resources/what-never-ends-holds-up-nobody"]),
    row(Fault::LargeReadsHang, &["resources/what-is-large-holds-up-nobody"]),
    row(
        Fault::CanvasUrlLogged,
        &["telemetry.no-canvas-address", "canvases/its-address-is-not-logged"],
    ),
    row(
        Fault::CronNarrow,
        &[
            "automations/every-schedule-of-the-grammar-is-taken",
            "automations/frequent-schedules-are-taken-too",
        ],
    ),
    row(Fault::CronAnything, &["automations/what-is-no-schedule-is-refused"]),
    row(Fault::UnknownKindsDropped, &["state.snapshot-agrees", "metadata/kinds-of-later-are-kept"]),
    row(Fault::ExtensionsNeeded, &["dispatch/every-payload-is-checked"]),
    row(Fault::ConditionsRepeat, &["automations/runs-that-are-asked-for-do-not-count"]),
];
