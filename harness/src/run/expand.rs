//! Steps taken apart into tasks. A longer step (`open`, `snapshot`, `reconnect`) becomes the short
//! ones that an author could have written.

use crate::agent::mode::Mode as AgentMode;
use crate::agent::script::{CASE, HEADER, RELEASE};
use crate::wire::json::{Value, json};

use crate::peer::guise::Credentials;
use crate::scenario::bind::{Mint, Template};
use crate::scenario::parse::{Scenario, Step};
use crate::scenario::pattern::Pattern;
use crate::scenario::source::Span;
use crate::scenario::verbs::Verb;
use crate::wire::channel::ROOT;

use super::agent_steps;
use super::case::Case;
use super::task::{Act, Entry, Filter, Keep, Mode, PeerId, RawFrame, Settle, Side, Task, Want};

/// The tasks of one step.
pub fn tasks(case: &mut Case, index: usize, step: &Step) -> Vec<Task> {
    let within = step.duration("within");
    let acts = match step.verb {
        Verb::Initialize | Verb::Open if case.is_acp() => agent_steps::opening(case, step),
        Verb::Prompt => agent_steps::prompt(case, step),
        Verb::Permit => agent_steps::permit(case, step),
        Verb::Disk => agent_steps::disk(case, step),
        Verb::Called => vec![Act::Called(step.count("times").unwrap_or_default())],
        Verb::Call => agent_steps::call(case, step),
        Verb::Connect => {
            let by = peers(case, step, "by").into_iter();
            by.map(|peer| come(step, peer)).collect()
        }
        Verb::Initialize => {
            let by = peers(case, step, "by");
            by.into_iter().flat_map(|peer| initialize(case, step, peer)).collect()
        }
        Verb::Open => open(case, step),
        Verb::Request => vec![Act::Request {
            peer: peer(case, step, "by"),
            method: step.text("method").unwrap_or_default().to_owned(),
            params: step.template("params").cloned().unwrap_or_else(|| empty(step.span)),
            want: want(step),
            exact: step.flag("exact"),
            keep: Keep { bind: step.text("as").map(str::to_owned), default_chat: None },
        }],
        Verb::Notify => vec![Act::Notify {
            peer: peer(case, step, "by"),
            method: step.text("method").unwrap_or_default().to_owned(),
            params: step.template("params").cloned().unwrap_or_else(|| empty(step.span)),
        }],
        Verb::Dispatch => vec![Act::Dispatch {
            peer: peer(case, step, "by"),
            channel: step.template("channel").cloned().unwrap_or_else(|| empty(step.span)),
            action: step.template("action").cloned().unwrap_or_else(|| empty(step.span)),
            seq: step.template("clientSeq").cloned(),
            settle: settle(step),
            bind: step.text("as").map(str::to_owned),
        }],
        Verb::Turn => turn(case, step),
        Verb::Subscribe => peers(case, step, "by")
            .into_iter()
            .map(|peer| Act::Request {
                peer,
                method: "subscribe".to_owned(),
                params: subscribe_params(case, step, step.template("channel")),
                want: want(step),
                exact: false,
                keep: Keep { bind: step.text("as").map(str::to_owned), default_chat: None },
            })
            .collect(),
        Verb::Unsubscribe => peers(case, step, "by")
            .into_iter()
            .map(|peer| Act::Notify {
                peer,
                method: "unsubscribe".to_owned(),
                params: with_channel(step.span, step.template("channel")),
            })
            .collect(),
        Verb::Expect | Verb::Next | Verb::Await => peers(case, step, "at")
            .into_iter()
            .map(|peer| Act::Await {
                peer,
                filter: filter(step),
                channel: step.template("channel").cloned(),
                mode: match step.verb {
                    Verb::Next => Mode::Next,
                    Verb::Await => Mode::Look,
                    _ => Mode::First,
                },
            })
            .collect(),
        Verb::Never => peers(case, step, "at")
            .into_iter()
            .map(|peer| Act::Watch {
                peer,
                filter: filter(step),
                channel: step.template("channel").cloned(),
            })
            .collect(),
        Verb::Barrier => vec![Act::Barrier {
            peer: peer(case, step, "by"),
            channel: step.template("channel").cloned(),
        }],
        Verb::Snapshot => snapshot(case, step),
        Verb::Mirror => peers(case, step, "at")
            .into_iter()
            .filter_map(|peer| {
                Some(Act::Mirror {
                    peer,
                    channel: step.template("of")?.clone(),
                    state: step.pattern("state")?.clone(),
                    exact: step.flag("exact"),
                })
            })
            .collect(),
        Verb::Send => vec![Act::Send {
            peer: peer(case, step, "by"),
            frame: raw(step),
            times: step.count("times").unwrap_or(1),
        }],
        Verb::Asked => vec![Act::Asked {
            peer: peer(case, step, "at"),
            method: step.text("method").unwrap_or_default().to_owned(),
            id: step.pattern("id").cloned().unwrap_or_else(|| Pattern::anything(step.span)),
            params: step.pattern("where").cloned(),
        }],
        Verb::Pause | Verb::Resume => peers(case, step, "by")
            .into_iter()
            .map(|peer| Act::Hold { peer, paused: step.verb == Verb::Pause })
            .collect(),
        Verb::Answer => vec![Act::Answer {
            peer: peer(case, step, "at"),
            id: step.pattern("id").cloned().unwrap_or_else(|| Pattern::anything(step.span)),
            want: match (step.flag("none"), step.pattern("error")) {
                (true, None) => None,
                _ => Some(want(step)),
            },
            silent: step.flag("none"),
            keep: Keep { bind: step.text("as").map(str::to_owned), default_chat: None },
        }],
        Verb::Drop => peers(case, step, "by")
            .into_iter()
            .map(|peer| Act::Hang { peer, graceful: false })
            .collect(),
        Verb::Reconnect => {
            peers(case, step, "by").into_iter().flat_map(|peer| reconnect(step, peer)).collect()
        }
        Verb::Closed => peers(case, step, "at").into_iter().map(Act::AwaitClosed).collect(),
        Verb::Release => release(case, step),
        Verb::Restart => vec![Act::Restart],
        Verb::Rest => {
            let act = Act::Rest;
            let within = step.duration("for");
            return vec![Task { step: Some(index), within, act, prepares: false }];
        }
        // The loader has put the fragment's steps in its place.
        Verb::Include => Vec::new(),
    };
    let task = |act| Task { step: Some(index), within, prepares: prepares(step.verb, &act), act };
    acts.into_iter().map(task).collect()
}

