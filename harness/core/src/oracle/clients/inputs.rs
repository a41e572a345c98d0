//! Checks the answers of clients to the questions of an agent.
//!
//! Knows: dispatches, the states that clients have received. Never knows: the meaning of a question.

use crate::wire::json::Value;

use crate::oracle::check::FindingSink;
use crate::oracle::members::{given, list, text};
use crate::oracle::rule::CheckRule as _;
use crate::oracle::step::OracleStep;

use super::catalogue::Rule;
use super::{ClientFamily, ClientView, SentDispatch, dispatched};

/// The requirements of [`Rule::InputAnswers`].
const KINDS: &str = "client.input.answer-kinds";
const REQUIRED: &str = "client.input.required";

/// The kinds of questions, each with the kind of the value that answers it. A question that offers a selection and
/// permits free text may also be answered with text.
const FITTING: [(&str, &str); 6] = [
    ("text", "text"),
    ("number", "number"),
    ("integer", "number"),
    ("boolean", "boolean"),
    ("single-select", "selected"),
    ("multi-select", "selected-many"),
];

/// The checks of answers. These checks keep no state.
pub(super) struct InputChecks;

impl ClientFamily for InputChecks {
    fn step(&mut self, view: &ClientView<'_>, step: &OracleStep<'_>, out: &mut FindingSink) {
        let Some(sent) = dispatched(step) else { return };
        let Some(id) = text(sent.action, "requestId") else { return };
        match sent.name {
            "inputAnswerChanged" => {
                let answer = text(sent.action, "questionId").zip(given(sent.action, "answer"));
                if let Some((question, answer)) = answer {
                    kind(view, &sent, id, (question, answer), out);
                }
            }
            "inputCompleted" => {
                let answers = given(sent.action, "answers").and_then(Value::as_object);
                for (question, answer) in answers.into_iter().flat_map(|answers| answers.iter()) {
                    kind(view, &sent, id, (question.as_str(), answer), out);
                }
                if text(sent.action, "response") == Some("accept") {
                    required(view, &sent, id, out);
                }
            }
            _ => {}
        }
    }
}

/// Judges whether the kind of the value in an answer fits the kind of the question.
fn kind(
    view: &ClientView<'_>,
    sent: &SentDispatch<'_>,
    id: &str,
    (question, answer): (&str, &Value),
    out: &mut FindingSink,
) {
    let value = given(answer, "value").and_then(|value| text(value, "kind"));
    let Some(value) = value else { return };
    let asked = view.told.newest(view, sent.channel, |state| {
        let question = question_of(state, id, question)?;
        text(question, "kind").map(str::to_owned)
    });
    let Some(asked) = asked.flatten() else { return };
    let wrong = view.told.every(view, sent.channel, |state| {
        question_of(state, id, question).is_some_and(|question| !fits(question, value))
    });
    let Some((wrong, told)) = wrong else { return };
    out.seen(Rule::InputAnswers.of(KINDS));
    if wrong {
        let message = format!(
            "expected an answer that fits the question `{question}` of the kind `{asked}`, found \
             one of the kind `{value}`"
        );
        out.broken(Rule::InputAnswers.of(KINDS), message, &[told, view.line()]);
    }
}

/// Returns whether a kind of value answers a question. Kinds that are not in [`FITTING`] are extensions, which every
/// kind of value may answer.
fn fits(question: &Value, value: &str) -> bool {
    let asked = text(question, "kind").unwrap_or_default();
    let free = given(question, "allowFreeformInput").and_then(Value::as_bool) == Some(true);
    let known = FITTING.iter().any(|(_, kind)| *kind == value);
    let fitting = FITTING.iter().find(|(kind, _)| *kind == asked);
    fitting.is_none_or(|(_, fitting)| *fitting == value)
        || !known
        || (free && matches!(value, "text" | "selected-many"))
}

/// Judges whether a client that accepts an input request has answered all required questions of the request.
fn required(view: &ClientView<'_>, sent: &SentDispatch<'_>, id: &str, out: &mut FindingSink) {
    let answers = given(sent.action, "answers");
    let asks = |state: &Value| {
        request_of(state, id).is_some_and(|request| required_questions(request).next().is_some())
    };
    if view.told.newest(view, sent.channel, asks) != Some(true) {
        return;
    }
    let lacks = view.told.every(view, sent.channel, |state| {
        request_of(state, id).is_some_and(|request| {
            let kept = given(request, "answers");
            required_questions(request).any(|question| {
                let answer = answers.and_then(|it| given(it, question));
                let answer = answer.or_else(|| kept.and_then(|it| given(it, question)));
                // Answers before 0.2.0 have no state.
                let state = answer.map(|answer| text(answer, "state").unwrap_or("submitted"));
                state != Some("submitted")
            })
        })
    });
    let Some((lacks, told)) = lacks else { return };
    out.seen(Rule::InputAnswers.of(REQUIRED));
    if lacks {
        let message = format!(
            "expected an answer to every required question before the request `{id}` is accepted, \
             found one without"
        );
        out.broken(Rule::InputAnswers.of(REQUIRED), message, &[told, view.line()]);
    }
}

fn required_questions(request: &Value) -> impl Iterator<Item = &str> {
    let questions = list(request, "questions").iter();
    let required =
        |question: &&Value| given(question, "required").and_then(Value::as_bool) == Some(true);
    questions.filter(required).filter_map(|question| text(question, "id"))
}

fn question_of<'a>(state: &'a Value, request: &str, question: &str) -> Option<&'a Value> {
    let questions = list(request_of(state, request)?, "questions");
    questions.iter().find(|it| text(it, "id") == Some(question))
}

/// Returns an open request for input: a part of the active turn or, before 0.6.0, an entry of a list.
fn request_of<'a>(state: &'a Value, id: &str) -> Option<&'a Value> {
    let turn = given(state, "activeTurn");
    let parts = turn.map_or(&[][..], |turn| list(turn, "responseParts"));
    let open = |part: &&Value| given(part, "response").is_none();
    let in_parts = parts.iter().filter(open).filter_map(|part| given(part, "request"));
    let mut all = in_parts.chain(list(state, "inputRequests"));
    all.find(|request| text(request, "id") == Some(id))
}
