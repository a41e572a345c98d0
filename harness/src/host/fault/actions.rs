//! Faults in accepting and rejecting the actions of clients.
//!
//! Knows: rules by their requirements. Never knows: which check finds which fault.

use super::generic::{
    ActsAfterConsequences, ActsBeforeConsequences, ChangesDispatches, ChangesRejections,
    LiftsRules, RefusesActions, WaivesRefusals,
};
use super::{Fault, HostFaultRow};
use crate::host::dispatch::{Refusal, SERVER_ONLY};
use crate::host::engine::RefHost;
use crate::host::injected::HostFault;
use crate::host::play::tool_call;
use crate::host::publish::{Origin, action_type};
use crate::host::rules::Facts;
use crate::model::{NoOp, Outcome, apply};
use crate::wire::channel::ChannelKind;
use crate::wire::json::{Value, json};
use crate::wire::protocol::Dispatch;

pub(super) const FAULTS: &[HostFaultRow] = &[
    (Fault::AcceptsMalformed, &LiftsRules(&["dispatch.malformed-payload"])),
    (Fault::AcceptsWrongFamily, &LiftsRules(&["dispatch.wrong-family.session-on-chat"])),
    (Fault::AcceptsHostOnly, &WaivesRefusals(is_host_only)),
    (Fault::RejectsLegal, &RefusesActions(|_| Some("nothing is taken here"))),
    (Fault::EchoesWithoutApplying, &EchoesWithoutApplying),
    (
        Fault::NumberlessDispatchTaken,
        &ChangesDispatches(|_, it| {
            let seq = &mut it.origin.client_seq;
            if !seq.is_u64() && !seq.is_i64() {
                *seq = json!(0);
            }
            true
        }),
    ),
    (
        Fault::UnknownActionCloses,
        &ChangesDispatches(|host, it| {
            let kind = action_type(&it.action);
            let known = kind.is_empty() || host.protocol.action(kind).is_some();
            if !known {
                host.close(it.origin.conn, 1002, "no such action");
            }
            known
        }),
    ),
    (
        Fault::ClientSeqMustGrow,
        &ChangesDispatches(|host, it| {
            let number = it.origin.client_seq.as_i64().unwrap_or(i64::MAX);
            let last = host.dispatched.entry(it.origin.client.clone()).or_insert(i64::MIN);
            let grows = number > *last;
            *last = number.max(*last);
            grows
        }),
    ),
    (
        Fault::OriginFromClient,
        &ChangesDispatches(|_, it| {
            if let Some(client) = it.params["origin"]["clientId"].as_str() {
                client.clone_into(&mut it.origin.client);
            }
            true
        }),
    ),
    (
        Fault::ActionOnUnknownSessionEchoed,
        &ChangesDispatches(|host, it| {
            let kind = ChannelKind::of_uri(&it.uri);
            let aloud = matches!(kind, Some(ChannelKind::Session | ChannelKind::Chat));
            if aloud && !host.channels.contains_key(&it.uri) {
                host.reject(&it.uri, &it.action, &it.origin, &Refusal::of("no such channel", ""));
            }
            true
        }),
    ),
    (
        Fault::RejectionApplied,
        &ChangesRejections(|host, it, _| {
            let version = host.protocol.version();
            if let Some(channel) = host.channels.get_mut(it.uri) {
                apply(version, channel.kind, &mut channel.state, it.action);
            }
            let worded = host.worded(it.uri, it.action, Some(it.origin));
            host.fold_views(action_type(it.action), &worded);
            true
        }),
    ),
    (Fault::RejectionSilent, &ChangesRejections(|_, _, _| false)),
    (
        Fault::RejectionWithoutReason,
        &ChangesRejections(|_, _, envelope| {
            envelope["rejectionReason"] = json!("");
            true
        }),
    ),
    (
        Fault::RejectionWithoutOrigin,
        &ChangesRejections(|_, _, envelope| {
            envelope.as_object_mut().map(|members| members.remove("origin"));
            true
        }),
    ),
    (
        Fault::RefusalApproves,
        &ChangesRejections(|host, it, envelope| {
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
        }),
    ),
    // Turns.
    (Fault::AcceptsTurnWhileActive, &LiftsRules(&["dispatch.chat.turnStarted.while-active"])),
    (
        Fault::ActiveTurnRestarts,
        &WaivesRefusals(|facts, refusal| {
            let rules = [
                "dispatch.chat.turnStarted.while-active",
                "dispatch.chat.turnStarted.duplicate-id-history",
            ];
            let turns = facts.state["turns"].as_array().into_iter().flatten();
            let wanted = &facts.action["turnId"];
            rules.contains(&refusal.source.as_str())
                && facts.state["activeTurn"]["id"] == *wanted
                && !turns.into_iter().any(|turn| turn["id"] == *wanted)
        }),
    ),
    (
        Fault::AcceptsRepeatedTurnId,
        &LiftsRules(&["dispatch.chat.turnStarted.duplicate-id-history"]),
    ),
    (
        Fault::AcceptsAgentMessages,
        &LiftsRules(&[
            "dispatch.chat.turnStarted.non-user",
            "dispatch.chat.pendingMessageSet.non-user",
            "dispatch.chat.draftChanged.non-user",
        ]),
    ),
    (Fault::AcceptsStartAtAnyTime, &LiftsRules(&["dispatch.chat.turnStarted.bad-timestamp"])),
    (
        Fault::AcceptsUnknownQueued,
        &LiftsRules(&["dispatch.chat.turnStarted.client-queuedMessageId"]),
    ),
    (Fault::AttachesAnything, &LiftsRules(&["chat.attachment.chat.unknown-chat"])),
    (
        Fault::EmptyChatsRefused,
        &RefusesActions(|facts| {
            let given = facts.action["message"]["attachments"].as_array();
            let mut chats = given.into_iter().flatten().filter(|given| given["type"] == "chat");
            let empty = |given: &Value| {
                let chat = facts.host.state(given["resource"].as_str().unwrap_or(""));
                chat["turns"].as_array().is_some_and(Vec::is_empty)
            };
            let starts = action_type(facts.action) == "chat/turnStarted";
            (starts && chats.any(empty)).then_some("an attachment names a chat without turns")
        }),
    ),
    (Fault::AcceptsCancelWhenIdle, &LiftsRules(&["dispatch.chat.turnCancelled.no-active"])),
    (
        Fault::AcceptsAnyResume,
        &WaivesRefusals(|facts, refusal| {
            let useless = matches!(refusal.outcome, Some(Outcome::NoOp(_)));
            useless && action_type(facts.action) == "chat/turnResume"
        }),
    ),
    (
        Fault::EarlyTurnsLost,
        &ChangesDispatches(|host, it| {
            // Without a chat yet the session itself is spoken to, where it has the turns.
            let session = host.chats.get(&it.uri).map_or(&it.uri, |chat| &chat.session);
            let early = host.state(session)["lifecycle"] == "creating";
            !early || action_type(&it.action) != "chat/turnStarted"
        }),
    ),
    (
        Fault::DefaultChatUnlisted,
        &ActsBeforeConsequences("chat/turnStarted", |host, uri, _| {
            let session = host.chats.get(uri).map(|chat| chat.session.clone());
            if let Some(session) = session.filter(|it| host.state(it)["defaultChat"] == uri) {
                host.publish(&session, json!({"type": "session/chatRemoved", "chat": uri}));
            }
        }),
    ),
    (
        Fault::OutputAfterCancel,
        &ActsBeforeConsequences("chat/turnCancelled", |host, uri, _| {
            let idle = host.state(uri)["activeTurn"].is_null();
            if let Some(run) = host.runs.get_mut(uri).filter(|_| idle) {
                run.undead = true;
                run.tracks.iter_mut().for_each(|track| track.wait = None);
            }
        }),
    ),
    (
        Fault::SteeringStartsTurn,
        &ActsAfterConsequences("chat/pendingMessageSet", |host, uri, action| {
            if action["kind"] == "steering" && host.state(uri)["activeTurn"].is_null() {
                host.begin_turn(uri, action["message"].clone(), None);
            }
        }),
    ),
    // Tool calls.
    (
        Fault::AcceptsSecondConfirmation,
        &LiftsRules(&["dispatch.chat.toolCallConfirmed.not-pending"]),
    ),
    (
        Fault::AcceptsConfirmationUnknownCall,
        &LiftsRules(&["dispatch.chat.toolCallConfirmed.unknown-call"]),
    ),
    (
        Fault::AcceptsConfirmationWrongTurn,
        &LiftsRules(&[
            "dispatch.chat.toolCallConfirmed.wrong-turn",
            "dispatch.chat.toolCallConfirmed.no-active-turn",
        ]),
    ),
    (
        Fault::AcceptsUnfitDecision,
        &LiftsRules(&[
            "dispatch.chat.toolCallConfirmed.bad-option",
            "dispatch.chat.toolCallConfirmed.edited-not-editable",
        ]),
    ),
    (
        Fault::AcceptsAnyResultDecision,
        &LiftsRules(&["dispatch.chat.toolCallResultConfirmed.not-pending"]),
    ),
    (
        Fault::AcceptsLateCompletion,
        &LiftsRules(&[
            "dispatch.chat.toolCallComplete.not-running",
            "dispatch.chat.toolCallContentChanged.not-running",
        ]),
    ),
    (
        Fault::AcceptsForeignCompletion,
        &LiftsRules(&[
            "dispatch.chat.toolCallComplete.non-owner",
            "dispatch.chat.toolCallContentChanged.non-owner",
        ]),
    ),
    // Answers.
    (
        Fault::InputUnknownRequestAccepted,
        &WaivesRefusals(|facts, refusal| {
            let idle = refusal.outcome == Some(Outcome::NoOp(NoOp::NoActiveTurn));
            answers_nothing(refusal) && (idle || !is_known_request(facts))
        }),
    ),
    (
        Fault::InputCompletedTwice,
        &WaivesRefusals(|facts, refusal| {
            let unknown = refusal.outcome == Some(Outcome::NoOp(NoOp::UnknownRequest));
            unknown && refusal.source == COMPLETES_NOTHING && is_known_request(facts)
        }),
    ),
    (
        Fault::AnswerKindUnchecked,
        &WaivesRefusals(|_, refusal| {
            refusal.source == "dispatch.chat.inputAnswerChanged.bad-value"
                && refusal.reason == "the answer does not fit the question"
        }),
    ),
    (
        Fault::InputIncompleteAccepted,
        &LiftsRules(&["dispatch.chat.inputCompleted.required-missing"]),
    ),
    // Sessions, terminals, changesets, annotations.
    (
        Fault::ForeignActiveClientAccepted,
        &LiftsRules(&[
            "session.create.active-client-id-match",
            "dispatch.session.activeClientSet.other-client",
            "dispatch.session.activeClientRemoved.other-client",
        ]),
    ),
    (
        Fault::ExtensionsNeeded,
        &RefusesActions(|facts| {
            let bare = facts.action["_meta"].is_null();
            let archives = action_type(facts.action) == "session/isArchivedChanged";
            (archives && bare).then_some("expected an extension of this host's in `_meta`")
        }),
    ),
    (
        Fault::PrimaryReplaced,
        &LiftsRules(&["dispatch.session.workingDirectoryReplaced.primary-no-capability"]),
    ),
    (Fault::PrimaryRemoved, &LiftsRules(&["dispatch.session.workingDirectoryRemoved.primary"])),
    (
        Fault::ReplacementUnchecked,
        &LiftsRules(&["dispatch.session.workingDirectoryReplaced.validate"]),
    ),
    (
        Fault::ForeignClaims,
        &LiftsRules(&["terminal.create.claim-foreign", "dispatch.terminal.input.non-holder"]),
    ),
    (
        Fault::ReviewsUnoffered,
        &LiftsRules(&["dispatch.changeset.filesReviewChanged.no-capability"]),
    ),
    (Fault::AcceptsEmptyAnnotations, &LiftsRules(&["dispatch.annotations.set.empty-entries"])),
    (Fault::AcceptsLastEntryRemoval, &LiftsRules(&["dispatch.annotations.entryRemoved.last"])),
];

