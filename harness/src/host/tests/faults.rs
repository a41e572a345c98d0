//! Conversations that use every part of the host. A correct host repeats each conversation exactly, a lying host
//! behaves differently, and no host panics.

use super::super::SansIoHost;
use super::super::fault::HostFault;
use super::super::liar::{LiarBehaviour, LiarHost};
use super::pair::*;
use super::{guests, several, strangers};
use crate::wire::frame::Frame;

/// Returns the messages of a conversation for all its connections.
pub(super) fn text(pair: &TestPair) -> String {
    let seat = |(conn, seat): (&ConnId, &TestSeat)| {
        let lines: String = seat.inbox.iter().map(|m| format!("{conn} {m}\n")).collect();
        format!("{lines}{conn} {:?}\n", seat.closed)
    };
    pair.seats.iter().map(seat).collect()
}

/// Returns the last value at a JSON pointer in the messages that a connection received; null if there is none.
pub(super) fn last(pair: &TestPair, conn: ConnId, pointer: &str) -> Value {
    let found = |m: &Value| m.pointer(pointer).cloned();
    pair.seats[&conn].inbox.iter().rev().find_map(found).unwrap_or(Value::Null)
}

pub(super) fn opened(host: Box<dyn SansIoHost>) -> (TestPair, ConnId, String) {
    let mut pair = TestPair::over(host, false);
    let a = pair.open(1);
    let params = json!({"channel": ROOT, "protocolVersions": ["1.0.0"], "clientId": "c1",
        "initialSubscriptions": [ROOT], "capabilities": {"mcpApps": {}}});
    pair.ask(a, "initialize", params);
    pair.ask(a, "createSession", json!({"channel": SESSION}));
    pair.subscribe(a, SESSION);
    pair.run();
    pair.subscribe(a, SESSION);
    let chat = last(&pair, a, "/result/snapshot/state/defaultChat");
    let chat = chat.as_str().unwrap_or("ahp-chat:/none").to_owned();
    pair.subscribe(a, &chat);
    (pair, a, chat)
}

/// Plays a conversation in which a client leaves while its tool runs, a call is cancelled, and a working
/// directory is removed.
fn owners(host: Box<dyn SansIoHost>) -> String {
    let (mut pair, a, chat) = opened(host);
    let active = json!({"clientId": "c1", "tools": [{"name": "lint"}]});
    pair.dispatch(a, SESSION, json!({"type": "session/activeClientSet", "activeClient": active}));
    pair.start(a, &chat, "t1", "tool client lint x");
    pair.run();
    pair.dispatch(a, SESSION, json!({"type": "session/activeClientRemoved", "clientId": "c1"}));
    pair.run();
    pair.start(a, &chat, "t2", "tool shell x confirm");
    pair.run();
    pair.dispatch(a, &chat, json!({"type": "chat/turnCancelled", "turnId": "t2", "duration": 1}));
    for (channel, kind) in [
        (SESSION, "session/workingDirectorySet"),
        (chat.as_str(), "chat/workingDirectorySet"),
        (SESSION, "session/workingDirectoryRemoved"),
    ] {
        pair.dispatch(a, channel, json!({"type": kind, "directory": "file:///d"}));
    }
    pair.run();
    pair.start(a, &chat, "t3", "ask-url Q https://x.example");
    pair.run();
    pair.subscribe(a, &chat);
    text(&pair)
}

fn requests(host: Box<dyn SansIoHost>) -> String {
    let mut pair = TestPair::over(host, false);
    let early = pair.open(1);
    pair.ask(early, "ping", json!({"channel": ROOT}));
    pair.ask(early, "listSessions", json!({"channel": ROOT}));
    for (conn, offers) in [(2, json!(["0.9.0", "1.0.0"])), (3, json!(["7.0.0"]))] {
        let conn = pair.open(conn);
        let params = json!({"channel": ROOT, "protocolVersions": offers, "clientId": "c"});
        pair.ask(conn, "initialize", params.clone());
        pair.ask(conn, "initialize", params);
        pair.raw(conn, "{");
        pair.ask(conn, "noSuchMethod", json!({}));
        pair.ask(conn, "subscribe", json!({}));
        pair.raw(
            conn,
            r#"{"jsonrpc":"2.0","id":"a","method":"ping","params":{"channel":"ahp-root://"}}"#,
        );
        for _ in 0..8 {
            pair.ask(conn, "ping", json!({"channel": ROOT}));
        }
    }
    text(&pair)
}

