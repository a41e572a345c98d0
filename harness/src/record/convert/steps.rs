//! Creates the steps of a scenario: each message from a client with its outcome, and the other messages from
//! the host.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use crate::transcript::{ClosingSide, ConnId, ConnectionEvent, SeenFrame, TranscriptEntry};
use crate::wire::frame::Frame;
use crate::wire::json::{Value, json};
use crate::wire::message::{Message, MessageKind, is_handshake};
use crate::wire::version::Version;

use super::host_requests::{HostRequests, is_served};
use super::names::ConversationNames;
use super::outcomes::MessageOutcomes;
use super::version;
use crate::scenario::write::{WrittenStep, WrittenTree};

/// The actions from the host for which the scenario has no expectation, unless they contain a value that a client uses
/// later. These are parts of a stream, which each host splits differently, and bookkeeping actions, whose number
/// varies.
const PASSED_OVER: [&str; 12] = [
    "chat/delta",
    "chat/reasoning",
    "chat/toolCallDelta",
    "chat/toolCallContentChanged",
    "chat/usage",
    "chat/activityChanged",
    "session/chatUpdated",
    "session/activityChanged",
    "session/customizationUpdated",
    "session/customizationsChanged",
    "session/serverToolsChanged",
    "terminal/data",
];
/// Close codes that do not report an error: normal closure, going away, no code, and a connection without a close
/// frame.
const USUAL_CODES: [u16; 4] = [1000, 1001, 1005, 1006];
/// The requirement that the steps of a converted scenario test: the host behaves as it did in the recording. It is not
/// a requirement of the protocol, because a conformant host may behave differently.
pub(super) const AGAIN: &str = "recorded.again";
/// The nesting depth of an action down to which every identifier is compared. At greater depth, only values that
/// clients use later are compared.
const DEPTH: usize = 2;
/// The default timeout of a wait. A scenario of a slower conversation sets a longer timeout.
const USUAL: Duration = Duration::from_secs(1);
/// The timeout of a wait as a multiple of the longest wait in the recording.
const PATIENCE: u32 = 3;
/// The first id for requests that the scenario sends as raw frames. This number is much greater than the ids that a
/// client of a scenario assigns by itself.
const OWN_IDS: u64 = 900_000;

/// The steps that were created from a conversation, and the state of the conversion.
#[derive(Debug, Default)]
pub(super) struct ConvertedSteps {
    pub steps: Vec<WrittenStep>,
    pub notes: Vec<String>,
    /// The lowest version that a handshake selected.
    pub version: Option<Version>,
    /// Whether clients start turns, so that the scenario needs an agent.
    pub turns: bool,
    names: ConversationNames,
    /// The name of the client to which each connection belongs.
    clients: HashMap<ConnId, String>,
    order: Vec<String>,
    /// The connections on which nothing has been sent yet.
    fresh: HashSet<ConnId>,
    /// The connections that have ended.
    ended: HashSet<ConnId>,
    /// The lines with the echo or rejection of a dispatch. The dispatch step expects them, so they need no further
    /// expectation.
    settled: HashSet<u64>,
    /// The indices of the steps since the last message of a client that expect an envelope, by the envelope's channel
    /// and `serverSeq`.
    merged: HashMap<(String, u64), usize>,
    /// The expectation that was last created for each connection, so that the same expectation is not repeated.
    last: HashMap<ConnId, WrittenTree>,
    /// The line of the last handshake of each connection. After it, no step of the connection expects envelopes of
    /// earlier dispatches.
    shaken: HashMap<ConnId, u64>,
    /// The line of the dispatch that an envelope echoes or rejects, by the envelope's channel and `serverSeq`.
    dispatched: HashMap<(String, u64), u64>,
    /// The highest `serverSeq` that each client has received.
    seen: HashMap<String, u64>,
    /// The `clientSeq` numbers that a client uses for more than one dispatch. The value is the number's name in the
    /// scenario, once it has one.
    used: HashMap<(String, i64), Option<String>>,
    host_requests: HostRequests,
    /// The requests that the host answers only after another client has answered: the time of the request and its id,
    /// by the line of the answer.
    relayed: HashMap<u64, (Duration, u64)>,
    longest: Duration,
}

