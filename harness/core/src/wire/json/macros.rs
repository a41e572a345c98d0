//! The macro [`json!`](crate::json).

/// Builds a [`Value`](crate::wire::json::Value) from JSON syntax, in which expressions may be used as values:
/// `json!({"id": id, "params": {"channel": uri}})`. The name of a member is a literal, an identifier or an
/// expression in parentheses. The macro borrows the expressions.
#[macro_export]
macro_rules! json {
    // The following arms add the members of an object, one after the other.
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
    // The following arms convert the items of a list: the brackets contain the converted items, and the remaining items
    // follow the brackets.
    (@items [$($done:expr,)*]) => { ::std::vec![$($done),*] };
    (@items [$($done:expr,)*] null $(, $($rest:tt)*)?) => {
        $crate::json!(@items [$($done,)* $crate::json!(null),] $($($rest)*)?)
    };
    (@items [$($done:expr,)*] [ $($inner:tt)* ] $(, $($rest:tt)*)?) => {
        $crate::json!(@items [$($done,)* $crate::json!([ $($inner)* ]),] $($($rest)*)?)
    };
    (@items [$($done:expr,)*] { $($inner:tt)* } $(, $($rest:tt)*)?) => {
        $crate::json!(@items [$($done,)* $crate::json!({ $($inner)* }),] $($($rest)*)?)
    };
    (@items [$($done:expr,)*] $value:expr $(, $($rest:tt)*)?) => {
        $crate::json!(
            @items [$($done,)* $crate::wire::json::ToJson::to_json(&$value),] $($($rest)*)?
        )
    };
    (null) => { $crate::wire::json::Value::Null };
    ([]) => { $crate::wire::json::Value::Array(::std::vec::Vec::new()) };
    ([ $($items:tt)+ ]) => {
        $crate::wire::json::Value::Array($crate::json!(@items [] $($items)+))
    };
    ({}) => { $crate::wire::json::Value::Object($crate::wire::json::Map::new()) };
    ({ $($members:tt)+ }) => {{
        let mut map = $crate::wire::json::Map::new();
        $crate::json!(@members map $($members)+);
        $crate::wire::json::Value::Object(map)
    }};
    ($value:expr) => { $crate::wire::json::ToJson::to_json(&$value) };
}
