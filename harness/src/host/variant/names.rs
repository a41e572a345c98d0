//! Variants of the names that a host chooses: URIs, ids, models, agents.
//!
//! Knows: the places of names in messages. Never knows: the meaning of names.

use std::collections::{HashMap, HashSet};

use crate::wire::json::{Value, json};
use crate::wire::version::Version;

use super::super::configuration::{PROVIDER, has_provider};
use super::row::{OPTIONAL, VariantRow, offering_less, row, since};
use crate::host::chain::{MessageLink, MessageRewriter, RewriterOutput};
use crate::wire::spelling::walk;

/// Changes the form of URIs that the host chooses.
struct RenamedUris {
    /// The prefix of the URIs whose form is changed.
    prefix: &'static str,
    /// A function that returns another form of the part after the prefix.
    form: fn(&str) -> String,
    /// The URIs that clients have chosen, which are not changed.
    chosen: HashSet<String>,
    names: NameMap,
}

/// The names that the host chose and the names that replace them, for translation in both directions.
#[derive(Default)]
struct NameMap {
    there: HashMap<String, String>,
    back: HashMap<String, String>,
}

/// The maximum number of remembered names. Further names are not changed.
const MOST_NAMES: usize = 100_000;

impl NameMap {
    fn insert(&mut self, name: &str, other: String) {
        if self.there.len() < MOST_NAMES && !self.there.contains_key(name) {
            self.back.insert(other.clone(), name.to_owned());
            self.there.insert(name.to_owned(), other);
        }
    }
}

/// Replaces strings at any depth of a message, but not the names of members: `visit` returns the replacement of a
/// string, or `None`.
fn replace(message: &mut Value, visit: &mut dyn FnMut(&str) -> Option<String>) {
    walk(message, &mut |value| {
        if let Value::String(text) = value
            && let Some(other) = visit(text)
        {
            *value = Value::from(other);
        }
    });
}

impl MessageRewriter for RenamedUris {
    fn edit_client_message(&mut self, _: &MessageLink<'_>, message: &mut Value) -> Option<Value> {
        let RenamedUris { prefix, chosen, names, .. } = self;
        replace(message, &mut |text| {
            if text.starts_with(*prefix) && !names.there.contains_key(text) {
                chosen.insert(text.to_owned());
            }
            names.back.get(text).cloned()
        });
        None
    }

    fn on_host_message(
        &mut self,
        _: &MessageLink<'_>,
        mut message: Value,
        out: &mut RewriterOutput,
    ) {
        let RenamedUris { prefix, form, chosen, names } = self;
        replace(&mut message, &mut |text| {
            let rest = text.strip_prefix(*prefix).filter(|rest| !rest.starts_with('/'))?;
            if chosen.contains(text) {
                return None;
            }
            names.insert(text, form(rest));
            names.there.get(text).cloned()
        });
        out.send(message);
    }
}

impl RenamedUris {
    fn new(prefix: &'static str, form: fn(&str) -> String) -> RenamedUris {
        RenamedUris { prefix, form, chosen: HashSet::new(), names: NameMap::default() }
    }
}

fn uris(prefix: &'static str, form: fn(&str) -> String) -> Box<dyn MessageRewriter> {
    Box::new(RenamedUris::new(prefix, form))
}

/// Changes the form of chat URIs, and rejects requests that name a chat in any other form.
struct StrictChats {
    renamed: RenamedUris,
    /// The prefix of the URIs in the changed form.
    begin: &'static str,
}

impl MessageRewriter for StrictChats {
    fn edit_client_message(
        &mut self,
        link: &MessageLink<'_>,
        message: &mut Value,
    ) -> Option<Value> {
        let chat = message["params"]["chat"].as_str().filter(|it| !it.starts_with(self.begin));
        if let Some(chat) = chat.filter(|_| message["method"] == "createChat") {
            let text = format!("expected a chat URI that begins with {}, found {chat}", self.begin);
            let error = json!({"code": -32602, "message": text});
            return Some(
                json!({"jsonrpc": "2.0", "id": message.get("id")?.clone(), "error": error}),
            );
        }
        self.renamed.edit_client_message(link, message)
    }

    fn on_host_message(
        &mut self,
        link: &MessageLink<'_>,
        message: Value,
        out: &mut RewriterOutput,
    ) {
        self.renamed.on_host_message(link, message, out);
    }
}

fn strict_chats() -> Box<dyn MessageRewriter> {
    const BEGIN: &str = "ahp-chat://host/";
    let renamed = RenamedUris::new("ahp-chat:/", |rest| format!("{BEGIN}{rest}"));
    Box::new(StrictChats { renamed, begin: BEGIN })
}

