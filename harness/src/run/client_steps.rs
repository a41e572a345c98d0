//! The tasks of the steps about a tested client: commands to its driver, checks of its state, and the behaviour of the
//! host towards it.
//!
//! Knows: steps, tasks. Never knows: how a task is carried out.
//!
//! Start at [`drive`].

use crate::scenario::bind::ValueTemplate;
use crate::scenario::parse::ScenarioStep;
use crate::scenario::pattern::ValuePattern;
use crate::wire::json::Value;

use super::case::ScenarioCase;
use super::goal::DriverGoal;
use super::response_rule::{ResponseChange, ResponseRule};
use super::state_claim::TestedStateClaim;
use super::step_members::empty;
use super::task::TaskAct;

/// The HTTP status of a refused connection, unless the step specifies another status.
const UNAVAILABLE: u16 = 503;

impl ScenarioCase {
    /// Returns whether a step is about the tested client itself.
    pub(super) fn tests(&self, step: &ScenarioStep) -> bool {
        let tested = self.setup().scenario.tested.as_ref();
        tested.is_some_and(|tested| step.clients("at").contains(tested))
    }
}

fn goal(step: &ScenarioStep) -> DriverGoal {
    match (step.pattern("result"), step.pattern("error")) {
        (Some(result), Some(error)) => DriverGoal::Either(result.clone(), error.clone()),
        (None, Some(error)) => DriverGoal::Error(error.clone()),
        (result, None) => DriverGoal::Result(result.cloned()),
    }
}

/// Returns the task that sends a command to the driver of the tested client.
pub(super) fn drive(step: &ScenarioStep) -> TaskAct {
    TaskAct::Drive {
        command: step.text("do").unwrap_or_default().to_owned(),
        members: step.template("with").cloned(),
        want: (!step.flag("unawaited")).then(|| goal(step)),
        bind: step.text("as").map(str::to_owned),
    }
}

/// Returns the task that waits for the driver's answer to an earlier command.
pub(super) fn answer(step: &ScenarioStep) -> TaskAct {
    TaskAct::AwaitDriver {
        id: step.pattern("id").cloned().unwrap_or_else(|| ValuePattern::anything(step.span)),
        want: goal(step),
        bind: step.text("as").map(str::to_owned),
    }
}

/// Returns the task that compares the state of the tested client.
pub(super) fn state(step: &ScenarioStep) -> TaskAct {
    TaskAct::TestedState {
        channel: step.template("of").cloned().unwrap_or_else(|| empty(step.span)),
        claim: TestedStateClaim {
            channel: String::new(),
            state: step.pattern("state").cloned(),
            compares: step.clients("compares").to_vec(),
            exact: step.flag("exact"),
            shown: step.flag("shown"),
            pending: step.count("pending"),
        },
    }
}

/// Returns the task that changes the host's responses to the tested client.
pub(super) fn respond(step: &ScenarioStep) -> TaskAct {
    let value = |name: &str| step.template(name).cloned();
    let none = Value::Null;
    let (change, value): (ResponseChange, Option<ValueTemplate>) =
        match (value("result"), value("error"), value("merge")) {
            (Some(result), ..) => (ResponseChange::Result(none), Some(result)),
            (_, Some(error), _) => (ResponseChange::Error(none), Some(error)),
            (.., Some(merge)) => (ResponseChange::Merge(none), Some(merge)),
            _ if step.flag("silent") => (ResponseChange::Silence, None),
            _ if step.flag("twice") => (ResponseChange::Twice, None),
            _ if step.flag("cut") => (ResponseChange::Cut, None),
            _ => (ResponseChange::Nothing, None),
        };
    let rule = ResponseRule {
        method: step.text("method").unwrap_or_default().to_owned(),
        params: step.pattern("where").cloned(),
        times: step.count("times").unwrap_or(1),
        change,
        delay: step.duration("delay"),
    };
    TaskAct::Respond { rule, value }
}

/// Returns the task that makes the host publish an action.
pub(super) fn publish(step: &ScenarioStep) -> TaskAct {
    TaskAct::Publish {
        channel: step.template("channel").cloned().unwrap_or_else(|| empty(step.span)),
        action: step.template("action").cloned().unwrap_or_else(|| empty(step.span)),
        origin: step.template("origin").cloned(),
        rejected: step.text("rejected").map(str::to_owned),
        members: step.template("members").cloned(),
    }
}

/// Returns the task that refuses the next connections of the tested client.
pub(super) fn refuse(step: &ScenarioStep) -> TaskAct {
    let status = step.count("status").and_then(|status| u16::try_from(status).ok());
    TaskAct::Refuse {
        times: step.count("times").unwrap_or(1),
        status: status.unwrap_or(UNAVAILABLE),
    }
}
