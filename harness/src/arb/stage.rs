//! The stage: the reference host with clients that play steps one by one as they are generated. The stage shows
//! which channels exist and which steps are legal, so the generators need no separate model.
//!
//! Knows: the simulation. Never knows: the selection of steps.
//!
//! Start at [`FuzzStage::play`].

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use litemap::LiteMap;

use crate::agent::acp::{self, AcpAgent};
use crate::edge::VersionEdge;
use crate::host::engine::{HostConfig, RefHost};
use crate::host::{PROVIDER, SansIoHost};
use crate::peer::client::ClientEngine;
use crate::run::play::{ScenarioPlay, TranscriptRecorder};
use crate::run::setup::CaseSetup;
use crate::run::sim;
use crate::scenario::bind::NameBindings;
use crate::scenario::parse::ParsedScenario;
use crate::transcript::{ConnId, ConnectionEvent, SeenFrame};
use crate::wire::channel::ChannelKind;
use crate::wire::json::Value;
use crate::wire::message::Message;
use crate::wire::version::Version;

/// The seed of the stage's host. The seed is a part of every identifier that the host creates, so these identifiers
/// differ from all other strings, and no target can know them.
const SEED: u64 = 0x5ced_ab1e;
/// The part that all identifiers of the stage's host contain, and that strings from elsewhere do not contain.
const MARK: &str = "-5cedab1e-";
/// The time limit of a wait.
const LIMIT: Duration = Duration::from_secs(10);

/// The maximum number of events that the host triggers by itself while time passes.
const MOST_EVENTS: usize = 2_000;

/// An event on the stage.
#[derive(Clone, Debug)]
pub struct PassedFrames {
    /// The client on whose connection the event occurred.
    pub client: String,
    /// The virtual time of the event.
    pub at: Duration,
    /// The event, such as a frame that was sent or received.
    pub event: ConnectionEvent,
}

/// The events since the last step, and the number of all events.
#[derive(Clone, Default)]
struct StageTape(Arc<Mutex<(Vec<PassedFrames>, u64)>>);

impl TranscriptRecorder for StageTape {
    fn record(&mut self, at: Duration, client: &str, event: &ConnectionEvent) -> u64 {
        let (tape, count) = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tape.push(PassedFrames { client: client.to_owned(), at, event: event.clone() });
        // A wait reads only events with higher numbers, so the numbers must not start again at each step.
        *count += 1;
        *count
    }
}

/// The reference host, with clients that play one step at a time.
pub struct FuzzStage {
    play: ScenarioPlay,
    host: RefHost,
    agent: AcpAgent,
    now: Duration,
    tape: StageTape,
    version: Version,
    edge: VersionEdge,
    /// The methods of sent requests, by client and identifier.
    asked: LiteMap<(String, String), String>,
}

impl FuzzStage {
    /// Creates a stage for a scenario without steps. `seed` determines the identifiers.
    pub fn new(scenario: ParsedScenario, version: Version, seed: u64) -> FuzzStage {
        let config = sim::speaking(HostConfig { seed: SEED, ..HostConfig::default() }, version);
        let epoch = Duration::from_millis(config.epoch_ms);
        let scenario = Arc::new(scenario);
        // The time limit of a scenario must not interrupt the generation of a conversation.
        let limit = LIMIT * 1_000;
        let facts = sim::facts(&scenario, version);
        let setup = CaseSetup { facts, ..CaseSetup::of(&scenario, version, seed, epoch, limit) };
        let tape = StageTape::default();
        let play = ScenarioPlay::new(setup, false, Box::new(tape.clone()));
        let mut stage = FuzzStage {
            play,
            host: RefHost::new(config),
            agent: AcpAgent::new(acp::AgentConfig::default()),
            now: Duration::ZERO,
            tape,
            version,
            edge: VersionEdge::new(version, PROVIDER),
            asked: LiteMap::new(),
        };
        stage.play.begin_open(Duration::ZERO);
        stage
    }

    /// Appends a scenario's steps, plays them and advances the time as needed. Returns `None` if a step could not be
    /// played; after that, the stage cannot be used any longer.
    pub fn play(&mut self, scenario: ParsedScenario) -> Option<Vec<PassedFrames>> {
        let within =
            scenario.steps.iter().filter_map(|step| step.duration("for")).sum::<Duration>();
        self.play.append(self.now, scenario.steps);
        self.run(self.now + within);
        let limit = self.now + LIMIT;
        while self.play.case().waits() && self.now < limit {
            let until = self.host.next_timeout().map_or(limit, |due| due.max(self.now).min(limit));
            self.run(until);
            self.now = self.now.max(until);
        }
        let failed = self.play.case().failure().is_some() || self.play.case().waits();
        (!failed).then(|| self.passed())
    }

