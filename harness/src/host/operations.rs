//! Operations on changesets: the actions that a client can invoke on the changes of agents.
//!
//! `revert` undoes the changes of all files or of one file. `explain` explains a change. `publish` is listed but
//! disabled, because the host has no place to publish changes. The host answers a request after the operation has
//! finished.
//!
//! Knows: changesets. Never knows: the computation of changesets.
//!
//! Start at [`RefHost::invoke_changeset_operation`].

use crate::wire::json::{Value, json};

use super::changeset_records::EditedFile;
use super::engine::RefHost;
use super::files::KEPT;
use super::request::{CallReply, ErrorResponse, HostCall, unknown_channel};
use super::resources::uri_of;
use crate::files::tree::{ExpectedContent, FileChange, WriteMode};

/// Returns the operations of a session's changeset.
pub(super) fn offered() -> Value {
    json!([
        {
            "id": "revert", "label": "Revert", "scopes": ["changeset", "resource"],
            "confirmation": "Take these changes back?", "status": "idle",
        },
        {"id": "publish", "label": "Publish", "scopes": ["changeset"], "status": "disabled"},
        {
            "id": "explain", "label": "Explain", "description": "Explains the changes at this place.",
            "icon": "comment", "group": "words", "scopes": ["resource", "range"], "status": "idle",
        },
    ])
}

impl RefHost {
    /// Serves `invokeChangesetOperation`. Source: changeset-channel.md; `changeset.operation.*`.
    pub(super) fn invoke_changeset_operation(&mut self, call: &HostCall) -> CallReply {
        let uri = call.channel();
        if !self.changesets.has(uri) {
            return Err(unknown_channel(uri));
        }
        let state = self.state(uri);
        let wanted = call.text("operationId");
        let mut known = state["operations"].as_array().into_iter().flatten();
        let Some(operation) = known.find(|operation| operation["id"] == wanted) else {
            return Err(ErrorResponse::invalid_params("the changeset has no such operation"));
        };
        let target = &call.params["target"];
        let scope = target["kind"].as_str().unwrap_or("changeset");
        let scopes = operation["scopes"].as_array();
        let fits = scopes.is_some_and(|scopes| scopes.contains(&json!(scope)));
        if !fits && self.keeps("changeset.operation.bad-scope") {
            return Err(ErrorResponse::invalid_params(format!(
                "the operation has no scope `{scope}`"
            )));
        }
        let disabled =
            operation["status"] == "disabled" && self.keeps("changeset.operation.disabled");
        if disabled || operation["status"] == "running" || state["status"] != "ready" {
            return Err(ErrorResponse::invalid_request("the operation cannot be invoked now"));
        }
        self.tell_operation(uri, wanted, json!({"status": "running"}));
        let came = match wanted {
            "revert" => self.revert(uri, target["resource"].as_str()).map(|()| json!({})),
            "explain" => Ok(self.explain(target)),
            _ => Ok(json!({})),
        };
        let error = came.as_ref().err().map(|why| json!({"errorType": "revert", "message": why}));
        let status = match error {
            Some(error) => json!({"status": "error", "error": error}),
            None => json!({"status": "idle"}),
        };
        self.tell_operation(uri, wanted, status);
        came.map_err(ErrorResponse::invalid_request)
    }

    /// Explains a change to a file: the message is short, and a saved file holds the details.
    fn explain(&mut self, target: &Value) -> Value {
        let place = target["resource"].as_str().unwrap_or_default();
        let lines = &target["range"]["start"]["line"];
        let text = format!("An agent has written `{place}`; the question is about line {lines}.");
        let kept = self.files.save(KEPT, text.as_bytes());
        let mut result = json!({"message": {"markdown": "**Explained.**"}});
        if let Some(path) = kept {
            let content = json!({"uri": uri_of(&path), "contentType": "text/plain"});
            result["followUp"] = json!({"content": content, "external": false});
        }
        result
    }

    fn tell_operation(&mut self, uri: &str, id: &str, mut status: Value) {
        status["type"] = json!("changeset/operationStatusChanged");
        status["operationId"] = json!(id);
        self.publish(uri, status);
    }

    /// Restores the original content of all files or of one file.
    ///
    /// # Errors
    /// Returns the reason, as a string for people. If a file has changed since the changeset was computed, no file is
    /// restored.
    fn revert(&mut self, uri: &str, target: Option<&str>) -> Result<(), String> {
        if !self.changesets.has(uri) {
            return Ok(());
        }
        let shown = |entry: &EditedFile| {
            let id = uri_of(&entry.path);
            let files = self.state(uri)["files"].as_array();
            files.into_iter().flatten().any(|file| file["id"] == id.as_str())
        };
        let wanted = |entry: &&EditedFile| {
            shown(entry) && target.is_none_or(|target| uri_of(&entry.path) == target)
        };
        let chosen: Vec<&EditedFile> = self.changesets.files(uri).iter().filter(wanted).collect();
        if chosen.is_empty() && target.is_some() {
            return Err("the changeset has no such file".to_owned());
        }
        // Refuse to revert a file that has changed since the changeset was computed.
        let etag = |entry: &EditedFile| self.files.file(&entry.path).ok().map(|file| file.etag);
        if let Some(other) = chosen.iter().find(|entry| etag(entry) != entry.shown) {
            return Err(format!("`{}` has changed since", uri_of(&other.path)));
        }
        let chosen = chosen.into_iter().map(|entry| (entry.path.clone(), entry.before.clone()));
        let chosen: Vec<(String, Option<String>)> = chosen.collect();
        for (path, before) in chosen {
            let changes = self.restore(&path, before.as_deref()).map_err(|why| why.message)?;
            self.tell_watches(&changes);
            self.changesets.remove_file(uri, &path);
            if let Some(kept) = before {
                self.files.discard(&kept);
            }
            let action = json!({"type": "changeset/fileRemoved", "fileId": uri_of(&path)});
            self.publish(uri, action);
        }
        if let Some(session) = self.changesets.session_of(uri).map(str::to_owned) {
            self.announce_summary(&session);
        }
        Ok(())
    }

    fn restore(
        &mut self,
        path: &str,
        before: Option<&str>,
    ) -> Result<Vec<FileChange>, ErrorResponse> {
        let Some(before) = before else {
            return Ok(self.files.remove(path, false)?);
        };
        let bytes = self.files.file(before)?.bytes.clone();
        let now = self.clock.timestamp();
        let how = (WriteMode::Truncate, 0);
        Ok(self.files.write(path, &bytes, how, &ExpectedContent::default(), &now)?)
    }
}
