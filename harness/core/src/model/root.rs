//! The configuration action, which the root channel and sessions share. For the other root actions, rows of the table
//! are enough.
//!
//! Knows: the state's `config`. Never knows: the meaning of the values.

use crate::wire::json::Value;

use super::NoOp;
use super::payload::{Object, PayloadShape, ReducerResult, given, object, optional};

/// Merges values shallowly into `config.values`, or replaces them. A merge deletes nothing, and stores null as
/// a value. The schema stays.
///
/// Source: requirement reducer.root.configChanged, reducer.session.configChanged.
pub(super) fn config_changed(state: &mut Object, action: &Object) -> ReducerResult {
    let changes = object(action, "config")?;
    let replace = optional(action, "replace", PayloadShape::Flag)? == Some(&Value::Bool(true));
    if given(state, "config").is_none() {
        return Err(NoOp::NoConfig.into());
    }
    let config = state.get_mut("config").and_then(Value::as_object_mut);
    let config = config.ok_or(NoOp::MalformedState)?;
    if replace || given(config, "values").is_none() {
        config.insert("values", Value::Object(changes.clone()));
        return Ok(());
    }
    let values = config.get_mut("values").and_then(Value::as_object_mut);
    let values = values.ok_or(NoOp::MalformedState)?;
    for (name, value) in changes {
        values.insert(name.clone(), value.clone());
    }
    Ok(())
}
