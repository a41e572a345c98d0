//! Checks which client acts on a client's tool call: only the client that contributed the tool may act, and only while
//! it is an active client.
//!
//! Knows: folded chats and sessions. Never knows: the effect of tools.
//!
//! Start at [`OwnerChecks`].

use std::collections::HashMap;

use crate::model::tool_call::ToolCallStatus;
use crate::verdict::Weight;
use crate::wire::feature::ProtocolFeature;
use crate::wire::json::Value;

use crate::oracle::budget::short;
use crate::oracle::catalogue::Rule;
use crate::oracle::channel::ChannelId;
use crate::oracle::check::{CheckFamily, FindingSink};
use crate::oracle::context::OracleContext;
use crate::oracle::family::SessionFamily;
use crate::oracle::members::{given, list, text};
use crate::oracle::step::{ActionFolding, OracleStep};
use crate::oracle::tool_call::{find, owner};

/// Upper bound for the remembered departures of active clients.
const MAX_GONE: usize = 1_024;

/// The active clients that have left their sessions.
#[derive(Default)]
pub(super) struct OwnerChecks {
    /// The `serverSeq` and the line of the action by which a client last left a session. The key consists of the
    /// session and the client.
    gone: HashMap<(ChannelId, String), (u64, u64)>,
}

impl CheckFamily for OwnerChecks {
    fn step(&mut self, cx: &OracleContext, step: &OracleStep<'_>, out: &mut FindingSink) {
        match step {
            OracleStep::Folding(folding) => self.fold(cx, folding, out),
            OracleStep::Restarted | OracleStep::Gap => self.gone.clear(),
            OracleStep::SessionsAtRest { sessions } => {
                for session in *sessions {
                    if let Some(family) = SessionFamily::of(cx, *session) {
                        self.orphans(cx, *session, &family, out);
                    }
                }
            }
            _ => {}
        }
    }
}

impl OwnerChecks {
    fn fold(&mut self, cx: &OracleContext, folding: &ActionFolding<'_>, out: &mut FindingSink) {
        let action = folding.envelope.action;
        if folding.envelope.action_type == "session/activeClientRemoved" {
            let client = text(action, "clientId");
            if let Some(client) = client.filter(|_| self.gone.len() < MAX_GONE) {
                let key = (folding.channel, short(client).into_owned());
                self.gone.insert(key, (folding.envelope.seq, folding.line));
            }
        }
        // The name is the part of the type after the slash, which is the same for chats and, up to 0.3.0, for sessions.
        match folding.envelope.name {
            "toolCallStart" => self.started(cx, folding, out),
            "toolCallReady" => ready(cx, folding, out),
            "toolCallAuthRequired" => auth_required(cx, folding, out),
            "toolCallComplete" | "toolCallContentChanged" => {
                acts(cx, folding, out);
                self.ended(cx, folding, out);
            }
            _ => {}
        }
    }

    /// Judges whether the owner of a new call is an active client. The session's fold may be ahead of the chat's fold,
    /// so a client that left the session only after the start of the call still counts as active. Invariant F7.
    fn started(&self, cx: &OracleContext, folding: &ActionFolding<'_>, out: &mut FindingSink) {
        let Some(client) = owner(folding.envelope.action) else {
            return;
        };
        let session = session_of(cx, folding);
        let Some((session, fold)) = session.and_then(|id| Some((id, cx.followed(id)?))) else {
            return;
        };
        let seq = folding.envelope.seq;
        let gone = self.gone.get(&(session, short(client).into_owned()));
        if cx.known_to(session) < seq || gone.is_some_and(|(left, _)| *left > seq) {
            return;
        }
        out.seen(Rule::OwnerActive);
        if !active(&fold.state, client) {
            let call = text(folding.envelope.action, "toolCallId").unwrap_or_default();
            let message = format!(
                "expected the owner of the new tool call `{call}` to be an active client of `{}`, \
                 found `{client}`",
                cx.uri(session)
            );
            let left = gone.map_or(0, |(_, line)| *line);
            out.broken(Rule::OwnerActive, message, &[fold.base_line, left, folding.line]);
        }
    }

    /// Counts an observation of invariant F9 if the host ends a tool call whose owner has left the session.
    fn ended(&self, cx: &OracleContext, folding: &ActionFolding<'_>, out: &mut FindingSink) {
        let session = session_of(cx, folding);
        let owner = named(cx, folding).and_then(|(call, _)| owner(call));
        if let (Some(session), Some(owner), None) = (session, owner, folding.envelope.origin)
            && self.gone.contains_key(&(session, short(owner).into_owned()))
        {
            out.seen(Rule::RemovalEndsCalls);
        }
    }

