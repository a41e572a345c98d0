//! Generates conversations in which the harness plays the host, for a client under test: actions of the host and of
//! other clients, rejections, echoes, old and early actions, lost connections. At the end, the client's state is
//! compared with the state that the harness computes from the frames that the client received.
//!
//! Knows: the steps of scenarios about clients, the protocol tables. Never knows: the client, its verdict.
//!
//! Start at [`ClientConversations::draft`].

use crate::dice::Dice;
use crate::wire::channel::ChannelKind;
use crate::wire::json::{Value, json};
use crate::wire::protocol::{DispatchRight, Protocol};
use crate::wire::sample::SamplingOptions;
use crate::wire::version::Version;

use super::draft::{ScenarioDraft, TestedDraft};

/// The requirement that every comparison tests. Each generated scenario file defines this requirement.
pub const AGREES: &str = "fuzz.state-agrees";
/// The minimum and the maximum number of moves of a conversation.
const MOVES: (usize, usize) = (3, 14);
/// The name of the client under test.
const TESTED: &str = "A";
/// A function that returns an action for the client to dispatch, and the channel of the action. The number makes the
/// content of the action unique.
type OwnAction = fn(u64) -> (&'static str, Value);
/// A function that returns whether a step is part of an event.
type EventTest = fn(&Value) -> bool;

/// The actions that the client dispatches. An application can dispatch these actions at any time.
const OWN: &[OwnAction] = &[
    |n| ("${session}", json!({"type": "session/titleChanged", "title": format!("Own {n}")})),
    |n| ("${session}", json!({"type": "session/isArchivedChanged", "isArchived": n % 2 == 0})),
    |n| ("${session}", json!({"type": "session/isReadChanged", "isRead": n % 2 == 0})),
];
/// The type of an action that no version knows.
const UNKNOWN: &str = "session/xHarnessNew";
/// The suffix of the type of the marker actions. A marker shows that the client has handled all earlier frames.
const MARKER: &str = "/activityChanged";
/// The channels whose state is compared.
const CHANNELS: &[(ChannelKind, &str)] =
    &[(ChannelKind::Session, "${session}"), (ChannelKind::Chat, "${chat}")];
/// The types of actions that no conversation publishes, because they end a channel or make the reference host act.
const LEFT_OUT: &[&str] = &["session/creationFailed", "session/ready"];

/// The source of conversations for a client.
#[derive(Clone, Debug)]
pub struct ClientConversations {
    /// The version that the host speaks.
    pub version: Version,
    /// Whether the client connects again by itself.
    pub reconnects: bool,
    /// Whether the client can dispatch actions.
    pub dispatches: bool,
    /// Whether the client can unsubscribe.
    pub unsubscribes: bool,
    /// The types of actions that the host does not publish.
    pub left_out: Vec<String>,
}

/// A conversation that is being generated.
struct ClientConversation<'a> {
    dice: Dice,
    of: &'a ClientConversations,
    protocol: &'static Protocol,
    steps: Vec<Value>,
    /// The client's actions that the host has neither echoed nor rejected: the name to which `clientSeq` is bound, the
    /// channel, and the action.
    pending: Vec<(String, String, Value)>,
    named: u64,
}

impl ClientConversations {
    /// Returns the conversation with this number; `None` if the version is not played. Equal numbers give equal
    /// conversations.
    pub fn draft(&self, seed: u64, number: u64) -> Option<ScenarioDraft> {
        let mut conversation = ClientConversation {
            dice: Dice::new(seed, number),
            of: self,
            protocol: Protocol::of(self.version)?,
            steps: Vec::new(),
            pending: Vec::new(),
            named: 0,
        };
        let host = match conversation.dice.chance(40) {
            true => json!({"replayCapacity": 1}),
            false => json!({}),
        };
        conversation.begin();
        for _ in 0..MOVES.0 + conversation.dice.below(MOVES.1 - MOVES.0 + 1) {
            conversation.go_on();
        }
        conversation.compare();
        Some(ScenarioDraft {
            id: format!("fuzz/client-{number}"),
            title: "The state of a client agrees with what it received".to_owned(),
            since: self.version,
            clients: vec![TESTED.to_owned(), "B".to_owned()],
            approves: None,
            needs: Vec::new(),
            tested: Some(TestedDraft {
                client: TESTED.to_owned(),
                host,
                requirements: json!([{
                    "id": AGREES,
                    "weight": "essential",
                    "text": "The state of a client is the fold of the snapshots and actions that it received.",
                }]),
            }),
            steps: conversation.steps,
        })
    }
}

