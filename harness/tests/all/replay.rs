//! Tests that a run and its file lead to the same result: the recordings of the built-in scenarios are judged again
//! without a host. Also tests that the harness reports a file that was cut off at any place.

#![expect(clippy::unwrap_used, reason = "helpers of a test fail by panicking")]

use std::io::{self, Write};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use ahp_harness::host::engine::{HostConfig, RefHost};
use ahp_harness::host::protected;
use ahp_harness::report::event::{CaseReport, CaseStart, FORMAT, RunHeader, SourceText};
use ahp_harness::report::jsonl::RunWriter;
use ahp_harness::report::redact::SecretRedactor;
use ahp_harness::report::replay::judge;
use ahp_harness::run::detect::LookOptions;
use ahp_harness::run::output::DriverOutput;
use ahp_harness::run::play::{ScenarioPlay, ScenarioVerdict};
use ahp_harness::run::setup::CaseSetup;
use ahp_harness::run::sim;
use ahp_harness::run::suite::{CarriedFiles, ScenarioSuite, SuiteEntry};
use ahp_harness::verdict::FailOn;
use ahp_harness::wire::frame::Frame;
use ahp_harness::wire::json::{Value, json};
use ahp_harness::wire::message::Message;
use ahp_harness::wire::version::Version;
use proptest::prelude::*;
use proptest::sample::Index;

use crate::common::cases::cases;
use crate::common::priority;
use crate::common::suite::carried;

const EPOCH: Duration = Duration::from_secs(1_767_225_600);
const LIMIT: Duration = Duration::from_secs(5);

/// A file in memory, to which a run is written.
#[derive(Clone, Default)]
struct MemoryFile(Arc<Mutex<Vec<u8>>>);

impl Write for MemoryFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The recording of one scenario.
struct WrittenPlay {
    text: String,
    report: CaseReport,
}

fn played(entry: &SuiteEntry, version: Version) -> WrittenPlay {
    let config = sim::settings(&entry.scenario, 0, EPOCH);
    played_by(entry, version, |play| sim::play(play, &mut RefHost::new(config)))
}

/// Plays a scenario against a host of the test.
fn played_by(
    entry: &SuiteEntry,
    version: Version,
    host: impl FnOnce(ScenarioPlay) -> ScenarioVerdict,
) -> WrittenPlay {
    let sheet = MemoryFile::default();
    let redactor = SecretRedactor::new([protected::TOKEN.1.to_owned()], Vec::new());
    let writer = RunWriter::new(Box::new(sheet.clone()), redactor);
    let header = RunHeader {
        format: FORMAT,
        harness: "test".to_owned(),
        seed: 1,
        target: "embedded".into(),
        version,
        offers: vec![version],
        started: "2026-01-01T00:00:00Z".to_owned(),
        epoch_us: u64::try_from(EPOCH.as_micros()).unwrap(),
        limit_ms: u64::try_from(LIMIT.as_millis()).unwrap(),
        detected: {
            let mut host = RefHost::new(HostConfig::default());
            let found = sim::look(&mut host, LookOptions::offering(&[version])).detected.unwrap();
            found.into_iter().chain(sim::given()).collect()
        },
        ..RunHeader::default()
    };
    writer.about("header", &header);
    let text = |source: &ahp_harness::scenario::source::SourceFile| SourceText {
        name: source.name.clone(),
        text: source.text.to_string(),
    };
    let id = entry.scenario.id.clone();
    let sources = entry.sources.iter().map(text).collect();
    writer.about(
        "case",
        &CaseStart {
            case: 1,
            scenario: id.clone(),
            name: id.clone(),
            sources,
            ..CaseStart::default()
        },
    );
    let facts = sim::facts(&entry.scenario, version);
    let setup = CaseSetup { facts, ..CaseSetup::of(&entry.scenario, version, 1, EPOCH, LIMIT) };
    let verdict = host(ScenarioPlay::new(setup, false, writer.recorder(Some(1))));
    let report = CaseReport::of(1, entry, &verdict);
    writer.about("result", &report);
    writer.about("footer", &json!({}));
    writer.finish().unwrap();
    let bytes = sheet.0.lock().unwrap().clone();
    WrittenPlay { text: String::from_utf8(bytes).unwrap(), report }
}

/// Returns the recording of every built-in scenario, for each version to which it applies.
fn all() -> &'static [WrittenPlay] {
    priority::lower();
    static ALL: OnceLock<Vec<WrittenPlay>> = OnceLock::new();
    ALL.get_or_init(|| {
        let suite = carried();
        let of = |entry| Version::offered().iter().map(move |version| (entry, *version));
        let pairs = suite.entries.iter().flat_map(of);
        let held = pairs.filter(|(entry, version)| entry.scenario.spec.includes(*version));
        held.map(|(entry, version)| played(entry, version)).collect()
    })
}

#[test]
fn judging_the_file_gives_the_same_verdicts() {
    assert!(!all().is_empty());
    for WrittenPlay { text, report } in all() {
        let id = &report.scenario;
        let judged =
            judge(text.as_bytes(), None, FailOn::default()).unwrap_or_else(|e| panic!("{id}: {e}"));
        assert_eq!(judged.differences, Vec::<String>::new(), "{id}");
        assert_eq!(judged.notes, Vec::<String>::new(), "{id}");
        let [again] = judged.cases.as_slice() else {
            panic!("{id}: {} cases", judged.cases.len());
        };
        // The file does not contain the failures in the form that is drawn. The harness derives this form again from
        // the same sources.
        let messages = |report: &CaseReport| {
            let drawn = report.drawn.iter().map(|(_, failure)| failure.message.clone());
            drawn.collect::<Vec<_>>()
        };
        assert_eq!(messages(again), messages(report), "{id}");
        let plain = |report: &CaseReport| serde_json::to_value(report).unwrap();
        assert_eq!(plain(again), plain(report), "{id}");
    }
}

