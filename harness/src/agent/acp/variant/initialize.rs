//! Variants of the handshake and of what a session begins with.
//!
//! Knows: `initialize`, `session/new`. Never knows: prompts.

use crate::wire::json::{Map, Value, json};

use super::catalogue::{AgentVariantRow, INITIALIZE, row};
use super::{AgentLink, AgentVariant, MessageFlow, session_of, success, updating};

/// Changes the result of a method.
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
        link: &AgentLink<'_>,
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

/// A method, and what it is answered with.
type AddedMethod = (&'static str, fn() -> Value);

/// Answers methods that the reference agent does not have.
struct MoreMethods {
    result: ChangedResult,
    methods: &'static [AddedMethod],
}

impl AgentVariant for MoreMethods {
    fn on_client_message(&mut self, _: &AgentLink<'_>, message: Value, flow: &mut MessageFlow) {
        let known = self.methods.iter().find(|(method, _)| message["method"] == *method);
        match (known, message.get("id")) {
            (Some((_, result)), Some(id)) => flow.to_client.push(success(id, result())),
            _ => flow.to_agent.push(message),
        }
    }

    fn on_agent_message(&mut self, link: &AgentLink<'_>, message: Value, flow: &mut MessageFlow) {
        self.result.on_agent_message(link, message, flow);
    }
}

/// Also speaks version 2: answers with it where a later version than 1 is asked for.
#[derive(Default)]
struct SpeaksTwo {
    later: bool,
}

impl AgentVariant for SpeaksTwo {
    fn on_client_message(&mut self, _: &AgentLink<'_>, message: Value, flow: &mut MessageFlow) {
        if message["method"] == "initialize" {
            self.later = message["params"]["protocolVersion"].as_u64().is_some_and(|it| it > 1);
        }
        flow.to_agent.push(message);
    }

    fn on_agent_message(
        &mut self,
        link: &AgentLink<'_>,
        mut message: Value,
        flow: &mut MessageFlow,
    ) {
        if link.answers == Some("initialize") && self.later {
            message["result"]["protocolVersion"] = json!(2);
        }
        flow.to_client.push(message);
    }
}

fn modes() -> Value {
    json!({
        "currentModeId": "ask",
        "availableModes": [
            {"id": "ask", "name": "Ask", "description": "Asks before tools run"},
            {"id": "code", "name": "Code"},
        ],
    })
}

fn options(booleans: bool) -> Value {
    let model = json!({
        "id": "model", "name": "Model", "category": "model", "type": "select", "currentValue": "small",
        "options": [{"value": "small", "name": "Small"}, {"value": "large", "name": "Large"}],
    });
    let effort = json!({
        "id": "effort", "name": "Effort", "category": "_vendor", "type": "select", "currentValue": "low",
        "options": [
            {"group": "usual", "name": "Usual", "options": [{"value": "low", "name": "Low"}]},
            {"group": "more", "name": "More", "options": [{"value": "high", "name": "High"}]},
        ],
    });
    let loud = json!({"id": "loud", "name": "Loud", "type": "boolean", "currentValue": false});
    let mut all = vec![model, effort];
    all.extend(booleans.then_some(loud));
    Value::Array(all)
}

/// Offers a setting of sessions and reports a change of it in the middle of a turn. The functions get whether the
/// client offers boolean options.
struct OfferedSetting {
    /// The request that changes the setting, and its result.
    method: &'static str,
    result: fn(bool) -> Value,
    /// The name and the value of the member that is added to the result of `session/new`.
    member: &'static str,
    value: fn(bool) -> Value,
    /// The update in a turn.
    update: fn(bool) -> Value,
}

const CONFIG_OPTIONS: OfferedSetting = OfferedSetting {
    method: "session/set_config_option",
    result: |booleans| json!({"configOptions": (options(booleans))}),
    member: "configOptions",
    value: options,
    update: |booleans| json!({"sessionUpdate": "config_option_update", "configOptions": (options(booleans))}),
};

const SESSION_MODES: OfferedSetting = OfferedSetting {
    method: "session/set_mode",
    result: |_| json!({}),
    member: "modes",
    value: |_| modes(),
    update: |_| json!({"sessionUpdate": "current_mode_update", "currentModeId": "code"}),
};

impl AgentVariant for OfferedSetting {
    fn on_client_message(&mut self, link: &AgentLink<'_>, message: Value, flow: &mut MessageFlow) {
        let booleans = link.offered(BOOLEANS);
        match (message["method"].as_str(), message.get("id")) {
            (Some(method), Some(id)) if method == self.method => {
                flow.to_client.push(success(id, (self.result)(booleans)));
            }
            (Some("session/prompt"), _) => {
                let update = (self.update)(booleans);
                flow.to_client.push(updating(session_of(&message), update));
                flow.to_agent.push(message);
            }
            _ => flow.to_agent.push(message),
        }
    }

    fn on_agent_message(
        &mut self,
        link: &AgentLink<'_>,
        mut message: Value,
        flow: &mut MessageFlow,
    ) {
        if link.answers == Some("session/new") && message.get("result").is_some() {
            message["result"][self.member] = (self.value)(link.offered(BOOLEANS));
        }
        flow.to_client.push(message);
    }
}

/// Where a client says that it shows boolean options, in its capabilities.
const BOOLEANS: &str = "/session/configOptions/boolean";

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

const CAPABILITY: &str =
    "`agentCapabilities` and its members are optional; a missing one is not offered.";
const MODES: &str = "`modes` and `configOptions` are optional in the answer to `session/new`.";
const NEW_SESSION: &str = "schema v1 › NewSessionResponse";

/// Capabilities, authentication, versions, modes, options.
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
                methods: &[
                    ("session/list", || json!({"sessions": []})),
                    ("session/load", || json!({})),
                    ("session/resume", || json!({})),
                    ("session/close", || json!({})),
                    ("session/delete", || json!({})),
                    ("logout", || json!({})),
                ],
            })
        },
    ),
    row(
        "without-introductions-of-agents",
        "The agent tells no name and no version.",
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
        "The agent tells an empty version and no title.",
        "`name` and `version` are texts; `title` is optional.",
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
        "Two ways to authenticate are offered; sessions need none.",
        "`authMethods` lists what there is; a session is only refused where -32000 says so.",
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
        "The agent answers an unknown version with the latest that it supports.",
        "agentclientprotocol.com, protocol v1 › initialization",
        || Box::new(SpeaksTwo::default()),
    ),
    row("modes", "Sessions have modes, and each turn tells the mode.", MODES, NEW_SESSION, || {
        Box::new(SESSION_MODES)
    }),
    row(
        "config-options",
        "Sessions have options, also grouped ones and, where the client offers that, boolean ones; each turn tells them.",
        MODES,
        NEW_SESSION,
        || Box::new(CONFIG_OPTIONS),
    ),
];
