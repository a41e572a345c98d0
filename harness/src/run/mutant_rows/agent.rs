//! The rows of the kill matrix for faults in agents, tool calls and turns that several clients share.

use crate::host::fault::HostFault;
use crate::run::mutants::MutantRow;

use super::row;

/// The rows, in the order of the faults.
pub(super) const ROWS: &[MutantRow] = &[
    row(
        HostFault::ChoiceDropped,
        &[
            "state.snapshot-agrees",
            "tools/chosen-option-stays-with-the-call",
            "tools/suggestion-stays-with-the-denial",
        ],
    ),
    row(HostFault::ActiveTurnRestarts, &["turns/active-id-cannot-start-again", "turns.one-active"]),
    row(
        HostFault::AcceptsStartAtAnyTime,
        &["turns/start-needs-a-time", "turns.times", "shape.scalars"],
    ),
    row(HostFault::AcceptsUnknownQueued, &["queue/turn-names-a-message-that-is-queued"]),
    row(
        HostFault::AcceptsAnyResume,
        &[
            "dispatch.accepted-effect",
            "turns/resume-goes-on-with-the-same-turn",
            "turns/resume-needs-a-failed-turn",
            "turns/resume-of-what-cannot-be-resumed-is-refused",
            "turns/resumed-once",
            "turns.one-active",
        ],
    ),
    row(
        HostFault::AcceptsAnyResultDecision,
        &[
            "dispatch.accepted-effect",
            "tools/result-confirmation-names-its-call",
            "tools/result-confirmation-needs-an-active-turn",
            "tools/result-decided-once",
            "tools/result-is-not-confirmed-unasked",
            "tools/result-waits-for-its-approval",
            "tools.legal-transitions",
            "tools.one-decision",
            "turns.active-only",
        ],
    ),
    row(
        HostFault::AcceptsLateCompletion,
        &[
            "dispatch.accepted-effect",
            "tools/client-tool-is-completed-by-its-owner",
            "tools/client-tool-result-comes-too-late",
            "tools/client-tool-result-names-its-call",
            "tools/denied-client-tool-is-not-completed",
            "tools/progress-comes-from-the-owner",
            "tools.legal-transitions",
            "tools.one-decision",
            "turns.active-only",
        ],
    ),
    row(
        HostFault::ResultUsedUnconfirmed,
        &["tools/approved-call-with-an-approved-result", "tools/result-waits-for-its-approval"],
    ),
    row(
        HostFault::ErrorCompletesTurn,
        &[
            "turns/error-before-the-first-word",
            "turns/error-ends-the-turn",
            "turns/error-keeps-finished-calls",
            "turns/error-spares-other-sessions",
            "reconnect/turn-fails-when-the-host-crashes",
            "queue.drains",
            "turns/crash-of-the-agent-ends-the-turn",
        ],
    ),
    row(
        HostFault::QueueLostWithTurn,
        &["queue/cancelled-turn-loses-nothing", "queue/failed-turn-loses-nothing"],
    ),
    row(
        HostFault::ReorderSorts,
        &["state.snapshot-agrees", "queue/unknown-names-do-not-spoil-the-order"],
    ),
    row(
        HostFault::TurnCancelledWithClient,
        &[
            "turns/cancelled-although-its-client-is-gone",
            "turns/goes-on-without-its-client",
            "queue/consumed-while-its-sender-is-away",
            "queue/survives-its-sender",
            "reconnect/*",
        ],
    ),
    row(HostFault::ChatUnsubscribeRemoves, &["tools/owner-leaves-the-chat-and-stays-owner"]),
    row(
        HostFault::ClientStaysActive,
        &[
            "customizations/*",
            "tools/removed-owner-gets-no-call",
            "sessions/clients-join-as-themselves",
            "sessions/who-leaves-is-no-longer-active",
            "tools/owner-leaves-and-its-call-fails",
            "tools/owner-leaves-before-the-approval",
            "state.snapshot-agrees",
            "tools.removal-ends-calls",
        ],
    ),
    row(
        HostFault::RefusalApproves,
        &[
            "tools/approval-of-another-turn-runs-nothing",
            "tools/denial-names-a-pending-call",
            "tools/forged-completion-is-no-result",
            "tools/forged-readiness-runs-nothing",
            "tools/host-alone-makes-calls",
            "tools/option-has-to-be-offered",
            "tools/option-has-to-fit-the-decision",
            "tools/result-decision-is-no-approval",
            "tools/result-is-not-confirmed-unasked",
            "tools/confirmation-names-a-pending-call",
            "tools/owner-cannot-skip-the-confirmation",
        ],
    ),
    row(HostFault::ToolsChangeEndsCalls, &["tools/tools-change-while-one-runs"]),
];
