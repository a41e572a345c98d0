//! A case for the comparison of reducers: a state and actions, the result of the harness's reducer, and the difference
//! between this result and the result of a subject (a tested reducer).
//!
//! Knows: the harness's reducers, the protocol tables. Never knows: the source of a case.
//!
//! Start at [`judge`].

use crate::wire::json::Value;

use super::compare::{StateDifference, SubjectClock, differences_with};
use super::exchange::{ActionResult, ExchangeError, SubjectAnswer, SubjectQuestion, cut};
use super::open::{self, OpenPoint, SeenDifference};
use crate::model::{self, ActionOutcome};
use crate::wire::channel::ChannelKind;
use crate::wire::version::Version;

/// A state and the actions that are applied to it.
#[derive(Clone, Debug, PartialEq)]
pub struct ReducerCase {
    /// The kind of channel whose reducer is applied.
    pub channel: ChannelKind,
    /// The state before the actions.
    pub state: Value,
    /// The actions, in order. A case without actions tests decoding and encoding of the state.
    pub actions: Vec<Value>,
    /// The time that the clock shows, in milliseconds since 1970.
    pub now: u64,
}

/// The result of the harness's reducer for a case.
#[derive(Clone, Debug, PartialEq)]
pub struct FoldedCase {
    /// The state after the actions.
    pub state: Value,
    /// The outcome of each action.
    pub outcomes: Vec<ActionOutcome>,
}

/// A difference between a subject and the harness in one case.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseDisagreement {
    /// The kind of difference.
    pub kind: DisagreementKind,
    /// The type of the action that causes the difference. If the case has no action, a label such as `(chat state)`; if
    /// it has several, [`SEQUENCE`].
    pub action: String,
    /// The place of the difference in the state, as a path with `*` in place of indices.
    pub path: String,
    /// The value or the outcome of the harness's reducer.
    pub ours: String,
    /// The value or the outcome of the subject.
    pub theirs: String,
    /// The open point of the specification that explains the difference; `None` if no open point explains it.
    pub open: Option<&'static OpenPoint>,
}

/// The kind of a difference between a subject and the harness.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum DisagreementKind {
    /// The state of the subject differs from the state of the harness.
    State,
    /// The subject answered the question with an error.
    Refused,
    /// The subject violated the line protocol or its process exited.
    Broken,
    /// The subject answered the same question twice, with two different answers.
    Unsteady,
    /// The states agree, but the reported outcomes of an action differ.
    Outcome,
    /// Decoding and encoding changed a value.
    Lost,
}

/// The label for a case with several actions.
pub const SEQUENCE: &str = "(sequence)";

/// The number of milliseconds by which the harness's clock is moved forward if the subject reads its own clock. No
/// generated state and no vector contains the resulting time.
const ANOTHER_TIME: u64 = 123_456_789;
/// The maximum length of a value in a report, in characters.
const SHOWN: usize = 160;

impl DisagreementKind {
    /// Returns the kind as a word for reports.
    pub fn word(self) -> &'static str {
        match self {
            DisagreementKind::State => "state",
            DisagreementKind::Refused => "refused",
            DisagreementKind::Broken => "broken",
            DisagreementKind::Unsteady => "unsteady",
            DisagreementKind::Outcome => "outcome",
            DisagreementKind::Lost => "lost",
        }
    }
}

impl ReducerCase {
    /// Applies the harness's reducer.
    pub fn fold(&self, version: Version) -> FoldedCase {
        let mut state = self.state.clone();
        let fold = |action| model::apply_at(version, self.channel, self.now, &mut state, action);
        let outcomes = self.actions.iter().map(fold).collect();
        FoldedCase { state, outcomes }
    }

    /// Returns each action as a separate case that starts from the state before it, as computed by the
    /// harness's reducer.
    pub fn steps(&self, version: Version) -> Vec<ReducerCase> {
        let mut state = self.state.clone();
        let step = |action: &Value| {
            let step =
                ReducerCase { state: state.clone(), actions: vec![action.clone()], ..self.bare() };
            state = step.fold(version).state;
            step
        };
        self.actions.iter().map(step).collect()
    }

    /// Returns the case without its actions, which tests decoding and encoding of the state.
    pub fn bare(&self) -> ReducerCase {
        ReducerCase {
            channel: self.channel,
            state: self.state.clone(),
            actions: Vec::new(),
            now: self.now,
        }
    }