fn sessions(host: Box<dyn SansIoHost>) -> String {
    let (mut pair, a, _) = opened(host);
    let b = pair.join_loosely(2, "1.0.0", &[]);
    for params in [
        json!({"channel": SESSION}),
        json!({"channel": "ahp-session:/2", "provider": "nobody"}),
        json!({"channel": "ahp-session:/3", "activeClient": {"clientId": "z", "tools": []}}),
        json!({"channel": "ahp-session:/4"}),
        json!({"channel": "ahp-root://"}),
    ] {
        pair.ask(a, "createSession", params);
        pair.run();
    }
    for params in [json!({"limit": 1}), json!({"limit": 1, "cursor": "nonsense"}), json!({})] {
        let mut params = params;
        params["channel"] = json!(ROOT);
        let page = pair.ask(a, "listSessions", params.clone());
        params["cursor"] = page["result"]["nextCursor"].clone();
        if params["cursor"].is_string() {
            pair.ask(a, "listSessions", params);
        }
    }
    pair.ask(b, "subscribe", json!({"channel": "ahp-session:/none"}));
    let title = json!({"type": "session/titleChanged", "title": "T"});
    pair.dispatch(a, SESSION, title);
    let chat = json!({"channel": SESSION, "chat": "ahp-chat:/2"});
    pair.ask(a, "createChat", chat);
    pair.subscribe(a, "ahp-chat:/2");
    pair.start(a, "ahp-chat:/2", "t1", "endless");
    pair.ask(a, "disposeSession", json!({"channel": SESSION}));
    pair.run();
    pair.ask(a, "disposeSession", json!({"channel": "ahp-session:/none"}));
    pair.ask(a, "disposeSession", json!({"channel": SESSION}));
    pair.subscribe(a, SESSION);
    text(&pair)
}

fn chats(host: Box<dyn SansIoHost>) -> String {
    let (mut pair, a, chat) = opened(host);
    pair.ask(a, "createChat", json!({"channel": SESSION, "chat": "ahp-chat:/2"}));
    pair.ask(a, "disposeChat", json!({"channel": "ahp-chat:/2"}));
    let b = pair.join_loosely(2, "1.0.0", &[SESSION, &chat]);
    let other = json!({"clientId": "z", "tools": []});
    let old = pair.join_loosely(3, "0.9.0", &[SESSION, &chat]);
    for (conn, channel, action) in [
        (a, SESSION, json!({"type": "session/titleChanged", "title": "T"})),
        (a, SESSION, json!({"type": "session/isReadChanged", "isRead": true})),
        (a, SESSION, json!({"type": "session/configChanged", "config": {"mode": "ask"}})),
        (a, SESSION, json!({"type": "session/activeClientSet", "activeClient": other})),
        (a, SESSION, json!({"type": "session/ready"})),
        (a, SESSION, json!({"type": "session/titleChanged", "title": 5})),
        (a, SESSION, json!({"type": "chat/draftChanged"})),
        (a, &chat, json!({"type": "chat/isReadChanged", "isRead": true})),
        (a, &chat, json!({"type": "chat/isArchivedChanged", "isArchived": true})),
        (b, &chat, json!({"type": "chat/draftChanged", "draft": message("draft")})),
        (a, &chat, json!({"type": "chat/turnCancelled", "turnId": "t0", "duration": 1})),
        (a, "ahp-session:/none", json!({"type": "session/titleChanged", "title": "T"})),
    ] {
        pair.dispatch(conn, channel, action);
        pair.subscribe(old, channel);
    }
    pair.ask(old, "subscribe", json!({"channel": chat}));
    pair.raw(
        b,
        &json!({"jsonrpc": "2.0", "method": "unsubscribe", "params": {"channel": chat}})
            .to_string(),
    );
    for turn in ["t1", "t2", "t1", "t3"] {
        pair.start(a, &chat, turn, "say a b c d\nthink e\nusage 1 2");
        pair.start(a, &chat, "t9", "");
        pair.run();
        pair.subscribe(old, &chat);
    }
    pair.dispatch(a, &chat, json!({"type": "chat/truncated", "turnId": "t2"}));
    pair.subscribe(old, &chat);
    pair.start(a, &chat, "t4", "fail net");
    pair.run();
    pair.start(a, &chat, "t5", "endless");
    for _ in 0..4 {
        pair.step();
    }
    pair.dispatch(a, &chat, json!({"type": "chat/turnCancelled", "turnId": "t5", "duration": 1}));
    for _ in 0..4 {
        pair.step();
    }
    text(&pair)
}

