//! Rows of faults in automations and their runs.

use crate::host::fault::Fault;

use super::super::mutants::Row;
use super::row;

/// In the order of the faults.
pub(super) const ROWS: &[Row] = &[
    row(Fault::RunGoesBack, &["automation.runs-forward", "automations/a-run-is-cancelled-once"]),
    row(Fault::RunEndsEarlier, &["automation.run-times"]),
    row(
        Fault::PrimaryElsewhere,
        &["automation.run-sessions", "automations/a-run-makes-a-session", "automations/*"],
    ),
    row(
        Fault::RunsOldestFirst,
        &["automation.runs-listed", "automations/runs-are-listed-newest-first"],
    ),
    row(Fault::RunSummaryStale, &["automation.runs-agree"]),
    row(Fault::RunCountMissing, &["automation.run-count"]),
    row(Fault::RequestIdIgnored, &["automations/definitions-outlive-a-restart"]),
    row(Fault::AutomationReplaced, &["automations/definitions-are-checked"]),
    row(Fault::AnyMessageAutomated, &["automations/definitions-are-checked"]),
    row(Fault::UpdateForgets, &["automations/changes-leave-the-rest-alone"]),
    row(Fault::CancelledRunGoesOn, &["automations/a-run-is-cancelled-once"]),
    row(Fault::RunOriginMissing, &["automations/a-run-makes-a-session"]),
    row(Fault::AutomationsForgotten, &["automations/definitions-outlive-a-restart"]),
    row(Fault::RunsOfNothing, &["automations/older-runs-and-triggers-are-told"]),
    row(Fault::AutomationsUnsaid, &["automations/who-offers-none-serves-none"]),
];