/// Whether an act of a step is not the one that the step is about.
fn prepares(verb: Verb, act: &Act) -> bool {
    match (verb, act) {
        (Verb::Snapshot, Act::Request { method, .. }) => method != "subscribe",
        (Verb::Initialize, Act::Request { method, .. }) => method == "authenticate",
        (Verb::Snapshot | Verb::Reconnect, Act::Connect(_) | Act::Hang { .. }) => true,
        _ => false,
    }
}

fn come(step: &Step, peer: PeerId) -> Act {
    let want = match (step.pattern("refused"), step.flag("perhaps")) {
        (Some(status), _) => Entry::Refused(status.clone()),
        (None, true) => Entry::Either,
        (None, false) => Entry::Stands,
    };
    let credentials = step.text("credentials").and_then(Credentials::named).unwrap_or_default();
    Act::Come { peer, credentials, origin: step.template("origin").cloned(), want }
}

pub(super) fn peers(case: &Case, step: &Step, member: &str) -> Vec<PeerId> {
    step.clients(member).iter().map(|name| case.peer_named(name)).collect()
}

pub(super) fn peer(case: &Case, step: &Step, member: &str) -> PeerId {
    step.clients(member).first().map_or(0, |name| case.peer_named(name))
}

pub(super) fn empty(span: Span) -> Template {
    Template::fixed(span, json!({}))
}

/// Members one after another; a later one of the same name wins.
pub(super) fn merged(
    span: Span,
    usual: Vec<(&str, Template)>,
    more: Option<&Template>,
) -> Template {
    let mut members: Vec<(String, Template)> =
        usual.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    for (key, value) in more.map(Template::members).unwrap_or_default() {
        members.retain(|(name, _)| name != key);
        members.push((key.clone(), value.clone()));
    }
    Template::map(span, members)
}

