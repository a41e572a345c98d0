//! Faults in the list of sessions and its pages.

use std::collections::HashSet;

use super::parts::{RequestChange, ResultFault, remove};
use super::{Fault, MessageFault};
use crate::host::chain::{MessageLink, MessageRewriter, RewriterOutput};
use crate::wire::json::{Value, json};

pub(super) const FAULTS: &[MessageFault] = &[
    (Fault::ListMissesCreated, || Box::<NewestMissing>::default()),
    (Fault::ListOtherProvider, || {
        Box::new(ResultFault("listSessions", |_, result| {
            let items = items_of(result);
            items.into_iter().flatten().for_each(|summary| summary["provider"] = json!("other"));
        }))
    }),
    (Fault::ListRepeats, || {
        Box::new(ResultFault("listSessions", |_, result| {
            if let Some(items) = items_of(result) {
                items.extend(items.first().cloned());
            }
        }))
    }),
    (Fault::ListCursorStuck, || {
        Box::new(RequestChange("listSessions", |_, params| {
            remove(params, "cursor");
        }))
    }),
    (Fault::ListUnknownCursorServed, || Box::<UnknownCursorServed>::default()),
];

fn items_of(result: &mut Value) -> Option<&mut Vec<Value>> {
    result.get_mut("items").and_then(Value::as_array_mut)
}

/// The session that was created last is missing.
#[derive(Default)]
struct NewestMissing(Value);

impl MessageRewriter for NewestMissing {
    fn on_host_message(
        &mut self,
        link: &MessageLink<'_>,
        mut message: Value,
        out: &mut RewriterOutput,
    ) {
        let listed = link.answers == Some("listSessions");
        if let Some(items) = message.get_mut("result").filter(|_| listed).and_then(items_of) {
            let order = |created: &Value| (created.as_u64(), created.as_str().map(str::to_owned));
            let created = items.iter().map(|summary| &summary["createdAt"]);
            if let Some(newest) = created.max_by_key(|it| order(it)).cloned()
                && order(&newest) > order(&self.0)
            {
                self.0 = newest;
            }
            items.retain(|summary| summary["createdAt"] != self.0);
        }
        out.send(message);
    }
}

/// A cursor that the host has not given begins the list anew.
#[derive(Default)]
struct UnknownCursorServed(HashSet<String>);

impl MessageRewriter for UnknownCursorServed {
    fn edit_client_message(&mut self, _: &MessageLink<'_>, message: &mut Value) -> Option<Value> {
        let cursor =
            message["params"]["cursor"].as_str().filter(|_| message["method"] == "listSessions");
        if cursor.is_some_and(|cursor| !self.0.contains(cursor)) {
            remove(&mut message["params"], "cursor");
        }
        None
    }

    fn on_host_message(&mut self, _: &MessageLink<'_>, message: Value, out: &mut RewriterOutput) {
        let next = message.pointer("/result/nextCursor").and_then(Value::as_str);
        self.0.extend(next.map(str::to_owned));
        out.send(message);
    }
}
