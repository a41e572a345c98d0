//! The catalogue of checks: one row each, with its weight, its sources and the reading taken.
//!
//! Each check has a planted fault that trips it (`run::mutant_rows`) and a capture that breaks it
//! (`corpus/captures`, held by `tests/captures.rs`).
//!
//! Knows: weights. Never knows: how a check works.
//!
//! Start at [`CHECKS`].

pub use super::rule::CheckRow;
pub(super) use super::rule::CheckRule;
use super::rule::catalogue;
use crate::verdict::Weight;

catalogue! {
    ShapeHost "shape.host" Must "A9"
        ["envelope.shape", "snapshot.schema-valid", "jsonrpc.version.tag-output",
         "jsonrpc.response.result-xor-error", "jsonrpc.error.shape",
         "jsonrpc.response.null-result-present", "auth.required.data", "transport.whole-messages",
         "channel.present-on-notifications", "channel.present-on-server-requests"]
        apart ["envelope.shape", "snapshot.schema-valid", "jsonrpc.version.tag-output",
         "jsonrpc.response.result-xor-error", "jsonrpc.error.shape",
         "jsonrpc.response.null-result-present", "auth.required.data", "transport.whole-messages",
         "channel.present-on-notifications", "channel.present-on-server-requests"]
        "Every frame of the host is one JSON-RPC 2.0 message that is valid for the negotiated \
         version. Source: JSON-RPC 2.0 sections 4 and 5, the types of each version.";
    ShapeHarness "shape.harness" Note "A9" []
        "The clients' own frames are valid too. Never the target's fault: a frame may be odd on \
         purpose, which a transcript cannot say.";
    ShapeNullOptional "shape.null-optional" Should "A9" []
        "Optional members are left out, not null, and expected ones are there. Clients differ in \
         what they do with null. Source: the types of each version.";
    AnsweredOnce "jsonrpc.answered-once" Must "B1" ["jsonrpc.response.exactly-one"]
        "Every request gets exactly one response, or the connection ends. Source: JSON-RPC 2.0 \
         section 5."
        open "No deadline is given; a request counts as unanswered when a later request on the \
              connection was answered a whole deadline later, or nothing came at all for that long.";
    NoStrayResponse "jsonrpc.no-stray-response" Must "B2"
        ["jsonrpc.notification.no-response", "dispatch.no-response-frame", "unsubscribe.no-response"]
        "No response answers something that was not asked: an unknown id, or a notification. \
         Source: JSON-RPC 2.0 section 4.1."
        open "After a frame that could not be read one response with any id is allowed.";
    HostRequestIds "jsonrpc.host-request-ids" Essential "B4" []
        "The host's open requests have different ids, otherwise it cannot tell their answers \
         apart. Source: JSON-RPC 2.0 section 4.";
    Alive "jsonrpc.alive" Must "B5"
        ["ping.response", "ping.before-initialize", "ping.without-subscriptions",
         "ping.during-turn"]
        "A `ping` succeeds at any time, before the handshake and during turns too. Source: \
         lifecycle.md, ping."
        open "The deadline is that of every request. Judged for pings of the root channel.";
    ErrorCode "jsonrpc.error-code" Note "B6"
        ["jsonrpc.error.reserved-range", "jsonrpc.error.code-32006-unassigned"]
        "Error codes below -32000 are those that JSON-RPC and the version's table assign. Source: \
         error codes; implied, so only noted.";
    Refused "requests.refused" Must "B7"
        ["session.create.duplicate", "subscribe.unknown-resource", "jsonrpc.method-not-found"]
        apart ["session.create.duplicate", "subscribe.unknown-resource", "jsonrpc.method-not-found"]
        "What cannot be done is refused: to create a session at a URI in use, MUST; to subscribe to \
         what was disposed of, essential, since no actions will follow; a method that no version has. \
         Source: session-channel.md, creation; error codes."
        open "Other clients may have disposed of a session unseen: then only noted, as are methods \
              that host and client may have agreed on.";
    Agreed "handshake.agreed" Must "O1"
        ["lifecycle.initialize.version-selected-from-offer", "lifecycle.initialize.result-shape",
         "lifecycle.preinit.request-refused"]
        apart ["lifecycle.initialize.version-selected-from-offer",
         "lifecycle.initialize.result-shape", "lifecycle.preinit.request-refused"]
        "The answer to `initialize` names one of the offered versions, as it was offered. Source: \
         InitializeResult.protocolVersion."
        open "That nothing but `ping` is served before it is implied, so only noted. Where the answer \
              names no version, its connection is judged by the offered one, if that is clear.";
    Refusal "handshake.refusal" Must "O2"
        ["lifecycle.version.unsupported-data", "lifecycle.version.unsupported-close"]
        apart ["lifecycle.version.unsupported-data", "lifecycle.version.unsupported-close"]
        "A host that supports none of the offered versions says so, closes the connection and, from \
         0.9.0 on, names those that it supports. Source: versioning.md, negotiation; \
         UnsupportedProtocolVersionErrorData."
        open "Which version a host speaks is known from what it agreed on elsewhere: without that, \
              only noted. A connection counts as open when a request is answered that was sent a \
              second later.";
    SequenceGrows "sequence.grows" Essential "A1"
        ["envelope.serverseq.monotonic", "subscribe.delivery.order-preserved", "transport.ordered"]
        "On one connection the `serverSeq` of live accepted actions grows. A reconnecting client \
         has one watermark for the connection; without growth it loses actions. Source: guide, \
         `monotonically increasing`."
        open "Strict, per connection, over all channels; rejections may repeat a number but not \
              go back, which is only noted.";
    OneEnvelope "sequence.one-envelope" Essential "A2"
        ["envelope.serverseq.unique", "reconnect.replay-envelope-verbatim"]
        "One `serverSeq` is one action: same channel, action and origin wherever it is received, \
         otherwise clients diverge. Source: ActionEnvelope.serverSeq."
        open "Connections of other versions and connections that asked for merged delivery are \
              not compared, nor are numbers beyond the horizon of 16,384 actions or 64 MiB.";
    OrderAgreement "sequence.order-agreement" Essential "A3" ["envelope.total-order"]
        "Every subscriber of a channel sees its actions in the same order, otherwise folded states \
         diverge. Source: the reducers are not commutative.";
    RealTime "sequence.real-time" Essential "A10"
        ["envelope.serverseq.survives-connections",
         "lifecycle.initialize.serverseq-matches-snapshots"]
        apart ["lifecycle.initialize.serverseq-matches-snapshots"]
        "Numbers never go back in real time: `initialize.serverSeq`, and the `fromSeq` of a \
         channel, are not below what was received before they were asked for. A client that \
         starts lower folds actions twice, one that starts higher loses them. Source: \
         InitializeResult.serverSeq, Snapshot.fromSeq."
        open "`fromSeq` below the counter but not below the channel's last action is only noted. \
              Numbers begin at 0: a negative one is below every number.";
    Causal "sequence.causal" Essential "A11" ["multi.causality"]
        "An accepted action has a number above every one that was received before it was \
         dispatched; otherwise it seems to come before what it was a reply to, and a client that \
         was further takes it for old. Source: state-model.md, the total order.";
    FanoutComplete "fanout.complete" Essential "A4"
        ["multi.fanout.all-subscribers", "multi.fanout.join-leave-churn",
         "subscribe.no-gap-snapshot-to-live", "subscribe.live-after-response",
         "transport.reliable"]
        "What one subscriber of a channel receives, every other one does, between the larger \
         `fromSeq` and the earlier end; otherwise their states diverge. Source: subscriptions.md."
        open "Rejections, `chat/turnsLoaded` and automations have no stated audience. What comes before \
              the answer that holds the snapshot, a client may keep until then: only noted.";
    SubscribedOnly "fanout.subscribed-only" Must "A5"
        ["unsubscribe.stops-delivery", "multi.isolation.sessions",
         "subscribe.isolated-per-connection"]
        "Actions and notifications of a channel come only to its subscribers. After an \
         `unsubscribe` a MUST; without any subscription essential, it leaks other people's \
         sessions. Source: subscriptions.md."
        open "The echo or rejection of an own dispatch is allowed; `auth/required` is only noted; \
              the MCP relay is not judged.";
    AfterSnapshot "fanout.after-snapshot" Essential "A6"
        ["snapshot.fromseq-lower-bound", "subscribe.no-duplicate-snapshot-to-live"]
        "After a snapshot with `fromSeq` n nothing at or below n is delivered on that channel; a \
         client would fold it twice. Source: Snapshot.fromSeq.";
    Family "fanout.family" Essential "A7" ["channel.type-prefix-matches-channel"]
        "An action travels on a channel of the kind its type belongs to, and what is about the root \
         channel on that, otherwise nobody takes it. Source: the channel pages.";
    KnownActions "fanout.known-actions" Must "A8"
        ["version.action-types-known", "version.host-no-newer-behaviour",
         "version.notification-methods-known"]
        apart ["version.action-types-known", "version.host-no-newer-behaviour",
         "version.notification-methods-known"]
        "Only actions and notifications of the negotiated version are sent. Source: versioning.md."
        open "The registry and the published packages disagree about when some began: those, and \
              names of no version, are only noted.";
    AfterRemoval "fanout.after-removal" Essential "A12"
        ["session.dispose.drops-subscriptions", "chat.dispose.success", "dispatch.disposed-channel-ignored"]
        "Nothing comes on the channel of a session, chat or terminal after its removal: clients \
         have dropped its state, and whoever makes another one at that URI would fold what \
         belongs to the old one. A dispatch there is ignored. Source: session-channel.md, disposal."
        open "`root/sessionRemoved` and the answer to a disposal have no number: they count on the \
              connection that received them. \
              Where chats can be moved, a removed one counts as gone if somebody disposed of it.";
    SettledOnce "dispatch.settled-once" Essential "C1"
        ["envelope.origin.client-echo", "envelope.echo.to-dispatcher", "dispatch.rejected-echo"]
        "A sound dispatch by a subscriber is answered by exactly one action with its origin, \
         accepted or rejected; otherwise the client's pending action never settles, or is applied \
         twice. Source: write-ahead reconciliation.";
    NoForgedOrigin "dispatch.no-forged-origin" Essential "C2"
        ["envelope.origin.not-forgeable", "envelope.origin.clientseq-verbatim"]
        "An origin names what that client really dispatched, on that channel, of that type; \
         a client would settle the wrong pending action. Source: ActionOrigin.";
    InOrder "dispatch.in-order" Essential "C3"
        ["envelope.echo.fifo-per-client", "dispatch.order-preserved"]
        "The dispatches of a connection are settled in the order they were sent: clients take the \
         head of their pending actions. Source: reconciliation."
        open "Per channel essential; the order across channels is inferred and only noted.";
    PayloadKept "dispatch.payload-kept" Note "C4"
        ["envelope.echo.payload-preserved", "envelope.rejection.carries-original"]
        apart ["envelope.echo.payload-preserved", "envelope.rejection.carries-original"]
        "The echo has everything the dispatch had. Normalisation is not forbidden, so only noted.";
    RejectionWithoutEffect "dispatch.rejection-without-effect" Must "C5"
        ["envelope.rejection.no-effect", "envelope.accepted.no-reason"]
        "A rejected action changes nothing. Source: actions.md, rejection.";
    ClientDispatchableOnly "dispatch.client-dispatchable-only" Should "C6" []
        "A client's action that only the host may bring in is not accepted. Source: the dispatch \
         rule of each action; hosts SHOULD reject it."
        open "`session/defaultChatChanged` and other disputed rows are only noted.";
    AcceptedEffect "dispatch.accepted-effect" Note "C7" []
        "An accepted action of a client has an effect in the reducers, or asks for something that \
         is so already. The text never says so; a dead one should have been rejected.";
    EchoFirst "dispatch.echo-first" Essential "C8" ["multi.causality"]
        "What the host does about a client's action comes after the action itself; before it, no \
         client knows the turn and what it says is lost. Source: state-model.md."
        open "Judged for turns, on the connection that started them.";
    SnapshotAgrees "state.snapshot-agrees" Essential "D1"
        ["snapshot.consistent-with-log", "snapshot.deterministic", "multi.converge",
         "reconnect.snapshot.consistent", "subscribe.no-gap-snapshot-to-live",
         "subscribe.snapshot-resource-matches", "snapshot.isolation-from-later-mutation"]
        apart ["subscribe.snapshot-resource-matches"]
        "A snapshot with the accepted actions after it equals every later snapshot of the channel, \
         by anybody; otherwise clients diverge. Source: state-model.md."
        open "Members that no action can change are not compared; see the masks. Where a client that was not \
              recorded may have disposed of a session and created another at its URI unheard, only noted.";
    MergedAgrees "state.merged-agrees" Essential "D5"
        ["subscribe.delivery.same-reduced-state", "reconnect.delivery-options-reset"]
        "A subscription with `delivery.maxLatencyMs` comes to the same state as one without, at \
         every number that it receives; otherwise clients that save wake-ups see other chats. \
         Source: subscriptions.md, delivery preferences."
        open "Only subscriptions of `subscribe`: what a `reconnect` keeps of them is left open.";
    StateGiven "state.given" Must "D6"
        ["subscribe.snapshot-state-bearing", "lifecycle.initialize.snapshots-per-subscription",
         "reconnect.snapshot.one-per-subscription"]
        apart ["subscribe.snapshot-state-bearing", "lifecycle.initialize.snapshots-per-subscription",
               "reconnect.snapshot.one-per-subscription"]
        "Whoever subscribes to a channel that has a state MUST get a snapshot of it; without one no \
         action can be folded. Source: subscriptions.md."
        open "Of the initial subscriptions essential for the root channel, which is always there; \
              others may be gone, or not be for everybody: what others are subscribed to is noted. A \
              channel with two snapshots in one list is essential.";
    UniqueIds "state.unique-ids" Essential "D7"
        ["root.state.terminals-live", "root.state.provider-unique", "root.state.default-model-valid",
         "chat.tool.option-ids-unique", "chat.input.stable-ids"]
        apart ["root.state.terminals-live", "root.state.provider-unique",
         "root.state.default-model-valid", "chat.tool.option-ids-unique", "chat.input.stable-ids"]
        "Terminals, agents, options of a call and questions of a request differ in what they are \
         chosen by: of two with one name nobody can say which was meant. Source: RootState, \
         ConfirmationOption.id, ChatInputRequest."
        open "Models of an agent and changesets may be listed twice with the same meaning: only noted.";
    DeadHostAction "state.dead-host-action" Note "D4" []
        "An action of the host's own has an effect in the reducers. The text never says so; a \
         dead one is nearly always a lost part or a wrong channel.";
    OneActive "turns.one-active" Essential "E1" ["chat.turn.single-active"]
        "The host starts no turn of a chat while one is active: the reducers drop the running one, \
         with all that it said. Source: chat-channel.md, the reducers."
        open "No rule lets a host reject a client's `turnStarted` while a turn is active: accepting \
              it is only noted, also if it is the active turn that a client starts again.";
    ActiveOnly "turns.active-only" Essential "E2"
        ["chat.turn.scoped-actions-active"]
        "Actions within a turn name the active turn; after its end their content is lost. Source: \
         chat-channel.md, the reducers.";
    OneEnd "turns.one-end" Essential "E3" ["chat.turn.exactly-one-end"]
        "A turn ends at most once, and no accepted turn vanishes from the history without an end. \
         Two ends, or none, leave clients with different histories. Source: turn life cycle."
        open "That an end comes at all is a scenario's to expect.";
    UniqueTurns "turns.unique-ids" Essential "E4" ["chat.state.turn-ids-unique"]
        "A turn has an id that no other turn of its chat has; actions that name it would reach \
         another one. Source: ChatState.turns.";
    UniqueParts "turns.unique-parts" Essential "E5"
        ["chat.state.part-ids-unique", "chat.tool.id-unique"]
        "Text parts of a turn differ in their ids, as do the background works of a chat; what is \
         appended to one would reach another. Source: chat-channel.md, response parts."
        open "That a text part and a tool call differ is inferred from `chat/delta` and only noted.";
    PartBeforeAppend "turns.part-before-append" Must "E6"
        ["chat.stream.part-before-delta", "chat.stream.part-before-reasoning",
         "chat.stream.kind-match"]
        "A part is created before text is appended to it, and is of the kind that takes it. \
         Source: chat-channel.md.";
    ErrorParts "turns.error-parts" Essential "E7" ["reducer.chat.responsePart-error-ignored"]
        "From 0.9.0 on an error part comes with `chat/error`; in `chat/responsePart` every reducer \
         ignores it, and the error is lost. Source: chat-channel.md, error recovery.";
    AfterReady "turns.after-ready" Note "E8" ["session.lifecycle.ready"]
        "A turn starts when its session is ready. Implied by the life cycle, so only noted."
        open "Some hosts run turns in provisional sessions.";
    Explained "turns.explained" Note "E9"
        ["chat.queue.two-step", "chat.create.initial-message", "chat.steering.idle-stored"]
        "A turn that the host starts with a user's message names a queued message, or is the first \
         one of a chat created with a message. Implied, so only noted."
        open "The first turn of a chat whose creation was not seen is not judged.";
    TurnTimes "turns.times" Note "E10"
        ["chat.turn.startedAt-iso", "chat.turn.duration-nonnegative"]
        "`startedAt` is a time as ISO 8601, `duration` not negative and not longer than the turn \
         was seen. Implied by the types, so only noted.";
    LegalTransitions "tools.legal-transitions" Essential "F1"
        ["chat.tool.lifecycle-legal", "chat.tool.start-first", "chat.tool.delta-only-streaming",
         "chat.tool.id-unique"]
        apart ["chat.tool.lifecycle-legal", "chat.tool.start-first", "chat.tool.delta-only-streaming",
         "chat.tool.id-unique"]
        "Tool calls move only along the table of transitions, beginning with a start under a new \
         id; anything else loses content or runs without a decision. Source: the tool-call diagram."
        open "Completion while a confirmation is pending is taken by the reducers and absent from \
              the diagram: only noted.";
    OneDecision "tools.one-decision" Must "F4"
        ["dispatch.chat.toolCallConfirmed.twice", "dispatch.chat.toolCallConfirmed.opposite"]
        "A tool call is confirmed at most once per pending period, completed once, and its result \
         confirmed once. Source: chat-channel.md, validation.";
    OwnerConstant "tools.owner-constant" Must "F3" ["chat.tool.ready-contributor"]
        "A tool call belongs to the same client from its start on: `chat/toolCallReady` names no other \
         one. Source: chat-channel.md, ownership."
        open "Repeating the owner, and a call of the host's that turns out to be an MCP server's, are \
              allowed.";
    OwnerActs "tools.owner-acts" Should "F5"
        ["dispatch.chat.toolCallComplete.non-owner", "dispatch.chat.toolCallContentChanged.non-owner"]
        "Only its owner completes a client's tool call, or changes its content; hosts SHOULD reject \
         others. Source: chat-channel.md, validation."
        open "Anybody may fail a call that waits for authentication.";
    AuthForMcp "tools.auth-for-mcp" Essential "F6" ["chat.tool.auth-required-mcp-only"]
        "Only the calls of MCP servers wait for authentication. Reducers ignore it of others, so that \
         the host waits while every client sees the call run. Source: chat-channel.md.";
    OwnerActive "tools.owner-active" Note "F7"
        ["chat.tool.client.inactive-owner", "reconnect.client-identity-for-tools"]
        "A new call goes to a client that is active in the session: nobody else can run it. Implied."
        open "Judged where the session is followed too.";
    HistoryFinal "tools.history-final" Essential "F8"
        ["reducer.chat.endTurn-force-cancel", "chat.turn.cancel-force-tools"]
        "The turns of the history hold only completed and cancelled calls: nothing can change a call \
         once its turn has ended. Source: the reducers."
        open "Statuses of newer versions are not judged.";
    RemovalEndsCalls "tools.removal-ends-calls" Should "F9"
        ["session.activeClient.removal-cancels-calls", "disconnect.tool-calls-cancelled",
         "disconnect.tool-calls-across-chats"]
        "When an active client is removed, its running calls end as failed. Source: session-channel.md, \
         SHOULD."
        open "Judged when the session is at rest.";
    ChatDerived "status.chat-derived" Essential "G1"
        ["chat.turn.status-inprogress", "reducer.chat.status-derivation",
         "chat.tool.pending-blocks-status"]
        "A chat's activity follows its turn: waiting, active, failed or idle. Clients derive it from \
         actions; another one in a snapshot makes them differ. Source: the reducers."
        open "After a failed turn both Error and Idle are possible: a truncation clears the error.";
    SessionAggregates "status.session-aggregates" Should "G2"
        ["session.status.default-chat-base", "session.status.input-needed-any-chat",
         "session.status.error-any-chat", "session.status.in-progress"]
        "A session's activity is that of its default chat, or of the one changed last; any chat that \
         waits, or has failed, comes first. Source: session-channel.md, SHOULD."
        open "Which of waiting and failing wins is not said: either is taken.";
    OneActivity "status.one-activity" Essential "G3" ["session.status.bits-valid"]
        "The low five bits of a status are exactly one activity; others have no meaning to any client. \
         Source: SessionStatus."
        open "Bits above those that are known belong to newer versions.";
    FlagsKept "status.flags-kept" Essential "G4"
        ["session.status.flags-orthogonal", "session.isArchived.toggle", "session.isRead.toggle"]
        "IsRead and IsArchived change by their own actions, and IsRead of a chat with a new turn or \
         question; otherwise clients disagree about what was read. Source: SessionStatus."
        open "Whether activity marks a session as unread is up to the host: only noted.";
    InputNeededBits "status.input-needed-bits" Essential "G5" ["session.inputNeeded.status-bit"]
        "A session with an entry in `inputNeeded` for a person says so in its status; otherwise nobody \
         who only lists sessions looks. Source: SessionState.inputNeeded, the reducers."
        open "From 0.8.0 on a client's own tool is not for a person.";
    OpenRequests "input.open-requests" Should "H1"
        ["chat.input.late-answer", "chat.input.stable-ids"]
        "Only open requests are answered and completed; hosts SHOULD reject others, and a response is \
         given once. Source: chat-channel.md, validation.";
    RollupComplete "input.rollup-complete" Essential "H2"
        ["session.inputNeeded.set", "chat.tool.auth-inputNeeded"]
        "Whatever a chat waits for has an entry in its session's `inputNeeded`. Clients that see only \
         the session never answer otherwise, and the turn hangs. Source: session-channel.md."
        open "Judged when the session is at rest: no frame was about it for 3 s, or nothing at all was \
              sent for 1 s; whether a client's own tool has an \
              entry is up to the host.";
    RollupMirrors "input.rollup-mirrors" Essential "H2"
        ["session.inputNeeded.payload-mirror", "session.inputNeeded.tool-status-kind",
         "session.inputNeeded.ids-unique"]
        "An entry of `inputNeeded` repeats the chat's request or tool call as it is, in a status that \
         fits its kind, once; people decide by what they read. Source: SessionInputRequest."
        open "Compared when the session is at rest, and when an entry leaves that has shown something else \
              all the time.";
    RollupStale "input.rollup-stale" Essential "H3" ["session.inputNeeded.removed"]
        "No entry of `inputNeeded` outlives what it was about: its request or call, turn, chat. People \
         would be asked for nothing. Source: session-channel.md."
        open "Judged when the session is at rest, and of an entry that leaves whether its chat has ever had \
              such a call.";
    CatalogMirrors "catalog.mirrors-chats" Must "I1" ["session.catalog.chatUpdated-consistent"]
        "A session's entry of a chat equals what the chat says of itself. Source: chat-channel.md."
        open "Judged when the session is at rest. Updates cannot clear a member, so a \
              member that the chat lost may stay; times and change counts are only noted.";
    WorkerOrigin "catalog.worker-origin" Must "I1" ["chat.subagent.consistency"]
        "A call that shows the chat of a worker, and the origin of that chat, name each other. Source: \
         chat-channel.md, origin."
        open "Judged when the session is at rest, of the active turn and the last one, and not of what the \
              tool of a client shows.";
    DefaultChat "catalog.default-chat" Essential "I2"
        ["session.catalog.default-in-catalog", "chat.move.default-not-movable"]
        "The default chat is in the catalogue, of a session as of its summaries, otherwise a client opens \
         nothing; from 1.0.0 on it MUST NOT be movable. Source: session-channel.md.";
    ReorderPermutes "catalog.reorder-permutes" Must "I3" ["session.catalog.reordered-complete"]
        "`session/chatsReordered` lists every chat of the session exactly once. Source: \
         session-channel.md.";
    OneOwner "catalog.one-owner" Essential "I4"
        ["session.catalog.one-owner", "session.catalog.unique"]
        "A chat is in one catalogue, once; else what it waits for is asked twice, and its deletion \
         leaves it behind. Source: session-channel.md."
        open "Between sessions judged when the session is at rest; adding a chat that \
              is there replaces its entry, and is only noted.";
    UpdatedKnown "catalog.updated-known" Essential "I4" ["session.catalog.chatUpdated-known"]
        "`session/chatUpdated` names a chat of the catalogue; of others reducers drop it, and the \
         change is lost. Source: the reducers.";
    ListedOnce "sessions.listed-once" Essential "I5" ["root.listSessions.no-duplicates"]
        "A list has every session once; clients key it by the URI. Source: listSessions."
        open "Judged within one page.";
    ListAgrees "sessions.list-agrees" Essential "I5"
        ["root.summaryChanged.values-current", "root.listSessions.contains-created",
         "root.sessionAdded.emitted", "root.sessionRemoved.emitted"]
        "A list with what was announced after it equals the next list; otherwise clients that listen \
         show sessions that are gone, or miss some. Source: root-channel.md."
        open "Judged of complete lists on one connection, when the host has been at rest for a second \
              before; times, change counts and what a partial update cannot clear are left out. A session \
              that was created and announced to the same connection is in a complete list at any time.";
    AnnouncedOnce "sessions.announced-once" Essential "I5"
        ["root.sessionAdded.emitted", "root.sessionRemoved.emitted",
         "root.sessionRemoved.no-further-summary"]
        "A session is added once and removed once, and after that nothing is said about it: a late \
         change brings it back to life in clients. Source: root-channel.md.";
    AnnouncedToAll "sessions.announced-to-all" Essential "I12"
        ["root.sessionAdded.emitted", "root.sessionRemoved.emitted", "root.summaryChanged.emitted"]
        apart ["root.sessionAdded.emitted", "root.sessionRemoved.emitted",
         "root.summaryChanged.emitted"]
        "What one connection subscribed to the root channel is told of sessions, every other one is \
         told; clients know of sessions by nothing else. Source: root-channel.md, notifications."
        open "Judged a second after the first was told, when a later request was answered or the host \
              is at rest. Changes SHOULD be told, and may be merged: judged at rest, of the latest \
              values. Of a session that nobody was told of only noted until it is known to be ready.";
    SummaryAgrees "sessions.summary-agrees" Essential "I6"
        ["root.listSessions.summary-equals-state", "root.listSessions.chats-catalog",
         "root.summaryChanged.chat-status-projection"]
        "A summary agrees with the session's own state; two writers have updated them otherwise. \
         Source: SessionSummary."
        open "Judged when the host has been at rest for a second, of members that both have.";
    ActiveCount "sessions.active-count" Note "I7" ["root.state.active-sessions"]
        "`activeSessions`, where it is given, is the number of sessions that are not disposed. No document \
         says MUST or SHOULD: only noted. Source: root-channel.md, State.";
    LifecycleOnce "session.lifecycle-once" Essential "I8"
        ["session.lifecycle.monotone", "session.lifecycle.ready"]
        "A session is created once: it becomes ready, or fails, and neither again. Clients wait for it \
         to begin. Source: SessionLifecycle.";
    IdentityKept "identity.kept" Must "I9"
        ["root.summaryChanged.identity-omitted", "session.catalog.chatUpdated-identity",
         "chat.state.origin-immutable", "session.modifiedAt.iso", "chat.state.fields-inlined"]
        apart ["root.summaryChanged.identity-omitted", "session.catalog.chatUpdated-identity",
         "chat.state.origin-immutable", "session.modifiedAt.iso", "chat.state.fields-inlined"]
        "Resource, provider, time of creation and origin never change, and partial updates leave them \
         out; a state that names its resource names its own channel. Source: PartialSessionSummary, \
         ChatState."
        open "A partial update of a chat may repeat its origin as it is.";
    Directories "directories.within-session" Must "I10" ["chat.workingDirectories.subset"]
        "A chat's working directories are among its session's, each once; an agent would work where the \
         session does not allow it. Source: chat-channel.md."
        open "Judged when the session is at rest: what becomes of a chat's directory \
              that the session loses is not said.";
    OwnEntry "clients.own-entry" Essential "I11"
        ["dispatch.session.activeClientSet.other-client",
         "dispatch.session.activeClientRemoved.other-client", "session.activeClient.upsert"]
        "A client registers and removes itself only, and is active once; one that speaks for another \
         one gets its tool calls. Source: the threat model.";
    QueueOnce "queue.once" Essential "J1"
        ["chat.queue.no-double-consume", "chat.queue.two-step"]
        "A queued message becomes one turn, as it was queued, and none after it was taken back: an \
         agent would do something twice, or what nobody wants any more. Source: chat-channel.md.";
    QueueOrder "queue.order" Essential "J1" ["chat.queue.fifo", "chat.queue.reorder-honoured"]
        "The host takes the first message of the queue, whose order people see and change. Source: \
         chat-channel.md."
        open "A turn from a message that is still in the queue weighs a warning: SHOULD take it out \
              first.";
    QueueDrains "queue.drains" Should "J2"
        ["chat.queue.consume-after-turn", "chat.queue.idle-autostart"]
        "An idle chat takes its queued messages. Source: chat-channel.md, SHOULD."
        open "Judged when the session is at rest, after a turn that completed; what a turn means for \
              the queue that was cancelled, failed or was dropped by a truncation is open.";
    SteeringStartsNothing "steering.starts-nothing" Essential "J3" ["chat.steering.idle-stored"]
        "A steering message starts no turn: it is for the turn that runs. In an idle chat an agent \
         would begin unasked. Source: chat-channel.md."
        open "Judged of messages that came while nothing ran; left-over ones may be turned into a turn.";
    CommandPairs "terminal.command-pairs" Essential "K1"
        ["terminal.command.pairing", "terminal.command.flag"]
        "A command begins under an id of its own and finishes once, on a terminal that says that it \
         tells commands apart; otherwise clients show the output and the exit code of another one. \
         Source: terminal-channel.md, command detection."
        open "The end of a command that may have scrolled away is only noted.";
    OneCommand "terminal.one-command" Note "K2" ["terminal.command.no-nesting"]
        "A terminal runs one command at a time. Implied by the parts of its output, so only noted."
        open "A shell that does not tell when a command ends leaves its part open.";
    ExitFinal "terminal.exit-final" Essential "K3"
        ["terminal.exited", "terminal.exited.no-data-after"]
        "A terminal exits once: the second exit would give its process another end. Source: \
         terminal-channel.md, control."
        open "Output and commands after the exit are only noted: a pipe may be read late.";
    TerminalsListed "terminal.listed" Essential "K4"
        ["root.action.terminalsChanged", "root.action.terminalsChanged-lifecycle",
         "root.state.terminals-live", "terminal.dispose.success", "terminal.claim.always-owned"]
        "The root's list has every terminal that was made and none that was disposed of, with its \
         title, claim and lifecycle; clients find terminals nowhere else. Source: root-channel.md, \
         terminal-channel.md."
        open "Judged when the host has been at rest for a second, of terminals that somebody made or \
              follows. That a claim is there and well-formed is for the shapes.";
    WholeCharacters "terminal.whole-characters" Note "K5" ["terminal.data.utf8-boundaries"]
        "Output has no U+FFFD, which stands for characters that were cut in two. Only noted: a \
         program may print it. Source: TerminalDataAction.data."
        open "That all observers have the same output is `state.snapshot-agrees`, which lets either \
              side trim what scrolled away.";
    NoShellMarkers "terminal.no-shell-markers" Must "K6" ["terminal.data.strip-integration"]
        "Output MUST NOT have the escape sequences that shells tell editors about commands with: \
         OSC 133, 633, and those of 1337 that are about a prompt. Source: terminal-channel.md, \
         command detection."
        open "A program that prints them itself cannot be told apart from its shell.";
    ProgressForward "progress.forward" Essential "L1"
        ["root.progress.monotone", "root.progress.nothing-after-final",
         "root.progress.only-with-token", "root.progress.total-constant"]
        "Progress is about a token that a client sent, never goes back or beyond its total, and is \
         over once it was complete: a bar that is done, or was never asked for, would start again. \
         Source: root-channel.md, progress."
        open "Whose tokens there are is known only where every client is in the transcript.";
    ProgressEnds "progress.ends" Must "L1" ["root.progress.final-frame"]
        "Progress that began MUST end with a frame in which it equals its total. Source: \
         root-channel.md, progress."
        open "Judged when what was asked for is there, or was refused, and nothing came for as long \
              as a host may take to answer.";
    ChangesetError "changeset.error" Essential "L2" ["changeset.error-iff"]
        "A changeset has an error exactly where its status is `error`: reducers drop one beside \
         another status, and nobody could say why it failed without one. Source: ChangesetState.error.";
    ChangesetIds "changeset.unique-ids" Essential "L2" ["changeset.file-ids-unique"]
        "The files and the operations of a changeset differ in their ids, by which they are changed, \
         removed and invoked. Source: ChangesetFile.id.";
    ChangesetKept "changeset.kept-while-recomputing" Essential "L2"
        ["changeset.recomputing-keeps-files"]
        "While a changeset is computed anew its files stay: emptied, people see no changes where there \
         are some. Source: ChangesetStatus.Recomputing."
        open "The whole new content may come before the status that it belongs to; single files that \
              change meanwhile are only noted.";
    ChangesetReview "changeset.review-offered" Essential "L2"
        ["dispatch.changeset.filesReviewChanged.no-capability"]
        "Files are marked as reviewed only in changesets that offer it; other clients have no place \
         for the mark and never take it away. Source: ChangesetCapabilities.review."
        open "Judged of changesets whose catalogue was seen, by the template that their URI fits.";
    AnnotationsSound "annotations.sound" Must "L3"
        ["annotations.min-one-entry", "dispatch.annotations.set.empty-entries",
         "dispatch.annotations.entryRemoved.last"]
        "An annotation MUST have an entry, whoever removes one; ids of annotations, and of the entries \
         of one, differ. Source: Annotation, AnnotationsSetAction.";
    AnnotationCounts "annotations.counts" Essential "L3" ["annotations.summary-counts"]
        "A session's counts of annotations and entries are those of its annotations channel; clients \
         that only list sessions have nothing else. Source: AnnotationsSummary."
        open "Judged of counts that are told when the host has been at rest for a second.";
    WatchBatch "watch.batch" Must "L4" ["watch.nonempty-batch"]
        "A batch of changes MUST NOT be empty. Source: ResourceWatchChangedAction.";
    WatchRoot "watch.below-root" Essential "L4" ["watch.event-uris"]
        "Changes are about what is watched: others tell a client of files that it did not ask for, and \
         may not read. Source: ResourceChange.uri."
        open "URIs are compared without their escapes and the case of their letters.";
    WatchDescriptor "watch.descriptor" Essential "L4"
        ["watch.state-immutable", "watch.subscribe.descriptor"]
        "A watch is what was asked for, and stays so: no action tells of a change. Source: \
         resource-watch-channel.md."
        open "What was not asked for is up to the host.";
    RunsForward "automation.runs-forward" Essential "L5"
        ["automation.run.lifecycle", "automation.run.lifecycle-timestamps"]
        "A run goes from pending to running and to its end, created when it was; a run that ended and \
         goes on is waited for in vain. Source: automations guide, run lifecycle.";
    RunTimes "automation.run-times" Essential "L5" ["automation.run.lifecycle-timestamps"]
        "A run is created, started and completed in this order; clients compute how long it took. \
         Source: the lifecycle types of runs.";
    RunSessions "automation.run-sessions" Essential "L5" ["automation.run.primary-member"]
        "The sessions of a run are there once each, and the primary one is among them: it is what \
         opens. Source: AutomationRunState.primarySession.";
    RunsListed "automation.runs-listed" Essential "L5"
        ["automation.runs.order-limit", "automation.occurrence-once"]
        "The runs of an automation are listed once, newest first, no more of them than the host keeps, \
         and one for each occurrence: otherwise an agent worked twice. Source: AutomationEntry.runs.";
    RunsAgree "automation.runs-agree" Essential "L5" ["automation.run.summary-consistent"]
        "The catalogue says of a run what the run says of itself. Source: AutomationRunSummary."
        open "Judged when the host has been at rest for a second, of runs that somebody follows.";
    RunCount "automation.run-count" Essential "L5" ["automation.runCount"]
        "An automation has a `runCount` exactly where it ends after so many runs; nobody can say \
         otherwise how many are left. Source: AutomationEntry.runCount.";
    CustomizationIds "customizations.unique-ids" Essential "L6"
        ["session.customizations.ids-unique"]
        "Customizations of a session differ in their ids, children included; what is toggled would be \
         another one. Source: customizations guide.";
    EnablementOrder "customizations.enablement-order" Must "L6"
        ["session.customizations.enablement-sorted",
         "session.customizations.enablement-one-workspace"]
        "Decisions about enablement MUST be published in the order session, workspace, global, of \
         which the first one counts; there is one for the workspace. Source: \
         McpServerCustomization.enablement."
        open "Judged from 0.8.0 on.";
    HistoryWhole "history.whole" Must "L7"
        ["subscribe.view.omitted-full", "subscribe.view.cursor-when-truncated",
         "subscribe.view.per-subscription"]
        "A snapshot for which no window was asked holds every turn, and so no cursor; one that is cut \
         off has a cursor, or nobody can ask for the rest. Source: subscriptions.md, views."
        open "What is cut off is known where somebody follows the whole history; a cursor behind which \
              there is nothing is only noted.";
    HistoryPages "history.pages" Essential "L7"
        ["chat.fetchTurns.prepend", "chat.fetchTurns.cursor-cleared", "chat.fetchTurns.multi-client"]
        apart ["chat.fetchTurns.prepend", "chat.fetchTurns.cursor-cleared"]
        "`chat/turnsLoaded` brings finished turns that are older than those that are there, once, in \
         their order and without a hole; reducers put them in front as they come. Source: \
         ChatTurnsLoadedAction."
        open "A page is for everybody, whatever window each has: it may begin with turns that some \
              lack, and go on with turns that others have.";
    ScalarForms "shape.scalars" Note "L8"
        ["session.modifiedAt.iso", "chat.turn.usage"]
        "Times are ISO 8601, counts are not negative, URIs have a scheme. Implied by the types, so \
         only noted.";
    SecretsKept "secrets.kept" Essential "L9"
        ["auth.not-in-state", "telemetry.no-secrets", "session.customizations.mcp.no-secret"]
        "A token that a client told the host, or another secret, is in no frame to any client: \
         whoever is connected could act for its owner. Source: authentication.md, the threat model."
        open "A client secret may stand in the challenge that tells it. Secrets of fewer than 12 \
              bytes, and texts with spaces, are not looked for.";
    RightClient "resources.right-client" Essential "L9"
        ["resource.symmetric.right-client", "resource.symmetric.host-to-client"]
        "What a client published at a URI of its own is asked of this client and no other: another one \
         would answer with something else, or learn what is not its business. Source: \
         customizations.md.";
    NoInternals "errors.no-internals" Should "L9"
        ["security.error-leak"]
        "Errors and rejections say nothing of the inside of the host: no traces of its stack, no paths \
         of somebody's home. Source: the threat model, minimum requirements."
        open "What the client named itself may be said back to it.";
    NotificationsSubscribed "fanout.notifications-subscribed" Must "L10"
        ["notify.only-to-subscribers", "root.notifications.only-root-subscribers",
         "unsubscribe.root-notifications-stop"]
        "Notifications of the root channel and of telemetry come only to those that are subscribed to \
         the channel that they name. After an `unsubscribe` a MUST; without any subscription \
         essential, as with actions. Source: subscriptions.md.";
    TelemetryLevel "telemetry.level" Should "L10"
        ["telemetry.level-filter"]
        "Log records on a channel with a level are of that severity or above. Source: \
         telemetry-channel.md, filtering.";
    TelemetryPayload "telemetry.payload" Note "L10"
        ["telemetry.payload", "telemetry.scheme"]
        "Each signal has a payload of its kind, on a channel whose URI begins with `ahp-otlp:`. \
         Implied by the types, so only noted. Source: telemetry-channel.md, wire format.";
    TelemetryAddresses "telemetry.no-canvas-address" Must "L10"
        ["chat.canvas.url-redacted"]
        "No log record holds the address that a canvas is shown at, which may let whoever has it in. \
         Source: CanvasState.url.";
    SideChannel "mcp.side-channel" Essential "L11"
        ["session.customizations.mcp.channel-cleared"]
        "An MCP server has a side channel only with a capability that may be used on it, and loses it \
         with a change of state that leaves it out; clients would ask where nobody answers. Source: \
         SessionMcpServerStateChangedAction.";
    ReplayComplete "reconnect.replay-complete" Must "M1"
        ["reconnect.replay-complete", "reconnect.replay-order", "reconnect.replay-only-subscribed",
         "reconnect.replay-exclusive-bound", "reconnect.no-events-in-between-lost"]
        "A replay holds every accepted action on the resumed channels after `lastSeenServerSeq`, in \
         order, and nothing else. Source: lifecycle.md, reconnection."
        open "What was missed is known from what others received, within the horizon of 16,384 \
              actions or 64 MiB; what lies before it is not asked for. An action that follows the replay and \
              comes before it, a client may keep until then: only noted.";
    NeverPartial "reconnect.never-partial" Essential "M5" ["reconnect.snapshot.when-too-old"]
        "When the range is no longer retained the answer is snapshots, never a replay that begins \
         later: the client cannot notice the loss. Source: lifecycle.md, reconnection.";
    Missing "reconnect.missing" Essential "M3"
        ["reconnect.missing.subset", "reconnect.missing.disposed",
         "reconnect.snapshot.one-per-subscription"]
        "`missing` names only channels that were asked for, that are gone and that deliver nothing \
         afterwards; a client drops their state. Source: ReconnectReplayResult.missing."
        open "A live channel without a snapshot, or in `missing`, is only noted where it is not the root \
              channel: the client may no longer be allowed to see it.";
    NoNotificationReplay "reconnect.no-notification-replay" Essential "M4"
        ["reconnect.replay-no-notifications"]
        "Notifications of the gap are not sent again; the client lists sessions anew, and a late \
         one would be folded over the fresh list. Source: lifecycle.md, reconnection."
        open "Judged for sessions added and removed, which happen once in a life.";
    CallsToldOnce "below.calls-told-once" Essential "N1"
        ["chat.tool.start-first", "chat.tool.parallel"]
        "Each tool call of the agent below the host is one call above: one that nobody sees nobody \
         can refuse, and one too many shows what never happened. Source: ChatToolCallStartAction."
        open "Matched by the longest text of the input, in turns that are complete. What a model \
              asked for, its agent may turn into something else: then only noted.";
    DeniedNeverRuns "below.denied-never-runs" Essential "N2" ["chat.tool.deny-not-run"]
        "A call that was denied above never runs below: whoever said no was lied to. Source: \
         ChatToolCallConfirmedAction."
        open "It ran where the agent was told that it may, or told its success; behind a model, where the \
              result holds `ahp-ran-` and a digit, which only running `ahp-ran-$((A+B))` prints.";
    RunsApproved "below.runs-approved" Essential "N3"
        ["chat.tool.ready-pending", "chat.tool.approve-runs"]
        "A call that asks for approval above does not run below before it has it, otherwise the \
         question is for show. Source: ChatToolCallReadyAction."
        open "As for denied calls. Early is what was seen before our own client sent the approval; of \
              approvals by others only their absence proves anything.";
    TextArrives "below.text-arrives" Essential "N4" ["chat.stream.content-exact"]
        "What the agent says stands in the turn, whole and in order, otherwise clients read \
         something else than it said. Source: ChatDeltaAction."
        open "White space aside, in turns that are complete; the host may say more. What a model said, \
              its agent may change: then only noted.";
    CancelArrives "below.cancel-arrives" Essential "N5" ["chat.turn.cancel"]
        "A turn that is cancelled above is cancelled below: an agent that does not hear of it goes on \
         working, and changing files, unseen. Source: chat-channel.md."
        open "Within five seconds; no figure is given. A model hears of it when nobody listens to it any more.";
    ToolsUnique "below.tools-unique" Should "N6" ["session.tools.names-unique"]
        "The tools that a model is offered have different names, those of the host and of all clients \
         together; of two with one name it cannot say which it means. Source: guide, tools."
        open "Seen where the agent asks the model stand-in.";
}

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
