//! Generates a conversation. Each step is played at once on a stage, a reference host in memory. The next step
//! can therefore use the current state, and the scenario can state the expected outcome.
//!
//! A step's outcome on the stage becomes an expectation only if a requirement covers it: the tables of
//! [`rules`] and the host's own rules decide.
//!
//! Knows: the stage, names, the random generator. Never knows: the moves that generate steps.
//!
//! Start at [`ConversationBuilder::act`].

use std::time::Duration;

use crate::agent::mode::AgentMode;
use crate::dice::Dice;
use crate::edge::VersionEdge;
use crate::run::{plan, words};
use crate::scenario::load::tree;
use crate::scenario::parse::ParsedScenario;
use crate::transcript::{ConnId, ConnectionEvent};
use crate::wire::channel::ChannelKind;
use crate::wire::json::{Value, json};
use crate::wire::message::{Message, MessageKind};
use crate::wire::protocol::Protocol;
use crate::wire::sample::{SamplingOptions, ValueSampler};
use crate::wire::version::Version;

use super::conditions::PlayConditions;
use super::draft::ScenarioDraft;
use super::draft_step::{clients_of, members_mut, prune};
use super::names::BoundNames;
use super::offered::{HostOffers, needs};
use super::rules;
use super::stage::{FuzzStage, PassedFrames};
use super::step_result::{ClientStepResult, came};

/// The virtual time for the host to finish the work that a step started.
const PAUSE: Duration = Duration::from_millis(1_300);
/// The maximum number of waits after one step.
const MOST_WAITS: usize = 8;
/// The additional time, in milliseconds, that a scenario waits for changes of which no client is notified. The rest of
/// the wait is the time that the stage needed.
const LEEWAY: u128 = 50;
/// The error code for an object that does not exist.
const NOT_FOUND: i64 = -32008;
/// The host counts as idle if it does nothing by itself for this time.
const REST: Duration = Duration::from_millis(250);

/// The members of a scenario's header that affect how its steps are played; empty for a conversation without a
/// base.
#[derive(Clone, Debug, Default)]
pub struct ConversationHead {
    /// The client that approves every tool call that waits for a confirmation.
    pub approves: Option<String>,
    /// The capabilities that the steps of the base scenario need.
    pub needs: Vec<&'static str>,
}

/// A conversation that is being generated.
pub struct ConversationBuilder {
    /// The random generator of all choices.
    pub dice: Dice,
    /// The protocol tables of the scenario's vocabulary.
    pub protocol: &'static Protocol,
    /// The steps so far, as JSON values.
    pub steps: Vec<Value>,
    /// The clients of the scenario.
    pub clients: Vec<String>,
    head: ConversationHead,
    stage: FuzzStage,
    fresh: usize,
    /// The capabilities that conversations may use, considering the target and the version.
    offers: HostOffers,
    /// Whether a step failed on the stage, so that the conversation cannot continue.
    pub broken: bool,
    /// The preferred subject: a string that should occur in scripts and file names.
    pub focus: &'static str,
    /// The unique words that were used so far.
    pub words: Vec<String>,
    /// The URIs of all channels that ever existed.
    pub known: Vec<String>,
    /// The properties of the target that decide which moves are possible.
    pub conditions: PlayConditions,
    seed: u64,
}

impl ConversationBuilder {
    /// Creates a conversation without steps. Returns `None` if the harness has no protocol tables for the
    /// version.
    pub fn new(
        version: Version,
        seed: u64,
        (conditions, offers): (PlayConditions, HostOffers),
        clients: &[&str],
        head: ConversationHead,
    ) -> Option<ConversationBuilder> {
        let clients: Vec<String> = clients.iter().map(|name| (*name).to_owned()).collect();
        let empty = scenario(&clients, &head, &[])?;
        Some(ConversationBuilder {
            dice: Dice::seeded(seed),
            protocol: words_of(version)?,
            steps: Vec::new(),
            stage: FuzzStage::new(empty, version, seed),
            clients,
            head,
            fresh: 0,
            offers,
            broken: false,
            focus: "",
            words: Vec::new(),
            known: Vec::new(),
            conditions,
            seed,
        })
    }

