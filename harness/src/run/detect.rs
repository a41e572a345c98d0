//! The first look at a host: which versions, agents and capabilities it has.
//!
//! The first look uses one connection and one handshake, and then sends all requests that prove a capability at once.
//! If the host has several agents, the first look requests a session from one agent after another until one agent
//! creates a session, and disposes of that session at once. The first look creates nothing else. The first look has no
//! time limit of its own: the caller ends it. A capability whose request has no answer by then counts as offered.
//!
//! Knows: the evidence of capabilities. Never knows: sockets, clocks, scenarios.
//!
//! Start at [`FeatureDetection`].

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::edge::VersionEdge;
use crate::scenario::bind::HoleFiller as _;
use crate::scenario::capability::{
    self, CAPABILITIES, CapabilitySource, EXTRAS, HostCapability, PROTECTED, TOKEN, agents,
    declares, lacking_token, required_resources, usable,
};
use crate::wire::channel::ROOT;
use crate::wire::feature::ProtocolFeature;
use crate::wire::foreign_text::ForeignText;
use crate::wire::frame::Frame;
use crate::wire::json::{Value, json};
use crate::wire::message::{DecodedFrame, Message, decode};
use crate::wire::trim::TrimType;
use crate::wire::version::Version;

use super::mint::IdMinter;

/// The client identifier of the first look.
const CLIENT: &str = "ahp-harness-probe";
/// A version that no host supports.
const NO_VERSION: Version = Version::new(0, 0, 0);
/// The JSON-RPC error code for a method that is not implemented.
const METHOD_NOT_FOUND: i64 = -32601;
/// The identifier of the `initialize` request. The capability requests have the identifiers after it.
const HANDSHAKE: u64 = 1;
/// The identifier of the first `authenticate` request.
const TOKENS: u64 = 1_000;
/// The identifier of the first `createSession` request. The `disposeSession` request has the next identifier.
const TRIALS: u64 = 1_000_000;
/// The maximum number of agents of a host that the first look tries.
pub const MAX_AGENTS: usize = 16;
/// The maximum length of an error in a message, in characters.
const SHOWN_LETTERS: usize = 300;

/// A capability with the information whether the host offers it, and the evidence.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct DetectedFeature {
    /// The name of the capability.
    pub capability: String,
    /// Whether the host offers the capability.
    pub offered: bool,
    /// The evidence, for the report.
    pub how: ForeignText,
    /// The values that scenarios can use, by name. The values contain no secrets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<(String, String)>,
}

impl DetectedFeature {
    /// Returns a capability without values for scenarios.
    pub fn new(capability: &str, offered: bool, how: impl Into<ForeignText>) -> DetectedFeature {
        let (capability, how) = (capability.to_owned(), how.into());
        DetectedFeature { capability, offered, how, facts: Vec::new() }
    }
}

/// Returns the values from the first look that scenarios can use, by name, and the run's token.
pub fn facts(detected: &[DetectedFeature], token: Option<&str>) -> Vec<(String, String)> {
    let own = token.map(|token| (TOKEN.to_owned(), token.to_owned()));
    detected.iter().flat_map(|it| it.facts.iter().cloned()).chain(own).collect()
}

/// Returns the run's token for the protected agent.
pub fn token<'a>(detected: &[DetectedFeature], given: &'a [(String, String)]) -> Option<&'a str> {
    let wanted = format!("{PROTECTED}.resource");
    let mut facts = detected.iter().flat_map(|it| &it.facts);
    let (_, resource) = facts.find(|(name, _)| *name == wanted)?;
    given.iter().find(|(known, _)| known == resource).map(|(_, token)| token.as_str())
}

/// Returns the `token` capability: whether the run has a token.
pub fn tokened(token: Option<&str>) -> DetectedFeature {
    let how = match token {
        Some(_) => "`--authenticate` contains a token for the protected agent",
        None => "no token was given for a protected agent (hint: `--authenticate RESOURCE=TOKEN`)",
    };
    DetectedFeature::new(TOKEN, token.is_some(), how)
}

/// Marks the abilities in `--agent-can` as offered: abilities of an agent that plays scripts, which the host does not
/// declare itself.
pub fn told(detected: &mut [DetectedFeature], abilities: &[&str]) {
    for it in detected.iter_mut().filter(|it| !it.offered) {
        let row = capability::named(&it.capability).map(|row| row.shown);
        if matches!(row, Some(CapabilitySource::Extra(name)) if abilities.contains(&name)) {
            *it = DetectedFeature::new(&it.capability, true, "given by `--agent-can`");
        }
    }
}

