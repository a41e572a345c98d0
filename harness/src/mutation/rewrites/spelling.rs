//! Rewrites of the notation of values: JSON, timestamps, numbers, and unknown members.

use std::fmt::Write as _;

use crate::dice::Dice;
use crate::transcript::ConnectionEvent;
use crate::transcript::line::TranscriptLine;
use crate::wire::built_in::built_in;
use crate::wire::frame::Frame;
use crate::wire::json::{Number, Value, json};

use super::super::capture::{edit, message_of, put_frame};
use super::super::rewrite::FramePortion;
use super::names::TEXTS;

/// A form of request identifiers.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum IdForm {
    /// Strings.
    Text,
    /// Large numbers.
    Large,
    /// Odd numbers become strings; even numbers stay numbers.
    Mixed,
}

/// A form of timestamps.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RewriteInstantForm {
    /// Without trailing zeros of the fraction, or without a fraction.
    Short,
    /// With microseconds.
    Micro,
    /// With nanoseconds.
    Nano,
    /// With the offset `+00:00`.
    Offset,
    /// With the offset of a time zone that is one hour ahead.
    Ahead,
}

/// A form of JSON.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum JsonForm {
    /// With spaces between the tokens.
    Spaced,
    /// On several lines.
    Lines,
    /// With white space before and after the value.
    Padded,
    /// With members in the opposite order.
    Turned,
    /// With members in the order of their names.
    Sorted,
    /// With escapes for all characters that are not ASCII.
    Ascii,
    /// With escapes for letters that do not need them.
    Escaped,
    /// With `\/` for every slash.
    Slashes,
}

/// Members below which names and values are not rewritten: users choose the names, the content belongs to other
/// parties, or its kind is unknown.
const OPEN: &[&str] = &[
    "config",
    "values",
    "properties",
    "answers",
    "childEnablement",
    "inputSchema",
    "outputSchema",
    "structuredContent",
    "payload",
    "schema",
    "_meta",
    "data",
    "default",
    "error",
    "review",
    "capabilities",
    "attachments",
];

/// Whole numbers below this limit are exact as floating-point numbers in every parser.
const EXACT: u64 = 1 << 53;

/// The name and the value of the added member. The name and the value are constant, so that copies of an object stay
/// equal.
const EXTENSION: (&str, &str) = ("x-check/extension", "{\"kept\":[1,{\"as\":\"it is\"}]}");

/// Changes the messages in some of the host's frames.
fn each(
    lines: &mut [TranscriptLine],
    portion: FramePortion,
    dice: &mut Dice,
    change: &mut dyn FnMut(&mut TranscriptLine),
) {
    let conns: Vec<String> = lines.iter().map(|line| line.conn.clone()).collect();
    let chosen = dice.pick(&conns).cloned().unwrap_or_default();
    for line in lines.iter_mut().filter(|line| matches!(line.event, ConnectionEvent::Received(_))) {
        let Some(value) = message_of(line) else { continue };
        let method = value.get("method").and_then(Value::as_str);
        let has = |place: &str| value.pointer(place).is_some();
        let state = has("/result/snapshot") || has("/result/snapshots");
        let wanted = match portion {
            FramePortion::All => true,
            FramePortion::Actions => method == Some("action") || has("/result/actions"),
            FramePortion::Snapshots => state,
            // Replayed actions have to stay equal to their live copies, so replays are left out.
            FramePortion::Results => has("/result") && !state && !has("/result/actions"),
            FramePortion::Notices => method.is_some_and(|it| it != "action") && !has("/id"),
            FramePortion::Refusals => has("/error"),
            FramePortion::Half => dice.chance(50),
            FramePortion::OneConnection => line.conn == chosen,
        };
        if wanted {
            change(line);
        }
    }
}

