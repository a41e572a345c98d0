//! Tests of generated conversations: conversations are playable, find injected faults, can be shrunk, and can
//! be replayed.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use ahp_harness::agent::acp::fault::Fault as AgentFault;
use ahp_harness::agent::mode::AgentMode;
use ahp_harness::arb::agents::{AgentAbilitySet, AgentConversationGenerator};
use ahp_harness::arb::campaign::FuzzCampaign;
use ahp_harness::arb::conditions::PlayConditions;
use ahp_harness::arb::draft::ScenarioDraft;
use ahp_harness::arb::embedded::{EmbeddedGround, now};
use ahp_harness::arb::expectation::{fit, fit_raced};
use ahp_harness::arb::finding::{FuzzFinding, findings, findings_of_reference};
use ahp_harness::arb::generate::ConversationGenerator;
use ahp_harness::arb::legality::permitting;
use ahp_harness::arb::races::raced;
use ahp_harness::arb::rules::{EVENTS, REQUESTS, UNKNOWN_CHANNELS};
use ahp_harness::arb::shrink::{DraftTrial, MAX_TRIES, shrink};
use ahp_harness::arb::suite;
use ahp_harness::arb::themes::RESTARTS;
use ahp_harness::host::fault::HostFault;
use ahp_harness::host::liar::{LiarBehaviour, LiarHost};
use ahp_harness::host::null::{NullBehaviour, NullHost};
use ahp_harness::host::variant::{VARIANTS, VariantHost};
use ahp_harness::ledger::RequirementLedger;
use ahp_harness::oracle::CHECKS;
use ahp_harness::run::detect::DetectedFeature;
use ahp_harness::run::plan::{HostRestarts, not_offered};
use ahp_harness::run::suite::CarriedFiles;
use ahp_harness::scenario::load::load;
use ahp_harness::verdict::{Status, Weight};
use ahp_harness::wire::json::json;
use ahp_harness::wire::protocol::Protocol;
use ahp_harness::wire::version::Version;

use crate::common::priority;

const V1: Version = Version::new(1, 0, 0);
/// The number of conversations that the tests play in each main version.
const SOME: u64 = 90;
/// The number of conversations that the tests play in each version that a run only uses on request.
const FEWER: u64 = 40;
/// The number of conversations that the tests generate from each scenario.
const FROM_SUITE: u64 = 20;

fn drawn(version: Version, count: u64) -> impl Iterator<Item = ScenarioDraft> {
    priority::lower();
    let generator = ConversationGenerator::new(version, 1, PlayConditions::ALL);
    (0..count).filter_map(move |number| generator.sequence(number)).map(|it| it.draft)
}

#[test]
fn a_seed_draws_the_same_conversation() {
    let generator = |seed| ConversationGenerator::new(V1, seed, PlayConditions::ALL);
    for number in 0..10 {
        let one = generator(4).sequence(number).map(|it| it.draft);
        assert_eq!(one, generator(4).sequence(number).map(|it| it.draft));
        assert_eq!(one, generator(4).of_seed(generator(4).seed_of(number)).map(|it| it.draft));
    }
    assert_ne!(
        generator(4).sequence(0).map(|it| it.draft),
        generator(5).sequence(0).map(|it| it.draft)
    );
}

/// Checks that the stage (the host of the generator) can play nearly every generated step. A step that it cannot play
/// ends the generation early.
#[test]
fn most_conversations_are_drawn_to_their_end() {
    priority::lower();
    for version in [V1, Version::new(0, 2, 0)] {
        let generator = ConversationGenerator::new(version, 1, PlayConditions::ALL);
        let all: Vec<_> = (0..SOME).filter_map(|number| generator.sequence(number)).collect();
        let cut: Vec<String> =
            all.iter().filter(|it| !it.whole).map(|it| format!("{:016x}", it.seed)).collect();
        assert!(cut.len() * 20 < all.len(), "{version}: cut short: {cut:?}");
    }
}

/// Checks that the file of a conversation contains all generated data.
#[test]
fn a_conversation_comes_back_from_its_file() {
    for draft in drawn(V1, SOME) {
        let entry = draft.entry().unwrap_or_else(|error| panic!("{error}\n{}", draft.text()));
        let ground = EmbeddedGround::of(V1, AgentMode::Host, &[]);
        let (file, tree) = (ground.play((*entry.scenario).clone()), draft.scenario().unwrap());
        let tree = ground.play(tree);
        assert_eq!((file.status, file.observations), (tree.status, tree.observations));
    }
}

