//! A conversation being drawn: every step is played on a stage at once, so that the next one can be aimed
//! at what there is, and the scenario can say what has to come of it.
//!
//! What came of a step on the stage becomes an expectation only where a requirement stands behind it:
//! the tables of [`rules`] and the host's own rules say which.
//!
//! Knows: the stage, names, dice. Never knows: which steps there are to draw.
//!
//! Start at [`ConversationDraw::act`].

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

use super::draft::{ScenarioDraft, members_mut};
use super::generate::DrawTaste;
use super::names::BoundNames;
use super::offered::{HostOffers, needs};
use super::rules;
use super::stage::{FuzzStage, PassedFrames};
use super::step_result::{ClientStepResult, came};

/// How long the host is given to do what a step has set in motion.
const PAUSE: Duration = Duration::from_millis(1_300);
/// Most things that are waited for after one step.
const MOST_WAITS: usize = 8;
/// How much longer than on the stage is waited for what nobody is told of, in milliseconds.
const LEEWAY: u128 = 50;
/// The code of what is not there.
const NOT_FOUND: i64 = -32008;
/// A host that has nothing to do for so long is at rest.
const REST: Duration = Duration::from_millis(250);

/// A conversation in the making.
pub struct ConversationDraw {
    /// Every choice.
    pub dice: Dice,
    /// The tables of the words in which the scenario is written.
    pub protocol: &'static Protocol,
    /// The steps so far.
    pub steps: Vec<Value>,
    /// The clients of the scenario.
    pub clients: Vec<String>,
    stage: FuzzStage,
    fresh: usize,
    /// What the host offers, and what cannot be said where the version is older.
    offers: HostOffers,
    /// Whether the stage is of no use any more.
    pub broken: bool,
    /// What scripts and files are mostly about: a part of their text.
    pub focus: &'static str,
    /// Words that were said, each once.
    pub words: Vec<String>,
    /// Every channel that there ever was.
    pub known: Vec<String>,
    /// What the target can be asked for.
    pub taste: DrawTaste,
    seed: u64,
}

impl ConversationDraw {
    /// A conversation without steps.
    pub fn new(
        version: Version,
        seed: u64,
        (taste, offers): (DrawTaste, HostOffers),
        clients: &[&str],
    ) -> Option<ConversationDraw> {
        let clients: Vec<String> = clients.iter().map(|name| (*name).to_owned()).collect();
        let empty = scenario(&clients, &[])?;
        Some(ConversationDraw {
            dice: Dice::seeded(seed),
            protocol: words_of(version)?,
            steps: Vec::new(),
            stage: FuzzStage::new(empty, version, seed),
            clients,
            fresh: 0,
            offers,
            broken: false,
            focus: "",
            words: Vec::new(),
            known: Vec::new(),
            taste,
            seed,
        })
    }

    /// A word of this conversation alone.
    pub fn tag(&self) -> String {
        format!("{:06x}", self.seed & 0xff_ffff)
    }

    /// A word that nobody has said before.
    pub fn word(&mut self) -> String {
        let word = format!("{}-{}", self.tag(), self.words.len());
        self.words.push(word.clone());
        word
    }

    /// A number that no name has yet.
    pub fn number(&mut self) -> usize {
        self.fresh += 1;
        self.fresh
    }

    /// The stage.
    pub fn stage(&self) -> &FuzzStage {
        &self.stage
    }

    /// The present names.
    pub fn names(&self) -> BoundNames {
        BoundNames::of(self.stage.bindings())
    }

    /// A value with names for what the host made. `None` where it cannot be named.
    pub fn named(&self, value: &Value) -> Option<Value> {
        self.names().symbolic(value)
    }

