//! The part of the script that the next response plays: from the current place in the conversation up to the next tool
//! calls.
//!
//! Knows: scripts, requests. Never knows: the form of a response.
//!
//! Start at [`AnswerPlan::of`].

use std::time::Duration;

use crate::agent::script::{self, AgentScript, ScriptStep, ToolClass, ToolStep};
use crate::wire::json::{Value, json};

use super::offered::{CallForm, OfferedTool};
use super::read::{ParsedRequest, unwrapped};
use super::tools::{self, NoFittingTool};

/// The text of a response if the script contains no text for it.
const LAST_WORD: &str = "Done.";

/// The content of a response, in order.
#[derive(Debug, Default)]
pub(super) struct AnswerPlan {
    pub(super) moves: Vec<AnswerMove>,
    /// Why the script cannot be played unchanged; `None` if it can.
    pub(super) problem: Option<String>,
    /// Whether the agent or the script causes the problem, so that the run is not evidence about the host.
    pub(super) untestable: bool,
}

/// A part of a response.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum AnswerMove {
    Text(String),
    Thought(String),
    Call(ToolUse),
    Pause(Duration),
    Hold(String),
    Usage {
        input: u64,
        output: u64,
    },
    /// A failure of the endpoint, with the kind that the script names.
    Fail(String),
    /// Text that does not end until the client disconnects.
    Endless,
}

/// A call of one of the agent's tools.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ToolUse {
    pub(super) id: String,
    pub(super) wanted: PlannedCall,
    /// Whether the input follows only when a hold is released.
    pub(super) input_held: bool,
}

/// A tool with the arguments of a call.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PlannedCall {
    pub(super) name: String,
    /// The namespace in which the tool is offered.
    pub(super) namespace: Option<String>,
    pub(super) form: CallForm,
    /// The arguments by name; a string for a tool that takes one free-form string.
    pub(super) arguments: Value,
}

impl PlannedCall {
    /// Creates a call of an offered tool.
    pub(super) fn of(tool: &OfferedTool, arguments: Value) -> PlannedCall {
        let (name, namespace) = (tool.name.clone(), tool.namespace.clone());
        PlannedCall { name, namespace, form: tool.form, arguments }
    }
}

impl AnswerMove {
    /// Returns the part as a log record.
    pub(super) fn record(&self) -> Value {
        match self {
            AnswerMove::Text(text) => json!({"text": (text)}),
            AnswerMove::Thought(text) => json!({"thought": (text)}),
            // The agent may never learn of this call, since its input may never follow.
            AnswerMove::Call(call) if call.input_held => json!({
                "begins": (call.wanted.name.as_str()), "arguments": (call.wanted.arguments.clone()),
            }),
            AnswerMove::Call(call) => json!({
                "call": (call.wanted.name.as_str()), "id": (call.id.as_str()),
                "arguments": (call.wanted.arguments.clone()),
            }),
            AnswerMove::Pause(pause) => json!({"wait": (pause.as_millis() as u64)}),
            AnswerMove::Hold(name) => json!({"hold": (name)}),
            AnswerMove::Usage { input, output } => json!({"usage": [(*input), (*output)]}),
            AnswerMove::Fail(kind) => json!({"fail": (kind)}),
            AnswerMove::Endless => json!({"endless": true}),
        }
    }
}

impl AnswerPlan {
    /// Returns the next part of the prompt's script; without a script, an echo of the prompt.
    ///
    /// A request without tools comes from a helper that needs a title or a summary of the same prompt.
    /// Such a request gets the script's first text at once, without failures.
    pub(super) fn of(asked: &ParsedRequest, serial: u64) -> AnswerPlan {
        match script::find(&asked.prompt) {
            None => {
                AnswerPlan { moves: vec![AnswerMove::Text(echo(asked))], ..AnswerPlan::default() }
            }
            Some(Err(error)) => {
                AnswerPlan::broken(format!("the script has a mistake: {error}"), true)
            }
            Some(Ok(script)) if asked.tools.is_empty() => AnswerPlan::helper(&script),
            Some(Ok(script)) => AnswerPlan::play(&script, asked, serial),
        }
    }

    /// Returns a plan that reports the problem in the conversation, where a reader of the transcript sees it.
    fn broken(problem: String, untestable: bool) -> AnswerPlan {
        let moves = vec![AnswerMove::Text(format!("ahp-agent: {problem}"))];
        AnswerPlan { moves, problem: Some(problem), untestable }
    }

