//! The injected faults of the reference client. Each fault is a row in a table, with a name by which a run enables it.
//!
//! [`FrameFaults`] changes messages on their way between the client and its connection. A fault of the client's
//! behaviour is an `if` in the code that implements the broken rule.
//!
//! Knows: messages. Never knows: which check finds which fault.
//!
//! Start at [`FAULTS`].

use crate::wire::channel::ROOT;
use crate::wire::json::{Value, json};
use crate::wire::message::{Message, MessageKind, is_handshake};
use crate::wire::protocol::Protocol;

use super::super::received::ReceivedStates;

/// A set of injected faults.
pub type ClientFaults = crate::fault::FaultSet<Fault>;

faults! {
    RejectionsApplied = "rejections-applied", "Rejected actions of others are applied.";
    OwnRejectionsApplied = "own-rejections-applied", "A rejected action of the client's own is applied.";
    OwnRejectionsIgnored = "own-rejections-ignored", "An action of the client's own stays pending after its rejection.";
    OldApplied = "old-applied", "Actions up to the snapshot's number are applied.";
    EarlyDropped = "early-dropped", "Actions that arrive before the snapshot of their channel are dropped.";
    EarlyApplied = "early-applied", "Actions that arrive before the snapshot are applied, whatever their number.";
    ReconnectSnapshotsIgnored = "reconnect-snapshots-ignored", "The snapshots of a reconnect are ignored.";
    PendingKept = "pending-kept", "Actions stay pending over a reconnect.";
    SettlesOtherChannels = "settles-other-channels", "An echo settles the earlier actions of other channels, too.";
    EmptyReasonAccepted = "empty-reason-accepted", "An action with an empty `rejectionReason` is applied.";
    MatchesByContent = "matches-by-content", "An action of another client counts as the echo of an own action with the same content.";
    SettlesTheOldest = "settles-the-oldest", "An echo settles the oldest pending action.";
    OwnPayloadKept = "own-payload-kept", "The client applies the payload that it sent, and not the payload of the echo.";
    ForeignDropped = "foreign-dropped", "Actions of others are dropped while the client has pending actions.";
    EchoIgnored = "echo-ignored", "The echo of an own action changes nothing.";
    UnknownActionsUncounted = "unknown-actions-uncounted", "Unknown actions do not count for `lastSeenServerSeq`.";
    SnapshotsUncounted = "snapshots-uncounted", "Snapshots do not count for `lastSeenServerSeq`.";
    LastSeenStale = "last-seen-stale", "`lastSeenServerSeq` is always 0.";
    LastSeenAhead = "last-seen-ahead", "`lastSeenServerSeq` is above every number that was sent.";
    ResponsesInOrder = "responses-in-order", "Responses are matched by their order, and not by their id.";
    NullOriginDropped = "null-origin-dropped", "Actions with a null `origin` are dropped.";
    UnknownStatusReplaced = "unknown-status-replaced", "An unknown lifecycle becomes `ready`, and an unknown kind of message or part a known one.";
    StatusBitsLost = "status-bits-lost", "Only the lowest eight bits of a status are kept.";
    TurnsCut = "turns-cut", "A snapshot keeps its last turn only.";
    SnapshotsByPosition = "snapshots-by-position", "The snapshots of the handshake are assigned to channels by their position, and not by their URI.";
    NewMembersClose = "new-members-close", "An unknown member in the result of `initialize`, or in an action, ends the connection.";
    NewMetaCloses = "new-meta-closes", "An unknown key in the `_meta` of the handshake ends the connection.";
    NullResultFails = "null-result-fails", "A null result counts as an error.";
    SeqRepeats = "seq-repeats", "Every dispatch has the number 1.";
    IdsRepeat = "ids-repeat", "Every request has the id 1.";
    UrisNormalised = "uris-normalised", "URIs are sent in lower case.";
    AgentMessages = "agent-messages", "Messages of the user have an `origin` of the kind `agent`.";
    StartWithoutTime = "start-without-time", "Turns start at the time `now`.";
    ListsFirst = "lists-first", "The client lists sessions before its handshake.";
    OffersTwice = "offers-twice", "The highest version is offered twice.";
    OffersReversed = "offers-reversed", "Versions are offered lowest first.";
    RootNotSubscribed = "root-not-subscribed", "The handshake does not subscribe to the root channel.";
    MissingKept = "missing-kept", "Channels that a reconnect reports as missing are resumed again.";
    UnsubscribedKept = "unsubscribed-kept", "Channels that the client has unsubscribed from are resumed.";
    RefusedKept = "refused-kept", "Channels whose subscription was refused are resumed.";
    NotListedAgain = "not-listed-again", "The list of sessions is not requested after a reconnect.";
    FirstPageOnly = "first-page-only", "Only the first page of the list is requested.";
    CursorTrimmed = "cursor-trimmed", "Cursors are sent without their punctuation.";
    UnofferedTaken = "unoffered-taken", "A version that was not offered is accepted.";
    RefusalUnreported = "refusal-unreported", "A refused handshake does not end the attempt to connect.";
    RetriesSameOffer = "retries-same-offer", "After a refused handshake the same versions are offered again, without end.";
    HostRequestsIgnored = "host-requests-ignored", "Requests of the host are not answered.";
    HostRequestsTwice = "host-requests-twice", "Requests of the host are answered twice.";
    TextIdsIgnored = "text-ids-ignored", "Requests of the host with a text as their id are not answered.";
    UnknownAnswered = "unknown-answered", "Every request of the host succeeds.";
    UnknownCode = "unknown-code", "Unknown methods are answered with the code -32000.";
    GatesOpen = "gates-open", "The client serves every file.";
    MalformedCloses = "malformed-closes", "A frame that is not a valid message ends the connection.";
    UnknownNotificationCloses = "unknown-notification-closes", "An unknown notification ends the connection.";
    EchoKeepsPending = "echo-keeps-pending", "The echo of an own action is applied, and the action stays pending.";
    ShownStale = "shown-stale", "While actions are pending, the shown state does not follow the confirmed state.";
    LateSnapshotsEmpty = "late-snapshots-empty", "A channel whose snapshot is missing in the handshake stays empty after a later subscription.";
    OffersWords = "offers-words", "The word `latest` is offered as a version.";
    OpenRequestsHang = "open-requests-hang", "Requests that were open when the connection ended never end.";
    ToolTwice = "tool-twice", "Every call of the client's own tools runs twice.";
    ToolStartedAgain = "tool-started-again", "A running call starts its tool again after any action, subscription or reconnect, and is completed once.";
    RunsOnOwnApproval = "runs-on-own-approval", "A tool starts when the client itself has approved the call, before the host accepts the approval.";
    FailsOnCancel = "fails-on-cancel", "A call whose turn is cancelled is completed as failed at once.";
    ToolStartedLate = "tool-started-late", "A `chat/toolCallReady` after the completion starts the tool again.";
    ResumesWithNewId = "resumes-with-new-id", "A `reconnect` has another client id than `initialize`.";
    ToolOfOthers = "tool-of-others", "The client runs the calls of other clients' tools.";
    ToolEarly = "tool-early", "Tools run before their call is approved.";
    CompletesAfterCancel = "completes-after-cancel", "A call is completed after its cancellation.";
    ToolInputCached = "tool-input-cached", "A tool gets the input as it was before a user edited it.";
    ToolOnlyInChat = "tool-only-in-chat", "Calls that only the session lists are not run.";
    ForeignOnTop = "foreign-on-top", "The client applies actions of others after its own pending actions.";
    OldNumbersKept = "old-numbers-kept", "Actions with a `serverSeq` up to the highest earlier one are dropped, even those of a new host.";
    ReplayIgnored = "replay-ignored", "The actions of a replay are dropped.";
    UnknownActionCloses = "unknown-action-closes", "An unknown action ends the connection.";
    LateActionCloses = "late-action-closes", "An action of a channel without a subscription ends the connection.";
    LateActionApplied = "late-action-applied", "An action of an unsubscribed channel is applied after the next snapshot.";
    UnknownErrorSucceeds = "unknown-error-succeeds", "An error with an unknown code counts as a success.";
    NoSnapshotAgain = "no-snapshot-again", "A subscription without a snapshot is requested three times again.";
    TurnsLoadedTwice = "turns-loaded-twice", "Older turns are loaded twice.";
    InputPredicted = "input-predicted", "Text that is typed into a terminal is shown before the host sends it.";
    OperationPredicted = "operation-predicted", "An operation on a changeset shows as running before the host says so.";
    ReviewKept = "review-kept", "A changed file that does not say whether it is reviewed counts as reviewed.";
    NotJoinedAgain = "not-joined-again", "A client that was removed while it was away does not join again.";
    ToolArgumentsUnchecked = "tool-arguments-unchecked", "Tools run with arguments that break their schema.";
    ToolUnknownIgnored = "tool-unknown-ignored", "Calls of tools that the client does not have are not denied.";
    ToolInSession = "tool-in-session", "Calls are completed on the channel of the session.";
    EntersAnother = "enters-another", "The client sets the tools of a client with another id.";
    ResumesUnopened = "resumes-unopened", "A connection after one that failed before its handshake begins with `reconnect`.";
    CursorsKept = "cursors-kept", "A list that a lost connection cut short is continued with its old cursor.";
    ListReplacedAtEnd = "list-replaced-at-end", "The last page of a list undoes what notifications have changed since the first page.";
    KnownSessionsDoubled = "known-sessions-doubled", "A session that is added again is twice in the list.";
    SessionsNotFollowed = "sessions-not-followed", "Notifications about sessions do not change the list of sessions.";
    IdentityChanged = "identity-changed", "A change of a summary changes the members that identify the session, too.";
    MissingStatusUnread = "missing-status-unread", "A chat without a status is listed with the status 0.";
    UnknownSchemesSubscribed = "unknown-schemes-subscribed", "The client subscribes to every channel that a session or the host names.";
    TemplatesExpanded = "templates-expanded", "The client subscribes to the URI templates of changesets, with an empty text for each variable.";
    DefaultChatOnly = "default-chat-only", "The client opens no other chat than the default chat.";
    AppsOpened = "apps-opened", "The client opens the app of a tool call without having declared the capability.";
    AutomationsRunHere = "automations-run-here", "The client starts a session when the time of an automation has come.";
    MetaStripped = "meta-stripped", "Attachments are sent without their `_meta`.";
    TokensNotRetried = "tokens-not-retried", "A request that needs a token is not repeated.";
    TokensOptional = "tokens-optional", "A resource without `required` counts as optional.";
    TokensNotRechecked = "tokens-not-rechecked", "Tokens are not delivered again after a reconnect.";
    LifetimeKept = "lifetime-kept", "A token is delivered with its first lifetime again.";
    TokensReplayed = "tokens-replayed", "An expired token is delivered again.";
    SoftwareVersionBreaks = "software-version-breaks", "A host whose software has an early version breaks the client.";
    UnknownMetaBreaks = "unknown-meta-breaks", "An unknown key in `_meta` of the handshake breaks the client.";
    UnknownSessionBreaks = "unknown-session-breaks", "A change of an unknown session breaks the client.";
    CycleBreaks = "cycle-breaks", "Chats whose origins name each other break the client.";
    MissingAncestorBreaks = "missing-ancestor-breaks", "A chat whose origin is unknown breaks the client.";
    UnknownQuestionBreaks = "unknown-question-breaks", "A question of an unknown kind breaks the client.";
    UnknownToolStatusBreaks = "unknown-tool-status-breaks", "A tool call with an unknown status breaks the client.";
    StrayAnswerBreaks = "stray-answer-breaks", "A response without a request breaks the client.";
    ForeignActionBreaks = "foreign-action-breaks", "An action of a channel that the client is not subscribed to breaks the client.";
    VersionlessBreaks = "versionless-breaks", "A message without `jsonrpc` breaks the client.";
    DefinitionStripped = "definition-stripped", "Automations are edited without unknown `_meta` and without the `config` of triggers.";
    RunIdRenewed = "run-id-renewed", "A run that is requested again has a new request id.";
    CompletionsUnasked = "completions-unasked", "A trigger character causes no request for completions.";
    OffsetInCharacters = "offset-in-characters", "The offset of a request for completions counts characters.";
    OperationsIgnored = "operations-ignored", "Automations are run although their operations do not permit it.";
    AutomationsAssumed = "automations-assumed", "Runs are requested from a host that has declared no automations.";
    StoppedServerAsked = "stopped-server-asked", "An MCP server that has lost its channel gets requests on it.";
    RefusedForEver = "refused-for-ever", "A request that needs a token is repeated without end.";
    OthersDropped = "others-dropped", "A missing channel makes the client drop its other subscriptions.";
    CompletionsAtOnce = "completions-at-once", "Each character of a burst causes a request for completions.";
    SilenceUnnoticed = "silence-unnoticed", "A host that does not answer `ping` stays connected.";
    ServerChannelKept = "server-channel-kept", "Requests to an MCP server go to its first channel.";
    LogsUnfiltered = "logs-unfiltered", "Log records below the wanted level reach the application.";
    ListMerged = "list-merged", "A list that is requested again is added to the previous list.";
    HugeFrameBreaks = "huge-frame-breaks", "A frame above the client's limit breaks the client.";
    OptionsSorted = "options-sorted", "The options of a tool call are shown in alphabetical order.";
    OptionsIgnored = "options-ignored", "A tool call with options is shown with the choices `approve` and `deny`.";
    OperationUnconfirmed = "operation-unconfirmed", "An operation on a changeset is invoked without a question to the user.";
    HostConsents = "host-consents", "A sensitive tool runs without the user's consent if the host has confirmed the call.";
}

