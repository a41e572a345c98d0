//! `ahp-harness agent`: the harness as the agent behind a host, or as a server that an agent uses.

use std::io::{BufRead as _, Read as _, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, Subcommand};
use tokio::net::TcpListener;

use crate::agent::acp::fault::{AgentFaults, FAULTS, Fault};
use crate::agent::acp::variant::VariantAgent;
use crate::agent::{acp, mcp};
use crate::scenario::source::did_you_mean;
use crate::transcript::BelowEvent;
use crate::transport;
use crate::transport::below::MAX_LINE;
use crate::transport::http_server;

use crate::wire::json::json;

use super::agent_check::AgentCheck;
use super::agent_log::appended;
use super::agent_ports::open;
use super::agent_profile::AgentProfileArguments;
use super::agent_variants;
use super::context::{CliContext, wall_clock};
use super::exit::{CommandExit, CommandOutcome, CommandStop};
use super::kept_sessions::SessionFolder;

/// Play the agent behind a host, so that scenarios can control that agent.
#[derive(Args, Debug)]
pub struct AgentCommand {
    #[command(subcommand)]
    mode: AgentSubcommand,
}

#[derive(Debug, Subcommand)]
enum AgentSubcommand {
    /// Act as the model that the host's own agent uses
    Model(AgentModelArguments),
    /// Act as an agent that a host starts and speaks ACP to
    Acp(AgentAcpArguments),
    /// Act as an MCP server with a tool that records its calls
    Mcp(AgentMcpArguments),
    /// Play the vectors of the contract against the test provider of a host
    Check(Box<AgentCheck>),
    /// Start an agent, inspect it, and write a profile for `run --acp` and `certify --acp`
    Profile(AgentProfileArguments),
}

/// Acts as the model that a host's own agent uses. The server speaks the APIs of OpenAI (chat completions and
/// responses), Anthropic (messages) and Google (generateContent), streamed or not, at any path.
///
/// Set the agent's base URL to the address of this server; any API key works. The server plays the script in the user's
/// last prompt (see AGENT_SCRIPT.md) with the tools that the agent offers. The answer to a prompt without a script is
/// the prompt itself. `POST /ahp/release/NAME` continues an answer that waits at `hold NAME`; `GET /ahp/log` returns
/// the exchanges so far.
///
/// The command prints the server's URL on a separate line as soon as the server listens, and runs until it is
/// interrupted.
#[derive(Args, Debug)]
struct AgentModelArguments {
    /// The address to listen at; loopback addresses only, port 0 for a free port
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// The kind of agent: plain, or copilot (which also makes requests that have nothing to do with the prompt)
    #[arg(long, default_value = "plain", value_name = "NAME")]
    flavor: String,
    /// Also write every exchange to this file, one JSON object per line
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
}

/// Acts as an agent of the Agent Client Protocol, version 1, on standard input and output. Configure this
/// command as the agent of a host.
///
/// The agent plays the script in the user's prompt (see AGENT_SCRIPT.md). The answer to a prompt without a script is
/// the prompt itself. The script's tools run real commands and change real files in the folder of the session. If the
/// client offers terminals or file access, the tools use them.
#[derive(Args, Debug)]
struct AgentAcpArguments {
    /// Write every message in both directions to this file, one JSON object per line
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Connect to the `ahp-harness run --agent-acp ADDRESS` process that listens at this address; that process decides
    /// when a turn that waits at a `hold` continues
    #[arg(long, value_name = "ADDRESS")]
    run: Option<SocketAddr>,
    /// Do not run tools; only describe what they would do
    #[arg(long)]
    pretend: bool,
    /// Listen for WebSocket connections at this loopback address instead, one agent per connection; prints the
    /// URL
    #[arg(long, value_name = "ADDRESS", conflicts_with_all = ["log", "run"])]
    listen: Option<SocketAddr>,
    /// Require clients to authenticate first
    #[arg(long)]
    auth: bool,
    /// Keep sessions in this folder, so that later processes can list, load and resume them
    #[arg(long, value_name = "FOLDER")]
    sessions: Option<PathBuf>,
    /// Inject this fault (repeatable); `list faults` names them
    #[arg(long, value_name = "NAME", value_parser = fault)]
    fault: Vec<Fault>,
    /// Behave like this legal variant (repeatable); `list variants` names them
    #[arg(long, value_name = "NAME")]
    variant: Vec<String>,
}

impl AgentAcpArguments {
    fn main(self, context: &CliContext) -> CommandOutcome {
        let name = format!("{}-", std::process::id());
        let faults = AgentFaults::of(&self.fault);
        let sessions = self.sessions.as_deref().map(SessionFolder::open).transpose()?;
        let keeps = sessions.is_some();
        let config = acp::AgentConfig {
            name,
            auth: self.auth,
            keeps,
            faults,
            ..acp::AgentConfig::default()
        };
        let variants = agent_variants::named(&self.variant)?;
        let agent = |config| {
            let mut agent = VariantAgent::new(&variants, config);
            sessions.iter().for_each(|sessions| agent.keep_all(&sessions.read()));
            agent
        };
        let options = |log| transport::acp::AcpProcessOptions {
            log,
            run: self.run,
            pretend: self.pretend,
            keep: sessions.clone().map(SessionFolder::keeper),
        };
        if let Some(address) = self.listen {
            return runtime()?.block_on(listen(context, address, config, || options(None), agent));
        }
        let agent = agent(config);
        let log = self.log.as_deref().map(appended).transpose()?;
        runtime()?.block_on(transport::acp::serve(agent, options(log)));
        Ok(CommandExit::Ok)
    }
}