fn with_channel(span: Span, channel: Option<&Template>) -> Template {
    let channel = channel.cloned().unwrap_or_else(|| Template::fixed(span, json!(ROOT)));
    Template::map(span, vec![("channel".to_owned(), channel)])
}

pub(super) fn want(step: &Step) -> Want {
    if let (Some(result), Some(error)) = (step.pattern("result"), step.pattern("error")) {
        return Want::Either(result.clone(), error.clone());
    }
    if let Some(pattern) = step.pattern("error") {
        return match step.flag("closed") {
            true => Want::Refused(pattern.clone()),
            false => Want::Error(pattern.clone()),
        };
    }
    if step.flag("closed") {
        return Want::Closed;
    }
    Want::Result(step.pattern("result").cloned())
}

fn settle(step: &Step) -> Option<Settle> {
    if let Some(pattern) = step.pattern("accept") {
        return Some(Settle::Accept(pattern.clone()));
    }
    if let Some(pattern) = step.pattern("reject") {
        return Some(Settle::Reject(pattern.clone()));
    }
    match (step.flag("ignored"), step.flag("refused")) {
        (true, _) => Some(Settle::Ignored),
        (_, true) => Some(Settle::Refused),
        _ => None,
    }
}

fn filter(step: &Step) -> Filter {
    Filter {
        span: step.span,
        action: step.text("type").map(str::to_owned),
        method: step.text("method").map(str::to_owned),
        channel: None,
        params: step.pattern("where").cloned(),
        exact: step.flag("exact"),
        beside: [(Side::Before, "before"), (Side::After, "after")]
            .into_iter()
            .find_map(|(side, member)| Some((side, step.text(member)?.to_owned()))),
        order: None,
    }
}

/// The handshake, and after it the tokens that the run was given.
fn initialize(case: &Case, step: &Step, peer: PeerId) -> Vec<Act> {
    let versions = step.template("versions").cloned();
    let versions = versions.unwrap_or_else(|| Template::fixed(step.span, json!(case.setup.offers)));
    let mut usual = vec![
        ("channel", Template::fixed(step.span, json!(ROOT))),
        ("protocolVersions", versions),
        ("clientId", Template::fixed(step.span, json!(case.client_id(peer)))),
    ];
    if let Some(subscribe) = step.template("subscribe") {
        usual.push(("initialSubscriptions", subscribe.clone()));
    } else if step.flag("root") {
        usual.push(("initialSubscriptions", Template::fixed(step.span, json!([ROOT]))));
    }
    let asks = Act::Request {
        peer,
        method: "initialize".to_owned(),
        params: merged(step.span, usual, step.template("params")),
        want: if step.verb == Verb::Initialize { want(step) } else { Want::Result(None) },
        exact: false,
        keep: Keep {
            bind: step.text("as").filter(|_| step.verb == Verb::Initialize).map(str::to_owned),
            default_chat: None,
        },
    };
    let succeeds = matches!(&asks, Act::Request { want: Want::Result(_), .. });
    let mut acts = vec![asks];
    if succeeds && !step.denies("tokens") {
        acts.extend(case.setup.authenticate.iter().map(|(resource, token)| Act::Request {
            peer,
            method: "authenticate".to_owned(),
            params: Template::fixed(step.span, json!({"resource": resource, "token": token})),
            want: Want::Result(None),
            exact: false,
            keep: Keep::default(),
        }));
    }
    acts
}

