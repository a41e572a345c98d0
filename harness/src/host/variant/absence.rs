//! Variants of hosts that lack an optional feature: the host rejects the methods of the feature, and does not
//! send its members and actions.
//!
//! Knows: methods, types and their optional members. Never knows: the implementation of features.

use crate::wire::json::{Map, Value, json};
use crate::wire::version::Version;

use super::row::{OPTIONAL, VariantMaker, VariantRow};
use crate::host::chain::{MessageLink, MessageRewriter, RewriterOutput, each_envelope_list};

/// The methods, members and actions that a host lacks if it does not offer a feature.
#[derive(Debug)]
pub(super) struct AbsentFeature {
    /// Methods that the host answers with -32601 (method not found).
    pub(super) methods: &'static [&'static str],
    /// A function that returns whether the host answers a request, given by its method and params, with -32600 (invalid
    /// request).
    pub(super) refused: fn(&str, &Value) -> bool,
    /// Optional members that are removed: the name of a type or action, and the name of the member. A `*` at the
    /// beginning or end of a type's name matches any characters.
    pub(super) members: &'static [(&'static str, &'static str)],
    /// Actions that the host does not send. Their `serverSeq` numbers are missing in the sequence that clients receive.
    pub(super) actions: &'static [&'static str],
    /// Notifications that the host does not send.
    pub(super) notifications: &'static [&'static str],
}

pub(super) const NOTHING: AbsentFeature = AbsentFeature {
    methods: &[],
    refused: |_, _| false,
    members: &[],
    actions: &[],
    notifications: &[],
};

/// Returns whether a name matches a pattern, which has at most one `*` at its beginning or end.
fn fits(pattern: &str, name: &str) -> bool {
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(end), _) => name.ends_with(end),
        (_, Some(begin)) => name.starts_with(begin),
        _ => pattern == name,
    }
}

impl AbsentFeature {
    fn strip(&self, type_name: &str, members: &mut Map) {
        for (of, member) in self.members {
            if fits(of, type_name) {
                members.remove(member);
            }
        }
    }

    /// Returns whether the action in an envelope is one of the actions that the host does not send.
    fn drops(&self, envelope: &Value) -> bool {
        let own = envelope.get("origin").is_none_or(Value::is_null);
        let name = envelope.get("action").and_then(|action| action["type"].as_str());
        own && name.is_some_and(|name| self.actions.contains(&name))
    }
}

impl MessageRewriter for &'static AbsentFeature {
    fn edit_client_message(&mut self, _: &MessageLink<'_>, message: &mut Value) -> Option<Value> {
        let id = message.get("id")?.clone();
        let method = message["method"].as_str()?;
        let error = match self.methods.contains(&method) {
            true => json!({"code": -32601, "message": "method not found"}),
            false if (self.refused)(method, &message["params"]) => {
                json!({"code": -32600, "message": "not offered"})
            }
            false => return None,
        };
        Some(json!({"jsonrpc": "2.0", "id": id, "error": error}))
    }

    fn on_host_message(
        &mut self,
        link: &MessageLink<'_>,
        mut message: Value,
        out: &mut RewriterOutput,
    ) {
        if !self.members.is_empty() {
            link.visit_records(&mut message, &mut |name, members| {
                self.strip(name, members);
            });
        }
        let method = message["method"].as_str();
        let silent = method.is_some_and(|method| self.notifications.contains(&method));
        if silent || method == Some("action") && self.drops(&message["params"]) {
            return;
        }
        if !self.actions.is_empty() {
            each_envelope_list(&mut message, &mut |list| {
                list.retain(|envelope| !self.drops(envelope));
            });
        }
        out.send(message);
    }
}

/// Returns whether a request creates a chat from a source (such as a fork) whose kind is `way`.
fn made_of(method: &str, params: &Value, way: &str) -> bool {
    method == "createChat" && params.pointer("/source/kind").and_then(Value::as_str) == Some(way)
}

/// The methods about resources of a host. The methods of MCP servers, such as `resources/read`, are not among them.
const RESOURCES: &[&str] = &[
    "createResourceWatch",
    "resourceCopy",
    "resourceDelete",
    "resourceList",
    "resourceMkdir",
    "resourceMove",
    "resourceRead",
    "resourceRequest",
    "resourceResolve",
    "resourceWrite",
];

const METHOD: &str = "A method that a host does not offer is answered with -32601.";
pub(super) const MEMBER: &str = "The members are optional, and no rule requires them.";

pub(super) const fn absent(
    name: &'static str,
    does: &'static str,
    permitted: &'static str,
    feature: &'static AbsentFeature,
) -> VariantRow {
    let (since, maker) = (Version::V1, VariantMaker::Without(feature));
    VariantRow { name, does, permitted, source: OPTIONAL, since, offers_less: true, maker }
}

