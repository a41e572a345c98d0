//! Turns: what the agent is told to do, and what a client does meanwhile.
//!
//! Knows: the lines of the agent script. Never knows: how an agent plays them.
//!
//! Start at [`prompt`].

use crate::wire::json::json;

use super::AgentMoveLog;
use super::draw::{AgentConversationDraw, OpenTurn, PermissionPolicy, hole};

/// A line of a script.
struct ScriptLine {
    /// The line; `{n}` is a number of its own, `{file}` the file by which it is seen that it ran.
    text: &'static str,
    /// What the agent has to be able to do.
    needs: &'static str,
    /// Whether the agent asks before.
    asks: bool,
    /// Whether it comes to its end by itself.
    ends: bool,
    /// How often it is drawn.
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

/// How long a client waits before it goes on, as a script of virtual time sees it and as a process does.
const RESTS: &[&str] = &[
    "1ms", "2ms", "3ms", "4ms", "5ms", "6ms", "8ms", "10ms", "15ms", "20ms", "40ms", "80ms",
    "150ms", "300ms", "600ms",
];

/// What an agent may report while it works.
const REPORTS: &[&str] =
    &["agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update"];

/// A script of a few lines, and what becomes of it.
fn script(draw: &mut AgentConversationDraw, most: usize) -> (String, Vec<String>, bool) {
    let count = 1 + draw.dice.below(most);
    let (mut lines, mut asks, mut ends) = (Vec::new(), Vec::new(), true);
    for _ in 0..count {
        let able: Vec<&ScriptLine> = LINES
            .iter()
            .filter(|line| draw.abilities.has(line.needs))
            // What one is asked about after a denial is each agent's own affair.
            .filter(|line| asks.is_empty() || !line.asks || draw.policy == PermissionPolicy::Allows)
            .collect();
        let all: usize = able.iter().map(|line| line.often).sum();
        let mut at = draw.dice.below(all);
        let drawn = able.into_iter().find(|line| match at.checked_sub(line.often) {
            Some(rest) => {
                at = rest;
                false
            }
            None => true,
        });
        let Some(drawn) = drawn else { break };
        let number = draw.number();
        let file = format!("ahp-marker-{number}");
        let text = drawn.text.replace("{n}", &number.to_string()).replace("{file}", &file);
        if drawn.asks {
            asks.push(if drawn.text.contains("{file}") { file } else { String::new() });
        }
        draw.needs(drawn.needs);
        lines.push(text);
        ends = drawn.ends;
        if !ends || drawn.text.starts_with("fail") {
            break;
        }
    }
    // Two calls at a time.
    let tools = lines.iter().filter(|line| line.starts_with("tool")).count();
    if tools == 2 && lines.len() == 2 && draw.dice.chance(50) {
        lines.insert(0, "parallel".to_owned());
        lines.push("end".to_owned());
    }
    (lines.join("\n"), asks, ends)
}

/// A prompt in a session without a turn.
pub(super) fn prompt(draw: &mut AgentConversationDraw) -> AgentMoveLog {
    let session = draw.session(false)?;
    let (text, asks, ends) = script(draw, 4);
    let prompt = draw.name("p");
    draw.step(
        "prompt",
        json!({"by": "A", "session": (hole(&session)), "script": text, "as": (prompt.as_str())}),
    );
    draw.turns.push(OpenTurn { session, prompt, asks, ends });
    Some(("session/prompt".to_owned(), "legal"))
}

/// A prompt in a session in which a turn goes on. Whether it is refused, waits or steers is open; it is answered.
pub(super) fn prompt_while_busy(draw: &mut AgentConversationDraw) -> AgentMoveLog {
    let session = draw.session(true)?;
    let prompt = draw.name("p");
    let number = draw.number();
    draw.step(
        "prompt",
        json!({
            "by": "A", "session": (hole(&session)), "script": (format!("say \"ahp-{number}\"")), "as": (prompt.as_str()),
        }),
    );
    // One that waits for the turn before it may be cancelled with it, or not.
    draw.turns.push(OpenTurn { session, prompt, asks: Vec::new(), ends: true });
    Some(("session/prompt".to_owned(), "while a turn goes on"))
}

/// Time passes.
pub(super) fn rest(draw: &mut AgentConversationDraw) -> AgentMoveLog {
    draw.turn()?;
    let rest = *draw.dice.pick(RESTS)?;
    draw.step("rest", json!({"for": rest}));
    Some(("rest".to_owned(), "legal"))
}

/// Something is reported, so that what follows comes after it.
pub(super) fn await_update(draw: &mut AgentConversationDraw) -> AgentMoveLog {
    draw.turn()?;
    let kind = *draw.dice.pick(REPORTS)?;
    draw.step(
        "await",
        json!({
            "at": "A", "method": "session/update", "where": {"update": {"sessionUpdate": kind}}, "within": "1s",
        }),
    );
    Some((format!("await {kind}"), "legal"))
}

/// A turn is cancelled, at any moment; what waits for permission may be answered with `cancelled` before or after it.
pub(super) fn cancel(draw: &mut AgentConversationDraw) -> AgentMoveLog {
    let at = draw.turn()?;
    let turn = draw.turns[at].clone();
    let prompts = draw.turns.iter().filter(|it| it.session == turn.session).count();
    for _ in 0..1 + draw.dice.below(2) {
        draw.send_cancel(&turn.session);
    }
    if turn.asks.is_empty() && draw.dice.chance(80) && prompts == 1 {
        draw.turns.remove(at);
        draw.answered(&turn.prompt);
        if draw.dice.chance(50) {
            draw.step("rest", json!({"for": "600ms"}));
        }
    } else if let Some(turn) = draw.turns.get_mut(at) {
        // It ends now, whatever its script says.
        turn.ends = true;
    }
    Some(("session/cancel".to_owned(), "legal"))
}

/// A cancel of a session without a turn changes nothing, and is never answered.
pub(super) fn cancel_idle(draw: &mut AgentConversationDraw) -> AgentMoveLog {
    let session = draw.session(false)?;
    draw.send_cancel(&session);
    Some(("session/cancel".to_owned(), "without a turn"))
}

/// The request of a prompt is cancelled, which an agent need not know.
pub(super) fn cancel_request(draw: &mut AgentConversationDraw) -> AgentMoveLog {
    let at = draw.turn()?;
    let params = json!({"requestId": (hole(&draw.turns[at].prompt))});
    draw.step("notify", json!({"by": "A", "method": "$/cancel_request", "params": params}));
    Some(("$/cancel_request".to_owned(), "legal"))
}

/// A turn comes to its end, where it does so by itself.
pub(super) fn finish(draw: &mut AgentConversationDraw) -> AgentMoveLog {
    let at = draw.turn()?;
    let turn = draw.turns[at].clone();
    let first = draw.turns.iter().position(|it| it.session == turn.session) == Some(at);
    let decided = turn.asks.is_empty() || draw.policy == PermissionPolicy::Allows;
    if !turn.ends || !decided || !first {
        return None;
    }
    draw.turns.remove(at);
    draw.answered(&turn.prompt);
    Some(("answer".to_owned(), "legal"))
}
