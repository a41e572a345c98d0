//! An ACP agent under test: its profile, and the folder and process that each scenario gets.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::net::TcpListener;

use crate::agent::mode::AgentMode;
use crate::run::agent_facts::AgentFacts;
use crate::run::detect::{DetectedFeature, DetectionResult};
use crate::run::permission_look;
use crate::run::probe::{ProbeError, probe_agent};
use crate::run::profile::AgentProfile;
use crate::run::side::{AgentSide, AskingSetup};
use crate::scenario::capability::ABILITIES;
use crate::transport::link::LinkEndpoint;
use crate::transport::mcp_server::McpHttpServer;
use crate::transport::process::ProcessStart;
use crate::transport::scratch::ScratchFolder;
use crate::transport::{below, http_server, websocket};

use super::agent_ports;
use super::exit::CommandStop;
use super::files;
use super::place::{AgentBehind, AgentSeat, PlayPlace};

/// An ACP agent in a separate process.
pub(super) struct AgentOutside {
    /// The profile that the user wrote.
    pub(super) profile: AgentProfile,
    /// The harness's own servers that the agent uses.
    pub(super) behind: Arc<AgentBehind>,
    model: String,
    /// The folder that contains the file of the profile.
    folder: String,
    /// The address of this process, to which the harness's MCP server reports the calls of its tool.
    tool: SocketAddr,
    /// The harness's MCP server for agents that connect by HTTP.
    servers: Arc<McpHttpServer>,
    /// The settings with which the agent asks for permission; the first look finds them.
    asking: Mutex<Option<AskingSetup>>,
}

/// The result of looking for a way to make the agent ask for permission.
#[derive(Default)]
struct PermissionTrial {
    found: Option<AskingSetup>,
    /// The settings that were tried but did not make the agent ask for permission.
    tried: Vec<AskingSetup>,
}

/// Describes whether the agent asks for permission, and how the first look determined this.
fn asking_row(trial: &PermissionTrial, facts: &AgentFacts) -> DetectedFeature {
    let shown = |way: &AskingSetup| match (&way.mode, &way.option) {
        (Some(mode), _) => format!("`{}` in the mode `{mode}`", way.offers),
        (None, Some((id, value))) => {
            format!("`{}` with the option `{id}` set to `{value}`", way.offers)
        }
        (None, None) => format!("`{}`", way.offers),
    };
    match &trial.found {
        Some(way) => {
            let way = shown(way);
            DetectedFeature::new(
                "ask",
                true,
                format!("it asked for permission before a command when the client offers {way}"),
            )
        }
        None => {
            let tried: Vec<String> = trial.tried.iter().map(shown).collect();
            let options = facts.options();
            let options = if options.is_empty() { "none".to_owned() } else { options.join("; ") };
            let how = format!(
                "it did not ask for permission before a command when the client offers {} (hint: \
                 another `mode` or other `options` in its profile may change that; the options of \
                 its sessions: {options})",
                tried.join(", ")
            );
            DetectedFeature::new("ask", false, how)
        }
    }
}

/// The time limit of an agent's first answer, as a multiple of the limit of a wait.
const STARTING: u32 = 3;
/// The loopback address with port 0, for which the system chooses a free port.
const FREE: ([u8; 4], u16) = ([127, 0, 0, 1], 0);

impl AgentOutside {
    /// Reads a profile and starts the servers that the agent uses.
    ///
    /// # Errors
    /// Returns an error if the profile has mistakes, or if no port is free.
    pub(super) async fn open(path: &Path, log: Option<&Path>) -> Result<AgentOutside, CommandStop> {
        let name = path.display().to_string();
        let text = files::text(path)?;
        let profile = AgentProfile::parse(&name, &text).map_err(|mistakes| {
            CommandStop::usage(format!("the profile has mistakes:\n{}", mistakes.join("\n")))
        })?;
        let folder = path.canonicalize().ok();
        AgentOutside::of(profile, folder.as_deref().and_then(Path::parent), log).await
    }

