//! Visits the objects of a message together with the names of their types, so that a caller can change the objects.
//!
//! An object of an unnamed type is visited with an empty name, and an unnamed variant with the name of its union. The
//! visit skips unknown members. The visit also skips actions that a client sent, because a host has to echo such
//! actions unchanged.
//!
//! Knows: the tables. Never knows: the changes, the validity of results.
//!
//! Start at [`Protocol::visit_records`].

use super::channel::ChannelKind;
use super::json::{Map, Value};
use super::protocol::{ActionRow, Protocol};
use super::shape::{ObjectMember, TypeId, ValueShape};
use super::walk::admits;

/// A callback that receives the name of a type, or the `type` of an action, and an object of that type.
pub type RecordVisitor<'v> = dyn FnMut(&str, &mut Map) + 'v;

impl Protocol {
    /// Calls `visit` for each object in the params of a notification or a request, and in the result of a
    /// response. `answers` is the method of the request that a response answers. Outer objects come first.
    pub fn visit_records(
        &self,
        message: &mut Value,
        answers: Option<&str>,
        visit: &mut RecordVisitor<'_>,
    ) {
        let method = message.get("method").and_then(Value::as_str);
        let (id, member) = match method {
            Some(method) => (self.method(method).map(|row| row.params), "params"),
            None => (answers.and_then(|it| self.method(it)).and_then(|row| row.result), "result"),
        };
        if let Some((id, value)) = id.zip(message.get_mut(member)) {
            self.visit_value(self.shapes.label(id), id, value, visit);
        }
    }

    /// Visits a value of one type. The recursion is bounded by the depth of the JSON.
    fn visit_value(
        &self,
        label: &str,
        id: TypeId,
        value: &mut Value,
        visit: &mut RecordVisitor<'_>,
    ) {
        let mut below = |id: TypeId, value: &mut Value| {
            self.visit_value(self.shapes.label(id), id, value, visit);
        };
        match (self.shapes.get(id), value) {
            (ValueShape::List(item), Value::Array(items)) => {
                items.iter_mut().for_each(|value| below(*item, value));
            }
            (ValueShape::Map(item), Value::Object(members)) => {
                members.values_mut().for_each(|value| below(*item, value));
            }
            (ValueShape::Record(known), Value::Object(object)) => {
                visit(label, object);
                for member in known {
                    self.visit_member(member, object, visit);
                }
            }
            (ValueShape::Union(union), value) => {
                if let Some(id) = union.variant_of(value) {
                    let label =
                        Some(self.shapes.label(id)).filter(|own| !own.is_empty()).unwrap_or(label);
                    self.visit_value(label, id, value, visit);
                }
            }
            (ValueShape::AnyOf(ids), value) => {
                let fits = ids.iter().find(|id| admits(self.shapes.get(**id), value));
                fits.into_iter().for_each(|id| below(*id, value));
            }
            _ => {}
        }
    }

    fn visit_member(&self, member: &ObjectMember, object: &mut Map, visit: &mut RecordVisitor<'_>) {
        if matches!(self.shapes.get(member.shape), ValueShape::Action) {
            if let Some(row) = self.host_action_in(object, &member.name)
                && let Some(action) = object.get_mut(&member.name)
            {
                self.visit_value(&row.action_type, row.shape, action, visit);
            }
            return;
        }
        let id = match self.shapes.get(member.shape) {
            ValueShape::State => self.state_beside(object),
            _ => Some(member.shape),
        };
        if let Some((id, value)) = id.zip(object.get_mut(&member.name)) {
            self.visit_value(self.shapes.label(id), id, value, visit);
        }
    }

    /// Returns the type of the state in a snapshot. The URI of the snapshot's resource determines the type.
    /// Before 0.2.0 the scheme of a session's URI is the provider's name, so the members of the state determine
    /// the type.
    fn state_beside(&self, snapshot: &Map) -> Option<TypeId> {
        let resource = snapshot.get("resource").and_then(Value::as_str)?;
        let fits = |kind: &ChannelKind| {
            let known = self.has_type(kind.state_type());
            let state = snapshot.get("state").filter(|_| known);
            state.is_some_and(|state| self.check_state(*kind, state).is_empty())
        };
        let kind = ChannelKind::promised_by(resource).or_else(|| ChannelKind::all().find(fits))?;
        self.shapes.named(kind.state_type())
    }

    /// Returns the row of the action in an envelope; `None` if a client sent the action.
    fn host_action_in(&self, envelope: &Map, member: &str) -> Option<&ActionRow> {
        if envelope.get("origin").is_some_and(|origin| !origin.is_null()) {
            return None;
        }
        let name = envelope.get(member)?.get("type")?.as_str()?;
        self.action(name)
    }
}

#[cfg(test)]
mod tests {
    use crate::wire::json::json;
    use crate::wire::version::Version;

    use super::*;

    fn names(message: &mut Value, answers: Option<&str>) -> Vec<String> {
        let mut names = Vec::new();
        let protocol = Protocol::of(Version::V1_0).unwrap();
        protocol.visit_records(message, answers, &mut |name, _| names.push(name.to_owned()));
        names
    }

    #[test]
    fn finds_states_and_their_records() {
        let turn = json!({"id": "t", "message": {"text": "a", "origin": {"kind": "user"}}});
        let state = json!({"turns": [turn]});
        let snapshot = json!({"resource": "ahp-chat:/c", "fromSeq": 1, "state": state});
        let mut message = json!({"id": 1, "result": {"snapshot": snapshot}});
        let found = names(&mut message, Some("subscribe"));
        for name in ["SubscribeResult", "Snapshot", "ChatState", "Turn", "Message"] {
            assert!(found.iter().any(|it| it == name), "{name} is missing in {found:?}");
        }
        assert_eq!(names(&mut message, Some("no such method")), [""; 0]);
    }

    #[test]
    fn changes_actions_of_the_host_and_leaves_those_of_clients_alone() {
        let action = json!({"type": "chat/usage", "turnId": "t", "usage": {"inputTokens": 1}});
        let envelope = json!({"channel": "ahp-chat:/c", "serverSeq": 1, "action": action});
        let mut message = json!({"method": "action", "params": envelope});
        assert!(names(&mut message, None).iter().any(|it| it == "UsageInfo"));
        message["params"]["origin"] = json!({"clientId": "A", "clientSeq": 1});
        assert!(names(&mut message, None).iter().all(|it| it != "UsageInfo"));
    }
}
