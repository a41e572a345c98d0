//! Injected faults in sessions: creation, announcement, summary, disposal, and the state derived from chats.
//!
//! Knows: the life of a session. Never knows: the checks that find a fault.

use std::time::Duration;

use super::FaultPart::{Host, Message, State};
use super::parts::{RequestChange, remove};
use super::reduction::{ACTIVITY, IN_PROGRESS, INPUT_NEEDED, set_status, status_of};
use crate::host::customizations;
use crate::host::engine::RefHost;
use crate::host::generic::{
    ActsAfterApplying, ActsOnEvents, AltersAction, AnswersRequests, ChangesDispatches,
    ChangesFirstState, ChangesNotifications, ChangesReplies, ChangesSummaries, LiftsRules,
    OmitsActions, RollsUp,
};
use crate::host::injected::ActionStage::Published;
use crate::host::injected::{HostEvent, HostHooks};
use crate::host::reading::action_type;
use crate::host::request::ErrorResponse;
use crate::host::rollup::IDENTITY;
use crate::host::sessions::{STAGES, is_session};
use crate::wire::channel::{ChannelKind, ROOT};
use crate::wire::error_code::ErrorName;
use crate::wire::json::{Value, json};

/// The time by which the host delays the moment at which a new session is ready.
const HELD_BACK: Duration = Duration::from_millis(500);
/// An error code in the range that JSON-RPC reserves, and that neither JSON-RPC nor the protocol assigns.
const UNASSIGNED_CODE: i64 = -32_050;

