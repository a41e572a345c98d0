//! `listSessions`: pages of sessions, most recently modified first.
//!
//! A cursor names the last entry of its page. A session that is created or changed between two pages therefore
//! neither repeats nor hides another session.
//!
//! Knows: summaries. Never knows: the computation of summaries.

use crate::wire::json::{Value, json};

use super::engine::RefHost;
use super::publish::trim_summary;
use super::request::{CallReply, ErrorResponse, HostCall};
use crate::wire::feature::ProtocolFeature;

/// The maximum and default number of sessions of a page.
const PAGE: usize = 100;
/// The prefix of a cursor; the time and the URI of the last entry follow the prefix.
const CURSOR: &str = "sessions-after ";

impl RefHost {
    /// Serves `listSessions`.
    pub(super) fn list_sessions(&mut self, call: &HostCall) -> CallReply {
        let protocol = self.protocol_of(call.conn);
        let limit = match call.params.get("limit").filter(|limit| !limit.is_null()) {
            // Versions without pages return the whole list.
            _ if !protocol.has(ProtocolFeature::SessionPages) => usize::MAX,
            None => PAGE,
            Some(limit) => match limit.as_u64() {
                Some(limit @ 1..) => usize::try_from(limit).unwrap_or(PAGE).min(PAGE),
                _ => return Err(ErrorResponse::invalid_params("expected a `limit` above 0")),
            },
        };
        let mut all: Vec<(&str, &str, &Value)> = self.sessions.summaries().map(entry).collect();
        all.sort_by(|a, b| b.0.cmp(a.0).then(a.1.cmp(b.1)));
        if !self.keeps("root.listSessions.order") {
            all.reverse();
        }
        let after = self.after(call)?;
        let beyond = |entry: &&(&str, &str, &Value)| match &after {
            None => true,
            Some((time, uri)) => {
                entry.0 < time.as_str() || (entry.0 == time && entry.1 > uri.as_str())
            }
        };
        let rest: Vec<&(&str, &str, &Value)> = all.iter().filter(beyond).collect();
        let page = &rest[..limit.min(rest.len())];
        let mut items: Vec<Value> = page.iter().map(|entry| entry.2.clone()).collect();
        items.iter_mut().for_each(|summary| trim_summary(summary, protocol.version()));
        let more = page.last().filter(|_| page.len() < rest.len());
        let cursor = more.map(|last| format!("{CURSOR}{} {}", last.0, last.1));
        let mut result = json!({"items": items});
        if let Some(cursor) = cursor {
            result["nextCursor"] = json!(cursor);
        }
        Ok(result)
    }

    fn after(&self, call: &HostCall) -> Result<Option<(String, String)>, ErrorResponse> {
        let Some(cursor) = call.params.get("cursor").and_then(Value::as_str) else {
            return Ok(None);
        };
        let parts = cursor.strip_prefix(CURSOR).and_then(|rest| rest.split_once(' '));
        match parts {
            Some((time, uri)) => Ok(Some((time.to_owned(), uri.to_owned()))),
            None => Err(ErrorResponse::invalid_params("expected a cursor of this host")),
        }
    }
}

fn entry<'a>((uri, summary): (&'a str, &'a Value)) -> (&'a str, &'a str, &'a Value) {
    (summary["modifiedAt"].as_str().unwrap_or(""), uri, summary)
}
