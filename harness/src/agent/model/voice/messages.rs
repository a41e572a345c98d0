//! The response format of Anthropic's messages.
//!
//! Knows: the response format. Never knows: scripts.

use crate::wire::json::{Value, json};

use super::{AnswerPart, FamilyVoice, SpokenPart, StreamEvent, TextKind, is_input};
use crate::agent::model::plan::ToolUse;

pub(super) fn tell(voice: &mut FamilyVoice, say: &SpokenPart<'_>, out: &mut Vec<StreamEvent>) {
    match say {
        SpokenPart::Begin => {
            let message = message(voice, json!([]), Value::Null);
            event("message_start", json!({"message": (message)}), out);
        }
        SpokenPart::Text(text) => {
            let (block, delta) = (
                json!({"type": "text", "text": ""}),
                json!({"type": "text_delta", "text": (*text)}),
            );
            running(voice, TextKind::Text, text, block, delta, out);
        }
        SpokenPart::Thought(text) => {
            let (block, delta) = (
                json!({"type": "thinking", "thinking": "", "signature": ""}),
                json!({"type": "thinking_delta", "thinking": (*text)}),
            );
            running(voice, TextKind::Thought, text, block, delta, out);
        }
        SpokenPart::Call(call) => {
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
        SpokenPart::Fail(failure) => {
            let error = json!({
                "type": (failure.name.as_str()), "message": (failure.message.as_str()),
            });
            event("error", json!({"error": (error)}), out);
        }
        SpokenPart::End => {
            stop(voice, out);
            let delta = json!({"stop_reason": (finish(voice)), "stop_sequence": null});
            // The script's usage may be known only at the end, so it replaces the usage in the first event.
            let [input, output] = voice.usage;
            let usage = json!({"input_tokens": (input), "output_tokens": (output)});
            event("message_delta", json!({"delta": (delta), "usage": (usage)}), out);
            event("message_stop", json!({}), out);
        }
    }
}

/// Appends to the open block of text, or starts a new block.
fn running(
    voice: &mut FamilyVoice,
    kind: TextKind,
    text: &str,
    block: Value,
    delta: Value,
    out: &mut Vec<StreamEvent>,
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

fn stop(voice: &mut FamilyVoice, out: &mut Vec<StreamEvent>) {
    let index = voice.parts.len() as u64;
    if let Some((kind, _)) = &voice.open {
        if *kind == TextKind::Thought {
            let delta = json!({"type": "signature_delta", "signature": "scripted"});
            event("content_block_delta", json!({"index": (index), "delta": (delta)}), out);
        }
        event("content_block_stop", json!({"index": (index)}), out);
    }
    voice.close();
}

pub(super) fn whole(voice: &FamilyVoice) -> Value {
    let block = |part: &AnswerPart| match part {
        AnswerPart::Said(TextKind::Text, text) => json!({"type": "text", "text": (text)}),
        AnswerPart::Said(TextKind::Thought, text) => {
            json!({"type": "thinking", "thinking": (text), "signature": "scripted"})
        }
        AnswerPart::Call(call) => tool_use(call),
    };
    message(voice, voice.parts.iter().map(block).collect(), json!(finish(voice)))
}

fn message(voice: &FamilyVoice, content: Value, stop_reason: Value) -> Value {
    let [input, output] = voice.usage;
    json!({
        "id": (format!("msg_{}", voice.id)), "type": "message", "role": "assistant",
        "model": (voice.model), "content": (content), "stop_reason": (stop_reason),
        "stop_sequence": null, "usage": {"input_tokens": (input), "output_tokens": (output)},
    })
}

fn tool_use(call: &ToolUse) -> Value {
    json!({
        "type": "tool_use", "id": (call.id.as_str()), "name": (call.wanted.name.as_str()), "input": (call.wanted.arguments.clone()),
    })
}

fn finish(voice: &FamilyVoice) -> &'static str {
    if voice.calls() { "tool_use" } else { "end_turn" }
}

fn event(name: &'static str, mut data: Value, out: &mut Vec<StreamEvent>) {
    data["type"] = json!(name);
    out.push(StreamEvent { name: Some(name), data, is_input: false });
}
