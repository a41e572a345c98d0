//! Every legal rewrite. To add one, add a row.
//!
//! Knows: the words of the protocol. Never knows: how a conversation is told otherwise.
//!
//! Start at [`all`].

pub mod arrivals;
pub mod company;
pub mod names;
pub mod spelling;
pub(super) mod texts;

use arrivals::{ArrivalForm, TimeForm, WindowForm};
use company::CompanyForm;
use names::NumberForm;
use spelling::{IdForm, InstantForm, JsonForm};

use super::rewrite::Portion::{
    Actions, All, Half, Notices, OneConnection, Refusals, Results, Snapshots,
};
use super::rewrite::{LegalRewrite, Retelling};

const ID: &str = "ids are opaque, and whoever makes them chooses them";
const NUMBER: &str = "numbers of actions only have to grow";
const EXTENSION: &str =
    "members that a version does not know are extensions, which clients pass over";
const INSTANT: &str = "ISO 8601 has many forms for one point in time";
const FRACTION: &str = "JSON does not tell whole numbers with a fraction of zero from others";
const JSON: &str = "JSON does not tell these texts apart";
const PIECES: &str = "in how many pieces a text comes is the host's choice";
const WORDS: &str = "texts for people are the host's choice";
const TIME: &str = "the protocol gives no times";
const ORDER: &str = "the protocol orders what stands on one connection";
const PART: &str = "a capture shows what was recorded";
const COMPANY: &str = "other clients may come, go and ask what they want";

const fn row(name: &'static str, legal: &'static str, retelling: Retelling) -> LegalRewrite {
    LegalRewrite { name, legal, retelling }
}

/// A table of rewrites, one a line: the macro keeps the lines as they are.
macro_rules! rewrite_table {
    ($($name:literal $legal:ident $retelling:expr;)*) => {
        const REWRITES: &[LegalRewrite] = &[$(row($name, $legal, $retelling),)*];
    };
}

