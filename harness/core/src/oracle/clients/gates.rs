//! Checks that clients use only what the host has declared: capabilities of agents and of the host, methods of
//! MCP servers.
//!
//! Knows: capabilities, the states that clients have received. Never knows: the effect of commands.

use std::collections::HashMap;
use std::sync::Arc;

use crate::wire::channel::{ChannelKind, ROOT};
use crate::wire::json::Value;
use crate::wire::message::Message;

use crate::oracle::channel::ChannelId;
use crate::oracle::check::FindingSink;
use crate::oracle::members::{given, list, text};
use crate::oracle::rule::CheckRule as _;
use crate::oracle::step::OracleStep;

use super::catalogue::Rule;
use super::{ClientFamily, ClientView, SentDispatch, dispatched, sent};

/// Upper bound for the clients whose handshake is remembered.
const MAX_CLIENTS: usize = 4_096;
/// The requirements of [`Rule::Directories`].
const NO_CAPABILITY: &str = "client.workdir.no-capability";
const PRIMARY: &str = "client.workdir.primary";
/// The methods that need the host's capability `automations`.
const AUTOMATION_METHODS: [&str; 3] =
    ["listAutomationTriggerDefinitions", "runAutomation", "fetchAutomationRuns"];
/// The prefixes of methods that clients may send over the side channel of an MCP server, each with the capability by
/// which the server offers these methods.
const ADVERTISED: [(&str, &str); 2] =
    [("tools/", "serverTools"), ("resources/", "serverResources")];

/// The capabilities that the host declared in the handshake of each client.
#[derive(Default)]
pub(super) struct CapabilityChecks {
    automations: HashMap<Arc<str>, (DeclaredAutomations, u64)>,
}

/// The host's capability for automations, as the handshake declares it.
#[derive(Clone, Copy, PartialEq)]
enum DeclaredAutomations {
    Absent,
    WithoutCreation,
    WithCreation,
}

impl ClientFamily for CapabilityChecks {
    fn step(&mut self, view: &ClientView<'_>, step: &OracleStep<'_>, out: &mut FindingSink) {
        if let Some((message, method)) = sent(step) {
            match method {
                "createChat" => creates_chat(view, message.params(), out),
                "createSession" => creates_session(view, message.params(), out),
                _ if AUTOMATION_METHODS.contains(&method) => self.automation(view, method, out),
                _ => side_channel(view, message, method, out),
            }
        }
        if let Some(action) = dispatched(step) {
            if action.action_type.starts_with("automation") {
                self.automation(view, action.action_type, out);
            }
            directory(view, &action, out);
        }
        match step {
            OracleStep::Answered { request, message } if request.method == "initialize" => {
                let (Some(result), Some(client)) = (message.result(), view.client()) else {
                    return;
                };
                let declared = match given(result, "automations") {
                    None => DeclaredAutomations::Absent,
                    Some(all) if given(all, "create").is_none() => {
                        DeclaredAutomations::WithoutCreation
                    }
                    Some(_) => DeclaredAutomations::WithCreation,
                };
                if self.automations.len() < MAX_CLIENTS || self.automations.contains_key(client) {
                    self.automations.insert(Arc::clone(client), (declared, view.line()));
                }
            }
            OracleStep::Restarted => self.automations.clear(),
            _ => {}
        }
    }
}

impl CapabilityChecks {
    /// Judges, by the capability that the host declared, whether a client may use a method or an action of automations.
    fn automation(&self, view: &ClientView<'_>, what: &str, out: &mut FindingSink) {
        let Some(protocol) = view.protocol() else { return };
        if protocol.method(what).is_none() && protocol.action(what).is_none() {
            return;
        }
        let declared = view.client().and_then(|client| self.automations.get(client));
        let Some((declared, line)) = declared else { return };
        out.seen(Rule::Capabilities);
        let missing = match declared {
            DeclaredAutomations::Absent => "automations",
            DeclaredAutomations::WithoutCreation if what == "automation/createRequested" => {
                "automations.create"
            }
            _ => return,
        };
        undeclared(what, missing, &[*line, view.line()], out);
    }
}

fn undeclared(what: &str, capability: &str, lines: &[u64], out: &mut FindingSink) {
    let message =
        format!("expected `{what}` only with the capability `{capability}`, found it without");
    out.broken(Rule::Capabilities, message, lines);
}

/// Tests a condition on the agent of a provider in every state of the root channel that the client may have known.
/// Returns whether the condition holds in all these states, and the line of the snapshot; `None` if the agent or the
/// state is unknown.
fn agent_is(
    view: &ClientView<'_>,
    provider: &str,
    holds: impl Fn(&Value) -> bool,
) -> Option<(bool, u64)> {
    // Older versions do not define capabilities of agents, so no command is judged by them.
    if !view.protocol()?.has_type("AgentCapabilities") {
        return None;
    }
    let root = view.cx.channels.find(ROOT)?;
    let agent = |state: &Value| {
        let mut agents = list(state, "agents").iter();
        agents.find(|agent| text(agent, "provider") == Some(provider)).cloned()
    };
    let (known, _) = view.told.every(view, root, |state| agent(state).is_some())?;
    let all = view.told.every(view, root, |state| agent(state).is_some_and(|it| holds(&it)))?;
    known.then_some(all)
}

/// Returns whether an agent has the capability at this path.
fn has(agent: &Value, path: &[&str]) -> bool {
    let mut value = given(agent, "capabilities");
    for name in path {
        value = value.and_then(|value| given(value, name));
    }
    value.is_some_and(|value| value.as_bool() != Some(false))
}

