//! What the faults of a host must trip that speaks ACP to its agent.

use crate::host::fault::Fault;

use super::super::mutants::Row;
use super::row;

pub(super) const ROWS: &[Row] = &[
    row(Fault::DenialAllowedBelow, &["below.denied-never-runs"]),
    // Once it runs, a denial comes too late, and so does whoever wants to see it wait.
    row(
        Fault::AllowedUnasked,
        &[
            "below.denied-never-runs",
            "below.runs-approved",
            "tools/nothing-runs-before-approval",
            "tools/*",
        ],
    ),
    row(Fault::CancelKept, &["below.cancel-arrives", "below/a-cancel-reaches-the-agent"]),
    row(Fault::ChunkLostBelow, &["below.text-arrives", "below/what-the-agent-does-is-shown-once"]),
    row(Fault::ChunksSwapped, &["below.text-arrives", "below/what-the-agent-does-is-shown-once"]),
    row(Fault::CallToldTwice, &["below.calls-told-once", "tools/parts-stay-in-order"]),
];
