//! The rows of the kill matrix for faults in customizations, and in the MCP servers among them.

use crate::host::fault::HostFault;

use super::super::mutants::MutantRow;
use super::row;

/// The rows, in the order of the faults.
pub(super) const ROWS: &[MutantRow] = &[
    row(HostFault::PluginIdsRepeat, &["customizations/plugins-of-two-clients-are-kept-apart"]),
    row(HostFault::OwnIdsRepeat, &["customizations.unique-ids"]),
    row(
        HostFault::DecisionsUnsorted,
        &["customizations.enablement-order", "customizations/decisions-are-published-in-order"],
    ),
    row(HostFault::PluginsOutlive, &["customizations/a-clients-plugin-is-the-sessions"]),
    row(
        HostFault::ToggleNotStored,
        &["state.snapshot-agrees", "customizations/decisions-are-shared-and-replaced"],
    ),
    row(HostFault::ToggleTakesContainer, &["customizations/decisions-are-shared-and-replaced"]),
    row(HostFault::UnreadableLoaded, &["customizations/a-plugin-that-cannot-be-read-says-so"]),
    row(HostFault::OffServersRun, &["mcp/what-is-off-is-not-started"]),
    row(
        HostFault::ServerNeverReady,
        &[
            "mcp/a-server-is-asked-until-it-stops",
            "mcp/what-is-not-offered-is-refused",
            "mcp/what-is-off-is-not-started",
        ],
    ),
    row(HostFault::SideChannelBare, &["mcp.side-channel"]),
    row(
        HostFault::SideChannelKept,
        &["mcp.side-channel", "state.snapshot-agrees", "mcp/a-server-is-asked-until-it-stops"],
    ),
    row(HostFault::UnofferedServed, &["mcp/what-is-not-offered-is-refused"]),
];