/// Returns the row for a capability that the user grants by an option of the run. `members` are the capability's
/// values; `None` means that the option was not given.
pub fn given(name: &str, members: Option<&[&str]>) -> DetectedFeature {
    let row = capability::named(name).map(|row| row.shown);
    let (names, option) = match row {
        Some(CapabilitySource::Given(names, option)) => (names, option),
        _ => (&[][..], ""),
    };
    let how = match members {
        Some(_) => format!("an option of the run provides it: {option}"),
        None => format!("no option of the run provides it (hint: {option})"),
    };
    let pairs = names.iter().zip(members.unwrap_or_default());
    let facts = pairs.map(|(member, value)| (format!("{name}.{member}"), (*value).to_owned()));
    DetectedFeature { facts: facts.collect(), ..DetectedFeature::new(name, members.is_some(), how) }
}

/// Returns a capability whose folder scenarios can use as `${<name>.folder}`.
pub fn folder(name: &str, uri: &str, how: impl Into<ForeignText>) -> DetectedFeature {
    with_facts(name, &[("folder", uri)], how)
}

/// Returns the unreadable file, which scenarios can use as `${deniedFile.uri}` and `${deniedFile.path}`.
pub fn denied_file(uri: &str, how: impl Into<ForeignText>) -> DetectedFeature {
    let path = uri.strip_prefix("file://").unwrap_or(uri);
    with_facts("deniedFile", &[("uri", uri), ("path", path)], how)
}

/// Returns an offered capability with the values that scenarios can use.
fn with_facts(name: &str, facts: &[(&str, &str)], how: impl Into<ForeignText>) -> DetectedFeature {
    let fact = |(member, value): &(&str, &str)| (format!("{name}.{member}"), (*value).to_owned());
    DetectedFeature {
        facts: facts.iter().map(fact).collect(),
        ..DetectedFeature::new(name, true, how)
    }
}

/// Marks a script ability as offered, for the reference host: its agent has all abilities, even in versions in
/// which no answer can declare them.
pub fn play_all(detected: &mut DetectedFeature) {
    let row = capability::named(&detected.capability).map(|row| row.shown);
    if matches!(row, Some(CapabilitySource::Extra(_))) && !detected.offered {
        let how = "the agent of the reference host has this ability";
        *detected = DetectedFeature::new(&detected.capability, true, how);
    }
}

/// The result of the first look.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct DetectionResult {
    /// The version that the host chose; `None` if the host's answer contains no valid version.
    pub version: Option<Version>,
    /// The error with which the host answered `initialize`; `None` if the host did not refuse.
    pub refused: Option<String>,
    /// The host's name for itself.
    pub name: Option<String>,
    /// The versions that the host declares; empty if the host declares none.
    pub versions: Vec<String>,
    /// The providers of the host's agents, in the host's order.
    pub providers: Vec<String>,
    /// The resources for which each agent requires a token, by the provider of the agent.
    pub required_tokens: BTreeMap<String, Vec<String>>,
    /// The provider that sessions have to name to run on the examined agent. `None` if the host has one agent,
    /// or the caller named a provider.
    pub chosen: Option<String>,
    /// The agents of the host, if it has several and the first look examined each of them; empty in all other cases.
    pub agents: Vec<AgentOfHost>,
    /// The folder that the host names as `defaultDirectory`.
    pub default_directory: Option<String>,
    /// The capabilities with the information whether the host offers them; `None` if the handshake failed.
    pub detected: Option<Vec<DetectedFeature>>,
}

/// An agent of a host that has several agents.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct AgentOfHost {
    /// The agent's provider.
    pub provider: String,
    /// The reason why the agent cannot be tested; `None` if the agent can be tested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub untested: Option<String>,
    /// The agent's own capabilities, with the evidence.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub detected: Vec<DetectedFeature>,
}

/// The options of a first look.
#[derive(Clone, Copy, Debug)]
pub struct LookOptions<'a> {
    /// The protocol versions to offer.
    pub offers: &'a [Version],
    /// The provider of sessions; `None` for the first agent that can be used.
    pub provider: Option<&'a str>,
    /// The protected resources for which the run has tokens, each with its token.
    pub tokens: &'a [(String, String)],
    /// The identifiers of the trial sessions. If the host has several agents, the first look creates one trial session
    /// for each tried agent. If the list is empty, the first look creates no session and uses only the agents'
    /// declarations.
    pub trials: &'a [String],
    /// Whether the first look tries every agent instead of stopping at the first agent that creates a session.
    pub every: bool,
}

/// Returns the identifiers of the trial sessions.
pub fn trials(seed: u64) -> Vec<String> {
    let mut mint = IdMinter::new(seed, "first look", Duration::ZERO);
    (0..MAX_AGENTS).map(|_| mint.fresh()).collect()
}

impl<'a> LookOptions<'a> {
    /// Returns the options of a first look that offers these versions, without provider and tokens.
    pub fn offering(offers: &'a [Version]) -> LookOptions<'a> {
        LookOptions { offers, provider: None, tokens: &[], trials: &[], every: false }
    }
}

/// The state of the handshake.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum HandshakeResult {
    /// The host has not answered yet.
    #[default]
    Open,
    /// The host answered with a result.
    Done,
    /// The host answered with this error.
    Refused(Message),
}

