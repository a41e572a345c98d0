//! Operators about results and notifications.

use super::{row, target};
use crate::mutation::change::FaultAudience::{All, One};
use crate::mutation::change::WireChange::{
    Add, BeforeRequest, Delay, Drop, Duplicate, DuplicateLater, Fail, Leak, Misdirect, NoticeAgain,
    Other, Raw, Relist, Remove, Reword, Set, Stray, Succeed, SwapAnswers,
};
use crate::mutation::evidence::FaultEvidence::{
    Itself, LateFence, Later, Listed, NoticeTwin, Replay, Rest, State, Twin, Wait,
};
use crate::mutation::operator::FaultClass::{
    Handshake, Notifications, Reconnect, Responses, Results,
};
use crate::mutation::operator::OperatorTarget;
use crate::mutation::operator::PlaceCondition;
use crate::mutation::operator::PlaceCondition::{
    Always, Asked, BeforeItsAction, Disposed, Has, HasMany, Is, Lacks, Long, NotAsked,
    RootSubscribed, Sound, Twin as HasTwin, UnknownMethod,
};
use crate::mutation::operator::TargetKind::{Frame, Replayed, Snapshot};
use crate::mutation::reading::FrameRole::{Notice, Refusal, Result};
use crate::mutation::value_change::{ListChange, TextChange};

const fn result(names: &'static [&'static str]) -> OperatorTarget {
    target(Frame(Result), names)
}

const fn notice(names: &'static [&'static str]) -> OperatorTarget {
    target(Frame(Notice), names)
}

const fn refusal(names: &'static [&'static str]) -> OperatorTarget {
    target(Frame(Refusal), names)
}

/// The conditions for a complete list: the request asked for the whole list, and the result has no next page.
const WHOLE: &[PlaceCondition] = &[
    NotAsked("/params/limit"),
    NotAsked("/params/cursor"),
    Lacks("/result/nextCursor"),
    Long("/result/items", 1),
];

