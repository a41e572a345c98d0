//! Tests round trips: the subject decodes a value of each type and encodes it again.
//!
//! Knows: the run, the protocol tables. Never knows: reducers.
//!
//! Start at [`HoldRun::round_trips`].

use super::HoldRun;
use crate::dice::Dice;
use crate::reducers::case::{self, CaseDisagreement, DisagreementKind, ReducerCase};
use crate::reducers::compare::{differences, same};
use crate::reducers::exchange::{ExchangeError, SubjectAnswer, SubjectQuestion, cut};
use crate::reducers::open::{self, without_strangers};
use crate::reducers::report::AgreementTally;
use crate::wire::channel::ChannelKind;
use crate::wire::json::Value;
use crate::wire::protocol::Protocol;
use crate::wire::sample::SamplingOptions;

/// The number of values per type.
const TRIPS: usize = 24;
/// The offset of the random seeds for round trips, which keeps them apart from the seeds of sequences.
const TRIP_DICE: u64 = 1 << 40;

impl HoldRun<'_> {
    /// Tests round trips of generated values of every type or, if the options contain values, of these values.
    pub(super) fn round_trips(&mut self) {
        let Some(protocol) = Protocol::of(self.options.version) else { return };
        let said = self.options.said.clone();
        let names = match said.is_empty() {
            true => round_trip_types(protocol),
            false => said.keys().cloned().collect(),
        };
        for name in names {
            if self.subject.is_lost() {
                return;
            }
            let values = match said.get(&name) {
                Some(values) => values.clone(),
                None => self.values(protocol, &name),
            };
            let question = |value: &Value| {
                let name = if protocol.action(&name).is_some() { "StateAction" } else { &name };
                SubjectQuestion::RoundTrip { name: name.to_owned(), value: value.clone() }
            };
            let answers = self.ask(values.iter().map(question).collect());
            let served =
                answers.iter().any(|answer| matches!(answer, Ok(SubjectAnswer::Value { .. })));
            let broken = answers.iter().any(Result::is_err);
            if !served && !broken {
                self.report.unserved.push(name);
                continue;
            }
            let mut tally = AgreementTally::default();
            for (value, answer) in values.iter().zip(&answers) {
                if *answer == Err(ExchangeError::GivenUp) {
                    continue;
                }
                let mut found = lost(&name, value, answer);
                if let Some(found) = &mut found {
                    let disputed = || open::disputes(self.options.version, &name, value);
                    found.open = found.open.or_else(disputed);
                }
                tally.count(found.as_ref());
                if let Some(found) = found {
                    let state = value.clone();
                    let case = ReducerCase {
                        channel: ChannelKind::Root,
                        state,
                        actions: Vec::new(),
                        now: 0,
                    };
                    self.file(found, &case, None);
                }
            }
            self.report.round_trips.insert(name, tally);
        }
    }

    fn values(&self, protocol: &'static Protocol, name: &str) -> Vec<Value> {
        let part = name.bytes().fold(TRIP_DICE, |sum, byte| sum.wrapping_mul(31) + u64::from(byte));
        let mut dice = Dice::new(self.options.seed, part);
        let mut values = Vec::new();
        for number in 0..TRIPS {
            let sampling = SamplingOptions {
                unknown: if number % 3 == 2 { 8 } else { 0 },
                strange: if number % 4 == 3 { 6 } else { 0 },
                ..SamplingOptions::default()
            };
            let mut choose = |count| if number == 0 { 0 } else { dice.below(count) };
            let mut sampler = protocol.sampler(sampling, &mut choose);
            let value = match protocol.action(name) {
                Some(_) => sampler.action(name),
                None => sampler.of_type(name),
            };
            values.extend(value);
        }
        values
    }
}

/// Returns the difference between a value and the result of its round trip; `None` if there is none.
fn lost(
    name: &str,
    value: &Value,
    answer: &Result<SubjectAnswer, ExchangeError>,
) -> Option<CaseDisagreement> {
    let of = |kind, path: String, ours: String, theirs: String, open| CaseDisagreement {
        kind,
        action: name.to_owned(),
        path,
        ours,
        theirs,
        open,
    };
    match answer {
        Err(fault) => {
            let path = "round trip".to_owned();
            Some(of(
                DisagreementKind::Broken,
                path,
                "an answer".to_owned(),
                fault.to_string(),
                None,
            ))
        }
        Ok(SubjectAnswer::Error(why)) => {
            let path = "refused".to_owned();
            Some(of(DisagreementKind::Lost, path, "the value".to_owned(), cut(why, 160), None))
        }
        Ok(SubjectAnswer::Value { value: back, .. }) => {
            let differences = differences(value, back);
            let first = differences.first()?;
            let alike = same(&without_strangers(value), &without_strangers(back));
            let open = alike.then(open::unknown_members).flatten();
            let path = case::place_class(&first.path);
            let (ours, theirs) = (case::shown(&first.ours), case::shown(&first.theirs));
            Some(of(DisagreementKind::Lost, path, ours, theirs, open))
        }
    }
}

/// Returns the types whose values are tested: states, actions, params and results.
fn round_trip_types(protocol: &Protocol) -> Vec<String> {
    const MORE: &[&str] =
        &["ActionEnvelope", "Turn", "ResponsePart", "ToolCallState", "Customization", "ChatSource"];
    let states = ChannelKind::all().map(|kind| kind.state_type().to_owned());
    let more = MORE.iter().map(|name| (*name).to_owned());
    let messages = protocol
        .methods()
        .flat_map(|method| [Some(method.params_type.clone()), method.result_type.clone()])
        .flatten();
    let types = states.chain(more).chain(messages).filter(|name| protocol.has_type(name));
    let actions = protocol.actions().map(|row| row.action_type.clone());
    let mut names: Vec<String> = types.chain(actions).collect();
    names.sort();
    names.dedup();
    names
}
