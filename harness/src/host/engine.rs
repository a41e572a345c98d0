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
//! Start at [`RefHost::new`].

use std::collections::{HashSet, VecDeque};
use std::time::Duration;

use litemap::LiteMap;

use crate::wire::json::{Value, json};

use super::acp::AgentConnection;
use super::agent::HostAgentRun;
use super::asking::OpenQuestions;
use super::automations::{self, AUTOMATIONS, AutomationSchedules};
use super::background::BackgroundCommands;
use super::chain::MessageChain;
use super::changesets::HostChangeset;
use super::configuration::{self, PROVIDER};
use super::connection::{CallReply, ErrorResponse, HostCall, HostConnection};
use super::customizations::PublishedPlugins;
use super::dispatch::DeferredDispatches;
use super::door::EndpointVisitor;
use super::errands::AutomationRuns;
use super::fault::{self, FaultMemory, HostFault};
use super::files::host_files;
use super::injected::{ActiveHooks, HostEvent, HostHooks, MadeValue, StateFaults};
use super::log::HostLog;
use super::mcp::HostServers;
use super::merge::HeldEnvelopes;
use super::resources::ResourceRight;
use super::sessions::{HostChat, HostSession};
use super::shell::ShellEvent;
use super::terminals::HostTerminal;
use super::view::VersionView;
use super::watches::FolderWatches;
use super::{HostOutput, SansIoHost, ScriptedEnvelope, timestamp};
use crate::edge::VersionEdge;
use crate::files::tree::FileTree;
use crate::transcript::ConnId;
use crate::wire::channel::{ChannelKind, ROOT};
use crate::wire::feature::ProtocolFeature;
use crate::wire::frame::Frame;
use crate::wire::protocol::Protocol;
use crate::wire::version::Version;

/// The maximum number of connections. The host closes each further connection at once.
pub const MAX_CONNECTIONS: usize = 10_000;
/// The maximum size of a frame in bytes. A larger frame closes its connection with code 1009.
pub const MAX_FRAME_BYTES: usize = 4 << 20;
/// The maximum number of frames that wait for one connection. A further frame closes the connection with code
/// 1008.
pub const MAX_PENDING_FRAMES: usize = 100_000;
/// The maximum number of subscriptions of a connection.
pub const MAX_SUBSCRIPTIONS: usize = 4_096;
/// The maximum number of sessions.
pub const MAX_SESSIONS: usize = 5_000;
/// The maximum number of chats of a session.
pub const MAX_CHATS: usize = 200;
/// The maximum number of disconnected clients that the host remembers.
pub const MAX_CLIENTS: usize = 10_000;
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

/// A client that has completed a handshake.
#[derive(Clone, Debug)]
pub(super) struct HostClient {
    /// The client's version, in the client's spelling.
    pub(super) version: String,
    /// Whether the client shows MCP apps.
    pub(super) apps: bool,
    /// The visitor to which the client id belongs.
    pub(super) visitor: EndpointVisitor,
    /// The time at which the client lost its last connection, after which it may be removed from its sessions.
    pub(super) gone_at: Option<Duration>,
    /// The files that the client was granted access to, each with the granted right.
    pub(super) granted: HashSet<(String, ResourceRight)>,
}

/// A channel with its state.
#[derive(Debug)]
pub(super) struct HostChannel {
    pub(super) kind: ChannelKind,
    pub(super) state: Value,
    /// The `serverSeq` at which the channel was created; no replay of the channel begins before this number.
    pub(super) born: u64,
    /// The state before the last action; set only if state faults are active.
    pub(super) before: Option<Value>,
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
    pub(super) versions: Vec<Version>,
    /// The newest version that the host supports. The host stores states with the names of this version.
    pub(super) protocol: &'static Protocol,
    /// The states as clients of older versions see them, one view for each older version.
    pub(super) views: Vec<VersionView>,
    pub(super) seed: u64,
    pub(super) epoch_ms: u64,
    pub(super) ready_after: Duration,
    pub(super) grace: Duration,
    pub(super) now: Duration,
    pub(super) log: HostLog,
    pub(super) outputs: VecDeque<HostOutput>,
    /// The frames to send after the response to the current request.
    pub(super) late: Vec<(ConnId, Frame)>,
    pub(super) tokens: Vec<String>,
    /// The visitors that were admitted and have no connection yet.
    pub(super) visitors: LiteMap<ConnId, EndpointVisitor>,
    pub(super) connections: LiteMap<ConnId, HostConnection>,
    pub(super) clients: LiteMap<String, HostClient>,
    pub(super) channels: LiteMap<String, HostChannel>,
    pub(super) sessions: LiteMap<String, HostSession>,
    pub(super) chats: LiteMap<String, HostChat>,
    pub(super) terminals: LiteMap<String, HostTerminal>,
    pub(super) shells: bool,
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
    pub(super) changesets: LiteMap<String, HostChangeset>,
    pub(super) runs: LiteMap<String, HostAgentRun>,
    /// The connection to the agent subprocess; `None` for the host's own scripted agent.
    pub(super) acp: Option<AgentConnection>,
    /// Whether the host's own agent asks a model.
    pub(super) asks_model: bool,
    /// The sessions in which each client is active.
    pub(super) active: LiteMap<String, HashSet<String>>,
    /// The sessions that are not ready yet.
    pub(super) creating: HashSet<String>,
    pub(super) ids: u64,
    /// Whether any client has ever subscribed to telemetry.
    pub(super) telemetered: bool,
    /// Whether the host has stopped reading; only an injected fault sets it.
    pub(super) stalled: bool,
    /// The members to add to the next envelope, for a scenario about a client.
    pub(super) scripted: Value,
    /// The requirement that the last rejected action breaks; empty if no such requirement is known.
    pub(super) refused_by: String,
}

