//! Reads the target of a run and its agent from the options that `run` and `fuzz` share.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use clap::Args;

use crate::agent::mode::AgentMode;
use crate::host::{door, protected};
use crate::report::command::quoted;
use crate::report::redact::{SecretRedactor, secrets_of_header, secrets_of_target};
use crate::run::detect::{self, DetectedFeature};
use crate::run::settings::HostSetting;
use crate::run::setup::UriForms;
use crate::run::sim;
use crate::scenario::capability::{HARNESS_SERVER, server_config};
use crate::transport::{below, http_server};
use crate::wire::foreign_text::ForeignText;
use crate::wire::version::Version;

use super::agent_ports;
use super::context::CliContext;
use super::exit::CommandStop;
use super::files;
use super::oddities::{CANARY, RunFolders};
use super::options;
use super::place::AgentBehind;
use super::play_target::PlayTarget;
use super::strangers;
use super::target::{HostVoice, RemoteHost, is_local};

/// The user's choice of the provider, which is the agent of the host that sessions use.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum ProviderChoice {
    /// Each agent of the host, one after the other.
    All,
    /// The agent with this provider.
    Named(String),
}

impl FromStr for ProviderChoice {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<ProviderChoice, Infallible> {
        Ok(match text {
            "all" => ProviderChoice::All,
            name => ProviderChoice::Named(name.to_owned()),
        })
    }
}

