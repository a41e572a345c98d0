//! Faults in sessions: created, announced, summed up, disposed of, and what they show of their chats.
//!
//! Knows: the life of a session. Never knows: which check finds which fault.

use std::time::Duration;

use super::generic::{
    Adds, Alters, Lifts, Notifies, Omits, Opens, Replies, Serves, SetsUp, Summarizes,
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
        &Replies(&["createSession"], |_, request, reply| {
            if is_session(request.call.channel()) { reply } else { Ok(Value::Null) }
        }),
    ),
    (
        Fault::DuplicateSessionAccepted,
        &Serves("createSession", |host, call| {
            if host.sessions.contains_key(call.channel()) {
                host.drop_session(call.channel());
            }
            None
        }),
    ),
    (
        Fault::UnassignedErrorCode,
        &Replies(&["createSession"], |_, _, reply| {
            let taken = Failure::named("SessionAlreadyExists", "").code;
            reply.map_err(|failure| match failure.code == taken {
                true => Failure { code: UNASSIGNED_CODE, ..failure },
                false => failure,
            })
        }),
    ),
    (Fault::UnknownProviderAccepted, &Lifts(&["session.create.unknown-provider"])),
    (Fault::OwnIdsRepeat, &Opens(ChannelKind::Session, customizations::repeat_ids)),
    (Fault::SessionNeverReady, &SessionNeverReady),
    (
        Fault::SessionReadyTwice,
        &Adds("session/ready", |host, uri, action| {
            host.publish_from(uri, action.clone(), None);
        }),
    ),
    (Fault::ReadyHeldBack, &SetsUp(|config| config.ready_after = HELD_BACK)),
    (Fault::ReadyHeldBack, &Lifts(&["chat.turn.ready-gate"])),
    (Fault::EarlyTurnsLost, &SetsUp(|config| config.ready_after = HELD_BACK)),
    (
        Fault::ProgressNeverEnds,
        &Notifies("root/progress", |_, params| params["progress"] != json!(STAGES)),
    ),
    (
        Fault::ProgressGoesBack,
        &Adds("session/defaultChatChanged", |host, uri, _| {
            host.report_progress(uri, 1);
            host.report_progress(uri, 0);
        }),
    ),
    (Fault::SessionAddedNotAnnounced, &Notifies("root/sessionAdded", |_, _| false)),
    (
        Fault::SessionAddedTwice,
        &Notifies("root/sessionAdded", |host, params| {
            host.notify_all("root/sessionAdded", params.clone());
            true
        }),
    ),
    (
        Fault::ActiveSessionsOneMore,
        &Alters("root/activeSessionsChanged", |_, _, action| {
            action["activeSessions"] = json!(action["activeSessions"].as_u64().unwrap_or(0) + 1);
            true
        }),
    ),
    // The end.
    (
        Fault::DisposeUnknownSucceeds,
        &Replies(&["disposeSession"], |_, _, reply| Ok(reply.unwrap_or_default())),
    ),
    (
        Fault::LeaksSessionAfterDispose,
        &Serves("disposeSession", |host, call| {
            let uri = call.channel();
            host.sessions.contains_key(uri).then(|| {
                host.notify("root/sessionRemoved", json!({"channel": ROOT, "session": uri}));
                Ok(Value::Null)
            })
        }),
    ),
    (Fault::DisposeKeepsAgent, &Lifts(&["session.dispose.stops-agent"])),
    (
        Fault::DisposeTakesAll,
        &Replies(&["disposeSession"], |host, _, reply| {
            if reply.is_ok() {
                let others: Vec<String> = host.sessions.keys().cloned().collect();
                others.iter().for_each(|uri| host.drop_session(uri));
                host.count_sessions();
            }
            reply
        }),
    ),
    (Fault::SessionRemovedNotAnnounced, &Notifies("root/sessionRemoved", |_, _| false)),
    (Fault::AnnotationsOutlive, &Lifts(&["session.dispose.cascade-annotations"])),
    (Fault::ChangesetsOutlive, &Lifts(&["session.dispose.cascade-changesets"])),
    // What a session shows of its chats.
    (Fault::SummaryDrift, &Omits(&["session/chatUpdated"])),
    (
        Fault::MovableUnmirrored,
        &Alters("session/chatUpdated", |_, _, action| {
            let changes = action["changes"].as_object_mut();
            changes.is_none_or(|changes| {
                changes.remove("movable");
                !changes.is_empty()
            })
        }),
    ),
    (Fault::ActivityUnmirrored, &Omits(&["session/activityChanged"])),
    (
        Fault::ChallengeUnseen,
        &Alters("session/inputNeededSet", |_, _, action| {
            action["request"]["kind"] != "toolAuthentication"
        }),
    ),
    (
        Fault::ChallengeStays,
        &Alters("session/inputNeededRemoved", |_, _, action| {
            !action["id"].as_str().is_some_and(|id| id.ends_with("/auth"))
        }),
    ),
    (Fault::InputNeededMissing, &Omits(&["session/inputNeededSet"])),
    (
        Fault::InputNeededStale,
        &Alters("session/inputNeededRemoved", |host, _, action| {
            let chat = action["id"].as_str().and_then(|id| id.split('#').next());
            !chat.is_some_and(|chat| host.chats.contains_key(chat))
        }),
    ),
    (
        Fault::InputNeededStripped,
        &Alters("session/inputNeededSet", |host, session, action| {
            if let Some(request) = action["request"]["request"].as_object_mut() {
                request.remove("message");
            }
            let known = host.state(session)["inputNeeded"].as_array();
            !known.is_some_and(|entries| entries.contains(&action["request"]))
        }),
    ),
    (Fault::SessionStatusStuck, &Lifts(&["session.status.default-chat-base"])),
    (Fault::DirectoriesOutlive, &Lifts(&["chat.workingDirectories.subset"])),
    (Fault::CountsStuck, &Lifts(&["annotations.summary-counts"])),
    // Summaries.
    (Fault::SummaryChangesSilent, &Lifts(&["root.summaryChanged.emitted"])),
    (
        Fault::DatedByFirstChat,
        &Summarizes(|host, uri, summary| {
            let first = &host.state(uri)["chats"][0]["modifiedAt"];
            if first.is_string() {
                summary["modifiedAt"] = first.clone();
            }
        }),
    ),
    (
        Fault::CreatedAnew,
        &Summarizes(|host, _, summary| {
            summary["createdAt"] = json!(host.timestamp());
        }),
    ),
    (Fault::TimesInWords, &Summarizes(|_, _, summary| summary["modifiedAt"] = json!("just now"))),
    (
        Fault::SummaryChatTwice,
        &Summarizes(|_, _, summary| {
            if let Some(chats) = summary["chats"].as_array_mut() {
                chats.extend(chats.last().cloned());
            }
        }),
    ),
    (
        Fault::ChangesUncounted,
        &Summarizes(|_, _, summary| {
            if let Some(members) = summary.as_object_mut() {
                members.remove("changes");
            }
        }),
    ),
    (
        Fault::SummaryCarriesIdentity,
        &Notifies("root/sessionSummaryChanged", |host, params| {
            let summary = host.summary_of(params["session"].as_str().unwrap_or(""));
            for name in IDENTITY {
                params["changes"][*name] = summary[*name].clone();
            }
            true
        }),
    ),
    (
        Fault::RootNewsElsewhere,
        &Notifies("root/sessionSummaryChanged", |_, params| {
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
