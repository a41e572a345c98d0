//! Tests of the built-in suite: the suite has no mistakes, names the requirements that it proves, and passes on
//! the reference host.

#![expect(clippy::unwrap_used, reason = "helpers of a test fail by panicking")]

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ahp_harness::agent::mode::AgentMode;
use ahp_harness::host::engine::{HostConfig, RefHost};
use ahp_harness::ledger::RequirementLedger;
use ahp_harness::report::event::CaseReport;
use ahp_harness::report::places::ShownPlaces;
use ahp_harness::report::summary::RunSummary;
use ahp_harness::run::detect::DetectedFeature;
use ahp_harness::run::mutants::playable;
use ahp_harness::run::plan::{HostRestarts, TargetAbilities, plan};
use ahp_harness::run::play::{CountingRecorder, ScenarioPlay, TranscriptRecorder};
use ahp_harness::run::setup::CaseSetup;
use ahp_harness::run::sim;
use ahp_harness::run::suite::{CARRIED, SuiteEntry};
use ahp_harness::scenario::schema;
use ahp_harness::transcript::ConnectionEvent;
use ahp_harness::verdict::{FailOn, Status, Weight};
use ahp_harness::wire::places::PlaceKind;
use ahp_harness::wire::protocol::Protocol;
use ahp_harness::wire::version::{PUBLISHED, Version};

use crate::common::priority;
use crate::common::suite::carried;

/// A recorder of the places in the protocol tables that occur in a scenario.
struct ShownTables {
    lines: u64,
    case: String,
    shown: Arc<Mutex<ShownPlaces>>,
}

impl TranscriptRecorder for ShownTables {
    fn record(&mut self, _at: Duration, client: &str, event: &ConnectionEvent) -> u64 {
        self.lines += 1;
        self.shown.lock().unwrap().event(&format!("{} {client}", self.case), event);
        self.lines
    }
}

fn play(entry: &SuiteEntry, version: Version, shown: &Arc<Mutex<ShownPlaces>>) -> CaseReport {
    let epoch = Duration::from_millis(HostConfig::default().epoch_ms);
    let setup = CaseSetup {
        facts: sim::facts(&entry.scenario, version),
        ..CaseSetup::of(&entry.scenario, version, 1, epoch, Duration::from_secs(2))
    };
    let config = sim::settings(&entry.scenario, 0, epoch);
    let case = entry.scenario.id.clone();
    let showing = ShownTables { lines: 0, case, shown: Arc::clone(shown) };
    let play = ScenarioPlay::new(setup, false, Box::new(showing));
    let config = sim::speaking(config, version);
    CaseReport::of(0, entry, &sim::play(play, &mut RefHost::new(config)))
}

/// The earliest versions. At these versions, every place of the protocol tables must occur in the suite.
const WHOLE: &[Version] = &[Version::V0_1, Version::V0_2];
/// The kinds of places that must occur in the suite in every version: each action is accepted, dispatched by clients if
/// this is permitted, and refused.
const ACTIONS: &[PlaceKind] = &[PlaceKind::Accepted, PlaceKind::FromClient, PlaceKind::Refused];

#[test]
fn the_suite_has_no_mistakes() {
    let suite = carried();
    let mistakes: Vec<_> = suite
        .broken
        .iter()
        .flat_map(|loaded| loaded.errors.iter().map(|e| format!("{}: {e}", loaded.sources[0].name)))
        .collect();
    assert_eq!(mistakes, Vec::<String>::new());
    assert!(!suite.entries.is_empty());
}

/// Scenarios for hosts that make different choices from the reference host. On the reference host, these scenarios
/// apply only with an injected fault, or do not apply at all.
const OTHERWISE: [&str; 2] =
    ["automations/who-offers-none-serves-none", "context/a-resumed-turn-has-one-prompt"];

/// Returns the expected status of a scenario on the reference host.
fn expected(scenario: &str) -> Status {
    if OTHERWISE.contains(&scenario) { Status::Skip } else { Status::Pass }
}