operator_table! {
    RESULTS
    row(Results, "subscribe-without-snapshot", "The answer to `subscribe` to a channel with a state has no snapshot.",
        result(&["subscribe"]).when(&[Has("/result/snapshot")]), Remove(One, "/result/snapshot"), &[Itself]),
    row(Results, "subscribe-result-null", "The answer to `subscribe` is null.",
        result(&["subscribe"]), Set(One, "/result", "null"), &[Itself]),
    row(Results, "subscribe-result-list", "The answer to `subscribe` is a list.",
        result(&["subscribe"]), Set(One, "/result", "[]"), &[Itself]),
    row(Results, "list-without-items", "The list of sessions has no items.",
        result(&["listSessions"]), Remove(One, "/result/items"), &[Itself]),
    row(Results, "list-session-lost", "The complete list of sessions lacks a session.",
        result(&["listSessions"]).when(WHOLE), Relist(One, "/result/items", ListChange::WithoutLast), &[Listed]),
    row(Results, "list-emptied", "The complete list of sessions is empty, although sessions exist.",
        result(&["listSessions"]).when(WHOLE), Relist(One, "/result/items", ListChange::Empty), &[Listed]),
    row(Results, "list-session-twice", "A session is in the list twice.",
        result(&["listSessions"]).when(WHOLE), Relist(One, "/result/items", ListChange::Twice), &[Itself]),
    row(Results, "list-resource-missing", "A session in the list does not name its channel.",
        result(&["listSessions"]), Remove(One, "/result/items/*/resource"), &[Itself]),
    row(Results, "list-status-text", "The status of a session in the list is a string.",
        result(&["listSessions"]).when(&[Long("/result/items", 1)]), Set(One, "/result/items/0/status", "\"idle\""), &[Itself]),
    row(Results, "list-title-differs", "The title of a session in the list differs from that of the session.",
        result(&["listSessions"]), Reword(One, "/result/items/*/title", TextChange::More), &[Listed]),
    row(Results, "list-provider-differs", "The provider of a session in the list differs from that of the session.",
        result(&["listSessions"]), Reword(One, "/result/items/*/provider", TextChange::More), &[Listed]),
    row(Results, "list-chat-twice", "A session in the list has a chat twice.",
        result(&["listSessions"]).when(&[HasMany("/result/items/*/chats")]), Relist(One, "/result/items/*/chats", ListChange::Twice), &[Itself]),
    row(Results, "list-default-chat-unknown", "The default chat of a session in the list is not among its chats.",
        result(&["listSessions"]).when(&[Has("/result/items/*/chats"), Has("/result/items/*/defaultChat")]), Set(One, "/result/items/*/defaultChat", "\"ahp-chat:/nobody-made-this-id\""), &[Itself]),
    row(Results, "list-time-is-no-instant", "A time in the list is not a valid timestamp.",
        result(&["listSessions"]), Set(One, "/result/items/*/modifiedAt", "\"yesterday\""), &[Itself])
        .advised_by("session.modifiedAt.iso"),
    row(Results, "void-result-text", "A request whose result has to be null is answered with a string.",
        result(&["createSession", "disposeSession", "createChat", "disposeChat", "createTerminal", "disposeTerminal", "ping"]), Set(One, "/result", "\"ok\""), &[Itself]),
    row(Results, "entries-missing", "A listing of files, or completions, has no list.",
        result(&["resourceList", "completions", "fetchAutomationRuns", "listAutomationTriggerDefinitions", "sessionConfigCompletions"]), Remove(One, "/result/*"), &[Itself]),
    row(Results, "data-encoding-unknown", "A file comes in an encoding that does not exist.",
        result(&["resourceRead"]), Set(One, "/result/encoding", "\"utf-17\""), &[Itself]),
    row(Results, "file-data-missing", "A file comes without its data.",
        result(&["resourceRead"]), Remove(One, "/result/data"), &[Itself]),
    row(Results, "watch-without-channel", "The answer to the creation of a watch does not name its channel.",
        result(&["createResourceWatch"]), Remove(One, "/result/channel"), &[Itself]),
    row(Results, "moved-to-nowhere", "The answer to the move of a chat does not name its session.",
        result(&["moveChat"]), Remove(One, "/result/session"), &[Itself]),
    row(Results, "existing-session-created", "The creation of a session that already exists succeeds.",
        refusal(&["createSession"]).when(&[Is("/error/code", "-32003")]), Succeed("null"), &[Itself]),
    row(Results, "disposed-channel-subscribed", "A subscription to a channel that was disposed of succeeds.",
        refusal(&["subscribe"]).when(&[Disposed]), Succeed("{}"), &[Itself]),
}