/// The faults that change messages, with the state that they need.
#[derive(Clone, Debug, Default)]
pub(super) struct FrameFaults {
    faults: ClientFaults,
    /// The dispatches that the host has neither accepted nor rejected: the `clientSeq`, the channel, the action.
    own: Vec<(u64, String, Value)>,
    /// The ids of the open requests, oldest first.
    open: Vec<Value>,
    /// The requested subscriptions: the id of the request and the channel.
    subscribing: Vec<(Value, String)>,
    /// The actions that arrived before the snapshot of their channel.
    early: Vec<Value>,
    /// The highest `serverSeq` of the received actions; snapshots do not count.
    seen_in_actions: u64,
    /// The channels that the handshake subscribes to, in their order.
    initial: Vec<Value>,
    handshake: Value,
    /// The channels from which the client has unsubscribed, each with the actions that arrived afterwards.
    left: Vec<(String, Vec<Value>)>,
    /// The actions of other clients that arrived while own actions were pending, each with its channel.
    on_top: Vec<(String, Value)>,
}

impl FrameFaults {
    /// Creates the state for the faults of a set.
    pub(super) fn new(faults: ClientFaults) -> FrameFaults {
        FrameFaults { faults, ..FrameFaults::default() }
    }

    fn has(&self, fault: Fault) -> bool {
        self.faults.has(fault)
    }

