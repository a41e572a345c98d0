//! Where one scenario is played over sockets: the user's host, or a reference host of its own.

use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::host::Host;
use crate::run::driver::{self, Backstage};
use crate::run::play::{Play, Verdict};
use crate::transport::agent::AgentProcess;
use crate::transport::below::Hub;
use crate::transport::http::Stand;
use crate::transport::serve::{Served, serve};
use crate::transport::websocket::Endpoint;

use super::target::Remote;

/// A host for one scenario.
pub(super) enum Place {
    /// The user's, what we play behind it, and what the scenario is called there.
    Remote(Arc<Remote>, Arc<Behind>, String),
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
        let (served, task) = serve(listener, host, AgentProcess::default());
        Ok(Place::Own { endpoint: Endpoint { url, headers: Vec::new() }, served, task })
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
            Place::Own { endpoint, served, task } => {
                let verdict = driver::play(play, &endpoint, Some(&served), None, stop).await;
                task.abort();
                verdict
            }
        }
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