operator_table! {
    NOTIFICATIONS
    row(Notifications, "session-added-lost-for-one", "One of two subscribers gets no notification of a new session.",
        notice(&["root/sessionAdded"]).when(&[RootSubscribed]), Drop(One), &[NoticeTwin]),
    row(Notifications, "session-added-lost", "No notification of a new session is sent.",
        notice(&["root/sessionAdded"]).when(&[RootSubscribed]), Drop(All), &[LateFence]),
    row(Notifications, "session-removed-lost-for-one", "One of two subscribers gets no notification that a session was removed.",
        notice(&["root/sessionRemoved"]).when(&[RootSubscribed]), Drop(One), &[NoticeTwin]),
    row(Notifications, "session-removed-lost", "No notification that a session was removed is sent.",
        notice(&["root/sessionRemoved"]).when(&[RootSubscribed]), Drop(All), &[LateFence]),
    row(Notifications, "summary-lost-for-one", "One of two subscribers gets no notification that a summary changed.",
        notice(&["root/sessionSummaryChanged"]).when(&[RootSubscribed]), Drop(One), &[NoticeTwin]),
    row(Notifications, "session-added-twice", "A new session is announced twice.",
        notice(&["root/sessionAdded"]), Duplicate, &[Itself]),
    row(Notifications, "session-removed-twice", "The removal of a session is announced twice.",
        notice(&["root/sessionRemoved"]), Duplicate, &[Itself]),
    row(Notifications, "session-added-again", "A new session is announced again later.",
        notice(&["root/sessionAdded"]), DuplicateLater(1), &[Itself]),
    row(Notifications, "summary-after-removal", "The summary of a session changes after it was removed.",
        notice(&["root/sessionRemoved"]), NoticeAgain("root/sessionSummaryChanged"), &[Itself]),
    row(Notifications, "added-without-summary", "A new session has no summary.",
        notice(&["root/sessionAdded"]), Remove(One, "/params/summary"), &[Itself]),
    row(Notifications, "added-summary-member-missing", "The summary of a new session lacks a member.",
        notice(&["root/sessionAdded"]), Remove(One, "/params/summary/provider"), &[Itself]),
    row(Notifications, "added-names-nothing", "The summary of a new session does not name the session.",
        notice(&["root/sessionAdded"]), Remove(One, "/params/summary/resource"), &[Itself]),
    row(Notifications, "added-title-number", "The title of a new session is a number.",
        notice(&["root/sessionAdded"]), Set(One, "/params/summary/title", "3"), &[Itself]),
    row(Notifications, "removed-without-session", "The notification that a session was removed does not name the session.",
        notice(&["root/sessionRemoved"]), Remove(One, "/params/session"), &[Itself]),
    row(Notifications, "changes-without-session", "The notification of a changed summary does not name the session.",
        notice(&["root/sessionSummaryChanged"]), Remove(One, "/params/session"), &[Itself]),
    row(Notifications, "changes-unsaid", "The notification of a changed summary has no changes.",
        notice(&["root/sessionSummaryChanged"]), Remove(One, "/params/changes"), &[Itself]),
    row(Notifications, "changed-status-text", "The new status of a session is a string.",
        notice(&["root/sessionSummaryChanged"]), Set(One, "/params/changes/status", "\"idle\""), &[Itself]),
    row(Notifications, "changed-chat-twice", "The chats in a changed summary contain a chat twice.",
        notice(&["root/sessionSummaryChanged"]).when(&[HasMany("/params/changes/chats")]), Relist(One, "/params/changes/chats", ListChange::Twice), &[Itself]),
    row(Notifications, "changed-title-differs", "The title in a changed summary differs from that of the session.",
        notice(&["root/sessionSummaryChanged"]), Reword(All, "/params/changes/title", TextChange::More), &[Rest]),
    row(Notifications, "notice-without-channel", "A notification does not name its channel.",
        notice(&["root/*", "auth/required", "otlp/*"]), Remove(One, "/params/channel"), &[Itself]),
    row(Notifications, "notice-on-a-session", "A notification of the host comes on the channel of a session.",
        notice(&["root/sessionAdded", "root/sessionRemoved", "root/sessionSummaryChanged"]), Set(One, "/params/channel", "\"ahp-session:/nobody-made-this-id\""), &[Itself]),
    row(Notifications, "notice-leaks", "A client that never subscribed to the root channel gets notifications about sessions.",
        notice(&["root/session*"]), Leak, &[Itself]),
    row(Notifications, "notice-unknown", "A notification has a method that no version knows.",
        notice(&["root/session*"]), Set(One, "/method", "\"root/nothingHappened\""), &[Itself])
        .legal_where(Always, "a name that no version defines may be an extension, which clients ignore"),
    row(Notifications, "progress-goes-back", "The value of a progress notification decreases.",
        notice(&["root/progress"]), NoticeAgain("root/progress"), &[Itself]),
    row(Notifications, "progress-of-nobody", "A progress notification has a token that no client sent.",
        notice(&["root/progress"]), Set(One, "/params/progressToken", "\"nobody-made-this-id\""), &[Itself])
        .legal_where(Always, "a client that the capture does not show may have sent the token"),
    row(Notifications, "telemetry-without-payload", "Telemetry has no payload.",
        notice(&["otlp/*"]), Remove(One, "/params/payload"), &[Itself]),
}

