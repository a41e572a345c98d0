//! Compares the harness with the protocol's own crate. The tests play the suite for agents with the reference agent,
//! without faults, and pass all messages of both sides through the crate's types. They also compare the harness's
//! tables with the crate's schema. The lists here contain the known differences with reasons.
#![expect(clippy::unwrap_used, reason = "a test that cannot read its files has failed")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ahp_acp_types::{METHODS, error_again, id_again, names, schema, table};
use ahp_harness::agent::acp::AgentConfig;
use ahp_harness::host::subject::AgentSubject;
use ahp_harness::run::agents::{play_recorded, playable};
use ahp_harness::run::play::TranscriptRecorder;
use ahp_harness::run::side::AgentSide;
use ahp_harness::run::sim;
use ahp_harness::run::suite::ScenarioSuite;
use ahp_harness::transcript::ConnectionEvent;
use ahp_harness::verdict::Status;
use ahp_harness::wire::version::Version;
use serde_json::{Value, json};

/// The harness's tables.
const TABLES: &str = include_str!("../../protocol/acp/1.json");

/// The known changes of values in a round trip through the crate's types: the type, the place (`*` for an index), the
/// sent value, and the reason for the change.
const CHANGED: &[(&str, &str, &str, &str)] = &[
    ("InitializeRequest", "/clientCapabilities/auth", ABSENT, DEFAULT),
    ("SessionNotification", "/update/kind", "\"other\"", DEFAULT),
    ("SessionNotification", "/update/status", "\"pending\"", DEFAULT),
    ("CreateTerminalRequest", "/env", "[]", DEFAULT),
    ("SessionNotification", "/update/content/*/oldText", "null", NULL),
    ("RequestPermissionRequest", "/toolCall/content/*/oldText", "null", NULL),
    ("ResumeSessionRequest", "/mcpServers", "[]", DEFAULT),
    ("TerminalOutputResponse", "/exitStatus/signal", "null", NULL),
    ("WaitForTerminalExitResponse", "/exitCode", "null", NULL),
    ("WaitForTerminalExitResponse", "/signal", "null", NULL),
];
const ABSENT: &str = "\"(absent)\"";
const DEFAULT: &str = "the value is the default: the types leave out some defaults, and write others that were absent";
const NULL: &str = "null and an absent member mean the same, and the types leave out null";

/// The known differences between the harness's tables and the crate's schema: for each, the type, the member, and the
/// reason.
const OTHERWISE: &[(&str, &str, &str)] = &[
    (
        "AuthMethod",
        "/variants/agent",
        "some agents write the type `agent`, which is also the meaning of a method without a type",
    ),
    ("NewSessionRequest", "/fields/mcpServers", OURS),
    ("LoadSessionRequest", "/fields/mcpServers", OURS),
    ("ResumeSessionRequest", "/fields/mcpServers?", OURS),
    ("SetSessionConfigOptionRequest", "/fields", OURS),
    ("SetSessionConfigOptionRequest", "/tag", OURS),
    ("SetSessionConfigOptionRequest", "/variants", OURS),
    ("CreateElicitationResponse", "/fields", OURS),
    ("CreateElicitationResponse", "/tag", OURS),
    ("CreateElicitationResponse", "/variants", OURS),
    ("SessionConfigOption", "/variants/boolean/category?", OPEN),
    ("SessionConfigOption", "/variants/select/category?", OPEN),
    ("CancelRequestNotification", "/fields/requestId", "ids are checked by separate rules"),
    ("SessionConfigOption", "/variants/select/options", UNTAGGED),
    (
        "SessionConfigSelectItem",
        "",
        "plain options and groups of options are distinguished by the name of a group",
    ),
    ("EmbeddedResourceResource", "/fields/_meta?", UNTAGGED),
    ("EmbeddedResourceResource", "/fields/blob?", UNTAGGED),
    ("EmbeddedResourceResource", "/fields/mimeType?", UNTAGGED),
    ("EmbeddedResourceResource", "/fields/text?", UNTAGGED),
    ("EmbeddedResourceResource", "/fields/uri", UNTAGGED),
    ("CreateElicitationRequest", "/fields", UNTAGGED),
    ("CreateElicitationRequest", "/tag", UNTAGGED),
    ("CreateElicitationRequest", "/variants", UNTAGGED),
];
const OURS: &str =
    "only the harness sends this type, and the crate's types accept what the harness sends";
