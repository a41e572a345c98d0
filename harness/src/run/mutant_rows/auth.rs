//! The rows of the kill matrix for faults in authentication and challenges, connection checks, telemetry, error
//! messages, limits for clients, unusual files and schedules, and of faults that change values that a host must not
//! change.

use crate::host::fault::HostFault;
use crate::run::mutants::MutantRow;

use super::row;

/// The rows, in the order of the faults.
pub(super) const ROWS: &[MutantRow] = &[
    row(
        HostFault::AgentsUnprotected,
        &["auth/a-protected-agent-asks-for-a-token", "auth/an-empty-token-takes-it-back"],
    ),
    row(
        HostFault::AdvertisedUnknown,
        &[
            "auth/a-token-ends-with-its-lifetime",
            "auth/a-token-is-for-one-connection",
            "auth/a-token-opens-the-agent",
            "auth/an-empty-token-takes-it-back",
            "auth/an-invalid-token-is-refused",
        ],
    ),
    row(HostFault::InvalidTokenTaken, &["auth/an-invalid-token-is-refused"]),
    row(HostFault::TokensShared, &["auth/a-token-is-for-one-connection"]),
    row(HostFault::TokensNotTakenBack, &["auth/an-empty-token-takes-it-back"]),
    row(HostFault::LifetimeIgnored, &["auth/a-token-ends-with-its-lifetime"]),
    row(HostFault::OptionalDemanded, &["auth/what-is-optional-is-not-asked-for"]),
    row(
        HostFault::AuthWithoutResources,
        &[
            "shape.host",
            "auth/a-protected-agent-asks-for-a-token",
            "auth/a-token-ends-with-its-lifetime",
            "auth/an-empty-token-takes-it-back",
        ],
    ),
    row(
        HostFault::AuthCodeWrong,
        &[
            "auth/a-protected-agent-asks-for-a-token",
            "auth/a-token-ends-with-its-lifetime",
            "auth/an-empty-token-takes-it-back",
        ],
    ),
    row(HostFault::ExpiryToldToAll, &["auth/a-token-ends-with-its-lifetime"]),
    row(
        HostFault::ExpiryMisshapen,
        &[
            "shape.host",
            "auth/a-token-ends-with-its-lifetime",
            "auth/an-agent-asks-for-a-token-by-itself",
        ],
    ),
    row(
        HostFault::TelemetryForAll,
        &["fanout.notifications-subscribed", "telemetry/a-turn-is-told-to-who-listens"],
    ),
    row(HostFault::LevelIgnored, &["telemetry.level", "telemetry/levels-are-kept-apart"]),
    row(HostFault::TelemetryUncorrelated, &["telemetry/a-turn-is-told-to-who-listens"]),
    row(
        HostFault::TelemetryMisplaced,
        &["telemetry.payload", "telemetry/spans-and-measurements-come-apart"],
    ),
    row(
        HostFault::TelemetryUnfolded,
        &[
            "telemetry.payload",
            "telemetry/a-turn-is-told-to-who-listens",
            "telemetry/an-unknown-level-does-no-harm",
        ],
    ),
    row(HostFault::TelemetryReplayed, &["telemetry/what-was-missed-is-not-told"]),
    row(HostFault::TelemetryWithState, &["telemetry/channels-have-no-state"]),
    row(
        HostFault::TelemetryRenamed,
        &["fanout.notifications-subscribed", "telemetry/a-turn-is-told-to-who-listens"],
    ),
    row(HostFault::StacksTold, &["errors.no-internals"]),
    row(HostFault::AppsForAll, &["mcp/apps-need-a-client-that-shows-them"]),
    row(HostFault::GoneStayActive, &["reconnect/who-stays-away-is-no-longer-active"]),
    row(HostFault::PreferenceIgnored, &["handshake/the-first-offer-is-preferred"]),
    row(HostFault::OldClientsSlighted, &["handshake/what-a-client-is-called-changes-nothing"]),
    row(HostFault::ScrollbackEndless, &["terminals/a-flood-of-output-is-bounded"]),
    row(HostFault::DeepServed, &["security/deep-frames-are-refused"]),
    row(
        HostFault::HugeServed,
        &["jsonrpc.answered-once", "security/frames-without-end-are-refused"],
    ),
    row(
        HostFault::FloodsStarve,
        &[
            "jsonrpc.alive",
            "jsonrpc.answered-once",
            "security/a-flood-of-requests-starves-nobody",
            "security/one-client-cannot-take-all-subscriptions",
        ],
    ),
    row(
        HostFault::SlowReadersLose,
        &[
            "fanout.complete",
            "transport/a-slow-reader-loses-nothing",
            "terminals/a-late-reader-holds-up-nobody",
        ],
    ),
    row(
        HostFault::AsksTheOtherClient,
        &[
            "resources.right-client",
            "resources/each-client-is-asked-for-its-own",
            "resources/a-client-serves-its-folder",
        ],
    ),
    row(
        HostFault::ServerResultsAltered,
        &["mcp/what-a-server-returns-is-passed-on", "mcp/three-calls-are-kept-apart"],
    ),
    row(HostFault::IncompleteCallsPassed, &["mcp/what-a-server-returns-is-passed-on"]),
    row(
        HostFault::ForwardsBytesAsText,
        &["resources/a-clients-files-are-reached-through-the-host"],
    ),
    row(HostFault::ReturnsBytesAsText, &["resources/a-clients-files-are-reached-through-the-host"]),
    row(
        HostFault::ForwardedErrorLost,
        &[
            "resources/a-clients-files-are-reached-through-the-host",
            "resources/of-two-writers-through-the-host-one-wins",
        ],
    ),
    row(HostFault::AsksForMore, &["resources/a-client-serves-its-folder"]),
    row(HostFault::IdsMixedUp, &["jsonrpc.alive", "resources/each-client-is-asked-for-its-own"]),
    row(HostFault::PrimaryRemoved, &["metadata/the-first-directory-is-replaced"]),
    row(HostFault::ReplacementUnchecked, &["metadata/the-first-directory-is-replaced"]),
    row(HostFault::OddFramesEndAll, &["jsonrpc/*", "security/odd-frames-end-nothing"]),
    row(
        HostFault::DoorOpen,
        &["security/strangers-are-not-served", "security/strangers-stay-outside"],
    ),
    row(HostFault::DoorLate, &["security/strangers-stay-outside"]),
    row(HostFault::ClientIdTaken, &["security/a-client-id-has-one-owner"]),
    row(HostFault::ClientIdResumed, &["security/nobody-comes-back-as-another"]),
    row(HostFault::OriginIgnored, &["security/pages-of-others-stay-outside"]),
    row(HostFault::SettingsUnguarded, &["security/what-guards-everybody-is-the-owners"]),
    row(HostFault::ChallengeUnseen, &["input.rollup-complete"]),
    row(HostFault::ChallengeStays, &["input.rollup-stale"]),
    row(HostFault::StopKeepsInput, &["mcp/a-stopped-server-asks-for-nothing"]),
    row(HostFault::LinksFollowed, &["resources/links-lead-nowhere"]),
    row(HostFault::PipesHang, &["jsonrpc.alive", "resources/what-never-ends-holds-up-nobody"]),
    row(HostFault::LargeReadsHang, &["resources/what-is-large-holds-up-nobody"]),
    row(
        HostFault::CanvasUrlLogged,
        &["telemetry.no-canvas-address", "canvases/its-address-is-not-logged"],
    ),
    row(
        HostFault::CronNarrow,
        &[
            "automations/every-schedule-of-the-grammar-is-taken",
            "automations/frequent-schedules-are-taken-too",
        ],
    ),
    row(HostFault::CronAnything, &["automations/what-is-no-schedule-is-refused"]),
    row(
        HostFault::UnknownKindsDropped,
        &["state.snapshot-agrees", "metadata/kinds-of-later-are-kept"],
    ),
    row(HostFault::ExtensionsNeeded, &["dispatch/every-payload-is-checked"]),
    row(
        HostFault::ConditionsRepeat,
        &[
            "automations/conditions-differ-in-kind",
            "automations/runs-that-are-asked-for-do-not-count",
        ],
    ),
];