/// Serves the agent over WebSocket until it is interrupted. Connections do not share sessions.
async fn listen(
    context: &CliContext,
    address: SocketAddr,
    config: acp::AgentConfig,
    options: impl Fn() -> transport::acp::AcpProcessOptions,
    make: impl Fn(acp::AgentConfig) -> VariantAgent,
) -> CommandOutcome {
    let fault = |error: std::io::Error| CommandStop::fault(format!("`{address}`: {error}"));
    if !address.ip().is_loopback() {
        return Err(CommandStop::usage(format!("expected a loopback address, found `{address}`")));
    }
    let listener = TcpListener::bind(address).await.map_err(fault)?;
    context.say(&format!("ws://{}\n", listener.local_addr().map_err(fault)?));
    let serial = std::sync::atomic::AtomicU64::new(0);
    let agent = || {
        let number = serial.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let name = format!("{}{number}-", config.name);
        make(acp::AgentConfig { name, ..config.clone() })
    };
    tokio::select! {
        () = transport::acp::listen(listener, agent, options) => {}
        _ = tokio::signal::ctrl_c() => {}
    }
    Ok(CommandExit::Ok)
}

/// Acts as an MCP server on standard input and output. Its only tool, `ahp_probe`, returns its argument and records the
/// call. Configure this command as an MCP server of a host or of its agent.
///
/// If the log contains a call that the user has denied, the tool ran in spite of the denial.
#[derive(Args, Debug)]
struct AgentMcpArguments {
    /// Write each call to this file, one JSON object per line
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Report each call to the `ahp-harness run` process that listens at this address
    #[arg(long, value_name = "ADDRESS", requires = "case")]
    run: Option<SocketAddr>,
    /// The id of the scenario that these reports name
    #[arg(long, value_name = "NAME")]
    case: Option<String>,
}

impl AgentMcpArguments {
    fn main(self) -> CommandOutcome {
        let mut log = self.log.as_deref().map(appended).transpose()?;
        // The MCP server also works if no run listens at the address.
        let mut run = self.run.and_then(|address| std::net::TcpStream::connect(address).ok());
        let mark = std::env::var(mcp::MARK_VARIABLE).ok();
        let mut server = mcp::McpServer::default();
        let mut output = std::io::stdout().lock();
        let mut input = std::io::stdin().lock();
        loop {
            let mut bytes = Vec::new();
            let read = (&mut input).take(MAX_LINE).read_until(b'\n', &mut bytes);
            if !read.is_ok_and(|read| read > 0) {
                return Ok(CommandExit::Ok);
            }
            let text = String::from_utf8_lossy(&bytes);
            if text.trim().is_empty() {
                continue;
            }
            let answered = server.answer(text.trim());
            if let (Some(arguments), Some(run)) = (&answered.called, &mut run) {
                let mut called = mcp::record(arguments, mark.as_deref());
                called["case"] = json!((self.case.clone()));
                let _ = run.write_all(transport::below::told(BelowEvent::Tool, &called).as_bytes());
            }
            if let (Some(arguments), Some(log)) = (answered.called, &mut log) {
                let t = wall_clock().as_secs_f64();
                let mut line = mcp::record(&arguments, mark.as_deref());
                line["t"] = json!(t);
                let written = writeln!(log, "{}", line.to_text()).and_then(|()| log.flush());
                written.map_err(|error| {
                    CommandStop::fault(format!("the log could not be written: {error}"))
                })?;
            }
            if let Some(line) = answered.line
                && writeln!(output, "{line}").and_then(|()| output.flush()).is_err()
            {
                return Ok(CommandExit::Ok);
            }
        }
    }
}

impl AgentCommand {
    pub(super) fn main(self, context: &CliContext) -> CommandOutcome {
        match self.mode {
            AgentSubcommand::Model(model) => model.main(context),
            AgentSubcommand::Acp(acp) => acp.main(context),
            AgentSubcommand::Mcp(mcp) => mcp.main(),
            AgentSubcommand::Check(check) => check.main(context),
            AgentSubcommand::Profile(profile) => profile.main(context),
        }
    }

    /// Returns whether the command starts processes that have to end with it.
    pub(super) fn starts_processes(&self) -> bool {
        match &self.mode {
            AgentSubcommand::Check(check) => check.starts_processes(),
            AgentSubcommand::Profile(_) => true,
            _ => false,
        }
    }
}

impl AgentModelArguments {
    fn main(self, context: &CliContext) -> CommandOutcome {
        runtime()?.block_on(async {
            let (hub, log) = (Arc::default(), self.log.as_deref());
            let (listener, stand) = open(self.listen, &self.flavor, hub, log).await?;
            context.say(&format!("{}\n", stand.base()));
            tokio::select! {
                () = http_server::serve(listener, stand) => {}
                _ = tokio::signal::ctrl_c() => {}
            }
            Ok(CommandExit::Ok)
        })
    }
}

/// Parses the name of a fault.
fn fault(name: &str) -> Result<Fault, String> {
    Fault::by_name(name).ok_or_else(|| {
        let names: Vec<&str> = FAULTS.iter().map(|row| row.name).collect();
        did_you_mean(name, &names)
    })
}

fn runtime() -> Result<tokio::runtime::Runtime, CommandStop> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| CommandStop::fault(format!("no runtime: {error}")))
}
