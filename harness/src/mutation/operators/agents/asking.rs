//! Operators that change the agent's requests to its client.
//!
//! Knows: the vocabulary of the protocol. Never knows: the implementation of changes.

use super::super::{row, target};
use super::{asks, update};
use crate::mutation::acp::change::AcpChange;
use crate::mutation::acp::condition::AcpCondition;
use crate::mutation::change::FaultAudience::One;
use crate::mutation::change::WireChange as Change;
use crate::mutation::change::WireChange::{Drop, Duplicate, Relist, Remove, Set};
use crate::mutation::evidence::FaultEvidence::{Itself, Wait};
use crate::mutation::operator::FaultClass::{AgentRequests, Permissions};
use crate::mutation::operator::PlaceCondition::{Agent, Has};
use crate::mutation::operator::TargetKind::Frame;
use crate::mutation::reading::FrameRole::Request;
use crate::mutation::value_change::ListChange;

operator_table! {
    PERMISSIONS
    row(Permissions, "asked-options-missing", "A request for permission has no options.",
        asks(&["session/request_permission"]), Remove(One, "/params/options"), &[Itself]),
    row(Permissions, "asked-call-missing", "A request for permission has no call.",
        asks(&["session/request_permission"]), Remove(One, "/params/toolCall"), &[Itself]),
    row(Permissions, "asked-call-id-missing", "A request for permission does not name its call.",
        asks(&["session/request_permission"]), Remove(One, "/params/toolCall/toolCallId"), &[Itself]),
    row(Permissions, "asked-session-missing", "A request for permission does not name its session.",
        asks(&["session/request_permission"]), Remove(One, "/params/sessionId"), &[Itself]),
    row(Permissions, "asked-option-without-id", "A request for permission has an option without an id.",
        asks(&["session/request_permission"]), Remove(One, "/params/options/0/optionId"), &[Itself]),
    row(Permissions, "asked-option-without-name", "A request for permission has an option without a name.",
        asks(&["session/request_permission"]), Remove(One, "/params/options/0/name"), &[Itself]),
    row(Permissions, "asked-option-without-kind", "A request for permission has an option without a kind.",
        asks(&["session/request_permission"]), Remove(One, "/params/options/0/kind"), &[Itself]),
    row(Permissions, "asked-options-object", "A request for permission has an object as its options.",
        asks(&["session/request_permission"]), Set(One, "/params/options", "{}"), &[Itself]),
    row(Permissions, "asked-options-null", "A request for permission has null as its options.",
        asks(&["session/request_permission"]), Set(One, "/params/options", "null"), &[Itself]),
    row(Permissions, "asked-option-kind-unknown", "A request for permission has an option of an unknown kind.",
        asks(&["session/request_permission"]), Set(One, "/params/options/0/kind", "\"allow\""), &[Itself]),
    row(Permissions, "asked-option-id-number", "A request for permission has an option whose id is a number.",
        asks(&["session/request_permission"]), Set(One, "/params/options/0/optionId", "1"), &[Itself]),
    row(Permissions, "asked-option-name-number", "A request for permission has an option whose name is a number.",
        asks(&["session/request_permission"]), Set(One, "/params/options/0/name", "1"), &[Itself]),
    row(Permissions, "asked-option-own-member", "A request for permission has an option with a custom member.",
        asks(&["session/request_permission"]), Set(One, "/params/options/0/mood", "\"good\""), &[Itself]),
    row(Permissions, "asked-call-text", "A request for permission has a string as its call.",
        asks(&["session/request_permission"]), Set(One, "/params/toolCall", "\"call\""), &[Itself]),
    row(Permissions, "asked-call-kind-unknown", "A request for permission has a call of an unknown kind.",
        asks(&["session/request_permission"]), Set(One, "/params/toolCall/kind", "\"run\""), &[Itself]),
    row(Permissions, "asked-call-status-unknown", "A request for permission has a call of an unknown status.",
        asks(&["session/request_permission"]), Set(One, "/params/toolCall/status", "\"waiting\""), &[Itself]),
    row(Permissions, "asked-call-title-number", "A request for permission has a call whose title is a number.",
        asks(&["session/request_permission"]), Set(One, "/params/toolCall/title", "1"), &[Itself]),
    row(Permissions, "asked-call-content-bare", "A request for permission has a call whose content is not wrapped.",
        asks(&["session/request_permission"]), Set(One, "/params/toolCall/content", "[{\"type\":\"text\",\"text\":\"x\"}]"), &[Itself]),
    row(Permissions, "asked-call-path-relative", "A request for permission has a call at a relative path.",
        asks(&["session/request_permission"]), Set(One, "/params/toolCall/locations", "[{\"path\":\"a.txt\"}]"), &[Itself]),
    row(Permissions, "asked-session-unknown", "A request for permission names a session that does not exist.",
        asks(&["session/request_permission"]), Set(One, "/params/sessionId", "\"nobody-made-this-id\""), &[Itself]),
    row(Permissions, "asked-session-number", "A request for permission names its session by a number.",
        asks(&["session/request_permission"]), Set(One, "/params/sessionId", "1"), &[Itself]),
    row(Permissions, "asked-own-member", "A request for permission has a custom member.",
        asks(&["session/request_permission"]), Set(One, "/params/mood", "\"good\""), &[Itself]),
    row(Permissions, "asked-id-fraction", "A request for permission has an id with a fraction.",
        asks(&["session/request_permission"]), Set(One, "/id", "1.5"), &[Itself]),
    row(Permissions, "asked-id-object", "A request for permission has an object as its id.",
        asks(&["session/request_permission"]), Set(One, "/id", "{}"), &[Itself]),
    row(Permissions, "asked-options-empty", "A request for permission offers no options.",
        asks(&["session/request_permission"]), Set(One, "/params/options", "[]"), &[Itself])
        .advised_by("acp.pm-04"),
    row(Permissions, "asked-options-repeat", "A request for permission offers an option twice.",
        asks(&["session/request_permission"]), Relist(One, "/params/options", ListChange::Twice), &[Itself])
        .advised_by("acp.pm-05b"),
    row(Permissions, "asked-only-allows", "A request for permission has no option that rejects.",
        asks(&["session/request_permission"]), Set(One, "/params/options", "[{\"optionId\":\"allow\",\"name\":\"Allow\",\"kind\":\"allow_once\"}]"), &[Itself])
        .advised_by("acp.pm-06"),
    row(Permissions, "asked-call-unknown", "Permission is asked for a call that was not reported.",
        asks(&["session/request_permission"]), Set(One, "/params/toolCall/toolCallId", "\"nobody-made-this-id\""), &[Itself])
        .advised_by("acp.pm-03"),
    row(Permissions, "asked-outside-of-a-turn", "Permission is asked for after the turn has ended.",
        asks(&["session/request_permission"]).when(&[Agent(AcpCondition::InWholeTurn)]), Change::Agent(AcpChange::FollowAnswer("{\"jsonrpc\": \"2.0\", \"id\": \"mutant-1\", \"method\": \"session/request_permission\", \"params\": {\"sessionId\": \"$params.sessionId\", \"toolCall\": {\"toolCallId\": \"$params.toolCall.toolCallId\"}, \"options\": [{\"optionId\": \"a\", \"name\": \"Yes\", \"kind\": \"allow_once\"}, {\"optionId\": \"r\", \"name\": \"No\", \"kind\": \"reject_once\"}]}}")), &[Itself])
        .advised_by("acp.pm-12"),
    row(Permissions, "asked-twice-with-one-id", "A request for permission is sent twice.",
        asks(&["session/request_permission"]), Duplicate, &[Itself]),
    row(Permissions, "asked-without-an-id", "A request for permission has no id.",
        asks(&["session/request_permission"]), Remove(One, "/id"), &[Itself]),
}

