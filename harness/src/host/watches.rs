//! Watches on files: made, told what changes, and released when nobody listens any more.
//!
//! All that one request does to the files is one batch. A watch is kept as long as somebody is
//! subscribed; who lost the connection may come back for a while, as for active clients, and so may
//! who has asked for a watch and not subscribed yet.
//!
//! Readings taken where the specification is silent:
//! - A pattern is about the path below the root, or a folder that the path stands in; `*` and `?`
//!   stop at a slash, `**` does not.
//! - What is to be watched has to exist.
//!
//! Knows: paths, the filters of a watch. Never knows: what is in a file.
//!
//! Start at [`RefHost::create_resource_watch`].

use std::time::Duration;

use crate::wire::json::{Value, json};

use super::connection::{CallReply, ErrorResponse, HostCall};
use super::engine::RefHost;
use super::files::{FileChange, within};
use super::resources::uri_of;
use crate::wire::channel::ChannelKind;

/// The most watches at a time.
const MAX_WATCHES: usize = 1_000;
/// The most patterns of a watch.
const MAX_PATTERNS: usize = 100;
/// The longest pattern.
const MAX_PATTERN: usize = 256;

/// A watch.
#[derive(Debug)]
pub(super) struct FolderWatch {
    root: String,
    recursive: bool,
    excludes: Vec<String>,
    /// Everything, where there are none.
    includes: Option<Vec<String>>,
    /// Since when nobody is known to listen.
    idle_at: Option<Duration>,
}

impl FolderWatch {
    /// Whether a change of a path is to be told.
    fn wants(&self, path: &str) -> bool {
        if !within(path, &self.root) {
            return false;
        }
        let below: Vec<&str> =
            path[self.root.len()..].split('/').filter(|piece| !piece.is_empty()).collect();
        if below.is_empty() {
            return true;
        }
        let named = |patterns: &[String]| patterns.iter().any(|pattern| covers(pattern, &below));
        (self.recursive || below.len() == 1)
            && !named(&self.excludes)
            && self.includes.as_deref().is_none_or(named)
    }
}

/// Whether a pattern is about a path or a folder that it stands in.
fn covers(pattern: &str, path: &[&str]) -> bool {
    let pattern: Vec<&str> = pattern.split('/').filter(|piece| !piece.is_empty()).collect();
    (1..=path.len()).any(|end| fits(&pattern, &path[..end]))
}

/// Whether pieces of a pattern, of which `**` stands for any number, fit those of a path.
fn fits(pattern: &[&str], path: &[&str]) -> bool {
    stars(
        pattern,
        path,
        |piece| *piece == "**",
        |piece, name| {
            let (piece, name): (Vec<char>, Vec<char>) =
                (piece.chars().collect(), name.chars().collect());
            stars(&piece, &name, |sign| *sign == '*', |sign, letter| *sign == '?' || sign == letter)
        },
    )
}

