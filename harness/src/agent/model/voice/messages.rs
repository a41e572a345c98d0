//! Anthropic's messages.
//!
//! Knows: the shape. Never knows: scripts.

use crate::wire::json::{Value, json};

use super::{Event, Kind, Part, Say, Voice, is_input};
use crate::agent::model::plan::Call;

pub(super) fn tell(voice: &mut Voice, say: &Say<'_>, out: &mut Vec<Event>) {
    match say {
        Say::Begin => {
            let message = message(voice, json!([]), Value::Null);
            event("message_start", json!({"message": (message)}), out);
        }
        Say::Text(text) => {
            let (block, delta) = (
                json!({"type": "text", "text": ""}),
                json!({"type": "text_delta", "text": (*text)}),
            );
            running(voice, Kind::Text, text, block, delta, out);
        }
        Say::Thought(text) => {
            let (block, delta) = (
                json!({"type": "thinking", "thinking": "", "signature": ""}),
                json!({"type": "thinking_delta", "thinking": (*text)}),
            );
            running(voice, Kind::Thought, text, block, delta, out);
        }
        Say::Call(call) => {
            stop(voice, out);
            let index = voice.parts.len() as u64;
            let mut block = tool_use(call);
            block["input"] = json!({});
            event("content_block_start", json!({"index": (index), "content_block": (block)}), out);
            let delta = json!({"type": "input_json_delta", "partial_json": (call.wanted.arguments.to_text())});
            event("content_block_delta", json!({"index": (index), "delta": (delta)}), out);
            is_input(out);
            event("content_block_stop", json!({"index": (index)}), out);
            voice.called(call);
        }
        Say::Fail(failure) => {
            let error = json!({
                "type": (failure.name.as_str()), "message": (failure.message.as_str()),
            });
            event("error", json!({"error": (error)}), out);
        }
        Say::End => {
            stop(voice, out);
            let delta = json!({"stop_reason": (finish(voice)), "stop_sequence": null});
            let usage = json!({"output_tokens": (voice.usage[1])});
            event("message_delta", json!({"delta": (delta), "usage": (usage)}), out);
            event("message_stop", json!({}), out);
        }
    }
}

/// Goes on with a block of text, and begins it where it has not begun.
fn running(
    voice: &mut Voice,
    kind: Kind,
    text: &str,
    block: Value,
    delta: Value,
    out: &mut Vec<Event>,
) {
    if voice.open.as_ref().is_some_and(|(open, _)| *open != kind) {
        stop(voice, out);
    }
    let index = voice.parts.len() as u64;
    let begins = voice.open.is_none();
    voice.add(kind, text);
    if begins {
        event("content_block_start", json!({"index": (index), "content_block": (block)}), out);
    }
    event("content_block_delta", json!({"index": (index), "delta": (delta)}), out);
}

fn stop(voice: &mut Voice, out: &mut Vec<Event>) {
    let index = voice.parts.len() as u64;
    if let Some((kind, _)) = &voice.open {
        if *kind == Kind::Thought {
            let delta = json!({"type": "signature_delta", "signature": "scripted"});
            event("content_block_delta", json!({"index": (index), "delta": (delta)}), out);
        }
        event("content_block_stop", json!({"index": (index)}), out);
    }
    voice.close();
}

pub(super) fn whole(voice: &Voice) -> Value {
    let block = |part: &Part| match part {
        Part::Said(Kind::Text, text) => json!({"type": "text", "text": (text)}),
        Part::Said(Kind::Thought, text) => {
            json!({"type": "thinking", "thinking": (text), "signature": "scripted"})
        }
        Part::Call(call) => tool_use(call),
    };
    message(voice, voice.parts.iter().map(block).collect(), json!(finish(voice)))
}

fn message(voice: &Voice, content: Value, stop_reason: Value) -> Value {
    let [input, output] = voice.usage;
    json!({
        "id": (format!("msg_{}", voice.id)), "type": "message", "role": "assistant",
        "model": (voice.model), "content": (content), "stop_reason": (stop_reason),
        "stop_sequence": null, "usage": {"input_tokens": (input), "output_tokens": (output)},
    })
}

fn tool_use(call: &Call) -> Value {
    json!({
        "type": "tool_use", "id": (call.id.as_str()), "name": (call.wanted.name.as_str()), "input": (call.wanted.arguments.clone()),
    })
}

fn finish(voice: &Voice) -> &'static str {
    if voice.calls() { "tool_use" } else { "end_turn" }
}

fn event(name: &'static str, mut data: Value, out: &mut Vec<Event>) {
    data["type"] = json!(name);
    out.push(Event { name: Some(name), data, is_input: false });
}
