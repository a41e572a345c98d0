//! A client under test: the process of its driver, or the client itself, and the port at which the harness plays the
//! host for each scenario.
//!
//! Knows: processes, the server of hosts. Never knows: what a scenario requires.
//!
//! Start at [`ClientOutside`].

use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::watch;
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
use crate::transport::serve::{self, ServedBehind};
use crate::transport::shells::HostShells;
use crate::wire::version::Version;

/// The time limit of the first look, as a multiple of the limit of a wait: the client may have to be compiled first.
const STARTING: u32 = 10;
/// The URL of the host in a command.
const URL: &str = "{url}";

/// A client outside of this process.
#[derive(Clone)]
pub(super) struct ClientOutside {
    command: String,
    /// Whether the command is a driver. Otherwise it is only started.
    driven: bool,
    voice: ProcessVoice,
}

impl ClientOutside {
    /// Makes a client that a command starts. `voice` receives the lines of its standard error.
    pub(super) fn new(command: String, driven: bool, voice: ProcessVoice) -> ClientOutside {
        ClientOutside { command, driven, voice }
    }

    /// Returns the name of the client in reports.
    pub(super) fn shown(&self) -> &str {
        &self.command
    }

    fn process(&self, url: &str) -> ServedBehind {
        let command = self.command.replace(URL, url);
        let agent = AgentProcess::new(command).with_voice(Arc::clone(&self.voice));
        ServedBehind { agent, shells: HostShells::new(String::new()), journal: None }
    }

    /// Takes a first look.
    ///
    /// # Errors
    /// Returns why nothing can be played.
    pub(super) async fn look(
        &self,
        limit: Duration,
        played: &[Version],
    ) -> Result<DetectionResult, ProbeError> {
        let unreachable =
            |reason: String| ProbeError::Untestable { command: self.command.clone(), reason };
        let port = ClientPort::open().await.map_err(|error| unreachable(error.to_string()))?;
        let look = ClientLook::new(&port.url, self.driven);
        let behind = self.process(&port.url);
        let (_served, task) = serve::serve(port.listener, Box::new(look.clone()), behind);
        let abort = task.abort_handle();
        let _ = timeout(limit * STARTING, task).await;
        abort.abort();
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
            detected: Some(facts.rows(self.driven)),
            name: facts.name,
            ..DetectionResult::default()
        })
    }

    /// # Errors
    /// Returns why the client cannot be tested.
    fn reached(&self, facts: &ClientFacts) -> Result<(), String> {
        match (&facts.does, &facts.offers) {
            (_, Some(_)) => Ok(()),
            _ if !facts.trouble.is_empty() => Err(facts.trouble.clone()),
            (None, None) if self.driven => Err(
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
    listener: TcpListener,
    url: String,
}

impl ClientPort {
    /// Opens a free loopback port.
    ///
    /// # Errors
    /// Returns an error if no port is free.
    pub(super) async fn open() -> std::io::Result<ClientPort> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let url = format!("ws://{}", listener.local_addr()?);
        Ok(ClientPort { listener, url })
    }

    /// Returns how the client reaches the port.
    pub(super) fn setup(&self, client: &ClientOutside) -> TestedClientSetup {
        TestedClientSetup { url: self.url.clone(), driven: client.driven }
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
        let began = tokio::time::Instant::now();
        let host: Box<dyn SansIoHost + Send> = Box::new(trial.clone());
        let (_served, task) = serve::serve(self.listener, host, behind);
        let abort = task.abort_handle();
        let interrupted = tokio::select! {
            biased;
            _ = stop.changed() => Some(INTERRUPTED.to_owned()),
            _ = task => None,
            () = tokio::time::sleep(limit) => Some(format!("it was not over after {limit:?}")),
        };
        abort.abort();
        let mut trial = trial.take().expect("only this function takes the trial");
        if let Some(why) = interrupted {
            trial.interrupt(began.elapsed(), &why);
        }
        trial.finish()
    }
}