fn tools(host: Box<dyn SansIoHost>) -> String {
    let (mut pair, a, chat) = opened(host);
    let b = pair.join_loosely(2, "1.0.0", &[&chat]);
    for (turn, approved) in [("t1", true), ("t2", false)] {
        pair.start(a, &chat, turn, "tool read y\ntool shell x confirm\nask Q\nsay z");
        pair.run();
        let call = last(&pair, a, "/params/action/toolCallId");
        let confirmed = |turn: &str, call: &Value| {
            json!({"type": "chat/toolCallConfirmed", "turnId": turn, "toolCallId": call,
                "approved": approved, "confirmed": "user-action", "reason": "denied"})
        };
        let done = json!({"type": "chat/toolCallComplete", "turnId": turn, "toolCallId": call,
            "result": {"success": true, "pastTenseMessage": "Done"}});
        pair.dispatch(b, &chat, confirmed("t0", &call));
        pair.dispatch(b, &chat, confirmed(turn, &json!("nonsense")));
        pair.dispatch(b, &chat, confirmed(turn, &call));
        pair.dispatch(a, &chat, confirmed(turn, &call));
        pair.dispatch(b, &chat, done);
        pair.run();
        let request = last(&pair, a, "/params/action/request/id");
        let request = request.as_str().and_then(|id| id.rsplit('#').next()).unwrap_or("");
        let completed = |id: &str, answers: Value| {
            json!({
                "type": "chat/inputCompleted", "requestId": id, "response": "accept",
                "answers": answers,
            })
        };
        let answer =
            json!({"answer": {"state": "submitted", "value": {"kind": "text", "value": "v"}}});
        pair.dispatch(a, &chat, completed("nonsense", json!({})));
        pair.dispatch(a, &chat, completed(request, json!({})));
        let other = json!({"state": "submitted", "value": {"kind": "boolean", "value": true}});
        let other = json!({"type": "chat/inputAnswerChanged", "requestId": request,
            "questionId": "answer", "answer": other});
        pair.dispatch(a, &chat, other);
        pair.dispatch(a, &chat, completed(request, answer.clone()));
        pair.dispatch(a, &chat, completed(request, answer));
        pair.run();
        pair.subscribe(b, SESSION);
    }
    text(&pair)
}

fn queue(host: Box<dyn SansIoHost>) -> String {
    let (mut pair, a, chat) = opened(host);
    let pending = |kind: &str, id: &str| {
        let message = message(id);
        json!({"type": "chat/pendingMessageSet", "kind": kind, "id": id, "message": message})
    };
    pair.dispatch(a, &chat, pending("steering", "s1"));
    pair.start(a, &chat, "t1", "wait 1s\nsay a");
    for id in ["q1", "q2", "q3"] {
        pair.dispatch(a, &chat, pending("queued", id));
    }
    let gone = json!({"type": "chat/pendingMessageRemoved", "kind": "queued", "id": "q3"});
    pair.dispatch(a, &chat, gone);
    pair.run();
    text(&pair)
}

fn reconnects(mut host: Box<dyn SansIoHost>, restart: bool) -> String {
    if restart {
        host.handle_timeout(Duration::ZERO);
    }
    let (mut pair, a, chat) = opened(host);
    pair.start(a, &chat, "t1", "say a b c\nhold x");
    pair.host.handle_close(pair.now, a);
    pair.run();
    if restart {
        pair.host.restart(pair.now);
    }
    for (conn, last_seen) in [(11, 6), (12, 2), (13, 9_999)] {
        let conn = pair.open(conn);
        let params = json!({"channel": ROOT, "clientId": "c1", "lastSeenServerSeq": last_seen,
            "subscriptions": [ROOT, chat, "ahp-session:/none"]});
        pair.ask(conn, "reconnect", params);
        pair.dispatch(conn, &chat, json!({"type": "chat/draftChanged", "draft": message("d")}));
    }
    text(&pair)
}

