//! Google's `generateContent`.
//!
//! Knows: the shape. Never knows: scripts.

use crate::wire::json::{Value, json};

use super::{Event, Kind, Part, Say, Voice, plain};

pub(super) fn tell(voice: &mut Voice, say: &Say<'_>, out: &mut Vec<Event>) {
    match say {
        Say::Begin => {}
        Say::Text(text) => {
            let part = part(&Part::Said(Kind::Text, (*text).to_owned()));
            out.push(plain(response(voice, json!([(part)]), None)));
        }
        Say::Thought(text) => {
            let part = part(&Part::Said(Kind::Thought, (*text).to_owned()));
            out.push(plain(response(voice, json!([(part)]), None)));
        }
        Say::Call(call) => {
            let part = part(&Part::Call((*call).clone()));
            out.push(plain(response(voice, json!([(part)]), None)));
            voice.called(call);
        }
        Say::Fail(failure) => {
            let (status, message) = (failure.status, failure.message.as_str());
            out.push(plain(json!({"error": {"code": (status), "message": (message)}})));
        }
        Say::End => out.push(plain(response(voice, json!([{"text": ""}]), Some("STOP")))),
    }
}

pub(super) fn whole(voice: &Voice) -> Value {
    response(voice, voice.parts.iter().map(part).collect(), Some("STOP"))
}

fn part(part: &Part) -> Value {
    match part {
        Part::Said(Kind::Text, text) => json!({"text": (text)}),
        Part::Said(Kind::Thought, text) => json!({"text": (text), "thought": true}),
        Part::Call(call) => json!({
            "functionCall": {
                "id": (call.id.as_str()), "name": (call.wanted.name.as_str()), "args": (call.wanted.arguments.clone()),
            },
        }),
    }
}

fn response(voice: &Voice, parts: Value, finish: Option<&str>) -> Value {
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