    /// Returns a word that is unique to this conversation.
    pub fn tag(&self) -> String {
        format!("{:06x}", self.seed & 0xff_ffff)
    }

    /// Returns a new unique word.
    pub fn word(&mut self) -> String {
        let word = format!("{}-{}", self.tag(), self.words.len());
        self.words.push(word.clone());
        word
    }

    /// Returns a number that no name uses yet.
    pub fn number(&mut self) -> usize {
        self.fresh += 1;
        self.fresh
    }

    /// Returns the stage on which the conversation is played.
    pub fn stage(&self) -> &FuzzStage {
        &self.stage
    }

    /// Returns the names that are bound now.
    pub fn names(&self) -> BoundNames {
        BoundNames::of(self.stage.bindings())
    }

    /// Returns a value with the host's identifiers replaced by their names; `None` if an identifier has no
    /// name.
    pub fn named(&self, value: &Value) -> Option<Value> {
        self.names().symbolic(value)
    }

    /// Generates a value of the protocol. With `plain`, every choice is the first option.
    pub fn sample<T>(
        &mut self,
        plain: bool,
        builder: impl FnOnce(&mut ValueSampler<'_>) -> T,
    ) -> T {
        let dice = &mut self.dice;
        let mut choose = |count| if plain { 0 } else { dice.below(count) };
        builder(&mut self.protocol.sampler(SamplingOptions::default(), &mut choose))
    }

    /// Returns the clients that are connected and have completed the handshake.
    pub fn present(&self) -> Vec<String> {
        let here = |name: &&String| self.connection(name).is_some();
        self.clients.iter().filter(here).cloned().collect()
    }

    /// Returns a random connected client.
    pub fn somebody(&mut self) -> Option<String> {
        let present = self.present();
        self.dice.pick(&present).cloned()
    }

    /// Returns the identifier and the connection of a client that has completed the handshake.
    pub fn connection(&self, name: &str) -> Option<(String, ConnId)> {
        let (engine, conn) = self.stage.client(name)?;
        engine.version()?;
        Some((engine.client_id.clone(), conn?))
    }

    /// Returns the URIs and kinds of those channels of the stage that the target also offers.
    pub fn kinds(&self) -> Vec<(&str, ChannelKind)> {
        let mut all = self.stage.kinds();
        all.retain(|(_, kind)| self.offers.have(*kind));
        all
    }

    /// Returns the URIs of the stage's channels, without channels of a kind that the target does not offer.
    pub fn uris(&self) -> Vec<String> {
        let missing: Vec<&str> = self
            .stage
            .kinds()
            .into_iter()
            .filter(|row| !self.offers.have(row.1))
            .map(|row| row.0)
            .collect();
        let mut all = self.stage.uris();
        all.retain(|uri| !missing.contains(&uri.as_str()));
        all
    }

    /// Returns the channels of a kind, with their states.
    pub fn channels(&self, kind: ChannelKind) -> Vec<(String, Value)> {
        let all = self.kinds().into_iter().filter(|(_, of)| *of == kind);
        all.filter_map(|(uri, _)| Some((uri.to_owned(), self.stage.state(uri)?.into_owned())))
            .collect()
    }

    /// Returns the channels that no longer exist.
    pub fn gone(&self) -> Vec<String> {
        let there = self.stage.uris();
        self.known.iter().filter(|uri| !there.contains(uri)).cloned().collect()
    }

    /// Returns whether the host is idle, so that the outcome of a step is certain.
    pub fn is_quiet(&self) -> bool {
        self.stage.is_quiet(REST)
    }

    /// Plays a step and appends it to the conversation, without adding an expected outcome to the step. Returns `None`
    /// if the target or the version lacks what the step needs, or if the step failed on the stage.
    pub fn put(&mut self, step: Value) -> Option<Vec<PassedFrames>> {
        let playable = scenario(&self.clients, &self.head, std::slice::from_ref(&step));
        if playable.as_ref().is_some_and(|it| self.lacks(it)) {
            return None;
        }
        let passed = playable.and_then(|scenario| self.stage.play(scenario));
        match passed {
            Some(passed) => {
                self.steps.push(step);
                let mut new = self.uris();
                new.retain(|uri| !self.known.contains(uri));
                self.known.extend(new);
                Some(passed)
            }
            None => {
                self.broken = true;
                None
            }
        }
    }

    /// Waits until all messages in transit have arrived.
    pub fn barrier(&mut self, by: &str) -> Option<()> {
        // A client that is subscribed only to a chat is not notified when the chat is removed with its session.
        // The client unsubscribes here, because a barrier's marker on this chat would not come back.
        let (engine, _) = self.stage.client(by)?;
        let held: Vec<String> = engine.subscriptions().map(str::to_owned).collect();
        for uri in held {
            if ChannelKind::of_uri(&uri) == Some(ChannelKind::Chat) && !self.stage.has_channel(&uri)
            {
                let channel = self.named(&json!(uri))?;
                self.put(json!({"unsubscribe": {"by": by, "channel": channel}}))?;
            }
        }
        self.put(json!({"barrier": {"by": by}})).map(drop)
    }

    fn agent(&self) -> AgentMode {
        self.conditions.agent.unwrap_or_default()
    }

    /// Returns whether a run would skip a scenario.
    fn lacks(&self, scenario: &ParsedScenario) -> bool {
        words::lacks(scenario, self.stage.version()).is_some()
            || plan::not_offered(scenario, self.offers.detected(), self.agent()).is_some()
    }

    /// Plays a step of a client and adds the expected outcome to the step. `rule` returns the requirement for an
    /// outcome, if there is one.
    pub fn act(
        &mut self,
        step: Value,
        rule: impl FnOnce(&ClientStepResult, &ConversationBuilder) -> Option<String>,
    ) -> Option<ClientStepResult> {
        // The rules of the conversation's version do not apply to a client that negotiated another version.
        let speaks = |name: &String| {
            let version = self.stage.client(name).and_then(|(client, _)| client.version());
            version.is_none_or(|version| version == self.stage.version())
        };
        let certain = self.is_quiet() && clients_of(&step).iter().all(speaks);
        let passed = self.put(step)?;
        let came = came(&passed);
        if certain && let Some(rule) = rule(&came, self) {
            self.wish(&came, &rule);
        }
        self.hear(&passed);
        Some(came)
    }

    /// Adds the expected outcome to the last step, together with the requirement that demands this outcome.
    fn wish(&mut self, came: &ClientStepResult, rule: &str) {
        let weighty =
            crate::ledger::RequirementLedger::of(self.stage.version()).find(rule).is_some();
        let Some(step) = self.steps.last_mut().filter(|_| weighty) else { return };
        let request = step.get("request").is_some() || step.get("subscribe").is_some();
        let answer = step.get("answer").is_some() || step.get("initialize").is_some();
        let Some(members) = members_mut(step) else { return };
        let code = json!({"code": {"$type": "integer"}});
        match came {
            ClientStepResult::Accepted => drop(members.insert("accept", json!(true))),
            ClientStepResult::Rejected => drop(members.insert("refused", json!(true))),
            ClientStepResult::Nothing if answer => drop(members.insert("none", json!(true))),
            ClientStepResult::Nothing => drop(members.insert("ignored", json!(true))),
            ClientStepResult::Result(_) => {
                members.remove("error");
                members.insert("result", json!(true));
            }
            ClientStepResult::Error(found) => {
                members.remove("result");
                // A host may use another error code for an object that does not exist.
                let other = *found == NOT_FOUND && !self.conditions.reference;
                let fixed = rules::FIXED_CODES.contains(found) && !other;
                members.insert("error", if fixed { json!({"code": found}) } else { code });
            }
            ClientStepResult::Closed if request || answer => {
                drop(members.insert("closed", json!(true)))
            }
            ClientStepResult::Closed => return,
        }
        members.insert("proves", json!(rule));
    }

    /// Returns the last request or subscription. This is not always the last step, because waits may follow the
    /// request.
    pub fn asked(&mut self) -> Option<&mut Value> {
        self.steps.iter_mut().rev().find(|it| is_asked(it))
    }

    /// Inserts steps directly after the last request. The steps must not change the stage.
    pub fn behind_request(&mut self, steps: Vec<Value>) {
        let at = self.steps.iter().rposition(is_asked).map_or(self.steps.len(), |at| at + 1);
        self.steps.splice(at..at, steps);
    }

    /// If the last step is a claim, adds the expectation that the result matches this pattern.
    pub fn wants(&mut self, pattern: Value) {
        // The pattern may use names that waits after the request have bound, so only the last step can use the pattern.
        let Some(members) = self.steps.last_mut().and_then(members_mut) else { return };
        if members.get("proves").is_some() && members.get("result").is_some() {
            members.insert("result", pattern);
        }
    }

    /// Binds names to the new identifiers in the result of the last request.
    pub fn bind_result(&mut self, result: &Value) {
        let names = self.names();
        let mut number = self.fresh;
        let mut fresh = |member: &str| {
            number += 1;
            format!("{}{number}", short(member))
        };
        let found = names.binding("", result, &mut fresh);
        self.fresh = number;
        let Some(found) = found else { return };
        if let Some(members) = self.asked().and_then(members_mut) {
            members.remove("error");
            members.insert("result", found.clone());
            self.stage.learn(&found, result);
        }
    }

    /// Marks all numbers up to this one as used.
    pub fn skip_to(&mut self, number: usize) {
        self.fresh = self.fresh.max(number);
    }

    /// Adds waits for the messages that the host sent on its own. For a message with an unnamed identifier, adds a wait
    /// that binds a name. For a message that a requirement demands, also adds a wait, but only one for each kind of
    /// message. Returns the time at which the last demanded message arrived.
    pub fn hear(&mut self, passed: &[PassedFrames]) -> Option<Duration> {
        let heard = self.heard(passed);
        let mut waits = 0;
        let mut until = None;
        for (place, (client, at, message)) in heard.iter().enumerate() {
            let name = named_as(message);
            let row = rules::EVENTS.iter().find(|(known, _)| *known == name);
            let last = !heard[place + 1..].iter().any(|(.., later)| named_as(later) == name);
            // Events without a requirement are expected only of the reference host. Of other hosts, the conversation
            // expects only the events that advance a turn, so that later steps come after these events.
            let backed = |rule: &&str| {
                self.conditions.reference
                    || *rule != rules::LIVE
                    || rules::TURN_EVENTS.contains(&name)
            };
            let rule = row.filter(|_| last).map(|row| row.1).filter(backed);
            let step = match (self.binding(client, message, rule), rule) {
                (Some(step), _) => step,
                (None, Some(rule)) => match self.telling(client, message, rule) {
                    Some(step) => step,
                    None => continue,
                },
                (None, None) => continue,
            };
            waits += 1;
            if waits > MOST_WAITS || self.put(step).is_none() {
                break;
            }
            // A wait that only binds names may be pruned later, so its message does not count.
            if rule.is_some() {
                until = Some(*at);
            }
        }
        until
    }

    /// Returns the messages that the host sent on its own, without duplicates, each with the client that received it
    /// first.
    fn heard(&self, passed: &[PassedFrames]) -> Vec<(String, Duration, Message)> {
        let mut heard: Vec<(String, Duration, Message)> = Vec::new();
        for PassedFrames { client, at, event } in passed {
            let ConnectionEvent::Received(seen) = event else { continue };
            let Some(message) = seen.message().filter(|it| it.kind() == MessageKind::Notification)
            else {
                continue;
            };
            let own = !message.params()["origin"].is_null();
            let known = heard.iter().any(|(.., other)| other.value() == message.value());
            if !own && !known && self.clients.contains(client) {
                heard.push((client.clone(), *at, message.clone()));
            }
        }
        heard
    }

    fn binding(&mut self, client: &str, message: &Message, rule: Option<&str>) -> Option<Value> {
        let params = message.params();
        let names = self.names();
        let mut number = self.fresh;
        let mut fresh = |member: &str| {
            number += 1;
            format!("{}{number}", short(member))
        };
        let action = message.method() == Some("action");
        let value = if action { &params["action"] } else { params };
        let found = names.binding("", value, &mut fresh);
        self.fresh = number;
        let mut found = found?;
        merge(&mut found, &self.told(value, &names));
        self.wait(client, message, found, rule)
    }

    fn telling(&self, client: &str, message: &Message, rule: &str) -> Option<Value> {
        let params = message.params();
        let action = message.method() == Some("action");
        let value = if action { &params["action"] } else { params };
        // The harness generated this identifier, and generates another one in each replay.
        if value["id"].as_str().is_some_and(|id| id.starts_with("release-")) {
            return None;
        }
        let told = self.told(value, &self.names());
        self.wait(client, message, told, Some(rule))
    }

    /// Returns the members of a message that distinguish it from other messages of its kind. If the target is the
    /// reference host, this includes members whose values only the reference host guarantees.
    fn told(&self, value: &Value, names: &BoundNames) -> Value {
        let mut told = telling(value, names);
        for member in ["data", "commandLine", "invocationMessage"]
            .into_iter()
            .filter(|_| self.conditions.reference)
        {
            let text = value.get(member).filter(|it| it.is_string());
            if let Some(text) = text.and_then(|text| names.symbolic(text)) {
                told[member] = text;
            }
        }
        // The host sends the automation again at each step of its runs. Only the statuses of the runs distinguish these
        // messages.
        let runs = value.pointer("/automation/runs").and_then(Value::as_array);
        if let Some(runs) = runs.filter(|_| self.conditions.reference) {
            let status =
                |run: &Value| json!({"lifecycle": {"status": run["lifecycle"]["status"].clone()}});
            told["automation"]["runs"] = runs.iter().map(status).collect();
        }
        if value.get("total").is_some_and(|total| *total == value["progress"]) {
            told["progress"] = value["progress"].clone();
        }
        told
    }

    fn wait(&self, at: &str, message: &Message, looks: Value, rule: Option<&str>) -> Option<Value> {
        let params = message.params();
        let mut members = json!({"at": at});
        if message.method() == Some("action") {
            members["type"] = params["action"]["type"].clone();
            members["channel"] = self.names().symbolic(&params["channel"])?;
            members["where"] = json!({"action": looks});
        } else {
            members["method"] = json!(message.method());
            members["where"] = looks;
        }
        if let Some(rule) = rule {
            members["proves"] = json!(rule);
        }
        // A watch sends no other messages before this one, so the next message has to match.
        let next = members["type"] == "resourceWatch/changed" && rule.is_some();
        Some(if next { json!({"next": members}) } else { json!({"expect": members}) })
    }

    /// Gives the host time to finish its work, and adds waits for the messages that it sends.
    pub fn pause(&mut self) {
        let began = self.stage.now();
        let (passed, changed) = self.stage.rest(PAUSE);
        let heard = self.hear(&passed).unwrap_or_default();
        // If no client is notified of the last change, the scenario has to pause instead.
        let begun = heard.max(began);
        if let Some(changed) = changed.filter(|changed| *changed > begun) {
            let how_long = (changed - begun).as_millis() + LEEWAY;
            self.put(json!({"rest": {"for": format!("{how_long}ms")}}));
        }
    }

    /// Returns the draft of the conversation, without waits that only bind unused names.
    pub fn draft(mut self, id: &str, title: &str) -> ScenarioDraft {
        prune(&mut self.steps);
        ScenarioDraft {
            id: id.to_owned(),
            title: title.to_owned(),
            since: self.stage.version(),
            clients: self.clients,
            approves: self.head.approves,
            needs: self.head.needs,
            tested: None,
            steps: self.steps,
        }
    }
}

fn is_asked(step: &Value) -> bool {
    step.get("request").is_some() || step.get("subscribe").is_some()
}

/// Returns whether scenarios are written in the vocabulary of this version.
pub(super) fn is_plain(version: Version) -> bool {
    VersionEdge::new(version, "").is_plain()
}

/// Returns the protocol tables for conversations at a version. Versions with another vocabulary on the wire use
/// the newest tables, because scenarios use the names of the newest version.
fn words_of(version: Version) -> Option<&'static Protocol> {
    let own = Protocol::of(version)?;
    Some(if is_plain(version) { own } else { Protocol::newest() })
}