/// The state machine of one first look. The machine owns no socket.
#[derive(Debug)]
pub struct FeatureDetection {
    edge: VersionEdge,
    provider: Option<String>,
    tokens: Vec<(String, String)>,
    /// The identifiers of the trial sessions.
    trials: Vec<String>,
    every: bool,
    /// The result of `initialize`, which is needed until an agent is chosen.
    result: Value,
    /// The agents that the first look still has to try. It is trying the first of these agents now.
    candidates: VecDeque<String>,
    /// The agents that the first look has tried. The string says why an agent created no session.
    tried: Vec<(String, Option<String>)>,
    handshake: HandshakeResult,
    /// The capability requests without an answer, by identifier.
    asked: Vec<(u64, &'static HostCapability)>,
    output: VecDeque<Frame>,
    found: DetectionResult,
}

impl FeatureDetection {
    /// Creates a first look with these options.
    pub fn new(options: LookOptions<'_>) -> FeatureDetection {
        let LookOptions { offers, provider, tokens, trials, every } = options;
        let params = json!({
            "channel": ROOT, "protocolVersions": offers, "clientId": CLIENT,
            "initialSubscriptions": [ROOT],
        });
        let edge = VersionEdge::offering(offers, provider.unwrap_or(""));
        let first = edge.lower_message(Message::request(HANDSHAKE, "initialize", params)).frame();
        FeatureDetection {
            edge,
            provider: provider.map(str::to_owned),
            tokens: tokens.to_vec(),
            trials: trials.iter().map(|id| format!("ahp-session:/{id}")).collect(),
            every,
            result: Value::Null,
            candidates: VecDeque::new(),
            tried: Vec::new(),
            handshake: HandshakeResult::Open,
            asked: Vec::new(),
            output: VecDeque::from([first]),
            found: DetectionResult::default(),
        }
    }

    /// Creates a first look that offers a version that no host supports, because the refusal lists the supported
    /// versions.
    pub fn of_versions() -> FeatureDetection {
        FeatureDetection::new(LookOptions::offering(&[NO_VERSION]))
    }

    /// Returns the next frame to send.
    pub fn poll_output(&mut self) -> Option<Frame> {
        self.output.pop_front()
    }

    /// Handles a frame of the host. Frames that answer no request of the first look are ignored.
    pub fn handle_frame(&mut self, frame: &Frame) {
        let DecodedFrame::Message(message) = decode(frame) else { return };
        let Some(id) = message.id().filter(|_| message.method().is_none()).and_then(Value::as_u64)
        else {
            return;
        };
        if id == HANDSHAKE && self.handshake == HandshakeResult::Open {
            self.shaken(message);
        } else if id == self.trial() && !self.candidates.is_empty() {
            self.took(&message);
        } else if let Some(at) = self.asked.iter().position(|(asked, _)| *asked == id) {
            let (_, capability) = self.asked.remove(at);
            self.answered(capability, &message);
        }
    }

    /// Returns the state of the handshake.
    pub fn handshake(&self) -> &HandshakeResult {
        &self.handshake
    }

    /// Returns the versions that the host named when it refused the offered versions.
    pub fn supported(&self) -> Vec<String> {
        let HandshakeResult::Refused(answer) = &self.handshake else { return Vec::new() };
        let versions = answer.error().map(|error| &error["data"]["supportedVersions"]);
        let versions = versions.and_then(Value::as_array).into_iter().flatten();
        versions.filter_map(Value::as_str).map(str::to_owned).collect()
    }

    /// Returns whether the first look waits for no further answer.
    pub fn is_over(&self) -> bool {
        self.handshake != HandshakeResult::Open
            && self.candidates.is_empty()
            && self.asked.is_empty()
            && self.output.is_empty()
    }

    /// Stops waiting for the agent that is being tried, and tries the next agent. Disposes of the session that was
    /// requested with this agent, because the host may still create it. Returns whether the first look was waiting for
    /// an agent.
    pub fn give_up(&mut self) -> bool {
        let waited = !self.candidates.is_empty();
        if waited {
            self.dispose();
            let late =
                "`createSession` with this agent was not answered in time (hint: `--timeout`)";
            self.noted(Some(late.to_owned()));
            // The first look needs only one usable agent, and the declarations can identify it without a session.
            if !self.every {
                self.candidates.clear();
            }
            self.try_next();
        }
        waited
    }

