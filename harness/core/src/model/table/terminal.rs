//! The actions of the terminal channel.

use super::{ReductionRow, assigned, replace};
use crate::model::payload::PayloadShape;
use crate::model::{NoOp, terminal};

use super::ActionEffect::{Ignore, Run};

#[rustfmt::skip]
pub(super) const ROWS: &[ReductionRow] = super::row_list! {
    Terminal V1 "terminal/data" Run(terminal::data);
    Terminal V1 "terminal/input" Ignore(NoOp::RequestOnly);
    Terminal V1 "terminal/resized" Run(terminal::resized);
    Terminal V1 "terminal/claimed" replace("claim", "claim", PayloadShape::Object);
    Terminal V1 "terminal/titleChanged" replace("title", "title", PayloadShape::Text);
    Terminal V1 "terminal/cwdChanged" replace("cwd", "cwd", PayloadShape::Text);
    Terminal V1 "terminal/exited" assigned("exitCode", PayloadShape::Number);
    Terminal V0_9 "terminal/exited" Run(terminal::exited);
    Terminal V1 "terminal/cleared" Run(terminal::cleared);
    Terminal V1 "terminal/commandDetectionAvailable" Run(terminal::command_detection_available);
    Terminal V1 "terminal/commandExecuted" Run(terminal::command_executed);
    Terminal V1 "terminal/commandFinished" Run(terminal::command_finished);
};
