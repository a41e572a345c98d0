//! Variants with other users on the same host: their sessions in lists, and notifications about them.
//!
//! Knows: session summaries, lists, notifications of the root channel. Never knows: chats.

use std::collections::{HashMap, HashSet};

use crate::transcript::ConnId;
use crate::wire::json::{Value, json};
use crate::wire::version::Version;

use super::row::{VariantRow, row, since};
use crate::host::chain::{MessageLink, MessageRewriter, RewriterOutput};

/// Adds a session of another user to session lists.
#[derive(Default)]
struct OtherPeople {
    /// Whether the other user's session has the latest modification time of all sessions, so that it is the first entry
    /// of a list.
    newest: bool,
    /// The connections whose last request for a list of sessions had a cursor, which means that it requested a later
    /// page.
    later: HashSet<ConnId>,
    /// The limit in the last request of each connection for a list of sessions.
    limits: HashMap<ConnId, usize>,
    /// The session of the other user, copied from a summary of the first list. If that list is empty, there is no such
    /// session: otherwise, later lists would contain a session that was never announced.
    other: Option<Option<Value>>,
}

impl MessageRewriter for OtherPeople {
    fn edit_client_message(
        &mut self,
        link: &MessageLink<'_>,
        message: &mut Value,
    ) -> Option<Value> {
        if message["method"].as_str() == Some("listSessions") {
            let limit = message["params"].get("limit").and_then(Value::as_u64);
            let limit =
                limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
            self.limits.insert(link.conn, limit);
            self.later.remove(&link.conn);
            if message["params"].get("cursor").is_some() {
                self.later.insert(link.conn);
            }
        }
        None
    }

    fn on_host_message(
        &mut self,
        link: &MessageLink<'_>,
        mut message: Value,
        out: &mut RewriterOutput,
    ) {
        let limit = self.limits.get(&link.conn).copied().unwrap_or_default();
        let result = message.get_mut("result").filter(|_| link.answers == Some("listSessions"));
        if let Some(result) = result
            && (self.newest || result.get("nextCursor").is_none())
            && let Some(items) = result.get_mut("items").and_then(Value::as_array_mut)
            && items.len() < limit
        {
            let newest = self.newest;
            let copy = || items.last().map(|summary| somebody_elses(summary, newest));
            let other = self.other.get_or_insert_with(copy).clone();
            let place = if newest { 0 } else { items.len() };
            let first = !self.later.contains(&link.conn);
            if let Some(other) = other.filter(|_| first || !newest) {
                items.insert(place, other);
            }
        }
        out.send(message);
    }
}

/// Returns a copy of a summary with another URI, and with dates before or after every other session.
fn somebody_elses(summary: &Value, newest: bool) -> Value {
    let mut other = summary.clone();
    let which = if newest { "newest" } else { "oldest" };
    other["resource"] = json!(format!("ahp-session:/somebody-elses-{which}"));
    other["title"] = json!("Somebody else's");
    if let Some(members) = other.as_object_mut() {
        // Removes the members that belong to the copied session: its chats, its channels and their counts.
        ["chats", "defaultChat", "activity", "changes", "annotations"].iter().for_each(|name| {
            members.remove(name);
        });
        // From 0.9.0 on, instants are strings.
        for name in ["createdAt", "modifiedAt"] {
            if members.get(name).is_some_and(Value::is_string) {
                let year = if newest && name == "modifiedAt" { 2040 } else { 2020 };
                members.insert(name, json!(format!("{year}-01-01T00:00:00.000Z")));
            }
        }
    }
    other
}

/// Announces a session of another user after each new session, and removes it at once.
struct BriefSessions;

impl MessageRewriter for BriefSessions {
    fn on_host_message(&mut self, _: &MessageLink<'_>, message: Value, out: &mut RewriterOutput) {
        let summary = message["params"].get("summary");
        let added = message["method"].as_str().filter(|name| name.ends_with("sessionAdded"));
        let pair = added.zip(summary).map(|(method, summary)| {
            let mut other = somebody_elses(summary, true);
            // The URI of the announced session must be the same for every subscriber, so it does not depend on earlier
            // announcements.
            let own = summary["resource"].as_str().and_then(|uri| uri.rsplit('/').next());
            let resource = json!(format!("ahp-session:/after-{}", own.unwrap_or_default()));
            other["resource"] = resource.clone();
            let mut added = message.clone();
            added["params"]["summary"] = other;
            let mut removed = message.clone();
            removed["method"] = json!(method.replace("sessionAdded", "sessionRemoved"));
            if let Some(params) = removed["params"].as_object_mut() {
                params.remove("summary");
                params.insert("session", resource);
            }
            [added, removed]
        });
        out.send(message);
        pair.into_iter().flatten().for_each(|message| out.send(message));
    }
}

const MANY: &str = "A host serves many clients; a list has all sessions of the host.";
const LISTS: &str = "docs/specification/root-channel.md › Listing sessions";

/// The variants with sessions of other users.
pub(super) const ROWS: &[VariantRow] = &[
    row(
        "other-peoples-sessions",
        "Every list ends with a session of another user.",
        MANY,
        LISTS,
        || Box::new(OtherPeople::default()),
    ),
    row(
        "other-peoples-newest-session",
        "Every list begins with a session of another user.",
        MANY,
        LISTS,
        || Box::new(OtherPeople { newest: true, ..OtherPeople::default() }),
    ),
    since(
        Version::V0_2,
        row(
            "other-peoples-brief-sessions",
            "After each new session, a session of another user is announced and removed.",
            "A host serves many clients; every subscriber of the root channel is notified.",
            "docs/specification/root-channel.md",
            || Box::new(BriefSessions),
        ),
    ),
];