/// Writes the identifiers of requests, and of their answers, in another form.
pub(in crate::mutation) fn request_ids(lines: &mut [TranscriptLine], form: IdForm) {
    for line in lines {
        edit(line, |value| {
            let Some(id) = value.get("id").filter(|id| id.is_u64()).cloned() else { return false };
            let number = id.as_u64().unwrap_or_default();
            let other = match form {
                IdForm::Large => json!(number + 4_000_000_000),
                IdForm::Mixed if number % 2 == 0 => return false,
                IdForm::Text | IdForm::Mixed => json!(format!("request {number}")),
            };
            value.get_mut("id").map(|it| *it = other).is_some()
        });
    }
}

/// Adds unknown members to objects.
pub(in crate::mutation) fn extend(
    lines: &mut [TranscriptLine],
    portion: FramePortion,
    member: Option<&str>,
    dice: &mut Dice,
) {
    let extension = built_in("EXTENSION", Value::read(EXTENSION.1));
    each(lines, portion, dice, &mut |line| {
        edit(line, |value| {
            for inside in ["params", "result", "error"] {
                if let Some(value) = value.get_mut(inside) {
                    extended(value, inside, member, &extension);
                }
            }
            true
        });
    });
}

fn extended(value: &mut Value, name: &str, member: Option<&str>, extension: &Value) {
    match value {
        Value::Array(items) => {
            items.iter_mut().for_each(|item| extended(item, name, member, extension));
        }
        Value::Object(map) => {
            for (name, inner) in map.iter_mut() {
                if !OPEN.contains(&name.as_str()) {
                    extended(inner, name.as_str(), member, extension);
                }
            }
            if member.is_none_or(|member| member == name) {
                map.insert(EXTENSION.0, extension.clone());
            }
        }
        _ => {}
    }
}

/// Writes timestamps in another form.
pub(in crate::mutation) fn instants(
    lines: &mut [TranscriptLine],
    portion: FramePortion,
    form: RewriteInstantForm,
    dice: &mut Dice,
) {
    each(lines, portion, dice, &mut |line| {
        edit(line, |value| {
            each_member(value, &mut |name, value| {
                if let Some(other) = value.as_str().and_then(|text| instant(text, form))
                    && !TEXTS.contains(&name)
                {
                    *value = json!(other);
                }
            });
            true
        });
    });
}

/// Returns the same timestamp in another form; `None` if the string is not a UTC timestamp with milliseconds.
fn instant(text: &str, form: RewriteInstantForm) -> Option<String> {
    let rest = text.strip_suffix('Z')?;
    let (seconds, fraction) = rest.split_once('.')?;
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (date, time) = seconds.split_once('T')?;
    if seconds.len() != 19 || fraction.len() != 3 || !digits(fraction) {
        return None;
    }
    let hour: u32 = time.get(..2)?.parse().ok()?;
    Some(match form {
        RewriteInstantForm::Short => match fraction.trim_end_matches('0') {
            "" => format!("{seconds}Z"),
            short => format!("{seconds}.{short}Z"),
        },
        RewriteInstantForm::Micro => format!("{rest}000Z"),
        RewriteInstantForm::Nano => format!("{rest}000000Z"),
        RewriteInstantForm::Offset => format!("{rest}+00:00"),
        RewriteInstantForm::Ahead if hour < 23 => {
            format!("{date}T{:02}{}.{fraction}+01:00", hour + 1, time.get(2..)?)
        }
        RewriteInstantForm::Ahead => return None,
    })
}

/// Writes whole numbers in these members with a fraction of zero.
pub(in crate::mutation) fn fractions(
    lines: &mut [TranscriptLine],
    portion: FramePortion,
    members: &[&str],
    dice: &mut Dice,
) {
    each(lines, portion, dice, &mut |line| {
        edit(line, |value| {
            each_member(value, &mut |name, value| {
                if let Some(number) = value.as_i64().filter(|_| members.contains(&name))
                    && number.unsigned_abs() < EXACT
                    && let Some(other) = Number::from_f64(number as f64)
                {
                    *value = Value::Number(other);
                }
            });
            true
        });
    });
}

/// Visits every member below a value, except below members with names that users choose.
fn each_member(value: &mut Value, visit: &mut dyn FnMut(&str, &mut Value)) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| each_member(item, visit)),
        Value::Object(map) => {
            for (name, inner) in map.iter_mut() {
                visit(name.as_str(), inner);
                if !OPEN.contains(&name.as_str()) {
                    each_member(inner, visit);
                }
            }
        }
        _ => {}
    }
}

