//! Connects the harness with arguments, files, processes and the terminal. Each command has one file.
//!
//! Knows: everything. Never known by: any other module.
//!
//! Start at [`run`].

use std::process::ExitCode;
use std::sync::LazyLock;

use clap::{CommandFactory as _, Parser, Subcommand};

mod again;
mod agent;
mod agent_check;
mod agent_log;
mod agent_ports;
mod agent_profile;
mod agent_recipes;
mod agent_variants;
mod agents;
mod aim;
mod campaign_folder;
mod captures;
mod case_place;
mod certify;
mod check;
mod client;
mod client_choice;
mod client_fuzz;
mod clients;
mod confirm;
mod context;
mod coverage;
mod diff;
mod exit;
mod explain;
mod files;
mod first_look;
mod folders;
mod fuzz;
mod fuzz_target;
mod hunt;
mod hunt_outage;
mod hunt_summary;
mod interrupt;
mod judge;
mod kept_sessions;
mod list;
mod log_folder;
mod lone_trial;
mod manual;
mod matrix;
mod merge;
mod minimise;
mod mutants;
mod oddities;
mod official;
mod options;
mod place;
mod play_target;
mod record;
mod reduce;
mod reducers;
mod reports;
mod rounds;
mod run;
mod run_file;
mod scenario;
mod serve;
mod settings;
mod show;
mod strangers;
mod stress;
mod subject;
mod supervise;
mod target;
mod variant_report;
mod variant_sets;
mod variants;
mod versions;
mod view;
mod wire_mutants;

use crate::wire::version::Version;

use context::CliContext;
use exit::{CommandExit, CommandStop};

/// Conformance harness for hosts of the Agent Host Protocol (AHP).
#[derive(Debug, Parser)]
#[command(name = "ahp-harness", version, long_version = VERSIONS.as_str(), about, long_about = LONG, after_help = CODES)]
struct CommandLine {
    #[command(subcommand)]
    command: CliCommand,
}

/// The version of the program and of the protocols that it supports.
static VERSIONS: LazyLock<String> = LazyLock::new(|| {
    let versions = Version::listed(Version::played());
    format!("{}\nAHP {versions}\nACP 1", env!("CARGO_PKG_VERSION"))
});

const LONG: &str = "\
Conformance harness for hosts of the Agent Host Protocol (AHP).

It plays scenario files against a host and checks every frame of the conversation against the \
rules of the protocol. The report says which requirements were observed, which of them held and \
which are broken, with the lines of the transcript that prove it. Without a target, the harness \
plays against its own reference host.

  ahp-harness run                                     the embedded reference host
  ahp-harness run --url ws://127.0.0.1:8123           your own host
  ahp-harness run --command './host --port {port}'    a host that is started for the run";

const CODES: &str = "\
Exit codes:
    0  everything that was played passed
    1  a rule is broken, a scenario could not be tested, a certificate is incomplete, or nothing of a
       capture could be judged
    2  the command line, a scenario or a baseline has a mistake, or a selection matches nothing
    3  the target could not be reached, closed the connection during the handshake, or supports
       no common version
   70  a defect of the harness
  130  interrupted; the report is complete up to that point";

#[derive(Debug, Subcommand)]
enum CliCommand {
    /// Play scenarios against a host and judge the conversation
    Run(Box<run::RunArguments>),
    /// Play the scenarios of every profile against a host and write a certificate
    Certify(Box<certify::CertifyArguments>),
    /// Show the conversation of a scenario of a run
    Show(show::ShowArguments),
    /// Make an HTML page from a run, a capture or connection logs
    View(view::ViewArguments),
    /// Make the certificate and the report page again from the run.jsonl of a run
    Report(certify::ReportArguments),
    /// Join the run.jsonl files of shards into one
    Merge(merge::MergeArguments),
    /// Show what got better and worse between two runs
    Diff(diff::DiffArguments),
    /// Compare certificates in one table
    Matrix(matrix::MatrixArguments),
    /// Judge a recorded conversation: a run.jsonl, a capture from elsewhere, or connection logs
    Judge(judge::JudgeArguments),
    /// Record the messages between clients and their host, judge them, and inject transport faults
    Record(Box<record::RecordArguments>),
    /// Check scenario and vector files for mistakes, without playing them
    Check(check::CheckArguments),
    /// Make a scenario from a recorded conversation
    Scenario(scenario::ScenarioArguments),
    /// List scenarios, checks, requirements, faults, legal variants or protocol versions
    List(list::ListArguments),
    /// Explain a scenario, a check, a requirement, a fault, a legal variant, a step or a message of the protocol
    Explain(explain::ExplainArguments),
    /// Show the tests of each requirement, and the requirements without a test
    Coverage(coverage::CoverageArguments),
    /// Play the suite with every injected fault, to prove that the checks and scenarios can fail
    Mutants(mutants::MutantsArguments),
    /// Play the suite with every legal variant, to prove that no correct host or agent gets a finding
    Variants(variants::VariantsArguments),
    /// Generate conversations, play them against a host, and minimise the findings
    Fuzz(Box<fuzz::FuzzArguments>),
    /// Connect many clients to one host, judge all frames and measure delays
    Stress(Box<stress::StressArguments>),
    /// Run the reference host on a loopback port
    Serve(serve::ServeArguments),
    /// Act as the agent of a host or as the model of an agent, and inspect agents
    Agent(agent::AgentCommand),
    /// Test a client of AHP: act as its host
    Client(Box<client::ClientArguments>),
    /// Apply actions to states with the harness's reducers, one JSON object per line
    Reduce(reduce::ReduceArguments),
    /// Compare a reducer with the harness's reducer, by vectors and by generated sequences of actions
    Reducers(Box<reducers::ReducersArguments>),
    /// Print completions for a shell
    Completions(manual::CompletionsArguments),
    /// Write manual pages
    Man(manual::ManArguments),
    /// Act as the subject process of `reducers --subject official`
    #[command(hide = true)]
    Official(official::OfficialArguments),
}

