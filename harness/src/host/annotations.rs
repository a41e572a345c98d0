//! Annotations: comments on a session's files, on a channel that lives as long as the session.
//!
//! Clients write all annotations. The session's state and summary repeat the number of annotations. No action changes
//! this number, so the host itself updates the number in the state and in the summary.
//!
//! Interpretations where the specification is silent:
//! - The host rejects an annotation without entries and the removal of an annotation's last entry: the client
//!   has to remove the annotation explicitly.
//! - The host rejects a new annotation that is already resolved.
//!
//! Knows: the content of annotations channels. Never knows: files, the authors of annotations.
//!
//! Start at [`RefHost::add_annotations`].

use std::collections::HashSet;

use crate::wire::json::{Value, json};

use super::engine::{MAX_STORED_BYTES, RefHost};
use super::rule_facts::{RuleFacts, require};
use crate::wire::channel::ChannelKind;

/// The maximum number of annotations of a session.
const MAX_ANNOTATIONS: usize = 1_000;
/// The maximum number of entries of an annotation.
const MAX_ENTRIES: usize = 1_000;
/// The suffix of the URI of a session's annotations channel.
const PATH: &str = "/annotations";

/// Adds the session to the `origin` of an annotation. Clients of older versions leave the session out, because
/// the channel implies the session.
pub(super) fn place_note(uri: &str, action: &mut Value) {
    let note = if action.get("annotation").is_some() { &mut action["annotation"] } else { action };
    let origin = note.get_mut("origin").and_then(Value::as_object_mut);
    if let Some((origin, session)) = origin.zip(uri.strip_suffix(PATH)) {
        origin.entry("session").or_insert_with(|| json!(session));
    }
}

impl RefHost {
    /// Creates the annotations channel of a new session.
    pub(super) fn add_annotations(&mut self, session: &str) {
        let uri = format!("{session}{PATH}");
        self.add_channel(&uri, ChannelKind::Annotations, json!({"annotations": []}));
        self.count_annotations(session);
    }

    /// Removes the annotations channel of a session.
    pub(super) fn drop_annotations(&mut self, session: &str) {
        if self.keeps("session.dispose.cascade-annotations") {
            self.drop_channel(&format!("{session}{PATH}"));
        }
    }

    /// Updates the session's counts after an action on its annotations.
    pub(super) fn annotations_changed(&mut self, uri: &str) {
        if let Some(session) =
            uri.strip_suffix(PATH).filter(|_| self.keeps("annotations.summary-counts"))
        {
            self.count_annotations(session);
            self.announce_summary(session);
        }
    }

    /// Writes the number of annotations and entries into the session's state.
    fn count_annotations(&mut self, session: &str) {
        let uri = format!("{session}{PATH}");
        let annotations = self.state(&uri)["annotations"].as_array();
        let entries = |it: &Value| it["entries"].as_array().map_or(0, Vec::len);
        let summary = json!({
            "resource": uri,
            "annotationCount": annotations.map_or(0, Vec::len),
            "entryCount": annotations.into_iter().flatten().map(entries).sum::<usize>(),
        });
        self.channels.change(session, |state| state["annotations"] = summary);
    }

    /// Adds the size of an annotation action to the bytes that the session stores permanently.
    pub(super) fn store_annotation(&mut self, uri: &str, action: &Value) {
        if let Some(session) = uri.strip_suffix(PATH) {
            self.sessions.store(session, action.to_string().len());
        }
    }
}

impl RuleFacts<'_> {
    /// Returns the annotation with this id; null if there is none.
    fn annotation(&self, id: &Value) -> &Value {
        let annotations = self.state["annotations"].as_array();
        annotations.into_iter().flatten().find(|it| &it["id"] == id).unwrap_or(&Value::Null)
    }
}

pub(super) fn has_entries(facts: &RuleFacts) -> Result<(), String> {
    let entries = facts.action["annotation"]["entries"].as_array();
    let some = entries.is_some_and(|entries| !entries.is_empty());
    require(some, "an annotation has at least one entry")
}

pub(super) fn entries_differ(facts: &RuleFacts) -> Result<(), String> {
    let entries = facts.action["annotation"]["entries"].as_array();
    let mut ids = entries.into_iter().flatten().map(|entry| entry["id"].as_str());
    let mut seen = HashSet::new();
    require(ids.all(|id| seen.insert(id)), "the ids of the entries repeat")
}

pub(super) fn begins_unresolved(facts: &RuleFacts) -> Result<(), String> {
    let annotation = &facts.action["annotation"];
    let known = !facts.annotation(&annotation["id"]).is_null();
    require(known || annotation["resolved"] != true, "a new annotation is not resolved")
}

pub(super) fn annotation_room(facts: &RuleFacts) -> Result<(), String> {
    let annotations = facts.state["annotations"].as_array().map_or(0, Vec::len);
    let entries = facts.action["annotation"]["entries"].as_array().map_or(0, Vec::len);
    require(annotations < MAX_ANNOTATIONS && entries <= MAX_ENTRIES, "too many annotations")?;
    stored(facts)
}

pub(super) fn entry_room(facts: &RuleFacts) -> Result<(), String> {
    let annotation = facts.annotation(&facts.action["annotationId"]);
    let entries = annotation["entries"].as_array().map_or(0, Vec::len);
    require(entries < MAX_ENTRIES, "too many entries")?;
    stored(facts)
}

pub(super) fn stored(facts: &RuleFacts) -> Result<(), String> {
    let stored = facts.uri.strip_suffix(PATH).map_or(0, |uri| facts.host.sessions.stored(uri));
    require(stored < MAX_STORED_BYTES, "the session is full")
}

pub(super) fn not_the_last(facts: &RuleFacts) -> Result<(), String> {
    let entries = facts.annotation(&facts.action["annotationId"])["entries"].as_array();
    let last = entries.is_some_and(|entries| {
        entries.len() == 1 && entries.iter().all(|entry| entry["id"] == facts.action["entryId"])
    });
    require(!last, "the last entry goes with its annotation (hint: `annotations/removed`)")
}
