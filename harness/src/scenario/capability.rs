//! The optional capabilities of a host, and how the harness detects them.
//!
//! Users do not have to declare capabilities: each row of the table says how the harness detects one capability. A host
//! that lacks a capability does not fail. A host that declares a capability but refuses its use fails, because the
//! harness plays the scenarios that need the capability.
//!
//! Knows: the shapes of the answers that prove a capability. Never knows: connections, the code that sends
//! requests.
//!
//! Start at [`CAPABILITIES`].

use std::fmt;

use crate::wire::channel::ROOT;
use crate::wire::json::{Value, json};
use crate::wire::template::uses;

/// One capability that a host may offer.
#[derive(Debug)]
pub struct HostCapability {
    /// The name of the capability in scenarios.
    pub name: &'static str,
    /// The evidence by which the harness detects the capability.
    pub shown: CapabilitySource,
}

/// The evidence by which the harness detects a capability.
#[derive(Clone, Copy, Debug)]
pub enum CapabilitySource {
    /// A member of the result of `initialize`. The member is an object if the host has the capability.
    Handshake(&'static str),
    /// A path into the `capabilities` of the agent with which sessions are created, as the root state lists them.
    /// The agent has the capability if the value is an object or `true`.
    Agent(&'static [&'static str]),
    /// A name in the list [`EXTRAS`], which is in the `_meta` of the result of `initialize`. Only a host whose own
    /// agent plays scripts has this list.
    Extra(&'static str),
    /// An undeclared capability that consists of methods. If the host lacks the capability, it answers the
    /// first of these methods with -32601, as the specification demands for a method that is not implemented.
    /// The function makes the params of that request. A scenario that sends any of these methods needs the
    /// capability.
    Methods(&'static [&'static str], fn() -> Value),
    /// A value that the function finds in the result of `initialize`, including the snapshot of the root
    /// channel. A scenario can use the listed members of the value, for example `${protectedAgent.provider}`.
    /// The function also gets the protected resources for which the run has tokens.
    Thing(&'static [&'static str], fn(&Value, &[String]) -> Option<Value>),
    /// An undeclared capability that a short conversation with the host detects. The string describes that
    /// conversation. The module `run::probes` holds such conversations.
    Probe(&'static str),
    /// An undeclared capability that the harness tries out before a run, in the module `run::folders`. A scenario can
    /// use the listed members. The string describes the trial.
    Tried(&'static [&'static str], &'static str),
    /// A capability that an option of the run provides. A scenario can use the listed members; the string names the
    /// option.
    Given(&'static [&'static str], &'static str),
    /// The capability of a run with an option that contains a token for the resource of the protected agent.
    Token,
}

/// The capability of a run that has a token. The token is bound to `${token}`.
pub const TOKEN: &str = "token";

/// The capability of a host that forwards requests of one client for files to another client that serves these files.
const CLIENT_FILES: &str = "clientFiles";
/// The URI at which a client of a scenario serves its files. A host reaches the files at this URI, unless an option of
/// the run sets another URI.
pub const CLIENT_FOLDER: &str = "virtual://{client}";

/// The capability of a host that can start the MCP server of the harness.
pub const HARNESS_SERVER: &str = "harnessServer";

/// Returns the configuration with which a host can start the MCP server of the harness. `program` is the path of the
/// harness.
pub fn server_config(program: &str) -> String {
    json!({"mcpServers": {"ahp-probe": {"command": program, "args": ["agent", "mcp"]}}}).to_text()
}

/// The capability of a host on which a client may create files. A scenario with `${new path name}` needs this
/// capability.
pub const WORKSPACE: &str = "workspace";

/// The capability of a host with an agent that requires a token.
pub const PROTECTED: &str = "protectedAgent";

/// The member of `_meta` in the result of `initialize` that lists the script features of the host's own agent.
/// Features that every such agent has are not listed.
pub const EXTRAS: &str = "ahp-script";

/// The capability of an agent that plays the scripts of scenarios. Scenarios of the profile `agent` need this
/// capability.
pub const SCRIPTS: &str = "agentScripts";

/// The capability of a host whose new sessions have the lifecycle `creating` for a while and then become ready without
/// further input. On such a host, the harness starts a turn only when the session is ready.
pub const READY_SESSIONS: &str = "readySessions";

/// The capability of a run for which the user names folders on the host's disk (`--files`).
pub const FILES: &str = "files";

