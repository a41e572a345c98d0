//! Injected faults in accepting and rejecting the actions of clients.
//!
//! Knows: rules by their requirements. Never knows: the checks that find a fault.

use super::FaultPart::Host;
use crate::host::dispatch::SERVER_ONLY;
use crate::host::dispatched::{ActionOrigin, DispatchRefusal};
use crate::host::engine::RefHost;
use crate::host::generic::{
    ActsAfterApplying, ChangesDispatches, ChangesRejections, LiftsRules, RefusesActions,
    WaivesRefusals,
};
use crate::host::injected::ActionStage::{Accepted, Followed};
use crate::host::injected::HostHooks;
use crate::host::reading::{action_type, tool_call};
use crate::host::rule_facts::RuleFacts;
use crate::host::rules::several_directories;
use crate::model::{ActionOutcome, NoOp};
use crate::wire::channel::ChannelKind;
use crate::wire::json::{Value, json};
use crate::wire::protocol::DispatchRight;

fault_table![
    AcceptsMalformed(
        "accepts-malformed",
        "Client actions are accepted even if their members do not have the defined shape.",
        Host(&LiftsRules(&["dispatch.malformed-payload"])),
    ),
    AcceptsWrongFamily(
        "accepts-wrong-family",
        "An action for another kind of channel is echoed as accepted.",
        Host(&LiftsRules(&["dispatch.wrong-family.session-on-chat"])),
    ),
    ModelsChangeAtOnce(
        "models-change-at-once",
        "A change of the model is applied while a turn is active.",
        Host(&LiftsRules(&["dispatch.session.modelChanged.deferred"])),
    ),
    DirectoriesUnoffered(
        "directories-unoffered",
        "A chat changes its directories although its agent does not support several directories.",
        Host(&WaivesRefusals(|facts, _| {
            let changes = action_type(facts.action) == "chat/workingDirectorySet";
            changes && several_directories(facts).is_err()
        })),
    ),
    AcceptsHostOnly(
        "accepts-host-only",
        "Actions that only a host may send are accepted from clients.",
        Host(&WaivesRefusals(is_host_only)),
    ),
    RejectsLegal(
        "rejects-legal",
        "Every client action is rejected.",
        Host(&RefusesActions(|_| Some("nothing is taken here"))),
    ),
    EchoesWithoutApplying(
        "echoes-without-applying",
        "Every client action is echoed as accepted, and none is applied.",
        Host(&EchoesWithoutApplying),
    ),
    NumberlessDispatchTaken(
        "numberless-dispatch-taken",
        "A dispatch whose `clientSeq` is not an integer counts as a dispatch with the `clientSeq` 0.",
        Host(&ChangesDispatches(|_, it| {
            let seq = &mut it.origin.client_seq;
            if !seq.is_u64() && !seq.is_i64() {
                *seq = json!(0);
            }
            true
        })),
    ),
    UnknownActionCloses(
        "unknown-action-closes",
        "An action that no version defines closes the connection.",
        Host(&ChangesDispatches(|host, it| {
            let kind = action_type(&it.action);
            let known = kind.is_empty() || host.protocol.action(kind).is_some();
            if !known {
                host.close(it.origin.conn, 1002, "no such action");
            }
            known
        })),
    ),
    ClientSeqMustGrow(
        "client-seq-must-grow",
        "A dispatch whose `clientSeq` is not above the client's last `clientSeq` is ignored.",
        Host(&ChangesDispatches(|host, it| {
            let number = it.origin.client_seq.as_i64().unwrap_or(i64::MAX);
            let last = host.memory.dispatched.entry(it.origin.client.clone()).or_insert(i64::MIN);
            let grows = number > *last;
            *last = number.max(*last);
            grows
        })),
    ),
    OriginFromClient(
        "origin-from-client",
        "The host takes the origin of an action from the dispatch.",
        Host(&ChangesDispatches(|_, it| {
            if let Some(client) = it.params["origin"]["clientId"].as_str() {
                client.clone_into(&mut it.origin.client);
            }
            true
        })),
    ),
    ActionOnUnknownSessionEchoed(
        "action-on-unknown-session-echoed",
        "An action for a session or chat that does not exist is rejected instead of ignored.",
        Host(&ChangesDispatches(|host, it| {
            let kind = ChannelKind::of_uri(&it.uri);
            let aloud = matches!(kind, Some(ChannelKind::Session | ChannelKind::Chat));
            if aloud && !host.channels.has(&it.uri) {
                host.reject(
                    &it.uri,
                    &it.action,
                    &it.origin,
                    &DispatchRefusal::of("no such channel", ""),
                );
            }
            true
        })),
    ),
    RejectionApplied(
        "rejection-applied",
        "A rejected action still changes the state.",
        Host(&ChangesRejections(|host, it, _| {
            let version = host.protocol.version();
            host.channels.reduce_unpublished(version, it.uri, it.action);
            let worded = host.worded(it.uri, it.action, Some(it.origin));
            host.fold_views(action_type(it.action), &worded);
            true
        })),
    ),
    RejectionSilent(
        "rejection-silent",
        "A rejected action gets no rejection.",
        Host(&ChangesRejections(|_, _, _| false)),
    ),
    RejectionWithoutReason(
        "rejection-without-reason",
        "A rejection has an empty reason.",
        Host(&ChangesRejections(|_, _, envelope| {
            envelope["rejectionReason"] = json!("");
            true
        })),
    ),
    RejectionWithoutOrigin(
        "rejection-without-origin",
        "A rejection has no origin.",
        Host(&ChangesRejections(|_, _, envelope| {
            envelope.as_object_mut().map(|members| members.remove("origin"));
            true
        })),
    ),
    RefusalApproves(
        "refusal-approves",
        "A rejected action on a tool call that waits for approval approves the call.",
        Host(&ChangesRejections(|host, it, envelope| {
            let call = it.action["toolCallId"].as_str().unwrap_or("");
            let state = host.state(it.uri);
            if tool_call(state, call)["status"] == "pending-confirmation" {
                let approval = json!({
                    "type": "chat/toolCallConfirmed", "turnId": state["activeTurn"]["id"],
                    "toolCallId": call, "approved": true, "confirmed": "setting",
                });
                host.publish(it.uri, approval);
                host.wake(it.uri);
                envelope["serverSeq"] = json!(host.log.seq());
            }
            true
        })),
    ),
    // Faults in actions on turns.
    AcceptsTurnWhileActive(
        "accepts-turn-while-active",
        "A turn can be started while another turn is active, and replaces the active turn.",
        Host(&LiftsRules(&["dispatch.chat.turnStarted.while-active"])),
    ),
    ActiveTurnRestarts(
        "active-turn-restarts",
        "A `chat/turnStarted` with the id of the active turn restarts the turn.",
        Host(&WaivesRefusals(|facts, refusal| {
            let rules = [
                "dispatch.chat.turnStarted.while-active",
                "dispatch.chat.turnStarted.duplicate-id-history",
            ];
            let turns = facts.state["turns"].as_array().into_iter().flatten();
            let wanted = &facts.action["turnId"];
            rules.contains(&refusal.source.as_str())
                && facts.state["activeTurn"]["id"] == *wanted
                && !turns.into_iter().any(|turn| turn["id"] == *wanted)
        })),
    ),
    AcceptsRepeatedTurnId(
        "accepts-repeated-turn-id",
        "A turn may have the id of an earlier turn of its chat.",
        Host(&LiftsRules(&["dispatch.chat.turnStarted.duplicate-id-history"])),
    ),
    AcceptsAgentMessages(
        "accepts-agent-messages",
        "A client's message may be of another kind than `user`.",
        Host(&LiftsRules(&[
            "dispatch.chat.turnStarted.non-user",
            "dispatch.chat.pendingMessageSet.non-user",
            "dispatch.chat.draftChanged.non-user",
        ])),
    ),
    AcceptsStartAtAnyTime(
        "accepts-start-at-any-time",
        "The start of a turn is accepted even if its start time is not a timestamp.",
        Host(&LiftsRules(&["dispatch.chat.turnStarted.bad-timestamp"])),
    ),
    AcceptsUnknownQueued(
        "accepts-unknown-queued",
        "A turn may be started for a message that is not in the queue.",
        Host(&LiftsRules(&["dispatch.chat.turnStarted.client-queuedMessageId"])),
    ),
    AttachesAnything(
        "attaches-anything",
        "A message may attach chats and turns that do not exist.",
        Host(&LiftsRules(&["chat.attachment.chat.unknown-chat"])),
    ),
    EmptyChatsRefused(
        "empty-chats-refused",
        "A chat without turns cannot be attached.",
        Host(&RefusesActions(|facts| {
            let given = facts.action["message"]["attachments"].as_array();
            let mut chats = given.into_iter().flatten().filter(|given| given["type"] == "chat");
            let empty = |given: &Value| {
                let chat = facts.host.state(given["resource"].as_str().unwrap_or(""));
                chat["turns"].as_array().is_some_and(Vec::is_empty)
            };
            let starts = action_type(facts.action) == "chat/turnStarted";
            (starts && chats.any(empty)).then_some("an attachment names a chat without turns")
        })),
    ),
    AcceptsCancelWhenIdle(
        "accepts-cancel-when-idle",
        "A cancel without an active turn is accepted.",
        Host(&LiftsRules(&["dispatch.chat.turnCancelled.no-active"])),
    ),
    AcceptsAnyResume(
        "accepts-any-resume",
        "A resume is accepted although nothing can be resumed.",
        Host(&WaivesRefusals(|facts, refusal| {
            let useless = matches!(refusal.outcome, Some(ActionOutcome::NoOp(_)));
            useless && action_type(facts.action) == "chat/turnResume"
        })),
    ),
    DefaultChatUnlisted(
        "default-chat-unlisted",
        "The default chat is removed from the catalogue when its first turn starts.",
        Host(&ActsAfterApplying(Accepted, "chat/turnStarted", |host, uri, _| {
            let session = host.chats.session_of(uri).map(str::to_owned);
            if let Some(session) = session.filter(|it| host.state(it)["defaultChat"] == uri) {
                host.publish(&session, json!({"type": "session/chatRemoved", "chat": uri}));
            }
        })),
    ),
    OutputAfterCancel(
        "output-after-cancel",
        "The agent continues after its turn was cancelled.",
        Host(&ActsAfterApplying(Accepted, "chat/turnCancelled", |host, uri, _| {
            let idle = host.state(uri)["activeTurn"].is_null();
            if idle {
                host.runs.raise(uri);
            }
        })),
    ),
    SteeringStartsTurn(
        "steering-starts-turn",
        "A steering message in an idle chat starts a turn.",
        Host(&ActsAfterApplying(Followed, "chat/pendingMessageSet", |host, uri, action| {
            if action["kind"] == "steering" && host.state(uri)["activeTurn"].is_null() {
                host.begin_turn(uri, action["message"].clone(), None);
            }
        })),
    ),
    // Faults in actions on tool calls.
    AcceptsSecondConfirmation(
        "accepts-second-confirmation",
        "A tool call that is no longer pending can be confirmed again.",
        Host(&LiftsRules(&["dispatch.chat.toolCallConfirmed.not-pending"])),
    ),
    AcceptsConfirmationUnknownCall(
        "accepts-confirmation-unknown-call",
        "A tool call that does not exist can be confirmed.",
        Host(&LiftsRules(&["dispatch.chat.toolCallConfirmed.unknown-call"])),
    ),
    AcceptsConfirmationWrongTurn(
        "accepts-confirmation-wrong-turn",
        "A confirmation may name a turn that is not active.",
        Host(&LiftsRules(&[
            "dispatch.chat.toolCallConfirmed.wrong-turn",
            "dispatch.chat.toolCallConfirmed.no-active-turn",
        ])),
    ),
    AcceptsUnfitDecision(
        "accepts-unfit-decision",
        "A decision may name an option that is not offered, and edit an input that is not editable.",
        Host(&LiftsRules(&[
            "dispatch.chat.toolCallConfirmed.bad-option",
            "dispatch.chat.toolCallConfirmed.edited-not-editable",
        ])),
    ),
    AcceptsAnyResultDecision(
        "accepts-any-result-decision",
        "A decision about a result is accepted although no result waits for approval.",
        Host(&LiftsRules(&["dispatch.chat.toolCallResultConfirmed.not-pending"])),
    ),
    AcceptsLateCompletion(
        "accepts-late-completion",
        "The owner of a tool call may update it when it is no longer running.",
        Host(&LiftsRules(&[
            "dispatch.chat.toolCallComplete.not-running",
            "dispatch.chat.toolCallContentChanged.not-running",
        ])),
    ),
    AcceptsForeignCompletion(
        "accepts-foreign-completion",
        "Any client may complete any tool call.",
        Host(&LiftsRules(&[
            "dispatch.chat.toolCallComplete.non-owner",
            "dispatch.chat.toolCallContentChanged.non-owner",
        ])),
    ),
    // Faults in answers to input requests.
    InputUnknownRequestAccepted(
        "input-unknown-request-accepted",
        "An answer to an input request that does not exist is accepted.",
        Host(&WaivesRefusals(|facts, refusal| {
            let idle = refusal.outcome == Some(ActionOutcome::NoOp(NoOp::NoActiveTurn));
            answers_nothing(refusal) && (idle || !is_known_request(facts))
        })),
    ),
    InputCompletedTwice(
        "input-completed-twice",
        "An input request that has its response can be completed again.",
        Host(&WaivesRefusals(|facts, refusal| {
            let unknown = refusal.outcome == Some(ActionOutcome::NoOp(NoOp::UnknownRequest));
            unknown && refusal.source == COMPLETES_NOTHING && is_known_request(facts)
        })),
    ),
    AnswerKindUnchecked(
        "answer-kind-unchecked",
        "An answer of another kind than its question is accepted.",
        Host(&WaivesRefusals(|_, refusal| {
            refusal.source == "dispatch.chat.inputAnswerChanged.bad-value"
                && refusal.reason == "the answer does not fit the question"
        })),
    ),
    InputIncompleteAccepted(
        "input-incomplete-accepted",
        "An input request is accepted without answers to its required questions.",
        Host(&LiftsRules(&["dispatch.chat.inputCompleted.required-missing"])),
    ),
    // Faults in actions on sessions, terminals, changesets and annotations.
    ForeignActiveClientAccepted(
        "foreign-active-client-accepted",
        "A client can register another client as active.",
        Host(&LiftsRules(&[
            "session.create.active-client-id-match",
            "dispatch.session.activeClientSet.other-client",
            "dispatch.session.activeClientRemoved.other-client",
        ])),
    ),
    ExtensionsNeeded(
        "extensions-needed",
        "A session is archived only for clients with an extension of the host.",
        Host(&RefusesActions(|facts| {
            let bare = facts.action["_meta"].is_null();
            let archives = action_type(facts.action) == "session/isArchivedChanged";
            (archives && bare).then_some("expected an extension of this host in `_meta`")
        })),
    ),
    PrimaryReplaced(
        "primary-replaced",
        "The primary directory of a session can be replaced although its agent does not support that.",
        Host(&LiftsRules(&["dispatch.session.workingDirectoryReplaced.primary-no-capability"])),
    ),
    PrimaryRemoved(
        "primary-removed",
        "The primary directory of a session can be removed although it may only be replaced.",
        Host(&LiftsRules(&["dispatch.session.workingDirectoryRemoved.primary"])),
    ),
    ReplacementUnchecked(
        "replacement-unchecked",
        "A directory can be replaced by a directory that does not exist.",
        Host(&LiftsRules(&["dispatch.session.workingDirectoryReplaced.validate"])),
    ),
    ForeignClaims(
        "foreign-claims",
        "Terminals can be created and typed into in another client's name.",
        Host(&LiftsRules(&["terminal.create.claim-foreign", "dispatch.terminal.input.non-holder"])),
    ),
    ReviewsUnoffered(
        "reviews-unoffered",
        "Files can be marked as reviewed in changesets that do not offer reviews.",
        Host(&LiftsRules(&["dispatch.changeset.filesReviewChanged.no-capability"])),
    ),
    AcceptsEmptyAnnotations(
        "accepts-empty-annotations",
        "An annotation without entries is accepted.",
        Host(&LiftsRules(&["dispatch.annotations.set.empty-entries"])),
    ),
    AcceptsLastEntryRemoval(
        "accepts-last-entry-removal",
        "The last entry of an annotation can be removed without the annotation.",
        Host(&LiftsRules(&["dispatch.annotations.entryRemoved.last"])),
    ),
];

