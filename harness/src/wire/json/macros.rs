//! Values written as JSON.

/// Writes a [`Value`](crate::wire::json::Value) as JSON, with expressions in the place of values:
/// `json!({"id": id, "params": {"channel": uri}})`. A name is a literal, an identifier or an
/// expression in parentheses. Expressions are borrowed.
#[macro_export]
macro_rules! json {
    // The members of an object, one after the other.
    (@members $map:ident) => {};
    (@members $map:ident $name:tt : null $(, $($rest:tt)*)?) => {
        $map.insert($name, $crate::wire::json::Value::Null);
        $crate::json!(@members $map $($($rest)*)?);
    };
    (@members $map:ident $name:tt : [ $($inner:tt)* ] $(, $($rest:tt)*)?) => {
        $map.insert($name, $crate::json!([ $($inner)* ]));
        $crate::json!(@members $map $($($rest)*)?);
    };
    (@members $map:ident $name:tt : { $($inner:tt)* } $(, $($rest:tt)*)?) => {
        $map.insert($name, $crate::json!({ $($inner)* }));
        $crate::json!(@members $map $($($rest)*)?);
    };
    (@members $map:ident $name:tt : $value:expr $(, $($rest:tt)*)?) => {
        $map.insert($name, $crate::wire::json::ToJson::to_json(&$value));
        $crate::json!(@members $map $($($rest)*)?);
    };
    // The items of a list, one after the other.
    (@items $list:ident) => {};
    (@items $list:ident null $(, $($rest:tt)*)?) => {
        $list.push($crate::wire::json::Value::Null);
        $crate::json!(@items $list $($($rest)*)?);
    };
    (@items $list:ident [ $($inner:tt)* ] $(, $($rest:tt)*)?) => {
        $list.push($crate::json!([ $($inner)* ]));
        $crate::json!(@items $list $($($rest)*)?);
    };
    (@items $list:ident { $($inner:tt)* } $(, $($rest:tt)*)?) => {
        $list.push($crate::json!({ $($inner)* }));
        $crate::json!(@items $list $($($rest)*)?);
    };
    (@items $list:ident $value:expr $(, $($rest:tt)*)?) => {
        $list.push($crate::wire::json::ToJson::to_json(&$value));
        $crate::json!(@items $list $($($rest)*)?);
    };
    (null) => { $crate::wire::json::Value::Null };
    ([]) => { $crate::wire::json::Value::Array(::std::vec::Vec::new()) };
    ([ $($items:tt)+ ]) => {{
        let mut list = ::std::vec::Vec::new();
        $crate::json!(@items list $($items)+);
        $crate::wire::json::Value::Array(list)
    }};
    ({}) => { $crate::wire::json::Value::Object($crate::wire::json::Map::new()) };
    ({ $($members:tt)+ }) => {{
        let mut map = $crate::wire::json::Map::new();
        $crate::json!(@members map $($members)+);
        $crate::wire::json::Value::Object(map)
    }};
    ($value:expr) => { $crate::wire::json::ToJson::to_json(&$value) };
}
