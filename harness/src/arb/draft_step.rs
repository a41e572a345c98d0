//! A step of a draft as a JSON value: its verb and members, the names in it, and changes of its members.
//!
//! Knows: the verbs and their members. Never knows: drafts, the generation of steps.
//!
//! Start at [`verb_of`].

use crate::scenario::bind::SESSION;
use crate::scenario::verbs::{VERBS, VerbRow};
use crate::wire::json::{Map, Value, json};

/// Returns the requirement of a step.
pub fn rule_of(step: &Value) -> Option<String> {
    let (_, members) = step.as_object()?.iter().next()?;
    members.get("proves")?.as_str().map(str::to_owned)
}

/// Removes waits that are not claims and bind only unused names. Such a wait stays if a later wait of the same kind
/// would otherwise match its message.
pub fn prune(steps: &mut Vec<Value>) {
    let mut kept: Vec<Value> = Vec::new();
    let mut later = String::new();
    let mut past: Vec<[Value; 4]> = Vec::new();
    for step in steps.drain(..).rev() {
        let text = step.to_string();
        let proves = rule_of(&step).is_some();
        let binds = step.get("expect").is_some() && !proves && text.contains("$bind ");
        let used = text.split("$bind ").skip(1).any(|rest| {
            let name: String = rest.chars().take_while(|c| c.is_ascii_alphanumeric()).collect();
            later.contains(&format!("${{{name}}}"))
        });
        let kind = ["at", "type", "method", "channel"].map(|name| step["expect"][name].clone());
        if !binds || used || past.contains(&kind) {
            if binds {
                past.push(kind);
            }
            later.push_str(&text);
            kept.push(step);
        }
    }
    kept.reverse();
    *steps = kept;
}

/// Returns the names that the text of a step binds.
pub fn bound(text: &str) -> Vec<String> {
    let text = text.replace("${new chat ", "${new ");
    let starts = ["$bind ", "${new "];
    let rests = starts.iter().flat_map(|start| text.split(start).skip(1));
    let names = rests.map(|rest| rest.chars().take_while(char::is_ascii_alphanumeric).collect());
    names.collect()
}

/// Returns the verb of a step and its members.
pub fn verb_of(step: &Value) -> Option<(&'static str, &Value)> {
    let (name, members) = step.as_object()?.iter().next()?;
    let row = VERBS.iter().find(|row| row.name == &**name)?;
    Some((row.name, members))
}

/// Returns the mutable members of a step.
pub fn members_mut(step: &mut Value) -> Option<&mut Map> {
    step.as_object_mut()?.iter_mut().next()?.1.as_object_mut()
}

/// Returns the row of a step's verb.
pub fn row_of(step: &Value) -> Option<&'static VerbRow> {
    let (verb, _) = verb_of(step)?;
    VERBS.iter().find(|row| row.name == verb)
}

/// Returns the clients that a step names.
pub fn clients_of(step: &Value) -> Vec<String> {
    let Some((_, members)) = verb_of(step) else { return Vec::new() };
    let fields = row_of(step).into_iter().flat_map(VerbRow::client_members);
    fields.filter_map(|name| members.get(name)).flat_map(names).collect()
}

/// Returns the names in a value that is a name or a list of names.
pub fn names(value: &Value) -> Vec<String> {
    match value {
        Value::String(name) => vec![name.to_string()],
        Value::Array(names) => {
            names.iter().filter_map(|it| it.as_str().map(str::to_owned)).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the step with each `${new name}` replaced by `${name}`.
pub fn minted(step: &Value) -> Value {
    match step {
        Value::String(text) => {
            let text = text.replace("${new chat ", "${new ");
            // In a placeholder, the text after the name is the session to which a chat belongs.
            let used = |part: &str| match part.split_once('}') {
                Some((name, rest)) => {
                    let name = name.split_once(" in ").map_or(name, |(name, _)| name);
                    format!("${{{name}}}{rest}")
                }
                None => format!("${{new {part}"),
            };
            let mut parts = text.split("${new ");
            let first = parts.next().unwrap_or_default().to_owned();
            json!(parts.fold(first, |text, part| text + &used(part)))
        }
        Value::Array(items) => items.iter().map(minted).collect(),
        Value::Object(members) => Value::Object(
            members.iter().map(|(key, value)| (key.to_string(), minted(value))).collect(),
        ),
        other => other.clone(),
    }
}

/// Returns the params of a request. If `chat` is a new chat, its name is bound to the session of the request.
pub fn with_chat_of_session(mut params: Value) -> Value {
    let session =
        params["channel"].as_str().and_then(|it| it.strip_prefix("${")?.strip_suffix('}'));
    let session = session.filter(|name| *name != SESSION).map(str::to_owned);
    let chat = params["chat"].as_str().filter(|it| it.starts_with("${new chat "));
    if let Some((session, chat)) = session.zip(chat.and_then(|it| it.strip_suffix('}'))) {
        params["chat"] = json!(format!("{chat} in {session}}}"));
    }
    params
}

/// Replaces each member, at any depth, for which `by` returns another value.
pub fn replace(value: &mut Value, by: &mut dyn FnMut(&str, &Value) -> Option<Value>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members.iter_mut() {
                match by(name, member) {
                    Some(other) => *member = other,
                    None => replace(member, by),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, by)),
        _ => {}
    }
}

/// Removes a member of an action.
pub fn drop_member(action: &mut Value, name: &str) {
    if let Some(members) = action.as_object_mut() {
        members.remove(name);
    }
}
