//! Generates sequences of actions. Most actions change the state, and a few are wrong on purpose, for example with an
//! unknown type.
//!
//! The generator draws a random valid action and replaces its identifiers by identifiers of the current state. It
//! repeats this until the action changes the state of the harness's reducer, but at most a few times. The generator
//! needs no knowledge about single actions, so it generates new actions as soon as the protocol tables contain them.
//! Actions that are wrong on purpose (with wrong identifiers, unknown types or payloads that violate the schema) are
//! rare; [`DeviantAction`] lists the ways in which they are wrong.
//!
//! Knows: the protocol tables, the harness's reducers, the random generator. Never knows: subjects.
//!
//! Start at [`SequenceGenerator::sequence`].

use litemap::LiteMap;

use crate::wire::json::{Value, json};

use super::aim::StateTargets;
use super::case::ReducerCase;
use super::open::STRANGER;
use crate::dice::Dice;
use crate::model::{self, ActionOutcome};
use crate::wire::channel::ChannelKind;
use crate::wire::protocol::Protocol;
use crate::wire::sample::SamplingOptions;
use crate::wire::version::Version;

/// A generator of sequences for one version.
#[derive(Debug)]
pub struct SequenceGenerator {
    version: Version,
    protocol: &'static Protocol,
    seed: u64,
    /// The channels, and the types of their actions.
    channels: Vec<(ChannelKind, Vec<String>)>,
}

/// A sequence of actions, as a whole and as a separate case for each action.
#[derive(Clone, Debug)]
pub struct ReducerSequence {
    /// The initial state with all actions of the sequence that a host could send.
    pub whole: ReducerCase,
    /// Each action as a case that starts from the state before this action, including actions that violate the schema.
    pub steps: Vec<ReducerCase>,
}

/// A way in which a generated action is wrong on purpose.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum DeviantAction {
    /// The identifiers of the action are not taken from the state, so they may not exist.
    Anywhere,
    /// A member of the action violates the schema.
    Malformed,
    /// The type of the action is unknown.
    UnknownType,
    /// The action belongs to another channel.
    OtherChannel,
}

/// The ways in which actions are wrong on purpose, each with the percentage of all actions that are wrong in this way.
const MISSES: &[(usize, DeviantAction)] = &[
    (12, DeviantAction::Anywhere),
    (6, DeviantAction::Malformed),
    (2, DeviantAction::UnknownType),
    (2, DeviantAction::OtherChannel),
];

/// The maximum number of actions that are drawn until one of them changes the state.
const TRIES: usize = 10;
/// The percentage of the draws in a sequence that draw an action of the preferred type.
const WISHED: usize = 35;
/// The maximum number of initial states that are tried until an action of the preferred type changes one of them.
const STATES: usize = 16;
/// The number of actions of the preferred type that are drawn for each initial state.
const WISHES: usize = 3;
/// The number of other random states whose list entries are added to an initial state, so that its lists have several
/// entries.
const RICHER: usize = 3;
/// The minimum length of a sequence.
const SHORTEST: usize = 4;
/// The number of possible lengths of a sequence: the shortest length is [`SHORTEST`], and each further length is
/// greater by 1.
const LONGER: usize = 12;
/// The times that the clock shows while sequences are applied.
const CLOCKS: &[u64] = &[9_999, 1_798_761_599_999, 0];

impl SequenceGenerator {
    /// Creates a generator for a version and the channels that `wanted` accepts. Returns `None` if there is
    /// nothing to generate.
    pub fn new(
        version: Version,
        seed: u64,
        wanted: impl Fn(ChannelKind) -> bool,
    ) -> Option<SequenceGenerator> {
        let protocol = Protocol::of(version)?;
        let mut by_channel: LiteMap<ChannelKind, Vec<String>> = LiteMap::new();
        for row in protocol.actions() {
            if model::reduces(version, &row.action_type) && wanted(row.channel) {
                by_channel.entry(row.channel).or_default().push(row.action_type.clone());
            }
        }
        let channels: Vec<_> = by_channel.into_iter().collect();
        (!channels.is_empty()).then_some(SequenceGenerator { version, protocol, seed, channels })
    }

