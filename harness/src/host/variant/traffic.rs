//! Variants of the pages of lists and the turns in snapshots, of errors and extension notifications, and of the number
//! of subscriptions.
//!
//! Knows: requests, errors, notifications. Never knows: the implementation of requests.

use std::collections::HashMap;

use crate::transcript::ConnId;
use crate::wire::json::{Value, json};
use crate::wire::version::Version;

use super::row::{RPC, VariantRow, offering_less, row, since};
use crate::host::chain::{MessageLink, MessageRewriter, RewriterOutput};

/// Returns fewer entries on a page of a list than the client requested.
struct ShortPages;

impl MessageRewriter for ShortPages {
    fn edit_client_message(&mut self, _: &MessageLink<'_>, message: &mut Value) -> Option<Value> {
        let asks = message["method"].as_str() == Some("listSessions");
        let params = message.get_mut("params").and_then(Value::as_object_mut).filter(|_| asks);
        // Forwards an invalid limit and a limit of zero unchanged, because the host has to check them.
        if let Some(params) = params
            && params.get("limit").is_none_or(|limit| limit.as_u64().is_some_and(|limit| limit > 1))
        {
            params.insert("limit", json!(1));
        }
        None
    }
}

/// Returns all turns of a chat, even if the client requested a limited number of turns.
struct WholeHistories;

impl MessageRewriter for WholeHistories {
    fn edit_client_message(&mut self, _: &MessageLink<'_>, message: &mut Value) -> Option<Value> {
        let subscribes = message["method"].as_str() == Some("subscribe");
        let params = message.get_mut("params").and_then(Value::as_object_mut);
        params.filter(|_| subscribes)?.remove("view");
        None
    }
}

/// Sends answers to objects from clients that are neither requests nor notifications of JSON-RPC 2.0.
struct AnswersToNoRequest;

impl MessageRewriter for AnswersToNoRequest {
    fn edit_client_message(&mut self, _: &MessageLink<'_>, message: &mut Value) -> Option<Value> {
        let members = message.as_object()?;
        if members.contains_key("id") || members.get("jsonrpc").is_some_and(|it| *it == "2.0") {
            return None;
        }
        let error = json!({"code": -32600, "message": "no JSON-RPC 2.0"});
        Some(json!({"jsonrpc": "2.0", "id": null, "error": error}))
    }
}

/// Changes the error in each error response of the host.
struct ErrorWords(fn(&mut Value));

impl MessageRewriter for ErrorWords {
    fn on_host_message(
        &mut self,
        _: &MessageLink<'_>,
        mut message: Value,
        out: &mut RewriterOutput,
    ) {
        message.get_mut("error").into_iter().for_each(self.0);
        out.send(message);
    }
}