/// Checks that there is no finding for the host without faults, and that nearly all messages equal the messages on the
/// stage.
#[test]
fn the_reference_host_without_faults_has_no_finding() {
    for version in Version::played() {
        let ground = EmbeddedGround::of(*version, AgentMode::Host, &[]);
        let (mut played, mut unsteady) = (0, 0_u64);
        let count = if Version::offered().contains(version) { SOME } else { FEWER };
        for draft in drawn(*version, count) {
            played += 1;
            let found = ground.found(&draft);
            let check = found.iter().find(|it| CHECKS.iter().any(|row| row.id == it.rule));
            assert!(check.is_none(), "{version}: {check:?}\n{}", draft.text());
            unsteady += u64::from(!found.is_empty());
        }
        assert!(played * 6 > count * 5, "{version}: only {played} were drawn");
        assert!(unsteady * 20 < played, "{version}: {unsteady} of {played} are not steady");
    }
}

/// Checks that generated conversations that begin with a scenario reach the states to which the scenario leads. Without
/// this beginning, 40,000 random steps did not find the faults in this test.
#[test]
fn conversations_that_begin_with_a_scenario_reach_its_states() {
    priority::lower();
    let cases = [
        (HostFault::UpdateForgets, "automations/changes-leave-the-rest-alone"),
        (HostFault::LinksFollowed, "resources/links-lead-nowhere"),
        (HostFault::TokensNotTakenBack, "auth/an-empty-token-takes-it-back"),
        (HostFault::EditedInputLost, "tools/edited-input-stands-where-the-call-points"),
    ];
    let generator = ConversationGenerator::new(V1, 1, PlayConditions::ALL);
    let mut left_early = 0;
    for (fault, scenario) in cases {
        let base = generator.bases().iter().find(|base| base.entry.scenario.id == scenario);
        let base = base.unwrap_or_else(|| panic!("`{scenario}` cannot begin a conversation"));
        let drafts: Vec<ScenarioDraft> = (0..FROM_SUITE)
            .filter_map(|seed| suite::sequence(&generator.target(), base, seed))
            .map(|it| it.draft)
            .collect();
        let varied = drafts.windows(2).any(|two| two[0].steps != two[1].steps);
        assert!(varied, "all conversations that begin with `{scenario}` are the same");
        let ground = EmbeddedGround::of(V1, AgentMode::Host, &[fault]);
        let found = drafts.iter().filter(|draft| !ground.found(draft).is_empty()).count();
        assert!(found > 0, "{fault:?} was not found in {} conversations", drafts.len());
        left_early += drafts.len() - found;
    }
    assert!(left_early > 0, "every conversation plays its scenario to the end");
}

/// Checks that a conversation has no claim by the rules of its own version about a client that negotiated another
/// version. The other version may permit the action of the client.
#[test]
fn the_rules_of_a_version_are_no_claims_about_a_client_of_another_one() {
    const BASE: &str = "handshake/older-clients-get-older-actions";
    const UNKNOWN: &str = "version.unknown-action-from-client";
    let generator = ConversationGenerator::new(V1, 1, PlayConditions::ALL);
    let base = generator.bases().iter().find(|base| base.entry.scenario.id == BASE);
    let base = base.expect("the scenario can begin a conversation");
    let drafts = (0..200).filter_map(|seed| suite::sequence(&generator.target(), base, seed));
    let mut newer = 0;
    for step in drafts.flat_map(|it| it.draft.steps) {
        let action = step["dispatch"]["action"]["type"].as_str().unwrap_or_default();
        let known = Protocol::of(V1).and_then(|table| table.action(action)).is_some();
        newer += u32::from(known);
        assert!(!known || step["dispatch"]["proves"] != UNKNOWN, "{step}");
    }
    assert!(newer > 50, "only {newer} actions");
}

/// Checks that the generator does not use capabilities that `run` would skip on the host.
#[test]
fn conversations_use_only_what_the_host_offers() {
    const MISSING: [&str; 6] =
        ["terminals", "annotations", "automations", "multipleChats", "chatMoves", "customizations"];
    let detected = MISSING.map(|name| DetectedFeature::new(name, false, "the host lacks it"));
    let generator = ConversationGenerator::new(V1, 1, PlayConditions::FOREIGN).offering(&detected);
    let drafts = (0..SOME).filter_map(|number| generator.sequence(number)).map(|it| it.draft);
    let mut drawn = 0;
    for draft in drafts {
        drawn += 1;
        let missing = not_offered(&draft.scenario().unwrap(), &detected, AgentMode::Host);
        assert!(missing.is_none(), "{missing:?}\n{}", draft.text());
    }
    assert!(drawn * 6 > SOME * 5, "only {drawn} were drawn");
}

