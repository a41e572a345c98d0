//! Checks the progress of long requests: progress belongs to a known token, only grows, and reaches its end.
//!
//! Knows: tokens, notifications. Never knows: the work behind a request.
//!
//! Start at [`ProgressChecks`].

use std::collections::HashMap;
use std::time::Duration;

use crate::transcript::ConnId;
use crate::wire::channel::ROOT;
use crate::wire::json::Value;
use crate::wire::message::Message;
use crate::wire::validate::MessageOrigin;

use crate::oracle::budget::short;
use crate::oracle::catalogue::Rule;
use crate::oracle::channel::ChannelId;
use crate::oracle::check::{CheckFamily, FindingSink};
use crate::oracle::connection::{ConnectionRecord, OpenRequest};
use crate::oracle::context::OracleContext;
use crate::oracle::envelope::target;
use crate::oracle::members::text;
use crate::oracle::step::OracleStep;

/// Upper bound for the remembered tokens, and for the pairs of a token and a connection whose last progress is
/// remembered. Further tokens are not judged.
const MAX_TOKENS: usize = 4_096;

/// The tokens of all clients, and the last progress that each connection received.
#[derive(Default)]
pub(super) struct ProgressChecks {
    tokens: HashMap<String, ProgressRequest>,
    told: HashMap<(ConnId, String), ProgressFrame>,
}

/// A request that contains a progress token.
struct ProgressRequest {
    line: u64,
    /// The channel that the request creates.
    channel: Option<ChannelId>,
    refused: bool,
}

/// The latest progress of one token that one connection received.
struct ProgressFrame {
    progress: u64,
    ended: bool,
    at: Duration,
    line: u64,
}

impl CheckFamily for ProgressChecks {
    fn step(&mut self, cx: &OracleContext, step: &OracleStep<'_>, out: &mut FindingSink) {
        match step {
            OracleStep::Frame { seen, sender: MessageOrigin::Client, .. } => {
                let params = seen.message().map(Message::params);
                if let Some(params) = params
                    && let Some(token) = text(params, "progressToken")
                {
                    self.asked(cx, token, params);
                }
            }
            OracleStep::Answered { request, message } if !self.tokens.is_empty() => {
                self.answered(cx, request, message);
            }
            OracleStep::Notified { seen, method: "root/progress", .. } => {
                if let Some(params) = seen.message().map(Message::params) {
                    self.frame(cx, params, out);
                }
            }
            OracleStep::Rest { .. } if !self.told.is_empty() => self.rest(cx, out),
            OracleStep::Closed => self.told.retain(|(conn, _), _| *conn != cx.now.conn),
            OracleStep::Restarted | OracleStep::Gap => *self = ProgressChecks::default(),
            _ => {}
        }
    }
}

impl ProgressChecks {
    /// Records the token of a request. A token is unique among open requests, so earlier progress with this
    /// token is finished.
    fn asked(&mut self, cx: &OracleContext, token: &str, params: &Value) {
        let token = &*short(token);
        if self.tokens.len() < MAX_TOKENS || self.tokens.contains_key(token) {
            let channel = target(params).and_then(|uri| cx.channels.find(uri));
            let asked = ProgressRequest { line: cx.now.line, channel, refused: false };
            self.tokens.insert(token.to_owned(), asked);
        }
        self.told.retain(|(_, told), _| told != token);
    }

    fn answered(&mut self, cx: &OracleContext, request: &OpenRequest, message: &Message) {
        let token = text(request.params(), "progressToken");
        if let Some(asked) = token.and_then(|token| self.tokens.get_mut(&*short(token))) {
            asked.refused = message.error().is_some();
            asked.channel = target(request.params()).and_then(|uri| cx.channels.find(uri));
        }
    }

    /// Judges one progress frame, and compares it with the previous progress frame. Invariant L1.
    fn frame(&mut self, cx: &OracleContext, params: &Value, out: &mut FindingSink) {
        let number = |name: &str| params.get(name).and_then(Value::as_u64);
        let (Some(token), Some(progress)) = (text(params, "progressToken"), number("progress"))
        else {
            return;
        };
        out.seen(Rule::ProgressForward);
        let token = &*short(token);
        let line = cx.now.line;
        let sent = self.tokens.get(token).map(|asked| asked.line);
        if sent.is_none() && self.knows_all(cx) {
            let message =
                format!("expected progress only for a token that a client sent, found `{token}`");
            out.broken(Rule::ProgressForward, message, &[line]);
        }
        let total = number("total");
        if let Some(total) = total.filter(|total| progress > *total) {
            let message = format!(
                "expected progress of at most the total of `{token}`, {total}, found {progress}"
            );
            out.broken(Rule::ProgressForward, message, &[sent.unwrap_or(0), line]);
        }
        let key = (cx.now.conn, token.to_owned());
        if let Some(before) = self.told.get(&key) {
            let expected = match (before.ended, before.progress) {
                (true, _) => Some("nothing more".to_owned()),
                (false, least) if progress < least => Some(format!("{least} or more")),
                _ => None,
            };
            if let Some(expected) = expected {
                let message =
                    format!("expected {expected} as the progress of `{token}`, found {progress}");
                out.broken(Rule::ProgressForward, message, &[before.line, line]);
            }
        }
        let ended = total == Some(progress);
        if ended {
            out.seen(Rule::ProgressEnds);
        }
        if self.told.len() < MAX_TOKENS || self.told.contains_key(&key) {
            self.told.insert(key, ProgressFrame { progress, ended, at: cx.now.at, line });
        }
    }

    /// Returns whether every token is known. Clients outside the transcript may have sent further tokens.
    fn knows_all(&self, cx: &OracleContext) -> bool {
        !cx.options.foreign
            && self.tokens.len() < MAX_TOKENS
            && !cx.conns.values().any(ConnectionRecord::partial)
    }

    /// Judges, when the host is at rest, whether progress has ended. Progress has to end once the requested channel
    /// exists or was refused. It is judged when no progress has arrived for the time that a host may take to answer a
    /// request. Invariant L1.
    fn rest(&mut self, cx: &OracleContext, out: &mut FindingSink) {
        let root = cx.channels.find(ROOT);
        for ((conn, token), told) in self.told.iter_mut().filter(|(_, told)| !told.ended) {
            let listens = cx.conns.get(conn).zip(root).is_some_and(|(conn, root)| {
                !conn.closed && !conn.stale && conn.subs.contains_key(&root)
            });
            let asked = self.tokens.get(token);
            let done = asked.is_some_and(|asked| asked.refused || is_created(cx, asked.channel));
            let quiet = cx.now.at.saturating_sub(told.at) >= cx.options.patience();
            if listens && done && quiet {
                told.ended = true;
                out.seen(Rule::ProgressEnds);
                let message = format!(
                    "expected the progress of `{token}` to reach its total, found it to end at {}",
                    told.progress
                );
                out.broken(Rule::ProgressEnds, message, &[told.line, cx.now.line]);
            }
        }
    }
}

fn is_created(cx: &OracleContext, channel: Option<ChannelId>) -> bool {
    let fold = channel.and_then(|channel| cx.folded(channel));
    let stage = fold.and_then(|fold| text(&fold.state, "lifecycle"));
    stage.is_some_and(|stage| stage != "creating")
}
