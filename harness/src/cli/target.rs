//! Manages the host that a run is played against: embedded, at a URL, or started by a command.

use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, BufReader};
use tokio::process::Command;
use tokio::sync::Mutex;
use tokio::time::{sleep, timeout};

use crate::agent::acp;
use crate::host::engine::{HostConfig, RefHost};
use crate::host::subject::AgentSubject;
use crate::peer::reference::{ReferenceClient, ReferenceClientConfig};
use crate::report::event::RunHeader;
use crate::run::client_sim;
use crate::run::client_trial::ClientTrial;
use crate::run::detect::DetectionResult;
use crate::run::driver::{ControlResult, HostControl};
use crate::run::plan::HostRestarts;
use crate::run::play::{ScenarioPlay, ScenarioVerdict};
use crate::run::probe::make_settings;
use crate::run::sentinel::{HostProbe, answers};
use crate::run::settings::HostSetting;
use crate::run::sim;
use crate::run::suite::SuiteEntry;
use crate::system::lead_group;
use crate::transport::child::ChildProcess;
use crate::transport::link::LinkEndpoint;
use crate::transport::websocket;
use crate::wire::feature::ProtocolFeature;
use crate::wire::protocol::Protocol;
use crate::wire::version::Version;

use super::exit::CommandStop;
use super::strangers;

/// The maximum time from the start of a command until it accepts connections.
const STARTING: Duration = Duration::from_secs(30);
/// The time that a process group has to end before it is killed.
const ENDING: Duration = Duration::from_secs(3);
/// Multiples of the time limit of a wait. A host counts as hung if it does not answer a handshake within `ANSWERING`
/// times this limit, in `TRIES` attempts. A host that the harness cannot restart has `RETURNING` times this limit to
/// return.
const ANSWERING: u32 = 2;
const TRIES: u32 = 2;
const RETURNING: u32 = 8;
/// The maximum number of bytes of a line, and the maximum number of lines, of a host's standard error that are
/// printed. The rest is discarded.
const PRINTED_LINE: usize = 4_096;
const PRINTED_LINES: usize = 1_000;
/// The time limit for a host to apply all settings.
const SETTING: Duration = Duration::from_secs(10);
/// The pause between two connection attempts.
const POLL: Duration = Duration::from_millis(50);

/// The time budget of a run against an agent: slightly less than the ten minutes that many CI jobs have.
pub(super) const AGENT_BUDGET: Duration = Duration::from_secs(570);
/// The time budget of a run against an external host, possibly with several agents. Without a budget, a run
/// against a host that answers nothing would take hours.
pub(super) const HOST_BUDGET: Duration = Duration::from_secs(1_800);
impl HostControl for RemoteHost {
    fn restart(&self, crash: bool) -> ControlResult<'_> {
        Box::pin(self.again(crash))
    }

    /// Does nothing, because no agent of the harness has to be released.
    fn release(&self, _: &str) {}
}

/// A function that receives each line that a started host writes to its standard error.
pub type HostVoice = Arc<dyn Fn(&str) + Send + Sync>;

/// A host outside this process.
pub struct RemoteHost {
    /// The address of the host.
    pub endpoint: LinkEndpoint,
    url: String,
    process: Mutex<Option<ChildProcess>>,
    command: Option<String>,
    /// The command of another version of the host. Each restart that a scenario requests switches between the two
    /// versions.
    upgrade_command: Option<String>,
    is_upgraded: AtomicBool,
    restart_command: Option<String>,
    crash_command: Option<String>,
    said: HostVoice,
    /// The settings to apply before a run and after each restart.
    settings: Vec<HostSetting>,
    /// The protocol versions that the harness offers when it connects to apply the settings.
    setting_offers: Vec<Version>,
}

impl RemoteHost {
    /// Returns a host that is already running.
    pub fn at(endpoint: websocket::WebSocketEndpoint, restart: Option<String>) -> RemoteHost {
        let url = endpoint.url.clone();
        RemoteHost {
            endpoint: LinkEndpoint::Socket(endpoint),
            url,
            process: Mutex::new(None),
            command: None,
            upgrade_command: None,
            is_upgraded: AtomicBool::new(false),
            restart_command: restart,
            crash_command: None,
            said: Arc::new(|_| {}),
            settings: Vec::new(),
            setting_offers: Vec::new(),
        }
    }

