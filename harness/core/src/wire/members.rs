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

/// The description of a type of the tables for a reader.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TypeDescription {
    /// The form of the values, such as `object`, `string` or `"a" | "b"`.
    pub form: String,
    /// The members of an object.
    pub members: Vec<MemberRow>,
    /// The variants of an object: the member that distinguishes them with its value, such as `kind: user`, and the type
    /// of the variant.
    pub variants: Vec<(String, String)>,
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

    /// Returns the description of a type, such as `Turn`; `None` if this version has no type with this name.
    pub fn described_type(&self, name: &str) -> Option<TypeDescription> {
        let id = self.shapes.named(name).filter(|id| self.shapes.label(*id) == name)?;
        let (mut form, mut variants) = (self.form(id, 0), Vec::new());
        match self.shapes.get(id) {
            ValueShape::Enum { values, open } => form = listed(values, *open, usize::MAX),
            ValueShape::Union(union) => {
                form = format!("object, distinguished by `{}`", union.tag);
                let variant = |(value, id): &(String, TypeId)| match value.as_str() {
                    "" => (format!("no {}", union.tag), self.spelled(*id, 0)),
                    value => (format!("{}: {value}", union.tag), self.spelled(*id, 0)),
                };
                variants = union.variants.iter().map(variant).collect();
            }
            _ => {}
        }
        Some(TypeDescription { form, members: self.members(id), variants })
    }

    /// Returns the names of the types.
    pub fn type_names(&self) -> Vec<String> {
        self.shapes.names_of_types().into_values().collect()
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
        let is_enum = matches!(self.shapes.get(id), ValueShape::Enum { .. });
        match label {
            label if !label.is_empty() && !is_enum => label.to_owned(),
            _ => self.form(id, depth),
        }
    }

    /// Returns the text of a type without its own name.
    fn form(&self, id: TypeId, depth: usize) -> String {
        let nested = |id: &TypeId| self.spelled(*id, depth + 1);
        match self.shapes.get(id) {
            ValueShape::Enum { values, open } => listed(values, *open, VALUES),
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

/// Returns the text of an enumeration: at most this number of values, and `..` if there are others.
fn listed(values: &[String], open: bool, most: usize) -> String {
    let mut words: Vec<String> =
        values.iter().take(most).map(|word| format!("\"{word}\"")).collect();
    if open || values.len() > most {
        words.push("..".to_owned());
    }
    words.join(" | ")
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

    #[test]
    fn describes_types_of_every_form() {
        let newest = Protocol::of(Version::V1_0).expect("the table exists");
        let described = |name: &str| newest.described_type(name).expect("the type exists");
        let turn = described("Turn");
        assert_eq!((turn.form.as_str(), turn.variants.len()), ("object", 0));
        assert!(turn.members.iter().any(|row| row.name == "responseParts"), "{turn:?}");
        let mut unions = 0;
        for name in newest.type_names() {
            let it = described(&name);
            assert!(!it.form.is_empty() && it.form != name, "{name}: {it:?}");
            unions += usize::from(!it.variants.is_empty());
        }
        assert!(unions > 3, "{unions} unions");
        assert_eq!(newest.described_type("Turn[]"), None);
        assert_eq!(newest.described_type("Nothing"), None);
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