/// Checks that the claims in conversations for foreign hosts hold for hosts that make other legal choices than the
/// reference host, and fail for a broken host.
#[test]
fn claims_hold_for_every_legal_host_and_fail_for_a_broken_one() {
    priority::lower();
    let generator = ConversationGenerator::new(V1, 1, PlayConditions::FOREIGN);
    let honest = EmbeddedGround::of(V1, AgentMode::Host, &[]);
    let drafts = (0..SOME).filter_map(|number| generator.sequence(number)).map(|it| it.draft);
    let drafts = drafts.filter(|draft| honest.found(draft).is_empty());
    let fitted = drafts.map(|mut draft| {
        fit(&mut draft, &BTreeSet::new());
        draft
    });
    let drafts: Vec<ScenarioDraft> = fitted.filter(|draft| draft.scenario().is_ok()).collect();
    for (place, row) in VARIANTS.iter().filter(|row| row.since <= V1).enumerate() {
        for draft in drafts.iter().skip(place % 10).step_by(10) {
            let scenario = draft.scenario().expect("a generated conversation is a scenario");
            let mut host = VariantHost::new(&[row], honest.config(&scenario));
            let found = findings(&draft.steps, &honest.play_on(scenario, &mut host));
            let wrong = found.iter().find(|finding| finding.weight > Weight::Note);
            assert!(wrong.is_none(), "{}: {wrong:?}\n{}", row.name, draft.text());
        }
    }
    let broken = EmbeddedGround::of(V1, AgentMode::Host, &[HostFault::AcceptsHostOnly]);
    let claimed = drafts.iter().any(|draft| {
        let verdict = broken.play(draft.scenario().unwrap());
        let found = findings(&draft.steps, &verdict);
        found.iter().any(|it| it.rule.starts_with("dispatch.table.server-only."))
    });
    assert!(claimed, "a host that lets clients speak for it is not found by a claim");
}

/// Checks that no legal variant of the host has a finding. Each variant plays every `part`-th conversation, beginning
/// at a different index.
fn no_variant_has_a_finding(drafts: &[ScenarioDraft], part: usize) {
    let honest = EmbeddedGround::of(V1, AgentMode::Host, &[]);
    for (place, row) in VARIANTS.iter().filter(|row| row.since <= V1).enumerate() {
        let part = if row.name == "keeps-no-sessions" { 1 } else { part };
        for draft in drafts.iter().skip(place % part).step_by(part) {
            let scenario = draft.scenario().expect("a generated conversation is a scenario");
            let mut host = VariantHost::new(&[row], honest.config(&scenario));
            let found = findings(&draft.steps, &honest.play_on(scenario, &mut host));
            let wrong = found.iter().find(|finding| finding.weight > Weight::Note);
            assert!(wrong.is_none(), "{}: {wrong:?}\n{}", row.name, draft.text());
        }
    }
}

/// Checks that the claims about restarts hold for hosts that keep any part of their state. They must fail for hosts
/// that continue a turn that a crash ended, or that let a client return with a wrong state.
#[test]
fn claims_about_restarts_hold_for_every_legal_host_and_fail_for_a_broken_one() {
    priority::lower();
    let conditions = PlayConditions { restarts: HostRestarts::Crashes, ..PlayConditions::FOREIGN };
    let generator = ConversationGenerator::new(V1, 1, conditions).about(RESTARTS);
    let honest = EmbeddedGround::of(V1, AgentMode::Host, &[]);
    let drafts = (0..FEWER).filter_map(|number| generator.sequence(number)).map(|it| it.draft);
    let restarts = |draft: &ScenarioDraft| draft.steps.iter().any(|it| it.get("restart").is_some());
    let drafts = drafts.filter(|draft| restarts(draft) && honest.found(draft).is_empty());
    let mut drafts: Vec<ScenarioDraft> = drafts.collect();
    drafts.iter_mut().for_each(|draft| fit(draft, &BTreeSet::new()));
    drafts.retain(|draft| draft.scenario().is_ok());
    assert!(drafts.len() > 15, "only {} conversations restart the host", drafts.len());
    no_variant_has_a_finding(&drafts, 10);
    let broken = [
        (HostFault::RestartKeepsTurns, "disconnect.crash.turns-failed"),
        (HostFault::RestartLosesTitles, "multi.converge"),
        (HostFault::RestartForgetsSequence, "reconnect.host-restart"),
    ];
    for (fault, rule) in broken {
        let ground = EmbeddedGround::of(V1, AgentMode::Host, &[fault]);
        let found = drafts.iter().flat_map(|draft| ground.broken(draft));
        assert!(found.into_iter().any(|it| it.rule == rule), "{} is not found", fault.name());
    }
}