    /// Ends the first look and returns the result. A capability whose request has no answer counts as offered, so the
    /// scenarios report the problem.
    pub fn found(mut self) -> DetectionResult {
        while self.give_up() {}
        if let Some(detected) = &mut self.found.detected {
            detected.extend(self.asked.iter().map(|(_, capability)| {
                DetectedFeature::new(
                    capability.name,
                    true,
                    "the request that detects it was not answered in time",
                )
            }));
            let place = |found: &DetectedFeature| {
                CAPABILITIES.iter().position(|row| row.name == found.capability)
            };
            detected.sort_by_key(place);
        }
        self.found
    }

    fn shaken(&mut self, answer: Message) {
        let lifted = self.edge.lift_message(&answer, Some("initialize"));
        let Some(result) = lifted.result() else {
            self.handshake = HandshakeResult::Refused(answer);
            return;
        };
        self.handshake = HandshakeResult::Done;
        self.found.name = name(&result["serverInfo"]);
        self.found.default_directory = result["defaultDirectory"].as_str().map(str::to_owned);
        self.found.version = result["protocolVersion"].as_str().and_then(|text| text.parse().ok());
        let agents = agents(result);
        self.found.providers = agents.iter().filter_map(provider_of).collect();
        let required = |agent| Some((provider_of(agent)?, required_resources(agent)));
        self.found.required_tokens = agents.iter().filter_map(required).collect();
        self.result = result.clone();
        if self.provider.is_some() || agents.len() < 2 {
            return self.choose(None);
        }
        // The agent that seems usable, according to the declarations and the tokens of the run, is tried first.
        let first = usable(agents, &self.resources()).and_then(provider_of);
        let others = self.found.providers.iter().filter(|name| Some(*name) != first.as_ref());
        let ordered: Vec<String> = first.iter().chain(others).cloned().collect();
        if self.trials.is_empty() || !self.edge.protocol().has(ProtocolFeature::Channels) {
            return self.choose(None);
        }
        self.candidates = ordered.into_iter().take(self.trials.len()).collect();
        self.authenticate();
        self.try_next();
    }

    /// Returns the protected resources for which the run has tokens.
    fn resources(&self) -> Vec<String> {
        self.tokens.iter().map(|(resource, _)| resource.clone()).collect()
    }

    fn send(&mut self, id: u64, method: &str, params: Value) {
        let message = Message::request(id, method, params);
        self.output.push_back(self.edge.lower_message(message).frame());
    }

    fn authenticate(&mut self) {
        for (number, (resource, token)) in self.tokens.clone().into_iter().enumerate() {
            let params = json!({"channel": ROOT, "resource": resource, "token": token});
            self.send(TOKENS + number as u64, "authenticate", params);
        }
    }

    /// Returns the identifier of the current or next `createSession` request.
    fn trial(&self) -> u64 {
        TRIALS + 2 * self.tried.len() as u64
    }

    /// Returns the trial session of the agent that is being tried.
    fn session(&self) -> String {
        self.trials.get(self.tried.len()).cloned().unwrap_or_default()
    }

    /// Sends a `createSession` request for the next agent, or chooses an agent if none is left.
    fn try_next(&mut self) {
        match self.candidates.front().cloned() {
            Some(provider) => {
                let params = json!({"channel": (self.session()), "provider": provider});
                self.send(self.trial(), "createSession", params);
            }
            None => {
                let first = self.tried.iter().find(|(_, refused)| refused.is_none());
                self.choose(first.map(|(provider, _)| provider.clone()));
            }
        }
    }

    /// Handles the answer to the current `createSession` request.
    fn took(&mut self, answer: &Message) {
        let refused = answer.error().map(|error| {
            let error = error.to_string();
            format!("`createSession` with this agent was answered with {}", beginning(&error))
        });
        if refused.is_none() {
            self.dispose();
            if !self.every {
                self.candidates.truncate(1);
            }
        }
        self.noted(refused);
        self.try_next();
    }

    /// Records the result of the agent that was tried.
    fn noted(&mut self, refused: Option<String>) {
        if let Some(provider) = self.candidates.pop_front() {
            self.tried.push((provider, refused));
        }
    }

    fn dispose(&mut self) {
        let session = self.session();
        self.send(self.trial() + 1, "disposeSession", json!({"channel": session}));
    }

    /// Chooses the agent with which sessions are created, and examines its capabilities. This is the agent of the
    /// caller's provider, or else `tried`, or else the agent that seems usable.
    fn choose(&mut self, tried: Option<String>) {
        self.candidates.clear();
        let result = std::mem::take(&mut self.result);
        let (agents, resources) = (agents(&result), self.resources());
        let agent = match self.provider.as_ref().or(tried.as_ref()) {
            Some(wanted) => agents.iter().find(|agent| agent["provider"] == wanted.as_str()),
            None => usable(agents, &resources),
        };
        if self.provider.is_none() && agents.len() > 1 {
            self.found.chosen = agent.and_then(provider_of);
            if self.every {
                for (place, agent) in agents.iter().enumerate() {
                    let found = self.agent_of(place, agent);
                    let known = |it: &AgentOfHost| {
                        self.found.agents.iter().any(|known| known.provider == it.provider)
                    };
                    let new = found.filter(|it| !known(it));
                    self.found.agents.extend(new);
                }
            }
        }
        self.look_at(&result, agent, &resources);
    }