impl fmt::Display for CapabilitySource {
    /// Describes how the harness detects the capability of a host.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CapabilitySource::Handshake(member) => {
                write!(f, "`{member}` is in the result of `initialize`")
            }
            CapabilitySource::Agent(path) => {
                write!(f, "the agent lists `capabilities.{}` in the root's state", path.join("."))
            }
            CapabilitySource::Extra(name) => write!(
                f,
                "`_meta.{EXTRAS}` in the answer to `initialize` lists `{name}`; needed from a host \
                 whose own agent plays scripts"
            ),
            CapabilitySource::Methods(methods, _) => write!(
                f,
                "`{}` is not answered with -32601; needed by scenarios that send {}",
                methods[0],
                methods.join(", ")
            ),
            CapabilitySource::Thing(members, _) => write!(
                f,
                "found in the answer to `initialize` or in the root's state{}",
                member_list(members)
            ),
            CapabilitySource::Tried(members, what) => write!(f, "{what}{}", member_list(members)),
            CapabilitySource::Given(members, option) => {
                write!(f, "an option of the run provides it: {option}{}", member_list(members))
            }
            CapabilitySource::Token => write!(
                f,
                "`--authenticate` names a token for `${{{PROTECTED}.resource}}`; bound to `${{{TOKEN}}}`"
            ),
            CapabilitySource::Probe(what) => f.write_str(what),
        }
    }
}

/// Describes the members of a capability that a scenario can use.
fn member_list(members: &[&str]) -> String {
    match members {
        [] => String::new(),
        _ => format!("; a scenario can use its {}", members.join(", ")),
    }
}

impl HostCapability {
    /// Returns whether the capability only makes tests possible: an option provides the capability, or the
    /// capability is a script feature of the agent. A requirement that is untestable without the capability may
    /// still apply to the host.
    pub fn makes_tests_possible(&self) -> bool {
        self.name == SCRIPTS
            || matches!(
                self.shown,
                CapabilitySource::Given(..) | CapabilitySource::Token | CapabilitySource::Extra(_)
            )
    }
}

/// The identifier in the URIs of channels and files that do not exist. A request about such a URI shows whether the
/// host implements the method, and changes nothing.
const NOBODYS: &str = "ahp-harness-probe";

/// The abilities that the profile of an agent may declare.
pub const ABILITIES: &[&str] = &[
    "shell",
    "read",
    "write",
    "edit",
    "delete",
    "move",
    "search",
    "think",
    "fetch",
    "switch-mode",
    "plan",
    "mcp",
    "auth",
    "ask",
    "script",
];

