//! The table of legal rewrites. To add a rewrite, add a row.
//!
//! Knows: the vocabulary of the protocol. Never knows: the implementation of rewrites.
//!
//! Start at [`of`].

pub mod agents;
pub mod arrivals;
pub mod company;
pub mod names;
pub mod spelling;
pub(super) mod texts;

use arrivals::{ArrivalForm, TimeForm, WindowForm};
use company::CompanyForm;
use names::NumberForm;
use spelling::{IdForm, JsonForm, RewriteInstantForm};

use super::rewrite::FramePortion::{
    Actions, All, Half, Notices, OneConnection, Refusals, Results, Snapshots,
};
use super::rewrite::{LegalRewrite, RewriteKind};
use crate::wire::version::ProtocolStandard;

const ID: &str = "ids are opaque, and their creator chooses them";
const NUMBER: &str = "the numbers of actions only have to increase";
const EXTENSION: &str =
    "members that a version does not define are extensions, which clients ignore";
const INSTANT: &str = "ISO 8601 has several spellings of the same instant";
const FRACTION: &str = "in JSON, 1 and 1.0 are the same number";
const JSON: &str = "both strings are the same JSON value";
const PIECES: &str = "a host chooses how it splits text";
const WORDS: &str = "a host chooses the wording of human-readable strings";
const TIME: &str = "the protocol sets no times";
const ORDER: &str = "the protocol only orders messages of the same connection";
const PART: &str = "a capture may be incomplete";
const COMPANY: &str = "other clients may connect, disconnect and send requests at any time";

const fn row(name: &'static str, legal: &'static str, kind: RewriteKind) -> LegalRewrite {
    LegalRewrite { name, legal, kind }
}

/// Defines a table of rewrites: each line is a name, the reason why the result is legal, and the kind of
/// rewrite. The table is a macro because the formatter would otherwise break each row into several lines.
macro_rules! rewrite_table {
    ($table:ident: $($name:literal $legal:ident $kind:expr;)*) => {
        pub(super) const $table: &[$crate::mutation::rewrite::LegalRewrite] =
            &[$($crate::mutation::rewrites::row($name, $legal, $kind),)*];
    };
}
use rewrite_table;

// The rewrites that are legal for hosts and for agents.
rewrite_table! { SHARED:
    "calls-renamed" ID RewriteKind::Rename(&["toolCallId"]);
    "connections-renamed" PART RewriteKind::RenameConnections;
    "request-ids-as-texts" ID RewriteKind::RequestIds(IdForm::Text);
    "request-ids-large" ID RewriteKind::RequestIds(IdForm::Large);
    "request-ids-mixed" ID RewriteKind::RequestIds(IdForm::Mixed);
    "json-spaced" JSON RewriteKind::Json(All, JsonForm::Spaced);
    "json-turned" JSON RewriteKind::Json(All, JsonForm::Turned);
    "json-sorted-by-chance" JSON RewriteKind::Json(Half, JsonForm::Sorted);
    "json-in-ascii" JSON RewriteKind::Json(All, JsonForm::Ascii);
    "json-escaped" JSON RewriteKind::Json(All, JsonForm::Escaped);
    "json-slashes-for-one-connection" JSON RewriteKind::Json(OneConnection, JsonForm::Slashes);
    "errors-in-other-words" WORDS RewriteKind::Wording(&["error/message"]);
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
}

