//! The canvas channel: a page that an extension shows. Its one action is a whole new state.
//!
//! Knows: nothing but that. Never knows: the members of the state.

use super::payload::{Object, ReducerResult, object};

/// The action's state takes the place of the old one, of which no member stays.
pub(super) fn state_changed(canvas: &mut Object, action: &Object) -> ReducerResult {
    canvas.clone_from(object(action, "canvas")?);
    Ok(())
}