operator_table! {
    REQUESTS
    row(AgentRequests, "file-path-missing", "A request for a file has no path.",
        asks(&["fs/read_text_file", "fs/write_text_file"]), Remove(One, "/params/path"), &[Itself]),
    row(AgentRequests, "file-session-missing", "A request for a file does not name its session.",
        asks(&["fs/read_text_file", "fs/write_text_file"]), Remove(One, "/params/sessionId"), &[Itself]),
    row(AgentRequests, "written-content-missing", "A request to write a file has no content.",
        asks(&["fs/write_text_file"]), Remove(One, "/params/content"), &[Itself]),
    row(AgentRequests, "command-missing", "A request to create a terminal has no command.",
        asks(&["terminal/create"]), Remove(One, "/params/command"), &[Itself]),
    row(AgentRequests, "terminal-session-missing", "A request about a terminal does not name its session.",
        asks(&["terminal/*"]), Remove(One, "/params/sessionId"), &[Itself]),
    row(AgentRequests, "terminal-id-missing", "A request about a terminal does not name the terminal.",
        asks(&["terminal/*"]).when(&[Has("/params/terminalId")]), Remove(One, "/params/terminalId"), &[Itself]),
    row(AgentRequests, "file-path-relative", "The path of a file is relative.",
        asks(&["fs/read_text_file", "fs/write_text_file"]), Set(One, "/params/path", "\"a.txt\""), &[Itself]),
    row(AgentRequests, "file-path-number", "The path of a file is a number.",
        asks(&["fs/read_text_file", "fs/write_text_file"]), Set(One, "/params/path", "1"), &[Itself]),
    row(AgentRequests, "file-own-member", "A request for a file has a custom member.",
        asks(&["fs/read_text_file", "fs/write_text_file"]), Set(One, "/params/mood", "\"good\""), &[Itself]),
    row(AgentRequests, "read-limit-negative", "The number of lines in a request for a file is negative.",
        asks(&["fs/read_text_file"]), Set(One, "/params/limit", "-1"), &[Itself]),
    row(AgentRequests, "read-line-text", "The first line in a request for a file is a string.",
        asks(&["fs/read_text_file"]), Set(One, "/params/line", "\"1\""), &[Itself]),
    row(AgentRequests, "written-content-number", "A request to write a file has a number as its content.",
        asks(&["fs/write_text_file"]), Set(One, "/params/content", "1"), &[Itself]),
    row(AgentRequests, "command-number", "The command of a terminal is a number.",
        asks(&["terminal/create"]), Set(One, "/params/command", "1"), &[Itself]),
    row(AgentRequests, "arguments-text", "The arguments of a command are a string.",
        asks(&["terminal/create"]), Set(One, "/params/args", "\"-c\""), &[Itself]),
    row(AgentRequests, "environment-bare", "A variable of the environment has no value.",
        asks(&["terminal/create"]), Set(One, "/params/env", "[{\"name\":\"A\"}]"), &[Itself]),
    row(AgentRequests, "folder-relative", "The working directory of a terminal is a relative path.",
        asks(&["terminal/create"]), Set(One, "/params/cwd", "\"work\""), &[Itself]),
    row(AgentRequests, "output-limit-text", "The limit for the output of a terminal is a string.",
        asks(&["terminal/create"]), Set(One, "/params/outputByteLimit", "\"many\""), &[Itself]),
    row(AgentRequests, "terminal-own-member", "A request about a terminal has a custom member.",
        asks(&["terminal/*"]), Set(One, "/params/mood", "\"good\""), &[Itself]),
    row(AgentRequests, "terminal-id-number", "A request names a terminal by a number.",
        asks(&["terminal/*"]).when(&[Has("/params/terminalId")]), Set(One, "/params/terminalId", "1"), &[Itself]),
    row(AgentRequests, "request-method-own", "A request has a custom method without a leading underscore.",
        asks(&[]), Set(One, "/method", "\"files/read\""), &[Itself]),
    row(AgentRequests, "request-params-list", "The params of a request are a list.",
        asks(&[]), Set(One, "/params", "[]"), &[Itself]),
    row(AgentRequests, "request-params-null", "The params of a request are null.",
        asks(&[]), Set(One, "/params", "null"), &[Itself]),
    row(AgentRequests, "read-line-zero", "A request for a file begins at line 0.",
        asks(&["fs/read_text_file"]), Set(One, "/params/line", "0"), &[Itself])
        .advised_by("acp.ct-02"),
    row(AgentRequests, "file-session-unknown", "A request for a file names a session that does not exist.",
        asks(&["fs/read_text_file", "fs/write_text_file"]), Set(One, "/params/sessionId", "\"nobody-made-this-id\""), &[Itself])
        .advised_by("acp.ss-02"),
    row(AgentRequests, "terminal-unknown", "A request names a terminal that the client did not create.",
        asks(&["terminal/*"]).when(&[Has("/params/terminalId")]), Set(One, "/params/terminalId", "\"nobody-made-this-id\""), &[Itself])
        .advised_by("acp.ct-10"),
    row(AgentRequests, "release-lost", "A terminal is not released.",
        asks(&["terminal/release"]), Drop(One), &[Wait]),
    row(AgentRequests, "terminal-asked-after-release", "The agent requests the output of a terminal that it has released.",
        asks(&["terminal/release"]), Change::Agent(AcpChange::Follow("{\"jsonrpc\": \"2.0\", \"id\": \"mutant-1\", \"method\": \"terminal/output\", \"params\": {\"sessionId\": \"$params.sessionId\", \"terminalId\": \"$params.terminalId\"}}")), &[Itself])
        .advised_by("acp.ct-10"),
    row(AgentRequests, "file-asked-behind-a-cancelled-answer", "A file is written after a cancelled prompt was answered.",
        update(&[]).when(&[Agent(AcpCondition::InCancelledTurn)]), Change::Agent(AcpChange::FollowAnswer("{\"jsonrpc\": \"2.0\", \"id\": \"mutant-1\", \"method\": \"fs/write_text_file\", \"params\": {\"sessionId\": \"$params.sessionId\", \"path\": \"/w/late.txt\", \"content\": \"late\"}}")), &[Itself]),
    row(AgentRequests, "terminal-made-behind-a-cancelled-answer", "A terminal is created after a cancelled prompt was \
        answered.",
        update(&[]).when(&[Agent(AcpCondition::InCancelledTurn)]), Change::Agent(AcpChange::FollowAnswer("{\"jsonrpc\": \"2.0\", \"id\": \"mutant-1\", \"method\": \"terminal/create\", \"params\": {\"sessionId\": \"$params.sessionId\", \"command\": \"ls\"}}")), &[Itself]),
    row(AgentRequests, "permission-asked-behind-a-cancelled-answer", "Permission is asked for after a cancelled prompt was answered.",
        asks(&["session/request_permission"]).when(&[Agent(AcpCondition::InCancelledTurn)]), Change::Agent(AcpChange::PastAnswer), &[Itself]),
    row(AgentRequests, "request-id-twice", "A request is sent twice with the same id.",
        asks(&[]), Duplicate, &[Itself]),
    row(AgentRequests, "agent-request-id-missing", "A request has no id.",
        asks(&[]), Remove(One, "/id"), &[Itself]),
    row(AgentRequests, "reading-not-offered", "A file is read although the client does not offer this.",
        target(Frame(Request), &["initialize"]).when(&[Agent(AcpCondition::AsksLater("fs/read_text_file"))]), Set(One, "/params/clientCapabilities/fs/readTextFile", "false"), &[Itself]),
    row(AgentRequests, "writing-not-offered", "A file is written although the client does not offer this.",
        target(Frame(Request), &["initialize"]).when(&[Agent(AcpCondition::AsksLater("fs/write_text_file"))]), Set(One, "/params/clientCapabilities/fs/writeTextFile", "false"), &[Itself]),
    row(AgentRequests, "terminals-not-offered", "A terminal is created although the client offers none.",
        target(Frame(Request), &["initialize"]).when(&[Agent(AcpCondition::AsksLater("terminal/create"))]), Set(One, "/params/clientCapabilities/terminal", "false"), &[Itself]),
    row(AgentRequests, "elicits-unoffered", "The agent sends an elicitation although the client does not offer this.",
        update(&["agent_message_chunk", "agent_thought_chunk", "user_message_chunk"]).when(&[Has("/params/sessionId"), Agent(AcpCondition::NotOffered("/elicitation/form"))]), Change::Agent(AcpChange::Follow("{\"jsonrpc\": \"2.0\", \"id\": \"mutant-1\", \"method\": \"elicitation/create\", \"params\": {\"sessionId\": \"$params.sessionId\", \"mode\": \"form\", \"message\": \"Which?\", \"requestedSchema\": {\"type\": \"object\", \"properties\": {}}}}")), &[Itself]),
}
