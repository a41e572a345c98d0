//! Variants of hosts that never send certain optional members, but offer every feature.
//!
//! Knows: types and their optional members. Never knows: the implementation of types.

use super::absence::{AbsentFeature, MEMBER, NOTHING, absent};
use super::row::VariantRow;

/// The variants of hosts that never send certain members.
pub(super) const ROWS: &[VariantRow] = &[
    absent(
        "without-telemetry",
        "No telemetry is declared.",
        "`telemetry` is optional in the result of `initialize`.",
        &AbsentFeature { members: &[("InitializeResult", "telemetry")], ..NOTHING },
    ),
    absent(
        "without-introductions",
        "The host sends no name, version or default directory.",
        "`serverInfo` and `defaultDirectory` are optional.",
        &AbsentFeature {
            members: &[
                ("InitializeResult", "serverInfo"),
                ("InitializeResult", "defaultDirectory"),
            ],
            ..NOTHING
        },
    ),
    absent(
        "without-several-directories",
        "No agent works in several directories.",
        "`capabilities.multipleWorkingDirectories` is optional.",
        &AbsentFeature {
            members: &[("AgentCapabilities", "multipleWorkingDirectories")],
            ..NOTHING
        },
    ),
    absent(
        "without-chats-in-summaries",
        "Session summaries do not list chats.",
        "`chats` and `defaultChat` of a summary are optional.",
        &AbsentFeature {
            members: &[
                ("SessionSummary", "chats"),
                ("SessionSummary", "defaultChat"),
                ("PartialSessionSummary", "chats"),
                ("PartialSessionSummary", "defaultChat"),
            ],
            ..NOTHING
        },
    ),
    absent(
        "without-changes-in-summaries",
        "Session summaries have no change counts.",
        "`changes` of a summary is optional.",
        &AbsentFeature {
            members: &[("SessionSummary", "changes"), ("PartialSessionSummary", "changes")],
            ..NOTHING
        },
    ),
    absent(
        "without-risk-assessments",
        "Tool calls that wait for approval have no `riskAssessment` and no `confirmationTitle`.",
        MEMBER,
        &AbsentFeature {
            members: &[
                ("ToolCallPendingConfirmationState", "riskAssessment"),
                ("ToolCallPendingConfirmationState", "confirmationTitle"),
                ("*/toolCallReady", "riskAssessment"),
                ("*/toolCallReady", "confirmationTitle"),
            ],
            ..NOTHING
        },
    ),
    absent(
        "without-proposed-edits",
        "Tool calls that wait for approval do not show the edits that they propose.",
        MEMBER,
        &AbsentFeature {
            members: &[("ToolCallPendingConfirmationState", "edits"), ("*/toolCallReady", "edits")],
            ..NOTHING
        },
    ),
    absent(
        "without-confirmation-options",
        "Tool calls that wait for approval have no `options`.",
        MEMBER,
        &AbsentFeature {
            members: &[
                ("ToolCallPendingConfirmationState", "options"),
                ("*/toolCallReady", "options"),
                ("ToolCall*", "selectedOption"),
            ],
            ..NOTHING
        },
    ),
    absent(
        "without-model-limits",
        "Models have no limits, no vision flag and no policy.",
        MEMBER,
        &AbsentFeature {
            members: &[
                ("SessionModelInfo", "maxContextWindow"),
                ("SessionModelInfo", "maxOutputTokens"),
                ("SessionModelInfo", "maxPromptTokens"),
                ("SessionModelInfo", "supportsVision"),
                ("SessionModelInfo", "policyState"),
            ],
            ..NOTHING
        },
    ),
    absent(
        "without-model-settings",
        "Models have no settings of their own.",
        MEMBER,
        &AbsentFeature { members: &[("SessionModelInfo", "configSchema")], ..NOTHING },
    ),
    absent(
        "without-icons",
        "No customization or operation has an icon.",
        MEMBER,
        &AbsentFeature {
            members: &[
                ("AgentCustomization", "icons"),
                ("DirectoryCustomization", "icons"),
                ("HookCustomization", "icons"),
                ("McpServerCustomization", "icons"),
                ("PluginCustomization", "icons"),
                ("PromptCustomization", "icons"),
                ("RuleCustomization", "icons"),
                ("SkillCustomization", "icons"),
                ("ChangesetOperation", "icon"),
            ],
            ..NOTHING
        },
    ),
    absent(
        "without-question-titles",
        "Questions to the user have no title and no default value.",
        MEMBER,
        &AbsentFeature {
            members: &[
                ("ChatInput*", "title"),
                ("ChatInput*", "defaultValue"),
                ("ChatInputOption", "description"),
                ("ChatInputOption", "recommended"),
            ],
            ..NOTHING
        },
    ),
    absent(
        "without-changeset-descriptions",
        "Changesets and their operations have no descriptions.",
        MEMBER,
        &AbsentFeature {
            members: &[
                ("Changeset", "description"),
                ("ChangesetOperation", "description"),
                ("ChangesetOperation", "group"),
            ],
            ..NOTHING
        },
    ),
    absent(
        "without-agent-customizations",
        "Agents list no customizations.",
        MEMBER,
        &AbsentFeature { members: &[("AgentInfo", "customizations")], ..NOTHING },
    ),
    absent(
        "without-annotations-channel",
        "Sessions name no channel for annotations.",
        MEMBER,
        &AbsentFeature {
            members: &[
                ("SessionState", "annotations"),
                ("SessionSummary", "annotations"),
                ("PartialSessionSummary", "annotations"),
            ],
            ..NOTHING
        },
    ),
    absent(
        "without-projects",
        "Sessions name no project.",
        MEMBER,
        &AbsentFeature {
            members: &[
                ("SessionState", "project"),
                ("SessionSummary", "project"),
                ("PartialSessionSummary", "project"),
            ],
            ..NOTHING
        },
    ),
    absent(
        "without-completion-triggers",
        "The host names no characters that trigger completions.",
        MEMBER,
        &AbsentFeature {
            members: &[("InitializeResult", "completionTriggerCharacters")],
            ..NOTHING
        },
    ),
    absent(
        "without-terminal-prefix",
        "The host declares no prefix for shell commands.",
        MEMBER,
        &AbsentFeature { members: &[("InitializeResult", "terminalCommandPrefix")], ..NOTHING },
    ),
    absent(
        "without-content-hints",
        "References to content have no size, type or nonce.",
        MEMBER,
        &AbsentFeature {
            members: &[
                ("ContentRef", "sizeHint"),
                ("ContentRef", "contentType"),
                ("ContentRef", "nonce"),
                ("ResourceResponsePart", "sizeHint"),
                ("ResourceResponsePart", "contentType"),
                ("ResourceResponsePart", "nonce"),
                ("ResourceReadResult", "contentType"),
            ],
            ..NOTHING
        },
    ),
    absent(
        "without-resource-details",
        "A resolved resource has no size, times, type or `etag`.",
        MEMBER,
        &AbsentFeature {
            members: &[
                ("ResourceResolveResult", "size"),
                ("ResourceResolveResult", "mtime"),
                ("ResourceResolveResult", "ctime"),
                ("ResourceResolveResult", "contentType"),
                ("ResourceResolveResult", "etag"),
            ],
            ..NOTHING
        },
    ),
    absent(
        "without-command-times",
        "Finished commands have no duration.",
        MEMBER,
        &AbsentFeature {
            members: &[
                ("TerminalCommandPart", "durationMs"),
                ("terminal/commandFinished", "durationMs"),
            ],
            ..NOTHING
        },
    ),
    absent(
        "without-exit-codes",
        "The exit code of a terminal's process is not known.",
        MEMBER,
        &AbsentFeature {
            members: &[
                ("TerminalExitedLifecycleState", "exitCode"),
                // In older versions, a terminal has the exit code in place of the lifecycle.
                ("TerminalState", "exitCode"),
                ("TerminalInfo", "exitCode"),
                ("terminal/exited", "exitCode"),
            ],
            ..NOTHING
        },
    ),
    absent(
        "without-run-cancellation",
        "Runs of automations cannot be cancelled.",
        "`runCancellation` is optional in the capabilities of automations.",
        &AbsentFeature { members: &[("AutomationCapabilities", "runCancellation")], ..NOTHING },
    ),
    absent(
        "without-automation-creation",
        "Clients cannot create automations.",
        "`create` is optional in the capabilities of automations.",
        &AbsentFeature { members: &[("AutomationCapabilities", "create")], ..NOTHING },
    ),
    absent(
        "without-schedules",
        "Automations have no schedules.",
        "`schedules` is optional in the capabilities of automations.",
        &AbsentFeature { members: &[("AutomationCapabilities", "schedules")], ..NOTHING },
    ),
    absent(
        "without-logs",
        "Telemetry has no logs.",
        "Each signal of `telemetry` is optional.",
        &AbsentFeature { members: &[("TelemetryCapabilities", "logs")], ..NOTHING },
    ),
    absent(
        "without-traces",
        "Telemetry has no traces.",
        "Each signal of `telemetry` is optional.",
        &AbsentFeature { members: &[("TelemetryCapabilities", "traces")], ..NOTHING },
    ),
    absent(
        "without-metrics",
        "Telemetry has no metrics.",
        "Each signal of `telemetry` is optional.",
        &AbsentFeature { members: &[("TelemetryCapabilities", "metrics")], ..NOTHING },
    ),
    absent(
        "without-error-details",
        "Errors of turns and sessions have no stack.",
        MEMBER,
        &AbsentFeature { members: &[("ErrorInfo", "stack")], ..NOTHING },
    ),
    absent(
        "without-setting-descriptions",
        "Settings have no descriptions, labels or defaults.",
        MEMBER,
        &AbsentFeature {
            members: &[
                ("*ConfigPropertySchema", "description"),
                ("*ConfigPropertySchema", "enumLabels"),
                ("*ConfigPropertySchema", "enumDescriptions"),
                ("*ConfigPropertySchema", "default"),
                ("SessionConfigValueItem", "description"),
            ],
            ..NOTHING
        },
    ),
    absent(
        "without-completion-ranges",
        "Completions do not say which part of the text they replace.",
        MEMBER,
        &AbsentFeature {
            members: &[("CompletionItem", "rangeStart"), ("CompletionItem", "rangeEnd")],
            ..NOTHING
        },
    ),
    absent(
        "without-authorization-details",
        "Protected resources have only their URI.",
        MEMBER,
        &AbsentFeature {
            members: &[
                ("ProtectedResourceMetadata", "resource_name"),
                ("ProtectedResourceMetadata", "scopes_supported"),
                ("ProtectedResourceMetadata", "resource_documentation"),
                ("ProtectedResourceMetadata", "bearer_methods_supported"),
                ("McpServerAuthRequiredState", "description"),
                ("McpAuthRequirement", "description"),
                ("AuthRequiredParams", "reason"),
            ],
            ..NOTHING
        },
    ),
];
