//! Tests of the user's messages in the log of the stand-in.

use super::tests::{ask, shell};
use super::*;

/// Checks that the log has the user's messages without the context that agents wrap around them. The messages in this
/// test have the same forms as those of real agents.
#[test]
fn the_log_has_the_messages_of_the_user() {
    let tools =
        json!([{"type": "function", "function": {"name": "bash", "parameters": (shell())}}]);
    let chat =
        |messages: Value| json!({"model": "m", "messages": (messages), "tools": (tools.clone())});
    let user = |content: Value| json!({"role": "user", "content": (content)});
    let said = json!({"role": "assistant", "content": "Yes."});
    let check = |messages: Value, history: Value, latest: u64| {
        let (_, _, record) = ask("/v1/chat/completions", "", &chat(messages));
        assert_eq!(record["history"], history);
        assert_eq!(record["latest"].as_u64(), Some(latest));
        assert_eq!(record["model"], "m");
    };
    // Text around the message, and an earlier turn.
    check(
        json!([
            (user(json!("<now>12:00</now>\n\nFirst.\n\n<reminder>Be brief.</reminder>"))),
            (said.clone()),
            (user(json!("Second."))),
        ]),
        json!(["First.", "Second."]),
        1,
    );
    // Several blocks: only context in the first, two messages in the others.
    let blocks = ["<context>files</context>", "First.", "Second."];
    let blocks: Value =
        blocks.iter().map(|text| json!({"type": "text", "text": (*text)})).collect();
    check(json!([(user(blocks))]), json!(["First.", "Second."]), 2);
    // A prompt that an agent appended to an earlier prompt without an answer.
    check(
        json!([(user(json!("ahp-script: 1\nhold x\n\nahp-script: 1\nsay b")))]),
        json!(["ahp-script: 1\nhold x", "ahp-script: 1\nsay b"]),
        2,
    );
    // The messages are too long for the log, and there are too many.
    let long = "x".repeat(MAX_BLOCK + 1);
    check(json!([(user(json!(long))), (said.clone()), (user(json!("b")))]), json!([null, "b"]), 1);
    let many: Value = (0..=MAX_HISTORY).map(|at| user(json!(at.to_string()))).collect();
    let (_, _, record) = ask("/v1/chat/completions", "", &chat(many));
    let history = record["history"].as_array().unwrap();
    assert_eq!(history.len(), MAX_HISTORY + 1);
    assert_eq!((&history[0], &history[1]), (&Value::Null, &json!("1")));
}