/// Plays rare messages of clients, each on its own connection.
fn oddities(host: Box<dyn SansIoHost>) -> String {
    let (mut pair, a, chat) = opened(host);
    let b = pair.join_loosely(2, "1.0.0", &[]);
    pair.ask(a, "createSession", json!({"channel": "ahp-session:/2"}));
    pair.run();
    pair.subscribe(b, "ahp-session:/2");
    pair.ask(a, "listSessions", json!({"channel": ROOT, "x-more": 1}));
    for conn in [a, b] {
        pair.raw(
            conn,
            r#"{"jsonrpc":"2.0","id":7001,"method":"ping","params":{"channel":"ahp-root://"}}"#,
        );
    }
    for (seq, title) in [(json!(9), "T"), (json!(8), "U"), (json!("x"), "V")] {
        let params = json!({"channel": SESSION, "clientSeq": seq, "clientId": "other",
            "origin": {"clientId": "other", "clientSeq": 1},
            "action": {"type": "session/titleChanged", "title": title}});
        let said = json!({"jsonrpc": "2.0", "method": "dispatchAction", "params": params});
        pair.raw(a, &said.to_string());
    }
    let mut foreign = message("m");
    foreign["origin"]["kind"] = json!("agent");
    let start = json!({"type": "chat/turnStarted", "turnId": "t1", "message": foreign,
        "startedAt": "2026-01-01T00:00:00.000Z"});
    pair.dispatch(a, &chat, start);
    pair.start(a, &chat, "t2", "tool shell x confirm");
    pair.run();
    let call = last(&pair, a, "/params/action/toolCallId");
    let mut decision = json!({"type": "chat/toolCallConfirmed", "turnId": "t2",
        "toolCallId": call, "approved": false, "reason": "denied", "reasonMessage": "No.",
        "confirmed": "user-action", "selectedOptionId": "none"});
    pair.dispatch(a, &chat, decision.clone());
    decision["selectedOptionId"].take();
    if let Some(members) = decision.as_object_mut() {
        members.remove("selectedOptionId");
    }
    pair.dispatch(a, &chat, decision);
    pair.subscribe(b, &chat);
    pair.ask(a, "disposeSession", json!({"channel": SESSION}));
    pair.ask(a, "listSessions", json!({"channel": ROOT}));
    for text in ["[]", r#"{"jsonrpc":"2.0","id":1,"result":{}}"#] {
        let conn = pair.join_loosely(10 + text.len() as u32, "1.0.0", &[]);
        pair.raw(conn, text);
    }
    let conn = pair.join_loosely(3, "1.0.0", &[]);
    pair.dispatch(conn, ROOT, json!({"type": "root/none"}));
    pair.host.handle_frame(pair.now, conn, &Frame::Binary(vec![0]));
    pair.drain();
    text(&pair)
}

/// Plays a conversation in which a terminal receives two lines, is renamed and exits.
fn terminals(host: Box<dyn SansIoHost>) -> String {
    let (mut pair, a, _) = opened(host);
    let uri = "ahp-terminal:/1";
    let claim = |id: &str| json!({"kind": "client", "clientId": id});
    pair.ask(a, "createTerminal", json!({"channel": uri, "claim": claim("c1")}));
    pair.subscribe(a, uri);
    pair.dispatch(a, uri, json!({"type": "terminal/titleChanged", "title": "T"}));
    pair.dispatch(a, uri, json!({"type": "terminal/resized", "cols": 100, "rows": 30}));
    for data in ["grüße\recho $((1+2))\rstty size\r", "exit\r"] {
        pair.dispatch(a, uri, json!({"type": "terminal/input", "data": data}));
    }
    pair.ask(a, "createTerminal", json!({"channel": "ahp-terminal:/2", "claim": claim("c2")}));
    let seen = last(&pair, a, "/result/snapshot/fromSeq");
    let again = json!({"channel": ROOT, "clientId": "c1", "lastSeenServerSeq": seen,
        "subscriptions": [uri]});
    let a = pair.open(2);
    pair.ask(a, "reconnect", again);
    pair.ask(a, "disposeTerminal", json!({"channel": uri}));
    text(&pair)
}

