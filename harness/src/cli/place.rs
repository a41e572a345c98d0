//! Where one scenario is played over sockets: the user's host, or a reference host of its own.

use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::host::Host;
use crate::run::driver::{self, Backstage};
use crate::run::play::{Play, Verdict};
use crate::transport::http::Stand;
use crate::transport::serve::{Served, serve};
use crate::transport::websocket::Endpoint;

use super::target::Remote;

/// A host for one scenario.
pub(super) enum Place {
    /// The user's, and the stand-in that its agent asks.
    Remote(Arc<Remote>, Option<Arc<Stand>>),
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
        let (served, task) = serve(listener, host);
        Ok(Place::Own { endpoint: Endpoint { url, headers: Vec::new() }, served, task })
    }

    /// Plays to the end.
    pub(super) async fn play(self, play: Play, stop: watch::Receiver<bool>) -> Verdict {
        match self {
            Place::Remote(remote, stand) => {
                let backstage = Outside { remote: &remote, stand: stand.as_deref() };
                driver::play(play, &remote.endpoint, Some(&backstage), stop).await
            }
            Place::Own { endpoint, served, task } => {
                let verdict = driver::play(play, &endpoint, Some(&served), stop).await;
                task.abort();
                verdict
            }
        }
    }
}

/// A host outside, and what we play behind it.
struct Outside<'a> {
    remote: &'a Remote,
    stand: Option<&'a Stand>,
}

impl Backstage for Outside<'_> {
    fn restart(&self) -> std::pin::Pin<Box<dyn Future<Output = Result<(), String>> + Send + '_>> {
        Box::pin(self.remote.again())
    }

    fn release(&self, hold: &str) {
        if let Some(stand) = self.stand {
            stand.release(hold);
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
