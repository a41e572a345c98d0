//! A peer of a case: one of the harness's own clients, with an engine and a mailbox, or the peer that represents the
//! host in scenarios that test a client.
//!
//! Knows: client engines, mailboxes, folders. Never knows: other peers, tasks, waits.
//!
//! Start at [`CasePeer`].

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use crate::edge::VersionEdge;
use crate::peer::client::ClientEngine;
use crate::peer::client_folder::ClientFolder;
use crate::peer::guise::ClientGuise;
use crate::scenario::bind::NameBindings;
use crate::scenario::pattern::ValuePattern;
use crate::transcript::{ConnId, SeenFrame};
use crate::wire::json::Value;
use crate::wire::message::{Message, MessageKind};

use super::agent_client_side::AgentClientSide;
use super::mailbox::ClientMailbox;
use super::output::DriverOutput;
use super::setup::CaseSetup;

/// The maximum number of responses kept for `answer` steps; beyond this number, the oldest responses are
/// dropped.
const MAX_ANSWERS: usize = 1_000;

/// A client of the case, by its index in [`CaseClients`](super::case_clients::CaseClients).
pub(super) type PeerId = usize;

/// A client of the case.
#[derive(Debug)]
pub(super) struct CasePeer {
    name: String,
    /// The name of the binding that holds the last `serverSeq` that the client has received.
    seq_name: String,
    pub(super) engine: ClientEngine,
    conn: Option<ConnId>,
    connected: bool,
    initialized: bool,
    pub(super) mailbox: ClientMailbox,
    answers: VecDeque<(u64, Arc<SeenFrame>)>,
    /// The host's requests that no `asked` step has read yet; `None` if the steps of the scenario answer no requests.
    asked: Option<VecDeque<(u64, Arc<SeenFrame>)>>,
    /// The transcript line at which the connection ended, and the reason.
    ended: Option<(u64, String)>,
    /// The HTTP status with which the host refused the connection.
    refused: Option<u16>,
    /// The credentials and the `Origin` header with which the client opens its connection.
    guise: ClientGuise,
    /// The state with which the client serves the requests of an agent.
    pub(super) served: AgentClientSide,
    /// The folder that the client serves to the host.
    folder: ClientFolder,
    /// The methods of requests that steps of the scenario answer, and not the client itself, although the client serves
    /// a folder.
    withheld: Vec<String>,
}

impl CasePeer {
    /// Creates a client without a connection. `id` distinguishes the clients of the case.
    pub(super) fn new(
        id: PeerId,
        name: String,
        engine: ClientEngine,
        edge: VersionEdge,
        setup: &CaseSetup,
    ) -> CasePeer {
        let serves = setup.serves(&name, None);
        CasePeer {
            seq_name: format!("{name}.seq"),
            name,
            engine: engine.of(setup.version.standard).speaking(edge),
            conn: None,
            connected: false,
            initialized: false,
            mailbox: ClientMailbox::default(),
            answers: VecDeque::new(),
            asked: serves.then(VecDeque::new),
            ended: None,
            refused: None,
            guise: ClientGuise::default(),
            served: AgentClientSide::of(&setup.side, id),
            folder: ClientFolder::default(),
            withheld: Vec::new(),
        }
    }

    /// Returns the name of the client.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the name of the binding that holds the last `serverSeq` that the client has received.
    pub(super) fn seq_name(&self) -> &str {
        &self.seq_name
    }

    // Methods about the connection.

    /// Returns the connection, which may still be opening.
    pub(super) fn conn(&self) -> Option<ConnId> {
        self.conn
    }

    /// Returns the connection if it is open.
    pub(super) fn open_conn(&self) -> Option<ConnId> {
        self.conn.filter(|_| self.connected)
    }

    /// Returns whether the client is connected.
    pub(super) fn is_connected(&self) -> bool {
        self.connected
    }

    /// Returns whether the client is connected and has completed the handshake.
    pub(super) fn is_ready(&self) -> bool {
        self.connected && self.initialized
    }

    /// Returns the transcript line at which the connection ended, and the reason.
    pub(super) fn ended(&self) -> Option<&(u64, String)> {
        self.ended.as_ref()
    }

    /// Returns the HTTP status with which the host refused the connection.
    pub(super) fn refusal(&self) -> Option<u16> {
        self.refused
    }

    /// Sets the credentials and the origin with which the client opens its connections.
    pub(super) fn come_as(&mut self, guise: ClientGuise) {
        self.guise = guise;
    }

    /// Begins to open a connection. Returns the output that opens it.
    pub(super) fn connect(&mut self, conn: ConnId) -> DriverOutput {
        self.conn = Some(conn);
        self.ended = None;
        self.refused = None;
        self.answers.clear();
        DriverOutput::Open { conn, client: self.name.clone(), guise: self.guise.clone() }
    }