/// The requirement by which the completion of an unknown request is refused.
const COMPLETES_NOTHING: &str = "dispatch.chat.inputCompleted.unknown";

fn answers_nothing(refusal: &Refusal) -> bool {
    refusal.source == COMPLETES_NOTHING
        || refusal.source == "dispatch.chat.inputAnswerChanged.unknown"
}

fn is_known_request(facts: &Facts) -> bool {
    let parts = facts.state["activeTurn"]["responseParts"].as_array();
    let wanted = &facts.action["requestId"];
    parts.into_iter().flatten().any(|part| &part["request"]["id"] == wanted)
}

/// Whether an action is refused that only hosts may send.
fn is_host_only(facts: &Facts, refusal: &Refusal) -> bool {
    let own = facts.host.protocol.action(action_type(facts.action)).map(|row| row.dispatch);
    let reduced = refusal.outcome.is_some();
    refusal.source.starts_with(SERVER_ONLY) || reduced && own != Some(Dispatch::Client)
}

/// Every action is echoed as accepted, and none is applied.
struct EchoesWithoutApplying;

impl HostFault for EchoesWithoutApplying {
    fn waives(&self, _facts: &Facts, _refusal: &Refusal) -> bool {
        true
    }

    fn accepts(&self, host: &mut RefHost, uri: &str, action: &Value, from: &Origin) -> bool {
        host.emit(uri, action.clone(), Some(from));
        false
    }
}
