//! Where one scenario is played over sockets: the user's host, or a reference host of its own.

use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::host::{Host, door};
use crate::peer::errand::Errand;
use crate::peer::guise::Guise;
use crate::run::driver::{self, Backstage};
use crate::run::play::{Play, Verdict};
use crate::run::side::Side;
use crate::transport::below::Hub;
use crate::transport::http::Stand;
use crate::transport::link::Endpoint;
use crate::transport::scratch::Scratch;
use crate::transport::serve::{self, Served};

use super::strangers;
use super::target::Remote;

/// A host for one scenario.
pub(super) enum Place {
    /// The user's, what we play behind it, and what the scenario is called there.
    Remote(Arc<Remote>, Arc<Behind>, String),
    /// An agent that is put to the test itself, in a folder of its own.
    Agent { seat: Box<Seat>, behind: Arc<Behind>, case: String },
    /// One on a loopback port, for this scenario alone.
    Own { endpoint: Endpoint, served: Served, task: JoinHandle<()> },
}

impl Place {
    /// Puts a host on a free loopback port.
    ///
    /// # Errors
    /// No port could be had.
    pub(super) async fn own(host: Box<dyn Host + Send>) -> std::io::Result<Place> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let url = format!("ws://{}", listener.local_addr()?);
        let (served, task) = serve::serve(listener, host, serve::Behind::nothing());
        let own = door::headers(&Guise::default());
        let endpoint = strangers::endpoint(&url, own, Some(door::TOKENS[1]));
        let endpoint = Endpoint::Socket(endpoint);
        Ok(Place::Own { endpoint, served, task })
    }

    /// Plays to the end.
    pub(super) async fn play(self, play: Play, stop: watch::Receiver<bool>) -> Verdict {
        match self {
            Place::Remote(remote, behind, case) => {
                let backstage = Outside { remote: &remote, behind: &behind, case: &case };
                let below = behind.heard.then(|| behind.hub.join(&case));
                let endpoint = &remote.endpoint;
                let verdict = driver::play(play, endpoint, Some(&backstage), below, stop).await;
                behind.hub.leave(&case);
                verdict
            }
            Place::Agent { seat, behind, case } => {
                let backstage = Beside { scratch: &seat.scratch, behind: &behind, case: &case };
                let below = Some(behind.hub.join(&case));
                let verdict =
                    driver::play(play, &seat.endpoint, Some(&backstage), below, stop).await;
                behind.hub.leave(&case);
                verdict
            }
            Place::Own { endpoint, served, task } => {
                let verdict = driver::play(play, &endpoint, Some(&served), None, stop).await;
                task.abort();
                verdict
            }
        }
    }
}

impl Place {
    /// What its scenario knows of an agent.
    pub(super) fn side(&self) -> Side {
        match self {
            Place::Agent { seat, .. } => seat.side.clone(),
            _ => Side::default(),
        }
    }
}

/// Where an agent is put to the test.
pub(super) struct Seat {
    /// How it is reached.
    pub(super) endpoint: Endpoint,
    /// Its folder.
    pub(super) scratch: Arc<Scratch>,
    /// What the scenario knows of it.
    pub(super) side: Side,
}

/// What is beside an agent: its folder, and the model that it asks.
struct Beside<'a> {
    scratch: &'a Arc<Scratch>,
    behind: &'a Behind,
    case: &'a str,
}

impl Backstage for Beside<'_> {
    fn restart(&self) -> std::pin::Pin<Box<dyn Future<Output = Result<(), String>> + Send + '_>> {
        Box::pin(async { Err("an agent is started anew with each connection".to_owned()) })
    }

    fn release(&self, hold: &str) {
        match &self.behind.stand {
            Some(stand) => stand.release(self.case, hold),
            None => self.behind.hub.release(self.case, hold),
        }
    }

    fn errand(&self, errand: Errand) {
        self.scratch.run(errand);
    }
}

/// What we play behind a host.
#[derive(Default)]
pub(super) struct Behind {
    /// The model that its agent asks.
    pub(super) stand: Option<Arc<Stand>>,
    /// Where those behind the host and the scenarios find one another.
    pub(super) hub: Arc<Hub>,
    /// Whether there is anybody.
    pub(super) heard: bool,
}

/// A host outside, and what we play behind it, for one scenario.
struct Outside<'a> {
    remote: &'a Remote,
    behind: &'a Behind,
    case: &'a str,
}

impl Backstage for Outside<'_> {
    fn restart(&self) -> std::pin::Pin<Box<dyn Future<Output = Result<(), String>> + Send + '_>> {
        Box::pin(self.remote.again())
    }

    fn release(&self, hold: &str) {
        match &self.behind.stand {
            Some(stand) => stand.release(self.case, hold),
            None => self.behind.hub.release(self.case, hold),
        }
    }
}

impl Backstage for Served {
    fn restart(&self) -> std::pin::Pin<Box<dyn Future<Output = Result<(), String>> + Send + '_>> {
        Box::pin(async {
            Served::restart(self).await;
            Ok(())
        })
    }

    /// The reference host's agent is released in band.
    fn release(&self, _: &str) {}
}
