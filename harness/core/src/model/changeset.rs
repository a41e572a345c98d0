//! The changeset channel: changed files, and the operations that can be run on them.
//!
//! Knows: the members of a changeset's state. Never knows: edits, repositories, what an operation
//! does.
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

/// A status and the error that belongs to it.
struct ChangesetTransition<'a> {
    status: &'a str,
    error: Option<&'a Value>,
}

impl<'a> ChangesetTransition<'a> {
    /// The error belongs to the status `error`: it is the action's there, and none with every other
    /// status, whatever the action carries.
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

/// The computation of the changeset goes on, ends or fails. The files stay what they are.
pub(super) fn status_changed(changeset: &mut Object, action: &Object) -> ReducerResult {
    ChangesetTransition::read(action)?.enter(changeset);
    Ok(())
}

/// An operation begins, ends or fails.
pub(super) fn operation_status_changed(changeset: &mut Object, action: &Object) -> ReducerResult {
    let wanted = text(action, "operationId")?;
    let transition = ChangesetTransition::read(action)?;
    let operations = list::existing(changeset, OPERATIONS)?.ok_or(NoOp::UnknownOperation)?;
    let operation = list::find(operations, "id", wanted).ok_or(NoOp::UnknownOperation)?;
    transition.enter(operation);
    Ok(())
}

/// Replaces the files, and the operations where the action has some. The status and its error stay.
pub(super) fn content_changed(changeset: &mut Object, action: &Object) -> ReducerResult {
    let files = required(action, FILES, PayloadShape::List)?;
    let operations = optional(action, OPERATIONS, PayloadShape::List)?;
    assign(changeset, FILES, Some(files));
    if operations.is_some() {
        assign(changeset, OPERATIONS, operations);
    }
    Ok(())
}

/// Before 0.9.0 the content came with an error, which is cleared where it has none; the status
/// stays all the same.
pub(super) fn content_changed_with_error(changeset: &mut Object, action: &Object) -> ReducerResult {
    let error = optional(action, "error", PayloadShape::Object)?;
    content_changed(changeset, action)?;
    assign(changeset, "error", error);
    Ok(())
}

/// Marks the files that the action's list `member` names as reviewed or not. Ids that no file has
/// are passed over. A file without the mark is not a file marked as not reviewed.
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

/// Drops all files; the operations stay.
pub(super) fn cleared(changeset: &mut Object, _action: &Object) -> ReducerResult {
    let files = list::existing(changeset, FILES)?.ok_or(NoOp::Unchanged)?;
    if files.is_empty() {
        return Err(NoOp::Unchanged.into());
    }
    files.clear();
    Ok(())
}
