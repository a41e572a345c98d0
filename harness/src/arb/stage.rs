//! A stage: the reference host, and clients that play steps on it one by one as they are drawn. What
//! there is and what is legal need no model of their own that way.
//!
//! Knows: the simulation. Never knows: what is drawn next, and why.
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

/// The seed of the host on the stage, which stands in every id that it makes: what it made can be told
/// from everything else, and a target that knows such an id cannot exist.
const SEED: u64 = 0x5ced_ab1e;
/// How the ids of the host on the stage look.
const MARK: &str = "-5cedab1e-";
/// How long a wait may take.
const LIMIT: Duration = Duration::from_secs(10);

/// Most times that a host does something by itself while time passes.
const MOST_EVENTS: usize = 2_000;

/// What passed on a stage.
#[derive(Clone, Debug)]
pub struct PassedFrames {
    /// Whom it concerns.
    pub client: String,
    /// When.
    pub at: Duration,
    /// What.
    pub event: ConnectionEvent,
}

#[derive(Clone, Default)]
struct StageTape(Arc<Mutex<Vec<PassedFrames>>>);

impl TranscriptRecorder for StageTape {
    fn record(&mut self, at: Duration, client: &str, event: &ConnectionEvent) -> u64 {
        let mut tape = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tape.push(PassedFrames { client: client.to_owned(), at, event: event.clone() });
        tape.len() as u64
    }
}

/// The reference host with clients that wait for steps.
pub struct FuzzStage {
    play: ScenarioPlay,
    host: RefHost,
    agent: AcpAgent,
    now: Duration,
    tape: StageTape,
    version: Version,
    edge: VersionEdge,
    /// The methods of requests that were sent, by client and id.
    asked: LiteMap<(String, String), String>,
}

impl FuzzStage {
    /// A stage on which a scenario without steps begins. Ids come from `seed`.
    pub fn new(scenario: ParsedScenario, version: Version, seed: u64) -> FuzzStage {
        let config = sim::speaking(HostConfig { seed: SEED, ..HostConfig::default() }, version);
        let epoch = Duration::from_millis(config.epoch_ms);
        let scenario = Arc::new(scenario);
        // A conversation that is drawn may take as long as it likes.
        let limit = LIMIT * 1_000;
        let setup = CaseSetup::of(&scenario, version, seed, epoch, limit);
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

    /// Plays a scenario's steps after those so far, and lets as much time pass as they take. `None` where
    /// one of them could not be played: the stage is of no use then.
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

    /// Lets time pass. Says what passed, and when the host last changed something by itself.
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
        let tape = &mut *self.tape.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut passed = std::mem::take(tape);
        if !self.edge.is_plain() {
            passed.iter_mut().for_each(|it| lift(&self.edge, &mut self.asked, it));
        }
        passed
    }

    /// Takes the names that a pattern binds for a value that came.
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

    /// The host.
    pub fn host(&self) -> &RefHost {
        &self.host
    }

    /// The channels that clients know, and what they are.
    pub fn kinds(&self) -> Vec<(&str, ChannelKind)> {
        self.host.kinds_at(self.version)
    }

    /// What clients see of a channel.
    pub fn state(&self, uri: &str) -> Option<Cow<'_, Value>> {
        self.host.state_at(self.version, uri)
    }

    /// Whether there is a channel.
    pub fn has_channel(&self, uri: &str) -> bool {
        self.host.uris_at(self.version).any(|known| known == uri)
    }

    /// The URIs of all channels.
    pub fn uris(&self) -> Vec<String> {
        self.host.uris_at(self.version).map(str::to_owned).collect()
    }

    /// Whether the host does nothing by itself for so long.
    pub fn is_quiet(&self, how_long: Duration) -> bool {
        self.host.next_timeout().is_none_or(|due| due > self.now + how_long)
    }

    /// The present time.
    pub fn now(&self) -> Duration {
        self.now
    }

    /// The version that is spoken.
    pub fn version(&self) -> Version {
        self.version
    }

    /// What names are bound to.
    pub fn bindings(&self) -> &NameBindings {
        self.play.case().bindings()
    }

    /// A client, and its connection while there is one.
    pub fn client(&self, name: &str) -> Option<(&ClientEngine, Option<ConnId>)> {
        self.play.case().client(name)
    }

    /// Why a step could not be played.
    pub fn complaint(&self) -> String {
        self.play.case().failure().map(|failure| failure.message.clone()).unwrap_or_default()
    }
}

/// Puts what came into the newest words.
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

/// Whether a text was made by the host on the stage: another host has another one in its place.
pub fn is_made(text: &str) -> bool {
    text.contains(MARK)
}
