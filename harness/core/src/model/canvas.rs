//! The canvas channel: a page that an extension shows. The only action of the channel replaces the whole state.
//!
//! Knows: this action. Never knows: the members of the state.

use super::payload::{Object, ReducerResult, object};

/// Replaces the state with the state in the action. No member of the old state is kept.
pub(super) fn state_changed(canvas: &mut Object, action: &Object) -> ReducerResult {
    canvas.clone_from(object(action, "canvas")?);
    Ok(())
}