/// Every capability that a scenario may need.
pub const CAPABILITIES: &[HostCapability] = &[
    HostCapability { name: "automations", shown: CapabilitySource::Handshake("automations") },
    HostCapability {
        name: "automations.schedules",
        shown: CapabilitySource::Thing(&[], |result, _| schedules(result).cloned()),
    },
    HostCapability {
        name: "automations.everyMinute",
        shown: CapabilitySource::Thing(&[], |result, _| {
            let least = |it: &&Value| it["minIntervalMinutes"].as_u64().unwrap_or(0);
            schedules(result).filter(|it| least(it) <= 1).cloned()
        }),
    },
    HostCapability { name: "telemetry", shown: CapabilitySource::Handshake("telemetry") },
    HostCapability { name: "multipleChats", shown: CapabilitySource::Agent(&["multipleChats"]) },
    HostCapability {
        name: "multipleChats.fork",
        shown: CapabilitySource::Agent(&["multipleChats", "fork"]),
    },
    HostCapability {
        name: "multipleChats.sideChat",
        shown: CapabilitySource::Agent(&["multipleChats", "sideChat"]),
    },
    HostCapability {
        name: "agentWithoutChats",
        shown: CapabilitySource::Thing(&["provider"], |result, _| {
            lacking(result, &[], &["multipleChats"])
        }),
    },
    HostCapability {
        name: "agentWithoutFork",
        shown: CapabilitySource::Thing(&["provider"], |result, _| {
            lacking(result, &["multipleChats"], &["multipleChats", "fork"])
        }),
    },
    HostCapability {
        name: "agentWithoutSideChat",
        shown: CapabilitySource::Thing(&["provider"], |result, _| {
            lacking(result, &["multipleChats"], &["multipleChats", "sideChat"])
        }),
    },
    HostCapability {
        name: "agentWithOneDirectory",
        shown: CapabilitySource::Thing(&["provider"], |result, _| {
            lacking(result, &[], &["multipleWorkingDirectories"])
        }),
    },
    HostCapability {
        name: "agentWithFixedPrimary",
        shown: CapabilitySource::Thing(&["provider"], |result, _| {
            let directories = "multipleWorkingDirectories";
            lacking(result, &[directories], &[directories, "primaryReplacement"])
        }),
    },
    HostCapability {
        name: "multipleWorkingDirectories",
        shown: CapabilitySource::Agent(&["multipleWorkingDirectories"]),
    },
    HostCapability {
        name: "multipleWorkingDirectories.primaryReplacement",
        shown: CapabilitySource::Agent(&["multipleWorkingDirectories", "primaryReplacement"]),
    },
    HostCapability {
        name: "terminals",
        shown: CapabilitySource::Methods(
            &["disposeTerminal", "createTerminal"],
            || json!({"channel": (format!("ahp-terminal:/{NOBODYS}"))}),
        ),
    },
    HostCapability {
        name: "resources",
        shown: CapabilitySource::Methods(
            &[
                "resourceRead",
                "resourceWrite",
                "resourceList",
                "resourceCopy",
                "resourceDelete",
                "resourceMove",
                "resourceResolve",
                "resourceMkdir",
                "resourceRequest",
            ],
            || json!({"channel": ROOT, "uri": (format!("file:///{NOBODYS}/none"))}),
        ),
    },
    HostCapability {
        name: "resourceWatches",
        shown: CapabilitySource::Methods(
            &["createResourceWatch"],
            || json!({"channel": ROOT, "uri": (format!("file:///{NOBODYS}/none"))}),
        ),
    },
    HostCapability {
        name: "completions",
        shown: CapabilitySource::Methods(
            &["completions"],
            || json!({"channel": (format!("ahp-session:/{NOBODYS}")), "kind": "userMessage", "text": "", "offset": 0}),
        ),
    },
    HostCapability {
        name: "chatMoves",
        shown: CapabilitySource::Methods(
            &["moveChat"],
            || json!({"channel": (format!("ahp-session:/{NOBODYS}")), "chat": (format!("ahp-chat:/{NOBODYS}"))}),
        ),
    },
    HostCapability {
        name: "sessionConfig",
        shown: CapabilitySource::Methods(
            &["resolveSessionConfig", "sessionConfigCompletions"],
            || json!({"channel": ROOT}),
        ),
    },
    HostCapability {
        name: "changesetOperations",
        shown: CapabilitySource::Methods(
            &["invokeChangesetOperation"],
            || json!({"channel": (format!("ahp-changeset:/{NOBODYS}")), "operationId": NOBODYS}),
        ),
    },
    HostCapability {
        name: READY_SESSIONS,
        shown: CapabilitySource::Probe(
            "a session that is being created becomes ready before any message is sent in it",
        ),
    },
    HostCapability {
        name: SCRIPTS,
        shown: CapabilitySource::Probe(
            "a turn that a script makes fail on purpose fails with the error in the script",
        ),
    },
    HostCapability {
        name: "annotations",
        shown: CapabilitySource::Probe(
            "a new session has a channel of annotations: the channel that the session's state names, or `<session>/annotations`",
        ),
    },
    HostCapability {
        name: "customizations",
        shown: CapabilitySource::Probe(
            "a plugin that a client publishes appears in the session's customizations",
        ),
    },
    HostCapability {
        name: CLIENT_FILES,
        shown: CapabilitySource::Probe(
            "a client can read a file that another client serves, at `${A.files}` for client A",
        ),
    },
    HostCapability {
        name: "telemetry.logs",
        shown: CapabilitySource::Thing(&["uri"], |result, _| signal(result, "logs")),
    },
    HostCapability {
        name: "telemetry.levels",
        shown: CapabilitySource::Thing(&["uri"], |result, _| {
            let levels = |it: &Value| it["uri"].as_str().is_some_and(|it| uses(it, "level"));
            signal(result, "logs").filter(levels)
        }),
    },
    HostCapability {
        name: "telemetry.traces",
        shown: CapabilitySource::Thing(&["uri"], |result, _| signal(result, "traces")),
    },
    HostCapability {
        name: "telemetry.metrics",
        shown: CapabilitySource::Thing(&["uri"], |result, _| signal(result, "metrics")),
    },
    HostCapability {
        name: PROTECTED,
        shown: CapabilitySource::Thing(&["provider", "resource"], |result, tokens| {
            guarded(result, tokens, |resources| resources.iter().find(|it| is_required(it)))
        }),
    },
    HostCapability {
        name: "optionalAgent",
        shown: CapabilitySource::Thing(&["provider", "resource"], |result, tokens| {
            guarded(result, tokens, |resources| {
                resources.first().filter(|_| !resources.iter().any(is_required))
            })
        }),
    },
    HostCapability {
        name: "roamingAgent",
        shown: CapabilitySource::Thing(&["provider"], |result, _| {
            let path = "/capabilities/multipleWorkingDirectories/primaryReplacement";
            let roams = |agent: &&Value| agent.pointer(path) == Some(&Value::Bool(true));
            let agent = agents(result).iter().find(roams)?;
            Some(json!({"provider": (&agent["provider"])}))
        }),
    },
    HostCapability { name: TOKEN, shown: CapabilitySource::Token },
    HostCapability {
        name: "credentials",
        shown: CapabilitySource::Given(&[], "`--token`, or credentials in `--header` or `--url`"),
    },
    HostCapability {
        name: "otherCredentials",
        shown: CapabilitySource::Given(&[], "`--other-token`, the credentials of a second user"),
    },
    HostCapability {
        name: FILES,
        shown: CapabilitySource::Given(
            &["folder"],
            "`--files INSIDE OUTSIDE`, two folders on the host's disk in which the harness can make \
             unusual files",
        ),
    },
    HostCapability {
        name: WORKSPACE,
        shown: CapabilitySource::Tried(
            &["folder"],
            "clients may make folders and files in a folder that the harness made on this machine, or in the host's \
             `defaultDirectory`",
        ),
    },
    HostCapability {
        name: "readableFolder",
        shown: CapabilitySource::Tried(
            &["folder"],
            "the host reads a file that the harness wrote on this machine",
        ),
    },
    HostCapability {
        name: "grantedFolder",
        shown: CapabilitySource::Tried(
            &["folder"],
            "a file on this machine cannot be read until the client has sent `resourceRequest` for it",
        ),
    },
    HostCapability {
        name: "deniedFile",
        shown: CapabilitySource::Tried(
            &["uri", "path"],
            "a `resourceRequest` to read a file outside of the workspace, which the harness made on this machine, is \
             denied",
        ),
    },
    HostCapability {
        name: "deniedFolder",
        shown: CapabilitySource::Tried(
            &["folder"],
            "a `resourceRequest` for a file that the harness made on this machine is denied",
        ),
    },
    HostCapability {
        name: HARNESS_SERVER,
        shown: CapabilitySource::Given(
            &["config"],
            "`--command`, or a `--url` on this machine, so that the host can start the MCP server of the harness that the \
             `.mcp.json` of a plugin names",
        ),
    },
    HostCapability {
        name: "guardedSetting",
        shown: CapabilitySource::Given(
            &["key", "value"],
            "`--guarded-setting KEY=VALUE`, a value that a client with the other token must not set",
        ),
    },
    HostCapability { name: "script.recall", shown: CapabilitySource::Extra("recall") },
    HostCapability { name: "script.activity", shown: CapabilitySource::Extra("activity") },
    HostCapability { name: "script.background", shown: CapabilitySource::Extra("background") },
    HostCapability { name: "script.canvas", shown: CapabilitySource::Extra("canvas") },
    HostCapability { name: "script.crash", shown: CapabilitySource::Extra("crash") },
    HostCapability { name: "script.worker", shown: CapabilitySource::Extra("worker") },
    HostCapability {
        name: "script.further-tools",
        shown: CapabilitySource::Extra("further-tools"),
    },
    HostCapability { name: "script.by-reference", shown: CapabilitySource::Extra("by-reference") },
    HostCapability { name: "script.auth", shown: CapabilitySource::Extra("auth") },
    HostCapability { name: "script.act", shown: CapabilitySource::Extra("act") },
];

