//! Checks session ids: which sessions exist, and which messages name them.
//!
//! Knows: ids of sessions. Never knows: the content of sessions.

use crate::oracle::members::text;
use crate::wire::json::Value;

use super::catalogue::Rule;
use super::state::OpenAgentRequest;
use super::{AgentFold, FindingSink};

impl AgentFold {
    /// Judges and records the id of a session that the agent created.
    pub(super) fn session_made(
        &mut self,
        asked: &OpenAgentRequest,
        id: &str,
        out: &mut FindingSink,
    ) {
        let line = self.now.line;
        let Some(conn) = self.conn() else { return };
        out.seen(Rule::SessionIds);
        if conn.whole && conn.has_session(id) {
            let message = format!(
                "expected an id that no other session of the connection has, found `{id}` again"
            );
            out.broken(Rule::SessionIds, message, &[asked.line, line]);
        }
        conn.make_session(id);
    }

    /// Frees the id of a session that was closed or deleted.
    pub(super) fn session_gone(&mut self, id: &str) {
        if let Some(session) = self.conn().and_then(|conn| conn.sessions.get_mut(id)) {
            session.made = false;
        }
    }

    /// Judges whether a session that the agent names exists. While a session is being created, the agent may
    /// use its id before the client knows the id.
    pub(super) fn session_known(&mut self, params: &Value, out: &mut FindingSink) {
        let line = self.now.line;
        let Some(id) = text(params, "sessionId") else { return };
        let Some(conn) = self.conn().filter(|conn| conn.whole) else { return };
        let mut open = conn.ours.values();
        if open.any(|asked| matches!(asked.method.as_str(), "session/new" | "session/fork")) {
            return;
        }
        out.seen(Rule::SessionsThere);
        if !conn.has_session(id) {
            let message = format!(
                "expected an existing session, found `{id}`, which the connection does not have"
            );
            out.broken(Rule::SessionsThere, message, &[line]);
        }
    }
}
