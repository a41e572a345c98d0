//! The table of actions: one row each, with its channel, the version and what it does.
//!
//! A row holds from its `since` on, until a later row of the same action takes over; the newest row
//! that is not above the negotiated version is the one that counts. The rows here begin at 0.9.0,
//! the oldest version whose reducers are covered: an action that is older has that number all the
//! same, because earlier reducers read the wall clock and other payloads.
//!
//! Knows: the reducers of each channel. Never knows: who may send an action.
//!
//! Start at [`ROWS`].

use std::collections::HashMap;
use std::sync::OnceLock;

use crate::wire::json::Value;

use crate::wire::channel::ChannelKind;
use crate::wire::version::Version;

use super::payload::{self, Object, Reduced, Shape, assign, optional, required};
use super::status::{self, IS_ARCHIVED, IS_READ};
use super::{NoOp, chat, customization, input, list, pending, root, session};
use super::{tool_step, turn, working_directory};

/// What one type of action does to the state of its channel.
#[derive(Debug)]
pub struct Row {
    /// The `type`, such as `chat/delta`.
    pub action_type: &'static str,
    /// The kind of channel it belongs to.
    pub channel: ChannelKind,
    /// First version for which the row holds.
    pub since: Version,
    /// What it does.
    pub effect: Effect,
}

/// How a state changes. The plain ways are data, the others a function.
#[derive(Debug)]
pub enum Effect {
    /// The action's required member becomes the state's.
    Replace {
        /// Member of the action.
        from: &'static str,
        /// Member of the state.
        to: &'static str,
        /// What it has to be.
        shape: Shape,
    },
    /// The member becomes the state's of the same name; absent, it is cleared.
    Assign {
        /// Member of both.
        member: &'static str,
        /// What it has to be.
        shape: Shape,
    },
    /// A boolean member sets or clears a bit of the status.
    Flag {
        /// Member of the action.
        member: &'static str,
        /// Bit of the status.
        bit: u64,
    },
    /// The action's object replaces the entry with the same key in place, or is appended.
    Upsert {
        /// Array of the state.
        list: &'static str,
        /// Member of the action.
        entry: &'static str,
        /// String that identifies an entry.
        key: &'static str,
    },
    /// The entry with that key goes; the array stays when it becomes empty.
    Remove {
        /// Array of the state.
        list: &'static str,
        /// String that identifies an entry.
        key: &'static str,
        /// Member of the action that names it.
        by: &'static str,
        /// What it means when there is none.
        missing: NoOp,
    },
    /// Anything else.
    Run(fn(&mut Object, &Object) -> Reduced),
}

impl Effect {
    /// Changes the state, or leaves it untouched and says why.
    pub(super) fn run(&self, state: &mut Value, action: &Object) -> Reduced {
        let state = state.as_object_mut().ok_or(NoOp::MalformedState)?;
        match *self {
            Effect::Replace { from, to, shape } => {
                assign(state, to, Some(required(action, from, shape)?));
                Ok(())
            }
            Effect::Assign { member, shape } => {
                assign(state, member, optional(action, member, shape)?);
                Ok(())
            }
            Effect::Flag { member, bit } => status::set_flag(state, action, member, bit),
            Effect::Upsert { list, entry, key } => {
                let wanted = payload::key_of(action, entry, key)?;
                let value = required(action, entry, Shape::Object)?;
                list::upsert(state, list, key, wanted, value.clone())
            }
            Effect::Remove { list, key, by, missing } => {
                let unwanted = payload::text(action, by)?;
                let items = list::existing(state, list)?.ok_or(missing)?;
                if list::remove(items, key, unwanted) { Ok(()) } else { Err(missing.into()) }
            }
            Effect::Run(reduce) => reduce(state, action),
        }
    }
}