    /// Adds settings. The client that applies the settings offers these versions.
    pub(super) fn with_settings(
        mut self,
        settings: Vec<HostSetting>,
        offers: Vec<Version>,
    ) -> RemoteHost {
        (self.settings, self.setting_offers) = (settings, offers);
        self
    }

    /// Adds the user's command that kills the host and starts it again.
    pub(super) fn with_crash_command(mut self, command: Option<String>) -> RemoteHost {
        self.crash_command = command;
        self
    }

    /// Adds the command of another version of the host. `{port}` becomes the port of the running host.
    pub(super) fn with_upgrade_command(mut self, command: Option<String>) -> RemoteHost {
        let port = self.url.rsplit(':').next().unwrap_or_default();
        self.upgrade_command = command.map(|command| command.replace("{port}", port));
        self
    }

    /// Applies the settings that the user requested.
    ///
    /// # Errors
    /// Returns an error with the first setting that failed, and the reason.
    pub(super) async fn configure(&self) -> Result<(), String> {
        if self.settings.is_empty() {
            return Ok(());
        }
        make_settings(&self.endpoint, &self.setting_offers, &self.settings, SETTING).await
    }

    /// Returns whether the host may run on this machine, and may therefore use the same disk.
    pub(super) fn is_local(&self) -> bool {
        is_local(&self.url)
    }

    /// Starts a host and waits until it accepts connections.
    ///
    /// # Errors
    /// Returns an error if the command could not be started, exited, or did not accept connections in time.
    pub async fn start(
        command: &str,
        headers: Vec<(String, String)>,
        other: Option<String>,
        restart: Option<String>,
        said: HostVoice,
    ) -> Result<RemoteHost, CommandStop> {
        let (command, url) = with_port(command)?;
        let (process, url) =
            launch(&command, url, &said).await.map_err(CommandStop::unreachable)?;
        let endpoint = strangers::endpoint(&url, headers, other.as_deref());
        Ok(RemoteHost {
            endpoint: LinkEndpoint::Socket(endpoint),
            url,
            process: Mutex::new(Some(process)),
            command: Some(command),
            upgrade_command: None,
            is_upgraded: AtomicBool::new(false),
            restart_command: restart,
            crash_command: None,
            said,
            settings: Vec::new(),
            setting_offers: Vec::new(),
        })
    }

    /// Returns whether the harness can restart the host.
    pub fn restarts(&self) -> bool {
        self.command.is_some() || self.restart_command.is_some() || self.crash_command.is_some()
    }

    /// Returns whether the harness can kill the host and start it again.
    pub(super) fn crashes(&self) -> bool {
        self.crash_command.is_some() || (self.command.is_some() && self.restart_command.is_none())
    }

    /// Returns whether the harness can restart the host, and whether it can kill it.
    pub(super) fn ways_to_restart(&self) -> HostRestarts {
        match (self.restarts(), self.crashes()) {
            (_, true) => HostRestarts::Crashes,
            (true, false) => HostRestarts::Orderly,
            (false, false) => HostRestarts::Never,
        }
    }

    /// Returns the URL without its secrets, which are the query and the user part.
    pub fn shown(&self) -> String {
        shown(&self.url)
    }

    /// Ends the processes that the harness started.
    pub async fn stop(&self) {
        if let Some(process) = self.process.lock().await.take() {
            ended(process).await;
        }
    }

    /// Returns why the host counts as stopped or hung, as a predicate of "the host"; `None` if the host answers.
    pub(super) async fn trouble(
        &self,
        offers: &[Version],
        probe: HostProbe,
        limit: Duration,
    ) -> Option<String> {
        let mut said = String::new();
        for _ in 0..TRIES {
            match answers(&self.endpoint, offers, probe, limit * ANSWERING).await {
                Ok(()) => return None,
                Err(reason) => said = reason,
            }
            // The shell that started the host may have ended long ago. The end of the shell proves nothing
            // about a host that answers.
            if let Some(process) = self.process.lock().await.as_mut()
                && let Ok(Some(status)) = process.child().try_wait()
            {
                return Some(format!("ended ({status})"));
            }
        }
        Some(format!("does not answer ({said})"))
    }

