//! The response format of Google's `generateContent`.
//!
//! Knows: the response format. Never knows: scripts.

use crate::wire::json::{Value, json};

use super::{AnswerPart, FamilyVoice, SpokenPart, StreamEvent, TextKind, plain};

pub(super) fn tell(voice: &mut FamilyVoice, say: &SpokenPart<'_>, out: &mut Vec<StreamEvent>) {
    match say {
        SpokenPart::Begin => {}
        SpokenPart::Text(text) => {
            let part = part(&AnswerPart::Said(TextKind::Text, (*text).to_owned()));
            out.push(plain(response(voice, json!([(part)]), None)));
        }
        SpokenPart::Thought(text) => {
            let part = part(&AnswerPart::Said(TextKind::Thought, (*text).to_owned()));
            out.push(plain(response(voice, json!([(part)]), None)));
        }
        SpokenPart::Call(call) => {
            let part = part(&AnswerPart::Call((*call).clone()));
            out.push(plain(response(voice, json!([(part)]), None)));
            voice.called(call);
        }
        SpokenPart::Fail(failure) => {
            let (status, message) = (failure.status, failure.message.as_str());
            out.push(plain(json!({"error": {"code": (status), "message": (message)}})));
        }
        SpokenPart::End => out.push(plain(response(voice, json!([{"text": ""}]), Some("STOP")))),
    }
}

pub(super) fn whole(voice: &FamilyVoice) -> Value {
    response(voice, voice.parts.iter().map(part).collect(), Some("STOP"))
}

fn part(part: &AnswerPart) -> Value {
    match part {
        AnswerPart::Said(TextKind::Text, text) => json!({"text": (text)}),
        AnswerPart::Said(TextKind::Thought, text) => json!({"text": (text), "thought": true}),
        AnswerPart::Call(call) => json!({
            "functionCall": {
                "id": (call.id.as_str()), "name": (call.wanted.name.as_str()), "args": (call.wanted.arguments.clone()),
            },
        }),
    }
}

fn response(voice: &FamilyVoice, parts: Value, finish: Option<&str>) -> Value {
    let mut candidate = json!({"index": 0, "content": {"role": "model", "parts": (parts)}});
    if let Some(finish) = finish {
        candidate["finishReason"] = json!(finish);
    }
    let [input, output] = voice.usage;
    let usage = json!({
        "promptTokenCount": (input), "candidatesTokenCount": (output),
        "totalTokenCount": (input.saturating_add(output)),
    });
    json!({
        "candidates": [(candidate)], "usageMetadata": (usage), "modelVersion": (voice.model),
        "responseId": (voice.id),
    })
}
