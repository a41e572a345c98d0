//! Drafts a profile from an agent's answers, for a person to read and edit.
//!
//! Knows: profiles, answers of agents. Never knows: processes, sockets.
//!
//! Start at [`draft`].

use std::fmt::Write as _;

use crate::scenario::capability::ABILITIES;
use crate::wire::foreign_text::{LineBreaks, shown, yaml};
use crate::wire::json::{Value, json};

use super::agent_link::error_words;
use super::introduction::{AgentIntroduction, SAYS};
use super::profile::AgentProfile;

/// The maximum length of a comment that quotes the agent, in characters.
const MAX_SHOWN: usize = 300;

/// The agent's requests to the model stand-in.
#[derive(Clone, Debug, Default)]
pub struct ModelUse {
    /// The number of requests.
    pub requests: u64,
    /// The tools that the agent offered to its model.
    pub tools: Vec<String>,
    /// The classes of these tools.
    pub classes: Vec<String>,
}

/// Returns the text of a draft profile: the members that are set in `given`, and the agent's answers as comments.
pub fn draft(given: &AgentProfile, introduction: &AgentIntroduction, model: &ModelUse) -> String {
    let mut text = String::new();
    let out = &mut text;
    let mut line = |words: &str| {
        let _ = writeln!(out, "{words}");
    };
    line(
        "# Written by `ahp-harness agent profile`; the meaning of each member: `ahp-harness explain profile`",
    );
    line(&format!("agent: {}", quoted(&given.agent)));
    match &given.url {
        Some(url) => line(&format!("url: {}", quoted(url))),
        None => line(&format!("command: {}", command(&given.command))),
    }
    for (name, pairs) in [("env", &given.env), ("home", &given.home)] {
        if !pairs.is_empty() {
            line(&format!("{name}:"));
        }
        for (key, value) in pairs {
            line(&format!("  {}: {}", quoted(key), quoted(value)));
        }
    }
    for words in handshake(given, introduction) {
        line(&words);
    }
    for words in session(given, introduction) {
        line(&words);
    }
    for words in stimulus(introduction, model) {
        line(&words);
    }
    line("timeout: 20s   # how long a wait may take");
    text
}

/// Returns a string in quotes, valid in both YAML and JSON.
fn quoted(text: &str) -> String {
    yaml(&json!(text).to_text()).into_owned()
}

fn command(words: &[String]) -> String {
    match words {
        [shell, flag, line] if shell == "sh" && flag == "-c" => quoted(line),
        words => yaml(&json!(words).to_text()).into_owned(),
    }
}

/// Returns a one-line comment.
fn comment(words: &str) -> String {
    let bare: String = words.split_whitespace().collect::<Vec<_>>().join(" ");
    let beginning: String = bare.chars().take(MAX_SHOWN).collect();
    format!("# {}", shown(&beginning, LineBreaks::Shown))
}

fn word<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

fn items<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Returns an identifier with its name and its description.
fn described(value: &Value, id: &str) -> String {
    let more: Vec<&str> = [word(value, "name"), word(value, "description")]
        .into_iter()
        .filter(|words| !words.is_empty())
        .collect();
    format!("{}: {}", word(value, id), more.join(", "))
}

/// Returns lines of the draft about the agent's name and version, and about its authentication methods.
fn handshake(given: &AgentProfile, introduction: &AgentIntroduction) -> Vec<String> {
    let mut lines = Vec::new();
    match &introduction.handshake {
        Some(Ok(result)) => {
            let info = &result["agentInfo"];
            let name = [word(info, "name"), word(info, "version")].join(" ");
            let name = match name.trim() {
                "" => "It does not state its name".to_owned(),
                name => format!("It is called `{name}`"),
            };
            let version = result["protocolVersion"].to_text();
            lines.push(comment(&format!("{name}, and answers with version {version}.")));
            if result["protocolVersion"] != 1 {
                lines.push(comment(
                    "Only version 1 is tested: nothing is tested with this version.",
                ));
            }
            let methods = items(result, "authMethods");
            if !methods.is_empty() {
                lines.push(comment("Its authentication methods; `auth` names one of them:"));
            }
            for method in methods {
                let words = described(method, "id");
                lines.push(comment(&words).replacen("# ", "#   ", 1));
            }
            match (&given.auth, methods.first()) {
                (Some(auth), _) => lines.push(format!("auth: {}", quoted(auth))),
                (None, Some(first)) => lines.push(format!("# auth: {}", quoted(word(first, "id")))),
                (None, None) => {}
            }
        }
        Some(Err(why)) => {
            lines.push(comment(&format!("It refused `initialize`: {}", error_words(why))))
        }
        None => {}
    }
    if let Some(why) = &introduction.ended {
        lines.push(comment(&format!("The conversation ended early: {why}")));
    }
    lines
}

