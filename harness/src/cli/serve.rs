//! `ahp-harness serve`: serves the reference host on a loopback port.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use tokio::net::TcpListener;

use crate::host::SansIoHost;
use crate::host::engine::{HostConfig, RefHost};
use crate::host::fault::{FAULTS, HostFault};
use crate::host::liar::{LiarBehaviour, LiarHost};
use crate::host::null::{NullBehaviour, NullHost};
use crate::host::variant::VariantHost;
use crate::scenario::source::did_you_mean;
use crate::transport::agent::AgentProcess;
use crate::transport::host_journal::{HostJournal, JournalExtent, JournaledHost};
use crate::transport::serve::{ServedBehind, serve};
use crate::transport::shells::HostShells;
use crate::wire::version::Version;

use super::context::CliContext;
use super::exit::{CommandExit, CommandOutcome, CommandStop};
use super::interrupt::signalled;
use super::options;
use super::variants;

/// Runs the reference host, to test a client against it, or to test the harness against a broken host.
///
/// The command prints the URL of the host on a separate line as soon as the host listens, and runs until it is
/// interrupted.
#[derive(Args, Debug)]
pub struct ServeArguments {
    /// The address to listen at; loopback addresses only, port 0 for a free port
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Behave like this legal variant (repeatable); `ahp-harness list variants` names them
    #[arg(long)]
    variant: Vec<String>,
    /// Inject this fault (repeatable); `ahp-harness list faults` names them
    #[arg(long, conflicts_with_all = ["null", "liar"])]
    fault: Vec<String>,
    /// Run a host without any function instead: mute, closing, refusing, empty, echo or aborting
    #[arg(long, conflicts_with = "liar")]
    null: Option<String>,
    /// Run a host that completes the handshake and then gives false answers
    #[arg(long)]
    liar: Option<String>,
    /// Start this command as the agent of every chat, and speak ACP to it, instead of using the built-in agent
    #[arg(long, value_name = "COMMAND", conflicts_with_all = ["null", "liar"])]
    agent_command: Option<String>,
    /// Start this command as the shell of every terminal, for example `bash --norc`. Clients can then run any command,
    /// so a token is required
    #[arg(long, value_name = "COMMAND", requires = "token", conflicts_with_all = ["null", "liar"])]
    shell: Option<String>,
    /// Support this protocol version (repeatable) [default: all known versions]
    #[arg(long, value_name = "VERSION", value_parser = options::version)]
    spec: Vec<Version>,
    /// Admit only clients with this token (repeatable; the first token belongs to the owner)
    #[arg(long, value_name = "TOKEN", conflicts_with_all = ["null", "liar"])]
    token: Vec<String>,
    /// How many envelopes the host keeps for clients that reconnect; if older ones are missed, the client gets a
    /// snapshot
    #[arg(long, default_value_t = 2_000)]
    replay: usize,
    /// Keep the state in this folder. A host that is started again with the same options continues with this state,
    /// even after it was killed. The folder contains everything that clients have sent, including tokens
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["null", "liar", "shell"])]
    state: Option<PathBuf>,
}

