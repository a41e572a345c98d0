//! The actions of the session channel.
//!
//! Up to 0.3.0 a session has no chats and contains the turns itself; the actions on these turns are in
//! [`OWN_TURNS`]. Up to 0.4.0 the `summary` of a session contains title, status and times.

use super::{ReductionRow, assigned, flagged, replace, upsert};
use crate::model::payload::PayloadShape;
use crate::model::status::{IS_ARCHIVED, IS_READ};
use crate::model::{NoOp, customization, root, session, working_directory};
use crate::model::{chat, input_list, pending, tool_step, turn};

use super::ActionEffect::{In, InSummary, Remove, Run, Stamped};

#[rustfmt::skip]
pub(super) const ROWS: &[ReductionRow] = super::row_list! {
    Session V1 "session/ready" In(session::ready_anew);
    Session V0_2 "session/ready" Run(session::ready);
    Session V1 "session/creationFailed" Run(session::creation_failed_before);
    Session V0_9 "session/creationFailed" Run(session::creation_failed);
    Session V1 "session/titleChanged"
        Stamped(&InSummary(&replace("title", "title", PayloadShape::Text)));
    Session V0_5 "session/titleChanged" replace("title", "title", PayloadShape::Text);
    Session V1..V0_5 "session/modelChanged"
        Stamped(&InSummary(&replace("model", "model", PayloadShape::Object)));
    Session V0_2..V0_5 "session/agentChanged"
        Stamped(&InSummary(&assigned("agent", PayloadShape::Object)));
    Session V1 "session/isReadChanged" InSummary(&flagged("isRead", IS_READ));
    Session V1 "session/isArchivedChanged" InSummary(&flagged("isArchived", IS_ARCHIVED));
    Session V1 "session/activityChanged" InSummary(&assigned("activity", PayloadShape::Text));
    Session V1 "session/metaChanged" assigned("_meta", PayloadShape::Object);
    Session V1 "session/configChanged" Stamped(&Run(root::config_changed));
    Session V0_5 "session/configChanged" Run(root::config_changed);
    Session V1 "session/serverToolsChanged" replace("tools", "serverTools", PayloadShape::List);
    Session V1..V0_2 "session/diffsChanged" InSummary(&replace("diffs", "diffs", PayloadShape::List));
    Session V0_2 "session/changesetsChanged" InSummary(&assigned("changesets", PayloadShape::List));
    Session V0_3 "session/changesetsChanged" assigned("changesets", PayloadShape::List);
    Session V0_4 "session/chatAdded" upsert("chats", "summary", "resource");
    Session V0_4 "session/chatRemoved" Run(session::chat_removed);
    Session V0_4 "session/chatUpdated" Run(session::chat_updated);
    Session V1_0 "session/chatsReordered" Run(session::chats_reordered);
    Session V0_4 "session/defaultChatChanged" assigned("defaultChat", PayloadShape::Text);
    Session V1..V0_5 "session/activeClientChanged" assigned("activeClient", PayloadShape::Object);
    Session V1..V0_5 "session/activeClientToolsChanged" Run(session::client_tools);
    Session V0_5 "session/activeClientSet" upsert("activeClients", "activeClient", "clientId");
    Session V0_5 "session/activeClientRemoved" Remove {
        list: "activeClients", key: "clientId", by: "clientId", missing: NoOp::UnknownClient,
    };
    Session V0_7 "session/workingDirectorySet" Run(working_directory::set);
    Session V0_7 "session/workingDirectoryRemoved" Run(working_directory::removed);
    Session V0_8 "session/workingDirectoryReplaced" Run(working_directory::replaced);
    Session V0_5_1 "session/inputNeededSet" In(session::input_needed_set);
    Session V0_5_1 "session/inputNeededRemoved" In(session::input_needed_removed);
    Session V1 "session/customizationsChanged"
        replace("customizations", "customizations", PayloadShape::List);
    Session V0_1 "session/customizationUpdated" Run(customization::updated_by_uri);
    Session V0_2 "session/customizationUpdated" upsert("customizations", "customization", "id");
    Session V1 "session/customizationToggled" Run(customization::toggled_by_uri);
    Session V0_2 "session/customizationToggled" Run(customization::switched_at_top);
    Session V0_5_2 "session/customizationToggled" Run(customization::switched);
    Session V0_8 "session/customizationToggled" Run(customization::toggled);
    Session V0_2 "session/customizationRemoved" Run(customization::removed);
    Session V0_3 "session/mcpServerStateChanged" Run(customization::mcp_state_changed);
    Session V0_5_2 "session/mcpServerStartRequested" Run(customization::mcp_start_requested);
    Session V0_5_2 "session/mcpServerStopRequested" Run(customization::mcp_stop_requested);
    Session V1_0 "session/mcpServerBackgroundRequested"
        Run(customization::mcp_background_requested);
};

/// The actions that belong to the chat channel since 0.4.0, and to the session channel before.
#[rustfmt::skip]
pub(super) const OWN_TURNS: &[ReductionRow] = super::row_list! {
    Session V1..V0_4 "session/turnStarted" Stamped(&In(turn::started));
    Session V1..V0_4 "session/turnComplete" Stamped(&In(turn::complete));
    Session V1..V0_4 "session/turnCancelled" Stamped(&In(turn::cancelled));
    Session V1..V0_4 "session/error" Stamped(&In(turn::failed));
    Session V1..V0_4 "session/truncated" Stamped(&In(turn::truncated));
    Session V1..V0_4 "session/delta" Run(chat::delta);
    Session V1..V0_4 "session/reasoning" Run(chat::reasoning);
    Session V1..V0_4 "session/responsePart" Run(chat::any_part);
    Session V1..V0_4 "session/usage" Run(chat::usage);
    Session V1..V0_4 "session/toolCallStart" In(tool_step::reduce);
    Session V1..V0_4 "session/toolCallDelta" In(tool_step::reduce);
    Session V1..V0_4 "session/toolCallReady" In(tool_step::reduce);
    Session V1..V0_4 "session/toolCallConfirmed" In(tool_step::reduce);
    Session V1..V0_4 "session/toolCallContentChanged" In(tool_step::reduce);
    Session V1..V0_4 "session/toolCallComplete" In(tool_step::reduce);
    Session V1..V0_4 "session/toolCallResultConfirmed" In(tool_step::reduce);
    Session V1..V0_4 "session/inputRequested" Stamped(&In(input_list::requested));
    Session V1..V0_4 "session/inputAnswerChanged" Stamped(&Run(input_list::answer_changed));
    Session V1..V0_4 "session/inputCompleted" Stamped(&In(input_list::completed));
    Session V1..V0_4 "session/pendingMessageSet" In(pending::set);
    Session V1..V0_4 "session/pendingMessageRemoved" Run(pending::removed);
    Session V1..V0_4 "session/queuedMessagesReordered" Run(pending::reordered);
};
