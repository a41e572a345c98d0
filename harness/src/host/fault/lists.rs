//! Injected faults in the list of sessions, its pages and its summaries.

use std::collections::HashSet;

use super::FaultPart::{Host, Message};
use super::parts::{MessageChange, RequestChange, ResultFault, is_root_news, remove};
use crate::host::chain::{MessageLink, MessageRewriter, RewriterOutput};
use crate::host::generic::LiftsRules;
use crate::wire::json::{Value, json};

fault_table![
    ListMissesCreated(
        "list-misses-created",
        "The session list lacks the session created last.",
        Message(|| Box::<NewestMissing>::default()),
    ),
    ListOtherProvider(
        "list-other-provider",
        "The list of sessions names a wrong provider.",
        Message(|| {
            Box::new(ResultFault("listSessions", |_, result| {
                let items = items_of(result);
                items
                    .into_iter()
                    .flatten()
                    .for_each(|summary| summary["provider"] = json!("other"));
            }))
        }),
    ),
    ListRepeats(
        "list-repeats",
        "The session list has its first entry twice.",
        Message(|| {
            Box::new(ResultFault("listSessions", |_, result| {
                if let Some(items) = items_of(result) {
                    items.extend(items.first().cloned());
                }
            }))
        }),
    ),
    ListCursorStuck(
        "list-cursor-stuck",
        "Every page of the session list is the first page.",
        Message(|| {
            Box::new(RequestChange("listSessions", |_, params| {
                remove(params, "cursor");
            }))
        }),
    ),
    ListOldestFirst(
        "list-oldest-first",
        "The list of sessions begins with the session that was modified least recently.",
        Host(&LiftsRules(&["root.listSessions.order"])),
    ),
    TimesInWords(
        "times-in-words",
        "Summaries of sessions have `just now` as their modification time.",
        Message(|| {
            Box::new(MessageChange(|link, message| {
                if is_root_news(message) || link.answers == Some("listSessions") {
                    link.visit_records(message, &mut |name, members| {
                        if matches!(name, "SessionSummary" | "PartialSessionSummary")
                            && let Some(time) = members.get_mut("modifiedAt")
                        {
                            *time = json!("just now");
                        }
                    });
                }
            }))
        }),
    ),
    ListUnknownCursorServed(
        "list-unknown-cursor-served",
        "A cursor that the host never issued returns the first page.",
        Message(|| Box::<UnknownCursorServed>::default()),
    ),
];

fn items_of(result: &mut Value) -> Option<&mut Vec<Value>> {
    result.get_mut("items").and_then(Value::as_array_mut)
}

/// A fault that leaves the session that was created last out of the list.
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

/// A fault that answers an unknown cursor with the first page.
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