impl ClientConversation<'_> {
    fn begin(&mut self) {
        self.steps.push(json!({"open": {"by": "B"}}));
        self.drive("connect", &Value::Null);
        for (_, channel) in self.channels() {
            self.drive("subscribe", &json!({"channel": *channel}));
        }
    }

    /// Returns the channels that the version has.
    fn channels(&self) -> impl Iterator<Item = &'static (ChannelKind, &'static str)> + use<> {
        let has_chats = self.protocol.actions().any(|row| row.channel == ChannelKind::Chat);
        CHANNELS.iter().filter(move |(kind, _)| *kind == ChannelKind::Session || has_chats)
    }

    fn drive(&mut self, command: &str, members: &Value) {
        let mut step = json!({"do": command});
        if !members.is_null() {
            step["with"] = members.clone();
        }
        self.steps.push(json!({"drive": step}));
    }

    fn go_on(&mut self) {
        match self.dice.below(16) {
            0..=4 => self.publish(&Value::Null),
            5 => self.publish(&json!({"origin": {"clientId": "someone-else", "clientSeq": 1}})),
            6 => self.publish(&json!({
                "origin": {"clientId": "someone-else", "clientSeq": 2}, "rejected": "not today",
            })),
            7 => self.publish(&json!({"members": {"serverSeq": 0}})),
            8 => self.publish(&json!({"members": {"origin": null, "x-new": {"deep": [1]}}})),
            9 => self.unknown(),
            10 | 11 => self.dispatch(),
            12 => self.settle(),
            13 => self.subscribe_again(),
            14 => self.lose_connection(),
            _ => self.compare(),
        }
    }

    /// Publishes an action whose members are generated from the protocol tables.
    fn publish(&mut self, more: &Value) {
        let channels: Vec<&(ChannelKind, &str)> = self.channels().collect();
        let Some((kind, channel)) = self.dice.pick(&channels).copied() else { return };
        let rows = self.protocol.actions().filter(|row| row.channel == *kind);
        let mut types: Vec<&str> = rows.map(|row| row.action_type.as_str()).collect();
        types.retain(|it| {
            !LEFT_OUT.contains(it) && !self.of.left_out.iter().any(|left_out| left_out == it)
        });
        let Some(action_type) = self.dice.pick(&types).copied() else { return };
        let (protocol, dice) = (self.protocol, &mut self.dice);
        let mut choose = |count: usize| dice.below(count);
        let sampled = protocol.sampler(SamplingOptions::default(), &mut choose).action(action_type);
        let Some(action) = sampled else { return };
        let mut step = json!({"channel": *channel, "action": action});
        for (name, value) in more.as_object().into_iter().flatten() {
            step[name.as_str()] = value.clone();
        }
        self.steps.push(json!({"publish": step}));
    }

    /// Publishes an action that no version knows.
    fn unknown(&mut self) {
        let action = json!({"type": UNKNOWN, "x": {"any": [1, "two", null]}});
        self.steps.push(json!({"publish": {"channel": "${session}", "action": action}}));
    }

    /// Makes the client dispatch an action to which the host does not react, so that the action stays pending.
    fn dispatch(&mut self) {
        let allowed = |action: &Value| {
            let row = self.protocol.action(action["type"].as_str().unwrap_or_default());
            row.is_some_and(|row| row.dispatch == DispatchRight::Client)
        };
        let number = self.named;
        let own: Vec<(&str, Value)> = OWN.iter().map(|make| make(number)).collect();
        let own: Vec<(&str, Value)> = own.into_iter().filter(|(_, it)| allowed(it)).collect();
        let (Some((channel, action)), true) = (self.dice.pick(&own).cloned(), self.of.dispatches)
        else {
            return;
        };
        self.named += 1;
        let name = format!("own{number}");
        self.steps.push(json!({"respond": {"method": "dispatchAction", "silent": true}}));
        self.drive("dispatch", &json!({"channel": channel, "action": action}));
        self.steps.push(json!({"expect": {
            "at": "host", "method": "dispatchAction",
            "where": {"channel": channel, "clientSeq": format!("$bind {name}")},
        }}));
        self.pending.push((name, channel.to_owned(), action));
    }

    /// Publishes the outcome of one of the client's pending actions: an echo as it was sent, an echo with another
    /// payload, or a rejection.
    fn settle(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        let (name, channel, mut action) = self.pending.remove(self.dice.below(self.pending.len()));
        let origin = json!({"clientId": "${A.id}", "clientSeq": format!("${{{name}}}")});
        let mut step = json!({"channel": channel, "origin": origin});
        match self.dice.below(4) {
            0 => step["rejected"] = json!("not today"),
            1 if action.get("title").is_some() => action["title"] = json!("Of the host"),
            _ => {}
        }
        step["action"] = action;
        self.steps.push(json!({"publish": step}));
    }

    /// Makes the client unsubscribe and subscribe again, and publishes actions before the snapshot arrives.
    fn subscribe_again(&mut self) {
        let channels: Vec<&(ChannelKind, &str)> = self.channels().collect();
        let Some((_, channel)) = self.dice.pick(&channels).copied() else { return };
        if !self.of.unsubscribes || self.pending.iter().any(|(_, it, _)| it == channel) {
            return;
        }
        let name = format!("again{}", self.named);
        self.named += 1;
        self.drive("unsubscribe", &json!({"channel": *channel}));
        self.steps.push(json!({"expect": {
            "at": "host", "method": "unsubscribe", "where": {"channel": *channel},
        }}));
        self.steps.push(json!({"respond": {"method": "subscribe", "delay": "150ms"}}));
        self.steps.push(json!({"drive": {
            "do": "subscribe", "with": {"channel": *channel}, "unawaited": true, "as": name,
        }}));
        self.steps.push(json!({"expect": {
            "at": "host", "method": "subscribe", "where": {"channel": *channel},
        }}));
        for _ in 0..self.dice.below(3) {
            self.publish(&Value::Null);
        }
        if self.dice.chance(30) {
            self.publish(&json!({"members": {"serverSeq": 0}}));
        }
        self.steps
            .push(json!({"answer": {"at": TESTED, "id": format!("${{{name}}}"), "result": {}}}));
    }

    /// Closes the connection, publishes actions, and waits until the client reconnects.
    fn lose_connection(&mut self) {
        if !self.of.reconnects {
            return;
        }
        self.steps.push(json!({"refuse": {"times": 1}}));
        self.steps.push(json!({"drop": {"by": "host"}}));
        for _ in 0..self.dice.below(4) {
            self.publish(&Value::Null);
        }
        self.steps.push(json!({"expect": {
            "at": "host", "method": "reconnect", "within": "10s",
        }}));
        self.pending.clear();
    }

    /// Compares the states of the client with the states that the harness computes. The host first publishes a marker.
    /// The step waits until the client's state has the marker, so that the client has handled all earlier frames.
    fn compare(&mut self) {
        for (kind, channel) in self.channels() {
            let marker = format!("{}{MARKER}", kind.family());
            let text = format!("Marker {}", self.named);
            self.named += 1;
            let mut state = json!({});
            if self.protocol.action(&marker).is_some() {
                let action = json!({"type": marker, "activity": text});
                self.steps.push(json!({"publish": {"channel": *channel, "action": action}}));
                state = json!({"activity": text});
            }
            for shown in [false, true] {
                let mut step = json!({
                    "at": TESTED, "of": *channel, "state": state, "compares": ["*"], "proves": AGREES,
                });
                if shown {
                    step["shown"] = json!(true);
                }
                self.steps.push(json!({"mirror": step}));
            }
        }
    }
}

