//! Generates conversations from the scenarios of the suite: with harmless disturbances between the steps, or
//! cut short and cancelled.
//!
//! Only the steps of the scenario file are claims about the scenario's subject. A disturbance has no effect on an
//! agent; it is an unknown method or notification, or an unsolicited answer.
//!
//! Knows: the scenarios of the suite. Never knows: the subject of a scenario.
//!
//! Start at [`sequence`].

use crate::dice::Dice;
use crate::wire::json::{Value, json};
use crate::wire::version::ProtocolStandard;

use super::super::bases::{BaseScenario, bases};
use super::super::generated_sequence::GeneratedSequence;
use super::super::step_result::ClientStepResult;
use super::builder::{AgentConversationBuilder, PermissionPolicy};
use super::{AgentAbilitySet, AgentMove, answers, params};

/// The moves that do not change the outcome of other steps.
const DISTURBANCES: &[AgentMove] =
    &[params::unknown_method, params::malformed_notification, answers::stray];
/// The percentage of steps after which a disturbance follows.
const DISTURBED: usize = 12;
/// The percentage of conversations that are cut short and cancelled.
const CUT: usize = 40;

/// Returns the conversation of a seed, which begins like a scenario of the suite.
pub(super) fn sequence(
    seed: u64,
    mut dice: Dice,
    abilities: &AgentAbilitySet,
) -> Option<GeneratedSequence> {
    let able = |it: &&BaseScenario| {
        let scenario = &it.entry.scenario;
        scenario.spec.standard() == ProtocolStandard::Acp
            && it.needs().iter().all(|need| abilities.has(need))
    };
    let all: Vec<&BaseScenario> = bases().iter().filter(able).collect();
    let base = *dice.pick(&all)?;
    let id = &base.entry.scenario.id;
    let allows = base.entry.scenario.approves.is_some();
    let policy = if allows { PermissionPolicy::Allows } else { PermissionPolicy::Decides };
    let mut builder = AgentConversationBuilder::of(dice, abilities.clone(), policy, &base.needs());
    let cuts =
        base.steps.iter().any(|step| step.get("prompt").is_some()) && builder.dice.chance(CUT);
    let told = match cuts {
        true => {
            cut_short(&mut builder, &base.steps);
            vec![(id.clone(), "cut short", ClientStepResult::Nothing)]
        }
        false => {
            disturbed(&mut builder, &base.steps);
            vec![(id.clone(), "disturbed", ClientStepResult::Nothing)]
        }
    };
    builder.sequence(seed, &format!("what `{id}` is about"), told)
}

/// Adds all steps of the scenario, with disturbances between them.
fn disturbed(builder: &mut AgentConversationBuilder, steps: &[Value]) {
    let mut connected = false;
    for step in steps {
        builder.steps.push(step.clone());
        connected |= step.get("open").is_some();
        connected &= step.get("drop").is_none();
        if connected && builder.dice.chance(DISTURBED) {
            builder.sessions = vec!["session".to_owned()];
            if let Some(one) = builder.dice.pick(DISTURBANCES).copied() {
                one(builder);
            }
        }
    }
}

/// Adds the steps up to a random step after a prompt, and then cancels the open turns.
fn cut_short(builder: &mut AgentConversationBuilder, steps: &[Value]) {
    let prompts: Vec<usize> =
        (0..steps.len()).filter(|at| steps[*at].get("prompt").is_some()).collect();
    let Some(first) = builder.dice.pick(&prompts).copied() else { return };
    let end = first + 1 + builder.dice.below(steps.len() - first);
    // The cancel may cause messages that a `never` step forbids.
    let kept = steps[..end].iter().filter(|step| step.get("never").is_none());
    builder.steps.extend(kept.cloned());
    let text =
        |step: &Value, place: &str| step.pointer(place).and_then(Value::as_str).map(str::to_owned);
    let answered = |name: &str| {
        let id = super::builder::hole(name);
        builder.steps.iter().any(|step| {
            text(step, "/answer/id").as_ref() == Some(&id) && step["answer"].get("none").is_none()
        })
    };
    let open: Vec<(String, String)> = builder
        .steps
        .iter()
        .filter(|step| step.get("prompt").is_some())
        .filter_map(|step| {
            let session = text(step, "/prompt/session");
            let session = session.unwrap_or_else(|| super::builder::hole("session"));
            Some((session, text(step, "/prompt/as").filter(|name| !answered(name))?))
        })
        .collect();
    for (session, _) in &open {
        let params = json!({"sessionId": (session.as_str())});
        builder.step("notify", json!({"by": "A", "method": "session/cancel", "params": params}));
    }
    if builder.policy == PermissionPolicy::Allows {
        for (_, prompt) in open {
            builder.answered(&prompt);
        }
    }
    builder.step("rest", json!({"for": "600ms"}));
    builder.step("barrier", json!({"by": "A"}));
}
