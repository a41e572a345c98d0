//! Small files that are one list of entries, such as baselines.
//!
//! Start at [`read_list`].

use super::node::{SourceNode, read};
use super::source::SourceFile;

/// What a file of entries may have.
pub struct ListingForm {
    /// What it is, such as `a baseline`.
    pub what: &'static str,
    /// The member that has the entries.
    pub list: &'static str,
    /// The other members it may have.
    pub beside: &'static [&'static str],
    /// The members of an entry.
    pub entry: &'static [&'static str],
}

/// Reads a file and hands over every entry; returns the whole tree, for the members beside the list.
///
/// # Errors
/// Every mistake in it, a line each: where, and what. Those of an entry are what `take` says.
pub fn read_list(
    name: &str,
    text: &str,
    form: &ListingForm,
    take: &mut dyn FnMut(&SourceNode) -> Result<(), String>,
) -> Result<SourceNode, String> {
    let source = SourceFile::new(name, text);
    let (root, errors) = read(&source, 0);
    let place = |start| {
        let (line, column) = source.position(start);
        format!("{name}:{line}:{column}")
    };
    let mut mistakes: Vec<String> =
        errors.iter().map(|error| format!("{}: {error}", place(error.span.start))).collect();
    for member in root.as_ref().and_then(SourceNode::as_map).unwrap_or_default() {
        if member.key != form.list && !form.beside.contains(&member.key.as_str()) {
            let place = place(member.key_span.start);
            mistakes.push(format!("{place}: {} has no `{}`", form.what, member.key));
        }
    }
    let entries = root.as_ref().and_then(|root| root.get(form.list)).and_then(SourceNode::as_list);
    if entries.is_none() && mistakes.is_empty() {
        mistakes.push(format!("{name}:1:1: expected `{}:` with a list of entries", form.list));
    }
    for entry in entries.unwrap_or_default() {
        if let Err(mistake) = members(entry, form.entry).and_then(|()| take(entry)) {
            mistakes.push(format!("{}: {mistake}", place(entry.span.start)));
        }
    }
    match root {
        Some(root) if mistakes.is_empty() => Ok(root),
        _ => Err(mistakes.join("\n")),
    }
}

fn members(entry: &SourceNode, known: &[&str]) -> Result<(), String> {
    let foreign = |key: &&str| !known.contains(key);
    let mut keys = entry.as_map().unwrap_or_default().iter().map(|member| member.key.as_str());
    match keys.find(foreign) {
        Some(key) => {
            let known: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
            Err(format!("an entry has no `{key}` (hint: it may have {})", known.join(", ")))
        }
        None => Ok(()),
    }
}

/// The text of a member of an entry.
pub fn text<'a>(entry: &'a SourceNode, key: &str) -> Option<&'a str> {
    entry.get(key).and_then(SourceNode::as_str)
}

/// The text of a member that every entry needs; `why` says what it is for.
///
/// # Errors
/// It is not there, or blank.
pub fn needed<'a>(entry: &'a SourceNode, key: &str, why: &str) -> Result<&'a str, String> {
    let found = text(entry, key).map(str::trim).filter(|text| !text.is_empty());
    found.ok_or_else(|| format!("expected `{key}`: {why}"))
}

/// The reason of an entry that tolerates something.
///
/// # Errors
/// There is none.
pub fn reason(entry: &SourceNode) -> Result<&str, String> {
    needed(entry, "reason", "otherwise nobody will know why it was tolerated")
}