    /// Returns the case as a question that a subject can answer.
    pub fn question(&self) -> SubjectQuestion {
        SubjectQuestion::Reduce {
            channel: self.channel,
            state: self.state.clone(),
            actions: self.actions.clone(),
            now: self.now,
        }
    }

    /// Returns the label of the case: the type of its only action, the name of the state if there is none, or
    /// [`SEQUENCE`].
    pub fn label(&self) -> String {
        match self.actions.as_slice() {
            [] => format!("({} state)", self.channel.reducer_name()),
            [action] => action_type(action),
            _ => SEQUENCE.to_owned(),
        }
    }

    /// Returns the size of the case as JSON, in bytes.
    pub fn size(&self) -> usize {
        let actions: usize = self.actions.iter().map(|action| action.to_string().len()).sum();
        self.state.to_string().len() + actions
    }
}

impl CaseDisagreement {
    /// Returns whether the disagreement `other` is the same as this one, possibly at a place within the place of this
    /// one.
    pub fn holds_in(&self, other: &CaseDisagreement) -> bool {
        let deeper = other.path.strip_prefix(&self.path).is_some_and(|rest| rest.starts_with('/'));
        let alike = self.kind == other.kind && self.action == other.action;
        self.key() == other.key() || alike && deeper && self.open.is_none() && other.open.is_none()
    }

    /// Returns the key that identifies the disagreement, also in baselines: the kind, the action and the place. The
    /// same difference in outcomes occurs for many actions, so its key contains only the outcomes.
    pub fn key(&self) -> String {
        match self.open {
            Some(point) => format!("open {}", point.id),
            None if self.kind == DisagreementKind::Outcome => format!("outcome {}", self.path),
            None => format!("{} {} {}", self.kind.word(), self.action, self.path),
        }
    }
}

/// Returns the type of an action for reports.
pub fn action_type(action: &Value) -> String {
    let named = action.get("type").and_then(Value::as_str);
    named.map_or_else(|| "(no type)".to_owned(), |name| cut(name, SHOWN))
}

/// Returns how an answer differs from the harness's result; `None` if the answer agrees.
pub fn judge(
    version: Version,
    clock: SubjectClock,
    case: &ReducerCase,
    answer: &Result<SubjectAnswer, ExchangeError>,
) -> Option<CaseDisagreement> {
    let of = |kind, path: String, ours: String, theirs: String| CaseDisagreement {
        kind,
        action: case.label(),
        path,
        ours,
        theirs,
        open: None,
    };
    // The state may already contain the given time from an earlier step, so a reducer that writes it would change
    // nothing. With another time, the comparison shows which reducer writes timestamps.
    let folded = match clock {
        SubjectClock::Given => case.fold(version),
        SubjectClock::Own => {
            ReducerCase { now: case.now.saturating_add(ANOTHER_TIME), ..case.clone() }.fold(version)
        }
    };
    match answer {
        Err(fault) => {
            let theirs = fault.to_string();
            Some(of(
                DisagreementKind::Broken,
                fault_class(fault).to_owned(),
                "an answer".to_owned(),
                theirs,
            ))
        }
        Ok(SubjectAnswer::Error(why)) => {
            let mut found = of(
                DisagreementKind::Refused,
                message_class(why),
                "a state".to_owned(),
                cut(why, SHOWN),
            );
            let seen =
                SeenDifference { version, case, folded: &folded, theirs: None, differences: &[] };
            found.open = open::explains(&seen);
            Some(found)
        }
        Ok(SubjectAnswer::Value { value, outcomes }) => {
            let differences = differences_with(clock, &case.state, &folded.state, value);
            if !differences.is_empty() {
                let path = common(&differences);
                let at = |state: &Value| shown(&state.pointer(&path).cloned());
                let (ours, theirs) = (at(&folded.state), at(value));
                let mut found = of(DisagreementKind::State, place_class(&path), ours, theirs);
                let seen = SeenDifference {
                    version,
                    case,
                    folded: &folded,
                    theirs: Some(value),
                    differences: &differences,
                };
                found.open = open::explains(&seen);
                return Some(found);
            }
            outcome_differs(case, &folded, outcomes.as_deref())
        }
    }
}

