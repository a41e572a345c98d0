//! The rows of the kill matrix for faults of a host that speaks ACP to its agent.

use crate::host::fault::HostFault;

use super::super::mutants::MutantRow;
use super::row;

pub(super) const ROWS: &[MutantRow] = &[
    row(HostFault::DenialAllowedBelow, &["below.denied-never-runs"]),
    // With this fault, a denial comes too late, because the tool call already runs, and no scenario can observe a
    // pending confirmation.
    row(
        HostFault::AllowedUnasked,
        &[
            "below.denied-never-runs",
            "below.runs-approved",
            "tools/nothing-runs-before-approval",
            "tools/*",
        ],
    ),
    row(HostFault::CancelKept, &["below.cancel-arrives", "below/a-cancel-reaches-the-agent"]),
    row(
        HostFault::ChunkLostBelow,
        &["below.text-arrives", "below/what-the-agent-does-is-shown-once"],
    ),
    row(
        HostFault::ChunksSwapped,
        &["below.text-arrives", "below/what-the-agent-does-is-shown-once"],
    ),
    row(HostFault::OutputLostBelow, &["below.output-shown"]),
    row(
        HostFault::RemovedTurnsPrompted,
        &["below.removed-stays-out", "context/what-was-removed-is-not-given-again"],
    ),
    row(HostFault::MessagesPromptedTwice, &["below.prompt-once"]),
    row(
        HostFault::OtherChatsPrompted,
        &["below.chats-apart", "context/chats-know-only-their-own-turns"],
    ),
    row(HostFault::CallToldTwice, &["below.calls-told-once", "tools/parts-stay-in-order"]),
];
