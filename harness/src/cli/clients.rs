//! A client under test, and the port at which the harness plays the host for each scenario. The harness starts the
//! driver of the client, or the client itself, or waits for a client that connects by itself.
//!
//! Knows: processes, the server of hosts. Never knows: what a scenario requires.
//!
//! Start at [`ClientOutside`].

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::{OnceCell, watch};
use tokio::time::timeout;

use crate::host::SansIoHost;
use crate::host::engine::{HostConfig, RefHost};
use crate::run::client_look::{ClientFacts, ClientLook};
use crate::run::client_trial::{ClientTrial, SharedTrial};
use crate::run::detect::DetectionResult;
use crate::run::driver::INTERRUPTED;
use crate::run::play::{ScenarioPlay, ScenarioVerdict};
use crate::run::probe::ProbeError;
use crate::run::setup::TestedClientSetup;
use crate::transport::agent::{AgentProcess, ProcessVoice};
use crate::transport::listen_gate::{GatedPath, ListenGate};
use crate::transport::serve::{self, ServedBehind};
use crate::transport::shells::HostShells;
use crate::wire::version::Version;

/// The time limit of the first look, as a multiple of the limit of a wait: the client may have to be compiled first.
const STARTING: u32 = 10;
/// The name of the first look in the list of scenarios.
const FIRST_LOOK: &str = "first look";
/// The placeholder for the URL of the host in a command.
const URL: &str = "{url}";

/// How a client outside of this process connects to the harness.
#[derive(Clone)]
enum ClientArrival {
    /// The harness starts a command for each scenario.
    Command {
        /// The command.
        command: String,
        /// Whether the command is a driver. A client without a driver is only started.
        driven: bool,
        /// The function that receives each line of the command's standard error.
        voice: ProcessVoice,
    },
    /// The client connects to an address by itself. The [`ListenGate`] at this address opens when the first look
    /// begins.
    Address {
        /// The address.
        address: SocketAddr,
        /// The gate at the address; empty before the first look.
        gate: Arc<OnceCell<ListenGate>>,
        /// The function that receives the lines to print for the user.
        voice: ProcessVoice,
    },
}

/// A client outside of this process.
#[derive(Clone)]
pub(super) struct ClientOutside {
    name: String,
    arrival: ClientArrival,
}

impl ClientOutside {
    /// Makes a client that a command starts. `voice` receives the lines of its standard error.
    pub(super) fn new(command: String, driven: bool, voice: ProcessVoice) -> ClientOutside {
        let name = command.clone();
        ClientOutside { name, arrival: ClientArrival::Command { command, driven, voice } }
    }

    /// Makes a client that connects by itself. `voice` receives lines for the user.
    pub(super) fn listening(address: SocketAddr, voice: ProcessVoice) -> ClientOutside {
        let (name, gate) = (format!("a client at {address}"), Arc::default());
        ClientOutside { name, arrival: ClientArrival::Address { address, gate, voice } }
    }

    /// Returns the name of the client in reports.
    pub(super) fn shown(&self) -> &str {
        &self.name
    }

    /// Returns whether the client connects by itself. For such a client, every scenario has to be open at the same
    /// time.
    pub(super) fn comes_by_itself(&self) -> bool {
        matches!(self.arrival, ClientArrival::Address { .. })
    }

    fn is_driven(&self) -> bool {
        matches!(self.arrival, ClientArrival::Command { driven: true, .. })
    }

    fn process(&self, url: &str) -> ServedBehind {
        let ClientArrival::Command { command, voice, .. } = &self.arrival else {
            return ServedBehind::nothing();
        };
        let agent = AgentProcess::new(command.replace(URL, url)).with_voice(Arc::clone(voice));
        ServedBehind { agent, shells: HostShells::new(String::new()), journal: None }
    }

