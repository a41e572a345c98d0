//! The loopback ports for agents that run outside: for the stand-in of their model, and for their reports.
//!
//! Knows: flavors of models, log files. Never knows: commands of the command line, targets.
//!
//! Start at [`open`] and [`hear`].

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use tokio::net::TcpListener;

use crate::agent::model::ModelFlavor;
use crate::scenario::source::did_you_mean;
use crate::transport::below::AgentHub;
use crate::transport::http::ServedStandIn;

use super::agent_log::appended;
use super::exit::CommandStop;

/// Opens the port of a stand-in for an agent's model. Returns the listener, and the stand-in that serves the
/// connections of the listener.
///
/// # Errors
/// Returns an error if the address, the flavor or the log cannot be used.
pub(super) async fn open(
    address: SocketAddr,
    flavor: &str,
    hub: Arc<AgentHub>,
    log: Option<&Path>,
) -> Result<(TcpListener, Arc<ServedStandIn>), CommandStop> {
    let flavor = ModelFlavor::named(flavor).ok_or_else(|| {
        let all = ModelFlavor::all();
        let names: Vec<&str> = all.iter().map(|flavor| flavor.name.as_str()).collect();
        let hint = did_you_mean(flavor, &names);
        CommandStop::usage(format!("no flavor is called `{flavor}` (hint: {hint})"))
    })?;
    let file = log.map(appended).transpose()?;
    let (listener, address) = listening(address).await?;
    Ok((listener, ServedStandIn::new(flavor, format!("http://{address}"), hub, file)))
}

/// Listens for the reports of agents that a host starts. Returns the address, and the command that starts such
/// an agent.
///
/// # Errors
/// Returns an error if the address cannot be used.
pub(super) async fn hear(
    address: SocketAddr,
    log: Option<&Path>,
) -> Result<(TcpListener, String), CommandStop> {
    let (listener, address) = listening(address).await?;
    let own = std::env::current_exe().map_err(|error| {
        CommandStop::fault(format!("the path of this program is not known: {error}"))
    })?;
    let mut command = format!("'{}' agent acp --run {address}", own.display());
    if let Some(log) = log {
        let log = std::path::absolute(log).unwrap_or_else(|_| log.to_owned());
        command.push_str(&format!(" --log '{}'", log.display()));
    }
    Ok((listener, command))
}

async fn listening(address: SocketAddr) -> Result<(TcpListener, SocketAddr), CommandStop> {
    if !address.ip().is_loopback() {
        return Err(CommandStop::usage(format!(
            "expected a loopback address, found `{address}` (hint: it accepts any key)"
        )));
    }
    let listener = TcpListener::bind(address)
        .await
        .map_err(|error| CommandStop::usage(format!("cannot listen on {address}: {error}")))?;
    let address = listener.local_addr().unwrap_or(address);
    Ok((listener, address))
}
