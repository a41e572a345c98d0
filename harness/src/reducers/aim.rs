//! Replaces the identifiers in a generated action by identifiers that occur in the state to which the action is
//! applied.
//!
//! The replacement uses only the names of members, so it works for new actions as soon as the protocol tables
//! contain them.
//!
//! Knows: names of members. Never knows: single actions.

use litemap::LiteMap;

use crate::dice::Dice;
use crate::wire::json::{Map, Value, json};

/// For members of actions that refer to a member of the state with another name: the name in the action, and the name
/// in the state.
const ALIASES: &[(&str, &str)] = &[
    ("turnId", "id"),
    ("partId", "id"),
    ("requestId", "id"),
    ("queuedMessageId", "id"),
    ("fileId", "id"),
    ("annotationId", "id"),
    ("entryId", "id"),
    ("operationId", "id"),
    ("automationId", "id"),
    ("runId", "id"),
    ("customizationId", "id"),
    ("selectedOptionId", "id"),
    ("chat", "resource"),
    ("defaultChat", "resource"),
    ("directory", "workingDirectories"),
    ("workingDirectory", "workingDirectories"),
];

/// The members of actions that set the order of a list, each with the name of the list in the state.
const ORDERS: &[(&str, &str)] =
    &[("order", "queuedMessages"), ("chats", "chats"), ("fileIds", "files"), ("files", "files")];

/// Returns whether a member of this name contains an identifier of an object in the state.
pub(crate) fn is_reference(name: &str) -> bool {
    const NAMES: &[&str] =
        &["id", "resource", "uri", "chat", "defaultChat", "directory", "workingDirectory"];
    NAMES.contains(&name) || name.ends_with("Id") || name.ends_with("Directory")
}

/// The identifiers in a state that an action can refer to.
#[derive(Debug, Default)]
pub(crate) struct StateTargets {
    active_turn: Option<String>,
    /// The strings of the state by the name of their member, and the elements of string lists by the name of the list.
    by_name: LiteMap<String, Vec<String>>,
    /// The identifiers of the entries in each list of the state, in order, by the name of the list.
    lists: LiteMap<String, Vec<String>>,
}

impl StateTargets {
    /// Collects the identifiers of a state.
    pub(crate) fn of(state: &Value) -> StateTargets {
        let active = state.pointer("/activeTurn/id").and_then(Value::as_str);
        let mut targets =
            StateTargets { active_turn: active.map(str::to_owned), ..StateTargets::default() };
        targets.collect("", state);
        targets
    }

    fn collect(&mut self, name: &str, value: &Value) {
        match value {
            Value::String(text) if !name.is_empty() => {
                self.by_name.entry(name.to_owned()).or_default().push(text.to_string());
            }
            Value::Array(items) => {
                let id = |item: &Value| {
                    let id = item.get("id").or_else(|| item.get("resource"))?;
                    id.as_str().map(str::to_owned)
                };
                let ids: Vec<String> = items.iter().filter_map(id).collect();
                if !ids.is_empty() {
                    self.lists.entry(name.to_owned()).or_insert(ids);
                }
                for item in items {
                    self.collect(name, item);
                }
            }
            Value::Object(members) => {
                for (name, value) in members {
                    self.collect(name, value);
                }
            }
            _ => {}
        }
    }

    /// Replaces the identifiers of an action by identifiers of the state.
    pub(crate) fn aim(&self, dice: &mut Dice, value: &mut Value) {
        let Value::Object(members) = value else { return };
        for (name, member) in members.iter_mut() {
            if name == "type" || name == "kind" {
                continue;
            }
            match member {
                Value::String(_) => {
                    if let Some(aimed) = self.target(dice, name) {
                        *member = Value::from(aimed);
                    }
                }
                Value::Array(items) if !items.is_empty() && items.iter().all(Value::is_string) => {
                    if let Some(order) = self.order(dice, name) {
                        *member = order;
                    }
                }
                // A nested object is a value that the action sets or adds. The identifier of the object decides which
                // entry of the state it replaces.
                Value::Object(inner) => self.aim_inner(dice, inner),
                _ => {}
            }
        }
    }

    fn aim_inner(&self, dice: &mut Dice, inner: &mut Map) {
        for (name, member) in inner.iter_mut() {
            if member.is_string()
                && is_reference(name)
                && dice.chance(40)
                && let Some(aimed) = self.target(dice, name)
            {
                *member = Value::from(aimed);
            }
        }
    }

    fn target(&self, dice: &mut Dice, name: &str) -> Option<String> {
        if !is_reference(name) {
            return None;
        }
        // An action nearly always refers to the active turn.
        if name == "turnId"
            && dice.chance(85)
            && let Some(id) = &self.active_turn
        {
            return Some(id.clone());
        }
        let same = self.by_name.get(name);
        let alias = ALIASES.iter().find(|(from, _)| *from == name);
        let alias = alias.and_then(|(_, to)| self.by_name.get(*to));
        let pools: Vec<&Vec<String>> = same.into_iter().chain(alias).collect();
        let pool = *dice.pick(&pools)?;
        if dice.chance(92) { dice.pick(pool).cloned() } else { None }
    }

    /// Returns a shuffled list of identifiers for a member that sets an order. The list usually contains every
    /// identifier.
    fn order(&self, dice: &mut Dice, name: &str) -> Option<Value> {
        let (_, source) = ORDERS.iter().find(|(member, _)| *member == name)?;
        let mut ids = self.lists.get(*source)?.clone();
        dice.shuffle(&mut ids);
        if dice.chance(60) {
            ids.truncate(dice.below(ids.len() + 1));
        }
        if dice.chance(10) {
            ids.push("unknown".to_owned());
        }
        if dice.chance(10) {
            let twice = ids.first().cloned();
            ids.extend(twice);
        }
        Some(json!(ids))
    }
}