    /// Judges, when the session is at rest, the calls that still run although their owner has left. Invariant
    /// F9.
    fn orphans(
        &self,
        cx: &OracleContext,
        session: ChannelId,
        family: &SessionFamily<'_>,
        out: &mut FindingSink,
    ) {
        for (chat, fold) in family.chats(cx) {
            for call in calls(&fold.state) {
                let running = text(call, "status") == Some(ToolCallStatus::Running.name());
                let Some(client) = owner(call).filter(|_| running) else {
                    continue;
                };
                out.seen(Rule::RemovalEndsCalls);
                let gone = self.gone.get(&(session, short(client).into_owned()));
                let Some((_, left)) = gone.filter(|_| !active(&family.fold.state, client)) else {
                    continue;
                };
                let id = text(call, "toolCallId").unwrap_or_default();
                let message = format!(
                    "expected the tool call `{id}` of `{chat}` to end as failed after its owner, \
                     the client `{client}`, was removed, found it running"
                );
                out.broken(Rule::RemovalEndsCalls, message, &[*left, fold.last_line, cx.now.line]);
            }
        }
    }
}

/// Judges whether `chat/toolCallReady` keeps the owner of a call. Invariant F3.
fn ready(cx: &OracleContext, folding: &ActionFolding<'_>, out: &mut FindingSink) {
    let Some((call, line)) = named(cx, folding) else {
        return;
    };
    if !folding.protocol.has(ProtocolFeature::FlatSession) {
        return;
    }
    out.seen(Rule::OwnerConstant);
    let Some(client) = owner(folding.envelope.action) else {
        return;
    };
    let before = owner(call);
    if before != Some(client) {
        let message = format!(
            "expected `chat/toolCallReady` to keep the owner of the tool call `{}`, {}, found the \
             client `{client}`",
            text(call, "toolCallId").unwrap_or_default(),
            before.map_or("the host".to_owned(), |client| format!("the client `{client}`")),
        );
        out.broken(Rule::OwnerConstant, message, &[line, folding.line]);
    }
}

/// Judges whether a call that waits for authentication belongs to an MCP server. Invariant F6.
fn auth_required(cx: &OracleContext, folding: &ActionFolding<'_>, out: &mut FindingSink) {
    let Some((call, line)) = named(cx, folding) else {
        return;
    };
    out.seen(Rule::AuthForMcp);
    let kind = given(call, "contributor").and_then(|contributor| text(contributor, "kind"));
    if kind != Some("mcp") {
        let message = format!(
            "expected only tool calls of MCP servers to wait for authentication, found `{}`, which \
             belongs to {}",
            text(call, "toolCallId").unwrap_or_default(),
            kind.map_or("the host".to_owned(), |kind| format!("a `{kind}`")),
        );
        out.broken(Rule::AuthForMcp, message, &[line, folding.line]);
    }
}

/// Judges whether the owner of a call dispatched the action on the call. Invariant F5.
fn acts(cx: &OracleContext, folding: &ActionFolding<'_>, out: &mut FindingSink) {
    let (Some(origin), Some((call, line))) = (folding.envelope.origin, named(cx, folding)) else {
        return;
    };
    let action = folding.envelope.action;
    let failed = given(action, "result").and_then(|result| result.get("success"));
    let waits = text(call, "status") == Some(ToolCallStatus::AuthRequired.name());
    if waits && failed.and_then(Value::as_bool) == Some(false) {
        return;
    }
    out.seen(Rule::OwnerActs);
    let owner = owner(call);
    if owner != Some(origin.client_id) {
        let message = format!(
            "expected `{}` for the tool call `{}` to be accepted only from its owner, {}, found it \
             accepted from `{}`",
            folding.envelope.action_type,
            text(call, "toolCallId").unwrap_or_default(),
            owner.map_or("the host".to_owned(), |client| format!("`{client}`")),
            origin.client_id
        );
        out.weaker(Rule::OwnerActs, Weight::Should, message, &[line, folding.line]);
    }
}

/// Returns the tool call of the active turn that an action names, with the line of the chat's snapshot.
fn named<'a>(cx: &'a OracleContext, folding: &ActionFolding<'_>) -> Option<(&'a Value, u64)> {
    let fold = cx.folded(folding.channel)?;
    let turn = given(&fold.state, "activeTurn")?;
    let call = find(turn, text(folding.envelope.action, "toolCallId")?)?;
    Some((call, fold.base_line))
}

/// Returns the session to which an action belongs. In versions without chats, the channel itself is the session.
fn session_of(cx: &OracleContext, folding: &ActionFolding<'_>) -> Option<ChannelId> {
    match folding.protocol.has(ProtocolFeature::Chats) {
        true => cx.families.session_of(cx.uri(folding.channel)),
        false => Some(folding.channel),
    }
}

fn active(session: &Value, client: &str) -> bool {
    let one = given(session, "activeClient").into_iter();
    let mut all = list(session, "activeClients").iter().chain(one);
    all.any(|entry| text(entry, "clientId") == Some(client))
}

/// Returns the tool calls of the active turn.
fn calls(chat: &Value) -> impl Iterator<Item = &Value> {
    let turn = given(chat, "activeTurn");
    let parts = turn.map_or(&[][..], |turn| list(turn, "responseParts"));
    parts.iter().filter_map(|part| given(part, "toolCall"))
}
