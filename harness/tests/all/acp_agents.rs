//! Tests that the suite for agents can fail: every check and every scenario detects at least one injected fault, and
//! agents that do nothing pass no scenario and no check.

use ahp_harness::agent::acp::AgentConfig;
use ahp_harness::agent::acp::fault::{FAULTS, Fault};
use ahp_harness::fault::FaultSet;
use ahp_harness::host::lying_agent::{LyingAgent, LyingAgentBehaviour};
use ahp_harness::host::null::{NullBehaviour, NullHost};
use ahp_harness::host::subject::AgentSubject;
use ahp_harness::ledger::RequirementLedger;
use ahp_harness::run::agents::{earns_nothing, play_all, play_on, playable};
use ahp_harness::run::kills::KillDepth;
use ahp_harness::verdict::Status;
use ahp_harness::wire::version::Version;

use crate::common::priority;
use crate::common::suite::carried;

#[test]
fn every_fault_of_an_agent_is_detected_and_every_check_can_fail() {
    priority::lower();
    let suite = carried();
    let faults: Vec<Fault> = FAULTS.iter().map(|row| row.fault).collect();
    let matrix = play_all(suite, &faults, KillDepth::Whole, |work| work());
    for outcome in matrix.outcomes.iter().filter(|outcome| !outcome.collateral.is_empty()) {
        println!("{}: also {}", outcome.fault.name(), outcome.collateral.join(", "));
    }
    let broken = matrix.broken(suite);
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
    // Each requirement that an agent can break is broken by at least one fault. For every other requirement, the ledger
    // has the reason why no agent can break it.
    let ledger = RequirementLedger::of(Version::ACP_1);
    assert!(ledger.iter().count() > 50);
    let alive =
        ledger.iter().filter(|row| row.excluded.is_none() && matrix.breakers(row.id).is_empty());
    let alive: Vec<&str> = alive.map(|row| row.id).collect();
    assert!(alive.is_empty(), "no fault breaks {}", alive.join(", "));
}

/// Checks that an agent that negotiates another version is not judged, because another version may have other methods.
#[test]
fn an_agent_of_another_version_is_not_judged_by_this_one() {
    let play = |faults: &[Fault]| {
        let entries = playable(carried());
        let id = "acp/handshake/prompt-at-any-version";
        let entry = entries.iter().find(|entry| entry.scenario.id == id).unwrap();
        let config = AgentConfig { faults: FaultSet::of(faults), ..AgentConfig::default() };
        play_on(entry, &mut AgentSubject::new(config)).status
    };
    assert_eq!(play(&[Fault::NoPrompts]), Status::Fail);
    assert_eq!(play(&[Fault::NoPrompts, Fault::SpeaksAnother]), Status::Skip);
}

#[test]
fn null_agents_pass_no_scenario() {
    for null in NullBehaviour::ALL {
        for entry in playable(carried()) {
            let verdict = play_on(&entry, &mut NullHost::new(*null));
            assert!(
                earns_nothing(&verdict),
                "{} {}: {:?}",
                null.name(),
                entry.scenario.id,
                verdict.status
            );
        }
    }
}

/// The scenarios that an agent may pass although it does nothing but negotiate a version.
const HANDSHAKES: &[&str] =
    &["acp/handshake/version-that-is-spoken", "acp/handshake/version-that-nobody-speaks"];
/// The scenarios that an agent passes if it does nothing but answer each prompt with a stop reason, and sends nothing
/// before the answer to `session/resume`.
const TURNS: &[&str] = &[
    "acp/handshake/prompt-at-any-version",
    "acp/handshake/sessions-differ",
    "acp/load/resumed-without-its-conversation",
    "acp/turn/images-are-taken",
    "acp/turn/links-are-taken",
    "acp/turn/prompt-is-answered",
    "acp/turn/resources-are-taken",
    "acp/turn/sounds-are-taken",
    "acp/turn/two-turns",
];
/// The scenarios that an agent may pass because it reports a tool call with its kind and its end.
const REPORTS: &[&str] = &["acp/kinds/execute", "acp/tools/failed-command"];
/// The scenarios that an agent may pass because it asks for permission in the form of the protocol, waits for the
/// answer, and runs nothing.
const QUESTIONS: &[&str] = &[
    "acp/cancel/of-a-request",
    "acp/permission/any-agent-goes-on-after-a-rejection",
    "acp/permission/asks-as-the-protocol-says",
    "acp/reports/pending-then-in-progress-then-completed",
    "acp/tools/mcp-rejected",
];
/// The scenario that an agent may pass because it ends its turns, and ignores a cancel between turns.
const IDLE: &[&str] = &["acp/cancel/idle"];
/// The scenario that an agent may pass because it sends some text in each turn.
const TEXTS: &[&str] = &["acp/turn/says-what-the-model-says"];

/// Returns the scenarios that an agent with false answers may pass, because the agent really follows the rules of these
/// scenarios.
fn earned(liar: LyingAgentBehaviour) -> Vec<&'static str> {
    let lists: &[&[&str]] = match liar {
        LyingAgentBehaviour::MuteAfterSession | LyingAgentBehaviour::RefuseEverything => {
            &[HANDSHAKES]
        }
        LyingAgentBehaviour::EndTurns => &[HANDSHAKES, TURNS, IDLE, TEXTS],
        LyingAgentBehaviour::CancelTurns => &[HANDSHAKES, TURNS],
        LyingAgentBehaviour::InventCalls => &[HANDSHAKES, TURNS, IDLE, TEXTS, REPORTS],
        LyingAgentBehaviour::IgnoreAnswers => &[HANDSHAKES, TURNS, IDLE, REPORTS, QUESTIONS],
    };
    lists.concat()
}

#[test]
fn lying_agents_pass_only_the_listed_scenarios() {
    let entries = playable(carried());
    let mut wrong = Vec::new();
    for liar in LyingAgentBehaviour::ALL {
        let earned = earned(*liar);
        for entry in &entries {
            let id = entry.scenario.id.as_str();
            let verdict = play_on(entry, &mut LyingAgent::new(*liar));
            match (verdict.status == Status::Pass, earned.contains(&id)) {
                (true, false) => wrong.push(format!("{liar:?}: {id} passed")),
                (false, true) => wrong.push(format!("{liar:?}: {id} did not pass")),
                _ => {}
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
