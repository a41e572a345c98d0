//! What a host may offer or leave out, and how it shows which.
//!
//! Nobody has to declare these things to be asked for them: each row says what a first look at the
//! host goes by. What is not offered is no failure; what is declared and then refused is one, since the
//! scenarios that need it are played.
//!
//! Knows: the shapes of the answers that show it. Never knows: connections, who asks.
//!
//! Start at [`CAPABILITIES`].

use std::fmt;

use crate::wire::channel::ROOT;
use crate::wire::json::{Value, json};
use crate::wire::template::uses;

/// One thing that a host may offer.
#[derive(Debug)]
pub struct HostCapability {
    /// How a scenario names it.
    pub name: &'static str,
    /// How a host shows that it offers it.
    pub shown: CapabilitySource,
}

/// What shows whether something is offered.
#[derive(Clone, Copy, Debug)]
pub enum CapabilitySource {
    /// A member of the answer to `initialize`, an object where it is there.
    Handshake(&'static str),
    /// A member of the `capabilities` of the agent that sessions are created with, as the root's state
    /// lists it: an object, `true`, or a member of one.
    Agent(&'static [&'static str]),
    /// A name in the list that a host whose own agent plays scripts has in `_meta` of its answer to `initialize`,
    /// under [`EXTRAS`].
    Extra(&'static str),
    /// Nobody declares it: a host without it answers the first of these requests with -32601, as one that does
    /// not implement a method has to. A scenario that sends any of them needs it.
    Methods(&'static [&'static str], fn() -> Value),
    /// Something in the answer to `initialize`, the root channel among its snapshots, that has members of its
    /// own, which a scenario can use: `${protectedAgent.provider}`. Found in the answer, with the protected resources
    /// for which the run has tokens.
    Thing(&'static [&'static str], fn(&Value, &[String]) -> Option<Value>),
    /// Nobody declares it: a small conversation shows it, by what this says. See `run::probes`.
    Probe(&'static str),
    /// Nobody declares it: the harness tries it before a run, with members that a scenario can use. What it tries is
    /// said here. See `run::folders`.
    Tried(&'static [&'static str], &'static str),
    /// Nobody declares it: the run was given it, by an option that is named, with members that a scenario can use.
    Given(&'static [&'static str], &'static str),
    /// Nobody declares it: the run was given a token for the resource of the protected agent.
    Token,
}

/// The capability of a run that has a token, which is bound to `${token}`.
pub const TOKEN: &str = "token";

/// The capability of a host in whose files a client may write, which `${new path name}` needs.
pub const WORKSPACE: &str = "workspace";

/// The agent that a token is for.
pub const PROTECTED: &str = "protectedAgent";

/// The member of `_meta` in the answer to `initialize` that lists what the host's own agent can do with a
/// script beyond what every such agent can.
pub const EXTRAS: &str = "ahp-script";

/// The capability of an agent that plays the scripts of scenarios: those of the profile `agent` need it.
pub const SCRIPTS: &str = "agentScripts";

/// The capability of hosts on which a session is being created for a while, and becomes ready by itself: turns are begun
/// when it is ready.
pub const READY_SESSIONS: &str = "readySessions";

/// The capability of a run that was given folders on the host's disk.
pub const FILES: &str = "files";

impl fmt::Display for CapabilitySource {
    /// What a host does that offers it.
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
                "`_meta.{EXTRAS}` in the answer to `initialize` lists `{name}`; asked of a host whose own \
                 agent plays scripts"
            ),
            CapabilitySource::Methods(methods, _) => write!(
                f,
                "`{}` is not answered with -32601; wanted by scenarios that send {}",
                methods[0],
                methods.join(", ")
            ),
            CapabilitySource::Thing(members, _) => write!(
                f,
                "the answer to `initialize`, or the root's state, has it; bound are {}",
                members.join(", ")
            ),
            CapabilitySource::Tried(members, what) => {
                write!(f, "{what}; bound are {}", members.join(", "))
            }
            CapabilitySource::Given([], option) => write!(f, "the run is given it by {option}"),
            CapabilitySource::Given(members, option) => {
                write!(f, "the run is given it by {option}; bound are {}", members.join(", "))
            }
            CapabilitySource::Token => write!(
                f,
                "`--authenticate` names a token for `${{{PROTECTED}.resource}}`; bound to `${{{TOKEN}}}`"
            ),
            CapabilitySource::Probe(what) => f.write_str(what),
        }
    }
}

impl HostCapability {
    /// Whether it only makes tests possible: the run was given it, or the agent plays scripts. What cannot be tested
    /// without it may apply to the host all the same.
    pub fn makes_tests_possible(&self) -> bool {
        self.name == SCRIPTS
            || matches!(
                self.shown,
                CapabilitySource::Given(..) | CapabilitySource::Token | CapabilitySource::Extra(_)
            )
    }
}