fault_table![
    // Faults in the creation of sessions.
    BadSessionUriAccepted(
        "bad-session-uri-accepted",
        "`createSession` succeeds for any URI, and creates nothing if the URI is invalid.",
        Host(&ChangesReplies(&["createSession"], |_, request, reply| {
            if is_session(request.call.channel()) { reply } else { Ok(Value::Null) }
        })),
    ),
    DuplicateSessionAccepted(
        "duplicate-session-accepted",
        "A session can be created at a URI in use, and replaces the existing session.",
        Host(&AnswersRequests(&["createSession"], |host, call| {
            if host.sessions.has(call.channel()) {
                host.drop_session(call.channel());
            }
            None
        })),
    ),
    UnassignedErrorCode(
        "unassigned-error-code",
        "A session URI that is already in use is rejected with an unassigned code of the reserved range.",
        Host(&ChangesReplies(&["createSession"], |_, _, reply| {
            let taken = ErrorResponse::named(ErrorName::SessionAlreadyExists, "").code;
            reply.map_err(|failure| match failure.code == taken {
                true => ErrorResponse { code: UNASSIGNED_CODE, ..failure },
                false => failure,
            })
        })),
    ),
    UnknownProviderAccepted(
        "unknown-provider-accepted",
        "A session can be created with a provider that does not exist.",
        Host(&LiftsRules(&["session.create.unknown-provider"])),
    ),
    OwnIdsRepeat(
        "own-ids-repeat",
        "Two of the host's own customizations have the same id.",
        Host(&ChangesFirstState(ChannelKind::Session, customizations::repeat_ids)),
    ),
    SessionNeverReady(
        "session-never-ready",
        "The lifecycle of a session stays `creating`.",
        Host(&SessionNeverReady),
    ),
    SessionReadyTwice(
        "session-ready-twice",
        "A session becomes ready twice.",
        Host(&ActsAfterApplying(Published, "session/ready", |host, uri, action| {
            host.publish_from(uri, action.clone(), None);
        })),
    ),
    ReadyHeldBack(
        "ready-held-back",
        "A session becomes ready long after its chat can be used.",
        Host(&ActsOnEvents(hold_back)),
        Host(&LiftsRules(&["chat.turn.ready-gate"])),
    ),
    EarlyTurnsLost(
        "early-turns-lost",
        "A session becomes ready long after its chat exists, and turns that start before are lost.",
        Host(&ActsOnEvents(hold_back)),
        Host(&ChangesDispatches(|host, it| {
            // In versions in which the session itself contains the turns, an action on a turn is on the session's
            // channel.
            let session = host.chats.session_of(&it.uri).unwrap_or(&it.uri);
            let early = host.state(session)["lifecycle"] == "creating";
            !early || action_type(&it.action) != "chat/turnStarted"
        })),
    ),
    ProgressNeverEnds(
        "progress-never-ends",
        "The last progress notification of a creation is not sent.",
        Host(
            &ChangesNotifications("root/progress", |_, params| params["progress"] != json!(STAGES))
        ),
    ),
    ProgressGoesBack(
        "progress-goes-back",
        "The progress of a creation restarts before it ends.",
        Host(&ActsAfterApplying(Published, "session/defaultChatChanged", |host, uri, _| {
            host.report_progress(uri, 1);
            host.report_progress(uri, 0);
        })),
    ),
    SessionAddedNotAnnounced(
        "session-added-not-announced",
        "A new session is not announced.",
        Host(&ChangesNotifications("root/sessionAdded", |_, _| false)),
    ),
    SessionAddedTwice(
        "session-added-twice",
        "A new session is announced twice.",
        Host(&ChangesNotifications("root/sessionAdded", |host, params| {
            host.notify_all("root/sessionAdded", params.clone());
            true
        })),
    ),
    ActiveSessionsOneMore(
        "active-sessions-one-more",
        "The number of active sessions is one too high.",
        Host(&AltersAction("root/activeSessionsChanged", |_, _, action| {
            action["activeSessions"] = json!(action["activeSessions"].as_u64().unwrap_or(0) + 1);
            true
        })),
    ),
    // Faults in the disposal of sessions.
    DisposeUnknownSucceeds(
        "dispose-unknown-succeeds",
        "A session that does not exist can be disposed of.",
        Host(&ChangesReplies(&["disposeSession"], |_, _, reply| Ok(reply.unwrap_or_default()))),
    ),
    LeaksSessionAfterDispose(
        "leaks-session-after-dispose",
        "A disposed session can still be subscribed to and is still listed.",
        Host(&AnswersRequests(&["disposeSession"], |host, call| {
            let uri = call.channel();
            host.sessions.has(uri).then(|| {
                host.notify("root/sessionRemoved", json!({"channel": ROOT, "session": uri}));
                Ok(Value::Null)
            })
        })),
    ),
    DisposeKeepsAgent(
        "dispose-keeps-agent",
        "The agent of a disposed session continues to run.",
        Host(&LiftsRules(&["session.dispose.stops-agent"])),
    ),
    DisposeTakesAll(
        "dispose-takes-all",
        "Disposing one session removes all other sessions without notifications.",
        Host(&ChangesReplies(&["disposeSession"], |host, _, reply| {
            if reply.is_ok() {
                let others: Vec<String> = host.sessions.uris().cloned().collect();
                others.iter().for_each(|uri| host.drop_session(uri));
                host.count_sessions();
            }
            reply
        })),
    ),
    SessionRemovedNotAnnounced(
        "session-removed-not-announced",
        "The disposal of a session is not announced.",
        Host(&ChangesNotifications("root/sessionRemoved", |_, _| false)),
    ),
    AnnotationsOutlive(
        "annotations-outlive",
        "The annotations of a disposed session can still be subscribed to.",
        Host(&LiftsRules(&["session.dispose.cascade-annotations"])),
    ),
    ChangesetsOutlive(
        "changesets-outlive",
        "The changesets of a disposed session can still be subscribed to.",
        Host(&LiftsRules(&["session.dispose.cascade-changesets"])),
    ),
    // Faults in the state that a session derives from its chats.
    SummaryDrift(
        "summary-drift",
        "The session's catalog, or its summary in versions without a catalog, does not follow its chats.",
        Host(&OmitsActions(&["session/chatUpdated"])),
        State(&RollsUp(|before, state| state["summary"] = before.clone())),
    ),
    MovableUnmirrored(
        "movable-unmirrored",
        "A session's catalogue does not repeat changes of a chat's `movable`.",
        Host(&AltersAction("session/chatUpdated", |_, _, action| {
            let changes = action["changes"].as_object_mut();
            changes.is_none_or(|changes| {
                changes.remove("movable");
                !changes.is_empty()
            })
        })),
    ),
    ActivityUnmirrored(
        "activity-unmirrored",
        "A session does not repeat the activity of its chat.",
        Host(&OmitsActions(&["session/activityChanged"])),
    ),
    ChallengeUnseen(
        "challenge-unseen",
        "A session does not show that a tool call of its chat waits for a token.",
        Host(&AltersAction("session/inputNeededSet", |_, _, action| {
            action["request"]["kind"] != "toolAuthentication"
        })),
    ),
    ChallengeStays(
        "challenge-stays",
        "A session still waits for a token that was delivered.",
        Host(&AltersAction("session/inputNeededRemoved", |_, _, action| {
            !action["id"].as_str().is_some_and(|id| id.ends_with("/auth"))
        })),
    ),
    InputNeededMissing(
        "input-needed-missing",
        "A session never shows that a chat waits for a user.",
        Host(&OmitsActions(&["session/inputNeededSet"])),
        State(&RollsUp(|_, state| {
            let status = status_of(state);
            if status & ACTIVITY == INPUT_NEEDED {
                set_status(state, status & !ACTIVITY | IN_PROGRESS);
            }
        })),
    ),
    InputNeededStale(
        "input-needed-stale",
        "A session keeps entries for requests that no longer wait for a user.",
        Host(&AltersAction("session/inputNeededRemoved", |host, _, action| {
            let chat = action["id"].as_str().and_then(|id| id.split('#').next());
            !chat.is_some_and(|chat| host.chats.has(chat))
        })),
        State(&RollsUp(|before, state| {
            let (was, is) = (before["status"].as_u64().unwrap_or(0), status_of(state));
            if (was & ACTIVITY, is & ACTIVITY) == (INPUT_NEEDED, IN_PROGRESS) {
                set_status(state, is & !ACTIVITY | INPUT_NEEDED);
            }
        })),
    ),
    InputNeededStripped(
        "input-needed-stripped",
        "A session repeats the questions of its chats without their text.",
        Host(&AltersAction("session/inputNeededSet", |host, session, action| {
            if let Some(request) = action["request"]["request"].as_object_mut() {
                request.remove("message");
            }
            let known = host.state(session)["inputNeeded"].as_array();
            !known.is_some_and(|entries| entries.contains(&action["request"]))
        })),
    ),
    SessionStatusStuck(
        "session-status-stuck",
        "A session's status does not follow its chats.",
        Host(&LiftsRules(&["session.status.default-chat-base"])),
        State(&RollsUp(|before, state| set_status(state, before["status"].as_u64().unwrap_or(0)))),
    ),
    DirectoriesOutlive(
        "directories-outlive",
        "A chat keeps a directory that was removed from its session.",
        Host(&LiftsRules(&["chat.workingDirectories.subset"])),
    ),
    CountsStuck(
        "counts-stuck",
        "A session's counts of annotations do not follow its annotations.",
        Host(&LiftsRules(&["annotations.summary-counts"])),
    ),
    // Faults in the summaries of sessions.
    SummaryChangesSilent(
        "summary-changes-silent",
        "Changes of a session's summary are not announced.",
        Host(&LiftsRules(&["root.summaryChanged.emitted"])),
    ),
    DatedByFirstChat(
        "dated-by-first-chat",
        "The modification time of a session is that of its first chat.",
        Host(&ChangesSummaries(|host, uri, summary| {
            let first = &host.state(uri)["chats"][0]["modifiedAt"];
            if first.is_string() {
                summary["modifiedAt"] = first.clone();
            }
        })),
    ),
    CreatedAnew(
        "created-anew",
        "The creation time in summaries is always the current time.",
        Host(&ChangesSummaries(|host, _, summary| {
            summary["createdAt"] = json!(host.clock.timestamp());
        })),
    ),
    SummaryChatTwice(
        "summary-chat-twice",
        "The summary of a session lists its last chat twice.",
        Host(&ChangesSummaries(|_, _, summary| {
            if let Some(chats) = summary["chats"].as_array_mut() {
                chats.extend(chats.last().cloned());
            }
        })),
    ),
    ChangesUncounted(
        "changes-uncounted",
        "The summary of a session has no counts of its changes.",
        Host(&ChangesSummaries(|_, _, summary| {
            if let Some(members) = summary.as_object_mut() {
                members.remove("changes");
            }
        })),
    ),
    SummaryCarriesIdentity(
        "summary-carries-identity",
        "Announced changes of a summary name the session's `resource` and `createdAt`.",
        Host(&ChangesNotifications("root/sessionSummaryChanged", |host, params| {
            let summary = host.summary_of(params["session"].as_str().unwrap_or(""));
            for name in IDENTITY {
                params["changes"][*name] = summary[*name].clone();
            }
            true
        })),
    ),
    RootNewsElsewhere(
        "root-news-elsewhere",
        "Changes of a session's summary are announced on the session's channel.",
        Host(&ChangesNotifications("root/sessionSummaryChanged", |_, params| {
            params["channel"] = params["session"].clone();
            true
        })),
    ),
    ResolvesForAnybody(
        "resolves-for-anybody",
        "`resolveSessionConfig` succeeds for a provider that does not exist.",
        Message(|| {
            Box::new(RequestChange("resolveSessionConfig", |_, params| {
                remove(params, "provider");
            }))
        }),
    ),
];

fn hold_back(host: &mut RefHost, event: &HostEvent) {
    if matches!(event, HostEvent::Made) {
        host.config.ready_after = HELD_BACK;
    }
}

/// A fault that keeps every session from becoming ready.
struct SessionNeverReady;

impl HostHooks for SessionNeverReady {
    fn happens(&self, host: &mut RefHost, event: &HostEvent) {
        if matches!(event, HostEvent::Timer) {
            host.sessions.abandon_creations();
        }
    }
}
