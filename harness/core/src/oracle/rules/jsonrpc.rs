//! Checks requests and responses of all methods.
//!
//! Knows: connections and their open requests. Never knows: methods.

use std::time::Duration;

use litemap::LiteMap;

use crate::wire::json::Value;

use crate::transcript::ConnId;
use crate::wire::channel::ROOT;
use crate::wire::error_code::ErrorCode;

use crate::oracle::catalogue::Rule;
use crate::oracle::check::{CheckFamily, FindingSink};
use crate::oracle::connection::{ConnectionRecord, OpenRequest};
use crate::oracle::context::OracleContext;
use crate::oracle::step::OracleStep;

/// The number of unanswered pings on one connection from which on a finding states that the host hangs.
const WEDGED: usize = 2;
/// The error codes that JSON-RPC reserves. Applications may not assign them freely.
const RESERVED: std::ops::RangeInclusive<i64> = -32768..=-32000;

/// For each connection, the times of the last messages from the host.
#[derive(Default)]
pub(super) struct JsonRpc {
    heard: LiteMap<ConnId, HeardId>,
}

#[derive(Clone, Copy, Default)]
struct HeardId {
    /// The time at which the host's last frame arrived.
    frame: Duration,
    /// The last answer of the host: the entry at which its request was sent, and the time and the line of the answer.
    answer: Option<(u64, Duration, u64)>,
}

impl CheckFamily for JsonRpc {
    fn step(&mut self, cx: &OracleContext, step: &OracleStep<'_>, out: &mut FindingSink) {
        let line = cx.now.line;
        match step {
            OracleStep::Frame { sender: crate::wire::validate::MessageOrigin::Host, .. } => {
                self.heard.entry(cx.now.conn).or_default().frame = cx.now.at;
            }
            OracleStep::Answered { request, message } => {
                out.seen(Rule::AnsweredOnce);
                out.seen(Rule::NoStrayResponse);
                let answer = (request.tick, cx.now.at, line);
                self.heard.entry(cx.now.conn).or_default().answer = Some(answer);
                if message.error().is_some() {
                    code(cx, message.error_code(), out);
                }
                if is_ping(cx.here(), request) {
                    out.seen(Rule::Alive);
                    if message.error().is_some() {
                        let message = "expected `ping` to succeed at any time, found an error";
                        out.broken(Rule::Alive, message.to_owned(), &[request.line, line]);
                    }
                }
            }
            OracleStep::Stray { first: Some(first), id } => {
                let message = format!("expected one response to the request `{id}`, found another");
                out.broken(Rule::AnsweredOnce, message, &[*first, line]);
            }
            OracleStep::Stray { first: None, id } => {
                let message = format!(
                    "expected responses only to open requests, found one with the id `{id}`"
                );
                out.broken(Rule::NoStrayResponse, message, &[line]);
            }
            OracleStep::HostAsked { open } => {
                out.seen(Rule::HostRequestIds);
                if let Some(first) = open {
                    let message = "expected an unused id for the host's request, found the id of \
                                   its open request";
                    out.broken(Rule::HostRequestIds, message.to_owned(), &[*first, line]);
                }
            }
            OracleStep::Closed => {
                if let Some(conn) = cx.here() {
                    self.unanswered(cx, cx.now.conn, conn, out);
                }
                self.heard.remove(&cx.now.conn);
            }
            OracleStep::Gap => drop(self.heard.remove(&cx.now.conn)),
            OracleStep::Restarted => self.heard.clear(),
            _ => {}
        }
    }

    fn finish(&mut self, cx: &OracleContext, out: &mut FindingSink) {
        for (id, conn) in &cx.conns {
            self.unanswered(cx, *id, conn, out);
        }
    }
}

impl JsonRpc {
    /// Judges the requests that are still open when the connection, or the transcript, ends.
    fn unanswered(
        &self,
        cx: &OracleContext,
        id: ConnId,
        conn: &ConnectionRecord,
        out: &mut FindingSink,
    ) {
        if conn.closed || conn.stale || conn.overflow || conn.partial() {
            return;
        }
        let heard = self.heard.get(&id).copied().unwrap_or_default();
        let deadline = cx.options.patience();
        let mut open: Vec<_> = conn.open_requests().filter(|request| request.sound).collect();
        open.sort_unstable_by_key(|request| request.tick);
        let mut misses = 0;
        for request in open {
            let due = request.at + deadline;
            let overtaken = heard.answer.filter(|(sent, at, _)| *sent > request.tick && *at >= due);
            let quiet = cx.now.at >= due && cx.now.at >= heard.frame + deadline;
            let proof = match overtaken {
                Some((_, _, line)) => line,
                None if quiet => cx.now.line,
                None => continue,
            };
            let method = &request.method;
            let mut message = format!(
                "expected a response to `{method}` within {} ms, found none",
                deadline.as_millis()
            );
            let rule = match is_ping(Some(conn), request) {
                true => Rule::Alive,
                false => Rule::AnsweredOnce,
            };
            if rule == Rule::Alive {
                misses += 1;
                if misses == WEDGED {
                    message.push_str(", for the second time: the host is stuck");
                }
            }
            out.seen(rule);
            out.broken(rule, message, &[request.line, proof]);
        }
    }
}

/// Returns whether a request is a `ping` that has to succeed. A host may refuse a malformed `ping`, and the
/// first protocol version has no `ping`.
fn is_ping(conn: Option<&ConnectionRecord>, request: &OpenRequest) -> bool {
    let channel = request.params().get("channel").and_then(Value::as_str);
    let protocol = conn.and_then(|conn| conn.protocol);
    request.method == "ping"
        && request.sound
        && channel == Some(ROOT)
        && protocol.is_none_or(|protocol| protocol.method("ping").is_some())
}

fn code(cx: &OracleContext, code: Option<i64>, out: &mut FindingSink) {
    let version = cx.here().and_then(|conn| conn.version);
    let (Some(code), Some(version)) = (code, version) else {
        return;
    };
    out.seen(Rule::ErrorCode);
    if RESERVED.contains(&code) && ErrorCode::find(code, version).is_none() {
        let message =
            format!("expected an error code that version `{version}` assigns, found `{code}`");
        out.broken(Rule::ErrorCode, message, &[cx.now.line]);
    }
}