/// Checks that conversations in which the clients' frames are sent in another order have no finding on any legal host.
/// They must find a host that loses one of two actions that are on their way at the same time.
#[test]
fn another_interleaving_is_legal_everywhere_and_finds_lost_actions() {
    priority::lower();
    let generator = ConversationGenerator::new(V1, 1, PlayConditions::FOREIGN);
    let all: Vec<_> = (0..SOME).filter_map(|number| generator.sequence(number)).collect();
    let drafts = all.iter().filter_map(|it| raced(&it.draft, it.seed)).map(|mut race| {
        fit_raced(&mut race.draft, &BTreeSet::new(), race.after, &race.names);
        race.draft
    });
    let drafts: Vec<ScenarioDraft> = drafts.filter(|draft| draft.scenario().is_ok()).collect();
    assert!(drafts.len() > 30, "only {} conversations have another interleaving", drafts.len());
    no_variant_has_a_finding(&drafts, 12);
    let broken = EmbeddedGround::of(V1, AgentMode::Host, &[HostFault::CrossingActionsLost]);
    let found = drafts.iter().flat_map(|draft| broken.broken(draft));
    assert!(found.into_iter().any(|it| it.rule == "fanout.complete"));
}

/// Checks that a finding that occurs only with a certain order of the clients' frames names this order, in memory and
/// over sockets.
#[test]
fn a_finding_says_which_order_it_needs() {
    let program = env!("CARGO_BIN_EXE_ahp-harness");
    let serve =
        format!("{program} serve --fault crossing-actions-lost --listen 127.0.0.1:{{port}}");
    // Not every finding needs a certain order of frames, because the fault also loses actions that are on their way at
    // the same time by chance. Therefore the test tries several seeds.
    let needs_an_order = |seed: u64| {
        let out = folder(&format!("fuzz-order-{seed}"));
        let seed = seed.to_string();
        let args = ["--command", &serve, "--seed", &seed, "--time", "60s", "--stop-at-first"];
        let (code, said) = fuzz(&out, &args);
        assert_eq!(code, Some(1), "{said}");
        let mut files = std::fs::read_dir(out.join("fuzz")).unwrap().map(|it| it.unwrap().path());
        let says = |path| std::fs::read_to_string(path).unwrap().contains("\n# it needs ");
        let file_says = files.any(says);
        assert_eq!(said.contains("it needs "), file_says, "{said}");
        file_says
    };
    assert!((3..=10).any(needs_an_order), "no finding needs an order");
}

/// Checks that a finding that a legal variant also causes is dropped; other findings are kept.
#[test]
fn a_finding_that_a_legal_variant_explains_is_dropped() {
    let honest = EmbeddedGround::of(V1, AgentMode::Host, &[]);
    // A host may answer every reconnect with snapshots, but the expectations that come from the stage do not allow
    // this.
    let row = VARIANTS.iter().find(|row| row.name == "replays-nothing").unwrap();
    let shown = |draft: &ScenarioDraft| {
        let scenario = draft.scenario().unwrap();
        let mut host = VariantHost::new(&[row], honest.config(&scenario));
        findings(&draft.steps, &honest.play_on(scenario, &mut host))
    };
    let generator = ConversationGenerator::new(V1, 1, PlayConditions::FOREIGN);
    let drafts = (0..1_000).filter_map(|number| generator.sequence(number)).map(|it| it.draft);
    let mut drafts = drafts.filter(|draft| {
        let claims = draft.text().contains("reconnect.missing.disposed");
        claims && honest.found(draft).is_empty()
    });
    let found = drafts.find_map(|draft| {
        let finding =
            shown(&draft).into_iter().find(|it| it.rule == "reconnect.missing.disposed")?;
        Some((draft, finding))
    });
    let (draft, finding) = found.expect("a conversation that expects a replay");
    assert!(permitting(&honest, &draft, &finding).is_some());
    let other = FuzzFinding { key: "another".to_owned(), ..finding };
    assert_eq!(permitting(&honest, &draft, &other), None);
}