    /// Returns the simplest state of each channel, which is used to check whether a subject supports the channel.
    pub fn plainest(&self) -> Vec<ReducerCase> {
        let plain = |(channel, _): &(ChannelKind, Vec<String>)| {
            let mut choose = |_: usize| 0;
            let state =
                self.protocol.sampler(SamplingOptions::default(), &mut choose).state(*channel)?;
            Some(ReducerCase { channel: *channel, state, actions: Vec::new(), now: 0 })
        };
        self.channels.iter().filter_map(plain).collect()
    }

    /// Returns the sequence with this number. The sequence depends only on the seed and the number.
    pub fn sequence(&self, number: u64) -> ReducerSequence {
        let mut dice = Dice::new(self.seed, number);
        // Each type of action is preferred in turn, so that rare types occur. The number of sequences for a channel is
        // therefore proportional to its number of action types.
        let types = || self.channels.iter().flat_map(|(_, types)| types);
        let turn = usize::try_from(number).unwrap_or_default() % types().count().max(1);
        let wish = types().nth(turn).cloned().unwrap_or_default();
        let chosen = self.channels.iter().find(|(_, types)| types.contains(&wish));
        let Some((channel, types)) = chosen else {
            let whole = ReducerCase {
                channel: ChannelKind::Root,
                state: json!({}),
                actions: Vec::new(),
                now: 0,
            };
            return ReducerSequence { whole, steps: Vec::new() };
        };
        let sampling = SamplingOptions {
            ids: 2 + dice.below(4),
            unknown: if dice.chance(25) { 12 } else { 0 },
            strange: if dice.chance(25) { 10 } else { 0 },
            timeless: if dice.chance(15) { 6 } else { 0 },
            distinct: dice.chance(85),
        };
        let now = dice.pick(CLOCKS).copied().unwrap_or_default();
        let channel = *channel;
        let mut walk = SequenceWalk { generator: self, channel, types, wish, sampling, now, dice };
        let state = walk.first();
        walk.walk(state)
    }

    /// Draws an initial state: sometimes the simplest state, otherwise a random state.
    fn state(&self, channel: ChannelKind, sampling: SamplingOptions, dice: &mut Dice) -> Value {
        let plain = dice.chance(30);
        let mut choose = |count| if plain { 0 } else { dice.below(count) };
        let mut sampler = self.protocol.sampler(sampling, &mut choose);
        let mut state = sampler.state(channel).unwrap_or_else(|| json!({}));
        if !plain {
            for _ in 0..RICHER {
                enrich(&mut state, sampler.state(channel).unwrap_or_default());
            }
        }
        if !plain && sampler.of_type("ActiveTurn").is_some() && state.get("turns").is_some() {
            busy(&mut state, sampling, self.protocol, dice);
        }
        state
    }
}

/// Adds the lists of another state: missing lists, and entries with new identifiers. In a list with a single entry,
/// most errors of a reducer in the handling of lists would not show.
fn enrich(state: &mut Value, other: Value) {
    let (Value::Object(state), Value::Object(other)) = (state, other) else { return };
    for (name, value) in other {
        let Value::Array(more) = value else { continue };
        match state.get_mut(&name) {
            Some(Value::Array(held)) => {
                for item in more {
                    let id = identity(&item);
                    if id.is_some() && !held.iter().any(|other| identity(other) == id) {
                        held.push(item);
                    }
                }
            }
            _ => drop(state.insert(name, Value::Array(more))),
        }
    }
}