const OPEN: &str = "the enumeration is open: any text is valid";
const UNTAGGED: &str = "a union without a tag; the table lists the members of all variants, so a check never blames \
                        an agent for a value that the schema permits";

/// The sender of a message.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum MessageSender {
    Client,
    Agent,
}

/// A recorder that keeps the messages of a conversation.
#[derive(Clone, Default)]
struct KeptMessages(Arc<Mutex<Vec<(MessageSender, Value)>>>);

impl TranscriptRecorder for KeptMessages {
    fn record(&mut self, _at: Duration, _client: &str, event: &ConnectionEvent) -> u64 {
        let (from, seen) = match event {
            ConnectionEvent::Sent(seen) => (MessageSender::Client, seen),
            ConnectionEvent::Received(seen) => (MessageSender::Agent, seen),
            _ => return 0,
        };
        let text = seen.message().unwrap().clone().into_value().to_text();
        let mut kept = self.0.lock().unwrap();
        kept.push((from, serde_json::from_str(&text).unwrap()));
        u64::try_from(kept.len()).unwrap()
    }
}

/// Plays the suite against an agent without faults. Returns every message of each scenario, in order.
fn conversations(
    config: &AgentConfig,
    side: &AgentSide,
) -> Vec<(String, Vec<(MessageSender, Value)>)> {
    let mut all = Vec::new();
    for entry in playable(&ScenarioSuite::carried()) {
        // The messages of these scenarios are malformed on purpose.
        if entry.scenario.id.starts_with("acp/params/") {
            continue;
        }
        let kept = KeptMessages::default();
        let mut agent = AgentSubject::new(config.clone());
        let verdict = play_recorded(&entry, &mut agent, side.clone(), Box::new(kept.clone()));
        // If the agent does not have the requested mode or option, the scenario ends early. This is accepted, because
        // only the request is of interest.
        let asked = side.mode.is_some() || !side.options.is_empty();
        assert!(verdict.status == Status::Pass || asked, "{}", entry.scenario.id);
        let messages = kept.0.lock().unwrap().clone();
        all.push((entry.scenario.id.clone(), messages));
    }
    all
}

/// A message after the round trip through the crate's types: the name of its type, the input and the output of the
/// round trip.
struct PassedMessage {
    what: String,
    sent: Value,
    back: Result<Value, String>,
}

/// Passes the messages of a conversation through the crate's types. Methods that begin with `_` are extensions, which
/// have no type.
fn through(messages: &[(MessageSender, Value)]) -> Vec<PassedMessage> {
    let mut asked: BTreeMap<(MessageSender, String), String> = BTreeMap::new();
    let mut passed = Vec::new();
    let mut pass = |what: &str, sent: &Value, back: Result<Value, String>| {
        passed.push(PassedMessage { what: what.to_owned(), sent: sent.clone(), back });
    };
    for (from, message) in messages {
        assert_eq!(message["jsonrpc"], "2.0", "{message}");
        let id = message.get("id");
        if let Some(id) = id {
            pass("RequestId", id, id_again(id));
        }
        let row = |name: &str| METHODS.iter().find(|row| row.name == name);
        if let Some(method) = message["method"].as_str() {
            if let Some(id) = id {
                asked.insert((*from, id.to_string()), method.to_owned());
            }
            match row(method) {
                Some(row) => {
                    pass(row.params.0, &message["params"], row.params.1(&message["params"]))
                }
                None => assert!(method.starts_with('_'), "{method} is no method of the crate"),
            }
            continue;
        }
        let asker = if *from == MessageSender::Client {
            MessageSender::Agent
        } else {
            MessageSender::Client
        };
        let method = asked.remove(&(asker, id.unwrap().to_string())).unwrap();
        if let Some(error) = message.get("error") {
            pass("Error", error, error_again(error));
            continue;
        }
        let (name, again) = row(&method).unwrap().result.unwrap();
        pass(name, &message["result"], again(&message["result"]));
    }
    passed
}