    /// Returns the messages that are sent instead of a message of the client.
    pub(super) fn outgoing(&mut self, message: Message) -> Vec<Message> {
        let (id, method) = (message.id().cloned(), message.method().unwrap_or_default().to_owned());
        let mut params = message.params().clone();
        let mut before = Vec::new();
        if is_handshake(&method) {
            self.open.clear();
        }
        match method.as_str() {
            "initialize" => {
                self.handshake = id.clone().unwrap_or_default();
                self.initial =
                    params["initialSubscriptions"].as_array().cloned().unwrap_or_default();
                if self.has(Fault::ListsFirst) {
                    before.push(Message::request(9_999, "listSessions", json!({"channel": ROOT})));
                }
                if self.has(Fault::OffersTwice)
                    && let Some(offers) = params["protocolVersions"].as_array().cloned()
                {
                    let twice = offers.first().cloned().into_iter().chain(offers.clone());
                    params["protocolVersions"] = twice.collect();
                }
                if self.has(Fault::OffersWords)
                    && let Some(offers) = params["protocolVersions"].as_array().cloned()
                {
                    let words = std::iter::once(json!("latest"));
                    params["protocolVersions"] = offers.into_iter().chain(words).collect();
                }
                if self.has(Fault::RootNotSubscribed) {
                    params["initialSubscriptions"] = json!([]);
                }
            }
            "reconnect" => {
                if self.has(Fault::ResumesWithNewId) {
                    params["clientId"] = json!("another-id");
                }
                if self.has(Fault::LastSeenStale) {
                    params["lastSeenServerSeq"] = json!(0);
                }
                if self.has(Fault::LastSeenAhead) {
                    params["lastSeenServerSeq"] = json!(1_000_000);
                }
                if self.has(Fault::SnapshotsUncounted) {
                    params["lastSeenServerSeq"] = json!(self.seen_in_actions);
                }
            }
            "subscribe" => {
                let channel = params["channel"].as_str().unwrap_or_default().to_owned();
                self.subscribing.push((id.clone().unwrap_or_default(), channel));
            }
            "unsubscribe" => {
                let channel = params["channel"].as_str().unwrap_or_default().to_owned();
                self.left.push((channel, Vec::new()));
            }
            "dispatchAction" => {
                if self.has(Fault::SeqRepeats) {
                    params["clientSeq"] = json!(1);
                }
                if self.has(Fault::AgentMessages) && params["action"]["message"].is_object() {
                    params["action"]["message"]["origin"] = json!({"kind": "agent"});
                }
                if self.has(Fault::StartWithoutTime) && params["action"]["startedAt"].is_string() {
                    params["action"]["startedAt"] = json!("now");
                }
                if self.has(Fault::MetaStripped)
                    && let Some(attached) =
                        params["action"]["message"]["attachments"].as_array_mut()
                {
                    attached.iter_mut().for_each(|it| remove(it, "_meta"));
                }
                if self.has(Fault::DefinitionStripped)
                    && let Some(changes) = params["action"].get_mut("changes")
                {
                    remove(changes, "_meta");
                    let triggers = changes["triggers"].as_array_mut().into_iter().flatten();
                    triggers.for_each(|it| remove(it, "config"));
                }
                let channel = params["channel"].as_str().unwrap_or_default().to_owned();
                let seq = params["clientSeq"].as_u64().unwrap_or_default();
                self.own.push((seq, channel, params["action"].clone()));
            }
            _ => {}
        }
        if self.has(Fault::UrisNormalised)
            && let Some(channel) = params["channel"].as_str()
        {
            params["channel"] = json!(channel.to_lowercase());
        }
        let message = match &id {
            Some(_) if self.has(Fault::IdsRepeat) => Message::request(1, &method, params),
            Some(id) => {
                self.open.push(id.clone());
                Message::request(id.as_u64().unwrap_or_default(), &method, params)
            }
            None => Message::notification(&method, params),
        };
        before.push(message);
        before
    }

