//! The actions of the root channel.

use super::{ReductionRow, replace};
use crate::model::payload::PayloadShape;
use crate::model::root;

use super::ActionEffect::Run;

#[rustfmt::skip]
pub(super) const ROWS: &[ReductionRow] = super::row_list! {
    Root V1 "root/agentsChanged" replace("agents", "agents", PayloadShape::List);
    Root V1 "root/activeSessionsChanged"
        replace("activeSessions", "activeSessions", PayloadShape::Integer);
    Root V1 "root/terminalsChanged" replace("terminals", "terminals", PayloadShape::List);
    Root V1 "root/configChanged" Run(root::config_changed);
};
