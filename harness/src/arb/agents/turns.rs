//! Generates turns: the scripts of prompts, and the actions of a client during a turn.
//!
//! Knows: the lines of the agent script. Never knows: agents.
//!
//! Start at [`prompt`].

use crate::wire::json::json;

use super::AgentMoveLog;
use super::builder::{AgentConversationBuilder, OpenTurn, PermissionPolicy, hole};

/// A line of a script.
struct ScriptLine {
    /// The text of the line. `{n}` becomes a unique number, and `{file}` becomes the file that the call creates.
    text: &'static str,
    /// The ability that the agent needs for the line; empty if it needs none.
    needs: &'static str,
    /// Whether the agent asks for permission before it executes the line.
    asks: bool,
    /// Whether the line ends without a cancellation.
    ends: bool,
    /// The weight of the line in the random choice.
    often: usize,
}

const fn line(text: &'static str, needs: &'static str, often: usize) -> ScriptLine {
    ScriptLine { text, needs, asks: false, ends: true, often }
}

const fn asking(text: &'static str, needs: &'static str, often: usize) -> ScriptLine {
    ScriptLine { asks: true, ..line(text, needs, often) }
}

const fn lasting(text: &'static str, needs: &'static str, often: usize) -> ScriptLine {
    ScriptLine { ends: false, ..line(text, needs, often) }
}

const LINES: &[ScriptLine] = &[
    line("say \"ahp-{n} one\" \"two\"", "", 10),
    line("think \"of ahp-{n}\"", "", 5),
    line("wait 20ms", "", 3),
    line("fail rate-limit", "", 1),
    line("fail refusal", "", 1),
    lasting("endless", "", 6),
    asking("tool shell \"touch {file}\" confirm", "shell", 20),
    asking("tool write \"{work}/{file}\\nhello\" confirm", "write", 10),
    asking("tool mcp ahp_probe \"ahp-{n}\" confirm", "mcp", 8),
    asking("tool mcp ahp_probe \"ahp-fail\" confirm", "mcp", 2),
    asking("tool shell \"touch {file}; printf 'ahp-%s' {n}\" confirm", "shell", 5),
    line("tool read \"{work}/ahp-none.txt\"", "read", 4),
    line("tool search \"ahp\"", "search", 2),
    line("tool think \"of ahp-{n}\"", "think", 1),
    line("tool fetch \"http://127.0.0.1:9/ahp\"", "fetch", 1),
    asking("tool switch-mode \"careful\" confirm", "switch-mode", 1),
    asking("tool plan \"> ahp-first\\nahp-{n}\" confirm", "plan", 1),
];

/// The pauses of a client: short ones for agents in virtual time, longer ones for agent processes.
const RESTS: &[&str] = &[
    "1ms", "2ms", "3ms", "4ms", "5ms", "6ms", "8ms", "10ms", "15ms", "20ms", "40ms", "80ms",
    "150ms", "300ms", "600ms",
];

/// The kinds of updates that an agent may report during a turn.
const REPORTS: &[&str] =
    &["agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update"];

/// Returns a script, the files that its calls create after approval, and whether the turn ends by itself.
fn script(builder: &mut AgentConversationBuilder, most: usize) -> (String, Vec<String>, bool) {
    let count = 1 + builder.dice.below(most);
    let (mut lines, mut asks, mut ends) = (Vec::new(), Vec::new(), true);
    for _ in 0..count {
        let able: Vec<&ScriptLine> = LINES
            .iter()
            .filter(|line| builder.abilities.has(line.needs))
            // After a denial, each agent decides what it asks about next. A script therefore has at most one call that
            // needs permission, unless the client allows everything.
            .filter(|line| {
                asks.is_empty() || !line.asks || builder.policy == PermissionPolicy::Allows
            })
            .collect();
        let all: usize = able.iter().map(|line| line.often).sum();
        let mut at = builder.dice.below(all);
        let line = able.into_iter().find(|line| match at.checked_sub(line.often) {
            Some(rest) => {
                at = rest;
                false
            }
            None => true,
        });
        let Some(line) = line else { break };
        let number = builder.number();
        let file = format!("ahp-marker-{number}");
        let text = line.text.replace("{n}", &number.to_string()).replace("{file}", &file);
        if line.asks {
            asks.push(if line.text.contains("{file}") { file } else { String::new() });
        }
        builder.needs(line.needs);
        lines.push(text);
        ends = line.ends;
        if !ends || line.text.starts_with("fail") {
            break;
        }
    }
    // Let the agent make two calls at the same time.
    let tools = lines.iter().filter(|line| line.starts_with("tool")).count();
    if tools == 2 && lines.len() == 2 && builder.dice.chance(50) {
        lines.insert(0, "parallel".to_owned());
        lines.push("end".to_owned());
    }
    (lines.join("\n"), asks, ends)
}