/// Returns what the host declares about schedules in the result of `initialize`; `None` if it declares nothing.
fn schedules(result: &Value) -> Option<&Value> {
    Some(&result["automations"]["schedules"]).filter(|it| it.is_object())
}

/// Returns the channel URI of a telemetry signal, or the URI template of this channel.
fn signal(result: &Value, name: &str) -> Option<Value> {
    let uri = result["telemetry"][name].as_str()?;
    Some(json!({"uri": uri}))
}

/// Returns the agents that the snapshot of the root channel lists.
pub fn agents(result: &Value) -> &[Value] {
    let snapshots = result["snapshots"].as_array().map(Vec::as_slice).unwrap_or_default();
    let root = snapshots.iter().find(|snapshot| snapshot["resource"] == ROOT);
    root.and_then(|snapshot| snapshot["state"]["agents"].as_array())
        .map(Vec::as_slice)
        .unwrap_or_default()
}

/// Returns whether an agent declares a capability, as an object or as `true`. For an empty path, the result is true.
pub fn declares(agent: &Value, path: &[&str]) -> bool {
    let declared = path.iter().fold(&agent["capabilities"], |at, part| &at[*part]);
    path.is_empty() || *declared == true || declared.is_object()
}

/// Returns the first agent that has no protected resources, declares the capability `has` and does not declare the
/// capability `lacks`.
fn lacking(result: &Value, has: &[&str], lacks: &[&str]) -> Option<Value> {
    let open = |agent: &&Value| protected(agent).is_empty();
    let fits = |agent: &&Value| declares(agent, has) && !declares(agent, lacks);
    let agent = agents(result).iter().filter(open).find(fits)?;
    Some(json!({"provider": (&agent["provider"])}))
}