/// Checks that conversations that once found defects in the reference host have no finding now.
#[test]
fn defects_found_by_earlier_campaigns_stay_fixed() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus/conversations");
    for entry in std::fs::read_dir(corpus).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        let loaded = load(&format!("conversations/{name}"), &text, &CarriedFiles);
        assert!(loaded.errors.is_empty(), "{name}: {:?}", loaded.errors);
        let scenario = loaded.scenario.unwrap();
        let mut versions = Version::played().iter();
        let version = *versions.find(|version| scenario.spec.includes(**version)).unwrap();
        let verdict = EmbeddedGround::of(version, AgentMode::Host, &[]).play(scenario);
        assert_eq!(findings_of_reference(&[], &verdict), [], "{name}");
    }
}

/// Tests a fixed sample of the faults of `ahp-harness mutants --fuzz`.
#[test]
fn injected_faults_are_found_and_shrunk() {
    const SAMPLE: &[(HostFault, usize)] = &[
        (HostFault::SequenceRepeats, 3),
        (HostFault::EchoNever, 4),
        (HostFault::RejectionWithoutReason, 3),
        (HostFault::RunsAfterDenial, 8),
        (HostFault::ReplayLosesOne, 7),
        (HostFault::SnapshotStale, 4),
        (HostFault::TitleNotApplied, 5),
        (HostFault::AcceptsHostOnly, 3),
    ];
    let honest = EmbeddedGround::of(V1, AgentMode::Host, &[]);
    let drafts: Vec<ScenarioDraft> =
        drawn(V1, SOME).filter(|it| honest.found(it).is_empty()).collect();
    for (fault, most) in SAMPLE {
        let faulty = EmbeddedGround::of(V1, AgentMode::Host, &[*fault]);
        is_found_and_becomes_small((&honest, &faulty), &drafts, (fault.name(), *most));
    }
}

/// The number of conversations that are shrunk for one fault.
const HITS: usize = 3;

/// Checks three results: an injected fault is found in a conversation; the smallest shrunk conversation has at most
/// this many steps; the written file leads to the same finding on the target with the fault, and to no finding on the
/// target without it.
fn is_found_and_becomes_small(
    (honest, faulty): (&EmbeddedGround, &EmbeddedGround),
    drafts: &[ScenarioDraft],
    (fault, most): (&str, usize),
) {
    // Several conversations are shrunk, because a later conversation may show the fault in fewer steps.
    let hits = drafts.iter().filter_map(|it| Some((it, faulty.found(it).into_iter().next()?)));
    let shrunk =
        hits.take(HITS).map(|(draft, finding)| (faulty.small(draft.clone(), &finding), finding));
    let smallest = shrunk.min_by_key(|(small, _)| small.steps.len());
    let (small, finding) = smallest.unwrap_or_else(|| panic!("{fault} is not found"));
    let steps = small.steps.len();
    assert!(steps <= most, "{fault}: {steps} steps, at most {most}\n{}", small.text());
    let again = small.entry().expect("a shrunk draft is a scenario");
    let verdict = faulty.play((*again.scenario).clone());
    let same = faulty.findings(&small, &verdict).iter().any(|found| found.key == finding.key);
    assert!(same, "{fault}: the written file leads to no finding\n{}", small.text());
    assert!(
        honest.found(&small).is_empty(),
        "{fault}: the file also has a finding on the target without the fault"
    );
}

/// Checks that the first conversations detect hosts without function and hosts with false answers.
#[test]
fn null_and_lying_hosts_are_detected() {
    let ground = EmbeddedGround::of(V1, AgentMode::Host, &[]);
    let drafts: Vec<ScenarioDraft> = drawn(V1, 24).collect();
    for kind in NullBehaviour::ALL {
        for draft in &drafts {
            let scenario = draft.scenario().unwrap();
            let verdict = ground.play_on(scenario, &mut NullHost::new(*kind));
            assert_ne!(verdict.status, Status::Pass, "{}", kind.name());
            assert!(!findings_of_reference(&draft.steps, &verdict).is_empty(), "{}", kind.name());
        }
    }
    for kind in LiarBehaviour::ALL {
        let found = drafts.iter().any(|draft| {
            let verdict = ground.play_on(draft.scenario().unwrap(), &mut LiarHost::new(*kind));
            !findings_of_reference(&draft.steps, &verdict).is_empty()
        });
        assert!(found, "{}", kind.name());
    }
}

