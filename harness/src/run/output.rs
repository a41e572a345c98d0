//! The outputs of a case: what the driver has to do.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::host::ScriptedEnvelope;
use crate::peer::errand::ClientErrand;
use crate::peer::guise::ClientGuise;
use crate::transcript::{ConnId, SeenFrame};

/// An instruction to the driver.
#[derive(Clone, Debug, PartialEq)]
pub enum DriverOutput {
    /// Open a connection for the client of this name.
    Open {
        /// The number of the connection.
        conn: ConnId,
        /// The client's name.
        client: String,
        /// The credentials and headers that the client sends when it opens the connection.
        guise: ClientGuise,
    },
    /// Send a frame.
    Send {
        /// The connection.
        conn: ConnId,
        /// The frame with its decoded content.
        seen: Arc<SeenFrame>,
    },
    /// Close a connection.
    Close {
        /// The connection.
        conn: ConnId,
        /// Whether to perform a closing handshake.
        graceful: bool,
    },
    /// Send a `ping` of this many bytes. The transcript does not keep the frame.
    Flood {
        /// The connection.
        conn: ConnId,
        /// The size in bytes.
        bytes: u64,
    },
    /// Pause or resume reading from a connection.
    Hold {
        /// The connection.
        conn: ConnId,
        /// Whether to pause.
        paused: bool,
    },
    /// Restart the host.
    Restart {
        /// Whether to kill the host's process instead of asking it to end.
        crash: bool,
    },
    /// Release the agent from the hold of this name.
    Release(String),
    /// Run an errand outside the conversation and report its result.
    Errand(ClientErrand),
    /// Pass a frame of the tested client on to the host.
    ToHost {
        /// The connection of the tested client.
        conn: ConnId,
        /// The frame.
        seen: Arc<SeenFrame>,
    },
    /// Make the host publish an action.
    Publish(ScriptedEnvelope),
    /// Send this line to the driver of the tested client.
    Drive(String),
}

/// The outputs that the driver has not taken yet, in order.
#[derive(Debug, Default)]
pub(super) struct OutputQueue(VecDeque<DriverOutput>);

impl OutputQueue {
    /// Adds an output after all others.
    pub(super) fn push(&mut self, output: DriverOutput) {
        self.0.push_back(output);
    }

    /// Removes and returns the oldest output.
    pub(super) fn take(&mut self) -> Option<DriverOutput> {
        self.0.pop_front()
    }
}
