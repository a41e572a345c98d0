//! What is said next: the script from where the conversation has come to, up to its next tool calls.
//!
//! Knows: scripts, requests. Never knows: how a family writes it.
//!
//! Start at [`Plan::of`].

use std::time::Duration;

use crate::agent::script::{self, Script, ScriptStep, ToolClass, ToolStep};
use crate::wire::json::{Value, json};

use super::offered::{CallForm, OfferedTool};
use super::read::{Asked, unwrapped};
use super::tools::{self, Lack};

/// What an answer says whose script has nothing to say.
const LAST_WORD: &str = "Done.";

/// What an answer says, in order.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) moves: Vec<Move>,
    /// Why the script cannot be played as it stands.
    pub(super) problem: Option<String>,
    /// The problem is the agent's or the script's, so that nothing can be said about the host.
    pub(super) untestable: bool,
}

/// One thing that an answer says or does.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Move {
    Text(String),
    Thought(String),
    Call(Call),
    Pause(Duration),
    Hold(String),
    Usage {
        input: u64,
        output: u64,
    },
    /// The endpoint fails, with the kind as the script names it.
    Fail(String),
    /// Text without end, until nobody listens any more.
    Endless,
}

/// A call of one of the agent's tools.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Call {
    pub(super) id: String,
    pub(super) wanted: PlannedCall,
    /// Its input comes when a name is released, after its beginning.
    pub(super) input_held: bool,
}

/// A tool, and what it is called with.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PlannedCall {
    pub(super) name: String,
    /// The namespace that the tool is offered in.
    pub(super) namespace: Option<String>,
    pub(super) form: CallForm,
    /// Arguments by name; a text where the tool takes one free text.
    pub(super) arguments: Value,
}

impl PlannedCall {
    /// A call of an offered tool.
    pub(super) fn of(tool: &OfferedTool, arguments: Value) -> PlannedCall {
        let (name, namespace) = (tool.name.clone(), tool.namespace.clone());
        PlannedCall { name, namespace, form: tool.form, arguments }
    }
}

impl Move {
    /// For the log.
    pub(super) fn record(&self) -> Value {
        match self {
            Move::Text(text) => json!({"text": (text)}),
            Move::Thought(text) => json!({"thought": (text)}),
            // Whether the agent has heard of it, nobody knows: its input may never come.
            Move::Call(call) if call.input_held => json!({
                "begins": (call.wanted.name.as_str()), "arguments": (call.wanted.arguments.clone()),
            }),
            Move::Call(call) => json!({
                "call": (call.wanted.name.as_str()), "id": (call.id.as_str()),
                "arguments": (call.wanted.arguments.clone()),
            }),
            Move::Pause(pause) => json!({"wait": (pause.as_millis() as u64)}),
            Move::Hold(name) => json!({"hold": (name)}),
            Move::Usage { input, output } => json!({"usage": [(*input), (*output)]}),
            Move::Fail(kind) => json!({"fail": (kind)}),
            Move::Endless => json!({"endless": true}),
        }
    }
}

impl Plan {
    /// The next part of the prompt's script; without a script the prompt itself.
    ///
    /// A request that offers no tools is a helper's, which wants a title or a summary of the same
    /// prompt: it gets the script's first text, at once and without failing.
    pub(super) fn of(asked: &Asked, serial: u64) -> Plan {
        match script::find(&asked.prompt) {
            None => Plan { moves: vec![Move::Text(echo(asked))], ..Plan::default() },
            Some(Err(error)) => Plan::broken(format!("the script has a mistake: {error}"), true),
            Some(Ok(script)) if asked.tools.is_empty() => Plan::helper(&script),
            Some(Ok(script)) => Plan::play(&script, asked, serial),
        }
    }

    /// What is wrong is said aloud, where whoever reads the conversation sees it.
    fn broken(problem: String, untestable: bool) -> Plan {
        let moves = vec![Move::Text(format!("ahp-agent: {problem}"))];
        Plan { moves, problem: Some(problem), untestable }
    }

    fn helper(script: &Script) -> Plan {
        let text = script.steps.iter().find_map(|step| match step {
            ScriptStep::Title(text) => Some(text.clone()),
            ScriptStep::Say(texts) => Some(texts.concat()),
            _ => None,
        });
        let text = text.unwrap_or_else(|| "scripted".to_owned());
        Plan { moves: vec![Move::Text(text)], ..Plan::default() }
    }