    /// A value of the protocol, drawn.
    pub fn sample<T>(&mut self, plain: bool, draw: impl FnOnce(&mut ValueSampler<'_>) -> T) -> T {
        let dice = &mut self.dice;
        let mut choose = |count| if plain { 0 } else { dice.below(count) };
        draw(&mut self.protocol.sampler(SamplingOptions::default(), &mut choose))
    }

    /// The clients that have shaken hands and are connected.
    pub fn present(&self) -> Vec<String> {
        let here = |name: &&String| self.connection(name).is_some();
        self.clients.iter().filter(here).cloned().collect()
    }

    /// One of the clients that are there.
    pub fn somebody(&mut self) -> Option<String> {
        let present = self.present();
        self.dice.pick(&present).cloned()
    }

    /// The id and the connection of a client that has shaken hands.
    pub fn connection(&self, name: &str) -> Option<(String, ConnId)> {
        let (engine, conn) = self.stage.client(name)?;
        engine.version()?;
        Some((engine.client_id.clone(), conn?))
    }

    /// The channels that a target has, too, and what they are.
    pub fn kinds(&self) -> Vec<(&str, ChannelKind)> {
        let mut all = self.stage.kinds();
        all.retain(|(_, kind)| self.offers.have(*kind));
        all
    }

    /// The URIs of the channels that a target has, too.
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

    /// The channels of a kind, with their states.
    pub fn channels(&self, kind: ChannelKind) -> Vec<(String, Value)> {
        let all = self.kinds().into_iter().filter(|(_, of)| *of == kind);
        all.filter_map(|(uri, _)| Some((uri.to_owned(), self.stage.state(uri)?.into_owned())))
            .collect()
    }

    /// Every channel that there was and is no more.
    pub fn gone(&self) -> Vec<String> {
        let there = self.stage.uris();
        self.known.iter().filter(|uri| !there.contains(uri)).cloned().collect()
    }

    /// Whether the host has nothing to do for now, so that what comes of a step is certain.
    pub fn is_quiet(&self) -> bool {
        self.stage.is_quiet(REST)
    }

    /// Plays a step that cannot fail and keeps it. `None` where it failed after all, or where the
    /// version has no word for what it is about.
    pub fn put(&mut self, step: Value) -> Option<Vec<PassedFrames>> {
        let playable = scenario(&self.clients, std::slice::from_ref(&step));
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

    /// Waits until everything that was under way has come.
    pub fn barrier(&mut self, by: &str) -> Option<()> {
        // Nobody tells who listens to a chat alone that it has gone with its session; it is left here, since
        // a mark on it would not come back.
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
        self.taste.agent.unwrap_or_default()
    }

    /// Whether a run would skip what there is of a scenario.
    fn lacks(&self, scenario: &ParsedScenario) -> bool {
        words::lacks(scenario, self.stage.version()).is_some()
            || plan::not_offered(scenario, self.offers.detected(), self.agent()).is_some()
    }

    /// Plays a step of a client and writes down what has to come of it. `rule` says which requirement
    /// stands behind an outcome, if there is one.
    pub fn act(
        &mut self,
        step: Value,
        rule: impl FnOnce(&ClientStepResult, &ConversationDraw) -> Option<String>,
    ) -> Option<ClientStepResult> {
        let certain = self.is_quiet();
        let passed = self.put(step)?;
        let came = came(&passed);
        if certain && let Some(rule) = rule(&came, self) {
            self.wish(&came, &rule);
        }
        self.hear(&passed);
        Some(came)
    }

    /// Writes into the last step what has to come of it.
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
                // That something is not there may be said in other words, too.
                let other = *found == NOT_FOUND && !self.taste.reference;
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

    /// The last request or subscription: what it set in motion may have been waited for behind it.
    pub fn asked(&mut self) -> Option<&mut Value> {
        self.steps.iter_mut().rev().find(|it| is_asked(it))
    }

    /// Puts steps behind the last request that change nothing on the stage.
    pub fn behind_request(&mut self, steps: Vec<Value>) {
        let at = self.steps.iter().rposition(is_asked).map_or(self.steps.len(), |at| at + 1);
        self.steps.splice(at..at, steps);
    }

    /// Adds a pattern to what the last step wants as its result.
    pub fn wants(&mut self, pattern: Value) {
        // What was waited for behind a request may have bound the names that the pattern uses.
        let Some(members) = self.steps.last_mut().and_then(members_mut) else { return };
        if members.get("proves").is_some() && members.get("result").is_some() {
            members.insert("result", pattern);
        }
    }

    /// Names what the result of the last request is the first to say.
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

    /// Numbers up to this one are taken.
    pub fn skip_to(&mut self, number: usize) {
        self.fresh = self.fresh.max(number);
    }

    /// Waits for what the host has said by itself: everything that has an id which nobody knows yet, which
    /// is given a name, and the last of each kind that a requirement promises.
    /// Says when the last of it happened.
    pub fn hear(&mut self, passed: &[PassedFrames]) -> Option<Duration> {
        let heard = self.heard(passed);
        let mut waits = 0;
        let mut until = None;
        for (place, (client, at, message)) in heard.iter().enumerate() {
            let name = named_as(message);
            let row = rules::EVENTS.iter().find(|(known, _)| *known == name);
            let last = !heard[place + 1..].iter().any(|(.., later)| named_as(later) == name);
            // What no requirement of its own is behind, only the reference host says just so. Of other hosts is waited for
            // what becomes of a turn, so that what follows comes after it.
            let backed = |rule: &&str| {
                self.taste.reference || *rule != rules::LIVE || rules::TURN_EVENTS.contains(&name)
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
            // What only names something may be left out in the end.
            if rule.is_some() {
                until = Some(*at);
            }
        }
        until
    }

    /// What the host has said by itself, each thing once, with the client that heard it first.
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
        // The harness made this one up, and makes up another one the next time.
        if value["id"].as_str().is_some_and(|id| id.starts_with("release-")) {
            return None;
        }
        let told = self.told(value, &self.names());
        self.wait(client, message, told, Some(rule))
    }

    /// What tells a message from others, and what the reference host alone says just so.
    fn told(&self, value: &Value, names: &BoundNames) -> Value {
        let mut told = telling(value, names);
        for member in ["data", "commandLine", "invocationMessage"]
            .into_iter()
            .filter(|_| self.taste.reference)
        {
            let text = value.get(member).filter(|it| it.is_string());
            if let Some(text) = text.and_then(|text| names.symbolic(text)) {
                told[member] = text;
            }
        }
        // An entry is said anew with every step of its runs: which of them it was stands in it.
        let runs = value.pointer("/automation/runs").and_then(Value::as_array);
        if let Some(runs) = runs.filter(|_| self.taste.reference) {
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
        // A watch tells of nothing else in between.
        let next = members["type"] == "resourceWatch/changed" && rule.is_some();
        Some(if next { json!({"next": members}) } else { json!({"expect": members}) })
    }

    /// Lets the host do what it has been set to do, and waits for what it says.
    pub fn pause(&mut self) {
        let began = self.stage.now();
        let (passed, changed) = self.stage.rest(PAUSE);
        let heard = self.hear(&passed).unwrap_or_default();
        // Nobody is told of what happens: only time shows it.
        let begun = heard.max(began);
        if let Some(changed) = changed.filter(|changed| *changed > begun) {
            let how_long = (changed - begun).as_millis() + LEEWAY;
            self.put(json!({"rest": {"for": format!("{how_long}ms")}}));
        }
    }

    /// The draft of what was drawn. Steps that only bind names which nobody uses are left out.
    pub fn draft(mut self, id: &str, title: &str) -> ScenarioDraft {
        prune(&mut self.steps);
        ScenarioDraft {
            id: id.to_owned(),
            title: title.to_owned(),
            since: self.stage.version(),
            clients: self.clients,
            approves: None,
            needs: Vec::new(),
            steps: self.steps,
        }
    }
}

fn is_asked(step: &Value) -> bool {
    step.get("request").is_some() || step.get("subscribe").is_some()
}

/// Whether a version is spoken in the words in which scenarios are written.
pub(super) fn is_plain(version: Version) -> bool {
    VersionEdge::new(version, "").is_plain()
}

/// The tables by which conversations of a version are drawn: scenarios are written in the newest words, whatever the
/// wire has in their place.
fn words_of(version: Version) -> Option<&'static Protocol> {
    let own = Protocol::played(version)?;
    if is_plain(version) { Some(own) } else { Protocol::of(*Protocol::known().first()?) }
}

/// Adds the members of one object to another, and inside of those that both have.
fn merge(value: &mut Value, more: &Value) {
    for (name, more) in more.as_object().into_iter().flatten() {
        match value.get_mut(name) {
            Some(inner) => merge(inner, more),
            None => value[&**name] = more.clone(),
        }
    }
}

/// The name of what a notification says: the type of its action, or its method.
fn named_as(message: &Message) -> &str {
    let action = message.params()["action"]["type"].as_str();
    action.or(message.method()).unwrap_or_default()
}

/// What tells a message from others of its kind: the ids that have names, and what was decided.
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
        // Several come in the order of their names, which are minted anew each time.
        let several = items.as_array().is_some_and(|items| items.len() > 1);
        let items = if several { json!({"$contains": items}) } else { items };
        told["changes"] = json!({"items": items});
    }
    told
}

