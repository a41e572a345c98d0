//! Background commands: a command that an agent leaves running in its own terminal. The chat of the agent lists
//! the command until the command ends.
//!
//! Knows: chats, terminals. Never knows: the effect of commands.
//!
//! Start at [`RefHost::leave_running`].

use std::time::Duration;

use crate::wire::feature::ProtocolFeature;
use crate::wire::json::json;

use super::background_commands::BackgroundCommand;
use super::engine::RefHost;

impl RefHost {
    /// Starts a background command in a chat; the command runs for the duration `lasts`.
    pub(super) fn leave_running(&mut self, chat: &str, command: &str, lasts: Duration) {
        let Some(session) = self.chats.session_of(chat).map(str::to_owned) else {
            return;
        };
        if !self.protocol.has(ProtocolFeature::BackgroundWork) || self.background.is_full() {
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
        self.background.add(BackgroundCommand { due, chat, id, terminal });
    }

    /// Ends every command that is due.
    pub(super) fn end_running(&mut self) {
        let ended = self.background.end(self.clock.now());
        self.end_those(ended);
    }

    /// Ends every command after a crash of the host, which kills all commands.
    pub(super) fn lose_running(&mut self) {
        let ended = self.background.end_all();
        self.end_those(ended);
    }

    fn end_those(&mut self, ended: Vec<BackgroundCommand>) {
        for BackgroundCommand { chat, id, terminal, .. } in ended {
            self.exit(&terminal, Some(0));
            self.publish(&chat, json!({"type": "chat/backgroundWorkRemoved", "id": id}));
        }
    }
}
