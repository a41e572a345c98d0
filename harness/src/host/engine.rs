//! The reference host: its parts, its connections, and the path of a frame through it.
//!
//! The host decodes a frame. A request goes to its handler in `connection`, a `dispatchAction` to `dispatch`.
//! Every state change is an action. `publish` numbers an action, applies the reducers of `model`, stores the
//! action for replay and sends it to the subscribers. The agent plays its script in virtual time, in `play`.
//!
//! Interpretations where the specification is silent:
//! - A batch is rejected with -32600, since one frame holds one message.
//! - Before the handshake every request but `initialize`, `reconnect` and `ping` gets -32600.
//! - A second `initialize` on a connection gets -32600.
//! - Two connections may share a client id; a `reconnect` supersedes the older connections of the client id.
//! - A binary frame is not a message: the host answers with -32700 and a null id.
//! - Rejections go only to the dispatcher, carry the current `serverSeq` and are not replayed.
//! - The dispatcher of an accepted action receives it only if it is subscribed to the channel.
//! - A crash keeps sessions, chats, automations, known clients and `serverSeq`, as in a host that stores them
//!   on disk. The replay buffer is lost, turns end in an error, the processes of terminals have exited, MCP
//!   servers have stopped, and canvases have no address.
//! - The host echoes terminal input to every subscriber of the terminal.
//!
//! Knows: `wire`, `model`, `agent`. Never knows: clocks, sockets, rules, scenarios.
//!
//! Start at [`RefHost`]; [`assembly`](super::assembly) creates it.

use std::time::Duration;

use crate::wire::json::{Value, json};

use super::acp::link::AgentConnection;
use super::agent_runs::AgentRuns;
use super::questions::OpenQuestions;

use super::automation_catalogue::{AUTOMATIONS, AutomationSchedules, empty_catalogue};
use super::automation_runs::AutomationRuns;
use super::background_commands::BackgroundCommands;
use super::chain::{MessageChain, MessageRewriter};
use super::changeset_records::ChangesetRecords;
use super::channel_states::ChannelStates;
use super::chat_records::ChatRecords;
use super::client_records::ClientRecords;
use super::clock::{HostClock, HostIds};
use super::configuration::{self, PROVIDER};
use super::connections::{HostConnection, HostConnections};
use super::dispatched::DeferredDispatches;
use super::fault::memory::FaultMemory;
use super::fault_name::HostFault;
use super::files::host_files;
use super::folder_watches::FolderWatches;
use super::held_envelopes::HeldEnvelopes;
use super::injected::{ActiveHooks, HostEvent, HostHooks, MadeValue};
use super::log::HostLog;
use super::mcp_servers::HostServers;
use super::outbox::HostOutbox;
use super::published_plugins::PublishedPlugins;
use super::request::{CallReply, ErrorResponse, HostCall};
use super::session_records::SessionRecords;
use super::shell::ShellEvent;
use super::state_faults::{StateFault, StateFaults};
use super::terminal_records::HostTerminals;
use super::version_views::VersionViews;
use super::{HostOutput, SansIoHost, ScriptedEnvelope};
use crate::edge::VersionEdge;
use crate::files::tree::FileTree;
use crate::transcript::ConnId;
use crate::wire::channel::{ChannelKind, ROOT};
use crate::wire::frame::Frame;
use crate::wire::protocol::Protocol;
use crate::wire::version::Version;

/// The maximum size of a frame in bytes. A larger frame closes its connection with code 1009.
pub const MAX_FRAME_BYTES: usize = 4 << 20;
/// The maximum number of sessions.
pub const MAX_SESSIONS: usize = 5_000;
/// The maximum number of chats of a session.
pub const MAX_CHATS: usize = 200;
/// The maximum number of bytes that clients may store permanently in one chat or session.
pub const MAX_STORED_BYTES: usize = 16 << 20;

/// The default time that a client stays active in its sessions after it lost its last connection.
const GRACE: Duration = Duration::from_secs(30);

