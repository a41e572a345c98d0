//! Variants of how JSON values and timestamps are written.
//!
//! Knows: JSON, timestamps. Never knows: methods, channels.

use crate::wire::json::{Value, json};
use crate::wire::spelling::{
    FractionPlace, LeafForm, USUAL, add_fractions, reverse_members, walk, with_exponent, written,
    written_in_ascii, written_in_escapes,
};
use crate::wire::timestamp;
use crate::wire::version::Version;

use super::row::{JSON, RPC, UNKNOWN, VariantRow, row, since};
use crate::host::chain::{MessageLink, MessageRewriter, RewriterOutput};

/// Writes timestamps in another form of ISO 8601.
struct HostInstantForm(fn(&str) -> String);

impl MessageRewriter for HostInstantForm {
    fn on_host_message(
        &mut self,
        _: &MessageLink<'_>,
        mut message: Value,
        out: &mut RewriterOutput,
    ) {
        walk(&mut message, &mut |value| {
            let Value::String(text) = value else { return };
            let instant = text.ends_with('Z') && timestamp::parse(text).is_some();
            if instant && let Some(plain) = text.strip_suffix('Z') {
                *value = Value::from((self.0)(plain));
            }
        });
        out.send(message);
    }
}

/// Writes integers with a zero fraction, such as `1.0`.
struct HostFractionalNumbers(FractionPlace);

impl MessageRewriter for HostFractionalNumbers {
    fn on_host_message(
        &mut self,
        link: &MessageLink<'_>,
        mut message: Value,
        out: &mut RewriterOutput,
    ) {
        // Changes only the ids of responses: the sender of a request chose the request's id, and may choose any form.
        if self.0 == FractionPlace::Rest || link.answers.is_some() {
            add_fractions(&mut message, self.0);
        }
        out.send(message);
    }
}

/// Reverses the order of the members of each object.
struct HostReversedMembers;

impl MessageRewriter for HostReversedMembers {
    fn on_host_message(
        &mut self,
        _: &MessageLink<'_>,
        mut message: Value,
        out: &mut RewriterOutput,
    ) {
        walk(&mut message, &mut reverse_members);
        out.send(message);
    }
}

/// Converts messages to JSON text with another function.
struct HostWrittenText(fn(&Value) -> String);

impl MessageRewriter for HostWrittenText {
    fn spelled(&self, message: &Value) -> Option<String> {
        Some((self.0)(message))
    }
}

/// Adds a member that no type defines.
struct ExtensionMembers;

impl MessageRewriter for ExtensionMembers {
    fn on_host_message(
        &mut self,
        link: &MessageLink<'_>,
        mut message: Value,
        out: &mut RewriterOutput,
    ) {
        link.visit_records(&mut message, &mut |_, members| {
            members.insert("x-vendor-note", json!({"of": "a variant", "level": 1}));
        });
        out.send(message);
    }
}

/// Adds `_meta` to objects that only the host creates.
struct HostAddedMetadata;

/// Types and actions that have an optional `_meta` and that clients never send.
const WITH_METADATA: [&str; 8] = [
    "InitializeResult",
    "RootState",
    "SessionModelInfo",
    "ChatState",
    "SessionSummary",
    "ChangesetFile",
    "BackgroundShellWork",
    "BackgroundSubagentWork",
];

impl MessageRewriter for HostAddedMetadata {
    fn on_host_message(
        &mut self,
        link: &MessageLink<'_>,
        mut message: Value,
        out: &mut RewriterOutput,
    ) {
        link.visit_records(&mut message, &mut |name, members| {
            if WITH_METADATA.contains(&name) && !members.contains_key("_meta") {
                members.insert("_meta", json!({"vendor.example/origin": ["variant", 1]}));
            }
        });
        out.send(message);
    }
}

/// Returns the same instant in a time zone two hours east of Greenwich.
fn two_hours_east(plain: &str) -> String {
    const TWO_HOURS: i64 = 7_200_000;
    match timestamp::plus_millis(&format!("{plain}Z"), TWO_HOURS) {
        Some(later) => format!("{}+02:00", later.trim_end_matches('Z')),
        None => format!("{plain}Z"),
    }
}