/// Returns the channel and `serverSeq` of an envelope.
fn envelope_key(event: &ConnectionEvent) -> Option<(String, u64)> {
    let ConnectionEvent::Received(seen) = event else { return None };
    let params = seen.message()?.params();
    let channel = params["channel"].as_str().unwrap_or_default().to_owned();
    Some((channel, params["serverSeq"].as_u64()?))
}

/// Returns the member `proves` of a converted step, with the requirement that the step tests.
fn proves() -> (&'static str, WrittenTree) {
    ("proves", WrittenTree::text(AGAIN))
}

impl ConvertedSteps {
    pub(super) fn of(entries: &[TranscriptEntry]) -> ConvertedSteps {
        let mut steps = ConvertedSteps::default();
        let outcomes = MessageOutcomes::of(entries);
        let ids = steps.who(entries, &outcomes);
        steps.names = ConversationNames::of(entries, ids);
        for (&dispatch, &echo) in &outcomes.echoes {
            steps.settled.insert(entries[echo].line);
            if let Some(key) = envelope_key(&entries[echo].event) {
                steps.dispatched.insert(key, dispatch);
            }
        }
        steps.used = steps.used_twice(entries);
        for entry in entries {
            steps.entry(entry, entries, &outcomes);
        }
        steps
    }

    pub(super) fn clients(&self) -> Vec<String> {
        self.order.clone()
    }

    /// Returns the timeout for the waits of the scenario; `None` if the default timeout is long enough.
    pub(super) fn within(&self) -> Option<String> {
        let seconds = (self.longest * PATIENCE).as_secs() + 1;
        (self.longest > USUAL).then(|| format!("{seconds}s"))
    }

    /// Determines the client of each connection. A connection with the identifier of an ended connection
    /// belongs to the same client. Returns the names of the clients, by identifier.
    fn who(
        &mut self,
        entries: &[TranscriptEntry],
        outcomes: &MessageOutcomes,
    ) -> HashMap<String, String> {
        let mut ids: HashMap<ConnId, String> = HashMap::new();
        // For each connection, prefer a handshake that the host accepted. If there is none, use a refused one.
        for served in [true, false] {
            for entry in entries {
                let ConnectionEvent::Sent(seen) = &entry.event else { continue };
                let answer = outcomes.answers.get(&entry.line).map(|index| &entries[*index].event);
                let result = |it: &ConnectionEvent| matches!(it, ConnectionEvent::Received(seen) if seen.message().is_some_and(|it| it.result().is_some()));
                if answer.is_some_and(result) != served {
                    continue;
                }
                let id = seen.message().filter(|it| shakes(it)).map(|it| &it.params()["clientId"]);
                if let Some(id) = id.and_then(Value::as_str) {
                    ids.entry(entry.conn).or_insert_with(|| id.to_owned());
                }
            }
        }
        let mut names: HashMap<String, String> = HashMap::new();
        let mut open: HashMap<String, ConnId> = HashMap::new();
        for entry in entries {
            match entry.event {
                ConnectionEvent::Closed { .. } => open.retain(|_, conn| *conn != entry.conn),
                ConnectionEvent::Restarted => open.clear(),
                _ => {}
            }
            if !matches!(entry.event, ConnectionEvent::Sent(_))
                || self.clients.contains_key(&entry.conn)
            {
                continue;
            }
            let id = ids.get(&entry.conn);
            let back = id.filter(|id| !open.contains_key(*id)).and_then(|id| names.get(id));
            let name = back.cloned().unwrap_or_else(|| {
                let name = client_name(self.order.len());
                self.order.push(name.clone());
                name
            });
            if let Some(id) = id {
                names.entry(id.clone()).or_insert_with(|| name.clone());
                open.insert(id.clone(), entry.conn);
            }
            self.clients.insert(entry.conn, name);
            self.fresh.insert(entry.conn);
        }
        names
    }

