//! Answers one line of the line protocol for reducers (`REDUCERS.md`).
//!
//! Knows: the model and the protocol tables. Never knows: earlier lines.
//!
//! Start at [`answer`].

use crate::wire::json::{Map, Value, json};

use crate::model::{self, ActionOutcome};
use crate::wire::channel::ChannelKind;
use crate::wire::protocol::Protocol;
use crate::wire::version::Version;

/// The names of types that a request for a round trip may contain although the tables do not define them, because the
/// tables have more specific types.
const UNNAMED_TYPES: [&str; 3] = ["JsonRpcMessage", "StateAction", "SessionStatus"];

/// Returns the answer to a request line, without a line break: `{"id":..,"state":..,"outcomes":[..]}`,
/// `{"id":..,"value":..}`, or `{"id":..,"error":".."}` if the line cannot be processed.
pub fn answer(version: Version, line: &[u8]) -> String {
    let request: Value = match serde_json::from_slice(line) {
        Ok(request) => request,
        Err(error) => return refuse(id_in(line), &format!("expected JSON: {error}")),
    };
    let Value::Object(request) = request else {
        return refuse(Value::Null, "expected an object");
    };
    let id = request.get("id").cloned().unwrap_or_default();
    match respond(version, request) {
        Ok(members) => {
            let mut answer = Map::from_iter([("id".to_owned(), id)]);
            answer.extend(members);
            Value::Object(answer).to_string()
        }
        Err(why) => refuse(id, &why),
    }
}

/// Returns the answer to a line that exceeds the limit.
pub fn too_long(beginning: &[u8], limit: usize) -> String {
    refuse(id_in(beginning), &format!("expected a line of at most {limit} bytes"))
}

/// Returns an outcome in the form of the line protocol, such as `{"outcome":"noop","reason":"no turn is active"}`.
pub fn outcome(outcome: &ActionOutcome) -> Value {
    match outcome {
        ActionOutcome::Applied => json!({"outcome": "applied"}),
        ActionOutcome::NoOp(why) => json!({"outcome": "noop", "reason": why.reason()}),
        ActionOutcome::OutOfScope => json!({"outcome": "out-of-scope"}),
        ActionOutcome::Invalid { path, expected } => {
            json!({"outcome": "invalid", "path": path, "expected": expected})
        }
    }
}

fn refuse(id: Value, why: &str) -> String {
    json!({"id": id, "error": why}).to_string()
}

/// Returns the number after a leading `{"id":` of an unreadable line, or null if there is none. Answers are in the
/// order of the requests, so the sender can assign an answer even if its id is null.
fn id_in(line: &[u8]) -> Value {
    const FAR_ENOUGH: usize = 64;
    let start = line.get(..line.len().min(FAR_ENOUGH)).unwrap_or_default();
    let text: String = String::from_utf8_lossy(start).split_whitespace().collect();
    let digits = text.strip_prefix("{\"id\":").unwrap_or_default();
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits.get(..end).and_then(|digits| digits.parse::<u64>().ok()).map_or(Value::Null, Value::from)
}

fn respond(version: Version, mut request: Map) -> Result<Map, String> {
    if !request.contains_key("id") {
        return Err("expected a member `id`".to_owned());
    }
    match request.get("op") {
        None | Some(Value::Null) => reduce(version, &mut request),
        Some(Value::String(op)) if op == "reduce" => reduce(version, &mut request),
        Some(Value::String(op)) if op == "roundtrip" => round_trip(version, &mut request),
        Some(other) => Err(format!("expected `op` to be `reduce` or `roundtrip`, found `{other}`")),
    }
}

fn reduce(version: Version, request: &mut Map) -> Result<Map, String> {
    let name = request.get("reducer").and_then(Value::as_str);
    let Some(channel) = name.and_then(ChannelKind::of_reducer) else {
        let names: Vec<_> = ChannelKind::reducer_names().collect();
        let found = request.get("reducer").map_or_else(|| "nothing".to_owned(), Value::to_string);
        return Err(format!("expected `reducer` to be one of {}, found {found}", names.join(", ")));
    };
    let now = match request.get("now") {
        None | Some(Value::Null) => 0,
        Some(now) => now.as_u64().ok_or("expected `now` to be milliseconds since 1970")?,
    };
    let Some(Value::Array(actions)) = request.remove("actions") else {
        return Err("expected `actions` to be an array".to_owned());
    };
    let mut state = request.remove("state").ok_or("expected a member `state`")?;
    let apply =
        |action: &Value| outcome(&model::apply_at(version, channel, now, &mut state, action));
    let outcomes: Vec<Value> = actions.iter().map(apply).collect();
    Ok(Map::from_iter([
        ("state".to_owned(), state),
        ("outcomes".to_owned(), Value::Array(outcomes)),
    ]))
}

