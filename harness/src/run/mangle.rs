//! Creates malformed frames, as a faulty or hostile client might send them: a valid value with one mutation.
//!
//! Knows: JSON. Never knows: the protocol, the recipient.
//!
//! Start at [`mangled`].

use crate::wire::frame::Frame;
use crate::wire::json::{Value, json};

/// The length of an inserted long string.
const LONG: usize = 65_536;
/// The depth of an inserted nested value.
const DEEP: usize = 500;

/// Returns a value with one random mutation; `roll` is the random generator.
pub(super) fn mangled(whole: &Value, roll: &mut dyn FnMut() -> u64) -> Frame {
    let mut value = whole.clone();
    match roll() % 8 {
        0 => return cut(&value.to_text(), roll),
        1 => return Frame::Binary(value.to_text().into_bytes()),
        2 => return put_in(&value.to_text(), roll),
        3 => pick(&mut value, roll, &mut rename),
        4 => pick(&mut value, roll, &mut remove),
        _ => pick(&mut value, roll, &mut |place, roll| *place = odd(roll)),
    }
    // If a mutation made the identifier null or equal to that of another frame, an answer could not be assigned to this
    // frame. Such a mutation is replaced by an array as the identifier.
    let others =
        |id: &Value| (id.is_null() || id.is_number() || id.is_string()) && *id != whole["id"];
    if value.get("id").is_some_and(others) {
        value["id"] = json!([whole["id"].clone()]);
    }
    Frame::json(&value)
}

/// Truncates the text.
fn cut(text: &str, roll: &mut dyn FnMut() -> u64) -> Frame {
    let at = below(text.len(), roll);
    Frame::Text(text.chars().take(at).collect())
}

/// Inserts a character that is often invalid in JSON at a random position.
fn put_in(text: &str, roll: &mut dyn FnMut() -> u64) -> Frame {
    let at = below(text.chars().count() + 1, roll);
    let odd = ['\0', '"', '{', ']', '\\', '\u{feff}', '\u{202e}', ','];
    let odd = odd[below(odd.len(), roll)];
    let (head, tail): (String, String) =
        (text.chars().take(at).collect(), text.chars().skip(at).collect());
    Frame::Text(format!("{head}{odd}{tail}"))
}

fn below(limit: usize, roll: &mut dyn FnMut() -> u64) -> usize {
    usize::try_from(roll() % limit.max(1) as u64).unwrap_or_default()
}

/// Applies the change `act` at a random place in the value.
fn pick(
    value: &mut Value,
    roll: &mut dyn FnMut() -> u64,
    act: &mut dyn FnMut(&mut Value, &mut dyn FnMut() -> u64),
) {
    let inner = match value {
        Value::Array(items) => items.len(),
        Value::Object(members) => members.len(),
        _ => 0,
    };
    if inner == 0 || roll().is_multiple_of(4) {
        return act(value, roll);
    }
    let at = below(inner, roll);
    let child = match value {
        Value::Array(items) => items.get_mut(at),
        Value::Object(members) => members.values_mut().nth(at),
        _ => None,
    };
    if let Some(child) = child {
        pick(child, roll, act);
    }
}

fn rename(place: &mut Value, roll: &mut dyn FnMut() -> u64) {
    let Some(members) = place.as_object_mut() else {
        *place = odd(roll);
        return;
    };
    let at = below(members.len(), roll);
    let name = members.keys().nth(at).map(ToString::to_string);
    if let Some(value) = name.and_then(|name| members.remove(&name)) {
        members.insert("x-mangled", value);
    }
}

fn remove(place: &mut Value, roll: &mut dyn FnMut() -> u64) {
    let Some(members) = place.as_object_mut() else {
        *place = odd(roll);
        return;
    };
    let at = below(members.len(), roll);
    let name = members.keys().nth(at).map(ToString::to_string);
    if let Some(name) = name {
        members.remove(&name);
    }
}

/// Returns a value that is invalid in almost every position.
fn odd(roll: &mut dyn FnMut() -> u64) -> Value {
    let odd = [
        json!(null),
        json!(true),
        json!(-1),
        json!(1.5e300),
        json!(u64::MAX),
        json!(""),
        json!([]),
        json!({}),
        json!("\u{0}\u{202e}\u{fffd}"),
        json!({"__proto__": {"constructor": 1}}),
        json!("../../../../outside/canary.txt"),
    ];
    match below(odd.len() + 2, roll) {
        at if at < odd.len() => odd[at].clone(),
        at if at == odd.len() => json!("x".repeat(LONG)),
        _ => (0..DEEP).fold(json!(0), |inner, _| Value::Array(vec![inner])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dice::Dice;

    #[test]
    fn mangles_in_many_ways_that_the_seed_determines() {
        let value = json!({"jsonrpc": "2.0", "id": 1, "params": {"list": [1, 2], "text": "t"}});
        let all = |seed| {
            let mut dice = Dice::seeded(seed);
            let one = |_| mangled(&value, &mut || dice.roll());
            (0..200).map(one).collect::<Vec<_>>()
        };
        let first = all(1);
        assert_eq!(first, all(1));
        assert_ne!(first, all(2));
        let other = first.iter().filter(|frame| **frame != Frame::json(&value)).count();
        assert!(other > 190, "{other}");
    }
}