/// Holds things against a pattern in which some fit any number of them. Only the last such is ever
/// tried again, so that no pattern takes long.
fn stars<P, T>(
    pattern: &[P],
    things: &[T],
    any: impl Fn(&P) -> bool,
    one: impl Fn(&P, &T) -> bool,
) -> bool {
    let (mut at, mut from, mut again) = (0, 0, None);
    while from < things.len() {
        match pattern.get(at) {
            Some(piece) if any(piece) => {
                at += 1;
                again = Some((at, from));
            }
            Some(piece) if one(piece, &things[from]) => {
                at += 1;
                from += 1;
            }
            _ => match again {
                Some((after, taken)) => {
                    at = after;
                    from = taken + 1;
                    again = Some((after, taken + 1));
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(any)
}

/// The patterns of a request, `{items: [..]}`.
fn patterns(given: &Value) -> Result<Option<Vec<String>>, ErrorResponse> {
    if given.is_null() {
        return Ok(None);
    }
    let items = given["items"].as_array().map(Vec::as_slice);
    let texts = items.and_then(|items| {
        items.iter().map(|item| item.as_str().map(str::to_owned)).collect::<Option<Vec<String>>>()
    });
    let texts = texts.ok_or_else(|| ErrorResponse::invalid_params("expected texts at `items`"))?;
    if texts.len() > MAX_PATTERNS || texts.iter().any(|text| text.len() > MAX_PATTERN) {
        return Err(ErrorResponse::invalid_params("too many patterns, or too long ones"));
    }
    Ok(Some(texts))
}

impl RefHost {
    /// Serves `createResourceWatch`. Source: resource-watch-channel.md; `watch.*`.
    pub(super) fn create_resource_watch(&mut self, call: &HostCall) -> CallReply {
        let root = self.path(call, "uri")?;
        self.files.get(&root)?;
        if self.watches.len() >= MAX_WATCHES {
            return Err(ErrorResponse::invalid_request("too many watches"));
        }
        let recursive = call.params["recursive"] == true;
        let mut state = json!({"root": call.params["uri"], "recursive": recursive});
        for name in ["excludes", "includes"] {
            if let Some(given) = call.params.get(name).filter(|given| !given.is_null()) {
                state[name] = given.clone();
            }
        }
        let watch = FolderWatch {
            root,
            recursive,
            excludes: patterns(&call.params["excludes"])?.unwrap_or_default(),
            includes: patterns(&call.params["includes"])?,
            idle_at: Some(self.now),
        };
        let uri = format!("ahp-resource-watch:/{}", self.fresh_id("watch"));
        self.add_channel(&uri, ChannelKind::ResourceWatch, state);
        self.watches.insert(uri.clone(), watch);
        Ok(json!({"channel": uri}))
    }

    /// Tells each watch what has happened to its files.
    pub(super) fn tell_watches(&mut self, changes: &[FileChange]) {
        if changes.is_empty() {
            return;
        }
        let scoped = self.keeps("watch.events");
        let mut told = Vec::new();
        for (uri, watch) in &self.watches {
            let items = changes.iter().filter(|(path, _)| !scoped || watch.wants(path));
            let items = items.map(|(path, kind)| json!({"uri": uri_of(path), "type": kind}));
            told.push((uri.clone(), items.collect::<Vec<Value>>()));
        }
        // The state does not change, so that nothing is reduced.
        for (uri, items) in told {
            if !items.is_empty() || !self.keeps("watch.nonempty-batch") {
                let changes = json!({"items": items});
                let action = json!({"type": "resourceWatch/changed", "changes": changes});
                self.emit(&uri, action, None);
            }
        }
    }

    fn is_heard(&self, uri: &str) -> bool {
        self.connections.values().any(|connection| connection.subscriptions.contains(uri))
    }

    /// Releases a watch that its last subscriber has left.
    pub(super) fn leave_watch(&mut self, uri: &str) {
        if self.watches.contains_key(uri) && !self.is_heard(uri) {
            self.watches.remove(uri);
            self.drop_channel(uri);
        }
    }

    /// Notes which watches nobody listens to since connections were lost.
    pub(super) fn idle_watches(&mut self) {
        let unheard = |(uri, watch): (&String, &FolderWatch)| {
            (watch.idle_at.is_none() && !self.is_heard(uri)).then(|| uri.clone())
        };
        let unheard: Vec<String> = self.watches.iter().filter_map(unheard).collect();
        for uri in unheard {
            if let Some(watch) = self.watches.get_mut(&uri) {
                watch.idle_at = Some(self.now);
            }
        }
    }

    /// When the next watch is looked at, whether somebody listens by now.
    pub(super) fn next_release(&self) -> Option<Duration> {
        self.watches.values().filter_map(|watch| watch.idle_at).min().map(|at| at + self.grace)
    }

    /// Releases watches that nobody has come back to in time.
    pub(super) fn release_watches(&mut self) {
        let due = |(uri, watch): (&String, &FolderWatch)| {
            watch.idle_at.is_some_and(|at| at + self.grace <= self.now).then(|| uri.clone())
        };
        let due: Vec<String> = self.watches.iter().filter_map(due).collect();
        for uri in due {
            if let Some(watch) = self.watches.get_mut(&uri) {
                watch.idle_at = None;
            }
            self.leave_watch(&uri);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_about_paths_below_the_root() {
        let check = |pattern: &str, path: &str, expected: bool| {
            let pieces: Vec<&str> = path.split('/').collect();
            assert_eq!(covers(pattern, &pieces), expected, "{pattern} {path}");
        };
        check("*.log", "a.log", true);
        check("*.log", "a.txt", false);
        check("*.log", "b/a.log", false);
        check("**/*.log", "b/c/a.log", true);
        check("**/*.log", "a.log", true);
        check("b", "b/c/a.log", true);
        check("b/*/a.log", "b/c/a.log", true);
        check("b/*/a.log", "b/c/d/a.log", false);
        check("b/**", "b", true);
        check("?.t*t", "a.text", true);
        check("?.t*t", "ab.text", false);
        check("**", "x/y", true);
        check("", "x", false);
        check(&"*a".repeat(60), &"a".repeat(200), true);
        check(&format!("{}b", "*a".repeat(60)), &"a".repeat(200), false);
    }
}