/// Adds a prompt in a session without a turn.
pub(super) fn prompt(builder: &mut AgentConversationBuilder) -> AgentMoveLog {
    let session = builder.session(false)?;
    let (text, asks, ends) = script(builder, 4);
    let prompt = builder.name("p");
    builder.step(
        "prompt",
        json!({"by": "A", "session": (hole(&session)), "script": text, "as": (prompt.as_str())}),
    );
    builder.turns.push(OpenTurn { session, prompt, asks, ends });
    Some(("session/prompt".to_owned(), "legal"))
}

/// Adds a prompt in a session with an open turn. An agent may refuse the prompt, queue the prompt, or use the
/// prompt to steer the turn, but has to answer.
pub(super) fn prompt_while_busy(builder: &mut AgentConversationBuilder) -> AgentMoveLog {
    let session = builder.session(true)?;
    let prompt = builder.name("p");
    let number = builder.number();
    builder.step(
        "prompt",
        json!({
            "by": "A", "session": (hole(&session)), "script": (format!("say \"ahp-{number}\"")), "as": (prompt.as_str()),
        }),
    );
    // If the prompt is queued behind the active turn, it is not specified whether a cancellation of that turn also
    // cancels the prompt.
    builder.turns.push(OpenTurn { session, prompt, asks: Vec::new(), ends: true });
    Some(("session/prompt".to_owned(), "during a turn"))
}

/// Adds a pause during a turn.
pub(super) fn rest(builder: &mut AgentConversationBuilder) -> AgentMoveLog {
    builder.turn()?;
    let rest = *builder.dice.pick(RESTS)?;
    builder.step("rest", json!({"for": rest}));
    Some(("rest".to_owned(), "legal"))
}

/// Adds a step that waits for one update of the agent, so that the next step comes after this update.
pub(super) fn await_update(builder: &mut AgentConversationBuilder) -> AgentMoveLog {
    builder.turn()?;
    let kind = *builder.dice.pick(REPORTS)?;
    builder.step(
        "await",
        json!({
            "at": "A", "method": "session/update", "where": {"update": {"sessionUpdate": kind}}, "within": "1s",
        }),
    );
    Some((format!("await {kind}"), "legal"))
}

/// Adds one or two cancellations of a turn at any moment. A pending request for permission may be answered with
/// `cancelled` before or after them.
pub(super) fn cancel(builder: &mut AgentConversationBuilder) -> AgentMoveLog {
    let at = builder.turn()?;
    let turn = builder.turns[at].clone();
    let prompts = builder.turns.iter().filter(|it| it.session == turn.session).count();
    for _ in 0..1 + builder.dice.below(2) {
        builder.send_cancel(&turn.session);
    }
    if turn.asks.is_empty() && builder.dice.chance(80) && prompts == 1 {
        builder.turns.remove(at);
        builder.answered(&turn.prompt);
        if builder.dice.chance(50) {
            builder.step("rest", json!({"for": "600ms"}));
        }
    } else if let Some(turn) = builder.turns.get_mut(at) {
        // The turn ends because of the cancellation, regardless of its script.
        turn.ends = true;
    }
    Some(("session/cancel".to_owned(), "legal"))
}

/// Adds a cancellation for a session without a turn, which changes nothing and is never answered.
pub(super) fn cancel_idle(builder: &mut AgentConversationBuilder) -> AgentMoveLog {
    let session = builder.session(false)?;
    builder.send_cancel(&session);
    Some(("session/cancel".to_owned(), "without a turn"))
}

/// Adds a `$/cancel_request` for a prompt, which an agent does not have to support.
pub(super) fn cancel_request(builder: &mut AgentConversationBuilder) -> AgentMoveLog {
    let at = builder.turn()?;
    let params = json!({"requestId": (hole(&builder.turns[at].prompt))});
    builder.step("notify", json!({"by": "A", "method": "$/cancel_request", "params": params}));
    Some(("$/cancel_request".to_owned(), "legal"))
}

/// Adds a step that waits for the end of a turn, if the turn ends by itself.
pub(super) fn finish(builder: &mut AgentConversationBuilder) -> AgentMoveLog {
    let at = builder.turn()?;
    let turn = builder.turns[at].clone();
    let first = builder.turns.iter().position(|it| it.session == turn.session) == Some(at);
    let decided = turn.asks.is_empty() || builder.policy == PermissionPolicy::Allows;
    if !turn.ends || !decided || !first {
        return None;
    }
    builder.turns.remove(at);
    builder.answered(&turn.prompt);
    Some(("answer".to_owned(), "legal"))
}