/// Returns the longest common path of all differences, without regard to indices of lists. Returns the path of the
/// first difference if the paths have nothing in common.
pub fn common(differences: &[StateDifference]) -> String {
    let Some(first) = differences.first() else { return String::new() };
    let class = place_class(&first.path);
    let mut shared = class.split('/').count();
    for difference in differences {
        let other = place_class(&difference.path);
        let pairs = class.split('/').zip(other.split('/'));
        shared = shared.min(pairs.take_while(|(one, other)| one == other).count());
    }
    if shared <= 1 {
        return first.path.clone();
    }
    first.path.split('/').take(shared).collect::<Vec<_>>().join("/")
}

/// Returns the first outcome that differs. For some actions, the sources do not define whether they were applied, for
/// example if a title is set to its current value. Outcomes are therefore compared only if the subject reports them,
/// and a difference has a low weight.
fn outcome_differs(
    case: &ReducerCase,
    folded: &FoldedCase,
    told: Option<&[ActionResult]>,
) -> Option<CaseDisagreement> {
    let mut pairs = folded.outcomes.iter().zip(told?).zip(&case.actions);
    let ((ours, theirs), action) =
        pairs.find(|((ours, theirs), _)| ActionResult::of(ours) != **theirs)?;
    Some(CaseDisagreement {
        kind: DisagreementKind::Outcome,
        action: action_type(action),
        path: format!("{}, not {}", theirs, ActionResult::of(ours)),
        ours: say(ours),
        theirs: theirs.to_string(),
        open: None,
    })
}

/// Formats the outcome of an action for a report.
pub fn say(outcome: &ActionOutcome) -> String {
    match outcome {
        ActionOutcome::Applied | ActionOutcome::OutOfScope => ActionResult::of(outcome).to_string(),
        ActionOutcome::NoOp(why) => format!("noop: {}", why.reason()),
        ActionOutcome::Invalid { path, expected } => {
            format!("invalid: `{path}`, expected {expected}")
        }
    }
}

fn fault_class(fault: &ExchangeError) -> &'static str {
    match fault {
        ExchangeError::Died(_) => "ended",
        ExchangeError::Silent(_) => "silent",
        ExchangeError::TooLong { .. } => "endless line",
        ExchangeError::Garbage { .. } => "garbage",
        ExchangeError::OutOfOrder { .. } => "out of order",
        ExchangeError::Twice(_) => "answered twice",
        ExchangeError::GivenUp => "given up",
    }
}

/// Returns a message of a subject without the parts that differ from case to case: quoted values and numbers.
fn message_class(message: &str) -> String {
    const LENGTH: usize = 60;
    let mut class = String::new();
    let mut quote = None;
    for c in message.chars().filter(|c| !c.is_control()) {
        match quote {
            Some(end) if c == end => quote = None,
            Some(_) => {}
            None if c == '`' || c == '"' => {
                quote = Some(c);
                class.push('*');
            }
            None if c.is_ascii_digit() && class.ends_with('*') => {}
            None if c.is_ascii_digit() => class.push('*'),
            None => class.push(c),
        }
        if class.len() >= LENGTH {
            break;
        }
    }
    class
}

/// Returns a place with `*` for indices and for one-letter keys, which are generated identifiers.
pub fn place_class(path: &str) -> String {
    let step = |step: &str| {
        let index = !step.is_empty() && step.bytes().all(|byte| byte.is_ascii_digit());
        if index || step.len() == 1 { "*".to_owned() } else { step.to_owned() }
    };
    let steps: Vec<String> = path.split('/').map(step).collect();
    let class = steps.join("/");
    if class.is_empty() { "/".to_owned() } else { class }
}

/// Formats a value for a report, shortened to at most `SHOWN` characters.
pub fn shown(value: &Option<Value>) -> String {
    value.as_ref().map_or_else(|| "nothing".to_owned(), |value| cut(&value.to_string(), SHOWN))
}

#[cfg(test)]
mod tests {
    use crate::wire::json::json;

    use super::*;

    fn case(actions: Vec<Value>) -> ReducerCase {
        let state = json!({"agents": [], "terminals": []});
        ReducerCase { channel: ChannelKind::Root, state, actions, now: 0 }
    }