    /// Returns the `clientSeq` numbers that a client uses for more than one dispatch.
    fn used_twice(&self, entries: &[TranscriptEntry]) -> HashMap<(String, i64), Option<String>> {
        let (mut once, mut twice) = (HashSet::new(), HashMap::new());
        for entry in entries {
            if let (ConnectionEvent::Sent(seen), Some(name)) =
                (&entry.event, self.client(entry.conn))
                && let Some(message) = seen.message().filter(|it| is_dispatch(it.params()))
            {
                let seq = message.params()["clientSeq"].as_i64().unwrap_or_default();
                if !once.insert((name.clone(), seq)) {
                    twice.insert((name.clone(), seq), None);
                }
            }
        }
        twice
    }

    fn client(&self, conn: ConnId) -> Option<&String> {
        self.clients.get(&conn)
    }

    fn push(&mut self, verb: &'static str, members: Vec<(&'static str, WrittenTree)>) {
        self.steps.push(WrittenStep { verb, members });
    }

    fn entry(
        &mut self,
        entry: &TranscriptEntry,
        entries: &[TranscriptEntry],
        outcomes: &MessageOutcomes,
    ) {
        if matches!(entry.event, ConnectionEvent::Restarted) {
            self.merged.clear();
            return self.push("restart", Vec::new());
        }
        let Some(name) = self.client(entry.conn).cloned() else {
            return;
        };
        match &entry.event {
            ConnectionEvent::Sent(seen) => {
                self.merged.clear();
                self.last.clear();
                if seen.message().is_some_and(shakes) {
                    self.shaken.insert(entry.conn, entry.line);
                }
                self.sent(entry, &name, seen, entries, outcomes);
            }
            ConnectionEvent::Received(seen) => {
                self.host_requests.received(entry.conn, seen);
                if let Some((began, id)) = self.relayed.remove(&entry.line) {
                    self.answered(&name, id, entry.at.saturating_sub(began), seen);
                }
                self.received(entry, &name, seen);
            }
            ConnectionEvent::Closed { by, code, .. } => {
                let stood = !self.fresh.remove(&entry.conn) && self.ended.insert(entry.conn);
                self.merged.clear();
                // Some recorders do not record which side closed a connection without an error.
                let usual = code.is_none_or(|code| USUAL_CODES.contains(&code));
                match by {
                    _ if !stood => {}
                    ClosingSide::Host if !usual => {
                        self.push("closed", vec![("at", WrittenTree::text(&name))]);
                    }
                    _ => self.push("drop", vec![("by", WrittenTree::text(&name))]),
                }
            }
            ConnectionEvent::Cut { .. } => self.left_out(entry, "a message that never ended"),
            ConnectionEvent::Gap { .. } => {
                self.left_out(entry, "a message that the capture does not have")
            }
            ConnectionEvent::Fault { what } => self.left_out(entry, &format!("the fault `{what}`")),
            ConnectionEvent::Refused(_) => self.left_out(entry, "a connection that was refused"),
            ConnectionEvent::Open { .. }
            | ConnectionEvent::Below { .. }
            | ConnectionEvent::Restarted => {}
        }
    }

    fn left_out(&mut self, entry: &TranscriptEntry, what: &str) {
        self.notes.push(format!("line {}: {what} is not in the scenario", entry.line));
    }

    // The following methods convert messages from clients.

    fn sent(
        &mut self,
        entry: &TranscriptEntry,
        name: &str,
        seen: &SeenFrame,
        entries: &[TranscriptEntry],
        outcomes: &MessageOutcomes,
    ) {
        let answer = outcomes.answers.get(&entry.line).and_then(|index| entries.get(*index));
        let by = || WrittenTree::text(name);
        let message = seen.message().filter(|message| is_plain(message));
        let comes_back = message.is_some_and(|it| it.method() == Some("reconnect"));
        if self.fresh.remove(&entry.conn) && !(comes_back && answer.is_some()) {
            self.push("connect", vec![("by", by())]);
        }
        let Some(message) = message else {
            return self.raw(entry, name, seen);
        };
        let (method, params) = (message.method().unwrap_or_default(), message.params());
        match (message.kind(), method) {
            (MessageKind::Success | MessageKind::Failure, _) => {
                let (conn, names) = (entry.conn, &mut self.names);
                match self.host_requests.answered(conn, name, message, names) {
                    Some(steps) => self.steps.extend(steps),
                    None => self.left_out(entry, "an answer that clients send automatically"),
                }
            }
            (MessageKind::Notification, "dispatchAction") if is_dispatch(params) => {
                let echo = outcomes.echoes.get(&entry.line).and_then(|index| entries.get(*index));
                self.dispatch(entry, name, params, echo);
            }
            (MessageKind::Notification, "unsubscribe")
                if params.as_object().is_some_and(|it| it.len() == 1) =>
            {
                let channel = self.names.template("channel", &params["channel"]);
                self.push("unsubscribe", vec![("by", by()), ("channel", channel)]);
            }
            (MessageKind::Notification, _) => {
                let params = self.names.template("params", params);
                let method = WrittenTree::text(method);
                self.push("notify", vec![("by", by()), ("method", method), ("params", params)]);
            }
            _ => match answer {
                // The host answers this request only after another client has sent a message, so this step must not
                // wait for the answer.
                Some(answer) if needs_another_client(entry, answer, entries) => {
                    let id = self.sent_as_it_is(entry, name, message);
                    self.relayed.insert(answer.line, (entry.at, id));
                }
                // If `channel` were missing, the harness's client would add it, so such a request is sent as a raw
                // frame.
                Some(answer) if params.get("channel").is_some() => {
                    self.request(entry, name, message, answer);
                }
                answer => self.as_it_is(entry, name, message, answer),
            },
        }
    }

    /// Creates a step for a message that cannot be sent unchanged by any other verb.
    fn raw(&mut self, entry: &TranscriptEntry, name: &str, seen: &SeenFrame) {
        let by = ("by", WrittenTree::text(name));
        match &*seen.frame {
            Frame::Text(text) => {
                let text = self.names.filled("", text);
                self.push("send", vec![by, ("raw", WrittenTree::text(&text))]);
            }
            Frame::Binary(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => {
                    let text = WrittenTree::text(&text.replace('$', "$$"));
                    self.push("send", vec![by, ("binary", text)]);
                }
                Err(_) => self.left_out(entry, "a binary message that is not UTF-8"),
            },
            Frame::NotUtf8(_) => self.left_out(entry, "a text message that is not UTF-8"),
        }
    }

    /// Creates the steps for a request that is sent as a raw frame: the request is unchanged except for its id.
    fn as_it_is(
        &mut self,
        entry: &TranscriptEntry,
        name: &str,
        message: &Message,
        answer: Option<&TranscriptEntry>,
    ) {
        let id = self.sent_as_it_is(entry, name, message);
        if let Some(answer) = answer
            && let ConnectionEvent::Received(seen) = &answer.event
        {
            self.answered(name, id, answer.at.saturating_sub(entry.at), seen);
        }
    }

    /// Creates the step that sends a request as a raw frame, and returns the id of the request.
    fn sent_as_it_is(&mut self, entry: &TranscriptEntry, name: &str, message: &Message) -> u64 {
        let id = OWN_IDS + entry.line;
        let mut value = message.value().clone();
        value["id"] = json!(id);
        let value = self.names.template("", &value);
        self.push("send", vec![("by", WrittenTree::text(name)), ("json", value)]);
        id
    }

    /// Creates the step that waits for the answer to a request with this id.
    fn answered(&mut self, name: &str, id: u64, after: Duration, seen: &SeenFrame) {
        self.longest = self.longest.max(after);
        let wish = self.wish(seen, "result");
        let id = WrittenTree::Value(json!(id));
        self.push("answer", vec![("at", WrittenTree::text(name)), ("id", id), wish, proves()]);
    }

    /// Returns the expectation for an answer: the same error code, or a result with the values that clients use later.
    fn wish(&mut self, seen: &SeenFrame, kind: &'static str) -> (&'static str, WrittenTree) {
        let said = seen.message();
        if let Some(error) = said.and_then(Message::error) {
            return (
                "error",
                WrittenTree::map(vec![("code", WrittenTree::Value(error["code"].clone()))]),
            );
        }
        let result = said.and_then(Message::result).unwrap_or(&Value::Null);
        let found = self.names.pattern("result", result, 0);
        let any = || match result {
            Value::Object(_) => WrittenTree::Map(Vec::new()),
            Value::Null => WrittenTree::Value(Value::Null),
            _ => WrittenTree::text("$present"),
        };
        (kind, found.unwrap_or_else(any))
    }

    fn dispatch(
        &mut self,
        entry: &TranscriptEntry,
        name: &str,
        params: &Value,
        echo: Option<&TranscriptEntry>,
    ) {
        let action = &params["action"];
        let mut members = vec![
            ("by", WrittenTree::text(name)),
            ("channel", self.names.template("channel", &params["channel"])),
            ("action", self.names.template("action", action)),
        ];
        let key = (name.to_owned(), params["clientSeq"].as_i64().unwrap_or_default());
        match self.used.get_mut(&key) {
            Some(Some(bound)) => {
                members.push(("clientSeq", WrittenTree::text(&format!("${{{bound}}}"))));
            }
            Some(unbound) => {
                let bound = format!("seq{}", entry.line);
                members.push(("as", WrittenTree::text(&bound)));
                *unbound = Some(bound);
            }
            None => {}
        }
        if let Some(echo) = echo
            && let ConnectionEvent::Received(seen) = &echo.event
        {
            self.waited(entry, echo);
            let envelope = seen.message().map_or(&Value::Null, Message::params);
            self.numbered(name, envelope);
            let rejected = !envelope["rejectionReason"].is_null();
            let wish = if rejected { "reject" } else { "accept" };
            self.turns |= action["type"] == "chat/turnStarted" && !rejected;
            members.push((wish, WrittenTree::Value(json!(true))));
            if rejected {
                members.pop();
                members.push((
                    wish,
                    WrittenTree::map(vec![("rejectionReason", WrittenTree::text("$present"))]),
                ));
            }
            members.push(proves());
        }
        self.push("dispatch", members);
    }

    fn request(
        &mut self,
        entry: &TranscriptEntry,
        name: &str,
        message: &Message,
        answer: &TranscriptEntry,
    ) {
        let ConnectionEvent::Received(seen) = &answer.event else {
            return;
        };
        self.waited(entry, answer);
        let (method, params) = (message.method().unwrap_or_default(), message.params());
        let by = ("by", WrittenTree::text(name));
        let said = seen.message();
        let failed = said.is_some_and(|said| said.error().is_some());
        let result = said.and_then(Message::result).cloned().unwrap_or_default();
        let numbers =
            ["serverSeq", "fromSeq"].map(|member| json!({"serverSeq": result[member].clone()}));
        numbers.iter().for_each(|envelope| self.numbered(name, envelope));
        let rest = |known: &[&str]| {
            let members = params.as_object().into_iter().flat_map(|map| map.iter());
            let rest: Vec<_> = members.filter(|(key, _)| !known.contains(&key.as_str())).collect();
            Value::Object(
                rest.into_iter().map(|(key, value)| (key.clone(), value.clone())).collect(),
            )
        };
        let (verb, mut members) = match method {
            "initialize"
                if params["clientId"].is_string() && params["protocolVersions"].is_array() =>
            {
                let more =
                    rest(&["channel", "clientId", "protocolVersions", "initialSubscriptions"]);
                let mut members = vec![by];
                let chosen = version(&result);
                self.version = self.version.into_iter().chain(chosen).min();
                if failed {
                    members
                        .push(("versions", WrittenTree::Value(params["protocolVersions"].clone())));
                }
                if let Some(list) = params.get("initialSubscriptions") {
                    members.push(("subscribe", self.names.template("channel", list)));
                }
                if more.as_object().is_some_and(|more| !more.is_empty()) {
                    members.push(("params", self.names.template("", &more)));
                }
                ("initialize", members)
            }
            "reconnect" => ("reconnect", self.reconnect(by, name, params)),
            "subscribe" if params["channel"].is_string() => {
                let mut members =
                    vec![by, ("channel", self.names.template("channel", &params["channel"]))];
                let more = rest(&["channel"]);
                if more.as_object().is_some_and(|more| !more.is_empty()) {
                    members.push(("params", self.names.template("", &more)));
                }
                ("subscribe", members)
            }
            _ => {
                let params = self.names.template("params", params);
                ("request", vec![by, ("method", WrittenTree::text(method)), ("params", params)])
            }
        };
        let kind = match (method, result["type"].as_str()) {
            ("reconnect", Some("replay")) => "replay",
            ("reconnect", Some("snapshot")) => "snapshot",
            _ => "result",
        };
        let wish = self.wish(seen, kind);
        members.extend([wish, proves()]);
        self.push(verb, members);
    }

    fn reconnect(
        &mut self,
        by: (&'static str, WrittenTree),
        name: &str,
        params: &Value,
    ) -> Vec<(&'static str, WrittenTree)> {
        let mut members = vec![by];
        if let Some(list) = params.get("subscriptions") {
            members.push(("subscriptions", self.names.template("channel", list)));
        }
        let last = &params["lastSeenServerSeq"];
        // By default, the harness's client sends the last `serverSeq` that it has seen. If the recorded client sent
        // another value, the step has to state it.
        if last.as_u64() != self.seen.get(name).copied() {
            members.push(("lastSeen", WrittenTree::Value(last.clone())));
        }
        members
    }

    // The following methods convert messages from the host.

    fn received(&mut self, entry: &TranscriptEntry, name: &str, seen: &SeenFrame) {
        let Some(message) = seen.message().filter(|it| it.kind() == MessageKind::Notification)
        else {
            return;
        };
        let (method, params) = (message.method().unwrap_or_default(), message.params());
        self.numbered(name, params);
        if self.settled.contains(&entry.line) || self.fresh.contains(&entry.conn) {
            return;
        }
        let action = &params["action"];
        let kind = action["type"].as_str().unwrap_or_default();
        let wanted = self.names.is_wanted(seen);
        // Clients that are not in the scenario may cause messages on the root channel, so the scenario does not expect
        // such messages.
        let root = method.starts_with("root/") || kind.starts_with("root/");
        if !wanted && (root || PASSED_OVER.contains(&kind) || method != "action") {
            return;
        }
        let key = envelope_key(&entry.event);
        // It depends on timing whether the envelope of an earlier dispatch arrives before or after the handshake, so it
        // is not expected.
        let dispatch = key.as_ref().and_then(|key| self.dispatched.get(key));
        if !wanted && dispatch.is_some_and(|line| self.shaken.get(&entry.conn) > Some(line)) {
            return;
        }
        if let Some(index) = key.as_ref().and_then(|key| self.merged.get(key)).copied() {
            return self.also(index, name);
        }
        let mut members = vec![("at", WrittenTree::text(name))];
        match method {
            "action" => members.push(("type", WrittenTree::text(kind))),
            _ => members.push(("method", WrittenTree::text(method))),
        }
        if params["channel"].is_string() {
            members.push(("channel", self.names.template("channel", &params["channel"])));
        }
        let inner = match method {
            "action" => self.names.pattern("action", action, DEPTH).map(|found| ("action", found)),
            _ => None,
        };
        let others = match method {
            "action" => None,
            _ => self.names.pattern("", params, DEPTH),
        };
        if let Some(wish) = inner.map(|inner| WrittenTree::map(vec![inner])).or(others) {
            members.push(("where", wish));
        }
        let what = WrittenTree::map(members[1..].to_vec());
        // A host may repeat an equal message any number of times, so it is expected only once.
        if self.last.insert(entry.conn, what.clone()).as_ref() == Some(&what) {
            return;
        }
        members.push(proves());
        self.push("expect", members);
        if let Some(key) = key {
            self.merged.insert(key, self.steps.len() - 1);
        }
    }

    /// Adds a client to the step that already expects the same envelope for another client.
    fn also(&mut self, index: usize, name: &str) {
        let Some((_, at)) = self.steps.get_mut(index).and_then(|step| step.members.first_mut())
        else {
            return;
        };
        let name = WrittenTree::text(name);
        match at {
            WrittenTree::List(names) if names.contains(&name) => {}
            WrittenTree::List(names) => names.push(name),
            one if *one == name => {}
            one => {
                let first = std::mem::replace(one, WrittenTree::List(Vec::new()));
                *one = WrittenTree::List(vec![first, name]);
            }
        }
    }

    fn numbered(&mut self, name: &str, envelope: &Value) {
        if let Some(seq) = envelope["serverSeq"].as_u64() {
            let seen = self.seen.entry(name.to_owned()).or_default();
            *seen = (*seen).max(seq);
        }
    }

    fn waited(&mut self, from: &TranscriptEntry, to: &TranscriptEntry) {
        self.longest = self.longest.max(to.at.saturating_sub(from.at));
    }
}