    /// Returns the facts about one of several agents.
    fn agent_of(&self, place: usize, agent: &Value) -> Option<AgentOfHost> {
        let provider = provider_of(agent)?;
        let refused = self.tried.iter().find(|(tried, _)| *tried == provider);
        let untested = match (lacking_token(agent, &self.resources()), refused) {
            _ if self.found.chosen.as_ref() == Some(&provider) => None,
            (Some(resource), _) => Some(format!(
                "it needs a token for {resource} (hint: `--authenticate {resource}=TOKEN`)"
            )),
            (None, Some((_, refused))) => refused.clone(),
            (None, None) if self.tried.is_empty() && place < MAX_AGENTS => None,
            (None, None) => {
                Some(format!("the harness tests at most {MAX_AGENTS} agents of a host"))
            }
        };
        let rows = CAPABILITIES.iter().filter(|_| self.declares_capabilities());
        let detected = rows.filter_map(|row| match row.shown {
            CapabilitySource::Agent(path) => Some(of_agent(row, Some(agent), path)),
            _ => None,
        });
        Some(AgentOfHost { provider, untested, detected: detected.collect() })
    }

    /// Returns whether agents can declare capabilities in this version.
    fn declares_capabilities(&self) -> bool {
        self.edge.protocol().has_member(TrimType::Named("AgentInfo"), "capabilities")
    }

    fn look_at(&mut self, result: &Value, agent: Option<&Value>, resources: &[String]) {
        let mut detected = Vec::new();
        // If the version has no means to declare a capability, the capability is unknown, not missing.
        let protocol = self.edge.protocol();
        let declared = self.declares_capabilities();
        let spoken = |row: &&'static HostCapability| match row.shown {
            CapabilitySource::Handshake(member) => {
                protocol.has_member(TrimType::Result("initialize"), member)
            }
            CapabilitySource::Agent(_) => declared,
            CapabilitySource::Methods(methods, _) => protocol.method(methods[0]).is_some(),
            CapabilitySource::Thing(..)
            | CapabilitySource::Extra(_)
            | CapabilitySource::Given(..) => true,
            CapabilitySource::Token | CapabilitySource::Probe(_) | CapabilitySource::Tried(..) => {
                true
            }
        };
        for (number, row) in CAPABILITIES.iter().enumerate().filter(|(_, row)| spoken(row)) {
            match row.shown {
                CapabilitySource::Handshake(member) => detected.push(DetectedFeature::new(
                    row.name,
                    result[member].as_object().is_some(),
                    format!("`{member}` in the answer to `initialize`"),
                )),
                CapabilitySource::Thing(members, find) => {
                    detected.push(of_thing(row, members, find(result, resources)));
                }
                // Only the options of the run determine these capabilities, so the first look does not examine them.
                CapabilitySource::Token
                | CapabilitySource::Given(..)
                | CapabilitySource::Tried(..) => {}
                CapabilitySource::Agent(path) => detected.push(of_agent(row, agent, path)),
                CapabilitySource::Extra(name) => {
                    let listed = result["_meta"][EXTRAS].as_array();
                    detected.push(DetectedFeature::new(
                        row.name,
                        listed.is_some_and(|list| list.iter().any(|it| it == name)),
                        format!("`_meta.{EXTRAS}` in the answer to `initialize`"),
                    ));
                }
                // Probes use separate connections: see `probes`.
                CapabilitySource::Probe(_) => {}
                CapabilitySource::Methods(methods, params) => {
                    let id = HANDSHAKE + 1 + number as u64;
                    self.asked.push((id, row));
                    self.send(id, methods[0], params());
                }
            }
        }
        self.found.detected = Some(detected);
    }

    fn answered(&mut self, row: &'static HostCapability, answer: &Message) {
        let CapabilitySource::Methods([method, ..], _) = row.shown else { return };
        let missing = answer.error_code() == Some(METHOD_NOT_FOUND);
        let how = match missing {
            true => format!("`{method}` is answered with {METHOD_NOT_FOUND}"),
            false => format!("`{method}` is answered"),
        };
        let detected = DetectedFeature::new(row.name, !missing, how);
        self.found.detected.get_or_insert_default().push(detected);
    }
}

/// Returns the first characters of a string, for a message.
pub(super) fn beginning(text: &str) -> String {
    let short: String = text.chars().take(SHOWN_LETTERS).collect();
    if short.len() < text.len() { format!("{short}...") } else { short }
}

fn provider_of(agent: &Value) -> Option<String> {
    agent["provider"].as_str().map(str::to_owned)
}

