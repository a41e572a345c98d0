//! Plays a case against a host engine in memory and in virtual time: no sockets, no waiting, and reproducible
//! results.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::agent::acp::{self, AUTH_METHOD, AcpAgent, AgentOutput as Said};
use crate::agent::mcp::TOOL;
use crate::agent::mode::AgentMode;
use crate::host::door;
use crate::host::engine::{HostConfig, RefHost};
use crate::host::files;
use crate::host::protected;
use crate::host::{HostOutput, SansIoHost};
use crate::scenario::capability::{HARNESS_SERVER, WORKSPACE, server_config};
use crate::scenario::parse::ParsedScenario;
use crate::transcript::{BelowEvent, ConnId, HandshakeLines, SeenFrame};
use crate::wire::frame::Frame;
use crate::wire::json::Value;
use crate::wire::protocol::Protocol;
use crate::wire::version::{PUBLISHED, Version};

use super::act::padded;
use super::detect::{self, DetectedFeature, DetectionResult, FeatureDetection, LookOptions};
use super::output::DriverOutput;
use super::play::{ScenarioPlay, ScenarioVerdict};
use super::side::AgentSide;

/// The maximum number of rounds in which a scenario is played. The limit stops a host engine that never becomes idle.
const MAX_ROUNDS: u32 = 1_000_000;

/// The maximum number of rounds of a first look. It consists of a handshake and a few requests, whose answers may be
/// delayed.
const MAX_LOOKS: u32 = 64;

/// The maximum size in bytes of a frame that the simulation makes for a step with `flood`. No in-memory host accepts a
/// larger frame.
const MAX_FLOOD: u64 = 8 << 20;

/// The working directory of in-memory agents, whose tools only report what they would do.
const NOWHERE: &str = "/";

/// The evidence, as shown in reports, for the folders that the reference host offers.
const IN_MEMORY: &str = "the reference host keeps it in memory";

/// The base URL of the HTTP MCP servers. In memory, no agent connects to this URL.
const NOBODYS_SERVER: &str = "http://127.0.0.1:9";

/// The working directory of the reference agent in memory.
const WORK: &str = "/work";

/// Returns the settings of a reference host for one scenario, including the settings that the scenario
/// requests.
pub fn settings(scenario: &ParsedScenario, seed: u64, epoch: Duration) -> HostConfig {
    let mut config = HostConfig {
        seed,
        epoch_ms: u64::try_from(epoch.as_millis()).unwrap_or_default(),
        tokens: door::TOKENS.iter().map(|token| (*token).to_owned()).collect(),
        ..HostConfig::default()
    };
    for (name, value) in &scenario.host {
        match name.as_str() {
            "replayCapacity" => {
                config.replay_capacity = usize::try_from(*value).unwrap_or(usize::MAX);
            }
            "readyAfterMs" => config.ready_after = Duration::from_millis(*value),
            "graceSeconds" => config.grace = Duration::from_secs(*value),
            _ => {}
        }
    }
    config
}

/// Returns the settings of a reference host with an agent in this mode.
pub fn settings_with(
    scenario: &ParsedScenario,
    seed: u64,
    epoch: Duration,
    agent: AgentMode,
) -> HostConfig {
    let acp = (agent == AgentMode::Acp).then(|| NOWHERE.to_owned());
    HostConfig { acp, ..settings(scenario, seed, epoch) }
}

/// Takes a first look at a host engine.
pub fn look(host: &mut dyn SansIoHost, options: LookOptions<'_>) -> DetectionResult {
    let mut found = looked(host, ConnId(0), FeatureDetection::new(options)).found();
    found.versions = looked(host, ConnId(1), FeatureDetection::of_versions()).supported();
    found
}

