//! The first look at a client: which commands its driver knows, and which versions the client offers.
//!
//! The harness acts as a host that answers nothing. The look asks the driver for its commands, lets the client connect,
//! and ends with the client's first message.
//!
//! Knows: messages. Never knows: sockets, processes.
//!
//! Start at [`ClientLook::new`].

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::host::{HostOutput, SansIoHost};
use crate::peer::reference::{DRIVER_COMMANDS, RECONNECTS, STATE_COMMAND};
use crate::scenario::parse::{ParsedScenario, ScenarioStep};
use crate::scenario::verbs::{HOST, StepVerb};
use crate::transcript::{ConnId, SeenFrame};
use crate::wire::frame::Frame;
use crate::wire::json::{Value, json};
use crate::wire::message::Message;
use crate::wire::version::Version;

use super::detect::DetectedFeature;

/// The prefix of the names of those rows in a report that say which commands a driver knows.
const ROW: &str = "driver-";

/// The result of a first look at a client.
#[derive(Clone, Debug, Default)]
pub struct ClientFacts {
    /// The name that the driver states, or that the client states in its handshake.
    pub name: Option<String>,
    /// The commands that the driver knows; `None` if the driver has not answered.
    pub does: Option<Vec<String>>,
    /// The versions that the client offers; `None` if the client has not begun a handshake.
    pub offers: Option<Vec<String>>,
    /// The problem that occurred; empty if there was none.
    pub trouble: String,
}

impl ClientFacts {
    /// Returns the newest version that the client offers and that is in `played`.
    pub fn version(&self, played: &[Version]) -> Option<Version> {
        let offered = self.offers.iter().flatten().filter_map(|it| it.parse().ok());
        offered.filter(|version| played.contains(version)).max()
    }

    /// Returns one row per command, with whether the driver knows the command, and a row for whether the client
    /// reconnects by itself. A client without a driver counts as able to connect and to reconnect.
    pub fn rows(&self, driven: bool) -> Vec<DetectedFeature> {
        let every = DRIVER_COMMANDS.iter().copied().chain([STATE_COMMAND, RECONNECTS]);
        let row = |command: &str| {
            let (known, how) = match (&self.does, driven) {
                (_, false) => {
                    (["connect", RECONNECTS].contains(&command), "the client has no driver")
                }
                (Some(does), true) if does.iter().any(|it| it == command) => {
                    (true, "the driver names it in its answer to `hello`")
                }
                _ => (false, "the driver does not name it in its answer to `hello`"),
            };
            DetectedFeature::new(&format!("{ROW}{command}"), known, how.to_owned())
        };
        every.map(row).collect()
    }
}

/// Returns whether the steps require that the client reconnects by itself: one step ends the client's connection, and a
/// later step waits for a message of the client without a `connect` command in between.
fn needs_reconnect(steps: &[ScenarioStep]) -> bool {
    let is_of_host = |step: &ScenarioStep| step.actors().any(|(_, name)| name == HOST);
    let mut is_cut = false;
    for step in steps {
        match step.verb {
            StepVerb::Drop if is_of_host(step) => is_cut = true,
            StepVerb::Drive if step.text("do") == Some("connect") => is_cut = false,
            StepVerb::Expect | StepVerb::Next | StepVerb::Await if is_cut && is_of_host(step) => {
                return true;
            }
            _ => {}
        }
    }
    false
}

/// Returns the first ability that a scenario needs and that the driver's answer to `hello` does not name.
pub fn unknown_ability(scenario: &ParsedScenario, rows: &[DetectedFeature]) -> Option<String> {
    let tested = scenario.tested.as_ref()?;
    let commands = scenario.steps.iter().filter_map(|step: &ScenarioStep| match step.verb {
        StepVerb::Drive => step.text("do"),
        StepVerb::Mirror if step.clients("at").contains(tested) => Some(STATE_COMMAND),
        _ => None,
    });
    let commands = commands.chain(needs_reconnect(&scenario.steps).then_some(RECONNECTS));
    let is_unknown = |command: &&str| {
        let name = format!("{ROW}{command}");
        rows.iter().any(|row| row.capability == name && !row.offered)
    };
    commands.into_iter().find(is_unknown).map(str::to_owned)
}