fn open(case: &mut Case, step: &Step) -> Vec<Act> {
    let span = step.span;
    let session = step.text("session").unwrap_or("session").to_owned();
    let chat = step.text("chat").unwrap_or("chat").to_owned();
    let by = peers(case, step, "by");
    let mut acts = Vec::new();
    for peer in by.iter().copied().filter(|peer| !case.is_connected(*peer)).collect::<Vec<_>>() {
        acts.push(Act::Connect(peer));
        acts.extend(initialize(case, step, peer));
    }
    if case.bindings.get(&session).is_none() {
        let id = case.mint.fresh();
        case.bindings.set(&session, json!(format!("ahp-session:/{id}")));
        let mut usual = vec![("channel", Template::hole(span, &session))];
        if let Some(provider) = &case.setup.provider {
            usual.push(("provider", Template::fixed(span, json!(provider))));
        }
        acts.push(Act::Request {
            peer: by.first().copied().unwrap_or_default(),
            method: "createSession".to_owned(),
            params: merged(span, usual, step.template("config")),
            want: Want::Result(None),
            exact: false,
            keep: Keep::default(),
        });
    }
    let subscribe = |peer, channel: &str, default_chat| Act::Request {
        peer,
        method: "subscribe".to_owned(),
        params: subscribe_params(case, step, Some(&Template::hole(span, channel))),
        want: Want::Result(None),
        exact: false,
        keep: Keep { bind: None, default_chat },
    };
    // Before chats were channels, a session was its own.
    let apart = case.edge().has_chats();
    for peer in by {
        acts.push(subscribe(peer, &session, Some(chat.clone())));
        let hole = Template::hole(span, &session);
        acts.push(Act::DefaultChat { peer, session: hole, bind: chat.clone() });
        if apart {
            acts.push(subscribe(peer, &chat, None));
        }
    }
    acts
}

/// Subscriptions ask for no delay where the version lets them.
fn subscribe_params(case: &Case, step: &Step, channel: Option<&Template>) -> Template {
    let channel = channel.cloned().unwrap_or_else(|| Template::fixed(step.span, json!(ROOT)));
    let mut usual = vec![("channel", channel)];
    if case.delays_can_be_declined() {
        let none = Template::fixed(step.span, json!({"maxLatencyMs": 0}));
        usual.push(("delivery", none));
    }
    let more = if step.verb == Verb::Subscribe { step.template("params") } else { None };
    merged(step.span, usual, more)
}

/// The script of a step, or the scenario's, as it stands in a prompt; empty where there is none.
pub(super) fn script(case: &Case, step: &Step) -> String {
    let script = match step.text("script") {
        Some(script) => script.to_owned(),
        None => case.setup.scenario.agent.clone(),
    };
    match (script.trim(), case.setup.agent) {
        ("", _) => String::new(),
        (script, AgentMode::Host) => format!("{HEADER}\n{script}"),
        // Outside of the host it has to be said whose conversation this is.
        (script, AgentMode::Model | AgentMode::Acp | AgentMode::Fixed) => {
            format!("{HEADER}\n{CASE} {} {}\n{script}", case.setup.name, step.span.start)
        }
    }
}

fn turn(case: &Case, step: &Step) -> Vec<Act> {
    let span = step.span;
    let script = script(case, step);
    let text = match step.template("text") {
        Some(text) if script.is_empty() => text.clone(),
        Some(text) => text.followed_by(&format!("\n\n{script}")),
        None if script.is_empty() => Template::fixed(span, json!("hello")),
        None => Template::fixed(span, json!(script)),
    };
    let mut message = vec![
        ("text".to_owned(), text),
        ("origin".to_owned(), Template::fixed(span, json!({"kind": "user"}))),
    ];
    let attached = step.template("attachments").cloned();
    message.extend(attached.map(|list| ("attachments".to_owned(), list)));
    let message = Template::map(span, message);
    let usual = vec![
        ("type", Template::fixed(span, json!("chat/turnStarted"))),
        ("turnId", step.template("id").cloned().unwrap_or_else(|| empty(span))),
        ("startedAt", Template::now(span)),
        ("message", message),
    ];
    vec![Act::Dispatch {
        peer: peer(case, step, "by"),
        channel: step.template("chat").cloned().unwrap_or_else(|| Template::hole(span, "chat")),
        action: merged(span, usual, step.template("members")),
        seq: None,
        settle: settle(step),
        bind: None,
    }]
}