    /// Advances the time. Returns the events, and the time at which the host last changed something by itself.
    pub fn rest(&mut self, how_long: Duration) -> (Vec<PassedFrames>, Option<Duration>) {
        let until = self.now + how_long;
        let mut changed = None;
        for _ in 0..MOST_EVENTS {
            let Some(due) = self.host.next_timeout().filter(|due| *due <= until) else { break };
            let before = self.host.number();
            self.run(due);
            if self.host.number() > before {
                changed = Some(due);
            }
        }
        self.run(until);
        self.now = until;
        (self.passed(), changed)
    }

    fn run(&mut self, until: Duration) {
        sim::run(&mut self.play, &mut self.host, &mut self.agent, &mut self.now, until);
    }

    fn passed(&mut self) -> Vec<PassedFrames> {
        let (tape, _) = &mut *self.tape.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut passed = std::mem::take(tape);
        if !self.edge.is_plain() {
            passed.iter_mut().for_each(|it| lift(&self.edge, &mut self.asked, it));
        }
        passed
    }

    /// Binds the names in a pattern to the matching parts of a received value.
    pub fn learn(&mut self, pattern: &Value, value: &Value) {
        match (pattern, value) {
            (Value::String(text), value) => {
                if let Some(name) = text.strip_prefix("$bind ") {
                    self.play.learn(name, value.clone());
                }
            }
            (Value::Array(patterns), Value::Array(values)) => {
                patterns.iter().zip(values).for_each(|(one, value)| self.learn(one, value));
            }
            (Value::Object(members), value) => {
                for (key, one) in members {
                    if let Some(value) = value.get(key) {
                        self.learn(one, value);
                    }
                }
            }
            _ => {}
        }
    }

    /// Returns the reference host on the stage.
    pub fn host(&self) -> &RefHost {
        &self.host
    }

    /// Returns the URIs and kinds of the channels that clients know.
    pub fn kinds(&self) -> Vec<(&str, ChannelKind)> {
        self.host.kinds_at(self.version)
    }

    /// Returns the state of a channel as clients see it.
    pub fn state(&self, uri: &str) -> Option<Cow<'_, Value>> {
        self.host.state_at(self.version, uri)
    }

    /// Returns whether a channel exists.
    pub fn has_channel(&self, uri: &str) -> bool {
        self.host.uris_at(self.version).any(|known| known == uri)
    }

    /// Returns the URIs of all channels.
    pub fn uris(&self) -> Vec<String> {
        self.host.uris_at(self.version).map(str::to_owned).collect()
    }

    /// Returns whether the host does nothing by itself for this duration.
    pub fn is_quiet(&self, how_long: Duration) -> bool {
        self.host.next_timeout().is_none_or(|due| due > self.now + how_long)
    }

    /// Returns the current virtual time.
    pub fn now(&self) -> Duration {
        self.now
    }

    /// Returns the protocol version.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Returns the values to which the names of the scenario are bound.
    pub fn bindings(&self) -> &NameBindings {
        self.play.case().bindings()
    }

    /// Returns a client and its connection; the connection is `None` while the client is not connected.
    pub fn client(&self, name: &str) -> Option<(&ClientEngine, Option<ConnId>)> {
        self.play.case().client(name)
    }

    /// Returns why a step could not be played; empty if every step could be played.
    pub fn complaint(&self) -> String {
        self.play.case().failure().map(|failure| failure.message.clone()).unwrap_or_default()
    }
}

/// Translates a received frame to the newest version's vocabulary.
fn lift(
    edge: &VersionEdge,
    asked: &mut LiteMap<(String, String), String>,
    passed: &mut PassedFrames,
) {
    let key = |message: &Message| Some((passed.client.clone(), message.id()?.to_string()));
    let lifted = match &passed.event {
        ConnectionEvent::Sent(seen) => {
            let sent = seen.message();
            let method = sent.and_then(|message| Some((key(message)?, message.method()?)));
            if let Some((key, method)) = method {
                asked.insert(key, method.to_owned());
            }
            return;
        }
        ConnectionEvent::Received(seen) => seen.message().map(|message| {
            let method = key(message).and_then(|key| asked.remove(&key));
            edge.lift_message(message, method.as_deref())
        }),
        _ => return,
    };
    if let Some(lifted) = lifted {
        passed.event = ConnectionEvent::Received(Arc::new(SeenFrame::of(lifted)));
    }
}

/// Returns whether a string is an identifier that the stage's host created. Another host creates other identifiers.
pub fn is_made(text: &str) -> bool {
    text.contains(MARK)
}
