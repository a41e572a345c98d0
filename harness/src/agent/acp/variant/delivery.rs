//! Variants of message timing, and of the use of terminals.
//!
//! Knows: times, terminals. Never knows: the effect of calls.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use crate::dice::Dice;
use crate::wire::json::{Value, json};

use super::rewriting::{
    AgentVariant, MessageFlow, OpenPrompts, VariantLink, key, session_of, success,
};
use super::row::{AgentVariantRow, PERMISSION, RPC, TERMINALS, row};

/// Delays messages to the client by this many milliseconds.
struct AgentDelayedMessages {
    millis: fn(&mut Dice, &VariantLink<'_>, &Value) -> u64,
    dice: Dice,
}

impl AgentVariant for AgentDelayedMessages {
    fn delay(&mut self, link: &VariantLink<'_>, message: &Value) -> Duration {
        Duration::from_millis((self.millis)(&mut self.dice, link, message))
    }
}

fn late(millis: fn(&mut Dice, &VariantLink<'_>, &Value) -> u64) -> Box<dyn AgentVariant> {
    Box::new(AgentDelayedMessages { millis, dice: Dice::seeded(1) })
}

/// Delays the client's messages to the agent by this many milliseconds.
struct HearsLate(u64);

impl AgentVariant for HearsLate {
    fn hears_after(&self) -> Duration {
        Duration::from_millis(self.0)
    }
}

/// Releases the terminals of a turn at its end. The agent receives the response to its release request at once.
#[derive(Default)]
struct ReleasedAtTheEnd {
    prompts: OpenPrompts,
    held: Vec<Value>,
    /// The ids of requests that the variant has already answered to the agent.
    answered: HashSet<String>,
}

impl AgentVariant for ReleasedAtTheEnd {
    fn on_client_message(&mut self, _: &VariantLink<'_>, message: Value, flow: &mut MessageFlow) {
        self.prompts.heard(&message);
        let response = message.get("method").is_none();
        if !(response && self.answered.remove(&key(&message["id"]))) {
            flow.to_agent.push(message);
        }
    }

    fn on_agent_message(&mut self, link: &VariantLink<'_>, message: Value, flow: &mut MessageFlow) {
        if message["method"] == "terminal/release" && self.prompts.is_open(session_of(&message)) {
            self.answered.insert(key(&message["id"]));
            flow.to_agent.push(success(&message["id"], json!({})));
            self.held.push(message);
            return;
        }
        if let Some(session) = self.prompts.ended(link, &message) {
            let own = |held: &Value| session_of(held) == session;
            let (now, later) = std::mem::take(&mut self.held).into_iter().partition(own);
            self.held = later;
            flow.to_client.extend::<Vec<Value>>(now);
        }
        flow.to_client.push(message);
    }
}

/// Releases the terminals of a turn this many milliseconds after its end.
struct ReleasedAfterTheTurn {
    inner: ReleasedAtTheEnd,
    millis: u64,
}

impl ReleasedAfterTheTurn {
    fn by(millis: u64) -> Box<dyn AgentVariant> {
        Box::new(ReleasedAfterTheTurn { inner: ReleasedAtTheEnd::default(), millis })
    }
}

impl AgentVariant for ReleasedAfterTheTurn {
    fn on_client_message(
        &mut self,
        link: &VariantLink<'_>,
        message: Value,
        flow: &mut MessageFlow,
    ) {
        self.inner.on_client_message(link, message, flow);
    }

    fn on_agent_message(&mut self, link: &VariantLink<'_>, message: Value, flow: &mut MessageFlow) {
        let before = flow.to_client.len();
        self.inner.on_agent_message(link, message, flow);
        // The response to the prompt has to precede the release of the terminals.
        if link.answers == Some("session/prompt")
            && let Some(answer) = flow.to_client.pop()
        {
            flow.to_client.insert(before, answer);
        }
    }

    fn delay(&mut self, _: &VariantLink<'_>, message: &Value) -> Duration {
        Duration::from_millis(if is(message, "terminal/release") { self.millis } else { 0 })
    }
}

/// Sends another request about a terminal before the terminal is released.
struct AskedBefore {
    method: &'static str,
    open: HashMap<String, Value>,
    count: u64,
}

impl AskedBefore {
    fn with(method: &'static str) -> Box<dyn AgentVariant> {
        Box::new(AskedBefore { method, open: HashMap::new(), count: 0 })
    }
}

impl AgentVariant for AskedBefore {
    fn on_client_message(&mut self, _: &VariantLink<'_>, message: Value, flow: &mut MessageFlow) {
        let response = message.get("method").is_none();
        match message.get("id").filter(|_| response).and_then(|id| self.open.remove(&key(id))) {
            Some(release) => flow.to_client.push(release),
            None => flow.to_agent.push(message),
        }
    }

    fn on_agent_message(&mut self, _: &VariantLink<'_>, message: Value, flow: &mut MessageFlow) {
        if message["method"] != "terminal/release" {
            flow.to_client.push(message);
            return;
        }
        self.count += 1;
        let id = format!("{}-{}", self.method, self.count);
        let params = message["params"].clone();
        self.open.insert(key(&json!(id.as_str())), message);
        let method = self.method;
        flow.to_client
            .push(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
    }
}

fn is(message: &Value, method: &str) -> bool {
    message["method"] == method
}

const TIME: &str = "The specification names no time; the messages keep their order.";
const RELEASE: &str = "Every terminal has to be released; the specification does not say how soon.";

/// The variants of delays, and of requests about terminals.
pub(super) const ROWS: &[AgentVariantRow] = &[
    row(
        "acp-jitter",
        "Each message has a random delay of up to 40 milliseconds.",
        TIME,
        RPC,
        || late(|dice, _, _| dice.roll() % 40),
    ),
    row("acp-high-latency", "Each message has a delay of 250 milliseconds.", TIME, RPC, || {
        late(|_, _, _| 250)
    }),
    row(
        "acp-sent-in-bursts",
        "Messages are collected and sent together, five times a second.",
        TIME,
        RPC,
        || {
            late(|_, link, _| {
                let millis = link.now.as_millis() % 200;
                200 - u64::try_from(millis).unwrap_or_default()
            })
        },
    ),
    row("acp-slow-answers", "Each response has a delay of 800 milliseconds.", TIME, RPC, || {
        late(|_, link, _| if link.answers.is_some() { 800 } else { 0 })
    }),
    row("slow-start", "The answer to `initialize` has a delay of 3 seconds.", TIME, RPC, || {
        late(|_, link, _| if link.answers == Some("initialize") { 3_000 } else { 0 })
    }),
    row("slow-updates", "Each notification has a delay of 100 milliseconds.", TIME, RPC, || {
        late(|_, _, message| if message.get("id").is_none() { 100 } else { 0 })
    }),
    row("very-slow-answers", "Each response has a delay of 5 seconds.", TIME, RPC, || {
        late(|_, link, _| if link.answers.is_some() { 5_000 } else { 0 })
    }),
    row(
        "hears-late",
        "The agent receives the client's messages 200 milliseconds later.",
        TIME,
        RPC,
        || Box::new(HearsLate(200)),
    ),
    row(
        "hears-very-late",
        "The agent receives the client's messages a second later.",
        TIME,
        RPC,
        || Box::new(HearsLate(1_000)),
    ),
    row(
        "late-questions",
        "Permission is asked for 700 milliseconds after the call was reported.",
        TIME,
        PERMISSION,
        || late(|_, _, message| if is(message, "session/request_permission") { 700 } else { 0 }),
    ),
    row(
        "released-after-the-turn",
        "Terminals are released 300 milliseconds after the prompt was answered.",
        RELEASE,
        TERMINALS,
        || ReleasedAfterTheTurn::by(300),
    ),
    row(
        "released-long-after-the-turn",
        "Terminals are released 3 seconds after the prompt was answered.",
        RELEASE,
        TERMINALS,
        || ReleasedAfterTheTurn::by(3_000),
    ),
    row(
        "released-at-the-end",
        "The terminals of a turn are released together, just before the prompt is answered.",
        RELEASE,
        TERMINALS,
        || Box::new(ReleasedAtTheEnd::default()),
    ),
    row(
        "killed-before-release",
        "Each terminal is killed before it is released, even if its command has exited.",
        "`terminal/kill` may be sent before `terminal/release`, which is still needed.",
        TERMINALS,
        || AskedBefore::with("terminal/kill"),
    ),
    row(
        "output-read-again",
        "The output of each terminal is read once more before it is released.",
        "How often `terminal/output` is sent is not specified.",
        TERMINALS,
        || AskedBefore::with("terminal/output"),
    ),
];