/// Changes the form of the names that certain members contain, and of the same names everywhere else.
struct RenamedMembers {
    /// The members that contain the names: for each, the name of a type or action, and the name of the member.
    members: &'static [(&'static str, &'static str)],
    /// The prefix and the suffix that are added to a name.
    around: (&'static str, &'static str),
    /// The names that the host has sent so far.
    known: HashSet<String>,
}

impl MessageRewriter for RenamedMembers {
    fn edit_client_message(&mut self, _: &MessageLink<'_>, message: &mut Value) -> Option<Value> {
        // The client may know the name from an earlier connection, so the name is recognised by its prefix and suffix.
        let (begin, end) = self.around;
        replace(message, &mut |text| {
            text.strip_prefix(begin)?.strip_suffix(end).map(str::to_owned)
        });
        None
    }

    fn on_host_message(
        &mut self,
        link: &MessageLink<'_>,
        mut message: Value,
        out: &mut RewriterOutput,
    ) {
        let RenamedMembers { members, around: (begin, end), known } = self;
        link.visit_records(&mut message, &mut |type_name, object| {
            for (_, member) in members.iter().filter(|(of, _)| *of == type_name) {
                if let Some(name) = object.get(member).and_then(Value::as_str)
                    && known.len() < MOST_NAMES
                {
                    known.insert(name.to_owned());
                }
            }
        });
        replace(&mut message, &mut |text| {
            known.contains(text).then(|| format!("{begin}{text}{end}"))
        });
        out.send(message);
    }
}

fn members(
    members: &'static [(&'static str, &'static str)],
    around: (&'static str, &'static str),
) -> Box<dyn MessageRewriter> {
    Box::new(RenamedMembers { members, around, known: HashSet::new() })
}

/// Changes every list of agents.
struct AgentList {
    change: fn(&mut Vec<Value>),
    /// The provider that the variant sets in a request for a session without a provider; `None` leaves the choice to
    /// the host.
    default: Option<&'static str>,
}

/// Requests about a session that does not exist yet, which therefore name the provider of the session.
const WITH_PROVIDER: [&str; 3] =
    ["createSession", "resolveSessionConfig", "sessionConfigCompletions"];
/// The provider of the reference host's agent that has no capabilities.
const SIMPLE: &str = "single";

/// Hides the other agents of the reference host. Agents that a script announces later remain.
fn keep_only(agents: &mut Vec<Value>, provider: &str) {
    let hidden = |name: &str| name != provider && has_provider(name);
    agents.retain(|agent| agent["provider"].as_str().is_none_or(|name| !hidden(name)));
}

/// The provider of an agent that requires a token.
const LOCKED: &str = "locked";
/// The provider of another agent that requires a token.
const ALSO_LOCKED: &str = "also-locked";

fn locked_resource() -> Value {
    json!({"resource": "https://locked.example/api", "required": true})
}

impl MessageRewriter for AgentList {
    fn edit_client_message(&mut self, _: &MessageLink<'_>, message: &mut Value) -> Option<Value> {
        let method = message["method"].as_str()?;
        if !WITH_PROVIDER.contains(&method) {
            return None;
        }
        let id = message.get("id").cloned();
        let params = message.get_mut("params").and_then(Value::as_object_mut)?;
        match params.get("provider").map(Value::as_str) {
            Some(Some(LOCKED | ALSO_LOCKED)) => {
                let data = json!({"resources": [locked_resource()]});
                let error = json!({"code": -32007, "message": "log in first", "data": data});
                return Some(json!({"jsonrpc": "2.0", "id": id?, "error": error}));
            }
            Some(_) => {}
            None => {
                if let Some(provider) = self.default {
                    params.insert("provider", json!(provider));
                }
            }
        }
        None
    }

    fn on_host_message(
        &mut self,
        link: &MessageLink<'_>,
        mut message: Value,
        out: &mut RewriterOutput,
    ) {
        link.visit_records(&mut message, &mut |name, object| {
            if matches!(name, "RootState" | "root/agentsChanged")
                && let Some(agents) = object.get_mut("agents").and_then(Value::as_array_mut)
            {
                (self.change)(agents);
            }
        });
        out.send(message);
    }
}

fn agents(change: fn(&mut Vec<Value>), default: Option<&'static str>) -> Box<dyn MessageRewriter> {
    Box::new(AgentList { change, default })
}

/// Puts an agent that requires a token at this position, unless the list already contains the agent. The list may
/// contain it because a client may have copied the list from a snapshot.
fn insert_locked(agents: &mut Vec<Value>, at: usize, provider: &str) {
    if agents.iter().all(|agent| agent["provider"] != provider) {
        agents.insert(at, locked_agent(provider));
    }
}

fn locked_agent(provider: &str) -> Value {
    json!({
        "provider": provider,
        "displayName": "An agent that needs a login",
        "description": "",
        "models": [],
        "protectedResources": [locked_resource()],
    })
}