/// Returns the name of the client with this number: A to Z, then C27 and so on.
fn client_name(number: usize) -> String {
    match u8::try_from(number) {
        Ok(number @ 0..26) => char::from(b'A' + number).to_string(),
        _ => format!("C{}", number + 1),
    }
}

pub(super) fn shakes(message: &Message) -> bool {
    message.method().is_some_and(is_handshake)
}

/// Returns whether a client answers a request of the host after another client's request and before the answer to that
/// request. The host may need the client's answer for its own answer.
fn needs_another_client(
    request: &TranscriptEntry,
    answer: &TranscriptEntry,
    entries: &[TranscriptEntry],
) -> bool {
    let from = entries.partition_point(|entry| entry.line <= request.line);
    let between = entries[from..].iter().take_while(|entry| entry.line < answer.line);
    let mut others = between.filter(|entry| entry.conn != request.conn);
    others.any(|entry| match &entry.event {
        ConnectionEvent::Sent(seen) => seen.message().is_some_and(is_served),
        _ => false,
    })
}

/// Returns whether the harness's client would send the message unchanged, except for its identifier.
fn is_plain(message: &Message) -> bool {
    let value = message.value();
    let known = ["jsonrpc", "id", "method", "params", "result", "error"];
    let members =
        value.as_object().is_some_and(|map| map.keys().all(|key| known.contains(&key.as_str())));
    let id = message.id().is_none_or(|id| id.is_u64());
    let named = message.method().is_some()
        || !matches!(message.kind(), MessageKind::Request | MessageKind::Notification);
    let params =
        message.params().is_object() || value.get("params").is_none() && message.method().is_none();
    members
        && id
        && named
        && params
        && value["jsonrpc"] == "2.0"
        && message.kind() != MessageKind::Malformed
}

pub(super) fn is_dispatch(params: &Value) -> bool {
    let members = params.as_object().is_some_and(|map| map.len() == 3);
    members
        && params["channel"].is_string()
        && params["action"].is_object()
        && params["clientSeq"].is_i64()
}
