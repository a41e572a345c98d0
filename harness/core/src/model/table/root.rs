//! The actions of the root channel.

use super::{Row, replace};
use crate::model::payload::Shape;
use crate::model::root;

use super::Effect::Run;

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = super::row_list! {
    Root V1 "root/agentsChanged" replace("agents", "agents", Shape::List);
    Root V1 "root/activeSessionsChanged"
        replace("activeSessions", "activeSessions", Shape::Integer);
    Root V1 "root/terminalsChanged" replace("terminals", "terminals", Shape::List);
    Root V1 "root/configChanged" Run(root::config_changed);
};