#[derive(Debug, Default)]
struct LookState {
    facts: ClientFacts,
    over: bool,
}

/// A first look at a client. The server that accepts the client's connection and the caller share it.
#[derive(Clone, Debug)]
pub struct ClientLook {
    url: String,
    driven: bool,
    state: Arc<Mutex<LookState>>,
    outputs: Arc<Mutex<VecDeque<HostOutput>>>,
}

impl ClientLook {
    /// Creates a look at a client that connects to a URL.
    pub fn new(url: &str, driven: bool) -> ClientLook {
        let look = ClientLook {
            url: url.to_owned(),
            driven,
            state: Arc::default(),
            outputs: Arc::default(),
        };
        // If the client has no driver, this line starts the client, which ignores the content of the line.
        look.command(&json!({"id": 1, "do": "hello"}));
        look
    }

    /// Returns the facts that the look has found so far.
    pub fn facts(&self) -> ClientFacts {
        self.with(|state| state.facts.clone())
    }

    fn with<T>(&self, act: impl FnOnce(&mut LookState) -> T) -> T {
        act(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn command(&self, line: &Value) {
        let mut outputs = self.outputs.lock().unwrap_or_else(PoisonError::into_inner);
        outputs.push_back(HostOutput::ToAgent(line.to_string()));
    }

    fn greeted(&self, answer: &Value) {
        let ok = &answer["ok"];
        let texts = ok["does"].as_array().into_iter().flatten();
        let does = texts.filter_map(|it| it.as_str().map(str::to_owned)).collect();
        let name = [&ok["name"], &ok["version"]].map(|it| it.as_str().unwrap_or_default());
        self.with(|state| {
            state.facts.does = Some(does);
            state.facts.name = Some(name.join(" ").trim().to_owned()).filter(|it| !it.is_empty());
        });
        self.command(&json!({"id": 2, "do": "connect", "url": self.url.as_str()}));
    }
}

impl SansIoHost for ClientLook {
    fn handle_open(&mut self, _now: Duration, _conn: ConnId) {}

    fn handle_frame(&mut self, _now: Duration, _conn: ConnId, frame: &Frame) {
        let seen = SeenFrame::new(frame.clone());
        let Some(message) = seen.message().filter(|it| it.method() == Some("initialize")) else {
            return;
        };
        let params = message.params();
        let texts = params["protocolVersions"].as_array().into_iter().flatten();
        let offers = texts.filter_map(|it| it.as_str().map(str::to_owned)).collect();
        let name = params["clientInfo"]["name"].as_str().map(str::to_owned);
        self.with(|state| {
            state.facts.offers = Some(offers);
            state.facts.name = state.facts.name.take().or(name);
            state.over = true;
        });
    }

    fn handle_close(&mut self, _now: Duration, _conn: ConnId) {}

    fn handle_timeout(&mut self, _now: Duration) {}

    fn next_timeout(&self) -> Option<Duration> {
        None
    }

    fn handle_agent(&mut self, _now: Duration, line: Option<&str>) {
        if !self.driven {
            return;
        }
        let Some(line) = line else {
            return self.with(|state| {
                state.over = true;
                state.facts.trouble = "the driver has ended".to_owned();
            });
        };
        let seen = SeenFrame::new(Frame::Text(line.to_owned()));
        let answer = seen.message().map(Message::value).cloned().unwrap_or_default();
        match answer["id"].as_u64() {
            Some(1) => self.greeted(&answer),
            Some(2) if answer.get("error").is_some() => {
                let why = answer["error"]["message"].as_str().unwrap_or("an error").to_owned();
                self.with(|state| {
                    state.facts.trouble = format!("the driver could not connect: {why}");
                    state.over = state.facts.offers.is_none();
                });
            }
            _ => {}
        }
    }

    fn is_over(&self) -> bool {
        self.with(|state| state.over)
    }

    fn poll_output(&mut self) -> Option<HostOutput> {
        self.outputs.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    fn restart(&mut self, _now: Duration) {}
}
