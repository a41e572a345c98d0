//! The checks of the Agent Client Protocol: one row each, with its weight, its sources and the chosen
//! interpretation.
//!
//! A violation of a MUST or of the schema is a failure, and a violation of a SHOULD is a warning. If the
//! specification only implies a rule or leaves it open, a violation is a note: no agent fails because of a rule
//! that the specification does not state. For each check the reference agent has an injected fault that breaks
//! it (`run::agents`).
//!
//! Knows: weights. Never knows: the implementation of checks.
//!
//! Start at [`CHECKS`]. Source: agentclientprotocol.com, protocol version 1, and its schema of November 2026.

use crate::oracle::rule::{CheckRow, catalogue};
use crate::verdict::Weight;

catalogue! {
    OnlyMessages "acp.wire.only-messages" Must "TR-01" ["acp.tr-01"]
        "The agent writes only messages to standard output: one JSON object per line, in UTF-8. Source: transports.";
    Batches "acp.wire.no-batches" Note "TR-02" ["acp.tr-02"]
        "The agent sends no JSON-RPC batches, which version 1 does not have. Source: overview.";
    Envelope "acp.wire.envelope" Must "TR-03" ["acp.tr-03"]
        "Every message is JSON-RPC 2.0: it has the member `jsonrpc`, a response has either a result or an error, and \
         an error has an integer code and a message string. Source: JSON-RPC 2.0, sections 4 and 5.";
    AnsweredOnce "acp.wire.answered-once" Must "TR-04" ["acp.tr-04"]
        "Every request of the client is answered once, and nothing else is answered. Source: JSON-RPC 2.0, sections \
            4.1 and 5."
        open "The specification states no deadline. A request counts as unanswered if the agent has answered another \
              request, and the conversation continued without an answer for a whole deadline or, if that is longer, \
              for three times the duration of the handshake. Prompts have no deadline.";
    RequestIds "acp.wire.request-ids" Must "TR-05" ["acp.tr-05"]
        "The agent's open requests have different ids, which are strings or whole numbers. Source: RequestId."
        open "The schema permits the id null, which JSON-RPC discourages, so this id is a note.";
    MethodNames "acp.wire.method-names" Must "TR-06" ["acp.tr-06"]
        "The name of a method that the protocol does not define begins with `_`. Source: extensibility.";
    CustomMembers "acp.wire.no-custom-members" Must "TR-07" ["acp.tr-07"]
        "Types of the protocol have no custom members; custom data belongs in `_meta`. Source: extensibility.";
    StableMembers "acp.wire.stable-members" Note "TR-08" ["acp.tr-08"]
        "The agent does not send members that only the unstable schema has. Source: the unstable schema.";
    Schema "acp.wire.schema" Must "SCH" ["acp.sch"]
        "Params and results match the schema. Source: the schema of version 1.";
    Harness "acp.wire.harness" Note "SCH" []
        "The client's own messages are valid too. An invalid message of the client is never the agent's fault: the \
         client may send it on purpose.";
    CallShape "acp.calls.shape" Must "TC-02" ["acp.tc-02"]
        "A `tool_call` has a `toolCallId` and a `title`; its other members are not null unless the \
         schema permits it. Source: ToolCall.";
    UpdateShape "acp.calls.update-shape" Must "TC-07b" ["acp.tc-07b"]
        "A `tool_call_update` has a `toolCallId`, and its other members match the schema. Source: \
         ToolCallUpdate.";
    Kinds "acp.calls.kinds" Must "TC-04" ["acp.tc-04"]
        "The kind of a call is one of the ten kinds of version 1. Source: ToolKind.";
    Statuses "acp.calls.statuses" Must "TC-05" ["acp.tc-05"]
        "The status of a call is pending, in_progress, completed or failed. Source: ToolCallStatus.";
    Contents "acp.calls.contents" Must "CT-03" ["acp.ct-03"]
        "Each item of a call's content is a content block, a diff or a terminal, with the members of its type. Source: \
         ToolCallContent.";
    Diffs "acp.calls.diffs" Must "CT-04" ["acp.ct-04"]
        "A diff has a path and a new text; its old text is a string, null or absent. Source: Diff.";
    Reported "acp.calls.reported" Should "TC-01" ["acp.tc-01"]
        "Each tool call that the model requests is reported. Source: tool calls, creating."
        open "The check needs the harness's own model or tool: the agent has to report at least as many calls \
              in a turn as were made. For a denied call, the permission request is enough.";
    UniqueCalls "acp.calls.unique-ids" Note "TC-03" ["acp.tc-03"]
        "The id of a call is used once in a session. Source: ToolCall.toolCallId, implied.";
    NameKept "acp.calls.name-kept" Should "TC-06" ["acp.tc-06"]
        "The name of a call's tool does not change after the agent has stated it. Source: ToolCall.name.";
    KnownCalls "acp.calls.known" Note "TC-07" ["acp.tc-07"]
        "An update is about a call that was reported. Source: tool calls, updating; implied."
        open "If an update is the first report of its call, the call needs a title, because client libraries \
              require it. The check judges all reports of the call when the turn ends.";
    InProgress "acp.calls.in-progress" Should "TC-08" ["acp.tc-08"]
        "A call that runs is reported as in progress before it is completed. Source: prompt turn, tool invocation."
        open "A call whose first report is `completed` is a note. A call that was denied, or was cancelled \
              before it ran, may be reported as completed at once.";
    NotBeforeApproval "acp.calls.pending-until-approved" Note "TC-09" ["acp.tc-09"]
        "A call that waits for approval is pending, not in progress. Source: ToolCallStatus, implied.";
    Transitions "acp.calls.transitions" Note "TC-11" ["acp.tc-11"]
        "The statuses completed and failed are final, and a call in progress does not become pending again. \
         Source: ToolCallStatus, implied.";
    CallsEnd "acp.calls.end-with-turn" Note "TC-12" ["acp.tc-12"]
        "When a turn ends, its calls have ended. Source: prompt turn, implied."
        open "The check does not judge a cancelled turn, because version 1 has no status for the calls of such \
              a turn.";
    AbsolutePaths "acp.content.absolute-paths" Must "CT-01" ["acp.ct-01"]
        "Every path is absolute. Source: overview, argument requirements.";
    LinesFromOne "acp.content.lines-from-one" Note "CT-02" ["acp.ct-02"]
        "Lines are counted from 1. Source: overview; the schema alone permits 0.";
    KnownTerminals "acp.content.known-terminals" Note "CT-05" ["acp.ct-05"]
        "The client created every terminal that is in a call's content. Source: ToolCallContent, implied.";
    EmbedFirst "acp.terminals.embedded-before-release" Must "CT-06" ["acp.ct-06"]
        "If a terminal is in the content of a call, it is there before its release, and not only afterwards. Source: \
         ToolCallContent.";
    Released "acp.terminals.released" Must "CT-07" ["acp.ct-07"]
        "The agent releases every terminal that the client created at its request. Source: terminals."
        open "The check judges terminals when the conversation ends, if their turn ended at least a second ago. \
              Until a whole deadline has passed since the end of the turn, a breach is a note, because the \
              specification states no limit.";
    TerminalsThere "acp.terminals.there" Note "CT-10" ["acp.ct-10"]
        "A terminal that the agent waits for, reads, kills or releases exists: the client created it, \
         and it was not released. Source: terminals, implied: a released id is invalid for every method.";
    SessionIds "acp.sessions.unique-ids" Must "SCH" ["acp.sch"]
        "A new session has an id that no other session of the connection has. Source: SessionId, which is unique."
        open "The agent may use the id of a closed or deleted session again.";
    SessionsThere "acp.sessions.there" Note "SS-02" ["acp.ss-02"]
        "If the agent names a session in an update or a request, the agent created this session, or the client \
         loaded or resumed it. Source: SessionNotification, implied."
        open "While a session is being created its id may be named before the client knows it. \
              `acp.permission.shape` judges permission requests.";
    ResumedSilently "acp.sessions.resumed-silently" Must "RS-01" ["acp.rs-01"]
        "While a session is being resumed its conversation is not repeated. Source: session setup, \
         resuming sessions."
        open "Updates after the answer are not judged: the specification mentions only updates before the answer.";
    LoadedFirst "acp.sessions.loaded-first" Must "LD-02" ["acp.ld-02"]
        "The agent answers `session/load` after it has repeated the conversation. Source: session setup, \
         loading sessions."
        open "A breach is a message of the user after the answer and before the next prompt.";
    ModesKnown "acp.modes.known" Note "MD-01" ["acp.md-01"]
        "The current mode of a session is one of its modes. Source: SessionModeState, implied.";
    OptionsSound "acp.options.sound" Note "CO-02" ["acp.co-02"]
        "The options of a session have different ids, and the current value of each option is one of the option's \
         values. Source: SessionConfigOption, implied.";
    CommandNames "acp.commands.names" Note "CM-01" ["acp.cm-01"]
        "Commands have unique names, which do not begin with a slash. Source: AvailableCommand, implied.";
    PermissionShape "acp.permission.shape" Must "PM-02" ["acp.pm-02"]
        "A permission request names its session and its call, and the session exists. Source: \
         RequestPermissionRequest.";
    OptionShape "acp.permission.options" Must "PM-05" ["acp.pm-05"]
        "Every option has an id, a name, and one of the four kinds. Source: PermissionOption.";
    OptionIds "acp.permission.option-ids" Note "PM-05b" ["acp.pm-05b"]
        "The options of a permission request have different ids. Source: PermissionOption.optionId, implied.";
    FirstMention "acp.permission.after-report" Note "PM-03" ["acp.pm-03"]
        "The agent reports a call before it requests permission for the call. Version 1 does not say whether this is \
         required.";
    OptionsGiven "acp.permission.some-option" Note "PM-04" ["acp.pm-04"]
        "A permission request offers at least one option. The schema also permits an empty list.";
    BothWays "acp.permission.both-ways" Note "PM-06" ["acp.pm-06"]
        "A permission request has an option that allows and an option that rejects. Version 1 does not say whether \
         both are required.";
    Waits "acp.permission.waits" Note "PM-07" ["acp.pm-07"]
        "While the answer is outstanding the call neither runs nor advances. Source: requesting \
         permission, implied.";
    Denied "acp.permission.denied" Note "PM-08" ["acp.pm-08"]
        "A denied call does not run. Source: requesting permission; explicit in version 2 only."
        open "The check needs the harness's own tool: a breach is a call of this tool with the denied input.";
    NothingOpen "acp.permission.answered-first" Note "PM-11" ["acp.pm-11"]
        "A turn does not end while its own permission request is open. Source: prompt turn, implied."
        open "The check does not judge a cancelled turn, because the client has to answer the open request.";
    InTurn "acp.permission.in-turn" Note "PM-12" ["acp.pm-12"]
        "The agent requests permission only within a turn. Version 1 does not say whether this is required.";
    Remembered "acp.permission.remembered" Note "PM-14" ["acp.pm-14"]
        "After `allow_always` or `reject_always` the agent does not ask again for the same input. \
         Source: PermissionOptionKind; implied."
        open "The decision is expected to hold for the session.";
    StopReasons "acp.turns.stop-reasons" Must "PT-01" ["acp.pt-01"]
        "A prompt is answered with one of the five stop reasons. Source: PromptResponse.";
    Cancelled "acp.turns.cancelled" Must "CN-01" ["acp.cn-01"]
        "A prompt that was cancelled is answered with `cancelled`. Source: prompt turn, cancellation."
        open "A breach is a note if the answer may have been in transit before the cancel. This is the case if \
              the agent was not waiting for the client, and the answer arrived within 250 ms plus the time of \
              the quickest other answer, or within a quarter of the time of the handshake.";
    NoAbortErrors "acp.turns.no-abort-errors" Must "CN-02" ["acp.cn-02"]
        "A prompt that was cancelled is not answered with an error. Source: prompt turn, cancellation."
        open "As in `acp.turns.cancelled`, a breach is a note if the answer may have been in transit; the answer to a \
              prompt that `$/cancel_request` cancelled may be -32800.";
    CancelAnswered "acp.turns.cancel-answered" Must "CN-03" ["acp.cn-03"]
        "A prompt that was cancelled is answered. Source: prompt turn, cancellation."
        open "The specification states no deadline; the check uses the deadline of all other requests.";
    NoLateUpdates "acp.turns.no-late-updates" Must "CN-04" ["acp.cn-04"]
        "After a cancelled prompt was answered its calls are not reported or updated, and no content arrives. \
         Source: prompt turn, cancellation."
        open "The check does not judge content that arrives a deadline or more after the answer, because this \
              content may belong to something else.";
    CancelledOnlyThen "acp.turns.cancelled-by-client" Note "CN-05" ["acp.cn-05"]
        "A prompt that the client did not cancel does not end with `cancelled`. Source: StopReason, implied.";
    StopsWork "acp.turns.stops-work" Should "CN-06" ["acp.cn-06"]
        "After a cancel the agent no longer calls a model or a tool, and requests only cleanup from the client. \
         Source: prompt turn, cancellation."
        open "The check judges calls of the harness's own model and tool, and requests for the client's files \
              and terminals. The agent may continue for half a second plus the time of its quickest answer, or \
              for a quarter of the time of the handshake.";
    FsGated "acp.gates.fs" Must "CP-01" ["acp.cp-01"]
        "The agent reads files only if the client offers reading, and writes files only if the client offers \
         writing. Source: file system.";
    TerminalGated "acp.gates.terminal" Must "CP-02" ["acp.cp-02"]
        "The agent requests terminals only if the client offers them. Source: terminals.";
    ElicitationGated "acp.gates.elicitation" Must "CP-03" ["acp.cp-03"]
        "The agent uses only the ways of elicitation that the client offers. Source: ElicitationCapabilities.";
    UpdatesGated "acp.gates.updates" Must "CP-04" ["acp.cp-04"]
        "Notices, compactions, authentication in a terminal and boolean options are sent only if the client \
         offers them. Source: ClientCapabilities.";
    VersionChosen "acp.handshake.version" Must "CP-05" ["acp.cp-05"]
        "If the agent supports the requested version, it answers with this version, otherwise with the latest \
         version that it supports. Source: initialization."
        open "A breach is an answer with an unpublished version, or with another version than the requested \
              version 1 although the agent then uses version 1: it ends a prompt with a stop reason, or reports \
              a `tool_call`.";
    Implements "acp.handshake.methods" Must "CP-06" ["acp.cp-06"]
        "The agent implements `initialize`, `session/new` and `session/prompt`. Source: overview.";
}