/// Adds an active turn with useful parts to a state with turns. About half of all actions apply to parts of an active
/// turn, and randomly drawn parts are rarely useful.
fn busy(state: &mut Value, sampling: SamplingOptions, protocol: &Protocol, dice: &mut Dice) {
    const DRAWS: usize = 10;
    const KINDS: [&str; 3] = ["toolCall", "inputRequest", "markdown"];
    let draws = dice.below(DRAWS);
    let mut choose = |count| dice.below(count);
    let mut sampler = protocol.sampler(sampling, &mut choose);
    let parts = (0..draws).filter_map(|_| sampler.of_type("ResponsePart"));
    let lively = |part: &Value| {
        part.get("kind").and_then(Value::as_str).is_some_and(|kind| KINDS.contains(&kind))
    };
    let mut parts: Vec<Value> = parts.filter(lively).collect();
    // The contributor of a tool call determines which actions apply, but most randomly drawn tool calls have no
    // contributor.
    for call in parts.iter_mut().filter_map(|part| part.get_mut("toolCall")) {
        if call.get("contributor").is_none()
            && let Some(contributor) = sampler.of_type("ToolCallContributor")
        {
            put(call, "contributor", contributor);
        }
    }
    if parts.is_empty() {
        return;
    }
    if state.get("activeTurn").is_none_or(Value::is_null) {
        let turn = sampler.of_type("ActiveTurn").unwrap_or_default();
        put(state, "activeTurn", turn);
    }
    let turn = state.get_mut("activeTurn").and_then(|turn| turn.get_mut("responseParts"));
    let Some(held) = turn.and_then(Value::as_array_mut) else { return };
    for part in parts {
        let id = identity(&part);
        if id.is_some() && !held.iter().any(|other| identity(other) == id) {
            held.push(part);
        }
    }
}

/// Returns the identifier of a list entry, from whichever member contains it.
fn identity(item: &Value) -> Option<&Value> {
    const PLACES: [&str; 6] =
        ["/id", "/toolCall/toolCallId", "/request/id", "/resource", "/clientId", "/commandId"];
    PLACES.iter().find_map(|place| item.pointer(place))
}

/// The state of generating one sequence.
struct SequenceWalk<'a> {
    generator: &'a SequenceGenerator,
    channel: ChannelKind,
    types: &'a [String],
    wish: String,
    sampling: SamplingOptions,
    now: u64,
    dice: Dice,
}

impl SequenceWalk<'_> {
    /// Returns an initial state in which the preferred action has an effect, if a few draws find such a state.
    fn first(&mut self) -> Value {
        let mut state = json!({});
        for _ in 0..STATES {
            state = self.generator.state(self.channel, self.sampling, &mut self.dice);
            let wish = self.wish.clone();
            let targets = StateTargets::of(&state);
            for _ in 0..WISHES {
                let mut action = self.draw_type(&wish);
                targets.aim(&mut self.dice, &mut action);
                if self.changes(&state, &action) {
                    return state;
                }
            }
        }
        state
    }

    /// Returns whether the action changes the state, according to the harness's reducer.
    fn changes(&self, state: &Value, action: &Value) -> bool {
        let mut after = state.clone();
        let version = self.generator.version;
        let outcome = model::apply_at(version, self.channel, self.now, &mut after, action);
        outcome == ActionOutcome::Applied && after != *state
    }

    fn walk(&mut self, first: Value) -> ReducerSequence {
        let mut state = first.clone();
        let (mut actions, mut steps) = (Vec::new(), Vec::new());
        for _ in 0..SHORTEST + self.dice.below(LONGER) {
            let miss = self.miss();
            let action = self.action(&state, miss);
            let step = ReducerCase {
                channel: self.channel,
                state: state.clone(),
                actions: vec![action.clone()],
                now: self.now,
            };
            // A host could not send a malformed action, so the result of the action is not used as the next state.
            if miss != Some(DeviantAction::Malformed) {
                state = step.fold(self.generator.version).state;
                actions.push(action);
            }
            steps.push(step);
        }
        let whole = ReducerCase { channel: self.channel, state: first, actions, now: self.now };
        ReducerSequence { whole, steps }
    }

    fn miss(&mut self) -> Option<DeviantAction> {
        let mut place = self.dice.below(100);
        for (share, miss) in MISSES {
            if place < *share {
                return Some(*miss);
            }
            place -= share;
        }
        None
    }

    fn action(&mut self, state: &Value, miss: Option<DeviantAction>) -> Value {
        match miss {
            Some(DeviantAction::UnknownType) => {
                let family = self.channel.family();
                let mut action = self.draw();
                put(&mut action, "type", json!(format!("{family}/{STRANGER}later")));
                action
            }
            Some(DeviantAction::OtherChannel) => self.foreign(),
            Some(DeviantAction::Malformed) => {
                let mut action = self.hit(state);
                let dice = &mut self.dice;
                let mut choose = |count| dice.below(count);
                let protocol = self.generator.protocol;
                protocol.sampler(self.sampling, &mut choose).spoil(&mut action);
                action
            }
            Some(DeviantAction::Anywhere) => {
                let mut action = self.draw();
                if self.dice.chance(50) {
                    StateTargets::of(state).aim(&mut self.dice, &mut action);
                }
                action
            }
            None => self.hit(state),
        }
    }

    /// Draws an action that changes the state. If a few draws find no such action, returns the last drawn
    /// action.
    fn hit(&mut self, state: &Value) -> Value {
        let targets = StateTargets::of(state);
        let mut last = json!({"type": "x"});
        for _ in 0..TRIES {
            let mut action = self.draw();
            targets.aim(&mut self.dice, &mut action);
            let changed = self.changes(state, &action);
            last = action;
            if changed {
                break;
            }
        }
        last
    }

    /// Draws a valid action of the channel; the preferred type is more frequent.
    fn draw(&mut self) -> Value {
        let wish = self.dice.chance(WISHED);
        let any = self.dice.pick(self.types).cloned().unwrap_or_default();
        let name = if wish { self.wish.clone() } else { any };
        self.draw_type(&name)
    }

    fn draw_type(&mut self, name: &str) -> Value {
        // Some actions have no optional members. In all others, each optional member is present with a probability of
        // one half.
        let plain = self.dice.chance(20);
        let dice = &mut self.dice;
        let mut choose = |count| if plain { 0 } else { dice.below(count) };
        let protocol = self.generator.protocol;
        protocol.sampler(self.sampling, &mut choose).action(name).unwrap_or_else(|| json!({}))
    }

    /// Draws a valid action of another channel.
    fn foreign(&mut self) -> Value {
        let others: Vec<&(ChannelKind, Vec<String>)> =
            self.generator.channels.iter().filter(|row| row.0 != self.channel).collect();
        let name = self.dice.pick(&others).and_then(|row| self.dice.pick(&row.1)).cloned();
        name.map_or_else(|| json!({"type": "x-other/later"}), |name| self.draw_type(&name))
    }
}

