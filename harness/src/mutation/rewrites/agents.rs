//! Every legal rewrite of a conversation with an agent. To add one, add a row.
//!
//! Knows: the words of the Agent Client Protocol. Never knows: how a conversation is told otherwise.
//!
//! Start at [`all`].

use super::arrivals::{ArrivalForm, TimeForm, WindowForm};
use super::spelling::{IdForm, JsonForm};
use super::{COMPANY, FRACTION, ID, JSON, ORDER, PART, PIECES, TIME, WORDS, row};
use crate::mutation::acp::retelling::AcpRetelling;
use crate::mutation::rewrite::FramePortion::{All, Half, OneConnection};
use crate::mutation::rewrite::{LegalRewrite, RewriteKind};

const META: &str = "types of the protocol may have `_meta`, whose content means nothing to others";
const STATE: &str =
    "what an update leaves out stays, a list replaces the one before, and a status may be repeated";
const DEFAULT: &str = "the schema says what is meant where a member is absent";
const NULL: &str =
    "the schema lets the members of an update be null, which leaves them as they were";
const OWN: &str =
    "methods that begin with `_` or `$/` are extensions, which clients pass over or refuse";
const MAY: &str = "an agent may tell this at any time";
const CHOICE: &str = "which options there are, and in which order, is the agent's choice";
const REASON: &str = "why a turn ends is the agent's to say";
const ANY: &str = "raw output, and the data of an error, may be any value";

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

/// A table of rewrites, one a line: the macro keeps the lines as they are.
macro_rules! agent_rewrites {
    ($($name:literal $legal:ident $retelling:expr;)*) => {
        const AGENT_REWRITES: &[LegalRewrite] = &[$(row($name, $legal, $retelling),)*];
    };
}

