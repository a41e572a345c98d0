//! Background commands: a command that an agent leaves running in its own terminal. The chat of the agent lists
//! the command until the command ends.
//!
//! Knows: chats, terminals. Never knows: the effect of commands.
//!
//! Start at [`RefHost::leave_running`].

use std::time::Duration;

use crate::wire::feature::ProtocolFeature;
use crate::wire::json::json;

use super::engine::RefHost;

/// The maximum number of background commands.
const MAX_RUNNING: usize = 100;

/// A command that runs in the background.
#[derive(Debug)]
struct BackgroundCommand {
    /// The time at which the command ends.
    due: Duration,
    /// The chat that lists the command.
    chat: String,
    /// The identifier of the command in the chat's list.
    id: String,
    terminal: String,
}

/// The background commands of agents.
#[derive(Debug, Default)]
pub(super) struct BackgroundCommands {
    running: Vec<BackgroundCommand>,
}

impl RefHost {
    /// Starts a background command in a chat; the command runs for the duration `lasts`.
    pub(super) fn leave_running(&mut self, chat: &str, command: &str, lasts: Duration) {
        let Some(session) = self.chats.session_of(chat).map(str::to_owned) else {
            return;
        };
        if !self.protocol.has(ProtocolFeature::BackgroundWork)
            || self.background.running.len() >= MAX_RUNNING
        {
            return;
        }
        let id = self.fresh_id("background");
        let terminal = format!("ahp-terminal:/{id}");
        let claim = json!({"kind": "session", "session": session, "chat": chat});
        if self.keeps("chat.backgroundWork.terminal") {
            self.open_terminal(&terminal, json!({
                "title": command, "content": [], "lifecycle": {"status": "running"}, "claim": claim,
            }));
        }
        let work = json!({
            "kind": "shell", "id": id, "label": command, "startedAt": self.clock.timestamp(),
            "command": command, "terminal": terminal,
        });
        self.publish(chat, json!({"type": "chat/backgroundWorkSet", "work": work}));
        let (due, chat) = (self.clock.now() + lasts, chat.to_owned());
        self.background.running.push(BackgroundCommand { due, chat, id, terminal });
    }

    /// Returns the time at which the next command ends; `None` if none runs.
    pub(super) fn next_ended(&self) -> Option<Duration> {
        self.background.running.iter().map(|it| it.due).min()
    }

    /// Ends every command that is due.
    pub(super) fn end_running(&mut self) {
        let now = self.clock.now();
        self.end_those(|it| it.due <= now);
    }

    /// Ends every command after a crash of the host, which kills all commands.
    pub(super) fn lose_running(&mut self) {
        self.end_those(|_| true);
    }

    fn end_those(&mut self, ended: impl Fn(&BackgroundCommand) -> bool) {
        let (over, rest) =
            std::mem::take(&mut self.background.running).into_iter().partition(ended);
        self.background.running = rest;
        let over: Vec<BackgroundCommand> = over;
        for BackgroundCommand { chat, id, terminal, .. } in over {
            self.exit(&terminal, Some(0));
            self.publish(&chat, json!({"type": "chat/backgroundWorkRemoved", "id": id}));
        }
    }
}
