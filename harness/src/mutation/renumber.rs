//! Changes the `serverSeq` numbers of a host in every place that contains such a number.
//!
//! Knows: captures. Never knows: the correct numbers.

use crate::transcript::line::TranscriptLine;
use crate::wire::json::{Value, json};

use super::capture::edit;

/// The places in a message that can contain a `serverSeq` number.
const PLACES: [&str; 4] = [
    "/params/serverSeq",
    "/result/serverSeq",
    "/params/lastSeenServerSeq",
    "/result/snapshot/fromSeq",
];
/// The lists whose items contain numbers, each with the member that holds the number.
const LISTS: [(&str, &str); 2] =
    [("/result/actions", "serverSeq"), ("/result/snapshots", "fromSeq")];

/// The place and the list that contain envelopes. A number there is the number of an action. A number in any other
/// place is the number of the last action in a snapshot, or of the last action that a client has seen.
const ENVELOPES: (&str, &str) = (PLACES[0], LISTS[0].0);

/// Replaces every `serverSeq` number by the number that the function `to` returns for it.
pub(super) fn renumber(lines: &mut [TranscriptLine], to: &dyn Fn(u64) -> u64) {
    respell(lines, &|number, _| json!(to(number)));
}

/// Replaces every `serverSeq` number by the JSON value that the function `to` returns for it. The second argument of
/// the function says whether the number is the number of an action.
pub(super) fn respell(lines: &mut [TranscriptLine], to: &dyn Fn(u64, bool) -> Value) {
    let change = |value: &mut Value, is_action: bool| {
        if let Some(number) = value.as_u64() {
            *value = to(number, is_action);
        }
    };
    for line in lines {
        edit(line, |value| {
            for place in PLACES {
                let found = value.pointer_mut(place).into_iter();
                found.for_each(|it| change(it, place == ENVELOPES.0));
            }
            for (list, member) in LISTS {
                let items = value.pointer_mut(list).and_then(Value::as_array_mut);
                let members = items.into_iter().flatten().filter_map(|item| item.get_mut(member));
                members.for_each(|it| change(it, list == ENVELOPES.1));
            }
            true
        });
    }
}
