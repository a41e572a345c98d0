//! Rows of faults in customizations, and in the MCP servers among them.

use crate::host::fault::Fault;

use super::super::mutants::Row;
use super::row;

/// In the order of the faults.
pub(super) const ROWS: &[Row] = &[
    row(Fault::PluginIdsRepeat, &["customizations/plugins-of-two-clients-are-kept-apart"]),
    row(Fault::OwnIdsRepeat, &["customizations.unique-ids"]),
    row(
        Fault::DecisionsUnsorted,
        &["customizations.enablement-order", "customizations/decisions-are-published-in-order"],
    ),
    row(Fault::PluginsOutlive, &["customizations/a-clients-plugin-is-the-sessions"]),
    row(
        Fault::ToggleNotStored,
        &["state.snapshot-agrees", "customizations/decisions-are-shared-and-replaced"],
    ),
    row(Fault::ToggleTakesContainer, &["customizations/decisions-are-shared-and-replaced"]),
    row(Fault::UnreadableLoaded, &["customizations/a-plugin-that-cannot-be-read-says-so"]),
    row(Fault::OffServersRun, &["mcp/what-is-off-is-not-started"]),
    row(
        Fault::ServerNeverReady,
        &[
            "mcp/a-server-is-asked-until-it-stops",
            "mcp/what-is-not-offered-is-refused",
            "mcp/what-is-off-is-not-started",
        ],
    ),
    row(Fault::SideChannelBare, &["mcp.side-channel"]),
    row(
        Fault::SideChannelKept,
        &["mcp.side-channel", "state.snapshot-agrees", "mcp/a-server-is-asked-until-it-stops"],
    ),
    row(Fault::UnofferedServed, &["mcp/what-is-not-offered-is-refused"]),
];