    /// Returns the most thorough probe that the host answers now.
    pub(super) async fn probe(&self, offers: &[Version], limit: Duration) -> HostProbe {
        let list = HostProbe::SessionList;
        let lists = answers(&self.endpoint, offers, list, limit * ANSWERING).await.is_ok();
        if lists { list } else { HostProbe::Handshake }
    }

    /// Recovers a host that does not answer: restarts the host if possible, or else waits for it.
    ///
    /// # Errors
    /// Returns the reason why the host did not come back.
    pub(super) async fn recover(
        &self,
        offers: &[Version],
        probe: HostProbe,
        limit: Duration,
    ) -> Result<(), String> {
        if self.restarts() {
            return self.restarted(false).await;
        }
        let (answering, returning) = (limit * ANSWERING, limit * RETURNING);
        let returned = async {
            while answers(&self.endpoint, offers, probe, answering).await.is_err() {
                sleep(POLL).await;
            }
        };
        let hint =
            "hint: give `--restart-command`, or let the harness start the host with `--command`";
        let late = |_| format!("it did not come back within {returning:?} ({hint})");
        timeout(returning, returned).await.map_err(late)?;
        self.configure().await
    }

    /// Restarts the host, with the other version if there are two, and returns when the host accepts connections again.
    /// `crash` says whether to kill the host's process instead of asking it to end; the user may have a command for each.
    pub(super) async fn again(&self, crash: bool) -> Result<(), String> {
        if self.upgrade_command.is_some() {
            self.is_upgraded.fetch_xor(true, Ordering::Relaxed);
        }
        self.restarted(crash).await
    }

    /// Returns the command of the version that runs now, or that a restart starts next.
    fn command_now(&self) -> Option<&String> {
        let upgraded = self.upgrade_command.as_ref();
        upgraded.filter(|_| self.is_upgraded.load(Ordering::Relaxed)).or(self.command.as_ref())
    }

    /// Restarts the host as [`RemoteHost::again`] does, without a change of its version.
    async fn restarted(&self, crash: bool) -> Result<(), String> {
        let (first, second) = match crash {
            true => (&self.crash_command, &self.restart_command),
            false => (&self.restart_command, &self.crash_command),
        };
        // The user's other command also restarts the host, but is not used for a host that the harness itself has
        // started and can restart.
        let other = second.as_ref().filter(|_| self.command.is_none());
        if let Some(command) = first.as_ref().or(other) {
            let status = restarting(command).await;
            match status {
                Ok(status) if status.success() => {}
                Ok(status) => return Err(format!("`{command}` ended with {status}")),
                Err(error) => return Err(format!("`{command}` could not be started: {error}")),
            }
            listens(&self.url).await?;
            return self.configure().await;
        }
        let Some(command) = self.command_now() else {
            return Err("there is no command that restarts it".to_owned());
        };
        let mut held = self.process.lock().await;
        match held.take() {
            Some(process) if crash => killed(process).await,
            Some(process) => ended(process).await,
            None => {}
        }
        // A process that is being killed loses its memory before its sockets: it can still hold the port and accept a
        // connection after everything else of the process is gone.
        let _ = timeout(ENDING, refuses(&self.url)).await;
        let (process, _) = launch(command, Some(self.url.clone()), &self.said).await?;
        *held = Some(process);
        drop(held);
        self.configure().await
    }
}

/// Asks a process group to end, and kills the processes that are left.
async fn ended(mut process: ChildProcess) {
    process.ask_to_end();
    let gone = async {
        let _ = process.child().wait().await;
        // The shell that started the host exits at once, but the host exits only after its own child processes.
        while !process.left().is_empty() {
            sleep(POLL).await;
        }
    };
    let _ = timeout(ENDING, gone).await;
    killed(process).await;
}

/// Kills a process group.
async fn killed(mut process: ChildProcess) {
    process.kill();
    let _ = process.child().kill().await;
}

