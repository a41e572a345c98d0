//! Expands steps into tasks. A compound step (`open`, `snapshot`, `reconnect`) becomes the same tasks as the simple
//! steps that an author could have written instead.

use crate::agent::mode::AgentMode;
use crate::agent::script::RELEASE;
use crate::wire::json::{Value, json};

use crate::peer::guise::ClientCredentials;
use crate::scenario::bind::ValueTemplate;
use crate::scenario::parse::ScenarioStep;
use crate::scenario::pattern::ValuePattern;
use crate::scenario::source::SourceSpan;
use crate::scenario::verbs::StepVerb;
use crate::wire::channel::ROOT;

use super::agent_steps;
use super::case::ScenarioCase;
use super::case_peers::PeerId;
use super::client_steps;
use super::goal::{DispatchGoal, OpeningGoal, RequestGoal, ResultUse};
use super::message_filter::{FilterMode, MessageFilter, ResponseSide};
use super::step_members::{empty, merged, peer, peers, script, want};
use super::task::{RawFrame, StepTask, TaskAct};

impl ScenarioCase {
    /// Returns the tasks of one step.
    pub(super) fn tasks_of(&mut self, index: usize, step: &ScenarioStep) -> Vec<StepTask> {
        let within = step.duration("within");
        let acts = match step.verb {
            StepVerb::Initialize | StepVerb::Open if self.is_acp() => {
                agent_steps::opening(self, step)
            }
            StepVerb::Prompt => agent_steps::prompt(self, step),
            StepVerb::Permit => agent_steps::permit(self, step),
            StepVerb::Disk => agent_steps::disk(self, step),
            StepVerb::Called => agent_steps::called(step),
            StepVerb::Call => agent_steps::call(self, step),
            StepVerb::Texts => agent_steps::texts(self, step),
            StepVerb::Connect => {
                let by = peers(self, step, "by").into_iter();
                by.map(|peer| come(step, peer)).collect()
            }
            StepVerb::Initialize => {
                let by = peers(self, step, "by");
                by.into_iter().flat_map(|peer| initialize(self, step, peer)).collect()
            }
            StepVerb::Open => open(self, step),
            StepVerb::Request => vec![TaskAct::Request {
                peer: peer(self, step, "by"),
                method: step.text("method").unwrap_or_default().to_owned(),
                params: step.template("params").cloned().unwrap_or_else(|| empty(step.span)),
                want: want(step),
                exact: step.flag("exact"),
                keep: ResultUse { bind: step.text("as").map(str::to_owned), default_chat: None },
            }],
            StepVerb::Notify => vec![TaskAct::Notify {
                peer: peer(self, step, "by"),
                method: step.text("method").unwrap_or_default().to_owned(),
                params: step.template("params").cloned().unwrap_or_else(|| empty(step.span)),
            }],
            StepVerb::Dispatch => vec![TaskAct::Dispatch {
                peer: peer(self, step, "by"),
                channel: step.template("channel").cloned().unwrap_or_else(|| empty(step.span)),
                action: step.template("action").cloned().unwrap_or_else(|| empty(step.span)),
                seq: step.template("clientSeq").cloned(),
                settle: settle(step),
                bind: step.text("as").map(str::to_owned),
            }],
            StepVerb::Turn => turn(self, step),
            StepVerb::Subscribe => peers(self, step, "by")
                .into_iter()
                .map(|peer| TaskAct::Request {
                    peer,
                    method: "subscribe".to_owned(),
                    params: subscribe_params(self, step, step.template("channel")),
                    want: want(step),
                    exact: false,
                    keep: ResultUse {
                        bind: step.text("as").map(str::to_owned),
                        default_chat: None,
                    },
                })
                .collect(),
            StepVerb::Unsubscribe => peers(self, step, "by")
                .into_iter()
                .map(|peer| TaskAct::Notify {
                    peer,
                    method: "unsubscribe".to_owned(),
                    params: with_channel(step.span, step.template("channel")),
                })
                .collect(),
            StepVerb::Expect | StepVerb::Next | StepVerb::Await => peers(self, step, "at")
                .into_iter()
                .map(|peer| TaskAct::Await {
                    peer,
                    filter: filter(step),
                    channel: step.template("channel").cloned(),
                    mode: match step.verb {
                        StepVerb::Next => FilterMode::Next,
                        StepVerb::Await => FilterMode::Look,
                        _ => FilterMode::First,
                    },
                })
                .collect(),
            StepVerb::Never => peers(self, step, "at")
                .into_iter()
                .map(|peer| TaskAct::Watch {
                    peer,
                    filter: filter(step),
                    channel: step.template("channel").cloned(),
                })
                .collect(),
            StepVerb::Barrier => vec![TaskAct::Barrier {
                peer: peer(self, step, "by"),
                channel: step.template("channel").cloned(),
            }],
            StepVerb::Snapshot => snapshot(self, step),
            StepVerb::Mirror if self.tests(step) => vec![client_steps::state(step)],
            StepVerb::Mirror => peers(self, step, "at")
                .into_iter()
                .filter_map(|peer| {
                    Some(TaskAct::Mirror {
                        peer,
                        channel: step.template("of")?.clone(),
                        state: step.pattern("state")?.clone(),
                        exact: step.flag("exact"),
                    })
                })
                .collect(),
            StepVerb::Send => vec![TaskAct::Send {
                peer: peer(self, step, "by"),
                frame: raw(step),
                times: step.count("times").unwrap_or(1),
            }],
            StepVerb::Asked => vec![TaskAct::Asked {
                peer: peer(self, step, "at"),
                method: step.text("method").unwrap_or_default().to_owned(),
                id: step
                    .pattern("id")
                    .cloned()
                    .unwrap_or_else(|| ValuePattern::anything(step.span)),
                params: step.pattern("where").cloned(),
            }],
            StepVerb::Serve => {
                let given = |name| step.template(name).cloned();
                let missing = || ValueTemplate::fixed(step.span, Value::Null);
                vec![TaskAct::Serve {
                    peer: peer(self, step, "by"),
                    folder: given("folder").unwrap_or_else(missing),
                    files: given("files").unwrap_or_else(missing),
                    withheld: step.clients("withholds").to_vec(),
                    writable: step.flag("writable"),
                }]
            }
            StepVerb::Pause | StepVerb::Resume => peers(self, step, "by")
                .into_iter()
                .map(|peer| TaskAct::Hold { peer, paused: step.verb == StepVerb::Pause })
                .collect(),
            StepVerb::Answer if self.tests(step) => vec![client_steps::answer(step)],
            StepVerb::Drive => vec![client_steps::drive(step)],
            StepVerb::Respond => vec![client_steps::respond(step)],
            StepVerb::Publish => vec![client_steps::publish(step)],
            StepVerb::Refuse => vec![client_steps::refuse(step)],
            StepVerb::Answer => vec![TaskAct::Answer {
                peer: peer(self, step, "at"),
                id: step
                    .pattern("id")
                    .cloned()
                    .unwrap_or_else(|| ValuePattern::anything(step.span)),
                want: match (step.flag("none"), step.pattern("error")) {
                    (true, None) => None,
                    _ => Some(want(step)),
                },
                silent: step.flag("none"),
                keep: ResultUse { bind: step.text("as").map(str::to_owned), default_chat: None },
            }],
            StepVerb::Drop => peers(self, step, "by")
                .into_iter()
                .map(|peer| TaskAct::Hang { peer, graceful: false })
                .collect(),
            StepVerb::Reconnect => {
                peers(self, step, "by").into_iter().flat_map(|peer| reconnect(step, peer)).collect()
            }
            StepVerb::Closed => {
                peers(self, step, "at").into_iter().map(TaskAct::AwaitClosed).collect()
            }
            StepVerb::Release => release(self, step),
            StepVerb::Restart => vec![TaskAct::Restart { crash: step.flag("crash") }],
            StepVerb::Rest => {
                let act = TaskAct::Rest;
                let within = step.duration("for");
                return vec![StepTask { step: Some(index), within, act, prepares: false }];
            }
            // The loader has already replaced this step with the fragment's steps.
            StepVerb::Include => Vec::new(),
        };
        let task =
            |act| StepTask { step: Some(index), within, prepares: prepares(step.verb, &act), act };
        acts.into_iter().map(task).collect()
    }
}

