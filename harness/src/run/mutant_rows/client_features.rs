//! The rows of the kill matrix for faults of the reference client that affect one feature: lists, tools, tokens,
//! resources or automations.

use crate::peer::reference::fault::Fault;
use crate::run::kills::KillRow;

/// One row for each fault.
pub const ROWS: &[KillRow<Fault>] = &[
    KillRow {
        fault: Fault::UrisNormalised,
        trips: &[
            "clients.verbatim-uris",
            "client/channels/odd-uris-are-subscribed-to",
            "client/channels/odd-uris-come-back",
        ],
    },
    KillRow {
        fault: Fault::FirstPageOnly,
        trips: &[
            "client/lists/every-page-is-requested",
            "client/lists/the-next-page-is-requested-unasked",
        ],
    },
    KillRow {
        fault: Fault::CursorTrimmed,
        trips: &["clients.verbatim-cursors", "client/lists/odd-cursors-come-back"],
    },
    KillRow {
        fault: Fault::HostRequestsIgnored,
        trips: &[
            "client/requests/equal-looking-ids-stay-apart",
            "client/requests/many-at-once",
            "client/requests/numbers-as-ids",
            "client/requests/odd-params-are-answered",
            "client/requests/texts-as-ids",
            "client/requests/unknown-method-is-refused",
            "client/resources/nothing-served-is-refused",
        ],
    },
    KillRow {
        fault: Fault::HostRequestsTwice,
        trips: &["clients.host-requests", "client/requests/answered-once"],
    },
    KillRow {
        fault: Fault::TextIdsIgnored,
        trips: &["client/requests/equal-looking-ids-stay-apart", "client/requests/texts-as-ids"],
    },
    KillRow {
        fault: Fault::UnknownAnswered,
        trips: &[
            "clients.host-requests",
            "client/requests/odd-params-are-answered",
            "client/requests/unknown-method-is-refused",
            "client/resources/files-of-the-machine-are-refused",
            "client/resources/nothing-served-is-refused",
        ],
    },
    KillRow {
        fault: Fault::UnknownCode,
        trips: &["clients.host-requests", "client/requests/unknown-method-is-refused"],
    },
    KillRow {
        fault: Fault::GatesOpen,
        trips: &[
            "client/requests/odd-params-are-answered",
            "client/resources/files-of-its-own-only",
            "client/resources/files-of-the-machine-are-refused",
            "client/resources/no-neighbours",
            "client/resources/no-way-up",
            "client/resources/nothing-served-is-refused",
            "client/resources/read-only-stays-so",
        ],
    },
    KillRow {
        fault: Fault::ToolTwice,
        trips: &[
            "clients.tool-once",
            "client/tools/a-call-runs-once",
            "client/tools/a-call-runs-once-over-a-lost-connection",
            "client/tools/a-call-runs-once-while-the-client-subscribes-again",
        ],
    },
    KillRow {
        fault: Fault::ToolStartedAgain,
        trips: &[
            "client/tools/a-call-runs-once",
            "client/tools/a-call-runs-once-over-a-lost-connection",
            "client/tools/a-call-runs-once-while-the-client-subscribes-again",
        ],
    },
    KillRow { fault: Fault::ToolStartedLate, trips: &["client/tools/a-stale-ready-runs-nothing"] },
    KillRow { fault: Fault::ToolOfOthers, trips: &["client/tools/calls-of-others-are-left-alone"] },
    KillRow {
        fault: Fault::ToolEarly,
        trips: &[
            "client/tools/an-approved-call-runs",
            "client/tools/calls-wait-for-their-approval",
        ],
    },
    KillRow {
        fault: Fault::CompletesAfterCancel,
        trips: &["client/tools/a-cancelled-call-stays-cancelled"],
    },
    KillRow {
        fault: Fault::ToolInputCached,
        trips: &["client/tools/edited-input-is-what-the-tool-gets"],
    },
    KillRow { fault: Fault::ToolOnlyInChat, trips: &["client/tools/work-is-found-in-the-session"] },
    KillRow {
        fault: Fault::ToolArgumentsUnchecked,
        trips: &["client/tools/arguments-are-checked"],
    },
    KillRow {
        fault: Fault::OptionsSorted,
        trips: &["client/inputs/options-are-shown-in-their-order"],
    },
    KillRow {
        fault: Fault::OptionsIgnored,
        trips: &["client/inputs/options-are-shown-in-their-order"],
    },
    KillRow {
        fault: Fault::OperationUnconfirmed,
        trips: &["client/changesets/a-confirmation-is-shown-first"],
    },
    KillRow { fault: Fault::HostConsents, trips: &["client/tools/a-host-does-not-consent"] },
    KillRow { fault: Fault::ToolUnknownIgnored, trips: &["client/tools/unknown-tools-are-denied"] },
    KillRow {
        fault: Fault::ToolInSession,
        trips: &["clients.dispatch-channel", "client/tools/completions-go-to-the-chat"],
    },
    KillRow {
        fault: Fault::EntersAnother,
        trips: &["clients.registers-itself", "client/tools/a-client-enters-itself"],
    },
    KillRow {
        fault: Fault::CursorsKept,
        trips: &["clients.verbatim-cursors", "client/lists/cursors-end-with-their-connection"],
    },
    KillRow {
        fault: Fault::SessionsNotFollowed,
        trips: &["client/lists/notifications-are-followed"],
    },
    KillRow { fault: Fault::IdentityChanged, trips: &["client/lists/identity-stays"] },
    KillRow {
        fault: Fault::MissingStatusUnread,
        trips: &["client/lists/absent-status-is-unknown"],
    },
    KillRow {
        fault: Fault::UnknownSchemesSubscribed,
        trips: &[
            "client/channels/unknown-schemes-are-left-alone",
            "client/channels/unknown-schemes-of-changesets-are-left-alone",
            "client/mcp/undeclared-apps-stay-closed",
        ],
    },
    KillRow {
        fault: Fault::TemplatesExpanded,
        trips: &[
            "client/changesets/unknown-variables-are-not-filled-in",
            "client/channels/unknown-schemes-of-changesets-are-left-alone",
        ],
    },
    KillRow { fault: Fault::DefaultChatOnly, trips: &["client/channels/default-chat-is-a-hint"] },
    KillRow { fault: Fault::AppsOpened, trips: &["client/mcp/undeclared-apps-stay-closed"] },
    KillRow {
        fault: Fault::AutomationsRunHere,
        trips: &["client/automations/the-host-alone-runs-them"],
    },
    KillRow { fault: Fault::MetaStripped, trips: &["client/completions/meta-comes-back"] },
    KillRow { fault: Fault::TokensNotRetried, trips: &["client/auth/an-error-asks-for-a-token"] },
    KillRow { fault: Fault::TokensOptional, trips: &["client/auth/no-word-means-required"] },
    KillRow {
        fault: Fault::TokensNotRechecked,
        trips: &["client/auth/requirements-are-looked-at-after-a-reconnect"],
    },
    KillRow {
        fault: Fault::TokensReplayed,
        trips: &[
            "client/auth/expired-tokens-stay-expired",
            "client/auth/expired-tokens-are-not-repeated",
        ],
    },
    KillRow {
        fault: Fault::UnknownSessionBreaks,
        trips: &["client/lists/unknown-sessions-are-survived"],
    },
    KillRow { fault: Fault::CycleBreaks, trips: &["client/channels/origins-in-a-circle"] },
    KillRow {
        fault: Fault::MissingAncestorBreaks,
        trips: &["client/channels/origin-that-is-gone", "client/channels/origins-in-a-circle"],
    },
    KillRow {
        fault: Fault::UnknownQuestionBreaks,
        trips: &["client/inputs/unknown-question-kind"],
    },
    KillRow {
        fault: Fault::UnknownToolStatusBreaks,
        trips: &["client/inputs/unknown-tool-status"],
    },
    KillRow {
        fault: Fault::DefinitionStripped,
        trips: &["client/automations/unknown-members-survive-an-edit"],
    },
    KillRow {
        fault: Fault::RunIdRenewed,
        trips: &["client/automations/a-run-keeps-its-request-id"],
    },
    KillRow {
        fault: Fault::CompletionsUnasked,
        trips: &["client/completions/a-trigger-requests-completions"],
    },
    KillRow {
        fault: Fault::CompletionsAtOnce,
        trips: &["client/completions/a-burst-is-debounced"],
    },
    KillRow { fault: Fault::SilenceUnnoticed, trips: &["client/connection/a-silent-host-is-left"] },
    KillRow { fault: Fault::ServerChannelKept, trips: &["client/mcp/the-channel-is-read-again"] },
    KillRow {
        fault: Fault::LogsUnfiltered,
        trips: &["client/telemetry/records-below-the-level-are-dropped"],
    },
    KillRow { fault: Fault::ListMerged, trips: &["client/lists/a-new-list-replaces-the-old-one"] },
    KillRow {
        fault: Fault::ListReplacedAtEnd,
        trips: &["client/lists/changes-between-pages-count"],
    },
    KillRow {
        fault: Fault::KnownSessionsDoubled,
        trips: &["client/lists/a-known-session-is-added"],
    },
    KillRow { fault: Fault::LifetimeKept, trips: &["client/auth/a-lifetime-shrinks"] },
    KillRow {
        fault: Fault::RunsOnOwnApproval,
        trips: &["client/tools/an-approval-counts-once-the-host-accepts-it"],
    },
    KillRow {
        fault: Fault::FailsOnCancel,
        trips: &["client/tools/a-cancelled-call-stays-cancelled"],
    },
    KillRow {
        fault: Fault::OffsetInCharacters,
        trips: &["client/completions/the-offset-counts-utf-16-units"],
    },
    KillRow {
        fault: Fault::OperationsIgnored,
        trips: &["client/automations/operations-are-obeyed"],
    },
    KillRow {
        fault: Fault::AutomationsAssumed,
        trips: &["client/automations/a-host-without-automations-runs-none"],
    },
    KillRow { fault: Fault::StoppedServerAsked, trips: &["client/mcp/the-channel-is-read-again"] },
    KillRow { fault: Fault::RefusedForEver, trips: &["client/auth/a-refused-request-is-given-up"] },
    KillRow {
        fault: Fault::OthersDropped,
        trips: &["client/reconnect/a-missing-channel-takes-no-other-along"],
    },
];
