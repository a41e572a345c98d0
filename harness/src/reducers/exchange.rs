//! Asks a subject (a tested reducer) questions, and checks its answers.
//!
//! A [`ReducerSubject`] is any reducer under test: a process that uses the line protocol, or a reducer in this process.
//!
//! Knows: the line protocol of `REDUCERS.md`. Never knows: processes, clocks, correct answers.
//!
//! Start at [`ReducerSubject`]; [`read`] checks a line.

use std::fmt;

use crate::wire::json::{Map, Value, json};

use crate::model::ActionOutcome;
use crate::wire::channel::ChannelKind;

/// A question to a subject.
#[derive(Clone, Debug, PartialEq)]
pub enum SubjectQuestion {
    /// A request to apply actions to a state.
    Reduce {
        /// The channel whose reducer is used.
        channel: ChannelKind,
        /// The state before the actions.
        state: Value,
        /// The actions, in order.
        actions: Vec<Value>,
        /// The clock, in milliseconds since 1970.
        now: u64,
    },
    /// A request to decode and encode a value.
    RoundTrip {
        /// The name of the value's type, such as `ChatState`.
        name: String,
        /// The value to decode and encode.
        value: Value,
    },
}

/// The answer of a subject.
#[derive(Clone, Debug, PartialEq)]
pub enum SubjectAnswer {
    /// The result of the question: the state after the actions, or the encoded value.
    Value {
        /// The resulting value.
        value: Value,
        /// The outcome of each action, if the subject reports outcomes.
        outcomes: Option<Vec<ActionResult>>,
    },
    /// The reason why the subject could not answer the question.
    Error(String),
}

/// The outcome of one action in the line protocol, without a reason.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum ActionResult {
    /// The action was applied.
    Applied,
    /// The action had no effect on the state.
    NoOp,
    /// The action does not belong to the channel or version.
    OutOfScope,
    /// The action is invalid.
    Invalid,
}

/// A violation of the line protocol. After any violation, the process is stopped.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum ExchangeError {
    /// The subject's process ended.
    #[error("the subject ended{0} instead of answering")]
    Died(String),
    /// The subject did not answer in time.
    #[error(
        "the subject did not answer within {0} ms (hint: an answer has to be flushed at the end of its line)"
    )]
    Silent(u128),
    /// The line that the subject sent is longer than an answer may be.
    #[error(
        "expected an answer of at most {limit} bytes, found a longer line (it begins with `{begins}`)"
    )]
    TooLong {
        /// The maximum length of an answer, in bytes.
        limit: usize,
        /// The first bytes of the line.
        begins: String,
    },
    /// The line that the subject sent is not an answer.
    #[error("expected an answer, found `{found}`: {why}")]
    Garbage {
        /// The beginning of the line that the subject sent.
        found: String,
        /// The reason why the line is not an answer.
        why: String,
    },
    /// The answer belongs to another question.
    #[error("expected the answer to question {expected}, found that to question {found}")]
    OutOfOrder {
        /// The identifier of the question that the subject has to answer.
        expected: u64,
        /// The identifier in the answer.
        found: String,
    },
    /// The subject answered a question a second time.
    #[error("question {0} was answered twice")]
    Twice(u64),
    /// The subject violated the protocol too often, so no further questions are sent.
    #[error("not asked, because the subject had failed too often")]
    GivenUp,
}

/// A reducer under test.
pub trait ReducerSubject {
    /// Asks questions and returns one answer per question, in order. After a violation of the protocol, the subject is
    /// started again.
    fn ask(&mut self, questions: Vec<SubjectQuestion>)
    -> Vec<Result<SubjectAnswer, ExchangeError>>;

    /// Returns whether the subject can answer no more questions.
    fn is_lost(&self) -> bool {
        false
    }
}

/// The maximum number of characters of a line that a message shows.
const SHOWN: usize = 60;

