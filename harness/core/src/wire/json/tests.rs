//! Tests of the value, compared with `serde_json`'s value and with a sorted map.

use super::*;

fn read(text: &str) -> Value {
    Value::read(text).unwrap()
}

#[test]
fn reads_and_writes_what_serde_json_does() {
    let long = format!("\"{}\"", "x".repeat(100));
    for text in [
        "null",
        "true",
        "0",
        "-1",
        "18446744073709551615",
        "-9223372036854775808",
        "1.5",
        "-1.2980316245353666e82",
        "\"\"",
        "\"\\u0000\\\"ß\"",
        &long,
        "[]",
        "[1,[2,{}]]",
        "{}",
        "{\"b\":1,\"a\":{\"c\":[null]}}",
    ] {
        let theirs: serde_json::Value = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_value(read(text)).unwrap(), theirs, "{text}");
        assert_eq!(read(&read(text).to_text()), read(text), "{text}");
    }
    for bad in ["", "{", "[1,]", "{\"a\":1,}", "01", "nul", "\"\\ud800\"", &"[".repeat(200)] {
        assert!(Value::read(bad).is_err(), "{bad}");
    }
}

#[test]
fn keeps_the_order_of_small_objects() {
    assert_eq!(read("{\"b\":1,\"a\":2}").to_text(), "{\"b\":1,\"a\":2}");
}

#[test]
fn the_later_of_two_members_counts() {
    assert_eq!(read("{\"a\":1,\"b\":2,\"a\":3}").to_text(), "{\"a\":3,\"b\":2}");
    let many = |last: &str| {
        let members: Vec<String> = (0..40).map(|n| format!("\"k{n}\":{n}")).collect();
        read(&format!("{{\"k7\":0,{},\"k7\":{last}}}", members.join(",")))
    };
    assert_eq!(many("99")["k7"], 99);
    assert_eq!(many("99").as_object().map(Map::len), Some(40));
}

/// Compares the map with a sorted map, for numbers of members below and above the limit of a small map.
#[test]
fn behaves_as_a_map() {
    let mut ours = Map::new();
    let mut theirs = std::collections::BTreeMap::new();
    let mut state = 1_u64;
    for _ in 0..20_000 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let (key, what) = (format!("k{}", (state >> 33) % 30), (state >> 60) % 3);
        if what == 0 {
            assert_eq!(ours.remove(&key), theirs.remove(&key));
        } else {
            let value = Value::from(state);
            assert_eq!(ours.insert(key.clone(), value.clone()), theirs.insert(key, value));
        }
        assert_eq!(ours.len(), theirs.len());
        for (name, value) in &theirs {
            assert_eq!(ours.get(name), Some(value));
        }
    }
}

#[test]
fn order_does_not_matter_to_equality() {
    assert_eq!(read("{\"a\":1,\"b\":2}"), read("{\"b\":2,\"a\":1}"));
    assert_ne!(read("{\"a\":1,\"b\":2}"), read("{\"a\":1,\"c\":2}"));
    assert_ne!(read("{\"a\":1,\"b\":2}"), read("{\"a\":1,\"b\":3}"));
    assert_ne!(read("{\"a\":1}"), read("{\"a\":1,\"b\":2}"));
    assert_ne!(read("1"), read("1.0"));
}

#[test]
fn points_into_values() {
    let value = read("{\"a/b\":[{\"~\":1}],\"0\":2}");
    assert_eq!(value.pointer("/a~1b/0/~0"), Some(&json!(1)));
    assert_eq!(value.pointer("/0"), Some(&json!(2)));
    assert_eq!(value.pointer(""), Some(&value));
    for nothing in ["/a~1b/1", "/a~1b/00", "/a~1b/+0", "/x", "0"] {
        assert_eq!(value.pointer(nothing), None, "{nothing}");
    }
}

#[test]
fn writes_json_in_rust() {
    let (name, list) = ("n", [1, 2]);
    let value = json!({"a": null, "b": [], "c": {}, name: list, (format!("{name}2")): 1 + 1,
        "d": [null, [1], {"x": -1.5}, "t"], "e": Some(true), "f": list[0]});
    let text =
        r#"{"a":null,"b":[],"c":{},"n":[1,2],"n2":2,"d":[null,[1],{"x":-1.5},"t"],"e":true,"f":1}"#;
    assert_eq!(value.to_text(), text);
}

#[test]
fn a_value_is_small() {
    assert!(size_of::<Value>() <= 32);
}