    /// Returns the messages that the client handles instead of a message of the host.
    pub(super) fn incoming(&mut self, message: &Message, states: &ReceivedStates) -> Vec<Message> {
        match message.kind() {
            MessageKind::Success | MessageKind::Failure => self.response(message),
            MessageKind::Notification if message.method() == Some("action") => {
                self.envelope(message.params().clone(), states)
            }
            _ => vec![message.clone()],
        }
    }

    fn response(&mut self, message: &Message) -> Vec<Message> {
        let mut id = message.id().cloned().unwrap_or_default();
        if self.has(Fault::ResponsesInOrder) && !self.open.is_empty() {
            id = self.open.remove(0);
        } else {
            self.open.retain(|open| *open != id);
        }
        let Some(mut result) = message.result().cloned() else {
            let error = message.error().cloned().unwrap_or_default();
            let code = error["code"].as_i64().unwrap_or_default();
            if self.has(Fault::UnknownErrorSucceeds) && !(-32_768..=-32_000).contains(&code) {
                return vec![Message::success(id, json!({}))];
            }
            let text = error["message"].as_str().unwrap_or_default();
            return vec![Message::failure(id, code, text, error["data"].clone())];
        };
        if self.has(Fault::NullResultFails) && result.is_null() {
            return vec![Message::failure(id, -32603, "null", Value::Null)];
        }
        if self.has(Fault::SnapshotsByPosition) && id == self.handshake {
            let snapshots = result["snapshots"].as_array().cloned().unwrap_or_default();
            let placed = snapshots.into_iter().zip(&self.initial).map(|(mut snapshot, channel)| {
                snapshot["resource"] = channel.clone();
                snapshot
            });
            result["snapshots"] = placed.collect();
        }
        if self.has(Fault::ReconnectSnapshotsIgnored) && result["type"] == "snapshot" {
            result = json!({"type": "replay", "actions": [], "missing": []});
        }
        if self.has(Fault::ReplayIgnored) && result["type"] == "replay" {
            result["actions"] = json!([]);
        }
        if self.has(Fault::LateSnapshotsEmpty)
            && result.get("snapshot").is_some()
            && self.initial.contains(&result["snapshot"]["resource"])
        {
            result["snapshot"]["state"] = json!({});
        }
        if let Some(snapshot) = result.get("snapshot").cloned() {
            result["snapshot"] = self.snapshot(snapshot);
        }
        let mut messages = vec![Message::success(id.clone(), result.clone())];
        if self.has(Fault::EarlyApplied) {
            messages.extend(self.after_snapshot(&id, &result));
        }
        let asked = self.subscribing.iter().find(|(asked, _)| *asked == id);
        if let Some((_, channel)) = asked.cloned()
            && self.has(Fault::LateActionApplied)
        {
            messages.extend(self.late(&channel, &result));
        }
        self.subscribing.retain(|(asked, _)| *asked != id);
        messages
    }

