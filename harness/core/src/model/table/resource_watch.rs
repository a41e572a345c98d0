//! The action of the resource watch channel. Its state says what is watched and never changes: what
//! happened to files is for those who listen, and nothing is kept of it.

use super::ReductionRow;
use crate::model::NoOp;

use super::ActionEffect::Ignore;

pub(super) const ROWS: &[ReductionRow] = super::row_list! {
    ResourceWatch V0_2 "resourceWatch/changed" Ignore(NoOp::EventOnly);
};