/// The default wall time at the start of the transcript: midnight of 2026-01-01.
const EPOCH_MS: u64 = 1_767_225_600_000;

/// The configuration of a reference host.
#[derive(Clone, Debug)]
pub struct HostConfig {
    /// The supported versions; each version also includes its caret range. An empty list means the newest
    /// versions.
    pub versions: Vec<Version>,
    /// The number of envelopes kept for replay.
    pub replay_capacity: usize,
    /// The seed of the identifiers that the host makes. Hosts with different seeds make different identifiers.
    pub seed: u64,
    /// The injected faults.
    pub faults: Vec<HostFault>,
    /// The wall time at the beginning of the transcript, in milliseconds since 1970.
    pub epoch_ms: u64,
    /// The time that a session takes to become ready after its default chat exists.
    pub ready_after: Duration,
    /// The time that a client stays active in its sessions after it lost its last connection.
    pub grace: Duration,
    /// The accepted tokens, the owner's first. Without tokens the host admits every client.
    pub tokens: Vec<String>,
    /// The working folder of an agent subprocess that speaks ACP; `None` for the host's own scripted agent.
    pub acp: Option<String>,
    /// Whether the host's own agent asks a model; it does so if a fault concerns these requests. Each request becomes a
    /// [`HostOutput::Asked`].
    pub asks_model: bool,
    /// Whether terminals of clients have real shells. The caller that moves the frames starts the shells.
    pub shells: bool,
}

impl Default for HostConfig {
    fn default() -> HostConfig {
        HostConfig {
            versions: newest_words(),
            replay_capacity: 2_000,
            seed: 0,
            faults: Vec::new(),
            epoch_ms: EPOCH_MS,
            ready_after: Duration::ZERO,
            grace: GRACE,
            tokens: Vec::new(),
            acp: None,
            asks_model: false,
            shells: false,
        }
    }
}

/// Returns the versions that need no view. All other versions have to be in the configuration, because the host needs a
/// view for each of them, which translates every action.
fn newest_words() -> Vec<Version> {
    let plain = |version: &&Version| VersionEdge::new(**version, PROVIDER).is_plain();
    Version::offered().iter().filter(plain).copied().collect()
}

/// The implementations of injected faults and legal variants.
pub(super) struct HostInjections {
    /// The rewriters of messages.
    pub(super) rewriters: Vec<Box<dyn MessageRewriter>>,
    /// The hooks in the behaviour of the host.
    pub(super) hooks: Vec<&'static dyn HostHooks>,
    /// The changes to states.
    pub(super) state_faults: Vec<&'static dyn StateFault>,
}

/// The reference host.
#[derive(Debug)]
pub struct RefHost {
    /// The rewriters for injected faults in messages.
    chain: MessageChain,
    /// The hooks of injected faults and legal variants in behaviour.
    pub(super) injected: ActiveHooks,
    /// The injected faults in states.
    pub(super) state_faults: StateFaults,
    /// The memory of injected faults.
    pub(super) memory: FaultMemory,
    /// The configuration, with the versions that the host supports from the newest to the oldest.
    pub(super) config: HostConfig,
    /// The newest version that the host supports. The host stores states with the names of this version.
    pub(super) protocol: &'static Protocol,
    /// The states as clients of older versions see them, one view for each older version.
    pub(super) views: VersionViews,
    pub(super) clock: HostClock,
    pub(super) ids: HostIds,
    pub(super) log: HostLog,
    pub(super) outbox: HostOutbox,
    pub(super) connections: HostConnections,
    pub(super) clients: ClientRecords,
    pub(super) channels: ChannelStates,
    pub(super) sessions: SessionRecords,
    pub(super) chats: ChatRecords,
    pub(super) terminals: HostTerminals,
    pub(super) files: FileTree,
    pub(super) watches: FolderWatches,
    pub(super) background: BackgroundCommands,
    pub(super) automation_runs: AutomationRuns,
    pub(super) schedules: AutomationSchedules,
    pub(super) plugins: PublishedPlugins,
    pub(super) mcp: HostServers,
    pub(super) questions: OpenQuestions,
    pub(super) deferred: DeferredDispatches,
    pub(super) held: HeldEnvelopes,
    pub(super) changesets: ChangesetRecords,
    pub(super) runs: AgentRuns,
    /// The connection to the agent subprocess; `None` for the host's own scripted agent.
    pub(super) acp: Option<AgentConnection>,
    /// Whether any client has ever subscribed to telemetry.
    pub(super) telemetered: bool,
    /// The members to add to the next envelope, for a scenario about a client.
    pub(super) scripted: Value,
    /// The requirement that the last rejected action breaks; empty if no such requirement is known.
    pub(super) refused_by: String,
}

