//! Assigns the lines between a host and its agent to scenarios.
//!
//! The comment in a prompt's script names the scenario (see [`script::case_of`]). From then on, the prompt's session
//! belongs to this scenario, with its updates, requests and responses.
//!
//! Knows: sessions, ids. Never knows: the other content of a line.
//!
//! Start at [`LineRouter::case_of`].

use litemap::LiteMap;

use crate::agent::script;
use crate::wire::json::Value;
use crate::wire::message::{Message, MessageKind};

/// The maximum number of sessions and of open requests that are remembered.
const MAX_REMEMBERED: usize = 10_000;

/// The sessions and requests of one agent.
#[derive(Debug, Default)]
pub struct LineRouter {
    cases: LiteMap<String, String>,
    /// The sessions of open requests by request id, one map for each sender: the host and the agent.
    asked: [LiteMap<String, String>; 2],
}

impl LineRouter {
    /// Returns the scenario to which a line belongs; `None` if the scenario is unknown.
    pub fn case_of(&mut self, from_agent: bool, message: &Message) -> Option<&str> {
        let own = usize::from(from_agent);
        let id = message.id().map(Value::to_text);
        let session = match message.kind() {
            MessageKind::Success | MessageKind::Failure => self.asked[1 - own].remove(&id?)?,
            _ => {
                let session = message.params()["sessionId"].as_str()?.to_owned();
                let room = self.asked[own].len() < MAX_REMEMBERED;
                if let Some(id) = id.filter(|_| room) {
                    self.asked[own].insert(id, session.clone());
                }
                session
            }
        };
        if let Some(case) = prompted(message).filter(|_| self.cases.len() < MAX_REMEMBERED) {
            self.cases.insert(session.clone(), case);
        }
        self.cases.get(&session).map(String::as_str)
    }
}

fn prompted(message: &Message) -> Option<String> {
    let blocks = message.params()["prompt"].as_array()?;
    let texts = blocks.iter().filter_map(|block| block["text"].as_str());
    texts.into_iter().find_map(script::case_of).map(str::to_owned)
}
