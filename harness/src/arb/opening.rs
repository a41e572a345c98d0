//! The openings of conversations: connections, a session, and what a theme needs besides.
//!
//! Knows: the openings of themes. Never knows: the moves that follow.
//!
//! Start at [`open`].

use crate::wire::channel::ChannelKind;
use crate::wire::json::json;

use super::act;
use super::ask;
use super::builder::ConversationBuilder;
use super::files;
use super::generated_action::FOLDERS;
use super::themes::ConversationOpening;
use super::{subscribe, turn_moves};

/// Plays the opening of a conversation.
pub(super) fn open(builder: &mut ConversationBuilder, opening: ConversationOpening) -> Option<()> {
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
            builder.put(json!({"connect": {"by": ["A", "B"]}}))?;
            builder.put(json!({"initialize": {"by": ["A", "B"], "params": capabilities}}))?;
        }
        ConversationOpening::Automations => {
            let channels = json!(["ahp-root://"]);
            builder.put(json!({"connect": {"by": ["A", "B"]}}))?;
            builder.put(json!({"initialize": {"by": ["A", "B"], "subscribe": channels}}))?;
            let step = json!({"subscribe": {"by": ["A", "B"], "channel": "ahp-automations://"}});
            builder.put(step)?;
            let channels = builder.channels(ChannelKind::Automations);
            let new = &["automation/createRequested"];
            act::dispatch_on(builder, ChannelKind::Automations, &channels, new, 0);
            return Some(());
        }
        ConversationOpening::Handshake => {
            builder.put(json!({"connect": {"by": ["A", "B"]}}))?;
            let mut members = json!({"by": ["A", "B"], "subscribe": ["ahp-root://"]});
            match builder.dice.below(3) {
                0 => members["tokens"] = json!(false),
                1 => members = json!({"by": ["A", "B"]}),
                _ => {}
            }
            builder.put(json!({"initialize": members}))?;
            if builder.dice.chance(50) {
                return Some(());
            }
        }
    }
    let root = builder.dice.chance(50);
    let mut members = json!({"by": ["A", "B"], "root": root});
    if config != json!({}) {
        members["config"] = config;
    }
    let passed = builder.put(json!({"open": members}))?;
    builder.hear(&passed);
    builder.pause();
    match opening {
        ConversationOpening::Changes => changes(builder)?,
        ConversationOpening::Files => files::prepare(builder)?,
        ConversationOpening::Turns => {
            for _ in 0..2 + builder.dice.below(3) {
                turn_moves::say(builder)?;
                builder.pause();
            }
        }
        ConversationOpening::Terminals => {
            ask::ask(builder, |it| it == "createTerminal");
            for (uri, _) in builder.channels(ChannelKind::Terminal) {
                subscribe::follow(builder, "A", &uri)?;
                subscribe::follow(builder, "B", &uri)?;
            }
        }
        _ => {}
    }
    Some(())
}

/// Lets an agent change two files, and subscribes a client to the changeset.
fn changes(builder: &mut ConversationBuilder) -> Option<()> {
    let tag = builder.tag();
    let script = format!("tool write \"one.txt\\none {tag}\"\ntool write \"two.txt\\ntwo {tag}\"");
    builder.act(json!({"turn": {"by": "A", "id": "t0", "script": script}}), |_, _| None)?;
    builder.pause();
    let all = builder.channels(ChannelKind::Changeset);
    let (uri, _) = builder.dice.pick(&all)?.clone();
    subscribe::follow(builder, "A", &uri)?;
    Some(())
}