    fn check(
        case: &ReducerCase,
        answer: Result<SubjectAnswer, ExchangeError>,
        expected: Option<&str>,
    ) {
        let found = judge(Version::new(1, 0, 0), SubjectClock::Given, case, &answer);
        assert_eq!(found.map(|found| found.key()).as_deref(), expected);
    }

    #[test]
    fn classifies_disagreements() {
        let terminals = json!([{
            "resource": "t", "title": "t", "claim": {"kind": "client", "clientId": "c"},
            "lifecycle": {"status": "running"},
        }]);
        let action = json!({"type": "root/terminalsChanged", "terminals": terminals});
        let case = case(vec![action]);
        let state = |terminals: Value| json!({"agents": [], "terminals": terminals});
        let value = |terminals, told: &[ActionResult]| {
            let outcomes = (!told.is_empty()).then(|| told.to_vec());
            Ok(SubjectAnswer::Value { value: state(terminals), outcomes })
        };
        check(&case, value(terminals.clone(), &[]), None);
        check(&case, value(terminals.clone(), &[ActionResult::Applied]), None);
        check(&case, value(json!([]), &[]), Some("state root/terminalsChanged /terminals/*"));
        let other = json!([{"resource": "u", "title": "u"}]);
        check(&case, value(other, &[]), Some("state root/terminalsChanged /terminals/*"));
        check(&case, value(terminals, &[ActionResult::NoOp]), Some("outcome noop, not applied"));
        let refused = Ok(SubjectAnswer::Error("no `x` at 17".to_owned()));
        check(&case, refused, Some("refused root/terminalsChanged no * at *"));
        let died = Err(ExchangeError::Died(String::new()));
        check(&case, died, Some("broken root/terminalsChanged ended"));
    }

    #[test]
    fn a_case_without_actions_is_about_decoding() {
        let answer = Ok(SubjectAnswer::Value { value: json!({"agents": []}), outcomes: None });
        check(&case(Vec::new()), answer, Some("state (root state) /terminals"));
    }

    #[test]
    fn another_clock_is_detected_by_an_earlier_time() {
        let summary = |time: u64| {
            json!({"resource": "t", "provider": "t", "title": "t", "status": 0, "createdAt": 0,
                "modifiedAt": time})
        };
        let state =
            |time: u64| json!({"lifecycle": "ready", "summary": summary(time), "chats": []});
        let actions = vec![json!({"type": "session/titleChanged", "title": "t"})];
        let case =
            ReducerCase { channel: ChannelKind::Session, state: state(9999), actions, now: 9999 };
        let check = |stamped: u64, agrees: bool| {
            let answer = Ok(SubjectAnswer::Value { value: state(stamped), outcomes: None });
            let found = judge(Version::V0_4, SubjectClock::Own, &case, &answer);
            assert_eq!(found.is_none(), agrees, "{stamped}");
        };
        check(1_795_187_193_642, true);
        check(9999, false);
    }

    #[test]
    fn lost_unknown_members_are_open_beside_another_time() {
        let state = |time: &str, chats: Value| {
            json!({"provider": "t", "title": "t", "status": 0, "lifecycle": "ready",
                "activeClients": [], "chats": chats, "modifiedAt": time})
        };
        let chat = json!({"resource": "c", "title": "t", "status": 0, "modifiedAt": "",
            "x-unknown": 1});
        let action = json!({"type": "session/chatAdded", "summary": chat});
        let case = ReducerCase {
            channel: ChannelKind::Session,
            state: state("2026-01-01T00:00:00.000Z", json!([])),
            actions: vec![action],
            now: 9999,
        };
        let kept = json!([{"resource": "c", "title": "t", "status": 0, "modifiedAt": ""}]);
        let folded = case.fold(Version::V0_8);
        let stamp = folded.state.get("modifiedAt") != case.state.get("modifiedAt");
        let time = if stamp { "2026-11-20T00:00:00.000Z" } else { "2026-01-01T00:00:00.000Z" };
        let answer = Ok(SubjectAnswer::Value { value: state(time, kept), outcomes: None });
        let found = judge(Version::V0_8, SubjectClock::Own, &case, &answer);
        assert_eq!(found.map(|found| found.key()).as_deref(), Some("open unknown-members"));
    }
}
