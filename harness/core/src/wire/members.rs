//! Lists the members of actions, params and results, as the tables of the protocol define them.
//!
//! Knows: the tables. Never knows: messages.

use super::protocol::Protocol;
use super::shape::{MemberPresence, TypeId, ValueShape};

/// The description of an object's member for a reader.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct MemberRow {
    /// The name of the member.
    pub name: String,
    /// Whether the member may be missing.
    pub optional: bool,
    /// The type of the member's value, such as `string`, `Turn[]` or `"a" | "b"`.
    pub value: String,
}

/// The maximum number of values of an enumeration that are listed.
const VALUES: usize = 12;
/// The maximum depth to which the text of a type shows the types within it.
const DEEPEST: usize = 4;

impl Protocol {
    /// Returns the members of an action; `None` if this version has no such action.
    pub fn action_members(&self, action_type: &str) -> Option<Vec<MemberRow>> {
        Some(self.members(self.action(action_type)?.shape))
    }

    /// Returns the members of a method's params; `None` if this version has no such method.
    pub fn param_members(&self, method: &str) -> Option<Vec<MemberRow>> {
        Some(self.members(self.method(method)?.params))
    }

    /// Returns the members of a method's result; `None` for notifications and unknown methods.
    pub fn result_members(&self, method: &str) -> Option<Vec<MemberRow>> {
        Some(self.members(self.method(method)?.result?))
    }

    fn members(&self, id: TypeId) -> Vec<MemberRow> {
        match self.shapes.get(id) {
            ValueShape::Record(members) => {
                let row = |member: &super::shape::ObjectMember| MemberRow {
                    name: member.name.clone(),
                    optional: member.presence != MemberPresence::Required,
                    value: self.spelled(member.shape, 0),
                };
                members.iter().map(row).collect()
            }
            ValueShape::AnyOf(ids) => ids.iter().flat_map(|id| self.members(*id)).collect(),
            _ => Vec::new(),
        }
    }

    /// Returns the text of a type: an enumeration is written as its values, and any other type by its name if the
    /// tables name it.
    fn spelled(&self, id: TypeId, depth: usize) -> String {
        let label = self.shapes.label(id);
        let nested = |id: &TypeId| self.spelled(*id, depth + 1);
        match self.shapes.get(id) {
            ValueShape::Enum { values, open } => {
                let shown = values.iter().take(VALUES);
                let mut words: Vec<String> = shown.map(|word| format!("\"{word}\"")).collect();
                if *open || values.len() > VALUES {
                    words.push("..".to_owned());
                }
                words.join(" | ")
            }
            _ if !label.is_empty() => label.to_owned(),
            _ if depth > DEEPEST => "object".to_owned(),
            ValueShape::Any => "any value".to_owned(),
            ValueShape::String => "string".to_owned(),
            ValueShape::Uri => "URI".to_owned(),
            ValueShape::Boolean => "boolean".to_owned(),
            ValueShape::Integer | ValueShape::Natural => "integer".to_owned(),
            ValueShape::Number => "number".to_owned(),
            ValueShape::Null => "null".to_owned(),
            ValueShape::State => "the state of a channel".to_owned(),
            ValueShape::Action => "an action".to_owned(),
            ValueShape::Literal(text) => format!("\"{text}\""),
            ValueShape::List(item) => format!("{}[]", nested(item)),
            ValueShape::Map(item) => format!("{{ [key]: {} }}", nested(item)),
            ValueShape::AnyOf(ids) => ids.iter().map(nested).collect::<Vec<String>>().join(" | "),
            ValueShape::Object
            | ValueShape::Record(_)
            | ValueShape::Union(_)
            | ValueShape::Unresolved => "object".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::version::Version;

    #[test]
    fn lists_members_with_their_types() {
        let newest = Protocol::of(Version::V1_0).expect("the table exists");
        let members = newest.action_members("chat/turnCancelled").expect("the action exists");
        let duration = members.iter().find(|row| row.name == "duration").expect("a member");
        assert_eq!((duration.optional, duration.value.as_str()), (false, "integer"));
        let params = newest.param_members("subscribe").expect("the method exists");
        assert!(params.iter().any(|row| row.name == "channel" && !row.optional), "{params:?}");
        let result = newest.result_members("subscribe").expect("a request has a result");
        assert!(result.iter().any(|row| row.name == "snapshot"), "{result:?}");
        assert_eq!(newest.action_members("chat/unknown"), None);
    }

    /// Checks that every member of every action and method has a type that can be written as text, in every version.
    #[test]
    fn every_row_of_the_tables_can_be_listed() {
        for version in Version::played() {
            let protocol = Protocol::of(*version).expect("the table exists");
            for row in protocol.actions() {
                let members = protocol.action_members(&row.action_type).unwrap_or_default();
                assert!(members.iter().all(|it| !it.value.is_empty()), "{version} {members:?}");
            }
        }
    }
}
