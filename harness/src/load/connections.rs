//! The connections of a load: which client has which connection, and the instructions to the caller of the engine.
//!
//! Knows: connections, the index of the client of each. Never knows: what clients do, sockets.
//!
//! Start at [`LoadConnections`].

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crate::transcript::{ConnId, SeenFrame};
use crate::wire::message::Message;

use super::delay::DispatchKey;

/// An instruction to the caller of the engine.
#[derive(Clone, Debug)]
pub enum LoadOutput {
    /// Open a connection for a client.
    Open {
        /// The connection to open.
        conn: ConnId,
        /// Whether the socket gets a small receive buffer, so that the host soon notices when the client stops reading.
        small_buffer: bool,
    },
    /// Send a frame.
    Send {
        /// The connection on which the frame is sent.
        conn: ConnId,
        /// The frame to send.
        seen: Arc<SeenFrame>,
        /// The dispatch that the frame contains, with the index of its session; `None` for other frames.
        dispatch: Option<(DispatchKey, usize)>,
    },
    /// Stop or resume reading.
    Hold {
        /// The connection whose reading stops or resumes.
        conn: ConnId,
        /// Whether reading stops. If `false`, reading resumes.
        held: bool,
    },
    /// Drop all connections, kill the host and start it again;
    /// [`LoadEngine::restarted`](super::engine::LoadEngine::restarted) has to follow.
    Crash,
    /// Close the connection, with a closing handshake or without.
    Close {
        /// The connection to close.
        conn: ConnId,
        /// Whether there is a closing handshake.
        graceful: bool,
    },
}

/// The connections of all clients, and the outputs that the caller has not fetched yet.
#[derive(Debug, Default)]
pub struct LoadConnections {
    clients: HashMap<ConnId, usize>,
    /// The number of connections that were opened so far, which is the number of the next connection.
    opened: u32,
    outputs: VecDeque<LoadOutput>,
}

impl LoadConnections {
    /// Opens a connection for a client.
    pub fn open(&mut self, client: usize, small_buffer: bool) -> ConnId {
        let conn = ConnId(self.opened);
        self.opened += 1;
        self.clients.insert(conn, client);
        self.outputs.push_back(LoadOutput::Open { conn, small_buffer });
        conn
    }

    /// Returns the client of a connection; `None` if the connection has ended.
    pub fn client(&self, conn: ConnId) -> Option<usize> {
        self.clients.get(&conn).copied()
    }

    /// Records that a connection has ended. Returns its client; `None` if the end is known already.
    pub fn ended(&mut self, conn: ConnId) -> Option<usize> {
        self.clients.remove(&conn)
    }

    /// Sends a message.
    pub fn send(&mut self, conn: ConnId, message: Message, dispatch: Option<(DispatchKey, usize)>) {
        let seen = Arc::new(SeenFrame::of(message));
        self.outputs.push_back(LoadOutput::Send { conn, seen, dispatch });
    }

    /// Stops or resumes the reading of a connection.
    pub fn hold(&mut self, conn: ConnId, held: bool) {
        self.outputs.push_back(LoadOutput::Hold { conn, held });
    }

    /// Closes a connection, with a closing handshake or without.
    pub fn close(&mut self, conn: ConnId, graceful: bool) {
        self.clients.remove(&conn);
        self.outputs.push_back(LoadOutput::Close { conn, graceful });
    }

    /// Ends all connections with a crash of the host. Outputs that the caller has not fetched are dropped.
    pub fn crash(&mut self) {
        self.clients.clear();
        self.outputs.clear();
        self.outputs.push_back(LoadOutput::Crash);
    }

    /// Returns the next output; `None` if there is none.
    pub fn poll(&mut self) -> Option<LoadOutput> {
        self.outputs.pop_front()
    }
}
