//! An answer as beats: bytes to write, pauses to keep, names to wait for.
//!
//! Knows: plans, voices. Never knows: clocks, sockets.
//!
//! Start at [`Reply`].

use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

use crate::agent::script::INPUT;
use crate::wire::json::Value;

use super::failure::Failure;
use super::flavor::Flavor;
use super::plan::{Move, Plan};
use super::voice::{Say, Voice};

/// Between two texts of an endless answer.
const ENDLESS_PAUSE: Duration = Duration::from_millis(50);

/// What whoever writes an answer does next.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Beat {
    /// Writes these bytes, and flushes.
    Write(String),
    /// Waits that long.
    Pause(Duration),
    /// Waits until the name is released, at most [`MAX_HOLD`](super::MAX_HOLD).
    Hold(String),
}

/// An answer. It ends when there is no further beat; an endless one when nobody listens any more.
pub struct Reply {
    /// The HTTP status.
    pub status: u16,
    /// The content type; `None` without a body.
    pub content: Option<&'static str>,
    beats: VecDeque<Beat>,
    endless: Option<Voice>,
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reply").field("status", &self.status).field("beats", &self.beats).finish()
    }
}

impl Reply {
    /// A whole JSON value.
    pub(super) fn json(status: u16, body: &Value) -> Reply {
        Reply {
            status,
            content: Some("application/json"),
            beats: VecDeque::from([Beat::Write(body.to_text())]),
            endless: None,
        }
    }

    /// A status without a body.
    pub(super) fn empty(status: u16) -> Reply {
        Reply { status, content: None, beats: VecDeque::new(), endless: None }
    }

    /// A turn. A failure before anything was said is one of the request, later one of the stream; of what is
    /// not streamed nothing is said before its end.
    pub(super) fn of(plan: Plan, voice: Voice, flavor: &Flavor, stream: bool) -> Reply {
        let said = |one: &&Move| {
            !matches!(one, Move::Pause(_) | Move::Hold(_) | Move::Usage { .. })
                && (stream || matches!(one, Move::Fail(_)))
        };
        if let Some(Move::Fail(kind)) = plan.moves.iter().find(said) {
            let failure = Failure::of(kind, voice.family(), flavor);
            let mut reply = failure.refusal(voice.family());
            let mut beats: VecDeque<Beat> = plan.moves.iter().filter_map(waiting).collect();
            beats.append(&mut reply.beats);
            reply.beats = beats;
            return reply;
        }
        if stream { Reply::streamed(plan, voice, flavor) } else { Reply::whole(plan, voice) }
    }

    fn streamed(plan: Plan, mut voice: Voice, flavor: &Flavor) -> Reply {
        let mut reply = Reply {
            status: 200,
            content: Some(voice.content()),
            beats: VecDeque::from([Beat::Write(voice.say(&Say::Begin))]),
            endless: None,
        };
        for one in plan.moves {
            reply.beats.extend(waiting(&one));
            match &one {
                Move::Text(text) => reply.write(voice.say(&Say::Text(text))),
                Move::Thought(text) => reply.write(voice.say(&Say::Thought(text))),
                Move::Call(call) if call.input_held => {
                    let [beginning, rest] = voice.say_in_parts(call);
                    reply.write(beginning);
                    reply.beats.push_back(Beat::Hold(INPUT.to_owned()));
                    reply.write(rest);
                }
                Move::Call(call) => reply.write(voice.say(&Say::Call(call))),
                Move::Usage { input, output } => voice.usage = [*input, *output],
                Move::Fail(kind) => {
                    let failure = Failure::of(kind, voice.family(), flavor);
                    reply.write(voice.say(&Say::Fail(&failure)));
                    return reply;
                }
                Move::Endless => {
                    reply.endless = Some(voice);
                    return reply;
                }
                Move::Pause(_) | Move::Hold(_) => {}
            }
        }
        reply.write(voice.say(&Say::End));
        reply
    }

    /// Everything at once, after all waiting. An endless answer never comes.
    fn whole(plan: Plan, mut voice: Voice) -> Reply {
        let mut reply = Reply::empty(200);
        reply.content = Some("application/json");
        for one in &plan.moves {
            reply.beats.extend(waiting(one));
            match one {
                Move::Usage { input, output } => voice.usage = [*input, *output],
                Move::Endless => {
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
            self.beats.push_back(Beat::Write(bytes));
        }
    }
}

impl Iterator for Reply {
    type Item = Beat;

    fn next(&mut self) -> Option<Beat> {
        if self.beats.is_empty() {
            let voice = self.endless.as_mut()?;
            let text = voice.say(&Say::Text("on and on "));
            self.beats.push_back(Beat::Pause(ENDLESS_PAUSE));
            // Between the parts of a whole answer nothing can be said.
            if self.content != Some("application/json") {
                self.beats.push_back(Beat::Write(text));
            }
        }
        self.beats.pop_front()
    }
}

fn waiting(one: &Move) -> Option<Beat> {
    match one {
        Move::Pause(pause) => Some(Beat::Pause(*pause)),
        Move::Hold(name) => Some(Beat::Hold(name.clone())),
        _ => None,
    }
}