/// Returns the capabilities that a first look finds at a reference host of this version. The result is cached.
pub fn detected(version: Version) -> &'static [DetectedFeature] {
    static FOUND: OnceLock<Vec<(Version, OnceLock<Vec<DetectedFeature>>)>> = OnceLock::new();
    let version = Protocol::of(version).map_or(version, Protocol::version);
    let each = || PUBLISHED.iter().map(|version| (*version, OnceLock::new())).collect();
    let row = FOUND.get_or_init(each).iter().find(|(known, _)| *known == version);
    let look = || {
        let mut host = RefHost::new(speaking(HostConfig::default(), version));
        look(&mut host, LookOptions::offering(&[version])).detected.unwrap_or_default()
    };
    row.map_or(&[], |(_, found)| found.get_or_init(look))
}

/// Returns the facts about a reference host that a scenario can use, by name.
pub fn facts(scenario: &ParsedScenario, version: Version) -> Vec<(String, String)> {
    if scenario.needs.is_empty() {
        return Vec::new();
    }
    let mut detected = detected(version).to_vec();
    detected.extend(given());
    detect::facts(&detected, Some(protected::TOKEN.1))
}

/// Returns the capabilities that the options of a run against reference hosts provide.
pub fn given() -> Vec<DetectedFeature> {
    let (key, value) = door::GUARDED;
    Vec::from([
        detect::given("credentials", Some(&[])),
        detect::given("otherCredentials", Some(&[])),
        detect::given("guardedSetting", Some(&[key, value])),
        detect::given(HARNESS_SERVER, Some(&[&server_config("ahp-harness")])),
        detect::given("files", Some(&[files::ODD_URI])),
        detect::folder(WORKSPACE, files::AREA_URI, IN_MEMORY),
        detect::folder("readableFolder", files::SHOWN_URI, IN_MEMORY),
        detect::folder("grantedFolder", files::ASKED_URI, IN_MEMORY),
        detect::denied_file(&format!("{}/canary.txt", files::OUTSIDE_URI), IN_MEMORY),
        detect::folder("deniedFolder", files::OUTSIDE_URI, IN_MEMORY),
    ])
}

/// Returns the facts about the in-memory reference agent; empty if the version belongs to AHP.
pub fn side(version: Option<Version>) -> AgentSide {
    if version != Some(Version::ACP_1) {
        return AgentSide::default();
    }
    AgentSide {
        work: WORK.to_owned(),
        server: vec![TOOL.to_owned()],
        server_url: Some(NOBODYS_SERVER.to_owned()),
        auth: Some(AUTH_METHOD.to_owned()),
        ..AgentSide::default()
    }
}

fn looked(host: &mut dyn SansIoHost, conn: ConnId, mut look: FeatureDetection) -> FeatureDetection {
    let mut now = Duration::ZERO;
    host.handle_open(now, conn);
    for _ in 0..MAX_LOOKS {
        while let Some(frame) = look.poll_output() {
            host.handle_frame(now, conn, &frame);
        }
        while let Some(output) = host.poll_output() {
            if let HostOutput::Send { frame, .. } = output {
                look.handle_frame(&frame);
            }
        }
        if look.is_over() {
            break;
        }
        // Some hosts delay their answers, so the time advances to the host's next timer.
        now = host.next_timeout().unwrap_or(now).max(now);
        host.handle_timeout(now);
    }
    host.handle_close(now, conn);
    look
}

/// Returns the configuration with this version added to the supported ones.
pub fn speaking(mut config: HostConfig, version: Version) -> HostConfig {
    let base = Protocol::of(version).map(Protocol::version);
    if let Some(base) = base.filter(|base| !config.versions.contains(base)) {
        config.versions.push(base);
    }
    config
}

/// Plays until the case is over. A host that controls its agent over ACP gets a reference agent.
pub fn play(mut play: ScenarioPlay, host: &mut dyn SansIoHost) -> ScenarioVerdict {
    let mut agent = AcpAgent::new(acp::AgentConfig::default());
    let mut now = Duration::ZERO;
    play.begin(now);
    run(&mut play, host, &mut agent, &mut now, Duration::MAX);
    play.finish()
}

