//! Operators that drop, add, move or change the reports of tool calls.
//!
//! Knows: the vocabulary of the protocol. Never knows: the implementation of changes.

use super::super::{row, target};
use super::{asks, update};
use crate::mutation::acp::change::AcpChange;
use crate::mutation::acp::condition::AcpCondition;
use crate::mutation::acp::evidence::AcpEvidence;
use crate::mutation::change::FaultAudience::One;
use crate::mutation::change::WireChange as Change;
use crate::mutation::change::WireChange::{
    Delay, Drop, Duplicate, DuplicateLater, Other, Remove, Set,
};
use crate::mutation::evidence::FaultEvidence::{self, Itself};
use crate::mutation::operator::FaultClass::{CallMembers, CallStates, UpdateDelivery};
use crate::mutation::operator::PlaceCondition::{Agent, Is};
use crate::mutation::operator::TargetKind::Frame;
use crate::mutation::reading::FrameRole::ClientAnswer;

operator_table! {
    DELIVERY
    row(UpdateDelivery, "call-report-lost", "A call that was never reported is updated.",
        update(&["tool_call"]), Drop(One), &[FaultEvidence::Agent(AcpEvidence::CallGoesOn)])
        .advised_by("acp.tc-07"),
    row(UpdateDelivery, "call-never-reported", "No update reports a call whose tool runs.",
        update(&["tool_call"]), Change::Agent(AcpChange::DropCall), &[FaultEvidence::Agent(AcpEvidence::ToolRan)]),
    row(UpdateDelivery, "call-report-behind-its-update", "A call is reported after its first update.",
        update(&["tool_call"]).when(&[Agent(AcpCondition::NextIsSameCall)]), Delay(1), &[Itself])
        .advised_by("acp.tc-07"),
    row(UpdateDelivery, "call-reported-twice", "A call is reported twice in a row.",
        update(&["tool_call"]), Duplicate, &[Itself])
        .advised_by("acp.tc-03"),
    row(UpdateDelivery, "call-reported-again-later", "A call is reported again after its first update.",
        update(&["tool_call"]).when(&[Agent(AcpCondition::NextIsSameCall)]), DuplicateLater(1), &[Itself])
        .advised_by("acp.tc-03"),
    row(UpdateDelivery, "progress-lost", "A call that was never in progress is completed.",
        update(&["tool_call_update"]).when(&[Is("/params/update/status", "\"in_progress\""), Agent(AcpCondition::OnlyStatus), Agent(AcpCondition::CompletedLater)]), Drop(One), &[Itself]),
    row(UpdateDelivery, "progress-behind-the-end", "A call is in progress after it was completed.",
        update(&["tool_call_update"]).when(&[Is("/params/update/status", "\"in_progress\""), Agent(AcpCondition::OnlyStatus), Agent(AcpCondition::NextEndsCall)]), Delay(1), &[Itself]),
    row(UpdateDelivery, "end-lost", "The end of a call is not reported.",
        update(&["tool_call_update"]).when(&[Is("/params/update/status", "\"completed\""), Agent(AcpCondition::OnlyStatus), Agent(AcpCondition::InWholeTurn)]), Drop(One), &[Itself])
        .advised_by("acp.tc-12"),
    row(UpdateDelivery, "failure-lost", "The failure of a call is not reported.",
        update(&["tool_call_update"]).when(&[Is("/params/update/status", "\"failed\""), Agent(AcpCondition::OnlyStatus), Agent(AcpCondition::InWholeTurn)]), Drop(One), &[Itself])
        .advised_by("acp.tc-12"),
    row(UpdateDelivery, "end-behind-the-answer", "The end of a call is reported after the turn has ended.",
        update(&["tool_call_update"]).when(&[Is("/params/update/status", "\"completed\""), Agent(AcpCondition::OnlyStatus), Agent(AcpCondition::InWholeTurn)]), Change::Agent(AcpChange::PastAnswer), &[Itself])
        .advised_by("acp.tc-12"),
    row(UpdateDelivery, "update-behind-a-cancelled-answer", "A call of a cancelled turn is updated after the answer.",
        update(&["tool_call_update"]).when(&[Agent(AcpCondition::InCancelledTurn)]), Change::Agent(AcpChange::PastAnswer), &[Itself]),
    row(UpdateDelivery, "report-behind-a-cancelled-answer", "A call of a cancelled turn is reported after the answer.",
        update(&["tool_call"]).when(&[Agent(AcpCondition::InCancelledTurn)]), Change::Agent(AcpChange::PastAnswer), &[Itself]),
    row(UpdateDelivery, "new-call-behind-a-cancelled-answer", "A new call is reported after the answer to a cancelled prompt.",
        update(&[]).when(&[Agent(AcpCondition::InCancelledTurn)]), Change::Agent(AcpChange::FollowAnswer("{\"jsonrpc\": \"2.0\", \"method\": \"session/update\", \"params\": {\"sessionId\": \"$params.sessionId\", \"update\": {\"sessionUpdate\": \"tool_call\", \"toolCallId\": \"mutant-call\", \"title\": \"Goes on\"}}}")), &[Itself]),
    row(UpdateDelivery, "call-ends-behind-a-cancelled-answer", "A call of a cancelled turn ends after the answer.",
        update(&["tool_call", "tool_call_update"]).when(&[Agent(AcpCondition::InCancelledTurn)]), Change::Agent(AcpChange::FollowAnswer("{\"jsonrpc\": \"2.0\", \"method\": \"session/update\", \"params\": {\"sessionId\": \"$params.sessionId\", \"update\": {\"sessionUpdate\": \"tool_call_update\", \"toolCallId\": \"$params.update.toolCallId\", \"status\": \"failed\"}}}")), &[Itself]),
    row(UpdateDelivery, "text-behind-a-cancelled-answer", "A chunk of the answer comes after the answer to a cancelled prompt.",
        update(&["agent_message_chunk", "agent_thought_chunk"]).when(&[Agent(AcpCondition::InCancelledTurn)]), Change::Agent(AcpChange::PastAnswer), &[Itself]),
    row(UpdateDelivery, "new-text-behind-a-cancelled-answer", "More of the answer comes after a cancelled prompt was answered.",
        update(&[]).when(&[Agent(AcpCondition::InCancelledTurn)]), Change::Agent(AcpChange::FollowAnswer("{\"jsonrpc\": \"2.0\", \"method\": \"session/update\", \"params\": {\"sessionId\": \"$params.sessionId\", \"update\": {\"sessionUpdate\": \"agent_thought_chunk\", \"content\": {\"type\": \"text\", \"text\": \"and so on\"}}}}")), &[Itself]),
    row(UpdateDelivery, "call-of-another-session", "A call is reported in a session that does not exist.",
        update(&["tool_call", "tool_call_update"]), Set(One, "/params/sessionId", "\"nobody-made-this-id\""), &[Itself])
        .advised_by("acp.ss-02"),
    row(UpdateDelivery, "text-of-another-session", "A text chunk comes in a session that does not exist.",
        update(&["agent_message_chunk", "agent_thought_chunk", "user_message_chunk"]), Set(One, "/params/sessionId", "\"nobody-made-this-id\""), &[Itself])
        .advised_by("acp.ss-02"),
    row(UpdateDelivery, "update-in-a-batch", "An update is sent as a batch with one message.",
        update(&["agent_message_chunk", "agent_thought_chunk", "user_message_chunk"]), Change::Agent(AcpChange::Batch), &[Itself])
        .advised_by("acp.tr-02"),
}

