//! Generates conversations from the scenarios of the suite: with harmless disturbances between the steps, or
//! cut short and cancelled.
//!
//! Only the steps of the scenario file are claims about the scenario's subject. A disturbance changes nothing
//! for an agent: an unknown method or notification, or an unsolicited answer.
//!
//! Knows: the embedded scenarios. Never knows: the subject of a scenario.
//!
//! Start at [`sequence`].

use std::sync::OnceLock;

use crate::dice::Dice;
use crate::run::suite::{CARRIED, CarriedFiles};
use crate::scenario::capability::ABILITIES;
use crate::scenario::load::FileSource;
use crate::scenario::node;
use crate::scenario::source::SourceFile;
use crate::scenario::verbs::VERBS;
use crate::wire::json::{Value, json};

use super::super::draft::verb_of;
use super::super::generate::DrawnSequence;
use super::super::step_result::ClientStepResult;
use super::draw::{AgentConversationDraw, PermissionPolicy};
use super::{AgentAbilitySet, AgentMove, answers, params};

/// The folder of the scenarios about agents.
const FOLDER: &str = "scenarios/acp/";

/// The moves that do not change the outcome of other steps.
const DISTURBANCES: &[AgentMove] =
    &[params::unknown_method, params::malformed_notification, answers::stray];
/// The percentage of steps that a disturbance follows.
const DISTURBED: usize = 12;
/// The percentage of conversations that are cut short and cancelled.
const CUT: usize = 40;

/// A scenario of the suite, with its steps in the form of a draft.
struct SuiteConversation {
    id: String,
    needs: Vec<&'static str>,
    approves: bool,
    steps: Vec<Value>,
}

/// Returns the scenarios about agents.
fn conversations() -> &'static [SuiteConversation] {
    static ALL: OnceLock<Vec<SuiteConversation>> = OnceLock::new();
    ALL.get_or_init(|| CARRIED.iter().filter_map(|(path, text)| conversation(path, text)).collect())
}

