//! The parts of a random conversation. All names are small numbers and short words, so that a shrunk conversation is
//! easy to read.

use std::fmt;

use ahp_harness::wire::json::{Value, json};
use proptest::prelude::*;
use proptest::sample::select;

/// A conversation: its participants and its steps.
#[derive(Clone)]
pub struct PlayScript {
    /// The versions that the host supports.
    pub host: &'static [&'static str],
    /// The number of envelopes that the host keeps for replay.
    pub replay: usize,
    /// The clients, each with the version that it offers.
    pub clients: Vec<&'static str>,
    /// The steps.
    pub steps: Vec<PlayStep>,
}

/// One step of a conversation.
#[derive(Clone)]
pub enum PlayStep {
    /// A client acts.
    By(usize, ClientAct),
    /// This many milliseconds pass.
    Pass(u64),
    /// All messages arrive, and the states are compared.
    Settle,
}

impl fmt::Debug for PlayScript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PlayScript { host, replay, clients, steps } = self;
        writeln!(f, "host {host:?} keeps {replay}, clients {clients:?}")?;
        steps.iter().try_for_each(|step| writeln!(f, "  {step:?}"))
    }
}

impl fmt::Debug for PlayStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // Each step takes one line, even if the whole conversation is pretty-printed.
            PlayStep::By(who, act) => f.write_str(&format!("c{who} {act:?}")),
            PlayStep::Pass(ms) => write!(f, "{ms}ms"),
            PlayStep::Settle => f.write_str("settle"),
        }
    }
}

/// A channel, named by its role.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ChannelRole {
    /// The root channel.
    Root,
    /// The session.
    Session,
    /// The default chat of the session.
    Chat,
    /// The chat that was created last; no chat before the first creation.
    Side,
}

