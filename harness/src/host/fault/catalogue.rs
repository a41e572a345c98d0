//! Every planted fault: its name on the command line, and what the host does wrong.
//!
//! New rows come last: a fault's place is its number.

faults! {
    SequenceRepeats = "sequence-repeats",
        "Every fourth accepted envelope repeats the number before it.";
    SequenceGoesBack = "sequence-goes-back",
        "Every fourth accepted envelope goes out with a number that is three too low.";
    SeqDiffersPerClient = "seq-differs-per-client",
        "The second subscriber of a channel gets other numbers than the first.";
    FanoutSkipsSecondClient = "fanout-skips-second-client",
        "Every third envelope is not sent to the second subscriber of its channel.";
    MergedTextLost = "merged-text-lost",
        "Of text deltas that are merged for one delivery only the last arrives.";
    DeliversAfterUnsubscribe = "delivers-after-unsubscribe",
        "`unsubscribe` is ignored.";
    DeliversToUnsubscribed = "delivers-to-unsubscribed",
        "A chat's actions reach every subscriber of its session too.";
    RootNotifiesEverybody = "root-notifies-everybody",
        "Notifications of the root channel reach connections that are not subscribed to it.";
    ReplaysBelowFromSeq = "replays-below-from-seq",
        "After a snapshot the last envelope that it already holds is sent again.";
    WrongFamilyChannel = "wrong-family-channel",
        "`chat/usage` and `chat/reasoning` travel on the channel above: the session's, or the root's where turns are \
         the session's.";
    DeltaLost = "delta-lost",
        "About every other text delta is applied and sent to nobody.";
    EchoTwice = "echo-twice",
        "The dispatcher gets its accepted action twice.";
    EchoNever = "echo-never",
        "The dispatcher never sees its accepted action.";
    EchoWithoutOrigin = "echo-without-origin",
        "Accepted client actions go out without an origin.";
    ForgedOrigin = "forged-origin",
        "Accepted client actions name another client as their origin.";
    ClientSeqRenumbered = "client-seq-renumbered",
        "The origin's `clientSeq` is one too high.";
    EchoOutOfOrder = "echo-out-of-order",
        "An echo waits until the same client's next echo has gone out.";
    EchoChangesPayload = "echo-changes-payload",
        "Echoed drafts have their text in capitals.";
    RejectionApplied = "rejection-applied",
        "A rejected action changes the state all the same.";
    RejectionSilent = "rejection-silent",
        "A rejected action is swallowed.";
    RejectionWithoutReason = "rejection-without-reason",
        "A rejection has an empty reason.";
    RejectionWithoutOrigin = "rejection-without-origin",
        "A rejection has no origin.";
    RejectsLegal = "rejects-legal",
        "Every client action is rejected.";
    AcceptsHostOnly = "accepts-host-only",
        "Actions that only a host may send are accepted from clients.";
    AcceptsMalformed = "accepts-malformed",
        "The shape of client actions is not looked at.";
    AcceptsWrongFamily = "accepts-wrong-family",
        "An action of another channel's family is echoed as accepted.";
    EchoesWithoutApplying = "echoes-without-applying",
        "Every client action is echoed as accepted, and none is applied.";
    ActionOnUnknownSessionEchoed = "action-on-unknown-session-echoed",
        "An action for a session or chat that does not exist is rejected aloud.";
    NotificationAnswered = "notification-answered",
        "`dispatchAction` and `unsubscribe` are answered like requests.";
    AcceptsSecondConfirmation = "accepts-second-confirmation",
        "A call that is no longer pending can be confirmed again.";
    AcceptsConfirmationUnknownCall = "accepts-confirmation-unknown-call",
        "A call that never was can be confirmed.";
    AcceptsConfirmationWrongTurn = "accepts-confirmation-wrong-turn",
        "A confirmation may name a turn that is not active.";
    AcceptsForeignCompletion = "accepts-foreign-completion",
        "Any client may complete any call.";
    RunsBeforeApproval = "runs-before-approval",
        "A tool that waits for approval runs without it.";
    RunsAfterDenial = "runs-after-denial",
        "A denied tool runs.";
    ToolRunsTwice = "tool-runs-twice",
        "A tool that has completed runs and completes once more.";
    CompleteSkipsRunning = "complete-skips-running",
        "An unconfirmed call completes while it is still streaming.";
    ToolIdReused = "tool-id-reused",
        "All calls of a turn have the same id.";
    DeltaBeforePart = "delta-before-part",
        "The first delta goes out before the part that it extends.";
    ErrorPartInResponse = "error-part-in-response",
        "An error arrives as a response part before the turn ends.";
    TwoTurnEnds = "two-turn-ends",
        "A turn ends twice.";
    TurnNeverEnds = "turn-never-ends",
        "A turn that has nothing left to do stays active.";
    OutputAfterCancel = "output-after-cancel",
        "The agent goes on after its turn was cancelled.";
    OutputOnOldTurn = "output-on-old-turn",
        "Text deltas name a turn that is not active.";
    AcceptsTurnWhileActive = "accepts-turn-while-active",
        "A turn can be started while one is active, and replaces it.";
    AcceptsCancelWhenIdle = "accepts-cancel-when-idle",
        "A cancel without an active turn is accepted.";
    AcceptsRepeatedTurnId = "accepts-repeated-turn-id",
        "A turn may have the id of an earlier turn of its chat.";
    QueueNotConsumed = "queue-not-consumed",
        "Queued messages stay in the queue.";
    QueueWrongOrder = "queue-wrong-order",
        "The last queued message is consumed first.";
    QueueDeliversRemoved = "queue-delivers-removed",
        "A queued message is delivered although a client removed it.";
    QueueDeliversTwice = "queue-delivers-twice",
        "A queued message is delivered twice.";
    SteeringStartsTurn = "steering-starts-turn",
        "A steering message in an idle chat starts a turn.";
    SteeringNotConsumed = "steering-not-consumed",
        "A running agent never takes its steering message.";
    SnapshotStale = "snapshot-stale",
        "A snapshot lacks the latest action on its channel.";
    SnapshotMissesField = "snapshot-misses-field",
        "Snapshots of sessions lack `lifecycle`, those of chats `turns`.";
    SnapshotFutureFromSeq = "snapshot-future-from-seq",
        "The `fromSeq` of a snapshot is five too high.";
    SnapshotFrozen = "snapshot-frozen",
        "Every subscribe is answered with the first snapshot that was ever given.";
    SnapshotMissing = "snapshot-missing",
        "A subscribe to a channel with state is answered without a snapshot.";
    SnapshotWrongResource = "snapshot-wrong-resource",
        "A snapshot names another resource.";
    UnknownChannelFabricated = "unknown-channel-fabricated",
        "A subscribe to a session that does not exist invents an empty one.";
    SubscribeNotLive = "subscribe-not-live",
        "A subscribe returns a snapshot, and nothing follows.";
    ReplayLosesOne = "replay-loses-one",
        "A replay lacks its first envelope.";
    ReplayRepeatsLastSeen = "replay-repeats-last-seen",
        "A replay begins with the envelope that the client saw last.";
    ReplayUnordered = "replay-unordered",
        "A replay is in reverse order.";
    ReplayLeaksChannels = "replay-leaks-channels",
        "A replay holds envelopes of channels that were not asked for.";
    ReplayAsNotifications = "replay-as-notifications",
        "Missed envelopes are sent after an empty replay.";
    ReplayPartialAfterOverflow = "replay-partial-after-overflow",
        "A gap that begins before the retained history is answered with what is left of it.";
    ReplayFutureEmpty = "replay-future-empty",
        "A `lastSeenServerSeq` that the host never reached is answered with an empty replay.";
    ReconnectNotLive = "reconnect-not-live",
        "A reconnect answers and resumes no subscription.";
    ReconnectForgets = "reconnect-forgets",
        "A reconnect makes the host forget every session.";
    MissingNotReported = "missing-not-reported",
        "The replay's `missing` is always empty.";
    NotificationsReplayed = "notifications-replayed",
        "After a reconnect every notification of the root channel is sent again.";
    RestartForgetsSequence = "restart-forgets-sequence",
        "After a restart the numbers begin at 0, with the old sessions.";
    RestartKeepsTurns = "restart-keeps-turns",
        "After a restart the turns of before are still active, without an agent.";
    ListMissesCreated = "list-misses-created",
        "The session list lacks the session created last.";
    ListRepeats = "list-repeats",
        "The session list has its first entry twice.";
    ListCursorStuck = "list-cursor-stuck",
        "Every page of the session list is the first one.";
    ListUnknownCursorServed = "list-unknown-cursor-served",
        "A cursor that the host never gave out is taken for the first page.";
    SessionAddedNotAnnounced = "session-added-not-announced",
        "A new session is not announced.";
    SessionAddedTwice = "session-added-twice",
        "A new session is announced twice.";
    SessionRemovedNotAnnounced = "session-removed-not-announced",
        "A disposed session is not announced.";
    SummaryChangesSilent = "summary-changes-silent",
        "Changes of a session's summary are not announced.";
    SummaryCarriesIdentity = "summary-carries-identity",
        "Announced changes of a summary name the session's `resource` and `createdAt`.";
    DuplicateSessionAccepted = "duplicate-session-accepted",
        "A session can be created at a URI in use, and replaces what is there.";
    UnknownProviderAccepted = "unknown-provider-accepted",
        "A session can be created with a provider that does not exist.";
    ForeignActiveClientAccepted = "foreign-active-client-accepted",
        "A client can register another client as active.";
    SessionNeverReady = "session-never-ready",
        "A session stays in `creating`.";
    SessionReadyTwice = "session-ready-twice",
        "A session becomes ready twice.";
    LeaksSessionAfterDispose = "leaks-session-after-dispose",
        "A disposed session can still be subscribed to and is still listed.";
    DisposeKeepsAgent = "dispose-keeps-agent",
        "The agent of a disposed session goes on.";
    DisposeUnknownSucceeds = "dispose-unknown-succeeds",
        "A session that does not exist can be disposed.";
    ChatAddedAfterResponse = "chat-added-after-response",
        "A new chat is announced after `createChat` is answered.";
    ChatRemovedSilent = "chat-removed-silent",
        "A disposed chat stays in the session's catalog.";
    SummaryDrift = "summary-drift",
        "The session's catalog, or before there was one its summary, does not follow its chats.";
    SessionStatusStuck = "session-status-stuck",
        "A session's status does not follow its chats.";
    InputNeededStale = "input-needed-stale",
        "A session keeps entries for what no longer waits for a user.";
    InputNeededMissing = "input-needed-missing",
        "A session never says that a chat waits for a user.";
    InputUnknownRequestAccepted = "input-unknown-request-accepted",
        "An answer to a request that never was is accepted.";
    InputCompletedTwice = "input-completed-twice",
        "A request that has its response can be completed again.";
    InputIncompleteAccepted = "input-incomplete-accepted",
        "A request is accepted without its required answers.";
    AnswerKindUnchecked = "answer-kind-unchecked",
        "An answer of another kind than its question is accepted.";
    AddressLost = "address-lost",
        "A request to visit an address does not say which.";
    FlagsNotStored = "flags-not-stored",
        "Read and archived flags are echoed and not stored.";
    TitleNotApplied = "title-not-applied",
        "A new title is echoed and not stored.";
    DraftNotStored = "draft-not-stored",
        "A draft is echoed and not stored.";
    ConfigNotMerged = "config-not-merged",
        "A change of configuration drops the values that it does not name.";
    ArchivedLostOnTurn = "archived-lost-on-turn",
        "A turn clears the archived flag of its chat.";
    UnreadNotSet = "unread-not-set",
        "A turn leaves its chat marked as read.";
    TruncationKeepsTurns = "truncation-keeps-turns",
        "A truncation is echoed and removes nothing.";
    TruncationDropsOneMore = "truncation-drops-one-more",
        "A truncation removes the turn that it names too.";
    WrongErrorCode = "wrong-error-code",
        "Every error is an internal error.";
    ErrorWithoutMessage = "error-without-message",
        "Errors have no message.";
    UnknownMethodSilent = "unknown-method-silent",
        "A request of an unknown method is not answered.";
    BadParamsServed = "bad-params-served",
        "The shape of parameters is not looked at.";
    StringIdMangled = "string-id-mangled",
        "A string id comes back as a number.";
    ResponseTwice = "response-twice",
        "Every fifth request is answered twice.";
    ResponseNever = "response-never",
        "Every seventh request is not answered.";
    ResultMissing = "result-missing",
        "A response with an empty result has no `result`.";
    VersionTagMissing = "version-tag-missing",
        "Messages lack `jsonrpc`.";
    ParseErrorSilent = "parse-error-silent",
        "A frame that is not JSON is ignored.";
    ParseErrorCloses = "parse-error-closes",
        "A frame that is not JSON ends the connection.";
    PingDeadBeforeInitialize = "ping-dead-before-initialize",
        "A ping before the handshake is not answered.";
    ServesBeforeInitialize = "serves-before-initialize",
        "Requests are served before the handshake.";
    SecondInitializeServed = "second-initialize-served",
        "A second handshake on a connection is served and forgets its subscriptions.";
    VersionPicksFirst = "version-picks-first",
        "The first acceptable version of an offer is taken, not the highest.";
    VersionNotOffered = "version-not-offered",
        "The host answers with its own version, whatever was offered.";
    UnknownVersionAccepted = "unknown-version-accepted",
        "An offer without an acceptable version is accepted.";
    NoSupportedVersions = "no-supported-versions",
        "The refusal of an offer does not say what is supported.";
    UnsupportedStaysOpen = "unsupported-stays-open",
        "The connection stays open after the offer was refused.";
    NewerActionsSent = "newer-actions-sent",
        "Actions that a connection's version does not know are sent to it.";
    ShapeMissingRequired = "shape-missing-required",
        "`chat/turnComplete` lacks its duration, or its turn where turns have none.";
    ShapeWrongType = "shape-wrong-type",
        "The `turnId` of text deltas is a number.";
    NullOptional = "null-optional",
        "Actions of the host have a null origin.";
    BadSessionUriAccepted = "bad-session-uri-accepted",
        "`createSession` says yes to any URI, and creates nothing where it is no session's.";
    BatchCloses = "batch-closes",
        "A batch ends the connection.";
    UnaskedResponseCloses = "unasked-response-closes",
        "A response to nothing ends the connection.";
    BadFrameEndsAll = "bad-frame-ends-all",
        "A binary or a huge frame ends every connection.";
    AnswersMixedUp = "answers-mixed-up",
        "A number above 1000 as an id belongs to the first connection that used it.";
    ExtensionsRefused = "extensions-refused",
        "Parameters with a member that begins with `x-` are refused.";
    UsageDropped = "usage-dropped",
        "What the agent says about its usage goes to nobody.";
    DenialReasonDropped = "denial-reason-dropped",
        "The reason of a denial is not stored.";
    SubscribeJoins = "subscribe-joins",
        "A subscribe makes the client active in the session, without an action.";
    DisposeTakesAll = "dispose-takes-all",
        "With a session every other one goes away, without a word.";
    AcceptsUnfitDecision = "accepts-unfit-decision",
        "A decision may name an option that is not offered, and edit what cannot be edited.";
    AcceptsAgentMessages = "accepts-agent-messages",
        "A client's message may be of another kind than `user`.";
    ChoiceDropped = "choice-dropped",
        "The option that a user chose for a call, and what is suggested instead, are not stored.";
    ActiveTurnRestarts = "active-turn-restarts",
        "A start under the id of the turn that runs begins the turn anew.";
    AcceptsStartAtAnyTime = "accepts-start-at-any-time",
        "The start of a turn may be anything but a timestamp.";
    AcceptsUnknownQueued = "accepts-unknown-queued",
        "A turn may be started for a message that is not in the queue.";
    AcceptsAnyResume = "accepts-any-resume",
        "A resume is accepted although nothing can be resumed.";
    AcceptsAnyResultDecision = "accepts-any-result-decision",
        "A decision about a result is accepted although no result waits.";
    AcceptsLateCompletion = "accepts-late-completion",
        "An owner may go on with a call that does not run any more.";
    ResultUsedUnconfirmed = "result-used-unconfirmed",
        "The agent goes on with a result that waits for its approval.";
    ErrorCompletesTurn = "error-completes-turn",
        "A turn that fails ends as if it were complete.";
    QueueLostWithTurn = "queue-lost-with-turn",
        "A cancelled or failed turn empties the queue.";
    ReorderSorts = "reorder-sorts",
        "Queued messages that a new order does not name are sorted by their ids.";
    TurnCancelledWithClient = "turn-cancelled-with-client",
        "The turns of a client are cancelled when its connection ends.";
    ChatUnsubscribeRemoves = "chat-unsubscribe-removes",
        "A client that stops watching a chat is no longer active in its session.";
    ClientStaysActive = "client-stays-active",
        "A client that leaves is still listed as active.";
    ToolsChangeEndsCalls = "tools-change-ends-calls",
        "The running calls of clients fail when one offers other tools.";
    RefusalApproves = "refusal-approves",
        "A refused action about a call that waits is taken for its approval.";
    ClientSeqMustGrow = "client-seq-must-grow",
        "A dispatch whose number is not above the client's last one is ignored.";
    OriginFromClient = "origin-from-client",
        "A dispatch may say whose it is.";
    UnknownActionCloses = "unknown-action-closes",
        "An action of no version ends the connection.";
    NumberlessDispatchTaken = "numberless-dispatch-taken",
        "A dispatch without a whole number counts as number 0.";
    HandshakeSeqZero = "handshake-seq-zero",
        "The handshake always tells the number 0.";
    TurnDiesWithClient = "turn-dies-with-client",
        "An agent stops in the middle of its turn when nobody is subscribed to its chat any more.";
    SessionsMixed = "sessions-mixed",
        "The actions of a session reach the subscribers of every other session.";
    UnassignedErrorCode = "unassigned-error-code",
        "A session's URI in use is refused with a reserved code that nothing is assigned to.";
    QueueOvertakesTurn = "queue-overtakes-turn",
        "A queued message starts its turn at once, although one is active.";
    PartIdReused = "part-id-reused",
        "All text parts of a turn have the same id.";
    ReadyHeldBack = "ready-held-back",
        "A session becomes ready a while after its chat is there to be used.";
    DurationTooLong = "duration-too-long",
        "Turns say that they took an hour more than they did.";
    ReadyChangesOwner = "ready-changes-owner",
        "A tool call that is ready belongs to a client that nobody had heard of.";
    AuthForOwnTools = "auth-for-own-tools",
        "The host's own tools wait for authentication before they run.";
    CallsTheAbsent = "calls-the-absent",
        "A client's tool call is given to a client that is not active.";
    HistoryUnfinished = "history-unfinished",
        "The tool calls of a cancelled turn stay running.";
    OrphansGoOn = "orphans-go-on",
        "The calls of a client that is no longer active stay running.";
    WaitingUnseen = "waiting-unseen",
        "A chat that asks a question does not say in its status that it waits.";
    ActivitiesMixed = "activities-mixed",
        "The catalog gives chats, and what is told of sessions gives these, the activities Idle and Error at once.";
    InputNeededStripped = "input-needed-stripped",
        "A session repeats the questions of its chats without their text.";
    DefaultChatUnknown = "default-chat-unknown",
        "A further chat makes one that does not exist the default chat.";
    ReorderIncomplete = "reorder-incomplete",
        "A further chat comes with an order of the chats that has only itself.";
    ChatListedTwice = "chat-listed-twice",
        "Snapshots of sessions have their last chat twice.";
    UpdatesRemovedChat = "updates-removed-chat",
        "A disposed chat changes once more in the catalog that it has left.";
    ActiveSessionsOneMore = "active-sessions-one-more",
        "One session more is active than there are.";
    DirectoriesOutlive = "directories-outlive",
        "A chat keeps the directory that its session has lost.";
    CommandFinishesTwice = "command-finishes-twice",
        "Every command of a terminal finishes twice.";
    CommandsOverlap = "commands-overlap",
        "Lines that are typed at once begin all their commands before the first one finishes.";
    ExitsTwice = "exits-twice",
        "The process of a terminal exits twice.";
    TerminalListStale = "terminal-list-stale",
        "The root's list does not follow what happens to a terminal.";
    CharactersCut = "characters-cut",
        "Output of a terminal has U+FFFD for everything that is not ASCII.";
    ShellMarkersSent = "shell-markers-sent",
        "Output of a terminal has the escape sequence that a command's output begins with.";
    DenialAllowedBelow = "denial-allowed-below",
        "The agent that was started is told that a denied call is allowed.";
    AllowedUnasked = "allowed-unasked",
        "The agent that was started is told that a call is allowed while the user is being asked.";
    CancelKept = "cancel-kept",
        "The agent that was started does not hear of a cancelled turn.";
    ChunkLostBelow = "chunk-lost-below",
        "The third text of the agent that was started is dropped.";
    ChunksSwapped = "chunks-swapped",
        "The third and the fourth text of the agent that was started change places.";
    CallToldTwice = "call-told-twice",
        "Each call of the agent that was started becomes two.";
    ProgressGoesBack = "progress-goes-back",
        "The progress of a creation begins anew before it ends.";
    ProgressNeverEnds = "progress-never-ends",
        "The last frame of a creation's progress is not sent.";
    CursorForEverybody = "cursor-for-everybody",
        "Chats that are shown whole have a cursor for older turns.";
    PagesReversed = "pages-reversed",
        "Older turns are loaded newest first.";
    TimesInWords = "times-in-words",
        "Summaries of sessions say `just now` where they were modified.";
    TokenLeaked = "token-leaked",
        "The refusal of a token repeats it.";
    AnyTokenTaken = "any-token-taken",
        "Tokens are accepted, whatever they are for.";
    CreatedAnew = "created-anew",
        "Summaries of sessions say that they were created at this moment.";
    PluginIdsRepeat = "plugin-ids-repeat",
        "What a client publishes keeps its ids, although another customization has them.";
    OwnIdsRepeat = "own-ids-repeat",
        "Two of the host's own customizations have the same id.";
    DecisionsUnsorted = "decisions-unsorted",
        "Decisions about enablement are published with the global one first.";
    PluginsOutlive = "plugins-outlive",
        "The plugins of a client that is no longer active stay in the session.";
    ToggleNotStored = "toggle-not-stored",
        "A decision about a customization is echoed and not stored.";
    ToggleTakesContainer = "toggle-takes-container",
        "A decision about a customization counts for its container too.";
    UnreadableLoaded = "unreadable-loaded",
        "A plugin that could not be read counts as loaded.";
    OffServersRun = "off-servers-run",
        "An MCP server that is turned off goes on, and can be started.";
    ServerNeverReady = "server-never-ready",
        "An MCP server that was started is never ready.";
    SideChannelBare = "side-channel-bare",
        "The MCP servers of clients have side channels on which nothing may be asked.";
    SideChannelKept = "side-channel-kept",
        "An MCP server that is stopped has a side channel all the same.";
    UnofferedServed = "unoffered-served",
        "Every method is answered on side channels.";
    CountsStuck = "counts-stuck",
        "A session's counts of annotations do not follow them.";
    AcceptsEmptyAnnotations = "accepts-empty-annotations",
        "An annotation may come without entries.";
    AcceptsLastEntryRemoval = "accepts-last-entry-removal",
        "The last entry of an annotation can be removed alone.";
    AnnotationsOutlive = "annotations-outlive",
        "The annotations of a disposed session can still be subscribed to.";
    RangeDropped = "range-dropped",
        "An update of an annotation drops its range.";
    PathsEscape = "paths-escape",
        "A `..` in the URI of a file leads out of the area of clients.";
    GrantsForAll = "grants-for-all",
        "What one client was granted everybody may do.";
    GrantsGrow = "grants-grow",
        "Who was granted a file may do the same with those beside it.";
    ReadGrantsWrite = "read-grants-write",
        "Who was granted to read a file may write it.";
    ChatsFromAnywhere = "chats-from-anywhere",
        "A chat may come from any source and work in any directory.";
    SelectionTrimmed = "selection-trimmed",
        "What was selected for a side chat loses the white space around it.";
    MovesAnything = "moves-anything",
        "Every move of a chat succeeds, and moves nothing.";
    AttachesAnything = "attaches-anything",
        "A message may attach chats and turns that do not exist.";
    EmptyChatsRefused = "empty-chats-refused",
        "A chat without turns cannot be attached.";
    OlderTurnsStay = "older-turns-stay",
        "What names a turn outside of a window does not load it first.";
    ListOldestFirst = "list-oldest-first",
        "The list of sessions begins with the one that was modified first.";
    ForeignClaims = "foreign-claims",
        "Terminals can be made and typed into in another client's name.";
    PrimaryReplaced = "primary-replaced",
        "The first directory of a session can be replaced, which no agent here offers.";
    InputReversed = "input-reversed",
        "A line that is typed into a terminal comes out backwards.";
    LinesNotRun = "lines-not-run",
        "What is typed into a terminal is repeated, and not run.";
    ShellSizeStays = "shell-size-stays",
        "What runs in a terminal never learns that its size has changed.";
    TerminalsNotReplayed = "terminals-not-replayed",
        "A replay leaves out what happened on terminals.";
    OverwritesAlways = "overwrites-always",
        "Files are written, copied and moved over what was not to be replaced.";
    FoldersGoWhole = "folders-go-whole",
        "A folder that is not empty is deleted with all that is in it, unasked.";
    BytesReadAsText = "bytes-read-as-text",
        "Bytes that are no text are read as a text all the same.";
    EmptyBatches = "empty-batches",
        "A watch hears of changes that it did not ask for, in an empty batch.";
    WatchLeaks = "watch-leaks",
        "A watch also tells of what happens beside its root.";
    WatchMisdescribed = "watch-misdescribed",
        "The state of a watch says the opposite of how deep it was asked to look.";
    WatchShallow = "watch-shallow",
        "Every watch looks at direct children only.";
    FiltersIgnored = "filters-ignored",
        "A watch tells of everything below its root.";
    WatchOutlives = "watch-outlives",
        "A watch stays when nobody is subscribed to it any more.";
    ErrorBesideReady = "error-beside-ready",
        "A changeset that is ready says what went wrong.";
    ChangedFileTwice = "changed-file-twice",
        "The last file of a changeset is in it twice.";
    ClearedToRecompute = "cleared-to-recompute",
        "A changeset drops its files before it is computed anew.";
    ReviewsUnoffered = "reviews-unoffered",
        "Files can be marked as reviewed in changesets that do not offer it.";
    ReviewKept = "review-kept",
        "A reviewed file stays so when an agent changes it again.";
    ChangesUncounted = "changes-uncounted",
        "The summary of a session does not say how much it has changed.";
    ChangesetsOutlive = "changesets-outlive",
        "The changesets of a disposed session can still be subscribed to.";
    DisabledRuns = "disabled-runs",
        "An operation that is disabled can be invoked.";
    ScopesIgnored = "scopes-ignored",
        "An operation can be invoked for what it has no scope for.";
    OperationNeverEnds = "operation-never-ends",
        "An operation that was invoked is running for ever.";
    RunGoesBack = "run-goes-back",
        "A run of an automation that is over is said to be running once more.";
    RunEndsEarlier = "run-ends-earlier",
        "Runs of automations end years before they begin.";
    PrimaryElsewhere = "primary-elsewhere",
        "The primary session of a run is one that it does not have.";
    RunsOldestFirst = "runs-oldest-first",
        "The runs of an automation are listed oldest first.";
    RunSummaryStale = "run-summary-stale",
        "The catalogue of automations does not follow their runs.";
    RunCountMissing = "run-count-missing",
        "An automation that ends after runs does not count them.";
    RequestIdIgnored = "request-id-ignored",
        "An automation runs as often as somebody asks, under whatever id.";
    AutomationReplaced = "automation-replaced",
        "An automation can be created at a URI in use, and replaces what is there.";
    AnyMessageAutomated = "any-message-automated",
        "The message of an automation may be of another kind than `automation`.";
    UpdateForgets = "update-forgets",
        "An update of an automation loses what the host does not know.";
    CancelledRunGoesOn = "cancelled-run-goes-on",
        "A cancelled run goes on.";
    RunOriginMissing = "run-origin-missing",
        "The session of a run does not say where it comes from.";
    AutomationsForgotten = "automations-forgotten",
        "After a restart there are no automations.";
    AgentsUnprotected = "agents-unprotected",
        "Agents that ask for a token can be used without one.";
    AdvertisedUnknown = "advertised-unknown",
        "`authenticate` knows none of the resources that agents name.";
    InvalidTokenTaken = "invalid-token-taken",
        "Every token is taken for a resource that an agent names.";
    TokensShared = "tokens-shared",
        "The token of one connection is good for all of them.";
    TokensNotTakenBack = "tokens-not-taken-back",
        "An empty token leaves the one before it in force.";
    LifetimeIgnored = "lifetime-ignored",
        "Tokens are kept for ever, whatever their lifetime is.";
    OptionalDemanded = "optional-demanded",
        "An agent whose resource is optional asks for a token all the same.";
    AuthWithoutResources = "auth-without-resources",
        "The error for a missing token does not say what it has to be for.";
    AuthCodeWrong = "auth-code-wrong",
        "A missing token is told by the code of an invalid request.";
    ExpiryToldToAll = "expiry-told-to-all",
        "Everybody who listens to the root channel hears that one client's token has expired.";
    ExpiryMisshapen = "expiry-misshapen",
        "That a token has expired is told without the resource that it was for.";
    TelemetryForAll = "telemetry-for-all",
        "Log records come to everybody, subscribed or not.";
    LevelIgnored = "level-ignored",
        "Log records come at every level, whatever was asked for.";
    TelemetryUncorrelated = "telemetry-uncorrelated",
        "Log records do not say which session they are about, nor who wrote them.";
    TelemetryMisplaced = "telemetry-misplaced",
        "Spans come under the method of measurements.";
    TelemetryUnfolded = "telemetry-unfolded",
        "A log record is its payload, outside of `resourceLogs`.";
    TelemetryReplayed = "telemetry-replayed",
        "Who reconnects gets the latest log records once more.";
    TelemetryWithState = "telemetry-with-state",
        "A subscription to log records comes with a snapshot.";
    TelemetryRenamed = "telemetry-renamed",
        "Log records name the channel as it is advertised, not as it was subscribed to.";
    StacksTold = "stacks-told",
        "Errors come with a trace of the stack.";
    AttachmentsWithheld = "attachments-withheld",
        "An agent is not given what is attached to a message.";
    AttachmentsWhole = "attachments-whole",
        "An attached chat is given whole, whichever turn it is to end with.";
    AttachmentsUnpinned = "attachments-unpinned",
        "An attached chat is read when the agent wants it, not when the message is taken.";
    AttachmentsFollowed = "attachments-followed",
        "What is attached within an attached chat is given too.";
    AttachmentsReachOut = "attachments-reach-out",
        "An agent is given any file that a message attaches.";
    ChatsUnoffered = "chats-unoffered", "Agents make chats that they do not offer.";
    WorkerMisnamed = "worker-misnamed", "The chat of a worker says that it is of another call.";
    WorkersGoOn = "workers-go-on", "A worker goes on when the turn that it works for is over.";
    WorkersWithoutEnd = "workers-without-end", "Workers may have workers without end.";
    MovesKeepOrder = "moves-keep-order", "A chat that is moved stands last, or stays where it was.";
    MovesLeaveWorkers = "moves-leave-workers", "The workers of a chat that is moved stay behind.";
    MovesCopy = "moves-copy", "A chat that is moved stays in the catalogue that it leaves.";
    CanvasUrlStays = "canvas-url-stays", "A canvas keeps its address when what showed it is gone.";
    CanvasUrlKept = "canvas-url-kept", "A canvas has its address again after a crash.";
    BackgroundUnseen = "background-unseen", "The terminal of a command in the background does not exist.";
    BackgroundStays = "background-stays", "A command in the background that has ended stays in the list.";
    CrashUnnoticed = "crash-unnoticed", "The turn of an agent that has crashed stays active.";
    AsksTheSameAgain = "asks-the-same-again", "A call that asks again says what it said before.";
    EditedInputLost = "edited-input-lost",
        "An edited input does not replace the content that the call refers to.";
    ActivityUnmirrored = "activity-unmirrored", "A session does not say what its chat does.";
    MovableUnmirrored = "movable-unmirrored",
        "A session's catalogue does not follow whether a chat is movable.";
    DatedByFirstChat = "dated-by-first-chat",
        "A session was modified when its first chat was, whatever came of the others.";
    CompletionsNever = "completions-never",
        "Completions are not answered.";
    EarlyTurnsLost = "early-turns-lost",
        "A session is ready long after its chat is there, and turns that start before are lost.";
    ChatChangesUnscoped = "chat-changes-unscoped",
        "The changes of a chat are those in all directories.";
    LargeFramesStall = "large-frames-stall",
        "After a frame of more than two million bytes nothing is read any more.";
    AppsForAll = "apps-for-all",
        "MCP apps and their side channels are shown to clients that cannot show them.";
    GoneStayActive = "gone-stay-active",
        "A client that is gone for good stays active in its sessions.";
    PreferenceIgnored = "preference-ignored",
        "Before 1.0.0 too the highest of the offered versions is taken, whatever comes first.";
    OldClientsSlighted = "old-clients-slighted",
        "A client of a version before 1.0.0 of its own is offered less.";
    ScrollbackEndless = "scrollback-endless",
        "A terminal keeps everything that it ever printed.";
    DeepServed = "deep-served",
        "A frame is read however deep it is nested.";
    HugeServed = "huge-served",
        "A frame is read however large it is.";
    FloodsStarve = "floods-starve",
        "While one connection asks for hundreds of things no other one is answered.";
    SlowReadersLose = "slow-readers-lose",
        "Of what waits for a client that does not read, every third frame is dropped.";
    AsksTheOtherClient = "asks-the-other-client",
        "What one client has published another one is asked for.";
    IdsMixedUp = "ids-mixed-up",
        "A request of a client with the number of one of the host's own is taken for its answer.";
    PrimaryRemoved = "primary-removed",
        "The first directory of a session can be removed where it is to be replaced.";
    ReplacementUnchecked = "replacement-unchecked",
        "A directory can be replaced by one that is not there.";
    OddFramesEndAll = "odd-frames-end-all",
        "Every connection ends with a frame that cannot be read.";
    DoorOpen = "door-open", "Whoever comes is let in, whatever credentials it brings.";
    DoorLate = "door-late", "Whoever comes is let in; who had no credentials is then answered nothing.";
    ClientIdTaken = "client-id-taken", "The client id of somebody else can be shaken hands with.";
    ClientIdResumed = "client-id-resumed", "The connection of somebody else's client can be resumed.";
    OriginIgnored = "origin-ignored", "Every web page may open a connection.";
    SettingsUnguarded = "settings-unguarded", "Anybody may change what guards everybody.";
    ChallengeUnseen = "challenge-unseen", "That a call waits for a token shows nowhere but in its chat.";
    ChallengeStays = "challenge-stays", "A session still waits for a token that has come.";
    StopKeepsInput = "stop-keeps-input", "A call waits on for the token of a server that was stopped.";
    LinksFollowed = "links-followed", "A link in the area of clients is a way out of it.";
    PipesHang = "pipes-hang", "Nothing is read any more after a file without an end.";
    LargeReadsHang = "large-reads-hang", "Nothing is read any more after a file that is too large.";
    CanvasUrlLogged = "canvas-url-logged", "Log records say where a canvas is shown.";
    CronNarrow = "cron-narrow", "A schedule with names of months or days is refused.";
    CronAnything = "cron-anything", "A schedule with any expression is taken.";
    UnknownKindsDropped = "unknown-kinds-dropped", "Attachments of kinds that are not known are left out.";
    ExtensionsNeeded = "extensions-needed", "A session is archived for clients with an extension of the host's own alone.";
    RootListsSilent = "root-lists-silent",
        "Nobody hears of a change in the root's lists of agents and terminals.";
    ConditionsRepeat = "conditions-repeat", "An automation may end twice for the same reason.";
    ForksForgotten = "forks-forgotten", "A session or chat that is forked begins without turns.";
    MetaDropped = "meta-dropped", "Nothing that is said keeps its `_meta`.";
    RootNewsToFirst = "root-news-to-first", "Of the subscribers of the root channel only the first hears of sessions.";
    RootNewsElsewhere = "root-news-elsewhere", "Changes of a session are told on the channel of the session.";
    SummaryChatTwice = "summary-chat-twice", "The summary of a session lists its last chat twice.";
    ChatMisnamed = "chat-misnamed", "The state of a chat names another one.";
    OptionsShareId = "options-share-id", "All options of a tool call have the same id.";
    MissingNamesRoot = "missing-names-root", "A replay names the root channel as missing.";
    ListOtherProvider = "list-other-provider", "The list of sessions names another provider than they have.";
    MovedChatsForget = "moved-chats-forget", "A chat that is moved loses its last turn, and says nothing of it.";
    ActionBeforeSnapshot = "action-before-snapshot",
        "The answer to a subscription comes after an action that is not in its snapshot.";
    DefaultChatUnlisted = "default-chat-unlisted", "With its first turn the default chat leaves the catalogue.";
    InitialWithoutStates = "initial-without-states", "The handshake gives no state of what it subscribes to.";
}