operator_table! {
    HANDSHAKE
    row(Handshake, "handshake-empty", "The answer to `initialize` is empty.",
        result(&["initialize"]), Set(One, "/result", "{}"), &[Itself]),
    row(Handshake, "handshake-null", "The answer to `initialize` is null.",
        result(&["initialize"]), Set(One, "/result", "null"), &[Itself]),
    row(Handshake, "version-missing", "The handshake does not say which version was chosen.",
        result(&["initialize"]), Remove(One, "/result/protocolVersion"), &[Itself]),
    row(Handshake, "version-number", "The chosen version is a number.",
        result(&["initialize"]), Set(One, "/result/protocolVersion", "7"), &[Itself]),
    row(Handshake, "version-malformed", "The chosen version is not a valid version.",
        result(&["initialize"]), Set(One, "/result/protocolVersion", "\"1x0.0\""), &[Itself]),
    row(Handshake, "version-not-offered", "The chosen version was not offered.",
        result(&["initialize"]).when(&[Sound]), Set(One, "/result/protocolVersion", "\"0.0.9\""), &[Itself]),
    row(Handshake, "counter-missing", "The handshake does not have the number of the last action.",
        result(&["initialize"]), Remove(One, "/result/serverSeq"), &[Itself]),
    row(Handshake, "counter-text", "The number of the last action is a string.",
        result(&["initialize"]), Set(One, "/result/serverSeq", "\"0\""), &[Itself]),
    row(Handshake, "counter-negative", "The number of the last action is negative.",
        result(&["initialize"]), Set(One, "/result/serverSeq", "-1"), &[Itself]),
    row(Handshake, "counter-of-the-future", "The number of the last action is a thousand ahead, and lower numbers come after it.",
        result(&["initialize"]), Add(One, "/result/serverSeq", 1000), &[Later]),
    row(Handshake, "snapshots-missing", "The handshake has no list of snapshots.",
        result(&["initialize"]), Remove(One, "/result/snapshots"), &[Itself]),
    row(Handshake, "snapshots-null", "The list of snapshots is null.",
        result(&["initialize"]), Set(One, "/result/snapshots", "null"), &[Itself]),
    row(Handshake, "snapshots-emptied", "The channels of the handshake's subscriptions have no snapshots.",
        result(&["initialize"]).when(&[Long("/result/snapshots", 1)]), Relist(One, "/result/snapshots", ListChange::Empty), &[Itself]),
    row(Handshake, "snapshot-lost", "One of the channels in the handshake's subscriptions has no snapshot.",
        result(&["initialize"]).when(&[Long("/result/snapshots", 2)]), Relist(One, "/result/snapshots", ListChange::WithoutLast), &[Itself]),
    row(Handshake, "snapshot-listed-twice", "A channel has two snapshots in the handshake.",
        result(&["initialize"]).when(&[Long("/result/snapshots", 1)]), Relist(One, "/result/snapshots", ListChange::Twice), &[Itself]),
    row(Handshake, "snapshot-not-asked-for", "The handshake has a snapshot of a channel that was not asked for.",
        result(&["initialize"]).when(&[Long("/result/snapshots", 1)]), Relist(One, "/result/snapshots", ListChange::Stranger), &[Itself])
        .legal_where(Always, "the specification does not forbid further snapshots, and clients ignore those that they did not ask for"),
    row(Handshake, "default-directory-number", "The default directory is a number.",
        result(&["initialize"]), Set(One, "/result/defaultDirectory", "3"), &[Itself]),
    row(Handshake, "server-info-without-name", "The host's description of itself has no name.",
        result(&["initialize"]), Set(One, "/result/serverInfo", "{\"version\":\"1\"}"), &[Itself]),
    row(Handshake, "supported-versions-unsaid", "A refusal of all versions does not say which ones the host speaks.",
        refusal(&["initialize"]).when(&[Is("/error/code", "-32005")]), Remove(One, "/error/data/supportedVersions"), &[Itself]),
    row(Handshake, "refused-though-offered", "A version that the host supports is refused without a list of the supported versions.",
        result(&["initialize"]), Fail(-32005), &[Itself]),
}

