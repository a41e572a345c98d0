//! Compares two states.
//!
//! A null member equals an absent member, as everywhere in the protocol. Numbers are equal if their values are
//! equal, so `1` equals `1.0`. An element of an array is never absent, so a null element equals only null.
//!
//! Reducers up to 0.8.0 read a clock and write the time into the state. If a subject reads its own clock, this time is
//! unpredictable. With [`SubjectClock::Own`], the comparison only checks that both reducers wrote a time, or that
//! neither of them did.
//!
//! Knows: JSON, the members into which old reducers write the time. Never knows: subjects, vectors.
//!
//! Start at [`differences`].

use crate::wire::json::{Map, Text, Value};

use super::pointer;

/// The clock from which a subject takes the time.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum SubjectClock {
    /// The member `now` of the question.
    #[default]
    Given,
    /// The clock of the subject's machine.
    Own,
}

/// A place at which two states differ.
#[derive(Clone, Debug, PartialEq)]
pub struct StateDifference {
    /// The place, as a JSON Pointer.
    pub path: String,
    /// The harness's value; `None` if the harness's state has no value there.
    pub ours: Option<Value>,
    /// The subject's value; `None` if the subject's state has no value there.
    pub theirs: Option<Value>,
}

/// The maximum number of differences between two states that are collected.
pub const MAX_DIFFERENCES: usize = 64;

/// The places at which reducers up to 0.8.0 write the time. The first place belongs to states up to 0.4.x, in
/// which the summary is a member.
pub const STAMPED: &[&str] = &["/summary/modifiedAt", "/modifiedAt"];

/// Returns whether two states are equal.
pub fn same(ours: &Value, theirs: &Value) -> bool {
    match (ours, theirs) {
        (Value::Object(ours), Value::Object(theirs)) => {
            let given = |members: &Map| members.values().filter(|value| !value.is_null()).count();
            let mut members = ours.iter();
            let alike = |(name, value): (&Text, &Value)| {
                value.is_null() || theirs.get(name).is_some_and(|other| same(value, other))
            };
            given(ours) == given(theirs) && members.all(alike)
        }
        (Value::Array(ours), Value::Array(theirs)) => {
            ours.len() == theirs.len()
                && ours.iter().zip(theirs).all(|(one, other)| same(one, other))
        }
        (Value::Number(one), Value::Number(other)) => equal(one, other),
        (ours, theirs) => ours == theirs,
    }
}

/// Returns every place at which two states differ, up to [`MAX_DIFFERENCES`].
pub fn differences(ours: &Value, theirs: &Value) -> Vec<StateDifference> {
    let mut found = Vec::new();
    CompareWalk { found: &mut found }.value(&mut String::new(), Some(ours), Some(theirs));
    found
}

/// Returns the differences between two states, without the differences that the subject's own clock causes. `before` is
/// the state to which both reducers applied the actions.
pub fn differences_with(
    clock: SubjectClock,
    before: &Value,
    ours: &Value,
    theirs: &Value,
) -> Vec<StateDifference> {
    let mut found = differences(ours, theirs);
    if clock == SubjectClock::Own {
        found.retain(|difference| {
            if !STAMPED.contains(&difference.path.as_str()) {
                return true;
            }
            let before = before.pointer(&difference.path);
            let stamped = |value: &Option<Value>| value.is_some() && value.as_ref() != before;
            stamped(&difference.ours) != stamped(&difference.theirs)
        });
    }
    found
}

/// Returns a value without null members, at any depth.
pub fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(members) => Value::Object(
            members
                .iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(name, value)| (name.clone(), without_nulls(value)))
                .collect(),
        ),
        Value::Array(items) => items.iter().map(without_nulls).collect(),
        other => other.clone(),
    }
}

struct CompareWalk<'a> {
    found: &'a mut Vec<StateDifference>,
}

impl CompareWalk<'_> {
    fn value(&mut self, path: &mut String, ours: Option<&Value>, theirs: Option<&Value>) {
        if self.found.len() >= MAX_DIFFERENCES {
            return;
        }
        match (ours, theirs) {
            (Some(Value::Object(ours)), Some(Value::Object(theirs))) => {
                self.object(path, ours, theirs);
            }
            (Some(Value::Array(ours)), Some(Value::Array(theirs))) => {
                for index in 0..ours.len().max(theirs.len()) {
                    self.at(path, &index.to_string(), ours.get(index), theirs.get(index));
                }
            }
            (Some(Value::Number(one)), Some(Value::Number(other))) if equal(one, other) => {}
            (ours, theirs) if ours == theirs => {}
            _ => self.found.push(StateDifference {
                path: path.clone(),
                ours: ours.cloned(),
                theirs: theirs.cloned(),
            }),
        }
    }

    fn object(&mut self, path: &mut String, ours: &Map, theirs: &Map) {
        let given = |value: Option<&Value>| value.is_some_and(|value| !value.is_null());
        let mut names: Vec<_> = ours.keys().chain(theirs.keys()).collect();
        names.sort();
        names.dedup();
        for name in names {
            let (one, other) = (ours.get(name), theirs.get(name));
            let one = one.filter(|_| given(one));
            let other = other.filter(|_| given(other));
            self.at(path, &pointer::escaped(name), one, other);
        }
    }

    fn at(&mut self, path: &mut String, step: &str, one: Option<&Value>, other: Option<&Value>) {
        let length = path.len();
        path.push('/');
        path.push_str(step);
        self.value(path, one, other);
        path.truncate(length);
    }
}

fn equal(one: &crate::wire::json::Number, other: &crate::wire::json::Number) -> bool {
    one == other || (one.is_f64() || other.is_f64()) && one.as_f64() == other.as_f64()
}

#[cfg(test)]
mod tests {
    use crate::wire::json::json;

    use super::*;

    fn check(ours: Value, theirs: Value, paths: &[&str]) {
        let found: Vec<_> = differences(&ours, &theirs).into_iter().map(|d| d.path).collect();
        assert_eq!(found, paths, "{ours} {theirs}");
        assert_eq!(same(&ours, &theirs), paths.is_empty());
    }

    #[test]
    fn finds_where_states_differ() {
        check(json!({"a": 1, "b": null}), json!({"a": 1.0}), &[]);
        check(json!({"a": [1, null]}), json!({"a": [1]}), &["/a/1"]);
        check(json!({"a": {"b/c": 1}}), json!({"a": {}}), &["/a/b~1c"]);
        check(json!({"a": [{"x": 1}, {"x": 2}]}), json!({"a": [{"x": 2}, {"x": 2}]}), &["/a/0/x"]);
        check(json!({"a": 1, "b": 2}), json!({"a": "1", "b": 3}), &["/a", "/b"]);
        check(json!({"a": []}), json!({}), &["/a"]);
        check(json!([]), json!({}), &[""]);
    }

    #[test]
    fn ignores_times_of_another_clock() {
        let check = |before, ours, theirs, differs| {
            let state = |time: u64| json!({"modifiedAt": time, "title": "t"});
            let found =
                differences_with(SubjectClock::Own, &state(before), &state(ours), &state(theirs));
            assert_eq!(!found.is_empty(), differs, "{before} {ours} {theirs}");
        };
        check(1, 9999, 1234, false);
        check(1, 1, 1, false);
        check(1, 9999, 1, true);
        check(1, 1, 1234, true);
    }
}