    fn play(script: &Script, asked: &Asked, serial: u64) -> Plan {
        let mut plan = Plan::default();
        let mut rounds = asked.rounds;
        for step in &script.steps {
            let calls = calls(step);
            if rounds > 0 {
                rounds -= usize::from(calls.is_some());
                continue;
            }
            let Some(calls) = calls else {
                plan.say(step, asked);
                if matches!(step, ScriptStep::Fail { .. } | ScriptStep::Endless) {
                    break;
                }
                continue;
            };
            match calls.iter().map(|call| made(call, asked)).collect::<Result<Vec<_>, _>>() {
                Ok(made) => {
                    plan.moves.extend(made.into_iter().zip(&calls).enumerate().map(
                        |(at, (wanted, wish))| {
                            let id = format!("call_{serial}_{at}");
                            Move::Call(Call { id, wanted, input_held: wish.is_held() })
                        },
                    ));
                }
                Err(lack) => {
                    let said = plan.moves;
                    plan = Plan::broken(lack.problem, lack.own);
                    plan.moves.splice(0..0, said);
                }
            }
            break;
        }
        plan.speak();
        plan
    }

    /// Agents take an answer without a word for a failure of the model and ask again, or give up.
    fn speak(&mut self) {
        let silent = |one: &Move| {
            matches!(one, Move::Thought(_) | Move::Pause(_) | Move::Hold(_) | Move::Usage { .. })
        };
        if self.moves.iter().all(silent) {
            self.moves.push(Move::Text(LAST_WORD.to_owned()));
        }
    }

    fn say(&mut self, step: &ScriptStep, asked: &Asked) {
        match step {
            ScriptStep::Say(texts) => self.moves.extend(texts.iter().cloned().map(Move::Text)),
            ScriptStep::Think(texts) => {
                self.moves.extend(texts.iter().cloned().map(Move::Thought));
            }
            ScriptStep::Wait(pause) => self.moves.push(Move::Pause(*pause)),
            ScriptStep::Hold(name) => self.moves.push(Move::Hold(name.clone())),
            ScriptStep::Usage { input, output } => {
                self.moves.push(Move::Usage { input: *input, output: *output });
            }
            ScriptStep::Fail { kind, .. } => self.moves.push(Move::Fail(kind.clone())),
            ScriptStep::Endless => self.moves.push(Move::Endless),
            ScriptStep::Recall(words) => {
                let given: Vec<&str> = asked.texts.iter().map(String::as_str).collect();
                self.moves.push(Move::Text(script::recalled(words, &given)));
            }
            // No model can rename a session; agents that do, ask for a title in a request of its own.
            ScriptStep::Title(_)
            | ScriptStep::Activity(_)
            | ScriptStep::Background { .. }
            | ScriptStep::Canvas { .. }
            | ScriptStep::Crash
            | ScriptStep::Act { .. } => {}
            ScriptStep::Tool(_) | ScriptStep::Parallel(_) | ScriptStep::Ask { .. } => {}
        }
    }
}

/// One call of a step, before a tool is chosen for it.
enum Wish<'a> {
    Tool(&'a ToolStep),
    Ask { question: &'a str, options: &'a [String] },
}

impl Wish<'_> {
    fn is_held(&self) -> bool {
        matches!(self, Wish::Tool(step) if step.input_held)
    }
}

/// The calls that a step makes at the same time; `None` where it makes none.
fn calls(step: &ScriptStep) -> Option<Vec<Wish<'_>>> {
    match step {
        ScriptStep::Tool(call) => Some(vec![Wish::Tool(call)]),
        ScriptStep::Parallel(calls) => Some(calls.iter().map(Wish::Tool).collect()),
        ScriptStep::Ask { question, options, .. } => Some(vec![Wish::Ask { question, options }]),
        _ => None,
    }
}

fn made(wish: &Wish<'_>, asked: &Asked) -> Result<PlannedCall, Lack> {
    let offered = &asked.tools;
    match wish {
        Wish::Tool(step) if step.class == ToolClass::Worker && step.input.is_empty() => {
            let again = ToolStep { input: asked.prompt.clone(), ..(*step).clone() };
            tools::call(&again, offered, &asked.texts)
        }
        Wish::Tool(step) => tools::call(step, offered, &asked.texts),
        Wish::Ask { question, options } => tools::ask(question, options, offered),
    }
}

fn echo(asked: &Asked) -> String {
    let bare = unwrapped(&asked.prompt);
    if bare.is_empty() { "nothing was asked".to_owned() } else { bare }
}
