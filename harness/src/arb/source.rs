//! The source of a campaign's conversations: the generator for hosts or the generator for agents.
//!
//! Knows: both generators. Never knows: the host or agent that plays a conversation.
//!
//! Start at [`ConversationSource::sequence`].

use super::agents::AgentConversationGenerator;
use super::generate::ConversationGenerator;
use super::generated_sequence::GeneratedSequence;

/// A generator of conversations.
#[derive(Clone, Debug)]
pub enum ConversationSource {
    /// The generator of conversations of clients with a host.
    OfHosts(ConversationGenerator),
    /// The generator of conversations of a client with an agent.
    OfAgents(AgentConversationGenerator),
}

impl ConversationSource {
    /// Returns the conversation with this number, which depends only on the generator's seed and the number.
    pub fn sequence(&self, number: u64) -> Option<GeneratedSequence> {
        match self {
            ConversationSource::OfHosts(generator) => generator.sequence(number),
            ConversationSource::OfAgents(generator) => generator.sequence(number),
        }
    }

    /// Returns the conversation that is generated from this seed.
    pub fn of_seed(&self, seed: u64) -> Option<GeneratedSequence> {
        match self {
            ConversationSource::OfHosts(generator) => generator.of_seed(seed),
            ConversationSource::OfAgents(generator) => generator.of_seed(seed),
        }
    }
}
