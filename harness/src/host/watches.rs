//! Watches on files: creation, notifications of changes, and release without subscribers.
//!
//! All file changes of one request are one batch. A watch lives as long as it has a subscriber. A client that
//! lost its connection may resubscribe within the grace period for active clients. The same period applies to a
//! client that has created a watch and has not subscribed yet.
//!
//! Interpretations where the specification is silent:
//! - A pattern matches a path below the root, or a folder of that path; `*` and `?` do not match a slash, `**`
//!   does.
//! - The root of a watch has to exist.
//!
//! Knows: paths, the filters of a watch. Never knows: the content of files.
//!
//! Start at [`RefHost::create_resource_watch`].

use std::time::Duration;

use data_encoding::HEXLOWER;

use litemap::LiteMap;

use crate::wire::json::{Value, json};

use super::connection::{CallReply, ErrorResponse, HostCall};
use super::engine::RefHost;
use super::resources::uri_of;
use crate::files::tree::{FileChange, within};
use crate::wire::channel::ChannelKind;

/// The prefix of those watch URIs that contain the root and the patterns of their watch.
const NAMED: &str = "ahp-resource-watch:/of/";
/// The maximum number of watches.
const MAX_WATCHES: usize = 1_000;
/// The maximum number of patterns of a watch.
const MAX_PATTERNS: usize = 100;
/// The maximum length of a pattern in bytes.
const MAX_PATTERN: usize = 256;

/// A watch on a file or folder.
#[derive(Debug)]
struct FolderWatch {
    root: String,
    recursive: bool,
    excludes: Vec<String>,
    /// The patterns to include; `None` includes everything.
    includes: Option<Vec<String>>,
    /// The time since which the watch has no subscriber.
    idle_at: Option<Duration>,
}

impl FolderWatch {
    /// Returns whether the watch reports a change of a path.
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

/// Returns whether a pattern matches a path or one of its folders.
fn covers(pattern: &str, path: &[&str]) -> bool {
    let pattern: Vec<&str> = pattern.split('/').filter(|piece| !piece.is_empty()).collect();
    (1..=path.len()).any(|end| fits(&pattern, &path[..end]))
}

/// Returns whether the segments of a pattern match the segments of a path; `**` matches any number of segments.
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

/// Matches a sequence against a pattern in which some elements match any number of items. The function
/// backtracks only to the last such element, so the run time is bounded by the product of the lengths.
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

/// Parses the patterns of a request, `{items: [..]}`; `None` for null.
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

/// The watches of folders.
#[derive(Debug, Default)]
pub(super) struct FolderWatches {
    by_uri: LiteMap<String, FolderWatch>,
}

impl RefHost {
    /// Serves `createResourceWatch`. Source: resource-watch-channel.md; `watch.*`.
    pub(super) fn create_resource_watch(&mut self, call: &HostCall) -> CallReply {
        let (watch, state) = self.watch_of(call)?;
        let uri = format!("ahp-resource-watch:/{}", self.fresh_id("watch"));
        self.add_watch(uri.clone(), watch, state);
        Ok(json!({"channel": uri}))
    }

    /// Serves `createResourceWatch`. The URI of a watch contains its root and patterns, so equal watches have the same
    /// URI.
    pub(super) fn create_named_watch(&mut self, call: &HostCall) -> CallReply {
        let (watch, state) = self.watch_of(call)?;
        let uri = format!("{NAMED}{}", HEXLOWER.encode(state.to_text().as_bytes()));
        if !self.watches.by_uri.contains_key(&uri) {
            self.add_watch(uri.clone(), watch, state);
        }
        Ok(json!({"channel": uri}))
    }

    /// Starts a released watch again if its URI contains its root and patterns.
    pub(super) fn renew_watch(&mut self, call: &HostCall) {
        let uri = call.channel();
        let code = uri.strip_prefix(NAMED).filter(|_| !self.watches.by_uri.contains_key(uri));
        let code = code.and_then(|code| HEXLOWER.decode(code.as_bytes()).ok());
        let state: Option<Value> = code.and_then(|text| serde_json::from_slice(&text).ok());
        if let Some(mut params) = state {
            params["uri"] = params["root"].clone();
            let again = HostCall { params: &params, ..*call };
            if let Ok((watch, state)) = self.watch_of(&again) {
                self.add_watch(uri.to_owned(), watch, state);
            }
        }
    }

    fn add_watch(&mut self, uri: String, watch: FolderWatch, state: Value) {
        self.add_channel(&uri, ChannelKind::ResourceWatch, state);
        self.watches.by_uri.insert(uri, watch);
    }

    /// Returns the watch that a request describes, and the state of its channel.
    fn watch_of(&self, call: &HostCall) -> Result<(FolderWatch, Value), ErrorResponse> {
        let root = self.path(call, "uri")?;
        self.files.get(&root)?;
        if self.watches.by_uri.len() >= MAX_WATCHES {
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
            idle_at: Some(self.clock.now()),
        };
        Ok((watch, state))
    }

    /// Notifies each watch of the changes that the watch reports.
    pub(super) fn tell_watches(&mut self, changes: &[FileChange]) {
        if changes.is_empty() {
            return;
        }
        let scoped = self.keeps("watch.events");
        let mut told = Vec::new();
        for (uri, watch) in &self.watches.by_uri {
            let items = changes.iter().filter(|(path, _)| !scoped || watch.wants(path));
            let items = items.map(|(path, kind)| json!({"uri": uri_of(path), "type": kind}));
            told.push((uri.clone(), items.collect::<Vec<Value>>()));
        }
        // The reducers would not change the state, so emit the action without them.
        for (uri, items) in told {
            if !items.is_empty() || !self.keeps("watch.nonempty-batch") {
                let changes = json!({"items": items});
                let action = json!({"type": "resourceWatch/changed", "changes": changes});
                self.emit(&uri, action, None);
            }
        }
    }

    fn is_heard(&self, uri: &str) -> bool {
        self.connections.has_subscribers(uri)
    }

    /// Releases a watch if its last subscriber has left.
    pub(super) fn leave_watch(&mut self, uri: &str) {
        if self.watches.by_uri.contains_key(uri) && !self.is_heard(uri) {
            self.watches.by_uri.remove(uri);
            self.drop_channel(uri);
        }
    }

    /// Records the watches that have lost all subscribers.
    pub(super) fn idle_watches(&mut self) {
        let unheard = |(uri, watch): (&String, &FolderWatch)| {
            (watch.idle_at.is_none() && !self.is_heard(uri)).then(|| uri.clone())
        };
        let unheard: Vec<String> = self.watches.by_uri.iter().filter_map(unheard).collect();
        for uri in unheard {
            if let Some(watch) = self.watches.by_uri.get_mut(&uri) {
                watch.idle_at = Some(self.clock.now());
            }
        }
    }

    /// Returns the time at which the next watch without subscribers may be released; `None` if all watches have
    /// subscribers.
    pub(super) fn next_release(&self) -> Option<Duration> {
        self.watches
            .by_uri
            .values()
            .filter_map(|watch| watch.idle_at)
            .min()
            .map(|at| at + self.config.grace)
    }

    /// Releases the watches that had no subscriber for the grace period.
    pub(super) fn release_watches(&mut self) {
        let due = |(uri, watch): (&String, &FolderWatch)| {
            watch
                .idle_at
                .is_some_and(|at| at + self.config.grace <= self.clock.now())
                .then(|| uri.clone())
        };
        let due: Vec<String> = self.watches.by_uri.iter().filter_map(due).collect();
        for uri in due {
            if let Some(watch) = self.watches.by_uri.get_mut(&uri) {
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
