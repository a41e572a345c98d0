//! `ahp-harness agent`: the harness as the agent behind a host, or as what that agent asks.

use std::fs::OpenOptions;
use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, Subcommand};
use tokio::net::TcpListener;

use crate::agent::model::Flavor;
use crate::scenario::source::did_you_mean;
use crate::transport::http::{self, Stand};

use super::context::Context;
use super::exit::{Code, Outcome, Stop};

/// Play the agent behind a host, so that scenarios can have it do things.
#[derive(Args, Debug)]
pub struct Agent {
    #[command(subcommand)]
    mode: Mode,
}

#[derive(Debug, Subcommand)]
enum Mode {
    /// Stand in for the model that the host's own agent asks
    Model(Model),
}

/// Stands in for the model that a host's own agent asks: OpenAI's chat completions and responses,
/// Anthropic's messages and Google's generateContent, streamed or not, at whatever path they are
/// asked.
///
/// Point the agent's base URL at it, and any key will do. It plays the script in the user's last
/// prompt (see AGENT_SCRIPT.md), with the tools that the agent offers; a prompt without a script is
/// said back. `POST /ahp/release/NAME` lets an answer go on that holds at NAME, `GET /ahp/log` shows
/// what was asked and answered.
///
/// Prints its URL on a line of its own once it listens, and serves until it is interrupted.
#[derive(Args, Debug)]
struct Model {
    /// Where to listen; loopback addresses only, port 0 for a free one
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Answer what this family of agents asks for besides: plain, copilot
    #[arg(long, default_value = "plain", value_name = "NAME")]
    flavor: String,
    /// Write every exchange to this file too, one JSON object a line
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
}

impl Agent {
    pub(super) fn main(self, context: &Context) -> Outcome {
        match self.mode {
            Mode::Model(model) => model.main(context),
        }
    }
}

impl Model {
    fn main(self, context: &Context) -> Outcome {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Stop::fault(format!("no runtime: {error}")))?;
        runtime.block_on(async {
            let (listener, stand) = open(self.listen, &self.flavor, self.log.as_deref()).await?;
            context.say(&format!("{}\n", stand.base()));
            tokio::select! {
                () = http::serve(listener, stand) => {}
                _ = tokio::signal::ctrl_c() => {}
            }
            Ok(Code::Ok)
        })
    }
}

/// A stand-in that listens, ready to be served.
///
/// # Errors
/// The address, the flavor or the log cannot be used.
pub(super) async fn open(
    address: SocketAddr,
    flavor: &str,
    log: Option<&Path>,
) -> Result<(TcpListener, Arc<Stand>), Stop> {
    if !address.ip().is_loopback() {
        return Err(Stop::usage(format!(
            "expected a loopback address, found `{address}` (hint: the stand-in asks nobody for a key)"
        )));
    }
    let flavor = Flavor::named(flavor).ok_or_else(|| {
        let all = Flavor::all();
        let names: Vec<&str> = all.iter().map(|flavor| flavor.name.as_str()).collect();
        let hint = did_you_mean(flavor, &names);
        Stop::usage(format!("no flavor is called `{flavor}` (hint: {hint})"))
    })?;
    let mut file: Option<Box<dyn Write + Send>> = None;
    if let Some(path) = log {
        let opened = OpenOptions::new().create(true).append(true).open(path).map_err(|error| {
            Stop::usage(format!("`{}` cannot be written: {error}", path.display()))
        })?;
        file = Some(Box::new(opened));
    }
    let listener = TcpListener::bind(address)
        .await
        .map_err(|error| Stop::usage(format!("cannot listen on {address}: {error}")))?;
    let address = listener.local_addr().unwrap_or(address);
    Ok((listener, Stand::new(flavor, format!("http://{address}"), file)))
}