rewrite_table! {
    "clients-renamed" ID Retelling::Rename(&["clientId"]);
    "turns-renamed" ID Retelling::Rename(&["turnId"]);
    "parts-renamed" ID Retelling::Rename(&["partId"]);
    "calls-renamed" ID Retelling::Rename(&["toolCallId"]);
    "questions-renamed" ID Retelling::Rename(&["requestId", "questionId"]);
    "chats-renamed" ID Retelling::Rename(&["chat", "defaultChat"]);
    "channels-renamed" ID Retelling::Rename(&["resource", "session"]);
    "commands-renamed" ID Retelling::Rename(&["commandId", "operationId", "annotationId", "entryId"]);
    "tokens-of-progress-renamed" ID Retelling::Rename(&["progressToken"]);
    "runs-renamed" ID Retelling::Rename(&["run", "automation", "primarySession"]);
    "everything-renamed" ID Retelling::Rename(&["clientId", "turnId", "partId", "toolCallId", "requestId", "chat", "session", "resource"]);
    "connections-renamed" PART Retelling::RenameConnections;
    "request-ids-as-texts" ID Retelling::RequestIds(IdForm::Text);
    "request-ids-large" ID Retelling::RequestIds(IdForm::Large);
    "request-ids-mixed" ID Retelling::RequestIds(IdForm::Mixed);
    "numbers-shifted" NUMBER Retelling::Renumber(NumberForm::Shifted(1_000));
    "numbers-far-shifted" NUMBER Retelling::Renumber(NumberForm::Shifted(1 << 50));
    "numbers-doubled" NUMBER Retelling::Renumber(NumberForm::Times(2));
    "numbers-in-thousands" NUMBER Retelling::Renumber(NumberForm::Times(1_000));
    "numbers-with-gaps" NUMBER Retelling::Renumber(NumberForm::Gaps);
    "client-numbers-shifted" NUMBER Retelling::ClientNumbers(100);
    "client-numbers-large" NUMBER Retelling::ClientNumbers(1 << 40);
    "extension-everywhere" EXTENSION Retelling::Extend(All, None);
    "extension-in-actions" EXTENSION Retelling::Extend(Actions, None);
    "extension-in-snapshots" EXTENSION Retelling::Extend(Snapshots, None);
    "extension-in-results" EXTENSION Retelling::Extend(Results, None);
    "extension-in-notices" EXTENSION Retelling::Extend(Notices, None);
    "extension-in-errors" EXTENSION Retelling::Extend(Refusals, None);
    "extension-in-envelopes" EXTENSION Retelling::Extend(Actions, Some("params"));
    "extension-in-the-action" EXTENSION Retelling::Extend(All, Some("action"));
    "extension-in-origins" EXTENSION Retelling::Extend(All, Some("origin"));
    "extension-in-messages" EXTENSION Retelling::Extend(All, Some("message"));
    "extension-in-parts" EXTENSION Retelling::Extend(All, Some("part"));
    "extension-in-tool-calls" EXTENSION Retelling::Extend(All, Some("toolCall"));
    "extension-in-states" EXTENSION Retelling::Extend(All, Some("state"));
    "extension-in-summaries" EXTENSION Retelling::Extend(All, Some("summary"));
    "extension-in-entries-of-lists" EXTENSION Retelling::Extend(All, Some("chats"));
    "instants-short" INSTANT Retelling::Instants(All, InstantForm::Short);
    "instants-to-the-microsecond" INSTANT Retelling::Instants(All, InstantForm::Micro);
    "instants-to-the-nanosecond" INSTANT Retelling::Instants(All, InstantForm::Nano);
    "instants-with-an-offset" INSTANT Retelling::Instants(All, InstantForm::Offset);
    "instants-of-another-zone" INSTANT Retelling::Instants(All, InstantForm::Ahead);
    "instants-short-in-snapshots" INSTANT Retelling::Instants(Snapshots, InstantForm::Short);
    "instants-with-an-offset-in-actions" INSTANT Retelling::Instants(Actions, InstantForm::Offset);
    "instants-by-chance" INSTANT Retelling::Instants(Half, InstantForm::Micro);
    "instants-of-one-connection" INSTANT Retelling::Instants(OneConnection, InstantForm::Ahead);
    "action-numbers-with-fractions" FRACTION Retelling::Fractions(All, &["serverSeq"]);
    "snapshot-numbers-with-fractions" FRACTION Retelling::Fractions(All, &["fromSeq"]);
    "statuses-with-fractions" FRACTION Retelling::Fractions(All, &["status"]);
    "durations-with-fractions" FRACTION Retelling::Fractions(All, &["duration", "durationMs", "timestamp"]);
    "counts-with-fractions" FRACTION Retelling::Fractions(Half, &["activeSessions", "inputTokens", "outputTokens", "cols", "rows", "exitCode"]);
    "client-numbers-with-fractions" FRACTION Retelling::Fractions(All, &["clientSeq"]);
    "fractions-of-one-connection" FRACTION Retelling::Fractions(OneConnection, &["status", "duration", "activeSessions"]);
    "json-spaced" JSON Retelling::Json(All, JsonForm::Spaced);
    "json-on-lines" JSON Retelling::Json(All, JsonForm::Lines);
    "json-padded" JSON Retelling::Json(Half, JsonForm::Padded);
    "json-turned" JSON Retelling::Json(All, JsonForm::Turned);
    "json-sorted-by-chance" JSON Retelling::Json(Half, JsonForm::Sorted);
    "json-in-ascii" JSON Retelling::Json(All, JsonForm::Ascii);
    "json-escaped" JSON Retelling::Json(All, JsonForm::Escaped);
    "json-slashes-for-one-connection" JSON Retelling::Json(OneConnection, JsonForm::Slashes);
    "deltas-split" PIECES Retelling::Split("chat/delta", "content");
    "reasoning-split" PIECES Retelling::Split("chat/reasoning", "content");
    "call-input-split" PIECES Retelling::Split("chat/toolCallDelta", "content");
    "output-split" PIECES Retelling::Split("terminal/data", "data");
    "deltas-merged" PIECES Retelling::Merge("chat/delta", "content");
    "call-input-merged" PIECES Retelling::Merge("chat/toolCallDelta", "content");
    "reasons-in-other-words" WORDS Retelling::Wording(&["params/rejectionReason", "result/actions/*/rejectionReason"]);
    "errors-in-other-words" WORDS Retelling::Wording(&["error/message"]);
    "the-host-has-another-name" WORDS Retelling::Wording(&["result/serverInfo/name", "result/serverInfo/version"]);
    "recording-begun-earlier" TIME Retelling::Time(TimeForm::Later(86_400));
    "everything-half-as-fast" TIME Retelling::Time(TimeForm::Percent(200));
    "everything-ten-times-as-fast" TIME Retelling::Time(TimeForm::Percent(10));
    "a-pause" TIME Retelling::Time(TimeForm::Pause(30));
    "a-long-pause" TIME Retelling::Time(TimeForm::Pause(3_600));
    "times-not-kept" PART Retelling::Time(TimeForm::Unknown);
    "frames-arrive-late" ORDER Retelling::Arrive(ArrivalForm::Late);
    "frames-sent-early" ORDER Retelling::Arrive(ArrivalForm::Early);
    "frames-arrive-together" ORDER Retelling::Arrive(ArrivalForm::Batches);
    "capture-begins-late" PART Retelling::Show(WindowForm::End);
    "capture-ends-early" PART Retelling::Show(WindowForm::Beginning);
    "capture-of-the-middle" PART Retelling::Show(WindowForm::Middle);
    "capture-without-one" PART Retelling::Show(WindowForm::WithoutOne);
    "capture-of-one" PART Retelling::Show(WindowForm::OnlyOne);
    "connection-dropped" COMPANY Retelling::Show(WindowForm::Dropped);
    "closes-not-recorded" PART Retelling::Show(WindowForm::WithoutCloses);
    "last-frame-cut-off" PART Retelling::Show(WindowForm::CutFrame);
    "a-client-that-pings" COMPANY Retelling::Join(CompanyForm::Pinging(900));
    "a-client-that-pings-often" COMPANY Retelling::Join(CompanyForm::Pinging(50));
    "a-stranger-that-pings" COMPANY Retelling::Join(CompanyForm::PingingStranger(900));
    "a-silent-connection" COMPANY Retelling::Join(CompanyForm::Silent);
    "a-client-that-listens" COMPANY Retelling::Join(CompanyForm::Listening);
    "pings-between" COMPANY Retelling::Join(CompanyForm::PingsBetween);
    "unknown-methods-between" COMPANY Retelling::Join(CompanyForm::AskingForTheUnknown);
}

/// Every rewrite.
pub fn all() -> impl Iterator<Item = &'static LegalRewrite> {
    REWRITES.iter()
}

/// The rewrite of a name.
pub fn named(name: &str) -> Option<&'static LegalRewrite> {
    all().find(|rewrite| rewrite.name == name)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn there_are_enough_rewrites_with_names_of_their_own() {
        let names: HashSet<_> = all().map(|rewrite| rewrite.name).collect();
        assert_eq!(names.len(), all().count());
        assert!(names.len() >= 60, "{}", names.len());
    }
}