impl RefHost {
    /// Creates a host without sessions or connections, with implementations of faults and legal variants.
    pub(super) fn with_injections(mut config: HostConfig, injections: HostInjections) -> RefHost {
        config.versions.retain(|version| Version::played().contains(version));
        if config.versions.is_empty() {
            config.versions = newest_words();
        }
        config.versions.sort_unstable_by(|a, b| b.cmp(a));
        let tables = config.versions.iter().copied().filter_map(Protocol::of);
        let plain = |it: &&Protocol| VersionEdge::new(it.version(), PROVIDER).is_plain();
        let (newer, older): (Vec<&Protocol>, Vec<&Protocol>) = tables.partition(plain);
        let mut host = RefHost {
            chain: MessageChain::new(injections.rewriters, config.versions.clone()),
            injected: ActiveHooks::new(injections.hooks),
            state_faults: StateFaults::new(injections.state_faults),
            memory: FaultMemory::default(),
            protocol: newer.first().copied().unwrap_or_else(Protocol::newest),
            views: VersionViews::new(older),
            clock: HostClock::new(config.epoch_ms),
            ids: HostIds::new(config.seed),
            log: HostLog::new(config.replay_capacity),
            outbox: HostOutbox::default(),
            connections: HostConnections::default(),
            clients: ClientRecords::default(),
            channels: ChannelStates::default(),
            sessions: SessionRecords::default(),
            chats: ChatRecords::default(),
            terminals: HostTerminals::default(),
            files: host_files(),
            watches: FolderWatches::default(),
            background: BackgroundCommands::default(),
            automation_runs: AutomationRuns::default(),
            schedules: AutomationSchedules::default(),
            plugins: PublishedPlugins::default(),
            mcp: HostServers::default(),
            questions: OpenQuestions::default(),
            deferred: DeferredDispatches::default(),
            held: HeldEnvelopes::default(),
            changesets: ChangesetRecords::default(),
            runs: AgentRuns::default(),
            acp: config.acp.clone().map(AgentConnection::new),
            telemetered: false,
            scripted: Value::Null,
            refused_by: String::new(),
            config,
        };
        host.add_channel(ROOT, ChannelKind::Root, configuration::root_state());
        host.add_channel(AUTOMATIONS, ChannelKind::Automations, empty_catalogue());
        host.happened(&HostEvent::Made);
        host
    }

    pub(super) fn add_channel(&mut self, uri: &str, kind: ChannelKind, state: Value) {
        let state = self.made(&MadeValue::FirstState(kind), state);
        let now = self.clock.timestamp();
        self.views.show(uri, kind, &state, &now);
        self.channels.add(uri, kind, state, self.log.seq());
    }

    /// Returns the state of a channel; null if the channel does not exist.
    pub(super) fn state(&self, uri: &str) -> &Value {
        self.channels.state(uri)
    }

    /// Sends a message to one connection.
    pub(super) fn send(&mut self, conn: ConnId, message: Value) {
        self.send_frame(conn, Frame::json(&message));
    }

    pub(super) fn send_frame(&mut self, conn: ConnId, frame: Frame) {
        self.send_held(conn);
        self.connections.send(conn, frame, &mut self.outbox);
    }

