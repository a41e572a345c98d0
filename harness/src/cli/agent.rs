//! `ahp-harness agent`: the harness as the agent behind a host, or as what that agent asks.

use std::fs::OpenOptions;
use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;

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
        if !self.listen.ip().is_loopback() {
            return Err(Stop::usage(format!(
                "expected a loopback address, found `{}` (hint: the stand-in asks nobody for a key)",
                self.listen
            )));
        }
        let flavor = Flavor::named(&self.flavor).ok_or_else(|| {
            let all = Flavor::all();
            let names: Vec<&str> = all.iter().map(|flavor| flavor.name.as_str()).collect();
            let hint = did_you_mean(&self.flavor, &names);
            Stop::usage(format!("no flavor is called `{}` (hint: {hint})", self.flavor))
        })?;
        let log = self.log.as_ref().map(|path| {
            let file = OpenOptions::new().create(true).append(true).open(path);
            let file = file.map_err(|error| {
                Stop::usage(format!("`{}` cannot be written: {error}", path.display()))
            })?;
            Ok::<Box<dyn Write + Send>, Stop>(Box::new(file))
        });
        let log = log.transpose()?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Stop::fault(format!("no runtime: {error}")))?;
        runtime.block_on(async {
            let listener = TcpListener::bind(self.listen).await.map_err(|error| {
                Stop::usage(format!("cannot listen on {}: {error}", self.listen))
            })?;
            let address = listener.local_addr().unwrap_or(self.listen);
            let url = format!("http://{address}");
            context.say(&format!("{url}\n"));
            let stand = Stand::new(flavor, url, log);
            tokio::select! {
                () = http::serve(listener, stand) => {}
                _ = tokio::signal::ctrl_c() => {}
            }
            Ok(Code::Ok)
        })
    }
}
