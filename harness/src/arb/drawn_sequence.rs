//! A generated conversation with the log of its moves, and the steps that end it.
//!
//! Knows: drafts, channels. Never knows: the moves of the conversation.
//!
//! Start at [`DrawnSequence`].

use crate::wire::channel::ChannelKind;
use crate::wire::json::json;

use super::draft::ScenarioDraft;
use super::draw::ConversationDraw;
use super::observe;
use super::step_result::ActionLogEntry;

/// A generated conversation, and the log of its moves.
#[derive(Clone, Debug)]
pub struct DrawnSequence {
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
pub(super) fn close(draw: &mut ConversationDraw) {
    if draw.broken {
        return;
    }
    draw.pause();
    draw.put(json!({"rest": {"for": "1200ms"}}));
    if let Some(by) = draw.present().first().cloned() {
        draw.barrier(&by);
        draw.put(json!({"request": {
            "by": by, "method": "ping", "result": true, "proves": "security.no-crash-fuzz",
        }}));
    }
    for (kind, most) in LOOKED_AT {
        for (uri, _) in draw.channels(*kind).into_iter().take(*most) {
            observe::look(draw, Some(uri));
        }
    }
}

/// Returns the finished conversation; `None` if its steps are not a valid scenario, for example because no client is
/// connected at the end and there is no expectation.
pub(super) fn finished(
    draw: ConversationDraw,
    seed: u64,
    title: &str,
    told: Vec<ActionLogEntry>,
) -> Option<DrawnSequence> {
    let whole = !draw.broken;
    let draft = draw.draft(&format!("fuzz/{seed:016x}"), title);
    draft.scenario().ok()?;
    Some(DrawnSequence { seed, draft, told, whole })
}
