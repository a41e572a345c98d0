//! The actions of automations and of automation runs.

use super::{ReductionRow, assigned, replace, upsert};
use crate::model::payload::PayloadShape;
use crate::model::{NoOp, automation};

use super::ActionEffect::{Ignore, RemoveFirst, Run};

#[rustfmt::skip]
pub(super) const ROWS: &[ReductionRow] = super::row_list! {
    Automations V0_9 "automation/createRequested" Ignore(NoOp::RequestOnly);
    Automations V0_9 "automation/updateRequested" Ignore(NoOp::RequestOnly);
    Automations V0_9 "automation/set" upsert("entries", "automation", "resource");
    Automations V0_9 "automation/removed" RemoveFirst {
        list: "entries", key: "resource", by: "resource", missing: NoOp::UnknownAutomation,
    };

    AutomationRun V0_9 "automationRun/lifecycleChanged"
        replace("lifecycle", "lifecycle", PayloadShape::Object);
    AutomationRun V0_9 "automationRun/sessionSet" Run(automation::session_set);
    AutomationRun V0_9 "automationRun/sessionRemoved" Run(automation::session_removed);
    AutomationRun V0_9 "automationRun/primarySessionChanged"
        assigned("primarySession", PayloadShape::Text);
    AutomationRun V0_9 "automationRun/cancelRequested" Ignore(NoOp::RequestOnly);
};