/// The requirement that a step names.
pub fn rule_of(step: &Value) -> Option<String> {
    let (_, members) = step.as_object()?.iter().next()?;
    members.get("proves")?.as_str().map(str::to_owned)
}

/// Leaves out waits for names that no later step uses and that prove nothing. One that a later wait of
/// the same kind has to go past stays.
pub fn prune(steps: &mut Vec<Value>) {
    let mut kept: Vec<Value> = Vec::new();
    let mut later = String::new();
    let mut past: Vec<[Value; 4]> = Vec::new();
    for step in steps.drain(..).rev() {
        let text = step.to_string();
        let proves = rule_of(&step).is_some();
        let binds = step.get("expect").is_some() && !proves && text.contains("$bind ");
        let used = text.split("$bind ").skip(1).any(|rest| {
            let name: String = rest.chars().take_while(|c| c.is_ascii_alphanumeric()).collect();
            later.contains(&format!("${{{name}}}"))
        });
        let kind = ["at", "type", "method", "channel"].map(|name| step["expect"][name].clone());
        if !binds || used || past.contains(&kind) {
            if binds {
                past.push(kind);
            }
            later.push_str(&text);
            kept.push(step);
        }
    }
    kept.reverse();
    *steps = kept;
}

/// A scenario of single steps, for the stage.
fn scenario(clients: &[String], steps: &[Value]) -> Option<ParsedScenario> {
    let mut root = json!({
        "scenario": "fuzz/stage", "title": "A stage", "proves": ["security.no-crash-fuzz"],
        "clients": clients, "steps": steps,
    });
    let needed = needs(steps);
    if !needed.is_empty() {
        root["needs"] = json!(needed);
    }
    // That a name is bound is for the whole to say.
    tree(&root).0.filter(|scenario| scenario.steps.len() == steps.len())
}

/// What a name for a member begins with.
fn short(member: &str) -> &'static str {
    match member {
        "toolCallId" => "call",
        "resource" | "chat" | "defaultChat" | "channel" => "uri",
        "uriTemplate" => "changes",
        _ => "id",
    }
}
