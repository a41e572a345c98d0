//! Watches on folders: which paths a watch reports, and since when a watch has no subscriber.
//!
//! Owns: the watches. Knows: paths, patterns. Never knows: states, connections, the content of files.
//!
//! Start at [`FolderWatches`].

use std::time::Duration;

use litemap::LiteMap;

use crate::files::tree::within;

/// The maximum number of watches.
const MAX_WATCHES: usize = 1_000;

/// A watch on a file or folder.
#[derive(Debug)]
pub(super) struct FolderWatch {
    pub(super) root: String,
    pub(super) recursive: bool,
    pub(super) excludes: Vec<String>,
    /// The patterns to include; `None` includes everything.
    pub(super) includes: Option<Vec<String>>,
    /// The time since which the watch has no subscriber.
    pub(super) idle_at: Option<Duration>,
}

impl FolderWatch {
    /// Returns whether the watch reports a change of a path.
    pub(super) fn wants(&self, path: &str) -> bool {
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

/// The watches of folders.
#[derive(Debug, Default)]
pub(super) struct FolderWatches {
    by_uri: LiteMap<String, FolderWatch>,
}

impl FolderWatches {
    pub(super) fn has(&self, uri: &str) -> bool {
        self.by_uri.contains_key(uri)
    }

    /// Returns whether the host creates no further watch.
    pub(super) fn is_full(&self) -> bool {
        self.by_uri.len() >= MAX_WATCHES
    }

    pub(super) fn add(&mut self, uri: String, watch: FolderWatch) {
        self.by_uri.insert(uri, watch);
    }

    pub(super) fn remove(&mut self, uri: &str) {
        self.by_uri.remove(uri);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&String, &FolderWatch)> {
        self.by_uri.iter()
    }

    /// Sets the time since which a watch has no subscriber; `None` for a watch with a subscriber.
    pub(super) fn set_idle(&mut self, uri: &str, since: Option<Duration>) {
        if let Some(watch) = self.by_uri.get_mut(uri) {
            watch.idle_at = since;
        }
    }

    /// Returns the earliest time since which a watch has no subscriber.
    pub(super) fn first_idle(&self) -> Option<Duration> {
        self.by_uri.values().filter_map(|watch| watch.idle_at).min()
    }

    /// Returns the watches that have had no subscriber for this time.
    pub(super) fn idle_for(&self, time: Duration, now: Duration) -> Vec<String> {
        let idle = |watch: &FolderWatch| watch.idle_at.is_some_and(|at| at + time <= now);
        self.by_uri.iter().filter(|(_, watch)| idle(watch)).map(|(uri, _)| uri.clone()).collect()
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