/// Returns whether an act only prepares the main act of its step, such as the handshake of an observer.
fn prepares(verb: StepVerb, act: &TaskAct) -> bool {
    match (verb, act) {
        (StepVerb::Snapshot, TaskAct::Request { method, .. }) => method != "subscribe",
        (StepVerb::Initialize, TaskAct::Request { method, .. }) => method == "authenticate",
        (StepVerb::Snapshot | StepVerb::Reconnect, TaskAct::Connect(_) | TaskAct::Hang { .. }) => {
            true
        }
        _ => false,
    }
}

fn come(step: &ScenarioStep, peer: PeerId) -> TaskAct {
    let want = match (step.pattern("refused"), step.flag("perhaps")) {
        (Some(status), _) => OpeningGoal::Refused(status.clone()),
        (None, true) => OpeningGoal::Either,
        (None, false) => OpeningGoal::Stands,
    };
    let credentials =
        step.text("credentials").and_then(ClientCredentials::named).unwrap_or_default();
    TaskAct::Come { peer, credentials, origin: step.template("origin").cloned(), want }
}

fn with_channel(span: SourceSpan, channel: Option<&ValueTemplate>) -> ValueTemplate {
    let channel = channel.cloned().unwrap_or_else(|| ValueTemplate::fixed(span, json!(ROOT)));
    ValueTemplate::map(span, vec![("channel".to_owned(), channel)])
}

