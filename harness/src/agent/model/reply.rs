//! A response as a sequence of beats; a beat is bytes to write, a pause, or a hold.
//!
//! Knows: plans, voices. Never knows: clocks, sockets.
//!
//! Start at [`ModelReply`].

use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

use crate::agent::script::INPUT;
use crate::wire::json::Value;

use super::failure::ModelFailure;
use super::flavor::ModelFlavor;
use super::plan::{AnswerMove, AnswerPlan};
use super::voice::{FamilyVoice, SpokenPart};

/// The pause between two chunks of an endless response.
const ENDLESS_PAUSE: Duration = Duration::from_millis(50);

/// A step of writing a response.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ReplyBeat {
    /// A write; the bytes are flushed at once.
    Write(String),
    /// A wait for this time.
    Pause(Duration),
    /// A wait for the release of the hold with this name, at most for [`MAX_HOLD`](super::MAX_HOLD).
    Hold(String),
}

/// A response, as an iterator of its beats. An endless response ends when the client disconnects.
pub struct ModelReply {
    /// The HTTP status.
    pub status: u16,
    /// The content type; `None` without a body.
    pub content: Option<&'static str>,
    beats: VecDeque<ReplyBeat>,
    endless: Option<FamilyVoice>,
}

impl fmt::Debug for ModelReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reply").field("status", &self.status).field("beats", &self.beats).finish()
    }
}

impl ModelReply {
    /// Creates a response with a JSON body.
    pub(super) fn json(status: u16, body: &Value) -> ModelReply {
        ModelReply {
            status,
            content: Some("application/json"),
            beats: VecDeque::from([ReplyBeat::Write(body.to_text())]),
            endless: None,
        }
    }

    /// Creates a response without a body.
    pub(super) fn empty(status: u16) -> ModelReply {
        ModelReply { status, content: None, beats: VecDeque::new(), endless: None }
    }

    /// Creates the response for a model's turn. A failure before the first output fails the request; a later
    /// failure fails the stream. If a response is not streamed, it has no output before its end.
    pub(super) fn of(
        plan: AnswerPlan,
        voice: FamilyVoice,
        flavor: &ModelFlavor,
        stream: bool,
    ) -> ModelReply {
        let said = |one: &&AnswerMove| {
            !matches!(one, AnswerMove::Pause(_) | AnswerMove::Hold(_) | AnswerMove::Usage { .. })
                && (stream || matches!(one, AnswerMove::Fail(_)))
        };
        if let Some(AnswerMove::Fail(kind)) = plan.moves.iter().find(said) {
            let failure = ModelFailure::of(kind, voice.family(), flavor);
            let mut reply = failure.refusal(voice.family());
            let mut beats: VecDeque<ReplyBeat> = plan.moves.iter().filter_map(waiting).collect();
            beats.append(&mut reply.beats);
            reply.beats = beats;
            return reply;
        }
        if stream {
            ModelReply::streamed(plan, voice, flavor)
        } else {
            ModelReply::whole(plan, voice)
        }
    }

    fn streamed(plan: AnswerPlan, mut voice: FamilyVoice, flavor: &ModelFlavor) -> ModelReply {
        let mut reply = ModelReply {
            status: 200,
            content: Some(voice.content()),
            beats: VecDeque::from([ReplyBeat::Write(voice.say(&SpokenPart::Begin))]),
            endless: None,
        };
        for one in plan.moves {
            reply.beats.extend(waiting(&one));
            match &one {
                AnswerMove::Text(text) => reply.write(voice.say(&SpokenPart::Text(text))),
                AnswerMove::Thought(text) => reply.write(voice.say(&SpokenPart::Thought(text))),
                AnswerMove::Call(call) if call.input_held => {
                    let [beginning, rest] = voice.say_in_parts(call);
                    reply.write(beginning);
                    reply.beats.push_back(ReplyBeat::Hold(INPUT.to_owned()));
                    reply.write(rest);
                }
                AnswerMove::Call(call) => reply.write(voice.say(&SpokenPart::Call(call))),
                AnswerMove::Usage { input, output } => voice.usage = [*input, *output],
                AnswerMove::Fail(kind) => {
                    let failure = ModelFailure::of(kind, voice.family(), flavor);
                    reply.write(voice.say(&SpokenPart::Fail(&failure)));
                    return reply;
                }
                AnswerMove::Endless => {
                    reply.endless = Some(voice);
                    return reply;
                }
                AnswerMove::Pause(_) | AnswerMove::Hold(_) => {}
            }
        }
        reply.write(voice.say(&SpokenPart::End));
        reply
    }

    /// Returns a response as a whole, after all pauses and holds. An endless response never sends a body.
    fn whole(plan: AnswerPlan, mut voice: FamilyVoice) -> ModelReply {
        let mut reply = ModelReply::empty(200);
        reply.content = Some("application/json");
        for one in &plan.moves {
            reply.beats.extend(waiting(one));
            match one {
                AnswerMove::Usage { input, output } => voice.usage = [*input, *output],
                AnswerMove::Endless => {
                    reply.endless = Some(voice);
                    return reply;
                }
                _ => {}
            }
        }
        let body = voice.whole(&plan.moves);
        reply.write(body.to_text());
        reply
    }

    fn write(&mut self, bytes: String) {
        if !bytes.is_empty() {
            self.beats.push_back(ReplyBeat::Write(bytes));
        }
    }
}

impl Iterator for ModelReply {
    type Item = ReplyBeat;

    fn next(&mut self) -> Option<ReplyBeat> {
        if self.beats.is_empty() {
            let voice = self.endless.as_mut()?;
            let text = voice.say(&SpokenPart::Text("on and on "));
            self.beats.push_back(ReplyBeat::Pause(ENDLESS_PAUSE));
            // A response that is not streamed cannot be sent in parts.
            if self.content != Some("application/json") {
                self.beats.push_back(ReplyBeat::Write(text));
            }
        }
        self.beats.pop_front()
    }
}

fn waiting(one: &AnswerMove) -> Option<ReplyBeat> {
    match one {
        AnswerMove::Pause(pause) => Some(ReplyBeat::Pause(*pause)),
        AnswerMove::Hold(name) => Some(ReplyBeat::Hold(name.clone())),
        _ => None,
    }
}
