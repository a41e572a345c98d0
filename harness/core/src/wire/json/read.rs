//! Reading and writing values with serde.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::map::MapBuilder;
use super::{Map, Number, Text, Value};

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Value, D::Error> {
        from.deserialize_any(AnyValue)
    }
}

impl<'de> Deserialize<'de> for Map {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Map, D::Error> {
        from.deserialize_map(AnyMap)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.into()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value.into()))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        Value::deserialize(from)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = from.next_element()? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, from: A) -> Result<Value, A::Error> {
        AnyMap.visit_map(from).map(Value::Object)
    }
}

struct AnyMap;

impl<'de> Visitor<'de> for AnyMap {
    type Value = Map;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Map, A::Error> {
        // If the usual capacity were reserved for each object, a frame of many objects with one or two members would
        // need several times the memory.
        let Some(NameVisitor(name)) = from.next_key()? else { return Ok(Map::new()) };
        let first = (name, from.next_value()?);
        let mut next = from.next_key()?;
        let second = match next.take() {
            Some(NameVisitor(name)) => {
                let second = Some((name, from.next_value()?));
                next = from.next_key()?;
                second
            }
            None => None,
        };
        let members = 1 + usize::from(second.is_some()) + usize::from(next.is_some());
        let mut building = MapBuilder::of_about(members);
        for (name, value) in std::iter::once(first).chain(second) {
            building.push(name, value);
        }
        while let Some(NameVisitor(name)) = next {
            building.push(name, from.next_value()?);
            next = from.next_key()?;
        }
        Ok(building.finish())
    }
}

struct NameVisitor(Text);

impl<'de> Deserialize<'de> for NameVisitor {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<NameVisitor, D::Error> {
        struct AnyName;
        impl Visitor<'_> for AnyName {
            type Value = NameVisitor;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name")
            }
            fn visit_str<E>(self, value: &str) -> Result<NameVisitor, E> {
                Ok(NameVisitor(value.into()))
            }
        }
        from.deserialize_str(AnyName)
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Null => to.serialize_unit(),
            Value::Bool(value) => to.serialize_bool(*value),
            Value::Number(number) => number.serialize(to),
            Value::String(text) => to.serialize_str(text),
            Value::Array(items) => to.collect_seq(items),
            Value::Object(map) => map.serialize(to),
        }
    }
}

impl Serialize for Map {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut members = to.serialize_map(Some(self.len()))?;
        for (name, value) in self {
            members.serialize_entry(name.as_str(), value)?;
        }
        members.end()
    }
}
