//! Generates conversations of several clients. Most steps are legal, and the others have named deviations. The expected
//! outcome of each step follows from requirements.
//!
//! A conversation has a theme, which makes some moves more likely than others, so that every area is covered.
//! The stage determines which moves are possible, and their outcomes; new versions and actions need only their
//! tables.
//!
//! Knows: themes, the scenarios of the suite. Never knows: moves, the execution of scenarios.
//!
//! Start at [`ConversationGenerator::sequence`].

use std::sync::{Arc, OnceLock};

use crate::dice::Dice;
use crate::run::detect::DetectedFeature;
use crate::run::plan::HostRestarts;
use crate::run::sim;
use crate::wire::version::Version;

use super::bases::BaseScenario;
use super::builder::{ConversationBuilder, ConversationHead, is_plain};
use super::conditions::PlayConditions;
use super::generated_sequence::{GeneratedSequence, close, finished};
use super::moves::go_on;
use super::offered::HostOffers;
use super::opening::open;
use super::suite;
use super::themes::{ConversationTheme, OWN, RESTARTS, THEMES};

/// A generator of conversations for one version.
#[derive(Clone, Debug)]
pub struct ConversationGenerator {
    version: Version,
    seed: u64,
    conditions: PlayConditions,
    offers: HostOffers,
    /// The theme of every conversation; `None` for any theme.
    theme: Option<&'static str>,
    /// The scenarios with which a conversation can begin.
    bases: Arc<OnceLock<Vec<&'static BaseScenario>>>,
}

/// In each group of `ROUND` conversations, the conversations at these indices begin with the steps of a scenario of the
/// suite.
const OF_SUITE: &[u64] = &[1, 3];
const ROUND: u64 = 5;
/// The distance in the list of scenarios between the scenarios of consecutive conversations, so that these are about
/// different subjects. The distance is a prime number greater than the number of scenarios.
const STRIDE: u64 = 7_919;
/// The minimum number of moves of a conversation.
const SHORTEST: usize = 3;
/// The maximum number of moves beyond [`SHORTEST`].
const LONGER: usize = 16;
impl ConversationGenerator {
    /// Creates a generator for a version and a host with the capabilities of the reference host.
    pub fn new(version: Version, seed: u64, conditions: PlayConditions) -> ConversationGenerator {
        // In a version with another vocabulary, no capability is assumed.
        let detected = if is_plain(version) { &[] } else { sim::detected(version) };
        let offers = HostOffers::of(detected);
        ConversationGenerator {
            version,
            seed,
            conditions,
            offers,
            theme: None,
            bases: Arc::default(),
        }
    }

    /// Returns the generator of conversations with one theme.
    pub fn about(self, theme: &'static str) -> ConversationGenerator {
        ConversationGenerator { theme: Some(theme), ..self }
    }

    /// Returns the generator for a host with these capabilities.
    pub fn offering(self, detected: &[DetectedFeature]) -> ConversationGenerator {
        let all = [self.offers.detected(), detected].concat();
        ConversationGenerator { offers: HostOffers::of(&all), bases: Arc::default(), ..self }
    }

    /// Returns the version, the properties of the target and its capabilities.
    pub fn target(&self) -> (Version, PlayConditions, HostOffers) {
        (self.version, self.conditions, self.offers.clone())
    }

    /// Returns the scenarios with which a conversation can begin.
    pub fn bases(&self) -> &[&'static BaseScenario] {
        self.bases.get_or_init(|| suite::fitting(self.version, self.conditions, &self.offers))
    }

    /// Returns the seed of the conversation with this number. The parity of a seed decides whether the conversation
    /// begins with the steps of a scenario, and the seed also selects the scenario. The scenarios take turns, so that a
    /// campaign uses all of them before it uses one again.
    pub fn seed_of(&self, number: u64) -> u64 {
        let rolled = Dice::new(self.seed, number).roll();
        let scenarios = self.bases().len() as u64;
        let place = OF_SUITE.iter().position(|place| number % ROUND == *place);
        match place {
            Some(place) if scenarios > 0 && self.theme.is_none() => {
                let turn = number / ROUND * OF_SUITE.len() as u64 + place as u64;
                let base = (self.seed % scenarios + turn % scenarios * STRIDE) % scenarios;
                // The seed is even and near the random number, and it selects this scenario.
                let round = 2 * scenarios;
                (rolled / round).saturating_sub(1) * round + 2 * base
            }
            _ => rolled | 1,
        }
    }

    /// Returns the scenario with which the conversation of a seed begins; `None` if it begins with none.
    pub(super) fn base_of(&self, seed: u64) -> Option<&'static BaseScenario> {
        let bases = self.bases();
        let place = usize::try_from(seed / 2 % (bases.len().max(1) as u64)).ok()?;
        bases.get(place).copied().filter(|_| seed.is_multiple_of(2))
    }

    /// Generates the conversation with this number. The generator's seed and the number determine it.
    pub fn sequence(&self, number: u64) -> Option<GeneratedSequence> {
        self.of_seed(self.seed_of(number))
    }

    /// Generates the conversation of a seed.
    pub fn of_seed(&self, seed: u64) -> Option<GeneratedSequence> {
        sequence(self, seed)
    }
}

/// Generates the conversation of a seed.
fn sequence(generator: &ConversationGenerator, seed: u64) -> Option<GeneratedSequence> {
    let ConversationGenerator { version, conditions, offers, theme: only, .. } = generator.clone();
    if let Some(base) = generator.base_of(seed) {
        return suite::sequence(&generator.target(), base, seed);
    }
    let head = ConversationHead::default();
    let mut builder =
        ConversationBuilder::new(version, seed, (conditions, offers), &["A", "B", "C"], head)?;
    let fits = |theme: &&ConversationTheme| {
        (conditions.reference || !OWN.contains(&theme.name))
            && (conditions.restarts != HostRestarts::Never || theme.name != RESTARTS)
            && only.is_none_or(|only| theme.name == only)
    };
    let themes: Vec<&ConversationTheme> = THEMES.iter().filter(fits).collect();
    let theme = *builder.dice.pick(&themes)?;
    builder.focus = theme.focus;
    open(&mut builder, theme.opening)?;
    let moves = SHORTEST + builder.dice.below(LONGER + 1);
    let told = go_on(&mut builder, theme.more, moves);
    close(&mut builder);
    let title = format!("A generated conversation about {}", theme.name);
    finished(builder, seed, &title, told)
}
