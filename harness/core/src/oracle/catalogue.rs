//! The catalogue of checks: one row each, with its weight, its sources and the chosen interpretation.
//!
//! Each check has an injected fault that breaks it (`run::mutant_rows`) and a capture that breaks it
//! (`corpus/captures`, tested by `tests/all/captures.rs`).
//!
//! Knows: weights. Never knows: the implementation of checks.
//!
//! Start at [`CHECKS`].

use super::catalogue_below::with_rows_below_hosts;
pub use super::rule::CheckRow;
pub(super) use super::rule::CheckRule;
use super::rule::catalogue;
use crate::verdict::Weight;

with_rows_below_hosts! { catalogue {
    ShapeHost "shape.host" Must "A9"
        ["envelope.shape", "snapshot.schema-valid", "jsonrpc.version.tag-output",
         "jsonrpc.response.result-xor-error", "jsonrpc.error.shape",
         "jsonrpc.response.null-result-present", "auth.required.data", "transport.whole-messages",
         "channel.present-on-notifications", "channel.present-on-server-requests",
         "reading.action-params", "reading.subscribe-result"]
        apart ["envelope.shape", "snapshot.schema-valid", "jsonrpc.version.tag-output",
         "jsonrpc.response.result-xor-error", "jsonrpc.error.shape",
         "jsonrpc.response.null-result-present", "auth.required.data", "transport.whole-messages",
         "channel.present-on-notifications", "channel.present-on-server-requests",
         "reading.action-params", "reading.subscribe-result"]
        "Every frame of the host is one JSON-RPC 2.0 message that is valid for the negotiated version. Source: \
         JSON-RPC 2.0 sections 4 and 5, the types of each version.";
    ShapeHarness "shape.harness" Note "A9" []
        "The clients' own frames are valid too. An invalid frame of a client is never the target's fault: a client may \
         send it on purpose, and a transcript does not show the purpose.";
    ShapeNullOptional "shape.null-optional" Should "A9" []
        "Optional members are left out instead of null, and required members are present. Clients differ in how they \
         treat null. Source: the types of each version.";
    AnsweredOnce "jsonrpc.answered-once" Must "B1" ["jsonrpc.response.exactly-one"]
        "Every request gets exactly one response, or the connection ends. Source: JSON-RPC 2.0 section 5."
        open "The specification states no deadline. A request counts as unanswered if a later request on the \
              connection was answered a whole deadline later, or if nothing arrived for that long.";
    NoStrayResponse "jsonrpc.no-stray-response" Must "B2"
        ["jsonrpc.notification.no-response", "dispatch.no-response-frame", "unsubscribe.no-response"]
        "The host sends no response without a request: none with an unknown id, and none to a notification. \
         Source: JSON-RPC 2.0 section 4.1."
        open "After an unreadable frame, one response with any id is allowed.";
    HostRequestIds "jsonrpc.host-request-ids" Essential "B4" []
        "The host's open requests have different ids; otherwise the host cannot tell to which request an answer \
         belongs. Source: JSON-RPC 2.0 section 4.";
    Alive "jsonrpc.alive" Must "B5"
        ["ping.response", "ping.before-initialize", "ping.without-subscriptions",
         "ping.during-turn"]
        "A `ping` succeeds at any time, also before the handshake and during turns. Source: lifecycle.md, ping."
        open "The deadline is the same as for every request. The check judges pings on the root channel.";
    ErrorCode "jsonrpc.error-code" Note "B6"
        ["jsonrpc.error.reserved-range", "jsonrpc.error.code-32006-unassigned"]
        "An error code below -32000 is one that JSON-RPC or the version's table assigns. The specification only \
         implies this rule, so a breach is a note. Source: error codes.";
    Refused "requests.refused" Must "B7"
        ["session.create.duplicate", "subscribe.unknown-resource", "jsonrpc.method-not-found"]
        apart ["session.create.duplicate", "subscribe.unknown-resource", "jsonrpc.method-not-found"]
        "The host refuses impossible requests: to create a session at a URI in use (MUST), to subscribe to a \
         disposed channel (essential, since no actions will follow), to call a method that no version has. \
         Source: session-channel.md, creation; error codes."
        open "If clients that were not recorded may have disposed of the session, a breach is a note. Success of an \
              unknown method is also a note, because host and client may have agreed on the method.";
    Agreed "handshake.agreed" Must "O1"
        ["lifecycle.initialize.version-selected-from-offer", "lifecycle.initialize.result-shape",
         "lifecycle.preinit.request-refused"]
        apart ["lifecycle.initialize.version-selected-from-offer",
         "lifecycle.initialize.result-shape", "lifecycle.preinit.request-refused"]
        "The answer to `initialize` names one of the offered versions, as it was offered. Source: \
         InitializeResult.protocolVersion."
        open "The specification only implies that the host serves nothing but `ping` before the handshake, so a \
              breach is a note. If the answer names no known version, the offered version applies, provided \
              that it is unambiguous.";
    Refusal "handshake.refusal" Must "O2"
        ["lifecycle.version.unsupported-data", "lifecycle.version.unsupported-close"]
        apart ["lifecycle.version.unsupported-data", "lifecycle.version.unsupported-close"]
        "A host that supports none of the offered versions refuses the handshake, closes the connection and, \
         from 0.9.0 on, names the versions that it supports. Source: versioning.md, negotiation; \
         UnsupportedProtocolVersionErrorData."
        open "The versions of a host are known from its other handshakes; without another handshake, a missing \
              list is a note. A connection counts as open if the host answers a request that was sent a second \
              later.";
    SequenceGrows "sequence.grows" Essential "A1"
        ["envelope.serverseq.monotonic", "subscribe.delivery.order-preserved", "transport.ordered"]
        "On one connection the `serverSeq` of live accepted actions grows. A reconnecting client has one \
         watermark for the connection; without growth it loses actions. Source: guide, `monotonically \
         increasing`."
        open "The numbers grow strictly, per connection, over all channels. A rejection may repeat a number; a \
              rejection with a lower number is a note.";
    OneEnvelope "sequence.one-envelope" Essential "A2"
        ["envelope.serverseq.unique", "reconnect.replay-envelope-verbatim"]
        "One `serverSeq` identifies one action: its channel, content and origin are the same on every connection, \
         otherwise clients diverge. Source: ActionEnvelope.serverSeq."
        open "Connections of other versions and connections that asked for merged delivery are not compared, nor are \
              numbers beyond the limit of 16,384 actions or 8 MiB.";
    OrderAgreement "sequence.order-agreement" Essential "A3" ["envelope.total-order"]
        "Every subscriber of a channel sees its actions in the same order, otherwise folded states diverge. \
         Source: the reducers are not commutative.";
    RealTime "sequence.real-time" Essential "A10"
        ["envelope.serverseq.survives-connections",
         "lifecycle.initialize.serverseq-matches-snapshots"]
        apart ["lifecycle.initialize.serverseq-matches-snapshots"]
        "Numbers never go back in real time: `initialize.serverSeq`, and the `fromSeq` of a channel, are not \
         below any number that was received before the request. A client that starts with a lower number folds \
         actions twice, and a client that starts with a higher number loses actions. Source: \
         InitializeResult.serverSeq, Snapshot.fromSeq."
        open "A `fromSeq` below the counter but not below the channel's last action is a note. Numbers begin at \
              0, so a negative number is below every number.";
    Causal "sequence.causal" Essential "A11" ["multi.causality"]
        "An accepted action has a greater number than every number that was received before its dispatch; \
         otherwise the action is ordered before its cause, and a client that has received more actions ignores \
         it as old. Source: state-model.md, the total order.";
    FanoutComplete "fanout.complete" Essential "A4"
        ["multi.fanout.all-subscribers", "multi.fanout.join-leave-churn",
         "subscribe.no-gap-snapshot-to-live", "subscribe.live-after-response",
         "transport.reliable"]
        "Any two subscribers of a channel receive the same actions, from the larger of their two `fromSeq` to the \
         earlier end of their subscriptions; otherwise their states diverge. Source: subscriptions.md."
        open "The specification does not state who receives rejections, `chat/turnsLoaded` and actions of automations. \
              An action that arrives before the answer with the snapshot is a note, because a client may keep the \
              action until the answer.";
    SubscribedOnly "fanout.subscribed-only" Must "A5"
        ["unsubscribe.stops-delivery", "multi.isolation.sessions",
         "subscribe.isolated-per-connection"]
        "Actions and notifications of a channel come only to its subscribers. After an `unsubscribe` this is a \
         MUST; without any subscription it is essential, because it leaks other people's sessions. Source: \
         subscriptions.md."
        open "A client may also receive the echo or rejection of its own dispatch; `auth/required` is a note; \
              messages that the host relays to or from MCP servers are not judged.";
    AfterSnapshot "fanout.after-snapshot" Essential "A6"
        ["snapshot.fromseq-lower-bound", "subscribe.no-duplicate-snapshot-to-live"]
        "After a snapshot with `fromSeq` n, no action with a number of n or below is delivered on that channel; \
         a client would fold such an action twice. Source: Snapshot.fromSeq.";
    Family "fanout.family" Essential "A7" ["channel.type-prefix-matches-channel"]
        "An action arrives on a channel of the kind that its type belongs to, and a notification about the root \
         channel arrives on the root channel; otherwise no client applies it. Source: the channel pages.";
    KnownActions "fanout.known-actions" Must "A8"
        ["version.action-types-known", "version.host-no-newer-behaviour",
         "version.notification-methods-known", "reading.tool-actions", "reading.no-diffs"]
        apart ["version.action-types-known", "version.host-no-newer-behaviour",
         "version.notification-methods-known", "reading.tool-actions", "reading.no-diffs"]
        "The host sends only actions and notifications that the negotiated version defines. Names that occur only in \
         the guide of an old version are not defined. Source: versioning.md."
        open "The registry and the published packages name different first versions for some names. Such a \
              name, and a name that no version has, is a note.";
    AfterRemoval "fanout.after-removal" Essential "A12"
        ["session.dispose.drops-subscriptions", "chat.dispose.success", "dispatch.disposed-channel-ignored"]
        "Nothing arrives on the channel of a session, chat or terminal after its removal: clients have dropped its \
         state, and a new resource at that URI would receive the actions of the old resource. The host ignores a \
         dispatch to such a channel. Source: session-channel.md, disposal."
        open "`root/sessionRemoved` and the answer to a disposal have no number: they apply to the connection \
              that received them. If chats can be moved, a removed chat counts as gone only if a client \
              disposed of it.";
    SettledOnce "dispatch.settled-once" Essential "C1"
        ["envelope.origin.client-echo", "envelope.echo.to-dispatcher", "dispatch.rejected-echo"]
        "A valid dispatch by a subscriber is answered by exactly one action with its origin, accepted or \
         rejected; otherwise the client's pending action never settles, or is applied twice. Source: \
         write-ahead reconciliation.";
    NoForgedOrigin "dispatch.no-forged-origin" Essential "C2"
        ["envelope.origin.not-forgeable", "envelope.origin.clientseq-verbatim"]
        "An origin names an action that this client dispatched, on this channel and of this type; otherwise a \
         client settles the wrong pending action. Source: ActionOrigin.";
    InOrder "dispatch.in-order" Essential "C3"
        ["envelope.echo.fifo-per-client", "dispatch.order-preserved"]
        "The dispatches of a connection are settled in the order they were sent: clients match each result with their \
         first pending action. Source: reconciliation."
        open "The order within a channel is essential. The order across channels is only inferred, so a breach \
              is a note.";
    PayloadKept "dispatch.payload-kept" Note "C4"
        ["envelope.echo.payload-preserved", "envelope.rejection.carries-original"]
        apart ["envelope.echo.payload-preserved", "envelope.rejection.carries-original"]
        "The echo has every member of the dispatch. The specification does not forbid normalisation, so a \
         difference is a note.";
    RejectionWithoutEffect "dispatch.rejection-without-effect" Must "C5"
        ["envelope.rejection.no-effect", "envelope.accepted.no-reason"]
        "A rejected action changes nothing. Source: actions.md, rejection.";
    ClientDispatchableOnly "dispatch.client-dispatchable-only" Should "C6" []
        "The host does not accept a client's action that only the host may send. Source: the dispatch rule of \
         each action; hosts SHOULD reject it."
        open "For `session/defaultChatChanged` and other disputed actions, a breach is a note.";
    AcceptedEffect "dispatch.accepted-effect" Note "C7" []
        "An accepted action of a client has an effect in the reducers, or requests the state that already \
         holds. The specification never says so, but the host should have rejected an action without effect.";
    EchoFirst "dispatch.echo-first" Essential "C8" ["multi.causality"]
        "The results of a client's action arrive after the action itself; otherwise no client knows the turn \
         yet, and the content of the turn is lost. Source: state-model.md."
        open "The check judges turns, on the connection that started them.";
    SnapshotAgrees "state.snapshot-agrees" Essential "D1"
        ["snapshot.consistent-with-log", "snapshot.deterministic", "multi.converge",
         "reconnect.snapshot.consistent", "subscribe.no-gap-snapshot-to-live",
         "subscribe.snapshot-resource-matches", "snapshot.isolation-from-later-mutation"]
        apart ["subscribe.snapshot-resource-matches"]
        "A snapshot with the accepted actions after it equals every later snapshot of the channel, on any \
         connection; otherwise clients diverge. Source: state-model.md."
        open "Members that no action can change are not compared (the list is in `oracle/masks.rs`). If a client that \
              was not recorded may have disposed of a session and created it again, a difference is a note.";
    MergedAgrees "state.merged-agrees" Essential "D5"
        ["subscribe.delivery.same-reduced-state", "reconnect.delivery-options-reset"]
        "A subscription with `delivery.maxLatencyMs` has the same state as a subscription without it, at every \
         `serverSeq` that it receives; otherwise clients that accept delays see other content. Source: \
         subscriptions.md, delivery preferences."
        open "Only subscriptions by `subscribe` are judged: the specification does not say whether a \
              `reconnect` keeps the preference.";
    StateGiven "state.given" Must "D6"
        ["subscribe.snapshot-state-bearing", "lifecycle.initialize.snapshots-per-subscription",
         "reconnect.snapshot.one-per-subscription"]
        apart ["subscribe.snapshot-state-bearing", "lifecycle.initialize.snapshots-per-subscription",
               "reconnect.snapshot.one-per-subscription"]
        "A subscriber to a channel with a state MUST receive a snapshot; without one it cannot fold any action. \
         Source: subscriptions.md."
        open "Among initial subscriptions, a missing snapshot of the root channel, which always exists, is essential, \
              and a missing snapshot of a channel to which other clients are subscribed is a note; other channels may \
              be gone or hidden. Two snapshots of one channel in one list are an essential breach.";
    UniqueIds "state.unique-ids" Essential "D7"
        ["root.state.terminals-live", "root.state.provider-unique", "root.state.default-model-valid",
         "chat.tool.option-ids-unique", "chat.input.stable-ids"]
        apart ["root.state.terminals-live", "root.state.provider-unique",
         "root.state.default-model-valid", "chat.tool.option-ids-unique", "chat.input.stable-ids"]
        "Terminals, agents, options of a call and questions of a request have unique identifiers; an identifier \
         that occurs twice is ambiguous. Source: RootState, ConfirmationOption.id, ChatInputRequest."
        open "Models of an agent and changesets may be listed twice with the same meaning, so a repetition is a \
              note.";
    DeadHostAction "state.dead-host-action" Note "D4" []
        "An action of the host has an effect in the reducers. The specification never says so, but an action \
         without effect nearly always means a lost part or a wrong channel.";
    OneActive "turns.one-active" Essential "E1" ["chat.turn.single-active"]
        "The host starts no turn of a chat while one is active: the reducers drop the running turn with all its \
         content. Source: chat-channel.md, the reducers."
        open "No rule permits a host to reject a client's `turnStarted` while a turn is active, so accepting it \
              is a note. The same holds if the client starts the active turn again.";
    ActiveOnly "turns.active-only" Essential "E2"
        ["chat.turn.scoped-actions-active"]
        "Actions within a turn name the active turn; if the turn has ended, the content of such an action is lost. \
         Source: chat-channel.md, the reducers.";
    OneEnd "turns.one-end" Essential "E3" ["chat.turn.exactly-one-end"]
        "A turn ends at most once, and no accepted turn vanishes from the history without an end. Two ends, or \
         none, leave clients with different histories. Source: turn life cycle."
        open "Scenarios test whether a turn ends at all.";
    UniqueTurns "turns.unique-ids" Essential "E4" ["chat.state.turn-ids-unique"]
        "A turn has an id that no other turn of its chat has; otherwise actions that name it reach another \
         turn. Source: ChatState.turns.";
    UniqueParts "turns.unique-parts" Essential "E5"
        ["chat.state.part-ids-unique", "chat.tool.id-unique"]
        "The text parts of a turn have different ids, and so have the items of a chat's background work; otherwise \
         appended text reaches another part. Source: chat-channel.md, response parts."
        open "A text part and a tool call with the same id are a note, because the rule is inferred from \
              `chat/delta`.";
    PartBeforeAppend "turns.part-before-append" Must "E6"
        ["chat.stream.part-before-delta", "chat.stream.part-before-reasoning",
         "chat.stream.kind-match"]
        "A part is created before text is appended to it, and has the kind that the appending action requires. \
         Source: chat-channel.md.";
    ErrorParts "turns.error-parts" Essential "E7" ["reducer.chat.responsePart-error-ignored"]
        "From 0.9.0 on an error part comes with `chat/error`; in `chat/responsePart` every reducer ignores it, \
         and the error is lost. Source: chat-channel.md, error recovery.";
    AfterReady "turns.after-ready" Note "E8" ["session.lifecycle.ready"]
        "No turn starts before its session is ready. The life cycle only implies this rule, so a breach is a \
         note."
        open "Some hosts run turns in provisional sessions.";
    Explained "turns.explained" Note "E9"
        ["chat.queue.two-step", "chat.create.initial-message", "chat.steering.idle-stored"]
        "A turn that the host starts with a user's message names a queued message, or is the first turn of a \
         chat created with a message. The specification only implies this rule, so a breach is a note."
        open "The check does not judge the first turn of a chat whose creation is not in the transcript.";
    TurnTimes "turns.times" Note "E10"
        ["chat.turn.startedAt-iso", "chat.turn.duration-nonnegative"]
        "`startedAt` is a time in ISO 8601. `duration` is not negative, and not longer than the observed \
         duration of the turn. The types only imply this rule, so a breach is a note.";
    LegalTransitions "tools.legal-transitions" Essential "F1"
        ["chat.tool.lifecycle-legal", "chat.tool.start-first", "chat.tool.delta-only-streaming",
         "chat.tool.id-unique"]
        apart ["chat.tool.lifecycle-legal", "chat.tool.start-first", "chat.tool.delta-only-streaming",
         "chat.tool.id-unique"]
        "A tool call begins with a start under a new id, and changes its status only by the table of transitions; \
         otherwise content is lost, or a call runs without a decision. Source: the tool-call diagram."
        open "The reducers apply a completion while a confirmation is pending, but the diagram does not show this \
              transition, so it is a note.";
    OneDecision "tools.one-decision" Must "F4"
        ["dispatch.chat.toolCallConfirmed.twice", "dispatch.chat.toolCallConfirmed.opposite"]
        "A tool call is confirmed at most once per pending period, completed once, and its result confirmed \
         once. Source: chat-channel.md, validation.";
    OwnerConstant "tools.owner-constant" Must "F3" ["chat.tool.ready-contributor"]
        "A tool call belongs to the same client from its start on: `chat/toolCallReady` names no other client. \
         Source: chat-channel.md, ownership."
        open "The host may repeat the owner, and may name an MCP server as the contributor of its own call \
              later.";
    OwnerActs "tools.owner-acts" Should "F5"
        ["dispatch.chat.toolCallComplete.non-owner", "dispatch.chat.toolCallContentChanged.non-owner"]
        "Only the owner of a client's tool call completes the call or changes its content; hosts SHOULD reject \
         such actions of other clients. Source: chat-channel.md, validation."
        open "Any client may end a call that waits for authentication as failed.";
    AuthForMcp "tools.auth-for-mcp" Essential "F6" ["chat.tool.auth-required-mcp-only"]
        "Only calls of MCP servers wait for authentication. For other calls the reducers ignore the action, so \
         that the host waits while every client sees the call run. Source: chat-channel.md.";
    OwnerActive "tools.owner-active" Note "F7"
        ["chat.tool.client.inactive-owner", "reconnect.client-identity-for-tools"]
        "A new call belongs to a client that is active in the session, because no other client can run the \
         call. The specification only implies this rule, so a breach is a note."
        open "The check needs the state of the session as well as the chat's.";
    HistoryFinal "tools.history-final" Essential "F8"
        ["reducer.chat.endTurn-force-cancel", "chat.turn.cancel-force-tools"]
        "The turns of the history have only completed and cancelled calls, because no action can change a call \
         once its turn has ended. Source: the reducers."
        open "Statuses of newer versions are not judged.";
    RemovalEndsCalls "tools.removal-ends-calls" Should "F9"
        ["session.activeClient.removal-cancels-calls", "disconnect.tool-calls-cancelled",
         "disconnect.tool-calls-across-chats"]
        "When an active client is removed, its running calls end as failed (SHOULD). Source: \
         session-channel.md."
        open "The check judges a session at rest.";
    ChatDerived "status.chat-derived" Essential "G1"
        ["chat.turn.status-inprogress", "reducer.chat.status-derivation",
         "chat.tool.pending-blocks-status"]
        "A chat's activity follows its turn: waiting, active, failed or idle. Clients derive the activity from \
         actions, so they diverge if a snapshot has a different activity. Source: the reducers."
        open "After a failed turn both Error and Idle are possible: a truncation clears the error.";
    SessionAggregates "status.session-aggregates" Should "G2"
        ["session.status.default-chat-base", "session.status.input-needed-any-chat",
         "session.status.error-any-chat", "session.status.in-progress"]
        "A session's activity is that of its default chat or, without one, of the chat that changed last; a \
         chat that waits for input or has failed takes precedence. Source: session-channel.md, SHOULD."
        open "The specification does not say whether waiting or failure takes precedence, so both are legal.";
    OneActivity "status.one-activity" Essential "G3" ["session.status.bits-valid"]
        "The lowest five bits of a status are exactly one activity; any other value has no meaning to any \
         client. Source: SessionStatus."
        open "Bits above the known bits belong to newer versions.";
    FlagsKept "status.flags-kept" Essential "G4"
        ["session.status.flags-orthogonal", "session.isArchived.toggle", "session.isRead.toggle"]
        "IsRead and IsArchived change only by their own actions; a new turn or question also clears IsRead of a \
         chat. Otherwise clients disagree about what was read. Source: SessionStatus."
        open "The host decides whether activity marks a session as unread, so a difference is a note.";
    InputNeededBits "status.input-needed-bits" Essential "G5" ["session.inputNeeded.status-bit"]
        "A session with an entry in `inputNeeded` for a person has the activity InputNeeded; otherwise people \
         who see only the list of sessions do not notice the request. Source: SessionState.inputNeeded, the \
         reducers."
        open "From 0.8.0 on, the entry of a client's own tool is not for a person.";
    OpenRequests "input.open-requests" Should "H1"
        ["chat.input.late-answer", "chat.input.stable-ids"]
        "Only open requests are answered and completed, and each request has one response; hosts SHOULD reject \
         other answers. Source: chat-channel.md, validation.";
    RollupComplete "input.rollup-complete" Essential "H2"
        ["session.inputNeeded.set", "chat.tool.auth-inputNeeded"]
        "Everything that a chat waits for has an entry in its session's `inputNeeded`; otherwise clients that see only \
         the session never answer, and the turn hangs. Source: session-channel.md."
        open "The check judges a session at rest: no frame concerned the session for 3 s, or the host sent \
              nothing for 1 s. The host decides whether a client's own tool has an entry.";
    RollupMirrors "input.rollup-mirrors" Essential "H2"
        ["session.inputNeeded.payload-mirror", "session.inputNeeded.tool-status-kind",
         "session.inputNeeded.ids-unique"]
        "An entry of `inputNeeded` is an exact copy of the chat's request or tool call, has a status that fits \
         its kind, and occurs once, because people base their decision on this copy. Source: \
         SessionInputRequest."
        open "The check compares the entries when the session is at rest. When an entry is removed, the check \
              judges whether the entry ever equalled the request or call in the chat.";
    RollupStale "input.rollup-stale" Essential "H3" ["session.inputNeeded.removed"]
        "No entry of `inputNeeded` outlives its request or call, its turn, or its chat; otherwise people are asked \
         about something that has ended. Source: session-channel.md."
        open "The check judges a session at rest. When an entry is removed, the check judges only whether the \
              chat ever had such a call.";
    CatalogMirrors "catalog.mirrors-chats" Must "I1" ["session.catalog.chatUpdated-consistent"]
        "A session's entry for a chat equals the state of the chat. Source: chat-channel.md."
        open "The check judges a session at rest. Updates cannot clear a member, so a member that the chat lost may \
              stay; a difference in times and change counts is a note.";
    WorkerOrigin "catalog.worker-origin" Must "I1" ["chat.subagent.consistency"]
        "If a call shows the chat of a worker, the origin of that chat is this call. Source: chat-channel.md, origin."
        open "The check judges the active turn and the last turn when the session is at rest. It does not judge \
              what a client's tool shows.";
    DefaultChat "catalog.default-chat" Essential "I2"
        ["session.catalog.default-in-catalog", "chat.move.default-not-movable"]
        "The default chat is in the catalogue, in a session's state and in its summaries; otherwise a client \
         opens nothing. From 1.0.0 on it MUST NOT be movable. Source: session-channel.md.";
    ReorderPermutes "catalog.reorder-permutes" Must "I3" ["session.catalog.reordered-complete"]
        "`session/chatsReordered` lists every chat of the session exactly once. Source: session-channel.md.";
    OneOwner "catalog.one-owner" Essential "I4"
        ["session.catalog.one-owner", "session.catalog.unique"]
        "A chat is in exactly one catalogue, and only once there; otherwise its questions are asked twice, and its \
         removal leaves a copy behind. Source: session-channel.md."
        open "A chat in two sessions is judged when the session is at rest. Adding a chat that is already \
              listed replaces its entry, and is a note.";
    UpdatedKnown "catalog.updated-known" Essential "I4" ["session.catalog.chatUpdated-known"]
        "`session/chatUpdated` names a chat of the catalogue; reducers ignore an update of any other chat, and \
         the change is lost. Source: the reducers.";
    ListedOnce "sessions.listed-once" Essential "I5" ["root.listSessions.no-duplicates"]
        "A list has every session exactly once, because clients use the URI as the key. Source: listSessions."
        open "Each page is judged separately.";
    ListAgrees "sessions.list-agrees" Essential "I5"
        ["root.summaryChanged.values-current", "root.listSessions.contains-created",
         "root.sessionAdded.emitted", "root.sessionRemoved.emitted"]
        "A list with the later announcements applied equals the next list; otherwise subscribed clients show \
         sessions that are gone, or miss sessions. Source: root-channel.md."
        open "The check judges complete lists on one connection, when the host has been at rest for a second before; \
              times, change counts and members that a partial update cannot clear are not compared. A session that was \
              created and announced to the same connection is in a complete list at any time.";
    AnnouncedOnce "sessions.announced-once" Essential "I5"
        ["root.sessionAdded.emitted", "root.sessionRemoved.emitted",
         "root.sessionRemoved.no-further-summary"]
        "A session is added once and removed once, and no announcement mentions it after its removal: a late \
         change would make it reappear in clients. Source: root-channel.md.";
    AnnouncedToAll "sessions.announced-to-all" Essential "I12"
        ["root.sessionAdded.emitted", "root.sessionRemoved.emitted", "root.summaryChanged.emitted"]
        apart ["root.sessionAdded.emitted", "root.sessionRemoved.emitted",
         "root.summaryChanged.emitted"]
        "Every connection that is subscribed to the root channel receives the same announcements of sessions; \
         clients learn of sessions in no other way. Source: root-channel.md, notifications."
        open "The check judges an announcement a second after the first one, once a later request was answered \
              or the host is at rest. Changes SHOULD be announced and may be merged, so the check judges their \
              latest values at rest. A session that was never announced is a note until it is known to be \
              ready.";
    SummaryAgrees "sessions.summary-agrees" Essential "I6"
        ["root.listSessions.summary-equals-state", "root.listSessions.chats-catalog",
         "root.summaryChanged.chat-status-projection"]
        "A summary agrees with the session's own state; a difference means that the host updates the two \
         separately. Source: SessionSummary."
        open "The check judges members that both have, when the host has been at rest for a second.";
    ActiveCount "sessions.active-count" Note "I7" ["root.state.active-sessions"]
        "`activeSessions`, if it is present, is the number of sessions that are not disposed of. No document \
         says MUST or SHOULD, so a difference is a note. Source: root-channel.md, State.";
    LifecycleOnce "session.lifecycle-once" Essential "I8"
        ["session.lifecycle.monotone", "session.lifecycle.ready"]
        "A session becomes ready, or fails, at most once. Clients wait for this before they start a turn. \
         Source: SessionLifecycle.";
    IdentityKept "identity.kept" Must "I9"
        ["root.summaryChanged.identity-omitted", "session.catalog.chatUpdated-identity",
         "chat.state.origin-immutable", "session.modifiedAt.iso", "chat.state.fields-inlined"]
        apart ["root.summaryChanged.identity-omitted", "session.catalog.chatUpdated-identity",
         "chat.state.origin-immutable", "session.modifiedAt.iso", "chat.state.fields-inlined"]
        "Resource, provider, time of creation and origin never change, and partial updates leave them out (MUST). A \
         state that names its resource names its own channel. Clients keep what updates leave out, so another \
         resource or provider is essential; another time or origin is a note. Source: PartialSessionSummary, \
         ChatState."
        open "A partial update of a chat may repeat the chat's origin unchanged.";
    Directories "directories.within-session" Must "I10" ["chat.workingDirectories.subset"]
        "A chat's working directories are among those of its session, without duplicates; otherwise an agent works \
         where the session does not allow it. Source: chat-channel.md."
        open "The check judges a session at rest, because the specification does not say what happens to a chat's \
              directory that the session loses.";
    OwnEntry "clients.own-entry" Essential "I11"
        ["dispatch.session.activeClientSet.other-client",
         "dispatch.session.activeClientRemoved.other-client", "session.activeClient.upsert"]
        "A client registers and removes only itself, and is in the list of active clients only once; a client that \
         registers in the name of another one receives its tool calls. Source: the threat model.";
    QueueOnce "queue.once" Essential "J1"
        ["chat.queue.no-double-consume", "chat.queue.two-step"]
        "A queued message becomes one turn with its content, and becomes no turn after its removal; otherwise an agent \
         does work twice, or work that nobody wants any more. Source: chat-channel.md.";
    QueueOrder "queue.order" Essential "J1" ["chat.queue.fifo", "chat.queue.reorder-honoured"]
        "The host takes the first message of the queue, because people see and change the order of the queue. \
         Source: chat-channel.md."
        open "If the host starts a turn from a message that is still in the queue, this is only a warning: the \
              host SHOULD remove the message first.";
    QueueDrains "queue.drains" Should "J2"
        ["chat.queue.consume-after-turn", "chat.queue.idle-autostart"]
        "An idle chat starts turns with its queued messages. Source: chat-channel.md, SHOULD."
        open "The check judges a session at rest, after a completed turn. The specification does not state the \
              effect of a turn that was cancelled, that failed, or that a truncation removed.";
    SteeringStartsNothing "steering.starts-nothing" Essential "J3" ["chat.steering.idle-stored"]
        "A steering message is for the active turn and starts no turn; otherwise an agent in an idle chat \
         begins to work without a request. Source: chat-channel.md."
        open "The check judges messages that arrived while the chat was idle; a message that is left over from \
              a turn may start a turn.";
    CommandPairs "terminal.command-pairs" Essential "K1"
        ["terminal.command.pairing", "terminal.command.flag"]
        "A command starts under a new id and finishes once, on a terminal that declares command detection; \
         otherwise clients show the output and the exit code of another command. Source: terminal-channel.md, \
         command detection."
        open "The end of a command whose start may have scrolled away is a note.";
    OneCommand "terminal.one-command" Note "K2" ["terminal.command.no-nesting"]
        "A terminal runs one command at a time. The parts of its output only imply this rule, so a breach is a \
         note."
        open "If a shell does not report the end of a command, the command's part of the output stays open.";
    ExitFinal "terminal.exit-final" Essential "K3"
        ["terminal.exited", "terminal.exited.no-data-after"]
        "A terminal exits once: a second exit would contradict the first exit code. Source: \
         terminal-channel.md, control."
        open "Output and commands after the exit are a note, because a pipe may be read late.";
    TerminalsListed "terminal.listed" Essential "K4"
        ["root.action.terminalsChanged", "root.action.terminalsChanged-lifecycle",
         "root.state.terminals-live", "terminal.dispose.success", "terminal.claim.always-owned"]
        "The root channel's list has every terminal that was created and not disposed of, with its title, claim and \
         lifecycle; clients find terminals nowhere else. Source: root-channel.md, terminal-channel.md."
        open "The check judges terminals that a client created or follows, when the host has been at rest for a \
              second. The shape checks judge whether a claim is present and well-formed.";
    WholeCharacters "terminal.whole-characters" Note "K5" ["terminal.data.utf8-boundaries"]
        "Output has no U+FFFD, which replaces characters that were cut in two. A breach is a note, because a program \
         may print this character. Source: TerminalDataAction.data."
        open "The check `state.snapshot-agrees` tests that all observers have the same output; it permits \
              either side to drop output that scrolled away.";
    NoShellMarkers "terminal.no-shell-markers" Must "K6" ["terminal.data.strip-integration"]
        "Output MUST NOT contain the escape sequences by which shells report commands to editors: OSC 133, 633, \
         and those of 1337 about a prompt. Source: terminal-channel.md, command detection."
        open "A program that prints these sequences itself cannot be distinguished from its shell.";
    ProgressForward "progress.forward" Essential "L1"
        ["root.progress.monotone", "root.progress.nothing-after-final",
         "root.progress.only-with-token", "root.progress.total-constant"]
        "Progress names a token that a client sent, never goes back or beyond its total, and ends once it is \
         complete; otherwise a client shows a progress bar that has ended or that it did not request. Source: \
         root-channel.md, progress."
        open "All tokens are known only if every client is in the transcript.";
    ProgressEnds "progress.ends" Must "L1" ["root.progress.final-frame"]
        "Progress that began MUST end with a frame in which it equals its total. Source: root-channel.md, \
         progress."
        open "The check judges progress once the requested resource exists or was refused, and no frame has \
              arrived for as long as a host may take to answer.";
    ChangesetError "changeset.error" Essential "L2" ["changeset.error-iff"]
        "A changeset has an error if and only if its status is `error`: reducers drop an error beside another status, \
         and without an error nobody knows why the changeset failed. Source: ChangesetState.error.";
    ChangesetIds "changeset.unique-ids" Essential "L2" ["changeset.file-ids-unique"]
        "The files and the operations of a changeset differ in their ids, by which they are changed, removed \
         and invoked. Source: ChangesetFile.id.";
    ChangesetKept "changeset.kept-while-recomputing" Essential "L2"
        ["changeset.recomputing-keeps-files"]
        "While a changeset is recomputed its files stay; otherwise people see no changes although there are \
         some. Source: ChangesetStatus.Recomputing."
        open "The whole new content may arrive before the status that it belongs to; single files that change \
              meanwhile are a note.";
    ChangesetReview "changeset.review-offered" Essential "L2"
        ["dispatch.changeset.filesReviewChanged.no-capability"]
        "Files are marked as reviewed only in changesets that offer reviews; without that offer, clients do not \
         show the mark and cannot remove it. Source: ChangesetCapabilities.review."
        open "The check judges changesets whose catalogue is in the transcript, by the template that matches \
              their URI.";
    AnnotationsSound "annotations.sound" Must "L3"
        ["annotations.min-one-entry", "dispatch.annotations.set.empty-entries",
         "dispatch.annotations.entryRemoved.last"]
        "An annotation MUST have an entry, regardless of who removes entries. The ids of annotations are unique, and \
         so are the ids of the entries of one annotation. Source: Annotation, AnnotationsSetAction.";
    AnnotationCounts "annotations.counts" Essential "L3" ["annotations.summary-counts"]
        "A session's counts of annotations and entries equal the counts of its annotations channel; clients \
         that only list sessions have no other source. Source: AnnotationsSummary."
        open "The check judges counts that arrive when the host has been at rest for a second.";
    WatchBatch "watch.batch" Must "L4" ["watch.nonempty-batch"]
        "A batch of changes MUST NOT be empty. Source: ResourceWatchChangedAction.";
    WatchRoot "watch.below-root" Essential "L4" ["watch.event-uris"]
        "Changes concern only watched files: other changes reveal files that the client did not request, and \
         may not be permitted to read. Source: ResourceChange.uri."
        open "URIs are compared without their escapes and the case of their letters.";
    WatchDescriptor "watch.descriptor" Essential "L4"
        ["watch.state-immutable", "watch.subscribe.descriptor"]
        "A watch has the requested root and filters, and keeps them: no action changes them. Source: \
         resource-watch-channel.md."
        open "The host chooses members that the request does not have.";
    RunsForward "automation.runs-forward" Essential "L5"
        ["automation.run.lifecycle", "automation.run.lifecycle-timestamps"]
        "A run goes from pending to running and then to its end, and its time of creation does not change; clients \
         wait in vain for a run that continues after its end. Source: automations guide, run lifecycle.";
    RunTimes "automation.run-times" Essential "L5" ["automation.run.lifecycle-timestamps"]
        "A run is created, started and completed in this order; clients compute how long it took. Source: the \
         lifecycle types of runs.";
    RunSessions "automation.run-sessions" Essential "L5" ["automation.run.primary-member"]
        "The sessions of a run are unique, and include the primary session, which clients open. Source: \
         AutomationRunState.primarySession.";
    RunsListed "automation.runs-listed" Essential "L5"
        ["automation.runs.order-limit", "automation.occurrence-once"]
        "Each run of an automation is listed once, newest first. The list has at most as many runs as the host keeps, \
         and one run for each occurrence; two runs for one occurrence mean that an agent worked twice. Source: \
         AutomationEntry.runs.";
    RunsAgree "automation.runs-agree" Essential "L5" ["automation.run.summary-consistent"]
        "The catalogue's summary of a run agrees with the run. Source: AutomationRunSummary."
        open "The check judges runs that a recorded client follows, when the host has been at rest for a second.";
    RunCount "automation.run-count" Essential "L5" ["automation.runCount"]
        "An automation has a `runCount` if and only if it ends after a number of runs; otherwise nobody knows how many \
         are left. Source: AutomationEntry.runCount.";
    CustomizationIds "customizations.unique-ids" Essential "L6"
        ["session.customizations.ids-unique"]
        "Customizations of a session, children included, have unique ids; otherwise a toggle affects another \
         customization. Source: customizations guide.";
    EnablementOrder "customizations.enablement-order" Must "L6"
        ["session.customizations.enablement-sorted",
         "session.customizations.enablement-one-workspace"]
        "Decisions about enablement MUST be published in the order session, workspace, global, because the \
         first decision applies; there is at most one for the workspace. Source: \
         McpServerCustomization.enablement."
        open "The check applies from 0.8.0 on.";
    HistoryWhole "history.whole" Must "L7"
        ["subscribe.view.omitted-full", "subscribe.view.cursor-when-truncated",
         "subscribe.view.per-subscription"]
        "A snapshot without a requested window has every turn and no cursor. A shortened snapshot has a cursor, \
         without which no client can request the other turns. Source: subscriptions.md, views."
        open "The omitted turns are known only if another connection follows the whole history; a cursor \
              without older turns is a note.";
    HistoryPages "history.pages" Essential "L7"
        ["chat.fetchTurns.prepend", "chat.fetchTurns.cursor-cleared", "chat.fetchTurns.multi-client"]
        apart ["chat.fetchTurns.prepend", "chat.fetchTurns.cursor-cleared"]
        "`chat/turnsLoaded` carries finished turns that are older than the known ones, once, in order and \
         without gaps; reducers prepend them unchanged. Source: ChatTurnsLoadedAction."
        open "A page goes to all subscribers, whatever their windows: a page may begin with turns that some \
              subscribers lack, and continue with turns that other subscribers have.";
    ScalarForms "shape.scalars" Note "L8"
        ["session.modifiedAt.iso", "chat.turn.usage"]
        "Times are ISO 8601, counts are not negative, URIs have a scheme. The types only imply this rule, so a \
         breach is a note.";
    SecretsKept "secrets.kept" Essential "L9"
        ["auth.not-in-state", "telemetry.no-secrets", "session.customizations.mcp.no-secret"]
        "No frame to a client contains a token that a client sent to the host, or another secret: any connected \
         client could act for the owner of the secret. Source: authentication.md, the threat model."
        open "A client secret may occur in the challenge that carries it. Secrets of fewer than 12 bytes, and strings \
              with spaces, are not searched for.";
    RightClient "resources.right-client" Essential "L9"
        ["resource.symmetric.right-client", "resource.symmetric.host-to-client"]
        "The host requests a client's own URIs only from the client that published them: another client would \
         answer with other content, or learn about content of the first client. Source: customizations.md.";
    NoInternals "errors.no-internals" Should "L9"
        ["security.error-leak"]
        "Errors and rejections reveal no internals of the host: no stack traces, no paths of home directories. \
         Source: the threat model, minimum requirements."
        open "Strings from the client's own request may be repeated.";
    NotificationsSubscribed "fanout.notifications-subscribed" Must "L10"
        ["notify.only-to-subscribers", "root.notifications.only-root-subscribers",
         "unsubscribe.root-notifications-stop"]
        "Notifications of the root channel and of telemetry come only to subscribers of the channel that they \
         name. After an `unsubscribe` this is a MUST; without any subscription it is essential, as with \
         actions. Source: subscriptions.md.";
    TelemetryLevel "telemetry.level" Should "L10"
        ["telemetry.level-filter"]
        "Log records on a channel with a level have that severity or a higher one. Source: \
         telemetry-channel.md, filtering.";
    TelemetryPayload "telemetry.payload" Note "L10"
        ["telemetry.payload", "telemetry.scheme"]
        "Each signal has a payload of its kind, on a channel whose URI begins with `ahp-otlp:`. The types only \
         imply this rule, so a breach is a note. Source: telemetry-channel.md, wire format.";
    TelemetryAddresses "telemetry.no-canvas-address" Must "L10"
        ["chat.canvas.url-redacted"]
        "No log record contains the address of a canvas, because this address may grant access to anybody who \
         knows it. Source: CanvasState.url.";
    SideChannel "mcp.side-channel" Essential "L11"
        ["session.customizations.mcp.channel-cleared"]
        "An MCP server has a side channel only if the channel has a capability, and loses the channel with a \
         change of state that omits it; otherwise clients send requests that nobody answers. Source: \
         SessionMcpServerStateChangedAction.";
    ReplayComplete "reconnect.replay-complete" Must "M1"
        ["reconnect.replay-complete", "reconnect.replay-order", "reconnect.replay-only-subscribed",
         "reconnect.replay-exclusive-bound", "reconnect.no-events-in-between-lost"]
        "A replay contains every accepted action on the resumed channels after `lastSeenServerSeq`, in order, and \
         nothing else. Source: lifecycle.md, reconnection."
        open "The missed actions are known from what other connections received, within the limit of 16,384 actions or \
              8 MiB; older actions are not judged. A newer action that arrives before the replay is a note, because a \
              client may keep the action until the replay.";
    NeverPartial "reconnect.never-partial" Essential "M5" ["reconnect.snapshot.when-too-old"]
        "When the host no longer keeps all actions after `lastSeenServerSeq`, it answers with snapshots, and never \
         with a replay that begins later: the client could not notice the loss. Source: lifecycle.md, reconnection.";
    Missing "reconnect.missing" Essential "M3"
        ["reconnect.missing.subset", "reconnect.missing.disposed",
         "reconnect.snapshot.one-per-subscription"]
        "`missing` names only requested channels that are gone and that deliver nothing afterwards, because a \
         client drops their state. Source: ReconnectReplayResult.missing."
        open "A live channel without a snapshot, or in `missing`, is a note unless it is the root channel: the \
              client may no longer be permitted to see it.";
    NoNotificationReplay "reconnect.no-notification-replay" Essential "M4"
        ["reconnect.replay-no-notifications"]
        "The host does not repeat notifications that the client missed. The client requests a new list of \
         sessions, and would apply a late notification to the new list. Source: lifecycle.md, reconnection."
        open "The check judges the notifications of added and removed sessions, which occur once in the life of \
              a session.";
    RestartOpens "restart.opens" Essential "M7" []
        "A session that the restarted host lists can be subscribed to; otherwise clients show an entry that \
         nobody can open. Source: listSessions."
        open "A host need not keep or list its sessions. Errors about a token or a permission are no breach.";
    RestartUndoes "restart.undoes-nothing" Essential "M8" []
        "After a restart no turn that was complete or cancelled is active, no tool call that had ended waits or \
         runs, no cancelled call has succeeded, and no session, chat or terminal that a client disposed of is \
         listed. Clients have seen the host accept these decisions, and a call has effects outside of the \
         protocol. Source: the states of turns and tool calls, the requests to dispose.";
    RestartRepeats "restart.repeats-nothing" Essential "M10" []
        "After a restart no message is shown more often than before, in turns and in the queue; otherwise the agent \
         would do its work twice. Source: chat-channel.md, queued messages."
        open "The message of a turn that is not shown any more may be in the queue again.";
    RestartKeeps "restart.keeps" Note "M9" []
        "A restarted host shows the same content as before: the list of sessions, titles, flags, folders, drafts, \
         queues, chats, automations, annotations, the output of terminals, and the turns in their order with the same \
         text and calls. A difference is a loss, a change, or a previous value. Source: lifecycle.md, unexpected \
         disconnection."
        open "The specification does not say what a host keeps, so a difference is a note. The first snapshot after \
              the restart is compared. It may leave out the oldest turns.";
} }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_unique_and_end_sentences() {
        for (index, row) in CHECKS.iter().enumerate() {
            assert!(row.doc.ends_with('.'), "{}", row.id);
            assert!(row.open.is_none_or(|open| open.ends_with('.')), "{}", row.id);
            assert!(CHECKS[..index].iter().all(|other| other.id != row.id), "{}", row.id);
            assert!(row.apart.iter().all(|id| row.requirements.contains(id)), "{}", row.id);
        }
        assert_eq!(Rule::ShapeHost.row().id, "shape.host");
        assert_eq!(Rule::NoNotificationReplay.row().id, "reconnect.no-notification-replay");
    }
}