    /// Returns the actions that arrived after the client had unsubscribed from the channel. Their `serverSeq` is
    /// changed so that the client applies them.
    fn late(&mut self, channel: &str, result: &Value) -> Vec<Message> {
        let Some(at) = self.left.iter().position(|(left, _)| left == channel) else {
            return Vec::new();
        };
        let (_, late) = self.left.remove(at);
        let from_seq = result["snapshot"]["fromSeq"].as_u64().unwrap_or_default();
        let numbered = late.into_iter().map(|mut envelope| {
            envelope["serverSeq"] = json!(from_seq + 1);
            Message::notification("action", envelope)
        });
        numbered.collect()
    }

    fn snapshot(&self, mut snapshot: Value) -> Value {
        let state = &mut snapshot["state"];
        if self.has(Fault::TurnsCut)
            && let Some(turns) = state["turns"].as_array().cloned()
        {
            state["turns"] = turns.last().cloned().into_iter().collect();
        }
        if self.has(Fault::UnknownStatusReplaced) && state["lifecycle"].is_string() {
            state["lifecycle"] = json!("ready");
        }
        self.status(state);
        snapshot
    }

    fn status(&self, of: &mut Value) {
        if self.has(Fault::StatusBitsLost)
            && let Some(status) = of["status"].as_u64()
        {
            of["status"] = json!(status & 0xff);
        }
    }