/// Plays until there is nothing left to do, or until no further event is due before `until`. When the function returns,
/// all connections count as not paused, and outputs that were held back for paused connections are dropped.
pub fn run(
    play: &mut ScenarioPlay,
    host: &mut dyn SansIoHost,
    agent: &mut AcpAgent,
    now: &mut Duration,
    until: Duration,
) {
    let wires = &mut SimulatedWires::default();
    for _ in 0..MAX_ROUNDS {
        let moved = to_host(play, host, agent, wires, *now)
            | to_case(play, host, agent, wires, *now)
            | from_agent(play, host, agent, *now);
        if moved {
            continue;
        }
        if play.is_over() {
            break;
        }
        let due = [play.next_timeout(), host.next_timeout(), agent.next_timeout()];
        let Some(next) = due.into_iter().flatten().min().filter(|next| *next <= until) else {
            break;
        };
        pass(play, host, agent, wires, now, next);
    }
}

/// Advances the virtual time until an event of the scenario, the host or the agent is due.
fn pass(
    play: &mut ScenarioPlay,
    host: &mut dyn SansIoHost,
    agent: &mut AcpAgent,
    wires: &mut SimulatedWires,
    now: &mut Duration,
    next: Duration,
) {
    *now = next.max(*now);
    let now = *now;
    if agent.next_timeout().is_some_and(|at| at <= now) {
        agent.handle_timeout(now);
    }
    while from_agent(play, host, agent, now) {}
    if host.next_timeout().is_some_and(|at| at <= now) {
        host.handle_timeout(now);
    }
    // Outputs that the host sends at the time `now` arrive before a wait of the scenario times out at the same time.
    while to_case(play, host, agent, wires, now) {
        to_host(play, host, agent, wires, now);
    }
    play.timeout(now);
}

/// Handles one output of the agent. Returns false if there is none. The tools of the agent only report what they would
/// do, because there are no files in memory.
fn from_agent(
    play: &mut ScenarioPlay,
    host: &mut dyn SansIoHost,
    agent: &mut AcpAgent,
    now: Duration,
) -> bool {
    match agent.poll_output() {
        Some(Said::Line(line)) => {
            play.below(now, BelowEvent::FromAgent.peer(), BelowEvent::FromAgent, seen(&line));
            host.handle_agent(now, Some(&line));
        }
        Some(Said::Run { token, effect }) => agent.handle_ran(now, token, effect.pretended()),
        Some(Said::Stop(_)) => {}
        // The agent has exited, so the next request goes to a new agent.
        Some(Said::Exit) => {
            *agent = AcpAgent::new(acp::AgentConfig::default());
            host.handle_agent(now, None);
        }
        None => return false,
    }
    true
}

fn seen(line: &str) -> Arc<SeenFrame> {
    Arc::new(SeenFrame::new(Frame::Text(line.to_owned())))
}

fn record(value: Value) -> Arc<SeenFrame> {
    Arc::new(SeenFrame::new(Frame::json(&value)))
}

/// The connections in the simulation that are paused, and the host's outputs that wait until they are resumed.
#[derive(Default)]
struct SimulatedWires {
    held: HashSet<ConnId>,
    waiting: VecDeque<HostOutput>,
}

impl SimulatedWires {
    /// Returns the next output whose connection is not paused.
    fn next(&mut self, host: &mut dyn SansIoHost) -> Option<HostOutput> {
        let passes =
            |output: &HostOutput| conn_of(output).is_none_or(|it| !self.held.contains(&it));
        if let Some(first) = self.waiting.iter().position(passes) {
            return self.waiting.remove(first);
        }
        while let Some(output) = host.poll_output() {
            if conn_of(&output).is_none_or(|it| !self.held.contains(&it)) {
                return Some(output);
            }
            self.waiting.push_back(output);
        }
        None
    }

