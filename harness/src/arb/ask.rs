//! Generates requests. The params of a request come from the protocol tables, with existing channels, files and
//! identifiers; some requests have a named deviation.
//!
//! Knows: the tables, typical values of params members. Never knows: the legality of requests (the stage
//! decides it).
//!
//! Start at [`ask`].

use crate::host::protected::TOKEN;
use crate::reducers::aim::StateTargets;
use crate::wire::channel::ChannelKind;
use crate::wire::json::{Value, json};

use super::builder::ConversationBuilder;
use super::draft_step::{members_mut, minted, replace, with_chat_of_session};
use super::files::{FILES, OWN, file, has_folder};
use super::generated_action::FOLDERS;
use super::observe::look;
use super::rules;
use super::step_result::{ActionLogEntry, ClientStepResult};
use super::subscribe::{follow, subscription};

/// The prefixes of methods about files.
const FILED: [&str; 2] = ["resource", "createResourceWatch"];

/// The requirement that a step cites if no other requirement covers the result of the reference host.
const SERVED: &str = "jsonrpc.response.exactly-one";

/// The percentage of requests with a deviation.
const DEVIANT: usize = 20;

/// The channel of a request.
enum RequestChannel {
    /// The root channel.
    Root,
    /// A channel of this kind.
    Of(ChannelKind),
    /// A new URI with this scheme.
    New(&'static str),
    /// The channel of automations.
    Automations,
}

type RequestFit = fn(&mut ConversationBuilder, &str, &mut Value);

/// A method: its name, its channel, and the adjustment that makes its params meaningful.
struct RequestRow {
    method: &'static str,
    on: RequestChannel,
    fit: RequestFit,
}

const fn row(method: &'static str, on: RequestChannel, fit: RequestFit) -> RequestRow {
    RequestRow { method, on, fit }
}

const ROWS: &[RequestRow] = &[
    row("ping", RequestChannel::Root, |_, _, _| {}),
    row("listSessions", RequestChannel::Root, |builder, _, params| {
        *params = json!({});
        match builder.dice.below(5) {
            0 => params["limit"] = json!(1),
            1 => params["limit"] = json!(2),
            2 => params["cursor"] = json!("no such cursor"),
            _ => {}
        }
    }),
    row("createSession", RequestChannel::New("ahp-session:/"), |builder, client, params| {
        let mut new = json!({});
        if builder.dice.chance(20) {
            new["workingDirectories"] =
                json!([FOLDERS[0], FOLDERS[builder.dice.below(FOLDERS.len())]]);
        }
        if builder.dice.chance(20) {
            new["progressToken"] = json!(format!("p{}", builder.number()));
        }
        if builder.dice.chance(15) {
            new["activeClient"] = json!({"clientId": client, "tools": [{"name": "look"}]});
        }
        if builder.dice.chance(8) {
            new["provider"] = json!("no-such-provider");
        } else if builder.conditions.reference
            && builder.dice.chance(if ["token", "provider"].contains(&builder.focus) {
                80
            } else {
                10
            })
        {
            new["provider"] = provider(builder);
        }
        *params = new;
    }),
    row("disposeSession", RequestChannel::Of(ChannelKind::Session), |_, _, params| {
        *params = json!({})
    }),
    row("createChat", RequestChannel::Of(ChannelKind::Session), |builder, _, params| {
        let mut new = json!({"chat": format!("${{new chat chat{}}}", builder.number())});
        if builder.conditions.agent.is_some() && builder.dice.chance(25) {
            new["initialMessage"] = json!({"text": "first", "origin": {"kind": "user"}});
        }
        if builder.dice.chance(15) {
            new["workingDirectories"] = json!([FOLDERS[builder.dice.below(FOLDERS.len())]]);
        }
        if builder.dice.chance(40) {
            new["source"] = source(builder, params);
        }
        *params = new;
    }),
    row("disposeChat", RequestChannel::Of(ChannelKind::Chat), |_, _, params| *params = json!({})),
    row("moveChat", RequestChannel::Of(ChannelKind::Chat), |builder, _, params| {
        let sessions = builder.channels(ChannelKind::Session);
        let chats = builder.channels(ChannelKind::Chat);
        if let Some((uri, _)) = builder.dice.pick(&sessions).cloned() {
            replace(params, &mut |name, _| (name == "session").then(|| json!(uri)));
            params["destination"] = match builder.dice.below(4) {
                0 => json!({"kind": "newSession"}),
                _ => json!({"kind": "session", "session": uri}),
            };
        }
        let after = builder.dice.chance(30) && params["destination"]["kind"] == "session";
        if after && let Some((uri, _)) = builder.dice.pick(&chats) {
            params["destination"]["after"] = json!(uri);
        } else if let Some((uri, _)) = builder.dice.pick(&chats) {
            replace(params, &mut |name, _| (name == "chat").then(|| json!(uri)));
        }
    }),
    row("fetchTurns", RequestChannel::Of(ChannelKind::Chat), |builder, _, params| {
        *params = match builder.dice.below(3) {
            0 => json!({"cursor": "no such cursor"}),
            _ => json!({}),
        };
    }),
    row("completions", RequestChannel::Of(ChannelKind::Chat), |_, _, _| {}),
    row("resolveSessionConfig", RequestChannel::Root, |_, _, params| *params = json!({})),
    row("authenticate", RequestChannel::Root, |builder, _, params| {
        let resources = resources(builder);
        let resource =
            builder.dice.pick(&resources).filter(|_| builder.dice.clone().chance(80)).cloned();
        let resource = resource.unwrap_or_else(|| json!("https://nobody.example.com"));
        // The generator knows the valid token of the reference host, but not the tokens of other hosts.
        let valid = builder.conditions.reference && builder.dice.chance(60);
        let mut token = if valid { TOKEN.1 } else { "a-token-of-nobody" };
        if builder.dice.chance(25) {
            token = "";
        }
        *params = json!({"resource": resource, "token": token});
        if valid && builder.dice.chance(20) {
            params["expiresIn"] = json!(1);
        }
    }),
    row("createTerminal", RequestChannel::New("ahp-terminal:/"), |builder, client, params| {
        *params = json!({"claim": {"kind": "client", "clientId": client}});
        if builder.dice.chance(30) {
            params["name"] = json!("shell");
        }
        if builder.dice.chance(30) {
            (params["cols"], params["rows"]) = (json!(91), json!(23));
        }
        if builder.dice.chance(12) {
            let others: Vec<String> =
                builder.present().iter().filter_map(|it| Some(builder.connection(it)?.0)).collect();
            let other = others.into_iter().find(|other| other != client);
            params["claim"]["clientId"] = json!(other.unwrap_or_else(|| "nobody".to_owned()));
        }
    }),
    row("disposeTerminal", RequestChannel::Of(ChannelKind::Terminal), |_, _, params| {
        *params = json!({})
    }),
    row(
        "invokeChangesetOperation",
        RequestChannel::Of(ChannelKind::Changeset),
        |builder, _, params| {
            let name = builder.dice.pick(&["revert", "revert", "publish", "nothing"]).copied();
            *params = json!({"operationId": name});
            let range =
                json!({"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}});
            match builder.dice.below(3) {
                0 => params["target"] = json!({"kind": "resource", "resource": FILES[0]}),
                1 => {
                    params["target"] =
                        json!({"kind": "range", "resource": FILES[0], "range": range})
                }
                _ => {}
            }
        },
    ),
    row("runAutomation", RequestChannel::Automations, |builder, _, params| {
        let request = format!("r{}", builder.dice.below(2));
        *params = json!({"automation": automation(builder), "requestId": request});
    }),
    row("fetchAutomationRuns", RequestChannel::Automations, |builder, _, params| {
        *params = json!({"automation": automation(builder)});
    }),
    row("listAutomationTriggerDefinitions", RequestChannel::Automations, |_, _, params| {
        *params = json!({})
    }),
    row("createResourceWatch", RequestChannel::Root, |builder, _, params| {
        let common = builder.dice.chance(70) && has_folder(builder);
        let folder = if common { json!(OWN) } else { file(builder) };
        *params = json!({"uri": folder, "recursive": builder.dice.chance(60)});
        if builder.dice.chance(40) {
            params["excludes"] = json!({"items": ["*.log"]});
        }
        if builder.dice.chance(20) {
            params["includes"] = json!({"items": ["**/*.txt"]});
        }
    }),
    row("resourceRead", RequestChannel::Root, |builder, _, params| {
        let uri = file(builder);
        *params = json!({"uri": uri});
    }),
    row("resourceWrite", RequestChannel::Root, |builder, _, params| {
        let text = format!("text {}", builder.number());
        *params = json!({"uri": file(builder), "data": text, "encoding": "utf-8"});
        match builder.dice.below(8) {
            0 | 1 => params["createOnly"] = json!(true),
            2 => params["mode"] = json!("append"),
            3 => params["ifMatch"] = json!("no such tag"),
            _ => {}
        }
    }),
    row("resourceWrite", RequestChannel::Root, |builder, _, params| {
        *params = json!({"uri": file(builder), "data": "again", "encoding": "utf-8"});
    }),
    row("resourceMkdir", RequestChannel::Root, |builder, _, params| {
        *params = json!({"uri": file(builder)})
    }),
    row("resourceList", RequestChannel::Root, |builder, _, params| {
        *params = json!({"uri": file(builder)})
    }),
    row("resourceResolve", RequestChannel::Root, |builder, _, params| {
        *params = json!({"uri": file(builder)})
    }),
    row("resourceMkdir", RequestChannel::Root, |builder, _, params| {
        *params = json!({"uri": file(builder)})
    }),
    row("resourceDelete", RequestChannel::Root, |builder, _, params| {
        *params = json!({"uri": file(builder)});
        if builder.dice.chance(30) {
            params["recursive"] = json!(true);
        }
    }),
    row("resourceCopy", RequestChannel::Root, two_files),
    row("resourceMove", RequestChannel::Root, two_files),
    row("resourceRequest", RequestChannel::Root, |builder, _, params| {
        let right = builder.dice.pick(&["read", "write"]).copied().unwrap_or("read");
        *params = json!({"uri": file(builder)});
        params[right] = json!(true);
    }),
];

/// Returns the agents in the root state.
fn agents(builder: &ConversationBuilder) -> Vec<Value> {
    let state = builder.channels(ChannelKind::Root).pop().unwrap_or_default().1;
    state["agents"].as_array().cloned().unwrap_or_default()
}

/// Returns the agents that need tokens.
fn protected(agents: &[Value]) -> Vec<Value> {
    agents.iter().filter(|it| it["protectedResources"].is_array()).cloned().collect()
}

/// Returns a provider of the host, usually of an agent that needs a token.
fn provider(builder: &mut ConversationBuilder) -> Value {
    let agents = agents(builder);
    let protected = protected(&agents);
    let asked = builder.dice.chance(80) && builder.focus != "provider";
    let from = if asked { &protected } else { &agents };
    builder.dice.pick(from).map_or(json!("no-such-provider"), |it| it["provider"].clone())
}

/// Returns the resources for which the host's agents need tokens.
fn resources(builder: &ConversationBuilder) -> Vec<Value> {
    let agents = agents(builder);
    let all =
        agents.iter().flat_map(|it| it["protectedResources"].as_array().into_iter().flatten());
    all.map(|it| it["resource"].clone()).collect()
}

fn two_files(builder: &mut ConversationBuilder, _: &str, params: &mut Value) {
    *params = json!({"source": file(builder), "destination": file(builder)});
    if builder.dice.chance(50) {
        params["failIfExists"] = json!(true);
    }
}

fn automation(builder: &mut ConversationBuilder) -> Value {
    let state = builder.channels(ChannelKind::Automations).pop().unwrap_or_default().1;
    let entries = state["entries"].as_array().cloned().unwrap_or_default();
    builder
        .dice
        .pick(&entries)
        .map_or(json!("ahp-automation:/nothing"), |it| it["resource"].clone())
}

/// Returns the source of a new chat: usually an existing chat and one of its turns.
fn source(builder: &mut ConversationBuilder, sampled: &Value) -> Value {
    let chats = builder.channels(ChannelKind::Chat);
    let kind = builder.dice.pick(&["fork", "sideChat"]).copied().unwrap_or("fork");
    let (uri, state) = builder.dice.pick(&chats).cloned().unwrap_or_default();
    let turns = state["turns"].as_array().cloned().unwrap_or_default();
    let turn = builder.dice.pick(&turns).map_or(json!("no-turn"), |turn| turn["id"].clone());
    let mut source = json!({"kind": kind, "chat": uri, "turnId": turn});
    if kind == "sideChat" && builder.dice.chance(60) {
        let text = if builder.dice.chance(75) { " selected  text " } else { "" };
        source["selection"] = json!({"text": text, "turnId": turn});
        if let Some(part) = sampled.pointer("/source/selection/responsePartId") {
            source["selection"]["responsePartId"] = part.clone();
        }
    }
    match builder.dice.below(8) {
        0 => source["chat"] = json!("ahp-chat:/nowhere"),
        1 => source["turnId"] = json!("no-turn"),
        _ => {}
    }
    source
}

/// Sends a request. Its method is one of those for which `wanted` returns true.
pub fn ask(
    builder: &mut ConversationBuilder,
    wanted: impl Fn(&str) -> bool,
) -> Option<ActionLogEntry> {
    let known =
        |row: &&RequestRow| wanted(row.method) && builder.protocol.method(row.method).is_some();
    let rows: Vec<&RequestRow> = ROWS.iter().filter(known).collect();
    let row = *builder.dice.pick(&rows)?;
    let by = builder.somebody()?;
    let (client, _) = builder.connection(&by)?;
    let params = builder.protocol.method(row.method)?.params_type.clone();
    let mut params = builder.sample(true, |sampler| sampler.of_type(&params))?;
    drop_channel(&mut params);
    let channel = channel(builder, &row.on)?;
    // The adjustment of the row comes last, because its new names must not be replaced by existing names.
    if let Some((_, state)) = channel.1 {
        StateTargets::of(&state).aim(&mut builder.dice, &mut params);
    }
    (row.fit)(builder, &client, &mut params);
    if let Some(uri) = channel.0 {
        params["channel"] = json!(uri);
    }
    let mut deviation = "legal";
    if builder.dice.chance(DEVIANT) {
        deviation = deviate(builder, row, &mut params);
    }
    let params = with_chat_of_session(builder.named(&params)?);
    let step = json!({"request": {
        "by": by, "method": row.method, "params": params, "result": true, "error": true,
    }});
    let broken = deviation == "missing-member" || deviation == "wrong-type";
    let came = send(builder, step, row.method, broken)?;
    if deviation == "again" {
        let again = builder.steps.iter().rev().find(|step| step.get("request").is_some()).cloned();
        let again = again.map(|mut step| {
            if let Some(members) = members_mut(&mut step) {
                members.remove("proves");
                members.insert("result", json!(true));
                members.insert("error", json!(true));
                members.remove("as");
            }
            minted(&step)
        });
        if let Some(again) = again {
            send(builder, again, row.method, false)?;
        }
    }
    Some((row.method.to_owned(), deviation, came))
}

fn send(
    builder: &mut ConversationBuilder,
    step: Value,
    method: &str,
    broken: bool,
) -> Option<ClientStepResult> {
    let params = step["request"]["params"].clone();
    let came = builder.act(step, |came, builder| {
        let rule = match came {
            ClientStepResult::Error(_) if broken => Some("jsonrpc.invalid-params.missing"),
            // Only the reference host certainly has these files.
            _ if !builder.conditions.reference && FILED.iter().any(|it| method.starts_with(it)) => {
                None
            }
            ClientStepResult::Error(code) => rules::of_request(method, Some(*code))
                .filter(|rule| builder.conditions.reference || is_reason(rule, &params)),
            // Other hosts may refuse the remaining requests, although the reference host answers them with a result.
            ClientStepResult::Result(_) => {
                rules::of_request(method, None).or(builder.conditions.reference.then_some(SERVED))
            }
            _ => None,
        };
        rule.map(str::to_owned)
    })?;
    if let ClientStepResult::Result(result) = &came {
        result_of(builder, method, result);
    }
    Some(came)
}

/// Returns whether a request names an object that never existed, so that every host has to answer with an error. If the
/// request names no such object, the reference host may have answered with an error for another reason, such as the
/// directories of a new chat, and another host may answer differently.
fn is_reason(rule: &str, params: &Value) -> bool {
    let place = match rule {
        "chat.create.source.unknown-chat" => "/source/chat",
        "automation.run.unknown" => "/automation",
        _ => return true,
    };
    // An object that exists or existed is named by a placeholder in the conversation.
    let named = |text: &str| text.starts_with("${");
    params.pointer(place).and_then(Value::as_str).is_some_and(|text| !named(text))
}

/// Adds the expected content of a result, and names for the identifiers that the result introduces.
fn result_of(builder: &mut ConversationBuilder, method: &str, result: &Value) {
    let names = builder.names();
    match method {
        "createChat" => announced(builder),
        "authenticate" if builder.conditions.reference => {
            expires(builder);
            guarded(builder);
        }
        "disposeSession" => left_behind(builder),
        "createResourceWatch" => {
            builder.bind_result(result);
            let watches = builder.channels(ChannelKind::ResourceWatch);
            let (Some((uri, _)), Some(by)) = (watches.last(), builder.somebody()) else { return };
            follow(builder, &by, uri);
            stir(builder, &by);
        }
        "resourceRead" if result["data"].is_string() && own(builder) => {
            builder.wants(json!({"data": result["data"].clone()}));
        }
        "runAutomation" => match names.symbolic(&result["resource"]) {
            Some(known) => builder.wants(json!({"resource": known})),
            None => builder.bind_result(result),
        },
        // One page does not have to contain every session.
        "listSessions" if paged(builder) => {}
        "listSessions" => {
            let items = result["items"].as_array().cloned().unwrap_or_default();
            let shown = |item: &Value| {
                let mut shown = json!({"resource": names.symbolic(&item["resource"])?});
                // The number and size of changes are predictable only on the reference host, whose files are known.
                let changes = item.get("changes").filter(|_| builder.conditions.reference);
                if let Some(changes) = changes {
                    shown["changes"] = changes.clone();
                }
                Some(shown)
            };
            let listed: Vec<Value> = items.iter().filter_map(shown).collect();
            builder.wants(json!({"items": {"$contains": listed}}));
            let step = builder.asked().and_then(members_mut);
            if let Some(members) = step.filter(|it| it.contains_key("proves")) {
                members.insert("proves", json!("root.listSessions.contains-created"));
            }
        }
        _ => {}
    }
}

/// Returns the last request of the conversation.
fn request(builder: &ConversationBuilder) -> Option<&Value> {
    builder.steps.iter().rev().find_map(|step| step.get("request"))
}

/// Returns whether the last request is about a file in this conversation's folder.
fn own(builder: &ConversationBuilder) -> bool {
    let uri = request(builder).map(|it| &it["params"]["uri"]);
    uri.and_then(Value::as_str).is_some_and(|uri| uri.starts_with(OWN))
}

/// Expects that the client that creates a chat sees the chat in the session's catalogue before it receives the
/// response.
fn announced(builder: &mut ConversationBuilder) {
    let Some(request) = request(builder).cloned() else {
        return;
    };
    let (by, params) = (request["by"].as_str().unwrap_or_default(), &request["params"]);
    let chat = minted(&params["chat"]);
    let session = params["channel"].as_str().unwrap_or_default();
    let uri = session.strip_prefix("${").and_then(|it| it.strip_suffix('}'));
    let uri = uri.and_then(|name| builder.stage().bindings().get(name)).and_then(Value::as_str);
    let follows =
        |uri: &str| builder.stage().client(by).is_some_and(|(client, _)| client.is_subscribed(uri));
    let followed = uri.is_some_and(follows);
    if followed {
        // The action must not arrive after the response.
        let never = json!({"never": {
            "at": by, "type": "session/chatAdded", "channel": session,
            "where": {"action": {"summary": {"resource": chat}}},
            "proves": "chat.create.added-before-response",
        }});
        builder.behind_request(vec![never, json!({"barrier": {"by": by}})]);
        builder.put(json!({"mirror": {
            "at": by, "of": session, "state": {"chats": {"$contains": [{"resource": chat}]}},
            "proves": "chat.create.added-before-response",
        }}));
    }
    if params.get("source").is_some() {
        let made = builder.channels(ChannelKind::Chat).pop().map(|row| row.0);
        look(builder, made);
    }
}

/// Expects that clients that sent no token are not notified when a token expires.
fn expires(builder: &mut ConversationBuilder) {
    let Some(request) = request(builder).cloned() else {
        return;
    };
    if request["params"].get("expiresIn").is_none() {
        return;
    }
    let brought = |by: &String| {
        let requests = builder.steps.iter().filter_map(|step| step.get("request"));
        requests.into_iter().any(|it| it["method"] == "authenticate" && it["by"] == by.as_str())
    };
    let others: Vec<String> = builder.present().into_iter().filter(|it| !brought(it)).collect();
    if others.is_empty() {
        return;
    }
    builder.put(json!({"never": {
        "at": others.clone(), "method": "auth/required", "proves": "auth.notification.audience",
    }}));
    builder.put(json!({"rest": {"for": "1500ms"}}));
    for by in others {
        builder.barrier(&by);
    }
}

/// Lets the client that sent or revoked a token create a session that needs a token.
fn guarded(builder: &mut ConversationBuilder) {
    let by = request(builder).and_then(|it| it["by"].as_str()).map(str::to_owned);
    let protected = protected(&agents(builder));
    let provider = builder.dice.pick(&protected).map(|it| it["provider"].clone());
    let (Some(by), Some(provider)) = (by, provider.filter(|_| builder.dice.chance(35))) else {
        return;
    };
    let channel = format!("ahp-session:/${{new made{}}}", builder.number());
    let step = json!({"request": {
        "by": by, "method": "createSession", "result": true, "error": true,
        "params": {"channel": channel, "provider": provider},
    }});
    send(builder, step, "createSession", false);
}

/// Subscribes to a channel that the host removed together with a session.
fn left_behind(builder: &mut ConversationBuilder) {
    let gone = builder.gone();
    let (by, uri) = (builder.somebody(), builder.dice.pick(&gone).cloned());
    if let (Some(by), Some(uri)) = (by, uri) {
        subscription(builder, &by, &uri, "unknown-channel");
    }
}

/// Writes two files below a watched folder: one that most filters exclude, and one that most filters include.
fn stir(builder: &mut ConversationBuilder, by: &str) {
    let params = request(builder).map(|it| it["params"].clone()).unwrap_or_default();
    let filtered = params.get("excludes").is_some() || params.get("includes").is_some();
    let Some(root) = params["uri"].as_str().filter(|_| filtered && builder.dice.chance(60)) else {
        return;
    };
    for name in ["a.log", "a.txt"] {
        let params = json!({"uri": format!("{root}/{name}"), "data": name, "encoding": "utf-8"});
        let step = json!({"request": {
            "by": by, "method": "resourceWrite", "params": params, "result": true, "error": true,
        }});
        send(builder, step, "resourceWrite", false);
    }
    builder.pause();
}

fn paged(builder: &ConversationBuilder) -> bool {
    request(builder)
        .map(|it| &it["params"])
        .is_some_and(|params| params.get("limit").is_some() || params.get("cursor").is_some())
}

/// The channel of a request: its URI, and if the channel exists, its URI and its state.
type ChannelPlace = (Option<String>, Option<(String, Value)>);

fn channel(builder: &mut ConversationBuilder, on: &RequestChannel) -> Option<ChannelPlace> {
    Some(match on {
        RequestChannel::Root => (None, None),
        RequestChannel::Automations => (Some("ahp-automations://".to_owned()), None),
        RequestChannel::New(scheme) => {
            (Some(format!("{scheme}${{new made{}}}", builder.number())), None)
        }
        RequestChannel::Of(kind) => {
            let channels = builder.channels(*kind);
            let found = builder.dice.pick(&channels)?.clone();
            (Some(found.0.clone()), Some(found))
        }
    })
}

fn drop_channel(params: &mut Value) {
    if let Some(members) = params.as_object_mut() {
        members.remove("channel");
    }
}

/// Returns the members that a deviation may change: all but the channel, because a request without its channel
/// is meaningless.
fn members(params: &Value) -> Vec<String> {
    let names = params.as_object().into_iter().flatten().map(|(name, _)| name.to_string());
    names.filter(|name| name != "channel").collect()
}

/// Applies a named deviation to a request and returns the name of the deviation.
fn deviate(
    builder: &mut ConversationBuilder,
    row: &RequestRow,
    params: &mut Value,
) -> &'static str {
    match builder.dice.below(6) {
        0 => {
            let names = members(params);
            let Some(name) = builder.dice.pick(&names).cloned() else { return "legal" };
            let required = builder.protocol.check_type(
                &builder
                    .protocol
                    .method(row.method)
                    .map(|it| it.params_type.clone())
                    .unwrap_or_default(),
                &without(params, &name),
            );
            if required.iter().all(|error| error.soft) {
                return "legal";
            }
            *params = without(params, &name);
            "missing-member"
        }
        1 => {
            let names = members(params);
            let Some(name) = builder.dice.pick(&names) else { return "legal" };
            params[name.as_str()] = json!([[7]]);
            "wrong-type"
        }
        2 => {
            if matches!(row.on, RequestChannel::Root) {
                return "legal";
            }
            let nowhere = match row.on {
                RequestChannel::New(_) => {
                    builder.dice.pick(&["https://example.com/x", "x", "ahp-root://"]).copied()
                }
                _ => Some("ahp-session:/nowhere"),
            };
            params["channel"] = json!(nowhere);
            "wrong-channel"
        }
        3 => {
            params["x-fuzz"] = json!({"any": 1});
            "extended"
        }
        _ => "again",
    }
}

fn without(value: &Value, name: &str) -> Value {
    let mut value = value.clone();
    if let Some(members) = value.as_object_mut() {
        members.remove(name);
    }
    value
}