/// Plays a conversation in which two clients publish plugins, make decisions about them, and send a request to
/// a server.
fn customizations(host: Box<dyn SansIoHost>) -> String {
    let (mut pair, a, _) = opened(host);
    let b = pair.join_loosely(2, "1.0.0", &[SESSION]);
    let decisions =
        json!([{"kind": "global", "enabled": true}, {"kind": "session", "enabled": true}]);
    let server = json!({"type": "mcpServer", "id": "m", "uri": "virtual:/m", "name": "M",
        "state": {"kind": "stopped"}});
    let plugin = |id: &str, children: Option<Value>| {
        let mut plugin = json!({"type": "plugin", "id": id, "uri": "virtual:/p", "name": id,
            "enablement": decisions});
        if let Some(children) = children {
            plugin["children"] = children;
        }
        plugin
    };
    for (conn, client, plugins) in [
        (a, "c1", json!([plugin("p", Some(json!([server]))), plugin("unread", None)])),
        (b, "c2", json!([plugin("q", Some(json!([server])))])),
    ] {
        let client = json!({"clientId": client, "tools": [], "customizations": plugins});
        let action = json!({"type": "session/activeClientSet", "activeClient": client});
        pair.dispatch(conn, SESSION, action);
    }
    pair.run();
    let channel = last(&pair, a, "/params/action/channel");
    pair.ask(a, "prompts/list", json!({"channel": channel}));
    let off = json!([{"kind": "session", "enabled": false}]);
    for action in [
        json!({"type": "session/mcpServerStopRequested", "id": "m"}),
        json!({"type": "session/customizationToggled", "id": "m", "enablement": off}),
        json!({"type": "session/mcpServerStartRequested", "id": "m"}),
        json!({"type": "session/activeClientRemoved", "clientId": "c1"}),
    ] {
        pair.dispatch(a, SESSION, action);
        pair.run();
        pair.subscribe(b, SESSION);
    }
    text(&pair)
}

/// Plays a conversation in which clients create, change and remove annotations, with valid and invalid actions.
fn annotations(host: Box<dyn SansIoHost>) -> String {
    let (mut pair, a, _) = opened(host);
    let uri = format!("{SESSION}/annotations");
    pair.subscribe(a, &uri);
    let entry = json!({"id": "e", "text": "Why?"});
    let annotation = |id: &str, entries: Value| {
        json!({"id": id, "origin": {"session": SESSION}, "resource": "file:///f", "entries": entries,
            "resolved": false,
            "range": {"start": {"line": 1, "character": 0}, "end": {"line": 2, "character": 0}}})
    };
    for action in [
        json!({"type": "annotations/set", "annotation": annotation("n", json!([]))}),
        json!({"type": "annotations/set", "annotation": annotation("m", json!([entry]))}),
        json!({"type": "annotations/updated", "annotationId": "m", "resolved": true}),
        json!({"type": "annotations/entryRemoved", "annotationId": "m", "entryId": "e"}),
    ] {
        pair.dispatch(a, &uri, action);
        pair.subscribe(a, &uri);
    }
    pair.subscribe(a, SESSION);
    pair.ask(a, "disposeSession", json!({"channel": SESSION}));
    pair.subscribe(a, &uri);
    text(&pair)
}

/// Plays a conversation in which clients write, watch and delete files, with permitted and denied requests.
fn resources(host: Box<dyn SansIoHost>) -> String {
    let (mut pair, a, _) = opened(host);
    let file = |name: &str| json!({"uri": format!("file:///harness/{name}"), "channel": ROOT});
    let write = |name: &str| {
        let mut params = file(name);
        params["data"] = json!("x");
        params["encoding"] = json!("utf-8");
        params["createOnly"] = json!(true);
        params
    };
    pair.ask(a, "resourceMkdir", file("w/deep"));
    let mut watch = file("w");
    watch["recursive"] = json!(true);
    watch["excludes"] = json!({"items": ["*.log"]});
    let made = pair.ask(a, "createResourceWatch", watch);
    let uri = made["result"]["channel"].as_str().unwrap_or("").to_owned();
    pair.subscribe(a, &uri);
    for name in ["w/a", "w/a", "w/a.log", "w/deep/a", "beside"] {
        pair.ask(a, "resourceWrite", write(name));
    }
    pair.ask(a, "resourceDelete", file("w"));
    pair.ask(a, "resourceRead", file("../outside/canary.txt"));
    let b = pair.join_loosely(2, "1.0.0", &[]);
    let asked = |name: &str, more: &str| json!({"uri": format!("file:///asked/{name}"), "channel": ROOT, more: true});
    pair.ask(a, "resourceRequest", asked("one", "read"));
    pair.ask(a, "resourceDelete", asked("one", "recursive"));
    for (conn, name) in [(a, "two"), (b, "one")] {
        pair.ask(conn, "resourceRead", asked(name, "x"));
    }
    let left = json!({"jsonrpc": "2.0", "method": "unsubscribe", "params": {"channel": uri}});
    pair.raw(a, &left.to_string());
    pair.subscribe(a, &uri);
    text(&pair)
}