impl ActionResult {
    /// Converts an outcome of the harness's reducer.
    pub fn of(outcome: &ActionOutcome) -> ActionResult {
        match outcome {
            ActionOutcome::Applied => ActionResult::Applied,
            ActionOutcome::NoOp(_) => ActionResult::NoOp,
            ActionOutcome::OutOfScope => ActionResult::OutOfScope,
            ActionOutcome::Invalid { .. } => ActionResult::Invalid,
        }
    }

    /// Returns the outcome that has this name in the line protocol.
    pub fn from_name(name: &str) -> Option<ActionResult> {
        let all = [
            ActionResult::Applied,
            ActionResult::NoOp,
            ActionResult::OutOfScope,
            ActionResult::Invalid,
        ];
        all.into_iter().find(|told| told.name() == name)
    }

    /// Returns the name in the line protocol.
    pub fn name(self) -> &'static str {
        match self {
            ActionResult::Applied => "applied",
            ActionResult::NoOp => "noop",
            ActionResult::OutOfScope => "out-of-scope",
            ActionResult::Invalid => "invalid",
        }
    }
}

impl fmt::Display for ActionResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl SubjectQuestion {
    /// Returns the question that a subject is asked first: every reducer can answer it, so the answer shows whether the
    /// subject works.
    pub fn hello() -> SubjectQuestion {
        let state = json!({"agents": []});
        SubjectQuestion::Reduce { channel: ChannelKind::Root, state, actions: Vec::new(), now: 0 }
    }

    /// Returns the question as a line, including its line break.
    pub fn line(&self, id: u64) -> String {
        let mut line = match self {
            SubjectQuestion::Reduce { channel, state, actions, now } => json!({
                "id": id, "reducer": channel.reducer_name(), "state": state, "actions": actions,
                "now": now,
            }),
            SubjectQuestion::RoundTrip { name, value } => {
                json!({"id": id, "op": "roundtrip", "type": name, "value": value})
            }
        }
        .to_string();
        line.push('\n');
        line
    }

    /// Returns the name of the member of an answer that contains the result of this question.
    fn member(&self) -> &'static str {
        match self {
            SubjectQuestion::Reduce { .. } => "state",
            SubjectQuestion::RoundTrip { .. } => "value",
        }
    }
}

/// Parses a line as the answer to the question with this identifier. `answered` is the identifier of the last
/// answered question.
///
/// # Errors
/// Returns an error if the line is not an answer to this question.
pub fn read(
    question: &SubjectQuestion,
    id: u64,
    answered: Option<u64>,
    line: &[u8],
) -> Result<SubjectAnswer, ExchangeError> {
    let garbage = |why: String| ExchangeError::Garbage { found: excerpt(line), why };
    let value: Value = serde_json::from_slice(line).map_err(|error| garbage(error.to_string()))?;
    let Value::Object(mut members) = value else {
        return Err(garbage("expected an object".to_owned()));
    };
    match members.get("id") {
        Some(found) if found.as_u64() == Some(id) => {}
        Some(found) if found.as_u64().is_some() && found.as_u64() == answered => {
            return Err(ExchangeError::Twice(answered.unwrap_or_default()));
        }
        Some(found) => {
            return Err(ExchangeError::OutOfOrder {
                expected: id,
                found: cut(&found.to_string(), SHOWN),
            });
        }
        None => return Err(garbage("expected a member `id`".to_owned())),
    }
    if let Some(error) = members.get("error").filter(|error| !error.is_null()) {
        let why = error.as_str().map_or_else(|| error.to_string(), str::to_owned);
        return Ok(SubjectAnswer::Error(why));
    }
    let member = question.member();
    let outcomes = outcomes(question, &members).map_err(garbage)?;
    match members.remove(member) {
        Some(value) => Ok(SubjectAnswer::Value { value, outcomes }),
        None => Err(garbage(format!("expected a member `{member}`, or `error`"))),
    }
}

