//! Tests with defective subjects: the generated sequences must find the injected fault, and the case must be
//! shrunk.

use crate::wire::json::Value;

use super::*;
use crate::reducers::exchange::ActionResult;
use crate::wire::json::json;

const V1_0: Version = Version::new(1, 0, 0);

/// The harness's reducer with a function that changes its answers.
struct ChangedReducer<F>(F);

impl<F: FnMut(&ReducerCase, Value) -> Value> ReducerSubject for ChangedReducer<F> {
    fn ask(&mut self, questions: Vec<SubjectQuestion>) -> AnswerStream {
        let answer = |question: SubjectQuestion| match question {
            SubjectQuestion::RoundTrip { value, .. } => {
                Ok(SubjectAnswer::Value { value, outcomes: None })
            }
            SubjectQuestion::Reduce { channel, state, actions, now } => {
                let case = ReducerCase { channel, state, actions, now };
                let folded = case.fold(V1_0);
                let outcomes = Some(folded.outcomes.iter().map(ActionResult::of).collect());
                Ok(SubjectAnswer::Value { value: (self.0)(&case, folded.state), outcomes })
            }
        };
        questions.into_iter().map(answer).collect()
    }
}

fn report(change: impl FnMut(&ReducerCase, Value) -> Value, sequences: u64) -> SubjectReport {
    let options = HoldOptions {
        version: V1_0,
        subject: "test".to_owned(),
        clock: SubjectClock::Given,
        seed: 1,
        sequences,
        channels: Vec::new(),
        round_trips: true,
        said: LiteMap::new(),
    };
    hold(&mut ChangedReducer(change), &[], &options, &mut |_| {})
}

#[test]
fn our_own_reducer_agrees_with_itself() {
    let report = report(|_, state| state, 60);
    let keys: Vec<_> = report.findings.iter().map(|finding| &finding.key).collect();
    assert_eq!(keys, Vec::<&String>::new());
    assert!(report.actions.len() > 40);
    assert!(report.actions.values().all(|tally| tally.agreed == tally.total));
    assert!(report.round_trips.values().all(|tally| tally.agreed == tally.total));
    assert!(!report.failed());
}

#[test]
fn a_reducer_that_does_nothing_is_found_everywhere() {
    let report = report(|case, _| case.state.clone(), 60);
    assert!(report.failed());
    let often = report.actions.iter().filter(|(_, tally)| tally.total >= 8);
    let agrees: Vec<_> = often.filter(|(_, tally)| tally.agreed == tally.total).collect();
    // These actions never change a state.
    let idle = |name: &str| name.contains("x-later") || name == "resourceWatch/changed";
    assert!(agrees.iter().all(|(name, _)| idle(name)), "{agrees:?}");
}

#[test]
fn a_planted_defect_is_found_and_made_small() {
    // The injected fault: messages that the action does not mention are sorted by identifier.
    let planted = |case: &ReducerCase, mut state: Value| {
        let reorders = |action: &Value| action["type"] == "chat/queuedMessagesReordered";
        if let [action] = case.actions.as_slice()
            && reorders(action)
            && let Some(queue) = state["queuedMessages"].as_array_mut()
        {
            let named = |message: &Value| {
                action["order"].as_array().is_some_and(|order| order.contains(&message["id"]))
            };
            let (mut front, mut rest): (Vec<_>, Vec<_>) = queue.drain(..).partition(named);
            rest.sort_by_key(|message| message["id"].to_string());
            front.extend(rest);
            *queue = front;
        }
        state
    };
    let report = report(planted, 600);
    let failing: Vec<_> = report.of_status(Status::Fail).collect();
    let keys: Vec<_> = failing.iter().map(|finding| finding.key.as_str()).collect();
    let path = "state chat/queuedMessagesReordered /queuedMessages/*";
    assert!(!keys.is_empty() && keys.iter().all(|key| key.starts_with(path)), "{keys:?}");
    let finding = failing.first().unwrap();
    assert_eq!(finding.case.actions.len(), 1);
    let queue = finding.case.state["queuedMessages"].as_array().unwrap();
    assert_eq!(queue.len(), 2, "{}", finding.case.state);
    assert_eq!(finding.case.actions[0]["order"], json!([]), "{}", finding.case.actions[0]);
    assert_eq!(finding.case.state["turns"], json!([]));
    assert_eq!(finding.case.state.get("activeTurn"), None);
}

#[test]
fn members_lost_by_decoding_are_reported_once() {
    let planted = |_: &ReducerCase, mut state: Value| {
        if let Some(chats) = state.get_mut("chats").and_then(Value::as_array_mut) {
            chats.iter_mut().filter_map(Value::as_object_mut).for_each(|chat| {
                chat.remove("movable");
            });
        }
        state
    };
    let report = report(planted, 80);
    let failing: Vec<_> = report.of_status(Status::Fail).collect();
    let keys: Vec<_> = failing.iter().map(|finding| finding.key.as_str()).collect();
    assert!(keys.contains(&"state (session state) /chats/*/movable"), "{keys:?}");
    // An action that adds an object with this member loses the member as well. No other action is affected.
    assert!(keys.iter().all(|key| key.ends_with("movable")), "{keys:?}");
    assert!(keys.len() <= 3, "{keys:?}");
}