impl RefHost {
    /// Creates a host without sessions or connections.
    pub fn new(config: HostConfig) -> RefHost {
        RefHost::with_hooks(config, Vec::new())
    }

    /// Creates a host like [`RefHost::new`], with legal variants in its behaviour.
    pub(super) fn with_hooks(config: HostConfig, variants: Vec<&'static dyn HostHooks>) -> RefHost {
        let mut versions = config.versions;
        versions.retain(|version| Version::played().contains(version));
        if versions.is_empty() {
            versions = newest_words();
        }
        versions.sort_unstable_by(|a, b| b.cmp(a));
        let tables = versions.iter().copied().filter_map(Protocol::of);
        let plain = |it: &&Protocol| VersionEdge::new(it.version(), PROVIDER).is_plain();
        let (newer, older): (Vec<&Protocol>, Vec<&Protocol>) = tables.partition(plain);
        let mut host = RefHost {
            chain: MessageChain::new(fault::rewriters(&config.faults), versions.clone()),
            injected: ActiveHooks::of(variants, &config.faults),
            state_faults: StateFaults::of(&config.faults),
            memory: FaultMemory::default(),
            protocol: newer.first().copied().unwrap_or_else(Protocol::newest),
            versions,
            views: older.into_iter().map(VersionView::new).collect(),
            seed: config.seed,
            epoch_ms: config.epoch_ms,
            ready_after: config.ready_after,
            grace: config.grace,
            now: Duration::ZERO,
            log: HostLog::new(config.replay_capacity),
            outputs: VecDeque::new(),
            late: Vec::new(),
            tokens: config.tokens,
            visitors: LiteMap::new(),
            connections: LiteMap::new(),
            clients: LiteMap::new(),
            channels: LiteMap::new(),
            sessions: LiteMap::new(),
            chats: LiteMap::new(),
            terminals: LiteMap::new(),
            shells: config.shells,
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
            changesets: LiteMap::new(),
            runs: LiteMap::new(),
            acp: config.acp.map(AgentConnection::new),
            asks_model: config.asks_model
                || config.faults.iter().any(|fault| fault.is_behind_model()),
            active: LiteMap::new(),
            creating: HashSet::new(),
            telemetered: false,
            stalled: false,
            ids: 0,
            scripted: Value::Null,
            refused_by: String::new(),
        };
        host.add_channel(ROOT, ChannelKind::Root, configuration::root_state());
        host.add_channel(AUTOMATIONS, ChannelKind::Automations, automations::first_state());
        host.happened(&HostEvent::Made);
        host
    }

    /// Returns the wall time as a timestamp.
    pub(super) fn timestamp(&self) -> String {
        let elapsed = u64::try_from(self.now.as_millis()).unwrap_or(u64::MAX);
        timestamp::iso(self.epoch_ms.saturating_add(elapsed))
    }

    pub(super) fn add_channel(&mut self, uri: &str, kind: ChannelKind, state: Value) {
        let state = self.made(&MadeValue::FirstState(kind), state);
        self.show(uri, kind, &state);
        let channel = HostChannel { kind, state, born: self.log.seq(), before: None };
        self.channels.insert(uri.to_owned(), channel);
    }

    /// Returns the state of a channel; null if the channel does not exist.
    pub(super) fn state(&self, uri: &str) -> &Value {
        self.channels.get(uri).map_or(&Value::Null, |channel| &channel.state)
    }

    /// Sends a message to one connection.
    pub(super) fn send(&mut self, conn: ConnId, message: Value) {
        self.send_frame(conn, Frame::json(&message));
    }

    pub(super) fn send_frame(&mut self, conn: ConnId, frame: Frame) {
        self.send_held(conn);
        let Some(connection) = self.connections.get_mut(&conn) else {
            return;
        };
        if connection.closing {
            return;
        }
        if connection.pending >= MAX_PENDING_FRAMES {
            self.close(conn, 1008, "the client does not read");
            return;
        }
        connection.pending += 1;
        self.outputs.push_back(HostOutput::Send { conn, frame });
    }