    /// Opens the path of a scenario at the gate; returns `None` if the harness starts the client.
    ///
    /// # Errors
    /// Returns an error if the address cannot be opened.
    async fn path(&self, port: &ClientPort) -> std::io::Result<Option<GatedPath<'_>>> {
        let ClientArrival::Address { address, gate, .. } = &self.arrival else { return Ok(None) };
        let gate = gate.get_or_try_init(|| ListenGate::bind(*address)).await?;
        Ok(Some(gate.add(&port.name, port.listener.local_addr()?)))
    }

    /// Prints a line for the user.
    fn tell(&self, line: &str) {
        if let ClientArrival::Address { voice, .. } = &self.arrival {
            voice(line);
        }
    }

    /// Takes a first look at the client.
    ///
    /// # Errors
    /// Returns why nothing can be played.
    pub(super) async fn look(
        &self,
        limit: Duration,
        played: &[Version],
    ) -> Result<DetectionResult, ProbeError> {
        let unreachable =
            |reason: String| ProbeError::Untestable { command: self.name.clone(), reason };
        let failed = |error: std::io::Error| unreachable(error.to_string());
        let port = ClientPort::open(FIRST_LOOK).await.map_err(failed)?;
        let look = ClientLook::new(&port.url, self.is_driven());
        let behind = self.process(&port.url);
        let path = self.path(&port).await.map_err(failed)?;
        let (_served, task) = serve::serve(port.listener, Box::new(look.clone()), behind);
        let abort = task.abort_handle();
        if let Some(path) = &path {
            self.tell(&format!(
                "connect the client to {}; every path needs a new session of the client, and {} \
                 lists the paths",
                path.url(),
                path.gate().list()
            ));
            path.visited().await;
        }
        let _ = timeout(limit * STARTING, task).await;
        abort.abort();
        if let Some(path) = path {
            self.tell(&format!("next: {} and so on", path.next_url()));
        }
        let facts = look.facts();
        self.reached(&facts).map_err(unreachable)?;
        let Some(version) = facts.version(played) else {
            let offered = facts.offers.unwrap_or_default().join(", ");
            let played: Vec<String> = played.iter().map(Version::to_string).collect();
            let played = played.join(", ");
            return Err(unreachable(format!(
                "it offered the versions {offered}; the harness plays {played}"
            )));
        };
        Ok(DetectionResult {
            version: Some(version),
            versions: facts.offers.clone().unwrap_or_default(),
            detected: Some(facts.rows(self.is_driven())),
            name: facts.name,
            ..DetectionResult::default()
        })
    }

    /// Checks whether the client has answered or connected.
    ///
    /// # Errors
    /// Returns why the client cannot be tested.
    fn reached(&self, facts: &ClientFacts) -> Result<(), String> {
        match (&facts.does, &facts.offers) {
            (_, Some(_)) => Ok(()),
            _ if !facts.trouble.is_empty() => Err(facts.trouble.clone()),
            (None, None) if self.is_driven() => Err(
                "the driver did not answer `hello` (hint: CLIENT_DRIVER.md describes the lines; \
                 `--passive` is for a client without a driver)"
                    .to_owned(),
            ),
            _ => Err("the client did not send `initialize`".to_owned()),
        }
    }
}

/// A port at which one scenario plays the host.
pub(super) struct ClientPort {
    /// The name of the scenario.
    name: String,
    listener: TcpListener,
    url: String,
}

impl ClientPort {
    /// Opens a free loopback port for a scenario with this name.
    ///
    /// # Errors
    /// Returns an error if no port is free.
    pub(super) async fn open(name: &str) -> std::io::Result<ClientPort> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let url = format!("ws://{}", listener.local_addr()?);
        Ok(ClientPort { name: name.to_owned(), listener, url })
    }

    /// Returns how the client reaches the port.
    pub(super) fn setup(&self, client: &ClientOutside) -> TestedClientSetup {
        TestedClientSetup {
            url: self.url.clone(),
            driven: client.is_driven(),
            comes_by_itself: client.comes_by_itself(),
        }
    }

    /// Plays a scenario to its end, or until `stop` changes.
    pub(super) async fn play(
        self,
        client: &ClientOutside,
        config: HostConfig,
        play: ScenarioPlay,
        mut stop: watch::Receiver<bool>,
    ) -> ScenarioVerdict {
        let trial = ClientTrial::new(play, Box::new(RefHost::new(config)));
        let limit = trial.time_limit();
        let trial = SharedTrial::new(trial);
        let behind = client.process(&self.url);
        // An error is impossible here: the first look has already opened the address of the gate.
        let path = client.path(&self).await.ok().flatten();
        let arrived = async {
            if let Some(path) = &path {
                path.visited().await;
            }
        };
        let unvisited = tokio::select! {
            biased;
            () = arrived => None,
            _ = stop.changed() => path.as_ref().map(|path| format!("no client connected to {}", path.url())),
        };
        let began = tokio::time::Instant::now();
        let host: Box<dyn SansIoHost + Send> = Box::new(trial.clone());
        let (_served, task) = serve::serve(self.listener, host, behind);
        let abort = task.abort_handle();
        let interrupted = match unvisited {
            Some(why) => Some(why),
            None => tokio::select! {
                biased;
                _ = stop.changed() => Some(INTERRUPTED.to_owned()),
                _ = task => None,
                () = tokio::time::sleep(limit) => Some(format!("it was not over after {limit:?}")),
            },
        };
        abort.abort();
        drop(path);
        let mut trial = trial.take().expect("only this function takes the trial");
        if let Some(why) = interrupted {
            trial.interrupt(began.elapsed(), &why);
        }
        trial.finish()
    }
}
