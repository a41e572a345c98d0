//! Variants of unsolicited messages of an agent: message chunks, plans, commands, usage, notices, extension methods.
//!
//! Knows: updates, the capabilities of the client. Never knows: tool calls.

use std::collections::HashSet;

use crate::wire::json::{Value, json};

use super::rewriting::{
    AgentVariant, CallReportKind, MessageFlow, OpenPrompts, VariantLink, chunk, chunk_of, key,
    session_of, told_call, updating,
};
use super::row::{AgentVariantRow, EXTENSIONS, RPC, TURN, UPDATE, row};

/// The time of an additional update.
#[derive(Clone, Copy, Eq, PartialEq)]
enum UpdateMoment {
    /// Immediately after the response to `session/new`.
    AfterSession,
    /// At the start of a turn.
    Start,
    /// Before each update of a turn.
    BeforeUpdates,
    /// Immediately before the response to the prompt.
    End,
    /// Immediately after a response whose stop reason is not `cancelled`.
    AfterTurn,
}

/// Sends updates that the turn does not need.
struct MoreUpdates {
    moment: UpdateMoment,
    /// The capability that the client needs, as a JSON pointer; `None` for every client.
    needs: Option<&'static str>,
    make: fn() -> Vec<Value>,
    prompts: OpenPrompts,
}

impl MoreUpdates {
    fn at(moment: UpdateMoment, make: fn() -> Vec<Value>) -> Box<dyn AgentVariant> {
        Box::new(MoreUpdates { moment, needs: None, make, prompts: OpenPrompts::default() })
    }

    fn needing(needs: &'static str, make: fn() -> Vec<Value>) -> Box<dyn AgentVariant> {
        let (moment, prompts) = (UpdateMoment::BeforeUpdates, OpenPrompts::default());
        Box::new(MoreUpdates { moment, needs: Some(needs), make, prompts })
    }

    fn say(&self, link: &VariantLink<'_>, session: &str, flow: &mut MessageFlow) {
        if self.needs.is_none_or(|needs| link.offered(needs)) {
            let updates = (self.make)().into_iter();
            flow.to_client.extend(updates.map(|update| updating(session, update)));
        }
    }
}

impl AgentVariant for MoreUpdates {
    fn on_client_message(
        &mut self,
        link: &VariantLink<'_>,
        message: Value,
        flow: &mut MessageFlow,
    ) {
        if let Some(session) = self.prompts.heard(&message)
            && self.moment == UpdateMoment::Start
        {
            self.say(link, &session, flow);
        }
        flow.to_agent.push(message);
    }

    fn on_agent_message(&mut self, link: &VariantLink<'_>, message: Value, flow: &mut MessageFlow) {
        let ended = self.prompts.ended(link, &message);
        let done = message["result"]["stopReason"].as_str().is_some_and(|it| it != "cancelled");
        let made = message["result"]["sessionId"].as_str().map(str::to_owned);
        let made = made.filter(|_| link.answers == Some("session/new"));
        let (before, after) = match self.moment {
            UpdateMoment::AfterSession => (None, made),
            UpdateMoment::Start => (None, None),
            UpdateMoment::BeforeUpdates => {
                let update = message["method"] == "session/update";
                let session = update.then(|| session_of(&message).to_owned());
                (session.filter(|session| self.prompts.is_open(session)), None)
            }
            UpdateMoment::End => (ended.filter(|_| message.get("result").is_some()), None),
            UpdateMoment::AfterTurn => (None, ended.filter(|_| done)),
        };
        before.into_iter().for_each(|session| self.say(link, &session, flow));
        flow.to_client.push(message);
        after.into_iter().for_each(|session| self.say(link, &session, flow));
    }
}

