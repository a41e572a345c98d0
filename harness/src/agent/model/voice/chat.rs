//! OpenAI's chat completions. The format has no member for reasoning. As in compatible APIs, the reasoning is in
//! `reasoning_content`.
//!
//! Knows: the response format. Never knows: scripts.

use crate::wire::json::{Value, json};

use super::{FamilyVoice, SpokenPart, StreamEvent, TextKind, is_input, plain};
use crate::agent::model::offered::CallForm;
use crate::agent::model::plan::ToolUse;

pub(super) fn tell(voice: &mut FamilyVoice, say: &SpokenPart<'_>, out: &mut Vec<StreamEvent>) {
    let mut delta = |voice: &FamilyVoice, delta: Value| {
        out.push(plain(chunk(
            voice,
            json!([{"index": 0, "delta": (delta), "finish_reason": null}]),
        )));
    };
    match say {
        SpokenPart::Begin => delta(voice, json!({"role": "assistant", "content": ""})),
        SpokenPart::Text(text) => delta(voice, json!({"content": (*text)})),
        SpokenPart::Thought(text) => delta(voice, json!({"reasoning_content": (*text)})),
        SpokenPart::Call(call) => {
            let index = voice.all_calls().count() as u64;
            let mut whole = entry(call);
            let (kind, member) = match call.wanted.form {
                CallForm::FreeText => ("custom", "input"),
                _ => ("function", "arguments"),
            };
            let arguments = whole[kind][member].take();
            whole["index"] = json!(index);
            whole[kind][member] = json!("");
            delta(voice, json!({"tool_calls": [(whole)]}));
            let rest = json!({"index": (index), (kind): {(member): (arguments)}});
            delta(voice, json!({"tool_calls": [(rest)]}));
            is_input(out);
            voice.called(call);
        }
        SpokenPart::Fail(failure) => {
            let error = json!({
                "message": (failure.message.as_str()), "type": (failure.name.as_str()),
                "code": (failure.name.as_str()),
            });
            out.push(plain(json!({"error": (error)})));
        }
        SpokenPart::End => {
            let choice = json!([{"index": 0, "delta": {}, "finish_reason": (finish(voice))}]);
            let mut last = chunk(voice, choice);
            last["usage"] = usage(voice);
            out.push(plain(last));
        }
    }
}

pub(super) fn whole(voice: &FamilyVoice) -> Value {
    let mut message = json!({"role": "assistant", "content": (voice.said(TextKind::Text))});
    if voice.calls() {
        message["tool_calls"] = voice.all_calls().map(entry).collect();
    }
    let thought = voice.said(TextKind::Thought);
    if !thought.is_empty() {
        message["reasoning_content"] = json!(thought);
    }
    let choice = json!([{"index": 0, "message": (message), "finish_reason": (finish(voice))}]);
    let mut whole = chunk(voice, choice);
    whole["object"] = json!("chat.completion");
    whole["usage"] = usage(voice);
    whole
}

fn chunk(voice: &FamilyVoice, choices: Value) -> Value {
    json!({
        "id": (voice.id), "object": "chat.completion.chunk", "created": (voice.epoch),
        "model": (voice.model), "choices": (choices),
    })
}

fn entry(call: &ToolUse) -> Value {
    let (id, name) = (call.id.as_str(), call.wanted.name.as_str());
    match (call.wanted.form, call.wanted.arguments.as_str()) {
        (CallForm::FreeText, Some(input)) => {
            json!({"id": id, "type": "custom", "custom": {"name": name, "input": input}})
        }
        _ => {
            let arguments = call.wanted.arguments.to_text();
            json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
        }
    }
}

fn finish(voice: &FamilyVoice) -> &'static str {
    if voice.calls() { "tool_calls" } else { "stop" }
}

fn usage(voice: &FamilyVoice) -> Value {
    let [input, output] = voice.usage;
    json!({
        "prompt_tokens": (input), "completion_tokens": (output),
        "total_tokens": (input.saturating_add(output)),
    })
}