    fn helper(script: &AgentScript) -> AnswerPlan {
        let text = script.steps.iter().find_map(|step| match step {
            ScriptStep::Title(text) => Some(text.clone()),
            ScriptStep::Say(texts) => Some(texts.concat()),
            _ => None,
        });
        let text = text.unwrap_or_else(|| "scripted".to_owned());
        AnswerPlan { moves: vec![AnswerMove::Text(text)], ..AnswerPlan::default() }
    }

    fn play(script: &AgentScript, asked: &ParsedRequest, serial: u64) -> AnswerPlan {
        let mut plan = AnswerPlan::default();
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
                            AnswerMove::Call(ToolUse { id, wanted, input_held: wish.is_held() })
                        },
                    ));
                }
                Err(lack) => {
                    let said = plan.moves;
                    plan = AnswerPlan::broken(lack.problem, lack.own);
                    plan.moves.splice(0..0, said);
                }
            }
            break;
        }
        plan.speak();
        plan
    }

    /// Adds text if the response has none. Agents treat a response without text as a failure of the model, and retry
    /// the request or fail.
    fn speak(&mut self) {
        let silent = |one: &AnswerMove| {
            matches!(
                one,
                AnswerMove::Thought(_)
                    | AnswerMove::Pause(_)
                    | AnswerMove::Hold(_)
                    | AnswerMove::Usage { .. }
            )
        };
        if self.moves.iter().all(silent) {
            self.moves.push(AnswerMove::Text(LAST_WORD.to_owned()));
        }
    }

    fn say(&mut self, step: &ScriptStep, asked: &ParsedRequest) {
        match step {
            ScriptStep::Say(texts) => {
                self.moves.extend(texts.iter().cloned().map(AnswerMove::Text))
            }
            ScriptStep::Think(texts) => {
                self.moves.extend(texts.iter().cloned().map(AnswerMove::Thought));
            }
            ScriptStep::Wait(pause) => self.moves.push(AnswerMove::Pause(*pause)),
            ScriptStep::Hold(name) => self.moves.push(AnswerMove::Hold(name.clone())),
            ScriptStep::Usage { input, output } => {
                self.moves.push(AnswerMove::Usage { input: *input, output: *output });
            }
            ScriptStep::Fail { kind, .. } => self.moves.push(AnswerMove::Fail(kind.clone())),
            ScriptStep::Endless => self.moves.push(AnswerMove::Endless),
            ScriptStep::Recall(words) => {
                let given = asked.texts.iter().chain(&asked.tool_texts);
                let given: Vec<&str> = given.map(String::as_str).collect();
                self.moves.push(AnswerMove::Text(script::recalled(words, &given)));
            }
            // A model cannot rename a session; an agent that renames sessions asks for a title in a separate
            // request.
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

/// A tool call of a step, before a tool is chosen for it.
enum CallWish<'a> {
    Tool(&'a ToolStep),
    Ask { question: &'a str, options: &'a [String] },
}

impl CallWish<'_> {
    fn is_held(&self) -> bool {
        matches!(self, CallWish::Tool(step) if step.input_held)
    }
}

/// Returns the calls that a step makes at the same time; `None` if it makes none.
fn calls(step: &ScriptStep) -> Option<Vec<CallWish<'_>>> {
    match step {
        ScriptStep::Tool(call) => Some(vec![CallWish::Tool(call)]),
        ScriptStep::Parallel(calls) => Some(calls.iter().map(CallWish::Tool).collect()),
        ScriptStep::Ask { question, options, .. } => {
            Some(vec![CallWish::Ask { question, options }])
        }
        _ => None,
    }
}

fn made(wish: &CallWish<'_>, asked: &ParsedRequest) -> Result<PlannedCall, NoFittingTool> {
    let offered = &asked.tools;
    match wish {
        CallWish::Tool(step) if step.class == ToolClass::Worker && step.input.is_empty() => {
            let again = ToolStep { input: asked.prompt.clone(), ..(*step).clone() };
            tools::call(&again, offered, &asked.texts)
        }
        CallWish::Tool(step) => tools::call(step, offered, &asked.texts),
        CallWish::Ask { question, options } => tools::ask(question, options, offered),
    }
}

fn echo(asked: &ParsedRequest) -> String {
    let bare = unwrapped(&asked.prompt);
    if bare.is_empty() { "nothing was asked".to_owned() } else { bare }
}
