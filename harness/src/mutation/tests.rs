//! Tests that each mechanism makes exactly the described change, on a conversation of two clients.

use super::capture::{MutableCapture, message_of};
use super::change::{ChangedCapture, FaultAudience, WireChange};
use super::evidence::FaultEvidence;
use super::operator::{OperatorTarget, PlaceCondition, TargetKind};
use super::operators;
use super::reading::{CaptureReading, EnvelopeSpot, FrameRole};
use super::rewrites;
use super::trial::{MutantFate, WireTrial};
use super::value_change::{ListChange, TextChange};
use crate::dice::Dice;
use crate::ledger::RequirementLedger;
use crate::verdict::Weight;
use crate::wire::json::Value;
use crate::wire::version::ProtocolStandard;

/// A conversation of two clients on one chat. Client A gets its snapshot first and dispatches drafts; A and B receive
/// the envelopes. Then B subscribes to the chat again, and both clients ping.
const TALK: &str = r#"
{"t":0.001,"conn":"A","dir":"open"}
{"t":0.002,"conn":"B","dir":"open"}
{"t":0.003,"conn":"A","dir":"c2s","msg":{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"channel":"ahp-root://","protocolVersions":["1.0.0"],"clientId":"a"}}}
{"t":0.004,"conn":"A","dir":"s2c","msg":{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"1.0.0","serverSeq":3,"snapshots":[]}}}
{"t":0.005,"conn":"B","dir":"c2s","msg":{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"channel":"ahp-root://","protocolVersions":["1.0.0"],"clientId":"b"}}}
{"t":0.006,"conn":"B","dir":"s2c","msg":{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"1.0.0","serverSeq":3,"snapshots":[]}}}
{"t":0.007,"conn":"A","dir":"c2s","msg":{"jsonrpc":"2.0","id":2,"method":"subscribe","params":{"channel":"ahp-chat:/c"}}}
{"t":0.008,"conn":"A","dir":"s2c","msg":{"jsonrpc":"2.0","id":2,"result":{"snapshot":{"resource":"ahp-chat:/c","state":{"resource":"ahp-chat:/c","title":"T","status":1,"modifiedAt":"2026-01-01T00:00:00.000Z","turns":[]},"fromSeq":3}}}}
{"t":0.009,"conn":"B","dir":"c2s","msg":{"jsonrpc":"2.0","id":2,"method":"subscribe","params":{"channel":"ahp-chat:/c"}}}
{"t":0.010,"conn":"B","dir":"s2c","msg":{"jsonrpc":"2.0","id":2,"result":{"snapshot":{"resource":"ahp-chat:/c","state":{"resource":"ahp-chat:/c","title":"T","status":1,"modifiedAt":"2026-01-01T00:00:00.000Z","turns":[]},"fromSeq":3}}}}
{"t":0.011,"conn":"A","dir":"c2s","msg":{"jsonrpc":"2.0","method":"dispatchAction","params":{"channel":"ahp-chat:/c","clientSeq":1,"action":{"type":"chat/draftChanged","draft":{"text":"one","origin":{"kind":"user"}}}}}}
{"t":0.012,"conn":"A","dir":"s2c","msg":{"jsonrpc":"2.0","method":"action","params":{"channel":"ahp-chat:/c","action":{"type":"chat/draftChanged","draft":{"text":"one","origin":{"kind":"user"}}},"serverSeq":4,"origin":{"clientId":"a","clientSeq":1}}}}
{"t":0.013,"conn":"B","dir":"s2c","msg":{"jsonrpc":"2.0","method":"action","params":{"channel":"ahp-chat:/c","action":{"type":"chat/draftChanged","draft":{"text":"one","origin":{"kind":"user"}}},"serverSeq":4,"origin":{"clientId":"a","clientSeq":1}}}}
{"t":0.014,"conn":"A","dir":"c2s","msg":{"jsonrpc":"2.0","method":"dispatchAction","params":{"channel":"ahp-chat:/c","clientSeq":2,"action":{"type":"chat/draftChanged","draft":{"text":"two","origin":{"kind":"user"}}}}}}
{"t":0.015,"conn":"A","dir":"s2c","msg":{"jsonrpc":"2.0","method":"action","params":{"channel":"ahp-chat:/c","action":{"type":"chat/draftChanged","draft":{"text":"two","origin":{"kind":"user"}}},"serverSeq":5,"origin":{"clientId":"a","clientSeq":2}}}}
{"t":0.016,"conn":"B","dir":"s2c","msg":{"jsonrpc":"2.0","method":"action","params":{"channel":"ahp-chat:/c","action":{"type":"chat/draftChanged","draft":{"text":"two","origin":{"kind":"user"}}},"serverSeq":5,"origin":{"clientId":"a","clientSeq":2}}}}
{"t":0.017,"conn":"B","dir":"c2s","msg":{"jsonrpc":"2.0","id":3,"method":"subscribe","params":{"channel":"ahp-chat:/c"}}}
{"t":0.018,"conn":"B","dir":"s2c","msg":{"jsonrpc":"2.0","id":3,"result":{"snapshot":{"resource":"ahp-chat:/c","state":{"resource":"ahp-chat:/c","title":"T","status":1,"modifiedAt":"2026-01-01T00:00:00.000Z","turns":[],"draft":{"text":"two","origin":{"kind":"user"}}},"fromSeq":5}}}}
{"t":13.000,"conn":"A","dir":"c2s","msg":{"jsonrpc":"2.0","id":3,"method":"ping","params":{"channel":"ahp-root://"}}}
{"t":13.001,"conn":"A","dir":"s2c","msg":{"jsonrpc":"2.0","id":3,"result":null}}
{"t":13.002,"conn":"B","dir":"c2s","msg":{"jsonrpc":"2.0","id":4,"method":"ping","params":{"channel":"ahp-root://"}}}
{"t":13.003,"conn":"B","dir":"s2c","msg":{"jsonrpc":"2.0","id":4,"result":null}}
"#;