/// Returns lines of the draft about the modes and options of a session.
fn session(given: &AgentProfile, introduction: &AgentIntroduction) -> Vec<String> {
    let mut lines = Vec::new();
    let session = match &introduction.session {
        Some(Ok(session)) => session,
        Some(Err(why)) => {
            let words = format!(
                "It created no session: {} (hint: `auth`, `env` or `home`)",
                error_words(why)
            );
            return vec![comment(&words)];
        }
        None => return lines,
    };
    let modes = &session["modes"];
    let now = word(modes, "currentModeId");
    if !items(modes, "availableModes").is_empty() {
        lines.push(comment(
            "Modes of a session; `mode` names one of them, which should ask for permission:",
        ));
    }
    for mode in items(modes, "availableModes") {
        let words = described(mode, "id");
        lines.push(comment(&words).replacen("# ", "#   ", 1));
    }
    match &given.mode {
        Some(mode) => lines.push(format!("mode: {}", quoted(mode))),
        None if !now.is_empty() => {
            lines.push(format!("# mode: {}   # the current mode", quoted(now)))
        }
        None => {}
    }
    let options = items(session, "configOptions");
    if !options.is_empty() {
        lines.push(comment("Options of a session; `options` sets some of them:"));
    }
    for option in options {
        let groups = items(option, "options").iter();
        let values = groups.flat_map(|value| match items(value, "options") {
            [] => std::slice::from_ref(value),
            inner => inner,
        });
        let values: Vec<&str> = values.map(|value| word(value, "value")).collect();
        let now = option["currentValue"].to_text();
        let words = format!("{}: {} (now {now})", word(option, "id"), values.join(" | "));
        lines.push(comment(&words).replacen("# ", "#   ", 1));
    }
    if !given.options.is_empty() {
        lines.push("options:".to_owned());
    }
    for (name, value) in &given.options {
        lines.push(format!("  {}: {}", quoted(name), quoted(value)));
    }
    lines
}

/// Returns lines of the draft about the ways in which scenarios can control the agent.
fn stimulus(introduction: &AgentIntroduction, model: &ModelUse) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(Err(why)) = &introduction.turn {
        lines.push(comment(&format!("Its turn failed: {}", error_words(why))));
    }
    if introduction.turn.is_none() {
        lines.push(comment(
            "No turn was played, so it is not known yet how scenarios can control the agent.",
        ));
        lines.push("stimulus: model".to_owned());
        return lines;
    }
    // Some agents add their own text to the text of the model. An agent that echoes the prompt has not
    // played the script.
    let plays = introduction.said.contains(SAYS) && !introduction.said.contains("ahp-script");
    if model.requests > 0 {
        lines.push(format!(
            "stimulus: model   # it sent {} requests to the stand-in",
            model.requests
        ));
        if !plays {
            lines.push(comment(&format!(
                "Its model said `{SAYS}`, and the agent said: {}",
                introduction.said
            )));
        }
        lines.push(comment(&format!(
            "The tools that it offers its model: {}",
            model.tools.join(", ")
        )));
        let known = ABILITIES.iter().filter(|name| model.classes.iter().any(|it| it == *name));
        let offers: Vec<&str> = known.copied().chain(["mcp", "ask"]).collect();
        lines.push(format!("offers: [{}]", offers.join(", ")));
    } else if plays {
        lines.push("stimulus: script   # it played a script in its prompt".to_owned());
    } else {
        lines.push(comment(
            "It sent no request to the model stand-in, and played no script. If it uses a model, \
             give it the URL of the stand-in: in `env`, `command` or a file of `home`, `{model}` \
             stands for a URL such as http://127.0.0.1:9000 (some agents need `{model}/v1`). Then \
             run `ahp-harness agent profile` with this file.",
        ));
        lines.push(comment(&format!("To `hello` it said: {}", introduction.said)));
        lines.push("stimulus: fixed".to_owned());
        lines.push("prompt: hello".to_owned());
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn introduction(session: Value) -> AgentIntroduction {
        let handshake = json!({
            "protocolVersion": 1, "agentInfo": {"name": "an agent", "version": "2"},
            "authMethods": [{"id": "key", "name": "API\nkey"}],
        });
        AgentIntroduction {
            handshake: Some(Ok(handshake)),
            session: Some(Ok(session)),
            turn: Some(Ok(json!({"stopReason": "end_turn"}))),
            said: SAYS.to_owned(),
            ..AgentIntroduction::default()
        }
    }

    #[test]
    fn a_draft_is_a_profile_with_the_observed_values() {
        let given = AgentProfile::parse(
            "p.yaml",
            "agent: it's\ncommand: \"FOO='{model}' ./a --acp\"\nenv: { K: 'a: \"b\"' }\nmode: ask\n",
        )
        .unwrap();
        let session = json!({
            "sessionId": "s",
            "modes": {"currentModeId": "auto", "availableModes": [{"id": "ask", "name": "Asks"}]},
            "configOptions": [{
                "id": "effort", "currentValue": "low", "options": [{"value": "low"}, {"value": "high"}],
            }],
        });
        let model = ModelUse {
            requests: 2,
            tools: vec!["Bash".to_owned()],
            classes: vec!["shell".to_owned()],
        };
        let text = draft(&given, &introduction(session), &model);
        for part in [
            "`an agent 2`",
            "#   key: API key",
            "# auth: \"key\"",
            "#   ask: Asks",
            "#   effort: low | high (now \"low\")",
            "tools that it offers its model: Bash",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let read = AgentProfile::parse("p.yaml", &text).unwrap();
        assert_eq!(
            (&read.command, &read.env, &read.mode),
            (&given.command, &given.env, &given.mode)
        );
        assert_eq!(read.offers, ["shell", "mcp", "ask"]);
    }

    #[test]
    fn a_draft_quotes_the_errors_of_the_agent() {
        let given = AgentProfile::parse("p.yaml", "agent: a\ncommand: ./a\n").unwrap();
        let refused = json!({"code": (-32000), "message": "log in\nfirst"});
        let mut introduction = introduction(Value::Null);
        (introduction.session, introduction.turn) = (Some(Err(refused)), None);
        introduction.ended = Some("the agent ended (its last words: no key)".to_owned());
        let text = draft(&given, &introduction, &ModelUse::default());
        assert!(text.contains("error -32000: log in first"), "{text}");
        assert!(text.contains("no key") && text.contains("No turn was played"), "{text}");
        assert!(AgentProfile::parse("p.yaml", &text).is_ok(), "{text}");
    }
}