impl CliCommand {
    /// Returns whether the command starts processes that have to end with it.
    fn starts_processes(&self) -> bool {
        match self {
            CliCommand::Run(run) => run.starts_processes(),
            CliCommand::Certify(certify) => certify.run.starts_processes(),
            CliCommand::Fuzz(fuzz) => fuzz.starts_processes(),
            CliCommand::Stress(stress) => stress.starts_processes(),
            CliCommand::Reducers(reducers) => reducers.starts_processes(),
            CliCommand::Agent(agent) => agent.starts_processes(),
            CliCommand::Client(client) => client.starts_processes(),
            _ => false,
        }
    }
}

/// Runs the program and returns its exit code.
pub fn main() -> ExitCode {
    let given =
        match settings::with_settings(std::env::args_os().collect(), &CommandLine::command()) {
            Ok(given) => given,
            Err(error) => {
                CliContext::gather().error(&format!("error: {error}\n"));
                return CommandExit::Usage.into();
            }
        };
    let arguments = match CommandLine::try_parse_from(given) {
        Ok(arguments) => arguments,
        Err(error) => {
            // `--help` and `--version` are not usage errors.
            let code = if error.use_stderr() { CommandExit::Usage } else { CommandExit::Ok };
            let _ = error.print();
            return code.into();
        }
    };
    let starts = arguments.command.starts_processes();
    if starts && let Some(code) = supervise::supervised() {
        return code;
    }
    let context = CliContext::gather();
    let outcome = match arguments.command {
        CliCommand::Run(command) => command.main(&context),
        CliCommand::Certify(command) => command.main(&context),
        CliCommand::Show(command) => command.main(&context),
        CliCommand::View(command) => command.main(&context),
        CliCommand::Completions(command) => command.main(&context, CommandLine::command()),
        CliCommand::Man(command) => command.main(&context, CommandLine::command()),
        CliCommand::Report(command) => command.main(&context),
        CliCommand::Merge(command) => command.main(&context),
        CliCommand::Diff(command) => command.main(&context),
        CliCommand::Matrix(command) => command.main(&context),
        CliCommand::Judge(command) => command.main(&context),
        CliCommand::Record(command) => command.main(&context),
        CliCommand::Scenario(command) => command.main(&context),
        CliCommand::Check(command) => command.main(&context),
        CliCommand::List(command) => command.main(&context),
        CliCommand::Explain(command) => command.main(&context),
        CliCommand::Coverage(command) => command.main(&context),
        CliCommand::Mutants(command) => command.main(&context),
        CliCommand::Variants(command) => command.main(&context),
        CliCommand::Fuzz(command) => command.main(&context),
        CliCommand::Stress(command) => command.main(&context),
        CliCommand::Serve(command) => command.main(&context),
        CliCommand::Agent(command) => command.main(&context),
        CliCommand::Client(command) => command.main(&context),
        CliCommand::Reducers(command) => command.main(&context),
        CliCommand::Reduce(command) => command.main(),
        CliCommand::Official(command) => command.main(),
    };
    if starts {
        crate::transport::child::end_adopted();
    }
    match outcome {
        Ok(code) => code.into(),
        Err(CommandStop { code, message }) => {
            context.error(&format!("error: {message}\n"));
            code.into()
        }
    }
}