/// The index of the line with B's copy of the second draft, and the index of the line with A's echo of the first draft.
const COPY: usize = 15;
const ECHO: usize = 11;

fn talk() -> MutableCapture {
    MutableCapture::read("talk", TALK.trim_start().as_bytes()).unwrap()
}

fn at(line: usize, base: &str) -> EnvelopeSpot {
    EnvelopeSpot { line, base: base.to_owned() }
}

fn apply(change: WireChange, spot: &EnvelopeSpot) -> ChangedCapture {
    let capture = talk();
    let reading = CaptureReading::of(&capture.lines);
    change.apply(&reading, spot, &mut Dice::seeded(1)).unwrap()
}

/// Returns the lines that differ; no line may have been added or removed.
fn differing(changed: &ChangedCapture) -> Vec<usize> {
    let before = talk().lines;
    assert_eq!(before.len(), changed.lines.len());
    (0..before.len()).filter(|line| before[*line] != changed.lines[*line]).collect()
}

fn value<'a>(changed: &'a ChangedCapture, line: usize, place: &str) -> &'a Value {
    message_of(&changed.lines[line]).unwrap().pointer(place).unwrap()
}

#[test]
fn the_conversation_is_clean_and_is_written_as_it_was_read() {
    let capture = talk();
    assert_eq!(capture.judge().heaviest(), None, "{}", capture.judge().message);
    assert_eq!(capture.text().lines().count(), TALK.trim().lines().count());
    assert_eq!(MutableCapture::read("talk", capture.text().as_bytes()).unwrap(), capture);
}

#[test]
fn frames_are_classified() {
    let capture = talk();
    let reading = CaptureReading::of(&capture.lines);
    let role = |line: usize| (reading.facts[line].role, reading.facts[line].name.as_str());
    assert_eq!(role(3), (FrameRole::Result, "initialize"));
    assert_eq!(role(10), (FrameRole::Dispatch, "chat/draftChanged"));
    assert_eq!(role(ECHO), (FrameRole::Action, "chat/draftChanged"));
    assert_eq!(reading.copies(&at(ECHO, "/params")).len(), 2);
    assert!(reading.has_twin(&at(ECHO, "/params")));
    assert!(reading.is_subscribed(1, "ahp-chat:/c", COPY));
    assert!(!reading.is_subscribed(1, "ahp-chat:/c", 8));
    assert_eq!(reading.fence(ECHO), Some(19));
}