    /// Closes a connection; does nothing if the connection is already closing.
    pub(super) fn close(&mut self, conn: ConnId, code: u16, reason: &str) {
        let Some(connection) = self.connections.get_mut(&conn) else {
            return;
        };
        if connection.closing {
            return;
        }
        connection.closing = true;
        connection.subscriptions.clear();
        let reason = reason.to_owned();
        self.outputs.push_back(HostOutput::Close { conn, code, reason });
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
        for (conn, frame) in std::mem::take(&mut self.late) {
            self.send_frame(conn, frame);
        }
        if close {
            self.close(conn, 1000, "no common protocol version");
        }
    }

    /// Notifies all subscribers of the root channel, without the hooks of [`RefHost::notify`].
    pub(super) fn notify_all(&mut self, method: &str, params: Value) {
        let to_root = |(conn, connection): (&ConnId, &HostConnection)| {
            let broadcast =
                connection.protocol.is_some_and(|it| !it.has(ProtocolFeature::Channels));
            let wanted = broadcast || connection.subscriptions.contains(ROOT);
            (wanted && connection.client.is_some()).then_some(*conn)
        };
        let conns: Vec<ConnId> = self.connections.iter().filter_map(to_root).collect();
        conns.into_iter().for_each(|conn| self.inform(conn, method, &params));
    }

    /// Notifies one connection if the connection is subscribed to the root channel.
    pub(super) fn notify_one(&mut self, conn: ConnId, method: &str, mut params: Value) {
        if !self.sends_notice(method, &mut params) {
            return;
        }
        let listens = |it: &HostConnection| it.subscriptions.contains(ROOT);
        if self.connections.get(&conn).is_some_and(listens) {
            self.inform(conn, method, &params);
        }
    }

    /// Notifies the connections of a view that are subscribed to the root channel or receive broadcasts.
    pub(super) fn notify_view(&mut self, view: usize, method: &str, params: &Value) {
        let to_root = |(conn, connection): (&ConnId, &HostConnection)| {
            let broadcast =
                connection.protocol.is_some_and(|it| !it.has(ProtocolFeature::Channels));
            let wanted = broadcast || connection.subscriptions.contains(ROOT);
            (wanted && connection.view == Some(view)).then_some(*conn)
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
        let connection = self.connections.get(&call.conn);
        let shaken = connection.is_some_and(|connection| connection.client.is_some());
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
        let open = self.connections.len();
        let visitor = self.visitors.remove(&conn).unwrap_or_default();
        self.connections.insert(conn, HostConnection { visitor, ..HostConnection::default() });
        if open >= MAX_CONNECTIONS {
            self.close(conn, 1013, "too many connections");
        }
    }

    fn handle_frame(&mut self, now: Duration, conn: ConnId, frame: &Frame) {
        self.pass(now);
        let open = self.connections.get(&conn).is_some_and(|connection| !connection.closing);
        if !open {
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
        self.held.forget(conn);
        if let Some(connection) = self.connections.remove(&conn) {
            self.idle_watches();
            self.left(connection.client.as_deref());
            self.happened(&HostEvent::Closed(connection.client.as_deref()));
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
        let runs = self.runs.values().filter_map(HostAgentRun::due);
        let rest = [
            self.next_scheduled(),
            self.next_errand(),
            self.next_ready(),
            self.next_server(),
            self.next_removal(),
            self.next_release(),
            self.next_computed(),
            self.next_ended(),
            self.next_held(),
            self.next_expiry(),
            self.next_question(),
        ];
        runs.chain(rest.into_iter().flatten()).chain(self.chain.next_due()).min()
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
        if let HostOutput::Send { conn, .. } = &output
            && let Some(connection) = self.connections.get_mut(conn)
        {
            connection.pending = connection.pending.saturating_sub(1);
        }
        Some(output)
    }

    fn restart(&mut self, now: Duration) {
        self.pass(now);
        self.chain.restarted();
        self.connections.clear();
        self.visitors.clear();
        self.idle_watches();
        self.held.clear();
        self.outputs.clear();
        self.late.clear();
        self.runs.clear();
        self.acp = self.acp.take().map(AgentConnection::anew);
        self.fail_turns();
        self.lose_running();
        self.end_terminals();
        self.end_servers();
        self.end_canvases();
        self.clients.iter_mut().for_each(|(_, client)| client.gone_at = Some(now));
        self.log.forget();
        self.happened(&HostEvent::Restarted);
    }
}

impl RefHost {
    fn pass(&mut self, now: Duration) {
        self.now = self.now.max(now);
        self.chain.pass(now);
    }

    fn take_frame(&mut self, conn: ConnId, frame: &Frame) {
        if self.stalled {
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
            return self.outputs.pop_front();
        }
        while let Some(output) = self.outputs.pop_front() {
            self.chain.outgoing(output);
        }
        self.chain.poll()
    }
}
