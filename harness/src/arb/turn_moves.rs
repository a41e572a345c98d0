//! Moves about turns: the message to the agent, and the script that the agent follows.
//!
//! Knows: the lines of the agent script. Never knows: hosts.
//!
//! Start at [`turn`].

use crate::agent::mode::AgentMode;
use crate::agent::script::{self, HEADER};
use crate::wire::channel::ChannelKind;
use crate::wire::json::{Value, json};

use super::act;
use super::builder::ConversationBuilder;
use super::files::FILES;
use super::step_result::{ActionLogEntry, ClientStepResult};

/// The lines of scripts. More useful lines are listed several times.
const LINES: &[&str] = &[
    "say one \"two three\"",
    "say \"Grüße 𝄞\" \"and so on\"",
    "think \"let me see\" so",
    "tool shell \"touch ahp-marker\" confirm",
    "tool shell \"touch ahp-marker\" confirm",
    "tool shell \"touch ahp-marker\" confirm editable",
    "tool shell \"touch ahp-marker\" confirm deny-ends-turn",
    "tool shell \"touch ahp-marker\" confirm-result",
    "tool shell \"touch ahp-marker\" confirm confirm-result",
    "tool shell \"touch ahp-marker\" confirm reconfirm",
    "tool read one.txt",
    "tool read missing.txt fails",
    "tool write \"one.txt\\none TAG\"",
    "tool write \"two.txt\\ntwo TAG\"",
    "tool edit \"one.txt\\none TAG\\nother\"",
    "tool client look \"x\"",
    "tool client look \"x\"",
    "tool client look \"x\" confirm",
    "parallel\ntool shell \"touch a\" confirm\ntool shell \"touch b\" confirm\nend",
    "parallel\ntool client look x\ntool shell \"touch b\" confirm\nend",
    "ask \"Which branch?\" main dev",
    "ask \"Why?\"",
    "ask-multi-select \"Which?\" one two three",
    "ask-number \"How many?\"",
    "ask-boolean \"Sure?\"",
    "ask-url \"Sign in\" \"https://example.com/x\"",
    "hold gate",
    "hold gate",
    "tool shell \"touch ahp-marker\" by-reference",
    "tool shell \"touch ahp-marker\" confirm editable by-reference",
    "tool worker \"ahp-script: 1\\nsay one two\"",
    "tool worker \"ahp-script: 1\\nendless\"",
    "tool worker \"\"",
    "tool worker \"ahp-script: 1\\nhold gate\\ntool shell \\\"touch b\\\" confirm\"",
    "activity \"building\"",
    "activity \"\"",
    "background \"sleep\" 300ms",
    "background \"sleep\" 900ms",
    "canvas map \"https://canvas.example/one\"",
    "canvas map \"https://canvas.example/two\"",
    "canvas map",
    "recall said hello first WORDS",
    "say WORD",
    "usage 10 20",
    "title \"A title\"",
    "wait 20ms",
];
/// The last lines of scripts.
const ENDS: &[&str] = &[
    "",
    "",
    "",
    "",
    "say done",
    "fail rate-limit",
    "fail overloaded resumable",
    "endless",
    "hold gate",
    "crash",
    "recall said hello first message WORDS",
];
/// The maximum number of lines before the last one.
const LONGEST: usize = 3;

/// Starts a turn in a chat, usually in an idle chat.
pub fn turn(builder: &mut ConversationBuilder) -> Option<ActionLogEntry> {
    builder.conditions.agent?;
    let chats = builder.channels(ChannelKind::Chat);
    let idle: Vec<_> =
        chats.iter().filter(|(_, chat)| chat["activeTurn"].is_null()).cloned().collect();
    let from = if builder.dice.chance(92) { idle } else { chats.clone() };
    let (chat, _) = builder.dice.pick(&from)?.clone();
    let by = builder.somebody()?;
    let number = builder.number();
    let mut members = json!({"by": by, "id": format!("t{number}")});
    let channel = builder.named(&json!(chat))?;
    if channel != json!("${chat}") {
        members["chat"] = channel;
    }
    let script = script(builder);
    if script.is_empty() {
        members["text"] = json!("hello there");
    } else {
        members["script"] = json!(script);
    }
    attach(builder, &chat, &mut members);
    let turns = chats.iter().find(|row| row.0 == chat).map(|row| row.1["turns"].clone());
    let earlier = turns.as_ref().and_then(Value::as_array).cloned().unwrap_or_default();
    match builder.dice.below(40) {
        0 => members["members"] = json!({"startedAt": "yesterday"}),
        1 => members["members"] = json!({"queuedMessageId": "nothing"}),
        2 | 3 => {
            if let Some(turn) =
                builder.dice.pick(&earlier).and_then(|turn| builder.named(&turn["id"]))
            {
                members["id"] = turn;
            }
        }
        _ => {}
    }
    let script = members["script"].as_str().unwrap_or_default().to_owned();
    if script.contains("tool client") && builder.dice.chance(70) {
        let sessions = builder.channels(ChannelKind::Session);
        act::dispatch_on(
            builder,
            ChannelKind::Session,
            &sessions,
            &["session/activeClientSet"],
            0,
        )?;
    }
    let came = builder.act(json!({"turn": members}), |came, builder| match came {
        ClientStepResult::Accepted => Some("dispatch.table.client.chat.turnStarted".to_owned()),
        ClientStepResult::Rejected => {
            Some(builder.stage().host().refused_by().to_owned()).filter(|rule| !rule.is_empty())
        }
        _ => None,
    })?;
    Some(("chat/turnStarted".to_owned(), "legal", came))
}

