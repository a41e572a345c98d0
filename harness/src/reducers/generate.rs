//! Sequences of actions that mostly hit: drawn from the protocol tables, aimed at the state that is
//! there, and now and then beside it on purpose.
//!
//! An action is drawn as a valid value of its type, its ids are replaced by ids of the present
//! state, and of a few tries the first that our own reducer takes is kept. So generation needs no
//! knowledge of single actions, and new actions of a new table are generated as soon as there is a
//! row for them. What goes beside the state on purpose (wrong ids, unknown actions and members,
//! payloads that break the schema) is a small share, and named in [`DeviantAction`].
//!
//! Knows: the protocol tables, our reducers, dice. Never knows: subjects.
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

/// Generates sequences for one version.
#[derive(Debug)]
pub struct SequenceGenerator {
    version: Version,
    protocol: &'static Protocol,
    seed: u64,
    /// The channels, and the types of their actions.
    channels: Vec<(ChannelKind, Vec<String>)>,
}

/// A sequence, and every step of it alone.
#[derive(Clone, Debug)]
pub struct ReducerSequence {
    /// All actions that a host could send, from the first state.
    pub whole: ReducerCase,
    /// Each action from the state it finds, those that break the schema included.
    pub steps: Vec<ReducerCase>,
}

/// How an action goes beside the state.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum DeviantAction {
    /// Its ids may lead nowhere.
    Anywhere,
    /// A member of it breaks the schema.
    Malformed,
    /// Its type is nobody's.
    UnknownType,
    /// It belongs to another channel.
    OtherChannel,
}

/// Of a hundred actions, how many miss in each way.
const MISSES: &[(usize, DeviantAction)] = &[
    (12, DeviantAction::Anywhere),
    (6, DeviantAction::Malformed),
    (2, DeviantAction::UnknownType),
    (2, DeviantAction::OtherChannel),
];

/// How often an action is drawn anew until one hits.
const TRIES: usize = 10;
/// Of a hundred actions, how many are of the type that the sequence tries more often.
const WISHED: usize = 35;
/// How many first states are tried for one in which the wished action takes effect.
const STATES: usize = 16;
/// How often the wished action is drawn for each of them.
const WISHES: usize = 3;
/// How many other states the lists of a first state are taken from.
const RICHER: usize = 3;
/// Fewest actions of a sequence.
const SHORTEST: usize = 4;
/// How many more there can be.
const LONGER: usize = 12;
/// Clocks that sequences are folded by.
const CLOCKS: &[u64] = &[9_999, 1_798_761_599_999, 0];

impl SequenceGenerator {
    /// A generator for a version and those of its channels that `wanted` says yes to. `None` where
    /// there is nothing to generate.
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

    /// The plainest state of each channel, to see whether a subject serves it.
    pub fn plainest(&self) -> Vec<ReducerCase> {
        let plain = |(channel, _): &(ChannelKind, Vec<String>)| {
            let mut choose = |_: usize| 0;
            let state =
                self.protocol.sampler(SamplingOptions::default(), &mut choose).state(*channel)?;
            Some(ReducerCase { channel: *channel, state, actions: Vec::new(), now: 0 })
        };
        self.channels.iter().filter_map(plain).collect()
    }

    /// The sequence of that number: the same seed and number, the same sequence.
    pub fn sequence(&self, number: u64) -> ReducerSequence {
        let mut dice = Dice::new(self.seed, number);
        // Every type of action has its turn at being tried more often than the others, so that rare
        // ones have their chance; channels come as often as they have actions.
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

    /// A state to begin with: the plainest one there is, or any.
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

/// Takes over the lists of another state: what is not there yet, and entries whose ids are new.
/// Lists of one entry know no order and hide most of what can go wrong in them.
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

/// Gives a state with turns an active one with parts that something can happen to: half of all
/// actions are about these, and a part that is drawn blindly is seldom one of them.
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
    // Whose call it is decides what can happen to it, and is left out of most.
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

/// What tells the entries of a list apart.
fn identity(item: &Value) -> Option<&Value> {
    const PLACES: [&str; 6] =
        ["/id", "/toolCall/toolCallId", "/request/id", "/resource", "/clientId", "/commandId"];
    PLACES.iter().find_map(|place| item.pointer(place))
}

/// One sequence in the making.
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
    /// A state in which the wished action takes effect, if a few tries find one.
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

    /// Whether our reducer changes a state by an action.
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
            // What a broken payload leaves behind is no state that a host could have.
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

    /// An action that changes the state, if a few tries find one.
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

    /// A valid action of any type of the channel.
    fn draw(&mut self) -> Value {
        let wish = self.dice.chance(WISHED);
        let any = self.dice.pick(self.types).cloned().unwrap_or_default();
        let name = if wish { self.wish.clone() } else { any };
        self.draw_type(&name)
    }

    fn draw_type(&mut self, name: &str) -> Value {
        // Optional members are drawn half of the time; some actions come without any.
        let plain = self.dice.chance(20);
        let dice = &mut self.dice;
        let mut choose = |count| if plain { 0 } else { dice.below(count) };
        let protocol = self.generator.protocol;
        protocol.sampler(self.sampling, &mut choose).action(name).unwrap_or_else(|| json!({}))
    }

    /// A valid action of another channel.
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
    fn most_actions_hit_and_every_action_does() {
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
        // Nothing changes by these: they are requests, or events that others act upon.
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
