//! `ahp-harness client`: tests a client of AHP, or acts as the reference client.
//!
//! `client run` and `client certify` are `run` and `certify` with a client as the target, so that every report, the
//! selection and the baseline work in the same way.
//!
//! Start at [`ClientArguments`].

use clap::{Args, Subcommand};

use crate::peer::reference::fault::{ClientFaults, Fault};
use crate::peer::reference::{ReferenceClient, ReferenceClientConfig};
use crate::transport::reference_client;
use crate::wire::version::Version;

use super::certify::CertifyArguments;
use super::client_choice::ClientChoice;
use super::client_fuzz::ClientFuzzArguments;
use super::context::CliContext;
use super::exit::{CommandExit, CommandOutcome, CommandStop};
use super::mutants::MutantsArguments;
use super::options;
use super::run::RunArguments;

/// Tests a client: the harness plays the host, and a driver makes the client act.
#[derive(Args, Debug)]
pub struct ClientArguments {
    #[command(subcommand)]
    command: ClientCommand,
}

#[derive(Debug, Subcommand)]
enum ClientCommand {
    /// Play scenarios with a client: `--command` starts its driver, or with `--passive` the client itself
    #[command(mut_args(only_of_clients))]
    Run(Box<RunArguments>),
    /// Play every scenario with a client and write a certificate
    #[command(mut_args(only_of_clients))]
    Certify(Box<CertifyArguments>),
    /// Play every scenario with the reference client and one injected fault at a time, to prove that each scenario can
    /// fail
    Mutants(Box<MutantsArguments>),
    /// Generate the host's part of conversations, and compare the client's state with the state that the harness's
    /// reducers compute
    Fuzz(ClientFuzzArguments),
    /// Act as the reference client: read commands from standard input as a driver does (CLIENT_DRIVER.md)
    Reference(ReferenceArguments),
}

/// The options of `run` that are about hosts and agents: the help of `client run` hides them.
const OF_HOSTS: &[&str] = &[
    "url",
    "restart_command",
    "crash_command",
    "upgrade_command",
    "loopback",
    "header",
    "token",
    "token_file",
    "other_token",
    "other_token_file",
    "guarded_setting",
    "setting",
    "files",
    "prepared_folder",
    "client_files",
    "session_scheme",
    "authenticate_file",
    "authenticate",
    "agent_model",
    "agent_acp",
    "agent_flavor",
    "provider",
    "agent_can",
    "agent_log",
    "acp",
    "observe",
    "aggressive",
];

/// Hides an option that is about hosts or agents.
fn only_of_clients(arg: clap::Arg) -> clap::Arg {
    let id = arg.get_id().as_str().to_owned();
    match id.as_str() {
        id if OF_HOSTS.contains(&id) => arg.hide(true),
        "command" => arg
            .help("Start this command for each scenario: the driver of the client, or with `--passive` the client itself; `{url}` becomes the URL of the host [default: the reference client in memory]")
            .long_help(None),
        "passive" | "listen" => arg.hide(false),
        _ => arg,
    }
}

impl RunArguments {
    /// Returns whether the user has named a version.
    pub(super) fn has_spec(&self) -> bool {
        self.spec.is_some()
    }

    /// Returns whether the run starts a command as its target.
    pub(super) fn has_command(&self) -> bool {
        self.aim.command.is_some()
    }

    /// Turns this run into the run of a client: `--command` then starts the client or its driver instead of a host.
    pub(super) fn of_client(mut self) -> RunArguments {
        let command = self.aim.command.take();
        self.client = Some(ClientChoice { command, passive: self.passive, listen: self.listen });
        self
    }
}

impl ClientArguments {
    /// Returns whether the command starts processes that have to end with it.
    pub(super) fn starts_processes(&self) -> bool {
        match &self.command {
            ClientCommand::Run(run) => run.has_command(),
            ClientCommand::Certify(certify) => certify.run.has_command(),
            ClientCommand::Fuzz(fuzz) => fuzz.command.is_some(),
            ClientCommand::Mutants(_) | ClientCommand::Reference(_) => false,
        }
    }

    pub(super) fn main(self, context: &CliContext) -> CommandOutcome {
        match self.command {
            ClientCommand::Run(run) => run.of_client().main(context),
            ClientCommand::Certify(mut certify) => {
                certify.run = certify.run.of_client();
                certify.main(context)
            }
            ClientCommand::Mutants(mut mutants) => {
                mutants.client = true;
                mutants.main(context)
            }
            ClientCommand::Fuzz(fuzz) => fuzz.main(context),
            ClientCommand::Reference(reference) => reference.main(),
        }
    }
}

/// Acts as the reference client.
#[derive(Args, Debug)]
struct ReferenceArguments {
    /// Inject this fault (repeatable); `list faults --client` names them
    #[arg(long, value_parser = options::client_fault)]
    fault: Vec<Fault>,
    /// Offer only this version (repeatable)
    #[arg(long)]
    offer: Vec<Version>,
}

impl ReferenceArguments {
    fn main(self) -> CommandOutcome {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| CommandStop::fault(format!("no runtime: {error}")))?;
        let mut config = ReferenceClientConfig::default();
        if !self.offer.is_empty() {
            config.versions.clone_from(&self.offer);
        }
        config.faults = ClientFaults::of(&self.fault);
        let played = runtime.block_on(reference_client::play(ReferenceClient::new(config)));
        played.map_err(|error| CommandStop::fault(format!("standard output: {error}")))?;
        Ok(CommandExit::Ok)
    }
}