/// Replaces the `rejectionReason` of each rejection.
struct RejectionWords(&'static str);

impl MessageRewriter for RejectionWords {
    fn on_host_message(
        &mut self,
        _: &MessageLink<'_>,
        mut message: Value,
        out: &mut RewriterOutput,
    ) {
        if let Some(reason) = message.get_mut("params").and_then(|it| it.get_mut("rejectionReason"))
        {
            *reason = json!(self.0);
        }
        out.send(message);
    }
}

/// Sends a notification that no version of the protocol defines.
struct HostOwnNotifications;

impl MessageRewriter for HostOwnNotifications {
    fn on_host_message(
        &mut self,
        link: &MessageLink<'_>,
        message: Value,
        out: &mut RewriterOutput,
    ) {
        let subscribed = message.get("result").filter(|_| link.answers == Some("subscribe"));
        let channel = subscribed.and_then(|result| result.pointer("/snapshot/resource")).cloned();
        out.send(message);
        if let Some(channel) = channel {
            let params = json!({"channel": channel});
            out.send(json!({"jsonrpc": "2.0", "method": "x-vendor/tick", "params": params}));
        }
    }
}

/// Refuses every further subscription and resource watch of a connection that already has a certain number of them.
#[derive(Default)]
struct FewSubscriptions {
    connections: HashMap<ConnId, HeldChannels>,
}

/// The channels that a connection holds.
#[derive(Default)]
struct HeldChannels {
    subscribed: Vec<Value>,
    /// The number of resource watches that the connection has created.
    watches: usize,
}

/// The maximum number of subscriptions and resource watches of a connection.
const MOST_SUBSCRIPTIONS: usize = 48;

impl MessageRewriter for FewSubscriptions {
    fn edit_client_message(
        &mut self,
        link: &MessageLink<'_>,
        message: &mut Value,
    ) -> Option<Value> {
        let held = self.connections.entry(link.conn).or_default();
        let channel = message["params"].get("channel").cloned().unwrap_or_default();
        let method = message["method"].as_str()?;
        let is_full = held.subscribed.len() + held.watches >= MOST_SUBSCRIPTIONS;
        match method {
            "unsubscribe" => held.subscribed.retain(|known| *known != channel),
            "subscribe" if held.subscribed.contains(&channel) => {}
            "subscribe" | "createResourceWatch" if is_full => {
                let error = json!({"code": -32603, "message": "too many subscriptions"});
                return Some(json!({"jsonrpc": "2.0", "id": message.get("id")?, "error": error}));
            }
            "subscribe" => held.subscribed.push(channel),
            "createResourceWatch" => held.watches += 1,
            _ => {}
        }
        None
    }
}

const DATA: &str = "`data` is optional, and the server defines its value.";
const TEXT: &str = "`message` is a short description; its text is not specified.";
const REASON: &str = "`rejectionReason` is a human-readable string; its wording is not specified.";
const ERRORS: &str = "JSON-RPC 2.0, section 5.1";
const REJECTIONS: &str =
    "docs/specification/session-channel.md › Server Validation of Client Actions";

/// The variants of lists, errors, rejections and extension notifications.
pub(super) const ROWS: &[VariantRow] = &[
    row(
        "pages-of-one",
        "Each page of `listSessions` has one entry.",
        "A page may have fewer entries than the limit.",
        "docs/specification/root-channel.md › Listing sessions",
        || Box::new(ShortPages),
    ),
    offering_less(since(
        Version::V0_5_1,
        row(
            "whole-histories",
            "A snapshot of a chat has all turns, regardless of the requested `view`.",
            "With `view.turns` the host may expose fewer turns.",
            "docs/specification/subscriptions.md › Snapshot views",
            || Box::new(WholeHistories),
        ),
    )),
    row(
        "answers-to-what-is-no-request",
        "An object without `id` whose `jsonrpc` is not `2.0` is answered with -32600 and `id: null`.",
        "A message that is not a valid request may be answered with an error whose id is null.",
        RPC,
        || Box::new(AnswersToNoRequest),
    ),
    row("errors-with-data", "Each error has a custom `data`.", DATA, ERRORS, || {
        Box::new(ErrorWords(|error| {
            if error.get("data").is_none() {
                error["data"] = json!({"x-vendor-trace": "none"});
            }
        }))
    }),
    row("errors-in-another-language", "Error messages are not in English.", TEXT, ERRORS, || {
        Box::new(ErrorWords(|error| {
            error["message"] = json!("Das geht so nicht: \u{1f6ab} \u{932f}\u{8aa4}")
        }))
    }),
    row(
        "long-errors",
        "Error messages have many lines, with tabs and control characters.",
        TEXT,
        ERRORS,
        || {
            Box::new(ErrorWords(|error| {
                error["message"] = json!("at\tmodule\n\u{1b}[31mred\u{1b}[0m\u{7}\r\n".repeat(200))
            }))
        },
    ),
    row("empty-errors", "Error messages are empty.", TEXT, ERRORS, || {
        Box::new(ErrorWords(|error| error["message"] = json!("")))
    }),
    row(
        "short-rejections",
        "The reason of each rejection is one short word.",
        REASON,
        REJECTIONS,
        || Box::new(RejectionWords("nein")),
    ),
    row(
        "long-rejections",
        "The reason of each rejection has several lines.",
        REASON,
        REJECTIONS,
        || {
            const LINES: &str =
                "The action was not applied.\n\n* its channel: checked\n* its state: not fit\n";
            Box::new(RejectionWords(LINES))
        },
    ),
    since(
        Version::V0_8,
        row(
            "own-notifications",
            "After each subscription the host sends an extension notification.",
            "Clients ignore notifications that they do not know and whose names begin with `x-`.",
            "docs/specification/versioning.md › Extension names",
            || Box::new(HostOwnNotifications),
        ),
    ),
    row(
        "few-subscriptions",
        "A connection may have 48 subscriptions and resource watches; the next one is an error.",
        "The specification does not say how many subscriptions a host allows, or which error follows beyond that \
            number.",
        "docs/specification/subscriptions.md",
        || Box::new(FewSubscriptions::default()),
    ),
];