/// Checks that all names of a shrunk conversation are bound and its clients are declared, regardless of the removed
/// steps.
#[test]
fn a_shrunk_conversation_is_a_valid_scenario() {
    struct AnyHost(u32);
    impl DraftTrial for AnyHost {
        async fn shows(&mut self, draft: &ScenarioDraft) -> bool {
            assert!(draft.scenario().is_ok());
            self.0 += 1;
            !self.0.is_multiple_of(3)
        }
    }
    for draft in drawn(V1, 10) {
        let small = now(shrink(draft.clone(), &mut AnyHost(0), MAX_TRIES));
        assert!(small.entry().is_ok());
        assert!(small.steps.len() < draft.steps.len());
    }
}

#[test]
fn every_rule_of_the_tables_is_in_the_ledger() {
    let rules = EVENTS.iter().map(|row| row.1).chain(REQUESTS.iter().map(|row| row.2));
    for rule in rules.chain(UNKNOWN_CHANNELS.iter().map(|row| row.1)) {
        assert!(RequirementLedger::look_up(rule).is_some(), "{rule}");
    }
}

fn fuzz(out: &std::path::Path, args: &[&str]) -> (Option<i32>, String) {
    let command = Command::new(env!("CARGO_BIN_EXE_ahp-harness"))
        .arg("fuzz")
        .arg("--out")
        .arg(out)
        .args(args)
        .output()
        .unwrap_or_else(|error| panic!("{error}"));
    (command.status.code(), String::from_utf8_lossy(&command.stdout).into_owned())
}

fn folder(name: &str) -> std::path::PathBuf {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&path);
    path
}

#[test]
fn a_campaign_keeps_what_it_finds_and_goes_on() {
    let out = folder("fuzz-campaign");
    let planted = ["--fault", "title-not-applied", "--sequences", "40"];
    let (code, said) = fuzz(&out, &planted);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("40 conversations"), "{said}");
    let scenarios = || std::fs::read_dir(out.join("fuzz")).unwrap().count();
    let found = scenarios();
    assert!(found > 0);
    // The second campaign continues where the first one ended, and does not report earlier findings again.
    let (code, said) = fuzz(&out, &["--fault", "title-not-applied", "--sequences", "60"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("60 conversations"), "{said}");
    // `--sequence-seed` plays one conversation of the campaign again.
    let state = std::fs::read_to_string(out.join("campaign.jsonl")).unwrap();
    let seed = FuzzCampaign::of_text(&state).unwrap().buckets[0].seed;
    let seed = format!("{seed:016x}");
    let (_, said) = fuzz(&out, &["--fault", "title-not-applied", "--sequence-seed", &seed]);
    assert!(said.contains("61 conversations"), "{said}");
    // The campaign does not report a known finding.
    let known = out.join("known.yaml");
    let known = known.to_str().unwrap();
    let (_, _) = fuzz(&out, &["--sequences", "61", "--write-baseline", known]);
    let other = folder("fuzz-known");
    let mut args = planted.to_vec();
    args.extend(["--baseline", known]);
    let (code, said) = fuzz(&other, &args);
    assert_eq!(code, Some(0), "{said}");
    // A campaign cannot continue with another seed.
    assert_eq!(fuzz(&out, &["--seed", "9", "--sequences", "1"]).0, Some(2));
}

#[test]
fn a_host_that_dies_ends_a_campaign_and_nothing_is_lost() {
    let out = folder("fuzz-dies");
    let program = env!("CARGO_BIN_EXE_ahp-harness");
    let serve = format!("timeout 2 {program} serve --listen 127.0.0.1:{{port}}");
    let (code, said) =
        fuzz(&out, &["--url", "ws://127.0.0.1:9", "--sequences", "1", "--timeout", "500ms"]);
    assert_eq!(code, Some(3), "{said}");
    // The campaign restarts the host's command, and reports no finding for a host that exits by itself. The campaign
    // ends after its time limit, or when the host exits while no conversation is played.
    let args =
        ["--command", &serve, "--scripted", "--reference", "--time", "20s", "--timeout", "500ms"];
    let (code, said) = fuzz(&out, &args);
    assert!([Some(0), Some(3)].contains(&code), "{said}");
    assert!(said.contains(" 0 findings"), "{said}");
    assert!(out.join("campaign.jsonl").exists());
}