agent_rewrites! {
    "sessions-renamed" ID RewriteKind::Rename(&["sessionId"]);
    "calls-renamed" ID RewriteKind::Rename(&["toolCallId"]);
    "terminals-renamed" ID RewriteKind::Rename(&["terminalId"]);
    "options-renamed" ID RewriteKind::Rename(&["optionId"]);
    "everything-renamed" ID RewriteKind::Rename(&["sessionId", "toolCallId", "terminalId", "optionId"]);
    "connections-renamed" PART RewriteKind::RenameConnections;
    "request-ids-as-texts" ID RewriteKind::RequestIds(IdForm::Text);
    "request-ids-large" ID RewriteKind::RequestIds(IdForm::Large);
    "request-ids-mixed" ID RewriteKind::RequestIds(IdForm::Mixed);
    "meta-everywhere" META RewriteKind::Agent(AcpRetelling::Meta(100));
    "meta-by-chance" META RewriteKind::Agent(AcpRetelling::Meta(40));
    "meta-null" META RewriteKind::Agent(AcpRetelling::MetaNull);
    "versions-with-fractions" FRACTION RewriteKind::Fractions(All, &["protocolVersion"]);
    "lines-with-fractions" FRACTION RewriteKind::Fractions(All, &["line", "limit", "outputByteLimit", "used", "size"]);
    "ids-with-fractions" FRACTION RewriteKind::Fractions(All, &["id"]);
    "json-spaced" JSON RewriteKind::Json(All, JsonForm::Spaced);
    "json-turned" JSON RewriteKind::Json(All, JsonForm::Turned);
    "json-sorted-by-chance" JSON RewriteKind::Json(Half, JsonForm::Sorted);
    "json-in-ascii" JSON RewriteKind::Json(All, JsonForm::Ascii);
    "json-escaped" JSON RewriteKind::Json(All, JsonForm::Escaped);
    "json-slashes-for-one-connection" JSON RewriteKind::Json(OneConnection, JsonForm::Slashes);
    "updates-split" STATE RewriteKind::Agent(AcpRetelling::SplitUpdates);
    "reports-split" STATE RewriteKind::Agent(AcpRetelling::SplitReports);
    "lists-repeated" STATE RewriteKind::Agent(AcpRetelling::RepeatLists);
    "states-repeated" STATE RewriteKind::Agent(AcpRetelling::RepeatState);
    "statuses-repeated" STATE RewriteKind::Agent(AcpRetelling::RepeatStatus);
    "progress-told" STATE RewriteKind::Agent(AcpRetelling::Progress);
    "nulls-in-updates" NULL RewriteKind::Agent(AcpRetelling::Nulls);
    "defaults-given" DEFAULT RewriteKind::Agent(AcpRetelling::Defaults);
    "defaults-left-out" DEFAULT RewriteKind::Agent(AcpRetelling::WithoutDefaults);
    "chunks-split" PIECES RewriteKind::Agent(AcpRetelling::SplitChunks);
    "chunks-merged" PIECES RewriteKind::Agent(AcpRetelling::MergeChunks);
    "chunks-with-message-ids" PIECES RewriteKind::Agent(AcpRetelling::MessageIds);
    "plans-told" MAY RewriteKind::Agent(AcpRetelling::Updates(&[PLAN, NO_PLAN]));
    "commands-told" MAY RewriteKind::Agent(AcpRetelling::Updates(&[COMMANDS]));
    "sessions-described" MAY RewriteKind::Agent(AcpRetelling::Updates(&[INFO, USAGE]));
    "thoughts-and-empty-texts" MAY RewriteKind::Agent(AcpRetelling::Chunks(&[THOUGHT, EMPTY, LINK]));
    "own-notifications" OWN RewriteKind::Agent(AcpRetelling::Notices(&["_x.check/tick", "$/x-check"]));
    "own-requests" OWN RewriteKind::Agent(AcpRetelling::OwnRequests);
    "options-turned" CHOICE RewriteKind::Agent(AcpRetelling::OptionsTurned);
    "one-more-option" CHOICE RewriteKind::Agent(AcpRetelling::MoreOptions);
    "turns-end-at-the-limit-of-tokens" REASON RewriteKind::Agent(AcpRetelling::StopReason("max_tokens"));
    "turns-end-at-the-limit-of-requests" REASON RewriteKind::Agent(AcpRetelling::StopReason("max_turn_requests"));
    "turns-end-with-a-refusal" REASON RewriteKind::Agent(AcpRetelling::StopReason("refusal"));
    "raw-output-of-any-kind" ANY RewriteKind::Agent(AcpRetelling::RawOutput);
    "errors-with-data" ANY RewriteKind::Agent(AcpRetelling::ErrorData);
    "errors-in-other-words" WORDS RewriteKind::Wording(&["error/message"]);
    "titles-in-other-words" WORDS RewriteKind::Wording(&["params/update/title", "params/toolCall/title"]);
    "options-in-other-words" WORDS RewriteKind::Wording(&["params/options/*/name"]);
    "the-agent-has-another-name" WORDS RewriteKind::Wording(&["result/agentInfo/name", "result/agentInfo/version"]);
    "recording-begun-earlier" TIME RewriteKind::Time(TimeForm::Later(86_400));
    "everything-half-as-fast" TIME RewriteKind::Time(TimeForm::Percent(200));
    "everything-ten-times-as-fast" TIME RewriteKind::Time(TimeForm::Percent(10));
    "a-pause" TIME RewriteKind::Time(TimeForm::Pause(30));
    "times-not-kept" PART RewriteKind::Time(TimeForm::Unknown);
    "frames-arrive-late" ORDER RewriteKind::Arrive(ArrivalForm::Late);
    "capture-begins-late" PART RewriteKind::Show(WindowForm::End);
    "capture-ends-early" PART RewriteKind::Show(WindowForm::Beginning);
    "capture-of-the-middle" PART RewriteKind::Show(WindowForm::Middle);
    "last-frame-cut-off" PART RewriteKind::Show(WindowForm::CutFrame);
    "another-session-meanwhile" COMPANY RewriteKind::Agent(AcpRetelling::AnotherSession);
    "another-connection-meanwhile" COMPANY RewriteKind::Agent(AcpRetelling::AnotherConnection);
}

/// Every rewrite of a conversation with an agent.
pub fn all() -> impl Iterator<Item = &'static LegalRewrite> {
    AGENT_REWRITES.iter()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn there_are_enough_rewrites_of_agents_with_names_of_their_own() {
        let names: HashSet<_> = all().map(|rewrite| rewrite.name).collect();
        assert_eq!(names.len(), all().count());
        assert!(names.len() >= 25, "{}", names.len());
    }
}
