//! Where one scenario is played over sockets: the user's host, or a reference host of its own.

use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::host::Host;
use crate::run::driver::{self, Restart};
use crate::run::play::{Play, Verdict};
use crate::transport::serve::{Served, serve};
use crate::transport::websocket::Endpoint;

use super::target::Remote;

/// A host for one scenario.
pub(super) enum Place {
    /// The user's.
    Remote(Arc<Remote>),
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
            Place::Remote(remote) => {
                let restart: &dyn Restart = remote.as_ref();
                driver::play(play, &remote.endpoint, Some(restart), stop).await
            }
            Place::Own { endpoint, served, task } => {
                let verdict = driver::play(play, &endpoint, Some(&served), stop).await;
                task.abort();
                verdict
            }
        }
    }
}

impl Restart for Served {
    fn restart(&self) -> std::pin::Pin<Box<dyn Future<Output = Result<(), String>> + Send + '_>> {
        Box::pin(async {
            Served::restart(self).await;
            Ok(())
        })
    }
}
