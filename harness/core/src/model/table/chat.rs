//! The actions of the chat channel, which exists since 0.4.0.
//!
//! Up to 0.8.0 actions on turns and input requests write the wall clock into `modifiedAt`.

use super::{ReductionRow, assigned, flagged, replace, upsert};
use crate::model::payload::PayloadShape;
use crate::model::status::{IS_ARCHIVED, IS_READ};
use crate::model::{NoOp, chat, input, input_list, pending, tool_step, turn, working_directory};

use super::ActionEffect::{In, Remove, Run, Stamped};

#[rustfmt::skip]
pub(super) const ROWS: &[ReductionRow] = super::row_list! {
    Chat V0_4 "chat/turnStarted" Stamped(&In(turn::started));
    Chat V0_9 "chat/turnStarted" In(turn::started);
    Chat V0_4 "chat/turnComplete" Stamped(&In(turn::complete));
    Chat V0_9 "chat/turnComplete" In(turn::complete);
    Chat V0_4 "chat/turnCancelled" Stamped(&In(turn::cancelled));
    Chat V0_9 "chat/turnCancelled" In(turn::cancelled);
    Chat V0_4 "chat/error" Stamped(&In(turn::failed));
    Chat V0_9 "chat/error" In(turn::error);
    Chat V0_9 "chat/turnResume" In(turn::resume);
    Chat V0_4 "chat/truncated" Stamped(&In(turn::truncated));
    Chat V0_9 "chat/truncated" In(turn::truncated);
    Chat V0_5_1 "chat/turnsLoaded" Run(turn::loaded);
    Chat V0_4 "chat/delta" Run(chat::delta);
    Chat V0_4 "chat/reasoning" Run(chat::reasoning);
    Chat V0_4 "chat/responsePart" Run(chat::any_part);
    Chat V0_9 "chat/responsePart" Run(chat::response_part);
    Chat V0_4 "chat/usage" Run(chat::usage);
    Chat V0_4 "chat/toolCallStart" In(tool_step::reduce);
    Chat V0_4 "chat/toolCallDelta" In(tool_step::reduce);
    Chat V0_4 "chat/toolCallReady" In(tool_step::reduce);
    Chat V0_4 "chat/toolCallConfirmed" In(tool_step::reduce);
    Chat V0_4 "chat/toolCallContentChanged" In(tool_step::reduce);
    Chat V0_6 "chat/toolCallAuthRequired" In(tool_step::reduce);
    Chat V0_6 "chat/toolCallAuthResolved" In(tool_step::reduce);
    Chat V0_4 "chat/toolCallComplete" In(tool_step::reduce);
    Chat V0_4 "chat/toolCallResultConfirmed" In(tool_step::reduce);
    Chat V0_4 "chat/inputRequested" Stamped(&In(input_list::requested));
    Chat V0_6 "chat/inputRequested" Stamped(&In(input::requested));
    Chat V0_9 "chat/inputRequested" In(input::requested);
    Chat V0_4 "chat/inputAnswerChanged" Stamped(&Run(input_list::answer_changed));
    Chat V0_6 "chat/inputAnswerChanged" Stamped(&Run(input::answer_changed));
    Chat V0_9 "chat/inputAnswerChanged" Run(input::answer_changed);
    Chat V0_4 "chat/inputCompleted" Stamped(&In(input_list::completed));
    Chat V0_5_2 "chat/inputCompleted" Stamped(&In(input_list::transcribed));
    Chat V0_6 "chat/inputCompleted" Stamped(&In(input::completed));
    Chat V0_9 "chat/inputCompleted" In(input::completed);
    Chat V0_4 "chat/pendingMessageSet" In(pending::set);
    Chat V0_4 "chat/pendingMessageRemoved" Run(pending::removed);
    Chat V0_4 "chat/queuedMessagesReordered" Run(pending::reordered);
    Chat V0_5 "chat/draftChanged" assigned("draft", PayloadShape::Object);
    Chat V0_5 "chat/activityChanged" assigned("activity", PayloadShape::Text);
    Chat V0_7 "chat/workingDirectorySet" Run(working_directory::set);
    Chat V0_7 "chat/workingDirectoryRemoved" Run(working_directory::removed);
    Chat V1_0 "chat/isReadChanged" flagged("isRead", IS_READ);
    Chat V1_0 "chat/isArchivedChanged" flagged("isArchived", IS_ARCHIVED);
    Chat V1_0 "chat/movableChanged" replace("movable", "movable", PayloadShape::Flag);
    Chat V1_0 "chat/changesetsChanged" assigned("changesets", PayloadShape::List);
    Chat V1_0 "chat/canvasesChanged" assigned("canvases", PayloadShape::List);
    Chat V1_0 "chat/backgroundWorkSet" upsert("backgroundWork", "work", "id");
    Chat V1_0 "chat/backgroundWorkRemoved" Remove {
        list: "backgroundWork", key: "id", by: "id", missing: NoOp::UnknownWork,
    };
};
