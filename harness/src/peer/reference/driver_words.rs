//! The names in the protocol of a driver, as `CLIENT_DRIVER.md` describes it.
//!
//! Knows: names. Never knows: clients, the effects of commands.
//!
//! Start at [`DRIVER_COMMANDS`].

/// The commands that a driver may support, except [`STATE_COMMAND`]. `CLIENT_DRIVER.md` describes them. The reference
/// client carries out all of them.
pub const DRIVER_COMMANDS: &[&str] = &[
    "connect",
    "close",
    "request",
    "subscribe",
    "unsubscribe",
    "dispatch",
    "sync",
    "tool",
    "calls",
    "serve",
    "token",
    "lists",
    "type",
    "run",
    "mcp",
    "logs",
    "records",
    "choices",
    "operate",
    "consent",
];

/// The command with which the driver is asked for the client's state of a channel.
pub const STATE_COMMAND: &str = "state";

/// The word with which a driver declares that its client reconnects by itself after the connection was lost.
pub const RECONNECTS: &str = "reconnect";