#[test]
fn the_suite_passes_on_the_reference_host_at_every_version() {
    priority::lower();
    let suite = carried();
    let mut wrong = Vec::new();
    for version in Version::played() {
        let mut summary = RunSummary::new(FailOn::Should);
        let entries = playable(suite, *version);
        assert!(entries.len() > 100, "{version}: {}", entries.len());
        let shown = Arc::new(Mutex::new(ShownPlaces::of(Protocol::of(*version).unwrap())));
        for entry in &entries {
            let report = play(entry, *version, &shown);
            summary.add(&report);
            if report.status != expected(&report.scenario) {
                let reason = report.reason.lines();
                wrong.push(format!("{version} {}: {:?} {reason}", report.scenario, report.status));
            }
            for note in &report.notes {
                wrong.push(format!("{version} {}: {}", report.scenario, note.lines()));
            }
        }
        for (check, total) in &summary.checks {
            let heavy = |finding: &&(String, _)| -> bool {
                let (_, finding): &(String, ahp_harness::report::event::FindingLine) = finding;
                finding.weight > Weight::Note
            };
            for (scenario, finding) in total.shown.iter().filter(heavy) {
                wrong.push(format!("{version} {scenario}: {check}: {}", finding.message.lines()));
            }
        }
        let shown = shown.lock().unwrap();
        let whole = WHOLE.contains(version);
        for (place, why) in shown.lacking() {
            if why.is_none() && (whole || ACTIONS.contains(&place.kind)) {
                wrong.push(format!("{version}: never seen: {}", place.name));
            }
        }
        for place in shown.stale() {
            wrong.push(format!(
                "{version}: seen, although protocol/unseen.json says that it cannot occur: {}",
                place.name
            ));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// Checks that a client of another version on the same host changes no result.
#[test]
fn a_client_of_another_version_changes_no_verdict() {
    priority::lower();
    let suite = carried();
    let versions =
        ["1.0.0", "0.9.0", "0.8.0", "0.2.0", "0.1.0", "1"].map(|text| text.parse().unwrap());
    let anybodys =
        |it: &&SuiteEntry| it.scenario.host.is_empty() && it.scenario.embedded_only.is_none();
    for version in [Version::V1_0, Version::V0_2] {
        for entry in playable(suite, version).iter().filter(anybodys) {
            let epoch = Duration::from_millis(HostConfig::default().epoch_ms);
            let setup = CaseSetup {
                facts: sim::facts(&entry.scenario, version),
                ..CaseSetup::of(&entry.scenario, version, 1, epoch, Duration::from_secs(2))
            };
            let play = ScenarioPlay::new(setup, false, Box::new(CountingRecorder::default()));
            let config = sim::settings(&entry.scenario, 1, epoch);
            let config = HostConfig { versions: versions.to_vec(), ..config };
            let verdict = sim::play(play, &mut RefHost::new(config));
            let id = &entry.scenario.id;
            assert_eq!(verdict.status, expected(id), "{version} {id}: {}", verdict.reason);
            let heavy = |report: &&ahp_harness::verdict::CheckReport| {
                report.findings.iter().any(|finding| finding.weight > Weight::Note)
            };
            let broken = verdict.checks.iter().find(heavy).map(|report| report.check);
            assert_eq!(broken, None, "{version} {id}");
        }
    }
}

#[test]
fn every_scenario_proves_known_requirements() {
    for entry in &carried().entries {
        let scenario = &entry.scenario;
        assert!(!scenario.proves.is_empty(), "{} cites no requirement", scenario.id);
        for id in &scenario.proves {
            assert!(
                RequirementLedger::look_up(id).is_some(),
                "{}: no requirement `{id}`",
                scenario.id
            );
        }
    }
}

#[test]
fn every_file_is_found() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios");
    let mut found = 0;
    let mut folders = vec![folder];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            // The vectors of reducers are not scenarios; another test checks the vectors.
            if path.is_dir() && !path.ends_with("reducers") {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "yaml") {
                found += 1;
            }
        }
    }
    assert_eq!(CARRIED.len(), found, "the binary contains a different number of files");
}

