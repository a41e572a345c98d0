//! Collects the messages between the host and its agents, and delivers them to the scenarios that are being played.
//!
//! Agents that the host has started connect to the run (`agent acp --run ADDRESS`) and report each line that
//! they read or write, in the format of a capture. The model stand-in reports its log. Each message goes to the
//! scenario of its conversation; a message without a scenario is dropped. In the other direction, the run sends
//! releases of holds: `{"release":NAME,"case":CASE}`.
//!
//! Start at [`AgentHub`].

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use litemap::LiteMap;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use crate::agent::acp::route::LineRouter;
use crate::transcript::{BelowEvent, ConnectionEvent, SeenFrame, line};
use crate::wire::frame::Frame;
use crate::wire::json::{Value, json};

/// The maximum length of a line, in bytes.
pub const MAX_LINE: u64 = 17 << 20;
/// The maximum number of concurrent agents; further connections are refused.
const MAX_AGENTS: usize = 1_000;
/// The maximum number of messages queued for one scenario; further messages are dropped.
const MAX_WAITING: usize = 100_000;
/// The maximum number of releases that are stored because no agent plays their scenario yet.
const MAX_RELEASES: usize = 1_000;
/// The pause before the next attempt to accept a connection.
const PAUSE: Duration = Duration::from_millis(20);

/// A message between the host and an agent.
#[derive(Clone, Debug)]
pub struct HeardBelow {
    /// The peer of the host, such as `agent`.
    pub peer: String,
    /// The direction of the message.
    pub way: BelowEvent,
    /// The message as it appeared on the wire.
    pub seen: Arc<SeenFrame>,
}

/// The hub that connects scenarios and agents.
#[derive(Debug, Default)]
pub struct AgentHub {
    state: Mutex<BelowState>,
}

#[derive(Debug, Default)]
struct BelowState {
    cases: LiteMap<String, mpsc::Sender<HeardBelow>>,
    agents: Vec<AgentConnected>,
    /// The releases for scenarios that no agent plays yet: for each release, the scenario and the name of the hold.
    early: Vec<(String, String)>,
    serial: u64,
}

#[derive(Debug)]
struct AgentConnected {
    serial: u64,
    cases: HashSet<String>,
    commands: mpsc::UnboundedSender<String>,
}

impl AgentHub {
    fn state(&self) -> MutexGuard<'_, BelowState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a scenario and returns the receiver of its messages.
    pub fn join(&self, case: &str) -> mpsc::Receiver<HeardBelow> {
        let (sender, receiver) = mpsc::channel(MAX_WAITING);
        self.state().cases.insert(case.to_owned(), sender);
        receiver
    }

    /// Removes a scenario that has ended.
    pub fn leave(&self, case: &str) {
        let mut state = self.state();
        state.cases.remove(case);
        state.early.retain(|(whose, _)| whose != case);
    }

    /// Delivers a message to a scenario. The message is dropped if the scenario is not being played or its
    /// queue is full.
    pub fn tell(&self, case: &str, heard: HeardBelow) {
        if let Some(sender) = self.state().cases.get(case) {
            let _ = sender.try_send(heard);
        }
    }

    /// Releases the hold of this name in a scenario's agent: now, or when the agent reaches the hold.
    pub fn release(&self, case: &str, name: &str) {
        let mut state = self.state();
        let command = command(case, name);
        let mut told = state.agents.iter().filter(|agent| agent.cases.contains(case)).peekable();
        if told.peek().is_some() {
            told.for_each(|agent| drop(agent.commands.send(command.clone())));
        } else if state.early.len() < MAX_RELEASES {
            state.early.push((case.to_owned(), name.to_owned()));
        }
    }

    /// Returns the number of agents that have connected so far.
    pub fn agents(&self) -> u64 {
        self.state().serial
    }

    /// Registers a new agent. Returns its number and the receiver of its commands.
    fn enter(&self) -> Option<(u64, mpsc::UnboundedReceiver<String>)> {
        let mut state = self.state();
        if state.agents.len() >= MAX_AGENTS {
            return None;
        }
        let (commands, receiver) = mpsc::unbounded_channel();
        state.serial += 1;
        let serial = state.serial;
        state.agents.push(AgentConnected { serial, cases: HashSet::new(), commands });
        Some((serial, receiver))
    }

    /// Records that an agent plays a scenario, and sends it the stored releases of that scenario.
    fn meet(&self, serial: u64, case: &str) {
        let mut state = self.state();
        let BelowState { agents, early, .. } = &mut *state;
        let Some(agent) = agents.iter_mut().find(|agent| agent.serial == serial) else {
            return;
        };
        if agent.cases.insert(case.to_owned()) {
            early.retain(|(whose, name)| {
                let own = whose == case;
                if own {
                    let _ = agent.commands.send(command(case, name));
                }
                !own
            });
        }
    }
}

fn command(case: &str, name: &str) -> String {
    let mut line = json!({"release": name, "case": case}).to_text();
    line.push('\n');
    line
}

/// Formats a message as a line of a capture.
pub fn told(way: BelowEvent, value: &Value) -> String {
    let seen = Arc::new(SeenFrame::new(Frame::json(value)));
    let mut out = String::new();
    line::write(&mut out, None, Duration::ZERO, way.peer(), &ConnectionEvent::Below { way, seen });
    out
}

/// Serves agents until the future is dropped.
pub async fn listen(listener: TcpListener, hub: Arc<AgentHub>) {
    let mut tasks = tokio::task::JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    let hub = Arc::clone(&hub);
                    tasks.spawn(async move {
                        if let Some((serial, commands)) = hub.enter() {
                            hear(stream, &hub, serial, commands).await;
                            hub.state().agents.retain(|agent| agent.serial != serial);
                        }
                    });
                }
                Err(_) => tokio::time::sleep(PAUSE).await,
            },
            Some(_) = tasks.join_next() => {}
        }
    }
}

/// Serves one agent until it disconnects or sends an invalid line.
async fn hear(
    stream: TcpStream,
    hub: &AgentHub,
    serial: u64,
    mut commands: mpsc::UnboundedReceiver<String>,
) {
    let peer = if serial == 1 { "agent".to_owned() } else { format!("agent{serial}") };
    let (reading, mut writing) = stream.into_split();
    let mut reading = BufReader::new(reading);
    let mut router = LineRouter::default();
    let hearing = async {
        let mut text = String::new();
        loop {
            text.clear();
            let read = (&mut reading).take(MAX_LINE).read_line(&mut text).await;
            let Some(ConnectionEvent::Below { way, seen }) = read
                .ok()
                .filter(|read| *read > 0)
                .and_then(|_| Some(line::read(&text).ok()?.event))
            else {
                return;
            };
            let case = match way {
                // A message of a tool contains the scenario itself.
                BelowEvent::Tool => {
                    seen.message().and_then(|it| it.value()["case"].as_str()).map(str::to_owned)
                }
                _ => seen.message().and_then(|it| {
                    router.case_of(way == BelowEvent::FromAgent, it).map(str::to_owned)
                }),
            };
            if let Some(case) = case {
                hub.meet(serial, &case);
                hub.tell(&case, HeardBelow { peer: peer.clone(), way, seen });
            }
        }
    };
    let commanding = async {
        while let Some(command) = commands.recv().await {
            if writing.write_all(command.as_bytes()).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = hearing => {}
        () = commanding => {}
    }
}