/// Writes frames as different JSON for the same value.
pub(in crate::mutation) fn json_text(
    lines: &mut [TranscriptLine],
    portion: FramePortion,
    form: JsonForm,
    dice: &mut Dice,
) {
    each(lines, portion, dice, &mut |line| {
        let Some(value) = message_of(line) else { return };
        let mut out = String::new();
        spell(value, form, &mut out);
        if form == JsonForm::Padded {
            out = format!(" \t{out}\r\n");
        }
        put_frame(line, Frame::Text(out));
    });
}

fn spell(value: &Value, form: JsonForm, out: &mut String) {
    let (comma, colon) = match form {
        JsonForm::Spaced => (" , ", " : "),
        JsonForm::Lines => (",\n", ":\n\t"),
        _ => (",", ":"),
    };
    match value {
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { comma });
                spell(item, form, out);
            }
            out.push(']');
        }
        Value::Object(map) => {
            let mut members: Vec<_> = map.iter().collect();
            match form {
                JsonForm::Turned => members.reverse(),
                JsonForm::Sorted => members.sort_by(|one, two| one.0.cmp(two.0)),
                _ => {}
            }
            out.push('{');
            for (index, (name, inner)) in members.into_iter().enumerate() {
                out.push_str(if index == 0 { "" } else { comma });
                spell_text(name.as_str(), form, out);
                out.push_str(colon);
                spell(inner, form, out);
            }
            out.push('}');
        }
        Value::String(text) => spell_text(text.as_str(), form, out),
        other => out.push_str(&other.to_text()),
    }
}

fn spell_text(text: &str, form: JsonForm, out: &mut String) {
    let escapes = |c: char| match form {
        JsonForm::Ascii => !c.is_ascii(),
        JsonForm::Escaped => c.is_ascii_lowercase() || !c.is_ascii(),
        _ => false,
    };
    let plain = json!(text).to_text();
    let Some(inside) = plain.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else {
        return out.push_str(&plain);
    };
    out.push('"');
    let mut chars = inside.chars();
    while let Some(c) = chars.next() {
        match c {
            // An escape that is necessary is kept.
            '\\' => {
                out.push(c);
                let kind = chars.next().unwrap_or_default();
                out.push(kind);
                if kind == 'u' {
                    out.extend(chars.by_ref().take(4));
                }
            }
            '/' if form == JsonForm::Slashes => out.push_str("\\/"),
            c if escapes(c) => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_json_is_the_same_value() {
        let value = Value::read(r#"{"b":[1,"ü/\"\n\u0001🙂",{}],"a":{"x":null}}"#).unwrap();
        for form in [
            JsonForm::Spaced,
            JsonForm::Lines,
            JsonForm::Padded,
            JsonForm::Turned,
            JsonForm::Sorted,
            JsonForm::Ascii,
            JsonForm::Escaped,
            JsonForm::Slashes,
        ] {
            let mut out = String::new();
            spell(&value, form, &mut out);
            let again = Value::read(&out).unwrap();
            assert_eq!(again.sorted(), value.sorted(), "{form:?}: {out}");
        }
    }

    #[test]
    fn every_form_of_an_instant_is_the_same_instant() {
        let check = |form, expected: &str| {
            assert_eq!(instant("2026-01-02T03:04:05.060Z", form).as_deref(), Some(expected));
        };
        check(RewriteInstantForm::Short, "2026-01-02T03:04:05.06Z");
        check(RewriteInstantForm::Micro, "2026-01-02T03:04:05.060000Z");
        check(RewriteInstantForm::Nano, "2026-01-02T03:04:05.060000000Z");
        check(RewriteInstantForm::Offset, "2026-01-02T03:04:05.060+00:00");
        check(RewriteInstantForm::Ahead, "2026-01-02T04:04:05.060+01:00");
        assert_eq!(instant("yesterday", RewriteInstantForm::Short), None);
    }
}
