//! Legal variants: behaviour that the Agent Client Protocol permits and that the reference agent does not have
//! by default.
//!
//! An injected fault proves that a check can fail. A variant proves that no check fails on a legal agent. Each
//! variant is a struct that rewrites the messages between client and agent, so that several can be combined.
//! `catalogue` lists them with the text that permits each.
//!
//! Knows: the reference agent, messages. Never knows: rules, scenarios.
//!
//! Start at [`AgentVariant`] and [`VariantAgent`].

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use crate::wire::json::Value;

use super::{AcpAgent, AgentConfig, AgentOutput, EffectResult};

mod asking;
mod calls;
mod catalogue;
mod delivery;
mod endings;
mod ids;
mod initialize;
mod reports;
mod rewriting;
mod row;
mod sessions;
mod spelling;
mod traffic;

pub use catalogue::AGENT_VARIANTS;
use rewriting::key;
pub use rewriting::{AgentVariant, MessageFlow, VariantLink};
pub use row::AgentVariantRow;

/// The reference agent behind a chain of variants. If there are no variants, every line is unchanged.
pub struct VariantAgent {
    inner: AcpAgent,
    /// The variants; the first one is next to the agent.
    variants: Vec<Box<dyn AgentVariant>>,
    /// The methods of the client's open requests, by id.
    asked: HashMap<String, String>,
    offers: Value,
    /// The client's messages that the agent has not received, with the time of each.
    coming: VecDeque<(Duration, Value)>,
    /// The delay of the client's messages.
    hears_after: Duration,
    /// The outputs that have not been returned, each with the time at which it is due.
    waiting: VecDeque<(Duration, AgentOutput)>,
    /// The time at which the last line is due.
    last: Duration,
    now: Duration,
}

/// The maximum number of open requests whose methods are remembered.
const MAX_ASKED: usize = 100_000;

/// A message on its way through the variants. The number counts the variants between the message and the agent.
enum PassingMessage {
    ToAgent(usize, Value),
    ToClient(usize, Value),
    /// An output other than a message; such an output bypasses all variants.
    Plain(AgentOutput),
}

impl VariantAgent {
    /// Creates a reference agent with these variants. Variants that rename sessions are placed next to the client, so
    /// that all other variants see the same ids in both directions.
    pub fn new(rows: &[&AgentVariantRow], mut config: AgentConfig) -> VariantAgent {
        let mut rows = rows.to_vec();
        rows.sort_by_key(|row| row.outermost);
        let variants: Vec<_> = rows.into_iter().map(|row| (row.make)()).collect();
        variants.iter().for_each(|variant| variant.set_up(&mut config));
        let hears_after = variants.iter().map(|variant| variant.hears_after()).max();
        VariantAgent {
            inner: AcpAgent::new(config),
            coming: VecDeque::new(),
            hears_after: hears_after.unwrap_or_default(),
            variants,
            asked: HashMap::new(),
            offers: Value::Null,
            waiting: VecDeque::new(),
            last: Duration::ZERO,
            now: Duration::ZERO,
        }
    }

    /// Returns the stored sessions, for a later process of the agent.
    pub fn kept(&self) -> Value {
        self.inner.kept()
    }

    /// Returns the sessions that have changed, like [`AcpAgent::take_changed`].
    pub fn take_changed(&mut self, everything: bool) -> Vec<(String, Value)> {
        self.inner.take_changed(everything)
    }

    /// Adopts the sessions that another process has stored.
    pub fn keep_all(&mut self, kept: &Value) {
        let ids = kept.as_array().into_iter().flatten().filter_map(|one| one["id"].as_str());
        for id in ids {
            self.variants.iter_mut().for_each(|variant| variant.on_kept(id));
        }
        self.inner.keep_all(kept);
    }

    /// Handles a line of the client.
    pub fn handle_line(&mut self, now: Duration, line: &str) {
        self.pass(now);
        match Value::read(line).ok().filter(Value::is_object) {
            Some(message) if !self.variants.is_empty() => {
                self.coming.push_back((self.now + self.hears_after, message));
                self.hear();
            }
            _ => self.inner.handle_line(now, line),
        }
        self.drain();
    }

    /// Handles the result of an effect of [`AgentOutput::Run`].
    pub fn handle_ran(&mut self, now: Duration, token: u64, ran: EffectResult) {
        self.pass(now);
        self.inner.handle_ran(now, token, ran);
        self.drain();
    }

    /// Releases a hold, see [`AcpAgent::release`].
    pub fn release(&mut self, now: Duration, case: &str, name: &str) {
        self.pass(now);
        self.inner.release(now, case, name);
        self.drain();
    }

    /// Handles timers up to `now`.
    pub fn handle_timeout(&mut self, now: Duration) {
        self.pass(now);
        self.hear();
        self.inner.handle_timeout(now);
        self.drain();
    }

    /// Returns the time at which the next timer is due; `None` if no timer is set.
    pub fn next_timeout(&self) -> Option<Duration> {
        let waiting = self.waiting.iter().map(|(due, _)| *due).min();
        let waiting = waiting.into_iter().chain(self.coming.front().map(|(due, _)| *due));
        waiting.chain(self.inner.next_timeout()).min()
    }