/// The row that holds for an action in a version, or `None` where the version has no such action.
pub fn find(version: Version, action_type: &str) -> Option<&'static Row> {
    static INDEX: OnceLock<HashMap<&'static str, Vec<&'static Row>>> = OnceLock::new();
    let index = INDEX.get_or_init(|| {
        let mut index: HashMap<_, Vec<_>> = HashMap::new();
        for row in ROWS {
            index.entry(row.action_type).or_default().push(row);
        }
        index
    });
    let rows = index.get(action_type)?.iter().copied();
    rows.filter(|row| row.since <= version).max_by_key(|row| row.since)
}

const V0_9: Version = Version::new(0, 9, 0);
const V1_0: Version = Version::new(1, 0, 0);

const fn replace(from: &'static str, to: &'static str, shape: Shape) -> Effect {
    Effect::Replace { from, to, shape }
}

const fn assigned(member: &'static str, shape: Shape) -> Effect {
    Effect::Assign { member, shape }
}

const fn flagged(member: &'static str, bit: u64) -> Effect {
    Effect::Flag { member, bit }
}

const fn upsert(list: &'static str, entry: &'static str, key: &'static str) -> Effect {
    Effect::Upsert { list, entry, key }
}

macro_rules! rows {
    ($($channel:ident $since:ident $action_type:literal $effect:expr;)*) => {
        &[$(Row {
            action_type: $action_type,
            channel: ChannelKind::$channel,
            since: $since,
            effect: $effect,
        }),*]
    };
}

use Effect::{Remove, Run};

