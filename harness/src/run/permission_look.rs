//! Determines with a short conversation whether an agent asks for permission. Some agents ask only if the
//! client offers files and terminals, others only in one of their modes or with one of their options.
//!
//! Knows: the methods of ACP that a client calls. Never knows: how the agent is started, which settings are tried.
//!
//! Start at [`asks_for_permission`].

use std::time::Duration;

use crate::agent::script::HEADER;
use crate::peer::serving::AgentOffers;
use crate::transport::link::LinkEndpoint;
use crate::wire::json::{Value, json};

use super::agent_facts::AgentFacts;
use super::agent_link::{AgentLink, RequestUnanswered};
use super::side::{AgentSide, AskingSetup};

/// The script of the prompt: a command that creates a marker file in the session's new folder. Many agents do
/// not ask for permission for commands that change nothing.
const SCRIPT: &str = "tool shell \"echo ahp > ahp-marker\" confirm";
/// The maximum number of session modes that are tried in addition to the initial mode.
const MAX_MODES: usize = 5;
/// The maximum number of values of session options that are tried.
const MAX_OPTIONS: usize = 6;

/// Returns the combinations of client capabilities, session mode and option to try, one after another until the agent
/// asks for permission. Combinations that most often make agents ask come first. `facts` lists the modes and options
/// that the agent offers.
pub fn ways(facts: &AgentFacts) -> Vec<AskingSetup> {
    let offers = [AgentOffers::Nothing, AgentOffers::FsTerminal, AgentOffers::All, AgentOffers::Fs];
    let way = |offers: AgentOffers| AskingSetup {
        offers: offers.word().to_owned(),
        ..AskingSetup::default()
    };
    let usual = way(AgentOffers::FsTerminal);
    let modes = facts.modes().into_iter().take(MAX_MODES);
    let modes = modes.map(|mode| AskingSetup { mode: Some(mode), ..usual.clone() });
    let options = facts.other_values().into_iter().take(MAX_OPTIONS);
    let options = options.map(|option| AskingSetup { option: Some(option), ..usual.clone() });
    offers.iter().map(|offers| way(*offers)).chain(modes).chain(options).collect()
}

/// Holds the conversation and then stops the agent. Returns whether the agent asked for permission. Agents that cannot
/// follow scripts get `prompt`.
///
/// # Errors
/// Returns the reason if the conversation did not complete.
pub async fn asks_for_permission(
    endpoint: &LinkEndpoint,
    side: &AgentSide,
    way: &AskingSetup,
    prompt: Option<&str>,
    limit: Duration,
) -> Result<bool, String> {
    let mut link = AgentLink::open(endpoint, limit).await?;
    let talked = converse(&mut link, side, way, prompt).await;
    let asked = link.asked;
    link.close().await;
    match talked {
        // If the agent has asked for permission, it may wait forever for the answer, so it does not matter how the
        // conversation ended.
        _ if asked => Ok(true),
        Ok(()) => Ok(false),
        Err(RequestUnanswered::Ended(reason)) => Err(reason),
        Err(RequestUnanswered::Late) => Err(format!("no answer within {limit:?}")),
    }
}

async fn converse(
    link: &mut AgentLink,
    side: &AgentSide,
    way: &AskingSetup,
    prompt: Option<&str>,
) -> Result<(), RequestUnanswered> {
    let offers = AgentOffers::named(&way.offers).unwrap_or_default();
    let params = json!({"protocolVersion": 1, "clientCapabilities": (offers.capabilities())});
    let _ = link.ask("initialize", params).await?;
    if let Some(method) = &side.auth {
        let _ = link.ask("authenticate", json!({"methodId": (method.as_str())})).await?;
    }
    let params = json!({"cwd": (side.work.as_str()), "mcpServers": []});
    let Ok(session) = link.ask("session/new", params).await? else { return Ok(()) };
    let id = session["sessionId"].clone();
    if let Some(mode) = way.mode.as_ref().or(side.mode.as_ref()) {
        let params = json!({"sessionId": (id.clone()), "modeId": (mode.as_str())});
        let _ = link.ask("session/set_mode", params).await?;
    }
    for (option, value) in side.options.iter().chain(&way.option) {
        let params = json!({"sessionId": (id.clone()), "configId": (option.as_str()), "value": (value.as_str())});
        let _ = link.ask("session/set_config_option", params).await?;
    }
    let script = format!("{HEADER}\n{SCRIPT}");
    let text = prompt.unwrap_or(&script);
    let params = json!({"sessionId": id, "prompt": [{"type": "text", "text": text}]});
    let _: Result<Value, Value> = link.ask("session/prompt", params).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_is_tried_once_and_other_modes_and_options_come_last() {
        let session = json!({
            "modes": {"currentModeId": "auto", "availableModes": [{"id": "plan"}]},
            "configOptions": [
                {"id": "model", "category": "model", "currentValue": "a", "options": [{"value": "a"}, {"value": "b"}]},
                {"id": "effort", "currentValue": "low", "options": [{"value": "low"}, {"value": "high"}]},
                {"id": "approval", "category": "mode", "currentValue": "never", "options": [
                    {"value": "never"}, {"value": "ask"},
                ]},
            ],
        });
        let ways = ways(&AgentFacts { capabilities: Value::Null, session });
        let first = AskingSetup { offers: "nothing".to_owned(), ..AskingSetup::default() };
        assert_eq!(ways.first(), Some(&first));
        let last: Vec<_> =
            ways.iter().skip(4).map(|way| (way.mode.as_deref(), way.option.clone())).collect();
        let option = |id: &str, value: &str| Some((id.to_owned(), value.to_owned()));
        let expected = [
            (Some("plan"), None),
            (None, option("approval", "ask")),
            (None, option("effort", "high")),
        ];
        assert_eq!(last, expected);
    }
}
