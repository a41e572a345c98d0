//! Checks side channels to MCP servers: a side channel has at least one capability, and the side channel ends when the
//! host changes the server's state without naming the channel.
//!
//! Knows: the customizations of folded sessions. Never knows: the messages to a server.
//!
//! Start at [`SideChannels`].

use crate::wire::channel::ChannelKind;
use crate::wire::json::Value;

use super::customizations::with_children;
use crate::oracle::catalogue::Rule;
use crate::oracle::check::{CheckFamily, FindingSink};
use crate::oracle::context::OracleContext;
use crate::oracle::members::{given, list, text};
use crate::oracle::step::{ActionFolding, OracleStep, StateComparison};

/// The checks of side channels. These checks need no state beyond the context.
pub(super) struct SideChannels;

impl CheckFamily for SideChannels {
    fn step(&mut self, cx: &OracleContext, step: &OracleStep<'_>, out: &mut FindingSink) {
        match step {
            OracleStep::Snapshot { state, .. } => {
                servers(state).for_each(|server| capable(server, &[cx.now.line], out));
            }
            OracleStep::Folded { folding, .. } => folded(cx, folding, out),
            OracleStep::Compared(comparison) if comparison.kind == ChannelKind::Session => {
                compare(comparison, out);
            }
            _ => {}
        }
    }
}

/// Returns the MCP servers of a session and of its plugins.
fn servers(session: &Value) -> impl Iterator<Item = &Value> {
    let all = list(session, "customizations").iter().flat_map(with_children);
    all.filter(|item| text(item, "type") == Some("mcpServer"))
}

/// Judges the MCP servers whose side channel an action may have changed. Invariant L11.
fn folded(cx: &OracleContext, folding: &ActionFolding<'_>, out: &mut FindingSink) {
    let changed = match folding.envelope.action_type {
        "session/mcpServerStateChanged" => text(folding.envelope.action, "id"),
        "session/customizationsChanged" | "session/customizationUpdated" => None,
        _ => return,
    };
    let Some(fold) = cx.folded(folding.channel) else {
        return;
    };
    let meant = |server: &&Value| changed.is_none() || text(server, "id") == changed;
    let lines = [fold.base_line, folding.line];
    servers(&fold.state).filter(meant).for_each(|server| capable(server, &lines, out));
}

/// Judges whether a server with a side channel has a capability. Invariant L11.
fn capable(server: &Value, lines: &[u64], out: &mut FindingSink) {
    if given(server, "channel").is_none() {
        return;
    }
    out.seen(Rule::SideChannel);
    let capabilities = given(server, "mcpApp").and_then(|app| given(app, "capabilities"));
    let some = capabilities.and_then(Value::as_object);
    if some.is_none_or(|some| some.values().all(Value::is_null)) {
        let message = format!(
            "expected at least one capability of the server `{}`, which has a side channel, found \
             none",
            text(server, "id").unwrap_or_default()
        );
        out.broken(Rule::SideChannel, message, lines);
    }
}

/// Judges whether a side channel has ended if the last action that changed the server's state did not name the channel.
/// Invariant L11.
fn compare(comparison: &StateComparison<'_>, out: &mut FindingSink) {
    for server in servers(comparison.snapshot).filter(|server| given(server, "channel").is_some()) {
        let id = text(server, "id");
        let before = servers(comparison.folded).find(|before| text(before, "id") == id);
        let Some(before) = before else {
            continue;
        };
        out.seen(Rule::SideChannel);
        if given(before, "channel").is_none() {
            let message = format!(
                "expected no side channel of `{}`, whose last change of state omitted it, found \
                 one",
                id.unwrap_or_default()
            );
            out.broken(Rule::SideChannel, message, &comparison.lines);
        }
    }
}