#[test]
fn one_copy_or_all_are_changed() {
    let set = |audience| WireChange::Set(audience, "/serverSeq", "9");
    assert_eq!(differing(&apply(set(FaultAudience::One), &at(COPY, "/params"))), [COPY]);
    let all = apply(set(FaultAudience::All), &at(COPY, "/params"));
    assert_eq!(differing(&all), [COPY - 1, COPY]);
    assert_eq!(value(&all, COPY, "/params/serverSeq").as_u64(), Some(9));
    let gone = apply(WireChange::Drop(FaultAudience::All), &at(COPY, "/params"));
    assert_eq!(gone.lines.len(), talk().lines.len() - 2);
}

#[test]
fn members_are_changed_and_left_out() {
    let spot = at(COPY, "/params");
    let text = "/action/draft/text";
    let reworded = apply(WireChange::Reword(FaultAudience::One, text, TextChange::Cut), &spot);
    assert_eq!(value(&reworded, COPY, "/params/action/draft/text").as_str(), Some("tw"));
    let added = apply(WireChange::Add(FaultAudience::One, "/serverSeq", -2), &spot);
    assert_eq!(value(&added, COPY, "/params/serverSeq").as_u64(), Some(3));
    let removed = apply(WireChange::Remove(FaultAudience::One, "/origin"), &spot);
    assert_eq!(message_of(&removed.lines[COPY]).unwrap().pointer("/params/origin"), None);
    let listed = apply(
        WireChange::Relist(FaultAudience::One, "/protocolVersions", ListChange::Twice),
        &at(2, "/params"),
    );
    let versions = value(&listed, 2, "/params/protocolVersions").as_array();
    assert_eq!(versions.map(Vec::len), Some(2));
    // A member that does not exist cannot be changed.
    let capture = talk();
    let reading = CaptureReading::of(&capture.lines);
    let nowhere = WireChange::Reword(FaultAudience::One, "/action/title", TextChange::More);
    assert_eq!(nowhere.apply(&reading, &spot, &mut Dice::seeded(1)), None);
}

#[test]
fn an_inserted_action_has_a_number_of_its_own() {
    let changed = apply(WireChange::Again, &at(ECHO, "/params"));
    assert_eq!(changed.lines.len(), talk().lines.len() + 2);
    assert_eq!(value(&changed, ECHO, "/params/serverSeq").as_u64(), Some(4));
    assert_eq!(value(&changed, ECHO + 1, "/params/serverSeq").as_u64(), Some(5));
    // Later numbers, including those of snapshots, increase by one.
    assert_eq!(value(&changed, COPY + 2, "/params/serverSeq").as_u64(), Some(6));
    assert_eq!(value(&changed, COPY + 4, "/result/snapshot/fromSeq").as_u64(), Some(6));
    let template = r#"{"type":"chat/x","on":"$channel","was":"$draft.text","nobody":"$unknown"}"#;
    let filled = apply(WireChange::Insert(template), &at(ECHO, "/params"));
    let action = value(&filled, ECHO + 1, "/params/action");
    assert_eq!(action.get("on").and_then(Value::as_str), Some("ahp-chat:/c"));
    assert_eq!(action.get("was").and_then(Value::as_str), Some("one"));
}

#[test]
fn two_actions_change_places_and_keep_their_numbers() {
    let changed = apply(WireChange::SwapActions(FaultAudience::One), &at(ECHO + 1, "/params"));
    assert_eq!(differing(&changed), [ECHO + 1, COPY]);
    assert_eq!(value(&changed, COPY, "/params/action/draft/text").as_str(), Some("one"));
    assert_eq!(value(&changed, COPY, "/params/serverSeq").as_u64(), Some(5));
}