/// An action of a client. If an identifier is not given, the last identifier in the client's state is used.
#[derive(Clone, Debug)]
pub enum ClientAct {
    /// Starts a turn whose message contains a script.
    Turn(ChannelRole, &'static str, &'static str),
    Cancel(ChannelRole),
    Resume(ChannelRole),
    Truncate(ChannelRole, Option<&'static str>),
    /// Confirms or denies the last tool call.
    Confirm(ChannelRole, bool),
    ConfirmResult(ChannelRole, bool),
    /// Completes the last tool call, with or without success.
    Complete(ChannelRole, bool),
    /// Confirms a tool call that does not exist.
    ConfirmUnknown(ChannelRole),
    Queue(ChannelRole, &'static str, &'static str),
    Steer(ChannelRole, &'static str),
    Unqueue(ChannelRole, &'static str),
    Reorder(ChannelRole, &'static str),
    /// Answers the last input request with this response.
    Answer(ChannelRole, &'static str),
    AnswerChanged(ChannelRole),
    Draft(ChannelRole, &'static str),
    ChatRead(ChannelRole, bool),
    Title(&'static str),
    Read(bool),
    Archive(bool),
    Config(&'static str, &'static str),
    RootConfig(&'static str, &'static str),
    Join(&'static str),
    Leave,
    /// Dispatches an action that only the host may send.
    HostOnly(ChannelRole),
    /// Dispatches an action that belongs to another kind of channel.
    Astray,
    /// Dispatches an action without a required member.
    Malformed(ChannelRole),
    NewChat(Option<&'static str>),
    EndChat,
    Subscribe(ChannelRole),
    /// Subscribes to a number of last turns only.
    View(ChannelRole, u64),
    Unsubscribe(ChannelRole),
    FetchTurns(ChannelRole),
    ListSessions,
    Ping,
    /// Sets the delays of frames to the host and back.
    Lag(u64, u64),
    /// Drops the connection; with `true`, everything in transit to the host is lost.
    Drop(bool),
    Reconnect,
}

const TURNS: &[&str] = &["t1", "t2", "t3", "t4"];
const IDS: &[&str] = &["a", "b", "c"];

/// The scripts of turns. An empty script means an ordinary message. Scripts whose effects need several
/// steps occur more than once, so that they are drawn more often.
const SCRIPTS: &[&str] = &[
    "",
    "say a b",
    "think a\nsay b",
    "tool shell x",
    "tool shell x confirm",
    "tool write x confirm deny-ends-turn",
    "tool shell x confirm-result",
    "tool shell y confirm-result",
    "tool shell x reconfirm confirm-result\nsay b",
    "parallel\ntool read a confirm\ntool client look b\nend\nsay c",
    "tool client look x",
    "tool edit e fails\nusage 1 2",
    "ask Q",
    "ask Q a b\nsay d",
    "hold go\ntitle T",
    "wait 40ms\nsay x",
    "fail net resumable\nsay after",
    "fail net resumable",
    "fail net resumable\ntool shell x confirm",
    "fail net",
    "endless",
    "nonsense",
];

fn on() -> impl Strategy<Value = ChannelRole> {
    prop_oneof![3 => Just(ChannelRole::Chat), 1 => Just(ChannelRole::Side)]
}

fn anywhere() -> impl Strategy<Value = ChannelRole> {
    select(&[ChannelRole::Root, ChannelRole::Session, ChannelRole::Chat, ChannelRole::Side][..])
}

fn act() -> impl Strategy<Value = ClientAct> {
    let id = || select(IDS);
    let text = || select(&["hello", "ahp-release: go", "ahp-script: 1\nsay more"][..]);
    prop_oneof![
        8 => (on(), select(TURNS), select(SCRIPTS)).prop_map(|(on, id, s)| ClientAct::Turn(on, id, s)),
        2 => on().prop_map(ClientAct::Cancel),
        3 => on().prop_map(ClientAct::Resume),
        1 => (on(), proptest::option::of(select(TURNS))).prop_map(|(on, id)| ClientAct::Truncate(on, id)),
        5 => (on(), any::<bool>()).prop_map(|(on, yes)| ClientAct::Confirm(on, yes)),
        3 => (on(), any::<bool>()).prop_map(|(on, yes)| ClientAct::ConfirmResult(on, yes)),
        3 => (on(), any::<bool>()).prop_map(|(on, yes)| ClientAct::Complete(on, yes)),
        1 => on().prop_map(ClientAct::ConfirmUnknown),
        3 => (on(), id(), text()).prop_map(|(on, id, text)| ClientAct::Queue(on, id, text)),
        2 => (on(), text()).prop_map(|(on, text)| ClientAct::Steer(on, text)),
        1 => (on(), id()).prop_map(|(on, id)| ClientAct::Unqueue(on, id)),
        1 => (on(), id()).prop_map(|(on, id)| ClientAct::Reorder(on, id)),
        3 => (on(), select(&["accept", "decline", "cancel"][..]))
            .prop_map(|(on, how)| ClientAct::Answer(on, how)),
        1 => on().prop_map(ClientAct::AnswerChanged),
        3 => (on(), id()).prop_map(|(on, text)| ClientAct::Draft(on, text)),
        1 => (on(), any::<bool>()).prop_map(|(on, yes)| ClientAct::ChatRead(on, yes)),
        3 => id().prop_map(ClientAct::Title),
        1 => any::<bool>().prop_map(ClientAct::Read),
        2 => any::<bool>().prop_map(ClientAct::Archive),
        2 => (select(&["mode", "note", "isolation", "x"][..]), select(&["ask", "act", "z"][..]))
            .prop_map(|(name, value)| ClientAct::Config(name, value)),
        2 => (select(&["greeting", "hostName", "x"][..]), select(IDS))
            .prop_map(|(name, value)| ClientAct::RootConfig(name, value)),
        2 => select(&["look", "peek"][..]).prop_map(ClientAct::Join),
        1 => Just(ClientAct::Leave),
        1 => anywhere().prop_map(ClientAct::HostOnly),
        1 => Just(ClientAct::Astray),
        1 => on().prop_map(ClientAct::Malformed),
        2 => proptest::option::of(select(&["fork", "sideChat", "hello"][..])).prop_map(ClientAct::NewChat),
        1 => Just(ClientAct::EndChat),
        4 => anywhere().prop_map(ClientAct::Subscribe),
        1 => (on(), 1..3_u64).prop_map(|(on, turns)| ClientAct::View(on, turns)),
        2 => anywhere().prop_map(ClientAct::Unsubscribe),
        1 => on().prop_map(ClientAct::FetchTurns),
        1 => Just(ClientAct::ListSessions),
        1 => Just(ClientAct::Ping),
        3 => (0..90_u64, 0..90_u64).prop_map(|(up, down)| ClientAct::Lag(up, down)),
        2 => any::<bool>().prop_map(ClientAct::Drop),
        5 => Just(ClientAct::Reconnect),
    ]
}

fn step() -> impl Strategy<Value = PlayStep> {
    prop_oneof![
        12 => (0..3_usize, act()).prop_map(|(who, act)| PlayStep::By(who, act)),
        6 => (0..80_u64).prop_map(PlayStep::Pass),
        1 => Just(PlayStep::Settle),
    ]
}

const OLD: &str = "0.9.0";
const NEW: &str = "1.0.0";

type VersionList = &'static [&'static str];

/// The versions that a host supports, and the versions that each of its clients offers.
const PARTIES: &[(VersionList, VersionList)] = &[
    (&[NEW, OLD], &[NEW, NEW]),
    (&[NEW, OLD], &[NEW, NEW, NEW]),
    (&[NEW, OLD], &[OLD, OLD]),
    (&[NEW, OLD], &[NEW, OLD, NEW]),
    (&[OLD], &[OLD, OLD, OLD]),
];

/// Generates random conversations of up to this many steps.
pub fn scripts(steps: usize) -> impl Strategy<Value = PlayScript> {
    let parties = select(PARTIES);
    let steps = proptest::collection::vec(step(), 0..steps);
    let replay = select(&[0_usize, 3, 30, 10_000][..]);
    (parties, replay, steps).prop_map(|((host, clients), replay, steps)| PlayScript {
        host,
        replay,
        clients: clients.to_vec(),
        steps,
    })
}

fn message(text: &str) -> Value {
    json!({"text": text, "origin": {"kind": "user"}})
}

/// Returns the parts of the active turn in a chat's state, the last part first.
fn parts(state: &Value) -> impl Iterator<Item = &Value> {
    state["activeTurn"]["responseParts"].as_array().into_iter().flatten().rev()
}

impl ClientAct {
    /// Returns the dispatched action and its channel, based on the state of the client's mirror. Returns `None`
    /// if the act is not a dispatch.
    pub fn action(
        &self,
        client: &str,
        state: impl Fn(ChannelRole) -> Value,
    ) -> Option<(ChannelRole, Value)> {
        let turn =
            |on: ChannelRole| state(on)["activeTurn"]["id"].as_str().unwrap_or("t1").to_owned();
        let call = |on: ChannelRole| {
            let state = state(on);
            let call = parts(&state).find(|part| part["kind"] == "toolCall");
            call.map_or(json!("none"), |part| part["toolCall"]["toolCallId"].clone())
        };
        let request = |on: ChannelRole| {
            let state = state(on);
            let part = parts(&state).find(|part| part["request"].is_object());
            part.map_or(json!("none"), |part| part["request"]["id"].clone())
        };
        let answer = json!({"state": "submitted", "value": {"kind": "text", "value": "v"}});
        Some(match *self {
            ClientAct::Turn(on, id, script) => (on, turn_started(id, script)),
            ClientAct::Cancel(on) => {
                (on, json!({"type": "chat/turnCancelled", "turnId": turn(on), "duration": 7}))
            }
            ClientAct::Resume(on) => {
                let state = state(on);
                let last = state["turns"].as_array().and_then(|turns| turns.last());
                let id = last.map_or(json!("t1"), |turn| turn["id"].clone());
                (on, json!({"type": "chat/turnResume", "turnId": id}))
            }
            ClientAct::Truncate(on, None) => (on, json!({"type": "chat/truncated"})),
            ClientAct::Truncate(on, Some(id)) => {
                (on, json!({"type": "chat/truncated", "turnId": id}))
            }
            ClientAct::Confirm(on, yes) => (on, confirmed(turn(on), call(on), yes)),
            ClientAct::ConfirmUnknown(on) => (on, confirmed(turn(on), json!("nobody"), true)),
            ClientAct::ConfirmResult(on, yes) => (
                on,
                json!({"type": "chat/toolCallResultConfirmed", "turnId": turn(on),
                    "toolCallId": call(on), "approved": yes}),
            ),
            ClientAct::Complete(on, yes) => (
                on,
                json!({"type": "chat/toolCallComplete", "turnId": turn(on),
                    "toolCallId": call(on),
                    "result": {"success": yes, "pastTenseMessage": "Did it"}}),
            ),
            ClientAct::Queue(on, id, text) => (on, pending(json!("queued"), id, text)),
            ClientAct::Steer(on, text) => (on, pending(json!("steering"), "s", text)),
            ClientAct::Unqueue(on, id) => {
                (on, json!({"type": "chat/pendingMessageRemoved", "kind": "queued", "id": id}))
            }
            ClientAct::Reorder(on, id) => {
                (on, json!({"type": "chat/queuedMessagesReordered", "order": [id]}))
            }
            ClientAct::Answer(on, how) => (
                on,
                json!({"type": "chat/inputCompleted", "requestId": request(on),
                    "response": how, "answers": {"answer": answer}}),
            ),
            ClientAct::AnswerChanged(on) => (
                on,
                json!({"type": "chat/inputAnswerChanged", "requestId": request(on),
                    "questionId": "answer", "answer": answer}),
            ),
            ClientAct::Draft(on, text) => {
                (on, json!({"type": "chat/draftChanged", "draft": message(text)}))
            }
            ClientAct::ChatRead(on, yes) => {
                (on, json!({"type": "chat/isReadChanged", "isRead": yes}))
            }
            ClientAct::Malformed(on) => (on, json!({"type": "chat/turnCancelled", "duration": 7})),
            ClientAct::Astray => (ChannelRole::Session, json!({"type": "chat/draftChanged"})),
            ClientAct::HostOnly(on) => {
                (on, json!({"type": "chat/delta", "turnId": "t1", "partId": "p", "content": "x"}))
            }
            _ => return self.session_action(client),
        })
    }

    fn session_action(&self, client: &str) -> Option<(ChannelRole, Value)> {
        let action = match *self {
            ClientAct::Title(title) => json!({"type": "session/titleChanged", "title": title}),
            ClientAct::Read(yes) => json!({"type": "session/isReadChanged", "isRead": yes}),
            ClientAct::Archive(yes) => {
                json!({"type": "session/isArchivedChanged", "isArchived": yes})
            }
            ClientAct::Config(name, value) => {
                json!({"type": "session/configChanged", "config": {name: value}})
            }
            ClientAct::Join(tool) => json!({"type": "session/activeClientSet",
                "activeClient": {"clientId": client, "tools": [{"name": tool}]}}),
            ClientAct::Leave => json!({"type": "session/activeClientRemoved", "clientId": client}),
            ClientAct::RootConfig(name, value) => {
                let action = json!({"type": "root/configChanged", "config": {name: value}});
                return Some((ChannelRole::Root, action));
            }
            _ => return None,
        };
        Some((ChannelRole::Session, action))
    }
}

fn turn_started(turn: &str, script: &str) -> Value {
    let text = if script.is_empty() { "Hello.".into() } else { format!("ahp-script: 1\n{script}") };
    json!({"type": "chat/turnStarted", "turnId": turn, "startedAt": "2026-01-01T00:00:00.000Z",
        "message": message(&text)})
}

fn confirmed(turn: String, call: Value, yes: bool) -> Value {
    let mut action = json!({"type": "chat/toolCallConfirmed", "turnId": turn, "toolCallId": call,
        "approved": yes});
    match yes {
        true => action["confirmed"] = json!("user-action"),
        false => action["reason"] = json!("denied"),
    }
    action
}

fn pending(kind: Value, id: &str, text: &str) -> Value {
    json!({"type": "chat/pendingMessageSet", "kind": kind, "id": id, "message": message(text)})
}

/// Returns the params of a `createChat`.
pub fn new_chat(session: &str, chat: &str, uri: &str, source: Option<&str>) -> Value {
    let mut params = json!({"channel": session, "chat": uri});
    match source {
        Some("hello") => params["initialMessage"] = message("hello"),
        Some(kind) => params["source"] = json!({"kind": kind, "chat": chat, "turnId": "t1"}),
        None => {}
    }
    params
}
