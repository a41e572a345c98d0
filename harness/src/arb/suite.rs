//! Generates conversations from the scenarios of the suite: with harmless moves between the steps or without the last
//! steps, and followed by random moves in the resulting state.
//!
//! The scenarios reach states that random moves seldom reach. A step keeps the expectations of its scenario, so a
//! conversation is used only if the reference host still meets all expectations.
//!
//! Knows: the scenarios that fit the target, the stage. Never knows: the subject of a scenario.
//!
//! Start at [`sequence`].

use crate::run::plan::{TargetAbilities, plan, plays_alone};
use crate::wire::version::Version;

use super::bases::{BaseScenario, bases};
use super::builder::{ConversationBuilder, ConversationHead};
use super::conditions::PlayConditions;
use super::embedded::EmbeddedGround;
use super::generated_sequence::{GeneratedSequence, close, finished};
use super::moves::{go_on, named_move};
use super::offered::HostOffers;
use super::step_result::{ActionLogEntry, ClientStepResult};

/// Moves after which the later steps of a scenario usually have the same outcome.
const DISTURBANCES: &[&str] = &["look", "list", "join", "subscribe", "sessions", "line"];
/// The percentage of steps after which a disturbance follows.
const DISTURBED: usize = 8;
/// The percentage of conversations that leave the scenario before its last step.
const CUT: usize = 30;
/// The maximum number of random moves after the steps of the scenario.
const LONGEST: usize = 8;
/// A client that no scenario uses, so that it may connect and disconnect at any time.
const FURTHER: &str = "Z";
/// The first number for names and identifiers of random moves. The names and identifiers of the scenario have lower
/// numbers.
const NUMBERS: usize = 100;

/// How a conversation differs from its scenario.
#[derive(Clone, Copy)]
enum SuiteDeparture {
    /// Moves between the steps, and possibly fewer steps.
    Early,
    /// Moves after the last step only.
    Late,
}

/// Returns the scenarios that `run` would play on the target, with the information of its first look.
pub fn fitting(
    version: Version,
    conditions: PlayConditions,
    offers: &HostOffers,
) -> Vec<&'static BaseScenario> {
    let embedded = conditions.reference && conditions.aggressive;
    let abilities = TargetAbilities {
        version,
        profiles: vec![if conditions.agent.is_some() { "all" } else { "core" }.to_owned()],
        embedded,
        restarts: conditions.restarts,
        detected: offers.detected().to_vec(),
        agent: conditions.agent.unwrap_or_default(),
        aggressive: conditions.aggressive,
    };
    // Several conversations are played at the same time, on a host with its own settings.
    let shared = |base: &BaseScenario| embedded || !plays_alone(&base.entry.scenario);
    let of_hosts = |base: &BaseScenario| base.entry.scenario.tested.is_none();
    let own = |base: &BaseScenario| !base.entry.scenario.host.is_empty();
    let entries = bases().iter().filter(|base| of_hosts(base) && !own(base) && shared(base));
    let fits = |base: &&BaseScenario| {
        plan(&[&base.entry], &abilities).iter().all(|planned| planned.skip.is_none())
    };
    entries.filter(fits).collect()
}

/// Generates the conversation of a seed for a target. Returns `None` if the reference host does not play it as expected.
pub fn sequence(
    target: &(Version, PlayConditions, HostOffers),
    base: &BaseScenario,
    seed: u64,
) -> Option<GeneratedSequence> {
    let departures = [SuiteDeparture::Early, SuiteDeparture::Late];
    departures.into_iter().find_map(|departure| departed(target, base, seed, departure))
}

