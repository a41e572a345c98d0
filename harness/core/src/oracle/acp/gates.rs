//! Checks capabilities: the handshake, and the messages that the agent may send only if the client offers them.
//!
//! A check counts as exercised whenever the agent had an opportunity to break it.
//!
//! Knows: the capabilities of the client. Never knows: calls.

use crate::oracle::members::{list, text};
use crate::wire::json::Value;
use crate::wire::message::Message;

use super::catalogue::Rule;
use super::state::{ClientOffers, EntryPosition, OpenAgentRequest};
use super::{AgentFold, FindingSink};

/// The newest published version of the protocol, drafts included.
const NEWEST: u64 = 2;

impl AgentFold {
    /// Judges and records the answer to `initialize`.
    pub(super) fn initialized(
        &mut self,
        asked: &OpenAgentRequest,
        result: &Value,
        out: &mut FindingSink,
    ) {
        let EntryPosition { line, at, .. } = self.now;
        let Some(version) = result["protocolVersion"].as_u64() else { return };
        let Some(conn) = self.conn() else { return };
        conn.shook = true;
        conn.other = version != 1;
        conn.declined = (conn.other && asked.version == Some(1)).then_some([asked.line, line]);
        conn.took = at.saturating_sub(asked.at);
        let terminal_auth = conn.offers.terminal_auth;
        out.counts(true);
        out.seen(Rule::VersionChosen);
        if version > NEWEST {
            let asked_for = asked.version.unwrap_or_default();
            let message = format!(
                "expected a published protocol version in the answer to version {asked_for}, found \
                 {version}"
            );
            out.broken(Rule::VersionChosen, message, &[asked.line, line]);
        }
        out.seen(Rule::UpdatesGated);
        let terminal = |method: &&Value| text(method, "type") == Some("terminal");
        if !terminal_auth && list(result, "authMethods").iter().any(|it| terminal(&it)) {
            let message = "expected no authentication method of the type `terminal`, which the \
                           client does not support, found one";
            out.broken(Rule::UpdatesGated, message.to_owned(), &[asked.line, line]);
        }
    }

    /// Judges a message of the agent on a connection with another negotiated version than 1. If only version 1
    /// has such a message, the agent supports version 1 and should have chosen it.
    pub(super) fn speaks_after_all(&mut self, message: &Message, out: &mut FindingSink) {
        let update = &message.params()["update"];
        let ends = message.result().is_some_and(|result| text(result, "stopReason").is_some());
        let calls = message.method() == Some("session/update")
            && text(update, "sessionUpdate") == Some("tool_call");
        if !ends && !calls {
            return;
        }
        let line = self.now.line;
        let Some(declined) = self.conn().and_then(|conn| conn.declined.take()) else { return };
        let message = "expected the requested version 1, whose messages the agent sends later, in \
                       the answer to `initialize`, found another version";
        let [asked, answered] = declined;
        out.broken(Rule::VersionChosen, message.to_owned(), &[asked, answered, line]);
    }

    /// Judges the configuration options of a session.
    pub(super) fn options_gated(&self, result: &Value, out: &mut FindingSink) {
        let Some(ClientOffers { booleans, .. }) = self.offers() else { return };
        let boolean = |option: &&Value| text(option, "type") == Some("boolean");
        out.seen(Rule::UpdatesGated);
        if !booleans && list(result, "configOptions").iter().any(|it| boolean(&it)) {
            let message = "expected no boolean configuration option, which the client does not \
                           support, found one"
                .to_owned();
            out.broken(Rule::UpdatesGated, message, &[self.now.line]);
        }
    }

    /// Returns the capabilities that the client offers; `None` if the transcript lacks the handshake.
    fn offers(&self) -> Option<ClientOffers> {
        self.here().filter(|conn| conn.whole).map(|conn| conn.offers)
    }

    /// Judges whether the client offers to receive this kind of update.
    pub(super) fn update_gated(&self, update: &Value, out: &mut FindingSink) {
        let Some(offers) = self.offers() else { return };
        let (name, offered) = match text(update, "sessionUpdate") {
            Some("notice") => ("notice", offers.notices),
            Some(name @ ("compaction_update" | "compaction_summary_chunk")) => {
                (name, offers.compaction)
            }
            Some("config_option_update") => return self.options_gated(update, out),
            _ => return,
        };
        out.seen(Rule::UpdatesGated);
        if !offered {
            let message =
                format!("expected no `{name}`, which the client does not support, found one");
            out.broken(Rule::UpdatesGated, message, &[self.now.line]);
        }
    }

    /// Judges whether the client offers the method that the agent requests.
    pub(super) fn gated(&self, method: &str, params: &Value, out: &mut FindingSink) {
        let Some(offers) = self.offers() else { return };
        let (rule, offered) = match method {
            "fs/read_text_file" => (Rule::FsGated, offers.read),
            "fs/write_text_file" => (Rule::FsGated, offers.write),
            "elicitation/create" => match text(params, "mode") {
                Some("url") => (Rule::ElicitationGated, offers.url),
                _ => (Rule::ElicitationGated, offers.form),
            },
            _ if method.starts_with("terminal/") => (Rule::TerminalGated, offers.terminal),
            _ => return,
        };
        out.seen(rule);
        if !offered {
            let message =
                format!("expected no `{method}`, which the client does not support, found one");
            out.broken(rule, message, &[self.now.line]);
        }
    }

    /// Counts an observation of each check for a capability that the client does not offer: the agent could have broken
    /// the check while a tool ran.
    pub(super) fn tools_gated(&self, out: &mut FindingSink) {
        let Some(offers) = self.offers() else { return };
        if !offers.read || !offers.write {
            out.seen(Rule::FsGated);
        }
        if !offers.terminal {
            out.seen(Rule::TerminalGated);
        }
    }

    /// Counts an observation of the checks that the agent could have broken within the turn that ends here.
    pub(super) fn turn_gated(&self, out: &mut FindingSink) {
        let Some(offers) = self.offers() else { return };
        if !offers.form || !offers.url {
            out.seen(Rule::ElicitationGated);
        }
        if !offers.notices || !offers.compaction {
            out.seen(Rule::UpdatesGated);
        }
    }
}
