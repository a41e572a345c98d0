//! Who draws the conversations of a campaign: the generator for hosts or the one for agents.
//!
//! Knows: both generators. Never knows: what is played with what they draw.
//!
//! Start at [`ConversationSource::sequence`].

use super::agents::AgentConversationGenerator;
use super::generate::{ConversationGenerator, DrawnSequence};

/// Who draws conversations.
#[derive(Clone, Debug)]
pub enum ConversationSource {
    /// Conversations of clients with a host.
    OfHosts(ConversationGenerator),
    /// Conversations of a client with an agent.
    OfAgents(AgentConversationGenerator),
}

impl ConversationSource {
    /// The conversation of that number: the same seed and number, the same conversation.
    pub fn sequence(&self, number: u64) -> Option<DrawnSequence> {
        match self {
            ConversationSource::OfHosts(generator) => generator.sequence(number),
            ConversationSource::OfAgents(generator) => generator.sequence(number),
        }
    }

    /// The conversation of a seed of its own.
    pub fn of_seed(&self, seed: u64) -> Option<DrawnSequence> {
        match self {
            ConversationSource::OfHosts(generator) => generator.of_seed(seed),
            ConversationSource::OfAgents(generator) => generator.of_seed(seed),
        }
    }
}
