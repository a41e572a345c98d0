//! The table of the legal rewrites that apply only to conversations with agents. To add a rewrite, add a row.
//!
//! Knows: the vocabulary of the Agent Client Protocol. Never knows: the implementation of rewrites.
//!
//! Start at [`OF_AGENTS`].

use super::{COMPANY, FRACTION, ID, PIECES, WORDS, rewrite_table};
use crate::mutation::acp::rewrite::AcpRewrite;
use crate::mutation::rewrite::FramePortion::All;
use crate::mutation::rewrite::RewriteKind;

const META: &str = "types of the protocol may have `_meta`, whose content others ignore";
const STATE: &str = "members that an update leaves out stay unchanged, a list replaces the previous list, and a status may be repeated";
const DEFAULT: &str = "the schema gives the default of an absent member";
const NULL: &str =
    "the schema permits null for members of an update, and null leaves a member unchanged";
const OWN: &str =
    "methods that begin with `_` or `$/` are extensions, which clients ignore or refuse";
const MAY: &str = "an agent may send this update at any time";
const CHOICE: &str = "an agent chooses its options and their order";
const REASON: &str = "an agent chooses the stop reason of a turn";
const ANY: &str = "raw output and the data of an error may be any value";

const PLAN: &str = r#"{"sessionUpdate":"plan","entries":[{"content":"Look","priority":"low","status":"in_progress"}]}"#;
const NO_PLAN: &str = r#"{"sessionUpdate":"plan","entries":[]}"#;
const COMMANDS: &str = r#"{"sessionUpdate":"available_commands_update","availableCommands":[{"name":"go","description":"Goes on","input":null}]}"#;
const INFO: &str =
    r#"{"sessionUpdate":"session_info_update","title":null,"updatedAt":"2026-01-02T03:04:05Z"}"#;
const USAGE: &str = r#"{"sessionUpdate":"usage_update","used":0,"size":200000}"#;
const THOUGHT: &str =
    r#"{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"hm"}}"#;
const EMPTY: &str =
    r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":""}}"#;
const LINK: &str = r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"resource_link","uri":"file:///w/a","name":"a"}}"#;

rewrite_table! { OF_AGENTS:
    "sessions-renamed" ID RewriteKind::Rename(&["sessionId"]);
    "terminals-renamed" ID RewriteKind::Rename(&["terminalId"]);
    "options-renamed" ID RewriteKind::Rename(&["optionId"]);
    "all-ids-of-agents-renamed" ID RewriteKind::Rename(&["sessionId", "toolCallId", "terminalId", "optionId"]);
    "meta-everywhere" META RewriteKind::Agent(AcpRewrite::Meta(100));
    "meta-by-chance" META RewriteKind::Agent(AcpRewrite::Meta(40));
    "meta-null" META RewriteKind::Agent(AcpRewrite::MetaNull);
    "versions-with-fractions" FRACTION RewriteKind::Fractions(All, &["protocolVersion"]);
    "lines-with-fractions" FRACTION RewriteKind::Fractions(All, &["line", "limit", "outputByteLimit", "used", "size"]);
    "ids-with-fractions" FRACTION RewriteKind::Fractions(All, &["id"]);
    "updates-split" STATE RewriteKind::Agent(AcpRewrite::SplitUpdates);
    "reports-split" STATE RewriteKind::Agent(AcpRewrite::SplitReports);
    "lists-repeated" STATE RewriteKind::Agent(AcpRewrite::RepeatLists);
    "states-repeated" STATE RewriteKind::Agent(AcpRewrite::RepeatState);
    "statuses-repeated" STATE RewriteKind::Agent(AcpRewrite::RepeatStatus);
    "progress-reported" STATE RewriteKind::Agent(AcpRewrite::Progress);
    "nulls-in-updates" NULL RewriteKind::Agent(AcpRewrite::Nulls);
    "defaults-given" DEFAULT RewriteKind::Agent(AcpRewrite::Defaults);
    "defaults-left-out" DEFAULT RewriteKind::Agent(AcpRewrite::WithoutDefaults);
    "chunks-split" PIECES RewriteKind::Agent(AcpRewrite::SplitChunks);
    "chunks-merged" PIECES RewriteKind::Agent(AcpRewrite::MergeChunks);
    "chunks-with-message-ids" PIECES RewriteKind::Agent(AcpRewrite::MessageIds);
    "plans-sent" MAY RewriteKind::Agent(AcpRewrite::Updates(&[PLAN, NO_PLAN]));
    "commands-sent" MAY RewriteKind::Agent(AcpRewrite::Updates(&[COMMANDS]));
    "sessions-described" MAY RewriteKind::Agent(AcpRewrite::Updates(&[INFO, USAGE]));
    "thoughts-and-empty-texts" MAY RewriteKind::Agent(AcpRewrite::Chunks(&[THOUGHT, EMPTY, LINK]));
    "own-notifications" OWN RewriteKind::Agent(AcpRewrite::Notices(&["_x.check/tick", "$/x-check"]));
    "own-requests" OWN RewriteKind::Agent(AcpRewrite::OwnRequests);
    "options-turned" CHOICE RewriteKind::Agent(AcpRewrite::OptionsTurned);
    "one-more-option" CHOICE RewriteKind::Agent(AcpRewrite::MoreOptions);
    "turns-end-at-the-limit-of-tokens" REASON RewriteKind::Agent(AcpRewrite::StopReason("max_tokens"));
    "turns-end-at-the-limit-of-requests" REASON RewriteKind::Agent(AcpRewrite::StopReason("max_turn_requests"));
    "turns-end-with-a-refusal" REASON RewriteKind::Agent(AcpRewrite::StopReason("refusal"));
    "raw-output-of-any-kind" ANY RewriteKind::Agent(AcpRewrite::RawOutput);
    "errors-with-data" ANY RewriteKind::Agent(AcpRewrite::ErrorData);
    "titles-in-other-words" WORDS RewriteKind::Wording(&["params/update/title", "params/toolCall/title"]);
    "options-in-other-words" WORDS RewriteKind::Wording(&["params/options/*/name"]);
    "the-agent-has-another-name" WORDS RewriteKind::Wording(&["result/agentInfo/name", "result/agentInfo/version"]);
    "another-session-meanwhile" COMPANY RewriteKind::Agent(AcpRewrite::AnotherSession);
    "another-connection-meanwhile" COMPANY RewriteKind::Agent(AcpRewrite::AnotherConnection);
}