fn departed(
    target: &(Version, PlayConditions, HostOffers),
    base: &BaseScenario,
    seed: u64,
    departure: SuiteDeparture,
) -> Option<GeneratedSequence> {
    let (version, conditions, offers) = target.clone();
    let scenario = &base.entry.scenario;
    let mut clients: Vec<&str> = scenario.clients.iter().map(String::as_str).collect();
    clients.push(FURTHER);
    let head = ConversationHead { approves: scenario.approves.clone(), needs: base.needs() };
    let mut builder =
        ConversationBuilder::new(version, seed, (conditions, offers), &clients, head)?;
    builder.skip_to(NUMBERS);
    let mut told = match departure {
        SuiteDeparture::Early => disturbed(&mut builder, base),
        SuiteDeparture::Late => {
            base.steps.iter().for_each(|step| drop(builder.put(step.clone())));
            vec![(scenario.id.clone(), "whole", ClientStepResult::Nothing)]
        }
    };
    if builder.broken {
        return None;
    }
    let moves = builder.dice.below(LONGEST + 1);
    told.extend(go_on(&mut builder, &[], moves));
    close(&mut builder);
    let title = format!("A generated conversation that begins like `{}`", scenario.id);
    let sequence = finished(builder, seed, &title, told)?;
    let honest = EmbeddedGround::of(version, conditions.agent.unwrap_or_default(), &[]);
    honest.found(&sequence.draft).is_empty().then_some(sequence)
}

/// Plays the steps of a scenario, some of them followed by a disturbance, possibly without the last steps.
fn disturbed(builder: &mut ConversationBuilder, base: &BaseScenario) -> Vec<ActionLogEntry> {
    let cut = builder.dice.chance(CUT);
    let end = if cut { 1 + builder.dice.below(base.steps.len()) } else { base.steps.len() };
    let steps = &base.steps[..end];
    // A `never` step needs a later `barrier` step.
    let barrier = steps.iter().rposition(|step| step.get("barrier").is_some());
    let ended = |at: usize| barrier.is_some_and(|barrier| at < barrier);
    let how = if cut { "cut short" } else { "disturbed" };
    let mut told = vec![(base.entry.scenario.id.clone(), how, ClientStepResult::Nothing)];
    for (at, step) in steps.iter().enumerate() {
        if step.get("never").is_some() && !ended(at) {
            continue;
        }
        builder.put(step.clone());
        if builder.broken {
            break;
        }
        if builder.dice.chance(DISTURBED)
            && let Some(name) = builder.dice.pick(DISTURBANCES)
        {
            told.extend(named_move(builder, name));
        }
    }
    told
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::arb::generate::ConversationGenerator;

    fn generator(conditions: PlayConditions) -> ConversationGenerator {
        ConversationGenerator::new(Version::V1_0, 1, conditions)
    }

    #[test]
    fn scenarios_take_turns_and_a_seed_tells_its_scenario() {
        let generator = generator(PlayConditions::ALL);
        let scenarios = generator.bases().len() as u64;
        let mut used: BTreeMap<&str, usize> = BTreeMap::new();
        let mut without = 0;
        for number in 0..scenarios * 5 {
            match generator.base_of(generator.seed_of(number)) {
                Some(base) => *used.entry(&base.entry.scenario.id).or_default() += 1,
                None => without += 1,
            }
        }
        assert_eq!((used.len() as u64, without), (scenarios, scenarios * 3));
        assert!(used.values().all(|times| *times == 2), "{used:?}");
    }

    #[test]
    fn most_scenarios_can_begin_a_conversation() {
        let generator = generator(PlayConditions::ALL);
        let all = generator.bases().iter().step_by(4);
        let useless: Vec<&str> = all
            .clone()
            .filter(|base| sequence(&generator.target(), base, 2).is_none())
            .map(|base| base.entry.scenario.id.as_str())
            .collect();
        assert!(useless.len() * 8 < all.count(), "{useless:?}");
    }

    #[test]
    fn a_foreign_host_gets_no_scenario_that_needs_the_host_for_itself() {
        let (own, foreign) = (generator(PlayConditions::ALL), generator(PlayConditions::FOREIGN));
        let alone = |it: &&&BaseScenario| plays_alone(&it.entry.scenario);
        assert!(own.bases().iter().any(|it| alone(&it)));
        assert!(!foreign.bases().iter().any(|it| alone(&it)));
        let embedded = |it: &&BaseScenario| it.entry.scenario.embedded_only.is_some();
        assert!(!foreign.bases().iter().any(embedded));
    }
}
