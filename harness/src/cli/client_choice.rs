//! The client that a run tests, as the options name it.
//!
//! Knows: clients outside of this process. Never knows: the other options of a run.
//!
//! Start at [`ClientChoice`].

use std::net::SocketAddr;
use std::sync::Arc;

use crate::report::command::quoted;
use crate::wire::foreign_text::ForeignText;

use super::clients::ClientOutside;
use super::context::CliContext;
use super::play_target::PlayTarget;

/// The client that a run tests.
#[derive(Clone, Debug)]
pub(super) struct ClientChoice {
    /// The command that starts the client or its driver; `None` for the reference client in memory.
    pub(super) command: Option<String>,
    /// Whether the command is the client itself, without a driver.
    pub(super) passive: bool,
    /// The address to which the client connects by itself.
    pub(super) listen: Option<SocketAddr>,
}

impl ClientChoice {
    /// Returns this client as the target of a run.
    pub(super) fn target(&self, context: &CliContext) -> PlayTarget {
        let context = context.clone();
        if let Some(address) = self.listen {
            let voice = Arc::new(move |line: &str| context.error(&format!("{line}\n")));
            return PlayTarget::Clients(Box::new(ClientOutside::listening(address, voice)));
        }
        let Some(command) = &self.command else { return PlayTarget::Embedded };
        let voice = Arc::new(move |line: &str| {
            context.error(&format!("client: {}\n", ForeignText::from(line).line()));
        });
        let client = ClientOutside::new(command.clone(), !self.passive, voice);
        PlayTarget::Clients(Box::new(client))
    }

    /// Returns the options that name the client, quoted for a shell.
    pub(super) fn words(&self) -> Vec<String> {
        let command = self.command.iter().map(|it| format!("--command {}", quoted(it)));
        let listen = self.listen.iter().map(|address| format!("--listen {address}"));
        command.chain(self.passive.then(|| "--passive".to_owned())).chain(listen).collect()
    }
}