/// Returns generated conversations that the reference agent without faults plays without a failed step.
fn drawn_with_agents(count: u64) -> Vec<ScenarioDraft> {
    priority::lower();
    let generator = AgentConversationGenerator::new(1, AgentAbilitySet::all());
    let honest = EmbeddedGround::of_agent(&[]);
    let drafts = (0..count).filter_map(|number| generator.sequence(number)).map(|it| it.draft);
    drafts.filter(|draft| honest.found(draft).is_empty()).collect()
}

/// Checks that there is no finding for the agent without faults, and that most conversations proceed as generated.
#[test]
fn the_reference_agent_has_no_finding() {
    let generator = AgentConversationGenerator::new(1, AgentAbilitySet::all());
    let honest = EmbeddedGround::of_agent(&[]);
    let (mut all, mut played) = (0, 0);
    for draft in (0..2 * SOME).filter_map(|number| generator.sequence(number)).map(|it| it.draft) {
        let verdict = honest.play(draft.scenario().unwrap());
        let found = findings(&draft.steps, &verdict);
        assert_eq!(found, [], "{}", draft.text());
        all += 1;
        played += usize::from(verdict.status == Status::Pass);
    }
    assert!(all as u64 >= 2 * SOME - 5 && played * 4 >= all * 3, "{played} of {all}");
}

/// Legal variants, each with the check that it may break after a cancel: the delayed permission request arrives 700 ms
/// late, which may be later than an agent should continue after a cancel.
const LATE: &[(&str, &str)] = &[("late-questions", "acp.turns.stops-work")];

/// Checks that legal variants of the agent cause no finding.
#[test]
fn legal_variants_of_an_agent_have_no_finding() {
    let honest = EmbeddedGround::of_agent(&[]);
    let drafts = drawn_with_agents(SOME / 2);
    let (mut accused, mut played) = (Vec::new(), 0);
    for draft in &drafts {
        let scenario = draft.scenario().unwrap();
        for (name, mut subject) in honest.variants(&scenario) {
            let verdict = honest.play_on(scenario.clone(), &mut *subject);
            played += 1;
            // The campaign drops a claim that a variant breaks before it reports the claim (`arb::legality`);
            // the campaign never drops a check.
            let found = findings(&draft.steps, &verdict);
            let heavy = |it: &&FuzzFinding| {
                let late = LATE.contains(&(name, it.rule.as_str()));
                it.is_of_check() && it.weight > Weight::Note && !late
            };
            accused.extend(found.iter().filter(heavy).map(|it| format!("{name}: {}", it.key)));
        }
    }
    assert!(played > 2_000, "{played}");
    assert_eq!(accused, Vec::<String>::new());
}

/// Tests a fixed sample of the faults of `ahp-harness mutants --fuzz --acp`.
#[test]
fn injected_faults_of_an_agent_are_found_and_shrunk() {
    const SAMPLE: &[(AgentFault, usize)] = &[
        (AgentFault::EndTurnAfterCancel, 6),
        (AgentFault::LateTexts, 6),
        (AgentFault::RunsDenied, 7),
        (AgentFault::RunsWhileAsking, 6),
        (AgentFault::EndsOnBadParams, 4),
        (AgentFault::TakesAnything, 4),
        (AgentFault::AnswersCancels, 4),
        (AgentFault::ServesAnything, 4),
    ];
    let honest = EmbeddedGround::of_agent(&[]);
    let drafts = drawn_with_agents(2 * SOME);
    for (fault, most) in SAMPLE {
        let faulty = EmbeddedGround::of_agent(&[*fault]);
        is_found_and_becomes_small((&honest, &faulty), &drafts, (fault.name(), *most));
    }
}