fn settle(step: &ScenarioStep) -> Option<DispatchGoal> {
    if let Some(pattern) = step.pattern("accept") {
        return Some(DispatchGoal::Accept(pattern.clone()));
    }
    if let Some(pattern) = step.pattern("reject") {
        return Some(DispatchGoal::Reject(pattern.clone()));
    }
    match (step.flag("ignored"), step.flag("refused")) {
        (true, _) => Some(DispatchGoal::Ignored),
        (_, true) => Some(DispatchGoal::Refused),
        _ => None,
    }
}

fn filter(step: &ScenarioStep) -> MessageFilter {
    MessageFilter {
        span: step.span,
        action: step.text("type").map(str::to_owned),
        method: step.text("method").map(str::to_owned),
        channel: None,
        params: step.pattern("where").cloned(),
        exact: step.flag("exact"),
        beyond: step.count("beyond").unwrap_or_default(),
        unless: step.text("unless").map(str::to_owned),
        beside: [(ResponseSide::Before, "before"), (ResponseSide::After, "after")]
            .into_iter()
            .find_map(|(side, member)| Some(Box::new((side, step.text(member)?.to_owned())))),
        order: None,
    }
}

/// Returns the tasks of the handshake and of the authentication with the run's tokens.
fn initialize(case: &ScenarioCase, step: &ScenarioStep, peer: PeerId) -> Vec<TaskAct> {
    let versions = step.template("versions").cloned();
    let versions =
        versions.unwrap_or_else(|| ValueTemplate::fixed(step.span, json!(case.setup().offers)));
    let mut usual = vec![
        ("channel", ValueTemplate::fixed(step.span, json!(ROOT))),
        ("protocolVersions", versions),
        ("clientId", ValueTemplate::fixed(step.span, json!(case.client_id(peer)))),
    ];
    if let Some(subscribe) = step.template("subscribe") {
        usual.push(("initialSubscriptions", subscribe.clone()));
    } else if step.flag("root") {
        usual.push(("initialSubscriptions", ValueTemplate::fixed(step.span, json!([ROOT]))));
    }
    let asks = TaskAct::Request {
        peer,
        method: "initialize".to_owned(),
        params: merged(step.span, usual, step.template("params")),
        want: if step.verb == StepVerb::Initialize {
            want(step)
        } else {
            RequestGoal::Result(None)
        },
        exact: false,
        keep: ResultUse {
            bind: step.text("as").filter(|_| step.verb == StepVerb::Initialize).map(str::to_owned),
            default_chat: None,
        },
    };
    let succeeds = matches!(&asks, TaskAct::Request { want: RequestGoal::Result(_), .. });
    let mut acts = vec![asks];
    if succeeds && !step.denies("tokens") {
        acts.extend(case.setup().authenticate.iter().map(|(resource, token)| TaskAct::Request {
            peer,
            method: "authenticate".to_owned(),
            params: ValueTemplate::fixed(step.span, json!({"resource": resource, "token": token})),
            want: match case.setup().needs_token(resource) {
                true => RequestGoal::Result(None),
                false => RequestGoal::Anything,
            },
            exact: false,
            keep: ResultUse::default(),
        }));
    }
    acts
}