    /// Returns the actions that arrived before the snapshot of their channel. Their `serverSeq` is changed so that the
    /// client applies them.
    fn after_snapshot(&mut self, id: &Value, result: &Value) -> Vec<Message> {
        let asked = self.subscribing.iter().find(|(asked, _)| asked == id);
        let Some(channel) = asked.map(|(_, channel)| channel.clone()) else { return Vec::new() };
        let from_seq = result["snapshot"]["fromSeq"].as_u64().unwrap_or_default();
        let early = std::mem::take(&mut self.early).into_iter();
        let (mine, rest): (Vec<_>, Vec<_>) =
            early.partition(|it| it["channel"] == channel.as_str());
        self.early = rest;
        let numbered = mine.into_iter().map(|mut envelope| {
            envelope["serverSeq"] = json!(from_seq + 1);
            Message::notification("action", envelope)
        });
        numbered.collect()
    }

    fn envelope(&mut self, mut envelope: Value, states: &ReceivedStates) -> Vec<Message> {
        let channel = envelope["channel"].as_str().unwrap_or_default().to_owned();
        let seq = envelope["serverSeq"].as_u64().unwrap_or_default();
        let origin = envelope["origin"].clone();
        let own = !origin.is_null() && origin["clientId"] == states.client_id();
        let rejected = envelope.get("rejectionReason").is_some_and(|it| !it.is_null());
        let mirror = states.channel(&channel);
        let late = self.left.iter_mut().find(|(left, _)| *left == channel);
        if let Some((_, late)) = late.filter(|_| mirror.is_none()) {
            late.push(envelope.clone());
        }
        let old = seq <= self.seen_in_actions;
        self.seen_in_actions = self.seen_in_actions.max(seq);
        let unknown = states.version().and_then(Protocol::of).is_some_and(|protocol| {
            protocol.action(envelope["action"]["type"].as_str().unwrap_or_default()).is_none()
        });
        let subscribing = self.subscribing.iter().any(|(_, it)| *it == channel);
        let drops = (rejected && own && self.has(Fault::OwnRejectionsIgnored))
            || (old && self.has(Fault::OldNumbersKept))
            || (unknown && self.has(Fault::UnknownActionsUncounted))
            || (envelope.get("origin").is_some_and(Value::is_null)
                && self.has(Fault::NullOriginDropped))
            || (!own
                && self.has(Fault::ForeignDropped)
                && mirror.is_some_and(|mirror| mirror.pending() > 0))
            || (subscribing && mirror.is_none() && self.has(Fault::EarlyDropped));
        if drops {
            return Vec::new();
        }
        if subscribing && mirror.is_none() && self.has(Fault::EarlyApplied) {
            self.early.push(envelope);
            return Vec::new();
        }
        if rejected && self.has(Fault::EmptyReasonAccepted) && envelope["rejectionReason"] == "" {
            remove(&mut envelope, "rejectionReason");
        }
        if rejected
            && (own && self.has(Fault::OwnRejectionsApplied)
                || !own && self.has(Fault::RejectionsApplied))
        {
            remove(&mut envelope, "rejectionReason");
        }
        if let Some(mirror) = mirror.filter(|mirror| seq <= mirror.seq())
            && self.has(Fault::OldApplied)
        {
            envelope["serverSeq"] = json!(mirror.seq() + 1);
        }
        if own && self.has(Fault::EchoKeepsPending) && !rejected {
            remove(&mut envelope, "origin");
        }
        if own && self.has(Fault::EchoIgnored) && !rejected {
            // This member makes the client drop the action from its pending actions without applying it.
            envelope["rejectionReason"] = json!("ignored");
        }
        let mut settled_too = Vec::new();
        let dispatched = self.own.iter().position(|(number, at, _)| {
            *at == channel && origin["clientSeq"].as_u64() == Some(*number)
        });
        if let Some(at) = dispatched.filter(|_| own) {
            if self.has(Fault::OwnPayloadKept) {
                envelope["action"] = self.own[at].2.clone();
            }
            let settled = if self.has(Fault::SettlesTheOldest) { 0 } else { at };
            let (number, ..) = self.own.remove(settled);
            envelope["origin"]["clientSeq"] = json!(number);
            if self.has(Fault::SettlesOtherChannels) {
                let others = self.own.extract_if(.., |(earlier, ..)| *earlier < number);
                for (earlier, channel, action) in others {
                    let mut also = envelope.clone();
                    also["channel"] = json!(channel);
                    also["action"] = action;
                    also["origin"]["clientSeq"] = json!(earlier);
                    also["rejectionReason"] = json!("settled");
                    settled_too.push(Message::notification("action", also));
                }
            }
        }
        let same = self
            .own
            .iter()
            .position(|(_, at, action)| *at == channel && *action == envelope["action"]);
        if let Some(at) = same.filter(|_| !own && self.has(Fault::MatchesByContent)) {
            let (number, ..) = self.own.remove(at);
            envelope["origin"] = json!({"clientId": states.client_id(), "clientSeq": number});
        }
        if self.has(Fault::ForeignOnTop) && !own && !rejected {
            self.on_top.retain(|(at, _)| states.channel(at).is_some_and(|it| it.pending() > 0));
            if mirror.is_some_and(|mirror| mirror.pending() > 0) {
                self.on_top.push((channel, envelope["action"].clone()));
            }
        }
        self.misread(&mut envelope["action"]);
        settled_too.push(Message::notification("action", envelope));
        settled_too
    }

