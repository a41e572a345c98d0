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

use crate::wire::json::{Map, Value, json};

use super::{AcpAgent, AgentConfig, AgentOutput, EffectResult};

mod asking;
mod calls;
mod catalogue;
mod delivery;
mod endings;
mod ids;
mod initialize;
mod reports;
mod sessions;
mod spelling;
mod traffic;

pub use catalogue::{AGENT_VARIANTS, AgentVariantRow};

/// A legal variant of an agent's behaviour.
pub trait AgentVariant: Send {
    /// Changes the configuration of the reference agent.
    fn set_up(&self, _config: &mut AgentConfig) {}
    /// Learns the id of a session that another process of the agent has stored.
    fn on_kept(&mut self, _session: &str) {}
    /// Handles a message of the client: pushes the messages that the agent receives instead, and messages to
    /// the client.
    fn on_client_message(
        &mut self,
        _link: &VariantLink<'_>,
        message: Value,
        flow: &mut MessageFlow,
    ) {
        flow.to_agent.push(message);
    }
    /// Handles a message of the agent: pushes the messages that the client receives instead, and messages to
    /// the agent.
    fn on_agent_message(
        &mut self,
        _link: &VariantLink<'_>,
        message: Value,
        flow: &mut MessageFlow,
    ) {
        flow.to_client.push(message);
    }
    /// Returns the text of a message, in one line; `None` for the default text.
    fn spelled(&self, _message: &Value) -> Option<String> {
        None
    }
    /// Returns the delay of the client's messages to the agent.
    fn hears_after(&self) -> Duration {
        Duration::ZERO
    }
    /// Returns the delay of a message to the client. The order of messages does not change.
    fn delay(&mut self, _link: &VariantLink<'_>, _message: &Value) -> Duration {
        Duration::ZERO
    }
}

/// The messages that a variant sends.
#[derive(Debug, Default)]
pub struct MessageFlow {
    /// Messages to the client.
    pub to_client: Vec<Value>,
    /// Messages to the agent.
    pub to_agent: Vec<Value>,
}

/// The context in which a variant handles a message.
#[derive(Clone, Copy, Debug)]
pub struct VariantLink<'a> {
    /// The method of the client's request that the message answers; `None` for other messages.
    pub answers: Option<&'a str>,
    /// The client's capabilities from its `initialize`.
    pub offers: &'a Value,
    /// The current time on the agent's clock.
    pub now: Duration,
}

impl VariantLink<'_> {
    /// Returns whether the client has a capability, given as a JSON pointer.
    fn offered(&self, pointer: &str) -> bool {
        let found = self.offers.pointer(pointer);
        found.is_some_and(|value| !value.is_null() && value.as_bool() != Some(false))
    }
}

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

/// Returns an id as a key; `1.0` is the same id as `1`.
fn key(id: &Value) -> String {
    id.as_i64().map_or_else(|| id.to_text(), |number| number.to_string())
}

/// Returns a `session/update` notification.
fn updating(session: &str, update: Value) -> Value {
    let params = json!({"sessionId": session, "update": update});
    json!({"jsonrpc": "2.0", "method": "session/update", "params": params})
}

/// Returns a response with a result.
fn success(id: &Value, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": (id.clone()), "result": result})
}

fn session_of(message: &Value) -> &str {
    message["params"]["sessionId"].as_str().unwrap_or_default()
}

/// The kind of a message about a tool call.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum CallReportKind {
    /// The first report, `tool_call`.
    First,
    /// A `tool_call_update`.
    Update,
    /// The tool call in a permission request.
    Permission,
}

/// The part of a message that is about a tool call: its kind, the session, and the members.
struct ToldCall<'a> {
    told: CallReportKind,
    session: String,
    members: &'a mut Map,
}

impl ToldCall<'_> {
    /// Returns the session id and the call id.
    fn key(&self) -> (String, String) {
        (self.session.clone(), self.text("toolCallId").to_owned())
    }

    fn text(&self, name: &str) -> &str {
        self.members.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    /// Returns whether the message reports the end of the call.
    fn is_end(&self) -> bool {
        matches!(self.text("status"), "completed" | "failed")
    }
}

/// Returns the part of an agent's message that is about a tool call; `None` if there is none.
fn told_call(message: &mut Value) -> Option<ToldCall<'_>> {
    let session = session_of(message).to_owned();
    let method = message["method"].as_str().unwrap_or_default();
    let asks = method == "session/request_permission";
    let update = message["params"]["update"]["sessionUpdate"].as_str().unwrap_or_default();
    let told = match update {
        _ if asks => CallReportKind::Permission,
        "tool_call" => CallReportKind::First,
        "tool_call_update" => CallReportKind::Update,
        _ => return None,
    };
    let member = if asks { "toolCall" } else { "update" };
    let members = message.get_mut("params")?.get_mut(member)?.as_object_mut()?;
    Some(ToldCall { told, session, members })
}

/// Returns the text of a chunk of this kind; `None` for other messages.
fn chunk_of(message: &mut Value, kind: &str) -> Option<String> {
    let update = &message["params"]["update"];
    let text = update["content"]["text"].as_str().filter(|_| update["sessionUpdate"] == kind)?;
    Some(text.to_owned())
}

/// Returns an update with a chunk of text.
fn chunk(session: &str, kind: &str, text: &str) -> Value {
    let content = json!({"type": "text", "text": text});
    updating(session, json!({"sessionUpdate": kind, "content": content}))
}

/// The sessions of the client's open prompts.
#[derive(Debug, Default)]
struct OpenPrompts {
    sessions: HashMap<String, String>,
}

impl OpenPrompts {
    /// Records a prompt of the client and returns its session; `None` for other messages.
    fn heard(&mut self, message: &Value) -> Option<String> {
        let id = message.get("id").filter(|_| message["method"] == "session/prompt")?;
        let session = session_of(message).to_owned();
        self.sessions.insert(key(id), session.clone());
        Some(session)
    }

    /// Removes the prompt that a message of the agent answers and returns its session; `None` for other
    /// messages.
    fn ended(&mut self, link: &VariantLink<'_>, message: &Value) -> Option<String> {
        link.answers.filter(|method| *method == "session/prompt")?;
        self.sessions.remove(&key(message.get("id")?))
    }

    fn is_open(&self, session: &str) -> bool {
        self.sessions.values().any(|open| open == session)
    }
}