impl ServeArguments {
    pub(super) fn main(self, context: &CliContext) -> CommandOutcome {
        if !self.listen.ip().is_loopback() {
            let address = self.listen;
            return Err(CommandStop::usage(format!(
                "expected a loopback address, found `{address}` (hint: the reference host has no password)"
            )));
        }
        let epoch_ms = u64::try_from(context.epoch.as_millis()).unwrap_or_default();
        let own = JournaledHost {
            harness: env!("CARGO_PKG_VERSION").to_owned(),
            options: self.options(),
            seed: context.seed,
            epoch_ms,
        };
        let wrong = |folder: &Path, error: String| {
            CommandStop::usage(format!("`{}` could not be used: {error}", folder.display()))
        };
        let opened = self
            .state
            .as_ref()
            .map(|folder| HostJournal::open(folder, &own).map_err(|error| wrong(folder, error)));
        let (journal, own) = match opened.transpose()? {
            Some((journal, known)) => (Some(journal), known),
            None => (None, own),
        };
        let mut host = self.host(&own)?;
        let journal = match (journal, &self.state) {
            (Some(journal), Some(folder)) => {
                let end = journal.replay(&mut *host).map_err(|error| wrong(folder, error))?;
                // The host's clock goes on while the host is down.
                let at = end.at.max(Duration::from_millis(epoch_ms.saturating_sub(own.epoch_ms)));
                Some((journal, JournalExtent { at, ..end }))
            }
            _ => None,
        };
        let behind = ServedBehind {
            agent: AgentProcess::new(self.agent_command.clone().unwrap_or_default()),
            shells: HostShells::new(self.shell.clone().unwrap_or_default()),
            journal,
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| CommandStop::fault(format!("no runtime: {error}")))?;
        runtime.block_on(async {
            let listener = TcpListener::bind(self.listen).await.map_err(|error| {
                CommandStop::usage(format!("cannot listen on {}: {error}", self.listen))
            })?;
            let address = listener.local_addr().unwrap_or(self.listen);
            let (_served, task) = serve(listener, host, behind);
            context.say(&format!("ws://{address}\n"));
            // However the command ends, the processes that it started must end as well.
            tokio::select! {
                _ = signalled() => Ok(CommandExit::Ok),
                ended = task => match ended {
                    Ok(Err(error)) => Err(CommandStop::fault(format!("the state could not be stored: {error}"))),
                    _ => Err(CommandStop::fault("the host ended")),
                },
            }
        })
    }

    /// Returns the options that change the behaviour of the host.
    fn options(&self) -> Vec<String> {
        let many = |name: &str, values: &[String]| {
            values.iter().map(|value| format!("--{name} {value}")).collect::<Vec<_>>()
        };
        let spec: Vec<String> = self.spec.iter().map(Version::to_string).collect();
        let mut options = many("variant", &self.variant);
        options.extend(many("fault", &self.fault));
        options.extend(many("spec", &spec));
        options.extend(self.agent_command.iter().map(|_| "--agent-command".to_owned()));
        options.push(format!("--replay {}", self.replay));
        // Only the number of tokens is included, because these options are written to the disk.
        options.push(format!("--token ({})", self.token.len()));
        options
    }

    fn host(&self, own: &JournaledHost) -> Result<Box<dyn SansIoHost + Send>, CommandStop> {
        if let Some(name) = &self.null {
            let names: Vec<_> = NullBehaviour::ALL.iter().map(|null| null.name()).collect();
            let null = NullBehaviour::ALL.iter().copied().find(|null| null.name() == name);
            let null = null.ok_or_else(|| unknown("null host", name, &names))?;
            return Ok(Box::new(NullHost::new(null)));
        }
        let mut config = HostConfig {
            replay_capacity: self.replay,
            acp: self.agent_command.as_ref().map(|_| working_directory()),
            shells: self.shell.is_some(),
            seed: own.seed,
            tokens: self.token.clone(),
            epoch_ms: own.epoch_ms,
            ..HostConfig::default()
        };
        if !self.spec.is_empty() {
            config.versions = self.spec.clone();
        }
        if let Some(name) = &self.liar {
            let names: Vec<_> = LiarBehaviour::ALL.iter().map(|liar| liar.name()).collect();
            let liar = LiarBehaviour::ALL.iter().copied().find(|liar| liar.name() == name);
            let liar = liar.ok_or_else(|| unknown("liar", name, &names))?;
            return Ok(Box::new(LiarHost::new(liar)));
        }
        let names: Vec<_> = FAULTS.iter().map(|row| row.name).collect();
        for name in &self.fault {
            let fault = HostFault::by_name(name).ok_or_else(|| unknown("fault", name, &names))?;
            config.faults.push(fault);
        }
        let variants = variants::named(&self.variant)?;
        match variants.is_empty() {
            true => Ok(Box::new(RefHost::new(config))),
            false => Ok(Box::new(VariantHost::new(&variants, config))),
        }
    }
}

/// Returns the working folder for agents whose session names no folder.
fn working_directory() -> String {
    let here = std::env::current_dir().unwrap_or_default();
    here.display().to_string()
}

fn unknown(what: &str, name: &str, known: &[&str]) -> CommandStop {
    CommandStop::usage(format!(
        "no {what} is called `{name}` (hint: {})",
        did_you_mean(name, known)
    ))
}
