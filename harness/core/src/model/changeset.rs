//! The changeset channel: changed files, and the operations that can be run on them.
//!
//! Knows: the members of a changeset's state. Never knows: edits, repositories, the effect of operations.
//!
//! Start at [`ChangesetTransition`].

use std::collections::HashSet;

use crate::wire::json::Value;

use super::NoOp;
use super::list;
use super::payload::{
    Object, PayloadShape, ReducerResult, assign, flag, optional, required, text, text_of, texts,
};

const FILES: &str = "files";
const OPERATIONS: &str = "operations";

/// The status that an action sets for a changeset or for an operation, with the error of this status.
struct ChangesetTransition<'a> {
    status: &'a str,
    error: Option<&'a Value>,
}

impl<'a> ChangesetTransition<'a> {
    /// Reads the status in an action, and its error. Only the status `error` has an error; with any other status, the
    /// member `error` of the action is ignored.
    fn read(action: &'a Object) -> ReducerResult<ChangesetTransition<'a>> {
        let status = text(action, "status")?;
        let failed = status == "error";
        let error = if failed { optional(action, "error", PayloadShape::Object)? } else { None };
        Ok(ChangesetTransition { status, error })
    }

    fn enter(&self, target: &mut Object) {
        assign(target, "status", Some(&Value::from(self.status)));
        assign(target, "error", self.error);
    }
}

/// Changes the status of the changeset. The files stay.
pub(super) fn status_changed(changeset: &mut Object, action: &Object) -> ReducerResult {
    ChangesetTransition::read(action)?.enter(changeset);
    Ok(())
}

/// Changes the status of an operation.
pub(super) fn operation_status_changed(changeset: &mut Object, action: &Object) -> ReducerResult {
    let wanted = text(action, "operationId")?;
    let transition = ChangesetTransition::read(action)?;
    let operations = list::existing(changeset, OPERATIONS)?.ok_or(NoOp::UnknownOperation)?;
    let operation = list::find(operations, "id", wanted).ok_or(NoOp::UnknownOperation)?;
    transition.enter(operation);
    Ok(())
}

/// Replaces the files, and also the operations if the action has any. The status and its error stay.
pub(super) fn content_changed(changeset: &mut Object, action: &Object) -> ReducerResult {
    let files = required(action, FILES, PayloadShape::List)?;
    let operations = optional(action, OPERATIONS, PayloadShape::List)?;
    assign(changeset, FILES, Some(files));
    if operations.is_some() {
        assign(changeset, OPERATIONS, operations);
    }
    Ok(())
}

/// Replaces the content as versions before 0.9.0 define it: the action also sets the error, or clears the error if the
/// action has none. The status stays.
pub(super) fn content_changed_with_error(changeset: &mut Object, action: &Object) -> ReducerResult {
    let error = optional(action, "error", PayloadShape::Object)?;
    content_changed(changeset, action)?;
    assign(changeset, "error", error);
    Ok(())
}

/// Marks the files in the action's list `member` as reviewed or not reviewed. Ids that belong to no file are ignored.
/// The state of a file that was never marked differs from the state of a file that is marked as not reviewed.
pub(super) fn files_reviewed(
    changeset: &mut Object,
    action: &Object,
    member: &str,
) -> ReducerResult {
    let wanted: HashSet<&str> = texts(action, member)?.into_iter().collect();
    let reviewed = Value::Bool(flag(action, "reviewed")?);
    let files = list::existing(changeset, FILES)?.ok_or(NoOp::UnknownFile)?;
    let mut outcome = Err(NoOp::UnknownFile.into());
    for file in files.iter_mut().filter_map(Value::as_object_mut) {
        if !text_of(file, "id").is_some_and(|id| wanted.contains(id)) {
            continue;
        }
        if file.get("reviewed") != Some(&reviewed) {
            assign(file, "reviewed", Some(&reviewed));
            outcome = Ok(());
        } else if outcome.is_err() {
            outcome = Err(NoOp::Unchanged.into());
        }
    }
    outcome
}

/// Removes all files. The operations stay.
pub(super) fn cleared(changeset: &mut Object, _action: &Object) -> ReducerResult {
    let files = list::existing(changeset, FILES)?.ok_or(NoOp::Unchanged)?;
    if files.is_empty() {
        return Err(NoOp::Unchanged.into());
    }
    files.clear();
    Ok(())
}