/// The variants of hosts without a feature.
pub(super) const ROWS: &[VariantRow] = &[
    absent(
        "without-terminals",
        "There are no terminals.",
        METHOD,
        &AbsentFeature {
            methods: &["createTerminal", "disposeTerminal"],
            members: &[("RootState", "terminals")],
            actions: &["root/terminalsChanged"],
            ..NOTHING
        },
    ),
    absent(
        "without-resources",
        "There are no resources.",
        METHOD,
        &AbsentFeature { methods: RESOURCES, ..NOTHING },
    ),
    absent(
        "without-watches",
        "There are no resource watches.",
        METHOD,
        &AbsentFeature { methods: &["createResourceWatch"], ..NOTHING },
    ),
    absent(
        "without-completions",
        "There are no completions.",
        METHOD,
        &AbsentFeature {
            methods: &["completions"],
            members: &[("InitializeResult", "completionTriggerCharacters")],
            ..NOTHING
        },
    ),
    absent(
        "without-session-config",
        "The configuration of a session cannot be resolved before it is created.",
        METHOD,
        &AbsentFeature {
            methods: &["resolveSessionConfig", "sessionConfigCompletions"],
            ..NOTHING
        },
    ),
    absent(
        "without-changeset-operations",
        "Changesets have no operations.",
        METHOD,
        &AbsentFeature {
            methods: &["invokeChangesetOperation"],
            members: &[
                ("ChangesetState", "operations"),
                ("changeset/contentChanged", "operations"),
            ],
            actions: &["changeset/operationsChanged", "changeset/operationStatusChanged"],
            ..NOTHING
        },
    ),
    absent(
        "without-moves",
        "Chats cannot be moved.",
        METHOD,
        &AbsentFeature {
            methods: &["moveChat"],
            members: &[
                ("ChatState", "movable"),
                ("ChatSummary", "movable"),
                ("PartialChatSummary", "movable"),
            ],
            actions: &["chat/movableChanged"],
            ..NOTHING
        },
    ),
    absent(
        "without-automations",
        "No automations are declared.",
        "`automations` is optional in the result of `initialize`.",
        &AbsentFeature {
            methods: &["runAutomation"],
            members: &[("InitializeResult", "automations")],
            ..NOTHING
        },
    ),
    absent(
        "without-several-chats",
        "No agent has several chats in a session.",
        "`capabilities.multipleChats` is optional.",
        &AbsentFeature {
            members: &[("AgentCapabilities", "multipleChats")],
            refused: |method, _| method == "createChat",
            ..NOTHING
        },
    ),
    absent(
        "without-forks",
        "No agent forks chats.",
        "`capabilities.multipleChats.fork` is optional.",
        &AbsentFeature {
            members: &[("MultipleChatsCapability", "fork")],
            refused: |method, params| made_of(method, params, "fork"),
            ..NOTHING
        },
    ),
    absent(
        "without-side-chats",
        "No agent has side chats.",
        "`capabilities.multipleChats.sideChat` is optional.",
        &AbsentFeature {
            members: &[("MultipleChatsCapability", "sideChat")],
            refused: |method, params| made_of(method, params, "sideChat"),
            ..NOTHING
        },
    ),
    absent(
        "without-usage",
        "No token counts are sent.",
        MEMBER,
        &AbsentFeature {
            members: &[
                ("Turn", "usage"),
                ("ActiveTurn", "usage"),
                ("AutomationCompletedRunLifecycle", "usage"),
            ],
            actions: &["session/usage", "chat/usage"],
            ..NOTHING
        },
    ),
    absent(
        "without-activities",
        "Sessions and chats have no description of their current activity.",
        MEMBER,
        &AbsentFeature {
            members: &[
                ("SessionState", "activity"),
                ("SessionSummary", "activity"),
                ("PartialSessionSummary", "activity"),
                ("ChatState", "activity"),
                ("ChatSummary", "activity"),
                ("PartialChatSummary", "activity"),
            ],
            actions: &["session/activityChanged", "chat/activityChanged"],
            ..NOTHING
        },
    ),
    absent(
        "without-input-streaming",
        "The input of a tool call is sent at once, when the call is ready.",
        "No rule requires that a host streams the input of a tool call.",
        &AbsentFeature {
            members: &[
                ("ToolCallStreamingState", "partialInput"),
                ("ToolCallStreamingState", "invocationMessage"),
            ],
            actions: &["session/toolCallDelta", "chat/toolCallDelta"],
            ..NOTHING
        },
    ),
    absent(
        "without-changesets",
        "Sessions and chats have no changesets.",
        MEMBER,
        &AbsentFeature {
            members: &[("SessionState", "changesets"), ("ChatState", "changesets")],
            actions: &["session/changesetsChanged", "chat/changesetsChanged"],
            ..NOTHING
        },
    ),
    absent(
        "without-session-count",
        "The number of active sessions is not sent.",
        MEMBER,
        &AbsentFeature {
            members: &[("RootState", "activeSessions")],
            actions: &["root/activeSessionsChanged"],
            ..NOTHING
        },
    ),
    absent(
        "without-server-tools",
        "Sessions do not list the tools of the host.",
        MEMBER,
        &AbsentFeature {
            members: &[("SessionState", "serverTools")],
            actions: &["session/serverToolsChanged"],
            ..NOTHING
        },
    ),
    absent(
        "without-background-work",
        "Chats do not list their background work.",
        MEMBER,
        &AbsentFeature {
            members: &[("ChatState", "backgroundWork")],
            actions: &["chat/backgroundWorkSet", "chat/backgroundWorkRemoved"],
            ..NOTHING
        },
    ),
    absent(
        "without-canvases",
        "Chats list no canvases.",
        MEMBER,
        &AbsentFeature {
            members: &[("ChatState", "canvases")],
            actions: &["chat/canvasesChanged"],
            ..NOTHING
        },
    ),
    absent(
        "without-progress",
        "No progress is reported.",
        "A client only offers to receive progress; no rule requires that a host sends it.",
        &AbsentFeature { notifications: &["root/progress"], ..NOTHING },
    ),
    absent(
        "without-metadata",
        "Sessions, their summaries, chats and the root have no `_meta`.",
        MEMBER,
        &AbsentFeature {
            members: &[
                ("SessionState", "_meta"),
                ("SessionSummary", "_meta"),
                ("PartialSessionSummary", "_meta"),
                ("ChatState", "_meta"),
                ("RootState", "_meta"),
                ("InitializeResult", "_meta"),
            ],
            actions: &["session/metaChanged"],
            ..NOTHING
        },
    ),
];
