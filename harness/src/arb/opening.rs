//! The openings of conversations: connections, a session, and what a theme needs besides.
//!
//! Knows: the openings of themes. Never knows: the moves that follow.
//!
//! Start at [`open`].

use crate::wire::channel::ChannelKind;
use crate::wire::json::json;

use super::act;
use super::ask;
use super::draw::ConversationDraw;
use super::drawn_action::FOLDERS;
use super::files;
use super::themes::ConversationOpening;
use super::{subscribe, talk};

/// Plays the opening of a conversation.
pub(super) fn open(draw: &mut ConversationDraw, opening: ConversationOpening) -> Option<()> {
    let mut config = json!({});
    match opening {
        ConversationOpening::Session
        | ConversationOpening::Changes
        | ConversationOpening::Files
        | ConversationOpening::Terminals
        | ConversationOpening::Turns => {}
        ConversationOpening::Folders => config["workingDirectories"] = json!(FOLDERS[..2]),
        ConversationOpening::Plugins => {
            let capabilities = json!({"capabilities": {"mcpApps": {}}});
            draw.put(json!({"connect": {"by": ["A", "B"]}}))?;
            draw.put(json!({"initialize": {"by": ["A", "B"], "params": capabilities}}))?;
        }
        ConversationOpening::Automations => {
            let channels = json!(["ahp-root://"]);
            draw.put(json!({"connect": {"by": ["A", "B"]}}))?;
            draw.put(json!({"initialize": {"by": ["A", "B"], "subscribe": channels}}))?;
            let step = json!({"subscribe": {"by": ["A", "B"], "channel": "ahp-automations://"}});
            draw.put(step)?;
            let channels = draw.channels(ChannelKind::Automations);
            let new = &["automation/createRequested"];
            act::dispatch_on(draw, ChannelKind::Automations, &channels, new, 0);
            return Some(());
        }
        ConversationOpening::Handshake => {
            draw.put(json!({"connect": {"by": ["A", "B"]}}))?;
            let mut members = json!({"by": ["A", "B"], "subscribe": ["ahp-root://"]});
            match draw.dice.below(3) {
                0 => members["tokens"] = json!(false),
                1 => members = json!({"by": ["A", "B"]}),
                _ => {}
            }
            draw.put(json!({"initialize": members}))?;
            if draw.dice.chance(50) {
                return Some(());
            }
        }
    }
    let root = draw.dice.chance(50);
    let mut members = json!({"by": ["A", "B"], "root": root});
    if config != json!({}) {
        members["config"] = config;
    }
    let passed = draw.put(json!({"open": members}))?;
    draw.hear(&passed);
    draw.pause();
    match opening {
        ConversationOpening::Changes => changes(draw)?,
        ConversationOpening::Files => files::prepare(draw)?,
        ConversationOpening::Turns => {
            for _ in 0..2 + draw.dice.below(3) {
                talk::say(draw)?;
                draw.pause();
            }
        }
        ConversationOpening::Terminals => {
            ask::ask(draw, |it| it == "createTerminal");
            for (uri, _) in draw.channels(ChannelKind::Terminal) {
                subscribe::follow(draw, "A", &uri)?;
                subscribe::follow(draw, "B", &uri)?;
            }
        }
        _ => {}
    }
    Some(())
}

/// Lets an agent change two files, and subscribes a client to the changeset.
fn changes(draw: &mut ConversationDraw) -> Option<()> {
    let tag = draw.tag();
    let script = format!("tool write \"one.txt\\none {tag}\"\ntool write \"two.txt\\ntwo {tag}\"");
    draw.act(json!({"turn": {"by": "A", "id": "t0", "script": script}}), |_, _| None)?;
    draw.pause();
    let all = draw.channels(ChannelKind::Changeset);
    let (uri, _) = draw.dice.pick(&all)?.clone();
    subscribe::follow(draw, "A", &uri)?;
    Some(())
}
