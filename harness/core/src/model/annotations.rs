//! The annotations channel: comments on a session's files, each with a thread of entries.
//!
//! The protocol forbids annotations without entries, but the reducers do not prevent them. Instead of removing the last
//! entry of an annotation, a sender has to remove the annotation.
//!
//! Knows: the members of an annotations state. Never knows: files, authors of entries.

use crate::wire::json::Value;

use super::NoOp;
use super::list;
use super::payload::{
    Object, PayloadShape, ReducerResult, assign, key_of, optional, required, text,
};

const ENTRIES: &str = "entries";

fn annotation<'a>(state: &'a mut Object, action: &Object) -> ReducerResult<&'a mut Object> {
    let wanted = text(action, "annotationId")?;
    let annotations = list::existing(state, "annotations")?.ok_or(NoOp::UnknownAnnotation)?;
    list::find(annotations, "id", wanted).ok_or_else(|| NoOp::UnknownAnnotation.into())
}

/// Overwrites the properties of an annotation with those in the action. `provenance` is the member that names
/// the origin of the annotated content. An update cannot clear a property, because null counts as absent.
pub(super) fn updated(
    state: &mut Object,
    action: &Object,
    provenance: (&'static str, PayloadShape),
) -> ReducerResult {
    let properties = [
        provenance,
        ("resource", PayloadShape::Text),
        ("range", PayloadShape::Object),
        ("resolved", PayloadShape::Flag),
    ];
    let mut changes = Vec::with_capacity(properties.len());
    for (name, shape) in properties {
        if let Some(value) = optional(action, name, shape)? {
            changes.push((name, value));
        }
    }
    let annotation = annotation(state, action)?;
    for (name, value) in changes {
        assign(annotation, name, Some(value));
    }
    Ok(())
}

/// Replaces an entry in place, or appends it to the thread.
pub(super) fn entry_set(state: &mut Object, action: &Object) -> ReducerResult {
    let id = key_of(action, "entry", "id")?;
    let entry: &Value = required(action, "entry", PayloadShape::Object)?;
    list::upsert(annotation(state, action)?, ENTRIES, "id", id, entry.clone())
}

/// Removes an entry. The annotation stays, even if it has no entries left.
pub(super) fn entry_removed(state: &mut Object, action: &Object) -> ReducerResult {
    let unwanted = text(action, "entryId")?;
    let entries = list::existing(annotation(state, action)?, ENTRIES)?;
    let removed = entries.is_some_and(|entries| list::remove_first(entries, "id", unwanted));
    if removed { Ok(()) } else { Err(NoOp::UnknownEntry.into()) }
}