fn conversation(path: &str, text: &str) -> Option<SuiteConversation> {
    if !path.starts_with(FOLDER) {
        return None;
    }
    let root = read(path, text)?;
    let id = root["scenario"].as_str()?.to_owned();
    let agent = root["agent"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let agent = agent.collect::<Vec<_>>().join("\n");
    let needed = root["needs"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let needs = needed.filter_map(|need| ABILITIES.iter().find(|name| **name == need).copied());
    let needs = needs.collect();
    let mut steps = Vec::new();
    for step in root["steps"].as_array()? {
        match step.get("include") {
            Some(include) => steps.extend(included(path, include)?),
            None => steps.push(step.clone()),
        }
    }
    let steps: Vec<Value> = steps.iter().filter_map(|step| spelled_out(step, &agent)).collect();
    Some(SuiteConversation { id, needs, approves: root.get("approves").is_some(), steps })
}

fn read(path: &str, text: &str) -> Option<Value> {
    let (root, errors) = node::read(&SourceFile::new(path, text), 0);
    root.filter(|_| errors.is_empty()).map(|root| root.to_value())
}

/// Returns the steps of an included fragment, with its parameters filled in.
fn included(path: &str, include: &Value) -> Option<Vec<Value>> {
    let file = include["file"].as_str()?.strip_prefix("../")?;
    let (folder, _) = path.rsplit_once('/')?;
    let (above, _) = folder.rsplit_once('/')?;
    let file = format!("{above}/{file}");
    let text = CarriedFiles.read(&file).ok()?;
    let text =
        include["with"].as_object().into_iter().flatten().fold(text, |text, (name, value)| {
            text.replace(&format!("$given {name}"), value.as_str().unwrap_or_default())
        });
    Some(read(&file, &text)?["steps"].as_array()?.clone())
}

/// Returns a step with the names of all its members, and with its own copy of the scenario's script.
fn spelled_out(step: &Value, agent: &str) -> Option<Value> {
    let (verb, members) = verb_of(step)?;
    let mut members = match members.is_object() {
        true => members.clone(),
        false => {
            let mut long = json!({});
            long[VERBS.iter().find(|row| row.name == verb)?.short?] = members.clone();
            long
        }
    };
    if verb == "prompt" && members.get("script").is_none() && !agent.is_empty() {
        members["script"] = json!(agent);
    }
    let mut step = json!({});
    step[verb] = members;
    Some(step)
}

/// Returns the conversation of a seed, which begins like a scenario of the suite.
pub(super) fn sequence(
    seed: u64,
    mut dice: Dice,
    abilities: &AgentAbilitySet,
) -> Option<DrawnSequence> {
    let able = |it: &&SuiteConversation| it.needs.iter().all(|need| abilities.has(need));
    let all: Vec<&SuiteConversation> = conversations().iter().filter(able).collect();
    let base = *dice.pick(&all)?;
    let policy = if base.approves { PermissionPolicy::Allows } else { PermissionPolicy::Decides };
    let mut draw = AgentConversationDraw::of(dice, abilities.clone(), policy, &base.needs);
    let cuts = base.steps.iter().any(|step| step.get("prompt").is_some()) && draw.dice.chance(CUT);
    let told = match cuts {
        true => {
            cut_short(&mut draw, &base.steps);
            vec![(base.id.clone(), "cut short", ClientStepResult::Nothing)]
        }
        false => {
            disturbed(&mut draw, &base.steps);
            vec![(base.id.clone(), "disturbed", ClientStepResult::Nothing)]
        }
    };
    draw.sequence(seed, &format!("what `{}` is about", base.id), told)
}

/// Adds all steps of the scenario, with disturbances between them.
fn disturbed(draw: &mut AgentConversationDraw, steps: &[Value]) {
    let mut connected = false;
    for step in steps {
        draw.steps.push(step.clone());
        connected |= step.get("open").is_some();
        connected &= step.get("drop").is_none();
        if connected && draw.dice.chance(DISTURBED) {
            draw.sessions = vec!["session".to_owned()];
            if let Some(one) = draw.dice.pick(DISTURBANCES).copied() {
                one(draw);
            }
        }
    }
}

/// Adds the steps up to a random step after a prompt, and then cancels the open turns.
fn cut_short(draw: &mut AgentConversationDraw, steps: &[Value]) {
    let prompts: Vec<usize> =
        (0..steps.len()).filter(|at| steps[*at].get("prompt").is_some()).collect();
    let Some(first) = draw.dice.pick(&prompts).copied() else { return };
    let end = first + 1 + draw.dice.below(steps.len() - first);
    // The cancel may cause messages that a `never` step forbids.
    let kept = steps[..end].iter().filter(|step| step.get("never").is_none());
    draw.steps.extend(kept.cloned());
    let text =
        |step: &Value, place: &str| step.pointer(place).and_then(Value::as_str).map(str::to_owned);
    let answered = |name: &str| {
        let id = super::draw::hole(name);
        draw.steps.iter().any(|step| {
            text(step, "/answer/id").as_ref() == Some(&id) && step["answer"].get("none").is_none()
        })
    };
    let open: Vec<(String, String)> = draw
        .steps
        .iter()
        .filter(|step| step.get("prompt").is_some())
        .filter_map(|step| {
            let session = text(step, "/prompt/session");
            let session = session.unwrap_or_else(|| super::draw::hole("session"));
            Some((session, text(step, "/prompt/as").filter(|name| !answered(name))?))
        })
        .collect();
    for (session, _) in &open {
        let params = json!({"sessionId": (session.as_str())});
        draw.step("notify", json!({"by": "A", "method": "session/cancel", "params": params}));
    }
    if draw.policy == PermissionPolicy::Allows {
        for (_, prompt) in open {
            draw.answered(&prompt);
        }
    }
    draw.step("rest", json!({"for": "600ms"}));
    draw.step("barrier", json!({"by": "A"}));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every scenario about agents can be used as a base, in whatever form its file is written.
    #[test]
    fn every_scenario_about_agents_is_read() {
        let files = CARRIED
            .iter()
            .filter(|(path, text)| path.starts_with(FOLDER) && text.contains("\nscenario: "));
        assert_eq!(conversations().len(), files.count());
        for it in conversations() {
            assert!(it.steps.iter().all(|step| verb_of(step).is_some()), "{}", it.id);
            assert!(!it.steps.is_empty(), "{}", it.id);
        }
    }
}
