//! The actions of the chat channel.

use super::{Row, assigned, flagged, replace, upsert};
use crate::model::payload::Shape;
use crate::model::status::{IS_ARCHIVED, IS_READ};
use crate::model::{NoOp, chat, input, pending, tool_step, turn, working_directory};

use super::Effect::{Remove, Run};

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = super::row_list! {
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