    /// Changes the content of an action.
    fn misread(&self, action: &mut Value) {
        if self.has(Fault::UnknownStatusReplaced) {
            if action["lifecycle"].is_string() {
                action["lifecycle"] = json!("ready");
            }
            if is_unknown(&action["message"]["origin"]["kind"]) {
                action["message"]["origin"]["kind"] = json!("user");
            }
            if is_unknown(&action["part"]["kind"]) {
                action["part"]["kind"] = json!("markdown");
            }
        }
        if action["changes"].is_object() {
            self.status(&mut action["changes"]);
        }
        if self.has(Fault::TurnsLoadedTwice) && action["type"] == "chat/turnsLoaded" {
            let turns = action["turns"].as_array().cloned().unwrap_or_default();
            action["turns"] = turns.iter().chain(&turns).cloned().collect();
        }
        if self.has(Fault::ReviewKept) && action["file"].is_object() {
            action["file"]["reviewed"] = json!(true);
        }
    }

    /// Returns a dispatch that makes the client show an effect before the host has sent it.
    pub(super) fn predicted(&self, message: &Message) -> Option<Message> {
        let params = message.params();
        let action = match message.method()? {
            "dispatchAction"
                if self.has(Fault::InputPredicted)
                    && params["action"]["type"] == "terminal/input" =>
            {
                json!({"type": "terminal/data", "data": params["action"]["data"]})
            }
            "invokeChangesetOperation" if self.has(Fault::OperationPredicted) => json!({
                "type": "changeset/operationStatusChanged",
                "operationId": params["operationId"],
                "status": "running",
            }),
            _ => return None,
        };
        let params = json!({"channel": params["channel"], "clientSeq": 0, "action": action});
        Some(Message::notification("dispatchAction", params))
    }