/// The options that name the target of a run and the agent of this target.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct RunAim {
    /// Play against the host at this URL (ws:// or wss://, with path and query if the host needs them)
    #[arg(long, help_heading = "Target")]
    pub(super) url: Option<String>,
    /// Start a host with this command: `{port}` becomes a free port; without `{port}`, the harness uses the first ws://
    /// URL that the command prints
    #[arg(long, conflicts_with = "url", help_heading = "Target")]
    pub(super) command: Option<String>,
    /// Run this command to restart the host, for scenarios that need it
    #[arg(long, value_name = "COMMAND", help_heading = "Target")]
    pub(super) restart_command: Option<String>,
    /// Run this command to kill the host and start it again, for scenarios about crashes
    #[arg(long, value_name = "COMMAND", help_heading = "Target")]
    pub(super) crash_command: Option<String>,
    /// A command that starts another version of the host with the same data. Each restart in a scenario switches
    /// between this command and `--command`, so every scenario about restarts also tests an upgrade or a downgrade
    #[arg(
        long,
        value_name = "COMMAND",
        requires = "command",
        conflicts_with_all = ["restart_command", "crash_command"],
        help_heading = "Target"
    )]
    pub(super) upgrade_command: Option<String>,
    /// Play the embedded host over real loopback sockets
    #[arg(long, conflicts_with_all = ["url", "command"], help_heading = "Target")]
    pub(super) loopback: bool,
    /// Send this header with the WebSocket handshake, `Name: value` (repeatable)
    #[arg(long, value_parser = options::header, help_heading = "Target")]
    pub(super) header: Vec<(String, String)>,
    /// Send `Authorization: Bearer TOKEN` with the WebSocket handshake
    #[arg(long, env = "AHP_TOKEN", hide_env_values = true, help_heading = "Target")]
    pub(super) token: Option<String>,
    /// Like `--token`, but read the token from this file
    #[arg(long, value_name = "FILE", conflicts_with = "token", help_heading = "Target")]
    token_file: Option<PathBuf>,
    /// The token of a second user; scenarios test that neither user can reach the other's data
    #[arg(
        long,
        value_name = "TOKEN",
        env = "AHP_OTHER_TOKEN",
        hide_env_values = true,
        help_heading = "Target"
    )]
    pub(super) other_token: Option<String>,
    /// Like `--other-token`, but read the token from this file
    #[arg(long, value_name = "FILE", conflicts_with = "other_token", help_heading = "Target")]
    other_token_file: Option<PathBuf>,
    /// A setting that the host must reject for the second user, as KEY=VALUE; the value is a string
    #[arg(long, value_name = "KEY=VALUE", value_parser = options::credential, help_heading = "Target")]
    pub(super) guarded_setting: Option<(String, String)>,
    /// Set a property of the host's configuration before the run, KEY=JSON, for example to enable a feature that is off
    /// by default (repeatable; the order is kept; the change is not undone)
    #[arg(long, value_name = "KEY=JSON", value_parser = options::setting, help_heading = "Target")]
    pub(super) setting: Vec<HostSetting>,
    /// Two folders on this machine, if the host runs here: one that clients may read and write, and one that clients
    /// may not use; the harness puts special files there during the run
    #[arg(long, num_args = 2, value_names = ["INSIDE", "OUTSIDE"], help_heading = "Target")]
    pub(super) files: Vec<PathBuf>,
    /// The URI of a folder that you prepared on the host's disk for scenarios about files, if the host runs on another
    /// machine; docs/hosts.md lists the files that it must contain
    #[arg(long, value_name = "URI", help_heading = "Target")]
    pub(super) prepared_folder: Option<String>,
    /// For hosts that forward file requests to clients: the URI at which other clients reach the files that a client
    /// serves at `virtual://{client}`; `{client}` becomes the client id
    #[arg(long, value_name = "URI", help_heading = "Target")]
    pub(super) client_files: Option<String>,
    /// The URI scheme of sessions, for hosts that require a certain scheme; `{provider}` becomes the provider of the
    /// session [default: ahp-session]
    #[arg(long, value_name = "SCHEME", help_heading = "Target")]
    pub(super) session_scheme: Option<String>,
    /// Send the token in this file to the host with `authenticate` after each handshake, RESOURCE=FILE (repeatable)
    #[arg(long, value_name = "RESOURCE=FILE", value_parser = options::credential, help_heading = "Target")]
    authenticate_file: Vec<(String, String)>,
    /// Send this token to the host with `authenticate` after each handshake, RESOURCE=TOKEN (repeatable)
    #[arg(long, value_name = "RESOURCE=TOKEN", value_parser = options::credential, help_heading = "Target")]
    pub(super) authenticate: Vec<(String, String)>,

    /// Act as the model that the host's agent uses, at this loopback address; `{model}` in `--command` becomes the
    /// model's URL
    #[arg(long, value_name = "ADDRESS", conflicts_with = "loopback", help_heading = "Agent")]
    pub(super) agent_model: Option<SocketAddr>,
    /// Provide the agent that the host starts and speaks ACP to. The host must start it with `ahp-harness agent acp
    /// --run ADDRESS`; `{acp}` in `--command` becomes this command. The embedded host needs no address
    #[arg(
        long,
        value_name = "ADDRESS",
        num_args = 0..=1,
        default_missing_value = "127.0.0.1:0",
        conflicts_with_all = ["loopback", "agent_model"],
        help_heading = "Agent"
    )]
    pub(super) agent_acp: Option<SocketAddr>,
    /// The kind of agent: plain, or copilot (which also makes requests that have nothing to do with the prompt)
    #[arg(long, value_name = "NAME", default_value = "plain", help_heading = "Agent")]
    pub(super) agent_flavor: String,
    /// Create sessions with this provider of the host; with `all`, scenarios that depend on the agent are played once
    /// per provider
    #[arg(long, value_name = "NAME", help_heading = "Agent")]
    pub(super) provider: Option<ProviderChoice>,
    /// Optional abilities that the host's test provider has, for example recall,worker (AGENT_CONTRACT.md lists them)
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = options::script_ability, help_heading = "Agent")]
    pub(super) agent_can: Vec<&'static str>,
    /// Write every exchange between the harness and the host's agent to this file, one JSON object per line
    #[arg(long, value_name = "FILE", help_heading = "Agent")]
    pub(super) agent_log: Option<PathBuf>,
}

impl RunAim {
    /// Reads the tokens that are given as files.
    ///
    /// # Errors
    /// Returns an error if a file cannot be read, or contains no token.
    pub(super) fn with_files(mut self) -> Result<RunAim, CommandStop> {
        let read = |path: &Path| match files::text(path)?.trim() {
            "" => Err(CommandStop::usage(format!(
                "expected a token in `{}`, found nothing",
                path.display()
            ))),
            token => Ok(token.to_owned()),
        };
        if let Some(path) = self.token_file.take() {
            self.token = Some(read(&path)?);
        }
        if let Some(path) = self.other_token_file.take() {
            self.other_token = Some(read(&path)?);
        }
        for (resource, path) in std::mem::take(&mut self.authenticate_file) {
            self.authenticate.push((resource, read(Path::new(&path))?));
        }
        Ok(self)
    }