/// Every action of the root, session and chat channels.
///
/// The version is that of the first published crate that knows the action. The registry of the
/// specification dates some of the 1.0.0 rows earlier, but no 0.9.0 peer can read them.
#[rustfmt::skip]
pub const ROWS: &[Row] = rows! {
    Root V0_9 "root/agentsChanged" replace("agents", "agents", Shape::List);
    Root V0_9 "root/activeSessionsChanged"
        replace("activeSessions", "activeSessions", Shape::Integer);
    Root V0_9 "root/terminalsChanged" replace("terminals", "terminals", Shape::List);
    Root V0_9 "root/configChanged" Run(root::config_changed);

    Session V0_9 "session/ready" Run(session::ready);
    Session V0_9 "session/creationFailed" Run(session::creation_failed);
    Session V0_9 "session/titleChanged" replace("title", "title", Shape::Text);
    Session V0_9 "session/isReadChanged" flagged("isRead", IS_READ);
    Session V0_9 "session/isArchivedChanged" flagged("isArchived", IS_ARCHIVED);
    Session V0_9 "session/activityChanged" assigned("activity", Shape::Text);
    Session V0_9 "session/metaChanged" assigned("_meta", Shape::Object);
    Session V0_9 "session/configChanged" Run(root::config_changed);
    Session V0_9 "session/serverToolsChanged" replace("tools", "serverTools", Shape::List);
    Session V0_9 "session/changesetsChanged" assigned("changesets", Shape::List);
    Session V0_9 "session/chatAdded" upsert("chats", "summary", "resource");
    Session V0_9 "session/chatRemoved" Run(session::chat_removed);
    Session V0_9 "session/chatUpdated" Run(session::chat_updated);
    Session V1_0 "session/chatsReordered" Run(session::chats_reordered);
    Session V0_9 "session/defaultChatChanged" assigned("defaultChat", Shape::Text);
    Session V0_9 "session/activeClientSet" upsert("activeClients", "activeClient", "clientId");
    Session V0_9 "session/activeClientRemoved" Remove {
        list: "activeClients", key: "clientId", by: "clientId", missing: NoOp::UnknownClient,
    };
    Session V0_9 "session/workingDirectorySet" Run(working_directory::set);
    Session V0_9 "session/workingDirectoryRemoved" Run(working_directory::removed);
    Session V0_9 "session/workingDirectoryReplaced" Run(working_directory::replaced);
    Session V0_9 "session/inputNeededSet" Run(session::input_needed_set);
    Session V0_9 "session/inputNeededRemoved" Run(session::input_needed_removed);
    Session V0_9 "session/customizationsChanged"
        replace("customizations", "customizations", Shape::List);
    Session V0_9 "session/customizationUpdated" upsert("customizations", "customization", "id");
    Session V0_9 "session/customizationToggled" Run(customization::toggled);
    Session V0_9 "session/customizationRemoved" Run(customization::removed);
    Session V0_9 "session/mcpServerStateChanged" Run(customization::mcp_state_changed);
    Session V0_9 "session/mcpServerStartRequested" Run(customization::mcp_start_requested);
    Session V0_9 "session/mcpServerStopRequested" Run(customization::mcp_stop_requested);
    Session V1_0 "session/mcpServerBackgroundRequested"
        Run(customization::mcp_background_requested);

    Chat V0_9 "chat/turnStarted" Run(turn::started);
    Chat V0_9 "chat/turnComplete" Run(turn::complete);
    Chat V0_9 "chat/turnCancelled" Run(turn::cancelled);
    Chat V0_9 "chat/error" Run(turn::error);
    Chat V0_9 "chat/turnResume" Run(turn::resume);
    Chat V0_9 "chat/truncated" Run(turn::truncated);
    Chat V0_9 "chat/turnsLoaded" Run(turn::loaded);
    Chat V0_9 "chat/delta" Run(chat::delta);
    Chat V0_9 "chat/reasoning" Run(chat::reasoning);
    Chat V0_9 "chat/responsePart" Run(chat::response_part);
    Chat V0_9 "chat/usage" Run(chat::usage);
    Chat V0_9 "chat/toolCallStart" Run(tool_step::reduce);
    Chat V0_9 "chat/toolCallDelta" Run(tool_step::reduce);
    Chat V0_9 "chat/toolCallReady" Run(tool_step::reduce);
    Chat V0_9 "chat/toolCallConfirmed" Run(tool_step::reduce);
    Chat V0_9 "chat/toolCallContentChanged" Run(tool_step::reduce);
    Chat V0_9 "chat/toolCallAuthRequired" Run(tool_step::reduce);
    Chat V0_9 "chat/toolCallAuthResolved" Run(tool_step::reduce);
    Chat V0_9 "chat/toolCallComplete" Run(tool_step::reduce);
    Chat V0_9 "chat/toolCallResultConfirmed" Run(tool_step::reduce);
    Chat V0_9 "chat/inputRequested" Run(input::requested);
    Chat V0_9 "chat/inputAnswerChanged" Run(input::answer_changed);
    Chat V0_9 "chat/inputCompleted" Run(input::completed);
    Chat V0_9 "chat/pendingMessageSet" Run(pending::set);
    Chat V0_9 "chat/pendingMessageRemoved" Run(pending::removed);
    Chat V0_9 "chat/queuedMessagesReordered" Run(pending::reordered);
    Chat V0_9 "chat/draftChanged" assigned("draft", Shape::Object);
    Chat V0_9 "chat/activityChanged" assigned("activity", Shape::Text);
    Chat V0_9 "chat/workingDirectorySet" Run(working_directory::set);
    Chat V0_9 "chat/workingDirectoryRemoved" Run(working_directory::removed);
    Chat V1_0 "chat/isReadChanged" flagged("isRead", IS_READ);
    Chat V1_0 "chat/isArchivedChanged" flagged("isArchived", IS_ARCHIVED);
    Chat V1_0 "chat/movableChanged" replace("movable", "movable", Shape::Flag);
    Chat V1_0 "chat/changesetsChanged" assigned("changesets", Shape::List);
    Chat V1_0 "chat/canvasesChanged" assigned("canvases", Shape::List);
    Chat V1_0 "chat/backgroundWorkSet" upsert("backgroundWork", "work", "id");
    Chat V1_0 "chat/backgroundWorkRemoved" Remove {
        list: "backgroundWork", key: "id", by: "id", missing: NoOp::UnknownWork,
    };
};
