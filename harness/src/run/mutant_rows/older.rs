//! The additional names of checks and scenarios that must trip (fail) under faults at older versions, which have
//! scenarios of their own.
//!
//! The main row of each fault is in another module. This table contains only the names that apply to older versions.

use crate::host::fault::HostFault;

/// The additional names that must trip at versions that have these scenarios, by fault.
pub const ROWS: &[(HostFault, &[&str])] = &[
    (
        HostFault::NewerActionsSent,
        &[
            "fanout.known-actions",
            "handshake/newer-clients-get-newer-actions",
            "early/turns-are-fetched-in-the-answer",
        ],
    ),
    (
        HostFault::AcceptsHostOnly,
        &[
            "early/clients-cannot-speak-for-a-session",
            "early/what-it-does-is-told",
            "early/differences-are-listed",
            "early/changed-files-come-one-by-one",
            "early/what-an-operation-says-and-does",
            "terminals/a-terminal-tells-where-it-is",
        ],
    ),
    (
        HostFault::RejectsLegal,
        &["early/a-model-is-the-sessions", "early/a-session-is-made-with-a-model"],
    ),
    (HostFault::ClientStaysActive, &["early/one-client-is-active"]),
    (
        HostFault::EchoesWithoutApplying,
        &[
            "early/the-active-clients-tools-change",
            "early/an-agent-is-the-sessions",
            "customizations/every-kind-is-shown",
            "metadata/session-configuration-is-checked",
            "metadata/what-it-is-doing-is-in-the-list",
        ],
    ),
    (
        HostFault::ToggleNotStored,
        &["early/a-customization-is-switched", "early/a-customization-is-switched-by-uri"],
    ),
    (HostFault::SessionAddedNotAnnounced, &["early/everybody-hears-of-sessions"]),
    (HostFault::UnknownVersionAccepted, &["early/the-first-handshake-names-a-number"]),
    (HostFault::ConfigNotMerged, &["early/configuration-is-resolved"]),
    (HostFault::SnapshotFrozen, &["early/a-session-tells-its-tools"]),
    (HostFault::SnapshotMissesField, &["turns/late-observer-sees-the-part-so-far"]),
    (HostFault::ForksForgotten, &["early/a-session-is-forked"]),
    (HostFault::ListMissesCreated, &["early/a-list-may-be-filtered"]),
    (HostFault::EarlyTurnsLost, &["early/a-turn-before-the-session-is-ready"]),
    (HostFault::RootListsSilent, &["early/agents-are-told-anew"]),
    (HostFault::PluginIdsRepeat, &["early/a-plugins-ids-are-its-own"]),
    (HostFault::PluginsOutlive, &["early/a-clients-plugin-is-told"]),
    (
        HostFault::WrongErrorCode,
        &["early/files-are-read-and-written", "early/what-may-be-asked-for-is-said"],
    ),
    (HostFault::SessionNeverReady, &["sessions/a-creation-can-fail"]),
    (HostFault::IdsMixedUp, &["early/the-active-client-is-asked"]),
    (HostFault::BytesReadAsText, &["early/files-are-read-and-written"]),
    (HostFault::FoldersGoWhole, &["early/a-folder-with-files-is-not-deleted"]),
];
