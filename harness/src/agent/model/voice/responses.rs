//! The response format of OpenAI's responses.
//!
//! Knows: the response format. Never knows: scripts.

use crate::wire::json::{Value, json};

use super::{AnswerPart, FamilyVoice, SpokenPart, StreamEvent, TextKind, is_input};
use crate::agent::model::offered::CallForm;
use crate::agent::model::plan::ToolUse;

pub(super) fn tell(voice: &mut FamilyVoice, say: &SpokenPart<'_>, out: &mut Vec<StreamEvent>) {
    match say {
        SpokenPart::Begin => {
            for name in ["response.created", "response.in_progress"] {
                let response = response(voice, "in_progress");
                event(voice, name, json!({"response": (response)}), out);
            }
        }
        SpokenPart::Text(text) => running(voice, TextKind::Text, text, out),
        SpokenPart::Thought(text) => running(voice, TextKind::Thought, text, out),
        SpokenPart::Call(call) => {
            finish(voice, out);
            let place = voice.parts.len();
            let item = item(voice, place, &AnswerPart::Call((*call).clone()));
            let streamed = match call.wanted.form {
                CallForm::Function => Some(FUNCTION),
                CallForm::FreeText => Some(CUSTOM),
                CallForm::LocalShell | CallForm::Shell | CallForm::Patch => None,
            };
            let mut begun = item.clone();
            begun["status"] = json!("in_progress");
            if let Some([member, ..]) = streamed {
                begun[member] = json!("");
            }
            let at = json!({"output_index": (place as u64), "item": (begun)});
            event(voice, "response.output_item.added", at, out);
            if let Some([member, delta, done]) = streamed {
                let whole = item[member].clone();
                let inner = |name: &str| {
                    let id = item["id"].clone();
                    json!({"item_id": (id), "output_index": (place as u64), (name): (whole.clone())})
                };
                event(voice, delta, inner("delta"), out);
                is_input(out);
                event(voice, done, inner(member), out);
            }
            let at = json!({"output_index": (place as u64), "item": (item)});
            event(voice, "response.output_item.done", at, out);
            voice.called(call);
        }
        SpokenPart::Fail(failure) => {
            let mut response = response(voice, "failed");
            let (code, message) = (failure.name.as_str(), failure.message.as_str());
            response["error"] = json!({"code": (code), "message": (message)});
            event(voice, "response.failed", json!({"response": (response)}), out);
        }
        SpokenPart::End => {
            finish(voice, out);
            let response = response(voice, "completed");
            event(voice, "response.completed", json!({"response": (response)}), out);
        }
    }
}

pub(super) fn whole(voice: &FamilyVoice) -> Value {
    response(voice, "completed")
}

/// The streamed member of a call of a function, and the names of the events for this member.
const FUNCTION: [&str; 3] = [
    "arguments",
    "response.function_call_arguments.delta",
    "response.function_call_arguments.done",
];
const CUSTOM: [&str; 3] =
    ["input", "response.custom_tool_call_input.delta", "response.custom_tool_call_input.done"];

/// The names of the events for a kind of text, and the name of the item with the text.
struct TextEventNames {
    item: &'static str,
    part_added: &'static str,
    part_done: &'static str,
    delta: &'static str,
    done: &'static str,
    index: &'static str,
}

const TEXT: TextEventNames = TextEventNames {
    item: "message",
    part_added: "response.content_part.added",
    part_done: "response.content_part.done",
    delta: "response.output_text.delta",
    done: "response.output_text.done",
    index: "content_index",
};

const THOUGHT: TextEventNames = TextEventNames {
    item: "reasoning",
    part_added: "response.reasoning_summary_part.added",
    part_done: "response.reasoning_summary_part.done",
    delta: "response.reasoning_summary_text.delta",
    done: "response.reasoning_summary_text.done",
    index: "summary_index",
};

fn words(kind: TextKind) -> &'static TextEventNames {
    match kind {
        TextKind::Text => &TEXT,
        TextKind::Thought => &THOUGHT,
    }
}

/// Appends to the open item of text, or starts a new item.
fn running(voice: &mut FamilyVoice, kind: TextKind, text: &str, out: &mut Vec<StreamEvent>) {
    if voice.open.as_ref().is_some_and(|(open, _)| *open != kind) {
        finish(voice, out);
    }
    let (place, words) = (voice.parts.len(), words(kind));
    let begins = voice.open.is_none();
    voice.add(kind, text);
    if begins {
        let mut begun = item(voice, place, &AnswerPart::Said(kind, String::new()));
        for name in ["content", "summary"] {
            if begun.get(name).is_some() {
                begun[name] = json!([]);
            }
        }
        begun["status"] = json!("in_progress");
        let at = json!({"output_index": (place as u64), "item": (begun)});
        event(voice, "response.output_item.added", at, out);
        let begun = inside(voice, place, kind, "part", piece(kind, ""));
        event(voice, words.part_added, begun, out);
    }
    let more = inside(voice, place, kind, "delta", json!(text));
    event(voice, words.delta, more, out);
}