/// A channel that nobody has created.
const NOBODYS: &str = "ahp-harness-probe";

/// What an agent can be made to do, as its profile says.
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
            "a session that is being created becomes ready before its first message",
        ),
    },
    HostCapability {
        name: SCRIPTS,
        shown: CapabilitySource::Probe(
            "a turn fails when its script says so",
        ),
    },
    HostCapability {
        name: "annotations",
        shown: CapabilitySource::Probe(
            "a new session has a channel of annotations, the one that its state names or `<session>/annotations`",
        ),
    },
    HostCapability {
        name: "customizations",
        shown: CapabilitySource::Probe(
            "a plugin that a client publishes appears in the session's customizations",
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
        shown: CapabilitySource::Given(&[], "`--other-token`, of a second user"),
    },
    HostCapability {
        name: FILES,
        shown: CapabilitySource::Given(
            &["folder"],
            "`--files INSIDE OUTSIDE`, where on the host's disk odd files can be put",
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
            "a `resourceRequest` to read a file outside of the workspace is denied: one that the harness made on this \
             machine",
        ),
    },
    HostCapability {
        name: "deniedFolder",
        shown: CapabilitySource::Tried(
            &["folder"],
            "a `resourceRequest` for a file is denied that the harness made on this machine",
        ),
    },
    HostCapability {
        name: "guardedSetting",
        shown: CapabilitySource::Given(
            &["key", "value"],
            "`--guarded-setting KEY=VALUE`, what the other token may not set so",
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

/// What is said of schedules, where there are any.
fn schedules(result: &Value) -> Option<&Value> {
    Some(&result["automations"]["schedules"]).filter(|it| it.is_object())
}

/// A signal's channel, or a template of it.
fn signal(result: &Value, name: &str) -> Option<Value> {
    let uri = result["telemetry"][name].as_str()?;
    Some(json!({"uri": uri}))
}

/// The agents that the root's snapshot lists.
pub fn agents(result: &Value) -> &[Value] {
    let snapshots = result["snapshots"].as_array().map(Vec::as_slice).unwrap_or_default();
    let root = snapshots.iter().find(|snapshot| snapshot["resource"] == ROOT);
    root.and_then(|snapshot| snapshot["state"]["agents"].as_array())
        .map(Vec::as_slice)
        .unwrap_or_default()
}

/// Whether an agent has a capability: an object, or true. Every agent has that of the empty path.
pub fn declares(agent: &Value, path: &[&str]) -> bool {
    let declared = path.iter().fold(&agent["capabilities"], |at, part| &at[*part]);
    path.is_empty() || *declared == true || declared.is_object()
}

/// The first agent that anybody can use which has the one capability and not the other.
fn lacking(result: &Value, has: &[&str], lacks: &[&str]) -> Option<Value> {
    let open = |agent: &&Value| protected(agent).is_empty();
    let fits = |agent: &&Value| declares(agent, has) && !declares(agent, lacks);
    let agent = agents(result).iter().filter(open).find(fits)?;
    Some(json!({"provider": (&agent["provider"])}))
}

/// An absent flag is to be treated as `true`. Source: ProtectedResourceMetadata.required.
fn is_required(resource: &Value) -> bool {
    resource["required"] != false
}

fn protected(agent: &Value) -> &[Value] {
    agent["protectedResources"].as_array().map(Vec::as_slice).unwrap_or_default()
}

fn has_token(resource: &Value, tokens: &[String]) -> bool {
    tokens.iter().any(|known| resource["resource"] == known.as_str())
}

/// The first agent that can be used with tokens for these resources; the first one if there is none.
pub fn usable<'a>(agents: &'a [Value], tokens: &[String]) -> Option<&'a Value> {
    let open = |agent: &&Value| lacking_token(agent, tokens).is_none();
    agents.iter().find(open).or(agents.first())
}

/// The resource of an agent that needs a token which is not among these.
pub fn lacking_token<'a>(agent: &'a Value, tokens: &[String]) -> Option<&'a str> {
    let lacking = |it: &&Value| is_required(it) && !has_token(it, tokens);
    let found = protected(agent).iter().find(lacking)?;
    Some(found["resource"].as_str().unwrap_or_default())
}

/// The first agent that protects a resource of a kind, preferably one for which the run has a token.
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

/// The names that a scenario can use which needs a capability.
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

/// The capability of a name.
pub fn named(name: &str) -> Option<&'static HostCapability> {
    CAPABILITIES.iter().find(|row| row.name == name)
}

/// The capability that a request is part of.
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
        let newest = Protocol::known().first().and_then(|version| Protocol::of(*version)).unwrap();
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