operator_table! {
    RESPONSES
    row(Responses, "answer-lost", "A request is never answered.",
        result(&[]), Drop(One), &[Wait]),
    row(Responses, "refusal-lost", "A request that fails is never answered.",
        refusal(&[]).when(&[Sound]), Drop(One), &[Wait]),
    row(Responses, "answer-twice", "A request is answered twice.",
        result(&[]), Duplicate, &[Itself]),
    row(Responses, "answer-again-later", "A request is answered again, after another frame.",
        result(&[]), DuplicateLater(1), &[Itself]),
    row(Responses, "answer-with-another-id", "An answer has an id that nobody used.",
        result(&[]), Set(One, "/id", "987654321"), &[Itself]),
    row(Responses, "answer-with-text-id", "The id of an answer is a string, although the request has a number.",
        result(&[]), Set(One, "/id", "\"one\""), &[Itself]),
    row(Responses, "answer-without-id", "An answer has no id.",
        result(&[]), Remove(One, "/id"), &[Itself]),
    row(Responses, "answer-with-null-id", "An answer has null as its id.",
        result(&[]), Set(One, "/id", "null"), &[Itself]),
    row(Responses, "answer-with-both", "An answer has a result and an error.",
        result(&[]), Set(One, "/error", "{\"code\":-32603,\"message\":\"no\"}"), &[Itself]),
    row(Responses, "answer-with-neither", "An answer has neither a result nor an error.",
        result(&[]), Remove(One, "/result"), &[Itself]),
    row(Responses, "tag-missing", "A frame does not say that it is JSON-RPC 2.0.",
        target(Frame(Result), &[]), Remove(One, "/jsonrpc"), &[Itself]),
    row(Responses, "tag-old", "A frame says that it is JSON-RPC 1.0.",
        target(Frame(Result), &[]), Set(One, "/jsonrpc", "\"1.0\""), &[Itself]),
    row(Responses, "error-without-code", "An error has no code.",
        refusal(&[]), Remove(One, "/error/code"), &[Itself]),
    row(Responses, "error-without-message", "An error has no message.",
        refusal(&[]), Remove(One, "/error/message"), &[Itself]),
    row(Responses, "error-code-text", "The code of an error is a string.",
        refusal(&[]), Set(One, "/error/code", "\"not found\""), &[Itself]),
    row(Responses, "error-is-a-text", "An error is a string.",
        refusal(&[]), Set(One, "/error", "\"not found\""), &[Itself]),
    row(Responses, "error-code-reserved", "An error has a code that JSON-RPC reserves.",
        refusal(&[]), Set(One, "/error/code", "-32650"), &[Itself])
        .advised_by("jsonrpc.error.reserved-range"),
    row(Responses, "unknown-method-answered", "A method that does not exist is answered with a result.",
        refusal(&[]).when(&[Is("/error/code", "-32601"), UnknownMethod]), Succeed("null"), &[Itself])
        .advised_by("jsonrpc.method-not-found"),
    row(Responses, "ping-refused", "A ping is refused.",
        result(&["ping"]), Fail(-32603), &[Itself]),
    row(Responses, "answer-before-its-request", "A request is answered before it was sent.",
        result(&[]), BeforeRequest, &[Itself]),
    row(Responses, "answer-goes-astray", "An answer goes to another connection.",
        result(&["subscribe", "createSession", "listSessions"]), Misdirect, &[Itself]),
    row(Responses, "answers-mixed-up", "A request gets the answer to another request.",
        result(&["subscribe"]), SwapAnswers, &[Itself]),
    row(Responses, "answer-to-nothing", "An answer comes for a request that was never sent.",
        result(&[]), Stray("{\"jsonrpc\":\"2.0\",\"id\":987654322,\"result\":null}"), &[Itself]),
    row(Responses, "frame-is-a-list", "A frame is a list of messages.",
        result(&[]), Stray("[]"), &[Itself]),
    row(Responses, "frame-is-no-json", "A frame is not JSON.",
        result(&[]), Raw("{\"jsonrpc\":"), &[Itself]),
    row(Responses, "error-tells-the-inside", "An error shows a stack trace of the host.",
        refusal(&[]), Set(One, "/error/message", "\"TypeError: undefined\\n    at serve (/srv/host/out/main.js:30:12)\\n    at next (/srv/host/out/main.js:31:2)\""), &[Itself]),
}