/// Ends the open item of text.
fn finish(voice: &mut FamilyVoice, out: &mut Vec<StreamEvent>) {
    let Some((kind, said)) = voice.open.clone() else {
        return;
    };
    let (place, words) = (voice.parts.len(), words(kind));
    let done = inside(voice, place, kind, "text", json!(said));
    event(voice, words.done, done, out);
    let done = inside(voice, place, kind, "part", piece(kind, &said));
    event(voice, words.part_done, done, out);
    voice.close();
    let item = item(voice, place, &AnswerPart::Said(kind, said));
    let at = json!({"output_index": (place as u64), "item": (item)});
    event(voice, "response.output_item.done", at, out);
}

/// Returns the data of an event about an item of text.
fn inside(voice: &FamilyVoice, place: usize, kind: TextKind, name: &str, value: Value) -> Value {
    let id = item_id(voice, place);
    let index = words(kind).index;
    json!({"item_id": (id), "output_index": (place as u64), (index): 0, (name): (value)})
}

fn piece(kind: TextKind, text: &str) -> Value {
    match kind {
        TextKind::Text => json!({"type": "output_text", "text": (text), "annotations": []}),
        TextKind::Thought => json!({"type": "summary_text", "text": (text)}),
    }
}

fn item_id(voice: &FamilyVoice, place: usize) -> String {
    format!("item_{}_{place}", voice.id)
}

fn item(voice: &FamilyVoice, place: usize, part: &AnswerPart) -> Value {
    let id = item_id(voice, place);
    match part {
        AnswerPart::Said(kind, text) => {
            let piece = piece(*kind, text);
            let item = words(*kind).item;
            match kind {
                TextKind::Text => json!({
                    "type": (item), "id": (id), "role": "assistant", "status": "completed",
                    "content": [(piece)],
                }),
                TextKind::Thought => {
                    json!({"type": (item), "id": (id), "status": "completed", "summary": [(piece)]})
                }
            }
        }
        AnswerPart::Call(call) => called(&id, call),
    }
}

/// Returns a call as an item, in the form in which its tool was offered.
fn called(id: &str, ToolUse { id: call, wanted, .. }: &ToolUse) -> Value {
    let (name, arguments) = (wanted.name.as_str(), &wanted.arguments);
    let mut item = match wanted.form {
        CallForm::Function => {
            json!({"type": "function_call", "name": name, "arguments": (arguments.to_text())})
        }
        CallForm::FreeText => {
            json!({"type": "custom_tool_call", "name": name, "input": (arguments.clone())})
        }
        CallForm::LocalShell => {
            let command = arguments["command"].clone();
            let action = json!({"type": "exec", "command": command, "env": {}});
            json!({"type": "local_shell_call", "action": action})
        }
        CallForm::Shell => {
            let action = json!({"commands": [(arguments["command"].clone())]});
            json!({"type": "shell_call", "action": action})
        }
        CallForm::Patch => {
            let operation = operation(arguments.as_str().unwrap_or_default());
            json!({"type": "apply_patch_call", "operation": operation})
        }
    };
    item["id"] = json!(id);
    item["call_id"] = json!(call.as_str());
    item["status"] = json!("completed");
    if let Some(namespace) = &wanted.namespace {
        item["namespace"] = json!(namespace.as_str());
    }
    item
}

/// The first words of the header of a file in a patch, and the operations that they denote.
const OPERATIONS: &[(&str, &str)] = &[
    ("*** Add File: ", "create_file"),
    ("*** Update File: ", "update_file"),
    ("*** Delete File: ", "delete_file"),
];

/// Returns the change of one file that a patch makes.
fn operation(patch: &str) -> Value {
    let mut lines =
        patch.lines().filter(|line| !matches!(*line, "*** Begin Patch" | "*** End Patch"));
    let header = lines.next().unwrap_or_default();
    let diff: String = lines.map(|line| format!("{line}\n")).collect();
    let of = |(begin, kind): &(&str, &str)| {
        Some((header.strip_prefix(begin)?.to_owned(), (*kind).to_owned()))
    };
    let (path, kind) = OPERATIONS.iter().find_map(of).unwrap_or_default();
    match kind.as_str() {
        "delete_file" => json!({"type": kind, "path": path}),
        _ => json!({"type": kind, "path": path, "diff": diff}),
    }
}

fn response(voice: &FamilyVoice, status: &str) -> Value {
    let places = voice.parts.iter().enumerate();
    let output: Value = places.map(|(place, part)| item(voice, place, part)).collect();
    let [input, written] = voice.usage;
    json!({
        "id": (format!("resp_{}", voice.id)), "object": "response", "created_at": (voice.epoch),
        "model": (voice.model), "status": (status), "output": (output), "tools": [],
        "parallel_tool_calls": true, "error": null,
        "usage": {
            "input_tokens": (input), "output_tokens": (written),
            "total_tokens": (input.saturating_add(written)),
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 0},
        },
    })
}

fn event(voice: &mut FamilyVoice, name: &'static str, mut data: Value, out: &mut Vec<StreamEvent>) {
    data["type"] = json!(name);
    data["sequence_number"] = json!(voice.count);
    voice.count += 1;
    out.push(StreamEvent { name: Some(name), data, is_input: false });
}
