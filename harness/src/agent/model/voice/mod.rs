//! The response formats of the families: events of a stream, or one body.
//!
//! Each family is a file with three functions: the events of a part, the parts of a body, and the body around
//! the parts.
//!
//! Knows: the shapes of the families. Never knows: scripts, requests.
//!
//! Start at [`FamilyVoice`].

use std::fmt::Write as _;

use crate::wire::json::Value;

use super::ModelSetting;
use super::failure::ModelFailure;
use super::plan::{AnswerMove, ToolUse};
use super::read::ParsedRequest;
use super::routes::ModelFamily;

mod chat;
mod gemini;
mod messages;
mod responses;

/// A part of a response to write.
#[derive(Clone, Copy, Debug)]
pub(super) enum SpokenPart<'a> {
    Begin,
    Text(&'a str),
    Thought(&'a str),
    Call(&'a ToolUse),
    Fail(&'a ModelFailure),
    End,
}

/// The kinds of streamed text.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum TextKind {
    Text,
    Thought,
}

/// A complete part of a response.
#[derive(Clone, Debug)]
pub(super) enum AnswerPart {
    Said(TextKind, String),
    Call(ToolUse),
}

/// An event of a stream.
pub(super) struct StreamEvent {
    name: Option<&'static str>,
    data: Value,
    /// Whether the event has the input of a call that an earlier event has announced.
    is_input: bool,
}

/// Marks the last event as an event with the input of a call.
fn is_input(events: &mut [StreamEvent]) {
    if let Some(last) = events.last_mut() {
        last.is_input = true;
    }
}

/// The writer of a response in a family's format, with the parts written so far.
#[derive(Clone, Debug)]
pub(super) struct FamilyVoice {
    family: ModelFamily,
    model: String,
    id: String,
    epoch: u64,
    /// The number of members written so far, if the stream is one JSON array; `None` for events.
    array: Option<u64>,
    /// The numbers of tokens read and written.
    pub(super) usage: [u64; 2],
    /// The text that is being streamed.
    open: Option<(TextKind, String)>,
    /// The complete parts, without the text that is being streamed.
    parts: Vec<AnswerPart>,
    /// The number of events so far, in families that count them.
    count: u64,
}

impl FamilyVoice {
    pub(super) fn of(
        family: ModelFamily,
        asked: &ParsedRequest,
        setting: &ModelSetting<'_>,
    ) -> FamilyVoice {
        FamilyVoice {
            family,
            model: asked.model.clone(),
            id: format!("scripted{}", setting.serial),
            epoch: setting.epoch,
            array: asked.array.then_some(0),
            usage: [10, 5],
            open: None,
            parts: Vec::new(),
            count: 0,
        }
    }

    pub(super) fn family(&self) -> ModelFamily {
        self.family
    }

    /// Returns the content type of a stream.
    pub(super) fn content(&self) -> &'static str {
        if self.array.is_some() { "application/json" } else { "text/event-stream" }
    }

    /// Writes a part of the response; returns the bytes to send if the response is streamed.
    pub(super) fn say(&mut self, say: &SpokenPart<'_>) -> String {
        let events = self.events(say);
        let mut bytes = self.written(&events);
        match (say, self.array, self.family) {
            (SpokenPart::End | SpokenPart::Fail(_), Some(written), _) => {
                bytes.push_str(if written == 0 { "[]" } else { "]" });
            }
            (SpokenPart::End | SpokenPart::Fail(_), None, ModelFamily::Chat) => {
                bytes.push_str("data: [DONE]\n\n")
            }
            _ => {}
        }
        bytes
    }

    /// Writes a call. Returns the bytes of the call's start, and the bytes of the input and of all that
    /// follows. The first string is empty if the family does not announce a call before the input.
    pub(super) fn say_in_parts(&mut self, call: &ToolUse) -> [String; 2] {
        let events = self.events(&SpokenPart::Call(call));
        let at = events.iter().position(|event| event.is_input).unwrap_or_default();
        let (beginning, rest) = events.split_at(at);
        [self.written(beginning), self.written(rest)]
    }

    fn events(&mut self, say: &SpokenPart<'_>) -> Vec<StreamEvent> {
        let mut events = Vec::new();
        let tell = match self.family {
            ModelFamily::Chat => chat::tell,
            ModelFamily::Responses => responses::tell,
            ModelFamily::Messages => messages::tell,
            ModelFamily::Gemini => gemini::tell,
        };
        tell(self, say, &mut events);
        events
    }

    fn written(&mut self, events: &[StreamEvent]) -> String {
        let mut bytes = String::new();
        for event in events {
            self.write(event, &mut bytes);
        }
        bytes
    }

    fn write(&mut self, event: &StreamEvent, bytes: &mut String) {
        let data = event.data.to_text();
        if let Some(written) = &mut self.array {
            bytes.push(if *written == 0 { '[' } else { ',' });
            bytes.push_str(&data);
            *written += 1;
            return;
        }
        if let Some(name) = event.name {
            let _ = writeln!(bytes, "event: {name}");
        }
        let _ = write!(bytes, "data: {data}\n\n");
    }

    /// Returns a response body with these parts.
    pub(super) fn whole(&mut self, moves: &[AnswerMove]) -> Value {
        for one in moves {
            match one {
                AnswerMove::Text(text) => self.add(TextKind::Text, text),
                AnswerMove::Thought(text) => self.add(TextKind::Thought, text),
                AnswerMove::Call(call) => self.called(call),
                _ => {}
            }
        }
        self.close();
        match self.family {
            ModelFamily::Chat => chat::whole(self),
            ModelFamily::Responses => responses::whole(self),
            ModelFamily::Messages => messages::whole(self),
            ModelFamily::Gemini => gemini::whole(self),
        }
    }

    /// Appends to the open text of this kind, or starts a new text.
    fn add(&mut self, kind: TextKind, text: &str) {
        match &mut self.open {
            Some((open, said)) if *open == kind => said.push_str(text),
            _ => {
                self.close();
                self.open = Some((kind, text.to_owned()));
            }
        }
    }

    fn called(&mut self, call: &ToolUse) {
        self.close();
        self.parts.push(AnswerPart::Call(call.clone()));
    }

    /// Ends the open text.
    fn close(&mut self) {
        if let Some((kind, said)) = self.open.take() {
            self.parts.push(AnswerPart::Said(kind, said));
        }
    }

    /// Returns whether the response calls tools, so that the turn continues with their results.
    fn calls(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, AnswerPart::Call(_)))
    }

    /// Returns the whole text of this kind in the response so far.
    fn said(&self, wanted: TextKind) -> String {
        let said = self.parts.iter().filter_map(|part| match part {
            AnswerPart::Said(kind, text) if *kind == wanted => Some(text.as_str()),
            _ => None,
        });
        said.collect()
    }

    fn all_calls(&self) -> impl Iterator<Item = &ToolUse> {
        self.parts.iter().filter_map(|part| match part {
            AnswerPart::Call(call) => Some(call),
            AnswerPart::Said(..) => None,
        })
    }
}

fn plain(data: Value) -> StreamEvent {
    StreamEvent { name: None, data, is_input: false }
}