// The rewrites that are legal only for hosts.
rewrite_table! { OF_HOSTS:
    "clients-renamed" ID RewriteKind::Rename(&["clientId"]);
    "turns-renamed" ID RewriteKind::Rename(&["turnId"]);
    "parts-renamed" ID RewriteKind::Rename(&["partId"]);
    "questions-renamed" ID RewriteKind::Rename(&["requestId", "questionId"]);
    "chats-renamed" ID RewriteKind::Rename(&["chat", "defaultChat"]);
    "channels-renamed" ID RewriteKind::Rename(&["resource", "session"]);
    "commands-renamed" ID RewriteKind::Rename(&["commandId", "operationId", "annotationId", "entryId"]);
    "tokens-of-progress-renamed" ID RewriteKind::Rename(&["progressToken"]);
    "runs-renamed" ID RewriteKind::Rename(&["run", "automation", "primarySession"]);
    "everything-renamed" ID RewriteKind::Rename(&["clientId", "turnId", "partId", "toolCallId", "requestId", "chat", "session", "resource"]);
    "numbers-shifted" NUMBER RewriteKind::Renumber(NumberForm::Shifted(1_000));
    "numbers-far-shifted" NUMBER RewriteKind::Renumber(NumberForm::Shifted(1 << 50));
    "numbers-doubled" NUMBER RewriteKind::Renumber(NumberForm::Times(2));
    "numbers-in-thousands" NUMBER RewriteKind::Renumber(NumberForm::Times(1_000));
    "numbers-with-gaps" NUMBER RewriteKind::Renumber(NumberForm::Gaps);
    "client-numbers-shifted" NUMBER RewriteKind::ClientNumbers(100);
    "client-numbers-large" NUMBER RewriteKind::ClientNumbers(1 << 40);
    "extension-everywhere" EXTENSION RewriteKind::Extend(All, None);
    "extension-in-actions" EXTENSION RewriteKind::Extend(Actions, None);
    "extension-in-snapshots" EXTENSION RewriteKind::Extend(Snapshots, None);
    "extension-in-results" EXTENSION RewriteKind::Extend(Results, None);
    "extension-in-notices" EXTENSION RewriteKind::Extend(Notices, None);
    "extension-in-errors" EXTENSION RewriteKind::Extend(Refusals, None);
    "extension-in-envelopes" EXTENSION RewriteKind::Extend(Actions, Some("params"));
    "extension-in-the-action" EXTENSION RewriteKind::Extend(All, Some("action"));
    "extension-in-origins" EXTENSION RewriteKind::Extend(All, Some("origin"));
    "extension-in-messages" EXTENSION RewriteKind::Extend(All, Some("message"));
    "extension-in-parts" EXTENSION RewriteKind::Extend(All, Some("part"));
    "extension-in-tool-calls" EXTENSION RewriteKind::Extend(All, Some("toolCall"));
    "extension-in-states" EXTENSION RewriteKind::Extend(All, Some("state"));
    "extension-in-summaries" EXTENSION RewriteKind::Extend(All, Some("summary"));
    "extension-in-entries-of-lists" EXTENSION RewriteKind::Extend(All, Some("chats"));
    "instants-short" INSTANT RewriteKind::Instants(All, RewriteInstantForm::Short);
    "instants-to-the-microsecond" INSTANT RewriteKind::Instants(All, RewriteInstantForm::Micro);
    "instants-to-the-nanosecond" INSTANT RewriteKind::Instants(All, RewriteInstantForm::Nano);
    "instants-with-an-offset" INSTANT RewriteKind::Instants(All, RewriteInstantForm::Offset);
    "instants-of-another-zone" INSTANT RewriteKind::Instants(All, RewriteInstantForm::Ahead);
    "instants-short-in-snapshots" INSTANT RewriteKind::Instants(Snapshots, RewriteInstantForm::Short);
    "instants-with-an-offset-in-actions" INSTANT RewriteKind::Instants(Actions, RewriteInstantForm::Offset);
    "instants-by-chance" INSTANT RewriteKind::Instants(Half, RewriteInstantForm::Micro);
    "instants-of-one-connection" INSTANT RewriteKind::Instants(OneConnection, RewriteInstantForm::Ahead);
    "action-numbers-with-fractions" FRACTION RewriteKind::Fractions(All, &["serverSeq"]);
    "snapshot-numbers-with-fractions" FRACTION RewriteKind::Fractions(All, &["fromSeq"]);
    "statuses-with-fractions" FRACTION RewriteKind::Fractions(All, &["status"]);
    "durations-with-fractions" FRACTION RewriteKind::Fractions(All, &["duration", "durationMs", "timestamp"]);
    "counts-with-fractions" FRACTION RewriteKind::Fractions(Half, &["activeSessions", "inputTokens", "outputTokens", "cols", "rows", "exitCode"]);
    "client-numbers-with-fractions" FRACTION RewriteKind::Fractions(All, &["clientSeq"]);
    "fractions-of-one-connection" FRACTION RewriteKind::Fractions(OneConnection, &["status", "duration", "activeSessions"]);
    "json-on-lines" JSON RewriteKind::Json(All, JsonForm::Lines);
    "json-padded" JSON RewriteKind::Json(Half, JsonForm::Padded);
    "deltas-split" PIECES RewriteKind::Split("chat/delta", "content");
    "reasoning-split" PIECES RewriteKind::Split("chat/reasoning", "content");
    "call-input-split" PIECES RewriteKind::Split("chat/toolCallDelta", "content");
    "output-split" PIECES RewriteKind::Split("terminal/data", "data");
    "deltas-merged" PIECES RewriteKind::Merge("chat/delta", "content");
    "call-input-merged" PIECES RewriteKind::Merge("chat/toolCallDelta", "content");
    "reasons-in-other-words" WORDS RewriteKind::Wording(&["params/rejectionReason", "result/actions/*/rejectionReason"]);
    "the-host-has-another-name" WORDS RewriteKind::Wording(&["result/serverInfo/name", "result/serverInfo/version"]);
    "a-long-pause" TIME RewriteKind::Time(TimeForm::Pause(3_600));
    "frames-sent-early" ORDER RewriteKind::Arrive(ArrivalForm::Early);
    "frames-arrive-together" ORDER RewriteKind::Arrive(ArrivalForm::Batches);
    "capture-without-one" PART RewriteKind::Show(WindowForm::WithoutOne);
    "capture-of-one" PART RewriteKind::Show(WindowForm::OnlyOne);
    "connection-dropped" COMPANY RewriteKind::Show(WindowForm::Dropped);
    "closes-not-recorded" PART RewriteKind::Show(WindowForm::WithoutCloses);
    "a-client-that-pings" COMPANY RewriteKind::Join(CompanyForm::Pinging(900));
    "a-client-that-pings-often" COMPANY RewriteKind::Join(CompanyForm::Pinging(50));
    "a-stranger-that-pings" COMPANY RewriteKind::Join(CompanyForm::PingingStranger(900));
    "a-silent-connection" COMPANY RewriteKind::Join(CompanyForm::Silent);
    "a-client-that-listens" COMPANY RewriteKind::Join(CompanyForm::Listening);
    "pings-between" COMPANY RewriteKind::Join(CompanyForm::PingsBetween);
    "unknown-methods-between" COMPANY RewriteKind::Join(CompanyForm::AskingForTheUnknown);
}