    /// Closes a connection; does nothing if the connection is already closing.
    pub(super) fn close(&mut self, conn: ConnId, code: u16, reason: &str) {
        self.connections.close(conn, code, reason, &mut self.outbox);
    }

    /// Sends the response to a request.
    pub(super) fn respond(&mut self, conn: ConnId, id: Value, reply: CallReply) {
        self.respond_on(conn, id, reply, None);
    }

    /// Sends the response to a request. If the request came on a side channel, `channel` names this side
    /// channel.
    pub(super) fn respond_on(
        &mut self,
        conn: ConnId,
        id: Value,
        reply: CallReply,
        channel: Option<&str>,
    ) {
        let mut close = false;
        let mut message = match reply {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err(failure) => {
                close = failure.close;
                error_response(id, failure)
            }
        };
        if let Some(channel) = channel {
            message["channel"] = json!(channel);
        }
        self.send(conn, message);
        for (conn, frame) in self.outbox.take_late() {
            self.send_frame(conn, frame);
        }
        if close {
            self.close(conn, 1000, "no common protocol version");
        }
    }

    /// Notifies all subscribers of the root channel, without the hooks of [`RefHost::notify`].
    pub(super) fn notify_all(&mut self, method: &str, params: Value) {
        let to_root = |(conn, it): (ConnId, &HostConnection)| {
            (it.hears_root() && it.client().is_some()).then_some(conn)
        };
        let conns: Vec<ConnId> = self.connections.iter().filter_map(to_root).collect();
        conns.into_iter().for_each(|conn| self.inform(conn, method, &params));
    }

    /// Notifies one connection if the connection is subscribed to the root channel.
    pub(super) fn notify_one(&mut self, conn: ConnId, method: &str, mut params: Value) {
        if !self.sends_notice(method, &mut params) {
            return;
        }
        if self.connections.get(conn).is_some_and(|it| it.is_subscribed(ROOT)) {
            self.inform(conn, method, &params);
        }
    }

    /// Notifies the connections of a view that are subscribed to the root channel or receive broadcasts.
    pub(super) fn notify_view(&mut self, view: usize, method: &str, params: &Value) {
        let to_root = |(conn, it): (ConnId, &HostConnection)| {
            (it.hears_root() && it.view() == Some(view)).then_some(conn)
        };
        let conns: Vec<ConnId> = self.connections.iter().filter_map(to_root).collect();
        conns.into_iter().for_each(|conn| self.inform(conn, method, params));
    }

    fn inform(&mut self, conn: ConnId, method: &str, params: &Value) {
        if let Some((method, params)) = self.shaped(conn, method, params) {
            self.send(conn, json!({"jsonrpc": "2.0", "method": method, "params": params}));
        }
    }

    /// Checks that the connection of a request has reached the stage at which the host serves the request.
    pub(super) fn admits(&self, call: &HostCall, early: bool) -> Result<(), ErrorResponse> {
        let shaken = self.connections.client(call.conn).is_some();
        if shaken || early || !self.keeps("lifecycle.preinit.request-refused") {
            return Ok(());
        }
        Err(ErrorResponse::invalid_request("the handshake comes first (hint: send `initialize`)"))
    }
}

fn error_response(id: Value, failure: ErrorResponse) -> Value {
    let mut error = json!({"code": failure.code, "message": failure.message});
    if !failure.data.is_null() {
        error["data"] = failure.data;
    }
    json!({"jsonrpc": "2.0", "id": id, "error": error})
}

impl SansIoHost for RefHost {
    fn admit(
        &mut self,
        now: Duration,
        conn: ConnId,
        headers: &[(String, String)],
    ) -> Result<(), u16> {
        self.pass(now);
        match self.chain.is_empty() {
            true => self.let_in(conn, headers),
            false => {
                let headers = self.chain.admission(headers);
                self.let_in(conn, &headers)
            }
        }
    }

    fn handle_open(&mut self, now: Duration, conn: ConnId) {
        self.pass(now);
        self.chain.opened(conn);
        self.connections.open(conn, &mut self.outbox);
    }