fn of_agent(row: &HostCapability, agent: Option<&Value>, path: &[&str]) -> DetectedFeature {
    let offered = agent.is_some_and(|agent| declares(agent, path));
    let how = match agent.and_then(|agent| agent["provider"].as_str()) {
        Some(provider) => {
            format!("`capabilities.{}` of the agent `{provider}`", path.join("."))
        }
        None => "the root's state lists no such agent".to_owned(),
    };
    DetectedFeature::new(row.name, offered, how)
}

fn of_thing(row: &HostCapability, members: &[&str], thing: Option<Value>) -> DetectedFeature {
    let how = match &thing {
        Some(_) => "is in the answer to `initialize`, or in the root's state",
        None => "neither the answer to `initialize` nor the root's state has it",
    };
    let fact = |thing: &Value, member: &&str| {
        let value = thing[*member].as_str().unwrap_or_default();
        (format!("{}.{member}", row.name), value.to_owned())
    };
    let facts = |thing: &Value| members.iter().map(|member| fact(thing, member)).collect();
    DetectedFeature {
        facts: thing.as_ref().map(facts).unwrap_or_default(),
        ..DetectedFeature::new(row.name, thing.is_some(), how)
    }
}

fn name(server: &Value) -> Option<String> {
    let version = server["version"].as_str().map(|v| format!(" {v}")).unwrap_or_default();
    server["name"].as_str().map(|name| format!("{name}{version}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::sim;

    #[test]
    fn options_give_the_members_of_their_rows() {
        for feature in sim::given() {
            let row = capability::named(&feature.capability).unwrap();
            if let CapabilitySource::Given(members, _) = row.shown {
                assert_eq!(feature.facts.len(), members.len(), "{}", feature.capability);
            }
        }
    }

    /// Returns the capabilities that a first look finds missing if the host answers the handshake with `result` and
    /// every other request with the error `code`.
    fn missing(result: &Value, provider: Option<&str>, code: Option<i64>) -> Vec<String> {
        let offers = [Version::V1_0];
        let options = LookOptions { provider, ..LookOptions::offering(&offers) };
        let mut look = FeatureDetection::new(options);
        let answer = |look: &mut FeatureDetection, frame: &Frame| {
            let DecodedFrame::Message(message) = decode(frame) else { panic!("{frame:?}") };
            let mut answer = json!({"jsonrpc": "2.0", "id": (message.id())});
            match (message.method(), code) {
                (Some("initialize"), _) => answer["result"] = result.clone(),
                (_, Some(code)) => answer["error"] = json!({"code": code, "message": "no"}),
                (_, None) => return,
            }
            look.handle_frame(&Frame::json(&answer));
        };
        while let Some(frame) = look.poll_output() {
            answer(&mut look, &frame);
        }
        assert_eq!(look.is_over(), code.is_some());
        let detected = look.found().detected.unwrap_or_default();
        let missing = detected.into_iter().filter(|detected| !detected.offered);
        missing.map(|detected| detected.capability).collect()
    }

    #[test]
    fn detects_capabilities_that_are_not_offered() {
        let agents = json!([
            {"provider": "a", "capabilities": {"multipleChats": {"fork": true, "sideChat": false}}},
            {"provider": "b"},
        ]);
        let root = json!({"resource": ROOT, "state": {"agents": agents}, "fromSeq": 0});
        let result = json!({
            "protocolVersion": "1.0.0", "serverSeq": 0, "snapshots": [root],
            "automations": {}, "telemetry": null,
        });
        let declared = [
            "telemetry",
            "multipleChats.sideChat",
            "agentWithoutFork",
            "agentWithFixedPrimary",
            "multipleWorkingDirectories",
        ];
        let things = ["automations.", "telemetry.", "protected", "optional", "roaming", "script."];
        let declares = |provider| {
            let missing = missing(&result, provider, Some(-32602));
            let other = |name: &String| things.iter().all(|thing| !name.starts_with(thing));
            let other = missing.into_iter().filter(other);
            other.filter(|name| !name.contains(".primary")).collect::<Vec<_>>()
        };
        assert_eq!(declares(None), declared);
        assert_eq!(declares(Some("a")), declared);
        assert_eq!(declares(Some("b")).len(), 7);
        assert_eq!(declares(Some("nobody")).len(), 7);
        let mut extended = result.clone();
        extended["_meta"] = json!({"ahp-script": ["canvas", "oven"]});
        let lacking = missing(&extended, None, None);
        let extra = |name: &&String| name.starts_with("script.");
        assert_eq!(lacking.iter().filter(extra).count(), crate::agent::script::EXTRAS.len() - 1);
        assert!(!lacking.contains(&"script.canvas".to_owned()));

        let agent = |name: &str, required: Value| {
            json!({"provider": name, "protectedResources": [
                {"resource": (format!("https://{name}.example")), "required": required},
            ]})
        };
        let agents = json!([(agent("a", json!(false))), (agent("b", Value::Null))]);
        let root = json!({"resource": ROOT, "state": {"agents": agents}, "fromSeq": 0});
        let telemetry = json!({"logs": "ahp-otlp:/l{?level}"});
        let offer =
            json!({"protocolVersion": "1.0.0", "snapshots": [root], "telemetry": telemetry});
        let mut look = FeatureDetection::new(LookOptions::offering(&[Version::V1_0]));
        look.shaken(Message::success(json!(1), offer));
        let detected = look.found().detected.unwrap_or_default();
        let resource = "https://b.example".to_owned();
        let given = [(resource.clone(), "t".to_owned())];
        let facts = facts(&detected, token(&detected, &given));
        let facts: Vec<_> = facts.iter().map(|(name, value)| format!("{name} {value}")).collect();
        let expected = [
            "telemetry.logs.uri ahp-otlp:/l{?level}",
            "telemetry.levels.uri ahp-otlp:/l{?level}",
            "protectedAgent.provider b",
            &format!("protectedAgent.resource {resource}"),
            "optionalAgent.provider a",
            "optionalAgent.resource https://a.example",
            "token t",
        ];
        assert_eq!(facts, expected);

        let unimplemented = missing(&result, None, Some(METHOD_NOT_FOUND));
        for name in ["terminals", "resources", "resourceWatches", "completions"] {
            assert!(unimplemented.iter().any(|missing| missing == name), "{unimplemented:?}");
        }
        let silent = missing(&result, None, None);
        assert!(!silent.iter().any(|name| name == "terminals"), "{silent:?}");
    }

    #[test]
    fn an_agent_is_chosen_that_the_run_can_use() {
        let locked = json!([{"resource": "https://a.example"}]);
        let agents = json!([
            {"provider": "locked", "protectedResources": locked},
            {"provider": "open", "protectedResources": [], "capabilities": {"multipleChats": {}}},
        ]);
        let root = json!({"resource": ROOT, "state": {"agents": agents}, "fromSeq": 0});
        let offer = json!({"protocolVersion": "1.0.0", "snapshots": [root]});
        let offers = [Version::V1_0];
        let found = |provider, tokens: &[(String, String)]| {
            let options = LookOptions { provider, tokens, ..LookOptions::offering(&offers) };
            let mut look = FeatureDetection::new(options);
            look.shaken(Message::success(json!(1), offer.clone()));
            let found = look.found();
            let detected = found.detected.unwrap_or_default();
            let chats = detected.iter().find(|it| it.capability == "multipleChats");
            (found.chosen, chats.is_some_and(|it| it.offered))
        };
        let open = Some("open".to_owned());
        assert_eq!(found(None, &[]), (open, true), "the first agent needs a token");
        let token = [("https://a.example".to_owned(), "t".to_owned())];
        assert_eq!(found(None, &token), (Some("locked".to_owned()), false));
        assert_eq!(found(Some("locked"), &[]), (None, false), "the caller names the agent");
    }

    #[test]
    fn an_agent_that_creates_no_session_is_not_chosen() {
        let agents = json!([
            {"provider": "locked", "protectedResources": [{"resource": "https://a.example"}]},
            {"provider": "open", "capabilities": {"multipleChats": {}}},
            {"provider": "last"},
        ]);
        let root = json!({"resource": ROOT, "state": {"agents": agents}, "fromSeq": 0});
        let offer = json!({"protocolVersion": "1.0.0", "snapshots": [root]});
        // Checks which agent is chosen and how many sessions are requested if these agents refuse.
        let tries = |refusing: &[&str]| {
            let (offers, mut asked) = ([Version::V1_0], Vec::new());
            let trials = trials(1);
            let options = LookOptions { trials: &trials, ..LookOptions::offering(&offers) };
            let mut look = FeatureDetection::new(options);
            while let Some(frame) = look.poll_output() {
                let DecodedFrame::Message(message) = decode(&frame) else { panic!("{frame:?}") };
                let provider = message.params()["provider"].as_str().unwrap_or_default();
                let method = message.method().unwrap_or_default().to_owned();
                let mut answer = json!({"jsonrpc": "2.0", "id": (message.id()), "result": {}});
                match method.as_str() {
                    "initialize" => answer["result"] = offer.clone(),
                    "createSession" if refusing.contains(&provider) => {
                        answer = json!({
                            "jsonrpc": "2.0", "id": (message.id()),
                            "error": {"code": -32007, "message": ""},
                        });
                    }
                    _ => {}
                }
                if method.ends_with("Session") {
                    asked.push(format!("{method} {provider}"));
                }
                look.handle_frame(&Frame::json(&answer));
            }
            assert!(look.is_over());
            (asked, look.found().chosen)
        };
        let (asked, chosen) = tries(&["open"]);
        assert_eq!(asked, ["createSession open", "createSession locked", "disposeSession "]);
        assert_eq!(chosen.as_deref(), Some("locked"), "it needs no token after all");
        let (asked, chosen) = tries(&["open", "locked", "last"]);
        assert_eq!(asked.len(), 3, "{asked:?}");
        assert_eq!(chosen.as_deref(), Some("open"), "what is declared decides");
    }

    #[test]
    fn an_agent_that_does_not_answer_leaves_no_session() {
        let agents = json!([{"provider": "a"}, {"provider": "b"}]);
        let root = json!({"resource": ROOT, "state": {"agents": agents}, "fromSeq": 0});
        let offers = [Version::V1_0];
        let trials = trials(1);
        let options = LookOptions { trials: &trials, ..LookOptions::offering(&offers) };
        let mut look = FeatureDetection::new(options);
        look.shaken(Message::success(
            json!(1),
            json!({"protocolVersion": "1.0.0", "snapshots": [root]}),
        ));
        while look.poll_output().is_some() {}
        assert!(!look.is_over());
        look.give_up();
        let sent = look.poll_output().expect("a disposal");
        let DecodedFrame::Message(message) = decode(&sent) else { panic!("{sent:?}") };
        assert_eq!(message.method(), Some("disposeSession"));
        assert_eq!(look.found().chosen.as_deref(), Some("a"));
    }

    #[test]
    fn every_agent_is_tried_and_says_why_it_cannot_be_used() {
        let locked = json!([{"resource": "https://a.example"}]);
        let agents = json!([
            {"provider": "open", "capabilities": {"multipleChats": {"fork": {}}}},
            {"provider": "locked", "protectedResources": locked},
            {"provider": "broken"},
            {"provider": "silent"},
            {"provider": "open"},
            {"provider": "other"},
        ]);
        let root = json!({"resource": ROOT, "state": {"agents": agents}, "fromSeq": 0});
        let offer = json!({"protocolVersion": "1.0.0", "snapshots": [root]});
        let (offers, trials) = ([Version::V1_0], trials(1));
        let options =
            LookOptions { trials: &trials, every: true, ..LookOptions::offering(&offers) };
        let mut look = FeatureDetection::new(options);
        let (mut created, mut disposed) = (Vec::new(), Vec::new());
        loop {
            while let Some(frame) = look.poll_output() {
                let DecodedFrame::Message(message) = decode(&frame) else { panic!("{frame:?}") };
                let mut answer = json!({"jsonrpc": "2.0", "id": (message.id()), "result": {}});
                let session = message.params()["channel"].as_str().unwrap_or_default().to_owned();
                match (message.method(), message.params()["provider"].as_str()) {
                    (Some("initialize"), _) => answer["result"] = offer.clone(),
                    (_, Some("silent")) => continue,
                    (_, Some("broken")) => {
                        answer = json!({
                            "jsonrpc": "2.0", "id": (message.id()),
                            "error": {"code": -32603, "message": "no such program"},
                        });
                    }
                    (Some("createSession"), Some(_)) => created.push(session),
                    (Some("disposeSession"), _) => disposed.push(session),
                    _ => {}
                }
                look.handle_frame(&Frame::json(&answer));
            }
            if !look.give_up() {
                break;
            }
        }
        let found = look.found();
        assert_eq!(found.chosen.as_deref(), Some("open"));
        assert!(created.iter().all(|session| disposed.contains(session)), "{disposed:?}");
        let said: Vec<(&str, &str)> = found
            .agents
            .iter()
            .map(|it| (it.provider.as_str(), it.untested.as_deref().unwrap_or_default()))
            .collect();
        let [("open", ""), ("locked", token), ("broken", error), ("silent", late), ("other", "")] =
            said[..]
        else {
            panic!("{said:?}")
        };
        assert!(token.contains("--authenticate https://a.example=TOKEN"), "{token}");
        assert!(error.contains("no such program"), "{error}");
        assert!(late.contains("not answered in time"), "{late}");
        let forks = |agent: &AgentOfHost| {
            agent.detected.iter().any(|it| it.capability == "multipleChats.fork" && it.offered)
        };
        let forking: Vec<bool> = found.agents.iter().map(forks).collect();
        assert_eq!(forking, [true, false, false, false, false]);
    }

    #[test]
    fn nothing_is_requested_after_a_refused_handshake() {
        let mut look = FeatureDetection::new(LookOptions::offering(&[Version::V1_0]));
        look.poll_output();
        let refusal = json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32005, "message": ""}});
        look.handle_frame(&Frame::json(&refusal));
        assert!(look.is_over());
        assert!(matches!(look.handshake(), HandshakeResult::Refused(_)));
        assert_eq!(look.found(), DetectionResult::default());
    }
}
