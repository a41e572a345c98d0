//! The ordered set of working directories of a session or chat.
//!
//! Knows: the list `workingDirectories`. Never knows: file systems, the rules for directories of chats.

use crate::wire::json::Value;

use super::NoOp;
use super::list;
use super::payload::{Object, ReducerResult, text};

const DIRECTORIES: &str = "workingDirectories";

fn position(items: &[Value], directory: &str) -> Option<usize> {
    items.iter().position(|item| item.as_str() == Some(directory))
}

/// Appends a directory, unless the set has it already.
pub(super) fn set(state: &mut Object, action: &Object) -> ReducerResult {
    let directory = text(action, "directory")?;
    let items = list::ensured(state, DIRECTORIES)?;
    if position(items, directory).is_some() {
        return Err(NoOp::Unchanged.into());
    }
    items.push(Value::from(directory));
    Ok(())
}

/// Removes a directory. An empty list stays.
pub(super) fn removed(state: &mut Object, action: &Object) -> ReducerResult {
    let directory = text(action, "directory")?;
    let items = list::existing(state, DIRECTORIES)?.ok_or(NoOp::UnknownDirectory)?;
    position(items, directory).ok_or(NoOp::UnknownDirectory)?;
    items.retain(|item| item.as_str() != Some(directory));
    Ok(())
}

/// Replaces a directory with another one. The set contains each directory once, at the earlier of its two
/// places: `[A, B, C]` becomes `[A, C]` if B is replaced with C, and `[A, B]` if C is replaced with A.
///
/// Source: requirement reducer.session.workingDirectoryReplaced.
pub(super) fn replaced(state: &mut Object, action: &Object) -> ReducerResult {
    let directory = text(action, "directory")?;
    let replacement = text(action, "replacement")?;
    let items = list::existing(state, DIRECTORIES)?.ok_or(NoOp::UnknownDirectory)?;
    let index = position(items, directory).ok_or(NoOp::UnknownDirectory)?;
    if position(items, replacement).is_some_and(|other| other < index) {
        items.remove(index);
        return Ok(());
    }
    let mut at = 0;
    items.retain(|item| {
        at += 1;
        at - 1 <= index || item.as_str() != Some(replacement)
    });
    if let Some(slot) = items.get_mut(index) {
        *slot = Value::from(replacement);
    }
    Ok(())
}