/// A snapshot by a fresh observer, or by the client that is named.
fn snapshot(case: &mut Case, step: &Step) -> Vec<Act> {
    let state = step.pattern("state").cloned().unwrap_or_else(|| Pattern::anything(step.span));
    let observer = match step.clients("by").first() {
        Some(_) => None,
        None => Some(case.add_peer("observer")),
    };
    let asks = |peer| Act::Request {
        peer,
        method: "subscribe".to_owned(),
        params: subscribe_params(case, step, step.template("of")),
        want: Want::State(state),
        exact: step.flag("exact"),
        keep: Keep { bind: step.text("as").map(str::to_owned), default_chat: None },
    };
    match observer {
        Some(peer) => {
            let asks = asks(peer);
            let mut acts = vec![Act::Connect(peer)];
            acts.extend(initialize(case, step, peer));
            acts.push(asks);
            acts.push(Act::Hang { peer, graceful: true });
            acts
        }
        None => vec![asks(peer(case, step, "by"))],
    }
}

fn raw(step: &Step) -> RawFrame {
    let template = |name| step.template(name).cloned();
    if let Some(value) = template("mangle") {
        return RawFrame::Mangled(value);
    }
    if let Some(depth) = step.count("depth") {
        return RawFrame::Nested(depth);
    }
    if let Some(bytes) = step.count("flood") {
        return RawFrame::Flood(bytes);
    }
    match (template("raw"), template("json"), template("binary"), step.count("size")) {
        (Some(text), ..) => RawFrame::Text(text),
        (_, Some(value), ..) => RawFrame::Json(value),
        (_, _, Some(bytes), _) => RawFrame::Binary(bytes),
        (.., size) => RawFrame::Padded(size.unwrap_or_default()),
    }
}

fn reconnect(step: &Step, peer: PeerId) -> Vec<Act> {
    let of_type = |name: &str, pattern: &Pattern| {
        let kind = Pattern::equal(Template::fixed(pattern.span, json!(name)));
        let kind = Pattern::map(pattern.span, vec![("type".to_owned(), kind)]);
        Want::Result(Some(Pattern::both(kind, pattern.clone())))
    };
    let want = match (step.pattern("replay"), step.pattern("snapshot")) {
        (Some(pattern), _) => of_type("replay", pattern),
        (_, Some(pattern)) => of_type("snapshot", pattern),
        _ => want(step),
    };
    vec![
        Act::Connect(peer),
        Act::Reconnect {
            peer,
            subscriptions: step.template("subscriptions").cloned(),
            last_seen: step.template("lastSeen").cloned(),
            want,
            keep: Keep { bind: step.text("as").map(str::to_owned), default_chat: None },
        },
    ]
}

/// To an agent that the host keeps, a release travels in band, as a steering message that the agent
/// takes for itself. To others it could not: nobody reads their conversation while they hold.
fn release(case: &mut Case, step: &Step) -> Vec<Act> {
    let span = step.span;
    let hold = step.text("hold").unwrap_or_default();
    if case.setup.agent != AgentMode::Host || case.is_acp() {
        return vec![Act::Release(hold.to_owned())];
    }
    let text = format!("{} {hold}", RELEASE);
    let id = case.mint.fresh();
    let action: Value = json!({
        "type": "chat/pendingMessageSet",
        "kind": "steering",
        "id": format!("release-{id}"),
        "message": {"text": text, "origin": {"kind": "user"}},
    });
    vec![Act::Dispatch {
        peer: peer(case, step, "by"),
        channel: step.template("chat").cloned().unwrap_or_else(|| Template::hole(span, "chat")),
        action: Template::fixed(span, action),
        seq: None,
        settle: None,
        bind: None,
    }]
}

/// Whether a scenario answers what the host asks a client, by this method where one is given.
pub fn serves(scenario: &Scenario, client: &str, method: Option<&str>) -> bool {
    let asked = |step: &Step| {
        step.verb == Verb::Asked
            && step.clients("at").iter().any(|it| it == client)
            && method.is_none_or(|method| step.text("method") == Some(method))
    };
    scenario.steps.iter().any(asked)
}

/// Whether any step looks at what a client made of a channel by itself.
pub fn needs_mirrors(scenario: &Scenario) -> bool {
    scenario.steps.iter().any(|step| step.verb == Verb::Mirror)
}