    /// Drops the outputs for a connection that has ended.
    fn cut(&mut self, conn: ConnId) {
        self.held.remove(&conn);
        self.waiting.retain(|output| conn_of(output) != Some(conn));
    }
}

fn conn_of(output: &HostOutput) -> Option<ConnId> {
    match output {
        HostOutput::Send { conn, .. } | HostOutput::Close { conn, .. } => Some(*conn),
        HostOutput::ToAgent(_)
        | HostOutput::Called(_)
        | HostOutput::Asked(_)
        | HostOutput::Shell(..) => None,
    }
}

fn to_host(
    play: &mut ScenarioPlay,
    host: &mut dyn SansIoHost,
    agent: &mut AcpAgent,
    wires: &mut SimulatedWires,
    now: Duration,
) -> bool {
    let mut moved = false;
    while let Some(output) = play.poll_output(now) {
        moved = true;
        match output {
            DriverOutput::Open { conn, guise, .. } => {
                match host.admit(now, conn, &door::headers(&guise)) {
                    Ok(()) => {
                        host.handle_open(now, conn);
                        play.opened(now, conn);
                    }
                    Err(status) => {
                        let response = vec![door::refusal(status)];
                        play.refused(
                            now,
                            conn,
                            HandshakeLines { response, ..HandshakeLines::default() },
                        );
                    }
                }
            }
            DriverOutput::Send { conn, seen } => host.handle_frame(now, conn, &seen.frame),
            DriverOutput::Flood { conn, bytes } => {
                let bytes = bytes.min(MAX_FLOOD);
                host.handle_frame(now, conn, &padded(bytes));
            }
            DriverOutput::Hold { conn, paused: true } => {
                wires.held.insert(conn);
                host.handle_held(now, conn, true);
            }
            DriverOutput::Hold { conn, paused: false } => {
                wires.held.remove(&conn);
                host.handle_held(now, conn, false);
            }
            DriverOutput::Close { conn, .. } => {
                wires.cut(conn);
                host.handle_close(now, conn);
            }
            DriverOutput::Restart { .. } => {
                *wires = SimulatedWires::default();
                host.restart(now);
                play.restarted(now, Ok(()));
            }
            DriverOutput::Release(hold) => {
                agent.release(now, "", &hold);
                host.release(now, &hold);
            }
            // Scenarios about clients are played by `client_trial`.
            DriverOutput::ToHost { .. } | DriverOutput::Publish(_) | DriverOutput::Drive(_) => {}
            DriverOutput::Errand(errand) => {
                for told in host.handle_errand(now, &errand) {
                    play.below(now, BelowEvent::Local.peer(), BelowEvent::Local, record(told));
                }
            }
        }
    }
    moved
}

/// Delivers one output of the host to the case. The case reacts before the next output is delivered, as with sockets.
fn to_case(
    play: &mut ScenarioPlay,
    host: &mut dyn SansIoHost,
    agent: &mut AcpAgent,
    wires: &mut SimulatedWires,
    now: Duration,
) -> bool {
    let Some(output) = wires.next(host) else {
        return false;
    };
    match output {
        HostOutput::Send { conn, frame } => play.frame(now, conn, frame),
        HostOutput::Close { conn, code, reason } => {
            play.closed(now, conn, Some(code), &reason);
            host.handle_close(now, conn);
        }
        HostOutput::Called(called) => {
            play.below(now, BelowEvent::Tool.peer(), BelowEvent::Tool, record(called));
        }
        HostOutput::Asked(asked) => {
            play.below(now, BelowEvent::Model.peer(), BelowEvent::Model, record(asked));
        }
        HostOutput::ToAgent(line) => {
            play.below(now, BelowEvent::ToAgent.peer(), BelowEvent::ToAgent, seen(&line));
            agent.handle_line(now, &line);
        }
        // No in-memory host is configured to start a shell.
        HostOutput::Shell(..) => {}
    }
    true
}
