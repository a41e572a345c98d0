//! The channel of an automation run: the sessions of the run. For the run's other actions, and for the catalogue of
//! automations, rows of the table are enough.
//!
//! Knows: the members of a run's state. Never knows: schedules, the rules for lifecycles.

use crate::wire::json::Value;

use super::NoOp;
use super::list;
use super::payload::{Object, ReducerResult, text};

const SESSIONS: &str = "sessions";
const PRIMARY: &str = "primarySession";

fn position(sessions: &[Value], session: &str) -> Option<usize> {
    sessions.iter().position(|item| item.as_str() == Some(session))
}

/// Appends a session, unless the run has it already.
pub(super) fn session_set(run: &mut Object, action: &Object) -> ReducerResult {
    let session = text(action, "session")?;
    let sessions = list::ensured(run, SESSIONS)?;
    if position(sessions, session).is_some() {
        return Err(NoOp::Unchanged.into());
    }
    sessions.push(Value::from(session));
    Ok(())
}

/// Removes a session. If this is the primary session, the run has no primary session afterwards.
pub(super) fn session_removed(run: &mut Object, action: &Object) -> ReducerResult {
    let session = text(action, "session")?;
    let sessions = list::existing(run, SESSIONS)?.ok_or(NoOp::UnknownSession)?;
    let index = position(sessions, session).ok_or(NoOp::UnknownSession)?;
    sessions.remove(index);
    if run.get(PRIMARY).and_then(Value::as_str) == Some(session) {
        run.remove(PRIMARY);
    }
    Ok(())
}