fn put(value: &mut Value, name: &str, member: Value) {
    if let Value::Object(members) = value {
        members.insert(name.to_owned(), member);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reducers::open::is_malformed;

    const V1_0: Version = Version::new(1, 0, 0);

    #[test]
    fn the_same_seed_gives_the_same_sequence() {
        let generator = |seed| SequenceGenerator::new(V1_0, seed, |_| true).unwrap();
        for number in 0..20 {
            let one = generator(7).sequence(number);
            assert_eq!(one.whole, generator(7).sequence(number).whole);
            assert_eq!(one.steps, generator(7).sequence(number).steps);
        }
        assert_ne!(generator(7).sequence(0).whole, generator(8).sequence(0).whole);
    }

    #[test]
    fn most_actions_have_an_effect_and_every_kind_does() {
        let generator = SequenceGenerator::new(V1_0, 1, |_| true).unwrap();
        let (mut hits, mut total) = (0, 0);
        let mut missing: Vec<&String> =
            generator.channels.iter().flat_map(|(_, types)| types).collect();
        for number in 0..1600 {
            for step in generator.sequence(number).steps {
                total += 1;
                let folded = step.fold(V1_0);
                if folded.state != step.state && !is_malformed(V1_0, &step.actions[0]) {
                    hits += 1;
                    missing.retain(|name| step.actions[0]["type"] != **name);
                }
            }
        }
        assert!(hits * 100 > total * 60, "{hits} of {total} hit");
        // The following actions never change a state: they are requests, or events to which hosts react with other
        // actions.
        missing.retain(|name| !(name.ends_with("Requested") && name.starts_with("automation")));
        missing
            .retain(|name| !["terminal/input", "resourceWatch/changed"].contains(&name.as_str()));
        assert_eq!(missing, Vec::<&String>::new(), "never take effect");
    }

    #[test]
    fn states_stay_valid() {
        let generator = SequenceGenerator::new(V1_0, 2, |_| true).unwrap();
        let protocol = Protocol::of(V1_0).unwrap();
        for number in 0..100 {
            for step in generator.sequence(number).steps {
                let errors = protocol.check_state(step.channel, &step.state);
                let hard: Vec<_> = errors.iter().filter(|error| !error.soft).collect();
                assert!(hard.is_empty(), "{number}: {hard:?}\n{}", step.state);
            }
        }
    }
}