fn with_digits(plain: &str, digits: usize) -> String {
    match plain.split_once('.') {
        Some((seconds, fraction)) => format!("{seconds}.{fraction:0<digits$}Z"),
        None => format!("{plain}.{:0<digits$}Z", ""),
    }
}

const TIMES: &str = "ISO 8601; the types: createdAt, modifiedAt, startedAt";
const INSTANT: &str =
    "Instants are strings in ISO 8601; the specification does not say in which of its forms.";
const SPACE: &str = "Insignificant white space is allowed around structural characters.";
const NUMBER: &str = "JSON has one type of number: 1.0 and 1e0 are 1.";
const ESCAPE: &str = "Any character of a string may be escaped.";

/// The variants of timestamps, numbers, white space, escapes, the order of members, and extension members.
pub(super) const ROWS: &[VariantRow] = &[
    row("instants-with-offset", "Instants end in `+00:00`.", INSTANT, TIMES, || {
        Box::new(HostInstantForm(|plain| format!("{plain}+00:00")))
    }),
    row(
        "instants-of-another-zone",
        "Times are written in a time zone two hours ahead of UTC, and end in `+02:00`.",
        INSTANT,
        TIMES,
        || Box::new(HostInstantForm(two_hours_east)),
    ),
    row(
        "instants-in-microseconds",
        "Instants have six digits after the second.",
        INSTANT,
        TIMES,
        || Box::new(HostInstantForm(|plain| with_digits(plain, 6))),
    ),
    row(
        "instants-in-nanoseconds",
        "Instants have nine digits after the second.",
        INSTANT,
        TIMES,
        || Box::new(HostInstantForm(|plain| with_digits(plain, 9))),
    ),
    row(
        "shortest-instants",
        "The fraction of an instant has no trailing zeros.",
        INSTANT,
        TIMES,
        || {
            Box::new(HostInstantForm(|plain| match plain.contains('.') {
                true => format!("{}Z", plain.trim_end_matches('0').trim_end_matches('.')),
                false => format!("{plain}Z"),
            }))
        },
    ),
    row("numbers-with-fraction", "Integers are written as `1.0`.", NUMBER, JSON, || {
        Box::new(HostFractionalNumbers(FractionPlace::Rest))
    }),
    row("numbers-with-exponent", "Integers are written as `1e0`.", NUMBER, JSON, || {
        Box::new(HostWrittenText(|message| {
            written(message, LeafForm { number: with_exponent, ..USUAL })
        }))
    }),
    row(
        "ids-with-fraction",
        "The ids of responses are written as `1.0`.",
        "The id of a response is the same value as in the request; 1.0 is 1.",
        RPC,
        || Box::new(HostFractionalNumbers(FractionPlace::Id)),
    ),
    row(
        "members-reversed",
        "The members of each object come in reverse order.",
        "An object is an unordered collection of members.",
        JSON,
        || Box::new(HostReversedMembers),
    ),
    row("indented", "Messages are indented.", SPACE, JSON, || {
        Box::new(HostWrittenText(|message| {
            serde_json::to_string_pretty(message).unwrap_or_default()
        }))
    }),
    row(
        "ends-with-newline",
        "Each message begins with a space and ends with a line break.",
        SPACE,
        JSON,
        || Box::new(HostWrittenText(|message| format!(" {}\r\n", message.to_text()))),
    ),
    row("escaped", "Slashes and characters outside ASCII are escaped.", ESCAPE, JSON, || {
        Box::new(HostWrittenText(written_in_ascii))
    }),
    row(
        "every-letter-escaped",
        "Every letter of a string is escaped, also in names.",
        ESCAPE,
        JSON,
        || Box::new(HostWrittenText(written_in_escapes)),
    ),
    row(
        "extension-members",
        "Objects of the protocol have a member that no type defines.",
        "Clients ignore members that they do not know.",
        UNKNOWN,
        || Box::new(ExtensionMembers),
    ),
    since(
        Version::V0_2,
        row(
            "metadata-of-the-host",
            "Objects that the host makes have a `_meta` with custom members.",
            "`_meta` is an optional object of any members.",
            UNKNOWN,
            || Box::new(HostAddedMetadata),
        ),
    ),
];
