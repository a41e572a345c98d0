//! Normalises a value that hosts may write in several ways.
//!
//! A time has many spellings (`.06Z`, `.060000Z`, `+00:00`). A value may have unknown members at any depth, and clients
//! ignore them. If two values differ only in this way, their normalised forms are equal.
//!
//! Knows: the tables. Never knows: comparisons.
//!
//! Start at [`Protocol::canonical`].

use crate::wire::json::Value;

use super::protocol::Protocol;
use super::shape::{TypeId, ValueShape};
use super::timestamp;
use super::trim::TrimType;
use super::walk::admits;

/// The suffix by which the name of a member shows that the member contains a time.
pub const INSTANT: &str = "At";

impl Protocol {
    /// Removes unknown members at any depth, and writes times in UTC with milliseconds. A member is unknown if
    /// the tables of this version do not name it.
    pub fn canonical(&self, of: TrimType<'_>, value: &mut Value) {
        if let Some(id) = self.type_of(of) {
            self.canonical_value(id, "", value);
        }
    }

    /// Normalises a value of one type. If the type is a variant of a union, `tag` is the name of the member that
    /// selected the variant. The recursion is bounded by the depth of the JSON.
    fn canonical_value(&self, id: TypeId, tag: &str, value: &mut Value) {
        match (self.shapes.get(id), value) {
            (ValueShape::List(id), Value::Array(items)) => {
                items.iter_mut().for_each(|item| self.canonical_value(*id, "", item));
            }
            (ValueShape::Map(id), Value::Object(members)) => {
                members.values_mut().for_each(|item| self.canonical_value(*id, "", item));
            }
            (ValueShape::Record(known), Value::Object(members)) => {
                members.retain(|name, item| {
                    let row = known.iter().find(|member| member.name == name.as_str());
                    if let Some(row) = row {
                        if name.as_str().ends_with(INSTANT) {
                            instant(item);
                        }
                        self.canonical_value(row.shape, "", item);
                    }
                    row.is_some() || name.as_str() == tag || name.as_str() == "type"
                });
            }
            (ValueShape::Union(union), value) => {
                if let Some(id) = union.variant_of(value) {
                    self.canonical_value(id, &union.tag, value);
                }
            }
            (ValueShape::AnyOf(all), value) => {
                let fits = all.iter().find(|id| admits(self.shapes.get(**id), value));
                fits.into_iter().for_each(|id| self.canonical_value(*id, tag, value));
            }
            _ => {}
        }
    }
}

fn instant(value: &mut Value) {
    let written = value.as_str().and_then(timestamp::parse).and_then(timestamp::format);
    if let Some(written) = written {
        *value = Value::from(written);
    }
}

#[cfg(test)]
mod tests {
    use crate::wire::channel::ChannelKind;
    use crate::wire::json::json;
    use crate::wire::version::Version;

    use super::*;

    #[test]
    fn keeps_known_members_and_normalises_times() {
        let protocol = Protocol::of(Version::V1_0).unwrap();
        let check = |mut state: Value, expected: Value| {
            protocol.canonical(TrimType::State(ChannelKind::Session), &mut state);
            assert_eq!(state, expected);
        };
        let chat = |modified: &str| json!({"resource": "c", "title": "T", "modifiedAt": modified});
        let plain = json!({"title": "T", "chats": [chat("2026-01-01T00:00:00.060Z")]});
        for spelling in [
            "2026-01-01T00:00:00.06Z",
            "2026-01-01T00:00:00.060000Z",
            "2026-01-01T00:00:00.060+00:00",
            "2026-01-01T02:00:00.06+02:00",
        ] {
            let mut other = chat(spelling);
            other["acmeColour"] = json!("red");
            check(json!({"title": "T", "x": 1, "chats": [other]}), plain.clone());
        }
        let odd = json!({"chats": [chat("yesterday")]});
        check(odd.clone(), odd);
    }
}