#[test]
fn evidence_of_a_mutation_is_recognised() {
    let capture = talk();
    let reading = CaptureReading::of(&capture.lines);
    let shown = |evidence: FaultEvidence, change: WireChange, spot: &EnvelopeSpot| {
        let changed = change.apply(&reading, spot, &mut Dice::seeded(1)).unwrap();
        evidence.is_there(&reading, spot, &changed)
    };
    let copy = at(COPY, "/params");
    let drop = WireChange::Drop(FaultAudience::One);
    assert!(shown(FaultEvidence::TwinAndFence, drop, &at(ECHO, "/params")));
    assert!(!shown(FaultEvidence::TwinAndFence, drop, &copy));
    assert!(shown(FaultEvidence::Wait, drop, &copy));
    // The last snapshot contains the second draft, but not the first draft.
    let reword = WireChange::Reword(FaultAudience::All, "/action/draft/text", TextChange::More);
    assert!(shown(FaultEvidence::State, reword, &copy));
    assert!(!shown(FaultEvidence::State, reword, &at(ECHO, "/params")));
    assert!(shown(FaultEvidence::Overtaken, drop, &at(ECHO, "/params")));
    assert!(!shown(FaultEvidence::Overtaken, drop, &at(COPY - 1, "/params")));
}

#[test]
fn conditions_choose_places() {
    let capture = talk();
    let reading = CaptureReading::of(&capture.lines);
    let found = |when: &'static [PlaceCondition]| {
        let target = OperatorTarget { kind: TargetKind::Action, names: &["chat/*"], when };
        target.spots(&reading).iter().map(|spot| spot.line).collect::<Vec<_>>()
    };
    assert_eq!(found(&[PlaceCondition::Echo]), [ECHO, COPY - 1]);
    assert_eq!(found(&[PlaceCondition::OthersOwn, PlaceCondition::Subscribed]), [ECHO + 1, COPY]);
    assert_eq!(found(&[PlaceCondition::HostMade]), [0; 0]);
    assert_eq!(found(&[PlaceCondition::Is("/action/draft/text", "\"two\"")]), [COPY - 1, COPY]);
}

#[test]
fn a_trial_reports_the_fate_of_each_mutant() {
    let trial = WireTrial::new(vec![talk()], 1, 8);
    let of = |name: &str| {
        let operator = operators::named(name).unwrap();
        trial.mutate(&[operator], &|_, _| {}, &|work| work()).remove(0)
    };
    let echo = of("echo-lost");
    assert_eq!(echo.of(MutantFate::Killed), 2, "{:?}", echo.mutants);
    // B's next snapshot contains the action that B did not receive.
    let lost = of("dispatch-lost-for-others");
    assert_eq!(lost.of(MutantFate::Undecidable), 2, "{:?}", lost.mutants);
    let differs = of("snapshot-draft-differs");
    assert_eq!(differs.of(MutantFate::Killed), 1);
}

#[test]
fn rewrites_change_something_and_are_found_legal() {
    let trial = WireTrial::new(vec![talk()], 3, 2);
    let wanted: Vec<_> = rewrites::of(ProtocolStandard::Ahp).collect();
    let results = trial.rewrite(&wanted, &|_, _| {}, &|work| work());
    let applied = results.iter().filter(|result| result.rewritten > 0).count();
    assert!(applied >= 40, "{applied}");
    let accused: Vec<_> = results.iter().flat_map(|result| &result.accused).collect();
    assert!(accused.is_empty(), "{accused:?}");
}

#[test]
fn mutants_that_break_only_notes_name_notes_of_the_ledger() {
    let all = operators::all().chain(operators::agents::all());
    let advice = all.filter_map(|operator| operator.advice);
    for requirement in advice {
        let row = RequirementLedger::look_up(requirement).expect(requirement);
        assert_eq!(row.weight, Weight::Note, "{requirement}");
    }
}
