//! The action of the canvas channel.

use super::ReductionRow;
use crate::model::canvas;

use super::ActionEffect::Run;

pub(super) const ROWS: &[ReductionRow] = super::row_list! {
    Canvas V1_0 "canvas/stateChanged" Run(canvas::state_changed);
};
