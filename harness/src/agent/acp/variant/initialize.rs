//! Variants of the handshake and of the first state of a session.
//!
//! Knows: `initialize`, `session/new`. Never knows: prompts.

use crate::wire::json::{Map, Value, json};

use super::rewriting::{AgentVariant, MessageFlow, VariantLink, session_of, success, updating};
use super::row::{AgentVariantRow, INITIALIZE, offering_less, row};

/// Changes the result of every request of one method.
struct ChangedResult {
    method: &'static str,
    change: fn(&mut Map),
}

impl ChangedResult {
    fn of_initialize(change: fn(&mut Map)) -> Box<dyn AgentVariant> {
        Box::new(ChangedResult { method: "initialize", change })
    }
}

impl AgentVariant for ChangedResult {
    fn on_agent_message(
        &mut self,
        link: &VariantLink<'_>,
        mut message: Value,
        flow: &mut MessageFlow,
    ) {
        if link.answers == Some(self.method) {
            let result = message.get_mut("result").and_then(Value::as_object_mut);
            result.into_iter().for_each(self.change);
        }
        flow.to_client.push(message);
    }
}

/// A method with its result.
type AddedMethod = (&'static str, fn() -> Value);

/// Answers methods that the reference agent does not have.
struct MoreMethods {
    result: ChangedResult,
    methods: &'static [AddedMethod],
}

impl AgentVariant for MoreMethods {
    fn on_client_message(&mut self, _: &VariantLink<'_>, message: Value, flow: &mut MessageFlow) {
        let known = self.methods.iter().find(|(method, _)| message["method"] == *method);
        match (known, message.get("id")) {
            (Some((_, result)), Some(id)) => flow.to_client.push(success(id, result())),
            _ => flow.to_agent.push(message),
        }
    }

    fn on_agent_message(&mut self, link: &VariantLink<'_>, message: Value, flow: &mut MessageFlow) {
        self.result.on_agent_message(link, message, flow);
    }
}

/// Also supports version 2, and answers with it if the client requests a later version than 1.
#[derive(Default)]
struct SpeaksTwo {
    later: bool,
}

impl AgentVariant for SpeaksTwo {
    fn on_client_message(&mut self, _: &VariantLink<'_>, message: Value, flow: &mut MessageFlow) {
        if message["method"] == "initialize" {
            self.later = message["params"]["protocolVersion"].as_u64().is_some_and(|it| it > 1);
        }
        flow.to_agent.push(message);
    }

    fn on_agent_message(
        &mut self,
        link: &VariantLink<'_>,
        mut message: Value,
        flow: &mut MessageFlow,
    ) {
        if link.answers == Some("initialize") && self.later {
            message["result"]["protocolVersion"] = json!(2);
        }
        flow.to_client.push(message);
    }
}

/// The methods whose results list the modes and options of a session.
const BEGINNINGS: [&str; 3] = ["session/new", "session/load", "session/resume"];

/// Offers neither modes nor options of sessions.
struct NothingToSet;

impl AgentVariant for NothingToSet {
    fn on_client_message(&mut self, _: &VariantLink<'_>, message: Value, flow: &mut MessageFlow) {
        let sets = matches!(
            message["method"].as_str(),
            Some("session/set_mode" | "session/set_config_option")
        );
        match message.get("id").filter(|_| sets) {
            Some(id) => flow.to_client.push(json!({
                "jsonrpc": "2.0", "id": (id.clone()),
                "error": {"code": (-32601), "message": "there is nothing to set"},
            })),
            None => flow.to_agent.push(message),
        }
    }

    fn on_agent_message(
        &mut self,
        link: &VariantLink<'_>,
        mut message: Value,
        flow: &mut MessageFlow,
    ) {
        let told = message["params"]["update"]["sessionUpdate"].as_str();
        if matches!(told, Some("current_mode_update" | "config_option_update")) {
            return;
        }
        let begins = link.answers.is_some_and(|method| BEGINNINGS.contains(&method));
        if let Some(result) = message.get_mut("result").filter(|_| begins)
            && let Some(result) = result.as_object_mut()
        {
            result.remove("modes");
            result.remove("configOptions");
        }
        flow.to_client.push(message);
    }
}

/// Puts the values of options into groups.
struct GroupedOptions;

impl AgentVariant for GroupedOptions {
    fn on_agent_message(
        &mut self,
        _: &VariantLink<'_>,
        mut message: Value,
        flow: &mut MessageFlow,
    ) {
        for pointer in ["/result/configOptions", "/params/update/configOptions"] {
            let options = message.pointer_mut(pointer).and_then(Value::as_array_mut);
            for option in options.into_iter().flatten().filter(|option| option["type"] == "select")
            {
                let values = option["options"].clone();
                option["options"] = json!([{"group": "all", "name": "All", "options": values}]);
            }
        }
        flow.to_client.push(message);
    }
}

/// Reports the mode again at the start of each turn.
#[derive(Default)]
struct ModesAgain {
    modes: std::collections::HashMap<String, String>,
}

impl AgentVariant for ModesAgain {
    fn on_client_message(&mut self, _: &VariantLink<'_>, message: Value, flow: &mut MessageFlow) {
        let session = session_of(&message).to_owned();
        if let Some(mode) = message["params"]["modeId"].as_str() {
            self.modes.insert(session.clone(), mode.to_owned());
        }
        let mode = self.modes.get(&session).filter(|_| message["method"] == "session/prompt");
        if let Some(mode) = mode {
            let update =
                json!({"sessionUpdate": "current_mode_update", "currentModeId": (mode.as_str())});
            flow.to_client.push(updating(&session, update));
        }
        flow.to_agent.push(message);
    }
}

fn all_capabilities() -> Value {
    json!({
        "loadSession": true,
        "promptCapabilities": {"image": true, "audio": true, "embeddedContext": true},
        "mcpCapabilities": {"http": true, "sse": true},
        "sessionCapabilities": {
            "list": {}, "delete": {}, "additionalDirectories": {}, "resume": {}, "close": {},
        },
        "auth": {"logout": {}},
    })
}

/// Adds a declaration about MCP to the result of `initialize`.
fn declare_mcp(result: &mut Map, declared: Value) {
    if let Some(capabilities) = result.get_mut("agentCapabilities").and_then(Value::as_object_mut) {
        capabilities.insert("mcpCapabilities", declared);
    }
}

const CAPABILITY: &str =
    "`agentCapabilities` and its members are optional; a missing capability is not offered.";
const MODES: &str = "`modes` and `configOptions` are optional in the answer to `session/new`.";
const NEW_SESSION: &str = "schema v1 › NewSessionResponse";

/// The variants of capabilities, authentication, versions, modes and options.
pub(super) const ROWS: &[AgentVariantRow] = &[
    row(
        "without-capabilities",
        "The answer to `initialize` has no `agentCapabilities`.",
        CAPABILITY,
        INITIALIZE,
        || {
            ChangedResult::of_initialize(|result| {
                result.remove("agentCapabilities");
            })
        },
    ),
    row(
        "empty-capabilities",
        "`agentCapabilities` is an empty object.",
        CAPABILITY,
        INITIALIZE,
        || {
            ChangedResult::of_initialize(|result| {
                result.insert("agentCapabilities", json!({}));
            })
        },
    ),
    row(
        "empty-kinds-of-capabilities",
        "Each kind of capability is an empty object.",
        CAPABILITY,
        INITIALIZE,
        || {
            ChangedResult::of_initialize(|result| {
                let empty = json!({
                    "promptCapabilities": {}, "mcpCapabilities": {}, "sessionCapabilities": {}, "auth": {},
                });
                result.insert("agentCapabilities", empty);
            })
        },
    ),
    row(
        "all-capabilities",
        "Every capability of version 1 is offered, and its methods are served.",
        "Each capability is an optional member with a type of its own.",
        INITIALIZE,
        || {
            Box::new(MoreMethods {
                result: ChangedResult {
                    method: "initialize",
                    change: |result| {
                        result.insert("agentCapabilities", all_capabilities());
                    },
                },
                methods: &[("logout", || json!({}))],
            })
        },
    ),
    offering_less(row(
        "no-mcp-over-http",
        "The agent connects to MCP servers only over standard input and output.",
        "MCP over HTTP and over SSE are capabilities that an agent may declare.",
        INITIALIZE,
        || ChangedResult::of_initialize(|result| declare_mcp(result, json!({}))),
    )),
    offering_less(row(
        "mcp-over-http-alone",
        "MCP over HTTP is declared and MCP over SSE is not.",
        "MCP over HTTP and over SSE are separate capabilities.",
        INITIALIZE,
        || ChangedResult::of_initialize(|result| declare_mcp(result, json!({"http": true}))),
    )),
    offering_less(row(
        "mcp-over-sse-alone",
        "MCP over SSE is declared and MCP over HTTP is not.",
        "MCP over HTTP and over SSE are separate capabilities.",
        INITIALIZE,
        || {
            ChangedResult::of_initialize(|result| {
                declare_mcp(result, json!({"http": false, "sse": true}))
            })
        },
    )),
    row(
        "without-introductions-of-agents",
        "The agent sends no name and no version.",
        "`agentInfo` is optional and may be null.",
        INITIALIZE,
        || {
            ChangedResult::of_initialize(|result| {
                result.remove("agentInfo");
            })
        },
    ),
    row(
        "short-introductions",
        "The agent sends an empty version and no title.",
        "`name` and `version` are strings; `title` is optional.",
        "schema v1 › Implementation",
        || {
            ChangedResult::of_initialize(|result| {
                result.insert("agentInfo", json!({"name": "a", "version": ""}));
            })
        },
    ),
    row(
        "bare-handshake",
        "The answer to `initialize` has the version and nothing else.",
        "Only `protocolVersion` is required.",
        INITIALIZE,
        || {
            ChangedResult::of_initialize(|result| {
                result.retain(|name, _| name == "protocolVersion")
            })
        },
    ),
    row(
        "ways-to-authenticate",
        "Two authentication methods are offered; sessions need none.",
        "`authMethods` lists the available methods; a session is refused only by the error -32000.",
        INITIALIZE,
        || {
            Box::new(MoreMethods {
                result: ChangedResult {
                    method: "initialize",
                    change: |result| {
                        let methods = json!([
                            {"id": "key", "name": "A key", "description": null},
                            {"id": "browser", "name": "Log in", "description": "Opens a browser"},
                        ]);
                        result.insert("authMethods", methods);
                    },
                },
                methods: &[("authenticate", || json!({}))],
            })
        },
    ),
    row(
        "speaks-the-next-version",
        "A version later than 1 is answered with 2.",
        "The agent answers an unknown version with the latest version that it supports.",
        "agentclientprotocol.com, protocol v1 › initialization",
        || Box::new(SpeaksTwo::default()),
    ),
    offering_less(row(
        "nothing-to-set",
        "Sessions have neither modes nor options.",
        MODES,
        NEW_SESSION,
        || Box::new(NothingToSet),
    )),
    row(
        "options-in-groups",
        "The values of options are in groups.",
        "`options` of an option is a list of values, or of groups of values.",
        "schema v1 › SessionConfigSelectOptions",
        || Box::new(GroupedOptions),
    ),
    row(
        "modes-told-again",
        "Each turn begins with an update of the current mode.",
        "`current_mode_update` may come at any time.",
        "agentclientprotocol.com, protocol v1 › session modes",
        || Box::<ModesAgain>::default(),
    ),
];