    /// Starts the servers that the agent of this profile uses; `folder` is the folder of the profile.
    ///
    /// # Errors
    /// Returns an error if no port is free.
    pub(super) async fn of(
        profile: AgentProfile,
        folder: Option<&Path>,
        log: Option<&Path>,
    ) -> Result<AgentOutside, CommandStop> {
        let fault =
            |error: std::io::Error| CommandStop::fault(format!("no loopback port: {error}"));
        let mut behind = AgentBehind { heard: true, ..AgentBehind::default() };
        let listener = TcpListener::bind(SocketAddr::from(FREE)).await.map_err(fault)?;
        let tool = listener.local_addr().map_err(fault)?;
        tokio::spawn(below::listen(listener, Arc::clone(&behind.hub)));
        let listener = TcpListener::bind(SocketAddr::from(FREE)).await.map_err(fault)?;
        let address = listener.local_addr().map_err(fault)?;
        let servers = McpHttpServer::new(address, Arc::clone(&behind.hub));
        tokio::spawn(http_server::serve(listener, Arc::clone(&servers)));
        let mut model = String::new();
        if profile.stimulus == AgentMode::Model {
            let hub = Arc::clone(&behind.hub);
            let (listener, stand) =
                agent_ports::open(SocketAddr::from(FREE), "plain", hub, log).await?;
            tokio::spawn(http_server::serve(listener, Arc::clone(&stand)));
            stand.base().clone_into(&mut model);
            behind.stand = Some(stand);
        }
        let folder = folder.unwrap_or(Path::new(".")).display().to_string();
        let asking = Mutex::default();
        Ok(AgentOutside { profile, behind: Arc::new(behind), model, folder, tool, servers, asking })
    }

    /// Returns the name of the agent in reports.
    pub(super) fn shown(&self) -> String {
        self.profile.agent.clone()
    }

    /// Takes a first look at the agent. The result contains the version that the agent supports, its name, what it
    /// declares, and the settings with which it asks for permission.
    ///
    /// # Errors
    /// Returns why nothing can be played.
    pub(super) async fn look(&self, limit: Duration) -> Result<DetectionResult, ProbeError> {
        let shown = self.shown();
        let seat = self.seat(&[], "a first look").map_err(|error| {
            let reason = format!("no folder could be made: {error}");
            ProbeError::Unreachable { url: shown.clone(), reason }
        })?;
        // The agent may have to be unpacked or compiled before its first answer.
        let limit = limit * STARTING;
        let (found, facts) = probe_agent(&seat.endpoint, &shown, &seat.side, limit).await?;
        let mut detected = self.detected();
        if found.version.is_some() && self.profile.offers.contains(&"ask") {
            let tried = self.look_for_permission(&facts, limit).await;
            let row = detected.iter_mut().find(|row| row.capability == "ask");
            row.into_iter().for_each(|row| *row = asking_row(&tried, &facts));
            if let Ok(mut asking) = self.asking.lock() {
                asking.clone_from(&tried.found);
            }
        }
        detected.extend(facts.rows());
        Ok(DetectionResult { detected: Some(detected), ..found })
    }

    /// Tries which capabilities of the client, and which session mode or option, make the agent ask for
    /// permission.
    async fn look_for_permission(&self, facts: &AgentFacts, limit: Duration) -> PermissionTrial {
        let mut trial = PermissionTrial::default();
        for way in permission_look::ways(facts) {
            let Ok(seat) = self.seat(&[], "a look for permission") else { return trial };
            let prompt = self.profile.prompt.as_deref();
            let prompt = prompt.filter(|_| self.profile.stimulus == AgentMode::Fixed);
            let (endpoint, side) = (&seat.endpoint, &seat.side);
            let asks = permission_look::asks_for_permission(endpoint, side, &way, prompt, limit);
            if asks.await == Ok(true) {
                trial.found = Some(way);
                return trial;
            }
            trial.tried.push(way);
        }
        trial
    }