/// Plays a conversation in which clients create chats from invalid sources, at invalid destinations and with
/// unknown names.
fn origins(host: Box<dyn SansIoHost>) -> String {
    let (mut pair, a, chat) = opened(host);
    pair.start(a, &chat, "t1", "say hello");
    pair.run();
    let side = json!({"kind": "sideChat", "chat": chat, "turnId": "t1",
        "selection": {"text": " hello "}});
    let nowhere = json!({"kind": "fork", "chat": chat, "turnId": "none"});
    for (name, source) in [("side", side), ("fork", nowhere)] {
        let params =
            json!({"channel": SESSION, "chat": format!("ahp-chat:/{name}"), "source": source});
        pair.ask(a, "createChat", params);
    }
    let to = json!({"kind": "session", "session": SESSION});
    pair.ask(a, "moveChat", json!({"channel": chat, "destination": to}));
    for name in ["none", "side"] {
        let mut start = turn_started(name, "say more");
        let uri = format!("ahp-chat:/{name}");
        start["message"]["attachments"] = json!([{"type": "chat", "label": "L", "resource": uri}]);
        pair.dispatch(a, &chat, start);
    }
    let set = json!({"type": "session/workingDirectorySet", "directory": "file:///d"});
    pair.dispatch(a, SESSION, set);
    let replaced = json!({"type": "session/workingDirectoryReplaced",
        "directory": "file:///d", "replacement": "file:///e"});
    pair.dispatch(a, SESSION, replaced);
    pair.run();
    text(&pair)
}