/// Checks that `run --acp` plays the scenario files of a campaign and reports the same findings.
#[test]
fn a_campaign_with_an_agent_writes_files_that_run_plays() {
    let out = folder("fuzz-agent");
    let planted = ["--acp", "--fault", "answers-cancels", "--sequences", "60"];
    let (code, said) = fuzz(&out, &planted);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("acp.wire.answered-once"), "{said}");
    let profile = out.join("agent.yaml");
    let program = env!("CARGO_BIN_EXE_ahp-harness");
    let text = |fault: &str| {
        format!("agent: reference\ncommand: [\"{program}\", agent, acp{fault}]\nstimulus: script\n")
    };
    let played = |fault: &str| {
        std::fs::write(&profile, text(fault)).unwrap();
        let command = Command::new(program)
            .arg("run")
            .arg(out.join("fuzz"))
            .arg("--acp")
            .arg(&profile)
            .output()
            .unwrap();
        (command.status.code(), String::from_utf8_lossy(&command.stdout).into_owned())
    };
    let (code, said) = played(", --fault, answers-cancels");
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("FAIL acp.tr-04"), "{said}");
    assert_eq!(played("").0, Some(0));
    // A campaign against the agent process has the same kind of finding, and a campaign against a process without
    // faults has none.
    let profile = profile.to_str().unwrap();
    let outside = folder("fuzz-agent-outside");
    let (code, said) = fuzz(&outside, &["--acp", profile, "--sequences", "12", "--seed", "1"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("12 conversations"), "{said}");
}

/// Checks that an agent does not have to end its turn while it waits for a permission decision that no client sends.
#[test]
fn a_prompt_may_stay_open_while_permission_is_requested() {
    let steps = [
        json!({"open": {"by": "A"}}),
        json!({"prompt": {"by": "A", "script": "tool shell \"touch ahp\" confirm", "as": "p"}}),
        json!({"answer": {"at": "A", "id": "${p}", "result": {}, "error": {}, "proves": "acp.tr-04"}}),
    ];
    let draft = ScenarioDraft {
        id: "fuzz/waits".to_owned(),
        title: "An agent that waits".to_owned(),
        since: Version::ACP_1,
        clients: vec!["A".to_owned()],
        approves: None,
        needs: vec!["shell", "ask"],
        tested: None,
        steps: steps.to_vec(),
    };
    let verdict = EmbeddedGround::of_agent(&[]).play(draft.scenario().unwrap());
    assert_eq!(findings(&draft.steps, &verdict), []);
    assert_eq!(verdict.status, Status::Untested, "{}", verdict.reason);
}

/// Checks that the findings of one defect in several places have one cause, and that those of two defects have two
/// causes.
#[test]
fn findings_of_one_defect_have_one_cause_and_those_of_two_have_two() {
    let honest = EmbeddedGround::of(V1, AgentMode::Host, &[]);
    let drafts: Vec<ScenarioDraft> =
        drawn(V1, 2 * SOME).filter(|it| honest.found(it).is_empty()).collect();
    // The conversations are adapted to what a host other than the reference host may do.
    let mut fitted = drafts.clone();
    fitted.iter_mut().for_each(|draft| fit(draft, &BTreeSet::new()));
    let ground = |fault: HostFault| EmbeddedGround::of(V1, AgentMode::Host, &[fault]);
    let broken = ground(HostFault::AcceptsHostOnly);
    let all = fitted.iter().filter_map(|draft| Some((draft, draft.scenario().ok()?)));
    let all = all.flat_map(|(draft, it)| findings(&draft.steps, &broken.play(it)));
    let all: Vec<FuzzFinding> = all.collect();
    let own = "dispatch.table.server-only.";
    let places: Vec<&FuzzFinding> = all.iter().filter(|it| it.rule.starts_with(own)).collect();
    let keys: BTreeSet<&str> = places.iter().map(|it| it.key.as_str()).collect();
    let causes: BTreeSet<String> = places.iter().map(|it| it.cause()).collect();
    assert!(keys.len() >= 3, "{keys:?}");
    assert_eq!(causes.len(), 1, "{causes:?}");
    // The test plays each of these faults and compares the causes of their first findings.
    let faults = [
        HostFault::AcceptsHostOnly,
        HostFault::SequenceRepeats,
        HostFault::RejectionWithoutReason,
        HostFault::RunsAfterDenial,
        HostFault::ReplayLosesOne,
        HostFault::SnapshotStale,
        HostFault::TitleNotApplied,
    ];
    let first = |fault: &HostFault| {
        let mut found = drafts.iter().flat_map(|draft| ground(*fault).found(draft));
        found.next().map(|it| it.cause())
    };
    let first: Vec<String> = faults.iter().filter_map(first).collect();
    let distinct: BTreeSet<&String> = first.iter().collect();
    assert_eq!(distinct.len(), faults.len(), "{first:#?}");
}