    /// Returns whether the target is a host or agent outside of this process.
    pub(super) fn is_outside(&self) -> bool {
        self.url.is_some() || self.command.is_some()
    }

    /// Returns whether the options start a host that has to end with this process. The process of
    /// `--restart-command` may outlive the run.
    pub(super) fn starts_processes(&self) -> bool {
        self.command.is_some() && self.restart_command.is_none()
    }

    /// Applies the settings of the host that the user requested, at version `spec` or at any version, and returns the
    /// target. If the target is a command, the command is started first.
    ///
    /// # Errors
    /// Returns an error if the target is not available, if options contradict one another, or if the host
    /// rejects a setting.
    pub(super) async fn configured_target(
        &self,
        context: &CliContext,
        spec: Option<Version>,
    ) -> Result<PlayTarget, CommandStop> {
        let target = self.target(context, spec).await?;
        if let PlayTarget::Remote(remote, _) = &target
            && let Err(why) = remote.configure().await
        {
            remote.stop().await;
            return Err(CommandStop::unreachable(format!("`{}`: {why}", remote.shown())));
        }
        Ok(target)
    }

    /// Returns the target. If the target is a command, the command is started.
    ///
    /// # Errors
    /// Returns an error if the target is not available, or if options contradict one another.
    pub(super) async fn target(
        &self,
        context: &CliContext,
        spec: Option<Version>,
    ) -> Result<PlayTarget, CommandStop> {
        let headers = self.headers();
        let restart = self.restart_command.clone();
        let crash = self.crash_command.clone();
        let outside = self.is_outside();
        if self.agent_model.is_some() && !outside {
            return Err(CommandStop::usage(
                "expected `--url` or `--command` with `--agent-model` (hint: the embedded host has an agent of its own)",
            ));
        }
        if !self.setting.is_empty() && !outside {
            return Err(CommandStop::usage(
                "expected `--url` or `--command` with `--setting` (hint: everything in the \
                 embedded host is switched on)",
            ));
        }
        let settings = self.setting.clone();
        let offers = spec.map_or_else(|| Version::offered().to_vec(), |version| vec![version]);
        let (behind, words) = if outside { self.behind().await? } else { Default::default() };
        Ok(match (&self.url, &self.command) {
            (Some(url), _) if !url.starts_with("ws://") && !url.starts_with("wss://") => {
                return Err(CommandStop::usage(format!(
                    "expected a URL that begins with `ws://` or `wss://`, found `{url}`"
                )));
            }
            (Some(url), _) => {
                let at = strangers::endpoint(url, headers, self.other_token.as_deref());
                let remote = RemoteHost::at(at, restart).with_settings(settings, offers);
                PlayTarget::Remote(Arc::new(remote.with_crash_command(crash)), behind)
            }
            (_, Some(command)) => {
                let filled = |command: &String| {
                    let fill =
                        |command: String, (word, value): &(_, String)| command.replace(word, value);
                    words.iter().fold(command.clone(), fill)
                };
                let (command, upgrade) =
                    (filled(command), self.upgrade_command.as_ref().map(filled));
                let has_port = |command: &String| command.contains("{port}");
                if upgrade.as_ref().is_some_and(|other| has_port(other) != has_port(&command)) {
                    return Err(CommandStop::usage(
                        "expected `{port}` in both `--command` and `--upgrade-command`, or in neither",
                    ));
                }
                let other = self.other_token.clone();
                let (context, redactor) =
                    (context.clone(), SecretRedactor::new(self.secrets(), Vec::new()));
                let said: HostVoice = Arc::new(move |line| {
                    let line = ForeignText::from(line).line();
                    context.error(&format!("host: {}\n", redactor.text(&line)));
                });
                let remote = RemoteHost::start(&command, headers, other, restart, said).await?;
                let remote = remote.with_settings(settings, offers).with_crash_command(crash);
                PlayTarget::Remote(Arc::new(remote.with_upgrade_command(upgrade)), behind)
            }
            _ if self.loopback => PlayTarget::Loopback,
            _ => PlayTarget::Embedded,
        })
    }

