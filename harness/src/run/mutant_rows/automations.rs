//! The rows of the kill matrix for faults in automations and their runs.

use crate::host::fault::HostFault;

use super::super::mutants::MutantRow;
use super::row;

/// The rows, in the order of the faults.
pub(super) const ROWS: &[MutantRow] = &[
    row(
        HostFault::RunGoesBack,
        &["automation.runs-forward", "automations/a-run-is-cancelled-once"],
    ),
    row(HostFault::RunEndsEarlier, &["automation.run-times"]),
    row(
        HostFault::PrimaryElsewhere,
        &["automation.run-sessions", "automations/a-run-makes-a-session", "automations/*"],
    ),
    row(
        HostFault::RunsOldestFirst,
        &["automation.runs-listed", "automations/runs-are-listed-newest-first"],
    ),
    row(HostFault::RunSummaryStale, &["automation.runs-agree"]),
    row(HostFault::RunCountMissing, &["automation.run-count"]),
    row(HostFault::RequestIdIgnored, &["automations/definitions-outlive-a-restart"]),
    row(HostFault::AutomationReplaced, &["automations/definitions-are-checked"]),
    row(HostFault::AnyMessageAutomated, &["automations/definitions-are-checked"]),
    row(HostFault::UpdateForgets, &["automations/changes-leave-the-rest-alone"]),
    row(HostFault::CancelledRunGoesOn, &["automations/a-run-is-cancelled-once"]),
    row(HostFault::RunOriginMissing, &["automations/a-run-makes-a-session"]),
    row(HostFault::AutomationsForgotten, &["automations/definitions-outlive-a-restart"]),
    row(HostFault::RunsOfNothing, &["automations/older-runs-and-triggers-are-told"]),
    row(HostFault::AutomationsUnsaid, &["automations/who-offers-none-serves-none"]),
];
