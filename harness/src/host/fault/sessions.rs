//! Faults in sessions: creation, announcement, summary, disposal, and the roll-up of their chats.
//!
//! Knows: the life of a session. Never knows: which check finds which fault.

use std::time::Duration;

use super::generic::{
    AddsAfterAction, AltersAction, AnswersRequests, ChangesFirstState, ChangesNotifications,
    ChangesReplies, ChangesSetUp, ChangesSummaries, LiftsRules, OmitsActions,
};
use super::{Fault, HostFaultRow};
use crate::host::connection::Failure;
use crate::host::customizations;
use crate::host::engine::RefHost;
use crate::host::injected::HostFault;
use crate::host::rollup::IDENTITY;
use crate::host::sessions::{STAGES, is_session};
use crate::wire::channel::{ChannelKind, ROOT};
use crate::wire::json::{Value, json};

/// How long the readiness of a session is held back.
const HELD_BACK: Duration = Duration::from_millis(500);
/// A code in the reserved range that neither JSON-RPC nor the protocol assigns.
const UNASSIGNED_CODE: i64 = -32_050;

pub(super) const FAULTS: &[HostFaultRow] = &[
    // Creation.
    (
        Fault::BadSessionUriAccepted,
        &ChangesReplies(&["createSession"], |_, request, reply| {
            if is_session(request.call.channel()) { reply } else { Ok(Value::Null) }
        }),
    ),
    (
        Fault::DuplicateSessionAccepted,
        &AnswersRequests("createSession", |host, call| {
            if host.sessions.contains_key(call.channel()) {
                host.drop_session(call.channel());
            }
            None
        }),
    ),
    (
        Fault::UnassignedErrorCode,
        &ChangesReplies(&["createSession"], |_, _, reply| {
            let taken = Failure::named("SessionAlreadyExists", "").code;
            reply.map_err(|failure| match failure.code == taken {
                true => Failure { code: UNASSIGNED_CODE, ..failure },
                false => failure,
            })
        }),
    ),
    (Fault::UnknownProviderAccepted, &LiftsRules(&["session.create.unknown-provider"])),
    (Fault::OwnIdsRepeat, &ChangesFirstState(ChannelKind::Session, customizations::repeat_ids)),
    (Fault::SessionNeverReady, &SessionNeverReady),
    (
        Fault::SessionReadyTwice,
        &AddsAfterAction("session/ready", |host, uri, action| {
            host.publish_from(uri, action.clone(), None);
        }),
    ),
    (Fault::ReadyHeldBack, &ChangesSetUp(|config| config.ready_after = HELD_BACK)),
    (Fault::ReadyHeldBack, &LiftsRules(&["chat.turn.ready-gate"])),
    (Fault::EarlyTurnsLost, &ChangesSetUp(|config| config.ready_after = HELD_BACK)),
    (
        Fault::ProgressNeverEnds,
        &ChangesNotifications("root/progress", |_, params| params["progress"] != json!(STAGES)),
    ),
    (
        Fault::ProgressGoesBack,
        &AddsAfterAction("session/defaultChatChanged", |host, uri, _| {
            host.report_progress(uri, 1);
            host.report_progress(uri, 0);
        }),
    ),
    (Fault::SessionAddedNotAnnounced, &ChangesNotifications("root/sessionAdded", |_, _| false)),
    (
        Fault::SessionAddedTwice,
        &ChangesNotifications("root/sessionAdded", |host, params| {
            host.notify_all("root/sessionAdded", params.clone());
            true
        }),
    ),
    (
        Fault::ActiveSessionsOneMore,
        &AltersAction("root/activeSessionsChanged", |_, _, action| {
            action["activeSessions"] = json!(action["activeSessions"].as_u64().unwrap_or(0) + 1);
            true
        }),
    ),
    // The end.
    (
        Fault::DisposeUnknownSucceeds,
        &ChangesReplies(&["disposeSession"], |_, _, reply| Ok(reply.unwrap_or_default())),
    ),
    (
        Fault::LeaksSessionAfterDispose,
        &AnswersRequests("disposeSession", |host, call| {
            let uri = call.channel();
            host.sessions.contains_key(uri).then(|| {
                host.notify("root/sessionRemoved", json!({"channel": ROOT, "session": uri}));
                Ok(Value::Null)
            })
        }),
    ),
    (Fault::DisposeKeepsAgent, &LiftsRules(&["session.dispose.stops-agent"])),
    (
        Fault::DisposeTakesAll,
        &ChangesReplies(&["disposeSession"], |host, _, reply| {
            if reply.is_ok() {
                let others: Vec<String> = host.sessions.keys().cloned().collect();
                others.iter().for_each(|uri| host.drop_session(uri));
                host.count_sessions();
            }
            reply
        }),
    ),
    (Fault::SessionRemovedNotAnnounced, &ChangesNotifications("root/sessionRemoved", |_, _| false)),
    (Fault::AnnotationsOutlive, &LiftsRules(&["session.dispose.cascade-annotations"])),
    (Fault::ChangesetsOutlive, &LiftsRules(&["session.dispose.cascade-changesets"])),
    // What a session shows of its chats.
    (Fault::SummaryDrift, &OmitsActions(&["session/chatUpdated"])),
    (
        Fault::MovableUnmirrored,
        &AltersAction("session/chatUpdated", |_, _, action| {
            let changes = action["changes"].as_object_mut();
            changes.is_none_or(|changes| {
                changes.remove("movable");
                !changes.is_empty()
            })
        }),
    ),
    (Fault::ActivityUnmirrored, &OmitsActions(&["session/activityChanged"])),
    (
        Fault::ChallengeUnseen,
        &AltersAction("session/inputNeededSet", |_, _, action| {
            action["request"]["kind"] != "toolAuthentication"
        }),
    ),
    (
        Fault::ChallengeStays,
        &AltersAction("session/inputNeededRemoved", |_, _, action| {
            !action["id"].as_str().is_some_and(|id| id.ends_with("/auth"))
        }),
    ),
    (Fault::InputNeededMissing, &OmitsActions(&["session/inputNeededSet"])),
    (
        Fault::InputNeededStale,
        &AltersAction("session/inputNeededRemoved", |host, _, action| {
            let chat = action["id"].as_str().and_then(|id| id.split('#').next());
            !chat.is_some_and(|chat| host.chats.contains_key(chat))
        }),
    ),
    (
        Fault::InputNeededStripped,
        &AltersAction("session/inputNeededSet", |host, session, action| {
            if let Some(request) = action["request"]["request"].as_object_mut() {
                request.remove("message");
            }
            let known = host.state(session)["inputNeeded"].as_array();
            !known.is_some_and(|entries| entries.contains(&action["request"]))
        }),
    ),
    (Fault::SessionStatusStuck, &LiftsRules(&["session.status.default-chat-base"])),
    (Fault::DirectoriesOutlive, &LiftsRules(&["chat.workingDirectories.subset"])),
    (Fault::CountsStuck, &LiftsRules(&["annotations.summary-counts"])),
    // Summaries.
    (Fault::SummaryChangesSilent, &LiftsRules(&["root.summaryChanged.emitted"])),
    (
        Fault::DatedByFirstChat,
        &ChangesSummaries(|host, uri, summary| {
            let first = &host.state(uri)["chats"][0]["modifiedAt"];
            if first.is_string() {
                summary["modifiedAt"] = first.clone();
            }
        }),
    ),
    (
        Fault::CreatedAnew,
        &ChangesSummaries(|host, _, summary| {
            summary["createdAt"] = json!(host.timestamp());
        }),
    ),
    (
        Fault::TimesInWords,
        &ChangesSummaries(|_, _, summary| summary["modifiedAt"] = json!("just now")),
    ),
    (
        Fault::SummaryChatTwice,
        &ChangesSummaries(|_, _, summary| {
            if let Some(chats) = summary["chats"].as_array_mut() {
                chats.extend(chats.last().cloned());
            }
        }),
    ),
    (
        Fault::ChangesUncounted,
        &ChangesSummaries(|_, _, summary| {
            if let Some(members) = summary.as_object_mut() {
                members.remove("changes");
            }
        }),
    ),
    (
        Fault::SummaryCarriesIdentity,
        &ChangesNotifications("root/sessionSummaryChanged", |host, params| {
            let summary = host.summary_of(params["session"].as_str().unwrap_or(""));
            for name in IDENTITY {
                params["changes"][*name] = summary[*name].clone();
            }
            true
        }),
    ),
    (
        Fault::RootNewsElsewhere,
        &ChangesNotifications("root/sessionSummaryChanged", |_, params| {
            params["channel"] = params["session"].clone();
            true
        }),
    ),
];

/// No session becomes ready.
struct SessionNeverReady;

impl HostFault for SessionNeverReady {
    fn ticks(&self, host: &mut RefHost) {
        for uri in std::mem::take(&mut host.creating) {
            if let Some(session) = host.sessions.get_mut(&uri) {
                session.ready_at = None;
            }
        }
    }
}