const URIS: &str = "docs/specification/subscriptions.md › URIs";
const OWN: &str = "The host is free to choose the authority and the path of its URIs.";
const OPAQUE: &str = "Ids are opaque strings.";
const TYPES: &str = "the types of each version";
const AGENTS: &str = "Which agents a host has, and their order, is not specified.";
const ROOT_STATE: &str = "docs/specification/root-channel.md › State";

/// The variants of URIs, ids, models and agents.
pub(super) const ROWS: &[VariantRow] = &[
    since(
        Version::V0_4,
        row(
            "chats-with-authority",
            "Default chats are named `ahp-chat://default/…`.",
            OWN,
            URIS,
            || uris("ahp-chat:/", |rest| format!("ahp-chat://default/{rest}")),
        ),
    ),
    since(
        Version::V0_4,
        row(
            "chats-in-one-form-only",
            "Chats are named `ahp-chat://host/…`; other names that a client chooses are rejected.",
            "The specification does not say which URIs of a client `createChat` accepts.",
            URIS,
            strict_chats,
        ),
    ),
    since(
        Version::V0_4,
        row(
            "chats-named-by-session",
            "Default chats are named `ahp-chat://<id>/<base64 of the session>`.",
            OWN,
            URIS,
            || uris("ahp-chat:/", |rest| format!("ahp-chat://{rest}/YWhwLXNlc3Npb246L2E_Yj1j")),
        ),
    ),
    since(
        Version::V0_2,
        row(
            "terminals-with-authority",
            "Terminals that the host opens are named `ahp-terminal://shell/…`.",
            OWN,
            URIS,
            || uris("ahp-terminal:/", |rest| format!("ahp-terminal://shell/{rest}")),
        ),
    ),
    since(
        Version::V0_4,
        row(
            "changesets-with-authority",
            "Changesets are named `ahp-changeset://git/…?view=1`.",
            OWN,
            URIS,
            || uris("ahp-changeset:/", |rest| format!("ahp-changeset://git/{rest}?view=1")),
        ),
    ),
    row(
        "ids-of-other-alphabets",
        "Ids of tool calls, parts and questions have letters outside ASCII, spaces and slashes.",
        OPAQUE,
        TYPES,
        || {
            members(
                &[
                    ("chat/toolCallStart", "toolCallId"),
                    ("session/toolCallStart", "toolCallId"),
                    ("ToolCallStreamingState", "toolCallId"),
                    ("ToolCallPendingConfirmationState", "toolCallId"),
                    ("ToolCallRunningState", "toolCallId"),
                    ("ToolCallCompletedState", "toolCallId"),
                    ("ToolCallCancelledState", "toolCallId"),
                    ("ChatOrigin", "toolCallId"),
                    ("MarkdownResponsePart", "id"),
                    ("ReasoningResponsePart", "id"),
                    ("ChatInputRequest", "id"),
                ],
                ("\u{03c9}/", " \u{1f511}#?%2F"),
            )
        },
    ),
    row(
        "models-of-a-vendor",
        "Models have ids such as `vendor/script-1:latest`.",
        OPAQUE,
        TYPES,
        || members(&[("SessionModelInfo", "id")], ("vendor/", ":latest")),
    ),
    since(
        Version::V0_2,
        row("agents-of-a-vendor", "Agents have other names.", OPAQUE, TYPES, || {
            const PROVIDERS: &[(&str, &str)] = &[
                ("AgentInfo", "provider"),
                ("SessionState", "provider"),
                ("SessionSummary", "provider"),
            ];
            members(PROVIDERS, ("vendor-", ""))
        }),
    ),
    row(
        "agents-reversed",
        "The first agent of the reference host comes last.",
        AGENTS,
        ROOT_STATE,
        || agents(|list| list.reverse(), None),
    ),
    offering_less(row("one-agent", "The host has one agent.", AGENTS, ROOT_STATE, || {
        agents(|list| keep_only(list, PROVIDER), None)
    })),
    since(
        Version::V0_2,
        offering_less(row(
            "one-simple-agent",
            "The host has one agent, with one chat for each session and no capabilities.",
            AGENTS,
            ROOT_STATE,
            || agents(|list| keep_only(list, SIMPLE), Some(SIMPLE)),
        )),
    ),
    row(
        "a-locked-agent-first",
        "The first agent needs a token that the client does not have.",
        "An agent may have `protectedResources`; the order of agents is not specified.",
        OPTIONAL,
        || agents(|list| insert_locked(list, 0, LOCKED), None),
    ),
    row(
        "a-locked-agent-last",
        "The last agent needs a token that the client does not have.",
        "An agent may have `protectedResources`; the order of agents is not specified.",
        OPTIONAL,
        || agents(|list| insert_locked(list, list.len(), ALSO_LOCKED), None),
    ),
];
