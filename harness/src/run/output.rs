//! What a case wants done by whoever moves its frames.

use std::sync::Arc;

use crate::peer::errand::ClientErrand;
use crate::peer::guise::ClientGuise;
use crate::transcript::{ConnId, SeenFrame};

/// Something for the driver to do.
#[derive(Clone, Debug, PartialEq)]
pub enum DriverOutput {
    /// Open a connection for the client of this name.
    Open {
        /// Its number.
        conn: ConnId,
        /// The client's name.
        client: String,
        /// How it comes.
        guise: ClientGuise,
    },
    /// Send a frame.
    Send {
        /// Where.
        conn: ConnId,
        /// The frame, with what it holds.
        seen: Arc<SeenFrame>,
    },
    /// End a connection.
    Close {
        /// Which.
        conn: ConnId,
        /// Whether with a closing handshake.
        graceful: bool,
    },
    /// Send a `ping` of this many bytes, which nobody keeps.
    Flood {
        /// Where.
        conn: ConnId,
        /// How large it is.
        bytes: u64,
    },
    /// Stop reading from a connection, or go on.
    Hold {
        /// Which.
        conn: ConnId,
        /// Whether it stops.
        paused: bool,
    },
    /// Restart the host.
    Restart,
    /// Let the agent go on that holds at this name.
    Release(String),
    /// Do something beside the conversation, and tell what came of it.
    Errand(ClientErrand),
}