/// Sends requests that the agent does not need, and ignores the responses.
struct MoreRequests {
    needs: Option<&'static str>,
    make: fn(&str) -> (&'static str, Value),
    open: HashSet<String>,
    count: u64,
    name: &'static str,
}

impl MoreRequests {
    fn named(
        name: &'static str,
        needs: Option<&'static str>,
        make: fn(&str) -> (&'static str, Value),
    ) -> Box<dyn AgentVariant> {
        Box::new(MoreRequests { needs, make, open: HashSet::new(), count: 0, name })
    }
}

impl AgentVariant for MoreRequests {
    fn on_client_message(
        &mut self,
        link: &VariantLink<'_>,
        message: Value,
        flow: &mut MessageFlow,
    ) {
        let response = message.get("method").is_none();
        if message.get("id").is_some_and(|id| response && self.open.remove(&key(id))) {
            return;
        }
        let prompt = message["method"] == "session/prompt";
        if prompt && self.needs.is_none_or(|needs| link.offered(needs)) {
            self.count += 1;
            let id = json!(format!("{}-{}", self.name, self.count));
            self.open.insert(key(&id));
            let (method, params) = (self.make)(session_of(&message));
            let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
            flow.to_client.push(request);
        }
        flow.to_agent.push(message);
    }
}

/// Sends an extension notification before each update.
struct AgentOwnNotifications(fn(&str) -> Value);

impl AgentVariant for AgentOwnNotifications {
    fn on_agent_message(&mut self, _: &VariantLink<'_>, message: Value, flow: &mut MessageFlow) {
        let update = message["method"] == "session/update";
        if update {
            flow.to_client.push((self.0)(session_of(&message)));
        }
        flow.to_client.push(message);
    }
}

/// Sends each character of a message in its own chunk.
struct SingleLetters;

impl AgentVariant for SingleLetters {
    fn on_agent_message(
        &mut self,
        _: &VariantLink<'_>,
        mut message: Value,
        flow: &mut MessageFlow,
    ) {
        let kind = "agent_message_chunk";
        match chunk_of(&mut message, kind) {
            Some(text) => {
                let session = session_of(&message).to_owned();
                let mut letters = text.chars();
                flow.to_client
                    .extend(letters.by_ref().map(|it| chunk(&session, kind, &it.to_string())));
            }
            None => flow.to_client.push(message),
        }
    }
}

/// Collects chunks of text until another message is sent, or [`LARGE`] is reached.
#[derive(Default)]
struct LargePieces {
    session: String,
    text: String,
}

/// The number of characters after which collected text is sent.
const LARGE: usize = 400;

impl LargePieces {
    fn give(&mut self, flow: &mut MessageFlow) {
        if !self.text.is_empty() {
            let text = std::mem::take(&mut self.text);
            flow.to_client.push(chunk(&self.session, "agent_message_chunk", &text));
        }
    }
}

impl AgentVariant for LargePieces {
    fn on_agent_message(
        &mut self,
        _: &VariantLink<'_>,
        mut message: Value,
        flow: &mut MessageFlow,
    ) {
        let Some(text) = chunk_of(&mut message, "agent_message_chunk") else {
            self.give(flow);
            return flow.to_client.push(message);
        };
        if self.session != session_of(&message) {
            self.give(flow);
            session_of(&message).clone_into(&mut self.session);
        }
        self.text.push_str(&text);
        if self.text.len() > LARGE {
            self.give(flow);
        }
    }
}

/// Changes the chunks of the agent's text.
struct ChangedChunks(fn(&mut Value));

impl AgentVariant for ChangedChunks {
    fn on_agent_message(
        &mut self,
        _: &VariantLink<'_>,
        mut message: Value,
        flow: &mut MessageFlow,
    ) {
        if chunk_of(&mut message, "agent_message_chunk").is_some() {
            (self.0)(&mut message["params"]["update"]);
        }
        flow.to_client.push(message);
    }
}

/// Sends a message that announces each tool call, before the first report of the call.
struct SpokenReports;

impl AgentVariant for SpokenReports {
    fn on_agent_message(
        &mut self,
        _: &VariantLink<'_>,
        mut message: Value,
        flow: &mut MessageFlow,
    ) {
        if let Some(call) = told_call(&mut message)
            && call.told == CallReportKind::First
        {
            let text = format!("Now: {}.", call.text("title"));
            flow.to_client.push(chunk(&call.session, "agent_message_chunk", &text));
        }
        flow.to_client.push(message);
    }
}

fn plan() -> Vec<Value> {
    vec![json!({
        "sessionUpdate": "plan",
        "entries": [
            {"content": "Read", "priority": "high", "status": "completed"},
            {"content": "Write", "priority": "low", "status": "in_progress"},
        ],
    })]
}

fn compaction() -> Vec<Value> {
    let text = json!({"type": "text", "text": "So far"});
    vec![
        json!({"sessionUpdate": "compaction_update", "compactionId": "c", "status": "in_progress"}),
        json!({"sessionUpdate": "compaction_summary_chunk", "compactionId": "c", "content": text}),
        json!({"sessionUpdate": "compaction_update", "compactionId": "c", "status": "completed"}),
    ]
}

fn contents() -> Vec<Value> {
    let each = |content: Value| json!({"sessionUpdate": "agent_message_chunk", "content": content});
    vec![
        each(
            json!({"type": "resource_link", "uri": "https://vendor.example/a", "name": "a", "size": 1}),
        ),
        each(
            json!({"type": "resource", "resource": {"uri": "vendor:a", "text": "a", "mimeType": "text/plain"}}),
        ),
        each(json!({"type": "image", "data": "AAAA", "mimeType": "image/png"})),
        each(json!({"type": "audio", "data": "AAAA", "mimeType": "audio/wav"})),
    ]
}

const KINDS: &str = "A turn may have updates of every kind of `SessionUpdate`, in any order.";
const CHUNKS: &str = "How a text is divided into chunks is not specified.";
const OFFERED: &str = "The client offers it.";
const OWN: &str = "Names that begin with `_` are reserved for custom methods.";

/// The variants of updates, messages, requests and notifications.
pub(super) const ROWS: &[AgentVariantRow] = &[
    row(
        "commands",
        "The commands are sent immediately after a session was created.",
        "`available_commands_update` may follow `session/new`.",
        UPDATE,
        || {
            MoreUpdates::at(UpdateMoment::AfterSession, || {
                let commands = json!([
                    {"name": "web", "description": "Searches", "input": {"hint": "what for"}},
                    {"name": "test", "description": "Runs the tests"},
                ]);
                vec![
                    json!({"sessionUpdate": "available_commands_update", "availableCommands": commands}),
                ]
            })
        },
    ),
    row("plans", "A plan is sent before each update.", KINDS, UPDATE, || {
        MoreUpdates::at(UpdateMoment::BeforeUpdates, plan)
    }),
    row(
        "empty-plans",
        "A plan without entries is sent at the start of each turn.",
        KINDS,
        UPDATE,
        || {
            MoreUpdates::at(UpdateMoment::Start, || {
                vec![json!({"sessionUpdate": "plan", "entries": []})]
            })
        },
    ),
    row(
        "usage",
        "The usage and its cost are sent before each prompt is answered.",
        KINDS,
        UPDATE,
        || {
            MoreUpdates::at(UpdateMoment::End, || {
                let cost = json!({"amount": 0.045, "currency": "USD"});
                vec![
                    json!({"sessionUpdate": "usage_update", "used": 53_000, "size": 200_000, "cost": cost}),
                ]
            })
        },
    ),
    row("titles-of-sessions", "The session is given a title in each turn.", KINDS, UPDATE, || {
        MoreUpdates::at(UpdateMoment::Start, || {
            let at = "2026-11-24T12:00:00Z";
            vec![
                json!({"sessionUpdate": "session_info_update", "title": "A title", "updatedAt": at}),
            ]
        })
    }),
    row(
        "titles-after-the-turn",
        "The session gets a title immediately after the answer to a prompt that was not cancelled.",
        "Updates outside of a turn are not forbidden, but for those of calls after a cancel.",
        TURN,
        || {
            MoreUpdates::at(UpdateMoment::AfterTurn, || {
                vec![json!({"sessionUpdate": "session_info_update", "title": "A title"})]
            })
        },
    ),
    row("thoughts", "A thought is sent before each update.", KINDS, UPDATE, || {
        MoreUpdates::at(UpdateMoment::BeforeUpdates, || {
            let text = json!({"type": "text", "text": "Hm."});
            vec![json!({"sessionUpdate": "agent_thought_chunk", "content": text})]
        })
    }),
    row("echoes", "The prompt is echoed as chunks of the user's message.", KINDS, UPDATE, || {
        MoreUpdates::at(UpdateMoment::Start, || {
            let text = json!({"type": "text", "text": "What you said"});
            vec![json!({"sessionUpdate": "user_message_chunk", "content": text})]
        })
    }),
    row(
        "contents-of-every-kind",
        "Each turn begins with a link, a resource, an image and a sound.",
        "A chunk contains a content block of any kind.",
        "schema v1 › ContentBlock",
        || MoreUpdates::at(UpdateMoment::Start, contents),
    ),
    row("notices", "Notices are sent to clients that offer them.", OFFERED, UPDATE, || {
        MoreUpdates::needing("/session/notices", || {
            vec![json!({"sessionUpdate": "notice", "severity": "info", "title": "Note"})]
        })
    }),
    row("compactions", "Compactions are sent to clients that offer them.", OFFERED, UPDATE, || {
        MoreUpdates::needing("/session/compaction", compaction)
    }),
    row(
        "elicits-where-offered",
        "Each turn sends an elicitation to clients that offer forms.",
        OFFERED,
        "schema v1 › CreateElicitationRequest",
        || {
            MoreRequests::named("elicits", Some("/elicitation/form"), |session| {
                let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}});
                let params = json!({
                    "sessionId": session, "mode": "form", "message": "Your name?",
                    "requestedSchema": schema,
                });
                ("elicitation/create", params)
            })
        },
    ),
    row("own-requests", "Each turn begins with an extension request.", OWN, EXTENSIONS, || {
        MoreRequests::named("own", None, |session| {
            ("_vendor.example/ask", json!({"sessionId": session}))
        })
    }),
    row(
        "own-notifications-of-agents",
        "An extension notification precedes each update.",
        OWN,
        EXTENSIONS,
        || {
            Box::new(AgentOwnNotifications(|session| {
                let params = json!({"sessionId": session, "progress": 0.5});
                json!({"jsonrpc": "2.0", "method": "_vendor.example/progress", "params": params})
            }))
        },
    ),
    row(
        "own-notifications-without-params",
        "An extension notification without params precedes each update.",
        "The params of a notification may be left out.",
        RPC,
        || Box::new(AgentOwnNotifications(|_| json!({"jsonrpc": "2.0", "method": "_alive"}))),
    ),
    row(
        "single-letters",
        "Each character of the text is sent in its own chunk.",
        CHUNKS,
        TURN,
        || Box::new(SingleLetters),
    ),
    row("large-pieces", "Text is sent in pieces of 400 characters.", CHUNKS, TURN, || {
        Box::new(LargePieces::default())
    }),
    row(
        "message-ids",
        "Each text chunk has a `messageId`.",
        "`messageId` is optional.",
        "schema v1 › ContentChunk",
        || Box::new(ChangedChunks(|update| update["messageId"] = json!("m-1"))),
    ),
    row(
        "annotations",
        "Each text chunk has annotations.",
        "`annotations` is optional.",
        "schema v1 › TextContent",
        || {
            Box::new(ChangedChunks(|update| {
                update["content"]["annotations"] = json!({"audience": ["user", "assistant"], "priority": 0.5, "lastModified": null});
            }))
        },
    ),
    row(
        "spoken-reports",
        "Before each call the agent announces the call in a message.",
        KINDS,
        TURN,
        || Box::new(SpokenReports),
    ),
];