    fn handle_frame(&mut self, now: Duration, conn: ConnId, frame: &Frame) {
        self.pass(now);
        if !self.connections.is_open(conn) {
            return;
        }
        if self.chain.is_empty() {
            self.take_frame(conn, frame);
        } else if let Some(frame) = self.chain.incoming(conn, frame) {
            self.take_frame(conn, &frame);
        }
        self.take_deferred();
    }

    fn handle_held(&mut self, now: Duration, conn: ConnId, held: bool) {
        self.pass(now);
        self.chain.held(conn, held);
    }

    fn handle_close(&mut self, now: Duration, conn: ConnId) {
        self.pass(now);
        self.chain.closed(conn);
        self.held.take(conn);
        if let Some(connection) = self.connections.remove(conn) {
            self.idle_watches();
            self.left(connection.client());
            self.happened(&HostEvent::Closed(connection.client()));
        }
    }

    fn handle_timeout(&mut self, now: Duration) {
        self.pass(now);
        self.happened(&HostEvent::Timer);
        self.run_scheduled();
        self.begin_errands();
        self.ready_sessions();
        self.ready_servers();
        self.remove_gone_clients();
        self.release_watches();
        self.end_computing();
        self.expire_tokens();
        self.end_running();
        self.expire_questions();
        self.play();
        self.take_deferred();
        self.send_due();
    }

    fn next_timeout(&self) -> Option<Duration> {
        let times = [
            self.runs.next_due(),
            self.next_scheduled(),
            self.automation_runs.next_due(),
            self.sessions.next_due(),
            self.mcp.next_due(),
            self.next_removal(),
            self.next_release(),
            self.changesets.next_due(),
            self.background.next_due(),
            self.held.next_due(),
            self.connections.next_expiry(),
            self.questions.next_timeout(),
        ];
        times.into_iter().flatten().chain(self.chain.next_due()).min()
    }

    fn handle_agent(&mut self, now: Duration, line: Option<&str>) {
        self.pass(now);
        match line {
            Some(line) => self.hear_agent(line),
            None => self.lose_agent(),
        }
        self.take_deferred();
    }

    fn handle_shell(&mut self, now: Duration, terminal: &str, said: ShellEvent) {
        self.pass(now);
        self.hear_shell(terminal, said);
    }

    fn publish(&mut self, now: Duration, scripted: &ScriptedEnvelope) {
        self.pass(now);
        self.publish_scripted(scripted);
    }

    fn poll_output(&mut self) -> Option<HostOutput> {
        let output = self.next_output()?;
        if let HostOutput::Send { conn, .. } = &output {
            self.connections.sent(*conn);
        }
        Some(output)
    }

    fn restart(&mut self, now: Duration) {
        self.pass(now);
        self.chain.restarted();
        self.connections.clear();
        self.idle_watches();
        self.held.clear();
        self.outbox.clear();
        self.runs.stop_all();
        self.acp = self.acp.take().map(AgentConnection::anew);
        self.fail_turns();
        self.lose_running();
        self.end_terminals();
        self.end_servers();
        self.end_canvases();
        self.clients.all_left(now);
        self.log.forget();
        self.happened(&HostEvent::Restarted);
    }
}

impl RefHost {
    fn pass(&mut self, now: Duration) {
        self.clock.advance(now);
        self.chain.pass(now);
    }

    fn take_frame(&mut self, conn: ConnId, frame: &Frame) {
        if self.memory.stalled {
            return;
        }
        if frame.len() > MAX_FRAME_BYTES {
            self.close(conn, 1009, "the frame is too large");
            return;
        }
        self.read(conn, frame);
    }

    /// Returns the next output, after the rewriters for injected faults in messages.
    fn next_output(&mut self) -> Option<HostOutput> {
        if self.chain.is_empty() {
            return self.outbox.pop();
        }
        while let Some(output) = self.outbox.pop() {
            self.chain.outgoing(output);
        }
        self.chain.poll()
    }
}
