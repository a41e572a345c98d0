//! Removes from a value the members that a newer version of the protocol defines and an older version does not.
//!
//! Most additions of a version are members. Messages are built in the newest version, also for a peer of an older
//! version. The tables of both versions show which members are new, so the sender does not need a list of these
//! members. Members that neither table names are extensions and stay.
//!
//! Knows: the tables. Never knows: renamings between versions.
//!
//! Start at [`Protocol::trim`].

use crate::wire::json::Value;

use super::channel::ChannelKind;
use super::protocol::Protocol;
use super::shape::{TaggedUnion, TypeId, ValueShape};
use super::walk::admits;

/// A type, named by its role in messages or by its name in a protocol table.
#[derive(Clone, Copy, Debug)]
pub enum TrimType<'a> {
    /// The params of a method.
    Params(&'a str),
    /// The result of a method.
    Result(&'a str),
    /// The action with this type.
    Action(&'a str),
    /// The state of this kind of channel.
    State(ChannelKind),
    /// A type by its name.
    Named(&'a str),
}

impl Protocol {
    /// Removes the members that the type `theirs` has in the version `newer` and that the type `own` does not have in
    /// this version.
    pub fn trim(
        &self,
        own: TrimType<'_>,
        newer: &Protocol,
        theirs: TrimType<'_>,
        value: &mut Value,
    ) {
        if let Some((own, theirs)) = self.type_of(own).zip(newer.type_of(theirs)) {
            TrimVersions { own: self, newer }.value(own, theirs, "", value);
        }
    }

    /// Returns whether a type has a member with this name.
    pub fn has_member(&self, of: TrimType<'_>, member: &str) -> bool {
        let Some(id) = self.type_of(of) else {
            return false;
        };
        let named = |id: TypeId| match self.shapes.get(id) {
            ValueShape::Record(members) => members.iter().any(|known| known.name == member),
            _ => false,
        };
        match self.shapes.get(id) {
            ValueShape::Union(union) => union.variants.iter().any(|(_, id)| named(*id)),
            _ => named(id),
        }
    }

    pub(super) fn type_of(&self, of: TrimType<'_>) -> Option<TypeId> {
        match of {
            TrimType::Params(method) => self.method(method).map(|row| row.params),
            TrimType::Result(method) => self.method(method)?.result,
            TrimType::Action(action_type) => self.action(action_type).map(|row| row.shape),
            TrimType::State(kind) => self.shapes.named(kind.state_type()),
            TrimType::Named(name) => self.shapes.named(name),
        }
    }
}

/// The version to which a value is reduced (`own`), and the newer version from which the value comes.
struct TrimVersions<'p> {
    own: &'p Protocol,
    newer: &'p Protocol,
}

impl TrimVersions<'_> {
    /// Removes the newer members from a value of one type. If the type is a variant of a union, `tag` is the name of
    /// the member that selected the variant. The recursion is bounded by the depth of the JSON.
    fn value(&self, own: TypeId, newer: TypeId, tag: &str, value: &mut Value) {
        match (self.own.shapes.get(own), self.newer.shapes.get(newer), value) {
            (ValueShape::List(own), ValueShape::List(newer), Value::Array(items)) => {
                items.iter_mut().for_each(|item| self.value(*own, *newer, "", item));
            }
            (ValueShape::Map(own), ValueShape::Map(newer), Value::Object(members)) => {
                members.values_mut().for_each(|item| self.value(*own, *newer, "", item));
            }
            (ValueShape::Record(known), ValueShape::Record(newer), Value::Object(members)) => {
                members.retain(|name, item| {
                    let own = known.iter().find(|member| member.name == name.as_str());
                    let newer = newer.iter().find(|member| member.name == name.as_str());
                    if let Some((own, newer)) = own.zip(newer) {
                        self.value(own.shape, newer.shape, "", item);
                    }
                    // The tables of older versions do not list the tag of a union as a member, but the tag is not a
                    // newer member.
                    let tells = name.as_str() == tag || name.as_str() == "type";
                    own.is_some() || newer.is_none() || tells
                });
            }
            (ValueShape::Union(own), ValueShape::Union(newer), value) => {
                if let Some((one, other)) = variant(own, value).zip(variant(newer, value)) {
                    self.value(one, other, &own.tag, value);
                }
            }
            (ValueShape::AnyOf(own), ValueShape::AnyOf(newer), value) => {
                let own = own.iter().find(|id| admits(self.own.shapes.get(**id), value));
                let newer = newer.iter().find(|id| admits(self.newer.shapes.get(**id), value));
                if let Some((own, newer)) = own.zip(newer) {
                    self.value(*own, *newer, tag, value);
                }
            }
            // One version permits null in place of the value, and the other version does not.
            (ValueShape::AnyOf(all), _, value) => {
                let own = all.iter().find(|id| admits(self.own.shapes.get(**id), value));
                own.into_iter().for_each(|own| self.value(*own, newer, tag, value));
            }
            (_, ValueShape::AnyOf(all), value) => {
                let newer = all.iter().find(|id| admits(self.newer.shapes.get(**id), value));
                newer.into_iter().for_each(|newer| self.value(own, *newer, tag, value));
            }
            _ => {}
        }
    }
}

fn variant(union: &TaggedUnion, value: &Value) -> Option<TypeId> {
    let tag = match value.get(union.tag.as_str())? {
        Value::String(tag) => tag.as_str(),
        Value::Bool(true) => "true",
        Value::Bool(false) => "false",
        _ => return None,
    };
    union.variants.iter().find(|(name, _)| name == tag).map(|(_, id)| *id)
}

#[cfg(test)]
mod tests {
    use crate::wire::json::json;
    use crate::wire::version::Version;

    use super::*;

    #[test]
    fn removes_later_members_and_keeps_extensions() {
        let newest = Protocol::of(Version::V1_0).unwrap();
        let check = |version: Version, mut action: Value, expected: Value| {
            let own = Protocol::of(version).unwrap();
            let name = action["type"].as_str().unwrap().to_owned();
            own.trim(TrimType::Action(&name), newest, TrimType::Action(&name), &mut action);
            assert_eq!(action, expected, "{version}");
        };
        let started = json!({
            "type": "chat/turnStarted", "turnId": "t", "startedAt": "now", "x-mine": 1,
            "message": {"text": "a", "origin": {"kind": "user"}, "model": {"id": "m"}},
        });
        check(Version::V0_6, started.clone(), started.clone());
        let mut older = started;
        older.as_object_mut().unwrap().remove("startedAt");
        check(Version::V0_5, older.clone(), older.clone());
        let mut oldest = older.clone();
        oldest["message"].as_object_mut().unwrap().remove("model");
        check(Version::V0_4, older, oldest);
    }

    #[test]
    fn knows_members() {
        let has = |version: Version, member: &str| {
            let protocol = Protocol::of(version).unwrap();
            protocol.has_member(TrimType::State(ChannelKind::Session), member)
        };
        assert!(has(Version::V1_0, "inputNeeded") && !has(Version::V0_5, "inputNeeded"));
        assert!(has(Version::V0_2, "turns") && !has(Version::V0_4, "turns"));
    }
}
