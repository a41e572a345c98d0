//! Other numbers for the actions of a host: every place where one stands.
//!
//! Knows: captures. Never knows: which numbers are right.

use crate::transcript::line::Line;
use crate::wire::json::{Value, json};

use super::capture::edit;

/// Where numbers of the host stand in a message.
const PLACES: [&str; 4] =
    ["/params/serverSeq", "/result/serverSeq", "/params/lastSeenServerSeq", "/result/snapshot/fromSeq"];
/// Lists whose items have them.
const LISTS: [(&str, &str); 2] = [("/result/actions", "serverSeq"), ("/result/snapshots", "fromSeq")];

/// Changes all numbers of the host by a function.
pub(super) fn renumber(lines: &mut [Line], to: &dyn Fn(u64) -> u64) {
    respell(lines, &|number| json!(to(number)));
}

/// Writes all numbers of the host in another way.
pub(super) fn respell(lines: &mut [Line], to: &dyn Fn(u64) -> Value) {
    let change = |value: &mut Value| {
        if let Some(number) = value.as_u64() {
            *value = to(number);
        }
    };
    for line in lines {
        edit(line, |value| {
            for place in PLACES {
                value.pointer_mut(place).into_iter().for_each(change);
            }
            for (list, member) in LISTS {
                let items = value.pointer_mut(list).and_then(Value::as_array_mut);
                let members = items.into_iter().flatten().filter_map(|item| item.get_mut(member));
                members.for_each(change);
            }
            true
        });
    }
}