operator_table! {
    RECONNECT
    row(Reconnect, "reconnect-empty", "The answer to `reconnect` is empty.",
        result(&["reconnect"]), Set(One, "/result", "{}"), &[Itself]),
    row(Reconnect, "reconnect-type-unknown", "The answer to `reconnect` is of a type that does not exist.",
        result(&["reconnect"]), Set(One, "/result/type", "\"nothing\""), &[Itself]),
    row(Reconnect, "reconnect-type-missing", "The answer to `reconnect` does not say its type.",
        result(&["reconnect"]), Remove(One, "/result/type"), &[Itself]),
    row(Reconnect, "replay-first-lost", "A replay lacks its first action.",
        result(&["reconnect"]).when(&[Long("/result/actions", 1)]), Relist(One, "/result/actions", ListChange::WithoutFirst), &[Replay]),
    row(Reconnect, "replay-last-lost", "A replay lacks its last action.",
        result(&["reconnect"]).when(&[Long("/result/actions", 1)]), Relist(One, "/result/actions", ListChange::WithoutLast), &[Replay]),
    row(Reconnect, "replay-emptied", "A replay is empty, although the client missed actions.",
        result(&["reconnect"]).when(&[Long("/result/actions", 1)]), Relist(One, "/result/actions", ListChange::Empty), &[Replay]),
    row(Reconnect, "replay-twice", "A replay has an action twice.",
        result(&["reconnect"]).when(&[Long("/result/actions", 1)]), Relist(One, "/result/actions", ListChange::Twice), &[Itself]),
    row(Reconnect, "replay-turned", "A replay is in the wrong order.",
        result(&["reconnect"]).when(&[Long("/result/actions", 2)]), Relist(One, "/result/actions", ListChange::Turned), &[Itself]),
    row(Reconnect, "replay-missing-member", "A replay does not list the missing channels.",
        result(&["reconnect"]).when(&[Has("/result/actions")]), Remove(One, "/result/missing"), &[Itself]),
    row(Reconnect, "replay-missing-stranger", "A replay lists a missing channel that the client did not ask for.",
        result(&["reconnect"]).when(&[Has("/result/missing")]), Relist(One, "/result/missing", ListChange::Stranger), &[Itself]),
    row(Reconnect, "replay-missing-unsaid", "A replay does not list a channel that no longer exists.",
        result(&["reconnect"]).when(&[Long("/result/missing", 1)]), Relist(One, "/result/missing", ListChange::Empty), &[Itself]),
    row(Reconnect, "replay-without-actions", "A replay has no list of actions.",
        result(&["reconnect"]).when(&[Has("/result/actions")]), Remove(One, "/result/actions"), &[Itself]),
    row(Reconnect, "reconnect-snapshot-lost", "A channel that was asked for has no snapshot.",
        result(&["reconnect"]).when(&[Long("/result/snapshots", 1)]), Relist(One, "/result/snapshots", ListChange::WithoutLast), &[Itself]),
    row(Reconnect, "reconnect-snapshot-twice", "A channel has two snapshots.",
        result(&["reconnect"]).when(&[Long("/result/snapshots", 1)]), Relist(One, "/result/snapshots", ListChange::Twice), &[Itself]),
    row(Reconnect, "replayed-number-differs", "A replayed action has another number than the original.",
        target(Replayed, &[]).when(&[HasTwin]), Add(One, "/serverSeq", 1), &[Twin]),
    row(Reconnect, "replayed-value-differs", "A replayed action has another value than the original.",
        target(Replayed, &[]).when(&[HasTwin]), Reword(One, "/action/*", TextChange::More), &[Twin]),
    row(Reconnect, "replayed-type-differs", "A replayed action has another type than the original.",
        target(Replayed, &[]).when(&[HasTwin]), Other(One, "/action/type"), &[Twin]),
    row(Reconnect, "replayed-origin-lost", "A replayed action has lost its origin.",
        target(Replayed, &[]).when(&[HasTwin]), Remove(One, "/origin"), &[Twin]),
    row(Reconnect, "replayed-channel-differs", "A replayed action is on another channel than the original.",
        target(Replayed, &[]).when(&[HasTwin]), Other(One, "/channel"), &[Twin]),
    row(Reconnect, "replay-before-the-answer", "The first action after a replay comes before the replay.",
        result(&["reconnect"]).when(&[BeforeItsAction]), Delay(1), &[Itself]),
    row(Reconnect, "replay-state-differs", "A snapshot after a reconnect does not match the actions before it.",
        target(Snapshot, &[]).when(&[Asked("/params/lastSeenServerSeq")]), Reword(One, "/state/**/text", TextChange::More), &[State]),
}
