//! The action of the canvas channel.

use super::Row;
use crate::model::canvas;

use super::Effect::Run;

pub(super) const ROWS: &[Row] = super::row_list! {
    Canvas V1_0 "canvas/stateChanged" Run(canvas::state_changed);
};
