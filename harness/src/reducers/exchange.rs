//! Asking a subject: what goes out on a line, and what a line that comes back is worth.
//!
//! A [`ReducerSubject`] is anybody's reducer. The process that speaks the line protocol is one (see the
//! command line), and so is every reducer in this process that a test or a feature brings.
//!
//! Knows: the line protocol of `REDUCERS.md`. Never knows: processes, clocks, what a good answer is.
//!
//! Start at [`ReducerSubject`]; [`read`] judges a line.

use std::fmt;

use crate::wire::json::{Map, Value, json};

use crate::model::ActionOutcome;
use crate::wire::channel::ChannelKind;

/// Something to ask a subject.
#[derive(Clone, Debug, PartialEq)]
pub enum SubjectQuestion {
    /// What becomes of a state.
    Reduce {
        /// Whose reducer.
        channel: ChannelKind,
        /// The state before.
        state: Value,
        /// The actions, in order.
        actions: Vec<Value>,
        /// The clock, in milliseconds since 1970.
        now: u64,
    },
    /// What decoding and encoding leave of a value.
    RoundTrip {
        /// The name of its type, such as `ChatState`.
        name: String,
        /// The value.
        value: Value,
    },
}

/// What a subject says.
#[derive(Clone, Debug, PartialEq)]
pub enum SubjectAnswer {
    /// The state after, or the value.
    Value {
        /// It.
        value: Value,
        /// What came of each action, where the subject says so.
        outcomes: Option<Vec<ActionResult>>,
    },
    /// It could not serve the question, and says why.
    Error(String),
}

/// What a subject says about one action, without its words.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum ActionResult {
    /// Taken.
    Applied,
    /// The state had no use for it.
    NoOp,
    /// No action of the channel or version.
    OutOfScope,
    /// Unusable.
    Invalid,
}

/// How a subject broke the line protocol. Whatever it was, the process is ended.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum ExchangeError {
    /// It ended.
    #[error("the subject ended{0} instead of answering")]
    Died(String),
    /// It did not answer in time.
    #[error(
        "the subject did not answer within {0} ms (hint: an answer has to be flushed at the end of its line)"
    )]
    Silent(u128),
    /// Its line is longer than any answer may be.
    #[error(
        "expected an answer of at most {limit} bytes, found a longer line (it begins with `{begins}`)"
    )]
    TooLong {
        /// The limit.
        limit: usize,
        /// The first bytes.
        begins: String,
    },
    /// Its line is no answer.
    #[error("expected an answer, found `{found}`: {why}")]
    Garbage {
        /// The line's beginning.
        found: String,
        /// What is wrong with it.
        why: String,
    },
    /// Its answer is to another question.
    #[error("expected the answer to question {expected}, found that to question {found}")]
    OutOfOrder {
        /// The id that was due.
        expected: u64,
        /// The id that came.
        found: String,
    },
    /// It answered a question a second time.
    #[error("question {0} was answered twice")]
    Twice(u64),
    /// It broke the protocol so often before that it was given up.
    #[error("not asked: the subject was given up after it had failed too often")]
    GivenUp,
}

/// Anybody's reducer.
pub trait ReducerSubject {
    /// Asks questions and returns as many answers, in order. After a fault the subject is as new.
    fn ask(&mut self, questions: Vec<SubjectQuestion>)
    -> Vec<Result<SubjectAnswer, ExchangeError>>;

    /// Whether nothing more can be got out of it.
    fn is_lost(&self) -> bool {
        false
    }
}

/// Longest part of a line that a message shows, in characters.
const SHOWN: usize = 60;

impl ActionResult {
    /// Our outcome in these words.
    pub fn of(outcome: &ActionOutcome) -> ActionResult {
        match outcome {
            ActionOutcome::Applied => ActionResult::Applied,
            ActionOutcome::NoOp(_) => ActionResult::NoOp,
            ActionOutcome::OutOfScope => ActionResult::OutOfScope,
            ActionOutcome::Invalid { .. } => ActionResult::Invalid,
        }
    }

    /// The outcome of that name.
    pub fn from_name(name: &str) -> Option<ActionResult> {
        let all = [
            ActionResult::Applied,
            ActionResult::NoOp,
            ActionResult::OutOfScope,
            ActionResult::Invalid,
        ];
        all.into_iter().find(|told| told.name() == name)
    }

    /// As the line protocol spells it.
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
    /// One that every reducer can answer: the first one.
    pub fn hello() -> SubjectQuestion {
        let state = json!({"agents": []});
        SubjectQuestion::Reduce { channel: ChannelKind::Root, state, actions: Vec::new(), now: 0 }
    }

    /// The question as a line, with its end.
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

    /// The member of an answer that holds what was asked for.
    fn member(&self) -> &'static str {
        match self {
            SubjectQuestion::Reduce { .. } => "state",
            SubjectQuestion::RoundTrip { .. } => "value",
        }
    }
}

/// What a line is worth as the answer to a question of that id.
///
/// # Errors
/// It is none. `answered` is the id of the last question that has its answer.
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

/// The beginning of a line, fit to be shown.
pub fn excerpt(line: &[u8]) -> String {
    let start = line.get(..line.len().min(SHOWN * 4)).unwrap_or_default();
    cut(&String::from_utf8_lossy(start), SHOWN)
}

/// A text, cut where it is longer than that many characters, without what controls a terminal.
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
    fn what_is_no_answer_says_why() {
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