fn outcomes(
    question: &SubjectQuestion,
    members: &Map,
) -> Result<Option<Vec<ActionResult>>, String> {
    let (SubjectQuestion::Reduce { actions, .. }, Some(outcomes)) =
        (question, members.get("outcomes"))
    else {
        return Ok(None);
    };
    let Some(items) = outcomes.as_array() else {
        return Ok(None);
    };
    let told = |item: &Value| {
        let name = item.as_str().or_else(|| item.get("outcome").and_then(Value::as_str));
        name.and_then(ActionResult::from_name).ok_or_else(|| {
            let found = cut(&item.to_string(), SHOWN);
            format!("expected an outcome `applied`, `noop`, `out-of-scope` or `invalid`, found `{found}`")
        })
    };
    let told = items.iter().map(told).collect::<Result<Vec<_>, _>>()?;
    if told.len() != actions.len() {
        return Err(format!("expected {} outcomes, found {}", actions.len(), told.len()));
    }
    Ok(Some(told))
}

/// Returns the beginning of a line, safe for display.
pub fn excerpt(line: &[u8]) -> String {
    let start = line.get(..line.len().min(SHOWN * 4)).unwrap_or_default();
    cut(&String::from_utf8_lossy(start), SHOWN)
}

/// Truncates a string to this many characters and replaces control characters.
pub fn cut(text: &str, limit: usize) -> String {
    let plain = text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c });
    let mut shown: String = plain.take(limit).collect();
    if text.chars().nth(limit).is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question() -> SubjectQuestion {
        let actions = vec![json!({"type": "root/agentsChanged"})];
        SubjectQuestion::Reduce { channel: ChannelKind::Root, state: json!({}), actions, now: 5 }
    }

    #[test]
    fn a_question_is_one_line() {
        let line = question().line(7);
        let found: Value = serde_json::from_str(&line).unwrap();
        let actions = json!([{"type": "root/agentsChanged"}]);
        let expected =
            json!({"id": 7, "reducer": "root", "state": {}, "actions": actions, "now": 5});
        assert_eq!(found, expected);
        assert_eq!(line.matches('\n').count(), 1);
    }

    #[test]
    fn answers_are_read() {
        let read = |line: &str| read(&question(), 7, Some(6), line.as_bytes()).unwrap();
        let value = json!({"agents": []});
        let told = |outcomes| SubjectAnswer::Value { value: value.clone(), outcomes };
        assert_eq!(read(r#"{"id":7,"state":{"agents":[]}}"#), told(None));
        let applied = Some(vec![ActionResult::Applied]);
        let line = r#"{"id":7,"state":{"agents":[]},"outcomes":[{"outcome":"applied"}],"x":1}"#;
        assert_eq!(read(line), told(applied.clone()));
        assert_eq!(read(r#"{"id":7,"state":{"agents":[]},"outcomes":["applied"]}"#), told(applied));
        assert_eq!(read(r#"{"id":7,"error":"no"}"#), SubjectAnswer::Error("no".to_owned()));
    }

    #[test]
    fn invalid_answers_are_explained() {
        let check = |line: &str, expected: &str| {
            let fault = read(&question(), 7, Some(6), line.as_bytes()).unwrap_err().to_string();
            assert!(fault.contains(expected), "{line}: {fault}");
        };
        check("nonsense", "expected an answer, found `nonsense`");
        check("[]", "expected an object");
        check("{}", "expected a member `id`");
        check(r#"{"id":8,"state":{}}"#, "question 7, found that to question 8");
        check(r#"{"id":"7","state":{}}"#, "found that to question \"7\"");
        check(r#"{"id":6,"state":{}}"#, "question 6 was answered twice");
        check(r#"{"id":7}"#, "expected a member `state`, or `error`");
        check(r#"{"id":7,"state":{},"outcomes":[]}"#, "expected 1 outcomes, found 0");
        check(r#"{"id":7,"state":{},"outcomes":[3]}"#, "expected an outcome");
    }
}