    /// Returns the actions of other clients that the client applies after its own pending actions.
    pub(super) fn on_top(&self, channel: &str) -> Vec<&Value> {
        self.on_top.iter().filter(|(at, _)| at == channel).map(|(_, action)| action).collect()
    }

    /// Returns whether the client ends the connection because of a message.
    pub(super) fn closes(&self, message: &Message, states: &ReceivedStates) -> bool {
        let params = message.params();
        let protocol = states.version().and_then(Protocol::of);
        let unknown = |name: &str| protocol.is_some_and(|protocol| protocol.action(name).is_none());
        let channel = params["channel"].as_str().unwrap_or_default();
        message.method() == Some("action")
            && (self.has(Fault::NewMembersClose) && (is_new(params) || is_new(&params["action"]))
                || self.has(Fault::UnknownActionCloses)
                    && unknown(params["action"]["type"].as_str().unwrap_or_default())
                || self.has(Fault::LateActionCloses)
                    && self.left.iter().any(|(left, _)| left == channel)
                    && states.channel(channel).is_none())
    }

    /// Returns the dispatches that stay pending over a reconnect.
    pub(super) fn kept(&self) -> Vec<Message> {
        if !self.has(Fault::PendingKept) {
            return Vec::new();
        }
        let kept = self.own.iter().map(|(seq, channel, action)| {
            let params =
                json!({"channel": channel.as_str(), "clientSeq": *seq, "action": action.clone()});
            Message::notification("dispatchAction", params)
        });
        kept.collect()
    }
}

/// Returns whether an object has an extension member, whose name begins with `x-`.
pub(super) fn is_new(value: &Value) -> bool {
    value.as_object().is_some_and(|members| members.keys().any(|name| name.starts_with("x-")))
}

fn is_unknown(name: &Value) -> bool {
    name.as_str().is_some_and(|name| name.starts_with("x-"))
}

fn remove(value: &mut Value, member: &str) {
    if let Some(members) = value.as_object_mut() {
        members.remove(member);
    }
}
