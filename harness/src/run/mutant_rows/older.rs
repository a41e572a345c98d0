//! What the faults trip besides in versions that have scenarios of their own.
//!
//! Each fault has its row elsewhere; here stands what older versions add to it.

use crate::host::fault::Fault;

/// Names that a fault has to trip where they are played.
pub const ROWS: &[(Fault, &[&str])] = &[
    (
        Fault::NewerActionsSent,
        &[
            "fanout.known-actions",
            "handshake/newer-clients-get-newer-actions",
            "early/turns-are-fetched-in-the-answer",
        ],
    ),
    (
        Fault::AcceptsHostOnly,
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
        Fault::RejectsLegal,
        &["early/a-model-is-the-sessions", "early/a-session-is-made-with-a-model"],
    ),
    (Fault::ClientStaysActive, &["early/one-client-is-active"]),
    (
        Fault::EchoesWithoutApplying,
        &[
            "early/the-active-clients-tools-change",
            "early/an-agent-is-the-sessions",
            "customizations/every-kind-is-shown",
            "metadata/session-configuration-is-checked",
            "metadata/what-it-is-doing-is-in-the-list",
        ],
    ),
    (
        Fault::ToggleNotStored,
        &["early/a-customization-is-switched", "early/a-customization-is-switched-by-uri"],
    ),
    (Fault::SessionAddedNotAnnounced, &["early/everybody-hears-of-sessions"]),
    (Fault::UnknownVersionAccepted, &["early/the-first-handshake-names-a-number"]),
    (Fault::ConfigNotMerged, &["early/configuration-is-resolved"]),
    (Fault::SnapshotFrozen, &["early/a-session-tells-its-tools"]),
    (Fault::SnapshotMissesField, &["turns/late-observer-sees-the-part-so-far"]),
    (Fault::ForksForgotten, &["early/a-session-is-forked"]),
    (Fault::ListMissesCreated, &["early/a-list-may-be-filtered"]),
    (Fault::EarlyTurnsLost, &["early/a-turn-before-the-session-is-ready"]),
    (Fault::RootListsSilent, &["early/agents-are-told-anew"]),
    (Fault::PluginIdsRepeat, &["early/a-plugins-ids-are-its-own"]),
    (Fault::PluginsOutlive, &["early/a-clients-plugin-is-told"]),
    (
        Fault::WrongErrorCode,
        &["early/files-are-read-and-written", "early/what-may-be-asked-for-is-said"],
    ),
    (Fault::SessionNeverReady, &["sessions/a-creation-can-fail"]),
    (Fault::IdsMixedUp, &["early/the-active-client-is-asked"]),
    (Fault::BytesReadAsText, &["early/files-are-read-and-written"]),
    (Fault::FoldersGoWhole, &["early/a-folder-with-files-is-not-deleted"]),
];