/// Returns the value unchanged: the harness stores states and messages as received, so decoding and encoding lose no
/// data.
fn round_trip(version: Version, request: &mut Map) -> Result<Map, String> {
    let name =
        request.get("type").and_then(Value::as_str).ok_or("expected `type` to be a string")?;
    let table = Protocol::of(version).filter(|_| !UNNAMED_TYPES.contains(&name));
    if table.is_some_and(|table| !table.has_type(name)) {
        return Err(format!("expected a type of {version}, found `{name}`"));
    }
    let value = request.remove("value").ok_or("expected a member `value`")?;
    Ok(Map::from_iter([("value".to_owned(), value)]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: Value) {
        let found = answer(Version::new(1, 0, 0), line.as_bytes());
        assert_eq!(serde_json::from_str::<Value>(&found).unwrap(), expected, "{line}");
    }

    #[track_caller]
    fn refused(line: &str, id: Value, why: &str) {
        let found = answer(Version::new(1, 0, 0), line.as_bytes());
        let found: Value = serde_json::from_str(&found).unwrap();
        assert_eq!(found["id"], id, "{line}");
        assert!(found["error"].as_str().unwrap().contains(why), "{line}: {found}");
    }

    #[test]
    fn reports_the_outcome_of_each_action() {
        let line = json!({
            "id": "a", "reducer": "session", "state": {"x": 1, "n": null}, "now": 5, "later": 1,
            "actions": [
                {"type": "session/titleChanged", "title": "t"},
                {"type": "session/chatRemoved", "chat": "c"},
                {"type": "chat/delta"},
                {"type": "session/titleChanged", "title": 7},
                42,
            ],
        });
        let outcomes = json!([
            {"outcome": "applied"},
            {"outcome": "noop", "reason": "the session has no such chat"},
            {"outcome": "out-of-scope"},
            {"outcome": "invalid", "path": "title", "expected": "a string"},
            {"outcome": "out-of-scope"},
        ]);
        let state = json!({"x": 1, "n": null, "title": "t"});
        check(&line.to_string(), json!({"id": "a", "state": state, "outcomes": outcomes}));
    }

    #[test]
    fn returns_values_of_round_trips() {
        let value = json!({"kind": "later", "x": null, "n": 1.0});
        let trip = |name: &str| {
            json!({"id": 2, "op": "roundtrip", "type": name, "value": value}).to_string()
        };
        for name in ["ChatSource", "StateAction", "JsonRpcMessage"] {
            check(&trip(name), json!({"id": 2, "value": value}));
        }
        refused(&trip("NoSuchType"), json!(2), "expected a type of 1.0.0, found `NoSuchType`");
        refused(r#"{"id":2,"op":"roundtrip","type":"Turn"}"#, json!(2), "a member `value`");
        refused(r#"{"id":2,"op":"roundtrip","value":1}"#, json!(2), "`type` to be a string");
    }

    #[test]
    fn explains_bad_lines() {
        refused("nonsense", json!(null), "expected JSON");
        refused(r#"{ "id" : 17, "reducer":"#, json!(17), "expected JSON");
        refused("{\"id\":18,\"state\":\"\\ud800\"}", json!(18), "expected JSON");
        refused("[1]", json!(null), "an object");
        refused("{}", json!(null), "a member `id`");
        refused(r#"{"id":1,"op":"fly"}"#, json!(1), "found `\"fly\"`");
        refused(r#"{"id":1}"#, json!(1), "found nothing");
        refused(r#"{"id":1,"reducer":"moon"}"#, json!(1), "automationRun, found \"moon\"");
        refused(r#"{"id":1,"reducer":"chat","state":{}}"#, json!(1), "`actions`");
        refused(r#"{"id":1,"reducer":"chat","actions":[]}"#, json!(1), "`state`");
        let early = r#"{"id":1,"reducer":"chat","state":{},"actions":[],"now":-1}"#;
        refused(early, json!(1), "milliseconds");
        let long: Value = serde_json::from_str(&too_long(b"{\"id\":3,\"re", 9)).unwrap();
        assert_eq!(long, json!({"id": 3, "error": "expected a line of at most 9 bytes"}));
    }
}
