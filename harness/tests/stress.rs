//! Loads on the reference host: many clients in memory, in virtual time.

use std::time::Duration;

use ahp_harness::agent::mode::AgentMode;
use ahp_harness::host::engine::{HostConfig, RefHost};
use ahp_harness::load::acts::ACTS;
use ahp_harness::load::plan::{LoadPace, LoadPlan};
use ahp_harness::load::result::{LoadFinding, LoadResult};
use ahp_harness::load::sim;
use ahp_harness::run::mutant_rows::load_rows;

fn plan() -> LoadPlan {
    LoadPlan {
        clients: 48,
        sessions: 6,
        time: Duration::from_secs(40),
        pace: LoadPace::PerSecond(60.0),
        turns: Some(AgentMode::Host),
        ..LoadPlan::default()
    }
}

fn played(plan: LoadPlan, config: HostConfig) -> LoadResult {
    sim::play(plan, &mut RefHost::new(config))
}

fn found_in(result: &LoadResult) -> String {
    let finding = |it: &LoadFinding| {
        format!("{} {:?}: {}", it.finding.check, it.finding.lines, it.finding.message)
    };
    result.findings.iter().map(finding).collect::<Vec<_>>().join("\n")
}

fn shown(result: &LoadResult) -> String {
    format!("{:#?}\n{}", result.counts, found_in(result))
}

#[test]
fn the_reference_host_has_no_finding() {
    let result = played(plan(), HostConfig::default());
    assert!(result.findings.is_empty(), "{}", shown(&result));
    let counts = &result.counts;
    // The load has to exercise what the rules are about.
    for (what, count) in [
        ("turns", counts.turns),
        ("decisions", counts.decisions),
        ("replays", counts.replays),
        ("newcomers", counts.newcomers),
        ("pauses", counts.pauses),
        ("rejected actions", counts.rejected),
    ] {
        assert!(count > 0, "no {what}: {counts:#?}");
    }
    assert!(result.judged_pauses > 0, "{counts:#?}");
    assert_eq!((counts.failed, result.delays.late), (0, 0), "{counts:#?}");
    assert!(ACTS.iter().all(|act| counts.acts.contains_key(act.name)), "{:#?}", counts.acts);
}

#[test]
fn the_same_seed_gives_the_same_load() {
    let short = LoadPlan { time: Duration::from_secs(5), ..plan() };
    let result = || played(short.clone(), HostConfig::default());
    let (first, second) = (result(), result());
    assert_eq!((first.counts, first.frames), (second.counts, second.frames));
}

#[test]
fn each_fault_that_shows_under_load_is_found() {
    let mut missed = Vec::new();
    for row in load_rows() {
        let config = HostConfig { faults: vec![row.fault], ..HostConfig::default() };
        let result = played(plan(), config);
        let found: Vec<&str> = result.findings.iter().map(|it| it.finding.check).collect();
        if !row.trips.iter().all(|check| found.contains(check)) {
            missed.push(format!("{} ({:?}):\n{}", row.fault.name(), row.trips, found_in(&result)));
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n\n"));
}