/// Returns the provider of a session's agent.
fn provider(view: &ClientView<'_>, session: ChannelId) -> Option<String> {
    let read = |state: &Value| text(state, "provider").map(str::to_owned);
    view.told.newest(view, session, read).flatten()
}

/// Judges a `createChat` by the capabilities of the session's agent.
fn creates_chat(view: &ClientView<'_>, params: &Value, out: &mut FindingSink) {
    let session = text(params, "channel").and_then(|uri| view.cx.channels.find(uri));
    let Some(provider) = session.and_then(|session| provider(view, session)) else { return };
    let source = given(params, "source").and_then(|source| text(source, "kind"));
    let path: &[&str] = match source {
        Some("fork") => &["multipleChats", "fork"],
        Some("sideChat") => &["multipleChats", "sideChat"],
        _ => &["multipleChats"],
    };
    let Some((lacks, told)) = agent_is(view, &provider, |agent| !has(agent, path)) else { return };
    out.seen(Rule::Capabilities);
    if lacks {
        undeclared("createChat", &path.join("."), &[told, view.line()], out);
    }
}

/// The capability for several working directories.
const DIRECTORIES: &str = "multipleWorkingDirectories";

/// Judges the working directories of a new session.
fn creates_session(view: &ClientView<'_>, params: &Value, out: &mut FindingSink) {
    let directories = list(params, "workingDirectories").len();
    let Some(provider) = text(params, "provider").filter(|_| directories > 0) else { return };
    let lacks = agent_is(view, provider, |agent| !has(agent, &[DIRECTORIES]));
    let Some((lacks, told)) = lacks else { return };
    out.seen(Rule::Directories.of(NO_CAPABILITY));
    if lacks && directories > 1 {
        let message = format!(
            "expected at most one working directory without the capability `{DIRECTORIES}`, found \
             {directories}"
        );
        out.broken(Rule::Directories.of(NO_CAPABILITY), message, &[told, view.line()]);
    }
}

/// Judges a change of the working directories of a session or a chat.
fn directory(view: &ClientView<'_>, sent: &SentDispatch<'_>, out: &mut FindingSink) {
    if !sent.name.starts_with("workingDirectory") {
        return;
    }
    let chat = sent.action_type.starts_with("chat/");
    let session = match chat {
        true => view.cx.channel(sent.channel).and_then(|chat| chat.owner),
        false => Some(sent.channel),
    };
    let Some(session) = session else { return };
    let Some(provider) = provider(view, session) else { return };
    let lacks = agent_is(view, &provider, |agent| !has(agent, &[DIRECTORIES]));
    let Some((lacks, told)) = lacks else { return };
    out.seen(Rule::Directories.of(NO_CAPABILITY));
    if lacks {
        let message = format!(
            "expected `{}` only with the capability `{DIRECTORIES}`, found it without",
            sent.action_type
        );
        return out.broken(Rule::Directories.of(NO_CAPABILITY), message, &[told, view.line()]);
    }
    let directory = text(sent.action, "directory");
    let primary = |state: &Value| {
        let first = list(state, "workingDirectories").first();
        first.and_then(Value::as_str) == directory
    };
    let Some((true, line)) = view.told.every(view, session, primary) else { return };
    let forbids: fn(&Value) -> bool = match sent.action_type {
        "session/workingDirectoryRemoved" => |agent| {
            has(agent, &[DIRECTORIES, "primaryReplacement"])
                || has(agent, &[DIRECTORIES, "immutablePrimary"])
        },
        "session/workingDirectoryReplaced" => {
            |agent| has(agent, &[DIRECTORIES, "immutablePrimary"])
        }
        _ => return,
    };
    let Some((forbidden, told)) = agent_is(view, &provider, forbids) else { return };
    out.seen(Rule::Directories.of(PRIMARY));
    if forbidden {
        let message = format!(
            "expected the primary directory to stay, which the agent protects, found `{}`",
            sent.action_type
        );
        out.broken(Rule::Directories.of(PRIMARY), message, &[told, line, view.line()]);
    }
}

/// Judges a message over the side channel of an MCP server.
fn side_channel(view: &ClientView<'_>, message: &Message, method: &str, out: &mut FindingSink) {
    let Some((_, needed)) = ADVERTISED.iter().find(|(prefix, _)| method.starts_with(prefix)) else {
        return;
    };
    let top = message.value().get("channel").or_else(|| message.params().get("channel"));
    let Some(uri) = top.and_then(Value::as_str) else { return };
    let lacks = |state: &Value| {
        let app = server_of(state, uri).and_then(|server| given(server, "mcpApp"));
        app.and_then(|app| given(app, "capabilities")).map(|all| given(all, needed).is_none())
    };
    for session in view.told.channels(view, ChannelKind::Session) {
        let known = view.told.every(view, session, |state| lacks(state).is_some());
        let Some((true, told)) = known else { continue };
        out.seen(Rule::McpMethods);
        let all = view.told.every(view, session, |state| lacks(state) == Some(true));
        if all.is_some_and(|(all, _)| all) {
            let message = format!(
                "expected `{method}` only on a server that advertises `{needed}`, found it on \
                 `{uri}`"
            );
            out.broken(Rule::McpMethods, message, &[told, view.line()]);
        }
        return;
    }
}

/// Returns the MCP server of a session with this side channel.
fn server_of<'a>(state: &'a Value, uri: &str) -> Option<&'a Value> {
    let top = list(state, "customizations").iter();
    let mut all = top.flat_map(|entry| std::iter::once(entry).chain(list(entry, "children")));
    all.find(|entry| text(entry, "channel") == Some(uri))
}