/// Starts a turn in the first chat with a script that completes at once.
pub fn say(builder: &mut ConversationBuilder) -> Option<()> {
    builder.conditions.agent?;
    let (by, id, word) = (builder.somebody()?, format!("t{}", builder.number()), builder.word());
    let step = json!({"turn": {"by": by, "id": id, "script": format!("say {word}")}});
    builder.act(step, |_, _| None)?;
    Some(())
}

fn script(builder: &mut ConversationBuilder) -> String {
    let focused: Vec<&str> =
        LINES.iter().copied().filter(|line| line.contains(builder.focus)).collect();
    let mut lines = Vec::new();
    if builder.focus == "WORD" && builder.dice.chance(60) {
        lines.push("say WORD");
    }
    for _ in 0..builder.dice.below(LONGEST + 1) {
        let from = if builder.dice.chance(70) { focused.as_slice() } else { LINES };
        lines.extend(builder.dice.pick(from).copied());
    }
    lines.extend(builder.dice.pick(ENDS).copied().filter(|line| !line.is_empty()));
    let mode = builder.conditions.agent.unwrap_or_default();
    lines.retain(|line| can(mode, line));
    // The words are unique to this conversation, and the script can recall earlier words.
    let lines: Vec<String> = lines
        .into_iter()
        .map(|line| match line.contains("WORD") {
            true if line.starts_with("recall") => line.replace("WORDS", &words(builder)),
            true => line.replace("WORD", &builder.word()),
            false => line.to_owned(),
        })
        .collect();
    lines.join("\n").replace("TAG", &builder.tag())
}

/// Returns the words that were used so far, in any chat.
fn words(builder: &ConversationBuilder) -> String {
    builder.words.join(" ")
}

/// Returns whether the agent can execute a script's line.
fn can(mode: AgentMode, line: &str) -> bool {
    let script = script::find(&format!("{HEADER}\n{line}"));
    script.and_then(Result::ok).is_some_and(|script| mode.cannot(&script).is_none())
}

/// The content of a file that no client may read, quoted as in a script.
const SECRET: &str = "\"of ahp-harness\"";

/// Adds a chat or a file as an attachment to a message, in some cases.
fn attach(builder: &mut ConversationBuilder, to: &str, members: &mut Value) {
    if !builder.dice.chance(if builder.focus == "WORD" { 50 } else { 15 }) {
        return;
    }
    let file = builder.conditions.reference && builder.dice.chance(20);
    let attachment = if file {
        let uri = *builder.dice.pick(FILES).unwrap_or(&"");
        Some(json!({"type": "resource", "label": "A file", "uri": uri}))
    } else {
        attached_chat(builder, to)
    };
    let Some(attachment) = attachment.and_then(|it| builder.named(&it)) else { return };
    // The agent recalls the attachment's content, either at once or after steps of other clients.
    let later = if builder.dice.chance(30) { "hold gate\n" } else { "" };
    let script = format!("{HEADER}\n{later}recall {SECRET} hello said {}", words(builder));
    members["members"] = json!({"message": {
        "text": script, "origin": {"kind": "user"}, "attachments": [attachment],
    }});
    if let Some(members) = members.as_object_mut() {
        members.remove("script");
        members.remove("text");
    }
}

/// Returns a chat as an attachment: usually a chat with turns, either as a whole or up to a certain turn.
fn attached_chat(builder: &mut ConversationBuilder, to: &str) -> Option<Value> {
    let all = builder.channels(ChannelKind::Chat);
    let told = all.iter().filter(|row| row.1["turns"].as_array().is_some_and(|it| !it.is_empty()));
    let told = told.filter(|row| row.0 != to);
    let told: Vec<_> = told.cloned().collect();
    let from = if told.is_empty() || builder.dice.chance(20) { &all } else { &told };
    let (uri, state) = builder.dice.pick(from)?.clone();
    if builder.dice.chance(15) {
        return Some(json!({"type": "chat", "label": "A chat", "resource": "ahp-chat:/nowhere"}));
    }
    let mut attachment = json!({"type": "chat", "label": "A chat", "resource": uri});
    let turns = state["turns"].as_array().cloned().unwrap_or_default();
    if let Some(turn) = builder.dice.pick(&turns)
        && builder.dice.clone().chance(50)
    {
        attachment["endTurn"] = turn["id"].clone();
    }
    Some(attachment)
}

/// Releases a held agent.
pub fn release(builder: &mut ConversationBuilder) -> Option<ActionLogEntry> {
    let chats = builder.channels(ChannelKind::Chat);
    let busy: Vec<_> = chats.iter().filter(|(_, chat)| !chat["activeTurn"].is_null()).collect();
    let chat = builder.dice.pick(&busy)?.0.clone();
    let chat = builder.named(&json!(chat))?;
    let by = builder.somebody()?;
    builder.act(json!({"release": {"hold": "gate", "by": by, "chat": chat}}), |_, _| None)?;
    Some(("release".to_owned(), "legal", ClientStepResult::Accepted))
}