operator_table! {
    MEMBERS
    row(CallMembers, "first-title-null", "The title of a new call is null.",
        update(&["tool_call"]), Set(One, "/params/update/title", "null"), &[Itself]),
    row(CallMembers, "first-title-number", "The title of a new call is a number.",
        update(&["tool_call"]), Set(One, "/params/update/title", "7"), &[Itself]),
    row(CallMembers, "first-title-list", "The title of a new call is a list.",
        update(&["tool_call"]), Set(One, "/params/update/title", "[]"), &[Itself]),
    row(CallMembers, "first-call-id-null", "The id of a new call is null.",
        update(&["tool_call"]), Set(One, "/params/update/toolCallId", "null"), &[Itself]),
    row(CallMembers, "first-call-id-number", "The id of a new call is a number.",
        update(&["tool_call"]), Set(One, "/params/update/toolCallId", "7"), &[Itself]),
    row(CallMembers, "first-kind-null", "The kind of a new call is null.",
        update(&["tool_call"]), Set(One, "/params/update/kind", "null"), &[Itself]),
    row(CallMembers, "first-kind-unknown", "The kind of a new call is one that the protocol does not have.",
        update(&["tool_call"]), Set(One, "/params/update/kind", "\"run\""), &[Itself]),
    row(CallMembers, "first-kind-number", "The kind of a new call is a number.",
        update(&["tool_call"]), Set(One, "/params/update/kind", "2"), &[Itself]),
    row(CallMembers, "first-status-null", "The status of a new call is null.",
        update(&["tool_call"]), Set(One, "/params/update/status", "null"), &[Itself]),
    row(CallMembers, "first-status-unknown", "The status of a new call is one that the protocol does not have.",
        update(&["tool_call"]), Set(One, "/params/update/status", "\"cancelled\""), &[Itself]),
    row(CallMembers, "first-status-number", "The status of a new call is a number.",
        update(&["tool_call"]), Set(One, "/params/update/status", "1"), &[Itself]),
    row(CallMembers, "first-content-object", "The content of a new call is an object.",
        update(&["tool_call"]), Set(One, "/params/update/content", "{}"), &[Itself]),
    row(CallMembers, "first-content-text", "The content of a new call is a string.",
        update(&["tool_call"]), Set(One, "/params/update/content", "\"done\""), &[Itself]),
    row(CallMembers, "first-locations-null", "The locations of a new call are null.",
        update(&["tool_call"]), Set(One, "/params/update/locations", "null"), &[Itself]),
    row(CallMembers, "first-locations-text", "The locations of a new call are a string.",
        update(&["tool_call"]), Set(One, "/params/update/locations", "\"/w/a\""), &[Itself]),
    row(CallMembers, "first-name-number", "The name of a new call is a number.",
        update(&["tool_call"]), Set(One, "/params/update/name", "4"), &[Itself]),
    row(CallMembers, "first-meta-text", "The `_meta` of a new call is a string.",
        update(&["tool_call"]), Set(One, "/params/update/_meta", "\"x\""), &[Itself]),
    row(CallMembers, "first-meta-list", "The `_meta` of a new call is a list.",
        update(&["tool_call"]), Set(One, "/params/update/_meta", "[]"), &[Itself]),
    row(CallMembers, "first-title-missing", "A new call has no title.",
        update(&["tool_call"]), Remove(One, "/params/update/title"), &[Itself]),
    row(CallMembers, "first-call-id-missing", "A new call has no id.",
        update(&["tool_call"]), Remove(One, "/params/update/toolCallId"), &[Itself]),
    row(CallMembers, "first-content-null", "The content of a new call is null.",
        update(&["tool_call"]), Change::Agent(AcpChange::Follow("{\"jsonrpc\": \"2.0\", \"method\": \"session/update\", \"params\": {\"sessionId\": \"$params.sessionId\", \"update\": {\"sessionUpdate\": \"tool_call\", \"toolCallId\": \"mutant-call\", \"title\": \"New\", \"content\": null}}}")), &[Itself]),
    row(CallMembers, "first-own-member", "A new call has a custom member.",
        update(&["tool_call"]), Set(One, "/params/update/mood", "\"good\""), &[Itself]),
    row(CallMembers, "updated-call-id-null", "The id in an update of a call is null.",
        update(&["tool_call_update"]), Set(One, "/params/update/toolCallId", "null"), &[Itself]),
    row(CallMembers, "updated-call-id-number", "The id in an update of a call is a number.",
        update(&["tool_call_update"]), Set(One, "/params/update/toolCallId", "7"), &[Itself]),
    row(CallMembers, "updated-title-number", "The title in an update of a call is a number.",
        update(&["tool_call_update"]), Set(One, "/params/update/title", "7"), &[Itself]),
    row(CallMembers, "updated-kind-unknown", "The kind in an update of a call is one that the protocol does not have.",
        update(&["tool_call_update"]), Set(One, "/params/update/kind", "\"run\""), &[Itself]),
    row(CallMembers, "updated-kind-number", "The kind in an update of a call is a number.",
        update(&["tool_call_update"]), Set(One, "/params/update/kind", "2"), &[Itself]),
    row(CallMembers, "updated-status-unknown", "The status in an update of a call is one that the protocol does not have.",
        update(&["tool_call_update"]), Set(One, "/params/update/status", "\"success\""), &[Itself]),
    row(CallMembers, "updated-status-number", "The status in an update of a call is a number.",
        update(&["tool_call_update"]), Set(One, "/params/update/status", "1"), &[Itself]),
    row(CallMembers, "updated-content-object", "The content in an update of a call is an object.",
        update(&["tool_call_update"]), Set(One, "/params/update/content", "{}"), &[Itself]),
    row(CallMembers, "updated-content-text", "The content in an update of a call is a string.",
        update(&["tool_call_update"]), Set(One, "/params/update/content", "\"done\""), &[Itself]),
    row(CallMembers, "updated-locations-object", "The locations in an update of a call are an object.",
        update(&["tool_call_update"]), Set(One, "/params/update/locations", "{}"), &[Itself]),
    row(CallMembers, "updated-name-number", "The name in an update of a call is a number.",
        update(&["tool_call_update"]), Set(One, "/params/update/name", "4"), &[Itself]),
    row(CallMembers, "updated-call-id-missing", "An update of a call does not name the call.",
        update(&["tool_call_update"]), Remove(One, "/params/update/toolCallId"), &[Itself]),
    row(CallMembers, "updated-own-member", "An update of a call has a custom member.",
        update(&["tool_call_update"]), Set(One, "/params/update/mood", "\"good\""), &[Itself]),
}

