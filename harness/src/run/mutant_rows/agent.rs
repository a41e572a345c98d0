//! Rows of faults in what an agent, its calls and its turns go through between several clients.

use crate::host::fault::Fault;
use crate::run::mutants::Row;

use super::row;

/// In the order of the faults.
pub(super) const ROWS: &[Row] = &[
    row(
        Fault::ChoiceDropped,
        &[
            "state.snapshot-agrees",
            "tools/chosen-option-stays-with-the-call",
            "tools/suggestion-stays-with-the-denial",
        ],
    ),
    row(Fault::ActiveTurnRestarts, &["turns/active-id-cannot-start-again", "turns.one-active"]),
    row(
        Fault::AcceptsStartAtAnyTime,
        &["turns/start-needs-a-time", "turns.times", "shape.scalars"],
    ),
    row(Fault::AcceptsUnknownQueued, &["queue/turn-names-a-message-that-is-queued"]),
    row(
        Fault::AcceptsAnyResume,
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
        Fault::AcceptsAnyResultDecision,
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
        Fault::AcceptsLateCompletion,
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
        Fault::ResultUsedUnconfirmed,
        &["tools/approved-call-with-an-approved-result", "tools/result-waits-for-its-approval"],
    ),
    row(
        Fault::ErrorCompletesTurn,
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
        Fault::QueueLostWithTurn,
        &["queue/cancelled-turn-loses-nothing", "queue/failed-turn-loses-nothing"],
    ),
    row(
        Fault::ReorderSorts,
        &["state.snapshot-agrees", "queue/unknown-names-do-not-spoil-the-order"],
    ),
    row(
        Fault::TurnCancelledWithClient,
        &[
            "turns/cancelled-although-its-client-is-gone",
            "turns/goes-on-without-its-client",
            "queue/consumed-while-its-sender-is-away",
            "queue/survives-its-sender",
            "reconnect/*",
        ],
    ),
    row(Fault::ChatUnsubscribeRemoves, &["tools/owner-leaves-the-chat-and-stays-owner"]),
    row(
        Fault::ClientStaysActive,
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
        Fault::RefusalApproves,
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
    row(Fault::ToolsChangeEndsCalls, &["tools/tools-change-while-one-runs"]),
];
