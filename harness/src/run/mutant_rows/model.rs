//! The rows of the kill matrix for faults of a host whose agent asks a model.

use crate::host::fault::HostFault;

use super::super::mutants::MutantRow;
use super::row;

pub(super) const ROWS: &[MutantRow] = &[
    row(HostFault::HistoryKeptFromModel, &["below.history-given"]),
    row(HostFault::MessagesAskedTwice, &["below.prompt-once"]),
    row(HostFault::AnotherModelAsked, &["below.model-chosen"]),
    row(HostFault::ModelOptionsIgnored, &["below.options-chosen"]),
    row(HostFault::ToolsOfferedTwice, &["below.tools-unique"]),
    row(HostFault::RemovedTurnsAsked, &["below.removed-stays-out"]),
    row(HostFault::OtherChatsAsked, &["below.chats-apart"]),
];
