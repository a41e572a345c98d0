//! Reads small files that consist of one list of entries, such as baselines.
//!
//! Start at [`read_list`].

use super::node::{SourceNode, read};
use super::source::SourceFile;

/// The form of a file of entries.
pub struct ListingForm {
    /// The name of the file in messages, such as `a baseline`.
    pub what: &'static str,
    /// The member that contains the entries.
    pub list: &'static str,
    /// The other members that the file may contain.
    pub beside: &'static [&'static str],
    /// The members that an entry may have.
    pub entry: &'static [&'static str],
}

/// Parses the text of a file and calls `take` for every entry of its list. Returns the tree of the whole file, because
/// the caller may need the other members.
///
/// # Errors
/// Returns all mistakes in the file, one per line with the place. The mistakes include the errors that `take`
/// returns.
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
            Err(format!(
                "an entry has no `{key}` (hint: the members of an entry are {})",
                known.join(", ")
            ))
        }
        None => Ok(()),
    }
}

/// Returns the string in a member of an entry; `None` if the member is missing or not a string.
pub fn text<'a>(entry: &'a SourceNode, key: &str) -> Option<&'a str> {
    entry.get(key).and_then(SourceNode::as_str)
}

/// Returns the string in a required member of an entry. `why` is the purpose of the member, for the error.
///
/// # Errors
/// Returns an error if the member is missing or blank.
pub fn needed<'a>(entry: &'a SourceNode, key: &str, why: &str) -> Result<&'a str, String> {
    let found = text(entry, key).map(str::trim).filter(|text| !text.is_empty());
    found.ok_or_else(|| format!("expected `{key}`: {why}"))
}

/// Returns the reason of an entry that tolerates a failure.
///
/// # Errors
/// Returns an error if the entry has no reason.
pub fn reason(entry: &SourceNode) -> Result<&str, String> {
    needed(entry, "reason", "otherwise nobody will know why the failure is tolerated")
}