/// Collects the places where two values differ.
fn differences(at: &str, sent: &Value, back: &Value, found: &mut Vec<(String, Value, Value)>) {
    match (sent, back) {
        (Value::Object(one), Value::Object(other)) => {
            let names: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
            for name in names {
                let place = format!("{at}/{name}");
                match (one.get(name), other.get(name)) {
                    (Some(one), Some(other)) => differences(&place, one, other, found),
                    (one, other) => {
                        let show =
                            |value: Option<&Value>| value.cloned().unwrap_or(json!("(absent)"));
                        found.push((place, show(one), show(other)));
                    }
                }
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (one, other) in one.iter().zip(other) {
                differences(&format!("{at}/*"), one, other, found);
            }
        }
        _ if sent == back => {}
        _ => found.push((at.to_owned(), sent.clone(), back.clone())),
    }
}

/// Returns the differences between the messages and the results of their round trips, except the known differences.
/// Records in `used` which known differences occurred.
fn mistakes(passed: &[PassedMessage], used: &mut BTreeSet<usize>) -> BTreeSet<String> {
    let mut mistakes = BTreeSet::new();
    for PassedMessage { what, sent, back } in passed {
        let mut found = Vec::new();
        match back {
            Ok(back) => differences("", sent, back, &mut found),
            Err(why) => {
                mistakes.insert(format!("{what} does not take {sent}: {why}"));
            }
        }
        for (place, sent, back) in found {
            let known = CHANGED.iter().position(|(name, at, value, _)| {
                name == what && *at == place && sent.to_string().as_str() == *value
            });
            match known {
                Some(row) => {
                    used.insert(row);
                }
                None => {
                    mistakes.insert(format!("{what} {place}: sent {sent}, came back {back}"));
                }
            }
        }
    }
    mistakes
}

#[test]
fn messages_equal_those_of_the_crates_types() {
    let plain = sim::side(Some(Version::ACP_1));
    let side = AgentSide { auth: Some("scripted".to_owned()), ..plain.clone() };
    let mode = AgentSide { mode: Some("ask".to_owned()), ..side.clone() };
    let options = AgentSide { options: vec![("model".to_owned(), "one".to_owned())], ..side };
    let auth = AgentConfig { auth: true, ..AgentConfig::default() };
    let (mut used, mut all, mut counts) = (BTreeSet::new(), BTreeSet::new(), BTreeMap::new());
    for (config, side) in [(AgentConfig::default(), plain), (auth.clone(), mode), (auth, options)] {
        for (scenario, messages) in conversations(&config, &side) {
            assert!(messages.len() > 1, "{scenario}");
            let passed = through(&messages);
            for PassedMessage { what, .. } in &passed {
                *counts.entry(what.clone()).or_insert(0_u32) += 1;
            }
            all.extend(mistakes(&passed, &mut used));
        }
    }
    println!("{counts:#?}");
    assert!(all.is_empty(), "\n{}", all.into_iter().collect::<Vec<_>>().join("\n"));
    let unused: Vec<_> =
        (0..CHANGED.len()).filter(|row| !used.contains(row)).map(|row| CHANGED[row]).collect();
    assert!(unused.is_empty(), "rows that nothing needs: {unused:?}");
    for method in METHODS {
        let sent = counts.contains_key(method.params.0);
        assert_eq!(sent, !UNSENT.contains(&method.name), "{}", method.name);
    }
}

/// Methods that neither side of the harness sends, because the suite does not play elicitation.
const UNSENT: &[&str] = &["elicitation/create", "elicitation/complete"];

/// Proves that the test above can fail: each of these messages is a correct message with one change.
#[test]
fn an_invalid_message_does_not_survive_a_round_trip() {
    let plain = sim::side(Some(Version::ACP_1));
    let mut told = BTreeSet::new();
    let spoilt: [(&str, &str, Value); 6] = [
        ("NewSessionRequest", "/cwd", json!(null)),
        ("SessionNotification", "/update/kind", json!("run")),
        ("SessionNotification", "/update/status", json!("cancelled")),
        ("RequestPermissionRequest", "/options/0/kind", json!("allow")),
        ("PromptResponse", "/stopReason", json!("done")),
        ("RequestPermissionResponse", "/outcome/outcome", json!("allowed")),
    ];
    for (_, messages) in conversations(&AgentConfig::default(), &plain) {
        for passed in through(&messages) {
            for (index, (what, place, value)) in spoilt.iter().enumerate() {
                let mut sent = passed.sent.clone();
                if passed.what != *what || sent.pointer(place).is_none() {
                    continue;
                }
                *sent.pointer_mut(place).unwrap() = value.clone();
                let row = METHODS.iter().flat_map(|row| [Some(row.params), row.result]);
                let again = row.flatten().find(|(name, _)| name == what).unwrap().1;
                let spoilt = PassedMessage { what: passed.what.clone(), back: again(&sent), sent };
                assert!(!mistakes(&[spoilt], &mut BTreeSet::new()).is_empty(), "{what} {place}");
                told.insert(index);
            }
        }
    }
    assert_eq!(told.len(), spoilt.len());
}

#[test]
fn methods_are_those_of_the_crate() {
    let tables: Value = serde_json::from_str(TABLES).unwrap();
    let side = |row: &Value| match row["from"].as_str().unwrap() {
        "client" => "agent",
        "host" => "client",
        _ => "protocol",
    };
    let rows = tables["methods"].as_object().unwrap();
    let ours: BTreeSet<(String, String)> =
        rows.iter().map(|(name, row)| (side(row).to_owned(), name.clone())).collect();
    let theirs: BTreeSet<(String, String)> =
        names().into_iter().map(|(side, name)| (side.to_owned(), name)).collect();
    assert_eq!(ours, theirs);
    for method in METHODS {
        let row = &rows[method.name];
        assert_eq!(row["params"], method.params.0, "{}", method.name);
        assert_eq!(row["result"].as_str(), method.result.map(|(name, _)| name), "{}", method.name);
    }
    assert_eq!(METHODS.len(), rows.len());
}

/// Checks that every type of the harness's tables agrees with the crate's schema in its members, its required members
/// and its enumerated words, except for the listed differences.
#[test]
fn tables_agree_with_the_schema_of_the_crate() {
    let tables: Value = serde_json::from_str(TABLES).unwrap();
    let schema = schema();
    let (mut mistakes, mut used, mut compared) = (Vec::new(), BTreeSet::new(), 0);
    for (name, ours) in tables["types"].as_object().unwrap() {
        let theirs = table::entry(&schema, name).unwrap_or_default();
        let mut found = Vec::new();
        differences("", &sorted(ours), &sorted(&theirs), &mut found);
        compared += 1;
        for (place, ours, theirs) in found {
            match OTHERWISE.iter().position(|(kind, at, _)| kind == name && *at == place) {
                Some(row) => {
                    used.insert(row);
                }
                None => mistakes.push(format!("{name} {place}: ours {ours}, theirs {theirs}")),
            }
        }
    }
    assert!(mistakes.is_empty(), "\n{}", mistakes.join("\n"));
    assert_eq!(used.len(), OTHERWISE.len(), "rows that nothing needs");
    assert!(compared > 80, "{compared}");
}

/// Sorts the words of a list, because their order does not matter.
fn sorted(value: &Value) -> Value {
    let mut value = value.clone();
    if let Some(words) = value.get_mut("enum").and_then(Value::as_array_mut) {
        words.sort_by_key(ToString::to_string);
    }
    value
}

/// Checks that each word of an enumeration in the tables passes through the crate's types unchanged, and that a word
/// that is not in the tables does not.
#[test]
fn only_known_words_survive_a_round_trip() {
    let tables: Value = serde_json::from_str(TABLES).unwrap();
    let call = |member: &str, word: &str| {
        let update = json!({"sessionUpdate": "tool_call_update", "toolCallId": "c", member: word});
        ("session/update", json!({"sessionId": "s", "update": update}))
    };
    let option = |word: &str| {
        let option = json!({"optionId": "o", "name": "O", "kind": word});
        let params =
            json!({"sessionId": "s", "toolCall": {"toolCallId": "c"}, "options": [option]});
        ("session/request_permission", params)
    };
    let comes_back = |(method, params): (&str, Value)| {
        let row = METHODS.iter().find(|row| row.name == method).unwrap();
        row.params.1(&params).is_ok_and(|back| back == params)
    };
    let words = |name: &str| -> Vec<String> {
        let words = tables["types"][name]["enum"].as_array().unwrap();
        words.iter().map(|word| word.as_str().unwrap().to_owned()).collect()
    };
    for word in words("ToolKind") {
        assert!(comes_back(call("kind", &word)), "{word}");
    }
    for word in words("ToolCallStatus") {
        assert!(comes_back(call("status", &word)), "{word}");
    }
    for word in words("PermissionOptionKind") {
        assert!(comes_back(option(&word)), "{word}");
    }
    assert!(!comes_back(call("kind", "run")));
    assert!(!comes_back(call("status", "cancelled")));
    assert!(!comes_back(option("allow")));
}
