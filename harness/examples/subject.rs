//! Adapts a Rust reducer to the line protocol of `REDUCERS.md`. This example uses the harness's own model;
//! replace `reduce` and `round_trip` by calls of your reducer. The first argument is the version.

use std::io::{BufRead as _, Write as _};

use ahp_harness::model;
use ahp_harness::wire::channel::ChannelKind;
use ahp_harness::wire::json::{Value, json};
use ahp_harness::wire::version::Version;

fn reduce(version: Version, question: &Value) -> Option<Value> {
    let channel = ChannelKind::of_reducer(question.get("reducer")?.as_str()?)?;
    let now = question.get("now").and_then(Value::as_u64).unwrap_or_default();
    let mut state = question.get("state")?.clone();
    for action in question.get("actions")?.as_array()? {
        model::apply_at(version, channel, now, &mut state, action);
    }
    Some(json!({"id": question.get("id"), "state": state}))
}

fn round_trip(question: &Value) -> Option<Value> {
    // A typed reducer would decode the value by `question["type"]` and encode it again here.
    Some(json!({"id": question.get("id"), "value": question.get("value")?}))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let version = std::env::args().nth(1).unwrap_or_else(|| "1.0.0".to_owned()).parse()?;
    for line in std::io::stdin().lock().lines() {
        let question = Value::read(&line?)?;
        let trip = question.get("op").is_some_and(|op| *op == "roundtrip");
        let answer = if trip { round_trip(&question) } else { reduce(version, &question) };
        let refused = || json!({"id": question.get("id"), "error": "not a question"});
        let mut out = std::io::stdout().lock();
        writeln!(out, "{}", answer.unwrap_or_else(refused))?;
        out.flush()?;
    }
    Ok(())
}
