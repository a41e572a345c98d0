//! The rows of the kill matrix for faults in content: annotations, files and their watches, changesets.

use crate::host::fault::HostFault;

use super::super::mutants::MutantRow;
use super::row;

pub(super) const ROWS: &[MutantRow] = &[
    row(HostFault::CountsStuck, &["annotations.counts", "annotations/a-session-counts-them"]),
    row(
        HostFault::AcceptsEmptyAnnotations,
        &["annotations.sound", "annotations/each-has-something-to-say"],
    ),
    row(
        HostFault::AcceptsLastEntryRemoval,
        &["annotations.sound", "annotations/each-has-something-to-say"],
    ),
    row(HostFault::AnnotationsOutlive, &["annotations/they-go-with-their-session"]),
    row(
        HostFault::RangeDropped,
        &["state.snapshot-agrees", "annotations/everybody-may-write-them"],
    ),
    row(
        HostFault::PathsEscape,
        &["resources/nothing-outside-is-reached", "resources/nothing-outside-is-changed"],
    ),
    row(
        HostFault::OverwritesAlways,
        &[
            "resources/what-is-not-there-is-written-or-refused",
            "resources/what-was-not-to-be-replaced-stays",
            "resources/written-at-once",
        ],
    ),
    row(HostFault::FoldersGoWhole, &["resources/files-come-and-go"]),
    row(
        HostFault::BytesReadAsText,
        &["resources/what-stands-on-the-disk-is-read", "resources/files-come-and-go"],
    ),
    row(HostFault::EmptyBatches, &["watch.batch", "watches/filters-hold"]),
    row(
        HostFault::WatchLeaks,
        &["watch.below-root", "watches/filters-hold", "watches/changes-below-are-told"],
    ),
    row(HostFault::WatchMisdescribed, &["watch.descriptor", "watches/changes-below-are-told"]),
    row(HostFault::WatchShallow, &["watches/changes-below-are-told", "watches/filters-hold"]),
    row(HostFault::FiltersIgnored, &["watches/filters-hold"]),
    row(HostFault::ErrorBesideReady, &["changeset.error", "changesets/an-edit-shows"]),
    row(HostFault::ChangedFileTwice, &["changeset.unique-ids", "changesets/*"]),
    row(
        HostFault::ClearedToRecompute,
        &["changeset.kept-while-recomputing", "changesets/reviews-are-shared"],
    ),
    row(
        HostFault::ReviewsUnoffered,
        &["changeset.review-offered", "changesets/reviews-are-shared"],
    ),
    row(HostFault::ReviewKept, &["changesets/reviews-are-shared"]),
    row(HostFault::ChangesUncounted, &["changesets/an-edit-shows"]),
    row(HostFault::ChangesetsOutlive, &["changesets/they-go-with-their-session"]),
    row(HostFault::DisabledRuns, &["changesets/operations-run-where-they-fit"]),
    row(HostFault::ScopesIgnored, &["changesets/operations-run-where-they-fit"]),
    row(HostFault::OperationNeverEnds, &["changesets/operations-run-where-they-fit"]),
    row(HostFault::WatchOutlives, &["watches/released-with-the-last-to-listen"]),
];