fn open(case: &mut ScenarioCase, step: &ScenarioStep) -> Vec<TaskAct> {
    let span = step.span;
    let session = step.text("session").unwrap_or("session").to_owned();
    let chat = step.text("chat").unwrap_or("chat").to_owned();
    let by = peers(case, step, "by");
    let mut acts = Vec::new();
    for peer in by.iter().copied().filter(|peer| !case.is_connected(*peer)).collect::<Vec<_>>() {
        acts.push(TaskAct::Connect(peer));
        acts.extend(initialize(case, step, peer));
    }
    if case.names.get(&session).is_none() {
        let id = case.names.fresh();
        let uri = case.setup().forms.session(&id, case.setup().provider.as_deref());
        case.names.set(&session, json!(uri));
        let mut usual = vec![("channel", ValueTemplate::hole(span, &session))];
        if let Some(provider) = &case.setup().provider {
            usual.push(("provider", ValueTemplate::fixed(span, json!(provider))));
        }
        acts.push(TaskAct::Request {
            peer: by.first().copied().unwrap_or_default(),
            method: "createSession".to_owned(),
            params: merged(span, usual, step.template("config")),
            want: RequestGoal::Result(None),
            exact: false,
            keep: ResultUse::default(),
        });
    }
    let subscribe = |peer, channel: &str, default_chat| TaskAct::Request {
        peer,
        method: "subscribe".to_owned(),
        params: subscribe_params(case, step, Some(&ValueTemplate::hole(span, channel))),
        want: RequestGoal::Result(None),
        exact: false,
        keep: ResultUse { bind: None, default_chat },
    };
    // In versions without chat channels, the session is its own chat.
    let apart = case.edge().has_chats();
    for peer in by {
        acts.push(subscribe(peer, &session, Some(chat.clone())));
        let hole = ValueTemplate::hole(span, &session);
        acts.push(TaskAct::DefaultChat { peer, session: hole, bind: chat.clone() });
        if apart {
            acts.push(subscribe(peer, &chat, None));
        }
    }
    acts
}

/// Returns the params of a subscription. If the version supports it, the params request delivery without delay.
fn subscribe_params(
    case: &ScenarioCase,
    step: &ScenarioStep,
    channel: Option<&ValueTemplate>,
) -> ValueTemplate {
    let channel = channel.cloned().unwrap_or_else(|| ValueTemplate::fixed(step.span, json!(ROOT)));
    let mut usual = vec![("channel", channel)];
    if case.delays_can_be_declined() {
        let none = ValueTemplate::fixed(step.span, json!({"maxLatencyMs": 0}));
        usual.push(("delivery", none));
    }
    let more = if step.verb == StepVerb::Subscribe { step.template("params") } else { None };
    merged(step.span, usual, more)
}

fn turn(case: &ScenarioCase, step: &ScenarioStep) -> Vec<TaskAct> {
    let span = step.span;
    let script = script(case, step);
    let text = match step.template("text") {
        Some(text) if script.is_empty() => text.clone(),
        Some(text) => text.followed_by(&format!("\n\n{script}")),
        None if script.is_empty() => ValueTemplate::fixed(span, json!("hello")),
        None => ValueTemplate::fixed(span, json!(script)),
    };
    let mut message = vec![
        ("text".to_owned(), text),
        ("origin".to_owned(), ValueTemplate::fixed(span, json!({"kind": "user"}))),
    ];
    for member in ["attachments", "model"] {
        message.extend(step.template(member).cloned().map(|value| (member.to_owned(), value)));
    }
    let message = ValueTemplate::map(span, message);
    let usual = vec![
        ("type", ValueTemplate::fixed(span, json!("chat/turnStarted"))),
        ("turnId", step.template("id").cloned().unwrap_or_else(|| empty(span))),
        ("startedAt", ValueTemplate::now(span)),
        ("message", message),
    ];
    vec![TaskAct::Dispatch {
        peer: peer(case, step, "by"),
        channel: step
            .template("chat")
            .cloned()
            .unwrap_or_else(|| ValueTemplate::hole(span, "chat")),
        action: merged(span, usual, step.template("members")),
        seq: None,
        settle: settle(step),
        bind: None,
    }]
}