/// Plays a conversation in which an agent edits files, and clients review and revert the changes.
fn changesets(host: Box<dyn SansIoHost>) -> String {
    let (mut pair, a, chat) = opened(host);
    let script = "tool write \"one\\nx\\n\"\ntool write \"two\\ny\\n\"";
    pair.start(a, &chat, "t1", script);
    pair.run();
    pair.subscribe(a, SESSION);
    let whole = last(&pair, a, "/result/snapshot/state/changesets/0/uriTemplate");
    let whole = whole.as_str().unwrap_or("ahp-changeset:/none").to_owned();
    let turn = format!("{whole}/turn/t1");
    for uri in [&whole, &turn] {
        pair.subscribe(a, uri);
        let files = json!(["file:///harness/one", "file:///harness/two"]);
        let review =
            json!({"type": "changeset/filesReviewChanged", "files": files, "reviewed": true});
        pair.dispatch(a, uri, review);
    }
    pair.start(a, &chat, "t2", r#"tool edit "one\nx\nz""#);
    pair.run();
    pair.subscribe(a, &whole);
    for (id, target) in [
        ("publish", Value::Null),
        ("publish", json!({"kind": "resource", "resource": "file:///harness/one"})),
        ("revert", json!({"kind": "resource", "resource": "file:///harness/one"})),
    ] {
        let params = json!({"channel": whole, "operationId": id, "target": target});
        pair.ask(a, "invokeChangesetOperation", params);
    }
    pair.ask(a, "listSessions", json!({"channel": ROOT}));
    pair.ask(a, "disposeSession", json!({"channel": SESSION}));
    pair.subscribe(a, &whole);
    text(&pair)
}

/// Plays a conversation in which clients create, change and run automations; the host restarts before the last
/// run.
fn automations(host: Box<dyn SansIoHost>) -> String {
    let (mut pair, a, _) = opened(host);
    let channel = "ahp-automations://";
    pair.subscribe(a, channel);
    let create = |uri: &str, kind: &str, text: &str| {
        let message = json!({"text": text, "origin": {"kind": kind}});
        let definition = json!({"title": text, "message": message, "session": {}, "enabled": true,
            "triggers": [], "disableConditions": [{"kind": "afterRuns", "max": 1}],
            "_meta": {"x-mine": 1}});
        json!({"type": "automation/createRequested", "resource": uri, "definition": definition})
    };
    let known = "ahp-automation:/1";
    for action in [
        create(known, "automation", "hello"),
        create(known, "automation", "again"),
        create("ahp-automation:/2", "user", "mine"),
        json!({"type": "automation/updateRequested", "resource": known, "changes": {"title": "T"}}),
    ] {
        pair.dispatch(a, channel, action);
    }
    let run = |pair: &mut TestPair, conn: ConnId, request: &str| {
        let params = json!({"channel": channel, "automation": known, "requestId": request});
        let run = pair.ask(conn, "runAutomation", params)["result"]["resource"].clone();
        let run = run.as_str().unwrap_or("ahp-automation-run:/none").to_owned();
        pair.subscribe(conn, &run);
        run
    };
    for request in ["1", "1", "2"] {
        run(&mut pair, a, request);
        pair.run();
        let session = last(&pair, a, "/params/action/session");
        pair.ask(a, "subscribe", json!({"channel": session}));
    }
    let third = run(&mut pair, a, "3");
    pair.dispatch(a, &third, json!({"type": "automationRun/cancelRequested"}));
    pair.run();
    pair.host.restart(pair.now);
    let b = pair.join_loosely(2, "1.0.0", &[channel]);
    run(&mut pair, b, "1");
    text(&pair)
}

/// Plays the creation of a session with a progress token, the pages of a history, and an unexpected token.
fn pieces(host: Box<dyn SansIoHost>) -> String {
    let (mut pair, a, chat) = opened(host);
    pair.ask(a, "createSession", json!({"channel": "ahp-session:/2", "progressToken": "p"}));
    for turn in ["t1", "t2", "t3"] {
        pair.start(a, &chat, turn, "say a");
        pair.run();
    }
    pair.subscribe(a, &chat);
    pair.ask(a, "subscribe", json!({"channel": chat, "view": {"turns": 1}}));
    pair.dispatch(a, &chat, json!({"type": "chat/truncated", "turnId": "t3"}));
    pair.ask(a, "fetchTurns", json!({"channel": chat}));
    pair.ask(a, "listSessions", json!({"channel": ROOT}));
    let token = json!({"channel": ROOT, "resource": "https://a.example", "token": "canary"});
    pair.ask(a, "authenticate", token);
    text(&pair)
}

/// Plays decisions that are too early, too late or without a subject, and the consumption of a queue.
fn decisions(host: Box<dyn SansIoHost>) -> String {
    let (mut pair, a, chat) = opened(host);
    let b = pair.join_loosely(2, "1.0.0", &[SESSION]);
    pair.ask(b, "subscribe", json!({"channel": chat, "delivery": {"maxLatencyMs": 300}}));
    let clear = |pair: &mut TestPair| {
        pair.run();
        pair.subscribe(a, &chat);
    };
    let start = |turn: &str, at: &str, queued: Option<&str>| {
        let mut action = json!({"type": "chat/turnStarted", "turnId": turn, "startedAt": at,
            "message": message("hello")});
        if let Some(queued) = queued {
            action["queuedMessageId"] = json!(queued);
        }
        action
    };
    pair.dispatch(a, &chat, start("t0", "soon", None));
    clear(&mut pair);
    pair.dispatch(a, &chat, start("t1", "2026-01-01T00:00:00.000Z", Some("nonsense")));
    clear(&mut pair);
    pair.dispatch(a, &chat, json!({"type": "chat/turnResume", "turnId": "t1"}));
    clear(&mut pair);
    pair.start(a, &chat, "t2", "say a b c\ntool shell x confirm confirm-result\nsay d");
    pair.start(a, &chat, "t2", "say again");
    pair.run();
    let of = |kind: &str, turn: &str, call: &Value, more: Value| {
        let mut action = json!({"type": kind, "turnId": turn, "toolCallId": call});
        if let (Some(action), Some(more)) = (action.as_object_mut(), more.as_object()) {
            action.extend(more.clone());
        }
        action
    };
    let call = last(&pair, a, "/params/action/toolCallId");
    let used = json!({"approved": true});
    pair.dispatch(a, &chat, of("chat/toolCallResultConfirmed", "t2", &call, used));
    let option = last(&pair, a, "/params/action/options/0/id");
    let yes = json!({"approved": true, "confirmed": "user-action", "selectedOptionId": option});
    pair.dispatch(a, &chat, of("chat/toolCallConfirmed", "t2", &call, yes));
    pair.run();
    pair.subscribe(a, &chat);
    pair.dispatch(a, &chat, json!({"type": "chat/turnCancelled", "turnId": "t2", "duration": 1}));
    clear(&mut pair);
    let tools = |name: &str| {
        let client = json!({"clientId": "c1", "tools": [{"name": name}]});
        json!({"type": "session/activeClientSet", "activeClient": client})
    };
    pair.dispatch(a, SESSION, tools("lint"));
    pair.start(a, &chat, "t3", "tool client lint x");
    pair.run();
    pair.dispatch(a, SESSION, tools("other"));
    clear(&mut pair);
    let call = last(&pair, a, "/params/action/toolCallId");
    let done = json!({"result": {"success": true, "pastTenseMessage": "Done"}});
    for _ in 0..2 {
        pair.dispatch(a, &chat, of("chat/toolCallComplete", "t3", &call, done.clone()));
        clear(&mut pair);
    }
    pair.start(a, &chat, "t4", "endless");
    for id in ["q3", "q1", "q2"] {
        let queued = json!({"type": "chat/pendingMessageSet", "kind": "queued", "id": id,
            "message": message(id)});
        pair.dispatch(a, &chat, queued);
    }
    pair.dispatch(a, &chat, json!({"type": "chat/queuedMessagesReordered", "order": ["q2"]}));
    pair.subscribe(a, &chat);
    pair.dispatch(a, &chat, json!({"type": "chat/turnCancelled", "turnId": "t4", "duration": 1}));
    clear(&mut pair);
    let left = json!({"jsonrpc": "2.0", "method": "unsubscribe", "params": {"channel": chat}});
    pair.raw(a, &left.to_string());
    pair.run();
    pair.subscribe(b, SESSION);
    text(&pair)
}

/// Returns the text of all conversations in these tests.
fn everything(host: impl Fn(usize) -> Box<dyn SansIoHost>) -> Vec<String> {
    vec![
        requests(host(1_000)),
        sessions(host(1_000)),
        chats(host(1_000)),
        tools(host(1_000)),
        owners(host(1_000)),
        queue(host(1_000)),
        oddities(host(1_000)),
        terminals(host(1_000)),
        customizations(host(1_000)),
        annotations(host(1_000)),
        resources(host(1_000)),
        origins(host(1_000)),
        changesets(host(1_000)),
        automations(host(1_000)),
        strangers::all(|| host(1_000)),
        pieces(host(1_000)),
        decisions(host(1_000)),
        several::chats_and_work(host(1_000)),
        several::workers_and_moves(host(1_000)),
        reconnects(host(1_000), false),
        reconnects(host(3), false),
        reconnects(host(1_000), true),
    ]
}

fn reference(faults: Vec<HostFault>, replay_capacity: usize) -> Box<dyn SansIoHost> {
    Box::new(RefHost::new(HostConfig { faults, replay_capacity, ..guests::guarded() }))
}

/// Compares two runs of the same host. The kill matrix, not this test, verifies that each fault is visible.
#[test]
fn a_host_does_the_same_each_time() {
    let honest = everything(|capacity| reference(vec![], capacity));
    assert_eq!(honest, everything(|capacity| reference(vec![], capacity)));
}

#[test]
fn lying_hosts_complete_the_handshake() {
    for liar in LiarBehaviour::ALL {
        let said = everything(|_| Box::new(LiarHost::new(*liar)));
        assert!(said[1].contains(r#""protocolVersion":"1.0.0""#), "{}", liar.name());
        let honest = everything(|capacity| reference(vec![], capacity));
        assert_ne!(said, honest, "{}", liar.name());
    }
}

#[test]
fn seeds_make_hosts_differ() {
    let seeded = |seed| -> Box<dyn SansIoHost> {
        Box::new(RefHost::new(HostConfig { seed, ..HostConfig::default() }))
    };
    assert_eq!(tools(seeded(7)), tools(seeded(7)));
    assert_ne!(tools(seeded(7)), tools(seeded(8)));
}
