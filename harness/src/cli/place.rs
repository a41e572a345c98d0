//! Plays one scenario over sockets, against the user's host or against a reference host for this scenario alone.

use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::host::engine::HostConfig;
use crate::host::{SansIoHost, door};
use crate::peer::errand::ClientErrand;
use crate::peer::guise::ClientGuise;
use crate::run::driver::{self, ControlResult, HostControl};
use crate::run::play::{ScenarioPlay, ScenarioVerdict};
use crate::run::setup::TestedClientSetup;
use crate::run::side::AgentSide;
use crate::transport::below::AgentHub;
use crate::transport::http::ServedStandIn;
use crate::transport::link::LinkEndpoint;
use crate::transport::scratch::ScratchFolder;
use crate::transport::serve::{self, ServedHost};

use super::clients::{ClientOutside, ClientPort};
use super::strangers;
use super::target::RemoteHost;

/// The target of one scenario.
pub(super) enum PlayPlace {
    /// The user's host, the harness's servers behind this host, and the name of the scenario for these servers.
    Remote(Arc<RemoteHost>, Arc<AgentBehind>, String),
    /// A client under test, with the port at which the harness plays the host, and the settings of that host.
    Client { client: Box<ClientOutside>, port: ClientPort, config: Box<HostConfig> },
    /// An agent under test, in a separate folder.
    Agent { seat: Box<AgentSeat>, behind: Arc<AgentBehind>, case: String },
    /// A reference host on a loopback port, for this scenario alone.
    Own { endpoint: LinkEndpoint, served: ServedHost, task: JoinHandle<Result<(), String>> },
}

impl PlayPlace {
    /// Starts a host on a free loopback port.
    ///
    /// # Errors
    /// Returns an error if no port is free.
    pub(super) async fn own(host: Box<dyn SansIoHost + Send>) -> std::io::Result<PlayPlace> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let url = format!("ws://{}", listener.local_addr()?);
        let (served, task) = serve::serve(listener, host, serve::ServedBehind::nothing());
        let own = door::headers(&ClientGuise::default());
        let endpoint = strangers::endpoint(&url, own, Some(door::TOKENS[1]));
        let endpoint = LinkEndpoint::Socket(endpoint);
        Ok(PlayPlace::Own { endpoint, served, task })
    }

    /// Plays a scenario to its end.
    pub(super) async fn play(
        self,
        play: ScenarioPlay,
        stop: watch::Receiver<bool>,
    ) -> ScenarioVerdict {
        match self {
            PlayPlace::Remote(remote, behind, case) => {
                let backstage = OutsideHost { remote: &remote, behind: &behind, case: &case };
                let below = behind.heard.then(|| behind.hub.join(&case));
                let endpoint = &remote.endpoint;
                let verdict = driver::play(play, endpoint, Some(&backstage), below, stop).await;
                behind.hub.leave(&case);
                verdict
            }
            PlayPlace::Agent { seat, behind, case } => {
                let backstage =
                    AgentSurroundings { scratch: &seat.scratch, behind: &behind, case: &case };
                let below = Some(behind.hub.join(&case));
                let verdict =
                    driver::play(play, &seat.endpoint, Some(&backstage), below, stop).await;
                behind.hub.leave(&case);
                verdict
            }
            PlayPlace::Client { client, port, config } => {
                port.play(&client, *config, play, stop).await
            }
            PlayPlace::Own { endpoint, served, task } => {
                let verdict = driver::play(play, &endpoint, Some(&served), None, stop).await;
                task.abort();
                verdict
            }
        }
    }
}

impl PlayPlace {
    /// Returns what the scenario needs to know about an agent under test; empty for other targets.
    pub(super) fn side(&self) -> AgentSide {
        match self {
            PlayPlace::Agent { seat, .. } => seat.side.clone(),
            _ => AgentSide::default(),
        }
    }

    /// Returns how the client under test reaches the harness.
    pub(super) fn tested(&self) -> TestedClientSetup {
        match self {
            PlayPlace::Client { client, port, .. } => port.setup(client),
            _ => TestedClientSetup::default(),
        }
    }
}

/// The process and folder of an agent under test.
pub(super) struct AgentSeat {
    /// The endpoint for connections to the agent.
    pub(super) endpoint: LinkEndpoint,
    /// The folder of the agent.
    pub(super) scratch: Arc<ScratchFolder>,
    /// What the scenario needs to know about the agent, such as its working folder.
    pub(super) side: AgentSide,
}

/// The environment of an agent: its folder, and the model that the agent uses.
struct AgentSurroundings<'a> {
    scratch: &'a Arc<ScratchFolder>,
    behind: &'a AgentBehind,
    case: &'a str,
}

impl HostControl for AgentSurroundings<'_> {
    fn restart(&self, _: bool) -> ControlResult<'_> {
        Box::pin(async { Err("the agent is restarted for each connection".to_owned()) })
    }

    fn release(&self, hold: &str) {
        match &self.behind.stand {
            Some(stand) => stand.release(self.case, hold),
            None => self.behind.hub.release(self.case, hold),
        }
    }

    fn errand(&self, errand: ClientErrand) {
        self.scratch.run(errand);
    }
}

/// The harness's own servers behind a host.
#[derive(Default)]
pub(super) struct AgentBehind {
    /// The stand-in for the agent's model.
    pub(super) stand: Option<Arc<ServedStandIn>>,
    /// The hub between the scenarios and the components behind the host.
    pub(super) hub: Arc<AgentHub>,
    /// Whether any component runs behind the host.
    pub(super) heard: bool,
}

/// An external host, with the harness's servers behind it, for one scenario.
struct OutsideHost<'a> {
    remote: &'a RemoteHost,
    behind: &'a AgentBehind,
    case: &'a str,
}

impl HostControl for OutsideHost<'_> {
    fn restart(&self, crash: bool) -> ControlResult<'_> {
        Box::pin(self.remote.again(crash))
    }

    fn release(&self, hold: &str) {
        match &self.behind.stand {
            Some(stand) => stand.release(self.case, hold),
            None => self.behind.hub.release(self.case, hold),
        }
    }
}

impl HostControl for ServedHost {
    fn restart(&self, _: bool) -> ControlResult<'_> {
        Box::pin(async {
            ServedHost::restart(self).await;
            Ok(())
        })
    }

    /// Does nothing, because the reference host's agent is released through the protocol.
    fn release(&self, _: &str) {}
}