/// The requirement that is broken if the host accepts the completion of an unknown input request.
const COMPLETES_NOTHING: &str = "dispatch.chat.inputCompleted.unknown";

fn answers_nothing(refusal: &DispatchRefusal) -> bool {
    refusal.source == COMPLETES_NOTHING
        || refusal.source == "dispatch.chat.inputAnswerChanged.unknown"
}

fn is_known_request(facts: &RuleFacts) -> bool {
    let parts = facts.state["activeTurn"]["responseParts"].as_array();
    let wanted = &facts.action["requestId"];
    parts.into_iter().flatten().any(|part| &part["request"]["id"] == wanted)
}

/// Returns whether the host rejects an action because only hosts may send it.
fn is_host_only(facts: &RuleFacts, refusal: &DispatchRefusal) -> bool {
    let own = facts.host.protocol.action(action_type(facts.action)).map(|row| row.dispatch);
    let reduced = refusal.outcome.is_some();
    refusal.source.starts_with(SERVER_ONLY) || reduced && own != Some(DispatchRight::Client)
}

/// A fault that sends every action of a client as accepted and applies none of them.
struct EchoesWithoutApplying;

impl HostHooks for EchoesWithoutApplying {
    fn waives(&self, _facts: &RuleFacts, _refusal: &DispatchRefusal) -> bool {
        true
    }

    fn acts(
        &self,
        host: &mut RefHost,
        uri: &str,
        action: &mut Value,
        from: Option<&ActionOrigin>,
    ) -> bool {
        if from.is_some() {
            host.emit(uri, action.clone(), from);
        }
        from.is_none()
    }
}
