//! Checks the modes, options and commands that sessions offer, and sessions that are loaded or resumed.
//!
//! Knows: the settings of a session. Never knows: calls.

use std::collections::HashSet;

use crate::oracle::members::{list, text};
use crate::wire::json::Value;

use super::catalogue::Rule;
use super::state::OpenAgentRequest;
use super::{AgentFold, FindingSink};

/// Upper bound for the modes of a session that are kept.
const MAX_MODES: usize = 1_000;
/// The kinds of session updates that show a part of the conversation, in contrast to settings of the session.
const SAID: [&str; 6] = [
    "user_message_chunk",
    "agent_message_chunk",
    "agent_thought_chunk",
    "tool_call",
    "tool_call_update",
    "plan",
];

impl AgentFold {
    /// Judges and records the modes and options that a session offers when it is created, loaded or resumed.
    pub(super) fn session_begins(
        &mut self,
        asked: &OpenAgentRequest,
        result: &Value,
        out: &mut FindingSink,
    ) {
        let line = self.now.line;
        let id = text(result, "sessionId").unwrap_or(&asked.session).to_owned();
        let modes = &result["modes"];
        let known = list(modes, "availableModes").iter().filter_map(|mode| text(mode, "id"));
        let known: Vec<String> = known.take(MAX_MODES).map(str::to_owned).collect();
        if let Some(session) = self.conn().and_then(|conn| conn.session(&id)) {
            session.modes.clone_from(&known);
            session.loaded = (asked.method == "session/load").then_some(line);
        }
        if let Some(current) = text(modes, "currentModeId") {
            self.mode_known(&known, current, out);
        }
        self.options_sound(result, out);
    }

    fn mode_known(&self, known: &[String], mode: &str, out: &mut FindingSink) {
        out.seen(Rule::ModesKnown);
        if !known.iter().any(|one| one == mode) {
            let known = known.join("`, `");
            let message = format!("expected one of the session's modes, `{known}`, found `{mode}`");
            out.broken(Rule::ModesKnown, message, &[self.now.line]);
        }
    }

    /// Judges whether the ids of options are unique, and whether each option lists its current value.
    pub(super) fn options_sound(&self, holder: &Value, out: &mut FindingSink) {
        let mut ids = HashSet::new();
        for option in list(holder, "configOptions") {
            out.seen(Rule::OptionsSound);
            let id = text(option, "id").unwrap_or_default();
            if !ids.insert(id) {
                let message = format!("expected options with different ids, found `{id}` again");
                out.broken(Rule::OptionsSound, message, &[self.now.line]);
            }
            let values =
                list(option, "options").iter().flat_map(|value| match list(value, "options") {
                    [] => std::slice::from_ref(value),
                    inner => inner,
                });
            let mut values = values.filter_map(|value| text(value, "value")).peekable();
            let current = text(option, "currentValue");
            if values.peek().is_some() && !values.any(|value| Some(value) == current) {
                let current = current.unwrap_or_default();
                let message = format!(
                    "expected the current value of the option `{id}` to be one of its values, \
                     found `{current}`"
                );
                out.broken(Rule::OptionsSound, message, &[self.now.line]);
            }
        }
    }

    /// Judges an update of the modes, options or commands of a session.
    pub(super) fn offer_told(&mut self, session: &str, update: &Value, out: &mut FindingSink) {
        match text(update, "sessionUpdate") {
            Some("current_mode_update") => {
                let conn = self.here().filter(|conn| conn.whole);
                let known = conn.and_then(|conn| conn.sessions.get(session));
                let known = known.map(|session| session.modes.clone()).unwrap_or_default();
                if let (false, Some(mode)) = (known.is_empty(), text(update, "currentModeId")) {
                    self.mode_known(&known, mode, out);
                }
            }
            Some("config_option_update") => self.options_sound(update, out),
            Some("available_commands_update") => self.commands_sound(update, out),
            _ => {}
        }
    }

    /// Judges whether the names of commands are unique and do not begin with a slash.
    fn commands_sound(&self, update: &Value, out: &mut FindingSink) {
        let line = [self.now.line];
        let mut names = HashSet::new();
        for name in list(update, "availableCommands").iter().filter_map(|it| text(it, "name")) {
            out.seen(Rule::CommandNames);
            let found = match name.starts_with('/') {
                true => format!("`{name}`"),
                false if names.insert(name) => continue,
                false => format!("`{name}` again"),
            };
            let message = format!(
                "expected commands with unique names without a leading slash, found {found}"
            );
            out.broken(Rule::CommandNames, message, &line);
        }
    }

    /// Judges an update of a session that is being, or was, loaded or resumed. Returns `true` if the update repeats the
    /// earlier conversation and is therefore not part of a turn.
    pub(super) fn told_again(
        &mut self,
        session: &str,
        update: &Value,
        out: &mut FindingSink,
    ) -> bool {
        let line = self.now.line;
        let kind = text(update, "sessionUpdate").unwrap_or_default();
        if !SAID.contains(&kind) {
            return false;
        }
        let Some(conn) = self.conn() else { return false };
        let method = |method: &str| {
            let mut open = conn.ours.values();
            open.find(|asked| asked.method == method && asked.session == session).map(|it| it.line)
        };
        let (loads, resumes) = (method("session/load"), method("session/resume"));
        let Some(known) = conn.sessions.get_mut(session) else { return false };
        if known.turn.is_some() {
            return false;
        }
        if let Some(asked) = resumes {
            let message =
                format!("expected no `{kind}` before the answer to `session/resume`, found one");
            out.broken(Rule::ResumedSilently, message, &[asked, line]);
            return true;
        }
        if loads.is_some() {
            return true;
        }
        if let Some(loaded) = known.loaded.filter(|_| kind == "user_message_chunk") {
            let message = "expected the whole repeated conversation before the answer to \
                           `session/load`, found a part of it afterwards";
            out.broken(Rule::LoadedFirst, message.to_owned(), &[loaded, line]);
        }
        known.loaded.is_some()
    }
}