/// Returns whether a URL names this machine.
pub(super) fn is_local(url: &str) -> bool {
    let authority = url.split("://").nth(1).unwrap_or_default();
    let authority = authority.split(['/', '?']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let local = |name: &str| {
        host.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
    };
    ["localhost", "127.0.0.1", "[::1]"].into_iter().any(local)
}

/// Returns a URL without its secrets.
pub fn shown(url: &str) -> String {
    let end = url.find(['?', '#']).unwrap_or(url.len());
    let bare = &url[..end];
    match (bare.find("://"), bare.rfind('@')) {
        (Some(scheme), Some(at)) if at > scheme => {
            format!("{}{}", &bare[..scheme + 3], &bare[at + 1..])
        }
        _ => bare.to_owned(),
    }
}

/// Replaces `{port}` in the command by a free port.
fn with_port(command: &str) -> Result<(String, Option<String>), CommandStop> {
    if !command.contains("{port}") {
        return Ok((command.to_owned(), None));
    }
    // The port is free now; the host binds it a moment later.
    let port = std::net::TcpListener::bind(("127.0.0.1", 0))
        .and_then(|listener| listener.local_addr())
        .map_err(|error| CommandStop::fault(format!("no free port: {error}")))?
        .port();
    let command = command.replace("{port}", &port.to_string());
    Ok((command, Some(format!("ws://127.0.0.1:{port}"))))
}

/// Runs the user's command that restarts a host. The process that the command leaves running is the host itself. The
/// harness must not end this process, so the command is not a [`ChildProcess`].
async fn restarting(command: &str) -> std::io::Result<std::process::ExitStatus> {
    let mut line = shell(command);
    line.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    lead_group(&mut line).kill_on_drop(true);
    line.status().await
}

/// Returns a process command that runs `command` with `sh -c`.
pub(super) fn shell(command: &str) -> Command {
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(command);
    shell
}

/// Starts the command in a separate process group. If the command has no `{port}`, the first `ws://` URL on its
/// standard output is used.
async fn launch(
    command: &str,
    url: Option<String>,
    said: &HostVoice,
) -> Result<(ChildProcess, String), String> {
    let mut line = shell(command);
    line.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = ChildProcess::start(&mut line)
        .map_err(|error| format!("`{command}` could not be started: {error}"))?;
    let output = process.child().stdout.take();
    if let Some(errors) = process.child().stderr.take() {
        tokio::spawn(repeat(errors, Arc::clone(said)));
    }
    let found = timeout(STARTING, async {
        let mut output = output.map(BufReader::new);
        let url = match (url, &mut output) {
            (Some(url), _) => url,
            (None, Some(output)) => loop {
                match bounded_line(output).await {
                    Some(line) => {
                        if let Some(url) = url_in(&line) {
                            break url;
                        }
                    }
                    None => {
                        return Err(format!("`{command}` ended without printing a `ws://` URL"));
                    }
                }
            },
            (None, None) => return Err("its output cannot be read".to_owned()),
        };
        // The rest of the output has to be read, because a full pipe would block the host.
        if let Some(mut output) = output {
            tokio::spawn(async move {
                let _ = tokio::io::copy_buf(&mut output, &mut tokio::io::sink()).await;
            });
        }
        tokio::select! {
            listening = listens(&url) => listening?,
            status = process.child().wait() => {
                let status = status.map(|status| status.to_string()).unwrap_or_default();
                return Err(format!("`{command}` ended before it listened: {status}"));
            }
        }
        Ok(url)
    })
    .await;
    match found {
        Ok(Ok(url)) => Ok((process, url)),
        Ok(Err(reason)) => {
            ended(process).await;
            Err(reason)
        }
        Err(_) => {
            ended(process).await;
            Err(format!("`{command}` listened nowhere within {STARTING:?}"))
        }
    }
}

/// Reads the next line that a host prints. If the line is too long, skips its end.
async fn bounded_line(output: &mut (impl AsyncBufRead + Unpin)) -> Option<String> {
    let mut line = Vec::new();
    loop {
        let piece = output.fill_buf().await.ok()?;
        if piece.is_empty() {
            return (!line.is_empty()).then(|| String::from_utf8_lossy(&line).into_owned());
        }
        let end = piece.iter().position(|byte| *byte == b'\n');
        let words = piece.get(..end.unwrap_or(piece.len())).unwrap_or_default();
        line.extend(words.iter().take(PRINTED_LINE.saturating_sub(line.len())));
        let used = end.map_or(piece.len(), |end| end + 1);
        output.consume(used);
        if end.is_some() {
            return Some(String::from_utf8_lossy(&line).into_owned());
        }
    }
}

/// Prints the lines that a host writes to its standard error, up to a limit, and discards the rest.
async fn repeat(errors: impl tokio::io::AsyncRead + Unpin, said: HostVoice) {
    let mut errors = BufReader::new(errors);
    for _ in 0..PRINTED_LINES {
        match bounded_line(&mut errors).await {
            Some(line) => said(&line),
            None => return,
        }
    }
    said(&format!("(after {PRINTED_LINES} lines, further output is left out)"));
    let _ = tokio::io::copy_buf(&mut errors, &mut tokio::io::sink()).await;
}

/// Returns the first `ws://` URL in a line.
fn url_in(line: &str) -> Option<String> {
    let start = line.find("ws://").or_else(|| line.find("wss://"))?;
    let rest = &line[start..];
    let end = rest.find(|c: char| c.is_whitespace() || "\"'<>)]".contains(c)).unwrap_or(rest.len());
    Some(rest[..end].to_owned())
}

/// Waits until the URL accepts a connection.
async fn listens(url: &str) -> Result<(), String> {
    let address = address_of(url);
    let tried = timeout(STARTING, async {
        while tokio::net::TcpStream::connect(&address).await.is_err() {
            sleep(POLL).await;
        }
    });
    tried.await.map_err(|_| format!("nothing listened at {address} within {STARTING:?}"))
}

/// Waits until the URL accepts no connection.
async fn refuses(url: &str) {
    let address = address_of(url);
    while tokio::net::TcpStream::connect(&address).await.is_ok() {
        sleep(POLL).await;
    }
}

/// Returns the host and the port of a URL.
fn address_of(url: &str) -> String {
    let bare = shown(url);
    let address = bare.split_once("://").map_or(bare.as_str(), |(_, rest)| rest);
    let address = address.split('/').next().unwrap_or(address);
    match address.rsplit_once(':') {
        Some((_, port)) if port.parse::<u16>().is_ok() => address.to_owned(),
        _ => format!("{address}:80"),
    }
}

/// Returns the provider that is part of session URIs in versions without channels: the first provider of the host.
pub(super) fn scheme(version: Version, found: &DetectionResult) -> Option<String> {
    let named =
        Protocol::of(version).is_some_and(|protocol| !protocol.has(ProtocolFeature::Channels));
    found.providers.first().filter(|_| named).cloned()
}

/// Plays a scenario on a separate reference host.
pub(super) fn embedded(
    play: ScenarioPlay,
    entry: &SuiteEntry,
    header: &RunHeader,
) -> ScenarioVerdict {
    let epoch = Duration::from_millis(HostConfig::default().epoch_ms);
    if entry.scenario.tested.is_some() {
        let config = client_sim::settings(&entry.scenario, header.version, header.seed, epoch);
        let trial = ClientTrial::new(play, Box::new(RefHost::new(config)));
        let mut client = ReferenceClient::new(ReferenceClientConfig::default());
        return client_sim::play(trial, &mut client);
    }
    if header.version == Version::ACP_1 {
        return sim::play(play, &mut AgentSubject::new(acp::AgentConfig::default()));
    }
    let config = sim::settings_with(&entry.scenario, header.seed, epoch, header.agent);
    let config = sim::speaking(config, header.version);
    sim::play(play, &mut RefHost::new(config))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_port_is_free_only_when_nothing_accepts() {
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let url = format!("ws://{}/ahp", listener.local_addr().unwrap());
        assert!(timeout(2 * POLL, refuses(&url)).await.is_err());
        drop(listener);
        assert!(timeout(ENDING, refuses(&url)).await.is_ok());
    }

    #[test]
    fn shows_urls_without_secrets() {
        assert_eq!(shown("ws://u:p@h:1/a?tkn=x"), "ws://h:1/a");
        assert_eq!(shown("ws://h:1"), "ws://h:1");
    }

    #[test]
    fn finds_urls_in_output() {
        assert_eq!(
            url_in("listening on ws://127.0.0.1:1/x now").as_deref(),
            Some("ws://127.0.0.1:1/x")
        );
        assert_eq!(url_in("\"wss://h\"").as_deref(), Some("wss://h"));
        assert_eq!(url_in("http://h"), None);
    }
}
