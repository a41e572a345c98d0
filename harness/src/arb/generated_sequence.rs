//! A generated conversation with the log of its moves, and the steps that end it.
//!
//! Knows: drafts, channels. Never knows: the moves of the conversation.
//!
//! Start at [`GeneratedSequence`].

use crate::wire::channel::ChannelKind;
use crate::wire::json::json;

use super::builder::ConversationBuilder;
use super::draft::ScenarioDraft;
use super::observe;
use super::step_result::ActionLogEntry;

/// A generated conversation, and the log of its moves.
#[derive(Clone, Debug)]
pub struct GeneratedSequence {
    /// The seed of the conversation, from which the conversation can be generated again.
    pub seed: u64,
    /// The draft to play.
    pub draft: ScenarioDraft,
    /// The moves and their results on the stage.
    pub told: Vec<ActionLogEntry>,
    /// Whether the conversation is complete. A conversation is incomplete if the stage could not play a step.
    pub whole: bool,
}

/// The maximum number of channels of each kind whose states are compared at the end of a conversation. All
/// conversations share the automations, so the runs of automations may not have ended.
const LOOKED_AT: &[(ChannelKind, usize)] = &[
    (ChannelKind::Session, 3),
    (ChannelKind::Chat, 3),
    (ChannelKind::Terminal, 1),
    (ChannelKind::Changeset, 2),
    (ChannelKind::Annotations, 1),
    (ChannelKind::Canvas, 1),
];

/// Plays the end of a conversation: the host becomes idle, and a new observer takes snapshots of the channels.
pub(super) fn close(builder: &mut ConversationBuilder) {
    if builder.broken {
        return;
    }
    builder.pause();
    builder.put(json!({"rest": {"for": "1200ms"}}));
    if let Some(by) = builder.present().first().cloned() {
        builder.barrier(&by);
        builder.put(json!({"request": {
            "by": by, "method": "ping", "result": true, "proves": "security.no-crash-fuzz",
        }}));
    }
    for (kind, most) in LOOKED_AT {
        for (uri, _) in builder.channels(*kind).into_iter().take(*most) {
            observe::look(builder, Some(uri));
        }
    }
}

/// Returns the finished conversation; `None` if its steps are not a valid scenario, for example because no client is
/// connected at the end and there is no expectation.
pub(super) fn finished(
    builder: ConversationBuilder,
    seed: u64,
    title: &str,
    told: Vec<ActionLogEntry>,
) -> Option<GeneratedSequence> {
    let whole = !builder.broken;
    let draft = builder.draft(&format!("fuzz/{seed:016x}"), title);
    draft.scenario().ok()?;
    Some(GeneratedSequence { seed, draft, told, whole })
}
