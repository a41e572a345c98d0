//! What the faults of the reference agent must trip.

use crate::agent::acp::fault::Fault;
use crate::run::kills::Row;

/// A row for each fault, written before it was played.
pub const ROWS: &[Row<Fault>] = &[
    Row { fault: Fault::Chatters, trips: &["acp.wire.only-messages"] },
    Row {
        fault: Fault::Batches,
        trips: &[
            "acp.wire.no-batches",
            "acp/turn/says-what-the-model-says",
            "acp/tools/*",
            "untested:acp/cancel/*",
            "acp.calls.*",
            "acp.permission.*",
            "untested:acp/kinds/*",
            "untested:acp/reports/*",
        ],
    },
    Row { fault: Fault::Untagged, trips: &["acp.wire.envelope"] },
    Row {
        fault: Fault::ErrorCodesAreTexts,
        trips: &[
            "acp.wire.envelope",
            "acp/handshake/unknown-session",
            "acp/handshake/unknown-methods",
        ],
    },
    Row { fault: Fault::AnswersTwice, trips: &["acp.wire.answered-once"] },
    Row {
        fault: Fault::RequestIdsRepeat,
        trips: &["acp.wire.request-ids", "acp/*", "untested:acp/*", "acp/permission/two-at-a-time"],
    },
    Row { fault: Fault::OwnMethods, trips: &["acp.wire.method-names"] },
    Row { fault: Fault::OwnMembers, trips: &["acp.wire.no-custom-members"] },
    Row { fault: Fault::UnstableMembers, trips: &["acp.wire.stable-members"] },
    Row { fault: Fault::ChunksWithoutContent, trips: &["acp.wire.schema"] },
    Row { fault: Fault::NoTitle, trips: &["acp.calls.shape"] },
    Row { fault: Fault::UpdatesWithNumbers, trips: &["acp.calls.update-shape"] },
    Row { fault: Fault::OwnKinds, trips: &["acp.calls.kinds", "acp/kinds/other", "acp/kinds/*"] },
    Row {
        fault: Fault::OwnStatuses,
        trips: &[
            "acp.calls.statuses",
            "acp.calls.end-with-turn",
            "acp/tools/failed-command",
            "acp/tools/mcp-fails",
        ],
    },
    Row { fault: Fault::BareContent, trips: &["acp.calls.contents", "untested:acp/reports/*"] },
    Row {
        fault: Fault::DiffsWithoutText,
        trips: &["acp.calls.diffs", "acp/reports/diff-of-a-new-file", "untested:acp/reports/*"],
    },
    Row { fault: Fault::CallIdsRepeat, trips: &["acp.calls.unique-ids", "acp.calls.*"] },
    Row {
        fault: Fault::Unreported,
        trips: &[
            "acp.calls.reported",
            "acp.permission.after-report",
            "acp.calls.end-with-turn",
            "acp/tools/*",
            "untested:acp/kinds/*",
            "untested:acp/reports/*",
            "acp/tools/edit-changes-the-file",
            "acp/tools/parallel-calls",
            "acp/tools/read-is-reported",
            "acp/tools/write-shows-a-diff",
        ],
    },
    Row { fault: Fault::NamesChange, trips: &["acp.calls.name-kept"] },
    Row {
        fault: Fault::UpdatesFirst,
        trips: &["acp.calls.known", "acp.permission.after-report", "untested:acp/reports/*"],
    },
    Row {
        fault: Fault::SkipsProgress,
        trips: &["acp.calls.in-progress", "acp/reports/pending-then-in-progress-then-completed"],
    },
    Row {
        fault: Fault::ProgressBeforeApproval,
        trips: &[
            "acp.calls.pending-until-approved",
            "acp.calls.transitions",
            "acp/reports/pending-then-in-progress-then-completed",
        ],
    },
    Row { fault: Fault::Revives, trips: &["acp.calls.transitions"] },
    Row {
        fault: Fault::LeavesOpen,
        trips: &[
            "acp.calls.end-with-turn",
            "acp/tools/failed-command",
            "acp/tools/mcp-fails",
            "acp/reports/*",
            "untested:acp/reports/*",
        ],
    },
    Row {
        fault: Fault::RelativePaths,
        trips: &[
            "acp.content.absolute-paths",
            "acp/reports/*",
            "acp/tools/read-where-the-client-offers-files",
        ],
    },
    Row { fault: Fault::LinesFromZero, trips: &["acp.content.lines-from-one"] },
    Row {
        fault: Fault::OwnTerminals,
        trips: &["acp.content.known-terminals", "untested:acp/reports/*"],
    },
    Row { fault: Fault::EmbedsLate, trips: &["acp.terminals.embedded-before-release"] },
    Row { fault: Fault::EmbedsAgain, trips: &["acp.terminals.embedded-before-release"] },
    Row { fault: Fault::AsksReleased, trips: &["acp.terminals.there"] },
    Row { fault: Fault::NeverReleases, trips: &["acp.terminals.released"] },
    Row {
        fault: Fault::StrangeSession,
        trips: &["acp.permission.shape", "acp/permission/allow-once-runs"],
    },
    Row { fault: Fault::OptionsRepeat, trips: &["acp.permission.option-ids"] },
    Row { fault: Fault::OptionsWithoutNames, trips: &["acp.permission.options"] },
    Row { fault: Fault::PermissionFirst, trips: &["acp.permission.after-report", "acp.calls.*"] },
    Row { fault: Fault::NoOptions, trips: &["acp.permission.some-option", "untested:acp/*"] },
    Row { fault: Fault::OnlyAllow, trips: &["acp.permission.both-ways", "untested:acp/*"] },
    Row {
        fault: Fault::RunsWhileAsking,
        trips: &[
            "acp.permission.waits",
            "acp/permission/nothing-runs-while-it-waits",
            "acp/permission/unanswered-stops",
            "acp/permission/*",
            "acp/tools/*",
            "acp.permission.denied",
            "untested:acp/reports/*",
            "acp/tools/mcp-allowed",
        ],
    },
    Row {
        fault: Fault::RunsDenied,
        trips: &[
            "acp.permission.denied",
            "acp/permission/reject-once-stops",
            "acp/permission/reject-always-stops",
            "acp/permission/reject-always-is-remembered",
            "acp/permission/cancelled-alone-stops",
            "acp/permission/unknown-option-stops",
            "acp/permission/error-stops",
            "acp/tools/write-rejected",
            "acp/tools/mcp-rejected",
        ],
    },
    Row {
        fault: Fault::EndsWhileAsking,
        trips: &[
            "acp.permission.answered-first",
            "acp.permission.*",
            "acp.calls.*",
            "acp.turns.*",
            "acp/*",
        ],
    },
    Row { fault: Fault::AsksOutside, trips: &["acp.permission.in-turn", "acp.permission.*"] },
    Row {
        fault: Fault::Forgets,
        trips: &["acp.permission.remembered", "acp/permission/allow-always-is-remembered"],
    },
    Row {
        fault: Fault::OwnStopReasons,
        trips: &[
            "acp.turns.stop-reasons",
            "acp/turn/prompt-is-answered",
            "acp/turn/two-turns",
            "acp/permission/asks-as-the-protocol-says",
            "acp.turns.cancelled",
            "acp/*",
        ],
    },
    Row {
        fault: Fault::EndTurnAfterCancel,
        trips: &[
            "acp.turns.cancelled",
            "acp/cancel/while-asked",
            "acp/cancel/while-asked-of-any-agent",
            "acp/cancel/while-the-model-streams",
            "acp/cancel/while-a-command-runs",
            "acp/cancel/while-a-terminal-runs",
            "acp/cancel/while-a-tool-of-a-server-runs",
            "acp/cancel/then-another-turn",
            "acp/tools/mcp-cancelled",
        ],
    },
    Row {
        fault: Fault::ErrorAfterCancel,
        trips: &["acp.turns.no-abort-errors", "acp/cancel/*", "acp/tools/mcp-cancelled"],
    },
    Row {
        fault: Fault::IgnoresCancel,
        trips: &[
            "acp.turns.cancel-answered",
            "acp.turns.cancelled",
            "acp/cancel/*",
            "acp/tools/mcp-cancelled",
        ],
    },
    Row { fault: Fault::LateUpdates, trips: &["acp.turns.no-late-updates"] },
    Row { fault: Fault::LateTexts, trips: &["acp.turns.no-late-updates"] },
    Row {
        fault: Fault::AsksLate,
        trips: &["acp.turns.stops-work", "acp.permission.in-turn", "acp.permission.after-report"],
    },
    Row { fault: Fault::SaysCancelled, trips: &["acp.turns.cancelled-by-client", "acp/*"] },
    Row {
        fault: Fault::WorksOn,
        trips: &[
            "acp.turns.stops-work",
            "acp.permission.denied",
            "acp/tools/mcp-cancelled",
            "acp/cancel/while-asked",
            "acp/cancel/answered-first",
        ],
    },
    Row {
        fault: Fault::FilesUngated,
        trips: &[
            "acp.gates.fs",
            "untested:acp/reports/*",
            "acp/tools/write-where-the-client-offers-nothing",
        ],
    },
    Row {
        fault: Fault::TerminalsUngated,
        trips: &[
            "acp.gates.terminal",
            "acp/*",
            "acp/tools/command-where-the-client-offers-files",
            "acp/tools/command-where-the-client-offers-nothing",
        ],
    },
    Row {
        fault: Fault::KindsOther,
        trips: &[
            "acp/kinds/read",
            "acp/kinds/edit",
            "acp/kinds/execute",
            "acp/kinds/delete",
            "acp/kinds/move",
            "acp/kinds/search",
            "acp/kinds/think",
            "acp/kinds/fetch",
            "acp/kinds/switch-mode",
        ],
    },
    Row { fault: Fault::TextsLost, trips: &["acp/reports/content-is-what-the-tool-said"] },
    Row {
        fault: Fault::DiffsElsewhere,
        trips: &[
            "acp/reports/diff-of-a-new-file",
            "acp/reports/diff-of-an-edit",
            "acp/reports/location-is-the-file",
        ],
    },
    Row {
        fault: Fault::TerminalsMisnamed,
        trips: &["acp.content.known-terminals", "acp/reports/terminal-is-the-clients"],
    },
    Row { fault: Fault::InputsChanged, trips: &["acp/reports/raw-input-is-what-the-tool-got"] },
    Row { fault: Fault::OutputsEarly, trips: &["acp/reports/raw-output-comes-with-the-end"] },
    Row { fault: Fault::FailuresComplete, trips: &["acp/reports/failed", "acp.calls.in-progress"] },
    Row { fault: Fault::Elicits, trips: &["acp.gates.elicitation"] },
    Row { fault: Fault::NoticesUngated, trips: &["acp.gates.updates"] },
    Row {
        fault: Fault::EchoesVersion,
        trips: &["acp.handshake.version", "acp/handshake/version-that-nobody-speaks"],
    },
    Row {
        fault: Fault::OneVersionUp,
        trips: &[
            "acp.handshake.version",
            "acp/handshake/version-that-is-spoken",
            "acp/handshake/version-that-nobody-speaks",
            "untested:acp/*",
        ],
    },
    Row {
        fault: Fault::NoPrompts,
        trips: &["acp.handshake.methods", "acp/handshake/prompt-at-any-version", "untested:acp/*"],
    },
    Row { fault: Fault::RefusesLinks, trips: &["acp/turn/links-are-taken"] },
    Row { fault: Fault::AnswersCancels, trips: &["acp.wire.answered-once"] },
    Row {
        fault: Fault::KeepsCancels,
        trips: &["acp/cancel/idle", "acp.turns.cancelled-by-client"],
    },
    Row { fault: Fault::StrangeUpdates, trips: &["acp.sessions.there"] },
    Row {
        fault: Fault::SessionsRepeat,
        trips: &["acp.sessions.unique-ids", "acp/handshake/sessions-differ"],
    },
    Row { fault: Fault::SpeaksAnother, trips: &["acp.handshake.version", "untested:acp/*"] },
    Row { fault: Fault::RunsOn, trips: &["acp/cancel/while-a-command-runs"] },
    Row {
        fault: Fault::HangsWhenRejected,
        trips: &["acp/permission/any-agent-goes-on-after-a-rejection", "acp/cancel/of-a-request"],
    },
    Row {
        fault: Fault::WritesNothing,
        trips: &[
            "acp/tools/write-where-the-client-offers-everything",
            "acp/tools/write-where-the-client-offers-files",
            "acp/tools/write-where-the-client-offers-files-and-terminals",
        ],
    },
    Row {
        fault: Fault::RunsNothing,
        trips: &[
            "acp/tools/command-where-the-client-offers-everything",
            "acp/tools/command-where-the-client-offers-files-and-terminals",
        ],
    },
    Row { fault: Fault::ServesAnything, trips: &["acp/handshake/unknown-methods"] },
];