    /// Returns the features that the profile declares for the agent.
    pub(super) fn detected(&self) -> Vec<DetectedFeature> {
        let row = |name: &&str| {
            let offered = match *name {
                "auth" => self.profile.auth.is_some(),
                name => self.profile.offers.contains(&name),
            };
            let how = if offered { "named by its profile" } else { "its profile does not list it" };
            DetectedFeature {
                capability: (*name).to_owned(),
                offered,
                how: how.into(),
                facts: Vec::new(),
            }
        };
        ABILITIES.iter().map(row).collect()
    }

    /// Makes a fresh folder for a scenario, and describes an agent process in this folder. The process is not
    /// started yet.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be made.
    pub(super) fn seat(&self, needs: &[String], case: &str) -> std::io::Result<AgentSeat> {
        let scratch = Arc::new(ScratchFolder::new(Arc::clone(&self.behind.hub), case)?);
        let (home, work) = (scratch.home(), scratch.work());
        let (home, work) = (home.display().to_string(), work.display().to_string());
        let fill = |text: &str| {
            let text = text.replace("{model}", &self.model).replace("{home}", &home);
            text.replace("{work}", &work).replace("{profile}", &self.folder)
        };
        for (name, text) in &self.profile.home {
            scratch.put(name, &fill(text))?;
        }
        let endpoint = match &self.profile.url {
            Some(url) => LinkEndpoint::Socket(websocket::WebSocketEndpoint {
                url: url.clone(),
                ..websocket::WebSocketEndpoint::default()
            }),
            None => {
                let mut env = homes(&home);
                let own = self.profile.env.iter();
                env.extend(own.map(|(name, value)| (name.clone(), fill(value))));
                LinkEndpoint::Process(Box::new(ProcessStart {
                    command: self.profile.command.iter().map(|word| fill(word)).collect(),
                    folder: scratch.work(),
                    env,
                    hub: Arc::clone(&self.behind.hub),
                    case: case.to_owned(),
                }))
            }
        };
        let side = AgentSide {
            work,
            server: self.server(needs, case)?,
            server_url: Some(self.servers.url(case)),
            auth: self.profile.auth.clone(),
            mode: self.profile.mode.clone(),
            options: self.profile.options.clone(),
            prompt: self.profile.prompt.clone(),
            asking: self.asking.lock().ok().and_then(|asking| asking.clone()),
        };
        Ok(AgentSeat { endpoint, scratch, side })
    }

    /// Returns the place in which a scenario is played.
    ///
    /// # Errors
    /// Returns the errors of [`seat`](Self::seat).
    pub(super) fn place(&self, needs: &[String], case: String) -> std::io::Result<PlayPlace> {
        let seat = self.seat(needs, &case)?;
        Ok(PlayPlace::Agent { seat: Box::new(seat), behind: Arc::clone(&self.behind), case })
    }

    /// Returns the command of the harness's MCP server if the scenario uses it. Other scenarios run without the
    /// server, because an agent waits for its servers before it creates a session.
    fn server(&self, needs: &[String], case: &str) -> std::io::Result<Vec<String>> {
        if !needs.iter().any(|need| need == "mcp") {
            return Ok(Vec::new());
        }
        let own = std::env::current_exe()?.display().to_string();
        let tool = self.tool.to_string();
        let words = [own.as_str(), "agent", "mcp", "--run", &tool, "--case", case];
        Ok(words.map(str::to_owned).to_vec())
    }
}

/// Returns environment variables that make programs look for the user's files in the fresh home folder.
fn homes(home: &str) -> Vec<(String, String)> {
    let below = |name: &str, folder: &str| (name.to_owned(), format!("{home}/{folder}"));
    vec![
        ("HOME".to_owned(), home.to_owned()),
        below("XDG_CONFIG_HOME", ".config"),
        below("XDG_DATA_HOME", ".local/share"),
        below("XDG_STATE_HOME", ".local/state"),
        below("XDG_CACHE_HOME", ".cache"),
    ]
}
