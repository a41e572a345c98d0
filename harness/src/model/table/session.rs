//! The actions of the session channel.

use super::{Row, assigned, flagged, replace, upsert};
use crate::model::payload::Shape;
use crate::model::status::{IS_ARCHIVED, IS_READ};
use crate::model::{NoOp, customization, root, session, working_directory};

use super::Effect::{Remove, Run};

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = super::row_list! {
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
};