/// The events that can occur in a conversation, each with its name and a test for its steps. An action of the host that
/// the client receives in order is not an event.
const EVENTS: &[(&str, EventTest)] = &[
    ("a rejected action", |step| step["publish"]["rejected"].is_string()),
    ("an action with an old number", |step| step["publish"]["members"]["serverSeq"] == 0),
    ("an action with a null origin", |step| {
        step["publish"]["members"].get("origin").is_some_and(Value::is_null)
    }),
    ("an unknown action", |step| step["publish"]["action"]["type"] == UNKNOWN),
    ("an action of another client", |step| {
        step["publish"]["origin"]["clientId"].as_str().is_some_and(|it| !it.starts_with('$'))
    }),
    ("an own action", |step| step["drive"]["do"] == "dispatch"),
    ("the outcome of an own action", |step| {
        step["publish"]["origin"]["clientId"].as_str().is_some_and(|it| it.starts_with('$'))
    }),
    ("an action before the snapshot", |step| step["respond"]["method"] == "subscribe"),
    ("another subscription", |step| step["drive"]["do"] == "unsubscribe"),
    ("a lost connection", |step| step.get("drop").is_some()),
];

/// Returns the names of the events in a conversation, for the description of a finding. If there are no events, returns
/// the types of the host's actions.
pub fn events(draft: &ScenarioDraft) -> Vec<String> {
    let shows = |event: &&(&str, EventTest)| draft.steps.iter().any(event.1);
    let found: Vec<String> =
        EVENTS.iter().filter(shows).map(|(name, _)| (*name).to_owned()).collect();
    if is_plain(draft) { action_types(draft) } else { found }
}

/// Returns a conversation without the steps that show these events; see [`events`].
pub fn without_events(draft: &ScenarioDraft, gone: &[String]) -> ScenarioDraft {
    let mut rest = draft.clone();
    rest.steps.retain(|step| {
        let action_type = step["publish"]["action"]["type"].as_str().unwrap_or_default();
        let named = gone.iter().any(|it| *it == format!("`{action_type}`"));
        let shown =
            EVENTS.iter().any(|(name, shows)| shows(step) && gone.iter().any(|it| it == name));
        !named && !shown
    });
    rest
}

/// Returns whether a conversation has no events: only the host acts, and the client receives everything in order.
pub fn is_plain(draft: &ScenarioDraft) -> bool {
    !EVENTS.iter().any(|(_, shows)| draft.steps.iter().any(shows))
}

fn action_types(draft: &ScenarioDraft) -> Vec<String> {
    let types = draft.steps.iter().filter_map(|step| step["publish"]["action"]["type"].as_str());
    let types = types.filter(|it| !it.ends_with(MARKER));
    let mut types: Vec<String> = types.map(|it| format!("`{it}`")).collect();
    types.sort_unstable();
    types.dedup();
    types
}