    /// Records that the connection is open. `is_new` says that the messages of the previous connection are dropped.
    pub(super) fn opened(&mut self, now: Duration, is_new: bool) {
        self.connected = true;
        if is_new {
            self.forget_messages();
        }
        self.served.opened(now);
    }

    /// Records that the tested client has opened a connection to this peer, which represents the host. `is_only` says
    /// that no other connection is open; a step never finds a message of an earlier connection.
    pub(super) fn joined(&mut self, conn: ConnId, is_only: bool) {
        if is_only {
            self.forget_messages();
        }
        self.conn = Some(conn);
        self.connected = true;
        self.ended = None;
    }

    /// Records that one of several connections has ended, so that this one is used.
    pub(super) fn remain_on(&mut self, conn: ConnId) {
        self.conn = Some(conn);
    }

    /// Records the answer that refused the connection.
    pub(super) fn refuse(&mut self, status: Option<u16>) {
        self.refused = status;
    }

    /// Records the end of the connection, with its transcript line and its reason.
    pub(super) fn end(&mut self, end: Option<(u64, String)>) {
        self.disconnect();
        self.ended = end;
    }

    /// Ends the connection.
    pub(super) fn disconnect(&mut self) {
        self.connected = false;
        self.initialized = false;
        self.conn = None;
        self.engine.lost();
    }

    /// Records that the handshake has succeeded.
    pub(super) fn shake_hands(&mut self) {
        self.initialized = true;
    }

    // Methods about messages.

    /// Drops all unread messages.
    pub(super) fn forget_messages(&mut self) {
        self.mailbox = ClientMailbox::default();
    }

    /// Returns the method of the request that this response accepts; `None` if the response is an error, or if its id
    /// belongs to no open request.
    pub(super) fn accepted_request(&self, message: &Message) -> Option<String> {
        let success = message.kind() == MessageKind::Success;
        let id = message.id().and_then(Value::as_u64).filter(|_| success)?;
        self.engine.awaits(id).map(str::to_owned)
    }

    /// Keeps a response for a later step. The oldest response is dropped if there are too many.
    pub(super) fn keep_answer(&mut self, line: u64, seen: &Arc<SeenFrame>) {
        if self.answers.len() == MAX_ANSWERS {
            self.answers.pop_front();
        }
        self.answers.push_back((line, Arc::clone(seen)));
    }

    /// Removes and returns the response with this id.
    pub(super) fn take_answer(&mut self, id: u64) -> Option<(u64, Arc<SeenFrame>)> {
        self.take_answer_if(|found| found.and_then(Value::as_u64) == Some(id))
    }

    /// Removes and returns the first response whose id matches a pattern.
    pub(super) fn take_matching_answer(
        &mut self,
        id: &ValuePattern,
        bindings: &NameBindings,
    ) -> Option<(u64, Arc<SeenFrame>)> {
        self.take_answer_if(|found| id.matches(found, bindings, false).is_ok())
    }

    fn take_answer_if(
        &mut self,
        fits: impl Fn(Option<&Value>) -> bool,
    ) -> Option<(u64, Arc<SeenFrame>)> {
        let mut answers = self.answers.iter();
        let found = answers.position(|(_, seen)| fits(seen.message().and_then(Message::id)))?;
        self.answers.remove(found)
    }

    /// Keeps a request of the host for an `asked` step.
    pub(super) fn keep_request(&mut self, line: u64, seen: &Arc<SeenFrame>) {
        if let Some(asked) = self.asked.as_mut().filter(|asked| asked.len() < MAX_ANSWERS) {
            asked.push_back((line, Arc::clone(seen)));
        }
    }

    /// Removes and returns the oldest request that no step has read.
    pub(super) fn take_request(&mut self) -> Option<(u64, Arc<SeenFrame>)> {
        self.asked.as_mut()?.pop_front()
    }

    /// Returns the number of requests that no step has read.
    pub(super) fn unread_requests(&self) -> usize {
        self.asked.as_ref().map_or(0, VecDeque::len)
    }

    // Methods about the folder.

    /// Serves a folder to the host, except for the requests that steps answer.
    pub(super) fn serve_folder(&mut self, folder: ClientFolder, withheld: Vec<String>) {
        self.folder = folder;
        self.withheld = withheld;
    }

    /// Returns whether the client itself answers the requests of a method although steps read them.
    pub(super) fn answers_itself(&self, method: &str) -> bool {
        !self.folder.is_empty() && !self.withheld.iter().any(|it| it == method)
    }

    /// Returns the answer to a request of the host from the folder.
    pub(super) fn answer_from_folder(&mut self, request: &Message) -> Message {
        let id = request.id().cloned().unwrap_or_default();
        match self.folder.answer(request.method().unwrap_or_default(), request.params()) {
            Ok(result) => Message::success(id, result),
            Err((code, why)) => Message::failure(id, code, why, Value::Null),
        }
    }
}
