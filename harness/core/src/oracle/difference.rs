//! Renders the difference between two states as lines for a reader.
//!
//! Knows: values. Never knows: the owners of the states.
//!
//! Start at [`difference`].

use std::fmt::Write as _;

use similar::algorithms::{Capture, Replace, myers};
use similar::{DiffOp, DiffTag, group_diff_ops};

use crate::wire::json::Value;

/// Upper bound for the lines of a difference; the rest is cut off.
const MAX_LINES: usize = 200;
/// The number of unchanged lines around a change.
const CONTEXT: usize = 2;

/// Renders both values as sorted, indented JSON, and returns the changed lines. A line that is only in the expected
/// value begins with `-`, and a line that is only in the found value begins with `+`. A few unchanged lines are shown
/// before and after the changed lines.
pub(super) fn difference(expected: &Value, found: &Value) -> String {
    let pretty = |value: &Value| serde_json::to_string_pretty(&value.sorted()).unwrap_or_default();
    let (expected, found) = (pretty(expected), pretty(found));
    let expected: Vec<&str> = expected.lines().collect();
    let found: Vec<&str> = found.lines().collect();
    let mut text = String::new();
    for hunk in group_diff_ops(changes(&expected, &found), CONTEXT) {
        draw(&hunk, &expected, &found, &mut text);
    }
    if let Some((end, _)) = text.match_indices('\n').nth(MAX_LINES - 1) {
        text.truncate(end);
        text.push_str("\n...");
    }
    text.truncate(text.trim_end().len());
    text
}

/// Calls the algorithm for differences directly, because the library's general entry point would compile all algorithms
/// for every type.
fn changes(expected: &[&str], found: &[&str]) -> Vec<DiffOp> {
    let mut changes = Replace::new(Capture::new());
    match myers::diff(&mut changes, expected, 0..expected.len(), found, 0..found.len()) {
        Ok(()) => changes.into_inner().into_ops(),
        Err(never) => match never {},
    }
}

fn draw(hunk: &[DiffOp], expected: &[&str], found: &[&str], text: &mut String) {
    let (Some(first), Some(last)) = (hunk.first(), hunk.last()) else {
        return;
    };
    let (old, new) = (
        first.old_range().start..last.old_range().end,
        first.new_range().start..last.new_range().end,
    );
    let _ =
        writeln!(text, "@@ -{},{} +{},{} @@", old.start + 1, old.len(), new.start + 1, new.len());
    for change in hunk {
        let mut mark = |sign: char, lines: Option<&[&str]>| {
            for line in lines.unwrap_or_default() {
                let _ = writeln!(text, "{sign}{line}");
            }
        };
        let (gone, come) = (expected.get(change.old_range()), found.get(change.new_range()));
        match change.tag() {
            DiffTag::Equal => mark(' ', gone),
            DiffTag::Delete | DiffTag::Insert | DiffTag::Replace => {
                mark('-', gone);
                mark('+', come);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::json::json;

    #[test]
    fn differing_lines_are_marked_and_equal_ones_omitted() {
        let lines = |skip: i32| (0..9).filter(|n| *n != skip).collect::<Vec<i32>>();
        let expected = json!({"a": (lines(9)), "b": 1});
        let found = json!({"b": 2, "a": (lines(6))});
        let drawn = difference(&expected, &found);
        assert_eq!(
            drawn,
            "@@ -7,8 +7,7 @@\n     4,\n     5,\n-    6,\n     7,\n     8\n   ],\n-  \"b\": 1\n+  \
             \"b\": 2\n }"
        );
    }

    #[test]
    fn equal_values_have_no_difference_and_long_ones_are_cut() {
        assert_eq!(difference(&json!({"a": 1, "b": 2}), &json!({"b": 2, "a": 1})), "");
        let long = json!((0..1000).collect::<Vec<i32>>());
        let drawn = difference(&long, &json!([]));
        assert_eq!(drawn.lines().count(), MAX_LINES + 1);
        assert!(drawn.ends_with("\n..."));
    }
}