/// Returns the rewrites that apply to conversations of this protocol: with hosts (AHP) or with agents (ACP).
pub fn of(standard: ProtocolStandard) -> impl Iterator<Item = &'static LegalRewrite> {
    let own = if standard == ProtocolStandard::Acp { agents::OF_AGENTS } else { OF_HOSTS };
    SHARED.iter().chain(own)
}

/// Returns the rewrites that are also legal if clients are judged. The clients that the other rewrites add do not
/// subscribe to the root channel, as clients should.
pub fn of_clients() -> impl Iterator<Item = &'static LegalRewrite> {
    of(ProtocolStandard::Ahp).filter(|rewrite| {
        !matches!(rewrite.kind, RewriteKind::Join(CompanyForm::Pinging(_) | CompanyForm::Listening))
    })
}

/// Returns the rewrite of this name.
pub fn named(name: &str) -> Option<&'static LegalRewrite> {
    all().find(|rewrite| rewrite.name == name)
}

fn all() -> impl Iterator<Item = &'static LegalRewrite> {
    [SHARED, OF_HOSTS, agents::OF_AGENTS].into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::mutation::acp::rewrite::AcpRewrite;
    use crate::wire::json::Value;

    #[test]
    fn names_of_rewrites_are_unique() {
        let names: HashSet<_> = all().map(|rewrite| rewrite.name).collect();
        assert_eq!(names.len(), all().count());
    }

    #[test]
    fn updates_are_json() {
        for rewrite in all() {
            let RewriteKind::Agent(AcpRewrite::Updates(texts) | AcpRewrite::Chunks(texts)) =
                rewrite.kind
            else {
                continue;
            };
            for text in texts {
                assert!(Value::read(text).is_ok(), "{}: {text}", rewrite.name);
            }
        }
    }

    #[test]
    fn there_are_enough_rewrites_for_hosts_and_for_agents() {
        for (standard, least) in [(ProtocolStandard::Ahp, 60), (ProtocolStandard::Acp, 25)] {
            let count = of(standard).count();
            assert!(count >= least, "{standard:?}: {count}");
        }
    }
}