/// Returns a scenario whose last step is a wait that times out.
fn in_vain(more: &str) -> SuiteEntry {
    let text = format!(
        "scenario: mine/late\ntitle: t\nclients: [A]\nsteps:\n  - connect: A\n  - initialize: A\n{more}  \
         - expect: {{ at: A, type: chat/usage, proves: ping.response }}\n"
    );
    let mut suite = ScenarioSuite::of([("mine/late.yaml".to_owned(), text)], &CarriedFiles);
    assert!(suite.broken.is_empty(), "{:?}", suite.broken);
    suite.entries.pop().unwrap()
}

/// Plays against a host that answers every request, and that sends a message after each timeout. The message comes
/// `late` after the timeout was due, but before the scenario has processed the timeout.
fn speaks_late(mut play: ScenarioPlay, late: Duration) -> ScenarioVerdict {
    let mut now = Duration::ZERO;
    let mut conn = None;
    play.begin(now);
    loop {
        while let Some(output) = play.poll_output(now) {
            match output {
                DriverOutput::Open { conn: opened, .. } => {
                    conn = Some(opened);
                    play.opened(now, opened);
                }
                DriverOutput::Send { conn, seen } => {
                    let Some(message) = seen.message().filter(|it| it.id().is_some()) else {
                        continue;
                    };
                    let result = match message.method() {
                        Some("initialize") => {
                            json!({"protocolVersion": "1.0.0", "serverSeq": 0, "snapshots": []})
                        }
                        _ => Value::Null,
                    };
                    let answer = Message::success(message.id().cloned().unwrap(), result);
                    play.frame(now, conn, answer.frame());
                }
                _ => {}
            }
        }
        let Some(due) = play.next_timeout().filter(|_| !play.is_over()) else { break };
        now = due + late;
        let odd = json!({"jsonrpc": "2.0", "method": "x-late", "params": {}});
        match conn {
            Some(conn) => play.frame(now, conn, Frame::json(&odd)),
            None => play.timeout(now),
        }
    }
    play.finish()
}

#[test]
fn a_message_near_a_timeout_is_judged_in_the_recorded_order() {
    let again = "  - connect: A\n  - initialize: A\n";
    for more in ["", again] {
        for late in [0, 1, 50_000] {
            let host = |play| speaks_late(play, Duration::from_micros(late));
            let WrittenPlay { text, report } = played_by(&in_vain(more), Version::NEWEST, host);
            assert_eq!(report.reason, "client `A`: expected `chat/usage` within 5s, nothing came");
            let judged = judge(text.as_bytes(), None, FailOn::default()).unwrap();
            assert_eq!(judged.differences, Vec::<String>::new(), "{late} us\n{text}");
        }
    }
}

#[test]
fn a_client_that_connects_again_leaves_its_first_connection() {
    let again = "  - connect: A\n  - initialize: A\n";
    let WrittenPlay { text, report } = played(&in_vain(again), Version::NEWEST);
    let strays = report.checks.iter().find(|line| line.check == "jsonrpc.no-stray-response");
    assert!(strays.unwrap().findings.is_empty(), "{strays:?}");
    // The same file without the lines about the run, so that only the connection names distinguish the scenarios.
    let events = text.lines().filter(|line| !line.contains("\"run\":"));
    let bare: String = events.map(|line| line.replace("\"case\":1,", "") + "\n").collect();
    let judged = judge(bare.as_bytes(), None, FailOn::default()).unwrap();
    let strays = judged.summary.checks.get("jsonrpc.no-stray-response").unwrap();
    assert!(strays.observations > 0 && strays.findings == 0, "{strays:?}");
}

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn says_that_a_file_was_cut_off(which in any::<Index>(), line in any::<Index>()) {
        let WrittenPlay { text, .. } = which.get(all());
        let lines: Vec<&str> = text.lines().collect();
        let kept = 1 + line.index(lines.len() - 1);
        let cut = lines[..kept].join("\n");
        let judged = judge(cut.as_bytes(), None, FailOn::default());
        let judged = judged.map_err(|error| TestCaseError::fail(format!("{kept}: {error}")))?;
        prop_assert!(judged.notes.iter().any(|note| note.contains("cut off")), "{:?}", judged.notes);
        let ended = kept == lines.len() - 1;
        prop_assert_eq!(judged.cases.len(), usize::from(ended));
        prop_assert_eq!(judged.differences, Vec::<String>::new());
    }

    #[test]
    fn judging_a_damaged_file_does_not_panic(
        which in any::<Index>(),
        lines in proptest::collection::vec((any::<Index>(), 0..4_u8, any::<Index>()), 1..6),
    ) {
        let WrittenPlay { text, .. } = which.get(all());
        let mut kept: Vec<String> = text.lines().map(str::to_owned).collect();
        for (line, how, place) in lines {
            if kept.is_empty() {
                break;
            }
            let at = line.index(kept.len());
            match how {
                0 => drop(kept.remove(at)),
                1 => kept.insert(at, kept[at].clone()),
                2 => {
                    let other = place.index(kept.len());
                    kept.swap(at, other);
                }
                _ => {
                    let cut = place.index(kept[at].len() + 1);
                    let cut = (0..=cut).rev().find(|cut| kept[at].is_char_boundary(*cut));
                    kept[at].truncate(cut.unwrap_or(0));
                }
            }
        }
        // `judge` may refuse a file and name the line and the reason, but must not fail in any other way.
        if let Err(error) = judge(kept.join("\n").as_bytes(), None, FailOn::default()) {
            prop_assert!(error.line as usize <= kept.len().max(1));
        }
    }
}