    /// Returns the forms of URIs that the options set, such as the scheme of session URIs.
    pub(super) fn forms(&self) -> UriForms {
        UriForms {
            client_files: self.client_files.clone(),
            session_scheme: self.session_scheme.clone(),
        }
    }

    /// Returns the options that name the target, quoted for a shell. Environment variables replace secrets.
    pub(super) fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        let mut option = |name: &str, value: String| {
            words.push(format!("--{name}"));
            words.extend(Some(value).filter(|value| !value.is_empty()));
        };
        match &self.url {
            Some(url) if !secrets_of_target(url).is_empty() => {
                option("url", "\"$AHP_URL\"".to_owned());
            }
            Some(url) => option("url", quoted(url)),
            None => {}
        }
        for (name, value) in [
            ("command", &self.command),
            ("upgrade-command", &self.upgrade_command),
            ("restart-command", &self.restart_command),
            ("crash-command", &self.crash_command),
        ] {
            if let Some(value) = value {
                option(name, quoted(value));
            }
        }
        if let Some(ProviderChoice::Named(provider)) = &self.provider {
            option("provider", quoted(provider));
        }
        if self.loopback {
            option("loopback", String::new());
        }
        for (name, value) in &self.header {
            let secret = !secrets_of_header(name, value).is_empty();
            let variable = format!("\"{name}: $AHP_HEADER\"");
            option("header", if secret { variable } else { quoted(&format!("{name}: {value}")) });
        }
        for (name, given) in [("token", &self.token), ("other-token", &self.other_token)] {
            if given.is_some() {
                let variable = name.to_uppercase().replace('-', "_");
                option(name, format!("\"$AHP_{variable}\""));
            }
        }
        for (number, (resource, _)) in (1..).zip(&self.authenticate) {
            let number = if number == 1 { String::new() } else { format!("_{number}") };
            option("authenticate", format!("{}=\"$AHP_API_TOKEN{number}\"", quoted(resource)));
        }
        if let Some((key, value)) = &self.guarded_setting {
            option("guarded-setting", quoted(&format!("{key}={value}")));
        }
        for (number, setting) in (1..).zip(&self.setting) {
            let number = if number == 1 { String::new() } else { format!("_{number}") };
            let value = match setting.is_secret() {
                true => format!("\"$AHP_SETTING{number}\""),
                false => quoted(&setting.value.to_text()),
            };
            option("setting", format!("{}={value}", quoted(&setting.key)));
        }
        if let [inside, outside] = &self.files[..] {
            let folder = |path: &PathBuf| quoted(&path.display().to_string());
            option("files", format!("{} {}", folder(inside), folder(outside)));
        }
        for (name, form) in
            [("client-files", &self.client_files), ("session-scheme", &self.session_scheme)]
        {
            if let Some(form) = form {
                option(name, quoted(form));
            }
        }
        if let Some(uri) = &self.prepared_folder {
            option("prepared-folder", quoted(uri));
        }
        if let Some(address) = self.agent_model {
            option("agent-model", address.to_string());
            if self.agent_flavor != "plain" {
                option("agent-flavor", quoted(&self.agent_flavor));
            }
        }
        if let Some(address) = self.agent_acp {
            option("agent-acp", address.to_string());
        }
        if !self.agent_can.is_empty() {
            option("agent-can", quoted(&self.agent_can.join(",")));
        }
        words
    }

    /// Returns the headers of the WebSocket handshake.
    fn headers(&self) -> Vec<(String, String)> {
        let own = self.token.iter();
        let own = own.map(|token| ("Authorization".to_owned(), format!("Bearer {token}")));
        self.header.iter().cloned().chain(own).collect()
    }

    /// Puts the special files into the folders that the user named; `None` if the user named no folders.
    ///
    /// # Errors
    /// Returns an error if the files cannot be written.
    pub(super) fn oddities(&self) -> Result<Option<RunFolders>, CommandStop> {
        let [inside, outside] = &self.files[..] else { return Ok(None) };
        let put = RunFolders::put(inside, outside);
        put.map(Some).map_err(|error| {
            CommandStop::usage(format!("the unusual test files could not be made: {error}"))
        })
    }

    /// Returns the features of the target that the options provide, such as special files: a first look cannot detect
    /// them.
    pub(super) fn given(&self, oddities: Option<&RunFolders>) -> Vec<DetectedFeature> {
        if !self.is_outside() {
            return sim::given();
        }
        let url = self.url.as_deref().unwrap_or_default();
        let own = strangers::has_credentials(url, &self.headers());
        let other = self.other_token.is_some();
        let folder = oddities.map(RunFolders::folder);
        let folder = folder.as_deref().map(|folder| [folder]);
        // A host on another machine could not start the harness's MCP server, which is this program.
        let is_local = self.command.is_some() || is_local(url);
        let program = std::env::current_exe().ok().filter(|_| is_local);
        let server = program.map(|program| server_config(&program.to_string_lossy()));
        let setting = self.guarded_setting.as_ref();
        let setting = setting.map(|(key, value)| [key.as_str(), value.as_str()]);
        Vec::from([
            detect::given("credentials", own.then_some(&[])),
            detect::given("otherCredentials", other.then_some(&[])),
            detect::given("guardedSetting", setting.as_ref().map(|it| &it[..])),
            detect::given(
                HARNESS_SERVER,
                server.as_deref().map(|it| [it]).as_ref().map(|it| &it[..]),
            ),
            detect::given("files", folder.as_ref().map(|it| &it[..])),
        ])
    }

    /// Starts the harness's own servers behind a host, and returns the placeholders for `--command`.
    async fn behind(&self) -> Result<(Arc<AgentBehind>, Vec<(&'static str, String)>), CommandStop> {
        let mut behind = AgentBehind::default();
        let mut words = Vec::new();
        if let Some(address) = self.agent_model {
            let log = self.agent_log.as_deref();
            let hub = Arc::clone(&behind.hub);
            let (listener, stand) =
                agent_ports::open(address, &self.agent_flavor, hub, log).await?;
            tokio::spawn(http_server::serve(listener, Arc::clone(&stand)));
            words.push(("{model}", stand.base().to_owned()));
            behind.stand = Some(stand);
        }
        if let Some(address) = self.agent_acp {
            let (listener, command) = agent_ports::hear(address, self.agent_log.as_deref()).await?;
            tokio::spawn(below::listen(listener, Arc::clone(&behind.hub)));
            words.push(("{acp}", command));
        }
        behind.heard = !words.is_empty();
        Ok((Arc::new(behind), words))
    }

    /// Returns the provider that the user named.
    pub(super) fn named_provider(&self) -> Option<String> {
        match &self.provider {
            Some(ProviderChoice::Named(name)) => Some(name.clone()),
            _ => None,
        }
    }

    /// Checks the options for a command that uses one provider.
    ///
    /// # Errors
    /// Returns an error if the user asked for all providers.
    pub(super) fn one_provider(&self) -> Result<&RunAim, CommandStop> {
        match self.provider {
            Some(ProviderChoice::All) => Err(CommandStop::usage(
                "expected one provider, found `--provider all` (hint: `run` and `certify` play with all of them)",
            )),
            _ => Ok(self),
        }
    }

    /// Returns the component that plays the agent.
    pub(super) fn agent(&self) -> AgentMode {
        match (&self.agent_model, &self.agent_acp) {
            (Some(_), _) => AgentMode::Model,
            (_, Some(_)) => AgentMode::Acp,
            _ => AgentMode::Host,
        }
    }

    /// Returns the texts that no report and no frame of the host may contain.
    pub(super) fn secrets(&self) -> impl Iterator<Item = String> {
        let pushed = self.authenticate.iter().map(|(_, token)| token.clone());
        let headers = self.header.iter().flat_map(|(name, value)| secrets_of_header(name, value));
        let target = self.url.iter().flat_map(|url| secrets_of_target(url));
        let own = [protected::TOKEN.1, door::TOKENS[0], door::TOKENS[1]].map(str::to_owned);
        let own = own.into_iter().filter(|_| !self.is_outside());
        let given = self.token.iter().chain(&self.other_token).cloned();
        let canary = (!self.files.is_empty()).then(|| CANARY.to_owned());
        let given = given.chain(canary);
        pushed.chain(given).chain(headers).chain(target).chain(own)
    }
}