/// Returns whether a resource requires a token. If the member `required` is absent, the resource requires a token.
/// Source: ProtectedResourceMetadata.required.
fn is_required(resource: &Value) -> bool {
    resource["required"] != false
}

fn protected(agent: &Value) -> &[Value] {
    agent["protectedResources"].as_array().map(Vec::as_slice).unwrap_or_default()
}

fn has_token(resource: &Value, tokens: &[String]) -> bool {
    tokens.iter().any(|known| resource["resource"] == known.as_str())
}

/// Returns the first agent that is usable with tokens for these resources; if no agent is usable, the first
/// agent.
pub fn usable<'a>(agents: &'a [Value], tokens: &[String]) -> Option<&'a Value> {
    let open = |agent: &&Value| lacking_token(agent, tokens).is_none();
    agents.iter().find(open).or(agents.first())
}

/// Returns a resource for which the agent requires a token that is not in `tokens`; `None` if no token is
/// missing.
pub fn lacking_token<'a>(agent: &'a Value, tokens: &[String]) -> Option<&'a str> {
    let lacking = |it: &&Value| is_required(it) && !has_token(it, tokens);
    let found = protected(agent).iter().find(lacking)?;
    Some(found["resource"].as_str().unwrap_or_default())
}

/// Returns the resources for which the agent requires a token.
pub fn required_resources(agent: &Value) -> Vec<String> {
    let required = protected(agent).iter().filter(|it| is_required(it));
    required.filter_map(|it| it["resource"].as_str().map(str::to_owned)).collect()
}

/// Returns the first agent with a protected resource that `pick` accepts. An agent for which the run has a
/// token is preferred.
fn guarded(
    result: &Value,
    tokens: &[String],
    pick: fn(&[Value]) -> Option<&Value>,
) -> Option<Value> {
    let all = agents(result).iter();
    let mut all = all.filter_map(|agent| Some((agent, pick(protected(agent))?)));
    let first = all.clone().next();
    let (agent, resource) = all.find(|(_, it)| has_token(it, tokens)).or(first)?;
    Some(json!({"provider": (&agent["provider"]), "resource": (&resource["resource"])}))
}

/// Returns the names that are bound for a scenario that needs this capability.
pub fn bound(name: &str) -> Vec<String> {
    match named(name).map(|row| row.shown) {
        Some(
            CapabilitySource::Thing(members, _)
            | CapabilitySource::Tried(members, _)
            | CapabilitySource::Given(members, _),
        ) => members.iter().map(|member| format!("{name}.{member}")).collect(),
        Some(CapabilitySource::Token) => vec![TOKEN.to_owned()],
        _ => Vec::new(),
    }
}

/// Returns the capability with this name.
pub fn named(name: &str) -> Option<&'static HostCapability> {
    CAPABILITIES.iter().find(|row| row.name == name)
}

/// Returns the capability to which a method belongs.
pub fn of_method(method: &str) -> Option<&'static HostCapability> {
    CAPABILITIES
        .iter()
        .find(|row| matches!(row.shown, CapabilitySource::Methods(methods, _) if methods.contains(&method)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::protocol::Protocol;

    #[test]
    fn every_extra_of_scripts_can_be_declared() {
        let rows = CAPABILITIES.iter().filter_map(|row| match row.shown {
            CapabilitySource::Extra(name) => Some(name),
            _ => None,
        });
        let extras = crate::agent::script::EXTRAS.iter().map(|extra| extra.name);
        assert_eq!(rows.collect::<Vec<_>>(), extras.collect::<Vec<_>>());
    }

    #[test]
    fn requests_lead_to_their_capability() {
        let newest = Protocol::newest();
        for row in CAPABILITIES {
            assert_eq!(named(row.name).map(|found| found.name), Some(row.name));
            if let CapabilitySource::Methods(methods, _) = row.shown {
                for method in methods {
                    assert!(newest.method(method).is_some(), "{method}");
                    assert_eq!(of_method(method).map(|row| row.name), Some(row.name));
                }
            }
        }
    }
}
