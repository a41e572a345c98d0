//! The action of the resource watch channel. The state describes the watch and never changes: subscribers
//! receive file events, but the state does not store them.

use super::ReductionRow;
use crate::model::NoOp;

use super::ActionEffect::Ignore;

pub(super) const ROWS: &[ReductionRow] = super::row_list! {
    ResourceWatch V0_2 "resourceWatch/changed" Ignore(NoOp::EventOnly);
};