/// Returns the tasks of a `snapshot` step. If the step names a client, this client requests the snapshot; otherwise a
/// new client that only observes does.
fn snapshot(case: &mut ScenarioCase, step: &ScenarioStep) -> Vec<TaskAct> {
    let state = step.pattern("state").cloned().unwrap_or_else(|| ValuePattern::anything(step.span));
    let root = || ValueTemplate::fixed(step.span, json!(ROOT));
    let channel = step.template("of").cloned().unwrap_or_else(root);
    let observer = match step.clients("by").first() {
        Some(_) => None,
        None => Some(case.add_peer("observer")),
    };
    let asks = |peer| TaskAct::Request {
        peer,
        method: "subscribe".to_owned(),
        params: subscribe_params(case, step, step.template("of")),
        want: RequestGoal::State(state, channel),
        exact: step.flag("exact"),
        keep: ResultUse { bind: step.text("as").map(str::to_owned), default_chat: None },
    };
    match observer {
        Some(peer) => {
            let asks = asks(peer);
            let mut acts = vec![TaskAct::Connect(peer)];
            acts.extend(initialize(case, step, peer));
            acts.push(asks);
            acts.push(TaskAct::Hang { peer, graceful: true });
            acts
        }
        None => vec![asks(peer(case, step, "by"))],
    }
}

fn raw(step: &ScenarioStep) -> RawFrame {
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

fn reconnect(step: &ScenarioStep, peer: PeerId) -> Vec<TaskAct> {
    let of_type = |name: &str, pattern: &ValuePattern| {
        let kind = ValuePattern::equal(ValueTemplate::fixed(pattern.span, json!(name)));
        let kind = ValuePattern::map(pattern.span, vec![("type".to_owned(), kind)]);
        RequestGoal::Result(Some(ValuePattern::both(kind, pattern.clone())))
    };
    let want = match (step.pattern("replay"), step.pattern("snapshot")) {
        (Some(pattern), _) => of_type("replay", pattern),
        (_, Some(pattern)) => of_type("snapshot", pattern),
        _ => want(step),
    };
    vec![
        TaskAct::Connect(peer),
        TaskAct::Reconnect {
            peer,
            subscriptions: step.template("subscriptions").cloned(),
            last_seen: step.template("lastSeen").cloned(),
            want,
            keep: ResultUse { bind: step.text("as").map(str::to_owned), default_chat: None },
        },
    ]
}

/// Returns the task that releases an agent's hold. The host's own agent is released by a steering message in its chat,
/// which the agent consumes. Other agents do not read their conversation during a hold, so the driver releases them.
fn release(case: &mut ScenarioCase, step: &ScenarioStep) -> Vec<TaskAct> {
    let span = step.span;
    let hold = step.text("hold").unwrap_or_default();
    if case.setup().agent != AgentMode::Host || case.is_acp() {
        return vec![TaskAct::Release(hold.to_owned())];
    }
    let text = format!("{} {hold}", RELEASE);
    let id = case.names.fresh();
    let action: Value = json!({
        "type": "chat/pendingMessageSet",
        "kind": "steering",
        "id": format!("release-{id}"),
        "message": {"text": text, "origin": {"kind": "user"}},
    });
    vec![TaskAct::Dispatch {
        peer: peer(case, step, "by"),
        channel: step
            .template("chat")
            .cloned()
            .unwrap_or_else(|| ValueTemplate::hole(span, "chat")),
        action: ValueTemplate::fixed(span, action),
        seq: None,
        settle: None,
        bind: None,
    }]
}