    /// Returns the next output; `None` if there is none.
    pub fn poll_output(&mut self) -> Option<AgentOutput> {
        if self.variants.is_empty() {
            return self.inner.poll_output();
        }
        let due = self.waiting.iter().position(|(due, _)| *due <= self.now)?;
        self.waiting.remove(due).map(|(_, output)| output)
    }

    fn pass(&mut self, now: Duration) {
        self.now = self.now.max(now);
    }

    /// Passes the client's messages that are due to the agent.
    fn hear(&mut self) {
        while self.coming.front().is_some_and(|(due, _)| *due <= self.now) {
            let Some((_, message)) = self.coming.pop_front() else { return };
            self.heard(&message);
            self.carry(vec![PassingMessage::ToAgent(self.variants.len(), message)]);
        }
    }

    /// Records the client's capabilities, and the method of a request.
    fn heard(&mut self, message: &Value) {
        let method = message["method"].as_str();
        if method == Some("initialize") {
            self.offers = message["params"]["clientCapabilities"].clone();
        }
        if let Some((id, method)) = message.get("id").zip(method)
            && self.asked.len() < MAX_ASKED
        {
            self.asked.insert(key(id), method.to_owned());
        }
    }

    /// Passes the outputs of the agent through the variants.
    fn drain(&mut self) {
        if !self.variants.is_empty() {
            let said = self.said();
            self.carry(said);
        }
    }

    /// Returns the outputs of the agent, the last one first.
    fn said(&mut self) -> Vec<PassingMessage> {
        let outputs = std::iter::from_fn(|| self.inner.poll_output());
        let mut said: Vec<_> = outputs.map(passing).collect();
        said.reverse();
        said
    }

    /// Passes messages through the variants until every message has reached the client or the agent. The last message
    /// of the list is processed first.
    fn carry(&mut self, mut list: Vec<PassingMessage>) {
        while let Some(item) = list.pop() {
            match item {
                PassingMessage::ToAgent(0, message) => {
                    self.inner.handle_line(self.now, &message.to_text());
                    list.extend(self.said());
                }
                PassingMessage::ToAgent(place, message) => {
                    let flow = self.through(place - 1, message, true);
                    list.extend(
                        flow.to_agent
                            .into_iter()
                            .rev()
                            .map(|it| PassingMessage::ToAgent(place - 1, it)),
                    );
                    list.extend(
                        flow.to_client
                            .into_iter()
                            .rev()
                            .map(|it| PassingMessage::ToClient(place, it)),
                    );
                }
                PassingMessage::ToClient(place, message) if place == self.variants.len() => {
                    self.send(&message);
                }
                PassingMessage::ToClient(place, message) => {
                    let flow = self.through(place, message, false);
                    list.extend(
                        flow.to_agent
                            .into_iter()
                            .rev()
                            .map(|it| PassingMessage::ToAgent(place, it)),
                    );
                    list.extend(
                        flow.to_client
                            .into_iter()
                            .rev()
                            .map(|it| PassingMessage::ToClient(place + 1, it)),
                    );
                }
                // The process exits after its last line.
                PassingMessage::Plain(AgentOutput::Exit) => {
                    self.waiting.push_back((self.last.max(self.now), AgentOutput::Exit));
                }
                PassingMessage::Plain(output) => self.waiting.push_back((self.now, output)),
            }
        }
    }

    /// Passes a message to the variant at an index, and returns the resulting messages.
    fn through(&mut self, place: usize, message: Value, to_agent: bool) -> MessageFlow {
        let mut flow = MessageFlow::default();
        let answers = answered(&self.asked, &message);
        let link = VariantLink { answers, offers: &self.offers, now: self.now };
        if let Some(variant) = self.variants.get_mut(place) {
            match to_agent {
                true => variant.on_client_message(&link, message, &mut flow),
                false => variant.on_agent_message(&link, message, &mut flow),
            }
        }
        flow
    }

    fn send(&mut self, message: &Value) {
        let answers = answered(&self.asked, message);
        let link = VariantLink { answers, offers: &self.offers, now: self.now };
        let delays = self.variants.iter_mut().map(|variant| variant.delay(&link, message));
        let delay = delays.max().unwrap_or_default();
        let spelled = self.variants.iter().rev().find_map(|variant| variant.spelled(message));
        if answers.is_some() {
            self.asked.remove(&key(&message["id"]));
        }
        self.last = (self.now + delay).max(self.last);
        let line = spelled.unwrap_or_else(|| message.to_text());
        self.waiting.push_back((self.last, AgentOutput::Line(line)));
    }
}

fn passing(output: AgentOutput) -> PassingMessage {
    let message = match &output {
        AgentOutput::Line(line) => Value::read(line).ok().filter(Value::is_object),
        _ => None,
    };
    message.map_or(PassingMessage::Plain(output), |message| PassingMessage::ToClient(0, message))
}

/// Returns the method of the request that a message of the agent answers; `None` for other messages.
fn answered<'a>(asked: &'a HashMap<String, String>, message: &Value) -> Option<&'a str> {
    let response = message.get("method").is_none();
    let id = message.get("id").filter(|_| response)?;
    asked.get(&key(id)).map(String::as_str)
}