/// Merges the members of one object into another, recursively.
fn merge(value: &mut Value, more: &Value) {
    for (name, more) in more.as_object().into_iter().flatten() {
        match value.get_mut(name) {
            Some(inner) => merge(inner, more),
            None => value[&**name] = more.clone(),
        }
    }
}

/// Returns the name of a notification's kind: the type of its action, or its method.
fn named_as(message: &Message) -> &str {
    let action = message.params()["action"]["type"].as_str();
    action.or(message.method()).unwrap_or_default()
}

/// Returns the members that distinguish a message from other messages of its kind: named identifiers and
/// decisions.
fn telling(value: &Value, names: &BoundNames) -> Value {
    const TELLING: [&str; 11] = [
        "turnId",
        "toolCallId",
        "requestId",
        "id",
        "kind",
        "status",
        "operationId",
        "queuedMessageId",
        "session",
        "progressToken",
        "chats",
    ];
    const INSIDE: [(&str, &str); 5] = [
        ("summary", "resource"),
        ("request", "url"),
        ("lifecycle", "status"),
        ("state", "kind"),
        ("automation", "resource"),
    ];
    let mut told = json!({});
    for member in TELLING {
        let scalar = value.get(member).filter(|it| !it.is_object());
        if let Some(value) = scalar.and_then(|value| names.symbolic(value)) {
            told[member] = value;
        }
    }
    for (member, inner) in INSIDE {
        let scalar = value.get(member).and_then(|it| it.get(inner));
        if let Some(value) = scalar.and_then(|value| names.symbolic(value)) {
            told[member] = json!({});
            told[member][inner] = value;
        }
    }
    let changes = value.pointer("/changes/items").and_then(|items| names.symbolic(items));
    if let Some(items) = changes {
        // The order of several items depends on generated names, which differ in each replay.
        let several = items.as_array().is_some_and(|items| items.len() > 1);
        let items = if several { json!({"$contains": items}) } else { items };
        told["changes"] = json!({"items": items});
    }
    told
}

/// Returns a scenario that consists of these steps, so that the stage can play them.
fn scenario(
    clients: &[String],
    head: &ConversationHead,
    steps: &[Value],
) -> Option<ParsedScenario> {
    let mut root = json!({
        "scenario": "fuzz/stage", "title": "A stage", "proves": ["security.no-crash-fuzz"],
        "clients": clients, "steps": steps,
    });
    let needed = needs(&head.needs, steps);
    if !needed.is_empty() {
        root["needs"] = json!(needed);
    }
    if let Some(client) = &head.approves {
        root["approves"] = json!((client.as_str()));
    }
    // An unbound name is not an error here: an earlier step of the conversation binds it.
    tree(&root).0.filter(|scenario| scenario.steps.len() == steps.len())
}

/// Returns the prefix of the names for identifiers in this member, such as `call` for a `toolCallId`.
fn short(member: &str) -> &'static str {
    match member {
        "toolCallId" => "call",
        "resource" | "chat" | "defaultChat" | "channel" => "uri",
        "uriTemplate" => "changes",
        _ => "id",
    }
}