operator_table! {
    STATES
    row(CallStates, "completed-becomes-pending", "A completed call becomes `pending`.",
        update(&["tool_call", "tool_call_update"]).when(&[Is("/params/update/status", "\"completed\"")]), Change::Agent(AcpChange::Follow("{\"jsonrpc\": \"2.0\", \"method\": \"session/update\", \"params\": {\"sessionId\": \"$params.sessionId\", \"update\": {\"sessionUpdate\": \"tool_call_update\", \"toolCallId\": \"$params.update.toolCallId\", \"status\": \"pending\"}}}")), &[Itself])
        .advised_by("acp.tc-11"),
    row(CallStates, "completed-becomes-in-progress", "A completed call becomes `in_progress`.",
        update(&["tool_call", "tool_call_update"]).when(&[Is("/params/update/status", "\"completed\"")]), Change::Agent(AcpChange::Follow("{\"jsonrpc\": \"2.0\", \"method\": \"session/update\", \"params\": {\"sessionId\": \"$params.sessionId\", \"update\": {\"sessionUpdate\": \"tool_call_update\", \"toolCallId\": \"$params.update.toolCallId\", \"status\": \"in_progress\"}}}")), &[Itself])
        .advised_by("acp.tc-11"),
    row(CallStates, "completed-becomes-failed", "A completed call becomes `failed`.",
        update(&["tool_call", "tool_call_update"]).when(&[Is("/params/update/status", "\"completed\"")]), Change::Agent(AcpChange::Follow("{\"jsonrpc\": \"2.0\", \"method\": \"session/update\", \"params\": {\"sessionId\": \"$params.sessionId\", \"update\": {\"sessionUpdate\": \"tool_call_update\", \"toolCallId\": \"$params.update.toolCallId\", \"status\": \"failed\"}}}")), &[Itself])
        .advised_by("acp.tc-11"),
    row(CallStates, "failed-becomes-completed", "A failed call becomes `completed`.",
        update(&["tool_call", "tool_call_update"]).when(&[Is("/params/update/status", "\"failed\"")]), Change::Agent(AcpChange::Follow("{\"jsonrpc\": \"2.0\", \"method\": \"session/update\", \"params\": {\"sessionId\": \"$params.sessionId\", \"update\": {\"sessionUpdate\": \"tool_call_update\", \"toolCallId\": \"$params.update.toolCallId\", \"status\": \"completed\"}}}")), &[Itself])
        .advised_by("acp.tc-11"),
    row(CallStates, "failed-becomes-pending", "A failed call becomes `pending`.",
        update(&["tool_call", "tool_call_update"]).when(&[Is("/params/update/status", "\"failed\"")]), Change::Agent(AcpChange::Follow("{\"jsonrpc\": \"2.0\", \"method\": \"session/update\", \"params\": {\"sessionId\": \"$params.sessionId\", \"update\": {\"sessionUpdate\": \"tool_call_update\", \"toolCallId\": \"$params.update.toolCallId\", \"status\": \"pending\"}}}")), &[Itself])
        .advised_by("acp.tc-11"),
    row(CallStates, "in-progress-becomes-pending", "A call in progress becomes `pending`.",
        update(&["tool_call", "tool_call_update"]).when(&[Is("/params/update/status", "\"in_progress\""), Agent(AcpCondition::NotAskedInProgress)]), Change::Agent(AcpChange::Follow("{\"jsonrpc\": \"2.0\", \"method\": \"session/update\", \"params\": {\"sessionId\": \"$params.sessionId\", \"update\": {\"sessionUpdate\": \"tool_call_update\", \"toolCallId\": \"$params.update.toolCallId\", \"status\": \"pending\"}}}")), &[Itself])
        .advised_by("acp.tc-11"),
    row(CallStates, "name-changes", "The name of a tool changes in an update.",
        update(&["tool_call_update"]).when(&[Agent(AcpCondition::NamedBefore)]), Set(One, "/params/update/name", "\"another\""), &[Itself]),
    row(CallStates, "name-changes-in-permission", "A request for permission gives another name for the tool than the report of its call.",
        asks(&["session/request_permission"]).when(&[Agent(AcpCondition::NamedBefore)]), Set(One, "/params/toolCall/name", "\"another\""), &[Itself]),
    row(CallStates, "completed-from-the-first", "The first report of a call says `completed`, although later reports follow.",
        update(&["tool_call"]), Set(One, "/params/update/status", "\"completed\""), &[FaultEvidence::Agent(AcpEvidence::CallGoesOn)])
        .advised_by("acp.tc-11"),
    row(CallStates, "update-of-an-unknown-call", "An update is about a call that was not reported.",
        update(&["tool_call_update"]), Set(One, "/params/update/toolCallId", "\"nobody-made-this-id\""), &[Itself])
        .advised_by("acp.tc-07"),
    row(CallStates, "call-id-of-another-call", "A new call has the id of another call.",
        update(&["tool_call"]).when(&[Agent(AcpCondition::AfterAnotherCall)]), Other(One, "/params/update/toolCallId"), &[Itself])
        .advised_by("acp.tc-03"),
    row(CallStates, "progress-while-asked", "A call is in progress while permission for it is open.",
        asks(&["session/request_permission"]), Change::Agent(AcpChange::Follow("{\"jsonrpc\": \"2.0\", \"method\": \"session/update\", \"params\": {\"sessionId\": \"$params.sessionId\", \"update\": {\"sessionUpdate\": \"tool_call_update\", \"toolCallId\": \"$params.toolCall.toolCallId\", \"status\": \"in_progress\"}}}")), &[Itself])
        .advised_by("acp.pm-07"),
    row(CallStates, "progress-before-asked", "A call is in progress before permission is asked for it.",
        update(&["tool_call"]).when(&[Agent(AcpCondition::AskedLater), Agent(AcpCondition::NotAskedInProgress)]), Set(One, "/params/update/status", "\"in_progress\""), &[Itself])
        .advised_by("acp.tc-09"),
    row(CallStates, "asked-after-the-end", "Permission is asked for a call that has ended.",
        update(&["tool_call_update"]).when(&[Is("/params/update/status", "\"completed\"")]), Change::Agent(AcpChange::Follow("{\"jsonrpc\": \"2.0\", \"id\": \"mutant-1\", \"method\": \"session/request_permission\", \"params\": {\"sessionId\": \"$params.sessionId\", \"toolCall\": {\"toolCallId\": \"$params.update.toolCallId\"}, \"options\": [{\"optionId\": \"a\", \"name\": \"Yes\", \"kind\": \"allow_once\"}, {\"optionId\": \"r\", \"name\": \"No\", \"kind\": \"reject_once\"}]}}")), &[Itself])
        .advised_by("acp.tc-09"),
    row(CallStates, "first-report-is-an-update", "The first report of a call is an update.",
        update(&["tool_call"]), Set(One, "/params/update/sessionUpdate", "\"tool_call_update\""), &[FaultEvidence::Agent(AcpEvidence::CallGoesOn)])
        .advised_by("acp.tc-07"),
    row(CallStates, "denied-tool-runs", "A tool runs although the client rejected its call.",
        target(Frame(ClientAnswer), &["session/request_permission"]).when(&[Is("/result/outcome/optionId", "\"allow\""), Agent(AcpCondition::ToolRunsLater)]), Set(One, "/result/outcome/optionId", "\"reject\""), &[Itself])
        .advised_by("acp.pm-08"),
    row(CallStates, "tool-runs-while-asked", "A tool runs before the client has answered.",
        target(Frame(ClientAnswer), &["session/request_permission"]).when(&[Agent(AcpCondition::ToolRunsLater)]), Change::Agent(AcpChange::PastAnswer), &[Itself])
        .advised_by("acp.pm-07"),
    row(CallStates, "turn-ends-while-asked", "A turn ends while its request for permission is open.",
        target(Frame(ClientAnswer), &["session/request_permission"]).when(&[Agent(AcpCondition::InWholeTurn)]), Change::Agent(AcpChange::PastAnswer), &[Itself])
        .advised_by("acp.pm-11"),
}
