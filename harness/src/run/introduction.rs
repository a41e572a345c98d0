//! Holds a short conversation with an agent (a handshake, a session, and a turn whose prompt is a script), to find out
//! what the agent offers.
//!
//! Knows: the methods of ACP that a client calls. Never knows: the use of the answers.
//!
//! Start at [`introduce`].

use std::time::Duration;

use crate::transport::link::LinkEndpoint;
use crate::wire::json::{Value, json};

use super::agent_link::{AgentLink, RequestUnanswered};
use super::side::AgentSide;

/// The text that an agent says if it plays the script in the prompt.
pub const SAYS: &str = "ahp-plays-scripts";

/// The answers of the agent.
#[derive(Clone, Debug, Default)]
pub struct AgentIntroduction {
    /// The answer to `initialize`: the result, or the error.
    pub handshake: Option<Result<Value, Value>>,
    /// The answer to `session/new`.
    pub session: Option<Result<Value, Value>>,
    /// The answer to `session/prompt`.
    pub turn: Option<Result<Value, Value>>,
    /// The text that the agent sent in its updates.
    pub said: String,
    /// The reason why the conversation ended early. If the agent gave a reason, this is the agent's own text.
    pub ended: Option<String>,
}

/// Holds the conversation with an agent and then stops the agent.
pub async fn introduce(
    endpoint: &LinkEndpoint,
    side: &AgentSide,
    limit: Duration,
) -> AgentIntroduction {
    let mut introduction = AgentIntroduction::default();
    let mut link = match AgentLink::open(endpoint, limit).await {
        Ok(link) => link,
        Err(why) => {
            introduction.ended = Some(why);
            return introduction;
        }
    };
    if let Err((method, why)) = converse(&mut link, side, &mut introduction).await {
        introduction.ended = Some(match why {
            RequestUnanswered::Ended(reason) => reason,
            RequestUnanswered::Late => format!("`{method}` was not answered within {limit:?}"),
        });
    }
    introduction.said = std::mem::take(&mut link.text);
    link.close().await;
    introduction
}

/// Sends one request after another. Stops early if an answer makes the next request impossible.
///
/// # Errors
/// Returns the method of the unanswered request, and the reason.
async fn converse(
    link: &mut AgentLink,
    side: &AgentSide,
    introduction: &mut AgentIntroduction,
) -> Result<(), (&'static str, RequestUnanswered)> {
    let params = json!({"protocolVersion": 1, "clientCapabilities": {}});
    introduction.handshake = Some(ask(link, "initialize", params).await?);
    if let Some(method) = &side.auth {
        let params = json!({"methodId": (method.as_str())});
        if let Err(error) = ask(link, "authenticate", params).await? {
            introduction.session = Some(Err(error));
            return Ok(());
        }
    }
    let params = json!({"cwd": (side.work.as_str()), "mcpServers": []});
    let session = ask(link, "session/new", params).await?;
    introduction.session = Some(session.clone());
    let Some(id) = session.ok().map(|session| session["sessionId"].clone()) else { return Ok(()) };
    let prompt = json!([{"type": "text", "text": (format!("ahp-script: 1\nsay \"{SAYS}\""))}]);
    let params = json!({"sessionId": id, "prompt": prompt});
    introduction.turn = Some(ask(link, "session/prompt", params).await?);
    Ok(())
}

async fn ask(
    link: &mut AgentLink,
    method: &'static str,
    params: Value,
) -> Result<Result<Value, Value>, (&'static str, RequestUnanswered)> {
    link.ask(method, params).await.map_err(|why| (method, why))
}
