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

use crate::wire::json::{Value, json};

use super::engine::RefHost;
use super::folder_watches::FolderWatch;
use super::request::{CallReply, ErrorResponse, HostCall};
use super::resources::uri_of;
use crate::files::tree::FileChange;
use crate::wire::channel::ChannelKind;

/// The prefix of those watch URIs that contain the root and the patterns of their watch.
const NAMED: &str = "ahp-resource-watch:/of/";
/// The maximum number of patterns of a watch.
const MAX_PATTERNS: usize = 100;
/// The maximum length of a pattern in bytes.
const MAX_PATTERN: usize = 256;

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
        if !self.watches.has(&uri) {
            self.add_watch(uri.clone(), watch, state);
        }
        Ok(json!({"channel": uri}))
    }

    /// Starts a released watch again if its URI contains its root and patterns.
    pub(super) fn renew_watch(&mut self, call: &HostCall) {
        let uri = call.channel();
        let code = uri.strip_prefix(NAMED).filter(|_| !self.watches.has(uri));
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
        self.watches.add(uri, watch);
    }

    /// Returns the watch that a request describes, and the state of its channel.
    fn watch_of(&self, call: &HostCall) -> Result<(FolderWatch, Value), ErrorResponse> {
        let root = self.path(call, "uri")?;
        self.files.get(&root)?;
        if self.watches.is_full() {
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
        for (uri, watch) in self.watches.iter() {
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
        if self.watches.has(uri) && !self.is_heard(uri) {
            self.watches.remove(uri);
            self.drop_channel(uri);
        }
    }

    /// Records the watches that have lost all subscribers.
    pub(super) fn idle_watches(&mut self) {
        let unheard = |(uri, watch): (&String, &FolderWatch)| {
            (watch.idle_at.is_none() && !self.is_heard(uri)).then(|| uri.clone())
        };
        let unheard: Vec<String> = self.watches.iter().filter_map(unheard).collect();
        for uri in unheard {
            self.watches.set_idle(&uri, Some(self.clock.now()));
        }
    }

    /// Returns the time at which the next watch without subscribers may be released; `None` if all watches have
    /// subscribers.
    pub(super) fn next_release(&self) -> Option<Duration> {
        self.watches.first_idle().map(|at| at + self.config.grace)
    }

    /// Releases the watches that had no subscriber for the grace period.
    pub(super) fn release_watches(&mut self) {
        for uri in self.watches.idle_for(self.config.grace, self.clock.now()) {
            self.watches.set_idle(&uri, None);
            self.leave_watch(&uri);
        }
    }
}