#[test]
fn the_schema_for_editors_equals_the_generated_one() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios/scenario.schema.json");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, schema::text()).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap();
    let schema = schema::text();
    let differs = kept.lines().zip(schema.lines()).find(|(kept, made)| kept != made);
    // The schema is long, so the failure shows only the first difference.
    assert!(
        kept == schema,
        "scenarios/scenario.schema.json: expected the generated schema, found a difference at {differs:?} (hint: \
         `UPDATE=1 cargo test --test all -- scenarios::the_schema` writes it again)"
    );
}

/// Checks that only few scenarios are restricted to the embedded host, and that no requirement of a high weight depends
/// on them.
#[test]
fn few_scenarios_are_for_the_embedded_host_alone() {
    let suite = carried();
    let is_own = |entry: &&SuiteEntry| entry.scenario.embedded_only.is_some();
    let (own, others): (Vec<&SuiteEntry>, Vec<&SuiteEntry>) =
        suite.entries.iter().partition(is_own);
    assert!((1..=10).contains(&own.len()), "{} scenarios", own.len());
    for entry in own {
        let scenario = &entry.scenario;
        let reason = scenario.embedded_only.as_deref().unwrap_or_default();
        assert!(reason.split_whitespace().count() > 5, "{}: {reason}", scenario.id);
        let versions = PUBLISHED.iter().filter(|it| scenario.spec.includes(**it));
        for version in versions {
            let weighs = |id: &&String| scenario.weight(*version, id) >= Weight::Essential;
            for id in scenario.proves.iter().filter(weighs) {
                let elsewhere = others.iter().any(|other| {
                    other.scenario.proves.contains(id) && other.scenario.spec.includes(*version)
                });
                assert!(elsewhere, "only {} tests `{id}` at {version}", scenario.id);
            }
        }
    }
}

#[test]
fn scenarios_about_missing_capabilities_are_skipped() {
    let suite = carried();
    let newest = |entry: &&SuiteEntry| entry.scenario.spec.includes(Version::V1_0);
    let entries: Vec<_> = suite.entries.iter().filter(newest).collect();
    let skipped = |without: &[&str]| {
        let lacks = |name: &&str| DetectedFeature::new(name, false, "a test");
        let abilities = TargetAbilities {
            version: Version::V1_0,
            profiles: vec!["all".to_owned()],
            embedded: true,
            restarts: HostRestarts::Crashes,
            detected: without.iter().map(lacks).collect(),
            agent: AgentMode::Host,
            aggressive: true,
        };
        let planned = plan(&entries, &abilities);
        let skipped = planned.into_iter().filter(|one| one.skip.is_some());
        skipped.map(|one| one.entry.scenario.id.clone()).collect::<Vec<_>>()
    };
    let check = |without: &str, example: &str, area: &str| {
        let skipped = skipped(&[without]);
        assert!(skipped.iter().any(|id| id == example), "{skipped:?}");
        assert!(skipped.iter().all(|id| id.starts_with(area)), "{skipped:?}");
    };
    check("automations", "automations/a-request-is-run-once", "");
    check("telemetry.logs", "telemetry/channels-have-no-state", "");
    check("files", "resources/links-lead-nowhere", "resources/");
    check("otherCredentials", "security/a-client-id-has-one-owner", "security/");
    check("protectedAgent", "auth/a-protected-agent-asks-for-a-token", "auth/");
    check("token", "auth/a-token-opens-the-agent", "auth/");
    check("terminals", "terminals/clients-cannot-speak-for-a-terminal", "");
    check("agentScripts", "turns/error-ends-the-turn", "");
    assert_eq!(skipped(&[]), Vec::<String>::new());
}
